"""`SimilarityMetric`: the learned similarity of `Prototypes` as a metric and as a kernel."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..align import FittedMetric
from ..align.distance_matrix import ProgressCallback
from ..core.parameters import check_choice, check_int, store_parameters
from ..core.random import check_random_state
from ..core.threads import check_n_jobs
from ..models import components, options, schema
from ..sequences import Sequences, as_sequences
from ..sequences.sampling import RandomState
from ..train.torch_threads import torch_threads
from . import gram_matrix
from .estimator import Prototypes
from .gram_matrix import GramMatrix, PsdCorrection
from .metric_violations import Floats, MetricViolations, measure_violations

_MAX_SIMILARITIES = 1 << 22  # similarities in double precision in memory at a time


def _check_prototypes(value: Any, name: str) -> Any:
    model = components.unfreeze(value)
    if model is not None and not isinstance(model, Prototypes):
        raise TypeError(f"{name}={value!r:.80}: expected timelike.Prototypes(), fitted or not, or None")
    return value


def _default_prototypes(word: Any) -> Any:
    return Prototypes() if word is None else word


class SimilarityMetric(FittedMetric):
    """The similarity of `Prototypes` as a distance of sequences: d(x, y) = σ(−S̄(x, y)), between 0 and 1.

        S̄(x, y) = (S(E(x), E(y)) + S(E(y), E(x))) / 2

    is the mean of both orders, so that d is symmetric; d < ½ if x and y are more likely of one class than not, known or
    not. Everything that takes a metric can use it: `Neighbors`, `Verifier`, `Fused`, clustering. It lacks other
    properties of a distance: a sequence need not be at 0 from itself, and the triangle inequality may be violated.
    `metric_violations(X)` measures both.

    `prototypes.metric()` returns that of a fitted model.

    Parameters
    ----------
    prototypes : Prototypes or None
        A fitted one is used unchanged; otherwise `fit` fits a copy. None for the defaults.

    Attributes
    ----------
    prototypes_ : Prototypes
        The fitted one.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl  # needs: timelike[learn]
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> X = np.sin(t / np.repeat([2, 4, 8], 8)[:, None] + rng.uniform(0, 6, (24, 1)))
    >>> model = tl.Prototypes(similarity_fn="learned", max_steps=60, random_state=0)
    >>> metric = model.fit(X[:16], np.repeat(["fast", "middle"], 8)).metric()
    >>> bool(metric.distance(X[0], X[1]) < 0.5 < metric.distance(X[0], X[8]))
    True
    >>> metric.kernel(X[16:]).matrix.shape  # of sequences of a class that the model does not know
    (8, 8)
    """

    prototypes = options.Option(_check_prototypes, from_word=_default_prototypes)

    prototypes_: Any = schema.estimator(Prototypes)
    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"a_sequence_is_at_distance_zero_from_itself": "S(x, x) is learned and finite: see metric_violations(X)"}
    )
    _fit_call = "fit(X, y)"

    def __init__(self, prototypes: Prototypes | None = None) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"prototypes": Prototypes(max_steps=2, random_state=0, **Prototypes._test_parameters())}

    @classmethod
    def from_fitted(cls, fitted: Prototypes) -> Self:
        """The metric of a fitted model, of which it keeps a copy."""
        metric = cls(components.unfitted_copy(fitted))
        with metric._atomic_fit():
            metric._set_prototypes(copy.deepcopy(fitted))
        return metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the prototypes, unless they are fitted, to sequences and their classes."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            model = components.unfreeze(_default_prototypes(self.prototypes))
            fitted_model = components.fitted_copy(model, sequences, y)
            fitted_model._refuse_frame(sequences.frame, "X")
            self._set_prototypes(fitted_model)
        return self

    def _set_prototypes(self, model: Any) -> None:
        self.prototypes_, self.frame_ = model, model.frame_
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_

    def _takes_missing(self) -> bool:
        model = getattr(self, "prototypes_", None) or components.unfreeze(_default_prototypes(self.prototypes))
        return isinstance(model, Prototypes) and model._takes_missing()

    # --- comparing -----------------------------------------------------------------------------------------------

    def _precompute_items(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self.prototypes_._encode_sequences(sequences, threads)
        return vectors

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        rows = max(1, _MAX_SIMILARITIES // max(1, len(references)))
        for begin in range(0, len(queries), rows):
            # σ(−S) and not 1 − σ(S), which would be 0 for all very similar sequences
            out[begin : begin + rows] = expit(
                -self._symmetric_scores(queries[begin : begin + rows], references, threads)
            )

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        first = self._precompute_items(x, threads)
        self._compare_precomputed(
            first, first if y is None or y is x else self._precompute_items(y, threads), out, threads
        )

    def _pair_scores(self, first: Any, second: Any, threads: int) -> Floats:
        with torch_threads(threads):
            scores: Floats = self.prototypes_.network_.similarity.scores(first, second).astype(np.float64)
        return scores

    def _symmetric_scores(self, first: Any, second: Any, threads: int) -> Floats:
        """S̄, computed even if S is symmetric, so that it is so to the last bit."""
        return (self._pair_scores(first, second, threads) + self._pair_scores(second, first, threads).T) / 2

    # --- metric properties, and the kernel ---------------------------------------------------------------------------

    def metric_violations(
        self, X: Any, *, n_triples: int = 10_000, random_state: RandomState = None
    ) -> MetricViolations:
        """How far S is from a distance on these sequences (at least three), by all pairs and by random triples.

        >>> import numpy as np
        >>> import timelike as tl  # needs: timelike[learn]
        >>> X = np.sin(np.arange(30) / np.repeat([2, 4], 6)[:, None] + np.arange(12)[:, None])
        >>> model = tl.Prototypes(similarity_fn="learned", max_steps=20, random_state=0).fit(X, np.repeat([0, 1], 6))
        >>> violations = model.metric().metric_violations(X, n_triples=100, random_state=0)
        >>> violations.max_asymmetry < 1e-5, violations.mean_self_distance < 0.5  # symmetrize=True is the default
        (True, True)
        """
        sequences = self._validate_predict_input(X)
        if len(sequences) < 3:
            raise ValueError(f"X holds {len(sequences)} sequences: expected at least three, for triples")
        threads = check_n_jobs(None)
        vectors = self._precompute_items(sequences, threads)
        scores = self._pair_scores(vectors, vectors, threads)
        return measure_violations(scores, check_int(n_triples, "n_triples", 1), check_random_state(random_state))

    def kernel(self, X: Any, Y: Any = None, *, psd: PsdCorrection | None = "clip") -> GramMatrix:
        """σ(S̄) of X with itself, or with a gallery Y, as a positive semidefinite kernel: `matrix` (len X, len Y).

        σ(S̄) need not be one. With `psd="clip"` its negative eigenvalues are set to 0, and the result has their number
        and their fraction of the trace. With Y, rows are projected onto the remaining eigenvectors of Y with itself:
        train on `kernel(Y)` and predict with `kernel(X, Y)`, where an item of Y has the same numbers as in `kernel(Y)`.
        With `psd=None` the similarities are unchanged.

        >>> import numpy as np
        >>> import timelike as tl  # needs: timelike[learn]
        >>> from sklearn.svm import OneClassSVM
        >>> t, rng = np.arange(40), np.random.default_rng(0)
        >>> X = np.sin(t / np.repeat([2, 4, 8], 8)[:, None] + rng.uniform(0, 6, (24, 1)))
        >>> model = tl.Prototypes(similarity_fn="learned", max_steps=60, random_state=0)
        >>> metric = model.fit(X[:16], np.repeat([0, 1], 8)).metric()
        >>> usual = OneClassSVM(kernel="precomputed", nu=0.1).fit(metric.kernel(X[:6]).matrix)
        >>> like, unlike = usual.decision_function(metric.kernel(X[6:10], X[:6]).matrix).reshape(2, 2)
        >>> bool(like.min() > unlike.max())
        True
        """
        if psd is not None:
            check_choice(psd, "psd", ("clip",))
        x = as_sequences(X, "X")
        y = None if Y is None else as_sequences(Y, "Y")
        self._validate_sides(x, y, ("X", "Y"))
        threads = check_n_jobs(None)
        first = self._precompute_items(x, threads)
        gallery = first if y is None else self._precompute_items(y, threads)
        to = None if y is None else expit(self._symmetric_scores(first, gallery, threads))
        if psd is None and to is not None:
            return gram_matrix.unclipped_gram(to, to)
        among = expit(self._symmetric_scores(gallery, gallery, threads))
        return gram_matrix.unclipped_gram(among) if psd is None else gram_matrix.clip_gram(among, to)
