"""The pages about waves: errors within and after the trained length, beside the thesis's, and which targets are met."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import NamedTuple

from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

FULL = ", full size"
HELD_OUT = "held out: "
BASELINES = ("Persistence", "nearest past", "Analog", "Analog, k = 50", "Ridge", "DMD")
TITLES = {
    "thesis": "As in the thesis",
    "noisy": "With noise of 0.05 on training and past",
    "beyond": "Waves faster than those learned from",
}
SHORT = {"thesis": "the thesis's waves", "noisy": "noisy waves", "beyond": "waves faster than those learned from"}
SPANS = ("within", "after", "all")


OWN, PRESET, WITHOUT = "Separation", "Separation, preset", ", without w"


class About(NamedTuple):
    """What a page says around its numbers: its subject, its data, the thesis's errors with and without w."""

    waves: str
    made: str
    thesis: tuple[float, float]


WAVES_100 = About(
    waves="waves at 100 pixels",
    made="""The data are 100 random pixels of `generate.waves(border="fixed")`, the same in all sequences of a seed: 240
sequences of 150 steps to learn from, and 60 others, of which every fifth chunk of 45 steps is a test: 5 frames are
seen, 40 forecast. A seed draws both waves and weights, so methods are compared within a seed. Values are in [0, 1],
and errors are squared; networks learn from chunks of 25 steps, so t+1…t+20 is *within* the trained length and
t+21…t+40 *after* it. The thesis's "t+40" is the mean over t+1…t+40, the column *all*.""",
    thesis=(4.33e-5, 1.33e-4),
)
WAVES_64 = About(
    waves="waves of 64 × 64 pixels",
    made="""The data are pictures of 64 × 64 from `generate.waves(border="fixed")`: 60 sequences of 150 steps to learn
from
(the thesis has 240), and 10 others, of which every 15th chunk of 45 steps is a test, 5 frames seen and 40 forecast.
Values are in [0, 1], and errors are squared; t+1…t+20 is *within* the trained length and t+21…t+40 *after* it.""",
    thesis=(1.44e-4, 5.09e-4),
)


# --- the page


def headline(rows: Rows, about: About) -> str:
    """Separation beside the thesis and the best cheap forecast, then what w does."""
    ours = errors_of(rows, "thesis", OWN)
    if not ours:
        return no_rows_yet(rows, f"how well Separation forecasts {about.waves}")
    mine, theirs = mean(ours), about.thesis[0]
    beside = "below" if mine <= theirs else "above"
    parts = [
        f"On {about.waves} `Separation` at its defaults forecasts 40 frames with a squared error of {mine:.1e}, "
        f"{beside} the thesis's {theirs:.1e}{_cheapest(rows, mine)}."
    ]
    preset = errors_of(rows, "thesis", PRESET)
    if preset:
        verdict = (
            "agrees with"
            if mean(preset) <= theirs
            else "falls far short of"
            if mean(preset) > 10 * theirs
            else "falls short of"
        )
        parts.append(
            f"The thesis's own network, at a tenth of its units and fewer steps, has {mean(preset):.1e}, which "
            f"{verdict} it."
        )
    parts.append(_content(rows, about))
    return " ".join(filter(None, parts))


def _cheapest(rows: Rows, ours: float) -> str:
    errors = {name: mean(found) for name in BASELINES if (found := errors_of(rows, "thesis", name))}
    if not errors:
        return ""
    best = min(errors, key=errors.__getitem__)
    but = "but above" if errors[best] < ours else "and below"
    return f", {but} the {errors[best]:.1e} of the best cheap rival ({best})"


def _content(rows: Rows, about: About) -> str:
    """What the content variable w changes in every version, beside the thesis."""
    ratios = {version: mean(found) for version in TITLES if (found := content_gains(rows, version, OWN))}
    if "thesis" not in ratios:
        return ""
    here, there = ratios.pop("thesis"), about.thesis[1] / about.thesis[0]
    verdict = "agrees with" if here >= there else "falls short of" if here >= 1 else "contradicts"
    others = [f"{_times(ratio)} on {SHORT[version]}" for version, ratio in ratios.items()]
    more = f" ({join_words(others)})" if others else ""
    return (
        f"The content variable w makes the error {_times(here)}{more}, which {verdict} the thesis, where it is "
        f"{there:.1f} times smaller."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times smaller" if ratio >= 1 else f"{1 / ratio:.2f} times larger"


def errors_of(rows: Rows, version: str, method: str) -> list[float]:
    """Over all 40 steps, of every seed."""
    return [float(row["all"]) for row in having(rows, dataset=version, method=method)]


def content_gains(rows: Rows, version: str, method: str) -> list[float]:
    """The error without w over that with it, for every seed that has both."""
    return [1 / one for one in _ratios(rows, version, method, (method + WITHOUT,))]


def body(rows: Rows, about: About) -> str:
    """A table for every version, choices and targets."""
    if not rows:
        return ""
    versions = [name for name in TITLES if having(rows, dataset=name)]
    tables = [_version(rows, name, about) for name in versions]
    parts = [*tables[:1], about.made, *tables[1:], _chosen(rows), _targets(rows, versions)]
    return "\n\n".join(part for part in parts if part)


def caveats(about: About) -> list[str]:
    size = "a tenth of its units and some of its steps" if about is WAVES_100 else "reduced width and few steps"
    return [
        "In the thesis's version every sequence is scaled to [0, 1], so only the speed of the wave differs between "
        "sequences, and the training ones lie so densely that looking up the nearest one solves it. It says little "
        "about networks.",
        f"`preset` is the thesis's network with {size}; `--full` runs it at full size, which takes hours.",
    ]


# --- a version


def _version(rows: Rows, version: str, about: About) -> str:
    found = [row for row in having(rows, dataset=version) if not row["method"].startswith(HELD_OUT)]
    names = list(dict.fromkeys(row["method"] for row in sorted(found, key=_order)))
    lines = [_line(name, [row for row in found if row["method"] == name]) for name in names]
    if version == "thesis":
        for name, error in zip(("the thesis, with w", "the thesis, without w"), about.thesis, strict=True):
            lines.append([name, "–", "–", f"{error:.2e}", "", ""])
    head = ["method", "within", "after", "all", "seeds", "seconds of training"]
    return f"## {TITLES[version]}\n\n{table(head, lines)}"


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
    """Every seed by itself: a mean over different waves would hide which is which."""
    return " · ".join(f"{value:.2e}" for value in values)


# --- choices and targets


def _chosen(rows: Rows) -> str:
    tried = [row for row in rows.values() if row["method"].startswith(HELD_OUT)]
    if not tried:
        return ""
    versions = [name for name in TITLES if any(row["dataset"] == name for row in tried)]
    names = dict.fromkeys(row["method"] for row in tried)
    lines = [[name.removeprefix(HELD_OUT), *(_tried(tried, name, version) for version in versions)] for name in names]
    return f"""## What was chosen, and by what

Errors over all 40 steps on a held-out sixth of the training sequences of seed 0, after 700 training steps; in the
version with faster waves it is the fastest sixth, and in the noisy version the targets are noisy too. The best of a
column is
`chosen` above, for all seeds, trained there for 4000 steps. The test sequences chose nothing.

{table(["setting", *versions], lines)}"""


def _tried(tried: list[Found], name: str, version: str) -> str:
    found = having({str(place): row for place, row in enumerate(tried)}, method=name, dataset=version)
    return f"{found[0]['all']:.3e}" if found else "–"


def _targets(rows: Rows, versions: Iterable[str]) -> str:
    lines = [line for version in versions for line in _met(rows, version)]
    if not lines:
        return ""
    return f"""## Targets

An error below that of the best cheap forecast on noisy and on faster waves, and with w at most half of that without it.
A target is met if it is met in every seed.

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
