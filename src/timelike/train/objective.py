"""`Objective`: module, optimisers, batches and loss, the interface between a method and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from .batches import Batch
    from .optimizer_step import OptimizerStep


FORWARD_SHARE = 0.4  # approximate fraction of a step that the forward pass takes
MIN_CHECKED_STEPS = 50  # shorter trainings are not checked for learning


class Objective(ABC):
    """A module, its optimisers, its batches and its loss, as `fit` needs them.

    A subclass defines `optimizers`, `batches` and `loss`; `validate` adds a score, and `step` can be overridden for
    several optimisers or an inner loop.

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
    """All trained parameters and buffers, which checkpoints store; several networks form one `nn.ModuleDict`."""

    higher_is_better: bool = True
    """Whether a higher score of `validate` is better."""

    item: str = "sequence"
    """The word for the items that the ids of a batch refer to, for messages."""

    owner: str | None = None
    """The name of the estimator, for progress bars; messages then omit arguments that only `fit` has."""

    divergence_hint: str = ""
    """A remedy to suggest first if training diverges: empty, or a text that ends in "else "."""

    checkpoint_settings: Mapping[str, str | int] = MappingProxyType({})
    """The owner's options, as text, that a checkpoint must share with this training."""

    steps_per_epoch: int | None = None
    """The maximum number of steps in an epoch; an endless source needs it to have epochs and to resume quickly."""

    closing_steps: float = 0.0
    """The duration of the work after the last step, in steps, for which a time budget reserves time."""

    learning_check_steps: float = 0.0
    """The duration of the learning check, in steps; it runs after at least `MIN_CHECKED_STEPS` steps."""

    learning_check_validations: int = 0
    """The number of calls of `validate` that the learning check makes in addition."""

    has_time_for_check: bool = True
    """Whether there was time for the learning check when the loop ended; set by the loop."""

    data_issue: str | None = None
    """The result of `find_data_issue`, called before the first step."""

    preparation_name: str = "the preparation"
    """What the owner does before the training, for messages."""

    preparation_seconds: float = 0.0
    """The duration of this preparation; set by the loop."""

    deadline: float | None = None
    """The end of the time budget on `timelike.train.clock`; set by the loop, for work that can be cut short."""

    @abstractmethod
    def optimizers(self) -> Optimizer | Mapping[str, Optimizer]:
        """One optimiser, or several by name, over the parameters of `module`; called once, when it is on its device."""

    @abstractmethod
    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """The batches of one epoch; the iterable may be endless.

        They may depend only on the data, `epoch` and draws from `rng`: a run that resumes in the middle of an epoch
        skips the batches it has already trained on. Batches that depend on the weights (mined once per epoch) are
        reproducible if checkpoints fall between epochs.
        """

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor | Mapping[str, Tensor | float]:
        """The mean loss over a batch, or several numbers for the history, of which `loss` is minimized.

        The tensors are on the device of the module, and in its precision.
        """

    def step(self, batch: Batch, optimizer_step: OptimizerStep) -> Mapping[str, Tensor | float]:
        """Make one training step and return the numbers for the history, including `loss`.

        A method with several optimisers can update each any number of times::

            def step(self, batch, optimizer_step):
                for _ in range(5):
                    critic = self.critic_loss(batch)
                    optimizer_step(critic, "critic")
                generator = self.generator_loss(batch)
                optimizer_step(generator, "generator")
                return {"loss": generator, "critic": critic}

        To save memory, call `optimizer_step.backward(term)` for every term, then `optimizer_step.step()`.

        Ctrl-C may abort the drawing of a batch, and a step before its first update: the result of `state` must not
        change before that.
        """
        losses = self.loss(batch)
        numbers = losses if isinstance(losses, Mapping) else {"loss": losses}
        optimizer_step(numbers.get("loss"))
        return numbers

    @property
    def has_validation(self) -> bool:
        """Whether there is a validation score; by default, whether `validate` is overridden."""
        return type(self).validate is not Objective.validate

    def validate(self) -> float:
        """A score of the current module; called without gradients and with the module in evaluation mode.

        `batch.match_module(self.module)` moves a batch to the module's device and precision.
        """
        raise NotImplementedError

    def validation_steps(self) -> float:
        """The approximate duration of `validate`, in steps, used until a validation has been timed."""
        return 0.0

    def n_batches(self) -> float | None:
        """The approximate number of batches in an epoch; None if unknown."""
        return None

    def find_data_issue(self) -> str | None:
        """A problem of the data, or None; the warning "has learned little or nothing" ends with it.

        Called before the first step if the training is long enough for the learning check, so that `max_time` includes
        it.
        """
        return None

    def failure_reason(self) -> str | None:
        """A problem of the trained module, or None; the warning "has learned little or nothing" ends with it."""
        return None

    def failure_reason_steps(self) -> float:
        """The approximate duration of `failure_reason`, in steps."""
        return 0.0

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The batch with labels or partners shuffled, so that it holds nothing to learn; None if that is impossible.

        A network whose loss on true batches is no lower than on these has not learned.
        """
        return None

    def process_share(self, batch: Batch, rank: int, world: int) -> Batch:
        """The part of a batch for one of several processes: every `world`-th sequence.

        Gradients are averaged with the number of sequences as weights, so a loss that is a mean over sequences does not
        depend on the number of processes. A loss over pairs sees only the pairs within each part; override this
        method to split pairs differently.
        """
        return batch.take(np.arange(rank, len(batch), world))

    def identity(self) -> dict[str, str | int]:
        """The settings that a checkpoint must share with this training to be resumed.

        For example the data (as a `fingerprint` of arrays) and the batch size, but nothing that may change in a pause,
        such as the learning rate. A checkpoint with other settings raises an error that names the difference.
        """
        return {}

    def state(self) -> dict[str, Any]:
        """Further state for checkpoints and `restore`: numbers, strings, tensors, and lists or dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Restore the result of `state` from a checkpoint."""
