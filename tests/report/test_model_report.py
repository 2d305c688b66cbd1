"""The report of a model: what is on the page is what the library computes, and nothing on it asks for anything else."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from tests.report.documents import Document

import timelike as tl
from timelike import score
from timelike.report import sections, write
from timelike.report.sample import stratified_sample

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def waves(n=24, length=20, seed=0, noise=0.6):
    """Two classes of waves of three groups, of which a classifier gets some wrong."""
    rng = np.random.default_rng(seed)
    labels = np.array(["fast", "slow"])[np.arange(n) % 2]
    pace = np.where(labels == "fast", 1.0, 0.6)
    t = np.arange(length)
    values = np.sin(pace[:, None] * t + rng.uniform(0, 6, (n, 1))) + noise * rng.normal(size=(n, length))
    values = np.stack([values, np.cumsum(values, axis=1)], axis=2)
    return tl.Sequences(
        values,
        labels=labels,
        groups=np.array(["ann", "bob", "cy"])[np.arange(n) // 2 % 3],
        ids=[f"wave-{i}" for i in range(n)],
        channel_names=["height", "sum"],
    )


@pytest.fixture(scope="module")
def train():
    return waves(seed=1)


@pytest.fixture(scope="module")
def test():
    return waves(seed=2, n=30)


@pytest.fixture(scope="module")
def classifier(train):
    return tl.EmbeddingClassifier(tl.Rocket(n_features=84, random_state=0), head="ridge").fit(train)


def headings(page):
    return [heading for heading, _ in page.sections]


def content(page, heading):
    return dict(page.sections)[heading]


def test_the_report_of_a_classifier_has_its_scores_by_class_and_group(classifier, test):
    page = write(classifier, test)
    assert headings(page) == ["Data", "Model", "Scores", "Reliability", "Map", "Nearest neighbours"]
    answers = classifier.predict(test)
    right = answers == test.labels
    assert 0 < right.mean() < 1
    text = Document(content(page, "Scores")).text
    assert f"Accuracy {right.mean():.3f} [" in text
    for kind in ("fast", "slow"):
        recall = right[test.labels == kind].mean()
        assert f"{recall:.3f} [" in text
    for group in ("ann", "bob", "cy"):
        assert f"{group}10{right[test.groups == group].mean():.3f} [" in text.replace("\n", "")
    assert "resample whole groups" in text
    probabilities = classifier.predict_proba(test)
    error = score.expected_calibration_error(test.labels, probabilities, classes=classifier.classes_)
    assert f"calibration error {error:.3f}" in content(page, "Reliability")


def test_the_map_has_every_sequence_with_its_answer_and_its_nearest(classifier, test):
    page = write(classifier, test)
    (found,) = Document(page.to_html()).maps()
    assert found["names"] == test.ids.tolist()
    answers = classifier.predict(test)
    assert found["answers"] == answers.tolist()
    assert found["wrong"] == np.flatnonzero(answers != test.labels).tolist()
    assert [found["classes"][code] for code in found["codes"]] == test.labels.tolist()
    distances = classifier.encoder_.pairwise(test) + np.diag([np.inf] * len(test))
    assert [near[0] for near in found["near"]] == distances.argmin(axis=1).tolist()
    assert [view["name"] for view in found["views"]] == ["PCA", "t-SNE"]


def test_neighbours_of_a_neighbour_classifier_are_those_it_votes_with(train, test):
    page = write(tl.Neighbors("dtw").fit(train), test)
    ids, distances = tl.DTW().neighbors(train, test, 1)
    text = Document(content(page, "Nearest neighbours")).text
    shown = [
        (i, f"The sequence nearest to {test.ids[i]} (class {test.labels[i]}) is {train.ids[j]} (class {train.labels[j]}), "
         f"at distance {d:.4g}.")
        for i, (j,), (d,) in zip(range(len(test)), ids, distances, strict=True)
    ]  # fmt: skip
    right = [words in text for i, words in shown if train.labels[ids[i, 0]] == test.labels[i]]
    wrong = [words in text for i, words in shown if train.labels[ids[i, 0]] != test.labels[i]]
    assert sum(right) == 4
    assert sum(wrong) == min(4, len(wrong)) > 0


def test_a_classifier_after_preparation_steps_has_a_map_and_neighbours(train, test):
    model = make_pipeline(tl.prepare.Resample(12), tl.Neighbors("euclidean")).fit(train, train.labels)
    page = write(model, test)
    assert headings(page) == ["Data", "Model", "Scores", "Reliability", "Map", "Nearest neighbours"]
    (found,) = Document(page.to_html()).maps()
    distances = tl.Euclidean().pairwise(test.resample(12)) + np.diag([np.inf] * len(test))
    assert [near[0] for near in found["near"]] == distances.argmin(axis=1).tolist()


def test_a_classifier_that_compares_nothing_says_why_there_is_no_map(train, test):
    model = tl.neighbors.WindowedClassifier(tl.Neighbors("dtw"), size=10).fit(train, train.labels)
    page = write(model, test)
    assert "Map" not in headings(page)
    assert (
        "Map and nearest neighbours: WindowedClassifier has no metric or encoder that compares sequences."
        in content(page, "Not on this page")
    )


def test_an_encoder_is_scored_by_what_is_nearest(train, test):
    encoder = tl.Rocket(n_features=84, random_state=0).fit(train)
    page = write(encoder, test)
    assert headings(page) == ["Data", "Model", "Retrieval", "Map", "Nearest neighbours", "Verification"]
    distances = encoder.pairwise(test)
    text = Document(content(page, "Retrieval")).text
    assert f"{score.nearest_accuracy(distances, test.labels):.3f} [" in text
    assert f"{score.mean_average_precision(distances, test.labels):.3f} [" in text


def test_without_labels_what_needs_them_is_left_out_and_this_is_said(classifier, test):
    unlabelled = test.replace(labels=None, class_names=None)
    page = write(classifier, unlabelled)
    assert headings(page) == ["Data", "Model", "Scores", "Map", "Nearest neighbours", "Not on this page"]
    assert "Scores, confusion and reliability: the data have no labels" in content(page, "Not on this page")
    kinds, counts = np.unique(classifier.predict(test), return_counts=True)
    for kind, count in zip(kinds, counts, strict=True):
        assert f'<td>{kind}</td><td class="number">{count}</td>' in content(page, "Scores")
    assert "Right answers" not in page.to_html()


@pytest.mark.parametrize("kind", [float, int])
def test_the_report_of_a_regressor_has_its_errors_and_never_takes_numbers_for_classes(train, test, kind):
    def number(X):
        return X.replace(labels=np.arange(len(X)).astype(kind) // 2, class_names=None)

    train, test = number(train), number(test)  # every number twice, as if they were classes of two
    for model in (
        tl.EmbeddingRegressor(tl.Rocket(n_features=84, random_state=0)).fit(train),
        tl.NeighborsRegressor("dtw").fit(train),
    ):
        page = write(model, test)
        assert headings(page) == ["Data", "Model", "Scores", "Map", "Nearest neighbours"]
        answers = model.predict(test)
        error = np.abs(answers - test.labels).mean()
        assert f"mean absolute error{error:.4g}" in Document(content(page, "Scores")).text.replace("\n", "")
        assert content(page, "Scores").count("<figure>") == 1
        assert "Right answers" not in page.to_html()


def test_a_regressor_without_numbers_to_compare_with_says_so(train, test):
    model = tl.NeighborsRegressor("dtw").fit(train, np.arange(len(train)))
    page = write(model, test)  # labels are text
    assert headings(page) == ["Data", "Model", "Map", "Nearest neighbours", "Not on this page"]
    assert "Scores: the data have no labels that are numbers" in content(page, "Not on this page")
    assert "Wrong answers" not in page.to_html()


def test_a_folder_says_how_the_model_was_made(classifier, test, tmp_path):
    classifier.save(tmp_path / "model")
    (tmp_path / "model" / "job.toml").write_text('method = "classifier"  # <b>\n')
    file = tmp_path / "new" / "report.html"
    page = write(tmp_path / "model", test, out=file)
    text = Document(file.read_text()).text
    assert f"timelike learn --job {tmp_path / 'model' / 'job.toml'}" in text
    assert 'method = "classifier"  # <b>' in text
    assert f"timelike {tl.__version__}" in text
    assert "encoder__n_features84" in text.replace("\n", "")
    assert page.to_html() == file.read_text()


def test_the_code_on_the_page_makes_the_model_again(classifier, train, test):
    summary = tl.models.summarize_model(classifier)
    names = {"X": train, "y": train.labels}
    exec(summary.commands, names)
    np.testing.assert_array_equal(names["model"].predict_proba(test), classifier.predict_proba(test))


def test_data_may_be_the_name_of_a_file(classifier, test, tmp_path):
    test.save(tmp_path / "logs.npz")
    page = write(classifier, tmp_path / "logs.npz")
    assert page.title == "EmbeddingClassifier on logs.npz"
    assert content(page, "Scores") == content(write(classifier, test), "Scores")


def test_two_reports_of_the_same_are_equal(classifier, test):
    assert write(classifier, test).to_html() == write(classifier, test).to_html()


def test_a_page_asks_for_nothing(classifier, test):
    document = Document(write(classifier, test).to_html())
    assert document.requests() == []
    assert not document.tags() & {"link", "iframe", "object", "embed", "base", "form", "img"}


def test_hostile_names_are_inert(train):
    n = len(train)
    kinds = np.array([HOSTILE, f"{HOSTILE} 2"])[np.arange(n) % 2]
    hostile = train.replace(
        labels=kinds,
        groups=[f"{HOSTILE}{i % 3}" for i in range(n)],
        ids=[f"{HOSTILE}{i}" for i in range(n)],
        channel_names=[HOSTILE, f"{HOSTILE}2"],
    )
    page = write(tl.Neighbors("dtw").fit(hostile[::2], kinds[::2][::-1]), hostile[1::2])
    page.title = page.lead = HOSTILE
    page.add(HOSTILE, sections.details(HOSTILE, sections.code_block(HOSTILE)), sections.subheading(HOSTILE))
    document = Document(page.to_html())
    assert "img" not in document.tags()
    assert not any(name.startswith("on") for _, attributes in document.elements for name in attributes)
    scripts = [text for kind, text in document.raw if kind == "script"]
    assert [text for text in scripts if text.startswith("alert")] == []
    assert len(scripts) == 3  # the data and the script of the map, and that of the page
    (found,) = document.maps()
    assert found["names"][0] == f"{HOSTILE}1"
    assert found["channels"] == [HOSTILE, f"{HOSTILE}2"]
    assert document.requests() == []


def test_ten_thousand_sequences_make_five_megabytes_at_most(classifier):
    many = waves(n=10_000, seed=3)
    page = write(classifier, many)
    assert len(page.to_html().encode()) <= 5_000_000
    assert "On the map are 2000 of the 10000 sequences, a sample in which every class has its share." in page.to_html()
    (found,) = Document(page.to_html()).maps()
    assert len(found["names"]) == 2000
    assert np.bincount(found["codes"]).tolist() == [1000, 1000]


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [([8, 2], 5, [4, 1]), ([100, 1, 1], 10, [8, 1, 1]), ([3, 3], 10, [3, 3]), ([5, 4, 3], 2, [1, 1, 0])],
)
def test_a_sample_has_its_share_of_every_class(sizes, most, expected):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X = tl.Sequences(np.arange(len(labels), dtype=float)[:, None], labels=labels)
    found = stratified_sample(X, most)
    assert np.bincount(found.labels, minlength=len(sizes)).tolist() == expected
    assert (np.diff(found.values[:, 0]) > 0).all()  # in order, none twice


def test_a_forecaster_is_scored_beside_persistence_and_shows_its_intervals():
    X = waves(n=8, length=40, noise=0.1).replace(labels=None, class_names=None)
    model = (
        tl.forecast.Ridge(lags=4)
        .fit(waves(n=20, length=40, seed=4, noise=0.1))
        .calibrate(waves(n=20, length=40, seed=5))
    )
    page = write(model, X)
    assert headings(page) == ["Data", "Model", "Scores over the horizon", "Forecasts"]
    expected = tl.forecast.backtest(model, X, 18, n_windows=4, step=4, baseline="persistence", random_state=0)
    assert expected.per_step("mse").mean.shape == (18,)
    text = Document(content(page, "Scores over the horizon")).text
    for method in ("model", "Persistence"):
        assert f"{expected.mean_to_step(method=method)['mse'].mean:.4g} [" in text
    forecasts = content(page, "Forecasts")
    assert forecasts.count("<figure>") == 4
    assert "80 %" in Document(forecasts).text
    last = X[7][-18:]
    error = np.abs(model.predict(X[[7]].crop(None, -18), 18).mean[0] - last).mean()
    assert f"wave-7, {'height' if np.ptp(last[:, 0]) > np.ptp(last[:, 1]) else 'sum'}: the last 18 steps; " in forecasts
    assert f"mean absolute error over all channels {error:.4g}." in forecasts


def test_a_forecaster_without_intervals_or_without_data_says_so(test):
    model = tl.forecast.Ridge(lags=4).fit(test)
    assert "call calibrate(X)" in content(write(model, test), "Forecasts")
    short = write(model, test.crop(None, 4))
    assert headings(short) == ["Data", "Model", "Not on this page"]
    assert "no sequence is longer than the 4 steps that the model needs" in content(short, "Not on this page")


def test_the_shade_of_sampled_futures_is_not_said_to_cover_the_truth(test):
    model = tl.forecast.Analog(window=4).fit(test)
    text = Document(content(write(model, test), "Forecasts")).text
    assert "80 % of the sampled futures lie in the shade" in text
    assert "not calibrated" in text
    assert "covers the truth with a probability" not in text


def test_a_calibration_that_is_too_short_for_a_shade_is_named():
    X = waves(n=8, length=40, noise=0.1).replace(labels=None, class_names=None)
    model = tl.forecast.Ridge(lags=4).fit(X).calibrate(waves(n=20, length=40, seed=5), horizon=3)
    text = Document(content(write(model, X), "Forecasts")).text
    assert "There is no shade" in text
    assert "horizon=18 or more" in text
    assert "covers the truth with a probability" not in text


def test_a_drift_monitor_tests_the_data_and_stays_as_it_was(train):
    monitor = tl.distributions.Drift(random_state=0).fit(waves(n=40).replace(groups=None))
    shifted = train.replace(labels=None, class_names=None)
    shifted = tl.Sequences(shifted.values.reshape(24, 20, 2) + 3.0, channel_names=["height", "sum"])
    page = write(monitor, shifted)
    assert headings(page) == ["Data", "Model", "Drift"]
    assert monitor.batches_ == []
    update = monitor.update(shifted)
    assert str(update) in Document(content(page, "Drift")).text


def test_a_verifier_shows_its_error_rates(train, test):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", score.CalibrationWarning)
        verifier = tl.Verifier(tl.DTW()).calibrate(train, train.labels, false_accept=0.3)
    page = write(verifier, test)
    assert headings(page) == ["Data", "Model", "Retrieval", "Map", "Nearest neighbours", "Verification"]
    expected = verifier.evaluate(test, groups=test.groups, n_resamples=1, random_state=0)
    text = Document(content(page, "Verification")).text
    assert f"equal error rate{expected.equal_error_rate.mean:.3f} [" in text
    assert f"false accepts{expected.false_accept.mean:.3f} [" in text


@pytest.mark.learn
def test_a_trained_metric_shows_its_training(train, test):
    metric = tl.SiameseGRU(hidden=3, max_steps=5, random_state=0).fit(train, train.labels)
    page = write(metric, test[:12])
    assert headings(page)[:4] == ["Data", "Model", "Training", "Retrieval"]
    assert "over 5 steps" in content(page, "Training")
    assert "The training ended by max_steps." in content(page, "Training")
