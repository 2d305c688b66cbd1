"""Every public method of every package, found by itself, with a small example of each and data that suits it."""

import dataclasses
import inspect
from functools import cache
from importlib import import_module

import numpy as np
from sklearn.base import is_regressor

import timelike as tl
from optional_torch import torch
from timelike import _exports
from timelike.align import Aligner, Metric
from timelike.core.extras import MissingExtraError
from timelike.distributions.discriminators.base import Discriminator
from timelike.forecast import Forecaster
from timelike.models import Model, registry
from timelike.sequences.augment import Augmentation
from timelike.train import Trained

METHODS = registry.all_methods()  # without torch those that need none to be imported
PLAIN_METRICS = [kind for kind in METHODS.values() if issubclass(kind, Metric) and not issubclass(kind, Model)]
LOSSES = [kind for kind in METHODS.values() if torch and issubclass(kind, tl.metric.losses.Loss)]
MODELS = [kind for kind in METHODS.values() if issubclass(kind, Model)]
LEARNED_METRICS = [kind for kind in MODELS if issubclass(kind, Metric)]
SINGLE = [
    kind for kind in MODELS if getattr(kind, "_is_single_frame", False)
]  # of images or vectors, which have no time
FORECASTERS = [kind for kind in MODELS if issubclass(kind, Forecaster)]
ALIGNERS = [kind for kind in METHODS.values() if issubclass(kind, Aligner)]
DISCRIMINATORS = [kind for kind in METHODS.values() if issubclass(kind, Discriminator)]
ATTACKS = [kind for kind in METHODS.values() if torch and issubclass(kind, tl.attacks.Attack)]
AUGMENTATIONS = [kind for kind in METHODS.values() if issubclass(kind, Augmentation)]


def public_objects():
    """Every public name with what it stands for; without torch those that do not need it."""
    for package in _exports.public_packages():
        for name in _exports.public_names(package):
            try:
                yield name, getattr(import_module(package), name)
            except MissingExtraError:
                if torch is not None:
                    raise


def needs_learn(kind):
    """Whether a method trains a network: its class may be imported without torch, and an example cannot be fitted."""
    return issubclass(kind, Trained) or kind in (tl.prototypes.SimilarityMetric, tl.distributions.PrototypesKernel)


def required_extra(kind):
    """The extra without which an example cannot be fitted or asked, or None."""
    return "learn" if needs_learn(kind) else "transport" if kind is tl.OT else None


# options by which most methods become small; a method for which they are not enough says more in `_test_parameters`
SIZES = {"hidden": 4, "layers": 1, "n_layers": 1, "n_kernels": 2, "n_virtual_frames": 2, "filters": 2}
SIZES |= {"n_frame_features": 3, "n_content_frames": 3, "n_negatives": 2, "k": 2}
FEATURES = {"n_features": 6, "channels": 4, "depth": 2, "reduced_size": 5}
PAST = 12  # steps more that forecasters are given, which need a past and a future
BUDGETS = {"max_epochs": 1, "max_steps": 2, "max_iterations": 2, "n_init": 1, "random_state": 0}
SMALL = SIZES | FEATURES | BUDGETS
TRAINER_FIELDS = {field.name for field in dataclasses.fields(tl.Trainer)}
MATRICES = ("pairwise", "norm_ratio", "scores")  # an answer for every pair
VERBS = ("encode", "transform", "predict", "predict_proba", "transform_frames", "pool_frames", "typicality", *MATRICES)
FUTURES = [(kind, "predict") for kind in FORECASTERS]


# the torch modules; what all of them must be told, by the name of the argument
# modules of vectors, or of windows of one length, which know no lengths: they have tests of their own
VECTORS = {"Similarity", "Separation"}
MODULES = [
    kind
    for name in (tl.nn.__all__ if torch else ())
    if issubclass(kind := getattr(tl.nn, name), torch.nn.Module) and name not in VECTORS
]
CHANNELS = 2
NEEDED = {"n_channels": CHANNELS, "frame": (1, 1, CHANNELS), "dropout": 0.0}  # which would draw anew in every call


def module(kind, **more):
    """A small torch module, the same every time."""
    known = {} if kind.__init__ is torch.nn.Module.__init__ else inspect.signature(kind).parameters
    others = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    options = {
        name: value for name, value in (SMALL | NEEDED).items() if name in known or (others and name in FEATURES)
    }
    torch.manual_seed(0)
    return kind(**options | more)


def small(kind, **more):
    """An example that learns in a moment; fields of its trainer are given like options."""
    known = inspect.signature(kind).parameters
    options = {name: value for name, value in SMALL.items() if name in known} | kind._test_parameters() | more
    if "trainer" in known:
        fields = {name: options.pop(name) for name in TRAINER_FIELDS & options.keys()}
        options["trainer"] = tl.Trainer(**fields).replace(options.get("trainer"))
    return kind(**options)


def data(kind, lengths=(9, 4, 9, 7, 12, 5, 8, 6), seed=0):
    """Sequences of frames that the method takes, with two classes."""
    rng = np.random.default_rng(seed)
    frame = (2,) if kind._n_frame_axes in (None, 1) else (1, 5, 4)
    lengths = np.ones_like(lengths) if kind in SINGLE else np.add(lengths, PAST if kind in FORECASTERS else 0)
    labels = np.array(["up", "down"])[np.arange(len(lengths)) % 2]
    return tl.Sequences([rng.standard_normal((n, *frame)) for n in lengths], labels=labels)


def targets(kind, X):
    """What the method learns from beside the sequences."""
    return np.arange(len(X)) / 2 if is_regressor(small(kind)) else X.labels


@cache
def fitted(kind):
    """The small example, fitted once: not to be changed."""
    X = data(kind)
    return small(kind).fit(X, targets(kind, X))


def answers(model, X):
    """What the model answers about sequences, by verb."""
    found = {}
    for verb in VERBS:
        try:
            answer = getattr(model, verb)(X, **{"horizon": 2} if (type(model), verb) in FUTURES else {})
            found[verb] = answer.values if isinstance(answer, tl.Sequences) else np.asarray(answer)
        except (AttributeError, NotImplementedError):
            continue
        except ValueError as error:
            assert 'use head="logistic"' in str(error)  # noqa: PT017  an SVM of a few sequences has no probabilities
    assert found, f"{type(model).__name__} answers to none of {', '.join(VERBS)}"
    return found
