"""`VectorEncoder`: a multilayer perceptron for items that are vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import nn

from ..core.parameters import check_float, check_int, store_parameters
from ..models import options
from ..sequences.sampling import RandomState
from ..train import Trainer
from .base import Geometry, check_frame
from .item_encoder import ItemEncoder, ItemNetwork
from .objectives.crops import CropTransform
from .objectives.views import VectorViews
from .whitening import VectorScaling


class VectorNetwork(ItemNetwork):
    """Maps vectors to vectors: `depth` layers of `hidden` ReLUs and a linear map; frames of several axes are flattened.

    The vector of an item with several frames is the mean over frames.

    Parameters
    ----------
    frame : int or tuple of int
        Size of an item, or its shape, which is flattened.
    n_features : int
        Size of a vector.
    hidden, depth : int
        Units of a layer, and layers before the last one.
    dropout : float
        Fraction of units dropped in training.

    Examples
    --------
    >>> import torch
    >>> VectorNetwork(7, n_features=5)(torch.randn(3, 1, 7)).shape
    torch.Size([3, 5])
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        n_features: int = 64,
        hidden: int = 128,
        depth: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(check_frame(frame))
        share, size = check_float(dropout, "dropout", 0, 0.95), check_int(hidden, "hidden", 1)
        sizes = [math.prod(self.frame), *[size] * check_int(depth, "depth", 0)]
        inner = [(nn.Linear(*pair), nn.ReLU(), nn.Dropout(share)) for pair in pairwise(sizes)]
        last = nn.Linear(sizes[-1], check_int(n_features, "n_features", 1))
        self.backbone = nn.Sequential(nn.Flatten(), *(layer for some in inner for layer in some), last)


class VectorEncoder(ItemEncoder):
    """Vectors of items that are vectors, given as `Sequences(vectors, layout="nc")`, from a small network.

    `fit` learns without labels: it makes the vectors of two views of an item, with noise and masked numbers, equal, and
    spreads and decorrelates features over a batch (Bardes, Ponce and LeCun, "VICReg", ICLR 2022; see `CausalEncoder`).
    `network(frame)` returns the network, to be trained with labels. `max_steps=0` gives the untrained network: compare
    with it before you trust a trained one.

    Parameters
    ----------
    n_features : int
        Size of a vector.
    hidden, depth : int
        Units of a layer, and layers before the last one.
    dropout : float
        Fraction of units dropped in training.
    mask_share : float
        Fraction of the numbers of a view that are replaced by their mean.
    jitter : float
        Standard deviation of the noise of a view, relative to that of the numbers.
    max_steps, max_time, standardize, vectors, geometry, progress, random_state
        As in `CausalEncoder`.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=3e-3`, `schedule="cosine"`, `validation=0.0`.

    Attributes
    ----------
    network_ : VectorNetwork
        The torch module.
    history_ : History
        Training losses.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = tl.Sequences(np.random.default_rng(0).random((6, 7)), layout="nc")
    >>> tl.encode.VectorEncoder(n_features=8, max_steps=2, random_state=0).fit(X).encode(X).shape
    (6, 8)
    >>> tl.encode.VectorEncoder().fit(np.zeros((6, 7)))
    Traceback (most recent call last):
        ...
    ValueError: X has sequences of 7 steps: VectorEncoder takes single vectors, sequences of one step; an array of \
vectors (item, channel) needs Sequences(X, layout="nc"), and one alone X[None]
    """

    hidden = options.width(1)
    depth = options.depth(0)
    dropout = options.real(0, 0.95, role="training")
    mask_share = options.real(0, 0.95, role="training")

    network_: VectorNetwork
    _item_kind = "vector", "nc"

    def __init__(
        self,
        *,
        n_features: int = 64,
        hidden: int = 128,
        depth: int = 2,
        dropout: float = 0.0,
        mask_share: float = 0.2,
        jitter: float = 0.1,
        max_steps: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        vectors: VectorScaling = "standardized",
        geometry: Geometry = "cosine",
        progress: bool | None = None,
        trainer: Trainer | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        names = ("n_features", "hidden", "depth", "dropout")
        parameters: dict[str, Any] = {name: getattr(self, name) for name in names}
        return VectorNetwork(frame, **parameters)

    def _make_views(self) -> CropTransform:
        return VectorViews(self.mask_share, self.jitter)
