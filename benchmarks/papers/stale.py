"""What a page says of the code behind its rows: which rows are stale, by what each was made, and what has changed."""

from __future__ import annotations

from benchmarks.papers.code import Sources
from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, ResultFile

TITLE = "Rows and the code they measure"
UNKNOWN = "not recorded"
SHOWN = 6  # modules that are named, of those that have changed


def reasons(results: ResultFile, sources: Sources) -> dict[str, list[str]]:
    """State of the code → what has changed since; the empty state is that of rows that do not say."""
    return {"": [UNKNOWN]} | {name: sources.changed(code) for name, code in results.codes.items()}


def stale(results: ResultFile, sources: Sources) -> list[str]:
    """Keys of the rows whose code is another now, or was never recorded."""
    changed = reasons(results, sources)
    return [key for key, row in results.rows.items() if changed[_state(row)]]


def warned(results: ResultFile, sources: Sources) -> str:
    """One sentence for the top of the page."""
    old, n = stale(results, sources), len(results.rows)
    if not old:
        return f"No row of {n} is stale: the code that they measure does what it did." if n else "No row yet."
    unknown = sum(not _state(results.rows[key]) for key in old)
    counts = {"was not recorded": unknown, "has changed since": len(old) - unknown}
    why = " and ".join(f"{count} by code that {so}" for so, count in counts.items() if count)
    much = f"{len(old)} of {n} rows are stale" if len(old) < n else f"All {n} rows are stale" if n > 1 else "Stale"
    return f"**{much}**{_which(old, list(results.rows))}: {why}; see [the list](#{TITLE.lower().replace(' ', '-')})."


def _which(old: list[str], rows: list[str]) -> str:
    """By the shorter list: these, or all but those."""
    new = [key for key in rows if key not in old]
    if not new:
        return ""
    return f" ({', '.join(old)})" if len(old) <= len(new) else f" (all but {', '.join(new)})"


def listed(results: ResultFile, sources: Sources) -> str:
    """The end of the page: a line for all rows that were made alike."""
    changed, alike = reasons(results, sources), dict[tuple[str, ...], list[str]]()
    for key, row in results.rows.items():
        alike.setdefault((*(row.get(name, "?") for name in ("date", "version", "commit")), _state(row)), []).append(key)
    lines = [[*made[:3], str(len(keys)), _since(changed[made[3]])] for made, keys in sorted(alike.items())]
    return f"""\
## {TITLE}

A row is stale when a module that was loaded while it was made does something else now (comments, docstrings and the
pages' own words do not count), or when it was made before rows carried their code. It is worked out again when it is
taken out of the `.json` and the program is run.

{table(["made", "timelike", "commit", "rows", "the code since then"], lines)}
"""


def _state(row: Found) -> str:
    return str(row.get("code", ""))


def _since(modules: list[str]) -> str:
    more = f" and {len(modules) - SHOWN} more" if len(modules) > SHOWN else ""
    said = ", ".join(name if name == UNKNOWN else f"`{name}`" for name in modules[:SHOWN])
    return f"**stale**: {said}{more}" if modules else "unchanged"
