"""Transport alignments as torch modules: a cost and a plan for every item, with gradients."""

from __future__ import annotations

import abc
import warnings
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ... import native
from ...core.validation.tensors import valid_mask
from ...native import Cost, transport as kernels
from .. import transport as aligners
from .costs import frame_costs
from .first_order import once_differentiable
from .padded_pairs import PaddedPairs, validate_pairs


class TransportOutput(NamedTuple):
    """The output of a transport layer: `cost` (item,), and `plan` (item, n, m), 0 in the padding."""

    cost: Tensor
    plan: Tensor


class TransportLayer(nn.Module, abc.ABC):
    """Base class of the transport layers. They compute in float64 on the CPU, and return x's dtype and device."""

    aligner: aligners.OT | aligners.EntropicTransport

    def forward(self, x: Tensor, y: Tensor, x_lengths: Any = None, y_lengths: Any = None) -> TransportOutput:
        """Cost (item,) and plan (item, n, m) of x (item, n, channel) and y (item, m, channel).

        Steps beyond `x_lengths` and `y_lengths` (item,) are padding and change neither a value nor a gradient.
        """
        padded = validate_pairs(x, y, x_lengths, y_lengths)
        # two moves, because not every device supports float64
        frames = frame_costs(self.aligner.cost, padded.x.cpu().double(), padded.y.cpu().double())
        if not torch.isfinite(frames.detach()).all():
            raise ValueError("x and y hold values too large to compare in float64: scale both down, below 1e150")
        cost, plan = self._solve(frames, padded)
        if not bool((cost.detach().abs() <= torch.finfo(x.dtype).max).all()):
            raise ValueError(f"a cost is too large for {x.dtype}: standardize x and y, or give them as float64")
        return TransportOutput(cost.to(x.dtype).to(x.device), plan.to(x.dtype).to(x.device))

    @abc.abstractmethod
    def _solve(self, frames: Tensor, padded: PaddedPairs) -> tuple[Tensor, Tensor]:
        """Cost and plan from the costs of frames (item, n, m)."""

    def extra_repr(self) -> str:
        """The options that differ from the defaults."""
        return repr(self.aligner).partition("(")[2][:-1]


class OT(TransportLayer):
    """`tl.OT` as a layer: exact optimal transport of every item.

    The gradient of the cost is that of ⟨T, D⟩ with fixed T, which is exact wherever the plan is unique (almost
    everywhere). The plan is locally constant there and has no gradient.

    >>> import torch
    >>> from timelike import nn
    >>> x = torch.tensor([[[0.0], [2.0]]], requires_grad=True)
    >>> output = nn.OT()(x, torch.tensor([[[3.0], [0.0]]]))
    >>> output.cost.backward()
    >>> output.cost.item(), x.grad.flatten().tolist()
    (0.5, [0.0, -1.0])
    """

    def __init__(self, *, cost: Cost = "sqeuclidean") -> None:
        super().__init__()
        self.aligner = aligners.OT(cost=cost)

    def _solve(self, frames: Tensor, padded: PaddedPairs) -> tuple[Tensor, Tensor]:
        plan = torch.zeros_like(frames, requires_grad=False)
        for item, (n, m) in enumerate(zip(padded.x_lengths.tolist(), padded.y_lengths.tolist(), strict=True)):
            plan[item, :n, :m] = torch.from_numpy(aligners.exact_plan(frames[item, :n, :m].detach().numpy()))
        return _sum_items(plan * frames, padded), plan


class EntropicLayer(TransportLayer):
    """Layers whose plan is smooth in the costs. Gradients by the implicit function theorem, not through iterations.

    The options are those of the metric of the same name: `regularization`, `cost`, `inverse_difference` and `deviation`
    of OPW, `weight` of TCOT, and `max_iter` and `tolerance` of the iterations.
    """

    aligner: aligners.EntropicTransport

    def _solve(self, frames: Tensor, padded: PaddedPairs) -> tuple[Tensor, Tensor]:
        how = self.aligner._solver_options()
        ground = frames + _prior_costs(how, padded, frames.shape[1:])
        plan = _EntropicPlan.apply(ground, how, padded.x_lengths, padded.y_lengths)  # type: ignore[no-untyped-call]
        return _sum_items(plan * (ground if how.counted else frames), padded), plan


class Sinkhorn(EntropicLayer):
    """`tl.Sinkhorn` as a layer: transport smoothed by entropy.

    >>> import torch
    >>> from timelike import nn
    >>> x = torch.tensor([[[0.0], [1.0]]])
    >>> nn.Sinkhorn(regularization=0.5)(x, x).plan
    tensor([[[0.4404, 0.0596],
             [0.0596, 0.4404]]])
    """

    def __init__(
        self, *, regularization: float = 0.1, cost: Cost = "sqeuclidean", max_iter: int = 1000, tolerance: float = 1e-12
    ) -> None:
        super().__init__()
        self.aligner = aligners.Sinkhorn(
            regularization=regularization, cost=cost, max_iter=max_iter, tolerance=tolerance
        )


class OPW(EntropicLayer):
    """`tl.OPW` as a layer: transport with plans near the diagonal.

    >>> import torch
    >>> from timelike import nn
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]])
    >>> nn.OPW()(x, x.flip(1)).cost
    tensor([2.6667])
    """

    def __init__(
        self,
        *,
        inverse_difference: float = 50.0,
        regularization: float = 0.1,
        deviation: float = 1.0,
        cost: Cost = "sqeuclidean",
        max_iter: int = 1000,
        tolerance: float = 1e-12,
    ) -> None:
        super().__init__()
        self.aligner = aligners.OPW(
            inverse_difference=inverse_difference,
            regularization=regularization,
            deviation=deviation,
            cost=cost,
            max_iter=max_iter,
            tolerance=tolerance,
        )


class TCOT(EntropicLayer):
    """`tl.align.TCOT` as a layer: transport with the distance of relative positions in the ground cost.

    >>> import torch
    >>> from timelike import nn
    >>> x = torch.tensor([[[1.0], [0.0], [0.0], [0.0]]])
    >>> nn.TCOT(regularization=0.01)(x, x.flip(1)).cost
    tensor([0.3750])
    """

    def __init__(
        self,
        *,
        weight: float = 1.0,
        regularization: float = 0.1,
        cost: Cost = "sqeuclidean",
        max_iter: int = 1000,
        tolerance: float = 1e-12,
    ) -> None:
        super().__init__()
        self.aligner = aligners.TCOT(
            weight=weight, regularization=regularization, cost=cost, max_iter=max_iter, tolerance=tolerance
        )


def _sum_items(shares: Tensor, padded: PaddedPairs) -> Tensor:
    """The sum of each item, term by term: sums over an axis are grouped by its length, and padding would show."""
    inside = _valid_mask(padded.x_lengths, padded.y_lengths, shares.shape)
    items = torch.repeat_interleave(torch.arange(len(shares)), padded.x_lengths * padded.y_lengths)
    return torch.zeros(len(shares), dtype=shares.dtype).index_add(0, items, shares[inside])


def _valid_mask(n: Tensor, m: Tensor, shape: torch.Size) -> Tensor:
    return valid_mask(n, shape[1])[:, :, None] & valid_mask(m, shape[2])[:, None, :]


def _prior_costs(how: kernels.SinkhornOptions, padded: PaddedPairs, shape: torch.Size) -> Tensor:
    """The part of the ground cost that does not depend on the frames, (item, n, m), by each item's lengths."""
    costs = torch.zeros(len(padded.x_lengths), *shape, dtype=torch.float64)
    for item, (n, m) in enumerate(zip(padded.x_lengths.tolist(), padded.y_lengths.tolist(), strict=True)):
        costs[item, :n, :m] = torch.from_numpy(how.prior(n, m))
    return costs


class _EntropicPlan(torch.autograd.Function):
    """T(C). Its adjoint: dL/dC = −T ∘ (G − α − β)/ε, with α and β such that rows and columns sum to zero."""

    @staticmethod
    def forward(ctx: Any, ground: Tensor, how: kernels.SinkhornOptions, n: Tensor, m: Tensor) -> Tensor:
        threads = min(native.cpu_count(), torch.get_num_threads())
        plans, deviations = kernels.plans(how, ground.detach().contiguous().numpy(), n.numpy(), m.numpy(), threads)
        _warn_not_converged(how, deviations)
        plan = torch.from_numpy(plans)
        ctx.save_for_backward(plan, n, m)
        ctx.epsilon, ctx.threads = how.epsilon, threads
        return plan

    @staticmethod
    @once_differentiable("the gradient of a transport plan")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        plan, n, m = ctx.saved_tensors
        plan_gradient = torch.where(_valid_mask(n, m, plan.shape), gradient, 0.0).contiguous().numpy()
        left = kernels.project_gradients(plan.numpy(), plan_gradient, n.numpy(), m.numpy(), ctx.threads)
        return torch.from_numpy(left) / -ctx.epsilon, None, None, None


def _warn_not_converged(how: kernels.SinkhornOptions, deviations: Any) -> None:
    item = int(deviations.argmax()) if len(deviations) else 0
    if len(deviations) and deviations[item] > how.tolerance:
        warnings.warn(
            f"the plan of item {item} misses its marginals by {deviations[item]:.1e} after max_iter={how.rounds} "
            f"rounds, and tolerance={how.tolerance:g} was asked: use a larger max_iter, tolerance or regularization",
            RuntimeWarning,
            stacklevel=2,
        )
