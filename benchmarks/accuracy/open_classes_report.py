"""The page about classes that were not learned: a table of equal error rates, and where Fused stands."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

from timelike.score import interval

METHODS = (
    "DTW per length",
    "Rocket",
    "Whitened",
    "Discriminant, known",
    "Discriminant",
    "Discriminant, open",
    "Fused",
)
PARTS = ("DTW per length", "Discriminant, open")


def errors(rows: Rows, dataset: str, method: str) -> list[float]:
    """Of every finished draw."""
    return [row["eer"] for row in having(rows, dataset=dataset, method=method)]


def headline(rows: Rows, sets: tuple[str, ...]) -> str:
    """Fused beside DTW on classes that were not learned."""
    means = {method: found for method in METHODS if (found := _mean_over(rows, sets, method)) is not None}
    if "Fused" not in means:
        return no_rows_yet(rows, "classes that were not learned, for all data sets")
    cheap = means.get("DTW per length")
    beside = f", where DTW divided by length, the cheap rival, has {cheap:.3f}" if cheap is not None else ""
    best = min(means, key=means.__getitem__)
    lead = "the lowest of all" if best == "Fused" else f"{best} has {means[best]:.3f}"
    return (
        "`Fused`, the sum of DTW and a discriminant, tells classes that were not learned apart with a mean equal "
        f"error rate of {means['Fused']:.3f} over {len(sets)} data sets ({lead}){beside}. {_verdict(rows, sets)}"
    )


def _mean_over(rows: Rows, sets: tuple[str, ...], method: str) -> float | None:
    found = [mean(some) for name in sets if (some := errors(rows, name, method))]
    return mean(found) if len(found) == len(sets) else None


def body(rows: Rows, sets: tuple[str, ...]) -> str:
    """Equal error rates over draws, and of draw 0 alone."""
    if not rows:
        return ""
    return f"""{_table(rows, sets)}

Two thirds of the classes are known, and metrics learn from training sequences of these; equal error rates are those of
all pairs of test sequences of the other classes. Draw 0 knows the first two thirds of the classes in the order of
their labels, other draws are random. ± is half of the 95 % interval over draws of the known classes (Student's t).

`Rocket` is the Euclidean distance of its features; `Discriminant` alone has `classes="both"`, its default; `Fused` is
`Fused([DTW(normalize="length"), Discriminant(classes="open")])`.

## Draw 0 alone

{_first(rows, sets)}
"""


def caveats() -> list[str]:
    return [
        "Options were chosen on CricketX, Lightning7 and NATOPS, and NATOPS is one of the five. Two constants (the "
        "floor of all directions, and how far weights are drawn together where classes are few) were set on these "
        "three after rows of the five had been seen, so the table is somewhat optimistic."
    ]


def _table(rows: Rows, sets: tuple[str, ...]) -> str:
    lines = [[name, *(_said(errors(rows, name, method)) for method in METHODS)] for name in sets]
    means = ([mean(some) for name in sets if (some := errors(rows, name, method))] for method in METHODS)
    lines.append(["*mean*", *(f"{mean(some):.3f}" if len(some) == len(sets) else "–" for some in means)])
    return table(["data set", *METHODS], lines)


def _said(some: list[float]) -> str:
    if len(some) < 2:
        return f"{some[0]:.3f}" if some else "–"
    found = interval(some)
    return f"{found.mean:.3f} ± {found.half_width:.3f}"


def _first(rows: Rows, sets: tuple[str, ...]) -> str:
    lines = []
    for name in sets:
        found = (having(rows, dataset=name, method=method, draw=0) for method in METHODS)
        lines.append([name, *(f"{some[0]['eer']:.3f}" if some else "–" for some in found)])
    return table(["data set", *METHODS], lines)


def _verdict(rows: Rows, sets: tuple[str, ...]) -> str:
    """Where Fused is no worse than the better of its parts, by means over draws."""
    better = []
    for name in sets:
        own, *others = (errors(rows, name, method) for method in ("Fused", *PARTS))
        if not own or not all(len(some) == len(own) for some in others):
            return "Rows of Fused or of its parts are missing, so they cannot be compared yet."
        better.append(mean(own) <= min(map(mean, others)))
    return f"It is no worse than the better of its two parts on {sum(better)} of {len(sets)}."
