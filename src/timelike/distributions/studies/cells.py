"""Cells of a study's grid, each a problem, a loss, an architecture, a width and a seed, and how a grid is read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.parameters import check_choice, check_int
from . import problems, settings
from .problems import FlowProblem

NAMED_PROBLEMS: dict[str, Callable[..., FlowProblem]] = {
    "8 Gaussians": problems.eight_gaussians,
    "letters": problems.letters,
    "densities": problems.densities,
}


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
        return "/".join((self.problem, self.loss, self.architecture, self.width, str(self.seed)))


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
            raise TypeError(f"problems[{cell.problem!r}] gave a {type(found).__name__}: expected a studies.Problem")
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
    """The choices of `run`, checked."""
    known = _check_choices(problems, "problems", tuple(NAMED_PROBLEMS), FlowProblem)
    for title, one in known.items():
        if not (isinstance(one, str | FlowProblem) or callable(one)):
            raise TypeError(
                f"problems[{title!r}] is a {type(one).__name__}: expected a studies.Problem(name, start, real), or a "
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
