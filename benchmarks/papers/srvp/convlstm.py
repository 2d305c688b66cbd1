"""A small ConvLSTM for clips: one that reads the past, and another that goes on from its state.

Shi et al., "Convolutional LSTM network", 2015: pictures are cut into patches of 4 × 4 pixels, which become channels;
two layers of gates that are convolutions read the past; as many with weights of their own begin with their states and
draw frame after frame, each from the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from timelike.train import Batch, History, Objective, OneCycle, fit, shuffled_batches, use_seed

PATCH = 4
_DARK = -2.0  # at first frames are almost black, as clips of digits are
State = list[tuple[Tensor, Tensor]]
Loss = Literal["mse", "bce"]


class Cell(nn.Module):
    """Gates by one convolution over what comes in and the state: i, f, o, g as in an LSTM."""

    def __init__(self, n_in: int, n_hidden: int, kernel: int) -> None:
        super().__init__()
        self.gates = nn.Conv2d(n_in + n_hidden, 4 * n_hidden, kernel, padding=kernel // 2)
        with torch.no_grad():
            self.gates.bias[n_hidden : 2 * n_hidden] = 1.0  # type: ignore[index]  # at first nothing is forgotten

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        hidden, memory = state
        into, forget, out, new = self.gates(torch.cat([x, hidden], dim=1)).chunk(4, dim=1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(memory), memory


class ConvLSTMNetwork(nn.Module):
    """From frames (batch, time, 1, height, width) to as many more as are asked for, before the sigmoid."""

    def __init__(self, hidden: int = 32, layers: int = 2, kernel: int = 3) -> None:
        super().__init__()
        self.hidden = hidden
        sizes = [PATCH * PATCH] + [hidden] * layers
        self.reads, self.goes_on = (nn.ModuleList(Cell(a, b, kernel) for a, b in pairwise(sizes)) for _ in range(2))
        self.draws = nn.Conv2d(hidden * layers, PATCH * PATCH, 1)
        nn.init.constant_(self.draws.bias, _DARK)  # type: ignore[arg-type]

    def forward(self, past: Tensor, horizon: int) -> Tensor:
        frames = [F.pixel_unshuffle(one, PATCH).contiguous(memory_format=torch.channels_last) for one in past.unbind(1)]
        state = self._empty(frames[0])
        for frame in frames:
            state = self._moved(self.reads, frame, state)
        found, frame = [], frames[-1]
        for _ in range(horizon):
            state = self._moved(self.goes_on, frame, state)
            logits = self.draws(torch.cat([hidden for hidden, _ in state], dim=1))
            frame = torch.sigmoid(logits)
            found.append(F.pixel_shuffle(logits, PATCH))
        return torch.stack(found, dim=1)

    def _empty(self, frame: Tensor) -> State:
        nothing = frame.new_zeros(len(frame), self.hidden, *frame.shape[2:])
        return [(nothing, nothing) for _ in self.reads]

    @staticmethod
    def _moved(cells: nn.ModuleList, x: Tensor, state: State) -> State:
        found = []
        for cell, before in zip(cells, state, strict=True):
            x, memory = cell(x, before)
            found.append((x, memory))
        return found


class Continued(Objective):
    """The squared error, or the cross-entropy, of what comes after the conditioning frames of a clip."""

    item = "clip"

    def __init__(self, network: ConvLSTMNetwork, source: Any, conditioning: int, loss: Loss, how: dict[str, Any]):
        self.module, self.source, self.conditioning, self.kind, self.how = network, source, conditioning, loss, how

    def optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.module.parameters(), lr=self.how["learning_rate"], fused=True)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        clips = np.stack(list(self.source(rng)))
        for ids in shuffled_batches(len(clips), self.how["batch_size"], rng):
            yield Batch(ids, x=clips[ids])

    def loss(self, batch: Batch) -> Tensor:
        x, past = batch["x"], self.conditioning
        logits, truth = self.module(x[:, :past], x.shape[1] - past), x[:, past:]
        if self.kind == "bce":
            return F.binary_cross_entropy_with_logits(logits, truth)
        return F.mse_loss(torch.sigmoid(logits), truth)

    def identity(self) -> dict[str, str | int]:
        return {"loss": self.kind, "batch_size": self.how["batch_size"]}


class ConvLSTM:
    """Learns from a source of clips, as `SRVP` and `Separation` do: in the same loop, with the same limits."""

    history_: History

    def __init__(
        self,
        *,
        conditioning: int = 5,
        hidden: int = 32,
        layers: int = 2,
        kernel: int = 3,
        loss: Loss = "mse",
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        max_steps: int = 1000,
        max_time: float | None = None,
        checkpoint: Path | None = None,
        random_state: int = 0,
    ) -> None:
        self.conditioning, self.kind, self.max_steps, self.max_time = conditioning, loss, max_steps, max_time
        self.how = {"batch_size": batch_size, "learning_rate": learning_rate}
        self.checkpoint, self.random_state = checkpoint, random_state
        with use_seed(random_state):
            self.network_ = ConvLSTMNetwork(hidden, layers, kernel).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def fit(self, source: Callable[[np.random.Generator], Any]) -> ConvLSTM:
        """Draw clips and learn what comes after their first frames."""
        objective = Continued(self.network_, source, self.conditioning, self.kind, self.how)
        limits: dict[str, Any] = {"max_steps": self.max_steps, "max_time": self.max_time, "schedule": OneCycle()}
        # a recurrent network can jump where gradients grow along time
        self.history_ = fit(
            objective, checkpoint=self.checkpoint, random_state=self.random_state, gradient_clip=1.0, **limits
        )
        self.network_.eval()
        return self

    def predict(self, past: NDArray[Any], horizon: int) -> NDArray[np.float32]:
        """Frames (clip, horizon, 1, height, width)."""
        with torch.no_grad():
            frames = torch.sigmoid(self.network_(torch.from_numpy(np.asarray(past, np.float32)), horizon))
        return np.asarray(frames.numpy())
