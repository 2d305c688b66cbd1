"""SVG with a learned prior, the rival of SRVP in the thesis: recurrent, and every frame is drawn from the one before.

Denton and Fergus, "Stochastic video generation with a learned prior", ICML 2018: h_t encodes frame t; z_t is normal,
q(z_t | x_1..x_t) by one LSTM of h_1..h_t and p(z_t | x_1..x_{t-1}) by another of h_1..h_{t-1}; two further layers of
LSTM read (h_{t-1}, z_t) and give the code from which frame t is decoded. The loss is the squared error of frames and
beta times the divergence of both normal distributions. There are no skips from the encoder to the decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import timelike as tl
from timelike.forecast.codecs import Auto, Codec
from timelike.train import Batch, History, Objective, OneCycle, fit, shuffled_batches, use_seed

State = tuple[Tensor, Tensor] | None
AT_ONCE = 1 << 22  # numbers decoded at once


class Normal(NamedTuple):
    """Independent normal distributions: means and logarithms of variances."""

    mean: Tensor
    log_variance: Tensor

    def sample(self, noise: Tensor) -> Tensor:
        """From standard normal noise, so that gradients reach both parameters."""
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def kl_divergence(self, prior: Normal) -> Tensor:
        """From a prior, summed over the last axis."""
        apart = (self.log_variance.exp() + (self.mean - prior.mean).square()) / prior.log_variance.exp()
        return 0.5 * (prior.log_variance - self.log_variance + apart - 1).sum(-1)


class GaussianLSTM(nn.Module):
    """A normal distribution at every time from all codes up to it."""

    def __init__(self, n_code: int, hidden: int, n_random: int) -> None:
        super().__init__()
        self.embed = nn.Linear(n_code, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2 * n_random)

    def forward(self, codes: Tensor, state: State = None) -> tuple[Normal, State]:
        hidden, state = self.lstm(self.embed(codes), state)
        return Normal(*self.head(hidden).chunk(2, dim=-1)), state


class Predictor(nn.Module):
    """The code of the next frame from the one before and z, by two layers of LSTM."""

    def __init__(self, n_code: int, hidden: int, n_random: int) -> None:
        super().__init__()
        self.embed = nn.Linear(n_code + n_random, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, n_code), nn.Tanh())

    def forward(self, codes: Tensor, z: Tensor, state: State = None) -> tuple[Tensor, State]:
        hidden, state = self.lstm(self.embed(torch.cat([codes, z], dim=-1)), state)
        return self.head(hidden), state


class SVGNetwork(nn.Module):
    """Frames (batch, time, *frame) in [0, 1]; the codec builds the encoder and the decoder."""

    def __init__(self, frame: tuple[int, ...], codec: Codec, n_code: int, n_random: int, hidden: int) -> None:
        super().__init__()
        if codec.skips or codec.maps:
            raise ValueError(f"codec={codec!r}: expected one with skips=False and maps=False")
        self.frame, self.takes_images = frame, codec.takes_images
        shape = frame if codec.takes_images else (int(np.prod(frame)),)
        self.encoder = codec.encoder(shape, n_code)
        self.decoder = codec.decoder(shape, n_code, n_content=0, use_sigmoid=True)
        codec.init_weights(self.encoder, self.decoder)
        self.posterior, self.prior = (GaussianLSTM(n_code, hidden, n_random) for _ in range(2))
        self.predictor = Predictor(n_code, hidden, n_random)
        self.n_random = n_random

    def encode(self, x: Tensor) -> Tensor:
        """Codes (batch, time, size)."""
        rows = x.flatten(0, 1)
        if self.takes_images:
            codes = self.encoder(rows.contiguous(memory_format=torch.channels_last))[0]
        else:
            codes = self.encoder(rows.flatten(1))
        return torch.as_tensor(codes).reshape(*x.shape[:2], -1)

    def decode(self, codes: Tensor) -> Tensor:
        """Frames (batch, time, *frame)."""
        rows = codes.flatten(0, 1)
        logits = self.decoder(rows, []) if self.takes_images else self.decoder(rows)
        return torch.sigmoid(logits).reshape(*codes.shape[:2], *self.frame)

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """All frames but the first, each from the true ones before it, and the divergence of z at each."""
        codes = self.encode(x)
        posterior, prior = self.posterior(codes[:, 1:])[0], self.prior(codes[:, :-1])[0]
        predicted, _ = self.predictor(codes[:, :-1], posterior.sample(noise))
        return self.decode(predicted), posterior.kl_divergence(prior)

    def sample(self, past: Tensor, horizon: int, generator: torch.Generator) -> Tensor:
        """One future of each past: z is from the posterior as long as frames are known, and then from the prior."""
        codes, n_known = self.encode(past), past.shape[1] - 1
        prior_state: State = None
        state: State = None
        if n_known:
            posterior = self.posterior(codes[:, 1:])[0]
            z = posterior.sample(_noise(posterior.mean, generator))
            prior_state = self.prior(codes[:, :-1])[1]
            state = self.predictor(codes[:, :-1], z)[1]
        code, frames = codes[:, -1:], []
        for _ in range(horizon):
            prior, prior_state = self.prior(code, prior_state)
            predicted, state = self.predictor(code, prior.sample(_noise(prior.mean, generator)), state)
            frames.append(self.decode(predicted))
            code = self.encode(frames[-1])
        return torch.cat(frames, dim=1)


def _noise(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, dtype=like.dtype)


class Evidence(Objective):
    """Squared errors (mean over pixels, sum over time) and beta times the divergences (sum over time)."""

    item = "clip"

    def __init__(self, network: SVGNetwork, source: Any, beta: float, how: dict[str, Any]) -> None:
        self.module, self.source, self.beta, self.how = network, source, beta, how
        self.n_random = network.n_random

    def optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.module.parameters(), lr=self.how["learning_rate"], fused=True)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        clips = np.stack(list(self.source(rng)))
        for ids in shuffled_batches(len(clips), self.how["batch_size"], rng):
            shape = len(ids), clips.shape[1] - 1, self.n_random
            yield Batch(ids, x=clips[ids], noise=rng.standard_normal(shape, np.float32))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        frames, divergence = self.module(batch["x"], batch["noise"])
        error = (frames - batch["x"][:, 1:]).square().flatten(2).mean(2).sum(1).mean()
        random_kl = divergence.sum(1).mean()
        return {"loss": error + self.beta * random_kl, "error": error.detach(), "random_kl": random_kl.detach()}

    def identity(self) -> dict[str, str | int]:
        return {"loss": f"svg, beta {self.beta:g}", "batch_size": self.how["batch_size"]}


class SVG:
    """Learns from a source of clips in [0, 1], as `SRVP` does: in the same loop, with the same limits.

    `codec` is a value of `timelike.forecast.codecs` or one of SRVP's words; "auto" is SRVP's own for these frames, and
    the sizes are SRVP's. beta is the authors', for errors that are means over pixels.
    """

    history_: History
    network_: SVGNetwork

    def __init__(
        self,
        *,
        codec: Any = "auto",
        n_code: int = 64,
        n_random: int = 8,
        hidden: int = 128,
        beta: float = 1e-4,
        batch_size: int = 32,
        learning_rate: float = 2e-3,
        max_steps: int = 1000,
        max_time: float | None = None,
        checkpoint: Path | None = None,
        random_state: int = 0,
    ) -> None:
        self.codec, self.beta, self.max_steps, self.max_time = codec, beta, max_steps, max_time
        self.sizes = {"n_code": n_code, "n_random": n_random, "hidden": hidden}
        self.how = {"batch_size": batch_size, "learning_rate": learning_rate}
        self.checkpoint, self.random_state = checkpoint, random_state

    def fit(self, source: Callable[[np.random.Generator], Any]) -> SVG:
        """Draw clips and learn every frame from those before it."""
        frame = np.stack(list(source(np.random.default_rng(self.random_state)))).shape[2:]
        with use_seed(self.random_state):
            self.network_ = SVGNetwork(frame, choose_codec(self.codec, frame), **self.sizes)
        objective = Evidence(self.network_, source, self.beta, self.how)
        limits: dict[str, Any] = {"max_steps": self.max_steps, "max_time": self.max_time, "schedule": OneCycle()}
        self.history_ = fit(
            objective, checkpoint=self.checkpoint, random_state=self.random_state, gradient_clip=1.0, **limits
        )
        self.network_.eval()
        return self

    def predict(
        self, past: NDArray[Any], horizon: int, *, n_samples: int = 1, random_state: int = 0
    ) -> NDArray[np.float32]:
        """Samples (sample, clip, horizon, *frame)."""
        generator = torch.Generator().manual_seed(random_state)
        known, rows = torch.from_numpy(np.asarray(past, np.float32)), max(1, AT_ONCE // int(np.prod(past.shape[1:])))
        with torch.no_grad():
            samples = [
                torch.cat([self.network_.sample(some, horizon, generator) for some in torch.split(known, rows)]).numpy()
                for _ in range(n_samples)
            ]
        return np.stack(samples)


def choose_codec(codec: Any, frame: tuple[int, ...]) -> Codec:
    """A codec as it is, or the one that a word of SRVP's stands for; "auto" is the default of SRVP itself."""
    option = tl.SRVP.codec.check(tl.SRVP().codec if codec == "auto" else codec, "codec")
    chosen: Codec = option.choose(frame) if isinstance(option, Auto) else option
    return chosen
