"""Dynamics of a state: residual blocks (Euler), solvers of torchdiffeq, or a gated unit that only counts steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from .unrolling import suits, unrolled

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
_MOST = 2000  # steps that such a solver takes at most for a step of the data
ADAPTIVE = ("bosh3", "fehlberg2", "adaptive_heun", "dopri5", "dopri8")  # whose steps depend on the company of a state


class Dynamics(nn.Module):
    """Moves states: `forward(y, spans, forcing)` gives the states at the ends of steps.

    `spans` (batch, step) is how long each step lasts, in usual steps of the data; `forcing` (batch, step, channel) what
    is known in advance and acts on the state, or None.
    """

    parts: int = 1
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
            inner = self.moved(y, spans[:, step], force, frames, parts or self.parts)
            found += inner
            y = inner[-1]
        return torch.stack(found, dim=1) if found else y.new_zeros(len(y), 0, *y.shape[1:])

    @abstractmethod
    def moved(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The states at `frames` places of one step."""

    def refuse(self, frames: int, parts: int | None) -> None:
        """An error where a step cannot be divided so."""
        count = self.parts if parts is None else parts
        if count % self.parts:
            raise ValueError(f"substeps={count}: expected a multiple of the {self.parts} blocks of a step")
        if count % frames:
            raise ValueError(
                f"frames_per_step={frames} does not divide the {count} substeps of a step: give "
                f"substeps={frames * count}"
            )


class Residual(Dynamics):
    """K residual blocks for a step, y ← y + h_i(y) (Franceschi's thesis, 2022, C.5.2): Euler's method, as f = K h.

    Untied blocks are K maps, tied ones the same. Moved in K·m parts, each block is applied m times with 1/m of it.
    """

    def __init__(self, blocks: list[nn.Module], n_blocks: int) -> None:
        super().__init__()
        self.blocks, self.parts = nn.ModuleList(blocks), n_blocks

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
        if spans.shape[1] and suits(self.blocks, y):
            return unrolled(self.blocks, y, spans, forcing, parts or self.parts, self.parts, frames)
        return super().forward(y, spans, forcing, frames=frames, parts=parts)

    def moved(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """Euler's method."""
        found, times, every = [], parts // self.parts, parts // frames
        share = along(span, y) / times
        for part in range(parts):
            block = self.blocks[(part // times) % len(self.blocks)]
            y = y + share * block(forced(y, force))
            if (part + 1) % every == 0:
                found.append(y)
        return found


class Solved(Dynamics):
    """dy/dt = K h(y), by a solver of torchdiffeq (Chen et al., "Neural ordinary differential equations", 2018)."""

    def __init__(self, block: nn.Module, n_blocks: int, solver: str) -> None:
        super().__init__()
        self.block, self.n_blocks, self.solver = block, n_blocks, solver

    def moved(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The solver's steps: `parts` of them for those of a fixed step, as many as they take for the others."""
        share = self.n_blocks * along(span, y)

        def slope(_: Tensor, state: Tensor) -> Tensor:
            moved: Tensor = share * self.block(forced(state, force))
            return moved

        ends = torch.linspace(0, 1, frames + 1, dtype=y.dtype, device=y.device)
        given: dict[str, Any] = {"rtol": _TOLERANCE, "atol": _TOLERANCE}
        given["options"] = (
            {"max_num_steps": _MOST} if self.solver in ADAPTIVE else {"step_size": 1 / max(parts, frames)}
        )
        if self.solver.endswith("adams"):
            given["options"]["max_order"] = 4  # the usual one; that of the package is 12, which is not stable
        try:
            return list(torchdiffeq().odeint(slope, y, ends, method=self.solver, **given)[1:])
        except AssertionError as error:  # its words for a step that became too small
            raise ArithmeticError(
                f"the solver {self.solver!r} gave up ({error}): the learned equation is too stiff or has blown up; "
                "train for longer, with a lower learning_rate, or use solver='residual'"
            ) from None

    def refuse(self, frames: int, parts: int | None) -> None:
        """Any frames will do, but those of a fixed step must be at ends of parts."""
        if parts is not None and self.solver in ADAPTIVE:
            raise ValueError(f"substeps={parts}: solver={self.solver!r} finds its steps by itself, expected None")
        if parts is not None:
            super().refuse(frames, parts)


class Gated(Dynamics):
    """A gated recurrent unit in place of an equation (the thesis's ablation): it counts steps, whatever their spans."""

    def __init__(self, n_state: int, n_known: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(n_state + n_known, n_state)

    def moved(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """One step."""
        return [self.cell(forced(y, force), y)]

    def refuse(self, frames: int, parts: int | None) -> None:
        """It has nothing between two steps."""
        for name, value in (("frames_per_step", frames), ("substeps", parts)):
            if value not in (None, 1):
                raise ValueError(
                    f"{name}={value}: a GRU moves a whole step at a time, expected 1; solver='residual' can"
                )


def along(span: Tensor, y: Tensor) -> Tensor:
    """A number for each state, in the axes of states."""
    return span.reshape(-1, *[1] * (y.ndim - 1))


def forced(y: Tensor, force: Tensor | None) -> Tensor:
    """The state with what acts on it, as further channels."""
    if force is None:
        return y
    if y.ndim > 2:
        force = force.reshape(*force.shape, *[1] * (y.ndim - 2)).expand(-1, -1, *y.shape[2:])
    return torch.cat([y, force], dim=1)


def torchdiffeq() -> Any:
    """The package, or an error that names the extra."""
    try:
        import torchdiffeq as package
    except ImportError:
        raise ImportError(
            "this solver needs torchdiffeq: pip install 'timelike[ode]', or use solver='residual', which needs nothing"
        ) from None
    return package
