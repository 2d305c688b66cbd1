"""Pictures to codes and back by convolutions: DCGAN, VGG and residual stages, mirrored, with skips where asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...train.threads import torch_threads

Pictures = Literal["dcgan", "vgg", "resnet"]
_STAGES = 4  # that halve a picture, of 64 × 64 to 4 × 4
SMALLEST = 4  # pixels of a side at the end, and at least
_UNPOOLED = 2  # stages without halving where codes are maps (C.5.2)
_VGG = (2, 2, 3, 3)  # convolutions of each stage
_FEW = 3  # channels of a picture, up to which `Doubling` is quicker than the transposed convolution of torch
_AT_ONCE = 32  # pictures, so that what comes between stays in the cache


class Shape:
    """How a picture is halved: stages, and how far it is padded first so that every half is whole."""

    def __init__(self, height: int, width: int, *, maps: bool) -> None:
        side = min(height, width)
        self.stages = max(1, min(_STAGES, side.bit_length() - SMALLEST.bit_length()))
        self.halvings = max(1, self.stages - _UNPOOLED) if maps else self.stages
        unit = 2**self.halvings
        self.size, self.padded = (height, width), tuple(-(-length // unit) * unit for length in (height, width))
        self.code = tuple(length // unit for length in self.padded)

    def pad(self, x: Tensor) -> Tensor:
        """Zeros below and to the right."""
        extra = [after - before for before, after in zip(self.size, self.padded, strict=True)]
        return F.pad(x, (0, extra[1], 0, extra[0])) if any(extra) else x

    def crop(self, x: Tensor) -> Tensor:
        """Without what was padded."""
        return x[..., : self.size[0], : self.size[1]]


class Look(nn.Module):
    """Pictures (batch, channel, height, width) to codes, vectors or maps, and what each stage saw on the way."""

    def __init__(
        self, kind: Pictures, n_channels: int, shape: Shape, n_code: int, *, filters: int, maps: bool = False
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps = shape, kind, maps
        widths = [filters * 2**stage for stage in range(shape.stages)]
        self.stages = nn.ModuleList(
            _down(kind, before, after, stage, halve=stage < shape.halvings)
            for stage, (before, after) in enumerate(zip([n_channels, *widths], widths, strict=False))
        )
        if maps:
            self.last: nn.Conv2d | nn.Linear = nn.Conv2d(widths[-1], n_code, 3, padding=1)
        else:
            self.last = nn.Linear(widths[-1] * shape.code[0] * shape.code[1], n_code)

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Codes, and the maps of the stages for skips."""
        x, seen = self.shape.pad(x), []
        if self.kind != "resnet":  # of whose convolutions of 1 × 1 torch 2.13 dies with 5 channels side by side
            x = laid_out(x)
        for stage, layers in enumerate(self.stages):
            x = layers(x)
            seen.append(x)
            if self.kind == "vgg" and stage < self.shape.halvings:
                x = F.max_pool2d(x, 2)
        return self._coded(x), seen

    def _coded(self, x: Tensor) -> Tensor:
        if self.maps or not _is_laid_out(x):
            coded: Tensor = self.last(x if self.maps else x.flatten(1))
            return coded
        weight, bias = (
            self.last.weight,
            self.last.bias,
        )  # for numbers in the order in which they lie, not plane by plane
        turned = weight.reshape(-1, *x.shape[1:]).permute(0, 2, 3, 1).flatten(1)
        return F.linear(x.permute(0, 2, 3, 1).flatten(1), turned, bias)


class Draw(nn.Module):
    """Codes to pictures: the stages of `Look` in reverse; ResNet's are drawn by DCGAN's (C.5.2)."""

    def __init__(
        self,
        kind: Pictures,
        n_channels: int,
        shape: Shape,
        n_code: int,
        *,
        filters: int,
        maps: bool = False,
        skips: bool = False,
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps, self.skips = shape, kind, maps, skips
        widths = [filters * 2**stage for stage in range(shape.stages)]
        self.first: nn.Conv2d | nn.Linear
        if maps:
            self.first = nn.Conv2d(n_code, widths[-1], 3, padding=1)
        else:
            self.first = nn.Linear(n_code, widths[-1] * shape.code[0] * shape.code[1])
        self.begin = nn.Sequential(nn.BatchNorm2d(widths[-1]), nn.LeakyReLU(0.2, inplace=True))
        ends = [n_channels, *widths[:-1]]
        self.stages = nn.ModuleList(
            _up(
                kind,
                widths[stage] * (2 if skips else 1),
                ends[stage],
                stage,
                double=stage < shape.halvings,
                last=stage == 0,
            )
            for stage in reversed(range(shape.stages))
        )

    def forward(self, code: Tensor, seen: list[Tensor]) -> Tensor:
        """Pictures, before any squashing; where no gradients are asked for, as many at once whatever their number.

        In single precision a convolution of fewer pictures, or one that threads share, may round in another way, and a
        picture would not be quite itself in other company. So pieces are of one size and each has one thread.
        """
        if torch.is_grad_enabled() or self.training:
            return self._drawn(code, seen)
        rows = [_filled(one) for one in (code, *seen)]
        pieces = list(zip(*(torch.split(one, _AT_ONCE) for one in rows), strict=True))
        threads = min(len(pieces), torch.get_num_threads())
        if threads == 1:
            return torch.cat([self._piece(piece) for piece in pieces])[: len(code)]
        with ThreadPoolExecutor(threads) as pool:
            return torch.cat(list(pool.map(self._piece, pieces)))[: len(code)]

    def _piece(self, rows: tuple[Tensor, ...]) -> Tensor:
        with torch_threads(1), torch.no_grad():  # both are a thread's own
            return self._drawn(rows[0], list(rows[1:]))

    def _drawn(self, code: Tensor, seen: list[Tensor]) -> Tensor:
        x = self.begin(laid_out(self.first(code) if self.maps else self._decoded(code)))
        for stage, layers in zip(reversed(range(self.shape.stages)), self.stages, strict=True):
            if self.kind == "vgg" and stage < self.shape.halvings:
                x = F.interpolate(x, scale_factor=2)
            x = layers(torch.cat([x, seen[stage]], dim=1) if self.skips else x)
        return self.shape.crop(x)

    def _decoded(self, code: Tensor) -> Tensor:
        height, width = self.shape.code
        weight, bias = self.first.weight, self.first.bias
        assert bias is not None
        if not by_pixel(code.dtype):
            return F.linear(code, weight, bias).reshape(len(code), -1, height, width)
        weight, bias = (
            one.reshape(-1, height * width, *one.shape[1:]).transpose(0, 1).flatten(0, 1) for one in (weight, bias)
        )
        return F.linear(code, weight, bias).reshape(len(code), height, width, -1).permute(0, 3, 1, 2)


def _filled(rows: Tensor) -> Tensor:
    """With rows of zeros behind them, until there are as many as are drawn at once."""
    missing = -len(rows) % _AT_ONCE if by_pixel(rows.dtype) else 0
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows


def by_pixel(dtype: torch.dtype) -> bool:
    """Whether pictures of a precision lie pixel by pixel, with their channels side by side: in double ones do not.

    Convolutions in single and half precision are faster so.
    """
    return dtype != torch.float64


def laid_out(x: Tensor) -> Tensor:
    """The same pictures in the order in which convolutions are fast."""
    return x.contiguous(memory_format=torch.channels_last) if by_pixel(x.dtype) else x


def _is_laid_out(x: Tensor) -> bool:
    return by_pixel(x.dtype) and x.is_contiguous(memory_format=torch.channels_last)


class Convolution(nn.Conv2d):
    """A convolution that keeps the channels of a pixel side by side, also where there is only one.

    Of pictures of one channel nobody can say in which order they lie, torch takes them for planes, and all that follow
    are planes too. A second channel of zeros changes no number.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The pictures convolved."""
        if self.in_channels > 1 or not _is_laid_out(input):
            return super().forward(input)
        kind = input.device.type
        if torch.is_autocast_enabled(kind):  # before there are twice as many numbers to round
            input = input.to(torch.get_autocast_dtype(kind))
        two, weight = (F.pad(one.permute(0, 2, 3, 1), (0, 1)).permute(0, 3, 1, 2) for one in (input, self.weight))
        return F.conv2d(two, weight, self.bias, self.stride, self.padding)


class Doubling(nn.ConvTranspose2d):
    """A transposed convolution of 4 × 4 with stride 2; where it ends in few channels, by a convolution of 2 × 2.

    A pixel of the doubled picture is a sum over 2 × 2 pixels, by one of four kernels as its row and column are even or
    odd: a convolution gives the four as channels, which are then put in their places. The weights are those of
    `nn.ConvTranspose2d`.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__(before, after, 4, 2, 1)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Pictures of twice the size."""
        if not torch.is_grad_enabled() and not by_pixel(input.dtype):
            return self._by_products(input)
        if self.out_channels > _FEW or output_size is not None or not _is_laid_out(input):
            return super().forward(input, output_size)
        taps = self._taps().flip(1, 2).permute(3, 4, 5, 0, 1, 2).flatten(0, 2)
        four = F.conv2d(input, taps, self._biases(), padding=1).permute(0, 2, 3, 1)
        return _paired(four).permute(0, 3, 1, 2)

    def _taps(self) -> Tensor:
        """Weights (before, i, j, row, column, after): of pixel (−i, −j) of a pair's four, for its row and column.

        Row 2k + p, counted from one above the picture on, is w[p] x[k] + w[2 + p] x[k − 1], and so are columns.
        """
        return self.weight.reshape(self.in_channels, self.out_channels, 2, 2, 2, 2).permute(0, 2, 4, 3, 5, 1)

    def _biases(self) -> Tensor:
        assert self.bias is not None
        return self.bias.repeat(4)

    def _by_products(self, x: Tensor) -> Tensor:
        """In double precision, which convolutions of torch are slow in: products of matrices."""
        (n, before, height, width), after = x.shape, self.out_channels
        maps = self._taps().reshape(before, 4, 4 * after).unbind(1)
        rows = x.permute(0, 2, 3, 1).reshape(-1, before)
        four = self._biases().expand(n, height + 1, width + 1, -1).clone()
        for (i, j), weight in zip(((0, 0), (0, 1), (1, 0), (1, 1)), maps, strict=True):
            four[:, i : i + height, j : j + width] += (rows @ weight).reshape(n, height, width, -1)
        return _paired(four).permute(0, 3, 1, 2)


def _paired(four: Tensor) -> Tensor:
    """Pixels in their places, of four for every pixel side by side, without the border that is one too many."""
    n, height, width, _ = four.shape
    pairs = four.reshape(n, height, width, 2, 2, -1).transpose(2, 3)
    return pairs.reshape(n, 2 * height, 2 * width, -1)[:, 1:-1, 1:-1]


def _block(before: int, after: int, stride: int = 1) -> nn.Sequential:
    size = 4 if stride == 2 else 3
    return nn.Sequential(
        Convolution(before, after, size, stride, 1), nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)
    )


def _down(kind: Pictures, before: int, after: int, stage: int, *, halve: bool) -> nn.Module:
    if kind == "dcgan":
        return _block(before, after, 2 if halve else 1)
    if kind == "resnet":
        return nn.Sequential(ResidualStage(before, after, halve=halve), ResidualStage(after, after, halve=False))
    inner = [_block(before, after), *(_block(after, after) for _ in range(_VGG[stage] - 1))]
    return nn.Sequential(*inner)  # pooled by `Look`, after what a skip takes


def _up(kind: Pictures, before: int, after: int, stage: int, *, double: bool, last: bool) -> nn.Module:
    if kind == "vgg":
        middle = max(1, before // 2)
        inner = [_block(before, middle), *(_block(middle, middle) for _ in range(_VGG[stage] - 2))]
        if not last:
            return nn.Sequential(*inner, *_block(middle, after))
        return nn.Sequential(*inner, nn.Conv2d(middle, after, 3, 1, 1))
    turned: nn.Module = Doubling(before, after) if double else nn.Conv2d(before, after, 3, 1, 1)
    return turned if last else nn.Sequential(turned, nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True))


class ResidualStage(nn.Module):
    """Two convolutions of 3 × 3 beside the picture itself (He et al., 2016)."""

    def __init__(self, before: int, after: int, *, halve: bool) -> None:
        super().__init__()
        stride = 2 if halve else 1
        self.inner = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        same = before == after and not halve
        self.beside = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both."""
        return F.relu(self.inner(x) + self.beside(x))
