"""The page of few labels: accuracy by the share of labels, and who is ahead at each."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.papers import markdown
from benchmarks.papers.results import Rows, having

Curve = list[tuple[float, int, list[float], list[float]]]
HEAD = ["data set", "share", "labels", "without labels", "with labels", "seeds"]


def curve(rows: Rows, name: str, shares: Sequence[float]) -> Curve:
    """Share, labels, accuracies without and with labels in training."""
    found = []
    for share in shares:
        some = having(rows, dataset=name, share=share)
        if some:
            sides = [[row[kind] for row in some] for kind in ("unsupervised", "supervised")]
            found.append((share, some[0]["labels"], sides[0], sides[1]))
    return found


def body(rows: Rows, sets: Sequence[str], shares: Sequence[float], planned: int, settings: str) -> str:
    curves = {name: curve(rows, name, shares) for name in sets}
    lines = [
        [name, f"{share:.0%}", str(labels), f"{mean(without):.3f}", f"{mean(given):.3f}", str(len(without))]
        for name, found in curves.items()
        for share, labels, without, given in found
    ]
    missing = planned - len(rows)
    state = f"**Not complete**: {missing} of {planned} rows are missing.\n\n" if missing else ""
    verdicts = "\n".join(f"- {name}: {verdict(found)}" for name, found in curves.items())
    return f"{state}{settings}\n\n{markdown.table(HEAD, lines)}\n\n{verdicts}\n"


def verdict(found: Curve) -> str:
    """Who is ahead at which share of labels.

    >>> verdict([(0.02, 6, [0.8], [0.7]), (0.5, 150, [0.9], [1.0]), (1.0, 300, [1.0], [1.0])])
    'representations without labels are ahead at 2%; behind at 50%; equal at 100% of the labels (one seed).'
    """
    if not found:
        return "no row yet."
    at: dict[str, list[str]] = {"ahead": [], "behind": [], "equal": []}
    for share, _, without, given in found:
        gap = mean(without) - mean(given)
        at["ahead" if gap > 0 else "behind" if gap < 0 else "equal"].append(f"{share:.0%}")
    said = "; ".join(f"{word} at {', '.join(shares)}" for word, shares in at.items() if shares)
    seeds = {len(without) for _, _, without, _ in found}
    how = "one seed" if seeds == {1} else f"{min(seeds)} to {max(seeds)} seeds"
    return f"representations without labels are {said} of the labels ({how})."
