"""The page about SRVP's ablations: scores at the long horizon beside the thesis's, and which of its orders hold."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having
from benchmarks.papers.srvp.common_report import SCORES, SHORT_SPRITES, in_thesis, number, page, seeded, took, versions

VERSIONS = {"two digits": "one sample", "two digits, stochastic": "best of N"}
TITLES = {"two digits": "Mirror-like bounces", "two digits, stochastic": "Random bounces"}
WHOLE = "SRVP, sprites"
FORMS = (WHOLE, *(f"{WHOLE}, {what}" for what in ("MLP", "GRU", "without z", "without w")))
THESIS: dict[str, dict[str, tuple[float, float]]] = {  # table 4.1, 64 × 64
    "two digits": {
        "SRVP": (18.25, 0.8300),
        "SRVP, MLP": (16.70, 0.7876),
        "SRVP, GRU": (13.17, 0.6237),
        "SRVP, without z": (14.99, 0.4757),
    },
    "two digits, stochastic": {
        "SRVP": (16.93, 0.7799),
        "SRVP, MLP": (16.55, 0.7694),
        "SRVP, GRU": (15.80, 0.7464),
    },
}
INTRO = f"""\
Two digits of MNIST in 32 × 32 (the thesis: 64 × 64, 64 filters in the first stage, 900 000 steps on a GPU): each form
of SRVP is trained in one thread for the minutes in the table, on clips of 15 frames, and judged on 200 clips of test
pictures by one sample over t+1…t+95, or by the best of 100 over t+1…t+20 where bounces are random, as in the thesis.
Without z the first state alone is drawn; without w the patches of sprites come from the state. So short a training is
not the thesis's: orders may change with time, and the table says what they are here. Brackets: 95 % intervals when
clips are drawn anew. What needs no training stands beside.

{SHORT_SPRITES}"""


def body(rows: Rows) -> str:
    """The whole page."""
    return page(rows, INTRO, versions(rows, VERSIONS, _version))


def _version(rows: Rows, version: str) -> str:
    found = having(rows, dataset=version)
    reading, longest = VERSIONS[version], _longest(found)
    columns = [(score, h) for h in ("10", longest) for score in SCORES]
    head = ["method", *(f"{score.upper()} t+{h}" for score, h in columns), f"thesis t+{longest}"]
    lines = [_line(row, reading, columns, version) for row in found]
    return f"""## {TITLES[version]}

{table([*head, "minutes", "processor", "steps"], lines)}

{_orders(rows, version)}"""


def _line(row: Found, reading: str, columns: list[tuple[str, str]], version: str) -> list[str]:
    scores = _scores(row, reading)
    known = THESIS[version].get(in_thesis(row["method"]))
    numbers = [number(scores[score].get(h), SCORES[score]) for score, h in columns]
    return [seeded(row["method"], row), *numbers, f"{known[0]:.2f}, {known[1]:.4f}" if known else "–", *took(row)]


def _longest(found: list[Found]) -> str:
    return str(max(int(h) for row in found for one in row["scores"].values() for h in one["psnr"]))


def _scores(row: Found, reading: str) -> Found:
    found: Found = row["scores"].get(reading) or row["scores"]["forecast"]
    return found


def _orders(rows: Rows, version: str) -> str:
    """Which of the thesis's differences between residual steps and another form are found here, seed 0."""
    reading, longest = VERSIONS[version], _longest(having(rows, dataset=version))
    kept = {row["method"]: row for row in having(rows, dataset=version, seed=0)}
    if WHOLE not in kept:
        return ""
    some = [name for name in FORMS[1:] if name in kept]
    return "\n".join(f"- {_difference(kept, name, reading, longest, version)}" for name in some)


def _difference(kept: dict[str, Found], name: str, reading: str, longest: str, version: str) -> str:
    ours, other = (_scores(kept[one], reading)["psnr"][longest] for one in (WHOLE, name))
    apart = ours[1] > other[2] or other[1] > ours[2]
    how = "above" if ours[0] > other[0] else "below"
    said = f"Residual steps are {abs(ours[0] - other[0]):.2f} dB {how} {name.removeprefix(f'{WHOLE}, ')}"
    said += "" if apart else ", and the intervals overlap"
    known, form = THESIS[version], in_thesis(name)
    if form not in known:
        return f"{said}; the thesis has no number for it."
    expected = known["SRVP"][0] - known[form][0]
    if (ours[0] > other[0]) == (expected > 0):
        return f"{said}; in the thesis {expected:.2f} dB above it."
    return f"{said}: this **contradicts** the thesis, where they are {expected:.2f} dB above it."
