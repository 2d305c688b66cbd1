"""Tables and numbers of the papers' pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, pstdev


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """The first column to the left, the others to the right.

    >>> print(table(["method", "score"], [["DTW", "0.9"]]))
    | method | score |
    |---|---:|
    | DTW | 0.9 |
    """
    rule = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([_line(head), rule, *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float], form: str = ".3f") -> str:
    """Mean, and the deviation if there are several; a dash if there are none.

    >>> spread([]), spread([0.5]), spread([0.5, 0.7])
    ('–', '0.500', '0.600 ± 0.100')
    """
    if not values:
        return "–"
    return f"{mean(values):{form}}" + (f" ± {pstdev(values):{form}}" if len(values) > 1 else "")


def percent(values: Sequence[float]) -> str:
    """The same of shares, in hundredths.

    >>> percent([0.5, 0.7])
    '60.00 ± 10.00'
    """
    return spread([100 * value for value in values], ".2f")
