"""Markers in Markdown around text that a query writes.

A number inside a sentence is marked like this, on one line and never at its start, where Markdown would take the
comment for a block of its own:

    Rocket has a mean accuracy of <!-- n: mean_score accuracy "Rocket + ridge" confirm -->0.904<!-- /n -->.

A table stands between two lines:

    <!-- table: method_means -->
    ...
    <!-- /table -->

The first word names a query in `queries.QUERIES`, the others are its arguments, split as a shell would.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Query = Callable[..., str]

_MARKED = re.compile(r"<!-- (?P<kind>n|table): (?P<call>.*?) -->(?P<text>.*?)<!-- /(?P=kind) -->", re.DOTALL)
_ENDS = re.compile(r"<!-- /?(?:n|table)\b.*?-->")


@dataclass(frozen=True)
class Difference:
    """A marked text that is not what its query gives, or a marker that cannot be read."""

    line: int
    call: str
    written: str
    computed: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.call}: written {self.written!r}, computed {self.computed!r}"


def update(page: str, queries: Mapping[str, Query]) -> tuple[str, list[Difference]]:
    """The page with every marked text computed again, and where that differs from what was written.

    >>> update('A mean of <!-- n: mean 1 2 -->7<!-- /n -->.', {"mean": lambda a, b: str((int(a) + int(b)) / 2)})[0]
    'A mean of <!-- n: mean 1 2 -->1.5<!-- /n -->.'
    """
    differences: list[Difference] = []

    def rewrite(found: re.Match[str]) -> str:
        kind, call, written = found["kind"], found["call"], found["text"]
        line = page.count("\n", 0, found.start()) + 1
        if kind == "n":
            _require_inside_line(page, found, line)
        computed = _run(call, queries, line)
        new = computed if kind == "n" else f"\n\n{computed}\n\n"
        if new != written:
            differences.append(Difference(line, call, written.strip(), computed))
        return f"<!-- {kind}: {call} -->{new}<!-- /{kind} -->"

    rewritten = _MARKED.sub(rewrite, page)
    stray = _ENDS.search(_MARKED.sub("", page))
    if stray:
        raise ValueError(f"{stray[0]}: a marker without its other end; expected <!-- n: query -->text<!-- /n -->")
    return rewritten, differences


def find_calls(page: str) -> list[tuple[str, str]]:
    """Every query that a page names, with the text that is written for it; of a table its number of lines."""
    return [
        (found["call"], found["text"] if found["kind"] == "n" else f"{len(found['text'].split(chr(10))) - 4} lines")
        for found in _MARKED.finditer(page)
    ]


def _require_inside_line(page: str, found: re.Match[str], line: int) -> None:
    start_of_line = page.rfind("\n", 0, found.start()) + 1
    if not page[start_of_line : found.start()].strip():
        raise ValueError(f"line {line}: {found['call']} begins its line, which ends the paragraph: wrap it elsewhere")
    if "\n" in found[0]:
        raise ValueError(f"line {line}: {found['call']} goes over the end of its line: expected both markers on one")


def _run(call: str, queries: Mapping[str, Query], line: int) -> str:
    name, *arguments = shlex.split(call)
    if name not in queries:
        raise ValueError(f"line {line}: no query is called {name!r}; there are {', '.join(sorted(queries))}")
    try:
        return queries[name](*arguments)
    except (LookupError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"line {line}: {call} cannot be computed: {type(error).__name__}: {error}") from error
