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
from .exceptions import DivergenceError, NotFiniteError
from .gradient_clip import GradientClip, check_gradient_clip, max_gradient_norm
from .history import LOOP_TRACKS, History
from .objective import MIN_CHECKED_STEPS, Objective
from .optimizer_step import OptimizerStep, divergence_error, format_ids, named_optimizers, optimizer_options
from .processes import Processes, Strategy
from .schedules import Schedule
from .trainer import Accelerator, Precision

_MAX_RESERVED_SHARE = 0.5  # largest fraction of a time budget that is reserved for work after the last step
_MIN_TIMED_STEPS, _N_RECENT_STEPS = (2, 50)  # steps before the median duration is used, and over how many it is taken
_LATE = 0.05  # fraction of a budget by which work after the last step may exceed it
_PACE_SHARE = 0.1  # fraction of the time after which the pace predicts the number of steps


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
    gradient_clip: GradientClip | None = None,
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
        Stop after this number of steps, epochs, or seconds (a number or a `timedelta`). At least one of these or
        `patience` is required. A resumed run counts the time before its pause. Within the `fit` of a model, `max_time`
        covers the whole `fit`: it includes the preparation, and `Objective.closing_steps` reserves time for the work
        after the last step. At least one step is made. A validation that does not fit into the time is skipped.
    accelerator, devices, strategy, precision
        Where to compute. `strategy="ddp"` starts one process per device, also with `accelerator="cpu"`: each runs the
        calling program, takes its part of every batch, and ends with the same weights.
    gradient_clip : float or "adaptive", optional
        Maximum norm of the gradient; longer gradients are scaled down. "adaptive" is twice the median norm of the last
        100 steps; it needs an objective with one optimizer.
    schedule : Schedule, optional
        Schedule of the learning rate: `Constant`, `Plateau`, `Cosine`, `OneCycle`, `LinearDecay`, `StepDecay` or
        `Milestones`; for several optimisers, one for all or a dict with one for each.
    validate_every : int, optional
        Steps between two validations; None validates once per epoch.
    patience : int, optional
        Stop after this number of validations without a better score. The module ends with the best weights.
    checkpoint : path, optional
        A folder for checkpoints, of which the last two are kept. A training that has ended there is returned
        unchanged, even if the learning rate has changed or `max_epochs` is smaller now.
    checkpoint_every : int or timedelta
        Steps or time between two checkpoints. One is also written at the end and after Ctrl-C.
    resume : "auto" or bool
        Whether to resume from the checkpoint in the folder: "auto" resumes if there is one, True raises an error if
        there is none, and False removes existing checkpoints.
    progress : bool or None
        True draws a bar. None prints the expected duration once on standard error if it is more than ten seconds, and
        draws the bar on a terminal if it is more than two.
    random_state
        Makes the run reproducible. With None every run is different, but a resumed run keeps its seed. The global
        generators of torch, numpy and Python are restored.

    Raises
    ------
    DivergenceError
        If a loss or gradient is not finite; the message names the step and the sequences.
    """
    limits = Budget.from_options(objective, max_steps, max_epochs, max_time, validate_every, patience)
    schedules = _check_schedules(schedule, max_steps if max_time is None else max_steps or sys.maxsize)
    checkpoints = _check_checkpoints(checkpoint, checkpoint_every, resume)
    clip = None if gradient_clip is None else check_gradient_clip(gradient_clip, "gradient_clip")
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
        raise ValueError("resume=True needs a checkpoint: give its folder")
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
        self.position = 0  # completed batches of this epoch
        self.best: dict[str, Tensor] | None = None
        self.stop_reason: str | None = None
        self._identity: dict[str, str | int] | None = None

    def identity(self) -> dict[str, str | int]:
        """The settings that identify this training; computed once and only if needed: fingerprints read all data."""
        if self._identity is None:
            identity = dict(self.objective.identity())
            # the objective's settings win, except fingerprints: the owner's are of the data before standardization
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
        """Keep a copy of the current weights as the best ones."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}


class TrainingLoop:
    """Advances a `TrainingRun` until its budget is spent."""

    def __init__(
        self,
        run: TrainingRun,
        budget: Budget,
        schedules: Mapping[str, Schedule] | Schedule | None,
        checkpoints: Checkpoints | None,
        clip: GradientClip | None,
        callbacks: Sequence[Callback],
        interrupts: InterruptHandler,
    ) -> None:
        self.run, self.budget, self.checkpoints, self.clip = run, budget, checkpoints, clip
        self.callbacks, self.interrupts = callbacks, interrupts
        self.processes, self.objective = run.processes, run.objective
        self.optimizer_step = OptimizerStep(run.module, run.optimizers, run.processes)
        if clip == "adaptive" and len(run.optimizers) > 1:
            names = ", ".join(map(repr, run.optimizers))
            raise ValueError(f"gradient_clip='adaptive' is for one optimizer, and there are {names}: give a number")
        alike = dict.fromkeys(run.optimizers, schedules) if isinstance(schedules, Schedule) else {}
        self.schedules = schedules if isinstance(schedules, Mapping) else alike
        if schedules is not None and self.schedules.keys() != run.optimizers.keys():
            names = ", ".join(map(repr, run.optimizers))
            raise ValueError(f"schedule is for {', '.join(map(repr, self.schedules))}: the optimizers are {names}")
        started = clock.now()
        self.start = started - run.history.seconds  # a resumed run counts the time before its pause
        # the preparation before the loop counts against the budget
        self.preparation_seconds = started - clock.fit_start()
        self.durations: dict[str, float] = {}  # of the last validation and of the last checkpoint, in seconds
        self.step_seconds: deque[float] = deque(maxlen=_N_RECENT_STEPS)
        # an estimate, used until a validation has been timed
        self.validation_steps = run.objective.validation_steps() if budget.has_validation else 0.0
        limit = budget.max_seconds
        run.objective.preparation_seconds = self.preparation_seconds
        run.objective.deadline = None if limit is None else self.start - self.preparation_seconds + limit

    def train(self) -> None:
        """Train until a limit is reached, a callback stops the run, or Ctrl-C is pressed."""
        run, history = self.run, self.run.history
        run.module.train()
        # after the checkpoint is loaded, so that callbacks see the earlier history
        self._run_callbacks("on_train_start")
        try:
            self._run_epochs()
            if run.stop_reason == "Ctrl-C" and run.step == 0:  # there are no trained weights to keep
                raise KeyboardInterrupt
            history.stop_reason = run.stop_reason
            if self.checkpoints is not None and not self.checkpoints.is_current(run):
                self._save_checkpoint()
            if run.stop_reason in ("max_steps", "max_time"):
                # not part of the checkpoint, because a longer run would not validate here
                self._validate_at_end()
            if self.budget.patience is not None and run.best is not None:
                run.module.load_state_dict(run.best)
            usual = statistics.median_low(self.step_seconds) if self.step_seconds else 0.0
            self.objective.has_time_for_check = self._is_within_budget(self._learning_check_seconds(usual))
        finally:
            # also after an error: the caller gets a module in evaluation mode, without gradients in memory
            run.module.zero_grad()
            run.module.eval()
            self._run_callbacks("on_train_end")
        if run.stop_reason == "Ctrl-C" and self.processes.is_first:
            checkpoint_note = (
                f", and {self.checkpoints.folder} has a checkpoint to continue from" if self.checkpoints else ""
            )
            warnings.warn(
                f"stopped by Ctrl-C after step {run.step}: the weights so far are kept{checkpoint_note}; press it "
                "twice to stop the calling program too",
                stacklevel=3,
            )

    def _run_epochs(self) -> None:
        """Run epochs until the run stops or Ctrl-C aborts a step."""
        try:
            self._validate_after_abort()
            while not self._should_stop():
                self._run_epoch()
        except StepAborted:
            self.run.stop("Ctrl-C")

    def _validate_after_abort(self) -> None:
        """Make up for a validation that Ctrl-C aborted in the previous run: patience and schedules count it."""
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
        """Run the remaining steps of an epoch, unless the run stops first."""
        run = self.run
        for batch in self._remaining_batches():
            self._run_step(batch)
            every = self.budget.validate_every
            if every is not None and run.step % every == 0 and self._has_time_for("validation"):
                self._validate()
            self._run_callbacks("on_step_end")
            if self._should_stop():  # before a due checkpoint: `train` writes the last one, with the stop reason
                return
            due = self.checkpoints is not None and self.processes.any(self.checkpoints.is_due(run.step))
            if due and self._has_time_for("checkpoint"):
                self._save_checkpoint()
        self._end_epoch()

    def _remaining_batches(self) -> Iterator[Batch]:
        """The remaining batches of this epoch, each drawn with the generators seeded for its step."""
        run = self.run
        done, first = run.position, run.step - run.position
        seeds.seed_step(run.seed, first, self.processes.rank)
        source = self.objective.batches(run.epoch, seeds.batch_generator(run.seed, run.epoch))
        for position, batch in enumerate(self._iterate_batches(islice(source, self.objective.steps_per_epoch))):
            if position >= done:  # earlier ones were trained on before the pause
                yield _check_batch(batch)
            seeds.seed_step(run.seed, first + position + 1, self.processes.rank)
        if run.position == 0:
            name = type(self.objective).__name__
            raise ValueError(f"batches() of {name} returned none in epoch {run.epoch}: expected at least one")

    def _iterate_batches(self, source: Iterator[Any]) -> Iterator[Any]:
        """The batches one by one; Ctrl-C may abort the drawing of each."""
        end = object()
        while True:
            with self._allow_abort():
                batch = next(source, end)
            if batch is end:
                return
            yield batch

    def _allow_abort(self) -> AbstractContextManager[None]:
        """A context that Ctrl-C may abort, as long as no update has begun and so no weight has changed."""
        begun = self.optimizer_step.n_started
        # with several processes, one that aborted alone would leave the others waiting for ever
        return self.interrupts.allow_abort(
            lambda: self.processes.world_size == 1 and self.optimizer_step.n_started == begun
        )

    def _run_step(self, batch: Batch) -> None:
        run, descent = self.run, self.optimizer_step
        rates = self._set_rates()
        # a forward pass changes running means before the loss is checked
        buffers = {name: tensor.clone() for name, tensor in run.module.named_buffers()}
        descent.clip = max_gradient_norm(self.clip, run.history)
        updates, descent.started_at = descent.n_updates, clock.now()
        begin = descent.started_at
        part = self._process_share(batch)
        try:
            with self._allow_abort(), self.processes.autocast():
                numbers = self.objective.step(part.match_module(run.module), descent)
        except NotFiniteError as error:
            _restore_buffers(run.module, buffers)
            raise divergence_error(error, batch, run, next(iter(rates.values())), descent.clip) from None
        except StepAborted:
            _restore_buffers(run.module, buffers)
            raise
        except Exception as error:
            error.add_note(f"at step {run.step + 1}, in the batch of the {self.objective.item}s {format_ids(batch)}")
            raise
        if descent.n_updates == updates:
            name = type(self.objective).__name__
            raise RuntimeError(f"step() of {name} made no update: expected it to call optimizer_step(loss)")
        self.processes.copy_buffers(run.module)  # running means differ, as each process saw another part of the batch
        run.step, run.position = run.step + 1, run.position + 1
        self.step_seconds.append(clock.now() - begin)
        self._record_step(rates, numbers)

    def _process_share(self, batch: Batch) -> Batch:
        """The part of a batch for this process; also sets its weight."""
        world = self.processes.world_size
        if world == 1:
            return batch
        part = self.objective.process_share(batch, self.processes.rank, world)
        self.optimizer_step.weight = len(part) * world / len(batch)
        return part if len(part) else batch.take([0])  # with weight 0, since all processes must take part in every step

    def _set_rates(self) -> dict[str, float]:
        """Set every optimiser's learning rate for this step; return that of the first group of each."""
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
        """The expected number of steps, from the budget, or from the time left and the pace so far."""
        run, most, limit = self.run, self.budget.max_steps, self.budget.max_seconds
        if limit is None or run.step == 0:
            return most
        # early estimates are noisy, and a run that max_steps ends must not depend on the clock
        has_pace = most is None or self._elapsed_seconds() > _PACE_SHARE * limit
        left = limit - self._spent_seconds() - self._reserved_seconds()
        fits = run.step + max(1, int(left / max(self._seconds_per_step(), 1e-9))) if has_pace else 0
        agreed: int = self.processes.broadcast(fits)  # clocks differ, but all processes need the same learning rate
        return most if agreed == 0 or (most is not None and agreed > most) else agreed

    def _record_step(self, rates: dict[str, float], numbers: Mapping[str, Tensor | float]) -> None:
        run = self.run
        if "loss" not in numbers or set(numbers) & (set(LOOP_TRACKS) - {"loss"}):
            raise ValueError(
                f"{type(self.objective).__name__} records {', '.join(numbers) or 'nothing'}: expected 'loss' among the "
                f"names, and none of {', '.join(LOOP_TRACKS[1:])}, which the loop records itself"
            )
        values = torch.tensor([_to_float(value) for value in numbers.values()], dtype=torch.float64)
        # weighted by the size of each part, so that the history does not depend on the number of processes
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
        seeds.seed_validation(run.seed)  # every validation draws the same numbers, and does not affect the steps
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
        score = check_float(float(score), f"the score of validate() after step {run.step}")
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
        # clocks and callbacks differ, and a process that stopped alone would leave the others waiting
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
        """Seconds that the loop has run, including earlier runs of the same training."""
        return clock.now() - self.start

    def _spent_seconds(self) -> float:
        """Seconds of the budget that are spent, including the preparation before the loop."""
        return self._elapsed_seconds() + self.preparation_seconds

    def _seconds_per_step(self) -> float:
        """Mean seconds per step so far."""
        return self._elapsed_seconds() / max(self.run.step, 1)

    def _reserved_seconds(self) -> float:
        """Seconds reserved for the work after the last step, at most a fraction of the budget."""
        if self.budget.max_seconds is None or len(self.step_seconds) < _MIN_TIMED_STEPS:
            return 0.0
        usual = statistics.median_low(self.step_seconds)  # the first steps are slow
        most, validation = _MAX_RESERVED_SHARE * self.budget.max_seconds, self._needed_seconds("validation")
        # a validation that takes too long will be skipped
        after = (
            self.objective.closing_steps * usual
            + self._needed_seconds("checkpoint")
            + validation * (validation <= most)
        )
        left = self.budget.max_seconds - self._spent_seconds() - after
        if self.run.step + left / max(usual, 1e-9) >= MIN_CHECKED_STEPS:  # the learning check will run
            verdict = self._learning_check_seconds(usual)
            after += verdict * (verdict <= most)
        return min(after, most)

    def _needed_seconds(self, name: str) -> float:
        """Seconds of the last validation or checkpoint; before the first validation, the estimate of the objective."""
        if name in self.durations or name != "validation" or not self.step_seconds:
            return self.durations.get(name, 0.0)
        return self.validation_steps * statistics.median_low(self.step_seconds)

    def _learning_check_seconds(self, usual: float) -> float:
        """The expected duration of `learning_check.warn_if_not_learned`."""
        return (
            self.objective.learning_check_steps * usual
            + self.objective.learning_check_validations * self._needed_seconds("validation")
        )

    def _is_within_budget(self, seconds: float) -> bool:
        """Whether work after the last step ends within the budget, or is short; the same in all processes."""
        limit = self.budget.max_seconds
        if limit is None:
            return True
        spare = _LATE * limit
        return not self.processes.any(self._spent_seconds() + seconds > limit + spare and seconds > spare)

    def _has_time_for(self, name: str) -> bool:
        """Whether there is time for another validation or checkpoint; the same in all processes."""
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
    raise TypeError(f"batches() returned {what}: expected a timelike.train.Batch with the ids of its sequences")


def _to_float(value: Tensor | float) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)


def _restore_buffers(module: nn.Module, buffers: dict[str, Tensor]) -> None:
    """Restore the running means from before a failed step."""
    for name, tensor in module.named_buffers():
        tensor.data = buffers.get(name, tensor)


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; afterwards the mode of every submodule is restored."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
