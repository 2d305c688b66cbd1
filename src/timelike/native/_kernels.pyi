from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

_Plan = tuple[Any, ...]
_Array = NDArray[Any]
_Report = Callable[[int, int], None] | None

def pairwise(
    plan: _Plan,
    *arrays: NDArray[Any],
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: _Report,
    isa: str | None = None,
) -> None: ...
def search(
    plan: _Plan,
    *arrays: NDArray[Any],
    rooted: bool,
    threads: int,
    ids: NDArray[Any],
    distances: NDArray[Any],
    report: _Report,
    isa: str | None = None,
) -> None: ...
def lower_bounds(plan: _Plan, *arrays: NDArray[Any], out: NDArray[Any], isa: str | None = None) -> bool: ...
def path(plan: _Plan, *arrays: NDArray[Any], budget: int, isa: str | None = None) -> tuple[NDArray[Any], float]: ...
def matrix(plan: _Plan, *arrays: NDArray[Any], out: NDArray[Any], isa: str | None = None) -> None: ...
def bounds(shape: int, cells: int, share: float, lo: NDArray[Any], hi: NDArray[Any], m: int) -> None: ...
def isa() -> str: ...
def isas() -> list[str]: ...
def rules() -> list[str]: ...
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
def warp(
    pairs: tuple[Any, ...],
    search: tuple[Any, ...],
    *,
    threads: int,
    phi: NDArray[Any],
    objective: NDArray[Any],
    residual: NDArray[Any],
    pins: NDArray[Any],
    glues: NDArray[Any],
    segments: NDArray[Any],
    crossing: NDArray[Any],
    report: _Report,
    isa: str = "",
) -> tuple[int, int, bool]: ...
def warp_gradients(pairs: tuple[Any, ...], search: tuple[Any, ...], threads: int, *arrays: NDArray[Any]) -> None: ...
def transport_pairs(
    how: _Plan,
    *arrays: NDArray[Any],
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    plan: NDArray[Any] | None,
    report: _Report,
    isa: str | None = None,
) -> tuple[int, int, int, float]: ...
def transport_plans(
    how: _Plan,
    *arrays: NDArray[Any],
    threads: int,
    plans: NDArray[Any],
    deviations: NDArray[Any],
    isa: str | None = None,
) -> None: ...
def transport_project(
    plans: NDArray[Any],
    gradients: NDArray[Any],
    *lengths: NDArray[Any],
    threads: int,
    out: NDArray[Any],
    isa: str | None = None,
) -> None: ...
def soft_costs(
    x: _Array, y: _Array, n: _Array, m: _Array, out: _Array, threads: int, isa: str | None = None
) -> None: ...
def soft_totals(
    plan: _Plan, costs: _Array, n: _Array, m: _Array, out: _Array, threads: int, isa: str | None = None
) -> None: ...
def soft_visits(
    plan: _Plan,
    costs: _Array,
    n: _Array,
    m: _Array,
    totals: _Array,
    out: _Array,
    budget: int,
    threads: int,
    isa: str | None = None,
) -> None: ...
def soft_product(
    plan: _Plan,
    costs: _Array,
    direction: _Array,
    n: _Array,
    m: _Array,
    out: _Array,
    budget: int,
    threads: int,
    isa: str | None = None,
) -> None: ...
def soft_pairs(
    plan: _Plan,
    x: _Array,
    x_starts: _Array,
    x_lengths: _Array,
    y: _Array,
    y_starts: _Array,
    y_lengths: _Array,
    rows: _Array,
    columns: _Array,
    out: _Array,
    threads: int,
    isa: str | None = None,
) -> None: ...
def soft_keep(
    plan: _Plan,
    x: _Array,
    x_starts: _Array,
    x_lengths: _Array,
    y: _Array,
    y_starts: _Array,
    y_lengths: _Array,
    out: _Array,
    budget: int,
    threads: int,
    isa: str | None = None,
) -> _Array | None: ...
def soft_gradients(
    plan: _Plan,
    x: _Array,
    x_starts: _Array,
    x_lengths: _Array,
    y: _Array,
    y_starts: _Array,
    y_lengths: _Array,
    scales: _Array,
    tables: _Array | None,
    x_gradient: _Array | None,
    y_gradient: _Array | None,
    budget: int,
    threads: int,
    isa: str | None = None,
) -> None: ...
def coupled_matrix(
    recurrent: _Array,
    coupling: _Array,
    candidate: _Array,
    coupling_bias: _Array,
    mean: bool,
    *steps: _Array,
    symmetric: bool,
    threads: int,
    out: _Array,
    report: _Report,
    isa: str | None = None,
) -> None: ...
def coupled_rows(
    recurrent: _Array,
    coupling: _Array,
    candidate: _Array,
    coupling_bias: _Array,
    mean: bool,
    *steps: _Array,
    keep: bool = False,
    threads: int,
    out: _Array,
    report: _Report,
    isa: str | None = None,
) -> _Array | None: ...
def coupled_gradients(
    recurrent: _Array,
    coupling: _Array,
    candidate: _Array,
    coupling_bias: _Array,
    mean: bool,
    *steps: _Array | None,
    budget: int,
    threads: int,
    report: _Report,
    isa: str | None = None,
) -> None: ...
def convolve_kept(
    layers: int, width: int, size: int, last_size: int, *lengths: _Array, out: _Array, isa: str | None = None
) -> None: ...
def convolve_forward(
    weights: list[_Array],
    biases: list[_Array],
    distances: _Array,
    positions: _Array,
    rows: _Array,
    columns: _Array,
    kept: _Array | None,
    starts: _Array | None,
    *,
    threads: int,
    out: _Array,
    isa: str | None = None,
) -> None: ...
def convolve_backward(
    weights: list[_Array],
    biases: list[_Array],
    distances: _Array,
    positions: _Array,
    rows: _Array,
    columns: _Array,
    kept: _Array,
    starts: _Array,
    gradient: _Array,
    *,
    threads: int,
    out: _Array,
    to_weights: list[_Array],
    to_biases: list[_Array],
    isa: str | None = None,
) -> None: ...
