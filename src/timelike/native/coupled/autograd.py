"""Distances by coupled GRUs, on tensors: the kernels where they apply, otherwise the fallback."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import coupled
from ..machine import PackedSequences, is_native_enabled
from . import CoupledRollout, CoupledWeights, fallback


class GateInputs(NamedTuple):
    """The gate inputs of many sequences, (item, time, 3 hidden), and their lengths (item,).

    Values past a length are arbitrary.
    """

    values: Tensor
    lengths: Tensor


def pair_rollouts(cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs, *, mean: bool) -> CoupledRollout[Tensor]:
    """The distances and mean gates of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
    if not _is_kernel_supported(cell, x, y):
        return fallback.roll_out(cell, fallback.RolloutSide(*x), fallback.RolloutSide(*y), mean=mean)
    every = torch.arange(len(x.values))
    return _rollouts_of_list(cell, x, y, every, every, mean=mean)


def matrix(cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs | None, *, mean: bool) -> Tensor:
    """The distances of all pairs, (item of x, item of y); if y is None, x with itself, each pair computed once."""
    other = x if y is None else y
    if _is_kernel_supported(cell, x, other) and not _needs_gradients(cell, x, other):
        return _matrix_without_gradients(cell, x, y, mean=mean)  # which need not tell the gates
    return matrix_rollouts(cell, x, y, mean=mean).distances


def matrix_rollouts(
    cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs | None, *, mean: bool
) -> CoupledRollout[Tensor]:
    """As `matrix`, with the mean gate of every pair rolled out, (pair,): where y is None, of every two once."""
    other = x if y is None else y
    if y is None and len(x.values):
        return _symmetric_rollouts(cell, x, mean=mean)
    n, m = len(x.values), len(other.values)
    if _is_kernel_supported(cell, x, other):
        first, second = torch.arange(n).repeat_interleave(m), torch.arange(m).repeat(n)
        distances, gates = _rollouts_of_list(cell, x, other, first, second, mean=mean)
        return CoupledRollout(distances.reshape(n, m), gates)
    sides = (
        fallback.RolloutSide(x.values[:, None], x.lengths[:, None]),
        fallback.RolloutSide(other.values[None], other.lengths[None]),
    )
    distances, gates = fallback.roll_out(cell, *sides, mean=mean)
    return CoupledRollout(distances, gates.flatten())


def numbers_per_pair(hidden: int, time: int, *, cpu: bool) -> int:
    """The approximate number of stored values per pair in `matrix`.

    In torch these are its gates, of every step where a gradient will be asked for. The kernels keep the states of some
    steps for a gradient, beside which the list of pairs is not small; only a gradient of a gradient is left to torch.
    """
    fast, graded = cpu and is_native_enabled(), torch.is_grad_enabled()
    if not fast:
        return hidden * (16 * time if graded else 24)
    return 8 + 2 * hidden * (time // coupled.STATE_STRIDE) if graded else 1


def _matrix_without_gradients(
    cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs | None, *, mean: bool
) -> Tensor:
    one = _to_packed(*x)
    two = one if y is None else _to_packed(*y)
    out = np.empty((len(one.lengths), len(two.lengths)), one.values.dtype)
    threads = torch.get_num_threads()
    coupled.matrix(_to_arrays(cell), one, two, mean=mean, symmetric=y is None, threads=threads, out=out)
    return torch.from_numpy(out)


def _symmetric_rollouts(cell: CoupledWeights[Tensor], x: GateInputs, *, mean: bool) -> CoupledRollout[Tensor]:
    """One half is computed and mirrored; on the diagonal distances and their gradients are 0."""
    count = len(x.values)
    first, second = torch.tril_indices(count, count, -1, device=x.values.device)
    out = x.values.new_zeros(count, count)
    if not len(first):
        return CoupledRollout(out, out[0, :0])
    if _is_kernel_supported(cell, x, x):
        rollout = _rollouts_of_list(cell, x, None, first, second, mean=mean)
    else:
        rollout = _roll_out(cell, x.values, x.values, _PairList(x.lengths, x.lengths, first, second, mean))
    below = out.index_put((first, second), rollout.distances)
    return CoupledRollout(below + below.T, rollout.gates)


def _needs_gradients(cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs) -> bool:
    return torch.is_grad_enabled() and any(part.requires_grad for part in (x.values, y.values, *cell))


def _is_kernel_supported(cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs) -> bool:
    """Whether the functions over arrays apply; without gradients they choose the kernels or the fallback."""
    parts = (x.values, y.values, *cell)
    plain = all(part.device.type == "cpu" and part.dtype == x.values.dtype for part in parts)
    able = x.values.dtype in (torch.float32, torch.float64)
    return plain and able and (is_native_enabled() or not _needs_gradients(cell, x, y))


class _PairList(NamedTuple):
    """Pair p is x[first[p]] and y[second[p]]."""

    x_lengths: Tensor
    y_lengths: Tensor
    first: Tensor
    second: Tensor
    mean: bool

    def ids(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.first.numpy(), self.second.numpy()

    def sides(self, x: Tensor, y: Tensor | None) -> tuple[PackedSequences, PackedSequences]:
        one = _to_packed(x, self.x_lengths)
        return one, one if y is None else _to_packed(y, self.y_lengths)


def _roll_out(cell: CoupledWeights[Tensor], x: Tensor, y: Tensor, pairs: _PairList) -> CoupledRollout[Tensor]:
    sides = (
        fallback.RolloutSide(x, pairs.x_lengths, pairs.first),
        fallback.RolloutSide(y, pairs.y_lengths, pairs.second),
    )
    return fallback.roll_out(cell, *sides, mean=pairs.mean)


def _rollouts_of_list(
    cell: CoupledWeights[Tensor], x: GateInputs, y: GateInputs | None, first: Tensor, second: Tensor, *, mean: bool
) -> CoupledRollout[Tensor]:
    """By the functions over arrays, with gradients where they are needed; where y is x, it is None."""
    pairs = _PairList(x.lengths, x.lengths if y is None else y.lengths, first, second, mean)
    values = x.values, None if y is None else y.values
    if _needs_gradients(cell, x, x if y is None else y):
        distances, gates, _ = _PairRollouts.apply(*values, *cell, pairs)  # type: ignore[no-untyped-call]
        return CoupledRollout(distances, gates)
    given = _to_arrays(cell), *pairs.sides(*values), *pairs.ids()
    rollout = coupled.pair_rollouts(*given, mean=mean, threads=torch.get_num_threads())
    return CoupledRollout(*map(torch.from_numpy, rollout))


class _PairRollouts(torch.autograd.Function):
    """Distances and mean gates (pair,) by the kernels, and the states from which the backward pass begins."""

    @staticmethod
    def forward(x: Tensor, y: Tensor | None, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        pairs: _PairList = rest[-1]
        given = _to_arrays(CoupledWeights(*rest[:-1])), *pairs.sides(x, y), *pairs.ids()
        rollout, kept = coupled.pair_rollouts_with_states(*given, mean=pairs.mean, threads=torch.get_num_threads())
        distances, gates, states = map(torch.from_numpy, (*rollout, kept))
        return distances, gates, states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        ctx.pairs, ctx.threads = inputs[-1], torch.get_num_threads()
        ctx.save_for_backward(*inputs[:-1], output[2])
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)  # or zeros as large as what is kept would be made for it
        ctx.shapes = [part.shape for part in output[:2]]

    @staticmethod
    def backward(ctx: Any, *given_gradients: Tensor | None) -> Any:
        x, y, *weights, kept = ctx.saved_tensors
        both = zip(given_gradients, ctx.shapes, strict=False)
        gradients = [kept.new_zeros(shape) if one is None else one for one, shape in both]
        if torch.is_grad_enabled():  # a second derivative will be taken
            return (*_gradients_by_fallback(ctx, gradients), None)
        pairs: _PairList = ctx.pairs
        scales = CoupledRollout(*(np.ascontiguousarray(part.numpy(force=True)) for part in gradients))
        given = _to_arrays(CoupledWeights(*weights)), *pairs.sides(x, y), *pairs.ids()
        by_x, by_y, by_cell = coupled.gradients(*given, scales, kept.numpy(), mean=pairs.mean, threads=ctx.threads)
        parts_of_gradient = (None if part is None else torch.from_numpy(part) for part in (by_x, by_y, *by_cell))
        parts = zip((x, y, *weights), parts_of_gradient, strict=True)
        return (*(None if gradient is None else gradient.view(part.shape) for part, gradient in parts), None)


def _gradients_by_fallback(ctx: Any, gradients: list[Tensor]) -> list[Tensor | None]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        given: list[Any] = [None if part is None else part.view_as(part) for part in ctx.saved_tensors[:-1]]
        x, y, *weights = given
        rollout = _roll_out(CoupledWeights(*weights), x, x if y is None else y, ctx.pairs)
        differentiated = [part for part, needed in zip(given, ctx.needs_input_grad, strict=False) if needed]
        input_gradients = iter(torch.autograd.grad(rollout, differentiated, gradients, create_graph=True))
    return [next(input_gradients) if needed else None for needed in ctx.needs_input_grad[:-1]]


def _to_arrays(cell: CoupledWeights[Tensor]) -> coupled.ArrayWeights:
    return CoupledWeights(*(np.ascontiguousarray(part.numpy(force=True)) for part in cell))


def _to_packed(values: Tensor, lengths: Tensor) -> PackedSequences:
    items, time, features = values.shape
    flat = np.ascontiguousarray(values.numpy(force=True)).reshape(items * time, features)
    return PackedSequences(flat, np.arange(items) * time, np.ascontiguousarray(lengths.numpy(force=True), np.int64))
