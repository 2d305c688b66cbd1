"""Residual steps of SRVP with sprites beside an MLP, a GRU, no z and no w, on two digits far beyond what was learned.

    python -m benchmarks.papers.srvp.ablations --data DIR --minutes 12

Table 4.1's ablations: every form is trained for as many minutes of the processor, on clips of 15 frames, and goes on
for 95 frames (20 where bounces are random) after the 5 it sees.
"""

from __future__ import annotations

import sys

from benchmarks.papers import page
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp.clips import horizons, stochastic
from benchmarks.papers.srvp.digits import SAMPLES
from benchmarks.papers.srvp.page_parts import (
    SCORES,
    are_apart,
    in_thesis,
    no_network_rows,
    number,
    seeded,
    took,
    with_time,
)
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram

VERSIONS = {"two digits": "one sample", "two digits, stochastic": "best of N"}
WHOLE = "SRVP, sprites"
FORMS = (WHOLE, *(f"{WHOLE}, {what}" for what in ("MLP", "GRU", "without z", "without w")))
THESIS: dict[str, dict[str, tuple[float, float]]] = {  # table 4.1, 64 × 64
    "two digits": {
        "SRVP": (18.25, 0.8300),
        "SRVP, MLP": (16.70, 0.7876),
        "SRVP, GRU": (13.17, 0.6237),
        "SRVP, without z": (14.99, 0.4757),
    },
    "two digits, stochastic": {"SRVP": (16.93, 0.7799), "SRVP, MLP": (16.55, 0.7694), "SRVP, GRU": (15.80, 0.7464)},
}


class Ablations(FormsProgram):
    """Two digits, both ways to bounce."""

    table, title = "ablations", "SRVP: residual steps and their rivals"
    versions, forms = VERSIONS, FORMS
    usual_minutes, after = 12.0, 150.0

    def work(self, row: Trial) -> Found:
        some = horizons(row.dataset)[:2] if self.quick else horizons(row.dataset)
        if row.method in RIVALS:
            return self.simple(row, some)
        model, took = self.trained(row)
        n_samples = 2 if self.quick else SAMPLES[stochastic(row.dataset)]
        return self.of_network(row, model, self.asked(row.dataset, some[-1]), some, n_samples) | took

    def said(self, found: Found) -> str:
        reading, scores = next(iter(found["scores"].items()))
        longest = max(scores["psnr"], key=int)
        return f"{reading}: PSNR {scores['psnr'][longest][0]:.2f} over t+1…t+{longest}"


# --- the page


def headline(rows: Rows) -> str:
    """Residual steps beside the other forms; first of all, whether any form has rows."""
    for version in VERSIONS:
        kept = _first_seed(rows, version)
        if WHOLE in kept:
            longest, psnr = _longest(list(kept.values())), {name: _psnr(row, version) for name, row in kept.items()}
            cheap = max((name for name in psnr if name not in FORMS), key=psnr.__getitem__, default=None)
            beside = f"; the best method that learns nothing ({cheap}) has {psnr[cheap]:.2f} dB" if cheap else ""
            first = (
                f"SRVP with residual steps (sprites, not the thesis's decoder) reaches {psnr[WHOLE]:.2f} dB over "
                f"t+1…t+{longest} on {version}{beside}."
            )
            return " ".join([first, *_differences(rows, version)[:2]])
    return no_network_rows(rows, "SRVP has no rows", "residual steps beside an MLP, a GRU, no z or no w")


def _first_seed(rows: Rows, version: str) -> dict[str, Found]:
    return {row["method"]: row for row in having(rows, dataset=version, seed=0)}


def scores(rows: Rows, version: str) -> str:
    """Scores of every form."""
    found = page.need(rows, dataset=version)
    longest = _longest(found)
    columns = [(score, h) for h in ("10", longest) for score in SCORES]
    lines = [_line(row, columns, version) for row in found]
    return with_time([*(f"{score.upper()} t+{h}" for score, h in columns), f"thesis t+{longest}"], lines)


def _line(row: Found, columns: list[tuple[str, str]], version: str) -> list[str]:
    scores, known = _scores(row, version), THESIS[version].get(in_thesis(row["method"]))
    numbers = [number(scores[score].get(h), SCORES[score]) for score, h in columns]
    return [seeded(row["method"], row), *numbers, f"{known[0]:.2f}, {known[1]:.4f}" if known else "–", *took(row)]


def _longest(found: list[Found]) -> str:
    return str(max(int(h) for row in found for one in row["scores"].values() for h in one["psnr"]))


def _scores(row: Found, version: str) -> Found:
    scores: Found = row["scores"].get(VERSIONS[version]) or row["scores"]["forecast"]
    return scores


def _psnr(row: Found, version: str) -> float:
    scores = _scores(row, version)["psnr"]
    return float(scores[max(scores, key=int)][0])


def orders(rows: Rows, version: str) -> str:
    """Which of the thesis's differences between residual steps and another form are found here, seed 0."""
    return page.bullets(_differences(rows, version))


def _differences(rows: Rows, version: str) -> list[str]:
    kept = _first_seed(rows, version)
    longest = _longest(page.need(rows, dataset=version))
    scores = {name: _scores(kept[name], version)["psnr"][longest] for name in FORMS if name in kept}
    ours = scores.pop(WHOLE, None)
    return [] if ours is None else [_difference(ours, other, name, version) for name, other in scores.items()]


def _difference(ours: list[float], other: list[float], name: str, version: str) -> str:
    how = "above" if ours[0] > other[0] else "below"
    words = f"Residual steps are {abs(ours[0] - other[0]):.2f} dB {how} {name.removeprefix(f'{WHOLE}, ')}"
    words += "" if are_apart(ours, other) else ", and the intervals overlap"
    known, form = THESIS[version], in_thesis(name)
    if form not in known:
        return f"{words}; the thesis has no number for it."
    expected = known["SRVP"][0] - known[form][0]
    if (ours[0] > other[0]) == (expected > 0):
        return f"{words}; in the thesis {expected:.2f} dB above it."
    return f"{words}: this **contradicts** the thesis, where they are {expected:.2f} dB above it."


if __name__ == "__main__":
    sys.exit(Ablations.main())
