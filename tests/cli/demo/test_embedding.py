"""Vectors without labels: scores that are recomputed, and labels that training never sees."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.cli.demo.section_parts import table_rows, without_figures

import timelike as tl
from timelike.cli.demo.sections import embedding

pytest.importorskip("torch")


def mean_precision(distances, test, train):
    """By scikit-learn, whose scores are higher where two are more alike."""
    rows = zip(distances, test.labels, strict=True)
    return np.mean([average_precision_score(train.labels == label, -row) for row, label in rows])


@pytest.fixture(scope="module")
def section(run_small):
    """The section with few steps."""
    return run_small(embedding, STEPS=3)


def test_scores_are_those_of_the_vectors_and_of_dtw(section, small_data):
    train, test = small_data.train, small_data.test
    few, search = section.scores
    encoder = tl.CausalEncoder(max_steps=3, random_state=0).fit(train.replace(labels=None))
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in map(encoder.encode, (test, train)))
    assert search.value == pytest.approx(mean_precision(-x @ y.T, test, train), abs=1e-5)
    by_dtw = tl.DTW().pairwise(test, train)
    assert search.rival_value == pytest.approx(mean_precision(by_dtw, test, train), abs=1e-9)
    told = np.concatenate([np.flatnonzero(train.labels == label)[:3] for label in range(4)])
    nearest = train.labels[told][by_dtw[:, told].argmin(axis=1)]
    assert few.rival_value == pytest.approx(np.mean(nearest == test.labels))
    assert [few.better, search.better] == ["higher", "higher"]
    rows = table_rows(section.parts[1])
    assert rows["CausalEncoder"] == pytest.approx([search.value, few.value], abs=1e-4)
    assert rows["DTW"] == pytest.approx([search.rival_value, few.rival_value], abs=1e-4)
    assert "small generated sequences" in section.parts[0]
    assert section.parts[2].count("<svg") == 1


def test_no_encoder_sees_a_label(run_small, monkeypatch):
    seen = []
    for encoder in (tl.CausalEncoder, tl.Rocket):
        fit = encoder.fit

        def record(self, X, y=None, fit=fit):
            seen.append((type(self).__name__, len(X), X.labels, y))
            return fit(self, X, y)

        monkeypatch.setattr(encoder, "fit", record)
    run_small(embedding, STEPS=2)
    assert seen == [("CausalEncoder", 160, None, None)] * 3 + [("Rocket", 160, None, None)]


def test_a_second_run_gives_the_same_numbers(section, run_small):
    assert without_figures(section) == without_figures(run_small(embedding, STEPS=3))


def test_the_first_of_each_class_are_told():
    labels = np.array(["b", "a", "b", "a", "c", "b"])
    np.testing.assert_array_equal(embedding.first_of_each_class(labels, 2), [1, 3, 0, 2, 4])
