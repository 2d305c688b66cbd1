"""Looking, the part of SRVP that encodes sequences: codes, contents, mean states, and frames drawn of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...sequences import Sequences
from ..codecs.convolutional import Draw
from ..latent import LatentForecaster
from .network import Content, SRVPNetwork
from .paths import during, heard_of, walked

NUMBERS = 1 << 22  # of a piece that is drawn at once


class Looking(LatentForecaster):
    """Parts of the verbs of SRVP."""

    network_: SRVPNetwork
    n_seen: Any

    def _one_by_one(self, sequences: Sequences) -> Iterator[Sequences]:
        for i in range(len(sequences)):
            yield sequences[i : i + 1]

    def _scales(self) -> NDArray[np.float64]:
        scale = self.moments_.scale
        return scale[self.cells_.there] if self._pictures() else scale

    def _frames_of(self, sequences: Sequences) -> Tensor:
        """Frames of sequences of one length, (item, time, *frame), in double precision."""
        frames = self._material(sequences, "X").frames.double()
        return frames.reshape(len(sequences), -1, *frames.shape[1:])

    def _looked(self, network: SRVPNetwork, x: Tensor) -> tuple[Tensor, Content]:
        """Codes of all frames, and the content of the last of them; of the first, where it drifts from there."""
        with torch.no_grad():
            codes, seen = network.encoded(x)
            begin = x.shape[1] - self._seen() if network.drifting is None else 0
            chosen = torch.arange(begin, begin + self._seen()).expand(len(x), -1)
            return codes, network.content_of(codes, chosen, seen, torch.full((len(x),), x.shape[1] - 1))

    def _seen(self) -> int:
        return min(int(self.n_seen), self._conditioning())

    def _mean_states(self, network: SRVPNetwork, codes: Tensor) -> Tensor:
        with torch.no_grad():
            heard, random = heard_of(network, codes), network.random_of(codes)
            if heard is not None:
                return walked(network, network.state_of(codes).mean, heard)
            z = None if random is None else random.mean
            return self._moved(network, network.state_of(codes).mean, z, codes.shape[1])

    @staticmethod
    def _moved(network: SRVPNetwork, y: Tensor, z: Tensor | None, n_frames: int) -> Tensor:
        """States from the first on, with given random steps, at the step of training."""
        states = [y]
        for step in range(n_frames - 1):
            y = network.stepped(y, None if z is None else z[:, step], network.substeps)[0][-1]
            states.append(y)
        return torch.stack(states, dim=1)

    def _drawn(self, network: SRVPNetwork, content: Content, states: Tensor, kind: Any) -> NDArray[Any]:
        """Frames in rows of cells, (row, time, cell), in a dtype, some times at once.

        Convolutions draw in single precision what is to be given in it: half of the time, and the same in any company,
        as `Draw` has equally many pictures at once. What comes before and adds up over time stays in double.
        """
        if isinstance(network.draw, Draw) and kind == np.float32:
            network = self.network_
            content, states = content.to(torch.float32), states.float()
        size = max(1, NUMBERS // (len(states) * self.cells_.there.size))
        found = []
        with torch.no_grad():
            for start in range(0, states.shape[1], size):
                frames = network.drawn(during(content, start, start + size), states[:, start : start + size])
                if not bool(torch.isfinite(frames).all()):
                    raise ArithmeticError(
                        f"a forecast is not finite before step {start + size}: the learned steps have blown up there; "
                        "ask for a shorter horizon, or train for longer or on longer chunks"
                    )
                found.append(self._undone(frames.numpy(), kind))
        return np.concatenate(found, axis=1)
