"""`DriftStream`: takes samples one by one, cuts windows without overlap, and tests every few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.parameters import check_int
from ...core.threads import with_object_lock
from ...core.validation.arrays import validate_array
from ...sequences import Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .estimator import Drift
    from .report import DriftUpdate


class DriftStream:
    """Takes one sample at a time; every `window` samples are a sequence, every `batch_size` sequences an `update`.

    Windows are exchangeable only if they are longer than the memory of the signal: windows of seconds of a signal that
    varies over minutes look like drift.
    """

    def __init__(self, drift: Drift, window: int, batch_size: int) -> None:
        if drift.unit_kind_ == "groups":
            raise ValueError(
                "the reference has groups, and windows of a stream have none: use Drift().fit(reference, groups=False) "
                "if single windows are exchangeable, or update(batch, groups=...)"
            )
        if drift.pool_.items.times is not None:
            raise ValueError("the reference has times, and samples of a stream have none: use replace(times=None)")
        self.drift = drift
        self.window, self.batch_size = check_int(window, "window", 1), check_int(batch_size, "batch_size", 1)
        frame = drift.frame_
        self._buffer = np.empty((self.window * self.batch_size, *frame))
        self._n_buffered = 0
        self.n_samples = 0

    @with_object_lock
    def push(self, sample: Any) -> DriftUpdate | None:
        """Add one sample, a frame, or a number if there is one channel; returns an update if it completes a batch.

        A batch that is rejected, because a value is missing, is dropped, and the next one begins.
        """
        self._buffer[self._n_buffered] = self._validate_frame(sample)
        self._n_buffered += 1
        self.n_samples += 1
        if self._n_buffered < len(self._buffer):
            return None
        self._n_buffered = 0
        windows = self._buffer.reshape(self.batch_size, self.window, *self._buffer.shape[1:])
        when = f"samples {self.n_samples - len(self._buffer)} to {self.n_samples}"
        return self.drift.update(Sequences(windows.copy()), groups=False, when=when)

    def _validate_frame(self, sample: Any) -> NDArray[np.float64]:
        frame = validate_array(sample, "sample").astype(np.float64)
        frame = frame.reshape(1) if frame.ndim == 0 else frame
        if frame.shape != self.drift.frame_:
            raise ValueError(f"sample has shape {frame.shape}: the reference has frames {self.drift.frame_}")
        if np.isinf(frame).any():
            raise ValueError(f"sample={frame.tolist()} is infinite: leave it out, or give nan where a value is missing")
        return frame
