"""Experimental SRVP: a network whose steps have delays or whose content drifts, its bound, and Separation's terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import noise_generator, windows_of
from .delays import Delays
from .drifting import Drifting
from .network import Content, SRVPNetwork, noise
from .objective import Bound, Evidence, bound_of, likelihood
from .paths import heard_of


class Further(NamedTuple):
    """Weights of what SRVP does not have: λ₁ and λ₂ of eq. 8.7, and Separation's two terms; 0 leaves one out."""

    haste: float = 0.0
    power: float = 1.0
    invariance: float = 0.0
    autoencoding: float = 0.0


def hastes(value: Any, name: str) -> tuple[float, float]:
    """λ₁ and λ₂ of eq. 8.7."""
    numbers = isinstance(value, tuple | list) and all(isinstance(one, int | float) for one in value)
    if not numbers or len(value) != 2 or not (0 <= value[0] < math.inf and 0 < value[1] < math.inf):
        raise ValueError(f"{name}={value!r}: expected a weight of at least 0 and a power above 0, such as (1.0, 1.0)")
    return float(value[0]), float(value[1])


def refuse_together(model: Any) -> None:
    """An error where options of an SRVP exclude each other."""
    if model.delays and (model.n_random == 0 or model.motion != "residual" or model.substeps > 1):
        raise ValueError(
            f"delays=True with n_random={model.n_random}, motion={model.motion!r}, substeps={model.substeps}: expected "
            "n_random of at least 1, motion='residual' and substeps=1, as z decides how long a step lasts"
        )
    for name in ("drift", "invariance", "autoencoding"):
        value = getattr(model, name)
        if value and model.n_content == 0:
            raise ValueError(f"{name}={value:g} is about the content, and n_content=0 leaves it out: use {name}=0")
        if value and name != "drift" and model.drift:
            raise ValueError(
                f"drift={model.drift:g} lets the content change, and {name}={value:g} holds it still: set one of them "
                "to 0"
            )


class ExperimentalNetwork(SRVPNetwork):
    """An `SRVPNetwork` that draws z after learned delays (`delays`), or whose content changes slowly (`drift`).

    `longest` is the longest delay, in frames; unlimited unless given. Without either option it is an `SRVPNetwork`,
    weight by weight.
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        delays: bool = False,
        drift: float = 0.0,
        longest: float = math.inf,
        **given: Any,
    ) -> None:
        super().__init__(frame, **given)
        if delays:
            assert self.filter is not None
            n_heard, hidden = self.filter.hidden_size, given.get("motion_hidden", 512)
            self.delays = Delays(self.n_state, self.n_random, n_heard, hidden, longest)
            self.infer_random = None  # q knows the state too, and is in the delays
        if drift:
            n_code, hidden = given.get("n_code", 128), given.get("hidden", 256)
            self.drifting = Drifting(n_code, self.n_content, hidden, drift)

    def drawn(self, content: Content, states: Tensor) -> Tensor:
        """Frames of states; a content that differs from frame to frame is (batch, time, size)."""
        if content.code is None or content.code.ndim == 2:
            return super().drawn(content, states)
        return super().drawn(Content(None, content.skips), torch.cat([content.code, states], dim=2))


def measured(
    network: SRVPNetwork,
    x: Tensor,
    codes: Tensor,
    content: Content,
    there: Tensor | None = None,
    undone: tuple[Tensor, Tensor] | None = None,
    power: float = 1.0,
    generator: torch.Generator | None = None,
) -> tuple[Bound, Tensor]:
    """The bound of frames, by one draw, and how hasty it is (batch,): Σ 1/τ^power over the delays.

    What the drift of the content costs is in `random`. With delays the bound is eq. 8.6.
    """
    cost = haste = x.new_zeros(len(x))
    if network.drifting is not None:
        u = network.drifting.inferred(codes)
        content = network.drifting.path(content, u.drawn(noise(u.mean.shape, x, generator)))
        cost = u.from_standard().sum(1)
    heard = heard_of(network, codes)
    if network.delays is None or heard is None:
        found = bound_of(network, x, codes, content, there, undone, generator)
    else:
        first, end = network.state_of(codes), x.shape[1] - 1
        y = first.drawn(noise(first.mean.shape, x, generator))
        drawn = noise((len(x), network.delays.most(end), network.n_random), x, generator)
        times = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        walk = network.delays.walked(network, y, heard, times, drawn, power)
        frames = network.drawn(content, walk.states)
        likely = likelihood(frames, x, network.observed, there, undone)
        found, haste = Bound(likely, first.from_standard(), walk.divergence, walk.length), walk.haste
    return found._replace(random=found.random + cost), haste


class ExperimentalEvidence(Evidence):
    """The loss of an experimental SRVP: that of SRVP, the haste of delays, and terms of Separation in nats.

    `invariance` weighs ½‖w − w'‖², where w is made of `n_seen` frames drawn from the first window of a chunk and w' of
    its last `n_seen` frames: d/2 times eq. 5.14, whose 1/d has no place beside sums of nats. `autoencoding` weighs
    −log p(x) of the first frame of a window drawn at random, given the mean state of that window and w: m/(2ν) times
    eq. 5.12, and the constant of the normal density. Eq. 5.15, the small first state, has no term of its own: ½‖y‖² is
    a part of the divergence of y_1 from N(0, I). With either term, and where the content drifts, w is made of frames of
    the first window only.
    """

    def __init__(self, *given: Any, further: Further, **more: Any) -> None:
        super().__init__(*given, **more)
        self.further = further
        self.apart = bool(further.invariance or further.autoencoding)
        if self.apart or self.module.drifting is not None:
            self.n_seen = min(self.n_seen, self.module.conditioning)

    def _drawn(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        window = self.module.conditioning
        found = super()._drawn(n_items, rng)
        if self.apart or self.module.drifting is not None:
            rows = rng.permuted(np.tile(np.arange(window), (n_items, 1)), axis=1)
            found["chosen"] = np.ascontiguousarray(rows[:, : self.n_seen])
        return found | {"at": rng.integers(0, self.length - window + 1, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and its parts for the history."""
        x, weights = batch["x"], self.further
        codes, content, seen = self._looked(batch)
        known = self.there, self.undone, weights.power, noise_generator(batch)
        found, haste = measured(self.module, x, codes, content, *known)
        means = {name: part.mean() for name, part in found._asdict().items()}
        loss = means["first"] + self.beta * means["random"] - means["likelihood"] + self.stillness * means["length"]
        more: dict[str, Tensor] = {}
        if self.module.delays is not None:
            more["haste"] = haste.mean()
        if weights.invariance:
            more["invariance"] = self._changed(codes, content, seen, batch["skip"])
        if weights.autoencoding:
            more["autoencoding"] = self._autoencoded(x, codes, content, batch["at"])
        for name, term in more.items():
            loss = loss + getattr(weights, name) * term
        return {"loss": loss, **{name: part.detach() for name, part in (means | more).items()}}

    def bound(self, batch: Batch) -> Bound:
        """The bound of every chunk, by one draw from the posterior."""
        codes, content, _ = self._looked(batch)
        generator = noise_generator(batch)
        return measured(self.module, batch["x"], codes, content, self.there, self.undone, generator=generator)[0]

    def _looked(self, batch: Batch) -> tuple[Tensor, Content, list[Tensor]]:
        codes, seen = self.module.encoded(batch["x"])
        return codes, self.module.content_of(codes, batch["chosen"], seen, batch["skip"]), seen

    def _changed(self, codes: Tensor, content: Content, seen: list[Tensor], skip: Tensor) -> Tensor:
        """½‖w − w'‖² of the first and the last window; skips, which are of one frame anyway, are left out."""
        last = torch.arange(self.length - self.n_seen, self.length, device=codes.device).expand(len(codes), -1)
        other = self.module.content_of(codes, last, seen, skip)
        assert content.code is not None
        assert other.code is not None
        return (content.code - other.code).square().sum(1).mean() / 2

    def _autoencoded(self, x: Tensor, codes: Tensor, content: Content, at: Tensor) -> Tensor:
        state = self.module.state_of(windows_of(codes, at, self.module.conditioning)).mean
        drawn = self.module.drawn(content, state[:, None])
        return -likelihood(drawn, windows_of(x, at, 1), self.module.observed, self.there, self.undone).mean()
