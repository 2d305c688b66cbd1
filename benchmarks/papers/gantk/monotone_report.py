"""The page about rises of MMD: none for smooth kernels below a stated step, and many for ReLU's."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

SMOOTH = ("RBF", "sigmoid")
SHARES = (1.0, 0.1, 0.01)


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    names = list(dict.fromkeys(row["architecture"] for row in rows.values()))
    lines = [
        _line(found) for name in names for share in SHARES if (found := having(rows, architecture=name, share=share))
    ]
    head = ["kernel", "step", "rises, every seed", "largest rise", "rounding", "MMD² at the start", "at the end"]
    return "\n\n".join([_about(rows), table(head, lines), _verdict(rows), _why()])


def _about(rows: Rows) -> str:
    return f"""{told(rows)} The machine was shared.

8 Gaussians, 100 particles onto 100, 3 000 steps of the IPM of infinite width and time 1. Proposition 4: particles
descend MMD², so with a smooth kernel it falls at every step below twice the inverse of its curvature. MMD² is taken
before every step; a rise is one by more than the rounding of a sum, 64 ε of the largest similarity."""


def _line(found: list[Found]) -> list[str]:
    one = found[0]
    rises = " · ".join(str(row["rises"]) for row in found)
    numbers = [f"{max(row['largest'] for row in found):.1e}", f"{max(row['rounding'] for row in found):.1e}"]
    ends = [f"{mean(row[key] for row in found):.2e}" for key in ("start", "end")]
    return [one["architecture"], f"{one['step']:g}", rises, *numbers, *ends]


def _verdict(rows: Rows) -> str:
    said = []
    for name in SMOOTH:
        found = having(rows, architecture=name)
        if found:
            steps = sorted({row["step"] for row in found})
            good = [step for step in steps if not any(row["rises"] for row in found if row["step"] <= step)]
            most = f"at every step up to {max(good):g}" if good else "at no step tried"
            met = "met" if good else "NOT MET"
            said.append(f"- {name}: MMD² falls {most} (tried: {', '.join(f'{one:g}' for one in steps)}): **{met}**")
    return "\n".join(["## Proposition 4", "", *said]) if said else ""


def _why() -> str:
    return """## ReLU

ReLU's tangent kernel is −|x − y| to first order around x = y: a cusp, and no curvature bounds it. Two points that are
nearer than a step jump over each other, and MMD² rises, at any fixed step. What holds instead is the law of the
[floor](gantk_floors.md): the divergence ends at about (step / N)², so that smaller last steps bring it as low as
asked."""
