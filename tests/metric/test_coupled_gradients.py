"""Gradients of coupled GRUs: the compiled way back against the rollout in torch and against finite differences."""

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st

from timelike import native
from timelike.metric import Features
from timelike.native.coupled.fallback import RolloutSide, distances
from toy_metrics import coupled_network as made

pytestmark = pytest.mark.skipif(not native.is_native_enabled(), reason="without kernels gradients are torch's own")

CLOSE = {torch.float32: 1e-4, torch.float64: 1e-10}


def walks(items, time, channels=2, seed=1):
    torch.manual_seed(seed)
    return torch.randn(items, time, channels, dtype=torch.float64).cumsum(1)


def rolled(network, x, y, kind):
    """What torch makes of it, whatever the network would choose."""
    cell, mean = network._coupled_weights(), network.sync == "mean"
    if kind == "rows":
        return distances(cell, RolloutSide(x.values, x.lengths), RolloutSide(y.values, y.lengths), mean=mean)
    sides = RolloutSide(x.values[:, None], x.lengths[:, None]), RolloutSide(y.values[None], y.lengths[None])
    return distances(cell, *sides, mean=mean)


def gradients(network, x, y, scales, run):
    """Of Σ scales · distances, by the sequences and by all weights."""
    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
    network.zero_grad()
    found = run(x, y)
    (found * scales).sum().backward()
    return found.detach(), [part for part in (x.grad, y.grad) if part is not None] + [
        weight.grad.clone() for weight in network.parameters()
    ]


def assert_close(found, expected, share):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=share, atol=share * max(1.0, theirs.abs().max().item()))


def ragged(most):
    return st.lists(st.integers(1, most), min_size=1, max_size=7)


@pytest.mark.parametrize("kind", ["rows", "matrix", "triangle"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=12, deadline=None)
@given(
    n=ragged(70),
    m=ragged(40),
    hidden=st.integers(1, 23),
    sync=st.sampled_from(["last", "mean"]),
    seed=st.integers(0, 99),
)
def test_gradients_are_those_of_the_rollout_in_torch(kind, dtype, n, m, hidden, sync, seed):
    if kind == "rows":
        n, m = n[: len(m)], m[: len(n)]
    if kind == "triangle":
        assume(len(n) > 1)  # else there is no pair
        m = n
    network = made(hidden, seed=seed, sync=sync).to(dtype)
    x, y = walks(len(n), max(n), seed=seed).to(dtype), walks(len(m), max(m), seed=seed + 1).to(dtype)
    lengths = torch.tensor(n), torch.tensor(m)
    scales = torch.randn((len(n),) if kind == "rows" else (len(n), len(m)), dtype=dtype)

    def run(ours):
        def forward(x, y):
            first, second = network.features(x, lengths[0]), network.features(y, lengths[1])
            if kind == "triangle":
                second = first
            if ours:
                return (
                    network.pair_distances(first, second) if kind == "rows" else network.distance_matrix(first, second)
                )
            return rolled(network, first, second, kind)

        return forward

    ours, theirs = (gradients(network, x, y, scales, run(mine)) for mine in (True, False))
    torch.testing.assert_close(ours[0], theirs[0], rtol=CLOSE[dtype], atol=CLOSE[dtype])
    assert_close(ours[1], theirs[1], CLOSE[dtype])


@pytest.mark.parametrize("sync", ["last", "mean"])
def test_first_and_second_derivatives_are_those_of_finite_differences(sync):
    network = made(2, sync=sync)
    cell = [
        part.detach().clone().requires_grad_()
        for part in (network.weight_hh, network.weight_hc, network.bias_hh, network.bias_hc)
    ]
    x, y = (torch.randn(2, time, 6, dtype=torch.float64, requires_grad=True) for time in (2, 3))

    def run(x, y, *parts):
        named = dict(zip(("weight_hh", "weight_hc", "bias_hh", "bias_hc"), parts, strict=True))
        return torch.func.functional_call(Everything(network), {f"network.{k}": v for k, v in named.items()}, (x, y))

    assert torch.autograd.gradcheck(run, (x, y, *cell))
    assert torch.autograd.gradgradcheck(run, (x, y, *cell))


class Everything(torch.nn.Module):
    """Rows, all pairs, and all pairs of one collection, of inputs that are prepared already."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, y):
        first, second = Features(x, torch.tensor([2, 1])), Features(y, torch.tensor([1, 3]))
        parts = (
            self.network.pair_distances(first, second),
            self.network.distance_matrix(first, second),
            self.network.distance_matrix(second, second)[1, 0],
        )
        return torch.cat([part.ravel() for part in parts])


def test_one_tensor_on_both_sides_has_the_gradients_of_both():
    network, x = made(3), walks(4, 6, 9)
    lengths = torch.tensor([6, 3, 1, 5]), torch.tensor([4, 6, 2, 1])

    def both_orders(run):
        values = x.clone().requires_grad_()
        sides = Features(values, lengths[0]), Features(values, lengths[1])
        (gradient,) = torch.autograd.grad(run(*sides).sum(), values, create_graph=True)
        (plain,) = torch.autograd.grad(run(*sides).sum(), values)
        return plain, gradient.detach(), torch.autograd.grad(gradient.square().sum(), values)[0]

    expected = both_orders(lambda x, y: rolled(network, x, y, "rows"))
    assert_close(both_orders(network.pair_distances), expected, 1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sync", ["last", "mean"])
def test_the_number_of_threads_changes_no_bit(dtype, sync):
    network, before = made(9, sync=sync).to(dtype), torch.get_num_threads()
    inputs, lengths, found = walks(40, 50, 27).to(dtype) / 5, torch.randint(1, 51, (40,)), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            network.zero_grad()
            values = inputs.clone().requires_grad_()
            first, second = Features(values, lengths), Features(values.flip(0), lengths.flip(0))
            parts = (
                network.distance_matrix(first, first),
                network.distance_matrix(first, second),
                network.pair_distances(first, second),
            )
            sum(part.sum() for part in parts).backward()
            found.append([*parts, values.grad, network.weight_hh.grad, network.weight_hc.grad, network.bias_hc.grad])
            network.zero_grad(set_to_none=True)
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sync", ["last", "mean"])
def test_distances_with_and_without_gradients_are_the_same_bits(dtype, sync):
    network, x, y = made(7, sync=sync).to(dtype), walks(19, 70).to(dtype), walks(33, 50).to(dtype)
    sides = network.features(x, torch.randint(1, 71, (19,))), network.features(y, torch.randint(1, 51, (33,)))
    for first, second in (sides, sides[::-1], (sides[1], sides[1])):
        graded = network.distance_matrix(first, second)
        assert graded.requires_grad
        with torch.no_grad():
            assert torch.equal(graded, network.distance_matrix(first, second))
    some = torch.arange(19)
    with torch.no_grad():
        plain = network.pair_distances(sides[0], sides[1].take(some))
    assert torch.equal(network.pair_distances(sides[0], sides[1].take(some)), plain)


@pytest.mark.parametrize("sync", ["last", "mean"])
def test_the_same_sequence_twice_has_no_gradient(sync):
    network, x = made(6, sync=sync), walks(5, 40).requires_grad_()
    lengths = torch.tensor([40, 33, 1, 7, 32])
    network(x, x, lengths, lengths).sum().backward()
    assert (x.grad == 0).all()
    assert all((weight.grad == 0).all() for weight in network.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e3, 1e30])
def test_large_inputs_have_finite_gradients(dtype, size):
    network, x = made(6).to(dtype), (size * walks(9, 40).to(dtype)).requires_grad_()
    values = Features(x.repeat(1, 1, 9), torch.full((9,), 40))
    network.distance_matrix(values, values).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(part.grad).all() for part in network.parameters() if part.grad is not None)


def test_a_long_sequence_needs_little_memory():
    network = made(8)
    assert network.numbers_per_pair(32_000, 100) <= 8 + 2 * 8 * 1000
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda part: kept.append(part.numel()) or part, lambda part: part):
        network.pair_distances(
            *(Features(torch.zeros(16, time, 24, dtype=torch.float64), torch.full((16,), time)) for time in (640, 64))
        )
    lists = 16 * (640 + 64) * 24 + sum(part.numel() for part in network.parameters())
    assert sum(kept) <= 16 * network.numbers_per_pair(640, 64) + lists
