"""`RVSML`: a linear map of frames, fitted by regression to virtual sequences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...align import DTW, Aligner
from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train import Batch, Callback, Objective, OptimizerStep, Trainer, TrainingRun
from ...train.budget import DefaultBudget
from .base import GroundMetric

Floats = NDArray[np.float64]


class VirtualSequences:
    """One virtual sequence per class, with orthogonal frames, and the alignments of the training sequences to them.

    `weights` (step, virtual frame) is the weight of each step in each frame of its class's virtual sequence.
    """

    def __init__(self, ready: Sequences, classes: NDArray[np.int64], size: int) -> None:
        self.offsets, self.classes, self.size = ready.offsets, classes, size
        self.step_classes = np.repeat(classes, ready.lengths)
        self.n_outputs = size * (int(classes.max()) + 1)
        places = np.concatenate([np.arange(n) * size // n for n in ready.lengths.tolist()])
        self.weights = np.eye(size)[places]  # start with an even alignment

    def class_frames(self, kind: int) -> Floats:
        """The virtual sequence of a class, (virtual frame, output)."""
        return np.eye(self.n_outputs)[kind * self.size : (kind + 1) * self.size]

    def targets(self) -> Floats:
        """Σ_j T_ij v_j for each step, (step, output)."""
        out = np.zeros((len(self.step_classes), self.n_outputs))
        columns = self.step_classes[:, None] * self.size + np.arange(self.size)
        np.put_along_axis(out, columns, self.weights, axis=1)
        return out

    def align(self, mapped: Floats, aligner: Aligner) -> None:
        """Align each mapped sequence with the virtual sequence of its class."""
        weights = np.zeros_like(self.weights)  # the old alignments stay valid until all new ones are computed
        for begin, end, kind in zip(self.offsets[:-1], self.offsets[1:], self.classes.tolist(), strict=True):
            try:
                alignment = aligner.align(mapped[begin:end], self.class_frames(kind))
            except ValueError as error:
                raise ValueError(
                    f"aligner={aligner!r} cannot align a sequence of {end - begin} steps with the virtual one of its "
                    f"class, which has n_virtual_frames={self.size} steps: {error}"
                ) from None
            if alignment.path is None:
                weights[begin:end] = alignment.plan
            else:
                weights[begin:end][tuple(alignment.path.T)] = 1.0
        self.weights = weights

    def error(self, mapped: Floats) -> float:
        """Σ_ij T_ij ‖f(x_i) − v_j‖²."""
        total, own = self.weights.sum(axis=1), self.targets()
        return float(total @ (mapped**2).sum(axis=1) - 2 * (mapped * own).sum() + total.sum())


class RVSML(GroundMetric):
    """A linear map of frames under which sequences regress to a virtual sequence of their class.

    Minimises Σ_n Σ_ij T_ij ‖W x_i − v_j‖² + λ N ‖W‖² in turn over W (a ridge regression) and over the alignments T of
    each sequence with its class's virtual sequence of `n_virtual_frames` orthonormal frames; then sequences are
    compared by the aligner after W (Su and Wu, "Learning distance for sequences by learning a ground metric", ICML
    2019).

    Parameters
    ----------
    aligner : "dtw", "opw" or Aligner
        Aligns sequences, in training and in comparison.
    n_virtual_frames : int
        Frames of a virtual sequence.
    regularization : float or None
        λ; None for the authors' 5e-4 with DTW and 5e-5 otherwise.
    max_steps, max_time : optional
        Stop after this many iterations or seconds, whichever comes first; by default after 20 iterations. Stops earlier
        if an iteration gains nothing.
    trainer : Trainer or None
        How to train. Its own choices: none. Only `max_epochs`, which also counts iterations, `checkpoint`,
        `accelerator`, `devices` and `precision` have an effect, the last three on the loop alone: regressions are
        computed on the CPU in float64.
    standardize, progress, random_state
        As for `SiameseGRU`; the method uses no randomness.

    Attributes
    ----------
    errors_ : array (iteration,)
        The objective after each iteration; it never rises.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.metric.RVSML().fit(np.stack([X, np.roll(X, 1, axis=1)], -1), np.repeat([0, 1], 8))
    >>> metric.transform_frames(np.zeros((1, 20, 2))).frame
    (8,)
    """

    n_virtual_frames = options.width(1)
    regularization = options.nullable(options.real(above=0))

    errors_: Floats = schema.array("iteration", finite=False)

    _default_budget = DefaultBudget(step_range=(20, 20), seconds=None)
    _unused_trainer_fields = (
        *("batch_size", "learning_rate", "optimizer", "betas", "weight_decay", "gradient_clip", "schedule"),
    )

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        n_virtual_frames: int = 4,
        regularization: float | None = None,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return nn.Linear(math.prod(frame), self.n_virtual_frames * len(self.classes_), bias=False)

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        aligner = self._resolve_aligner()
        usual = 5e-4 if isinstance(aligner, DTW) else 5e-5
        ridge = (usual if self.regularization is None else self.regularization) * len(ready)
        return _AlternatingObjective(
            self.network_, ready, VirtualSequences(ready, targets, self.n_virtual_frames), aligner, ridge
        )

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        return super()._fit_options(objective) | {"callbacks": [_StopWhenConverged()]}

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        assert isinstance(objective, _AlternatingObjective)
        objective.copy_to(self.network_)  # in case a restored training takes no further step
        super()._train(objective, sequences, targets)
        objective.copy_to(self.network_)  # the loop may have used another precision
        self.errors_ = self.history_["loss"][self.history_["kept"] == 1]


class _AlternatingObjective(Objective):
    """Alternates alignment and regression; one iteration is a training step without gradients."""

    def __init__(
        self, network: nn.Module, ready: Sequences, virtual: VirtualSequences, aligner: Aligner, ridge: float
    ) -> None:
        self.module, self.virtual, self.aligner, self.ridge = network, virtual, aligner, ridge
        self.frames = ready.values.astype(np.float64)
        self.last = math.inf  # the error of the initial even alignment is not comparable
        self.projection = _solve_regression(self.frames, virtual, ridge)

    def copy_to(self, network: nn.Module) -> None:
        """Copy the map to the weights of the network, (output, channel)."""
        assert isinstance(network, nn.Linear)
        with torch.no_grad():
            network.weight.copy_(torch.from_numpy(self.projection.T))

    def optimizers(self) -> torch.optim.Optimizer:
        """A placeholder: the weights are computed in closed form, without gradients."""
        return torch.optim.SGD(self.module.parameters(), lr=1e-3)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """A single batch with all sequences."""
        yield Batch(np.arange(len(self.virtual.classes)))

    def loss(self, batch: Batch) -> Tensor:
        """Unused: `step` computes the weights directly."""
        raise NotImplementedError

    def step(self, batch: Batch, optimizer_step: OptimizerStep) -> Mapping[str, Tensor | float]:
        """Align to the virtual sequences and solve the regression; keep the map only if the error does not rise.

        The error can rise with aligners that minimise another objective, such as OPW.
        """
        self.virtual.align(self.frames @ self.projection, self.aligner)
        projection = _solve_regression(self.frames, self.virtual, self.ridge)
        error = self.virtual.error(self.frames @ projection) + self.ridge * float((projection**2).sum())
        optimizer_step.step()
        is_better = error <= self.last
        if is_better:
            self.projection, self.last = projection, error
            self.copy_to(self.module)
        return {"loss": self.last, "kept": float(is_better)}

    def state(self) -> dict[str, Any]:
        """The map in double precision, and its error."""
        return {"last": self.last, "projection": torch.from_numpy(self.projection)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the map and its error."""
        projection = state["projection"].numpy().copy()
        schema.check_value(projection, "projection", schema.array(*self.projection.shape))
        self.last, self.projection = float(state["last"]), projection


class _StopWhenConverged(Callback):
    """Stops when an iteration gains nothing, also at the start of a resumed training."""

    def on_train_start(self, run: TrainingRun) -> None:
        """Check a resumed training."""
        self.on_step_end(run)

    def on_step_end(self, run: TrainingRun) -> None:
        """Compare the last two errors."""
        errors = run.history["loss"]
        if len(errors) > 1 and errors[-2] - errors[-1] <= 1e-6 * errors[-1]:
            run.stop("nothing more to gain")


def _solve_regression(frames: Floats, virtual: VirtualSequences, ridge: float) -> Floats:
    """The optimal W for the current alignments, (channel, output)."""
    weighted = frames * virtual.weights.sum(axis=1, keepdims=True)
    matrix = frames.T @ weighted + ridge * np.eye(frames.shape[1])
    return np.linalg.solve(matrix, frames.T @ virtual.targets())
