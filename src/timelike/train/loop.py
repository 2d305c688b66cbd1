"""The one training loop of the library, and the run that it brings forward."""

from __future__ import annotations

import statistics
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..models.identity import Fingerprint
from ..sequences.arguments import real
from . import clock, randomness
from .batches import Batch
from .callbacks import Callback
from .ctrl_c import CtrlC, GivenUp
from .descent import Descent, Diverged, NotFinite, diverged, listed, named_optimizers, own_options
from .history import KEPT, History
from .objective import ENOUGH, Number, Objective
from .processes import Processes
from .schedules import Schedule

if TYPE_CHECKING:
    from .checkpoints import Checkpoints
    from .fitting import Limits


_CLOSING = 0.5  # share of a budget of time that is kept at most for what comes after the last step
_TELLING, _RECENT = 2, 50  # steps from which on it is known how long one takes, and of which that is the median
_LATE = 0.05  # share of a budget by which work after the last step may exceed it
_PACE = 0.1  # share of the time after which it is known how many steps fit into it


class Run:
    """Where a training is: its objective, its optimisers, `step` and `epoch` done, and the history."""

    def __init__(self, objective: Objective, processes: Processes, seed: int) -> None:
        self.objective, self.processes, self.seed = objective, processes, seed
        self.module: nn.Module = objective.module
        processes.place(self.module)
        self.optimizers = named_optimizers(objective)
        self.rates = {name: [g["lr"] for g in one.param_groups] for name, one in self.optimizers.items()}
        self.options = {name: own_options(one) for name, one in self.optimizers.items()}
        self.history = History(higher_is_better=objective.higher_is_better)
        self.step = 0
        self.epoch = 0
        self.position = 0  # batches of this epoch that are done
        self.best: dict[str, Tensor] | None = None
        self.stopping: str | None = None
        self._identity: dict[str, str | int] | None = None

    def identity(self) -> dict[str, str | int]:
        """Asked for once, and only where there is a checkpoint: a fingerprint reads all of the data."""
        if self._identity is None:
            found = dict(self.objective.identity())
            # the objective knows best what it learns from; a fingerprint of its owner's is of data before standardizing
            settings = self.objective.settings.items()
            found |= {name: value for name, value in settings if name not in found or isinstance(value, Fingerprint)}
            self._identity = found
        return self._identity

    def stop(self, reason: str) -> None:
        """End the training after this step; the first reason counts."""
        self.stopping = self.stopping or reason

    def keep_as_best(self) -> None:
        """Remember the weights as they are."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}


class Loop:
    """The loop itself."""

    def __init__(
        self,
        run: Run,
        limits: Limits,
        schedules: Mapping[str, Schedule] | Schedule | None,
        checkpoints: Checkpoints | None,
        clip: float | None,
        callbacks: Sequence[Callback],
        ctrl_c: CtrlC,
    ) -> None:
        self.run, self.limits, self.checkpoints, self.clip = run, limits, checkpoints, clip
        self.callbacks, self.ctrl_c = callbacks, ctrl_c
        self.processes, self.objective = run.processes, run.objective
        self.descent = Descent(run.module, run.optimizers, run.processes, clip)
        alike = dict.fromkeys(run.optimizers, schedules) if isinstance(schedules, Schedule) else {}
        self.schedules = schedules if isinstance(schedules, Mapping) else alike
        if schedules is not None and self.schedules.keys() != run.optimizers.keys():
            names = ", ".join(map(repr, run.optimizers))
            raise ValueError(f"schedule is for {', '.join(map(repr, self.schedules))}: the optimizers are {names}")
        started = clock.now()
        self.start = started - run.history.seconds  # a continued run counts the time before its pause
        self.before = started - clock.began()  # what the model did before the loop is a part of its budget
        self.took: dict[str, float] = {}  # seconds of the last validation, and of the last checkpoint
        self.lasted: deque[float] = deque(maxlen=_RECENT)  # seconds of steps
        # until a validation has been timed
        self.validation_steps = run.objective.validation_steps() if limits.validates else 0.0
        limit = limits.max_seconds
        run.objective.before = self.before
        run.objective.deadline = None if limit is None else self.start - self.before + limit

    def go(self) -> None:
        """Train until something says stop."""
        run, history = self.run, self.run.history
        run.module.train()
        self._call("started")  # once the checkpoint is loaded: a callback finds what happened before in the history
        try:
            self._learn()
            if run.stopping == "Ctrl-C" and run.step == 0:  # nothing was learned that could be kept
                raise KeyboardInterrupt
            history.stopped = run.stopping
            if self.checkpoints is not None and not self.checkpoints.current(run):
                self._save()
            if run.stopping in ("max_steps", "max_time"):
                # judged, but not in the checkpoint: a longer run would not be judged here
                self._judge_the_end()
            if self.limits.patience is not None and run.best is not None:
                run.module.load_state_dict(run.best)
            usual = statistics.median_low(self.lasted) if self.lasted else 0.0
            self.objective.verdict_fits = self._fits(self._verdict_seconds(usual))
        finally:
            # also after an error: whoever catches it has a module that answers, without gradients that take memory
            run.module.zero_grad()
            run.module.eval()
            self._call("ended")
        if run.stopping == "Ctrl-C" and self.processes.first:
            kept = f", and {self.checkpoints.folder} has a checkpoint to continue from" if self.checkpoints else ""
            warnings.warn(
                f"stopped by Ctrl-C after step {run.step}: the weights so far are kept{kept}; press it twice to stop "
                "what called this too",
                stacklevel=3,
            )

    def _learn(self) -> None:
        """Epochs until something says stop, or what is under way is given up."""
        try:
            self._judge_what_was_given_up()
            while not self._stops():
                self._epoch()
        except GivenUp:
            self.run.stop("Ctrl-C")

    def _judge_what_was_given_up(self) -> None:
        """A validation that was due when Ctrl-C ended the run before this one: patience and schedules count it."""
        run, every = self.run, self.limits.validate_every
        if run.step > 0 and (run.position == 0 if every is None else run.step % every == 0):
            self._validate()

    def _judge_the_end(self) -> None:
        try:
            if self._fits(self._needs("validation")):
                self._validate()
        except GivenUp:
            self.run.stopping = self.run.history.stopped = "Ctrl-C"

    def _epoch(self) -> None:
        """The rest of an epoch: its steps until there are no more or something says stop."""
        run = self.run
        for batch in self._batches():
            self._step(batch)
            every = self.limits.validate_every
            if every is not None and run.step % every == 0 and self._affords("validation"):
                self._validate()
            self._call("stepped")
            if self._stops():  # before a checkpoint is due: the last one is written in `go`, and knows why it ended
                return
            due = self.checkpoints is not None and self.processes.any(self.checkpoints.due(run.step))
            if due and self._affords("checkpoint"):
                self._save()
        self._end_epoch()

    def _batches(self) -> Iterator[Batch]:
        """The batches of this epoch that are not done yet, each drawn with the generators seeded for its step."""
        run = self.run
        done, first = run.position, run.step - run.position
        randomness.before_step(run.seed, first, self.processes.rank)
        source = self.objective.batches(run.epoch, randomness.for_batches(run.seed, run.epoch))
        for position, batch in enumerate(self._drawn(islice(source, self.objective.steps_per_epoch))):
            if position >= done:  # those before were seen before the pause
                yield _checked(batch)
            randomness.before_step(run.seed, first + position + 1, self.processes.rank)
        if run.position == 0:
            name = type(self.objective).__name__
            raise ValueError(f"batches() of {name} gave none in epoch {run.epoch}: expected at least one")

    def _drawn(self, source: Iterator[Any]) -> Iterator[Any]:
        """One after the other, as long as somebody waits for them."""
        end = object()
        while True:
            with self._giving_up():
                batch = next(source, end)
            if batch is end:
                return
            yield batch

    def _giving_up(self) -> AbstractContextManager[None]:
        """For what may be given up after Ctrl-C: nothing has changed until an update begins."""
        begun = self.descent.begun
        # processes wait for each other, and one that gave up alone would leave the others waiting for ever
        return self.ctrl_c.giving_up(lambda: self.processes.world == 1 and self.descent.begun == begun)

    def _step(self, batch: Batch) -> None:
        run, descent = self.run, self.descent
        rates = self._set_rates()
        # a forward pass changes running means before the loss is known to be finite
        buffers = {name: tensor.clone() for name, tensor in run.module.named_buffers()}
        updates, descent.since = descent.updates, clock.now()
        begin = descent.since
        part = self._part(batch)
        try:
            with self._giving_up(), self.processes.computing():
                numbers = self.objective.step(part.like(run.module), descent)
        except NotFinite as error:
            _put_back(run.module, buffers)
            raise diverged(error, batch, run, next(iter(rates.values())), self.clip) from None
        except GivenUp:
            _put_back(run.module, buffers)
            raise
        except Exception as error:
            error.add_note(f"at step {run.step + 1}, in the batch of the {self.objective.item}s {listed(batch)}")
            raise
        if descent.updates == updates:
            name = type(self.objective).__name__
            raise RuntimeError(f"step() of {name} made no update: expected it to call descent(loss)")
        self.processes.copy_buffers(run.module)  # each process saw another part of the batch, and one must be right
        run.step, run.position = run.step + 1, run.position + 1
        self.lasted.append(clock.now() - begin)
        self._note(rates, numbers)

    def _part(self, batch: Batch) -> Batch:
        """What this process computes of a batch, and its weight."""
        world = self.processes.world
        if world == 1:
            return batch
        part = self.objective.part(batch, self.processes.rank, world)
        self.descent.weight = len(part) * world / len(batch)
        return part if len(part) else batch.take([0])  # with weight 0: all processes must keep in step

    def _set_rates(self) -> dict[str, float]:
        """Set every optimiser's learning rate for this step; the first group's is noted."""
        run, horizon = self.run, self._horizon()
        noted: dict[str, float] = {}
        for name, optimizer in run.optimizers.items():
            schedule = self.schedules.get(name)
            factor = 1.0 if schedule is None else schedule.factor(run.step, horizon, run.history)
            for group, rate in zip(optimizer.param_groups, run.rates[name], strict=True):
                group["lr"] = rate * factor
            noted["rate" if len(noted) == 0 else f"rate_{name}"] = float(run.rates[name][0] * factor)
        return noted

    def _horizon(self) -> int | None:
        """How many steps there will be: as many as were asked for, or as the time allows at the pace so far."""
        run, most, limit = self.run, self.limits.max_steps, self.limits.max_seconds
        if limit is None or run.step == 0:
            return most
        # a moment says little of the pace, and a training that will not be ended must not depend on the clock
        known = most is None or self._seconds() > _PACE * limit
        left = limit - self._spent() - self._reserve()
        fits = run.step + max(1, int(left / max(self._pace(), 1e-9))) if known else 0
        agreed: int = self.processes.agreed(fits)  # clocks differ, and all processes must have one learning rate
        return most if agreed == 0 or (most is not None and agreed > most) else agreed

    def _note(self, rates: dict[str, float], numbers: Mapping[str, Number]) -> None:
        run = self.run
        if "loss" not in numbers or set(numbers) & (set(KEPT) - {"loss"}):
            raise ValueError(
                f"{type(self.objective).__name__} notes {', '.join(numbers) or 'nothing'}: expected 'loss' among the "
                f"names, and none of {', '.join(KEPT[1:])}, which the loop notes itself"
            )
        values = torch.tensor([_plain(value) for value in numbers.values()], dtype=torch.float64)
        # over all processes, each with the weight of its part: the history of one process and of several is the same
        means = self.processes.mean(values * self.descent.weight).tolist()
        noted = dict(zip(numbers, means, strict=True)) | rates | {"gradient_norm": self.descent.norm}
        run.history.note_all(run.step, noted | {"seconds": self._seconds()})

    def _end_epoch(self) -> None:
        run = self.run
        mean = run.history["loss"][-run.position :].mean()
        run.epoch, run.position = run.epoch + 1, 0
        run.history.note("epoch_loss", run.step, mean)
        if self.limits.validate_every is None:
            self._validate()
        self._call("epoch_ended")

    def _validate(self) -> None:
        run = self.run
        if not self.limits.validates or run.step in run.history.steps("score")[-1:]:
            return
        randomness.before_score(run.seed)  # a validation that draws draws the same every time, and moves no step's seed
        try:
            with (
                self._timed("validation"),
                self._giving_up(),
                evaluating(run.module),
                self.processes.computing(),
                torch.no_grad(),
            ):
                score = self.processes.agreed(self.objective.validate())
        except NotFinite as error:
            raise Diverged(f"{error} after step {run.step}: lower the learning rate", run.step, []) from None
        score = real(float(score), f"the score that validate() gave after step {run.step}")
        run.history.note("score", run.step, score)
        if self.limits.patience is not None and run.history.best_step == run.step:
            run.keep_as_best()
        self._call("validated")

    def _stops(self) -> bool:
        run = self.run
        spent = self._spent() + self._reserve()
        reason = "Ctrl-C" if self.ctrl_c.asked.is_set() else self.limits.reached(run, spent)
        if reason is not None:
            run.stop(reason)
        # clocks and callbacks differ between processes, and one that stopped alone would leave the others waiting
        if self.processes.any(run.stopping is not None):
            run.stop("another process")
            run.stopping = self.processes.agreed(run.stopping)
        return run.stopping is not None

    def _save(self) -> None:
        assert self.checkpoints is not None
        with self._timed("checkpoint"):
            self.checkpoints.save(self.run)
        self._call("saved")

    def _seconds(self) -> float:
        """How long the loop has run."""
        return clock.now() - self.start

    def _spent(self) -> float:
        """How much of a budget is spent: that, and what came before the loop."""
        return self._seconds() + self.before

    def _pace(self) -> float:
        """Seconds of a step so far."""
        return self._seconds() / max(self.run.step, 1)

    def _reserve(self) -> float:
        """Seconds to be left for what comes after the last step, at most a share of the budget."""
        if self.limits.max_seconds is None or len(self.lasted) < _TELLING:
            return 0.0
        usual = statistics.median_low(self.lasted)  # the first steps are slow
        most, validation = _CLOSING * self.limits.max_seconds, self._needs("validation")
        # a validation for which there will be no time needs none
        after = self.objective.closing_steps * usual + self._needs("checkpoint") + validation * (validation <= most)
        left = self.limits.max_seconds - self._spent() - after
        if self.run.step + left / max(usual, 1e-9) >= ENOUGH:  # it will be judged
            verdict = self._verdict_seconds(usual)
            after += verdict * (verdict <= most)
        return min(after, most)

    def _needs(self, name: str) -> float:
        """Seconds of a validation or a checkpoint: of the last one, or of a validation as its objective estimates."""
        if name in self.took or name != "validation" or not self.lasted:
            return self.took.get(name, 0.0)
        return self.validation_steps * statistics.median_low(self.lasted)

    def _verdict_seconds(self, usual: float) -> float:
        """Seconds that `verdict.judge` takes."""
        return self.objective.verdict_steps * usual + self.objective.verdict_validations * self._needs("validation")

    def _fits(self, seconds: float) -> bool:
        """Whether work after the last step ends within the budget, or is short; all processes say the same."""
        limit = self.limits.max_seconds
        if limit is None:
            return True
        spare = _LATE * limit
        return not self.processes.any(self._spent() + seconds > limit + spare and seconds > spare)

    def _affords(self, name: str) -> bool:
        """Whether there is time for a validation or a checkpoint beside the last one; all processes say the same."""
        limit = self.limits.max_seconds
        if limit is None:
            return True
        late = self._spent() + self._reserve() + self._needs(name) >= limit
        return not self.processes.any(late)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        begin = clock.now()
        yield
        self.took[name] = clock.now() - begin

    def _call(self, moment: str) -> None:
        for callback in self.callbacks:
            getattr(callback, moment)(self.run)


def _checked(batch: Any) -> Batch:
    if isinstance(batch, Batch) and len(batch) > 0:
        return batch
    what = "an empty batch" if isinstance(batch, Batch) else f"a {type(batch).__name__}"
    raise TypeError(f"batches() gave {what}: expected a timelike.train.Batch with the ids of its sequences")


def _plain(value: Number) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)


def _put_back(module: nn.Module, buffers: dict[str, Tensor]) -> None:
    """Undo what a failed step's forward pass did to running means."""
    for name, tensor in module.named_buffers():
        tensor.data = buffers.get(name, tensor)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; afterwards every part in the mode it had."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
