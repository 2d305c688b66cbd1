"""The compiled kernels of wide networks: every instruction set against mpmath and the fallback, for any batch."""

import numpy as np
import pytest
from mpmath import mpf

from interrupted import end_by_ctrl_c
from naive import tangent as naive
from timelike.native import tangent
from timelike.native.tangent import SIGMOID, SINE, SLOPE, KernelSlopes, WideNetwork, fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

FAMILIES = {
    "relu": (((SLOPE, 0.0),), naive.relu),
    "leaky": (((SLOPE, 0.25),), naive.leaky_relu(mpf(0.25))),
    "abs": (((SLOPE, -1.0),), naive.absolute),
    "sigmoid": (((SIGMOID, 0.0),), naive.sigmoid),
    "sine": (((SINE, 0.0),), naive.sine),
    "relu and sine": (((SLOPE, 0.0), (SINE, 0.0)), (naive.relu, naive.sine)),
}
FEATURES = (1, 2, 16, 17, 40)  # up to 16 all sums are of differences


def network(name, depth=3, bias=1.0, weight=1.0, of_tangent=True):
    return WideNetwork(FAMILIES[name][0], depth, bias, weight, of_tangent)


def points(n, m, features, seed=0):
    """Two samples, with pairs that meet, nearly meet and are in line, and the origin."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, features)), rng.standard_normal((m, features))
    few = min(n, m) // 4
    y[:few] = x[:few]
    y[few : 2 * few] = x[few : 2 * few] + 1e-6 * rng.standard_normal((few, features))
    y[2 * few : 3 * few] = 2 * x[2 * few : 3 * few]
    if few:
        x[-1], y[-1], y[-2] = 0, 0, 1e-9
    return x, y


def matrix(x, y, known, *, isa=None, threads=1):
    out = np.full((len(x), len(y)), np.nan)
    kernels.tangent_matrix(known, x, y, symmetric=y is x, threads=threads, out=out, isa=isa)
    return out


def slopes(x, y, known, *, isa=None, threads=1):
    shape = len(x), len(y)
    found = KernelSlopes(*(np.full(shape, np.nan) for _ in range(4)), np.zeros(shape, bool))
    kernels.tangent_slopes(known, x, y, threads=threads, **found._asdict(), isa=isa)
    return found


def pulled(x, y, weights, known, *, isa=None, threads=1):
    values, gradients = np.full(len(x), np.nan), np.full(x.shape, np.nan)
    given = np.atleast_2d(weights)
    kernels.tangent_pulled(known, x, y, given, threads=threads, values=values, gradients=gradients, isa=isa)
    return values, gradients


def same(found, expected):
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


def close(found, expected, part=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=part * np.abs(expected).max())


@pytest.mark.parametrize("features", [2, 40])
@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_and_gradients_of_close_points_are_those_of_higher_precision(name, bias, features):
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((6, features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    y = rng.standard_normal((6, features))
    x = y + np.array([0.0, 1e-12, 1e-8, 1e-4, 1e-3, 1.0])[:, None] * directions
    options = {"depth": 2, "bias": bias, "weight": 1.25}
    for kind in (0, 1):
        known = network(name, **options, of_tangent=bool(kind))
        for one, other in zip(x, y, strict=True):
            expected = naive.both(one, other, FAMILIES[name][1], **options)[kind]
            some = naive.slopes(one, other, FAMILIES[name][1], **options, coordinates=(0, 1))[kind]
            for isa in kernels.isas():
                values, gradients = pulled(one[None], other[None], np.ones(1), known, isa=isa)
                assert values[0] == pytest.approx(float(expected), rel=1e-13), isa
                close_enough = {"rtol": 1e-9, "atol": 1e-10 * np.abs(gradients).max()}
                np.testing.assert_allclose(gradients[0, :2], some, **close_enough, err_msg=isa)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("features", [2, 40])
@pytest.mark.parametrize("times", [3.0, -0.2])
@pytest.mark.parametrize("name", ["relu", "leaky", "abs"])
def test_without_bias_angles_between_distant_points_have_their_digits(name, times, features, isa):
    rng, options = np.random.default_rng(5), {"depth": 3, "bias": 0.0}
    for angle in (1e-9, 1e-7, 1e-4):  # of the gradient, a part of rounding over the angle is lost
        x, aside = rng.standard_normal((2, features))
        aside -= x * (aside @ x) / (x @ x)
        y = times * (x + angle * aside)
        values, gradients = pulled(x[None], y[None], np.ones(1), network(name, **options), isa=isa)
        assert values[0] == pytest.approx(float(naive.ntk(x, y, FAMILIES[name][1], **options)), rel=1e-14)
        expected = naive.slopes(x, y, FAMILIES[name][1], **options, coordinates=(0, 1))[1]
        close(gradients[0, :2], np.array(expected), 3e-15 / angle)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_instruction_set_has_the_numbers_of_the_fallback(name, features):
    x, y = points(37, 61, features)
    weights = np.random.default_rng(2).standard_normal((37, 61))
    for of_tangent, bias in ((True, 1.0), (False, 1.0), (True, 0.0)):
        known = network(name, of_tangent=of_tangent, bias=bias)
        expected, whole = fallback.kernel_slopes(x, y, known), fallback.matrix(x, None, known)
        sums = [(shares, fallback.weighted_sums(x, y, shares, known)) for shares in (weights, weights[0])]
        # two branches without bias: the angle of distant points in line is known to half of the digits
        part = 1e-7 if bias == 0 and name == "relu and sine" else 1e-11
        for isa in kernels.isas():
            found = slopes(x, y, known, isa=isa)
            for one, two in zip(found[:4], expected[:4], strict=True):
                close(one, two, part)
            np.testing.assert_array_equal(found.near, expected.near)
            close(matrix(x, x, known, isa=isa), whole)
            for shares, pulls in sums:
                for one, two in zip(pulled(x, y, shares, known, isa=isa), pulls, strict=True):
                    close(one, two, part)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("features", [2, 40])
@pytest.mark.parametrize("name", ["relu", "sigmoid", "relu and sine"])
def test_a_row_has_the_same_bits_in_any_batch_on_any_threads(name, features, isa):
    x, y = points(203, 190, features)
    weights, known = np.random.default_rng(3).standard_normal((203, 190)), network(name)
    whole, sums = matrix(x, y, known, isa=isa), pulled(x, y, weights, known, isa=isa)
    same(matrix(x, y, known, isa=isa, threads=3), whole)
    same(slopes(x, y, known, isa=isa, threads=2).values, whole)
    rows, columns = np.array([200, 7, 3]), np.array([180, 0])
    same(matrix(x[rows], y[columns], known, isa=isa), whole[np.ix_(rows, columns)])
    for one, two in zip(pulled(x, y, weights, known, isa=isa, threads=3), sums, strict=True):
        same(one, two)
    for one, two in zip(pulled(x[rows], y, weights[rows], known, isa=isa), sums, strict=True):
        same(one, two[rows])


@pytest.mark.parametrize("features", [3, 33])
def test_the_matrix_of_one_sample_is_exactly_symmetric_and_that_of_any_two(features):
    x, _ = points(75, 8, features)
    for name in FAMILIES:
        found = matrix(x, x, network(name))
        same(found, found.T.copy())
        close(found, matrix(x, x.copy(), network(name)), 1e-15)


@pytest.mark.parametrize("features", [2, 40])
def test_gradients_from_kept_slopes_are_the_sums_over_either_side(features):
    x, y = points(29, 53, features)
    weights, known = np.random.default_rng(4).standard_normal((29, 53)), network("relu and sine", bias=0.5)
    found = tangent.kernel_slopes(x, y, known, threads=2)
    by_x, by_y = tangent.weighted_gradients(x, y, found, weights, known, threads=2)
    close(by_x, tangent.weighted_sums(x, y, weights, known, threads=1)[1])
    close(by_y, tangent.weighted_sums(y, x, np.ascontiguousarray(weights.T), known, threads=1)[1])
    only_x, nothing = tangent.weighted_gradients(x, y, found, weights, known, threads=1, wanted=(True, False))
    same(only_x, by_x)
    assert nothing is None
    for one, two in zip(
        (by_x, by_y), fallback.weighted_gradients(x, y, found, weights, known, (True, True)), strict=True
    ):
        close(one, two)


@pytest.mark.parametrize("off", [False, True])
def test_the_door_gives_the_same_with_and_without_kernels(monkeypatch, off):
    x, y = points(5, 9, 2)
    expected = fallback.matrix(x, y, network("relu"))
    if off:
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    close(tangent.matrix(x, y, network("relu"), threads=1), expected)
    close(tangent.weighted_sums(x, y, np.ones(9), network("relu"), threads=1)[0], expected.sum(axis=1))


def test_no_points_on_a_side_make_no_numbers_and_empty_sums():
    x, none = np.ones((3, 2)), np.empty((0, 2))
    assert tangent.matrix(x, none, network("relu"), threads=1).shape == (3, 0)
    assert tangent.matrix(none, None, network("relu"), threads=1).shape == (0, 0)
    values, gradients = tangent.weighted_sums(x, none, np.empty(0), network("relu"), threads=1)
    assert not values.any()
    assert not gradients.any()


def test_arrays_that_do_not_fit_are_refused():
    x, known = np.ones((3, 2)), network("relu")
    with pytest.raises(ValueError, match=r"y has shape \(3, 1\): expected \(row, feature\)"):
        tangent.matrix(x, x[:, :1], known, threads=1)
    with pytest.raises(ValueError, match="x is float32: expected float64"):
        tangent.matrix(x.astype(np.float32), None, known, threads=1)
    with pytest.raises(ValueError, match=r"weights have shape \(2,\): expected \(3,\) or \(3, 3\)"):
        tangent.weighted_sums(x, x, np.ones(2), known, threads=1)
    with pytest.raises(ValueError, match=r"x has numbers beyond 1e\+50"):
        tangent.matrix(x * 1e160, None, known, threads=1)
    with pytest.raises(ValueError, match="expected a family that there is"):
        matrix(x, x, known._replace(branches=((7, 0.0),)))


@pytest.mark.parametrize(
    "job", ["tl.distributions.NTK()(x)", "tl.distributions.NTK()._weighted_sums(x, x, np.ones(len(x)))"]
)
def test_ctrl_c_stops_a_long_job(job):
    end_by_ctrl_c(
        "import numpy as np, timelike as tl; x = np.random.default_rng(0).standard_normal((12000, 300));"
        f"tl.distributions.NTK()(x[:2]); print('ready', flush=True); {job}"
    )
