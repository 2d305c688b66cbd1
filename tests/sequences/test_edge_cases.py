"""Edge cases of validation, timestamps and files: what is refused by name, and what is accepted although it looks odd."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import timelike as tl
from timelike.sequences import augment, generate
from timelike.sequences.io import archive
from timelike.sequences.io.formats import text
from timelike.sequences.moments import ChannelScaler

# --- clocks


def test_one_array_of_times_may_have_a_row_for_every_sequence():
    times = np.array([[0.0, 1.0, 2.5], [5.0, 7.0, 9.0]])
    made = tl.Sequences(np.zeros((2, 3, 1)), times=times)
    assert made.times.tolist() == times.ravel().tolist()
    with pytest.raises(ValueError, match=r"times has shape \(3, 2\) for 2 sequences of lengths 3 to 3"):
        tl.Sequences(np.zeros((2, 3, 1)), times=times.T)


@pytest.mark.parametrize(
    "times",
    [[timedelta(seconds=1), 2.0], [1.0, timedelta(seconds=2)], [datetime(2024, 1, 1), "2024-01-02"], ["2024-01-01", 7]],
)
def test_times_of_two_kinds_are_refused(times):
    with pytest.raises((TypeError, ValueError), match="times"):
        tl.Sequences([[1.0, 2.0]], times=np.array(times, dtype=object))


def test_a_single_time_may_be_an_object_of_text():
    made = tl.Sequences([[1.0]], times=np.array(["2024-01-01"], dtype=object))
    assert made.times.tolist() == np.array(["2024-01-01"], "datetime64[ns]").tolist()


@pytest.mark.parametrize("times", [["2000-01-01", "3000-01-01"], ["0900-01-01", "2000-01-01"]])
def test_one_date_beyond_the_range_of_nanoseconds_is_enough_to_refuse_all(times):
    with pytest.raises(ValueError, match="times is text such as .* from 1678 to 2261"):
        tl.Sequences([[1.0, 2.0]], times=times)


def test_large_times_in_text_are_refused_only_where_they_are_integers():
    read = text.parse_times(["1e20", "3e20"], Path("a.ts"), 4)
    assert read.tolist() == [1e20, 3e20]
    assert text.parse_times([str(2**53)], Path("a.ts"), 4).tolist() == [2.0**53]
    with pytest.raises(ValueError, match="a time is an integer beyond"):
        text.parse_times(["5", str(2**53 + 2)], Path("a.ts"), 4)


def test_samples_of_a_long_clock_that_are_met_are_met_exactly():
    """A date after three years is known to some nanoseconds in float64: a step of 1/rate must still find its sample."""
    nanoseconds = [(k * 10**15 + 1) // 3 for k in range(301)]  # three samples in a million seconds
    stamps = np.datetime64("2020-01-01", "ns") + np.array(nanoseconds, "timedelta64[ns]")
    values = 1e12 * (-1.0) ** np.arange(301)
    found = tl.Sequences([values], times=[stamps]).resample(rate=3e-6)
    assert found[0][:, 0].tolist() == values.tolist()


# --- files


def test_a_parquet_file_without_ids_is_one_recording_and_needs_a_channel(tmp_path):
    whole = {"id": [1, 1, 2], "x": [0.5, 1.0, 2.0]}
    for names, lengths in ((["x"], [3]), (["id", "x"], [2, 1])):
        pyarrow.parquet.write_table(pyarrow.table({name: whole[name] for name in names}), tmp_path / "a.parquet")
        assert tl.load(tmp_path / "a.parquet").lengths.tolist() == lengths
    pyarrow.parquet.write_table(pyarrow.table({"id": whole["id"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="expected 'id' and a channel"):
        tl.load(tmp_path / "a.parquet")


class Answer:
    """A server that goes on for ever."""

    def __init__(self, declared):
        self.headers = {} if declared is None else {"Content-Length": str(declared)}
        self.given = 0

    def read(self, size):
        self.given += size
        assert self.given < 20e6, "read far beyond the limit"
        return bytes(size)


@pytest.mark.parametrize(("declared", "most"), [(None, 3e6), (500_000, 3e6), (5_000_000, 0)])
def test_a_download_stops_at_its_limit_whatever_the_server_says(declared, most, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMELIKE_DOWNLOAD_LIMIT_MB", "1")
    answer = Answer(declared)
    with (tmp_path / "file").open("wb") as file, pytest.raises(archive.DownloadError, match=r"the limit is 1\.0 MB"):
        archive._stream_to_file("Name", answer, file)
    assert answer.given <= most


# --- pictures


def test_lines_run_over_the_times_of_their_own_sequence():
    X = tl.Sequences([[1.0, 2.0, 3.0], [4.0, 5.0]], times=[[0.0, 5.0, 7.0], [20.0, 30.0]])
    lines = X.plot().axes[0].get_lines()
    assert [line.get_xdata().tolist() for line in lines] == [[0.0, 5.0, 7.0], [20.0, 30.0]]
    assert [line.get_ydata().tolist() for line in lines] == [[1.0, 2.0, 3.0], [4.0, 5.0]]


# --- augmentations, generators, moments


@pytest.mark.parametrize("entries", [(), [3], 3, None])
def test_a_blur_needs_a_tuple_that_is_not_empty(entries):
    for name in ("sizes", "strides"):
        with pytest.raises(TypeError, match=f"{name}=.*: expected a tuple of integers"):
            augment.Blur(**{name: entries})


def test_the_weights_of_a_blur_are_uniform_and_so_may_be_next_to_nothing():
    """Two of three numbers from (0, 1], scaled: the smaller is below a fifth of the largest in many draws."""
    blur, rng = augment.Blur(sizes=(3,), strides=(1,)), np.random.default_rng(0)
    kernels = np.array([blur(np.zeros(3), random_state=rng).alignment[0] for _ in range(400)])
    drawn = 1 - np.random.default_rng(1).uniform(size=(100_000, 3))
    assert (kernels.min(1) / kernels.max(1)).mean() == pytest.approx((drawn.min(1) / drawn.max(1)).mean(), abs=0.05)


def test_digits_start_anywhere_in_the_frame():
    start = generate.moving_digits(300, 1, n_digits=1, size=12, digit_size=4, random_state=0).positions[:, 0, 0]
    np.testing.assert_allclose(np.quantile(start, [0.02, 0.98], axis=0), [[0.16] * 2, [7.84] * 2], atol=0.5)


def test_values_too_large_for_float32_are_refused_with_the_name_they_came_by():
    moments = ChannelScaler.from_sequences(tl.Sequences(np.random.default_rng(0).normal(size=(4, 5, 3))))
    moments.refuse_too_large(tl.Sequences(np.full((2, 7, 3), 1e30)), "Y")
    for value in (1e200, -1e200):
        large = np.zeros((2, 7, 3))
        large[1, 4, 2] = value
        with pytest.raises(ValueError, match="Y: sequence 1 has a value at time step 4 that is too large"):
            moments.refuse_too_large(tl.Sequences(large), "Y")


def test_a_pendulum_swings_on_any_moon():
    made = generate.pendulum(1, 3, gravity=0.05, rod=1.0, angle=1.0, interval=0.01, random_state=0)
    pulled = np.diff(made.states[0, :2, 1]) / 0.01
    assert abs(pulled[0]) == pytest.approx(0.05 * np.sin(1.0), rel=1e-3)


@pytest.mark.parametrize("n_test", [2, 3, 6, 7, 8])
def test_a_split_may_leave_one_of_every_class_on_either_side(n_test):
    data = tl.Sequences(np.zeros((10, 2)), labels=[0] * 5 + [1] * 5)
    train, test = data.split(n_test, stratify=True, random_state=0)
    assert len(test) == n_test
    for part in (train, test):
        counts = np.bincount(part.labels, minlength=2)
        assert counts.min() >= 1
        assert abs(counts[0] - counts[1]) <= 1


@pytest.mark.parametrize("per", ["collection", "sequence"])
def test_values_near_the_largest_are_standardized_like_others(per):
    small = np.array([[-1.5, -0.2, 0.4, 1.7], [1.2, 1.7, -1.6, 0.1]])
    found = tl.Sequences(small * 1e308).standardize(per=per).values
    np.testing.assert_allclose(found, tl.Sequences(small).standardize(per=per).values, rtol=1e-12)
