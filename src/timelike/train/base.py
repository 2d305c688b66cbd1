"""Trained, the base of what is trained with torch; and how its network answers: in double precision."""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from ..models import Model, fingerprint, options, schema
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler, flatten_frames
from ..sequences.sampling import check_random_state
from . import clock
from .history import HISTORY_SCHEMA, History
from .learning_check import learning_check_steps, warn_if_not_learned
from .objective import MIN_CHECKED_STEPS, Objective
from .processes import Accelerator, Precision
from .seeds import use_seed
from .torch_threads import torch_threads as torch_threads  # noqa: PLC0414 - others take it from here
from .trainer import fit
from .weights import load_weights

Network = TypeVar("Network", bound=nn.Module)

_MEMORY_WORDS = "alloc", "out of memory", "overflowed"  # in messages of torch's allocators

_double_copies: WeakKeyDictionary[nn.Module, tuple[list[Tensor], nn.Module]] = WeakKeyDictionary()


class Trained(Model):
    """A model whose network is trained by the loop of this package.

    A method writes its constructor, `_build_network(frame)`, `_make_objective(ready, targets)` and its main method;
    what it learns from beside the sequences comes from `_validate_targets`, how long it trains from `_fit_options`.
    """

    standardize = options.boolean()
    checkpoint = options.nullable(options.folder())
    progress = options.nullable(options.boolean("free"))
    accelerator = options.choice(*get_args(Accelerator), role="free")
    devices = options.integer(1, "free")
    precision = options.choice(*get_args(Precision), role="training")
    random_state = options.random_seed()

    network_: Any = schema.network_weights()
    history_: History = schema.not_required(HISTORY_SCHEMA)  # the encoder of another model was not trained by itself
    scaler_: ChannelScaler = schema.channel_scaler()

    _flattens_frames: ClassVar[bool] = True  # whether frames of any shape become plain vectors for the network

    @abc.abstractmethod
    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        """A new network for frames of this shape; what was learned before it, such as classes, is there already."""

    @abc.abstractmethod
    def _make_objective(self, ready: Sequences, targets: Any) -> Objective:
        """What `network_` is to learn, from standardized sequences and what `_validate_targets` gave."""

    @abc.abstractmethod
    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        """Arguments of `train.fit` beside the objective: budget, schedule, validation."""

    def _validate_targets(self, sequences: Sequences, y: Any) -> Any:
        """The checked targets of the sequences; None for methods without targets."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the sequences X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            targets = self._validate_targets(sequences, y)
            ready = self._prepare_fit(sequences)
            self._train(self._make_objective(ready, targets), sequences, targets)
        return self

    @contextmanager
    def _atomic_fit(self) -> Iterator[None]:
        with clock.fit_timer(), super()._atomic_fit():
            yield

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        """How long what comes after the last step takes, in steps, the judgement of the training aside."""
        return 0.0

    def _prepare_fit(self, sequences: Sequences) -> Sequences:
        """A new network, and the sequences as it takes them."""
        self.scaler_ = self._fit_scaler(sequences) if self.standardize else ChannelScaler.identity(sequences.frame)
        self._init_network()
        return self._standardize(sequences)

    def _init_network(self) -> None:
        self.network_ = self._build_seeded_network(self.frame_)

    def _build_seeded_network(self, frame: tuple[int, ...]) -> nn.Module:
        # torch's own generator for the time of the initial weights only: what the caller draws is not moved
        with use_seed(self.random_state), self._explain_memory_errors():
            return self._build_network(frame)

    @contextmanager
    def _explain_memory_errors(self) -> Iterator[None]:
        """torch has no error of its own for too little memory on a CPU, and says nothing of options."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, RuntimeError) and not any(word in str(error) for word in _MEMORY_WORDS):
                raise
            sizes = {name: getattr(self, name) for name, one in type(self).options().items() if one.role == "model"}
            shown = ", ".join(f"{name}={value}" for name, value in sizes.items() if type(value) is int)
            raise MemoryError(
                f"{type(self).__name__}({shown}) has a network that does not fit into memory: choose it smaller"
            ) from error

    @torch_threads()
    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        objective.owner, objective.divergence_hint = type(self).__name__, self._divergence_hint()
        objective.checkpoint_settings = {} if self.checkpoint is None else self._checkpoint_settings(sequences, targets)
        objective.closing_steps = self._closing_steps(objective, sequences)
        objective.learning_check_steps = learning_check_steps(objective)
        limits = self._fit_options(objective)
        if _max_steps(limits, objective) >= MIN_CHECKED_STEPS:  # it may be judged
            objective.data_issue = objective.find_data_issue()
        self.history_ = fit(
            objective,
            checkpoint=self.checkpoint,
            progress=self.progress,
            accelerator=self.accelerator,
            devices=int(self.devices),
            precision=self._precision(),
            random_state=self.random_state,
            # where nothing is held out there is no score to be patient about
            **limits | ({} if objective.has_validation else {"patience": None}),
        )
        self.network_ = self.network_.to("cpu", torch.float32).eval()  # where and how it answers, however it learned
        warn_if_not_learned(self.history_, objective)

    def _precision(self) -> Precision:
        """In which precision the network learns."""
        found: Precision = self.precision
        return found

    def _divergence_hint(self) -> str:
        """What to change first if the training diverges, for `Objective.divergence_hint`."""
        return ""

    def _checkpoint_settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """What a checkpoint must have in common with this training: the data as given, and every option that counts.

        The data before standardizing, which another machine rounds otherwise.
        """
        counts = {name: option for name, option in type(self).options().items() if option.role != "free"}
        given = {name: getattr(self, name) for name in counts}
        said = {
            name: "None" if option.optional and given[name] is None else option.to_text(option.check(given[name], name))
            for name, option in counts.items()
        }
        data = {"sequences": fingerprint(sequences.lengths, sequences.values)}
        known = {"labels": fingerprint(targets)} if isinstance(targets, np.ndarray) else {}
        return {**data, **known, **said}

    def _rng(self) -> np.random.Generator:
        """What is drawn with before training: the same every time where it may be continued, with or without a seed."""
        continued = self.random_state is None and self.checkpoint is not None
        return check_random_state(0 if continued else self.random_state)

    def _fit_scaler(self, sequences: Sequences) -> ChannelScaler:
        """Mean and deviation, both of the shape of a frame."""
        return ChannelScaler.from_sequences(sequences)

    def _standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Standardized, in float32, as the network takes them."""
        ready = self.scaler_.transform(sequences, name)
        return flatten_frames(ready) if self._flattens_frames else ready

    def _get_state(self) -> dict[str, Any]:
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in self.network_.state_dict().items()}
        return super()._get_state() | {"network_": weights}  # which is there already, so the order stays

    def _set_state(self, state: dict[str, Any]) -> None:
        """The network is made when everything it may depend on is there."""
        state = dict(state)
        weights = state.pop("network_", None)
        super()._set_state(state)
        self.network_ = load_weights(lambda: self._build_seeded_network(self.frame_), self._all_weights(weights)).eval()

    def _all_weights(self, weights: Any) -> Any:
        """Those of a folder, and what the network has of other learned attributes."""
        return weights


def _max_steps(limits: Mapping[str, Any], objective: Objective) -> float:
    """How many steps a training makes at most, if time allows."""
    steps, epochs, batches = limits.get("max_steps"), limits.get("max_epochs"), objective.n_batches()
    by_epochs = math.inf if epochs is None or batches is None else epochs * math.ceil(batches)
    return min(math.inf if steps is None else steps, by_epochs)


def double_precision_copy(network: Network) -> Network:
    """A copy in double precision on the CPU, kept until a weight of the network changes.

    A product of matrices rounds each row depending on the number of rows, so the result for a sequence would depend
    on the other items in the batch; computed in double precision and then rounded, it does not.

    >>> network = nn.Linear(2, 1)
    >>> double_precision_copy(network) is double_precision_copy(network)
    True
    >>> _ = network.weight.data.fill_(3.0)
    >>> double_precision_copy(network).weight.tolist()
    [[3.0, 3.0]]
    """
    weights = [tensor.detach() for tensor in (*network.parameters(), *network.buffers())]
    known = _double_copies.get(network)
    # the numbers themselves are compared: torch counts no change that goes through `.data`
    if known is None or len(known[0]) != len(weights) or not all(map(torch.equal, known[0], weights)):
        double = copy.deepcopy(network).double().cpu().eval()
        known = _double_copies[network] = [weight.clone() for weight in weights], double
    found: Network = known[1]  # type: ignore[assignment]
    return found
