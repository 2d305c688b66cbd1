"""Every public call that takes `progress`: None unless given, explained, and a training says how long it will take."""

import inspect

import pytest
from tests.contract.discover import MODELS, data, public_objects, small, targets

from timelike.train import Trained, callbacks
from timelike.train.callbacks import DurationNotice

BUDGETS = {"max_steps", "max_epochs", "max_iterations", "max_time", "patience"}
TRAINED = [kind for kind in MODELS if issubclass(kind, Trained)]


def takes_progress(call):
    try:
        return "progress" in inspect.signature(call).parameters
    except (TypeError, ValueError):  # a built-in, or no call at all
        return False


def public_calls():
    """Functions, classes and their methods, by their dotted names, that take `progress`."""
    found = {}
    for name, thing in public_objects():
        if callable(thing):
            inner = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []
            methods = {f"{name}.{verb}": method for verb, method in inner if verb[0] != "_"}
            found |= {key: call for key, call in ({name: thing} | methods).items() if takes_progress(call)}
    return found


CALLS = public_calls()


def test_the_calls_that_take_long_are_among_them():
    expected = {"DTW.pairwise", "DTW.neighbors", "barycenter", "Rocket.encode"}
    expected |= {"KMeans", "KMedoids", "compare", "backtest", "TwoSample", "Gallery.neighbors", "Prototypes"}
    assert expected <= CALLS.keys()


@pytest.mark.learn
def test_the_trainings_are_among_them():
    assert {"CausalEncoder", "CausalEncoder.encode", "fit", "SRVP", "TAP"} <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_progress_is_none_unless_given_and_is_explained(name):
    assert inspect.signature(CALLS[name]).parameters["progress"].default is None
    assert "progress" in inspect.getdoc(CALLS[name])


class ToldError(Exception):
    """As soon as it has been said: the rest of the training is not waited for."""


@pytest.mark.parametrize("kind", TRAINED)
def test_a_training_of_the_usual_length_says_at_its_start_how_long_it_takes(kind, monkeypatch):
    def told(words):
        raise ToldError(words)

    monkeypatch.setattr(DurationNotice, "_warmup_seconds", 0.0)
    monkeypatch.setattr(DurationNotice, "_min_seconds", 0.0)
    monkeypatch.setattr(callbacks, "print_line", told)
    X, usual = data(kind), {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    model = small(kind).set_params(**{name: value for name, value in usual.items() if name in BUDGETS})
    with pytest.raises(ToldError, match=r"(steps|epochs|max_time=\S+), about \d"):
        model.fit(X, targets(kind, X))
