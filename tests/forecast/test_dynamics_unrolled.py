"""Residual perceptrons moved by our own gradients, beside the plain loop of autograd and beside finite differences."""

import pytest
import torch

from timelike.forecast.codecs.mlp import MLPNetwork
from timelike.forecast.dynamics import Dynamics, ResidualDynamics, can_unroll

CASES = {
    "one block": (1, False, 0, 1, None, 5),
    "untied blocks with a force": (3, False, 2, 1, None, 4),
    "tied blocks": (3, True, 0, 1, None, 4),
    "blocks in parts, frames between": (2, False, 1, 2, 4, 3),
    "tied blocks in parts, frames between": (2, True, 0, 4, 8, 2),
    "a single step": (1, False, 0, 1, None, 1),
}


def made(n_blocks, tied, n_known, steps, *, layers=(7, 6), n_state=3, n_items=4):
    torch.manual_seed(0)
    sizes = [n_state + n_known, *layers, n_state]
    move = ResidualDynamics([MLPNetwork(sizes) for _ in range(1 if tied else n_blocks)], n_blocks).double()
    y = torch.randn(n_items, n_state, dtype=torch.float64, requires_grad=True)
    spans = torch.rand(n_items, steps, dtype=torch.float64) * 2
    spans[0] = 1.0
    forcing = torch.randn(n_items, steps, n_known, dtype=torch.float64, requires_grad=True) if n_known else None
    return move, y, spans, forcing


def gradients(states, move, y, *forcing):
    weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
    return torch.autograd.grad((states * weights).sum(), [*forcing, y, *move.parameters()])


@pytest.mark.parametrize("case", CASES)
def test_states_and_gradients_are_those_of_the_plain_loop(case):
    n_blocks, tied, n_known, frames, parts, steps = CASES[case]
    move, y, spans, forcing = made(n_blocks, tied, n_known, steps)
    ours = move(y, spans, forcing, frames=frames, parts=parts)
    plain = Dynamics.forward(move, y, spans, forcing, frames=frames, parts=parts)
    assert "_UnrollFunction" in type(ours.grad_fn).__name__
    torch.testing.assert_close(ours, plain, rtol=1e-13, atol=1e-13)
    known = [] if forcing is None else [forcing]
    for one, other in zip(gradients(ours, move, y, *known), gradients(plain, move, y, *known), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_gradients_are_finite_differences():
    move, y, spans, forcing = made(2, False, 1, 3, layers=(4,), n_state=2, n_items=2)
    weights = list(move.parameters())
    assert torch.autograd.gradcheck(lambda y, forcing, *_: move(y, spans, forcing), (y, forcing, *weights))


def test_units_that_are_exactly_closed_have_no_gradient_either_way():
    move, y, spans, _ = made(1, False, 0, 3)
    with torch.no_grad():
        for layer in move.modules():
            if isinstance(layer, torch.nn.Linear):
                layer.weight.zero_()
                layer.bias.zero_()
    ours, plain = (gradients(states, move, y) for states in (move(y, spans), Dynamics.forward(move, y, spans)))
    for found in (ours, plain):
        assert all(not one.any() for one in found[1:-1])
        assert found[-1].any()
    torch.testing.assert_close(ours[-1], plain[-1], rtol=1e-14, atol=0)


def test_time_that_stands_still_moves_nothing():
    move, y, spans, _ = made(1, False, 0, 3)
    torch.testing.assert_close(move(y, torch.zeros_like(spans)), y[:, None].expand(-1, 3, -1), rtol=0, atol=0)


def test_no_steps_give_no_states():
    move, y, spans, _ = made(1, False, 0, 3)
    assert move(y, spans[:, :0]).shape == (4, 0, 3)


def test_predictions_keep_nothing_for_gradients():
    move, y, spans, _ = made(1, False, 0, 3)
    assert can_unroll(move.blocks, y)
    with torch.no_grad():
        assert not can_unroll(move.blocks, y)
        torch.testing.assert_close(move(y, spans), Dynamics.forward(move, y, spans), rtol=0, atol=0)


def test_shortcuts_and_mixed_precision_are_left_to_autograd():
    move, y, _, _ = made(1, False, 0, 3)
    assert not can_unroll([MLPNetwork([3, 4, 3], shortcut=True)], y)
    with torch.autocast("cpu", torch.bfloat16):
        assert not can_unroll(move.blocks, y)
