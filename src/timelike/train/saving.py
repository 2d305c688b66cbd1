"""Which checkpoints a training writes, and from which it continues."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from ..sequences import arguments
from ..sequences.arguments import real, whole
from . import checkpoints
from .run import Run


@dataclass
class Saving:
    """Where checkpoints go, and how often."""

    folder: Path | None
    steps: int | None
    seconds: float | None
    resume: Literal["auto"] | bool
    newest: tuple[int, int] | None = None
    """Step and epoch of the newest checkpoint."""
    time: float = 0.0

    @classmethod
    def checked(cls, folder: str | Path | None, every: int | timedelta, resume: Literal["auto"] | bool) -> Saving:
        """What was asked for, if it makes sense."""
        if resume not in ("auto", True, False):
            raise ValueError(f"resume={resume!r}: expected 'auto', True or False")
        if folder is None and resume is True:
            raise ValueError("resume=True needs a checkpoint: give the folder it is in")
        path = None if folder is None else arguments.folder(folder, "checkpoint")
        if isinstance(every, timedelta):
            return cls(path, None, real(every.total_seconds(), "checkpoint_every (in seconds)", above=0), resume)
        return cls(path, whole(every, "checkpoint_every", 1), None, resume)

    def restore(self, run: Run, seed_given: bool) -> None:
        """Bring the run to where its last checkpoint is."""
        self.time = time.monotonic()
        if self.folder is None:
            return
        if run.processes.first:
            checkpoints.prepare(self.folder)
            if self.resume is False:
                checkpoints.clear(self.folder)
        run.processes.wait()
        found = checkpoints.latest(self.folder)
        if found is None and self.resume is True:
            raise FileNotFoundError(f"{self.folder} holds no checkpoint: resume='auto' starts anew where there is none")
        if found is not None:
            if seed_given and run.seed != found.state["seed"]:
                raise ValueError(
                    f"the checkpoint in {self.folder} was made with another random_state: give the same or None to "
                    "continue; to start anew, give another folder or remove this one"
                )
            run.seed = found.state["seed"]
            run.load(found, self.folder)
            self.newest = run.step, run.epoch
        run.processes.wait()

    def current(self, run: Run) -> bool:
        """Whether the newest checkpoint is of this moment."""
        return self.newest == (run.step, run.epoch)

    def due(self, step: int) -> bool:
        """Whether it is time for another."""
        if self.folder is None:
            return False
        if self.steps is not None:
            return step % self.steps == 0
        return self.seconds is not None and time.monotonic() - self.time >= self.seconds

    def save(self, run: Run) -> None:
        """Write one."""
        assert self.folder is not None
        run.save(self.folder)
        self.newest, self.time = (run.step, run.epoch), time.monotonic()
