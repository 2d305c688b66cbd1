"""The page about swaps: table 5.2's columns beside the thesis's, and which of its differences are found."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having
from benchmarks.papers.srvp.common_report import (
    CHOSEN_ELSEWHERE,
    SCORES,
    SHORT_SPRITES,
    body_of,
    no_network_rows,
    number,
    seeded,
    took,
)

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
PARTS = {"prediction": "Predictions", "swap": "Swaps"}
ABOUT = f"""\
Two digits of MNIST with mirror-like bounces in frames of 32 × 32, 5 frames seen, training clips of 15 frames, every
network on one thread for the minutes in the table. 200 clips of test pictures; "t+10" and "t+95" are means over
t+1…t+10 and t+1…t+95, of one sample. A swap has the content of one clip and the motion of another; its truth is drawn
for both ways in which two digits can take two paths, and the nearer one counts, as in the thesis. Methods that learn
nothing continue the clip that moves. Brackets are 95 % intervals of the mean over clips.

{SHORT_SPRITES}"""


def headline(rows: Rows) -> str:
    """Separation beside its rivals at the longest horizon; first of all, whether it has rows."""
    ours = having(rows, method="Separation", seed=0)
    if not ours:
        both = "Separation has no rows" if having(rows, method="SRVP, sprites") else "Separation and SRVP have no rows"
        return no_network_rows(rows, both, "predictions and swaps of two digits")
    words = []
    for part, (name, place) in {"prediction": ("predictions", 0), "swap": ("swaps", 1)}.items():
        if part in ours[0]:
            longest = _horizons(rows, part)[-1]
            theirs = THESIS["Separation"][place]
            others = [row for row in rows.values() if part in row and row["method"] not in THESIS]
            cheap = max(((row[part]["psnr"][longest][0], row["method"]) for row in others), default=None)
            mine = ours[0][part]["psnr"][longest][0]
            thesis = "" if theirs is None else f" (thesis, at twice the size: {theirs[2]})"
            beside = "" if cheap is None else f", where {cheap[1]}, the cheap rival, has {cheap[0]:.2f}"
            words.append(f"{name} {mine:.2f} dB{thesis}{beside}")
    return (
        f"Separation reaches these PSNR over the longest horizon on two digits: {'; '.join(words)}. {_agreement(rows)}"
    ).rstrip()


def _agreement(rows: Rows) -> str:
    lines = [line for part in PARTS for name in THESIS if (line := _difference(rows, part, name))]
    wrong = sum("contradicts" in line for line in lines)
    return f"Of {len(lines)} of the thesis's differences {wrong} are contradicted." if lines else ""


def body(rows: Rows) -> str:
    """Predictions and swaps."""
    parts = [_part(rows, part) for part in PARTS if any(part in row for row in rows.values())]
    return body_of(rows, [*parts[:1], ABOUT, *parts[1:], _findings(rows)])


def caveats() -> list[str]:
    return [
        "The thesis has frames of 64 × 64, 64 filters in the first stage, 1 250 000 steps of Separation and 900 000 "
        "of SRVP on a GPU.",
        CHOSEN_ELSEWHERE,
    ]


def _part(rows: Rows, part: str) -> str:
    columns = [(score, h) for h in _horizons(rows, part) for score in SCORES]
    head = [
        "method",
        *(f"{score.upper()} t+{h}" for score, h in columns),
        "the thesis",
        "minutes",
        "processor",
        "steps",
    ]
    lines = [_line(row, part, columns) for row in rows.values() if part in row]
    return f"## {PARTS[part]}\n\n{table(head, lines)}"


def _horizons(rows: Rows, part: str) -> list[str]:
    return sorted({h for row in rows.values() if part in row for h in row[part]["psnr"]}, key=int)


def _line(row: Found, part: str, columns: list[tuple[str, str]]) -> list[str]:
    numbers = [number(row[part][score].get(h), SCORES[score]) for score, h in columns]
    known = THESIS.get(row["method"], (None, None))[list(PARTS).index(part)]
    thesis = "–" if known is None else "{:.2f}, {:.4f} · {:.2f}, {:.4f}".format(*known)
    return [seeded(row["method"], row), *numbers, thesis, *took(row)]


def _findings(rows: Rows) -> str:
    """The thesis's differences to Separation, here, of seed 0."""
    said = [one for part in PARTS for name in THESIS if (one := _difference(rows, part, name))]
    if not said:
        return ""
    return "\n".join(
        ["## Beside the thesis", "", "PSNR at the longest horizon, whole Separation minus another:", "", *said]
    )


def _difference(rows: Rows, part: str, name: str) -> str:
    place = list(PARTS).index(part)
    known, base = THESIS[name][place], THESIS["Separation"][place]
    pair = [having(rows, method=one, seed=0) for one in ("Separation", name)]
    if name == "Separation" or known is None or base is None or not all(one and part in one[0] for one in pair):
        return ""
    longest = _horizons(rows, part)[-1]
    ours, other = (one[0][part]["psnr"][longest] for one in pair)
    here, there = ours[0] - other[0], base[2] - known[2]
    apart = "" if ours[1] > other[2] or other[1] > ours[2] else " (intervals overlap)"
    verdict = "as in the thesis" if (here > 0) == (there > 0) else "which **contradicts** the thesis"
    return f"- {part}, {name}: {here:+.2f} dB{apart}, {there:+.2f} dB in the thesis: {verdict}."
