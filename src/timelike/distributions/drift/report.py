"""`DriftUpdate`: the result of one batch; `DriftReport`: whether, since when and how batches have drifted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import nonfinite_to_none, write_lines
from ...plotting import html, two_sample as drawing
from ...score.intervals import Interval
from ..two_sample.differences import ChannelDifference, Differences, UnusualSequence, channel_test, explain_differences
from ..two_sample.permutations import exchangeable_units
from ..two_sample.samples import subsample_pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .estimator import Drift

_SELECTION_NOTE = (
    "effect, sequences and channels are those of the batches since the change, and the same batches dated it: they "
    "show where to look, but their p-values and interval are too optimistic"
)


@dataclass(frozen=True)
class BatchPart:
    """The result of one part of a batch: a large batch is split into several, each with its own bet."""

    items: NDArray[np.int64] = field(compare=False)
    """Positions in the batch."""
    p_value: float
    """Of this part alone, compared with all earlier items, including the earlier parts."""
    evidence: float
    """After this part."""


@dataclass(frozen=True)
class DriftUpdate:
    """The state of a `Drift` after one batch."""

    drifted: bool
    """Whether an alarm has been raised: `p_value` is at most `false_alarm`."""
    p_value: float
    """Over all batches so far: 1 / the highest evidence. It is valid at any time, after any number of updates."""
    batch: int
    """The number of the batch, from 1."""
    batch_p_value: float
    """Of this batch alone, as if it were the only one: (1 + #{permuted ≥ observed}) / (1 + permutations), or 20 over
    the number of permutations if permuting stopped after twenty exceedances."""
    evidence: float
    """After this batch; an alarm is 1 / `false_alarm`."""
    since: int | None
    """The batch of the change, dated when the alarm was raised; None without an alarm."""
    statistic: float
    """MMD² of the batch and the earlier items; for the default kernels of sequences the largest, relative to its
    deviation by chance."""
    when: str
    """The name of the batch, `when` of `update`; by default its number."""
    parts: tuple[BatchPart, ...] = ()
    """The parts in which it was tested; a single one if it is small."""
    alarm_part: int | None = None
    """The part of this batch, from 1, that raised the alarm; None if this batch did not."""
    notes: tuple[str, ...] = ()
    """What has to be said of it."""

    def __str__(self) -> str:
        verdict = f"drift since batch {self.since}" if self.drifted else "no drift seen"
        if self.alarm_part is not None and len(self.parts) > 1:
            verdict += f" (alarm by part {self.alarm_part} of {len(self.parts)})"
        batch = f"batch {self.batch}" + (f", {self.when}" if self.when != str(self.batch) else "")
        p_values = f"p = {self.p_value:.4g} over all batches, {self.batch_p_value:.4g} of this one"
        return "; ".join([f"{batch}: {verdict}, {p_values}", *self.notes])


@dataclass(frozen=True)
class DriftReport:
    """The batches of a `Drift` so far, its evidence, and the differences since the change, if there is one."""

    drifted: bool
    p_value: float
    false_alarm: float
    n_batches: int
    since: int | None
    """The batch of the change, as dated when the alarm was raised; None without an alarm."""
    since_when: str | None
    """Its name."""
    alarm_batch: int | None
    """The batch that raised the alarm."""
    alarm_part: int | None
    """The part of it, from 1, that did, if it was tested in several parts."""
    differences: Differences
    """Differences of the reference and the batches since the change, or all batches without an alarm. The same batches
    date the change, so after an alarm p-values of channels and the interval of the effect are too optimistic."""
    batches: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def effect(self) -> Interval:
        """MMD² of the reference and the batches in question, with a 95 % interval."""
        return self.differences.effect

    @property
    def separation(self) -> float:
        """The probability that a sequence of these batches is distinguished from one of the reference."""
        return self.differences.separation

    @property
    def sequences(self) -> tuple[UnusualSequence, ...]:
        """The sequences of the batches that are most unlike the reference."""
        return self.differences.sequences

    @property
    def channels(self) -> tuple[ChannelDifference, ...]:
        """Differences by channel, the most changed first."""
        return self.differences.channels

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said."""
        return self.differences.notes

    def __str__(self) -> str:
        """The answer first."""
        return "\n".join([self._headline(), *self.differences.lines()])

    def _headline(self) -> str:
        batches = "1 batch" if self.n_batches == 1 else f"{self.n_batches} batches"
        if self.drifted:
            part = f", part {self.alarm_part}" if self.alarm_part is not None else ""
            alarm = f"alarm at batch {self.alarm_batch}{part}"
            return f"Drift since {self._describe_since()} (p = {self.p_value:.3g} over {batches}, {alarm})"
        return f"No drift seen in {batches} (p = {self.p_value:.3g})"

    def _describe_since(self) -> str:
        has_name = self.since_when not in (None, str(self.since))
        return f"batch {self.since}" + (f", {self.since_when}" if has_name else "")

    def plot(self) -> Figure:
        """Evidence after every batch, on a logarithmic axis, with the alarm."""
        values = np.array([batch["evidence"] for batch in self.batches])
        return drawing.plot_evidence(
            values, 1 / self.false_alarm, self.since, [batch["when"] for batch in self.batches]
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything as JSON; also written to a file if a path is given."""
        text = json.dumps(nonfinite_to_none(asdict(self)), ensure_ascii=False, default=float)
        if path is not None:
            write_lines(Path(path), iter([text]))
        return text

    def _repr_html_(self) -> str:
        facts = [("p over all batches", self.p_value), ("false-alarm rate", self.false_alarm)]
        picture = html.figure_html(self.plot(), "Evidence after every batch; above the line it is an alarm")
        return html.join_html(html.fact_table(self._headline(), facts), picture, self.differences)


def build_report(drift: Drift, n_permutations: int) -> DriftReport:
    """The report of a monitor that has seen a batch."""
    if not drift.batches_:
        raise ValueError("there is nothing to report, because there is no batch yet: call update(batch) first")
    evidence = drift.evidence_
    since, alarm = drift._change_batch(), drift._alarm_position()
    has_several_parts = alarm is not None and len(drift.batches_[alarm[0] - 1]["sizes"]) > 1
    values = np.exp(np.minimum(evidence.values, 700.0))
    return DriftReport(
        drifted=drift.drifted,
        p_value=min(1.0, 1 / evidence.max_value),
        false_alarm=float(drift.false_alarm),
        n_batches=len(drift.batches_),
        since=since,
        since_when=None if since is None else drift.batches_[since - 1]["when"],
        alarm_batch=None if alarm is None else alarm[0],
        alarm_part=alarm[1] if alarm is not None and has_several_parts else None,
        differences=_explain_change(drift, since or 1, n_permutations),
        batches=tuple(batch | {"evidence": float(e)} for batch, e in zip(drift.batches_, values, strict=True)),
    )


def _explain_change(drift: Drift, since: int, n_permutations: int) -> Differences:
    """The differences of the reference and the batches since `since`, as far as these are in the pool."""
    pool = drift.pool_
    first, second = np.flatnonzero(pool.batch == 0), np.flatnonzero(pool.batch >= since)
    units = exchangeable_units(len(first), len(second), (pool.unit[first], pool.unit[second]))
    # positions in place of the items: only their number matters
    positions = subsample_pair(first[:, None], second[:, None], units, np.random.default_rng(0))
    first, second, units = np.ravel(positions.X), np.ravel(positions.Y), positions.units
    both = np.concatenate([first, second])
    names = drift.channel_names_ or [f"channel {i}" for i in range(drift.frame_[0])]
    differences = explain_differences(
        (pool.items[first], pool.items[second]),
        drift.kernel_._kernel_matrix(drift.precomputed_[both], None),
        units,
        drift.kernel_,
        pool.name[second].tolist(),
        names,
        channel_test(None if drift.kernel is None else drift._choose_kernel(), n_permutations, 0),
    )

    def with_batch_positions(some: tuple[UnusualSequence, ...]) -> tuple[UnusualSequence, ...]:
        places = ((one, second[one.position]) for one in some)
        return tuple(replace(one, batch=int(pool.batch[i]), position=int(pool.place[i])) for one, i in places)

    notes = (*differences.notes, *([_SELECTION_NOTE] if drift.drifted else []))
    return replace(
        differences,
        sequences=with_batch_positions(differences.sequences),
        outliers=with_batch_positions(differences.outliers),
        notes=notes,
    )
