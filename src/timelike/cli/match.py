"""`timelike match`: where a pattern occurs in a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options.data import DataOptions, select_channels, sequence_names, with_data_options
from .output import AsJson, emit, format_cell, format_table, json_fields, to_json
from .standard_input import read_samples

if TYPE_CHECKING:
    from ..sequences import Sequences

STANDARD_INPUT = "-"


@json_fields(
    matches="list of objects: stream (text), start, stop (steps, stop excluded) and distance (numbers), the nearest "
    "first; live, every match is a line of its own, as soon as it is certain"
)
@with_data_options
def match(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A file; of several sequences the first is taken.")],
    stream: Annotated[
        str,
        typer.Argument(
            metavar="STREAM",
            help="A file, or - for standard input: a line of numbers for every step, below a header or not.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option("-k", help="How many matches at most in every stream, unless it is live; 1 by default.", min=1),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The largest distance of a match; standard input is then searched live.", min=0)
    ] = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="Compare shapes, at any level and scale.")] = False,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Find a pattern in a stream, or in a live one on standard input.

    Examples:
      timelike match query.npz query.npz
      sensor | timelike match wave.csv - --threshold 2.5
    """
    from ..align import subsequence

    is_live = stream == STANDARD_INPUT and threshold is not None
    if is_live and k is not None:
        raise typer.BadParameter(
            "a live search prints every match as it comes: leave -k out, or --threshold to rank the whole input",
            param_hint="'-k'",
        )
    known = data.load(pattern)
    known.refuse_missing("matching", pattern)
    query = known[0]
    if is_live and threshold is not None:
        _match_live(query, known.channel_names, threshold, normalize, as_json)
        return
    found = []
    for name, one in _read_streams(stream, known, data):
        nearest = subsequence(query, one, k or 1, normalize=normalize, max_distance=threshold)
        found += [_to_fields(name, one_match) for one_match in nearest]
    found.sort(key=lambda fields: fields["distance"])
    columns = ("stream", "start", "stop", "distance")
    text = format_table(columns, [[fields[name] for name in columns] for fields in found]) if found else "no match"
    emit("match", {"matches": found}, text, as_json)


def _match_live(query: Any, channels: tuple[str, ...] | None, threshold: float, normalize: bool, as_json: bool) -> None:
    """Print every match as soon as it is certain, and those that are open when the input ends."""
    from ..align import Spring

    spring = Spring(query, threshold=threshold, normalize=normalize)
    for sample in read_samples(query.shape[1], channels):
        _print_live(spring.push(sample), as_json)
    _print_live(spring.flush(), as_json)


def _print_live(matches: list[Any], as_json: bool) -> None:
    for one in matches:
        fields = _to_fields(STANDARD_INPUT, one)
        text = f"{fields['start']}–{fields['stop']}  distance {format_cell(fields['distance'])}"
        typer.echo(to_json("match", {"matches": [fields]}) if as_json else text)
        sys.stdout.flush()


def _read_streams(source: str, pattern: Sequences, data: DataOptions) -> Iterator[tuple[str, Any]]:
    if source == STANDARD_INPUT:
        steps = list(read_samples(pattern.frame[0], pattern.channel_names))
        if not steps:
            raise ValueError("standard input has only a header: expected a line of numbers for every step")
        yield source, steps
        return
    X = select_channels(data.load(source), pattern.channel_names, source)
    X.refuse_missing("matching", source)
    if X.frame != pattern.frame:
        described = [", ".join(one.channel_names or ()) or f"{one.frame} without names" for one in (pattern, X)]
        raise ValueError(f"PATTERN has {described[0]} and {source} {described[1]}: choose the same with --values")
    yield from zip(sequence_names(X), X, strict=True)


def _to_fields(stream: str, one: Any) -> dict[str, Any]:
    return {"stream": stream, "start": int(one.start), "stop": int(one.stop), "distance": float(one.distance)}
