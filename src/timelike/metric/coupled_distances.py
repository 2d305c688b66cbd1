"""Distances by coupled GRUs wherever they are computed: by the kernels, with and without gradients, or by torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import native
from ..native import Steps, coupled as compiled
from ..native.coupled.twin import Cell, Side, distances
from .comparer import Features


def rows(cell: Cell, x: Features, y: Features, *, mean: bool) -> Tensor:
    """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
    if not _compiles(cell, x, y):
        return distances(cell, Side(x.values, x.lengths), Side(y.values, y.lengths), mean=mean)
    every = torch.arange(len(x))
    if _graded(cell, x, y):
        return _listed(cell, x, y, every, every, mean=mean)
    how: Any = {"mean": mean, "threads": torch.get_num_threads()}
    sides = _steps(x.values, x.lengths), _steps(y.values, y.lengths)
    return torch.from_numpy(compiled.rows(_arrays(*cell), *sides, every.numpy(), every.numpy(), **how))


def matrix(cell: Cell, x: Features, y: Features, *, mean: bool) -> Tensor:
    """The distances of all pairs, (item of x, item of y); where y is x, each pair is rolled out once."""
    graded, compiles = _graded(cell, x, y), _compiles(cell, x, y)
    if compiles and not graded:
        out = np.empty((len(x), len(y)), x.values.numpy(force=True).dtype)
        how: Any = {"mean": mean, "symmetric": x is y, "threads": torch.get_num_threads(), "out": out}
        compiled.matrix(_arrays(*cell), _steps(x.values, x.lengths), _steps(y.values, y.lengths), **how)
        return torch.from_numpy(out)
    if x is y and len(x):
        return _triangle(cell, x, mean=mean)
    if compiles:
        first = torch.arange(len(x)).repeat_interleave(len(y))
        second = torch.arange(len(y)).repeat(len(x))
        return _listed(cell, x, y, first, second, mean=mean).reshape(len(x), len(y))
    sides = Side(x.values[:, None], x.lengths[:, None]), Side(y.values[None], y.lengths[None])
    return distances(cell, *sides, mean=mean)


def footprint(hidden: int, time: int, *, cpu: bool) -> int:
    """About how many numbers a pair takes.

    In torch these are its gates, of every step where a gradient will be asked for. The kernels keep the states of some
    steps for a gradient, beside which the list of pairs is not small; only a gradient of a gradient is left to torch.
    """
    fast, graded = cpu and native.compiled(), torch.is_grad_enabled()
    if not fast:
        return hidden * (16 * time if graded else 24)
    return 8 + 2 * hidden * (time // compiled.STRETCH) if graded else 1


def _triangle(cell: Cell, x: Features, *, mean: bool) -> Tensor:
    first, second = torch.tril_indices(len(x), len(x), -1, device=x.values.device)
    out = x.values.new_zeros(len(x), len(x))
    if not len(first):
        return out
    if _compiles(cell, x, x):
        found = _listed(cell, x, None, first, second, mean=mean)
    else:
        found = _rolled(cell, x.values, x.values, _Pairs(x.lengths, x.lengths, first, second, mean))
    below = out.index_put((first, second), found)
    return below + below.T


def _graded(cell: Cell, x: Features, y: Features) -> bool:
    return torch.is_grad_enabled() and any(part.requires_grad for part in (x.values, y.values, *cell))


def _compiles(cell: Cell, x: Features, y: Features) -> bool:
    """Whether the kernels serve; without gradients there is one door to them and to what stands in for them."""
    parts = (x.values, y.values, *cell)
    plain = all(part.device.type == "cpu" and part.dtype == x.values.dtype for part in parts)
    able = x.values.dtype in (torch.float32, torch.float64)
    return plain and able and (native.compiled() or not _graded(cell, x, y))


class _Pairs(NamedTuple):
    """Pair p is x[first[p]] and y[second[p]]."""

    x_lengths: Tensor
    y_lengths: Tensor
    first: Tensor
    second: Tensor
    mean: bool

    def chosen(self) -> tuple[Any, Any]:
        return self.first.numpy(), self.second.numpy()

    def sides(self, x: Tensor, y: Tensor | None) -> tuple[Steps, Steps]:
        one = _steps(x, self.x_lengths)
        return one, one if y is None else _steps(y, self.y_lengths)


def _rolled(cell: Cell, x: Tensor, y: Tensor, pairs: _Pairs) -> Tensor:
    sides = Side(x, pairs.x_lengths, pairs.first), Side(y, pairs.y_lengths, pairs.second)
    return distances(cell, *sides, mean=pairs.mean)


def _listed(cell: Cell, x: Features, y: Features | None, first: Tensor, second: Tensor, *, mean: bool) -> Tensor:
    """With gradients; where y is x, it is None."""
    pairs = _Pairs(x.lengths, x.lengths if y is None else y.lengths, first, second, mean)
    found = _Distances.apply(x.values, None if y is None else y.values, *cell, pairs)  # type: ignore[no-untyped-call]
    distances: Tensor = found[0]
    return distances


class _Distances(torch.autograd.Function):
    """Distances (pair,) by the kernels, and the states from which the way back begins."""

    @staticmethod
    def forward(x: Tensor, y: Tensor | None, *rest: Any) -> tuple[Tensor, Tensor]:
        cell, pairs = rest[:-1], rest[-1]
        how: Any = {"mean": pairs.mean, "threads": torch.get_num_threads()}
        found, kept = compiled.keep(_arrays(*cell), *pairs.sides(x, y), *pairs.chosen(), **how)
        return torch.from_numpy(found), torch.from_numpy(kept)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.pairs, ctx.threads = inputs[-1], torch.get_num_threads()
        ctx.save_for_backward(*inputs[:-1], output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, y, *cell, kept = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody will ask for the gradient of this gradient
            return (*_gradients_in_torch(ctx, gradients[0]), None)
        pairs: _Pairs = ctx.pairs
        how: Any = {"mean": pairs.mean, "threads": ctx.threads}
        scales, states = np.ascontiguousarray(gradients[0].numpy(force=True)), kept.numpy()
        given = _arrays(*cell), *pairs.sides(x, y), *pairs.chosen()
        by_x, by_y, by_cell = compiled.gradients(*given, scales, states, **how)
        found = (None if part is None else torch.from_numpy(part) for part in (by_x, by_y, *by_cell))
        parts = zip((x, y, *cell), found, strict=True)
        return (*(None if gradient is None else gradient.view(part.shape) for part, gradient in parts), None)


def _gradients_in_torch(ctx: Any, gradient: Tensor) -> list[Tensor | None]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        given: list[Any] = [None if part is None else part.view_as(part) for part in ctx.saved_tensors[:-1]]
        x, y, *cell = given
        found = _rolled(Cell(*cell), x, x if y is None else y, ctx.pairs)
        asked = [part for part, needed in zip(given, ctx.needs_input_grad, strict=False) if needed]
        by_asked = iter(torch.autograd.grad(found, asked, gradient, create_graph=True))
    return [next(by_asked) if needed else None for needed in ctx.needs_input_grad[:-1]]


def _arrays(*cell: Tensor) -> compiled.Cell:
    return compiled.Cell(*(np.ascontiguousarray(part.numpy(force=True)) for part in cell))


def _steps(values: Tensor, lengths: Tensor) -> Steps:
    items, time, features = values.shape
    flat = np.ascontiguousarray(values.numpy(force=True)).reshape(items * time, features)
    return Steps(flat, np.arange(items) * time, np.ascontiguousarray(lengths.numpy(force=True), np.int64))
