"""Vectors without labels: `CausalEncoder` on utterances of nine speakers, a map of them, and what few labels add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data import load_or_generate
from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....align import Metric
    from ....sequences import Sequences

STEPS = 400  # of either training
LABELS_PER_CLASS = 3

_CODE = """\
import timelike as tl

encoder = tl.CausalEncoder(max_steps=400, random_state=0).fit(recordings)  # no labels
vectors = encoder.encode(recordings)  # (n, 320): for any index, classifier or plot
encoder.plot(recordings)
encoder.neighbors(recordings, new, k=3).ids  # the most similar recordings
tl.EmbeddingClassifier(encoder).fit(labelled, labels).predict(new)
"""


def first_of_each_class(labels: NDArray[np.generic], count: int) -> NDArray[np.int64]:
    """Positions of the first `count` members of every class."""
    import numpy as np

    return np.concatenate([np.flatnonzero(labels == label)[:count] for label in np.unique(labels)])


def search_precision(metric: Metric, train: Sequences, test: Sequences) -> float:
    """The mean average precision of a search among `train` for the class of every sequence of `test`."""
    from ....score import mean_average_precision

    return mean_average_precision(metric.pairwise(test, train), test.labels, train.labels)


def few_label_accuracy(metric: Metric, labelled: Sequences, test: Sequences) -> float:
    """The accuracy of what few labels make of a metric: a classifier of its vectors, or the nearest neighbour."""
    from ....encode import EmbeddingClassifier, Encoder
    from ....neighbors import Neighbors

    model = EmbeddingClassifier(metric, head="logistic") if isinstance(metric, Encoder) else Neighbors(metric)
    return float(model.fit(labelled, labelled.labels).score(test, test.labels))


def run() -> Section:
    """Train without labels, and compare what is found with raw sequences and with vectors of untrained encoders."""
    import numpy as np
    from sklearn.manifold import TSNE

    from ....align import DTW
    from ....encode import CausalEncoder, Rocket
    from ....report import sections

    data = load_or_generate("JapaneseVowels")
    train, test = data.train, data.test
    assert test is not None
    assert train.labels is not None
    n_classes = len(np.unique(train.labels))
    labelled = train[first_of_each_class(train.labels, LABELS_PER_CLASS)]
    unlabelled = train.replace(labels=None)
    metrics = {
        "CausalEncoder": CausalEncoder(max_steps=STEPS, random_state=0, progress=False),
        'CausalEncoder(loss="t_loss")': CausalEncoder(loss="t_loss", max_steps=STEPS, random_state=0, progress=False),
        "the same network, untrained": CausalEncoder(max_steps=0, random_state=0),
        "Rocket": Rocket(random_state=0),
    }
    for encoder in metrics.values():
        encoder.fit(unlabelled)
    every_metric: dict[str, Metric] = {**metrics, "DTW": DTW()}
    precision = {name: search_precision(metric, train, test) for name, metric in every_metric.items()}
    accuracy = {name: few_label_accuracy(metric, labelled, test) for name, metric in every_metric.items()}

    figure = metrics["CausalEncoder"].plot(test, reducer=TSNE(random_state=0))
    return Section(
        title="Vectors without labels, and a map of the collection",
        purpose="Good for collections with few labels or none: search, maps, clusters, and classifiers from a handful "
        "of labelled examples.",
        scores=(
            Score(
                method="CausalEncoder",
                measure=f"accuracy with {LABELS_PER_CLASS} labels per class",
                value=accuracy["CausalEncoder"],
                rival="1-NN DTW",
                rival_value=accuracy["DTW"],
                better="higher",
            ),
            Score(
                method="CausalEncoder",
                measure="mean average precision",
                value=precision["CausalEncoder"],
                rival="DTW",
                rival_value=precision["DTW"],
                better="higher",
            ),
        ),
        parts=(
            sections.paragraph(
                f"Data: {data.source}, {len(train)} training sequences of {n_classes} classes without their labels. A "
                f"causal network, that of the T-Loss, learns in {STEPS} steps that two crops of one sequence have the "
                f"same vector. Then {len(test)} other sequences search those of their class among the training "
                f"sequences, and are classified from {len(labelled)} of them whose labels are told, "
                f"{LABELS_PER_CLASS} of each class: logistic regression on vectors, the nearest neighbour for DTW."
            ),
            sections.table(
                ("compared by", "mean average precision of the search", f"accuracy with {len(labelled)} labels"),
                [(name, precision[name], accuracy[name]) for name in every_metric],
            ),
            sections.figure_html(
                figure,
                f"{len(test)} sequences that the encoder has not seen, placed by t-SNE of their vectors and coloured "
                "by their class, which it was never told. Who is near whom counts; distances between groups do not.",
            ),
        ),
        code=_CODE,
    )


CHAPTER = Chapter(name="vectors without labels", run=run, needs_torch=True, needs=("JapaneseVowels",))
