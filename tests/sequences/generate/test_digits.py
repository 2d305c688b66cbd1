"""Whole positions and velocities, drawing, swaps and splits of moving digits."""

import gzip
import os
import struct
from itertools import product

import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_digits

import timelike as tl
from naive import moving_digits as naive
from timelike.sequences import generate
from timelike.sequences.generate.bounces import bounce_paths, integer_velocities, inward_rule
from timelike.sequences.generate.digits import MovingDigits

# --- whole positions and velocities ------------------------------------------------------------------------------------


def drawn_numbers(seed, n_digits, n, limit, fastest, bounces):
    """What `moving_digits(speed="integer")` draws, in this order: pictures, starts, velocities, those after bounces."""
    rng = np.random.default_rng(seed)
    rng.integers(1438, size=(n, n_digits))  # scikit-learn's digits to train with
    start = rng.integers(limit + 1, size=(n * n_digits, 2))
    velocities = rng.integers(-fastest, fastest + 1, size=(bounces + 1, n * n_digits, 2))
    return start, velocities[0], velocities[1:]


@pytest.mark.parametrize(
    ("size", "digit_size", "fastest", "interval"),
    [(64, 28, 4, 1.0), (32, 14, 2, 1.0), (12, 11, 1, 1.0), (40, 37, 2, 0.25), (64, 61, 4, 3.0)],
)
@pytest.mark.parametrize("stochastic", [False, True])
def test_whole_velocities_fly_as_fractions_without_rounding_do(size, digit_size, fastest, interval, stochastic):
    n, length, limit = 60, 40, size - digit_size
    options = {"n_digits": 2, "size": size, "digit_size": digit_size, "interval": interval, "stochastic": stochastic}
    made = generate.moving_digits(n, length, speed="integer", **options, random_state=7)
    start, velocity, draws = drawn_numbers(7, 2, n, limit, fastest, bounces=1000)
    times = [interval * t for t in range(length)]
    for item, digit in product(range(n), range(2)):
        one = item * 2 + digit
        path = naive.flight(start[one], velocity[one], limit, times, draws[:, one] if stochastic else None)
        expected = [[round(x) for x in place] for place in path]
        np.testing.assert_array_equal(made.positions[item, :, digit], expected)


def test_whole_positions_and_velocities_are_all_equally_probable():
    made = generate.moving_digits(6000, 2, n_digits=1, speed="integer", digit_size=60, stochastic=True, random_state=0)
    start = made.positions[:, 0, 0]
    assert np.bincount(start.astype(int).ravel()) / start.size == pytest.approx(np.full(5, 1 / 5), abs=0.02)
    wide = generate.moving_digits(6000, 2, n_digits=1, speed="integer", digit_size=1, size=64, random_state=0)
    free = ((wide.positions[:, 0, 0] >= 4) & (wide.positions[:, 0, 0] <= 59)).all(-1)
    steps = np.diff(wide.positions[free, :, 0], axis=1).astype(int).ravel()
    assert np.bincount(steps + 4) / len(steps) == pytest.approx(np.full(9, 1 / 9), abs=0.02)


@pytest.mark.parametrize(("size", "fastest"), [(8, 1), (16, 1), (32, 2), (64, 4), (96, 6), (128, 8)])
def test_whole_velocities_grow_with_the_frame(size, fastest):
    made = generate.moving_digits(300, 2, speed="integer", size=size, digit_size=1, random_state=0)
    assert np.abs(np.diff(made.positions, axis=1)).max() == fastest


@pytest.mark.parametrize("stochastic", [False, True])
def test_whole_paths_do_not_depend_on_the_frame_rate(stochastic):
    def paths(length, interval):
        options = {"speed": "integer", "stochastic": stochastic, "size": 32, "interval": interval}
        return generate.moving_digits(40, length, **options, random_state=3).positions

    np.testing.assert_array_equal(paths(61, 0.5)[:, ::2], paths(31, 1.0))


def test_what_has_no_velocity_stands_still_and_what_glides_along_a_wall_bounces_at_its_end():
    start = np.array([[3.0, 5.0], [0.0, 9.0], [10.0, 0.0]])
    velocity = np.array([[0.0, 0.0], [0.0, 4.0], [2.0, -3.0]])
    paths = bounce_paths(start, velocity, 10.0, np.arange(5.0), lambda v, wall: np.where(wall != 0, -v, v))
    np.testing.assert_array_equal(paths[0], np.broadcast_to(start[0], (5, 2)))
    np.testing.assert_array_equal(paths[1], [[0, 9], [0, 7], [0, 3], [0, 1], [0, 5]])
    np.testing.assert_array_equal(paths[2], [[10, 0], [8, 3], [6, 6], [4, 9], [2, 8]])


def test_a_digit_may_come_to_rest_at_a_wall_for_good():
    rng = np.random.default_rng(0)
    start, draw = np.full((500, 2), 5.0), integer_velocities(1, rng)
    paths = bounce_paths(start, draw(500), 5.0, np.arange(200.0), inward_rule(draw))
    assert np.isfinite(paths).all()
    resting = (np.diff(paths[:, 100:], axis=1) == 0).all((1, 2))
    assert resting.mean() > 0.5
    at_wall = ((paths[:, -1] == 0) | (paths[:, -1] == 5)).any(-1)
    assert at_wall[resting].all()


def test_digits_at_whole_positions_are_drawn_as_they_are():
    made = generate.moving_digits(20, 30, n_digits=1, speed="integer", stochastic=True, size=32, random_state=1)
    for video, positions, patch in zip(made.sequences, made.positions[:, :, 0], made.patches[:, 0], strict=True):
        for picture, (row, column) in zip(video[:, 0], positions.astype(int), strict=True):
            expected = np.zeros((32, 32), np.float32)
            expected[row : row + 14, column : column + 14] = patch
            np.testing.assert_array_equal(picture, expected)


# --- drawing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_pictures_are_drawn_as_a_loop_over_pixels_draws_them(shared):
    rng = np.random.default_rng(0)
    patches = rng.uniform(0, 1, (3, 2, 3, 4)).astype(np.float32)
    positions = rng.integers(0, 7, (3, 5, 2, 2)).astype(float)
    positions[..., 1] = positions[..., 1].clip(0, 5)
    if shared:
        positions += rng.uniform(size=positions.shape) * (positions < 5)
    drawn = generate.rasterize_digits(patches, positions, size=9)
    for item, time in product(range(3), range(5)):
        expected = naive.frame(patches[item], positions[item, time], 9)
        np.testing.assert_allclose(drawn[item, time, 0], expected, atol=1e-6)


def test_a_picture_may_fill_the_frame_and_touch_every_wall():
    patch = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3) / 9
    np.testing.assert_array_equal(generate.rasterize_digits(patch, [[[[0.0, 0.0]]]], size=3)[0, 0, 0], patch[0, 0])
    for row, column in product((0.0, 2.0), repeat=2):
        frame = generate.rasterize_digits(patch, [[[[row, column]]]], size=5)[0, 0, 0]
        np.testing.assert_array_equal(frame[int(row) : int(row) + 3, int(column) : int(column) + 3], patch[0, 0])
        assert frame.sum() == pytest.approx(patch.sum())


def test_many_videos_are_drawn_as_each_alone():
    made = generate.moving_digits(300, 12, size=16, random_state=0)
    alone = [generate.rasterize_digits(made.patches[i : i + 1], made.positions[i : i + 1], size=16) for i in range(300)]
    np.testing.assert_array_equal(made.sequences.pad().values, np.concatenate(alone))


def test_nothing_is_drawn_of_nothing():
    assert generate.rasterize_digits(np.ones((0, 1, 2, 2)), np.zeros((0, 3, 1, 2)), size=4).shape == (0, 3, 1, 4, 4)
    assert generate.rasterize_digits(np.ones((2, 1, 2, 2)), np.zeros((2, 0, 1, 2)), size=4).shape == (2, 0, 1, 4, 4)


def test_a_position_that_is_missing_is_refused():
    with pytest.raises(ValueError, match="digits leave a frame of size 4"):
        generate.rasterize_digits(np.ones((1, 1, 2, 2)), [[[[np.nan, 0.0]]]], size=4)


# --- content swap ------------------------------------------------------------------------------------------------------


def two(n_digits=2, length=8, **options):
    first = generate.moving_digits(3, 5, n_digits=n_digits, size=24, **options, random_state=0)
    return first, generate.moving_digits(3, length, n_digits=n_digits, size=24, **options, random_state=1)


@pytest.mark.parametrize(
    "options", [{}, {"subpixel": False}, {"dtype": np.uint8}, {"speed": "integer", "stochastic": True}]
)
def test_digits_swapped_with_themselves_are_the_videos_they_came_from(options):
    made, other = two(**options)
    truths = made.swap(made)
    assert truths.dtype == made.sequences.dtype
    np.testing.assert_array_equal(truths[0], made.sequences.pad().values)
    assert not np.array_equal(truths[1], truths[0])
    assert not np.array_equal(made.swap(other)[0], other.sequences.pad().values)


@pytest.mark.parametrize("n_digits", [1, 2, 3])
def test_a_swap_has_the_digits_of_the_one_on_the_paths_of_the_other_in_every_order(n_digits):
    content, motion = two(n_digits)
    truths = content.swap(motion)
    orders = {1: [(0,)], 2: [(0, 1), (1, 0)], 3: [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]}
    assert truths.shape == (len(orders[n_digits]), 3, 8, 1, 24, 24)
    for truth, order in zip(truths, orders[n_digits], strict=True):
        for item, time in product(range(3), (0, 7)):
            patches = [content.patches[item, digit] for digit in order]
            expected = naive.frame(patches, motion.positions[item, time], 24)
            np.testing.assert_allclose(truth[item, time, 0], expected, atol=1e-6)


def test_the_closer_order_of_every_item_counts_in_a_score():
    content, motion = two()
    truths = content.swap(motion)
    mixed = np.stack([truths[0, 0], truths[1, 1], truths[0, 2]])  # a perfect model that orders digits as it likes
    assert tl.score.best_of_n(mixed, truths, "psnr") == 100
    assert tl.score.psnr(mixed, truths[0]) < 100


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (lambda: generate.moving_digits(2, 5, size=24), ValueError, r"has 2 videos of 2 digits .* 3 of 2 in \(1, 24"),
        (lambda: generate.moving_digits(3, 5, size=24, n_digits=1), ValueError, r"3 videos of 1 digits"),
        (lambda: generate.moving_digits(3, 5, size=25), ValueError, r"in frames \(1, 25, 25\)"),
        (
            lambda: generate.moving_digits(3, 5, size=24, digit_size=8),
            ValueError,
            r"of 8 × 8 pixels: .* here, 10 × 10,",
        ),
        (lambda: generate.moving_digits(3, 5, size=24, digit_size=14), ValueError, r"of 14 × 14 pixels: .*digit_size"),
        (lambda: np.zeros((3, 5, 2, 2)), TypeError, r"dynamics_of is a ndarray: expected what moving_digits gives"),
    ],
)
def test_what_cannot_be_swapped_is_refused(other, error, message):
    with pytest.raises(error, match=message):
        two()[0].swap(other())


def test_so_many_digits_that_their_orders_are_too_many_are_refused():
    made = generate.moving_digits(1, 1, n_digits=6, size=24, random_state=0)
    with pytest.raises(ValueError, match=r"6 digits have too many orders: use rasterize_digits"):
        made.swap(made)


# --- pictures ----------------------------------------------------------------------------------------------------------


def numbered(n, offset=0):
    """Pictures that carry their own number in their pixels, in bits."""
    bits = (np.arange(offset, offset + n)[:, None] >> np.arange(9)) & 1
    return (bits * 255).astype(np.uint8).reshape(n, 3, 3)


def idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes()))


def sources(folder):
    train, test, labels = numbered(80), numbered(20, offset=80), np.zeros(100, np.uint8)
    np.savez(folder / "digits.npz", X_train=train, y_train=labels[:80], X_test=test, y_test=labels[80:])
    for stem, images in (("train", train), ("t10k", test)):
        idx(folder / f"{stem}-images-idx3-ubyte.gz", images)
        idx(folder / f"{stem}-labels-idx1-ubyte.gz", labels[: len(images)])
    return {"arrays": (numbered(100), labels), "npz": folder / "digits.npz", "idx": folder}


@pytest.mark.parametrize("name", ["scikit-learn", "arrays", "npz", "idx"])
def test_no_picture_is_in_both_parts_whatever_they_come_from(tmp_path, name):
    source = None if name == "scikit-learn" else sources(tmp_path)[name]
    digit_size = 8 if source is None else 3

    def pictures(split):
        options = {"digits": source, "digit_size": digit_size, "size": 16, "split": split}
        made = generate.moving_digits(3000, 1, **options, random_state=0)
        return {picture.tobytes() for picture in made.patches.reshape(-1, digit_size**2)}

    train, test = pictures("train"), pictures("test")
    assert not train & test
    if source is not None:  # of so many draws no picture is left out
        assert (len(train), len(test)) == (80, 20)


def test_pictures_are_used_once_where_they_may_not_repeat():
    digits = (numbered(10), range(10))
    options = {"digits": digits, "digit_size": 3, "size": 16, "repeat": False}
    made = generate.moving_digits(4, 1, **options, random_state=0)
    assert sorted(made.images.ravel()) == list(range(8))
    np.testing.assert_array_equal(made.labels, made.images)
    assert not np.array_equal(made.images, generate.moving_digits(4, 1, **options, random_state=1).images)
    with pytest.raises(ValueError, match=r"n=5 and n_digits=2 need 10 pictures of 8 with repeat=False"):
        generate.moving_digits(5, 1, **options)


def test_a_file_that_changes_is_read_again(tmp_path):
    file = tmp_path / "digits.npz"

    def first_pixel(value):
        pixels = np.full((4, 3, 3), value, np.uint8)
        np.savez(file, X_train=pixels, y_train=range(4), X_test=pixels, y_test=range(4))
        os.utime(file, ns=(value, value))  # a clock that ticks rarely would give both the same time
        made = generate.moving_digits(1, 1, digits=file, size=16, digit_size=3, random_state=0)
        return round(255 * float(made.patches[0, 0, 0, 0]))

    assert [first_pixel(value) for value in (10, 200, 10)] == [10, 200, 10]


def test_a_record_knows_how_it_was_drawn():
    assert generate.moving_digits(1, 1, size=16).subpixel is True
    assert generate.moving_digits(1, 1, size=16, subpixel=False).subpixel is False
    assert MovingDigits._fields[0] == "sequences"


# --- pictures of digits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digit_size", [1, 3, 7, 8, 11, 14])
def test_digits_lie_between_the_middles_of_pixels_whether_they_grow_or_shrink(digit_size):
    """By SciPy, at the middle of each new pixel; what lies beyond the outermost middles is as bright as they are."""
    made = generate.moving_digits(3, 1, size=16, digit_size=digit_size, random_state=0)
    middles = (np.arange(digit_size) + 0.5) * 8 / digit_size - 0.5
    places = np.stack(np.meshgrid(middles, middles, indexing="ij"))
    for image, patch in zip(made.images.ravel(), made.patches.reshape(-1, digit_size, digit_size), strict=True):
        expected = map_coordinates(load_digits().images[image] / 16, places, order=1, mode="nearest")
        np.testing.assert_allclose(patch, expected, atol=1e-6)
