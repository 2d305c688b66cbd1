"""The causal network: a stack of dilated convolutions that look back only, its maximum over time, a linear map."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .convolution import CausalConvolution, linear


class CausalBlock(nn.Module):
    """Two causal convolutions, and a shortcut that is linear where the channels change."""

    def __init__(self, n_in: int, n_out: int, *, kernel: int, dilation: int, slope: float = 0.01) -> None:
        super().__init__()
        self.first = CausalConvolution(n_in, n_out, kernel=kernel, dilation=dilation, slope=slope)
        self.second = CausalConvolution(n_out, n_out, kernel=kernel, dilation=dilation, slope=slope)
        self.shortcut = nn.Linear(n_in, n_out) if n_in != n_out else None
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, input) → (item, time, output)."""
        inner: Tensor = self.second(self.first(x))
        return inner + (x if self.shortcut is None else linear(self.shortcut, x))


class CausalNetwork(nn.Module):
    """Sequences to vectors: `depth` blocks of dilations 1, 2, 4, … and a last one, the maximum over time, a linear map.

    The encoder of T-Loss (Franceschi, Dieuleveut and Jaggi, 2019; thesis 3.4). The appendix of the thesis swaps two
    numbers: the causal part has 160 outputs and the representation 320.

    >>> import torch
    >>> network = CausalNetwork(2, n_features=8, channels=4, depth=3, reduced=6)
    >>> network(torch.randn(5, 30, 2), torch.tensor([30, 7, 12, 30, 1])).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        n_features: int = 320,
        channels: int = 40,
        depth: int = 10,
        reduced: int = 160,
        kernel: int = 3,
    ) -> None:
        super().__init__()
        widths = [n_channels, *[channels] * depth, reduced]
        self.blocks = nn.ModuleList(
            CausalBlock(widths[i], widths[i + 1], kernel=kernel, dilation=2**i) for i in range(depth + 1)
        )
        self.linear = nn.Linear(reduced, n_features)

    def products(self) -> set[tuple[int, int]]:
        """The sizes (input, output) of all products of matrices it may take; a short series reaches fewer taps."""
        linear = [layer for layer in self.modules() if isinstance(layer, nn.Linear)]
        taps = [layer.direction for layer in self.modules() if isinstance(layer, CausalConvolution)]
        reached = {(k * t.shape[1], t.shape[2]) for t in taps for k in range(1, t.shape[0] + 1)}
        return reached | {(layer.in_features, layer.out_features) for layer in linear}

    def outputs(self, x: Tensor) -> Tensor:
        """The causal part: (item, time, channel) → (item, time, reduced), each step from those up to it."""
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); steps past a length take no part."""
        if lengths is None:
            found = self.outputs(x)
        else:
            beyond = (torch.arange(x.shape[1], device=x.device) >= lengths.to(x.device)[:, None])[..., None]
            # a NaN in the padding reaches no value, but its product with a gradient of zero would be NaN
            found = self.outputs(x.masked_fill(beyond, 0.0)).masked_fill(beyond, -torch.inf)
        return linear(self.linear, found.amax(dim=1))
