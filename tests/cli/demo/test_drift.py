"""The demo's drift: a rival that does what it says, and recordings of a new speaker that are named."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

import timelike as tl
from blocked_torch import facts_without_torch
from timelike.cli.demo.sections import drift

RNG = np.random.default_rng(0)


def recordings(n, shift=0.0):
    return [RNG.normal((shift, 0.0), size=(length, 2)) for length in RNG.integers(8, 15, size=n)]


def test_the_rival_tests_mean_and_spread_of_every_channel():
    old, new = recordings(30), recordings(30, shift=0.4)
    p_values = [
        ttest_ind([statistic(one[:, c]) for one in old], [statistic(one[:, c]) for one in new], equal_var=False).pvalue
        for c in range(2)
        for statistic in (np.mean, np.std)
    ]
    rival = drift.compare_statistics(tl.Sequences(old), tl.Sequences(new))
    assert rival == pytest.approx(4 * min(p_values))
    assert drift.compare_statistics(tl.Sequences(old), tl.Sequences(old)) == 1.0


def test_the_rival_names_the_recording_that_is_furthest():
    new = recordings(30)
    new[17] = new[17] + [0.0, 5.0]
    new[4] = 4 * new[4]
    named = drift.most_unusual(tl.Sequences(recordings(40)), tl.Sequences(new))
    assert set(named[:2]) == {4, 17}
    assert len(named) == 10


def test_new_speakers_are_named_more_often_than_by_the_rival():
    section = drift.run(n_speakers=2)
    named, seen = section.scores
    assert named.rival_value < named.value <= 1.0
    assert named.value > 2 * 20 / 60  # twice what drawing lots would give
    assert (10 * 2 * named.value) == pytest.approx(round(10 * 2 * named.value))  # a share of ten on either day
    assert {seen.value, seen.rival_value} <= {0.0, 0.5, 1.0}
    assert drift.run(n_speakers=2).scores == section.scores


def test_torch_is_not_needed():
    program = """
from timelike.cli.demo.sections import drift
facts["scores"] = [score.value for score in drift.run(n_speakers=1).scores]
"""
    assert facts_without_torch(program)["scores"] == [score.value for score in drift.run(n_speakers=1).scores]
