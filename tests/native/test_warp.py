"""The warp solver: NumPy against the compiled kernels, on every instruction set and with any number of threads."""

import numpy as np
import pytest

from align.warp_coincidences import drawn
from align.warp_problems import Problem, problems
from naive import warps as naive
from timelike.native import warp as warps

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")


def batch(several):
    """All problems in one call, each with an x and a y of its own."""
    x_lengths, y_lengths = (np.array([len(p[side]) for p in several]) for side in (0, 1))
    ids = np.arange(len(several))
    starts = np.cumsum(x_lengths) - x_lengths
    x, y, t, tau = (np.concatenate([p[i] for p in several]) for i in range(4))
    intervals = (np.concatenate([np.append(p[i], 1.0) for p in several]) for i in (4, 5, 6))
    knots = (np.concatenate([p[i] for p in several]) for i in (7, 8))
    y_starts = np.cumsum(y_lengths) - y_lengths
    return warps.WarpProblems(
        x, y, t, tau, starts, x_lengths, y_starts, y_lengths, ids, ids, starts, *intervals, *knots
    )


def plain(x, y, *, lam=0.5, slope=(0.0, np.inf), free=False, width=1.0):
    """A problem on even clocks, its warp within `width` of the straight line."""
    x, y = (np.asarray(side, float).reshape(len(side), -1) for side in (x, y))
    t, tau = (np.linspace(0, 1, len(side)) for side in (x, y))
    numbers = (np.full(len(x) - 1, float(v)) for v in (lam, *slope))
    return Problem(x, y, t, tau, *numbers, np.maximum(t - width, 0), np.minimum(t + width, 1), free)


def extremes():
    rng = np.random.default_rng(4)
    x, y = np.cumsum(rng.normal(size=(10, 2)), 0), np.cumsum(rng.normal(size=(8, 2)), 0)
    half = plain(x, y, slope=(0.5, 2.0))
    half.s_min[3:6] = half.s_max[3:6] = 1.0
    via = plain(x, y)
    via.b_min[4] = via.b_max[4] = 0.3
    return {
        "one step of x": plain(x[:1], y),
        "one step of x, free": plain(x[:1], y, free=True),
        "one step of y": plain(x, y[:1]),
        "two steps of x, free": plain(x[:2], y, free=True),
        "rigid": plain(x, y, slope=(1.0, 1.0)),
        "rigid, free": plain(x, y, slope=(0.7, 0.7), free=True),
        "rigid in part": half,
        "nearly rigid": plain(x, y, slope=(0.999, 1.001)),
        "a grid of thousands": plain(x, y, slope=(0.9999, 1.0002), free=True),
        "turning back": plain(x, y, slope=(-1.0, 2.5), lam=0.01),
        "only turning back": plain(x, y, slope=(-0.9, -0.2), free=True),
        "through one place": via,
        "bounds that leave one warp": plain(x, y, width=0.0),
        "bounds that leave hardly any": plain(x, y, width=1e-6),
        "flat": plain(np.ones(9), np.ones(7)),
        "flat and free": plain(x[:, 0], np.zeros(7), free=True),
        "the same twice": plain(x, x),
        "stiff": plain(x, y, lam=1e8),
        "lax": plain(x, y, lam=1e-8),
        "lax and free": plain(x, y, lam=1e-10, free=True),
        "not regularised": plain(x, y, lam=0.0),
        "not regularised, flat": plain(x[:, 0], np.zeros(7), lam=0.0),
        "large": plain(1e6 * x, 1e6 * y),
        "small": plain(1e-6 * x, 1e-6 * y, lam=1e-3),
        "long": plain(rng.normal(size=90), np.cumsum(rng.normal(size=50)), slope=(0.2, 4.0)),
    }


EXTREMES = extremes()


def solved(pairs, **how):
    found = warps.solve(pairs, warps.WarpOptions(**how), threads=1)
    assert isinstance(found, warps.WarpSolutions), found
    return found


def differentiated(pairs, found, **how):
    rng = np.random.default_rng(0)
    of_phi, of_objective = rng.normal(size=pairs.n_knots), rng.normal(size=len(pairs.x_ids))
    return warps.gradients(pairs, warps.WarpOptions(**how), found, of_phi, of_objective, threads=1)


def assert_same(pairs, one, two):
    np.testing.assert_allclose(two.objective, one.objective, rtol=1e-9, atol=1e-20)
    np.testing.assert_allclose(two.phi, one.phi, rtol=0, atol=1e-7)
    for name in ("pins", "glues", "crossing"):
        np.testing.assert_array_equal(getattr(two, name), getattr(one, name), err_msg=name)
    # on a value of y by chance, where nothing pins it, a warp is in the segments on both sides
    apart = one.segments != two.segments
    starts = np.repeat(pairs.y_starts[pairs.y_ids], pairs.x_lengths[pairs.x_ids])
    between = pairs.tau[(starts + np.maximum(one.segments, two.segments))[apart]]
    np.testing.assert_allclose(one.phi[apart], between, rtol=0, atol=1e-12, err_msg="segments")


def assert_same_gradients(one, two):
    for name in one._fields:
        expected = getattr(one, name)
        assert np.isfinite(expected).all(), name
        np.testing.assert_allclose(getattr(two, name), expected, rtol=0, atol=1e-6 * np.abs(expected).max(initial=1e-9))


def assert_both_ways_agree(pairs, monkeypatch, **how):
    ours = solved(pairs, **how)
    of_ours = differentiated(pairs, ours, **how)
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    theirs = solved(pairs, **how)
    assert_same(pairs, ours, theirs)
    assert_same_gradients(of_ours, differentiated(pairs, theirs, **how))


def batches(seed, count):
    """Random problems; those with ends alike and channels alike in one batch."""
    kinds = {}
    for p in problems(seed, count):
        kinds.setdefault((p.free, p.x.shape[1]), []).append(p)
    return [(free, batch(several)) for (free, _), several in kinds.items()]


def test_without_a_compiler_gradients_are_the_same_where_constraints_meet(monkeypatch):
    """Of the same warps, so that a value that lies on a step of y by chance is seen alike."""
    for one in drawn(3, 150):
        m = len(one.x)
        t, tau = ((times - times[0]) / (times[-1] - times[0]) for times in (one.x_times, one.y_times))
        bounds = ((np.broadcast_to(end, m) - one.y_times[0]) / one.span for end in (one.bound_min, one.bound_max))
        numbers = (np.broadcast_to(v, m - 1) for v in (one.regularization, one.slope_min, one.slope_max))
        pairs = batch([Problem(one.x, one.y, t, tau, *numbers, *bounds, one.free)])
        how = {"penalty": one.penalty, "free_ends": one.free}
        with monkeypatch.context() as native:
            native.setenv("TIMELIKE_NATIVE", "1")
            found = solved(pairs, **how)
            ours = differentiated(pairs, found, **how)
            native.setenv("TIMELIKE_NATIVE", "0")
            assert_same_gradients(ours, differentiated(pairs, found, **how))


@pytest.mark.parametrize("penalty", warps.PENALTIES)
def test_without_a_compiler_the_numbers_are_the_same(penalty, monkeypatch):
    for free, pairs in batches(0, 16):
        with monkeypatch.context() as here:
            assert_both_ways_agree(pairs, here, penalty=penalty, delta=0.7, free_ends=free)


@pytest.mark.parametrize("penalty", warps.PENALTIES)
@pytest.mark.parametrize("name", EXTREMES)
def test_without_a_compiler_extremes_are_the_same(name, penalty, monkeypatch):
    p = EXTREMES[name]
    assert_both_ways_agree(batch([p]), monkeypatch, penalty=penalty, free_ends=p.free)


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("seed", range(6))
def test_slopes_that_are_given_in_places_are_kept_there(seed, native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.normal(size=(12, 2)), 0), np.cumsum(rng.normal(size=(9, 2)), 0)
    p = plain(x, y, slope=(0.3, 2.5), free=bool(seed % 2))
    given = rng.random(11) < 0.4
    p.s_min[given] = p.s_max[given] = rng.uniform(0.7, 1.3, given.sum())
    found = solved(batch([p]), penalty=warps.PENALTIES[seed % 3], free_ends=p.free)
    slopes = np.diff(found.phi) / np.diff(p.t)
    np.testing.assert_allclose(slopes[given], p.s_min[given], rtol=0, atol=1e-9)
    assert found.residual[0] <= 1e-9


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_common_offset_costs_no_digits(native, monkeypatch):
    rng = np.random.default_rng(2)
    x, y = (np.round(rng.normal(size=n), 3) for n in (12, 9))
    there, here = (batch([plain(x + offset, y + offset)]) for offset in (2.0**27, 0.0))
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    moved = here._replace(x=there.x - 2.0**27, y=there.y - 2.0**27)
    np.testing.assert_allclose(solved(there).phi, solved(moved).phi, rtol=0, atol=1e-12)


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_constant_channel_changes_no_gradient(native, monkeypatch):
    rng = np.random.default_rng(4)
    x, y = (np.cumsum(rng.normal(size=(n, 1)), 0) for n in (9, 7))
    alone, beside = plain(x, y), plain(*(np.column_stack([np.zeros(len(side)), side]) for side in (x, y)))
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    how = {"penalty": "absolute"}
    found = [solved(batch([p]), **how) for p in (alone, beside)]
    assert 5 in found[0].pins  # where x and y agree
    one, two = (differentiated(batch([p]), f, **how) for p, f in zip((alone, beside), found, strict=True))
    np.testing.assert_allclose(two.x[:, 1:], one.x, atol=1e-12)
    np.testing.assert_allclose(two.y[:, 1:], one.y, atol=1e-12)


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("size", [2, 7, 64, 65])
def test_the_grid_search_finds_the_best_of_all_moves(size, native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    for p in problems(3, 12):
        low, high = p.reach()
        how = {"grid": size, "refinements": 0, "polish": False, "free_ends": p.free}
        value, _ = naive.discrete_optimum(p.x, p.y, p.t, p.tau, p.lam, p.s_min, p.s_max, low, high, size)
        np.testing.assert_allclose(solved(batch([p]), **how).objective[0], value, rtol=1e-9)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("penalty", warps.PENALTIES)
def test_every_instruction_set_gives_the_same_numbers(penalty, isa):
    for free, pairs in batches(5, 60):
        search = warps.WarpOptions(penalty=penalty, free_ends=free)
        assert_same(
            pairs, solved(pairs, penalty=penalty, free_ends=free), warps.solve(pairs, search, threads=1, isa=isa)
        )


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="isa='v9' is not built in or this processor cannot run it"):
        warps.solve(batch(problems(5, 1)), warps.WarpOptions(), threads=1, isa="v9")


def test_threads_change_no_bit():
    for free, pairs in batches(6, 40):
        search = warps.WarpOptions(free_ends=free)
        one, three = (warps.solve(pairs, search, threads=threads) for threads in (1, 3))
        for name, value in vars(one).items():
            np.testing.assert_array_equal(getattr(three, name), value, err_msg=name)
        v, u = np.ones(pairs.n_knots), np.ones(len(pairs.x_ids))
        for a, b in zip(*(warps.gradients(pairs, search, one, v, u, threads=n) for n in (1, 3)), strict=True):
            np.testing.assert_array_equal(a, b)


def contradiction(kind):
    p = plain(
        np.arange(12.0), np.arange(9.0), slope={"too steep": (1.2, 3.0), "too slow": (0.0, 0.8)}.get(kind, (0, 2))
    )
    if kind == "a bound out of reach":
        p.b_min[2] = 0.6
    if kind == "a bound that would turn it back":
        p.b_min[3], p.b_max[8] = 0.3, 0.2
    return p


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize(
    ("kind", "knot", "from_below"),
    [
        ("too steep", 10, False),  # 1.2·10/11 > 1
        ("too slow", 11, True),
        ("a bound out of reach", 2, True),
        ("a bound that would turn it back", 8, False),
    ],
)
def test_conflicts_are_found_with_and_without_a_compiler(kind, knot, from_below, native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    fine = plain(np.arange(4.0), np.arange(3.0))
    pairs = batch([fine, fine, contradiction(kind), fine, contradiction("too steep")])
    assert warps.solve(pairs, warps.WarpOptions(), threads=2) == warps.WarpConflict(2, knot, from_below)


@pytest.mark.parametrize("native", ["0", "1"])
def test_inputs_are_left_as_they_are(native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    for free, pairs in batches(7, 8):
        before = [array.copy() for array in pairs]
        found = solved(pairs, free_ends=free)
        state = {name: value.copy() for name, value in vars(found).items()}
        v, u = np.ones(pairs.n_knots), np.ones(len(pairs.x_ids))
        warps.gradients(pairs, warps.WarpOptions(free_ends=free), found, v, u, threads=1)
        for was, now in zip(before, pairs, strict=True):
            np.testing.assert_array_equal(now, was)
        for name, was in state.items():
            np.testing.assert_array_equal(getattr(found, name), was, err_msg=name)
        assert (v == 1).all()
        assert (u == 1).all()


@pytest.mark.parametrize("native", ["0", "1"])
def test_sequences_shared_by_pairs_have_gradients_of_their_own(native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    rng = np.random.default_rng(8)
    alone = batch([plain(rng.normal(size=7), rng.normal(size=6)), plain(rng.normal(size=5), rng.normal(size=1))])
    numbers = (np.concatenate([v[:7], v[7:], v[:7]]) for v in alone[11:])
    ids = np.array([0, 1, 0]), np.array([1, 0, 0])
    pairs = warps.WarpProblems(*alone[:8], *ids, np.array([0, 7, 12]), *numbers)
    found = differentiated(pairs, solved(pairs))
    assert found.x.shape == (7 + 5 + 7, 1)
    assert found.y.shape == (1 + 6 + 6, 1)
    for gradient in found:
        assert np.isfinite(gradient).all()


def test_without_a_compiler_progress_is_told_between_pairs(monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    heard = []
    fine = plain(np.arange(4.0), np.arange(3.0))
    warps.solve(
        batch([fine] * 3), warps.WarpOptions(), threads=1, report=lambda done, total: heard.append((done, total))
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]
