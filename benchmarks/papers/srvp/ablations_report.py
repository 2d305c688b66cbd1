"""The page about SRVP's ablations: scores at the long horizon beside the thesis's, and which of its orders hold."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having
from benchmarks.papers.srvp.common_report import (
    CHOSEN_ELSEWHERE,
    SCORES,
    SHORT_SPRITES,
    body_of,
    in_thesis,
    no_network_rows,
    number,
    seeded,
    took,
    versions,
)

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
ABOUT = f"""\
Two digits of MNIST in frames of 32 × 32: every form of SRVP trains on one thread for the minutes in the table, on
clips of 15 frames, and is judged on 200 clips of test pictures by one sample over t+1…t+95, or by the best of 100 over
t+1…t+20 where bounces are random, as in the thesis. Without z only the first state is drawn; without w the patches of
sprites come from the state. Brackets are 95 % intervals of the mean over clips. Methods without minutes learn nothing.

{SHORT_SPRITES}"""


def headline(rows: Rows) -> str:
    """Residual steps beside the other forms; first of all, whether any form has rows."""
    for version, reading in VERSIONS.items():
        kept = {row["method"]: row for row in having(rows, dataset=version, seed=0)}
        if WHOLE not in kept:
            continue
        longest = _longest(list(kept.values()))
        psnr = {name: _scores(row, reading)["psnr"][longest][0] for name, row in kept.items()}
        cheap = max((name for name in psnr if name not in FORMS), key=psnr.__getitem__, default=None)
        beside = f"; the best method that learns nothing ({cheap}) has {psnr[cheap]:.2f} dB" if cheap else ""
        others = [_difference(kept, name, reading, longest, version) for name in FORMS[1:] if name in kept]
        return " ".join(
            [
                f"SRVP with residual steps (sprites, not the thesis's decoder) reaches {psnr[WHOLE]:.2f} dB over "
                f"t+1…t+{longest} on {version}{beside}.",
                *others[:2],
            ]
        )
    return no_network_rows(rows, "SRVP has no rows", "residual steps beside an MLP, a GRU, no z or no w")


def body(rows: Rows) -> str:
    """Both versions."""
    found = versions(rows, VERSIONS, _version)
    return body_of(rows, [*found[:1], ABOUT, *found[1:]])


def caveats() -> list[str]:
    return [
        "The thesis has frames of 64 × 64, 64 filters in the first stage and 900 000 steps on a GPU. Orders may "
        "change with longer training.",
        CHOSEN_ELSEWHERE,
    ]


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
