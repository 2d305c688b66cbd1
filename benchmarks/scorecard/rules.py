"""The rule of the scorecard: when a claim, and when a system, counts as reproduced, partly reproduced or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.papers.markdown import count_of
from benchmarks.papers.results import Found
from timelike.score import interval


class Outcome(StrEnum):
    """Of a claim or of a system."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"


class Setting(StrEnum):
    """How our rows compare with the paper's experiment; only the same one can reproduce it."""

    SAME = "the paper's"
    PART = "a part of the paper's, or smaller"
    OTHER = "other data, features, preprocessing or network"


@dataclass(frozen=True)
class Measured:
    """Our number: a value for every seed, how it is written, and the rows it comes from."""

    values: Sequence[float]
    form: str = ".3f"
    unit: str = ""
    rows: Sequence[Found] = ()
    text: str = ""  # shown in place of the mean, where one number does not say it

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def seconds(self) -> float:
        return float(sum(row.get("seconds", 0.0) for row in self.rows))

    def __str__(self) -> str:
        """The mean over seeds with its 95 % interval, where there are several."""
        if self.text:
            return self.text
        seeds = count_of(len(self.values), "seed")
        if len(self.values) == 1:
            return f"{self.values[0]:{self.form}}{self.unit} ({seeds})"
        found = interval(list(self.values))
        low, middle, high = (
            f"{value:{self.form}}".replace("e-", "e~") for value in (found.low, found.mean, found.high)
        )
        return f"{middle}{self.unit} [{low}, {high}] ({seeds})".replace("-", "−").replace("~", "-")


@dataclass(frozen=True)
class Claim:
    """One claim of a paper beside our rows.

    `reached`: our number is at least as good as the paper's, up to the tolerance. `same_direction`: our number is on
    the same side of the rival by which the paper, or this library, judges it. Both are ignored where `ours` is None.
    """

    text: str
    page: str
    paper: str
    tolerance: str
    setting: Setting
    ours: Measured | None
    reached: bool = False
    same_direction: bool = False
    rival: str = "–"
    counted: bool = True

    @property
    def outcome(self) -> Outcome:
        if self.ours is None:
            return Outcome.NOT
        if self.reached and self.setting is Setting.SAME:
            return Outcome.REPRODUCED
        return Outcome.PARTLY if self.reached or self.same_direction else Outcome.NOT


@dataclass(frozen=True)
class System:
    """One of the eight systems; its first claim is the central one."""

    name: str
    claims: Sequence[Claim]
    sentence: str

    @property
    def central(self) -> Claim:
        return self.claims[0]

    @property
    def verdict(self) -> Outcome:
        return judge([claim.outcome for claim in self.claims if claim.counted])


def judge(outcomes: Sequence[Outcome]) -> Outcome:
    """A system's verdict from the outcomes of its counted claims, the central one first.

    >>> judge([Outcome.REPRODUCED, Outcome.REPRODUCED]).value, judge([Outcome.PARTLY, Outcome.NOT]).value
    ('reproduced', 'partly')
    >>> judge([Outcome.NOT, Outcome.REPRODUCED]).value
    'not'
    """
    if outcomes[0] is Outcome.NOT:
        return Outcome.NOT
    return Outcome.REPRODUCED if set(outcomes) == {Outcome.REPRODUCED} else Outcome.PARTLY


RULE = """\
A **claim** of a paper is

- *reproduced* if our number, the mean over seeds, is at least as good as the paper's up to the tolerance in the table,
  in the paper's own setting: the same data, inputs, model and test protocol; training may be shorter and tuned
  differently;
- *partly* if the number is reached in another setting (other data, features, preprocessing, network or sizes, or a part
  of the data sets), or if it falls short but is ahead of the rival in the table, as in the paper;
- *not* otherwise, and always where there are no rows.

A claim that consists of several comparisons is reached if all of them come out as in the paper, and has the same
direction if more than half of them do. A **system** is

- *reproduced* if all its counted claims are reproduced;
- *not* if its central claim, the first one, is not;
- *partly* otherwise.

Three kinds of rows are shown but not counted: checks of our own, rows whose numbers cannot be compared with the
paper's, and further rows in another setting where the paper's own setting has rows. The rule, the tolerances and the
list of claims are fixed in `benchmarks/scorecard`; numbers come from the rows, so the scorecard changes when rows are
added."""
