"""Temperature and thresholds, learned from examples that were held out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..score.calibration import temperature
from ..score.conformal_thresholds import impostor_bound, warn_few_pairs
from .retrieval import PrototypesBase
from .thresholds import PrototypeThresholds, check_share, novelty_threshold


class CalibratedPrototypes(PrototypesBase):
    """Answers that know how sure they are, when to accept and when to refuse."""

    def calibrate(
        self, X: Any, y: Any = None, *, unknown: Any = None, false_accept: float = 0.01, false_reject: float = 0.05
    ) -> Self:
        """Learn temperature and thresholds from examples that `fit` and `enroll` have not seen.

        Parameters
        ----------
        X, y
            Examples of classes that are known, with their classes, two or more, of some class two or more.
        unknown : sequences, optional
            Examples of no known class; then `predict(reject=True)` weighs both errors alike.
        false_accept : float
            `verify` accepts two new examples of two of these classes with at most this probability. Pairs that share
            an example are no independent witnesses, so 2 / `false_accept` − 2 examples are needed: with fewer the
            threshold is above all pairs of two classes, and a `CalibrationWarning` says what is promised; with enough,
            what is exact and what is proven is as in `Verifier.calibrate`. For classes
            that are not known nothing is: use `Verifier(model.metric())`, calibrated with others than these.
        false_reject : float
            Without `unknown`, `predict(reject=True)` rejects another example of these classes with at most this
            probability; an error with fewer than 1 / `false_reject` − 1 examples.
        """
        sequences = self._validate_predict_input(X)
        labels = self._validate_classes(sequences, y, "there is no calibration")
        shares = check_share(false_accept, "false_accept"), check_share(false_reject, "false_reject")
        codes = self._encode_labels(labels)
        same = _same_class_pairs(codes)
        strange = (
            None
            if unknown is None
            else self._vector_novelty(self._encode_sequences(self._validate_one_or_many(unknown, "unknown")[0]))
        )
        vectors = self._encode_sequences(sequences)
        first, second = (side[~same] for side in np.triu_indices(len(codes), 1))
        pairs = impostor_bound(self._pair_similarities(vectors, vectors)[first, second], first, second, shares[0])
        found = PrototypeThresholds(
            temperature=temperature(self._score_classes(vectors), codes, classes=np.arange(len(self.classes_))),
            pair=pairs.threshold,
            novelty=novelty_threshold(self._vector_novelty(vectors), strange, shares[1]),
            inference=self.inference,
        )
        warn_few_pairs(pairs, shares[0], len(codes), "examples")
        self.thresholds_ = found
        return self

    def _encode_labels(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Which of the known classes each label is."""
        self._refuse_mixed_labels(labels, "y")
        places = np.searchsorted(self.classes_, labels)
        missing = labels[self.classes_[np.minimum(places, len(self.classes_) - 1)] != labels]
        if len(missing):
            raise ValueError(
                f"y holds {format_value(missing.tolist()[0])}, which is no class of this {type(self).__name__}: enroll "
                "it, or "
                "give such examples as unknown"
            )
        return places.astype(np.int64)


def _same_class_pairs(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of all pairs are of one class; there must be some of either kind."""
    first, second = np.triu_indices(len(codes), 1)
    same: NDArray[np.bool_] = codes[first] == codes[second]
    if not same.any() or same.all():
        kind = "of two classes" if same.any() else "of one class"
        raise ValueError(f"X has no pair {kind}, and a threshold needs pairs of both kinds: give more examples")
    return same
