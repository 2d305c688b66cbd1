"""The demo's futures: numbers recomputed from the clips, and an animation that is part of the page."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import timelike as tl
from timelike.cli.demo.sections import futures

pytestmark = pytest.mark.learn


@pytest.fixture(scope="module")
def section():
    return futures.run(n_train=20, n_test=12, steps=3)


def test_the_spot_flies_straight_until_it_meets_a_wall():
    clips = np.stack([*futures.make_clips(30, 7)])[:, :, 0]
    pixels = np.arange(16)
    light = clips.sum(axis=(2, 3))
    centres = (
        np.stack([(clips * pixels[:, None]).sum((2, 3)), (clips * pixels).sum((2, 3))], axis=-1) / light[..., None]
    )
    turns = np.linalg.norm(np.diff(centres, n=2, axis=1), axis=-1)
    inside = ((centres > 4.7) & (centres < 10.3)).all(axis=-1)  # a step and more away from where it bounces, 3 and 12
    straight = inside[:, :-2] & inside[:, 1:-1] & inside[:, 2:]
    assert straight.sum() > 50
    assert turns[straight].max() < 0.02
    assert turns[~straight].max() > 1  # and elsewhere it bounces
    assert ((centres > 2.9) & (centres < 12.1)).all()


def test_errors_of_the_rivals_are_recomputed(section):
    test = np.stack([*futures.make_clips(12, 2)])
    truth, last = test[:, 5:15], test[:, 4:5]
    errors = {score.rival: score for score in section.scores}
    assert errors["Persistence"].rival_value == pytest.approx(np.mean((last - truth) ** 2), rel=1e-5)
    ridge = tl.forecast.Ridge(lags=5).fit(futures.make_clips(20, 0)).predict(test[:, :5], 20).mean[:, :10]
    assert errors["Ridge"].rival_value == pytest.approx(np.mean((ridge - truth) ** 2), rel=1e-5)


def test_a_second_run_gives_the_same_numbers(section):
    assert futures.run(n_train=20, n_test=12, steps=3).scores == section.scores


def test_the_animation_is_small_and_shows_past_and_future(section):
    data = re.search('data:image/gif;base64,([^"]*)"', "".join(section.parts))[1]
    assert len(base64.b64decode(data)) <= 300_000
    with Image.open(io.BytesIO(base64.b64decode(data))) as film:
        assert film.n_frames == 5 + 14
        assert film.width > 2.5 * film.height  # five clips side by side
