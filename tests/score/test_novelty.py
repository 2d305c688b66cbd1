"""Unknowns: against scikit-learn's curve and plain counting of pairs, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from timelike import score

STRANGE = st.lists(st.integers(0, 6), min_size=1, max_size=20)


@settings(max_examples=150, deadline=None)
@given(STRANGE, STRANGE)
def test_the_area_counts_pairs_and_is_that_of_scikit_learn(known, unknown):
    pairs = [(u > k) + 0.5 * (u == k) for k in known for u in unknown]
    found = score.novelty_auroc(known, unknown)
    assert found == pytest.approx(np.mean(pairs), abs=1e-12)
    kind = [0] * len(known) + [1] * len(unknown)
    assert found == pytest.approx(roc_auc_score(kind, known + unknown), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(STRANGE, STRANGE, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_unknowns_accepted_are_those_at_the_first_threshold_that_accepts_enough_known_ones(known, unknown, share):
    kind, values = [1] * len(known) + [0] * len(unknown), -np.array(known + unknown, float)
    accepted, found, _ = roc_curve(kind, values, drop_intermediate=False)
    expected = accepted[np.flatnonzero(found >= share - 1e-12)[0]]
    assert score.unknown_accept_rate(known, unknown, share=share) == pytest.approx(expected, abs=1e-12)


def test_nineteen_of_twenty_are_95_percent():
    assert score.unknown_accept_rate([*range(19), 100], [18.5, 50.0]) == 0.0
    assert score.unknown_accept_rate([*range(19), 100], [18.0, 50.0]) == 0.5  # as strange as the threshold is accepted


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=20), STRANGE)
def test_the_area_of_the_open_set_curve_counts_known_items_that_are_right_and_less_strange(known, unknown):
    novelty, right = zip(*known, strict=True)
    found = score.open_set_curve(novelty, right, unknown)
    pairs = [r * ((u > k) + 0.5 * (u == k)) for k, r in known for u in unknown]
    assert found.area == pytest.approx(np.mean(pairs), abs=1e-12)
    for threshold, recognized, accepted in zip(found.thresholds, found.recognized, found.false_accepts, strict=True):
        assert recognized == pytest.approx(np.mean([r and k <= threshold for k, r in known]))
        assert accepted == pytest.approx(np.mean(np.array(unknown) <= threshold))


def test_right_answers_and_no_unknown_in_between_give_the_accuracy():
    found = score.open_set_curve([1.0, 2.0, 3.0, 4.0], [True, False, True, True], [5.0, 6.0])
    assert found.area == found.recognition_rate(0.0) == 0.75
    all_right = score.open_set_curve([1.0, 2.0], [True, True], [1.0, 3.0])
    assert all_right.area == score.novelty_auroc([1.0, 2.0], [1.0, 3.0])


def test_the_open_set_curve_draws_itself_beside_others():
    found = score.open_set_curve([1.0, 2.0, 3.0], [True, False, True], [2.5, 6.0])
    figure = found.plot(name="ours", others={"theirs": found})
    (axes,) = figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.stack([found.false_accepts, found.recognized], axis=1))
    assert [line.get_text() for line in figure.legends[0].get_texts()] == ["ours, area 0.500", "theirs, area 0.500"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: score.novelty_auroc([], [1.0]), r"known has shape \(0,\)"),
        (lambda: score.novelty_auroc([1.0], [[1.0]]), r"unknown has shape \(1, 1\)"),
        (lambda: score.novelty_auroc([1.0], [np.nan]), r"unknown\[0\] is nan"),
        (lambda: score.unknown_accept_rate([1.0], [1.0], share=1.5), "share=1.5"),
        (lambda: score.open_set_curve([1.0], [True, False], [1.0]), "one value for each known item"),
    ],
)
def test_what_cannot_be_scored_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_items_that_are_infinitely_strange_are_accepted_last():
    assert score.novelty_auroc([0.0, 1.0], [np.inf]) == 1.0
