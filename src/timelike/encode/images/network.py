"""`ImageNetwork`: maps single images to vectors, with LeNet or a small residual network."""

from __future__ import annotations

from typing import Any, Literal, get_args

from torch import Tensor, nn

from ...core.parameters import check_choice, check_float, check_int
from ..base import check_frame
from ..item_encoder import ItemNetwork

Architecture = Literal["lenet", "resnet"]

_MIN_UNPADDED_SIDE = 16  # smallest side of which two 5 × 5 convolutions and two poolings leave a pixel
_MAX_POOLED_SIDE = 7  # larger maps are averaged to this side before the linear map
_WIDTHS = (24, 48, 96)


class ImageNetwork(ItemNetwork):
    """Maps images (channel, height, width) to vectors.

    "lenet": convolutions 10 and 20 of 5 × 5, each with max-pooling by 2 and ReLU, channels dropped out after the
    second, a linear map and ReLU (after LeCun et al., 1998): 28 × 28 pixels become 320 numbers, then 50 features.
    Images with a side below 16 are padded, and maps larger than 7 × 7 are averaged to 7 × 7. "resnet": three stages of
    one residual block each (He et al., 2016) with 24, 48 and 96 channels and batch normalization, the mean over
    positions, a linear map: about 180 000 weights.

    `dropout=None` is 0.5 for "lenet" and none for "resnet". The vector of an item with several frames is the
    mean over frames.

    Parameters
    ----------
    frame : tuple of int
        (channel, height, width) of an image.
    architecture : {"lenet", "resnet"}
        The network, as described above.
    n_features : int
        Size of a vector.
    dropout : float or None
        Fraction of channels dropped in training; None is the default of the architecture.

    Examples
    --------
    >>> import torch
    >>> network = ImageNetwork((1, 28, 28))
    >>> network(torch.randn(3, 1, 1, 28, 28)).shape
    torch.Size([3, 50])
    """

    def __init__(
        self,
        frame: tuple[int, int, int],
        *,
        architecture: Architecture = "lenet",
        n_features: int = 50,
        dropout: float | None = None,
    ) -> None:
        super().__init__(check_frame(frame, 3))
        usual = 0.5 if check_choice(architecture, "architecture", get_args(Architecture)) == "lenet" else 0.0
        dropped = usual if dropout is None else check_float(dropout, "dropout", 0, 0.95)
        make = _make_lenet if architecture == "lenet" else _make_resnet
        self.backbone = make(self.frame, check_int(n_features, "n_features", 1), dropped)


def _make_lenet(frame: tuple[int, ...], n_features: int, dropout: float) -> nn.Module:
    around = 0 if min(frame[1:]) >= _MIN_UNPADDED_SIDE else 2
    left = [min(_MAX_POOLED_SIDE, _halved_side(_halved_side(side, around), around)) for side in frame[1:]]
    return nn.Sequential(
        nn.Conv2d(frame[0], 10, 5, padding=around),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.ReLU(),
        nn.Conv2d(10, 20, 5, padding=around),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.ReLU(),
        nn.Dropout2d(dropout),
        nn.AdaptiveAvgPool2d((left[0], left[1])),  # the identity for maps of this size
        nn.Flatten(),
        nn.Linear(20 * left[0] * left[1], n_features),
        nn.ReLU(),
    )


def _halved_side(side: int, around: int) -> int:
    """The size of a side after a convolution of 5 and pooling by 2."""
    return -(-(side + 2 * around - 4) // 2)


def _make_resnet(frame: tuple[int, ...], n_features: int, dropout: float) -> nn.Module:
    sizes = (_WIDTHS[0], *_WIDTHS)
    return nn.Sequential(
        nn.Conv2d(frame[0], sizes[0], 3, padding=1, bias=False),
        SafeBatchNorm2d(sizes[0]),
        nn.ReLU(),
        *(ResidualBlock(sizes[i], sizes[i + 1], stride=1 if i == 0 else 2) for i in range(len(_WIDTHS))),
        nn.Dropout2d(dropout),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(sizes[-1], n_features),
    )


class ResidualBlock(nn.Module):
    """Two convolutions of 3 × 3, and a shortcut that is a 1 × 1 convolution if the number of channels changes."""

    def __init__(self, n_in: int, n_out: int, *, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False),
            SafeBatchNorm2d(n_out),
            nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False),
            SafeBatchNorm2d(n_out),
        )
        map_of_channels = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride=stride, bias=False), SafeBatchNorm2d(n_out))
        self.shortcut = nn.Identity() if n_in == n_out else map_of_channels
        self.out = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """(image, input, height, width) → (image, output, height', width')."""
        output: Tensor = self.out(self.inner(x) + self.shortcut(x))
        return output


class SafeBatchNorm2d(nn.BatchNorm2d):
    """Batch normalization that uses the running moments if a batch has only one value per channel."""

    def forward(self, input: Any) -> Tensor:
        """Normalize by the batch in training, if it has several values per channel; else by running moments."""
        alone = self.training and input.shape[0] * input.shape[2] * input.shape[3] == 1
        if not alone:
            return super().forward(input)
        return nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )
