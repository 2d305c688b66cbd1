"""What every loss on distances can do."""

from __future__ import annotations

import abc

import torch
from torch import Tensor

from ...sequences.arguments import real
from ..mining import Pairs, mean_where, paired, refuse_arrays


class Loss(abc.ABC):
    """What every loss on distances can do; one of your own says in `queries` what each query contributes.

    Examples
    --------
    >>> import torch
    >>> class Gap(Loss):
    ...     def queries(self, pairs):
    ...         return torch.where(pairs.both, (pairs.largest_positive - pairs.smallest_negative)[:, 0], 0.0)
    >>> Gap()(torch.tensor([[0.0, 1.0, 3.0]]), torch.tensor([0]), torch.tensor([0, 0, 1]))
    tensor(-2.)
    """

    @abc.abstractmethod
    def queries(self, pairs: Pairs) -> Tensor:
        """What each query contributes, (query,); of those that have nothing to say it may be any finite number."""

    def speaking(self, pairs: Pairs) -> Tensor:
        """Which queries have something to say, (query,): those with a positive and a negative."""
        return pairs.both

    def __call__(
        self, distances: Tensor, labels: Tensor, gallery_labels: Tensor | None = None, *, valid: Tensor | None = None
    ) -> Tensor:
        """The loss of a matrix of distances (query, gallery), a scalar."""
        pairs = paired(distances, labels, gallery_labels, valid=valid)
        if not pairs.distances.numel():
            return pairs.distances.sum()  # 0 on the graph: nothing has no extremes
        lost = torch.where(pairs.distances.detach().isnan(), torch.nan, 0.0).sum()  # a comparison with nan is False
        return mean_where(self.queries(pairs), self.speaking(pairs)) + lost

    def pairs(self, distances: Tensor, same: Tensor) -> Tensor:
        """The loss of single pairs: distances (item,) and whether the two are of the same class, bool (item,).

        Examples
        --------
        >>> import torch
        >>> from timelike.metric.losses import Contrastive
        >>> Contrastive().pairs(torch.tensor([1.0, 0.5]), torch.tensor([True, False]))
        tensor(0.6250)
        """
        from .finding import known

        words = " or ".join(f"{name!r}" for name, kind in known().items() if kind.pairs is not Loss.pairs)
        raise TypeError(
            f"{type(self).__name__} compares a query's positives with its negatives, so it cannot learn from single "
            f"pairs: use loss={words}"
        )


def single(distances: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Distances (item,) and the two kinds of single pairs, checked."""
    refuse_arrays(distances=distances, same=same)
    if distances.ndim != 1 or same.shape != distances.shape or same.dtype != torch.bool:
        raise ValueError(
            f"distances has shape {tuple(distances.shape)} and same is {same.dtype} of shape {tuple(same.shape)}: "
            "expected (item,) and torch.bool (item,)"
        )
    same = same.to(distances.device)
    return distances, same, ~same


def check_sharpness(alpha: float, beta: float, margin: float | None) -> None:
    """Refuse options that make no loss."""
    real(alpha, "alpha", above=0.0)
    real(beta, "beta", above=0.0)
    if margin is not None:
        real(margin, "margin", 0.0)
