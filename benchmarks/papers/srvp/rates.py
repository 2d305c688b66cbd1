"""Frame rates that were not trained: SRVP's steps divided at test, and frames between those of the training.

    python -m benchmarks.papers.srvp.rates --data DIR --minutes 12

Tables B.1 to B.3's shape, on digits, with sprites: a network is trained with Δt = 1 or 1/2, and asked with Δt = 1, 1/2,
1/3, 1/4 and 1/5 for the frames at whole steps. With Δt = 1/2 it also draws frames at half steps, which are compared
with where the digits truly were then, beside the mean of the two forecast frames around each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp import methods
from benchmarks.papers.srvp.clips import MIDDLE, Clips
from benchmarks.papers.srvp.judging import judged
from benchmarks.papers.srvp.page_parts import SCORES, no_network_rows, number, seeded, took, with_time
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram

VERSIONS = ("one digit", "two digits")
COARSE, FINE = "SRVP, sprites", "SRVP, sprites, two substeps"
TRAINED = {COARSE: "trained at Δt = 1", FINE: "trained at Δt = 1/2"}
OWN = {COARSE: "1", FINE: "2"}  # parts of a step in training
PARTS = (1, 2, 3, 4, 5)
HORIZON = "20"
THESIS = {  # tables B.2 and B.3, KTH at 64 × 64: PSNR and SSIM by the step at test
    COARSE: [(29.77, 0.8681), (29.18, 0.8539), (29.05, 0.8509), (28.98, 0.8496), (28.95, 0.8490)],
    FINE: [(28.80, 0.8495), (29.69, 0.8697), (29.52, 0.8656), (29.43, 0.8633), (29.35, 0.8615)],
}
BAIR = [(18.95, 0.8139), (19.59, 0.8196), (19.49, 0.8201), (19.45, 0.8196), (19.46, 0.8197)]  # B.1, trained at 1/2
_SCORE_NAMES = [f"{score.upper()} t+{HORIZON}" for score in SCORES]


HORIZONS = (10, MIDDLE)


class Rates(FormsProgram):
    """One and two digits with mirror-like bounces."""

    table, title = "rates", "SRVP: frame rates that were not trained"
    versions, forms = VERSIONS, TRAINED
    usual_minutes, after = 12.0, 100.0

    def work(self, row: Trial) -> Found:
        whole = self.asked(row.dataset, MIDDLE)
        halves = self.asked(row.dataset, MIDDLE, frames_per_step=2)
        if row.method in RIVALS:
            return self._simple(row, halves)
        model, took = self.trained(row)
        at = {str(parts): self._divided(row, model, whole, parts) for parts in PARTS}
        return {"tested": at, "between": self._between(row, model, halves)} | took

    def _simple(self, row: Trial, halves: Clips) -> Found:
        """What learns nothing, at whole and at half steps."""
        futures = self.continued(row, halves, MIDDLE)[None]
        scores = [judged(lambda rows: futures[:, rows], halves.truth[:, start::2], HORIZONS) for start in (1, 0)]
        return {
            "tested": {"1": scores[0]["scores"]["forecast"]},
            "between": {"forecast": scores[1]["scores"]["forecast"]},
        }

    def _divided(self, row: Trial, model: Any, test: Clips, parts: int) -> Found:
        """Scores at whole steps, each taken in so many parts."""

        def draw(rows: slice) -> Any:
            return methods.futures(model, test.past[rows], MIDDLE, 1, row.seed, substeps=parts)

        found: Found = judged(draw, test.truth, HORIZONS)["scores"]["forecast"]
        return found

    def _between(self, row: Trial, model: Any, test: Clips) -> Found:
        """Scores at half steps: of frames that are drawn there, and of the mean of the forecast frames around them."""

        def draw(rows: slice) -> Any:
            how = {"substeps": 2, "frames_per_step": 2}
            return methods.futures(model, test.past[rows], MIDDLE, 1, row.seed, **how)[:, :, 0::2]

        def faded(rows: slice) -> Any:
            ahead = methods.futures(model, test.past[rows], MIDDLE, 1, row.seed)
            before = np.concatenate([test.past[None, rows, -1:], ahead[:, :, :-1]], axis=2)
            return (before + ahead) / 2

        drawn = {"drawn at half steps": draw, "mean of both neighbours": faded}
        return {name: judged(one, test.truth[:, 0::2], HORIZONS)["scores"]["forecast"] for name, one in drawn.items()}

    def said(self, found: Found) -> str:
        return ", ".join(f"1/{parts}: {one['psnr']['20'][0]:.2f} dB" for parts, one in found["tested"].items())


# --- the page


def headline(rows: Rows) -> str:
    """What smaller steps cost beside the thesis; first of all, whether SRVP has rows."""
    for version in VERSIONS:
        if words := page.clause(finding, rows, version):
            return f"On {version} (sprites, not the thesis's decoder): {words}"
    return no_network_rows(rows, "SRVP has no rows", "frame rates that it was not trained for")


def scores(rows: Rows, version: str) -> str:
    """Scores by the step at test."""
    lines = [line for row in page.need(rows, dataset=version) for line in _lines(row)]
    return with_time(["Δt at test", *_SCORE_NAMES, "the thesis's KTH", "BAIR"], lines)


def between(rows: Rows, version: str) -> str:
    """Scores of frames at half steps."""
    lines = [
        [_name(row), "–" if how == "forecast" else how, *_numbers(one)]
        for row in page.need(rows, dataset=version)
        for how, one in row["between"].items()
    ]
    return markdown.table(["method", "frames", *_SCORE_NAMES], lines)


def _name(row: Found) -> str:
    form = TRAINED.get(row["method"])
    return seeded(f"{COARSE}, {form}" if form else row["method"], row)


def _lines(row: Found) -> Iterator[list[str]]:
    for parts, scores in row["tested"].items():
        known, place = THESIS.get(row["method"], []), int(parts) - 1
        thesis = "{:.2f}, {:.4f}".format(*known[place]) if known else "–"
        arm = "{:.2f}, {:.4f}".format(*BAIR[place]) if row["method"] == FINE else "–"
        step = "–" if not known else "1" if parts == "1" else f"1/{parts}"
        yield [_name(row), step, *_numbers(scores), thesis, arm, *took(row)]


def _numbers(scores: Found) -> list[str]:
    return [number(scores[score][HORIZON], form) for score, form in SCORES.items()]


def _first_seed(rows: Rows, version: str) -> list[Found]:
    return [row for method in TRAINED for row in having(rows, dataset=version, method=method, seed=0)]


def finding(rows: Rows, version: str) -> str:
    """What smaller steps cost, beside the thesis."""
    words, losses = [], []
    for row in _first_seed(rows, version):
        method, own = row["method"], OWN[row["method"]]
        lost = row["tested"][own]["psnr"][HORIZON][0] - row["tested"]["4"]["psnr"][HORIZON][0]
        theirs = THESIS[method][int(own) - 1][0] - THESIS[method][3][0]
        words.append(f"{TRAINED[method]}, Δt = 1/4 loses {lost:.2f} dB here and {theirs:.2f} dB in the thesis (KTH)")
        losses.append(lost)
    if not words:
        return ""
    first = markdown.capitalize_first(words[0])
    if len(words) < len(OWN):
        return f"{first}."
    if losses[1] < losses[0]:
        return f"{first}; {words[1]}: as in the thesis, smaller steps in training make it lose less."
    return f"{first}; {words[1]}: smaller steps in training do **not** make it lose less, which contradicts the thesis."


def half_steps(rows: Rows, version: str) -> str:
    """Frames drawn at half steps beside the mean of their neighbours."""
    lines = []
    for row in _first_seed(rows, version):
        at_half, faded = (
            row["between"][how]["psnr"][HORIZON][0] for how in ("drawn at half steps", "mean of both neighbours")
        )
        how = "better" if at_half > faded else "**worse**"
        lines.append(
            f"{_name(row)}: frames drawn at half steps are {how} than the mean of their neighbours "
            f"({at_half:.2f} and {faded:.2f} dB)"
        )
    return page.bullets(lines)


if __name__ == "__main__":
    sys.exit(Rates.main())
