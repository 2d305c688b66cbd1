"""The demo's particles: distances beside optimal transport, the same without torch."""

import base64
import io
import re

import pytest
from PIL import Image
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from blocked_torch import facts_without_torch
from timelike import distributions as ds
from timelike.cli.demo.sections import particles
from timelike.sequences.generate import letters


@pytest.fixture(scope="module")
def section():
    return particles.run(n_points=40, steps=60)


def test_distances_are_those_of_optimal_transport(section):
    """Half the mean squared distance of the best assignment, which annealing meets to a few hundredths."""
    start, target = letters(40, random_state=0)
    (score,) = section.scores
    for kernel, value in ((ds.NTK(), score.value), (ds.RBF(), score.rival_value)):
        flow = ds.descend(start, target, kernel, steps=60, step=2.0, schedule=(1, 1, 1, 0.1), progress=False)
        costs = cdist(flow.frames[-1], target, "sqeuclidean") / 2
        assert value == pytest.approx(costs[linear_sum_assignment(costs)].mean(), rel=0.1, abs=1e-5)
    before = cdist(start, target, "sqeuclidean") / 2
    assert score.value < score.rival_value < before[linear_sum_assignment(before)].mean()


def test_the_animation_is_small_and_shows_both_kernels(section):
    data = base64.b64decode(re.search('data:image/gif;base64,([^"]*)"', "".join(section.parts))[1])
    assert len(data) <= 300_000
    with Image.open(io.BytesIO(data)) as film:
        assert film.n_frames == 12
        assert film.width > 1.5 * film.height


def test_torch_is_not_needed(section):
    program = """
from timelike.cli.demo.sections import particles
(score,) = particles.run(n_points=40, steps=60).scores
facts["values"] = [score.value, score.rival_value]
"""
    (score,) = section.scores
    assert facts_without_torch(program)["values"] == pytest.approx([score.value, score.rival_value], rel=1e-6)
