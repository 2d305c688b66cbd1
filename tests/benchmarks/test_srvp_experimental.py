"""The program about what is experimental in SRVP: its worlds, what it measures, and a page of made-up rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.papers.srvp import experimental


def test_a_point_goes_straight_but_where_it_meets_a_wall():
    world = experimental.bounces(2000, np.random.default_rng(0))
    met = np.isfinite(world.known["times"][:, :-1])  # in the step from a frame to the next
    assert -0.06 < world.series.min() < 0
    assert 1 < world.series.max() < 1.06
    bends = np.diff(world.series, n=2, axis=1)  # of frames t − 1, t and t + 1
    straight = ~(met[:, :-1] | met[:, 1:])
    assert bends[:, : straight.shape[1]][straight].std() == pytest.approx(0.01 * np.sqrt(6), rel=0.03)
    assert np.abs(bends[:, : straight.shape[1]][~straight]).mean() > 0.05
    times = world.known["times"][:, :-1][met]
    share = times - np.floor(times)
    assert share.mean() == pytest.approx(0.5, abs=0.02)  # walls are met at any time


def test_the_truth_of_a_swap_is_a_product():
    world = experimental.strings(3, np.random.default_rng(0))
    np.testing.assert_allclose(world.series, world.known["high"] * world.known["wave"])
    truth = world.known["high"][::-1] * world.known["wave"][:, 5:17]
    perfect = SimpleNamespace(swap=lambda contents, dynamics, horizon: SimpleNamespace(mean=truth))
    assert experimental.swap_error(perfect, world) == 0


def test_a_spot_is_as_bright_as_its_world_says():
    world = experimental.fading(50, np.random.default_rng(0))
    assert (world.series.max(axis=2) <= world.known["bright"]).all()
    assert (world.series.max(axis=2) > 0.8 * world.known["bright"]).all()  # a cell is at most half a step away


def test_draws_that_are_at_the_bounces_are_told_from_others():
    times = np.full((2, 40, 2), np.nan)
    times[0, 2, 0], times[0, 8, 1] = 2.0, 8.0
    times[1, 30, 0] = 30.5  # behind the chunk
    found = experimental.event_scores([np.array([0.0, 2.0, 8.5]), np.array([0.0])], times)
    assert found["events"] == 2
    assert found["bounce"] == 0.25
    lows = (1.0 + 2 * 3.25**2 / 2 + 7.5**2 / 2 + 128) / 32  # areas under the distance to the nearest draw
    assert found["any"] == pytest.approx(lows, rel=0.01)


def test_bounds_are_compared_only_where_contents_are_of_the_same_frames():
    common = {"machine": "", "version": "0", "date": "2026-01-01", "processor seconds": 1.0, "seconds": 1.0, "seed": 0}
    scores = dict.fromkeys(("mse within", "crps within", "crps after", "events", "bounce", "any", "content"), 1.0)
    rows = {
        world: common | scores | {"dataset": world, "method": "SRVP", "elbo": 123.4} for world in ("bounces", "fading")
    }
    tables = experimental.Experimental.of_rows(rows).body().split("## ")
    assert "| ELBO |" in tables[1]
    assert "| 123.4" in tables[1]
    assert "ELBO |" not in tables[2]
    assert "123.4" not in tables[2]


def test_the_page_says_how_each_form_stands_beside_srvp():
    common = {"machine": "", "version": "0", "date": "2026-01-01", "processor seconds": 1.0, "seconds": 1.0}
    rows = {}
    for method, score in (("SRVP", 2.0), ("SRVP, merged", 1.0), ("Ridge", 3.0)):
        for seed in (0, 1):
            scores = dict.fromkeys(("mse within", "crps within", "crps after"), score + seed)
            row = {"dataset": "strings", "method": method, "seed": seed, "swap": 4.0, **scores}
            rows[f"strings/{method}/{seed}"] = common | row
    page = experimental.Experimental.of_rows(rows).body()
    assert "CRPS within the trained length 0.58 ± 0.12 of SRVP's (less in 2 of 2 seeds)" in page
    assert "swaps 1.00 ± 0.00 of SRVP's (less in 0 of 2 seeds)" in page
    assert "- Ridge" not in page
    assert experimental.Experimental.of_rows(rows).headline().startswith("Each experimental option of SRVP")
    assert "`merged` 0.58; `merged` helps in every seed" in experimental.Experimental.of_rows(rows).headline()
    assert experimental.Experimental.of_rows({}).headline().startswith("No row is finished yet")
