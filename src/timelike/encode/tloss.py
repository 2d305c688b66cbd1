"""TLossEncoder, the base of encoders that learn from crops of series: which loss, how long, and within which memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ..models import options
from ..sequences import Sequences
from .contrasts import Contrast, Cropping, Decorrelated, Softmax
from .crops import Change, Crops, Triplets, cut, draw, encoded, groups, pads
from .memory import available, kept
from .unlabelled import Schedules as Schedules, UnlabelledEncoder  # noqa: PLC0414 - others take it from here

__all__ = ["Contrast", "Crops", "TLossEncoder", "Triplets", "cut", "draw", "encoded", "groups", "pads"]

Losses = Literal["decorrelated", "softmax", "logistic"]

_ROOM = 2 << 30  # bytes of activations of all crops at once, at most; or half of what is free, if that is less
_PASSES, _USUAL, _LEAST = 8, (200, 1000), 100  # through the data; steps between these, and in any case
_WORK = 1e7  # time steps of crops that a training goes through: about a minute of a core

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


class TLossEncoder(UnlabelledEncoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    loss = options.one_of(*get_args(Losses), role="training")
    temperature = options.real(above=0, role="training")
    min_crop = options.real(0, 1, role="training")
    augment = options.flag("training")
    n_negatives = options.whole(1, "training", most=2**20)
    shared_negatives = options.flag("training")
    by_terms = options.maybe(options.flag("free"))

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"thesis": THESIS})

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

    def _usual_steps(self, learned: Sequences) -> int:
        """As many as the paper says; else some passes through the data, fewer where a step takes long."""
        if self.loss == "logistic":
            return 2000 if self.n_negatives >= 10 else 1500
        passes = _PASSES * max(1, len(learned) // self.batch_size)
        affordable = _WORK / (1.5 * self.batch_size * float(learned.lengths.mean()))
        return int(max(_LEAST, min(np.clip(passes, *_USUAL), affordable)))
