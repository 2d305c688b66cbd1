"""Figures 2 and 3 of the CGRU paper, drawn from rows that are finished."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.cgru.findings import COUPLED, falling, improved
from benchmarks.papers.cgru.methods import METHODS, TEST, Part
from benchmarks.papers.cgru.workshop import Workshop
from benchmarks.papers.results import Rows

import timelike as tl
from timelike.plotting import curves

COMPARED = ("siamese", "coupled")
KINDS = ("positive", "negative")


def draw(rows: Rows, workshop: Workshop, folder: Path) -> None:
    """All that there are rows for, as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {name: rows[key] for name in COUPLED if (key := Part(name, TEST, 0).key) in rows}
    if known:
        coupling(known, folder / "cgru_coupling.png")
    measure_noise(rows, workshop)
    if all("noise" in rows.get(Part(name, TEST, 0).key, {}) for name in COMPARED):
        noise(rows, folder / "cgru_noise.png")


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


def noise(rows: Rows, path: Path) -> None:
    """Figure 3: mean distances of positive and of negative pairs of the test part, the more noise is added to it."""
    known = {METHODS[name].title: rows[Part(name, TEST, 0).key]["noise"] for name in COMPARED}
    levels = np.array(next(iter(known.values()))["levels"])
    kinds = {title: {kind: np.array([found[kind]]) for kind in KINDS} for title, found in known.items()}
    curves.plot_noise_curves(levels, kinds).savefig(path, dpi=120)


def measure_noise(rows: Rows, workshop: Workshop) -> None:
    """Into the rows of seed 0 that were finished before they told it, from the distances that they left."""
    for name in COMPARED:
        part = Part(name, TEST, 0)
        row = rows.get(part.key, {"noise": None})
        if "noise" in row or not workshop.model(part).exists():
            continue
        metric = tl.load_model(workshop.model(part))
        if metric.history_["epoch_loss"].round(5).tolist() != row["epoch loss"]:  # left by another training
            continue
        known, place = list(row.items()), list(row).index("accuracy")
        rows[part.key] = dict([*known[:place], ("noise", workshop.noise(metric)), *known[place:]])
