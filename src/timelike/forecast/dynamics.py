"""Dynamics of a state: residual blocks (Euler), torchdiffeq solvers, or a gated recurrent unit that counts steps.

`StateDynamics` configures them for `Separation`, `RandomDynamics` for `SRVP`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import torch
from torch import Tensor, nn

from ..core.extras import import_extra
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
_TOLERANCE = 1e-6  # relative and absolute; states are about 1 and learned in single precision
_MAX_SOLVER_STEPS = 2000  # most steps of an adaptive solver per step of the data
# the gradient of a ReLU, written into preallocated memory
_relu_backward = torch.ops.aten.threshold_backward.grad_input


@dataclass(frozen=True, kw_only=True)
class StateDynamics:
    """The dynamics of the state of `Separation`: a learned equation and its solver.

    A string selects the solver with all other defaults: `dynamics="rk4"` is
    `dynamics=forecast.StateDynamics(solver="rk4")`.

    Parameters
    ----------
    solver : str
        "residual" (Euler's method), "gru" (no equation: the thesis's ablation), or a solver of torchdiffeq such as
        "rk4" or "dopri5".
    blocks : int
        Number of residual blocks per step; a torchdiffeq solver has one.
    tied : bool
        Whether the blocks share their weights.
    hidden : int
        Units of a block.
    gain : float
        Gain of the initialization of a block. For chunks that move a state over n > 24 steps, gain³ is multiplied by
        24/n, so that states do not explode at the start of training.
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
                f"solver={self.solver!r} solves one equation, and blocks={self.blocks} are several: use tied=True, or "
                "blocks=1"
            )

    @property
    def is_adaptive(self) -> bool:
        """Whether the steps of the solver depend on the other items of the batch."""
        return self.solver in _ADAPTIVE_SOLVERS

    def build(self, n_state: int, n_known: int, *, maps: bool) -> Dynamics:
        """Build the module for states of `n_state` numbers, or of maps with `n_state` channels, and known channels."""
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
        """A copy with the number of units multiplied by `factor`."""
        return replace(self, hidden=scale_size(self.hidden, factor))


@dataclass(frozen=True, kw_only=True)
class RandomDynamics:
    """The dynamics of the state of `SRVP`, given the random variable z of a step.

    A string selects the motion with all other defaults: `dynamics="gru"` is
    `dynamics=forecast.RandomDynamics(motion="gru")`.

    Parameters
    ----------
    motion : {"residual", "perceptron", "gru"}
        Residual steps y + f(y, z), or an ablation of the thesis: f(y, z) itself, or a gated recurrent unit.
    hidden : int
        Units of f and of the prior of z.
    gain : float
        Gain of the initialization of f.
    substeps : int
        Number of Euler steps per step in training; more than 1 needs residual steps.
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
        """Build the module of a step, a function of the state and z."""
        if self.motion == "gru":
            return nn.GRUCell(max(1, n_random), n_state)
        return init_orthogonal(MLPNetwork([n_state + n_random, *[self.hidden] * 3, n_state]), self.gain)

    def build_prior(self, n_state: int, n_random: int) -> MLPNetwork:
        """Build the prior of z: from a state to the parameters of its distribution."""
        return MLPNetwork([n_state, *[self.hidden] * 3, 2 * n_random])

    def scale_widths(self, factor: float) -> Self:
        """A copy with the number of units multiplied by `factor`."""
        return replace(self, hidden=scale_size(self.hidden, factor))


def dynamics_option(kind: type[StateDynamics | RandomDynamics]) -> options.Option[Any]:
    """The option `dynamics` of an estimator: a value of `kind`, or a string for its first field."""
    field, words = ("solver", SOLVERS) if kind is StateDynamics else ("motion", get_args(MotionName))

    factories = {word: partial(kind, **{field: word}) for word in words}
    return options.word_or_value(kind, factories, f"forecast.{kind.__name__}(hidden=64)")


class Dynamics(nn.Module):
    """Advances states: `forward(y, spans, forcing)` returns the states at the ends of steps.

    `spans` (batch, step) is the duration of each step, in usual steps of the data; `forcing` (batch, step, channel) are
    the known channels that act on the state, or None.
    """

    n_substeps: int = 1
    """Default number of substeps per step."""

    def forward(
        self, y: Tensor, spans: Tensor, forcing: Tensor | None = None, *, frames: int = 1, parts: int | None = None
    ) -> Tensor:
        """States (batch, step × frames, *state): `frames` equally spaced states per step, the last at its end."""
        states = []
        for step in range(spans.shape[1]):
            force = None if forcing is None else forcing[:, step]
            inner = self.step_states(y, spans[:, step], force, frames, parts or self.n_substeps)
            states += inner
            y = inner[-1]
        return torch.stack(states, dim=1) if states else y.new_zeros(len(y), 0, *y.shape[1:])

    @abstractmethod
    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """The states at `frames` equally spaced times of one step."""

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """Raise an error if a step cannot be divided like this."""
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

    Untied blocks have separate weights. With K·m substeps each block is applied m times, scaled by 1/m.
    """

    def __init__(self, blocks: list[nn.Module], n_blocks: int) -> None:
        super().__init__()
        self.blocks, self.n_substeps = nn.ModuleList(blocks), n_blocks

    def forward(
        self, y: Tensor, spans: Tensor, forcing: Tensor | None = None, *, frames: int = 1, parts: int | None = None
    ) -> Tensor:
        """States (batch, step × frames, *state); training uses an unrolled version that stores less for gradients."""
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
    """dy/dt = K h(y), solved by torchdiffeq (Chen et al., "Neural ordinary differential equations", 2018)."""

    def __init__(self, block: nn.Module, n_blocks: int, solver: str) -> None:
        super().__init__()
        self.block, self.n_blocks, self.solver = block, n_blocks, solver

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """Solve the equation over one step: fixed-step solvers take `parts` steps, adaptive ones choose."""
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
            arguments["options"]["max_order"] = 4  # the package's default of 12 is unstable
        way_out = ", or use dynamics='residual', which needs no extra"
        torchdiffeq = import_extra("torchdiffeq", f"solver={self.solver!r}", way_out)
        try:
            return list(torchdiffeq.odeint(slope, y, ends, method=self.solver, **arguments)[1:])
        except AssertionError as error:  # torchdiffeq raises it for a step size that is too small
            raise ArithmeticError(
                f"the solver {self.solver!r} gave up ({error}): the learned equation is too stiff or has blown up; "
                "train for longer, with a lower trainer.learning_rate, or use dynamics='residual'"
            ) from None

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """Raise an error if frames do not fall on substeps of a fixed-step solver."""
        if parts is not None and self.solver in _ADAPTIVE_SOLVERS:
            raise ValueError(f"substeps={parts}: solver={self.solver!r} chooses its own steps, expected None")
        if parts is not None:
            super().validate_substeps(frames, parts)


class GRUDynamics(Dynamics):
    """A gated recurrent unit in place of an equation (an ablation of the thesis); it ignores the spans of steps."""

    def __init__(self, n_state: int, n_known: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(n_state + n_known, n_state)

    def step_states(self, y: Tensor, span: Tensor, force: Tensor | None, frames: int, parts: int) -> list[Tensor]:
        """One step."""
        return [self.cell(append_forcing(y, force), y)]

    def validate_substeps(self, frames: int, parts: int | None) -> None:
        """Raise an error for frames between two steps, which a GRU cannot produce."""
        for name, value in (("frames_per_step", frames), ("substeps", parts)):
            if value not in (None, 1):
                raise ValueError(
                    f"{name}={value}: a GRU moves a whole step at a time, expected 1; dynamics='residual' can"
                )


def _conv_block(before: int, hidden: int, after: int) -> nn.Module:
    """Three convolutions with batch normalization and leaky ReLU in between (C.5.2)."""
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
    """One number per state, reshaped to broadcast over its axes."""
    return span.reshape(-1, *[1] * (y.ndim - 1))


def append_forcing(y: Tensor, force: Tensor | None) -> Tensor:
    """The state with the forcing as additional channels."""
    if force is None:
        return y
    if y.ndim > 2:
        force = force.reshape(*force.shape, *[1] * (y.ndim - 2)).expand(-1, -1, *y.shape[2:])
    return torch.cat([y, force], dim=1)


# --- training: all steps at once, weight gradients from one matrix product --------------------------------------------


class UnrollPlan(NamedTuple):
    """The schedule of an unrolled path: `n_substeps` per step, `n_repeats` of each block, a frame every `frame_stride`
    substeps.
    """

    n_substeps: int
    n_repeats: int
    frame_stride: int
    n_blocks: int
    n_layers: int

    def weight_slice(self, part: int) -> slice:
        """The positions of the weights of the block that computes a substep."""
        begin = 2 * self.n_layers * ((part % self.n_substeps // self.n_repeats) % self.n_blocks)
        return slice(begin, begin + 2 * self.n_layers, 2)

    def block_rows(self, values: Tensor, block: int) -> Tensor:
        """The rows that belong to a block, of an array (substep, item, number)."""
        if self.n_blocks > 1:
            values = values.reshape(-1, self.n_blocks, self.n_repeats, *values.shape[1:])[:, block]
        return values.reshape(-1, values.shape[-1])


def can_unroll(blocks: Iterable[nn.Module], y: Tensor) -> bool:
    """Whether the unrolled version applies: vector states, plain blocks, gradients enabled and no autocast."""
    plain = all(isinstance(block, MLPNetwork) and block.shortcut is None for block in blocks)
    return plain and y.ndim == 2 and torch.is_grad_enabled() and not torch.is_autocast_enabled(y.device.type)


def unroll_states(
    blocks: Iterable[nn.Module], y: Tensor, spans: Tensor, forcing: Tensor | None, parts: int, n_parts: int, frames: int
) -> Tensor:
    """States (batch, step × frames, number) as in `ResidualDynamics`, y ← y + span · block(y)."""
    own = [[layer for layer in block.modules() if isinstance(layer, nn.Linear)] for block in blocks]
    walk = UnrollPlan(parts, parts // n_parts, parts // frames, len(own), len(own[0]))
    weights = [number for layers in own for layer in layers for number in (layer.weight, layer.bias)]
    states: Tensor = _UnrollFunction.apply(walk, y, spans, forcing, *weights)  # type: ignore[no-untyped-call]
    return states


class _UnrollFunction(torch.autograd.Function):
    """An unrolled path with one product per weight gradient; autograd would compute one per step."""

    @staticmethod
    def forward(
        ctx: Any, walk: UnrollPlan, y: Tensor, spans: Tensor, forcing: Tensor | None, *weights: Tensor
    ) -> Tensor:
        n_state, fractions = y.shape[1], _substep_shares(walk, spans)
        states = y.new_empty(len(fractions) + 1, *y.shape)
        states[0] = y
        widths = [weight.shape[1] for weight in weights[walk.weight_slice(0)]]
        layer_inputs = [
            y.new_empty(len(fractions), len(y), width) for width in widths[1:]
        ]  # inputs of the later layers
        first = states[:-1]
        if forcing is not None:
            first = y.new_empty(len(fractions), len(y), widths[0])
            first[..., n_state:] = forcing.transpose(0, 1).repeat_interleave(walk.n_substeps, dim=0)
        maps = [weight.t() if weight.ndim == 2 else weight for weight in weights]
        places, inputs = states.unbind(0), [one.unbind(0) for one in (first, *layer_inputs)]
        out = torch.empty_like(y)
        for part, fraction in enumerate(fractions):
            own = walk.weight_slice(part)
            if forcing is not None:
                inputs[0][part][:, :n_state] = places[part]
            for layer, (weight, before) in enumerate(zip(maps[own], inputs, strict=True)):
                last = layer == walk.n_layers - 1
                after = out if last else inputs[layer + 1][part]
                torch.addmm(maps[own.start + 2 * layer + 1], before[part], weight, out=after)
                if not last:
                    after.relu_()
            torch.addcmul(places[part], fraction, out, out=places[part + 1])
        ctx.walk = walk
        ctx.save_for_backward(spans, *weights, first, *layer_inputs)
        return states[walk.frame_stride :: walk.frame_stride].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        walk: UnrollPlan = ctx.walk
        spans, *saved = ctx.saved_tensors
        weights, layer_inputs = saved[: -walk.n_layers], saved[-walk.n_layers :]
        back, fractions = grad_outputs[0].transpose(0, 1).unbind(0), _substep_shares(walk, spans)
        n_state, y = back[0].shape[1], torch.zeros_like(back[0])
        forces: Tensor | None = spans.new_zeros(spans.shape[1], len(y), layer_inputs[0].shape[2] - n_state)
        if not ctx.needs_input_grad[3]:
            forces = None
        output_grads = [one.new_empty(*layer_inputs[0].shape[:2], len(one)) for one in weights[walk.weight_slice(0)]]
        inputs, outputs = [one.unbind(0) for one in layer_inputs], [one.unbind(0) for one in output_grads]
        for part in reversed(range(len(fractions))):
            if (part + 1) % walk.frame_stride == 0:
                y = y + back[part // walk.frame_stride]
            own = weights[walk.weight_slice(part)]
            grad = torch.mul(fractions[part], y, out=outputs[-1][part])
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
    """The fraction of a block in each substep of each step, (item, 1) each."""
    return (spans.t() / walk.n_repeats).repeat_interleave(walk.n_substeps, dim=0)[..., None].unbind(0)
