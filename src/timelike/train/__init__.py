"""(module, objective, batches) → a trained module: the one loop, its checkpoints, and folders of models."""

from .batches import Batch, per_class, shuffled
from .callbacks import Callback
from .descent import Descent, Diverged
from .fitting import fit
from .folders import SavedModel, load_model, read_model, save_model
from .history import History
from .identity import fingerprint
from .objective import Objective
from .randomness import seeded
from .run import Run
from .savable import Savable
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
    "Savable",
    "SavedModel",
    "Schedule",
    "Steps",
    "fingerprint",
    "fit",
    "load_model",
    "per_class",
    "read_model",
    "save_model",
    "seeded",
    "shuffled",
]
