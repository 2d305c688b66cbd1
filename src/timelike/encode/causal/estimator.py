"""CausalEncoder: vectors of sequences, learned without labels by a causal network and the T-Loss."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from torch import nn

from ...models import options
from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train.processes import Accelerator, Precision
from ..base import Geometry, Stream
from ..spread import Vectors
from ..tloss import Losses, Schedules, TLossEncoder
from .network import CausalNetwork, rounds_alike
from .onnx_graph import write_onnx
from .stream import CausalStream


class CausalEncoder(TLossEncoder):
    """Vectors of sequences of any length, learned without labels: a causal network trained by the T-Loss.

    A representation should be near that of any part of the same series and far from those of others: f minimises
    −log σ(f(x)ᵀf(x⁺)) − 1/K Σ_k log σ(−f(x)ᵀf(x⁻_k)), x⁺ a part of x and x⁻ crops of any series (Franceschi, Dieuleveut
    and Jaggi, "Unsupervised scalable representation learning for multivariate time series", NeurIPS 2019).

    Parameters
    ----------
    n_negatives : int
        K.
    n_features : int
        Size of a representation.
    channels, depth, reduced, kernel : int
        The network: channels inside, blocks before the last one, outputs of the causal part, taps of a convolution.
    batch_size, learning_rate
        Of Adam.
    shared_negatives : bool
        Whether all anchors of a batch share K negatives in place of K each: with K = 10 and ten anchors a step has 30
        crops in place of 120. Not in the paper.
    max_steps : int or None
        Steps of training; None for the paper's 1500, or 2000 from K = 10 on.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1, as they are in the sequences fitted on.
    by_terms : bool or None
        A backward pass for every term of the loss: slower, but memory does not grow with K. None where it is needed:
        for series longer than 10 000 steps without the compiled kernels, which keep a gigabyte at most.
    checkpoint : path or None
        A folder to continue from after a pause. A training that is at its end there is returned as it is, also if
        `learning_rate` is another now or `max_steps` smaller.
    progress : bool
        Whether a bar shows how far the training is.
    accelerator, devices, precision
        Where and how training computes, as for `timelike.train.fit`; answers are computed on the CPU, in float32.
    random_state : int, Generator or None
        Repeats initial weights and training.

    Attributes
    ----------
    network_ : CausalNetwork
        The torch module.
    history_ : History
        Losses of training.

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

    channels = options.whole(1)
    depth = options.whole(0)
    reduced = options.whole(1)
    kernel = options.whole(1)

    network_: CausalNetwork

    def __init__(
        self,
        *,
        channels: int = 40,
        depth: int = 10,
        reduced: int = 160,
        kernel: int = 3,
        n_features: int = 320,
        loss: Losses = "logistic",
        temperature: float = 0.2,
        min_crop: float = 0.5,
        augment: bool = True,
        n_negatives: int = 10,
        shared_negatives: bool = False,
        batch_size: int = 10,
        learning_rate: float = 1e-3,
        schedule: Schedules = "constant",
        max_steps: int | None = None,
        max_time: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        standardize: bool = True,
        vectors: Vectors = "plain",
        geometry: Geometry = "cosine",
        by_terms: bool | None = None,
        checkpoint: str | Path | None = None,
        progress: bool = False,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    @classmethod
    def _small(cls) -> dict[str, Any]:
        return {"n_features": 20, "channels": 4, "depth": 2, "reduced": 20, "max_steps": 2, "random_state": 0}

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        return CausalNetwork(
            math.prod(frame),
            n_features=self.n_features,
            channels=self.channels,
            depth=self.depth,
            reduced=self.reduced,
            kernel=self.kernel,
        )

    def _rounds_alike(self, threads: int) -> bool:
        return all(rounds_alike(*size, threads) for size in self.network_.products())

    def stream(self) -> Stream:
        """One new sample in, the representation of everything so far out, at a cost that does not grow.

        >>> import numpy as np
        >>> import timelike as tl
        >>> x = np.sin(np.arange(20.0))
        >>> encoder = tl.CausalEncoder(n_features=4, channels=4, depth=2, max_steps=2, random_state=0).fit([x])
        >>> stream = encoder.stream()
        >>> vectors = [stream.push(sample) for sample in x]
        >>> bool(np.allclose(vectors[9], encoder.encode([x[:10]])[0], atol=1e-5))
        True
        """
        self._require_fitted()
        return self._streamed(CausalStream(self.network_, *self.moments_))

    def export_onnx(self, path: str | Path) -> None:
        """Write the encoder as an ONNX file: `x` (item, time, channel) in, `features` (item, feature) out.

        It standardizes by itself and takes any number of sequences of any length, all as long in one call. Needs the
        extra `onnx`.
        """
        self._require_fitted()
        write_onnx(path, self.network_, *self.moments_, getattr(self, "spread_", None))
