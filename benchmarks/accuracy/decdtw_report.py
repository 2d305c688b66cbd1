"""The page about warps and their gradients: its first sentences are taken from its parts."""

from __future__ import annotations

import re

CAVEATS = """\
## Caveats

- The rivals share our objective, but for the grid they are local searches: a lower warp that none of them finds is not
  excluded.
- *Two slopes*: the differences from both sides differ at both steps, so that there is no derivative. *Step too long*:
  they differ at one step only. *No room*: no step is feasible."""


def page(lines: list[str], command: str) -> str:
    """The result, the parts it is taken from, how to repeat it, and what the words mean."""
    result = summarize("\n".join(lines))
    repeat = ["## How to repeat it", "", "```console", command, "```"]
    return "\n".join(["# How good warps and their gradients are", "", result, "", *lines, "", *repeat, "", CAVEATS, ""])


def summarize(body: str) -> str:
    """The parts of a page in a few sentences; one of gradients alone has no sentence about warps."""
    found = []
    gaps = re.findall(r"exceeds the best rival's by at most (\S+) of it \(bar (\S+)\)", body)
    if gaps:
        worst, bar = max(float(gap) for gap, _ in gaps), float(gaps[0][1])
        residual = max(map(float, re.findall(r"Largest KKT residual: (\S+)", body)))
        verdict = "met" if worst <= bar else "missed"
        found.append(
            f"On small problems no rival finds a warp whose objective is lower by more than {worst:.1e} of it (bar "
            f"{bar:g}, {verdict}), and KKT residuals are at most {residual:.1e}."
        )
    longer = re.search(
        r"^- (\d+) pairs of .* higher by more in (\d+)(?: \(median \S+, at most (\S+)\))?", body, re.MULTILINE
    )
    if longer:
        pairs, higher, most = longer.groups()
        by = f", by at most {most} of the objective" if most else ""
        found.append(f"On longer signals a finer grid finds a better warp for {higher} of {pairs} pairs{by}.")
    first = re.search(r"^\| together \| (\d+) \| (\d+) \| \d+ \| (\d+) \|", body, re.MULTILINE)
    if first:
        others = re.findall(r"^\| \d+ \| (\d+) \| (\d+) \| \d+ \| (\d+) \|", body, re.MULTILINE)
        tried, agree, disagree = (sum(map(int, column)) for column in zip(first.groups(), *others, strict=True))
        found.append(
            f"Of {tried} gradients {agree} agree with finite differences to 1e-3 and {disagree} disagree; "
            "at the others the differences themselves tell nothing."
        )
    return " ".join(found)
