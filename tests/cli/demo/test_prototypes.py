"""Prototypes: who learns what, and numbers of strangers, newcomers and claims that are recomputed."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve
from tests.cli.demo.section_parts import table_rows, without_figures

import timelike as tl
from timelike.cli.demo.sections import prototypes

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def section(run_small):
    """The section with few steps."""
    return run_small(prototypes, STEPS=5)


def test_the_newcomer_is_in_no_training(small_data):
    people = prototypes.split_people(small_data.train, small_data.test)
    assert people.newcomer == 3
    for part in (people.fitting, people.calibration):
        np.testing.assert_array_equal(np.unique(part.labels), [0, 1, 2])
    assert len(people.fitting) + len(people.calibration) == (small_data.train.labels != 3).sum()
    np.testing.assert_array_equal(people.examples.labels, [3, 3, 3])
    fitted = {one.tobytes() for one in people.fitting}
    assert not fitted & {one.tobytes() for one in (*people.calibration, *people.test)}
    examples = prototypes.claim_examples(people)
    np.testing.assert_array_equal(examples.labels, np.repeat([0, 1, 2, 3], 3))
    assert not fitted & {one.tobytes() for one in examples}


def test_numbers_are_those_of_the_model_and_of_dtw(section, small_data):
    people = prototypes.split_people(small_data.train, small_data.test)
    test, new = people.test, people.test.labels == 3
    model = tl.Prototypes(max_steps=5, random_state=0).fit(people.fitting)
    stranger, accuracy, claims = section.scores
    assert stranger.value == pytest.approx(roc_auc_score(new, model.novelty(test)))
    assert stranger.rival_value == pytest.approx(
        roc_auc_score(new, tl.DTW().pairwise(test, people.fitting).min(axis=1))
    )

    gallery = tl.concat([people.fitting, people.examples])
    nearest = gallery.labels[tl.DTW().pairwise(test, gallery).argmin(axis=1)]
    is_right = model.enroll(people.examples).predict(test) == test.labels
    assert accuracy.value == pytest.approx(is_right.mean())
    assert accuracy.rival_value == pytest.approx(np.mean(nearest == test.labels))
    rows = table_rows(section.parts[3])
    assert rows["class 3, enrolled from 3 examples"][:2] == pytest.approx(
        [is_right[new].mean(), np.mean(nearest[new] == 3)], abs=1e-4
    )
    assert rows["all"] == pytest.approx(
        [accuracy.value, accuracy.rival_value, claims.value, claims.rival_value], abs=1e-4
    )
    assert claims.better == "lower"
    examples = prototypes.claim_examples(people)
    distances = tl.DTW().pairwise(test, examples)
    false_accepts, true_accepts, _ = roc_curve((test.labels[:, None] == examples.labels).ravel(), -distances.ravel())
    nearest_to_equal = np.abs(false_accepts - (1 - true_accepts)).argmin()
    assert claims.rival_value == pytest.approx(false_accepts[nearest_to_equal], abs=0.01)


def test_rates_of_claims_are_those_of_all_pairs(run_small, small_data):
    people = prototypes.split_people(small_data.train, small_data.test)
    model = (
        tl.Prototypes(max_steps=5, random_state=0).fit(people.fitting).calibrate(people.calibration, false_accept=0.1)
    )
    claims = prototypes.check_claims(model.enroll(people.examples), people)
    examples = prototypes.claim_examples(people)
    for i, j in ((0, 0), (3, 11), (39, 5)):
        assert claims.is_true[i, j] == (people.test.labels[i] == examples.labels[j])
        assert claims.distances[i, j] == pytest.approx(-model.similarity(people.test[i], examples[j]), rel=1e-5)
        assert claims.accepted[i, j] == model.verify(people.test[i], examples[j])
        assert claims.rival_distances[i, j] == pytest.approx(tl.DTW().distance(people.test[i], examples[j]))


def test_a_second_run_gives_the_same_numbers(section, run_small):
    assert without_figures(section) == without_figures(run_small(prototypes, STEPS=5))
