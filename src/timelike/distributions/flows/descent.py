"""Particles that descend what a discriminator makes of them: x ← x − step · ∇c_f(x)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import bars
from ...sequences.arguments import RandomState, generator, real as number, whole
from ...sequences.callers import outside
from ...train.ctrl_c import CtrlC, GivenUp, listening
from ..discriminators.base import as_discriminator
from .pace import coupling, factors
from .reading import Cloud, kernel_of, read_cloud, settled
from .record import Flow, FlowDiverged, FlowHistory
from .scoring import Score, read_scores

Floats = NDArray[np.float64]
_LOOKS = 50  # at the particles on their way, unless asked otherwise
_KEPT = 1 << 24  # numbers of all frames together, 64 MiB, beyond which there are fewer
_FAR = 1000.0  # times the reach of start and target: nothing comes back from there
_PACE, _WORTH = 1.0, 10.0  # seconds after which it is known how long it takes, and from which on that is said


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
    batch: int | None = None,
    every: int | None = None,
    scores: Sequence[str] | Mapping[str, Any] | None = None,
    progress: bool | None = None,
    random_state: RandomState = None,
) -> Flow:
    """Move particles onto a sample by the gradients that a discriminator gives a generator.

        x_i ← x_i − step · ∇c_f(x_i)

    with f the discriminator trained anew, at every step, to tell the particles from `real` (Franceschi et al., "A
    Neural Tangent Kernel Perspective of GANs", 2022; eq. 6.12 of the thesis, with the identity for the generator's
    operator): the Wasserstein flow of what the discriminator makes a generator minimise. With `geometry` particles move
    each other, as the weights that they share in a generator make them (the Stein flow):

        x_i ← x_i − step · 1/n Σ_j k_g(z_i, z_j) ∇c_f(x_j)

    `step` is that of a particle: with twice as many particles, or another number of devices, the flow is as fast. The
    thesis's η acts on a mean over N particles, so that it is N times as large: η = 1000 with N = 500 is `step=2`.

    Under an IPM with kernel k and time τ this descends τ · MMD² (proposition 4). With an `RBF` of width w, MMD² falls
    at every step as long as

        step · τ < 2 w² / (1 + 2 e^(−3/2)) ≈ 1.38 w²

    since its second derivative along any move v is at most 2/n (P + N) Σ|v_i|², where P = 2 e^(−3/2) / w² and
    N = 1 / w² are the largest curvatures of k upwards and downwards. (With a geometry, times the largest eigenvalue of
    k_g(z_i, z_j)/n on the left.) Any smooth kernel has such a bound. ReLU networks' have none: their kernel has a cusp
    at x = y, so that particles that have arrived keep jumping about by a part of the step. They end on a floor that
    falls with the square of the step: use a `schedule` whose last steps are smaller.

    For points, and for short series too, under an elastic kernel that has gradients or one of an encoder
    (`GlobalAlignment()`, `of(module, RBF())`): the series that come out show what the kernel sees, and what it does not
    see stays as it was.

    Parameters
    ----------
    start, real : array (item, feature) or (item, time, channel), torch tensor, or Sequences
        At least two items each; `start` is not changed. Series are of one length within each sample.
    discriminator : discriminator or Kernel
        Such as `IPM(NTK())` or `LSGAN(RBF())`; a kernel alone is taken for an IPM. What its kernel leaves open
        (`width=None`) is decided once, by start and real together.
    steps, step
        How many, and how large.
    schedule : Schedule, function or factors, optional
        What `step` is multiplied by: a schedule such as `timelike.train.Linear()`, a function of the steps done, or
        factors of equal parts of the flow: with (1, 1, 1, 0.1) the last quarter has a tenth of the step.
    geometry : Kernel or array (item, item), optional
        k_g, the generator's tangent kernel, positive semidefinite, of the particles' `codes`, or its matrix.
    codes : array (item, feature), optional
        z, what a generator would make the particles from; the start itself unless given.
    batch : int, optional
        So many of `real`, drawn anew at every step, are what the discriminator sees; all unless given.
    every : int, optional
        Steps between two looks, at which frames are kept and scores taken; unless given there are about 50.
    scores : words or dict of functions, optional
        "sinkhorn" (blur 0.001, scaling 0.95), "mmd" (squared; by the discriminator's kernel, or `RBF`), or functions of
        (particles, real) by name. Both unless given, and of series "mmd".
    progress : bool or None
        True draws a bar. None says once, on the standard error, how long it will take if that is more than ten seconds,
        and draws the bar on a terminal, where it takes over two.
    random_state
        Repeats the batches that are drawn. A finite discriminator has a `random_state` of its own.

    Returns
    -------
    Flow
        `particles`, `history`, `frames`, `plot()`, `film(path)`. Ctrl-C, pressed once, gives what was reached.

    Raises
    ------
    FlowDiverged
        Particles went a thousand times farther than start and target reach, or to where the discriminator cannot be
        trained or has no finite gradient. It is an error, as such particles mean nothing and a warning is overlooked;
        its `flow` has what was reached before.

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
    steps, step = whole(steps, "steps", 1), number(step, "step", above=0.0)
    given = as_discriminator(discriminator)
    kernel = kernel_of(given)
    cloud = read_cloud(start, real, None if kernel is None else kernel.over)
    against, kernel = settled(given, cloud)
    flow = _Descent(
        cloud,
        against,
        step * factors(schedule, steps),
        coupling(geometry, codes, cloud.start),
        _batch(batch, cloud),
        generator(random_state),
    )
    judged = read_scores(scores, cloud, kernel)
    return flow.go(judged, _looks(every, steps, cloud), bars.checked(progress))


def _batch(batch: Any, cloud: Cloud) -> int | None:
    if batch is None:
        return None
    if whole(batch, "batch", 2) > len(cloud.real):
        raise ValueError(f"batch={batch}: expected at most {len(cloud.real)}, the items of real")
    return None if batch == len(cloud.real) else int(batch)


def _looks(every: Any, steps: int, cloud: Cloud) -> int:
    if every is not None:
        return whole(every, "every", 1)
    looks = min(_LOOKS, max(10, _KEPT // cloud.start.size))
    return -(-steps // looks)


class _Descent:
    """A flow under way."""

    def __init__(
        self,
        cloud: Cloud,
        discriminator: Any,
        sizes: Floats,
        coupled: Floats | None,
        batch: int | None,
        rng: np.random.Generator,
    ) -> None:
        self.cloud, self.discriminator, self.sizes, self.coupled = cloud, discriminator, sizes, coupled
        self.batch, self.rng = batch, rng
        self.x, self.done, self.history = cloud.start.copy(), 0, FlowHistory()
        self.frames: list[NDArray[np.float32]] = []
        self.frame_steps: list[int] = []
        places = np.concatenate([side.reshape(-1, side.shape[-1]) for side in (cloud.start, cloud.real)])
        self.middle = places.min(axis=0) / 2 + places.max(axis=0) / 2
        self.reach = float(np.abs(places - self.middle).max()) or 1.0

    def go(self, scores: dict[str, Score], every: int, progress: bool | None) -> Flow:
        """All steps, or as many as Ctrl-C leaves."""
        began, stopped = time.monotonic(), "steps"
        with listening() as ctrl_c, _Shown(len(self.sizes), progress) as shown:
            try:
                while self.done < len(self.sizes) and not ctrl_c.asked.is_set():
                    self._step(ctrl_c, scores, every)
                    self.history.note("seconds", self.done, time.monotonic() - began)
                    shown.stepped(self.done)
            except GivenUp:
                pass
            if self.done < len(self.sizes):
                stopped = "Ctrl-C"
            if self.done == 0:  # nothing was reached that could be kept
                raise KeyboardInterrupt
        if self.frame_steps[-1] != self.done:
            self._look(self._critic(), scores)
        if stopped == "Ctrl-C":
            warnings.warn(
                f"stopped by Ctrl-C after step {self.done} of {len(self.sizes)}: the particles so far are kept; press "
                "it twice to stop what called this too",
                stacklevel=outside(),
            )
        return self._record(stopped)

    def _step(self, ctrl_c: CtrlC, scores: dict[str, Score], every: int) -> None:
        with ctrl_c.giving_up(lambda: True):  # particles are replaced below, at once
            critic = self._critic()
            if self.done % every == 0 and self.done not in self.frame_steps:
                self._look(critic, scores)
            with self._on_the_way():
                gradient = np.asarray(critic.gradient(self.x), np.float64)
            moved = self._moved(gradient)
        farthest = np.sqrt(np.square(moved - self.x).reshape(len(moved), -1).sum(1).max())
        self.x, self.done = moved, self.done + 1
        self.history.note_all(self.done, {"step": self.sizes[self.done - 1], "move": float(farthest)})

    def _critic(self) -> Any:
        """The discriminator trained against the particles as they are."""
        real = self.cloud.real
        if self.batch is not None:
            real = real[self.rng.choice(len(real), self.batch, replace=False)]
        with self._on_the_way():
            return self.discriminator.against(self.x, real)

    @contextmanager
    def _on_the_way(self) -> Iterator[None]:
        """What a discriminator refuses later than at the start, the steps have led to."""
        try:
            yield
        except ValueError as error:
            if self.done == 0:
                raise
            raise self._diverged(self.done, str(error)) from error

    def _moved(self, gradient: Floats) -> Floats:
        """Where the next step leads, if that is anywhere."""
        with np.errstate(over="ignore", invalid="ignore"):
            way = gradient.reshape(len(gradient), -1)
            way = way if self.coupled is None else self.coupled @ way
            moved = self.x - self.sizes[self.done] * way.reshape(self.x.shape)
            away = float(np.abs(moved - self.middle).max())
        if not away <= _FAR * self.reach:  # also where it is not a number
            far = f"a particle went {away:.3g} away, and start and real reach {self.reach:.3g}"
            torn = f"the gradient of {self.discriminator!r:.60} is not finite"
            raise self._diverged(self.done + 1, far if np.isfinite(gradient).all() else torn)
        return np.asarray(moved)

    def _diverged(self, step: int, why: str) -> FlowDiverged:
        size = self.sizes[step - 1]
        return FlowDiverged(
            f"the flow diverged at step {step} of {len(self.sizes)}: {why}; lower step={size:g}, or the training time "
            "of the discriminator; what was reached before is in the error's flow",
            step,
            self._record("diverged"),
        )

    def _look(self, critic: Any, scores: dict[str, Score]) -> None:
        noted = {name: score(self.x) for name, score in scores.items()}
        with self._on_the_way():
            noted["cost"] = float(np.mean(np.asarray(critic.cost(self.x))))
        self.history.note_all(self.done, noted)
        self.frames.append(self.cloud.shown(self.x).astype(np.float32))
        self.frame_steps.append(self.done)

    def _record(self, stopped: str) -> Flow:
        self.history.stopped = stopped
        frames, steps = np.stack(self.frames), np.array(self.frame_steps, np.int64)
        return Flow(
            history=self.history,
            frames=frames,
            frame_steps=steps,
            real=self.cloud.shown(self.cloud.real),
            scored=tuple(self.history.scored),
            particles=self.cloud.back(self.x),
            discriminator=self.discriminator,
            stopped=stopped,
        )


class _Shown:
    """A bar, or a word on how long it will take where that is worth knowing."""

    def __init__(self, steps: int, progress: bool | None) -> None:
        self.steps, self.began, self.said = steps, time.monotonic(), progress is not None
        self.bar = bars.Bar(steps, progress, name="descend", unit="step")

    def __enter__(self) -> _Shown:
        self.bar.__enter__()
        return self

    def stepped(self, done: int) -> None:
        if not self.said and (taken := time.monotonic() - self.began) > _PACE:
            self.said = True
            seconds = taken / done * self.steps
            if seconds > _WORTH:
                bars.say(f"descend: {self.steps} steps, about {bars.long(seconds)}{bars.hint()}")
        self.bar.step()

    def __exit__(self, *_: object) -> None:
        self.bar.__exit__()
