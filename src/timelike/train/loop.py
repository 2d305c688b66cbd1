"""`fit`, the training loop of the library: `TrainingLoop` advances the state of a `TrainingRun`."""

from __future__ import annotations

import statistics
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..core.interrupts import InterruptHandler, StepAborted, handle_interrupts
from ..core.parameters import check_float, check_folder as folder_path, check_int
from ..core.progress import check_progress
from ..core.random import sample_seed
from ..models.fingerprints import Fingerprint
from ..sequences.sampling import RandomState
from . import clock, seeds
from .batches import Batch
from .budget import Budget
from .callbacks import Callback, DurationNotice, ProgressBar
from .checkpoints import Checkpoints
from .history import LOOP_TRACKS, History
from .objective import MIN_CHECKED_STEPS, Number, Objective
from .optimizer_step import (
    DivergenceError,
    NotFiniteError,
    OptimizerStep,
    divergence_error,
    format_ids,
    named_optimizers,
    optimizer_options,
)
from .processes import Processes, Strategy
from .schedules import Schedule
from .trainer import Accelerator, Precision

_MAX_RESERVED_SHARE = 0.5  # share of a budget of time that is kept at most for what comes after the last step
_MIN_TIMED_STEPS, _N_RECENT_STEPS = (
    2,
    50,
)  # steps from which on it is known how long one takes, and of which that is the median
_LATE = 0.05  # share of a budget by which work after the last step may exceed it
_PACE_SHARE = 0.1  # share of the time after which it is known how many steps fit into it


def fit(
    objective: Objective,
    *,
    max_steps: int | None = None,
    max_epochs: int | None = None,
    max_time: float | timedelta | None = None,
    accelerator: Accelerator = "cpu",
    devices: int = 1,
    strategy: Strategy = "auto",
    precision: Precision = "32-true",
    gradient_clip: float | None = None,
    schedule: Schedule | Mapping[str, Schedule] | None = None,
    validate_every: int | None = None,
    patience: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int | timedelta = timedelta(minutes=1),
    resume: Literal["auto"] | bool = "auto",
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    random_state: RandomState = None,
) -> History:
    """Train the module of an objective until the first of the limits is reached.

    Parameters
    ----------
    max_steps, max_epochs, max_time : optional
        When to stop: after so many steps, epochs, or seconds (a number or a `timedelta`). Together with `patience`, at
        least one is needed. A run that continues counts the time before its pause. Within the `fit` of a model the
        time is that of all of it: what comes before the first step counts, and as much is kept for what comes after
        the last one as `Objective.closing_steps` says. One step is always made. A validation for which there is no
        time is left out.
    accelerator, devices, strategy, precision
        Where to compute. `strategy="ddp"` with several devices starts as many processes, also with
        `accelerator="cpu"`: each runs the calling program, takes its part of every batch, and ends with the same
        weights.
    gradient_clip : float, optional
        Norm to which longer gradients are shortened.
    schedule : Schedule, optional
        What becomes of the learning rate: `Constant`, `Plateau`, `Cosine`, `OneCycle`, `LinearDecay`, `StepDecay`,
        `Milestones`; for several optimisers, one for all or a dict with one for each.
    validate_every : int, optional
        Steps between two validations; once per epoch unless given.
    patience : int, optional
        Stop after so many validations without a better score. The module ends with the weights of the best one.
    checkpoint : path, optional
        A folder for checkpoints: the last two are kept. A training that is at its end there is returned as it is, also
        if the learning rate is another now or `max_epochs` smaller.
    checkpoint_every : int or timedelta
        Steps or time between two of them. One is written at the end, too, and after Ctrl-C.
    resume : "auto" or bool
        Continue from the checkpoint in the folder: if there is one, always (an error without one), or never (those
        that are there are removed).
    progress : bool or None
        True draws a bar. None says once, on the standard error, how long it will take if that is more than ten seconds,
        and draws the bar on a terminal, where it takes over two.
    random_state
        Repeats the whole run; without it each is different, but a continued run keeps the seed it began with.
        torch's, numpy's and Python's global generators are left as they were.

    Raises
    ------
    DivergenceError
        A loss or gradient is not finite: the message names the step and the sequences.
    """
    limits = Budget.from_options(objective, max_steps, max_epochs, max_time, validate_every, patience)
    schedules = _check_schedules(schedule, max_steps if max_time is None else max_steps or sys.maxsize)
    checkpoints = _check_checkpoints(checkpoint, checkpoint_every, resume)
    clip = None if gradient_clip is None else check_float(gradient_clip, "gradient_clip", above=0)
    check_progress(progress)
    seed = sample_seed(random_state)
    processes = Processes.start(accelerator, devices, strategy, precision)
    shown: list[Callback] = []
    if processes.is_first and progress is not False:
        shown = [ProgressBar(max_steps, max_epochs, progress, limits.max_seconds)]
        if progress is None:
            shown.insert(0, DurationNotice(limits))  # before the bar
    with seeds.preserve_generators(), handle_interrupts() as ctrl_c:
        run = TrainingRun(objective, processes, processes.broadcast(seed))
        if checkpoints is not None:
            checkpoints.restore(run, random_state is not None)
        limits.warn_if_exceeded(run)
        loop = TrainingLoop(run, limits, schedules, checkpoints, clip, [*callbacks, *shown], ctrl_c)
        loop.train()
    return run.history


def _check_schedules(schedule: Any, horizon: int | None) -> Mapping[str, Schedule] | Schedule | None:
    if schedule is None:
        return None
    for one in schedule.values() if isinstance(schedule, Mapping) else [schedule]:
        if not isinstance(one, Schedule):
            raise TypeError(
                f"schedule is a {type(one).__name__}: expected a Schedule such as Cosine(), or a dict of them"
            )
        one.check(horizon)
    schedules: Mapping[str, Schedule] | Schedule = schedule
    return schedules


def _check_checkpoints(folder: str | Path | None, every: int | timedelta, resume: Any) -> Checkpoints | None:
    if resume not in ("auto", True, False):
        raise ValueError(f"resume={resume!r}: expected 'auto', True or False")
    if folder is None and resume is True:
        raise ValueError("resume=True needs a checkpoint: give the folder it is in")
    if isinstance(every, timedelta):
        steps, seconds = None, check_float(every.total_seconds(), "checkpoint_every (in seconds)", above=0)
    else:
        steps, seconds = check_int(every, "checkpoint_every", 1), None
    return None if folder is None else Checkpoints(folder_path(folder, "checkpoint"), steps, seconds, resume)


class TrainingRun:
    """State of a training run: objective, optimisers, completed `step` and `epoch`, and history."""

    def __init__(self, objective: Objective, processes: Processes, seed: int) -> None:
        self.objective, self.processes, self.seed = objective, processes, seed
        self.module: nn.Module = objective.module
        processes.place(self.module)
        self.optimizers = named_optimizers(objective)
        self.rates = {name: [g["lr"] for g in one.param_groups] for name, one in self.optimizers.items()}
        self.options = {name: optimizer_options(one) for name, one in self.optimizers.items()}
        self.history = History(higher_is_better=objective.higher_is_better)
        self.step = 0
        self.epoch = 0
        self.position = 0  # batches of this epoch that are done
        self.best: dict[str, Tensor] | None = None
        self.stop_reason: str | None = None
        self._identity: dict[str, str | int] | None = None

    def identity(self) -> dict[str, str | int]:
        """Asked for once, and only where there is a checkpoint: a fingerprint reads all of the data."""
        if self._identity is None:
            identity = dict(self.objective.identity())
            # the objective knows best what it learns from; a fingerprint of its owner's is of data before standardizing
            settings = self.objective.checkpoint_settings.items()
            identity |= {
                name: value for name, value in settings if name not in identity or isinstance(value, Fingerprint)
            }
            self._identity = identity
        return self._identity

    def stop(self, reason: str) -> None:
        """End the training after this step; the first reason counts."""
        self.stop_reason = self.stop_reason or reason

    def keep_as_best(self) -> None:
        """Remember the weights as they are."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}


class TrainingLoop:
    """Advances a `TrainingRun` until its budget is spent."""

    def __init__(
        self,
        run: TrainingRun,
        budget: Budget,
        schedules: Mapping[str, Schedule] | Schedule | None,
        checkpoints: Checkpoints | None,
        clip: float | None,
        callbacks: Sequence[Callback],
        interrupts: InterruptHandler,
    ) -> None:
        self.run, self.budget, self.checkpoints, self.clip = run, budget, checkpoints, clip
        self.callbacks, self.interrupts = callbacks, interrupts
        self.processes, self.objective = run.processes, run.objective
        self.optimizer_step = OptimizerStep(run.module, run.optimizers, run.processes, clip)
        alike = dict.fromkeys(run.optimizers, schedules) if isinstance(schedules, Schedule) else {}
        self.schedules = schedules if isinstance(schedules, Mapping) else alike
        if schedules is not None and self.schedules.keys() != run.optimizers.keys():
            names = ", ".join(map(repr, run.optimizers))
            raise ValueError(f"schedule is for {', '.join(map(repr, self.schedules))}: the optimizers are {names}")
        started = clock.now()
        self.start = started - run.history.seconds  # a continued run counts the time before its pause
        # what the model did before the loop is a part of its budget
        self.preparation_seconds = started - clock.fit_start()
        self.durations: dict[str, float] = {}  # seconds of the last validation, and of the last checkpoint
        self.step_seconds: deque[float] = deque(maxlen=_N_RECENT_STEPS)  # seconds of steps
        # until a validation has been timed
        self.validation_steps = run.objective.validation_steps() if budget.has_validation else 0.0
        limit = budget.max_seconds
        run.objective.preparation_seconds = self.preparation_seconds
        run.objective.deadline = None if limit is None else self.start - self.preparation_seconds + limit

    def train(self) -> None:
        """Train until something says stop."""
        run, history = self.run, self.run.history
        run.module.train()
        # once the checkpoint is loaded: a callback finds what happened before in the history
        self._run_callbacks("on_train_start")
        try:
            self._run_epochs()
            if run.stop_reason == "Ctrl-C" and run.step == 0:  # nothing was learned that could be kept
                raise KeyboardInterrupt
            history.stop_reason = run.stop_reason
            if self.checkpoints is not None and not self.checkpoints.is_current(run):
                self._save_checkpoint()
            if run.stop_reason in ("max_steps", "max_time"):
                # judged, but not in the checkpoint: a longer run would not be judged here
                self._validate_at_end()
            if self.budget.patience is not None and run.best is not None:
                run.module.load_state_dict(run.best)
            usual = statistics.median_low(self.step_seconds) if self.step_seconds else 0.0
            self.objective.has_time_for_check = self._is_within_budget(self._learning_check_seconds(usual))
        finally:
            # also after an error: the caller has a module in evaluation mode, without gradients that take memory
            run.module.zero_grad()
            run.module.eval()
            self._run_callbacks("on_train_end")
        if run.stop_reason == "Ctrl-C" and self.processes.is_first:
            checkpoint_note = (
                f", and {self.checkpoints.folder} has a checkpoint to continue from" if self.checkpoints else ""
            )
            warnings.warn(
                f"stopped by Ctrl-C after step {run.step}: the weights so far are kept{checkpoint_note}; press it "
                "twice to stop what called this too",
                stacklevel=3,
            )

    def _run_epochs(self) -> None:
        """Epochs until something says stop, or what is under way is given up."""
        try:
            self._validate_after_abort()
            while not self._should_stop():
                self._run_epoch()
        except StepAborted:
            self.run.stop("Ctrl-C")

    def _validate_after_abort(self) -> None:
        """A validation that was due when Ctrl-C ended the run before this one: patience and schedules count it."""
        run, every = self.run, self.budget.validate_every
        if run.step > 0 and (run.position == 0 if every is None else run.step % every == 0):
            self._validate()

    def _validate_at_end(self) -> None:
        try:
            if self._is_within_budget(self._needed_seconds("validation")):
                self._validate()
        except StepAborted:
            self.run.stop_reason = self.run.history.stop_reason = "Ctrl-C"

    def _run_epoch(self) -> None:
        """The rest of an epoch: its steps until there are no more or something says stop."""
        run = self.run
        for batch in self._remaining_batches():
            self._run_step(batch)
            every = self.budget.validate_every
            if every is not None and run.step % every == 0 and self._has_time_for("validation"):
                self._validate()
            self._run_callbacks("on_step_end")
            if self._should_stop():  # before a checkpoint is due: `train` writes the last, which knows why it ended
                return
            due = self.checkpoints is not None and self.processes.any(self.checkpoints.is_due(run.step))
            if due and self._has_time_for("checkpoint"):
                self._save_checkpoint()
        self._end_epoch()

    def _remaining_batches(self) -> Iterator[Batch]:
        """The batches of this epoch that are not done yet, each drawn with the generators seeded for its step."""
        run = self.run
        done, first = run.position, run.step - run.position
        seeds.seed_step(run.seed, first, self.processes.rank)
        source = self.objective.batches(run.epoch, seeds.batch_generator(run.seed, run.epoch))
        for position, batch in enumerate(self._iterate_batches(islice(source, self.objective.steps_per_epoch))):
            if position >= done:  # those before were seen before the pause
                yield _check_batch(batch)
            seeds.seed_step(run.seed, first + position + 1, self.processes.rank)
        if run.position == 0:
            name = type(self.objective).__name__
            raise ValueError(f"batches() of {name} gave none in epoch {run.epoch}: expected at least one")

    def _iterate_batches(self, source: Iterator[Any]) -> Iterator[Any]:
        """One after the other, as long as somebody waits for them."""
        end = object()
        while True:
            with self._allow_abort():
                batch = next(source, end)
            if batch is end:
                return
            yield batch

    def _allow_abort(self) -> AbstractContextManager[None]:
        """For what may be given up after Ctrl-C: nothing has changed until an update begins."""
        begun = self.optimizer_step.n_started
        # processes wait for each other, and one that gave up alone would leave the others waiting for ever
        return self.interrupts.allow_abort(
            lambda: self.processes.world_size == 1 and self.optimizer_step.n_started == begun
        )

    def _run_step(self, batch: Batch) -> None:
        run, descent = self.run, self.optimizer_step
        rates = self._set_rates()
        # a forward pass changes running means before the loss is known to be finite
        buffers = {name: tensor.clone() for name, tensor in run.module.named_buffers()}
        updates, descent.started_at = descent.n_updates, clock.now()
        begin = descent.started_at
        part = self._process_share(batch)
        try:
            with self._allow_abort(), self.processes.autocast():
                numbers = self.objective.step(part.match_module(run.module), descent)
        except NotFiniteError as error:
            _restore_buffers(run.module, buffers)
            raise divergence_error(error, batch, run, next(iter(rates.values())), self.clip) from None
        except StepAborted:
            _restore_buffers(run.module, buffers)
            raise
        except Exception as error:
            error.add_note(f"at step {run.step + 1}, in the batch of the {self.objective.item}s {format_ids(batch)}")
            raise
        if descent.n_updates == updates:
            name = type(self.objective).__name__
            raise RuntimeError(f"step() of {name} made no update: expected it to call optimizer_step(loss)")
        self.processes.copy_buffers(run.module)  # each process saw another part of the batch, and one must be right
        run.step, run.position = run.step + 1, run.position + 1
        self.step_seconds.append(clock.now() - begin)
        self._record_step(rates, numbers)

    def _process_share(self, batch: Batch) -> Batch:
        """What this process computes of a batch, and its weight."""
        world = self.processes.world_size
        if world == 1:
            return batch
        part = self.objective.process_share(batch, self.processes.rank, world)
        self.optimizer_step.weight = len(part) * world / len(batch)
        return part if len(part) else batch.take([0])  # with weight 0: all processes must keep in step

    def _set_rates(self) -> dict[str, float]:
        """Set every optimiser's learning rate for this step; the first group's is noted."""
        run, horizon = self.run, self._expected_steps()
        noted: dict[str, float] = {}
        for name, optimizer in run.optimizers.items():
            schedule = self.schedules.get(name)
            factor = 1.0 if schedule is None else schedule.factor(run.step, horizon, run.history)
            for group, rate in zip(optimizer.param_groups, run.rates[name], strict=True):
                group["lr"] = rate * factor
            noted["rate" if len(noted) == 0 else f"rate_{name}"] = float(run.rates[name][0] * factor)
        return noted

    def _expected_steps(self) -> int | None:
        """How many steps there will be: as many as the budget says, or as the time allows at the pace so far."""
        run, most, limit = self.run, self.budget.max_steps, self.budget.max_seconds
        if limit is None or run.step == 0:
            return most
        # a moment says little of the pace, and a training that will not be ended must not depend on the clock
        has_pace = most is None or self._elapsed_seconds() > _PACE_SHARE * limit
        left = limit - self._spent_seconds() - self._reserved_seconds()
        fits = run.step + max(1, int(left / max(self._seconds_per_step(), 1e-9))) if has_pace else 0
        agreed: int = self.processes.broadcast(fits)  # clocks differ, and all processes must have one learning rate
        return most if agreed == 0 or (most is not None and agreed > most) else agreed

    def _record_step(self, rates: dict[str, float], numbers: Mapping[str, Number]) -> None:
        run = self.run
        if "loss" not in numbers or set(numbers) & (set(LOOP_TRACKS) - {"loss"}):
            raise ValueError(
                f"{type(self.objective).__name__} notes {', '.join(numbers) or 'nothing'}: expected 'loss' among the "
                f"names, and none of {', '.join(LOOP_TRACKS[1:])}, which the loop notes itself"
            )
        values = torch.tensor([_to_float(value) for value in numbers.values()], dtype=torch.float64)
        # over all processes, each with the weight of its part: the history of one process and of several is the same
        means = self.processes.mean(values * self.optimizer_step.weight).tolist()
        noted = dict(zip(numbers, means, strict=True)) | rates | {"gradient_norm": self.optimizer_step.norm}
        run.history.record_all(run.step, noted | {"seconds": self._elapsed_seconds()})

    def _end_epoch(self) -> None:
        run = self.run
        mean = run.history["loss"][-run.position :].mean()
        run.epoch, run.position = run.epoch + 1, 0
        run.history.record("epoch_loss", run.step, mean)
        if self.budget.validate_every is None:
            self._validate()
        self._run_callbacks("on_epoch_end")

    def _validate(self) -> None:
        run = self.run
        if not self.budget.has_validation or run.step in run.history.steps("score")[-1:]:
            return
        seeds.seed_validation(run.seed)  # a validation that draws draws the same every time, and moves no step's seed
        try:
            with (
                self._measure_time("validation"),
                self._allow_abort(),
                evaluation_mode(run.module),
                self.processes.autocast(),
                torch.no_grad(),
            ):
                score = self.processes.broadcast(self.objective.validate())
        except NotFiniteError as error:
            raise DivergenceError(f"{error} after step {run.step}: lower the learning rate", run.step, []) from None
        score = check_float(float(score), f"the score that validate() gave after step {run.step}")
        run.history.record("score", run.step, score)
        if self.budget.patience is not None and run.history.best_step == run.step:
            run.keep_as_best()
        self._run_callbacks("on_validation_end")

    def _should_stop(self) -> bool:
        run = self.run
        spent = self._spent_seconds() + self._reserved_seconds()
        reason = "Ctrl-C" if self.interrupts.request_event.is_set() else self.budget.stop_reason(run, spent)
        if reason is not None:
            run.stop(reason)
        # clocks and callbacks differ between processes, and one that stopped alone would leave the others waiting
        if self.processes.any(run.stop_reason is not None):
            run.stop("another process")
            run.stop_reason = self.processes.broadcast(run.stop_reason)
        return run.stop_reason is not None

    def _save_checkpoint(self) -> None:
        assert self.checkpoints is not None
        with self._measure_time("checkpoint"):
            self.checkpoints.save(self.run)
        self._run_callbacks("on_checkpoint")

    def _elapsed_seconds(self) -> float:
        """How long the loop has run."""
        return clock.now() - self.start

    def _spent_seconds(self) -> float:
        """How much of a budget is spent: that, and what came before the loop."""
        return self._elapsed_seconds() + self.preparation_seconds

    def _seconds_per_step(self) -> float:
        """Seconds of a step so far."""
        return self._elapsed_seconds() / max(self.run.step, 1)

    def _reserved_seconds(self) -> float:
        """Seconds to be left for what comes after the last step, at most a share of the budget."""
        if self.budget.max_seconds is None or len(self.step_seconds) < _MIN_TIMED_STEPS:
            return 0.0
        usual = statistics.median_low(self.step_seconds)  # the first steps are slow
        most, validation = _MAX_RESERVED_SHARE * self.budget.max_seconds, self._needed_seconds("validation")
        # a validation for which there will be no time needs none
        after = (
            self.objective.closing_steps * usual
            + self._needed_seconds("checkpoint")
            + validation * (validation <= most)
        )
        left = self.budget.max_seconds - self._spent_seconds() - after
        if self.run.step + left / max(usual, 1e-9) >= MIN_CHECKED_STEPS:  # it will be judged
            verdict = self._learning_check_seconds(usual)
            after += verdict * (verdict <= most)
        return min(after, most)

    def _needed_seconds(self, name: str) -> float:
        """Seconds of a validation or a checkpoint: of the last one, or of a validation as its objective estimates."""
        if name in self.durations or name != "validation" or not self.step_seconds:
            return self.durations.get(name, 0.0)
        return self.validation_steps * statistics.median_low(self.step_seconds)

    def _learning_check_seconds(self, usual: float) -> float:
        """Seconds that `learning_check.warn_if_not_learned` takes."""
        return (
            self.objective.learning_check_steps * usual
            + self.objective.learning_check_validations * self._needed_seconds("validation")
        )

    def _is_within_budget(self, seconds: float) -> bool:
        """Whether work after the last step ends within the budget, or is short; all processes say the same."""
        limit = self.budget.max_seconds
        if limit is None:
            return True
        spare = _LATE * limit
        return not self.processes.any(self._spent_seconds() + seconds > limit + spare and seconds > spare)

    def _has_time_for(self, name: str) -> bool:
        """Whether there is time for a validation or a checkpoint beside the last one; all processes say the same."""
        limit = self.budget.max_seconds
        if limit is None:
            return True
        late = self._spent_seconds() + self._reserved_seconds() + self._needed_seconds(name) >= limit
        return not self.processes.any(late)

    @contextmanager
    def _measure_time(self, name: str) -> Iterator[None]:
        begin = clock.now()
        yield
        self.durations[name] = clock.now() - begin

    def _run_callbacks(self, moment: str) -> None:
        for callback in self.callbacks:
            getattr(callback, moment)(self.run)


def _check_batch(batch: Any) -> Batch:
    if isinstance(batch, Batch) and len(batch) > 0:
        return batch
    what = "an empty batch" if isinstance(batch, Batch) else f"a {type(batch).__name__}"
    raise TypeError(f"batches() gave {what}: expected a timelike.train.Batch with the ids of its sequences")


def _to_float(value: Number) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)


def _restore_buffers(module: nn.Module, buffers: dict[str, Tensor]) -> None:
    """Undo what a failed step's forward pass did to running means."""
    for name, tensor in module.named_buffers():
        tensor.data = buffers.get(name, tensor)


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; afterwards every part in the mode it had."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
