"""The fallback of the convolutions in torch: any device, any precision, differentiable any number of times."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import ConvolutionStack, PairTables


def forward(stack: ConvolutionStack[Tensor], tables: PairTables[Tensor], inside: Tensor | None) -> Tensor:
    """The output channel, (pair, n, m); `inside` is the mask of steps, or None without padding."""
    weights, biases = stack
    # channels innermost: the order in which the convolutions are fastest
    z = torch.stack([tables.distances, tables.positions], -1).permute(0, 3, 1, 2)
    within = None if inside is None else inside[:, None].to(z.dtype)
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        z = F.conv2d(z, weight, bias, padding=weight.shape[2] // 2)
        if within is not None:
            z.mul_(within)  # in place, as the ReLU: the backward pass needs only what the next layer reads
        z.relu_()
    outputs = _convolve_to_one(z, weights[-1]) + biases[-1]
    return outputs if within is None else outputs * within[:, 0]


def _convolve_to_one(z: Tensor, weight: Tensor) -> Tensor:
    """A convolution to one channel: every step times all taps as one product of matrices, then put where they belong.

    Kernels for convolutions compute a block of outputs at once, and of one output they waste most.
    """
    size = weight.shape[2]
    taps = weight[0].flip(1, 2).flatten(1).mT  # (tap, channel)
    products = taps @ z.permute(0, 2, 3, 1).flatten(1, 2).mT
    return F.fold(products, z.shape[2:], size, padding=size // 2)[:, 0]
