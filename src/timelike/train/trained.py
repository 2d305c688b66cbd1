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

from ..models import Model, fingerprint, learned, options
from ..sequences import Sequences
from ..sequences.moments import Moments, flat
from ..sequences.sampling import generator
from . import clock
from .fitting import fit
from .history import HISTORY, History
from .objective import ENOUGH, Objective
from .processes import Accelerator, Precision
from .randomness import seeded
from .threads import torch_threads as torch_threads  # noqa: PLC0414 - others take it from here
from .verdict import judge, verdict_steps
from .weights import load_weights

Network = TypeVar("Network", bound=nn.Module)

_NO_MEMORY = "alloc", "out of memory", "overflowed"  # in messages of torch's allocators

_twins: WeakKeyDictionary[nn.Module, tuple[list[Tensor], nn.Module]] = WeakKeyDictionary()


class Trained(Model):
    """A model whose network is trained by the loop of this room.

    A method writes its constructor, `_network(frame)`, `_objective(ready, targets)` and its verb; what it learns from
    beside the sequences comes from `_targets`, and how long it trains from `_limits`.
    """

    standardize = options.flag()
    checkpoint = options.maybe(options.folder())
    progress = options.maybe(options.flag("free"))
    accelerator = options.one_of(*get_args(Accelerator), role="free")
    devices = options.whole(1, "free")
    precision = options.one_of(*get_args(Precision), role="training")
    random_state = options.seed()

    network_: Any = learned.network()
    history_: History = learned.later(HISTORY)  # the encoder of another model was not trained by itself
    moments_: Moments = learned.moments()

    _flat: ClassVar[bool] = True  # whether frames of any shape become plain vectors for the network

    @abc.abstractmethod
    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        """A new network for frames of this shape; what was learned before it, such as classes, is there already."""

    @abc.abstractmethod
    def _objective(self, ready: Sequences, targets: Any) -> Objective:
        """What `network_` is to learn, from standardized sequences and what `_targets` gave."""

    @abc.abstractmethod
    def _limits(self, objective: Objective) -> dict[str, Any]:
        """What `train.fit` is told beside the objective: how long, which schedule, how judged."""

    def _targets(self, sequences: Sequences, y: Any) -> Any:
        """What is known about every sequence; nothing, where nothing is asked for."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the sequences X."""
        with self._fitting():
            sequences = self._learn_from(X)
            targets = self._targets(sequences, y)
            ready = self._begin(sequences)
            self._train(self._objective(ready, targets), sequences, targets)
        return self

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        with clock.fitting(), super()._fitting():
            yield

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        """How long what comes after the last step takes, in steps, the judgement of the training aside."""
        return 0.0

    def _begin(self, sequences: Sequences) -> Sequences:
        """A new network, and the sequences as it takes them."""
        self.moments_ = self._moments(sequences) if self.standardize else Moments.none(sequences.frame)
        self._make_network()
        return self._ready(sequences)

    def _make_network(self) -> None:
        self.network_ = self._new_network(self.frame_)

    def _new_network(self, frame: tuple[int, ...]) -> nn.Module:
        # torch's own generator for the time of the initial weights only: what the caller draws is not moved
        with seeded(self.random_state), self._within_memory():
            return self._network(frame)

    @contextmanager
    def _within_memory(self) -> Iterator[None]:
        """torch has no error of its own for too little memory on a CPU, and says nothing of options."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, RuntimeError) and not any(word in str(error) for word in _NO_MEMORY):
                raise
            sizes = {name: getattr(self, name) for name, one in type(self).options().items() if one.role == "model"}
            shown = ", ".join(f"{name}={value}" for name, value in sizes.items() if type(value) is int)
            raise MemoryError(
                f"{type(self).__name__}({shown}) has a network that does not fit into memory: choose it smaller"
            ) from error

    @torch_threads()
    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        objective.owner, objective.suspect = type(self).__name__, self._suspect()
        objective.settings = {} if self.checkpoint is None else self._settings(sequences, targets)
        objective.closing_steps = self._closing_steps(objective, sequences)
        objective.verdict_steps = verdict_steps(objective)
        limits = self._limits(objective)
        if _most_steps(limits, objective) >= ENOUGH:  # it may be judged
            objective.data_issue = objective.check_data()
        self.history_ = fit(
            objective,
            checkpoint=self.checkpoint,
            progress=self.progress,
            accelerator=self.accelerator,
            devices=int(self.devices),
            precision=self._precision(),
            random_state=self.random_state,
            # where nothing is held out there is no score to be patient about
            **limits | ({} if objective.validates else {"patience": None}),
        )
        self.network_ = self.network_.to("cpu", torch.float32).eval()  # where and how it answers, however it learned
        judge(self.history_, objective)

    def _precision(self) -> Precision:
        """In which precision the network learns."""
        found: Precision = self.precision
        return found

    def _suspect(self) -> str:
        """What to change first if the training diverges, for `Objective.suspect`."""
        return ""

    def _settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """What a checkpoint must have in common with this training: the data as given, and every option that counts.

        The data before standardizing, which another machine rounds otherwise.
        """
        counts = {name: option for name, option in type(self).options().items() if option.role != "free"}
        given = {name: getattr(self, name) for name in counts}
        said = {
            name: "None" if option.optional and given[name] is None else option.said(option.check(given[name], name))
            for name, option in counts.items()
        }
        data = {"sequences": fingerprint(sequences.lengths, sequences.values)}
        known = {"labels": fingerprint(targets)} if isinstance(targets, np.ndarray) else {}
        return {**data, **known, **said}

    def _rng(self) -> np.random.Generator:
        """What is drawn with before training: the same every time where it may be continued, with or without a seed."""
        continued = self.random_state is None and self.checkpoint is not None
        return generator(0 if continued else self.random_state)

    def _moments(self, sequences: Sequences) -> Moments:
        """Mean and deviation, both of the shape of a frame."""
        return Moments.of(sequences)

    def _ready(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Standardized, in float32, as the network takes them."""
        ready = self.moments_.applied(sequences, name)
        return flat(ready) if self._flat else ready

    def _state(self) -> dict[str, Any]:
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in self.network_.state_dict().items()}
        return super()._state() | {"network_": weights}  # which is there already, so the order stays

    def _take_up(self, state: dict[str, Any]) -> None:
        """The network is made when everything it may depend on is there."""
        state = dict(state)
        weights = state.pop("network_", None)
        super()._take_up(state)
        self.network_ = load_weights(lambda: self._new_network(self.frame_), self._all_weights(weights)).eval()

    def _all_weights(self, weights: Any) -> Any:
        """Those of a folder, and what the network has of other learned attributes."""
        return weights


def _most_steps(limits: Mapping[str, Any], objective: Objective) -> float:
    """How many steps a training makes at most, if time allows."""
    steps, epochs, batches = limits.get("max_steps"), limits.get("max_epochs"), objective.n_batches()
    by_epochs = math.inf if epochs is None or batches is None else epochs * math.ceil(batches)
    return min(math.inf if steps is None else steps, by_epochs)


def exact(network: Network) -> Network:
    """A copy in double precision on the CPU, kept until a weight of the network changes.

    A product of matrices rounds each row as the number of rows suggests, and a sequence would not be quite itself in
    other company; what is computed in double precision and rounded is the same in any.

    >>> network = nn.Linear(2, 1)
    >>> exact(network) is exact(network)
    True
    >>> _ = network.weight.data.fill_(3.0)
    >>> exact(network).weight.tolist()
    [[3.0, 3.0]]
    """
    weights = [tensor.detach() for tensor in (*network.parameters(), *network.buffers())]
    known = _twins.get(network)
    # the numbers themselves are compared: torch counts no change that goes through `.data`
    if known is None or len(known[0]) != len(weights) or not all(map(torch.equal, known[0], weights)):
        twin = copy.deepcopy(network).double().cpu().eval()
        known = _twins[network] = [weight.clone() for weight in weights], twin
    found: Network = known[1]  # type: ignore[assignment]
    return found
