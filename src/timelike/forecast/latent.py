"""LatentForecaster, the base of forecasters whose network has a content and a state: material, budgets, answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from ..models import learned, options
from ..sequences import Sequences
from ..sequences.arguments import counted, one_of
from ..sequences.doors import computed_dtype
from ..sequences.moments import Moments
from ..train import Linear, Objective, OneCycle, Schedule, Trained
from ..train.objective import FORWARD
from .base import Forecaster
from .chunks import Chunks, Material, spans_of
from .codecs.convolutional import SMALLEST
from .codecs.naming import Codec
from .doors import drawn_from, warn_of_bytes, warn_of_short, which
from .noticing import warn_of_unused
from .ticks import time_steps
from .training_errors import warn_if_no_better

Words = Literal["cycle", "constant", "linear"]
Schedules = Words | Schedule
Output = Literal["auto", "linear", "sigmoid"]

_PASSES, _USUAL = 20, (500, 2000)  # through the chunks; steps between these
_SECONDS = 120.0
_LOOKS = 20  # at what is held out
_SINGLE = 1.6  # times as long takes a forward pass in single precision beside steps in mixed ones
_COMPARED = 3.0  # steps that take as long as forecasts that are compared with those of persistence and the mean
_SPARE = 20  # sequences from which on some can be spared to judge by
_ROUNDING = 1e-6  # beyond 0 and 1, of what was scaled to lie between them
_UNEVEN = 0.01  # of a usual step, beyond which the clock counts


_WORDS: dict[str, Schedule | None] = {"cycle": OneCycle(), "constant": None, "linear": Linear()}


def checked_schedule(value: Any, name: str) -> Words | Schedule:
    """A word, or a schedule of `timelike.train`."""
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"{name}={value!r:.60}: expected {', '.join(map(repr, _WORDS))} or a schedule such as "
            "train.Linear(share=0.25)"
        )
    return cast(Words, one_of(value, name, tuple(_WORDS)))


def averages(value: Any, name: str) -> tuple[float, float]:
    """Adam's two rates of decay."""
    numbers = isinstance(value, tuple | list) and all(isinstance(one, int | float) for one in value)
    if not numbers or len(value) != 2 or not all(0 <= one < 1 for one in value):
        raise ValueError(f"{name}={value!r}: expected two numbers of at least 0 and below 1, such as (0.9, 0.99)")
    return float(value[0]), float(value[1])


def kind_of(sequences: Sequences) -> Any:
    """The dtype of answers about sequences: double where they are."""
    return computed_dtype(sequences.dtype)


class LatentForecaster(Forecaster, Trained):
    """A forecaster whose network is trained on chunks; a subclass says which network and which loss."""

    codec = options.one_of("auto", *get_args(Codec))
    conditioning = options.whole(1)
    chunk = options.maybe(options.whole(2, "training"))
    output = options.one_of(*get_args(Output))
    batch_size = options.whole(1, "training")
    learning_rate = options.real(above=0, role="free")
    decay = options.real(0, role="free")
    schedule = options.Option(checked_schedule, "free")
    max_steps = options.maybe(options.whole(1, "free"))
    max_time = options.maybe(options.real(above=0, role="free"))
    validation = options.real(0, 0.9, role="training")
    patience = options.maybe(options.whole(1, "free"))

    moments_: Moments = learned.moments(lambda model: model._network_frame())
    squashed_: bool = learned.flag()
    """Whether frames are squashed to (0, 1), as all that were learned from lie there."""
    uneven_: bool = learned.flag()
    """Whether time between two steps differs, so that windows come with their clock."""
    known_moments_: Moments | None = learned.maybe(learned.moments(lambda model: len(model.cells_.known)))
    chunk_: int = learned.whole(1)
    """Frames that were shown at a time."""

    _ahead_of_them: ClassVar[int] = 20  # steps of a chunk after the conditioning ones
    _between: ClassVar[bool] = True

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences, or from a source `callable(rng) -> Sequences`: what it gives is shown once."""
        with self._fitting():
            sequences = self._learn_from(X)
            self._note_range(sequences)
            warn_of_unused(self, self._pictures())
            length = self.chunk_ = self._chunk_length(sequences)
            self._begin(sequences)
            learned, held_out = self._parted(sequences, length)
            judged_by = None if held_out is None else self._material(held_out)
            more = self._more(X) if callable(X) else None
            self._train(self._chunks(length, self._material(learned), judged_by, more), sequences)
            warn_if_no_better(self, learned, held_out)
        return self

    def _rng(self) -> np.random.Generator:
        return Trained._rng(self)  # the same every time where a training may be continued

    def _learn(self, sequences: Sequences) -> None:
        raise AssertionError("fit does")

    def _objective(self, ready: Sequences, targets: Any) -> Objective:
        raise AssertionError("fit does")

    @abstractmethod
    def _chunks(
        self,
        length: int,
        material: Material,
        held_out: Material | None,
        more: Callable[[np.random.Generator], Material] | None,
    ) -> Chunks:
        """What is learned."""

    def _note_range(self, sequences: Sequences) -> None:
        frames = self.cells_.targets(sequences).values
        within = bool(frames.min() >= 0 and frames.max() <= 1)
        if self.output == "sigmoid" and not within:
            raise ValueError(
                f"X has values from {frames.min():.4g} to {frames.max():.4g}, and output='sigmoid' gives numbers "
                "between 0 and 1: scale X to [0, 1] first, (X − least)/(greatest − least), or use output='linear'"
            )
        self.squashed_ = self.output == "sigmoid" or (self.output == "auto" and within)
        if self.output == "auto" and self._pictures():
            warn_of_bytes(self.cells_.frames(sequences), type(self).__name__)
        steps = time_steps(sequences)
        usual = self.interval_ or 1.0
        self.uneven_ = bool(len(steps) and np.abs(steps / usual - 1).max() > _UNEVEN)

    def _begin(self, sequences: Sequences) -> Sequences:
        frames = self._frames(sequences)
        self.moments_ = self._moments(frames) if self.standardize else Moments.none(frames.frame)
        covariates = self.cells_.covariates(sequences)
        self.known_moments_ = None if covariates is None else Moments.of(covariates)
        self._make_network()
        return sequences

    def _frames(self, sequences: Sequences) -> Sequences:
        """Frames as the network has them: rows of cells, or pictures whose masked cells are still NaN."""
        return self.cells_.frames(sequences) if self._pictures() else self.cells_.targets(sequences)

    def _network_frame(self) -> tuple[int, ...]:
        """The shape of the frames that the network has."""
        return self.cells_.frame if self._pictures() else (self.cells_.n_cells,)

    def _pictures(self) -> bool:
        """Whether the network sees pictures, not rows of cells."""
        return self._codec() != "perceptron"

    def _codec(self) -> Codec:
        """Which networks: the perceptron for vectors and tiny pictures, unless another is asked for."""
        shape = self.cells_.frame
        large = len(shape) == 3 and min(shape[1:]) >= SMALLEST
        found: Codec = self.codec if self.codec != "auto" else "dcgan" if large else "perceptron"
        if found != "perceptron" and not large:
            raise ValueError(
                f"codec={found!r} is for images, and X has frames of shape {self.frame_}: expected (channel, height, "
                f"width) of at least {SMALLEST} × {SMALLEST} pixels, or codec='perceptron'"
            )
        return found

    def _moments(self, sequences: Sequences) -> Moments:
        """Those of every channel: cells of one picture have one scale."""
        if len(self.cells_.frame) == 1:
            return Moments.of(sequences)
        if self._pictures():
            return Moments.per_channel(sequences)
        return self._per_channel_of_cells(sequences)

    def _per_channel_of_cells(self, sequences: Sequences) -> Moments:
        """One mean and deviation for all cells of a channel, given as rows of cells."""
        whole = sequences._with_values(self.cells_.whole(sequences.values))
        found = Moments.per_channel(whole)
        there = self.cells_.there.ravel()
        return Moments(found.mean.ravel()[there], found.scale.ravel()[there])

    def _material(self, sequences: Sequences, name: str = "X") -> Material:
        """Standardized frames, with what is known and the clock, as tensors."""
        frames = self._frames(sequences)
        if self.cells_.masked and self._pictures():
            frames = frames._with_values(np.where(self.cells_.there, frames.values, self.moments_.mean))
        ready = self.moments_.applied(frames, name).values
        covariates, known = self.cells_.covariates(sequences), None
        if covariates is not None:
            assert self.known_moments_ is not None
            known = torch.from_numpy(np.array(self.known_moments_.applied(covariates, name).values))
        spans = torch.from_numpy(spans_of(sequences, self.interval_))
        return Material(torch.from_numpy(np.array(ready)), known, spans, sequences.lengths)

    def _parted(self, sequences: Sequences, length: int) -> tuple[Sequences, Sequences | None]:
        """What is learned from and what it is judged by: whole sequences, where there are enough of them."""
        if self.validation == 0 or len(sequences) < _SPARE:
            return sequences, None
        order = self._rng().permutation(len(sequences))
        count = min(max(1, round(self.validation * len(sequences))), len(sequences) - 1)
        learned, held_out = sequences[np.sort(order[count:])], sequences[np.sort(order[:count])]
        if learned.lengths.max() < length or held_out.lengths.max() < length:
            return sequences, None
        return learned, held_out

    def _chunk_length(self, sequences: Sequences) -> int:
        """How many steps are shown at a time: as asked for, or twenty more than the conditioning ones, if there are."""
        least, longest = self._least_chunk(), int(sequences.lengths.max())
        if longest < least:
            raise ValueError(
                f"X: the longest sequence has {counted(longest, 'time step')}, and {type(self).__name__}(conditioning="
                f"{self.conditioning}) needs at least {least} to learn what follows"
            )
        warn_of_short(sequences, least, type(self).__name__)
        if self.chunk is None:
            usual = int(np.quantile(sequences.lengths, 0.25))  # three of four sequences can give such a chunk
            return max(least, min(self.conditioning + self._ahead_of_them, usual))
        if not least <= self.chunk <= longest:
            raise ValueError(
                f"chunk={self.chunk}: expected between {least} (conditioning, and what follows) and {longest}, the "
                "longest sequence"
            )
        return int(self.chunk)

    def _least_chunk(self) -> int:
        return int(self.conditioning) + 1

    def _more(self, source: Any) -> Callable[[np.random.Generator], Material]:
        def drawn(rng: np.random.Generator) -> Material:
            sequences = drawn_from(source, rng)
            self._refuse_frame(sequences.frame, "what the source X gave")
            self.cells_.refuse(sequences, "what the source X gave")
            self._refuse_range(sequences, "what the source X gave")
            return self._material(sequences)

        return drawn

    def _limits(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, Chunks)
        batches = max(1, len(objective.material.places(objective.length)) // self.batch_size)
        usual = int(np.clip(_PASSES * batches, *_USUAL))
        steps, seconds = self.max_steps, self.max_time
        if steps is None and seconds is None:
            steps, seconds = usual, _SECONDS
        found: dict[str, Any] = {"max_steps": steps, "max_time": seconds}
        schedule = _WORDS[self.schedule] if isinstance(self.schedule, str) else self.schedule
        if schedule is not None:
            found["schedule"] = schedule
        if objective.validates:
            every = max(1, (steps or usual) // _LOOKS)
            found |= {"validate_every": every, "patience": self.patience and -(-self.patience // every)}
        return found

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        assert isinstance(objective, Chunks)
        mixed = self._precision() == "bf16-mixed"  # statistics are settled in single precision, which is slower
        return (_SINGLE if mixed else 1.0) * FORWARD * objective.n_settled() + _COMPARED

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        super()._train(objective, sequences, targets)
        assert isinstance(objective, Chunks)
        objective.settle()

    # --- answering ---------------------------------------------------------------------------------------------------

    def _conditioning(self) -> int:
        return int(self.conditioning)

    def _long_enough(self, X: Any, need: int | None = None, name: str = "X") -> Sequences:
        """Sequences to look at as a whole, none shorter than a window."""
        self._require_fitted()
        sequences, need = self._asked_whole(X, name), self._conditioning() if need is None else need
        if sequences.lengths.min() < need:
            item = int(np.argmin(sequences.lengths))
            had = f"{which(sequences, item)} has {counted(sequences.lengths[item], 'time step')}"
            raise ValueError(f"{name}: {had}: expected at least {need}{self._one_given(X, sequences)}")
        return sequences

    def _past(self, past: Any, name: str = "past") -> Sequences:
        found = super()._past(past, name)
        self._refuse_range(found, name)
        return found

    def _two(self, content_of: Any, dynamics_of: Any) -> tuple[Sequences, Sequences]:
        """Pasts whose contents and motions change places, as many of the one as of the other."""
        self._require_fitted()
        contents, dynamics = self._past(content_of, "content_of"), self._past(dynamics_of, "dynamics_of")
        if len(contents) != len(dynamics):
            raise ValueError(
                f"content_of holds {len(contents)} sequences and dynamics_of {len(dynamics)}: expected as many"
            )
        return contents, dynamics

    def _asked_whole(self, X: Any, name: str = "X") -> Sequences:
        found = super()._asked_whole(X, name)
        self._refuse_range(found, name)
        return found

    def _refuse_range(self, sequences: Sequences, name: str) -> None:
        if not self.squashed_:
            return
        frames = self.cells_.targets(sequences).values
        if frames.min() < -_ROUNDING or frames.max() > 1 + _ROUNDING:
            raise ValueError(
                f"{name} has values from {frames.min():.4g} to {frames.max():.4g}, and all that this "
                f"{type(self).__name__} learned from lie in [0, 1], so it gives nothing else: scale {name} by the same "
                "two numbers as what was fitted, or fit with output='linear'"
            )

    def _undoing(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and scale, with which standardized frames are frames of the data again."""
        mean, scale = (torch.from_numpy(np.asarray(moment, np.float32)) for moment in self.moments_)
        return mean, scale

    def _undone(self, frames: NDArray[Any], kind: Any = np.float32) -> NDArray[Any]:
        """Frames of the network (..., *frame) in the units of the data and a dtype, in rows of cells.

        They are rounded before that, so that they are the same in any company, and keep their digits beside a mean
        that is large.
        """
        frames = np.asarray(frames, np.float32)
        if not self.squashed_:
            frames = frames * self.moments_.scale + self.moments_.mean
        if self._pictures():
            frames = frames.reshape(*frames.shape[: frames.ndim - len(self.cells_.frame)], -1)
            frames = frames[..., self.cells_.there.ravel()]
        return np.asarray(frames, kind)
