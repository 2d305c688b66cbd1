"""`SiameseGRU`: the distance of the vectors that one recurrent network makes of two sequences."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...core.parameters import store_parameters
from ...core.threads import check_n_jobs
from ...core.validation.tensors import validate_lengths
from ...encode.base import check_frame
from ...encode.onnx.graph import OnnxGraph, export_encoder
from ...models import options
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState
from ...train import Trainer
from ...train.double_precision import double_precision_copy
from ...train.seeds import use_seed
from ..base import LearnedMetric
from ..coupled.estimator import PAPER_PRESET
from ..distance_network import DistanceNetwork
from ..strided_convolutions import choose_strides
from .network import POOLINGS, Pooling, SiameseBranch, SiameseNetwork
from .onnx_graph import add_siamese_network
from .stream import SiameseStream


class SiameseGRU(LearnedMetric):
    """The distance of two sequences encoded as vectors by the same recurrent network.

    Strided convolutions are followed by a GRU; the mean and the maximum of its states pass through a linear map, and
    the result is normalized to length 1. The network is trained from classes or pairs (Mueller and Thyagarajan, 2016,
    with a GRU and the supervised contrastive loss of Khosla et al., 2020). `SiameseGRU.preset("paper")` is the plain
    GRU with the training of the coupled GRU's paper, where it is the baseline.

    Use it for search and comparison if classes are known and have several members each, and if order and shape matter.
    Try `Discriminant` first, which is fitted far faster. With two or three members per class, or for classes unseen in
    `fit`, use an elastic distance or `Discriminant`: a contrastive network collapses onto its training classes.

    Parameters
    ----------
    hidden : int
        Number of recurrent units.
    cell : {"gru", "lstm"}
        The recurrent cell.
    front : "strided" or None
        Two causal convolutions with batch normalization. They keep a quarter of the steps if the median length is 64 or
        more, half of them from 32, and all below. None reads the sequences directly.
    readout : {"last", "mean", "max", "mean+max", "attention"}
        How the states over time become one vector.
    n_outputs : int or None
        Size of the vectors after a linear map; None uses the readout itself.
    normalize : bool
        Whether to normalize vectors to length 1.
    loss : str or loss of `timelike.metric.losses`
        The loss over all pairs of a batch.
    n_per_class : int or None
        Members of each class in a batch, which has two classes or more; None draws batches at random.
    perturb : bool or augmentation
        Whether to change sequences slightly before each step (crops, scales, and noise if channels are standardized),
        or an augmentation of `timelike.sequences.augment`.
    max_frames : int or None
        Long sequences are averaged over time intervals of equal width for all sequences, so that nine in ten have at
        most this many frames; None disables averaging.
    standardize : bool
        Whether to standardize channels to mean 0 and deviation 1 over the training sequences.
    max_steps, max_time : optional
        Stop after this many steps or seconds, whichever comes first. If neither these nor the trainer's `max_epochs`
        are given: 20 passes over the data, but at least 500 and at most 2000 steps, and two minutes. If `max_time` ends
        the training, the result depends on the speed of the machine.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=3e-3`, `optimizer="adamw"`, `weight_decay=1e-3`,
        `schedule="one_cycle"`, `gradient_clip=6.0`. By default a tenth is held out for validation from 400 sequences
        on, and nothing below; a fifth if `patience` is set, or `max_epochs` without `max_steps`. The validation score
        is the average precision of a search, or the loss.
    progress : bool or None
        Whether to show a progress bar. None announces trainings of more than ten seconds at the start, and shows the
        bar on a terminal after two seconds.
    random_state : int, Generator or None
        Seed of the initial weights and the training.

    Attributes
    ----------
    network_ : SiameseNetwork
        The torch module.
    time_pool_, strides_
        The number of steps averaged per frame, and the strides of the convolutions.
    history_ : History
        Losses and validation scores, steps, seconds and the reason why training stopped.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.SiameseGRU(hidden=4, max_steps=3, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.distance(X[0], X[0])
    0.0
    """

    hidden = options.width(1)
    cell = options.choice("gru", "lstm")
    readout = options.choice(*POOLINGS)
    n_outputs = options.nullable(options.width(1))
    normalize = options.boolean()

    network_: SiameseNetwork

    _own_trainer = Trainer(
        batch_size=64, learning_rate=3e-3, optimizer="adamw", weight_decay=1e-3, schedule="one_cycle", gradient_clip=6.0
    )
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": PAPER_PRESET | {"readout": "last", "n_outputs": None, "normalize": False}}
    )

    def __init__(
        self,
        *,
        hidden: int = 64,
        cell: Literal["gru", "lstm"] = "gru",
        front: Literal["strided"] | None = "strided",
        readout: Pooling = "mean+max",
        n_outputs: int | None = 64,
        normalize: bool = True,
        loss: Any = "supervised-contrastive",
        n_per_class: int | None = 6,
        perturb: bool | Augmentation = True,
        max_frames: int | None = 256,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def export_onnx(self, path: str | Path) -> None:
        """Write the encoder of the vectors to an ONNX file, as `Encoder.export_onnx`; compare vectors by distance."""
        self._require_fitted()
        export_encoder(self, path)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        return add_siamese_network(graph, graph.standardize(x, *self.scaler_), self.network_, self.time_pool_)

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        return self._build_siamese_network(n_channels, self.strides_)

    def _build_siamese_network(self, n_channels: int, strides: tuple[int, int]) -> SiameseNetwork:
        names = ("hidden", "cell", "front", "readout", "n_outputs", "normalize")
        return SiameseNetwork(n_channels, strides=strides, **{name: getattr(self, name) for name in names})

    def network(self, frame: int | tuple[int, ...], *, lengths: Any = None) -> nn.Module:
        """A new torch module from sequences to the vectors that are compared, as in `Encoder.network`.

        The strides of its convolutions depend on the `lengths` of the intended sequences, in time steps. Without
        `lengths` they are those of `fit`, or 1 if unfitted. Long sequences are not averaged to `max_frames`.

        >>> import timelike as tl, torch
        >>> module = tl.SiameseGRU(random_state=0).network(3, lengths=[80, 120])
        >>> module(torch.zeros(5, 100, 3), torch.tensor([100, 7, 1, 20, 4])).shape
        torch.Size([5, 64])
        """
        self._refuse_options()
        if lengths is None:
            strides = getattr(self, "strides_", (1, 1))
        else:
            checked_lengths = validate_lengths(lengths, (max(1, np.size(lengths)), sys.maxsize), "lengths")
            strides = choose_strides(checked_lengths.numpy())
        with use_seed(self.random_state):
            return SiameseBranch(self._build_siamese_network(math.prod(check_frame(frame)), strides))

    def encode(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """The vectors (item, feature) whose Euclidean distances are those of the metric."""
        sequences = self._validate_predict_input(X)
        parts = self._precompute_items(sequences, check_n_jobs(n_jobs))
        vectors = np.empty((len(sequences), parts[0].features.values.shape[2]), np.float32)
        for part in parts:
            vectors[part.ids] = part.features.values[:, 0].numpy()
        return vectors

    def stream(self) -> SiameseStream:
        """A stream that returns the vector of all samples so far after each new sample, at constant cost.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 4)[:, None])
        >>> metric = tl.SiameseGRU(hidden=4, max_steps=2, random_state=0).fit(X, np.repeat([0, 1], 4))
        >>> stream = metric.stream()
        >>> vectors = [stream.push(sample) for sample in X[0]]
        >>> bool(np.allclose(vectors[9], metric.encode(X[:1, :10])[0], atol=1e-6))
        True
        """
        self._require_fitted()
        return SiameseStream(double_precision_copy(self.network_), self.time_pool_, *self.scaler_)
