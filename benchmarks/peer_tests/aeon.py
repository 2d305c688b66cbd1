"""What the tests of aeon expect of its distances; the numbers are read from the package, which ships them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from benchmarks.peer_tests.expectation import Expectation, Why

PACKAGE = "aeon"
NOT_HERE = "dtw_gi, wddtw, shape_dtw, sbd, shift_scale and the symbolic distances"

_DDTW = Why(
    "slopes, and so the band, have the inner steps only; Keogh and Pazzani (2001), and ours, repeat the ends", "ours"
)
_EDR = Why(
    "its border costs nothing, and a difference of exactly epsilon is no match; in the paper (Chen et al., 2005), and "
    "here, the border costs i and j, and epsilon itself matches",
    "ours",
)
_MSM = Why(
    "with `independent=False` squares are added, so that one channel is not its own univariate distance; ours uses the "
    "norm, and is",
    "both",
)
_SIGN = Why("soft-DTW may be negative (Cuturi and Blondel, 2017); aeon gives its absolute value", "ours")
_LCSS = Why(
    "where two steps do not match, aeon comes from above or from the left only; the last corner of the parallelogram "
    "has neither, and its 4 matches of 10 are lost",
    "ours",
)
_CUT = Why("the longer sequence is cut to the shorter; ours refuses, and says what to do", "both")
_ERP = Why("border cells are totals of the gap costs; in the paper (Chen and Ng, 2004) sums up to the step", "ours")

# our call for one of theirs, to which options are added
_CALLS = {
    "euclidean": "tl.Euclidean(",
    "squared": "tl.DTW(window=0",
    "manhattan": 'tl.DTW(window=0, cost="manhattan"',
    "minkowski": "tl.Euclidean(",
    "dtw": "tl.DTW(",
    "ddtw": "tl.DDTW(",
    "wdtw": "tl.WDTW(",
    "lcss": "tl.LCSS(",
    "erp": "tl.ERP(",
    "edr": "tl.EDR(normalize=True",
    "twe": "tl.TWE(",
    "msm": "tl.MSM(dependent=False",
    "adtw": "tl.ADTW(",
    "soft_dtw": "tl.SoftDTW(",
}

# what test_numba_distance_parameters.py gives to each, in its order
_BANDS = ["window=0.2", 'band="itakura", window=2.0']
_OPTIONS = {
    "dtw": _BANDS,
    "ddtw": _BANDS,
    "wdtw": [*_BANDS, "g=1.0"],
    "lcss": [*_BANDS, "epsilon=0.5"],
    "erp": [*_BANDS, "gap=0.5"],
    "edr": [*_BANDS, "epsilon=0.5"],
    "twe": [*_BANDS, "lmbda=0.5", "nu=0.9"],
    "msm": [*_BANDS, "dependent=True", "c=0.1"],
    "adtw": [*_BANDS, "penalty=5.0"],
    "soft_dtw": [*_BANDS, "gamma=0.2"],
}
# what test_distance_correctness.py gives to each: an option of ours and its three values
_CORRECT = {
    "dtw": ("window", [0.0, 0.1, 1.0]),
    "wdtw": ("g", [0.0, 0.1, 1.0]),
    "erp": ("window", [0.0, 0.1, 1.0]),
    "lcss": ("epsilon", [0.0, 50.0, 200.0]),
    "edr": ("epsilon", [0.0, 50.0, 200.0]),
    "ddtw": ("window", [0.0, 0.1, 1.0]),
    "twe": ("window", [0.0, 0.1, 1.0]),
    "msm_ind": ("c", [0.0, 0.2, 3.0]),
    "msm_dep": ("c", [0.0, 0.2, 3.0]),
}
# where the two differ: (distance, options, data) → why; "" stands for any
_WHY = [
    ("ddtw", "", "", _DDTW),
    ("edr", "", "", _EDR),
    ("msm", "dependent=True", "", _MSM),
    ("soft_dtw", "", "", _SIGN),
    ("lcss", "itakura", "X10, Y10", _LCSS),
    ("erp", "", "", _ERP),
    ("", "", "x5, y10", _CUT),
]


def series() -> dict[str, NDArray[Any]]:
    """The sequences of its tests, time before channel."""
    made = importlib.import_module("aeon.testing.data_generation")
    sets = importlib.import_module("aeon.datasets")
    unit, motions = (load(return_type="numpy3D")[0] for load in (sets.load_unit_test, sets.load_basic_motions))
    return {
        "x10": made.make_example_1d_numpy(10, random_state=1),
        "y10": made.make_example_1d_numpy(10, random_state=2),
        "x5": made.make_example_1d_numpy(5, random_state=1),
        "X10": made.make_example_2d_numpy_series(10, 10, random_state=1).T,
        "Y10": made.make_example_2d_numpy_series(10, 10, random_state=2).T,
        "unit0": unit[0].T,
        "unit2": unit[2].T,
        "motion0": motions[0].T,
        "motion1": motions[1].T,
    }


def expectations() -> Iterator[Expectation]:
    """Of every distance that both have, in the order of its tests."""
    known = importlib.import_module("aeon.testing.expected_results.expected_distance_results")
    for name in _CALLS:
        expected = known._expected_distance_results[name]
        for position, data in {0: "x10, y10", 2: "x5, y10", 4: "[10.0], [15.0]"}.items():
            if position < len(expected):
                yield _one(f"test_distances.py::test_distances[{name}]", name, "", data, expected[position], 1e-7)
    for name, options in _OPTIONS.items():
        test = f"test_numba_distance_parameters.py::test_new_distance_params[{name}]"
        for option, pair in zip(options, known._expected_distance_results_params[name], strict=False):
            for data, number in zip(("x10, y10", "X10, Y10"), pair, strict=True):
                yield _one(test, name, option, data, number, 1e-6 * abs(number))
    yield from _correct()


def _correct() -> Iterator[Expectation]:
    given = importlib.import_module("aeon.distances.elastic.tests.test_distance_correctness")
    sets = {"univariate": ("unit0, unit2", given.unit_test_distances, 1.0),
            "multivariate": ("motion0, motion1", given.basic_motions_distances, 50.0)}  # fmt: skip
    for kind, (data, numbers, scale) in sets.items():
        test = f"test_distance_correctness.py::test_{kind}_correctness"
        for name in ("euclidean", "squared"):
            yield _one(test, name, "", data, numbers[name], 1e-4)
        for name, (option, values) in _CORRECT.items():
            for value, number in zip(values, numbers[name], strict=True):
                given_value = value / scale if option == "epsilon" else value
                told = f"{option}={given_value!r}" + (", dependent=True" if name == "msm_dep" else "")
                yield _one(test, name.split("_")[0], told, data, number, 1e-4)


def _one(test: str, name: str, options: str, data: str, number: float, within: float) -> Expectation:
    call = "tl.MSM(" if "dependent=True" in options else _CALLS[name]
    joined = ", " if options and not call.endswith("(") else ""
    ours = f"{call}{joined}{options}).distance({data})"
    reasons = (why for n, o, d, why in _WHY if n in ("", name) and o in options and d in ("", data))
    return Expectation(test, number, ours, within, next(reasons, None))
