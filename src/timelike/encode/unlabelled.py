"""UnlabelledEncoder, the base of encoders whose network learns without labels: budgets, and what becomes of vectors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..align.matrix import threads_of
from ..models import learned, options
from ..sequences import Sequences
from ..train import Cosine, History, Objective, Trained
from ..train.objective import FORWARD
from .applied import STEPS_AT_ONCE, vectors_of
from .base import Encoder, Stream
from .contrasts import Cropping
from .spread import SPREAD, Spread, SpreadStream, Vectors

Schedules = Literal["cycle", "constant"]

_LOOKS = 20  # at the crops held out
_SPARE = 20  # series from which on some can be spared to judge by


class UnlabelledEncoder(Trained, Encoder):
    """A network trained without labels; a subclass says which network, what it learns, and how many steps are usual."""

    n_features = options.width(1)
    batch_size = options.whole(1, "training")
    learning_rate = options.real(above=0, role="free")
    schedule = options.one_of(*get_args(Schedules), role="free")
    max_steps = options.maybe(options.whole(0, "free"))
    max_time = options.maybe(options.real(above=0, role="free"))
    validation = options.real(0, 0.9, role="training")
    patience = options.maybe(options.whole(1, "free"))
    vectors = options.one_of(*get_args(Vectors))

    spread_: Spread = learned.when(lambda model: model.vectors != "plain", SPREAD)
    _steps_at_once: ClassVar[int] = STEPS_AT_ONCE

    @abstractmethod
    def _usual_steps(self, learned: Sequences) -> int:
        """How many steps of training, where nothing says how many."""

    def _parted(self, ready: Sequences) -> tuple[Sequences, Sequences | None]:
        """What is learned from and what it is judged by: where there are few series, other crops of the same ones."""
        if self.validation == 0:
            return ready, None
        if len(ready) < _SPARE:
            return ready, ready
        order = self._rng().permutation(len(ready))
        count = min(max(1, round(self.validation * len(ready))), len(ready) - 1)
        return ready[np.sort(order[count:])], ready[np.sort(order[:count])]

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

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        if self.max_steps == 0:
            self.history_ = History(higher_is_better=False, stopped="max_steps")
            self.network_.eval()
        else:
            super()._train(objective, sequences, targets)
        if self.vectors != "plain":
            self.spread_ = Spread.of(self._plain(sequences, threads_of(None)), self.vectors)

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        return FORWARD * len(sequences) / self.batch_size if self.vectors != "plain" else 0.0  # all are encoded

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
