"""`Trainer`: how a network is trained, as one value that every trained method takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from ..core.parameters import check_choice, check_float, check_folder, check_int
from ..models.options import Option
from .gradient_clip import GradientClip, check_gradient_clip
from .schedules import Schedule, ScheduleName, check_schedule

Accelerator = Literal["cpu", "auto", "gpu", "cuda", "mps"]
Precision = Literal["32-true", "64-true", "bf16-mixed", "bf16-true"]
PrecisionOption = Literal["auto"] | Precision
OptimizerName = Literal["adam", "adamw", "sgd"]
ValidationScore = Literal["loss", "average_precision"]

TRAINING_FIELDS = ("batch_size", "optimizer", "validation", "validation_score", "precision")
"""Fields that must not change while a training is paused."""


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How a network is trained: optimizer, schedule, validation, checkpoints and hardware.

    Every trained method takes one as `trainer=`. A field that is None, the default of all fields, uses the method's
    own value, which is in its docstring; `model.trainer_` has all fields as training uses them. The training budget,
    `max_steps` and `max_time`, belongs to the method itself. A grid search addresses fields as
    `trainer__learning_rate`.

    Parameters
    ----------
    batch_size : int or None
        Sequences in a batch. Methods that draw batches class by class take whole classes, at most this many sequences.
    learning_rate, weight_decay : float or None
        Learning rate and weight decay of the optimizer.
    optimizer : {"adam", "adamw", "sgd"} or None
        The optimizer; "sgd" has no momentum.
    betas : tuple of two floats or None
        Decay rates of Adam's two averages.
    gradient_clip : float, "adaptive" or None
        Maximum norm of the gradient; longer gradients are scaled down. "adaptive" is twice the median norm of the last
        100 steps (like AutoClip of Seetharaman et al., 2020); `math.inf` disables clipping.
    schedule : str, Schedule or None
        How the learning rate changes: "constant"; "one_cycle", up and down once; "cosine", up over a tenth of the steps
        and down along a cosine; "linear", down to 0 over the last tenth; "plateau", halved after 10 epochs without a
        smaller loss; "milestones", a tenth after 200 epochs; or a schedule of `timelike.train`.
    max_epochs : int or None
        Maximum number of passes through the data, in addition to `max_steps` and `max_time`.
    validation : float or None
        Fraction of the data that is held out to choose the weights to keep; 0 keeps the last ones.
    validation_score : {"loss", "average_precision"} or None
        The score of held-out data; methods that compare sequences can use the average precision of a search.
    patience : int or None
        Steps without a better validation score before training stops; epochs if `max_epochs` is the budget. `math.inf`
        never stops.
    checkpoint : path or None
        Folder for checkpoints, from which training resumes after a pause. A training that has ended there is returned
        unchanged, even if `learning_rate` has changed or `max_steps` is smaller now.
    accelerator, devices
        Hardware for training, as in `timelike.train.fit`. Fitted models always predict on the CPU.
    precision : {"auto", "32-true", "64-true", "bf16-mixed", "bf16-true"} or None
        Numeric precision of training; "auto" is bfloat16 if that is faster and the method allows it.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[learn]
    >>> encoder = tl.CausalEncoder(trainer=tl.Trainer(learning_rate=1e-3))
    >>> encoder.trainer_.learning_rate, encoder.trainer_.batch_size
    (0.001, 16)
    >>> encoder.set_params(trainer__batch_size=8).trainer
    Trainer(batch_size=8, learning_rate=0.001)
    """

    batch_size: int | None = None
    learning_rate: float | None = None
    optimizer: OptimizerName | None = None
    betas: tuple[float, float] | None = None
    weight_decay: float | None = None
    gradient_clip: GradientClip | None = None
    schedule: ScheduleName | Schedule | None = None
    max_epochs: int | None = None
    validation: float | None = None
    validation_score: ValidationScore | None = None
    patience: float | None = None
    checkpoint: str | Path | None = None
    accelerator: Accelerator | None = None
    devices: int | None = None
    precision: PrecisionOption | None = None

    def __post_init__(self) -> None:
        checks: dict[str, Callable[[Any, str], Any]] = {
            "batch_size": lambda value, name: check_int(value, name, 1),
            "learning_rate": lambda value, name: check_float(value, name, above=0),
            "optimizer": lambda value, name: check_choice(value, name, get_args(OptimizerName)),
            "betas": _check_betas,
            "weight_decay": lambda value, name: check_float(value, name, 0),
            "gradient_clip": check_gradient_clip,
            "schedule": check_schedule,
            "max_epochs": lambda value, name: check_int(value, name, 1),
            "validation": lambda value, name: check_float(value, name, 0, 0.9),
            "validation_score": lambda value, name: check_choice(value, name, get_args(ValidationScore)),
            "patience": lambda value, name: value if value == math.inf else check_int(value, name, 1),
            "checkpoint": check_folder,
            "accelerator": lambda value, name: check_choice(value, name, get_args(Accelerator)),
            "devices": lambda value, name: check_int(value, name, 1),
            "precision": lambda value, name: check_choice(value, name, ("auto", *get_args(Precision))),
        }
        for name, value in self.given_fields().items():
            object.__setattr__(self, name, checks[name](value, name))
        if self.optimizer == "sgd" and self.betas is not None:
            raise ValueError(
                f"betas={self.betas}: optimizer='sgd' has no betas: use 'adam' or 'adamw', or leave betas out"
            )

    def given_fields(self) -> dict[str, Any]:
        """The fields that are not None, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}

    def replace(self, other: Trainer | None) -> Self:
        """A copy in which the given fields of another trainer replace its own.

        >>> Trainer(learning_rate=1e-3, batch_size=4).replace(Trainer(batch_size=8))
        Trainer(batch_size=8, learning_rate=0.001)
        """
        if other is None:
            return self
        without_betas = {"betas": None} if other.optimizer == "sgd" else {}  # SGD has no betas
        return replace(self, **without_betas, **other.given_fields())

    def __repr__(self) -> str:
        return f"Trainer({', '.join(f'{name}={value!r}' for name, value in self.given_fields().items())})"


TRAINER_FIELDS = tuple(field.name for field in fields(Trainer))


def trainer_option() -> Option[Trainer | None]:
    """The declaration of an estimator's option `trainer`."""
    return Option(check_trainer, "free", from_word=lambda word: Trainer(), optional=True)


def check_trainer(value: Any, name: str) -> Trainer:
    """The trainer itself; raises an error for other values."""
    if not isinstance(value, Trainer):
        raise TypeError(f"{name}={value!r:.60}: expected a timelike.Trainer, such as Trainer(learning_rate=1e-3)")
    return value


def _check_betas(value: Any, name: str) -> tuple[float, float]:
    numbers = isinstance(value, tuple | list) and all(isinstance(one, int | float) for one in value)
    if not numbers or len(value) != 2 or not all(0 <= one < 1 for one in value):
        raise ValueError(f"{name}={value!r}: expected two numbers of at least 0 and below 1, such as (0.9, 0.99)")
    return float(value[0]), float(value[1])
