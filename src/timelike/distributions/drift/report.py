"""`DriftReport`: whether and since when batches have drifted, and what differs; as text, JSON and HTML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.files import nonfinite_to_none, write_lines
from ...plotting import html, two_sample as drawing
from ...score.intervals import Interval
from ...sequences import Sequences
from ..two_sample.differences import (
    ChannelDifference,
    Differences,
    UnusualSequence,
    channel_test,
    explain_differences,
)
from ..two_sample.permutations import exchangeable_units
from ..two_sample.subsampling import subsample_pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .estimator import Drift


_SELECTION_NOTE = (
    "effect, sequences and channels are of the batches since the change, which the same batches were dated by: they "
    "say where to look, and their p-values and interval are too optimistic"
)


@dataclass(frozen=True)
class DriftReport:
    """What a `Drift` has seen so far: batches, evidence, and what is different since the change, if there is one."""

    drifted: bool
    p_value: float
    false_alarm: float
    n_batches: int
    since: int | None
    """The batch from which on things have changed, as it was dated when the alarm was raised; None without an alarm."""
    since_when: str | None
    """Its name."""
    alarm_batch: int | None
    """The batch that raised the alarm."""
    alarm_part: int | None
    """The part of it, from 1, that did, where it was looked at in several."""
    differences: Differences
    """Of the reference and the batches since the change, or of all batches where there is no alarm. The change is dated
    by the same batches, so after an alarm p-values of channels and the interval of the effect are too optimistic."""
    batches: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def effect(self) -> Interval:
        """MMD² of the reference and the batches in question, with a 95 % interval."""
        return self.differences.effect

    @property
    def separation(self) -> float:
        """How probable it is that a sequence of these batches is told from one of the reference."""
        return self.differences.separation

    @property
    def sequences(self) -> tuple[UnusualSequence, ...]:
        """Those of the batches that are most unlike the reference."""
        return self.differences.sequences

    @property
    def channels(self) -> tuple[ChannelDifference, ...]:
        """The most changed first."""
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
        named = self.since_when not in (None, str(self.since))
        return f"batch {self.since}" + (f", {self.since_when}" if named else "")

    def plot(self) -> Figure:
        """Evidence after every batch, on a logarithmic axis, with the alarm."""
        values = np.array([batch["evidence"] for batch in self.batches])
        return drawing.plot_evidence(
            values, 1 / self.false_alarm, self.since, [batch["when"] for batch in self.batches]
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything as JSON; written to a file where one is named."""
        text = json.dumps(nonfinite_to_none(asdict(self)), ensure_ascii=False, default=float)
        if path is not None:
            write_lines(Path(path), iter([text]))
        return text

    def _repr_html_(self) -> str:
        known = [("p over all batches", self.p_value), ("false-alarm rate", self.false_alarm)]
        picture = html.figure_html(self.plot(), "Evidence after every batch; above the line it is an alarm")
        return html.join_html(html.fact_table(self._headline(), known), picture, self.differences)


def build_report(drift: Drift, n_permutations: int) -> DriftReport:
    """The report of a monitor that has seen a batch."""
    if not drift.batches_:
        raise ValueError("there is nothing to report, as no batch was looked at: call update(batch) first")
    evidence = drift.evidence_
    since, raised = drift._change_batch(), drift._alarm_position()
    several = raised is not None and len(drift.batches_[raised[0] - 1]["sizes"]) > 1
    values = np.exp(np.minimum(evidence.values, 700.0))
    return DriftReport(
        drifted=drift.drifted,
        p_value=min(1.0, 1 / evidence.max_value),
        false_alarm=float(drift.false_alarm),
        n_batches=len(drift.batches_),
        since=since,
        since_when=None if since is None else drift.batches_[since - 1]["when"],
        alarm_batch=None if raised is None else raised[0],
        alarm_part=raised[1] if raised is not None and several else None,
        differences=_explain_change(drift, since or 1, n_permutations),
        batches=tuple(batch | {"evidence": float(e)} for batch, e in zip(drift.batches_, values, strict=True)),
    )


def _explain_change(drift: Drift, since: int, n_permutations: int) -> Differences:
    """Of the reference and the batches from one on, as far as they are remembered."""
    pool = drift.pool_
    first, second = np.flatnonzero(pool.batch == 0), np.flatnonzero(pool.batch >= since)
    units = exchangeable_units(len(first), len(second), (pool.unit[first], pool.unit[second]))
    X, Y = (Sequences(np.zeros((len(some), 1))) for some in (first, second))  # only how many there are counts
    thin = subsample_pair(X.replace(ids=first), Y, units, np.random.default_rng(0))
    assert thin.X.ids is not None
    first, second = thin.X.ids, second[thin.y_positions]
    both = np.concatenate([first, second])
    names = drift.channel_names_ or [f"channel {i}" for i in range(drift.frame_[0])]
    found = explain_differences(
        (pool.items[first], pool.items[second]),
        drift.kernel_._kernel_matrix(drift.precomputed_[both], None),
        thin.units,
        drift.kernel_,
        pool.name[second].tolist(),
        names,
        channel_test(None if drift.kernel is None else drift._choose_kernel(), n_permutations, 0),
    )

    def dated(some: tuple[UnusualSequence, ...]) -> tuple[UnusualSequence, ...]:
        places = ((one, second[one.position]) for one in some)
        return tuple(replace(one, batch=int(pool.batch[i]), position=int(pool.place[i])) for one, i in places)

    notes = (*found.notes, *([_SELECTION_NOTE] if drift.drifted else []))
    return replace(found, sequences=dated(found.sequences), outliers=dated(found.outliers), notes=notes)
