"""Figures of the diagnosis of SRVP: strips of frames, and curves of the training with posterior beside prior."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.results import Found
from numpy.typing import NDArray

FOLDER = "docs/images/srvp"  # where the page looks for them
GAP, GREY = 1, 0.35  # pixels between frames, and what is between them
COLOURS = 24
LOGARITHMIC = ("gradient_norm", "rate")
TITLES = {
    "likelihood": "log-likelihood (nats)",
    "first_kl": "KL of the first state (nats)",
    "random_kl": "KL of all z (nats)",
    "path_length": "path length of the state",
    "gradient_norm": "norm of the gradient",
    "rate": "learning rate",
}


def slug(dataset: str, method: str, seed: int) -> str:
    """The name of a row's files.

    >>> slug("one digit, 16", "thesis's sizes", 0)
    'one_digit_16_thesiss_sizes_0'
    """
    return re.sub(r"[^a-z0-9]+", "_", f"{dataset} {method} {seed}".lower().replace("'", ""))


def strip(pictures: dict[str, NDArray[Any]], past: int) -> NDArray[np.float32]:
    """One picture of rows of frames; those that begin after the past stand below the frames of their time."""
    n_frames, _, height, width = pictures["input"].shape
    shape = len(pictures) * (height + GAP) + GAP, n_frames * (width + GAP) + GAP
    found = np.full(shape, GREY, np.float32)
    for line, frames in enumerate(pictures.values()):
        first = 0 if len(frames) == n_frames else past
        for place, frame in enumerate(frames, first):
            top, left = GAP + line * (height + GAP), GAP + place * (width + GAP)
            found[top : top + height, left : left + width] = np.clip(frame.mean(axis=0), 0, 1)
    return found


def draw_strip(source: Path, path: Path, past: int) -> None:
    """Draw the pictures of a row: input, reconstruction, samples and their mean."""
    with np.load(source) as held:
        pictures = {name: held[name] for name in held.files}
    shown = strip(pictures, past)
    height, width = pictures["input"].shape[2:]
    figure, (axes,) = blank(9.0, 9.0 * shown.shape[0] / shown.shape[1] + 0.2)
    axes.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="equal")
    axes.axvline(past * (width + GAP), color="C1", linewidth=1)
    axes.set_yticks([GAP + (line + 0.5) * (height + GAP) for line in range(len(pictures))], list(pictures), fontsize=7)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    _save(figure, path)


def draw_curves(row: Found, folder: Path, names: Sequence[str]) -> None:
    """Draw the parts of the loss over the steps, and the divergence of z over the time of a clip."""
    figure, panels = blank(2.3 * (len(names) + 1), 2.2, len(names) + 1)
    for axes, name in zip(panels, names, strict=False):
        if name in row["curves"]:
            axes.plot(row["curves"][name]["steps"], row["curves"][name]["values"], linewidth=1)
        if name in LOGARITHMIC:
            axes.set_yscale("log")
        elif name == "likelihood":
            axes.set_yscale("symlog")
        axes.set_title(TITLES[name], fontsize=8)
        axes.set_xlabel("step", fontsize=7)
        axes.tick_params(labelsize=6)
    apart = row["kl by step"]
    panels[-1].bar(range(2, len(apart) + 2), apart)
    panels[-1].set_title("posterior to prior of z (nats)", fontsize=8)
    panels[-1].set_xlabel("frame of a test clip", fontsize=7)
    panels[-1].tick_params(labelsize=6)
    _save(figure, folder / f"{slug(row['dataset'], row['method'], row['seed'])}_curves.png")


def _save(figure: Any, path: Path) -> None:
    """Write few colours: noise, which samples are at first, does not compress."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    held = BytesIO()
    figure.savefig(held, dpi=80)
    Image.open(held).convert("RGB").quantize(COLOURS).save(path, optimize=True)
