"""Probabilities: the naive definition, scikit-learn, a search by SciPy, and data whose temperature is known.

Thresholds by ranks over identities: exact for exchangeable scores, and kept for new people in simulations.
"""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import brier_score_loss, log_loss

from naive.verifier import accepted_at
from timelike import score
from timelike.score import CalibrationWarning
from timelike.score.calibration import impostor_bound, max_exceedances, min_count, round_up, unit_bound, warn_few_pairs


def _answers(n, n_classes, seed, sharpness=2.0):
    """Logits, and classes drawn from their softmax: the temperature of these is 1."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(n, n_classes))
    return logits, np.array([rng.choice(n_classes, p=row) for row in softmax(logits, axis=1)])


@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_the_calibration_error_is_that_of_the_definition(n_bins):
    logits, truth = _answers(300, 4, 0)
    shares = softmax(3 * logits, axis=1)
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == truth
    expected = 0.0
    for i in range(n_bins):
        held = (sure > i / n_bins) & (sure <= (i + 1) / n_bins)
        if held.any():
            expected += held.mean() * abs(right[held].mean() - sure[held].mean())
    assert score.expected_calibration_error(truth, shares, n_bins=n_bins) == pytest.approx(expected, abs=1e-12)


def test_answers_on_an_edge_are_in_the_bin_below_it_and_certain_ones_in_the_last():
    found = score.reliability([0, 0, 0], [[0.5, 0.5], [1.0, 0.0], [0.6, 0.4]], n_bins=2)
    np.testing.assert_array_equal(found.counts, [1, 2])
    assert found.max_error == pytest.approx(0.5)


def test_adaptive_bins_have_about_as_many_items_each():
    logits, truth = _answers(1000, 3, 1)
    shares = softmax(logits, axis=1)
    found = score.reliability(truth, shares, n_bins=10, adaptive=True)
    assert found.counts.tolist() == [100] * 10
    parts = np.array_split(np.argsort(shares.max(axis=1)), 10)
    right = shares.argmax(axis=1) == truth
    expected = np.mean([abs(right[part].mean() - shares.max(axis=1)[part].mean()) for part in parts])
    assert found.error == pytest.approx(expected)
    same = score.reliability([0, 1, 0], [[0.7, 0.3]] * 3, n_bins=5, adaptive=True)
    assert same.counts.sum() == 3
    assert same.error == pytest.approx(abs(2 / 3 - 0.7))


def test_brier_score_and_log_likelihood_are_those_of_scikit_learn():
    logits, truth = _answers(80, 5, 2)
    shares = softmax(logits, axis=1)
    assert score.negative_log_likelihood(truth, shares) == pytest.approx(log_loss(truth, shares, labels=range(5)))
    two = softmax(logits[:, :2], axis=1)
    yes = truth % 2
    assert score.brier_score(yes, two) == pytest.approx(2 * brier_score_loss(yes, two[:, 1]))
    plain = ((shares - np.eye(5)[truth]) ** 2).sum(axis=1).mean()
    assert score.brier_score(truth, shares) == pytest.approx(plain)
    assert score.negative_log_likelihood([0], [[0.0, 1.0]]) == np.inf


def test_names_of_columns_are_found_in_their_order():
    logits, truth = _answers(50, 3, 3)
    shares, names = softmax(logits, axis=1), np.array(["x", "c", "m"])
    for one in (score.expected_calibration_error, score.brier_score, score.negative_log_likelihood):
        assert one(names[truth], shares, classes=names) == one(truth, shares)
    assert score.temperature(logits, names[truth], classes=names) == score.temperature(logits, truth)


# --- temperature -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.2, 1.0, 7.0])
def test_the_temperature_is_where_the_likelihood_is_largest(factor):
    logits, truth = _answers(200, 4, 4)
    logits = factor * logits

    def loss(log_t):
        return -log_softmax(logits / np.exp(log_t), axis=1)[np.arange(200), truth].mean()

    expected = np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x)
    assert score.temperature(logits, truth, smoothing=0) == pytest.approx(expected, rel=1e-5)
    assert score.temperature(logits, truth) == pytest.approx(expected, rel=0.1)


def test_logits_that_are_seven_times_too_large_are_found_to_be():
    logits, truth = _answers(5000, 5, 5)
    assert score.temperature(7 * logits, truth) == pytest.approx(7, rel=0.06)
    after = softmax(7 * logits / score.temperature(7 * logits, truth), axis=1)
    assert score.expected_calibration_error(truth, after) < 0.02
    assert score.expected_calibration_error(truth, softmax(7 * logits, axis=1)) > 0.1


def test_the_temperature_follows_the_scale_of_the_logits_and_no_shift():
    logits, truth = _answers(60, 3, 6)
    expected = score.temperature(logits, truth)
    for scale in (1e-200, 1e-3, 1e5, 1e200):
        assert score.temperature(scale * logits, truth) == pytest.approx(scale * expected)
    assert score.temperature(logits + np.arange(60)[:, None], truth) == pytest.approx(expected)


def test_separated_data_has_a_temperature_that_many_items_make_smaller():
    found = [score.temperature(np.tile([[3.0, 0.0]], (n, 1)), np.zeros(n, int)) for n in (1, 10, 1000)]
    share = [1 - 0.5 / (n + 2) for n in (1, 10, 1000)]  # of the first class, the smoothed targets
    np.testing.assert_allclose(found, [3 / np.log(p / (1 - p)) for p in share], rtol=1e-9)
    assert 0 < score.temperature([[3.0, 0.0]], [0], smoothing=0) < 1e-5


def test_answers_no_better_than_chance_end_at_the_other_limit_and_equal_logits_stay():
    assert score.temperature([[3.0, 0.0], [0.0, 3.0]], [1, 0]) > 1e5
    assert score.temperature([[2.0, 2.0], [1.0, 1.0]], [0, 1]) == 1.0
    assert score.temperature([[5.0]], [0]) == 1.0


@pytest.mark.parametrize(
    ("logits", "truth", "options", "words"),
    [
        ([[0.0, np.inf]], [0], {}, r"logits\[0, 1\] is inf"),
        ([[0.0, np.nan]], [0], {}, r"logits\[0, 1\] is nan"),
        ([[1e308, -1e308]], [0], {}, "differ by more than a float can hold"),
        ([[0.0, 1.0]], [2], {}, "truth holds 2: expected columns from 0 to 1"),
        ([[0.0, 1.0]], ["a"], {}, "truth holds 'a': expected columns"),
        ([[0.0, 1.0]], ["a"], {"classes": ["b", "c"]}, "truth holds 'a', which is not among classes"),
        ([[0.0, 1.0]], ["a"], {"classes": ["a"]}, "expected one name each"),
        ([0.0, 1.0], [0, 1], {}, r"expected \(item, class\)"),
        ([[0.0, 1.0]], [0], {"smoothing": 2.0}, "smoothing=2.0"),
    ],
)
def test_what_has_no_temperature_is_refused(logits, truth, options, words):
    with pytest.raises(ValueError, match=words):
        score.temperature(logits, truth, **options)


def test_scores_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"probabilities\[1\] has the sum 3"):
        score.brier_score([0, 1], [[0.5, 0.5], [1.0, 2.0]])
    with pytest.raises(ValueError, match="n_bins=0"):
        score.reliability([0], [[1.0, 0.0]], n_bins=0)


def test_reliability_draws_its_bins():
    logits, truth = _answers(200, 3, 7)
    found = score.reliability(truth, softmax(logits, axis=1), n_bins=10)
    above, below = found.plot().axes
    assert [bar.get_height() for bar in below.patches] == found.counts.tolist()
    held = found.counts > 0
    np.testing.assert_allclose([bar.get_height() for bar in above.patches][: held.sum()], found.accuracy[held])
    assert above.get_title() == f"expected calibration error {found.error:.3f}"


def newcomers(rng, n_people, n_each, kind):
    """Vectors (person, item, 2): people around a centre, of whom with "wolves" some are near everybody."""
    where = rng.standard_normal((n_people, 1, 2))
    if kind == "wolves":
        where = where * np.where(rng.random((n_people, 1, 1)) < 0.1, 0.05, 1.0)
    return where + 0.1 * rng.standard_normal((n_people, n_each, 2))


def score_of(x, y, kind):
    """How alike: near, or with "sums" whatever both have of something that few have much of."""
    return np.exp(x[..., 0]) + np.exp(y[..., 0]) if kind == "sums" else -np.linalg.norm(x - y, axis=-1)


def bound_of(rng, n_people, n_each, kind, rate):
    x = newcomers(rng, n_people, n_each, kind).reshape(-1, 2)
    who, (first, second) = np.repeat(np.arange(n_people), n_each), np.triu_indices(n_people * n_each, 1)
    unlike = who[first] != who[second]
    first, second = first[unlike], second[unlike]
    return impostor_bound(score_of(x[first], x[second], kind), who[first], who[second], rate)


def test_exchangeable_scores_of_one_each_have_the_conformal_rank():
    """Ties included: as many are accepted as the naive rank says."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 4, rng.integers(9, 40)).astype(float)
        rate = rng.choice([0.1, 0.2, 0.35])
        found = unit_bound(scores, np.arange(len(scores)), rate).threshold
        assert (scores >= found).sum() == accepted_at(scores.tolist(), rate)
        # the same of people that were compared in disjoint pairs only: there is one pairing
        found = impostor_bound(scores, *np.arange(2 * len(scores)).reshape(-1, 2).T, rate).threshold
        assert (scores >= found).sum() == accepted_at(scores.tolist(), rate)


def test_the_rank_is_exact_for_round_rates():
    for rate in (0.01, 0.05, 0.29, 0.07, 1 / 3):
        need = min_count(rate)
        assert max_exceedances(need, rate) == 0
        assert max_exceedances(need - 1, rate) == -1
        assert round_up(1 / (need + 1)) >= 1 / (need + 1)
    assert [max_exceedances(count, 0.29) for count in (99, 98)] == [28, 27]


@pytest.mark.parametrize("kind", ["near", "wolves", "sums"])
@pytest.mark.parametrize(("n_people", "n_each", "rate"), [(18, 1, 0.1), (8, 4, 0.2), (30, 2, 0.2)])
def test_the_rate_holds_for_new_people(kind, n_people, n_each, rate):
    """Over many calibrations. A rank over pairs exceeds it where some people are like everybody."""
    rng, found = np.random.default_rng(1), []
    for _ in range(100):
        limit = bound_of(rng, n_people, n_each, kind, rate).threshold
        new = newcomers(rng, 800, 1, kind)[:, 0]
        found.append(np.mean(score_of(new[:400], new[400:], kind) >= limit))
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) <= rate + 2 * error
    assert np.mean(found) >= 0.3 * rate  # and it is no refusal of everybody


def test_many_people_cost_little():
    """With 400 of them the threshold is near the share of all pairs that it would have without a correction."""
    rng = np.random.default_rng(2)
    x = newcomers(rng, 400, 1, "near")[:, 0]
    pairs = np.triu_indices(400, 1)
    scores = score_of(x[pairs[0]], x[pairs[1]], "near")
    found = impostor_bound(scores, *pairs, 0.1)
    assert found.promised_rate == 0.1
    assert 0.08 < np.mean(scores >= found.threshold) < 0.1


def test_above_all_impostors_no_more_is_accepted_than_is_promised():
    """The bound 2 / (n + 2) is reached where a score is that of the odder of the two."""
    rng, accepted = np.random.default_rng(3), 0
    pairs = np.triu_indices(6, 1)
    for _ in range(3000):
        odd = rng.random(8)
        limit = impostor_bound(np.maximum(odd[pairs[0]], odd[pairs[1]]), *pairs, 0.01)
        accepted += max(odd[6], odd[7]) >= limit.threshold
    assert limit.promised_rate == 0.25
    assert accepted / 3000 == pytest.approx(0.25, abs=0.02)


def test_examples_of_mostly_one_class_are_told_of_their_pairs():
    first, second = np.meshgrid(np.arange(5), np.arange(5, 100))  # five of one class and 95 of another
    bound = impostor_bound(np.zeros(first.size), first.ravel(), second.ravel(), 0.05)
    words = (
        r"100 examples make 5 impostor pairs that share no example, and 19 are needed \(most examples are of one "
        r"class.* give pairs of more different examples, or false_accept=0.17 or more"
    )
    with pytest.warns(CalibrationWarning, match=words):
        warn_few_pairs(bound, 0.05, 100, "examples")
