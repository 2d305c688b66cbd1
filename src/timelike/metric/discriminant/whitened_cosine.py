"""`WhitenedCosine`: the cosine distance of the whitened vectors of an encoder, fitted without labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...core.parameters import store_parameters
from ...encode.base import Encoder
from ...models import options
from ...sequences.sampling import RandomState
from .projected_encoder import ProjectedEncoder
from .scatter import whitening_scales


class WhitenedCosine(ProjectedEncoder):
    """The distance of whitened vectors of an encoder, normalized to length 1: `Discriminant` without classes.

        d(x, y) = ‖u(x) − u(y)‖,   u(x) = z / ‖z‖,   z_k = a_k · (f(x) − m) / √(v_k + φ v̄)

    f are the standardized features of the encoder, m their mean, a_k their principal axes and v_k the variances along
    them, with mean v̄. φ = 0 gives all directions the same weight, φ = ∞ weights them by their variance. The squared
    distance is 2 (1 − cosine) (whitening: Jégou and Chum, "Negative evidences and co-occurrences in image retrieval",
    2012).

    Use it to search or cluster sequences without labels. With labels, `Discriminant` is far better.

    Parameters
    ----------
    encoder : Encoder or None
        None for `Rocket`. A fitted encoder is used as it is; `fit` fits a copy of an unfitted one.
    floor : float
        φ. The default was chosen on six development sets.
    n_features : int
        Maximum number of principal axes.
    random_state : int, Generator or None
        Seed of the default encoder and of the sample drawn from very large data.

    Attributes
    ----------
    encoder_ : Encoder
        The fitted encoder.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> t = np.arange(60)
    >>> X = [np.sin(t / 2), np.sin(t / 2 + 1), np.sin(t / 5), np.sin(t / 5 + 1)]
    >>> metric = tl.metric.WhitenedCosine(tl.Rocket(n_features=500, random_state=0)).fit(X)
    >>> metric.neighbors(X, X, k=2).ids[:, 1]  # nearest but itself: of the same frequency
    array([1, 0, 3, 2])
    """

    floor = options.real(0)

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        floor: float = 3.0,
        n_features: int = 512,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the mean and principal axes of the vectors of X; `y` is ignored."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            basis, coordinates = self._fit_axes(sequences)
            scales = whitening_scales((coordinates**2).mean(axis=0), self.floor)
            self._set_projections(basis, [(1.0, np.diag(scales[: self.n_features]))])
        return self
