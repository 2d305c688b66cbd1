"""Transport alignments against naive references, POT, and what must hold of any plan."""

import math

import numpy as np
import pytest

import timelike as tl
from naive import transport as naive
from timelike.core import memory
from timelike.native import COSTS

RNG = np.random.default_rng(5)
SOFT = [tl.Sinkhorn(), tl.OPW(), tl.align.TCOT(), tl.OPW(inverse_difference=2.0, deviation=3.0, regularization=0.5)]
EXACT = pytest.param(tl.OT(), id="OT()", marks=pytest.mark.transport)
LENGTHS = [(12, 9), (9, 12), (7, 7), (1, 5), (5, 1), (1, 1), (8, 4)]


def pair(n, m, channels=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, channels)), rng.standard_normal((m, channels))


def uniform(n):
    return np.full(n, 1 / n)


def assert_marginals(plan):
    n, m = plan.shape
    np.testing.assert_allclose(plan.sum(axis=1), 1 / n, rtol=1e-9)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / m, rtol=1e-9)
    assert (plan >= 0).all()


@pytest.mark.transport
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_exact_transport_is_the_linear_program(lengths, cost):
    x, y = pair(*lengths)
    assert tl.OT(cost=cost).distance(x, y) == pytest.approx(naive.exact(naive.frames(x, y, cost)), abs=1e-9)
    assert_marginals(tl.OT(cost=cost).align(x, y).plan)


@pytest.mark.transport
def test_exact_transport_is_that_of_pot():
    import ot

    x, y = pair(40, 31)
    expected = ot.emd2(uniform(40), uniform(31), naive.frames(x, y))
    assert tl.OT().distance(x, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_sinkhorn_is_the_log_domain_loop(lengths, cost):
    x, y = pair(*lengths)
    costs = naive.frames(x, y, cost)
    expected = naive.scaled(naive.sinkhorn_kernel(costs, 0.3))
    found = tl.Sinkhorn(regularization=0.3, cost=cost).align(x, y)
    np.testing.assert_allclose(found.plan, expected, atol=1e-10)
    assert found.cost == pytest.approx((expected * costs).sum(), abs=1e-9)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("options", [(5.0, 0.5, 1.0), (3.0, 0.7, 2.5), (0.0, 1.0, 0.5)])
def test_opw_is_the_papers_kernel_scaled(lengths, options):
    x, y = pair(*lengths)
    costs = naive.frames(x, y)
    expected = naive.scaled(naive.opw_kernel(costs, *options))
    names = ("inverse_difference", "regularization", "deviation")
    found = tl.OPW(**dict(zip(names, options, strict=True))).align(x, y)
    np.testing.assert_allclose(found.plan, expected, atol=1e-10)
    assert found.cost == pytest.approx((expected * costs).sum(), abs=1e-9)


@pytest.mark.parametrize("lengths", [*LENGTHS, (64, 64), (50, 33)])
def test_opw_at_its_defaults_is_a_scaling_of_the_papers_kernel_with_the_right_marginals(lengths):
    """There is only one such plan; a plain loop would take millions of turns to it."""
    x, y = pair(*lengths)
    found = tl.OPW().align(x, y)
    assert_marginals(found.plan)
    assert naive.off_scaling(found.plan, naive.opw_kernel(naive.frames(x, y), 50.0, 0.1, 1.0)) < 1e-9
    assert found.cost == pytest.approx((found.plan * naive.frames(x, y)).sum(), rel=1e-12)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_tcot_counts_relative_positions_in_its_ground_cost(lengths):
    x, y = pair(*lengths)
    costs = naive.tcot_costs(naive.frames(x, y), 2.0)
    expected = naive.scaled(-costs / 0.4)
    found = tl.align.TCOT(weight=2.0, regularization=0.4).align(x, y)
    np.testing.assert_allclose(found.plan, expected, atol=1e-10)
    assert found.cost == pytest.approx((expected * costs).sum(), abs=1e-9)


def test_tcot_without_weight_is_sinkhorn():
    x, y = pair(9, 6)
    assert tl.align.TCOT(weight=0).distance(x, y) == tl.Sinkhorn().distance(x, y)


@pytest.mark.transport
def test_sinkhorn_is_that_of_pot():
    import ot

    x, y = pair(20, 15)
    costs = naive.frames(x, y)
    expected = ot.sinkhorn(uniform(20), uniform(15), costs, 0.5, method="sinkhorn_log", stopThr=1e-13, numItermax=10**5)
    np.testing.assert_allclose(tl.Sinkhorn(regularization=0.5).align(x, y).plan, expected, atol=1e-11)


@pytest.mark.transport
def test_opw_is_pots_sinkhorn_on_the_same_kernel():
    import ot

    x, y = pair(16, 16, seed=2)
    costs = -0.5 * naive.opw_kernel(naive.frames(x, y), 5.0, 0.5, 1.0)
    expected = ot.sinkhorn(uniform(16), uniform(16), costs, 0.5, method="sinkhorn_log", stopThr=1e-13, numItermax=10**5)
    found = tl.OPW(inverse_difference=5.0, regularization=0.5).align(x, y).plan
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("metric", SOFT, ids=repr)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_every_plan_has_its_marginals(metric, lengths):
    assert_marginals(metric.align(*pair(*lengths)).plan)


@pytest.mark.transport
@pytest.mark.parametrize("lengths", [(30, 30), (30, 21), (24, 16), (1, 9), (13, 1)])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("regularization", [1e-4, 0.1])
def test_with_little_entropy_or_huge_costs_sinkhorn_is_near_exact_transport(lengths, size, regularization):
    x, y = pair(*lengths)
    n, m = lengths
    soft, hard = tl.Sinkhorn(regularization=regularization).align(size * x, size * y), tl.OT().align(size * x, size * y)
    assert_marginals(soft.plan)
    # ⟨T, D⟩ − ε H(T) is least at T, and entropies of plans lie between 0 and log nm
    assert hard.cost * (1 - 1e-9) <= soft.cost <= hard.cost * (1 + 1e-9) + regularization * math.log(n * m)


@pytest.mark.parametrize("metric", [*SOFT, EXACT], ids=repr)
def test_constant_and_equal_sequences_give_finite_plans(metric):
    flat = np.ones((6, 2))
    apart = metric.distance(flat, np.ones((4, 2)))
    assert (0 < apart < metric.weight) if isinstance(metric, tl.align.TCOT) else (apart == 0)
    x = RNG.standard_normal((9, 2))
    assert_marginals(metric.align(x, x).plan)
    assert_marginals(metric.align(flat, np.ones((4, 2))).plan)


@pytest.mark.parametrize("metric", [*SOFT, EXACT], ids=repr)
def test_a_plan_of_swapped_sequences_is_the_plan_transposed(metric):
    for lengths in LENGTHS:
        x, y = pair(*lengths)
        np.testing.assert_array_equal(metric.align(x, y).plan, metric.align(y, x).plan.T)


def test_opw_keeps_the_order_that_transport_forgets():
    x = np.linspace(0, 1, 20)
    assert tl.OPW().distance(x, x[::-1]) > 10 * tl.OPW().distance(x, x)


@pytest.mark.transport
def test_exact_transport_forgets_the_order():
    x = np.linspace(0, 1, 20)
    assert tl.OT().distance(x, x[::-1]) == 0


def test_float32_sequences_are_solved_in_float64_and_given_in_float32():
    x, y = (side.astype(np.float32) for side in pair(10, 8))
    found = tl.OPW().pairwise([x], [y])
    assert found.dtype == np.float32
    assert found[0, 0] == np.float32(tl.OPW().distance(x.astype(float), y.astype(float)))


def test_alignments_apply_and_draw_themselves():
    x, y = pair(10, 8)
    found = tl.OPW().align(x, y)
    np.testing.assert_allclose(found.apply(), 10 * found.plan @ y)
    assert found.path is None
    assert len(found.plot().axes) == 2


def test_too_few_rounds_are_told_with_the_pair_and_by_how_much():
    data = [RNG.standard_normal((20, 2)) for _ in range(3)]
    with pytest.warns(
        RuntimeWarning, match=r"OPW: the plan of X\[\d\] and X\[\d\], the worst of 6, misses its marginals"
    ):
        tl.OPW(max_iter=1).pairwise(data)
    with pytest.warns(RuntimeWarning, match="the plan of x and y misses its marginals by .* max_iter=1 rounds"):
        found = tl.OPW(max_iter=1).align(data[0], data[1])
    assert np.isfinite(found.plan).all()


@pytest.mark.parametrize("metric", [tl.Sinkhorn(), EXACT], ids=repr)
def test_values_too_large_for_any_cost_are_refused(metric):
    with pytest.raises(ValueError, match="too large"):
        metric.distance([1e200, 0.0], [0.0])


@pytest.mark.parametrize(
    ("metric", "option", "value"),
    [
        (tl.Sinkhorn, "regularization", 0.0),
        (tl.Sinkhorn, "regularization", math.inf),
        (tl.OPW, "deviation", -1.0),
        (tl.OPW, "inverse_difference", math.nan),
        (tl.align.TCOT, "weight", -0.5),
        (tl.Sinkhorn, "tolerance", 0.0),
        (tl.Sinkhorn, "max_iter", 0),
        (tl.OT, "cost", "cosine"),
        (tl.OPW, "cost", "cosine"),
    ],
)
def test_an_option_out_of_range_is_named_with_what_was_expected(metric, option, value):
    with pytest.raises(ValueError, match=f"{option}=.*expected"):
        metric(**{option: value})


@pytest.mark.parametrize("metric", [tl.Sinkhorn(), EXACT], ids=repr)
def test_a_bar_hears_of_progress(metric, capsys):
    data = [RNG.standard_normal((6, 1)) for _ in range(4)]
    metric.pairwise(data, progress=True)
    assert "100%" in capsys.readouterr().err


def test_an_unfinished_plan_that_leaves_a_step_out_is_not_applied():
    x, y = RNG.standard_normal((40, 1)), RNG.standard_normal((45, 1))
    with pytest.warns(RuntimeWarning, match="misses its marginals"):
        found = tl.OPW(regularization=1e-6, max_iter=1).align(x, y)
    empty = np.flatnonzero(found.plan.sum(axis=1) == 0)
    assert len(empty)  # or this test shows nothing
    with pytest.raises(ValueError, match=f"step {empty[0]} of x is matched with nothing.* larger max_iter"):
        found.apply()


def test_a_deviation_beyond_all_bounds_is_a_flat_prior_or_refused():
    x, y = pair(8, 6)
    flat = tl.OPW(inverse_difference=0.0, deviation=1e300, regularization=0.5).align(x, y)
    np.testing.assert_allclose(flat.plan, tl.Sinkhorn(regularization=0.5).align(x, y).plan, atol=1e-10)
    with pytest.raises(ValueError, match="deviation=1e-300: expected at least .* with regularization=0.1"):
        tl.OPW(deviation=1e-300)
    # the least that is taken: with equal lengths all mass is on the diagonal
    steep = tl.OPW(deviation=1e-130).align(x, x)
    np.testing.assert_allclose(steep.plan, np.eye(8) / 8, atol=1e-12)


@pytest.mark.parametrize("metric", [tl.Sinkhorn(), tl.OPW(), tl.align.TCOT(), EXACT], ids=repr)
def test_steps_that_memory_cannot_pair_are_refused_before_anything_is_allocated(metric, monkeypatch):
    monkeypatch.setattr(memory, "total_memory", lambda: 1 << 30)
    long, longer = np.zeros(30_000), np.zeros(60_000)
    for call in (lambda: metric.distance(long, longer), lambda: metric.align(long, longer)):
        with pytest.raises(MemoryError, match="30000 and 60000 steps needs .* GiB and this machine has 1.0: resample"):
            call()


def test_a_failed_allocation_says_what_was_needed(monkeypatch):
    def nothing_left(*_, **__):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(tl.align.transport.native, "pairwise", nothing_left)
    with pytest.raises(MemoryError, match="transport between 3000 and 2000 steps needs 0.2 GiB: resample"):
        tl.Sinkhorn().distance(np.zeros(3000), np.zeros(2000))


def test_threads_that_would_not_fit_beside_each_other_are_left_out(monkeypatch):
    x = [np.zeros((2000, 1)) for _ in range(4)]
    enough = 2 * 8 * 4 * 2000 * 2000  # for two workers
    monkeypatch.setattr(tl.align.transport, "total_memory", lambda: enough + 1)
    used = []
    monkeypatch.setattr(
        tl.align.transport.native,
        "pairwise",
        lambda *_, threads, out, **__: (
            used.append(threads) or out.fill(0) or tl.align.transport.native.MarginalErrors(0, 0, 0, 0.0)
        ),
    )
    tl.Sinkhorn().pairwise(x, n_jobs=8)
    assert used == [2]
