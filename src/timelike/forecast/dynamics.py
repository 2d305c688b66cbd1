"""Dynamics of a state: residual blocks (Euler), solvers of torchdiffeq, or a gated unit that only counts steps.

`StateDynamics` and `RandomDynamics` are the values that choose among them, for `Separation` and for `SRVP`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import torch
from torch import Tensor, nn

from ..models import options
from .codecs.base import scale_size
from .codecs.mlp import MLPNetwork, init_orthogonal

MotionName = Literal["residual", "perceptron", "gru"]

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
_ADAPTIVE_SOLVERS = "bosh3", "fehlberg2", "adaptive_heun", "dopri5", "dopri8"
_TOLERANCE = 1e-6  # relative and absolute, of states that are about 1 and learned in single precision
_MAX_SOLVER_STEPS = 2000  # steps that such a solver takes at most for a step of the data
# the gradient where a ReLU was open, into memory that is there
_relu_backward = torch.ops.aten.threshold_backward.grad_input


@dataclass(frozen=True, kw_only=True)
class StateDynamics:
    """How the state of `Separation` moves: an equation that blocks of layers learn, and what solves it.

    A word is the solver with the other defaults: `dynamics="rk4"` is `dynamics=forecast.StateDynamics(solver="rk4")`.

    Parameters
    ----------
    solver : str
        "residual" (Euler's method), "gru" (no equation: the thesis's ablation), or a solver of torchdiffeq such as
        "rk4" or "dopri5".
    blocks : int
        How many residual blocks move a step; a solver has one.
    tied : bool
        Whether the blocks are the same.
    hidden : int
        Units of a block.
    gain : float
        The gain with which a block is initialized. Where a state is moved over more than 24 steps of a chunk, gain³ is
        divided by as many times more as they are, so that no state explodes before anything is learned.
    """

    solver: str = "residual"
    blocks: int = 1
    tied: bool = False
    hidden: int = 128
    gain: float = 0.71

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            solver=options.choice(*SOLVERS),
            blocks=options.depth(1),
            tied=options.boolean(),
            hidden=options.width(1),
            gain=options.real(above=0),
        )
        if self.solver not in ("residual", "gru") and self.blocks > 1 and not self.tied:
            raise ValueError(
                f"solver={self.solver!r} moves one equation, and blocks={self.blocks} are several: use tied=True, or "
                "blocks=1"
            )

    @property
    def is_adaptive(self) -> bool:
        """Whether the steps of the solver depend on the other items of the batch."""
        return self.solver in _ADAPTIVE_SOLVERS

    def build(self, n_state: int, n_known: int, *, maps: bool) -> Dynamics:
        """The module that moves states of this size, or maps of so many channels, with known channels beside them."""
        if self.solver == "gru":
            return GRUDynamics(n_state, n_known)

        def block() -> nn.Module:
            sizes = n_state + n_known, self.hidden, n_state
            layers = _conv_block(*sizes) if maps else MLPNetwork([sizes[0], self.hidden, self.hidden, n_state])
            return init_orthogonal(layers, self.gain)

        if self.solver == "residual":
            return ResidualDynamics([block() for _ in range(1 if self.tied else self.blocks)], self.blocks)
        return ODEDynamics(block(), self.blocks, self.solver)

    def scale_widths(self, factor: float) -> Self:
        """With so many times as many units."""
        return replace(self, hidden=scale_size(self.hidden, factor))


@dataclass(frozen=True, kw_only=True)
class RandomDynamics:
    """How the state of `SRVP` moves, given what is random in a step.

    A word is the motion with the other defaults: `dynamics="gru"` is `dynamics=forecast.RandomDynamics(motion="gru")`.

    Parameters
    ----------
    motion : {"residual", "perceptron", "gru"}
        By residual steps, y + f(y, z), or by one of the thesis's ablations: f(y, z) itself, or a gated unit.
    hidden : int
        Units of f and of the prior of z.
    gain : float
        The gain with which f is initialized.
    substeps : int
        Into how many of Euler's steps a step is divided in training; only residual steps can be.
    """

    motion: MotionName = "residual"
    hidden: int = 128
    gain: float = 0.2
    substeps: int = 1

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            motion=options.choice(*get_args(MotionName)),
            hidden=options.width(1),
            gain=options.real(above=0),
            substeps=options.integer(1, most=2**10),
        )
        if self.motion != "residual" and self.substeps > 1:
            raise ValueError(
                f"substeps={self.substeps}: motion={self.motion!r} moves a whole step at a time, expected 1; "
                "motion='residual' can be divided"
            )

    def build(self, n_state: int, n_random: int) -> nn.Module:
        """The module of a step, from a state and what is random in it."""
        if self.motion == "gru":
            return nn.GRUCell(max(1, n_random), n_state)
        return init_orthogonal(MLPNetwork([n_state + n_random, *[self.hidden] * 3, n_state]), self.gain)

    def build_prior(self, n_state: int, n_random: int) -> MLPNetwork:
        """The module from a state to mean and deviation of what is random in the next step."""
        return MLPNetwork([n_state, *[self.hidden] * 3, 2 * n_random])

    def scale_widths(self, factor: float) -> Self:
        """With so many times as many units."""
        return replace(self, hidden=scale_size(self.hidden, factor))


def dynamics_option(kind: type[StateDynamics | RandomDynamics]) -> options.Option[Any]:
    """The option `dynamics` of an estimator: such a value, or the word of its first field."""
    field, words = ("solver", SOLVERS) if kind is StateDynamics else ("motion", get_args(MotionName))

    factories = {word: partial(kind, **{field: word}) for word in words}
    return options.word_or_value(kind, factories, f"forecast.{kind.__name__}(hidden=64)")


class Dynamics(nn.Module):
    """Moves states: `forward(y, spans, forcing)` gives the states at the ends of steps.

    `spans` (batch, step) is how long each step lasts, in usual steps of the data; `forcing` (batch, step, channel) what
    is known in advance and acts on the state, or None.
    """

    n_substeps: int = 1
    """Into how many parts a step is moved unless told otherwise."""

    def forward(
        self, y: Tensor, spans: Tensor, forcing: Tensor | None = None, *, frames: int = 1, parts: int | None = None
    ) -> Tensor:
        """States (batch, step × frames, *state): `frames` of every step, at equal distances, the last at its end."""
        states = []
        for step in range(spans.shape[1]):
            force = None if forcing is None else forcing[:, step]
            inner = self.step_states(y, spans[:, step], force, frames, parts or self.n_substeps)
            states += inner
            y = inner[-1]
        return torch.stack(states, dim=1) if states else y.new_zeros(len(y), 0, *y.shape[1:])

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
        self, y: Tensor, spans: Tensor, forcing: Tensor | None = None, *, frames: int = 1, parts: int | None = None
    ) -> Tensor:
        """States (batch, step × frames, *state); in training by steps that keep only what their gradients need."""
        if spans.shape[1] and can_unroll(self.blocks, y):
            return unroll_states(self.blocks, y, spans, forcing, parts or self.n_substeps, self.n_substeps, frames)
        return super().forward(y, spans, forcing, frames=frames, parts=parts)

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """Euler's method."""
        states, times, every = [], parts // self.n_substeps, parts // frames
        fraction = broadcast_to_state(span, y) / times
        for part in range(parts):
            block = self.blocks[(part // times) % len(self.blocks)]
            y = y + fraction * block(append_forcing(y, force))
            if (part + 1) % every == 0:
                states.append(y)
        return states


class ODEDynamics(Dynamics):
    """dy/dt = K h(y), by a solver of torchdiffeq (Chen et al., "Neural ordinary differential equations", 2018)."""

    def __init__(self, block: nn.Module, n_blocks: int, solver: str) -> None:
        super().__init__()
        self.block, self.n_blocks, self.solver = block, n_blocks, solver

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The solver's steps: `parts` of them for those of a fixed step, as many as they take for the others."""
        factor = self.n_blocks * broadcast_to_state(span, y)

        def slope(_: Tensor, state: Tensor) -> Tensor:
            rate: Tensor = factor * self.block(append_forcing(state, force))
            return rate

        ends = torch.linspace(0, 1, frames + 1, dtype=y.dtype, device=y.device)
        arguments: dict[str, Any] = {"rtol": _TOLERANCE, "atol": _TOLERANCE}
        arguments["options"] = (
            {"max_num_steps": _MAX_SOLVER_STEPS}
            if self.solver in _ADAPTIVE_SOLVERS
            else {"step_size": 1 / max(parts, frames)}
        )
        if self.solver.endswith("adams"):
            arguments["options"]["max_order"] = 4  # the usual one; that of the package is 12, which is not stable
        try:
            return list(import_torchdiffeq().odeint(slope, y, ends, method=self.solver, **arguments)[1:])
        except AssertionError as error:  # its words for a step that became too small
            raise ArithmeticError(
                f"the solver {self.solver!r} gave up ({error}): the learned equation is too stiff or has blown up; "
                "train for longer, with a lower trainer.learning_rate, or use dynamics='residual'"
            ) from None

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """Any frames will do, but those of a fixed step must be at ends of parts."""
        if parts is not None and self.solver in _ADAPTIVE_SOLVERS:
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
                    f"{name}={value}: a GRU moves a whole step at a time, expected 1; dynamics='residual' can"
                )


def _conv_block(before: int, hidden: int, after: int) -> nn.Module:
    """Three convolutions; normalized, then leaky, in between (C.5.2)."""
    return nn.Sequential(
        nn.Conv2d(before, hidden, 3, padding=1),
        nn.BatchNorm2d(hidden),
        nn.LeakyReLU(),
        nn.Conv2d(hidden, hidden, 3, padding=1),
        nn.BatchNorm2d(hidden),
        nn.LeakyReLU(),
        nn.Conv2d(hidden, after, 3, padding=1),
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
            "this solver needs torchdiffeq: pip install 'timelike[ode]', or use dynamics='residual', which needs "
            "nothing"
        ) from None
    return package


# --- training: all steps at once, with gradients of weights from one product ------------------------------------------


class UnrollPlan(NamedTuple):
    """How states are moved: `n_substeps` of a step, `n_repeats` of them by each block, a frame after `frame_stride` of
    them.
    """

    n_substeps: int
    n_repeats: int
    frame_stride: int
    n_blocks: int
    n_layers: int

    def weight_slice(self, part: int) -> slice:
        """Where the weights of the block stand that moves a part."""
        begin = 2 * self.n_layers * ((part % self.n_substeps // self.n_repeats) % self.n_blocks)
        return slice(begin, begin + 2 * self.n_layers, 2)

    def block_rows(self, values: Tensor, block: int) -> Tensor:
        """What a block did, in rows, of (part of any step, item, number)."""
        if self.n_blocks > 1:
            values = values.reshape(-1, self.n_blocks, self.n_repeats, *values.shape[1:])[:, block]
        return values.reshape(-1, values.shape[-1])


def can_unroll(blocks: Iterable[nn.Module], y: Tensor) -> bool:
    """Whether this is training, of vectors, and in one precision: else what is kept for gradients is only a burden."""
    plain = all(isinstance(block, MLPNetwork) and block.shortcut is None for block in blocks)
    return plain and y.ndim == 2 and torch.is_grad_enabled() and not torch.is_autocast_enabled(y.device.type)


def unroll_states(
    blocks: Iterable[nn.Module], y: Tensor, spans: Tensor, forcing: Tensor | None, parts: int, n_parts: int, frames: int
) -> Tensor:
    """States (batch, step × frames, number) as `ResidualDynamics` gives them, y ← y + span · block(y)."""
    own = [[layer for layer in block.modules() if isinstance(layer, nn.Linear)] for block in blocks]
    walk = UnrollPlan(parts, parts // n_parts, parts // frames, len(own), len(own[0]))
    weights = [number for layers in own for layer in layers for number in (layer.weight, layer.bias)]
    states: Tensor = _UnrollFunction.apply(walk, y, spans, forcing, *weights)  # type: ignore[no-untyped-call]
    return states


class _UnrollFunction(torch.autograd.Function):
    """Autograd would multiply, sum and add up the gradients of every weight once for every step."""

    @staticmethod
    def forward(
        ctx: Any, walk: UnrollPlan, y: Tensor, spans: Tensor, forcing: Tensor | None, *weights: Tensor
    ) -> Tensor:
        n_state, shares = y.shape[1], _substep_shares(walk, spans)
        states = y.new_empty(len(shares) + 1, *y.shape)
        states[0] = y
        widths = [weight.shape[1] for weight in weights[walk.weight_slice(0)]]
        layer_inputs = [y.new_empty(len(shares), len(y), width) for width in widths[1:]]  # what later layers are given
        first = states[:-1]
        if forcing is not None:
            first = y.new_empty(len(shares), len(y), widths[0])
            first[..., n_state:] = forcing.transpose(0, 1).repeat_interleave(walk.n_substeps, dim=0)
        maps = [weight.t() if weight.ndim == 2 else weight for weight in weights]
        places, inputs = states.unbind(0), [one.unbind(0) for one in (first, *layer_inputs)]
        out = torch.empty_like(y)
        for part, share in enumerate(shares):
            own = walk.weight_slice(part)
            if forcing is not None:
                inputs[0][part][:, :n_state] = places[part]
            for layer, (weight, before) in enumerate(zip(maps[own], inputs, strict=True)):
                last = layer == walk.n_layers - 1
                after = out if last else inputs[layer + 1][part]
                torch.addmm(maps[own.start + 2 * layer + 1], before[part], weight, out=after)
                if not last:
                    after.relu_()
            torch.addcmul(places[part], share, out, out=places[part + 1])
        ctx.walk = walk
        ctx.save_for_backward(spans, *weights, first, *layer_inputs)
        return states[walk.frame_stride :: walk.frame_stride].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        walk: UnrollPlan = ctx.walk
        spans, *saved = ctx.saved_tensors
        weights, layer_inputs = saved[: -walk.n_layers], saved[-walk.n_layers :]
        back, shares = grad_outputs[0].transpose(0, 1).unbind(0), _substep_shares(walk, spans)
        n_state, y = back[0].shape[1], torch.zeros_like(back[0])
        forces: Tensor | None = spans.new_zeros(spans.shape[1], len(y), layer_inputs[0].shape[2] - n_state)
        if not ctx.needs_input_grad[3]:
            forces = None
        output_grads = [one.new_empty(*layer_inputs[0].shape[:2], len(one)) for one in weights[walk.weight_slice(0)]]
        inputs, outputs = [one.unbind(0) for one in layer_inputs], [one.unbind(0) for one in output_grads]
        for part in reversed(range(len(shares))):
            if (part + 1) % walk.frame_stride == 0:
                y = y + back[part // walk.frame_stride]
            own = weights[walk.weight_slice(part)]
            grad = torch.mul(shares[part], y, out=outputs[-1][part])
            for layer in reversed(range(1, walk.n_layers)):
                grad = _relu_backward(grad @ own[layer], inputs[layer][part], 0, grad_input=outputs[layer - 1][part])
            first = grad @ own[0]
            y = y + first[:, :n_state]
            if forces is not None:
                forces[part // walk.n_substeps] += first[:, n_state:]
        grads: list[Tensor] = []
        for block in range(walk.n_blocks):
            for before, after in zip(layer_inputs, output_grads, strict=True):
                rows = walk.block_rows(after, block)
                grads += [rows.t() @ walk.block_rows(before, block), rows.sum(dim=0)]
        return None, y, None, None if forces is None else forces.transpose(0, 1), *grads


def _substep_shares(walk: UnrollPlan, spans: Tensor) -> tuple[Tensor, ...]:
    """How much of a block each part of each step is, (item, 1) each."""
    return (spans.t() / walk.n_repeats).repeat_interleave(walk.n_substeps, dim=0)[..., None].unbind(0)
