"""`Attack`, the base class of gradient attacks: options, attacks on a model, and adversarial batches for training."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core.parameters import check_choice, check_float
from ..core.random import RandomState, check_random_state
from ..core.validation.arrays import computed_dtype
from ..prototypes.options import Head
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..sequences.validation import validate_sequences
from ..train.torch_threads import torch_threads
from .ball import Ball, Norm, item_generators, make_ball, sample_noise
from .search import LossName, find_strongest, make_evaluator, make_training_evaluator
from .target import AttackTarget, make_source, make_target

BATCH_SIZE = 128  # items at a time


@dataclass(frozen=True, repr=False)
class Attack(abc.ABC):
    """The base class of attacks: `attack` a model, and `perturb` batches to train on."""

    epsilon: float
    _: KW_ONLY
    loss: LossName = "cross-entropy"
    bounds: tuple[float, float] | None = None
    band: float | None = None
    per_channel: tuple[float, ...] | Literal["deviation"] | None = None

    def __post_init__(self) -> None:
        check_float(self.epsilon, "epsilon", 0.0)
        check_choice(self.loss, "loss", get_args(LossName))
        if self.bounds is not None:
            _check_bounds(self.bounds)
        if self.band is not None:
            check_float(self.band, "band", above=0.0, most=1.0)
        _check_units(self.per_channel)

    def __repr__(self) -> str:
        """The budget, and the options that differ from the defaults."""
        rest = (field for field in fields(self)[1:] if getattr(self, field.name) != field.default)
        options = "".join(f", {field.name}={getattr(self, field.name)!r}" for field in rest)
        return f"{type(self).__name__}({self.epsilon!r}{options})"

    @property
    @abc.abstractmethod
    def _norm_and_steps(self) -> tuple[Norm, Sequence[float]]:
        """The norm, and the lengths of the steps."""

    @property
    @abc.abstractmethod
    def _random_starts(self) -> Sequence[bool]:
        """The starts: True for a random point, False for the data itself."""

    # --- against a model -------------------------------------------------------------------------------------------

    def attack(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        head: Head | None = None,
        transfer_from: Any = None,
        random_state: RandomState = None,
    ) -> Any:
        """X with its values moved, in its original type; integers become floating point numbers.

        The result is the strongest of the data itself and of every step from every start: one that is answered wrongly,
        and among these the one with the largest loss. The result for an item is independent of the batch: random
        starts follow from `random_state` and the item's own values.

        Parameters
        ----------
        model : fitted Prototypes, torch module or callable
            A module or callable is called with x (item, time, *frame) and lengths (item,), and gives logits
            (item, class). A module answers in evaluation mode and in double precision.
        X : Sequences or array
        y : array (item,), optional
            The true classes; by default the labels of X. For a module or callable, columns of the logits.
        head : {"similarity", "dense", "both"}, optional
            The head of Prototypes to attack; by default the one it predicts with.
        transfer_from : model, or the name of another head of this one
            The model whose gradients are followed; the attacked model only evaluates the points on the way.
        """
        sequences = validate_sequences(X)
        results = self._run_batches(model, sequences, y, head, transfer_from, random_state, stop=False)
        return restore_type(X, sequences._with_values(np.concatenate([point for point, _ in results])))

    def _fooled_mask(
        self, model: Any, X: Any, y: Any, head: Head | None, transfer_from: Any, random_state: RandomState
    ) -> NDArray[np.bool_]:
        """Whether each item can be moved so that the answer is wrong, (item,), or is wrong already."""
        results = self._run_batches(model, validate_sequences(X), y, head, transfer_from, random_state, stop=True)
        return np.concatenate([is_fooled for _, is_fooled in results])

    def _run_batches(
        self,
        model: Any,
        sequences: Sequences,
        y: Any,
        head: Head | None,
        transfer_from: Any,
        random_state: RandomState,
        *,
        stop: bool,
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
        """Packed values and which items are fooled, batch by batch."""
        target = make_target(model, head)
        source = make_source(model, head, transfer_from)
        _refuse_other_classes(target, source)
        self._validate_data(sequences, target)
        codes = torch.from_numpy(target.encode_labels(sequences, y))
        seed = int(check_random_state(random_state).integers(2**62))
        for first in range(0, len(sequences), BATCH_SIZE):
            some = slice(first, first + BATCH_SIZE)
            with torch_threads():
                yield self._attack_batch(sequences[some], codes[some], target, source, seed, stop)

    def _attack_batch(
        self,
        sequences: Sequences,
        codes: Tensor,
        target: AttackTarget,
        source: AttackTarget | None,
        seed: int,
        stop: bool,
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        norm, steps = self._norm_and_steps
        x, lengths = sequences.to_tensor()
        ball = self._make_ball(x, lengths, target.scaler)
        starts = (
            ball.map_from_unit_ball(sample_noise(item_generators(sequences, seed, run), lengths, x.shape, norm))
            if random
            else x
            for run, random in enumerate(self._random_starts)
        )
        evaluate = make_evaluator(target, source, self.loss, lengths, codes)
        best = find_strongest(ball, evaluate, starts, steps=steps, stop=stop)
        where = torch.arange(x.shape[1]) < lengths[:, None]
        return best.point[where].numpy(), best.fooled.numpy()

    def _make_ball(self, x: Tensor, lengths: Tensor, scaler: ChannelScaler | None) -> Ball:
        """The ball in the units of the data."""
        unit = self._channel_units(tuple(x.shape[2:]), scaler)
        return make_ball(
            x, lengths, unit, self.epsilon, norm=self._norm_and_steps[0], bounds=self.bounds, band=self.band
        )

    def _channel_units(self, frame: tuple[int, ...], scaler: ChannelScaler | None) -> Tensor:
        """The size of a budget of 1 in every channel, in the shape of a frame."""
        if self.per_channel is None:
            return torch.ones(frame, dtype=torch.float64)
        if self.per_channel == "deviation":
            if scaler is None:
                raise ValueError(
                    "per_channel='deviation': this model does not standardize, so there are no deviations; give them "
                    "as a tuple, one for each channel"
                )
            return torch.from_numpy(np.array(scaler.scale, dtype=np.float64))
        if len(self.per_channel) != frame[0]:
            raise ValueError(
                f"per_channel has {len(self.per_channel)} numbers and X {frame[0]} channels: expected one for each"
            )
        numbers = torch.tensor(self.per_channel, dtype=torch.float64)
        return numbers.reshape(-1, *[1] * (len(frame) - 1)).expand(frame)

    def _validate_data(self, sequences: Sequences, target: AttackTarget) -> None:
        if not len(sequences):
            raise ValueError("X holds no sequences: expected at least one")
        sequences.refuse_missing(type(self).__name__, "X")
        if target.frame is not None and target.frame != sequences.frame:
            raise ValueError(f"X has frames of shape {sequences.frame}: {target.name} was fitted on {target.frame}")
        if self.bounds is not None:
            values = sequences.values.astype(computed_dtype(sequences.dtype), copy=False)
            low, high = (values.dtype.type(bound) for bound in self.bounds)
            if values.min() < low or values.max() > high:
                raise ValueError(
                    f"X has values from {values.min():g} to {values.max():g}, outside bounds={self.bounds}: expected "
                    "data within the bounds, such as pixels divided by 255; or bounds=None"
                )

    # --- for training ----------------------------------------------------------------------------------------------

    def perturb(
        self,
        x: Tensor,
        lengths: Tensor,
        targets: Tensor,
        logits_of: Callable[[Tensor, Tensor], Tensor | Sequence[Tensor]],
        rng: np.random.Generator | None = None,
        *,
        scaler: ChannelScaler | None = None,
    ) -> Tensor:
        """A batch (item, time, *frame) moved to increase the loss, for training on it; it carries no gradient.

        This attack on tensors: the strongest point of every item in ascent on the loss of `logits_of`.

        Parameters
        ----------
        x : Tensor (item, time, *frame)
        lengths : Tensor (item,)
        targets : Tensor (item,)
            Columns of the logits.
        logits_of : callable
            (x, lengths) → logits (item, class), or a list of them, one for every head that is trained: losses are
            added. An empty list is an error. The network should be in evaluation mode meanwhile: otherwise dropout
            makes the gradients noisy.
        rng : numpy.random.Generator, optional
            Draws the random starts; by default seeded by torch's generator, which the training loop seeds every step.
        scaler : ChannelScaler, optional
            How x was standardized: the budget and the bounds are in the units of the data before that.

        Examples
        --------
        >>> import torch
        >>> from timelike import attacks
        >>> x, weights = torch.zeros(1, 1, 2), torch.tensor([[1.0, 0.0], [-1.0, 2.0]])
        >>> logits_of = lambda x, lengths: x[:, 0] @ weights.T
        >>> attacks.FGSM(0.5).perturb(x, torch.tensor([1]), torch.tensor([0]), logits_of)
        tensor([[[-0.5000,  0.5000]]])
        """
        norm, steps = self._norm_and_steps
        rng = np.random.default_rng(int(torch.randint(2**62, ()))) if rng is None else rng
        ball = self._make_standardized_ball(x.detach(), lengths, scaler)
        starts = (
            ball.map_from_unit_ball(sample_noise([rng] * len(x), lengths.cpu(), x.shape, norm).to(x.device))
            if random
            else ball.center
            for random in self._random_starts
        )
        evaluate = make_training_evaluator(logits_of, self.loss, lengths, targets)
        return find_strongest(ball, evaluate, starts, steps=steps).point

    def _make_standardized_ball(self, x: Tensor, lengths: Tensor, scaler: ChannelScaler | None) -> Ball:
        """The ball around standardized data, in which every channel has its own unit."""
        if scaler is None:
            return self._make_ball(x, lengths, None)
        place = tuple(x.shape[2:])  # frames may have been made flat
        mean, scale = (torch.from_numpy(np.asarray(moment, dtype=np.float64)).reshape(place) for moment in scaler)
        unit = self._channel_units(scaler.mean.shape, scaler).reshape(place) / scale
        ends = None if self.bounds is None else tuple((bound - mean) / scale for bound in self.bounds)
        return make_ball(x, lengths, unit, self.epsilon, norm=self._norm_and_steps[0], bounds=ends, band=self.band)  # type: ignore[arg-type]


def restore_type(original: Any, sequences: Sequences) -> Any:
    """The moved sequences in the type of the input: `Sequences`, a tensor, an array or a list of arrays."""
    if isinstance(original, Tensor):
        return torch.from_numpy(sequences.values.reshape(original.shape).copy())
    if isinstance(original, np.ndarray) and original.dtype != object:
        return sequences.values.reshape(original.shape).copy()
    if isinstance(original, list | tuple):
        return [one.reshape(np.shape(old)).copy() for old, one in zip(original, sequences, strict=True)]
    return sequences


def _refuse_other_classes(target: AttackTarget, source: AttackTarget | None) -> None:
    """Raise an error if the classes of both models are known and differ."""
    if source is None or source.classes is None or target.classes is None:
        return
    theirs, ours = source.classes.tolist(), target.classes.tolist()
    if theirs != ours:
        raise ValueError(f"transfer_from has the classes {theirs!r:.80} and model {ours!r:.80}: expected the same")


def _check_bounds(bounds: Any) -> None:
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise TypeError(f"bounds={bounds!r}: expected (low, high), such as (0.0, 1.0), or None")
    low, high = (check_float(bound, "bounds") for bound in bounds)
    if low >= high:
        raise ValueError(f"bounds={bounds}: expected low below high")


def _check_units(per_channel: Any) -> None:
    if per_channel is None or per_channel == "deviation":
        return
    if not isinstance(per_channel, tuple) or not per_channel:
        raise TypeError(f"per_channel={per_channel!r}: expected a tuple of numbers, 'deviation' or None")
    for number in per_channel:
        check_float(number, "per_channel", above=0.0)
