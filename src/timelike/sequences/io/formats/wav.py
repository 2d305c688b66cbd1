"""Audio in .wav files, one recording per file, read by SciPy; read only.

Integers of up to 24 bits become float32 between -1 and 1, as in audio libraries, and 32-bit integers become float64;
floating-point samples stay unchanged. Times are seconds since the first sample.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import text
from .raw_columns import RawColumns
from .video_truncation import refuse_short_file, riff_size

if TYPE_CHECKING:
    from ...container import Sequences

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {".wav": ("labels", "groups", "channel_names")}


def read(path: Path) -> dict[str, Sequences]:
    """One recording."""
    from ..combine import read_single_file

    return {"all": read_single_file(path)}


def read_columns(path: Path, layout: str | None = None) -> RawColumns:
    """The samples (time, channel), and their times from the sampling rate."""
    from scipy.io import wavfile

    text.refuse_empty_file(path)
    refuse_short_file(path, _declared_size(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # chunks of editors, which say nothing of the sound
            rate, samples = wavfile.read(path)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # SciPy raises many kinds of errors on a damaged header
        raise text.make_format_error(path, f"is not a whole .wav file ({str(error)[:120]}): get it again") from None
    if samples.size == 0 or rate <= 0:
        raise text.make_format_error(path, f"has {len(samples)} samples at {rate} a second: expected a sound")
    values = _scale_samples(samples)
    return RawColumns(
        path,
        {"0": values if values.ndim == 2 else values[:, None]},
        has_names=False,
        times=np.arange(len(values)) / rate,
    )


def _declared_size(path: Path) -> int:
    """Bytes that the file should have; one that was streamed does not know it, and says the most that it can."""
    size = riff_size(path)
    return 0 if size >= 2**32 else size


def _scale_samples(samples: NDArray[Any]) -> NDArray[Any]:
    if samples.dtype.kind == "f":
        return samples
    if samples.dtype == np.uint8:
        return (samples.astype(np.float32) - 128) / 128
    # SciPy puts 24 bits into the upper part of 32
    wide = samples.dtype.itemsize > 4 or (samples.dtype.itemsize == 4 and bool((samples & 0xFF).any()))
    scale = float(2 ** (8 * samples.dtype.itemsize - 1))
    return np.asarray(samples / scale, np.float64 if wide else np.float32)
