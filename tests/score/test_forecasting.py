"""Scores of forecasts against loops written from their formulas; what does not count, and what is refused."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torchmetrics.functional.image import structural_similarity_index_measure

import timelike as tl
from naive import forecast_scores as naive
from timelike import score

RNG = np.random.default_rng(0)
FRAMES = [(), (3,), (2, 4, 3)]


def futures(frame, n_samples=None, seed=0):
    """Round numbers, so that many are equal; some cells of the last two items are masked at all times."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(-3, 4, (4, 5, *frame)).astype(float)
    answer = rng.integers(-3, 4, (*(() if n_samples is None else (n_samples,)), *truth.shape)).astype(float)
    if frame:
        mask = rng.random(frame) < 0.4
        mask.flat[0] = False
        truth[2:, :, mask] = np.nan
    return truth, answer


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("ours", "error"), [(score.mse, lambda x, z: (z - x) ** 2), (score.mae, lambda x, z: abs(z - x))]
)
def test_errors_are_means_over_cells_then_over_items_and_steps(frame, ours, error):
    truth, answer = futures(frame)
    each = naive.each(truth, lambda place: error(float(truth[place]), float(answer[place])))
    assert ours(truth, answer) == pytest.approx(naive.mean(each))
    steps = [naive.mean(each, lambda key, h=h: key[1] == h) for h in range(5)]
    items = [naive.mean(each, lambda key, i=i: key[0] == i) for i in range(4)]
    np.testing.assert_allclose(ours(truth, answer, per="step"), steps)
    np.testing.assert_allclose(ours(truth, answer, per="item"), items)
    np.testing.assert_allclose(ours(truth, answer, per="each"), [[each[i, h] for h in range(5)] for i in range(4)])


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("n_samples", [1, 2, 7])
def test_ensemble_scores_are_their_double_sums(frame, n_samples):
    truth, samples = futures(frame, n_samples)
    assert score.crps(truth, samples) == pytest.approx(naive.mean(naive.crps(truth, samples)), abs=1e-12)
    assert score.energy_score(truth, samples) == pytest.approx(naive.mean(naive.energy(truth, samples)), abs=1e-12)


def test_items_in_blocks_have_the_same_crps(monkeypatch):
    truth, samples = futures((3,), 6)
    whole = score.crps(truth, samples, per="each")
    monkeypatch.setattr("timelike.score.forecasting._MAX_NUMBERS", 1)
    np.testing.assert_array_equal(score.crps(truth, samples, per="each"), whole)


def test_one_sample_has_the_absolute_error_as_crps_and_the_distance_as_energy():
    truth, answer = futures((3,))
    assert score.crps(truth, answer[None]) == pytest.approx(score.mae(truth, answer))
    unmasked = np.nan_to_num(truth)
    norms = np.linalg.norm(unmasked - answer, axis=2)
    assert score.energy_score(unmasked, answer[None]) == pytest.approx(norms.mean())


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=9), st.integers(-5, 5), st.floats(-1e6, 1e6))
def test_crps_of_numbers_is_the_energy_score_and_moves_with_them(drawn, known, shift):
    samples, truth = np.array(drawn, float).reshape(-1, 1, 1), np.array([[float(known)]])
    found = score.crps(truth, samples)
    assert score.energy_score(truth, samples) == pytest.approx(found, abs=1e-12)
    assert score.crps(truth + shift, samples + shift) == pytest.approx(found, abs=1e-8)
    assert score.crps(truth, samples[::-1]) == pytest.approx(found, abs=1e-12)


def test_the_fair_crps_does_not_depend_on_the_number_of_samples():
    """Of normal numbers around a normal truth: 1/√π, whatever the number; the plain estimate has 1.5 times it for two."""
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((40_000, 1))
    for n_samples in (2, 10):
        found = score.crps(truth, rng.standard_normal((n_samples, 40_000, 1)))
        assert found == pytest.approx(1 / math.sqrt(math.pi), abs=0.015)


def test_quantiles_give_the_crps_of_a_normal_distribution():
    from scipy.stats import norm

    levels = (np.arange(200) + 0.5) / 200
    truth = np.array([[-0.7, 0.0, 1.3]])
    quantiles = np.broadcast_to(norm.ppf(levels)[:, None, None], (200, 1, 3))
    exact = truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / math.sqrt(math.pi)  # Gneiting et al., 2005
    np.testing.assert_allclose(score.crps_quantiles(truth, quantiles, levels, per="each"), exact, atol=2e-3)
    with pytest.raises(ValueError, match="expected a level for each"):
        score.crps_quantiles(truth, quantiles, levels[:5])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_pinball_weighs_both_sides(q):
    truth, answer = futures((3,))
    assert score.pinball_loss(truth, answer, q) == pytest.approx(naive.mean(naive.pinball(truth, answer, q)))


def test_pinball_of_the_median_is_half_the_absolute_error():
    truth, answer = futures((2, 4, 3))
    assert score.pinball_loss(truth, answer, 0.5) == pytest.approx(score.mae(truth, answer) / 2)
    with pytest.raises(ValueError, match="q=1"):
        score.pinball_loss(truth, answer, 1.0)


def test_coverage_counts_both_ends_and_no_masked_cell():
    truth = np.array([[[1.0, np.nan], [2.0, np.nan], [3.0, np.nan], [4.0, np.nan]]])
    low, high = np.where(np.isnan(truth), np.nan, 2.0), np.where(np.isnan(truth), np.nan, 3.0)
    assert score.coverage(truth, low, high) == 0.5
    np.testing.assert_array_equal(score.coverage(truth, low, high, per="step"), [0, 1, 1, 0])
    assert score.interval_width(low, high) == 1.0
    with pytest.raises(ValueError, match=r"low is 3 and high 2 at \(0, 0, 0\)"):
        score.coverage(truth, high, low)


# --- scales --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [1, 3])
def test_mase_divides_each_channel_of_each_item_by_its_own_naive_error(period):
    truth, answer = RNG.standard_normal((2, 3, 2, 5))[0], RNG.standard_normal((3, 2, 5))
    truth, answer = truth.transpose(0, 2, 1), answer.transpose(0, 2, 1)  # (3, 5, 2)
    pasts = [RNG.standard_normal((n, 2)) * [1, 100] for n in (period + 1, 9, 20)]
    expected = [
        [
            [abs(answer[i, h, c] - truth[i, h, c]) / naive.naive_scale(pasts[i][:, c], period) for c in range(2)]
            for h in range(5)
        ]
        for i in range(3)
    ]
    np.testing.assert_allclose(score.mase(truth, answer, pasts, period, per="each"), np.mean(expected, axis=2))


def test_the_naive_forecast_has_a_mase_of_one_on_its_own_training_data():
    series = RNG.standard_normal(30)
    truth, naive_forecast = series[None, 4:], series[None, :-4]
    assert score.mase(truth, naive_forecast, [series], 4) == pytest.approx(1.0)


def test_a_pooled_scale_is_that_of_all_changes_together():
    pasts = [[0.0, 1.0], [0.0, 3.0, 3.0], [7.0, 7.0]]
    assert score.mase([[4.0]], [[0.0]], pasts, pooled=True) == 4 / (4 / 4)
    with pytest.raises(ValueError, match="sequence 2 never changes over the period of 1 steps in channel 0.*pooled"):
        score.mase([[4.0]] * 3, [[0.0]] * 3, pasts)
    with pytest.raises(ValueError, match="sequence 0 is too short for a period of 2 steps"):
        score.mase([[4.0]] * 3, [[0.0]] * 3, pasts, 2)
    with pytest.raises(ValueError, match="training has 3 sequences for 1 items.*pooled=True"):
        score.mase([[4.0]], [[0.0]], pasts)
    with pytest.raises(ValueError, match=r"frames of shape \(1,\) and truth \(2,\)"):
        score.mase(np.zeros((1, 1, 2)), np.zeros((1, 1, 2)), pasts, pooled=True)


def test_pictures_are_scaled_by_channel_and_masked_cells_need_no_scale():
    truth, past = RNG.random((1, 2, 2, 3, 3)), RNG.random((1, 6, 2, 3, 3))
    truth[:, :, 1], past[:, :, 1] = np.nan, np.nan
    scale = np.abs(np.diff(past[0, :, 0], axis=0)).mean()
    expected = np.abs(truth[0, :, 0]).mean() / scale
    assert score.mase(truth, np.zeros_like(truth), tl.Sequences(past)) == pytest.approx(expected)


# --- pictures ------------------------------------------------------------------------------------------------------------


def test_psnr_is_a_mean_of_decibels_and_capped():
    truth = np.zeros((1, 3, 1, 2, 2))
    answer = truth + np.array([0.1, 0.01, 0.0])[:, None, None, None]
    np.testing.assert_allclose(score.psnr(truth, answer, per="step"), [20, 40, 100])
    np.testing.assert_allclose(score.psnr(truth * 255, answer * 255, value_range=255, per="step"), [20, 40, 100])
    assert score.psnr(truth, answer, maximum=50) == pytest.approx(110 / 3)


@pytest.mark.parametrize("judge", [score.psnr, score.ssim])
def test_pictures_of_another_range_are_refused_with_the_way_out(judge):
    truth, answer = RNG.integers(0, 256, (2, 2, 3, 1, 12, 12)).astype(np.uint8)
    for shown in (truth, tl.Sequences(truth), torch.tensor(truth), np.full_like(truth, 200)):
        with pytest.raises(
            ValueError, match="truth has bytes from .*expected a range of value_range=1; .*255 for bytes"
        ):
            judge(shown, answer)
    with pytest.raises(ValueError, match=r"truth has numbers from 0 to 25\d: .*value_range=255 for bytes"):
        judge(truth.astype(float), answer)
    with pytest.raises(ValueError, match="truth has numbers from -1 to"):
        judge(truth / 127.5 - 1, answer)
    assert judge(truth, answer, value_range=255) == pytest.approx(judge(truth / 255, answer / 255))
    black_and_white = (truth > 99).astype(np.uint8)
    assert judge(black_and_white, black_and_white) in (1.0, 100.0)
    warm = truth / 255 + 280  # a field far from 0 that spans no more than the range
    assert judge(warm, warm) in (1.0, 100.0)
    hidden = np.where(np.arange(12) < 6, truth / 255, np.nan)
    assert np.isfinite(judge(hidden, answer / 255))


@pytest.mark.parametrize("value_range", [1.0, 255.0])
def test_ssim_is_the_mean_over_windows_inside_the_picture(value_range):
    truth = RNG.random((2, 2, 2, 13, 14)) * value_range
    answer = np.clip(truth + 0.2 * value_range * RNG.standard_normal(truth.shape), 0, value_range)
    expected = [
        [
            np.mean([naive.ssim(a, b, 11, value_range) for a, b in zip(x, y, strict=True)])
            for x, y in zip(xs, ys, strict=True)
        ]
        for xs, ys in zip(truth, answer, strict=True)
    ]
    np.testing.assert_allclose(score.ssim(truth, answer, value_range=value_range, per="each"), expected, atol=1e-9)


def test_ssim_is_that_of_scikit_image():
    """To a millionth; 0.26.0 was compared: structural_similarity(gaussian_weights=True, use_sample_covariance=False)."""
    metrics = pytest.importorskip("skimage.metrics")
    truth = RNG.random((1, 1, 1, 24, 31))
    answer = np.clip(truth + 0.1 * RNG.standard_normal(truth.shape), 0, 1)
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    expected = metrics.structural_similarity(truth[0, 0, 0], answer[0, 0, 0], **options)
    assert score.ssim(truth, answer) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("value_range", [1.0, 255.0])
@pytest.mark.parametrize("size", [(20, 16), (11, 11), (12, 40)])
def test_ssim_with_mirrored_edges_is_that_of_torchmetrics(size, value_range):
    truth = value_range * RNG.random((1, 3, 2, *size))
    answer = np.clip(truth + 0.1 * value_range * RNG.standard_normal(truth.shape), 0, value_range)
    options = {"data_range": value_range, "return_full_image": True, "reduction": "none"}
    theirs, places = structural_similarity_index_measure(torch.tensor(answer[0]), torch.tensor(truth[0]), **options)
    ours = score.ssim(truth, answer, value_range=value_range, edges="mirror", per="each")
    np.testing.assert_allclose(ours[0], theirs.numpy(), atol=1e-6)
    inside = places[..., 5 : size[0] - 5, 5 : size[1] - 5].mean(dim=(1, 2, 3)).numpy()
    np.testing.assert_allclose(score.ssim(truth, answer, value_range=value_range, per="each")[0], inside, atol=1e-6)


def test_the_edges_of_pictures_with_nothing_there_make_the_ssim_higher():
    """A digit in the middle, which is why numbers of the two kinds are not to be compared."""
    truth, answer = np.zeros((2, 1, 1, 1, 32, 32))
    truth[..., 12:20, 14:18], answer[..., 13:21, 14:18] = 1.0, 1.0
    assert score.ssim(truth, answer, edges="mirror") > score.ssim(truth, answer) + 0.05
    with pytest.raises(ValueError, match="edges='reflect': expected one of"):
        score.ssim(truth, answer, edges="reflect")


def test_masked_cells_are_masked_in_the_mirror_too():
    truth = RNG.random((1, 1, 1, 9, 9))
    answer = np.clip(truth + 0.1 * RNG.standard_normal(truth.shape), 0, 1)
    truth[..., 1, :4] = np.nan
    wide = [np.pad(side[0, 0, 0], 2, mode="reflect") for side in (truth, answer)]
    assert score.ssim(truth, answer, window=5, edges="mirror") == pytest.approx(naive.ssim(*wide, 5))


def test_masked_cells_have_no_weight_in_the_ssim():
    truth = RNG.random((1, 1, 1, 12, 12))
    answer = np.clip(truth + 0.1 * RNG.standard_normal(truth.shape), 0, 1)
    truth[..., :4, :7] = np.nan
    answer[..., :4, :3] = np.nan  # a forecast may have numbers there or none
    assert score.ssim(truth, answer, window=5) == pytest.approx(naive.ssim(truth[0, 0, 0], answer[0, 0, 0], 5))


def test_a_picture_smaller_than_the_window_has_a_smaller_one_and_says_so():
    truth, answer = RNG.random((2, 1, 1, 1, 8, 9))
    with pytest.warns(UserWarning, match="a side of 8 are smaller than the window of 11: it is 7 wide here") as heard:
        found = score.ssim(truth, answer)
    assert heard[0].filename == __file__
    assert found == pytest.approx(naive.ssim(truth[0, 0, 0], answer[0, 0, 0], 7))
    assert found == score.ssim(truth, answer, window=7)


def test_equal_pictures_are_equal():
    flat = np.full((1, 1, 1, 11, 11), 0.3)
    assert score.ssim(flat, flat) == 1.0
    with pytest.raises(ValueError, match=r"frames of shape \(3,\): expected images"):
        score.ssim(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)))
    with pytest.raises(ValueError, match="window=4: expected an odd number"):
        score.ssim(flat, flat, window=4)


# --- the best, skill, horizons ---------------------------------------------------------------------------------------------


def test_the_best_of_n_is_chosen_for_every_item_and_every_score():
    truth, samples = futures((3,), 6)
    truth = np.nan_to_num(truth)
    for name, call, choose in (("mse", score.mse, min), ("mae", score.mae, min), ("psnr", score.psnr, max)):
        expected = [choose(call(truth[i : i + 1], one[i : i + 1]) for one in samples) for i in range(len(truth))]
        np.testing.assert_allclose(score.best_of_n(truth, samples, name, per="item"), expected)
        assert score.best_of_n(truth, samples, name) == pytest.approx(np.mean(expected))


def test_the_best_by_one_score_need_not_be_the_best_by_another():
    truth = np.zeros((1, 2))
    samples = np.array([[[3.0, 0.0]], [[2.0, 2.0]]])
    assert score.best_of_n(truth, samples, "mae") == 1.5
    assert score.best_of_n(truth, samples, "mse") == 4.0
    np.testing.assert_array_equal(score.best_of_n(truth, samples, "mae", per="step"), [3.0, 0.0])  # of one future


def test_samples_are_put_in_order_from_the_best_to_the_worst_and_equal_ones_stay():
    truth = np.zeros((3, 2))
    samples = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 3.0], [2.0, 0.0, 1.0]])[..., None] * np.ones(2)
    np.testing.assert_array_equal(score.rank_samples(truth, samples, "mae").T, [[1, 2, 0], [2, 0, 1], [2, 0, 1]])
    np.testing.assert_array_equal(score.rank_samples(truth, samples, "psnr").T[0], [1, 2, 0])  # more is better
    # no error at all is as good as it gets, also twice, and infinite nowhere
    exact = np.stack([truth, truth + 1, truth])
    np.testing.assert_array_equal(score.rank_samples(truth, exact, "psnr")[:, 0], [0, 2, 1])
    assert score.best_of_n(truth, exact, "psnr") == 100


def test_the_best_future_is_followed_through_all_steps_and_not_chosen_anew():
    truth = np.zeros((2, 3))
    samples = np.array([[[0.0, 0.0, 9.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0], [0.0, 0.0, 2.0]]])
    np.testing.assert_array_equal(score.best_of_n(truth, samples, "mae", per="each"), [[2, 2, 2], [0, 0, 2]])
    np.testing.assert_array_equal(score.best_of_n(truth, samples, "mae", per="step"), [1, 1, 2])


def test_a_score_of_ones_own_says_whether_more_is_better():
    truth, samples = np.zeros((1, 1, 1, 2, 2)), np.stack([np.full((1, 1, 1, 2, 2), x) for x in (25.5, 2.55)])
    assert score.best_of_n(truth, samples, partial(score.psnr, value_range=255)) == pytest.approx(40)
    signed = lambda truth, answer, per: (answer - truth).mean(axis=(2, 3, 4))  # noqa: E731
    with pytest.raises(ValueError, match="higher_is_better=None: say whether more is better"):
        score.best_of_n(truth, samples, signed)
    assert score.best_of_n(truth, samples, signed, higher_is_better=True) == 25.5
    with pytest.raises(ValueError, match="score='rmse': expected one of 'mse'"):
        score.best_of_n(truth, samples, "rmse")


def test_a_score_without_a_number_is_blamed_and_not_the_truth():
    truth, samples = np.zeros((2, 3)), np.ones((4, 2, 3))
    with pytest.raises(ValueError, match=r"score gave nan for all of samples\[0\]: expected a number where truth"):
        score.best_of_n(truth, samples, lambda a, b, per: np.full((2, 3), np.nan), higher_is_better=True)
    nowhere = np.full((2, 3), np.nan)
    with pytest.raises(ValueError, match="truth has no number"):
        score.best_of_n(nowhere, samples, lambda a, b, per: b - a, higher_is_better=True)


def test_the_worst_is_not_taken_for_the_best():
    truth, samples = np.zeros((1, 1)), np.array([[[0.5]], [[0.1]]])
    for judge in ("psnr", score.psnr, partial(score.psnr, value_range=2)):
        with pytest.raises(ValueError, match="higher_is_better=False: more is better for psnr.*rank_samples"):
            score.best_of_n(truth, samples, judge, higher_is_better=False)
        assert score.best_of_n(truth, samples, judge, higher_is_better=True) == score.best_of_n(truth, samples, judge)
    with pytest.raises(ValueError, match="higher_is_better=True: less is better for mae"):
        score.rank_samples(truth, samples, "mae", higher_is_better=True)


def test_skill_is_the_part_of_the_way_to_perfection():
    assert score.skill(1.0, 4.0) == 0.75
    assert score.skill(5.0, 4.0) == -0.25
    assert score.skill(0.9, 0.6, perfect=1.0) == pytest.approx(0.75)
    np.testing.assert_array_equal(score.skill([1.0, 0.0], [2.0, 0.0]), [0.5, np.nan])
    with pytest.raises(ValueError, match="expected the same"):
        score.skill([1.0, 2.0], [1.0])


def test_a_step_alone_and_the_mean_up_to_it_are_told_apart():
    assert score.at_step([4.0, 2.0, 0.0], 2) == 2.0
    assert score.mean_to_step([4.0, 2.0, 0.0], 2) == 3.0
    np.testing.assert_array_equal(score.mean_to_step([[4.0, 2.0], [0.0, 1.0]], 2), [3.0, 0.5])
    for bad in (0, 4):
        with pytest.raises(ValueError, match=f"h={bad}"):
            score.at_step([4.0, 2.0, 0.0], bad)


# --- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("call", [score.mse, score.mae, score.psnr, partial(score.pinball_loss, q=0.5)])
def test_a_forecast_without_a_number_where_truth_has_one_is_an_error_that_says_where(call, bad):
    truth, answer = np.zeros((2, 3, 4)), np.zeros((2, 3, 4))
    answer[1, 2, 3] = bad
    with pytest.raises(ValueError, match=rf"is {bad} at item 1, step 3, cell \(3,\), where truth has a number"):
        call(truth, answer)
    with pytest.raises(ValueError, match=rf"samples\[1\] is {bad} at item 1, step 3"):
        score.crps(truth, np.stack([truth, answer]))


@pytest.mark.parametrize(
    ("truth", "answer", "words"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), r"forecast has shape \(2, 4\) and truth \(2, 3\)"),
        (np.zeros(3), np.zeros(3), r"truth has shape \(3,\): expected \(item, step, \*frame\)"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "at least one of each"),
        (np.full((1, 2), np.inf), np.zeros((1, 2)), "truth is infinite at item 0, step 1"),
        (np.full((1, 2), np.nan), np.zeros((1, 2)), "truth has no number"),
    ],
)
def test_shapes_and_numbers_that_make_no_sense_are_refused(truth, answer, words):
    with pytest.raises(ValueError, match=words):
        score.mse(truth, answer)


def test_samples_have_an_axis_more_than_the_truth():
    with pytest.raises(ValueError, match=r"one forecast alone is forecast\[None\]"):
        score.crps(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="per='steps': expected one of"):
        score.mse(np.zeros((2, 3)), np.zeros((2, 3)), per="steps")


# --- sequences and forecasts as they are ---------------------------------------------------------------------------------


def test_sequences_and_forecasts_are_judged_as_their_arrays_are():
    X = RNG.standard_normal((6, 30, 2)).cumsum(axis=1)
    model = tl.forecast.AR(order=2).fit(X)
    found = model.predict(X[:, :25], 5, n_samples=7, random_state=0)
    truth, as_sequences = X[:, 25:], tl.Sequences(X).crop(25, 30)
    for call in (score.mse, score.mae, score.psnr, partial(score.pinball_loss, q=0.3)):
        assert call(as_sequences, found) == call(truth, found.mean)
        assert call(truth, tl.Sequences(found.mean)) == call(truth, found.mean)
    for call in (score.crps, score.energy_score, partial(score.best_of_n, score="mae")):
        assert call(as_sequences, found) == call(truth, found.samples)
    assert score.mase(as_sequences, found, X[:, :25]) == score.mase(truth, found.mean, X[:, :25])
    assert score.coverage(as_sequences, *found.interval(0.6)) == score.coverage(truth, *found.interval(0.6))


def test_numbers_and_frames_of_one_channel_are_the_same():
    X = RNG.standard_normal((4, 12))
    found = tl.forecast.Persistence().fit(X).predict(X[:, :8], 4)
    assert found.shape == (4, 4, 1)
    assert score.mse(X[:, 8:], found) == score.mse(tl.Sequences(X[:, 8:]), found) == score.mse(X[:, 8:, None], found)
    assert score.mse(tl.Sequences(X[:, 8:]), found.mean[..., 0]) == score.mse(X[:, 8:], found)
    assert score.crps(X[:, 8:], found) == score.mae(X[:, 8:], found)
    for truth, answer in ((np.zeros((1, 4, 2)), np.zeros((1, 4, 2, 1))), (np.zeros((4, 4, 4)), np.zeros((4, 4)))):
        with pytest.raises(ValueError, match="expected the same"):
            score.mse(truth, answer)


def test_sequences_of_several_lengths_are_refused_with_the_way_out():
    ragged = tl.Sequences([np.zeros(5), np.zeros(3)])
    with pytest.raises(
        ValueError, match=r"truth has sequences of 3 to 5 steps: expected one length; truth\.crop\(0, 3\)"
    ):
        score.mse(ragged, np.zeros((2, 3)))
    assert score.mse(ragged.crop(0, 3), np.zeros((2, 3))) == 0
