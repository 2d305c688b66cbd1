"""Sequences → one line of text, a small HTML table. Each is a method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..draw import html
from .looking import drawn

if TYPE_CHECKING:
    from .container import Sequences


_NAMED = 12  # classes and channels named in a table


def said(self: Sequences) -> str:
    """One line: how many, how long, what is known about them."""
    parts = [_count(len(self), "sequence"), _lengths(self), _frames(self), str(self.dtype)]
    if self.labels is not None:
        parts.append(_labels(self))
    if self.groups is not None:
        parts.append(_count(len(np.unique(self.groups)), "group"))
    if self._clock is not None:
        parts.append("times")
    if self.source is not None:
        parts.append(f"from {self.source.short()}")
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
    """What a notebook shows: how many, their lengths, channels, labels, what is missing, and a few as small lines.

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
    return html.facts(_count(len(self), "sequence"), known) + drawn.examples(self)


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
