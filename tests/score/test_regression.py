"""Scores of numbers."""

import numpy as np
import pytest
from sklearn import metrics

from timelike import score


def noisy(n=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(5.0, 3.0, n)
    return truth, truth + rng.standard_normal(n)


def test_the_scores_are_those_of_scikit_learn():
    truth, answer = noisy()
    found = score.regression_scores(truth, answer, n_resamples=2, random_state=0)
    assert found.mse.mean == pytest.approx(metrics.mean_squared_error(truth, answer))
    assert found.mae.mean == pytest.approx(metrics.mean_absolute_error(truth, answer))
    assert found.r2.mean == score.r2(truth, answer) == pytest.approx(metrics.r2_score(truth, answer))


def test_intervals_are_percentiles_of_redrawn_items():
    truth, answer = noisy(20)
    found = score.regression_scores(truth, answer, n_resamples=50, random_state=3)
    rng, draws = np.random.default_rng(3), []
    for _ in range(50):
        rows = rng.integers(20, size=20)
        draws.append(
            (metrics.mean_squared_error(truth[rows], answer[rows]), metrics.r2_score(truth[rows], answer[rows]))
        )
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert (found.mse.low, found.mse.high) == pytest.approx((low[0], high[0]))
    assert (found.r2.low, found.r2.high) == pytest.approx((low[1], high[1]))


def test_groups_are_drawn_whole():
    rng = np.random.default_rng(0)
    truth, groups = rng.normal(size=60), np.arange(60) // 10
    answer = truth + np.repeat(rng.normal(size=6), 10)  # a person is wrong all the time
    alone, whole = (score.regression_scores(truth, answer, groups=g, random_state=0).mse for g in (None, groups))
    assert alone.mean == whole.mean
    assert whole.high - whole.low > 1.5 * (alone.high - alone.low)


def test_a_constant_truth_has_no_explained_share():
    found = score.regression_scores([2, 2, 2], [1, 2, 3], random_state=0)
    assert np.isnan(found.r2.mean)
    assert found.mae.mean == pytest.approx(2 / 3)
    assert "nan" in str(found)


def test_a_table_shows_them_in_text_and_html():
    found = score.regression_scores(*noisy(), random_state=0)
    assert repr(found) == str(found)
    for words in ("mean squared error", "R²"):
        assert words in str(found)
        assert words in found._repr_html_()


@pytest.mark.parametrize(
    ("truth", "answer", "words"),
    [
        ([1.0, 2.0], [1.0], r"truth has shape \(2,\) and answer \(1,\)"),
        ([], [], "not empty"),
        ([1.0, np.nan], [1.0, 2.0], r"truth\[1\] is nan: expected finite numbers"),
        ([1.0, 2.0], [1.0, np.inf], r"answer\[1\] is inf: expected finite numbers"),
    ],
)
def test_what_cannot_be_scored_is_refused(truth, answer, words):
    with pytest.raises(ValueError, match=words):
        score.regression_scores(truth, answer)
