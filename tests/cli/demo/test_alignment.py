"""The demo's alignments: the true warps are true, and the errors are those of the methods by themselves."""

import numpy as np
import pytest

import timelike as tl
from blocked_torch import facts_without_torch
from timelike.cli.demo.data import load_or_generate
from timelike.cli.demo.sections import alignment

STEPS = np.arange(alignment.LENGTH)


def make(disturbed, copies=1):
    gestures = load_or_generate("PickupGestureWiimoteZ").test[::5]
    return alignment.make_pairs(gestures, copies, disturbed=disturbed, random_state=0)


def test_the_true_warp_brings_both_recordings_together():
    pairs = make(disturbed=False)
    assert (np.diff(pairs.truth, axis=1) >= -1e-9).all()
    np.testing.assert_allclose(pairs.truth[:, [0, -1]], np.tile(STEPS[[0, -1]], (len(pairs.truth), 1)), atol=1e-9)
    for x, y, truth in zip(*pairs, strict=True):
        difference = x - np.interp(truth, STEPS, y)
        # noise of deviation 0.1 in x, and in y, where interpolation averages some of it out
        assert 0.1 < difference.std() < 0.15


def test_a_disturbed_recording_is_the_gesture_with_a_gain_a_drift_and_one_oscillation():
    gestures = load_or_generate("PickupGestureWiimoteZ").test[::5].resample(alignment.LENGTH)
    pairs, u = make(disturbed=True), np.linspace(0, 1, alignment.LENGTH)
    for gesture, x, truth in zip(gestures.standardize(per="sequence"), pairs.x, pairs.truth, strict=True):
        known = [np.interp(truth, STEPS, gesture[:, 0]), *(np.cos(np.pi * k * u) for k in range(3))]
        residuals = []
        for period in np.linspace(4, 7, 121):
            wave = 2 * np.pi * STEPS / period
            basis = np.stack([*known, np.sin(wave), np.cos(wave)], axis=1)
            weights = np.linalg.lstsq(basis, x, rcond=None)[0]
            residuals.append((np.std(x - basis @ weights) / weights[0], np.hypot(*weights[-2:])))
        noise, amplitude = min(residuals)
        assert 0.06 < noise < 0.17  # 0.1, and the motor alone would be 0.5 by the gain
        assert 0.6 < amplitude < 0.8


def test_dtw_has_the_mean_of_the_matched_steps():
    pairs = make(disturbed=True)
    path = tl.DTW().align(pairs.x[0], pairs.y[0]).path
    expected = [path[path[:, 0] == i, 1].mean() for i in STEPS]
    np.testing.assert_allclose(alignment.warps_by_dtw(pairs)[0], expected)


@pytest.mark.learn
def test_training_lowers_the_error_on_unseen_pairs_and_repeats(monkeypatch):
    monkeypatch.setattr(alignment, "STEPS", 20)
    monkeypatch.setattr(alignment, "COPIES", 2)
    monkeypatch.setattr(alignment, "REGULARIZATIONS", (0.01, 3.0))
    section = alignment.run()
    by_rival = {(score.method, score.rival): score for score in section.scores}
    learned = by_rival["DecDTW", "GDTW"]
    assert learned.value < learned.rival_value < by_rival["DecDTW", "DTW"].rival_value
    assert by_rival["GDTW", "DTW"].value < by_rival["GDTW", "DTW"].rival_value
    assert alignment.run().scores == section.scores


def test_without_torch_dtw_stands_beside_gdtw():
    program = """
from timelike.cli.demo.sections import alignment
section = alignment.run()
facts["scores"], facts["html"] = [vars(score) for score in section.scores], "".join(section.parts)
"""
    facts = facts_without_torch(program)
    (score,) = facts["scores"]
    data = load_or_generate("PickupGestureWiimoteZ")
    pairs = alignment.make_pairs(data.test, 2, disturbed=False, random_state=1)
    assert score["rival_value"] == pytest.approx(np.abs(alignment.warps_by_dtw(pairs) - pairs.truth).mean())
    assert "timelike[learn]" in facts["html"]
