"""`Study`: what a grid of flows came to, as rows, a table, JSON and figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import files
from ...core.parameters import format_count
from ...plotting import landscapes as draw
from ..discriminators.plots import plot_particles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_MOMENTS = 4  # of a flow that are shown
_MAX_METHODS = 8  # of a problem that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The finished flows of `run`: `rows` as dicts, each with its settings, its divergences and its history."""

    rows: tuple[dict[str, Any], ...]
    left: int
    """Flows that were not finished: the same call goes on."""
    folder: Path = field(repr=False)

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
        return draw.plot_descents(curves)

    def plot_moments(self, problem: str) -> Figure:
        """Particles over time for each method of a problem in the plane, of the first seed."""
        flows, target = {}, np.zeros((0, 2))
        for row in self._first_seed_rows(problem)[:_MAX_METHODS]:
            with np.load(self.folder / "flows" / row["particles"]) as held:
                frames, target = held["frames"], held["real"]
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
            with np.load(self.folder / "flows" / self._first_seed_rows(problem)[0]["particles"]) as held:
                plane = held["real"].shape[1:] == (2,)
            if plane:
                figures[f"particles-{name}.png"] = self.plot_moments(problem)
            for file, figure in figures.items():
                with files.atomic_write(self.folder / file) as temporary:
                    figure.savefig(temporary, dpi=110, metadata={"Software": None}, format="png")
                written.append(self.folder / file)
        return written

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
