"""The loss of separation of variables: prediction, autoencoding, invariance of the content, a small first state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import ChunkObjective, gather_windows, noise_generator
from ..codecs.content import Content
from .network import SeparationNetwork


class SeparationWeights(NamedTuple):
    """What each term counts (eq. 5.16); 0 leaves it out.

    `state_penalty` counts as C.5.3 has it: half the sum of squares of a state that is a vector, the mean of one of
    maps.
    """

    prediction: float = 45.0
    autoencoding: float = 1.0
    invariance: float = 45.0
    state_penalty: float = 1e-3


class SeparationObjective(ChunkObjective):
    """Eq. 5.11–5.16 over chunks; `n_invariance_intervals` windows beside the first one hold the content still
    (C.15).
    """

    module: SeparationNetwork

    def __init__(
        self,
        *given: Any,
        weights: SeparationWeights,
        n_invariance_intervals: int = 1,
        jitter: float = 0.0,
        valid_mask: Tensor | None = None,
        scaler: tuple[Tensor, Tensor] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self.weights, self.n_invariance_intervals, self.jitter, self.valid_mask, self.scaler = (
            weights,
            n_invariance_intervals,
            jitter,
            valid_mask,
            scaler,
        )

    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        window = self.module.conditioning
        last = self.length - window - (1 if self.module.offset else 0)
        return {"at": rng.integers(0, last + 1, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and each term for the history."""
        found = self.loss_terms(batch, self.jitter if self.module.training else 0.0)
        weights = self.weights._asdict()
        total = torch.stack([weights[name] * term for name, term in found.items()]).sum()
        return {"loss": total, **{name: term.detach() for name, term in found.items()}}

    def validation_loss(self, batch: Batch) -> float:
        """The error of predictions."""
        return float(self.loss_terms(batch, 0.0)["prediction"])

    def loss_terms(self, batch: Batch, jitter: float) -> dict[str, Tensor]:
        """The terms that count, by name."""
        network, x, spans = self.module, batch["x"], batch["spans"]
        known = batch.tensors.get("known")
        seen = _add_noise(x, jitter, noise_generator(batch)) if jitter else x
        looks = _ChunkEncoder(network, seen, known, spans)
        at, window = batch["at"], network.conditioning
        content, first = looks.content_at(0), looks.state_at(torch.zeros_like(at))
        begin = window if network.offset else 0
        states = _roll_out(network, first, spans, known, begin)
        ahead = None if known is None else known[:, begin:]
        found = {"prediction": self._error(network.decode(content, states, ahead), x[:, begin:])}
        if self.weights.autoencoding:
            found["autoencoding"] = self._autoencoding_error(looks, content, x, at, begin)
        if network.has_content and self.weights.invariance:
            found["invariance"] = self._content_change(looks, content, x.shape[1] - window)
        if network.has_content and self.weights.state_penalty:
            squares = first.square().flatten(1)
            found["state_penalty"] = squares.mean() if network.maps else squares.sum(1).mean() / 2
        return found

    def _error(self, drawn: Tensor, truth: Tensor) -> Tensor:
        """The mean square of what is there.

        Squashed frames are in the units of the data, and compared in deviations of all of it: a cell that hardly ever
        changes has a tiny deviation of its own, in which a squashed number is never right.
        """
        if self.scaler is not None:
            mean, scale = (moment.to(truth) for moment in self.scaler)
            changing = scale[scale != 1]  # what never changes has the scale 1, more than any number in [0, 1] deviates
            unit = changing.square().mean().sqrt() if len(changing) else 1.0
            drawn, truth = drawn / unit, (truth * scale + mean) / unit
        squares = (drawn - truth).square()
        return squares.mean() if self.valid_mask is None else squares[..., self.valid_mask].mean()

    def _autoencoding_error(self, looks: _ChunkEncoder, content: Content, x: Tensor, at: Tensor, begin: int) -> Tensor:
        """A drawn window's state with the content of the first one is to give the frame it stands for (eq. 5.12)."""
        state, places = looks.state_at(at), at + begin
        known = None if looks.known is None else gather_windows(looks.known, places, 1)
        return self._error(looks.network.decode(content, state[:, None], known), gather_windows(x, places, 1))

    def _content_change(self, looks: _ChunkEncoder, content: Content, last: int) -> Tensor:
        """How the content changes from window to window, over intervals that share the chunk (eq. 5.14, C.15)."""
        places = np.unique(np.linspace(0, last, self.n_invariance_intervals + 1).round().astype(int))
        before, total = content, torch.zeros(())
        for start, end in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
            after = looks.content_at(end)
            total = total.to(looks.x) + _mean_squared_difference(before, after) * (last / (end - start))
            before = after
        return total.to(looks.x)


class _ChunkEncoder(NamedTuple):
    """Windows of chunks, as the encoders see them."""

    network: SeparationNetwork
    x: Tensor
    known: Tensor | None
    spans: Tensor

    def content_at(self, place: int) -> Content:
        at = torch.full((len(self.x),), place, device=self.x.device)
        return self.network.encode_content(*self._window(at))

    def state_at(self, at: Tensor) -> Tensor:
        return self.network.encode_state(*self._window(at))

    def _window(self, at: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        size = self.network.conditioning
        known = None if self.known is None else gather_windows(self.known, at, size)
        clock = gather_windows(self.spans, at, size)[:, 1:] if self.network.n_clock else None
        return gather_windows(self.x, at, size), known, clock


def _add_noise(x: Tensor, deviation: float, generator: torch.Generator | None) -> Tensor:
    """Frames with noise of this deviation."""
    return x + deviation * torch.randn(x.shape, dtype=x.dtype, device=x.device, generator=generator)


def _roll_out(network: SeparationNetwork, first: Tensor, spans: Tensor, known: Tensor | None, begin: int) -> Tensor:
    """States at all frames from `begin` on, the first among them."""
    ahead = None if known is None else known[:, begin + 1 :]
    return torch.cat([first[:, None], network.dynamics(first, spans[:, begin + 1 :], ahead)], dim=1)


def _mean_squared_difference(one: Content, other: Content) -> Tensor:
    """The mean square of the difference of code and skips together."""
    pairs = zip([one.code, *one.skips], [other.code, *other.skips], strict=True)
    squares = [(a - b).square() for a, b in pairs if a is not None and b is not None]
    total = torch.stack([square.sum() for square in squares]).sum()
    return total / sum(square.numel() for square in squares)
