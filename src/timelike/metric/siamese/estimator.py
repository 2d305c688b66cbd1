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
from ...train.base import double_precision_copy
from ...train.seeds import use_seed
from ..base import LearnedMetric
from ..coupled.estimator import PAPER_PRESET
from ..distance_network import DistanceNetwork
from ..strided_convolutions import choose_strides
from .network import POOLINGS, Pooling, SiameseBranch, SiameseNetwork
from .onnx_graph import add_siamese_network
from .stream import SiameseStream


class SiameseGRU(LearnedMetric):
    """The distance of the vectors that one recurrent network makes of both sequences.

    Strided convolutions read a sequence, a GRU reads what they found, the mean and the maximum of its states go through
    a linear map, and the result has length 1; trained from classes or pairs (Mueller and Thyagarajan, 2016, with a
    GRU, and the supervised contrastive loss of Khosla et al., 2020). `SiameseGRU.preset("paper")` is the plain GRU and
    the training of the coupled GRU's paper, whose baseline it is.

    Use it to search and to compare where classes are known and have some members each, and where order and shape count.
    Try `Discriminant` first, which is fitted far faster. With two or three members of a class, or for classes that
    `fit` does not see, take an elastic distance or `Discriminant`: a contrastive network collapses onto what it knows.

    Parameters
    ----------
    hidden : int
        Units.
    cell : {"gru", "lstm"}
        The network.
    front : "strided" or None
        Two convolutions, causal and normalized over the batch, that leave a quarter of the steps where half of the
        sequences have 64 or more, half of them from 32 on, and all of fewer; None reads the sequences as they are.
    readout : {"last", "mean", "max", "mean+max", "attention"}
        What of the states over time is kept.
    n_outputs : int or None
        Size of the vectors, by a linear map; None for the readout itself.
    normalize : bool
        Whether vectors have length 1.
    loss : str or loss of `timelike.metric.losses`
        What is minimised over all pairs of a batch.
    n_per_class : int or None
        Members of each class in a batch, which has two classes or more; None draws batches at random.
    perturb : bool or augmentation
        Whether sequences are changed a little before every step (stretches, sizes, and noise if channels are
        standardized), or by which of `timelike.sequences.augment`.
    max_frames : int or None
        Longer sequences are averaged over stretches of time, the same for all, until nine in ten have so many frames;
        None leaves them as they are.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1, as they are in the sequences fitted on.
    max_steps, max_time : optional
        When to stop: after so many steps or seconds, whatever comes first. If neither they nor the trainer's
        `max_epochs` are given, 20 passes through the data, but 500 steps at least and 2000 at most, and two minutes.
        Where `max_time` ends a training, a faster machine does more steps, and the result is another.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=3e-3`, `optimizer="adamw"`, `weight_decay=1e-3`,
        `schedule="one_cycle"`, `gradient_clip=6.0`. Held out for validation are, unless it says which share, a tenth of
        400 sequences or more and nothing of fewer; a fifth if it has `patience`, or `max_epochs` and there is no
        `max_steps`. The score is the average precision of a search, or the loss.
    progress : bool or None
        Whether a bar shows how far the training is. None says at the start how long it will take, if that is more than
        ten seconds, and draws the bar on a terminal, where it takes over two.
    random_state : int, Generator or None
        Repeats initial weights and training.

    Attributes
    ----------
    network_ : SiameseNetwork
        The torch module.
    time_pool_, strides_
        Of how many steps a frame is the mean, and which of the frames convolutions leave.
    history_ : History
        Losses and validation scores, steps, seconds and why the training ended.

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
        """Write what makes the vectors as an ONNX file, as `Encoder.export_onnx` does: distances are theirs."""
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
        """A new torch module from sequences to the vectors that are compared, as `Encoder.network` gives one.

        How many steps its convolutions leave out depends on the `lengths` of the sequences that it is meant for, in
        time steps; without them it is as in `fit` where this is fitted, otherwise no step is left out. Longer
        sequences are not averaged over `max_frames`.

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
        """One new sample in, the vector of everything so far out, at a cost that does not grow.

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
