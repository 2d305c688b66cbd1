"""The network of LPIPS: AlexNet's convolutions with weights from a file, or a network supplied by the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.extras import import_extra

if TYPE_CHECKING:
    import torch

_STRIDES = (4, 1, 1, 1, 1)  # of the five convolutions of AlexNet
_PADDINGS = (2, 2, 1, 1, 1)
_POOLED_LAYERS = (1, 2)  # convolutions preceded by 3 × 3 max pooling
_LAYER_NUMBERS = (0, 3, 6, 8, 10)  # their numbers in torchvision
_LAYER_SHAPES = ((64, 3, 11, 11), (192, 64, 5, 5), (384, 192, 3, 3), (256, 384, 3, 3), (256, 256, 3, 3))
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)  # of the three colours, as in the lpips package
_TINY = 1e-10  # added to the norm of the features, which may be 0
_MIN_PIXELS = 31  # the second pooling leaves nothing of smaller images


def load_lpips_network(weights: Any) -> Callable[..., Any]:
    """A network that compares two batches of images: `weights` if callable, else AlexNet with weights from a file."""
    if weights is None:
        raise ValueError(
            "weights=None: LPIPS is a trained network, and its weights are not part of this library, which downloads "
            "nothing. Give a .safetensors file with features.* of torchvision's AlexNet and lin0…lin4.model.1.weight "
            'of the lpips package (docs/score.md, "Scores with a network", makes one in ten lines), or a callable '
            "such as lpips.LPIPS(net='alex'). psnr, ssim and crps need no weights"
        )
    import_extra("torch", "lpips")
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
    file_status = path.stat()
    return _AlexNet(_load_weights(str(path.resolve()), file_status.st_mtime_ns, file_status.st_size))


@lru_cache(maxsize=2)
def _load_weights(path: str, _modified: int, _size: int) -> dict[str, torch.Tensor]:
    """The tensors of a file, cached until the file changes, because best-of-N scoring loads it for each sample."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"weights={path!r} cannot be read as safetensors: {error}") from None
    return _check_weights(tensors, path)


def _check_weights(tensors: Mapping[str, torch.Tensor], path: str) -> dict[str, torch.Tensor]:
    """The tensors of the network, in single precision."""
    import torch

    for key, shape in _weight_shapes().items():
        if key not in tensors:
            raise ValueError(f"weights={path!r} has no {key!r}: expected {', '.join(_weight_shapes())}")
        if tuple(tensors[key].shape) != shape:
            raise ValueError(f"weights={path!r}: {key!r} has shape {tuple(tensors[key].shape)}, expected {shape}")
        if not bool(torch.isfinite(tensors[key]).all()):
            raise ValueError(f"weights={path!r}: {key!r} has numbers that are not finite: the file is damaged")
    return {key: tensors[key].float() for key in _weight_shapes()}


def _weight_shapes() -> dict[str, tuple[int, ...]]:
    layers = {f"features.{n}.weight": size for n, size in zip(_LAYER_NUMBERS, _LAYER_SHAPES, strict=True)}
    biases = {f"features.{n}.bias": size[:1] for n, size in zip(_LAYER_NUMBERS, _LAYER_SHAPES, strict=True)}
    heads = {f"lin{i}.model.1.weight": (1, size[0], 1, 1) for i, size in enumerate(_LAYER_SHAPES)}
    return {**layers, **biases, **heads}


class _AlexNet:
    """LPIPS with the five convolutions of AlexNet (Krizhevsky, Sutskever and Hinton, 2012; torchvision's sizes)."""

    def __init__(self, weights: Mapping[str, torch.Tensor]) -> None:
        self.weights = weights

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        import torch

        side = min(x.shape[-2:])
        if side < _MIN_PIXELS:
            raise ValueError(
                f"images have a side of {side} pixels: AlexNet needs at least {_MIN_PIXELS}; enlarge them, or take ssim"
            )
        total = torch.zeros(len(x))
        for layer, both in enumerate(self._layers(torch.cat([x, y]))):
            a, b = (both / (both.norm(dim=1, keepdim=True) + _TINY)).chunk(2)
            head = self.weights[f"lin{layer}.model.1.weight"].reshape(1, -1, 1, 1)
            total += (head * (a - b) ** 2).sum(dim=1).mean(dim=(1, 2))
        return total

    def _layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        """The output of each convolution after its ReLU."""
        import torch
        from torch.nn import functional

        shift, scale = (torch.tensor(numbers).reshape(1, 3, 1, 1) for numbers in (_SHIFT, _SCALE))
        x, outputs = (x - shift) / scale, []
        for layer, number in enumerate(_LAYER_NUMBERS):
            if layer in _POOLED_LAYERS:
                x = functional.max_pool2d(x, 3, stride=2)
            weight, bias = (self.weights[f"features.{number}.{part}"] for part in ("weight", "bias"))
            x = functional.conv2d(x, weight, bias, _STRIDES[layer], _PADDINGS[layer]).relu()
            outputs.append(x)
        return outputs
