"""Losses of a predicted warp against the true one: TimeErr, TimeDev, MaxError, WarpMSE, and `Positions` along y."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ...core.parameters import check_bool
from ...core.validation.tensors import refuse_meta_device, validate_lengths

Map = Callable[[Tensor], Tensor]


class TimeErr(nn.Module):
    """Mean absolute deviation of a warp from the true one, over x's time.

    1/S ∫ |φ(t) − φ*(t)| dt with S the time that x lasts. Both warps are linear between knots, so the integral is taken
    exactly: over an interval of length h at whose ends they differ by a and b it is h (|a| + |b|)/2, and
    h (a² + b²) / (2 (|a| + |b|)) where they cross (Thickstun, Brennan & Verma, "Rethinking Evaluation Methodology for
    Audio-to-Score Alignment", 2020; Xu et al., "Deep Declarative Dynamic Time Warping", ICLR 2023, eq. 9). Where the
    two warps agree at both ends of an interval, the gradient of that interval is zero.

    Called as `loss(phi, truth, times=None, lengths=None)`: `phi` and `truth` (batch, knot) are the two warps at x's
    `times`, (knot,) or (batch, knot), by default the step numbers; `lengths` (batch,) counts the knots that are not
    padding. The result (batch,) is in y's time.

    Examples
    --------
    >>> import torch
    >>> phi = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    >>> truth = torch.tensor([[0.0, 1.0, 4.0], [0.0, 2.0, 0.0]])
    >>> TimeErr()(phi, truth)  # in the second pair the warps cross twice
    tensor([0.5000, 0.5000])
    """

    def forward(self, phi: Tensor, truth: Tensor, times: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
        error, steps = _errors_and_steps(phi, truth, times, lengths)
        return _check_loss(_mean_over_time(_mean_magnitude(error[:, :-1], error[:, 1:]), steps), self)


class TimeDev(nn.Module):
    """Root mean square deviation of a warp from the true one, over x's time.

    √(1/S ∫ (φ(t) − φ*(t))² dt), exactly: h (a² + ab + b²)/3 over an interval of length h at whose ends the warps differ
    by a and b (Thickstun, Brennan & Verma, 2020; Xu et al., ICLR 2023, eq. 9). The gradient at equal warps is zero.

    Called as `TimeErr`.

    Examples
    --------
    >>> import torch
    >>> phi, truth = torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[0.0, 1.0, 4.0]])
    >>> TimeDev()(phi, truth)  # √(2²/3 / 2)
    tensor([0.8165])
    """

    def forward(self, phi: Tensor, truth: Tensor, times: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
        error, steps = _errors_and_steps(phi, truth, times, lengths)
        unit = _error_unit(error)
        a, b = error[:, :-1] / unit, error[:, 1:] / unit
        return _check_loss(unit[:, 0] * _safe_sqrt(_mean_over_time((a * a + a * b + b * b) / 3, steps)), self)


class MaxError(nn.Module):
    """Largest deviation of a warp from the true one, over the knots.

    max_i ‖p(φ_i) − p(φ*_i)‖, or its square, where p is the function `through`, for example the position of y at a time
    (Xu et al., ICLR 2023, section 7.2). By default p is the identity: max_i |φ_i − φ*_i|. The gradient goes to the
    largest deviation, in equal parts to equal ones, and is zero if the deviation is zero.

    Called as `loss(phi, truth, times=None, lengths=None, through=None)`, as `TimeErr`; the maximum does not depend on
    `times`. `through` takes (batch, knot) in y's time to (batch, knot) or (batch, knot, dimension), see `Positions`.
    With it, `truth` may also be (batch, knot, dimension): the position of x itself, which need not be on y's path.

    Examples
    --------
    >>> import torch
    >>> phi, truth = torch.tensor([[0.0, 1.5, 2.0]]), torch.tensor([[0.0, 1.0, 1.75]])
    >>> MaxError()(phi, truth), MaxError(squared=True)(phi, truth)
    (tensor([0.5000]), tensor([0.2500]))
    >>> road = Positions(torch.tensor([[0.0, 0.0, 100.0]]))  # y stood still first
    >>> MaxError()(phi, truth, through=road)
    tensor([50.])
    """

    def __init__(self, *, squared: bool = False) -> None:
        super().__init__()
        self.squared = check_bool(squared, "squared")

    def forward(
        self,
        phi: Tensor,
        truth: Tensor,
        times: Tensor | None = None,
        lengths: Tensor | None = None,
        through: Map | None = None,
    ) -> Tensor:
        valid = _validate_warps(phi, truth, times, lengths, places=through is not None)
        phi = phi.where(valid, 0)
        truth = truth.where(valid.unsqueeze(-1) if truth.ndim == 3 else valid, 0)
        where, target = _map_to_places(phi, truth, through)
        error = where - target
        if error.ndim == 2:
            largest = error.where(valid, 0).abs().amax(dim=1)
            return _check_loss(largest.square() if self.squared else largest, self)
        if self.squared:
            return _check_loss(error.square().sum(dim=-1).where(valid, 0).amax(dim=1), self)
        unit = _error_unit(error)
        squares = (error / unit[..., None]).square().sum(dim=-1).where(valid, 0).amax(dim=1)
        return _check_loss(unit[:, 0] * _safe_sqrt(squares), self)

    def extra_repr(self) -> str:
        return f"squared={self.squared}"


class WarpMSE(nn.Module):
    """Mean squared deviation of a warp from the true one, over the knots.

    1/m Σ_i (φ_i − φ*_i)². Every knot has the same weight regardless of spacing, so `times` has no effect. For the mean
    over time, use the square of `TimeDev` (Xu et al., ICLR 2023, section 7).

    Called as `TimeErr`.

    Examples
    --------
    >>> import torch
    >>> WarpMSE()(torch.tensor([[0.0, 1.5, 2.0]]), torch.tensor([[0.0, 1.0, 3.0]]))
    tensor([0.4167])
    """

    def forward(self, phi: Tensor, truth: Tensor, times: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
        valid = _validate_warps(phi, truth, times, lengths)
        error = phi.where(valid, 0) - truth.where(valid, 0)
        return _check_loss(error.square().sum(dim=1) / valid.sum(dim=1), self)


class Positions:
    """The position of y at any time: the recorded position at its steps, linear in between.

    p(t) = p_j + (t − t_j)/(t_{j+1} − t_j) · (p_{j+1} − p_j), and the first and last value outside; differentiable in t
    and in the values. `values` are (batch, time) or (batch, time, dimension), `times` (time,) or (batch, time), by
    default the step numbers; `lengths` (batch,) counts the steps that are not padding (Xu et al., ICLR 2023, 7.2).

    Examples
    --------
    >>> import torch
    >>> Positions(torch.tensor([[0.0, 10.0, 30.0]]))(torch.tensor([[0.5, 1.0, 1.5, 9.0]]))
    tensor([[ 5., 10., 20., 30.]])
    """

    def __init__(self, values: Tensor, times: Tensor | None = None, lengths: Tensor | None = None) -> None:
        _refuse_non_float(values, "values")
        if values.ndim not in (2, 3) or values.shape[1] < 2:
            raise ValueError(
                f"values has shape {tuple(values.shape)}: expected (batch, time) or (batch, time, dimension), "
                "two steps or more"
            )
        count = _count_knots(lengths, values.shape[:2], values.device, least=2)
        self.times = _validate_times(times, values.shape[:2], values.dtype, values.device, count)
        self.values = values if values.ndim == 3 else values.unsqueeze(-1)
        self.flat = values.ndim == 2
        self.last = count - 1

    def __call__(self, t: Tensor) -> Tensor:
        """The positions at y's times `t` (batch, knot): (batch, knot) or (batch, knot, dimension)."""
        if t.ndim != 2 or t.shape[0] != len(self.values):
            raise ValueError(
                f"t has shape {tuple(t.shape)}: expected (batch, knot) for {len(self.values)} sequences of positions"
            )
        first, last = self.times[:, :1], self.times.gather(1, self.last[:, None])
        t = t.clamp(first, last)
        after = torch.searchsorted(self.times, t.detach().to(self.times.dtype).contiguous(), right=True)
        after = torch.minimum(after, self.last[:, None]).clamp(min=1)
        low, high = self.times.gather(1, after - 1), self.times.gather(1, after)
        share = ((t - low) / (high - low)).unsqueeze(-1)
        index = after.unsqueeze(-1).expand(-1, -1, self.values.shape[-1])
        positions = self.values.gather(1, index - 1) * (1 - share) + self.values.gather(1, index) * share
        positions = positions.to(self.values.dtype)
        return positions.squeeze(-1) if self.flat else positions


def _map_to_places(phi: Tensor, truth: Tensor, through: Map | None) -> tuple[Tensor, Tensor]:
    if through is None:
        return phi, truth
    where = through(phi)
    target = through(truth) if truth.ndim == 2 else truth
    if where.ndim not in (2, 3) or where.shape[:2] != phi.shape:
        raise ValueError(
            f"through(phi) has shape {tuple(where.shape)}: expected {tuple(phi.shape)} or {(*phi.shape, 'dimension')}"
        )
    if where.shape != target.shape:
        raise ValueError(
            f"truth has shape {tuple(truth.shape)} and through(phi) {tuple(where.shape)}: expected places of the same "
            "dimension, or a truth (batch, knot) in y's time"
        )
    return where, target


def _mean_magnitude(a: Tensor, b: Tensor) -> Tensor:
    """Of a function that goes straight from a to b: the mean of its absolute value."""
    crosses = a.sign() * b.sign() <= 0  # also where one end is zero: the gradient there is ½, that of |·| is not
    gap = (a - b).abs()
    crosses = crosses & (gap > 0)
    gap = gap.where(crosses, 1)
    crossing = (a * (a / gap) + b * (b / gap)) / 2  # (a² + b²) / 2 gap, safe from under- and overflow
    return crossing.where(crosses, (a.abs() + b.abs()) / 2)


def _mean_over_time(means: Tensor, steps: Tensor) -> Tensor:
    return (means * (steps / steps.sum(dim=1, keepdim=True))).sum(dim=1)


def _error_unit(error: Tensor) -> Tensor:
    """The divisor of errors before they are squared, (batch, 1): 1, or the largest error if a square would overflow."""
    largest = error.detach().abs().flatten(1).amax(dim=1, keepdim=True)
    limit = (torch.finfo(error.dtype).max / error[0].numel()) ** 0.5 / 2
    return largest.where(largest > limit, 1)


def _check_loss(loss: Tensor, who: nn.Module) -> Tensor:
    """The loss (batch,), unless one is too large for its dtype."""
    bad = (~loss.isfinite()).nonzero()
    if len(bad):
        raise ValueError(
            f"the {type(who).__name__} of pair {int(bad[0, 0])} is too large for {loss.dtype}: give both warps in a "
            "larger unit of time, for example divided by how long y lasts"
        )
    return loss


def _safe_sqrt(squares: Tensor) -> Tensor:
    """The square root, with gradient zero at zero."""
    positive = squares > 0
    return squares.where(positive, 1).sqrt().where(positive, 0)


def _errors_and_steps(
    phi: Tensor, truth: Tensor, times: Tensor | None, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The errors at the knots (batch, knot) and the times between them (batch, knot − 1); zero in the padding."""
    valid = _validate_warps(phi, truth, times, lengths, least=2)
    error = phi.where(valid, 0) - truth.where(valid, 0)
    clock = _validate_times(times, phi.shape, error.dtype, phi.device, valid.sum(dim=1))
    return error, (clock[:, 1:] - clock[:, :-1]).where(valid[:, 1:], 0).to(error.dtype)


def _validate_warps(
    phi: Tensor, truth: Tensor, times: Tensor | None, lengths: Tensor | None, *, least: int = 1, places: bool = False
) -> Tensor:
    """Mask (batch, knot) of the knots that are not padding, after validation of the input."""
    _refuse_non_float(phi, "phi")
    _refuse_non_float(truth, "truth")
    if phi.ndim != 2 or 0 in phi.shape:
        raise ValueError(
            f"phi has shape {tuple(phi.shape)}: expected (batch, knot), one or more of each; "
            "for one warp give phi.unsqueeze(0)"
        )
    truth_shape = truth.shape[:2] if places and truth.ndim == 3 else truth.shape
    if truth_shape != phi.shape:
        also = " or (batch, knot, dimension)" if places else ""
        raise ValueError(
            f"truth has shape {tuple(truth.shape)} and phi {tuple(phi.shape)}: expected the same shape{also}; "
            "give both warps at the same knots, x's times"
        )
    if truth.device != phi.device:
        raise ValueError(f"truth is on {truth.device} and phi on {phi.device}: move one with .to()")
    count = _count_knots(lengths, phi.shape, phi.device, least)
    valid = torch.arange(phi.shape[1], device=phi.device) < count[:, None]
    for name, value in (("phi", phi), ("truth", truth)):
        bad = ~value.isfinite().reshape(*phi.shape, -1).all(dim=-1) & valid
        if bad.any():
            pair, knot = bad.nonzero()[0].tolist()
            raise ValueError(
                f"{name} is {value[pair, knot].tolist()} at knot {knot} of pair {pair}: expected finite numbers; "
                "knots that are padding are left out with lengths"
            )
    if times is not None:
        _validate_times(times, phi.shape, phi.dtype, phi.device, count)
    return valid


def _count_knots(lengths: Tensor | None, shape: Any, device: torch.device, least: int) -> Tensor:
    batch, knots = shape
    if lengths is None:
        if knots < least:
            raise ValueError(f"phi has {knots} knot: expected {least} or more, there is no time between fewer")
        return torch.full((batch,), knots, device=device)
    return validate_lengths(lengths, shape, "lengths", least=least).to(device)


def _validate_times(
    times: Tensor | None, shape: Any, dtype: torch.dtype, device: torch.device, count: Tensor
) -> Tensor:
    """Times (batch, knot), increasing; those of the padding continue in steps of one, whatever was there."""
    steps = torch.arange(shape[1], dtype=dtype, device=device).expand(*shape)
    if times is None:
        return steps.contiguous()
    if not isinstance(times, Tensor) or times.dtype.is_complex or times.dtype == torch.bool:
        raise TypeError(
            f"times is {_describe_type(times)}: expected a tensor of numbers, for example torch.as_tensor(times)"
        )
    if times.shape not in (tuple(shape), (shape[1],)):
        raise ValueError(
            f"times has shape {tuple(times.shape)}: expected ({shape[1]},) or {tuple(shape)}, one time per knot"
        )
    # dates in float64 would collapse in a narrower type
    clock = times.to(device=device, dtype=torch.promote_types(dtype, times.dtype)).expand(*shape)
    valid = torch.arange(shape[1], device=device) < count[:, None]
    clock = clock.where(valid, 0)
    wrong = ~clock.isfinite()
    wrong[:, 1:] |= ~(clock[:, 1:] > clock[:, :-1]) & valid[:, 1:]
    if wrong.any():
        pair, knot = wrong.nonzero()[0].tolist()
        before = f" after {clock[pair, knot - 1].item():.9g}" if knot else ""
        raise ValueError(
            f"times is {clock[pair, knot].item():.9g}{before} at knot {knot} of pair {pair}: expected finite, "
            "increasing times; sort the knots and leave out repeated ones"
        )
    end = clock.gather(1, (count - 1)[:, None])
    return clock.where(valid, end + 1 + steps).contiguous()


def _refuse_non_float(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name} is {_describe_type(value)}: expected a torch tensor, for example torch.as_tensor({name})"
        )
    if not value.dtype.is_floating_point:
        raise TypeError(f"{name} has dtype {value.dtype}: expected floating point numbers; use {name}.float()")
    refuse_meta_device(value, name, "give it on a device that computes")


def _describe_type(value: Any) -> str:
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
