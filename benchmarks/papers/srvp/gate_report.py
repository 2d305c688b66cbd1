"""The page about the first gate: errors within and after the trained length, and whether they are halved."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import format_mean, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

SPANS = {"within": "t+1…t+20", "after": "t+21…t+30"}
SIMPLE = ("Persistence", "Mean")


HALF = 0.5  # the target: of the error of the better simple forecast


def headline(rows: Rows) -> str:
    """SRVP beside the better of two simple forecasts and beside ridge regression, in both spans."""
    parts = []
    for span, title in SPANS.items():
        ratios = _ratios(rows, "SRVP", span)
        if ratios:
            met = "met" if max(ratios) <= HALF else "NOT met"
            ridge = _ratios(rows, "Ridge", span)
            beside = f"ridge regression {mean(ridge):.2f}; " if ridge else ""
            parts.append(f"{mean(ratios):.2f} over {title} ({beside}target {met})")
    if not parts:
        return no_rows_yet(rows, "SRVP on noisy sine waves")
    return (
        "After 400 training steps on noisy sine waves, SRVP's squared error divided by that of the better of "
        f"persistence and the training mean is {' and '.join(parts)}; the target is {HALF}. The thesis has no such "
        "experiment."
    )


def body(rows: Rows) -> str:
    """Errors of both spans."""
    if not rows:
        return ""
    lines = [_line(rows, name) for name in _names(rows)]
    ratios = [f"of the better simple one, {title}" for title in SPANS.values()]
    head = ["method", *SPANS.values(), *ratios, "processor seconds"]
    return f"""{table(head, lines)}

200 series of 12 noisy sine channels (periods are shared, phases and amplitudes are not): 120 to learn from, 40 others
for the test, 30 steps seen and 30 forecast, 400 training steps at the defaults. Squared errors, ± over seeds; noise of
deviation 0.1 leaves 0.01. Training chunks go 20 steps beyond the past, so both spans are shown. SRVP's forecast is the
mean of 20 futures. Ratios are shown for every seed.

{_verdict(rows)}"""


def _line(rows: Rows, name: str) -> list[str]:
    found = having(rows, method=name)
    errors = [format_mean([row[span] for row in found], ".4f") for span in SPANS]
    ratios = [" · ".join(f"{one:.3f}" for one in _ratios(rows, name, span)) or "–" for span in SPANS]
    return [name, *errors, *ratios, format_mean([row["processor seconds"] for row in found], ".1f")]


def _ratios(rows: Rows, name: str, span: str) -> list[float]:
    """The error over that of the better simple forecast, for every seed that has both."""
    found = []
    for row in having(rows, method=name):
        simple = [other[span] for one in SIMPLE for other in having(rows, method=one, seed=row["seed"])]
        if len(simple) == len(SIMPLE):
            found.append(row[span] / min(simple))
    return found


def _verdict(rows: Rows) -> str:
    said = []
    for name in ("SRVP", "Separation"):
        for span, title in SPANS.items():
            ratios = _ratios(rows, name, span)
            if ratios:
                met = "met" if max(ratios) <= HALF else "NOT MET"
                said.append(f"{name}, {title}: **{met}** (at most {max(ratios):.3f} in {len(ratios)} seeds)")
    return "\n".join(["## Target", "", *(f"- {one}" for one in said), "", _ahead(rows)]).rstrip() if said else ""


def _ahead(rows: Rows) -> str:
    """Who else is ahead of SRVP, by means over seeds."""
    parts = []
    for span, title in SPANS.items():
        means = {name: mean(row[span] for row in having(rows, method=name)) for name in _names(rows)}
        ours = means.get("SRVP")
        if ours is not None and (
            better := sorted((name for name in means if means[name] < ours), key=means.__getitem__)
        ):
            shown = ", ".join(f"{name} ({means[name]:.4f})" for name in better)
            parts.append(f"Over {title} SRVP ({ours:.4f}) is behind {shown}.")
    return "\n".join(parts)


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows.values()))
