"""Programs whose page is a Markdown template: all tables of the papers, and most of those in `benchmarks.accuracy`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from benchmarks.papers import command
from benchmarks.papers.page import NOTHING, fill_paragraph, fill_template, no_rows_yet, split_caveats
from benchmarks.papers.results import Row, Rows
from benchmarks.papers.resumable import Program

R = TypeVar("R", bound=Row)


class Experiment(Program[R]):
    """A program with a template: `table.md` beside its module, filled in by the module's functions of the rows.

    The module has a function `headline(rows)`. Where the functions of several programs are in one module, or those of
    one program are too many for its own, `report` names it.
    """

    question: ClassVar[str]  # what nothing can be said about as long as rows are missing
    report: ModuleType | None = None
    shown_without_rows: ClassVar[bool] = False  # whether the paper's numbers are on the page before there are ours

    @classmethod
    def of_rows(cls, rows: Rows) -> Self:
        """The program with these finished rows, which are in no file."""
        program = cls(command.parsed(cls, ["--budget", "0", "--results", "no_file.json"]))
        program.results.rows = rows
        return program

    @classmethod
    def file(cls) -> str:
        return cls.table if cls.place == "benchmarks" else super().file()

    def headline(self) -> str:
        try:
            return str(self.page_values()["headline"](self.rows))
        except NOTHING:
            return no_rows_yet(self.rows, self.question)

    def body(self) -> str:
        if not self.rows and not self.shown_without_rows:
            return ""
        return fill_template(self._template()[0], self.page_values(), self.rows)

    def caveats(self) -> list[str]:
        return [fill_paragraph(one, self.page_values(), self.rows) for one in self._template()[1]]

    def page_values(self) -> dict[str, Any]:
        """What the fields of the template stand for."""
        return vars(self.report or sys.modules[type(self).__module__])

    def _template(self) -> tuple[str, list[str]]:
        path = Path(str(sys.modules[type(self).__module__].__file__)).with_name(f"{self.table}.md")
        return split_caveats(path.read_text(encoding="utf-8"))
