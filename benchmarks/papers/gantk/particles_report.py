"""The page about table 6.1: our Sinkhorn divergences beside the thesis's, and the order of the architectures."""

from __future__ import annotations

from statistics import mean
from typing import NamedTuple

from benchmarks.papers.markdown import capitalize_first, count_of, format_mean, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

PROBLEMS = ("8 Gaussians", "letters", "densities")
STANDS_FOR = {"8 Gaussians": "8 Gaussians", "letters": "AB", "densities": "Density"}
ARCHITECTURES = ("RBF", "ReLU", "ReLU without bias", "sigmoid")
# table 6.1: problem, loss, width → RBF, ReLU, ReLU without bias, sigmoid
THESIS: dict[tuple[str, str, str], tuple[float | None, ...]] = {
    ("densities", "IPM", "∞"): (2.4e-3, 3.3e-9, 7.3e-2, 6.3e-3),
    ("densities", "LSGAN", "∞"): (7.5e-3, 1.5e-3, 2.8e-1, 2.2e-1),
    ("letters", "IPM", "∞"): (4.7e-3, 2.6e-9, 6.1e-3, 5.7e-3),
    ("letters", "LSGAN", "∞"): (1.1e-2, 8.6e-3, 1.0e-1, 1.4e-2),
    ("8 Gaussians", "IPM", "∞"): (2.6e-2, 9.4e-7, 9.7e-2, 8.4e-2),
    ("8 Gaussians", "LSGAN", "∞"): (4.2e-1, 7.6e-2, 1.3e1, 7.4),
    ("densities", "IPM", "128"): (None, 5.0e-3, 9.3e-2, 3.1e-2),
    ("densities", "LSGAN", "128"): (None, 1.5e-2, 1.6e-1, 5.9e-2),
    ("letters", "IPM", "128"): (None, 2.8e-3, 3.7e-2, 1.3e-2),
    ("letters", "LSGAN", "128"): (None, 1.3e-1, 2.6e-2, 8.8e-2),
    ("8 Gaussians", "IPM", "128"): (None, 1.2e-1, 1.2, 7.4e-1),
    ("8 Gaussians", "LSGAN", "128"): (None, 3.1, 7.5, 7.4),
}
FACTOR = 2.0  # a divergence within this factor of the thesis's, or below it, is called the same
CLAIMS = (  # worse, better, in words
    ("ReLU without bias", "ReLU", "bias-free worse than biased"),
    ("sigmoid", "RBF", "sigmoid worse than RBF"),
    ("RBF", "ReLU", "ReLU better than RBF"),
)


class Order(NamedTuple):
    """One of the thesis's orders between two architectures of infinite width, with our divergences of both."""

    problem: str
    loss: str
    words: str
    worse: float
    better: float

    @property
    def holds(self) -> bool:
        return self.worse > self.better


# --- the page


def headline(rows: Rows) -> str:
    """ReLU on 8 Gaussians beside the thesis's number and RBF, and how many orders hold."""
    ours = finals(rows, problem="8 Gaussians", loss="IPM", architecture="ReLU", width="∞", schedule="one step")
    if not ours:
        return no_rows_yet(rows, "the infinitely wide ReLU discriminator on 8 Gaussians, the main number of table 6.1")
    theirs = THESIS["8 Gaussians", "IPM", "∞"][1]
    assert theirs is not None
    agrees = "agrees with" if mean(ours) <= FACTOR * theirs else "falls short of"
    cheap = finals(rows, problem="8 Gaussians", loss="IPM", architecture="RBF", width="∞", schedule="one step")
    beside = f", where the cheap RBF kernel ends at {mean(cheap):.1e}" if cheap else ""
    first = (
        f"On 8 Gaussians an infinitely wide ReLU discriminator (IPM) brings particles to a Sinkhorn divergence of "
        f"{mean(ours):.1e} ({count_of(len(ours), 'seed')}; thesis: {theirs:.1e}){beside}: this {agrees} table 6.1."
    )
    orders = list_orders(rows)
    if not orders:
        return first
    held = sum(order.holds for order in orders)
    return f"{first} Of {len(orders)} of the thesis's orders between two architectures {held} hold here."


def body(rows: Rows) -> str:
    """Tables of the three problems, then schedules and orders."""
    if not rows:
        return ""
    parts = [_problem(rows, problem) for problem in PROBLEMS]
    return "\n\n".join(filter(None, [*parts[:1], _about(), *parts[1:], _smaller(rows), _targets(rows), _orders(rows)]))


def caveats() -> list[str]:
    return [
        "The thesis makes 20 000 steps on 8 Gaussians and 10 000 on the others; the tables say how many were made "
        "here.",
        "AB and Density are pictures of another library. Our letters and densities are drawn by formulas, so those "
        "tables compare orders of magnitude only.",
    ]


def finals(rows: Rows, **fields: str) -> list[float]:
    """Divergences at the end, of every seed."""
    return [float(row["final"]) for row in having(rows, **fields)]


def _problem(rows: Rows, problem: str) -> str:
    lines = [line for key in THESIS if key[0] == problem and (line := _line(rows, *key))]
    if not lines:
        return ""
    title = capitalize_first(problem) + ("" if STANDS_FOR[problem] == problem else f", beside {STANDS_FOR[problem]}")
    return f"## {title}\n\n{table(['loss', 'width', 'steps', *ARCHITECTURES], lines)}"


def _about() -> str:
    return """Each cell is our Sinkhorn divergence at the end (± over seeds) with the thesis's in brackets; lower is
better. 500 particles move onto 500 points by x ← x − step · ∇c_f(x). The divergence follows geomloss, as in the thesis:
cost ‖x − y‖²/2, so it tends to W₂²/2 (blur 0.001, scaling 0.95). Steps are the thesis's η divided by its 500 particles:
2 for infinite width, 0.2 (IPM) and 0.002 (LSGAN) for networks of width 128 that are not reset, and a thousand times as
much for sigmoid."""


def _line(rows: Rows, problem: str, loss: str, width: str) -> list[str]:
    cells, steps = [], set[int]()
    for name, theirs in zip(ARCHITECTURES, THESIS[problem, loss, width], strict=True):
        found = having(rows, problem=problem, loss=loss, width=width, architecture=name, schedule="one step")
        steps |= {row["steps"][-1] for row in found if not row["diverged"]}
        known = "" if theirs is None else f" ({theirs:.1e})"
        cells.append("–" if not found else f"{_final_cell(found)}{known}")
    if all(cell == "–" for cell in cells):
        return []
    return [loss, width, ", ".join(map(str, sorted(steps))), *cells]


def _final_cell(found: list[Found]) -> str:
    values = [row["final"] for row in found if not row["diverged"]]
    diverged = len(found) - len(values)
    parts = [format_mean(values, ".1e") if values else "", f"{diverged} diverged" if diverged else ""]
    return ", ".join(filter(None, parts))


def _smaller(rows: Rows) -> str:
    how = {"loss": "IPM", "architecture": "ReLU", "width": "∞"}
    lines, ratios = [], []
    for problem in PROBLEMS:
        found = [finals(rows, problem=problem, schedule=name, **how) for name in ("one step", "smaller last steps")]
        if all(found):
            lines.append([problem, *(f"{mean(one):.1e}" for one in found)])
            theirs = THESIS[problem, "IPM", "∞"][1]
            assert theirs is not None
            ratios.append(f"{mean(found[0]) / theirs:.0f} times the thesis's {STANDS_FOR[problem]} for {problem}")
    if not lines:
        return ""
    return f"""## Smaller last steps

ReLU, IPM, infinite width: 3 000 steps of 2, or 2 000 of 2 followed by 500 of 0.2 and 500 of 0.02.

{table(["problem", "step 2 throughout", "smaller last steps"], lines)}

With a step of 2 throughout, the divergence ends at {" and ".join(ratios)}. Our shapes differ from the thesis's; whether
that explains all of it we do not know."""


def _targets(rows: Rows) -> str:
    how = {"loss": "IPM", "architecture": "ReLU", "width": "∞"}
    targets = [
        ("8 Gaussians", "one step", 2e-6),
        *((one, "smaller last steps", 1e-7) for one in ("letters", "densities")),
    ]
    lines = []
    for problem, schedule, most in targets:
        found = finals(rows, problem=problem, schedule=schedule, **how)
        if found:
            met = "met" if max(found) <= most else "NOT MET"
            words = f"at most {max(found):.1e} in {count_of(len(found), 'seed')}, target {most:.0e}"
            lines.append(f"- {problem}, ReLU, IPM, infinite width, {schedule}: **{met}** ({words})")
    return "\n".join(["## Targets", "", *lines]) if lines else ""


def list_orders(rows: Rows, problems: tuple[str, ...] = PROBLEMS) -> list[Order]:
    """The thesis's orders between architectures of infinite width for which both have rows."""
    orders = []
    for problem in problems:
        for loss in ("IPM", "LSGAN"):
            how = {"problem": problem, "loss": loss, "width": "∞", "schedule": "one step"}
            for worse, better, words in CLAIMS:
                pair = [finals(rows, architecture=name, **how) for name in (worse, better)]
                if all(pair):
                    orders.append(Order(problem, loss, words, mean(pair[0]), mean(pair[1])))
    return orders


def _orders(rows: Rows) -> str:
    lines = [
        f"- {one.problem}, {one.loss}: {one.words}: **{'holds' if one.holds else 'DOES NOT HOLD'}** "
        f"({one.worse:.1e} and {one.better:.1e})"
        for one in list_orders(rows)
    ]
    return "\n".join(["## Order among architectures of infinite width", "", *lines]) if lines else ""
