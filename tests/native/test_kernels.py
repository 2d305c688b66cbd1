"""The compiled kernels against their naive twin and against the torch executor."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timelike as tl
from naive import elastic
from timelike.native import Steps, Window, compiled, wavefront

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")
COSTS = ("sqeuclidean", "euclidean", "manhattan")


def ragged(rng, count, longest, channels, dtype):
    lengths = rng.integers(1, longest + 1, count)
    values = rng.standard_normal((lengths.sum(), channels)).astype(dtype)
    return values, np.cumsum(lengths) - lengths, lengths


def pairwise(x, y=None, *, cells=-1, share=-1.0, cost=0, threads=1, isa=None):
    other = x if y is None else y
    out = np.full((len(x[1]), len(other[1])), np.nan, x[0].dtype)
    how = {"cells": cells, "share": share, "cost": cost, "threads": threads, "out": out, "report": None, "isa": isa}
    kernels.dtw_pairwise(*x, *other, symmetric=y is None, **how)
    return out


def items(collection):
    values, starts, lengths = collection
    return [values[s : s + n] for s, n in zip(starts, lengths, strict=True)]


@pytest.mark.parametrize("isa", kernels.isas())
@given(data=st.data())
def test_every_instruction_set_agrees_with_the_formula(isa, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    channels, longest = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 30))
    cost = data.draw(st.integers(0, 2))
    x = ragged(rng, data.draw(st.integers(1, 5)), longest, channels, dtype)
    y = ragged(rng, data.draw(st.integers(1, 40)), longest, channels, dtype)
    cells = data.draw(st.integers(0, longest) | st.just(-1))
    radius = None if cells < 0 else max(cells, longest)  # wide enough for any pair of lengths here
    found = pairwise(x, y, cells=-1 if radius is None else radius, cost=cost, isa=isa)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    for i, a in enumerate(items(x)):
        for j, b in enumerate(items(y)):
            expected = elastic.dtw(a.astype(float), b.astype(float), radius, COSTS[cost])
            assert found[i, j] == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(length=st.integers(1, 40), cells=st.integers(0, 45), channels=st.integers(1, 3), seed=st.integers(0, 2**32))
def test_every_band_agrees_with_the_formula(isa, dtype, length, cells, channels, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((5 * length, channels)).astype(dtype)
    x = values, np.arange(5) * length, np.full(5, length)
    found = pairwise(x, cells=cells, isa=isa)
    for i, a in enumerate(items(x)):
        for j, b in enumerate(items(x)):
            expected = elastic.dtw(a.astype(float), b.astype(float), cells)
            assert found[i, j] == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-13, abs=1e-12)


@given(n=st.integers(1, 30), extra=st.integers(0, 12), slack=st.integers(0, 5), seed=st.integers(0, 2**32))
def test_a_band_between_unequal_lengths_agrees_with_the_formula(n, extra, slack, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n, 2)), rng.standard_normal((n + extra, 2))
    radius = extra + slack
    assert tl.DTW(window=radius).distance(a, b) == pytest.approx(elastic.dtw(a, b, radius), rel=1e-12)
    assert tl.DTW(window=radius).distance(b, a) == pytest.approx(elastic.dtw(b, a, radius), rel=1e-12)


@given(
    seed=st.integers(0, 2**32), channels=st.integers(1, 3), cost=st.sampled_from(COSTS), share=st.none() | st.just(1.0)
)
def test_the_torch_executor_agrees_with_the_kernels(seed, channels, cost, share):
    rng = np.random.default_rng(seed)
    x, y = ragged(rng, 4, 25, channels, np.float64), ragged(rng, 5, 25, channels, np.float64)
    window = Window(share=share)
    expected = pairwise(x, y, share=-1.0 if share is None else share, cost=COSTS.index(cost))
    found = np.empty_like(expected)
    wavefront.dtw_pairwise(Steps(*x), Steps(*y), symmetric=False, window=window, cost=cost, out=found, report=None)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    pair = items(x)[0], items(y)[0]
    path, total = wavefront.dtw_path(*pair, window=window, cost=cost)
    other, also = kernels.dtw_path(*pair, cells=-1, share=-1.0, cost=COSTS.index(cost))
    np.testing.assert_array_equal(path, other)
    assert total == pytest.approx(also, rel=1e-12)


@given(seed=st.integers(0, 2**32))
def test_the_path_is_a_cheapest_one_among_all(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((rng.integers(1, 6), 2)), rng.standard_normal((rng.integers(1, 6), 2))
    path, cost = kernels.dtw_path(x, y, cells=-1, share=-1.0, cost=0)
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [len(x) - 1, len(y) - 1]
    steps = np.diff(path, axis=0)
    assert np.isin(steps, (0, 1)).all()
    assert steps.any(axis=1).all()
    assert elastic.path_cost(x, y, path) == pytest.approx(cost, rel=1e-12)
    assert cost == pytest.approx(elastic.cheapest_path(x, y), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 3])
def test_results_do_not_depend_on_threads_batches_or_neighbours_in_the_register(dtype, channels):
    rng = np.random.default_rng(5)
    x, y = ragged(rng, 40, 60, channels, dtype), ragged(rng, 70, 60, channels, dtype)
    together = pairwise(x, y, threads=2)
    np.testing.assert_array_equal(together, pairwise(x, y, threads=1))
    np.testing.assert_array_equal(together, pairwise(y, x, threads=2).T)
    for i, a in enumerate(items(x)[:10]):
        for j, b in enumerate(items(y)[:10]):
            alone = pairwise((a, np.zeros(1, int), np.array([len(a)])), (b, np.zeros(1, int), np.array([len(b)])))
            assert alone[0, 0] == together[i, j]
            assert kernels.dtw_path(a, b, cells=-1, share=-1.0, cost=0)[1] == together[i, j]
    np.testing.assert_array_equal(pairwise(x), pairwise(x, x))


def test_fork_leaves_a_working_pool_in_the_child():
    x = np.random.default_rng(0).standard_normal((200, 100))
    expected = tl.DTW().pairwise(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tl.DTW().pairwise(x), expected) else 1)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    if done == (0, 0):
        os.kill(child, signal.SIGKILL)
    assert done == (child, 0)


def test_several_python_threads_may_compute_at_once():
    x = np.random.default_rng(0).standard_normal((150, 120))
    expected, found = tl.DTW().pairwise(x), [None] * 4

    def work(slot):
        found[slot] = tl.DTW().pairwise(x)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("job", ["tl.DTW().pairwise(x)", "tl.DTW().align(long, long)"])
def test_ctrl_c_stops_a_long_job_within_a_second(job):
    program = (
        "import numpy as np, timelike as tl; rng = np.random.default_rng(0); x = rng.standard_normal((3000, 3000));"
        "long = rng.standard_normal(60000)[:, None];"
        f"tl.DTW().distance([0.0], [1.0]); print('ready', flush=True); {job}"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    began = time.monotonic()
    worker.send_signal(signal.SIGINT)
    _, said = worker.communicate(timeout=30)
    assert time.monotonic() - began < 2  # a second, and as much again for a loaded machine to end the process
    assert "KeyboardInterrupt" in said


def test_the_processor_gets_its_best_kernels_and_a_wish_is_heard():
    assert compiled()
    program = "from timelike.native import _kernels as k; print(k.isa())"
    for isa in kernels.isas():
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"TIMELIKE_ISA": isa},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == isa
    program = "import timelike as tl; tl.DTW().distance([0], [1])"
    run = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"TIMELIKE_ISA": "v9"}, capture_output=True, text=True
    )
    assert "TIMELIKE_ISA='v9': this build and processor have" in run.stderr
    with pytest.raises(ValueError, match="isa='v9' is not built in"):
        pairwise((np.zeros((1, 1)), np.zeros(1, int), np.ones(1, int)), isa="v9")
