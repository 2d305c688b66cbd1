"""Videos for tests, written by PyAV."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

LOSSLESS = {".mkv": ("ffv1", "bgr0"), ".avi": ("ffv1", "bgr0"), ".mov": ("png", "rgb24")}
LOSSY = {".mp4": ("libx264", "yuv420p"), ".webm": ("libvpx-vp9", "yuv420p"), ".gif": ("gif", "rgb8")}
CODECS = LOSSLESS | LOSSY
OTHERS = {".flv": ("flv", "yuv420p"), ".wmv": ("wmv2", "yuv420p"), ".mpg": ("mpeg1video", "yuv420p")}


def write(
    path: Path,
    pictures: np.ndarray,
    *,
    codec: str | None = None,
    stored: str | None = None,
    rate: Any = 25,
    ticks: list[int] | None = None,
    clock: Fraction | None = None,
    last: int | None = None,
    turned: int | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Pictures (time, height, width, 3) or, grey, (time, height, width), in uint8 or uint16, as a video.

    `ticks` of the `clock` are when frames are shown, and `last` is for how long the last one is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    usual_codec, usual_format = (CODECS | OTHERS)[path.suffix.lower()]
    grey = pictures.ndim == 3
    given = {(True, 1): "gray", (True, 2): "gray16le", (False, 1): "rgb24", (False, 2): "rgb48le"}[
        grey, pictures.dtype.itemsize
    ]
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec or usual_codec, rate=rate)
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = stored or (given if grey else usual_format)
        if clock is not None:
            stream.time_base = stream.codec_context.time_base = clock
        if turned is not None:
            stream.set_display_rotation(turned)
        packets = []
        for position, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format=given)
            if ticks is not None:
                frame.pts, frame.time_base = ticks[position], clock
            packets += stream.encode(frame)
        packets += stream.encode()
        if last is not None:
            packets[-1].duration = last
        for packet in packets:
            container.mux(packet)
    return path


def sound(path: Path) -> Path:
    """A file that has sound and no pictures."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
