"""`swap_grid` and `latent_interpolation`: figures of swapped contents and motions, and of paths between two videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_count
from ..core.random import RandomState, check_random_state
from ..core.validation.arrays import count_axes
from ..score.forecasting import validate_truth
from ..sequences import Sequences
from ..sequences.validation import as_sequences
from .frame_images import clip_to_images, to_images
from .result import check_position

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_SHOWN_STEPS = 3  # steps per motion in a grid


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SwapGrid:
    """Futures with the contents of some pasts and the motions of others: see `swap_grid`.

    `futures` (content, motion, step, *frame) are the forecasts, `contents` and `motions` the pasts, `truth` (motion,
    step, *frame) the true futures of the motions, or the model's own forecast of them.
    """

    contents: Sequences
    motions: Sequences
    futures: NDArray[Any]
    truth: NDArray[Any]

    def __repr__(self) -> str:
        n, m, length = self.futures.shape[:3]
        grid = f"{format_count(n, 'content')} × {format_count(m, 'motion')}"
        return f"SwapGrid({grid}, {format_count(length, 'step')}, frames {self.futures.shape[3:]})"

    def plot(
        self,
        *,
        steps: Sequence[int] | None = None,
        value_range: float = 1.0,
        channel: int | None = None,
        truth: Any = None,
    ) -> Figure:
        """Plot contents at the left, motions at the top and their combinations: images, or lines for series.

        Of images, `steps`, which count from 1, are shown. `truth` (content, motion, step, channel) is of series, where
        it is known: what the combinations should be, drawn dashed.
        """
        if self.futures.ndim == 4:  # series: every step is shown
            return self._plot_series(channel, truth)
        if truth is not None:
            raise ValueError("truth is drawn beside series only, and these are images: leave it out")
        from ..plotting import image_grids

        return image_grids.plot_swaps(
            *self._to_images(value_range, channel), at=_validate_steps(steps, self.futures.shape[2])
        )

    def _plot_series(self, channel: int | None, truth: Any) -> Figure:
        from ..plotting import forecasts

        n_channels = self.futures.shape[-1]
        if channel is None:
            chosen = slice(None)
        else:
            position = check_position(channel, "channel", n_channels, "channel")
            chosen = slice(position, position + 1)
        if truth is not None and np.shape(truth) != self.futures.shape:
            raise ValueError(f"truth has shape {np.shape(truth)}: expected {self.futures.shape}, that of the futures")
        return forecasts.plot_swapped_series(
            [one[:, chosen] for one in self.contents],
            self.truth[..., chosen],
            self.futures[..., chosen],
            truth=None if truth is None else np.asarray(truth)[..., chosen],
            names=[*(self.contents.channel_names or [f"channel {i}" for i in range(n_channels)])][chosen],
        )

    def animate(
        self, path: str | Path, *, value_range: float = 1.0, channel: int | None = None, rate: float = 8
    ) -> Path:
        """Write the grid as an animation, `.gif` or `.mp4`; the file is written atomically."""
        from ..plotting import animations

        return animations.animate_swaps(*self._to_images(value_range, channel), path, rate=rate)

    def _to_images(self, value_range: float, channel: int | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        stills = np.stack([to_images(one[-1:], value_range, channel, "contents")[0] for one in self.contents])
        above = np.stack([clip_to_images(one, value_range, channel) for one in self.truth])
        inside = np.stack([[clip_to_images(one, value_range, channel) for one in row] for row in self.futures])
        return stills, above, inside


def _validate_steps(steps: Any, length: int) -> list[int]:
    """The steps to show; by default a few evenly spaced ones."""
    if steps is None:
        return [int(step) for step in np.unique(np.linspace(1, length, min(_N_SHOWN_STEPS, length)).round())]
    if isinstance(steps, str) or count_axes(steps) != 1:
        raise TypeError(f"steps={steps!r}: expected a list of steps from 1 to {length}, such as [1, {length}]")
    selection = [check_int(step, "steps", 1) for step in steps]
    if not selection or max(selection) > length:
        raise ValueError(f"steps={selection}: expected steps from 1 to {length}")
    return selection


def swap_grid(
    model: Any, contents: Any, motions: Any, horizon: int, *, truth: Any = None, random_state: RandomState = None
) -> SwapGrid:
    """Combine every content with every motion in a grid, as in fig. 4.9 of Franceschi's thesis.

    A motion is sampled once, so the rows of a column differ only by their contents.

    Parameters
    ----------
    model : fitted SRVP or Separation
    contents, motions : sequences
        Pasts, as `model.predict` takes them.
    horizon : int
    truth : array (motion, step, *frame) or Sequences, optional
        The true futures of the motions. Default: the model's forecast with their own contents.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[learn]
    >>> X = np.random.default_rng(0).random((6, 8, 1, 16, 16))
    >>> model = tl.Separation(codec="dcgan", conditioning=3, max_steps=1, random_state=0).fit(X)
    >>> tl.forecast.swap_grid(model, X[:2], X[2:5], horizon=4)
    SwapGrid(2 contents × 3 motions, 4 steps, frames (1, 16, 16))
    """
    if not hasattr(model, "swap"):
        raise TypeError(f"model is a {type(model).__name__}, which does not swap: expected a fitted SRVP or Separation")
    content_pasts, motion_pasts = (
        collection if isinstance(collection, Sequences) else as_sequences(collection, name)
        for collection, name in ((contents, "contents"), (motions, "motions"))
    )
    seed = int(check_random_state(random_state).integers(2**31))
    rows = [
        model.swap(content_pasts[np.full(len(motion_pasts), i)], motion_pasts, horizon, random_state=seed).samples[0]
        for i in range(len(content_pasts))
    ]
    futures = np.stack(rows)
    if truth is None:
        above = model.predict(motion_pasts, horizon, random_state=seed).samples[0]
    else:
        above = validate_truth(truth)[:, : futures.shape[2]]
        if above.shape != futures.shape[1:]:
            raise ValueError(f"truth has shape {above.shape}: expected {futures.shape[1:]}, a future of each motion")
    return SwapGrid(contents=content_pasts, motions=motion_pasts, futures=futures, truth=above)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LatentInterpolation:
    """Sequences between two others, `sequences`, and the two `ends`: see `latent_interpolation`."""

    sequences: Sequences
    ends: Sequences

    def __repr__(self) -> str:
        length, frame = format_count(self.sequences.lengths[0], "step"), self.sequences.frame
        return f"LatentInterpolation({format_count(len(self.sequences), 'sequence')} of {length}, frames {frame})"

    def plot(self, *, value_range: float = 1.0, channel: int | None = None) -> Figure:
        """Plot each sequence as one image with the path of its motion, from a at the left to b at the right."""
        from ..plotting import image_grids

        return image_grids.plot_trails(self._labelled_images(value_range, channel))

    def animate(
        self, path: str | Path, *, value_range: float = 1.0, channel: int | None = None, rate: float = 8
    ) -> Path:
        """Write all sequences side by side as a `.gif` or `.mp4` animation; the file is written atomically."""
        from ..plotting import animations

        return animations.animate_sequences(self._labelled_images(value_range, channel), path, rate=rate)

    def _labelled_images(self, value_range: float, channel: int | None) -> dict[str, NDArray[Any]]:
        count = len(self.sequences)
        middle = [f"{100 * i / (count - 1):.0f} %" for i in range(1, count - 1)]
        names = ["a", "a redrawn", *middle, "b redrawn", "b"]
        first, last = (to_images(end, value_range, channel, name) for end, name in zip(self.ends, "ab", strict=True))
        inner = [clip_to_images(one, value_range, channel) for one in self.sequences]
        return dict(zip(names, [first, *inner, last], strict=True))


def latent_interpolation(model: Any, a: Any, b: Any, steps: int = 6) -> LatentInterpolation:
    """Interpolate between two sequences in the latent space of a model, as in fig. 4.10 of Franceschi's thesis.

    Parameters
    ----------
    model : fitted SRVP
    a, b : sequences of one length
        Single sequences, such as `X[0]` or `X[:1]`.
    steps : int
        Number of sequences; the first and the last are the reconstructions of a and b.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[learn]
    >>> X = np.random.default_rng(0).random((6, 8, 1, 16, 16))
    >>> model = tl.SRVP(codec="dcgan", conditioning=3, max_steps=1, random_state=0).fit(X)
    >>> tl.forecast.latent_interpolation(model, X[0], X[1], steps=3)
    LatentInterpolation(3 sequences of 8 steps, frames (1, 16, 16))
    """
    if not hasattr(model, "interpolate"):
        raise TypeError(f"model is a {type(model).__name__}, which does not interpolate: expected a fitted SRVP")
    interpolated = model.interpolate(a, b, steps)
    ends = Sequences([one[0] if count_axes(one) > 1 + len(interpolated.frame) else one for one in (a, b)])
    return LatentInterpolation(sequences=interpolated, ends=ends)
