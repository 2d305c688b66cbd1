"""Sequences → one line of text, a small HTML table, a figure. Each is a method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..draw import html, signals
from .arguments import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .container import Sequences


_NAMED = 12  # classes and channels named in a table
_PANELS = 12  # classes drawn


def said(self: Sequences) -> str:
    """One line: how many, how long, what is known about them."""
    parts = [_count(len(self), "sequence"), _lengths(self), _frames(self), str(self.dtype)]
    if self.labels is not None:
        parts.append(_labels(self))
    if self.groups is not None:
        parts.append(_count(len(np.unique(self.groups)), "group"))
    if self._clock is not None:
        parts.append("times")
    return f"Sequences({', '.join(parts)})"


def _lengths(self: Sequences) -> str:
    shortest, longest = (int(self.lengths.min()), int(self.lengths.max())) if len(self) else (0, 0)
    return f"length {longest}" if shortest == longest else f"lengths {shortest} to {longest}"


def _frames(self: Sequences) -> str:
    return _count(self.frame[0], "channel") if len(self.frame) == 1 else f"frames {self.frame}"


def _labels(self: Sequences) -> str:
    assert self.labels is not None
    if self.class_names is not None:
        return _count(len(self.class_names), "class", "classes")
    return _count(len(np.unique(self.labels)), "class", "classes") if self.labels.dtype.kind in "biu" else "targets"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def html_table(self: Sequences) -> str:
    """What a notebook shows: how many, their lengths, channels, labels, and what is missing.

    >>> import timelike as tl
    >>> "<td>2 to 3, 2.5 on average</td>" in tl.Sequences([[1.0, 2.0], [3.0, 4.0, 5.0]])._repr_html_()
    True
    """
    known: list[tuple[str, Any]] = [
        ("lengths", _ends(self)),
        ("channels", _channels(self)),
        ("dtype", self.dtype),
    ]
    if self.labels is not None:
        known.append(("labels", _classes(self)))
    if self.groups is not None:
        known.append(("groups", len(np.unique(self.groups))))
    if self.times is not None and len(self.times):
        known.append(("times", f"{self.times.min()} to {self.times.max()}"))
    known.append(("missing", _missing(self)))
    return html.facts(_count(len(self), "sequence"), known)


def _ends(self: Sequences) -> str:
    if len(self) == 0 or self.equal_length:
        return str(self.shape[1])
    return f"{self.lengths.min()} to {self.lengths.max()}, {self.lengths.mean():.4g} on average"


def _channels(self: Sequences) -> str:
    count = " × ".join(map(str, self.frame))
    return count if self.channel_names is None else f"{count}: {_some(self.channel_names)}"


def _classes(self: Sequences) -> str:
    """Every class with the number of its sequences; targets by their range."""
    assert self.labels is not None
    kinds, sizes = np.unique(self.labels, return_counts=True)
    if len(kinds) == 0:
        return _labels(self)
    if self.labels.dtype.kind == "f":
        return f"targets {kinds[0]:.4g} to {kinds[-1]:.4g}"
    return f"{_labels(self)}: {_some([f'{kind} ({size})' for kind, size in zip(kinds, sizes, strict=True)])}"


def _some(names: Any) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _missing(self: Sequences) -> str:
    absent = int(np.isnan(self.values).sum()) if self.missing else 0
    return f"{absent} of {self.values.size} values ({absent / self.values.size:.1%})" if absent else "nothing"


def plot(self: Sequences, *, n: int = 5, channel: int = 0) -> Figure:
    """At most `n` sequences of every class, a panel for each, or of all together where there are no classes.

    Lines run over the sequences' own times where they have any, and have a gap where a value is missing. Those drawn
    are spread evenly over the class; of many classes the first twelve have a panel.

    >>> import timelike as tl
    >>> [axes.get_title() for axes in tl.Sequences([[1.0, 2.0], [3.0]], labels=["up", "down"]).plot().axes]
    ['down: 1 of 1', 'up: 1 of 1']
    """
    n = whole(n, "n", 1)
    if len(self) == 0:
        raise ValueError("there are no sequences to draw: expected at least one")
    kinds = {}
    for name, members in _kinds(self):
        shown = members[np.unique(np.linspace(0, len(members) - 1, min(n, len(members))).astype(np.int64))]
        kinds[f"{name}{len(shown)} of {len(members)}"] = shown.tolist()
    chosen = [i for members in kinds.values() for i in members]
    clocks = None
    if self.times is not None:
        clocks = {i: self.times[self.offsets[i] : self.offsets[i + 1]] for i in chosen}
    unit = self.channel_names[channel] if self.channel_names and 0 <= channel < len(self.channel_names) else ""
    return signals.panels(kinds, {i: self[i] for i in chosen}, clocks, channel=channel, unit=unit)


def _kinds(self: Sequences) -> list[tuple[str, Any]]:
    """The first classes, each with the positions of its sequences; all together where labels are no classes."""
    if self.labels is None or self.labels.dtype.kind == "f":
        return [("", np.arange(len(self)))]
    kinds = np.unique(self.labels)[:_PANELS]
    return [(f"{kind}: ", np.flatnonzero(self.labels == kind)) for kind in kinds.tolist()]
