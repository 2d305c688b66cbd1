"""`SelfSupervisedEncoder`: the base class of encoders trained without labels, with their budgets and whitening."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.threads import check_n_jobs
from ..models import options, schema
from ..sequences import Sequences
from ..train import History, Objective, Trained
from ..train.budget import DefaultBudget
from ..train.learning_check import warn_of_unused_patience
from ..train.objective import FORWARD_SHARE
from ..train.validation_split import split_validation
from .base import Encoder, Stream
from .batched_forward import BATCH_STEPS, encode_batches
from .objectives.crop_objectives import CropObjective
from .whitening import WHITENER_SCHEMA, VectorScaling, WhitenedStream, Whitener


class SelfSupervisedEncoder(Trained, Encoder):
    """An encoder whose network is trained without labels; a subclass defines the network and the objective."""

    n_features = options.width(1)
    max_steps = options.nullable(options.integer(0, "free"))
    vectors = options.choice(*get_args(VectorScaling))

    whitener_: Whitener = schema.required_if(lambda model: model.vectors != "raw", WHITENER_SCHEMA)
    _batch_steps: ClassVar[int] = BATCH_STEPS
    _default_budget = DefaultBudget(n_passes=8, step_range=(200, 1000), seconds=None)

    def _split_validation(self, ready: Sequences) -> tuple[Sequences, Sequences | None]:
        """Training and validation sequences; if there are few, validation uses other crops of the same ones."""
        share = self.trainer_.validation
        return split_validation(ready, share, self._rng()) or (ready, ready if share else None)

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        if self.max_steps == 0:
            self.history_ = History(higher_is_better=False, stop_reason="max_steps")
            self.network_.eval()
        else:
            warn_of_unused_patience(self.trainer_)
            super()._train(objective, sequences, targets)
        if self.vectors != "raw":
            self.whitener_ = Whitener.from_vectors(self._network_vectors(sequences, check_n_jobs(None)), self.vectors)

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        assert isinstance(objective, CropObjective)
        return (
            FORWARD_SHARE * len(sequences) / objective.batch_size if self.vectors != "raw" else 0.0
        )  # whitening encodes all sequences

    def _is_batch_invariant(self, threads: int) -> bool:
        """Whether single-precision vectors are bit-equal in any batch."""
        return False

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        vectors = self._network_vectors(sequences, threads)
        return self.whitener_.transform(vectors) if hasattr(self, "whitener_") else vectors

    def _network_vectors(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        """The vectors of the network, before whitening."""
        ready = self._standardize(sequences, "X")
        alike = self._is_batch_invariant(threads)
        return encode_batches(self.network_, ready, threads, is_batch_invariant=alike, batch_steps=self._batch_steps)

    def _whiten_stream(self, stream: Stream) -> Stream:
        """A stream that applies the whitening of `encode` to the network's vectors."""
        return WhitenedStream(stream, self.whitener_) if hasattr(self, "whitener_") else stream
