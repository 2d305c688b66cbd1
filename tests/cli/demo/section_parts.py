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
