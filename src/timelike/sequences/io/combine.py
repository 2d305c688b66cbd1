"""Reading of files or tables with one recording each, and their combination into one collection."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.memory import refuse_large_total
from ...core.parameters import check_choice
from ...core.warnings import find_stack_level
from ..container import Sequences
from . import formats, recordings
from .column_spec import ColumnSpec
from .columns import ParsedFile, parse_columns
from .file_labels import FOLDER_NOTE, folder_names, resolve_role
from .formats.raw_columns import RawColumns
from .origin import Origin
from .paths import unique_names
from .recordings import RecordingInfo, list_kinds
from .time_column import is_time_name

_RATE_TOLERANCE = 1.2  # intervals between samples that differ by less are of one rate
_MAX_SAMPLES = 1000  # samples by which a rate is judged
_MAX_LISTED = 3  # files that a note names


def read_files(
    files: list[Path],
    spec: ColumnSpec,
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
    skips = check_choice(on_error, "on_error", ("raise", "skip")) == "skip"
    with recordings.progress_counter(len(files), "reading", "file") as tick:
        jobs = [_parse_job(path, spec, layout) for path in files]
        outcomes = recordings.run_parallel(jobs, tick, counts=True)
    failed = {path: one for path, one in zip(files, outcomes, strict=True) if isinstance(one, Exception)}
    if failed and not skips:
        raise recordings.unreadable_error(failed, len(files))
    skipped = recordings.warn_left_out(failed, len(files), left_out or {})
    pieces = [one for one in outcomes if isinstance(one, ParsedFile)]
    names = [name for name, path in zip(unique_names(files), files, strict=True) if path not in failed]
    return _combine_files(pieces, spec, names, skipped, "files")


def read_single_file(path: Path, sheet: RawColumns | None = None) -> Sequences:
    """One file that is one recording."""
    one = parse_columns(sheet, ColumnSpec()) if sheet is not None else _parse_file(path, ColumnSpec(), None)
    return _combine_files([one], ColumnSpec(), unique_names([path]), {}, "files")


def combine_columns(sheets: list[RawColumns], spec: ColumnSpec, names: list[str] | None, what: str) -> Sequences:
    """Recordings that are in memory."""
    return _combine_files([parse_columns(sheet, spec) for sheet in sheets], spec, names, {}, what)


def _parse_job(path: Path, spec: ColumnSpec, layout: str | None) -> Callable[[], ParsedFile]:
    return lambda: _parse_file(path, spec, layout)


def _parse_file(path: Path, spec: ColumnSpec, layout: str | None) -> ParsedFile:
    content = formats.read_columns(path, layout)
    with formats.wrap_errors(path):
        if isinstance(content, RawColumns):
            return parse_columns(content, spec)
        if spec.time is not None or spec.values is not None:
            raise ValueError("holds sequences, and no columns: leave time and values out")
        ids, label, group = (
            None if some is None else some.tolist() for some in (content.ids, content.labels, content.groups)
        )
        return ParsedFile(
            path, content.values, content.lengths.tolist(), content.channel_names, content.times, ids, label, group
        )


# --- one collection ----------------------------------------------------------------------------------------------


def _combine_files(
    pieces: list[ParsedFile], spec: ColumnSpec, names: list[str] | None, skipped: dict[str, str], what: str
) -> Sequences:
    pieces = _align_channels(pieces, spec, what)
    _refuse_mixed_times(pieces)
    notes = _collect_notes(pieces)
    labels = resolve_role(pieces, spec.label, "label", notes, spec.root)
    if labels is None and spec.folders_are_classes:
        labels = folder_names([one.path for one in pieces for _ in one.lengths])
        notes.append(FOLDER_NOTE)
    groups = resolve_role(pieces, spec.group, "group", notes, spec.root)
    values = _concatenate_values(pieces)
    times = None if pieces[0].times is None else np.concatenate([_as_times(one) for one in pieces])
    lengths = [length for one in pieces for length in one.lengths]
    notes += (
        _note_rates(pieces)
        + _note_repeated_times(pieces)
        + (_note_constant_channels(pieces) if spec.values is None else [])
    )
    data = Sequences.from_packed(
        values,
        np.cumsum([0, *lengths]),
        times=times,
        labels=labels,
        groups=groups,
        ids=None if names is None else _make_ids(pieces, names),
        channel_names=pieces[0].names,
        on_disorder="keep",
    )
    data._source = Origin(tuple(str(one.path) for one in pieces), tuple(notes), skipped)
    return data


def _concatenate_values(pieces: list[ParsedFile]) -> NDArray[Any]:
    """All values in one array; those of a single file stay where they are, on disk where they are mapped."""
    if len(pieces) == 1:
        return pieces[0].values
    dtype = np.result_type(*{one.values.dtype for one in pieces})
    total, frame = sum(len(one.values) for one in pieces), pieces[0].values.shape[1:]
    numbers = f"{total} time steps of {' × '.join(map(str, frame))} numbers"
    refuse_large_total(total * int(np.prod(frame)) * dtype.itemsize, numbers, "values=[...]")
    values = np.empty((total, *frame), dtype)
    begin = 0
    for one in pieces:
        values[begin : begin + len(one.values)] = one.values
        begin += len(one.values)
    return values


def _as_times(one: ParsedFile) -> NDArray[Any]:
    assert one.times is not None
    if one.times.dtype.kind == "M":
        return one.times.astype("datetime64[ns]")
    if one.times.dtype.kind in "iu" and len(one.times) and int(one.times.max()) > 2**53:
        raise ValueError(
            f"{one.path.name}: a time is an integer beyond 2**53, which is not exact: write it as a datetime"
        )
    return one.times.astype(np.float64)


def _make_ids(pieces: list[ParsedFile], names: list[str]) -> list[Any] | None:
    """The name of the file, with the id inside it if there are several recordings."""
    if len(pieces) == 1 and len(pieces[0].lengths) > 1:
        return pieces[0].ids
    ids: list[Any] = []
    for one, name in zip(pieces, names, strict=True):
        if one.ids is None:
            several = len(one.lengths) > 1
            ids += [f"{name}/{i}" for i in range(len(one.lengths))] if several else [name]
        else:
            ids += [f"{name}/{entry}" for entry in one.ids] if len(pieces) > 1 else one.ids
    return ids


# --- what differs ------------------------------------------------------------------------------------------------


def _align_channels(pieces: list[ParsedFile], spec: ColumnSpec, what: str) -> list[ParsedFile]:
    """The pieces with the channels of the first, in its order; raises an error if their channels differ."""
    first = pieces[0]
    if all(one.names == first.names and one.values.shape[1:] == first.values.shape[1:] for one in pieces):
        return pieces
    named = all(one.names is not None for one in pieces)
    if named and all(set(one.names or ()) == set(first.names or ()) for one in pieces):
        return [_reorder_channels(first, one) for one in pieces]
    looks = [RecordingInfo(one.path, 0, one.values.shape[1:]) for one in pieces]
    channels_by_path = {one.path: _describe_channels(one) for one in pieces}
    kinds = list_kinds(looks, lambda look: channels_by_path[look.path])
    everywhere = set(first.names or ()).intersection(*(one.names or () for one in pieces))
    common = [name for name in first.names or () if name in everywhere]
    strange = {name for one in pieces for name in one.names or () if name not in everywhere and is_time_name(name)}
    if strange:
        way = f"if it is the time, give time={min(strange)!r}; or take those that all have with values={common!r:.120}"
    elif common:
        way = f"take those that all have with values={common!r:.120}, or load them apart"
    elif not named and len({len(one.values) for one in pieces}) < len({one.values.shape[1:] for one in pieces}):
        way = 'if they are (channel, time), give layout="ct"; otherwise load them apart'
    else:
        way = "load them apart"
    raise ValueError(f"the {what} have {len(kinds)} sets of channels: {'; '.join(kinds)}: {way}")


def _describe_channels(one: ParsedFile) -> str:
    if one.names is not None:
        return f"({', '.join(one.names[:12])}{', …' if len(one.names) > 12 else ''})"
    return f"{' × '.join(map(str, one.values.shape[1:]))} without names"


def _reorder_channels(first: ParsedFile, one: ParsedFile) -> ParsedFile:
    if one.names == first.names:
        return one
    assert first.names is not None
    assert one.names is not None
    place = {name: at for at, name in enumerate(one.names)}
    places = [place[name] for name in first.names]
    return ParsedFile(
        one.path, one.values[:, places], one.lengths, first.names, one.times, one.ids, one.label, one.group,
        (*one.notes, "channels are put in the order of the first file"), one.columns,
    )  # fmt: skip


def _refuse_mixed_times(pieces: list[ParsedFile]) -> None:
    """Raise an error if some have times and others not, or dates and numbers, or dates with and without a zone."""
    looks = [RecordingInfo(one.path, 0, ()) for one in pieces]
    times_by_path = {one.path: _describe_times(one) for one in pieces}
    if len(set(times_by_path.values())) > 1:
        kinds = list_kinds(looks, lambda look: times_by_path[look.path])
        raise ValueError(
            f"the recordings have times of several kinds: {'; '.join(kinds)}: name the column with time=..., leave it "
            "out with values=[...], or load them apart"
        )


def _describe_times(one: ParsedFile) -> str:
    if one.times is None:
        return "no times"
    if one.times.dtype.kind == "M":
        return "dates in UTC" if any(note.endswith("in UTC") for note in one.notes) else "dates without a time zone"
    return "numbers"


# --- what is said ------------------------------------------------------------------------------------------------


def _collect_notes(pieces: list[ParsedFile]) -> list[str]:
    """Notes about how files were read, each once; those that hold for some files name them."""
    counts = Counter(note for one in pieces for note in one.notes)
    return [note if n == len(pieces) else f"{note} (in {_list_files_with(pieces, note)})" for note, n in counts.items()]


def _list_files_with(pieces: list[ParsedFile], note: str) -> str:
    files = [one.path.name for one in pieces if note in one.notes]
    return ", ".join(files[:_MAX_LISTED]) + (
        f" and {len(files) - _MAX_LISTED} others" if len(files) > _MAX_LISTED else ""
    )


def _note_rates(pieces: list[ParsedFile]) -> list[str]:
    """A note and a warning if recordings have different sampling rates."""
    steps = {one.path: step for one in pieces if (step := _typical_interval(one)) is not None}
    ranked = sorted(steps.values())
    if len(ranked) < 2 or ranked[-1] <= _RATE_TOLERANCE * ranked[0]:
        return []
    bounds = [ranked[0], *(b for a, b in pairwise(ranked) if b > _RATE_TOLERANCE * a)]
    if len(bounds) == 1:
        bounds.append(ranked[-1])  # a slide from one to another, without a gap in between
    unit = " s" if pieces[0].times is not None and pieces[0].times.dtype.kind == "M" else ""
    looks = [RecordingInfo(path, 0, ()) for path in steps]
    kinds = list_kinds(looks, lambda look: f"{max(b for b in bounds if b <= steps[look.path]):.4g}{unit}")
    note = f"the recordings are sampled at different rates, with a step of {'; '.join(kinds)}"
    warnings.warn(f"{note}: resample(rate=...) makes them one", UserWarning, stacklevel=find_stack_level())
    return [note]


def _note_constant_channels(pieces: list[ParsedFile]) -> list[str]:
    """A note, and a warning, where a channel is one whole number in every file, and not in all the same.

    That is who or what was recorded, and no measurement: a classifier that is given it knows the answer.
    """
    names = pieces[0].names
    if names is None or len(pieces) < 2 or pieces[0].values.ndim != 2:
        return []
    steady = np.all([(one.values == one.values[:1]).all(axis=0) for one in pieces], axis=0)
    firsts = np.stack([one.values[0] for one in pieces])
    constant = [name for name, still, first in zip(names, steady, firsts.T, strict=True)
             if still and (first == np.floor(first)).all() and (first != first[0]).any()]  # fmt: skip
    if not constant:
        return []
    note = f"one whole number throughout each file is taken for a channel: {', '.join(map(repr, constant))}"
    way = "name it with label= or group= if it says what or who was recorded, or leave it out with values=[...]"
    warnings.warn(f"{note}: {way}", UserWarning, stacklevel=find_stack_level())
    return [note]


def _typical_interval(one: ParsedFile) -> float | None:
    """The usual time between two samples, in seconds for dates."""
    if one.times is None or len(one.lengths) > 1 or len(one.times) < 2:
        return None
    steps = np.sort(np.diff(one.times[: _MAX_SAMPLES + 1]))
    step = steps[len(steps) // 2]
    interval = float(step / np.timedelta64(1, "s")) if steps.dtype.kind == "m" else float(step)
    return interval if interval > 0 else None


def _note_repeated_times(pieces: list[ParsedFile]) -> list[str]:
    repeating = [one.path.name for one in pieces if one.times is not None and len(one.lengths) == 1
             and bool((one.times[1:] == one.times[:-1]).any())]  # fmt: skip
    if not repeating:
        return []
    more = f" and {len(repeating) - _MAX_LISTED} others" if len(repeating) > _MAX_LISTED else ""
    return [f"times repeat in {', '.join(repeating[:_MAX_LISTED])}{more}: merge_duplicates() makes one sample of each"]
