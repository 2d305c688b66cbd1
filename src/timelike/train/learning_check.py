"""The learning check: a warning if the history or the objective shows that a training has not learned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import torch

from ..core.warnings import find_stack_level
from .batches import Batch
from .exceptions import NotLearnedWarning
from .history import History
from .loop import evaluation_mode
from .objective import FORWARD_SHARE, MIN_CHECKED_STEPS, Objective
from .trainer import Trainer

_MIN_VALIDATIONS = 4  # fewer say nothing about the first score
N_COMPARED_BATCHES = 8  # batches compared with shuffled ones
_LONG_PREPARATION_SECONDS = 0.1  # a longer preparation is mentioned in the warning
_MIN_STANDARD_ERRORS = 2.0  # by which the loss of true batches must be lower


def warn_if_not_learned(history: History, objective: Objective) -> None:
    """Warn if the training was long enough to learn something and has not."""
    if history.n_steps <= 1 and history.stop_reason == "max_time":
        name = objective.owner or type(objective).__name__
        before = (
            f" ({objective.preparation_name} took {objective.preparation_seconds:.3g} s)"
            if objective.preparation_seconds >= _LONG_PREPARATION_SECONDS
            else ""
        )
        words = f"{name} made only one step, because max_time was over by then{before}: give it more time, or max_steps"
        warnings.warn(words, NotLearnedWarning, stacklevel=find_stack_level())
        return
    perfect = history.higher_is_better and history.best_score >= 1
    if history.n_steps < MIN_CHECKED_STEPS or history.stop_reason == "Ctrl-C" or perfect:
        return
    fits = objective.has_time_for_check  # checks that run the network take time
    reason = (
        (objective.failure_reason() if fits else None)
        or objective.data_issue
        or _check_scores(history)
        or _check_losses(history)
    )
    if reason is None and fits:
        reason = _check_shuffled_loss(objective)
    if reason is not None:
        name = objective.owner or type(objective).__name__
        warnings.warn(
            f"{name} has learned little or nothing: {reason}", NotLearnedWarning, stacklevel=find_stack_level()
        )


def learning_check_steps(objective: Objective) -> float:
    """The approximate duration of `warn_if_not_learned`, in steps."""
    compared = type(objective).shuffled_targets is not Objective.shuffled_targets
    return objective.failure_reason_steps() + (2 * N_COMPARED_BATCHES * FORWARD_SHARE if compared else 0.0)


def _check_scores(history: History) -> str | None:
    scores = history.scores
    if len(scores) < _MIN_VALIDATIONS or history.best_step != history.steps("score")[0]:
        return None
    return (
        f"its best score, {history.best_score:.3g}, was the first, after step {history.best_step} of "
        f"{history.n_steps}, and no later score was better; lower trainer.learning_rate, or give it more "
        "sequences"
    )


def _check_losses(history: History) -> str | None:
    losses = history.losses
    tenth = max(1, len(losses) // 10)
    first, last = float(losses[:tenth].mean()), float(losses[-tenth:].mean())
    if last < first or last == 0:
        return None
    return (
        f"its loss began at {first:.3g} and ended at {last:.3g}, no lower, after {history.n_steps} steps; change "
        "trainer.learning_rate (ten times smaller, then larger), give it more steps, or check whether the classes can "
        "be distinguished"
    )


@torch.no_grad()
def _check_shuffled_loss(objective: Objective) -> str | None:
    """Detect a loss that is no lower than with shuffled labels or partners, as after a collapse of the network."""
    losses: list[tuple[float, float]] = []
    with evaluation_mode(objective.module):
        for batch in _training_batches(objective):
            other = objective.shuffled_targets(batch)
            if other is None:
                return None
            losses.append((_batch_loss(objective, batch), _batch_loss(objective, other)))
    if len(losses) < 2:
        return None
    true, shuffled = np.transpose(losses)
    gain = shuffled - true
    if gain.mean() > _MIN_STANDARD_ERRORS * gain.std(ddof=1) / np.sqrt(len(gain)):
        return None
    return (
        f"its loss on the training data is {true.mean():.3g}, and {shuffled.mean():.3g} with labels or partners "
        "shuffled, which is chance; change trainer.learning_rate (ten times smaller, then larger), or give it more "
        "steps"
    )


def _training_batches(objective: Objective) -> Iterator[Batch]:
    """A few training batches, from several epochs if one is too short."""
    rng, count = np.random.default_rng(0), 0
    for epoch in range(N_COMPARED_BATCHES):
        for batch in objective.batches(epoch, rng):
            yield batch
            count += 1
            if count == N_COMPARED_BATCHES:
                return


def _batch_loss(objective: Objective, batch: Batch) -> float:
    loss = objective.loss(batch.match_module(objective.module))
    return float(loss if isinstance(loss, torch.Tensor) else loss["loss"])


def warn_of_unused_patience(trainer: Trainer) -> None:
    """Warn if patience is set without validation."""
    if (trainer.patience or math.inf) < math.inf and not trainer.validation:
        warnings.warn(
            f"patience={trainer.patience} has nothing to wait for with validation=0: give "
            f"trainer=Trainer(validation=0.1, patience={trainer.patience}), which holds out some sequences, or "
            "no patience",
            stacklevel=find_stack_level(),
        )
