"""`EmbeddingMap`: a collection in the plane, as a metric or an encoder sees it, with neighbours and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..align import Metric
from ..align.gallery import smallest_positions
from ..core.parameters import check_bool, check_int, format_count
from ..core.random import RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..plotting import embeddings
from ..plotting.interactive_map import MapPoints, MapView, interactive_map
from ..sequences import Sequences, as_sequences
from ..sequences.describe.quality_checks import channel_name
from .base import Encoder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_ITEMS = 4000  # distances of all pairs are computed
_N_KEPT = 10  # nearest neighbours of which a map should keep as many as it can
_N_LISTED = 5  # neighbours that the page names
_MAX_CHANNELS = 3  # drawn of a sequence that is pointed at


@dataclass(frozen=True, repr=False)
class EmbeddingMap:
    """The result of `embedding_map`: it draws itself, and in a notebook or report it can be pointed at and clicked.

    `views` has one or two maps; each has a `name`, `places` (item, 2) and a `note`, which says what was kept.
    `neighbors` (item, k) are the positions of the nearest sequences in the space of the metric, not in the map.
    """

    sequences: Sequences
    views: tuple[MapView, ...]
    neighbors: NDArray[np.int64]
    answers: NDArray[Any] | None
    method: str

    def __repr__(self) -> str:
        return f"EmbeddingMap({self._headline()}; {self.views[0].note})"

    def plot(self, view: int = 0, *, dark: bool = False) -> Figure:
        """Draw a view as a scatter plot, with one colour per class; `dark` is for a dark page."""
        chosen = self.views[check_int(view, "view", 0, len(self.views) - 1)]
        title = f"{self._headline()}, {chosen.name}"
        return embeddings.plot_points(chosen.places, self.sequences.labels, title=title, dark=dark)

    def _headline(self) -> str:
        return f"{format_count(len(self.sequences), 'sequence')}, {self.method}"

    def _repr_html_(self) -> str:
        sequences, labels = self.sequences, self.sequences.labels
        ids = sequences.ids
        names = [f"sequence {i}" if ids is None else str(ids[i]) for i in range(len(sequences))]
        codes, classes, facts = np.full(len(sequences), -1), [], [("length", [str(n) for n in sequences.lengths])]
        if labels is not None and labels.dtype.kind == "f":
            facts.append(("label", [f"{value:.6g}" for value in labels]))
        elif labels is not None:
            kinds, codes = np.unique(labels, return_inverse=True)
            classes = [str(kind) for kind in kinds.tolist()]
        if sequences.groups is not None:
            facts.append(("group", [str(group) for group in sequences.groups.tolist()]))
        answers = None if self.answers is None else [str(answer) for answer in self.answers.tolist()]
        wrong = None if self.answers is None or not classes else np.asarray(self.answers != labels)
        points = MapPoints(names, codes, classes, answers, wrong, facts, self.neighbors, *self._lines())
        return interactive_map(self.views, points, label=f"Map of {self._describe(classes)}")

    def _describe(self, classes: list[str]) -> str:
        words = f" of {len(classes)} {'class' if len(classes) == 1 else 'classes'}" if classes else ""
        return f"{self._headline()}{words}; similar sequences are near each other"

    def _lines(self) -> tuple[list[str], list[list[NDArray[Any]]]]:
        """The names of the first channels, and their values in every sequence."""
        if len(self.sequences.frame) > 1:
            return [], []
        channels = range(min(self.sequences.frame[0], _MAX_CHANNELS))
        lines = [[sequence[:, c] for c in channels] for sequence in self.sequences]
        return [channel_name(self.sequences, c) for c in channels], lines


def embedding_map(
    metric: Metric,
    X: Any,
    *,
    answers: Any = None,
    distances: Any = None,
    tsne: bool = False,
    random_state: RandomState = 0,
) -> EmbeddingMap:
    """The sequences of X in the plane: near each other where the metric finds them similar.

    The vectors of an encoder are projected to their two directions of largest variance (PCA), which is also done with
    the distances of any other metric (classical scaling; Torgerson, 1952). The note of a map says how many of the ten
    nearest neighbours of a sequence are also among its ten nearest on the map, on average.

    Parameters
    ----------
    metric : Metric
        Fitted, if it learns anything.
    X : Sequences
        At most 4000: the distances of all pairs are computed. Labels colour the map.
    answers : array (item,), optional
        Predicted classes: wrong ones are marked.
    distances : array (item, item), optional
        `metric.pairwise(X)`, if it is known already.
    tsne : bool
        Whether to make a second map with t-SNE, which keeps more neighbours and no distances (van der Maaten and
        Hinton, 2008).
    random_state
        Seed of t-SNE.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, 1.0, 0.1]], labels=["low", "high", "low"])
    >>> found = tl.encode.embedding_map(tl.DTW(), X)
    >>> found.neighbors[:, 0]
    array([2, 2, 0])
    """
    if not isinstance(metric, Metric):
        raise TypeError(f"metric={metric!r:.80}: expected a metric or an encoder, such as timelike.DTW()")
    sequences = as_sequences(X, "X")
    if not 1 <= len(sequences) <= _MAX_ITEMS:
        raise ValueError(f"X holds {len(sequences)} sequences: expected 1 to {_MAX_ITEMS}, such as X.split(…)[1]")
    if answers is not None:
        answers = validate_labels(answers, "answers", "class")
        if answers.shape != (len(sequences),):
            raise ValueError(f"answers has shape {answers.shape} for {len(sequences)} sequences: expected one for each")
    if isinstance(metric, Encoder):
        vectors = metric._to_euclidean(metric.encode(sequences))
        distances = _euclidean_distances(vectors)
        places, shares = embeddings.principal_components(vectors)
    else:
        known = metric.pairwise(sequences) if distances is None else distances
        distances = validate_array(known, "distances").astype(np.float64)
        if distances.shape != (len(sequences), len(sequences)):
            raise ValueError(f"distances has shape {distances.shape} for {len(sequences)} sequences: expected a square")
        bad = np.argwhere(~np.isfinite(distances))
        if len(bad):
            i, j = bad[0].tolist()
            raise ValueError(
                f"distances[{i}, {j}] is {distances[i, j]}: expected finite distances, to place them in a map"
            )
        distances = (distances + distances.T) / 2  # a learned metric need not be symmetric
        places, shares = _classical_scaling(distances)
    nearest = _nearest_positions(distances)
    name = "PCA" if isinstance(metric, Encoder) else "Classical scaling"
    note = f"its directions have {shares[0]:.0%} and {shares[1]:.0%} of the variance"
    views = [_make_view(name, places, note, nearest)]
    if check_bool(tsne, "tsne") and len(sequences) > _N_LISTED:
        note = "distances between groups and their sizes mean little"
        views.append(_make_view("t-SNE", _tsne_places(distances, random_state), note, nearest))
    return EmbeddingMap(sequences, tuple(views), nearest[:, :_N_LISTED], answers, type(metric).__name__)


def _euclidean_distances(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(vectors, vectors))


def _classical_scaling(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places (item, 2) whose distances are as given as far as two dimensions allow, and their shares of the variance.

    >>> line = np.array([0.0, 3.0, 7.0])
    >>> places, shares = _classical_scaling(abs(line[:, None] - line))
    >>> np.round(places[:, 0] - places[0, 0], 6).tolist(), np.round(shares, 6).tolist()
    ([0.0, 3.0, 7.0], [1.0, 0.0])
    """
    squares = distances**2
    products = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    sizes, directions = np.linalg.eigh(products)
    sizes, directions = np.maximum(sizes[::-1], 0.0), directions[:, ::-1]  # of no plane, where they are negative
    places, shares = np.zeros((len(distances), 2)), np.zeros(2)
    n = min(2, len(sizes))
    signs = np.sign(np.take_along_axis(directions[:, :n], np.abs(directions[:, :n]).argmax(axis=0)[None], axis=0)[0])
    places[:, :n] = directions[:, :n] * signs * np.sqrt(sizes[:n])
    shares[:n] = sizes[:n] / sizes.sum() if sizes.sum() > 0 else 0.0
    return places, shares


def _nearest_positions(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest others of every item, at most ten, (item, k)."""
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    return smallest_positions(others, min(_N_KEPT, len(others) - 1)) if len(others) > 1 else np.empty((1, 0), np.int64)


def _make_view(name: str, places: NDArray[np.float64], note: str, nearest: NDArray[np.int64]) -> MapView:
    """A map with a note about the neighbours that it keeps."""
    k = nearest.shape[1]
    kept = ""
    if k:
        on_map = _nearest_positions(_euclidean_distances(places))
        share = np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(nearest, on_map, strict=True)])
        kept = f"; of the {k} nearest neighbours of a sequence it keeps {share:.0%} on average"
    return MapView(name, places, f"{name}: {note}{kept}.")


def _tsne_places(distances: NDArray[np.float64], random_state: RandomState) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE

    rng = check_random_state(random_state)
    reducer = TSNE(
        metric="precomputed",
        init="random",
        perplexity=min(30.0, (len(distances) - 1) / 3),
        random_state=int(rng.integers(1 << 31)),
    )
    return np.asarray(reducer.fit_transform(np.maximum(distances, 0.0)), np.float64)
