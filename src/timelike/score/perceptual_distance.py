"""How alike pictures look to a network: LPIPS, with weights that the user brings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.parameters import check_float, check_int
from ..core.validation.arrays import validate_array
from .forecast_arrays import Numbers, Per, Score, summarize_scores, validate_forecast, validate_truth

if TYPE_CHECKING:
    import torch

_STRIDES = (4, 1, 1, 1, 1)  # of the five convolutions of AlexNet
_PADDINGS = (2, 2, 1, 1, 1)
_POOLED_LAYERS = (1, 2)  # before which of them the largest of 3 × 3 cells is taken
_LAYER_NUMBERS = (0, 3, 6, 8, 10)  # under which torchvision has them
_LAYER_SHAPES = ((64, 3, 11, 11), (192, 64, 5, 5), (384, 192, 3, 3), (256, 384, 3, 3), (256, 256, 3, 3))
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)  # of the three colours, numbers of the lpips package
_TINY = 1e-10  # added to the length of features, so that those of nothing have a direction
_MIN_PIXELS = 31  # pixels, below which the second pooling has nothing left
_ROUNDING = 1e-3  # by how much of the range a truth may be beyond it


def lpips(
    truth: Any,
    forecast: Any,
    *,
    weights: str | Path | Callable[..., Any] | None = None,
    value_range: float = 1.0,
    batch_size: int = 64,
    per: Per = "all",
) -> Score:
    """The learned perceptual distance of pictures, LPIPS: 0 for equal ones, less is better.

    Σ_l mean over places of Σ_c w_lc (ŷ_lc − ŷ⁰_lc)², where ŷ_l are the activations of layer l of AlexNet for the two
    pictures, of length 1 at every place, and w_l ≥ 0 learned from human judgement (Zhang, Isola, Efros, Shechtman and
    Wang, "The unreasonable effectiveness of deep features as a perceptual metric", 2018). Sharp pictures that are a
    little wrong are nearer than blurred ones, unlike in `psnr`. It means something for photographs and films of real
    things, little for digits or fields. The library has no weights and loads none: see "Scores with a network" on the
    page about scores.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame), Sequences of one length, or a Forecast
        Frames of (channel, height, width) with one or three channels, or (height, width), at least 31 pixels a side.
    weights : path or callable
        A `.safetensors` file with `features.N.weight` and `features.N.bias` of torchvision's AlexNet (N = 0, 3, 6, 8,
        10) and `lin0.model.1.weight` to `lin4.model.1.weight` of the lpips package; or a network of two pictures,
        called with tensors (n, 3, height, width) from −1 to 1, which gives n numbers, such as `lpips.LPIPS(net="vgg")`.
    value_range : float
        Pictures are from 0 to this: 1, or 255 for bytes.
    batch_size : int
        How many pictures are looked at together.

    Examples
    --------
    >>> apart = lambda x, y: (x - y).abs().mean(dim=(1, 2, 3))  # in the place of a network
    >>> lpips(np.zeros((1, 2, 1, 32, 32)), np.ones((1, 2, 1, 32, 32)), weights=apart)
    2.0
    """
    network = _resolve_network(weights)
    known, answer = validate_image_pair(truth, forecast, value_range)
    flat = [side.reshape(-1, *side.shape[2:]) for side in (known, answer)]
    size = check_int(batch_size, "batch_size", 1)
    parts = [_compare_batch(network, *(side[i : i + size] for side in flat)) for i in range(0, len(flat[0]), size)]
    return summarize_scores(np.concatenate(parts).reshape(known.shape[:2]), per)


def validate_image_pair(truth: Any, forecast: Any, value_range: float) -> tuple[Numbers, Numbers]:
    """Both as (item, step, 3, height, width) from −1 to 1, as networks of photographs take them."""
    span = check_float(value_range, "value_range", above=0.0)
    known = validate_truth(truth)
    answer = validate_forecast(forecast, known)
    if known.ndim not in (4, 5) or (known.ndim == 5 and known.shape[2] not in (1, 3)):
        raise ValueError(
            f"truth has frames of shape {known.shape[2:]}: expected pictures, (height, width) or (channel, height, "
            "width) with 1 channel or 3"
        )
    if np.isnan(known).any():
        raise ValueError("truth is masked in places, and a network sees whole pictures: fill the cells, or take ssim")
    low, high = float(known.min()), float(known.max())
    if low < -_ROUNDING * span or high > (1 + _ROUNDING) * span:
        raise ValueError(
            f"truth has numbers from {low:g} to {high:g}: expected 0 to value_range={value_range:g}; give "
            "value_range=255 for bytes, and scale others to [0, 1]"
        )
    return _to_rgb(known, span), _to_rgb(answer, span)


def _to_rgb(pictures: Numbers, span: float) -> Numbers:
    framed = pictures[:, :, None] if pictures.ndim == 4 else pictures
    return np.broadcast_to(2 / span * framed - 1, (*framed.shape[:2], 3, *framed.shape[3:]))


def _compare_batch(network: Callable[..., Any], x: Numbers, y: Numbers) -> Numbers:
    import torch

    with torch.no_grad():
        found = network(*(torch.from_numpy(np.ascontiguousarray(side, np.float32)) for side in (x, y)))
    array = validate_array(found, "what weights gave").astype(np.float64)
    if array.size != len(x) or not np.isfinite(array).all():
        raise ValueError(
            f"weights gave an array of shape {array.shape} for {len(x)} pairs of pictures: expected a finite number "
            "for each"
        )
    return array.reshape(-1)


def _resolve_network(weights: Any) -> Callable[..., Any]:
    if weights is None:
        raise ValueError(
            "weights=None: LPIPS is a trained network, and its weights are not part of this library, which downloads "
            "nothing. Give a .safetensors file with features.* of torchvision's AlexNet and lin0…lin4.model.1.weight "
            'of the lpips package (docs/score.md, "Scores with a network", makes one in ten lines), or a callable '
            "such as lpips.LPIPS(net='alex'). psnr, ssim and crps need no weights"
        )
    if callable(weights):
        return weights  # type: ignore[no-any-return]
    if not isinstance(weights, str | Path):
        raise TypeError(f"weights is a {type(weights).__name__}: expected a path to a .safetensors file or a callable")
    path = Path(os.path.expanduser(weights))
    if path.suffix.lower() != ".safetensors":
        raise ValueError(
            f"weights={str(weights)!r} ends in {path.suffix!r}: expected .safetensors; a .pth file can run code when "
            "it is read, so convert it first, as docs/score.md shows"
        )
    if not path.is_file():
        raise FileNotFoundError(f"weights={str(weights)!r}: there is no such file")
    about = path.stat()
    return _AlexNet(_load_weights(str(path.resolve()), about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=2)
def _load_weights(path: str, _changed: int, _size: int) -> dict[str, torch.Tensor]:
    """The tensors of a file, kept for the next call: the best of a hundred futures reads it a hundred times."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"weights={path!r} cannot be read as safetensors: {error}") from None
    return _check_weights(found, path)


def _check_weights(found: Mapping[str, torch.Tensor], path: str) -> dict[str, torch.Tensor]:
    """What is needed, in single precision."""
    import torch

    for key, shape in _weight_shapes().items():
        if key not in found:
            raise ValueError(f"weights={path!r} has no {key!r}: expected {', '.join(_weight_shapes())}")
        if tuple(found[key].shape) != shape:
            raise ValueError(f"weights={path!r}: {key!r} has shape {tuple(found[key].shape)}, expected {shape}")
        if not bool(torch.isfinite(found[key]).all()):
            raise ValueError(f"weights={path!r}: {key!r} has numbers that are not finite: the file is damaged")
    return {key: found[key].float() for key in _weight_shapes()}


def _weight_shapes() -> dict[str, tuple[int, ...]]:
    layers = {f"features.{n}.weight": size for n, size in zip(_LAYER_NUMBERS, _LAYER_SHAPES, strict=True)}
    biases = {f"features.{n}.bias": size[:1] for n, size in zip(_LAYER_NUMBERS, _LAYER_SHAPES, strict=True)}
    heads = {f"lin{i}.model.1.weight": (1, size[0], 1, 1) for i, size in enumerate(_LAYER_SHAPES)}
    return {**layers, **biases, **heads}


class _AlexNet:
    """LPIPS by the five convolutions of AlexNet (Krizhevsky, Sutskever and Hinton, 2012; torchvision's sizes)."""

    def __init__(self, weights: Mapping[str, torch.Tensor]) -> None:
        self.weights = weights

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        import torch

        side = min(x.shape[-2:])
        if side < _MIN_PIXELS:
            raise ValueError(
                f"pictures have a side of {side} pixels: AlexNet needs at least {_MIN_PIXELS}; enlarge them, or take "
                "ssim"
            )
        total = torch.zeros(len(x))
        for layer, both in enumerate(self._layers(torch.cat([x, y]))):
            a, b = (both / (both.norm(dim=1, keepdim=True) + _TINY)).chunk(2)
            head = self.weights[f"lin{layer}.model.1.weight"].reshape(1, -1, 1, 1)
            total += (head * (a - b) ** 2).sum(dim=1).mean(dim=(1, 2))
        return total

    def _layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        """What comes out of every convolution, cut off at 0."""
        import torch
        from torch.nn import functional

        shift, scale = (torch.tensor(numbers).reshape(1, 3, 1, 1) for numbers in (_SHIFT, _SCALE))
        x, found = (x - shift) / scale, []
        for layer, number in enumerate(_LAYER_NUMBERS):
            if layer in _POOLED_LAYERS:
                x = functional.max_pool2d(x, 3, stride=2)
            weight, bias = (self.weights[f"features.{number}.{part}"] for part in ("weight", "bias"))
            x = functional.conv2d(x, weight, bias, _STRIDES[layer], _PADDINGS[layer]).relu()
            found.append(x)
        return found
