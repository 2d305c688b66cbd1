"""The layout that all benchmark pages share: the result first, then how to repeat it, caveats, and the rows' origin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.papers.clock import duration
from benchmarks.papers.markdown import count_of
from benchmarks.papers.results import Rows, machines

SHOWN = 4  # keys of missing rows that are named


def assemble_page(
    title: str, headline: str, body: str, repeat: str, caveats: Sequence[str], origin: str, notice: str = ""
) -> str:
    """A whole page; parts that are empty are left out. A notice about the rows stands below the headline."""
    listed = "\n".join(f"- {one}" for one in caveats if one)
    parts = [f"# {title}", headline, notice, body.strip("\n"), repeat, listed and f"## Caveats\n\n{listed}", origin]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def no_rows_yet(rows: Rows, what: str) -> str:
    """The headline of a page that has no row at all, or none of what it is about.

    >>> no_rows_yet({}, "how fast it is")
    'No row is finished yet, so nothing can be said about how fast it is.'
    >>> no_rows_yet({"a/0": {}}, "how fast it is")
    'There are no rows yet that say anything about how fast it is.'
    """
    if rows:
        return f"There are no rows yet that say anything about {what}."
    return f"No row is finished yet, so nothing can be said about {what}."


def how_to_repeat(command: str, data: str, rows: Rows) -> str:
    """The command, the data it reads, how long the rows took, and on which machine."""
    parts = [f"## How to repeat it\n\n```console\n{command}\n```", data]
    if rows:
        took = duration(sum(row["seconds"] for row in rows.values() if "seconds" in row))
        parts.append(
            f"The {count_of(len(rows), 'row')} of this page took {took} in all "
            f"({machines(rows) or 'machine unknown'}). Other programs ran on the same machine, so times are upper "
            "bounds. Finished rows are kept: the program only computes those that are missing."
        )
    return "\n\n".join(part for part in parts if part)


def describe_missing(planned: Iterable[str], rows: Rows) -> str:
    """How many of the planned rows are not finished, and the first of them; nothing where all are."""
    keys = list(planned)
    missing = [key for key in keys if key not in rows]
    if not missing or not rows:
        return ""
    named = ", ".join(f"`{key}`" for key in missing[:SHOWN])
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    verb = "is" if len(missing) == 1 else "are"
    return f"{len(missing)} of {count_of(len(keys), 'planned row')} {verb} missing: {named}{more}."


def describe_seeds(rows: Rows) -> str:
    """How many seeds the settings have; nothing for rows without seeds.

    >>> describe_seeds({"a/0": {"seed": 0}, "b/0": {"seed": 0}, "b/1": {"seed": 1}})
    '1 of 2 settings has one seed only; differences between single seeds may be chance.'
    >>> describe_seeds({"a/0": {"seed": 0}})
    'There is one seed only, so differences between methods may be chance.'
    """
    seeded = [key for key, row in rows.items() if "seed" in row]
    counts: dict[str, int] = {}
    for key in seeded:
        setting = key.rpartition("/")[0]
        counts[setting] = counts.get(setting, 0) + 1
    single = sum(count == 1 for count in counts.values())
    if not single:
        return ""
    if single == len(counts):
        return "There is one seed only, so differences between methods may be chance."
    have = "has" if single == 1 else "have"
    return f"{single} of {len(counts)} settings {have} one seed only; differences between single seeds may be chance."
