"""Tables and grids in, tables out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, strategies as st

import timelike as tl

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
both = pytest.mark.parametrize("kind", KINDS)


@both
def test_rows_are_gathered_by_id_and_sorted_by_time(kind) -> None:
    table = KINDS[kind]({"who": ["b", "a", "b", "a"], "t": [2, 1, 1, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    data = tl.Sequences.from_frame(table, id="who", time="t")
    assert data.ids.tolist() == ["b", "a"]
    assert [sequence.ravel().tolist() for sequence in data] == [[3.0, 1.0], [4.0, 2.0]]
    assert data.times.tolist() == [1, 2, 0, 1]
    assert data.channel_names == ("x",)


@both
def test_without_time_rows_keep_their_order(kind) -> None:
    table = KINDS[kind]({"who": [7, 3, 7], "x": [1, 2, 3], "y": [4, 5, 6], "note": ["a", "b", "c"]})
    data = tl.Sequences.from_frame(table, id="who")
    assert data[0].tolist() == [[1, 4], [3, 6]]
    assert data.ids.tolist() == [7, 3]
    assert data.times is None


@both
def test_labels_and_groups_come_once_per_sequence(kind) -> None:
    table = KINDS[kind]({"who": [1, 1, 2], "x": [1.0, 2.0, 3.0], "class": ["u", "u", "v"], "subject": [5, 5, 6]})
    data = tl.Sequences.from_frame(table, id="who", label="class", group="subject")
    assert data.labels.tolist() == ["u", "v"]
    assert data.groups.tolist() == [5, 6]


@both
def test_nulls_become_nan(kind) -> None:
    table = KINDS[kind]({"who": [1, 1], "x": [None, 2.0], "n": [3, None]})
    data = tl.Sequences.from_frame(table, id="who")
    np.testing.assert_array_equal(data[0], [[np.nan, 3], [2, np.nan]])


def test_nullable_integers_of_pandas_become_nan_too() -> None:
    table = pd.DataFrame({"who": [1, 1], "x": pd.array([None, 2], dtype="Int64")})
    np.testing.assert_array_equal(tl.Sequences.from_frame(table, id="who")[0].ravel(), [np.nan, 2])


@both
def test_time_zones_become_utc(kind) -> None:
    when = pd.to_datetime(["2020-01-01 12:00", "2020-07-01 12:00"]).tz_localize("Europe/Berlin")
    table = pd.DataFrame({"who": [1, 1], "t": when, "x": [1.0, 2.0]})
    table = table if kind == "pandas" else pl.from_pandas(table)
    data = tl.Sequences.from_frame(table, id="who", time="t")
    assert data.times.tolist() == np.array(["2020-01-01T11:00", "2020-07-01T10:00"], "datetime64[ns]").tolist()


def test_dates_and_other_tables() -> None:
    table = pl.DataFrame({"who": [1, 1], "t": ["2020-01-02", "2020-01-01"], "x": [1.0, 2.0]})
    table = table.with_columns(pl.col("t").str.to_date())
    for source in (table, table.to_arrow()):
        assert tl.Sequences.from_frame(source, id="who", time="t").values.ravel().tolist() == [2.0, 1.0]


@both
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"id": "nobody"}, ValueError, "id='nobody' is not a column of the table: it has 'who', 't', 'x', 'c', 's'"),
        ({"id": "who", "time": "when"}, ValueError, "time='when' is not a column"),
        ({"id": "who", "values": ["z"]}, ValueError, "values='z' is not a column"),
        ({"id": "who", "values": []}, ValueError, "values is empty"),
        ({"id": "who", "values": ["s"]}, TypeError, "values column 's' has dtype String"),
        ({"id": "who", "time": "s"}, ValueError, "column 's' holds 'a': expected a number or a datetime"),
        ({"id": None}, TypeError, "id=None: expected the column that tells sequences apart"),
        ({"id": "who", "label": "c"}, ValueError, "the label of id 1 changes from 1 to 2"),
        ({"id": "who", "group": "c"}, ValueError, "the group of id 1 changes from 1 to 2"),
        ({"id": "who", "time": "t"}, ValueError, "times of sequence 0 repeats"),
        ({"id": "n"}, ValueError, "id column 'n' has no id in row 1"),
        ({"id": "who", "time": "n"}, ValueError, "time column 'n' is empty in row 1"),
        ({"id": "who", "label": "n"}, ValueError, "label column 'n' is empty in row 1"),
    ],
)
def test_errors_name_the_column_and_the_way_out(kind, arguments, error, words) -> None:
    columns = {"who": [1, 1, 2], "t": [0, 0, 0], "x": [1.0, 2.0, 3.0], "c": [1, 2, 3], "s": ["a", "b", "c"]}
    table = KINDS[kind](columns | {"n": [1.0, None, 2.0]})
    with pytest.raises(error) as caught:
        tl.Sequences.from_frame(table, **arguments)
    assert words.replace("it has 'who', 't', 'x', 'c', 's'", "it has 'who', 't', 'x', 'c', 's', 'n'") in str(
        caught.value
    )


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a pandas or polars DataFrame"):
        tl.Sequences.from_frame([1, 2], id="x")
    with pytest.raises(TypeError, match=r"collect\(\)"):
        tl.Sequences.from_frame(pl.LazyFrame({"x": [1]}), id="x")
    with pytest.raises(ValueError, match="no numeric column besides 'id'"):
        tl.Sequences.from_frame(pd.DataFrame({"id": [1], "s": ["a"]}), id="id")
    with pytest.raises(ValueError, match="no rows"):
        tl.Sequences.from_frame(pd.DataFrame({"id": [1], "x": [1.0]})[:0], id="id")


@both
@given(seed=st.integers(0, 2**32 - 1))
def test_to_frame_is_the_inverse_of_from_frame(kind, seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    lengths = rng.integers(1, 5, n)
    values = rng.normal(size=(lengths.sum(), int(rng.integers(1, 4))))
    values[rng.random(values.shape) < 0.2] = np.nan
    clock = np.cumsum(rng.integers(1, 9, lengths.sum()))
    names = ["z", "absent", "a"]
    known = {
        "ids": [rng.permutation(n), np.array([f"i{k}" for k in rng.permutation(n)])][rng.integers(2)],
        "times": [None, clock / 3, clock.astype("datetime64[s]")][rng.integers(3)],
        "groups": [None, rng.integers(0, 3, n), np.array(["s", "t"])[rng.integers(0, 2, n)]][rng.integers(3)],
        "labels": [None, rng.integers(0, 3, n), rng.normal(size=n), np.array(["z", "a"])[rng.integers(0, 2, n)]][
            seed % 4
        ],
    }
    known |= {"class_names": names} if seed % 4 == 3 else {}
    known |= {"channel_names": ["p", "q", "r"][: values.shape[1]]} if rng.random() < 0.5 else {}
    data = tl.Sequences.from_packed(values, np.concatenate([[0], np.cumsum(lengths)]), **known)
    table = data.to_frame(kind)
    columns = {role: role for role in ("time", "label", "group") if role in table.columns}
    channels = data.channel_names or [f"value_{i}" for i in range(values.shape[1])]
    assert next(iter(table.columns)) == "id"
    assert set(table.columns) == {"id", *columns, *channels}
    assert tl.Sequences.from_frame(table, id="id", **columns).equals(data)


@both
def test_positions_stand_in_for_ids(kind) -> None:
    table = tl.Sequences([[1.0, 2.0], [3.0]]).to_frame(kind)
    assert list(table["id"]) == [0, 0, 1]
    assert list(table.columns) == ["id", "value_0"]


@both
def test_half_precision_becomes_single(kind) -> None:
    table = tl.Sequences(np.ones((1, 2), np.float16)).to_frame(kind)
    assert "float32" in str(table["value_0"].dtype).lower()


def test_tables_refuse_what_has_no_column() -> None:
    with pytest.raises(ValueError, match="frames of shape"):
        tl.Sequences(np.ones((1, 2, 1, 3, 3))).to_frame()
    with pytest.raises(ValueError, match=r"'a' occurs more than once.*replace\(ids="):
        tl.Sequences([[1.0], [2.0]], ids=["a", "a"]).to_frame()
    with pytest.raises(ValueError, match="the channel 'time'"):
        tl.Sequences([[1.0]], channel_names=["time"]).to_frame()
    with pytest.raises(ValueError, match="expected one of 'pandas', 'polars'"):
        tl.Sequences([[1.0]]).to_frame("excel")


@both
def test_many_rows_go_through_whole_arrays(kind) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    who, x = rng.integers(0, 500, n), rng.random(n)
    data = tl.Sequences.from_frame(KINDS[kind]({"who": who, "t": rng.permutation(n), "x": x}), id="who", time="t")
    assert data.lengths.sum() == n
    first = data.ids[0]
    np.testing.assert_allclose(np.sort(data[0].ravel()), np.sort(x[who == first]))


# --- grids --------------------------------------------------------------------------------------------------------

DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[ns]")


def test_a_field_becomes_one_sequence_of_images() -> None:
    block = np.arange(24.0).reshape(2, 3, 4)
    grid = xr.DataArray(block, dims=("lat", "time", "lon"), coords={"time": DAYS}, name="sst")
    data = tl.Sequences.from_xarray(grid)
    assert data.shape == (1, 3, 1, 2, 4)
    np.testing.assert_array_equal(data[0][1, 0], block[:, 1])
    assert data.times.tolist() == DAYS.tolist()
    assert data.channel_names == ("sst",)


def test_one_dimension_left_is_the_channels() -> None:
    grid = xr.DataArray(np.zeros((3, 2)), dims=("time", "station"), coords={"station": ["north", "south"]})
    assert tl.Sequences.from_xarray(grid).channel_names == ("north", "south")
    assert tl.Sequences.from_xarray(grid).times is None


def test_items_are_sequences_and_nothing_left_is_one_channel() -> None:
    grid = xr.DataArray(
        np.arange(6.0).reshape(3, 2), dims=("time", "run"), coords={"run": [10, 20], "time": [0.5, 1, 2]}
    )
    data = tl.Sequences.from_xarray(grid, item="run")
    assert data.ids.tolist() == [10, 20]
    assert data[1].ravel().tolist() == [1, 3, 5]
    assert data.times.tolist() == [0.5, 1, 2] * 2


def test_three_dimensions_left_are_channel_height_width() -> None:
    grid = xr.DataArray(np.zeros((5, 2, 3, 4)), dims=("time", "level", "lat", "lon"))
    assert tl.Sequences.from_xarray(grid).shape == (1, 5, 2, 3, 4)


def test_variables_of_a_dataset_are_channels() -> None:
    grid = xr.Dataset(
        {"u": (("time", "y", "x"), np.zeros((3, 2, 2))), "v": (("time", "y", "x"), np.ones((3, 2, 2)))}, {"time": DAYS}
    )
    data = tl.Sequences.from_xarray(grid)
    assert data.shape == (1, 3, 2, 2, 2)
    assert data.channel_names == ("u", "v")
    assert data[0][:, 1].min() == 1
    flat = tl.Sequences.from_xarray(grid.isel(x=0, y=0))
    assert flat.shape == (1, 3, 2)


def test_lead_times_become_seconds() -> None:
    grid = xr.DataArray(
        np.zeros(2), dims="time", coords={"time": np.array([0, 90], "timedelta64[m]").astype("timedelta64[ns]")}
    )
    assert tl.Sequences.from_xarray(grid).times.tolist() == [0, 5400]


@pytest.mark.parametrize(
    ("grid", "arguments", "error", "words"),
    [
        (np.zeros(3), {}, TypeError, "expected an xarray DataArray or Dataset"),
        (xr.DataArray(np.zeros(3), dims="t"), {}, ValueError, "time='time' is not a dimension of grid: it has ('t',)"),
        (xr.DataArray(np.zeros(3), dims="time"), {"item": "run"}, ValueError, "item='run' is not a dimension"),
        (xr.DataArray(np.zeros((1,) * 5), dims=("time", *"abcd")), {}, ValueError, "has 4 dimensions"),
        (
            xr.Dataset({"a": ("time", np.zeros(2)), "b": (("time", "x"), np.zeros((2, 1)))}),
            {},
            ValueError,
            "variable 'b'",
        ),
        (xr.Dataset(), {}, ValueError, "without variables"),
        (xr.DataArray(np.zeros(2), dims="time", coords={"time": [1, 0]}), {}, ValueError, "decreases"),
    ],
)
def test_grids_that_do_not_fit_are_refused(grid, arguments, error, words) -> None:
    with pytest.raises(error) as caught:
        tl.Sequences.from_xarray(grid, **arguments)
    assert words in str(caught.value)


def test_datetimes_that_nanoseconds_cannot_count_are_refused() -> None:
    table = pl.DataFrame({"id": [1], "t": ["1066-10-14"], "x": [1.0]}).with_columns(pl.col("t").str.to_date())
    with pytest.raises(ValueError, match="1678 to 2261"):
        tl.Sequences.from_frame(table, id="id", time="t")


def test_pandas_columns_may_be_called_by_numbers() -> None:
    table = pd.DataFrame([[7, 2.0, 0], [7, 3.0, 1]])
    s = tl.Sequences.from_frame(table, id=0, time=2)
    assert s.channel_names == ("1",)
    assert s[0].ravel().tolist() == [2, 3]
    assert tl.Sequences.from_frame(table, id=0, values=[2, 1])[0].tolist() == [[0, 2], [1, 3]]


def test_columns_of_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match="table has the column 'x' twice"):
        tl.Sequences.from_frame(pd.DataFrame([[1, 2.0, 3.0]], columns=["id", "x", "x"]), id="id")


@both
def test_integer_nanoseconds_are_not_taken_for_exact_times(kind) -> None:
    table = KINDS[kind]({"id": [1, 1], "t": [1704067200000000000, 1704067200000000001], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="integers beyond 2"):
        tl.Sequences.from_frame(table, id="id", time="t")


def test_time_cannot_be_the_item_too() -> None:
    with pytest.raises(ValueError, match="item='time' is also the time"):
        tl.Sequences.from_xarray(xr.DataArray(np.ones((2, 3)), dims=("time", "x")), item="time")


# --- the time is found by the same rules with and without ids -----------------------------------------------------

TIMES = {"timestamp": 1, "t": 1, "date": 1, "Time": 1, "time [ms]": 1, "time": 1, "Elapsed (s)": 1}


def named_time(name):
    """Two recordings whose rows are shuffled among each other; times of the second begin anew."""
    return {"id": ["a", "b", "a", "b", "a"], name: [2.0, 0.0, 1.0, 1.5, 0.0], "x": [1.0, 2.0, 3.0, 4.0, 5.0]}


@both
@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_found_beside_an_id_as_without_one(kind, name, tmp_path) -> None:
    columns = named_time(name)
    frame = pd.DataFrame(columns)
    frame.sort_values(["id", name]).to_csv(tmp_path / "long.csv", index=False)
    frame.sort_values(["id", name]).to_parquet(tmp_path / "long.parquet", index=False)
    rising = KINDS[kind](frame.sort_values(["id", name]).to_dict("list"))
    for data in (
        tl.Sequences.from_frame(rising, id="id"),
        tl.Sequences.from_frames([rising]),
        tl.load(tmp_path / "long.csv"),
        tl.load(tmp_path / "long.parquet"),
        tl.load([tmp_path / "long.csv"], values=["x"]),
    ):
        assert data.channel_names == ("x",)
        assert data.times.tolist() == [0.0, 1.0, 2.0, 0.0, 1.5]
        assert data.values.ravel().tolist() == [5.0, 3.0, 1.0, 2.0, 4.0]
        assert data.source is None or any(f"time: the column {name!r}" in note for note in data.source.notes)
    assert tl.load(tmp_path / "long.csv").source.notes  # what was guessed is said
    if name != "time":
        assert tl.Sequences.from_frame(rising, id="id").source.notes == (f"time: the column {name!r}, by its name",)
    as_channel = tl.Sequences.from_frame(rising, id="id", values=[name, "x"])
    assert as_channel.times is None
    assert as_channel.channel_names == (name, "x")


@both
def test_a_name_that_may_be_a_time_is_one_only_where_it_rises_within_each_id(kind) -> None:
    falls = {"id": [1, 1, 1, 2, 2, 2], "t": [5.0, 1.0, 4.0, 2.0, 9.0, 0.0], "x": [1.0] * 6}
    data = tl.Sequences.from_frame(KINDS[kind](falls), id="id")
    assert data.channel_names == ("t", "x")
    assert data.times is None
    assert data.source.notes == ("'t' does not rise as a time does, and is a channel",)
    woven = falls | {"id": [1, 2, 1, 2, 1, 2], "t": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]}
    assert tl.Sequences.from_frame(KINDS[kind](woven), id="id").times.tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]


def test_a_channel_that_would_come_back_as_the_time_is_not_written_to_text(tmp_path) -> None:
    data = tl.Sequences([[[0.0, 1.0], [1.0, 2.0]]], channel_names=["t", "x"])
    with pytest.raises(ValueError, match=r"the channel 't' would be read back from \.csv as the time"):
        data.save(tmp_path / "t.csv")
    data.save(tmp_path / "t.parquet")
    again = tl.load(tmp_path / "t.parquet")
    assert again.channel_names == ("t", "x")
    assert again.times is None


# --- what is missing in a table, in every dtype -------------------------------------------------------------------

DTYPES = ["Int64", "Float64", "boolean", "string", "category", "int64[pyarrow]", "string[pyarrow]", "double[pyarrow]"]


def column(dtype):
    words = ["x", None, "x", "x"]
    entries = {"boolean": [True, None, True, True]}.get(
        dtype, words if dtype[:6] in ("string", "catego") else [1, None, 1, 1]
    )
    return pd.Categorical(entries) if dtype == "category" else pd.array(entries, dtype=dtype)


@both
def test_a_text_column_with_a_missing_cell_is_left_out(kind) -> None:
    table = KINDS[kind]({"id": [1, 1, 2, 2], "t": [0.0, 1.0, 0.0, 1.0], "note": ["x", None, None, "y"], "v": [1.0] * 4})
    assert tl.Sequences.from_frame(table, id="id").channel_names == ("v",)
    for data in (tl.Sequences.from_frames([table]), tl.load([table])):
        assert data.channel_names == ("v",)
        assert "left out, as no channel: 'note'" in data.source.notes


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_missing_cell_of_any_dtype_is_missing_or_named(dtype) -> None:
    table = pd.DataFrame({"id": ["a", "a", "b", "b"], "w": column(dtype), "v": [1.0, 2.0, 3.0, 4.0]})
    numeric = dtype not in ("string", "category", "string[pyarrow]")
    one = tl.Sequences.from_frames([table.drop(columns="id")])
    assert one.channel_names == (("w", "v") if numeric else ("v",))
    if numeric:
        assert np.isnan(one[0][1, 0])
        assert np.isnan(tl.Sequences.from_frame(table, id="id", values=["w"])[0]).ravel().tolist() == [False, True]
    for role in ("label", "group", "time"):
        with pytest.raises(ValueError, match=rf"{role} column 'w' is empty in row 1"):
            tl.Sequences.from_frame(table, id="id", **{role: "w"})
    for role in ("label", "group"):
        with pytest.raises(ValueError, match=rf"no {role} in column 'w', row 1: expected one in every row"):
            tl.Sequences.from_frames([table.drop(columns="id")], **{role: "w"})
    with pytest.raises(ValueError, match=r"(no time|column 'w' has dtype bool|column 'w' holds)"):
        tl.Sequences.from_frames([table.drop(columns="id")], time="w")
    full = table.dropna()
    assert tl.Sequences.from_frame(full, id="id", label="w", values=["v"]).labels is not None


def test_times_with_a_zone_are_in_utc_whatever_holds_them() -> None:
    when = pd.Series(pd.date_range("2024-03-31 00:30", periods=4, freq="h", tz="Europe/Paris"))  # the clock changes
    expected = np.array(
        ["2024-03-30T23:30", "2024-03-31T00:30", "2024-03-31T01:30", "2024-03-31T02:30"], "datetime64[ns]"
    )
    for held in (when, when.astype("timestamp[us, tz=Europe/Paris][pyarrow]"), when.astype(str)):
        table = pd.DataFrame({"id": ["a"] * 4, "when": held, "v": [1.0, 2.0, 3.0, 4.0]})
        for data in (
            tl.Sequences.from_frame(table, id="id"),
            tl.Sequences.from_frame(table, id="id", time="when"),
            tl.Sequences.from_frames([table.drop(columns="id")]),
        ):
            np.testing.assert_array_equal(data.times, expected)
    absent = pd.DataFrame({"v": [1.0, 2.0], "when": when[:2].where([True, False])})
    with pytest.raises(ValueError, match="no time in column 'when', row 1"):
        tl.Sequences.from_frames([absent])
    other = absent.assign(timestamp=[0.0, 1.0])  # of two, only the one that is the time must be whole
    with pytest.raises(ValueError, match="may each be the time|no time"):
        tl.Sequences.from_frames([absent.assign(t2=when[:2])])
    assert tl.Sequences.from_frames([other]).times.tolist() == [0.0, 1.0]


@both
def test_a_table_without_columns_says_so(kind) -> None:
    empty = KINDS[kind]({})
    with pytest.raises(ValueError, match="table has no columns"):
        tl.Sequences.from_frame(empty, id="id")
    for read in (tl.Sequences.from_frames, tl.load):
        with pytest.raises(ValueError, match="no columns"):
            read([empty])
