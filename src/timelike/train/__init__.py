"""(module, objective, batches) → a trained module: the one loop, its checkpoints, and folders of models."""

from .batches import Batch, per_class, shuffled
from .callbacks import Callback
from .descent import Descent, Diverged
from .fitting import fit
from .history import History
from .objective import Objective
from .randomness import seeded
from .run import Run
from .schedules import Constant, Cosine, Plateau, Schedule, Steps

__all__ = [
    "Batch",
    "Callback",
    "Constant",
    "Cosine",
    "Descent",
    "Diverged",
    "History",
    "Objective",
    "Plateau",
    "Run",
    "Schedule",
    "Steps",
    "fit",
    "per_class",
    "seeded",
    "shuffled",
]
