"""Clusters beside classes: the definitions, names that do not matter, bad input."""

import numpy as np
import pytest

from timelike import score

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(4, size=80)
CLUSTERS = np.where(RNG.random(80) < 0.6, TRUTH, RNG.integers(-1, 5, size=80))


def test_mutual_information_is_that_of_the_definition():
    joint = np.array([[((c == TRUTH) & (k == CLUSTERS)).mean() for k in np.unique(CLUSTERS)] for c in range(4)])
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    held = joint > 0
    shared = (joint[held] * np.log((joint / np.outer(rows, columns))[held])).sum()
    spread = -(rows * np.log(rows)).sum() - (columns * np.log(columns)).sum()
    assert score.mutual_information(TRUTH, CLUSTERS) == pytest.approx(2 * shared / spread)


def test_the_rand_index_counts_pairs_beyond_chance():
    same = [side[:, None] == side for side in (TRUTH, CLUSTERS)]
    pairs = np.triu_indices(80, 1)
    a, b = (side[pairs] for side in same)
    chance = a.sum() * b.sum() / len(a)
    expected = ((a & b).sum() - chance) / ((a.sum() + b.sum()) / 2 - chance)
    assert score.adjusted_rand(TRUTH, CLUSTERS) == pytest.approx(expected)


def test_purity_counts_the_commonest_class_of_every_cluster():
    expected = sum(np.bincount(TRUTH[k == CLUSTERS]).max() for k in np.unique(CLUSTERS)) / 80
    assert score.purity(TRUTH, CLUSTERS) == expected


@pytest.mark.parametrize("one", [score.mutual_information, score.adjusted_rand, score.purity])
def test_names_do_not_matter_and_equal_parts_are_perfect(one):
    named = np.array(list("wxyz"))[TRUTH]
    assert one(named, CLUSTERS) == one(TRUTH, CLUSTERS)
    assert one(TRUTH, 3 - TRUTH) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"truth has shape \(80,\) and clusters \(79,\)"):
        one(TRUTH, CLUSTERS[1:])
