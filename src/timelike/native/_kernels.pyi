"""Signatures of module.cpp and of every family's host.cpp, as they are called; float32 and float64 are overloads."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[Any]
_Ints = NDArray[np.int64]
_Doubles = NDArray[np.float64]
_Report = Callable[[int, int], None] | None
_Program = tuple[str, int, bool, float, float, int, int, float]  # elastic.Program.numbers
_Soft = tuple[float, int, int, float]  # soft.Soft.numbers
_Scaling = tuple[int, float, float, int, float, float, float, bool]  # transport.Scaling.numbers
_Options = tuple[int, float, bool, int, int, float, bool]  # warp.Options.numbers
_Network = tuple[tuple[tuple[int, float], ...], int, float, float, bool]  # tangent.Network
_Problems = tuple[_Array, ...]  # warp.Problems

coupled_stretch: int
# machine

def isa() -> str: ...
def isas() -> list[str]: ...
def room(count: int, /) -> _Array: ...

# elastic

def pairwise(
    program: _Program,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    gap: _Array,
    x_thresholds: _Array,
    y_thresholds: _Array,
    /,
    *,
    symmetric: bool,
    threads: int,
    out: _Array,
    report: _Report,
    isa: str | None = None,
) -> None: ...
def search(
    program: _Program,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    gap: _Array,
    x_thresholds: _Array,
    y_thresholds: _Array,
    /,
    *,
    rooted: bool,
    threads: int,
    ids: _Ints,
    distances: _Array,
    report: _Report,
    isa: str | None = None,
) -> None: ...
def nearest_by_window(
    program: _Program,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    cells: _Ints,
    shares: _Array,
    totals: _Array,
    /,
    *,
    rooted: bool,
    averaged: bool,
    threads: int,
    out: _Ints,
    report: _Report,
    isa: str | None = None,
) -> None: ...
def lower_bounds(
    program: _Program,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    /,
    *,
    out: _Array,
    isa: str | None = None,
) -> bool: ...
def path(
    program: _Program,
    x: _Array,
    y: _Array,
    gap: _Array,
    x_thresholds: _Array,
    y_thresholds: _Array,
    /,
    *,
    budget: int,
    isa: str | None = None,
) -> tuple[_Ints, float]: ...
def matrix(
    program: _Program,
    x: _Array,
    y: _Array,
    gap: _Array,
    x_thresholds: _Array,
    y_thresholds: _Array,
    /,
    *,
    out: _Array,
    isa: str | None = None,
) -> None: ...
def bounds(shape: int, cells: int, share: float, lo: _Array, hi: _Array, m: int, /) -> None: ...
def rules() -> list[str]: ...

# soft

def soft_costs(
    x: _Array, y: _Array, n: _Ints, m: _Ints, out: _Array, threads: int, /, isa: str | None = None
) -> None: ...
def soft_totals(
    soft: _Soft, costs: _Array, n: _Ints, m: _Ints, out: _Array, threads: int, /, isa: str | None = None
) -> None: ...
def soft_visits(
    soft: _Soft,
    costs: _Array,
    n: _Ints,
    m: _Ints,
    totals: _Array,
    out: _Array,
    budget: int,
    threads: int,
    /,
    isa: str | None = None,
) -> None: ...
def soft_product(
    soft: _Soft,
    costs: _Array,
    direction: _Array,
    n: _Ints,
    m: _Ints,
    out: _Array,
    budget: int,
    threads: int,
    /,
    isa: str | None = None,
) -> None: ...
def soft_pairs(
    soft: _Soft,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    rows: _Ints,
    columns: _Ints,
    out: _Array,
    threads: int,
    /,
    isa: str | None = None,
) -> None: ...
def soft_keep(
    soft: _Soft,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    out: _Array,
    budget: int,
    threads: int,
    /,
    isa: str | None = None,
) -> _Array | None: ...
def soft_gradients(
    soft: _Soft,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    scales: _Array,
    tables: _Array | None,
    x_gradient: _Array | None,
    y_gradient: _Array | None,
    budget: int,
    threads: int,
    /,
    isa: str | None = None,
) -> None: ...

# warp

def warp(
    problems: _Problems,
    options: _Options,
    /,
    *,
    threads: int,
    phi: _Doubles,
    objective: _Doubles,
    residual: _Doubles,
    pins: NDArray[np.int8],
    glues: NDArray[np.int8],
    segments: NDArray[np.int32],
    crossing: NDArray[np.int32],
    report: _Report,
    isa: str | None = None,
) -> tuple[int, int, bool]: ...
def warp_gradients(
    problems: _Problems,
    options: _Options,
    threads: int,
    phi: _Doubles,
    pins: NDArray[np.int8],
    glues: NDArray[np.int8],
    segments: NDArray[np.int32],
    crossing: NDArray[np.int32],
    of_phi: _Doubles,
    of_objective: _Doubles,
    x: _Doubles,
    y: _Doubles,
    lambdas: _Doubles,
    s_min: _Doubles,
    s_max: _Doubles,
    b_min: _Doubles,
    b_max: _Doubles,
    x_rows: _Ints,
    y_rows: _Ints,
    /,
) -> None: ...

# transport

def transport_pairs(
    scaling: _Scaling,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    /,
    *,
    symmetric: bool,
    threads: int,
    out: _Array,
    plan: _Doubles | None,
    report: _Report,
    isa: str | None = None,
) -> tuple[int, int, int, float]: ...
def transport_plans(
    scaling: _Scaling,
    costs: _Doubles,
    n: _Ints,
    m: _Ints,
    /,
    *,
    threads: int,
    plans: _Doubles,
    deviations: _Doubles,
    isa: str | None = None,
) -> None: ...
def transport_sums(
    cost: _Doubles,
    f: _Doubles,
    g: _Doubles,
    a: _Doubles,
    b: _Doubles,
    shrink: float,
    /,
    *,
    symmetric: bool,
    threads: int,
    by_row: _Doubles,
    by_column: _Doubles,
    isa: str | None = None,
) -> None: ...
def transport_project(
    plans: _Doubles, gradients: _Doubles, n: _Ints, m: _Ints, /, *, threads: int, out: _Doubles, isa: str | None = None
) -> None: ...

# coupled

def coupled_matrix(
    recurrent: _Array,
    coupling: _Array,
    candidate: _Array,
    coupling_bias: _Array,
    mean: bool,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    /,
    *,
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
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    first: _Ints,
    second: _Ints,
    /,
    *,
    keep: bool = False,
    threads: int,
    out: _Array,
    gates: _Array | None = None,
    report: _Report,
    isa: str | None = None,
) -> _Array | None: ...
def coupled_gradients(
    recurrent: _Array,
    coupling: _Array,
    candidate: _Array,
    coupling_bias: _Array,
    mean: bool,
    x: _Array,
    x_starts: _Ints,
    x_lengths: _Ints,
    y: _Array,
    y_starts: _Ints,
    y_lengths: _Ints,
    first: _Ints,
    second: _Ints,
    scales: _Array,
    kept: _Array,
    by_x: _Array,
    by_y: _Array | None,
    by_recurrent: _Array,
    by_coupling: _Array,
    by_candidate: _Array,
    by_coupling_bias: _Array,
    /,
    *,
    gate_scales: _Array | None = None,
    budget: int,
    threads: int,
    report: _Report,
    isa: str | None = None,
) -> None: ...

# convolve

def convolve_kept(width: int, rows: _Ints, columns: _Ints, /, out: _Ints, isa: str | None = None) -> None: ...
def convolve_forward(
    weights: list[_Array],
    biases: list[_Array],
    distances: _Array,
    positions: _Array,
    rows: _Ints,
    columns: _Ints,
    kept: _Array | None,
    starts: _Ints | None,
    /,
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
    rows: _Ints,
    columns: _Ints,
    kept: _Array | None,
    starts: _Ints | None,
    gradient: _Array,
    /,
    *,
    threads: int,
    out: _Array | None,
    to_weights: list[_Array],
    to_biases: list[_Array],
    isa: str | None = None,
) -> None: ...

# rocket

def rocket_features(
    steps: tuple[_Array, _Ints, _Ints],
    bank: tuple[_Ints, _Ints, _Ints, _Array],  # the arrays of rocket.Bank
    first: int,
    /,
    *,
    threads: int,
    out: _Array,
    centred: bool = False,
    isa: str | None = None,
) -> None: ...

# causal

def causal_kept(
    weights: list[_Array],
    biases: list[_Array],
    shortcuts: list[_Array],
    shortcut_biases: list[_Array],
    lengths: _Ints,
    /,
    *,
    out: _Ints,
    isa: str | None = None,
) -> None: ...
def causal_forward(
    weights: list[_Array],
    biases: list[_Array],
    shortcuts: list[_Array],
    shortcut_biases: list[_Array],
    slope: float,
    rows: _Array,
    starts: _Ints,
    lengths: _Ints,
    kept: _Array | None,
    kept_at: _Ints | None,
    /,
    *,
    threads: int,
    out: _Array,
    where: _Ints,
    isa: str | None = None,
    screen: bool = True,
) -> None: ...
def causal_backward(
    weights: list[_Array],
    biases: list[_Array],
    shortcuts: list[_Array],
    shortcut_biases: list[_Array],
    slope: float,
    rows: _Array,
    starts: _Ints,
    lengths: _Ints,
    kept: _Array | None,
    kept_at: _Ints | None,
    where: _Ints,
    gradient: _Array,
    /,
    *,
    threads: int,
    out: _Array | None,
    to_weights: list[_Array],
    to_biases: list[_Array],
    to_shortcuts: list[_Array],
    to_shortcut_biases: list[_Array],
    isa: str | None = None,
) -> None: ...

# recurrent

def recurrent_forward(
    lstm: bool,
    weights: list[_Array],
    biases: list[_Array],
    x: _Array,
    lengths: _Ints,
    /,
    *,
    keep: bool,
    budget: int,
    threads: int,
    out: _Array,
    isa: str | None = None,
) -> _Array | None: ...
def recurrent_backward(
    lstm: bool,
    weights: list[_Array],
    biases: list[_Array],
    x: _Array,
    lengths: _Ints,
    kept: _Array,
    gradient: _Array,
    /,
    *,
    budget: int,
    threads: int,
    to_x: _Array | None,
    to_weights: list[_Array],
    to_biases: list[_Array],
    isa: str | None = None,
) -> None: ...

# similarity

def similarity_scores(
    left: _Array,
    right: _Array,
    layer: tuple[_Array, float, float],  # similarity.Layer
    /,
    *,
    threads: int,
    out: _Array,
    isa: str | None = None,
) -> None: ...
def similarity_best(
    left: _Array,
    right: _Array,
    layer: tuple[_Array, float, float],
    /,
    *,
    threads: int,
    values: _Array,
    ids: _Ints,
    isa: str | None = None,
) -> None: ...
def similarity_maxima(
    left: _Array,
    right: _Array,
    layer: tuple[_Array, float, float],
    starts: _Ints,
    /,
    *,
    threads: int,
    out: _Array,
    isa: str | None = None,
) -> None: ...

# stream

def advance(
    query: _Doubles,
    samples: _Array,
    cost: int,
    threshold: float,
    column: _Doubles,
    column_starts: _Doubles,
    pending: _Doubles,
    place: _Ints,
    /,
) -> list[tuple[int, int, float]]: ...
def scan(
    query: _Doubles,
    samples: _Array,
    begin: int,
    end: int,
    earliest: int,
    cost: int,
    column: _Doubles,
    column_starts: _Doubles,
    distances: _Doubles,
    starts: _Doubles,
    floors: _Doubles,
    /,
) -> int: ...
def sift(
    query: _Doubles,
    low: _Doubles,
    high: _Doubles,
    samples: _Doubles,
    floors: _Doubles,
    ceilings: _Doubles,
    means: _Doubles,
    scales: _Doubles,
    order: _Ints,
    radius: int,
    cost: int,
    begin: int,
    end: int,
    limit: float,
    bounds: _Doubles,
    states: NDArray[np.int8],
    /,
) -> None: ...
def sift_totals(
    query: _Doubles,
    low: _Doubles,
    high: _Doubles,
    samples: _Doubles,
    floors: _Doubles,
    ceilings: _Doubles,
    means: _Doubles,
    scales: _Doubles,
    order: _Ints,
    radius: int,
    cost: int,
    ids: _Ints,
    limit: float,
    bounds: _Doubles,
    states: NDArray[np.int8],
    /,
) -> float: ...

# tangent

def tangent_matrix(
    network: _Network,
    x: _Doubles,
    y: _Doubles,
    /,
    *,
    symmetric: bool,
    threads: int,
    out: _Doubles,
    isa: str | None = None,
) -> None: ...
def tangent_slopes(
    network: _Network,
    x: _Doubles,
    y: _Doubles,
    /,
    *,
    threads: int,
    values: _Doubles,
    turn: _Doubles,
    own_x: _Doubles,
    own_y: _Doubles | None,
    near: NDArray[np.bool_],
    isa: str | None = None,
) -> None: ...
def tangent_pulled(
    network: _Network,
    x: _Doubles,
    y: _Doubles,
    weights: _Doubles,
    /,
    *,
    threads: int,
    values: _Doubles,
    gradients: _Doubles,
    isa: str | None = None,
) -> None: ...
def tangent_pushed(
    network: _Network,
    x: _Doubles,
    y: _Doubles,
    turn: _Doubles,
    own: _Doubles,
    near: NDArray[np.bool_],
    weights: _Doubles,
    /,
    *,
    turned: bool,
    threads: int,
    gradients: _Doubles,
    isa: str | None = None,
) -> None: ...
