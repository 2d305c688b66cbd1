"""A resumable grid of flows over problems, losses, architectures, widths and seeds, with a table and figures.

    from benchmarks.papers.gantk.study import run_study
    print(run_study("my-study", problems="letters", seeds=1, steps=500))

Table 6.1 of the thesis, for any problems, losses and architectures. `particles.py` is the fixed grid behind the
published page.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.papers.gantk import settings
from benchmarks.papers.gantk.problems import NAMED_PROBLEMS, FlowProblem
from benchmarks.papers.gantk.settings import ARCHITECTURES, LOSSES

from timelike.core import files, parameters
from timelike.core.interrupts import immediate_interrupts
from timelike.core.parameters import check_bool, check_choice, check_float, check_int, format_count
from timelike.core.progress import ProgressMeter, check_progress
from timelike.core.run_store import RunStore
from timelike.distributions import FlowDiverged, descend, plot_particles
from timelike.distributions.flows.descent import step_factors
from timelike.plotting import landscapes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_FRAMES = 8  # at particles on their way, which figures show
_MAX_MOMENTS = 4  # of a flow that are shown
_MAX_METHODS = 8  # of a problem that are shown


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
    >>> how = {"problems": "letters", "losses": "IPM", "seeds": 1, "n": 40, "steps": 20, "progress": False}
    >>> study = run_study(tempfile.mkdtemp(), architectures=("RBF", "ReLU"), figures=False, **how)
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
    store = RunStore(path / "flows", "study", option="folder")  # no identity: a later call may add seeds and names
    rows, left = _StudyRun(grid, how | {"schedule": listed}, size, store, check_progress(progress)).rows()
    found = Study(tuple(rows), left, path, store)
    found.save()
    if check_bool(figures, "figures") and rows:
        found.save_figures()
    return found


# --- the grid ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyCell:
    """One flow of a study."""

    problem: str
    loss: str
    architecture: str
    width: str
    seed: int

    @property
    def key(self) -> str:
        """Its name among the others."""
        return "/".join(map(str, astuple(self)))


@dataclass(frozen=True, eq=False)
class StudyGrid:
    """The choices of a study by name, and the cells that they make."""

    problems: Mapping[str, Any]
    losses: Mapping[str, Any]
    architectures: Mapping[str, Any]
    widths: tuple[int | None, ...]
    seeds: tuple[int, ...]

    def cells(self) -> list[StudyCell]:
        """In their order, infinite widths first and seeds last, without an RBF of finite width, which there is not."""
        widths = sorted(self.widths, key=lambda width: width is not None)
        every = itertools.product(self.seeds, widths, self.problems, self.losses, self.architectures)
        return [
            StudyCell(problem, loss, architecture, settings.INFINITE_WIDTH if width is None else str(width), seed)
            for seed, width, problem, loss, architecture in every
            if width is None or self.architectures[architecture] != "RBF"
        ]

    def problem(self, cell: StudyCell, n: int) -> FlowProblem:
        """The points of a cell: those of one problem and seed are the same for all methods."""
        chosen = self.problems[cell.problem]
        found = chosen if isinstance(chosen, FlowProblem) else chosen(n, random_state=cell.seed)
        if not isinstance(found, FlowProblem):
            raise TypeError(f"problems[{cell.problem!r}] gave a {type(found).__name__}: expected a FlowProblem")
        return found

    def discriminator(self, cell: StudyCell, dimension: int) -> Any:
        """Made anew for each cell: one that learns on remembers."""
        loss, architecture = self.losses[cell.loss], self.architectures[cell.architecture]
        return settings.make_discriminator(loss, architecture, self.width(cell), dimension, cell.seed)

    def width(self, cell: StudyCell) -> int | None:
        """As a number, None for infinity."""
        return None if cell.width == settings.INFINITE_WIDTH else int(cell.width)

    def step(self, cell: StudyCell, step: float | None) -> float:
        """What was asked for, or the thesis's."""
        if step is not None:
            return step
        loss, architecture = self.losses[cell.loss], self.architectures[cell.architecture]
        if isinstance(loss, str) and isinstance(architecture, str):
            return settings.thesis_step(loss, architecture, width=self.width(cell))
        return 2.0


def validate_grid(problems: Any, losses: Any, architectures: Any, widths: Any, seeds: Any) -> StudyGrid:
    """The choices of `run_study`, checked."""
    known = _check_choices(problems, "problems", tuple(NAMED_PROBLEMS), FlowProblem)
    for title, one in known.items():
        if not (isinstance(one, str | FlowProblem) or callable(one)):
            raise TypeError(
                f"problems[{title!r}] is a {type(one).__name__}: expected a FlowProblem(name, start, real), or a "
                "function (n, random_state) to one"
            )
    return StudyGrid(
        {name: NAMED_PROBLEMS[one] if isinstance(one, str) else one for name, one in known.items()},
        _check_choices(losses, "losses", settings.LOSSES),
        _check_choices(architectures, "architectures", settings.ARCHITECTURES),
        _check_widths(widths),
        tuple(range(check_int(seeds, "seeds", 1))),
    )


def _check_choices(given: Any, name: str, known: tuple[str, ...], single: type | None = None) -> dict[str, Any]:
    """Choices by name: words that are known, one of them, or a dict of one's own."""
    if isinstance(given, str):
        given = (given,)
    if single is not None and isinstance(given, single):
        given = {getattr(given, "name", name): given}
    if isinstance(given, Mapping):
        found = {
            str(title): check_choice(one, name, known) if isinstance(one, str) else one for title, one in given.items()
        }
        wrong = [title for title in found if "/" in title]
        if wrong:
            raise ValueError(f"{name} has the name {wrong[0]!r}: expected one without a slash, which parts names")
    elif isinstance(given, Sequence):
        found = {check_choice(one, name, known): one for one in given}
    else:
        raise TypeError(f"{name}={given!r:.60}: expected some of {', '.join(map(repr, known))}, or a dict of one's own")
    if not found:
        raise ValueError(f"{name} is empty: expected at least one")
    return found


def _check_widths(given: Any) -> tuple[int | None, ...]:
    every = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not every:
        raise ValueError("widths is empty: expected at least one, None for infinity")
    return tuple(dict.fromkeys(None if one is None else check_int(one, "widths", 2) for one in every))


# --- running it -------------------------------------------------------------------------------------------------------


class _StudyRun:
    """A study under way."""

    def __init__(
        self, grid: StudyGrid, how: dict[str, Any], step: float | None, store: RunStore, shown: bool | None
    ) -> None:
        self.grid, self.how, self.size, self.store, self.progress = grid, how, step, store, shown

    def rows(self) -> tuple[list[dict[str, Any]], int]:
        """Everything that is finished, and how many are not."""
        cells = self.grid.cells()
        settings = {cell.key: self._settings(cell) for cell in cells}
        stored = {cell.key: self.store.find(cell.key, settings[cell.key]) for cell in cells}
        done = {key: row for key, row in stored.items() if row is not None}
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
        row = asdict(cell) | settings | {name: values[-1] for name, values in numbers.items()}
        row |= {"diverged": diverged, "seconds": time.perf_counter() - began}
        row |= {"history": numbers | {"steps": flow.frame_steps.tolist()}}
        self.store.save(cell.key, row, settings, arrays={"frames": flow.frames, "real": np.asarray(problem.real)})
        return row


def _fingerprint(problem: FlowProblem) -> str:
    """A fingerprint of all points."""
    found = hashlib.blake2b(digest_size=8)
    for side in (problem.start, problem.real):
        found.update(np.ascontiguousarray(side, np.float64).tobytes())
    return found.hexdigest()


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The finished flows of `run_study`: `rows` as dicts, each with its settings, its divergences and its history."""

    rows: tuple[dict[str, Any], ...]
    left: int
    """Flows that were not finished: the same call goes on."""
    folder: Path = field(repr=False)
    store: RunStore = field(repr=False)

    def table(self) -> str:
        """The Sinkhorn divergence from the target, mean ± deviation over seeds, as Markdown: methods × problems."""
        problems = _unique_values(row["problem"] for row in self.rows)
        methods = _unique_values((row["loss"], row["architecture"], row["width"]) for row in self.rows)
        head = ["loss", "architecture", "width", *problems]
        lines = [head, ["---"] * 3 + ["---:"] * len(problems)]
        lines += [
            [*map(str, method), *(self._format_cell(problem, method) for problem in problems)] for method in methods
        ]
        return "\n".join(f"| {' | '.join(one.replace('|', '/') for one in line)} |" for line in lines)

    def _format_cell(self, problem: str, method: tuple[str, str, str]) -> str:
        rows = [row for row in self.rows if (row["problem"], *_method_key(row)) == (problem, *method)]
        ended = [row["sinkhorn"] for row in rows if not row["diverged"]]
        gone = len(rows) - len(ended)
        said = f"{mean(ended):.2e}" + (f" ± {pstdev(ended):.1e}" if len(ended) > 1 else "") if ended else ""
        return ", ".join(filter(None, [said, f"{gone} diverged" if gone else ""])) or "–"

    def plot(self, problem: str | None = None) -> Figure:
        """The Sinkhorn divergence over the steps, a line for each method of a problem, of the first seed."""
        chosen = self.rows[0]["problem"] if problem is None else problem
        rows = self._first_seed_rows(chosen)
        if not rows:
            known = ", ".join(map(repr, _unique_values(row["problem"] for row in self.rows)))
            raise ValueError(f"problem={problem!r}: expected one of {known}")
        curves = {
            ", ".join(_method_key(row)): (np.array(row["history"]["steps"]), np.array(row["history"]["sinkhorn"]))
            for row in rows
        }
        return landscapes.plot_descents(curves)

    def plot_moments(self, problem: str) -> Figure:
        """Particles over time for each method of a problem in the plane, of the first seed."""
        flows, target = {}, np.zeros((0, 2))
        for row in self._first_seed_rows(problem)[:_MAX_METHODS]:
            arrays = self._load_particles(row)
            frames, target = arrays["frames"], arrays["real"]
            some = np.unique(np.linspace(0, len(frames) - 1, _MAX_MOMENTS).round().astype(int))
            flows[", ".join(_method_key(row))] = {row["history"]["steps"][i]: frames[i] for i in some}
        return plot_particles(flows, target)

    def save(self) -> None:
        """The table and the rows into the folder."""
        files.write_lines(self.folder / "table.md", iter([self.table()] if self.rows else ["No flow is finished yet."]))
        files.write_lines(self.folder / "rows.json", iter([json.dumps(list(self.rows), indent=1, ensure_ascii=False)]))

    def save_figures(self) -> list[Path]:
        """Figures into the folder; the paths of what was drawn."""
        written = []
        for problem in _unique_values(row["problem"] for row in self.rows):
            name = "".join(letter if letter.isalnum() else "-" for letter in problem)
            figures = {f"descent-{name}.png": self.plot(problem)}
            if self._load_particles(self._first_seed_rows(problem)[0])["real"].shape[1:] == (2,):
                figures[f"particles-{name}.png"] = self.plot_moments(problem)
            for file, figure in figures.items():
                with files.atomic_write(self.folder / file) as temporary:
                    figure.savefig(temporary, dpi=110, metadata={"Software": None}, format="png")
                written.append(self.folder / file)
        return written

    def _load_particles(self, row: dict[str, Any]) -> dict[str, Any]:
        """Particles on their way, "frames", and the points of the target, "real"."""
        return self.store.load_arrays(StudyCell(*(row[one.name] for one in fields(StudyCell))).key)

    def _first_seed_rows(self, problem: str) -> list[dict[str, Any]]:
        """The rows of a problem, one for each method."""
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        for row in self.rows:
            if row["problem"] == problem:
                found.setdefault(_method_key(row), row)
        return list(found.values())

    def __repr__(self) -> str:
        more = f", {self.left} not finished: call it again" if self.left else ""
        said = f"{format_count(len(self.rows), 'flow')} in {str(self.folder)!r}{more}"
        return "\n\n".join(filter(None, [self.table() if self.rows else "", said]))


def _method_key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["loss"], row["architecture"], row["width"]


def _unique_values(names: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(names))
