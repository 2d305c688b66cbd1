"""What moves states, beside loops, matrix exponentials and each other."""

import math
import sys

import pytest
import torch
from torch import nn

from naive import separation as naive
from timelike.forecast.codecs.mlp import MLPNetwork
from timelike.forecast.dynamics import SOLVERS, GRUDynamics, ODEDynamics, ResidualDynamics, StateDynamics

TURN = torch.tensor([[0.0, -1.2], [1.2, 0.0]], dtype=torch.float64) - 0.1 * torch.eye(2, dtype=torch.float64)
ORDERS = {"euler": 1, "midpoint": 2, "heun3": 3, "rk4": 4}


class Linear(nn.Module):
    """h(y) = A y, of which the equation is solved by the exponential of a matrix."""

    def __init__(self, matrix=TURN):
        super().__init__()
        self.matrix, self.calls = matrix, 0

    def forward(self, y):
        self.calls += 1
        return y[:, : len(self.matrix)] @ self.matrix.T


class Square(nn.Module):
    """h(y) = y², whose solution 1/(1/y − t) ends at the time 1/y."""

    def forward(self, y):
        return y.square()


def start(n_items=3):
    return torch.randn(n_items, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def solved_exactly(y, times):
    return torch.stack([y @ torch.linalg.matrix_exp(TURN * time).T for time in times], dim=1)


@pytest.mark.parametrize("n_known", [0, 2])
@pytest.mark.parametrize(("tied", "substeps", "frames"), [(False, 3, 1), (True, 3, 3), (False, 6, 2), (True, 12, 4)])
def test_residual_blocks_are_applied_one_after_the_other(tied, substeps, frames, n_known):
    torch.manual_seed(0)
    blocks = [MLPNetwork([2 + n_known, 5, 2]).double() for _ in range(1 if tied else 3)]
    spans = torch.tensor([[1.0, 0.5, 2.0], [1.0, 1.0, 1.0], [0.25, 3.0, 1.0]], dtype=torch.float64)
    forcing = torch.randn(3, 3, n_known, dtype=torch.float64) if n_known else None
    with torch.no_grad():
        found = ResidualDynamics(blocks, 3)(start(), spans, forcing, frames=frames, parts=substeps)
        for item in range(3):
            force = None if forcing is None else forcing[item]
            expected = naive.moved(start()[item], blocks, 3, spans[item], force, substeps, frames)
            torch.testing.assert_close(found[item], torch.stack(expected), rtol=1e-12, atol=1e-12)


def test_without_substeps_a_step_is_the_composition_of_its_blocks():
    blocks = [Linear(TURN), Linear(-TURN), Linear(2 * TURN)]
    one = torch.eye(2, dtype=torch.float64)
    step = (one + 2 * TURN) @ (one - TURN) @ (one + TURN)
    found = ResidualDynamics(blocks, 3)(start(), torch.ones(3, 2, dtype=torch.float64))
    torch.testing.assert_close(found[:, 1], start() @ (step @ step).T)


@pytest.mark.parametrize("frames", [2, 3, 6])
def test_frames_between_two_steps_do_not_change_those_at_steps(frames):
    torch.manual_seed(0)
    move = ResidualDynamics([MLPNetwork([2, 5, 2]).double() for _ in range(3)], 3)
    spans = torch.rand(3, 7, dtype=torch.float64) + 0.5
    with torch.no_grad():
        plain, fine = (move(start(), spans, frames=n, parts=6) for n in (1, frames))
    assert fine.shape == (3, 7 * frames, 2)
    assert torch.equal(fine[:, frames - 1 :: frames], plain)


def test_euler_halves_its_error_with_twice_the_substeps():
    spans, truth = torch.ones(3, 2, dtype=torch.float64), solved_exactly(start(), [1, 2])
    move = ResidualDynamics([Linear(TURN / 2)], 2)  # two tied blocks of half the slope
    errors = [float((move(start(), spans, parts=n) - truth).abs().max()) for n in (64, 128, 256)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver not in ("residual", "gru")])
def test_every_solver_follows_the_equation(solver):
    spans = torch.tensor([[1.0, 0.5], [0.2, 1.8], [1.0, 1.0]], dtype=torch.float64)
    found = ODEDynamics(Linear(), 1, solver)(start(), spans, parts=32)
    truth = torch.cat([solved_exactly(start()[i : i + 1], spans[i].cumsum(0).tolist()) for i in range(3)])
    tolerance = 0.15 if solver == "euler" else 3e-3
    torch.testing.assert_close(found, truth, rtol=0, atol=tolerance)


@pytest.mark.parametrize("solver", ORDERS)
def test_solvers_of_a_fixed_step_have_their_order(solver):
    truth = solved_exactly(start(), [1])
    move = ODEDynamics(Linear(), 1, solver)
    errors = [
        float((move(start(), torch.ones(3, 1, dtype=torch.float64), parts=n) - truth).abs().max()) for n in (8, 16)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[solver], abs=0.3)


def test_runge_kutta_dormand_prince_and_many_euler_steps_agree_on_a_learned_equation():
    torch.manual_seed(0)
    block = MLPNetwork([2, 8, 8, 2]).double()
    spans = torch.tensor([[1.0, 0.3, 1.7]] * 3, dtype=torch.float64)
    with torch.no_grad():
        rk4 = ODEDynamics(block, 2, "rk4")(start(), spans, parts=16)
        dopri5 = ODEDynamics(block, 2, "dopri5")(start(), spans)
        euler = ResidualDynamics([block], 2)(start(), spans, parts=8192)
    torch.testing.assert_close(rk4, dopri5, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(rk4, euler, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("solver", ["rk4", "dopri5"])
def test_only_the_time_that_passes_counts_however_it_is_divided(solver):
    move = ODEDynamics(Linear(), 1, solver)
    uneven, whole = (torch.tensor([spans] * 3, dtype=torch.float64) for spans in ([0.3, 0.7, 1.0], [2.0]))
    found = [move(start(), spans, parts=64)[:, -1] for spans in (uneven, whole)]
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[0], solved_exactly(start(), [2.0])[:, 0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("solver", ["rk4", "dopri5", "euler"])
def test_a_solver_gives_frames_at_equal_distances(solver):
    found = ODEDynamics(Linear(), 1, solver)(start(), torch.ones(3, 2, dtype=torch.float64), frames=4, parts=256)
    truth = solved_exactly(start(), [i / 4 for i in range(1, 9)])
    torch.testing.assert_close(found, truth, rtol=0, atol=2e-2 if solver == "euler" else 1e-4)


def test_the_work_grows_with_the_steps_and_nothing_else():
    block = Linear()
    counts = []
    for steps in (1, 10, 100):
        block.calls = 0
        ResidualDynamics([block], 1)(start(), torch.ones(3, steps, dtype=torch.float64), parts=2)
        counts.append(block.calls)
    assert counts == [2, 20, 200]


def test_a_gated_unit_counts_steps_and_is_that_of_torch():
    torch.manual_seed(0)
    move = GRUDynamics(2, 1).double()
    forcing = torch.randn(3, 4, 1, dtype=torch.float64)
    with torch.no_grad():
        found = [move(start(), spans * torch.ones(3, 4, dtype=torch.float64), forcing) for spans in (1.0, 9.0)]
        y = start()
        for step in range(4):
            y = move.cell(torch.cat([y, forcing[:, step]], 1), y)
    assert torch.equal(*found)
    assert torch.equal(found[0][:, -1], y)


def test_no_steps_are_no_states():
    assert ResidualDynamics([Linear()], 1)(start(), torch.ones(3, 0)).shape == (3, 0, 2)


@pytest.mark.parametrize(
    ("move", "frames", "parts", "said"),
    [
        (ResidualDynamics([Linear()], 3), 1, 4, "substeps=4: expected a multiple of the 3 blocks of a step"),
        (
            ResidualDynamics([Linear()], 3),
            2,
            None,
            "frames_per_step=2 does not divide the 3 substeps .*: give substeps=6",
        ),
        (ResidualDynamics([Linear()], 3), 2, 3, "frames_per_step=2 does not divide the 3 substeps .*: give substeps=6"),
        (
            ODEDynamics(Linear(), 1, "rk4"),
            3,
            4,
            "frames_per_step=3 does not divide the 4 substeps .*: give substeps=12",
        ),
        (GRUDynamics(2, 0), 2, None, "frames_per_step=2: a GRU moves a whole step at a time"),
        (GRUDynamics(2, 0), 1, 2, "substeps=2: a GRU moves a whole step at a time"),
        (ODEDynamics(Linear(), 1, "dopri5"), 1, 5, "substeps=5: solver=.dopri5. chooses its own steps"),
    ],
)
def test_a_step_that_cannot_be_divided_so_is_refused(move, frames, parts, said):
    with pytest.raises(ValueError, match=said):
        move.validate_substeps(frames, parts)


@pytest.mark.parametrize(("frames", "parts"), [(6, 6), (2, 6), (1, None), (3, None)])
def test_a_step_that_can_be_divided_is_not_refused(frames, parts):
    ResidualDynamics([Linear()], 3).validate_substeps(frames, parts)
    ODEDynamics(Linear(), 1, "rk4").validate_substeps(frames, parts)
    ODEDynamics(Linear(), 1, "dopri5").validate_substeps(frames, None)


@pytest.mark.parametrize("solver", [one for one in SOLVERS if StateDynamics(solver=one).is_adaptive])
def test_a_solver_whose_equation_blows_up_says_so(solver):
    y = torch.full((1, 1), 2.0, dtype=torch.float64)  # 1/(1/2 − t) is over at a half
    with pytest.raises(ArithmeticError, match=f"the solver '{solver}' gave up .*: the learned equation .* blown up"):
        ODEDynamics(Square(), 1, solver)(y, torch.ones(1, 1, dtype=torch.float64))


def test_a_solver_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchdiffeq", None)
    with pytest.raises(ImportError, match=r"""pip install "timelike\[ode\]", or use dynamics='residual'"""):
        ODEDynamics(Linear(), 1, "rk4")(start(), torch.ones(3, 1))
    ResidualDynamics([Linear()], 1)(start(), torch.ones(3, 1))
