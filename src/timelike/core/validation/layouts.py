"""Array layouts, such as "ntc" and "nchw", and their conversion to (item, time, *frame)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Layout = Literal["ntc", "nct", "nc", "nchw"]

_MEANINGS = {
    "ntc": "(item, time, channel)",
    "nct": "(item, channel, time)",
    "nc": "vectors (item, channel)",
    "nchw": "images (item, channel, height, width)",
}
_SINGLE_FRAME_AXES = {  # layouts without a time axis: the axes of an item, by their number
    "nc": {1: "channel"},
    "nchw": {3: "channel, height, width", 2: "height, width"},
}


def check_layout(layout: Any) -> Layout:
    """The layout itself, or an error that lists those that exist."""
    if not isinstance(layout, str) or layout not in _MEANINGS:
        words = [f'"{word}" {meaning}' for word, meaning in _MEANINGS.items()]
        raise ValueError(f"layout={layout!r}: expected {', '.join(words[:-1])} or {words[-1]}")
    return layout  # type: ignore[return-value]


def is_single_frame(layout: Layout) -> bool:
    """Whether every item is a single frame, without a time axis."""
    return layout in _SINGLE_FRAME_AXES


def reorder_axes(array: NDArray[Any], layout: Layout, name: str, *, leading: int) -> NDArray[Any]:
    """A view as (item, time, *frame) if `leading` is 1, or as (time, *frame) of a single item if it is 0.

    An image (height, width) gets one channel, as does a univariate series (time,).

    >>> [reorder_axes(np.zeros((5, 28, 28)), word, "data", leading=1).shape for word in ("ntc", "nchw")]
    [(5, 28, 28), (5, 1, 1, 28, 28)]
    """
    axes = array.ndim - leading
    if layout in _SINGLE_FRAME_AXES:
        if axes not in _SINGLE_FRAME_AXES[layout]:
            raise ValueError(f"{name} has shape {array.shape}: {_describe_expected(layout, 'item, ' * leading)}")
        return np.expand_dims(array, (leading, leading + 1) if axes == 2 else leading)
    if axes == 1:
        return array[..., None]
    return array.swapaxes(leading, leading + 1) if layout == "nct" else array


def _describe_expected(layout: Layout, items: str) -> str:
    shapes = " or ".join(f"({items}{axes})" for axes in _SINGLE_FRAME_AXES[layout].values())
    return f'layout="{layout}" expected {shapes}; series ({items}time, channel) are layout="ntc"'
