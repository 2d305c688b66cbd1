"""Recordings of one's own, a file each: which columns are what, what is said of them, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.io import savemat, wavfile

import timelike as tl
from timelike.sequences.io import recordings
from timelike.sequences.io.formats import npz

RNG = np.random.default_rng(0)
STAMPS = pd.date_range("2024-03-01 10:00", periods=5, freq="250ms")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def table(n: int = 5) -> pd.DataFrame:
    """Times and two channels, one with a missing value."""
    found = pd.DataFrame({"t": np.arange(n) / 10, "ax": RNG.normal(size=n), "ay": RNG.normal(size=n)})
    found.loc[found.index[1:2], "ay"] = np.nan
    return found


def assert_holds(X: tl.Sequences, i: int, expected: pd.DataFrame, time: str | None = "t") -> None:
    """Sequence i is what pandas has."""
    channels = [name for name in expected.columns if name != time]
    assert X.channel_names == tuple(channels)
    np.testing.assert_array_equal(X[i], expected[channels].to_numpy())
    begin, end = X.offsets[i : i + 2]
    if time is not None:
        np.testing.assert_array_equal(X.times[begin:end], expected[time].to_numpy())


# --- every format -------------------------------------------------------------------------------------------------

WRITERS = {
    ".csv": lambda one, path: one.to_csv(path, index=False),
    ".tsv": lambda one, path: one.to_csv(path, index=False, sep="\t"),
    ".txt": lambda one, path: one.to_csv(path, index=False, sep=" ", na_rep="nan"),
    ".parquet": lambda one, path: one.to_parquet(path),
    ".npz": lambda one, path: np.savez(path, **{name: one[name].to_numpy() for name in one}),
    ".mat": lambda one, path: savemat(path, {name: one[name].to_numpy() for name in one}),
    ".jsonl": lambda one, path: one.to_json(path, orient="records", lines=True, double_precision=15),
    ".json": lambda one, path: path.write_text(
        json.dumps({k: [None if x != x else x for x in v.tolist()] for k, v in one.items()})
    ),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_is_one_recording_and_several_are_a_collection(suffix, tmp_path) -> None:
    known = {name: table(n) for name, n in (("b", 5), ("a", 3), ("c d", 2), ("日本", 4))}
    for name, one in known.items():
        WRITERS[suffix](one, tmp_path / f"{name}{suffix}")
    single = tl.load(tmp_path / f"a{suffix}")
    assert single.ids.tolist() == ["a"]
    sources = [tmp_path / f"*{suffix}", str(tmp_path / f"*{suffix}"), sorted(tmp_path.iterdir())]
    sources += [] if suffix in (".txt", ".json") else [tmp_path]
    for source in sources:
        X = tl.load(source)
        assert X.ids.tolist() == ["a", "b", "c d", "日本"]
        for i, name in enumerate(X.ids):
            if suffix == ".jsonl":  # pandas writes 15 digits
                np.testing.assert_allclose(X[i], known[name][["ax", "ay"]], rtol=1e-12)
            else:
                assert_holds(X, i, known[name])
        assert "time: the column 't', by its name" in X.source.notes
        assert X.source.files == tuple(str(tmp_path / f"{name}{suffix}") for name in X.ids)
    assert X[:1].replace(ids=["a"]).equals(single)


def test_an_npy_is_one_recording_in_two_axes_and_says_so(tmp_path) -> None:
    values = RNG.normal(size=(208, 3))
    np.save(tmp_path / "walk.npy", values)
    X = tl.load(tmp_path / "walk.npy")
    assert X.lengths.tolist() == [208]
    np.testing.assert_array_equal(X[0], values)
    assert X.source.notes == (
        'an array of two axes is one recording (time, channel); layout="ct" and layout="ntc" read it otherwise',
    )
    assert repr(X).endswith(f"from {tmp_path / 'walk.npy'})")
    assert tl.load(tmp_path / "walk.npy", layout="ntc").lengths.tolist() == [3] * 208
    np.testing.assert_array_equal(tl.load(tmp_path / "walk.npy", layout="ct")[0], values.T)
    np.testing.assert_array_equal(tl.load(tmp_path / "walk.npy", layout="tc")[0], values)
    assert tl.load(tmp_path / "walk.npy", layout="nc").shape == (208, 1, 3)
    values[:, 0] = np.arange(208)
    values[[3, 4]] = values[[4, 3]]  # two rows out of order
    np.save(tmp_path / "walk.npy", values)
    X = tl.load(tmp_path / "walk.npy", time=0, values=[2, 1])
    np.testing.assert_array_equal(X[0], values[np.argsort(values[:, 0])][:, [2, 1]])
    np.testing.assert_array_equal(X.times, np.arange(208))


def test_an_npy_of_more_axes_is_what_save_wrote(tmp_path) -> None:
    data = tl.Sequences(RNG.normal(size=(4, 5, 2)))
    assert tl.load(data.save(tmp_path / "all.npy")).equals(data)
    np.save(tmp_path / "one.npy", np.arange(6.0))
    assert tl.load(tmp_path / "one.npy").shape == (1, 6, 1)
    swapped = np.ascontiguousarray(np.asarray(data).swapaxes(1, 2))
    np.save(tmp_path / "other.npy", swapped)
    assert tl.load(tmp_path / "other.npy", layout="nct").equals(data)


def test_a_folder_of_arrays_keeps_their_dtype_and_takes_them_channels_first(tmp_path) -> None:
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", RNG.integers(0, 9, size=(2, 4 + i), dtype=np.int16))
    X = tl.load(tmp_path, layout="ct")
    assert X.lengths.tolist() == [4, 5, 6]
    assert X.dtype == np.int16
    with pytest.raises(ValueError, match=r"3 sets of channels: 4 without names in 0\.npy; .*give layout=\"ct\""):
        tl.load(tmp_path)
    with pytest.raises(ValueError, match='layout="nct" is of several sequences in one file, and these are 3 files'):
        tl.load(tmp_path, layout="nct")


def test_a_large_array_stays_on_disk(tmp_path, monkeypatch) -> None:
    values = RNG.normal(size=(50, 3))
    np.save(tmp_path / "a.npy", values)
    whole = tl.load(tmp_path / "a.npy")
    monkeypatch.setattr(npz, "MAP_BYTES", 0)
    mapped = tl.load(tmp_path / "a.npy")
    assert mapped.equals(whole)
    base = mapped.values
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    np.save(tmp_path / "b.npy", values[:7])
    assert tl.load(tmp_path).lengths.tolist() == [50, 7]  # several are copied into one array
    np.save(tmp_path / "c.npy", np.asfortranarray(values))
    np.testing.assert_array_equal(tl.load(tmp_path / "c.npy")[0], values)


@pytest.mark.parametrize(
    ("dtype", "scale", "shift", "kind"),
    [(np.int16, 2**15, 0, np.float32), (np.uint8, 128, 128, np.float32), (np.int32, 2**31, 0, np.float64), (np.float32, 1, 0, np.float32)],
)  # fmt: skip
def test_sound_is_between_minus_one_and_one_with_a_clock(dtype, scale, shift, kind, tmp_path) -> None:
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    samples = (
        RNG.integers(info.min, info.max, size=(30, 2), dtype=dtype)
        if info
        else RNG.uniform(-1, 1, (30, 2)).astype(dtype)
    )
    wavfile.write(tmp_path / "a.wav", 8000, samples)
    X = tl.load(tmp_path / "a.wav")
    assert X.dtype == kind
    np.testing.assert_allclose(X[0], (samples.astype(np.float64) - shift) / scale, rtol=1e-6)
    np.testing.assert_array_equal(X.times, np.arange(30) / 8000)
    wavfile.write(tmp_path / "b.wav", 8000, samples[:, 0])
    assert tl.load(tmp_path / "b.wav").frame == (1,)


def test_matlab_variables_are_columns_channels_and_labels(tmp_path) -> None:
    values = RNG.normal(size=(6, 3))
    savemat(
        tmp_path / "a.mat", {"acc": values, "time": np.arange(6.0), "fs": 100, "activity": "walk"}, do_compression=True
    )
    X = tl.load(tmp_path / "a.mat", label="activity")
    np.testing.assert_array_equal(X[0], values)
    assert X.labels.tolist() == ["walk"]
    assert X.channel_names == ("acc_0", "acc_1", "acc_2")
    assert "left out, as no channel: 'fs'" in X.source.notes
    (tmp_path / "b.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + b"\0" * 200)
    with pytest.raises(tl.sequences.FormatError, match=r"b\.mat: is a \.mat of version 7\.3 \(HDF5\): save it with"):
        tl.load(tmp_path / "b.mat")


def test_arrays_of_unequal_lengths_ask_which_are_channels(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", acc=np.ones((6, 3)), other=np.ones(5))
    with pytest.raises(
        tl.sequences.FormatError, match=r"different lengths, 'acc' \(6, 3\), 'other' \(5,\): name the channels"
    ):
        tl.load(tmp_path / "a.npz")
    assert tl.load(tmp_path / "a.npz", values="acc").shape == (1, 6, 3)
    assert tl.load(tmp_path / "a.npz", values="acc", layout="ct").shape == (1, 3, 6)


# --- text as people have it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", "   ", ", "])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_separators_and_decimal_marks_are_seen(separator, decimal, suffix, tmp_path) -> None:
    if separator.strip() == decimal == ",":
        return
    rows = [
        ["time", "ax", "ay"],
        *[
            [f"{v:.3f}" for v in row]
            for row in RNG.normal(size=(4, 3)).cumsum(0) + [[9], [20], [30], [40]] * np.ones(3)
        ],
    ]
    text = "\n".join(separator.join(row) for row in rows).replace(".", decimal if decimal != "." else ".")
    X = tl.load(write(tmp_path / f"a{suffix}", text))
    expected = np.array([[float(cell) for cell in row] for row in rows[1:]])
    np.testing.assert_array_equal(np.column_stack([X.times, X[0]]), expected)
    assert X.channel_names == ("ax", "ay")
    assert ("commas are decimal marks" in X.source.notes) == (decimal == ",")


def test_commas_for_everything_are_named(tmp_path) -> None:
    write(tmp_path / "a.csv", "t,x\n0,5,1,5\n1,5,2,5\n")
    with pytest.raises(
        tl.sequences.FormatError, match=r"line 2: 4 values for 2 columns: are commas both between the values and in"
    ):
        tl.load(tmp_path / "a.csv")
    write(tmp_path / "a.csv", "t;x\n0,5;1.5\n")
    with pytest.raises(tl.sequences.FormatError, match=r"holds both '0,5' and '1\.5': expected one decimal mark"):
        tl.load(tmp_path / "a.csv")


def test_a_header_may_be_absent_quoted_or_below_comments(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "1.0,2.0\n3.0,4.0\n"))
    assert X.channel_names is None
    np.testing.assert_array_equal(X[0], [[1, 2], [3, 4]])
    assert "there is no row of names: columns are channels by their positions" in X.source.notes
    X = tl.load(write(tmp_path / "b.csv", '# made by a logger\n# 3\n"time","a, b"\n0,1\n\n1,2\n'))
    assert X.channel_names == ("a, b",)
    assert X.times.tolist() == [0, 1]
    X = tl.load(write(tmp_path / "c.csv", "2024-01-01 00:00:00,1.5\n2024-01-01 00:00:01,2.5\n"))
    assert X.times[1] - X.times[0] == np.timedelta64(1, "s")
    X = tl.load(write(tmp_path / "d.csv", "0.5,walk\n1.5,walk\n"), values=0)
    assert X[0].ravel().tolist() == [0.5, 1.5]


@pytest.mark.parametrize("index", ["range", "dates", "named"])
def test_the_index_that_pandas_writes_is_no_channel(index, tmp_path) -> None:
    frame = table().drop(columns="t")
    if index == "dates":
        frame.index = STAMPS
    if index == "named":
        frame.index = pd.Index(np.arange(5) / 4, name="seconds")
    frame.to_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    for X in (tl.load(tmp_path / "a.csv"), tl.load(tmp_path / "a.parquet"), tl.load([frame])):
        assert_holds(X, 0, frame, None)
        assert (X.times is None) == (index == "range")
        if index == "dates":
            np.testing.assert_array_equal(X.times, STAMPS.to_numpy().astype("datetime64[ns]"))
        if index == "named":
            np.testing.assert_array_equal(X.times, np.arange(5) / 4)


@pytest.mark.parametrize("word", ["", "nan", "NaN", "NA", "null", "None", "?", "n/a"])
def test_missing_values_have_many_names(word, tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", f"t,x,y\n0,1,{word}\n1,{word},2\n"))
    np.testing.assert_array_equal(X[0], [[1, np.nan], [np.nan, 2]])


@pytest.mark.parametrize("cell", ["1.5.2", "12a", "--", "1_000", "١"])
def test_a_column_that_is_not_all_numbers_is_an_error_and_no_loss(cell, tmp_path) -> None:
    write(tmp_path / "a.csv", f"t,x\n0,1\n1,{cell}\n")
    with pytest.raises(
        tl.sequences.FormatError, match=rf"a\.csv, line 3: column 'x' holds '{cell}': expected a number"
    ):
        tl.load(tmp_path / "a.csv")
    write(tmp_path / "a.csv", "t,x\n0,1\n1,inf\n")
    with pytest.raises(tl.sequences.FormatError, match="line 3: column 'x' is infinite"):
        tl.load(tmp_path / "a.csv")


def test_text_throughout_is_left_out_and_that_is_said(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "t,x,device\n0,1,phone\n1,2,watch\n"))
    assert X.channel_names == ("x",)
    assert "left out, as no channel: 'device'" in X.source.notes


# --- time ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["time", "Time", "timestamp", "TIMESTAMP", "date", "datetime", "t", "ts", "time (s)", "Time [ms]", "time_ms", "seconds", "Date-Time"]
)  # fmt: skip
def test_the_time_is_found_by_its_name(name, tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", f"x,{name},y\n5,0.5,7\n6,1.5,8\n"))
    assert X.times.tolist() == [0.5, 1.5]
    assert X.channel_names == ("x", "y")
    assert f"time: the column {name!r}, by its name" in X.source.notes


def test_a_t_that_does_not_increase_is_a_channel(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "t,x\n20.5,1\n20.5,2\n20.1,3\n"))
    assert X.times is None
    assert X.channel_names == ("t", "x")
    with pytest.raises(ValueError, match="time='tt' is not a column: it has 't', 'x'; did you mean 't'"):
        tl.load(tmp_path / "a.csv", time="tt")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-03-01 10:00:00", "2024-03-01T10:00:01"], ["2024-03-01T10:00:00", "2024-03-01T10:00:01"]),
        (["2024-03-01T10:00:00.25Z", "2024-03-01T12:00:01+01:00"], ["2024-03-01T10:00:00.25", "2024-03-01T11:00:01"]),
        (["2024-10-27T02:30:00+02:00", "2024-10-27T02:15:00+01:00"], ["2024-10-27T00:30:00", "2024-10-27T01:15:00"]),
        (["2024/03/01 10:00:00", "2024/03/01 10:00:01"], ["2024-03-01T10:00:00", "2024-03-01T10:00:01"]),
        (["1709287200", "1709287201"], ["2024-03-01T10:00:00", "2024-03-01T10:00:01"]),
        (["1709287200.25", "1709287201.5"], ["2024-03-01T10:00:00.25", "2024-03-01T10:00:01.5"]),
        (["1709287200250", "1709287201500"], ["2024-03-01T10:00:00.25", "2024-03-01T10:00:01.5"]),
        (["1709287200000001", "1709287200000003"], ["2024-03-01T10:00:00.000001", "2024-03-01T10:00:00.000003"]),
        (["1709287200000000001", "1709287200000000003"], ["2024-03-01T10:00:00.000000001", "2024-03-01T10:00:00.000000003"]),
    ],
)  # fmt: skip
def test_dates_zones_and_counts_since_1970_are_dates_in_utc(cells, expected, tmp_path) -> None:
    text = "timestamp,x\n" + "\n".join(f"{cell},{i}" for i, cell in enumerate(cells))
    X = tl.load(write(tmp_path / "a.csv", text))
    np.testing.assert_array_equal(X.times, np.array(expected, "datetime64[ns]"))
    zoned = any(sign in cells[0][10:] for sign in "Z+") or cells[0][:4] == "1709"
    assert X.source.notes[0].endswith("in UTC") == zoned


@pytest.mark.parametrize(("first", "step"), [(0, 1), (1e6, 10), (1.2e9, 10_000), (3.1e12, 1e7), (5, 0.01)])
def test_a_count_that_is_no_date_stays_a_number(first, step, tmp_path) -> None:
    """A counter of microseconds or nanoseconds since a phone was switched on runs too fast to be a date."""
    times = first + step * np.arange(4)
    pd.DataFrame({"timestamp": times, "x": times}).to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(tl.load(tmp_path / "a.csv").times, times)


def test_a_date_beside_a_time_of_the_day_is_one_clock(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "date,time,x\n2024-03-01,23:59:59.5,1\n2024-03-02,0:00:00.5,2\n"))
    assert X.channel_names == ("x",)
    assert X.times[1] - X.times[0] == np.timedelta64(1, "s")
    X = tl.load(write(tmp_path / "b.csv", "time,x\n10:00:00,1\n10:00:02,2\n"))
    assert X.times.tolist() == [36000, 36002]


def test_a_column_of_dates_is_the_time_whatever_its_name(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "x,when,y\n1,2024-01-01,3\n2,2024-01-02,4\n"))
    assert X.channel_names == ("x", "y")
    assert "time: the column 'when', by its dates" in X.source.notes
    write(tmp_path / "b.csv", "x,from,to\n1,2024-01-01,2024-01-02\n2,2024-01-02,2024-01-03\n")
    with pytest.raises(
        tl.sequences.FormatError, match="the columns 'from' and 'to' may each be the time: name one with time="
    ):
        tl.load(tmp_path / "b.csv")
    assert "left out, as no channel: 'from'" in tl.load(tmp_path / "b.csv", time="to").source.notes


def test_of_two_times_the_dates_win_and_the_other_is_no_channel(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "time,timestamp,x\n0,2024-01-01,3\n1,2024-01-02,4\n"))
    assert X.channel_names == ("x",)
    assert X.times.dtype.kind == "M"
    assert "left out, as another time: 'time'" in X.source.notes
    write(tmp_path / "b.csv", "time,timestamp,x\n0,5,3\n1,6,4\n")
    with pytest.raises(tl.sequences.FormatError, match="'time' and 'timestamp' may each be the time"):
        tl.load(tmp_path / "b.csv")
    assert tl.load(tmp_path / "b.csv", values="x", time="timestamp").times.tolist() == [5, 6]


def test_rows_are_sorted_by_time_and_repeated_stamps_are_kept_for_merging(tmp_path) -> None:
    X = tl.load(write(tmp_path / "a.csv", "time,x\n2,20\n1,10\n3,30\n"))
    assert X[0].ravel().tolist() == [10, 20, 30]
    assert "rows are sorted by time" in X.source.notes
    X = tl.load(write(tmp_path / "b.csv", "time,x\n1,10\n1,20\n3,30\n"))
    assert "times repeat in b.csv: merge_duplicates() makes one sample of each" in X.source.notes
    assert X.merge_duplicates()[0].ravel().tolist() == [15, 30]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["2024-01-01", ""], "line 3: no time in column 'time'"),
        (["0", ""], "lacks some times|line 3: no time"),
        (["2024-01-01 00:00:00Z", "2024-01-01 00:00:01"], "mixes numbers, datetimes, and datetimes with a time zone"),
        (["2024-01-01", "soon"], "line 3: column 'time' holds 'soon': expected a number or a datetime"),
        (["01/02/2024", "02/02/2024"], "line 2: column 'time' holds '01/02/2024': expected a number or a datetime"),
        (["2024-02-30", "2024-02-31"], "line 2: column 'time' holds '2024-02-30'"),
    ],
)
def test_times_that_cannot_be_read_are_named(cells, words, tmp_path) -> None:
    write(tmp_path / "a.csv", "time,x\n" + "\n".join(f"{cell},1" for cell in cells) + "\n")
    with pytest.raises(tl.sequences.FormatError, match=words):
        tl.load(tmp_path / "a.csv")


# --- labels and groups --------------------------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path) -> Path:
    for who in ("anna", "bob"):
        for i, what in enumerate(("walk", "run")):
            one = table().assign(activity=what, session=i + 1, code=f"0{i}")
            one.to_csv(write(tmp_path / "logs" / who / f"{what}_0{i}.csv", ""), index=False)
    return tmp_path / "logs"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("activity", ["run", "walk", "run", "walk"]),
        ("session", [2, 1, 2, 1]),
        ("code", ["01", "00", "01", "00"]),
        (r"([a-z]+)_\d", ["run", "walk", "run", "walk"]),
        (r"_0(\d)", [1, 0, 1, 0]),
        (r"_(\d+)", ["01", "00", "01", "00"]),
        (r"/(anna|bob)/", ["anna", "anna", "bob", "bob"]),
        (r"(anna|bob)", ["anna", "anna", "bob", "bob"]),
        (lambda path: path.stem[:1], ["r", "w", "r", "w"]),
        (lambda path: len(path.stem), [6, 7, 6, 7]),
        (lambda path: "indoors", ["indoors"] * 4),
        (7, [7] * 4),
        (0.5, [0.5] * 4),
    ],
)
@pytest.mark.filterwarnings("ignore:one whole number:UserWarning")  # sessions and codes, which stay channels
def test_labels_and_groups_are_columns_expressions_functions_or_constants(label, expected, people) -> None:
    X = tl.load(people / "**" / "*.csv", label=label, group=label)
    assert X.ids.tolist() == ["anna/run_01", "anna/walk_00", "bob/run_01", "bob/walk_00"]
    assert X.labels.tolist() == X.groups.tolist() == expected
    numeric = {"ax", "ay", "session", "code"} - ({label} if isinstance(label, str) else set())
    assert set(X.channel_names) == numeric


def test_a_misspelt_label_of_a_long_table_is_an_error_and_a_pattern_is_matched(tmp_path):
    file = tmp_path / "of_anna.csv"
    file.write_text("id,time,x,label,group\na,0,1,u,1\na,1,2,u,1\nb,0,1,v,2\nb,1,2,v,2\n")
    assert tl.load(file).labels.tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="label='labl' is not a column of any file; did you mean 'label'"):
        tl.load(file, label="labl")
    with pytest.raises(ValueError, match="group='grup' is not a column of any file; did you mean 'group'"):
        tl.load(file, group="grup")
    with pytest.raises(ValueError, match="finds nothing in of_anna.csv"):
        tl.load(file, label="_([0-9]+)")
    named = tl.load(file, label="_([a-z]+)")
    assert (named.labels.tolist(), named.groups.tolist(), named.channel_names) == (["anna"] * 2, [1, 2], ("x",))


@pytest.mark.parametrize(
    ("label", "error", "words"),
    [
        (
            "activty",
            ValueError,
            "label='activty' is not a column of any file; did you mean 'activity'.*lambda path: 'activty'",
        ),
        (
            r"x(\d)",
            ValueError,
            r"finds nothing in run_01\.csv, walk_00\.csv, run_01\.csv and 1 others: expected a group",
        ),
        ("(", ValueError, "is neither a column nor a valid regular expression"),
        ("", ValueError, "label='': expected the name of a column"),
        (
            "ax",
            ValueError,
            "the label in column 'ax' changes from .* cut the file where it changes, or give label= as a f",
        ),
        (["walk"] * 4, TypeError, r"a list of labels is given with replace\(labels=\.\.\.\)"),
        (lambda path: None, TypeError, "label= gave None for .*run_01.csv: expected a string or a number"),
        (lambda path: float("nan"), TypeError, "label= gave nan"),
    ],
)
def test_labels_that_cannot_be_had_say_why(label, error, words, people) -> None:
    with pytest.raises(error, match=words):
        tl.load(people / "**" / "*.csv", label=label)


def test_a_function_that_fails_names_the_file(people) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        tl.load(people / "**" / "*.csv", group=lambda path: 1 // 0)
    assert "group= was asked about" in caught.value.__notes__[0]


def test_columns_that_are_called_label_and_group_are_taken_as_in_long_tables(tmp_path) -> None:
    for name, label in (("a", "up"), ("b", "down")):
        table().assign(label=label, group=1).to_csv(tmp_path / f"{name}.csv", index=False)
    X = tl.load(tmp_path)
    assert (X.labels.tolist(), X.groups.tolist(), X.channel_names) == (["up", "down"], [1, 1], ("ax", "ay"))
    table().to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(
        ValueError, match=r"the column 'label' is in 2 of 3 files, and not in c\.csv: expected it in all"
    ):
        tl.load(tmp_path)


# --- long tables --------------------------------------------------------------------------------------------------


def test_a_long_table_is_still_one_and_its_columns_can_be_named(tmp_path) -> None:
    frame = pd.concat([table().assign(id=name, activity=name * 2) for name in "ab"])
    frame.to_csv(tmp_path / "long.csv", index=False)
    frame.to_parquet(tmp_path / "long.parquet", index=False)
    for suffix in ("csv", "parquet"):
        X = tl.load(tmp_path / f"long.{suffix}", time="t", label="activity", values=["ay"])
        assert X.ids.tolist() == ["a", "b"]
        assert X.labels.tolist() == ["aa", "bb"]
        np.testing.assert_array_equal(X[0], frame[["ay"]][:5])
        np.testing.assert_array_equal(X.times[:5], np.arange(5) / 10)
    semicolons = frame.drop(columns="activity").to_csv(index=False, sep=";", decimal=",")
    X = tl.load(write(tmp_path / "s.csv", semicolons))
    np.testing.assert_array_equal(X.values, frame[["ax", "ay"]])
    np.testing.assert_array_equal(X.times[:5], np.arange(5) / 10)


def test_several_files_with_ids_are_joined_under_both_names(tmp_path) -> None:
    for day in ("mon", "tue"):
        pd.concat([table().assign(id=i) for i in (7, 8)]).to_csv(tmp_path / f"{day}.csv", index=False)
    X = tl.load(tmp_path, time="t", group=r"(\w+)")
    assert X.ids.tolist() == ["mon/7", "mon/8", "tue/7", "tue/8"]
    assert X.groups.tolist() == ["mon", "mon", "tue", "tue"]
    saved = [tl.Sequences([[1.0], [2.0]], labels=[1, 2]).save(tmp_path / f"{name}.npz") for name in "xy"]
    assert tl.load(saved).labels.tolist() == [1, 2, 1, 2]


# --- tables in memory ---------------------------------------------------------------------------------------------


def test_tables_and_arrays_load_like_files(tmp_path) -> None:
    import polars as pl

    known = {"anna_1": table(5), "bob_2": table(3)}
    for name, one in known.items():
        one.to_csv(tmp_path / f"{name}.csv", index=False)
    expected = tl.load(tmp_path, group=r"(\w+)_")
    pairs = list(known.items())
    for source in (known, pairs, [(name, pl.from_pandas(one)) for name, one in pairs]):
        assert tl.load(source, group=r"(\w+)_").equals(expected)
        assert tl.Sequences.from_frames(source, group=r"(\w+)_").equals(expected)
    X = tl.load([one for _, one in pairs])
    assert X.ids is None
    assert X.replace(ids=list(known), groups=expected.groups).equals(expected)
    values = [RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))]
    X = tl.load([("a", values[0]), ("b", values[1])], label=lambda path: path.name)
    assert (X.ids.tolist(), X.labels.tolist()) == (["a", "b"], ["a", "b"])
    np.testing.assert_array_equal(X[1], values[1])


def test_zones_of_tables_become_utc() -> None:
    frame = table().assign(t=STAMPS.tz_localize("Europe/Paris"))
    X = tl.load([frame])
    np.testing.assert_array_equal(X.times, (STAMPS - pd.Timedelta("1h")).to_numpy().astype("datetime64[ns]"))


@pytest.mark.parametrize(
    ("frames", "error", "words"),
    [
        ([], ValueError, "empty"),
        (table(), TypeError, r"frames is one DataFrame: expected a list of tables"),
        ([("a", table()), ("a", table())], ValueError, "frames has 'a' twice"),
        ([("a", table()), table()], TypeError, r"frames\[1\] has no name but others have"),
        ([table()[:0]], ValueError, "no rows"),
        ([np.zeros((2, 2, 2))], ValueError, r"has shape \(2, 2, 2\): expected \(time,\) or \(time, channel\)"),
        ([table(), table()[["t", "ax"]]], ValueError, "the tables have 2 sets of channels"),
    ],
)
def test_tables_that_do_not_fit_are_refused(frames, error, words) -> None:
    with pytest.raises(error, match=words):
        tl.Sequences.from_frames(frames)


# --- what does not fit --------------------------------------------------------------------------------------------


def test_other_sets_of_channels_name_files_and_the_way_out(tmp_path) -> None:
    for name in "abcd":
        table().to_csv(tmp_path / f"{name}.csv", index=False)
    table().rename(columns={"ay": "az"}).to_csv(tmp_path / "odd.csv", index=False)
    with pytest.raises(ValueError) as caught:
        tl.load(tmp_path)
    assert str(caught.value) == (
        "the files have 2 sets of channels: (ax, ay) in a.csv, b.csv, c.csv and 1 others; (ax, az) in odd.csv: take "
        "those that all have with values=['ax'], or load them apart"
    )
    assert tl.load(tmp_path, values=["ax"]).channel_names == ("ax",)


def test_channels_in_another_order_are_put_in_the_order_of_the_first(tmp_path) -> None:
    one = table()
    one.to_csv(tmp_path / "a.csv", index=False)
    one[["ay", "t", "ax"]].to_csv(tmp_path / "b.csv", index=False)
    X = tl.load(tmp_path)
    np.testing.assert_array_equal(X[0], X[1])
    assert "channels are put in the order of the first file (in b.csv)" in X.source.notes


def test_mixed_clocks_are_refused_and_mixed_rates_are_told(tmp_path) -> None:
    one = table()
    one.to_csv(tmp_path / "a.csv", index=False)
    one.drop(columns="t").to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(ValueError, match=r"times of several kinds: numbers in a\.csv; no times in b\.csv"):
        tl.load(tmp_path)
    for zone in ("", "Z"):
        write(tmp_path / f"zone{zone}.csv", f"t,ax,ay\n2024-01-01 00:00:00{zone},1,2\n")
    with pytest.raises(ValueError, match=r"dates without a time zone in zone\.csv; dates in UTC in zoneZ\.csv"):
        tl.load(tmp_path / "zone*.csv")
    one.assign(t=2 * one["t"]).to_csv(tmp_path / "b.csv", index=False)
    with pytest.warns(UserWarning, match=r"with a step of 0\.1 in a\.csv; 0\.2 in b\.csv: resample\(rate=") as told:
        X = tl.load(tmp_path / "[ab].csv")
    assert told[0].filename == __file__
    assert "the recordings are sampled at different rates, with a step of 0.1 in a.csv; 0.2 in b.csv" in X.source.notes
    one.assign(t=1.01 * one["t"]).to_csv(tmp_path / "b.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.load(tmp_path / "[ab].csv")


RUBBISH = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n  \n", "is empty"),
    "header": (b"t,ax,ay\n", "no rows"),
    "binary": (bytes(range(256)) * 4, "is not UTF-8|holds binary data|not a whole|not in NumPy|is not JSON"),
    "zeros": (b"\0" * 300, "holds binary data|not a whole|not in NumPy"),
}


@pytest.mark.parametrize("kind", RUBBISH)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npy", ".npz", ".parquet", ".wav", ".mat", ".jsonl"])
def test_what_is_no_recording_is_told_and_can_be_skipped(kind, suffix, tmp_path) -> None:
    good = [table(3), table(4)]
    for name, one in zip("ac", good, strict=True):
        if suffix == ".npy":
            np.save(tmp_path / f"{name}.npy", one.to_numpy())
        elif suffix == ".wav":
            wavfile.write(tmp_path / f"{name}.wav", 10, one[["ax", "ay"]].fillna(0).to_numpy(np.float32))
        else:
            WRITERS[suffix](one, tmp_path / f"{name}{suffix}")
    whole = tl.load(tmp_path)
    content, words = RUBBISH[kind]
    (tmp_path / f"b{suffix}").write_bytes(content)
    with pytest.raises(tl.sequences.FormatError, match=rf"^b\{suffix}"):
        tl.load(tmp_path)
    with pytest.warns(UserWarning, match=rf"^1 of 3 files are left out:\n  .*b\{suffix}: ") as told:
        X = tl.load(tmp_path, on_error="skip")
    assert told[0].filename == __file__
    assert X.equals(whole)
    (path,) = X.source.skipped
    assert path == str(tmp_path / f"b{suffix}")
    assert "left out: 1" in repr(X.source)
    if suffix in (".csv", ".tsv"):
        with pytest.raises(tl.sequences.FormatError, match=words):
            tl.load(tmp_path)


@pytest.mark.parametrize("suffix", [".wav", ".parquet", ".npz", ".npy"])
def test_a_recording_that_is_cut_is_refused(suffix, tmp_path) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".wav":
        wavfile.write(path, 100, RNG.integers(-9, 9, (40, 2), dtype=np.int16))
    elif suffix == ".npy":
        np.save(path, RNG.normal(size=(40, 2)))
    else:
        WRITERS[suffix](table(40), path)
    content = path.read_bytes()
    assert tl.load(path).lengths.tolist() == [40]
    for end in range(0, len(content), max(1, len(content) // 100)):
        path.write_bytes(content[:end])
        with pytest.raises(tl.sequences.FormatError):
            tl.load(path)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    suffix=st.sampled_from([".wav", *WRITERS]),
    changes=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from(["cut", "drop", "flip", "add"]), st.binary(min_size=1, max_size=5)),
        max_size=4,
    ),
)
def test_damaged_recordings_are_read_or_refused_and_nothing_else(suffix, changes, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    if suffix == ".wav":
        wavfile.write(path, 100, np.arange(40, dtype=np.int16).reshape(20, 2))
    else:
        WRITERS[suffix](table(20).assign(label="up"), path)
    content = path.read_bytes()
    for share, kind, extra in changes:
        at = int(share * len(content))
        after = {
            "cut": b"",
            "drop": content[at + len(extra) :],
            "flip": extra + content[at + len(extra) :],
            "add": extra + content[at:],
        }
        content = content[:at] + after[kind]
    path.write_bytes(content)
    with warnings.catch_warnings(), contextlib.suppress(tl.sequences.FormatError):
        warnings.simplefilter("error")
        assert len(tl.load([path])) >= 1


def test_a_bar_counts_files(tmp_path, bars) -> None:
    for number in range(300):
        write(tmp_path / f"{number}.csv", "t,x\n0,1\n")
    tl.load(tmp_path)
    assert [(bar.options["total"], bar.count, bar.options["unit"]) for bar in bars] == [(300, 300, " file")]


def test_where_nothing_can_be_read_nothing_is_given(tmp_path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.csv", "")
    with pytest.raises(tl.sequences.FormatError, match=r"none of 2 files can be read:\n  .*a\.csv: is empty"):
        tl.load(tmp_path, on_error="skip")


def test_a_folder_may_hold_other_things(tmp_path) -> None:
    table().to_csv(tmp_path / "a.csv", index=False)
    for name in ("README.txt", ".DS_Store", "notes.md", "settings.json", ".hidden.csv", "plot.png"):
        write(tmp_path / name, "no recording")
    table().to_csv(write(tmp_path / "old" / "b.csv", ""), index=False)
    (tmp_path / "folder.csv").mkdir()
    assert tl.load(tmp_path).ids.tolist() == ["a"]
    assert tl.load(tmp_path / "**" / "*.csv").ids.tolist() == ["a", "b"]


def test_folders_without_recordings_say_where_they_are(tmp_path) -> None:
    table().to_csv(write(tmp_path / "logs" / "anna" / "a.csv", ""), index=False)
    with pytest.raises(
        FileNotFoundError,
        match=r"no recordings, but \.csv files in folders, .*only anna has recordings: load\('.*logs/\*\*/\*\.csv'\)",
    ):
        tl.load(tmp_path / "logs")
    write(tmp_path / "texts" / "a.txt", "t x\n0 1\n")
    with pytest.raises(FileNotFoundError, match=r"but \.txt files: load\('.*texts/\*\.txt'\)"):
        tl.load(tmp_path / "texts")
    with pytest.raises(FileNotFoundError, match=r"no file matches '.*\*\.tsv'"):
        tl.load(tmp_path / "logs" / "*.tsv")


def test_one_that_is_called_test_among_others_is_a_recording(tmp_path) -> None:
    for name in ("walk_test", "run", "walk"):
        table().to_csv(tmp_path / f"{name}.csv", index=False)
    assert tl.load(tmp_path).ids.tolist() == ["run", "walk", "walk_test"]


def test_links_that_lead_back_are_followed_once(tmp_path) -> None:
    for name in ("a/one", "a/b/two"):
        table().to_csv(write(tmp_path / f"{name}.csv", ""), index=False)
    for number in range(5):
        (tmp_path / "a" / f"up{number}").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "a" / "b" / f"self{number}").symlink_to(tmp_path / "a" / "b", target_is_directory=True)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "a" / "b", target_is_directory=True)
    assert tl.load(tmp_path / "**" / "*.csv").ids.tolist() == ["one", "two"]
    (tmp_path / "a" / "loop.csv").symlink_to(tmp_path / "a" / "loop.csv")
    (tmp_path / "a" / "nowhere.csv").symlink_to(tmp_path / "nothing")
    for source in (tmp_path / "a", tmp_path / "**" / "*.csv"):
        with pytest.raises(OSError, match=r"loop\.csv"):
            tl.load(source)
        with pytest.warns(UserWarning, match=r"2 of \d files are left out:\n  .*loop\.csv: .*\n  .*nowhere\.csv: "):
            assert "one" in tl.load(source, on_error="skip").ids


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path) -> None:
    table().to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.csv").chmod(0)
    with pytest.raises(PermissionError, match=r"a\.csv"):
        tl.load(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"time": 1.5}, "time=1.5: expected the name of a column, or its position"),
        ({"values": []}, "values=.*at least one column"),
        ({"values": ["ax", "ax"]}, "none twice"),
        ({"values": ["axx"]}, "values='axx' is not a column: it has 't', 'ax', 'ay'; did you mean"),
        ({"values": 9}, "values=9: expected a position among its 3 columns"),
        ({"layout": "ct"}, r"layout='ct' is for arrays \(\.npy, \.npz, \.mat\), and .*a\.csv is none"),
        ({"size": 4}, "size=4 is for videos"),
        ({"on_error": "ignore"}, "on_error='ignore'"),
        ({"split": "train"}, "no official split"),
    ],
)
def test_options_that_do_not_fit_are_refused(asked, words, tmp_path) -> None:
    table().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises((ValueError, TypeError), match=words):
        tl.load(tmp_path / "a.csv", **asked)


def test_columns_are_not_asked_of_data_sets(tmp_path) -> None:
    path = tl.Sequences([[1.0]], labels=[1]).save(tmp_path / "a.ts")
    for source in (path, "JapaneseVowels"):
        with pytest.raises(ValueError, match="label='x' is for recordings in columns or arrays, and .* is none"):
            tl.load(source, label="x")
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match="time='t': its columns have no names; give positions, such as time=0"):
        tl.load(tmp_path / "a.npy", time="t")


# --- many ---------------------------------------------------------------------------------------------------------


def test_neither_threads_nor_other_files_change_a_recording(tmp_path, monkeypatch) -> None:
    for number in range(40):
        table(1 + number % 7).to_csv(tmp_path / f"{number:02}.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = tl.load(tmp_path)
        monkeypatch.setattr(recordings, "_max_threads", lambda: 4)
        assert tl.load(tmp_path).equals(X)
        order = sorted(tmp_path.iterdir(), reverse=True)
        assert tl.load(order)[::-1].equals(X)
        assert tl.concat([tl.load(path) for path in sorted(tmp_path.iterdir())]).equals(X)


def test_a_file_that_pandas_wrote_is_read_to_the_last_bit(tmp_path) -> None:
    values = RNG.normal(size=(300, 4)) * 10.0 ** RNG.integers(-300, 300, (300, 4))
    pd.DataFrame(values, columns=list("abcd")).to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(tl.load(tmp_path / "a.csv")[0], values)


def test_what_is_loaded_can_be_sliced_saved_and_sent(tmp_path) -> None:
    import pickle

    table().to_csv(tmp_path / "a.csv", index=False)
    X = tl.load([tmp_path / "a.csv"])
    for other in (X[:1], X.standardize(), X.copy(), pickle.loads(pickle.dumps(X)), X.replace(labels=[1])):
        assert other.source.notes == X.source.notes
    described = X.describe()
    assert "time: the column 't', by its name" in described.text
    assert json.loads(described.json())["source"]["notes"] == list(X.source.notes)
    assert tl.load(X.save(tmp_path / "b.npz")).equals(X)
    assert tl.load(tmp_path / "b.npz").source is None


def test_a_word_that_is_no_column_is_no_label_and_no_group(tmp_path) -> None:
    for name in ("anna_1", "bob_1"):
        table().to_csv(tmp_path / f"{name}.csv", index=False)
    for role in ("label", "group"):
        with pytest.raises(
            ValueError, match=rf"{role}='subject' is not a column of any file: they have 't', .*lambda path"
        ):
            tl.load(tmp_path, **{role: "subject"})
        said = tl.load(tmp_path, **{role: lambda path: "subject"})
        assert getattr(said, f"{role}s").tolist() == ["subject"] * 2


def test_all_files_that_cannot_be_read_are_named_at_once_with_the_way_out(tmp_path) -> None:
    for i in range(12):
        (tmp_path / f"f{i:02}.csv").write_text("t,x\n0,1\n1,2\n" if i % 4 else "" if i % 8 else "t,x\n0,1\n1,b\n")
    with pytest.raises(tl.sequences.FormatError) as caught:
        tl.load(tmp_path)
    assert 'on_error="skip" leaves them out' in str(caught.value)
    assert "3 of 12 files cannot be read" in str(caught.value)
    for name in ("f00.csv: line 3: column 'x' holds 'b'", "f04.csv: is empty", "f08.csv"):
        assert name in str(caught.value)
    with pytest.warns(UserWarning, match="3 of 12 files are left out"):
        assert len(tl.load(tmp_path, on_error="skip")) == 9
