"""Descriptions of a collection: numbers beside NumPy's, and every quality issue that was put there on purpose."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

import timelike as tl
from timelike.sequences.describe.quality_checks import extremes, find_copies

NAN = float("nan")


@pytest.fixture
def recordings():
    """Thirty sound recordings of three channels at 50 Hz, with dates, of two classes and three people."""
    rng = np.random.default_rng(0)
    values = [rng.normal([0, 5, -5], 1, size=(n, 3)) for n in rng.integers(80, 120, 30)]
    start = np.datetime64("2024-03-01T10:00:00")
    return {
        "data": values,
        "times": [start + (np.arange(len(x)) * 20_000_000).astype("timedelta64[ns]") for x in values],
        "labels": ["walk", "run"] * 15,
        "groups": ["anna", "ben", "cleo"] * 10,
        "ids": [f"r{i}" for i in range(30)],
        "channel_names": ["ax", "ay", "az"],
    }


def described(known, **more):
    known = known | more
    return tl.Sequences(known.pop("data"), **known).describe()


def kinds(found):
    return {one.kind: one.items.tolist() for one in found.quality_issues}


def test_sound_recordings_are_described_by_their_numbers(recordings):
    found = described(recordings)
    values = np.concatenate(recordings["data"])
    for c, channel in enumerate(found.channels):
        assert channel.name == recordings["channel_names"][c]
        assert (channel.low, channel.high) == (values[:, c].min(), values[:, c].max())
        np.testing.assert_allclose([channel.mean, channel.deviation], [values[:, c].mean(), values[:, c].std()])
        assert channel.missing == 0
    lengths = [len(x) for x in recordings["data"]]
    assert (found.shortest, found.median_length, found.longest) == (min(lengths), np.median(lengths), max(lengths))
    assert found.sampling.rate == pytest.approx(50)
    assert found.sampling.jitter == 0
    assert found.sampling.begin == "2024-03-01T10:00:00"
    assert found.classes == {"run": 15, "walk": 15}
    assert found.groups == {"anna": 10, "ben": 10, "cleo": 10}
    assert found.gaps.count == 0
    assert found.quality_issues == ()
    assert "no quality issues" in found.text
    assert "50 per s; jitter 0 % of a step" in str(found)


def test_jitter_is_the_deviation_of_steps_and_a_hole_does_not_count():
    rng = np.random.default_rng(0)
    steps = rng.normal(1.0, 0.05, (20, 400))
    steps[:, 200] = 500.0
    found = tl.Sequences(np.zeros((20, 400)), times=np.cumsum(steps, axis=1)).describe()
    assert found.sampling.rate == pytest.approx(1, rel=0.01)
    assert found.sampling.jitter == pytest.approx(0.05, rel=0.1)
    assert (found.gaps.count, found.gaps.sequences) == (20, 20)
    assert found.gaps.longest == pytest.approx(500)


def test_every_quality_issue_is_found_and_named(recordings):
    data, times = recordings["data"], recordings["times"]
    data[3][:, 1] = 7.0  # a dead channel
    data[4][:, 2] = NAN  # one without values
    data[5][10:20, 0] = 9.0  # at the limit of the sensor
    data[8] = data[6].copy()
    times[8] = times[6]
    times[9] = times[9][0] + (times[9] - times[9][0]) * 2
    times[10][5] = times[10][4]
    times[11][[5, 6]] = times[11][[6, 5]]
    recordings["labels"][12] = "jump"
    data[13], times[13] = data[13][:4], times[13][:4]
    found = described(recordings, on_disorder="keep")
    assert kinds(found) == {
        "unsorted timestamps": [11],
        "repeated timestamps": [10],
        "different rate": [9],
        "constant channel": [3],
        "missing channel": [4],
        "clipped": [5],
        "duplicate sequence": [6, 8],
        "single-member class": [12],
        "short sequence": [13],
    }
    for words in ("r6 = r8", "ay never changes in r3", "az has no value at all in r4", "largest value 9", "in r9"):
        assert words in found.text
    assert "25 samples per s where 50 are usual" in found.text
    assert found.gaps.count >= 1


def test_copies_with_other_labels_are_told(recordings):
    recordings["data"][1] = recordings["data"][0].copy()
    recordings["times"][1] = recordings["times"][0]
    assert "r0 = r1; some with another label" in described(recordings).text


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, NAN]), min_size=1, max_size=3), min_size=1, max_size=8))
def test_copies_are_those_of_a_loop(items):
    found = find_copies(tl.Sequences(items))
    groups = {}
    for i, item in enumerate(items):
        if len(item) > 1:
            groups.setdefault(tuple("nan" if x != x else x + 0.0 for x in item), []).append(i)
    assert [group.tolist() for group in found] == [group for group in groups.values() if len(group) > 1]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_extremes_are_those_of_every_sequence(lengths, data):
    entries = st.sampled_from([NAN, 0.0, 1.0, -2.0])
    items = [np.array(data.draw(st.lists(entries, min_size=2 * n, max_size=2 * n))).reshape(n, 2) for n in lengths]
    found = extremes(tl.Sequences(items))
    for i, x in enumerate(items):
        for c in range(2):
            known = x[~np.isnan(x[:, c]), c]
            assert found.count[i, c] == len(known)
            expected = (known.min(), known.max()) if len(known) else (NAN, NAN)
            np.testing.assert_array_equal((found.low[i, c], found.high[i, c]), expected)


def test_switches_zeros_and_images_are_not_clipped():
    rng = np.random.default_rng(0)
    rain = np.maximum(rng.normal(size=(5, 100)), 0)
    switch = (rng.random((5, 100)) < 0.5).astype(float)
    found = tl.Sequences(np.stack([rain, switch], axis=2)).describe()
    assert kinds(found) == {}
    pictures = tl.Sequences(np.clip(rng.normal(size=(3, 5, 1, 4, 4)), -1, 1)).describe()
    assert kinds(pictures) == {}
    assert pictures.channels[0].high == 1
    low = tl.Sequences(np.maximum(rng.normal(size=(5, 100)), -0.5)).describe()
    assert list(kinds(low)) == ["clipped"]


def test_a_rate_is_another_only_beside_that_of_most():
    clocks = [np.arange(10.0), np.arange(10.0), np.arange(10.0) * 1.05, np.arange(10.0) / 2]
    rng = np.random.default_rng(0)
    assert kinds(tl.Sequences(rng.normal(size=(4, 10)), times=clocks).describe()) == {"different rate": [3]}


def test_json_is_strict_and_whole(recordings):
    recordings["data"][0][:, 0] = NAN
    for x in recordings["data"]:
        x[:, 1] = NAN  # a channel without any value
    said = json.loads(described(recordings).json(), parse_constant=pytest.fail)
    assert said["channels"][1]["low"] is None
    assert said["channels"][1]["missing"] == 1
    assert said["groups"][0] == {"group": "anna", "sequences": 10}
    assert {"kind", "message", "items"} == said["quality_issues"][0].keys()
    missing = np.isnan(np.concatenate(recordings["data"])).mean()
    assert said["missing"] == pytest.approx(missing)


def test_html_is_escaped_and_shows_the_same(recordings):
    recordings["ids"][3] = "<script>"
    recordings["data"][3][:, 1] = 7.0
    recordings["channel_names"] = ["a<b", "y", "z"]
    shown = described(recordings)._repr_html_()
    assert "<script>" not in shown
    assert "y never changes in &lt;script&gt;" in shown
    assert "a&lt;b" in shown


@pytest.mark.parametrize(
    "known", [{}, {"times": [[0.0], [1.0]]}, {"labels": [0.5, 1.5]}, {"labels": [1, 2], "groups": [1, 1]}]
)
def test_single_samples_and_nothing_are_described(known):
    s = tl.Sequences([[1.0], [NAN]], **known)
    for part in (s, s[:1], s[1:], s[:0]):
        found = part.describe()
        assert found.sequences == len(part)
        assert found.text
        json.loads(found.json())
        assert found._repr_html_()


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float32])
def test_every_kind_of_number_is_described(dtype):
    values = np.random.default_rng(0).integers(0, 2, (4, 30)).astype(dtype)
    found = tl.Sequences(values).describe()
    assert (found.channels[0].low, found.channels[0].high) == (0, 1)
    assert found.dtype == str(np.dtype(dtype))


def test_a_selection_is_described_as_itself(recordings):
    known = dict(recordings)
    s = tl.Sequences(known.pop("data"), **known)
    chosen = s[[20, 3, 7]]
    assert chosen.describe().json() == chosen.copy().describe().json()


def test_nothing_is_changed_and_ten_thousand_recordings_need_no_loop():
    rng = np.random.default_rng(0)
    s = tl.Sequences(rng.normal(size=(10_000, 20)))
    calls = 0

    class Counted(type(s)):
        def __getitem__(self, key):
            nonlocal calls
            calls += 1
            return super().__getitem__(key)

        def __iter__(self):
            nonlocal calls
            calls += 1
            return super().__iter__()

    counted = Counted(s)
    assert counted.describe().sequences == 10_000
    assert calls < 100
