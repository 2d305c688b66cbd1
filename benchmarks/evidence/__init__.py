"""Whether finished rows still hold: `python -m benchmarks.evidence` makes one of every program again and compares."""

from benchmarks.evidence.record import evidence_line

__all__ = ["evidence_line"]
