import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.interpolate import CubicSpline
from scipy.special import ellipj
from sklearn.datasets import load_digits

import timelike as tl
from timelike.sequences import generate
from timelike.sequences.generate.bounces import bounce_paths, reflect_paths

GENERATORS = {
    "warped": lambda seed: generate.warped_sequences(5, 20, random_state=seed),
    "moving_digits": lambda seed: generate.moving_digits(2, 4, size=24, random_state=seed),
    "stochastic digits": lambda seed: generate.moving_digits(2, 4, size=24, stochastic=True, random_state=seed),
    "whole digits": lambda seed: generate.moving_digits(2, 4, size=24, speed="integer", random_state=seed),
    "waves": lambda seed: generate.waves(2, 6, size=12, pixels=5, random_state=seed),
    "fixed waves": lambda seed: generate.waves(2, 6, size=12, border="fixed", pixels=5, random_state=seed),
    "pendulum": lambda seed: generate.pendulum(2, 5, noise=0.1, random_state=seed),
    "pushed pendulum": lambda seed: generate.pendulum(2, 5, torque=1.0, observe="picture", random_state=seed),
    "heat": lambda seed: generate.heat(3, 5, size=8, random_state=seed),
    "eight_gaussians": lambda seed: generate.eight_gaussians(9, random_state=seed),
    "letters": lambda seed: generate.letters(9, random_state=seed),
    "densities": lambda seed: generate.densities(9, random_state=seed),
}


def same(a, b):
    return all(x.equals(y) if isinstance(x, tl.Sequences) else np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_says_everything(name):
    make = GENERATORS[name]
    assert same(make(1), make(1))
    assert same(make(1), make(np.random.default_rng(1)))
    assert not same(make(1), make(2))
    assert not same(make(None), make(None))


def test_the_package_has_its_generators_without_a_further_import():
    assert tl.sequences.generate.warped_sequences(n=1).sequences.shape == (1, 100, 1)
    assert tl.sequences.augment.Blur().sizes == (3, 5, 7)
    with pytest.raises(AttributeError, match="no attribute 'missing_name'"):
        _ = tl.sequences.missing_name


# --- warped prototypes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [80, (40, 80)])
def test_a_warped_sequence_is_its_prototype_read_at_the_warp(length):
    made = generate.warped_sequences(12, length, classes=3, channels=2, noise=0.0, warp=0.7, random_state=0)
    for x, label, warp in zip(made.sequences, made.sequences.labels, made.warps, strict=True):
        assert np.isnan(warp[len(x) :]).all()
        curve = CubicSpline(np.arange(80), made.prototypes[label])
        np.testing.assert_allclose(x, curve(warp[: len(x)]), atol=2e-4)


def test_warps_increase_from_the_first_position_to_the_last():
    made = generate.warped_sequences(50, (10, 60), warp=2.0, random_state=0)
    assert set(made.sequences.lengths) != {60}
    for warp, length in zip(made.warps, made.sequences.lengths, strict=True):
        assert warp[0] == 0
        assert warp[length - 1] == pytest.approx(59)
        assert (np.diff(warp[:length]) > 0).all()


def test_without_warp_and_noise_only_prototypes_are_left():
    made = generate.warped_sequences(7, 30, classes=2, noise=0.0, warp=0.0, random_state=0)
    np.testing.assert_allclose(made.sequences.pad().values, made.prototypes[made.sequences.labels], atol=1e-12)
    np.testing.assert_allclose(made.prototypes.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(made.prototypes.std(1), 1)


def test_classes_are_balanced_and_noise_is_as_strong_as_asked():
    made = generate.warped_sequences(2000, 50, classes=4, noise=0.5, warp=0.0, random_state=0)
    assert np.bincount(made.sequences.labels).tolist() == [500] * 4
    rest = made.sequences.pad().values - made.prototypes[made.sequences.labels]
    assert rest.std() == pytest.approx(0.5, rel=0.02)


# --- moving digits ---------------------------------------------------------------------------------------------------


def naive_flight(position, velocity, limit, time):
    """One coordinate, from wall to wall, until the time is used up."""
    while time > 0:
        wait = ((limit if velocity > 0 else 0.0) - position) / velocity if velocity else np.inf
        if wait >= time:
            return position + velocity * time
        position, velocity, time = (limit if velocity > 0 else 0.0), -velocity, time - wait
    return position


@settings(deadline=None)
@given(start=st.floats(0, 10), velocity=st.floats(-30, 30).filter(lambda v: v == 0 or abs(v) > 1e-3))
def test_closed_form_bounces_are_those_of_a_step_by_step_flight(start, velocity):
    times = np.arange(20.0)
    path = reflect_paths(np.array([[start, 5.0]]), np.array([[velocity, 0.0]]), 10.0, times)[0, :, 0]
    np.testing.assert_allclose(path, [naive_flight(start, velocity, 10.0, t) for t in times], atol=1e-9)


def test_following_every_bounce_gives_the_closed_form_when_bounces_are_mirrors():
    rng = np.random.default_rng(0)
    start, velocity, times = rng.uniform(0, 36, (200, 2)), rng.normal(size=(200, 2)) * 10, np.arange(0, 30, 0.25)
    mirrored = bounce_paths(start, velocity, 36.0, times, lambda v, wall: np.where(wall != 0, -v, v))
    np.testing.assert_allclose(mirrored, reflect_paths(start, velocity, 36.0, times), atol=1e-9)


@pytest.mark.parametrize("stochastic", [False, True])
def test_digits_stay_in_the_frame_and_change_direction_only_at_walls(stochastic):
    made = generate.moving_digits(
        30,
        400,
        n_digits=1,
        size=32,
        interval=0.1,
        speed=(2.0, 5.0),
        stochastic=stochastic,
        digit_size=10,
        random_state=0,
    )
    positions = made.positions[:, :, 0]
    assert positions.min() >= 0
    assert positions.max() <= 22
    moves = np.diff(positions, axis=1)
    speeds = np.linalg.norm(moves, axis=-1) / 0.1
    assert speeds.max() <= 5.0 + 1e-9
    turned = np.abs(np.diff(moves, axis=1)).max(-1) > 1e-9
    assert 0.005 < turned.mean() < 0.2
    # a bounce lies within two moves of a wall
    near = np.minimum(positions, 22 - positions).min(-1)[:, 1:-1] <= 2 * 0.5
    assert near[turned].all()
    straight = speeds[:, :-1][~turned]
    assert straight.min() >= 2.0 - 1e-6
    if not stochastic:
        for one, turns in zip(speeds, turned, strict=True):
            flying = one[:-1][~turns & ~np.roll(turns, 1)]
            np.testing.assert_allclose(flying, flying[0])


@pytest.mark.parametrize("stochastic", [False, True])
def test_paths_do_not_depend_on_the_frame_rate(stochastic):
    def paths(length, interval):
        return generate.moving_digits(
            4, length, size=32, interval=interval, stochastic=stochastic, random_state=3
        ).positions

    np.testing.assert_allclose(paths(41, 0.5)[:, ::2], paths(21, 1.0), atol=1e-9)


def test_a_drawn_digit_is_where_it_is_said_to_be():
    made = generate.moving_digits(3, 30, n_digits=1, size=32, random_state=0)
    pixel = np.arange(32)
    for video, positions in zip(made.sequences, made.positions, strict=True):
        light = video[:, 0].astype(float)
        centre = np.stack([light.sum(2) @ pixel, light.sum(1) @ pixel], 1) / light.sum((1, 2))[:, None]
        offset = centre - positions[:, 0]
        np.testing.assert_allclose(offset, np.broadcast_to(offset[0], offset.shape), atol=1e-4)
        np.testing.assert_allclose(light.sum((1, 2)), light[0].sum(), rtol=1e-5)


def test_train_and_test_never_share_a_picture():
    bank = load_digits()
    for split, allowed in (("train", range(1438)), ("test", range(1438, 1797))):
        made = generate.moving_digits(300, 1, size=64, digit_size=8, split=split, random_state=0)
        offset = 0 if split == "train" else 1438
        assert set((made.images + offset).ravel()) <= set(allowed)
        rows = made.images + offset
        np.testing.assert_array_equal(made.labels, bank.target[rows])
        np.testing.assert_allclose(made.patches, bank.images[rows] / 16, atol=1e-6)


def test_brightness_in_bytes_is_brightness_in_numbers():
    small = {"n": 2, "length": 5, "size": 24, "random_state": 0}
    numbers, integers = (generate.moving_digits(**small, dtype=kind).sequences for kind in (np.float32, np.uint8))
    assert integers.dtype == np.uint8
    assert numbers.values.max() <= 1
    np.testing.assert_allclose(integers.values / 255, numbers.values, atol=0.51 / 255)


def test_a_content_swap_can_be_drawn_from_the_record():
    made = generate.moving_digits(2, 6, size=32, random_state=0)
    np.testing.assert_array_equal(
        generate.rasterize_digits(made.patches, made.positions, size=32), made.sequences.pad().values
    )
    swapped = generate.rasterize_digits(made.patches[::-1], made.positions, size=32)
    other = generate.rasterize_digits(made.patches[::-1, ::-1], made.positions, size=32)
    assert not np.array_equal(swapped, other)


def test_rounded_positions_leave_the_picture_as_it_is():
    made = generate.moving_digits(2, 8, n_digits=1, size=32, subpixel=False, random_state=0)
    row, column = np.round(made.positions[0, 3, 0]).astype(int)
    drawn = made.sequences[0][3, 0, row : row + 14, column : column + 14]
    np.testing.assert_array_equal(drawn, made.patches[0, 0])


def mnist_like(folder, compress):
    rng = np.random.default_rng(0)
    data = {}
    for stem, n in (("train", 7), ("t10k", 3)):
        images, labels = rng.integers(0, 256, (n, 9, 9), np.uint8), rng.integers(0, 10, n).astype(np.uint8)
        data[stem] = images, labels
        for name, array in ((f"{stem}-images-idx3-ubyte", images), (f"{stem}-labels-idx1-ubyte", labels)):
            head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            content = head + array.tobytes()
            (folder / (name + ".gz" * compress)).write_bytes(gzip.compress(content) if compress else content)
    return data


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(("split", "stem"), [("train", "train"), ("test", "t10k")])
def test_mnist_files_are_read_as_idx_and_as_npz(tmp_path, compress, split, stem):
    data = mnist_like(tmp_path, compress)
    images, labels = data[stem]
    file = tmp_path / "mnist.npz"
    np.savez(file, X_train=data["train"][0], y_train=data["train"][1], X_test=data["t10k"][0], y_test=data["t10k"][1])
    for source in (tmp_path, str(file)):
        made = generate.moving_digits(4, 2, digits=source, split=split, digit_size=9, size=20, random_state=0)
        np.testing.assert_array_equal(made.labels, labels[made.images])
        np.testing.assert_allclose(made.patches, images[made.images] / 255, atol=1e-6)


def test_digits_may_be_arrays():
    pictures = np.zeros((10, 4, 4))
    pictures[8:] = 1.0
    made = generate.moving_digits(3, 2, digits=(pictures, np.arange(10)), split="test", size=16, random_state=0)
    assert set(made.labels.ravel()) <= {8, 9}
    assert (made.patches == 1).all()


def test_malformed_mnist_files_are_refused(tmp_path):
    mnist_like(tmp_path, False)
    bad = tmp_path / "train-images-idx3-ubyte"
    for content in (b"", b"\0\0\x08\x03", bad.read_bytes()[:-1], b"\x01" + bad.read_bytes()[1:]):
        bad.write_bytes(content)
        with pytest.raises(ValueError, match="train-images-idx3-ubyte"):
            generate.moving_digits(1, 1, digits=tmp_path)
    other = tmp_path / "other.npz"
    np.savez(other, a=[1])
    with pytest.raises(ValueError, match="has no X_train"):
        generate.moving_digits(1, 1, digits=other)
    np.save(tmp_path / "one.npy", [1])
    single = (tmp_path / "one.npy").read_bytes()
    for content in (b"not a zip", b"", b"PK\x03\x04broken", single):
        other.write_bytes(content)
        with pytest.raises(ValueError, match=r"other.npz cannot be read as .npz"):
            generate.moving_digits(1, 1, digits=other)
    with pytest.raises(FileNotFoundError, match="is not there"):
        generate.moving_digits(1, 1, digits=tmp_path / "absent.npz")
    bad.unlink()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"not gzip")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        generate.moving_digits(1, 1, digits=tmp_path)
    (tmp_path / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match="has no train-images-idx3-ubyte"):
        generate.moving_digits(1, 1, digits=tmp_path)


# --- fields ----------------------------------------------------------------------------------------------------------


def laplacian(w, border):
    """The five-point difference of order 4 along both axes of a field mirrored at its border."""
    wide = np.pad(w, 2, mode="symmetric")
    if border == "odd":  # the mirror image has the other sign
        wide[[0, 1, -2, -1]] *= -1
        wide[:, [0, 1, -2, -1]] *= -1
    weights = np.array([-1, 16, -30, 16, -1]) / 12
    n = len(w)
    return sum(c * (wide[i : i + n, 2:-2] + wide[2:-2, i : i + n]) for i, c in enumerate(weights))


def runge_kutta_wave(c, f, size, length, interval, decay, radius, border, substeps):
    """The 3/8 rule of order 4."""
    i, j = np.indices((size, size))
    disc = (i - size // 2) ** 2 + (j - size // 2) ** 2 <= radius**2

    def slope(t, state):
        return np.stack([state[1], c**2 * laplacian(state[0], border) + f * np.exp(-t / decay) * disc])

    state, h, frames = np.zeros((2, size, size)), interval / substeps, []
    for frame in range(length):
        frames.append(state[0])
        for sub in range(substeps):
            t = frame * interval + sub * h
            k1 = slope(t, state)
            k2 = slope(t + h / 3, state + h / 3 * k1)
            k3 = slope(t + 2 * h / 3, state + h * (k2 - k1 / 3))
            k4 = slope(t + h, state + h * (k1 - k2 + k3))
            state = state + h / 8 * (k1 + 3 * k2 + 3 * k3 + k4)
    return np.array(frames)


@pytest.mark.parametrize("border", ["free", "odd"])
def test_mirrored_waves_are_those_of_runge_and_kutta_with_small_steps(border):
    made = generate.waves(2, 40, size=24, border=border, normalize=False, random_state=0)
    for video, c, f in zip(made.sequences, made.celerity, made.amplitude, strict=True):
        reference = runge_kutta_wave(c, f, 24, 40, 0.002, 0.05, 5.0, border, substeps=8)
        np.testing.assert_allclose(video[:, 0], reference, atol=2e-5 * np.abs(reference).max())


def test_a_source_everywhere_lifts_the_whole_field_as_the_formula_says():
    made = generate.waves(1, 60, size=8, radius=100.0, normalize=False, amplitude=3.0, random_state=0)
    t = 0.002 * np.arange(60)
    lift = 3.0 * (0.05**2 * (np.exp(-t / 0.05) - 1) + 0.05 * t)
    np.testing.assert_allclose(made.sequences[0][:, 0], np.broadcast_to(lift[:, None, None], (60, 8, 8)), rtol=1e-4)


def test_waves_are_scaled_by_sequence_and_start_at_rest():
    made = generate.waves(3, 50, size=32, random_state=0)
    for video in made.sequences:
        assert (video.min(), video.max()) == (0, 1)
    assert ((made.celerity >= 300) & (made.celerity <= 400)).all()
    loud = generate.waves(1, 50, size=32, celerity=350.0, amplitude=30.0, random_state=0).sequences
    quiet = generate.waves(1, 50, size=32, celerity=350.0, amplitude=1.0, random_state=0).sequences
    np.testing.assert_allclose(loud.values, quiet.values, atol=1e-6)


def test_wave_pixels_are_those_of_the_frames_and_can_be_used_again():
    frames = generate.waves(2, 10, size=16, random_state=0)
    made = generate.waves(2, 10, size=16, pixels=[[0, 3], [8, 8]], random_state=0)
    for video, row in zip(frames.sequences, made.sequences, strict=True):
        np.testing.assert_array_equal(row, np.stack([video[:, 0, 0, 3], video[:, 0, 8, 8]], 1))
    drawn = generate.waves(2, 10, size=16, pixels=100, random_state=0)
    assert len(np.unique(drawn.pixels, axis=0)) == 100
    again = generate.waves(1, 10, size=16, pixels=drawn.pixels, random_state=5)
    np.testing.assert_array_equal(again.pixels, drawn.pixels)


@pytest.mark.parametrize("n_modes", [1, 3])
def test_the_heat_equation_holds(n_modes):
    made = generate.heat(4, 41, size=81, interval=1e-5, conductivity=0.7, n_modes=n_modes, random_state=0)
    u = made.sequences.pad().values
    rate = (u[:, 2:, 1:-1] - u[:, :-2, 1:-1]) / 2e-5
    curvature = (u[:, 1:-1, 2:] - 2 * u[:, 1:-1, 1:-1] + u[:, 1:-1, :-2]) * 80**2
    np.testing.assert_allclose(rate, 0.7**2 * curvature, atol=5e-3 * np.abs(rate).max())
    np.testing.assert_allclose(u[:, :, [0, -1]], 0, atol=1e-12)
    np.testing.assert_allclose(u, np.einsum("nmt,nms->nts", made.time, made.space))
    assert all(len(set(row)) == n_modes for row in made.modes)


# --- pendulum --------------------------------------------------------------------------------------------------------


def test_a_pendulum_swings_as_the_elliptic_functions_say():
    made = generate.pendulum(20, 200, random_state=0)
    t = 0.1 * np.arange(200)
    for states, rod in zip(made.states, made.rods, strict=True):
        k = np.sin(states[0, 0] / 2)
        _, cn, dn, _ = ellipj(np.sqrt(9.81 / rod) * t, k**2)
        np.testing.assert_allclose(states[:, 0], 2 * np.arcsin(k * cn / dn), atol=1e-5)


def test_energy_is_kept_without_damping_and_lost_with_it():
    free = generate.pendulum(20, 500, random_state=0).energies
    assert (np.abs(free / free[:, :1] - 1) < 1e-6).all()
    damped = generate.pendulum(20, 100, damping=0.5, random_state=0).energies
    assert (np.diff(damped, axis=1) <= 1e-9).all()


def test_the_bob_stays_on_its_circle():
    made = generate.pendulum(3, 50, observe="position", random_state=0)
    for x, rod in zip(made.sequences, made.rods, strict=True):
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), rod)
    assert made.sequences.channel_names == ("x", "y")


# --- clouds ----------------------------------------------------------------------------------------------------------


def test_eight_gaussians_lie_on_their_circle():
    source, target = generate.eight_gaussians(20000, random_state=0)
    assert np.abs(np.cov(source.T) - np.eye(2)).max() < 0.05
    turn = np.arange(8) * np.pi / 4
    centres = 5 * np.stack([np.cos(turn), np.sin(turn)], 1)
    distance = np.linalg.norm(target[:, None] - centres, axis=2)
    assert (distance.min(1) ** 2).mean() == pytest.approx(2 * 0.5**2, rel=0.03)
    assert np.bincount(distance.argmin(1)) / 20000 == pytest.approx(np.full(8, 1 / 8), abs=0.01)


def test_letters_have_their_holes():
    source, target = generate.letters(5000, random_state=0)

    def inside(points, x, y):
        return ((np.abs(points - [x, y]) < 0.06).all(1)).sum()

    assert inside(source, 0.0, 0.1) == 0  # the hole of the A
    assert inside(target, 0.0, 0.37) == inside(target, 0.0, -0.35) == 0  # both holes of the B
    assert inside(source, 0.0, -0.15) > 20  # the bar of the A
    assert inside(target, -0.45, 0.0) > 20  # the stem of the B
    assert np.abs([source, target]).max() < 1.0


def test_the_crescent_is_shaded_and_the_spiral_fades():
    source, target = generate.densities(5000, random_state=0)
    assert (source[:, 1] > 0).mean() > 0.6
    assert (np.linalg.norm(source - [0.35, 0], axis=1) > 0.6).all()
    radius = np.linalg.norm(target, axis=1)
    assert (radius < 0.5).mean() > 0.6
    # three arms: a third of a turn leaves the cloud as it is
    turn = np.exp(1j * 3 * (np.arctan2(target[:, 1], target[:, 0]) - 7 / 3 * radius))
    assert turn.mean().real > 0.6


# --- bad arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.warped_sequences(0), ValueError, r"n=0: expected at least 1"),
        (lambda g: g.warped_sequences(2.5), TypeError, r"n=2.5: expected an integer"),
        (lambda g: g.warped_sequences(length=1), ValueError, r"length=1: expected at least 2"),
        (lambda g: g.warped_sequences(length=(9, 3)), ValueError, r"length=\(9, 3\): expected \(low, high\)"),
        (lambda g: g.warped_sequences(noise=-1), ValueError, r"noise=-1: expected a finite number at least 0"),
        (lambda g: g.warped_sequences(warp=9), ValueError, r"warp=9.*at most 2"),
        (lambda g: g.warped_sequences(random_state="a"), TypeError, r"random_state is a str"),
        (lambda g: g.moving_digits(digit_size=64), ValueError, r"digit_size=64, size=64: expected digits smaller"),
        (lambda g: g.moving_digits(speed=0), ValueError, r"speed=0: expected a finite number greater than 0"),
        (lambda g: g.moving_digits(speed=(3, 1)), ValueError, r"speed=\(3, 1\): expected \(low, high\)"),
        (
            lambda g: g.moving_digits(speed="fast"),
            ValueError,
            r"speed='fast': expected a number, \(low, high\) or 'int",
        ),
        (lambda g: g.moving_digits(repeat=1), TypeError, r"repeat=1: expected True or False"),
        (lambda g: g.moving_digits(split="valid"), ValueError, r"split='valid': expected one of 'train', 'test'"),
        (
            lambda g: g.moving_digits(1, 1, dtype="int32"),
            ValueError,
            r"dtype=int32: expected float32, float64 or uint8",
        ),
        (lambda g: g.moving_digits(digits=3), TypeError, r"digits is a int: expected None, a path, or a pair"),
        (lambda g: g.moving_digits(digits=(np.zeros((9, 3)), range(9))), ValueError, r"digits has images \(9, 3\)"),
        (
            lambda g: g.rasterize_digits(np.ones((1, 1, 2, 2)), [[[[3.0, 0.0]]]], size=4),
            ValueError,
            r"digits leave a frame",
        ),
        (lambda g: g.rasterize_digits(np.ones((2, 2)), [[[[3.0, 0.0]]]], size=4), ValueError, r"patches \(2, 2\)"),
        (lambda g: g.waves(celerity=-3), ValueError, r"celerity=-3"),
        (lambda g: g.waves(border="open"), ValueError, r"border='open': expected one of 'free', 'fixed', 'odd'"),
        (lambda g: g.waves(size=4, border="fixed"), ValueError, r"size=4: expected at least 5"),
        (lambda g: g.waves(substeps=0), ValueError, r"substeps=0: expected at least 1"),
        (lambda g: g.waves(size=4, pixels=17), ValueError, r"pixels=17 of 4 × 4: expected at most 16"),
        (lambda g: g.waves(size=4, pixels=[[0, 4]]), ValueError, r"pixels run from 0 to 4: expected 0 to 3"),
        (lambda g: g.waves(pixels=[[0.5, 1]]), ValueError, r"pixels has shape \(1, 2\), dtype float64"),
        (lambda g: g.heat(n_modes=6), ValueError, r"n_modes=6, highest=5"),
        (lambda g: g.pendulum(angle=4), ValueError, r"angle=4: expected at most pi"),
        (lambda g: g.pendulum(observe="video"), ValueError, r"observe='video'"),
        (lambda g: g.pendulum(interval=float("inf")), ValueError, r"interval=inf"),
        (lambda g: g.letters(0), ValueError, r"n=0"),
        (lambda g: g.densities(size=3), ValueError, r"size=3: expected at least 16"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(generate)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: generate.moving_digits(5, 2, digits=(np.ones((3, 8, 8)), [1, 2])),
            r"images \(3, 8, 8\) and labels \(2,\)",
        ),
        (lambda: generate.moving_digits(1, 2, dtype="foo"), "dtype='foo': expected float32, float64 or uint8"),
        (
            lambda: generate.moving_digits(1, 2, speed=1e9, stochastic=True),
            r"speed=1e\+09.* bounces: expected at most 100000",
        ),
        (lambda: generate.pendulum(1, 3, interval=1e6), r"interval=1e\+06 and length=3 take .* steps"),
    ],
)
def test_what_cannot_be_made_in_time_or_at_all_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
