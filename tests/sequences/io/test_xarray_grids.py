"""Gridded files: what scipy wrote is read, land stays missing, dates are dates, and the file is closed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.io import netcdf_file

import timelike as tl
from timelike.sequences import FormatError
from timelike.sequences.io.formats.hdf5 import refuse_damaged

LAND = 1e20


def written(path: Path, variables, *, time="time", steps=4, units="days since 2001-02-27", **extra) -> Path:
    """A netCDF 3 file by scipy alone: `variables` are (dimensions, values, attributes) by name."""
    sizes = {time: steps, "lat": 2, "lon": 3, "level": 2, "bnds": 2} | extra
    with netcdf_file(str(path), "w") as file:
        for name, size in sizes.items():
            file.createDimension(name, size)
        clock = file.createVariable(time, "d", (time,))
        clock[:] = np.arange(steps)
        if units:
            clock.units = units
        for name, (dims, values, attributes) in variables.items():
            variable = file.createVariable(name, values.dtype.char, dims)
            variable[:] = values
            for word, said in attributes.items():
                setattr(variable, word, said)
    return path


def sea(steps=4) -> np.ndarray:
    values = np.arange(steps * 6, dtype=np.float32).reshape(steps, 2, 3)
    values[:, 0, 1] = LAND
    return values


SEA = (("time", "lat", "lon"), sea(), {"_FillValue": np.float32(LAND)})


def test_a_field_with_land_is_read_as_it_was_written(tmp_path) -> None:
    data = tl.load(written(tmp_path / "sea.nc", {"sst": SEA}))
    assert data.shape == (1, 4, 1, 2, 3)
    assert data.dtype == np.float32
    assert data.channel_names == ("sst",)
    expected = sea()
    expected[:, 0, 1] = np.nan
    np.testing.assert_array_equal(data[0][:, 0], expected)
    days = ["2001-02-27", "2001-02-28", "2001-03-01", "2001-03-02"]  # no leap year
    assert (data.times == np.array(days, "datetime64[ns]")).all()


def test_packed_numbers_are_unpacked_and_their_fill_value_is_missing(tmp_path) -> None:
    packed = np.array([[[10, 20, -99], [0, 0, 0]]] * 4, np.int16)
    how = {"_FillValue": np.int16(-99), "scale_factor": 0.5, "add_offset": 3.0}
    data = tl.load(written(tmp_path / "a.nc", {"x": (("time", "lat", "lon"), packed, how)}))
    np.testing.assert_array_equal(data[0][2, 0], [[8, 13, np.nan], [3, 3, 3]])


def test_variables_are_channels_and_what_has_no_time_or_is_a_bound_is_left_out(tmp_path) -> None:
    path = tmp_path / "both.nc"
    mask = (("lat", "lon"), np.ones((2, 3), np.int32), {})
    bounds = (("time", "bnds"), np.zeros((4, 2)), {})
    wind = (("time", "lat", "lon"), -sea(), {"_FillValue": np.float32(-LAND)})
    written(path, {"u": SEA, "mask": mask, "time_bnds": bounds, "v": wind})
    with netcdf_file(str(path), "a", mmap=False) as file:
        file.variables["time"].bounds = "time_bnds"
    data = tl.load(path)
    assert data.shape == (1, 4, 2, 2, 3)
    assert data.channel_names == ("u", "v")
    np.testing.assert_array_equal(data[0][:, 0], -data[0][:, 1])
    assert np.isnan(data[0][:, :, 0, 1]).all()


@pytest.mark.parametrize(
    ("dims", "shape", "frame"),
    [
        (("time",), (4,), (1,)),
        (("time", "lon"), (4, 3), (3,)),
        (("lat", "lon", "time"), (2, 3, 4), (1, 2, 3)),
        (("time", "level", "lat", "lon"), (4, 2, 2, 3), (2, 2, 3)),
    ],
)
def test_one_variable_may_have_any_frame(dims, shape, frame, tmp_path) -> None:
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    data = tl.load(written(tmp_path / "a.nc", {"x": (dims, values, {})}))
    assert data.frame == frame
    np.testing.assert_array_equal(data[0].reshape(4, -1), np.moveaxis(values, dims.index("time"), 0).reshape(4, -1))


def test_time_is_found_by_its_name_by_its_words_and_by_its_dates(tmp_path) -> None:
    def loaded(name, **words):
        path = tmp_path / "a.nc"
        written(path, {"x": ((name,), np.arange(4.0), {})}, time=name, units="")
        with netcdf_file(str(path), "a", mmap=False) as file:
            for word, said in words.items():
                setattr(file.variables[name], word, said)
        return tl.load(path)

    assert loaded("time").times.tolist() == [0, 1, 2, 3]
    assert loaded("t", axis="T").times.tolist() == [0, 1, 2, 3]
    assert loaded("t", standard_name="time").times.tolist() == [0, 1, 2, 3]
    assert loaded("t", units="hours since 1999-12-31 22:00").times[2] == np.datetime64("2000-01-01")
    with pytest.raises(FormatError, match=r"a\.nc: no single time dimension is identified among .*'t'.*time=\.\.\."):
        loaded("t")


def test_lead_times_and_durations_stay_the_numbers_of_the_file(tmp_path) -> None:
    values = np.array([0.5, 1.5, 2.5, 3.5])
    data = tl.load(written(tmp_path / "a.nc", {"wait": (("time",), values, {"units": "hours"})}, units="days"))
    assert data[0].ravel().tolist() == values.tolist()
    assert data.times.tolist() == [0, 1, 2, 3]


def test_the_file_is_closed_and_the_numbers_do_not_depend_on_it(tmp_path) -> None:
    path = written(tmp_path / "sea.nc", {"sst": SEA})
    data = tl.load(path)
    if Path("/proc/self/fd").is_dir():
        held = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.exists()]
        assert str(path) not in held
        assert str(path) not in Path("/proc/self/maps").read_text()
    written(path, {"sst": (SEA[0], sea() * 0, {})})
    assert data[0][3, 0, 1, 2] == 23
    assert tl.load(path)[0].max() == 0


def test_a_file_that_xarray_wrote_is_what_from_xarray_makes_of_the_same_grid(tmp_path) -> None:
    block = np.random.default_rng(0).normal(size=(5, 2, 3))
    block[:, 1, 2] = np.nan
    days = np.arange("2020-02-27", "2020-03-03", dtype="datetime64[D]").astype("datetime64[ns]")
    grid = xr.Dataset({k: (("time", "lat", "lon"), s * block) for k, s in (("u", 1), ("v", 2))}, {"time": days})
    grid.to_netcdf(tmp_path / "a.nc", engine="scipy")
    data = tl.load(tmp_path / "a.nc")
    assert data.equals(tl.Sequences.from_xarray(grid))
    assert np.isnan(data[0][:, :, 1, 2]).all()
    assert np.isnan(data.values).sum() == 10


def test_a_name_with_a_part_says_which_part_it_is(tmp_path) -> None:
    for part in ("TRAIN", "TEST"):
        written(tmp_path / f"Sea_{part}.nc", {"sst": SEA})
    train, test = tl.load(tmp_path)
    assert train.equals(test)


def test_grids_are_only_read(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"has the suffix '\.nc': expected one of \.ts, "):
        tl.Sequences([[1.0]]).save(tmp_path / "a.nc")


def test_variables_that_do_not_go_together_are_refused_with_the_way_out(tmp_path) -> None:
    path = written(tmp_path / "a.nc", {"sst": SEA, "index": (("time",), np.zeros(4), {})})
    with pytest.raises(FormatError, match=r"a\.nc: variable 'index' has the dimensions .*use Sequences\.from_xarray"):
        tl.load(path)
    written(path, {"mask": (("lat",), np.zeros(2), {})})
    with pytest.raises(FormatError, match="no variable changes over 'time'"):
        tl.load(path)


def test_a_cut_or_foreign_file_is_refused(tmp_path) -> None:
    path = written(tmp_path / "a.nc", {"sst": SEA})
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[:10], whole[: len(whole) // 2], whole[:-8]):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"a\.nc: "):
            tl.load(path)


def test_a_file_may_not_claim_more_than_the_limit(tmp_path, monkeypatch) -> None:
    path = written(tmp_path / "a.nc", {"x": (("time",), np.zeros(4), {})})
    monkeypatch.setattr("timelike.core.memory.SIZE_FACTOR", 0)
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0.00001")
    with pytest.raises(FormatError, match="TIMELIKE_LOAD_LIMIT_MB"):
        tl.load(path)


def hdf5(size: int, declared: int | None = None) -> bytes:
    """The beginning of an HDF5 file, by its specification (II.A, version 0), filled up with nothing."""
    numbers = [0, 2**64 - 1, size if declared is None else declared, 2**64 - 1]
    head = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0]) + bytes(4)
    return (head + b"".join(number.to_bytes(8, "little") for number in numbers)).ljust(size, b"\0")


@pytest.mark.parametrize(
    "content", [b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + b"\xff" * 90, hdf5(100, 101), hdf5(100)[:40]]
)
def test_a_damaged_netcdf_4_file_needs_no_package_to_be_refused(content, tmp_path) -> None:
    """Whichever packages are there: what can be seen without one is not put down to its absence."""
    (tmp_path / "a.nc").write_bytes(content)
    with pytest.raises(tl.sequences.FormatError, match=r"^a\.nc: "):
        tl.load(tmp_path / "a.nc")


def heap(*objects: tuple[int, int], size: int = 128) -> bytes:
    """A global heap collection, by the specification (III.E): objects by number and length, each with its data."""
    rows = [number.to_bytes(2, "little") + bytes(6) + length.to_bytes(8, "little") for number, length in objects]
    data = [bytes(-(-length // 8) * 8 if number and length < size else 0) for number, length in objects]
    body = b"".join(row + some for row, some in zip(rows, data, strict=True))
    return (b"GCOL\x01\0\0\0" + size.to_bytes(8, "little") + body).ljust(size, b"\xee")[:size]


WHOLE = [
    heap((1, 5), (2, 8), (0, 128 - 16 - 24 - 24)),
    heap((1, 5), (2, 72)),  # full: no free space
    heap((1, 5), (2, 64), size=120 + 8),  # the last 8 bytes are too few for an object
    heap(size=16),
    b"GCOL\x01\0\0\0" + (2**40).to_bytes(8, "little"),  # data that look like a heap, for whose length there is no room
]
ENDLESS = [
    heap((1, 5), (0, 0)),
    heap((0, 0)),
    heap((1, 5), (0, 8), (0, 80)),  # shorter than its own head
    heap((1, 2**64 - 16)),  # back to where it was, in 64 bits
    heap((1, 5), (2, 2**63)),
    heap((1, 5), (0, 500)),
]


@pytest.mark.parametrize("at", [96, 1021, 1024, 1030])  # around where a piece of the file that is searched ends
@pytest.mark.parametrize(("content", "whole"), [*((one, True) for one in WHOLE), *((one, False) for one in ENDLESS)])
def test_a_heap_that_hdf5_would_read_for_ever_is_refused(content, whole, at, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("timelike.sequences.io.formats.hdf5._AT_ONCE", 1024)
    path, size = tmp_path / "a.nc", at + len(content) + 3000
    path.write_bytes((hdf5(at, size) + content).ljust(size, b"\0"))
    if whole:
        refuse_damaged(path)
    else:
        with pytest.raises(tl.sequences.FormatError, match=rf"^a\.nc: has a damaged heap at byte {at}: get it again"):
            tl.load(path)


def test_a_whole_netcdf_4_file_with_its_heaps_is_read_and_one_with_a_damaged_heap_refused(tmp_path) -> None:
    pytest.importorskip("h5netcdf")

    path, values = tmp_path / "a.nc", np.arange(24.0).reshape(4, 2, 3)
    grid = xr.Dataset({"sst": (("time", "y", "x"), values)}, {"time": np.arange(4)}, {"title": "of the sea"})
    grid.to_netcdf(path, engine="h5netcdf")
    np.testing.assert_array_equal(tl.load(path).values.ravel(), values.ravel())
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16
    content[first : first + 16] = bytes(16)
    path.write_bytes(content)
    with pytest.raises(tl.sequences.FormatError, match="damaged heap"):
        tl.load(path)


def test_what_is_not_installed_is_named(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(hdf5(100))
    monkeypatch.setattr("timelike.sequences.io.formats.netcdf.importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'a\.nc, a netCDF 4 file, needs h5netcdf: pip install "timelike\[grids\]"'):
        tl.load(path)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r'pip install "timelike\[grids\]"'):
        tl.load(path)
