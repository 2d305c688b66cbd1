"""Statistics of sequences against NumPy, SciPy and plain loops; missing values; the forest against scikit-learn."""

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

import timelike as tl
from timelike.encode.heads.forest import ForestHead
from timelike.encode.statistics.features import LAGS, QUANTILES, compute_statistics


def of(series):
    """The statistics of one channel by name."""
    names = ["mean", "deviation", "least", *QUANTILES, "largest", "when largest", "when least", "skewness", "kurtosis"]
    names += ["slope", "bend", *(f"mean {i}" for i in range(8)), *(f"deviation {i}" for i in range(4))]
    names += ["change", "root change", "rise", "fall", "crossings", "turns", *(f"lag {lag}" for lag in LAGS)]
    names += [*(f"octave {i}" for i in range(6)), "frequency", "entropy", "missing", "length"]
    return dict(zip(names, compute_statistics(np.asarray(series, float)[None, :, None])[0], strict=True))


@pytest.fixture
def series():
    return np.random.default_rng(0).normal(3, 2, 64).cumsum()


def test_moments_and_quantiles_are_those_of_numpy_and_scipy(series):
    found = of(series)
    assert found["mean"] == pytest.approx(series.mean())
    assert found["deviation"] == pytest.approx(series.std())
    assert found["skewness"] == pytest.approx(stats.skew(series))
    assert found["kurtosis"] == pytest.approx(stats.kurtosis(series, fisher=False))
    assert [found[q] for q in QUANTILES] == pytest.approx(np.quantile(series, QUANTILES).tolist())
    assert (found["least"], found["largest"]) == (series.min(), series.max())
    assert found["when largest"] == series.argmax() / 63


def test_the_slope_is_that_of_a_regression_on_time(series):
    assert of(series)["slope"] == pytest.approx(stats.linregress(np.linspace(0, 1, 64), series).slope)
    assert of(np.linspace(0, 1, 20) ** 2)["bend"] == pytest.approx(1.0)


def test_autocorrelations_changes_and_crossings_are_those_of_plain_loops(series):
    found, z = of(series), (series - series.mean()) / series.std()
    for lag in LAGS:
        assert found[f"lag {lag}"] == pytest.approx(np.mean([z[t] * z[t + lag] for t in range(64 - lag)]))
    assert found["change"] == pytest.approx(np.mean([abs(series[t + 1] - series[t]) for t in range(63)]))
    assert found["crossings"] == pytest.approx(np.mean([(z[t] > 0) != (z[t + 1] > 0) for t in range(63)]))


def test_a_wave_has_its_power_in_its_octave_and_its_frequency():
    wave = of(np.sin(2 * np.pi * 8 * np.arange(128) / 128))  # a sixteenth of the samples' rate
    assert wave["frequency"] == pytest.approx(1 / 16)
    assert wave["octave 3"] == pytest.approx(1.0)
    assert wave["entropy"] == pytest.approx(0.0, abs=1e-6)


def test_missing_values_leave_the_statistics_of_the_rest(series):
    holes = series.copy()
    holes[[3, 10, 11, 40]] = np.nan
    found, rest = of(holes), series[~np.isnan(holes)]
    assert found["missing"] == 4 / 64
    assert found["mean"] == pytest.approx(rest.mean())
    assert found["skewness"] == pytest.approx(stats.skew(rest))
    assert found[0.25] == pytest.approx(np.quantile(rest, 0.25))
    clock = np.linspace(0, 1, 64)[~np.isnan(holes)]
    assert found["slope"] == pytest.approx(stats.linregress(clock, rest).slope)


@pytest.mark.parametrize("series", [[5.0], [5.0, 5.0, 5.0], [np.nan, np.nan], [1e-30, 2e-30], [0.1 + 0.2, 0.3]])
def test_series_that_hardly_are_series_have_finite_statistics(series):
    assert np.isfinite(list(of(series).values())).all()


def test_a_constant_has_no_shape_whatever_its_rounding():
    found = of([0.1 + 0.2, 0.3, 0.3])
    assert found["skewness"] == found["lag 1"] == found["deviation"] == 0


def test_vectors_are_standardized_and_know_correlations_of_channels():
    rng = np.random.default_rng(1)
    X = tl.Sequences([rng.normal(size=(rng.integers(5, 30), 2)) for _ in range(40)])
    encoder = tl.encode.StatisticsEncoder().fit(X)
    vectors = encoder.encode(X).astype(float)
    inside = np.abs(vectors).max(axis=0) < 9.99
    np.testing.assert_allclose(vectors.mean(axis=0)[inside], 0, atol=1e-4)
    expected = [np.corrcoef(x.T)[0, 1] for x in X]
    plain = vectors[:, -1] * encoder.scale_[-1] + encoder.mean_[-1]
    np.testing.assert_allclose(plain, expected, atol=1e-4)


def test_a_stream_says_what_encode_says_of_everything_so_far():
    X = np.random.default_rng(2).normal(size=(6, 12, 2))
    encoder, stream = tl.encode.StatisticsEncoder().fit(X), tl.encode.StatisticsEncoder().fit(X).stream()
    for t in range(5):
        np.testing.assert_array_equal(stream.push(X[0, t]), encoder.encode(X[:1, : t + 1])[0])
    with pytest.raises(ValueError, match="sample has shape"):
        stream.push([1.0])
    with pytest.raises(ValueError, match="infinite"):
        stream.push([np.inf, 0.0])


def test_values_whose_squares_overflow_are_refused_by_name():
    with pytest.raises(ValueError, match="sequence 1 are too large"):
        tl.encode.StatisticsEncoder().fit([[0.0, 1.0], [1e300, -1e300]])


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_forest_answers_as_scikit_learns_does(n_classes):
    rng = np.random.default_rng(n_classes)
    train, test = rng.normal(size=(80, 6)), rng.normal(size=(200, 6))
    codes = (train[:, 0] * n_classes).astype(int) % n_classes
    theirs = ExtraTreesClassifier(300, random_state=0).fit(train, codes)
    ours = ForestHead.fit_classifier(train, codes)
    np.testing.assert_allclose(ours.predict_proba(test), theirs.predict_proba(test), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(test), theirs.predict(test))
    np.testing.assert_array_equal(ours.predict(train), codes)


def test_a_forest_of_numbers_answers_as_scikit_learns_does():
    rng = np.random.default_rng(3)
    train, test = rng.normal(size=(60, 4)), rng.normal(size=(30, 4))
    theirs = ExtraTreesRegressor(300, random_state=0, max_features=1 / 3).fit(train, train[:, 1] ** 2)
    np.testing.assert_allclose(
        ForestHead.fit_regressor(train, train[:, 1] ** 2).predict(test), theirs.predict(test), atol=1e-12
    )


@pytest.mark.parametrize("kind", ["EmbeddingClassifier", "EmbeddingRegressor"])
def test_random_state_decides_about_the_trees_of_a_forest(kind):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 12, 1)), np.arange(40) % 2

    def answers(seed):
        model = getattr(tl, kind)(tl.encode.StatisticsEncoder(), head="forest", random_state=seed).fit(X[:20], y[:20])
        return model.predict_proba(X[20:]) if kind == "EmbeddingClassifier" else model.predict(X[20:])

    first = answers(3)
    np.testing.assert_array_equal(answers(3), first)
    np.testing.assert_array_equal(answers(np.random.default_rng(3)), answers(np.random.default_rng(3)))
    assert not np.array_equal(answers(4), first)
    assert not np.array_equal(answers(None), answers(None))


def test_a_classifier_with_a_forest_is_saved_without_pickle(tmp_path):
    rng = np.random.default_rng(4)
    X = tl.Sequences([rng.normal(i % 2, 1, 12) for i in range(20)], labels=["low", "high"] * 10)
    model = tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head="forest").fit(X)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    numbers = tl.EmbeddingRegressor(tl.encode.StatisticsEncoder(), head="forest").fit(X, np.arange(20.0))
    numbers.save(tmp_path / "numbers")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "numbers").predict(X), numbers.predict(X))


def test_a_classifier_over_statistics_takes_missing_values():
    X = [[0.0, np.nan, 0.1], [0.0, 0.1, 0.0], [5.0, 5.0, np.nan], [5.0, 5.1, 5.0]]
    model = tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head="forest").fit(X, ["a", "a", "b", "b"])
    assert model.predict([[np.nan, 5.0, 5.0]]).tolist() == ["b"]


@pytest.mark.learn
def test_a_classifier_over_a_network_names_the_sequence_with_missing_values():
    X = [[0.0, np.nan, 0.1], [0.0, 0.1, 0.0], [5.0, 5.0, np.nan], [5.0, 5.1, 5.0]]
    with pytest.raises(ValueError, match="sequence 0 is missing"):
        tl.EmbeddingClassifier(tl.CausalEncoder()).fit(X, ["a", "a", "b", "b"])
