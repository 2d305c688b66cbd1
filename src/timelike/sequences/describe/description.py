"""`Description`: a summary of a collection as text, JSON and HTML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count
from ...plotting import html
from ..clean.durations import TypicalSteps, typical_steps
from ..clean.gaps import find_gaps
from ..moments import mean_and_deviation
from .quality_checks import Extremes, QualityIssue, channel_name, extremes, find_quality_issues, time_unit

if TYPE_CHECKING:
    from ..container import Sequences
    from ..io.origin import Origin

_MAX_LISTED = 12  # classes and groups named in a line
_MAX_CHANNELS = 40  # rows of the table of channels
_DEVIATION_FACTOR = 1.4826  # standard deviations in a median deviation, for normal noise


@dataclass(frozen=True)
class ChannelSummary:
    """Summary of one channel over all sequences; numbers are None if it has no values."""

    name: str
    low: float | None
    high: float | None
    mean: float | None
    deviation: float | None
    missing: float


@dataclass(frozen=True)
class SamplingSummary:
    """Samples per unit of time (per second for datetimes): the usual rate, its ends over sequences, and the jitter.

    The jitter is the usual deviation of a step from the usual step, as a fraction of it.
    """

    unit: str
    begin: str
    end: str
    rate: float | None
    lowest_rate: float | None
    highest_rate: float | None
    jitter: float | None


@dataclass(frozen=True)
class GapSummary:
    """The numbers of gaps and of sequences with gaps, and the longest gap, in the unit of the times."""

    count: int
    sequences: int
    longest: float


@dataclass(frozen=True, repr=False)
class Description:
    """The result of `Sequences.describe`: attributes, `text`, `json()`, and a table in a notebook."""

    sequences: int
    shortest: int
    median_length: float
    longest: int
    frame: tuple[int, ...]
    dtype: str
    channels: tuple[ChannelSummary, ...]
    sampling: SamplingSummary | None
    gaps: GapSummary
    missing: float
    classes: dict[Any, int] | None
    targets: tuple[float, float] | None
    groups: dict[Any, int] | None
    quality_issues: tuple[QualityIssue, ...]
    source: Origin | None = None

    @property
    def text(self) -> str:
        """The whole description as lines of text."""
        facts = self._facts()
        width = max(len(name) for name, _ in facts)
        lines = [
            self._headline(),
            *(f"{name.ljust(width)}  {words}" for name, words in facts),
            "",
            *self._table_lines(),
        ]
        issues = [f"- {one.message}" for one in self.quality_issues]
        return "\n".join([*lines, "", "quality issues:", *issues] if issues else [*lines, "", "no quality issues"])

    def json(self) -> str:
        """The description as JSON: absent entries are null, positions of sequences are lists."""
        plain = asdict(self)
        for name, word in (("classes", "label"), ("groups", "group")):
            counts = plain[name]
            plain[name] = None if counts is None else [{word: kind, "sequences": n} for kind, n in counts.items()]
        plain["quality_issues"] = [
            {"kind": one.kind, "message": one.message, "items": one.items.tolist()} for one in self.quality_issues
        ]
        return json.dumps(plain, allow_nan=False, ensure_ascii=False)

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def _repr_html_(self) -> str:
        issues = [one.message for one in self.quality_issues]
        found = html.bullet_list(issues) if issues else html.paragraph("No quality issues were found.")
        tables = html.fact_table(self._headline(), self._facts()), html.table(*self._table_cells())
        return html.join_html(*tables, html.subheading("Quality"), found)

    def _headline(self) -> str:
        return format_count(self.sequences, "sequence")

    def _facts(self) -> list[tuple[str, str]]:
        same = self.shortest == self.longest
        spread = (
            str(self.longest) if same else f"{self.shortest} to {self.longest}, the median {self.median_length:.6g}"
        )
        facts = [("lengths", spread), ("channels", " × ".join(map(str, self.frame))), ("dtype", self.dtype)]
        if self.sampling is not None:
            facts += [("times", f"{self.sampling.begin} to {self.sampling.end}"), ("rate", _format_rate(self.sampling))]
        facts += [("gaps", self._describe_gaps()), ("missing", f"{_format_percent(self.missing)} of values")]
        if self.classes is not None:
            facts.append(("classes", _format_counts(self.classes)))
        if self.targets is not None:
            facts.append(("targets", f"{self.targets[0]:.6g} to {self.targets[1]:.6g}"))
        if self.groups is not None:
            facts.append(("groups", _format_counts(self.groups)))
        if self.source is not None:
            facts.append(("read from", self.source.short_name()))
            facts += [("read as", note) for note in self.source.notes]
            facts += [("left out", f"{path}: {reason}") for path, reason in self.source.skipped.items()]
        return facts

    def _describe_gaps(self) -> str:
        if self.gaps.count == 0:
            return "none"
        unit = {"s": " s", "step": " steps"}.get(self.sampling.unit if self.sampling else "step", "")
        where = format_count(self.gaps.sequences, "sequence")
        return f"{self.gaps.count} in {where}, the longest {self.gaps.longest:.6g}{unit}"

    def _table_cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [one.name, *map(_format_number, (one.low, one.high, one.mean, one.deviation)), _format_percent(one.missing)]
            for one in self.channels[:_MAX_CHANNELS]
        ]
        if len(self.channels) > _MAX_CHANNELS:
            rows.append([f"{len(self.channels) - _MAX_CHANNELS} more", *[""] * 5])
        return ["channel", "low", "high", "mean", "deviation", "missing"], rows

    def _table_lines(self) -> list[str]:
        header, rows = self._table_cells()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        return [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in (header, *rows)
        ]


def describe(self: Sequences) -> Description:
    """Summarize the collection and list its quality issues, as text, as `json()` and in a notebook.

    The summary has lengths, rate and jitter, gaps, the range of every channel, the fraction of missing values, classes
    and groups. Quality issues are channels that never change or have no values, clipped values, copies of other
    sequences, an unusual sampling rate, timestamps that repeat or run backwards, classes with a single sequence, and
    sequences far shorter than the others. They are not errors; each one names its sequences.

    >>> import timelike as tl
    >>> print(tl.Sequences([[[1.0, 0.0], [2.0, 0.0]]], channel_names=["ax", "ay"], labels=["walk"]).describe())
    1 sequence
    lengths   2
    channels  2
    dtype     float64
    gaps      none
    missing   0 % of values
    classes   1: walk (1)
    <BLANKLINE>
    channel  low  high  mean  deviation  missing
    ax         1     2   1.5        0.5      0 %
    ay         0     0     0          0      0 %
    <BLANKLINE>
    quality issues:
    - ay never changes in sequence 0
    """
    some = len(self) > 0
    usual = typical_steps(self)
    ends = extremes(self) if some else None
    targets = self.labels if self.labels is not None and self.labels.dtype.kind == "f" else None
    channels = () if ends is None else _summarize_channels(self, ends)
    return Description(
        sequences=len(self),
        shortest=int(self.lengths.min()) if some else 0,
        median_length=float(np.median(self.lengths)) if some else 0.0,
        longest=int(self.lengths.max(initial=0)),
        frame=self.frame,
        dtype=str(self.dtype),
        channels=channels,
        sampling=_summarize_sampling(self, usual) if some else None,
        gaps=_summarize_gaps(self, usual) if some else GapSummary(0, 0, 0.0),
        missing=float(np.mean([one.missing for one in channels])) if channels else 0.0,
        classes=None if self.labels is None or targets is not None else _count_entries(self.labels),
        targets=None if targets is None or not some else (float(targets.min()), float(targets.max())),
        groups=None if self.groups is None else _count_entries(self.groups),
        quality_issues=() if ends is None else find_quality_issues(self, usual, ends),
        source=self.source,
    )


def _count_entries(entries: NDArray[Any]) -> dict[Any, int]:
    kinds, counts = np.unique(entries, return_counts=True)
    return dict(zip(kinds.tolist(), counts.tolist(), strict=True))


def _summarize_channels(self: Sequences, ends: Extremes) -> tuple[ChannelSummary, ...]:
    places = int(np.prod(self.frame[1:]))
    values = self.values.reshape(len(self.values), self.frame[0], places)
    flat = np.moveaxis(values, 1, 2).reshape(-1, self.frame[0])
    mean, deviation = mean_and_deviation(flat)
    low, high = np.fmin.reduce(ends.low, axis=0), np.fmax.reduce(ends.high, axis=0)
    count = ends.count.sum(axis=0)
    summaries = []
    for c in range(self.frame[0]):
        least, most, middle, spread = (float(part[c]) if count[c] else None for part in (low, high, mean, deviation))
        missing = float(1 - count[c] / len(flat))
        summaries.append(ChannelSummary(channel_name(self, c), least, most, middle, spread, missing))
    return tuple(summaries)


def _summarize_sampling(self: Sequences, usual: TypicalSteps) -> SamplingSummary | None:
    if self.times is None:
        return None
    has_step = ~np.isnan(usual.step)
    begin, end = (_format_time(moment) for moment in (self.times.min(), self.times.max()))
    if not has_step.any():
        return SamplingSummary(time_unit(self), begin, end, None, None, None, None)
    step, deviation = usual.step[has_step], usual.deviation[has_step]
    rate, lowest, highest = (float(1 / one) for one in (np.median(step), step.max(), step.min()))
    return SamplingSummary(
        time_unit(self), begin, end, rate, lowest, highest, float(np.median(_DEVIATION_FACTOR * deviation / step))
    )


def _format_time(moment: Any) -> str:
    if isinstance(moment, np.datetime64):
        words = str(moment)
        return words.rstrip("0").rstrip(".") if "." in words else words
    return f"{moment:.10g}"


def _summarize_gaps(self: Sequences, usual: TypicalSteps) -> GapSummary:
    gaps = find_gaps(self if self._in_order else self.merge_duplicates("first"), usual)
    return GapSummary(len(gaps), len(np.unique(gaps.items)), gaps.longest)


def _format_rate(clock: SamplingSummary) -> str:
    if clock.rate is None or clock.jitter is None:
        return "unknown, no sequence has two samples"
    ends = (
        ""
        if np.isclose(clock.lowest_rate or 0, clock.highest_rate or 0, rtol=0.01)
        else (f", {clock.lowest_rate:.4g} to {clock.highest_rate:.4g} between sequences")
    )
    return f"{clock.rate:.4g} per {clock.unit}{ends}; jitter {_format_percent(clock.jitter)} of a step"


def _format_percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.4g} %"


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _format_counts(sizes: dict[Any, int]) -> str:
    names = [f"{kind} ({count})" for kind, count in sizes.items()]
    return f"{len(names)}: " + ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")
