"""The verbs of a fitted SRVP: futures, evidence, states, reconstructions, swaps, and what lies between two."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...sequences import Sequences
from ...sequences.arguments import counted, whole
from ...sequences.sampling import RandomState
from ...train.trained import exact, torch_threads
from ..drawing import fingerprint
from ..latent import kind_of
from ..request import Futures, Request
from ..result import Forecast
from .elbo import Elbo
from .experimental import measured
from .looking import NUMBERS, Looking
from .network import Content, Gaussian, SRVPNetwork
from .paths import drift_of, drifted, heard_of, last_of, lasting, repeated, starts_of, walked, walked_ahead


class Inferred(NamedTuple):
    """What is inferred from the last frames of pasts, before anything is drawn."""

    content: Content
    first: Gaussian
    random: Gaussian | None
    heard: Tensor | None = None
    drift: Gaussian | None = None


class Answering(Looking):
    """The verbs of SRVP."""

    @torch_threads()
    def _continued(self, past: Sequences, request: Request) -> Futures:
        return Futures(None, self._futures_of(past, past, request))

    def swap(
        self,
        content_of: Any,
        dynamics_of: Any,
        horizon: int,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Futures with the content of some pasts and the motion of others, one by one.

        Both are sequences like the pasts of `predict`, as many of the one as of the other.
        """
        self._require_fitted()
        if self.n_content == 0:
            raise ValueError("swap is about the content, and n_content=0 leaves it out: fit with n_content=50, say")
        contents, dynamics = self._two(content_of, dynamics_of)
        request = self._request(dynamics, horizon, n_samples, frames_per_step, substeps, None, random_state)
        with torch_threads():
            samples = self.cells_.whole(self._futures_of(contents, dynamics, request))
        return self._forecast(dynamics, request, None, samples)

    @torch_threads()
    def elbo(self, X: Any, *, n_samples: int = 1, random_state: RandomState = None) -> Elbo:
        """The evidence lower bound of whole sequences, by the mean of `n_samples` draws from the posterior."""
        sequences, count = self._long_enough(X), whole(n_samples, "n_samples", 1)
        seed = int(self._drawing(random_state).integers(2**62))
        network, found = exact(self.network_), []
        units = 0.0 if self.squashed_ else float(np.log(self._scales()).sum())
        there = torch.from_numpy(self.cells_.there) if self._pictures() and self.cells_.masked else None
        for one in self._one_by_one(sequences):
            x = self._frames_of(one)
            codes, content = self._looked(network, x)
            # a generator of its own: threads share torch's, and what the caller draws is not moved
            generator = torch.Generator().manual_seed(seed ^ fingerprint(x[0].numpy()))
            undone = self._undoing() if self.squashed_ else None
            known = there, undone, 1.0, generator
            with torch.no_grad():
                draws = [measured(network, x, codes, content, *known)[0] for _ in range(count)]
            parts = [torch.stack([getattr(draw, name) for draw in draws]).mean() for name in Elbo.__annotations__]
            found.append([float(part) for part in parts] + [x.shape[1] * units])
        table = np.array(found)
        return Elbo(
            elbo=table[:, 0] - table[:, 4], likelihood=table[:, 1] - table[:, 4], first=table[:, 2], random=table[:, 3]
        )

    @torch_threads()
    def states(self, X: Any) -> Sequences:
        """The state at every time, as sequences of (n_state,): the means of what is inferred from the frames."""
        sequences, network = self._long_enough(X), exact(self.network_)
        found = [
            self._mean_states(network, self._looked(network, self._frames_of(one))[0])
            for one in self._one_by_one(sequences)
        ]
        return sequences._with_values(np.concatenate([states[0].numpy() for states in found]).astype(np.float32))

    @torch_threads()
    def events(self, X: Any) -> list[NDArray[np.float64]]:
        """When z was drawn anew in each sequence, in frames since its first, by the means of what is inferred.

        Only with `delays=True` (experimental): otherwise it is drawn at every frame.
        """
        sequences, network, found = self._long_enough(X), exact(self.network_), []
        for one in self._one_by_one(sequences):
            codes, _ = self._looked(network, self._frames_of(one))
            with torch.no_grad():
                found.append(starts_of(network, codes))
        return found

    @torch_threads()
    def encode(self, X: Any) -> NDArray[np.float32]:
        """Content and last state of every sequence, (item, n_content + n_state)."""
        sequences, network, found = self._long_enough(X), exact(self.network_), []
        for one in self._one_by_one(sequences):
            codes, content = self._looked(network, self._frames_of(one))
            parts = last_of(lasting(network, content, codes))
            found.append(torch.cat([*parts, self._mean_states(network, codes)[:, -1]], dim=1).numpy())
        return np.asarray(np.concatenate(found), np.float32)

    @torch_threads()
    def reconstruct(self, X: Any) -> Sequences:
        """Every sequence again, drawn from its content and the states that are inferred from its frames."""
        sequences, network, found = self._long_enough(X), exact(self.network_), []
        for one in self._one_by_one(sequences):
            codes, content = self._looked(network, self._frames_of(one))
            content, states = lasting(network, content, codes), self._mean_states(network, codes)
            found.append(self._drawn(network, content, states, kind_of(sequences))[0])
        return self.cells_.frames(sequences)._with_values(self.cells_.whole(np.concatenate(found)))

    @torch_threads()
    def interpolate(self, a: Any, b: Any, steps: int = 8) -> Sequences:
        """`steps` sequences from a to b: contents, first states and random steps on straight lines between theirs.

        a and b are single sequences of one length, such as `X[0]` or `X[:1]`; the first and the last of what comes
        are their reconstructions (fig. 4.10 of the thesis).
        """
        self._require_fitted()
        count, network = whole(steps, "steps", 2), exact(self.network_)
        ends = [self._long_enough(self._alone(one), name=name) for one, name in ((a, "a"), (b, "b"))]
        if any(len(end) != 1 for end in ends) or ends[0].lengths[0] != ends[1].lengths[0]:
            raise ValueError(
                f"a holds {counted(len(ends[0]), 'sequence')} of {ends[0].lengths[0]} steps and b {len(ends[1])} of "
                f"{ends[1].lengths[0]}: expected one each, of one length; crop the longer one"
            )
        share = torch.linspace(0, 1, count, dtype=torch.float64)
        with torch.no_grad():
            sides = [self._looked(network, self._frames_of(end)) for end in ends]
            states = self._states_between(network, [codes for codes, _ in sides], share)
            one, other = (lasting(network, content, codes) for codes, content in sides)
            code = None
            if one.code is not None and other.code is not None:
                code = _between(one.code, other.code, share)
            skips = [_between(*pair, share) for pair in zip(one.skips, other.skips, strict=True)]
            rows = self._drawn(network, Content(code, skips), states, kind_of(ends[0]))
        return Sequences(self.cells_.whole(rows), channel_names=self.channel_names_)

    def _states_between(self, network: SRVPNetwork, codes: list[Tensor], share: Tensor) -> Tensor:
        """States of which the first, and what is random or was heard, lie on the lines between two."""
        firsts, heard = ([network.state_of(side).mean for side in codes], [heard_of(network, side) for side in codes])
        y, randoms, z = _between(firsts[0], firsts[1], share), [network.random_of(side) for side in codes], None
        if heard[0] is not None and heard[1] is not None:
            return walked(network, y, _between(heard[0], heard[1], share))
        if randoms[0] is not None and randoms[1] is not None:
            z = _between(randoms[0].mean, randoms[1].mean, share)
        return self._moved(network, y, z, codes[0].shape[1])

    # --- parts -------------------------------------------------------------------------------------------------------

    def _refuse_request(self, request: Request) -> None:
        super()._refuse_request(request)
        network, parts = self.network_, request.substeps or self.network_.substeps
        if network.delays is not None and request.substeps is None:
            return  # a state is defined at any time
        if network.delays is not None:
            raise ValueError(f"substeps={parts}: with delays=True the delays are the steps, expected None")
        if network.motion != "residual" and (request.frames_per_step > 1 or parts > 1):
            raise ValueError(
                f"frames_per_step={request.frames_per_step}, substeps={parts}: motion={network.motion!r} moves a whole "
                "step at a time, expected 1; motion='residual' can do so"
            )
        if parts % request.frames_per_step:
            raise ValueError(
                f"frames_per_step={request.frames_per_step} does not divide the {parts} substeps of a step: give "
                f"substeps={request.frames_per_step * parts}"
            )

    def _futures_of(self, contents: Sequences, dynamics: Sequences, request: Request) -> NDArray[Any]:
        """Samples in rows of cells, (sample, item, frame, cell), a few items at a time."""
        size = self._conditioning()
        rngs = self._generators(dynamics, request)
        n_frames, n_cells = request.n_frames, self.cells_.n_cells
        found = np.empty((request.n_samples, len(dynamics), n_frames, n_cells), kind_of(dynamics))
        n_items = max(1, NUMBERS // (size * self.cells_.there.size))
        for start in range(0, len(dynamics), n_items):
            rows = slice(start, start + n_items)
            moved = self._frames_of(dynamics[rows].crop(-size))
            looked = moved if contents is dynamics else self._frames_of(contents[rows].crop(-size))
            inferred = self._inferred(looked, moved)
            self._fill(found[:, rows], inferred, rngs[rows], request)
        return found

    def _inferred(self, looked: Tensor, moved: Tensor) -> Inferred:
        network = exact(self.network_)
        codes, content = self._looked(network, looked)
        with torch.no_grad():
            drift = drift_of(network, codes)
            if moved is not looked:
                codes = network.encoded(moved)[0]
            return Inferred(content, network.state_of(codes), network.random_of(codes), heard_of(network, codes), drift)

    def _fill(
        self, found: NDArray[Any], inferred: Inferred, draws: list[np.random.Generator], request: Request
    ) -> None:
        """Samples of a few items: what is encoded serves all of them, what is drawn is drawn for each."""
        network, n_items = exact(self.network_), found.shape[1]
        per_sample = n_items * request.n_frames * self.cells_.there.size
        at_once = max(1, NUMBERS // per_sample)
        steps = self._conditioning() - 1 + request.horizon
        for begin in range(0, request.n_samples, at_once):
            count = min(at_once, request.n_samples - begin)
            events = steps if network.delays is None else network.delays.most(steps)
            drift = steps * network.n_content if network.drifting is not None else 0
            first, later, slow = _normal(draws, count, [network.n_state, events * network.n_random, drift])
            z = later.reshape(len(first), events, -1) if network.n_random else None
            states, content = self._sampled(network, inferred, first, z, request), repeated(inferred.content, count)
            if inferred.drift is not None:
                content = drifted(network, content, inferred.drift, slow.reshape(len(first), steps, -1), request)
            frames = self._drawn(network, content, states, found.dtype)
            found[begin : begin + count] = frames.reshape(count, n_items, request.n_frames, -1)

    def _sampled(
        self, network: SRVPNetwork, inferred: Inferred, first: Tensor, later: Tensor | None, request: Request
    ) -> Tensor:
        """States (sample × item, frame, size): through the past at the step of training, then by the prior."""
        count, past = len(first) // len(inferred.first.mean), self._conditioning() - 1
        parts = request.substeps or network.substeps
        with torch.no_grad():
            y = Gaussian(*(part.repeat(count, 1) for part in inferred.first)).drawn(first)
            if inferred.heard is not None and later is not None:
                return walked_ahead(network, y, inferred.heard, later, request)
            for step in range(past):
                z = None
                if inferred.random is not None and later is not None:
                    z = Gaussian(*(part[:, step].repeat(count, 1) for part in inferred.random)).drawn(later[:, step])
                y = network.stepped(y, z, network.substeps)[0][-1]
            states = []
            for step in range(request.horizon):
                prior, z = network.prior_of(y), None
                if prior is not None and later is not None:
                    z = prior.drawn(later[:, past + step])
                inner = network.stepped(y, z, parts, request.frames_per_step)[0]
                states += inner
                y = inner[-1]
        return torch.stack(states, dim=1)


def _normal(draws: list[np.random.Generator], count: int, sizes: list[int]) -> tuple[Tensor, ...]:
    """Noise of `count` samples of each item, (sample × item, size) for each size.

    Every sample has generators of its own, one for each size: neither how many are drawn at once nor a longer horizon
    changes what was drawn before.
    """
    seeds = np.stack([draw.integers(2**63, size=count) for draw in draws], axis=1).ravel()
    found = [np.empty((len(seeds), size)) for size in sizes]
    for row, seed in enumerate(seeds):
        for kind, noise in enumerate(found):
            if noise.shape[1]:
                bits = np.random.Philox(key=np.array([seed, kind], np.uint64))
                np.random.Generator(bits).standard_normal(out=noise[row])
    return tuple(torch.from_numpy(noise) for noise in found)


def _between(one: Tensor, other: Tensor, share: Tensor) -> Tensor:
    weight = share.reshape(-1, *[1] * (one.ndim - 1))
    return one * (1 - weight) + other * weight
