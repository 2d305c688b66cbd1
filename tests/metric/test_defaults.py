"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect

import pytest

from timelike import metric
from timelike.metric import losses

FRAMES = {
    "hidden": 1024,
    "normalize": True,
    "self_attention": False,
}  # TAP: one hidden layer of 1024, vectors of length 1
BUDGET = {"max_steps": None, "max_epochs": None, "max_time": None, "patience": None, "validation": None}
TRAINED = BUDGET | {"front": "strided", "optimizer": "adamw", "schedule": "one_cycle", "standardize": True}
LEARNED = TRAINED | {"learning_rate": 0.001, "weight_decay": 0.0001, "max_frames": 128}
TASKS = {"n_per_class": 4, "batch_size": 16, "n_way": 5, "k_shot": 1, "n_query": 5, "augment": None, "perturb": False}
SMALLER = {"hidden": 256, "n_outputs": None, "n_kernels": 8, "batch_size": 24}
RECURRENT = TRAINED | {
    "n_per_class": 6,
    "learning_rate": 0.003,
    "weight_decay": 0.001,
    "max_frames": 256,
    "perturb": True,
}
PUBLISHED = {
    "TAPNetwork": FRAMES | {"n_kernels": 30, "last_relu": False, "symmetrize": False, "transform": True},
    "TAP": LEARNED | TASKS | SMALLER | {"last_relu": False, "symmetrize": False, "normalize": True},
    "AlignedFramesNetwork": FRAMES | {"transform": True},
    "AlignedFrames": FRAMES | LEARNED | TASKS,
    "SiameseNetwork": {"hidden": 20, "n_layers": 1},
    "SiameseGRU": RECURRENT | {"hidden": 64, "readout": "mean+max", "n_outputs": 64, "normalize": True},
    "CoupledGRU": RECURRENT | {"hidden": 32, "coupling_bias": -2.0, "sync": "mean", "learning_rate": 0.01},
    "RVSML": {"n_virtual_frames": 4, "max_iterations": 20, "standardize": True},
    "DeepRVSML": {
        "n_virtual_frames": 4,
        "hidden": 1024,
        "learning_rate": 0.0001,
        "max_epochs": 20,
        "standardize": True,
    },
    "ElementWise": {"hidden": 1024, "n_per_class": 6, "learning_rate": 0.0001, "max_steps": 2000, "standardize": True},
    "EpisodeObjective": {
        "n_way": 5,
        "k_shot": 1,
        "n_query": 5,
        "n_episodes": 100,
        "learning_rate": 0.001,
        "weight_decay": 0.0,
    },
    "SupervisedObjective": {"batch_size": 64, "learning_rate": 0.0001, "weight_decay": 0.0001},
    "SelfSupervisedObjective": {"distance": 1.0, "alignment": 1.0, "dual": True, "joint": False, "batch_size": 64},
    "consistency_loss": {"distance": 1.0, "alignment": 1.0, "dual": True},
}
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


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_those_that_were_published(name):
    found = defaults(getattr(metric, name))
    assert {option: found[option] for option in PUBLISHED[name]} == PUBLISHED[name]


@pytest.mark.parametrize("name", LOSSES)
def test_defaults_of_a_loss_are_those_that_were_published(name):
    found = defaults(getattr(losses, name))
    assert {option: found[option] for option in LOSSES[name]} == LOSSES[name]


@pytest.mark.parametrize("name", [name for name in PUBLISHED if "standardize" in PUBLISHED[name]])
def test_an_estimator_draws_no_bar_unless_told_otherwise(name):
    assert not defaults(getattr(metric, name)).get("progress", False)
