"""`CausalEncoder`: vectors of sequences from a causal network, trained without labels on crops."""

from __future__ import annotations

import math
from typing import Any

from torch import nn

from ...core.parameters import store_parameters
from ...models import options
from ...sequences.sampling import RandomState
from ...train import Trainer
from ..base import Geometry, Length, Stream
from ..crop_encoder import CropEncoder
from ..losses import CropLoss, CropLossName
from ..onnx.graph import OnnxGraph
from ..whitening import VectorScaling
from .network import CausalNetwork, is_batch_invariant
from .onnx_graph import add_causal_network
from .stream import CausalStream


class CausalEncoder(CropEncoder):
    """Vectors of sequences of any length, learned without labels: a causal network, trained on crops of series.

    Training makes the vectors of two crops of a series equal, and spreads and decorrelates the features over a batch
    (`loss="vicreg"`: Bardes, Ponce and LeCun, "VICReg", ICLR 2022). The network is that of the T-Loss
    (Franceschi, Dieuleveut and Jaggi, "Unsupervised scalable representation learning for multivariate time series",
    NeurIPS 2019). Its own loss, −log σ(f(x)ᵀf(x⁺)) − 1/K Σ_k log σ(−f(x)ᵀf(x⁻_k)) with a part x⁺ of x and crops x⁻ of
    any series, is `CausalEncoder.preset("thesis")`, which takes many times as long.

    Use it if there are no labels, or few labels and many unlabelled series; for streams, which it encodes sample by
    sample; and for sequences of any length. If every series has a label and you only need classes, start with a
    method that needs no training or uses the labels. `max_steps=0` gives the untrained
    network: compare with it before you trust a trained one.

    Parameters
    ----------
    n_features : int
        Size of a representation.
    channels, depth, reduced_size, kernel_size : int
        The network: inner channels, blocks before the last one, outputs of the causal part, taps of a convolution.
    loss : {"vicreg", "nt_xent", "t_loss"} or loss of `timelike.encode`
        The training loss: "vicreg" as above; "nt_xent" distinguishes the two crops of a series from all others of a
        batch by their cosine (Chen et al., "SimCLR", 2020); "t_loss" is that of the paper. `VICReg`, `NTXent` and
        `TLoss` set their options, such as `NTXent(temperature=0.1, min_crop=0.3)`.
    n_negatives : int
        K of "t_loss".
    max_steps : int or None
        Training steps; 0 keeps the initial network. None depends on the data: 200 to 1000, more for more series, fewer
        (at least 100) for long ones; with "t_loss" 1500 as in the paper, or 2000 if K ≥ 10.
    max_time : float or None
        Maximum duration of `fit` in seconds.
    standardize : bool
        Whether channels are standardized with the mean and deviation of the training sequences.
    length : int, "mean" or None
        Resample sequences to this number of steps first, or to the mean training length. None keeps their lengths.
    vectors : {"standardized", "raw", "whitened"}
        Whether features are scaled to mean 0 and deviation 1 on the training sequences ("standardized"), also
        decorrelated ("whitened"), or left unchanged ("raw").
    geometry : {"cosine", "euclidean"}
        The distance of vectors: that of their directions, √(2 − 2 cos), or the Euclidean one.
    low_memory : bool or None
        Backward passes for a few crops at a time: slower, but memory does not grow with the batch. None does so if the
        activations of all crops would take more than 2 GiB, or half of the free memory. The compiled kernels never
        need it, since they keep at most a gigabyte.
    progress : bool or None
        Whether to show a progress bar. None prints the expected duration at the start if it is more than ten seconds,
        and draws the bar on a terminal if it is more than two.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=16`, `learning_rate=3e-3`, `schedule="cosine"`, `validation=0.0`. The
        weights with the smallest loss on fixed crops of the held-out series are kept; of fewer than 20 series none is
        held out, and validation uses other crops of the same series. No labels are needed.
    random_state : int, Generator or None
        Seed of the initial weights and the training.

    Attributes
    ----------
    network_ : CausalNetwork
        The torch module.
    history_ : History
        Training losses; except for "t_loss" also `alignment` and `uniformity` of every batch (Wang and Isola, 2020).

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 0.0, 1.0]])
    >>> encoder = tl.CausalEncoder(n_features=8, channels=4, depth=2, max_steps=3, random_state=0).fit(X)
    >>> encoder.encode(X).shape
    (3, 8)
    >>> encoder.pairwise(X).shape
    (3, 3)
    """

    channels = options.width(1)
    depth = options.depth(0)
    reduced_size = options.width(1)
    kernel_size = options.width(1)

    network_: CausalNetwork
    _own_trainer = Trainer(batch_size=16, learning_rate=3e-3, schedule="cosine", validation=0.0)

    def __init__(
        self,
        *,
        channels: int = 40,
        depth: int = 10,
        reduced_size: int = 160,
        kernel_size: int = 3,
        n_features: int = 320,
        loss: CropLossName | CropLoss = "vicreg",
        n_negatives: int = 10,
        max_steps: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        length: Length = None,
        vectors: VectorScaling = "standardized",
        geometry: Geometry = "cosine",
        low_memory: bool | None = None,
        progress: bool | None = None,
        trainer: Trainer | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"n_features": 20, "channels": 4, "depth": 2, "reduced_size": 20, "max_steps": 2, "random_state": 0}

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return CausalNetwork(
            math.prod(frame),
            n_features=self.n_features,
            channels=self.channels,
            depth=self.depth,
            reduced_size=self.reduced_size,
            kernel_size=self.kernel_size,
        )

    def _is_batch_invariant(self, threads: int) -> bool:
        return all(is_batch_invariant(*size, threads) for size in self.network_.matmul_shapes())

    def stream(self) -> Stream:
        """A stream that returns the vector of all samples so far, at constant cost per sample.

        >>> import numpy as np
        >>> import timelike as tl
        >>> x = np.sin(np.arange(20.0))
        >>> encoder = tl.CausalEncoder(n_features=4, channels=4, depth=2, max_steps=2, random_state=0).fit([x])
        >>> stream = encoder.stream()
        >>> vectors = [stream.push(sample) for sample in x]
        >>> bool(np.allclose(vectors[9], encoder.encode([x[:10]])[0], atol=1e-5))
        True
        """
        self._require_stream()
        return self._whiten_stream(CausalStream(self.network_, *self.scaler_))

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        return add_causal_network(
            graph, graph.standardize(x, *self.scaler_), self.network_, getattr(self, "whitener_", None)
        )
