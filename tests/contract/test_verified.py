"""Every metric and every encoder, found by itself, can be verified with: calibrated, enrolled, saved."""

import numpy as np
import pytest

import timelike as tl
from contract.discover import LEARNED_METRICS, PLAIN_METRICS, data, fitted


@pytest.mark.filterwarnings("ignore::timelike.score.CalibrationWarning")  # two classes promise little
@pytest.mark.parametrize("kind", [*PLAIN_METRICS, *LEARNED_METRICS])
def test_every_metric_is_a_gate(kind, tmp_path):
    learned = kind in LEARNED_METRICS
    metric, X = (fitted(kind), data(kind)) if learned else (kind(), data(tl.Rocket, lengths=(9,) * 8))
    gate = tl.Verifier(metric).calibrate(X, false_accept=0.5).enroll(X[:1], "one").enroll(X[1:3], "two")
    assert gate.verify(X[0], X[1]).score == pytest.approx(-metric.distance(X[0], X[1]), rel=1e-4, abs=1e-5)
    claim = gate.accepts(X[5], "one")
    assert claim.score == pytest.approx(-metric.distance(X[0], X[5]), rel=1e-4, abs=1e-5)
    assert claim.accepted == (claim.score >= gate.threshold_)
    gate.save(tmp_path / "gate")
    again = tl.load_model(tmp_path / "gate")
    for who in ("one", "two"):
        np.testing.assert_array_equal(again.accepts(X, who).score, gate.accepts(X, who).score)
