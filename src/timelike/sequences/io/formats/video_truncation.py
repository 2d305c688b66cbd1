"""Detection of truncated videos, by comparing the container's metadata with the data."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from . import text

_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"  # what a Matroska file consists of
_ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
_GIF_EXTENSION, _GIF_PICTURE, _GIF_END = b"!", b",", b";"


class _PacketTrack:
    """The end times of the packets of a stream, in seconds of the container's time."""

    def __init__(self) -> None:
        self.packets = 0
        self.torn: deque[bool] = deque(maxlen=2)  # two, as a parser may make one more of what is left of a torn one
        self._begin = self._end = self._longest = 0.0
        self._before: float | None = None

    def add(self, packet: Any) -> None:
        self.packets += 1
        self.torn.append(packet.is_corrupt)
        tick, begin = float(packet.time_base), packet.dts if packet.pts is None else packet.pts
        if begin is not None:
            self._begin = max(self._begin, begin * tick)
            self._end = max(self._end, (begin + (packet.duration or 0)) * tick)
        if packet.dts is not None:  # times of decoding ascend
            if self._before is not None:
                self._longest = max(self._longest, packet.dts * tick - self._before)
            self._before = packet.dts * tick

    def latest_end(self, usual: float) -> float:
        """Not every packet says how long it lasts: the last may be shown half as long again as any other was."""
        return max(self._end, self._begin + 1.5 * (self._longest or usual))

    def count_ticks(self, tick: float) -> int:
        """Ticks until the last packet ends."""
        return round(self._begin / tick) + 1


class TruncationCheck:
    """Reads the packets of a container, and raises an error if some are missing."""

    def __init__(self) -> None:
        self._tracks: dict[int, _PacketTrack] = {}

    def add(self, packet: Any) -> None:
        if packet.size:
            self._tracks.setdefault(packet.stream.index, _PacketTrack()).add(packet)

    def refuse_truncated(self, path: Path, container: Any, stream: Any) -> None:
        """Raise an error if images are missing."""
        pictures, name = self._tracks[stream.index], container.format.name
        if any(pictures.torn):
            raise text.make_format_error(path, f"ends within frame {pictures.packets}: get it again")
        if name == "gif" and not _gif_has_end(path):
            raise text.make_format_error(
                path, f"ends within or after frame {pictures.packets} without its mark of an end: get it again"
            )
        if name.startswith("matroska"):
            refuse_short_file(path, _matroska_size(path))
        if name == "asf":
            refuse_short_file(path, _asf_size(path))
        if name == "avi" and stream.frames > pictures.count_ticks(float(stream.time_base)):
            refuse_short_file(path, riff_size(path))  # if it is not: some programs count wrongly
        if name == "flv":  # the sound may be longer
            declared = (container.duration or 0) / 1e6
            usual = 1 / float(stream.average_rate or 1)
            end = max(track.latest_end(usual) for track in self._tracks.values())
            if end < declared - 2e-3:  # it counts in thousandths
                raise text.make_format_error(
                    path, f"says that it lasts {declared:.2f} s and ends by {end:.2f} s: get it again"
                )


def refuse_short_file(path: Path, declared: int) -> None:
    """Raise an error for a file that is shorter than its declared length."""
    size = path.stat().st_size
    if size < declared:
        raise text.make_format_error(path, f"says that it has {declared} bytes and ends after {size}: get it again")


def riff_size(path: Path) -> int:
    """Bytes of an .avi or a .wav as far as its outermost chunks say: large ones have several."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size and (head := file.read(8))[:4] == b"RIFF":
            length = int.from_bytes(head[4:], "little")
            place += 8 + length + length % 2
            file.seek(place)
    return place


def _matroska_size(path: Path) -> int:
    """Bytes of a Matroska file as far as its outermost elements say; one that was streamed does not say it."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size and file.read(4) in (_EBML, _SEGMENT):
            first = file.read(1)
            if not first or not first[0]:
                break
            width = 9 - first[0].bit_length()  # of the number, whose first bit that is set says it
            number = int.from_bytes(first + file.read(width - 1), "big") & (1 << 7 * width) - 1
            if number == (1 << 7 * width) - 1:
                break  # all bits: unknown
            place += 4 + width + number
            file.seek(place)
    return place


def _asf_size(path: Path) -> int:
    """Bytes of a .wmv as far as its properties say; one that was streamed does not say it."""
    with path.open("rb") as file:
        _, properties, rest = file.read(1 << 16).partition(_ASF_PROPERTIES)
    streamed = len(rest) < 76 or rest[72] & 1  # after a size, an id, and eight numbers
    return int.from_bytes(rest[24:32], "little") if properties and not streamed else 0


def _gif_has_end(path: Path) -> bool:
    """Whether the blocks of a .gif reach its end mark; data after it are ignored."""
    with path.open("rb") as file:
        _skip_colours(file, file.read(13)[10:11])
        while (kind := file.read(1)) in (_GIF_EXTENSION, _GIF_PICTURE):
            if kind == _GIF_EXTENSION:
                file.read(1)
            else:
                _skip_colours(file, file.read(9)[8:])
                file.read(1)
            while (length := file.read(1)) not in (b"", b"\0"):
                file.seek(length[0], 1)
    return kind == _GIF_END


def _skip_colours(file: BinaryIO, flags: bytes) -> None:
    """A table of colours, which there is if the highest bit is set; the lowest three say how large it is."""
    if flags and flags[0] & 0x80:
        file.seek(3 * 2 ** ((flags[0] & 7) + 1), 1)
