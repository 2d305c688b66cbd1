"""What the pages about digits share: how a page is put together, names, numbers, what a training took, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.papers.results import Found, Rows, having, told

HELD_OUT = "held out: "
SCORES = {"psnr": ".2f", "ssim": ".4f"}  # and how they are written
SPRITES = """\
`SRVP` has the thesis's decoder, DCGAN. The decoder of `SRVP, sprites` is **not the thesis's**: its `codec="sprites"`
lays two patches of half the frame, made of the content w, where the state says. It is made for things that move whole,
a prior that suits this generator, whose digits are such patches."""
SHORT_SPRITES = f"""\
{SPRITES}

Forms of `SRVP, sprites` are compared here because they learn something in trainings as short as these; what the thesis
has beside them is of its own decoder. How settings were chosen is said on
[the page about digits](srvp_digits.md#how-settings-were-chosen)."""


def page(rows: Rows, intro: str, parts: Iterable[str]) -> str:
    """What was run, what it is, the parts, and the settings; empty parts are left out."""
    if not rows:
        return "No row is finished yet."
    whole = [f"{told(rows)} The machine was shared.", intro, *parts, settings(rows)]
    return "\n\n".join(part for part in whole if part)


def versions(rows: Rows, names: Iterable[str], part: Callable[[Rows, str], str]) -> list[str]:
    """The part of every version that has a row."""
    return [part(rows, name) for name in names if having(rows, dataset=name)]


def seeded(name: str, row: Found) -> str:
    """The name of a row, with its seed unless it is the first."""
    return name + (f", seed {row['seed']}" if row["seed"] else "")


def in_thesis(method: str) -> str:
    """The form of SRVP in the thesis, which has no sprites."""
    return method.replace("SRVP, sprites", "SRVP")


def number(found: list[float] | None, form: str) -> str:
    """A mean with its interval; a dash where there is none."""
    return "–" if found is None else f"{found[0]:{form}} [{found[1]:{form}}, {found[2]:{form}}]"


def took(row: Found) -> list[str]:
    """Minutes by the clock, minutes of the processor, and steps; dashes for what learns nothing."""
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
    return "\n".join(["## Settings", "", *lines]) if lines else ""
