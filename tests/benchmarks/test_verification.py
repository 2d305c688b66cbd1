"""The program about verification: its problems, its pairs, its ways of being alike, and its page."""

import numpy as np
import pytest
from benchmarks.papers.prototypes import verification_data as data, verification_methods as methods
from benchmarks.papers.prototypes.verification import ASKED

import timelike as tl


@pytest.fixture
def people(tmp_path):
    """Like UCI HAR: six people, two activities, five windows each, four people to learn from."""
    rng = np.random.default_rng(0)
    who, what = np.repeat(np.arange(6), 10), np.tile(np.repeat([0, 1], 5), 6)
    values = rng.standard_normal((60 * 8, 2)).astype(np.float16)
    offsets, split = np.arange(61) * 8, (who > 3).astype(np.uint8)
    np.savez(tmp_path / "uci_har.npz", values=values, offsets=offsets, labels=what, groups=who, split=split)
    return data.problem("UCI HAR", tmp_path)


def test_people_to_learn_from_and_to_be_judged_by_are_others(people):
    assert set(people.train.labels) == {0, 1, 2, 3}
    assert set(people.test.labels) == {4, 5}
    assert len(people.test) == 2 * 2 * 2  # windows far apart: two of five


def test_only_pairs_of_one_activity_count(people):
    matrix = np.arange(64.0).reshape(8, 8)
    far, same, subjects = data.pairs(matrix, people)
    expected = [
        (matrix[i, j], people.test.labels[i] == people.test.labels[j])
        for i in range(8)
        for j in range(i + 1, 8)
        if people.within[i] == people.within[j]
    ]
    assert list(zip(far, same, strict=True)) == expected
    assert ((subjects[:, 0] == subjects[:, 1]) == same).all()


def test_ways_of_prototypes_are_their_formulas():
    class Model:
        def similarity(self, x, y):
            return np.array([[2.0, 0.0], [1.0, 3.0]])

        def encode(self, X):
            return np.array([[1.0, 0.0], [1.0, 1.0]])

    found = methods.ways(Model(), tl.Sequences(np.zeros((2, 3))))
    cosine = 1 / np.sqrt(2)
    assert found["SIM"][0, 1] == -0.5
    assert found["cosine"][0, 1] == pytest.approx(-cosine)
    sigmoid = (0.5 + 1 / (1 + np.exp(-1))) / 2
    assert found["fusion"][0, 1] == pytest.approx(-(sigmoid + (1 + cosine) / 2) / 2)


def test_every_method_that_a_table_asks_for_is_there():
    assert {method for asked in ASKED.values() for method in asked} == set(methods.METHODS)
