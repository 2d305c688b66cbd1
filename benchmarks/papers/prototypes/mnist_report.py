"""The page on Prototypes under attack: table 1 of the paper and ours beside it, and what differs in words."""

from __future__ import annotations

from statistics import fmean

from benchmarks.papers.markdown import format_mean, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

COLUMNS = ("clean", "FGSM", "PGD-40", "PGD-100", "softmax twice", "margin × 5", "transfer", "worst of all")
PAPER = {  # clean, FGSM, PGD-40, PGD-100
    ("plain", "clean", "dense layer"): ("99.20", "34.48", "0.00", "0.00"),
    ("prototypes", "clean", "DOL"): ("99.31", "17.18", "0.02", "0.01"),
    ("prototypes", "clean", "SIM"): ("99.36", "68.51", "23.85", "13.61"),
    ("plain", "adversarial", "dense layer"): ("99.24", "94.82", "97.31", "96.58"),
    ("prototypes", "adversarial", "DOL"): ("98.71", "97.62", "95.04", "93.78"),
    ("prototypes", "adversarial", "SIM"): ("98.79", "97.84", "95.35", "93.98"),
}
TITLES = {"plain": "plain classifier", "prototypes": "Prototypes"}


TOLERANCE = 2.0  # points of an accuracy under attack, of a few hundred images


def headline(rows: Rows) -> str:
    """The similarity under PGD beside the paper, under the strongest attack, and with adversarial training."""
    clean = accuracies(rows, "prototypes", "clean")
    hard = accuracies(rows, "prototypes", "adversarial")
    if not clean and not hard:
        return no_rows_yet(rows, "Prototypes under attack on MNIST")
    parts = []
    if clean:
        ours, theirs = clean["SIM", "PGD-40"], paper_number("clean", "SIM", "PGD-40")
        reached = "the paper's number is reached" if ours >= theirs - TOLERANCE else "this falls short of the paper"
        parts.append(
            f"Without adversarial training the similarity (SIM) keeps {ours:.1f} % of MNIST images under PGD-40 "
            f"(paper: {theirs}), the dense head (DOL) {clean['DOL', 'PGD-40']:.1f} %{_plain(rows, 'clean', 'PGD-40')}; "
            f"{reached}."
        )
        worst = clean["SIM", "worst of all"]
        if worst < theirs - TOLERANCE:
            parts.append(
                f"The worst of all attacks tried leaves SIM {worst:.1f} %: this contradicts the paper's conclusion "
                "that similarities are robust."
            )
    if hard:
        ours, theirs = hard["SIM", "PGD-100"], paper_number("adversarial", "SIM", "PGD-100")
        reached = "agrees with" if ours >= theirs - TOLERANCE else "falls short of"
        parts.append(
            f"With adversarial training SIM keeps {ours:.1f} % under PGD-100"
            f"{_plain(rows, 'adversarial', 'PGD-100')}; this {reached} the paper's {theirs} for SIM."
        )
    return " ".join(parts)


def accuracies(rows: Rows, model: str, training: str) -> dict[tuple[str, str], float]:
    """Mean accuracy in percent by head and attack, over seeds; empty where there is no row."""
    some = [row["heads"] for row in having(rows, part="table", model=model, training=training)]
    heads = [(head, column) for head in (some[0] if some else ()) for column in COLUMNS if column in some[0][head]]
    return {(head, column): _mean(some, head, column) for head, column in heads}


def paper_number(training: str, head: str, column: str) -> float:
    """What the paper has for Prototypes."""
    return float(PAPER["prototypes", training, head][("clean", "FGSM", "PGD-40", "PGD-100").index(column)])


def _plain(rows: Rows, training: str, column: str) -> str:
    found = accuracies(rows, "plain", training)
    return f" and a plain classifier, the cheap rival, {found['dense layer', column]:.1f} %" if found else ""


def body(rows: Rows) -> str:
    """Table 1, what is left of the paper's claims, and ablations."""
    if not rows:
        return ""
    return f"""{on_table(rows)}

Accuracy in percent at a budget of 0.3 (l∞, pixels from 0 to 1). LeNet with two convolutions; PGD with steps of 0.01 as
in the paper, on logits. `softmax twice` is PGD-40 with the gradients of probabilities that are taken for logits, as the
authors' program does. `margin × 5` is 40 steps on the lead of the best wrong class, from five random starts. `transfer`
is the same from one start by the gradients of the other head. `worst of all` counts images that stay right under every
one of these. Clean accuracy is that of all 10 000 test images, the others are of the first {_attacked(rows)}; an image
that is wrong without an attack counts as wrong under it.

{in_words(rows)}

## What each part does

Fewer training steps and fewer attacked images; trained on clean images.

{on_ablations(rows)}

## How it was trained

On all 60 000 images by AdamW at 3e-3 in one cycle, batches of six images per class (the plain classifier: 60 at
random), with the authors' label smoothing of 0.2 and soft targets of pairs. Channels are dropped at a rate of 0.1, not
0.5, and the input noise is a tenth of a deviation, because the authors' values are for trainings fifty times as long.
"""


def caveats(rows: Rows) -> list[str]:
    """How sure the numbers are, and what was chosen."""
    half = f"Accuracies under attack have 95 % intervals of up to ± {_half(rows)} points." if rows else ""
    return [
        half,
        "Training is short: a few minutes on one core, where the authors make up to 500 passes through the data. With "
        "adversarial training we use PGD of 7 steps on all heads, they use 40 steps on the dense head alone.",
        "Learning rate, dropout and the targets of pairs were chosen on the last 10 000 training images with one seed "
        "each; those trials are not among the rows.",
    ]


def on_table(rows: Rows) -> str:
    """Ours, and the paper's numbers in the line below."""
    head = ["network", "trained on", "answers by", *COLUMNS]
    lines = []
    for (model, training, name), published in PAPER.items():
        some = [row["heads"][name] for row in having(rows, part="table", model=model, training=training)]
        if some:
            lines.append([TITLES[model], f"{training} images", name, *(_cell(some, column) for column in COLUMNS)])
            lines.append(["*the paper*", "", "", *(f"*{number}*" for number in published), "", "", "", ""])
    return table(head, lines)


def on_ablations(rows: Rows) -> str:
    """A line for each head of each network."""
    lines = []
    for row in having(rows, part="ablations"):
        lines += [
            [row["model"], name, *(_cell([scores], column) for column in COLUMNS)]
            for name, scores in row["heads"].items()
        ]
    return table(["network", "answers by", *COLUMNS], lines) if lines else "No row yet."


def in_words(rows: Rows) -> str:
    """What of the paper's claims is left."""
    said = [_masked(rows), _trained(rows), _times(rows)]
    return "\n\n".join(part for part in said if part)


def _masked(rows: Rows) -> str:
    """Whether SIM without adversarial training is as robust as one run of PGD makes it look."""
    found = accuracies(rows, "prototypes", "clean")
    if not found:
        return ""
    single, worst, dense = found["SIM", "PGD-40"], found["SIM", "worst of all"], found["DOL", "worst of all"]
    start = f"""**Without adversarial training** the paper has SIM at {paper_number("clean", "SIM", "PGD-40")} under
PGD-40 and
DOL at {paper_number("clean", "DOL", "PGD-40")}, and concludes that similarities are robust. Here one run of PGD-40
leaves SIM {single:.1f}; the worst of all attacks leaves SIM {worst:.1f} and DOL {dense:.1f}."""
    twice = found["SIM", "softmax twice"]
    close = ", so this is not what hides the gradients" if abs(twice - single) < 3 else ""
    start += f" With the softmax taken twice, as in the authors' program, one run leaves {twice:.1f}{close}."
    if worst >= 10:
        return f"{start} Part of the robustness stands up to these attacks."
    if single - worst >= 3:
        return f"""{start} The {single - worst:.1f} points between are images that another loss, longer steps, a restart
or the other head's gradients do move: the gradients are hidden, and the images are not robust."""
    return f"""{start} On logits even one run finds almost every image."""


def _trained(rows: Rows) -> str:
    found, rival = accuracies(rows, "prototypes", "adversarial"), accuracies(rows, "plain", "adversarial")
    if not found:
        return ""
    beside = f"; a plain classifier with the same training {rival['dense layer', 'worst of all']:.1f}" if rival else ""
    theirs = [paper_number("adversarial", head, "PGD-100") for head in ("SIM", "DOL")]
    return f"""**With adversarial training** the worst of all attacks leaves SIM {found["SIM", "worst of all"]:.1f}
and DOL
{found["DOL", "worst of all"]:.1f}{beside}. The paper's {theirs[0]} and {theirs[1]} are under a single run of
PGD-100."""


def _times(rows: Rows) -> str:
    lines = [
        f"{TITLES[row['model']]} on {row['training']} images {row['steps']} steps, {row['training s']:.0f} s"
        for row in having(rows, part="table")
    ]
    return f"Training, one thread: {'; '.join(lines)}." if lines else ""


def _cell(some: list[Found], column: str) -> str:
    return format_mean(
        [100 * scores[column] for scores in some if column in scores], ".2f" if column == "clean" else ".1f"
    )


def _mean(some: list[Found], head: str, column: str) -> float:
    return fmean(100 * heads[head][column] for heads in some)


def _attacked(rows: Rows) -> int:
    return int(max(row["attacked"] for row in rows.values()))


def _half(rows: Rows) -> str:
    return f"{100 * 1.96 * 0.5 / _attacked(rows) ** 0.5:.0f}"
