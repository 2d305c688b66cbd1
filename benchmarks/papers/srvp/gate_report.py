"""The page about the first gate: errors within and after the trained length, and whether they are halved."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import spread, table
from benchmarks.papers.results import Rows, having, told

SPANS = {"within": "t+1…t+20", "after": "t+21…t+30"}
SIMPLE = ("Persistence", "Mean")


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    lines = [_line(rows, name) for name in _names(rows)]
    ratios = [f"of the better simple one, {title}" for title in SPANS.values()]
    head = ["method", *SPANS.values(), *ratios, "processor seconds"]
    return f"""{told(rows)} The machine was shared.

200 series of 12 noisy sine channels (periods are shared, phases and amplitudes are not): 120 to learn from, 40 others
asked about, 30 steps seen and 30 forecast, 400 steps of training at the defaults. Squared errors, ± over seeds; noise
of deviation 0.1 leaves 0.01. The gate is half the error of the better of persistence and the training mean; it names no
horizon, and chunks of the training go 20 steps beyond the past, so both spans are told apart. SRVP's forecast is the
mean of 20 futures. Every seed's ratio is shown.

{table(head, lines)}

{_verdict(rows)}"""


def _line(rows: Rows, name: str) -> list[str]:
    found = having(rows, method=name)
    errors = [spread([row[span] for row in found], ".4f") for span in SPANS]
    ratios = [" · ".join(f"{one:.3f}" for one in _ratios(rows, name, span)) or "–" for span in SPANS]
    return [name, *errors, *ratios, spread([row["processor seconds"] for row in found], ".1f")]


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
                met = "met" if max(ratios) <= 0.5 else "NOT MET"
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
