"""What is in the data: the description of a collection, its classes as lines, and faults that are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data import load_or_generate
from ..section import Chapter, Section

if TYPE_CHECKING:
    from ....sequences import Sequences

_CODE = """\
import timelike as tl

X = tl.load("logs/*.csv", label=r"_([a-z]+)")  # a recording per file
print(X.describe())
X.plot()
"""


def damage(recordings: Sequences) -> Sequences:
    """The recordings with three faults: one is a copy of another, one ends early, one has a dead channel."""
    from ....sequences import Sequences

    copies = [recording.copy() for recording in recordings]
    copies[5] = copies[2]
    copies[17] = copies[17][:8]
    copies[11][:, 3] = copies[11][0, 3]
    return Sequences(copies, labels=recordings.labels)


def run() -> Section:
    """Describe recordings of movements, as they are and damaged."""
    from ....report import sections

    data = load_or_generate("BasicMotions")
    issues = damage(data.train).describe().quality_issues
    return Section(
        title="What is in the data",
        purpose="Before anything is learned, describe shows what a collection holds, and names the recordings that "
        "look wrong.",
        parts=(
            sections.paragraph(f"The training part of {data.source}:"),
            data.train.describe()._repr_html_(),
            sections.figure_html(data.train.plot(channel=0), "The first channel of some recordings of each class."),
            sections.paragraph(
                "The same recordings, of which we have replaced one by a copy, cut one short and held a channel of one "
                f"constant: {len(issues)} issues are found."
            ),
            sections.table(("issue", "recordings"), [(one.kind, one.message) for one in issues]),
        ),
        code=_CODE,
    )


CHAPTER = Chapter(name="what is in the data", run=run, needs=("BasicMotions",))
