"""The compiled causal network: every instruction set against the formula in double precision, item by item."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from timelike.native import causal
from timelike.native.causal import autograd, fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

SLOPE = 0.01
SMALL = (3, 5, 3, 6, 3)  # channels, width, blocks before the last, outputs, taps
PAPER = (1, 40, 4, 160, 3)


def network(channels, width, depth, outputs, taps, seed=0):
    rng = np.random.default_rng(seed)
    widths = [channels, *[width] * depth, outputs]
    weights, biases, shortcuts, shortcut_biases = [], [], [], []
    for n_in, n_out in pairwise(widths):
        for first in (n_in, n_out):
            weights.append(rng.uniform(-2, 2, (taps, first, n_out)) / np.sqrt(taps * first))
            biases.append(rng.uniform(-0.2, 0.2, n_out))
        straight = n_in == n_out
        shortcuts.append(np.empty((0, 0)) if straight else rng.uniform(-1, 1, (n_out, n_in)) / np.sqrt(n_in))
        shortcut_biases.append(np.empty(0) if straight else rng.uniform(-0.2, 0.2, n_out))
    return causal.CausalWeights(
        *([one.astype(np.float32) for one in part] for part in (weights, biases, shortcuts, shortcut_biases))
    )


def steps(lengths, channels, seed=1, between=2):
    """Rows with gaps of NaN between the items, which nobody may read."""
    rng, lengths = np.random.default_rng(seed), np.array(lengths, np.int64)
    starts = np.cumsum([between, *(lengths[:-1] + between)])
    rows = np.full((lengths.sum() + between * (len(lengths) + 1), channels), np.nan, np.float32)
    for start, length in zip(starts, lengths, strict=True):
        rows[start : start + length] = rng.standard_normal((length, channels))
    return causal.PackedRows(rows, starts, lengths)


def forward(layers, given, *, isa=None, threads=1, keep=True, screen=True):
    shape = len(given.lengths), layers.weights[-1].shape[2]
    out, where = np.full(shape, np.nan, np.float32), np.full(shape, -1)
    counts = np.empty_like(given.lengths)
    kernels.causal_kept(*layers, given.lengths, out=counts, isa=isa)
    kept = np.full(counts.sum(), np.nan, np.float32), counts.cumsum() - counts
    how = {"threads": threads, "out": out, "where": where, "isa": isa, "screen": screen}
    kernels.causal_forward(*layers, SLOPE, *given, *(kept if keep else (None, None)), **how)
    return out, where, kept


def backward(layers, given, where, kept, gradient, *, isa=None, threads=1):
    out = np.zeros_like(given.rows)
    into = [[np.full_like(one, np.nan) for one in part] for part in layers]
    names = ("to_weights", "to_biases", "to_shortcuts", "to_shortcut_biases")
    how = {"threads": threads, "out": out, "isa": isa, **dict(zip(names, into, strict=True))}
    kernels.causal_backward(*layers, SLOPE, *given, *kept, where, gradient, **how)
    return [out, *(one for part in into for one in part)]


def by_formula(layers, x):
    """(time, channel) → (time, output), every tap of every step as it is written down; tensors, so that torch can differentiate."""
    for b, (weight, bias) in enumerate(zip(layers.shortcuts, layers.shortcut_biases, strict=True)):
        inner = x
        for n in (2 * b, 2 * b + 1):
            taps, total = layers.weights[n], layers.biases[n].expand(len(x), -1)
            for k in range(len(taps)):
                back = k * 2**b
                if back < len(x):
                    moved = torch.cat([inner.new_zeros(back, inner.shape[1]), inner[: len(inner) - back]])
                    total = total + moved @ taps[k]
            inner = torch.where(total > 0, total, SLOPE * total)
        x = inner + (x @ weight.T + bias if len(weight) else x)
    return x


def exact(layers, given, gradient=None):
    """Values, and gradients where one of the values is given, in double precision."""
    tensors = causal.CausalWeights(*([torch.tensor(one).double().requires_grad_() for one in part] for part in layers))
    items = [
        torch.tensor(given.rows[start : start + length]).double().requires_grad_()
        for start, length in zip(given.starts, given.lengths, strict=True)
    ]
    found = torch.stack([by_formula(tensors, x).max(dim=0).values for x in items])
    if gradient is None:
        return found.detach().numpy()
    (found * torch.tensor(gradient)).sum().backward()
    rows = np.zeros(given.rows.shape)
    for x, start, length in zip(items, given.starts, given.lengths, strict=True):
        rows[start : start + length] = x.grad
    return [rows, *(np.zeros(one.shape) if one.grad is None else one.grad.numpy() for part in tensors for one in part)]


def near(found, wanted, tolerance):
    assert found.shape == wanted.shape
    if wanted.size:
        assert np.abs(found - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize(
    "shape", [SMALL, PAPER, (40, 40, 2, 40, 3), (2, 9, 2, 17, 5), (8, 8, 3, 24, 1), (1, 4, 0, 7, 3)]
)
def test_values_are_those_of_the_formula(isa, shape):
    layers = network(*shape)
    for lengths in [(1,), (1, 2, 3, 4, 5), (16, 64, 33), (130, 7)]:
        given = steps(lengths, shape[0])
        for keep in (True, False):
            near(forward(layers, given, isa=isa, keep=keep)[0], exact(layers, given), 1e-5)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize(
    "shape", [SMALL, PAPER, (40, 40, 2, 40, 3), (2, 9, 2, 17, 5), (8, 8, 3, 24, 1), (1, 4, 0, 7, 3)]
)
def test_gradients_are_those_of_the_formula(isa, shape):
    layers = network(*shape)
    for lengths in [(1,), (1, 2, 3, 4, 5), (16, 64, 33), (130, 7)]:
        given = steps(lengths, shape[0])
        _, where, kept = forward(layers, given, isa=isa)
        gradient = np.random.default_rng(2).standard_normal(where.shape).astype(np.float32)
        found = backward(layers, given, where, kept, gradient, isa=isa)
        for one, other in zip(found, exact(layers, given, gradient), strict=True):
            near(one, other, 1e-4)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_lengths_any_widths(data):
    sizes = st.integers(1, 20)
    shape = data.draw(st.tuples(st.integers(1, 12), sizes, st.integers(0, 5), sizes, st.integers(1, 4)))
    layers, given = network(*shape), steps(data.draw(st.lists(st.integers(1, 70), min_size=1, max_size=5)), shape[0])
    found, where, kept = forward(layers, given)
    near(found, exact(layers, given), 1e-5)
    gradient = np.random.default_rng(2).standard_normal(where.shape).astype(np.float32)
    for one, other in zip(backward(layers, given, where, kept, gradient), exact(layers, given, gradient), strict=True):
        near(one, other, 2e-4)


def test_tiles_are_as_exact_as_plain_sums_in_single_precision():
    """With the paper's widths, at a length where every block but the last goes by tiles."""
    layers, given = network(1, 40, 8, 160, 3), steps((1500,), 1)
    wanted, tensors = (
        exact(layers, given),
        causal.CausalWeights(*([torch.tensor(one) for one in part] for part in layers)),
    )
    x = torch.tensor(given.rows[given.starts[0] : given.starts[0] + 1500])
    plain = np.abs(by_formula(tensors, x).max(dim=0).values.numpy() - wanted).max()
    assert np.abs(forward(layers, given)[0] - wanted).max() <= 4 * plain


def test_neither_threads_nor_neighbours_change_a_bit():
    layers, given = network(*PAPER), steps((40, 1, 133, 64, 7, 40), 1)
    found, where, kept = forward(layers, given)
    gradient = np.random.default_rng(2).standard_normal(where.shape).astype(np.float32)
    gradients = backward(layers, given, where, kept, gradient)
    for threads in (2, 5):
        again = forward(layers, given, threads=threads)
        assert np.array_equal(found, again[0])
        assert np.array_equal(where, again[1])
        for one, other in zip(gradients, backward(layers, given, *again[1:], gradient, threads=threads), strict=True):
            assert np.array_equal(one, other)
    for i, (start, length) in enumerate(zip(given.starts, given.lengths, strict=True)):
        alone = causal.PackedRows(
            np.ascontiguousarray(given.rows[start : start + length]), np.array([0]), np.array([length])
        )
        assert np.array_equal(found[i], forward(layers, alone, keep=False)[0][0])


def test_what_is_not_kept_is_made_again_with_the_same_bits():
    layers, given = network(*PAPER), steps((40, 1, 133, 64), 1)
    _, where, (values, starts) = forward(layers, given)
    gradient = np.random.default_rng(2).standard_normal(where.shape).astype(np.float32)
    wanted = backward(layers, given, where, (values, starts), gradient)
    for hidden in ([1], [0, 2], [0, 1, 2, 3]):
        some = starts.copy()
        some[hidden] = -1
        for one, other in zip(wanted, backward(layers, given, where, (values, some), gradient), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("shape", [(1, 8, 0, 40, 3), (1, 8, 6, 40, 3), (1, 40, 1, 160, 1), (1, 8, 9, 40, 3)])
def test_of_equal_steps_the_first_has_the_maximum(isa, shape):
    """By tiles, as they are, and after a rough look; torch would share the gradient out among them."""
    layers = network(*shape)
    silent = causal.CausalWeights(*([np.zeros_like(one) for one in part] for part in layers))
    for length in (1, 16, 200, 700):
        given = causal.PackedRows(np.ones((length, 1), np.float32), np.array([0]), np.array([length]))
        assert not (forward(silent, given, isa=isa)[1] // 2).any()


@pytest.mark.parametrize("isa", kernels.isas())
def test_of_steps_that_come_again_the_first_has_the_maximum(isa):
    """One tap: a step's output depends on that step alone, and a value that comes again gives the same bits."""
    layers = network(1, 8, 2, 40, 1)
    values = np.tile([0.0, 3.0, -1.0], 70).astype(np.float32)[:, None]
    _, where, _ = forward(layers, causal.PackedRows(values, np.array([0]), np.array([len(values)])), isa=isa)
    assert set((where // 2).flat) <= {0, 1, 2}
    assert len(set((where // 2).flat)) > 1


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("lengths", [(288, 287), (214, 213), (145, 144, 143), (320, 256), (287, 288, 1)])
def test_a_shorter_sequence_may_go_another_way_than_the_longest(isa, lengths):
    """The last block goes by tiles for one length and not for the next; each has its own need of memory."""
    shape = (1, 40, 6, 160, 3)
    layers, given = network(*shape), steps(lengths, 1)
    found, where, (values, starts) = forward(layers, given, isa=isa)
    gradient = np.random.default_rng(2).standard_normal(where.shape).astype(np.float32)
    gradients = backward(layers, given, where, (values, np.full_like(starts, -1)), gradient, isa=isa)
    near(found, exact(layers, given), 1e-5)
    for one, other in zip(gradients, exact(layers, given, gradient), strict=True):
        near(one, other, 1e-4)
    for i, (start, length) in enumerate(zip(given.starts, given.lengths, strict=True)):
        alone = causal.PackedRows(
            np.ascontiguousarray(given.rows[start : start + length]), np.array([0]), np.array([length])
        )
        assert np.array_equal(found[i], forward(layers, alone, isa=isa, keep=False)[0][0])


def test_what_is_not_a_number_is_not_hidden_by_the_maximum():
    layers, given = network(*SMALL), steps((20, 20), 3)
    given.rows[given.starts[1] + 4] = np.inf
    found = forward(layers, given)[0]
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1]).any()


def sequence(kind, length):
    t = np.arange(length)
    made = {
        "noise": np.random.default_rng(5).standard_normal(length),
        "wave": np.sin(t / 7),
        "constant": np.full(length, 0.7),
        "zero": np.zeros(length),
        "steps": (t // 50 % 2) * 1.0,
        "large": 1e18 * np.sin(t / 3),
        "beyond": np.where(t == 77, 1e38, np.sin(t)),
        "small": 1e-39 * np.cos(t),
        "no number": np.where(t == 99, np.nan, np.cos(t)),
    }
    return made[kind].astype(np.float32)[:, None]


@pytest.mark.parametrize(
    "kind", ["noise", "wave", "constant", "zero", "steps", "large", "beyond", "small", "no number"]
)
@pytest.mark.parametrize("shape", [PAPER, (1, 8, 9, 40, 3), (1, 40, 9, 160, 3)])
def test_steps_that_are_left_out_by_a_rough_look_change_no_bit(kind, shape):
    """Where the processor has bfloat16; elsewhere both are the same."""
    layers = network(*shape)
    for length in (128, 200, 700):
        given = causal.PackedRows(sequence(kind, length), np.array([0]), np.array([length]))
        (found, where, _), (wanted, at, _) = (forward(layers, given, screen=screen) for screen in (True, False))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(where, at)


def same_with_and_without_a_rough_look(layers, values):
    given = causal.PackedRows(values.astype(np.float32)[:, None], np.array([0]), np.array([len(values)]))
    (found, where, _), (wanted, at, _) = (forward(layers, given, screen=screen) for screen in (True, False))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(where, at)


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e-18, 1e-24, 1e-27, 1e-32, 1e-38, 1e15, 1e30])
def test_numbers_of_any_size_are_looked_at_rightly(scale):
    """Without biases all that is computed is as small as the sequence, and squares are lost before it is."""
    layers = network(1, 40, 9, 160, 3)
    plain = layers._replace(
        biases=[np.zeros_like(one) for one in layers.biases],
        shortcut_biases=[np.zeros_like(one) for one in layers.shortcut_biases],
    )
    for seed in range(3):
        same_with_and_without_a_rough_look(plain, scale * np.random.default_rng(seed).standard_normal(700))


@pytest.mark.parametrize(("bias", "scale"), [(1.0, 1e-6), (100.0, 3e-5), (1e-3, 1e-9)])
@pytest.mark.parametrize("taps", [1, 3])
def test_large_biases_that_cancel_are_looked_at_rightly(bias, scale, taps):
    layers = network(1, 8, 9, 160, taps)
    layers.biases[-1][:] = bias
    layers.shortcut_biases[-1][:] = -bias
    for seed in range(3):
        same_with_and_without_a_rough_look(layers, scale * np.random.default_rng(seed).standard_normal(700))


# --- tensors


def tensors(layers):
    return causal.CausalWeights(*([torch.tensor(one, requires_grad=True) for one in part] for part in layers))


@pytest.mark.parametrize("lengths", [None, [20, 1, 7]])
def test_tensors_have_the_fallbacks_values_and_gradients(monkeypatch, lengths):
    layers, x = tensors(network(*SMALL)), torch.randn(3, 20, 3, requires_grad=True)
    known = None if lengths is None else torch.tensor(lengths)
    asked = [x, *(one for part in layers for one in part if one.numel())]
    compiled = autograd.maxima(layers, SLOPE, x, known)
    ours = torch.autograd.grad(compiled.square().sum(), asked)
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    plain = autograd.maxima(layers, SLOPE, x, known)
    torch.testing.assert_close(compiled, plain)
    for one, other in zip(ours, torch.autograd.grad(plain.square().sum(), asked), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients_are_the_fallbacks():
    layers, x = tensors(network(*SMALL)), torch.randn(2, 12, 3, requires_grad=True)

    def bent(maxima):
        (slope,) = torch.autograd.grad(maxima(layers, SLOPE, x, None).square().sum(), x, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), layers.weights)

    for one, other in zip(bent(autograd.maxima), bent(fallback.maxima), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_what_traces_a_network_sees_the_fallback():
    layers, x = (
        causal.CausalWeights(*([torch.tensor(one) for one in part] for part in network(*SMALL))),
        torch.randn(2, 12, 3),
    )
    with torch.no_grad():
        traced = torch.jit.trace(lambda x: autograd.maxima(layers, SLOPE, x, None), x, check_trace=False)
        torch.testing.assert_close(traced(x), autograd.maxima(layers, SLOPE, x, None))


def test_dilations_beyond_any_length_reach_nothing():
    """Doubled once for every block, they would soon be beyond what can be counted."""
    layers, given = network(1, 2, 70, 3, 2), steps((9,), 1)
    near(forward(layers, given)[0], exact(layers, given), 1e-5)


def test_memory_is_bounded_and_nothing_else_changes(monkeypatch):
    layers, x = tensors(network(*PAPER)), torch.randn(6, 50, 1)
    asked = [one for part in layers for one in part if one.numel()]
    wanted = torch.autograd.grad(autograd.maxima(layers, SLOPE, x, None).square().sum(), asked)
    arrays, steps = (
        causal.CausalWeights(*([one.detach().numpy() for one in part] for part in layers)),
        autograd._to_arrays(layers, x, None)[1],
    )
    _, _, kept = causal.forward(arrays, SLOPE, steps, keep=True, threads=1)
    monkeypatch.setattr(causal, "_MAX_ACTIVATIONS", kept.values.size // 2)
    _, _, half = causal.forward(arrays, SLOPE, steps, keep=True, threads=1)
    assert half.values.size == kept.values.size // 2
    assert (half.starts < 0).sum() == 3
    for one, other in zip(
        torch.autograd.grad(autograd.maxima(layers, SLOPE, x, None).square().sum(), asked), wanted, strict=True
    ):
        assert torch.equal(one, other)
