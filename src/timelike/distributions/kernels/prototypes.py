"""`PrototypesKernel`: the learned similarity of `Prototypes` as a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.threads import check_n_jobs
from ...models import components
from ..validation import Domain, Sample, refuse_missing, sample_frame, to_sequences
from .base import Kernel, Matrix

if TYPE_CHECKING:
    from torch import Tensor

    from ...prototypes.similarity_metric import SimilarityMetric


@dataclass(frozen=True, repr=False)
class PrototypesKernel(Kernel):
    """The learned similarity of fitted `Prototypes`: k(x, y) = σ(S̄(x, y)), the probability of one class.

    It is sensitive to the differences between the classes that the model was fitted on, and to no others: for drift
    that matters to a classifier. It need not be positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl  # needs: timelike[learn]
    >>> X = np.sin(np.arange(40) / np.repeat([2, 4], 8)[:, None] + np.arange(16)[:, None])
    >>> model = tl.Prototypes(max_steps=60, random_state=0).fit(X, np.repeat(["fast", "slow"], 8))
    >>> matrix = tl.distributions.PrototypesKernel(model)(X)
    >>> bool(matrix[0, 1] > matrix[0, 8])
    True
    """

    model: Any
    _metric: SimilarityMetric = field(init=False, repr=False, compare=False)

    domain: ClassVar[Domain] = "sequences"

    def __post_init__(self) -> None:
        from ...prototypes.estimator import Prototypes
        from ...prototypes.similarity_metric import SimilarityMetric

        model = components.unfreeze(self.model)
        if not isinstance(model, Prototypes) or not components.is_fitted(model):
            raise TypeError(f"model={self.model!r:.80}: expected timelike.Prototypes that are fitted")
        object.__setattr__(self, "_metric", SimilarityMetric.from_fitted(model))

    def __repr__(self) -> str:
        return f"PrototypesKernel({self.model!r})"

    @property
    def has_fitted_part(self) -> bool:
        """True: the model is fitted."""
        return True

    @property
    def indefinite_reason(self) -> str:
        """Never empty: a learned similarity need not be definite."""
        return "a learned similarity need not be positive definite: model.metric().kernel(X) measures by how much"

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        if not self._takes_missing():
            refuse_missing(sample, "Prototypes", name)
        self._metric._refuse_frame(sample_frame(sample), name)
        return self._metric._precompute_items(to_sequences(sample), check_n_jobs(None))

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        out = np.empty((len(x), len(x if y is None else y)))
        self._metric._compare_precomputed(x, x if y is None else y, out, check_n_jobs(None))
        return 1 - out

    def _takes_missing(self) -> bool:
        return self._metric._takes_missing()

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        raise TypeError(
            "PrototypesKernel has no gradients: use EncoderKernel(module, RBF()) with the torch module of an encoder"
        )
