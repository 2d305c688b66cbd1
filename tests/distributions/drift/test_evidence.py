"""Evidence of p-values one after the other: as its formula says, fair for uniform ones, and finite for any."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.stats import binom

from naive import two_sample as naive
from timelike.distributions.drift import evidence
from timelike.distributions.drift.evidence import (
    HAZARD,
    POWERS,
    Evidence,
    is_alarm,
    log_winnings,
    smoothed_p,
    start_weights,
    waiting_capital,
)


def evidence_of(p_values):
    gambler = Evidence()
    for u in p_values:
        gambler.add([u])
    return gambler


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=12))
def test_evidence_is_the_sum_over_all_starts(p_values):
    expected = naive.evidences(p_values, start_weights(len(p_values)).tolist(), POWERS)
    found = evidence_of(p_values)
    np.testing.assert_allclose(np.exp(found.values), expected, rtol=1e-9)
    assert found.value == pytest.approx(expected[-1], rel=1e-9)
    assert found.max_value == pytest.approx(max(expected), rel=1e-9)


def test_evidence_of_the_smallest_and_the_largest_p_values_is_that_of_the_formula():
    for p_values in ([1e-300], [1.0], [1.0, 1.0, 1e-300], [1e-120, 1.0, 0.5, 1e-100]):
        expected = naive.evidence(p_values, start_weights(len(p_values)).tolist(), POWERS)
        assert evidence_of(p_values).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("u", [1e-300, 2.0**-53, 0.5, 1.0])
def test_evidence_of_thousands_of_batches_is_finite(u):
    found = evidence_of([u] * 3000)
    assert np.isfinite(found.values).all()
    assert 0 < found.value < np.inf
    assert 0 < 1 / found.max_value < np.inf
    assert found.change_batch(3000) == 1 or u >= 0.5


@pytest.mark.parametrize("change", [0, 1, 6, 8])
def test_a_change_is_dated_to_the_batch_from_which_on_most_was_won(change):
    """argmax_s of mean_κ Π κ u^(κ−1) over all p-values of the batches s … last; batches have several parts."""
    rng = np.random.default_rng(change)
    batches = [rng.uniform(*((0.001, 0.05) if i >= change else (0.3, 1.0)), 1 + i % 3).tolist() for i in range(9)]
    for last in range(1, 10):
        taken = [[u for batch in batches[s:last] for u in batch] for s in range(last)]
        gains = [np.mean([np.prod([k * u ** (k - 1) for u in some]) for k in POWERS]) for some in taken]
        assert Evidence(batches).change_batch(last) == 1 + int(np.argmax(gains))
    assert Evidence(batches).change_batch(9) == 1 + change


def test_the_highest_and_the_first_alarm_are_those_of_all_parts_and_few_are_looked_at(monkeypatch):
    rng = np.random.default_rng(0)
    found, parts, looked = Evidence(), [], []
    monkeypatch.setattr(evidence, "is_alarm", lambda *given: looked.append(given) or is_alarm(*given))
    for batch in range(1, 601):
        p_values = rng.random(1 + batch % 3) ** (1 if batch < 300 else 1.5)
        parts += [(value, batch, part) for part, value in enumerate(found.preview(p_values), 1)]
        found.add(p_values)
        for rate in (0.9, 0.05, 1e-3) if batch % 20 == 1 else ():
            looked.clear()
            first = next((part[1:] for part in parts if is_alarm(part[0], rate)), None)
            assert found.first_alarm(rate) == first
            assert len(looked) <= np.log2(len(parts) + 1) + 1
        assert found.max_value == pytest.approx(np.exp(max(parts)[0]), rel=1e-12)
    assert found.first_alarm(0.05) is not None
    assert Evidence().first_alarm(0.5) is None
    assert Evidence().max_value == 1


def test_only_what_waits_is_left_where_every_bet_is_lost():
    found = evidence_of([1.0] * 2000)
    assert found.value == pytest.approx(waiting_capital(2000), rel=0.02)


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 50_000])
def test_what_bets_and_what_waits_are_one(n):
    assert start_weights(n).sum() + waiting_capital(n) == pytest.approx(1.0, abs=1e-12)
    s = n  # of the formula, by hand
    assert start_weights(n)[-1] == pytest.approx(HAZARD * (1 - HAZARD) ** (s - 1) / 2 + 1 / (2 * s * (s + 1)))


def test_the_same_p_values_at_once_are_the_same_evidence():
    p_values = np.random.default_rng(0).random(30)
    assert Evidence([u] for u in p_values).values == evidence_of(p_values.tolist()).values


def test_parts_of_a_batch_are_bets_one_after_the_other_that_begin_together():
    parts = [[0.3], [0.9, 0.02, 0.001], [0.4], [0.01, 0.7]]
    found = Evidence(parts)
    weights, powers = start_weights(4), np.array(POWERS)
    capital = np.zeros(len(POWERS))
    for t, batch in enumerate(parts):
        capital = capital + weights[t]  # once for a batch
        after = []
        for u in batch:
            capital = capital * powers * u ** (powers - 1)
            after.append(capital.mean() + 1 - weights[: t + 1].sum())
        np.testing.assert_allclose(found.values_after(t + 1), after, rtol=1e-12)
        np.testing.assert_allclose(np.exp(found.values[t]), after[-1], rtol=1e-12)
    every = np.concatenate([found.values_after(t + 1) for t in range(4)])
    assert found.max_value == pytest.approx(every.max())
    assert found.max_value > np.exp(max(found.values))  # it was higher between two parts
    places = [(1, 1), (2, 1), (2, 2), (2, 3), (3, 1), (4, 1), (4, 2)]
    assert found.first_alarm(1 / found.max_value * (1 + 1e-12)) == places[int(np.argmax(every))] == (4, 1)
    assert found.first_alarm(1 / found.max_value * (1 - 1e-12)) is None
    assert found.first_alarm(0.999) == places[int(np.argmax(1 / every <= 0.999))] == (2, 3)


def test_a_preview_adds_nothing_and_says_what_adding_gives():
    found = Evidence([[0.2], [0.5, 0.1]])
    seen = found.preview([0.01, 0.3])
    assert found.values == Evidence([[0.2], [0.5, 0.1]]).values
    found.add([0.01, 0.3])
    np.testing.assert_allclose(found.values_after(3), np.exp(seen))


@pytest.mark.parametrize("p_values", [[0.01], [0.5, 0.5], [1e-4, 1e-3, 0.9]])
def test_what_a_bet_wins_is_the_mean_over_powers_of_products(p_values):
    expected = np.mean([np.prod([k * u ** (k - 1) for u in p_values]) for k in POWERS])
    assert log_winnings(p_values) == pytest.approx(np.log(expected))


def test_before_any_batch_there_is_what_one_began_with():
    assert Evidence().value == Evidence().max_value == 1.0
    assert Evidence().first_alarm(0.99) is None


def test_evidence_after_one_batch_is_one_on_average():
    # u = exp(−x): the tail of u^(κ−1) at 0 is an exponential, which quadrature takes to all its digits
    mean = quad(lambda x: evidence_of([np.exp(-x)]).value * np.exp(-x), 0, 600, limit=400, epsabs=1e-9)[0]
    assert mean == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("before", [[0.3], [0.01, 0.9], [1.0, 1e-6, 0.2]])
def test_one_more_batch_changes_nothing_on_average(before):
    """A martingale: E of the next evidence, whatever the p-values before it were, is the evidence now."""
    mean = quad(lambda x: evidence_of([*before, np.exp(-x)]).value * np.exp(-x), 0, 600, limit=400, epsabs=1e-9)[0]
    assert mean == pytest.approx(evidence_of(before).value, rel=1e-6)


def highest_of_paths(u):
    """The highest evidence of many paths (path, batch) at once, by the recurrence over starts."""
    n_paths, n_batches = u.shape
    weights, powers = start_weights(n_batches), np.array(POWERS)
    capital, best = np.zeros((n_paths, len(POWERS))), np.zeros(n_paths)
    for t in range(n_batches):
        capital = (capital + weights[t]) * powers * u[:, [t]] ** (powers - 1)
        best = np.maximum(best, capital.mean(axis=1) + 1 - weights[: t + 1].sum())
    return best


def test_paths_of_uniform_p_values_reach_an_alarm_as_rarely_as_was_promised():
    u = 1 - np.random.default_rng(1).random((20_000, 200))
    best = highest_of_paths(u)
    np.testing.assert_allclose(best[:5], [evidence_of(path).max_value for path in u[:5].tolist()])
    for alpha in (0.2, 0.05, 0.01):
        reached = int((best >= 1 / alpha).sum())
        assert reached <= binom.ppf(0.999, len(u), alpha)
        assert reached > 0.1 * alpha * len(u)  # the promise is kept, not by never saying anything


def test_larger_p_values_are_never_more_evidence():
    rng = np.random.default_rng(2)
    for _ in range(20):
        p_values = rng.random(15)
        raised = p_values + rng.random(15) * (1 - p_values)
        assert (np.array(evidence_of(raised).values) <= np.array(evidence_of(p_values).values) + 1e-12).all()


def test_a_change_is_dated_where_p_values_become_small():
    rng = np.random.default_rng(3)
    for start in (1, 4, 30):
        p_values = [*rng.uniform(0.1, 1, start - 1), *rng.uniform(0, 1e-3, 4)]
        assert evidence_of(p_values).change_batch(start + 3) == start


@pytest.mark.parametrize("null", [[1.0, 2.0, 2.0, 3.0], [2.0] * 5, [0.0, 1.0], []])
def test_a_smoothed_p_value_breaks_ties_by_one_uniform_number(null):
    for seed in range(20):
        theta = 1 - np.random.default_rng(seed).random()
        found = smoothed_p(np.array(null), 2.0, np.random.default_rng(seed))
        assert found == pytest.approx(naive.smoothed_p_value(2.0, null, theta), abs=1e-15)
        assert 0 < found <= 1


def test_smoothed_p_values_are_uniform_with_and_without_ties():
    rng = np.random.default_rng(4)
    for values in itertools.product([0.0, 1.0], [0.0, 1.0], [0.5, 1.0]):
        every = [(values[i], np.delete(values, i)) for i in range(3)]  # each as likely the observed one
        found = np.sort([smoothed_p(null, observed, rng) for observed, null in every * 1500])
        distance = np.abs(found - (np.arange(len(found)) + 0.5) / len(found)).max()
        assert distance < 1.95 / np.sqrt(len(found))  # Kolmogorov's bound at 0.1 %
