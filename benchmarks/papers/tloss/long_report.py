"""The page of the long series: errors beside those of predicting no change, and the thesis's table 3.2."""

from __future__ import annotations

from benchmarks.papers import markdown
from benchmarks.papers.clock import duration
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows

THESIS = {"day": ("8.92e-2", "8.92e-2", "12 s", "3 min"), "quarter": ("7.26e-2", "6.26e-2", "9 s", "1 h 40 min")}
CLOSE = 20.0  # percent: the thesis's quarter is 16 % worse, which it calls slight
HEAD = ["windows", "test windows", "no change", "error, representations", "error, raw values"]
HEAD += ["regression, representations", "regression, raw", "encoding"]
THEIRS = ["windows", "error, representations", "error, raw values", "time, representations", "time, raw"]


def headline(rows: Rows) -> str:
    """Representations beside raw values and no change, in error and in time."""
    if not rows:
        return no_rows_yet(rows, "forecasts of a household's electricity from representations")
    each, worse, slower = [], [], []
    for name, row in rows.items():
        ours, raw = row["representations"], row["raw"]
        each.append(
            f"{ours['error']:.3g} for windows of a {name} (raw values {raw['error']:.3g}, no change "
            f"{row['no change']:.3g})"
        )
        worse.append(_beside(ours["error"], raw["error"]))
        slower.append((row["encoding"] + ours["seconds"]) / raw["seconds"])
    near = "agrees with" if max(worse) <= CLOSE else "contradicts"
    speed = "contradicts" if min(slower) > 1 else "agrees with"
    return (
        f"Linear regression on representations has an error of {markdown.join_words(each)}. It is "
        f"{_percent_range(worse)} worse "
        f'than raw values, which {near} the thesis\'s "only slightly", and with the encoding it takes '
        f"{markdown.format_range(slower)} times as long, which {speed} the thesis, where it is far faster."
    )


def _percent_range(values: list[float]) -> str:
    return f"{markdown.format_range(values, '.0f')} %"


def body(rows: Rows, first: int) -> str:
    """`first`: hours that the encoder learned from."""
    if not rows:
        return ""
    one = next(iter(rows.values()))
    return f"""\
{markdown.table(HEAD, [line(name, row) for name, row in rows.items()])}

{chr(10).join(verdict(name, row) for name, row in rows.items())}

The series has {one["hours"]} hours; the encoder learned from the first {first} in {duration(one["training seconds"])}
on one thread. A linear map predicts the mean of the next period minus that of the window. Errors are mean squares on
the hours after the first year, in units of the first year's variance; `no change` predicts 0. The time of regression
includes the choice of its penalty.

## The thesis (table 3.2)

{markdown.table(THEIRS, [[name, *cells] for name, cells in THESIS.items()])}
"""


def caveats() -> list[str]:
    return [
        "The thesis has minutes and a GPU, windows of a day and a quarter, and learns the map by gradient descent; it "
        "does not say what predicting no change would give. Our regression on raw values is solved exactly, which is "
        "why it is fast.",
    ]


def line(name: str, row: Found) -> list[str]:
    ours, raw = row["representations"], row["raw"]
    errors = [f"{value:.3g}" for value in (row["no change"], ours["error"], raw["error"])]
    times = [f"{ours['seconds']:.2g} s", f"{raw['seconds']:.2g} s", duration(row["encoding"])]
    return [name, str(row["windows"][1]), *errors, *times]


def verdict(name: str, row: Found) -> str:
    """What the figures of a row say, in words.

    >>> found = {"no change": 0.1, "encoding": 3, "representations": {"error": 0.12, "seconds": 0.1}}
    >>> print(verdict("quarter", found | {"raw": {"error": 0.07, "seconds": 0.2}}))
    - quarter: representations **lose to predicting no change**, 0.12 against 0.1 (+20 %), and to raw values, 0.07
      (+71 %). With the encoding they take 3.1 s, raw values 0.2 s.
    """
    ours, raw = row["representations"], row["raw"]
    nothing, other = (_beside(ours["error"], error) for error in (row["no change"], raw["error"]))
    first = "**lose to predicting no change**" if nothing > 0 else "are ahead of predicting no change"
    second = ("and to" if nothing > 0 else "and lose to") if other > 0 else "and are ahead of"
    times = f"With the encoding they take {row['encoding'] + ours['seconds']:.2g} s, raw values {raw['seconds']:.2g} s."
    return (
        f"- {name}: representations {first}, {ours['error']:.3g} against {row['no change']:.3g} ({nothing:+.0f} %), "
        f"{second} raw values, {raw['error']:.3g}\n  ({other:+.0f} %). {times}"
    )


def _beside(error: float, other: float) -> float:
    """By how many hundredths it is larger."""
    return 100 * (error / other - 1)
