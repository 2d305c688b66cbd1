"""`CoupledGRU`: the distance between the states of two coupled GRUs that read one sequence each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.parameters import store_parameters
from ...models import options
from ...plotting import curves
from ...sequences import as_single_sequence
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState
from ...sequences.validation import validate_targets
from ...train import Trainer
from ..base import LearnedMetric
from ..distance_network import DistanceNetwork
from .network import CoupledNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_PRESET: dict[str, Any] = {
    "hidden": 20,
    "front": None,
    "loss": "structural",
    "perturb": False,
    "max_frames": None,
    "trainer": Trainer(
        learning_rate=1e-3,
        weight_decay=1e-4,
        optimizer="adam",
        schedule="plateau",
        max_epochs=60,
        patience=20,
        validation=0.2,
    ),
}
"""The training of the coupled GRU's paper, as far as stated; also for its baseline `SiameseGRU`."""


class CoupledGRU(LearnedMetric):
    """The distance ‖h_T − h'_T‖₂ of the last states of two GRUs that read one sequence each and are coupled.

    Both share their weights and a gate c_t = σ(W_hc (h_{t−1} + h'_{t−1}) + b_hc), which mixes their new states:
    (1 − c_t) n_t + c_t n'_t instead of a GRU's n_t. Alike sequences synchronise, even if they differ at first (CGRU,
    under review at ICLR 2021). Pairs must be read together, so a distance costs more than with `SiameseGRU`.

    Prefer `SiameseGRU` unless your own data show otherwise: it costs less, and `benchmarks.papers.cgru.coupling` found
    no task on which coupling helps. Use `CoupledGRU` for `synchronization` and `lyapunov_exponent`.

    Parameters
    ----------
    hidden : int
        Number of recurrent units.
    coupling_bias : float
        Initial b_hc: 0 is the strongest coupling (c ≈ ½), large negative values no coupling.
    coupling_penalty : float
        Weight of the coupling penalty in the loss, which allows coupling only where it helps.
    penalty_term : {"gate", "norm"}
        The penalty: the mean gate, c_t averaged over units, common steps and pairs; or ‖W_hc‖, as in the paper, which
        is a poor measure of coupling: with `coupling_bias=0`, W_hc = 0 means c = ½.
    sync : {"last", "mean"}
        Whether the distance is that of the last states or the mean over time.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=1e-2`, `optimizer="adamw"`, `weight_decay=1e-3`,
        `schedule="one_cycle"`, `gradient_clip=6.0`. Validation is as for `SiameseGRU`.
    front, loss, n_per_class, perturb, max_frames, standardize, max_steps, max_time, progress, random_state
        As for `SiameseGRU`.

    Attributes
    ----------
    network_ : CoupledNetwork
        The torch module.
    history_ : History
        Losses, validation scores, and for each step the mean gate of its pairs (`history_["coupling"]`) and ‖W_hc‖
        (`history_["coupling_norm"]`), both before its update.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.CoupledGRU(hidden=4, max_steps=2, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.distance(X[0], X[0])
    0.0
    >>> metric.synchronization(X[0], X[9]).shape
    (20,)
    >>> 0 < metric.coupling(X[0], X[9]) < 1
    True
    """

    hidden = options.width(1)
    coupling_bias = options.real(-1e30, 1e30)  # as float32 holds it
    coupling_penalty = options.real(0)
    penalty_term = options.choice("gate", "norm", role="training")
    sync = options.choice("last", "mean")

    network_: CoupledNetwork

    _own_trainer = Trainer(
        batch_size=64, learning_rate=1e-2, optimizer="adamw", weight_decay=1e-3, schedule="one_cycle", gradient_clip=6.0
    )
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": PAPER_PRESET | {"coupling_bias": 0.0, "penalty_term": "norm", "sync": "last"}}
    )

    def __init__(
        self,
        *,
        hidden: int = 32,
        front: Literal["strided"] | None = "strided",
        coupling_bias: float = -2.0,
        coupling_penalty: float = 0.01,
        penalty_term: Literal["gate", "norm"] = "gate",
        sync: Literal["last", "mean"] = "mean",
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

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        return CoupledNetwork(
            n_channels,
            hidden=self.hidden,
            coupling_bias=self.coupling_bias,
            coupling_penalty=self.coupling_penalty,
            penalty_term=self.penalty_term,
            sync=self.sync,
            front=self.front,
            strides=self.strides_,
        )

    def synchronization(self, x: Any, y: Any) -> NDArray[np.float64]:
        """The distance between the two states at each time step, up to the end of the longer sequence.

        If the GRUs read frames of several steps, all steps of a frame have the same value.
        """
        pair = self._validate_pair(x, y)
        with torch.no_grad():
            apart = self.network_.synchronization(*pair)[0]
        longest = max(len(as_single_sequence(side, name)[0]) for side, name in ((x, "x"), (y, "y")))
        return np.asarray(apart.numpy()[self._pooling_matrix(longest).argmax(axis=0)], np.float64)

    def plot_synchronization(self, x: Any, X: Any, y: Any = None, *, dark: bool = False) -> Figure:
        """Draw `synchronization` of x with every sequence of X, in a colour for each class.

        Parameters
        ----------
        y : array (item,), optional
            The class of every sequence of X, or any other group, such as "alike" and "other"; default: the labels of X.
        dark : bool
            Whether to use colours for a dark background.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None])
        >>> metric = tl.CoupledGRU(hidden=4, max_steps=2, random_state=0).fit(X, np.repeat([0, 1], 8))
        >>> len(metric.plot_synchronization(X[0], X, np.repeat(["alike", "other"], 8)).axes[0].lines)
        16
        """
        sequences = self._validate_predict_input(X)
        labels = validate_targets(self, sequences, y, "class")
        groups: dict[str, list[NDArray[np.float64]]] = {str(name): [] for name in np.unique(labels)}
        for other, label in zip(sequences, labels, strict=True):
            groups[str(label)].append(self.synchronization(x, other))
        return curves.plot_state_distances(groups, dark=dark)

    def coupling(self, x: Any, y: Any) -> float:
        """The mean gate of two sequences: 0 is no coupling, ½ the strongest, at which both get the same new state."""
        pair = self._validate_pair(x, y)
        with torch.no_grad():
            return float(self.network_.mean_gates(*pair))

    def _validate_pair(self, x: Any, y: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Validate two sequences and convert them to network input and lengths."""
        self._require_fitted()
        first, second = as_single_sequence(x, "x"), as_single_sequence(y, "y")
        self._validate_sides(first, second, ("x", "y"))
        (a, n), (b, m) = (self._standardize(side).to_tensor() for side in (first, second))
        return a, b, n, m

    def lyapunov_exponent(self, *, steps: int = 1000, random_state: RandomState = 0) -> float:
        """The largest Lyapunov exponent of the network without input; above 0 the dynamics are chaotic.

        Two coupled systems synchronise if the coupling exceeds half of it (Fujisaka and Yamada, 1983).
        """
        self._require_fitted()
        return self.network_.lyapunov_exponent(steps=steps, random_state=random_state)
