"""How many threads work takes that was not told: processors, affinity, quotas, OMP_NUM_THREADS, torch."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import timelike as tl
from timelike.core import threads
from timelike.core.extras import is_installed
from timelike.core.threads import check_n_jobs
from timelike.native import cpu_count, thread_count
from timelike.train.torch_threads import torch_threads


@pytest.fixture
def eight(monkeypatch):
    """A machine of eight processors, on which nobody has asked for fewer."""
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if is_installed("torch"):
        monkeypatch.setattr("torch.get_num_threads", lambda: 8)


@pytest.mark.parametrize(("said", "expected"), [("3", 3), (" 2,4", 2), ("64", 8), ("", 8), ("many", 8), ("0", 8)])
def test_omp_num_threads_is_heard_where_it_is_a_number(eight, monkeypatch, said, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert thread_count() == check_n_jobs(None) == expected


@pytest.mark.learn
def test_a_number_that_torch_was_lowered_to_holds_everywhere(eight, monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    assert check_n_jobs(None) == 2
    assert check_n_jobs(5) == 5  # who asks for a number gets it
    monkeypatch.delitem(sys.modules, "torch")
    assert check_n_jobs(None) == 8


def told(program, **environment):
    """What another Python process prints that begins with no wishes but these."""
    known = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=known | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_bound_to_one_processor_takes_one_thread_and_does_not_import_torch():
    program = (
        "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from timelike.core.threads import check_n_jobs;"
        "print(check_n_jobs(None), check_n_jobs(-1), 'torch' in sys.modules)"
    )
    assert told(program) == ["1", "1", "False"]


def test_only_none_and_not_minus_one_hears_omp_num_threads():
    program = "from timelike.core.threads import check_n_jobs; print(check_n_jobs(None), check_n_jobs(-1))"
    assert told(program, OMP_NUM_THREADS="1") == ["1", str(cpu_count())]


def groups(folder, own, **files):
    """A tree of control groups: paths with __ for / and _DOT_ for a dot, and what stands in /proc/self/cgroup."""
    for path, text in files.items():
        place = folder / path.replace("__", "/").replace("_DOT_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "own").write_text(own)
    return threads.cgroup_quota(folder, folder / "own")


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu_DOT_max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu_DOT_max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a__b__cpu_DOT_max": "400000 100000\n", "a__cpu_DOT_max": "50000 100000\n"}, 0.5),
        ("0::/known/to/the/host\n", {"cpu_DOT_max": "300000 100000\n"}, 3.0),
        ("0::/../..\n", {"cpu_DOT_max": "200000 100000\n"}, 2.0),
        (
            "4:memory:/x\n3:cpu,cpuacct:/box\n",
            {"cpu,cpuacct__box__cpu_DOT_cfs_quota_us": "250000\n", "cpu,cpuacct__box__cpu_DOT_cfs_period_us": "100000"},
            2.5,
        ),
        (
            "1:cpu:/host/only\n0::/\n",
            {"cpu__cpu_DOT_cfs_quota_us": "700000\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"},
            7.0,
        ),
        ("1:cpu:/\n", {"cpu__cpu_DOT_cfs_quota_us": "-1\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"}, None),
        ("0::/\n", {"cpu_DOT_max": "nonsense\n"}, None),
        ("2:cpuset:/\n", {"cpuset__cpu_DOT_max": "100000 100000\n"}, None),
        ("", {}, None),
    ],
)
def test_a_quota_is_read_from_both_versions_of_control_groups(tmp_path, own, files, expected):
    assert groups(tmp_path, own, **files) == expected


def test_a_machine_without_control_groups_has_no_quota(tmp_path):
    assert threads.cgroup_quota(tmp_path, tmp_path / "missing") is None


@pytest.mark.parametrize(("share", "expected"), [(0.2, 1), (1.0, 1), (1.2, 2), (7.01, 8), (99.0, 8), (None, 8)])
def test_a_share_of_a_processor_counts_as_one_and_never_more_than_there_are(monkeypatch, share, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_cached_quota", lambda: share)
    assert cpu_count() == expected


@pytest.mark.learn
def test_a_training_takes_no_more_threads_than_the_process_may_use(monkeypatch):
    import torch

    before = torch.get_num_threads()
    monkeypatch.setattr(tl.native, "thread_count", lambda: 1)
    seen, forward = [], tl.encode.CausalNetwork.forward
    monkeypatch.setattr(
        tl.encode.CausalNetwork, "forward", lambda *args: seen.append(torch.get_num_threads()) or forward(*args)
    )
    try:
        torch.set_num_threads(3)
        tl.CausalEncoder(n_features=4, channels=4, depth=1, max_steps=2, random_state=0).fit(np.zeros((3, 5, 1)))
        assert set(seen) == {1}
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", ["rocket", pytest.param("causal", marks=pytest.mark.learn)])
def test_distances_and_vectors_are_the_same_however_many_threads_there_are(monkeypatch, kind):
    rng = np.random.default_rng(0)
    X = tl.Sequences([rng.standard_normal((n, 2)) for n in rng.integers(3, 40, 30)])
    if kind == "rocket":
        encoder = tl.Rocket(n_features=200, random_state=0).fit(X)
    else:
        encoder = tl.CausalEncoder(n_features=8, channels=4, depth=3, max_steps=2, random_state=0).fit(X)
    found = []
    monkeypatch.setattr(tl.native, "cpu_count", lambda: 4)
    for count in (1, 3):
        for place in (threads, tl.native):  # `check_n_jobs` looks in the first, trainings in the second
            monkeypatch.setattr(place, "thread_count", lambda count=count: count)
        assert check_n_jobs(None) == count
        found.append((tl.DTW().pairwise(X), encoder.pairwise(X), encoder.encode(X)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.learn
def test_a_number_set_by_none_in_several_threads_is_put_back(monkeypatch):
    import torch

    monkeypatch.setattr(tl.native, "thread_count", lambda: 1)
    before = torch.get_num_threads()

    def inside(_):
        with torch_threads():
            return torch.get_num_threads()

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(inside, range(6))) == {1}
    assert torch.get_num_threads() == before
