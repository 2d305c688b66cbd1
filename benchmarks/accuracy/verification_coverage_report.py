"""The page about false accepts: what was asked for, what came, and what a rank over pairs would have given."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, told


def needed(rate: float) -> int:
    """How many people a rate needs."""
    return 2 * round(1 / rate) - 2


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    return f"""{told(rows)}

Shares of impostors that are accepted, of people who were not there when the threshold was set, in the mean over many
calibrations. **Bold** is what was promised and kept; plain are rates that so few people cannot promise, of which
`calibrate` warns; ✗ would be a promise that was broken by more than two standard errors. In brackets is what the rank
over all pairs accepts, which came before. `near` are people of whom nobody is special, of `wolves` one in ten is like
many others, `families` are four groups of people who are alike.

{_table(rows, False)}

{_kept(rows)}

What that costs: genuine claims that are rejected, and in brackets by the rank over pairs.

{_table(rows, True)}

The people overlap, so that a rank over pairs rejects genuine claims too. Where a rate cannot be promised the threshold
keeps it for every two people of calibration by themselves, and rejects many; where it can, the price of the promise
falls with the number of people.
"""


def _table(rows: Rows, rejected: bool) -> str:
    rates = next(iter(rows.values()))["rates"]
    lines = [
        [row["kind"], row["way"], str(row["people"]), str(row["each"])]
        + [_cell(row, i, rate, rejected) for i, rate in enumerate(rates)]
        for row in rows.values()
    ]
    return table(["people", "by", "number", "sequences each", *(f"at {rate:g}" for rate in rates)], lines)


def _cell(row: Found, i: int, rate: float, rejected: bool) -> str:
    if rejected:
        return f"{row['rejected'][i]['mean']:.3f} ({row['rejected by pairs'][i]['mean']:.3f})"
    found, pairs = row["accepted"][i], row["accepted by pairs"][i]
    said = f"{found['mean']:.4f}"
    if row["people"] >= needed(rate):
        said = f"**{said}**" + ("" if keeps(found, rate) else " ✗")
    return f"{said} ({pairs['mean']:.4f})"


def keeps(found: dict[str, float], rate: float) -> bool:
    """Whether a rate is kept, up to two standard errors of the simulation."""
    return found["mean"] <= rate + 2 * found["error"]


def _kept(rows: Rows) -> str:
    cells = [(row, i, rate) for row in rows.values() for i, rate in enumerate(row["rates"])]
    promised = [(row, i, rate) for row, i, rate in cells if row["people"] >= needed(rate)]
    kept = sum(keeps(row["accepted"][i], rate) for row, i, rate in promised)
    before = sum(keeps(row["accepted by pairs"][i], rate) for row, i, rate in cells)
    ours = sum(keeps(row["accepted"][i], rate) for row, i, rate in cells)
    return (
        f"Of {len(promised)} rates that were promised {kept} were kept. Of all {len(cells)}, those that were not "
        f"promised included, {ours} were, and {before} by the rank over pairs."
    )
