"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect
import math

import pytest

from timelike import Trainer, encode

pytestmark = pytest.mark.learn

# Franceschi, Dieuleveut and Jaggi (2019), supplementary material S2: the same numbers for all of the UCR archive
THESIS = {"n_features": 320, "channels": 40, "depth": 10, "reduced_size": 160, "kernel_size": 3}
TRAINER = Trainer(batch_size=10, learning_rate=0.001, schedule="constant", validation=0.0)
PUBLISHED = {
    "CausalNetwork": THESIS,
    "CausalEncoder": THESIS | {"n_negatives": 10},
    "RecurrentNetwork": {"n_features": 320, "hidden": 256, "n_layers": 2},
    "RecurrentEncoder": {"n_features": 320, "hidden": 256, "n_layers": 2, "n_negatives": 10},
    "FrameNetwork": {"filters": 16, "n_frame_features": 32},
    "FrameEncoder": {
        "filters": 16,
        "n_frame_features": 32,
        "n_features": 160,
        "channels": 40,
        "depth": 6,
        "reduced_size": 80,
    }
    | {"kernel_size": 3, "n_negatives": 5},
    # chosen on six data sets (docs/benchmarks/tloss_study.md)
    "VICReg": {"min_crop": 0.5},
    "NTXent": {"temperature": 0.2, "min_crop": 0.5},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_those_that_were_published(name):
    given = {key: one.default for key, one in inspect.signature(getattr(encode, name)).parameters.items()}
    numbers = {k: v for k, v in given.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    assert numbers == PUBLISHED[name]


def test_the_preset_of_the_thesis_has_its_numbers():
    encoder = encode.CausalEncoder.preset("thesis")
    given = encoder.get_params()
    assert {name: given[name] for name in THESIS} == THESIS
    assert (given["loss"], given["n_negatives"], given["max_steps"]) == ("t_loss", 10, None)
    assert encoder.trainer == TRAINER


@pytest.mark.parametrize(
    ("kind", "trainer"),
    [
        (encode.CausalEncoder, Trainer(batch_size=16, learning_rate=0.003, schedule="cosine", validation=0.0)),
        (encode.RecurrentEncoder, TRAINER),
        (encode.FrameEncoder, TRAINER),
        (encode.ImageEncoder, Trainer(batch_size=64, learning_rate=0.003, schedule="cosine", validation=0.0)),
        (encode.VectorEncoder, Trainer(batch_size=64, learning_rate=0.003, schedule="cosine", validation=0.0)),
    ],
)
def test_an_encoder_trains_by_its_published_choices(kind, trainer):
    assert kind().trainer_ == Trainer(
        optimizer="adam",
        betas=(0.9, 0.999),
        weight_decay=0.0,
        gradient_clip=math.inf,
        accelerator="cpu",
        devices=1,
        precision="32-true",
    ).replace(trainer)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name.endswith("Encoder")])
def test_an_encoder_standardizes_and_says_how_long_it_takes_unless_told_otherwise(name):
    given = inspect.signature(getattr(encode, name)).parameters
    assert given["standardize"].default is True
    assert given["progress"].default is None
