"""Comparisons under a budget, interrupted, resumed, and given what makes no sense."""

import re
import signal
from typing import ClassVar

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline

import timelike as tl
from missing_extras import missing_extras
from optional_torch import torch
from rivals import Constant, Euclidean, Failing, Interrupted, Limited, Slow, Warns, compared, waves
from timelike.evaluate.methods import DEFAULT_CLASSIFIERS, DEFAULT_REGRESSORS, ComparedMethod, takes_missing
from timelike.evaluate.runtimes import FoldSize, SpeedTracker, estimate_seconds
from timelike.train.budget import DefaultBudget
from timelike.train.clock import use_clock

# without torch the usual methods are those that are not networks, and a warning names the others
WITHOUT_NETWORKS = pytest.mark.filterwarnings(r"ignore:compare\(\) leaves out T-Loss \+ head, SiameseGRU")
NETWORKS = {"T-Loss + head", "SiameseGRU", "Prototypes", "CoupledGRU", "TAP"}
USUAL = DEFAULT_CLASSIFIERS.keys() - (NETWORKS if "learn" in missing_extras() else set())

# --- the budget


def test_a_method_that_does_not_fit_into_what_is_left_is_a_row_that_says_so():
    Slow.fits = 0
    found = compared(waves(), {"constant": Constant(), "slow": Slow()}, budget=0.12 / 60, cv=5)
    rows = {row.method: row for row in found.rows}
    assert rows["constant"].state == "finished"
    assert rows["slow"].state in ("skipped", "unfinished")
    assert "not in the budget" in rows["slow"].reason
    assert Slow.fits < 5


def test_a_budget_too_small_for_any_method_runs_the_cheapest_and_says_so():
    found = compared(waves(), {"statistics": tl.encode.StatisticsEncoder(), "euclidean": tl.Euclidean()}, budget=1e-9)
    assert [(row.method, row.state) for row in found.rows] == [("euclidean", "finished"), ("statistics", "skipped")]
    assert "too small for any method" in str(found)
    assert found.best().metric_ == tl.Euclidean()


def test_methods_that_can_be_limited_train_within_the_budget():
    found = compared(waves(), {"limited": Limited()}, budget=1.0, cv=2)
    assert 0 < Limited.told[0] < 60
    assert found.rows[0].reason.startswith("had ")
    compared(waves(), {"limited": Limited()}, budget=60.0, cv=2)
    assert Limited.told[0] == 120.0
    compared(waves(), {"limited": Limited(max_time=3.0, random_state=7)}, budget=1.0, cv=2)
    assert Limited.told == (3.0, 7)
    compared(waves(), {"limited": Limited()}, cv=2)
    assert Limited.told[0] is None
    assert isinstance(Limited.told[1], int)


def test_a_method_that_is_not_done_when_the_budget_is_spent_is_ended():
    found = compared(waves(), {"quick": tl.Euclidean(), "endless": Euclidean()}, budget=0.3 / 60, cv=2)
    row = next(row for row in found.rows if row.method == "endless")
    assert (row.state, row.reason) == ("skipped", "not in the budget: the budget ended during this fold")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_the_cheapest_comes_first_whatever_the_order():
    given = {
        "statistics": tl.encode.StatisticsEncoder(),
        "window": tl.Neighbors("dtw", select_window=True),
        "e": tl.Euclidean(),
    }
    size = FoldSize(500, 500, 300, 1)
    order = sorted(given, key=lambda name: estimate_seconds(given[name], size))
    assert order == ["e", "statistics", "window"]
    assert compared(waves(), given, cv=2).rows[0].method == "e"


@pytest.mark.learn
def test_trained_metrics_are_expected_to_take_longer():
    size = FoldSize(500, 500, 300, 1)
    assert estimate_seconds(tl.Neighbors(tl.TAP()), size) > estimate_seconds(tl.SiameseGRU(), size) > 5


def test_what_was_measured_corrects_what_is_expected():
    speed = SpeedTracker()
    assert speed.estimate("other", 2.0) == 2.0
    speed.record("first", 1.0, 3.0)
    assert speed.estimate("first", 1.0) == 3.0
    assert speed.estimate("other", 2.0) == 6.0


def test_without_a_budget_it_is_said_how_long_it_will_take(capsys):
    tl.compare(waves(), methods={"euclidean": tl.Euclidean()}, random_state=0)
    assert "about" not in capsys.readouterr().err  # it takes no two seconds
    many = tl.Sequences(np.zeros((4000, 2)), labels=np.arange(4000) % 2)
    folds = [(np.arange(3990), np.arange(3990, 4000))] * 2
    tl.compare(many, methods={"euclidean": tl.Euclidean(), "statistics": Failing()}, cv=folds[:1], random_state=0)
    capsys.readouterr()
    given = {f"encoder {i}": tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head="fail") for i in range(3)}
    tl.compare(many, methods=given, cv=folds[:1], random_state=0)
    assert "compare: 3 methods, 1 fold; about" in capsys.readouterr().err


def test_the_line_at_the_start_names_what_takes_most_of_the_time(capsys, monkeypatch):
    monkeypatch.setattr("timelike.evaluate.run._MIN_ANNOUNCED_SECONDS", 0.0)
    tl.compare(waves(), methods=["euclidean", "statistics + forest"], cv=2, random_state=0)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"compare: 2 methods, 2 folds; about .* s, most of it statistics \+ forest", line)


# --- networks


@pytest.mark.learn
def test_networks_are_left_out_unless_steps_or_minutes_are_given():
    found = compared(waves(), None, cv=2)
    assert {row.method for row in found.rows} == DEFAULT_CLASSIFIERS.keys() - NETWORKS
    (note,) = found.notes
    assert note.startswith("left out: T-Loss + head, SiameseGRU, Prototypes, CoupledGRU, TAP, which train a network: ")
    assert "max_steps=500 includes them" in note
    names = {row.method for row in compared(waves(), None, cv=2, budget=1e-9).rows}
    assert names == DEFAULT_CLASSIFIERS.keys()
    numbers = compared(waves(), None, y=np.arange(24.0), cv=2, metric="mse")
    assert [row.method for row in numbers.rows if "T-Loss" in row.method] == []


@pytest.mark.learn
def test_with_steps_the_networks_run_and_a_second_run_gives_the_same_scores():
    runs = [compared(waves(), None, cv=2, max_steps=2) for _ in range(2)]
    assert {row.method for row in runs[0].rows if row.state == "finished"} == DEFAULT_CLASSIFIERS.keys()
    assert not [note for note in runs[0].notes if "left out" in note]
    first, again = ({row.method: row.scores for row in run.rows} for run in runs)
    assert first == again


class Counted(tl.SiameseGRU if torch else object):
    """Notes how many steps its trainings took; five by default, if they need no more than a second."""

    _default_budget = DefaultBudget(step_range=(5, 5), seconds=1.0)
    steps: ClassVar[list] = []

    def fit(self, X, y=None):
        super().fit(X, y)
        Counted.steps.append(self.history_.n_steps)
        return self


@pytest.mark.learn
def test_steps_are_those_of_every_training_that_leaves_them_open(tmp_path):
    X, Counted.steps = waves(12), []
    given = {"open": Counted(hidden=4), "own": Counted(hidden=4, max_steps=3)}
    found = compared(X, given, cv=2, max_steps=2, checkpoint=tmp_path / "kept")
    found.best()
    assert sorted(Counted.steps[:4]) == [2, 2, 3, 3]
    assert Counted.steps[4] == {"open": 2, "own": 3}[found.ranked_rows()[0].method]
    assert given["open"].max_steps is None
    with pytest.raises(ValueError, match="has 'open/0' with method="):  # other steps, another method
        compared(X, given, cv=2, max_steps=5, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="max_steps=0"):
        compared(X, given, max_steps=0)


@pytest.mark.learn
def test_no_clock_ends_a_training_unless_there_is_a_budget():
    X, counts, Counted.steps = waves(12), iter(range(10**6)), []
    with use_clock(lambda: 100.0 * next(counts)):
        with pytest.warns(tl.train.NotLearnedWarning, match="max_time was over"):
            Counted(hidden=4).fit(X, X.labels)
        compared(X, {"counted": Counted(hidden=4)}, cv=2).best()
        compared(X, {"counted": Counted(hidden=4)}, cv=2, budget=5.0)
    assert Counted.steps == [1, 5, 5, 5, 1, 1]


@pytest.mark.learn
def test_trainings_inside_a_comparison_print_nothing_of_their_own(capsys, monkeypatch):
    monkeypatch.setattr("timelike.evaluate.run._MIN_ANNOUNCED_SECONDS", 0.0)
    counts = iter(range(10**6))
    with use_clock(lambda: 100.0 * next(counts)):  # so slow that a training alone would say how long it takes
        tl.compare(waves(12), methods={"siamese": tl.SiameseGRU(hidden=4)}, cv=2, max_steps=3, random_state=0)
        assert capsys.readouterr().err.count("\n") == 1
        tl.SiameseGRU(hidden=4, max_steps=3).fit(waves(12), waves(12).labels)
        assert "SiameseGRU: 3 steps, about" in capsys.readouterr().err


# --- interrupted and resumed


def test_one_ctrl_c_ends_it_with_the_rows_that_are_finished():
    before = signal.getsignal(signal.SIGINT)
    found = compared(waves(), {"a": Constant(), "b": Interrupted(), "c": Constant("fast")}, cv=2)
    assert [(row.method, row.state) for row in found.rows] == [("a", "finished"), ("b", "skipped"), ("c", "skipped")]
    assert "stopped by Ctrl-C" in str(found)
    assert found.is_interrupted
    assert tl.evaluate.Comparison.from_json(found.to_json()).is_interrupted
    assert not compared(waves(), {"a": Constant()}, cv=2).is_interrupted
    assert signal.getsignal(signal.SIGINT) is before


def test_a_checkpoint_keeps_what_is_finished_and_goes_on(tmp_path):
    X, Slow.fits = waves(), 0
    first = compared(X, {"slow": Slow(), "b": Interrupted()}, cv=3, checkpoint=tmp_path / "kept")
    assert Slow.fits == 3
    again = compared(X, {"slow": Slow(), "b": Constant()}, cv=3, checkpoint=tmp_path / "kept")
    assert Slow.fits == 3
    assert again.rows[0] == first.rows[0]
    assert [row.state for row in again.rows] == ["finished", "finished"]


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    X = waves()
    compared(X, {"a": Constant()}, cv=2, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match=r"is of another comparison \(different data, folds or scores\)"):
        compared(X[:20], {"a": Constant()}, cv=2, checkpoint=tmp_path / "kept")
    given = {"cv": [(np.arange(12), np.arange(12, 24))], "checkpoint": tmp_path / "new"}
    compared(X, {"a": Constant()}, **given)
    with pytest.raises(ValueError, match=r"is of another comparison \(different random_state\)"):
        compared(X, {"a": Constant()}, random_state=5, **given)
    with pytest.raises(ValueError, match=r"has 'a/0' with method='Constant\(.*slow.*not method='Constant\(.*fast"):
        compared(X, {"a": Constant("fast")}, cv=2, checkpoint=tmp_path / "kept")


# --- bad input


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y holds one class, 'a'"):
        compared(np.zeros((4, 3)), ["dtw"], y=["a"] * 4)


@pytest.mark.parametrize("groups", [None, ["anna", "anna", "bob", "bob"]])
def test_labels_that_no_two_sequences_share_are_named_with_the_way_out(groups):
    X = tl.Sequences(np.zeros((4, 5)), labels=["rest_01", "rest_02", "walk_01", "walk_02"], groups=groups)
    words = r"each of the 4 classes has a single sequence, such as 'rest_01' and 'rest_02'.* let it end before"
    with pytest.raises(ValueError, match=words):
        tl.compare(X, methods=["euclidean"])


def test_a_class_with_one_member_is_learned_from_but_never_tested():
    X = waves(13).replace(groups=None)
    y = np.append(X.labels[:12], "rare")
    found = compared(X, ["dtw"], y=y, cv=3)
    assert "classes with one member are trained on but never tested: 'rare'" in str(found)
    assert sum(len(fold.items["accuracy"]) for fold in found.rows[0].folds) == 12


def test_classes_smaller_than_the_number_of_folds_are_tested_where_they_are():
    X = waves(12).replace(groups=None)
    found = compared(X, ["dtw"], y=["a"] * 10 + ["b"] * 2, cv=5)
    assert found.rows[0].state == "finished"
    assert sum(len(fold.items["accuracy"]) for fold in found.rows[0].folds) == 12


def test_fewer_sequences_than_folds_are_refused():
    with pytest.raises(ValueError, match="cv=9 folds of 8 sequences: expected at most 8"):
        compared(waves(8), ["dtw"], cv=9, groups=False)
    assert compared(waves(4), ["dtw"], groups=False).design == "2 folds, stratified"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"groups": [1] * 24}, "all sequences are in one group, 1"),
        ({"cv": 9}, "cv=9 folds of 6 groups: expected at most 6"),
        ({"groups": ["x", "y"] * 12}, "class 'fast' is in one group only"),
        ({"groups": [1, 2]}, "groups"),
        ({"cv": PredefinedSplit([-1] * 24), "groups": False}, "gives no folds"),
        ({"cv": [(np.arange(24), [])]}, "fold 0, rows to test: expected some"),
        ({"cv": [([], np.arange(24))]}, "fold 0, rows to learn from: expected some"),
        ({"cv": [(np.arange(12), np.arange(11, 24))]}, "fold 0 is tested on row 11, which it learned from"),
        ({"cv": 1}, "cv=1: expected at least 2"),
        ({"metric": "f1"}, "metric='f1': expected one of 'accuracy'"),
        ({"metric": ("accuracy", "mse")}, "compare twice"),
        ({"metric": "mse"}, "metric='mse' with y of dtype <U4, such as 'fast'"),
        ({"y": np.arange(24) / 7}, "expected classes; for numbers use 'mse'"),
        ({"y": [1, 2]}, r"y has shape \(2,\) for 24 sequences"),
        ({"y": [np.nan] * 24}, "NaN"),
        ({"budget": 0}, "budget=0"),
        ({"test": (np.zeros((2, 3)), [0, 1]), "cv": 3}, "cv and test are both given"),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["dtww"]}, "methods has 'dtww': expected one of '1-NN Euclidean'"),
        ({"methods": [tl.DTW(), tl.DTW()]}, "two are called 'DTW"),
    ],
)
def test_arguments_without_sense_are_refused_by_name(more, words):
    X = waves()
    given = {"methods": ["dtw"], "random_state": 0, "progress": False} | more
    with pytest.raises(ValueError, match=words):
        tl.compare(X, **given)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"methods": tl.DTW}, "is the class DTW"),
        ({"methods": [3]}, "is a int"),
        ({"test": 3}, "test=3"),
        ({"cv": "many"}, "cv='many'"),
        ({"cv": [3]}, "fold 0 is 3"),
        ({"budget": "long"}, "budget='long'"),
        ({"test": (np.zeros((2, 3)), [0, 1])}, "mix numbers and text"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_by_name(more, words):
    with pytest.raises(TypeError, match=words):
        tl.compare(waves(length=3), **{"methods": ["dtw"], "random_state": 0, "progress": False} | more)


def test_a_method_that_fails_is_a_row_that_says_why():
    found = compared(waves(), {"failing": Failing(), "dtw": tl.DTW()}, cv=2)
    row = next(row for row in found.rows if row.method == "failing")
    assert (row.state, row.reason) == ("failed", "failed in fold 1 of 2: RuntimeError: no luck | today")
    assert "no luck / today" in found.table()
    nothing = compared(waves(), {"failing": Failing()}, cv=2)
    with pytest.raises(ValueError, match="no method has finished.*no luck"):
        nothing.best()
    with pytest.raises(ValueError, match="nothing to draw"):
        nothing.plot()
    assert "no luck" in nothing._repr_html_()


def test_a_warning_of_a_method_stands_in_its_row():
    found = compared(waves(), {"warns": Warns()}, cv=2)
    assert found.rows[0].folds[0].warnings == ("learned nothing",)
    assert "learned nothing" in found.table()


def test_unequal_lengths_fail_only_the_methods_that_cannot_take_them():
    X = waves()
    ragged = tl.Sequences([x[: 15 + i % 5] for i, x in enumerate(X)], labels=X.labels)
    found = compared(ragged, ["euclidean", "dtw"], cv=2)
    assert {row.method: row.state for row in found.rows} == {"euclidean": "failed", "dtw": "finished"}
    assert "lengths 15 and 19 differ" in found.table()


def holes():
    """Waves with one value in fifty missing, called by their ids."""
    X = waves().replace(ids=[f"wave {i}" for i in range(24)])
    lacks = np.random.default_rng(0).random(X.values.shape) < 0.02
    return X._with_values(np.where(lacks, np.nan, X.values))


def test_missing_values_are_left_out_where_that_is_possible_and_interpolated_elsewhere():
    X = holes()
    methods = ["dtw", "msm", "1-NN DTW", "statistics + forest"]
    found = compared(X, methods, cv=2, metric=("accuracy", "map"))
    reasons = {row.method: row.reason for row in found.rows if row.state == "finished"}
    taken = takes_missing(tl.encode.StatisticsEncoder())
    filled = "missing values interpolated"
    expected = {"dtw": "", "msm": filled, "1-NN DTW": "", "statistics + forest": "" if taken else filled}
    assert reasons == expected
    assert f"for {sum(map(bool, expected.values()))} of 4 methods, which cannot take them" in str(found)
    rows = {row.method: row for row in found.rows}
    by_hand = {"dtw": (X, tl.DTW(missing="ignore")), "msm": (X.interpolate(), tl.MSM())}
    for name, (given, metric) in by_hand.items():
        again = compared(given, {name: metric}, cv=2, metric=("accuracy", "map")).rows[0]
        assert again.values("accuracy") == rows[name].values("accuracy")
        assert again.values("map") == rows[name].values("map")


@WITHOUT_NETWORKS
def test_every_usual_method_takes_missing_values():
    found = compared(holes(), None, cv=2, budget=1e-9)  # only the cheapest runs
    assert {row.method for row in found.rows} == USUAL
    assert not [row for row in found.rows if row.state == "failed"]


def test_the_best_of_interpolated_values_takes_missing_ones_too():
    best = compared(holes(), {"msm": tl.MSM()}, cv=2).best()
    assert [name for name, _ in best.steps] == ["interpolate", "neighbors"]
    assert best.predict(holes()[:3]).shape == (3,)
    assert compared(waves(), {"msm": tl.MSM()}, cv=2).best().sequences_ is not None


def test_preparations_learn_from_the_training_part_of_a_fold_alone():
    X = waves()
    Centred.learned = []
    found = compared(X, ["euclidean"], cv=3, prepare=Centred())
    assert found.rows[0].state == "finished"
    assert sorted(map(len, Centred.learned)) == [16, 16, 16]
    assert not any(set(X.ids) <= set(ids) for ids in Centred.learned)
    by_hand = cross_val_score(
        make_pipeline(tl.prepare.Standardize(), tl.Neighbors("euclidean")),
        X,
        X.labels,
        cv=GroupKFold(3),
        groups=X.groups,
    )
    ours = compared(X, ["euclidean"], cv=GroupKFold(3), prepare=[tl.prepare.Standardize()])
    assert ours.rows[0].values("accuracy") == tuple(by_hand)
    assert type(ours.best()).__name__ == "Pipeline"


class Centred(tl.prepare.Standardize):
    """Notes what it learned from."""

    learned: ClassVar[list] = []

    def fit(self, X, y=None):
        Centred.learned.append(X.ids.tolist())
        return super().fit(X, y)


def test_what_cannot_prepare_is_refused():
    for wrong in (tl.prepare.Standardize, "standardize", [tl.prepare.Standardize(), None], tl.DTW()):
        with pytest.raises(TypeError, match="prepare has .*expected a transformer such as"):
            compared(waves(), ["euclidean"], prepare=wrong)
    row = compared(waves(), ["euclidean"], cv=2, prepare=tl.prepare.Windows(5)).rows[0]
    assert row.state == "failed"
    assert "expected one of each" in row.reason


def test_a_checkpoint_knows_what_prepared_its_sequences(tmp_path):
    compared(waves(), ["euclidean"], cv=2, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="has 'euclidean/0' with method='.*', not method='.* after Standardize"):
        compared(waves(), ["euclidean"], cv=2, checkpoint=tmp_path / "kept", prepare=tl.prepare.Standardize())


def test_errors_name_ids_and_not_positions_inside_a_fold():
    X = holes()
    reason = compared(X, {"boasting": Boasting()}, cv=2).rows[0].reason
    item = re.search(r"sequence \d+ \(id '(wave \d+)'\) is missing \(nan\) at time step (\d+)", reason)
    assert np.isnan(X[X.ids.tolist().index(item[1])][int(item[2])]).any()
    plain = tl.Sequences([np.array(one) for one in X], labels=X.labels)  # called by their places in X
    reason = compared(plain, {"boasting": Boasting()}, cv=2).rows[0].reason
    item = re.search(r"sequence \d+ \(id (\d+)\) is missing \(nan\) at time step (\d+)", reason)
    assert np.isnan(plain[int(item[1])][int(item[2])]).any()


class Boasting(Constant):
    """Says that it takes missing values, and does not."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y):
        X.refuse_missing("Boasting")
        return super().fit(X, y)


@WITHOUT_NETWORKS
def test_unequal_lengths_are_also_tried_at_one_length():
    X = waves(40, noise=0.2)
    ragged = tl.Sequences([x[: 14 + 2 * (i % 4)] for i, x in enumerate(X)], labels=X.labels)
    names = [row.method for row in compared(ragged, None, cv=2, budget=1e-9).rows]
    both = {"1-NN MSM", "Rocket + ridge", "Discriminant"}
    assert both | {f"{name}, resampled" for name in both} | {"1-NN Euclidean, resampled"} <= set(names)
    assert "1-NN Euclidean" not in names
    assert not [row for row in compared(X, None, cv=2, budget=1e-9).rows if "resampled" in row.method]
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    found = compared(ragged, ["msm, resampled", "1-NN Euclidean, resampled"], cv=folds)
    for row in found.rows:
        metric = tl.MSM() if "msm" in row.method else tl.Euclidean()
        for (train, test), value in zip(folds, row.values("accuracy"), strict=True):
            length = int(np.median(ragged.lengths[train]))
            model = tl.Neighbors(metric).fit(ragged[train].resample(length))
            assert value == model.score(ragged[test].resample(length), ragged.labels[test])
    assert found.best().predict(ragged[:2]).shape == (2,)


def test_classes_that_only_the_test_part_has_are_counted_and_said():
    X, test = waves().replace(groups=None), waves(8, seed=1).replace(groups=None)
    found = compared(X, ["dtw"], test=(test, [*test.labels[:6], "new", "new"]), metric=("accuracy", "map"))
    assert "2 of 8 test sequences are of classes that are not in the training part, such as 'new'" in str(found)
    assert found.rows[0].folds[0].items["accuracy"][6:] == [0.0, 0.0]
    assert np.isnan(found.rows[0].folds[0].items["map"][6:]).all()


def test_classes_inside_groups_can_still_be_verified():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(6), 4)
    X = tl.Sequences(people[:, None] + 0.1 * rng.standard_normal((24, 8)), labels=people, groups=people)
    found = compared(X, ["dtw"], metric="eer", cv=3)
    assert found.design == "3 folds of 6 whole groups"
    assert found.rows[0].scores["eer"].mean == 0.0


def test_groups_of_an_official_split_are_drawn_whole():
    X, test = waves(), waves(20, seed=1, noise=1.5)
    found = compared(X, ["dtw"], test=(test, None), metric=("accuracy", "eer"))
    assert found.groups == tuple(map(str, test.groups))
    assert "groups" in found.test_description()


def test_of_many_test_sequences_some_are_compared_with_each_other(monkeypatch):
    monkeypatch.setattr("timelike.evaluate.fold_scores.MAX_PAIRED_ITEMS", 10)
    monkeypatch.setattr("timelike.evaluate.run.MAX_PAIRED_ITEMS", 10)
    found = compared(waves(), ["dtw"], test=(waves(40, seed=1), None), metric="eer")
    assert "all pairs of 10 test sequences" in str(found)
    assert found.rows[0].state == "finished"


def test_one_fold_of_a_splitter_is_judged_by_its_items():
    X = waves()
    split = next(iter(GroupKFold(2).split(np.zeros((24, 1)), X.labels, X.groups)))
    assert np.isfinite(compared(X, ["dtw"], cv=[split]).rows[0].scores["accuracy"].low)


# --- the usual methods


def test_the_usual_methods_are_found_by_their_public_names():
    assert list(DEFAULT_CLASSIFIERS)[:4] == ["1-NN Euclidean", "1-NN DTW", "1-NN MSM", "statistics + forest"]
    for names in (DEFAULT_CLASSIFIERS, DEFAULT_REGRESSORS):
        for name in list(names)[:3]:
            assert hasattr(names[name](), "predict")
    assert DEFAULT_CLASSIFIERS["1-NN DTW"]().select_window


@pytest.mark.parametrize("name", ["Rocket", pytest.param("CausalEncoder", marks=pytest.mark.learn)])
def test_parts_that_are_fitted_keep_what_they_learned_whatever_the_seed(name):
    small = {"n_features": 4} | ({"channels": 2, "depth": 1, "max_steps": 1} if name == "CausalEncoder" else {})
    encoder = getattr(tl, name)(**small).fit(waves(4))
    model = ComparedMethod("a", tl.EmbeddingClassifier(encoder, head="1nn")).make_model(7, 1.0)
    assert model.encoder is encoder
    assert model.random_state == 7
    fresh = ComparedMethod("a", tl.EmbeddingClassifier(getattr(tl, name)(), head="1nn")).make_model(7, None)
    assert fresh.encoder.random_state == 7
