"""TLossEncoder, the base of encoders that learn from crops of series: budgets, memory, and what becomes of vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..align.matrix import threads_of
from ..models import options
from ..sequences import Sequences
from ..train import Cosine, History, Objective, Trained
from .applied import STEPS_AT_ONCE, vectors_of
from .base import Encoder, Stream
from .contrasts import Contrast, Cropping, Decorrelated, Softmax
from .crops import Change, Crops, Triplets, cut, draw, encoded, groups, pads
from .memory import available, kept
from .spread import Spread, SpreadStream, Vectors

__all__ = ["Contrast", "Crops", "TLossEncoder", "Triplets", "cut", "draw", "encoded", "groups", "pads"]

Losses = Literal["decorrelated", "softmax", "logistic"]
Schedules = Literal["cycle", "constant"]

_ROOM = 2 << 30  # bytes of activations of all crops at once, at most; or half of what is free, if that is less
_LOOKS = 20  # at the crops held out
_PASSES, _USUAL, _LEAST = 8, (200, 1000), 100  # through the data; steps between these, and in any case
_WORK = 1e7  # time steps of crops that a training goes through: about a minute of a core
_SPARE = 20  # series from which on some can be spared to judge by

THESIS: Mapping[str, Any] = MappingProxyType(
    {
        "loss": "logistic",
        "n_negatives": 10,
        "batch_size": 10,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "validation": 0.0,
        "geometry": "euclidean",
        "vectors": "plain",
    }
)
"""How the thesis trains (Franceschi, 2022, chapter 3), beside the sizes of the network."""
_LATER = ("loss", "schedule", "validation", "geometry", "vectors")  # options that did not use to be any


class TLossEncoder(Trained, Encoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    loss = options.one_of(*get_args(Losses), role="training")
    temperature = options.real(above=0, role="training")
    min_crop = options.real(0, 1, role="training")
    augment = options.flag("training")
    n_negatives = options.whole(1, "training")
    shared_negatives = options.flag("training")
    n_features = options.whole(1)
    batch_size = options.whole(1, "training")
    learning_rate = options.real(above=0, role="free")
    schedule = options.one_of(*get_args(Schedules), role="free")
    max_steps = options.maybe(options.whole(0, "free"))
    max_time = options.maybe(options.real(above=0, role="free"))
    validation = options.real(0, 0.9, role="training")
    patience = options.maybe(options.whole(1, "free"))
    vectors = options.one_of(*get_args(Vectors))
    by_terms = options.maybe(options.flag("free"))

    spread_: Spread
    _records: ClassVar[tuple[type[Any], ...]] = (Spread,)
    _steps_at_once: ClassVar[int] = STEPS_AT_ONCE
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"thesis": THESIS})
    _before: ClassVar[Mapping[str, Any]] = MappingProxyType({name: THESIS[name] for name in _LATER})

    def _objective(self, ready: Sequences, targets: None) -> Cropping:
        learned, held_out = self._parted(ready)
        given: dict[str, Any] = {
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "held_out": held_out,
            "by_terms": self._needs_terms(learned) if self.by_terms is None else self.by_terms,
        }
        if self.loss == "logistic":
            return Contrast(self.network_, learned, n_negatives=self.n_negatives, shared=self.shared_negatives, **given)
        given |= {"min_crop": self.min_crop, "change": Change() if self.augment else None}
        if self.loss == "softmax":
            return Softmax(self.network_, learned, temperature=self.temperature, **given)
        return Decorrelated(self.network_, learned, **given)

    def _parted(self, ready: Sequences) -> tuple[Sequences, Sequences | None]:
        """What is learned from and what it is judged by: where there are few series, other crops of the same ones."""
        if self.validation == 0:
            return ready, None
        if len(ready) < _SPARE:
            return ready, ready
        order = self._rng().permutation(len(ready))
        count = min(max(1, round(self.validation * len(ready))), len(ready) - 1)
        return ready[np.sort(order[count:])], ready[np.sort(order[:count])]

    def _needs_terms(self, ready: Sequences) -> bool:
        """Whether activations of all crops at once would be too many; kernels bound what they keep by themselves."""
        if self._bounded():
            return False
        negatives = self.n_negatives * (1 if self.shared_negatives else self.batch_size)
        crops = 2 * self.batch_size + (negatives if self.loss == "logistic" else 0)
        need = crops * int(ready.lengths.max()) * kept(self.network_, math.prod(ready.frame))
        return need > min(_ROOM, available() / 2)

    def _bounded(self) -> bool:
        """Whether the kernels will train, and keep no more than they are allowed to."""
        known = getattr(self.network_, "bounded", None)
        return self.accelerator == "cpu" and self.precision == "32-true" and known is not None and bool(known())

    def _limits(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, Cropping)
        steps = self._usual_steps(objective.sequences) if self.max_steps is None else self.max_steps
        found: dict[str, Any] = {"max_steps": steps, "max_time": self.max_time}
        if self.schedule == "cycle":
            found["schedule"] = Cosine(warmup=steps // 10)
        if self.validation > 0:
            every = max(1, steps // _LOOKS)
            found |= {"validate_every": every, "patience": -(-(self.patience or steps) // every)}
        return found

    def _usual_steps(self, learned: Sequences) -> int:
        """As many as the paper says; else some passes through the data, fewer where a step takes long."""
        if self.loss == "logistic":
            return 2000 if self.n_negatives >= 10 else 1500
        passes = _PASSES * max(1, len(learned) // self.batch_size)
        affordable = _WORK / (1.5 * self.batch_size * float(learned.lengths.mean()))
        return int(max(_LEAST, min(np.clip(passes, *_USUAL), affordable)))

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        if self.max_steps == 0:
            self.history_ = History(higher_is_better=False, stopped="max_steps")
            self.network_.eval()
        else:
            super()._train(objective, sequences, targets)
        if self.vectors != "plain":
            self.spread_ = Spread.of(self._plain(sequences, threads_of(None)), self.vectors)

    def _rounds_alike(self, threads: int) -> bool:
        """Whether the network in single precision gives a sequence the same bits in any company."""
        return False

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        vectors = self._plain(sequences, threads)
        return self.spread_.applied(vectors) if hasattr(self, "spread_") else vectors

    def _plain(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        """Vectors as the network gives them."""
        ready = self._ready(sequences, "X")
        alike = self._rounds_alike(threads)
        return vectors_of(self.network_, ready, threads, rounds_alike=alike, most=self._steps_at_once)

    def _streamed(self, stream: Stream) -> Stream:
        """A stream of the network's vectors as one of what `encode` gives."""
        return SpreadStream(stream, self.spread_) if hasattr(self, "spread_") else stream
