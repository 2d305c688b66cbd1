"""Convolutional codecs of images: `DCGAN`, `VGG` and `ResNet`, with mirrored decoders and optional skips."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models import options
from ...train.torch_threads import torch_threads
from .base import Codec, Initialization, initialization_option, mean_logits, scale_size

ConvCodecName = Literal["dcgan", "vgg", "resnet"]
CodecVariant = Literal["default", "srvp", "separation"]
_MAX_STAGES = 4  # halvings of an image, from 64 × 64 to 4 × 4
MIN_SIDE = 4  # fewest pixels per side, of inputs and of the last stage
_N_UNPOOLED_STAGES = 2  # stages without halving if codes are maps (C.5.2)
_VGG_CONVOLUTIONS = (2, 2, 3, 3)  # convolutions per stage
# most channels for which `DoublingConvTranspose2d` is faster than torch's transposed convolution
_MAX_SPLIT_CHANNELS = 3
_BLOCK_IMAGES = 32  # images per block, so that intermediate results stay in the cache


class ConvLayout(NamedTuple):
    """In what the variants of a convolutional codec differ; the defaults are those of `variant="default"`."""

    normalize_first: bool = True
    """Whether the first convolution of the encoder is normalized; that of VGG always is."""
    normalize_code: bool = False
    bound_code: bool = False
    """Whether a hyperbolic tangent follows, so that codes lie in (−1, 1)."""
    bias_before_norm: bool = True
    """Whether convolutions have a bias although a normalization, which removes it, follows."""
    bias_elsewhere: bool = True
    """Whether the layers that no normalization follows have a bias."""
    narrow_decoder: bool = True
    """Whether a stage of the decoder of VGG without skips halves its channels first, not last, which is faster."""
    n_stages: int | None = None
    """Number of stages; None is one per halving."""

    def has_bias(self, normalized: bool) -> bool:
        """Whether a layer has a bias."""
        return self.bias_before_norm if normalized else self.bias_elsewhere


_DEFAULT = ConvLayout()
# Denton and Fergus's networks as in the authors' programs of chapters 4 and 5, which the text does not describe fully.
# The biases before a normalization in that of chapter 5 are left out, because they change nothing.
_SRVP = ConvLayout(
    normalize_first=False,
    normalize_code=True,
    bound_code=True,
    bias_before_norm=False,
    bias_elsewhere=False,
    narrow_decoder=False,
)
_SEPARATION = _SRVP._replace(bound_code=False, bias_elsewhere=True)
_LAYOUTS: dict[tuple[str, CodecVariant], ConvLayout] = {
    ("dcgan", "srvp"): _SRVP,
    ("vgg", "srvp"): _SRVP._replace(normalize_first=True),
    ("dcgan", "separation"): _SEPARATION._replace(normalize_code=False),
    ("vgg", "separation"): _SEPARATION._replace(normalize_first=True, n_stages=_MAX_STAGES),
}


@dataclass(frozen=True, kw_only=True)
class ConvCodec(Codec):
    """The base class of convolutional codecs: sizes, and the construction of the networks."""

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
        """Build the encoder, which returns codes and the feature maps of its stages."""
        plan, layout = self._plan(frame), self._layout()
        return ConvEncoder(self._kind, frame[0], plan, n_code, filters=self.filters, maps=self.maps, layout=layout)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> ConvDecoder:
        """Build the decoder; without a content there are no skips, because they belong to it."""
        return ConvDecoder(
            self._kind,
            frame[0],
            self._plan(frame),
            n_code,
            filters=self.filters,
            maps=self.maps,
            skips=self.skips and n_content > 0,
            layout=self._layout(),
        )

    def init_output(self, decoder: nn.Module, mean_frame: Tensor) -> None:
        """Begin at the mean of each channel."""
        assert isinstance(decoder, ConvDecoder)
        last = decoder.stages[-1]
        layer = last[-1] if isinstance(last, nn.Sequential) else last
        assert isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)
        if self.initialization == "torch" and layer.bias is not None:
            with torch.no_grad():
                layer.bias.copy_(mean_logits(mean_frame.nanmean((1, 2)).nan_to_num(0.5)))

    def scale_widths(self, factor: float) -> Self:
        """A copy with the number of filters multiplied by `factor`."""
        return replace(self, filters=scale_size(self.filters, factor))

    def _layout(self) -> ConvLayout:
        return _DEFAULT

    def _plan(self, frame: tuple[int, ...]) -> DownsamplingPlan:
        return DownsamplingPlan(*frame[1:], maps=self.maps, n_stages=self._layout().n_stages)


@dataclass(frozen=True, kw_only=True)
class _VariedCodec(ConvCodec):
    """A convolutional codec with the variants of the authors' programs."""

    variant: CodecVariant = "default"

    def __post_init__(self) -> None:
        super().__post_init__()
        options.check_fields(self, variant=_variant_option())

    def _layout(self) -> ConvLayout:
        return _LAYOUTS.get((self._kind, self.variant), _DEFAULT)


@dataclass(frozen=True, kw_only=True)
class DCGAN(_VariedCodec):
    """One convolution of stride 2 per halving (Radford et al., 2016): `codec="dcgan"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; each further stage has twice as many.
    skips : bool
        Whether the decoder also receives the encoder's feature maps of one frame.
    maps : bool
        Whether codes are feature maps, moved by convolutions, instead of vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        Initialization of the weights: torch's default, or normal with standard deviation 0.02.
    variant : {"default", "srvp", "separation"}
        "srvp" and "separation" are the networks of Denton and Fergus ("Stochastic video generation with a learned
        prior", 2018) as in the authors' programs of chapters 4 and 5, which presets use: the encoder's first stage is
        not normalized, and convolutions before a normalization have no bias. With "srvp" codes are normalized and
        bounded by a hyperbolic tangent, and no layer has a bias.

    Examples
    --------
    >>> codes, stages = DCGAN(filters=4).encoder((1, 16, 16), n_code=3)(torch.zeros(2, 1, 16, 16))
    >>> codes.shape, [tuple(stage.shape) for stage in stages]
    (torch.Size([2, 3]), [(2, 4, 8, 8), (2, 8, 4, 4)])
    """

    word: ClassVar[str] = "dcgan"
    _kind: ClassVar[ConvCodecName] = "dcgan"


@dataclass(frozen=True, kw_only=True)
class VGG(_VariedCodec):
    """Two or three convolutions and max pooling per halving (Simonyan and Zisserman, 2015): `codec="vgg"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; each further stage has twice as many.
    skips : bool
        Whether the decoder also receives the encoder's feature maps of one frame.
    maps : bool
        Whether codes are feature maps, moved by convolutions, instead of vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        Initialization of the weights: torch's default, or normal with standard deviation 0.02.
    variant : {"default", "srvp", "separation"}
        "srvp" and "separation" are the networks of Denton and Fergus ("Stochastic video generation with a learned
        prior", 2018) as in the authors' programs of chapters 4 and 5, which presets use: codes are normalized, the
        decoder without skips is wider, and convolutions before a normalization have no bias. With "srvp" a hyperbolic
        tangent bounds the codes, and no layer has a bias. With "separation" there are four stages even for images of
        less than 64 pixels, which are halved less often.
    """

    word: ClassVar[str] = "vgg"
    _kind: ClassVar[ConvCodecName] = "vgg"


@dataclass(frozen=True, kw_only=True)
class ResNet(ConvCodec):
    """Two residual blocks per halving (He et al., 2016), and the decoder of `DCGAN`: `codec="resnet"`.

    Parameters
    ----------
    filters : int
        Channels of the first stage; each further stage has twice as many.
    skips : bool
        Whether the decoder also receives the encoder's feature maps of one frame.
    maps : bool
        Whether codes are feature maps, moved by convolutions, instead of vectors (C.6.2); for `Separation` only.
    initialization : {"torch", "thesis"}
        Initialization of the weights: torch's default, or normal with standard deviation 0.02.
    """

    word: ClassVar[str] = "resnet"
    _kind: ClassVar[ConvCodecName] = "resnet"


def _variant_option() -> options.Option[Any]:
    return options.choice("default", "srvp", "separation")


class DownsamplingPlan:
    """The halvings of an image: number of stages, and the padding that makes every half a whole number.

    With `n_stages`, those beyond the number of halvings do not halve.
    """

    def __init__(self, height: int, width: int, *, maps: bool, n_stages: int | None = None) -> None:
        side = min(height, width)
        n_halvings = max(1, min(_MAX_STAGES, side.bit_length() - MIN_SIDE.bit_length()))
        self.n_stages = n_halvings if n_stages is None else n_stages
        self.n_halvings = max(1, n_halvings - _N_UNPOOLED_STAGES) if maps else n_halvings
        unit = 2**self.n_halvings
        self.size, self.padded_size = (height, width), tuple(-(-length // unit) * unit for length in (height, width))
        self.code_size = tuple(length // unit for length in self.padded_size)

    def pad(self, x: Tensor) -> Tensor:
        """Pad with zeros below and to the right."""
        extra = [after - before for before, after in zip(self.size, self.padded_size, strict=True)]
        return F.pad(x, (0, extra[1], 0, extra[0])) if any(extra) else x

    def crop(self, x: Tensor) -> Tensor:
        """Remove the padding."""
        return x[..., : self.size[0], : self.size[1]]


class ConvEncoder(nn.Module):
    """Images (batch, channel, height, width) to codes, vectors or maps, and the feature maps of each stage."""

    def __init__(
        self,
        kind: ConvCodecName,
        n_channels: int,
        shape: DownsamplingPlan,
        n_code: int,
        *,
        filters: int,
        maps: bool = False,
        layout: ConvLayout = _DEFAULT,
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps = shape, kind, maps
        widths = [filters * 2**stage for stage in range(shape.n_stages)]
        self.stages = nn.ModuleList(
            _encoder_stage(kind, before, after, stage, halve=stage < shape.n_halvings, layout=layout)
            for stage, (before, after) in enumerate(zip([n_channels, *widths], widths, strict=False))
        )
        self.code_layer: nn.Conv2d | nn.Linear
        bias = layout.has_bias(layout.normalize_code)
        if maps:
            self.code_layer = nn.Conv2d(widths[-1], n_code, 3, padding=1, bias=bias)
        else:  # a convolution of all that is left of the image
            self.code_layer = nn.Linear(widths[-1] * shape.code_size[0] * shape.code_size[1], n_code, bias=bias)
        self.code_norm = CodeNorm(n_code) if layout.normalize_code else nn.Identity()
        self.code_activation = nn.Tanh() if layout.bound_code else nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Codes, and the feature maps of the stages for skips."""
        x, stage_maps = self.shape.pad(x), []
        if self.kind != "resnet":  # torch 2.13 crashes in its 1 × 1 convolutions with 5 channels last
            x = to_channels_last(x)
        for stage, layers in enumerate(self.stages):
            x = layers(x)
            stage_maps.append(x)
            if self.kind == "vgg" and stage < self.shape.n_halvings:
                x = F.max_pool2d(x, 2)
        return self.code_activation(self.code_norm(self._project_code(x))), stage_maps

    def _project_code(self, x: Tensor) -> Tensor:
        if self.maps or not _is_channels_last(x):
            code: Tensor = self.code_layer(x if self.maps else x.flatten(1))
            return code
        # reorder the weights instead of the numbers, which lie pixel by pixel
        weight, bias = self.code_layer.weight, self.code_layer.bias
        pixelwise_weight = weight.reshape(-1, *x.shape[1:]).permute(0, 2, 3, 1).flatten(1)
        return F.linear(x.permute(0, 2, 3, 1).flatten(1), pixelwise_weight, bias)


class ConvDecoder(nn.Module):
    """Codes to images: the stages of `ConvEncoder` in reverse; ResNet uses the decoder of DCGAN (C.5.2)."""

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
        layout: ConvLayout = _DEFAULT,
    ) -> None:
        super().__init__()
        self.shape, self.kind, self.maps, self.skips = shape, kind, maps, skips
        widths = [filters * 2**stage for stage in range(shape.n_stages)]
        self.code_layer: nn.Conv2d | nn.Linear
        bias = layout.has_bias(normalized=True)
        if maps:
            self.code_layer = nn.Conv2d(n_code, widths[-1], 3, padding=1, bias=bias)
        else:  # a transposed convolution of one pixel
            self.code_layer = nn.Linear(n_code, widths[-1] * shape.code_size[0] * shape.code_size[1], bias=bias)
        self.code_activation = nn.Sequential(nn.BatchNorm2d(widths[-1]), nn.LeakyReLU(0.2, inplace=True))
        ends = [n_channels, *widths[:-1]]
        self.stages = nn.ModuleList(
            _decoder_stage(
                kind,
                widths[stage] * (2 if skips else 1),
                ends[stage],
                stage,
                middle=widths[stage] if skips or not layout.narrow_decoder else max(1, widths[stage] // 2),
                double=stage < shape.n_halvings,
                last=stage == 0,
                layout=layout,
            )
            for stage in reversed(range(shape.n_stages))
        )

    def forward(self, code: Tensor, stage_maps: list[Tensor]) -> Tensor:
        """Images before any sigmoid; without gradients they are decoded in blocks of a fixed size.

        In single precision the rounding of a convolution depends on the number of images and of threads, so an image
        would depend on the rest of the batch. Therefore all blocks have one size and each uses one thread.
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
        with torch_threads(1), torch.no_grad():  # both settings are per thread
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
        if not uses_channels_last(code.dtype):
            return F.linear(code, weight, bias).reshape(len(code), -1, height, width)
        pixelwise_weight, pixelwise_bias = (
            None if one is None else one.reshape(-1, height * width, *one.shape[1:]).transpose(0, 1).flatten(0, 1)
            for one in (weight, bias)
        )
        assert pixelwise_weight is not None
        maps = F.linear(code, pixelwise_weight, pixelwise_bias)
        return maps.reshape(len(code), height, width, -1).permute(0, 3, 1, 2)


def _pad_block(rows: Tensor) -> Tensor:
    """Pad with rows of zeros to a multiple of the block size."""
    missing = -len(rows) % _BLOCK_IMAGES if uses_channels_last(rows.dtype) else 0
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows


def uses_channels_last(dtype: torch.dtype) -> bool:
    """Whether images of this precision are stored in the channels-last format: all but double precision.

    Convolutions in single and half precision are faster in that format.
    """
    return dtype != torch.float64


def to_channels_last(x: Tensor) -> Tensor:
    """Convert images to the memory format in which convolutions are fast."""
    return x.contiguous(memory_format=torch.channels_last) if uses_channels_last(x.dtype) else x


def _is_channels_last(x: Tensor) -> bool:
    return uses_channels_last(x.dtype) and x.is_contiguous(memory_format=torch.channels_last)


class CodeNorm(nn.BatchNorm2d):
    """Batch normalization of codes, vectors or maps; a single vector is normalized by the running moments."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalized codes."""
        maps = input if input.ndim == 4 else input[..., None, None]
        if self.training and maps.numel() == maps.shape[1]:
            moments = self.running_mean, self.running_var
            normalized = F.batch_norm(maps, *moments, self.weight, self.bias, eps=self.eps)
        else:
            normalized = super().forward(maps)
        return normalized.reshape(input.shape)


class ChannelsLastConv2d(nn.Conv2d):
    """A convolution that keeps the channels-last format even for images of one channel.

    With one channel both formats are identical in memory, and torch falls back to channels first for this and all later
    layers. A second channel of zeros prevents this and changes no result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Convolve the images."""
        if self.in_channels > 1 or not _is_channels_last(input):
            return super().forward(input)
        kind = input.device.type
        if torch.is_autocast_enabled(kind):  # cast before the padding doubles the numbers
            input = input.to(torch.get_autocast_dtype(kind))
        two, weight = (F.pad(one.permute(0, 2, 3, 1), (0, 1)).permute(0, 3, 1, 2) for one in (input, self.weight))
        return F.conv2d(two, weight, self.bias, self.stride, self.padding)


class DoublingConvTranspose2d(nn.ConvTranspose2d):
    """A 4 × 4 transposed convolution with stride 2, computed as a 2 × 2 convolution if it has few output channels.

    A pixel of the doubled image is a sum over 2 × 2 pixels with one of four kernels, depending on whether its row and
    column are even or odd. A convolution computes the four as channels, which are then interleaved. The weights are
    those of `nn.ConvTranspose2d`.
    """

    def __init__(self, before: int, after: int, *, bias: bool = True) -> None:
        super().__init__(before, after, 4, 2, 1, bias=bias)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Images of twice the size."""
        if not torch.is_grad_enabled() and not uses_channels_last(input.dtype):
            return self._forward_by_matmul(input)
        if self.out_channels > _MAX_SPLIT_CHANNELS or output_size is not None or not _is_channels_last(input):
            return super().forward(input, output_size)
        taps = self._pixel_kernels().flip(1, 2).permute(3, 4, 5, 0, 1, 2).flatten(0, 2)
        four = F.conv2d(input, taps, self._repeated_bias(), padding=1).permute(0, 2, 3, 1)
        return _interleave_pixels(four).permute(0, 3, 1, 2)

    def _pixel_kernels(self) -> Tensor:
        """Weights (before, i, j, row, column, after) of pixel (−i, −j) for the output pixel at (row, column) of four.

        Row 2k + p, counted from one above the image, is w[p] x[k] + w[2 + p] x[k − 1]; the same holds for columns.
        """
        return self.weight.reshape(self.in_channels, self.out_channels, 2, 2, 2, 2).permute(0, 2, 4, 3, 5, 1)

    def _repeated_bias(self) -> Tensor | None:
        return None if self.bias is None else self.bias.repeat(4)

    def _forward_by_matmul(self, x: Tensor) -> Tensor:
        """Use matrix products in double precision, where torch's convolutions are slow."""
        (n, before, height, width), after = x.shape, self.out_channels
        maps = self._pixel_kernels().reshape(before, 4, 4 * after).unbind(1)
        rows = x.permute(0, 2, 3, 1).reshape(-1, before)
        bias = self._repeated_bias()
        four = rows.new_zeros(4 * after) if bias is None else bias
        four = four.expand(n, height + 1, width + 1, -1).clone()
        for (i, j), weight in zip(((0, 0), (0, 1), (1, 0), (1, 1)), maps, strict=True):
            four[:, i : i + height, j : j + width] += (rows @ weight).reshape(n, height, width, -1)
        return _interleave_pixels(four).permute(0, 3, 1, 2)


def _interleave_pixels(four: Tensor) -> Tensor:
    """Interleave the four output pixels of each pixel and remove the extra border."""
    n, height, width, _ = four.shape
    pairs = four.reshape(n, height, width, 2, 2, -1).transpose(2, 3)
    return pairs.reshape(n, 2 * height, 2 * width, -1)[:, 1:-1, 1:-1]


def _conv_block(
    before: int, after: int, stride: int = 1, *, layout: ConvLayout, normalize: bool = True
) -> nn.Sequential:
    conv = ChannelsLastConv2d(before, after, 4 if stride == 2 else 3, stride, 1, bias=layout.has_bias(normalize))
    norm = [nn.BatchNorm2d(after)] if normalize else []
    return nn.Sequential(conv, *norm, nn.LeakyReLU(0.2, inplace=True))


def _encoder_stage(
    kind: ConvCodecName, before: int, after: int, stage: int, *, halve: bool, layout: ConvLayout
) -> nn.Module:
    if kind == "dcgan":
        normalize = stage > 0 or layout.normalize_first
        return _conv_block(before, after, 2 if halve else 1, layout=layout, normalize=normalize)
    if kind == "resnet":
        return nn.Sequential(
            ConvResidualBlock(before, after, halve=halve), ConvResidualBlock(after, after, halve=False)
        )
    widths = [before, *[after] * _VGG_CONVOLUTIONS[stage]]
    return nn.Sequential(*(_conv_block(*pair, layout=layout) for pair in pairwise(widths)))  # pooled after the skip


def _decoder_stage(
    kind: ConvCodecName,
    before: int,
    after: int,
    stage: int,
    *,
    middle: int,
    double: bool,
    last: bool,
    layout: ConvLayout,
) -> nn.Module:
    bias = layout.has_bias(not last)
    if kind == "vgg":
        widths = [before, *[middle] * (_VGG_CONVOLUTIONS[stage] - 1)]
        inner = [_conv_block(*pair, layout=layout) for pair in pairwise(widths)]
        if not last:
            return nn.Sequential(*inner, *_conv_block(middle, after, layout=layout))
        return nn.Sequential(*inner, nn.Conv2d(middle, after, 3, 1, 1, bias=bias))
    layer: nn.Module = (
        DoublingConvTranspose2d(before, after, bias=bias) if double else nn.Conv2d(before, after, 3, 1, 1, bias=bias)
    )
    return layer if last else nn.Sequential(layer, nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True))


class ConvResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with a shortcut (He et al., 2016)."""

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
        """The ReLU of residual plus shortcut."""
        return F.relu(self.residual(x) + self.shortcut(x))
