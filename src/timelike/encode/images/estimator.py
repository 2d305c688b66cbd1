"""`ImageEncoder`: vectors of single images, learned without labels."""

from __future__ import annotations

from typing import Any, get_args

from torch import nn

from ...core.parameters import store_parameters
from ...models import options
from ...sequences import Sequences
from ...sequences.moments import ChannelScaler
from ...sequences.sampling import RandomState
from ...train import Trainer
from ..base import Geometry
from ..item_encoder import ItemEncoder
from ..objectives.crop_objectives import CropObjective
from ..objectives.crops import CropTransform
from ..objectives.views import ImageViews
from ..whitening import VectorScaling
from .network import Architecture, ImageNetwork


class ImageEncoder(ItemEncoder):
    """Vectors of single images, given as `Sequences(images, layout="nchw")`: LeNet, or a small residual network.

    `fit` learns without labels: it makes the vectors of two views of an image, shifted and with noise, equal, and
    spreads and decorrelates features over a batch (Bardes, Ponce and LeCun, "VICReg", ICLR 2022; see `CausalEncoder`).
    `network(frame)` returns the network, to be trained with labels. For sequences of images use `FrameEncoder`.
    `max_steps=0` gives the untrained network: compare with it before you trust a trained one.

    Parameters
    ----------
    architecture : {"lenet", "resnet"}
        LeNet, of two convolutions, or a residual network of seven with batch normalization (see `ImageNetwork`).
    n_features : int
        Size of a vector.
    dropout : float or None
        Fraction of channels dropped in training, before the linear map. None is 0.5 in a "lenet" that learns from
        labels (from `network`, or inside another model), and 0 in "resnet" and in `fit`, where dropout does harm.
    shift : float
        Maximum shift of an image, as a fraction of its sides.
    jitter : float
        Standard deviation of the noise of a view, relative to that of the pixels.
    max_steps, max_time, vectors, geometry, progress, random_state
        As in `CausalEncoder`.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=3e-3`, `schedule="cosine"`, `validation=0.0`.
    standardize : bool
        Whether colour channels are scaled to mean 0 and deviation 1 over all pixels of the training images.

    Attributes
    ----------
    network_ : ImageNetwork
        The torch module.
    history_ : History
        Training losses.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = tl.Sequences(np.random.default_rng(0).random((6, 1, 12, 12)), layout="nchw")
    >>> tl.encode.ImageEncoder(n_features=8, max_steps=2, random_state=0).fit(X).encode(X).shape
    (6, 8)
    """

    architecture = options.choice(*get_args(Architecture))
    dropout = options.nullable(options.real(0, 0.95, role="training"))
    shift = options.real(0, 0.5, role="training")

    network_: ImageNetwork
    _n_frame_axes = 3
    _item_kind = "image", "nchw"

    def __init__(
        self,
        *,
        architecture: Architecture = "lenet",
        n_features: int = 50,
        dropout: float | None = None,
        shift: float = 0.1,
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
        names = ("architecture", "n_features", "dropout")
        parameters: dict[str, Any] = {name: getattr(self, name) for name in names}
        channels, height, width = frame
        return ImageNetwork((channels, height, width), **parameters)

    def _make_objective(self, ready: Sequences, targets: None) -> CropObjective:
        if self.dropout is None:
            for layer in self.network_.modules():
                if isinstance(layer, nn.Dropout2d):
                    layer.p = 0.0
        return super()._make_objective(ready, targets)

    def _make_views(self) -> CropTransform:
        return ImageViews(self.frame_, self.shift, self.jitter)

    def _fit_scaler(self, sequences: Sequences) -> ChannelScaler:
        """One mean and deviation per channel, because single pixels, as at the border, may be constant."""
        return ChannelScaler.per_channel(sequences)
