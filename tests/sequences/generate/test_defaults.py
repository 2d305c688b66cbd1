"""Defaults as they were published, of which a change is a breaking one (docs/stability.md), and the least of everything."""

import inspect

import numpy as np
import pytest

from timelike.sequences import augment, generate
from timelike.sequences.generate import clouds

# those of the waves and of the digits are the thesis's (Franceschi, 2022, C.4.1 and B.2)
PUBLISHED = {
    "waves": {"n": 10, "length": 150, "size": 64, "interval": 0.002, "celerity": (300.0, 400.0)}
    | {"amplitude": (1.0, 30.0), "decay": 0.05, "radius": 5.0, "normalize": True},
    "moving_digits": {"n": 100, "length": 20, "n_digits": 2, "size": 64, "speed": (2.0, 5.0), "stochastic": False}
    | {"interval": 1.0, "subpixel": True},
    "heat": {"n": 100, "length": 50, "size": 64, "interval": 0.0005, "conductivity": 1.0, "n_modes": 1, "highest": 5},
    "pendulum": {"n": 100, "length": 100, "interval": 0.1, "rod": (0.5, 2.0), "angle": (0.5, 2.5), "gravity": 9.81}
    | {"damping": 0.0, "noise": 0.0},
    "warped_sequences": {"n": 100, "length": 100, "classes": 2, "channels": 1, "noise": 0.1, "warp": 0.3},
    "eight_gaussians": {"n": 500, "radius": 5.0, "std": 0.5},
    "letters": {"n": 500, "size": 128},
    "densities": {"n": 500, "size": 128},
    "rasterize_digits": {"size": 64, "subpixel": True},
}
LEAST = {
    "waves": {"n": 1, "length": 1, "size": 2, "radius": 0.0},
    "moving_digits": {"n": 1, "length": 1, "n_digits": 1, "size": 8, "digit_size": 1},
    "heat": {"n": 1, "length": 1, "size": 2, "n_modes": 1, "highest": 1},
    "pendulum": {"n": 1, "length": 1, "angle": 0.0, "damping": 0.0, "noise": 0.0},
    "warped_sequences": {"n": 1, "length": 2, "classes": 1, "channels": 1, "noise": 0.0, "warp": 0.0},
    "eight_gaussians": {"n": 1, "radius": 0.0, "std": 0.0},
    "letters": {"n": 1, "size": 16},
    "densities": {"n": 1, "size": 16},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_generator_has_the_defaults_that_were_published(name):
    found = {option: one.default for option, one in inspect.signature(getattr(generate, name)).parameters.items()}
    assert {option: found[option] for option in PUBLISHED[name]} == PUBLISHED[name]


def test_augmentations_have_the_defaults_that_were_published():
    assert augment.Blur() == augment.Blur(sizes=(3, 5, 7), strides=(1, 2, 3))
    assert augment.RandomCrop() == augment.RandomCrop(shortest=0.6, longest=1.0)
    assert augment.Jitter() == augment.Jitter(std=0.05)
    assert augment.Merge() == augment.Merge(shortest=0.5, longest=0.8, even=False)
    assert augment.RandomScaling() == augment.RandomScaling(std=0.1)
    assert augment.TimeWarp() == augment.TimeWarp(strength=0.3)


@pytest.mark.parametrize("name", LEAST)
def test_the_least_that_makes_sense_is_made_and_nothing_less(name):
    make = getattr(generate, name)
    made = make(**LEAST[name], random_state=0)
    assert all(len(part) == 1 for part in made if part is not None and np.ndim(part) > 1)
    whole = [option for option, value in LEAST[name].items() if isinstance(value, int)]
    for option in whole:
        least = LEAST[name][option]
        with pytest.raises(ValueError, match=f"{option}={least - 1}: expected at least {least}"):
            make(**LEAST[name] | {option: least - 1})


def test_letters_are_drawn_in_the_middle():
    """The A is its own mirror image."""
    source, _ = generate.letters(100_000, size=64, random_state=0)
    assert abs(source[:, 0].mean()) < 0.004
    assert 0.75 < source[:, 1].max() < 0.95
    assert -0.95 < source[:, 1].min() < -0.7
    assert -0.85 < source[:, 0].min() < -0.6


def test_the_pixels_of_a_drawing_fill_the_square_evenly():
    x, y = clouds._pixel_centres(16)
    np.testing.assert_allclose(x, np.broadcast_to(np.linspace(-15 / 16, 15 / 16, 16), (16, 16)))
    np.testing.assert_allclose(y, -x.T)
