"""The numbers that prose pages quote: small functions, each of which computes a text from rows, pages or the library.

A query takes the words behind its name in a marker and gives the text to write. It raises where what it needs is not
there: a page never quotes a number that nobody has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean, median

from benchmarks.accuracy.defaults_report import GROUPS, numbers
from benchmarks.papers.markdown import table
from benchmarks.papers.results import having
from benchmarks.quoted_numbers.sources import read_cell, read_rows, read_table_rows

QUERIES: dict[str, Callable[..., str]] = {}

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()


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
    """How many there are, in words up to twelve."""
    found = _COUNTS[things]()
    return _WORDS[found] if found < len(_WORDS) else str(found)


def _elastic_distances() -> int:
    from timelike import align

    kinds = [getattr(align, name) for name in align.__all__]
    return sum(isinstance(kind, type) and issubclass(kind, align.Elastic) for kind in kinds) - 1  # without the base


def _losses() -> int:
    from timelike.metric import losses

    kinds = [getattr(losses, name) for name in losses.__all__]
    return sum(isinstance(kind, type) and issubclass(kind, losses.Loss) for kind in kinds) - 1  # without the base


_COUNTS: dict[str, Callable[[], int]] = {
    "elastic_distances": _elastic_distances,
    "elastic_distances_besides_dtw": lambda: _elastic_distances() - 1,
    "losses": _losses,
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


# --- classes that were not learned (benchmarks.accuracy.open_classes)


@query
def open_class_error(method: str) -> str:
    """The mean over data sets of the mean equal error rate over draws."""
    by_set: dict[str, list[float]] = {}
    for row in having(read_rows("open_classes"), method=method):
        by_set.setdefault(row["dataset"], []).append(row["eer"])
    return f"{fmean(map(fmean, by_set.values())):.3f}"


# --- forecasts (benchmarks.accuracy.forecast)


@query
def coverage_range(dataset: str) -> str:
    """What calibrated intervals of 80 % covered, from the worst method to the one that covers most."""
    by_method: dict[str, list[float]] = {}
    for row in having(read_rows("forecast"), part="series", dataset=dataset):
        by_method.setdefault(row["method"], []).append(row["coverage"][0])
    return spanned((100 * fmean(shares) for shares in by_method.values()), unit=" %")


# --- tables of the speed pages


@query
def speed(page: str, work: str, column: str, beside: str = "") -> str:
    """A cell of the table on a speed page: "theirs", "ours" or "ratio" of the first row that begins so."""
    return read_cell(page, work, column, beside)


@query
def window_selection_cost() -> str:
    """How many times as long as one matrix of distances `DTW.select_window` takes."""
    found = [row for row in read_table_rows("elastic") if row["work"].startswith("DTW.select_window")]
    return spanned((1 / _factor(row["ratio"]) for row in found), ".1f")


def _factor(cell: str) -> float:
    """
    >>> _factor("0.453×")
    0.453
    """
    return float(cell.removesuffix("×"))
