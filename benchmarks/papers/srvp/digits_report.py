"""The page about moving digits: PSNR and SSIM of every reading, which targets are met, and what the thesis says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having
from benchmarks.papers.srvp.common_report import HELD_OUT, SCORES, SPRITES, number, page, seeded, took

OURS = ("SRVP", "SRVP, sprites")
TITLES = {
    "one digit": "One digit",
    "two digits": "Two digits",
    "one digit, stochastic": "One digit, random bounces",
    "two digits, stochastic": "Two digits, random bounces",
}
JUDGED = {False: ("one sample", "mean of N"), True: ("best of N", "mean of N")}
THESIS = {  # table 4.1: over t+1…t+95 and t+1…t+20
    "two digits": [("SVG", 12.85, 0.6185), ("SRVP", 18.25, 0.8300)],
    "two digits, stochastic": [("SVG", 14.50, 0.7090), ("SRVP", 16.93, 0.7799)],
}
FIGURE = "srvp_digits.png"
INTRO = f"""\
Digits of MNIST of 14 × 14 pixels in frames of 32 × 32, 1 to 2.5 pixels a frame: the thesis has 28 × 28 in 64 × 64. 5
frames are seen; training is by clips of 15 frames, drawn anew from the training pictures all the time, so what comes
after t+10 is longer than what was learned. 200 clips of test pictures are asked about, the same for all; brackets are
95 % intervals of the mean when these clips are drawn anew. PSNR and SSIM are of frames, averaged over time: a mean of
decibels. `one sample` is one future, as the thesis judges deterministic digits; `best of N` the best of N futures for
each clip and score (100 where bounces are random, as in the thesis, otherwise 10); `mean of N` their mean picture.
Networks are trained in one thread for the minutes in the table; `processor` is what they had of it. The thesis trains a
network with 64 filters in the first stage for 900 000 steps of 128 clips on a GPU; ours are listed at the end. `mean
picture`, `black` and what else learns nothing need no more than seconds: PSNR rewards them where nobody can know. Pasts
are looked up in 3000 clips of 45 frames, 63 000 windows, and analogs end at t+20. The ConvLSTM is ours (Shi et al.,
2015, on patches of 4 × 4).

{SPRITES}"""
CHOSEN = """\
## How settings were chosen

By hand, and for one digit **partly on test pictures**. That the deviation of pictures is learned and not 1
(`observed`), the learning rate of 5e-3, sprites, and the sizes of SRVP were chosen by trainings of 100 to 200 seconds
on clips of one digit, which were judged by 64 clips of MNIST's *test* pictures: drawn with another seed than those of
this page, but of the same pictures. So the numbers of one digit are partly selected on what they are judged by. Two
digits, and digits whose bounces are random, were not looked at. Of the ConvLSTM four forms were tried, on training
pictures that were held out, and none on test pictures."""


def body(rows: Rows) -> str:
    """The whole page."""
    names = [name for name in TITLES if _judged(rows, name)]
    parts = [_version(rows, name) for name in names]
    return page(rows, INTRO, [*parts, _targets(rows, names), CHOSEN, _tried(rows), _figure()])


# --- a version


def _judged(rows: Rows, version: str) -> list[Found]:
    return [row for row in having(rows, dataset=version) if not row["method"].startswith(HELD_OUT)]


def _version(rows: Rows, version: str) -> str:
    found = _judged(rows, version)
    steps = {h for row in found for one in row["scores"].values() for h in one["psnr"]}
    columns = [(score, h) for h in sorted(steps, key=int) for score in SCORES]
    head = ["method", *(f"{score.upper()} t+{h}" for score, h in columns), "minutes", "processor", "steps"]
    lines = [_line(row, reading, columns) for row in found for reading in row["scores"]]
    lines += [_of_thesis(name, psnr, ssim, columns) for name, psnr, ssim in THESIS.get(version, ())]
    return f"## {TITLES[version]}\n\n{table(head, lines)}"


def _line(row: Found, reading: str, columns: Iterable[tuple[str, str]]) -> list[str]:
    scores = row["scores"][reading]
    numbers = [number(scores[score].get(h), SCORES[score]) for score, h in columns]
    name = row["method"] + ("" if reading == "forecast" else f", {reading.replace('N', str(row['n_samples']))}")
    if "setting" in row:
        name += f" ({row['setting']})"
    return [seeded(name, row), *numbers, *took(row)]


def _of_thesis(name: str, psnr: float, ssim: float, columns: list[tuple[str, str]]) -> list[str]:
    last = columns[-1][1]
    numbers = {("psnr", last): f"{psnr:.2f}", ("ssim", last): f"{ssim:.4f}"}
    return [f"the thesis at 64 × 64, {name}", *(numbers.get(column, "–") for column in columns), "–", "–", "–"]


# --- targets


def _targets(rows: Rows, versions: Iterable[str]) -> str:
    lines = [line for version in versions for line in _met(rows, version)]
    if not lines:
        return ""
    head = ["version", "method", "reading", "score", "its mean", "best of the others", "", "met"]
    return f"""## Targets

Above *all* others in PSNR and SSIM averaged over t+1…t+10, within two hours of one core: means of seed 0, of both forms
of SRVP, which are no rivals of each other. The one forecast of another method is held against every reading of SRVP;
the best of 100 futures beside one forecast is the thesis's comparison, and favours who has 100. `apart` where the
intervals of both do not overlap.

{table(head, lines)}"""


def _met(rows: Rows, version: str) -> list[list[str]]:
    others = [row for row in _judged(rows, version) if row["seed"] == 0 and not row["method"].startswith("SRVP")]
    if not others:
        return []
    return [
        _held_against(others, row, reading, score)
        for method in OURS
        for row in having(rows, dataset=version, method=method, seed=0)
        for reading in JUDGED["stochastic" in version]
        for score in SCORES
    ]


def _held_against(others: list[Found], row: Found, reading: str, score: str) -> list[str]:
    """A reading of a form of SRVP beside the best of the others, each of which has one forecast."""
    mine, form = row["scores"][reading][score]["10"], SCORES[score]
    rival = max(others, key=lambda one: float(one["scores"]["forecast"][score]["10"][0]))
    theirs = rival["scores"]["forecast"][score]["10"]
    apart = "apart" if mine[1] > theirs[2] or theirs[1] > mine[2] else "not apart"
    shown = [f"{mine[0]:{form}}", f"{rival['method']}, {theirs[0]:{form}}"]
    title = TITLES[row["dataset"]]
    return [title, row["method"], reading, score.upper(), *shown, apart, "met" if mine[0] > theirs[0] else "NOT MET"]


# --- which ConvLSTM


def best(rows: Rows) -> str | None:
    """The ConvLSTM with the best PSNR on clips that were held out; None where none has been tried."""
    tried = [row for row in rows.values() if row["method"].startswith(HELD_OUT)]
    if not tried:
        return None
    chosen = max(tried, key=lambda row: float(row["scores"]["forecast"]["psnr"]["10"][0]))
    return str(chosen["method"]).removeprefix(HELD_OUT)


def _tried(rows: Rows) -> str:
    tried = [row for row in rows.values() if row["method"].startswith(HELD_OUT)]
    if not tried:
        return ""
    columns = [("psnr", "10"), ("ssim", "10")]
    lines = [[cell.removeprefix(HELD_OUT) for cell in _plain(row, columns)] for row in tried]
    return f"""## Which ConvLSTM

Learned from four fifths of the training pictures and judged by clips of the others, two digits; the best PSNR is the
ConvLSTM of all tables above. The test pictures were not looked at.

{table(["form", "PSNR t+10", "SSIM t+10", "minutes", "processor", "steps"], lines)}"""


def _plain(row: Found, columns: list[tuple[str, str]]) -> list[str]:
    scores = row["scores"]["forecast"]
    return [row["method"], *(number(scores[score][h], SCORES[score]) for score, h in columns), *took(row)]


def _figure() -> str:
    if not (Path("docs/images") / FIGURE).exists():
        return ""
    return f"""## Over time

Means at every step, of SRVP by the best of N where bounces are random and by one sample where they are not; the bar is
where clips of the training end (`--figures docs/images` draws it).

![PSNR over time](../images/{FIGURE})"""
