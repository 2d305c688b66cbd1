"""Videos, decoded by PyAV, one per file: .mp4, .mov, .mkv, .webm, .avi, .gif and others. Read-only format.

A video is one sequence of frames (channel, height, width), float32 between 0 and 1: red, green and blue, or one channel
if the video itself is grey. The rotation in the file is applied. Times are seconds since the first frame: evenly
spaced if the file declares a constant rate, up to the rounding of its clock, otherwise unchanged. Audio is ignored.
Pass several as a pattern, a list or a folder (`tl.load("clips/*.mp4", size=64, grayscale=True)`). Needs the extra
`video`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.extras import import_extra
from ....core.parameters import check_bool, check_int
from ...image_resize import resize_image
from .. import recordings
from ..recordings import RecordingInfo, Tick
from . import text
from .text import refuse_large_claim
from .video_truncation import TruncationCheck

if TYPE_CHECKING:
    from ...container import Sequences

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = dict.fromkeys(
    (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".gif", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    ("unequal lengths", "labels", "groups", "channel_names"),
)

# what holds images itself: a playlist that calls itself .mp4 could have any file or address opened
_CONTAINERS = "mov,matroska,avi,gif,mpeg,mpegvideo,mpegts,asf,flv,ogg"
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601
_FORMATS = {  # by whether it is grey and whether it has more than 8 bits: what it is turned into, and white
    (True, False): ("gray", 255),
    (True, True): ("gray16le", 65535),
    (False, False): ("rgb24", 255),
    (False, True): ("rgb48le", 65535),
}
_STRIP = 2**18  # pixels that are in float32 at a time
_USUAL_RATE = Fraction(25)  # frames per second, if the file does not declare them


def read(path: Path) -> dict[str, Sequences]:
    """The frames of one video."""
    return {"all": recordings.read_recordings([path], VideoReader())}


class _FrameFormat(NamedTuple):
    """The storage format of a frame."""

    grey: bool
    deep: bool
    turns: int  # quarters of a turn, counterclockwise
    height: int
    width: int

    @classmethod
    def from_frame(cls, frame: Any) -> _FrameFormat:
        turns = round(frame.rotation / 90) % 4
        sides = (frame.height, frame.width) if turns % 2 == 0 else (frame.width, frame.height)
        return cls(*_pixel_kind(frame.format), turns, *sides)


def _pixel_kind(stored: Any) -> tuple[bool, bool]:
    """Whether pixels that are stored like this are grey, and whether they have more than 8 bits."""
    deep = not stored.has_palette and max(part.bits for part in stored.components) > 8
    return stored.name.startswith(("gray", "mono", "ya")), deep


@dataclass(frozen=True, kw_only=True)
class VideoReader:
    """How videos are read: `size` (height, width) or one number for both, `grayscale`, and only `every` n-th frame."""

    size: Any = None
    grayscale: Any = False
    every: Any = 1

    step_name = "frames"
    reduction_hint = "size=(height, width), grayscale=True or every=2"

    def __post_init__(self) -> None:
        check_bool(self.grayscale, "grayscale"), check_int(self.every, "every", 1)
        if self.size is not None:
            sides = self.size if isinstance(self.size, tuple | list) else (self.size, self.size)
            if len(sides) != 2:
                raise ValueError(f"size={self.size!r}: expected (height, width), or one number for both")
            object.__setattr__(self, "size", tuple(check_int(side, "size", 1) for side in sides))

    def inspect(self, path: Path, tick: Tick) -> RecordingInfo:
        """How many frames a video has at most, by its packets, and how its first one is made."""
        packets, shot, endings = 0, None, TruncationCheck()
        with _open_video(path) as (container, stream):
            working = _refuse_large_frame(path, stream)
            for packet in container.demux():
                tick()
                endings.add(packet)
                if packet.stream.index == stream.index:
                    packets += packet.size > 0
                    shot = next(map(_FrameFormat.from_frame, packet.decode()), None) if shot is None else shot
            if shot is None:
                raise text.make_format_error(
                    path, "holds no picture that can be decoded: play it in a player, or get it again"
                )
            endings.refuse_truncated(path, container, stream)
        n_channels = 1 if shot.grey or self.grayscale else 3
        frame = (n_channels, *(self.size or (shot.height, shot.width)))
        return RecordingInfo(path, -(-packets // self.every), frame, working)

    def fill(self, info: RecordingInfo, out: NDArray[Any], tick: Tick, threads: int) -> NDArray[Any]:
        """Decode the requested frames into `out` and return their times in seconds."""
        taken, ticks = 0, []
        with _open_video(info.path) as (container, stream):
            stream.thread_type, stream.codec_context.thread_count = "AUTO", threads
            convert = self._make_converter(info)
            for position, frame in enumerate(container.decode(stream)):
                ticks.append(frame.pts)
                if position % self.every == 0 and taken < len(out):
                    convert(frame, out[taken])
                    taken += 1
                    tick()
            clock = _frame_times(ticks, stream)
        return clock[:: self.every][:taken]

    def _make_converter(self, info: RecordingInfo) -> Any:
        """A function that writes a frame to its place (channel, height, width), between 0 and 1."""
        from av.video.reformatter import VideoReformatter

        former, (n_channels, *size) = VideoReformatter(), info.frame

        def convert(frame: Any, out: NDArray[np.float32]) -> None:
            shot = _FrameFormat.from_frame(frame)
            if self.size is None and (shot.height, shot.width) != tuple(size):
                raise text.make_format_error(
                    info.path,
                    f"its frames change from {size[0]} × {size[1]} to {shot.height} × {shot.width} pixels: give "
                    "size=(height, width), and all become that",
                )
            _refuse_large_frame(info.path, frame)  # later ones may be larger than the first
            name, white = _FORMATS[shot.grey, shot.deep]
            stored = np.rot90(former.reformat(frame, format=name).to_ndarray(), shot.turns)
            picture = _resize_width(stored, size[1], to_grey=n_channels == 1 and not shot.grey)
            picture = resize_image(picture, (size[0], size[1]))
            # weights of 1/3 and the like may sum to a little more than 1
            np.minimum((picture / np.float32(white)).transpose(2, 0, 1), 1, out=out)

        return convert

    def refuse_mixed(self, infos: list[RecordingInfo]) -> None:
        """Raise an error if videos have different sizes or channels."""
        if len({look.frame[1:] for look in infos}) > 1:
            sizes = recordings.list_kinds(infos, lambda look: f"{look.frame[1]} × {look.frame[2]}")
            least = min((look.frame[1:] for look in infos), key=np.prod)
            raise ValueError(
                f"the videos have frames of {len(sizes)} sizes, height × width: {'; '.join(sizes)}: give "
                f"size=(height, width), such as size={least}, and all become that, or load them apart"
            )
        if len({look.frame[0] for look in infos}) > 1:
            channels = recordings.list_kinds(infos, lambda look: "grey" if look.frame[0] == 1 else "colour")
            raise ValueError(
                f"some videos have one channel and others three: {'; '.join(channels)}: give grayscale=True, and all "
                "have one, or load them apart"
            )


@contextmanager
def _open_video(path: Path) -> Iterator[tuple[Any, Any]]:
    """A container and its first video stream; all errors inside name the file."""
    av = import_extra("av", f"a {path.suffix} file")
    with path.open("rb") as file:  # a permission error keeps Python's own message
        if not file.read(1):
            raise text.make_format_error(path, "is empty: expected a video; get it again")
    with text.wrap_errors(path):
        try:  # "file:", as a name such as a:b.mp4 would be taken for an address
            # a title in Latin-1 does not affect the images
            safe = {"format_whitelist": _CONTAINERS}
            with av.open(f"file:{path}", options=safe, metadata_errors="replace") as container:
                if not container.streams.video:
                    kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
                    raise text.make_format_error(path, f"has no pictures, but {kinds}: expected a video")
                yield container, container.streams.video[0]
        except av.error.FFmpegError as error:
            raise text.make_format_error(
                path, f"cannot be decoded ({error.strerror}): it is damaged, cut short or no video; get it again"
            ) from None


def _refuse_large_frame(path: Path, pictures: Any) -> int:
    """Bytes that a frame of a stream takes while it is made; an error if too many, however small it becomes."""
    stored = getattr(pictures, "format", None)
    if stored is None:  # the header does not declare it, or not even the codec; the frames do, if there are any
        return 0
    grey, deep = _pixel_kind(stored)
    converted = 2 * (1 if grey else 3) * (2 if deep else 1)  # twice, as it is copied into an array
    decoded = -(-stored.padded_bits_per_pixel // 8)
    claimed: int = pictures.height * pictures.width * (decoded + converted)
    refuse_large_claim(path, claimed, f"for a frame of {pictures.height} × {pictures.width} pixels")
    return claimed


def _resize_width(stored: NDArray[Any], width: int, *, to_grey: bool) -> NDArray[np.float32]:
    """An image in float32, grey if asked, in another width: some rows at a time, as all would take 12 bytes a pixel.

    >>> _resize_width(np.uint8([[0, 2, 4, 6]]), 2, to_grey=False).ravel()
    array([1., 5.], dtype=float32)
    """
    narrow = []
    rows = max(1, _STRIP // stored.shape[1])
    for start in range(0, len(stored), rows):
        strip = stored[start : start + rows].astype(np.float32)
        strip = (strip @ _LUMA)[..., None] if to_grey else np.atleast_3d(strip)
        narrow.append(resize_image(np.ascontiguousarray(strip), (len(strip), width)))
    return np.concatenate(narrow)


# --- clocks ------------------------------------------------------------------------------------------------------


def _frame_times(ticks: list[int | None], stream: Any) -> NDArray[np.float64]:
    """Seconds since the first frame, of frames at `ticks` of the stream's clock.

    A container rounds times to its ticks (milliseconds in .mkv, hundredths in .gif), so that thirty frames a second
    come 33 or 34 ms apart. Where all are within a tick of an even rate, they are put where that rate has them.
    """
    declared = stream.average_rate or stream.base_rate or _USUAL_RATE
    steps = np.arange(len(ticks))
    clock = np.array([np.nan if tick is None else tick for tick in ticks], np.float64)
    if np.isnan(clock).any() or (np.diff(clock) <= 0).any():
        return np.asarray(steps / float(declared))  # no clock, or a broken one
    clock -= clock[0]
    base = float(stream.time_base)
    if len(ticks) == 1:
        return clock
    usual = (len(ticks) - 1) / (clock[-1] * base)
    for rate in (float(declared), float(round(usual)), usual):
        if rate > 0 and np.abs(clock - steps / rate / base).max() <= 1 + 1e-6:
            return np.asarray(steps / rate)
    return np.asarray(clock * base)
