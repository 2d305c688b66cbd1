"""What TAP learns from: without labels frames stay as they are, with labels every class is held out."""

import numpy as np
import pytest
import torch

import timelike as tl

SMALL = {"kernels": 2, "max_epochs": 1, "standardize": False, "random_state": 0}


def waves(n_classes, members, channels=2):
    rng = np.random.default_rng(0)
    speed = np.repeat(0.3 + 0.2 * np.arange(n_classes), members)
    phase = rng.uniform(0, 3, (len(speed), 1, channels))
    return np.sin(np.arange(9)[None, :, None] * speed[:, None, None] + phase).astype(np.float32)


@pytest.mark.parametrize("supervision", ["augmentation", "alignment"])
def test_without_labels_frames_are_compared_as_they_are(supervision, tmp_path):
    x = waves(2, 8)
    metric = tl.TAP(supervision=supervision, **SMALL).fit(x)
    lengths = torch.full((1,), 9)
    frames = metric.network_.prepare(torch.tensor(x[:1]), lengths).values[0, :, :2]
    np.testing.assert_array_equal(frames, x[0])
    plan = metric.align(x[0], x[9])
    apart = np.linalg.norm(x[0][:, None] - x[9][None], axis=-1)
    assert plan.cost == pytest.approx((plan.plan * apart).sum(), rel=1e-5)
    metric.save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").distance(x[0], x[9]) == metric.distance(x[0], x[9])


def test_a_share_smaller_than_the_classes_still_holds_out_one_of_each():
    x, y = waves(10, 5), np.repeat(np.arange(10), 5)
    metric = tl.TAP(hidden=8, validation=0.1, **SMALL).fit(x, y)
    assert len(metric.history_.scores) == 1
