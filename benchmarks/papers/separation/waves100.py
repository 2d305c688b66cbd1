"""WaveEq-100 of the thesis (table 5.1) in three versions, beside forecasts that learn little.

    python -m benchmarks.papers.separation.waves100
    python -m benchmarks.papers.separation.waves100 --only noisy --budget 20
    python -m benchmarks.papers.separation.waves100 --full --only "thesis/*full*"

100 pixels of waves whose borders are held, 240 sequences of 150 steps to learn from, 60 others to be asked about. Every
method sees 5 frames and forecasts 40, from every fifth chunk; networks learn from chunks of 25. Versions: `thesis`, as
it is there; `noisy`, with noise of deviation 0.05 on all that is learned from and on the pasts, while what came is
clean; `beyond`, learned from celerities below 375 and asked about those above. `Separation` is at its defaults;
`chosen` has the candidate of `methods.CANDIDATES` that was best on a sixth of the training sequences of seed 0 held
out, after 700 steps, and trains for 4000; `preset` is the thesis's network with a tenth of its units and some of its
steps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.papers.results import Trial
from benchmarks.papers.separation import methods
from benchmarks.papers.separation.data import VERSIONS, Size
from benchmarks.papers.separation.waves import FULL, WAVES_100, Waves


class Waves100(Waves):
    """WaveEq-100."""

    table, title = "waves100", "Separation of variables: waves at 100 pixels"
    preset, size, preset_steps = "waves-100", Size(), 3000
    question = "how well Separation forecasts waves at 100 pixels"
    about = WAVES_100

    def seconds(self, row: Trial) -> float:
        if row.method.endswith(FULL):
            return 2.0 * 18750
        costs = {"Persistence": 1, "Ridge": 5, "DMD": 5, "held out": 20, "Separation": 60, methods.CHOSEN: 120}
        return float(costs[max((name for name in costs if row.method.startswith(name)), key=len, default="held out")])

    def planned(self) -> Iterator[Trial]:
        """What the targets are about first; then draws again, then forms of the network, the thesis's last."""
        default, chosen, without = methods.DEFAULT, methods.CHOSEN, methods.WITHOUT
        for version in VERSIONS[:2]:
            names = (*methods.BASELINES, default, default + without)
            yield from (Trial(version, name, 0) for name in names)
        for version in VERSIONS[:2]:
            yield from (Trial(version, methods.HELD_OUT + name, 0) for name in methods.CANDIDATES)
            yield from (Trial(version, name, 0) for name in (chosen, chosen + without))
        yield from (Trial("thesis", name, 0) for name in (*methods.BASELINES, default, default + without))
        for seed in range(1, self.given.seeds):
            for version in VERSIONS[:2]:
                again = (*methods.BASELINES, chosen, chosen + without, default, default + without)
                yield from (Trial(version, name, seed) for name in again)
        others = (f"{default}, product", methods.PRESET, methods.PRESET + without)
        yield from (Trial(version, name, 0) for version in VERSIONS for name in others)
        if self.given.full:
            for name in (methods.PRESET, methods.PRESET + without):
                yield from (Trial(version, name + FULL, 0) for version in reversed(VERSIONS))


if __name__ == "__main__":
    sys.exit(Waves100.main())
