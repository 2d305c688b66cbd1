"""What a constructor takes and what a class inherits: what can be checked of STYLE 17 and 18 by looking at the classes."""

import inspect
import re

import pytest

import timelike as tl
from contract.discover import (
    ATTACKS,
    AUGMENTATIONS,
    DISCRIMINATORS,
    LOSSES,
    METHODS,
    MODELS,
    PLAIN_METRICS,
    public_objects,
)
from optional_torch import torch
from timelike.align import Aligner, Metric
from timelike.distributions import Kernel
from timelike.encode import Encoder
from timelike.forecast import Forecaster
from timelike.models import Model
from timelike.train import Trained

MAX_ARGUMENTS, MAX_BASES = 20, 2
PUBLIC = {one for _, one in public_objects()}
MODULES = {getattr(tl.nn, name) for name in (tl.nn.__all__ if torch else ())}
CLASSES = sorted(
    (one for one in PUBLIC | MODULES if inspect.isclass(one)), key=lambda kind: (kind.__name__, kind.__module__)
)
# what users construct; the others are records, which only the library makes, and bases
CONSTRUCTED = {*MODELS, *PLAIN_METRICS, *LOSSES, *ATTACKS, *AUGMENTATIONS, *DISCRIMINATORS, *MODULES}
CONSTRUCTED |= {kind for kind in METHODS.values() if issubclass(kind, (Kernel, *((torch.nn.Module,) if torch else ())))}
ROLES = (Model, Trained, Metric, Aligner, Forecaster, Encoder)  # the bases that a method is for

# DDTW is DTW of the slopes: a method that another is derived from, not a part of one


def arguments(kind):
    try:
        return [
            one.name
            for one in inspect.signature(kind).parameters.values()
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        ]
    except ValueError:  # a warning or an error, which has Python's own constructor
        return []


def is_ours(kind):
    """Defined in the library: tests derive classes of their own."""
    return kind.__module__.startswith("timelike.")


def bases(kind):
    """The bases of ours between a class and its role."""
    above = {base for role in ROLES for base in role.__mro__}
    return [base for base in kind.__mro__[1:] if is_ours(base) and base not in above and base is not tl.DTW]


def test_a_constructor_takes_at_most_twenty_arguments():
    taken = {kind.__name__: len(arguments(kind)) for kind in CLASSES}
    assert {name: count for name, count in taken.items() if count > MAX_ARGUMENTS} == {}


@pytest.mark.learn
def test_there_are_at_most_two_bases_between_a_method_and_its_role():
    methods = [kind for kind in METHODS.values() if issubclass(kind, ROLES)]
    assert len(methods) > 50
    assert {kind.__name__: len(bases(kind)) for kind in methods if len(bases(kind)) > MAX_BASES} == {}


@pytest.mark.learn
def test_a_base_has_several_subclasses():
    """A class that is inherited from once was cut in two."""
    between = {base for kind in METHODS.values() if issubclass(kind, ROLES) for base in bases(kind)}
    single = {base.__name__ for base in between if sum(map(is_ours, base.__subclasses__())) < 2}
    assert single == set()


def test_every_argument_is_explained_in_the_docstring():
    """By its name, in the docstring of the class or of a base of ours."""
    unexplained = {}
    for kind in CLASSES:
        if kind in CONSTRUCTED:
            text = "\n".join(base.__doc__ or "" for base in kind.__mro__ if is_ours(base))
            unexplained[kind.__name__] = [name for name in arguments(kind) if not re.search(rf"\b{name}\b", text)]
    assert {name: missing for name, missing in unexplained.items() if missing} == {}
