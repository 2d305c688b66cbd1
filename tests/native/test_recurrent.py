"""The compiled GRUs and LSTMs: every instruction set against torch's own cells, for any batch composition and number of threads."""

import _thread
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from timelike.native import recurrent
from timelike.native.recurrent import autograd, fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

KINDS = ("gru", "lstm")
WHOLE = 1 << 27
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def made(kind, inputs, hidden, layers=1, dtype=np.float32, seed=0):
    torch.manual_seed(seed)
    cells = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(inputs, hidden, num_layers=layers, batch_first=True)
    return cells.to(torch.float64 if dtype is np.float64 else torch.float32)


def sequences(lengths, inputs, dtype=np.float32, seed=0, filling=np.nan):
    x = np.random.default_rng(seed).standard_normal((len(lengths), max(lengths), inputs)).astype(dtype)
    for row, length in zip(x, lengths, strict=True):
        row[length:] = filling
    return recurrent.PaddedBatch(x, np.asarray(lengths, np.int64))


def layers_of(cells):
    flat = [part.detach().numpy() for layer in cells.all_weights for part in layer]
    return recurrent.RecurrentLayers(
        [part for part in flat if part.ndim == 2], [part for part in flat if part.ndim == 1]
    )


def rolled(cells, x, scales, *, threads=1, isa=None, budget=WHOLE):
    """Last states, then the gradients of Σ scales · states by the sequences, the weights and the biases."""
    lstm, layers = cells.mode == "LSTM", layers_of(cells)
    out, how = np.full((len(x.lengths), layers.hidden), np.nan, x.values.dtype), {"threads": threads, "isa": isa}
    kept = kernels.recurrent_forward(lstm, *layers, *x, keep=True, budget=budget, out=out, **how)
    by_x, found = np.zeros_like(x.values), [[np.full_like(one, np.nan) for one in part] for part in layers]
    into = {"to_x": by_x, "to_weights": found[0], "to_biases": found[1]}
    kernels.recurrent_backward(lstm, *layers, *x, kept, scales, budget=budget, **into, **how)
    return [out, by_x, *found[0], *found[1]]


def rolled_in_torch(cells, x, scales):
    """The same by torch in double precision, one sequence after the other, so that nothing is padded."""
    alone = made(cells.mode.lower(), cells.input_size, cells.hidden_size, cells.num_layers, np.float64)
    alone.load_state_dict(cells.state_dict())
    out, by_x = [], np.zeros(x.values.shape)
    for row, length, scale, into in zip(x.values, x.lengths, scales, by_x, strict=True):
        one = torch.from_numpy(row[None, :length].astype(np.float64)).requires_grad_()
        last = alone(one)[0][0, -1]
        (last * torch.from_numpy(scale)).sum().backward()
        out.append(last.detach().numpy())
        into[:length] = one.grad[0]
    flat = [part.grad.numpy() for layer in alone.all_weights for part in layer]
    return [np.array(out), by_x, *(part for part in flat if part.ndim == 2), *(part for part in flat if part.ndim == 1)]


def drawn_scales(x, hidden, seed=1):
    return np.random.default_rng(seed).standard_normal((len(x.lengths), hidden)).astype(x.values.dtype)


def compare(found, expected, tolerance, isa):
    for ours, theirs in zip(found, expected, strict=True):
        close = {"rtol": tolerance, "atol": tolerance * max(1, np.abs(theirs).max())}
        np.testing.assert_allclose(ours, theirs, **close, err_msg=isa)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("inputs", "hidden", "layers", "lengths"),
    [
        (9, 20, 1, (12, 1, 7, 30, 30, 2, 9) * 3),
        (1, 1, 1, (1,)),
        (3, 16, 2, (5,) * 9),  # as many units as lanes
        (70, 33, 3, (4, 1, 6)),  # more inputs than a panel has columns
        (2, 65, 2, (300, 411, 1, 20)),  # more steps than a chunk has rows
    ],
)
def test_every_instruction_set_gives_the_states_and_gradients_of_torch(dtype, kind, inputs, hidden, layers, lengths):
    cells, x = made(kind, inputs, hidden, layers, dtype), sequences(lengths, inputs, dtype)
    scales = drawn_scales(x, hidden)
    expected = rolled_in_torch(cells, x, scales)
    for isa in kernels.isas():
        compare(rolled(cells, x, scales, isa=isa), expected, TOLERANCE[dtype], isa)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(1, 3),
    st.sampled_from(KINDS),
    st.sampled_from(kernels.isas()),
)
@settings(deadline=None, max_examples=25)
def test_any_sizes_give_the_states_and_gradients_of_torch(lengths, inputs, hidden, layers, kind, isa):
    cells, x = made(kind, inputs, hidden, layers, np.float64), sequences(lengths, inputs, np.float64)
    scales = drawn_scales(x, hidden)
    compare(rolled(cells, x, scales, isa=isa), rolled_in_torch(cells, x, scales), 1e-11, isa)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_memory_change_no_bit(isa, kind):
    lengths = np.random.default_rng(0).integers(1, 60, 100).tolist()
    cells, x = made(kind, 3, 21, 2), sequences(lengths, 3)
    scales = drawn_scales(x, 21)
    whole = rolled(cells, x, scales, isa=isa)
    for threads, budget in ((2, WHOLE), (5, WHOLE), (1, 0), (3, 0)):  # without memory, steps are computed again
        for a, b in zip(whole, rolled(cells, x, scales, isa=isa, threads=threads, budget=budget), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_has_the_same_bits_alone_and_in_any_batch(isa, kind):
    lengths = np.random.default_rng(0).integers(1, 40, 70).tolist()
    cells, x = made(kind, 5, 21, 2), sequences(lengths, 5)
    scales = drawn_scales(x, 21)
    states, by_x, *_ = rolled(cells, x, scales, isa=isa)
    for i in (0, 13, 42, 69):
        length = lengths[i]
        alone = recurrent.PaddedBatch(np.ascontiguousarray(x.values[i : i + 1, :length]), x.lengths[i : i + 1])
        state, by_alone, *_ = rolled(cells, alone, scales[i : i + 1], isa=isa)
        np.testing.assert_array_equal(state[0], states[i])
        np.testing.assert_array_equal(by_alone[0], by_x[i, :length])
        assert not by_x[i, length:].any()


def test_what_is_past_a_length_changes_no_bit():
    cells, scales = made("gru", 4, 20), None
    found = []
    for filling in (0.0, np.nan, np.inf):
        x = sequences((3, 9, 1, 9), 4, filling=filling)
        scales = drawn_scales(x, 20)
        found.append(rolled(cells, x, scales))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_was_kept_of_other_sequences_is_refused():
    cells, x = made("gru", 2, 4), sequences((5, 3), 2)
    layers = layers_of(cells)
    out, kept = recurrent.forward("gru", layers, x, keep=True, threads=1)
    other = sequences((5, 4), 2)
    with pytest.raises(ValueError, match="other sequences"):
        recurrent.backward("gru", layers, other, kept, out, to_inputs=False, threads=1)


# --- tensors


LENGTHS = torch.tensor([9, 4, 1, 7])


def tensors(dtype=torch.float32):
    return torch.randn(4, 9, 2, dtype=dtype, generator=torch.Generator().manual_seed(3))


def torchs_own(cells, x, lengths):
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    state = cells(packed)[1]
    return (state[0] if isinstance(state, tuple) else state)[-1]


def gradients(run, cells, x):
    x = x.clone().requires_grad_()
    last = run(cells, x, LENGTHS)
    return last, *torch.autograd.grad(last.square().sum(), [x, *cells.parameters()])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("native", ["1", "0"])
def test_tensors_give_what_torchs_modules_give(monkeypatch, kind, native):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    cells = made(kind, 2, 5, 2)
    found, expected = (gradients(run, cells, tensors()) for run in (autograd.last_states, torchs_own))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    with torch.no_grad():
        assert torch.equal(autograd.last_states(cells, tensors(), LENGTHS), found[0])
        whole, equal = autograd.last_states(cells, tensors()), torch.full((4,), 9)
        torch.testing.assert_close(whole, torchs_own(cells, tensors(), equal), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences_and_so_are_theirs(kind):
    cells, x = made(kind, 2, 3, 2, np.float64), tensors(torch.float64)[:3, :4].clone().requires_grad_()
    lengths = torch.tensor([4, 2, 1])
    assert torch.autograd.gradcheck(lambda x, *_: autograd.last_states(cells, x, lengths), (x, *cells.parameters()))
    assert torch.autograd.gradgradcheck(lambda x: autograd.last_states(cells, x, lengths), x)
    assert torch.autograd.gradgradcheck(lambda x: autograd.last_states(cells, x), x)


def test_steps_of_which_two_are_under_way_do_not_share_memory():
    cells, batches = made("lstm", 2, 8), [torch.randn(6, 30, 2), torch.randn(6, 30, 2)]
    single = [
        torch.autograd.grad(autograd.last_states(cells, x).square().sum(), list(cells.parameters())) for x in batches
    ]
    losses = [autograd.last_states(cells, x).square().sum() for x in batches]
    both = [torch.autograd.grad(loss, list(cells.parameters()), retain_graph=True) for loss in reversed(losses)][::-1]
    again = [torch.autograd.grad(loss, list(cells.parameters())) for loss in losses]
    for found in (both, again):
        for a, b in zip(single, found, strict=True):
            assert all(map(torch.equal, a, b))


def test_weights_that_are_held_leave_the_gradient_of_the_sequences():
    cells, x = made("gru", 2, 5), tensors().requires_grad_()
    expected = gradients(autograd.last_states, cells, tensors())[1]
    cells.requires_grad_(False)
    autograd.last_states(cells, x.transpose(0, 1).contiguous().transpose(0, 1), LENGTHS).square().sum().backward()
    assert torch.equal(x.grad, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_digits_are_left_to_torch(monkeypatch, kind):
    called, own = [], fallback.last_states
    monkeypatch.setattr(fallback, "last_states", lambda *given: called.append(given) or own(*given))
    cells = made(kind, 2, 5)
    with torch.autocast("cpu", torch.bfloat16):
        autograd.last_states(cells, tensors(), LENGTHS)
    found = autograd.last_states(cells.bfloat16(), tensors().bfloat16(), LENGTHS)
    assert len(called) == 2
    assert found.dtype == torch.bfloat16


def test_transforms_of_functions_are_left_to_torch():
    cells, x = made("gru", 2, 5), tensors().requires_grad_()
    autograd.last_states(cells, x).square().sum().backward()
    found = torch.func.grad(lambda x: autograd.last_states(cells, x).square().sum())(x.detach())
    torch.testing.assert_close(found, x.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("lengths", [[9, 4, 0, 7], [9, 4, 10, 7], [9, 4]])
def test_lengths_that_do_not_fit_are_refused_as_torch_refuses_them(lengths):
    with pytest.raises((RuntimeError, ValueError)):
        autograd.last_states(made("gru", 2, 5), tensors(), torch.tensor(lengths))


def test_channels_that_do_not_fit_are_refused_as_torch_refuses_them():
    with pytest.raises(RuntimeError):
        autograd.last_states(made("gru", 3, 5), tensors(), LENGTHS)


def written_when_interrupted(work, into):
    """Which numbers were written before an interruption; of many tries one, as a busy machine may wake the timer late."""
    for _ in range(100):
        into.fill(np.nan)
        timer = threading.Timer(0.02, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):  # also where it is heard after the work only
            work()
        timer.join()
        if np.isnan(into).any():
            break
    return ~np.isnan(into)


def test_ctrl_c_is_heard_in_the_middle_of_a_sequence_on_both_ways():
    cells, x = made("gru", 1, 128), sequences([60_000], 1)
    layers, how = layers_of(cells), {"budget": WHOLE, "threads": 1}
    out, by_x = np.empty((1, 128), np.float32), np.empty_like(x.values)
    into = {"to_x": by_x, "to_weights": [*map(np.empty_like, layers.weights)]}
    into["to_biases"] = [*map(np.empty_like, layers.biases)]

    def forward():
        return kernels.recurrent_forward(False, *layers, *x, keep=True, out=out, **how)

    def backward():
        kernels.recurrent_backward(False, *layers, *x, kept, np.ones_like(out), **into, **how)

    assert not written_when_interrupted(forward, out).any()
    kept = forward()
    assert np.isfinite(out).all()
    by_step = written_when_interrupted(backward, by_x).ravel()
    assert not by_step[0]
    by_x.fill(np.nan)
    backward()
    assert np.isfinite(by_x).all()
