"""The text and HTML representations of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting import html
from .describe import plots

if TYPE_CHECKING:
    from .container import Sequences


_MAX_LISTED = 12  # classes and channels named in a table


def summary_line(self: Sequences) -> str:
    """One line: number of sequences, lengths and metadata."""
    parts = [_format_count(len(self), "sequence"), _describe_lengths(self), _describe_frames(self), str(self.dtype)]
    if self.labels is not None:
        parts.append(_describe_labels(self))
    if self.groups is not None:
        parts.append(_format_count(len(np.unique(self.groups)), "group"))
    if self._clock is not None:
        parts.append("times")
    if self.source is not None:
        parts.append(f"from {self.source.short_name()}")
    return f"Sequences({', '.join(parts)})"


def _describe_lengths(self: Sequences) -> str:
    shortest, longest = (int(self.lengths.min()), int(self.lengths.max())) if len(self) else (0, 0)
    return f"length {longest}" if shortest == longest else f"lengths {shortest} to {longest}"


def _describe_frames(self: Sequences) -> str:
    return _format_count(self.frame[0], "channel") if len(self.frame) == 1 else f"frames {self.frame}"


def _describe_labels(self: Sequences) -> str:
    assert self.labels is not None
    if self.class_names is not None:
        return _format_count(len(self.class_names), "class", "classes")
    return (
        _format_count(len(np.unique(self.labels)), "class", "classes") if self.labels.dtype.kind in "biu" else "targets"
    )


def _format_count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def html_table(self: Sequences) -> str:
    """The notebook representation: size, lengths, channels, labels, missing values, and a few sparklines.

    >>> import timelike as tl
    >>> "<td>2 to 3, 2.5 on average</td>" in tl.Sequences([[1.0, 2.0], [3.0, 4.0, 5.0]])._repr_html_()
    True
    """
    rows: list[tuple[str, Any]] = [
        ("lengths", _length_range(self)),
        ("channels", _describe_channels(self)),
        ("dtype", self.dtype),
    ]
    if self.labels is not None:
        rows.append(("labels", _describe_classes(self)))
    if self.groups is not None:
        rows.append(("groups", len(np.unique(self.groups))))
    if self.times is not None and len(self.times):
        rows.append(("times", f"{self.times.min()} to {self.times.max()}"))
    rows.append(("missing", _describe_missing(self)))
    return html.fact_table(_format_count(len(self), "sequence"), rows) + plots.examples_html(self)


def _length_range(self: Sequences) -> str:
    if len(self) == 0 or self.has_equal_lengths:
        return str(self.shape[1])
    return f"{self.lengths.min()} to {self.lengths.max()}, {self.lengths.mean():.4g} on average"


def _describe_channels(self: Sequences) -> str:
    count = " × ".join(map(str, self.frame))
    return count if self.channel_names is None else f"{count}: {_list_some(self.channel_names)}"


def _describe_classes(self: Sequences) -> str:
    """Every class with the number of its sequences; targets by their range."""
    assert self.labels is not None
    kinds, sizes = np.unique(self.labels, return_counts=True)
    if len(kinds) == 0:
        return _describe_labels(self)
    if self.labels.dtype.kind == "f":
        return f"targets {kinds[0]:.4g} to {kinds[-1]:.4g}"
    return (
        f"{_describe_labels(self)}: {_list_some([f'{kind} ({size})' for kind, size in zip(kinds, sizes, strict=True)])}"
    )


def _list_some(names: Any) -> str:
    return ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")


def _describe_missing(self: Sequences) -> str:
    absent = int(np.isnan(self.values).sum()) if self.has_missing else 0
    return f"{absent} of {self.values.size} values ({absent / self.values.size:.1%})" if absent else "nothing"
