"""Whether a training has learned anything: what the history and the objective say against it, as a warning."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import torch

from ..core.warnings import find_stack_level
from .batches import Batch
from .history import History
from .loop import evaluation_mode
from .objective import FORWARD_SHARE, MIN_CHECKED_STEPS, Objective
from .trainer import Trainer

_MIN_VALIDATIONS = 4  # validations before the first of them means something
N_COMPARED_BATCHES = 8  # that are compared with shuffled ones
_LONG_PREPARATION_SECONDS = 0.1  # seconds before the first step that are worth a word
_MIN_STANDARD_ERRORS = 2.0  # standard errors by which the loss of true batches must be lower


class NotLearnedWarning(UserWarning):
    """A training that is over and has not learned: the message says by what that is seen and what to change."""


def warn_if_not_learned(history: History, objective: Objective) -> None:
    """Warn where the training was long enough to learn something and has not."""
    if history.n_steps <= 1 and history.stop_reason == "max_time":
        name = objective.owner or type(objective).__name__
        before = (
            f" ({objective.preparation_name} took {objective.preparation_seconds:.3g} s)"
            if objective.preparation_seconds >= _LONG_PREPARATION_SECONDS
            else ""
        )
        words = f"{name} made one step only, as max_time was over by then{before}: give it more time, or max_steps"
        warnings.warn(words, NotLearnedWarning, stacklevel=find_stack_level())
        return
    perfect = history.higher_is_better and history.best_score >= 1
    if history.n_steps < MIN_CHECKED_STEPS or history.stop_reason == "Ctrl-C" or perfect:
        return
    fits = objective.has_time_for_check  # what needs the network again takes time
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
    """About how long `warn_if_not_learned` takes, in steps."""
    compared = type(objective).shuffled_targets is not Objective.shuffled_targets
    return objective.failure_reason_steps() + (2 * N_COMPARED_BATCHES * FORWARD_SHARE if compared else 0.0)


def _check_scores(history: History) -> str | None:
    scores = history.scores
    if len(scores) < _MIN_VALIDATIONS or history.best_step != history.steps("score")[0]:
        return None
    return (
        f"its best score, {history.best_score:.3g}, was the first, after step {history.best_step} of "
        f"{history.n_steps}, and nothing that came later was better; lower trainer.learning_rate, or give it more "
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
    """A loss that is the same with labels or partners exchanged: of a network that has collapsed, for example."""
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
        f"its loss on what it learned from is {true.mean():.3g}, and {shuffled.mean():.3g} with labels or partners "
        "exchanged, which is chance; change trainer.learning_rate (ten times smaller, then larger), or give it more "
        "steps"
    )


def _training_batches(objective: Objective) -> Iterator[Batch]:
    """A few batches as training draws them, from several epochs where one is short."""
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
    """A warning of patience that has nothing to wait for."""
    if (trainer.patience or math.inf) < math.inf and not trainer.validation:
        warnings.warn(
            f"patience={trainer.patience} has nothing to wait for with validation=0: give "
            f"trainer=Trainer(validation=0.1, patience={trainer.patience}), which holds some sequences out to judge "
            "by, or no patience",
            stacklevel=find_stack_level(),
        )
