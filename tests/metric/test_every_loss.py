"""Every metric takes a step with every loss."""

import numpy as np
import pytest
from pytorch_metric_learning.losses import ContrastiveLoss, TripletMarginLoss
from pytorch_metric_learning.miners import BatchHardMiner

import timelike as tl
from timelike.metric import losses
from timelike.metric.losses.registry import losses_by_name
from toy_metrics import MAKERS

LOSSES = {
    **dict.fromkeys(losses_by_name()),
    "adapted": lambda: losses.adapt_loss(ContrastiveLoss()),
    "adapted with a miner": lambda: losses.adapt_loss(TripletMarginLoss(), miner=BatchHardMiner()),
}


@pytest.mark.parametrize("name", ["siamese", "lstm", "coupled", "tap", "tap-attention", "aligned", "aligned-opw"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_with_any_loss_is_finite(name, loss, train):
    given = loss if LOSSES[loss] is None else LOSSES[loss]()
    metric = MAKERS[name](loss=given, max_epochs=1, validation=0.0).fit(train[:12])
    assert np.isfinite(metric.history_["loss"]).all()
    assert np.isfinite(metric.pairwise(train[:4])).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_frames_are_learned_from_with_any_loss(loss, train):
    given = loss if LOSSES[loss] is None else LOSSES[loss]()
    metric = MAKERS["elements"](loss=given, max_steps=1).fit(train[:12])
    assert np.isfinite(metric.pairwise(train[:4])).all()


@pytest.mark.parametrize("name", ["siamese", "coupled", "tap"])
@pytest.mark.parametrize("loss", ["contrastive", "binomial"])
def test_pairs_are_learned_from_with_the_losses_that_can(name, loss, train):
    metric = MAKERS[name](loss=loss, max_epochs=1).fit_pairs(train, [[0, 3], [1, 2], [2, 5]], [True, False, True])
    assert np.isfinite(metric.history_["loss"]).all()


def test_without_augmentation_there_is_no_consistency(train):
    metric = MAKERS["tap"](supervision=tl.metric.Labels(augment=False), max_epochs=1, validation=0.0).fit(train[:12])
    np.testing.assert_allclose(metric.history_["loss"], metric.history_["metric"], rtol=1e-6)
