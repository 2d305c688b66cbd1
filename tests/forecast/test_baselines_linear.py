"""AR and DMD beside formulas, least squares and linear systems whose eigenvalues are known."""

import warnings

import numpy as np
import pytest

import timelike as tl
from naive import forecasting as naive
from timelike.forecast import AR, DMD
from timelike.forecast.baselines import dmd
from timelike.forecast.baselines.stability import companion_matrices, contract_eigenvalues

RNG = np.random.default_rng(0)


def simulated(coefficients, lengths, noise=1.0, seed=0, mean=0.0):
    """Sequences of x_t = Σ Φ_l x_{t−l} + ε around a mean."""
    rng, made = np.random.default_rng(seed), []
    coefficients = np.asarray(coefficients, float)
    order, n_cells = coefficients.shape[:2]
    for n in lengths:
        x = list(rng.standard_normal((order, n_cells)))
        while len(x) < n + 50:
            x.append(sum(c @ x[-lag] for lag, c in enumerate(coefficients, 1)) + noise * rng.standard_normal(n_cells))
        made.append(np.array(x[50:]) + mean)
    return made


def design(train, order, cells):
    before = [
        [one[t - lag, c] for lag in range(1, order + 1) for c in cells] for one in train for t in range(order, len(one))
    ]
    after = [one[t] for one in train for t in range(order, len(one))]
    return np.hstack([np.ones((len(before), 1)), before]), np.array(after)


class TestAR:
    def test_of_order_one_it_is_the_formula(self):
        train = simulated([[[0.8]]], (50, 30), mean=7.0)
        x = np.concatenate([one[:-1, 0] for one in train])
        y = np.concatenate([one[1:, 0] for one in train])
        slope = np.cov(x, y, bias=True)[0, 1] / np.var(x)
        constant = y.mean() - slope * x.mean()
        found = AR(order=1).fit(train).predict([[9.0]], 4).mean.ravel()
        level = constant / (1 - slope)
        np.testing.assert_allclose(found, level + slope ** np.arange(1, 5) * (9.0 - level), rtol=1e-9)

    @pytest.mark.parametrize("order", [1, 2, 5])
    def test_per_channel_it_is_least_squares_of_each(self, order):
        train = simulated([np.diag([0.5, 0.2, -0.3])], (30, 6, 21), mean=[3.0, -100.0, 0.0])
        past = simulated([np.diag([0.5, 0.2, -0.3])], (order, 9), seed=1)
        found = AR(order=order).fit(train).predict(past, 6).mean
        for cell in range(3):
            before, after = design(train, order, [cell])
            solved = np.linalg.lstsq(before, after[:, cell], rcond=None)[0]
            own = solved[1:].reshape(order, 1, 1)
            for item, one in enumerate(past):
                expected = naive.autoregressed(one[:, [cell]], solved[:1], own, 6)
                np.testing.assert_allclose(found[item][:, [cell]], expected, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("order", [1, 3])
    def test_as_a_vector_it_is_least_squares_of_all(self, order):
        mixing = [[[0.5, 0.4], [-0.4, 0.5]]]
        train, past = simulated(mixing, (40, 25), mean=[3.0, -50.0]), simulated(mixing, (order, 9), seed=1)
        found = AR(order=order, vector=True).fit(train).predict(past, 6).mean
        before, after = design(train, order, [0, 1])
        solved = np.linalg.lstsq(before, after, rcond=None)[0]
        own = solved[1:].reshape(order, 2, 2).transpose(0, 2, 1)
        for item, one in enumerate(past):
            expected = naive.autoregressed(one, solved[0], own, 6)
            np.testing.assert_allclose(found[item], expected, rtol=1e-8, atol=1e-8)

    def test_the_order_that_made_the_data_is_found(self):
        train = simulated([[[1.2]], [[-0.9]], [[0.5]]], (800,))
        assert AR().fit(train).order_ == 3
        mixing = 0.9 * np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
        assert AR(vector=True).fit(simulated([np.zeros((2, 2)), mixing], (600,))).order_ == 2

    def test_the_criterion_is_that_of_fits_of_every_order(self):
        train = simulated([[[0.6]], [[0.3]]], (40, 33))
        model = AR().fit(train)
        most = int(10 * np.log10(73))
        scores = []
        for order in range(1, most + 1):  # all judged by the steps that follow `most` others
            before, after = design([one[most - order :] for one in train], order, [0])
            left = np.linalg.lstsq(before, after, rcond=None)[1][0]
            scores.append(len(after) * np.log(left / len(after)) + np.log(len(after)) * (order + 1))
        assert model.order_ == 1 + int(np.argmin(scores))

    def test_samples_have_the_spread_that_the_noise_builds_up(self):
        covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
        rng = np.random.default_rng(0)
        noise = rng.multivariate_normal([0, 0], covariance, 4000)
        x = np.zeros((4000, 2))
        for t in range(1, 4000):
            x[t] = [0.9, 0.5] * x[t - 1] + noise[t]
        found = AR(order=1).fit([x]).predict([x[:1]], 3, n_samples=20000, random_state=0)
        lines = [np.polyfit(x[:-1, c], x[1:, c], 1) for c in range(2)]
        left = np.stack([x[1:, c] - np.polyval(line, x[:-1, c]) for c, line in enumerate(lines)])
        covariance = left @ left.T / (left.shape[1] - 2)
        expected = np.zeros((2, 2))
        for step in range(3):
            grown = np.diag([line[0] ** step for line in lines])
            expected += grown @ covariance @ grown
            np.testing.assert_allclose(np.cov(found.samples[:, 0, step].T), expected, rtol=0.04)
        np.testing.assert_allclose(found.samples.mean(axis=0), found.mean, atol=0.06)

    def test_a_seed_repeats_samples_and_another_does_not(self):
        train = simulated([[[0.6]]], (50,))
        model = AR(order=1).fit(train)
        one, same, other = (model.predict(train, 3, n_samples=4, random_state=seed).samples for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, same)
        assert (one != other).all()

    @pytest.mark.parametrize("vector", [False, True])
    def test_growth_without_bound_is_damped_and_said(self, vector):
        grows = [1.2 ** np.arange(40.0)[:, None] + [0.0, 5.0]]
        with pytest.warns(UserWarning, match=r"the AR that fits X best multiplies a part of it by 1\.2 in every step"):
            model = AR(order=2, vector=vector).fit(grows)
        assert model.spectral_radius_ == pytest.approx(1.2, abs=1e-3)
        found = model.predict(grows, 10000).mean
        assert np.isfinite(found).all()
        assert np.abs(found).max() < 1e3 * np.abs(grows[0]).max()

    def test_damping_divides_all_roots_by_the_largest(self):
        with warnings.catch_warnings(action="ignore"):
            model = AR(order=2).fit([1.15 ** np.arange(60.0) + np.sin(np.arange(60.0))])
        assert model.spectral_radius_ > 1.1
        roots = np.abs(np.linalg.eigvals(companion_matrices(model.coefficients_.T[:, :, None, None])))
        assert roots.max() == pytest.approx(1.0)

    def test_a_line_goes_on_as_a_line(self):
        line = 3.0 + 0.5 * np.arange(40)
        np.testing.assert_allclose(
            AR(order=2).fit([line[:30]]).predict([line[:30]], 10).mean.ravel(), line[30:], rtol=1e-6
        )

    @pytest.mark.parametrize(("vector", "enough"), [(False, 7), (True, 10)])
    def test_an_order_too_long_for_the_data_says_how_long_they_must_be(self, vector, enough):
        short = [RNG.standard_normal((enough - 1, 2))]
        with pytest.raises(ValueError, match=f"order=3: .* such as one sequence of {enough} steps"):
            AR(order=3, vector=vector).fit(short)
        with warnings.catch_warnings(action="ignore"):  # as many numbers as steps may grow
            AR(order=3, vector=vector).fit([RNG.standard_normal((enough, 2))])

    def test_single_steps_have_no_order(self):
        with pytest.raises(ValueError, match="of 1 time step each.*AR learns what follows a step"):
            AR().fit([[1.0], [2.0], [3.0]])

    @pytest.mark.parametrize("order", [0, -1])
    def test_an_order_below_one_is_refused(self, order):
        with pytest.raises(ValueError, match=f"order={order}: expected at least 1"):
            AR(order=order).fit([[1.0, 2.0]])


def system(seed=0, n_cells=6):
    """A matrix with eigenvalues 0.95 e^{±0.7i}, 0.99 e^{±0.2i}, 0.8 and -0.5."""
    rng = np.random.default_rng(seed)
    blocks = np.zeros((6, 6))
    for place, (modulus, angle) in enumerate([(0.95, 0.7), (0.99, 0.2)]):
        own = slice(2 * place, 2 * place + 2)
        blocks[own, own] = modulus * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    blocks[4, 4], blocks[5, 5] = 0.8, -0.5
    basis = rng.standard_normal((n_cells, 6))
    return blocks, basis


def moved(n_cells=6, length=40, drift=0.0, seed=0):
    blocks, basis = system(n_cells=n_cells)
    state, found = np.random.default_rng(seed).standard_normal(6), []
    for _ in range(length):
        found.append(basis @ state)
        state = blocks @ state + drift
    return np.array(found)


EIGENVALUES = [0.99 * np.exp(0.2j), 0.99 * np.exp(-0.2j), 0.95 * np.exp(0.7j), 0.95 * np.exp(-0.7j), 0.8, -0.5]


class TestDMD:
    @pytest.mark.parametrize("drift", [0.0, 0.3])
    def test_the_eigenvalues_of_a_linear_system_are_recovered(self, drift):
        model = DMD().fit([moved(drift=drift), moved(drift=drift, seed=1)])
        found, expected = np.sort_complex(model.eigenvalues_), np.sort_complex(EIGENVALUES)
        np.testing.assert_allclose(found, expected, atol=1e-7)
        whole = moved(length=60, drift=drift, seed=2)
        np.testing.assert_allclose(model.predict([whole[:20]], 40).mean[0], whole[20:], atol=1e-6)

    def test_modes_are_eigenvectors_of_the_system(self):
        blocks, basis = system()
        matrix = basis @ blocks @ np.linalg.inv(basis)
        model = DMD().fit([moved(), moved(seed=1)])
        for value, mode in zip(model.eigenvalues_, model.modes_, strict=True):
            np.testing.assert_allclose(matrix @ mode, value * mode, atol=1e-6 * np.abs(mode).max())

    def test_many_cells_that_move_together_have_few_modes(self):
        field = moved(n_cells=200).reshape(40, 1, 10, 20)
        model = DMD().fit([field + 1e-3 * np.random.default_rng(0).standard_normal(field.shape)])
        assert model.rank_ == 6
        assert model.modes_.shape == (6, 1, 10, 20)
        assert np.abs(model.eigenvalues_ - 0.99 * np.exp(0.2j)).min() < 0.01

    def test_without_noise_the_rank_is_that_of_the_system(self):
        assert DMD().fit([moved(n_cells=50), moved(n_cells=50, seed=1)]).rank_ == 6

    def test_the_threshold_is_that_of_random_matrices(self):
        """Of pure noise nothing is above it: Gavish and Donoho's λ(β)/√μ(β), here against the edge 1 + √β."""
        for rows, columns in ((300, 300), (100, 400)):
            values = np.linalg.svd(RNG.standard_normal((rows, columns)), compute_uv=False)
            assert values.max() < dmd.hard_threshold(min(rows, columns) / max(rows, columns)) * np.median(values)
        assert dmd.hard_threshold(1.0) == pytest.approx(2.858, abs=0.02)  # their table for square matrices

    def test_delays_let_a_single_channel_oscillate(self):
        wave = np.cos(0.3 * np.arange(80)) + 4.0
        found = DMD(delays=3).fit([wave[:50]]).predict([wave[:50]], 30).mean.ravel()
        np.testing.assert_allclose(found, wave[50:], atol=1e-6)
        assert np.abs(DMD().fit([wave[:50]]).predict([wave[:50]], 30).mean.ravel() - wave[50:]).max() > 0.5

    def test_growing_modes_are_damped_and_said(self):
        grows = [np.stack([1.2 ** np.arange(30.0), np.cos(np.arange(30.0)), np.sin(np.arange(30.0))], axis=1)]
        with pytest.warns(UserWarning, match=r"the DMD that fits X best multiplies a part of it by 1\.2"):
            model = DMD().fit(grows)
        assert np.abs(model.eigenvalues_).max() == pytest.approx(1.2)
        found = model.predict(grows, 5000).mean
        assert np.isfinite(found).all()
        np.testing.assert_allclose(
            found[0, :20, 1], np.cos(np.arange(30, 50)), atol=1e-6
        )  # the others are as they were

    def test_a_matrix_without_a_basis_of_eigenvectors_is_shrunk(self):
        jordan = np.array([[1.5, 1.0], [0.0, 1.5]])
        assert np.abs(np.linalg.eigvals(contract_eigenvalues(jordan))).max() == pytest.approx(1.0, abs=1e-6)
        rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
        assert contract_eigenvalues(rotation) is rotation

    def test_windows_are_taken_evenly_where_frames_are_large(self, monkeypatch):
        monkeypatch.setattr(dmd, "MAX_MATRIX_ROWS", 25)
        model = DMD().fit([moved(n_cells=50, length=100)])
        assert np.abs(model.eigenvalues_ - 0.99 * np.exp(0.2j)).min() < 1e-6

    def test_bad_options_are_named(self):
        with pytest.raises(ValueError, match="rank=3: X gives 9 states of 2 numbers, expected at most 2"):
            DMD(rank=3).fit([RNG.standard_normal((10, 2))])
        with pytest.raises(ValueError, match="delays=5: the longest sequence of X has 5 steps, expected at least 6"):
            DMD(delays=5).fit([np.arange(5.0)])
        DMD(delays=5).fit([np.arange(6.0)])

    def test_masked_modes_are_nan_where_there_is_nothing(self):
        field = np.insert(moved(), 2, np.nan, axis=1)
        model = DMD().fit(tl.Sequences([field]))
        assert np.isnan(model.modes_[:, 2]).all()
        assert np.isfinite(model.modes_[:, [0, 1, 3, 4, 5, 6]]).all()
