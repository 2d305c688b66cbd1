"""The page about intervals of backtests: how often they hold the true error."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows

from timelike.score import wilson_interval


def headline(rows: Rows) -> str:
    """The result, in one sentence."""
    if not rows:
        return no_rows_yet(rows, "how often intervals of backtests hold the true error")
    least, most = (end(rows.values(), key=_share) for end in (min, max))
    walks = "one walk" if least["n_sequences"] == 1 else f"{least['n_sequences']} walks"
    return (
        f"The 95 % intervals of `backtest` held the true error in {100 * _share(least):.0f} to "
        f"{100 * _share(most):.0f} % of backtests, least often with {walks} and {least['n_windows']} windows."
    )


def body(rows: Rows, keys: Iterable[str], horizon: int) -> str:
    """The table, and how it was made."""
    if not rows:
        return ""
    lines = [_line(rows[key]) for key in keys if key in rows]
    return f"""\
{table(["walks", "windows of each", "resampled", "interval holds the true error, %"], lines)}

Random walks, forecast by `Persistence`: the expected squared error {horizon} steps ahead is {horizon}. Shares of
backtests whose 95 % interval holds it, with Wilson's intervals of the shares. Windows begin one step apart, so that
neighbours share most of their future."""


def _share(found: Found) -> float:
    return float(found["covered"] / found["repetitions"])


def _line(found: Found) -> list[str]:
    share = wilson_interval(_share(found), found["repetitions"])
    unit = "whole walks" if found["n_sequences"] > 1 else "blocks of windows"
    shown = f"{100 * share.mean:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return [str(found["n_sequences"]), str(found["n_windows"]), unit, shown]
