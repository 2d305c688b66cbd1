"""Flat options of stored rows stand in the values and the trainer of the library's models."""

import math

import pytest
from benchmarks.model_options import build_model, build_preset

import timelike as tl
from timelike.forecast import Inference, RandomDynamics, codecs


def test_options_of_training_are_in_the_trainer():
    model = build_model("SiameseGRU", hidden=8, learning_rate=0.1, max_epochs=2, max_steps=None)
    assert (model.hidden, model.max_steps) == (8, None)
    assert model.trainer == tl.Trainer(learning_rate=0.1, max_epochs=2)


def test_units_of_perceptrons_are_those_of_the_codec_and_of_the_inference_and_not_of_the_motion():
    model = build_model("SRVP", hidden=8, motion_hidden=4, shortcut=False, filters=2)
    assert model.codec == codecs.Auto(vectors=codecs.MLP(hidden=8, shortcut=False), images=codecs.DCGAN(filters=2))
    assert model.inference == Inference(hidden=8, shortcut=False)
    assert model.dynamics == RandomDynamics(hidden=4)


def test_a_word_says_which_fields_there_are():
    model = build_model("SRVP", filters=2, hidden=8, codec="sprites")
    assert model.codec == codecs.Sprites(filters=2, hidden=8)
    episodes = build_model("TAP", n_way=2, n_kernels=3, supervision="episodes")
    assert episodes.supervision == tl.metric.Episodes(n_way=2)
    assert episodes.alignment == tl.metric.AlignmentPredictor(n_kernels=3)
    assert build_model("CausalEncoder", min_crop=0.25, loss="nt_xent").loss == tl.encode.NTXent(min_crop=0.25)


def test_options_of_a_preset_are_replaced_one_by_one():
    model = build_preset("TAP", "paper", consistency=0.5, gradient_clip=None, max_epochs=None, batch_size=4)
    own = tl.TAP.preset("paper")
    assert model.supervision == tl.metric.Labels(augment=True, consistency=0.5)
    assert model.alignment == own.alignment
    assert (model.trainer.gradient_clip, model.trainer.max_epochs) == (math.inf, None)
    assert (model.trainer.batch_size, model.trainer.learning_rate) == (4, own.trainer.learning_rate)
    assert build_preset("SiameseGRU", "paper", patience=None).trainer.patience is None


@pytest.mark.parametrize("kind", ["SRVP", "TAP", "RVSML"])
def test_an_option_that_no_version_had_is_refused(kind):
    with pytest.raises(ValueError, match="Invalid parameter 'n_kernel'"):
        build_model(kind, n_kernel=3)
