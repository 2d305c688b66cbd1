"""Thresholds by ranks over identities: exact for exchangeable scores, and kept for new people in simulations."""

import numpy as np
import pytest

from naive.verifier import accepted_at
from timelike.score import CalibrationWarning
from timelike.score.conformal_thresholds import (
    impostor_bound,
    max_exceedances,
    min_count,
    round_up,
    unit_bound,
    warn_few_pairs,
)


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
