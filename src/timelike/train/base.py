"""`Trained`, the base class of models that are trained with torch; torch is imported when one is fitted or loaded."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from .._exports import import_public
from ..core.extras import import_extra
from ..core.parameters import format_value
from ..core.validation.conversion import is_torch_module
from ..models import Model, fingerprint, options, schema
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler, flatten_frames
from ..sequences.sampling import check_random_state
from . import clock
from .budget import N_VALIDATIONS, DefaultBudget
from .history import HISTORY_SCHEMA, History
from .objective import MIN_CHECKED_STEPS, Objective
from .schedules import make_schedule
from .trainer import TRAINER_FIELDS, TRAINING_FIELDS, Precision, Trainer, ValidationScore, check_trainer, trainer_option

if TYPE_CHECKING:
    from torch import nn

# the defaults of all methods; each method chooses its own validation data
_COMMON_TRAINER = Trainer(
    optimizer="adam",
    betas=(0.9, 0.999),
    weight_decay=0.0,
    gradient_clip=math.inf,
    schedule="constant",
    accelerator="cpu",
    devices=1,
    precision="32-true",
)

T = TypeVar("T")

_NEVER = 2**31  # more steps than any training makes; an integer, as a number of validations must be
_MIN_PARALLEL_WORK = 4e9  # parameters × time steps of a batch: several threads save more than a third of the time
_MEMORY_WORDS = "alloc", "out of memory", "overflowed"  # these occur in messages of torch's allocators


class Trained(Model):
    """A model whose network is trained by the loop of this package.

    A subclass defines its constructor, `_build_network(frame)`, `_make_objective(ready, targets)` and its main method.
    `_validate_targets` returns the targets it learns from, and `_fit_options` the training budget.
    """

    standardize = options.boolean()
    max_steps = options.nullable(options.integer(1, "free"))
    max_time = options.nullable(options.real(above=0, role="free"))
    trainer = options.with_default(trainer_option(), None)
    progress = options.nullable(options.boolean("free"))
    random_state = options.random_seed()

    network_: Any = schema.network_weights()
    history_: History = schema.not_required(HISTORY_SCHEMA)  # absent if another model trained it
    scaler_: ChannelScaler = schema.channel_scaler()

    _flattens_frames: ClassVar[bool] = True  # whether frames are flattened to vectors for the network
    _own_trainer: ClassVar[Trainer] = Trainer()  # the method's own values for fields of `trainer` that are None
    _free_trainer_fields: ClassVar[tuple[str, ...]] = ()  # TRAINING_FIELDS that may change in a pause
    # supported scores of held-out data, the default first; empty for methods without validation
    _validation_scores: ClassVar[tuple[ValidationScore, ...]] = ("loss",)
    _default_budget: ClassVar[DefaultBudget] = DefaultBudget()

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Raise an error with the remedy if a field of the trainer is passed to the constructor."""
        misplaced = [name for name in options if name in TRAINER_FIELDS and name not in cls.options()]
        if misplaced and "trainer" in cls.options():
            fields = ", ".join(f"{name}={format_value(options[name])}" for name in misplaced)
            raise TypeError(
                f"{cls.__name__} has no argument {misplaced[0]!r}: pass trainer=timelike.Trainer({fields}) instead"
            )
        model: Self = super().__new__(cls)
        return model

    @property
    def trainer_(self) -> Trainer:
        """All fields of `trainer` as training uses them; the method's own values replace None."""
        trainer = None if self.trainer is None else check_trainer(self.trainer, "trainer")
        return _COMMON_TRAINER.replace(self._own_trainer).replace(trainer)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A new model with the options of a named preset; `changes` replace some, field by field in `trainer`."""
        nested = {option: changes.pop(option) for option in list(changes) if "__" in option}
        if changes.get("trainer", ...) is None:
            del changes["trainer"]  # None selects the method's own trainer, here that of the preset
        own = cls._presets.get(name, {}).get("trainer")
        if own is not None and changes.get("trainer") is not None:
            changes["trainer"] = own.replace(check_trainer(changes["trainer"], "trainer"))
        model: Self = super().preset(name, **changes).set_params(**nested)
        return model

    def _refuse_options(self) -> None:
        super()._refuse_options()
        score, share = self.trainer_.validation_score, self.trainer_.validation
        patience = self.trainer_.patience
        unused = {"validation": share or None, "validation_score": score, "patience": patience}
        if not self._validation_scores and any(value not in (None, math.inf) for value in unused.values()):
            setting = next(f"{name}={value!r}" for name, value in unused.items() if value not in (None, math.inf))
            raise ValueError(f"trainer.{setting}: {type(self).__name__} has no validation and trains on all sequences")
        if score is not None and score not in self._validation_scores:
            scores = " or ".join(map(repr, self._validation_scores))
            raise ValueError(f"trainer.validation_score={score!r}: {type(self).__name__} supports {scores}")

    @abc.abstractmethod
    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        """A new network for frames of this shape; attributes such as classes are already set."""

    @abc.abstractmethod
    def _make_objective(self, ready: Sequences, targets: Any) -> Objective:
        """The objective of `network_` for standardized sequences and the targets of `_validate_targets`."""

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        """Arguments of `train.fit` besides the objective: budget, schedule, validation."""
        trainer = self.trainer_
        limits = self._default_budget.resolve(
            self.max_steps, trainer.max_epochs, self.max_time, self._default_steps(objective)
        )
        counts = {"max_steps": limits["max_steps"], "max_epochs": limits["max_epochs"]}
        assert trainer.schedule is not None
        schedule = make_schedule(trainer.schedule, **counts, n_batches=objective.n_batches())
        training = {**limits, "gradient_clip": trainer.gradient_clip, "schedule": schedule}
        return training | self._validation_options(objective, **counts)

    def _default_steps(self, objective: Objective) -> int:
        """The number of training steps if neither steps nor epochs are given."""
        return self._default_budget.steps(objective.n_batches() or 1)

    def _validation_options(
        self, objective: Objective, *, max_steps: int | None, max_epochs: int | None
    ) -> dict[str, int]:
        """The interval between validations and the patience, as arguments of `train.fit`.

        `fit` keeps the best weights only if it has a patience, so one is always set.
        """
        if not objective.has_validation:
            return {}
        patience = min(self.trainer_.patience or math.inf, _NEVER)
        if max_steps is None and max_epochs is not None:  # `fit` validates once per epoch
            return {"patience": int(min(patience, max_epochs))}
        every = max(1, (max_steps or self._default_steps(objective)) // N_VALIDATIONS)
        return {"validate_every": every, "patience": math.ceil(patience / every)}

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
        import_extra("torch", f"{type(self).__name__}.fit")
        with clock.fit_timer(), super()._atomic_fit():
            yield

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        """The duration of the work after the last step, in steps, without the learning check."""
        return 0.0

    def _prepare_fit(self, sequences: Sequences) -> Sequences:
        """Create the network and the scaler; return the sequences as the network takes them."""
        self.scaler_ = self._fit_scaler(sequences) if self.standardize else ChannelScaler.identity(sequences.frame)
        self._init_network()
        return self._standardize(sequences)

    def _init_network(self) -> None:
        self.network_ = self._build_seeded_network(self.frame_)

    def _build_seeded_network(self, frame: tuple[int, ...]) -> nn.Module:
        # torch's generator is seeded for the initial weights only: the caller's random numbers do not change
        from .seeds import use_seed
        from .torch_threads import torch_threads

        # one thread: the decompositions of orthogonal weights round differently with several
        with torch_threads(1), use_seed(self.random_state), self._explain_memory_errors():
            return self._build_network(frame)

    @contextmanager
    def _explain_memory_errors(self) -> Iterator[None]:
        """Turn torch's errors about CPU memory, which are RuntimeErrors, into a MemoryError that names the options."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, RuntimeError) and not any(word in str(error) for word in _MEMORY_WORDS):
                raise
            sizes = {name: getattr(self, name) for name, one in type(self).options().items() if one.role == "model"}
            shown = ", ".join(f"{name}={value}" for name, value in sizes.items() if type(value) is int)
            raise MemoryError(
                f"{type(self).__name__}({shown}) has a network that does not fit into memory: choose a smaller one"
            ) from error

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        import torch

        from .learning_check import learning_check_steps, warn_if_not_learned
        from .loop import fit
        from .torch_threads import torch_threads

        objective.owner, objective.divergence_hint = type(self).__name__, self._divergence_hint()
        trainer = self.trainer_
        with torch_threads(self._training_threads(sequences)):
            settings = {} if trainer.checkpoint is None else self._checkpoint_settings(sequences, targets)
            objective.checkpoint_settings = settings
            objective.closing_steps = self._closing_steps(objective, sequences)
            objective.learning_check_steps = learning_check_steps(objective)
            limits = self._fit_options(objective)
            if _max_steps(limits, objective) >= MIN_CHECKED_STEPS:  # long enough for the learning check
                objective.data_issue = objective.find_data_issue()
            self.history_ = fit(
                objective,
                checkpoint=trainer.checkpoint,
                progress=self.progress,
                accelerator=trainer.accelerator or "cpu",
                devices=trainer.devices or 1,
                precision=self._precision(),
                random_state=self.random_state,
                **limits,
            )
            self.network_ = self.network_.to("cpu", torch.float32).eval()  # inference runs here, wherever training ran
            warn_if_not_learned(self.history_, objective)

    def _training_threads(self, sequences: Sequences) -> int | None:
        """The number of threads of torch in training: 1, or None, which is all, where a step has enough to compute.

        Operations of a small network take microseconds. Several threads hardly shorten them, but wait milliseconds for
        each other where another program uses a processor, so that training would be many times slower on a busy
        machine. One thread also gives the same weights on any number of processors.
        """
        batch_size = self.trainer_.batch_size or 1
        n_parameters = sum(parameter.numel() for parameter in self.network_.parameters())
        work = n_parameters * min(batch_size, len(sequences)) * float(sequences.lengths.mean())
        return 1 if work < _MIN_PARALLEL_WORK else None

    def _precision(self) -> Precision:
        """The precision of training; a method that chooses one for "auto" overrides this."""
        precision = self.trainer_.precision
        return "32-true" if precision is None or precision == "auto" else precision

    def _divergence_hint(self) -> str:
        """The remedy to suggest first if training diverges, for `Objective.divergence_hint`."""
        return ""

    def _checkpoint_settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """The settings that a checkpoint must share with this training: the input data and all relevant options.

        The data are those before standardization, because standardized values round differently on other machines.
        """
        relevant = {name: option for name, option in type(self).options().items() if option.role != "free"}
        values = {name: getattr(self, name) for name in relevant}
        settings: dict[str, str | int] = {
            name: "None"
            if option.optional and values[name] is None
            else option.to_text(option.check(values[name], name))
            for name, option in relevant.items()
        }
        trainer = self.trainer_
        # None and "auto" are resolved, so that an explicit default counts as the same training
        effective_values = {
            "validation": trainer.validation or 0.0,
            "validation_score": trainer.validation_score or next(iter(self._validation_scores), None),
            "precision": self._precision(),
        }
        fields = [name for name in TRAINING_FIELDS if name not in self._free_trainer_fields]
        settings |= {name: repr(effective_values.get(name, getattr(trainer, name))) for name in fields}
        if isinstance(targets, np.ndarray):
            settings["labels"] = fingerprint(targets)
        return {"sequences": fingerprint(sequences.lengths, sequences.values), **settings}

    def _rng(self) -> np.random.Generator:
        """The generator for draws before training; with a checkpoint always seeded, so that a resumed run agrees."""
        continued = self.random_state is None and self.trainer_.checkpoint is not None
        return check_random_state(0 if continued else self.random_state)

    def _fit_scaler(self, sequences: Sequences) -> ChannelScaler:
        """Mean and standard deviation, both of the shape of a frame."""
        return ChannelScaler.from_sequences(sequences)

    def _standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """The sequences standardized, in float32, as the network takes them."""
        ready = self.scaler_.transform(sequences, name)
        return flatten_frames(ready) if self._flattens_frames else ready

    def _get_state(self) -> dict[str, Any]:
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in self.network_.state_dict().items()}
        return super()._get_state() | {"network_": weights}  # the key exists, so the order of keys does not change

    def _set_state(self, state: dict[str, Any]) -> None:
        """Set the other attributes first, because the network may depend on them."""
        import_extra("torch", f"a saved {type(self).__name__}")
        from .weights import load_weights

        state = dict(state)
        weights = state.pop("network_", None)
        super()._set_state(state)
        self.network_ = load_weights(lambda: self._build_seeded_network(self.frame_), self._all_weights(weights)).eval()

    def _all_weights(self, weights: Any) -> Any:
        """The weights from a folder, with those that the network takes from other fitted attributes."""
        return weights

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle so that what is missing is found before anything that needs it is read."""
        needs = PickleNeeds(type(self).__module__, type(self).__name__, is_torch_module(vars(self).get("network_")))
        return _new_unpickled, (needs, type(self)), self.__getstate__()


class PickleNeeds(NamedTuple):
    """What a pickled model needs; reading it raises the error that names the extra if that is not installed."""

    module: str
    name: str
    torch: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return _check_pickle_needs, tuple(self)


def _check_pickle_needs(module: str, name: str, torch: bool) -> PickleNeeds:
    if torch:
        import_extra("torch", f"a pickled {name}")
    if module.startswith(__name__.partition(".")[0] + "."):  # other classes may travel in the pickle themselves
        import_public(module, f"a pickled {name}")
    return PickleNeeds(module, name, torch)


def _new_unpickled(needs: PickleNeeds, model: type[T]) -> T:
    return model.__new__(model)


def _max_steps(limits: Mapping[str, Any], objective: Objective) -> float:
    """The maximum number of steps, without regard to time."""
    steps, epochs, batches = limits.get("max_steps"), limits.get("max_epochs"), objective.n_batches()
    by_epochs = math.inf if epochs is None or batches is None else epochs * math.ceil(batches)
    return min(math.inf if steps is None else steps, by_epochs)
