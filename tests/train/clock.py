"""A clock for trainings that only the test moves: whatever else the machine does, a step takes as long as is said."""

import time
from types import SimpleNamespace

from timelike.train import checkpoints, descent, loop


def set_clock(monkeypatch):
    """Replace the clock of the training loop; `seconds` of what is given back is the time that it shows."""
    clock = SimpleNamespace(seconds=0.0)
    shown = SimpleNamespace(**{**vars(time), "monotonic": lambda: clock.seconds})
    for module in (loop, checkpoints, descent):
        monkeypatch.setattr(module, "time", shown)
    return clock
