"""The default of tests and monitors: two kinds of features, of which the larger statistic counts."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

import timelike as tl
from timelike.distributions import RBF, Drift, Linear, Sum, TwoSample, differences, power
from timelike.distributions.kernels.base import default_kernel, default_kernels
from timelike.distributions.two_sample import statistic
from timelike.distributions.two_sample.permutations import exchangeable_units
from timelike.distributions.two_sample.statistic import MaxStatistic, joint_statistic

RNG = np.random.default_rng(0)


def similarities(n, seed, width=1.0):
    return RBF(width=width)(np.random.default_rng(seed).standard_normal((n, 2)))


def whole(matrix, n_x, groups=None):
    return statistic.statistic_from_matrix(matrix, exchangeable_units(n_x, len(matrix) - n_x, groups))


def centred(matrix):
    """With rows that sum to 0 without the diagonal, by least squares."""
    n = len(matrix)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    design = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        design[row, [i, j]] = 1.0
    values = np.array([matrix[i, j] for i, j in pairs])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


# --- the statistic ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 5, 12])
def test_the_spread_of_similarities_is_that_of_what_no_sum_of_two_terms_explains(n):
    matrix = similarities(n, n)
    expected = np.sqrt(2 * np.square(centred(matrix)).sum() / (n * (n - 3)))
    assert whole(matrix, 2).similarity_deviation == pytest.approx(expected, rel=1e-9)
    assert whole(3 * matrix + 7, 2).similarity_deviation == pytest.approx(3 * expected, rel=1e-9)


def test_the_spread_is_0_where_nothing_is_told_apart_and_of_three_items():
    assert whole(np.ones((6, 6)), 3).similarity_deviation == 0.0
    sums = np.add.outer(np.arange(6.0), np.arange(6.0))  # MMD² of it is 0 for any two sides
    assert whole(sums, 3).similarity_deviation == 0.0
    assert whole(similarities(3, 0), 1).similarity_deviation == 0.0


def test_similarities_in_blocks_have_the_same_spread(monkeypatch):
    x = np.random.default_rng(1).standard_normal((30, 2))
    units = exchangeable_units(12, 18, None)
    monkeypatch.setattr("timelike.distributions.kernels.base.BLOCK_ENTRIES", 64)
    by_blocks = statistic.statistic_from_blocks(RBF(width=1.0), x, units)
    assert by_blocks.similarity_deviation == pytest.approx(whole(RBF(width=1.0)(x), 12).similarity_deviation, rel=1e-9)


@pytest.mark.parametrize("n_x", [3, 6])
def test_deviations_are_those_of_all_allocations(n_x):
    matrix = similarities(12, 5)
    one = whole(matrix, n_x)
    every = one.statistics(one.units.items(np.concatenate([one.units.in_x[None], one.units.all_allocations()])))
    found = MaxStatistic((one, one)).deviations
    assert found[0] == found[1] == pytest.approx(every.std(), rel=1e-9)
    assert abs(every.mean()) < 1e-12


def test_the_largest_counts_whatever_the_units_of_a_kernel():
    first, second = similarities(10, 1), similarities(10, 2, 0.3)
    parts = whole(first, 4), whole(second, 4)
    sides = parts[0].units.items(parts[0].units.all_allocations())
    both = MaxStatistic(parts)
    expected = np.maximum(*(one.statistics(sides) / d for one, d in zip(parts, both.deviations, strict=True)))
    np.testing.assert_allclose(both.statistics(sides), expected)
    np.testing.assert_allclose(both.kernel_statistics(sides)[1], parts[1].statistics(sides))
    rescaled = MaxStatistic((whole(1000 * first - 5, 4), parts[1]))
    np.testing.assert_allclose(rescaled.statistics(sides), expected, rtol=1e-9, atol=1e-9)
    assert 0 < both.tie_tolerance < 1e-9
    assert both.tie_tolerance == max(one.tie_tolerance / d for one, d in zip(parts, both.deviations, strict=True))


def test_a_kernel_that_tells_nothing_apart_changes_nothing():
    one, blank = whole(similarities(10, 1), 4), whole(np.ones((10, 10)), 4)
    sides = one.units.items(one.units.all_allocations())
    found = MaxStatistic((one, blank)).statistics(sides)
    np.testing.assert_allclose(found, np.maximum(one.statistics(sides) / MaxStatistic((one,)).deviations[0], 0.0))
    assert not MaxStatistic((one, blank)).is_constant
    assert MaxStatistic((blank, blank)).is_constant
    assert joint_statistic([one]) is one
    assert isinstance(joint_statistic([one, blank]), MaxStatistic)


# --- what is compared -----------------------------------------------------------------------------------------------


def test_vectors_have_one_kernel_sequences_two_and_images_rocket_alone():
    vectors, series = tl.Sequences(np.zeros((3, 5)), layout="nc"), tl.Sequences(np.zeros((3, 9, 2)))
    assert default_kernels((vectors, vectors)) == (RBF(),)
    assert [repr(one) for one in default_kernels((series,))] == [
        "EncoderKernel(Rocket(n_features=2000, random_state=0), RBF())",
        "EncoderKernel(StatisticsEncoder(), RBF())",
    ]
    assert len(default_kernels(())) == 2
    for width, n in ((256, 2), (257, 1)):
        assert len(default_kernels((tl.Sequences(np.zeros((2, 3, width))),))) == n
    assert default_kernel((vectors,)) == RBF()
    mean = default_kernel((series,))
    assert isinstance(mean, Sum)
    assert [part.factor for part in mean.parts] == [0.5, 0.5]


def waves(n, seed, offset=0.0, pace=4.0):
    rng = np.random.default_rng(seed)
    t, phase = np.arange(50)[:, None], rng.uniform(0, 6, (n, 1, 2))
    found = np.sin(t / pace + phase) + 0.3 * rng.standard_normal((n, 50, 2))
    found[:, :, 0] += offset
    return found


def test_an_offset_is_seen_by_statistics_and_the_result_says_so():
    seen = [TwoSample(random_state=s).test(waves(50, [s, 1]), waves(50, [s, 2], offset=0.1)) for s in range(6)]
    assert sum(one.p_value <= 0.05 for one in seen) >= 5
    assert sum(one.parts[1].p_value <= 0.05 for one in seen) >= 5
    result = seen[0]
    assert result.statistic_name == "largest MMD² over its deviation by chance"
    assert result.kernel == "the largest of 2 kernels"
    assert f"  {result.parts[1].kernel}: p = " in str(result)
    assert "StatisticsEncoder" in result._repr_html_()


def test_parts_are_what_each_kernel_finds_by_itself_with_the_same_permutations():
    x, y = waves(12, 1), waves(9, 2, offset=0.1)
    both = TwoSample(random_state=3, n_permutations=99).test(x, y)
    for kernel, part in zip(default_kernels((tl.Sequences(x),)), both.parts, strict=True):
        alone = TwoSample(kernel, random_state=3, n_permutations=99).test(x, y)
        assert part.p_value == alone.p_value
        assert part.statistic == pytest.approx(alone.statistic, rel=1e-12)
    assert both.parts[0].kernel.startswith("EncoderKernel(Rocket")
    assert both.statistic > 0
    assert len(both.null) == 99


def test_all_allocations_of_few_items_are_counted_as_by_hand():
    x, y = waves(3, 1), waves(4, 2, offset=0.4)
    found = TwoSample(random_state=0).test(x, y)
    both = tl.Sequences(np.concatenate([x, y]))
    each = []
    for kernel in default_kernels((both,)):
        matrix = kernel.resolve_with_matrix(both, np.random.default_rng(0)).matrix
        every = np.array([naive_mmd(matrix, some) for some in itertools.combinations(range(7), 3)])
        each.append(every / every.std())
    largest = np.max(each, axis=0)
    assert found.statistic == pytest.approx(largest[0], rel=1e-3)
    assert found.p_value == pytest.approx((largest >= largest[0] - 1e-9).mean())
    assert found.is_enumerated


def naive_mmd(matrix, some):
    x, y = list(some), [i for i in range(len(matrix)) if i not in some]
    within = sum(matrix[i, j] for i in x for j in x if i != j) / (len(x) * (len(x) - 1))
    within += sum(matrix[i, j] for i in y for j in y if i != j) / (len(y) * (len(y) - 1))
    return within - 2 * sum(matrix[i, j] for i in x for j in y) / (len(x) * len(y))


def test_p_values_of_equal_distributions_are_as_rarely_small_as_they_say():
    rng, found = np.random.default_rng(7), []
    for seed in range(80):
        x = np.round(rng.standard_normal((13, 9, 1)), seed % 2)  # every second time with ties
        found.append(TwoSample(random_state=seed, n_permutations=39).test(x[:6], x[6:]).p_value)
    for level in (0.05, 0.1, 0.25, 0.5):
        assert (np.array(found) <= level + 1e-12).sum() <= binom.ppf(0.999, len(found), level)
    assert np.mean(found) < 0.65  # and not by never being small


def test_permutations_stop_early_with_both_kernels_and_scales_try_each():
    x, y = waves(20, 1), waves(20, 2)
    stopped = TwoSample(stop_above=0.05, random_state=0).test(x, y)
    assert stopped.n_permutations < 1000
    assert stopped.p_value > 0.05
    assert stopped.statistic_name == "largest MMD² over its deviation by chance"
    assert stopped.kernel == "the largest of 2 kernels"
    # the same permutations, and no more
    alike = TwoSample(n_permutations=stopped.n_permutations, random_state=0).test(x, y)
    np.testing.assert_array_equal(stopped.null, alike.null)
    assert stopped.parts == alike.parts
    assert len(stopped.parts) == 2
    scaled = TwoSample(scales=(0.5, 1), random_state=0, n_permutations=59).test(x, y)
    assert [one.kernel.split("(")[1] for one in scaled.parts] == ["Rocket"] * 2 + ["StatisticsEncoder"] * 2


def test_a_monitor_sees_an_offset_that_rocket_takes_no_notice_of():
    for seed in range(3):  # Rocket alone did not see it in all of them
        drift = Drift(waves(40, [seed, 0]), n_permutations=999, random_state=seed)
        for i in range(1, 9):
            seen = drift.update(waves(10, [seed, i], offset=0.15 if i > 2 else 0.0))
        assert seen.drifted


def test_a_monitor_compares_by_the_larger_of_the_two_and_its_own_sum_by_the_sum():
    reference, batch = waves(14, 1), waves(4, 2, offset=0.2)
    drift = Drift(n_permutations=99, random_state=0).fit(reference)
    before = drift.pool_.items
    seen = drift.update(batch)
    both = tl.Sequences(np.concatenate([before.values.reshape(-1, 50, 2), batch]))
    parts = [part._kernel_matrix(part._precompute_items(both, "x"), None) for part in drift.kernel_.parts]
    n = len(before)
    wholes = [statistic.statistic_from_matrix(one[::-1, ::-1].copy(), exchangeable_units(4, n, None)) for one in parts]
    expected = MaxStatistic(tuple(wholes)).statistics(np.array([[True] * 4 + [False] * n]))[0]
    assert seen.statistic == pytest.approx(expected, rel=1e-6)
    assert drift.similarities_.shape == (2, n + 4, n + 4)
    summed = Drift(kernel=default_kernel((both,)), n_permutations=99, random_state=0).fit(reference)
    summed.update(batch)
    assert summed.similarities_.shape == (1, n + 4, n + 4)
    np.testing.assert_allclose(summed.similarities_[0], drift.similarities_.sum(axis=0), rtol=1e-9)


def test_other_answers_take_the_mean_of_both_kernels():
    x, y = waves(10, 1), waves(10, 2, offset=1.0)
    found = differences(x, y, random_state=0)
    assert found.kernel.startswith("0.5 * EncoderKernel(Rocket")
    assert "+ 0.5 * EncoderKernel(StatisticsEncoder" in found.kernel


def test_the_plan_of_the_default_is_that_of_the_kernel_that_needs_fewer_at_half_of_the_level():
    x, y = waves(60, 1), waves(60, 2, offset=0.3)
    both = power(x, y, random_state=0)
    alone = [power(x, y, kernel, level=0.025, random_state=0) for kernel in default_kernels((tl.Sequences(x),))]
    assert both.n_required == pytest.approx(min(one.n_required or np.inf for one in alone), rel=0.2)
    assert (both.level, both.target) == (0.05, 0.8)
    linear = power(x[:, 0], y[:, 0], Linear(), random_state=0)
    assert linear.level == 0.05
