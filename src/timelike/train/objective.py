"""Objective: module, optimisers, batches and loss; the contract between a method and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn
from torch.optim import Optimizer

from .batches import Batch

if TYPE_CHECKING:
    from .optimizer_step import OptimizerStep

Number = Tensor | float

FORWARD_SHARE = 0.4  # of a step is about what a forward pass takes
MIN_CHECKED_STEPS = 50  # steps before a training is judged at all


class Objective(ABC):
    """A module, its optimisers, its batches and its loss; `fit` does the rest.

    A method fills in `optimizers`, `batches` and `loss`. One that judges itself gives `validate`; one that runs several
    optimisers or an inner loop replaces `step`.

    >>> import torch
    >>> from timelike.train import Batch, Objective, fit, shuffled_batches
    >>> class Line(Objective):
    ...     def __init__(self, x, y):
    ...         self.module, self.x, self.y = torch.nn.Linear(1, 1), x, y
    ...
    ...     def optimizers(self):
    ...         return torch.optim.Adam(self.module.parameters(), lr=0.1)
    ...
    ...     def batches(self, epoch, rng):
    ...         for ids in shuffled_batches(len(self.x), 8, rng):
    ...             yield Batch(ids, x=self.x[ids], y=self.y[ids])
    ...
    ...     def loss(self, batch):
    ...         return torch.nn.functional.mse_loss(self.module(batch["x"]), batch["y"])
    >>> x = torch.linspace(-1, 1, 32)[:, None]
    >>> line = Line(x, 3 * x + 1)
    >>> history = fit(line, max_epochs=100, random_state=0)
    >>> [round(p.item(), 2) for p in line.module.parameters()]
    [3.0, 1.0]
    """

    module: nn.Module
    """All that is learned, and all that a checkpoint keeps. Several networks are one `nn.ModuleDict`."""

    higher_is_better: bool = True
    """Whether a greater score of `validate` is a better one."""

    item: str = "sequence"
    """What the ids of a batch are the positions of, in one word for messages."""

    owner: str | None = None
    """The estimator that learns by it: a progress bar has its name, and messages leave out what only `fit` takes."""

    divergence_hint: str = ""
    """An option of the owner that may well be why a training diverges, in words that end in "else " or in nothing."""

    checkpoint_settings: Mapping[str, str | int] = MappingProxyType({})
    """What else a checkpoint must have in common with this training: the options of the owner, in words."""

    steps_per_epoch: int | None = None
    """Where to cut an epoch. A source without an end needs it to have epochs, and to continue quickly after a pause."""

    closing_steps: float = 0.0
    """How long the work after the last step takes, in steps: a budget of time keeps so much for it."""

    learning_check_steps: float = 0.0
    """How long the judgement of a training of `MIN_CHECKED_STEPS` steps takes after the last one, in steps."""

    learning_check_validations: int = 0
    """How many times as long as `validate` it takes beside that."""

    has_time_for_check: bool = True
    """Whether there was time for that judgement when the loop ended; set by the loop."""

    data_issue: str | None = None
    """What `find_data_issue` returned before the first step."""

    preparation_name: str = "what comes before the first step"
    """What the owner does before the training, in words, and how many seconds it took."""

    preparation_seconds: float = 0.0

    deadline: float | None = None
    """When a budget of time ends, on `timelike.train.clock`; set by the loop, for work that can be cut short."""

    @abstractmethod
    def optimizers(self) -> Optimizer | Mapping[str, Optimizer]:
        """One optimiser, or several by name, over the parameters of `module`; called once, on the device."""

    @abstractmethod
    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """The batches of one epoch, with an end or without.

        They may depend on nothing but the data, `epoch` and what is drawn from `rng`: a run that continues in the
        middle of an epoch goes through the batches it has seen, without training on them. Batches that depend on the
        weights (mined once per epoch) are repeatable if checkpoints fall between epochs.
        """

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor | Mapping[str, Number]:
        """The mean loss over a batch; or several numbers for the history, of which `loss` is the one to descend.

        The tensors are on the device of the module, and in its precision.
        """

    def step(self, batch: Batch, optimizer_step: OptimizerStep) -> Mapping[str, Number]:
        """One step of training, and the numbers for the history; `loss` must be among them.

        A method with several optimisers descends with each, as often as it likes::

            def step(self, batch, optimizer_step):
                for _ in range(5):
                    critic = self.critic_loss(batch)
                    optimizer_step(critic, "critic")
                generator = self.generator_loss(batch)
                optimizer_step(generator, "generator")
                return {"loss": generator, "critic": critic}

        One that wants little memory calls `optimizer_step.backward(term)` for every term, then `optimizer_step.step()`.

        Until its first update a step may be given up after Ctrl-C, as may a batch that is being drawn: what `state`
        gives is not to change before.
        """
        losses = self.loss(batch)
        numbers = losses if isinstance(losses, Mapping) else {"loss": losses}
        optimizer_step(numbers.get("loss"))
        return numbers

    @property
    def has_validation(self) -> bool:
        """Whether there is a score: by default, whether `validate` is overridden."""
        return type(self).validate is not Objective.validate

    def validate(self) -> float:
        """A score of the module as it is; called without gradients and with the module in evaluation mode.

        `batch.match_module(self.module)` brings a batch to the module's device and precision.
        """
        raise NotImplementedError

    def validation_steps(self) -> float:
        """About how long `validate` takes, in steps: a budget of time goes by it until a validation has been timed."""
        return 0.0

    def n_batches(self) -> float | None:
        """About how many batches an epoch has; None where that is not known."""
        return None

    def find_data_issue(self) -> str | None:
        """What is wrong with the data; the warning "has learned little or nothing" ends with it.

        A model calls it before the first step of a training that is long enough to be judged, so that `max_time`
        counts it.
        """
        return None

    def failure_reason(self) -> str | None:
        """What is wrong with the trained module; the warning "has learned little or nothing" ends with it."""
        return None

    def failure_reason_steps(self) -> float:
        """About how long `failure_reason` takes, in steps."""
        return 0.0

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The batch with labels or partners exchanged, which leaves nothing in it to learn; None where it cannot be.

        A network whose loss is no lower on true batches than on these has not learned what they were to teach.
        """
        return None

    def process_share(self, batch: Batch, rank: int, world: int) -> Batch:
        """What one of several processes computes of a batch: every `world`-th sequence.

        Gradients are averaged with the number of sequences as weights, so for a loss that is a mean over sequences the
        number of processes does not matter. A loss over pairs sees only the pairs within each part; replace this
        method to share pairs otherwise.
        """
        return batch.take(np.arange(rank, len(batch), world))

    def identity(self) -> dict[str, str | int]:
        """What a checkpoint must have in common with this training to be continued by it.

        Such as the data (`fingerprint` makes a word of arrays) and what decides about batches; not what may change in
        a pause, as a learning rate may. A checkpoint that says otherwise is refused, with the name that differs.
        """
        return {}

    def state(self) -> dict[str, Any]:
        """What else a checkpoint must keep for `restore`: numbers, strings, tensors, and lists or dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Take up what `state` gave when the checkpoint was written."""
