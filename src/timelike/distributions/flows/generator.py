"""A generator network trained by the same discriminators that move particles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.parameters import check_float, check_int
from ...core.random import RandomState, check_random_state, sample_seed
from ...sequences import Sequences
from ...train import Batch, Callback, Objective, Schedule, fit
from ...train.exceptions import DivergenceError, NotFiniteError
from ...train.loop import TrainingRun, evaluation_mode
from ..discriminators.base import as_discriminator
from ..validation import validate_sample
from .base import (
    FlowRecord,
    FlowSamples,
    Score,
    discriminator_kernel,
    resolve_discriminator,
    resolve_scores,
    takes_validated,
    validate_flow_samples,
)

_MAX_FOLLOWED = 500  # items that are recorded through the training
_N_RECORDS = 20
_BLOCK_ITEMS = 1024  # items generated at a time


def train_generator(
    module: nn.Module,
    real: Any,
    discriminator: Any,
    *,
    n_latent: int,
    steps: int,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    schedule: Schedule | None = None,
    record_every: int | None = None,
    scores: Sequence[str] | Mapping[str, Any] | None = None,
    progress: bool | None = None,
    random_state: RandomState = None,
) -> Generator:
    """Train a network to generate items like those of a sample, with discriminators that are solved, not trained.

    At every step z is sampled from a normal distribution, f is the discriminator of g(z) and a batch of `real`, and
    Adam (Kingma and Ba, 2015) descends

        mean of c_f(g(z_i)),   f held fixed                                                                 (eq. 6.3)

    which moves g(z) as `descend` moves particles, in the geometry of the network's own tangent kernel. There is nothing
    to balance: an infinitely wide discriminator is optimal for its training time at every step. A step costs a kernel
    matrix between batches, which suits points, short series and small images; for larger items a finite discriminator
    is cheaper.

    Parameters
    ----------
    module : torch module
        g, from (item, latent) to (item, feature), or (item, time, channel). It is trained in place, as usual in torch.
    real : array, torch tensor or Sequences
        At least two items; series of one length.
    discriminator : discriminator or Kernel
        As in `descend`. Open options of its kernel are resolved once, by `real` and the first items of `module`.
    n_latent : int
        Numbers of a code z.
    steps, batch_size, learning_rate
        Number of steps, items of a batch, and learning rate. A batch larger than `real` uses all of it.
    schedule : Schedule, optional
        Schedule of the learning rate, such as `timelike.train.LinearDecay()`.
    record_every, scores, progress
        As in `descend`, with about 20 records by default. Scores use 500 items, or as many as `real` has.
    random_state
        Seed of codes and batches; the initial weights are the module's.

    Returns
    -------
    Generator
        `sample(n)` generates; `history`, `plot()`, `animate(path)`. Ctrl-C, pressed once, returns the generator so far.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from timelike.distributions import RBF, train_generator
    >>> from timelike.train import use_seed
    >>> real = np.random.default_rng(0).normal([3.0, -1.0], 0.5, (200, 2))
    >>> with use_seed(0):
    ...     network = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    >>> options = {"n_latent": 4, "steps": 200, "batch_size": 64, "learning_rate": 0.01, "scores": ("mmd",)}
    >>> options["random_state"] = 0
    >>> generator = train_generator(network, real, RBF(width=2.0), **options)
    >>> generator.sample(100, random_state=1).mean(axis=0).round()
    array([ 3., -1.])
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module is a {type(module).__name__}: expected a torch.nn.Module")
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ValueError(f"module {type(module).__name__} has no parameters to train: expected some with requires_grad")
    rng = check_random_state(random_state)
    steps, size = check_int(steps, "steps", 1), check_int(batch_size, "batch_size", 2)
    discriminator = as_discriminator(discriminator)
    generator = _CodeGenerator(module, check_int(n_latent, "n_latent", 1))
    samples, codes = _initial_samples(generator, real, discriminator, sample_seed(rng))
    discriminator, kernel = resolve_discriminator(discriminator, samples)
    interval = -(-steps // _N_RECORDS) if record_every is None else check_int(record_every, "record_every", 1)
    recorder = _FrameRecorder(generator, codes, samples, resolve_scores(scores, samples, kernel), interval)
    rate = check_float(learning_rate, "learning_rate", above=0.0)
    objective = _GeneratorObjective(generator, samples, discriminator, size, rate)
    history = fit(
        objective, max_steps=steps, schedule=schedule, callbacks=[recorder], progress=progress, random_state=rng
    )
    return Generator(
        history=history,
        frames=np.stack(recorder.frames),
        frame_steps=np.array(recorder.steps, np.int64),
        real=samples.to_plot_shape(samples.real),
        score_names=tuple(recorder.scores),
        module=module,
        discriminator=discriminator,
        _code_generator=generator,
        _real_sample=real,
    )


@dataclass(frozen=True)
class _CodeGenerator:
    """A network and the length of its codes."""

    module: nn.Module
    n_latent: int

    def sample_codes(self, n: int, rng: np.random.Generator) -> Tensor:
        return torch.from_numpy(rng.standard_normal((n, self.n_latent)))

    def generate(self, codes: Tensor) -> NDArray[np.float64]:
        """The items that the network generates from codes, in evaluation mode and in double precision."""
        like = next(self.module.parameters(), codes)
        with torch.no_grad(), evaluation_mode(self.module):
            blocks = [self.module(some.to(like.device, like.dtype)) for some in torch.split(codes, _BLOCK_ITEMS)]
        validate_generated(blocks[0], len(codes[:_BLOCK_ITEMS]))
        return np.asarray(torch.cat(blocks).double().cpu().numpy())


def validate_generated(outputs: Any, n: int) -> None:
    """Raise an error unless a network's outputs are n items."""
    shape = tuple(outputs.shape) if isinstance(outputs, Tensor) else None
    if shape is None or len(shape) < 2 or shape[0] != n:
        what = f"a tensor {shape}" if shape is not None else f"a {type(outputs).__name__}"
        raise ValueError(f"module gave {what} for {n} codes: expected ({n}, feature), or ({n}, time, channel)")


def _initial_samples(generator: _CodeGenerator, real: Any, discriminator: Any, seed: int) -> tuple[FlowSamples, Tensor]:
    """The flow samples of `real` and the first generated items, and the codes of these, which are recorded."""
    real = list(real) if hasattr(real, "__next__") else real
    codes = generator.sample_codes(
        min(_MAX_FOLLOWED, max(2, len(validate_sample(real, "real")))), np.random.default_rng(seed)
    )
    try:
        start = generator.generate(codes)
    except RuntimeError as error:
        raise ValueError(f"module cannot take codes of n_latent={generator.n_latent} numbers: {error}") from error
    if not np.isfinite(start).all():
        raise ValueError("module gave nan or infinity before any training: expected finite numbers")
    start_input = Sequences(start) if isinstance(real, Sequences) and start.ndim > 2 else start
    samples = validate_flow_samples(start_input, real, discriminator_kernel(discriminator), "the output of module")
    if samples.start.shape[1:] != samples.real.shape[1:] and samples.is_vectors:
        raise ValueError(
            f"module gives items of {samples.start.shape[1]} numbers and real has {samples.real.shape[1]}: expected as "
            "many"
        )
    return samples, codes


class _GeneratorObjective(Objective):
    """The mean cost of the generator, with a discriminator solved for every batch."""

    item, owner = "real item", "train_generator"
    divergence_hint = "a shorter training time of the discriminator, or else "

    def __init__(
        self, generator: _CodeGenerator, samples: FlowSamples, discriminator: Any, size: int, rate: float
    ) -> None:
        self.module, self.code_generator, self.discriminator, self.rate = (
            generator.module,
            generator,
            discriminator,
            rate,
        )
        self.samples, self.kernel = samples, discriminator_kernel(discriminator)
        self.size = size
        self.steps_per_epoch = max(1, len(samples.real) // size)

    def optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.module.parameters(), lr=self.rate)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        while True:
            n_real = len(self.samples.real)
            ids = rng.choice(n_real, min(self.size, n_real), replace=False)
            yield Batch(ids, codes=self.code_generator.sample_codes(self.size, rng))

    def loss(self, batch: Batch) -> Tensor:
        outputs = self.module(batch["codes"])
        if not bool(outputs.isfinite().all()):
            raise NotFiniteError("what the module generates is not finite")
        real = self.samples.real[batch.ids]
        fake = outputs.detach().double().cpu().reshape(self.size, *real.shape[1:]).numpy()
        outputs = outputs.reshape(fake.shape)
        if takes_validated(self.discriminator):
            problem = self.samples.make_problem(fake, real, self.kernel)
            costs = self.discriminator._train_validated(problem)._validated_cost(outputs, self.samples.to_sample(fake))
        else:
            costs = self.discriminator.train_critic(torch.from_numpy(fake), torch.from_numpy(real)).cost(outputs)
        cost: Tensor = costs.mean()
        return cost


class _FrameRecorder(Callback):
    """Records the items generated from the same codes, and their scores, every few steps."""

    def __init__(
        self, generator: _CodeGenerator, codes: Tensor, samples: FlowSamples, scores: dict[str, Score], every: int
    ) -> None:
        self.code_generator, self.codes, self.samples, self.scores, self.record_every = (
            generator,
            codes,
            samples,
            scores,
            every,
        )
        self.frames: list[NDArray[np.float32]] = []
        self.steps: list[int] = []

    def on_train_start(self, run: TrainingRun) -> None:
        self._record_frame(run)

    def on_step_end(self, run: TrainingRun) -> None:
        if run.step % self.record_every == 0:
            self._record_frame(run)

    def on_train_end(self, run: TrainingRun) -> None:
        if run.stop_reason is not None and self.steps[-1] != run.step:  # otherwise an error is being raised
            self._record_frame(run)

    def _record_frame(self, run: TrainingRun) -> None:
        items = self.code_generator.generate(self.codes)
        if not np.isfinite(items).all():
            raise DivergenceError(
                f"what the module generates after step {run.step} is not finite: lower the learning rate", run.step, []
            )
        items = items.reshape(self.samples.start.shape)
        run.history.record_all(run.step, {name: score(items) for name, score in self.scores.items()})
        self.frames.append(self.samples.to_plot_shape(items).astype(np.float32))
        self.steps.append(run.step)


@dataclass(frozen=True, eq=False, repr=False)
class Generator(FlowRecord):
    """A trained generator: `sample(n)` generates items like those of the training sample.

    `history` has the loss of every step and the scores; `frames` are the items of the same codes during training.
    """

    module: nn.Module
    discriminator: Any
    """With its open options resolved."""
    _code_generator: _CodeGenerator
    _real_sample: Any

    @property
    def n_latent(self) -> int:
        """Numbers of a code."""
        return self._code_generator.n_latent

    def sample(self, n: int, *, random_state: RandomState = None) -> Any:
        """Generate n new items: `Sequences` if it was trained on them, otherwise an array."""
        items = self._code_generator.generate(
            self._code_generator.sample_codes(check_int(n, "n", 1), check_random_state(random_state))
        )
        if not isinstance(self._real_sample, Sequences):
            return items
        return Sequences(items.reshape(len(items), -1, *self._real_sample.frame))  # a module may give plain vectors

    def __repr__(self) -> str:
        parts = [
            f"{type(self.module).__name__} of {self.n_latent} numbers",
            f"{self.discriminator!r:.80}",
            *self._summary_parts(),
        ]
        return f"Generator({', '.join(parts)})"
