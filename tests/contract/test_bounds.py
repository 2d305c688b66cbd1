"""Whole numbers that no computer can count to: refused by the name of the option, never tried."""

import inspect
import math

import numpy as np
import pytest

import timelike as tl
from contract.discover import METHODS, MODELS, data, small, targets
from timelike.core import parameters
from timelike.models import Model

ABSURD = 10**30
VALUES = [
    kind
    for kind in METHODS.values()
    if not issubclass(kind, Model)
    and not any(one.default is one.empty for one in inspect.signature(kind).parameters.values())
]


def whole_numbers(kind):
    """Options that are declared as whole numbers, or have one as their default."""
    declared = {
        name for name, one in kind.options().items() if getattr(one.check, "func", None) is parameters.check_int
    }
    known = inspect.signature(kind).parameters
    return sorted(declared & known.keys() | integers(kind))


def integers(kind):
    known = inspect.signature(kind).parameters
    return {name for name, one in known.items() if type(one.default) is int and name != "random_state"}


@pytest.mark.parametrize("kind", [kind for kind in MODELS if whole_numbers(kind)])
def test_every_whole_number_of_an_estimator_has_an_upper_bound(kind):
    X = data(kind)
    for name in whole_numbers(kind):
        model = small(kind, **{name: ABSURD})
        with pytest.raises(ValueError, match=rf"\b{name}=10{{30}}\b"):
            model.fit(X, targets(kind, X))
        assert not model.__sklearn_is_fitted__()


def test_every_whole_number_of_a_value_has_an_upper_bound():
    tried = 0
    for kind in VALUES:
        for name in integers(kind):
            with pytest.raises(ValueError, match=rf"\b{name}=10{{30}}\b"):
                kind(**{name: ABSURD})
            tried += 1
    assert tried > 5


def test_a_bound_is_the_last_that_is_taken():
    assert parameters.check_int(2**63 - 1, "n") == 2**63 - 1
    assert parameters.check_int(np.uint64(5), "n", 5, 5) == 5
    for value in (2**63, np.uint64(2**63), 10**9999):
        with pytest.raises(ValueError, match="expected at most 9223372036854775807"):
            parameters.check_int(value, "n")
    with pytest.raises(ValueError, match="n=6: expected at most 5"):
        parameters.check_int(6, "n", 1, 5)


def test_an_integer_past_all_floats_is_no_finite_number():
    assert parameters.check_float(10**300, "x") == 1e300
    for value in (10**400, -(10**400), math.inf, math.nan):
        with pytest.raises(ValueError, match="expected a finite number"):
            parameters.check_float(value, "x")


@pytest.mark.learn
def test_a_network_larger_than_memory_is_refused_in_words():
    X = data(tl.encode.VectorEncoder)
    with pytest.raises(MemoryError, match=r"VectorEncoder\(.*hidden=16777216.* does not fit into memory"):
        small(tl.encode.VectorEncoder, hidden=2**24).fit(X)


def test_a_period_that_no_sequence_holds_is_refused_before_memory_is_taken():
    with pytest.raises(ValueError, match=r"period=9223372036854775807: no step of X has phase 6"):
        tl.forecast.Climatology(2**63 - 1).fit([np.arange(6.0), np.arange(3.0)])
