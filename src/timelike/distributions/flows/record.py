"""`Flow`: where particles went, what was measured on the way, and how that looks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count
from ...plotting import html, particles as drawing
from ...train.history import History
from .scores import RESERVED_NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FlowHistory(History):
    """Numbers along a flow, each with the steps done when it was noted: `history["mmd"]`, `history.steps("mmd")`.

    At every step `step`, the size that it had, `move`, the farthest that a particle went, and `seconds` since the
    start; every few steps `cost`, the mean of c_f over the particles, and the scores.
    """

    @property
    def n_steps(self) -> int:
        """Steps made."""
        return len(self.tracks["move"].steps) if "move" in self.tracks else 0

    @property
    def score_names(self) -> list[str]:
        """The names of the scores."""
        return [name for name in self.tracks if name not in RESERVED_NAMES]

    def plot(self) -> Figure:
        """The scores, the mean cost and the largest move over the steps."""
        shown = [*self.score_names, "cost", "move"]
        return drawing.plot_measures({name: (self.steps(name), self[name]) for name in shown if name in self})

    def __repr__(self) -> str:
        said = [format_count(self.n_steps, "step")]
        said += [f"{name} {self[name][0]:.3g} → {self[name][-1]:.3g}" for name in self.score_names]
        return f"FlowHistory({', '.join(said)})"


@dataclass(frozen=True, eq=False, repr=False)
class FlowRecord:
    """Items on their way to a target, recorded every few steps."""

    history: History
    frames: NDArray[np.float32]
    """The items every few steps, the first and the last among them, (moment, item, …)."""
    frame_steps: NDArray[np.int64]
    """How many steps were done at each of them."""
    real: NDArray[np.float64]
    """What they were moved onto, (item, …)."""
    score_names: tuple[str, ...]
    """The names of the scores in the history."""

    @property
    def n_steps(self) -> int:
        """Steps made."""
        return self.history.n_steps

    def plot(self) -> Figure:
        """The items at four moments beside the target, and the scores over the steps.

        Vectors of more than two numbers are shown along the two directions in which the target varies most.
        """
        some = np.unique(np.linspace(0, len(self.frames) - 1, 4).round().astype(int))
        moments = {_moment_title(self.frame_steps[i]): self.frames[i] for i in some}
        curves = {name: (self.history.steps(name), self.history[name]) for name in self.score_names}
        return drawing.plot_particles(moments, self.real, curves)

    def animate(self, path: str | Path, *, rate: float = 8) -> Path:
        """The items on their way as a moving picture, .gif or .mp4, `rate` frames a second."""
        return drawing.animate_particles(
            self.frames, [_moment_title(step) for step in self.frame_steps], self.real, path, rate=rate
        )

    def _repr_html_(self) -> str:
        return html.figure_html(self.plot(), repr(self))

    def _summary_parts(self) -> list[str]:
        """Steps, scores and seconds, in words."""
        tracks = {name: self.history[name] for name in self.score_names}
        scores = [f"{name} {values[0]:.3g} → {values[-1]:.3g}" for name, values in tracks.items()]
        return [format_count(self.n_steps, "step"), *scores, f"{self.history.seconds:.3g} s"]


@dataclass(frozen=True, eq=False, repr=False)
class Flow(FlowRecord):
    """What `descend` found: the particles at the end, those on the way, and numbers along it."""

    particles: Any
    """As the start came: an array or a tensor of its shape, or `Sequences`."""
    discriminator: Any
    """With all that it left open decided."""
    stop_reason: str
    """Why it ended: "steps", "Ctrl-C" or "diverged"."""

    def __repr__(self) -> str:
        said = [format_count(self.frames.shape[1], "particle"), f"{self.discriminator!r:.80}", *self._summary_parts()]
        return f"Flow({', '.join(said if self.stop_reason == 'steps' else [*said, f'stopped: {self.stop_reason}'])})"


class FlowDiverged(ArithmeticError):
    """Particles left every bound, or a gradient was no number; `step` says when, `flow` has what was reached before."""

    def __init__(self, message: str, step: int, flow: Flow) -> None:
        super().__init__(message)
        self.step, self.flow = step, flow


def _moment_title(step: int) -> str:
    return "start" if step == 0 else f"after {format_count(int(step), 'step')}"
