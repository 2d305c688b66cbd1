"""Scores of several methods at every step: means, intervals over items, the best of several futures, a picture."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

import timelike as tl
from timelike import score

RNG = np.random.default_rng(0)
TRUTH = RNG.random((7, 4, 1, 12, 12))
ONE = np.clip(TRUTH + 0.2 * RNG.standard_normal(TRUTH.shape), 0, 1)
MANY = np.clip(TRUTH + 0.3 * RNG.standard_normal((5, *TRUTH.shape)), 0, 1)


def test_every_method_has_its_score_at_every_step_with_the_interval_of_student():
    found = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY})
    assert list(found.item_scores) == ["psnr", "ssim"]
    assert found.n_samples == {"one": 1, "many": 5}
    for name in ("psnr", "ssim"):
        each = {
            "one": getattr(score, name)(TRUTH, ONE, per="each"),
            "many": score.best_of_n(TRUTH, MANY, name, per="each"),
        }
        for method, values in each.items():
            mean, low, high = found.per_step(name, method)
            np.testing.assert_allclose(mean, values.mean(axis=0))
            expected = stats.t.interval(0.95, 6, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
            np.testing.assert_allclose([low, high], expected)
            whole = found.mean_to_step(3)[name][method]
            assert whole.mean == pytest.approx(values[:, :3].mean())
            assert whole.half_width == pytest.approx(stats.sem(values[:, :3].mean(axis=1)) * stats.t.ppf(0.975, 6))


def test_crps_is_of_all_futures_and_of_one_the_absolute_error():
    found = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, ["crps"], confidence=0.5)
    np.testing.assert_allclose(found.per_step("crps", "one").mean, score.mae(TRUTH, ONE, per="step"))
    np.testing.assert_allclose(found.per_step("crps", "many").mean, score.crps(TRUTH, MANY, per="step"))
    assert found.confidence == 0.5


def test_functions_are_called_by_the_names_that_they_are_given():
    wide = partial(score.psnr, value_range=2.0)
    found = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, {"PSNR of 2": wide})
    expected = score.best_of_n(TRUTH, MANY, wide, per="step")
    np.testing.assert_allclose(found.per_step("PSNR of 2", "many").mean, expected)
    own = {"own": lambda truth, answer, per: (answer - truth).mean(axis=(2, 3, 4))}
    alone = score.horizon_scores(TRUTH, {"one": ONE}, own)  # of one future nothing is chosen
    np.testing.assert_allclose(alone.per_step("own", "one").mean, (ONE - TRUTH).mean(axis=(0, 2, 3, 4)))


def test_whether_more_is_better_is_said_of_your_own_scores_where_there_are_several_futures():
    own = {"own": lambda truth, answer, per: (answer - truth).mean(axis=(2, 3, 4)), "psnr": score.psnr}
    with pytest.raises(
        ValueError, match=r"higher_is_better=None: say whether more is better.*higher_is_better=\{'own': False\}"
    ):
        score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, own)
    errors = (MANY - TRUTH).mean(axis=(3, 4, 5))  # (sample, item, step)
    for way, choose in ((False, np.argmin), (True, np.argmax)):
        found = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, own, higher_is_better={"own": way})
        chosen = choose(errors.mean(axis=2), axis=0)
        np.testing.assert_allclose(found.item_scores["own"]["many"], errors[chosen, np.arange(7)])
        np.testing.assert_array_equal(
            found.item_scores["psnr"]["many"], score.best_of_n(TRUTH, MANY, "psnr", per="each")
        )
    with pytest.raises(ValueError, match=r"higher_is_better='owm': expected one of 'own', 'psnr'"):
        score.horizon_scores(TRUTH, {"many": MANY}, own, higher_is_better={"owm": True})
    with pytest.raises(TypeError, match="higher_is_better is a bool: expected True or False by the name of a score"):
        score.horizon_scores(TRUTH, {"many": MANY}, own, higher_is_better=True)


def test_forecasts_and_sequences_are_taken_as_they_are():
    X = RNG.standard_normal((6, 30)).cumsum(axis=1)
    futures = tl.forecast.AR(order=2).fit(X).predict(X[:, :25], 5, n_samples=4, random_state=0)
    still = tl.forecast.Persistence().fit(X).predict(X[:, :25], 5)
    found = score.horizon_scores(tl.Sequences(X[:, 25:]), {"AR": futures, "same": still, "array": still.mean}, "mae")
    assert found.n_samples == {"AR": 4, "same": 1, "array": 1}
    np.testing.assert_array_equal(found.item_scores["mae"]["same"], np.abs(X[:, 24:25] - X[:, 25:]))
    np.testing.assert_array_equal(found.item_scores["mae"]["array"], found.item_scores["mae"]["same"])
    np.testing.assert_allclose(found.item_scores["mae"]["AR"], score.best_of_n(X[:, 25:], futures, "mae", per="each"))


def test_the_table_has_a_row_for_every_method_and_says_of_how_many_futures_the_best_is():
    found = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, trained_horizon=2)
    lines = str(found).splitlines()
    assert lines[0] == "mean over t+1…t+4 of 7 items, ± 95 % interval"
    assert lines[1].split() == ["psnr", "ssim"]
    assert lines[2].startswith("one")
    assert lines[3].startswith("many (of 5)")
    assert f"{score.psnr(TRUTH, ONE):.4g} ± " in lines[2]
    assert repr(found) == "HorizonScores(psnr, ssim of one, many, 7 items, 4 steps)"


def test_the_picture_has_a_panel_for_every_score_and_a_bar_where_training_ended():
    figure = score.horizon_scores(TRUTH, {"one": ONE, "many": MANY}, trained_horizon=2).plot()
    assert [axes.get_title() for axes in figure.axes] == ["psnr", "ssim"]
    for axes in figure.axes:
        ours, theirs, bar = axes.lines
        assert list(bar.get_xdata()) == [2, 2]
    np.testing.assert_allclose(ours.get_ydata(), score.ssim(TRUTH, ONE, per="step"))
    np.testing.assert_allclose(theirs.get_ydata(), score.best_of_n(TRUTH, MANY, "ssim", per="step"))
    plain = score.horizon_scores(TRUTH, {"one": ONE}, "psnr").plot()
    assert len(plain.axes[0].lines) == 1


def test_a_step_without_truth_has_no_score_and_others_have():
    truth = np.array([[1.0, np.nan], [2.0, np.nan]])
    found = score.horizon_scores(truth, {"zero": np.zeros((2, 2))}, "mae")
    np.testing.assert_array_equal(found.per_step("mae", "zero").mean, [1.5, np.nan])
    found.plot().draw_without_rendering()


def test_an_item_with_one_masked_step_counts_by_its_others():
    truth = np.zeros((4, 2))
    truth[3, 1] = np.nan
    answer = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [9.0, 5.0]])
    found = score.horizon_scores(truth, {"a": answer}, "mae")
    np.testing.assert_array_equal(found.per_step("mae", "a").mean, [3.0, 1.0])
    assert found.mean_to_step()["mae"]["a"].mean == np.mean([1, 1, 1, 9])
    assert score.mean_to_step(found.item_scores["mae"]["a"], 2).tolist() == [1, 1, 1, 9]
    lines = str(found).splitlines()
    assert lines[0] == "mean over t+1…t+2 of 4 items, without masked steps, ± 95 % interval"
    assert lines[2].split()[:2] == ["a", "3"]


def test_the_table_says_how_many_items_count():
    truth, answer = np.array([[0.0, 0.0], [np.nan, np.nan], [0.0, 0.0]]), np.ones((3, 2))

    def first_only(truth, answer, per):
        return np.where([[True], [False], [False]], answer, np.nan)

    found = score.horizon_scores(truth, {"a": answer}, "mae")
    assert str(found).startswith("mean over t+1…t+2 of 2 of 3 items, without masked steps, ")
    assert np.isnan(score.mean_to_step([np.nan, np.nan], 2))
    several = score.horizon_scores(truth, {"a": answer}, {"mae": score.mae, "first": first_only})
    assert str(several).startswith("mean over t+1…t+2 of 1 to 2 of 3 items, ")


def test_what_makes_no_sense_is_refused():
    for wrong, kind, words in (
        ({"forecasts": ONE}, TypeError, "forecasts is a ndarray: expected forecasts by name"),
        ({"forecasts": {}}, TypeError, "forecasts is empty: expected forecasts by name"),
        ({"scores": []}, ValueError, r"scores is empty: expected a name or more, such as \['psnr'\]"),
        ({"scores": {}}, ValueError, "scores is empty"),
        ({"scores": None}, TypeError, "scores is a NoneType: expected names"),
        (
            {"higher_is_better": {"psnr": False}},
            ValueError,
            r"higher_is_better\['psnr'\]=False: more is better for psnr",
        ),
        ({"forecasts": {"one": ONE[:, :3]}}, ValueError, r"forecasts\['one'\] has shape \(7, 3, 1, 12, 12\)"),
        ({"scores": "rmse"}, ValueError, "scores='rmse': expected one of"),
        ({"trained_horizon": 0}, ValueError, "trained_horizon=0: expected at least 1"),
        ({"confidence": 95}, ValueError, "confidence=95: expected a number between 0 and 1"),
    ):
        with pytest.raises(kind, match=words):
            score.horizon_scores(**{"truth": TRUTH, "forecasts": {"one": ONE}, **wrong})
    with pytest.raises(ValueError, match="score='mse': expected one of 'psnr', 'ssim'"):
        score.horizon_scores(TRUTH, {"one": ONE}).per_step("mse", "one")
