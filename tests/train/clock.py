"""A clock for trainings that only the test moves: whatever else the machine does, a step takes as long as is said."""

from types import SimpleNamespace

from timelike.train import clock


def set_clock(monkeypatch):
    """Replace the clock of trainings; `seconds` of what is given back is the time that it shows."""
    hand = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(clock, "now", lambda: hand.seconds)
    return hand
