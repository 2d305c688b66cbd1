"""The verbs every distance has, written once: doors, threads, symmetry, progress, memory."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..sequences import Sequences, as_one, as_sequences
from ..sequences.arguments import whole
from ..sequences.doors import computed_dtype
from . import spread
from .alignment import Alignment
from .candidates import Ids, checked_candidates, nearest_among

Report = native.Report

_BLOCK = 1 << 24  # distances at a time in a search
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Matches(NamedTuple):
    """The k nearest of every query: `ids` are positions in the collection, both arrays (query, k), nearest first."""

    ids: NDArray[np.int64]
    distances: NDArray[Any]


class Gallery:
    """A collection made ready for many searches under a metric; made by `Metric.prepared`."""

    def __init__(self, metric: Metric, collection: Sequences) -> None:
        self.metric, self.collection = metric, collection

    def neighbors(self, queries: Any, k: int = 1, *, n_jobs: int | None = None) -> Matches:
        """The k nearest to every query, as `metric.neighbors` gives them."""
        return self.metric.neighbors(self.collection, queries, k, n_jobs=n_jobs)


class Metric(abc.ABC):
    """Anything that compares two sequences. A subclass fills in `_fill`; the verbs are here."""

    symmetric: ClassVar[bool] = True
    # promises of tests/contract that the method cannot keep, each with the reason
    departs: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        options: list[Field[Any]] = [field for field in fields(self) if field.init] if is_dataclass(self) else []
        said = (f"{o.name}={getattr(self, o.name)!r}" for o in options if getattr(self, o.name) != o.default)
        return f"{type(self).__name__}({', '.join(said)})"

    @abc.abstractmethod
    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        """Distances of all pairs into `out`; y is None when the collection is compared with itself."""

    def distance(self, x: Any, y: Any) -> float:
        """The distance of two sequences, each (time,) or (time, channel)."""
        first, second = as_one(x, "x"), as_one(y, "y")
        self._refuse(first, second, ("x", "y"))
        out = np.empty((1, 1), computed(first, second))
        self._fill(first, second, out, 1, None)
        refuse_nonfinite(out, ("x", "y"))
        return float(out[0, 0])

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        n_jobs: int | None = None,
        out: NDArray[Any] | None = None,
        progress: bool = False,
    ) -> NDArray[Any]:
        """Distances of all pairs, (len X, len Y); of X with itself when Y is None.

        `n_jobs=None` uses all cores. `out` is filled and returned: a memory map, for a matrix larger than memory.
        """
        x = as_sequences(X, "X")
        y = None if Y is None else as_sequences(Y, "Y")
        with _bar(progress) as report:
            return self._filled(x, y, ("X", "Y"), threads=threads_of(n_jobs), out=out, report=report)

    def _filled(
        self,
        x: Sequences,
        y: Sequences | None,
        names: tuple[str, str],
        *,
        threads: int,
        out: NDArray[Any] | None = None,
        report: Report = None,
    ) -> NDArray[Any]:
        self._refuse(x, y, names)
        shape, dtype = (len(x), len(x if y is None else y)), computed(x, x if y is None else y)
        out = _room(shape, dtype) if out is None else _checked(out, shape, dtype, x, y)
        other = y if y is not None or self.symmetric else x
        if not spread.over_cluster(self, x, other, out):
            self._fill(x, other, out, threads, report)
        refuse_nonfinite(out, names if y is not None else (names[0], names[0]))
        return out

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        for name, given in zip(names, (x, y), strict=True):
            if given is None:
                continue
            if len(given) == 0:
                raise ValueError(f"{name} holds no sequences: expected at least one")
            given.refuse_missing(type(self).__name__, name)
        if y is not None and x.frame != y.frame:
            raise ValueError(
                f"{names[0]} has frames of shape {x.frame} and {names[1]} of {y.frame}: expected the same channels; "
                'an array (item, channel, time) needs Sequences(data, layout="nct")'
            )

    def neighbors(self, X: Any, queries: Any, k: int = 1, *, among: Any = None, n_jobs: int | None = None) -> Matches:
        """The k sequences of X nearest to every query; equal distances in the order of X.

        With `among` only candidates are compared: positions (query, candidate) in X, or the `Matches` of another
        metric, whose best are put in a new order.
        """
        collection, asked = as_sequences(X, "X"), as_sequences(queries, "queries")
        self._refuse_search(collection, asked, k)
        if among is not None:
            chosen = checked_candidates(among, len(asked), len(collection), k)
            distances = self._among(collection, asked, chosen, threads_of(n_jobs))
            refuse_nonfinite(distances, ("queries", "among"))
            return Matches(*nearest_among(chosen, distances, k))
        found = self._nearest(collection, asked, k, threads_of(n_jobs))
        return self._brute_force(collection, asked, k, n_jobs) if found is None else found

    def _among(self, collection: Sequences, asked: Sequences, chosen: Ids, threads: int) -> NDArray[Any]:
        """The distance of every query from each of its candidates, (query, candidate)."""
        out = np.empty(chosen.shape, computed(asked, collection))
        for query, ids in enumerate(chosen):
            self._fill(asked[query : query + 1], collection[ids], out[query : query + 1], threads, None)
        return out

    def prepared(self, X: Any) -> Gallery:
        """X made ready for many searches: `metric.prepared(X).neighbors(queries, k)`.

        A metric that computes something of X alone does so here, once.
        """
        return Gallery(self, as_sequences(X, "X"))

    def _refuse_search(self, collection: Sequences, asked: Sequences, k: int) -> None:
        self._refuse(asked, collection, ("queries", "X"))
        if whole(k, "k", 1) > len(collection):
            raise ValueError(f"k={k}: expected 1 to {len(collection)}, the number of sequences in X")

    def _nearest(self, collection: Sequences, asked: Sequences, k: int, threads: int) -> Matches | None:
        """A faster way to the same answer, where a metric has one."""
        return None

    def _brute_force(self, collection: Sequences, asked: Sequences, k: int, n_jobs: int | None) -> Matches:
        def block(rows: slice) -> NDArray[Any]:
            return self.pairwise(asked[rows], collection, n_jobs=n_jobs)

        return nearest_of_blocks(block, len(asked), len(collection), k)


class Aligner(Metric):
    """A metric that also says how two sequences line up."""

    @abc.abstractmethod
    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        """The alignment of the two sequences, each a collection of one."""

    def align(self, x: Any, y: Any) -> Alignment:
        """How `y` lines up with `x`."""
        first, second = as_one(x, "x"), as_one(y, "y")
        self._refuse(first, second, ("x", "y"))
        found = self._align(first, second)
        refuse_nonfinite(np.array([[found.cost]]), ("x", "y"))
        if all(isinstance(side, Sequences) or np.ndim(side) > 1 for side in (x, y)):
            return found
        return replace(found, x=found.x[:, 0], y=found.y[:, 0])  # plain (time,) came in, so plain (time,) is kept


def nearest_of_blocks(distances: Callable[[slice], NDArray[Any]], n_asked: int, n_known: int, k: int) -> Matches:
    """The k nearest from distances (query, known) of some queries at a time, so that memory stays bounded."""
    rows = max(1, _BLOCK // n_known)
    ids, found = [], []
    for begin in range(0, n_asked, rows):
        block = distances(slice(begin, begin + rows))
        ids.append(np.argsort(block, axis=1, kind="stable")[:, :k])
        found.append(np.take_along_axis(block, ids[-1], axis=1))
    return Matches(np.concatenate(ids), np.concatenate(found))


def computed(x: Sequences, y: Sequences) -> np.dtype[Any]:
    """The dtype of the computation: float64 where a float32 could not hold the values, otherwise float32."""
    if x.dtype == y.dtype and x.dtype in _FLOATS:  # asked for every pair, so the common answer comes first
        return x.dtype
    return computed_dtype(x.dtype, y.dtype)


def threads_of(n_jobs: int | None) -> int:
    if n_jobs is None or n_jobs == -1:
        return native.cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r}: expected a positive number of threads, or None or -1 for all cores")
    return int(n_jobs)


def _room(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    need = shape[0] * shape[1] * dtype.itemsize
    have = _memory() if need > 1 << 24 else None
    if have is not None and need > have:
        raise MemoryError(
            f"a matrix of {shape[0]} × {shape[1]} {dtype} distances needs {need / 2**30:.1f} GiB and this machine has "
            f"{have / 2**30:.1f}: pass out=np.memmap(path, dtype={dtype.name!r}, mode='w+', shape={shape}), "
            + ("use float32, " if dtype == np.float64 else "")
            + "or ask for neighbors()"
        )
    return np.empty(shape, dtype)


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _checked(
    out: NDArray[Any], shape: tuple[int, int], dtype: np.dtype[Any], x: Sequences, y: Sequences | None
) -> NDArray[Any]:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}: expected a NumPy array or memmap")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out is {out.shape} {out.dtype}: expected {shape} {dtype}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be a writeable array in C order")
    if any(np.may_share_memory(out, side.buffers()[0]) for side in (x, y) if side is not None):
        raise ValueError("out overlaps the sequences in memory: give it an array of its own")
    return out


@contextmanager
def _bar(progress: bool) -> Iterator[Report]:
    if not progress:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(total=1.0, unit="", bar_format="{l_bar}{bar}| {elapsed}<{remaining}") as bar:
        yield lambda done, total: bar.update(done / total - bar.n) and None
        bar.update(1.0 - bar.n)


def refuse_nonfinite(out: NDArray[Any], names: tuple[str, str]) -> None:
    if np.isfinite(out.max()):  # max sees inf and nan without a matrix of flags
        return
    row, column = np.argwhere(~np.isfinite(out))[0]
    what = f"the distance of {names[0]}[{row}] and {names[1]}[{column}] is"
    if np.isnan(out[row, column]):
        raise ValueError(
            f"{what} nan, because the array the sequences were made from was changed afterwards (keep a "
            "Sequences.copy() of it), or because a network that was learned has weights that are not finite"
        )
    raise ValueError(
        f"{what} too large for {out.dtype}: standardize() the sequences"
        + (" or give them as float64" if out.dtype == np.float32 else "")
    )
