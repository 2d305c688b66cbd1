"""Ground metrics by regression to virtual sequences: RVSML, with a linear map or a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..align import DTW, Aligner
from ..sequences import Sequences
from ..sequences.arguments import real, store, whole
from ..sequences.sampling import RandomState
from ..train import Batch, Objective, fit, shuffled
from .divergence import refuse_diverged
from .ground import GroundMetric, mapped_frames
from .transformation import perceptron

Floats = NDArray[np.float64]


class Virtual:
    """One virtual sequence for each class, all of whose frames are orthogonal to all others, and who is aligned to it.

    `weights` (step, virtual frame) says how much each step belongs to each frame of its class's virtual sequence.
    """

    def __init__(self, ready: Sequences, classes: NDArray[np.int64], size: int) -> None:
        self.offsets, self.classes, self.size = ready.offsets, classes, size
        self.of_step = np.repeat(classes, ready.lengths)
        self.n_outputs = size * (int(classes.max()) + 1)
        places = np.concatenate([np.arange(n) * size // n for n in ready.lengths.tolist()])
        self.weights = np.eye(size)[places]  # evenly at first

    def frames(self, kind: int) -> Floats:
        """The virtual sequence of a class, (virtual frame, output)."""
        return np.eye(self.n_outputs)[kind * self.size : (kind + 1) * self.size]

    def targets(self) -> Floats:
        """Σ_j T_ij v_j of every step, (step, output)."""
        out = np.zeros((len(self.of_step), self.n_outputs))
        columns = self.of_step[:, None] * self.size + np.arange(self.size)
        np.put_along_axis(out, columns, self.weights, axis=1)
        return out

    def align(self, mapped: Floats, aligner: Aligner) -> None:
        """Align every sequence, whose frames are mapped, to the virtual one of its class."""
        for begin, end, kind in zip(self.offsets[:-1], self.offsets[1:], self.classes.tolist(), strict=True):
            try:
                found = aligner.align(mapped[begin:end], self.frames(kind))
            except ValueError as error:
                raise ValueError(
                    f"aligner={aligner!r} cannot align a sequence of {end - begin} steps with the virtual one of its "
                    f"class, which has virtual={self.size} steps: {error}"
                ) from None
            if found.path is None:
                self.weights[begin:end] = found.plan
            else:
                self.weights[begin:end] = 0.0
                self.weights[begin:end][tuple(found.path.T)] = 1.0

    def error(self, mapped: Floats) -> float:
        """Σ_ij T_ij ‖f(x_i) − v_j‖²."""
        total, own = self.weights.sum(axis=1), self.targets()
        return float(total @ (mapped**2).sum(axis=1) - 2 * (mapped * own).sum() + total.sum())


class RVSML(GroundMetric):
    """A linear map of frames under which sequences regress to a virtual sequence of their class.

    Minimises Σ_n Σ_ij T_ij ‖W x_i − v_j‖² + λ N ‖W‖² in turn over W (a ridge regression) and over the alignments T of
    each sequence with its class's virtual sequence of `virtual` orthonormal frames; then sequences are compared by the
    aligner after W (Su and Wu, "Learning distance for sequences by learning a ground metric", ICML 2019).

    Parameters
    ----------
    aligner : "dtw", "opw" or Aligner
        What aligns, in learning and in comparing.
    virtual : int
        Frames of a virtual sequence.
    regularization : float or None
        λ; None for the authors' 5e-4 with DTW and 5e-5 otherwise.
    max_iterations : int
        Turns, at most.

    Attributes
    ----------
    errors_ : array (turn,)
        What is minimised, after each turn; it never rises.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.metric.RVSML().fit(np.stack([X, np.roll(X, 1, axis=1)], -1), np.repeat([0, 1], 8))
    >>> metric.mapped(np.zeros((1, 20, 2))).frame
    (8,)
    """

    virtual: int
    regularization: float | None
    max_iterations: int

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        virtual: int = 4,
        regularization: float | None = None,
        max_iterations: int = 20,
        standardize: bool = True,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        whole(self.virtual, "virtual", 1)
        whole(self.max_iterations, "max_iterations", 1)
        if self.regularization is not None:
            real(self.regularization, "regularization", above=0)

    def _learn(self, ready: Sequences, classes: NDArray[np.int64]) -> nn.Module:
        virtual, aligner = Virtual(ready, classes, self.virtual), self._aligner()
        usual = 5e-4 if isinstance(aligner, DTW) else 5e-5
        ridge = (usual if self.regularization is None else self.regularization) * len(ready)
        frames = ready.values.astype(np.float64)
        projection = _regressed(frames, virtual, ridge)
        errors: list[float] = []
        for _ in range(self.max_iterations):  # the even alignment is where it starts, and not to be compared with
            virtual.align(frames @ projection, aligner)
            found = _regressed(frames, virtual, ridge)
            error = virtual.error(frames @ found) + ridge * float((found**2).sum())
            if errors and error > errors[-1]:  # an aligner that minimises something else, as OPW does, may pass it
                break
            projection = found
            errors.append(error)
            if len(errors) > 1 and errors[-2] - error <= 1e-6 * error:
                break
        self.errors_ = np.array(errors)
        network = self._empty(*projection.shape)
        network.weight.data = torch.from_numpy(projection.T.astype(np.float32).copy())
        return network

    def _empty(self, n_channels: int, n_outputs: int) -> nn.Module:
        return nn.Linear(n_channels, n_outputs, bias=False)


def _regressed(frames: Floats, virtual: Virtual, ridge: float) -> Floats:
    """The W that is best for the alignments as they are, (channel, output)."""
    weighted = frames * virtual.weights.sum(axis=1, keepdims=True)
    matrix = frames.T @ weighted + ridge * np.eye(frames.shape[1])
    return np.linalg.solve(matrix, frames.T @ virtual.targets())


class DeepRVSML(RVSML):
    """`RVSML` with a three-layer perceptron in place of the linear map (Su and Wu, 2020), trained by Adam.

    Parameters
    ----------
    aligner, virtual
        As for `RVSML`.
    hidden : int
        Units of both hidden layers.
    max_epochs : int
        Passes over the frames; alignments are made anew before each.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.random.default_rng(0).standard_normal((6, 10, 2))
    >>> metric = tl.metric.DeepRVSML(hidden=8, max_epochs=1, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> metric.pairwise(X).shape
    (6, 6)
    """

    hidden: int
    learning_rate: float
    max_epochs: int
    progress: bool

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        virtual: int = 4,
        hidden: int = 1024,
        learning_rate: float = 1e-4,
        max_epochs: int = 20,
        standardize: bool = True,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _refuse_options(self) -> None:
        GroundMetric._refuse_options(self)
        for name in ("virtual", "hidden", "max_epochs"):
            whole(getattr(self, name), name, 1)
        real(self.learning_rate, "learning_rate", above=0)

    def _learn(self, ready: Sequences, classes: NDArray[np.int64]) -> nn.Module:
        virtual = Virtual(ready, classes, self.virtual)
        network = self._empty(ready.frame[0], virtual.n_outputs)
        objective = _Regression(network, ready, virtual, self._aligner(), self.learning_rate)
        objective.owner = type(self).__name__
        history = fit(objective, max_epochs=self.max_epochs, progress=self.progress, random_state=self.random_state)
        refuse_diverged(network.eval(), ready, history)
        return network

    def _empty(self, n_channels: int, n_outputs: int) -> nn.Module:
        return perceptron(n_channels, self.hidden, n_outputs)


class _Regression(Objective):
    """Frames to their virtual ones, which are looked for anew before every epoch."""

    def __init__(self, network: nn.Module, ready: Sequences, virtual: Virtual, aligner: Aligner, rate: float) -> None:
        self.module, self.ready, self.virtual, self.aligner, self.rate = network, ready, virtual, aligner, rate
        self.places = np.repeat(np.arange(len(ready)), ready.lengths)

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.module.parameters(), lr=self.rate, weight_decay=1e-4)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Frames in any order."""
        if epoch:
            mapped = mapped_frames(self.module, self.ready)
            if np.isfinite(mapped).all():  # otherwise the loss of these frames will say that training has diverged
                self.virtual.align(mapped.astype(np.float64), self.aligner)
        targets, frames = self.virtual.targets().astype(np.float32), self.ready.values
        total = self.virtual.weights.sum(axis=1).astype(np.float32)
        for ids in shuffled(len(frames), 256, rng):
            yield Batch(self.places[ids], x=frames[ids], targets=targets[ids], total=total[ids])

    def loss(self, batch: Batch) -> Tensor:
        """Σ_j T_ij ‖f(x_i) − v_j‖², averaged over frames."""
        found = self.module(batch["x"])
        squares = batch["total"] * (1 + found.square().sum(-1)) - 2 * (found * batch["targets"]).sum(-1)
        mean: Tensor = squares.mean()
        return mean
