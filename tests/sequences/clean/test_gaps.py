"""Gaps: found, filled and cut, beside loops over single samples (tests/naive/gaps.py), pandas and NumPy."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import timelike as tl
from naive import gaps as naive
from timelike.sequences.clean.durations import segment_medians, typical_steps

NAN = float("nan")


@st.composite
def holed(draw, channels=2):
    """Clocks of whole numbers (so that equal steps happen) and values of which some are missing."""
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    times = [np.cumsum(draw(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=n, max_size=n))) + 0.0 for n in lengths]
    values = []
    for n in lengths:
        some = draw(st.lists(st.sampled_from([NAN, 0.0, 1.0, 2.5, -3.0]), min_size=n * channels, max_size=n * channels))
        values.append(np.array(some).reshape(n, channels))
    return values, times


limits = st.sampled_from([0, 1, 2, 3, 7, 8, 9.5])


@given(holed(), st.none() | limits)
def test_gaps_are_those_of_a_loop(made, limit):
    values, times = made
    expected = []
    for item, (x, now) in enumerate(zip(values, times, strict=True)):
        each = [naive.gaps(now.tolist(), ~np.isnan(x[:, c]), limit) for c in range(2)]
        inner = [{(i, j): tuple(np.isnan(x[i : j + 1, c])) for i, j in each[c]} for c in range(2)]
        for c in range(2):
            for (i, j), pattern in inner[c].items():
                shared = inner[1 - c].get((i, j)) == pattern
                if not (shared and c == 1):
                    expected.append((item, -1 if shared else c, now[i], now[j], now[j] - now[i]))
    found = tl.Sequences(values, times=times).gaps(limit)
    rows = zip(found.items, found.channels, found.begins, found.ends, found.durations, strict=True)
    assert sorted(map(tuple, rows)) == sorted(expected)
    assert found.items.tolist() == sorted(found.items.tolist())


@given(holed(1))
def test_usual_steps_are_medians(made):
    values, times = made
    step, deviation = typical_steps(tl.Sequences(values, times=times))
    np.testing.assert_array_equal(np.stack([step, deviation], axis=1), [naive.usual(now) for now in times])


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), min_size=1, max_size=5))
def test_medians_of_parts_are_those_of_numpy(parts):
    found = segment_medians(np.array([x for one in parts for x in one]), np.array([len(one) for one in parts]))
    np.testing.assert_allclose(found, [np.median(one) if one else NAN for one in parts], rtol=1e-12, atol=1e-9)


@given(holed(), limits)
def test_filling_up_to_a_gap_is_that_of_a_loop(made, limit):
    values, times = made
    filled = tl.Sequences(values, times=times).interpolate(max_gap=limit)
    for x, now, after in zip(values, times, filled, strict=True):
        expected = [naive.interpolated(now.tolist(), x[:, c].tolist(), limit) for c in range(2)]
        np.testing.assert_allclose(after, np.transpose(expected), atol=1e-12)


@given(holed(1), limits)
def test_filling_whole_gaps_is_what_pandas_does_where_it_is_told_which(made, limit):
    values, times = made
    filled = tl.Sequences(values, times=times).interpolate(max_gap=limit)
    for x, now, after in zip(values, times, filled, strict=True):
        table = pd.Series(x[:, 0], index=now)
        by_pandas = table.interpolate("index", limit_area="inside") if table.notna().any() else table
        inside = pd.Series(now, index=now).where(table.notna())
        close = (inside.bfill() - inside.ffill()) <= limit
        expected = table.where(table.notna() | ~close, by_pandas)
        middle = inside.ffill().notna() & inside.bfill().notna()
        np.testing.assert_allclose(after[middle.to_numpy(), 0], expected[middle], atol=1e-12)


@given(holed(1), limits, st.sampled_from([0.5, 1, 2]))
def test_resampling_invents_nothing_in_a_gap(made, limit, rate):
    values, times = made
    whole = [np.nan_to_num(x, nan=9.0) for x in values]
    found = tl.Sequences(whole, times=times).resample(rate=rate, max_gap=limit)
    for x, now, after in zip(whole, times, found, strict=True):
        expected = naive.resampled(now.tolist(), x[:, 0].tolist(), rate, limit)
        np.testing.assert_allclose(after[:, 0], expected, atol=1e-12)


def test_a_hole_of_600_seconds_is_not_bridged():
    clock = np.datetime64("2024-03-01T10:00") + np.r_[0:5, 605:609].astype("timedelta64[s]")
    s = tl.Sequences([np.arange(9.0)], times=[clock])
    found = s.resample(rate=1, max_gap=10)
    assert found.lengths.tolist() == [609]
    assert int(np.isnan(found.values).sum()) == 600
    assert (np.diff(found.times) == np.timedelta64(1, "s")).all()
    assert s.split_at_gaps(10).resample(rate=1).lengths.tolist() == [5, 4]
    assert s.resample(rate=1, max_gap=601).has_missing is False
    by_pandas = pd.Series(s[0][:, 0], index=clock).resample("1s").mean()
    np.testing.assert_array_equal(found[0][:, 0], by_pandas)


@given(holed(), limits)
def test_pieces_are_those_of_a_loop(made, limit):
    values, times = made
    s = tl.Sequences(values, times=times, labels=range(len(values)))
    expected = []
    for item, (x, now) in enumerate(zip(values, times, strict=True)):
        there = (~np.isnan(x)).any(axis=1)
        expected += [(item, now[piece], x[piece]) for piece in naive.pieces(now.tolist(), there, limit)]
    if not expected:
        with pytest.raises(ValueError, match="leave no piece of any sequence"):
            s.split_at_gaps(limit)
        return
    found = s.split_at_gaps(limit)
    assert found.labels.tolist() == found.groups.tolist() == [item for item, _, _ in expected]
    np.testing.assert_array_equal(found.times, np.concatenate([now for _, now, _ in expected]))
    for (_, _, before), after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before, after)


@given(holed(), limits)
def test_after_a_cut_in_any_channel_short_gaps_are_all_that_is_missing(made, limit):
    values, times = made
    s = tl.Sequences(values, times=times)
    try:
        pieces = s.split_at_gaps(limit, channels="any")
    except ValueError:
        return
    inner = pieces.gaps(limit)
    assert len(inner) == 0
    long = s.gaps(limit)
    cut = {(i, c) for i, c in zip(pieces.groups.tolist(), range(len(pieces)), strict=True)}
    assert {i for i, _ in cut} <= set(range(len(s)))
    lost = {(i, t) for i, x in enumerate(times) for t in x} - {
        (g, t)
        for g, n, o in zip(pieces.groups, pieces.lengths, pieces.offsets, strict=False)
        for t in pieces.times[o : o + n]
    }
    for item, time in lost:  # only what lies in a long gap is gone
        assert ((long.items == item) & (long.begins <= time) & (time <= long.ends)).any()


def test_pieces_keep_what_is_known_and_are_views():
    s = tl.Sequences(
        [[1.0, 2.0, 3.0], [4.0, 5.0]],
        times=[[0.0, 1.0, 100.0], [0.0, 1.0]],
        labels=["walk", "run"],
        groups=["anna", "ben"],
        ids=["w", "r"],
        channel_names=["ax"],
    )
    found = s.split_at_gaps(10)
    assert found.ids.tolist() == ["w#1", "w#2", "r"]
    assert found.labels.tolist() == ["walk", "walk", "run"]
    assert found.groups.tolist() == ["anna", "anna", "ben"]
    assert found.channel_names == ("ax",)
    assert found.class_names == ("run", "walk")
    assert np.shares_memory(found[0], s.values)
    assert s.split_at_gaps(10, min_length=2).ids.tolist() == ["w", "r"]
    assert s.split_at_gaps(1000).ids.tolist() == ["w", "r"]
    assert s[[1, 0]].split_at_gaps(10).ids.tolist() == ["r", "w#1", "w#2"]


@pytest.mark.parametrize(
    "ids", [["a", "a#1", "a#2"], ["a", "a##1", "a#1"], [1, 2, 3], ["", "#1", "#"], ["x", "x#10", "y"]]
)
def test_ids_of_pieces_stay_distinct(ids):
    clock = np.arange(12.0) * 100
    found = tl.Sequences(np.zeros((3, 12)), times=clock, ids=ids)
    for cut in (found.split_at_gaps(10), found[:2].split_at_gaps(10)):
        assert len(set(cut.ids.tolist())) == len(cut)


def test_steps_of_a_tenth_are_not_longer_than_a_tenth():
    clock = np.arange(1000) * 0.1
    s = tl.Sequences([np.zeros(1000)], times=[clock])
    assert (np.diff(clock) > 0.1).any()  # rounding
    assert len(s.gaps(0.1)) == 0
    assert len(s.split_at_gaps(0.1)) == 1
    assert not s.resample(rate=30, max_gap=0.1).has_missing
    far = tl.Sequences([np.zeros(1000)], times=[1.7e9 + clock])
    assert len(far.gaps(0.1)) == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_of_any_unit_are_in_seconds(unit):
    clock = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:01", "2024-01-01T00:10:01"], f"datetime64[{unit}]")
    s = tl.Sequences([[1.0, 2.0, 3.0]], times=[clock])
    for limit in (599, timedelta(seconds=599), np.timedelta64(599_999, "ms")):
        found = s.gaps(limit)
        assert found.durations.tolist() == [600.0]
        assert found.ends[0] == np.datetime64("2024-01-01T00:10:01")
        assert len(s.split_at_gaps(limit)) == 2
    assert len(s.gaps(timedelta(minutes=10))) == 0
    assert "duration (s)" in repr(s.gaps(1))


def test_a_change_of_the_clock_in_autumn_is_no_gap():
    start = datetime(2024, 10, 27, 0, 0, tzinfo=UTC)
    paris = [pd.Timestamp(start + timedelta(minutes=10 * i)).tz_convert("Europe/Paris") for i in range(18)]
    s = tl.Sequences([np.zeros(18)], times=[paris])
    assert len(s.gaps()) == 0
    assert len(s.split_at_gaps(600)) == 1


def test_irregular_clocks_have_few_gaps_and_a_hole_is_among_them():
    rng = np.random.default_rng(0)
    clock = np.cumsum(rng.exponential(1.0, 2000))
    clock[1000:] += 500
    found = tl.Sequences([np.zeros(2000)], times=[clock]).gaps()
    assert len(found) < 120
    assert found.begins[found.durations.argmax()] == clock[999]
    regular = np.arange(100.0) + rng.uniform(-0.05, 0.05, 100)
    kept = np.delete(np.arange(100), 50)
    assert tl.Sequences([np.zeros(99)], times=[regular[kept]]).gaps().missing.tolist() == [1]


def test_without_times_gaps_are_steps():
    found = tl.Sequences([[1.0, NAN, NAN, 4.0], [NAN, 2.0, 3.0, NAN]]).gaps()
    columns = found.columns()
    assert columns["begin"].tolist() == [0, 0, 2]
    assert columns["end"].tolist() == [3, 1, 3]
    assert columns["missing"].tolist() == [2, 1, 1]
    assert tl.Sequences([[1.0, NAN, NAN, 4.0]]).split_at_gaps(2).values.ravel().tolist() == [1, 4]


def test_one_channel_and_all_are_told_apart_by_name():
    s = tl.Sequences([[[1.0, NAN], [NAN, NAN], [3.0, 4.0]]], channel_names=["ax", "ay"], ids=["w"])
    table = s.gaps().to_frame()
    assert table["channel"].tolist() == ["ax", "ay"]
    assert table["id"].tolist() == ["w", "w"]
    both = tl.Sequences([[[1.0, 2.0], [NAN, NAN], [3.0, 4.0]]], channel_names=["ax", "ay"]).gaps()
    assert both.to_frame("polars")["channel"].to_list() == ["all"]
    assert len(s.split_at_gaps(1, channels="any")) == 1
    assert len(s.split_at_gaps(1)) == 2


def test_images_with_a_missing_pixel_have_gaps():
    values = np.zeros((1, 4, 2, 3, 3))
    values[0, 1, 1, 2, 2] = NAN
    s = tl.Sequences(values)
    assert s.gaps().channels.tolist() == [1]
    assert not s.interpolate(max_gap=2).has_missing
    assert s.interpolate(max_gap=1).has_missing


def test_the_table_is_printed_and_escaped():
    times = [np.arange(50.0) * 100] * 2
    s = tl.Sequences(np.zeros((2, 50)), times=times, ids=["<b>x</b>", "y"])
    found = s.gaps(10)
    assert len(repr(found).splitlines()) == 14
    assert "98 gaps in 2 sequences, the longest 100, the 12 longest:" in repr(found)
    assert "<b>" not in found._repr_html_()
    none = s.gaps(1000)
    assert (len(none), repr(none), none.longest) == (0, "Gaps(none)", 0.0)
    assert "no gaps" in none._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        found.durations[0] = 1
    with pytest.raises(ValueError, match="kind='excel': expected one of 'pandas', 'polars'"):
        found.to_frame("excel")


def test_nothing_and_single_samples_have_no_gaps():
    one = tl.Sequences([[1.0], [NAN]], times=[[5.0], [6.0]])
    assert len(one.gaps(0)) == 0
    assert one.gaps().items.tolist() == [1]
    assert one.split_at_gaps(1).lengths.tolist() == [1, 1]
    assert one.interpolate(max_gap=1).has_missing
    for empty in (one[:0], tl.Sequences([[1.0]])[:0]):
        assert len(empty.gaps()) == len(empty.split_at_gaps(1)) == len(empty.resample(rate=1, max_gap=1)) == 0


def test_constants_and_extremes_are_filled_with_themselves():
    s = tl.Sequences([[0.1, NAN, NAN, 0.1]], times=[[0.0, 1.0, 2.5, 7.0]]).interpolate()
    assert s[0].ravel().tolist() == [0.1] * 4
    wide = tl.Sequences([[-1.7e308, NAN, 1.7e308]]).interpolate()
    assert wide[0].ravel().tolist() == [-1.7e308, 0.0, 1.7e308]
    assert tl.Sequences(np.array([[1, NAN, 2]], np.float32)).interpolate().dtype == np.float32


def test_results_are_independent_of_other_sequences():
    rng = np.random.default_rng(1)
    items = [np.where(rng.random(n) < 0.3, NAN, rng.normal(size=n)) for n in (20, 3, 40)]
    times = [np.cumsum(rng.exponential(size=len(x))) for x in items]
    together = tl.Sequences(items, times=times).interpolate(max_gap=2).resample(rate=3, max_gap=2)
    for i, x in enumerate(items):
        alone = tl.Sequences([x], times=[times[i]]).interpolate(max_gap=2).resample(rate=3, max_gap=2)
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.gaps(-1), ValueError, "max_gap=-1: expected a finite number at least 0"),
        (lambda s: s.gaps("10s"), TypeError, "max_gap='10s': expected a number"),
        (lambda s: s.split_at_gaps(NAN), ValueError, "max_gap=nan: expected a finite number"),
        (lambda s: s.split_at_gaps(1, channels="some"), ValueError, "channels='some': expected one of 'all', 'any'"),
        (lambda s: s.split_at_gaps(1, min_length=0), ValueError, "min_length=0: expected at least 1"),
        (lambda s: s.split_at_gaps(1, min_length=9), ValueError, "leave no piece of any sequence"),
        (lambda s: s.interpolate(max_gap=True), TypeError, "max_gap=True: expected a number"),
        (lambda s: s.resample(3, max_gap=-2), ValueError, "max_gap=-2: expected"),
        (lambda s: s.gaps(timedelta(1)), TypeError, "max_gap is a duration, and these times are not dates"),
    ],
)
def test_bad_limits_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(tl.Sequences([[1.0, 2.0, 3.0]]))


# --- stamps out of order -------------------------------------------------------------------------------------------


@st.composite
def disordered(draw):
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    times = [np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float) for n in lengths]
    values = [
        np.array(draw(st.lists(st.sampled_from([NAN, 1.0, 2.0, 4.5]), min_size=2 * n, max_size=2 * n))).reshape(n, 2)
        for n in lengths
    ]
    return values, times


@given(disordered(), st.sampled_from(["mean", "first", "last", "min", "max"]))
def test_merging_is_a_group_by_of_pandas(made, how):
    values, times = made
    ids = list(range(len(values)))
    merged = tl.Sequences(values, times=times, ids=ids, on_disorder="keep").merge_duplicates(how)
    for x, now, after, begin in zip(values, times, merged, merged.offsets, strict=False):
        table = pd.DataFrame(x).groupby(now).agg(how)
        np.testing.assert_allclose(after, table.to_numpy(), atol=1e-12)
        assert merged.times[begin : begin + len(after)].tolist() == table.index.tolist()
    assert merged.ids.tolist() == ids
    merged.gaps()


def test_stamps_out_of_order_are_kept_only_when_asked_and_refused_by_what_reads_time(tmp_path):
    given_ = {"times": [[0.0, 2.0, 2.0], [0.0, 1.0, 2.0]], "labels": ["u", "v"]}
    with pytest.raises(ValueError, match=r'repeats at time step 2 .*on_disorder="keep" and call merge_duplicates'):
        tl.Sequences(np.ones((2, 3)), **given_)
    s = tl.Sequences(np.ones((2, 3)), **given_, on_disorder="keep")
    assert s.times.tolist() == [0, 2, 2, 0, 1, 2]
    verbs = {
        "elapsed time": lambda s: s.elapsed_times,
        "gaps..": lambda s: s.gaps(),
        "split_at_gaps..": lambda s: s.split_at_gaps(1),
        "resample..": lambda s: s.resample(3),
        "derivative..": lambda s: s.derivative(),
        "a file": lambda s: s.save(tmp_path / "x.npz"),
    }
    for who, verb in verbs.items():
        for one in (s, s.replace(labels=None), tl.concat([s[1:], s]), s[:1].copy(), s.crop(1), tl.Sequences(s)):
            with pytest.raises(ValueError, match=f"and {who} needs strictly increasing times: call Sequences.merge"):
                verb(one)
        verb(s.merge_duplicates())
    assert s[1:].elapsed_times.tolist() == [0, 1, 2]  # the one that is in order
    assert s.derivative(rule="keogh").values.shape == (6, 1)  # which reads no time
    with pytest.raises(ValueError, match="on_disorder='sort': expected one of"):
        tl.Sequences(np.ones((2, 3)), on_disorder="sort")


def test_merging_changes_nothing_that_is_in_order():
    s = tl.Sequences([[1.0, NAN], [3.0]], times=[[0.0, 1.0], [0.0]], labels=["a", "b"])
    for how in ("mean", "first", "last", "min", "max"):
        assert s.merge_duplicates(how).equals(s)
    assert len(s[:0].merge_duplicates()) == 0
    ints = tl.Sequences(np.array([[1, 2]], np.int16), times=[[0.0, 0.0]], on_disorder="keep")
    assert ints.merge_duplicates("max").dtype == np.int16
    assert ints.merge_duplicates().dtype == np.float32
    with pytest.raises(ValueError, match="these sequences have no times"):
        s.replace(times=None).merge_duplicates()
    with pytest.raises(ValueError, match="how='sum': expected one of 'mean'"):
        s.merge_duplicates("sum")


def test_equal_values_merge_into_themselves_and_extremes_do_not_overflow():
    same = tl.Sequences([[0.1] * 3], times=[[0.0] * 3], on_disorder="keep")
    assert same.merge_duplicates().values.ravel().tolist() == [0.1]
    wide = tl.Sequences([[-1.7e308, 1.7e308, 1.7e308]], times=[[0.0] * 3], on_disorder="keep").merge_duplicates()
    np.testing.assert_allclose(wide.values.ravel(), 1.7e308 / 3)


def test_dates_that_repeat_are_merged_to_the_nanosecond():
    clock = np.datetime64("2024-01-01T00:00:00.000000001") + np.array([3, 0, 3]).astype("timedelta64[ns]")
    s = tl.Sequences([[1.0, 2.0, 3.0]], times=[clock], on_disorder="keep").merge_duplicates()
    assert s[0].ravel().tolist() == [2, 2]
    assert s.times.tolist() == sorted(set(clock.tolist()))


def test_a_long_table_with_repeated_times_is_taken_and_mended():
    table = pd.DataFrame({"who": ["a", "a", "b", "a"], "t": [1, 0, 0, 1], "x": [3.0, 5.0, 7.0, 4.0]})
    with pytest.raises(ValueError, match="repeats at time step 2"):
        tl.Sequences.from_frame(table, id="who", time="t")
    kept = tl.Sequences.from_frame(table, id="who", time="t", on_disorder="keep")
    assert [x.ravel().tolist() for x in kept.merge_duplicates("last")] == [[5, 4], [7]]


@given(holed(2), st.none() | limits, st.sampled_from([0.5, 1, 2]))
def test_missing_cells_are_bridged_as_if_their_rows_were_not_there(made, limit, rate):
    """Each channel by itself: of its own values alone, at the steps that the whole sequence has."""
    values, times = made
    found = tl.Sequences(values, times=times).resample(rate=rate, max_gap=limit)
    for x, now, after, then in zip(values, times, found, np.split(found.times, found.offsets[1:-1]), strict=True):
        for channel in range(x.shape[1]):
            there = ~np.isnan(x[:, channel])
            expected = np.full(len(after), np.nan)
            for row, moment in enumerate(then - 0.0):
                before, behind = (np.flatnonzero(there & side) for side in (now <= moment + 1e-9, now >= moment - 1e-9))
                if len(before) and len(behind):
                    a, b = before[-1], behind[0]
                    if abs(now[a] - moment) < 1e-9:
                        expected[row] = x[a, channel]
                    elif limit is None or now[b] - now[a] <= limit + 1e-9:
                        expected[row] = np.interp(moment, now[[a, b]], x[[a, b], channel])
            np.testing.assert_allclose(after[:, channel], expected, atol=1e-9)


def test_steps_that_do_not_fit_into_memory_are_refused_with_their_number():
    since = tl.Sequences([[1.0, 2.0]], times=[["1970-01-01", "2024-01-01"]])
    with pytest.raises(
        ValueError, match=r"rate=1000.0 asks for 1\.7e\+12 time steps, \d+.* GB.*lasts 1\.7.*e\+09 s; use"
    ):
        since.resample(rate=1000)
    assert since.resample(rate=1e-6).lengths.tolist() == [1705]
