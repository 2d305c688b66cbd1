"""The page of few labels: accuracy by the share of labels, and who is ahead at each."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.papers import markdown
from benchmarks.papers.page import no_rows_yet
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


def headline(rows: Rows, sets: Sequence[str], shares: Sequence[float]) -> str:
    """At how many shares of labels representations learned without labels are ahead."""
    parts, ahead = [], []
    for name in sets:
        found = curve(rows, name, shares)
        if found:
            share, labels, without, given = found[0]
            ahead += [mean(a) > mean(b) for _, _, a, b in found]
            parts.append(
                f"with {labels} labels ({share:.0%}) of {name} an SVM on representations learned without labels has "
                f"{mean(without):.3f} and the same network learned from those labels, the rival, {mean(given):.3f}"
            )
    if not parts:
        return no_rows_yet(rows, "representations learned without labels when labels are few")
    words = "; ".join(parts)
    verdict = "agrees with" if all(ahead) else "contradicts" if not any(ahead) else "agrees only in part with"
    return (
        f"{words[0].upper()}{words[1:]}. Over all shares it is ahead at {sum(ahead)} of {len(ahead)}, which {verdict} "
        "the thesis (another data set and rival), where it is ahead at every share."
    )


def body(rows: Rows, sets: Sequence[str], shares: Sequence[float], settings: str) -> str:
    """Accuracies by share of labels."""
    if not rows:
        return ""
    curves = {name: curve(rows, name, shares) for name in sets}
    lines = [
        [name, f"{share:.0%}", str(labels), f"{mean(without):.3f}", f"{mean(given):.3f}", str(len(without))]
        for name, found in curves.items()
        for share, labels, without, given in found
    ]
    verdicts = "\n".join(f"- {name}: {verdict(found)}" for name, found in curves.items())
    return f"{markdown.table(HEAD, lines)}\n\n{settings}\n\n{verdicts}\n"


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
