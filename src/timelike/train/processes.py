"""`Processes`: one or several processes, their device and precision, with lightning-fabric."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor, nn

from ..core.parameters import check_choice, check_int, format_count
from .trainer import Accelerator, Precision

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Strategy = Literal["auto", "ddp"]


class Processes:
    """One of several processes that hold the same weights and each compute a part of every batch.

    Gradients are averaged here and not by a wrapper around the module, so that an objective may call the module any
    number of times, use all of its methods, leave out parameters and use several optimisers.
    """

    def __init__(self, fabric: Fabric | None, *, mixed: bool = False) -> None:
        self._fabric, self._mixed = fabric, mixed
        self.rank = 0 if fabric is None else fabric.global_rank
        self.world_size = 1 if fabric is None else fabric.world_size
        self.device = torch.device("cpu") if fabric is None else fabric.device

    @classmethod
    def start(cls, accelerator: Accelerator, devices: int, strategy: Strategy, precision: Precision) -> Processes:
        """Start the other processes, if there are any."""
        check_choice(accelerator, "accelerator", get_args(Accelerator))
        check_choice(strategy, "strategy", get_args(Strategy))
        check_choice(precision, "precision", get_args(Precision))
        check_int(devices, "devices", 1)
        if (accelerator, devices, strategy) == ("cpu", 1, "auto") and precision in ("32-true", "bf16-mixed"):
            # fabric is not needed, and importing it takes longer than many trainings
            return cls(None, mixed=precision == "bf16-mixed")
        _refuse_absent_device(accelerator, devices)
        from lightning_fabric import Fabric

        fabric = Fabric(accelerator=accelerator, devices=devices, strategy=strategy, precision=precision)
        fabric.launch()
        return cls(fabric)

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def place(self, module: nn.Module) -> None:
        """Move the module to the device and precision, with the same weights in every process."""
        if self._fabric is None:
            return
        # not `setup_module`, whose wrapper would hide the module's own methods from the objective
        self._fabric.strategy.precision.convert_module(module)
        module.to(self.device)
        self._copy_from_first([*module.parameters(), *module.buffers()])

    def autocast(self) -> AbstractContextManager[Any]:
        """The context in which losses and scores are computed."""
        if self._fabric is not None:
            return self._fabric.autocast()
        return torch.autocast("cpu", torch.bfloat16) if self._mixed else nullcontext()

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the processes."""
        if self.world_size == 1 or self._fabric is None:
            return values
        total = self._fabric.all_reduce(values.to(self.device, copy=True), reduce_op="sum")
        assert isinstance(total, Tensor)
        return total / self.world_size

    def any(self, flag: bool) -> bool:
        """Whether the flag is true in any process."""
        if self.world_size == 1:
            return flag
        return bool(self.mean(torch.tensor(float(flag), device=self.device)) > 0)

    def broadcast(self, value: Any) -> Any:
        """The value of the first process."""
        return value if self.world_size == 1 or self._fabric is None else self._fabric.broadcast(value)

    def barrier(self) -> None:
        """Wait until all processes arrive."""
        if self._fabric is not None:
            self._fabric.barrier()

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace every gradient by its mean over the processes; one that no process has stays None."""
        if self.world_size == 1:
            return
        by_dtype: dict[torch.dtype, list[nn.Parameter]] = {}
        for parameter in parameters:
            by_dtype.setdefault(parameter.dtype, []).append(parameter)
        for group in by_dtype.values():
            self._average_group(group)

    def _average_group(self, group: list[nn.Parameter]) -> None:
        """Average all gradients of a dtype in one message, which ends with flags for those that exist."""
        there = torch.tensor([float(p.grad is not None) for p in group], dtype=group[0].dtype, device=self.device)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in group]
        flat = self.mean(torch.cat([*(gradient.reshape(-1) for gradient in gradients), there]))
        *parts, presence = torch.split(flat, [*(p.numel() for p in group), len(group)])
        for parameter, part, exists in zip(group, parts, presence.tolist(), strict=True):
            parameter.grad = part.view_as(parameter).clone() if exists else None

    def copy_buffers(self, module: nn.Module) -> None:
        """Copy the buffers (running means, prototypes) of the first process to every process."""
        if self.world_size > 1:
            self._copy_from_first(list(module.buffers()))

    def _copy_from_first(self, tensors: list[Tensor]) -> None:
        if self.world_size == 1:
            return
        for tensor in tensors:
            torch.distributed.broadcast(tensor.data, src=0)


def has_bfloat16() -> bool:
    """Whether this processor has bfloat16 instructions; without them bfloat16 is slow."""
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # missing before torch 2.10
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _refuse_absent_device(accelerator: Accelerator, devices: int) -> None:
    """Raise an error for devices that this machine does not have."""
    cores, cards, mps = os.cpu_count() or 1, torch.cuda.device_count(), torch.backends.mps.is_available()
    there = {"cpu": cores, "cuda": cards, "mps": int(mps), "gpu": cards or int(mps)}
    there["auto"] = there["gpu"] or cores
    have = there[accelerator]
    if have == 0:
        others = f"{format_count(cores, 'core')} of a processor" + (
            f" and {format_count(cards, 'card')} for cuda" if cards else ""
        )
        raise ValueError(f"accelerator={accelerator!r}: there is none, this machine has {others}; use 'cpu' or 'auto'")
    if devices > have:
        raise ValueError(
            f"devices={devices} with accelerator={accelerator!r}: expected at most {have}, as this machine has no more"
        )
