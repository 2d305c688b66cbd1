"""The compiled transport: every instruction set against the NumPy executor, and the executor behind the aligners."""

import numpy as np
import pytest

import timelike as tl
from naive import transport as naive
from timelike.align.elastic import pack_steps
from timelike.native import transport
from timelike.native.transport import fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

EFFORT = {"tolerance": 1e-12, "rounds": 1000}
PROBLEMS = {
    "sinkhorn": transport.SinkhornOptions(epsilon=0.1, **EFFORT),
    "manhattan": transport.SinkhornOptions(epsilon=0.05, cost="manhattan", **EFFORT),
    "opw": transport.SinkhornOptions(epsilon=0.1, similarity=50.0, spread=0.05, **EFFORT),
    "tcot": transport.SinkhornOptions(epsilon=0.1, cost="euclidean", weight=2.0, counted=True, **EFFORT),
    "sharp": transport.SinkhornOptions(epsilon=1e-4, **EFFORT),
}


def collection(lengths, channels=2, size=1.0):
    rng = np.random.default_rng(len(lengths))
    return tl.Sequences([size * rng.standard_normal((n, channels)) for n in lengths])


def pairwise(how, x, y=None, *, threads=1, isa=None):
    other = x if y is None else y
    out = np.full((len(x), len(other)), np.nan)
    sides = pack_steps(x, out.dtype), pack_steps(other, out.dtype)
    how_run = {"symmetric": y is None, "threads": threads, "out": out, "plan": None, "report": None, "isa": isa}
    assert kernels.transport_pairs(how.numbers(), *sides[0], *sides[1], **how_run)[0] == 0
    return out


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_instruction_set_gives_the_numbers_of_the_numpy_executor(isa, name):
    x, y = collection((1, 2, 17, 33, 40)), collection((1, 16, 9, 35))
    expected = np.empty((len(x), len(y)))
    sides = pack_steps(x, expected.dtype), pack_steps(y, expected.dtype)
    assert fallback.pairwise(PROBLEMS[name], *sides, symmetric=False, out=expected, report=None)[0] == 0
    np.testing.assert_allclose(pairwise(PROBLEMS[name], x, y, isa=isa), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.transport
@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_every_instruction_set_survives_extremes(isa, size):
    x = collection((30, 21, 30, 7), size=size)
    how = PROBLEMS["sharp"]
    found = pairwise(how, x, isa=isa)
    for i, j in ((0, 1), (0, 2), (1, 3)):
        exact = tl.OT().distance(x[i], x[j])
        assert exact * (1 - 1e-9) <= found[i, j] <= exact * (1 + 1e-9) + how.epsilon * np.log(900)


@pytest.mark.parametrize("isa", kernels.isas())
def test_a_projected_gradient_has_rows_and_columns_that_sum_to_zero(isa):
    rng = np.random.default_rng(0)
    n, m = np.array([9, 4, 1]), np.array([5, 7, 7])
    costs, gradients = rng.standard_normal((2, 3, 9, 7)) ** 2
    plans, _ = transport.plans(PROBLEMS["sinkhorn"], costs, n, m, 1)
    out = np.zeros_like(plans)
    kernels.transport_project(plans, gradients, n, m, threads=1, out=out, isa=isa)
    for b in range(3):
        inside = out[b, : n[b], : m[b]]
        np.testing.assert_allclose(inside.sum(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(inside.sum(axis=1), 0, atol=1e-12)
        expected = fallback.project_gradient(plans[b, : n[b], : m[b]], gradients[b, : n[b], : m[b]])
        np.testing.assert_allclose(inside, expected, atol=1e-11)
        assert np.count_nonzero(out[b]) == np.count_nonzero(inside)


def test_large_plans_are_factored_by_panels():
    rng = np.random.default_rng(1)
    costs = rng.standard_normal((1, 90, 83)) ** 2
    how = transport.SinkhornOptions(epsilon=0.02, **EFFORT)
    (plan,), deviations = transport.plans(how, costs, np.array([90]), np.array([83]), 1)
    assert deviations[0] <= 1e-12
    assert naive.off_scaling(plan, -costs[0] / 0.02) < 1e-8


def test_threads_and_symmetry_change_no_bit():
    x = collection((40, 17, 40, 40, 64, 3) * 3)
    whole = pairwise(PROBLEMS["opw"], x, x, threads=1)
    np.testing.assert_array_equal(whole, pairwise(PROBLEMS["opw"], x, threads=2))
    np.testing.assert_array_equal(whole, whole.T)


def test_the_numpy_executor_answers_where_there_are_no_kernels(monkeypatch):
    x = collection((8, 5, 8))
    expected = {metric: metric.pairwise(x) for metric in (tl.Sinkhorn(), tl.OPW(), tl.align.TCOT())}
    plan = tl.OPW().align(x[0], x[1]).plan
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    for metric, found in expected.items():
        np.testing.assert_allclose(metric.pairwise(x), found, rtol=1e-9, atol=1e-12)
        assert metric.distance(x[0], x[1]) == metric.align(x[0], x[1]).cost
    np.testing.assert_allclose(tl.OPW().align(x[0], x[1]).plan, plan, atol=1e-12)
    with pytest.warns(RuntimeWarning, match=r"X\[\d\] and X\[\d\], the worst of"):
        tl.OPW(max_iter=1).pairwise(x)
