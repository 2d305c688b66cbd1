"""The loss of separation of variables: prediction, autoencoding, invariance of the content, a small first state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import Chunks, noise_generator, windows_of
from .network import Content, SeparationNetwork


class Weights(NamedTuple):
    """What each term counts (eq. 5.16); 0 leaves it out.

    `smallness` counts as C.5.3 has it: half the sum of squares of a state that is a vector, the mean of one of maps.
    """

    prediction: float = 45.0
    autoencoding: float = 1.0
    invariance: float = 45.0
    smallness: float = 1e-3


class Separating(Chunks):
    """Eq. 5.11–5.16 over chunks; `intervals` windows beside the first one hold the content still (C.15)."""

    module: SeparationNetwork

    def __init__(
        self,
        *given: Any,
        weights: Weights,
        intervals: int = 1,
        jitter: float = 0.0,
        there: Tensor | None = None,
        undone: tuple[Tensor, Tensor] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self.weights, self.intervals, self.jitter, self.there, self.undone = weights, intervals, jitter, there, undone

    def _drawn(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        window = self.module.conditioning
        last = self.length - window - (1 if self.module.offset else 0)
        return {"at": rng.integers(0, last + 1, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and each term for the history."""
        found = self.terms(batch, self.jitter if self.module.training else 0.0)
        weights = self.weights._asdict()
        total = torch.stack([weights[name] * term for name, term in found.items()]).sum()
        return {"loss": total, **{name: term.detach() for name, term in found.items()}}

    def judged(self, batch: Batch) -> float:
        """The error of predictions."""
        return float(self.terms(batch, 0.0)["prediction"])

    def terms(self, batch: Batch, jitter: float) -> dict[str, Tensor]:
        """The terms that count, by name."""
        network, x, spans = self.module, batch["x"], batch["spans"]
        known = batch.tensors.get("known")
        seen = _jittered(x, jitter, noise_generator(batch)) if jitter else x
        looks = _Looks(network, seen, known, spans)
        at, window = batch["at"], network.conditioning
        content, first = looks.content_at(0), looks.state_at(torch.zeros_like(at))
        begin = window if network.offset else 0
        states = _rolled(network, first, spans, known, begin)
        ahead = None if known is None else known[:, begin:]
        found = {"prediction": self._error(network.drawn(content, states, ahead), x[:, begin:])}
        if self.weights.autoencoding:
            found["autoencoding"] = self._autoencoded(looks, content, x, at, begin)
        if network.has_content and self.weights.invariance:
            found["invariance"] = self._changed(looks, content, x.shape[1] - window)
        if network.has_content and self.weights.smallness:
            squares = first.square().flatten(1)
            found["smallness"] = squares.mean() if network.maps else squares.sum(1).mean() / 2
        return found

    def _error(self, drawn: Tensor, truth: Tensor) -> Tensor:
        """The mean square of what is there.

        Squashed frames are in the units of the data, and compared in deviations of all of it: a cell that hardly ever
        changes has a tiny deviation of its own, in which a squashed number is never right.
        """
        if self.undone is not None:
            mean, scale = (moment.to(truth) for moment in self.undone)
            changing = scale[scale != 1]  # what never changes has the scale 1, more than any number in [0, 1] deviates
            unit = changing.square().mean().sqrt() if len(changing) else 1.0
            drawn, truth = drawn / unit, (truth * scale + mean) / unit
        squares = (drawn - truth).square()
        return squares.mean() if self.there is None else squares[..., self.there].mean()

    def _autoencoded(self, looks: _Looks, content: Content, x: Tensor, at: Tensor, begin: int) -> Tensor:
        """A drawn window's state with the content of the first one is to give the frame it stands for (eq. 5.12)."""
        state, places = looks.state_at(at), at + begin
        known = None if looks.known is None else windows_of(looks.known, places, 1)
        return self._error(looks.network.drawn(content, state[:, None], known), windows_of(x, places, 1))

    def _changed(self, looks: _Looks, content: Content, last: int) -> Tensor:
        """How the content changes from window to window, over intervals that share the chunk (eq. 5.14, C.15)."""
        places = np.unique(np.linspace(0, last, self.intervals + 1).round().astype(int))
        before, total = content, torch.zeros(())
        for start, end in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
            after = looks.content_at(end)
            total = total.to(looks.x) + _apart(before, after) * (last / (end - start))
            before = after
        return total.to(looks.x)


class _Looks(NamedTuple):
    """Windows of chunks, as the encoders see them."""

    network: SeparationNetwork
    x: Tensor
    known: Tensor | None
    spans: Tensor

    def content_at(self, place: int) -> Content:
        at = torch.full((len(self.x),), place, device=self.x.device)
        return self.network.content_of(*self._window(at))

    def state_at(self, at: Tensor) -> Tensor:
        return self.network.state_of(*self._window(at))

    def _window(self, at: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        size = self.network.conditioning
        known = None if self.known is None else windows_of(self.known, at, size)
        clock = windows_of(self.spans, at, size)[:, 1:] if self.network.n_clock else None
        return windows_of(self.x, at, size), known, clock


def _jittered(x: Tensor, deviation: float, generator: torch.Generator | None) -> Tensor:
    """Frames with noise of this deviation."""
    return x + deviation * torch.randn(x.shape, dtype=x.dtype, device=x.device, generator=generator)


def _rolled(network: SeparationNetwork, first: Tensor, spans: Tensor, known: Tensor | None, begin: int) -> Tensor:
    """States at all frames from `begin` on, the first among them."""
    ahead = None if known is None else known[:, begin + 1 :]
    return torch.cat([first[:, None], network.move(first, spans[:, begin + 1 :], ahead)], dim=1)


def _apart(one: Content, other: Content) -> Tensor:
    """The mean square of the difference of code and skips together."""
    pairs = zip([one.code, *one.skips], [other.code, *other.skips], strict=True)
    squares = [(a - b).square() for a, b in pairs if a is not None and b is not None]
    total = torch.stack([square.sum() for square in squares]).sum()
    return total / sum(square.numel() for square in squares)
