"""The Sinkhorn divergence against geomloss, a plain reference, exact assignments, closed forms and finite differences."""

import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from naive import point_transport as naive
from optional_torch import torch
from timelike.distributions.discrepancy import sinkhorn
from timelike.distributions.discrepancy.sinkhorn import sinkhorn_divergence

pytestmark = pytest.mark.usefixtures("one_thread")
EXACT = {"tolerance": 1e-12, "max_rounds": 10_000}
SETTINGS = [(0.001, 0.95), (0.05, 0.5), (0.5, 0.8), (20.0, 0.5)]
COARSE = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0, 3.0])  # coincidences and round distances


def sets(n=30, m=20, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), 0.5 * rng.standard_normal((m, d)) + 1


def tensors(*given):
    return [torch.tensor(side, dtype=torch.float64, requires_grad=True) for side in given]


def geomloss(x, y, power=2, blur=0.05, scaling=0.5, a=None, b=None):
    """Its own distances are never below 1e-4, which shows wherever points coincide; so it is given exact ones."""
    from geomloss import SamplesLoss

    def cost(u, v):
        squares = (u[:, :, None] - v[:, None]).square().sum(-1)
        return squares / 2 if power == 2 else squares.where(squares > 0, 1.0).sqrt().where(squares > 0, 0.0)

    loss = SamplesLoss("sinkhorn", p=power, blur=blur, scaling=scaling, backend="tensorized", cost=cost)
    x, y = (torch.as_tensor(side) for side in (x, y))
    if a is None:
        return loss(x, y)
    return loss(torch.as_tensor(a), x, torch.as_tensor(b), y)


def few(most=4):
    shape = st.tuples(st.integers(1, most), st.just(2))
    return arrays(np.float64, shape, elements=COARSE)


def weights(n):
    return arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])).filter(lambda w: w.sum() > 0)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("blur", "scaling"), SETTINGS[:3])
@pytest.mark.parametrize("size", [(30, 20), (20, 30), (1, 5), (150, 150)])
def test_it_is_what_geomloss_says(power, blur, scaling, size):
    x, y = sets(*size)
    ours = sinkhorn_divergence(x, y, power=power, blur=blur, scaling=scaling)
    assert ours == pytest.approx(float(geomloss(x, y, power, blur, scaling)), rel=1e-9)


@pytest.mark.learn
@pytest.mark.parametrize(("power", "blur"), [(2, 0.05), (2, 0.001), (1, 0.5)])
def test_geomloss_with_its_own_costs_is_near(power, blur):
    from geomloss import SamplesLoss

    x, y = sets(100, 80)
    theirs = SamplesLoss("sinkhorn", p=power, blur=blur, scaling=0.9, backend="tensorized")
    expected = float(theirs(torch.tensor(x), torch.tensor(y)))
    ours = sinkhorn_divergence(x, y, power=power, blur=blur, scaling=0.9)
    assert ours == pytest.approx(expected, rel=1e-9 if power == 2 else 1e-4)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
def test_weights_are_what_they_are_in_geomloss(power):
    x, y = sets()
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(20))
    expected = float(geomloss(x, y, power, 0.05, 0.8, a, b))
    ours = sinkhorn_divergence(x, y, power=power, scaling=0.8, x_weights=7 * a, y_weights=b)
    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("blur", "scaling"), SETTINGS[:3])
def test_gradients_are_those_of_geomloss(power, blur, scaling):
    rng = np.random.default_rng(2)
    here = tensors(*sets(), rng.uniform(1, 2, 30), rng.uniform(1, 2, 20))
    there = tensors(*(side.detach().numpy() for side in here))
    x, y, a, b = here
    sinkhorn_divergence(x, y, power=power, blur=blur, scaling=scaling, x_weights=a, y_weights=b).backward()
    x, y, a, b = there
    geomloss(x, y, power, blur, scaling, a / a.sum(), b / b.sum()).backward()
    for ours, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-6, atol=1e-9)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
def test_gradients_are_the_slopes_of_the_converged_value(power):
    rng = np.random.default_rng(3)
    given = tensors(*sets(6, 4), rng.uniform(1, 2, 6), rng.uniform(1, 2, 4))

    def value(x, y, a, b):
        return sinkhorn_divergence(x, y, power=power, blur=0.7, scaling=0.7, x_weights=a, y_weights=b, **EXACT)

    assert torch.autograd.gradcheck(value, given, atol=1e-6)


@given(few(), few(), st.sampled_from([1, 2]), st.data())
def test_converged_it_is_the_plain_formula(x, y, power, data):
    a, b = data.draw(weights(len(x))), data.draw(weights(len(y)))
    ours = sinkhorn_divergence(x, y, power=power, blur=2.0, x_weights=a, y_weights=b, **EXACT)
    assert ours == pytest.approx(naive.divergence(x, y, power, 2.0, a, b), rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_without_blur_it_is_the_cheapest_assignment(power, n):
    x, y = sets(n, n, seed=4)
    costs = np.array([[naive.cost(p, q, power) for q in y] for p in x])
    expected = costs[linear_sum_assignment(costs)].mean()
    assert sinkhorn_divergence(x, y, power=power, blur=1e-3, scaling=0.95) == pytest.approx(expected, rel=1e-3)


@given(arrays(np.float64, (2, 3), elements=st.floats(-1e3, 1e3)), st.sampled_from([1, 2]), st.sampled_from(SETTINGS))
def test_between_two_points_it_is_their_cost(pair, power, how):
    blur, scaling = how
    expected = math.dist(*pair) ** power / power
    ours = sinkhorn_divergence(pair[:1], pair[1:], power=power, blur=blur, scaling=scaling)
    assert ours == pytest.approx(expected, rel=1e-12, abs=1e-15 * blur**power)


def test_a_shift_costs_half_its_square_whatever_the_blur():
    x, _ = sets()
    for blur, scaling in SETTINGS:
        ours = sinkhorn_divergence(
            x, x + np.array([3.0, 4.0]), blur=blur, scaling=scaling, **({} if blur < 0.5 else EXACT)
        )
        assert ours == pytest.approx(12.5, rel=1e-2 if blur < 0.5 else 1e-9)


def test_a_large_blur_gives_half_the_squared_distance_of_the_means():
    x, y = sets()
    expected = np.sum((x.mean(0) - y.mean(0)) ** 2) / 2
    assert sinkhorn_divergence(x, y, blur=1e4, **EXACT) == pytest.approx(expected, rel=1e-6)


@given(few(6), st.sampled_from([1, 2]), st.sampled_from(SETTINGS), st.randoms(use_true_random=False))
def test_a_set_is_at_zero_from_itself_in_any_order_and_however_often_repeated(x, power, how, random):
    blur, scaling = how
    other = np.repeat(x, 2, axis=0)
    for shuffled in (x, np.array(random.sample(list(x), len(x))), other):
        assert sinkhorn_divergence(x, shuffled, power=power, blur=blur, scaling=scaling) == pytest.approx(0, abs=1e-12)
    assert sinkhorn_divergence(x, x[::-1], power=power, blur=blur, scaling=scaling) == 0.0


@given(few(6), few(6), st.sampled_from([1, 2]), st.sampled_from(SETTINGS))
def test_it_is_symmetric_to_the_last_bit_and_never_negative(x, y, power, how):
    blur, scaling = how
    there = sinkhorn_divergence(x, y, power=power, blur=blur, scaling=scaling)
    back = sinkhorn_divergence(y, x, power=power, blur=blur, scaling=scaling)
    assert there == back
    assert there >= 0
    assert math.isfinite(there)


@pytest.mark.learn
@given(few(5), few(5), st.sampled_from([1, 2]), st.sampled_from(SETTINGS), st.data())
def test_values_and_gradients_are_finite_where_points_coincide(x, y, power, how, data):
    blur, scaling = how
    given = tensors(x, y, data.draw(weights(len(x))), data.draw(weights(len(y))))
    x, y, a, b = given
    value = sinkhorn_divergence(x, y, power=power, blur=blur, scaling=scaling, x_weights=a, y_weights=b)
    value.backward()
    assert bool(value.isfinite())
    assert all(bool(side.grad.isfinite().all()) for side in given)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
def test_equal_sets_have_no_gradient(power):
    x, y = tensors(*[np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]])] * 2)
    sinkhorn_divergence(x, y, power=power).backward()
    assert not x.grad.any()
    assert not y.grad.any()


@pytest.mark.learn
def test_points_share_the_gradient_of_the_point_they_are():
    x, y = sets(5, 4)
    once, twice = tensors(x, np.repeat(x, 2, axis=0))
    for side in (once, twice):
        sinkhorn_divergence(side, torch.tensor(y)).backward()
    torch.testing.assert_close(twice.grad, once.grad.repeat_interleave(2, 0) / 2)


@given(few(5), few(5), st.sampled_from([1, 2]))
def test_what_weighs_nothing_does_not_count(x, y, power):
    far = np.vstack([x, [[50.0, 50.0]]])
    ours = sinkhorn_divergence(far, y, power=power, x_weights=[1.0] * len(x) + [0.0])
    assert ours == sinkhorn_divergence(x, y, power=power)


@pytest.mark.learn
def test_the_gradient_by_a_weight_of_nothing_is_the_slope_towards_something():
    x, y = sets(5, 4)
    given, step = np.array([1.0, 2.0, 0.0, 1.0, 1.0]), 1e-6
    (a,) = tensors(given)
    options = {"blur": 1.0, **EXACT}
    sinkhorn_divergence(x, y, x_weights=a, **options).backward()
    values = [sinkhorn_divergence(x, y, x_weights=given + k * step * np.eye(5)[2], **options) for k in range(3)]
    slope = (4 * values[1] - values[2] - 3 * values[0]) / (2 * step)  # of second order, from one side
    assert a.grad[2].item() == pytest.approx(slope, rel=1e-5)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_points_very_far_apart_cost_what_they_cost(power, n):
    x, y = sets(n, n + 1)
    x, y = 1e-3 * x, 1e-3 * y + [1e8, 0.0]
    tracked = tensors(x, y)
    value = sinkhorn_divergence(*tracked, power=power, blur=1e-3)
    value.backward()
    assert value.item() == pytest.approx(1e8**power / power, rel=1e-9)
    assert all(bool(side.grad.isfinite().all()) for side in tracked)


def test_two_far_clouds_on_both_sides_are_finite():
    x, y = sets(6, 7)
    x[::2], y[::2] = x[::2] + 1e8, y[::2] + 1e8
    for power, scaling in itertools.product([1, 2], [0.01, 0.5, 0.9]):
        assert math.isfinite(sinkhorn_divergence(x, y, power=power, blur=1e-3, scaling=scaling))


@pytest.mark.learn
def test_one_step_from_the_diameter_to_the_blur_is_as_geomloss_takes_it():
    x, y = sets()  # exponents beyond exp: the sums are made of logarithms
    ours = sinkhorn_divergence(x, y, blur=0.001, scaling=0.001)
    assert ours == pytest.approx(max(0, float(geomloss(x, y, 2, 0.001, 0.001))), rel=1e-9)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
def test_tiles_change_nothing(power, monkeypatch):
    x, y = tensors(*sets(40, 33))
    whole = sinkhorn_divergence(x, y, power=power, scaling=0.9)
    expected = torch.autograd.grad(whole, (x, y))
    monkeypatch.setattr(sinkhorn, "TILE_ENTRIES", 100)
    for kept in (sinkhorn.MAX_KEPT_COSTS, 0):
        monkeypatch.setattr(sinkhorn, "MAX_KEPT_COSTS", kept)
        tiled = sinkhorn_divergence(x, y, power=power, scaling=0.9)
        torch.testing.assert_close(tiled, whole, rtol=1e-12, atol=0)
        torch.testing.assert_close(torch.autograd.grad(tiled, (x, y)), expected, rtol=1e-9, atol=1e-12)
        far = sinkhorn_divergence(x, y, power=power, blur=0.001, scaling=0.001)
        assert far.item() == pytest.approx(max(0, geomloss(x, y, power, 0.001, 0.001).item()), rel=1e-9)


@pytest.mark.learn
def test_memory_is_that_of_a_tile_and_not_of_the_matrix():
    program = (
        "import resource, torch\n"
        "torch.set_num_threads(1)\n"
        "from timelike.distributions.discrepancy import sinkhorn\n"
        "from timelike.distributions.discrepancy.sinkhorn import sinkhorn_divergence\n"
        "sinkhorn.MAX_KEPT_COSTS = 2**18\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "points = lambda n: torch.rand(n, 2, dtype=torch.float64).requires_grad_()\n"
        "run = lambda n: sinkhorn_divergence(points(n), points(n) + 1, blur=2.0).backward()\n"
        "run(100); before = peak(); run(2500); print(peak() - before)\n"
    )
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 2500 * 2500 * 8 / 1024 / 3  # kilobytes: a third of one matrix


@pytest.mark.learn
def test_numpy_gives_a_float_and_torch_its_own_dtype():
    x, y = sets()
    expected = sinkhorn_divergence(x, y)
    assert type(expected) is float
    assert sinkhorn_divergence(x.astype(np.float32), y) == pytest.approx(expected, rel=1e-5)
    for dtype, accuracy in ((torch.float64, 1e-15), (torch.float32, 1e-6), (torch.float16, 1e-3)):
        found = sinkhorn_divergence(*(torch.tensor(side, dtype=dtype).requires_grad_() for side in (x, y)))
        assert (found.dtype, found.shape) == (dtype, ())
        assert found.item() == pytest.approx(expected, rel=accuracy)
        assert found.requires_grad
    assert sinkhorn_divergence(torch.tensor([[0], [2]]), torch.tensor([[1]])).dtype == torch.float64


@pytest.mark.learn
def test_float32_is_computed_as_float64_and_rounded():
    x, y = (side.astype(np.float32) for side in sets())
    exact = sinkhorn_divergence(x.astype(np.float64), y.astype(np.float64), blur=0.001, scaling=0.95)
    assert float(sinkhorn_divergence(torch.tensor(x), torch.tensor(y), blur=0.001, scaling=0.95)) == np.float32(exact)


def test_inputs_are_left_as_they_were():
    x, y = sets()
    a = np.ones(30)
    copies = x.copy(), y.copy(), a.copy()
    sinkhorn_divergence(x, y, x_weights=a)
    for side, copy in zip((x, y, a), copies, strict=True):
        np.testing.assert_array_equal(side, copy)


def test_rounds_that_do_not_suffice_are_told():
    x, y = sets()
    with pytest.warns(RuntimeWarning, match=r"tolerance=1e-09 was required: use a larger max_rounds"):
        short = sinkhorn_divergence(x, y, tolerance=1e-9, max_rounds=3)
    assert short == pytest.approx(sinkhorn_divergence(x, y), rel=1e-2)
    with pytest.warns(RuntimeWarning, match="max_rounds=0"):
        assert sinkhorn_divergence(x, y, tolerance=1e-9, max_rounds=0) == sinkhorn_divergence(x, y)


def test_rounds_with_momentum_reach_what_many_plain_ones_do():
    x, y = sets(40, 40)
    expected = sinkhorn_divergence(x, y, blur=0.2, scaling=0.999)  # plain rounds at almost one temperature
    assert sinkhorn_divergence(x, y, blur=0.2, tolerance=1e-9, max_rounds=2000) == pytest.approx(expected, rel=1e-4)


@pytest.mark.learn
def test_a_second_gradient_is_refused():
    x, y = tensors(*sets(4, 3))
    (slope,) = torch.autograd.grad(sinkhorn_divergence(x, y), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiable once"):
        slope.sum().backward()


BAD = [
    ({"y": np.zeros((3, 1))}, ValueError, "x has 2 features and y 1"),
    ({"x": np.zeros((0, 2))}, ValueError, r"x has shape \(0, 2\): expected at least one point"),
    ({"x": np.zeros((4, 0))}, ValueError, r"x has shape \(4, 0\)"),
    ({"x": np.zeros(3)}, ValueError, r"x has shape \(3,\).*use x\[:, None\]"),
    ({"x": 3.0}, ValueError, r"x has shape \(\)"),
    ({"y": np.array([[0.0, np.nan]])}, ValueError, r"y\[0, 1\] is nan: expected finite"),
    ({"x": np.array([[0.0, math.inf]])}, ValueError, r"x\[0, 1\] is inf: expected finite"),
    ({"x": "points"}, TypeError, "x is a str that is no array"),
    ({"x": np.zeros((3, 2), complex)}, TypeError, "x is complex"),
    ({"x": [[1.0], [1.0, 2.0]]}, TypeError, "x is a list that is no array"),
    ({"x": np.full((1, 2), 1e200)}, ValueError, "range of float64; divide points and blur"),
    ({"power": 3}, ValueError, "power=3: expected 1"),
    ({"power": 2.0}, TypeError, "power=2.0"),
    ({"blur": 0.0}, ValueError, "blur=0.0: expected a finite number greater than 0"),
    ({"blur": "small"}, TypeError, "blur='small'"),
    ({"blur": 1e-200}, ValueError, "blur=1e-200: expected both"),
    ({"scaling": 0}, ValueError, "scaling=0: expected"),
    ({"scaling": 1}, ValueError, "scaling=1: expected less than 1"),
    ({"scaling": 1.5}, ValueError, "scaling=1.5: expected"),
    ({"x_weights": [1.0, -1.0, 1.0]}, ValueError, "x_weights has -1 in it"),
    ({"y_weights": [0.0, 0.0, 0.0]}, ValueError, "y_weights sums to 0"),
    ({"x_weights": [1.0, 1.0]}, ValueError, r"x_weights has shape \(2,\): expected one weight for each point, 3"),
    ({"x_weights": [1.0, np.nan, 1.0]}, ValueError, r"x_weights\[1\] is nan"),
    ({"tolerance": -1.0}, ValueError, "tolerance=-1.0"),
    ({"max_rounds": -1}, ValueError, "max_rounds=-1"),
    ({"max_rounds": 2.5}, TypeError, "max_rounds=2.5"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_what_cannot_be_is_refused_by_name(bad, error, message):
    with pytest.raises(error, match=message):
        sinkhorn_divergence(**{"x": np.zeros((3, 2)), "y": np.ones((3, 2)), **bad})


TENSORS = [
    (lambda: {"x": torch.tensor([[0.0, math.inf]])}, ValueError, r"x\[0, 1\] is inf: expected finite"),
    (lambda: {"x": torch.zeros(3, 2, dtype=torch.complex64)}, TypeError, "x has dtype torch.complex64"),
    (lambda: {"x": torch.zeros(0, 2)}, ValueError, r"x has shape \(0, 2\): expected at least one point"),
    (lambda: {"x_weights": torch.tensor([1.0, -1.0, 1.0])}, ValueError, "x_weights has -1 in it"),
    (lambda: {"x_weights": torch.zeros(3)}, ValueError, "x_weights sums to 0"),
]


@pytest.mark.learn
@pytest.mark.parametrize(("bad", "error", "message"), TENSORS)
def test_tensors_that_cannot_be_are_refused_by_name(bad, error, message):
    with pytest.raises(error, match=message):
        sinkhorn_divergence(**{"x": np.zeros((3, 2)), "y": np.ones((3, 2)), **bad()})


@pytest.mark.learn
@pytest.mark.parametrize("native", ["0", "1"])
@given(few(6), few(6), st.sampled_from([1, 2]), st.sampled_from(SETTINGS), st.booleans(), st.data())
def test_arrays_and_tensors_have_the_same_value(native, x, y, power, how, converged, data):
    blur, scaling = how
    a, b = data.draw(weights(len(x))), data.draw(weights(len(y)))
    options = {"power": power, "blur": blur, "scaling": scaling, **({"tolerance": 1e-3} if converged else {})}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds that do not suffice
        patch.setenv("TIMELIKE_NATIVE", native)
        ours = sinkhorn_divergence(x, y, x_weights=a, y_weights=b, **options)
        theirs = sinkhorn_divergence(*map(torch.tensor, (x, y)), x_weights=a, y_weights=b, **options)
    assert ours == pytest.approx(theirs.item(), rel=1e-12, abs=1e-14)


@pytest.mark.learn
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("native", ["0", "1"])
def test_many_arrays_and_tensors_have_the_same_value(power, native, monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    x, y = sets(500, 300, d=5)
    for blur, scaling in [*SETTINGS, (0.001, 0.001)]:  # the last with exponents beyond exp
        ours = sinkhorn_divergence(x, y, power=power, blur=blur, scaling=scaling)
        theirs = sinkhorn_divergence(torch.tensor(x), torch.tensor(y), power=power, blur=blur, scaling=scaling)
        assert ours == pytest.approx(theirs.item(), rel=1e-12)
