"""All pairs of a comparer, a block at a time, so that memory stays bounded whatever the lengths are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..sequences import Sequences
from ..train.batches import alike
from .comparer import Comparer, Prepared
from .frame_distances import exact_enough

NUMBERS_AT_ONCE = 1 << 25  # of all pairs of a block together: 128 MB in float32
_STEPS_AT_ONCE = 1 << 15  # of a part whose sequences are prepared together: a layer of 1024 units has 256 MB of them


class Part(NamedTuple):
    """Some of the sequences, of similar lengths, prepared; `ids` are their positions."""

    ids: NDArray[np.int64]
    prepared: Prepared

    @property
    def time(self) -> int:
        """The padded length."""
        return self.prepared.values.shape[1]

    def cut(self, begin: int, count: int) -> Part:
        """Some of them."""
        some = slice(begin, begin + count)
        return Part(self.ids[some], self.prepared.take(some))


@torch.no_grad()
def parts(network: Comparer, sequences: Sequences, dtype: torch.dtype = torch.float32) -> list[Part]:
    """The sequences, sorted by length and cut so that there is little padding; prepared, and rounded."""
    like = next(network.parameters(), torch.empty(0))
    found = []
    for ids in alike(sequences.lengths, _STEPS_AT_ONCE):
        values, own = sequences[ids].tensor()
        made = network.prepare(values.to(like.device, like.dtype), own)
        found.append(Part(ids, Prepared(made.values.to(dtype), made.lengths)))
    return found


def picked(known: list[Part], wanted: NDArray[np.int64]) -> list[Part]:
    """Those of what is prepared whose positions are wanted, with their place among the wanted as their position."""
    order = np.argsort(wanted)
    found = []
    for part in known:
        place = np.searchsorted(wanted, part.ids, sorter=order).clip(max=len(wanted) - 1)
        own = np.flatnonzero(wanted[order[place]] == part.ids)
        if len(own):
            found.append(Part(order[place[own]], part.prepared.take(torch.from_numpy(own))))
    return found


def fill(
    network: Comparer,
    x: Sequences,
    y: Sequences | None,
    out: NDArray[Any],
    report: Callable[[int, int], Any] | None = None,
    *,
    exact: Comparer | None = None,
) -> None:
    """Distances of all pairs into `out`; of x with itself when y is None, each pair once if that is enough.

    Sequences are prepared by `exact`, the network in double precision, or by the network itself.
    """
    preparing = network if exact is None else exact
    dtype = next((weight.dtype for weight in network.parameters()), torch.float32)
    rows = parts(preparing, x, dtype)
    columns = rows if y is None or y is x else parts(preparing, y, dtype)
    compare(network, rows, columns, out, report, once=y is None and network.symmetric)


@torch.no_grad()
def compare(
    network: Comparer,
    rows: list[Part],
    columns: list[Part],
    out: NDArray[Any],
    report: Callable[[int, int], Any] | None = None,
    *,
    once: bool = False,
) -> None:
    """Distances of all that is prepared into `out`; with `once` the columns are the rows, and each pair is one."""
    done = 0
    for a, b in _blocks(network, rows, columns, once):
        found = exact_enough(network.matrix(a.prepared, b.prepared)).cpu().numpy()
        out[np.ix_(a.ids, b.ids)] = found
        done += found.size
        if once and a.ids[0] != b.ids[0]:
            out[np.ix_(b.ids, a.ids)] = found.T
            done += found.size
        if report is not None:
            report(done, out.size)


def _blocks(network: Comparer, rows: list[Part], columns: list[Part], once: bool) -> Iterator[tuple[Part, Part]]:
    """Rectangles that cover everything; with `once`, where both sides are the same, those below the diagonal not."""
    for p, one in enumerate(rows):
        for q, two in enumerate(columns[p:] if once else columns, p if once else 0):
            same = once and p == q
            pairs = max(1, NUMBERS_AT_ONCE // network.room(one.time, two.time))
            height = min(len(one.ids), math.isqrt(pairs))
            width = height if same else max(1, pairs // height)
            for i in range(0, len(one.ids), height):
                for j in range(i if same else 0, len(two.ids), width):
                    yield one.cut(i, height), two.cut(j, width)
