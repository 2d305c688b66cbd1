"""Losses that train encoders without labels, as values: `VICReg`, `NTXent` and `TLoss`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.parameters import check_bool, check_float
from ..models import options

CropLossName = Literal["vicreg", "nt_xent", "t_loss"]


@dataclass(frozen=True, kw_only=True)
class CropLoss:
    """A loss on crops of series; encoders take it, or its name, as `loss=`."""

    word: ClassVar[CropLossName]


@dataclass(frozen=True, kw_only=True)
class CropPairLoss(CropLoss):
    """A loss on two crops of every series of a batch; a subclass compares their vectors."""

    min_crop: float = 0.5
    augment: bool = True

    def __post_init__(self) -> None:
        check_float(self.min_crop, "min_crop", 0, 1)
        check_bool(self.augment, "augment")

    @abstractmethod
    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """The loss of the vectors (item, feature) of the first and of the second crops."""


@dataclass(frozen=True, kw_only=True)
class VICReg(CropPairLoss):
    """25 mean (f − f⁺)² + 25 mean_i max(0, 1 − σ_i) + 5/d Σ_{i≠j} C_ij², for d features of a batch.

    It makes the vectors of two crops of a series equal, the deviation σ of every feature over the batch at least 1, and
    the covariances C of features 0; the σ and C terms are means over both sides (Bardes, Ponce and LeCun, "VICReg",
    ICLR 2022, with weight 1 instead of 5). No vectors repel each other, so similar series may have similar vectors.

    Parameters
    ----------
    min_crop : float
        Minimum length of a crop, as a fraction of the series.
    augment : bool
        Whether crops also get noise (deviation 0.1), random scales (deviation 0.2) and speeds (up to 1.25 times).

    Examples
    --------
    >>> import timelike as tl
    >>> tl.CausalEncoder(loss="vicreg").set_params(loss__min_crop=0.3).loss
    VICReg(min_crop=0.3, augment=True)
    """

    word = "vicreg"

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """The loss of the vectors (item, feature) of both crops."""
        spread = sum(_variance_covariance_loss(side) for side in (first, second)) / 2
        return 25 * F.mse_loss(first, second) + spread


@dataclass(frozen=True, kw_only=True)
class NTXent(CropPairLoss):
    """−log exp(cos(f, f⁺)/τ) / Σ_g exp(cos(f, g)/τ), averaged over a batch (Chen et al., "SimCLR", 2020, eq. 1).

    f and f⁺ are the vectors of two crops of one series, each taken as f once, and g those of all other crops of the
    batch.

    Parameters
    ----------
    temperature : float
        τ; a smaller value gives more weight to the nearest crops of other series.
    min_crop, augment
        As in `VICReg`.

    Examples
    --------
    >>> NTXent(temperature=0.5)(torch.eye(2), torch.eye(2)).item() < NTXent()(torch.eye(2), torch.ones(2, 2)).item()
    True
    """

    temperature: float = 0.2
    word = "nt_xent"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.temperature, "temperature", above=0)

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """The loss of the vectors (item, feature) of both crops."""
        count, directions = len(first), F.normalize(torch.cat([first, second]), dim=1)
        itself = torch.eye(2 * count, dtype=torch.bool, device=first.device)
        logits = (directions @ directions.T / self.temperature).masked_fill(itself, -torch.inf)
        return F.cross_entropy(logits, torch.arange(2 * count, device=first.device).roll(count))


@dataclass(frozen=True, kw_only=True)
class TLoss(CropLoss):
    """−log σ(fᵀf⁺) − 1/K Σ_k log σ(−fᵀf⁻_k), averaged over a batch (Franceschi et al., 2019, eq. 3.1).

    f, f⁺ and f⁻ are the vectors of an anchor, of a part of it, and of crops of any series. K is the option
    `n_negatives` of the encoder; crops have any length.

    Parameters
    ----------
    shared_negatives : bool
        Whether all anchors of a batch share K negatives instead of K each: with K = 10 and ten anchors a step has 30
        crops instead of 120. Not in the paper.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.CausalEncoder.preset("thesis", loss=TLoss(shared_negatives=True), n_negatives=5).loss
    TLoss(shared_negatives=True)
    """

    shared_negatives: bool = False
    word = "t_loss"

    def __post_init__(self) -> None:
        check_bool(self.shared_negatives, "shared_negatives")


def crop_loss_option() -> options.Option[Any]:
    """The declaration of an encoder's option `loss`: a loss or its name."""
    words: dict[str, type[CropLoss]] = {kind.word: kind for kind in (VICReg, NTXent, TLoss)}
    return options.word_or_value(CropLoss, words, "encode.NTXent(temperature=0.1)", "training")


def _variance_covariance_loss(features: Tensor) -> Tensor:
    count, width = features.shape
    centred = features - features.mean(0)
    covariance = centred.T @ centred / max(1, count - 1)
    sizes = covariance.diagonal()
    deviations = torch.sqrt(sizes + 1e-4)  # the square root has no gradient at 0
    return 25 * F.relu(1 - deviations).mean() + 5 * (covariance.square().sum() - sizes.square().sum()) / width
