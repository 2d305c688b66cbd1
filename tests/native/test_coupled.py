"""The compiled coupled GRUs: every instruction set against torch, and the rollout in torch by the same functions."""

import numpy as np
import pytest
import torch

from timelike.metric import CoupledNetwork
from timelike.native import PackedSequences, coupled
from timelike.native.coupled import fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

TOLERANCE = {np.float32: {"rtol": 1e-5, "atol": 1e-5}, np.float64: {"rtol": 1e-12, "atol": 1e-12}}


def cell(hidden, dtype, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    shapes = (3 * hidden, hidden), (hidden, hidden), (hidden,), (hidden,)
    return coupled.CoupledWeights(
        *((size * rng.standard_normal(shape) / hidden**0.5).astype(dtype) for shape in shapes)
    )


def inputs(lengths, hidden, dtype, seed=0, size=1.0):
    lengths = np.asarray(lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths[:-1])]).astype(np.int64)
    values = size * np.random.default_rng(seed).standard_normal((lengths.sum(), 3 * hidden))
    return PackedSequences(values.astype(dtype), starts, lengths)


def matrix(weights, x, y, *, mean=False, symmetric=False, threads=1, isa=None):
    out = np.full((len(x.lengths), len(y.lengths)), np.nan, x.values.dtype)
    how = {"symmetric": symmetric, "threads": threads, "out": out, "report": None, "isa": isa}
    kernels.coupled_matrix(*weights, mean, *x, *y, **how)
    return out


def rolled(monkeypatch, weights, x, y, mean=False):
    out = np.empty((len(x.lengths), len(y.lengths)), x.values.dtype)
    with monkeypatch.context() as without:
        without.setenv("TIMELIKE_NATIVE", "0")
        coupled.matrix(weights, x, y, mean=mean, symmetric=False, threads=1, out=out)
    return out


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hidden", [1, 4, 7, 20])
@pytest.mark.parametrize("mean", [False, True])
def test_every_instruction_set_gives_the_numbers_of_torch(monkeypatch, isa, dtype, hidden, mean):
    weights = cell(hidden, dtype)
    x, y = inputs((5, 1, 12, 9, 30), hidden, dtype), inputs((4, 30, 1, 7, 12, 12, 2) * 5, hidden, dtype, seed=1)
    expected = rolled(monkeypatch, weights, x, y, mean)
    np.testing.assert_allclose(matrix(weights, x, y, mean=mean, isa=isa), expected, **TOLERANCE[dtype])
    first, second = np.divmod(np.arange(expected.size), len(y.lengths))
    out = np.full(expected.size, np.nan, dtype)
    kernels.coupled_rows(*weights, mean, *x, *y, first, second, threads=1, out=out, report=None, isa=isa)
    np.testing.assert_array_equal(out.reshape(expected.shape), matrix(weights, x, y, mean=mean, isa=isa))


def graded(weights, x, y, first, second, scales, *, mean, gate_scales=None, threads=1, isa=None, budget=1 << 28):
    """Distances, then the gradients of Σ scales · distances + Σ gate_scales · gates by x, y and the weights."""
    out, given = np.empty(len(first), x.values.dtype), (*weights, mean, *x, *y, first, second)
    kept = kernels.coupled_rows(*given, keep=True, threads=threads, out=out, report=None, isa=isa)
    found = [np.zeros_like(part) for part in (x.values, y.values, *weights)]
    how = {"gate_scales": gate_scales, "budget": budget, "threads": threads, "report": None, "isa": isa}
    kernels.coupled_gradients(*given, scales, kept, *found, **how)
    return out, *found


def padded(steps):
    out = np.zeros((len(steps.lengths), steps.lengths.max(), steps.values.shape[1]), steps.values.dtype)
    for i, (begin, length) in enumerate(zip(steps.starts, steps.lengths, strict=True)):
        out[i, :length] = steps.values[begin : begin + length]
    return torch.from_numpy(out).requires_grad_()


def graded_in_torch(weights, x, y, first, second, scales, mean, gate_scales=None):
    sides, parts = (padded(x), padded(y)), [torch.from_numpy(part).requires_grad_() for part in weights]
    chosen = [
        fallback.RolloutSide(values, torch.from_numpy(steps.lengths), torch.from_numpy(pairs))
        for values, steps, pairs in zip(sides, (x, y), (first, second), strict=True)
    ]
    out, gates = fallback.roll_out(coupled.CoupledWeights(*parts), *chosen, mean=mean)
    by_gates = 0.0 if gate_scales is None else (gates * torch.from_numpy(gate_scales)).sum()
    ((out * torch.from_numpy(scales)).sum() + by_gates).backward()
    packed = [
        np.concatenate([grad[i, :n] for i, n in enumerate(steps.lengths)])
        for grad, steps in ((side.grad.numpy(), steps) for side, steps in zip(sides, (x, y), strict=True))
    ]
    return out.detach().numpy(), *packed, *(part.grad.numpy() for part in parts)


def compare_gradients(found, expected, dtype, isa):
    share = 1e-10 if dtype is np.float64 else 1e-4
    for ours, theirs in zip(found, expected, strict=True):
        close = {"rtol": share, "atol": share * max(1, np.abs(theirs).max())}
        np.testing.assert_allclose(ours, theirs, **close, err_msg=isa)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hidden", [1, 5, 20, 23])
@pytest.mark.parametrize("mean", [False, True])
def test_every_instruction_set_gives_the_gradients_of_torch(dtype, hidden, mean):
    weights = cell(hidden, dtype)
    x, y = inputs((5, 1, 32, 9, 70), hidden, dtype), inputs((4, 33, 64, 1, 7, 12, 65, 2), hidden, dtype, seed=1)
    first, second = np.divmod(np.arange(40)[::-1].copy(), 8)
    scales = np.random.default_rng(2).standard_normal(40).astype(dtype)
    expected = graded_in_torch(weights, x, y, first, second, scales, mean)
    for isa in kernels.isas():
        found = graded(weights, x, y, first, second, scales, mean=mean, isa=isa)
        compare_gradients(found, expected, dtype, isa)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hidden", [1, 5, 20])
def test_every_instruction_set_gives_the_mean_gates_of_torch_and_their_gradients(dtype, hidden):
    weights = cell(hidden, dtype)
    x, y = inputs((5, 1, 32, 9, 70), hidden, dtype), inputs((4, 33, 64, 1, 7, 12, 65, 2), hidden, dtype, seed=1)
    first, second = np.divmod(np.arange(40)[::-1].copy(), 8)
    sides = [
        fallback.RolloutSide(padded(steps).detach(), torch.from_numpy(steps.lengths), torch.from_numpy(pairs))
        for steps, pairs in ((x, first), (y, second))
    ]
    expected = fallback.roll_out(coupled.CoupledWeights(*map(torch.from_numpy, weights)), *sides, mean=False).gates
    for isa in kernels.isas():
        out, gates = np.empty((2, 40), dtype)
        how = {"threads": 1, "out": out, "gates": gates, "report": None, "isa": isa}
        kernels.coupled_rows(*weights, False, *x, *y, first, second, **how)
        np.testing.assert_allclose(gates, expected.numpy(), **TOLERANCE[dtype], err_msg=isa)
    scales, gate_scales = np.random.default_rng(2).standard_normal((2, 40)).astype(dtype)
    for some in (scales, np.zeros_like(scales)):  # with the distances, and alone
        given = weights, x, y, first, second, some
        expected = graded_in_torch(*given, False, gate_scales)
        for isa in kernels.isas():
            found = graded(*given, mean=False, gate_scales=gate_scales, isa=isa)
            compare_gradients(found, expected, dtype, isa)


@pytest.mark.parametrize("isa", kernels.isas())
def test_gradients_do_not_depend_on_threads_and_hardly_on_memory(isa):
    weights, x = cell(6, np.float32), inputs((40, 17, 40, 64, 3, 8) * 5, 6, np.float32)
    first, second = (np.ascontiguousarray(side, np.int64) for side in np.tril_indices(30, -1))
    scales = np.random.default_rng(2).standard_normal(len(first)).astype(np.float32)
    how = {"mean": False, "isa": isa}
    whole = graded(weights, x, x, first, second, scales, **how)
    for threads in (2, 5):
        for a, b in zip(whole, graded(weights, x, x, first, second, scales, threads=threads, **how), strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(whole, graded(weights, x, x, first, second, scales, budget=1, **how), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_an_exception_stops_the_gradients():
    weights, x = cell(20, np.float32), inputs((200,) * 60, 20, np.float32)
    first, second = (np.ascontiguousarray(side, np.int64) for side in np.tril_indices(60, -1))
    given, out = (*weights, False, *x, *x, first, second), np.empty(len(first), np.float32)
    kept = kernels.coupled_rows(*given, keep=True, threads=1, out=out, report=None)
    found = [np.zeros_like(part) for part in (x.values, *weights)]

    def refuse(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels.coupled_gradients(*given, out, kept, found[0], None, *found[1:], budget=1, threads=1, report=refuse)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-6, 30.0, 1e6])
def test_extreme_inputs_saturate_as_in_torch(monkeypatch, isa, dtype, size):
    weights = cell(5, dtype)
    x, y = inputs((12, 9), 5, dtype, size=size), inputs((12, 3, 7), 5, dtype, seed=1, size=size)
    expected = rolled(monkeypatch, weights, x, y)
    np.testing.assert_allclose(matrix(weights, x, y, isa=isa), expected, **TOLERANCE[dtype])


@pytest.mark.parametrize("isa", kernels.isas())
def test_what_is_not_a_number_is_not_made_one(isa):
    weights, x, y = cell(4, np.float32), inputs((5, 5), 4, np.float32), inputs((5,) * 18, 4, np.float32, seed=1)
    x.values[2] = np.nan
    found = matrix(weights, x, y, isa=isa)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_symmetry_and_neighbours_change_no_bit(isa, dtype):
    weights, x = cell(6, dtype), inputs((40, 17, 40, 40, 64, 3, 8) * 9, 6, dtype)
    whole = matrix(weights, x, x, isa=isa)
    np.testing.assert_array_equal(whole, whole.T)
    assert (whole.diagonal() == 0).all()
    np.testing.assert_array_equal(whole, matrix(weights, x, x, symmetric=True, threads=2, isa=isa))
    few = PackedSequences(x.values, x.starts[3:6], x.lengths[3:6])
    np.testing.assert_array_equal(whole[:, 3:6], matrix(weights, x, few, isa=isa))
    np.testing.assert_array_equal(whole[3:6], matrix(weights, few, x, threads=2, isa=isa))


def test_a_progress_bar_is_told_and_an_exception_stops_the_work():
    weights, x = cell(20, np.float32), inputs((200,) * 300, 20, np.float32)
    out, heard = np.empty((300, 300), np.float32), []
    coupled.matrix(weights, x, x, mean=False, symmetric=False, threads=1, out=out, report=lambda *at: heard.append(at))
    assert heard
    assert all(0 <= done <= total for done, total in heard)

    def refuse(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coupled.matrix(weights, x, x, mean=False, symmetric=False, threads=1, out=out, report=refuse)


def test_nothing_has_no_pairs():
    weights, x = cell(4, np.float32), inputs((3, 2), 4, np.float32)
    none = PackedSequences(x.values, x.starts[:0], x.lengths[:0])
    coupled.matrix(weights, none, x, mean=False, symmetric=False, threads=1, out=np.empty((0, 2), np.float32))
    assert coupled.pair_rollouts(weights, x, x, x.starts[:0], x.starts[:0], mean=False, threads=1).distances.shape == (
        0,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_network_gives_the_same_with_and_without_gradients(monkeypatch, dtype):
    torch.manual_seed(0)
    network = CoupledNetwork(9).to(dtype)
    x = torch.randn(20, 128, 9, dtype=dtype)
    lengths = torch.randint(60, 129, (20,))
    with torch.no_grad():
        features = network.features(x, lengths)
        fast = network.distance_matrix(features, features.take(slice(4)))
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")
        slow = network.distance_matrix(features, features.take(slice(4)))
        rows = network.pair_distances(features.take(slice(4, 8)), features.take(slice(4)))
    graded = network.distance_matrix(features, features.take(slice(4)))
    assert graded.requires_grad
    tolerance = {"rtol": 0, "atol": 1e-5 if dtype == torch.float32 else 1e-12}
    torch.testing.assert_close(fast, graded.detach(), **tolerance)
    torch.testing.assert_close(slow, graded.detach(), **tolerance)
    torch.testing.assert_close(rows, graded.detach()[4:8].diagonal(), **tolerance)
