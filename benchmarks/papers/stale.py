"""What a page says of the code behind its rows: which rows are stale, by what each was made, and what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from benchmarks.numerics.ledger import Ledger, Version
from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.results import Found, Rows

TITLE = "Rows and the code they were made by"
LISTED = 12  # rows that are named one by one at the end of a page
PROTOCOL = "protocol"  # of the program itself, beside the systems of the library
UNCHECKED = "made before numerics versions, not re-checked"

State = Literal["fresh", "redrawn", "stale", "unknown"]


def changes_since(row: Found, ledger: Ledger, protocol: int) -> dict[str, list[Version]]:
    """Systems that have newer versions than those a row was made with, and `protocol` where the program has."""
    found = {}
    for name, version in row.get("numerics", {}).items():
        if name == PROTOCOL and protocol > version:
            found[name] = [Version(protocol, "", "", "The program measures something else.")]
        elif name in ledger.entries and (newer := ledger.entries[name].since(version)):
            found[name] = newer
    return found


def changed_systems(row: Found, ledger: Ledger, protocol: int) -> list[str]:
    """Those of them that compute something else, not only with other random numbers."""
    changes = changes_since(row, ledger, protocol)
    return [name for name, newer in changes.items() if not all(one.draws for one in newer)]


def state_of(row: Found, ledger: Ledger, protocol: int) -> State:
    """Stale where a system has changed since, redrawn where only its draws have, unknown where nobody looked."""
    if changed_systems(row, ledger, protocol):
        return "stale"
    if "numerics" not in row or row.get("unchecked"):
        return "unknown"
    return "redrawn" if changes_since(row, ledger, protocol) else "fresh"


def top_mark(rows: Rows, ledger: Ledger, protocol: int, subject: Iterable[str]) -> str:
    """One sentence for the top of the page where rows of the method that it is about are stale; otherwise nothing.

    Stale rows of rivals are told at the end of the page alone.
    """
    changed = []
    for row in rows.values():
        systems = changed_systems(row, ledger, protocol)
        own = PROTOCOL in systems or not {*subject}.isdisjoint(row.get("numerics", {}))
        changed.append(systems if own else [])
    systems = sorted({name for names in changed for name in names})
    if not systems:
        return ""
    count, n = sum(map(bool, changed)), len(rows)
    which = f"All {n} rows" if count == n else f"{count} of {n} rows"
    named = join_words(["this program" if name == PROTOCOL else f"`{name}`" for name in systems])
    said = f"{which} {'was' if count == 1 else 'were'} made before the numbers of {named} changed"
    return f"**{said}**: see [which](#{TITLE.lower().replace(' ', '-')})."


def end_section(rows: Rows, ledger: Ledger, protocol: int) -> str:
    """The end of the page: a line for all rows that were made alike, and the keys of those that are stale."""
    alike = dict[tuple[str, ...], list[str]]()
    for key, row in rows.items():
        made = (str(row.get(name, "?")) for name in ("date", "version", "commit"))
        alike.setdefault((*made, _describe(row, ledger, protocol)), []).append(key)
    lines = [[*made[:3], str(len(keys)), made[3]] for made, keys in sorted(alike.items())]
    stale = [key for key, row in rows.items() if state_of(row, ledger, protocol) == "stale"]
    which = f"\nStale: {_name_rows(stale, rows)}.\n" if 0 < len(stale) < len(rows) else ""
    return f"""\
## {TITLE}

A row carries the numerics versions of the systems it stands on, and is stale when one of them computes something else
now (`python -m benchmarks.numerics`); where a seed merely draws other random numbers, it is as good as one of another
seed. It is made anew when it is taken out of the `.json` and the program is run.

{table(["made", "timelike", "commit", "rows", "numerics since then"], lines)}
{which}"""


def _name_rows(keys: list[str], rows: Rows) -> str:
    """The keys of a few rows; of many the methods, and how many of the rows of each."""
    if len(keys) <= LISTED:
        return ", ".join(keys)
    method = {key: str(row.get("method") or row.get("subject") or key) for key, row in rows.items()}
    every, some = Counter(method.values()), Counter(method[key] for key in keys)
    return ", ".join(f"{name} ({count} of {every[name]})" for name, count in some.items())


def _describe(row: Found, ledger: Ledger, protocol: int) -> str:
    changes = changes_since(row, ledger, protocol)
    reasons = "; ".join(f"`{name}`: {' '.join(one.why for one in newer)}" for name, newer in changes.items())
    unchecked = ", ".join(f"`{name}`" for name in row.get("unchecked", ()))
    words = {
        "fresh": "unchanged",
        "redrawn": f"other random draws: {reasons}",
        "stale": f"**stale**: {reasons}",
        "unknown": f"unknown: {UNCHECKED}" + (f" ({unchecked})" if unchecked else ""),
    }
    return words[state_of(row, ledger, protocol)]
