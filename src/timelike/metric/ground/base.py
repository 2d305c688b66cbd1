"""`GroundMetric`: the base class of metrics that learn a map of frames and compare by a fixed aligner."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ...align import DTW, OPW, Aligner, FittedMetric
from ...align.distance_matrix import ProgressCallback
from ...core.parameters import check_choice
from ...core.threads import check_n_jobs
from ...models import Model, options, schema
from ...sequences import Sequences
from ...sequences.validation import validate_targets
from ...train import DivergenceError, Objective, Trained
from ...train.double_precision import double_precision_copy
from ...train.torch_threads import torch_threads
from ..targets import encode_classes

_BLOCK_STEPS = 1 << 13  # steps between checks for Ctrl-C
_N_CHECKED_SEQUENCES = 4


def _check_aligner(value: Any, name: str) -> Aligner:
    if isinstance(value, Aligner) and not isinstance(value, Model):
        return value
    return DTW() if check_choice(value, name, ("dtw", "opw")) == "dtw" else OPW()


class GroundMetric(Trained, FittedMetric):
    """A learned map of frames, followed by a fixed aligner."""

    aligner = options.Option(_check_aligner)

    classes_: NDArray[Any] = schema.labels("class")

    _fit_call = "fit(X, y)"
    _validation_scores = ()  # no sequences are held out
    _unused_trainer_fields: ClassVar[tuple[str, ...]] = ()  # fields that the method ignores

    def _refuse_options(self) -> None:
        super()._refuse_options()
        trainer_fields = {} if self.trainer is None else self.trainer.given_fields()
        for name in self._unused_trainer_fields:
            if name in trainer_fields:
                raise ValueError(f"trainer.{name}={trainer_fields[name]!r}: {type(self).__name__} has no use for it")

    def _validate_targets(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of each sequence, as an integer."""
        self.classes_, codes = encode_classes(validate_targets(self, sequences, y, "class"))
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        super()._train(objective, sequences, targets)
        # after Ctrl-C, check only a few sequences, so that the user need not wait
        some = sequences[:_N_CHECKED_SEQUENCES] if self.history_.stop_reason == "Ctrl-C" else sequences
        self._refuse_diverged(self._standardize(some))

    def _refuse_diverged(self, ready: Sequences) -> None:
        """Raise an error if the mapped frames are not finite; no loss is computed after the last step."""
        bad = np.flatnonzero(~np.isfinite(apply_to_frames(double_precision_copy(self.network_), ready)).all(axis=1))
        if len(bad):
            ids = np.unique(np.searchsorted(ready.offsets, bad, side="right") - 1).tolist()
            raise DivergenceError(
                f"the map makes NaN or infinity of frames of the sequence {ids[0]} after step {self.history_.n_steps}, "
                f"the last: lower the learning rate (now {self.history_.last('rate'):g}), or standardize the sequences "
                "first",
                self.history_.n_steps,
                ids,
            )

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._validate_sides(x, y, names)
        self.scaler_.refuse_too_large(x, names[0])
        self.scaler_.refuse_too_large(y, names[1])
        self._resolve_aligner()._validate_sides(x, y, names)  # lengths, which are the same after the map

    def _resolve_aligner(self) -> Aligner:
        """The aligner used in `fit`, resolved from its name."""
        aligner = getattr(self, "_fitted_parameters", {}).get("aligner", self.aligner)
        return _check_aligner(aligner, "aligner")

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether d(x, y) = d(y, x): true if the aligner is symmetric."""
        return self._resolve_aligner().symmetric

    def transform_frames(self, X: Any) -> Sequences:
        """The sequences in the learned space."""
        return self._transform_frames(self._validate_predict_input(X), check_n_jobs(None))

    def _transform_frames(self, sequences: Sequences, threads: int) -> Sequences:
        ready = self._standardize(sequences)
        with torch_threads(threads):
            frames = apply_to_frames(double_precision_copy(self.network_), ready)
        return Sequences.from_packed(frames, ready.offsets)  # outputs of a network have neither names nor a clock

    def _precompute_items(self, sequences: Sequences, threads: int) -> Sequences:
        return self._transform_frames(sequences, threads)

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        self._resolve_aligner()._fill_matrix(queries, references, out, threads, None)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        first = self._transform_frames(x, threads)
        second = None if y is None else first if y is x else self._transform_frames(y, threads)
        self._resolve_aligner()._fill_matrix(first, second, out, threads, report)


def apply_to_frames(doubled: nn.Module, ready: Sequences) -> NDArray[np.float32]:
    """Apply a network in double precision to each frame, (step, output); see `train.double_precision` for why."""
    values = torch.tensor(ready.values)
    with torch.no_grad():
        pieces = [doubled(piece.double()).float() for piece in torch.split(values, _BLOCK_STEPS)]
    return torch.cat(pieces).numpy()
