"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect

import pytest

from timelike import align

TRANSPORT = {"regularization": 0.1, "max_iter": 1000, "tolerance": 1e-12}
PUBLISHED = {
    "ADTW": {"dependent": True, "penalty": 1.0},
    "DDTW": {"dependent": True, "root": False},
    "DTW": {"dependent": True, "root": False},
    "EDR": {"dependent": True, "normalize": False},
    "ERP": {"dependent": True, "gap": 0.0},
    "LCSS": {"dependent": True, "epsilon": 1.0},
    "MSM": {"dependent": True, "c": 1.0},
    "TWE": {"dependent": True, "nu": 0.001, "lmbda": 1.0},
    "WDTW": {"dependent": True, "g": 0.05},
    "SoftDTW": {"gamma": 1.0, "divergence": False},
    "GDTW": {"regularization": 1.0, "slope": (0.0, None), "subsequence": False, "delta": 1.0, "refinements": 3},
    "Sinkhorn": TRANSPORT,
    "OPW": TRANSPORT | {"inverse_difference": 50.0, "deviation": 1.0},
    "TCOT": TRANSPORT | {"weight": 1.0},
    "barycenter": {"max_iter": 30, "tolerance": 1e-5},
    "subsequence": {"k": 1, "exclusion": 0},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_those_that_were_published(name):
    found = {option: one.default for option, one in inspect.signature(getattr(align, name)).parameters.items()}
    assert {option: found[option] for option in PUBLISHED[name]} == PUBLISHED[name]
