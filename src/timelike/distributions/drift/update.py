"""`DriftUpdate`: what one batch says, with all before it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BatchPart:
    """What one part of a batch says: a large batch is dealt out to several, each with a bet of its own."""

    items: NDArray[np.int64] = field(compare=False)
    """Positions in the batch."""
    p_value: float
    """Of this part alone, compared with all before it, the earlier parts included."""
    evidence: float
    """After this part."""


@dataclass(frozen=True)
class DriftUpdate:
    """What one batch says, with all before it."""

    drifted: bool
    """Whether there is an alarm, now or before: `p_value` is at most `false_alarm`."""
    p_value: float
    """Over all batches so far: 1 / the highest evidence. It holds at any time, however often one looks."""
    batch: int
    """The number of the batch, from 1."""
    batch_p_value: float
    """Of this batch alone, as if it were the only one: (1 + #{permuted ≥ observed}) / (1 + permutations), or 20 over
    the number of permutations where twenty were as large, and more would not have changed much."""
    evidence: float
    """After this batch; an alarm is 1 / `false_alarm`."""
    since: int | None
    """The batch from which on things have changed, where there is an alarm: dated when it was raised."""
    statistic: float
    """MMD² of the batch and what was before it; of the default kernels of sequences the largest, over its deviation by
    chance."""
    when: str
    """The name of the batch: its number unless `update` was told another."""
    parts: tuple[BatchPart, ...] = ()
    """The parts that it was looked at in; one where it is small."""
    alarm_part: int | None = None
    """The part of this batch, from 1, that raised the alarm; None where there is none, or was one before."""
    notes: tuple[str, ...] = ()
    """What has to be said of it."""

    def __str__(self) -> str:
        said = f"drift since batch {self.since}" if self.drifted else "no drift seen"
        if self.alarm_part is not None and len(self.parts) > 1:
            said += f" (alarm by part {self.alarm_part} of {len(self.parts)})"
        batch = f"batch {self.batch}" + (f", {self.when}" if self.when != str(self.batch) else "")
        p_values = f"p = {self.p_value:.4g} over all batches, {self.batch_p_value:.4g} of this one"
        return "; ".join([f"{batch}: {said}, {p_values}", *self.notes])
