"""Figures of the T-Loss comparison, drawn from the rows that are finished."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.results import Rows
from benchmarks.papers.tloss import ucr_report as report
from benchmarks.papers.tloss.thesis import thesis
from benchmarks.papers.tloss.workshop import COMBINED, Learned, Workshop
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

DRAWN = "SyntheticControl"


def draw(rows: Rows, workshop: Workshop, folder: Path) -> None:
    """All that there are rows for, as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = {name: mean(some) for name, some in report.accuracies(rows, report.COMBINED).items()}
    if len(ours) > 1:
        against_dtw(ours, folder / "tloss_dtw.svg")
        ranks(rows, folder / "tloss_ranks.svg")
    if f"{DRAWN}/combined/0" in rows and workshop.has(Learned(DRAWN, COMBINED, 0)):
        given = workshop.problem(DRAWN)
        _, test = workshop.representations(Learned(DRAWN, COMBINED, 0), given)
        map_of(test, given.test_labels, folder / "tloss_tsne.svg")


def against_dtw(ours: dict[str, float], path: Path) -> None:
    """A point for every data set; above the diagonal the encoder is better."""
    theirs = thesis()
    dtw = [theirs[name]["dtw_1nn"] for name in ours]
    figure, (axes,) = blank(5, 5)
    low = min(*dtw, *ours.values()) - 0.03
    axes.plot([low, 1], [low, 1], color="0.7", lw=1)
    axes.scatter(dtw, list(ours.values()), s=24, label="ours")
    published = [theirs[name]["combined"] for name in ours]
    axes.scatter(dtw, published, s=24, facecolors="none", edgecolors="C1", label="thesis")
    axes.set(xlabel="accuracy of 1-NN DTW", ylabel="accuracy of the combined encoder, SVM", aspect="equal")
    axes.legend(frameon=False)
    figure.savefig(path)


def ranks(rows: Rows, path: Path) -> None:
    """Mean ranks; a bar joins methods that the test of Nemenyi does not tell apart at 0.05."""
    table, names = compared(rows)
    placed = np.mean([rankdata(-line) for line in table], axis=0)
    n, k = table.shape
    apart = float(studentized_range.ppf(0.95, k, np.inf)) * np.sqrt(k * (k + 1) / (12 * n))
    figure, (axes,) = blank(8, 0.2 * k + 1.9)
    order = np.argsort(placed)
    joined = cliques(placed[order], apart)
    below = 0.5 + 0.4 * len(joined)  # the bars come first, then the names
    for position, i in enumerate(order):
        left = position < (k + 1) // 2  # from both ends inwards, so that no line crosses a name
        end, level = (0.7, position) if left else (k + 0.3, k - 1 - position)
        axes.plot([placed[i], placed[i], end], [0, -below - level, -below - level], color="0.3", lw=1)
        words = f"{names[i]}  {placed[i]:.2f} " if left else f" {placed[i]:.2f}  {names[i]}"
        axes.text(end, -below - level, words, va="center", ha="right" if left else "left")
    for height, (first, last) in enumerate(joined):
        axes.plot([first - 0.03, last + 0.03], [-0.35 - 0.4 * height] * 2, color="C3", lw=3)
    axes.plot([1, 1 + apart], [1.7, 1.7], color="k", lw=2)
    chance = friedmanchisquare(*table.T).pvalue if n > 2 else float("nan")
    words = f"critical difference {apart:.2f}, {n} data sets, Friedman p = {chance:.2g}"
    axes.text(1, 1.9, words, va="bottom")
    axes.plot([1, k], [0, 0], color="k", lw=1)
    for rank in range(1, k + 1):
        axes.plot([rank] * 2, [0, 0.2], color="k", lw=1)
        axes.text(rank, 0.3, str(rank), ha="center", va="bottom")
    axes.text(k + 0.3, 0.3, "mean rank", va="bottom")
    axes.set(xlim=(-1.5, k + 2.5), ylim=(-below - k // 2 - 0.3, 2.9))
    axes.set_axis_off()
    figure.savefig(path)


def cliques(placed: NDArray[np.float64], apart: float) -> list[tuple[float, float]]:
    """Longest runs of sorted ranks that are nearer than the critical difference.

    >>> cliques(np.array([1.0, 1.5, 2.2, 4.0]), 1.0)
    [(1.0, 1.5), (1.5, 2.2)]
    """
    found: list[tuple[float, float]] = []
    for first in placed.tolist():
        last = float(placed[placed <= first + apart][-1])
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def compared(rows: Rows) -> tuple[NDArray[np.float64], list[str]]:
    """Accuracies (data set, method) where both K = 5 and combined are finished."""
    theirs = thesis()
    heads = {
        "combined, SVM": report.COMBINED,
        "combined, 1-NN": report.COLUMNS[-1],
        "K = 5, SVM": report.COLUMNS[2],
        "K = 10, SVM": report.COLUMNS[3],
    }
    ours = {name: report.accuracies(rows, column) for name, column in heads.items()}
    common = sorted(set.intersection(*(set(some) for some in ours.values())))
    columns = [[mean(some[name]) for name in common] for some in ours.values()]
    columns.append([theirs[name]["combined"] for name in common])
    columns.append([theirs[name]["dtw_1nn"] for name in common])
    return np.array(columns).T, [*heads, "thesis, combined", "1-NN DTW"]


def map_of(vectors: NDArray[np.float32], labels: NDArray[Any], path: Path) -> None:
    """The test series in the plane, by t-SNE of their representations."""
    from sklearn.manifold import TSNE

    places = TSNE(random_state=0, init="pca").fit_transform(vectors)
    figure, (axes,) = blank(5.5, 4.5)
    for label in np.unique(labels):
        axes.scatter(*places[labels == label].T, s=12, label=str(label))
    axes.set(xticks=[], yticks=[], title=f"{DRAWN}, test part")
    axes.legend(title="class", frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
    figure.savefig(path)
