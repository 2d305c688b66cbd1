"""Learned metrics: scores and errors of alignments that are recomputed, and pictures of both."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.cli.demo.section_parts import table_rows, without_figures

import timelike as tl
from timelike.cli.demo.sections import learned_metrics
from timelike.sequences.augment import Blur, Merge, choose

pytest.importorskip("torch")

BUDGETS = {"STEPS": 4, "ALIGNMENT_STEPS": 5, "PAIRS": 5}


@pytest.fixture(scope="module")
def section(run_small):
    """The section with few steps."""
    return run_small(learned_metrics, **BUDGETS)


def test_scores_are_those_of_the_distances(section, small_data):
    train, test = small_data.train, small_data.test
    rows = table_rows(section.parts[1])
    assert list(rows) == ["SiameseGRU", "CoupledGRU", "TAP", "Discriminant", "DTW"]
    metrics = {"SiameseGRU": tl.SiameseGRU(max_steps=4, random_state=0).fit(train), "DTW": tl.DTW()}
    for name, metric in metrics.items():
        distances = metric.pairwise(test, train)
        by_label = zip(distances, test.labels, strict=True)
        precision = np.mean([average_precision_score(train.labels == label, -row) for row, label in by_label])
        accuracy = np.mean(train.labels[distances.argmin(axis=1)] == test.labels)
        assert rows[name] == pytest.approx([precision, accuracy], abs=1e-4)
    assert [score.method for score in section.scores] == ["SiameseGRU", "CoupledGRU", "TAP", "TAP without labels"]
    for score in section.scores[:3]:
        assert score.value == pytest.approx(rows[score.method][0], abs=1e-4)
        assert score.rival_value == pytest.approx(rows["DTW"][0], abs=1e-4)


def test_errors_are_those_of_alignments_with_a_known_truth(section, small_data):
    test = small_data.test
    changed, truths = choose([Blur(), Merge()])(test, random_state=0)
    tap = tl.TAP(supervision="alignment", max_steps=5, random_state=0).fit(small_data.train)
    by_tap, by_dtw = [], []
    for x, y, truth in zip(changed, test, truths, strict=True):
        predicted = tap.align(x, y).plan * len(x)  # TAP divides a softmax by the number of steps
        by_tap.append(np.mean((predicted - truth) ** 2))
        matched = [[j for i, j in tl.DTW().align(x, y).path if i == step] for step in range(len(x))]
        path = np.array([[(j in steps) / len(steps) for j in range(len(y))] for steps in matched])
        by_dtw.append(np.mean((path - truth) ** 2))
    error = section.scores[3]
    assert error.better == "lower"
    assert (error.value, error.rival_value) == pytest.approx((np.mean(by_tap), np.mean(by_dtw)), rel=1e-4)
    assert table_rows(section.parts[4])["TAP, no labels"] == pytest.approx([error.value], rel=1e-3)


def test_a_true_alignment_has_no_error():
    x, y, truth = np.arange(3.0), np.arange(4.0), np.array([[1.0, 0, 0, 0], [0, 0.25, 0.75, 0], [0, 0, 0, 1]])
    true = tl.Alignment(0.0, None, x, y, weights=truth * [[0.2], [0.5], [0.3]])  # rows of any sum
    assert learned_metrics.plan_error([true], [truth]) == pytest.approx(0, abs=1e-30)
    diagonal = tl.Alignment(0.0, None, x, y, weights=np.eye(3, 4))
    assert learned_metrics.plan_error([diagonal], [truth]) == pytest.approx((0.75**2 + 0.75**2 + 1 + 1) / 12)


def test_pictures_show_pairs_and_four_alignments(section):
    synchronization, panels = (part for part in section.parts if "<figure" in part)
    assert "of one class" in synchronization
    assert all(name in panels for name in ("truth", "TAP, no labels", "DTW", "SoftDTW"))


def test_a_second_run_gives_the_same_numbers(section, run_small):
    assert without_figures(section) == without_figures(run_small(learned_metrics, **BUDGETS))
