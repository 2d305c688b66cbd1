"""Figures 2 and 3 of the CGRU paper, drawn from rows that are finished and the distances that they left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.cgru.data import positions
from benchmarks.papers.cgru.methods import METHODS, TEST, Part
from benchmarks.papers.cgru.workshop import Workshop
from benchmarks.papers.results import Rows
from numpy.typing import NDArray

import timelike as tl

NOISE = np.linspace(0.0, 2.0, 9)
COUPLED = ("coupled", "coupled-3")
Floats = NDArray[np.float64]


def draw(rows: Rows, workshop: Workshop, folder: Path) -> None:
    """All that there are rows and fitted distances for, as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {name: rows[key] for name in COUPLED if (key := Part(name, TEST, 0).key) in rows}
    if known:
        coupling(known, folder / "cgru_coupling.png")
    saved = {name: workshop.model(Part(name, TEST, 0)) for name in ("siamese", "coupled")}
    if all(path.exists() for path in saved.values()):
        metrics = {name: tl.load_model(path) for name, path in saved.items()}
        noise(metrics, workshop, folder / "cgru_noise.png")


def coupling(known: Rows, path: Path) -> None:
    """Figure 2: the norm over epochs with the points where validation improved, and the loss against the norm."""
    figure, (over, against) = blank(9, 3.8, 2)
    for i, (name, row) in enumerate(known.items()):
        norms, losses, scores = (np.array(row[track]) for track in ("coupling", "epoch loss", "epoch score"))
        over.plot(norms, color=f"C{i}", label=METHODS[name].title, zorder=1)
        better = improved(scores)
        over.scatter(better + 1, norms[better + 1], s=18, color="red", zorder=2)
        against.plot(norms[1:], losses, ".-", lw=0.7, color=f"C{i}")
        first = falling(losses)
        slope, start = np.polyfit(norms[1:][first], losses[first], 1)
        fitted = norms[1:][first]
        r = np.corrcoef(fitted, losses[first])[0, 1]
        words = f"line through the first {len(fitted)} epochs, r = {r:.3f}"
        ends = np.array([fitted.min(), fitted.max()])
        against.plot(ends, slope * ends + start, "--", color=f"C{i}", label=words)
    over.set(xlabel="epoch", ylabel="‖W_hc‖", ylim=(0, 1.1 * max(max(row["coupling"]) for row in known.values())))
    against.set(xlabel="‖W_hc‖", ylabel="mean loss of an epoch")
    over.legend(frameon=False)
    against.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))  # the points take up the rest
    figure.savefig(path)


def improved(scores: Floats) -> NDArray[np.intp]:
    """Positions of the scores that are better than all before.

    >>> improved(np.array([0.5, 0.4, 0.6, 0.6]))
    array([0, 2])
    """
    before = np.concatenate([[-np.inf], np.maximum.accumulate(scores)[:-1]])
    return np.flatnonzero(scores > before)


def falling(losses: Floats) -> slice:
    """The first part, in which nine tenths of the fall happen; two epochs at least.

    >>> falling(np.array([10.0, 5.0, 1.0, 0.5, 0.2, 0.0]))
    slice(0, 3, None)
    """
    low = losses[0] - 0.9 * (losses[0] - losses.min())
    return slice(0, max(2, int(np.argmax(losses <= low)) + 1))


def noise(metrics: dict[str, Any], workshop: Workshop, path: Path) -> None:
    """Figure 3: mean distances of positive and of negative pairs of the test part, the more noise is added to it."""
    test = workshop.whole.queries
    some = test[positions(test, 0, workshop.per_class)]
    figure, (axes,) = blank(6, 4.2)
    for i, (name, metric) in enumerate(metrics.items()):
        near, far = apart(metric, some)
        axes.plot(NOISE, near, "-", color=f"C{i}", label=f"{METHODS[name].title}, positive")
        axes.plot(NOISE, far, "--", color=f"C{i}", label=f"{METHODS[name].title}, negative")
    axes.set(xlabel="standard deviation of white noise", ylabel="mean distance", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(path)


def apart(metric: Any, test: tl.Sequences) -> tuple[list[float], list[float]]:
    """Mean distance of positive and of negative pairs, for every level of noise."""
    labels, rng = np.asarray(test.labels), np.random.default_rng(0)
    white = rng.standard_normal(test.values.shape).astype(np.float32)
    same = labels[:, None] == labels[None, :]
    other, same = ~same, same & ~np.eye(len(labels), dtype=bool)
    near, far = [], []
    for deviation in NOISE:
        noisy = tl.Sequences.from_packed(test.values + np.float32(deviation) * white, test.offsets)
        distances = metric.pairwise(noisy, n_jobs=1)
        near.append(float(distances[same].mean()))
        far.append(float(distances[other].mean()))
    return near, far
