"""The T-Loss encoder: representations of sequences that are learned without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..sequences import Sequences, as_sequences
from ..sequences.arguments import real, whole
from ..sequences.sampling import RandomState
from ..train import History, Savable, fit, seeded
from .base import Encoder
from .contrast import LONG, Contrast
from .network import CausalNetwork
from .streaming import Stream

_STEPS_AT_ONCE = 1 << 17  # of a batch to encode, so that memory stays bounded


class CausalEncoder(Savable, Encoder):
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
    max_steps : int or None
        Steps of training; None for the paper's 1500, or 2000 from K = 10 on.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1, as they are in the sequences fitted on.
    by_terms : bool or None
        A backward pass for every term of the loss: slower, but memory does not grow with K. None for series longer than
        10 000 steps.
    checkpoint : path or None
        A folder to continue from after a pause.
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

    def __init__(
        self,
        *,
        n_negatives: int = 10,
        n_features: int = 320,
        channels: int = 40,
        depth: int = 10,
        reduced: int = 160,
        kernel: int = 3,
        batch_size: int = 10,
        learning_rate: float = 1e-3,
        max_steps: int | None = None,
        standardize: bool = True,
        by_terms: bool | None = None,
        checkpoint: str | Path | None = None,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_negatives = n_negatives
        self.n_features = n_features
        self.channels = channels
        self.depth = depth
        self.reduced = reduced
        self.kernel = kernel
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_steps = max_steps
        self.standardize = standardize
        self.by_terms = by_terms
        self.checkpoint = checkpoint
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the sequences X; labels are not looked at."""
        self._refuse_options()
        sequences = as_sequences(X, "X")
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        sequences.refuse_missing("CausalEncoder", "X")
        flat = sequences.values.reshape(len(sequences.values), -1)
        mean, scale = flat.mean(0, dtype=np.float64), flat.std(0, dtype=np.float64)
        self._start(flat.shape[1], mean, np.where(scale > 0, scale, 1.0))
        objective = Contrast(
            self.network_,
            self._standardized(sequences),
            n_negatives=self.n_negatives,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            by_terms=sequences.lengths.max() > LONG if self.by_terms is None else self.by_terms,
        )
        steps = (2000 if self.n_negatives >= 10 else 1500) if self.max_steps is None else self.max_steps
        self.history_: History = fit(
            objective,
            max_steps=steps,
            checkpoint=self.checkpoint,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self

    def _refuse_options(self) -> None:
        for name in ("n_negatives", "n_features", "channels", "reduced", "kernel", "batch_size"):
            whole(getattr(self, name), name, 1)
        whole(self.depth, "depth", 0)
        real(self.learning_rate, "learning_rate", above=0)
        if self.max_steps is not None:
            whole(self.max_steps, "max_steps", 1)

    def _start(self, n_channels: int, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        with seeded(self.random_state):
            self.network_ = CausalNetwork(
                n_channels,
                n_features=self.n_features,
                channels=self.channels,
                depth=self.depth,
                reduced=self.reduced,
                kernel=self.kernel,
            )
        self.mean_, self.scale_ = mean, scale

    def _standardized(self, sequences: Sequences) -> Sequences:
        values = sequences.values.reshape(len(sequences.values), -1).astype(np.float32)
        if self.standardize:
            values = ((values - self.mean_) / self.scale_).astype(np.float32)
        return Sequences.from_packed(values, sequences.offsets)

    def _encode(self, sequences: Sequences) -> NDArray[np.float32]:
        ready = self._standardized(sequences)
        vectors = np.empty((len(ready), self.n_features), np.float32)
        order = np.argsort(ready.lengths, kind="stable")
        network = self.network_.eval()
        begin = 0
        while begin < len(order):
            end = _fitting(ready.lengths[order], begin)
            chosen = order[begin:end]
            x, lengths = ready[chosen].tensor()
            same = bool((lengths == x.shape[1]).all())
            with torch.no_grad():
                vectors[chosen] = network(x.float(), None if same else lengths).numpy()
            begin = end
        return vectors

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
        zero, one = np.zeros_like(self.mean_), np.ones_like(self.scale_)
        centre, spread = (self.mean_, self.scale_) if self.standardize else (zero, one)
        return Stream(self.network_, centre, spread)

    def _n_channels(self) -> int:
        return len(self.mean_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        self._require_fitted()
        clock = {"mean": torch.from_numpy(self.mean_), "scale": torch.from_numpy(self.scale_)}
        weights = {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}
        return weights | clock, None

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        mean, scale = (tensors[name].numpy() for name in ("mean", "scale"))
        self._start(len(mean), mean, scale)
        prefix = "network."
        weights = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        self.network_.load_state_dict(weights)


def _fitting(lengths: NDArray[np.int64], begin: int) -> int:
    """How many of the sorted lengths from `begin` on fit in one batch, padded to the longest."""
    counts = np.arange(1, len(lengths) - begin + 1)
    steps = counts * lengths[begin:]
    alike = lengths[begin:] <= 1.25 * lengths[begin] + 8  # little padding
    return begin + max(1, int(np.count_nonzero((steps <= _STEPS_AT_ONCE) & alike)))
