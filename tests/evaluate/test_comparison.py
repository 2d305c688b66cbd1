"""Comparisons: scores against scikit-learn and the package `score`, folds, what may be a method, tests, files, pictures."""

import json
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import timelike as tl
from naive import intervals
from rivals import Constant, Supervised, Watching, compared, waves
from tampering import mutated
from timelike import score
from timelike.evaluate import rank_table


def test_the_score_of_every_fold_is_that_of_scikit_learns_cross_validation():
    X = waves()
    folds = [(np.arange(8, 24), np.arange(8)), (np.arange(16), np.arange(16, 24)), (np.arange(4, 24), np.arange(4))]
    found = compared(X, {"msm": tl.MSM()}, cv=folds)
    expected = cross_val_score(tl.Neighbors(tl.MSM()), X, X.labels, cv=folds)
    assert found.rows[0].values("accuracy") == tuple(expected)
    assert found.rows[0].scores["accuracy"].mean == pytest.approx(expected.mean())


def test_distances_are_scored_as_by_hand():
    X, test = waves(), waves(16, seed=1)
    found = compared(X, ["dtw"], test=(test, None), metric=("map", "eer"), groups=False)
    precision = score.average_precision(tl.DTW().pairwise(test, X), test.labels, X.labels)
    assert found.rows[0].scores["map"].mean == pytest.approx(precision.mean())
    pairs = score.item_pairs(tl.DTW().pairwise(test), test.labels)
    assert found.rows[0].scores["eer"].mean == score.equal_error_rate(*pairs[:2])
    assert found.rows[0].scores["map"].low < precision.mean() < found.rows[0].scores["map"].high


def test_numbers_are_scored_by_the_mean_square_of_their_errors():
    X = waves()
    y, cv = np.arange(24.0), [(np.arange(12), np.arange(12, 24))]
    found = compared(X, {"nearest": tl.MSM(), "statistics": tl.encode.StatisticsEncoder()}, y=y, cv=cv, metric="mse")
    model = tl.NeighborsRegressor(tl.MSM()).fit(X[:12], y[:12])
    by_name = {row.method: row.scores["mse"].mean for row in found.rows}
    assert by_name["nearest"] == pytest.approx(np.mean((model.predict(X[12:]) - y[12:]) ** 2))
    assert found.ranked_rows()[0].scores["mse"].mean == min(by_name.values())


def test_no_method_sees_a_group_on_both_sides_and_every_sequence_is_tested_once():
    X = waves()
    Watching.seen = []
    compared(X, {"watching": Watching()}, cv=3)
    assert sorted(i for _, tested in Watching.seen for i in tested) == list(range(24))
    for learned, tested in Watching.seen:
        assert sorted(learned + tested) == list(range(24))
        assert not set(X.groups[learned]) & set(X.groups[tested])
        assert set(X.labels[tested]) == {"slow", "fast"}  # stratified


def test_folds_keep_the_shares_of_classes_where_there_are_no_groups():
    X = waves(30)
    Watching.seen = []
    found = compared(X, {"watching": Watching()}, groups=False)
    assert found.design == "5 folds, stratified"
    assert [sorted(X.labels[tested].tolist()).count("slow") for _, tested in Watching.seen] == [3] * 5


def test_a_splitter_of_scikit_learn_gives_the_folds():
    X = waves()
    Watching.seen = []
    compared(X, {"watching": Watching()}, cv=GroupKFold(3))
    expected = [test.tolist() for _, test in GroupKFold(3).split(np.zeros((24, 1)), X.labels, X.groups)]
    assert [tested for _, tested in Watching.seen] == expected


def test_metrics_encoders_words_and_estimators_are_methods():
    X = waves()
    pipeline = make_pipeline(tl.encode.StatisticsEncoder(), DecisionTreeClassifier(random_state=0))
    methods = [tl.ERP(), "msm", "Euclidean", "statistics + forest", tl.encode.StatisticsEncoder(), pipeline]
    found = compared(X, methods, cv=2, metric=("accuracy", "map"))
    rows = {row.method: row for row in found.rows}
    assert all(row.state == "finished" for row in rows.values())
    assert len(rows) == 6
    alone = next(row for name, row in rows.items() if name.startswith("Pipeline"))
    assert "map" not in alone.scores
    assert "no map: it classifies without distances" in found.table()
    assert set(rows["msm"].scores) == {"accuracy", "map"}


def test_a_classifier_under_map_alone_is_a_row_that_says_so():
    found = compared(waves(), {"constant": Constant(), "dtw": tl.DTW()}, metric="map", cv=2)
    row = next(row for row in found.rows if row.method == "constant")
    assert row.state == "failed"
    assert "classifies without distances" in found.table()
    assert [row.method for row in found.ranked_rows()] == ["dtw"]


def test_a_metric_that_came_fitted_is_used_as_it_is_and_said_to_be():
    X, others = waves(), waves(8, seed=3)
    encoder = tl.encode.StatisticsEncoder().fit(others)
    found = compared(X, {"given": encoder}, metric="map", cv=2)
    assert "already fitted" in found.rows[0].reason
    assert found.best() is encoder


def test_an_encoder_that_learns_from_classes_is_judged_by_its_nearest_neighbours():
    found = compared(waves(), {"supervised": Supervised(), "plain": tl.encode.StatisticsEncoder()}, cv=2)
    kinds = {method.name: type(method.model) for method in found.methods}
    assert kinds == {"supervised": tl.Neighbors, "plain": tl.EmbeddingClassifier}
    assert all(row.state == "finished" for row in found.rows)


def test_the_same_seed_gives_the_same_comparison():
    X = waves(noise=1.5)
    methods = {"statistics": tl.encode.StatisticsEncoder(), "msm": tl.MSM()}
    one, two, other = (compared(X, methods, random_state=seed, groups=False) for seed in (1, 1, 2))
    assert [row.scores for row in one.rows] == [row.scores for row in two.rows]
    assert [row.folds[0].items for row in one.rows] == [row.folds[0].items for row in two.rows]
    assert one.rows[0].folds[0].items != other.rows[0].folds[0].items


def test_the_best_is_fitted_on_everything():
    X, test = waves(), waves(12, seed=2)
    best = compared(X, ["msm", "euclidean"], test=(test, test.labels)).best()
    assert len(best.sequences_) == 36
    assert compared(X, {"constant": Constant(), "msm": tl.MSM()}).best().predict(X[:2]).tolist() == ["fast", "slow"]
    assert compared(X, ["msm"], metric="eer").best() == tl.MSM()


def test_the_best_can_leave_out_the_test_part():
    X, test = waves(), waves(12, seed=2)
    best = compared(X, ["msm", "euclidean"], test=(test, test.labels)).best(split="train")
    assert len(best.sequences_) == len(X)
    np.testing.assert_array_equal(best.sequences_.values, X.values)
    with pytest.raises(ValueError, match='after a single split'):
        compared(X, ["msm"], cv=2).best(split="train")


def test_paired_tests_over_folds_are_the_corrected_t_tests_with_holm():
    X = waves(noise=1.2)
    found = compared(X, {"constant": Constant(), "msm": tl.MSM(), "dtw": tl.DTW()}, cv=5)
    values = {row.method: np.array(row.values("accuracy")) for row in found.rows}
    sizes = [len(tested.items["accuracy"]) for tested in found.rows[0].folds]
    overlap = np.mean([size / (24 - size) for size in sizes])
    for one in found.differences():
        d = values[one.first] - values[one.second]
        spread = d.std(ddof=1) * np.sqrt(1 / 5 + overlap)
        expected = 2 * stats.t.sf(abs(d.mean() / spread), 4)
        assert one.p_value == pytest.approx(expected)
        assert one.difference == pytest.approx(d.mean())
        assert one.corrected_p_value >= one.p_value
    assert "Nadeau" in found.test_description()


def test_folds_that_differ_by_the_same_are_no_certainty():
    X = np.repeat([0.0, 9.0], 10)[:, None] + np.random.default_rng(0).random((20, 6))
    y = np.repeat(["slow", "fast"], 10)
    folds = [(np.setdiff1d(np.arange(20), tested), np.array(tested)) for tested in ([0, 10], [9, 19])]
    found = compared(X, {"euclidean": tl.Euclidean(), "constant": Constant()}, y=y, cv=folds)
    (one,) = found.differences()
    assert (one.first, one.difference) == ("euclidean", 0.5)  # in both folds
    assert one.p_value == stats.binomtest(2, 2).pvalue  # two items of four


def test_paired_tests_on_an_official_split_are_over_items():
    X, test = waves(noise=1.2).replace(groups=None), waves(40, noise=1.2, seed=1).replace(groups=None)
    found = compared(X, {"constant": Constant(), "msm": tl.MSM()}, test=(test, None), metric=("accuracy", "eer"))
    right = [np.array(row.folds[0].items["accuracy"]) > 0 for row in found.rows]
    only = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    assert found.differences()[0].p_value == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)
    assert "McNemar" in found.test_description()
    assert "bootstrap over items" in found.test_description("eer")


def test_a_method_does_not_differ_from_itself_by_any_score():
    X, test = waves(), waves(20, seed=1)
    found = compared(X, {"a": tl.MSM(), "b": tl.MSM()}, test=(test, None), metric=("accuracy", "map", "eer"))
    for name in found.scores:
        assert found.differences(name)[0].p_value == 1.0


def test_a_comparison_survives_json(tmp_path):
    X = waves()
    found = compared(X, {"constant": Constant(), "dtw": tl.DTW()}, cv=2, metric=("accuracy", "map"))
    found.to_json(tmp_path / "found.json")
    again = tl.evaluate.Comparison.from_json(tmp_path / "found.json")
    assert again == found == tl.evaluate.Comparison.from_json(found.to_json())
    assert str(again) == str(found)
    with pytest.raises(ValueError, match="neither the data nor the methods"):
        again.best()
    with pytest.raises(ValueError, match="no comparison of this version of timelike"):
        tl.evaluate.Comparison.from_json(json.dumps({"format": "else"}))


def test_a_table_a_picture_and_html_show_every_method():
    found = compared(waves(), {"x|y": Constant(), "<b>": tl.DTW()}, cv=2)
    lines = found.table().splitlines()
    assert lines[0].split()[:4] == ["|", "method", "|", "accuracy"]
    assert len({line.rindex("|", 0, -1) for line in lines}) == 1  # columns are aligned
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    axes = found.plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [row.method for row in found.ranked_rows()]


def test_several_data_sets_are_ranked_together():
    names = ["msm", "dtw", "euclidean"]
    several = {f"set {seed}": compared(waves(seed=seed, noise=1.5), names, cv=2) for seed in range(4)}
    ranking = tl.evaluate.Comparison.rank(several)
    table = np.array([[dict_of(one)[name] for name in ranking.methods] for one in several.values()])
    np.testing.assert_allclose(ranking.mean_ranks, np.mean([stats.rankdata(-row) for row in table], axis=0))
    assert str(ranking).startswith("| method | mean rank |")
    assert "svg" in ranking._repr_html_()
    nemenyi = tl.evaluate.Comparison.rank(several, post_hoc="nemenyi")
    assert nemenyi.critical_difference == pytest.approx(score.critical_difference(3, 4))


def dict_of(comparison):
    return {row.method: row.scores["accuracy"].mean for row in comparison.rows}


def test_methods_without_a_score_on_every_set_are_left_out_by_name():
    found = rank_table({"a": {"x": 1.0, "y": 0.5, "z": 0.1}, "b": {"x": 0.3, "y": 0.4}})
    assert found.excluded == ("z",)
    assert "Left out, without a score on every set: z" in str(found)
    with pytest.raises(ValueError, match="expected two of both"):
        rank_table({"a": {"x": 1.0}, "b": {"y": 0.3}})
    lower = rank_table({"a": {"x": 1.0, "y": 0.5}, "b": {"x": 0.3, "y": 0.2}}, higher_is_better=False)
    assert lower.mean_ranks.tolist() == [2.0, 1.0]


def test_given_folds_may_not_split_a_group():
    X, y = np.random.default_rng(0).standard_normal((12, 5)), np.arange(12) % 2
    halves = [(np.arange(0, 12, 2), np.arange(1, 12, 2))]
    with pytest.raises(ValueError, match="fold 0 learns from group 0 and is tested on it"):
        tl.compare(X, y, ["euclidean"], groups=np.arange(12) // 2, cv=halves, progress=False)


@pytest.mark.parametrize("n_classes", [4, 5, 9])
def test_strangers_are_compared_where_groups_are_the_classes(n_classes):
    X, y = np.random.default_rng(0).standard_normal((6 * n_classes, 5)), np.repeat(np.arange(n_classes), 6)
    found = tl.compare(X, y, ["euclidean"], groups=y, metric="eer", progress=False, random_state=0)
    assert found.rows[0].state == "finished"


class Answers(RegressorMixin, BaseEstimator):
    """Gives what a function makes of the true numbers, which every sequence begins with."""

    def __init__(self, made=None):
        self.made = made

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.made(np.array([one[0, 0] for one in X]))


NUMBERS = np.random.default_rng(0).permutation(24).astype(float)


def regressed(made):
    X = tl.Sequences(np.c_[NUMBERS, np.ones((24, 3))], ids=[f"run {i}" for i in range(24)])
    methods = {"made": Answers(made), "euclidean": tl.Euclidean()}
    found = tl.compare(X, NUMBERS, methods, cv=3, metric="mse", random_state=0, progress=False)
    rows = {row.method: row for row in found.rows}
    assert rows["euclidean"].state == "finished"
    assert found.table()
    return rows["made"]


def _tensor_of(y):
    import torch

    return torch.from_numpy(y)


as_tensor = pytest.param(_tensor_of, marks=pytest.mark.learn)


@pytest.mark.parametrize("made", [np.asarray, lambda y: y[:, None], lambda y: y.tolist(), as_tensor])
def test_a_perfect_regressor_has_no_error_whatever_it_answers_in(made):
    assert regressed(made).scores["mse"].mean == 0


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda y: y[:1], r"predict\(\) gave shape \(1,\) for 8 sequences: expected \(8,\), one number each"),
        (lambda y: y[None], r"shape \(1, 8\)"),
        (lambda y: np.outer(y, y), r"shape \(8, 8\)"),
        (lambda y: y[:, None, None], r"shape \(8, 1, 1\)"),
        (lambda y: y[0], r"shape \(\)"),
        (lambda y: np.where(y == y.max(), np.nan, y), "gave nan for sequence run "),
        (lambda y: np.where(y == y.max(), np.inf, y), "gave inf for sequence run "),
        (lambda y: y * 1e200, "squared error is infinite"),
        (lambda y: y + 1j, "complex128"),
        (lambda y: ["high"] * len(y), "TypeError"),
        (lambda y: [None] * len(y), "TypeError|nan"),
    ],
)
def test_answers_that_cannot_be_scored_are_a_failed_row(made, words):
    row = regressed(made)
    assert row.state == "failed"
    assert re.search(words, row.reason), row.reason


def test_classes_in_a_column_are_classes_and_a_table_of_them_is_a_failed_row():
    X = waves()
    columns, table = (compared(X, {"c": Shaped(shape=shape)}, cv=2).rows[0] for shape in ((-1, 1), (1, -1)))
    assert columns.scores["accuracy"].mean == compared(X, {"c": Constant()}, cv=2).rows[0].scores["accuracy"].mean
    assert table.state == "failed"
    assert "shape (1, 12) for 12 sequences: expected (12,), one class each" in table.reason


class Shaped(Constant):
    """The answers of a constant in another shape."""

    def __init__(self, answer="slow", shape=(-1,)):
        self.answer, self.shape = answer, shape

    def predict(self, X):
        return super().predict(X).reshape(self.shape)


@pytest.mark.parametrize("split", ["folds", "official", "groups"])
def test_no_interval_is_narrower_than_wilsons_where_every_answer_is_right(split):
    X = np.repeat([0.0, 9.0], 15)[:, None] + np.random.default_rng(0).random((30, 6))
    y, groups = np.repeat([0, 1], 15), np.tile(np.arange(6), 5)
    given = {"official": {"test": (X, y)}, "folds": {"cv": 5}, "groups": {"cv": 3, "groups": groups}}[split]
    found = tl.compare(X, y, ["euclidean"], metric=("accuracy", "map", "eer"), random_state=0, progress=False, **given)
    n = 6 if split == "groups" else 30
    for name in ("accuracy", "map", "eer"):
        one = found.rows[0].scores[name]
        perfect = 0.0 if name == "eer" else 1.0
        assert (one.mean, one.low, one.high) == pytest.approx((perfect, *intervals.wilson(perfect, n)), abs=1e-9)
    assert "1.000 [1.000, 1.000]" not in found.table()


class Told(Constant):
    """Answers with what it was told, by the sequence's first value."""

    def predict(self, X):
        return np.asarray(self.answer)[np.array([int(x[0, 0]) for x in X])]


@pytest.mark.parametrize("metric", ["accuracy", "mse"])
def test_folds_that_all_differ_alike_are_compared_by_whole_groups(metric):
    """Ten people, ten items each: one method is right throughout, the other wrong about every item of one per fold."""
    y, people = np.tile([0, 1], 50), np.repeat(np.arange(10), 10)
    X = np.stack([np.arange(100.0)] * 4, axis=1)
    folds = [(np.flatnonzero(people // 2 != k), np.flatnonzero(people // 2 == k)) for k in range(5)]
    methods = {"right": Told(answer=y), "wrong": Told(answer=np.where(people % 2, y, 1 - y))}
    given = {"cv": folds, "metric": metric, "progress": False, "random_state": 0}
    found = tl.compare(X, y, methods, groups=people, **given)
    assert found.differences()[0].p_value == pytest.approx(stats.binomtest(5, 5).pvalue, abs=0.01)
    assert "over groups" in found.test_description()
    again = tl.evaluate.Comparison.from_json(found.to_json())
    assert again.differences() == found.differences()
    alone = tl.compare(X, y, methods, groups=False, **given).differences()[0].p_value
    assert alone < 1e-3
    twice = tl.compare(X, y, methods, groups=False, **given | {"cv": folds * 2}).differences()[0].p_value
    assert twice == pytest.approx(alone, abs=2e-4)  # an item that is tested twice is one witness


def test_the_interval_of_an_equal_error_rate_over_folds_is_that_of_their_mean():
    X = waves(60, noise=1.0).replace(groups=None)
    found = compared(X, ["euclidean"], metric="eer", cv=5)
    (row,), values = found.rows, np.array(found.rows[0].values("eer"))
    half = stats.t.ppf(0.975, 4) * values.std(ddof=1) * np.sqrt(1 / 5 + found.overlap)
    variance = np.mean([np.var(fold.draws["eer"]) for fold in row.folds]) * (1 / 5 + found.overlap)
    low, high = intervals.wilson(values.mean(), 60, variance=variance)
    one = row.scores["eer"]
    expected = max(0.0, min(low, values.mean() - half)), min(1.0, max(high, values.mean() + half))
    assert (one.low, one.high) == pytest.approx(expected)
    assert half > 0


@pytest.mark.parametrize("official", [True, False])
def test_an_edited_file_is_refused_or_still_a_comparison(official):
    X = waves(16)
    given = {"test": (waves(8, seed=1), None)} if official else {"cv": 2}
    found = compared(X, {"dtw": tl.DTW(), "c": Constant()}, metric=("accuracy", "map", "eer"), **given)
    held = json.loads(found.to_json())
    for fold in (fold for row in held["rows"] for fold in row["folds"]):
        fold["draws"] = {name: draws[:3] for name, draws in fold["draws"].items()}
    refused = []
    for tree in mutated(held):
        try:
            again = tl.evaluate.Comparison.from_json(json.dumps(tree))
        except ValueError as error:
            refused.append(str(error))
            continue
        assert again.table()
        assert isinstance(again.differences(), tuple)
    assert len(refused) > 300
    assert all("source" in words for words in refused)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "found.json").write_bytes(b"\xff{")
    for source in (tmp_path / "found.json", "{]"):
        with pytest.raises(ValueError, match="source is not valid JSON"):
            tl.evaluate.Comparison.from_json(source)


def test_an_edited_checkpoint_is_refused(tmp_path):
    compared(waves(), {"c": Constant()}, cv=2, checkpoint=tmp_path / "kept")
    (one, _) = sorted((tmp_path / "kept").glob("c-*.json"))
    one.write_text(one.read_text().replace('"fit_seconds": ', '"fit_seconds": 1'))
    with pytest.raises(ValueError, match=f"'{one}' has changed since it was written; delete it to recompute the row"):
        compared(waves(), {"c": Constant()}, cv=2, checkpoint=tmp_path / "kept")


def test_small_errors_are_written_by_significant_digits():
    X = [np.full((6, 1), i) + np.arange(6)[:, None] for i in range(12)]
    y = 1e-3 * np.arange(12) ** 2
    found = tl.compare(X, y, {"nearest": tl.DTW()}, cv=3, metric="mse", random_state=0, progress=False)
    mean = found.rows[0].scores["mse"].mean
    assert 0 < mean < 5e-4
    assert f"| {mean:.4g} [" in found.table()
