"""Classification scores: accuracy, confusion matrix, and precision, recall and F1 of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_value
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.labels import validate_labels
from ..plotting import classification as drawing, html
from .intervals import Interval, percentile_bounds, resampling_units, widen_interval, wilson_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_MAX_GROUPS = 50  # in a table


def is_correct(truth: Any, answer: Any) -> NDArray[np.bool_]:
    """Whether each answer is the true class.

    Parameters
    ----------
    truth, answer : array (item,)
        Class labels, numbers in both or text in both. None as an answer is a rejection and counts as wrong.

    Examples
    --------
    >>> is_correct(["a", "b", "b"], ["a", "a", "b"])
    array([ True, False,  True])
    >>> is_correct(["a", "b", "b"], ["a", None, "b"])
    array([ True, False,  True])
    """
    is_answered = _answered_mask(answer)
    if is_answered is None:
        true_labels, answers = _validate_answers(truth, answer)
        return np.asarray(true_labels == answers)
    true_labels = validate_labels(truth, "truth", "class")
    if true_labels.shape != is_answered.shape:
        raise ValueError(
            f"truth has shape {true_labels.shape} and answer {is_answered.shape}: expected one answer for each"
        )
    correct = np.zeros(len(is_answered), bool)
    if is_answered.any():
        correct[is_answered] = is_correct(true_labels[is_answered], np.asarray(answer, object)[is_answered].tolist())
    return correct


def _answered_mask(answer: Any) -> NDArray[np.bool_] | None:
    """Which answers are not None; None if all are classes."""
    answers = np.asarray(answer, object) if isinstance(answer, list | tuple) else answer
    if not isinstance(answers, np.ndarray) or answers.dtype.kind != "O" or answers.ndim != 1:
        return None
    is_answered = np.array([label is not None for label in answers.tolist()], bool)
    return None if is_answered.all() else is_answered


def accuracy(truth: Any, answer: Any) -> float:
    """The fraction of correct answers.

    Parameters are those of `is_correct`.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return float(is_correct(truth, answer).mean())


def balanced_accuracy(truth: Any, answer: Any) -> float:
    """The unweighted mean recall of the classes in `truth`.

    Parameters are those of `is_correct`.

    Examples
    --------
    >>> balanced_accuracy(["a", "a", "a", "b"], ["a", "a", "a", "a"])
    0.5
    """
    return float(_overall_scores(_tally_classes(*_encode_labels(truth, answer, None)))[1])


def macro_f1(truth: Any, answer: Any) -> float:
    """The unweighted mean F1 of the classes in `truth` or `answer`.

    F1 = 2 · correct / (items of the class + answers that name it), the harmonic mean of precision and recall.
    Parameters are those of `is_correct`.

    Examples
    --------
    >>> round(macro_f1(["a", "a", "a", "b"], ["a", "a", "b", "b"]), 4)
    0.7333
    """
    return float(_overall_scores(_tally_classes(*_encode_labels(truth, answer, None)))[2])


def confusion_matrix(truth: Any, answer: Any, *, classes: Any = None) -> NDArray[np.int64]:
    """The number of items of each true class (rows) with each answer (columns).

    Parameters
    ----------
    truth, answer : array (item,)
    classes : array (class,), optional
        The classes in the order of rows and columns. Default: all classes in `truth` or `answer`, sorted.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "c", "b"])
    array([[1, 0, 1],
           [0, 1, 0],
           [0, 0, 0]])
    """
    return _count_confusion(*_encode_labels(truth, answer, classes))


def _count_confusion(
    true_codes: NDArray[np.intp], answer_codes: NDArray[np.intp], names: NDArray[Any]
) -> NDArray[np.int64]:
    n = len(names)  # scikit-learn's confusion_matrix warns if there is only one class
    return np.bincount(true_codes * n + answer_codes, minlength=n * n).reshape(n, n)


@dataclass(frozen=True)
class ClassScores:
    """Scores of one class: its number of items, precision, recall and F1.

    The precision of a class without answers, the recall of a class without items, and the F1 of a class with neither
    are nan (0 of 0) and are left out of means.
    """

    label: Any
    items: int
    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True, repr=False)
class ClassificationScores:
    """Classification scores with confidence intervals: see `classification_scores`."""

    accuracy: Interval
    balanced_accuracy: Interval
    macro_f1: Interval
    classes: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes, in the order of the rows and columns of `confusion`."""
        return tuple(one.label for one in self.classes)

    def _table_header(self) -> list[str]:
        return ["class", "items", "precision", "recall", "F1"]

    def _table_rows(self) -> list[list[str]]:
        rows = [
            [str(one.label), str(one.items), *(f"{interval:.3f}" for interval in (one.precision, one.recall, one.f1))]
            for one in self.classes
        ]
        return [*rows, ["mean over classes", str(int(self.confusion.sum())), "", *self._mean_cells()]]

    def _mean_cells(self) -> list[str]:
        return [f"{self.balanced_accuracy:.3f}", f"{self.macro_f1:.3f}"]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """A table of the classes, followed by the accuracy."""
        lines = [self._table_header(), ["---", *["---:"] * 4], *self._table_rows()]
        table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)
        return f"{table}\n\naccuracy {self.accuracy:.3f}"

    def plot(self, *, shares: bool = True, dark: bool = False) -> Figure:
        """Plot the confusion matrix, shaded by row proportions.

        Cells are labelled with row proportions, or with counts if `shares=False`; `dark` is for dark pages.
        """
        return drawing.plot_confusion(self.confusion, self.labels, shares=shares, dark=dark)

    def _repr_html_(self) -> str:
        shown = (html.paragraph(f"Accuracy {self.accuracy:.3f}"), html.table(self._table_header(), self._table_rows()))
        caption = "Confusion: a row for each true class, a column for each answer, shaded by the share of the row."
        return html.join_html(*shown, html.figure_html(self.plot(), caption, alt=self._describe_confusion()))

    def _describe_confusion(self) -> str:
        """The confusion matrix in words: which classes are most often taken for which."""
        wrong = self.confusion.astype(np.int64).copy()
        np.fill_diagonal(wrong, 0)
        places = [(i, j) for i, j in np.argwhere(wrong).tolist()]
        most = sorted(places, key=lambda place: -int(wrong[place]))[:3]
        named = [f"{self.labels[i]} as {self.labels[j]} {int(wrong[i, j])} times" for i, j in most]
        return f"Confusion matrix. {'Most often: ' + ', '.join(named) if named else 'No item is confused'}."


def classification_scores(
    truth: Any,
    answer: Any,
    *,
    classes: Any = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> ClassificationScores:
    """Accuracy, balanced accuracy, macro F1, the confusion matrix and the scores of each class, with intervals.

    The intervals are bootstraps: items, or whole groups, are drawn with replacement; a class absent from a draw is left
    out of the means of that draw. If every answer is correct, all draws are equal, so no interval is narrower than
    `wilson_interval` for n items or groups. For a class, n counts its items (recall), its answers (precision), or the
    mean of both (F1); for a mean over classes, n = C² / Σ_c 1/n_c, at most the number of all items or groups.

    Parameters
    ----------
    truth, answer : array (item,)
        Class labels, numbers in both or text in both. An answer may be a class that does not occur in `truth`.
    classes : array (class,), optional
        The classes in the order of the table. Default: all classes in `truth` or `answer`, sorted.
    groups : array (item,), optional
        The group of each item; the items of a group, such as all sequences of a person, are drawn together.

    Returns
    -------
    ClassificationScores
        Prints as a table; `plot()` draws the confusion matrix.

    Examples
    --------
    >>> scores = classification_scores(["a"] * 50 + ["b"] * 50, ["a"] * 45 + ["b"] * 55, random_state=0)
    >>> print(scores)
    | class | items | precision | recall | F1 |
    | --- | ---: | ---: | ---: | ---: |
    | a | 50 | 1.000 [0.921, 1.000] | 0.900 [...] | 0.947 [...] |
    | b | 50 | 0.909 [...] | 1.000 [0.929, 1.000] | 0.952 [...] |
    | mean over classes | 100 |  | 0.950 [...] | 0.950 [...] |
    <BLANKLINE>
    accuracy 0.950 [...]
    """
    true_codes, answer_codes, names = _encode_labels(truth, answer, classes)
    tally = _tally_classes(true_codes, answer_codes, names)
    values = [*_overall_scores(tally), *_class_shares(tally).ravel()]
    units = resampling_units(groups, len(true_codes))
    draws = _resample_scores(true_codes, answer_codes, names, units, n_resamples, random_state)
    effective_counts = _effective_counts(true_codes, answer_codes, names, units)
    intervals = [
        _bootstrap_interval(value, draws[:, i], effective_counts[i], confidence) for i, value in enumerate(values)
    ]
    n, per_class = len(names), intervals[3:]
    rows = zip(names.tolist(), tally[1], per_class[:n], per_class[n : 2 * n], per_class[2 * n :], strict=True)
    class_scores = tuple(ClassScores(label, int(items), p, r, f) for label, items, p, r, f in rows)
    accuracy, balanced, f1 = intervals[:3]
    confusion = _count_confusion(true_codes, answer_codes, names)
    return ClassificationScores(accuracy, balanced, f1, class_scores, confusion)


@dataclass(frozen=True, repr=False)
class GroupScores:
    """The accuracy in every group, the lowest first: see `accuracy_by_group`."""

    groups: tuple[Any, ...]
    items: tuple[int, ...]
    accuracy: tuple[Interval, ...]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """A table of the groups."""
        lines = [["group", "items", "accuracy"], ["---", "---:", "---:"], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)

    def _table_rows(self) -> list[list[str]]:
        columns = zip(self.groups, self.items, self.accuracy, strict=True)
        return [[str(group), str(items), f"{interval:.3f}"] for group, items, interval in columns]

    def _repr_html_(self) -> str:
        rows = self._table_rows()
        shown = html.table(["group", "items", "accuracy"], rows[:_MAX_GROUPS])
        if len(rows) <= _MAX_GROUPS:
            return shown
        return html.join_html(shown, html.paragraph(f"The {_MAX_GROUPS} lowest of {len(rows)} groups."))


def accuracy_by_group(truth: Any, answer: Any, groups: Any, *, confidence: float = 0.95) -> GroupScores:
    """The accuracy in every group, such as a person or a device, with `wilson_interval`, the lowest first.

    Parameters
    ----------
    truth, answer : array (item,)
        As for `is_correct`.
    groups : array (item,)
        The group of each item.

    Examples
    --------
    >>> print(accuracy_by_group(["a", "b", "a", "b"], ["a", "b", "b", "b"], ["ann", "ann", "bob", "bob"]))
    | group | items | accuracy |
    | --- | ---: | ---: |
    | bob | 2 | 0.500 [...] |
    | ann | 2 | 1.000 [...] |
    """
    correct = is_correct(truth, answer)
    labels = validate_labels(groups, "groups", "group")
    if labels.shape != correct.shape:
        raise ValueError(f"groups has shape {labels.shape} for {len(correct)} items: expected one group for each item")
    names, unit = np.unique(labels, return_inverse=True)
    sizes = np.bincount(unit)
    shares = np.bincount(unit, correct) / sizes
    order = np.argsort(shares, kind="stable").tolist()
    return GroupScores(
        tuple(names[order].tolist()),
        tuple(sizes[order].tolist()),
        tuple(wilson_interval(float(shares[i]), int(sizes[i]), confidence=confidence) for i in order),
    )


def _effective_counts(
    true_codes: NDArray[np.intp], answer_codes: NDArray[np.intp], names: NDArray[Any], units: NDArray[np.int64]
) -> Floats:
    """The number of items, or groups, behind each score, in the order of the draws, (3 + 3 · class)."""
    items, answers = (
        np.array([len(np.unique(units[side == c])) for c in range(len(names))], np.float64)
        for side in (true_codes, answer_codes)
    )
    each = np.array([answers, items, (items + answers) / 2])
    occupied = [side[side > 0] for side in each[1:]]
    n_units = len(np.unique(units))
    # from the variance of a mean of proportions of n_c items each; the classes of one group are not independent, so
    # that there are no more than all groups
    means = [min(n_units, len(side) ** 2 / (1 / side).sum()) for side in occupied]
    return np.array([n_units, *means, *each.ravel()])


def _tally_classes(
    true_codes: NDArray[np.intp], answer_codes: NDArray[np.intp], names: NDArray[Any], counts: Floats | None = None
) -> Floats:
    """The number of correct answers, items and answers of each class, (3, class)."""
    # not scikit-learn's precision_recall_fscore_support: a bootstrap calls this a thousand times
    n, is_right = len(names), true_codes == answer_codes
    weights = np.ones(len(true_codes)) if counts is None else counts
    correct = np.bincount(true_codes[is_right], weights[is_right], n)
    return np.array([correct, np.bincount(true_codes, weights, n), np.bincount(answer_codes, weights, n)])


def _class_shares(tally: Floats) -> Floats:
    """Precision, recall and F1 of each class, (3, class); nan for 0 of 0."""
    correct, items, answers = tally
    totals = np.array([answers, items, (items + answers) / 2])
    return np.asarray(np.divide(correct, totals, out=np.full(totals.shape, np.nan), where=totals > 0))


def _overall_scores(tally: Floats) -> tuple[float, float, float]:
    """Accuracy, balanced accuracy and macro F1."""
    _, recall, f1 = _class_shares(tally)
    return float(tally[0].sum() / tally[1].sum()), float(np.nanmean(recall)), float(np.nanmean(f1))


def _resample_scores(
    true_codes: NDArray[np.intp],
    answer_codes: NDArray[np.intp],
    names: NDArray[Any],
    units: NDArray[np.int64],
    n_resamples: int,
    random_state: RandomState,
) -> Floats:
    """The scores of each draw, (resample, 3 + 3 · class)."""
    rng, n = check_random_state(random_state), int(units.max()) + 1
    draws = np.empty((check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES), 3 + 3 * len(names)))
    for row in draws:
        times = np.bincount(rng.integers(n, size=n), minlength=n)[units].astype(np.float64)
        tally = _tally_classes(true_codes, answer_codes, names, times)
        row[:] = [*_overall_scores(tally), *_class_shares(tally).ravel()]
    return draws


def _bootstrap_interval(value: float, draws: Floats, count: float, confidence: float) -> Interval:
    if np.isnan(value):
        return Interval(np.nan, np.nan, np.nan)
    percentile = Interval(float(value), *percentile_bounds(draws[~np.isnan(draws)], confidence))
    return widen_interval(percentile, wilson_interval(float(value), count, confidence=confidence))


def validate_label_pair(
    truth: Any, answer: Any, names: tuple[str, str] = ("truth", "answer")
) -> tuple[NDArray[Any], ...]:
    """Two label arrays of equal length, (item,), not empty."""
    true_labels, answers = (
        validate_labels(side, name, "class") for side, name in zip((truth, answer), names, strict=True)
    )
    if true_labels.ndim != 1 or true_labels.shape != answers.shape or not len(true_labels):
        raise ValueError(
            f"{names[0]} has shape {true_labels.shape} and {names[1]} {answers.shape}: expected (item,) in both, of "
            "equal length and not empty"
        )
    return true_labels, answers


def _validate_answers(truth: Any, answer: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    true_labels, answers = validate_label_pair(truth, answer)
    if (true_labels.dtype.kind == "U") != (answers.dtype.kind == "U"):  # converted to text, 0 would equal "0"
        raise TypeError(
            f"truth and answer mix numbers and text, {format_value(true_labels.tolist()[0])} and "
            f"{format_value(answers.tolist()[0])}: expected the same kind in both"
        )
    return true_labels, answers


def _encode_labels(truth: Any, answer: Any, classes: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Truth and answer as indices into the classes, and the classes."""
    true_labels, answers = _validate_answers(truth, answer)
    names, codes = np.unique(np.concatenate([true_labels, answers]), return_inverse=True)
    if classes is None:
        return codes[: len(true_labels)], codes[len(true_labels) :], names
    order = validate_labels(classes, "classes", "class")
    place = {name: i for i, name in enumerate(order.tolist())}
    missing = [name for name in names.tolist() if name not in place]
    if missing or len(place) < len(order):
        why = f"{missing[0]!r} is not among them" if missing else "one occurs twice"
        raise ValueError(f"classes: {why}; expected every class of truth and answer once")
    codes = np.array([place[name] for name in names.tolist()], np.intp)[codes]
    return codes[: len(true_labels)], codes[len(true_labels) :], order
