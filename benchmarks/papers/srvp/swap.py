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
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.srvp import methods, swap_report as report
from benchmarks.papers.srvp.clips import SIZE, Clips
from benchmarks.papers.srvp.judging import interval_of, scores_of
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram

import timelike as tl
from timelike.sequences import generate

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
    versions, forms = (VERSION,), report.THESIS
    usual_minutes, after = 12.0, 60.0

    def work(self, row: Trial) -> Found:
        some = (2, 5) if self.quick else report.HORIZONS
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

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


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


if __name__ == "__main__":
    sys.exit(Swaps.main())
