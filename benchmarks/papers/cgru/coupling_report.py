"""The page on what coupling is worth: paired differences with intervals, and what they say in words."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import NamedTuple

from benchmarks.papers.cgru import few_users, gates, oscillators
from benchmarks.papers.cgru.equals import FRAMES, PER_CLASS, RATES, SCORES, STEPS  # noqa: F401 (in the template)
from benchmarks.papers.markdown import count_of, format_difference, format_mean, join_words, table
from benchmarks.papers.page import MissingRows
from benchmarks.papers.results import Found, Rows, having

from timelike.score import interval

WORDS = {
    "labels": ("all {}", "all {} units", "all {} labels per class"),
    "oscillators": ("all {}", "all {} units", "all {} starts"),
}
CASES = {"labels": few_users.CASES, "oscillators": oscillators.CASES}
LEARNING_RATES, KEPT = ", ".join(f"{rate:g}" for rate in RATES), f"{gates.KEPT:.0%}"  # as the page writes them
TITLES = {"accuracy": "1-NN accuracy", "map": "MAP", "auc": "AUC"}


# --- paired differences


class Paired(NamedTuple):
    """Two methods on the same cases and seeds: the scores of both, one by one."""

    first: list[float]
    second: list[float]

    @property
    def differences(self) -> list[float]:
        return [two - one for one, two in zip(*self, strict=True)]


def paired(rows: Rows, part: str, score: str, cases: Iterable[str], methods: tuple[str, str]) -> Paired:
    """The rows that both methods have.

    >>> rows = {i: {"part": "p", "case": "c", "method": m, "seed": s, "map": v}
    ...         for i, (m, s, v) in enumerate([("a", 0, 0.5), ("a", 1, 0.9), ("b", 0, 0.75)])}
    >>> paired(rows, "p", "map", ["c"], ("a", "b")).differences
    [0.25]
    """
    known = {name: {(row["case"], row["seed"]): row[score] for row in of(rows, part, name)} for name in methods}
    one, two = (known[name] for name in methods)
    common = [key for key in one if key in two and key[0] in set(cases)]
    return Paired([one[key] for key in common], [two[key] for key in common])


def of(rows: Rows, part: str, method: str) -> list[Found]:
    return having(rows, part=part, method=method)


def judge_interval(differences: list[float]) -> str:
    """What a 95 % interval lets one say.

    >>> judge_interval([0.01, 0.011, 0.012]), judge_interval([-0.1, 0.1]), judge_interval([-0.1])
    ('gains', 'no difference is shown', 'too few rows')
    """
    if len(differences) < 2:
        return "too few rows"
    found = interval(differences)
    return "gains" if found.low > 0 else "loses" if found.high < 0 else "no difference is shown"


# --- the page


def headline(rows: Rows) -> str:
    """What coupling adds to MAP in every part, and whether that is what the paper claims."""
    found = {name: _differences(rows, *asked, "map") for name, asked in _parts().items()}
    found = {name: some for name, some in found.items() if some}
    if not found:
        raise MissingRows("pairs of both networks")
    each = [
        f"{format_difference(some)} on {name} ({count_of(len(some), 'pair')} of rows)" for name, some in found.items()
    ]
    judged = {name: judge_interval(some) for name, some in found.items()}
    gains = [name for name, word in judged.items() if word == "gains"]
    verdict = (
        f"coupling helps on {join_words(gains)}, as the paper says"
        if gains
        else "there are too few rows to judge the paper's claim that coupling helps"
        if set(judged.values()) == {"too few rows"}
        else "coupling helps nowhere, which contradicts the paper"
    )
    return (
        f"With both networks tuned alike, coupling changes MAP by {join_words(each)} (CoupledGRU minus SiameseGRU, its "
        f"cheaper rival, with 95 % intervals): {verdict}."
    )


def on_cases(rows: Rows, part: str) -> str:
    """A line for all cases, one for all that share a word, and one for each case."""
    cases = CASES[part]
    both = ["SiameseGRU", "CoupledGRU", "difference"]
    head = ["case", "pairs", *(f"{name}, {TITLES[score]}" for score in ("accuracy", "map") for name in both)]
    named = {"all": cases} | sharing(cases, WORDS[part]) | {case: [case] for case in cases}
    lines = [line for name, some in named.items() if (line := _line(rows, part, name, some)) is not None]
    return table(head, lines) if lines else "No pair of rows yet."


def sharing(cases: list[str], forms: tuple[str, ...]) -> dict[str, list[str]]:
    """Cases by each word of their names, in whole words.

    >>> sharing(["raw-4", "raw-8"], ("all {}", "all {} units"))
    {'all raw': ['raw-4', 'raw-8'], 'all 4 units': ['raw-4'], 'all 8 units': ['raw-8']}
    """
    found: dict[str, list[str]] = {}
    for case in cases:
        for word, form in zip(case.split("-"), forms, strict=True):
            found.setdefault(form.format(word), []).append(case)
    return found


def rates(rows: Rows, part: str) -> str:
    """How often each learning rate was chosen."""
    said = []
    for method, title in (("siamese", "SiameseGRU"), ("coupled", "CoupledGRU")):
        chosen = [row["rate"] for row in of(rows, part, method)]
        said.append(f"{title} {', '.join(f'{rate:g} {chosen.count(rate)} ×' for rate in RATES)}")
    return f"Learning rates chosen: {'; '.join(said)}."


def _line(rows: Rows, part: str, name: str, cases: list[str]) -> list[str] | None:
    cells = []
    for score in ("accuracy", "map"):
        pairs = paired(rows, part, score, cases, ("siamese", "coupled"))
        cells += [*map(format_mean, pairs), format_difference(pairs.differences)]
    return [name, str(len(pairs.first)), *cells] if pairs.first else None


def other_start(rows: Rows) -> str:
    """What another start of the gate changes."""
    pairs = paired(rows, "labels", "map", few_users.CASES, ("siamese", "coupled-2"))
    if not pairs.first:
        return "With bias −2 at the start (`coupled-2`): no row yet."
    return (
        f"With bias −2 at the start (`coupled-2`): MAP {format_difference(pairs.differences)}, {len(pairs.first)} "
        "pairs."
    )


def exponents(rows: Rows) -> str:
    """Lyapunov exponents before and after, by case and method."""
    lines = []
    for case in oscillators.CASES:
        for method in ("siamese", "coupled"):
            some = having(rows, part="oscillators", case=case, method=method)
            if some:
                lines.append(
                    [
                        case,
                        method,
                        *(format_mean([row[name] for row in some]) for name in ("exponent before", "exponent")),
                    ]
                )
    shown_lines = [[cell.replace("-0.", "−0.") for cell in line] for line in lines]
    return table(["case", "network", "largest exponent before", "after"], shown_lines) if lines else "No row yet."


def on_gates(rows: Rows) -> str:
    """For each network a table: gates down, conditions across."""
    return "\n\n".join(_of_network(rows, name) for name in gates.NETWORKS)


def _of_network(rows: Rows, network: str) -> str:
    some = of(rows, "gates", network)
    if not some:
        return f"**{network}**: no row yet."
    moved = f"mean gate {format_mean([row['gate'] for row in some])}, deviation over pairs and steps "
    moved += format_mean([row["gate deviation"] for row in some])
    which = ", ".join(f"{name} × {sum(row['case'] == name for row in some)}" for name in gates.SETS)
    lines = [
        [f"{gate}, {TITLES[score]}", *(_cell(some, gate, condition, score) for condition in gates.CONDITIONS)]
        for score in SCORES
        for gate in ("own", "zero", "mean", "shuffled", "siamese")
    ]
    return f"**{network}**: {len(some)} rows, {which}; {moved}.\n\n{table(['gate', *gates.CONDITIONS], lines)}"


def _cell(some: list[Found], gate: str, condition: str, score: str) -> str:
    if gate == "own":
        return f"{mean(row['scores']['own'][condition][score] for row in some):.3f}"
    return format_difference(from_own(some, gate, condition, score))


def from_own(some: list[Found], gate: str, condition: str, score: str) -> list[float]:
    """What a gate changes, row by row."""
    by = ((row["scores"][gate], row["scores"]["own"]) for row in some)
    return [one[condition][score] - own[condition][score] for one, own in by]


# --- in words


def _parts() -> dict[str, tuple[str, list[str]]]:
    """What is compared: its name, the part of the rows, and the cases."""
    chaotic = [case for case in oscillators.CASES if case.endswith("chaotic")]
    return {
        "UCI HAR with a fifth of the users": ("labels", few_users.CASES),
        "oscillators with chaotic starts": ("oscillators", chaotic),
        "oscillators with usual starts": ("oscillators", [case for case in oscillators.CASES if case not in chaotic]),
    }


def _differences(rows: Rows, part: str, cases: list[str], score: str) -> list[float]:
    return paired(rows, part, score, cases, ("siamese", "coupled")).differences


def verdict(rows: Rows) -> str:
    """A line for each part."""
    lines = [line for name, asked in _parts().items() if (line := _verdict(rows, name, *asked))]
    lines += [_of_gates(of(rows, "gates", name), name) for name in gates.NETWORKS if of(rows, "gates", name)]
    return "\n".join(lines)


def _verdict(rows: Rows, name: str, part: str, cases: list[str]) -> str:
    found = {score: _differences(rows, part, cases, score) for score in ("accuracy", "map")}
    count = len(found["map"])
    if not count:
        return ""
    ahead = sum(one > 0 for one in found["map"])
    words = "; ".join(
        f"{TITLES[score]} {format_difference(some)}, {judge_interval(some)}" for score, some in found.items()
    )
    return f"- **{name}**, CoupledGRU: {words} ({count} pairs of rows, MAP ahead in {ahead})."


def _of_gates(some: list[Found], network: str) -> str:
    clean = {gate: format_difference(from_own(some, gate, "clean", "map")) for gate in ("zero", "mean", "shuffled")}
    words = (
        f"{clean['zero']} without any gate, {clean['mean']} with their mean, {clean['shuffled']} with another pair's"
    )
    return f"- **Other gates, {network}** ({len(some)} rows): MAP of clean queries changes by {words}."
