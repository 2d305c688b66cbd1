"""Images to codes and back by convolutions: `DCGAN`, `VGG` and `ResNet` stages, mirrored, optionally with skips."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models import options
from ...train.torch_threads import torch_threads
from .base import Codec, Initialization, initialization_option, scale_size

ConvCodecName = Literal["dcgan", "vgg", "resnet"]
_MAX_STAGES = 4  # that halve a picture, of 64 × 64 to 4 × 4
MIN_SIDE = 4  # pixels of a side at the end, and at least
_N_UNPOOLED_STAGES = 2  # stages without halving where codes are maps (C.5.2)
_VGG_CONVOLUTIONS = (2, 2, 3, 3)  # convolutions of each stage
# channels of a picture, up to which `DoublingConvTranspose2d` is quicker than the transposed convolution of torch
_MAX_SPLIT_CHANNELS = 3
_BLOCK_IMAGES = 32  # pictures, so that what comes between stays in the cache


@dataclass(frozen=True, kw_only=True)
class ConvCodec(Codec):
    """What the codecs of convolutions have in common: sizes, and the networks that are built of them."""

    _kind: ClassVar[ConvCodecName]

    filters: int = 16
    skips: bool = False
    maps: bool = False
    initialization: Initialization = "torch"

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            filters=options.width(1),
            skips=options.boolean(),
            maps=options.boolean(),
            initialization=initialization_option(),
        )

    def encoder(self, frame: tuple[int, ...], n_code: int) -> ConvEncoder:
        """Images to codes, and what each stage saw."""
        plan = DownsamplingPlan(*frame[1:], maps=self.maps)
        return ConvEncoder(self._kind, frame[0], plan, n_code, filters=self.filters, maps=self.maps)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> ConvDecoder:
        """Codes to images; without a content there is no frame that skips could come from."""
        plan, skips = DownsamplingPlan(*frame[1:], maps=self.maps), self.skips and n_content > 0
        return ConvDecoder(self._kind, frame[0], plan, n_code, filters=self.filters, maps=self.maps, skips=skips)

    def scale_widths(self, factor: float) -> Self:
        """With so many times as many filters."""
        return replace(self, filters=scale_size(self.filters, factor))


@dataclass(frozen=True, kw_only=True)
class DCGAN(ConvCodec):
    """A convolution of stride 2 for every halving (Radford et al., 2016): `codec="dcgan"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; every further one has twice as many.
    skips : bool
        Whether the decoder is also given what the stages of the encoder saw of one frame.
    maps : bool
        Whether codes are maps, which convolutions move, not vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        How weights are initialized: torch's way, or normal with deviation 0.02.

    Examples
    --------
    >>> codes, stages = DCGAN(filters=4).encoder((1, 16, 16), n_code=3)(torch.zeros(2, 1, 16, 16))
    >>> codes.shape, [tuple(stage.shape) for stage in stages]
    (torch.Size([2, 3]), [(2, 4, 8, 8), (2, 8, 4, 4)])
    """

    word: ClassVar[str] = "dcgan"
    _kind: ClassVar[ConvCodecName] = "dcgan"


@dataclass(frozen=True, kw_only=True)
class VGG(ConvCodec):
    """Two or three convolutions and a maximum for every halving (Simonyan and Zisserman, 2015): `codec="vgg"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; every further one has twice as many.
    skips : bool
        Whether the decoder is also given what the stages of the encoder saw of one frame.
    maps : bool
        Whether codes are maps, which convolutions move, not vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        How weights are initialized: torch's way, or normal with deviation 0.02.
    """

    word: ClassVar[str] = "vgg"
    _kind: ClassVar[ConvCodecName] = "vgg"


@dataclass(frozen=True, kw_only=True)
class ResNet(ConvCodec):
    """Two residual blocks for every halving (He et al., 2016), and the decoder of `DCGAN`: `codec="resnet"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; every further one has twice as many.
    skips : bool
        Whether the decoder is also given what the stages of the encoder saw of one frame.
    maps : bool
        Whether codes are maps, which convolutions move, not vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        How weights are initialized: torch's way, or normal with deviation 0.02.
    """

    word: ClassVar[str] = "resnet"
    _kind: ClassVar[ConvCodecName] = "resnet"


class DownsamplingPlan:
    """How a picture is halved: stages, and how far it is padded first so that every half is whole."""

    def __init__(self, height: int, width: int, *, maps: bool) -> None:
        side = min(height, width)
        self.n_stages = max(1, min(_MAX_STAGES, side.bit_length() - MIN_SIDE.bit_length()))
        self.n_halvings = max(1, self.n_stages - _N_UNPOOLED_STAGES) if maps else self.n_stages
        unit = 2**self.n_halvings
        self.size, self.padded_size = (height, width), tuple(-(-length // unit) * unit for length in (height, width))
        self.code_size = tuple(length // unit for length in self.padded_size)

    def pad(self, x: Tensor) -> Tensor:
        """Zeros below and to the right."""
        extra = [after - before for before, after in zip(self.size, self.padded_size, strict=True)]
        return F.pad(x, (0, extra[1], 0, extra[0])) if any(extra) else x

    def crop(self, x: Tensor) -> Tensor:
        """Without what was padded."""
        return x[..., : self.size[0], : self.size[1]]


class ConvEncoder(nn.Module):
    """Pictures (batch, channel, height, width) to codes, vectors or maps, and what each stage saw on the way."""

    def __init__(
        self,
        kind: ConvCodecName,
        n_channels: int,
        shape: DownsamplingPlan,
        n_code: int,
        *,
        filters: int,
        maps: bool = False,
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps = shape, kind, maps
        widths = [filters * 2**stage for stage in range(shape.n_stages)]
        self.stages = nn.ModuleList(
            _encoder_stage(kind, before, after, stage, halve=stage < shape.n_halvings)
            for stage, (before, after) in enumerate(zip([n_channels, *widths], widths, strict=False))
        )
        if maps:
            self.code_layer: nn.Conv2d | nn.Linear = nn.Conv2d(widths[-1], n_code, 3, padding=1)
        else:
            self.code_layer = nn.Linear(widths[-1] * shape.code_size[0] * shape.code_size[1], n_code)

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Codes, and the maps of the stages for skips."""
        x, stage_maps = self.shape.pad(x), []
        if self.kind != "resnet":  # of whose convolutions of 1 × 1 torch 2.13 dies with 5 channels side by side
            x = to_channels_last(x)
        for stage, layers in enumerate(self.stages):
            x = layers(x)
            stage_maps.append(x)
            if self.kind == "vgg" and stage < self.shape.n_halvings:
                x = F.max_pool2d(x, 2)
        return self._project_code(x), stage_maps

    def _project_code(self, x: Tensor) -> Tensor:
        if self.maps or not _is_channels_last(x):
            code: Tensor = self.code_layer(x if self.maps else x.flatten(1))
            return code
        weight, bias = (
            self.code_layer.weight,
            self.code_layer.bias,
        )  # for numbers in the order in which they lie, not plane by plane
        pixelwise_weight = weight.reshape(-1, *x.shape[1:]).permute(0, 2, 3, 1).flatten(1)
        return F.linear(x.permute(0, 2, 3, 1).flatten(1), pixelwise_weight, bias)


class ConvDecoder(nn.Module):
    """Codes to pictures: the stages of `ConvEncoder` in reverse; ResNet's are drawn by DCGAN's (C.5.2)."""

    def __init__(
        self,
        kind: ConvCodecName,
        n_channels: int,
        shape: DownsamplingPlan,
        n_code: int,
        *,
        filters: int,
        maps: bool = False,
        skips: bool = False,
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps, self.skips = shape, kind, maps, skips
        widths = [filters * 2**stage for stage in range(shape.n_stages)]
        self.code_layer: nn.Conv2d | nn.Linear
        if maps:
            self.code_layer = nn.Conv2d(n_code, widths[-1], 3, padding=1)
        else:
            self.code_layer = nn.Linear(n_code, widths[-1] * shape.code_size[0] * shape.code_size[1])
        self.code_activation = nn.Sequential(nn.BatchNorm2d(widths[-1]), nn.LeakyReLU(0.2, inplace=True))
        ends = [n_channels, *widths[:-1]]
        self.stages = nn.ModuleList(
            _decoder_stage(
                kind,
                widths[stage] * (2 if skips else 1),
                ends[stage],
                stage,
                double=stage < shape.n_halvings,
                last=stage == 0,
            )
            for stage in reversed(range(shape.n_stages))
        )

    def forward(self, code: Tensor, stage_maps: list[Tensor]) -> Tensor:
        """Pictures, before any squashing; where no gradients are needed, as many at once whatever their number.

        In single precision a convolution of fewer pictures, or one that threads share, may round in another way, and a
        picture would depend on the rest of the batch. So pieces are of one size and each has one thread.
        """
        if torch.is_grad_enabled() or self.training:
            return self._decode(code, stage_maps)
        rows = [_pad_block(one) for one in (code, *stage_maps)]
        pieces = list(zip(*(torch.split(one, _BLOCK_IMAGES) for one in rows), strict=True))
        threads = min(len(pieces), torch.get_num_threads())
        if threads == 1:
            return torch.cat([self._decode_block(piece) for piece in pieces])[: len(code)]
        with ThreadPoolExecutor(threads) as pool:
            return torch.cat(list(pool.map(self._decode_block, pieces)))[: len(code)]

    def _decode_block(self, rows: tuple[Tensor, ...]) -> Tensor:
        with torch_threads(1), torch.no_grad():  # both are a thread's own
            return self._decode(rows[0], list(rows[1:]))

    def _decode(self, code: Tensor, stage_maps: list[Tensor]) -> Tensor:
        x = self.code_activation(to_channels_last(self.code_layer(code) if self.maps else self._project_code(code)))
        for stage, layers in zip(reversed(range(self.shape.n_stages)), self.stages, strict=True):
            if self.kind == "vgg" and stage < self.shape.n_halvings:
                x = F.interpolate(x, scale_factor=2)
            x = layers(torch.cat([x, stage_maps[stage]], dim=1) if self.skips else x)
        return self.shape.crop(x)

    def _project_code(self, code: Tensor) -> Tensor:
        height, width = self.shape.code_size
        weight, bias = self.code_layer.weight, self.code_layer.bias
        assert bias is not None
        if not uses_channels_last(code.dtype):
            return F.linear(code, weight, bias).reshape(len(code), -1, height, width)
        weight, bias = (
            one.reshape(-1, height * width, *one.shape[1:]).transpose(0, 1).flatten(0, 1) for one in (weight, bias)
        )
        return F.linear(code, weight, bias).reshape(len(code), height, width, -1).permute(0, 3, 1, 2)


def _pad_block(rows: Tensor) -> Tensor:
    """With rows of zeros behind them, until there are as many as are drawn at once."""
    missing = -len(rows) % _BLOCK_IMAGES if uses_channels_last(rows.dtype) else 0
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows


def uses_channels_last(dtype: torch.dtype) -> bool:
    """Whether pictures of a precision lie pixel by pixel, with their channels side by side: in double ones do not.

    Convolutions in single and half precision are faster so.
    """
    return dtype != torch.float64


def to_channels_last(x: Tensor) -> Tensor:
    """The same pictures in the order in which convolutions are fast."""
    return x.contiguous(memory_format=torch.channels_last) if uses_channels_last(x.dtype) else x


def _is_channels_last(x: Tensor) -> bool:
    return uses_channels_last(x.dtype) and x.is_contiguous(memory_format=torch.channels_last)


class ChannelsLastConv2d(nn.Conv2d):
    """A convolution that keeps the channels of a pixel side by side, also where there is only one.

    Of pictures of one channel nobody can say in which order they lie, torch takes them for planes, and all that follow
    are planes too. A second channel of zeros changes no number.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The pictures convolved."""
        if self.in_channels > 1 or not _is_channels_last(input):
            return super().forward(input)
        kind = input.device.type
        if torch.is_autocast_enabled(kind):  # before there are twice as many numbers to round
            input = input.to(torch.get_autocast_dtype(kind))
        two, weight = (F.pad(one.permute(0, 2, 3, 1), (0, 1)).permute(0, 3, 1, 2) for one in (input, self.weight))
        return F.conv2d(two, weight, self.bias, self.stride, self.padding)


class DoublingConvTranspose2d(nn.ConvTranspose2d):
    """A transposed convolution of 4 × 4 with stride 2; where it ends in few channels, by a convolution of 2 × 2.

    A pixel of the doubled picture is a sum over 2 × 2 pixels, by one of four kernels as its row and column are even or
    odd: a convolution gives the four as channels, which are then put in their places. The weights are those of
    `nn.ConvTranspose2d`.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__(before, after, 4, 2, 1)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Pictures of twice the size."""
        if not torch.is_grad_enabled() and not uses_channels_last(input.dtype):
            return self._forward_by_matmul(input)
        if self.out_channels > _MAX_SPLIT_CHANNELS or output_size is not None or not _is_channels_last(input):
            return super().forward(input, output_size)
        taps = self._pixel_kernels().flip(1, 2).permute(3, 4, 5, 0, 1, 2).flatten(0, 2)
        four = F.conv2d(input, taps, self._repeated_bias(), padding=1).permute(0, 2, 3, 1)
        return _interleave_pixels(four).permute(0, 3, 1, 2)

    def _pixel_kernels(self) -> Tensor:
        """Weights (before, i, j, row, column, after): of pixel (−i, −j) of a pair's four, for its row and column.

        Row 2k + p, counted from one above the picture on, is w[p] x[k] + w[2 + p] x[k − 1], and so are columns.
        """
        return self.weight.reshape(self.in_channels, self.out_channels, 2, 2, 2, 2).permute(0, 2, 4, 3, 5, 1)

    def _repeated_bias(self) -> Tensor:
        assert self.bias is not None
        return self.bias.repeat(4)

    def _forward_by_matmul(self, x: Tensor) -> Tensor:
        """In double precision, which convolutions of torch are slow in: products of matrices."""
        (n, before, height, width), after = x.shape, self.out_channels
        maps = self._pixel_kernels().reshape(before, 4, 4 * after).unbind(1)
        rows = x.permute(0, 2, 3, 1).reshape(-1, before)
        four = self._repeated_bias().expand(n, height + 1, width + 1, -1).clone()
        for (i, j), weight in zip(((0, 0), (0, 1), (1, 0), (1, 1)), maps, strict=True):
            four[:, i : i + height, j : j + width] += (rows @ weight).reshape(n, height, width, -1)
        return _interleave_pixels(four).permute(0, 3, 1, 2)


def _interleave_pixels(four: Tensor) -> Tensor:
    """Pixels in their places, of four for every pixel side by side, without the border that is one too many."""
    n, height, width, _ = four.shape
    pairs = four.reshape(n, height, width, 2, 2, -1).transpose(2, 3)
    return pairs.reshape(n, 2 * height, 2 * width, -1)[:, 1:-1, 1:-1]


def _conv_block(before: int, after: int, stride: int = 1) -> nn.Sequential:
    size = 4 if stride == 2 else 3
    return nn.Sequential(
        ChannelsLastConv2d(before, after, size, stride, 1), nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)
    )


def _encoder_stage(kind: ConvCodecName, before: int, after: int, stage: int, *, halve: bool) -> nn.Module:
    if kind == "dcgan":
        return _conv_block(before, after, 2 if halve else 1)
    if kind == "resnet":
        return nn.Sequential(
            ConvResidualBlock(before, after, halve=halve), ConvResidualBlock(after, after, halve=False)
        )
    inner = [_conv_block(before, after), *(_conv_block(after, after) for _ in range(_VGG_CONVOLUTIONS[stage] - 1))]
    return nn.Sequential(*inner)  # pooled by `ConvEncoder`, after what a skip takes


def _decoder_stage(kind: ConvCodecName, before: int, after: int, stage: int, *, double: bool, last: bool) -> nn.Module:
    if kind == "vgg":
        middle = max(1, before // 2)
        inner = [
            _conv_block(before, middle),
            *(_conv_block(middle, middle) for _ in range(_VGG_CONVOLUTIONS[stage] - 2)),
        ]
        if not last:
            return nn.Sequential(*inner, *_conv_block(middle, after))
        return nn.Sequential(*inner, nn.Conv2d(middle, after, 3, 1, 1))
    layer: nn.Module = DoublingConvTranspose2d(before, after) if double else nn.Conv2d(before, after, 3, 1, 1)
    return layer if last else nn.Sequential(layer, nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True))


class ConvResidualBlock(nn.Module):
    """Two convolutions of 3 × 3 beside the picture itself (He et al., 2016)."""

    def __init__(self, before: int, after: int, *, halve: bool) -> None:
        super().__init__()
        stride = 2 if halve else 1
        self.residual = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        same = before == after and not halve
        self.shortcut = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both."""
        return F.relu(self.residual(x) + self.shortcut(x))
