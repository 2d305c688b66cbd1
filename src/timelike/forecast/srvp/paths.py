"""States and contents over time, inferred and drawn, where steps have delays or the content drifts (experimental)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..request import Request
from .network import Content, Gaussian, SRVPNetwork


def lasting(network: SRVPNetwork, content: Content, codes: Tensor) -> Content:
    """The content of every frame where it drifts, by the means of what is inferred; otherwise as it is."""
    if network.drifting is None:
        return content
    with torch.no_grad():
        return network.drifting.path(content, network.drifting.inferred(codes).mean)


def last_of(content: Content) -> list[Tensor]:
    """The content of the last frame, (batch, size), if there is one."""
    if content.code is None:
        return []
    return [content.code if content.code.ndim == 2 else content.code[:, -1]]


def during(content: Content, begin: int, end: int) -> Content:
    """The content of some frames."""
    if content.code is None or content.code.ndim == 2:
        return content
    return content._replace(code=content.code[:, begin:end])


def heard_of(network: SRVPNetwork, codes: Tensor) -> Tensor | None:
    """What the LSTM has heard up to every frame (batch, time, size), where steps have delays."""
    if network.delays is None or network.filter is None:
        return None
    heard: Tensor = network.filter(codes)[0]
    return heard


def drift_of(network: SRVPNetwork, codes: Tensor) -> Gaussian | None:
    """What is inferred of how the content of a past has drifted."""
    return None if network.drifting is None else network.drifting.inferred(codes)


def repeated(content: Content, count: int) -> Content:
    """A content (batch, …) for `count` samples, (sample × batch, …)."""
    code = None if content.code is None else content.code.repeat(count, 1)
    return Content(code, [one.repeat(count, 1, 1, 1) for one in content.skips])


def drifted(network: SRVPNetwork, content: Content, drift: Gaussian, noise: Tensor, request: Request) -> Content:
    """Contents of the frames ahead, for samples: through the past as inferred, then by the prior.

    `content` (sample × item, size) is that of the first frame, `noise` (sample × item, step, size) of all steps.
    """
    assert network.drifting is not None
    past = drift.mean.shape[1]
    count = len(noise) // len(drift.mean)
    seen = Gaussian(*(part.repeat(count, 1, 1) for part in drift)).drawn(noise[:, :past])
    return network.drifting.ahead(network.drifting.path(content, seen), noise[:, past:], request.frames_per_step)


def walked(network: SRVPNetwork, y: Tensor, heard: Tensor) -> Tensor:
    """States at the frames that were heard, by means, with delays."""
    assert network.delays is not None
    times = torch.arange(heard.shape[1], dtype=y.dtype)
    return network.delays.walked(network, y, heard, times, None).states


def starts_of(network: SRVPNetwork, codes: Tensor) -> NDArray[np.float64]:
    """When z is drawn in one sequence, by means: at the end of every delay, or at every frame."""
    heard = heard_of(network, codes)
    if network.delays is None or heard is None:
        return np.arange(codes.shape[1] - 1 if network.n_random else 0, dtype=np.float64)
    times = torch.arange(heard.shape[1], dtype=heard.dtype)
    walk = network.delays.walked(network, network.state_of(codes).mean, heard, times, None)
    return np.asarray(walk.starts[0].numpy(), np.float64)


def walked_ahead(network: SRVPNetwork, y: Tensor, heard: Tensor, noise: Tensor, request: Request) -> Tensor:
    """States of the frames ahead (sample × item, frame, size): z is inferred while frames are known, then drawn."""
    assert network.delays is not None
    count, past = len(y) // len(heard), heard.shape[1] - 1
    times = past + torch.arange(1, request.n_frames + 1, dtype=y.dtype) / request.frames_per_step
    return network.delays.walked(network, y, heard.repeat(count, 1, 1), times, noise).states
