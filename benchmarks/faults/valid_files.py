"""A small valid file of every format that is read: what `mutated_files` and the tests damage."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import timelike as tl

# containers by suffix, each with a codec that FFmpeg has in every build and a way to store the pixels
_VIDEOS = {
    ".mp4": ("mpeg4", "yuv420p"),
    ".m4v": ("mpeg4", "yuv420p"),
    ".mov": ("png", "rgb24"),
    ".mkv": ("ffv1", "bgr0"),
    ".webm": ("libvpx-vp9", "yuv420p"),
    ".avi": ("ffv1", "bgr0"),
    ".gif": ("gif", "rgb8"),
    ".mpg": ("mpeg1video", "yuv420p"),
    ".mpeg": ("mpeg1video", "yuv420p"),
    ".wmv": ("wmv2", "yuv420p"),
    ".flv": ("flv", "yuv420p"),
    ".ogv": ("ffv1", "bgr0"),  # Theora is not in every build: the pictures of a Matroska file under that name
}
_SAVED = {  # what each of the formats that are written too can hold
    ".ts": "labels times",
    ".tsv": "numbers",
    ".txt": "numbers",
    ".arff": "labels",
    ".npz": "labels times",
    ".npy": "",
    ".csv": "labels times",
    ".parquet": "labels times",
}


def valid_files() -> dict[str, bytes]:
    """Contents by name: one of every suffix, and more where a format has several forms."""
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix, holds in _SAVED.items():
            found[f"a{suffix}"] = _collection(suffix, holds).save(Path(folder) / f"a{suffix}").read_bytes()
        for name, write in _RECORDINGS.items():
            write(Path(folder) / name)
            found[name] = (Path(folder) / name).read_bytes()
        if find_spec("h5netcdf") is not None:
            _grid4(Path(folder) / "four.nc")
            found["four.nc"] = (Path(folder) / "four.nc").read_bytes()
        for suffix in _VIDEOS:
            found[f"a{suffix}"] = _video(Path(folder) / f"a{suffix}").read_bytes()
    return found


def _collection(suffix: str, holds: str) -> tl.Sequences:
    values = [[1.5, -2.25, 3.125], [4.0, 5.5, 6.75]]
    if "numbers" in holds:
        return tl.Sequences(values, labels=[1, 2])
    many = np.arange(24.0).reshape(2, 6, 2) / 8 if suffix != ".arff" else np.asarray(values)
    found = tl.Sequences(many)
    if "labels" in holds:
        found = found.replace(labels=["up", "down"])
    return found.replace(times=np.linspace(0, 0.5, many.shape[1])) if "times" in holds else found


def _waves() -> dict[str, Any]:
    return {
        "t": np.arange(12) / 10,
        "acc": np.sin(np.arange(36)).reshape(12, 3),
        "count": np.arange(12, dtype=np.int16),
        "on": np.arange(12) % 3 == 0,
        "who": "anna",
        "note": np.array([["x", 1]], dtype=object),
    }


def _mat(**options: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from scipy.io import savemat

        waves = _waves()
        if options.get("format") == "4":  # numbers and text only
            waves = {name: np.asarray(waves[name], np.float64) for name in ("t", "acc")} | {"who": "anna"}
        savemat(path, waves, **options)

    return write


def _sound(path: Path) -> None:
    from scipy.io import wavfile

    wavfile.write(path, 8000, (1000 * np.sin(np.arange(64) / 3)).astype(np.int16))


def _lines(path: Path) -> None:
    path.write_text("".join(json.dumps({"t": i / 10, "ax": i * 1.5, "who": "anna"}) + "\n" for i in range(8)))


def _json(path: Path) -> None:
    path.write_text(json.dumps({"t": [0.0, 0.1, 0.2], "ax": [1, 2, None]}))


def _grid(path: Path) -> None:
    """A netCDF 3 file, by SciPy; packed numbers, so that a scale is read too."""
    from scipy.io import netcdf_file

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with netcdf_file(str(path), "w") as file:
            for name, size in (("time", 4), ("y", 2), ("x", 3)):
                file.createDimension(name, size)
            time: Any = file.createVariable("time", "f8", ("time",))
            time[:], time.units = np.arange(4.0), b"days since 2020-01-01"
            field: Any = file.createVariable("sst", "i2", ("time", "y", "x"))
            field[:] = np.arange(24).reshape(4, 2, 3)
            field.scale_factor, field.add_offset = 0.5, 10.0
            field._FillValue = np.int16(-1)


def _grid4(path: Path) -> None:
    """A netCDF 4 file, which is HDF5."""
    import xarray

    fields = xarray.Dataset({"sst": (("time", "y", "x"), np.arange(24.0).reshape(4, 2, 3))}, {"time": np.arange(4)})
    fields.to_netcdf(path, engine="h5netcdf")


def _recording_parquet(path: Path) -> None:
    """One recording with columns of every kind that tables have, a list and a dictionary among them."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "time": pyarrow.array(np.arange(20) / 10),
            "a": pyarrow.array(np.sin(np.arange(20))),
            "b": pyarrow.array(np.arange(20) % 4, pyarrow.int16()),
            "who": pyarrow.array(["anna"] * 20).dictionary_encode(),
            "tags": pyarrow.array([["x", "y"]] * 20),
        }
    )
    pyarrow.parquet.write_table(table, path)


def _recording_csv(path: Path) -> None:
    rows = (f'{i / 10},{i * 1.5},"quoted, text"\n' for i in range(10))
    path.write_text("t,ax,note\n" + "".join(rows))


def _record_npy(path: Path) -> None:
    rows = np.zeros(6, dtype=[("t", "f8"), ("ax", "f4")])
    rows["t"] = np.arange(6) / 10
    np.save(path, rows)


def _packed_npz(path: Path) -> None:
    """Arrays by name without offsets: one recording, compressed."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=np.arange(8) / 10, acc=np.arange(16.0).reshape(8, 2))
    path.write_bytes(buffer.getvalue())


_RECORDINGS: dict[str, Callable[[Path], None]] = {
    "a.mat": _mat(),
    "compressed.mat": _mat(do_compression=True),
    "old.mat": _mat(format="4"),
    "a.wav": _sound,
    "a.jsonl": _lines,
    "a.ndjson": _lines,
    "a.json": _json,
    "a.nc": _grid,
    "recording.parquet": _recording_parquet,
    "recording.csv": _recording_csv,
    "record.npy": _record_npy,
    "recording.npz": _packed_npz,
}


def _video(path: Path) -> Path:
    import av

    codec, stored = _VIDEOS[path.suffix]
    pictures = np.random.default_rng(0).integers(0, 256, (4, 16, 16, 3), dtype=np.uint8)
    container_format = "matroska" if path.suffix == ".ogv" else None
    with av.open(str(path), "w", format=container_format) as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = 16, 16, stored
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path
