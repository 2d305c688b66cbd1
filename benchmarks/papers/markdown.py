"""Tables, numbers and word lists of the benchmark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, stdev


def table(head: Sequence[str], lines: Iterable[Sequence[str]], *, text: bool = False) -> str:
    """A Markdown table: the first column to the left and the others to the right, or all to the left for text.

    >>> print(table(["method", "score"], [["DTW", "0.9"]]))
    | method | score |
    |---|---:|
    | DTW | 0.9 |
    """
    rule = "|---|" + ("---|" if text else "---:|") * (len(head) - 1)
    return "\n".join([_line(head), rule, *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# --- numbers


def format_mean(values: Sequence[float], form: str = ".3f") -> str:
    """The mean, and the standard deviation (of a sample) if there are several values; a dash if there are none.

    >>> format_mean([]), format_mean([0.5]), format_mean([0.5, 0.6, 0.7])
    ('–', '0.500', '0.600 ± 0.100')
    """
    if not values:
        return "–"
    return f"{mean(values):{form}}" + (f" ± {stdev(values):{form}}" if len(values) > 1 else "")


def format_percent(values: Sequence[float], form: str = ".2f") -> str:
    """The same for fractions, in percent.

    >>> format_percent([0.5, 0.6, 0.7])
    '60.00 ± 10.00'
    """
    return format_mean([100 * value for value in values], form)


def format_signed(value: float, form: str = ".3f") -> str:
    """A number with its sign, and a proper minus.

    >>> format_signed(-0.25), format_signed(0.5, ".1f")
    ('−0.250', '+0.5')
    """
    return f"{value:+{form}}".replace("-", "−")


def format_difference(differences: Sequence[float], form: str = ".3f") -> str:
    """A mean difference and its 95 % interval (Student's t); no interval for one value, a dash for none.

    >>> format_difference([]), format_difference([-0.1]), format_difference([0.01, 0.03])
    ('–', '−0.100', '+0.020 [−0.107, +0.147]')
    """
    from timelike.score import interval  # here: the pages of programs that draw no interval need no library

    if not differences:
        return "–"
    found = interval(differences)
    within = f" [{found.low:+{form}}, {found.high:+{form}}]" if len(differences) > 1 else ""
    return f"{found.mean:+{form}}{within}".replace("-", "−")


def format_ratio(value: float) -> str:
    """How many times as much, with two digits that count.

    >>> format_ratio(1.349), format_ratio(13.1), format_ratio(0.0752)
    ('1.3', '13', '0.075')
    """
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def format_range(values: Iterable[float], form: str | None = None) -> str:
    """The least and the greatest value, as ratios unless a form is given; one number where both look the same.

    >>> format_range([4.31, 357.2]), format_range([2.0]), format_range([0.5, 0.25], ".2f")
    ('4.3 to 357', '2', '0.25 to 0.50')
    """
    known = list(values)
    low, high = (format_ratio(end) if form is None else f"{end:{form}}" for end in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


# --- words


def join_words(words: Sequence[str]) -> str:
    """A list as English has it.

    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def count_of(n: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun.

    >>> count_of(1, "seed"), count_of(3, "seed"), count_of(0, "class", "classes")
    ('1 seed', '3 seeds', '0 classes')
    """
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def capitalize_first(text: str) -> str:
    """The first letter large, the others as they are.

    >>> capitalize_first("the MAP is high")
    'The MAP is high'
    """
    return text[:1].upper() + text[1:]
