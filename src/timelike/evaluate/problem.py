"""`ComparisonProblem`: the sequences, targets, training and test parts, and scores of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, format_value
from ..models import fingerprint
from ..sequences import Sequences
from ..sequences.concatenation import concatenate
from ..sequences.metadata import validate_per_item
from ..sequences.validation import validate_sequences, validate_targets
from .folds import make_folds, validate_folds

HIGHER_IS_BETTER: dict[str, bool] = {"accuracy": True, "map": True, "eer": False, "mse": False}
"""Whether a larger value of the score is better."""

Rows = NDArray[np.int64]
_CALLER = type("compare", (), {})()  # validation errors begin with its class name
_MIN_GROUPS = 5  # groups needed to estimate the variation between groups


@dataclass(frozen=True)
class ComparisonProblem:
    """Sequences and targets, and the training and test rows of every fold."""

    X: Sequences
    y: NDArray[Any]
    ids: NDArray[Any]
    """The name of every sequence in errors: its id, or its position in the argument."""
    folds: tuple[tuple[Rows, Rows], ...]
    scores: tuple[str, ...]
    design: str
    """A description of the folds."""
    notes: tuple[str, ...] = ()

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted, not classes."""
        return "mse" in self.scores

    @property
    def overlap(self) -> float:
        """The size of a test part over that of a training part."""
        return float(np.mean([len(test) / len(train) for train, test in self.folds]))

    @property
    def needs_predictions(self) -> bool:
        """Whether the scores need a predicted class or number for every sequence."""
        return bool({"accuracy", "mse"} & set(self.scores))

    @property
    def needs_distances(self) -> bool:
        """Whether the scores need distances."""
        return bool({"map", "eer"} & set(self.scores))

    def select_rows(self, rows: Rows) -> tuple[Sequences, NDArray[Any]]:
        """Sequences, with their names in errors as ids, and targets."""
        return self.X[rows].replace(ids=self.ids[rows]), self.y[rows]

    def resampling_units(self, rows: Rows) -> NDArray[Any] | None:
        """The groups of rows, for resampling as wholes; None if there are none, or too few."""
        groups = None if self.X.groups is None else self.X.groups[rows]
        return None if groups is None or len(np.unique(groups)) < _MIN_GROUPS else groups

    def tested_units(self) -> NDArray[Any] | None:
        """The independent units of the tested rows of all folds, in order; None if each row is independent.

        For a single test part these are the groups for resampling. For several folds all groups count, however few, and
        a row that several folds test counts once.
        """
        rows = np.concatenate([test for _, test in self.folds])
        if len(self.folds) == 1:
            return self.resampling_units(rows)
        if self.X.groups is not None:
            return np.asarray(self.X.groups[rows])
        return rows if len(np.unique(rows)) < len(rows) else None

    def identity(self) -> str:
        """A fingerprint of data, targets, parts and scores, sixteen letters."""
        text = np.array([*self.scores, self.design])
        rows = [side for fold in self.folds for side in fold]
        return str(fingerprint(self.X.lengths, self.X.values, self.y, *rows, text))


def parse_problem(
    X: Any, y: Any, *, groups: Any, test: Any, cv: Any, metric: Any, rng: np.random.Generator
) -> ComparisonProblem:
    """The problem behind the arguments of `compare`, or an error that names the invalid argument."""
    scores = _check_scores(metric)
    sequences = validate_sequences(X)
    targets = _validate_targets(sequences, y, scores, "y")
    if test is not None:
        if cv is not None:
            raise ValueError(
                "cv and test are both given: an official split has one training and one test part; give one of them"
            )
        return _official_problem(sequences, targets, test, groups, scores)
    item_groups = _validate_groups(sequences, groups)
    plain = sequences.replace(groups=item_groups)
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        folds, design, notes = make_folds(targets, item_groups, None if cv is None else int(cv), scores, rng)
    else:
        folds, design, notes = validate_folds(cv, plain, targets, item_groups)
    ids = np.arange(len(plain)) if plain.ids is None else plain.ids
    return ComparisonProblem(plain, targets, ids, folds, scores, design, notes=notes)


def _check_scores(metric: Any) -> tuple[str, ...]:
    words = (metric,) if isinstance(metric, str) else tuple(metric) if isinstance(metric, Iterable) else (metric,)
    if not words:
        raise ValueError(f"metric={metric!r}: expected one of {', '.join(map(repr, HIGHER_IS_BETTER))}, or several")
    scores = tuple(dict.fromkeys(check_choice(word, "metric", tuple(HIGHER_IS_BETTER)) for word in words))
    if "mse" in scores and len(scores) > 1:
        raise ValueError(f"metric={scores!r}: 'mse' is for numbers and the others for classes; compare twice")
    return scores


def _validate_targets(sequences: Sequences, y: Any, scores: tuple[str, ...], name: str) -> NDArray[Any]:
    targets = validate_targets(_CALLER, sequences, y, "target" if "mse" in scores else "class")
    if "mse" in scores:
        if targets.dtype.kind not in "biuf":
            raise ValueError(
                f"metric='mse' with {name} of dtype {targets.dtype}, such as {format_value(targets.tolist()[0])}: "
                "expected numbers; for classes use metric='accuracy'"
            )
        return targets.astype(np.float64)
    if targets.dtype.kind == "f" and (targets != np.round(targets)).any():
        odd = float(targets[targets != np.round(targets)][0])
        raise ValueError(f"metric={scores[0]!r} with {name} that holds {odd}: expected classes; for numbers use 'mse'")
    if len(np.unique(targets)) < 2 and name == "y":
        raise ValueError(
            f"y holds one class, {format_value(targets.tolist()[0])}: expected at least two, or there is nothing to "
            "distinguish"
        )
    return targets


def _validate_groups(sequences: Sequences, groups: Any) -> NDArray[Any] | None:
    """The given groups, or those of the sequences; None if False."""
    if groups is False:
        return None
    return sequences.groups if groups is None else validate_per_item(groups, "groups", len(sequences))


def _official_problem(
    X: Sequences, y: NDArray[Any], test: Any, groups: Any, scores: tuple[str, ...]
) -> ComparisonProblem:
    if not isinstance(test, tuple | list) or len(test) not in (1, 2):
        raise TypeError(f"test={test!r:.60}: expected (X, y), the sequences to test on and their targets")
    X_test = validate_sequences(test[0])
    targets = _validate_targets(X_test, test[1] if len(test) == 2 else None, scores, "test[1]")
    if (targets.dtype.kind == "U") != (y.dtype.kind == "U"):
        raise TypeError(
            f"y and test[1] mix numbers and text, {format_value(y.tolist()[0])} and {format_value(targets.tolist()[0])}"
        )
    if groups is not None and groups is not False:
        X = X.replace(groups=validate_per_item(groups, "groups", len(X)))
    both = concatenate([_without_metadata(X), _without_metadata(X_test)], ["X", "test[0]"])
    if X.groups is not None and groups is not False:
        both = _with_groups(both, X, X_test)
    rows = np.arange(len(both))
    folds = ((rows[: len(X)], rows[len(X) :]),)
    design = f"official split: {len(X)} to train on, {len(X_test)} to test"
    notes = () if "mse" in scores else _unknown_class_notes(y, targets)
    ids = np.array([*_item_names(X, "X"), *_item_names(X_test, "test[0]")])
    return ComparisonProblem(both, np.concatenate([y, targets]), ids, folds, scores, design, notes=notes)


def _without_metadata(X: Sequences) -> Sequences:
    return X.replace(labels=None, groups=None, ids=None, class_names=None)


def _item_names(X: Sequences, name: str) -> list[str]:
    """Ids as text, or the places in the argument."""
    return [f"{name}[{i}]" for i in range(len(X))] if X.ids is None else list(map(str, X.ids.tolist()))


def _with_groups(both: Sequences, X: Sequences, X_test: Sequences) -> Sequences:
    """Groups of the training part as text, followed by those of the test part, or one group per item."""
    assert X.groups is not None
    train_groups = [f"{group}" for group in X.groups.tolist()]
    test_groups = range(len(X_test)) if X_test.groups is None else X_test.groups.tolist()
    prefix = "test " if X_test.groups is None else ""
    return both.replace(groups=train_groups + [f"{prefix}{group}" for group in test_groups])


def _unknown_class_notes(y: NDArray[Any], test_labels: NDArray[Any]) -> tuple[str, ...]:
    unknown_classes = np.setdiff1d(test_labels, y)
    if not len(unknown_classes):
        return ()
    n = int(np.isin(test_labels, unknown_classes).sum())
    return (
        f"{n} of {len(test_labels)} test sequences are of classes that are not in the training part, such as "
        f"{format_value(unknown_classes.tolist()[0])}: they cannot be predicted correctly, and average precision "
        "excludes them",
    )
