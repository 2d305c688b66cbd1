"""Discriminators of infinite width against Euler's steps, integration, formulas for two points, and each other."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import OptimizeResult
from scipy.special import lambertw

from naive import discriminators as naive, kernels
from timelike.distributions import (
    IPM,
    LSGAN,
    NTK,
    RBF,
    HingeGAN,
    Laplacian,
    Linear,
    NegativeDistance,
    VanillaGAN,
    witness,
)
from timelike.distributions.discriminators import solvers
from timelike.distributions.discriminators.vanilla import solve_lambert

KERNEL = RBF(width=1.3)
KINDS = {"ipm": IPM, "lsgan": LSGAN, "vanilla": VanillaGAN, "hinge": HingeGAN}


def rbf(x, y):
    return kernels.rbf(x, y, width=1.3)


def samples(n=6, m=4, features=2, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, features)), rng.normal(size=(m, features)) + 0.7, rng.normal(size=(5, features))
    return tuple(np.round(part, 2) for part in points)


@pytest.mark.parametrize("loss", ["ipm", "lsgan", "vanilla"])
def test_training_is_what_ever_smaller_steps_of_euler_s_tend_to(loss):
    fake, real, z = samples()
    f = KINDS[loss](KERNEL, time=1.5).train_critic(fake, real)(z)
    off = [
        np.abs(f - naive.trained(rbf, fake, real, z, loss=loss, time=1.5, steps=steps)).max() for steps in (100, 400)
    ]
    assert off[0] < 0.02
    assert off[1] <= max(off[0] / 3, 1e-12)  # a quarter, for steps of a quarter


def test_hinge_slides_along_its_margins_as_euler_s_steps_chatter_about_them():
    fake, real, z = samples()
    critic = HingeGAN(KERNEL, time=12.0, rounding=1e-5, tolerance=1e-8).train_critic(fake, real)
    at_rest = np.isclose(np.abs(critic(np.concatenate([fake, real]))), 1.0, atol=1e-4)
    assert 2 <= at_rest.sum() < 10  # some have come to their margins, and not all
    for steps in (1000, 4000):
        chattering = naive.trained(rbf, fake, real, z, loss="hinge", time=12.0, steps=steps)
        np.testing.assert_allclose(critic(z), chattering, atol=24.0 / steps)


@pytest.mark.learn
@pytest.mark.parametrize("loss", KINDS)
def test_training_goes_on_from_any_function(loss):
    fake, real, z = samples()

    def slanted(points):
        return points[:, 0] * 0.5 - 0.2

    f = KINDS[loss](KERNEL, time=0.7, initial=slanted).train_critic(fake, real)(z)
    by_steps = naive.trained(
        rbf, fake, real, z, loss=loss, time=0.7, steps=2000, initial=lambda place: place[0] * 0.5 - 0.2
    )
    np.testing.assert_allclose(f, by_steps, atol=2e-3)


@pytest.mark.parametrize("loss", KINDS)
def test_two_trainings_one_after_the_other_are_one_of_the_time_of_both(loss):
    fake, real, z = samples()
    kind = KINDS[loss]
    first = kind(KERNEL, time=0.8).train_critic(fake, real)
    both = kind(KERNEL, time=1.2, initial=first).train_critic(fake, real)
    whole = kind(KERNEL, time=2.0).train_critic(fake, real)
    np.testing.assert_allclose(both(z), whole(z), atol=1e-4 if loss == "hinge" else 1e-7)
    np.testing.assert_allclose(both.gradient(z), whole.gradient(z), atol=1e-4 if loss == "hinge" else 1e-7)


@pytest.mark.parametrize("loss", KINDS)
def test_gradients_are_differences_of_costs(loss):
    fake, real, z = samples()
    critic = KINDS[loss](KERNEL, time=2.0).train_critic(fake, real)
    step = 1e-6
    for feature in range(2):
        aside = step * np.eye(2)[feature]
        difference = (critic.cost(z + aside) - critic.cost(z - aside)) / (2 * step)
        np.testing.assert_allclose(critic.gradient(z)[:, feature], difference, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("loss", KINDS)
def test_costs_are_those_of_section_6_3_1(loss):
    fake, real, z = samples()
    critic = KINDS[loss](KERNEL, time=2.0).train_critic(fake, real)
    f = critic(z)
    costs = {"ipm": f, "lsgan": f**2, "vanilla": -np.log(1 / (1 + np.exp(-f))), "hinge": -f}
    np.testing.assert_allclose(critic.cost(z), costs[loss], rtol=1e-12)


@pytest.mark.parametrize("loss", KINDS)
def test_a_generator_that_descends_its_cost_comes_nearer(loss):
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + np.array([2.0, 0.0])
    moved = -KINDS[loss](RBF(width=2.0)).train_critic(fake, real).gradient(fake)
    assert moved.mean(axis=0)[0] > 0


@pytest.mark.parametrize("loss", KINDS)
def test_items_twice_change_nothing_though_the_matrix_is_singular(loss):
    fake, real, z = samples()
    once = KINDS[loss](KERNEL, time=3.0).train_critic(fake, real)
    twice = KINDS[loss](KERNEL, time=3.0).train_critic(np.repeat(fake, 3, axis=0), np.concatenate([real, real]))
    tolerance = 1e-4 if loss == "hinge" else 1e-7
    np.testing.assert_allclose(twice(z), once(z), atol=tolerance)
    np.testing.assert_allclose(twice.gradient(z), once.gradient(z), atol=tolerance)


@pytest.mark.parametrize("loss", KINDS)
def test_equal_samples_teach_nothing(loss):
    fake, _, z = samples()
    critic = KINDS[loss](KERNEL).train_critic(fake, fake)
    np.testing.assert_allclose(critic(z), 0.0, atol=1e-12)
    np.testing.assert_allclose(critic.gradient(z), 0.0, atol=1e-12)


@pytest.mark.parametrize("loss", KINDS)
def test_a_point_is_judged_alike_in_any_company_to_the_last_bit(loss):
    fake, real, _ = samples(40, 30)
    z = np.random.default_rng(5).normal(size=(100, 2))
    critic = KINDS[loss](KERNEL).train_critic(fake, real)
    values, gradients = critic(z), critic.gradient(z)
    for i in (0, 37, 99):
        assert critic(z[i : i + 1])[0] == values[i]
        assert (critic.gradient(z[i : i + 1])[0] == gradients[i]).all()


# --- IPM


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), NegativeDistance(), NTK(), Linear()], ids=repr)
def test_ipm_is_the_time_times_the_witness_of_mmd(kernel):
    fake, real, z = samples(7, 5)
    f = IPM(kernel, time=2.5).train_critic(fake, real)(z)
    np.testing.assert_allclose(f, 2.5 * witness(fake, real, kernel)(z), rtol=1e-10, atol=1e-12)


# --- LSGAN


@pytest.mark.parametrize("solver", ["auto", "krylov", "eigh"])
@pytest.mark.parametrize("kernel", [KERNEL, NTK(), NTK(activation="sigmoid", bias=0.2), Laplacian(width=0.3)], ids=repr)
@pytest.mark.parametrize("time", [1e-6, 1.0, 50.0])
def test_lsgan_is_the_solution_of_its_equation_at_items_and_elsewhere(solver, kernel, time):
    fake, real, z = samples(9, 5)
    fake[3] = real[2] = fake[0]  # copies, within a sample and across
    both, places = np.concatenate([fake, real]), np.concatenate([fake, real, z])
    share, target = np.repeat([2 / 9, 2 / 5], [9, 5]), np.repeat([-1.0, 1.0], [9, 5])
    pulls = kernel(places, both) * share

    def change(_, f):
        return pulls @ (target - f[:14])

    by_steps = solve_ivp(change, (0, time), np.zeros(len(places)), method="Radau", rtol=1e-11, atol=1e-13).y[:, -1]
    f = LSGAN(kernel, time=time, solver=solver).train_critic(fake, real)(places)
    np.testing.assert_allclose(f, by_steps, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("solver", ["krylov", "eigh"])
def test_lsgan_of_two_points_is_a_formula(solver):
    """Of fake 0 and real d: (1, −1)/√2 is an eigenvector, so f = ±(1 − exp(−2τ(1 − k(d))))."""
    fake, real = np.zeros((2, 1)), np.full((2, 1), 1.3)
    f = LSGAN(KERNEL, time=0.6, solver=solver).train_critic(fake, real)(np.array([[0.0], [1.3], [0.65]]))
    level = -np.expm1(-2 * 0.6 * (1 - np.exp(-0.5)))
    np.testing.assert_allclose(f, [-level, level, 0.0], rtol=1e-12, atol=1e-15)


def test_lsgan_for_a_long_time_fits_its_targets_where_the_matrix_allows():
    fake, real, _ = samples(9, 5)
    critic = LSGAN(Laplacian(width=0.5), time=1e6).train_critic(fake, real)
    np.testing.assert_allclose(critic(fake), -1.0, atol=1e-8)
    np.testing.assert_allclose(critic(real), 1.0, atol=1e-8)


@pytest.mark.parametrize("time", [0.1, 10.0, 1e4])
def test_krylov_is_eigh_within_the_bound_that_it_tells(time):
    rng = np.random.default_rng(0)
    fake, real, z = rng.normal(size=(150, 2)), rng.normal(size=(90, 2)) + 1, rng.normal(size=(50, 2)) * 2
    for kernel in (RBF(width=0.3), Laplacian(width=0.3), NTK()):
        for tolerance in (1e-4, 1e-10):
            exact = LSGAN(kernel, time=time, solver="eigh").train_critic(fake, real)
            found = LSGAN(kernel, time=time, solver="krylov", tolerance=tolerance).train_critic(fake, real)
            assert found.solution.solver == "krylov"
            off = np.abs(found(z) - exact(z)) / np.sqrt(np.diagonal(kernel(z)))
            assert off.max() <= found.solution.error + 1e-9 * np.abs(exact.solution.weights).sum()
            assert found.solution.error <= tolerance * 20 * np.abs(exact.solution.weights).sum()


def test_a_time_too_long_for_one_basis_is_gone_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    kernel = Laplacian(width=0.2)
    exact = LSGAN(kernel, time=300.0, solver="eigh").train_critic(fake, real)
    monkeypatch.setattr("timelike.distributions.discriminators.solvers._MAX_BASIS", 16)
    found = LSGAN(kernel, time=300.0, solver="krylov").train_critic(fake, real)
    assert found.solution.n_products > 32
    np.testing.assert_allclose(found.solution.weights, exact.solution.weights, rtol=1e-6, atol=1e-9)


def test_where_krylov_needs_too_much_auto_takes_eigh_and_krylov_says_so(monkeypatch):
    fake, real, z = samples(30, 20)
    monkeypatch.setattr("timelike.distributions.discriminators.solvers._MAX_BASIS", 3)
    monkeypatch.setattr("timelike.distributions.discriminators.solvers._MAX_SEGMENTS", 2)
    hard = Laplacian(width=0.2)
    found = LSGAN(hard, time=100.0).train_critic(fake, real)
    assert found.solution.solver == "eigh"
    np.testing.assert_allclose(found(z), LSGAN(hard, time=100.0, solver="eigh").train_critic(fake, real)(z), rtol=1e-12)
    with pytest.raises(ValueError, match='solver="eigh"'):
        LSGAN(hard, time=100.0, solver="krylov").train_critic(fake, real)


def test_a_matrix_that_is_made_in_blocks_is_the_whole_one(monkeypatch):
    fake, real, z = samples(40, 25)
    whole = LSGAN(KERNEL, time=5.0).train_critic(fake, real)(z)
    monkeypatch.setattr("timelike.distributions.kernels.base.MAX_MATRIX_ENTRIES", 10)
    monkeypatch.setattr("timelike.distributions.kernels.base.BLOCK_ENTRIES", 300)
    np.testing.assert_allclose(LSGAN(KERNEL, time=5.0).train_critic(fake, real)(z), whole, rtol=1e-9)


@pytest.mark.learn
def test_a_kernel_that_is_none_of_a_network_blows_up_and_is_told():
    fake, real = np.zeros((2, 1)), np.full((2, 1), 5.0)
    with pytest.raises(ValueError, match=r"infinite: lower it.*positive definite for weights that sum to 0"):
        LSGAN(NegativeDistance() * RBF(width=100.0), time=1e4, initial=lambda z: 3.0 + z[:, 0]).train_critic(fake, real)


# --- vanilla


def two_points(d=1.3):
    return np.zeros((2, 1)), np.full((2, 1), d)


def test_vanilla_of_two_points_is_proposition_8_at_the_time_of_d_116():
    fake, real = two_points()
    gap = 1 - np.exp(-0.5)  # k(0) − k(d): the eigenvalue of D.119 is half of it, as γ has half of each sample
    y = 1 + 2 * gap - lambertw(np.exp(1 + 2 * gap)).real
    for solver in ("integrate", "lambert"):
        f = VanillaGAN(KERNEL, time=2.0, solver=solver).train_critic(fake, real)(np.concatenate([fake[:1], real[:1]]))
        np.testing.assert_allclose(f, [-y, y], rtol=1e-6)


def test_lambert_s_bound_holds_and_is_0_for_one_eigenvector():
    fake, real = two_points()
    assert VanillaGAN(KERNEL, solver="lambert").train_critic(fake, real).solution.error < 1e-12
    rng = np.random.default_rng(0)
    fake, real, z = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 1, rng.normal(size=(30, 2)) * 2
    errors = []
    for time in (0.1, 1.0, 5.0, 50.0):
        near = VanillaGAN(KERNEL, time=time, solver="lambert").train_critic(fake, real)
        exact = VanillaGAN(KERNEL, time=time, tolerance=1e-10).train_critic(fake, real)
        off = np.abs(near(z) - exact(z)).max()  # k(z, z) = 1
        assert 0 < off <= near.solution.error
        errors.append(near.solution.error)
    assert errors == sorted(errors)
    assert errors[0] < 1e-3  # short times: σ is nearly linear


def test_lambert_at_copies_is_its_limit():
    fake, real, z = samples()
    once = VanillaGAN(KERNEL, solver="lambert").train_critic(fake, real)
    twice = VanillaGAN(KERNEL, solver="lambert").train_critic(np.repeat(fake, 2, axis=0), np.repeat(real, 2, axis=0))
    np.testing.assert_allclose(twice(z), once(z), rtol=1e-9, atol=1e-11)


def test_for_short_times_losses_are_multiples_of_ipm():
    fake, real, z = samples()
    ipm = IPM(KERNEL, time=1e-6).train_critic(fake, real)(z)
    for kind, factor in ((LSGAN, -2.0), (VanillaGAN, -0.5), (HingeGAN, -1.0)):
        np.testing.assert_allclose(
            kind(KERNEL, time=1e-6).train_critic(fake, real)(z), factor * ipm, rtol=1e-4, atol=1e-12
        )


def test_saturating_costs_are_log_of_one_less_sigma():
    fake, real, z = samples()
    critic = VanillaGAN(KERNEL, saturating=True).train_critic(fake, real)
    f = critic(z)
    np.testing.assert_allclose(critic.cost(z), np.log(1 - 1 / (1 + np.exp(-f))), rtol=1e-12)


@pytest.mark.learn
def test_costs_stay_finite_far_from_the_saddle():
    fake, real, z = samples()
    far = VanillaGAN(KERNEL, initial=lambda z: 1e4 + 0 * z[:, 0]).train_critic(fake, real)
    assert np.isfinite(far.cost(z)).all()
    assert np.isfinite(far.gradient(z)).all()


@pytest.mark.parametrize("time", [1e3, 1e6])
def test_vanilla_is_integrated_however_stiff(time):
    fake, real = two_points()
    gap = (1 - np.exp(-0.5)) * time
    y = 1 + gap - _omega(1 + gap)
    f = VanillaGAN(KERNEL, time=time).train_critic(fake, real)(real[:1])
    assert f[0] == pytest.approx(y, rel=1e-4)


def _omega(x):
    """w with w + log w = x, by Newton's method in log w."""
    y = np.log(x)
    for _ in range(60):
        y -= (np.exp(y) + y - x) / (np.exp(y) + 1)
    return np.exp(y)


# --- hinge


def test_hinge_brings_all_items_to_their_margins_in_a_long_time():
    fake, real, _ = samples()
    critic = HingeGAN(Laplacian(width=0.5), time=50.0).train_critic(fake, real)
    places = np.concatenate([-critic(fake), critic(real)])
    assert places.min() > 1 - 1e-3  # others may push an item further
    assert np.isclose(places, 1.0, atol=1e-3).sum() >= 3


def test_hinge_is_off_by_about_its_rounding_and_within_its_bound():
    fake, real, z = samples()
    finest = HingeGAN(KERNEL, time=12.0, rounding=1e-6, tolerance=1e-8).train_critic(fake, real)(z)
    off = []
    for rounding in (1e-1, 1e-2, 1e-3):
        critic = HingeGAN(KERNEL, time=12.0, rounding=rounding).train_critic(fake, real)
        off.append(np.abs(critic(z) - finest).max())
        assert critic.solution.error == pytest.approx(np.sqrt(2 * rounding * 12.0))
        assert off[-1] <= critic.solution.error  # k(z, z) = 1
        assert off[-1] <= 5 * rounding
    assert off[2] < off[1] < off[0]


def test_what_cannot_be_integrated_is_told_once_as_an_error(monkeypatch):
    """LSODA warns before it gives up, as with similarities of 1e12: warnings are errors here."""

    def given_up(*how, **more):
        warnings.warn("lsoda: Repeated convergence failures (perhaps bad Jacobian or tolerances).", stacklevel=2)
        return OptimizeResult(success=False, message="Unexpected istate in LSODA.", y=np.zeros((10, 1)))

    monkeypatch.setattr(solvers, "solve_ivp", given_up)
    fake, real, _ = samples()
    message = (
        r"time=1.0 cannot be integrated with RBF.*reach 1 .*istate.*: bring the items to a smaller scale.*lower time"
    )
    with pytest.raises(ValueError, match=message):
        HingeGAN(KERNEL).train_critic(fake, real)


@pytest.mark.parametrize(("size", "rounding"), [(1.0, 0.4), (1.0, 1.0), (2.0, 0.01), (1e6, 1e-3)])
def test_an_item_that_nobody_else_moves_turns_the_corner_exponentially(size, rounding):
    """k = size at x = y and 0 elsewhere: f′ = size/2 · clip((1 − f)/ρ + ½, 0, 1), which has a closed form."""
    fake, real = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    pace = size / 2  # an item is half of its sample
    enters = (1 - rounding / 2) / pace
    for time in (0.5 * enters, enters, enters + rounding / pace, enters + 3 * rounding / pace):
        kernel = size * RBF(width=1e-3)
        critic = HingeGAN(kernel, time=time, rounding=rounding, tolerance=1e-8).train_critic(fake, real)
        inside = max(0.0, time - enters)
        expected = pace * time if time <= enters else 1 + rounding / 2 - rounding * np.exp(-pace * inside / rounding)
        np.testing.assert_allclose(critic(real), expected, rtol=1e-6)
        np.testing.assert_allclose(critic(fake), -expected, rtol=1e-6)


@pytest.fixture
def counted(monkeypatch):
    """How often an equation was evaluated."""
    calls = []
    change = solvers._TrainingODE.change
    monkeypatch.setattr(solvers._TrainingODE, "change", lambda *given: (calls.append(1), change(*given))[1])
    return calls


@pytest.mark.parametrize("scale", [1e3, 1e4, 1e6])
def test_hinge_of_large_items_ends_at_the_margins_within_bounded_work(scale, counted):
    rng = np.random.default_rng(0)
    fake, real = scale * rng.standard_normal((3, 2)), scale * (rng.standard_normal((3, 2)) + 1)
    rounding = HingeGAN(NTK()).rounding
    critic = HingeGAN(NTK()).train_critic(fake, real)
    places = np.concatenate([-critic(fake), critic(real)])
    assert places.min() > 1 + rounding / 2 - 1e-4  # nothing is pushed any more
    assert np.isclose(places, 1 + rounding / 2, atol=1e-4).sum() >= 2  # what holds the others back
    assert len(counted) <= 2 * solvers._MAX_EVALUATIONS
    assert critic.solution.n_products <= len(counted)
    assert (critic.solution.weights * np.repeat([-1, 1], 3) >= 0).all()


def test_what_no_method_can_integrate_is_refused_after_bounded_work(counted, monkeypatch):
    monkeypatch.setattr(solvers, "_MAX_EVALUATIONS", 1000)  # of 10 000
    rng = np.random.default_rng(0)
    fake, real = 1e8 * rng.standard_normal((3, 2)), 1e8 * (rng.standard_normal((3, 2)) + 1)
    message = r"time=1.0 cannot be integrated with Linear.*reach \d.*e\+1[67].*2000 evaluations.*smaller scale"
    with pytest.raises(ValueError, match=message):
        VanillaGAN(Linear()).train_critic(fake, real)
    assert len(counted) <= 2 * solvers._MAX_EVALUATIONS + 2
    small = VanillaGAN(Linear()).train_critic(fake / 1e8, real / 1e8)  # an ordinary scale takes a small part of that
    assert small.solution.n_products < 500


@pytest.mark.parametrize("loss", [VanillaGAN, HingeGAN])
def test_large_items_and_a_long_time_are_one(loss):
    """k(s x, s y) = s² k(x, y) of `Linear`: s² times the similarities is s² times the time."""
    fake, real, _ = samples()
    large = loss(Linear(), time=0.01).train_critic(30 * fake, 30 * real)
    long = loss(Linear(), time=9.0).train_critic(fake, real)
    np.testing.assert_allclose(large(30 * real), long(real), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [VanillaGAN, HingeGAN])
def test_slopes_of_an_integrated_loss_are_derivatives_of_its_pushes(kind, monkeypatch):
    """A wrong one costs evaluations and changes no weight, so nothing else would notice."""
    seen = []
    solve = solvers._TrainingODE.solve
    monkeypatch.setattr(solvers._TrainingODE, "solve", lambda self, *how: (seen.append(self), solve(self, *how))[1])
    fake, real, _ = samples()
    kind(KERNEL, time=0.3).train_critic(fake, real)
    equation, h = seen[0], 1e-7
    signs = np.repeat([-1.0, 1.0], [len(fake), len(real)])
    for place in (-2.0, 0.3, 1 - 3e-4, 1 + 2e-4, 1.7):  # the corner of a hinge is between 1 − 5e-4 and 1 + 5e-4
        f = signs * place
        difference = (equation.pushes(f + h) - equation.pushes(f - h)) / (2 * h)
        np.testing.assert_allclose(equation.slopes(f), difference, rtol=1e-5, atol=1e-6)
    equation.most = 10**6
    g = np.linspace(-0.5, 0.5, len(signs))
    columns = [
        (equation.change(0.0, g + h * unit) - equation.change(0.0, g - h * unit)) / (2 * h) for unit in np.eye(len(g))
    ]
    np.testing.assert_allclose(equation.jacobian(0.0, g), np.stack(columns, axis=1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("x", [0.0, 1e-14, 1e-9, 1e-4, 0.3, 2.0, 40.0, 1e6])
def test_lambert_s_solution_has_all_its_digits(x):
    y = float(solve_lambert(np.array([x]))[0])
    assert np.expm1(y) + y == pytest.approx(x, rel=1e-14, abs=1e-300)
