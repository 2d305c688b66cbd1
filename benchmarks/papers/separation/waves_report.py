"""The pages about waves: errors within and after the trained length, beside the thesis's, and which targets are met."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import NamedTuple

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

FULL = ", full size"
HELD_OUT = "held out: "
BASELINES = ("Persistence", "nearest past", "Analog", "Analog, k = 50", "Ridge", "DMD")
TITLES = {
    "thesis": "As in the thesis",
    "noisy": "Noise of 0.05 on what is seen",
    "beyond": "Learned below 375, asked about above",
}
SPANS = ("within", "after", "all")


class About(NamedTuple):
    """What a page says around its numbers: how it was made, and the thesis's errors with and without w."""

    made: str
    thesis: tuple[float, float]


WAVES_100 = About(
    made="""100 pixels at random of `generate.waves(border="fixed")`, the same in all sequences of a draw; 240 sequences
of 150 steps to learn from, 60 others of which every fifth chunk of 45 steps is asked about: 5 frames are seen, 40
forecast. A seed draws waves and weights: numbers of different seeds stand on different waves, and methods are compared
within a seed. Squared errors, values in [0, 1]; networks learn from chunks of 25 steps, so that t+1…t+20 is *within*
the trained length and t+21…t+40 *after* it; the thesis's "t+40" is the mean over t+1…t+40, the last column.""",
    thesis=(4.33e-5, 1.33e-4),
)
WAVES_64 = About(
    made="""Whole pictures of 64 × 64 of `generate.waves(border="fixed")`: 60 sequences of 150 steps to learn from (the
thesis has 240), 10 others of which every 15th chunk of 45 steps is asked about, 5 frames seen and 40 forecast. Squared
errors, values in [0, 1]; t+1…t+20 is *within* the trained length and t+21…t+40 *after* it.""",
    thesis=(1.44e-4, 5.09e-4),
)


def body(rows: Rows, about: About) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    versions = [name for name in TITLES if having(rows, dataset=name)]
    parts = [
        f"{told(rows)} The machine was shared: seconds are those of a busy one, and networks at their defaults have "
        "the steps of a quiet one, which needs less than the two minutes they are given.",
        about.made,
    ]
    parts += [_version(rows, name, about) for name in versions]
    parts += [_chosen(rows), _targets(rows, versions)]
    return "\n\n".join(part for part in parts if part)


# --- a version


def _version(rows: Rows, version: str, about: About) -> str:
    found = [row for row in having(rows, dataset=version) if not row["method"].startswith(HELD_OUT)]
    names = list(dict.fromkeys(row["method"] for row in sorted(found, key=_order)))
    lines = [_line(name, [row for row in found if row["method"] == name]) for name in names]
    if version == "thesis":
        for name, error in zip(("the thesis, with w", "the thesis, without w"), about.thesis, strict=True):
            lines.append([name, "–", "–", f"{error:.2e}", "", ""])
    head = ["method", "within", "after", "all", "seeds", "seconds of training"]
    return f"## {TITLES[version]}\n\n{table(head, lines)}{_memory(version)}"


def _order(row: Found) -> tuple[int, str]:
    name = row["method"]
    return (BASELINES.index(name), "") if name in BASELINES else (len(BASELINES), name)


def _line(name: str, found: list[Found]) -> list[str]:
    numbers = [_several([row[span] for row in found]) for span in SPANS]
    settings = {row["setting"] for row in found if "setting" in row}
    shown = f"{name} ({', '.join(sorted(settings))})" if settings else name
    seconds = mean(row["training seconds"] for row in found)
    return [shown, *numbers, str(len(found)), f"{seconds:.0f}"]


def _several(values: list[float]) -> str:
    """Each of them: a mean over different waves would hide which is which."""
    return " · ".join(f"{value:.2e}" for value in values)


def _memory(version: str) -> str:
    if version != "thesis":
        return ""
    return """

Every sequence is scaled to [0, 1], which leaves the celerity as the only difference between sequences: 240 of them lie
so densely that this version is solved by looking up the nearest one. It says little about networks."""


# --- choices and targets


def _chosen(rows: Rows) -> str:
    tried = [row for row in rows.values() if row["method"].startswith(HELD_OUT)]
    if not tried:
        return ""
    versions = [name for name in TITLES if any(row["dataset"] == name for row in tried)]
    names = dict.fromkeys(row["method"] for row in tried)
    lines = [[name.removeprefix(HELD_OUT), *(_tried(tried, name, version) for version in versions)] for name in names]
    return f"""## What was chosen, and by what

Errors (all 40 steps) after 700 steps of training on a sixth of the training sequences of seed 0, held out; in the
version with faster waves the fastest sixth; where there is noise, it is in what they are compared with too. The best of
a column is `chosen` above, for all seeds, and trained there for 4000 steps. The sequences that the tables above are
about were not looked at.

{table(["setting", *versions], lines)}"""


def _tried(tried: list[Found], name: str, version: str) -> str:
    found = having({str(place): row for place, row in enumerate(tried)}, method=name, dataset=version)
    return f"{found[0]['all']:.3e}" if found else "–"


def _targets(rows: Rows, versions: Iterable[str]) -> str:
    lines = [line for version in versions for line in _met(rows, version)]
    if not lines:
        return ""
    return f"""## Targets

Below the best of all the baselines above on the noisy and the faster waves, and with w at least twice as good as
without it. Ratios of each seed; a target is met if it is in every seed.

{table(["version", "target", "ratios", "met"], lines)}"""


def _met(rows: Rows, version: str) -> list[list[str]]:
    lines = []
    kinds = [name for name in ("Separation", "Separation, chosen") if having(rows, dataset=version, method=name)]
    for kind in kinds:
        if version != "thesis":
            ratios = _ratios(rows, version, kind, BASELINES)
            lines.append(_verdict(version, f"{kind} / best baseline < 1", ratios, all(one < 1 for one in ratios)))
        ratios = [1 / one for one in _ratios(rows, version, kind, (f"{kind}, without w",))]
        if ratios:
            lines.append(_verdict(version, f"{kind}: without w / with w ≥ 2", ratios, all(one >= 2 for one in ratios)))
    return lines


def _verdict(version: str, target: str, ratios: list[float], met: bool) -> list[str]:
    return [version, target, " · ".join(f"{one:.2f}" for one in ratios), "met" if met else "NOT MET"]


def _ratios(rows: Rows, version: str, method: str, rivals: Iterable[str]) -> list[float]:
    """The error of a method over the least of its rivals', for every seed that has both."""
    found = []
    for row in sorted(having(rows, dataset=version, method=method), key=lambda one: int(one["seed"])):
        others = having(rows, dataset=version, seed=row["seed"])
        least = [other["all"] for other in others if other["method"] in rivals]
        if least:
            found.append(row["all"] / min(least))
    return found
