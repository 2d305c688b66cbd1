"""What tests read of a section: the numbers of its tables, and all that must be the same in every run."""

import re

from timelike.cli.demo.section import Section


def table_rows(part: str) -> dict[str, list[float]]:
    """The numbers of a table by the first cell of the row."""
    rows = re.findall(r"<tr><td>(.*?)</td>(.*?)</tr>", part)
    return {name: [float(number) for number in re.findall(r">([\d.e+-]+)<", cells)] for name, cells in rows}


def without_figures(section: Section) -> tuple:
    """Scores, words and tables: figures have random ids."""
    return section.scores, tuple(part for part in section.parts if "<figure" not in part)


def run_code(section: Section, **names: object) -> None:
    """Run the lines that a page shows for one's own data, with two steps of training in place of many."""
    code, n_changed = re.subn(r"max_steps=\d+", "max_steps=2", section.code)
    assert n_changed
    exec(compile(code, section.title, "exec"), names)
