"""All pairs in blocks: the same numbers whatever the blocks, the threads, the padding and the kind of input."""

import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pandas as pd
import pytest
import torch

import timelike as tl
from timelike import native
from timelike.metric import TAPNetwork, distance_network
from timelike.metric.distance_network import fill_distances
from timelike.train.torch_threads import torch_threads
from toy_metrics import MAKERS, NETWORKS

EVERY = pytest.mark.parametrize("name", MAKERS)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}  # of float32, in which networks compute


def assert_same(found, wanted):
    """To the bit but for a rare one, which was at the edge between two numbers of float32.

    Without kernels torch multiplies the matrices of pairs, and rounds as it likes.
    """
    np.testing.assert_allclose(found, wanted, **CLOSE)
    assert not native.is_native_enabled() or np.mean(found == wanted) > 0.95


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("numbers", [1, 3000])
def test_blocks_of_any_size_give_the_same(name, numbers, fitted, train, test, monkeypatch):
    metric = fitted(name)
    x, y = test[:6], train[:4]
    whole, own = metric.pairwise(x, y), metric.pairwise(x)
    monkeypatch.setattr(distance_network, "BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(distance_network, "_BATCH_STEPS", 20)
    assert_same(metric.pairwise(x, y), whole)
    assert_same(metric.pairwise(x), own)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_pair_is_computed_in_a_block_that_fits(name, fitted, test, monkeypatch):
    metric, test = fitted(name), test[:10]
    monkeypatch.setattr(distance_network, "BLOCK_NUMBERS", 5000)
    seen = []
    network, matrix = metric.network_, metric.network_.distance_matrix

    def noted(x, y):
        seen.append(len(x) * len(y) * network.numbers_per_pair(x.values.shape[1], y.values.shape[1]))
        return matrix(x, y)

    monkeypatch.setattr(network, "distance_matrix", noted)
    out = np.full((len(test), len(test)), np.nan)
    metric.pairwise(test, out=out)
    least = max(network.numbers_per_pair(length, length) for length in test.lengths.tolist())
    with torch.no_grad():
        assert max(seen) <= max(5000, least)
    assert np.isfinite(out).all()


@EVERY
def test_the_symmetric_shortcut_gives_what_all_pairs_give(name, fitted, test):
    metric = fitted(name)
    some = test[:10]
    np.testing.assert_allclose(metric.pairwise(some), metric.pairwise(some, some), **CLOSE)
    assert np.allclose(metric.pairwise(some), metric.pairwise(some).T, **CLOSE) == metric.symmetric


def test_calls_in_several_threads_leave_torch_with_the_threads_it_had():
    before, together, left = torch.get_num_threads(), Barrier(2), []

    def late():
        with torch_threads(3):
            together.wait()
            together.wait()
        left.append(torch.get_num_threads())

    with torch_threads(2):
        thread = Thread(target=late)  # torch tells a new thread what was set last
        thread.start()
        together.wait()
    assert torch.get_num_threads() == before
    together.wait()
    thread.join()
    newest = Thread(target=lambda: left.append(torch.get_num_threads()))
    newest.start()
    newest.join()
    assert [torch.get_num_threads(), *left] == [before] * 3


def test_an_error_leaves_torch_with_the_threads_it_had(fitted, test, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    before = torch.get_num_threads()
    monkeypatch.setattr(fitted("siamese").network_, "distance_matrix", stop)
    with pytest.raises(KeyboardInterrupt):
        fitted("siamese").pairwise(test, n_jobs=3)
    assert torch.get_num_threads() == before


@EVERY
def test_the_company_of_longer_sequences_changes_nothing(name, fitted, test):
    metric = fitted(name)
    long = tl.Sequences([*test[:3], np.ones((60, 4)), np.ones((1, 4))])
    np.testing.assert_allclose(metric.pairwise(long)[:3, :3], metric.pairwise(test[:3]), **CLOSE)


@EVERY
def test_single_steps_are_sequences(name, fitted, test):
    one = tl.Sequences([x[:1] for x in test[:3]])
    found = fitted(name).pairwise(one, test[:2])
    assert found.shape == (3, 2)
    assert np.isfinite(found).all()


@EVERY
def test_the_dtype_of_the_input_decides_about_that_of_the_output_and_not_about_the_numbers(name, fitted):
    metric = fitted(name)
    whole = np.random.default_rng(0).integers(-2, 3, (5, 7, 4))
    double = metric.pairwise(whole.astype(np.float64))
    assert double.dtype == np.float64
    single = metric.pairwise(whole.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, **CLOSE)
    np.testing.assert_allclose(metric.pairwise(whole), double, **CLOSE)
    np.testing.assert_allclose(metric.pairwise(list(whole)), double, **CLOSE)
    np.testing.assert_allclose(metric.pairwise(torch.from_numpy(whole)), double, **CLOSE)


@pytest.mark.parametrize("name", ["siamese", "tap", "rvsml", "elements"])
def test_tables_are_read_by_estimators(name):
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((12, 6)))
    classes = pd.Series(["a", "b"] * 6)
    short = {} if name == "rvsml" else {"max_steps": 2} if name == "elements" else {"max_epochs": 1}
    metric = MAKERS[name](**short).fit(table, classes)
    assert metric.classes_.tolist() == ["a", "b"]
    assert tl.Neighbors(metric).fit(table, classes).predict(table).shape == (12,)


def test_an_array_that_is_given_is_filled(fitted, test):
    out = np.empty((4, 4))
    assert fitted("coupled").pairwise(test[:4], out=out) is out
    np.testing.assert_array_equal(out, fitted("coupled").pairwise(test[:4]))


def test_progress_goes_up_to_all_pairs(fitted, test, monkeypatch, capsys):
    monkeypatch.setattr(distance_network, "BLOCK_NUMBERS", 100)
    for name in ("siamese", "tap"):  # each pair once, and in both directions
        metric, seen = fitted(name), []
        ready = metric.scaler_.transform(test)
        fill_distances(
            metric.network_, ready, None, np.empty((30, 30)), lambda done, total, seen=seen: seen.append(done / total)
        )
        assert seen == sorted(seen)
        assert seen[-1] == 1
    fitted("siamese").pairwise(test[:3], progress=True)
    assert "100%" in capsys.readouterr().err


def test_long_sequences_are_read_one_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    metric = tl.TAP(hidden=8, trainer=tl.Trainer(max_epochs=1), random_state=0)
    metric.fit(rng.standard_normal((8, 5, 2)), [0, 1] * 4)
    long = rng.standard_normal((2, 40_000, 2))
    seen, features = [], TAPNetwork.features
    monkeypatch.setattr(TAPNetwork, "features", lambda net, x, n: seen.append(x.shape[:2]) or features(net, x, n))
    with torch.no_grad():
        parts = distance_network.feature_batches(metric.network_, metric.scaler_.transform(tl.Sequences(long)))
    assert seen == [(1, 40_000)] * 2  # two at once would have more steps than a layer of 1024 units has room for
    assert [part.ids.tolist() for part in parts] == [[0], [1]]


SIZES = [(2, 2000), (16, 250)]  # items and steps
PEAK = f"""
import resource, numpy as np, timelike as tl
from timelike.metric.tap import network
network.AT_ONCE = 1 << 22
rng = np.random.default_rng(0)
options = {{"hidden": 8, "trainer": tl.Trainer(max_epochs=1), "random_state": 0}}
metrics = [tl.TAP(alignment=tl.metric.AlignmentPredictor(n_kernels=2), **options), tl.TAP(variant="attention", **options)]
for metric in metrics:
    metric.fit(rng.standard_normal((8, 5, 2)), [0, 1] * 4).pairwise(rng.standard_normal((2, 50, 2)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for metric in metrics:
    for items, steps in {SIZES}:
        metric.pairwise(rng.standard_normal((items, steps, 2)))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_grows_neither_with_pairs_nor_with_the_product_of_lengths():
    """One process for all: a peak never falls, so the last number bounds what each of them needed."""
    printed = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True).stdout
    grown = [int(kilobytes) for kilobytes in printed.split()]
    whole = min(items**2 * steps**2 * 8 / 1024 for items, steps in SIZES)  # kB of all tables in double precision
    assert len(grown) == 2 * len(SIZES)
    assert grown[-1] < 120_000 < whole, grown


@EVERY
def test_a_sequence_is_the_same_in_any_company(name, fitted, train, test):
    metric = fitted(name)
    x, y = test[:5], train[:7]
    whole = metric.pairwise(x, y)
    assert_same(np.array([[metric.distance(a, b) for b in y] for a in x]), whole)
    assert_same(metric.pairwise(x[::-1], y[3:])[::-1], whole[:, 3:])
    assert_same(metric.pairwise(x, y, n_jobs=2), whole)


@pytest.mark.parametrize("name", ["siamese", "lstm", "coupled", "coupled-mean"])
def test_a_sequence_finds_itself_at_distance_zero(name, fitted, train):
    metric = fitted(name)
    for item in range(8):
        found = metric.neighbors(train, train[item : item + 1], k=1)
        assert (found.ids[0, 0], found.distances[0, 0]) == (item, 0)


def test_more_threads_than_processors_are_not_started(fitted, test):
    for name in ("siamese", "coupled", "tap"):
        metric = fitted(name)
        assert_same(metric.pairwise(test[:3], n_jobs=100_000), metric.pairwise(test[:3]))


@pytest.mark.parametrize("name", ["tap", "siamese", "elements"])
def test_large_values_stay_apart(name, fitted, test):
    large = tl.Sequences([1e25 * np.asarray(one) for one in test[:4]])
    found = fitted(name).pairwise(large)
    assert np.isfinite(found).all()
    assert name == "siamese" or (found[~np.eye(4, dtype=bool)] > 0).all()  # there all gates are shut or open


@pytest.mark.parametrize("name", NETWORKS)
def test_a_gallery_is_prepared_once_and_finds_what_the_metric_finds(name, fitted, train, test, monkeypatch):
    metric = fitted(name)
    gallery, seen = metric.prepare_gallery(train), []
    kind = type(metric.network_)
    features = kind.features
    monkeypatch.setattr(kind, "features", lambda net, x, n: seen.append(len(x)) or features(net, x, n))
    found = gallery.neighbors(test[:5], k=3)
    assert sum(seen) == 5
    expected = metric.neighbors(train, test[:5], k=3)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert_same(found.distances, expected.distances)


def test_a_gallery_keeps_the_metric_that_prepared_it(train, test):
    metric = MAKERS["siamese"]().fit(train)
    gallery = metric.prepare_gallery(train)
    before = gallery.neighbors(test[:3]).distances
    metric.set_params(random_state=5).fit(train)
    np.testing.assert_array_equal(gallery.neighbors(test[:3]).distances, before)


@EVERY
def test_the_number_of_threads_does_not_matter(name, fitted, test):
    metric = fitted(name)
    before = torch.get_num_threads()
    one, two = (metric.pairwise(test[:8], n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)
    assert torch.get_num_threads() == before
