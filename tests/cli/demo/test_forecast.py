"""The demo's forecasts: numbers recomputed from the data, the same in every run."""

import re

import numpy as np
import pytest

import timelike as tl
from timelike.cli.demo.sections import forecast
from timelike.sequences.generate import pendulum

pytestmark = pytest.mark.learn


@pytest.fixture(scope="module")
def section():
    return forecast.run(n_train=40, n_other=25, steps=30)


def scores_by_rival(section, measure):
    return {score.rival: score for score in section.scores if score.measure.startswith(measure)}


def test_the_true_swap_is_the_motion_of_one_in_the_place_of_the_other():
    """A pendulum's distance from its place is its rod, at all times."""
    made = forecast.make_pendulums(20, 5)
    rods = pendulum(20, 60, rod=(0.5, 1.5), observe="position", noise=0.02, random_state=5).rods
    positions = np.stack([*made.sequences])
    distances = np.linalg.norm(positions - made.places, axis=-1)
    assert np.abs(distances - rods[:, None]).max() < 0.1  # five deviations of the noise
    np.testing.assert_allclose(made.motions + made.places, positions)
    assert made.places.std(axis=0).min() > 0.5


def test_errors_of_the_rivals_are_recomputed(section):
    train = forecast.make_pendulums(40, 0).sequences
    test = np.stack([*forecast.make_pendulums(25, 2).sequences])
    past, truth = test[:, :40], test[:, 40:]
    errors = scores_by_rival(section, "squared error, t+1")
    assert errors["Persistence"].rival_value == pytest.approx(np.mean((past[:, -1:] - truth) ** 2))
    ridge = tl.forecast.Ridge().fit(train).predict(past, 20).mean
    assert errors["Ridge"].rival_value == pytest.approx(np.mean((ridge - truth) ** 2))
    assert errors["Ridge"].value == errors["Persistence"].value > 0.0004  # the noise, which nothing forecasts


def test_a_swap_is_nearer_to_the_true_one_than_no_swap(section):
    (score,) = scores_by_rival(section, "squared error from the true swap").values()
    places = [forecast.make_pendulums(25, seed).places for seed in (2, 3)]
    apart = np.mean((places[0] - places[1]) ** 2)
    assert score.value < score.rival_value
    # what is not swapped is wrong by the distance of the places, about
    assert score.rival_value == pytest.approx(apart, rel=0.5)


def test_a_second_run_gives_the_same_numbers_and_pictures(section):
    again = forecast.run(n_train=40, n_other=25, steps=30)
    assert again.scores == section.scores
    assert sum("<svg" in part for part in section.parts) == 2


def test_intervals_hold_the_truth_about_as_often_as_they_say(section):
    (table,) = (part for part in section.parts if "<table" in part)
    shares = [int(share) for share in re.findall(r"<td[^>]*>(\d+)%</td>", table)]
    assert len(shares) == 3
    assert all(70 <= share <= 92 for share in shares)
