"""Options of `Prototypes` that are words or values; none of them needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..core.parameters import check_bool, check_float, check_int
from ..models.options import Option, word_or_value

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from ..sequences.moments import ChannelScaler
    from .objective import HeadLogits
    from .similarity import FusedSimilarity, Similarity

SimilarityKind = Literal["learned", "cosine", "fused"]
Head = Literal["similarity", "dense", "both"]
DenseHead = Literal["plain", "margin"]
Averaging = Literal["exact", "moving", "gradient"]
HEADS: tuple[Head, ...] = ("similarity", "dense", "both")


@dataclass(frozen=True, kw_only=True)
class LearnedSimilarity:
    """The similarity of `Prototypes` as a perceptron of both vectors, with its sizes: `similarity_fn=` takes one.

    Parameters
    ----------
    hidden : int
        Hidden units of the perceptron.
    dropout : float
        Fraction of the hidden units that is dropped in training.
    symmetrize : bool
        Whether it is symmetric, S(x, y) = S(y, x), by the mean of both orders.
    with_cosine : bool
        Whether answers are given by the mean of σ(S) and (1 + cos) / 2, as "fused" does.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.Prototypes(similarity_fn="learned").set_params(similarity_fn__hidden=64).similarity_fn
    LearnedSimilarity(hidden=64, dropout=0.25, symmetrize=True, with_cosine=False)
    """

    hidden: int = 512
    dropout: float = 0.25
    symmetrize: bool = True
    with_cosine: bool = False

    def __post_init__(self) -> None:
        check_int(self.hidden, "hidden", 1, 2**24)
        check_float(self.dropout, "dropout", 0, 0.99)
        check_bool(self.symmetrize, "symmetrize")
        check_bool(self.with_cosine, "with_cosine")

    @property
    def word(self) -> SimilarityKind:
        """The word that stands for it with default options."""
        return "fused" if self.with_cosine else "learned"

    def build_module(self, n_features: int) -> Similarity | FusedSimilarity:
        """A new module for vectors of `n_features` features."""
        from .similarity import FusedSimilarity, Similarity

        learned = Similarity(n_features, hidden=self.hidden, dropout=self.dropout, symmetrize=self.symmetrize)
        return FusedSimilarity(learned) if self.with_cosine else learned


def similarity_option() -> Option[Any]:
    """The option `similarity_fn`: a perceptron, or a word; the cosine, which has no options, is None."""
    words: dict[str, Callable[[], LearnedSimilarity | None]] = {
        "cosine": lambda: None,
        "learned": LearnedSimilarity,
        "fused": lambda: LearnedSimilarity(with_cosine=True),
    }
    return word_or_value(LearnedSimilarity, words, "prototypes.LearnedSimilarity(hidden=64)")


class Adversary(Protocol):
    """The interface of attacks for adversarial training; the attacks of `timelike.attacks` implement it."""

    def perturb(
        self,
        x: Tensor,
        lengths: Tensor,
        targets: Tensor,
        logits_of: HeadLogits,
        rng: np.random.Generator | None = None,
        *,
        scaler: ChannelScaler | None = None,
    ) -> Tensor:
        """A batch (item, time, *frame) moved to increase the loss of the logits; see `attacks.Attack.perturb`."""
        ...


def check_adversary(value: Any, name: str) -> Adversary:
    """An attack of `timelike.attacks`, or anything else with its method `perturb`."""
    if isinstance(value, type) or not callable(getattr(value, "perturb", None)):
        raise TypeError(
            f"{name}={value!r:.80}: expected an attack of timelike.attacks, such as attacks.PGD(0.3) or "
            "attacks.FGSM(0.3), or None"
        )
    adversary: Adversary = value
    return adversary
