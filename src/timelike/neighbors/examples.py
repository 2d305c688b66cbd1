"""`NeighborExamples`: sequences with the one nearest to each, lined up, where the answer is right and wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..align import DTW, Aligner, Alignment, Metric
from ..core.parameters import check_int, format_value
from ..core.validation.labels import validate_labels
from ..plotting import html
from ..plotting.alignments import SignalLabels, plot_match
from ..plotting.panels import shorten_name
from ..sequences import Sequences, as_sequences
from ..sequences.describe import overlay
from ..sequences.describe.quality_checks import channel_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_STEPS = 2000  # of a sequence that is lined up for a picture


@dataclass(frozen=True, repr=False)
class NeighborExample:
    """A query, the sequence nearest to it, their distance, and how they line up."""

    query: str
    neighbor: str
    label: Any
    """The class of the query, or its number; None without labels."""
    neighbor_label: Any
    answer: Any
    """The predicted class: that of the neighbour unless answers were given."""
    distance: float
    alignment: Alignment | None
    """None for sequences of more than 2000 steps, or with too many missing values."""
    sides: tuple[Sequences, Sequences]
    channel: int

    def __repr__(self) -> str:
        return self.caption

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is the class of the query; None without labels or an answer, and for numbers."""
        if self.label is None or self.answer is None or _is_number(self.label):
            return None
        return bool(self.answer == self.label)

    @property
    def caption(self) -> str:
        """The example in words."""
        query, neighbor = _with_class(self.query, self.label), _with_class(self.neighbor, self.neighbor_label)
        words = f"The sequence nearest to {query} is {neighbor}, at distance {_format_distance(self.distance)}"
        has_own_answer = self.answer is not None and self.answer != self.neighbor_label
        return f"{words}; the answer is {self.answer}." if has_own_answer else f"{words}."

    def plot(self, *, dark: bool = False) -> Figure:
        """Draw the two signals joined where they match."""
        if self.alignment is None:
            raise ValueError(f"{self.query} and {self.neighbor} are too long, or lack too much, to be lined up")
        clocks, time = overlay.pair_times(*self.sides)
        names = f"query {shorten_name(self.query)}", f"nearest {shorten_name(self.neighbor)}"
        labels = SignalLabels(names, clocks, time, shorten_name(channel_name(self.sides[0], self.channel)))
        return plot_match(self.alignment, channel=self.channel, labels=labels, dark=dark)

    def _repr_html_(self) -> str:
        if self.alignment is None:
            return html.paragraph(self.caption)
        return html.figure_html(self.plot(), self.caption)


@dataclass(frozen=True, repr=False)
class NeighborExamples:
    """The result of `neighbor_examples`: examples of right and of wrong answers, or of all without labels."""

    right: tuple[NeighborExample, ...]
    wrong: tuple[NeighborExample, ...]
    unlabelled: tuple[NeighborExample, ...]
    n_wrong: int
    n_items: int
    aligned_by: str

    def __repr__(self) -> str:
        return f"NeighborExamples({len(self.right)} right, {len(self.wrong)} wrong, {len(self.unlabelled)} unlabelled)"

    def _repr_html_(self) -> str:
        parts = [html.paragraph(f"Grey lines join the steps that {self.aligned_by} matches.")]
        if self.unlabelled:
            parts.append(_grid(self.unlabelled))
        if self.right:
            parts += [html.subheading("Right answers"), _grid(self.right)]
        if self.wrong:
            shown = f"{len(self.wrong)} of {self.n_wrong}" if len(self.wrong) < self.n_wrong else f"{self.n_wrong}"
            parts += [
                html.subheading(f"Wrong answers: {shown}, those with the nearest neighbour first"),
                _grid(self.wrong),
            ]
        elif self.right:
            parts.append(html.paragraph(f"None of the {self.n_items} answers is wrong."))
        return html.join_html(*parts)


def _format_distance(distance: float) -> str:
    """Four digits, without an exponent for large numbers.

    >>> _format_distance(0.123456), _format_distance(11147.6)
    ('0.1235', '11148')
    """
    return f"{distance:.0f}" if 1e4 <= abs(distance) < 1e9 else f"{distance:.4g}"


def _with_class(name: str, label: Any) -> str:
    if label is None:
        return name
    return f"{name} (label {label:.6g})" if _is_number(label) else f"{name} (class {label})"


def _is_number(label: Any) -> bool:
    """Whether a label is a number to predict, and no class: only these are floats."""
    return isinstance(label, float | np.floating)


def _grid(examples: tuple[NeighborExample, ...]) -> str:
    return f'<div class="cases">{html.join_html(*examples)}</div>'


def neighbor_examples(
    metric: Metric,
    X: Any,
    *,
    gallery: Any = None,
    answers: Any = None,
    distances: Any = None,
    n: int = 3,
    aligner: Aligner | None = None,
) -> NeighborExamples:
    """Examples of sequences and their nearest neighbours, with the alignment of both, for right and wrong answers.

    Right ones are taken from near to far, of different classes where that is possible; wrong ones begin with the
    nearest neighbour, because a near one of another class shows a wrong label or a missing feature.

    Parameters
    ----------
    metric : Metric
        Fitted, if it learns anything.
    X : Sequences
        The queries; their labels say what is right.
    gallery : Sequences, optional
        Where the neighbours come from, such as the training data; default: X, each query itself excluded.
    answers : array (item,), optional
        Predicted classes; default: the class of the nearest neighbour.
    distances : array (item, gallery), optional
        Those of the metric, if they are known already; default: the nearest are searched for.
    n : int
        The largest number of examples of each kind.
    aligner : Aligner, optional
        What lines up the signals: default: the metric if it aligns, otherwise `DTW(window=0.2)`.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0], [0.0, 1.1], [5.0, 6.0], [0.0, 1.4]], labels=["low", "low", "high", "high"])
    >>> found = tl.neighbors.neighbor_examples(tl.DTW(), X)
    >>> [one.caption for one in found.wrong]
    ['The sequence nearest to sequence 3 (class high) is sequence 1 (class low), at distance 0.09.']
    """
    queries = as_sequences(X, "X")
    collection = queries if gallery is None else as_sequences(gallery, "gallery")
    n = check_int(n, "n", 1)
    nearest, nearest_distances = _search_nearest(metric, queries, None if gallery is None else collection, distances)
    labels = None if queries.labels is None or queries.labels.dtype.kind == "f" else queries.labels
    if answers is not None:
        given = validate_labels(answers, "answers", "class")
        if given.shape != (len(queries),):
            raise ValueError(f"answers has shape {given.shape} for {len(queries)} sequences: expected one for each")
    elif labels is not None and collection.labels is not None and collection.labels.dtype.kind != "f":
        given = collection.labels[nearest]
    else:
        given = None
    if aligner is None:
        some_missing = queries.has_missing or collection.has_missing
        default = DTW(window=0.2, missing="ignore") if some_missing else DTW(window=0.2)
        aligner = metric if isinstance(metric, Aligner) else default
    deviations = _channel_deviations(queries)

    def make(item: int) -> NeighborExample:
        return _make_example(
            queries, collection, item, int(nearest[item]), given, float(nearest_distances[item]), aligner, deviations
        )

    if labels is None or given is None:
        chosen = _spread(np.argsort(nearest_distances, kind="stable"), n)
        return NeighborExamples((), (), tuple(map(make, chosen)), 0, len(queries), format_value(aligner))
    is_right = np.asarray(given == labels)
    order = np.argsort(nearest_distances, kind="stable")
    right = _spread_over_classes(order[is_right[order]], labels, n)
    wrong = order[~is_right[order]][:n].tolist()
    return NeighborExamples(
        tuple(map(make, right)),
        tuple(map(make, wrong)),
        (),
        int((~is_right).sum()),
        len(queries),
        format_value(aligner),
    )


def _search_nearest(
    metric: Metric, queries: Sequences, gallery: Sequences | None, distances: Any
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The nearest of the gallery, or of the other queries, and their distances, each (query,)."""
    if distances is None:
        found = metric.neighbors(queries if gallery is None else gallery, queries, 1, exclude_self=gallery is None)
        return found.ids[:, 0], found.distances[:, 0]
    known = np.array(distances, np.float64)
    expected = (len(queries), len(queries if gallery is None else gallery))
    if known.shape != expected:
        raise ValueError(f"distances has shape {known.shape}: expected {expected}, one for each query and item")
    if gallery is None:
        np.fill_diagonal(known, np.inf)
    nearest = known.argmin(axis=1)
    return nearest, known[np.arange(len(known)), nearest]


def _spread(order: NDArray[np.int64], n: int) -> list[int]:
    """At most n, from the first to the last."""
    if not len(order):
        return []
    places = np.unique(np.linspace(0, len(order) - 1, min(n, len(order))).astype(np.int64))
    return [int(item) for item in order[places]]


def _spread_over_classes(order: NDArray[np.int64], labels: NDArray[Any], n: int) -> list[int]:
    """At most n, of as many classes as possible, each the middle one of its class."""
    kinds = np.unique(labels[order])
    middles = [order[labels[order] == kind] for kind in kinds]
    chosen = [int(own[len(own) // 2]) for own in middles]
    chosen = [chosen[place] for place in _spread(np.arange(len(chosen)), n)]
    rest = [item for item in _spread(order, 2 * n) if item not in chosen]
    return (chosen + rest)[:n]


def _channel_deviations(sequences: Sequences) -> NDArray[np.float64]:
    """The standard deviation of every channel; 0 where it has no values."""
    values = sequences.values.reshape(len(sequences.values), -1).astype(np.float64)
    is_present = ~np.isnan(values)
    count = np.maximum(1, is_present.sum(axis=0))
    mean = np.where(is_present, values, 0.0).sum(axis=0) / count
    return np.asarray(np.sqrt(np.where(is_present, (values - mean) ** 2, 0.0).sum(axis=0) / count))


def _make_example(
    queries: Sequences,
    collection: Sequences,
    item: int,
    neighbor: int,
    answers: NDArray[Any] | None,
    distance: float,
    aligner: Aligner,
    deviations: NDArray[np.float64],
) -> NeighborExample:
    sides = queries[[item]], collection[[neighbor]]
    own = _channel_deviations(sides[0])
    relative = np.divide(own, deviations, out=np.zeros_like(own), where=deviations > 0)
    short = max(int(side.lengths[0]) for side in sides) <= _MAX_STEPS
    return NeighborExample(
        query=_name(queries, item),
        neighbor=_name(collection, neighbor),
        label=None if queries.labels is None else queries.labels[item],
        neighbor_label=None if collection.labels is None else collection.labels[neighbor],
        answer=None if answers is None else answers[item],
        distance=distance,
        alignment=_align(aligner, *sides) if short else None,
        sides=sides,
        channel=int(relative.argmax()),  # the one that moves most, for what it usually does
    )


def _name(sequences: Sequences, item: int) -> str:
    return f"sequence {item}" if sequences.ids is None else str(sequences.ids[item])


def _align(aligner: Aligner, x: Sequences, y: Sequences) -> Alignment | None:
    """The alignment; None where so many values are missing that there is none."""
    try:
        return aligner.align(x, y)
    except ValueError:
        if not (x.has_missing or y.has_missing):
            raise
        return None
