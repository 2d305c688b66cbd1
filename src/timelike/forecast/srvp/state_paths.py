"""States and contents over time, inferred and drawn, where steps have delays or the content drifts (experimental)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..codecs.content import Content
from ..request import ForecastRequest
from .network import DiagonalGaussian, SRVPNetwork


def content_over_time(network: SRVPNetwork, content: Content, codes: Tensor) -> Content:
    """The content of every frame where it drifts, by the means of what is inferred; otherwise as it is."""
    if network.content_drift is None:
        return content
    with torch.no_grad():
        return network.content_drift.content_path(content, network.content_drift.posterior(codes).mean)


def last_content(content: Content) -> list[Tensor]:
    """The content of the last frame, (batch, size), if there is one."""
    if content.code is None:
        return []
    return [content.code if content.code.ndim == 2 else content.code[:, -1]]


def slice_content(content: Content, begin: int, end: int) -> Content:
    """The content of some frames."""
    if content.code is None or content.code.ndim == 2:
        return content
    return content._replace(code=content.code[:, begin:end])


def compute_lstm_states(network: SRVPNetwork, codes: Tensor) -> Tensor | None:
    """What the LSTM has heard up to every frame (batch, time, size), where steps have delays."""
    if network.delays is None or network.lstm is None:
        return None
    heard: Tensor = network.lstm(codes)[0]
    return heard


def infer_drift(network: SRVPNetwork, codes: Tensor) -> DiagonalGaussian | None:
    """What is inferred of how the content of a past has drifted."""
    return None if network.content_drift is None else network.content_drift.posterior(codes)


def repeat_content(content: Content, count: int) -> Content:
    """A content (batch, …) for `count` samples, (sample × batch, …)."""
    code = None if content.code is None else content.code.repeat(count, 1)
    return Content(code, [one.repeat(count, 1, 1, 1) for one in content.skips])


def sample_content_drift(
    network: SRVPNetwork, content: Content, drift: DiagonalGaussian, noise: Tensor, request: ForecastRequest
) -> Content:
    """Contents of the frames ahead, for samples: through the past as inferred, then by the prior.

    `content` (sample × item, size) is that of the first frame, `noise` (sample × item, step, size) of all steps.
    """
    assert network.content_drift is not None
    past = drift.mean.shape[1]
    count = len(noise) // len(drift.mean)
    seen = DiagonalGaussian(*(part.repeat(count, 1, 1) for part in drift)).sample(noise[:, :past])
    return network.content_drift.extend_path(
        network.content_drift.content_path(content, seen), noise[:, past:], request.frames_per_step
    )


def mean_delayed_states(network: SRVPNetwork, y: Tensor, heard: Tensor) -> Tensor:
    """States at the frames that were heard, by means, with delays."""
    assert network.delays is not None
    times = torch.arange(heard.shape[1], dtype=y.dtype)
    return network.delays.sample_path(network, y, heard, times, None).states


def event_times(network: SRVPNetwork, codes: Tensor) -> NDArray[np.float64]:
    """When z is drawn in one sequence, by means: at the end of every delay, or at every frame."""
    heard = compute_lstm_states(network, codes)
    if network.delays is None or heard is None:
        return np.arange(codes.shape[1] - 1 if network.n_random else 0, dtype=np.float64)
    times = torch.arange(heard.shape[1], dtype=heard.dtype)
    walk = network.delays.sample_path(network, network.first_state_posterior(codes).mean, heard, times, None)
    return np.asarray(walk.starts[0].numpy(), np.float64)


def sample_delayed_states(
    network: SRVPNetwork, y: Tensor, heard: Tensor, noise: Tensor, request: ForecastRequest
) -> Tensor:
    """States of the frames ahead (sample × item, frame, size): z is inferred while frames are known, then drawn."""
    assert network.delays is not None
    count, past = len(y) // len(heard), heard.shape[1] - 1
    times = past + torch.arange(1, request.n_frames + 1, dtype=y.dtype) / request.frames_per_step
    return network.delays.sample_path(network, y, heard.repeat(count, 1, 1), times, noise).states
