"""The program about classes that were not learned: its error rate, its draws, and its page."""

import numpy as np
import pytest
from benchmarks.accuracy import open_classes
from sklearn.metrics import roc_curve


def test_the_equal_error_rate_is_where_the_roc_curve_meets_the_diagonal():
    rng = np.random.default_rng(0)
    same = rng.random(2000) < 0.3
    distances = rng.standard_normal(2000) - 1.5 * same
    accepted, found, _ = roc_curve(same, -distances, drop_intermediate=False)
    expected = accepted[np.argmin(np.abs(accepted - (1 - found)))]
    assert open_classes.equal_error_rate(distances, same) == pytest.approx(expected, abs=2e-3)


def test_two_thirds_of_the_classes_are_known_and_draws_differ():
    classes = np.arange(9)
    assert open_classes.known_classes(classes, 0).tolist() == [0, 1, 2, 3, 4, 5]
    drawn = [tuple(sorted(open_classes.known_classes(classes, draw))) for draw in range(1, 6)]
    assert {len(one) for one in drawn} == {6}
    assert len(set(drawn)) > 1
