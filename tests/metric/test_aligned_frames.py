"""Any aligner in the place of TAP."""

import pytest
import torch
from torch import nn

import timelike as tl
from timelike.metric import AlignedFramesNetwork, TAPNetwork
from timelike.train import use_seed

N, M = torch.tensor([7, 4, 1, 6]), torch.tensor([5, 3, 2, 1])
KNOWN = ["softdtw", "opw", "tcot", "sinkhorn", "tap"]


def made(aligner, **options):
    with use_seed(0):
        return AlignedFramesNetwork(3, aligner=aligner, **{"hidden": 8} | options).double()


def sides():
    made = torch.Generator().manual_seed(0)
    return tuple(torch.randn(4, time, 3, generator=made, dtype=torch.float64) for time in (7, 5))


def test_the_distance_is_the_aligner_s_after_the_transformation():
    net = made(tl.nn.SoftDTW(gamma=0.3))
    x, y = sides()
    frames = net.transformation(x, N), net.transformation(y, M)
    torch.testing.assert_close(net(x, y, N, M), tl.nn.SoftDTW(gamma=0.3)(*frames, N, M))
    opw = made("opw")
    torch.testing.assert_close(opw(x, y, N, M), tl.nn.OPW()(*frames, N, M).cost)


@pytest.mark.parametrize("aligner", KNOWN)
def test_a_matrix_is_its_rows_and_nan_padding_does_not_matter(aligner):
    net = made(aligner)
    x, y = sides()
    x[1, 4:], y[0, 5:] = float("nan"), float("nan")
    x.requires_grad_()
    first, second = net.features(x, N), net.features(y, M)
    found = net.distance_matrix(first, second)
    torch.testing.assert_close(found.diag(), net.pair_distances(first, second))
    torch.testing.assert_close(found[2], net.pair_distances(first.take(torch.tensor([2] * 4)), second))
    found.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert not x.grad[1, 4:].any()
    if net.symmetric:
        torch.testing.assert_close(found, net.distance_matrix(second, first).mT)


@pytest.mark.parametrize("aligner", KNOWN)
def test_plans_sum_to_one_inside_the_lengths(aligner):
    net = made(aligner)
    x, y = sides()
    plan = net.plan(net.features(x, N), net.features(y, M))
    torch.testing.assert_close(plan.sum((1, 2)), torch.ones(4, dtype=torch.float64))
    for item, (n, m) in enumerate(zip(N, M, strict=True)):
        assert not plan[item, n:].any()
        assert not plan[item, :, m:].any()


@pytest.mark.parametrize("aligner", ["softdtw", "opw", "tap"])
def test_gradients_are_those_of_finite_differences(aligner):
    net = made(aligner)
    x, y = (side.requires_grad_() for side in sides())
    assert torch.autograd.gradcheck(lambda a, b: net(a, b, N, M), (x, y), atol=1e-6)


def test_tap_as_an_aligner_is_tap():
    with use_seed(0):
        whole = TAPNetwork(3, hidden=8).double()
    parts = AlignedFramesNetwork(3, hidden=8, aligner=TAPNetwork(3, transform=False)).double()
    parts.transformation.load_state_dict(whole.transformation.state_dict())
    parts.aligner.scores.load_state_dict(whole.scores.state_dict())
    x, y = sides()
    torch.testing.assert_close(parts(x, y, N, M), whole(x, y, N, M))
    assert not parts.symmetric


def test_a_symmetrized_aligner_has_the_same_plan_both_ways():
    net = made(TAPNetwork(3, transform=False, n_kernels=3, symmetrize=True))
    x, y = (net.features(side, lengths) for side, lengths in zip(sides(), (N, M), strict=True))
    assert net.symmetric
    torch.testing.assert_close(net.plan(x, y), net.plan(y, x).mT)


class Gap(nn.Module):
    def forward(self, x, y, x_lengths, y_lengths):
        return (x[:, 0] - y[:, 0]).norm(dim=-1)


def test_a_module_of_your_own_gives_distances_but_no_alignment():
    net = made(Gap(), symmetric=True)
    x, y = (net.features(side, lengths) for side, lengths in zip(sides(), (N, M), strict=True))
    assert net.distance_matrix(x, y).shape == (4, 4)
    assert net.symmetric
    assert not made(Gap()).symmetric
    with pytest.raises(TypeError, match="Gap gives distances only"):
        net.plan(x, y)


def test_unknown_aligners_are_named_with_the_known():
    with pytest.raises(ValueError, match="aligner='dtw': expected a module or one of 'softdtw', 'opw'"):
        AlignedFramesNetwork(3, aligner="dtw")
