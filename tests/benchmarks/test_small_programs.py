"""Two programs with one table each: intervals of backtests, and vectors of images."""

import numpy as np
import pytest
from benchmarks.accuracy import backtest_intervals, image_vectors


def test_the_error_that_intervals_are_to_hold_is_that_of_the_walks():
    rng = np.random.default_rng(0)
    walks = rng.standard_normal((20_000, backtest_intervals.HORIZON + 1)).cumsum(axis=1)
    error = np.mean((walks[:, -1] - walks[:, 0]) ** 2)
    assert error == pytest.approx(backtest_intervals.HORIZON, rel=0.05)


def test_intervals_of_many_walks_hold_the_error_in_most_backtests():
    design = backtest_intervals.Design(30, 20)
    assert 15 <= sum(backtest_intervals.covers(design, seed) for seed in range(20)) <= 20


def test_untrained_encoders_keep_the_weights_they_were_drawn_with():
    images = np.random.default_rng(0).random((6, 1, 28, 28), dtype=np.float32)
    import timelike as tl

    sequences = tl.Sequences(images, layout="nchw")
    assert image_vectors.encoder("untrained", 0).fit(sequences).history_.n_steps == 0
