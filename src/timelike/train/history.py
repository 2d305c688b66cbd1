"""`History`: the losses, scores and learning rates of a training, each with its step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_count
from ..models import schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

LOOP_TRACKS = ("loss", "epoch_loss", "score", "rate", "gradient_norm", "seconds")  # tracks that the loop records itself


@dataclass
class Track:
    """Numbers and the steps (counted from 1) at which they were recorded."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class History:
    """The record of a training: numbers by name, each with the step it belongs to.

    `history["loss"]` returns the numbers and `history.steps("loss")` the steps. Every step records `loss`, `rate` (the
    learning rate), `gradient_norm`, `seconds` since the start and the numbers of the objective; every epoch records
    `epoch_loss`, and every validation `score`. `stop_reason` is the limit or event that ended the training.

    >>> history = History()
    >>> history.record("loss", 1, 0.5)
    >>> history.record("loss", 2, 0.25)
    >>> history["loss"], history.steps("loss")
    (array([0.5 , 0.25]), array([1, 2]))
    """

    higher_is_better: bool = True
    stop_reason: str | None = None
    tracks: dict[str, Track] = field(default_factory=dict)

    def record(self, name: str, step: int, value: float) -> None:
        """Add one number."""
        track = self.tracks.setdefault(name, Track())
        track.steps.append(step)
        track.values.append(float(value))

    def record_all(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add several numbers of one step."""
        for name, value in numbers.items():
            self.record(name, step, value)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return np.array(self.tracks[name].values if name in self.tracks else [], np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tracks)

    def __contains__(self, name: object) -> bool:
        return name in self.tracks

    def steps(self, name: str) -> NDArray[np.int64]:
        """The steps at which `name` was recorded."""
        return np.array(self.tracks[name].steps if name in self.tracks else [], np.int64)

    def last(self, name: str) -> float:
        """The last number of this name; NaN if there is none."""
        return self.tracks[name].values[-1] if name in self.tracks else float("nan")

    def recent(self, name: str, n: int) -> list[float]:
        """The last n numbers of this name, or all if there are fewer."""
        return self.tracks[name].values[-n:] if name in self.tracks else []

    @property
    def names(self) -> list[str]:
        """The names of all tracks."""
        return list(self.tracks)

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of every step."""
        return self["loss"]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of every validation."""
        return self["score"]

    @property
    def n_steps(self) -> int:
        """The number of completed steps."""
        return len(self.tracks["loss"].steps) if "loss" in self.tracks else 0

    @property
    def seconds(self) -> float:
        """The duration of the training, without pauses between a checkpoint and its resumption."""
        return 0.0 if "seconds" not in self.tracks else self.last("seconds")

    @property
    def best_score(self) -> float:
        """The best score; NaN if there is none."""
        return float(self.scores[self._best_position()]) if len(self.scores) else float("nan")

    @property
    def best_step(self) -> int | None:
        """The step with the best score."""
        return int(self.steps("score")[self._best_position()]) if len(self.scores) else None

    def validations_since_best(self) -> int:
        """The number of validations since the best score."""
        return len(self.scores) - 1 - self._best_position() if len(self.scores) else 0

    def _best_position(self) -> int:
        return int(self.scores.argmax() if self.higher_is_better else self.scores.argmin())

    def plot(self) -> Figure:
        """Loss, learning rate and score over the steps."""
        from ..plotting import curves

        losses, rates, scores = ((self.steps(name), self[name]) for name in ("loss", "rate", "score"))
        return curves.plot_training(losses, rates, scores if len(self.scores) else None, best=self.best_step)

    def _repr_html_(self) -> str:
        from ..plotting import html

        shown = "Loss (grey: of every step, blue: its running mean)"
        best = ""
        if len(self.scores):
            shown += ", score of held-out data"
            best = f" The best score, {self.best_score:.4g}, was that of step {self.best_step}."
        end = f" The training ended by {self.stop_reason}." if self.stop_reason else ""
        caption = f"{shown} and learning rate over {format_count(self.n_steps, 'step')}.{best}{end}"
        return html.figure_html(self.plot(), caption)

    def __repr__(self) -> str:
        parts = [f"{self.n_steps} steps", f"loss {self.last('loss'):.4g}"]
        if len(self.scores):
            parts.append(f"best score {self.best_score:.4g} at step {self.best_step}")
        if self.stop_reason:
            parts.append(f"stopped by {self.stop_reason}")
        return f"History({', '.join(parts)})"

    def state(self) -> dict[str, Any]:
        """The fields as plain values and arrays, for a saved model."""
        tracks = {
            name: {"steps": np.array(track.steps, np.int64), "values": np.array(track.values, np.float64)}
            for name, track in self.tracks.items()
        }
        return {"higher_is_better": self.higher_is_better, "stop_reason": self.stop_reason, "tracks": tracks}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> History:
        """The inverse of `state`."""
        tracks = {name: Track(one["steps"].tolist(), one["values"].tolist()) for name, one in state["tracks"].items()}
        return cls(state["higher_is_better"], state["stop_reason"], tracks)

    def tensors(self) -> dict[str, Tensor]:
        """All tracks as tensors, for a checkpoint."""
        import torch

        tensors = {}
        for name, track in self.tracks.items():
            tensors[f"{name}.steps"] = torch.tensor(track.steps, dtype=torch.int64)
            tensors[f"{name}.values"] = torch.tensor(track.values, dtype=torch.float64)
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Replace the tracks by those of a checkpoint."""
        names = [name.removesuffix(".steps") for name in tensors if name.endswith(".steps")]
        self.tracks = {
            name: Track(tensors[f"{name}.steps"].tolist(), tensors[f"{name}.values"].tolist()) for name in names
        }


TRACK_SCHEMA = schema.typed_dict(
    steps=schema.array("number", dtype="int64"), values=schema.array("number", finite=False)
)
HISTORY_SCHEMA = schema.record(
    History,
    higher_is_better=schema.boolean(),
    stop_reason=schema.nullable(schema.string()),
    tracks=schema.dict_of(schema.string(), TRACK_SCHEMA),
)
"""How a saved model declares the history of its training."""
