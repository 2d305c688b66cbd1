"""The page about vectors of images: 1-NN accuracy by pixels and by encoders."""

from __future__ import annotations

from benchmarks.papers.markdown import format_mean, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

METHODS = {
    "pixels": "the pixels themselves",
    "untrained": "LeNet as it is drawn (`max_steps=0`)",
    "trained": "LeNet trained without labels (the default)",
    "trained with dropout": "the same with `dropout=0.5`, the default where `network(frame)` is trained with labels",
}


def accuracies(rows: Rows, method: str) -> list[float]:
    """Of every finished seed."""
    return [row["accuracy"] for row in having(rows, method=method)]


def headline(rows: Rows) -> str:
    """The result, in one sentence."""
    if not accuracies(rows, "trained"):
        return no_rows_yet(rows, "what training without labels adds to an image encoder")
    pixels, untrained, trained = (format_mean(accuracies(rows, one)) for one in ("pixels", "untrained", "trained"))
    return (
        f"The nearest neighbour of a digit has its class in {pixels} of cases by pixels, {untrained} by the vectors of "
        f"a LeNet as it is drawn and {trained} by those of one that learned without labels."
    )


def body(rows: Rows, n_searched: int, n_queries: int) -> str:
    """The table, and how it was made."""
    if not rows:
        return ""
    found = {method: accuracies(rows, method) for method in METHODS}
    lines = [[METHODS[method], format_mean(scores), str(len(scores))] for method, scores in found.items()]
    return f"""\
{table(["representation", "1-NN accuracy", "seeds"], lines)}

Share of {n_queries:,} digits of MNIST's training part whose nearest neighbour among {n_searched:,} others has the same
class. Encoders learn from the {n_searched:,} without labels. ± is the standard deviation over seeds, each of which
draws other
digits and other weights."""
