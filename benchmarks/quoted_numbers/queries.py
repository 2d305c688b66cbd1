"""The numbers that prose pages quote: small functions, each of which computes a text from rows, pages or the library.

A query takes the words behind its name in a marker and gives the text to write. It raises where what it needs is not
there: a page never quotes a number that nobody has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from statistics import fmean, median

from benchmarks.accuracy.defaults import GROUPS, numbers
from benchmarks.papers.markdown import table
from benchmarks.papers.results import having
from benchmarks.quoted_numbers.sources import read_cell, read_rows, read_table_rows
from timelike import _exports
from timelike.score import interval

QUERIES: dict[str, Callable[..., str]] = {}

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def query(function: Callable[..., str]) -> Callable[..., str]:
    """Let markers call the function by its name."""
    QUERIES[function.__name__] = function
    return function


# --- how numbers are written


def signed(value: float, digits: int = 3) -> str:
    """With its sign, and a minus that is one.

    >>> signed(0.0113), signed(-0.013)
    ('+0.011', '−0.013')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def spanned(values: Iterable[float], form: str = ".0f", unit: str = "") -> str:
    """The least and the greatest.

    >>> spanned([48.2, 71.4], unit=" %"), spanned([3.0, 3.0])
    ('48–71 %', '3')
    """
    known = list(values)
    low, high = (f"{end(known):{form}}" for end in (min, max))
    return f"{low if low == high else f'{low}–{high}'}{unit}"


# --- counted in the library


@query
def count(things: str) -> str:
    """How many there are: in words up to twelve, large numbers to two digits."""
    found = _COUNTS[things]()
    if found < len(_WORDS):
        return _WORDS[found]
    return f"{float(f'{found:.2g}'):,.0f}".replace(",", " ")


def _count_subclasses(package: str, base: type) -> int:
    """How many public classes of a package derive from a base, which is not counted itself."""
    module = import_module(package)
    kinds = [getattr(module, name) for name in _exports.public_names(package)]
    return sum(isinstance(kind, type) and issubclass(kind, base) and kind is not base for kind in kinds)


def _elastic_distances() -> int:
    from timelike.align import ElasticDistance

    return _count_subclasses("timelike.align", ElasticDistance)


def _losses() -> int:
    from timelike.metric.losses import Loss

    return _count_subclasses("timelike.metric.losses", Loss)


def _resnet_weights() -> int:
    """Of an `ImageEncoder` for pictures of one channel, 28 × 28."""
    import timelike as tl

    module = tl.encode.ImageEncoder(architecture="resnet", random_state=0).network((1, 28, 28))
    return sum(weight.numel() for weight in module.parameters())


_COUNTS: dict[str, Callable[[], int]] = {
    "elastic_distances": _elastic_distances,
    "elastic_distances_besides_dtw": lambda: _elastic_distances() - 1,
    "losses": _losses,
    "resnet_weights": _resnet_weights,
}


# --- every method at its defaults (rows of benchmarks.accuracy.defaults)


def _scores(score: str, method: str) -> dict[str, float]:
    """{data set: mean over seeds} of one method."""
    held = numbers(read_rows("defaults"), score)
    return {name: by[method] for name, by in held.items() if method in by}


def _group_mean(score: str, method: str, group: str) -> float:
    known = _scores(score, method)
    return fmean(known[name] for name in GROUPS[group])  # a set that is missing is an error, not another mean


@query
def set_score(score: str, method: str, dataset: str) -> str:
    """Accuracy or MAP of a method on one data set."""
    return f"{_scores(score, method)[dataset]:.3f}"


@query
def mean_score(score: str, method: str, group: str) -> str:
    """The mean over a group of data sets: "choose", "confirm" or "others"."""
    return f"{_group_mean(score, method, group):.3f}"


@query
def mean_difference(score: str, method: str, rival: str, group: str) -> str:
    """How much more the method has than its rival, in the mean over a group."""
    return signed(_group_mean(score, method, group) - _group_mean(score, rival, group))


@query
def common_mean(score: str, method: str, other: str) -> str:
    """The mean of the first method over the data sets that both have."""
    own, rival = _scores(score, method), _scores(score, other)
    return f"{fmean(own[name] for name in own if name in rival):.3f}"


@query
def n_common_sets(method: str, other: str) -> str:
    """How many data sets have accuracies of both methods."""
    return str(len(_scores("accuracy", method).keys() & _scores("accuracy", other).keys()))


@query
def fit_ratio(method: str, rival: str, group: str) -> str:
    """How many times as long a fit of the method takes: medians of processor time over a group, one digit."""
    times = [median(_scores("fit cpu", name)[dataset] for dataset in GROUPS[group]) for name in (method, rival)]
    return f"{float(f'{times[0] / times[1]:.1g}'):g}"


@query
def seeds_range(group: str) -> str:
    """The least and greatest number of seeds that a row of a group has."""
    rows = [row for row in read_rows("defaults").values() if row["dataset"] in GROUPS[group]]
    per_cell: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        per_cell.setdefault((row["dataset"], row["method"]), set()).add(row["seed"])
    return spanned(map(len, per_cell.values())).replace("–", " to ")


@query
def method_means(group: str) -> str:
    """A table of the methods: mean accuracy and MAP over a group, and the median time of a fit."""
    titles = {
        "1-NN DTW": "1-NN DTW, window chosen",
        "statistics + forest": "statistics + forest",
        "Rocket + ridge": "Rocket + ridge",
        "Discriminant": "Discriminant",
        "T-Loss + head": "T-Loss + head",
        "SiameseGRU": "SiameseGRU",
        "Prototypes": "Prototypes",
        "CoupledGRU": "CoupledGRU",
        "TAP": "TAP",
    }
    lines = []
    for method, title in titles.items():
        scores = [mean_score(score, method, group) for score in ("accuracy", "map")]
        fits = _scores("fit cpu", method)
        lines.append([title, *scores, f"{median(fits[name] for name in GROUPS[group]):.2g}"])
    return table(["method", "accuracy", "MAP", "fit, CPU s (median)"], lines)


# --- what coupling is worth (benchmarks.papers.cgru.coupling)


def _with_interval(differences: list[float]) -> str:
    """A mean difference and its 95 % interval, over pairs of rows."""
    found = interval(differences)
    return f"{signed(found.mean)} [{signed(found.low)}, {signed(found.high)}]"


def _coupling_gains(part: str, ending: str) -> list[float]:
    """MAP of CoupledGRU minus that of SiameseGRU, on the cases that end so, for the same case and seed."""
    by_method = [
        {(row["case"], row["seed"]): row["map"] for row in having(read_rows("cgru_coupling"), part=part, method=method)}
        for method in ("siamese", "coupled")
    ]
    plain, coupled = by_method
    return [coupled[key] - plain[key] for key in plain if key in coupled and key[0].endswith(ending)]


@query
def coupling_differences() -> str:
    """A table of what coupling adds to MAP."""
    titles = {
        ("labels", ""): "UCI HAR, few users and labels",
        ("oscillators", "chaotic"): "oscillators with shared parameters, networks that start chaotic",
        ("oscillators", "usual"): "the same, usual starts",
    }
    lines = []
    for asked, title in titles.items():
        found = _coupling_gains(*asked)
        lines.append([title, _with_interval(found), str(len(found))])
    return table(["task", "difference in MAP", "pairs of rows"], lines)


@query
def gate_change(network: str, gate: str, queries: str) -> str:
    """How MAP changes when a trained CoupledGRU answers with another gate: "zero", "mean" or "shuffled"."""
    scores = [row["scores"] for row in having(read_rows("cgru_coupling"), part="gates", method=network)]
    return _with_interval([one[gate][queries]["map"] - one["own"][queries]["map"] for one in scores])


# --- classes that were not learned (benchmarks.accuracy.open_classes)


@query
def open_class_error(method: str) -> str:
    """The mean over data sets of the mean equal error rate over draws."""
    by_set: dict[str, list[float]] = {}
    for row in having(read_rows("open_classes"), method=method):
        by_set.setdefault(row["dataset"], []).append(row["eer"])
    return f"{fmean(map(fmean, by_set.values())):.3f}"


# --- verification of people that were not learned (benchmarks.papers.prototypes.verification)


def _verification_errors(dataset: str) -> dict[str, list[tuple[float, float, float]]]:
    """{method: equal error rate with its interval, for every seed}: by its distance, or its similarity."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for row in having(read_rows("prototypes_verification"), dataset=dataset):
        scores = row["distance"] if "distance" in row else row["SIM"]
        found.setdefault(row["method"], []).append((scores["eer"], scores["low"], scores["high"]))
    return found


@query
def verification_error(dataset: str, method: str) -> str:
    """The equal error rate, the mean over seeds."""
    return f"{fmean(error for error, _, _ in _verification_errors(dataset)[method]):.3f}"


@query
def lowest_verification_error(dataset: str) -> str:
    """The method with the lowest equal error rate, with that rate and its interval."""
    means = {
        method: [fmean(column) for column in zip(*seeds, strict=True)]
        for method, seeds in _verification_errors(dataset).items()
    }
    best = min(means, key=lambda method: means[method][0])
    error, low, high = means[best]
    return f"`{best}` ({error:.3f}, 95 % interval {low:.3f} to {high:.3f})"


# --- forecasts (benchmarks.accuracy.forecast)


@query
def coverage_range(dataset: str) -> str:
    """What calibrated intervals of 80 % covered, from the worst method to the one that covers most."""
    by_method: dict[str, list[float]] = {}
    for row in having(read_rows("forecast"), part="series", dataset=dataset):
        by_method.setdefault(row["method"], []).append(row["coverage"][0])
    return spanned((100 * fmean(shares) for shares in by_method.values()), unit=" %")


@query
def interval_coverage(n_sequences: str, n_windows: str) -> str:
    """How many of the 95 % intervals of `backtest` hold the true error (benchmarks.accuracy.backtest_intervals)."""
    row = read_rows("backtest_intervals")[f"{n_sequences}/{n_windows}"]
    return f"{100 * row['covered'] / row['repetitions']:.0f} %"


@query
def waves_error(method: str) -> str:
    """Mean squared error t+1…t+40 on WaveEq-100, the mean over seeds (benchmarks.papers.separation.waves100)."""
    found = having(read_rows("separation_waves100"), dataset="thesis", method=method)
    return f"{fmean(row['all'] for row in found):.1e}"


@query
def experimental_ratio(dataset: str, method: str, score: str) -> str:
    """A score over that of plain SRVP, the mean of the ratios of all seeds that both have."""
    rows = read_rows("srvp_experimental")
    by_seed = [
        {row["seed"]: row[score] for row in having(rows, dataset=dataset, method=name)} for name in (method, "SRVP")
    ]
    own, plain = by_seed
    return f"{fmean(own[seed] / plain[seed] for seed in own if seed in plain):.2f}"


@query
def experimental_mean(dataset: str, method: str, number: str) -> str:
    """The mean over seeds."""
    found = having(read_rows("srvp_experimental"), dataset=dataset, method=method)
    return f"{fmean(row[number] for row in found):.1f}"


# --- tables of the speed pages


@query
def speed(page: str, work: str, column: str, beside: str = "") -> str:
    """A cell of the table on a speed page: "theirs", "ours" or "ratio" of the first row that begins so."""
    cell = read_cell(page, work, column, beside)
    if cell.endswith(" ms") and _seconds(cell) >= 1:  # a page has one unit for a column: 1.33e+03 ms
        return f"{_seconds(cell):.3g} s"
    return cell


@query
def window_selection_cost() -> str:
    """How many times as long as one matrix of distances `DTW.select_window` takes."""
    found = [row for row in read_table_rows("elastic") if row["work"].startswith("DTW.select_window")]
    return spanned((1 / _factor(row["ratio"]) for row in found), ".1f")


@query
def refit_cost() -> str:
    """In the time of how many fits `backtest(refit=True)` refits `Ridge` at 100 origins."""
    found = [row for row in read_table_rows("forecast_speed") if row["work"].startswith("`backtest(refit=True)`")]
    return spanned((_factor(row["ratio"]) for row in found), ".1f")


@query
def mixed_precision_speedup() -> str:
    """How many times as fast SRVP trains in mixed precision, over all sizes that were tried."""
    times = {row["work"]: _seconds(row["ours"]) for row in read_table_rows("forecast_speed") if "SRVP" in row["work"]}
    single, mixed = "single precision", "mixed precision"
    pairs = [(time, times[work.replace(single, mixed)]) for work, time in times.items() if work.endswith(single)]
    return spanned((before / after for before, after in pairs), ".1f")


def _seconds(cell: str) -> float:
    """The time of one step, from a cell that has it or how many there are in a second.

    >>> _seconds("63.3 ms"), _seconds("1.5 s"), _seconds("20 steps/s")
    (0.0633, 1.5, 0.05)
    """
    number, _, unit = cell.partition(" ")
    if unit not in ("s", "ms", "steps/s"):
        return float("nan")
    return 1 / float(number) if unit == "steps/s" else float(number) / (1000 if unit == "ms" else 1)


def _factor(cell: str) -> float:
    """
    >>> _factor("0.453×")
    0.453
    """
    return float(cell.removesuffix("×"))


@query
def rocket_speed() -> str:
    """Features a second of `Rocket` on series of 500 steps, which stand in the first column of its page."""
    work = next(row["work"] for row in read_table_rows("rocket") if row["work"].startswith("500 series"))
    return work.partition(": ")[2]


# --- digits by pixels and by vectors (benchmarks.accuracy.image_vectors)


@query
def digit_accuracy(method: str) -> str:
    """1-NN accuracy, the mean over seeds."""
    return f"{fmean(row['accuracy'] for row in having(read_rows('image_vectors'), method=method)):.3f}"


# --- two-sample tests (benchmarks.accuracy.two_sample)


def _powers(*methods: str) -> dict[str, list[float]]:
    """{change: share of draws with p ≤ 0.05 of each method}, of the changes that all of them were asked about."""
    known: dict[str, dict[str, float]] = {}
    for row in having(read_rows("two_sample"), part="power", design="50"):
        if not row["subject"].endswith(("nothing changed", "other subjects")):  # where nothing is to be seen
            known.setdefault(row["subject"], {})[row["method"]] = row["below"]["0.05"] / row["repetitions"]
    return {name: [by[one] for one in methods] for name, by in known.items() if all(one in by for one in methods)}


_KERNELS = ("default", "Rocket", "statistics")


@query
def mean_power(method: str) -> str:
    """How often a test sees a change at level 0.05, in the mean over changes."""
    return f"{100 * fmean(of[_KERNELS.index(method)] for of in _powers(*_KERNELS).values()):.0f} %"


@query
def n_changes_tested() -> str:
    return str(len(_powers(*_KERNELS)))
