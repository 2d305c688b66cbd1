"""Point clouds of the GAN(TK)² programs: where they lie, what they repeat, what they refuse."""

import numpy as np
import pytest
import torch
from benchmarks.papers.gantk import problems
from benchmarks.papers.gantk.problems import densities, digits, eight_gaussians, letters

DRAWN = (eight_gaussians, letters, densities)


@pytest.mark.parametrize("made", DRAWN)
def test_a_seed_repeats_a_problem_and_another_one_does_not(made):
    first, again, other = made(50, random_state=3), made(50, random_state=3), made(50, random_state=4)
    np.testing.assert_array_equal(first.start, again.start)
    np.testing.assert_array_equal(first.real, again.real)
    assert not np.array_equal(first.real, other.real)
    assert first.start.shape == first.real.shape == (50, 2)
    assert first.name in repr(first)


def test_eight_gaussians_lie_around_points_of_a_circle_and_each_has_its_share():
    real = eight_gaussians(8000, random_state=0).real
    corners = 5 * np.exp(1j * np.pi / 4 * np.arange(8))
    away = real[:, 0, None] + 1j * real[:, 1, None] - corners
    nearest = np.abs(away).argmin(axis=1)
    np.testing.assert_allclose(np.bincount(nearest) / 8000, 1 / 8, atol=0.015)
    own = away[np.arange(8000), nearest]
    assert np.sqrt(np.mean(np.abs(own) ** 2) / 2) == pytest.approx(0.5, rel=0.03)  # of each coordinate


def test_eight_gaussians_start_from_a_standard_one():
    start = eight_gaussians(8000, random_state=0).start
    np.testing.assert_allclose(np.cov(start.T), np.eye(2), atol=0.05)
    np.testing.assert_allclose(start.mean(axis=0), 0, atol=0.05)


def test_gaussians_without_a_deviation_are_eight_points():
    real = eight_gaussians(200, radius=2.0, deviation=0.0, random_state=0).real
    assert len(np.unique(real.round(9), axis=0)) == 8
    np.testing.assert_allclose(np.hypot(*real.T), 2.0)


@pytest.mark.parametrize("made", [letters, densities])
def test_shapes_lie_in_a_box_of_two(made):
    points = made(2000, random_state=0)
    for side in (points.start, points.real):
        assert np.abs(side).max() < 1.1
        assert side.std(axis=0).min() > 0.15


def test_a_letter_has_holes_where_letters_have_them():
    points = letters(4000, random_state=0)

    def inside(side, x, y):
        return np.mean(np.hypot(side[:, 0] - x, side[:, 1] - y) < 0.08)

    assert inside(points.start, 0.0, 0.1) == 0  # above the bar of the A
    assert inside(points.start, 0.0, -0.6) == 0  # between its feet
    assert inside(points.start, 0.0, 0.75) > 0.005
    for height in (-0.37, 0.38):  # both bows of the B
        assert inside(points.real, -0.1, height) == 0
    assert inside(points.real, -0.45, 0.0) > 0.005


def test_a_pixel_is_drawn_in_proportion_to_its_darkness():
    def twice(x, y):
        return np.where(x > 0, 2.0, 1.0)

    points = problems._sample_points(twice, 20000, np.random.default_rng(0))
    assert np.mean(points[:, 0] > 0) == pytest.approx(2 / 3, abs=0.01)


def test_digits_are_padded_with_black_and_scaled_as_the_authors_do():
    images = np.full((6, 28, 28), 255, np.uint8)
    found = digits(images, 5, random_state=0)
    picture = found.real[0].reshape(32, 32)
    np.testing.assert_allclose(picture[2:30, 2:30], 0.9995)
    np.testing.assert_allclose(picture[:2], -0.9995)
    np.testing.assert_allclose(picture[:, 30:], -0.9995)
    assert found.start.shape == (5, 1024)


def test_no_digit_is_taken_twice():
    shades = np.linspace(0, 1, 20)[:, None, None] * np.ones((1, 4, 4))
    found = digits(shades, 20, random_state=0).real
    assert len(np.unique(found.max(axis=1).round(9))) == 20


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros((3, 28)), "expected .item, height, width."),
        (np.zeros((3, 40, 28)), "at most 32 × 32"),
        (np.zeros((3, 28, 28)), "n=4: expected at most 3"),
        (np.full((9, 28, 28), -1.0), "from 0 to 1"),
        (np.full((9, 28, 28), np.nan), "from 0 to 1"),
    ],
)
def test_pictures_that_are_none_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        digits(given, 4)


@pytest.mark.parametrize("made", DRAWN)
def test_fewer_than_two_points_are_refused(made):
    with pytest.raises(ValueError, match="n=1: expected at least 2"):
        made(1)


def test_images_may_be_a_tensor_with_gradients_or_of_any_memory_layout():
    images = np.random.default_rng(0).random((3, 5, 5))
    expected = digits(images, 2, random_state=0).real
    for same in (
        torch.tensor(images, requires_grad=True),
        np.asfortranarray(images),
        np.repeat(images, 2, axis=2)[..., ::2],
    ):
        np.testing.assert_array_equal(digits(same, 2, random_state=0).real, expected)


def test_a_tensor_without_data_is_refused():
    with pytest.raises((TypeError, ValueError), match="images is a tensor on the meta device"):
        digits(torch.zeros(3, 5, 5, device="meta"), 2)
