"""Dynamics of a state: residual blocks (Euler), solvers of torchdiffeq, or a gated unit that only counts steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from .unrolled_dynamics import can_unroll, unroll_states

SOLVERS = (
    "residual",
    "gru",
    "euler",
    "midpoint",
    "heun3",
    "rk4",
    "explicit_adams",
    "implicit_adams",
    "bosh3",
    "fehlberg2",
    "adaptive_heun",
    "dopri5",
    "dopri8",
)
_TOLERANCE = 1e-6  # relative and absolute, of states that are about 1 and learned in single precision
_MAX_SOLVER_STEPS = 2000  # steps that such a solver takes at most for a step of the data
ADAPTIVE_SOLVERS = (
    "bosh3",
    "fehlberg2",
    "adaptive_heun",
    "dopri5",
    "dopri8",
)  # whose steps depend on the other items of the batch


class Dynamics(nn.Module):
    """Moves states: `forward(y, spans, forcing)` gives the states at the ends of steps.

    `spans` (batch, step) is how long each step lasts, in usual steps of the data; `forcing` (batch, step, channel) what
    is known in advance and acts on the state, or None.
    """

    n_substeps: int = 1
    """Into how many parts a step is moved unless told otherwise."""

    def forward(
        self,
        y: Tensor,
        spans: Tensor,
        forcing: Tensor | None = None,
        *,
        frames: int = 1,
        parts: int | None = None,
    ) -> Tensor:
        """States (batch, step × frames, *state): `frames` of every step, at equal distances, the last at its end."""
        found = []
        for step in range(spans.shape[1]):
            force = None if forcing is None else forcing[:, step]
            inner = self.step_states(y, spans[:, step], force, frames, parts or self.n_substeps)
            found += inner
            y = inner[-1]
        return torch.stack(found, dim=1) if found else y.new_zeros(len(y), 0, *y.shape[1:])

    @abstractmethod
    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The states at `frames` places of one step."""

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """An error where a step cannot be divided so."""
        count = self.n_substeps if parts is None else parts
        if count % self.n_substeps:
            raise ValueError(f"substeps={count}: expected a multiple of the {self.n_substeps} blocks of a step")
        if count % frames:
            raise ValueError(
                f"frames_per_step={frames} does not divide the {count} substeps of a step: give "
                f"substeps={frames * count}"
            )


class ResidualDynamics(Dynamics):
    """K residual blocks for a step, y ← y + h_i(y) (Franceschi's thesis, 2022, C.5.2): Euler's method, as f = K h.

    Untied blocks are K maps, tied ones the same. Moved in K·m parts, each block is applied m times with 1/m of it.
    """

    def __init__(self, blocks: list[nn.Module], n_blocks: int) -> None:
        super().__init__()
        self.blocks, self.n_substeps = nn.ModuleList(blocks), n_blocks

    def forward(
        self,
        y: Tensor,
        spans: Tensor,
        forcing: Tensor | None = None,
        *,
        frames: int = 1,
        parts: int | None = None,
    ) -> Tensor:
        """States (batch, step × frames, *state); in training by steps that keep only what their gradients need."""
        if spans.shape[1] and can_unroll(self.blocks, y):
            return unroll_states(self.blocks, y, spans, forcing, parts or self.n_substeps, self.n_substeps, frames)
        return super().forward(y, spans, forcing, frames=frames, parts=parts)

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """Euler's method."""
        found, times, every = [], parts // self.n_substeps, parts // frames
        share = broadcast_to_state(span, y) / times
        for part in range(parts):
            block = self.blocks[(part // times) % len(self.blocks)]
            y = y + share * block(append_forcing(y, force))
            if (part + 1) % every == 0:
                found.append(y)
        return found


class ODEDynamics(Dynamics):
    """dy/dt = K h(y), by a solver of torchdiffeq (Chen et al., "Neural ordinary differential equations", 2018)."""

    def __init__(self, block: nn.Module, n_blocks: int, solver: str) -> None:
        super().__init__()
        self.block, self.n_blocks, self.solver = block, n_blocks, solver

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The solver's steps: `parts` of them for those of a fixed step, as many as they take for the others."""
        share = self.n_blocks * broadcast_to_state(span, y)

        def slope(_: Tensor, state: Tensor) -> Tensor:
            moved: Tensor = share * self.block(append_forcing(state, force))
            return moved

        ends = torch.linspace(0, 1, frames + 1, dtype=y.dtype, device=y.device)
        given: dict[str, Any] = {"rtol": _TOLERANCE, "atol": _TOLERANCE}
        given["options"] = (
            {"max_num_steps": _MAX_SOLVER_STEPS}
            if self.solver in ADAPTIVE_SOLVERS
            else {"step_size": 1 / max(parts, frames)}
        )
        if self.solver.endswith("adams"):
            given["options"]["max_order"] = 4  # the usual one; that of the package is 12, which is not stable
        try:
            return list(import_torchdiffeq().odeint(slope, y, ends, method=self.solver, **given)[1:])
        except AssertionError as error:  # its words for a step that became too small
            raise ArithmeticError(
                f"the solver {self.solver!r} gave up ({error}): the learned equation is too stiff or has blown up; "
                "train for longer, with a lower learning_rate, or use solver='residual'"
            ) from None

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """Any frames will do, but those of a fixed step must be at ends of parts."""
        if parts is not None and self.solver in ADAPTIVE_SOLVERS:
            raise ValueError(f"substeps={parts}: solver={self.solver!r} finds its steps by itself, expected None")
        if parts is not None:
            super().validate_substeps(frames, parts)


class GRUDynamics(Dynamics):
    """A gated recurrent unit in place of an equation (the thesis's ablation): it counts steps, whatever their spans."""

    def __init__(self, n_state: int, n_known: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(n_state + n_known, n_state)

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """One step."""
        return [self.cell(append_forcing(y, force), y)]

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """It has nothing between two steps."""
        for name, value in (("frames_per_step", frames), ("substeps", parts)):
            if value not in (None, 1):
                raise ValueError(
                    f"{name}={value}: a GRU moves a whole step at a time, expected 1; solver='residual' can"
                )


def broadcast_to_state(span: Tensor, y: Tensor) -> Tensor:
    """A number for each state, in the axes of states."""
    return span.reshape(-1, *[1] * (y.ndim - 1))


def append_forcing(y: Tensor, force: Tensor | None) -> Tensor:
    """The state with what acts on it, as further channels."""
    if force is None:
        return y
    if y.ndim > 2:
        force = force.reshape(*force.shape, *[1] * (y.ndim - 2)).expand(-1, -1, *y.shape[2:])
    return torch.cat([y, force], dim=1)


def import_torchdiffeq() -> Any:
    """The package, or an error that names the extra."""
    try:
        import torchdiffeq as package
    except ImportError:
        raise ImportError(
            "this solver needs torchdiffeq: pip install 'timelike[ode]', or use solver='residual', which needs nothing"
        ) from None
    return package
