"""The tangent kernel of a finite network: products of the derivatives of its outputs by its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ...core.parameters import check_int
from ...core.validation.arrays import validate_array
from ..kernels.base import Kernel, Matrix
from ..kernels.encoders import _evaluation_mode
from ..validation import is_tensor, refuse_unreadable_tensor

_MAX_KEPT_DERIVATIVES = 1 << 23  # derivatives of a block, in double precision 64 MiB; two blocks are in memory


class ParameterJacobian:
    """Derivatives of a network in evaluation mode and double precision; the network itself is unchanged."""

    def __init__(self, module: Any) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"module={module!r:.80}: expected a torch module")
        self.module = module
        exact = {name: value.detach().double() for name, value in module.named_parameters()}
        self.trainable = {name: exact[name] for name, value in module.named_parameters() if value.requires_grad}
        if not self.trainable:
            raise ValueError(f"{type(module).__name__} has no trainable parameters: expected one with requires_grad")
        buffers = {
            name: value.double() if value.is_floating_point() else value for name, value in module.named_buffers()
        }
        self.fixed = {name: value for name, value in exact.items() if name not in self.trainable} | buffers
        self._one_by_one = False

    def n_outputs(self, one: Tensor) -> int:
        """The number of outputs of the network for an item."""
        try:
            with torch.no_grad(), _evaluation_mode(self.module):
                outputs = self._call_module(self.trainable, one)
        except RuntimeError as error:
            raise ValueError(f"module cannot take items of shape {tuple(one.shape[1:])}: {error}") from error
        if not isinstance(outputs, Tensor) or not len(outputs.shape) or len(outputs) != 1:
            shape = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
            raise ValueError(f"module gave {shape} for one item: expected a tensor (item, …)")
        if not outputs.isfinite().all():
            raise ValueError("module gave nan or infinity: expected finite outputs")
        return outputs.numel()

    def groups(self, n_outputs: int) -> list[list[str]]:
        """Groups of parameters whose derivatives for one item fit into a block; a larger one is a group by itself."""
        groups: list[list[str]] = [[]]
        n_parameters = 0
        for name, value in self.trainable.items():
            if n_parameters and (n_parameters + value.numel()) * n_outputs > _MAX_KEPT_DERIVATIVES:
                groups.append([])
                n_parameters = 0
            groups[-1].append(name)
            n_parameters += value.numel()
        return groups

    def items_per_block(self, group: list[str], n_outputs: int) -> int:
        """Items whose derivatives by a group of parameters fit into a block."""
        return max(1, _MAX_KEPT_DERIVATIVES // (n_outputs * sum(self.trainable[name].numel() for name in group)))

    def jacobian(self, group: list[str], x: Tensor) -> Tensor:
        """Derivatives by the parameters of a group, (item, output · parameter), differentiable by x."""
        with _evaluation_mode(self.module):
            if not self._one_by_one:
                try:
                    return self._batched_jacobian(group, x)
                except RuntimeError:  # recurrent layers cannot be vectorised over items
                    self._one_by_one = True
            return torch.stack([self._single_jacobian(group, item) for item in x])

    def _batched_jacobian(self, group: list[str], x: Tensor) -> Tensor:
        def outputs(chosen: dict[str, Tensor], item: Tensor) -> Tensor:
            values: Tensor = self._call_module(self.trainable | chosen, item[None])
            return values[0].flatten()

        chosen = {name: self.trainable[name] for name in group}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")  # vmap loops over some operations
            jacobians = vmap(jacrev(outputs), in_dims=(None, 0))(chosen, x)
        return torch.cat([one.flatten(1) for one in jacobians.values()], dim=1)

    def _single_jacobian(self, group: list[str], item: Tensor) -> Tensor:
        onward = torch.is_grad_enabled() and item.requires_grad
        with torch.enable_grad():
            chosen = {name: self.trainable[name].clone().requires_grad_() for name in group}
            outputs = self._call_module(self.trainable | chosen, item[None])[0].flatten()
            rows = [
                torch.autograd.grad(
                    one, [*chosen.values()], retain_graph=True, create_graph=onward, materialize_grads=True
                )
                for one in outputs
            ]
            return torch.cat([torch.stack(one).flatten() for one in zip(*rows, strict=True)])

    def _call_module(self, parameters: dict[str, Tensor], x: Tensor) -> Any:
        return functional_call(self.module, (parameters, self.fixed), (x,))


def empirical_ntk(module: nn.Module, x: Any, y: Any = None, *, block_size: int | None = None) -> Any:
    """The neural tangent kernel of a network with its current parameters:

        Θ(x, y) = 1/o · Σ_k Σ_θ ∂f_k(x)/∂θ · ∂f_k(y)/∂θ,

    over all trainable parameters (`requires_grad`) and its o outputs f_k, further axes of an output counted as outputs:
    the mean of the diagonal of the o × o block of a pair. It is thus comparable with `NTK`, its limit for wide layers
    in the NTK parameterisation (Jacot et al., "Neural Tangent Kernel", 2018), with an error like 1/√width. The network
    is run in evaluation mode and double precision: dropout is off, and batch normalisation uses its averages, so that
    no item depends on the others. Its mode and parameters are unchanged.

    Use it to study which items a finite network, trained or not, convolutional or recurrent, treats as similar, and how
    training changes this. It costs a backward pass per item and output, and time items² · outputs · parameters. For
    wide perceptrons at initialization `NTK` is exact and far cheaper. If outputs have different meanings, give a module
    with one of them, because their kernels are averaged.

    Parameters
    ----------
    module : torch module
        Takes (item, …) to outputs (item, …).
    x, y : array or tensor (item, …)
        As the module takes them; y None for x with itself. Tensors give a tensor with gradients.
    block_size : int, optional
        Items whose derivatives are in memory at once; by default as many as fit into 64 MiB. If those of a single item
        do not fit, parameters are processed in groups.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import timelike as tl
    >>> tl.distributions.empirical_ntk(torch.nn.Linear(2, 1), np.array([[1.0, 2.0], [3.0, 0.0]]))
    array([[ 6.,  4.],
           [ 4., 10.]])
    """
    size = None if block_size is None else check_int(block_size, "block_size", 1)
    network = ParameterJacobian(module)
    first = _validate_items(x, "x")
    second = first if y is None else _validate_items(y, "y")
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"x has items of shape {tuple(first.shape[1:])} and y of {tuple(second.shape[1:])}: expected the same"
        )
    if is_tensor(x):
        return _kernel_by_groups(network, first, None if y is None else second, size).to(x.dtype)
    with torch.no_grad():
        return _kernel_by_groups(network, first, None if y is None else second, size).numpy()


@dataclass(frozen=True, repr=False)
class EmpiricalNTK(Kernel):
    """The tangent kernel of a finite network, `empirical_ntk`, as a kernel of vectors: for `IPM`, `mmd`, `TwoSample`.

    It describes the network as a discriminator that is trained for a short time from its current parameters: its
    outputs move by Θ. Positive semidefinite, with a rank of at most outputs · parameters. Gradients by x are second
    derivatives of the network: with ReLU they jump.

    Parameters
    ----------
    module : torch module
        Takes (item, feature), or (item, *shape).
    shape : tuple of int, optional
        Shape of an item for the module, such as (1, 28, 28) for a convolution of vectors of 784 numbers.

    Examples
    --------
    >>> import torch
    >>> import timelike as tl
    >>> kernel = tl.distributions.EmpiricalNTK(torch.nn.Linear(2, 1))
    >>> round(tl.distributions.mmd([[1.0, 2.0], [3.0, 0.0]], [[1.0, 0.0]], kernel), 6)
    2.0
    """

    module: Any
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        ParameterJacobian(self.module)
        if self.shape is not None:
            object.__setattr__(self, "shape", tuple(check_int(length, "shape", 1) for length in self.shape))

    def __repr__(self) -> str:
        return f"EmpiricalNTK({type(self.module).__name__})"

    @property
    def has_fitted_part(self) -> bool:
        """True: the network may be trained."""
        return True

    def resolve(self, sample: Any, rng: np.random.Generator | None = None) -> Self:
        """Itself: there are no open options."""
        return self

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        with torch.no_grad():
            matrix: Matrix = self._compute_kernel(torch.tensor(x), None if y is None else torch.tensor(y)).numpy()
        return matrix

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        return self._compute_kernel(x.flatten(1), None if y is x else y.flatten(1))

    def _compute_kernel(self, x: Tensor, y: Tensor | None) -> Tensor:
        return _kernel_by_groups(
            ParameterJacobian(self.module), self._reshape_items(x), None if y is None else self._reshape_items(y), None
        )

    def _reshape_items(self, x: Tensor) -> Tensor:
        if self.shape is None:
            return x
        if x.shape[1] != np.prod(self.shape):
            raise ValueError(
                f"shape={self.shape} takes {int(np.prod(self.shape))} numbers and an item has {x.shape[1]}"
            )
        return x.reshape(len(x), *self.shape)


def _validate_items(value: Any, name: str) -> Tensor:
    """Items in double precision, all of them finite."""
    refuse_unreadable_tensor(value, name)
    items = value.double() if is_tensor(value) else torch.from_numpy(np.array(validate_array(value, name), np.float64))
    if items.ndim < 2 or not len(items):
        raise ValueError(f"{name} has shape {tuple(items.shape)}: expected (item, …) with at least one item")
    if not items.isfinite().all():
        raise ValueError(f"{name} holds nan or infinity: expected finite numbers")
    return items


def _kernel_by_groups(network: ParameterJacobian, x: Tensor, y: Tensor | None, block: int | None) -> Tensor:
    """The kernel in blocks, group of parameters by group; of x with itself only half of it is computed."""
    n_outputs = network.n_outputs(x[:1])
    total: Tensor | None = None
    for group in network.groups(n_outputs):
        at_once = block or network.items_per_block(group, n_outputs)
        group_kernel = _group_kernel(network, group, x, y, at_once)
        total = group_kernel if total is None else total + group_kernel
    assert total is not None
    return total / n_outputs


def _group_kernel(network: ParameterJacobian, group: list[str], x: Tensor, y: Tensor | None, at_once: int) -> Tensor:
    strips = []
    for begin, here in _iterate_jacobians(network, group, x, at_once):
        there = _iterate_jacobians(network, group, x[:begin] if y is None else y, at_once)
        parts = [here @ other.T for _, other in there]
        strips.append(torch.cat([*parts, here @ here.T] if y is None else parts, dim=1))
    if y is not None:
        return torch.cat(strips)
    lower = torch.cat([nn.functional.pad(strip, (0, len(x) - strip.shape[1])) for strip in strips]).tril()
    return lower + lower.tril(-1).T


def _iterate_jacobians(
    network: ParameterJacobian, group: list[str], x: Tensor, at_once: int
) -> Iterator[tuple[int, Tensor]]:
    for begin in range(0, len(x), at_once):
        yield begin, network.jacobian(group, x[begin : begin + at_once])
