"""The renderer of all benchmark pages: the result first, then tables, how to repeat it, caveats, and the rows' origin.

The prose of a page is a Markdown template beside its program. `{NAME}` stands for a constant of the program's module,
`{function}` for what a function of the module makes of the rows, and `{function words}` gives the words to it as well.
A paragraph whose rows are missing is left out, and so is a section that has lost all its fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import StatisticsError, mean
from typing import Any

from benchmarks.papers.clock import duration
from benchmarks.papers.markdown import count_of, format_mean, table
from benchmarks.papers.results import Found, Rows, having, machines

SHOWN = 4  # keys of missing rows that are named
CAVEATS = "## Caveats"
_FIELD = re.compile(r"\{([A-Za-z_]\w*)(?: ([^{}]+))?\}")


# --- rows that may be missing


class MissingRows(LookupError):
    """A sentence, a table or a section needs rows that are not finished."""


NOTHING = (MissingRows, StatisticsError)  # the mean of no rows is as good as no rows


def need(rows: Rows, **fields: Any) -> list[Found]:
    """The rows with these values; `MissingRows` if there is none."""
    selected = having(rows, **fields)
    if not selected:
        raise MissingRows(f"no row has {fields}")
    return selected


def average(rows: Rows, name: str, **fields: Any) -> float:
    """The mean of a number over the rows with these values, of which there must be one.

    >>> average({"a/0": {"method": "a", "error": 0.5}, "a/1": {"method": "a", "error": 1.0}}, "error", method="a")
    0.75
    """
    return float(mean(row[name] for row in need(rows, **fields)))


def names(rows: Rows | Iterable[Found], field: str = "method") -> list[str]:
    """The values of a field, in the order of the rows.

    >>> names([{"method": "b"}, {"method": "a"}, {"method": "b"}])
    ['b', 'a']
    """
    return list(dict.fromkeys(row[field] for row in (rows.values() if isinstance(rows, dict) else rows)))


def clause(write: Callable[..., str], *arguments: object) -> str:
    """What is written of the arguments, such as a part of a sentence; nothing if its rows are missing."""
    try:
        return write(*arguments)
    except NOTHING:
        return ""


def sentences(*writers: Callable[[], str]) -> str:
    """The sentences whose rows are there; `MissingRows` if there is none."""
    written = " ".join(filter(None, map(clause, writers)))
    if not written:
        raise MissingRows("no sentence has its rows")
    return written


# --- tables: groups of rows down, what is computed of a group across

Cell = Callable[[Sequence[Found]], str]


def group_by(rows: Rows | Iterable[Found], field: str = "method") -> dict[str, list[Found]]:
    """The rows of every value of a field, in the order of the rows."""
    groups: dict[str, list[Found]] = {}
    for row in rows.values() if isinstance(rows, dict) else rows:
        groups.setdefault(row[field], []).append(row)
    return groups


def tabulate(first: str, groups: Mapping[str, Sequence[Found]], columns: Mapping[str, Cell]) -> str:
    """A line for every group that has rows; a cell without rows is a dash, a table without lines is missing.

    >>> print(tabulate("method", {"Mean": [{"error": 0.5}], "Ridge": []}, {"error": mean_cell("error"), "n": count}))
    | method | error | n |
    |---|---:|---:|
    | Mean | 0.500 | 1 |
    """
    lines = [[name, *(_fill_cell(cell, rows) for cell in columns.values())] for name, rows in groups.items() if rows]
    if not lines:
        raise MissingRows(f"no row for a table of {', '.join(columns)}")
    return table([first, *columns], lines)


def _fill_cell(cell: Cell, rows: Sequence[Found]) -> str:
    return clause(cell, rows) or "–"


def mean_cell(name: str, form: str = ".3f") -> Cell:
    """The mean of a number over the rows that have it."""
    return lambda rows: f"{mean(row[name] for row in rows if name in row):{form}}"


def spread_cell(name: str, form: str = ".3f") -> Cell:
    """The same, with the standard deviation where there are several rows."""
    return lambda rows: format_mean([row[name] for row in rows if name in row], form)


def count(rows: Sequence[Found]) -> str:
    """How many rows there are."""
    return str(len(rows))


# --- templates


def fill_template(template: str, values: Mapping[str, Any], rows: Rows) -> str:
    """The template with its fields replaced; what has no rows is left out.

    >>> values = {"N": 3, "count": lambda rows: str(len(rows)), "gap": lambda rows, name: need(rows, method=name)[0]}
    >>> print(fill_template("{count} of {N} rows.\\n\\n## Gaps\\n\\n{gap SRVP}", values, {"a": {"method": "Mean"}}))
    1 of 3 rows.
    """
    sections = re.split(r"^(?=#)", template.strip(), flags=re.MULTILINE)
    return "\n\n".join(filter(None, (_fill_section(section, values, rows) for section in sections)))


def _fill_section(section: str, values: Mapping[str, Any], rows: Rows) -> str:
    paragraphs = [paragraph for paragraph in re.split(r"\n\n+", section.strip()) if paragraph]
    filled = {paragraph: fill_paragraph(paragraph, values, rows) for paragraph in paragraphs}
    computed = [filled[one] for one in paragraphs if any(callable(values[name]) for name, _ in _FIELD.findall(one))]
    if computed and not any(computed):
        return ""
    return "\n\n".join(filter(None, filled.values()))


def fill_paragraph(paragraph: str, values: Mapping[str, Any], rows: Rows) -> str:
    """A paragraph with its fields replaced; nothing if their rows are missing."""

    def replace(field: re.Match[str]) -> str:
        value = values[field[1]]
        if not callable(value):
            return str(value)
        return str(value(rows, field[2]) if field[2] else value(rows)).strip("\n")

    return clause(lambda: _FIELD.sub(replace, paragraph)).strip()


def split_caveats(template: str) -> tuple[str, list[str]]:
    """The body of a template, and the caveats at its end, one by one.

    >>> split_caveats("{table}\\n\\n## Caveats\\n\\n- The data are\\n  simulated.\\n- {n} seeds.")
    ('{table}', ['The data are simulated.', '{n} seeds.'])
    """
    body, _, listed = template.partition(CAVEATS)
    items = re.split(r"^- ", listed, flags=re.MULTILINE)[1:]
    return body.strip(), [" ".join(item.split()) for item in items]


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


# --- the frame of a page


def assemble_page(
    title: str, headline: str, body: str, repeat: str, caveats: Sequence[str], origin: str, notice: str = ""
) -> str:
    """A whole page; parts that are empty are left out. A notice about the rows stands below the headline."""
    listed = bullets(filter(None, caveats))
    parts = [f"# {title}", headline, notice, body.strip("\n"), repeat, listed and f"{CAVEATS}\n\n{listed}", origin]
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
