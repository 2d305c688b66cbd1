"""Encoders trained by the T-Loss, whatever their network is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..models import options
from ..sequences import Sequences
from ..sequences.moments import RESCALE
from ..train import Trained
from ..train.batches import alike
from ..train.trained import exact, torch_threads
from .base import Encoder
from .contrast import LONG, Contrast


class TLossEncoder(Trained, Encoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    n_negatives = options.whole(1, "training")
    n_features = options.whole(1)
    batch_size = options.whole(1, "training")
    learning_rate = options.real(above=0, role="free")
    max_steps = options.maybe(options.whole(1, "free"))
    by_terms = options.maybe(options.flag("free"))

    _steps_at_once: ClassVar[int] = 1 << 17  # of a batch to encode, so that memory stays bounded

    def _objective(self, ready: Sequences, targets: None) -> Contrast:
        return Contrast(
            self.network_,
            ready,
            n_negatives=self.n_negatives,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            by_terms=bool(ready.lengths.max() > LONG) if self.by_terms is None else self.by_terms,
        )

    def _limits(self) -> dict[str, Any]:
        usual = 2000 if self.n_negatives >= 10 else 1500
        return {"max_steps": usual if self.max_steps is None else self.max_steps}

    def _rounds_alike(self, threads: int) -> bool:
        """Whether the network in single precision gives a sequence the same bits in any company."""
        return False

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        ready = self._ready(sequences, "X")
        vectors = np.empty((0, 0), np.float32)
        network = self.network_ if self._rounds_alike(threads) else exact(self.network_)
        dtype = next(network.parameters()).dtype
        with torch_threads(threads), torch.no_grad():
            for chosen in alike(ready.lengths, self._steps_at_once):
                x, lengths = ready[chosen].tensor()
                same = bool((lengths == x.shape[1]).all())
                found = network(x.to(dtype), None if same else lengths).numpy()
                if not vectors.size:
                    vectors = np.empty((len(ready), found.shape[1]), np.float32)
                vectors[chosen] = found
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(f"X: sequence {bad[0]} has values so large that its vector overflows: {RESCALE}")
        return vectors
