"""The inference part of SRVP: codes, contents and mean states of sequences, and frames decoded from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...sequences import Sequences
from ..codecs.content import Content
from ..codecs.convolutions import ConvDecoder
from ..latent_forecaster import LatentForecaster
from .network import SRVPNetwork
from .state_paths import compute_lstm_states, mean_delayed_states, slice_content

BLOCK_NUMBERS = 1 << 22  # of a piece that is drawn at once


class SRVPInference(LatentForecaster):
    """Parts of the verbs of SRVP."""

    network_: SRVPNetwork
    n_content_frames: Any

    def _iter_items(self, sequences: Sequences) -> Iterator[Sequences]:
        for i in range(len(sequences)):
            yield sequences[i : i + 1]

    def _cell_scales(self) -> NDArray[np.float64]:
        scale = self.scaler_.scale
        return scale[self.cells_.valid_mask] if self._uses_images() else scale

    def _double_frames(self, sequences: Sequences) -> Tensor:
        """Frames of sequences of one length, (item, time, *frame), in double precision."""
        frames = self._pack_frames(sequences, "X").frames.double()
        return frames.reshape(len(sequences), -1, *frames.shape[1:])

    def _encode_frames(self, network: SRVPNetwork, x: Tensor) -> tuple[Tensor, Content]:
        """Codes of all frames, and the content of the last of them; of the first, where it drifts from there."""
        with torch.no_grad():
            codes, seen = network.encode_frames(x)
            begin = x.shape[1] - self._n_usable_frames() if network.content_drift is None else 0
            chosen = torch.arange(begin, begin + self._n_usable_frames()).expand(len(x), -1)
            return codes, network.encode_content(codes, chosen, seen, torch.full((len(x),), x.shape[1] - 1))

    def _n_usable_frames(self) -> int:
        return min(int(self.n_content_frames), self._min_past_steps())

    def _mean_states(self, network: SRVPNetwork, codes: Tensor) -> Tensor:
        with torch.no_grad():
            heard, random = compute_lstm_states(network, codes), network.random_posterior(codes)
            if heard is not None:
                return mean_delayed_states(network, network.first_state_posterior(codes).mean, heard)
            z = None if random is None else random.mean
            return self._advance_states(network, network.first_state_posterior(codes).mean, z, codes.shape[1])

    @staticmethod
    def _advance_states(network: SRVPNetwork, y: Tensor, z: Tensor | None, n_frames: int) -> Tensor:
        """States from the first on, with given random steps, at the step of training."""
        states = [y]
        for step in range(n_frames - 1):
            y = network.advance_step(y, None if z is None else z[:, step], network.substeps)[0][-1]
            states.append(y)
        return torch.stack(states, dim=1)

    def _decode_rows(self, network: SRVPNetwork, content: Content, states: Tensor, kind: Any) -> NDArray[Any]:
        """Frames in rows of cells, (row, time, cell), in a dtype, some times at once.

        Convolutions draw in single precision what is to be given in it: half of the time, and independent of the batch,
        as `ConvDecoder` has equally many pictures at once. What comes before and adds up over time stays in double.
        """
        if isinstance(network.decoder, ConvDecoder) and kind == np.float32:
            network = self.network_
            content, states = content.to(torch.float32), states.float()
        size = max(1, BLOCK_NUMBERS // (len(states) * self.cells_.valid_mask.size))
        found = []
        with torch.no_grad():
            for start in range(0, states.shape[1], size):
                frames = network.decode(slice_content(content, start, start + size), states[:, start : start + size])
                if not bool(torch.isfinite(frames).all()):
                    raise ArithmeticError(
                        f"a forecast is not finite before step {start + size}: the learned steps have blown up there; "
                        "ask for a shorter horizon, or train for longer or on longer chunks"
                    )
                found.append(self._to_data_units(frames.numpy(), kind))
        return np.concatenate(found, axis=1)
