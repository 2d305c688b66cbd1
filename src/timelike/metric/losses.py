"""Losses that train any metric: from distances and labels to one number.

Every loss is a frozen value, called as `loss(distances, labels, gallery_labels=None, *, valid=None)`: `distances` is
(query, gallery), `labels` (query,) and `gallery_labels` (gallery,) are integers, and `valid` (query, gallery) marks the
pairs that count. Without `gallery_labels` the queries are the gallery, and the diagonal does not count. The answer is a
scalar, averaged over the queries that have something to say; a batch in which none has gives 0 with a gradient of 0.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..sequences.arguments import real
from .mining import Pairs, log_sum_exp_where, mean_where, paired

if TYPE_CHECKING:
    from .adapting import Adapted

__all__ = [
    "Binomial",
    "Contrastive",
    "Lifted",
    "Loss",
    "MultiSimilarity",
    "Structural",
    "Triplet",
    "adapted",
    "find",
]


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
        return mean_where(self.queries(pairs), self.speaking(pairs))

    def pairs(self, distances: Tensor, same: Tensor) -> Tensor:
        """The loss of single pairs: distances (item,) and whether the two are of the same class, bool (item,).

        Examples
        --------
        >>> import torch
        >>> Contrastive().pairs(torch.tensor([1.0, 0.5]), torch.tensor([True, False]))
        tensor(0.6250)
        """
        known = " or ".join(f"{name!r}" for name, kind in KNOWN.items() if kind.pairs is not Loss.pairs)
        raise TypeError(
            f"{type(self).__name__} compares a query's positives with its negatives, so it cannot learn from single "
            f"pairs: use loss={known}"
        )


@dataclass(frozen=True, kw_only=True)
class Triplet(Loss):
    """Triplet loss on the hard pairs of a batch: every positive against the nearest negative, and vice versa.

    Σ_p max(d_p − min_n d_n + m, 0) + Σ_n max(max_p d_p + m − d_n, 0) for each query, where p are the gallery's items of
    the query's class and n the others (Su and Wen, "Temporal Alignment Prediction for Supervised Representation
    Learning and Few-Shot Sequence Classification", ICLR 2022, eq. 4; after Hermans, Beyer and Leibe, 2017). The
    gradient goes through the two extremes too, as the equation has it; the authors' code moves the mined pairs only.

    Parameters
    ----------
    margin : float
        m, in units of the distance.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[0.0, 0.3, 0.35]])
    >>> Triplet(margin=0.1)(distances, torch.tensor([0]), torch.tensor([0, 0, 1]))  # 0.05 from each side
    tensor(0.1000)
    """

    margin: float = 0.1

    def __post_init__(self) -> None:
        real(self.margin, "margin", 0.0)

    def queries(self, pairs: Pairs) -> Tensor:
        """Equation 4."""
        near = F.relu(pairs.distances - pairs.smallest_negative + self.margin)
        far = F.relu(pairs.largest_positive + self.margin - pairs.distances)
        return torch.where(pairs.positive, near, 0.0).sum(1) + torch.where(pairs.negative, far, 0.0).sum(1)


@dataclass(frozen=True, kw_only=True)
class Lifted(Loss):
    """Lifted structure loss: the soft maximum of the positives against the soft minimum of the negatives.

    2/β log Σ_p exp(β d_p) + 2/α log Σ_n exp(−α d_n) for each query (Su and Wen, ICLR 2022, eq. 5; after Song et al.,
    "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016). α and β are the sharpness of the two,
    so a large one leaves the hardest pair alone: in the limit 2 (max_p d_p − min_n d_n). There is no hinge as in Song
    et al.: the loss falls without end as negatives move away, so it wants distances that are bounded.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the negatives and for the positives. (The paper's words have it the other way round; the exponents
        of its equations and the authors' code are as here.)
    margin : float, optional
        If given, only the pairs that are wrong by more than −margin count, as in `Binomial`; so do the authors, with
        0.1, unlike their equation.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[0.0, 0.3, 0.5]])
    >>> Lifted()(distances, torch.tensor([0]), torch.tensor([0, 0, 1]))  # log(1 + exp(0.6)) − 2 · 0.5
    tensor(0.0375)
    """

    alpha: float = 40.0
    beta: float = 2.0
    margin: float | None = None

    def __post_init__(self) -> None:
        _check_sharpness(self.alpha, self.beta, self.margin)

    def queries(self, pairs: Pairs) -> Tensor:
        """Equation 5."""
        mined = pairs.hard(self.margin)
        positives = log_sum_exp_where(self.beta * mined.distances, mined.positive) * (2 / self.beta)
        negatives = log_sum_exp_where(-self.alpha * mined.distances, mined.negative) * (2 / self.alpha)
        return torch.where(mined.both, positives + negatives, 0.0)


@dataclass(frozen=True, kw_only=True)
class Binomial(Loss):
    """Binomial deviance of hard pairs: a logistic loss on each side of a threshold.

    2/(β|P|) Σ_{p∈P} log(1 + exp(β (d_p − t))) + 2/(α|N|) Σ_{n∈N} log(1 + exp(−α (d_n − t))) for each query, where P are
    the positives with d_p > min_n d_n − m and N the negatives with d_n < max_p d_p + m (Su and Wen, ICLR 2022, eq. 6
    and 7; after Yi et al., "Deep Metric Learning for Person Re-Identification", ICPR 2014). A query whose pairs are all
    in order by the margin contributes 0. The numerators 2 are those of eq. 5 and of the authors' code.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the negatives and for the positives.
    margin : float or None
        m of the mining; None takes every pair, and a query then needs only one of the two kinds.
    threshold : float
        t: positives should be nearer, negatives farther. 0.5 suits distances of normalised frames.

    Examples
    --------
    >>> import torch
    >>> Binomial()(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), torch.tensor([0, 1]))  # (1 + 1/20) log 2
    tensor(0.7278)
    >>> Binomial().pairs(torch.tensor([0.5, 9.0]), torch.tensor([True, False]))  # log 2 + 0
    tensor(0.6931)
    """

    alpha: float = 40.0
    beta: float = 2.0
    margin: float | None = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        _check_sharpness(self.alpha, self.beta, self.margin)
        real(self.threshold, "threshold")

    def speaking(self, pairs: Pairs) -> Tensor:
        """Without mining one kind of pair is enough."""
        return pairs.any if self.margin is None else pairs.both

    def queries(self, pairs: Pairs) -> Tensor:
        """Equation 7 on the pairs of equation 6."""
        mined = pairs.hard(self.margin)
        return self._sides(mined.distances, mined.positive, mined.negative)

    def pairs(self, distances: Tensor, same: Tensor) -> Tensor:
        """The same without mining: the mean over pairs of one class plus the mean over pairs of two."""
        return self._sides(*_single(distances, same))

    def _sides(self, distances: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        above = distances - self.threshold
        attracted = mean_where(F.softplus(self.beta * above), positive) * (2 / self.beta)
        return attracted + mean_where(F.softplus(-self.alpha * above), negative) * (2 / self.alpha)


@dataclass(frozen=True, kw_only=True)
class Structural(Loss):
    """Structural loss, a reconstruction: every positive against all negatives, the hard ones most, plus a global term.

    Local, for each query: 1/τ log (1/|P| Σ_p exp(τ ℓ_p)) with ℓ_p = log(1 + Σ_n exp(s (d_p − d_n))). ℓ_p is the n-pair
    loss (Sohn, 2016) with −d for a similarity; in the gradient positive p weighs softmax(τ ℓ)_p, so hard positives
    weigh more. Global, for the batch: λ (Var d₊ + Var d₋ + max(mean d₊ − mean d₋ + m, 0)) over the positive and the
    negative pairs of the queries that have both (Kumar, Carneiro and Reid, "Learning Local Image Descriptors with Deep
    Siamese and Triplet Convolutional Networks by Minimising Global Loss Functions", CVPR 2016).

    The loss of Yang, Zhou and Wang ("Person Reidentification via Structural Deep Metric Learning", IEEE TNNLS 30(10),
    2018), with which the coupled GRU was trained, is known to us from descriptions only: "a local term similarly to the
    n-pair loss but emphasizes the weights on the hard positive samples, and a global term to improve the
    generalization". The form and the defaults here are ours.

    Parameters
    ----------
    scale : float
        s, what a unit of distance counts for.
    hardness : float
        τ; towards 0 all positives weigh the same.
    margin : float
        m between the two means.
    balance : float
        λ, the weight of the global term.

    Examples
    --------
    >>> import torch
    >>> distances, labels = torch.tensor([[1.0, 1.0]]), torch.tensor([0])
    >>> Structural(balance=0.0)(distances, labels, torch.tensor([0, 1]))  # log 2
    tensor(0.6931)
    >>> Structural(balance=1.0, margin=1.0)(distances, labels, torch.tensor([0, 1]))  # log 2 + 1
    tensor(1.6931)
    """

    scale: float = 1.0
    hardness: float = 1.0
    margin: float = 1.0
    balance: float = 0.1

    def __post_init__(self) -> None:
        real(self.scale, "scale", above=0.0)
        real(self.hardness, "hardness", above=0.0)
        real(self.margin, "margin", 0.0)
        real(self.balance, "balance", 0.0)

    def queries(self, pairs: Pairs) -> Tensor:
        """The local term of each, and the batch's global term added to all."""
        negatives = log_sum_exp_where(-self.scale * pairs.distances, pairs.negative)
        ranked = F.softplus(self.scale * pairs.distances + negatives[:, None])
        hardest = log_sum_exp_where(self.hardness * ranked, pairs.positive)
        count = pairs.positive.sum(dim=1).clamp(min=1).to(hardest.dtype)  # the log of integers would be float32
        local = (hardest - count.log()) / self.hardness
        return local + self.balance * self._apart(pairs)

    def _apart(self, pairs: Pairs) -> Tensor:
        flat, both = pairs.distances.flatten(), pairs.both[:, None]
        positive, negative = ((side & both).flatten() for side in (pairs.positive, pairs.negative))
        near, far = mean_where(flat, positive), mean_where(flat, negative)
        spread = mean_where((flat - near) ** 2, positive) + mean_where((flat - far) ** 2, negative)
        return spread + F.relu(near - far + self.margin)


@dataclass(frozen=True, kw_only=True)
class Contrastive(Loss):
    """Contrastive loss: positives to distance 0, negatives beyond a margin.

    1/q mean_p d_p^q + 1/q mean_n max(m − d_n, 0)^q for each query (Hadsell, Chopra and LeCun, "Dimensionality Reduction
    by Learning an Invariant Mapping", CVPR 2006, with q = 2). The two kinds are averaged apart, so that the many
    negatives do not drown the few positives. A query with one kind only has that to say.

    Parameters
    ----------
    margin : float
        m, in units of the distance.
    power : float
        q; 1 grows linearly, which forgives outliers.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[1.0, 0.5, 2.0]])
    >>> Contrastive()(distances, torch.tensor([0]), torch.tensor([0, 1, 1]))  # (1 + (0.25 + 0) / 2) / 2
    tensor(0.5625)
    """

    margin: float = 1.0
    power: float = 2.0

    def __post_init__(self) -> None:
        real(self.margin, "margin", 0.0)
        real(self.power, "power", 1.0)

    def speaking(self, pairs: Pairs) -> Tensor:
        """One kind of pair is enough."""
        return pairs.any

    def queries(self, pairs: Pairs) -> Tensor:
        """Both means of each query."""
        return self._sides(pairs.distances, pairs.positive, pairs.negative)

    def pairs(self, distances: Tensor, same: Tensor) -> Tensor:
        """The mean over pairs of one class plus the mean over pairs of two."""
        return self._sides(*_single(distances, same))

    def _sides(self, distances: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        pulled, pushed = F.relu(distances) ** self.power, F.relu(self.margin - distances) ** self.power
        return (mean_where(pulled, positive) + mean_where(pushed, negative)) / self.power


@dataclass(frozen=True, kw_only=True)
class MultiSimilarity(Loss):
    """Multi-similarity loss: hard pairs, each weighted by how it stands among the others of its query.

    1/α log(1 + Σ_{p∈P} exp(α (d_p − t))) + 1/β log(1 + Σ_{n∈N} exp(−β (d_n − t))) for each query, with P and N mined as
    in `Binomial` (Wang et al., "Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning", CVPR 2019,
    eq. 15, with S = −d and λ = −t). α is for the positives here, as in that paper.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the positives and for the negatives.
    margin : float or None
        ε of the mining; None takes every pair, and a query then needs only one of the two kinds.
    threshold : float
        t: positives should be nearer, negatives farther.

    Examples
    --------
    >>> import torch
    >>> MultiSimilarity()(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), torch.tensor([0, 1]))  # (1/2 + 1/50) log 2
    tensor(0.3604)
    """

    alpha: float = 2.0
    beta: float = 50.0
    margin: float | None = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        _check_sharpness(self.alpha, self.beta, self.margin)
        real(self.threshold, "threshold")

    def speaking(self, pairs: Pairs) -> Tensor:
        """Without mining one kind of pair is enough."""
        return pairs.any if self.margin is None else pairs.both

    def queries(self, pairs: Pairs) -> Tensor:
        """Equation 15 on mined pairs."""
        mined = pairs.hard(self.margin)
        above = mined.distances - self.threshold
        attracted = _log_one_plus(self.alpha * above, mined.positive) / self.alpha
        return attracted + _log_one_plus(-self.beta * above, mined.negative) / self.beta


KNOWN: dict[str, type[Loss]] = {
    "binomial": Binomial,
    "contrastive": Contrastive,
    "lifted": Lifted,
    "multi-similarity": MultiSimilarity,
    "structural": Structural,
    "triplet": Triplet,
}


def find(loss: str | Loss) -> Loss:
    """A loss by its name, or the loss that was given.

    Examples
    --------
    >>> find("triplet")
    Triplet(margin=0.1)
    >>> find(Triplet(margin=0.5))
    Triplet(margin=0.5)
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r}: expected one of {', '.join(map(repr, KNOWN))} or an instance of losses.Loss; one of "
            "pytorch-metric-learning goes through losses.adapted(loss)"
        )
    if loss not in KNOWN:
        raise ValueError(f"loss={loss!r} is not known: expected one of {', '.join(map(repr, KNOWN))}")
    return KNOWN[loss]()


def adapted(loss: Any, *, miner: Any = None) -> Adapted:
    """A loss of pytorch-metric-learning, maybe with a miner of its, in the place of one of ours.

    It sees our distances instead of computing its own from embeddings (Musgrave, Belongie and Lim, "PyTorch Metric
    Learning", 2020). A loss that looks at the embeddings themselves, or learns proxies, cannot be used and says so.

    Parameters
    ----------
    loss : pytorch_metric_learning.losses.BaseMetricLossFunction
        Copied, so that its own distance stays what it was.
    miner : pytorch_metric_learning.miners.BaseMiner, optional
        Chooses pairs or triplets. It looks at all pairs, so `valid` cannot be given with one.

    Examples
    --------
    >>> import torch
    >>> from pytorch_metric_learning.losses import TripletMarginLoss
    >>> loss = adapted(TripletMarginLoss(margin=0.1))
    >>> loss(torch.tensor([[0.0, 0.3, 0.35]]), torch.tensor([0]), torch.tensor([0, 0, 1]))
    tensor(0.0500)
    """
    from .adapting import Adapted

    return Adapted.of(loss, miner)


def _check_sharpness(alpha: float, beta: float, margin: float | None) -> None:
    real(alpha, "alpha", above=0.0)
    real(beta, "beta", above=0.0)
    if margin is not None:
        real(margin, "margin", 0.0)


def _single(distances: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Distances and the two kinds of single pairs."""
    if distances.ndim != 1 or same.shape != distances.shape or same.dtype != torch.bool:
        raise ValueError(
            f"distances has shape {tuple(distances.shape)} and same is {same.dtype} of shape {tuple(same.shape)}: "
            "expected (item,) and torch.bool (item,)"
        )
    same = same.to(distances.device)
    return distances, same, ~same


def _log_one_plus(exponents: Tensor, mask: Tensor) -> Tensor:
    """log(1 + Σ exp) over the last axis of what is marked; 0 where nothing is."""
    return torch.where(mask.any(dim=-1), F.softplus(log_sum_exp_where(exponents, mask)), 0.0)
