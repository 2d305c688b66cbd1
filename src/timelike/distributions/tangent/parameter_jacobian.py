"""Derivatives of a network's outputs by its parameters, item by item."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ..kernels.encoder_kernel import _evaluation_mode

_MAX_KEPT_DERIVATIVES = 1 << 23  # derivatives of a block, in double precision 64 MiB; two blocks are kept


class ParameterJacobian:
    """A network in evaluation mode and double precision, beside the one it was made of, which stays as it is."""

    def __init__(self, module: Any) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"module={module!r:.80}: expected a torch module")
        self.module = module
        exact = {name: value.detach().double() for name, value in module.named_parameters()}
        self.trainable = {name: exact[name] for name, value in module.named_parameters() if value.requires_grad}
        if not self.trainable:
            raise ValueError(
                f"{type(module).__name__} has no parameters that are trained: expected one with requires_grad"
            )
        buffers = {
            name: value.double() if value.is_floating_point() else value for name, value in module.named_buffers()
        }
        self.fixed = {name: value for name, value in exact.items() if name not in self.trainable} | buffers
        self._one_by_one = False

    def n_outputs(self, one: Tensor) -> int:
        """Numbers that the network gives for an item."""
        try:
            with torch.no_grad(), _evaluation_mode(self.module):
                found = self._call_module(self.trainable, one)
        except RuntimeError as error:
            raise ValueError(f"module cannot take items of shape {tuple(one.shape[1:])}: {error}") from error
        if not isinstance(found, Tensor) or not len(found.shape) or len(found) != 1:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"module gave {shape} for one item: expected a tensor (item, …)")
        if not found.isfinite().all():
            raise ValueError("module gave nan or infinity: expected finite outputs")
        return found.numel()

    def groups(self, n_outputs: int) -> list[list[str]]:
        """Parameters whose derivatives of one item fit into a block together; a larger one stands alone."""
        found: list[list[str]] = [[]]
        held = 0
        for name, value in self.trainable.items():
            if held and (held + value.numel()) * n_outputs > _MAX_KEPT_DERIVATIVES:
                found.append([])
                held = 0
            found[-1].append(name)
            held += value.numel()
        return found

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
            found: Tensor = self._call_module(self.trainable | chosen, item[None])
            return found[0].flatten()

        chosen = {name: self.trainable[name] for name in group}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")  # of what vmap does in a loop
            found = vmap(jacrev(outputs), in_dims=(None, 0))(chosen, x)
        return torch.cat([one.flatten(1) for one in found.values()], dim=1)

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

    def _call_module(self, trained: dict[str, Tensor], x: Tensor) -> Any:
        return functional_call(self.module, (trained, self.fixed), (x,))
