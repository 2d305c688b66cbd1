"""The mutants as Markdown: shares by package and by operator, who survived, and who cannot be caught."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from benchmarks.mutation.excluded import BLOCKS
from benchmarks.mutation.mutants import LATER_PACKAGES, PACKAGES, Site, sites
from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

_ABOUT = """\
A mutant is the library with one small change: a comparison, a sign, a number, a statement left out. It is caught when a
test fails that passes without it. Each mutant is put into a copy of the tree and run against the tests of its package:
its folder in `tests/` and the examples in its docstrings, of these what reaches the changed line (of a test with many
parameters thirty cases at most), for at most 30 seconds of processor time (for defaults and constants, which an import
executes, 30 seconds of tests that use the file and 30 of others). Mutants of the last two samples that survive
these are run against `tests/contract/` and `tests/models/` in the same way, which every package has to pass, in the
fifth sample from its first run on. Tests of other packages are not run: the shares are lower bounds.

When a test fails, the same tests up to that one are run in the same order without the mutant (since the fifth sample;
for the samples before it, `--control` has run every test that had caught a mutant without any: all that still exist
pass). A test that fails without a mutant is excluded, a mutant that the copy cannot be run with is not counted, and a
mutant that makes a test run for ever counts as caught if the tests end without it.

*Equivalent* are those that change nothing anybody could see, each with its reason below. *At first* is before tests
were written for those that had survived: of the first sample, what tests caught that were there before (a lower bound:
where a new test was quicker, slower old ones were not run). Not changed at all are strings, the text of an error or a
`repr`, annotations, decorators, assertions, what only the contract tests use (`_test_parameters`), and how much is done
at a time (last list). Files and functions have the names that they had when a row was made.
"""
_SAMPLES = [
    "First sample",
    "Second sample, drawn when tests for the first were written",
    "Third sample, drawn when tests for the second were written: its *at first* is the share to believe",
    "Prototypes, attacks, SRVP, Separation and distributions: a sample of their own, drawn when its tests were written",
    "Fifth sample, of the same packages, drawn when tests for the fourth were written: its *at first* is the share to "
    "believe for them",
]
_FORMER = ("recognize",)  # what prototypes and attacks were when their rows were made
_EVERY = (*PACKAGES, *_FORMER, *LATER_PACKAGES)


def headline(rows: Rows) -> str:
    """How many mutants are caught now, and how many were before tests were written for them."""
    counted = [mutant for mutant in rows.values() if _caught(mutant) or not reason(mutant)]
    if not counted:
        return no_rows_yet(rows, "which small changes of the library the tests notice")
    caught = sum(map(_caught, counted))
    first = sum(mutant["at_first"] != "survived" for mutant in counted)
    return (
        f"The tests notice {_share_of(caught, len(counted))} of {len(counted)} small changes of the library "
        f"(equivalent ones do not count), and noticed {_share_of(first, len(counted))} of them before tests were "
        f"written for those that survived; {len(counted) - caught} survive today."
    )


def _share_of(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %"


def body(rows: Rows) -> str:
    """Shares by package and operator, survivors, and mutants that cannot be caught."""
    samples = sorted({row["sample"] for row in rows.values()})
    tables = [_sample(rows, sample) for sample in samples]
    parts = [*tables[:1], _ABOUT, *tables[1:], _equivalents(rows), _blocks()]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _sample(rows: Rows, sample: int) -> str:
    mutants = having(rows, sample=sample)
    heading = f"## {_SAMPLES[sample]}"
    packages = [(name, [m for m in mutants if m["room"] == name]) for name in _EVERY]
    operators = [
        (name, [m for m in mutants if m["operator"] == name]) for name in sorted({m["operator"] for m in mutants})
    ]
    parts = [heading, _shares("package", packages), _contract(mutants), _shares("operator", operators)]
    return "\n\n".join(part for part in [*parts, _survivors(mutants)] if part)


def _contract(mutants: list[Found]) -> str:
    """How many were caught only by tests of all packages."""
    theirs = [m for m in mutants if m["outcome"] == "caught" and m["by"].startswith(("tests/contract", "tests/models"))]
    first = [m for m in theirs if m["at_first"] != "survived"]
    if not theirs:
        return ""
    return f"Of those caught, {len(theirs)} ({len(first)} at first) are caught by `tests/contract/` or `tests/models/`."


def _shares(what: str, groups: list[tuple[str, list[Found]]]) -> str:
    everything = [mutant for _, mutants in groups for mutant in mutants]
    counts = ["mutants", "caught", "of them hung", "survived", "equivalent"]
    shares = [f"{when} caught of {which}" for when in ("at first", "now") for which in ("all", "all but equivalent")]
    lines = [_line(name, mutants) for name, mutants in [*groups, ("all", everything)] if mutants]
    return table([what, *counts, *shares], lines)


def _line(name: str, mutants: list[Found]) -> list[str]:
    equivalent = [m for m in mutants if not _caught(m) and reason(m)]
    others = [m for m in mutants if m not in equivalent]
    caught, first = [m for m in mutants if _caught(m)], [m for m in others if m["at_first"] != "survived"]
    hung = [m for m in caught if m["outcome"] == "hung"]
    counts = map(len, [mutants, caught, hung, [m for m in others if not _caught(m)], equivalent])
    shares = [_share(some, of) for some in (first, caught) for of in (mutants, others)]
    return [name, *map(str, counts), *shares]


def _caught(mutant: Found) -> bool:
    """By a test, or because one does not end; what only takes longer for a known reason is not caught by that."""
    return mutant["outcome"] == "caught" or (mutant["outcome"] == "hung" and not reason(mutant))


def _share(some: list[Found], of: list[Found]) -> str:
    return f"{100 * len(some) / len(of):.1f} %" if len(of) else "–"


def name(mutant: Found) -> str:
    """As in `equivalent.toml`."""
    return "/".join(str(mutant[field]) for field in ("file", "function", "operator", "was", "becomes", "nth"))


@cache
def reasons() -> dict[str, str]:
    """Why mutants cannot be told from the library, by name."""
    path = Path(__file__).with_name("equivalent.toml")
    return dict(tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def reason(mutant: Found) -> str:
    return reasons().get(name(mutant), "")


def _survivors(mutants: list[Found]) -> str:
    left = [mutant for mutant in mutants if not _caught(mutant) and not reason(mutant)]
    if not left:
        return "None is left."
    return "### Survived\n\n" + "\n".join(_told(mutant) for mutant in _ordered(left))


def _equivalents(rows: Rows) -> str:
    known = [mutant for mutant in rows.values() if not _caught(mutant) and reason(mutant)]
    lines = [f"{_told(mutant)}: {reason(mutant)}" for mutant in _ordered(known)]
    return "## Equivalent\n\n" + "\n".join(lines) if lines else ""


def _blocks() -> str:
    lines = [
        f"- `{file}`: " + ", ".join(f"`{name}` ({why})" for name, why in names.items())
        for file, names in BLOCKS.items()
    ]
    return "## Never changed: how much is done at a time\n\n" + "\n".join(lines)


def _told(mutant: Found) -> str:
    place = f"`{mutant['file']}` {mutant['line']}" + (f", `{mutant['function']}`" if mutant["function"] else "")
    change = f"- {place}: {_code(mutant['was'])} → {_code(mutant['becomes'])}"
    site = _sites(mutant["room"]).get(name(mutant))
    # another one has its name by now where its function was edited: its line tells
    line = mutant.get("text") or (site.text if site and site.node.lineno == mutant["line"] else "")
    change += f" in {_code(line)}" if line and line != mutant["was"] else ""
    return change if site else f"{change} (since renamed, edited or removed)"


@cache
def _sites(package: str) -> dict[str, Site]:
    """Every mutant of the code as it is, by name."""
    return {site.mutant.name: site for site in sites(package)}


def _code(text: str) -> str:
    return "`" + " ".join(text.split()) + "`"


def _ordered(mutants: Iterable[Found]) -> list[Found]:
    return sorted(mutants, key=lambda mutant: (_EVERY.index(mutant["room"]), mutant["file"], mutant["line"]))
