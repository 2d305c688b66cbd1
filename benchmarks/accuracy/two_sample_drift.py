"""Streams for `Drift`: how often it alarms where nothing changes, and how soon after a change.

A stream is a reference and 50 batches. Alarms at 0.01 are the monitor's own; those at 0.05 are where its evidence has
reached 20, as it is the same at any rate that is asked for. Changes come with batch 10, of batches 0 to 49; the delay
counts batches from the first changed one to the alarm, both included. An alarm before the change is a false one, and
such streams tell no delay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from benchmarks.accuracy.two_sample_null import FEATURES, Sample, sequences, tied
from numpy.typing import NDArray

from timelike import distributions as ds

STREAMS, BATCHES, CHANGE_AT = 200, 50, 10
RATES = (0.05, 0.01)
MIXED = (1, 2, 5, 10, 20)


class Setting(NamedTuple):
    """What a stream is like."""

    reference: int
    batch: int | str
    data: str = "vectors"


SETTINGS: dict[str, Setting] = {
    f"{data}, reference {reference}, batches of {batch}": Setting(reference, batch, data)
    for data in ("vectors", "ties")
    for reference in (30, 200)
    for batch in (1, 10, "mixed sizes")
} | {"sequences, reference 30, batches of 10": Setting(30, 10, "sequences")}

Change = Callable[[NDArray[np.float64], int], NDArray[np.float64]]
CHANGES: dict[str, Change] = {
    "shift of 0.5": lambda x, since: x + 0.5,
    "shift of 1": lambda x, since: x + 1.0,
    "shift of 2": lambda x, since: x + 2.0,
    "spread × 2": lambda x, since: 2.0 * x,
    "gradual shift, 0.1 a batch": lambda x, since: x + 0.1 * (since + 1),
}


class Watched(NamedTuple):
    """What a monitor said of one stream."""

    evidence: NDArray[np.float64]
    drifted: NDArray[np.bool_]

    def first(self, rate: float) -> int | None:
        """The batch of the first alarm at a rate, if there is one."""
        alarms = self.drifted if rate == min(RATES) else self.evidence >= 1 / rate
        return int(np.argmax(alarms)) if alarms.any() else None


def watched(reference: Sample, batches: Iterator[Sample], seed: int, kernel: Any = None) -> Watched:
    """One stream, to its end or the first alarm at the least rate, behind which nothing is asked."""
    monitor = ds.Drift(reference, kernel=kernel, false_alarm=min(RATES), random_state=seed)
    records: list[ds.DriftUpdate] = []
    for batch in batches:
        records.append(monitor.update(batch))
        if records[-1].drifted:
            break
    return Watched(np.array([one.evidence for one in records]), np.array([one.drifted for one in records]))


def null_stream(setting: Setting, seed: int, batches: int = BATCHES) -> Watched:
    """One stream in which nothing changes."""
    rng = np.random.default_rng([seed, 50])

    def draw(count: int) -> Sample:
        if setting.data == "vectors":
            return rng.standard_normal((count, FEATURES))
        return tied(rng, count, False) if setting.data == "ties" else sequences(rng, np.zeros(count))

    sizes = rng.choice(MIXED, batches) if isinstance(setting.batch, str) else np.full(batches, setting.batch)
    reference = draw(setting.reference)
    return watched(reference, (draw(int(size)) for size in sizes), seed, _kernel(setting))


def _kernel(setting: Setting) -> Any:
    return None if setting.data == "sequences" else ds.RBF()


def level(name: str, streams: int = STREAMS, batches: int = BATCHES) -> dict[str, Any]:
    """How many streams have an alarm, at each rate."""
    found = [null_stream(SETTINGS[name], seed, batches) for seed in range(streams)]
    alarms = {str(rate): sum(one.first(rate) is not None for one in found) for rate in RATES}
    return {"alarms": alarms, "streams": streams, "batches": batches}


def delay(name: str, streams: int, batches: int = BATCHES) -> dict[str, Any]:
    """Batches from the change to the alarm, of every stream; None where there was none by the end."""
    found = [_changed(CHANGES[name], seed, batches) for seed in range(streams)]
    early = {str(rate): 0 for rate in RATES}
    delays: dict[str, list[int | None]] = {str(rate): [] for rate in RATES}
    for one in found:
        for rate in RATES:
            first = one.first(rate)
            if first is not None and first < CHANGE_AT:
                early[str(rate)] += 1
            else:
                delays[str(rate)].append(None if first is None else first - CHANGE_AT + 1)
    return {"delays": delays, "early": early, "streams": streams, "batches": batches}


def _changed(change: Change, seed: int, batches: int, size: int = 10, reference: int = 100) -> Watched:
    rng = np.random.default_rng([seed, 51])

    def draw(at: int) -> NDArray[np.float64]:
        plain = rng.standard_normal((size, FEATURES))
        return plain if at < CHANGE_AT else change(plain, at - CHANGE_AT)

    return watched(rng.standard_normal((reference, FEATURES)), map(draw, range(batches)), seed, ds.RBF())
