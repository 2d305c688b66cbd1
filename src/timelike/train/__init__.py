"""(module, objective, batches) → a trained module: the one loop, its checkpoints, the base of what is trained."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .batches import Batch as Batch, per_class as per_class, shuffled as shuffled
    from .callbacks import Callback as Callback
    from .descent import Descent as Descent, Diverged as Diverged
    from .fitting import fit as fit
    from .history import History as History
    from .loop import Run as Run
    from .objective import Objective as Objective
    from .randomness import seeded as seeded
    from .schedules import (
        Constant as Constant,
        Cosine as Cosine,
        Linear as Linear,
        Milestones as Milestones,
        OneCycle as OneCycle,
        Plateau as Plateau,
        Schedule as Schedule,
        Steps as Steps,
    )
    from .trained import Trained as Trained
    from .verdict import LearnedNothing as LearnedNothing

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
