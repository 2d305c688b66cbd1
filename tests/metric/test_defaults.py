"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect

import pytest

from timelike import metric
from timelike.metric import losses

FRAMES = {  # TAP: one hidden layer of 1024, vectors of length 1
    "hidden": 1024,
    "normalize": True,
    "self_attention": False,
}
TRAINED = {"max_steps": None, "max_time": None, "trainer": None, "standardize": True}
LEARNED = TRAINED | {"front": "strided", "max_frames": 128, "n_per_class": 4, "perturb": False, "supervision": "labels"}
RECURRENT = TRAINED | {"front": "strided", "n_per_class": 6, "max_frames": 256, "perturb": True}
PUBLISHED = {
    "TAPNetwork": FRAMES | {"n_kernels": 30, "last_relu": False, "symmetrize": False, "transform": True},
    "TAP": LEARNED | {"hidden": 256, "n_outputs": None, "normalize": True, "alignment": None, "variant": "cnn"},
    "AlignmentPredictor": {"n_kernels": 8, "last_relu": False, "symmetrize": False},
    "Labels": {"augment": False, "consistency": None, "dual": True, "joint": True},
    "Episodes": {"n_way": 5, "k_shot": 1, "n_query": 5, "n_episodes": 100, "dual": True, "joint": True},
    "SelfSupervision": {"augment": True, "distance_weight": 1.0, "dual": True, "joint": False},
    "AlignedFramesNetwork": FRAMES | {"transform": True},
    "AlignedFrames": FRAMES | LEARNED,
    "SiameseNetwork": {"hidden": 20, "n_layers": 1},
    "SiameseGRU": RECURRENT | {"hidden": 64, "readout": "mean+max", "n_outputs": 64, "normalize": True},
    "CoupledGRU": RECURRENT | {"hidden": 32, "coupling_bias": -2.0, "sync": "mean"},
    "RVSML": TRAINED | {"n_virtual_frames": 4},
    "DeepRVSML": TRAINED | {"n_virtual_frames": 4, "hidden": 1024},
    "ElementWise": TRAINED | {"hidden": 1024, "n_per_class": 6},
    "EpisodeObjective": {"n_way": 5, "k_shot": 1, "n_query": 5, "n_episodes": 100},
    "SelfSupervisedObjective": {"distance": 1.0, "alignment": 1.0, "dual": True, "joint": False},
    "consistency_loss": {"distance": 1.0, "alignment": 1.0, "dual": True},
}
SUPERVISIONS = {"Labels", "Episodes", "SelfSupervision"}  # values, which are made without a network
ADAMW = {"optimizer": "adamw", "schedule": "one_cycle", "gradient_clip": 6.0}
FREE = {"max_epochs": None, "patience": None, "validation": None}
TRAINERS = {
    "TAP": ADAMW | FREE | {"batch_size": 24, "learning_rate": 1e-3, "weight_decay": 1e-4},
    "AlignedFrames": ADAMW | FREE | {"batch_size": 16, "learning_rate": 1e-3, "weight_decay": 1e-4},
    "SiameseGRU": ADAMW | FREE | {"batch_size": 64, "learning_rate": 3e-3, "weight_decay": 1e-3},
    "CoupledGRU": ADAMW | FREE | {"batch_size": 64, "learning_rate": 1e-2, "weight_decay": 1e-3},
    "DeepRVSML": {"optimizer": "adam", "batch_size": 256, "learning_rate": 1e-4, "weight_decay": 1e-4},
    "ElementWise": {"optimizer": "adam", "learning_rate": 1e-4, "weight_decay": 1e-4},
}
OBJECTIVE_TRAINERS = {
    "EpisodeObjective": {"learning_rate": 1e-3, "weight_decay": 0.0},
    "SupervisedObjective": {"batch_size": 64, "learning_rate": 1e-4, "weight_decay": 1e-4},
    "SelfSupervisedObjective": {"batch_size": 64, "learning_rate": 1e-4, "weight_decay": 1e-4},
}
STEPS = {"RVSML": 20, "DeepRVSML": 20 * 7, "ElementWise": 2000, "TAP": 500, "SiameseGRU": 500}  # of 7 batches
# each from the paper that its docstring names
LOSSES = {
    "Binomial": {"alpha": 40.0, "beta": 2.0, "margin": 0.1, "threshold": 0.5},
    "Contrastive": {"margin": 1.0, "power": 2.0},
    "Lifted": {"alpha": 40.0, "beta": 2.0},
    "MultiSimilarity": {"alpha": 2.0, "beta": 50.0, "margin": 0.1, "threshold": 0.5},
    "SupervisedContrastive": {"temperature": 0.1},
    "Structural": {"scale": 4.0, "hardness": 1.0, "margin": 1.0, "balance": 0.1},
    "Triplet": {"margin": 0.1},
}


def defaults(thing):
    return {name: one.default for name, one in inspect.signature(thing).parameters.items()}


@pytest.mark.parametrize(
    "name", [name if name in SUPERVISIONS else pytest.param(name, marks=pytest.mark.learn) for name in PUBLISHED]
)
def test_defaults_are_those_that_were_published(name):
    found = defaults(getattr(metric, name))
    assert {option: found[option] for option in PUBLISHED[name]} == PUBLISHED[name]


@pytest.mark.learn
@pytest.mark.parametrize("name", TRAINERS)
def test_the_trainer_is_the_published_one(name):
    trainer = getattr(metric, name)().trainer_
    assert {field: getattr(trainer, field) for field in TRAINERS[name]} == TRAINERS[name]


@pytest.mark.learn
@pytest.mark.parametrize("name", OBJECTIVE_TRAINERS)
def test_the_trainer_of_an_objective_is_the_published_one(name):
    trainer = getattr(metric, name).own_trainer
    assert {field: getattr(trainer, field) for field in OBJECTIVE_TRAINERS[name]} == OBJECTIVE_TRAINERS[name]


@pytest.mark.learn
@pytest.mark.parametrize("name", STEPS)
def test_the_number_of_steps_is_the_published_one(name):
    assert getattr(metric, name)._default_budget.steps(7) == STEPS[name]


@pytest.mark.learn
@pytest.mark.parametrize("name", LOSSES)
def test_defaults_of_a_loss_are_those_that_were_published(name):
    found = defaults(getattr(losses, name))
    assert {option: found[option] for option in LOSSES[name]} == LOSSES[name]


@pytest.mark.learn
@pytest.mark.parametrize("name", [name for name in PUBLISHED if "standardize" in PUBLISHED[name]])
def test_an_estimator_draws_no_bar_unless_told_otherwise(name):
    assert not defaults(getattr(metric, name)).get("progress", False)
