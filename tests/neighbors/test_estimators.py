"""Nearest neighbours as a scikit-learn estimator over Sequences."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import timelike as tl
from timelike.align import metric_names
from toys import AllAlike


@pytest.fixture
def data():
    """Two classes that differ in where they peak, from six people, all with timestamps."""
    rng = np.random.default_rng(0)
    items, labels, groups, times = [], [], [], []
    for i in range(36):
        n = int(rng.integers(20, 30))
        peak = 0.3 if i % 2 else 0.7
        items.append(np.exp(-(((np.linspace(0, 1, n) - peak) / 0.1) ** 2)) + rng.normal(0, 0.1, n))
        labels.append("early" if i % 2 else "late")
        groups.append(i // 6)
        times.append(np.cumsum(rng.uniform(0.5, 1.5, n)))
    return tl.Sequences(items, labels=labels, groups=groups, times=times)


def test_votes_are_those_of_scikit_learn_on_the_distance_matrix(data):
    train, test = data[:24], data[24:]
    for k in (1, 3, 5):
        ours = tl.Neighbors(tl.DTW(), k=k).fit(train, train.labels)
        peer = KNeighborsClassifier(k, metric="precomputed").fit(tl.DTW().pairwise(train), train.labels)
        across = tl.DTW().pairwise(test, train)
        np.testing.assert_array_equal(ours.predict(test), peer.predict(across))
        np.testing.assert_allclose(ours.predict_proba(test), peer.predict_proba(across))


def test_votes_weighted_by_distance_are_those_of_scikit_learn(data):
    train, test = data[:24], data[20:]  # four of them are in both: at distance zero one decides alone
    across = tl.DTW().pairwise(test, train)
    for k in (1, 4, 7):
        ours = tl.Neighbors(tl.DTW(), k=k, weights="distance").fit(train)
        peer = KNeighborsClassifier(k, metric="precomputed", weights="distance")
        peer.fit(tl.DTW().pairwise(train), train.labels)
        np.testing.assert_allclose(ours.predict_proba(test), peer.predict_proba(across))
        np.testing.assert_array_equal(ours.predict(test), peer.predict(across))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_regression_is_that_of_scikit_learn_on_the_distance_matrix(data, weights):
    train, test = data[:24], data[20:]
    targets = np.random.default_rng(1).standard_normal(24)
    for k in (1, 3, 6):
        ours = tl.NeighborsRegressor("dtw", k=k, weights=weights).fit(train, targets)
        peer = KNeighborsRegressor(k, metric="precomputed", weights=weights).fit(tl.DTW().pairwise(train), targets)
        np.testing.assert_allclose(ours.predict(test), peer.predict(tl.DTW().pairwise(test, train)))
    labelled = train.replace(labels=targets)
    np.testing.assert_array_equal(ours.predict(test), clone(ours).fit(labelled).predict(test))


def test_distances_near_zero_and_huge_ones_still_weigh_something():
    train = tl.Sequences([[0.0], [1e-160], [1e150]], labels=["a", "b", "b"])
    shares = tl.Neighbors(k=3, weights="distance").fit(train).predict_proba([[5e-161], [1.0], [-1e150]])
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_kneighbors_are_those_of_the_metric(data):
    model = tl.Neighbors(tl.DTW(), k=3).fit(data[:20])
    for k in (None, 1, 5):
        found, expected = model.kneighbors(data[20:], k), tl.DTW().neighbors(data[:20], data[20:], k or 3)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)
    with pytest.raises(ValueError, match="k=21"):
        model.kneighbors(data[20:], 21)


def test_every_metric_of_align_has_its_name(data):
    plain = {name.lower() for name in tl.align.__all__ if is_metric(getattr(tl.align, name))}
    assert "dtw" in plain
    assert set(metric_names.metrics_by_name()) == plain
    for name in plain:
        assert type(tl.Neighbors(name).fit(data.resample(20)).metric_).__name__.lower() == name


def is_metric(thing):
    return (
        isinstance(thing, type)
        and issubclass(thing, tl.align.Metric)
        and is_dataclass(thing)
        and not thing.__abstractmethods__
    )


def test_the_window_can_be_chosen_by_leaving_one_out(data):
    even = data.resample(25)
    model = tl.Neighbors(select_window=True).fit(even)
    assert model.metric == "dtw"  # what was given stays
    assert model.metric_ == tl.DTW().select_window(even, even.labels)
    assert clone(model).fit(even).predict(even).tolist() == even.labels.tolist()


def test_labels_come_from_the_sequences_unless_others_are_given(data):
    assert tl.Neighbors().fit(data).score(data, data.labels) == 1
    assert tl.Neighbors().fit(data, np.arange(36)).predict(data).tolist() == list(range(36))
    with pytest.raises(ValueError, match="X carries no labels: give the class"):
        tl.Neighbors().fit(data.replace(labels=None))
    with pytest.raises(ValueError, match="X carries no labels: give the target"):
        tl.NeighborsRegressor().fit(data.replace(labels=None))


def test_an_even_vote_goes_to_the_nearer_class():
    train = tl.Sequences([[0.0], [10.0]], labels=["a", "b"])
    assert tl.Neighbors(k=2).fit(train, train.labels).predict([[6.0], [4.0]]).tolist() == ["b", "a"]


class Recorder(tl.Neighbors):
    """Keeps what cross-validation hands over."""

    seen: list = []  # noqa: RUF012

    def __init__(self, metric="dtw", *, k=1):
        super().__init__(metric, k=k)

    def fit(self, X, y):
        self.seen.append((X, y))
        return super().fit(X, y)


def test_cross_validation_keeps_times_groups_and_labels(data):
    Recorder.seen.clear()
    folds = GroupKFold(3)
    scores = cross_val_score(Recorder(), data, data.labels, groups=data.groups, cv=folds)
    assert len(scores) == 3
    for (part, y), (rows, _) in zip(Recorder.seen, folds.split(data, data.labels, data.groups), strict=True):
        assert part.equals(data[rows])
        assert part.times is not None
        np.testing.assert_array_equal(part.labels, y)
        np.testing.assert_array_equal(part.groups, data.groups[rows])
    predicted = cross_val_predict(tl.Neighbors(), data, data.labels, groups=data.groups, cv=folds)
    assert np.mean(predicted == data.labels) == pytest.approx(np.average(scores, weights=[12, 12, 12]))


def test_grid_search_reaches_the_options_of_the_metric(data):
    grid = {"metric__window": [0.4, 1.0], "metric__root": [True, False], "k": [1, 3]}
    search = GridSearchCV(tl.Neighbors(tl.DTW()), grid, cv=2).fit(data, data.labels)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.metric.window == search.best_params_["metric__window"]
    assert search.best_estimator_.sequences_.equals(data)


def test_it_works_in_a_pipeline_and_can_be_cloned(data):
    steps = make_pipeline(FunctionTransformer(lambda s: s.standardize(per="sequence")), tl.Neighbors(k=3))
    assert steps.fit(data, data.labels).score(data, data.labels) > 0.9
    copy = clone(tl.Neighbors(tl.DTW(window=3), k=2))
    own = {"metric": tl.DTW(window=3), "k": 2, "weights": "uniform", "select_window": False}
    options = {f"metric__{field.name}": getattr(tl.DTW(window=3), field.name) for field in fields(tl.DTW) if field.init}
    assert copy.get_params() == own | options
    assert options["metric__window"] == 3
    assert tl.Neighbors("dtw").get_params()["metric__window"] is None
    assert tl.Neighbors().set_params(metric__window=4).metric == tl.DTW(window=4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: tl.Neighbors(k=0).fit(s, s.labels), "k=0: expected at least 1"),
        (lambda s: tl.Neighbors(k=37).fit(s), "k=37: expected an integer from 1 to 36"),
        (lambda s: tl.Neighbors(k=1.5).fit(s), "k=1.5: expected an integer"),
        (lambda s: tl.Neighbors(weights="near").fit(s), "weights='near': expected one of 'uniform', 'distance'"),
        (lambda s: tl.Neighbors(AllAlike(), select_window=True).fit(s), "AllAlike has no window to select"),
        (lambda s: tl.Neighbors().fit(s, np.linspace(0, 1, 36)), "Unknown label type: y holds 0.02"),
        (lambda s: tl.NeighborsRegressor().fit(s), "y has dtype <U5: expected numbers; for classes use Neighbors"),
        (lambda s: tl.NeighborsRegressor().fit(s, [np.nan] * 36), r"y\[0\] is nan"),
        (lambda s: tl.Neighbors().fit(s[:0]), "X holds no sequences"),
        (lambda s: tl.Neighbors("cosine").fit(s, s.labels), "metric='cosine': expected a Metric"),
        (lambda s: tl.Neighbors().fit(s, [1, 2]), r"y has shape \(2,\) for 36 sequences"),
        (lambda s: tl.Neighbors().set_params(metric__wibble=1), "metric has no option 'wibble': DTW has window, "),
    ],
)
def test_bad_input_is_named(call, words, data):
    with pytest.raises((TypeError, ValueError), match=words):
        call(data)


def test_masked_values_are_missing_for_estimators_too():
    x = np.ma.masked_greater(np.random.default_rng(0).standard_normal((6, 8, 2)), 10)
    assert tl.Neighbors().fit(x, [0, 1] * 3).predict(x).tolist() == [0, 1] * 3
    x[3, 2, 0] = np.ma.masked
    with pytest.raises(ValueError, match="sequence 3.*time step 2"):
        tl.Neighbors().fit(x, [0, 1] * 3)


@pytest.mark.parametrize("metric", [tl.DTW(), tl.SoftDTW(), tl.OPW(), tl.MSM(), tl.GDTW()], ids=str)
def test_a_selection_with_a_step_is_compared_like_any_other(metric):
    rng = np.random.default_rng(0)
    data = tl.Sequences([rng.standard_normal((n, 2)) for n in (5, 7, 3, 9, 4, 6, 8)])
    for key in (slice(None, None, 3), slice(None, None, -2)):
        chosen = np.arange(len(data))[key]
        np.testing.assert_array_equal(metric.pairwise(data[key]), metric.pairwise(data[chosen]))


def test_missing_values_are_for_metrics_that_take_them():
    X = np.sin(np.arange(30) * np.repeat([0.3, 0.9], 5)[:, None])
    X[2, 4] = np.nan
    y = np.repeat([0, 1], 5)
    assert tl.Neighbors(tl.Rocket(n_features=200, random_state=0)).fit(X, y).score(X, y) == 1
    with pytest.raises(ValueError, match="Neighbors cannot take missing values"):
        tl.Neighbors("dtw").fit(X, y)


@pytest.mark.parametrize("kind", [tl.Neighbors, tl.NeighborsRegressor])
class TestScikitLearnsName:
    def test_it_is_the_same_option(self, kind):
        model = kind(n_neighbors=3)
        assert (model.k, model.n_neighbors, repr(model)) == (3, 3, repr(kind(k=3)))
        assert clone(model).k == 3
        assert "n_neighbors" not in model.get_params()
        assert model.set_params(n_neighbors=5).get_params()["k"] == 5
        model.n_neighbors = 7
        assert model.k == 7

    @pytest.mark.parametrize("k", [1, 3, 5])
    def test_both_names_at_once_are_an_error_even_where_they_agree(self, kind, k):
        words = rf"k={k} and n_neighbors=3 are two names of one option: give one of them"
        with pytest.raises(TypeError, match=words):
            kind(k=k, n_neighbors=3)
        with pytest.raises(TypeError, match=words):
            kind().set_params(k=k, n_neighbors=3)

    def test_nonsense_is_refused_by_the_options_name(self, kind):
        with pytest.raises(ValueError, match="k=0: expected at least 1"):
            kind(n_neighbors=0).fit([[1.0], [2.0]], [0, 1])


def test_a_grid_over_scikit_learns_name_is_that_over_ours(data):
    ours, theirs = (
        GridSearchCV(tl.Neighbors("dtw"), {name: [1, 3, 9]}, cv=3).fit(data, data.labels)
        for name in ("k", "n_neighbors")
    )
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert theirs.best_estimator_.k == theirs.best_params_["n_neighbors"] == ours.best_params_["k"]


def test_without_sequences_the_nearest_others_of_the_training_part_are_given_as_in_scikit_learn():
    table = np.random.default_rng(0).standard_normal((12, 4))
    ours = tl.Neighbors("euclidean", k=3).fit(table, np.arange(12) % 2)
    theirs = KNeighborsClassifier(3).fit(table, np.arange(12) % 2)
    for asked in ({}, {"n_neighbors": 2}):
        found, (distances, ids) = ours.kneighbors(**asked), theirs.kneighbors(**asked)
        np.testing.assert_array_equal(found.ids, ids)
        np.testing.assert_allclose(found.distances, distances)
    np.testing.assert_array_equal(ours.kneighbors(table, n_neighbors=2).ids, ours.kneighbors(table, 2).ids)
    with pytest.raises(TypeError, match="k=2 and n_neighbors=3 are two names"):
        ours.kneighbors(table, 2, n_neighbors=3)
    with pytest.raises(ValueError, match="k=12: expected 1 to 11, the number of other sequences"):
        ours.kneighbors(k=12)
