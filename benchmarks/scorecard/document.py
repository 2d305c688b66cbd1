"""The scorecard as Markdown: a page of the documentation, and the eight rows for the README."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.papers.clock import duration
from benchmarks.papers.markdown import count_of, join_words, table
from benchmarks.scorecard.rules import RULE, Claim, Outcome, System
from benchmarks.summaries import summary_link

PAGE, README = Path("docs/scorecard.md"), Path("README.md")
BEGIN, END = "<!-- scorecard: begin -->", "<!-- scorecard: end -->"


def render_page(systems: Sequence[System]) -> str:
    """The whole page."""
    claims = "\n\n".join(_system_section(system) for system in systems)
    return f"""# Scorecard: what is reproduced

{headline(systems)}

{render_rows(systems, link_to_summary)}

*Ours* is the mean over seeds with its 95 % interval (Student's t) where there are several; *time* is that of the rows
behind our number, on one thread of a shared machine.

## The rule

{RULE}

## Every claim

{claims}

## How to repeat it

```console
python -m benchmarks.scorecard
```

This reads the rows in `benchmarks/results` and writes this page and the table in the README. Every linked page says how
its rows are computed. A test fails when this page or the README differs from what the program writes.
"""


def headline(systems: Sequence[System]) -> str:
    """How many systems have which verdict."""
    by = {outcome: [system.name for system in systems if system.verdict is outcome] for outcome in Outcome}
    words = {Outcome.REPRODUCED: "reproduced", Outcome.PARTLY: "partly reproduced", Outcome.NOT: "not reproduced"}
    parts = [
        f"{len(names)} {'is' if len(names) == 1 else 'are'} {words[outcome]} ({join_words(names)})"
        for outcome, names in by.items()
        if names
    ]
    return f"Of the {count_of(len(systems), 'system')}, {join_words(parts)}."


def link_to_summary(page: str) -> str:
    """From the documentation to the summary of a benchmark page."""
    return f"benchmarks/{summary_link(page)}"


def link_to_page(page: str) -> str:
    """From the README to a benchmark page."""
    return f"benchmarks/results/{page}.md"


def render_rows(systems: Sequence[System], link: Callable[[str], str]) -> str:
    """One row for each system; `link` says where a page is."""
    head = ["system", "reproduced?", "central claim", "paper", "ours", "cheap rival", "time", "in a sentence"]
    return table(head, [_system_row(system, link) for system in systems], text=True)


def _system_row(system: System, link: Callable[[str], str]) -> list[str]:
    claim = system.central
    name = f"[{system.name}]({link(claim.page)})"
    return [name, f"**{system.verdict}**", claim.text, claim.paper, *_ours(claim), system.sentence]


def _ours(claim: Claim) -> list[str]:
    if claim.ours is None:
        return ["no rows", claim.rival, "–"]
    return [str(claim.ours), claim.rival, duration(claim.ours.seconds)]


def _system_section(system: System) -> str:
    head = ["claim", "outcome", "paper", "ours", "rival", "time", "tolerance", "setting", "counted"]
    lines = [
        [
            f"[{claim.text}]({link_to_summary(claim.page)})",
            f"**{claim.outcome}**",
            claim.paper,
            *_ours(claim),
            claim.tolerance,
            claim.setting.value,
            "central" if claim is system.central else "yes" if claim.counted else "no",
        ]
        for claim in system.claims
    ]
    return f"### {system.name}: {system.verdict}\n\n{system.sentence}\n\n{table(head, lines, text=True)}"


def replace_rows(readme: str, systems: Sequence[System]) -> str:
    """The README with the eight rows between its markers."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{headline(systems)}\n\n{render_rows(systems, link_to_page)}\n{END}{after}"
