"""The sums of a plan of weighted points: every instruction set against the formula, in any number of threads."""

import numpy as np
import pytest

from timelike.native import transport
from timelike.native.transport import fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")


def problem(n, m, seed=0, spread=3.0):
    """Costs filled up with infinity, potentials and weights of both sides."""
    rng = np.random.default_rng(seed)
    costs = np.full((n, transport.padded_width(m)), np.inf)
    costs[:, :m] = rng.exponential(1.0, (n, m))
    return costs, *(rng.normal(0.0, spread, k) for k in (n, m)), *(rng.dirichlet(np.ones(k)) for k in (n, m))


def of_set_with_itself(n, seed=0):
    """Points with themselves: costs are symmetric, and both sides have the same potentials and weights."""
    costs, f, _, a, _ = problem(n, n, seed)
    costs[:, :n] = (costs[:, :n] + costs[:, :n].T) / 2
    return costs, f, f, a, a


def sums(costs, f, g, a, b, shrink=1.7, *, symmetric=False, isa=None, threads=1):
    by_row = np.zeros(len(f))
    by_column = by_row if symmetric and len(f) == len(g) else np.zeros(len(g))
    both = {"by_row": by_row, "by_column": by_column}
    kernels.transport_sums(costs, f, g, a, b, shrink, symmetric=symmetric, threads=threads, isa=isa, **both)
    return by_row, by_column


def formula(costs, f, g, a, b, shrink=1.7):
    plan = np.exp(f[:, None] + g - shrink * costs[:, : len(g)])
    return plan @ b, a @ plan


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 17), (5, 3), (16, 16), (33, 40), (7, 130)])
def test_sums_are_those_of_the_formula(isa, n, m):
    given = problem(n, m)
    for found, expected in zip(sums(*given, isa=isa), formula(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 31, 100])
def test_of_a_set_with_itself_half_of_the_entries_give_all_sums(isa, n):
    given = of_set_with_itself(n)
    found, _ = sums(*given, symmetric=True, isa=isa)
    np.testing.assert_allclose(found, formula(*given)[0], rtol=1e-14)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize(("n", "m"), [(3, 20), (8, 9), (12, 40), (17, 17)])
def test_rows_at_the_top_of_a_larger_set_count_among_themselves_once(isa, n, m):
    costs, f, g, a, b = problem(n, m)
    costs[:, :n] = (costs[:, :n] + costs[:, :n].T) / 2
    g[:n], b[:n] = f, a
    by_row, by_column = formula(costs, f, g, a, b)
    found = np.zeros(n), np.zeros(m)
    both = {"by_row": found[0], "by_column": found[1]}
    kernels.transport_sums(costs, f, g, a, b, 1.7, symmetric=True, threads=1, isa=isa, **both)
    plain = np.zeros(n), np.zeros(m)
    fallback.add_plan_sums(costs, f, g, a, b, 1.7, symmetric=True, by_row=plain[0], by_column=plain[1])
    for rows, columns in (found, plain):
        np.testing.assert_allclose(rows + columns[:n], by_row, rtol=1e-14)
        np.testing.assert_allclose(columns[n:], by_column[n:], rtol=1e-14)


def test_the_door_adds_to_what_is_there_with_kernels_and_without(monkeypatch):
    costs, f, g, a, b = problem(6, 9)
    for native in ("1", "0"):
        monkeypatch.setenv("TIMELIKE_NATIVE", native)
        row_sums, column_sums = np.ones(6), np.full(9, 2.0)
        add_sums = transport.bind_plan_sums(symmetric=False, threads=1)
        add_sums(costs, f, g, a, b, 1.7, by_row=row_sums, by_column=column_sums)
        by_row, by_column = formula(costs, f, g, a, b)
        np.testing.assert_allclose(row_sums, 1 + by_row, rtol=1e-14)
        np.testing.assert_allclose(column_sums, 2 + by_column, rtol=1e-14)


def test_sums_do_not_depend_on_the_number_of_threads():
    for symmetric, given in ((False, problem(700, 1600)), (True, of_set_with_itself(1100))):
        one, several = (sums(*given, symmetric=symmetric, threads=threads) for threads in (1, 3))
        for a, b in zip(one, several, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("isa", kernels.isas())
def test_what_is_beyond_all_numbers_is_not_taken_for_one(isa):
    """An exponent of 800 has no exponential; one of −800 has 0."""
    costs = np.full((2, 16), np.inf)
    costs[:, :2] = [[0.0, 1600.0], [800.0, 800.0]]
    given = costs, np.array([800.0, 0.0]), np.zeros(2), np.array([1e-300, 1.0]), np.full(2, 0.5)
    by_row, by_column = sums(*given, 1.0, isa=isa)
    assert not np.isfinite(by_row[0])
    assert by_row[1] < 1e-300
    assert not np.isfinite(by_column[0])
    assert by_column[1] < 1e-300


def test_arrays_of_other_shapes_are_refused():
    costs, f, g, a, b = problem(4, 5)
    for given in (
        (costs[:, :15], f, g, a, b),
        (costs, f[:3], g, a, b),
        (costs, f, g, a, b[:4]),
        (costs[:3], f, g, a, b),
    ):
        with pytest.raises((ValueError, TypeError)):
            sums(*(np.ascontiguousarray(one) for one in given))


@pytest.mark.parametrize("power", [1, 2])
def test_the_divergence_is_the_same_with_kernels_and_without(monkeypatch, power):
    from timelike.distributions.discrepancy import sinkhorn

    rng = np.random.default_rng(power)
    x, y = rng.standard_normal((70, 3)), rng.standard_normal((45, 3)) + 0.5
    weights = rng.random(70)
    options = {"power": power, "blur": 0.01, "scaling": 0.8, "x_weights": weights}
    native = sinkhorn.sinkhorn_divergence(x, y, **options)
    monkeypatch.setattr(sinkhorn, "MAX_KEPT_COSTS", 0)
    monkeypatch.setattr(sinkhorn, "STRIP_COSTS", 900)
    strips = sinkhorn.sinkhorn_divergence(x, y, **options)
    monkeypatch.undo()
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    plain = sinkhorn.sinkhorn_divergence(x, y, **options)
    monkeypatch.setattr(sinkhorn, "TILE_ENTRIES", 100)
    monkeypatch.setattr(sinkhorn, "MAX_KEPT_COSTS", 0)
    assert sinkhorn.sinkhorn_divergence(x, y, **options) == pytest.approx(plain, rel=1e-12)
    assert native == pytest.approx(plain, rel=1e-12)
    assert strips == pytest.approx(plain, rel=1e-12)
