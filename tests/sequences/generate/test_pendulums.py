"""Pendulums with torque, and their pictures."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from naive import pendulums as naive
from timelike.sequences import generate

TORQUED = {"velocity": (0.0, 6.0), "damping": 0.5, "torque": 5.0, "angle": (0.0, np.pi)}


def solved(made, item, *, damping=0.0, gravity=9.81, interval=0.1):
    """States (time, 2) by SciPy, started anew where the torque changes."""
    rod, states = made.rods[item], [made.states[item, 0]]
    for torque in made.torques[item]:

        def slope(_, state, torque=torque):
            return [state[1], -gravity / rod * np.sin(state[0]) - damping * state[1] + torque / rod**2]

        found = solve_ivp(slope, (0, interval), states[-1], method="DOP853", rtol=1e-11, atol=1e-12)
        states.append(found.y[:, -1])
    return np.array(states)


@pytest.mark.parametrize(
    "options",
    [
        TORQUED,
        {},
        {"velocity": 200.0, "rod": 0.5},
        {"torque": 40.0 * np.ones(29), "rod": 0.5},  # ever faster
        {"torque": np.sin(np.arange(29.0)), "damping": 40.0},
        {"interval": 0.7, "torque": 1.0, "damping": 1.0},
    ],
)
def test_pendulums_move_as_scipy_says_at_a_tight_tolerance(options):
    made = generate.pendulum(2, 30, **options, random_state=0)
    for item in range(2):
        exact = solved(made, item, damping=options.get("damping", 0.0), interval=options.get("interval", 0.1))
        np.testing.assert_allclose(made.states[item], exact, rtol=0, atol=2e-6)


def test_a_small_swing_is_a_cosine():
    made = generate.pendulum(5, 100, angle=1e-4, random_state=0)
    t = 0.1 * np.arange(100)
    for states, rod in zip(made.states, made.rods, strict=True):
        beat = np.sqrt(9.81 / rod)
        np.testing.assert_allclose(states[:, 0], states[0, 0] * np.cos(beat * t), atol=1e-10)
        np.testing.assert_allclose(states[:, 1], -states[0, 0] * beat * np.sin(beat * t), atol=1e-9)


def test_energy_is_kept_also_from_a_push_and_changes_as_the_torque_works():
    free = generate.pendulum(20, 300, velocity=(0.0, 8.0), random_state=0).energies
    np.testing.assert_allclose(free, np.broadcast_to(free[:, :1], free.shape), rtol=1e-6)
    made = generate.pendulum(20, 60, torque=3.0, random_state=0)
    work = made.torques / made.rods[:, None] ** 2 * np.diff(made.states[..., 0], axis=1)  # u·Δθ/l², as u is constant
    np.testing.assert_allclose(np.diff(made.energies, axis=1), work, atol=1e-6)


def test_a_torque_is_drawn_evenly_or_taken_as_given():
    drawn = generate.pendulum(300, 31, torque=2.0, random_state=0)
    assert drawn.torques.shape == (300, 30)
    assert np.quantile(drawn.torques, [0, 0.25, 0.5, 0.75, 1]) == pytest.approx([-2, -1, 0, 1, 2], abs=0.05)
    given = generate.pendulum(3, 5, torque=[1, 0, -1, 2], random_state=0)
    np.testing.assert_array_equal(given.torques, np.broadcast_to([1, 0, -1, 2], (3, 4)))
    again = generate.pendulum(300, 31, torque=drawn.torques, random_state=0)
    np.testing.assert_array_equal(again.states, drawn.states)
    one_each = generate.pendulum(2, 4, torque=[[1.0], [2.0]], random_state=0).torques
    np.testing.assert_array_equal(one_each, [[1, 1, 1], [2, 2, 2]])


def test_one_that_is_let_go_turns_by_a_25th_in_a_step_at_most():
    """Its speed is 2·√(g/l) at most, if it falls from upright, and a step takes 0.02·√(l/g)."""
    made = generate.pendulum(50, 200, angle=(2.5, np.pi), interval=0.02, random_state=0)
    turned = np.abs(made.states[..., 1]).max(axis=1) * 0.02 * np.sqrt(made.rods / 9.81)
    assert (turned <= 0.04).all()
    assert turned.max() > 0.039


def test_pushes_in_time_with_the_swings_cancel_in_the_sum_and_are_still_followed():
    """Whenever it turns around the push does: the sum stays near 0 while the swings grow until it goes over the top."""
    options = {"rod": 1.0, "angle": 0.1, "random_state": 0}
    torques = np.zeros(60)
    for frame in range(60):
        moving = generate.pendulum(1, frame + 2, torque=torques[: frame + 1], **options).states[0, frame, 1]
        torques[frame] = 4.0 * np.sign(moving)
    made = generate.pendulum(1, 61, torque=torques, **options)
    assert np.abs(made.states[..., 1]).max() > 2 * np.sqrt(9.81)
    np.testing.assert_allclose(made.states[0], solved(made, 0), rtol=1e-5, atol=1e-5)


def test_no_torque_is_a_torque_of_nothing():
    quiet, none = (generate.pendulum(3, 20, torque=u, random_state=0) for u in (0.0, np.zeros((3, 19))))
    np.testing.assert_array_equal(quiet.states, none.states)
    np.testing.assert_array_equal(quiet.torques, 0)
    assert generate.pendulum(3, 1, torque=1.0).torques.shape == (3, 0)


def test_a_strong_brake_lets_a_pendulum_sink_slowly():
    """θ′ = −(g/l)/d · sin θ, once the start is forgotten: tan(θ/2) falls exponentially."""
    made = generate.pendulum(3, 12, damping=2000.0, rod=1.0, random_state=0)
    half = np.log(np.abs(np.tan(made.states[:, :, 0] / 2)))
    np.testing.assert_allclose(np.diff(half, axis=1)[:, 1:] / 0.1, -9.81 / 2000, rtol=1e-4)


@pytest.mark.parametrize("size", [16, 8, 21])
def test_a_picture_is_the_mean_of_many_points_in_every_pixel(size):
    made = generate.pendulum(2, 3, observe="picture", size=size, rod=(0.7, 1.4), random_state=0)
    assert made.sequences.dtype == np.float32
    for video, states, rod in zip(made.sequences, made.states, made.rods, strict=True):
        for picture, angle in zip(video[:, 0], states[:, 0], strict=True):
            np.testing.assert_allclose(picture, naive.picture(angle, size=size, reach=rod / 1.4), atol=2e-3)


def test_the_light_of_a_picture_is_where_the_bob_is():
    made = generate.pendulum(10, 40, observe="picture", size=32, rod=1.0, **TORQUED, random_state=0)
    light = made.sequences.pad().values[:, :, 0].astype(float)
    pixel = np.arange(32) + 0.5 - 16
    total = light.sum((2, 3))
    down, across = light.sum(3) @ pixel / total, light.sum(2) @ pixel / total
    angle = made.states[..., 0]
    np.testing.assert_allclose(down, 10 * np.cos(angle), atol=0.02)  # 0.1 % of the light is beyond the border
    np.testing.assert_allclose(across, 10 * np.sin(angle), atol=0.02)
    assert np.abs(np.angle(np.exp(1j * (np.arctan2(across, down) - angle)))).max() < 0.002
    np.testing.assert_allclose(total, 2 * np.pi * 4, rtol=2e-3)
    assert light.min() >= 0
    assert light.max() <= 1


def test_a_hanging_bob_is_below_the_middle_and_one_to_the_right_is_to_the_right():
    down = generate.pendulum(1, 1, angle=0.0, observe="picture", random_state=0).sequences[0][0, 0]
    assert np.unravel_index(down.argmax(), (16, 16))[0] >= 11
    np.testing.assert_allclose(down, down[:, ::-1], atol=1e-6)
    right = generate.pendulum(8, 1, angle=np.pi / 2, observe="picture", rod=1.0, random_state=0)
    for video, state in zip(right.sequences, right.states[:, 0], strict=True):
        column = np.unravel_index(video[0, 0].argmax(), (16, 16))[1]
        assert (column > 8) == (state[0] > 0)


def test_noise_is_added_to_every_pixel_and_changes_nothing_else():
    clean, noisy = (
        generate.pendulum(40, 15, observe="picture", **TORQUED, noise=noise, random_state=0) for noise in (0.0, 0.1)
    )
    rest = noisy.sequences.values - clean.sequences.values
    assert rest.std() == pytest.approx(0.1, rel=0.02)
    assert abs(rest.mean()) < 0.002
    np.testing.assert_array_equal(clean.states, noisy.states)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"torque": -1.0}, ValueError, r"torque=-1.0: expected a finite number at least 0"),
        ({"torque": "much"}, TypeError, r"torque='much': expected a number"),
        ({"torque": np.ones(5)}, ValueError, r"torque has shape \(5,\).* \(n, length - 1\) = \(2, 3\)"),
        ({"torque": np.ones((2, 2, 3))}, ValueError, r"torque has shape \(2, 2, 3\)"),
        ({"torque": [1.0, np.nan, 0.0]}, ValueError, r"torque has dtype float64 or gaps: expected .* finite numbers"),
        ({"torque": [True, False, True]}, ValueError, r"torque has dtype bool"),
        ({"torque": 1e12}, ValueError, r"take .* steps .* weaker torque"),
        ({"velocity": -1.0}, ValueError, r"velocity=-1.0: expected a finite number at least 0"),
        ({"size": 3}, ValueError, r"size=3: expected at least 4"),
        ({"observe": "video"}, ValueError, r"observe='video': expected one of 'state', 'position', 'picture'"),
    ],
)
def test_what_no_pendulum_can_do_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        generate.pendulum(2, 4, **options)
