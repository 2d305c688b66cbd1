"""Classification scored: right answers, their share, confusion, and precision, recall and F1 of every class."""

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


def is_correct(truth: Any, answer: Any) -> NDArray[np.bool_]:
    """Whether each answer is the class it should be.

    Parameters
    ----------
    truth, answer : array (item,)
        Numbers or text, the same in both. An answer that is None was refused, and is not right.

    Examples
    --------
    >>> is_correct(["a", "b", "b"], ["a", "a", "b"])
    array([ True, False,  True])
    >>> is_correct(["a", "b", "b"], ["a", None, "b"])
    array([ True, False,  True])
    """
    named = _named_mask(answer)
    if named is None:
        known, given = _validate_answers(truth, answer)
        return np.asarray(known == given)
    labels = validate_labels(truth, "truth", "class")
    if labels.shape != named.shape:
        raise ValueError(f"truth has shape {labels.shape} and answer {named.shape}: expected one answer for each")
    found = np.zeros(len(named), bool)
    if named.any():
        found[named] = is_correct(labels[named], np.asarray(answer, object)[named].tolist())
    return found


def _named_mask(answer: Any) -> NDArray[np.bool_] | None:
    """Which answers name a class, where some are None; None itself where all do."""
    some = np.asarray(answer, object) if isinstance(answer, list | tuple) else answer
    if not isinstance(some, np.ndarray) or some.dtype.kind != "O" or some.ndim != 1:
        return None
    named = np.array([one is not None for one in some.tolist()], bool)
    return None if named.all() else named


def accuracy(truth: Any, answer: Any) -> float:
    """The share of answers that are right.

    Parameters are those of `is_correct`.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return float(is_correct(truth, answer).mean())


def balanced_accuracy(truth: Any, answer: Any) -> float:
    """The mean recall of the classes that occur in `truth`, each counting as much as the others.

    Parameters are those of `is_correct`.

    Examples
    --------
    >>> balanced_accuracy(["a", "a", "a", "b"], ["a", "a", "a", "a"])
    0.5
    """
    return float(_overall_scores(_tally_classes(*_encode_labels(truth, answer, None)))[1])


def macro_f1(truth: Any, answer: Any) -> float:
    """The mean F1 of the classes that occur in `truth` or in `answer`, each counting as much as the others.

    F1 = 2 · right / (items of the class + answers that name it), the harmonic mean of precision and recall.
    Parameters are those of `is_correct`.

    Examples
    --------
    >>> round(macro_f1(["a", "a", "a", "b"], ["a", "a", "b", "b"]), 4)
    0.7333
    """
    return float(_overall_scores(_tally_classes(*_encode_labels(truth, answer, None)))[2])


def confusion_matrix(truth: Any, answer: Any, *, classes: Any = None) -> NDArray[np.int64]:
    """How many items of each class (rows) were given each answer (columns).

    Parameters
    ----------
    truth, answer : array (item,)
    classes : array (class,), optional
        Their order; otherwise all that occur in either, sorted.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "c", "b"])
    array([[1, 0, 1],
           [0, 1, 0],
           [0, 0, 0]])
    """
    known, given, names = _encode_labels(truth, answer, classes)
    n = len(names)
    return np.bincount(known * n + given, minlength=n * n).reshape(n, n)


@dataclass(frozen=True)
class ClassScores:
    """One class: how many items it has, how many of the answers that name it and of its items are right, and F1.

    The precision of a class that no answer names, and the recall of one that has no items, are 0 of 0: they are nan,
    and so is the F1 of one that has neither. A number that is nan counts in no mean.
    """

    label: Any
    items: int
    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True, repr=False)
class ClassificationScores:
    """Answers scored, with intervals: see `classification_scores`."""

    accuracy: Interval
    balanced_accuracy: Interval
    macro_f1: Interval
    classes: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes, in the order of the rows and columns of `confusion_matrix`."""
        return tuple(one.label for one in self.classes)

    def _table_header(self) -> list[str]:
        return ["class", "items", "precision", "recall", "F1"]

    def _table_rows(self) -> list[list[str]]:
        rows = [
            [str(one.label), str(one.items), *map(_format_interval, (one.precision, one.recall, one.f1))]
            for one in self.classes
        ]
        return [*rows, ["mean over classes", str(int(self.confusion.sum())), "", *self._mean_cells()]]

    def _mean_cells(self) -> list[str]:
        return [_format_interval(self.balanced_accuracy), _format_interval(self.macro_f1)]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """A table of the classes, and the accuracy below it."""
        lines = [self._table_header(), ["---", *["---:"] * 4], *self._table_rows()]
        table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)
        return f"{table}\n\naccuracy {_format_interval(self.accuracy)}"

    def plot(self, *, shares: bool = True, dark: bool = False) -> Figure:
        """The confusion matrix, shaded by the share of each row; its numbers are shares, or counts; for a dark page."""
        return drawing.plot_confusion(self.confusion, self.labels, shares=shares, dark=dark)

    def _repr_html_(self) -> str:
        shown = (
            html.table(self._table_header(), self._table_rows()),
            html.paragraph(f"accuracy {_format_interval(self.accuracy)}"),
        )
        return html.join_html(*shown, html.figure_html(self.plot(), "confusion"))


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
    """Accuracy, balanced accuracy, macro F1, confusion and the scores of every class, with bootstrap intervals.

    Items, or whole groups, are drawn anew; a class that is not in a draw counts in none of its means. No interval is
    narrower than `wilson_interval` of as many items, or groups, for where every answer is right every draw is the same:
    of a class these are its items (recall), the answers that name it (precision), or the mean of both (F1); of a mean
    over classes C² / Σ_c 1/n_c.

    Parameters
    ----------
    truth, answer : array (item,)
        Numbers or text, the same in both. An answer may be a class that `truth` does not have.
    classes : array (class,), optional
        Their order; otherwise all that occur in either, sorted.
    groups : array (item,), optional
        What is drawn together, such as all sequences of a person.

    Returns
    -------
    Classification
        It prints as a table, and draws its confusion matrix: `plot()`.

    Examples
    --------
    >>> found = classification_scores(["a"] * 50 + ["b"] * 50, ["a"] * 45 + ["b"] * 55, random_state=0)
    >>> print(found)
    | class | items | precision | recall | F1 |
    | --- | ---: | ---: | ---: | ---: |
    | a | 50 | 1.000 [0.921, 1.000] | 0.900 [...] | 0.947 [...] |
    | b | 50 | 0.909 [...] | 1.000 [0.929, 1.000] | 0.952 [...] |
    | mean over classes | 100 |  | 0.950 [...] | 0.950 [...] |
    <BLANKLINE>
    accuracy 0.950 [...]
    """
    known, given, names = _encode_labels(truth, answer, classes)
    sizes = _tally_classes(known, given, names)
    values = [*_overall_scores(sizes), *_class_shares(sizes).ravel()]
    drawn_together = resampling_units(groups, len(known))
    draws = _resample_scores(known, given, names, drawn_together, n_resamples, random_state)
    counts = _effective_counts(known, given, names, drawn_together)
    found = [_bootstrap_interval(value, draws[:, i], counts[i], confidence) for i, value in enumerate(values)]
    n = len(names)
    rows = zip(names.tolist(), sizes[1], found[3 : 3 + n], found[3 + n : 3 + 2 * n], found[3 + 2 * n :], strict=True)
    each = tuple(ClassScores(label, int(items), p, r, f) for label, items, p, r, f in rows)
    matrix = np.bincount(known * n + given, minlength=n * n).reshape(n, n)
    return ClassificationScores(found[0], found[1], found[2], each, matrix)


def _effective_counts(
    known: NDArray[np.intp], given: NDArray[np.intp], names: NDArray[Any], drawn_together: NDArray[np.int64]
) -> Floats:
    """Of how many items, or groups, every number is, in the order of the draws, (3 + 3 · class)."""
    items, answers = (
        np.array([len(np.unique(drawn_together[side == c])) for c in range(len(names))], np.float64)
        for side in (known, given)
    )
    each = np.array([answers, items, (items + answers) / 2])
    held = [side[side > 0] for side in each[1:]]
    means = [len(side) ** 2 / (1 / side).sum() for side in held]  # as the variance of a mean of shares of n_c each
    return np.array([len(np.unique(drawn_together)), *means, *each.ravel()])


def _tally_classes(
    known: NDArray[np.intp], given: NDArray[np.intp], names: NDArray[Any], counts: Floats | None = None
) -> Floats:
    """Of every class: right answers, items, answers. (3, class)"""
    n, right = len(names), known == given
    weights = np.ones(len(known)) if counts is None else counts
    found = [
        np.bincount(known[right], weights[right], n),
        np.bincount(known, weights, n),
        np.bincount(given, weights, n),
    ]
    return np.array(found, np.float64)


def _class_shares(tally: Floats) -> Floats:
    """Precision, recall and F1 of every class; nan where it is 0 of 0. (3, class)"""
    right, items, answers = tally
    below = np.array([answers, items, (items + answers) / 2])
    return np.asarray(np.divide(right, below, out=np.full(below.shape, np.nan), where=below > 0))


def _overall_scores(tally: Floats) -> tuple[float, float, float]:
    """Accuracy, balanced accuracy and macro F1."""
    _, recall, f1 = _class_shares(tally)
    return float(tally[0].sum() / tally[1].sum()), float(np.nanmean(recall)), float(np.nanmean(f1))


def _resample_scores(
    known: NDArray[np.intp],
    given: NDArray[np.intp],
    names: NDArray[Any],
    drawn_together: NDArray[np.int64],
    n_resamples: int,
    random_state: RandomState,
) -> Floats:
    """Every number of every draw, (resample, 3 + 3 · class)."""
    rng, n = check_random_state(random_state), int(drawn_together.max()) + 1
    draws = np.empty((check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES), 3 + 3 * len(names)))
    for row in draws:
        times = np.bincount(rng.integers(n, size=n), minlength=n)[drawn_together].astype(np.float64)
        tally = _tally_classes(known, given, names, times)
        row[:] = [*_overall_scores(tally), *_class_shares(tally).ravel()]
    return draws


def _bootstrap_interval(value: float, draws: Floats, count: float, confidence: float) -> Interval:
    if np.isnan(value):
        return Interval(np.nan, np.nan, np.nan)
    drawn = Interval(float(value), *percentile_bounds(draws[~np.isnan(draws)], confidence))
    return widen_interval(drawn, wilson_interval(float(value), count, confidence=confidence))


def _format_interval(found: Interval) -> str:
    return "–" if np.isnan(found.mean) else f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def validate_label_pair(
    truth: Any, answer: Any, names: tuple[str, str] = ("truth", "answer")
) -> tuple[NDArray[Any], ...]:
    """Two arrays with an entry for every item, as many and not none."""
    known, given = (validate_labels(side, name, "class") for side, name in zip((truth, answer), names, strict=True))
    if known.ndim != 1 or known.shape != given.shape or not len(known):
        raise ValueError(
            f"{names[0]} has shape {known.shape} and {names[1]} {given.shape}: expected (item,) in both, as many, and "
            "not none"
        )
    return known, given


def _validate_answers(truth: Any, answer: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    known, given = validate_label_pair(truth, answer)
    if (known.dtype.kind == "U") != (given.dtype.kind == "U"):  # as text, 0 would be right where "0" is
        raise TypeError(
            f"truth and answer mix numbers and text, {format_value(known.tolist()[0])} and "
            f"{format_value(given.tolist()[0])}: "
            "expected the same kind in both"
        )
    return known, given


def _encode_labels(truth: Any, answer: Any, classes: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Truth and answer as positions among the classes, and these."""
    known, given = _validate_answers(truth, answer)
    names, codes = np.unique(np.concatenate([known, given]), return_inverse=True)
    if classes is None:
        return codes[: len(known)], codes[len(known) :], names
    order = validate_labels(classes, "classes", "class")
    place = {name: i for i, name in enumerate(order.tolist())}
    lacking = [name for name in names.tolist() if name not in place]
    if lacking or len(place) < len(order):
        why = f"{lacking[0]!r} is not among them" if lacking else "one occurs twice"
        raise ValueError(f"classes: {why}; expected every class of truth and answer once")
    codes = np.array([place[name] for name in names.tolist()], np.intp)[codes]
    return codes[: len(known)], codes[len(known) :], order
