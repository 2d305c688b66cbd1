"""Kernel matrices in blocks of rows, so that large samples never have all of theirs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .base import Kernel, Matrix

MAX_MATRIX_ENTRIES = 1 << 24
"""Similarities of a matrix that is kept whole, in double precision 128 MiB: 4096 items. A larger one is made in blocks,
anew for every use."""
BLOCK_ENTRIES = 1 << 21
"""Similarities of a block: 16 MiB. Above 32 MiB memory comes fresh from the system, page by page, for every block."""

RowBlocks = Iterator[tuple[slice, Matrix]]


def iterate_row_blocks(kernel: Kernel, x: Any, y: Any) -> RowBlocks:
    """Rows of x, and their similarities to all of y: both are what `Kernel._precompute_items` gave."""
    at_once = max(1, BLOCK_ENTRIES // max(1, len(y)))
    for begin in range(0, len(x), at_once):
        rows = slice(begin, min(begin + at_once, len(x)))
        yield rows, kernel._kernel_matrix(x[rows], y)


def iterate_lower_blocks(kernel: Kernel, x: Any) -> RowBlocks:
    """Rows of x, and their similarities to x up to the last of them: a little more than half of the matrix."""
    begin = 0
    while begin < len(x):
        # r rows that begin there have r · (begin + r) similarities
        at_once = max(1, int((np.sqrt(begin**2 + 4.0 * BLOCK_ENTRIES) - begin) / 2))
        rows = slice(begin, min(begin + at_once, len(x)))
        yield rows, kernel._kernel_matrix(x[rows], x[: rows.stop])
        begin = rows.stop
