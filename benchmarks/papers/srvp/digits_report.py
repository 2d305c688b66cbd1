"""The page about moving digits: PSNR and SSIM of every reading, which targets are met, and what the thesis says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

HELD_OUT = "held out: "
FORMS = {"psnr": ".2f", "ssim": ".4f"}
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


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    versions = [name for name in TITLES if _judged(rows, name)]
    parts = [_intro(rows), *(_version(rows, name) for name in versions), _targets(rows, versions), _tried(rows)]
    return "\n\n".join(part for part in [*parts, _figure(), settings(rows)] if part)


def _intro(rows: Rows) -> str:
    return f"""{told(rows)} The machine was shared.

Digits of MNIST of 14 × 14 pixels in frames of 32 × 32, 1 to 2.5 pixels a frame: the thesis has 28 × 28 in 64 × 64. 5
frames are seen; training is by clips of 15 frames, drawn anew from the training pictures all the time, so what comes
after t+10 is longer than what was learned. 200 clips of test pictures are asked about, the same for all; brackets are
95 % intervals of the mean when these clips are drawn anew. PSNR and SSIM are of frames, averaged over time: a mean of
decibels. `one sample` is one future, as the thesis judges deterministic digits; `best of N` the best of N futures for
each clip and score (100 where bounces are random, as in the thesis, otherwise 10); `mean of N` their mean picture.
Networks are trained in one thread for the minutes in the table; `processor` is what they had of it. The thesis trains
a network with 64 filters in the first stage for 900 000 steps of 128 clips on a GPU; ours are listed at the end. `mean
picture`, `black` and what else learns nothing need no more than seconds: PSNR rewards them where nobody can know. Pasts
are looked up in 3000 clips of 45 frames, 63 000 windows, and analogs end at t+20. The ConvLSTM is ours (Shi et al.,
2015, on patches of 4 × 4)."""


# --- a version


def _judged(rows: Rows, version: str) -> list[Found]:
    return [row for row in having(rows, dataset=version) if not row["method"].startswith(HELD_OUT)]


def _version(rows: Rows, version: str) -> str:
    found = _judged(rows, version)
    steps = {h for row in found for one in row["scores"].values() for h in one["psnr"]}
    columns = [(score, h) for h in sorted(steps, key=int) for score in FORMS]
    head = ["method", *(f"{score.upper()} t+{h}" for score, h in columns), "minutes", "processor", "steps"]
    lines = [_line(row, reading, columns) for row in found for reading in row["scores"]]
    lines += [_of_thesis(name, psnr, ssim, columns) for name, psnr, ssim in THESIS.get(version, ())]
    return f"## {TITLES[version]}\n\n{table(head, lines)}"


def _line(row: Found, reading: str, columns: Iterable[tuple[str, str]]) -> list[str]:
    scores = row["scores"][reading]
    numbers = [number(scores[score].get(h), FORMS[score]) for score, h in columns]
    name = row["method"] + ("" if reading == "forecast" else f", {reading.replace('N', str(row['n_samples']))}")
    if "setting" in row:
        name += f" ({row['setting']})"
    if row["seed"]:
        name += f", seed {row['seed']}"
    return [name, *numbers, *took(row)]


def number(found: list[float] | None, form: str) -> str:
    """A mean with its interval; a dash where there is none."""
    return "–" if found is None else f"{found[0]:{form}} [{found[1]:{form}}, {found[2]:{form}}]"


def took(row: Found) -> list[str]:
    """Minutes by the clock, minutes of the processor, and steps; dashes for what learns nothing."""
    if "minutes" not in row:
        return ["–", "–", "–"]
    return [f"{row['minutes']:g}", f"{row['processor seconds'] / 60:.1f}", str(row["training steps"])]


def _of_thesis(name: str, psnr: float, ssim: float, columns: list[tuple[str, str]]) -> list[str]:
    last = columns[-1][1]
    numbers = {("psnr", last): f"{psnr:.2f}", ("ssim", last): f"{ssim:.4f}"}
    return [f"the thesis at 64 × 64, {name}", *(numbers.get(column, "–") for column in columns), "–", "–", "–"]


# --- targets


def _targets(rows: Rows, versions: Iterable[str]) -> str:
    lines = [line for version in versions for line in _met(rows, version)]
    if not lines:
        return ""
    head = ["version", "reading", "score", "SRVP", "best of the others", "", "met"]
    return f"""## Targets

Above *all* others in PSNR and SSIM averaged over t+1…t+10, within two hours of one core: means of seed 0. Readings that
a method has only one of count for every reading of SRVP; the best of 100 futures beside one forecast is the thesis's
comparison, and favours who has 100. `apart` where the intervals of both do not overlap.

{table(head, lines)}"""


def _met(rows: Rows, version: str) -> list[list[str]]:
    ours = having(rows, dataset=version, method="SRVP", seed=0)
    others = [row for row in _judged(rows, version) if row["method"] != "SRVP" and row["seed"] == 0]
    if not ours or not others:
        return []
    lines = []
    for reading in JUDGED["stochastic" in version]:
        for score, form in FORMS.items():
            mine = ours[0]["scores"][reading][score]["10"]
            rival = max(others, key=lambda row, score=score: row["scores"]["forecast"][score]["10"][0])  # type: ignore[misc]
            theirs = rival["scores"]["forecast"][score]["10"]
            apart = "apart" if mine[1] > theirs[2] or theirs[1] > mine[2] else "not apart"
            met = "met" if mine[0] > theirs[0] else "NOT MET"
            shown = [f"{mine[0]:{form}}", f"{rival['method']}, {theirs[0]:{form}}"]
            lines.append([TITLES[version], reading, score.upper(), *shown, apart, met])
    return lines


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
    return [row["method"], *(number(scores[score][h], FORMS[score]) for score, h in columns), *took(row)]


def settings(rows: Rows) -> str:
    """The options of every network, as they were; where rows of one differ, of each."""
    forms: dict[tuple[str, str], list[str]] = {}
    for row in rows.values():
        if "options" in row and not row["method"].startswith(HELD_OUT):
            words = ", ".join(f"{name}={value!r}" for name, value in row["options"].items())
            forms.setdefault((row["method"], words), []).append(row["dataset"])
    methods = [method for method, _ in forms]
    lines = []
    for (method, words), sets in forms.items():
        where = f" ({', '.join(dict.fromkeys(sets))})" if methods.count(method) > 1 else ""
        lines.append(f"- {method}{where}: `{words}`")
    return "\n".join(["## Settings", "", *lines]) if lines else ""


def _figure() -> str:
    if not (Path("docs/images") / FIGURE).exists():
        return ""
    return f"""## Over time

Means at every step, of SRVP by the best of N where bounces are random and by one sample where they are not; the bar is
where clips of the training end (`--figures docs/images` draws it).

![PSNR over time](../images/{FIGURE})"""
