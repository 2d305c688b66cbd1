"""Contents that change places: predictions and swaps by Separation, its ablations and SRVP with sprites, on two digits.

    python -m benchmarks.papers.srvp.swap --data DIR --minutes 12

Table 5.2's shape. A swap has the content of one clip and the motion of the next, and is compared with the digits of the
one drawn along the paths of the other: with two digits there are two such truths, and the nearer one counts, as in the
thesis.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.papers import page
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp import methods
from benchmarks.papers.srvp.clips import SIZE, Clips
from benchmarks.papers.srvp.judging import interval_of, scores_of
from benchmarks.papers.srvp.page_parts import SCORES, are_apart, no_network_rows, number, seeded, took, with_time
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram

import timelike as tl
from timelike.sequences import generate

HORIZONS = (10, 95)
Four = tuple[float, float, float, float]
THESIS: dict[str, tuple[Four, Four | None]] = {  # PSNR and SSIM at t+10, at t+95; of predictions, and of swaps
    "SRVP, sprites": ((22.55, 0.9201, 18.25, 0.8300), (17.81, 0.8193, 16.17, 0.7736)),
    "Separation": ((21.70, 0.9088, 17.50, 0.7990), (18.42, 0.8368, 16.50, 0.7713)),
    "Separation, without w": ((20.46, 0.8867, 14.95, 0.6707), None),
    "Separation, without autoencoding": ((21.61, 0.9058, 16.58, 0.7611), (18.21, 0.8309, 15.79, 0.7399)),
    "Separation, without invariance": ((15.99, 0.6900, 12.31, 0.5702), (13.73, 0.5476, 12.07, 0.5556)),
    "Separation, without smallness": ((15.63, 0.7369, 14.02, 0.7253), (14.91, 0.7154, 13.95, 0.7234)),
    "Separation, GRU": ((21.66, 0.9088, 15.45, 0.4888), (17.70, 0.8178, 14.77, 0.4718)),
}


VERSION = "two digits"
Both = tuple[Any, Any, Found]  # frames of predictions, of swaps, and what a training took


def truths(test: Clips) -> list[Any]:
    """Digits of every clip along the paths of the one before it, which digit on which path both ways."""
    paths = np.roll(test.positions, 1, axis=0)
    return [generate.rasterize_digits(patches, paths, size=SIZE) for patches in (test.patches, test.patches[:, ::-1])]


def swapped(model: Any, test: Clips, horizon: int, seed: int) -> Any:
    """The content of every clip with the motion of the one before it."""
    more: dict[str, Any] = {"random_state": seed} if isinstance(model, tl.SRVP) else {}
    return np.asarray(model.swap(test.past, np.roll(test.past, 1, axis=0), horizon, **more).mean)


class Swaps(FormsProgram):
    """Predictions and swaps, one sample each."""

    subject = ("srvp", "separation")
    table, title = "swap", "Contents that change places: Separation and SRVP"
    versions, forms = (VERSION,), THESIS
    usual_minutes, after = 12.0, 60.0

    def work(self, row: Trial) -> Found:
        some = (2, 5) if self.quick else HORIZONS
        test = self.asked(VERSION, some[-1])
        ahead, swaps, took = self._simple(row, test) if row.method in RIVALS else self._learned(row, test)
        found: Found = {"prediction": _nearest(ahead, [test.truth], some)}
        if swaps is not None:
            found["swap"] = _nearest(swaps, truths(test), some)
        return found | took | {"n_clips": len(test.truth)}

    def _simple(self, row: Trial, test: Clips) -> Both:
        """What learns nothing goes on from the clip that moves."""
        moving = replace(test, past=np.roll(test.past, 1, axis=0))
        horizon = test.truth.shape[1]
        return self.continued(row, test, horizon), self.continued(row, moving, horizon), {}

    def _learned(self, row: Trial, test: Clips) -> Both:
        model, took = self.trained(row)
        horizon = test.truth.shape[1]
        ahead = methods.futures(model, test.past, horizon, 1, row.seed)[0]
        return ahead, swapped(model, test, horizon, row.seed) if has_content(row.method) else None, took

    def said(self, found: Found) -> str:
        return ", ".join(
            f"{part} t+{h}: {one[0]:.2f} dB"
            for part in ("prediction", "swap")
            if part in found
            for h, one in found[part]["psnr"].items()
        )


def has_content(method: str) -> bool:
    """Whether there is something to swap."""
    return not method.endswith("without w")


def _nearest(frames: Any, several: list[Any], horizons: tuple[int, ...]) -> Found:
    """Scores of every horizon against whichever truth is nearer, for each clip, score and horizon."""
    each = [scores_of(frames, truth) for truth in several]
    return {
        name: {str(h): interval_of(np.max([one[name][:, :h].mean(axis=1) for one in each], axis=0)) for h in horizons}
        for name in each[0]
    }


# --- the page

PARTS = {"prediction": 0, "swap": 1}  # and where the thesis's numbers of each are


def headline(rows: Rows) -> str:
    """Separation beside its rivals at the longest horizon; first of all, whether it has rows."""
    ours = having(rows, method="Separation", seed=0)
    if not ours:
        both = "Separation has no rows" if having(rows, method="SRVP, sprites") else "Separation and SRVP have no rows"
        return no_network_rows(rows, both, "predictions and swaps of two digits")
    words = []
    for part, place in PARTS.items():
        if part in ours[0]:
            longest, theirs = _horizons(rows, part)[-1], THESIS["Separation"][place]
            others = [row for row in rows.values() if part in row and row["method"] not in THESIS]
            cheap = max(((row[part]["psnr"][longest][0], row["method"]) for row in others), default=None)
            thesis = "" if theirs is None else f" (thesis, at twice the size: {theirs[2]})"
            beside = "" if cheap is None else f", where {cheap[1]}, the cheap rival, has {cheap[0]:.2f}"
            words.append(f"{part}s {ours[0][part]['psnr'][longest][0]:.2f} dB{thesis}{beside}")
    lines = _differences(rows)
    wrong = sum("contradicts" in line for line in lines)
    agreement = f" Of {len(lines)} of the thesis's differences {wrong} are contradicted." if lines else ""
    return f"Separation reaches these PSNR over the longest horizon on two digits: {'; '.join(words)}.{agreement}"


def scores(rows: Rows, part: str) -> str:
    """Scores of predictions, or of swaps."""
    columns = [(score, h) for h in _horizons(rows, part) for score in SCORES]
    lines = [_line(row, part, columns) for row in rows.values() if part in row]
    return with_time([*(f"{score.upper()} t+{h}" for score, h in columns), "the thesis"], lines) if lines else ""


def _horizons(rows: Rows, part: str) -> list[str]:
    return sorted({h for row in rows.values() if part in row for h in row[part]["psnr"]}, key=int)


def _line(row: Found, part: str, columns: list[tuple[str, str]]) -> list[str]:
    numbers = [number(row[part][score].get(h), SCORES[score]) for score, h in columns]
    known = THESIS.get(row["method"], (None, None))[PARTS[part]]
    thesis = "–" if known is None else "{:.2f}, {:.4f} · {:.2f}, {:.4f}".format(*known)
    return [seeded(row["method"], row), *numbers, thesis, *took(row)]


def differences(rows: Rows) -> str:
    """The thesis's differences to Separation, here, of seed 0."""
    return page.bullets(_differences(rows))


def _differences(rows: Rows) -> list[str]:
    return [line for part in PARTS for name in THESIS if (line := page.clause(_difference, rows, part, name))]


def _difference(rows: Rows, part: str, name: str) -> str:
    known, base = (THESIS[one][PARTS[part]] for one in (name, "Separation"))
    pair = [page.need(rows, method=one, seed=0)[0] for one in ("Separation", name)]
    if name == "Separation" or known is None or base is None or not all(part in row for row in pair):
        return ""
    longest = _horizons(rows, part)[-1]
    ours, other = (row[part]["psnr"][longest] for row in pair)
    here, there = ours[0] - other[0], base[2] - known[2]
    overlap = "" if are_apart(ours, other) else " (intervals overlap)"
    verdict = "as in the thesis" if (here > 0) == (there > 0) else "which **contradicts** the thesis"
    return f"{part}, {name}: {here:+.2f} dB{overlap}, {there:+.2f} dB in the thesis: {verdict}."


if __name__ == "__main__":
    sys.exit(Swaps.main())
