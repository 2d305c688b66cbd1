from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

def dtw_pairwise(
    x: NDArray[Any],
    x_starts: NDArray[Any],
    x_lengths: NDArray[Any],
    y: NDArray[Any],
    y_starts: NDArray[Any],
    y_lengths: NDArray[Any],
    *,
    symmetric: bool,
    cells: int,
    share: float,
    cost: int,
    threads: int,
    out: NDArray[Any],
    report: Callable[[int, int], None] | None,
    isa: str | None = None,
) -> None: ...
def dtw_path(
    x: NDArray[Any], y: NDArray[Any], *, cells: int, share: float, cost: int, isa: str | None = None
) -> tuple[NDArray[Any], float]: ...
def isa() -> str: ...
def isas() -> list[str]: ...
def advance(
    query: NDArray[Any],
    samples: NDArray[Any],
    cost: int,
    threshold: float,
    column: NDArray[Any],
    column_starts: NDArray[Any],
    pending: NDArray[Any],
    place: NDArray[Any],
    /,
) -> list[tuple[int, int, float]]: ...
def scan(
    query: NDArray[Any],
    samples: NDArray[Any],
    begin: int,
    end: int,
    earliest: int,
    cost: int,
    column: NDArray[Any],
    column_starts: NDArray[Any],
    distances: NDArray[Any],
    starts: NDArray[Any],
    floors: NDArray[Any],
    /,
) -> int: ...
