"""The page about frame rates: scores by the step at test, frames at half steps, and what the thesis has found."""

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
    versions,
)

VERSIONS = {"one digit": "One digit", "two digits": "Two digits"}
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
ABOUT = f"""\
A step of SRVP is one of Euler's method and can be divided at test time. Digits of MNIST in frames of 32 × 32 with
mirror-like bounces, 5 frames seen, scores of one sample over t+1…t+{HORIZON}, 200 clips of test pictures, 95 %
intervals of the mean over clips. In the thesis a network trained at Δt = 1 loses by smaller steps, and one trained at
1/2 hardly does.

{SHORT_SPRITES}"""


def headline(rows: Rows) -> str:
    """What smaller steps cost beside the thesis; first of all, whether SRVP has rows."""
    found = [words for version in VERSIONS if (words := _finding(rows, version))]
    if not found:
        return no_network_rows(rows, "SRVP has no rows", "frame rates that it was not trained for")
    return f"On {next(v for v in VERSIONS if _finding(rows, v))} (sprites, not the thesis's decoder): {found[0]}"


def body(rows: Rows) -> str:
    """Both versions."""
    found = versions(rows, VERSIONS, _version)
    return body_of(rows, [*found[:1], ABOUT, *found[1:]])


def caveats() -> list[str]:
    return [
        "The thesis has videos of 64 × 64 of people (KTH, tables B.2 and B.3) and of a robot arm (BAIR, table B.1), "
        "networks of about 200 000 and 1 500 000 steps on a GPU, and the best of 100 samples: its numbers show what "
        "another step costs, not which level can be reached here.",
        CHOSEN_ELSEWHERE,
    ]


def _version(rows: Rows, version: str) -> str:
    found = having(rows, dataset=version)
    lines = [line for row in found for line in _lines(row)]
    head = ["method", "Δt at test", *(f"{score.upper()} t+{HORIZON}" for score in SCORES), "the thesis's KTH", "BAIR"]
    between = [line for row in found for line in _halves(row)]
    return f"""## {VERSIONS[version]}

{table([*head, "minutes", "processor", "steps"], lines)}

{_finding(rows, version)}

At half steps, compared with the true positions of the digits:

{table(["method", "frames", *(f"{score.upper()} t+{HORIZON}" for score in SCORES)], between)}

{_drawn(rows, version)}""".rstrip()


def _name(row: Found) -> str:
    form = TRAINED.get(row["method"])
    return seeded(f"{COARSE}, {form}" if form else row["method"], row)


def _lines(row: Found) -> list[list[str]]:
    lines = []
    for parts, scores in row["tested"].items():
        known = THESIS.get(row["method"], [])
        thesis = "{:.2f}, {:.4f}".format(*known[int(parts) - 1]) if known else "–"
        arm = "{:.2f}, {:.4f}".format(*BAIR[int(parts) - 1]) if row["method"] == FINE else "–"
        step = "1" if parts == "1" else f"1/{parts}"
        lines.append([_name(row), step if known else "–", *_numbers(scores), thesis, arm, *took(row)])
    return lines


def _halves(row: Found) -> list[list[str]]:
    return [[_name(row), "–" if how == "forecast" else how, *_numbers(one)] for how, one in row["between"].items()]


def _numbers(scores: Found) -> list[str]:
    return [number(scores[score][HORIZON], form) for score, form in SCORES.items()]


def _finding(rows: Rows, version: str) -> str:
    """What smaller steps cost, beside the thesis."""
    said, losses = [], []
    for method, own in OWN.items():
        for row in having(rows, dataset=version, method=method, seed=0):
            lost = row["tested"][own]["psnr"][HORIZON][0] - row["tested"]["4"]["psnr"][HORIZON][0]
            theirs = THESIS[method][int(own) - 1][0] - THESIS[method][3][0]
            said.append(f"{TRAINED[method]}, Δt = 1/4 loses {lost:.2f} dB here and {theirs:.2f} dB in the thesis (KTH)")
            losses.append(lost)
    if not said:
        return ""
    first = f"{said[0][0].upper()}{said[0][1:]}"
    if len(said) < len(OWN):
        return f"{first}."
    if losses[1] < losses[0]:
        verdict = "as in the thesis, smaller steps in training make it lose less"
    else:
        verdict = "smaller steps in training do **not** make it lose less, which contradicts the thesis"
    return f"{first}; {said[1]}: {verdict}."


def _drawn(rows: Rows, version: str) -> str:
    said = []
    for method in TRAINED:
        for row in having(rows, dataset=version, method=method, seed=0):
            drawn, faded = (
                row["between"][how]["psnr"][HORIZON][0] for how in ("drawn at half steps", "mean of both neighbours")
            )
            how = "better" if drawn > faded else "**worse**"
            said.append(
                f"{_name(row)}: frames drawn at half steps are {how} than the mean of their neighbours "
                f"({drawn:.2f} and {faded:.2f} dB)"
            )
    return "\n".join(f"- {one}" for one in said)
