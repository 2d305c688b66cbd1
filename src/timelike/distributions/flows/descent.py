"""Particles that descend the cost of a discriminator: x ← x − step · ∇c_f(x)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.interrupts import InterruptHandler, StepAborted, handle_interrupts
from ...core.parameters import check_float, check_int, format_count
from ...core.progress import ProgressMeter, check_progress, format_duration, print_line, progress_hint
from ...core.random import RandomState, check_random_state
from ...core.warnings import find_stack_level
from ...plotting import particles as drawing
from ...train.history import History
from ...train.schedules import Plateau, Schedule
from ..discriminators.base import CriticProblem, as_discriminator
from ..kernels.base import Kernel, as_kernel
from .base import (
    RESERVED_NAMES,
    FlowRecord,
    FlowSamples,
    Score,
    discriminator_kernel,
    resolve_discriminator,
    resolve_scores,
    takes_validated,
    validate_flow_samples,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_N_FRAMES = 50  # frames recorded along a flow by default
_MAX_FRAME_NUMBERS = 1 << 24  # numbers of all frames together, 64 MiB, beyond which there are fewer
_DIVERGENCE_FACTOR = 1000.0  # times the extent of start and target: particles do not return from there
_PACE_SECONDS = 1.0  # after which the duration is estimated
_MIN_ANNOUNCED_SECONDS = 10.0  # estimates above this are announced


def descend(
    start: Any,
    real: Any,
    discriminator: Any,
    *,
    steps: int,
    step: float,
    schedule: Any = None,
    geometry: Any = None,
    codes: Any = None,
    batch_size: int | None = None,
    record_every: int | None = None,
    scores: Sequence[str] | Mapping[str, Any] | None = None,
    progress: bool | None = None,
    random_state: RandomState = None,
) -> Flow:
    """Move particles onto a sample by the gradients that a discriminator gives a generator.

        x_i ← x_i − step · ∇c_f(x_i)

    with f the discriminator retrained at every step to distinguish the particles from `real` (Franceschi et al., "A
    Neural Tangent Kernel Perspective of GANs", 2022; eq. 6.12 of the thesis, with the identity for the generator's
    operator): the Wasserstein flow of the loss that the discriminator gives a generator. With `geometry` particles move
    each other, as they would through the shared weights of a generator (the Stein flow):

        x_i ← x_i − step · 1/n Σ_j k_g(z_i, z_j) ∇c_f(x_j)

    `step` is that of a particle: the speed of the flow does not depend on the number of particles or devices. The
    thesis's η acts on a mean over N particles, so that it is N times as large: η = 1000 with N = 500 is `step=2`.

    Under an IPM with kernel k and time τ this descends τ · MMD² (proposition 4). With an `RBF` of width w, MMD² falls
    at every step as long as

        step · τ < 2 w² / (1 + 2 e^(−3/2)) ≈ 1.38 w²

    since its second derivative along any move v is at most 2/n (P + N) Σ|v_i|², where P = 2 e^(−3/2) / w² and N = 1 /
    w² are the largest curvatures of k upwards and downwards. (With a geometry, times the largest eigenvalue of k_g(z_i,
    z_j)/n on the left.) Any smooth kernel has such a bound. Kernels of ReLU networks have none: they have a cusp at x =
    y, so that particles that have arrived keep moving by a fraction of the step. The remaining error falls with the
    square of the step: use a `schedule` whose last steps are smaller.

    For points, and for short series too, under an elastic kernel that has gradients or one of an encoder
    (`GlobalAlignment()`, `EncoderKernel(module, RBF())`): the resulting series show which features the kernel sees;
    other features stay as they were.

    Parameters
    ----------
    start, real : array (item, feature) or (item, time, channel), torch tensor, or Sequences
        At least two items each; `start` is not changed. Series are of one length within each sample.
    discriminator : discriminator or Kernel
        Such as `IPM(NTK())` or `LSGAN(RBF())`; a kernel alone becomes an IPM. Open options of its kernel (`width=None`)
        are resolved once, by start and real together.
    steps, step
        Number and size of the steps.
    schedule : Schedule, function or factors, optional
        Factors of `step`: a schedule such as `timelike.train.LinearDecay()`, a function of the steps done,
        or factors for equal parts of the flow: (1, 1, 1, 0.1) makes the steps of the last quarter ten times smaller.
    geometry : Kernel or array (item, item), optional
        k_g, the generator's tangent kernel, positive semidefinite, of the particles' `codes`, or its matrix.
    codes : array (item, feature), optional
        z, the inputs of the generator; by default the start itself.
    batch_size : int, optional
        Number of items of `real` for the discriminator, sampled at every step; by default all.
    record_every : int, optional
        Steps between two records of frames and scores; by default there are about 50 records.
    scores : words or dict of functions, optional
        "sinkhorn" (blur 0.001, scaling 0.95), "mmd" (squared; by the discriminator's kernel, or `RBF`), or functions of
        (particles, real) by name. By default both, for series "mmd" alone.
    progress : bool or None
        True shows a bar. None prints the estimated duration to the standard error if it exceeds ten seconds, and shows
        the bar on a terminal if it exceeds two.
    random_state
        Seed of the sampled batches. A finite discriminator has a `random_state` of its own.

    Returns
    -------
    Flow
        `particles`, `history`, `frames`, `plot()`, `animate(path)`. Ctrl-C, pressed once, returns the flow so far.

    Raises
    ------
    FlowDiverged
        Particles moved a thousand times farther than the extent of start and target, or to where the discriminator
        cannot be trained or has no finite gradient. It is an error rather than a warning, because such particles are
        meaningless; its `flow` is the flow before that.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import RBF, descend
    >>> rng = np.random.default_rng(0)
    >>> start, real = rng.standard_normal((40, 2)), rng.standard_normal((60, 2)) + [3.0, 0.0]
    >>> flow = descend(start, real, RBF(width=2.0), steps=100, step=4.0, scores=("mmd",))
    >>> flow.history["mmd"][[0, -1]].round(3), bool(np.all(np.diff(flow.history["mmd"]) < 0))
    (array([0.675, 0.001]), True)
    >>> flow.particles.mean(axis=0).round(), real.mean(axis=0).round()
    (array([3., 0.]), array([3., 0.]))
    """
    steps, step = check_int(steps, "steps", 1), check_float(step, "step", above=0.0)
    discriminator = as_discriminator(discriminator)
    samples = validate_flow_samples(start, real, discriminator_kernel(discriminator))
    discriminator, kernel = resolve_discriminator(discriminator, samples)
    flow = _FlowRun(
        samples,
        discriminator,
        step * step_factors(schedule, steps),
        coupling(geometry, codes, samples.start),
        _check_batch_size(batch_size, samples),
        check_random_state(random_state),
    )
    score_functions = resolve_scores(scores, samples, kernel)
    return flow.run(score_functions, _frame_interval(record_every, steps, samples), check_progress(progress))


@dataclass(frozen=True, eq=False, repr=False)
class Flow(FlowRecord):
    """The result of `descend`: the final particles, frames along the way, and the history."""

    particles: Any
    """In the type of the start: an array or a tensor of its shape, or `Sequences`."""
    discriminator: Any
    """With its open options resolved."""
    stop_reason: str
    """Why it ended: "steps", "Ctrl-C" or "diverged"."""

    def __repr__(self) -> str:
        parts = [format_count(self.frames.shape[1], "particle"), f"{self.discriminator!r:.80}", *self._summary_parts()]
        if self.stop_reason != "steps":
            parts.append(f"stopped: {self.stop_reason}")
        return f"Flow({', '.join(parts)})"


class FlowDiverged(ArithmeticError):
    """Particles diverged, or a gradient was not finite; `step` is the step, `flow` the flow before it."""

    def __init__(self, message: str, step: int, flow: Flow) -> None:
        super().__init__(message)
        self.step, self.flow = step, flow


class FlowHistory(History):
    """Numbers along a flow, each with the number of steps before it: `history["mmd"]`, `history.steps("mmd")`.

    At every step `step`, its size, `move`, the largest distance that a particle moved, and `seconds` since the start;
    every few steps `cost`, the mean of c_f over the particles, and the scores.
    """

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return len(self.tracks["move"].steps) if "move" in self.tracks else 0

    @property
    def score_names(self) -> list[str]:
        """The names of the scores."""
        return [name for name in self.tracks if name not in RESERVED_NAMES]

    def plot(self) -> Figure:
        """The scores, the mean cost and the largest move over the steps."""
        names = [*self.score_names, "cost", "move"]
        return drawing.plot_measures({name: (self.steps(name), self[name]) for name in names if name in self})

    def __repr__(self) -> str:
        parts = [format_count(self.n_steps, "step")]
        parts += [f"{name} {self[name][0]:.3g} → {self[name][-1]:.3g}" for name in self.score_names]
        return f"FlowHistory({', '.join(parts)})"


# --- the run ----------------------------------------------------------------------------------------------------------


def _check_batch_size(batch_size: Any, samples: FlowSamples) -> int | None:
    if batch_size is None:
        return None
    if check_int(batch_size, "batch_size", 2) > len(samples.real):
        raise ValueError(f"batch_size={batch_size}: expected at most {len(samples.real)}, the items of real")
    return None if batch_size == len(samples.real) else int(batch_size)


def _frame_interval(record_every: Any, steps: int, samples: FlowSamples) -> int:
    if record_every is not None:
        return check_int(record_every, "record_every", 1)
    looks = min(_N_FRAMES, max(10, _MAX_FRAME_NUMBERS // samples.start.size))
    return -(-steps // looks)


class _FlowRun:
    """A running flow."""

    def __init__(
        self,
        samples: FlowSamples,
        discriminator: Any,
        sizes: Floats,
        coupling: Floats | None,
        batch_size: int | None,
        rng: np.random.Generator,
    ) -> None:
        self.samples, self.discriminator, self.sizes, self.coupling = samples, discriminator, sizes, coupling
        self.batch_size, self.rng = batch_size, rng
        self.x, self.done, self.history = samples.start.copy(), 0, FlowHistory()
        self.kernel = discriminator_kernel(discriminator)
        self.problem: CriticProblem | None = None  # of the last critic, if the discriminator is one of the library
        self.frames: list[NDArray[np.float32]] = []
        self.frame_steps: list[int] = []
        places = np.concatenate([side.reshape(-1, side.shape[-1]) for side in (samples.start, samples.real)])
        self.center = places.min(axis=0) / 2 + places.max(axis=0) / 2
        self.extent = float(np.abs(places - self.center).max()) or 1.0

    def run(self, scores: dict[str, Score], every: int, progress: bool | None) -> Flow:
        """Run all steps, or those until Ctrl-C."""
        start_time, stop_reason = time.monotonic(), "steps"
        with handle_interrupts() as ctrl_c, _FlowProgress(len(self.sizes), progress) as progress_display:
            try:
                while self.done < len(self.sizes) and not ctrl_c.request_event.is_set():
                    self._step(ctrl_c, scores, every)
                    self.history.record("seconds", self.done, time.monotonic() - start_time)
                    progress_display.step(self.done)
            except StepAborted:
                pass
            if self.done < len(self.sizes):
                stop_reason = "Ctrl-C"
            if self.done == 0:  # there is nothing to return
                raise KeyboardInterrupt
        if self.frame_steps[-1] != self.done:
            self._record_frame(self._train_critic(), scores)
        if stop_reason == "Ctrl-C":
            warnings.warn(
                f"stopped by Ctrl-C after step {self.done} of {len(self.sizes)}: the particles so far are kept; press "
                "it twice to stop what called this too",
                stacklevel=find_stack_level(),
            )
        return self._make_flow(stop_reason)

    def _step(self, ctrl_c: InterruptHandler, scores: dict[str, Score], every: int) -> None:
        with ctrl_c.allow_abort(lambda: True):  # interruptible: particles are replaced only below, at once
            critic = self._train_critic()
            if self.done % every == 0 and self.done not in self.frame_steps:
                self._record_frame(critic, scores)
            with self._divergence_context():
                gradient = self._cost_gradient(critic)
            positions = self._next_positions(gradient)
        farthest = np.sqrt(np.square(positions - self.x).reshape(len(positions), -1).sum(1).max())
        self.x, self.done = positions, self.done + 1
        self.history.record_all(self.done, {"step": self.sizes[self.done - 1], "move": float(farthest)})

    def _train_critic(self) -> Any:
        """The discriminator trained against the current particles."""
        real = self.samples.real
        if self.batch_size is not None:
            real = real[self.rng.choice(len(real), self.batch_size, replace=False)]
        with self._divergence_context():
            if not takes_validated(self.discriminator):
                return self.discriminator.train_critic(self.x, real)
            # particles stay finite and of one shape (`_next_positions`), so that they are validated once
            self.problem = self.samples.make_problem(self.x, real, self.kernel)
            return self.discriminator._train_validated(self.problem)

    def _cost_gradient(self, critic: Any) -> Floats:
        """∇c_f at the particles the critic was trained on."""
        if self.problem is None:
            return np.asarray(critic.gradient(self.x), np.float64)
        return np.asarray(critic._validated_gradient(self.problem.fake)).reshape(self.x.shape)

    def _mean_cost(self, critic: Any) -> float:
        """The mean of c_f over the particles the critic was trained on."""
        if self.problem is None:
            return float(np.mean(np.asarray(critic.cost(self.x))))
        return float(np.mean(critic._validated_cost(self.x, self.samples.to_sample(self.x))))

    @contextmanager
    def _divergence_context(self) -> Iterator[None]:
        """Turn errors of the discriminator after the first step into divergence of the flow."""
        try:
            yield
        except ValueError as error:
            if self.done == 0:
                raise
            raise self._divergence_error(self.done, str(error)) from error

    def _next_positions(self, gradient: Floats) -> Floats:
        """The positions after the next step; an error if they diverge."""
        with np.errstate(over="ignore", invalid="ignore"):
            direction = gradient.reshape(len(gradient), -1)
            direction = direction if self.coupling is None else self.coupling @ direction
            positions = self.x - self.sizes[self.done] * direction.reshape(self.x.shape)
            distance = float(np.abs(positions - self.center).max())
        if not distance <= _DIVERGENCE_FACTOR * self.extent:  # also where it is not a number
            too_far = f"a particle moved {distance:.3g} away, and the extent of start and real is {self.extent:.3g}"
            not_finite = f"the gradient of {self.discriminator!r:.60} is not finite"
            raise self._divergence_error(self.done + 1, too_far if np.isfinite(gradient).all() else not_finite)
        return np.asarray(positions)

    def _divergence_error(self, step: int, why: str) -> FlowDiverged:
        size = self.sizes[step - 1]
        return FlowDiverged(
            f"the flow diverged at step {step} of {len(self.sizes)}: {why}; lower step={size:g}, or the training time "
            "of the discriminator; the flow before that is the attribute `flow` of this error",
            step,
            self._make_flow("diverged"),
        )

    def _record_frame(self, critic: Any, scores: dict[str, Score]) -> None:
        numbers = {name: score(self.x) for name, score in scores.items()}
        with self._divergence_context():
            numbers["cost"] = self._mean_cost(critic)
        self.history.record_all(self.done, numbers)
        self.frames.append(self.samples.to_plot_shape(self.x).astype(np.float32))
        self.frame_steps.append(self.done)

    def _make_flow(self, stop_reason: str) -> Flow:
        self.history.stop_reason = stop_reason
        frames, steps = np.stack(self.frames), np.array(self.frame_steps, np.int64)
        return Flow(
            history=self.history,
            frames=frames,
            frame_steps=steps,
            real=self.samples.to_plot_shape(self.samples.real),
            score_names=tuple(self.history.score_names),
            particles=self.samples.to_input_type(self.x),
            discriminator=self.discriminator,
            stop_reason=stop_reason,
        )


class _FlowProgress:
    """A progress bar, or the estimated duration of a long flow."""

    def __init__(self, steps: int, progress: bool | None) -> None:
        self.steps, self.began, self.is_announced = steps, time.monotonic(), progress is not None
        self.bar = ProgressMeter(steps, progress, name="descend", unit="step")

    def __enter__(self) -> _FlowProgress:
        self.bar.__enter__()
        return self

    def step(self, done: int) -> None:
        if not self.is_announced and (taken := time.monotonic() - self.began) > _PACE_SECONDS:
            self.is_announced = True
            seconds = taken / done * self.steps
            if seconds > _MIN_ANNOUNCED_SECONDS:
                print_line(f"descend: {self.steps} steps, about {format_duration(seconds)}{progress_hint()}")
        self.bar.update()

    def __exit__(self, *_: object) -> None:
        self.bar.__exit__()


# --- step sizes -------------------------------------------------------------------------------------------------------


def step_factors(schedule: Any, steps: int) -> Floats:
    """The factor of every step, (step,).

    >>> step_factors((1, 0.1), 4), step_factors(lambda done: 0.5**done, 3)
    (array([1. , 1. , 0.1, 0.1]), array([1.  , 0.5 , 0.25]))
    """
    factors = [_check_factor(factor, done) for done, factor in enumerate(_schedule_factors(schedule, steps))]
    if not any(factors):
        raise ValueError("schedule is 0 at every step: expected factors, of which some are greater than 0")
    return np.array(factors)


def _schedule_factors(schedule: Any, steps: int) -> list[Any]:
    if schedule is None:
        return [1.0] * steps
    if isinstance(schedule, Plateau):
        raise ValueError("schedule=Plateau() waits for a loss to stop falling, and a flow has none: use LinearDecay()")
    if isinstance(schedule, Schedule):
        schedule.check(steps)
        return [schedule.factor(done, steps, History()) for done in range(steps)]
    if isinstance(schedule, Callable):  # type: ignore[arg-type]
        return [schedule(done) for done in range(steps)]
    parts = np.asarray(schedule).tolist() if isinstance(schedule, Sequence | np.ndarray) else None
    if isinstance(schedule, str) or not parts or not isinstance(parts, list) or len(parts) > steps:
        raise TypeError(
            f"schedule={schedule!r:.60}: expected a schedule such as timelike.train.LinearDecay(), a function of the "
            f"steps done, or at most steps={steps} factors, each for an equal part of the flow, such as (1, 1, 1, 0.1)"
        )
    return [parts[done * len(parts) // steps] for done in range(steps)]


def _check_factor(factor: Any, done: int) -> float:
    return check_float(factor, f"the factor of the schedule after {done} steps", 0.0)


def coupling(geometry: Any, codes: Any, start: Floats) -> Floats | None:
    """k_g(z_i, z_j) / n of all particles, (item, item): how a gradient at one moves the others."""
    if geometry is None:
        if codes is not None:
            raise ValueError("codes have no effect without a geometry: give geometry=NTK(), or another kernel of them")
        return None
    n = len(start)
    if isinstance(geometry, Kernel) or callable(geometry):
        kernel: Any = as_kernel(geometry, "geometry")
        places = (
            start.reshape(n, -1) if codes is None and kernel.domain == "vectors" else start if codes is None else codes
        )
        if len(places) != n:
            raise ValueError(f"codes has {len(places)} items: expected one for each particle, {n}")
        matrix = np.asarray(kernel(places), np.float64)
    elif codes is not None:
        raise ValueError("codes do not apply to a geometry that is a matrix: give one of the two")
    else:
        matrix = _validate_geometry(geometry, n)
    return np.ascontiguousarray(matrix / n)


def _validate_geometry(geometry: Any, n: int) -> Floats:
    try:
        if np.iscomplexobj(geometry):
            raise TypeError("complex numbers")
        matrix = np.asarray(geometry, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"geometry={geometry!r:.60}: expected a kernel such as NTK(), a real matrix (item, item), or None"
        ) from None
    if matrix.shape != (n, n):
        raise ValueError(
            f"geometry has shape {matrix.shape}: expected ({n}, {n}), a row and a column for each particle"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("geometry has nan or infinity in it: expected finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * max(1e-300, np.abs(matrix).max())):
        raise ValueError("geometry is not symmetric: expected k(z_i, z_j) = k(z_j, z_i); use (K + K.T) / 2")
    return matrix
