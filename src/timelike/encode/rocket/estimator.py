"""Rocket: vectors of sequences from many convolutions that are drawn and not trained."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...align.matrix import threads_of
from ...models import learned, options
from ...native.machine import Steps
from ...native.rocket import Bank, features
from ...sequences import Sequences
from ...sequences.arguments import generator, store
from ...sequences.moments import Moments, flat
from ...sequences.sampling import RandomState
from ..base import Encoder, Length
from ..onnx_graph import Graph
from .drawing import BANK, draw
from .missing import filled
from .onnx_graph import written
from .stream import RocketStream

_SOME = 200  # sequences that deviations of features are taken of
_LEAST = 0.01  # deviation of a feature: one that never changed in these would count for any number


class Rocket(Encoder):
    """Vectors of sequences of any length from thousands of convolutions, without training.

    For the 84 kernels w of nine taps, three of weight 2 and six of −1, dilations d up to the length of a series, and
    thresholds b, quantiles of what the kernel makes of a sequence drawn from those fitted on, two features each:

        #{t : Σ_k w_k x_{t − (8 − k) d} > b} / T,   and the longest stretch of such t, over T

    of the series and of its differences (Dempster, Schmidt and Webb, "MiniRocket", KDD 2021; differences and stretches
    are from Tan, Dempster, Bergmeir and Webb, "MultiRocket", 2022). Kernels look back only, with 0 before the first
    step, and of several channels each sees the sum of a few. Distances are of features brought to deviation 1.

    The encoder to begin with: with a linear head (`EmbeddingClassifier`) it is hard to beat where classes differ in
    shapes, it is fast, and there is nothing to tune. Not so where small vectors are wanted, or where sequences mean the
    same at any speed, which an elastic distance knows and Rocket does not. As a distance without labels it is about as
    good as DTW.

    A value that is missing (NaN) is taken to be the last that is known of its channel, and before the first the mean:
    that needs no future, so a stream gives the same. `Sequences.interpolate` fills in otherwise.

    Parameters
    ----------
    n_features : int
        Size of a representation.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1, as they are in the sequences fitted on.
    length : int, "mean" or None
        Steps to which sequences are resampled first: so many, or the mean length of those fitted on. None: as they are.
    random_state : int, Generator or None
        Repeats what is drawn: the channels of each kernel, and the sequences that thresholds come from.

    Attributes
    ----------
    banks_ : list of Bank
        The kernels and thresholds for the series, and for its differences.
    spread_ : array
        Deviation of every feature in up to 200 of the sequences fitted on, for distances.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> t = np.arange(200)
    >>> X = tl.Sequences([np.sin(t / 2), np.sin(t[:180] / 2), np.sin(t / 5), np.sin(t[:190] / 5)])
    >>> encoder = tl.Rocket(n_features=500, random_state=0).fit(X)
    >>> encoder.encode(X).shape
    (4, 500)
    >>> encoder.neighbors(X, X, k=2).ids[:, 1]  # nearest but itself: of the same frequency
    array([1, 0, 3, 2])
    """

    n_features = options.whole(1)
    standardize = options.flag()
    random_state = options.seed()

    moments_: Moments = learned.moments()
    banks_: list[Bank] = learned.several(BANK, least=1)
    spread_: NDArray[np.float32] = learned.array("n_features", dtype="float32", above=0)

    def __init__(
        self,
        *,
        n_features: int = 10_000,
        standardize: bool = True,
        length: Length = None,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw kernels for sequences like X; no labels are needed."""
        with self._fitting():
            sequences = self._learn_from(X)
            self.moments_ = Moments.of(sequences) if self.standardize else Moments.none(sequences.frame)
            ready, rng = self._ready(sequences), generator(self.random_state)
            number = (self.n_features + 1) // 2  # of thresholds: each makes two features
            sizes = (number - number // 2, number // 2)
            self.banks_ = [draw(ready, n, difference=view == 1, rng=rng) for view, n in enumerate(sizes) if n]
            some = rng.permutation(len(sequences))[:_SOME]
            self.spread_ = np.maximum(self._encode(sequences[np.sort(some)], threads_of(None)).std(axis=0), _LEAST)
        return self

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        values, starts, lengths = self._ready(sequences, "X").buffers()
        found = features(Steps(np.ascontiguousarray(values), starts, lengths), self.banks_, threads=threads)
        return np.ascontiguousarray(found[:, : self.n_features])

    def _weighed(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Features by their deviation: the rare ones tell more, and would hardly count."""
        return np.asarray(super()._weighed(vectors) / (self.spread_ * np.sqrt(len(self.spread_))))

    def _ready(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Without gaps, standardized, in float32, with frames of one axis."""
        return flat(self.moments_.applied(filled(sequences, self.moments_.mean), name))

    def _takes_missing(self) -> bool:
        return True

    def _onnx(self, graph: Graph, x: str) -> str:
        return written(graph, graph.standardized(x, *self.moments_), self.banks_, self.n_features)

    def stream(self) -> RocketStream:
        """One new sample in, the representation of everything so far out, at a cost that does not grow.

        >>> import numpy as np
        >>> import timelike as tl
        >>> x = np.sin(np.arange(40.0))
        >>> encoder = tl.Rocket(n_features=200, random_state=0).fit([x])
        >>> stream = encoder.stream()
        >>> vectors = [stream.push(sample) for sample in x]
        >>> bool(np.array_equal(vectors[29], encoder.encode([x[:30]])[0]))
        True
        """
        self._require_stream()
        return RocketStream(self.banks_, self.n_features, *self.moments_)
