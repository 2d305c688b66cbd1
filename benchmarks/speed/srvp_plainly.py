"""SRVP as one would write it down from the thesis: frame by frame and step by step, in plain torch.

Chapter 4 for the model, appendix B.3 for the networks (DCGAN, VGG or a perceptron, an LSTM that infers z, perceptrons
that infer y_1, move the state and give the prior of z) and the optimiser, which is Adam. Sizes and weights are those of
a network of ours, so that both have the same loss, given the same noise; layers of normalisation see a frame of the
batch at a time here and all frames at once there, so that this is so only in evaluation mode.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from timelike.forecast import SRVPNetwork
from timelike.forecast.codecs.convolutions import ConvEncoder

VGG = (2, 2, 3, 3)  # convolutions of a stage


class Plain(nn.Module):
    """The model of chapter 4 with the weights of a network of ours, without skips."""

    content_frame_layer: nn.Module
    content_layer: nn.Module
    state_head: nn.Module
    random_head: nn.Module
    prior: nn.Module
    dynamics: nn.Module
    log_std: nn.Parameter

    def __init__(self, ours: SRVPNetwork) -> None:
        super().__init__()
        self.conditioning, self.substeps, self.squash = ours.conditioning, ours.substeps, ours.use_sigmoid
        self.encoder, self.decoder = codec(ours)
        for part in (
            "content_frame_layer",
            "content_layer",
            "state_head",
            "random_head",
            "prior",
            "dynamics",
            "log_std",
        ):
            setattr(self, part, copy.deepcopy(getattr(ours, part)))
        assert ours.lstm is not None
        self.cell = nn.LSTMCell(ours.lstm.input_size, ours.lstm.hidden_size)
        copied(ours.lstm, self.cell)

    def loss(self, x: Tensor, chosen: Tensor, beta: float, stillness: float, first: Tensor, random: Tensor) -> Tensor:
        """Eq. 4.9 and 4.10 of frames (batch, time, …), with noise of y_1 and of z; the mean over the batch."""
        codes = [self.encoder(x[:, t]) for t in range(x.shape[1])]
        w = self.content_of(codes, chosen)
        mean, scale = gaussian(self.state_head(torch.cat(codes[: self.conditioning], dim=1)))
        y = mean + scale * first
        loss = divergence(mean, scale, torch.zeros_like(mean), torch.ones_like(scale))
        loss = loss - self.likelihood(x[:, 0], y, w)
        h, c = self.cell(codes[0])
        for t in range(1, x.shape[1]):
            h, c = self.cell(codes[t], (h, c))
            mean, scale = gaussian(self.random_head(h))
            loss = loss + beta * divergence(mean, scale, *gaussian(self.prior(y)))
            z = mean + scale * random[:, t - 1]
            for _ in range(self.substeps):
                update = self.dynamics(torch.cat([y, z], dim=1)) / self.substeps
                loss, y = loss + stillness * update.norm(dim=1), y + update
            loss = loss - self.likelihood(x[:, t], y, w)
        return loss.mean()

    def content_of(self, codes: list[Tensor], chosen: Tensor) -> Tensor:
        """Eq. B.14, of some frames of each item."""
        every = torch.stack(codes, dim=1)
        some = torch.stack([item[ids] for item, ids in zip(every, chosen, strict=True)])
        found: Tensor = self.content_layer(self.content_frame_layer(some).sum(dim=1))
        return found

    def likelihood(self, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        """log N(x; g(y, w), ν) of a frame, (batch,)."""
        drawn = self.decoder(torch.cat([w, y], dim=1))
        drawn, scale = torch.sigmoid(drawn) if self.squash else drawn, self.log_std.exp()
        density = -0.5 * ((x - drawn) / scale) ** 2 - scale.log() - 0.5 * math.log(2 * math.pi)
        return density.flatten(1).sum(dim=1)


def gaussian(numbers: Tensor) -> tuple[Tensor, Tensor]:
    mean, raw = numbers.chunk(2, dim=1)
    return mean, F.softplus(raw) + 1e-8


def divergence(mean: Tensor, scale: Tensor, other: Tensor, wide: Tensor) -> Tensor:
    """The divergence of one normal distribution from another, (batch,)."""
    terms = torch.log(wide / scale) + (scale**2 + (mean - other) ** 2) / (2 * wide**2) - 0.5
    return terms.sum(dim=1)


# --- codecs


def codec(ours: SRVPNetwork) -> tuple[nn.Module, nn.Module]:
    """The encoder and the decoder of ours in plain torch, with its weights."""
    if not isinstance(ours.encoder, ConvEncoder):
        return copy.deepcopy(ours.encoder), copy.deepcopy(ours.decoder)
    look: Any = ours.encoder
    widths = [stage_width(stage) for stage in look.stages]
    ends, side = (ours.frame[0], look.code_layer.out_features), look.shape.code_size[0]
    made = (dcgan if look.kind == "dcgan" else vgg)(widths, ends, ours.n_state + ours.n_content, side)
    copied(ours.encoder, made[0])
    copied(ours.decoder, made[1])
    return made


def stage_width(stage: nn.Module) -> int:
    return max(layer.out_channels for layer in stage.modules() if isinstance(layer, nn.Conv2d))


def dcgan(widths: list[int], ends: tuple[int, int], n_latent: int, side: int) -> tuple[nn.Module, nn.Module]:
    """Convolutions of 4 × 4 that halve a picture, and transposed ones that double it again."""
    down: list[nn.Module] = []
    for before, after in pairwise([ends[0], *widths]):
        down += [nn.Conv2d(before, after, 4, 2, 1), nn.BatchNorm2d(after), nn.LeakyReLU(0.2)]
    up: list[nn.Module] = []
    for before, after in pairwise(widths[::-1]):
        up += [nn.ConvTranspose2d(before, after, 4, 2, 1), nn.BatchNorm2d(after), nn.LeakyReLU(0.2)]
    up.append(nn.ConvTranspose2d(widths[0], ends[0], 4, 2, 1))
    return to_code(down, widths[-1], side, ends[1]), from_code(up, widths[-1], side, n_latent)


def vgg(widths: list[int], ends: tuple[int, int], n_latent: int, side: int) -> tuple[nn.Module, nn.Module]:
    """Convolutions of 3 × 3, with the largest of four pixels between stages, and every pixel repeated on the way back.

    On the way back a stage has half its channels but in its first and its last convolution.
    """
    down: list[nn.Module] = []
    for stage, (before, after) in enumerate(pairwise([ends[0], *widths])):
        down += chain.from_iterable(block(before if i == 0 else after, after) for i in range(VGG[stage]))
        down.append(nn.MaxPool2d(2))
    up: list[nn.Module] = []
    for stage in reversed(range(len(widths))):
        before, after = widths[stage], ([ends[0], *widths])[stage]
        middle = before // 2
        up.append(nn.Upsample(scale_factor=2))
        up += chain.from_iterable(block(before if i == 0 else middle, middle) for i in range(VGG[stage] - 1))
        up += [nn.Conv2d(middle, after, 3, 1, 1)] if stage == 0 else block(middle, after)
    return to_code(down, widths[-1], side, ends[1]), from_code(up, widths[-1], side, n_latent)


def block(before: int, after: int) -> list[nn.Module]:
    return [nn.Conv2d(before, after, 3, 1, 1), nn.BatchNorm2d(after), nn.LeakyReLU(0.2)]


def to_code(layers: list[nn.Module], width: int, side: int, n_code: int) -> nn.Module:
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * side**2, n_code))


def from_code(layers: list[nn.Module], width: int, side: int, n_latent: int) -> nn.Module:
    first = [nn.Linear(n_latent, width * side**2), nn.Unflatten(1, (width, side, side))]
    return nn.Sequential(*first, nn.BatchNorm2d(width), nn.LeakyReLU(0.2), *layers)


def copied(source: nn.Module, target: nn.Module) -> None:
    """Give a module the numbers of another with the same layers in the same order."""
    with torch.no_grad():
        for one, other in zip(numbers(source), numbers(target), strict=True):
            assert one.shape == other.shape
            other.copy_(one)


def numbers(module: nn.Module) -> Iterator[Tensor]:
    """Weights and running statistics, sorted by layers as they are called."""
    layers = [layer for layer in module.modules() if not any(True for _ in layer.children())]
    if isinstance(module, ConvEncoder):  # in ours the last layer is made before the stages' own are listed
        layers.sort(key=lambda layer: layer is module.code_layer)
    for layer in layers:
        yield from layer.parameters()
        yield from layer.buffers()
