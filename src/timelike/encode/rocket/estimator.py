"""`Rocket`: vectors of sequences from many random, untrained convolutions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...core.random import check_random_state
from ...core.threads import check_n_jobs
from ...models import options, schema
from ...native.machine import PackedSequences
from ...native.rocket import KernelBank, features
from ...sequences import Sequences
from ...sequences.moments import ChannelScaler, flatten_frames
from ...sequences.sampling import RandomState
from ..base import Encoder, Length
from ..onnx.graph import OnnxGraph
from .kernels import BANK_SCHEMA, sample_kernels
from .onnx_graph import add_rocket
from .stream import RocketStream

_MAX_SCALED_SEQUENCES = 200  # sequences used for the deviations of features
_MIN_DEVIATION = 0.01  # bounds the weight of features that are constant in these sequences


class Rocket(Encoder):
    """Vectors of sequences of any length from thousands of convolutions, without training.

    MiniRocket (Dempster, Schmidt and Webb, KDD 2021) with a second feature for every threshold. A kernel has nine taps,
    three of weight w = 2 and six of −1: 84 kernels, each at dilations d from 1 to where it is as long as the series. At
    step t its output is

        o_t = Σ_{k=0…8} w_k x_{t + (k − 4) d},   with x = 0 (the mean, if standardized) outside the series.

    A threshold b is a quantile of the outputs for one random training sequence. With S the set of steps that count,

        |{t ∈ S : o_t > b}| / |S|,   and the longest run of such t in S, over |S|,

    are its two features: the proportion is that of MiniRocket, the run that of MultiRocket (Tan, Dempster, Bergmeir and
    Webb, 2022). S is all steps for every other kernel; for the rest, alternating over kernels and dilations, it is
    4d ≤ t < T − 4d, where all taps are inside the series, unless T ≤ 8d. With several channels a kernel sees the sum
    of one to nine of them, chosen at random. Distances compare features scaled to unit variance.

    With `causal=True` kernels use past steps only, o_t = Σ_k w_k x_{t + (k − 8) d}, and S is 8d ≤ t where it is not all
    steps: a stream then returns the features of all samples so far at constant cost per sample.

    Start with this encoder: with a linear head (`EmbeddingClassifier`) it is hard to beat where classes differ in
    shapes, it is fast, and there is nothing to tune. Use another encoder for small vectors, and an elastic distance if
    the speed of a sequence does not matter: Rocket is sensitive to it. As a distance without labels it is about as
    good as DTW.

    A missing value (NaN) is replaced by the last known value of its channel, or by the mean before the first one:
    this needs no future values. `Sequences.interpolate` fills gaps linearly instead.

    Parameters
    ----------
    n_features : int
        Size of a representation.
    standardize : bool
        Whether channels are standardized with the mean and deviation of the training sequences.
    causal : bool
        Whether kernels use past steps only, for streams. Otherwise they are centred, as in MiniRocket.
    length : int, "mean" or None
        Resample sequences to this number of steps first, or to the mean training length. None keeps their lengths.
    random_state : int, Generator or None
        Seed of the channels of each kernel and of the sequences for the thresholds.

    Attributes
    ----------
    bank_ : Bank
        The kernels, their dilations, channels and thresholds.
    spread_ : array
        Deviation of every feature in up to 200 training sequences, for distances.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> t = np.arange(200)
    >>> X = tl.Sequences([np.sin(t / 2), np.sin(t[:180] / 2), np.sin(t / 5), np.sin(t[:190] / 5)])
    >>> encoder = tl.Rocket(n_features=500, random_state=0).fit(X)
    >>> encoder.encode(X).shape
    (4, 500)
    >>> encoder.neighbors(X, X, k=2).ids[:, 1]  # the nearest other sequence has the same frequency
    array([1, 0, 3, 2])
    """

    n_features = options.width(1)
    standardize = options.boolean()
    causal = options.boolean()
    random_state = options.random_seed()

    scaler_: ChannelScaler = schema.channel_scaler()
    bank_: KernelBank = BANK_SCHEMA
    feature_deviations_: NDArray[np.float32] = schema.array("n_features", dtype="float32", above=0)

    def __init__(
        self,
        *,
        n_features: int = 10_000,
        standardize: bool = True,
        causal: bool = False,
        length: Length = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample kernels for sequences like X; no labels are needed."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            self.scaler_ = (
                ChannelScaler.from_sequences(sequences) if self.standardize else ChannelScaler.identity(sequences.frame)
            )
            ready, rng = self._fill_and_standardize(sequences), check_random_state(self.random_state)
            n_thresholds = (self.n_features + 1) // 2  # two features each
            self.bank_ = sample_kernels(ready, n_thresholds, centred=not self.causal, rng=rng)
            some = rng.permutation(len(sequences))[:_MAX_SCALED_SEQUENCES]
            self.feature_deviations_ = np.maximum(
                self._encode(sequences[np.sort(some)], check_n_jobs(None)).std(axis=0), _MIN_DEVIATION
            )
        return self

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        values, starts, lengths = self._fill_and_standardize(sequences, "X").buffers()
        vectors = features(PackedSequences(np.ascontiguousarray(values), starts, lengths), self.bank_, threads=threads)
        return np.ascontiguousarray(vectors[:, : self.n_features])

    def _weight_features(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Features divided by their deviation, since otherwise rare but informative ones would hardly count."""
        return np.asarray(
            super()._weight_features(vectors) / (self.feature_deviations_ * np.sqrt(len(self.feature_deviations_)))
        )

    def _fill_and_standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Sequences with gaps filled, standardized, in float32, with flattened frames."""
        return flatten_frames(self.scaler_.transform(forward_fill(sequences, self.scaler_.mean), name))

    def _takes_missing(self) -> bool:
        return True

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        return add_rocket(graph, graph.standardize(x, *self.scaler_), self.bank_, self.n_features)

    def _require_stream(self) -> None:
        super()._require_stream()
        if not self.causal:
            raise ValueError(
                "causal=False: kernels use future steps, which a stream does not have yet: use Rocket(causal=True) "
                "for streams"
            )

    def stream(self) -> RocketStream:
        """A stream that returns the vector of all samples so far, at constant cost per sample.

        It requires `causal=True`.

        >>> import numpy as np
        >>> import timelike as tl
        >>> x = np.sin(np.arange(40.0))
        >>> encoder = tl.Rocket(n_features=200, causal=True, random_state=0).fit([x])
        >>> stream = encoder.stream()
        >>> vectors = [stream.push(sample) for sample in x]
        >>> bool(np.array_equal(vectors[29], encoder.encode([x[:30]])[0]))
        True
        """
        self._require_stream()
        return RocketStream(self.bank_, self.n_features, *self.scaler_)


def forward_fill(sequences: Sequences, default: NDArray[Any]) -> Sequences:
    """Replace every missing value by the last value of its channel, or by that of the frame `default` before the first.

    >>> import timelike as tl
    >>> forward_fill(tl.Sequences([[np.nan, 1.0, np.nan], [np.nan, 5.0]]), np.array([2.0])).values.ravel()
    array([2., 1., 1., 2., 5.])
    """
    if not sequences.has_missing:
        return sequences
    values = sequences.values
    starts = (sequences.lengths.cumsum() - sequences.lengths).repeat(sequences.lengths)
    along = [-1] + [1] * (values.ndim - 1)
    steps = np.arange(len(values)).reshape(along)
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, steps), axis=0)
    last_values = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    return sequences._with_values(np.where(last >= starts.reshape(along), last_values, default).astype(values.dtype))
