"""Soft-DTW and DILATE as torch modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ... import native
from ...core.parameters import check_float
from ...native import soft as executor
from ...native.soft import torch_fallback as fallback
from ..band import Band, Window, check_band, refuse_infeasible
from .first_order import once_differentiable
from .padded_pairs import PaddedSide, is_finite, valid_step_mask, validate_sides

Lengths = NDArray[np.int64]


def _is_kernel_supported(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and native.is_native_enabled()


def _to_array(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.detach().contiguous().numpy()


def _to_packed(values: torch.Tensor, lengths: Lengths) -> native.PackedSequences:
    items, time, channels = values.shape
    return native.PackedSequences(_to_array(values).reshape(-1, channels), np.arange(items) * time, lengths)


class _SquaredCosts(torch.autograd.Function):
    """Squared distances of the frames (item, n, m); 0 or anything finite beyond the lengths."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, n: Lengths, m: Lengths) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        if not _is_kernel_supported(x):
            return fallback.costs(x, y)
        return torch.from_numpy(executor.costs(_to_array(x), _to_array(y), n, m, torch.get_num_threads()))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return (*fallback.frame_gradients(gradients[0], *ctx.saved_tensors), None, None)


class _Visits(torch.autograd.Function):
    """Soft-DTW and the expected visits, from the costs. The visits can be differentiated once."""

    @staticmethod
    def forward(
        ctx: Any, costs: torch.Tensor, n: Lengths, m: Lengths, soft: executor.SoftMinimum
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.set_materialize_grads(False)
        if _is_kernel_supported(costs):
            parts = executor.visits(soft, _to_array(costs), n, m, torch.get_num_threads())
            totals, visits = (torch.from_numpy(part) for part in parts)
        else:
            totals, visits = fallback.visits(soft, costs, n, m)
        ctx.save_for_backward(costs, visits)
        ctx.arguments = n, m, soft
        return totals, visits

    @staticmethod
    @once_differentiable("the gradient of soft-DTW's expected alignment (second order; DILATE: first order)")
    def backward(ctx: Any, by_totals: torch.Tensor | None, by_visits: torch.Tensor | None) -> Any:
        costs, visits = ctx.saved_tensors
        n, m, soft = ctx.arguments
        if by_visits is None:
            return None if by_totals is None else by_totals[:, None, None] * visits, None, None, None
        total = _hessian_product(soft, costs, by_visits, n, m)
        if by_totals is not None:
            total.addcmul_(by_totals[:, None, None], visits)  # in place: it is ours, and as large as the costs
        return total, None, None, None


def _hessian_product(
    soft: executor.SoftMinimum, costs: torch.Tensor, direction: torch.Tensor, n: Lengths, m: Lengths
) -> torch.Tensor:
    if not _is_kernel_supported(costs):
        return fallback.hessian_product(soft, costs, direction, n, m)
    product = executor.hessian_product(soft, _to_array(costs), _to_array(direction), n, m, torch.get_num_threads())
    return torch.from_numpy(product)


class _Totals(torch.autograd.Function):
    """Soft-DTW from the frames. Without a second derivative to come, no matrix of costs is made."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, y: torch.Tensor, n: Lengths, m: Lengths, soft: executor.SoftMinimum, keep: bool
    ) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        ctx.arguments, ctx.tables, ctx.threads = (n, m, soft), None, torch.get_num_threads()
        if not _is_kernel_supported(x):
            return fallback.totals(soft, fallback.costs(x, y), n, m)
        sides = _to_packed(x, n), _to_packed(y, m)
        if keep:
            totals, ctx.tables = executor.totals_with_tables(soft, *sides, ctx.threads)
        else:
            items = np.arange(len(n))
            totals = executor.pair_totals(soft, *sides, items, items, ctx.threads)
        return torch.from_numpy(totals)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        x, y = ctx.saved_tensors
        n, m, soft = ctx.arguments
        if _is_kernel_supported(x) and not torch.is_grad_enabled():
            sides = _to_packed(x, n), _to_packed(y, m)
            scales, wanted = _to_array(gradients[0]), ctx.needs_input_grad[:2]
            side_gradients = executor.gradients(
                soft, *sides, scales, tables=ctx.tables, threads=ctx.threads, wanted=wanted
            )
            by_x, by_y = (
                None if part is None else torch.from_numpy(part).reshape(side.shape)
                for part, side in zip(side_gradients, (x, y), strict=True)
            )
        else:
            visits = _Visits.apply(_SquaredCosts.apply(x, y, n, m), n, m, soft)[1]  # type: ignore[no-untyped-call]
            by_x, by_y = fallback.frame_gradients(gradients[0][:, None, None] * visits, x, y)
        return by_x, by_y, None, None, None, None


class _SoftAlignment(nn.Module):
    """The base class of both modules: options, input checks, and the expected alignment."""

    def __init__(self, gamma: float, window: Window, band: Band) -> None:
        super().__init__()
        self.gamma = check_float(gamma, "gamma", above=0)
        self.window, self.band = window, band
        self._warping_band = check_band(window, band)

    def _soft_minimum(self) -> executor.SoftMinimum:
        return executor.SoftMinimum(self.gamma, self._warping_band)

    def _validate_sides(self, x: Any, y: Any, x_lengths: Any, y_lengths: Any) -> tuple[PaddedSide, PaddedSide]:
        one, two = validate_sides(x, y, x_lengths, y_lengths)
        if not self._warping_band.is_unbounded:
            for n, m in np.unique(np.stack([one.lengths, two.lengths]), axis=1).T:
                refuse_infeasible(self._warping_band, n[None], m[None])
        return one, two

    def _visits(self, x: PaddedSide, y: PaddedSide) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = x.lengths, y.lengths
        costs = _SquaredCosts.apply(x.values, y.values, *lengths)  # type: ignore[no-untyped-call]
        totals_and_visits: tuple[torch.Tensor, torch.Tensor] = _Visits.apply(costs, *lengths, self._soft_minimum())  # type: ignore[no-untyped-call]
        return totals_and_visits

    def alignment(self, x: Any, y: Any, x_lengths: Any = None, y_lengths: Any = None) -> torch.Tensor:
        """The expected alignment (item, time of x, time of y): how often each pair of steps is matched, on average.

        It is the gradient of soft-DTW with respect to the costs of the pairs of steps and 0 in the padding. It can be
        differentiated once.
        """
        return self._visits(*self._validate_sides(x, y, x_lengths, y_lengths))[1]


class SoftDTW(_SoftAlignment):
    """Soft-DTW: dynamic time warping with a soft minimum, a loss with gradients (Cuturi and Blondel, 2017).

    softmin_γ(a, b, c) = −γ log(exp(−a/γ) + exp(−b/γ) + exp(−c/γ)) replaces the minimum. The raw value may be
    negative, and its minimum is not at x = y. The divergence d(x, y) − ½ d(x, x) − ½ d(y, y) is 0 at x = y and is the
    recommended loss (Blondel, Mensch and Vert, 2021).

    Parameters
    ----------
    gamma : float
        Softness, in units of a squared distance; towards 0 the value becomes that of DTW.
    window, band
        As for `timelike.DTW`.
    divergence : bool
        Whether to give the divergence.

    Examples
    --------
    >>> import torch, timelike as tl
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], requires_grad=True)
    >>> loss = tl.nn.SoftDTW(gamma=0.1, divergence=True)(x, torch.tensor([[[0.0], [2.0], [2.0]]]))
    >>> loss.backward()
    >>> x.grad.shape
    torch.Size([1, 3, 1])
    """

    def __init__(
        self, gamma: float = 1.0, *, window: Window = None, band: Band = "sakoe", divergence: bool = False
    ) -> None:
        super().__init__(gamma, window, band)
        if not isinstance(divergence, bool):
            raise TypeError(f"divergence={divergence!r}: expected True or False")
        self.divergence = divergence

    def forward(self, x: Any, y: Any, x_lengths: Any = None, y_lengths: Any = None) -> torch.Tensor:
        """One value for each pair, (item,), of x (item, time, channel) and y (item, time, channel).

        Steps from `x_lengths[i]` on are padding: they affect neither values nor gradients, and may even be NaN.
        """
        one, two = self._validate_sides(x, y, x_lengths, y_lengths)
        totals = self._totals(one, two)
        if self.divergence:
            totals = totals - (self._totals(one, one) + self._totals(two, two)) / 2
        return _check_finite(totals, self.gamma)

    def _totals(self, x: PaddedSide, y: PaddedSide) -> torch.Tensor:
        keep = torch.is_grad_enabled() and (x.values.requires_grad or y.values.requires_grad)
        total: torch.Tensor = _Totals.apply(  # type: ignore[no-untyped-call]
            x.values, y.values, x.lengths, y.lengths, self._soft_minimum(), keep
        )
        return total

    def extra_repr(self) -> str:
        """The options, as one would write them."""
        return f"gamma={self.gamma:g}, window={self.window}, band={self.band!r}, divergence={self.divergence}"


def _check_finite(values: torch.Tensor, gamma: float) -> torch.Tensor:
    if is_finite(values):
        return values
    item = int(torch.argwhere(~torch.isfinite(values))[0, 0])
    raise ValueError(
        f"the value of item {item} is too large for {values.dtype} with gamma={gamma:g}: standardize x and y, use a "
        "smaller gamma, or float64"
    )


class DILATE(_SoftAlignment):
    """A loss for shape and delay: α soft-DTW + (1 − α) ⟨A, Ω⟩, A the expected alignment (Le Guen and Thome, 2019).

    Ω (time of x, time of y) is the cost of matching step i with step j: (i − j)² / (n m) by default, n and m the
    lengths of the pair.

    Parameters
    ----------
    alpha : float
        Weight of the shape, 0 to 1.
    gamma, window, band
        As for `SoftDTW`.

    Examples
    --------
    >>> import torch, timelike as tl
    >>> x = torch.eye(5)[1][None, :, None].requires_grad_()
    >>> late, later = torch.eye(5)[2][None, :, None], torch.eye(5)[3][None, :, None]
    >>> loss = tl.nn.DILATE(alpha=0.0, gamma=0.01)
    >>> bool(loss(x, late) < loss(x, later))
    True
    """

    def __init__(self, alpha: float = 0.5, gamma: float = 0.01, *, window: Window = None, band: Band = "sakoe") -> None:
        super().__init__(gamma, window, band)
        self.alpha = check_float(alpha, "alpha", 0, 1)

    def forward(self, x: Any, y: Any, omega: Any = None, x_lengths: Any = None, y_lengths: Any = None) -> torch.Tensor:
        """One value for each pair, (item,); `omega` is (item, time of x, time of y) or (time of x, time of y)."""
        one, two = self._validate_sides(x, y, x_lengths, y_lengths)
        totals, visits = self._visits(one, two)
        price = _default_omega(one, two) if omega is None else _validate_omega(omega, one, two)
        return _check_finite(self.alpha * totals + (1 - self.alpha) * (visits * price).sum((1, 2)), self.gamma)

    def extra_repr(self) -> str:
        """The options, as one would write them."""
        return f"alpha={self.alpha:g}, gamma={self.gamma:g}, window={self.window}, band={self.band!r}"


def _default_omega(x: PaddedSide, y: PaddedSide) -> torch.Tensor:
    like = x.values
    rows, columns = (torch.arange(s.values.shape[1], device=like.device, dtype=like.dtype) for s in (x, y))
    sizes = torch.from_numpy(x.lengths * y.lengths).to(like)
    return (rows[:, None] - columns) ** 2 / sizes[:, None, None]


def _validate_omega(omega: Any, x: PaddedSide, y: PaddedSide) -> torch.Tensor:
    like, shape = x.values, (len(x.values), x.values.shape[1], y.values.shape[1])
    if not isinstance(omega, torch.Tensor):
        raise TypeError(f"omega is a {type(omega).__name__}: expected a torch.Tensor; use torch.as_tensor")
    if tuple(omega.shape) not in (shape, shape[1:]):
        raise ValueError(f"omega has shape {tuple(omega.shape)}: expected {shape}, or {shape[1:]} for all items")
    if omega.device != like.device:
        raise ValueError(f"omega is on {omega.device} and x on {like.device}: use omega.to(x.device)")
    rows, columns = valid_step_mask(x)[:, :, None], valid_step_mask(y)[:, None, :]
    price = torch.where(rows & columns, omega.to(like.dtype), 0.0)  # its padding may be anything
    if not is_finite(price):
        raise ValueError("omega has nan or inf within the lengths: expected a finite price for every pair of steps")
    return price
