"""DLinear (Zeng et al., "Are transformers effective for time series forecasting?", AAAI 2023), a peer of our own.

A moving mean and what is left of it, each mapped linearly from the lookback to the whole horizon, learned by Adam; the
weights that were best on the last fifth of the training windows are kept.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from timelike.core.parameters import store_parameters
from timelike.forecast import Forecaster
from timelike.forecast.base import ForecastRequest, Futures
from timelike.sequences import Sequences

KERNEL, BATCH, RATE, LOOK = 25, 64, 1e-3, 50  # steps of the moving mean; chunks of a step; Adam's; steps until a look


class Network(nn.Module):
    """(batch, lookback) to (batch, horizon)."""

    def __init__(self, lookback: int, horizon: int) -> None:
        super().__init__()
        self.trend, self.rest = nn.Linear(lookback, horizon), nn.Linear(lookback, horizon)
        for layer in (self.trend, self.rest):
            nn.init.constant_(layer.weight, 1 / lookback)  # as the authors have it

    def forward(self, x: Tensor) -> Tensor:
        ends = [x[:, :1].expand(-1, (KERNEL - 1) // 2), x, x[:, -1:].expand(-1, (KERNEL - 1) // 2)]
        trend = nn.functional.avg_pool1d(torch.cat(ends, dim=1)[:, None], KERNEL, 1)[:, 0]
        found: Tensor = self.trend(trend) + self.rest(x - trend)
        return found


class DLinear(Forecaster):
    """For one channel and one horizon, trained until processor seconds or steps are over, whichever is first."""

    def __init__(
        self, *, lookback: int, horizon: int, seconds: float, steps: int = 100_000, random_state: int = 0
    ) -> None:
        store_parameters(self, locals())

    def _min_past_steps(self) -> int:
        return int(self.lookback)

    def _fit_sequences(self, sequences: Sequences, source: Any = None) -> None:
        rows = torch.from_numpy(np.asarray(self.cells_.target_rows(sequences).values[:, 0], np.float32))
        self.centre_, self.spread_ = float(rows.mean()), float(rows.std()) or 1.0
        windows = ((rows - self.centre_) / self.spread_).unfold(0, self.lookback + self.horizon, 1)
        count = max(1, len(windows) // 5)
        # windows between both overlap with those by which weights are judged
        learned, judged = windows[: len(windows) - count - self.horizon + 1], windows[-count:]
        torch.manual_seed(self.random_state)
        self.network_ = Network(self.lookback, self.horizon)
        self.steps_ = self._trained(learned, judged)

    def _trained(self, learned: Tensor, judged: Tensor) -> int:
        network, end = self.network_, time.process_time() + self.seconds
        adam = torch.optim.Adam(network.parameters(), lr=RATE)
        best: tuple[float, dict[str, Any]] = (np.inf, {})
        taken = 0
        while taken < self.steps and (time.process_time() < end or not best[1]):
            rows = torch.randint(len(learned), (BATCH,))
            loss = self._error(learned[rows])
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            taken += 1
            if taken % LOOK == 0 or taken == self.steps:
                with torch.no_grad():
                    error = float(self._error(judged))
                if error < best[0]:
                    best = error, {name: value.clone() for name, value in network.state_dict().items()}
        network.load_state_dict(best[1])
        return taken

    def _error(self, windows: Tensor) -> Tensor:
        error: Tensor = self.network_(windows[:, : self.lookback]) - windows[:, self.lookback :]
        return error.square().mean()

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        rows = np.asarray(self.cells_.target_rows(past).values[:, 0], np.float32)
        seen = np.stack([rows[end - self.lookback : end] for end in past.offsets[1:]])
        with torch.no_grad():
            found = self.network_((torch.from_numpy(seen) - self.centre_) / self.spread_)
        return Futures((found.numpy() * self.spread_ + self.centre_)[:, : request.horizon, None])
