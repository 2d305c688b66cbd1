"""`Discriminant`: a metric learned in closed form from classes, on the vectors of any encoder."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...core.random import check_random_state
from ...encode.base import Encoder
from ...models import options, schema
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ..targets import encode_classes, validate_pair_labels
from .model_selection import DiscriminantOptions, option_grid, select_options
from .principal_axes import Floats, PrincipalBasis
from .projected_encoder import ProjectedEncoder
from .scatter import Scatter, all_directions, class_center, class_directions, class_scatter, pair_scatter

TargetClasses = Literal["both", "known", "open"]

_OPTION_GRIDS: dict[TargetClasses, list[DiscriminantOptions]] = {
    "known": option_grid([1.0], [0.1]),
    "both": option_grid([0.5], [0.05, 0.1, 0.2]),
    "open": option_grid([0.0, 0.1, 0.2, 0.35], [0.05, 0.1, 0.2, 0.4]),
}
# the choice from each grid if there are too few classes to hold some out
_DEFAULT_OPTIONS: dict[TargetClasses, DiscriminantOptions] = {
    "known": DiscriminantOptions(1.0, 0.1),
    "both": DiscriminantOptions(0.5, 0.1),
    "open": DiscriminantOptions(0.1, 0.2),
}


class Discriminant(ProjectedEncoder):
    """A supervised linear metric on the vectors of an encoder, learned in about a second.

        d(x, y)² = σ ‖u(x) − u(y)‖² + (1 − σ) ‖v(x) − v(y)‖²,   u = Cz / ‖Cz‖,   v = Aᵀz / ‖Aᵀz‖

    z are the standardized features of the encoder along their principal axes, relative to a centre in which all classes
    have similar weight (w_k = n_k / (n_k + 3)). Only directions are compared; seen from the mean of all items, the
    directions of a dominant class would be noise. A = W R whitens twice. W = diag(1/√(v_k + φ v̄)) whitens by the
    variances v_k with mean v̄; the floor φ keeps small variances small. R Rᵀ = ((1 − γ) S_w + γ s̄ I)⁻¹ whitens the
    differences within classes: S_w, with mean variance s̄, is their scatter after W, shrunk by γ. C = M A Aᵀ are class
    directions, or discriminant scores, with the centred class means M. Class directions use φ = 0.3 and γ = 0.1; all
    directions use φ = 1 and `shrinkage_`. (Fisher, 1936; Friedman, "Regularized discriminant analysis", 1989;
    within-class whitening and the cosine: Hatch, Kajarekar and Stolcke, "Within-class covariance normalization", 2006.)
    Everything is computed in closed form from products of sequences, which are fewer than features; there is no
    iterative training.

    Use it wherever there are labels: for search, verification and nearest-neighbour classification. Class directions
    are best for the classes of `fit`; other classes need all directions. Set `classes` to the classes that will be
    compared. If alignment in time distinguishes new classes, `Fused([tl.DTW(normalize="length"),
    tl.Discriminant(classes="open")])` is better than either on average, though not on every data set.

    Parameters
    ----------
    encoder : Encoder or None
        None for `Rocket`. A fitted encoder is used as it is; `fit` fits a copy of an unfitted one.
    classes : {"both", "known", "open"}
        The classes that will be compared: `"known"`, those of `fit` only (σ = 1); `"open"`, other classes, as in
        verification (σ and γ selected on held-out classes); `"both"` (σ = ½, γ selected on held-out classes).
    n_features : int
        Maximum number of principal axes for all directions; there is one class direction per class.
    random_state : int, Generator or None
        Seed of the default encoder, the held-out classes, and the sample drawn from very large data.

    Attributes
    ----------
    encoder_ : Encoder
        The fitted encoder.
    share_, shrinkage_ : float
        σ, and the γ of all directions.
    classes_ : array
        The classes of `fit`; empty after `fit_pairs`.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(60) / np.repeat([2, 3, 4], 6)[:, None] + rng.uniform(0, 6, (18, 1)))
    >>> y = np.repeat(["fast", "middle", "slow"], 6)
    >>> metric = tl.Discriminant(tl.Rocket(n_features=500, random_state=0), random_state=0).fit(X[::2], y[::2])
    >>> tl.Neighbors(metric).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    classes = options.choice(*get_args(TargetClasses))

    classes_: NDArray[Any] = schema.labels("class")
    share_: float = schema.real(0, 1)
    shrinkage_: float = schema.real(0, 1)
    _fit_call = "fit(X, y)"

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        classes: TargetClasses = "both",
        n_features: int = 512,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            codes = self._class_codes(sequences, y)
            basis, along = self._fit_axes(sequences)
            rng = check_random_state(self.random_state)
            selected = (
                select_options(along, codes, _OPTION_GRIDS[self.classes], self.n_features, rng)
                or _DEFAULT_OPTIONS[self.classes]
            )
            centred = basis.shift_origin(class_center(along, codes))
            self._fit_projections(centred, along, class_scatter(along, codes), selected)
        return self

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), and whether the two are alike, `same` (pair,).

        S_w is the scatter of the differences of alike pairs; class directions are those along which other pairs differ
        more. Nothing is held out.
        """
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            positions, alike = validate_pair_labels(pairs, same, len(sequences))
            self.classes_ = np.empty(0, np.int64)
            basis, along = self._fit_axes(sequences)
            self._fit_projections(basis, along, pair_scatter(along, positions, alike), _DEFAULT_OPTIONS[self.classes])
        return self

    def _fit_projections(
        self, basis: PrincipalBasis, along: Floats, scatter: Scatter, selected: DiscriminantOptions
    ) -> None:
        self.share_, self.shrinkage_ = selected
        if not np.abs(scatter.means).sum() > 0:  # other pairs differ no more than alike ones
            self.share_ = 0.0
        variances = (along**2).mean(axis=0)
        by_class = class_directions(variances, scatter) if self.share_ > 0 else along[:0].T
        by_all = all_directions(variances, scatter, self.shrinkage_, self.n_features)
        self._set_projections(basis, [(self.share_, by_class), (1 - self.share_, by_all)])

    def _class_codes(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of each sequence, as an integer."""
        labels = self._validate_classes(sequences, y, "use EmbeddingRegressor")
        self.classes_, codes = encode_classes(labels, "; WhitenedCosine learns without classes, fit_pairs from pairs")
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
