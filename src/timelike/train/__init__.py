"""The training loop, its objectives, batches, schedules and checkpoints, and the base class of trained models."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import Trained as Trained
    from .batches import Batch as Batch, class_batches as class_batches, shuffled_batches as shuffled_batches
    from .callbacks import Callback as Callback
    from .exceptions import DivergenceError as DivergenceError, NotLearnedWarning as NotLearnedWarning
    from .history import History as History
    from .loop import TrainingRun as TrainingRun, fit as fit
    from .objective import Objective as Objective
    from .optimizer_step import OptimizerStep as OptimizerStep
    from .schedules import (
        Constant as Constant,
        Cosine as Cosine,
        LinearDecay as LinearDecay,
        Milestones as Milestones,
        OneCycle as OneCycle,
        Plateau as Plateau,
        Schedule as Schedule,
        StepDecay as StepDecay,
    )
    from .seeds import use_seed as use_seed
    from .trainer import Trainer as Trainer

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("Trainer",))
