"""What pages say in words is made of their figures."""

import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers.decdtw import alignment_report as report, solver, solving
from benchmarks.papers.tloss import long

PAPERS = Path(__file__).parents[2] / "benchmarks/papers"
WITH_EXAMPLES = [
    ".".join(path.relative_to(PAPERS.parents[1]).with_suffix("").parts)
    for path in sorted(PAPERS.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_the_papers_programs_are_right(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (0.05, "are ahead of predicting no change, 0.05 against 0.1 (-50 %), and are ahead of raw values"),
        (0.09, "are ahead of predicting no change, 0.09 against 0.1 (-10 %), and lose to raw values"),
        (0.11, "**lose to predicting no change**, 0.11 against 0.1 (+10 %), and to raw values"),
    ],
)
def test_a_forecast_that_loses_to_no_change_is_said_to(ours, said):
    row = {"no change": 0.1, "encoding": 1.0, "raw": {"error": 0.08, "seconds": 1.0}}
    assert said in long.verdict("week", row | {"representations": {"error": ours, "seconds": 1.0}})


def compared(dilate, decdtw, dilate_under_gdtw, *, seeds=1):
    """Rows of the DecDTW comparison with these errors on chroma."""
    errors = {"dilate": (dilate, dilate_under_gdtw), "decdtw": (99.0, decdtw), "base-gdtw": (90.0, 75.0)}
    return {
        f"chroma/{method}/{seed}": {
            "task": "chroma",
            "method": method,
            "seed": seed,
            "epoch": 3,
            "test DTW": {"TimeErr": under_dtw + seed},
            "test GDTW": {"TimeErr": under_gdtw + seed},
        }
        for method, (under_dtw, under_gdtw) in errors.items()
        for seed in range(seeds if method != "base-gdtw" else 1)
    }


def test_the_reader_is_told_that_the_ranking_reversed():
    said = report.reversal(compared(66.0, 60.0, 64.0))
    assert "| chroma | 65.7 | 68.7 | 66 | 60 | DILATE | DecDTW |" in said
    assert "| chroma | 65.7 | 68.7 | 66 | 70 | DILATE | DILATE |" in report.reversal(compared(66.0, 70.0, 64.0))


def test_a_rival_that_is_ahead_is_said_to_be():
    assert "64, better than base features (75) (in the paper they are worse), and behind DecDTW's (60)" in (
        report.verdict(compared(66.0, 60.0, 64.0), "chroma")
    )
    assert "and ahead of DecDTW's (60)" in report.verdict(compared(66.0, 60.0, 59.0), "chroma")
    assert "80, worse than base features (75), and behind" in (report.verdict(compared(66.0, 60.0, 80.0), "chroma"))


def test_seeds_are_compared_one_by_one():
    assert "DecDTW is ahead with the one seed" in report.verdict(compared(66.0, 60.0, 64.0), "chroma")
    assert "DILATE is ahead with the one seed" in report.verdict(compared(66.0, 67.0, 64.0), "chroma")
    three = compared(66.0, 65.5, 64.0, seeds=3)
    assert "66.5 ± 1 and 67 ± 1; DecDTW is ahead with 3 of the 3 seeds" in report.verdict(three, "chroma")
    three["chroma/decdtw/2"]["test GDTW"]["TimeErr"] = 99.0
    assert "DecDTW is ahead with 2 of the 3 seeds" in report.verdict(three, "chroma")


def test_the_rival_of_figure_6_minimises_what_the_layer_does():
    x, y = solving.subsequence_pair()
    found = solving.passes(12)
    for warp, value in zip(found["warps"], found["objectives"], strict=True):
        assert solving.objective(np.array(warp) / (solving.STREAM - 1), x, y) == pytest.approx(value, rel=1e-12)
    assert found["objectives"][-1] <= found["slsqp objective"] + 1e-7 <= found["objectives"][-2] + 1e-7


def test_a_time_is_told_beside_its_rivals():
    times = {"DTW": 1e-3, "grid alone, not refined": 2e-3, "grid alone": 4e-3, "GDTW": 5e-3, "GDTW, usual grid": 8e-3}
    longer = {name: 3 * seconds for name, seconds in times.items()} | {"DTW": 1e-3}
    rows = {
        "inference/64": {"part": "inference", "size": 64, "times": times},
        "inference/128": {"part": "inference", "size": 128, "times": longer},
    }
    said = "\n".join([solver.inference_times(rows), solver.inference_ratios(rows)])
    assert "| 64 | 1 | 2 | 4 | 5 | 8 |\n| 128 | 1 | 6 | 12 | 15 | 24 |" in said
    assert "takes 4 to 12 times as long as DTW" in said
