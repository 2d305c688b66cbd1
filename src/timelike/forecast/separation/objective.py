"""The loss of `Separation`: prediction, autoencoding, invariance of the content, and size of the first state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...models import options
from ...train import Batch
from ..chunks import ChunkObjective, gather_windows, noise_generator
from ..codecs.base import Content
from .network import SeparationNetwork

_MAX_JITTER, _MAX_JITTER_CHUNKS = 0.3, 300  # in standard deviations, and the number of chunks up to which it applies


@dataclass(frozen=True, kw_only=True)
class SeparationLoss:
    """The loss of `Separation`: weights of its terms (eq. 5.16), and noise on the inputs of the encoders.

    Parameters
    ----------
    prediction_weight : float
        Weight of the prediction error over a chunk.
    autoencoding_weight : float
        Weight of the error of encoded and decoded frames; 0 omits the term, as for the next two.
    invariance_weight : float
        Weight of the change of the content between windows of a chunk.
    state_penalty : float
        Weight of the size of the first state: half the sum of squares of a vector, or the mean square of maps (C.5.3).
    n_invariance_intervals : int
        Number of intervals of a chunk over which the change of the content is penalized (C.15).
    jitter : float or None
        Noise on the inputs of the encoders in training, in standard deviations of the data, against overfitting. None
        is 0.3 for up to 300 chunks, and 90 divided by the number of chunks for more.
    """

    prediction_weight: float = 45.0
    autoencoding_weight: float = 1.0
    invariance_weight: float = 45.0
    state_penalty: float = 1e-3
    n_invariance_intervals: int = 1
    jitter: float | None = None

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            prediction_weight=options.real(above=0),
            autoencoding_weight=options.real(0),
            invariance_weight=options.real(0),
            state_penalty=options.real(0),
            n_invariance_intervals=options.integer(1, most=2**20),
            jitter=options.nullable(options.real(0)),
        )

    def weights(self) -> dict[str, float]:
        """The weight of each term, by name."""
        return {
            "prediction": self.prediction_weight,
            "autoencoding": self.autoencoding_weight,
            "invariance": self.invariance_weight,
            "state_penalty": self.state_penalty,
        }


class SeparationObjective(ChunkObjective):
    """Eq. 5.11–5.16 over chunks, with the weights and the noise of a `SeparationLoss`."""

    module: SeparationNetwork

    def __init__(
        self,
        *args: Any,
        loss: SeparationLoss,
        valid_mask: Tensor | None = None,
        scaler: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.terms, self.valid_mask, self.scaler = loss, valid_mask, scaler
        self.jitter = self._default_jitter() if loss.jitter is None else loss.jitter

    def _default_jitter(self) -> float:
        """The default noise, which decreases with the number of chunks."""
        n_chunks = len(self.packed_frames.chunk_starts(self.length))
        return _MAX_JITTER * min(1, _MAX_JITTER_CHUNKS / n_chunks)

    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        window = self.module.conditioning
        last = self.length - window - (1 if self.module.offset else 0)
        return {"at": rng.integers(0, last + 1, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and each term for the history."""
        terms = self.loss_terms(batch, self.jitter if self.module.training else 0.0)
        weights = self.terms.weights()
        total = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        return {"loss": total, **{name: term.detach() for name, term in terms.items()}}

    def validation_loss(self, batch: Batch) -> float:
        """The prediction error."""
        return float(self.loss_terms(batch, 0.0)["prediction"])

    def loss_terms(self, batch: Batch, jitter: float) -> dict[str, Tensor]:
        """The terms with a nonzero weight, by name."""
        network, x, spans = self.module, batch["x"], batch["spans"]
        covariates = batch.tensors.get("known")
        noisy = _add_noise(x, jitter, noise_generator(batch)) if jitter else x
        looks = _ChunkEncoder(network, noisy, covariates, spans)
        at, window = batch["at"], network.conditioning
        content, first = looks.content_at(0), looks.state_at(torch.zeros_like(at))
        begin = window if network.offset else 0
        states = _roll_out(network, first, spans, covariates, begin)
        ahead = None if covariates is None else covariates[:, begin:]
        terms = {"prediction": self._error(network.decode(content, states, ahead), x[:, begin:])}
        if self.terms.autoencoding_weight:
            terms["autoencoding"] = self._autoencoding_error(looks, content, x, at, begin)
        if network.has_content and self.terms.invariance_weight:
            terms["invariance"] = self._content_change(looks, content, x.shape[1] - window)
        if network.has_content and self.terms.state_penalty:
            squares = first.square().flatten(1)
            terms["state_penalty"] = squares.mean() if network.maps else squares.sum(1).mean() / 2
        return terms

    def _error(self, decoded: Tensor, truth: Tensor) -> Tensor:
        """The mean squared error over valid cells.

        Outputs of a sigmoid are in data units and are compared in units of the overall standard deviation: a nearly
        constant cell has a tiny deviation of its own, relative to which a sigmoid is never accurate.
        """
        if self.scaler is not None:
            mean, scale = (moment.to(truth) for moment in self.scaler)
            changing = scale[scale != 1]  # constant cells have scale 1, more than any deviation in [0, 1]
            unit = changing.square().mean().sqrt() if len(changing) else 1.0
            decoded, truth = decoded / unit, (truth * scale + mean) / unit
        squares = (decoded - truth).square()
        return squares.mean() if self.valid_mask is None else squares[..., self.valid_mask].mean()

    def _autoencoding_error(self, looks: _ChunkEncoder, content: Content, x: Tensor, at: Tensor, begin: int) -> Tensor:
        """The error of the frame decoded from a random window's state and the content of the first one (eq. 5.12)."""
        state, places = looks.state_at(at), at + begin
        covariates = None if looks.known is None else gather_windows(looks.known, places, 1)
        return self._error(looks.network.decode(content, state[:, None], covariates), gather_windows(x, places, 1))

    def _content_change(self, looks: _ChunkEncoder, content: Content, last: int) -> Tensor:
        """The change of the content between windows, summed over intervals of the chunk (eq. 5.14, C.15)."""
        places = np.unique(np.linspace(0, last, self.terms.n_invariance_intervals + 1).round().astype(int))
        before, total = content, torch.zeros(())
        for start, end in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
            after = looks.content_at(end)
            total = total.to(looks.x) + _mean_squared_difference(before, after) * (last / (end - start))
            before = after
        return total.to(looks.x)


class _ChunkEncoder(NamedTuple):
    """Encodes windows of chunks."""

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
        covariates = None if self.known is None else gather_windows(self.known, at, size)
        clock = gather_windows(self.spans, at, size)[:, 1:] if self.network.n_clock else None
        return gather_windows(self.x, at, size), covariates, clock


def _add_noise(x: Tensor, deviation: float, generator: torch.Generator | None) -> Tensor:
    """Frames with noise of this deviation."""
    return x + deviation * torch.randn(x.shape, dtype=x.dtype, device=x.device, generator=generator)


def _roll_out(
    network: SeparationNetwork, first: Tensor, spans: Tensor, covariates: Tensor | None, begin: int
) -> Tensor:
    """States at all frames from `begin` on, including the first."""
    ahead = None if covariates is None else covariates[:, begin + 1 :]
    return torch.cat([first[:, None], network.dynamics(first, spans[:, begin + 1 :], ahead)], dim=1)


def _mean_squared_difference(one: Content, other: Content) -> Tensor:
    """The mean square of the difference of code and skips together."""
    pairs = zip([one.code, *one.skips], [other.code, *other.skips], strict=True)
    squares = [(a - b).square() for a, b in pairs if a is not None and b is not None]
    total = torch.stack([square.sum() for square in squares]).sum()
    return total / sum(square.numel() for square in squares)
