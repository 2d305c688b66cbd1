"""`Update`: what one batch says, with all before it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Update:
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
    """The batch from which on a change is the most probable, where there is an alarm."""
    statistic: float
    """MMD² of the batch and what was before it."""
    when: str
    """The name of the batch: its number unless `update` was told another."""
    notes: tuple[str, ...] = ()
    """What has to be said of it."""

    def __str__(self) -> str:
        said = f"drift since batch {self.since}" if self.drifted else "no drift seen"
        batch = f"batch {self.batch}" + (f", {self.when}" if self.when != str(self.batch) else "")
        p_values = f"p = {self.p_value:.4g} over all batches, {self.batch_p_value:.4g} of this one"
        return "; ".join([f"{batch}: {said}, {p_values}", *self.notes])
