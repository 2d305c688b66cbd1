"""Augmented batches: what they keep of the sequences, and the alignment that made them."""

import numpy as np
import pytest
import torch
from scipy import stats

from timelike.metric.objectives.self_supervised import BLUR_OR_MERGE, augment_batch
from timelike.sequences.augment import Blur, Jitter, Merge, RandomCrop, compose

LENGTHS = torch.tensor([30, 12, 1, 4])


def batch(dtype=torch.float32, fill=float("nan")):
    x = torch.randn(4, 30, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    for item, length in enumerate(LENGTHS):
        x[item, length:] = fill
    return x


@pytest.mark.parametrize(
    "augmentation", [BLUR_OR_MERGE, Blur(sizes=(5,)), Merge(), RandomCrop(), compose([RandomCrop(), Merge()])]
)
@pytest.mark.parametrize("seed", range(5))
def test_new_sequences_are_their_alignment_times_the_old_ones_whatever_the_padding_holds(augmentation, seed):
    x = batch()
    new = augment_batch(x, LENGTHS, augmentation, random_state=seed)
    expected = new.alignment.double() @ torch.nan_to_num(x).double()
    torch.testing.assert_close(new.x.double(), expected, rtol=1e-5, atol=1e-6)
    assert new.x.dtype == x.dtype == new.alignment.dtype
    assert new.x.shape[1] == new.lengths.max()
    for item, (length, old) in enumerate(zip(new.lengths, LENGTHS, strict=True)):
        rows = new.alignment[item]
        torch.testing.assert_close(rows[:length].sum(1), torch.ones(int(length)))
        assert not rows[length:].any()
        assert not rows[:, old:].any()
        assert not new.x[item, length:].any()


@pytest.mark.parametrize("size", [3, 5, 7])
def test_a_blur_keeps_constants_and_is_never_zero(size):
    constant = augment_batch(torch.full((2, 20, 2), 4.0), torch.tensor([20, 9]), Blur(sizes=(size,)), random_state=0)
    for item, length in enumerate(constant.lengths):
        torch.testing.assert_close(constant.x[item, :length], torch.full((int(length), 2), 4.0))


@pytest.mark.parametrize("size", [3, 5, 7])
def test_a_blur_keeps_the_mean_and_most_of_the_energy_of_slow_signals(size):
    time = torch.linspace(0, 6 * np.pi, 400)
    x = (2 + torch.sin(time))[None, :, None]
    new = augment_batch(x, torch.tensor([400]), Blur(sizes=(size,), strides=(1,)), random_state=1).x
    assert new.mean() == pytest.approx(x.mean().item(), rel=0.02)
    assert new.square().mean() == pytest.approx(x.square().mean().item(), rel=0.02)


def test_blur_and_merge_are_drawn_alike_often():
    new = augment_batch(torch.randn(400, 20, 1), torch.full((400,), 20), random_state=0)
    merged = ((new.alignment > 0).sum(1) == 1).all(1).sum().item()  # a merge uses every step once
    assert stats.binomtest(merged, 400, 0.5).pvalue > 1e-3


def test_the_same_seed_gives_the_same_batch_and_values_may_change_too():
    x = batch()
    one, two = (augment_batch(x, LENGTHS, random_state=3) for _ in range(2))
    assert torch.equal(one.x, two.x)
    jittered = augment_batch(x, LENGTHS, Jitter(std=0.1), random_state=0)
    assert torch.equal(jittered.alignment[0], torch.eye(30))
    assert 0.05 < (jittered.x[0] - x[0]).std() < 0.2
