"""The page about false accepts: what was asked for, what came, and what a rank over pairs would have given."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows


def needed(rate: float) -> int:
    """How many people a rate needs."""
    return 2 * round(1 / rate) - 2


def headline(rows: Rows) -> str:
    """How many promised rates of false accepts are kept, beside the simpler rule."""
    if not rows:
        return no_rows_yet(rows, "how many impostors a calibrated verifier accepts")
    cells = [(row, i, rate) for row in rows.values() for i, rate in enumerate(row["rates"])]
    promised = [(row, i, rate) for row, i, rate in cells if row["people"] >= needed(rate)]
    kept = sum(keeps(row["accepted"][i], rate) for row, i, rate in promised)
    simple = sum(keeps(row["accepted by pairs"][i], rate) for row, i, rate in promised)
    ours, before = (
        sum(keeps(row[name][i], rate) for row, i, rate in cells) for name in ("accepted", "accepted by pairs")
    )
    return (
        f"Of {len(promised)} rates of false accepts that a calibrated `Verifier` promises it keeps {kept}; a rank over "
        f"all pairs, the simpler rule, keeps {simple}. Of all {len(cells)} rates, including those that so few people "
        f"cannot promise, {ours} are kept, and {before} by the simpler rule."
    )


def body(rows: Rows) -> str:
    """Impostors accepted, then genuine claims rejected."""
    if not rows:
        return ""
    return f"""## Impostors accepted

{_table(rows, False)}

Shares of impostors accepted among people who were not there when the threshold was set, averaged over many
calibrations. **Bold** rates were promised and kept; plain ones are rates that so few people cannot promise, about
which `calibrate` warns; ✗ marks a promise broken by more than two standard errors. In brackets is what the rank over
all pairs accepts, the earlier rule. `near` are people of whom nobody is special, of `wolves` one in ten resembles many
others, `families` are four groups of people who resemble each other.

## What it costs: genuine claims rejected

{_table(rows, True)}

In brackets: rejected by the rank over pairs. The people overlap, so a rank over pairs rejects genuine claims too.
Where a rate cannot be promised, the threshold keeps it for every two people of the calibration set and rejects many
claims; where it can, the price falls with the number of people. """


def caveats() -> list[str]:
    return ["The people are simulated; rates are judged up to two standard errors of the simulation."]


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
