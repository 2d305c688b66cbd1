"""Candidates that another metric found, ties among them, and what is refused; every metric is in test_metrics."""

import numpy as np
import pytest

import timelike as tl
from toys import turning

TRAIN, TEST = turning(18, 0), turning(5, 1)


def test_what_another_metric_found_is_put_in_a_new_order():
    first = tl.Euclidean().neighbors(np.arange(20.0)[:, None], [[3.0], [17.2]], k=5)
    again = tl.DTW().neighbors(np.arange(20.0)[:, None], [[3.0], [17.2]], k=2, among=first)
    np.testing.assert_array_equal(again.ids, first.ids[:, :2])


def test_equal_distances_come_in_the_order_of_the_collection():
    found = tl.DTW().neighbors(np.zeros((6, 4)), np.zeros((1, 4)), k=3, among=[[5, 1, 3, 0]])
    np.testing.assert_array_equal(found.ids, [[0, 1, 3]])


@pytest.mark.parametrize(
    ("among", "said"),
    [
        ([0, 1], r"among has shape \(2,\)"),
        ([[0, 1]], r"for each of the 5 queries"),
        (np.zeros((5, 2)), "whole numbers"),
        ([[0, 18]] * 5, r"among\[0, 1\] is 18: expected positions 0 to 17 in X"),
        ([[0, -1]] * 5, r"among\[0, 1\] is -1"),
        ([[3, 3]] * 5, r"among\[0\] names a position twice"),
        ([[3]] * 5, "k=2: among has only 1 candidates"),
    ],
)
def test_impossible_candidates_are_refused(among, said):
    with pytest.raises(ValueError, match=said):
        tl.DTW().neighbors(TRAIN, TEST, k=2, among=among)
