"""Defaults as they were published: a changed one is a breaking change (docs/stability.md), made here on purpose."""

import inspect
from datetime import timedelta

import pytest

from timelike import train


def defaults(thing):
    return {name: one.default for name, one in inspect.signature(thing).parameters.items()}


@pytest.mark.learn
def test_a_training_has_the_defaults_that_were_published():
    found = defaults(train.fit)
    assert (found["devices"], found["progress"], found["resume"]) == (1, None, "auto")
    assert found["checkpoint_every"] == timedelta(minutes=1)


def test_schedules_have_the_defaults_that_were_published():
    assert train.Plateau() == train.Plateau(patience=10, gamma=0.5, minimum=0.0, monitor="auto")
    assert train.Cosine(steps=9) == train.Cosine(steps=9, warmup=0, final=0.0)
    assert train.OneCycle() == train.OneCycle(warmup_share=0.3, first=0.04, last=0.0, steps=None)
    assert train.StepDecay(every=3) == train.StepDecay(every=3, gamma=0.1)
