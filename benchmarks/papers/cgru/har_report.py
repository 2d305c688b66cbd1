"""The page of the CGRU comparison: our scores beside those of the paper's table 1."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.cgru.data import FOLDS, PER_CLASS  # noqa: F401 (in the template)
from benchmarks.papers.cgru.findings import COUPLED, on_noise, on_norm  # noqa: F401 (in the template)
from benchmarks.papers.cgru.methods import (
    CHOOSING,
    CHOOSING_EPOCHS,  # noqa: F401 (in the template)
    METHODS,
    NETWORKS,
    RAW,
    SAMPLE,
    STANDARDIZED,
    TEST,
)
from benchmarks.papers.cgru.pairing import listed, paired, starts
from benchmarks.papers.cgru.scores import NAMES
from benchmarks.papers.cgru.workshop import NOISES  # noqa: F401 (in the template)
from benchmarks.papers.clock import duration
from benchmarks.papers.markdown import count_of, format_mean, table
from benchmarks.papers.page import MissingRows
from benchmarks.papers.results import Found, Rows

MOST_EPOCHS, PATIENCE = METHODS["siamese"].epochs, METHODS["siamese"].patience
TITLES = ["accuracy", "macro F1", "MAP"]
TARGETS = {"accuracy": 0.885, "map": 0.899}
ABOVE = 0.05  # of CoupledGRU over SiameseGRU, in accuracy
TOLERANCE = 0.01  # of an accuracy: the paper's own deviation over runs
PAPER_GAIN = 0.885 - 0.782  # of coupling, in accuracy
PAPER = {  # table 1b; the accuracy of RVSML (OPW) is printed as 0397 and read as 0.597
    "siamese": ("0.782 ± 0.041", "0.781 ± 0.044", "0.633 ± 0.152"),
    "coupled": ("0.885 ± 0.01", "0.887 ± 0.014", "0.899 ± 0.01"),
    "rvsml-dtw": ("0.698", "0.687", "0.437"),
    "rvsml-opw": ("0.597", "0.568", "0.438"),
}
VALIDATION = {  # table 1a
    "siamese": ("0.835 ± 0.068", "0.827 ± 0.074", "0.711 ± 0.016"),
    "coupled": ("0.913 ± 0.055", "0.916 ± 0.054", "0.900 ± 0.043"),
}


def headline(rows: Rows) -> str:
    """CoupledGRU beside the paper's number, the same network without coupling, and RVSML."""
    raw = bool(of(rows, "coupled-raw", TEST))  # the paper's own setting, as soon as it has rows
    name, rival = ("coupled-raw", "siamese-raw") if raw else ("coupled", "siamese")
    ours = [row["accuracy"] for row in of(rows, name, TEST)]
    if not ours:
        raise MissingRows("CoupledGRU")
    channels = "raw channels, as in the paper" if raw else "standardised channels"
    first = (
        f"CoupledGRU has an accuracy of {mean(ours):.3f} ({count_of(len(ours), 'seed')}) on the test part of UCI HAR "
        f"with {channels}; {_paper_number(mean(ours), raw)}."
    )
    return " ".join(filter(None, [first, _coupling_sentence(rows, name, rival), _cheap_sentence(rows)]))


def _paper_number(ours: float, raw: bool) -> str:
    if not raw:
        return f"the paper has {TARGETS['accuracy']} with raw channels, a setting in which CoupledGRU has no rows here"
    word = "which agrees with" if ours >= TARGETS["accuracy"] - TOLERANCE else "which falls short of"
    return f"{word} the paper's {TARGETS['accuracy']}"


def _coupling_sentence(rows: Rows, name: str, rival: str) -> str:
    pair = paired(rows, name, rival, "accuracy")
    if pair is None:
        return "No seed has both this network and SiameseGRU, so nothing can be said about what coupling adds."
    found = (
        f"SiameseGRU, the same network without coupling, has {pair.second:.3f} beside {pair.first:.3f} on "
        f"{listed(pair.seeds)}"
    )
    gain = pair.first - pair.second
    if gain >= ABOVE:
        return f"{found}: coupling helps, as in the paper."
    helps = "helps less than" if gain > 0 else "does not help, which contradicts"
    return f"{found}: coupling {helps} the paper, where it adds {PAPER_GAIN:.3f}."


def _cheap_sentence(rows: Rows) -> str:
    cheap = of(rows, "rvsml-dtw", TEST)
    return (
        f"The cheap rival, RVSML with DTW, has {cheap[0]['accuracy']:.3f} (paper: {PAPER['rvsml-dtw'][0]})."
        if cheap
        else ""
    )


def no_raw_rows(rows: Rows) -> str:
    """The caveat about the paper's own setting, as long as it has no rows."""
    missing = "CoupledGRU with raw channels, the paper's own setting, has no rows."
    return "" if of(rows, "coupled-raw", TEST) else missing


def of(rows: Rows, method: str, part: str) -> list[Found]:
    """The finished seeds (for `fold`, the finished folds) of a method."""
    return [row for row in rows.values() if row["method"] == method and row["part"].rstrip("0123456789") == part]


def cells(some: list[Found]) -> list[str]:
    """Mean ± deviation of the three scores."""
    return [format_mean([one[name] for one in some]) for name in NAMES]


def targets(rows: Rows) -> str:
    """Both starts of the coupling against what was aimed at, and against each other."""
    ready = {name: some for name in COUPLED if (some := of(rows, name, TEST))}
    if not ready:
        return f"Targets: CoupledGRU {aims()}: no row yet."
    said = [f"Targets: CoupledGRU {aims()}.", ""]
    for name, some in ready.items():
        title = f"{METHODS[name].title}, {listed(sorted(row['seed'] for row in some))}"
        for score, least in TARGETS.items():
            named = f"{title}: {score.replace('map', 'MAP')} ≥ {least}"
            said.append(verdict(named, mean(row[score] for row in some), least))
        pair = paired(rows, name, "siamese", "accuracy")
        if pair is not None:
            named = f"{METHODS[name].title}, {listed(pair.seeds)}: accuracy above SiameseGRU's on the same by ≥ {ABOVE}"
            said.append(verdict(named, pair.first - pair.second, ABOVE))
    return "\n".join([*said, "", starts(rows)])


def aims() -> str:
    return f"≥ {TARGETS['accuracy']} accuracy, ≥ {TARGETS['map']} MAP, above SiameseGRU by {100 * ABOVE:.0f} points"


def verdict(what: str, value: float, least: float) -> str:
    """One line: met or not, and by how much.

    >>> verdict("accuracy ≥ 0.9", 0.85, 0.9)
    '- accuracy ≥ 0.9: **NOT met**, 0.850 (−0.050)'
    """
    apart = f"{value - least:+.3f}".replace("-", "−")
    return f"- {what}: {'met' if value >= least else '**NOT met**'}, {value:.3f} ({apart})".replace(" -", " −")


def beside(found: dict[str, list[Found]], count: str, paper: dict[str, tuple[str, str, str]]) -> str:
    """Our scores of some methods, and the paper's."""
    lines = [
        [METHODS[name].title, str(len(some)), *cells(some), *paper.get(name, ("", "", ""))]
        for name, some in found.items()
    ]
    return table(["", count, *TITLES, *(f"paper, {title}" for title in TITLES)], lines)


def on_test(rows: Rows) -> str:
    return beside({name: of(rows, name, TEST) for name in [*NETWORKS, "rvsml-dtw"]}, "seeds", PAPER)


def on_sample(rows: Rows) -> str:
    some = {name: of(rows, name, SAMPLE) or [row["sample"] for row in of(rows, name, TEST)] for name in METHODS}
    return beside(some, "seeds", PAPER)


def folded(rows: Rows) -> str:
    some = {name: of(rows, name, "fold") for name in VALIDATION}
    return beside(some, "folds", VALIDATION) if any(some.values()) else "No row yet."


def choosing(rows: Rows) -> str:
    lines = [
        [METHODS[name].title, part, *cells(of(rows, name, part))] for name in CHOOSING for part in (RAW, STANDARDIZED)
    ]
    return table(["", "channels", *TITLES], lines)


def times(rows: Rows) -> str:
    """Epochs used and what they took, and the matrix of distances, row by row."""
    head = ["row", "epochs", "best", "validation", "training", "matrix", "pairs", "peak memory"]
    lines = []
    for key, row in sorted(rows.items()):
        took, shape = (duration(row[f"{part} seconds"]) for part in ("training", "matrix")), row["shape"]
        pairs, peak = f"{shape[0]} × {shape[1]}", f"{row['matrix peak'] / 1e9:.2f} GB"
        lines.append([key, *epochs(row), *took, pairs, peak])
    return table(head, lines)


def epochs(row: Found) -> list[str]:
    """How many, the best of them, and its validation."""
    if "epochs" not in row:
        return ["–"] * 3
    limit = "*" if row.get("stopped") == "max_epochs" else ""
    return [f"{row['epochs']}{limit}", str(row["best epoch"]), f"{row['validation']:.3f}"]
