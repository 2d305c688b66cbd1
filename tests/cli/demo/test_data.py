"""The demo's data: real files where they are installed, generated sequences of the same kind where not."""

import importlib.util

import numpy as np
import pytest

import timelike as tl
from timelike.cli.demo.data import list_missing, load_or_generate

LABELLED = ("BasicMotions", "JapaneseVowels", "PickupGestureWiimoteZ", "ItalyPowerDemand")
SERIES = ("Airline", "solar")
needs_data = pytest.mark.skipif(importlib.util.find_spec("aeon") is None, reason="the data files come with aeon")


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    """No data set is installed, and nothing may be downloaded."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    monkeypatch.setenv("TIMELIKE_CACHE", str(tmp_path))
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)
    monkeypatch.setattr("timelike.sequences.io.archive.fetch_dataset", lambda name: pytest.fail(f"fetched {name}"))


@needs_data
@pytest.mark.parametrize("name", LABELLED)
def test_real_files_are_what_load_reads(name, monkeypatch):
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)
    data = load_or_generate(name)
    train, test = tl.load(name)
    assert data.source == name
    assert list_missing([name]) == []
    for ours, loaded in ((data.train, train), (data.test, test)):
        np.testing.assert_array_equal(ours.values, loaded.values)
        np.testing.assert_array_equal(ours.labels, loaded.labels)


@needs_data
def test_a_series_is_the_column_of_its_file():
    airline = load_or_generate("Airline")
    assert airline.source == "Airline"
    assert airline.train.values[:3, 0].tolist() == [112.0, 118.0, 132.0]  # Box and Jenkins, series G, 1949
    assert len(load_or_generate("solar").train[0]) == 289


@pytest.mark.parametrize("name", [*LABELLED, *SERIES])
def test_without_files_the_data_are_generated_and_named_so(name, no_files):
    data = load_or_generate(name)
    assert list_missing([name]) == [name]
    assert "generated" in data.source
    assert name in data.source
    again = load_or_generate(name)
    np.testing.assert_array_equal(data.train.values, again.train.values)
    if name in LABELLED:
        assert set(data.train.labels) == set(data.test.labels)


@needs_data
@pytest.mark.parametrize("name", LABELLED)
def test_generated_data_have_the_sizes_of_the_real_ones(name, no_files, monkeypatch):
    generated = load_or_generate(name)
    monkeypatch.undo()
    real = load_or_generate(name)
    for made, loaded in ((generated.train, real.train), (generated.test, real.test)):
        assert (len(made), made.frame) == (len(loaded), loaded.frame)
        assert len(np.unique(made.labels)) == len(np.unique(loaded.labels))
        assert made.lengths.max() <= loaded.lengths.max() * 1.15


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="ItalyPowerDemand"):
        load_or_generate("Iris")
