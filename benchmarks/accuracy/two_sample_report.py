"""The page about two-sample tests and drift: levels with their intervals, delays, powers, and what peers say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median
from typing import Any

from benchmarks.accuracy import two_sample_null as null
from benchmarks.accuracy.two_sample_changes import CHANGES, SIZES
from benchmarks.accuracy.two_sample_methods import METHODS
from benchmarks.accuracy.two_sample_null import EXACT, LEVELS, UNPROMISED
from benchmarks.papers.markdown import table
from benchmarks.papers.page import MissingRows, need
from benchmarks.papers.results import Found, Rows, having

SURE = 0.999  # of an interval that a verdict goes by: there are more than a hundred of them


def interval(hits: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact one of Clopper and Pearson (1934).

    >>> [round(end, 4) for end in interval(50, 1000)]
    [0.0373, 0.0654]
    """
    from scipy.stats import beta

    rest = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(rest, hits, of - hits + 1))
    return low, 1.0 if hits == of else float(beta.ppf(1 - rest, hits + 1, of - hits))


def share(hits: int, of: int) -> str:
    """A share and its 95 % interval, in hundredths.

    >>> share(50, 1000)
    '5.0 (3.7–6.5)'
    """
    low, high = interval(hits, of)
    return f"{100 * hits / of:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def verdict(hits: int, of: int, bound: float, exact: bool, confidence: float = SURE) -> str:
    """Whether a level is reached, where it should be, or at least kept.

    >>> verdict(50, 1000, 0.05, exact=True), verdict(5, 1000, 0.05, exact=True), verdict(5, 1000, 0.05, exact=False)
    ('yes', 'too few', 'yes')
    """
    low, high = interval(hits, of, confidence)
    if low > bound:
        return "TOO MANY"
    return "too few" if exact and high < bound else "yes"


def said(found: Found) -> str:
    """A finished row in a few words."""
    if "below" in found:
        shares = (f"p ≤ {level}: {hits / found['repetitions']:.1%}" for level, hits in found["below"].items())
        return ", ".join(shares)
    if "alarms" in found:
        return ", ".join(f"alarms at {rate}: {hits / found['streams']:.1%}" for rate, hits in found["alarms"].items())
    if "delays" in found:
        return ", ".join(f"delay at {rate}: {_delay(some)}" for rate, some in found["delays"].items())
    if "predicted" in found:
        guesses = (f"{n}: {mean(some):.2f}" for n, some in found["predicted"].items())
        return f"predicted {', '.join(guesses)}"
    return f"asked: {', '.join(found['said'])}"


def headline(rows: Rows) -> str:
    """Whether levels and false-alarm rates are kept, and what the default finds beside hyppo."""
    promised = [one for one in having(rows, part="level") if one["design"] not in {"smallest p", *UNPROMISED}]
    parts = []
    if promised:
        above, total = _count_above(promised)
        kept = "keep their level" if above <= 0.05 * total else "do NOT keep their level"
        parts.append(
            f"The two-sample tests {kept}: of {total} measured levels {above} are above the stated one by their 95 % "
            f"interval, where about {0.025 * total:.0f} would be by chance."
        )
    streams = having(rows, part="drift", subject="level")
    if streams:
        broken = sum(_rate_kept(one) != "yes" for one in streams)
        found = "keeps its rate of false alarms" if not broken else f"breaks its rate of false alarms on {broken}"
        parts.append(f"`Drift` {found} on {'all ' if not broken else 'of '}{len(streams)} kinds of streams.")
    powers = _mean_powers(rows)
    if powers:
        shown = ", ".join(f"{name} {power:.0f} %" for name, power in powers.items())
        missing = "" if "default" in powers else " (the default test has no rows of power)"
        parts.append(
            f"The mean power on changed real sequences, over changes that all of these have, is {shown}{missing}."
        )
    if not parts:
        raise MissingRows("levels, streams and powers")
    return " ".join(parts)


def _mean_powers(rows: Rows) -> dict[str, float]:
    """In percent, of the default and some rivals, over the changes and sizes that all of them have, without nulls."""
    held: dict[tuple[str, str], dict[str, float]] = {}
    for one in having(rows, part="power"):
        if not one["subject"].endswith(("nothing changed", "other subjects")):
            rate = 100 * one["below"]["0.05"] / one["repetitions"]
            held.setdefault((one["subject"], one["design"]), {})[one["method"]] = rate
    names = [
        name
        for name in ("default", "Rocket", "statistics", "hyppo, raw")
        if any(name in some for some in held.values())
    ]
    full = [some for some in held.values() if all(name in some for name in names)]
    return {name: mean(some[name] for some in full) for name in names} if full else {}


# --- levels


def _asked(rows: Rows) -> list[Found]:
    """The rows of levels, but for those about the smallest p."""
    found = [one for one in having(rows, part="level") if one["design"] != "smallest p"]
    if not found:
        raise MissingRows("levels")
    return found


def levels(rows: Rows) -> str:
    """How often a null hypothesis is rejected."""
    asked = _asked(rows)
    lines = []
    for kernel, design in null.designs():
        lines += [_level_line(one) for one in asked if (one["subject"], one["design"]) == (kernel, design)]
    return table(["kernel", "design", *(f"p ≤ {level}, %" for level in LEVELS), "level kept"], lines)


def null_samples(rows: Rows) -> str:
    """How many samples and permutations there are."""
    first = _asked(rows)[0]
    return f"{first['repetitions']:,} null samples of about 20 and 20, with {first['n_permutations']} permutations"


def outside(rows: Rows) -> str:
    """How many of the 95 % intervals say that a level is broken, and how many would by chance."""
    above, total = _count_above([one for one in _asked(rows) if one["design"] not in UNPROMISED])
    return (
        f"of {total} intervals of 95 %, {above} lie above their level; of exact tests about {0.025 * total:.0f} would "
        "by chance."
    )


def _level_line(one: Found) -> list[str]:
    of, design = one["repetitions"], one["design"]
    counts = [one["below"][str(level)] for level in LEVELS]
    kept = "–"
    if design not in UNPROMISED:
        exact = design in EXACT and one["subject"] != null.CLASSIFIER
        pairs = zip(counts, LEVELS, strict=True)
        kept = worst([verdict(hits, of, null.bound(level, one["n_permutations"]), exact) for hits, level in pairs])
    return [one["subject"], design, *(share(hits, of) for hits in counts), kept]


def worst(verdicts: Iterable[str]) -> str:
    """Of several.

    >>> worst(["yes", "TOO MANY"])
    'TOO MANY'
    """
    return max(verdicts, key=["yes", "too few", "TOO MANY"].index)


def _count_above(rows: Sequence[Found]) -> tuple[int, int]:
    """How many of the 95 % intervals lie above their level, and how many there are."""
    pairs = [
        (one["below"][str(level)], one["repetitions"], level, one["n_permutations"]) for one in rows for level in LEVELS
    ]
    return sum(interval(hits, of)[0] > null.bound(level, n) for hits, of, level, n in pairs), len(pairs)


def smallest(rows: Rows) -> str:
    """The smallest p of samples that are far apart."""
    asked = need(rows, part="level", design="smallest p")
    least = {one["subject"]: 1 / (one["n_permutations"] + 1) for one in asked}
    exactly = [one for one in asked if one["smallest"] == one["largest"] == least[one["subject"]]]
    others = [one for one in asked if one not in exactly]
    told_of = "; ".join(f"{one['subject']} {one['smallest']:.4f} to {one['largest']:.4f}" for one in others)
    return (
        f"The smallest p: of {asked[0]['repetitions']} pairs of samples that are far apart, {len(exactly)} of "
        f"{len(asked)} kernels have exactly 1 / (P + 1) = {least[asked[0]['subject']]:g} in every one"
        + (f"; others: {told_of}." if others else ".")
    )


# --- drift


def false_alarms(rows: Rows) -> str:
    """Shares of streams with an alarm although nothing changes."""
    asked = need(rows, part="drift", subject="level")
    rates = list(asked[0]["alarms"])
    lines = [
        [one["design"], *(share(one["alarms"][rate], one["streams"]) for rate in rates), _rate_kept(one)]
        for one in asked
    ]
    return table(["stream", *(f"at {rate}" for rate in rates), "rate kept"], lines)


def streams(rows: Rows) -> str:
    """How many streams there are, and how long they are."""
    first = need(rows, part="drift", subject="level")[0]
    return f"{first['streams']} streams of {first['batches']} batches"


def _rate_kept(one: Found) -> str:
    """The worst verdict of all rates of a stream."""
    return worst([verdict(hits, one["streams"], float(rate), False) for rate, hits in one["alarms"].items()])


def delays(rows: Rows) -> str:
    """Batches until the alarm."""
    asked = need(rows, part="drift", subject="delay")
    rates = list(asked[0]["delays"])
    lines = [
        [one["design"], *(_delay(one["delays"][rate]) for rate in rates), *(_seen(one, rate) for rate in rates)]
        for one in asked
    ]
    head = ["change", *(f"median delay at {rate}" for rate in rates), *(f"seen at {rate}" for rate in rates)]
    return table(head, lines)


def delayed_streams(rows: Rows) -> str:
    """How many streams change."""
    return str(need(rows, part="drift", subject="delay")[0]["streams"])


def _delay(some: Sequence[int | None]) -> str:
    """The median; streams without an alarm are slower than any.

    >>> _delay([1, 2, None]), _delay([None])
    ('2', 'none')
    """
    if not some:
        return "–"
    middle = median(float("inf") if one is None else one for one in some)
    return "none" if middle == float("inf") else f"{middle:g}"


def _seen(one: Found, rate: str) -> str:
    return f"{sum(delay is not None for delay in one['delays'][rate]) / one['streams']:.0%}"


# --- power


def powers(rows: Rows) -> str:
    """A table for every size of samples."""
    asked, sections = need(rows, part="power"), []
    for size in sorted(SIZES):
        some = {(one["subject"], one["method"]): one for one in asked if one["design"] == str(size)}
        shown = [method for method in METHODS if any(key[1] == method for key in some)]
        lines = [[name, *(_power(some.get((name, method))) for method in shown)] for name in CHANGES]
        lines = [one for one in lines if set(one[1:]) != {"–"}]
        if lines:
            sections.append(f"### {size} and {size} sequences\n\n{table(['change', *shown], lines)}")
    return "\n\n".join(sections)


def power_draws(rows: Rows) -> str:
    """How many draws there are."""
    return str(need(rows, part="power")[0]["repetitions"])


def cost(rows: Rows) -> str:
    """How much longer the default takes than Rocket alone, by rows of one version of the code that have both."""
    seconds: dict[tuple[str, str, str], dict[str, float]] = {}
    for one in having(rows, part="power"):
        key = one["subject"], one["design"], one["commit"]
        seconds.setdefault(key, {})[one["method"]] = one["seconds"] / one["repetitions"]
    ratios = [some["default"] / some["Rocket"] for some in seconds.values() if {"default", "Rocket"} <= set(some)]
    if not ratios:
        return ""
    return (
        f"`default`, which compares by both kinds of features, took {median(ratios):.1f} times as long as `Rocket` "
        f"(median of {len(ratios)} rows, {min(ratios):.1f} to {max(ratios):.1f})."
    )


def _power(one: Found | None) -> str:
    return "–" if one is None else f"{100 * one['below']['0.05'] / one['repetitions']:.0f}"


# --- peers


def peers(rows: Rows) -> str:
    """What peers say of the same samples."""
    lines = [
        [one["subject"], name, *_compared(one["said"]["ours"], said_by)]
        for one in need(rows, part="peers")
        for name, said_by in one["said"].items()
        if name != "ours"
    ]
    head = ["samples", "peer", "its statistic beside ours", "p, largest difference", "p, mean difference", "smallest p"]
    return table([*head, "ours"], lines)


def peer_samples(rows: Rows) -> str:
    """How many pairs of samples peers were given."""
    return str(need(rows, part="peers")[0]["samples"])


def peer_permutations(rows: Rows) -> str:
    """How many permutations peers drew."""
    return str(need(rows, part="peers")[0]["n_permutations"])


def _compared(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    ratios = [b / a for a, b in zip(ours["statistic"], theirs["statistic"], strict=True) if abs(a) > 1e-3]
    apart = [b - a for a, b in zip(ours["statistic"], theirs["statistic"], strict=True)]
    same = max(map(abs, apart)) < 1e-5
    said_of = "the same" if same else f"{min(ratios):.3g} to {max(ratios):.3g} times" if ratios else "–"
    differences = [b - a for a, b in zip(ours["p_value"], theirs["p_value"], strict=True)]
    largest = max(differences, key=abs)
    least = [f"{min(some['p_value']):.4f}" for some in (theirs, ours)]
    return [said_of, f"{largest:+.4f}", f"{mean(differences):+.4f}", *least]


# --- the power helper


def predicted_powers(rows: Rows) -> str:
    """What the power helper says beside what comes."""
    asked = need(rows, part="power_helper")
    sizes = list(asked[0]["predicted"])
    lines = []
    for one in asked:
        cells = []
        for n in sizes:
            guesses, seen = one["predicted"][n], one["rejected"][n] / one["repetitions"]
            cells.append(f"{mean(guesses):.2f} ({min(guesses):.2f}–{max(guesses):.2f}) / {seen:.2f}")
        lines.append([one["subject"], *cells, _needed(one["needed"])])
    return table(["effect", *(f"n = {n}" for n in sizes), "needed"], lines)


def _helped(name: str) -> Callable[[Rows], str]:
    return lambda rows: str(need(rows, part="power_helper")[0][name])


pilots, fresh_samples, target_power = map(_helped, ("pilots", "repetitions", "target"))
SURE_PERCENT, HALF = f"{100 * SURE:g}", f"{100 * (interval(50, 100)[1] - 0.5):.0f}"
BOUNDS = " and ".join(f"{100 * null.bound(level):g} %" for level in (0.05, 0.01))


def _needed(some: Sequence[int | None]) -> str:
    """The median and the range; a pilot may say that no number suffices.

    >>> _needed([80, 60, None]), _needed([None, None])
    ('80 (60–none)', 'none')
    """
    known = sorted(float("inf") if one is None else float(one) for one in some)
    middle, low, high = (f"{one:.0f}" if one < float("inf") else "none" for one in (median(known), known[0], known[-1]))
    return middle if low == high else f"{middle} ({low}–{high})"
