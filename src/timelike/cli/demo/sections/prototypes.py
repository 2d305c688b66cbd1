"""Prototypes: learned classes, a stranger who is refused, then enrolled from three examples, and claims checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..data import load_or_generate
from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....prototypes import Prototypes
    from ....score import OpenSetCurve
    from ....sequences import Sequences

STEPS = 150  # of the training
EXAMPLES = 3  # by which the newcomer is enrolled
FALSE_ACCEPT = 0.05  # of claims, promised for the classes of the calibration

_CODE = """\
import timelike as tl

people = tl.Prototypes(max_steps=150, random_state=0).fit(train, labels)
people.calibrate(others, their_labels, false_accept=0.05)  # recordings that fit has not seen
people.predict(new, reject=True)  # None for strangers

people.enroll(three_recordings, "Ada")  # nothing is trained
people.predict(new)
people.verify(new[0], three_recordings[0])  # are both of one person?
people.forget("Ada")
"""


class People(NamedTuple):
    """Sequences by their use: all but those of the `newcomer` are of known classes."""

    fitting: Sequences
    calibration: Sequences
    examples: Sequences  # of the newcomer, to enroll
    test: Sequences
    is_newcomer: NDArray[np.bool_]  # of `test`
    newcomer: Any


def split_people(train: Sequences, test: Sequences) -> People:
    """The last class is the newcomer; a third of the training sequences of every other class is for the calibration."""
    import numpy as np

    assert train.labels is not None
    newcomer = train.labels.max()
    known, new = train[train.labels != newcomer], train[train.labels == newcomer]
    thirds = [np.flatnonzero(known.labels == label)[::3] for label in np.unique(known.labels)]
    is_calibration = np.isin(np.arange(len(known)), np.concatenate(thirds))
    is_newcomer = np.asarray(test.labels == newcomer)
    return People(known[~is_calibration], known[is_calibration], new[:EXAMPLES], test, is_newcomer, newcomer)


def claim_examples(people: People) -> Sequences:
    """The sequences that claims are compared with: as many of every class, and none of `fitting`."""
    import numpy as np

    from ....sequences import concat

    labels = people.calibration.labels
    assert labels is not None
    first = [np.flatnonzero(labels == label)[:EXAMPLES] for label in np.unique(labels)]
    return concat([people.calibration[np.concatenate(first)], people.examples])


class Strangers(NamedTuple):
    """What is found while the newcomer is a stranger; novelty by the model and by the distance of the nearest."""

    curve: OpenSetCurve
    rival_curve: OpenSetCurve
    area: float  # under the ROC curve of novelty
    rival_area: float
    known_rejected: float
    stranger_rejected: float


def meet_stranger(model: Prototypes, people: People) -> Strangers:
    """How well the model and 1-NN DTW tell the newcomer from the known before the newcomer is enrolled."""
    import numpy as np

    from ....align import DTW
    from ....score import novelty_auroc, open_set_curve

    known, stranger = people.test[~people.is_newcomer], people.test[people.is_newcomer]
    novelty, strange = model.novelty(known), model.novelty(stranger)
    assert people.fitting.labels is not None
    nearest = DTW().neighbors(people.fitting, known)
    is_correct = people.fitting.labels[nearest.ids[:, 0]] == known.labels
    near, far = nearest.distances[:, 0], DTW().neighbors(people.fitting, stranger).distances[:, 0]
    known_rejected, stranger_rejected = (
        float(np.mean([answer is None for answer in model.predict(some, reject=True)])) for some in (known, stranger)
    )
    return Strangers(
        open_set_curve(novelty, model.predict(known) == known.labels, strange),
        open_set_curve(near, is_correct, far),
        novelty_auroc(novelty, strange),
        novelty_auroc(near, far),
        known_rejected,
        stranger_rejected,
    )


class CheckedClaims(NamedTuple):
    """Claims "I am of this class", each compared with an example: distances by two methods, and the decisions."""

    is_true: NDArray[np.bool_]  # (test sequence, example), as are the others
    distances: NDArray[np.float64]
    rival_distances: NDArray[np.float64]
    accepted: NDArray[np.bool_]

    def error_rates(self, examples: slice = slice(None)) -> tuple[float, float]:
        """Equal error rates, of all claims or of those to be some classes."""
        from ....score import equal_error_rate

        is_true = self.is_true[:, examples].ravel()
        by_model, by_rival = (
            float(equal_error_rate(one[:, examples].ravel(), is_true)) for one in (self.distances, self.rival_distances)
        )
        return by_model, by_rival


def check_claims(model: Prototypes, people: People) -> CheckedClaims:
    """Every test sequence claims every class, by each of its examples."""
    import numpy as np

    from ....align import DTW

    examples = claim_examples(people)
    assert people.test.labels is not None
    return CheckedClaims(
        np.asarray(people.test.labels[:, None] == examples.labels),
        -model.similarity(people.test, examples),
        DTW().pairwise(people.test, examples),
        model.verify(people.test, examples),
    )


def run() -> Section:
    """Learn all classes but one, refuse the newcomer, enroll them from three examples, and check claims."""
    import numpy as np
    from sklearn.manifold import TSNE

    from ....align import DTW
    from ....neighbors import Neighbors
    from ....prototypes import Prototypes
    from ....report import sections
    from ....sequences import concat

    data = load_or_generate("JapaneseVowels")
    assert data.test is not None
    people = split_people(data.train, data.test)
    model = Prototypes(max_steps=STEPS, random_state=0, progress=False).fit(people.fitting)
    model.calibrate(people.calibration, false_accept=FALSE_ACCEPT)
    n_known = len(model.classes_)
    strangers = meet_stranger(model, people)

    model.enroll(people.examples)
    gallery = concat([people.fitting, people.examples])
    rival = Neighbors(DTW()).fit(gallery, gallery.labels)
    is_right = model.predict(people.test) == people.test.labels
    is_rival_right = rival.predict(people.test) == people.test.labels
    claims = check_claims(model, people)
    new = people.is_newcomer
    rows = [
        (f"{n_known} learned classes", ~new, slice(None, -EXAMPLES)),
        (f"class {people.newcomer}, enrolled from {len(people.examples)} examples", new, slice(-EXAMPLES, None)),
        ("all", slice(None), slice(None)),
    ]
    results = [
        (words, float(is_right[some].mean()), float(is_rival_right[some].mean()), *claims.error_rates(examples))
        for words, some, examples in rows
    ]
    _, accuracy, rival_accuracy, error, rival_error = results[-1]
    is_learned = np.zeros_like(claims.is_true)  # claims of learned classes to be learned classes
    is_learned[~new, :-EXAMPLES] = True
    false_accept, other_false_accept = (
        claims.accepted[~claims.is_true & some].mean() for some in (is_learned, ~is_learned)
    )
    map_of_classes = model.plot(people.test, reducer=TSNE(random_state=0))
    return Section(
        title="Classes that come and go",
        purpose="Good for people, gestures or machines that come and go: a class is added from a few examples without "
        "training, strangers are refused, and claims are checked, all by one model.",
        scores=(
            Score(
                method="Prototypes",
                measure="AUROC of strangers",
                value=strangers.area,
                rival="1-NN DTW",
                rival_value=strangers.rival_area,
                better="higher",
            ),
            Score(
                method="Prototypes",
                measure=f"accuracy, a class of {EXAMPLES} examples",
                value=accuracy,
                rival="1-NN DTW",
                rival_value=rival_accuracy,
                better="higher",
            ),
            Score(
                method="Prototypes",
                measure="equal error rate of claims",
                value=error,
                rival="DTW",
                rival_value=rival_error,
                better="lower",
            ),
        ),
        parts=(
            sections.paragraph(
                f"Data: {data.source}. The model learns {n_known} classes from {len(people.fitting)} sequences, and "
                f"its thresholds from {len(people.calibration)} others. Class {people.newcomer} is a stranger at "
                f"first: {strangers.stranger_rejected:.0%} of its {new.sum()} test sequences are refused, and "
                f"{strangers.known_rejected:.1%} of those of the learned classes."
            ),
            sections.figure_html(
                strangers.curve.plot(name="Prototypes", others={"1-NN DTW": strangers.rival_curve}),
                "Before the stranger is enrolled: how many sequences of learned classes are accepted and named "
                "correctly, over how many of the stranger are accepted, at every threshold.",
            ),
            sections.paragraph(
                f"Then class {people.newcomer} is enrolled from {len(people.examples)} examples; nothing is trained. "
                "1-NN DTW has the same examples. A claim is that a test sequence is of the same class as an example; "
                f"there are {EXAMPLES} of each class."
            ),
            sections.table(
                ("test sequences", "accuracy", "of 1-NN DTW", "equal error rate of claims", "of DTW"), results
            ),
            sections.paragraph(
                f"verify decides at the threshold for false_accept={FALSE_ACCEPT}, which is promised for the learned "
                f"classes: of these, {false_accept:.1%} of the false claims are accepted, and {other_false_accept:.1%} "
                f"of those by or for the newcomer; {1 - claims.accepted[claims.is_true].mean():.1%} of the true claims "
                "are refused."
            ),
            sections.figure_html(
                map_of_classes,
                "The test sequences by t-SNE of their vectors, and the prototype of every class (star), with that of "
                f"class {people.newcomer}, the mean of {len(people.examples)} examples.",
            ),
        ),
        code=_CODE,
    )


CHAPTER = Chapter(name="classes that come and go", run=run, needs_torch=True, needs=("JapaneseVowels",))
