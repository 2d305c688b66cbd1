"""Experimental SRVP: a network whose steps have delays or whose content drifts, its bound, and Separation's terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import gather_windows, noise_generator
from ..codecs.content import Content
from .content_drift import ContentDrift
from .delays import DelayNetwork
from .network import SRVPNetwork, standard_normal_noise
from .objective import EvidenceBound, SRVPObjective, compute_bound, log_likelihood
from .state_paths import compute_lstm_states


class ExperimentalWeights(NamedTuple):
    """Weights of what SRVP does not have: λ₁ and λ₂ of eq. 8.7, and Separation's two terms; 0 leaves one out."""

    delay_penalty: float = 0.0
    delay_power: float = 1.0
    invariance: float = 0.0
    autoencoding: float = 0.0


def check_delay_penalty(value: Any, name: str) -> tuple[float, float]:
    """λ₁ and λ₂ of eq. 8.7."""
    numbers = isinstance(value, tuple | list) and all(isinstance(one, int | float) for one in value)
    if not numbers or len(value) != 2 or not (0 <= value[0] < math.inf and 0 < value[1] < math.inf):
        raise ValueError(f"{name}={value!r}: expected a weight of at least 0 and a power above 0, such as (1.0, 1.0)")
    return float(value[0]), float(value[1])


def refuse_conflicting_options(model: Any) -> None:
    """An error where options of an SRVP exclude each other."""
    if model.delays and (model.n_random == 0 or model.motion != "residual" or model.substeps > 1):
        raise ValueError(
            f"delays=True with n_random={model.n_random}, motion={model.motion!r}, substeps={model.substeps}: expected "
            "n_random of at least 1, motion='residual' and substeps=1, as z decides how long a step lasts"
        )
    for name in ("drift", "invariance_weight", "autoencoding_weight"):
        value = getattr(model, name)
        if value and model.n_content == 0:
            raise ValueError(f"{name}={value:g} is about the content, and n_content=0 leaves it out: use {name}=0")
        if value and name != "drift" and model.drift:
            raise ValueError(
                f"drift={model.drift:g} lets the content change, and {name}={value:g} holds it still: set one of them "
                "to 0"
            )


class ExperimentalSRVPNetwork(SRVPNetwork):
    """An `SRVPNetwork` that draws z after learned delays (`delays`), or whose content changes slowly (`content_drift`).

    `max_delay` is the longest delay, in frames; unlimited unless given. Without either option it is an `SRVPNetwork`,
    weight by weight.
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        delays: bool = False,
        content_drift: float = 0.0,
        max_delay: float = math.inf,
        **given: Any,
    ) -> None:
        super().__init__(frame, **given)
        if delays:
            assert self.lstm is not None
            n_heard, hidden = self.lstm.hidden_size, given.get("motion_hidden", 512)
            self.delays = DelayNetwork(self.n_state, self.n_random, n_heard, hidden, max_delay)
            self.random_head = None  # q knows the state too, and is in the delays
        if content_drift:
            n_code, hidden = given.get("n_code", 128), given.get("hidden", 256)
            self.content_drift = ContentDrift(n_code, self.n_content, hidden, content_drift)

    def decode(self, content: Content, states: Tensor) -> Tensor:
        """Frames of states; a content that differs from frame to frame is (batch, time, size)."""
        if content.code is None or content.code.ndim == 2:
            return super().decode(content, states)
        return super().decode(Content(None, content.skips), torch.cat([content.code, states], dim=2))


def measure_bound(
    network: SRVPNetwork,
    x: Tensor,
    codes: Tensor,
    content: Content,
    there: Tensor | None = None,
    undone: tuple[Tensor, Tensor] | None = None,
    power: float = 1.0,
    generator: torch.Generator | None = None,
) -> tuple[EvidenceBound, Tensor]:
    """The bound of frames, by one draw, and how hasty it is (batch,): Σ 1/τ^power over the delays.

    What the drift of the content costs is in `random`. With delays the bound is eq. 8.6.
    """
    cost = haste = x.new_zeros(len(x))
    if network.content_drift is not None:
        u = network.content_drift.posterior(codes)
        content = network.content_drift.content_path(
            content, u.sample(standard_normal_noise(u.mean.shape, x, generator))
        )
        cost = u.kl_from_standard().sum(1)
    heard = compute_lstm_states(network, codes)
    if network.delays is None or heard is None:
        found = compute_bound(network, x, codes, content, there, undone, generator)
    else:
        first, end = network.first_state_posterior(codes), x.shape[1] - 1
        y = first.sample(standard_normal_noise(first.mean.shape, x, generator))
        drawn = standard_normal_noise((len(x), network.delays.max_events(end), network.n_random), x, generator)
        times = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        walk = network.delays.sample_path(network, y, heard, times, drawn, power)
        frames = network.decode(content, walk.states)
        likely = log_likelihood(frames, x, network.observation_std, there, undone)
        found, haste = EvidenceBound(likely, first.kl_from_standard(), walk.divergence, walk.length), walk.delay_penalty
    return found._replace(random_kl=found.random_kl + cost), haste


class ExperimentalSRVPObjective(SRVPObjective):
    """The loss of an experimental SRVP: that of SRVP, the penalty on short delays, and terms of Separation in nats.

    `invariance` weighs ½‖w − w'‖², where w is made of `n_content_frames` frames drawn from the first window of a chunk
    and w' of its last `n_content_frames` frames: d/2 times eq. 5.14, whose 1/d has no place beside sums of nats.
    `autoencoding` weighs −log p(x) of the first frame of a window drawn at random, given the mean state of that window
    and w: m/(2ν) times eq. 5.12, and the constant of the normal density. Eq. 5.15, the small first state, has no term
    of its own: ½‖y‖² is a part of the divergence of y_1 from N(0, I). With either term, and where the content drifts, w
    is made of frames of the first window only.
    """

    def __init__(self, *given: Any, extra_weights: ExperimentalWeights, **more: Any) -> None:
        super().__init__(*given, **more)
        self.extra_weights = extra_weights
        self.has_separation_terms = bool(extra_weights.invariance or extra_weights.autoencoding)
        if self.has_separation_terms or self.module.content_drift is not None:
            self.n_content_frames = min(self.n_content_frames, self.module.conditioning)

    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        window = self.module.conditioning
        found = super()._sample_extras(n_items, rng)
        if self.has_separation_terms or self.module.content_drift is not None:
            rows = rng.permuted(np.tile(np.arange(window), (n_items, 1)), axis=1)
            found["chosen"] = np.ascontiguousarray(rows[:, : self.n_content_frames])
        return found | {"at": rng.integers(0, self.length - window + 1, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and its parts for the history."""
        x, weights = batch["x"], self.extra_weights
        codes, content, seen = self._encode_batch(batch)
        known = self.valid_mask, self.scaler, weights.delay_power, noise_generator(batch)
        found, haste = measure_bound(self.module, x, codes, content, *known)
        means = {name: part.mean() for name, part in found._asdict().items()}
        loss = (
            means["first_kl"]
            + self.beta * means["random_kl"]
            - means["likelihood"]
            + self.motion_penalty * means["path_length"]
        )
        more: dict[str, Tensor] = {}
        if self.module.delays is not None:
            more["delay_penalty"] = haste.mean()
        if weights.invariance:
            more["invariance"] = self._content_change(codes, content, seen, batch["skip"])
        if weights.autoencoding:
            more["autoencoding"] = self._autoencoding_error(x, codes, content, batch["at"])
        for name, term in more.items():
            loss = loss + getattr(weights, name) * term
        return {"loss": loss, **{name: part.detach() for name, part in (means | more).items()}}

    def evidence_bound(self, batch: Batch) -> EvidenceBound:
        """The bound of every chunk, by one draw from the posterior."""
        codes, content, _ = self._encode_batch(batch)
        generator = noise_generator(batch)
        return measure_bound(
            self.module, batch["x"], codes, content, self.valid_mask, self.scaler, generator=generator
        )[0]

    def _encode_batch(self, batch: Batch) -> tuple[Tensor, Content, list[Tensor]]:
        codes, seen = self.module.encode_frames(batch["x"])
        return codes, self.module.encode_content(codes, batch["chosen"], seen, batch["skip"]), seen

    def _content_change(self, codes: Tensor, content: Content, seen: list[Tensor], skip: Tensor) -> Tensor:
        """½‖w − w'‖² of the first and the last window; skips, which are of one frame anyway, are left out."""
        last = torch.arange(self.length - self.n_content_frames, self.length, device=codes.device).expand(
            len(codes), -1
        )
        other = self.module.encode_content(codes, last, seen, skip)
        assert content.code is not None
        assert other.code is not None
        return (content.code - other.code).square().sum(1).mean() / 2

    def _autoencoding_error(self, x: Tensor, codes: Tensor, content: Content, at: Tensor) -> Tensor:
        state = self.module.first_state_posterior(gather_windows(codes, at, self.module.conditioning)).mean
        drawn = self.module.decode(content, state[:, None])
        return -log_likelihood(
            drawn, gather_windows(x, at, 1), self.module.observation_std, self.valid_mask, self.scaler
        ).mean()
