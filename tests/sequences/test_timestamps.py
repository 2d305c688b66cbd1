"""Timestamps: whatever says a moment becomes a number or a nanosecond in UTC, and keeps every digit."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

import timelike as tl
from optional_torch import torch
from timelike.sequences.timestamps import parse_datetimes

NEW_YEAR = datetime(2024, 1, 1)
PARIS = timezone(timedelta(hours=1))
T0 = np.datetime64("2024-01-01T00:00:00.123456789", "ns")


def times(given):
    return tl.Sequences([[1.0, 2.0]], times=given).times


@pytest.mark.parametrize(
    "given",
    [
        pd.date_range("2024-01-01", periods=2, tz="UTC"),
        pd.date_range("2024-01-01 01:00", periods=2, tz="Europe/Paris"),
        list(pd.date_range("2024-01-01 01:00", periods=2, tz="Europe/Paris")),
        pd.Series(pd.date_range("2024-01-01 01:00", periods=2, tz="Europe/Paris")),
        pd.date_range("2024-01-01", periods=2),
        [NEW_YEAR, NEW_YEAR + timedelta(days=1)],
        [[NEW_YEAR, NEW_YEAR + timedelta(days=1)]],
        [datetime(2024, 1, 1, 1, tzinfo=PARIS), datetime(2024, 1, 2, tzinfo=UTC)],
        [date(2024, 1, 1), date(2024, 1, 2)],
        ["2024-01-01", "2024-01-02"],
        ["2024-01-01T01:00:00+01:00", "2024-01-02 00:00:00Z"],
        np.array(["2023-12-31T18:30-0530", "2024-01-01T18:30-05:30"]),
    ],
)
def test_all_kinds_of_datetimes_mean_the_same_moments(given):
    found = times(given)
    assert found.dtype == "datetime64[ns]"
    assert found.astype(str).tolist() == ["2024-01-01T00:00:00.000000000", "2024-01-02T00:00:00.000000000"]


def test_pandas_keeps_its_nanoseconds():
    nanos = [pd.Timestamp("2024-01-01T00:00:00.000000001", tz="Asia/Tokyo") + pd.Timedelta(i, "ns") for i in (0, 1)]
    assert np.diff(times(nanos)).astype(int).tolist() == [1]


@pytest.mark.parametrize(
    "given",
    [
        np.array([0, 1500], "timedelta64[ms]"),
        [timedelta(0), timedelta(seconds=1.5)],
        pd.to_timedelta([0, 1.5], unit="s"),
        pytest.param(torch and torch.tensor([0, 1.5]), marks=pytest.mark.learn),
    ],
)
def test_durations_are_seconds(given):
    assert times(given).tolist() == [0, 1.5]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([1704067200000000000, 1704067200000000001], ValueError, r'beyond 2\*\*53.*astype\("datetime64\[ns\]"\)'),
        ([NEW_YEAR, NEW_YEAR.replace(tzinfo=UTC)], TypeError, "mixes datetimes with and without a time zone"),
        (["2024-01-01Z", "2024-01-02Z"], ValueError, "times is text such as '2024-01-01Z'"),
        (["2024-01-01T00:00Z", "2024-01-02T00:00"], ValueError, "all or none with a time zone"),
        (["noon", "night"], ValueError, "times is text such as 'noon': expected numbers, or datetimes"),
        ([pd.NaT, NEW_YEAR], ValueError, "holds NaT"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), ValueError, "times is masked"),
    ],
)
def test_times_that_are_not_clear_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        times(given)


def test_rows_of_different_kinds_are_refused():
    with pytest.raises(TypeError, match=r"times\[1\] is float64 but times\[0\] datetime64"):
        tl.Sequences([[1.0], [2.0]], times=[[NEW_YEAR], [1.0]])


def test_offsets_are_subtracted_with_their_sign():
    assert parse_datetimes(["2024-01-01T00:00:00-00:30"]).astype(str).tolist() == ["2024-01-01T00:30:00.000000000"]
    assert parse_datetimes(["2024-01-01T00:00:00+14:00"]).astype(str).tolist() == ["2023-12-31T10:00:00.000000000"]
    assert parse_datetimes(["2024-02-31"]) is None


def test_milliseconds_are_resampled_to_the_nanosecond():
    clock = T0 + np.arange(101) * np.timedelta64(1, "ms")
    s = tl.Sequences([np.arange(101.0), np.arange(101.0)], times=[clock, clock + np.timedelta64(77, "D")])
    same = s.resample(rate=1000)
    assert same.equals(s)
    finer = s.resample(rate=8000)
    assert finer.lengths.tolist() == [801, 801]
    assert (finer.times[:801] == T0 + np.arange(801) * np.timedelta64(125, "us")).all()
    np.testing.assert_allclose(finer[1].ravel(), np.arange(801) / 8, rtol=1e-13)
    assert (s.resample(201).times[:201] == T0 + np.arange(201) * np.timedelta64(500, "us")).all()


def test_nanoseconds_survive_elapsed_derivative_and_interpolation():
    clock = T0 + np.array([0, 1, 3]).astype("timedelta64[ns]")
    s = tl.Sequences([[0.0, 1.0, 3.0], [0.0, np.nan, 3.0]], times=[clock, clock])
    assert s.elapsed_times.tolist() == [0, 1e-9, 3e-9] * 2
    np.testing.assert_allclose(s[:1].derivative().values.ravel(), [1e9] * 3)
    np.testing.assert_allclose(s.interpolate()[1].ravel(), [0, 1, 3])


def test_the_last_sample_keeps_its_time_after_years():
    clock = np.array([T0, T0 + np.timedelta64(3650, "D") + np.timedelta64(1, "ns")])
    new = tl.Sequences([[0.0, 1.0]], times=[clock]).resample(3).times
    assert new[[0, 2]].tolist() == clock.tolist()


def test_seconds_since_1970_in_floats_reach_the_last_sample():
    clock = 1.7e9 + np.arange(101) / 1000  # a float64 there is 0.24 microseconds wide
    s = tl.Sequences([np.arange(101.0)], times=[clock])
    assert s.resample(rate=1000)[0].ravel().tolist() == list(range(101))


@pytest.mark.parametrize("per_second", [3, 7, 10, 30, 1000])
def test_long_recordings_reach_their_last_sample(per_second):
    n = 500_000
    s = tl.Sequences([np.zeros(n)], times=[np.arange(n) / per_second])
    assert s.resample(rate=per_second).lengths.tolist() == [n]


def test_samples_that_timestamps_cannot_tell_apart_are_refused():
    s = tl.Sequences([[0.0, 1.0]], times=[np.array([0, 3], "datetime64[ns]")])
    with pytest.raises(ValueError, match="length=9 puts samples closer together than timestamps can tell apart"):
        s.resample(9)
