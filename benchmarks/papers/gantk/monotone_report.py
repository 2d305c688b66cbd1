"""The page about rises of MMD: whether it falls at every step, for smooth kernels and for ReLU's."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import format_range, join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

SMOOTH = ("RBF", "sigmoid")
SHARES = (1.0, 0.1, 0.01)


def headline(rows: Rows) -> str:
    """Where MMD² falls at every step, and where it does not."""
    if not rows:
        return no_rows_yet(rows, "whether MMD² falls at every step")
    names = list(dict.fromkeys(row["architecture"] for row in rows.values()))
    falling = [name for name in names if not any(row["rises"] for row in having(rows, architecture=name))]
    rising = [name for name in names if name not in falling]
    parts = []
    if falling:
        parts.append(f"MMD² falls at every step, for every step size tried, with {join_words(falling)}")
    if rising:
        counts = [row["rises"] for name in rising for row in having(rows, architecture=name) if row["rises"]]
        parts.append(f"MMD² rises at {format_range(counts, '.0f')} of 3 000 steps with {join_words(rising)}")
    smooth = [name for name in names if name in SMOOTH]
    good = all(name in falling for name in smooth)
    verdict = (
        "this agrees with proposition 4 of the thesis, which is about smooth kernels only; ReLU's has a cusp"
        if smooth and good
        else "this contradicts proposition 4 of the thesis"
        if smooth
        else "proposition 4 of the thesis, which is about smooth kernels, is not tested by these rows"
    )
    return f"{'; '.join(parts)}: {verdict}."


def body(rows: Rows) -> str:
    """Rises by kernel and step."""
    if not rows:
        return ""
    names = list(dict.fromkeys(row["architecture"] for row in rows.values()))
    lines = [
        _line(found) for name in names for share in SHARES if (found := having(rows, architecture=name, share=share))
    ]
    head = ["kernel", "step", "rises, each seed", "largest rise", "rounding", "MMD² at the start", "at the end"]
    return "\n\n".join(filter(None, [table(head, lines), ABOUT, _proposition(rows), RELU]))


ABOUT = """8 Gaussians, 100 particles onto 100, 3 000 steps under the IPM of infinite width. Proposition 4 says that
particles descend MMD², so with a smooth kernel it falls at every step below twice the inverse of its curvature. MMD² is
taken before every step; a rise counts when it exceeds the rounding of a sum, 64 ε of the largest similarity."""
RELU = """## Why ReLU rises

ReLU's tangent kernel is −|x − y| to first order around x = y: a cusp, whose curvature nothing bounds. Two points that
are closer than a step jump over each other, and MMD² rises, for any fixed step. What holds instead is the law of the
[floor](gantk_floors.md): the divergence ends at about (step / N)², so smaller last steps bring it as low as one
likes."""


def _line(found: list[Found]) -> list[str]:
    one = found[0]
    rises = " · ".join(str(row["rises"]) for row in found)
    numbers = [f"{max(row['largest'] for row in found):.1e}", f"{max(row['rounding'] for row in found):.1e}"]
    ends = [f"{mean(row[key] for row in found):.2e}" for key in ("start", "end")]
    return [one["architecture"], f"{one['step']:g}", rises, *numbers, *ends]


def _proposition(rows: Rows) -> str:
    lines = []
    for name in SMOOTH:
        found = having(rows, architecture=name)
        if found:
            steps = sorted({row["step"] for row in found})
            good = [step for step in steps if not any(row["rises"] for row in found if row["step"] <= step)]
            most = f"at every step up to {max(good):g}" if good else "at no step tried"
            met = "met" if good else "NOT MET"
            lines.append(f"- {name}: MMD² falls {most} (tried: {', '.join(f'{one:g}' for one in steps)}): **{met}**")
    return "\n".join(["## Proposition 4", "", *lines]) if lines else ""
