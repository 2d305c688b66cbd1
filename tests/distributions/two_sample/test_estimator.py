"""The permutation test: exact p-values with items, groups and ties, several kernels, early stopping, refusals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression

import timelike as tl
from naive import kernels as naive_kernels, two_sample as naive
from timelike.distributions import RBF, Laplacian, Linear, TwoSample, mmd
from timelike.distributions.two_sample import permutations, statistic
from timelike.distributions.two_sample.permutations import exchangeable_units

RNG = np.random.default_rng(0)


def table_of(kernel, x, y):
    pooled = np.concatenate([x, y])
    return kernel(pooled)


def apart(table, in_x, groups):
    """Unbiased MMD² without pairs of one group, pair by pair; a side without such pairs does not count."""
    means = {}
    for kind in ("xx", "yy", "xy"):
        pairs = [
            table[i][j]
            for i in range(len(groups))
            for j in range(len(groups))
            if groups[i] != groups[j] and ("x" if in_x[i] else "y") + ("x" if in_x[j] else "y") == kind
        ]
        means[kind] = (sum(pairs) / len(pairs) if pairs else 0.0), len(pairs)
    return means["xx"][0] + means["yy"][0] - 2 * means["xy"][0]


def drawn(n, m, d=2, shift=0.0, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((m, d)) + shift
    return (np.round(x), np.round(y)) if ties else (x, y)


@settings(deadline=None, max_examples=30)
@given(n=st.integers(2, 5), m=st.integers(2, 4), seed=st.integers(0, 99), ties=st.booleans(), biased=st.booleans())
def test_all_allocations_are_tried_where_they_are_few(n, m, seed, ties, biased):
    x, y = drawn(n, m, seed=seed, ties=ties)
    estimator = "biased" if biased else "unbiased"
    found = TwoSample(Linear(), n_permutations=500, estimator=estimator).test(x, y)
    in_x = np.arange(n + m) < n
    pooled = np.concatenate(
        [x, y]
    )  # of round numbers the products are exact, so the reference's fractions see all ties
    table = pooled @ pooled.T
    table = (table + table.T) / 2
    expected = naive.enumerated_p_value(table, in_x, estimator=naive.biased if biased else naive.unbiased)
    assert found.is_enumerated
    assert found.p_value == pytest.approx(float(expected))
    assert len(found.null) == found.n_allocations - 1


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "groups",
    [
        (["a", "a", "b"], ["c", "c", "d", "e"]),  # on one side each
        (["a", "a", "b"], ["a", "b", "b", "b"]),  # parts that change places
        (["a", "b", "b"], ["a", "c", "c", "d"]),  # both kinds
    ],
)
def test_whole_groups_change_sides(groups, ties):
    x, y = drawn(3, 4, seed=3, ties=ties, shift=1.0)
    found = TwoSample(Linear(), n_permutations=500).test(x, y, groups=groups)
    in_x = np.arange(7) < 3
    pooled = np.concatenate([x, y])
    chosen = naive.allocations(in_x.tolist(), [*groups[0], *groups[1]])
    assert found.n_allocations == len(chosen)
    assert found.unit == ("groups" if not set(groups[0]) & set(groups[1]) else found.unit)
    sides = exchangeable_units(3, 4, tuple(np.array(g) for g in groups))
    everything = {tuple(row) for row in sides.items(sides.all_allocations()).tolist()} | {tuple(in_x.tolist())}
    assert everything == {tuple(map(bool, row)) for row in chosen}
    table = (pooled - pooled.mean(axis=0)) @ (pooled - pooled.mean(axis=0)).T  # linear kernels are from the mean
    expected = [apart(table, row, [*groups[0], *groups[1]]) for row in chosen]
    assert found.statistic == pytest.approx(expected[0])
    assert found.p_value == pytest.approx(np.mean(np.array(expected) >= expected[0] - 1e-9))


def test_drawn_groups_are_as_likely_in_every_way():
    sides = exchangeable_units(4, 5, (np.array(list("aabb")), np.array(list("bcdde"))))
    rng = np.random.default_rng(0)
    ways, counts = np.unique(sides.sample_allocations(40_000, rng), axis=0, return_counts=True)
    assert len(ways) == sides.n_allocations == 8  # one of a, c, d, e for X, and a coin for b
    assert np.abs(counts / 40_000 - 1 / 8).max() < 0.01


def test_the_statistic_is_mmd():
    x, y = drawn(30, 20, shift=0.5)
    for kernel in (RBF(), Laplacian(width=0.3), Linear(offset=2.0)):
        for estimator in ("unbiased", "biased"):
            found = TwoSample(kernel, estimator=estimator, n_permutations=10).test(x, y)
            assert found.statistic == pytest.approx(mmd(x, y, kernel, estimator=estimator), rel=1e-8, abs=1e-10)


def test_permuted_statistics_are_those_of_reindexing():
    x, y = drawn(12, 9)
    kernel = RBF(width=1.0)
    table = table_of(kernel, x, y)
    sides = exchangeable_units(12, 9, None).sample_allocations(20, np.random.default_rng(1))
    found = statistic.statistic_from_matrix(table, exchangeable_units(12, 9, None)).statistics(sides)
    for one, in_x in zip(found, sides, strict=True):
        expected = naive.statistic(((table + table.T) / 2).tolist(), in_x.tolist())
        assert one == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def test_few_items_against_many_are_counted_as_others_are():
    x, y = drawn(3, 150, shift=1.0)
    table = table_of(RBF(width=1.0), x, y)
    sides = exchangeable_units(3, 150, None).sample_allocations(50, np.random.default_rng(1))
    whole = statistic.statistic_from_matrix(table, exchangeable_units(3, 150, None))
    np.testing.assert_array_equal(whole.statistics(sides), replace(whole, matrix=None).statistics(sides))


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_blocks_change_no_bit(estimator, monkeypatch):
    x, y = drawn(40, 33, shift=0.3)
    whole = TwoSample(RBF(), estimator=estimator, random_state=0, n_permutations=99).test(x, y)
    for block in (73, 1000, 5000):
        monkeypatch.setattr("timelike.distributions.kernels.base.BLOCK_ENTRIES", block)
        monkeypatch.setattr("timelike.distributions.kernels.base.MAX_MATRIX_ENTRIES", block)
        found = TwoSample(RBF(), estimator=estimator, random_state=0, n_permutations=99).test(x, y)
        np.testing.assert_array_equal(found.null, whole.null)
        assert (found.statistic, found.p_value) == (whole.statistic, whole.p_value)


def test_the_p_value_is_the_count_that_the_null_shows():
    for seed in range(5):
        x, y = drawn(15, 18, seed=seed, shift=0.3, ties=True)
        found = TwoSample(RBF(), n_permutations=199, random_state=seed).test(x, y)
        assert found.p_value == (1 + (found.null >= found.statistic).sum()) / 200


def test_the_smallest_p_is_one_over_all():
    x, y = drawn(30, 30, shift=10.0)
    assert TwoSample(RBF(), n_permutations=999, random_state=0).test(x, y).p_value == 1 / 1000


def test_a_larger_number_on_one_side_only_changes_nothing_when_sides_change_names():
    x, y = drawn(9, 14, shift=0.7)
    one = TwoSample(RBF(), n_permutations=5000, random_state=0).test(x, y)
    other = TwoSample(RBF(), n_permutations=5000, random_state=1).test(y, x)
    assert one.statistic == pytest.approx(other.statistic, abs=1e-12)
    assert abs(one.p_value - other.p_value) < 0.03


def test_equal_points_give_p_one_and_say_so():
    for kernel in (RBF(), Laplacian(), Linear(), None, RBF(width=1.0)):
        found = TwoSample(kernel, n_permutations=50).test(np.ones((5, 3)), np.ones((8, 3)))
        assert found.p_value == 1.0
        assert found.statistic == 0.0
        assert any("all similarities are equal" in note for note in found.notes)
    sequences = TwoSample(n_permutations=50).test([[1.0, 2.0, 3.0]] * 4, [[1.0, 2.0, 3.0]] * 4)
    assert sequences.p_value == 1.0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12))
def test_several_kernels_are_counted_by_their_least_rank(rows):
    table = np.array(rows, float)
    ranks = permutations.least_ranks(table)
    found = permutations.permutation_p_value(1 - ranks[1:], 1 - ranks[0])
    assert found == pytest.approx(float(naive.aggregated_p_value(rows)))


def test_several_widths_find_what_one_misses():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (150, 1))
    y = np.floor(rng.uniform(0, 10, (150, 1))) + 0.5 + 0.02 * rng.standard_normal((150, 1))  # a comb of the same shape
    one = TwoSample(RBF(), random_state=0).test(x, y)
    many = TwoSample(RBF(), scales=(0.05, 0.25, 1.0), random_state=0).test(x, y)
    assert one.p_value > 0.05 > many.p_value
    assert many.parts[0].kernel.startswith("RBF(width=")
    listed = TwoSample([RBF(width=0.1), RBF(width=10.0)], random_state=0).test(x, y)
    assert len(listed.parts) == 2
    assert min(part.p_value for part in listed.parts) <= listed.p_value


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(0, 4), st.integers(1, 6))
def test_early_stopping_counts_as_besag_and_clifford_do(null, observed, h):
    found = permutations.sequential_p_value(np.array(null, float), float(observed), h)
    p, used = naive.sequential_p_value(observed, null, h)
    if found is None:
        assert used == len(null)
        assert Fraction(p) == naive.p_value(observed, null)
    else:
        assert found == (pytest.approx(float(p)), used)


@pytest.mark.parametrize("n_permutations", [19, 99, 100, 999, 1000, 1010])
def test_a_test_that_stops_decides_as_one_that_does_not(n_permutations):
    stops = 0
    for seed in range(25):
        x, y = drawn(10, 10, seed=seed, shift=0.4)
        full = TwoSample(RBF(), n_permutations=n_permutations, random_state=seed).test(x, y)
        short = TwoSample(RBF(), n_permutations=n_permutations, stop_above=0.05, random_state=seed).test(x, y)
        assert (short.p_value <= 0.05) == (full.p_value <= 0.05)
        if len(short.null) < n_permutations:
            stops += 1
            assert short.p_value > 0.05
            assert "stopped after" in " ".join(short.notes)
        else:
            assert short.p_value == full.p_value or short.p_value > 0.05
    assert stops > 5


def test_an_encoder_learns_from_both_samples_in_an_order_that_is_drawn(monkeypatch):
    shown = []

    class Watched(tl.Rocket):
        def fit(self, X, y=None):
            shown.append(X.copy())
            return super().fit(X, y)

    monkeypatch.setattr("timelike.models.registry.registered_name", lambda kind: "Rocket")
    x = tl.Sequences(RNG.standard_normal((12, 20)))
    y = tl.Sequences(RNG.standard_normal((10, 20)))
    kernel = tl.distributions.EncoderKernel(Watched(n_features=50, random_state=0), RBF())
    TwoSample(kernel, n_permutations=10, random_state=0).test(x, y)
    (seen,) = shown
    together = np.concatenate([x.pad().values, y.pad().values])[:, :, 0]
    order = [int(np.flatnonzero((together == row).all(axis=1))[0]) for row in seen.pad().values[:, :, 0]]
    assert sorted(order) == list(range(22))
    assert order != list(range(22))


class TestRefusals:
    def test_other_channels(self):
        with pytest.raises(
            ValueError, match=r"Y has frames of shape \(3,\) and X of \(2,\): expected the same channels"
        ):
            TwoSample().test(np.zeros((4, 9, 2)), np.zeros((4, 9, 3)))
        with pytest.raises(ValueError, match="Y has vectors of 3 numbers and X of 2"):
            TwoSample(RBF()).test(np.zeros((4, 2)), np.zeros((4, 3)))

    @pytest.mark.parametrize("sizes", [(1, 5), (5, 1)])
    def test_fewer_than_two_items(self, sizes):
        with pytest.raises(ValueError, match=r"[XY] holds 1 item: expected at least 2 of each"):
            TwoSample().test(np.zeros((sizes[0], 2)), np.zeros((sizes[1], 2)))

    def test_no_items(self):
        with pytest.raises(ValueError, match="X"):
            TwoSample().test(np.zeros((0, 2)), np.zeros((5, 2)))

    def test_missing_values(self):
        x = RNG.standard_normal((5, 3))
        bad = x.copy()
        bad[2, 1] = np.nan
        with pytest.raises(ValueError, match="nan.*kernel of vectors cannot take missing values"):
            TwoSample(RBF()).test(x, bad)
        with pytest.raises(ValueError, match="infinite"):
            TwoSample(RBF()).test(x, np.where(np.isnan(bad), np.inf, bad))

    def test_one_axis(self):
        with pytest.raises(ValueError, match=r"X has shape \(5,\): expected \(item, feature\).*X\[:, None\]"):
            TwoSample().test(np.zeros(5), np.zeros(5))

    def test_unequal_lengths_for_a_kernel_of_vectors(self):
        with pytest.raises(ValueError, match=r"EncoderKernel\(timelike\.Rocket\(\), RBF\(\)\)"):
            TwoSample(RBF()).test([[1.0, 2.0], [1.0]], [[1.0], [2.0]])

    @pytest.mark.parametrize(
        ("groups", "words"),
        [
            ((["a"] * 4, ["b"] * 5), "groups cannot be exchanged: there are 2 on one side only"),
            ((["a"] * 4, ["a"] * 5), "0 on one side only and 1 on both"),
            ((["a"] * 3, ["b"] * 5), r"groups\[0\] has shape \(3,\) for 4"),
            (["a"] * 9, r"expected \(groups of X, groups of Y\)"),
            (((["a"] * 4), None), "groups of both"),
            (([1, 1, 2, 2], list("abcde")), "expected all numbers or all text"),
        ],
    )
    def test_groups_that_cannot_be_exchanged(self, groups, words):
        with pytest.raises((ValueError, TypeError), match=words):
            TwoSample().test(*drawn(4, 5), groups=groups)

    def test_groups_of_one_sample_only(self):
        x = tl.Sequences(RNG.standard_normal((4, 10)), groups=list("aabb"))
        with pytest.raises(ValueError, match="X has groups and Y none"):
            TwoSample().test(x, tl.Sequences(RNG.standard_normal((4, 10))))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"n_permutations": 0}, "n_permutations=0: expected at least 1"),
            ({"stop_above": 1.0}, "stop_above=1.0: expected a level below 1"),
            ({"stop_above": 0.05, "scales": (1, 2)}, "stop_above requires one kernel"),
            ({"scales": (0.0,)}, r"scales\[0\]=0.0"),
            ({"scales": 3}, "scales=3: expected multiples"),
            ({"estimator": "linear"}, "estimator='linear': expected one of"),
            ({"kernel": []}, "kernel is an empty list"),
            ({"kernel": RBF}, r"write RBF\(\)"),
            ({"kernel": "rbf"}, "kernel='rbf': expected a kernel"),
            ({"kernel": tl.Rocket()}, r"use EncoderKernel\(Rocket\(\), RBF\(\)\)"),
            ({"random_state": "x"}, "random_state"),
        ],
    )
    def test_options_that_make_no_sense(self, options, words):
        with pytest.raises((ValueError, TypeError), match=words):
            TwoSample(**options)

    def test_widths_of_a_kernel_that_has_none(self):
        with pytest.raises(ValueError, match="Linear has no width"):
            TwoSample(Linear(), scales=(1, 2)).test(*drawn(5, 5))

    def test_own_functions_that_are_no_kernels(self):
        with pytest.raises(ValueError, match="not symmetric"):
            TwoSample(lambda x, y: x[:, :1] - y[:, 0]).test(*drawn(5, 5))
        with pytest.raises(ValueError, match=r"kernel gave shape \(10,\)"):
            TwoSample(lambda x, y: x[:, 0]).test(*drawn(5, 5))
        with pytest.raises(ValueError, match="nan or infinity"):
            TwoSample(lambda x, y: np.full((len(x), len(y)), np.nan)).test(*drawn(5, 5))


class TestNothingIsNan:
    def test_similarities_that_are_too_large_are_refused(self):
        x, y = drawn(5, 5)
        with pytest.raises(ValueError, match="too large"):
            TwoSample(1e308 * Linear()).test(x * 10, y * 10)
        with pytest.raises(ValueError, match="too large"):
            TwoSample(Linear() * Linear()).test(x * 1e120, y * 1e120)

    def test_scores_that_are_no_numbers_are_refused(self):
        class Odd(LogisticRegression):
            def decision_function(self, X):
                return np.full(len(X), np.nan)

        with pytest.raises(ValueError, match="classifier gave nan or infinity"):
            tl.distributions.ClassifierTest(Odd()).test(*drawn(8, 8))


def test_times_count_where_a_metric_reads_them():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 12))
    even = [np.arange(12.0)] * 15
    late = [np.cumsum(np.r_[0, rng.uniform(2, 6, 11)]) for _ in range(15)]
    a, b = tl.Sequences(x[:15], times=even), tl.Sequences(x[15:], times=late)
    kernel = tl.distributions.ExponentialKernel(tl.TWE(nu=0.5))
    assert TwoSample(kernel, n_permutations=99, random_state=0).test(a, b).p_value == 0.01
    plain = TwoSample(kernel, n_permutations=99, random_state=0).test(x[:15, :, None], x[15:, :, None])
    assert plain.p_value > 0.05


class TestOverlap:
    stream = np.random.default_rng(5).standard_normal(200)

    def test_windows_that_share_steps_are_refused(self):
        windows = tl.Sequences([self.stream]).windows(20, 5)
        with pytest.raises(ValueError, match=r"X\[0\] and X\[1\] share 15 time steps.*step >= size"):
            TwoSample().test(windows[:10], windows[20:30], groups=False)

    def test_copies_of_such_windows_are_refused_too(self):
        copies = np.lib.stride_tricks.sliding_window_view(self.stream, 16)[::4].copy()
        for windows in (copies, list(copies), copies[:, :, None], copies[::-1].copy()):
            with pytest.raises(ValueError, match=r"X\[0\] and X\[1\] share 12 time steps"):
                TwoSample().test(windows[:20], RNG.standard_normal(np.shape(copies[20:])))

    @pytest.mark.parametrize("order", ["shuffled", "behind another recording", "of both samples"])
    def test_copies_are_found_wherever_they_are(self, order):
        rng = np.random.default_rng(3)
        windows = np.lib.stride_tricks.sliding_window_view(self.stream, 40)[::10].copy()
        others = rng.standard_normal((20, 40))
        if order == "shuffled":
            x, y = rng.permutation(np.concatenate([windows, others])), rng.standard_normal((9, 40))
        elif order == "behind another recording":
            x, y = np.concatenate([others, windows]), rng.standard_normal((9, 40))
        else:
            x, y = np.concatenate([others, windows[::4]]), np.concatenate([windows[1::4], others + 1])
        with pytest.raises(ValueError, match="time steps: overlapping windows"):
            TwoSample(RBF()).test(x, y)

    @pytest.mark.parametrize(
        "series",
        [
            [np.arange(30.0) + k for k in range(40)],
            [np.maximum(0.0, np.arange(40.0) - k) for k in range(40)],
            [np.sin(2 * np.pi * ((np.arange(50) + k) % 25) / 25) for k in range(40)],
            [np.zeros(5000) for _ in range(40)],
            [np.sort(np.random.default_rng(k).integers(0, 9, 30)).astype(float) for k in range(40)],
        ],
        ids=["counters", "ramps", "cycles", "at rest", "sorted"],
    )
    def test_series_that_are_alike_without_an_overlap_are_taken(self, series, monkeypatch):
        compared, equal = [], np.array_equal
        monkeypatch.setattr(np, "array_equal", lambda *both, **how: compared.append(1) or equal(*both, **how))
        for kind in (series, np.stack(series)):
            TwoSample(RBF(width=1.0), n_permutations=9).test(kind[:20], kind[20:])
        assert len(compared) < 40 * 39 / 2  # nothing like a look at every pair

    def test_missing_values_hide_no_overlap(self):
        gaps = self.stream.copy()
        gaps[::17] = np.nan
        windows = list(np.lib.stride_tricks.sliding_window_view(gaps, 40)[::10].copy())
        with pytest.raises(ValueError, match="overlapping windows"):
            TwoSample().test(windows, list(np.random.default_rng(0).standard_normal((9, 40))))

    def test_a_counter_that_repeats_itself_is_no_overlap(self):
        rng = np.random.default_rng(0)
        counter = np.tile(np.arange(7.0), 200)[:1200].reshape(60, 20)
        both = np.stack([counter, rng.standard_normal((60, 20))], axis=2)
        TwoSample(n_permutations=20).test(counter[:30], counter[30:])
        found = tl.distributions.differences(both[:30], both[30:], random_state=0, n_permutations=19)
        assert len(found.channels) == 2

    def test_whole_recordings_of_such_windows_may_change_sides(self):
        recordings = tl.Sequences(np.random.default_rng(1).standard_normal((8, 40)))
        windows = recordings.windows(10, 5)
        found = TwoSample(n_permutations=50).test(windows[windows.groups < 4], windows[windows.groups >= 4])
        assert found.n_allocations == 70

    def test_windows_side_by_side_are_taken(self):
        windows = tl.Sequences([self.stream]).windows(10, 10)
        TwoSample(n_permutations=20).test(windows[:10], windows[10:], groups=False)

    def test_an_item_of_both_samples_is_refused(self):
        x = RNG.standard_normal((20, 3))
        with pytest.raises(ValueError, match=r"X\[10\] and Y\[0\] are one and the same item"):
            TwoSample().test(x[:15], x[10:])

    def test_round_numbers_that_are_alike_by_chance_are_taken(self):
        rng = np.random.default_rng(0)
        for kind in (rng.integers(0, 2, (40, 12)), rng.integers(0, 4, (40, 6)), np.eye(12)[rng.integers(0, 12, 40)]):
            TwoSample(RBF(), n_permutations=20).test(kind[:20].astype(float), kind[20:].astype(float))


def test_what_it_says():
    x, y = drawn(20, 20, shift=5.0)
    found = TwoSample(RBF(), n_permutations=99, random_state=0).test(x, y)
    assert str(found).startswith("p = 0.01: the samples differ\nMMD² ")
    assert "20 and 20 items; RBF(width=" in str(found)
    assert "<svg" in found._repr_html_()
    odd = TwoSample(tl.distributions.ExponentialKernel("dtw"), n_permutations=9).test(x, y)
    assert "need not be positive definite" in str(odd)
    few = TwoSample(RBF()).test(x[:2], y[:3])
    assert "there are 10 ways to exchange, so p is at least 0.1" in str(few)


def test_sequences_of_the_same_numbers_are_the_same_however_they_come():
    x, y = RNG.standard_normal((12, 8)), RNG.standard_normal((13, 8)) + 0.3
    found = [
        TwoSample(RBF(), n_permutations=99, random_state=0).test(*given).p_value
        for given in ((x, y), (tl.Sequences(x), y), (x, y[:, :, None]), (list(x), y), (tl.Sequences(x, layout="nc"), y))
    ]
    assert len(set(found)) == 1


def test_naive_kernels_agree_with_ours_in_the_test():
    x, y = drawn(6, 5)
    width = naive_kernels.median_width(np.concatenate([x, y]).tolist())
    found = TwoSample(RBF(), n_permutations=5).test(x, y)
    assert found.kernel == repr(RBF(width=width)) or found.kernel.startswith(f"RBF(width={width:.6f}"[:14])


def test_a_side_of_one_group_is_judged_by_its_items_and_blocks_change_no_bit(monkeypatch):
    x, y = drawn(3, 8, shift=1.0, seed=4)
    groups = (["a"] * 3, list("bbccdefg"))
    whole = TwoSample(Linear(), n_permutations=500).test(x, y, groups=groups)
    pooled, names = np.concatenate([x, y]), [*groups[0], *groups[1]]
    table = (pooled - pooled.mean(axis=0)) @ (pooled - pooled.mean(axis=0)).T
    statistics = []
    for one in dict.fromkeys(names):
        in_x = [name == one for name in names]
        own = [table[i][j] for i in range(11) for j in range(11) if in_x[i] and in_x[j]]
        rest = apart(table, in_x, names)
        statistics.append(np.mean(own) + rest)
    assert whole.statistic == pytest.approx(statistics[0])
    assert whole.p_value == pytest.approx(np.mean(np.array(statistics) >= statistics[0] - 1e-9))
    for name in ("BLOCK_ENTRIES", "MAX_MATRIX_ENTRIES"):
        monkeypatch.setattr(f"timelike.distributions.kernels.base.{name}", 20)
    found = TwoSample(Linear(), n_permutations=500).test(x, y, groups=groups)
    np.testing.assert_allclose(found.null, whole.null, rtol=1e-9)
    assert found.p_value == whole.p_value


def test_large_groups_on_one_side_do_not_look_like_a_difference():
    rng = np.random.default_rng(0)
    low = []
    for _ in range(150):
        sizes = [6] * 5 + [1] * 8  # groups of X are larger by design, which an exchange of groups cannot know
        group = np.repeat(np.arange(13), sizes)
        data = rng.standard_normal((13, 1))[group] * 2 + rng.standard_normal((len(group), 1))
        found = TwoSample(RBF(width=2.0), n_permutations=39).test(
            data[group < 5], data[group >= 5], groups=(group[group < 5], group[group >= 5])
        )
        low.append(found.p_value <= 0.1)
    assert np.mean(low) < 0.1 + 3 * np.sqrt(0.09 / 150)
