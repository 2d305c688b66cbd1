"""Errors of learned metrics name the argument, what came, what was expected and the way out."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import timelike as tl
from timelike.metric import losses
from timelike.metric.losses.registry import losses_by_name
from toy_metrics import MAKERS

EVERY = pytest.mark.parametrize("name", MAKERS)
TRAINED = ["siamese", "coupled", "tap", "deep", "elements"]
NETWORK = pytest.mark.parametrize("name", ["siamese", "coupled", "tap"])
X = np.random.default_rng(0).standard_normal((8, 5, 2))
Y = [0, 1] * 4


def test_before_fitting_there_is_nothing_to_look_into():
    for ask in (lambda m: m.lyapunov_exponent(), lambda m: m.synchronization(X[0], X[1])):
        with pytest.raises(NotFittedError):
            ask(tl.CoupledGRU())
    with pytest.raises(NotFittedError):
        tl.TAP().align(X[0], X[1])


@EVERY
def test_classes_are_needed_and_two_of_them(name):
    with pytest.raises(ValueError, match="requires y to be passed.*give the class of every sequence"):
        MAKERS[name]().fit(X)
    metric = MAKERS[name]()
    with pytest.raises(ValueError, match=r"y holds one class, 'a': .*two or more") as caught:
        metric.fit(X, ["a"] * 8)
    assert ("fit_pairs(X, pairs, same)" in str(caught.value)) == hasattr(metric, "fit_pairs")
    with pytest.raises(ValueError, match=r"y holds one class, 0.0:"):
        metric.fit(X, np.zeros(8))
    with pytest.raises(ValueError, match=r"every class has one member only \(8 classes\).*give some class two"):
        MAKERS[name]().fit(X, range(8))
    with pytest.raises(ValueError, match=r"y has shape \(3,\) for 8 sequences: expected one class each"):
        MAKERS[name]().fit(X, [0, 1, 0])
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        MAKERS[name]().fit(X, [0.0, np.nan] * 4)


@pytest.mark.parametrize("y", [["a", np.nan] * 4, np.array(["a", np.nan] * 4, object), [["a"], [np.nan]] * 4])
def test_a_nan_among_words_is_no_class(y):
    with pytest.raises(ValueError, match=r"y\[1\] is nan \(NaN or missing\): expected the class of every sequence"):
        MAKERS["rvsml"]().fit(X, y)


@pytest.mark.parametrize("y", [[1, "a"] * 4, np.array([1, "1"] * 4, object), [True, "a"] * 4])
def test_labels_that_mix_numbers_and_text_are_refused(y):
    with pytest.raises(
        TypeError, match=r"y mixes numbers and text, y\[1\] is '.' but y\[0\] is .*write the numbers as"
    ):
        MAKERS["rvsml"]().fit(X, y)


@pytest.mark.parametrize("y", ["ab" * 4, b"ab", {0, 1}, dict(enumerate(Y)), (i % 2 for i in range(8)), 5])
def test_labels_that_are_no_list_are_refused(y):
    with pytest.raises(TypeError, match=rf"y is a {type(y).__name__}: expected a list or an array with the class"):
        MAKERS["rvsml"]().fit(X, y)


def test_labels_with_a_gradient_are_taken_without_it():
    metric = MAKERS["rvsml"]().fit(X, torch.tensor([0.0, 1.0] * 4, requires_grad=True))
    assert metric.classes_.tolist() == [0, 1]


def test_masked_labels_are_refused():
    with pytest.raises(ValueError, match="y is masked at some sequence: expected the class of every one"):
        MAKERS["rvsml"]().fit(X, np.ma.array(Y, mask=[1] + 7 * [0]))


@EVERY
def test_some_classes_with_one_member_are_no_failure(name):
    short = {"max_steps": 2} if name == "elements" else {} if name.startswith("rvsml") else {"max_epochs": 1}
    metric = MAKERS[name](**short).fit(X, [0, 0, 0, 1, 2, 3, 3, 3])
    assert np.isfinite(metric.pairwise(X)).all()


@EVERY
def test_other_channels_than_learned_are_refused(name, fitted):
    with pytest.raises(ValueError, match=r"X has frames of shape \(2,\).*was fitted on \(4,\).*layout=\"nct\""):
        fitted(name).pairwise(X)
    with pytest.raises(ValueError, match=r"x has frames of shape \(4,\) and y of \(2,\): expected the same channels"):
        fitted(name).distance(np.zeros((3, 4)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"the same channels; .*use Sequences\(X, layout=\"nct\"\)"):
        MAKERS[name]().fit([np.zeros((3, 2)), np.zeros((3, 1))], [0, 1])


@EVERY
def test_nothing_and_too_much_are_refused(name, fitted):
    with pytest.raises(ValueError, match="X holds no sequences"):
        MAKERS[name]().fit(tl.Sequences(X)[:0], [])
    with pytest.raises(ValueError, match="squares overflow: give them in another unit"):
        MAKERS[name]().fit(X * 1e300, Y)
    with pytest.raises(ValueError, match=r"sequence 3 has a value at time step 0 .*too large for float32"):
        MAKERS[name](standardize=False).fit(np.where(np.arange(8)[:, None, None] == 3, 1e200, X), Y)
    with pytest.raises(ValueError, match="sequence 0 has a value at time step 2 .*another unit"):
        fitted(name).pairwise([[[0.0] * 4, [0.0] * 4, [1e60] * 4]])


@pytest.mark.parametrize("name", ["siamese", "coupled", "tap", "elements"])
def test_a_loss_that_is_not_known_lists_the_known(name):
    with pytest.raises(ValueError, match="loss='hinge' is not known: expected one of 'binomial', .*'triplet'"):
        MAKERS[name](loss="hinge").fit(X, Y)
    with pytest.raises(TypeError, match=r"loss=3: expected one of .*losses.adapt_loss\(loss\)"):
        MAKERS[name](loss=3).fit(X, Y)


@NETWORK
@pytest.mark.parametrize(
    ("pairs", "same", "words"),
    [
        ([[0, 8]], [1], r"pairs\[0\] is \[0, 8\]: expected positions 0 to 7 in X"),
        ([[0, 1], [-1, 2]], [1, 0], r"pairs\[1\] is \[-1, 2\]"),
        ([0, 1], [1, 0], r"pairs has shape \(2,\): expected \(pair, 2\)"),
        ([[0, 1], [2]], [1, 0], r"pairs must be \(pair, 2\) positions in X, and same True or False"),
        ([[0.5, 1.0]], [1], "pairs has dtype float64: expected whole numbers"),
        ([[0.0, 1.0]], [1], "pairs has dtype float64: expected whole numbers"),
        (np.empty((0, 2), int), [], r"pairs is empty: expected \(pair, 2\)"),
        ([], [], r"pairs is empty: expected \(pair, 2\)"),
        ([[0, 1], [1, 2]], [1], r"same has shape \(1,\): expected True or False for each of the 2 pairs"),
        ([[0, 1], [1, 2]], [1, 5], r"same\[1\] is 5: expected True \(or 1\) or False \(or 0\)"),
        ([[0, 1], [1, 2]], [-1, 1], r"same\[0\] is -1: expected True"),
        ([[0, 1], [1, 2]], ["yes", "no"], r"same\[0\] is 'yes': expected True"),
        ([[0, 1], [1, 2]], [1, np.nan], r"same\[1\] is nan: expected True"),
        ([[0, 1], [1, 2]], [1, 1], "same is the same for all pairs: expected some that are alike"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(name, pairs, same, words):
    with pytest.raises((ValueError, TypeError), match=words):
        MAKERS[name](loss="contrastive").fit_pairs(X, pairs, same)


def test_a_loss_that_cannot_learn_from_pairs_names_those_that_can():
    with pytest.raises(TypeError, match="SupervisedContrastive.*use loss='binomial' or 'contrastive'"):
        tl.SiameseGRU().fit_pairs(X, [[0, 1], [1, 2]], [True, False])


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("siamese", {"hidden": 0}, "hidden=0: expected at least 1"),
        ("siamese", {"cell": "rnn"}, "cell='rnn': expected one of 'gru', 'lstm'"),
        ("siamese", {"n_per_class": 1}, "n_per_class=1: expected at least 2"),
        ("siamese", {"validation": 1.0}, "validation=1.0: expected"),
        ("siamese", {"learning_rate": 0.0}, "learning_rate=0.0: expected"),
        *((name, {"learning_rate": 1e38}, "learning_rate=1e.38: expected .*at most 1e.30") for name in TRAINED),
        ("siamese", {"checkpoint": 3}, "checkpoint=3: expected the path of a folder"),
        ("siamese", {"checkpoint": ""}, "checkpoint='': expected the path of a folder; the current one is '.'"),
        ("siamese", {"max_epochs": 0}, "max_epochs=0: expected"),
        ("siamese", {"standardize": "no"}, "standardize='no': expected True or False"),
        ("siamese", {"random_state": "x"}, "random_state is a str: expected"),
        ("coupled", {"sync": "first"}, "sync='first': expected one of 'last', 'mean'"),
        ("coupled", {"coupling_bias": np.inf}, "coupling_bias=inf: expected a finite number"),
        ("tap", {"variant": "x"}, "variant='x': expected one of 'cnn'"),
        ("aligned", {"aligner": "dtw"}, "aligner='dtw': expected one of 'softdtw'"),
        ("aligned", {"aligner": "tap"}, "aligner='tap': expected one of 'softdtw'"),
        (
            "aligned",
            {"aligner": tl.DTW()},
            r"aligner=DTW\(\) has no gradient: expected a module or one of .*'sinkhorn', tl.SoftDTW",
        ),
        ("tap", {"supervision": "none"}, "supervision='none': expected one of 'labels'"),
        ("aligned", {"supervision": "alignment", "aligner": "opw"}, "aligner='opw' has nothing to learn: use"),
        ("tap", {"supervision": "episodes"}, "n_way=5 but these sequences have 2 classes"),
        ("tap", {"supervision": tl.metric.Episodes(n_way=2)}, r"k_shot \+ n_query = 6 needed"),
        ("tap", {"supervision": 3}, "supervision=3: expected one of 'labels'.*Episodes"),
        ("tap", {"alignment": 30}, "alignment=30: expected a metric.AlignmentPredictor"),
        ("tap", {"supervision": "episodes", "validation_score": "average_precision"}, "is validated by its loss"),
        ("rvsml", {"learning_rate": 0.1}, "trainer.learning_rate=0.1: RVSML has no use for it"),
        ("elements", {"validation": 0.2}, "trainer.validation=0.2: ElementWise has no validation"),
        ("rvsml", {"n_virtual_frames": 0}, "n_virtual_frames=0: expected at least 1"),
        ("rvsml", {"aligner": "tap"}, "aligner='tap': expected one of 'dtw', 'opw'"),
        ("rvsml", {"regularization": 0.0}, "regularization=0.0: expected"),
        ("elements", {"max_steps": 0}, "max_steps=0: expected at least 1"),
        ("deep", {"hidden": 0}, "hidden=0: expected at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        MAKERS[name](**options).fit(X, Y)


def test_what_the_aligner_refuses_is_refused_after_a_map_too():
    metric = tl.metric.ElementWise(aligner=tl.Euclidean(), hidden=4, max_steps=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="length"):
        metric.distance(X[0], X[1][:3])
    narrow = tl.metric.ElementWise(aligner=tl.DTW(window=1), hidden=4, max_steps=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="window=1 admits no path"):
        narrow.pairwise([X[0], X[1][:2]])


@pytest.mark.parametrize("name", ["siamese", "tap"])
def test_a_value_too_large_is_named_with_its_argument(name, fitted, test):
    metric, large = fitted(name), np.asarray(test[1]) * 1e100
    for call, said in [
        (lambda: metric.distance(test[0], large), "y: sequence 0"),
        (lambda: metric.distance(large, test[0]), "x: sequence 0"),
        (lambda: metric.pairwise([np.asarray(test[0]), large]), "X: sequence 1"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


@pytest.mark.parametrize("loss", list(losses_by_name()))
def test_no_loss_swallows_a_distance_that_is_not_a_number(loss):
    distances = torch.tensor([[torch.nan, 1.0, 2.0], [0.5, 1.0, 0.1]])
    assert losses.resolve_loss(loss)(distances, torch.tensor([0, 1]), torch.tensor([0, 1, 0])).isnan()


def test_tiny_values_are_not_constant():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((16, 10, 2)), [0, 1] * 8
    large, tiny = (
        tl.SiameseGRU(hidden=4, trainer=tl.Trainer(max_epochs=2), random_state=0).fit(X * by, y) for by in (1.0, 1e-170)
    )
    np.testing.assert_allclose(tiny.pairwise(X * 1e-170), large.pairwise(X), rtol=1e-3)


@pytest.mark.parametrize("name", ["rvsml", "deep"])
def test_an_aligner_too_narrow_for_the_virtual_sequence_is_told_of_it(name):
    short = [x[:5] for x in X]
    with pytest.raises(
        ValueError, match=r"aligner=.*5 steps with the virtual one.*n_virtual_frames=3 steps: window=1 admits no"
    ):
        MAKERS[name](aligner=tl.DTW(window=1)).fit(short, Y)
