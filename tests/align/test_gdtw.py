"""Warps in continuous time are the best there are, and say so when there are none."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import timelike as tl
from align.warp_problems import problems, solved
from naive import warps as naive
from timelike.models import save_model


def slsqp(p, start):
    low, high = p.ends()
    steps, m = np.diff(p.t), len(p.t)
    difference = np.eye(m)[1:] - np.eye(m)[:-1]
    rules = [(difference, p.s_min * steps)]
    if np.isfinite(p.s_max).all():
        rules.append((-difference, -p.s_max * steps))
    found = minimize(
        naive.objective,
        start,
        args=(p.x, p.y, p.t, p.tau, p.lam),
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints=[{"type": "ineq", "fun": lambda v, a=a, b=b: a @ v - b, "jac": lambda v, a=a: a} for a, b in rules],
        options={"ftol": 1e-14, "maxiter": 200},
    )
    inside = np.clip(found.x, low, high)
    fits = all((a @ inside - b).min() > -1e-9 for a, b in rules)
    return naive.objective(inside, p.x, p.y, p.t, p.tau, p.lam) if fits else np.inf


def random_warp(p, rng):
    """Drawn step by step among what is still feasible."""
    low, high = p.reach()
    phi = [rng.uniform(low[0], high[0])]
    for i, step in enumerate(np.diff(p.t)):
        least = max(low[i + 1], phi[-1] + p.s_min[i] * step)
        most = min(high[i + 1], phi[-1] + p.s_max[i] * step)
        phi.append(rng.uniform(least, max(least, most)))
    return np.array(phi)


class TestTheWarpIsTheBest:
    @pytest.mark.parametrize("seed", range(2))
    def test_neither_slsqp_nor_a_fine_grid_finds_a_better_one(self, seed):
        rng = np.random.default_rng(seed)
        for p in problems(seed, 8):
            found = solved(p)
            ours = found.objective[0]
            np.testing.assert_allclose(ours, naive.objective(found.phi, p.x, p.y, p.t, p.tau, p.lam), rtol=1e-9)
            rivals = [slsqp(p, found.phi), *(slsqp(p, random_warp(p, rng)) for _ in range(5))]
            limits = p.s_min, p.s_max, *p.reach()
            rivals.append(naive.discrete_optimum(p.x, p.y, p.t, p.tau, p.lam, *limits, 600)[0])
            assert ours <= min(rivals) * (1 + 1e-6)
            assert found.residual[0] <= 1e-9

    @pytest.mark.parametrize("kind", ["absolute", "huber"])
    def test_other_penalties_are_minimised_too(self, kind):
        for p in problems(11, 12):
            found = solved(p, penalty=kind, delta=0.7)
            value = naive.objective(found.phi, p.x, p.y, p.t, p.tau, p.lam, kind, 0.7)
            np.testing.assert_allclose(found.objective[0], value, rtol=1e-9)
            limits = p.s_min, p.s_max, *p.reach()
            rival, _ = naive.discrete_optimum(p.x, p.y, p.t, p.tau, p.lam, *limits, 600, kind, 0.7)
            assert value <= rival * (1 + 1e-9)

    def test_constraints_are_kept(self):
        for p in problems(5, 40):
            phi = solved(p).phi
            slopes = np.diff(phi) / np.diff(p.t)
            low, high = p.ends()
            assert (slopes >= p.s_min - 1e-8).all()
            assert (slopes <= p.s_max + 1e-8).all()
            assert (phi >= low - 1e-10).all()
            assert (phi <= high + 1e-10).all()

    def test_a_finer_search_never_ends_higher_than_a_coarse_one_without_polish(self):
        for p in problems(6, 10):
            assert solved(p).objective[0] <= solved(p, polish=False, refinements=0).objective[0] + 1e-12


class TestGDTW:
    def test_a_known_warp_is_found_again(self):
        t = np.linspace(0, 1, 80)
        signal = lambda s: np.stack([np.sin(9 * s), np.cos(7 * s), s], 1)  # noqa: E731
        warp = t**1.5
        found = tl.GDTW(regularization=1e-5).align(signal(warp), signal(t))
        np.testing.assert_allclose(found.warp.values / 79, warp, atol=2e-3)
        np.testing.assert_allclose(found.apply(), signal(warp), atol=5e-3)

    def test_warps_are_in_the_time_of_y(self):
        values = np.sin(np.linspace(0, 3, 12))
        x = tl.Sequences([values], times=[np.linspace(100, 200, 12)])
        y = tl.Sequences([values], times=[np.linspace(-4, 7, 12)])
        found = tl.GDTW().align(x, y)
        np.testing.assert_allclose(found.warp.values, np.linspace(-4, 7, 12), atol=1e-9)
        assert found.warp(150.0) == pytest.approx(1.5)
        assert found.cost == pytest.approx(0, abs=1e-20)

    def test_irregular_timestamps_change_nothing_about_the_signals(self):
        rng = np.random.default_rng(0)
        s = np.sort(np.append(rng.uniform(0.05, 0.95, 38), [0, 1]))
        t = np.linspace(0, 1, 30)
        signal = lambda u: np.sin(6 * u) + u  # noqa: E731
        x, y = tl.Sequences([signal(t)], times=[t]), tl.Sequences([signal(s)], times=[s])
        found = tl.GDTW(regularization=0.01).align(x, y)
        np.testing.assert_allclose(found.warp.values, t, atol=0.03)

    def test_a_subsequence_is_found_where_it_lies(self):
        rng = np.random.default_rng(1)
        y = np.cumsum(rng.normal(size=(60, 2)), 0)
        found = tl.GDTW(subsequence=True, regularization=1e-4).align(y[20:35], y)
        np.testing.assert_allclose(found.warp.values, np.arange(20, 35), atol=0.05)

    def test_more_regularization_makes_straighter_warps(self):
        rng = np.random.default_rng(2)
        x, y = rng.normal(size=(2, 30)).cumsum(1)
        bends = [
            np.abs(tl.GDTW(regularization=lam).align(x, y).warp.slopes - 1).max() for lam in (0.01, 1.0, 100.0, 1e4)
        ]
        assert bends == sorted(bends, reverse=True)
        assert bends[-1] < 0.05

    def test_pairwise_is_align_of_every_pair(self):
        rng = np.random.default_rng(3)
        X = tl.Sequences([rng.normal(size=(n, 2)) for n in (7, 1, 12, 5)])
        metric = tl.GDTW(regularization=0.1, slope=(0.1, 4.0), penalty="huber")
        matrix = metric.pairwise(X)
        for i in range(4):
            for j in range(4):
                assert metric.align(X[i], X[j]).cost == matrix[i, j]
        assert [a.cost for a in metric.align_each(X, X)] == np.diag(matrix).tolist()

    def test_channel_order_does_not_matter(self):
        rng = np.random.default_rng(4)
        x, y = rng.normal(size=(2, 15, 3))
        one, two = tl.GDTW().align(x, y), tl.GDTW().align(x[:, [2, 0, 1]], y[:, [2, 0, 1]])
        np.testing.assert_allclose(one.warp.values, two.warp.values, atol=1e-8)

    def test_reversing_both_clocks_reverses_the_warp(self):
        rng = np.random.default_rng(5)
        x, y = rng.normal(size=(2, 15, 2)).cumsum(1)
        forth, back = tl.GDTW(regularization=0.1).align(x, y), tl.GDTW(regularization=0.1).align(x[::-1], y[::-1])
        assert forth.cost == pytest.approx(back.cost, rel=1e-9)
        np.testing.assert_allclose(forth.warp.values, 14 - back.warp.values[::-1], atol=1e-6)

    def test_single_steps_and_constants_have_warps(self):
        for x, y in ((1, 5), (5, 1), (1, 1)):
            found = tl.GDTW().align(np.ones(x), np.zeros(y))
            assert found.cost == pytest.approx(1)
        flat = tl.GDTW(subsequence=True).align(np.ones(6), np.ones(9))
        assert flat.cost == pytest.approx(0, abs=1e-12)

    def test_regularization_is_selected_by_true_warps(self):
        t = np.linspace(0, 1, 40)
        x, y = np.sin(7 * t**2), np.sin(7 * t) + 0.01 * np.random.default_rng(6).normal(size=40)
        chosen = tl.GDTW().select_regularization([x], [y], [39 * t**2])
        deviation = lambda m: np.abs(m.align(x, y).warp.values - 39 * t**2).mean()  # noqa: E731
        assert deviation(chosen) <= min(deviation(tl.GDTW(regularization=lam)) for lam in (0.001, 1.0, 100.0)) + 1e-9

    def test_regularization_is_selected_by_labels(self):
        rng = np.random.default_rng(7)
        X = tl.Sequences(rng.normal(size=(8, 10)), labels=[0, 1] * 4)
        assert tl.GDTW().select_regularization(X, values=[1.0, 0.1]).regularization in (1.0, 0.1)

    def test_it_is_drawn_with_its_warp(self):
        found = tl.GDTW().align(np.sin(np.arange(20.0)), np.cos(np.arange(25.0)))
        assert len(found.plot().axes) == 3

    def test_its_plan_mixes_neighbouring_steps(self):
        found = tl.GDTW(regularization=0.01).align(np.arange(5.0), np.linspace(0, 4, 9))
        np.testing.assert_allclose(found.plan.sum(1), 1)
        np.testing.assert_allclose(found.plan @ np.arange(9), found.warp.values, atol=1e-9)


class TestVectorsOverTime:
    x, y = np.random.default_rng(8).normal(size=(2, 9)).cumsum(1)

    @pytest.mark.parametrize("span", [8.0, 0.5])
    def test_bounds_are_in_the_time_of_y(self, span):
        """However long y's clock runs, and wherever it starts, the warp is the same one on it."""
        signal = np.arange(9.0) ** 1.5  # with itself: the diagonal, as far as the bounds let it
        for low, high in ((2.3, 4.6), (np.linspace(1, 5, 9), np.linspace(2, 7, 9))):
            clock = tl.Sequences([signal], times=[10 + np.linspace(0, span, 9)])
            bounds = (10 + low * span / 8, 10 + high * span / 8)
            found = tl.GDTW(regularization=1e-4, bounds=bounds, subsequence=True).align(signal, clock).warp.values
            steps = tl.GDTW(regularization=1e-4, bounds=(low, high), subsequence=True).align(signal, signal).warp.values
            np.testing.assert_allclose(found, 10 + steps * span / 8, atol=1e-9)
            np.testing.assert_allclose(steps, np.clip(np.arange(9), low, high), atol=0.02)
            ends = np.broadcast_to(bounds[0], 9)[0], np.broadcast_to(bounds[1], 9)[-1]
            np.testing.assert_allclose(found[[0, -1]], ends, rtol=0, atol=1e-9)

    def test_equal_numbers_are_one_number(self):
        one = tl.GDTW(regularization=0.01, slope=(0.3, 2.0), bounds=(1.3, 6.6), subsequence=True)
        many = replace(one, slope=([0.3] * 8, np.full(8, 2.0)), bounds=([1.3] * 9, (6.6,) * 9))
        np.testing.assert_array_equal(one.align(self.x, self.y).warp.values, many.align(self.x, self.y).warp.values)
        X = tl.Sequences([self.x, self.y, self.x[::-1]])
        np.testing.assert_array_equal(one.pairwise(X), many.pairwise(X))

    def test_slopes_are_kept_interval_by_interval(self):
        low, high = np.tile([0.9, 0.2], 4), np.tile([1.1, 3.0], 4)
        slopes = tl.GDTW(regularization=0.001, slope=(low, high)).align(self.x, self.y).warp.slopes
        assert (slopes >= low - 1e-8).all()
        assert (slopes <= high + 1e-8).all()
        assert slopes.max() > 1.2

    @pytest.mark.learn
    def test_the_layer_finds_the_same(self):
        import torch

        band = np.arange(9) - 1.5, np.arange(9) + 1.5
        found = tl.GDTW(regularization=0.01, bounds=band).align(self.x, self.y)
        x, y = (torch.tensor(side)[None, :, None] for side in (self.x, self.y))
        layer = tl.nn.DecDTW(regularization=0.01, bounds=tuple(torch.tensor(end) for end in band))
        np.testing.assert_array_equal(layer(x, y).phi[0].numpy(), found.warp.values)

    def test_it_stays_a_value(self, tmp_path):
        given = {"slope": (np.full(8, 0.5), None), "bounds": ([0.0] * 9, 8.0), "regularization": 0}
        one, two = tl.GDTW(**given), tl.GDTW(**given)
        assert one == two
        assert len({one, two}) == 1
        assert eval(repr(one), {"GDTW": tl.GDTW}) == one
        save_model(one, tmp_path / "m")
        assert tl.load_model(tmp_path / "m") == one

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (
                {"slope": ([0.5] * 9, None)},
                r"slope\[0\] has 9 values for an x of 9 steps: expected 8, one for each inter",
            ),
            ({"slope": (0.0, [2.0] * 4)}, r"slope\[1\] has 4 values for an x of 9 steps: expected 8"),
            (
                {"bounds": ([0.0] * 8, 8.0)},
                r"bounds\[0\] has 8 values for an x of 9 steps: expected 9, one for each step",
            ),
        ],
    )
    def test_a_vector_of_another_length_is_named(self, options, words):
        with pytest.raises(ValueError, match=words):
            tl.GDTW(**options).align(self.x, self.y)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"regularization": -1}, "regularization=-1: expected a finite number at least 0"),
            ({"regularization": np.nan}, "regularization=nan"),
            ({"slope": (2.0, 1.0)}, "the first at most the second"),
            ({"slope": (np.inf, None)}, r"slope\[0\]=inf"),
            ({"bounds": (3.0, 1.0)}, "the first at most the second"),
            ({"bounds": ([0.0, 3.0], 2.0)}, "the first at most the second"),
            ({"bounds": ([0.0, np.nan], 2.0)}, r"bounds\[0\]\[1\]=nan"),
            ({"bounds": ([0.0, 1.0], [1.0, 2.0, 3.0])}, r"bounds\[0\] has 2 values and bounds\[1\] 3"),
            ({"bounds": ([[0.0], [1.0]], 2.0)}, r"bounds\[0\] has shape \(2, 1\)"),
            ({"slope": ([], None)}, r"slope\[0\] has shape \(0,\)"),
            ({"penalty": "cubed"}, "expected one of 'squared'"),
            ({"delta": -1.0}, "delta=-1.0"),
            ({"refinements": -1}, "refinements=-1"),
            ({"grid": 1}, "grid=1"),
            ({"grid": 70000}, "at most 65535"),
        ],
    )
    def test_impossible_options_are_named(self, options, words):
        with pytest.raises(ValueError, match=words):
            tl.GDTW(**options)

    @pytest.mark.parametrize(("options", "kind"), [({"slope": 1.0}, "slope"), ({"subsequence": 1}, "subsequence")])
    def test_wrong_kinds_are_named(self, options, kind):
        with pytest.raises(TypeError, match=kind):
            tl.GDTW(**options)

    def test_slopes_too_small_to_reach_the_end_are_told_where(self):
        with pytest.raises(ValueError, match=r"at x's time 9 it must be at least 4, the end of y, .* only to 2: raise"):
            tl.GDTW(slope=(0.0, 0.5)).align(np.arange(10.0), np.arange(5.0))

    def test_slopes_too_large_are_told_where(self):
        with pytest.raises(ValueError, match=r"at x's time 7 it must be at most 4, .* already at 4\.66"):
            tl.GDTW(slope=(1.5, 2.0)).align(np.arange(10.0), np.arange(5.0))

    def test_bounds_that_leave_out_the_ends_are_told_so(self):
        with pytest.raises(ValueError, match="the ends of both sequences are matched"):
            tl.GDTW(bounds=(1.0, 3.0)).align(np.arange(10.0), np.arange(5.0))

    def test_missing_values_are_refused(self):
        with pytest.raises(ValueError, match="GDTW"):
            tl.GDTW().align([0.0, np.nan, 1.0], [0.0, 1.0])

    def test_selecting_needs_truth_or_labels(self):
        with pytest.raises(ValueError, match="go together"):
            tl.GDTW().select_regularization([[0.0, 1.0]], [[0.0, 1.0]])
        with pytest.raises(ValueError, match="labels"):
            tl.GDTW().select_regularization([[0.0, 1.0]])
        with pytest.raises(ValueError, match=r"truth\[0\] has shape"):
            tl.GDTW().select_regularization([[0.0, 1.0]], [[0.0, 1.0]], [[0.0]])

    @pytest.mark.parametrize(
        ("values", "error", "words"),
        [
            (0.1, TypeError, "values=0.1: expected several"),
            ("0.1", TypeError, "values='0.1': expected several"),
            ([], ValueError, "is empty"),
            ([0.1, -1.0], ValueError, r"values\[1\]"),
            ([0.1, "much"], TypeError, r"values\[1\]"),
        ],
    )
    def test_strengths_that_cannot_be_tried_are_named(self, values, error, words):
        with pytest.raises(error, match=words):
            tl.GDTW().select_regularization([[0.0, 1.0]], [[0.0, 1.0]], [[0.0, 1.0]], values=values)

    def test_times_too_close_to_tell_a_slope_are_named(self):
        x = tl.Sequences([[0.0, 1.0, 2.0]] * 2, times=[[0.0, 1.0, 2.0], [0.0, 1.0, 1.0 + 1e-10]])
        with pytest.raises(ValueError, match=r"times of sequence 1: steps 1 and 2 are 1e-10 apart.*merge the two"):
            tl.GDTW().pairwise(x)

    def test_truth_that_is_not_finite_is_named(self):
        with pytest.raises(ValueError, match=r"truth\[0\] is not finite at step 1"):
            tl.GDTW().select_regularization([[0.0, 1.0]], [[0.0, 1.0]], [[0.0, np.nan]])

    def test_a_warp_of_datetimes_is_asked_in_seconds(self):
        hours = np.datetime64("2024-01-01", "ns") + np.arange(5) * np.timedelta64(1, "h")
        x = tl.Sequences([np.arange(5.0)], times=[hours])
        warp = tl.GDTW().align(x, x).warp
        assert warp(7200.0) == pytest.approx(7200.0)
        with pytest.raises(TypeError, match="seconds since x's first step"):
            warp(hours[2])
