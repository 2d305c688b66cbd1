"""The page about domain shift: accuracies on the people left out, fold by fold, as table 2 of the paper has domains."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Rows, having, told

METHODS = ("Prototypes", "dense alone", "network", "Discriminant", "Rocket, ridge", "perceptron")
LINES = (  # what the page calls it, the method and its head
    ("dense alone", "dense alone", ""),
    ("network, dense head (DOL)", "network", " dense"),
    ("network, similarity (SIM)", "network", ""),
    ("perceptron, dense head (DOL)", "perceptron", " dense"),
    ("perceptron, similarity (SIM)", "perceptron", ""),
    ("Prototypes", "Prototypes", ""),
    ("Discriminant", "Discriminant", ""),
    ("Rocket, ridge", "Rocket, ridge", ""),
)


def body(rows: Rows, folds: list[str]) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    lines = [line for one in LINES if (line := _line(rows, folds, *one))]
    head = ["method", *folds, "mean", "people it learned from"]
    return f"""{told(rows)} The machine was shared: seconds are those of a busy one.

UCI HAR, six activities; accuracy (%) on windows of the six people left out, for each of five folds of people, and their
mean over the folds that are finished. The last column is the accuracy on other windows of the people learned from, the
mean over folds: windows overlap by half, so that it flatters. Six windows of every person and activity are learned
from, as many asked for.

{table(head, lines)}

`dense alone` is the default network of `Prototypes` with a dense layer, trained by that layer's loss alone; `network`
is `Prototypes(beside=[])`, by either head; `perceptron`, where it has rows, the same with the paper's similarity;
`Prototypes` is at its defaults, `Discriminant` with `classes="known"` and the nearest neighbour,
`Rocket, ridge` an `EmbeddingClassifier`.

{_verdict(rows)}

The paper (table 2: photographs, paintings, cartoons and sketches of seven kinds, a ResNet) has its similarity in front
of plain classifiers, most where the domain left out is strangest. There a fold is another style, here another six
people.
"""


def _line(rows: Rows, folds: list[str], name: str, method: str, head: str) -> list[str]:
    found = having(rows, method=method)
    if not found:
        return []
    by_fold = {fold: [100 * row[f"shifted{head}"] for row in found if row["dataset"] == fold] for fold in folds}
    shown = [f"{mean(values):.1f}" if values else "–" for values in by_fold.values()]
    ends = [mean(100 * row[f"{name}{head}"] for row in found) for name in ("shifted", "same")]
    return [name, *shown, *(f"{end:.1f}" for end in ends)]


def _verdict(rows: Rows) -> str:
    """What the similarity gains over a plain classifier of the same encoder, on folds that both have."""
    plain = {(row["dataset"], row["seed"]): row["shifted"] for row in having(rows, method="dense alone")}
    said = []
    for name, method, head in LINES[1:6]:
        gains = [
            100 * (row[f"shifted{head}"] - plain[row["dataset"], row["seed"]])
            for row in having(rows, method=method)
            if (row["dataset"], row["seed"]) in plain
        ]
        if gains:
            better = sum(gain > 0 for gain in gains)
            said.append(f"{name} {mean(gains):+.1f} points, better in {better} of {len(gains)}")
    if not said:
        return "No fold can be compared yet."
    return f"""Against `dense alone`, on the same folds: {"; ".join(said)}. A fold has some 216 windows, of which
one more or less is half a point, and there is one seed: differences of a point or two are chance."""
