"""`run_study`: a grid of flows, one after the other, each kept when it is finished, with a table and figures at the
end.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core import parameters
from ...core.interrupts import immediate_interrupts
from ...core.parameters import check_bool, check_float, check_int
from ...core.progress import ProgressMeter, check_progress
from ..flows.descent import descend
from ..flows.record import FlowDiverged
from ..flows.step_size import step_factors
from .cells import NAMED_PROBLEMS, StudyCell, StudyGrid, validate_grid
from .keeping import StudyStore
from .problems import FlowProblem
from .result import Study
from .settings import ARCHITECTURES, LOSSES

_N_FRAMES = 8  # at particles on their way, which figures show


def run_study(
    folder: str | Path,
    *,
    problems: Any = tuple(NAMED_PROBLEMS),
    losses: Any = LOSSES,
    architectures: Any = ARCHITECTURES,
    widths: Any = None,
    seeds: int = 3,
    n: int = 500,
    steps: int = 2000,
    step: float | None = None,
    schedule: Sequence[float] | None = None,
    figures: bool = True,
    progress: bool | None = None,
) -> Study:
    """Move particles under every combination of problem, loss, architecture, width and seed: table 6.1 of the thesis.

    Finished flows are files of the folder: the same call goes on where the last one ended, one with more seeds or
    further names does what is new. Ctrl-C ends the flow under way and gives what is finished. At the end the folder has
    the table (`table.md`, `rows.json`) and figures: the divergence over the steps, and particles over time for each
    problem in the plane.

    Parameters
    ----------
    folder : path
        Where everything is kept.
    problems : words, Problem or dict
        Some of "8 Gaussians", "letters" and "densities"; a `FlowProblem`; or a dict of names to such, or to functions
        (n, random_state) → `FlowProblem`.
    losses : words or dict
        "IPM", "LSGAN", or a dict of names to such words or to functions of a kernel, as the discriminators are:
        {"long": lambda kernel: LSGAN(kernel, time=10.0)}.
    architectures : words or dict
        Some of "RBF", "ReLU", "ReLU without bias" and "sigmoid", or a dict of names to such words or kernels.
    widths : int, None or several
        Of the hidden layers; None for infinity. There is no RBF of a finite width, and none of what is one's own.
    seeds : int
        How often each, with points drawn anew.
    n : int
        Particles, and points of the target.
    steps, step, schedule
        As in `descend`. The step is the thesis's unless given (`thesis_step`), and 2 for what is one's own.
    figures : bool
        Whether figures are drawn.
    progress : bool or None
        Whether a bar shows how far it is and how long it will take; None does so on a terminal, where it takes over two
        seconds.

    Returns
    -------
    Study
        `print` it, or ask for `table()`, `rows`, `plot()`.

    Examples
    --------
    >>> import tempfile
    >>> from timelike.distributions import studies
    >>> how = {"problems": "letters", "losses": "IPM", "seeds": 1, "n": 40, "steps": 20, "progress": False}
    >>> study = studies.run(tempfile.mkdtemp(), architectures=("RBF", "ReLU"), figures=False, **how)
    >>> [row["architecture"] for row in study.rows], study.left
    (['RBF', 'ReLU'], 0)
    """
    grid = validate_grid(problems, losses, architectures, widths, seeds)
    how = {"n": check_int(n, "n", 2), "steps": check_int(steps, "steps", 1)}
    size = None if step is None else check_float(step, "step", above=0.0)
    listed = None if schedule is None else [float(one) for one in schedule]
    step_factors(listed, how["steps"])  # refuses what is none
    path = parameters.check_folder(folder, "folder")
    parameters.make_folder_for_option(path, "folder")
    study = _StudyRun(grid, how | {"schedule": listed}, size, StudyStore(path), check_progress(progress))
    rows, left = study.rows()
    found = Study(tuple(rows), left, path)
    found.save()
    if check_bool(figures, "figures") and rows:
        found.save_figures()
    return found


class _StudyRun:
    """A study under way."""

    def __init__(
        self, grid: StudyGrid, how: dict[str, Any], step: float | None, kept: StudyStore, shown: bool | None
    ) -> None:
        self.grid, self.how, self.size, self.store, self.progress = grid, how, step, kept, shown

    def rows(self) -> tuple[list[dict[str, Any]], int]:
        """Everything that is finished, and how many are not."""
        cells = self.grid.cells()
        settings = {cell.key: self._settings(cell) for cell in cells}
        done = {cell.key: row for cell in cells if (row := self.store.find(cell, settings[cell.key])) is not None}
        todo = [cell for cell in cells if cell.key not in done]
        with immediate_interrupts(), ProgressMeter(len(todo), self.progress if todo else False, unit="flow") as bar:
            try:
                for cell in todo:
                    bar.set_description(cell.key)
                    done[cell.key] = self._run_cell(cell, settings[cell.key])
                    bar.update()
            except KeyboardInterrupt:
                pass  # what is finished is given back
        return [done[cell.key] for cell in cells if cell.key in done], len(cells) - len(done)

    def _settings(self, cell: StudyCell) -> dict[str, Any]:
        """All that a flow follows from, so that names which mean something else now are noticed."""
        problem = self.grid.problem(cell, self.how["n"])
        given = {
            "step": self.grid.step(cell, self.size),
            "discriminator": repr(self.grid.discriminator(cell, problem.real.shape[1])),
            "points": _fingerprint(problem),
        }
        return self.how | given

    def _run_cell(self, cell: StudyCell, settings: dict[str, Any]) -> dict[str, Any]:
        problem = self.grid.problem(cell, settings["n"])
        discriminator = self.grid.discriminator(cell, problem.real.shape[1])
        how = {name: settings[name] for name in ("steps", "step", "schedule")}
        every = -(-settings["steps"] // _N_FRAMES)
        began, diverged = time.perf_counter(), 0
        try:
            flow = descend(problem.start, problem.real, discriminator, record_every=every, progress=False, **how)
        except FlowDiverged as error:  # a result too: the others go on
            flow, diverged = error.flow, error.step
        numbers = {name: flow.history[name].tolist() for name in flow.score_names}
        row = settings | {name: values[-1] for name, values in numbers.items()}
        row |= {"diverged": diverged, "seconds": time.perf_counter() - began}
        row |= {"history": numbers | {"steps": flow.frame_steps.tolist()}}
        return self.store.keep(cell, row, {"frames": flow.frames, "real": np.asarray(problem.real)})


def _fingerprint(problem: FlowProblem) -> str:
    """A fingerprint of all points."""
    found = hashlib.blake2b(digest_size=8)
    for side in (problem.start, problem.real):
        found.update(np.ascontiguousarray(side, np.float64).tobytes())
    return found.hexdigest()
