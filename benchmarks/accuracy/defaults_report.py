"""The page about methods at their defaults: means by groups of sets, ranks, and whether targets are met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from benchmarks.papers.markdown import count_of, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows

from timelike.evaluate.ranking import Ranking, rank_table

GROUPS: dict[str, tuple[str, ...]] = {
    "choose": ("ArrowHead", "CricketX", "GunPoint", "Lightning7", "BasicMotions", "NATOPS"),
    "confirm": ("FaceFour", "Ham", "OSULeaf", "PickupGestureWiimoteZ", "JapaneseVowels", "ArticularyWordRecognition"),
    "others": (
        "Adiac",
        "CBF",
        "Coffee",
        "DiatomSizeReduction",
        "ECG200",
        "ECGFiveDays",
        "ItalyPowerDemand",
        "LargeKitchenAppliances",
        "MoteStrain",
        "Plane",
        "RefrigerationDevices",
        "SwedishLeaf",
        "SyntheticControl",
        "Trace",
        "TwoLeadECG",
    ),
}
SEVERAL = {"BasicMotions", "NATOPS", "JapaneseVowels", "ArticularyWordRecognition"}  # channels
TITLES = {"choose": "Sets to choose on", "confirm": "Sets to confirm on", "others": "Other sets"}
DTW, UNTRAINED = "1-NN DTW (full)", "T-Loss untrained + head"
IMAGES = Path("docs/images")

# method, score, rival or None for a plain number, at least so much more, on which sets
TARGETS: tuple[tuple[str, str, str | None, float, str], ...] = (
    ("SiameseGRU", "accuracy", DTW, 0.04, "sets to confirm on"),
    ("SiameseGRU", "map", DTW, 0.20, "sets to confirm on"),
    ("CoupledGRU", "accuracy", DTW, 0.0, "sets to confirm on"),
    ("CoupledGRU", "map", DTW, 0.15, "sets to confirm on"),
    ("TAP", "accuracy", DTW, 0.0, "sets to confirm on"),
    ("TAP", "map", DTW, 0.10, "sets to confirm on, two channels or more"),
    ("T-Loss + head", "accuracy", UNTRAINED, 0.03, "sets to confirm on"),
    ("T-Loss + head", "map", UNTRAINED, 0.10, "sets to confirm on"),
    ("Rocket + ridge", "accuracy", None, 0.917, "all sets"),
    ("Discriminant", "accuracy", None, 0.916, "all sets"),
    ("Discriminant", "map", None, 0.935, "all sets"),
)

Numbers = dict[str, dict[str, float]]


def headline(rows: Rows, methods: Sequence[str]) -> str:
    """The best methods on the sets that chose nothing, beside 1-NN DTW, and how many targets are met."""
    parts = []
    for score, title in (("accuracy", "accuracy"), ("map", "MAP")):
        held = numbers(rows, score)
        means = {
            method: found for method in methods if (found := _mean_over(held, method, GROUPS["confirm"])) is not None
        }
        if means:
            best = max(means, key=means.__getitem__)
            beside = f" ({DTW}, the cheap rival, {means[DTW]:.3f})" if DTW in means else ""
            parts.append(f"{best} has the best mean {title}, {means[best]:.3f}{beside}")
    if not parts:
        return no_rows_yet(rows, "how methods do at their defaults on the sets that chose nothing")
    lines = [target(rows, *one) for one in TARGETS]
    met = sum(": met" in line for line in lines)
    return (
        f"With every method at its defaults, on the {len(GROUPS['confirm'])} data sets that chose nothing, "
        f"{'; '.join(parts)}. {met} of {count_of(len(lines), 'target')} are met."
    )


def _mean_over(held: Numbers, method: str, names: Sequence[str]) -> float | None:
    """None where a set is missing: means over other sets do not compare."""
    found = [held[name][method] for name in names if method in held.get(name, {})]
    return fmean(found) if len(found) == len(names) else None


def body(rows: Rows, methods: Sequence[str]) -> str:
    """The sets that chose nothing first, then the others, targets and ranks."""
    if not rows:
        return ""
    groups = [_group(rows, methods, group) for group in ("confirm", "choose", "others")]
    return "\n\n".join(
        part for part in [*groups[:1], ABOUT, _targets(rows), *groups[1:], _ranks(rows, methods)] if part
    )


ABOUT = """\
Official splits, one core, at most three minutes of training for one row, nothing chosen by hand: what a user gets from
`tl.compare(X, y, test=(X_test, y_test))`. Accuracy is that of the method's own classifier (1-NN for metrics, a head for
encoders), MAP that of test sequences as queries among the training sequences. A dash means that the method cannot take
these data, has no distances, or would take more than three minutes without a way to stop it. "1-NN DTW (full)" has no
window, "1-NN DTW" the one chosen by leave-one-out on the training part. Means are over seeds where there are
several."""


def caveats() -> list[str]:
    return ['Defaults were chosen on the first six sets ("sets to choose on") and confirmed once on the next six.']


def draw(rows: Rows, methods: Sequence[str], folder: Path) -> None:
    """Critical differences by accuracy and by MAP."""
    folder.mkdir(parents=True, exist_ok=True)
    for score in ("accuracy", "map"):
        found = _ranking(rows, methods, score)
        if found is not None:
            found.plot().savefig(folder / f"defaults_{score}.png", dpi=110)


def numbers(rows: Rows, score: str) -> Numbers:
    """{data set: {method: mean over seeds}}."""
    held: dict[str, dict[str, list[float]]] = {}
    for row in rows.values():
        if row.get(score) is not None:
            held.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(float(row[score]))
    return {name: {method: fmean(values) for method, values in by.items()} for name, by in held.items()}


def _group(rows: Rows, methods: Sequence[str], group: str) -> str:
    names, known = GROUPS[group], {row["dataset"] for row in rows.values()}
    if not known.intersection(names):
        return ""
    shown = [method for method in methods if any(row["method"] == method for row in rows.values())]
    parts = [f"## {TITLES[group]}", _means(rows, shown, names), *_refused(rows, names)]
    for score, title in (("accuracy", "Accuracy"), ("map", "MAP")):
        parts.append(f"### {title}: {TITLES[group].lower()}\n\n{_matrix(numbers(rows, score), shown, names)}")
    return "\n\n".join(parts)


def _refused(rows: Rows, names: Sequence[str]) -> list[str]:
    """Why methods have no numbers."""
    known = {(row["method"], row["dataset"]): row["why"] for row in rows.values() if row["state"] != "finished"}
    lines = [f"- {method} on {name}: {why}" for (method, name), why in known.items() if name in names]
    return ["\n".join(lines)] if lines else []


def _means(rows: Rows, methods: Sequence[str], names: Sequence[str]) -> str:
    """A line for every method: means over the sets it has, and what it costs."""
    accuracy, precision = numbers(rows, "accuracy"), numbers(rows, "map")
    fits, asks = numbers(rows, "fit cpu"), numbers(rows, "predict")
    lines = []
    for method in methods:
        own = [by[method] for name in names if method in (by := accuracy.get(name, {}))]
        maps = [by[method] for name in names if method in (by := precision.get(name, {}))]
        times = [[by[method] for name in names if method in (by := of.get(name, {}))] for of in (fits, asks)]
        cells = [_mean(own), _mean(maps), *(f"{median(some):.2g}" if some else "–" for some in times)]
        lines.append([method, *cells, f"{len(own)} of {len(names)}"])
    return table(["method", "accuracy", "MAP", "fit, CPU s (median)", "predict s (median)", "sets"], lines)


def _matrix(held: Numbers, methods: Sequence[str], names: Sequence[str]) -> str:
    sets = [name for name in names if name in held]
    lines = [[method, *(_number(held[name].get(method)) for name in sets)] for method in methods]
    return table(["method", *sets], lines)


def _ranking(rows: Rows, methods: Sequence[str], score: str) -> Ranking | None:
    """Over as many methods and sets as have all scores: the choice with most numbers in it."""
    held = numbers(rows, score)
    known = sorted(methods, key=lambda method: -sum(method in by for by in held.values()))
    best: Numbers = {}
    for count in range(2, len(known) + 1):
        full = {name: by for name, by in held.items() if all(method in by for method in known[:count])}
        if len(full) > 1 and len(full) * count >= sum(map(len, best.values())):
            best = {name: {method: by[method] for method in known[:count]} for name, by in full.items()}
    return rank_table(best) if best else None


def _ranks(rows: Rows, methods: Sequence[str]) -> str:
    parts = ["## Ranks"]
    for score, title in (("accuracy", "accuracy"), ("map", "MAP")):
        found = _ranking(rows, methods, score)
        if found is None:
            continue
        parts.append(f"By {title}.\n\n{found}")
        if (IMAGES / f"defaults_{score}.png").exists():
            parts.append(f"![Critical differences of mean ranks by {title}](../images/defaults_{score}.png)")
    return "\n\n".join(parts) if len(parts) > 1 else ""


# --- targets


def _targets(rows: Rows) -> str:
    lines = [target(rows, *one) for one in TARGETS]
    return "## Targets\n\n" + "\n".join(f"- {line}" for line in lines)


def target(rows: Rows, method: str, score: str, rival: str | None, more: float, where: str) -> str:
    """One target in words."""
    held, names = numbers(rows, score), _sets(where)
    sides = [method] if rival is None else [method, rival]
    both = [name for name in names if all(side in held.get(name, {}) for side in sides)]
    title = {"accuracy": "accuracy", "map": "MAP"}[score]
    wish = (
        f"at least {more:g}" if rival is None else f"at least {more:g} above {rival}" if more else f"as good as {rival}"
    )
    said = f"{method}: {title} {wish} ({where})"
    if len(both) < len(names):
        return f"{said}: **not measured yet** ({len(both)} of {len(names)} sets)."
    own = fmean(held[name][method] for name in both)
    other = 0.0 if rival is None else fmean(held[name][rival] for name in both)
    facts = f"{own:.3f}" if rival is None else f"{own:.3f} beside {other:.3f}, {own - other:+.3f}"
    return f"{said}: {'met' if own >= other + more else '**not met**'}, {facts}."


def _sets(where: str) -> list[str]:
    if where == "all sets":
        return [name for names in GROUPS.values() for name in names]
    names: Iterable[str] = GROUPS["confirm"]
    return [name for name in names if "channels" not in where or name in SEVERAL]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f}" if values else "–"
