"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect

import pytest

from timelike import encode

# Franceschi, Dieuleveut and Jaggi (2019), supplementary material S2: the same numbers for all of the UCR archive
THESIS = {"n_features": 320, "channels": 40, "depth": 10, "reduced_size": 160, "kernel_size": 3}
TRAINING = {"n_negatives": 10, "batch_size": 10, "learning_rate": 0.001}
# chosen on six data sets (docs/benchmarks/tloss_study.md); those of a loss do not matter to another
CHOSEN = {"temperature": 0.2, "min_crop": 0.5, "validation": 0.0}
PUBLISHED = {
    "CausalNetwork": THESIS,
    "CausalEncoder": THESIS | CHOSEN | {"n_negatives": 10, "batch_size": 16, "learning_rate": 0.003},
    "RecurrentNetwork": {"n_features": 320, "hidden": 256, "n_layers": 2},
    "RecurrentEncoder": {"n_features": 320, "hidden": 256, "n_layers": 2} | TRAINING | CHOSEN,
    "FrameNetwork": {"filters": 16, "n_frame_features": 32},
    "FrameEncoder": {
        "filters": 16,
        "n_frame_features": 32,
        "n_features": 160,
        "channels": 40,
        "depth": 6,
        "reduced_size": 80,
    }
    | {"kernel_size": 3, "n_negatives": 5, "batch_size": 10, "learning_rate": 0.001}
    | CHOSEN,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_those_that_were_published(name):
    given = {key: one.default for key, one in inspect.signature(getattr(encode, name)).parameters.items()}
    numbers = {k: v for k, v in given.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    assert {key: value for key, value in numbers.items() if key != "devices"} == PUBLISHED[name]


def test_the_preset_of_the_thesis_has_its_numbers():
    given = encode.CausalEncoder.preset("thesis").get_params()
    assert {name: given[name] for name in THESIS | TRAINING} == THESIS | TRAINING
    assert (given["loss"], given["schedule"], given["max_steps"]) == ("t_loss", "constant", None)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name.endswith("Encoder")])
def test_an_encoder_standardizes_and_says_how_long_it_takes_unless_told_otherwise(name):
    given = inspect.signature(getattr(encode, name)).parameters
    assert given["standardize"].default is True
    assert given["progress"].default is None
    assert given["devices"].default == 1
