"""Learned metrics: `SiameseGRU`, `CoupledGRU` and `TAP` beside DTW, a synchronization, and predicted alignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..data import load_or_generate
from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ....align import Alignment, Metric
    from ....align.base import Aligner
    from ....sequences import Sequences

STEPS = 150  # of the training of every metric
ALIGNMENT_STEPS = 500  # of TAP without labels
PAIRS = 30  # shown of either kind
SHOWN_LENGTH = 18  # steps of the sequence whose alignments are shown, or the nearest to it

_CODE = """\
import timelike as tl

metric = tl.SiameseGRU(max_steps=150, random_state=0).fit(train, labels)
metric.neighbors(train, new, k=3).ids
tl.Neighbors(metric).fit(train, labels).predict(new)

coupled = tl.CoupledGRU(max_steps=150, random_state=0).fit(train, labels)
coupled.plot_synchronization(new[0], train)

aligner = tl.TAP(supervision="alignment", max_steps=500, random_state=0).fit(train)  # no labels
aligner.align(new[0], new[1]).plot()
"""


def align_pairs(aligner: Aligner, first: Sequences, second: Sequences) -> list[Alignment]:
    """The alignment of every sequence of one collection with that at the same position in another."""
    return [aligner.align(x, y) for x, y in zip(first, second, strict=True)]


def plan_error(alignments: Sequence[Alignment], truths: Sequence[NDArray[np.float64]]) -> float:
    """The mean squared difference of plans and true ones, both with rows that sum to 1 (Su and Wen, 2022, table 4)."""
    import numpy as np

    plans = [alignment.plan / alignment.plan.sum(axis=1, keepdims=True) for alignment in alignments]
    return float(np.mean([np.mean((plan - truth) ** 2) for plan, truth in zip(plans, truths, strict=True)]))


def compare_metrics(metrics: dict[str, Metric], train: Sequences, test: Sequences) -> dict[str, tuple[float, float]]:
    """Mean average precision of a search, and accuracy of the nearest neighbour, by every metric."""
    from ....score import mean_average_precision, nearest_accuracy

    results = {}
    for name, metric in metrics.items():
        labelled = metric.pairwise(test, train), test.labels, train.labels
        results[name] = mean_average_precision(*labelled), nearest_accuracy(*labelled)
    return results


def run() -> Section:
    """Learn three metrics from labels, and alignments without labels."""
    import numpy as np

    from ....align import DTW, Alignment, SoftDTW
    from ....metric import TAP, CoupledGRU, Discriminant, SiameseGRU
    from ....plotting.alignments import plot_alignments
    from ....report import sections
    from ....sequences.augment import Blur, Merge, choose

    data = load_or_generate("JapaneseVowels")
    train, test = data.train, data.test
    assert test is not None
    assert test.labels is not None
    how: dict[str, Any] = {"max_steps": STEPS, "random_state": 0, "progress": False}
    coupled = CoupledGRU(**how).fit(train)
    metrics = {
        "SiameseGRU": SiameseGRU(**how).fit(train),
        "CoupledGRU": coupled,
        "TAP": TAP(**how).fit(train),
        "Discriminant": Discriminant(random_state=0).fit(train),
        "DTW": DTW(),
    }
    results = compare_metrics(metrics, train, test)

    label = test.labels[0]
    is_alike = test.labels == label
    some = np.concatenate([np.flatnonzero(is_alike)[1 : PAIRS + 1], np.flatnonzero(~is_alike)[:: len(test) // PAIRS]])
    groups = np.where(is_alike[some], "of one class", "of two classes")
    synchronization = coupled.plot_synchronization(test[0], test[some], groups)

    # new rhythms of the test sequences, whose true alignments are therefore known
    changed, truths = choose([Blur(), Merge()])(test, random_state=0)
    aligners = {
        "TAP, no labels": TAP(**how | {"supervision": "alignment", "max_steps": ALIGNMENT_STEPS}).fit(train),
        "DTW": DTW(),
        "SoftDTW": SoftDTW(gamma=0.1),
    }
    alignments = {name: align_pairs(aligner, changed, test) for name, aligner in aligners.items()}
    errors = {name: plan_error(found, truths) for name, found in alignments.items()}
    shown = int(np.abs(test.lengths - SHOWN_LENGTH).argmin())
    truth = Alignment(0.0, None, changed[shown], test[shown], weights=truths[shown])
    panels = {"truth": truth, **{name: found[shown] for name, found in alignments.items()}}

    return Section(
        title="Learned metrics",
        purpose="Good when examples of the classes are known: a search then finds the same class first, where DTW, to "
        "which all channels and all steps are equally important, mixes the classes.",
        scores=(
            *(
                Score(
                    method=name,
                    measure="mean average precision",
                    value=results[name][0],
                    rival="DTW",
                    rival_value=results["DTW"][0],
                    better="higher",
                )
                for name in ("SiameseGRU", "CoupledGRU", "TAP")
            ),
            Score(
                method="TAP without labels",
                measure="error of alignments",
                value=errors["TAP, no labels"],
                rival="DTW",
                rival_value=errors["DTW"],
                better="lower",
            ),
        ),
        parts=(
            sections.paragraph(
                f"Data: {data.source}. Three metrics learn from {len(train)} labelled sequences, {STEPS} steps each; "
                f"{len(test)} others then search those of their class. Discriminant learns too, in closed form: "
                "try it first. SiameseGRU compares one vector for each sequence, so a search is fast; CoupledGRU and "
                "TAP look at both sequences together."
            ),
            sections.table(
                ("metric", "mean average precision", "accuracy of the nearest"),
                [(name, *numbers) for name, numbers in results.items()],
            ),
            sections.figure_html(
                synchronization,
                f"CoupledGRU reads two sequences at once. Its two states stay together if both are of one class, and "
                f"part if they are of two: a test sequence of class {label} with {len(some)} others.",
            ),
            sections.paragraph(
                "TAP predicts an alignment by a network, instead of searching for the cheapest path. Without labels it "
                "learns from sequences whose time was changed at random: neighbouring steps blurred or merged. The "
                "same is done to the test sequences, so the true alignments are known."
            ),
            sections.table(("aligned by", "mean squared error of the plan"), list(errors.items())),
            sections.figure_html(
                plot_alignments(panels),
                f"Test sequence {shown} (y) and a version of it with another rhythm (x): which steps of y every step "
                "of x was made of, and what three methods find. Dark: steps are alike.",
            ),
        ),
        code=_CODE,
    )


CHAPTER = Chapter(name="learned metrics", run=run, needs_torch=True, needs=("JapaneseVowels",))
