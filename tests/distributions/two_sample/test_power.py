"""How many sequences are needed: predicted power beside that of tests that were made."""

import numpy as np
import pytest

from naive import two_sample as naive
from timelike.distributions import RBF, Power, TwoSample, power
from timelike.distributions.discrepancy.mmd import estimate_mmd


def test_the_spread_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 2)), rng.standard_normal((12, 2)) + 1
    kernel = RBF(width=1.0)
    matrix = kernel(np.concatenate([x, y]))
    found = estimate_mmd(matrix, 12, np.arange(24))
    assert found.value == pytest.approx(float(naive.unbiased(x.tolist(), y.tolist(), _rbf)))
    many = np.random.default_rng(1)
    # over many samples the estimates vary as much as the formula says
    values = []
    for _ in range(400):
        a, b = many.standard_normal((40, 2)), many.standard_normal((40, 2)) + 1.5
        values.append(estimate_mmd(kernel(np.concatenate([a, b])), 40, np.arange(80)))
    said = np.mean([one.x_variance / 40 + one.y_variance / 40 for one in values])
    assert np.var([one.value for one in values]) == pytest.approx(said, rel=0.25)


def _rbf(a, b):
    return float(np.exp(-np.sum((np.array(a) - np.array(b)) ** 2) / 2))


@pytest.mark.parametrize(("n", "m"), [(15, 15), (10, 25)])
def test_groups_of_copies_count_as_one(n, m):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, 2)), rng.standard_normal((m, 2)) + 1.5
    twice = np.concatenate([np.repeat(x, 3, axis=0), np.repeat(y, 3, axis=0)])
    plain = estimate_mmd(RBF(width=1.0)(np.concatenate([x, y])), n, np.arange(n + m))
    grouped = estimate_mmd(RBF(width=1.0)(twice), 3 * n, np.repeat(np.arange(n + m), 3))
    assert grouped.x_variance == pytest.approx(plain.x_variance, rel=0.3)
    assert grouped.y_variance == pytest.approx(plain.y_variance, rel=0.3)


def test_predicted_power_is_that_of_tests():
    rng = np.random.default_rng(0)
    kernel = RBF(width=1.4)
    away = np.array([0.5, 0.0])
    found = power(rng.standard_normal((1500, 2)), rng.standard_normal((1500, 2)) + away, kernel, random_state=0)
    assert isinstance(found, Power)
    test = TwoSample(kernel, n_permutations=99, random_state=0)
    for n in (20, 60):
        seen = [
            test.test(rng.standard_normal((n, 2)), rng.standard_normal((n, 2)) + away).p_value <= 0.05
            for _ in range(200)
        ]
        assert found.probability(n) == pytest.approx(np.mean(seen), abs=0.12)
    assert found.probability(found.n_required) >= 0.8 > found.probability(found.n_required - 1)
    assert found.n_required_range[0] <= found.n_required <= found.n_required_range[1]


def test_nothing_to_see_needs_no_number():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((60, 2))
    found = power(x, x[::-1] + 0.0, RBF(), random_state=0)
    assert found.n_required is None
    assert "these samples are too few to measure a difference, or there is none" in str(found)
    assert power(np.ones((5, 2)), np.ones((6, 2)), RBF()).n_required is None


def test_a_clear_difference_needs_few():
    rng = np.random.default_rng(0)
    found = power(rng.standard_normal((50, 2)), rng.standard_normal((50, 2)) + 10, RBF(), random_state=0)
    assert found.n_required < 8
    assert f"{found.n_required} items in each sample" in str(found)
    assert found.plot().axes


def test_groups_are_counted_as_units():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    x = rng.standard_normal((100, 2)) + np.repeat(rng.standard_normal((20, 2)), 5, axis=0)
    y = rng.standard_normal((100, 2)) + np.repeat(rng.standard_normal((20, 2)), 5, axis=0) + 0.7
    whole = power(x, y, RBF(), groups=(groups, groups + 20), random_state=0)
    single = power(x, y, RBF(), random_state=0)
    assert whole.unit == "groups"
    assert whole.standard_error > single.standard_error


@pytest.mark.parametrize(
    ("options", "words"),
    [({"level": 1.0}, "level=1.0"), ({"target": 0.0}, "target=0.0"), ({"kernel": [RBF(), RBF()]}, "kernel is a list")],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        power(np.zeros((4, 1)), np.ones((4, 1)), **options)
