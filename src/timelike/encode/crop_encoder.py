"""`CropEncoder`: the base class of encoders trained on crops of series, with their losses, budgets and memory limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ..core.memory import available_memory
from ..models import options
from ..sequences import Sequences
from .objectives.activation_memory import activation_bytes_per_step
from .objectives.crop_objectives import CropObjective, NTXentObjective, TLossObjective, VICRegObjective
from .objectives.crops import (
    CropAugmentation,
)
from .self_supervised import SelfSupervisedEncoder

CropLossName = Literal["vicreg", "nt_xent", "t_loss"]

# bytes of activations of all crops at once, at most; or half of the free memory, if that is less
_MAX_ACTIVATION_BYTES = 2 << 30
_N_PASSES, _STEP_RANGE, _MIN_STEPS = 8, (200, 1000), 100  # through the data; steps between these, and in any case
_MAX_CROP_STEPS = 1e7  # time steps of crops that a training goes through: about a minute of a core

THESIS_PRESET: Mapping[str, Any] = MappingProxyType(
    {
        "loss": "t_loss",
        "n_negatives": 10,
        "batch_size": 10,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "validation": 0.0,
        "geometry": "euclidean",
        "vectors": "raw",
    }
)
"""How the thesis trains (Franceschi, 2022, chapter 3), beside the sizes of the network."""


class CropEncoder(SelfSupervisedEncoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    loss = options.choice(*get_args(CropLossName), role="training")
    temperature = options.real(above=0, role="training")
    min_crop = options.real(0, 1, role="training")
    augment = options.boolean("training")
    n_negatives = options.integer(1, "training", most=2**20)
    shared_negatives = options.boolean("training")
    low_memory = options.nullable(options.boolean("free"))

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"thesis": THESIS_PRESET})

    def _make_objective(self, ready: Sequences, targets: None) -> CropObjective:
        learned, held_out = self._split_validation(ready)
        given: dict[str, Any] = {
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "held_out": held_out,
            "is_low_memory": self._needs_low_memory(learned) if self.low_memory is None else self.low_memory,
        }
        if self.loss == "t_loss":
            return TLossObjective(
                self.network_, learned, n_negatives=self.n_negatives, shares_negatives=self.shared_negatives, **given
            )
        given |= {"min_crop": self.min_crop, "augmentation": CropAugmentation() if self.augment else None}
        if self.loss == "nt_xent":
            return NTXentObjective(self.network_, learned, temperature=self.temperature, **given)
        return VICRegObjective(self.network_, learned, **given)

    def _needs_low_memory(self, ready: Sequences) -> bool:
        """Whether activations of all crops at once would be too many; kernels bound what they keep by themselves."""
        if self._has_bounded_memory():
            return False
        negatives = self.n_negatives * (1 if self.shared_negatives else self.batch_size)
        crops = 2 * self.batch_size + (negatives if self.loss == "t_loss" else 0)
        need = crops * int(ready.lengths.max()) * activation_bytes_per_step(self.network_, math.prod(ready.frame))
        return need > min(_MAX_ACTIVATION_BYTES, available_memory() / 2)

    def _has_bounded_memory(self) -> bool:
        """Whether the kernels will train, and keep no more than they are allowed to."""
        known = getattr(self.network_, "has_bounded_memory", None)
        return self.accelerator == "cpu" and self.precision == "32-true" and known is not None and bool(known())

    def _default_steps(self, learned: Sequences) -> int:
        """As many as the paper says; else some passes through the data, fewer where a step takes long."""
        if self.loss == "t_loss":
            return 2000 if self.n_negatives >= 10 else 1500
        passes = _N_PASSES * max(1, len(learned) // self.batch_size)
        affordable = _MAX_CROP_STEPS / (1.5 * self.batch_size * float(learned.lengths.mean()))
        return int(max(_MIN_STEPS, min(np.clip(passes, *_STEP_RANGE), affordable)))
