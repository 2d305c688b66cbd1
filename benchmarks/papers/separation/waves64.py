"""Waves of 64 × 64 (WaveEq of the thesis, table 5.1) at reduced width, in the thesis's version.

    python -m benchmarks.papers.separation.waves64 --budget 20
    python -m benchmarks.papers.separation.waves64 --full

Fewer sequences and narrower networks than the thesis has: 60 sequences of 150 steps to learn from, 10 others, of which
every 15th chunk is asked about. `preset` is the thesis's perceptron with a tenth of its units and 300 of its 18 750
steps, `Separation` at its defaults has the convolutions of DCGAN, for as many steps. `--full` adds the thesis's network
and all its steps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.papers.results import Trial
from benchmarks.papers.separation import methods
from benchmarks.papers.separation.data import Size
from benchmarks.papers.separation.waves import FULL, WAVES_64, Waves


class Waves64(Waves):
    """WaveEq."""

    table, title = "waves64", "Separation of variables: waves of 64 × 64"
    preset, size, steps, preset_steps = "waves", Size(60, 10, 150, 15, None), 300, 300
    question = "how well Separation forecasts waves of 64 × 64 pixels"
    about = WAVES_64

    def seconds(self, row: Trial) -> float:
        if row.method.endswith(FULL):
            return 2.0 * 18750
        return {"Persistence": 3.0, "nearest past": 60.0, "DMD": 60.0}.get(row.method, 150.0)

    def planned(self) -> Iterator[Trial]:
        """Few rows: the thesis's version alone."""
        names = [
            "Persistence",
            "nearest past",
            methods.PRESET,
            methods.PRESET + methods.WITHOUT,
            methods.DEFAULT,
            "DMD",
        ]
        if self.given.full:
            names += [methods.PRESET + FULL, methods.PRESET + methods.WITHOUT + FULL]
        yield from (Trial("thesis", name, 0) for name in names)


if __name__ == "__main__":
    sys.exit(Waves64.main())
