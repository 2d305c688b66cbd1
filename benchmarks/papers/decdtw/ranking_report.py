"""Who is ahead in the DecDTW comparison, in words made of the figures, and the first run, whose ranking was another."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.decdtw.methods import METHODS
from benchmarks.papers.markdown import format_mean, table
from benchmarks.papers.results import Found, Rows, having

# test TimeErr of the first run, which is in the history (commit 690ae64): DILATE under DTW, DecDTW under GDTW
FIRST = {"melspec": (68.39, 74.77), "chroma": (65.70, 68.71), "generated": (0.8842, 0.5487)}
METRIC = {"melspec": "TimeErr", "chroma": "TimeErr", "generated": "TimeErr", "places": "max error"}

REVERSED = """\
**The ranking reversed after the test scores of a first run had been seen.** In that run DILATE was ahead of DecDTW on
both kinds of music. DecDTW's epochs were judged at the λ of training but its features were scored at a λ chosen again,
so it stopped at its second epoch. The rule was then changed: every epoch is judged at its own best λ. The rule was
tried on validation data only, and it is the same for all methods that are judged under GDTW; but DecDTW is the only
learned one of these, so nothing changed for DILATE except the number of seeds. Readers who do not accept the change
should use the columns of the first run. """


def reversal(rows: Rows) -> str:
    """The first run beside this one."""
    lines = []
    for task, (dilate, before) in FIRST.items():
        now = [errors(rows, task, method) for method in ("dilate", "decdtw")]
        if all(now):
            ahead = [_ahead(dilate, before), _ahead(*map(mean, now))]
            lines.append([task, f"{dilate:.3g}", f"{before:.3g}", *map(format_error, now), *ahead])
    head = [
        "test TimeErr",
        "DILATE, first",
        "DecDTW, first",
        "DILATE, now",
        "DecDTW, now",
        "ahead at first",
        "ahead now",
    ]
    return f"{REVERSED}\n{table(head, lines)}" if lines else ""


def _ahead(dilate: float, decdtw: float) -> str:
    return "DILATE" if dilate < decdtw else "DecDTW"


def errors(rows: Rows, task: str, method: str, aligner: str | None = None) -> list[float]:
    """Of every seed, under the method's own alignment unless another is given."""
    part = f"test {aligner or METHODS[method].aligner}"
    return [row[part][METRIC[task]] for row in having(rows, task=task, method=method)]


def format_error(values: list[float]) -> str:
    """Three digits: errors are in ms, percent or metres."""
    return format_mean(values, ".3g")


def verdict(rows: Rows, task: str) -> str:
    """What the rows of a task say of DecDTW, DILATE and the base features."""
    said = [_beside_dilate(rows, task), _dilate_under_gdtw(rows, task), _untrained(rows, task)]
    return "\n".join(f"- {one}" for one in said if one)


def _beside_dilate(rows: Rows, task: str) -> str:
    ours, theirs = (errors(rows, task, method) for method in ("decdtw", "dilate"))
    if not ours or not theirs:
        return ""
    won = _won(rows, task)
    apart = f"DecDTW is ahead with {sum(won)} of the {len(won)} seeds that both have"
    if len(won) < 2:
        apart = f"{'DecDTW' if all(won) else 'DILATE'} is ahead with the one seed that both have"
    return (
        f"DecDTW beside DILATE, each under its own alignment: {format_error(ours)} and {format_error(theirs)}; {apart}."
    )


def _won(rows: Rows, task: str) -> list[bool]:
    """For every seed that both have: whether DecDTW's error is below DILATE's."""
    by = {m: {row["seed"]: row for row in having(rows, task=task, method=m)} for m in ("decdtw", "dilate")}
    both = by["decdtw"].keys() & by["dilate"].keys()
    return [_own(by["decdtw"][seed], task) < _own(by["dilate"][seed], task) for seed in both]


def _own(row: Found, task: str) -> float:
    return float(row[f"test {METHODS[row['method']].aligner}"][METRIC[task]])


def _dilate_under_gdtw(rows: Rows, task: str) -> str:
    """The paper: features learned under DTW are worse than base features under GDTW, DILATE's above all."""
    ours, theirs, base = (errors(rows, task, m, "GDTW") for m in ("decdtw", "dilate", "base-gdtw"))
    if not (ours and theirs and base):
        return ""
    better = mean(theirs) < mean(base)
    beside = f"{'better' if better else 'worse'} than base features ({format_error(base)})"
    paper = " (in the paper they are worse)" if better and task in ("melspec", "chroma") else ""
    place = "ahead of" if mean(theirs) < mean(ours) else "behind"
    return (
        f"DILATE's features aligned by GDTW: {format_error(theirs)}, {beside}{paper}, and {place} DecDTW's "
        f"({format_error(ours)})."
    )


def _untrained(rows: Rows, task: str) -> str:
    """Methods that never got better on validation than before their first step."""
    names = {key: "OTAM" if (task, key) == ("places", "soft-dtw") else method.name for key, method in METHODS.items()}
    found = {key: having(rows, task=task, method=key) for key, method in METHODS.items() if method.loss}
    stayed = [names[key] for key, some in found.items() if some and all(row["epoch"] == 0 for row in some)]
    return (
        f"{' and '.join(stayed)}: no training step helped on validation, so these features are untrained."
        if stayed
        else ""
    )
