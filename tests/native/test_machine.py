"""The pool of threads, Ctrl-C, the choice of an instruction set, and memory that is used again."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import timelike as tl
from interrupted import end_by_ctrl_c
from timelike.native import coupled, elastic, is_native_enabled, soft, transport
from timelike.native.machine import PackedSequences

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")


def test_fork_leaves_a_working_pool_in_the_child():
    x = np.random.default_rng(0).standard_normal((200, 100))
    expected = tl.DTW().pairwise(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tl.DTW().pairwise(x), expected) else 1)
    deadline = time.monotonic() + 300
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


@pytest.mark.parametrize(
    "job",
    [
        "tl.DTW().pairwise(x)",
        "tl.DTW().align(less, less)",
        "tl.DTW().distance(long, long)",
        "tl.MSM().neighbors(x, x, k=9)",
        "tl.SoftDTW().distance(less, less)",
        "tl.SoftDTW().align(long[:15000], long[:15000])",
        "tl.Sinkhorn(regularization=1e-4).distance(long[:3000], long[3000:6000])",
    ],
)
def test_ctrl_c_stops_a_long_job(job):
    end_by_ctrl_c(
        "import numpy as np, timelike as tl; rng = np.random.default_rng(0); x = rng.standard_normal((3000, 3000));"
        "long = rng.standard_normal(600000)[:, None]; less = long[:200000];"
        f"tl.DTW().distance([0.0], [1.0]); print('ready', flush=True); {job}"
    )


def test_ctrl_c_is_heard_while_another_thread_has_the_pool():
    end_by_ctrl_c(
        "import threading, time, numpy as np, timelike as tl; rng = np.random.default_rng(0);"
        "x = rng.standard_normal((3000, 3000)); long = rng.standard_normal(400000)[:, None];"
        "threading.Thread(target=tl.DTW().pairwise, args=(x,), daemon=True).start(); time.sleep(0.5);"
        "print('ready', flush=True); tl.DTW().distance(long, long)"
    )


def test_the_processor_gets_its_best_kernels_and_a_wish_is_heard():
    assert is_native_enabled()
    program = "from timelike import native; print(native.isa())"
    for isa in kernels.isas():
        wish = os.environ | {"TIMELIKE_ISA": isa}
        run = subprocess.run([sys.executable, "-c", program], env=wish, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == isa
    program = "import timelike as tl; tl.DTW().distance([0], [1])"
    wish = os.environ | {"TIMELIKE_ISA": "v9"}
    run = subprocess.run([sys.executable, "-c", program], env=wish, capture_output=True, text=True)
    assert "TIMELIKE_ISA='v9': this build and processor have" in run.stderr


def test_rooms_that_somebody_looks_at_never_overlap():
    held = []
    for n in range(40):
        held.append(kernels.room(1000 * (n % 7) + 1))
        held[-1][:] = n
        view = held[-1][:1]
        if n % 3 == 0:
            held[-1] = view  # a part of it keeps it as the whole does
        if n % 5 == 4:
            del held[n % len(held)]
    spans = sorted((one.ctypes.data, one.ctypes.data + one.nbytes) for one in held)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(len(set(one.tolist())) == 1 for one in held)


def test_a_room_that_was_given_back_is_used_again():
    first = kernels.room(10_000_000)
    address = first.ctypes.data
    del first
    assert kernels.room(9_999_000).ctypes.data == address or not sys.platform.startswith("linux")


SIDE = PackedSequences(np.zeros((6, 2)), np.array([0, 3]), np.array([3, 3]))


@pytest.mark.parametrize(
    "other",
    [
        PackedSequences(np.zeros((6, 1)), np.array([0, 3]), np.array([3, 3])),  # as a tampered folder had it
        PackedSequences(np.zeros((6, 2)), np.array([0, 3]), np.array([3, 4])),
        PackedSequences(np.zeros((6, 2)), np.array([-1, 3]), np.array([3, 3])),
        PackedSequences(np.zeros((6, 2)), np.array([0, 3]), np.array([3])),
        PackedSequences(np.zeros((6, 2)), np.array([0]), np.array([7])),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_sides_that_do_not_fit_never_reach_a_kernel(other, turned):
    x, y = (other, SIDE) if turned else (SIDE, other)
    out, program = np.empty((len(x.lengths), len(y.lengths))), elastic.Program()
    pairs = np.zeros(1, np.int64)
    for ask in (
        lambda: elastic.pairwise(program, x, y, symmetric=False, threads=1, out=out, report=None),
        lambda: soft.pair_totals(soft.SoftMinimum(1.0), x, y, pairs, pairs),
        lambda: transport.pairwise(None, x, y, symmetric=False, threads=1, out=out, report=None),
        lambda: coupled.matrix((), x, y, mean=False, symmetric=False, threads=1, out=out),
    ):
        with pytest.raises(ValueError, match="expected the same|outside its 6 steps"):
            ask()
