"""Files or tables of one recording each, in columns → one collection: read, held against each other, then packed."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import formats
from ..arguments import one_of
from ..callers import outside
from ..container import Sequences
from ..formats.limits import refuse_total
from ..formats.sheets import Sheet
from . import recordings
from .asked import Asked
from .labelling import described
from .origin import Origin
from .recordings import Look, kinds
from .roles import Piece, piece
from .sources import names_of
from .timing import is_likely

_ALIKE = 1.2  # intervals between samples that differ by less are of one rate
_LOOKED = 1000  # samples by which a rate is judged
_NAMED = 3  # files that a note names


def read(
    files: list[Path],
    asked: Asked,
    layout: str | None = None,
    on_error: str = "raise",
    left_out: Mapping[Path, Exception] | None = None,
) -> Sequences:
    """The recordings of files, with ids made of the names of the files.

    Text is parsed once, files side by side, and copied into one array; what can be mapped is copied from there, and not
    at all where it is the only one. Neither order nor number of threads changes anything, and where a file fails
    nothing is given; `on_error="skip"` leaves it out, and a warning and `X.source.skipped` say what and why. They also
    name what was `left_out` before.
    """
    skips = one_of(on_error, "on_error", ("raise", "skip")) == "skip"
    with recordings.bar(len(files), "reading", "file") as tick:
        jobs = [_job(path, asked, layout) for path in files]
        found = recordings.side_by_side(jobs, tick, counts=True)
    failed = {path: one for path, one in zip(files, found, strict=True) if isinstance(one, Exception)}
    if failed and not skips:
        raise recordings.unreadable(failed, len(files))
    skipped = recordings.tell(failed, len(files), left_out or {})
    pieces = [one for one in found if isinstance(one, Piece)]
    names = [name for name, path in zip(names_of(files), files, strict=True) if path not in failed]
    return _packed(pieces, asked, names, skipped, "files")


def alone(path: Path, sheet: Sheet | None = None) -> Sequences:
    """One file that is one recording."""
    one = piece(sheet, Asked()) if sheet is not None else _piece(path, Asked(), None)
    return _packed([one], Asked(), names_of([path]), {}, "files")


def gathered(sheets: list[Sheet], asked: Asked, names: list[str] | None, what: str) -> Sequences:
    """Recordings that are in memory."""
    return _packed([piece(sheet, asked) for sheet in sheets], asked, names, {}, what)


def _job(path: Path, asked: Asked, layout: str | None) -> Callable[[], Piece]:
    return lambda: _piece(path, asked, layout)


def _piece(path: Path, asked: Asked, layout: str | None) -> Piece:
    found = formats.sheet(path, layout)
    with formats.said_of(path):
        if isinstance(found, Sheet):
            return piece(found, asked)
        if asked.time is not None or asked.values is not None:
            raise ValueError("holds sequences, and no columns: leave time and values out")
        ids, label, group = (
            None if some is None else some.tolist() for some in (found.ids, found.labels, found.groups)
        )
        return Piece(path, found.values, found.lengths.tolist(), found.channel_names, found.times, ids, label, group)


# --- one collection ----------------------------------------------------------------------------------------------


def _packed(
    pieces: list[Piece], asked: Asked, names: list[str] | None, skipped: dict[str, str], what: str
) -> Sequences:
    pieces = _same_channels(pieces, asked, what)
    _refuse_mixed_clocks(pieces)
    notes = _notes(pieces)
    labels = described(pieces, asked.label, "label", notes)
    groups = described(pieces, asked.group, "group", notes)
    values = _end_to_end(pieces)
    times = None if pieces[0].times is None else np.concatenate([_clock(one) for one in pieces])
    lengths = [length for one in pieces for length in one.lengths]
    notes += _rates(pieces) + _repeats(pieces) + (_written_over(pieces) if asked.values is None else [])
    data = Sequences.from_packed(
        values,
        np.cumsum([0, *lengths]),
        times=times,
        labels=labels,
        groups=groups,
        ids=None if names is None else _ids(pieces, names),
        channel_names=pieces[0].names,
        on_disorder="keep",
    )
    data._source = Origin(tuple(str(one.path) for one in pieces), tuple(notes), skipped)
    return data


def _end_to_end(pieces: list[Piece]) -> NDArray[Any]:
    """All values in one array; those of a single file stay where they are, on disk where they are mapped."""
    if len(pieces) == 1:
        return pieces[0].values
    dtype = np.result_type(*{one.values.dtype for one in pieces})
    total, frame = sum(len(one.values) for one in pieces), pieces[0].values.shape[1:]
    numbers = f"{total} time steps of {' × '.join(map(str, frame))} numbers"
    refuse_total(total * int(np.prod(frame)) * dtype.itemsize, numbers, "values=[...]")
    values = np.empty((total, *frame), dtype)
    begin = 0
    for one in pieces:
        values[begin : begin + len(one.values)] = one.values
        begin += len(one.values)
    return values


def _clock(one: Piece) -> NDArray[Any]:
    assert one.times is not None
    if one.times.dtype.kind == "M":
        return one.times.astype("datetime64[ns]")
    if one.times.dtype.kind in "iu" and len(one.times) and int(one.times.max()) > 2**53:
        raise ValueError(
            f"{one.path.name}: a time is an integer beyond 2**53, which is not exact: write it as a datetime"
        )
    return one.times.astype(np.float64)


def _ids(pieces: list[Piece], names: list[str]) -> list[Any] | None:
    """The name of the file; with the id within it, where that tells recordings apart."""
    if len(pieces) == 1 and len(pieces[0].lengths) > 1:
        return pieces[0].ids
    found: list[Any] = []
    for one, name in zip(pieces, names, strict=True):
        if one.ids is None:
            several = len(one.lengths) > 1
            found += [f"{name}/{i}" for i in range(len(one.lengths))] if several else [name]
        else:
            found += [f"{name}/{entry}" for entry in one.ids] if len(pieces) > 1 else one.ids
    return found


# --- what differs ------------------------------------------------------------------------------------------------


def _same_channels(pieces: list[Piece], asked: Asked, what: str) -> list[Piece]:
    """The pieces with the channels of the first, in its order; an error where they have others."""
    first = pieces[0]
    if all(one.names == first.names and one.values.shape[1:] == first.values.shape[1:] for one in pieces):
        return pieces
    named = all(one.names is not None for one in pieces)
    if named and all(set(one.names or ()) == set(first.names or ()) for one in pieces):
        return [_in_order_of(first, one) for one in pieces]
    looks = [Look(one.path, 0, one.values.shape[1:]) for one in pieces]
    said = {one.path: _channels_said(one) for one in pieces}
    found = kinds(looks, lambda look: said[look.path])
    everywhere = set(first.names or ()).intersection(*(one.names or () for one in pieces))
    common = [name for name in first.names or () if name in everywhere]
    strange = {name for one in pieces for name in one.names or () if name not in everywhere and is_likely(name)}
    if strange:
        way = f"if it is the time, give time={min(strange)!r}; or take those that all have with values={common!r:.120}"
    elif common:
        way = f"take those that all have with values={common!r:.120}, or load them apart"
    elif not named and len({len(one.values) for one in pieces}) < len({one.values.shape[1:] for one in pieces}):
        way = 'if they are (channel, time), give layout="ct"; otherwise load them apart'
    else:
        way = "load them apart"
    raise ValueError(f"the {what} have {len(found)} sets of channels: {'; '.join(found)}: {way}")


def _channels_said(one: Piece) -> str:
    if one.names is not None:
        return f"({', '.join(one.names[:12])}{', …' if len(one.names) > 12 else ''})"
    return f"{' × '.join(map(str, one.values.shape[1:]))} without names"


def _in_order_of(first: Piece, one: Piece) -> Piece:
    if one.names == first.names:
        return one
    assert first.names is not None
    assert one.names is not None
    place = {name: at for at, name in enumerate(one.names)}
    places = [place[name] for name in first.names]
    return Piece(
        one.path, one.values[:, places], one.lengths, first.names, one.times, one.ids, one.label, one.group,
        (*one.notes, "channels are put in the order of the first file"), one.columns,
    )  # fmt: skip


def _refuse_mixed_clocks(pieces: list[Piece]) -> None:
    """An error where some have times and others not, or dates and numbers, or dates with and without a zone."""
    looks = [Look(one.path, 0, ()) for one in pieces]
    said = {one.path: _clock_said(one) for one in pieces}
    if len(set(said.values())) > 1:
        found = kinds(looks, lambda look: said[look.path])
        raise ValueError(
            f"the recordings have times of several kinds: {'; '.join(found)}: name the column with time=..., leave it "
            "out with values=[...], or load them apart"
        )


def _clock_said(one: Piece) -> str:
    if one.times is None:
        return "no times"
    if one.times.dtype.kind == "M":
        return "dates in UTC" if any(note.endswith("in UTC") for note in one.notes) else "dates without a time zone"
    return "numbers"


# --- what is said ------------------------------------------------------------------------------------------------


def _notes(pieces: list[Piece]) -> list[str]:
    """What was understood, each once; of what is not so in all files, in which."""
    counts = Counter(note for one in pieces for note in one.notes)
    return [note if n == len(pieces) else f"{note} (in {_some(pieces, note)})" for note, n in counts.items()]


def _some(pieces: list[Piece], note: str) -> str:
    files = [one.path.name for one in pieces if note in one.notes]
    return ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} others" if len(files) > _NAMED else "")


def _rates(pieces: list[Piece]) -> list[str]:
    """A note, and a warning, where recordings are sampled at different rates."""
    steps = {one.path: step for one in pieces if (step := _interval(one)) is not None}
    ranked = sorted(steps.values())
    if len(ranked) < 2 or ranked[-1] <= _ALIKE * ranked[0]:
        return []
    bounds = [ranked[0], *(b for a, b in pairwise(ranked) if b > _ALIKE * a)]
    if len(bounds) == 1:
        bounds.append(ranked[-1])  # a slide from one to another, without a gap in between
    unit = " s" if pieces[0].times is not None and pieces[0].times.dtype.kind == "M" else ""
    looks = [Look(path, 0, ()) for path in steps]
    found = kinds(looks, lambda look: f"{max(b for b in bounds if b <= steps[look.path]):.4g}{unit}")
    note = f"the recordings are sampled at different rates, with a step of {'; '.join(found)}"
    warnings.warn(f"{note}: resample(rate=...) makes them one", UserWarning, stacklevel=outside())
    return [note]


def _written_over(pieces: list[Piece]) -> list[str]:
    """A note, and a warning, where a channel is one whole number in every file, and not in all the same.

    That is who or what was recorded, and no measurement: a classifier that is given it knows the answer.
    """
    names = pieces[0].names
    if names is None or len(pieces) < 2 or pieces[0].values.ndim != 2:
        return []
    steady = np.all([(one.values == one.values[:1]).all(axis=0) for one in pieces], axis=0)
    firsts = np.stack([one.values[0] for one in pieces])
    found = [name for name, still, first in zip(names, steady, firsts.T, strict=True)
             if still and (first == np.floor(first)).all() and (first != first[0]).any()]  # fmt: skip
    if not found:
        return []
    note = f"one whole number throughout each file is taken for a channel: {', '.join(map(repr, found))}"
    way = "name it with label= or group= if it says what or who was recorded, or leave it out with values=[...]"
    warnings.warn(f"{note}: {way}", UserWarning, stacklevel=outside())
    return [note]


def _interval(one: Piece) -> float | None:
    """The usual time between two samples, in seconds where the times are dates."""
    if one.times is None or len(one.lengths) > 1 or len(one.times) < 2:
        return None
    steps = np.sort(np.diff(one.times[: _LOOKED + 1]))
    step = steps[len(steps) // 2]
    found = float(step / np.timedelta64(1, "s")) if steps.dtype.kind == "m" else float(step)
    return found if found > 0 else None


def _repeats(pieces: list[Piece]) -> list[str]:
    found = [one.path.name for one in pieces if one.times is not None and len(one.lengths) == 1
             and bool((one.times[1:] == one.times[:-1]).any())]  # fmt: skip
    if not found:
        return []
    more = f" and {len(found) - _NAMED} others" if len(found) > _NAMED else ""
    return [f"times repeat in {', '.join(found[:_NAMED])}{more}: merge_duplicates() makes one sample of each"]
