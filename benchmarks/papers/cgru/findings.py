"""What figures 2 and 3 of the CGRU comparison say beside the paper's, in numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from benchmarks.papers.cgru.methods import METHODS, TEST
from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having
from numpy.typing import NDArray

Floats = NDArray[np.float64]
COUPLED = ("coupled", "coupled-3")
LEFT = 0.1  # of the margin without noise: with less, it is called gone
PAPER_CORRELATION, PAPER_GONE = -0.984, {"siamese": 1.25, "coupled": 1.75}


# --- figure 2


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


class Norm(NamedTuple):
    """‖W_hc‖ of a training: at the start, at most, in which epoch that was, and at the end; r with the falling loss."""

    start: float
    most: float
    epoch: int
    end: float
    correlation: float
    fitted: int  # epochs in which the loss falls
    better: int  # epochs with a better validation
    later: int  # of these, after the most

    @classmethod
    def of(cls, row: Found) -> Norm:
        """From what a row says of its epochs.

        >>> row = {"coupling": [1.0, 1.5, 1.2, 0.8], "epoch loss": [4.0, 2.0, 1.0], "epoch score": [0.1, 0.2, 0.3]}
        >>> Norm.of(row)[:4], Norm.of(row)[5:]
        ((1.0, 1.5, 1, 0.8), (3, 3, 2))
        """
        norms, losses, scores = (np.array(row[track]) for track in ("coupling", "epoch loss", "epoch score"))
        first, better, epoch = falling(losses), improved(scores) + 1, int(norms.argmax())
        r = float(np.corrcoef(norms[1:][first], losses[first])[0, 1])
        ends = (float(norms[0]), float(norms[epoch]), epoch, float(norms[-1]))
        return cls(*ends, r, len(losses[first]), len(better), int((better > epoch).sum()))

    @property
    def contradicts(self) -> bool:
        """Whether it never doubles, falls below its start, and the validation improves meanwhile."""
        return self.most < 2 * self.start and self.end < self.start and self.later > 0

    def __str__(self) -> str:
        rise = f"‖W_hc‖ {self.start:.2f} → {self.most:.2f} (epoch {self.epoch}, × {self.most / self.start:.2f})"
        return (
            f"{rise} → {self.end:.2f}. {self.later} of the {self.better} epochs with a better validation come after "
            f"its peak. r = {signed(self.correlation)} over the {self.fitted} epochs in which the loss falls, beside "
            f"the paper's {signed(PAPER_CORRELATION)}."
        )


def on_norm(rows: Rows) -> str:
    """Figure 2 beside the paper's, a line for each start."""
    found = {name: Norm.of(row) for name in COUPLED for row in having(rows, method=name, part=TEST, seed=0)}
    if not found:
        return "Figure 2 waits for its rows."
    ours = (
        "**This contradicts the paper**: here the norm never doubles, it ends below where it started, and validation "
        "keeps improving while it falls."
        if all(norm.contradicts for norm in found.values())
        else "Here:"
    )
    lines = "\n".join(f"- {METHODS[name].title}: {norm}" for name, norm in found.items())
    return f"""In the paper's figure 2 the norm of the coupling weights more than doubles in the first 20 epochs,
validation improves with it, and the loss is almost linear in it; the paper concludes that coupling is useful.
{ours}

{lines}

This norm does not measure coupling either: with bias 0, W_hc = 0 means c = ½, the strongest coupling there is. The mean
gate does, and `CoupledGRU` penalises and reports it by default (`history_["coupling"]`); these rows use the paper's
penalty."""


# --- figure 3


class Margin(NamedTuple):
    """Negative minus positive distances by level of noise, and the level from which on hardly any of it is left."""

    levels: Floats
    values: Floats
    gone: float

    @classmethod
    def of(cls, noise: dict[str, Any]) -> Margin:
        """From what a row says of noise.

        >>> Margin.of({"levels": [0, 1, 2], "positive": [1.0, 2.0, 3.0], "negative": [3.0, 2.5, 3.1]}).gone
        2.0
        """
        levels, values = np.array(noise["levels"], float), np.subtract(noise["negative"], noise["positive"])
        most = np.maximum.accumulate(values[::-1])[::-1]  # that is left at this level or at any above it
        under = np.flatnonzero(most < LEFT * values[0])
        return cls(levels, values, float(levels[under[0]]) if len(under) else float("inf"))

    @property
    def left(self) -> Floats:
        """The share of the margin without noise."""
        return np.asarray(self.values / self.values[0])


def on_noise(rows: Rows) -> str:
    """Figure 3 beside the paper's: margins, and what is left of them."""
    known = {name: having(rows, method=name, part=TEST, seed=0) for name in PAPER_GONE}
    found = {name: Margin.of(some[0]["noise"]) for name, some in known.items() if some and "noise" in some[0]}
    if len(found) < len(known):
        return "Figure 3 waits for its rows."
    head = ["σ of the noise", *(f"{level:g}" for level in found["siamese"].levels)]
    lines = [[f"{METHODS[name].title}, margin", *map(signed, one.values)] for name, one in found.items()]
    shares = [[f"{METHODS[name].title}, left", *(f"{s:.0%}" for s in one.left)] for name, one in found.items()]
    gone = {name: one.gone for name, one in found.items()}
    ours = (
        "**This contradicts the paper**, here it is the other way round"
        if gone["coupled"] < gone["siamese"]
        else "Here"
    )
    paper = f"up to {PAPER_GONE['coupled']} against {PAPER_GONE['siamese']}"
    since = {
        name: f"from σ = {level:g} on" if np.isfinite(level) else "at no level tried" for name, level in gone.items()
    }
    left = f"{since['coupled']} for CoupledGRU and {since['siamese']} for SiameseGRU"
    return f"""In the paper's figure 3 the coupled network keeps a margin (mean distance of negative minus positive
pairs) under more noise than the siamese one, {paper}; it concludes that coupling separates hard samples better.
{ours}: less than {LEFT:.0%} of the margin without noise is left {left}.

{table(head, [*lines, *shares])}"""


def signed(value: float) -> str:
    """Two digits and a proper minus sign.

    >>> signed(-0.984)
    '−0.98'
    """
    return f"{value:.2f}".replace("-", "−")
