"""Whether labels can be predicted at all: the leave-one-out errors, the permutation test, and the warnings."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

import timelike as tl
from timelike.encode import NTXent, TLoss
from timelike.encode.objectives.crop_objectives import CropPairObjective, TLossObjective
from timelike.metric import label_signal
from timelike.metric.objectives.supervised import _compare_with_shuffled
from timelike.train import History, NotLearnedWarning
from timelike.train.learning_check import warn_if_not_learned

TINY = {"hidden": 4, "max_steps": 60, "perturb": False, "random_state": 0}


def waves(n_items, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n_items) % 4
    phases = rng.uniform(0, 6, (n_items, 1))
    return np.sin(np.arange(30) / (1 + classes)[:, None] + phases) + 0.1 * rng.standard_normal((n_items, 30)), classes


def warned(fit):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in seen if issubclass(one.category, NotLearnedWarning)]


def test_predictions_are_those_of_ridge_regressions_that_leave_one_out():
    """Against scikit-learn, fitted anew without each item."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((12, 5))
    features -= features.mean(axis=0)
    targets = np.eye(3)[np.arange(12) % 3]
    strength = np.trace(features @ features.T) / 12
    found = label_signal._loo_predictions(label_signal._ridge_smoother(features), targets)
    for item in range(12):
        others = np.delete(np.arange(12), item)
        # the penalty of scikit-learn's slope is the same; its intercept is that of the others
        model = Ridge(alpha=strength).fit(features[others], targets[others])
        np.testing.assert_allclose(found[item], model.predict(features[[item]])[0], atol=1e-10)


def test_p_values_of_labels_without_signal_are_uniform():
    """Of 200 draws about a twentieth is below 1/20, and about a half below one half."""
    rng, found = np.random.default_rng(0), []
    features = rng.standard_normal((24, 6))
    smoother = label_signal._ridge_smoother(features - features.mean(axis=0))
    for _ in range(200):
        targets = np.eye(2)[rng.permutation(24) % 2]
        error = label_signal._squared_error(label_signal._loo_predictions(smoother, targets), targets)
        others = [label_signal._shuffled_error(smoother, targets, rng) for _ in range(39)]
        found.append((1 + sum(other <= error for other in others)) / 40)
    assert (np.array(found) <= 0.05).sum() <= 20  # expected 10, deviation 3
    assert 75 <= (np.array(found) <= 0.5).sum() <= 125


@pytest.mark.parametrize("n_items", [60, 200])
def test_real_labels_are_told_from_shuffled_ones(n_items):
    X, classes = waves(n_items)
    real = label_signal.label_signal(tl.Sequences(X), classes)
    shuffled = label_signal.label_signal(tl.Sequences(X), np.random.default_rng(1).permutation(classes))
    assert real.p_value == 1 / 200
    assert real.accuracy > 0.9
    assert shuffled.p_value > 0.05
    assert shuffled.majority == pytest.approx(0.25)


def test_vectors_missing_values_and_few_sequences():
    rng = np.random.default_rng(0)
    vectors, codes = rng.standard_normal((40, 5)), np.arange(40) % 2
    assert label_signal.label_signal(tl.Sequences(vectors + 2 * codes[:, None], layout="nc"), codes).p_value == 1 / 200
    X, classes = waves(40)
    X[::3, 5] = np.nan
    assert label_signal.label_signal(tl.Sequences(X), classes).p_value == 1 / 200
    assert label_signal.label_signal(tl.Sequences(X[:19]), classes[:19]) is None


def test_shuffled_labels_of_a_small_set_are_said_to_be_memorized():
    X, classes = waves(60)
    (said,) = warned(lambda: tl.SiameseGRU(**TINY).fit(X, np.random.default_rng(1).permutation(classes)))
    assert "has learned little or nothing" in said
    assert "shuffled labels" in said


def test_labels_that_can_be_learned_are_not_complained_of():
    X, classes = waves(60)
    assert warned(lambda: tl.SiameseGRU(**TINY | {"hidden": 12}).fit(X, classes)) == []


class Constant(nn.Module):
    """The same vector for every crop, whatever is in it."""

    def __init__(self):
        super().__init__()
        self.vector = nn.Parameter(torch.ones(4))

    def forward(self, x, lengths=None):
        return self.vector.expand(len(x), -1)


@pytest.mark.parametrize("kind", ["softmax", "logistic"])
def test_a_collapsed_encoder_whose_loss_is_that_of_guessing_is_found_out(kind):
    """Six series a batch: each crop among eleven others that are all alike is a loss of log 11, and it may have fallen."""
    X, history = tl.Sequences(waves(36)[0].astype(np.float32)), History()
    for step in range(1, 81):
        history.record("loss", step, 9 - 0.08 * step)
    trainer = tl.Trainer(batch_size=6, learning_rate=1e-3)
    if kind == "softmax":
        objective = CropPairObjective(Constant(), X, trainer, NTXent(temperature=0.1, augment=False))
    else:
        objective = TLossObjective(Constant(), X, trainer, TLoss(), n_negatives=3)
    with pytest.warns(NotLearnedWarning, match="labels or partners shuffled, which is chance") as seen:
        warn_if_not_learned(history, objective)
    if kind == "softmax":
        assert f"the training data is {np.log(11):.3g}" in str(seen[0].message)


def test_precision_with_shuffled_labels_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    distances, gallery = rng.integers(0, 4, (6, 9)).astype(float), np.arange(9) % 3
    queries = np.array([0, 1, 2, 0, 1, 2])
    score, chance, p_value = _compare_with_shuffled(distances, queries, gallery)
    assert score == pytest.approx(tl.score.mean_average_precision(distances, queries, gallery))
    draws = np.random.default_rng(0)
    others = [tl.score.mean_average_precision(distances, draws.permutation(queries), gallery) for _ in range(199)]
    assert chance == pytest.approx(np.mean(others))
    assert p_value == pytest.approx((1 + sum(other >= score - 1e-12 for other in others)) / 200, abs=0.011)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_steps", [1, 20])
@pytest.mark.parametrize("how", ["missing", "huge"])
def test_sequences_that_features_cannot_be_made_of_have_no_signal(n_steps, how):
    values = np.random.default_rng(0).standard_normal((30, n_steps, 2))
    if how == "missing":
        values[3, :, 1] = np.nan
    else:
        values *= 1e200
    sequences, codes = tl.Sequences(values), np.arange(30) % 2
    assert label_signal.label_signal(sequences, codes) is None
    assert label_signal.describe_missing_signal(sequences, codes) is None
