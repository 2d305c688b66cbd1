"""What the pages about digits share: names, numbers, what a training took, settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.results import Found, Rows

HELD_OUT = "held out: "
SCORES = {"psnr": ".2f", "ssim": ".4f"}  # and how they are written
SPRITES = """\
`SRVP` has the thesis's decoder, DCGAN. The decoder of `SRVP, sprites` is **not the thesis's**: `codec="sprites"` places
two patches of half the frame, made from the content w, where the state says. It suits things that move as a whole, as
the digits of this generator do."""
SHORT_SPRITES = f"""\
{SPRITES}

Forms of `SRVP, sprites` are compared because they learn something in trainings as short as these; the thesis's numbers
are for its own decoder."""
CHOSEN_ELSEWHERE = (
    "Settings were chosen by hand, partly on test pictures: see [the page about digits](srvp_digits.md#caveats)."
)


def no_network_rows(rows: Rows, missing: str, question: str) -> str:
    """The headline of a page whose networks were not trained yet."""
    cheap = join_words([f"`{name}`" for name in dict.fromkeys(row["method"] for row in rows.values())])
    has = f"the only rows are of {cheap}, which learn nothing" if cheap else "there is no row at all"
    return f"{missing} on this page ({has}), so nothing can be said about {question}."


def seeded(name: str, row: Found) -> str:
    """The name of a row, with its seed unless it is the first."""
    return name + (f", seed {row['seed']}" if row["seed"] else "")


def in_thesis(method: str) -> str:
    """The form of SRVP in the thesis, which has no sprites."""
    return method.replace("SRVP, sprites", "SRVP")


def number(found: list[float] | None, form: str) -> str:
    """A mean with its interval; a dash where there is none."""
    return "–" if found is None else f"{found[0]:{form}} [{found[1]:{form}}, {found[2]:{form}}]"


def are_apart(one: list[float], other: list[float]) -> bool:
    """Whether two intervals do not overlap: each is a mean, its low and its high end."""
    return one[1] > other[2] or other[1] > one[2]


def with_time(columns: Sequence[str], lines: Iterable[Sequence[str]], first: str = "method") -> str:
    """A table whose last columns say what training took, as `took` gives it."""
    return table([first, *columns, "minutes", "processor", "steps"], lines)


def took(row: Found) -> list[str]:
    """Minutes of the budget, minutes of the processor, and steps; dashes for what learns nothing.

    The two differ in rows made before budgets were processor time.
    """
    if "minutes" not in row:
        return ["–", "–", "–"]
    return [f"{row['minutes']:g}", f"{row['processor seconds'] / 60:.1f}", str(row["training steps"])]


def settings(rows: Rows) -> str:
    """The options of every network, as they were; where rows of one differ, of each."""
    forms: dict[tuple[str, str], list[str]] = {}
    for row in rows.values():
        if "options" in row and not row["method"].startswith(HELD_OUT):
            words = ", ".join(f"{name}={value!r}" for name, value in row["options"].items())
            forms.setdefault((row["method"], words), []).append(row["dataset"])
    methods = [method for method, _ in forms]
    lines = []
    for (method, words), sets in forms.items():
        where = f" ({', '.join(dict.fromkeys(sets))})" if methods.count(method) > 1 else ""
        lines.append(f"- {method}{where}: `{words}`")
    return "\n".join(lines)
