"""Figures of discriminators: what is drawn is what discriminators say, where they say it."""

import numpy as np
import pytest

from timelike.distributions import IPM, LSGAN, NTK, RBF, FunctionDiscriminator, plots

RNG = np.random.default_rng(0)
FAKE, REAL = RNG.normal(size=(6, 2)), RNG.normal(size=(7, 2)) + 2


def quiver(axes):
    (found,) = [one for one in axes.collections if type(one).__name__ == "Quiver"]
    return np.stack([found.U, found.V], axis=1)


@pytest.mark.learn
def test_a_landscape_shows_the_cost_and_arrows_lead_down():
    slope = FunctionDiscriminator(lambda z: 3 * z[:, 0] - z[:, 1])
    axes = plots.plot_landscapes(FAKE, REAL, {"slope": slope}, size=5).axes[0]
    values, (left, right, low, high) = np.asarray(axes.images[0].get_array()), axes.images[0].get_extent()
    assert values[0, -1] - values[0, 0] == pytest.approx(3 * (right - left))
    assert values[-1, 0] - values[0, 0] == pytest.approx(-(high - low))
    np.testing.assert_allclose(quiver(axes), np.tile([-3.0, 1.0], (6, 1)))


def test_a_landscape_is_a_square_around_all_points():
    axes = plots.plot_landscapes(FAKE, REAL, {"RBF": RBF(width=1.0)}, size=5, margin=0.0).axes[0]
    left, right, low, high = axes.images[0].get_extent()
    every = np.concatenate([FAKE, REAL])
    assert right - left == pytest.approx(high - low)
    assert right - left == pytest.approx(np.ptp(every, axis=0).max())
    assert left <= every[:, 0].min() + 1e-12
    assert high >= every[:, 1].max() - 1e-12


def test_particles_over_time_have_a_panel_for_every_step_and_see_their_own_landscape():
    flows = {"down": {0: FAKE, 10: FAKE + 1}, "still": {0: FAKE, 10: FAKE}}
    figure = plots.plot_particles(flows, REAL, {"down": RBF(width=1.0)}, size=5)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["step 0", "step 10"]
    first, second, even, _ = (np.asarray(axes.images[0].get_array()) for axes in figure.axes)
    assert not np.allclose(first, second)
    assert np.ptp(even) == 0


def test_one_point_moves_towards_the_other_as_the_kernel_s_derivative_says():
    # IPM of two points: −∇_x [k(x, x′) − k(x, y)] at x′ = x is ∇_x k(x, y), as k(x, ·) is flat at x
    x, width = np.array([[-1.0, 0.5], [0.3, 1.7]]), 1.3
    away = np.array([1.0, 0.0]) - x
    expected = away / width**2 * np.exp(-np.square(away).sum(1, keepdims=True) / (2 * width**2))
    np.testing.assert_allclose(plots.dirac_moves(RBF(width=width), x), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [IPM, LSGAN])
def test_a_field_in_many_dimensions_is_that_of_any_plane(kind):
    """Kernels of networks know norms and angles alone: a turned plane gives turned arrows."""
    rng, dimension = np.random.default_rng(1), 6
    basis = np.linalg.qr(rng.normal(size=(dimension, 2)))[0]
    point = np.array([-0.7, 1.1])
    critic = kind(NTK()).train_critic(np.tile(basis @ point, (2, 1)), np.tile(basis[:, 0], (2, 1)))
    turned = -critic.gradient((basis @ point)[None])[0] @ basis
    np.testing.assert_allclose(plots.dirac_moves(kind(NTK()), [point], dimension)[0], turned, rtol=1e-9)


def test_nothing_moves_where_the_point_is_on_its_target():
    np.testing.assert_allclose(plots.dirac_moves(NTK(), [[1.0, 0.0]]), 0, atol=1e-12)


def test_dirac_fields_cover_the_thesis_s_box():
    figure = plots.plot_dirac_fields({"IPM": {"RBF": RBF(width=1.0)}}, size=3)
    (found,) = [one for one in figure.axes[0].collections if type(one).__name__ == "Quiver"]
    np.testing.assert_allclose(found.XY, [[x, y] for y in (0, 1, 2) for x in (-2, 0, 2)])


def test_profiles_are_the_costs_over_the_line():
    fake, real = np.array([[0.0], [1.0]]), np.array([[3.0], [4.0]])
    figure = plots.plot_profiles(
        fake, real, {"IPM": {"RBF": RBF(width=1.0)}, "LSGAN": {"RBF": LSGAN(RBF(width=1.0))}}, size=11
    )
    line, cost = figure.axes[1].lines[0].get_data()
    np.testing.assert_allclose(cost, LSGAN(RBF(width=1.0)).train_critic(fake, real).cost(line[:, None]), rtol=1e-9)
    assert cost.min() >= 0  # a square


def test_pictures_are_shown_as_they_lie_in_their_vectors():
    vector = np.linspace(-1, 1, 16)[None]
    shown = plots.plot_particle_images({"one": vector}, columns=1, rows=1).axes[0].images[0].get_array()
    np.testing.assert_allclose(np.asarray(shown)[..., 0], (vector.reshape(4, 4) + 1) / 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: plots.plot_landscapes(FAKE[:, :1], REAL, {"a": RBF()}),
            r"fake has shape \(6, 1\): expected \(item, 2\)",
        ),
        (lambda: plots.plot_landscapes(FAKE, REAL, {}), "at least one"),
        (lambda: plots.plot_landscapes(FAKE, REAL, {"a": RBF(), "b": {"c": RBF()}}), "mixes rows and single"),
        (lambda: plots.plot_landscapes(FAKE, REAL, {"a": RBF()}, size=1), "size=1"),
        (lambda: plots.plot_landscapes(FAKE, REAL, {"a": RBF()}, margin=-1.0), "margin=-1.0"),
        (lambda: plots.plot_dirac_fields({"a": RBF(width=1.0)}, dimension=1), "dimension=1"),
        (lambda: plots.plot_profiles(FAKE, REAL, {"a": {"b": RBF()}}), r"expected \(item, 1\)"),
        (lambda: plots.plot_particle_images({"a": np.zeros((2, 15))}), "square pictures"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


def test_a_grid_of_points_begins_below_and_at_the_left():
    np.testing.assert_allclose(plots.grid_points((0, 1, 2, 4), 2), [[0, 2], [1, 2], [0, 4], [1, 4]])
