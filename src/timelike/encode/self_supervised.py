"""`SelfSupervisedEncoder`: the base class of encoders trained without labels, with their budgets and whitening."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.threads import check_n_jobs
from ..models import options, schema
from ..sequences import Sequences
from ..train import Cosine, History, Objective, Trained
from ..train.objective import FORWARD_SHARE
from .base import Encoder, Stream
from .batched_forward import BATCH_STEPS, encode_batches
from .objectives.crop_objectives import CropObjective
from .whitening import WHITENER_SCHEMA, VectorScaling, WhitenedStream, Whitener

ScheduleName = Literal["cosine", "constant"]

_N_VALIDATIONS = 20  # at the crops held out
_MIN_SPLIT_SERIES = 20  # series from which on some can be spared to judge by


class SelfSupervisedEncoder(Trained, Encoder):
    """A network trained without labels; a subclass says which network, what it learns, and how many steps are usual."""

    n_features = options.width(1)
    batch_size = options.integer(1, "training")
    learning_rate = options.real(above=0, role="free")
    schedule = options.choice(*get_args(ScheduleName), role="free")
    max_steps = options.nullable(options.integer(0, "free"))
    max_time = options.nullable(options.real(above=0, role="free"))
    validation = options.real(0, 0.9, role="training")
    patience = options.nullable(options.integer(1, "free"))
    vectors = options.choice(*get_args(VectorScaling))

    whitener_: Whitener = schema.required_if(lambda model: model.vectors != "raw", WHITENER_SCHEMA)
    _batch_steps: ClassVar[int] = BATCH_STEPS

    @abstractmethod
    def _default_steps(self, learned: Sequences) -> int:
        """How many steps of training, where nothing says how many."""

    def _split_validation(self, ready: Sequences) -> tuple[Sequences, Sequences | None]:
        """What is learned from and what it is judged by: where there are few series, other crops of the same ones."""
        if self.validation == 0:
            return ready, None
        if len(ready) < _MIN_SPLIT_SERIES:
            return ready, ready
        order = self._rng().permutation(len(ready))
        count = min(max(1, round(self.validation * len(ready))), len(ready) - 1)
        return ready[np.sort(order[count:])], ready[np.sort(order[:count])]

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, CropObjective)
        steps = self._default_steps(objective.sequences) if self.max_steps is None else self.max_steps
        found: dict[str, Any] = {"max_steps": steps, "max_time": self.max_time}
        if self.schedule == "cosine":
            found["schedule"] = Cosine(warmup=steps // 10)
        if self.validation > 0:
            every = max(1, steps // _N_VALIDATIONS)
            found |= {"validate_every": every, "patience": -(-(self.patience or steps) // every)}
        return found

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        if self.max_steps == 0:
            self.history_ = History(higher_is_better=False, stop_reason="max_steps")
            self.network_.eval()
        else:
            super()._train(objective, sequences, targets)
        if self.vectors != "raw":
            self.whitener_ = Whitener.from_vectors(self._network_vectors(sequences, check_n_jobs(None)), self.vectors)

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        return FORWARD_SHARE * len(sequences) / self.batch_size if self.vectors != "raw" else 0.0  # all are encoded

    def _is_batch_invariant(self, threads: int) -> bool:
        """Whether the bits of a vector in single precision do not depend on the other items in the batch."""
        return False

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        vectors = self._network_vectors(sequences, threads)
        return self.whitener_.transform(vectors) if hasattr(self, "whitener_") else vectors

    def _network_vectors(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        """Vectors as the network gives them."""
        ready = self._standardize(sequences, "X")
        alike = self._is_batch_invariant(threads)
        return encode_batches(self.network_, ready, threads, is_batch_invariant=alike, batch_steps=self._batch_steps)

    def _whiten_stream(self, stream: Stream) -> Stream:
        """A stream of the network's vectors as one of what `encode` gives."""
        return WhitenedStream(stream, self.whitener_) if hasattr(self, "whitener_") else stream
