"""Numbers in an edited folder that no `fit` could have learned: each is refused by name when the folder is loaded."""

import numpy as np
import pytest

import timelike as tl
from contract.tampered import Case, edited
from tampering import replace_arrays, write_config


@pytest.fixture
def case(request, tmp_path):
    return Case(request.param, tmp_path / "model")


@pytest.mark.parametrize("case", ["Rocket"], indirect=True)
@pytest.mark.parametrize("dilation", [3 * 10**7, 10**9])
def test_kernels_longer_than_any_series_are_refused(case, dilation):
    name = "model.learned.bank_.dilations"
    dilations = case.arrays[name].copy()
    dilations[-1] = dilation
    replace_arrays(case.folder, {name: dilations})
    with pytest.raises(ValueError, match=rf"bank_\.dilations holds {dilation}: expected at most 2097151"):
        tl.load_model(case.folder)


@pytest.mark.parametrize(
    "case",
    ["EmbeddingClassifier", "EmbeddingClassifier, svm", "EmbeddingClassifier, 1nn", "EmbeddingRegressor"],
    indirect=True,
)
def test_a_head_for_vectors_of_another_size_is_refused(case):
    (name,) = (name for name in case.arrays if name.endswith(("head_.coefficients", "head_.vectors")))
    replace_arrays(case.folder, {name: np.ascontiguousarray(case.arrays[name][:, :1])})
    with pytest.raises(ValueError, match=r"head_\.\w+ has shape \(\d+, 1\): expected"):
        tl.load_model(case.folder)


@pytest.mark.parametrize("case", ["EmbeddingClassifier, forest"], indirect=True)
def test_a_forest_that_asks_for_a_feature_there_is_not_is_refused(case):
    size = tl.load_model(case.folder).encoder_.encode(np.zeros((1, 20, 2))).shape[1]
    feature = case.arrays["model.learned.head_.feature"].copy()
    feature[np.flatnonzero(feature >= 0)[0]] = size
    replace_arrays(case.folder, {"model.learned.head_.feature": feature})
    with pytest.raises(ValueError, match=rf"head_\.feature holds {size}: expected features of vectors of {size}"):
        tl.load_model(case.folder)


@pytest.mark.parametrize("case", ["Ridge, calibrated"], indirect=True)
def test_errors_that_give_no_bounds_are_refused(case):
    name = "model.learned.calibration_.errors"
    for place, value in ((0, np.inf), (-1, -np.inf), (0, np.nan)):  # NaN means the end of a window, after which is more
        errors = case.arrays[name].copy()
        errors[0, place] = value
        replace_arrays(case.folder, {name: errors})
        with pytest.raises(ValueError, match=rf"calibration_\.errors holds {'NaN' if np.isnan(value) else 'infinity'}"):
            tl.load_model(case.folder)
    errors = case.arrays[name].copy()
    errors[0, 1:] = np.nan
    replace_arrays(case.folder, {name: errors})
    tl.load_model(case.folder)


@pytest.mark.parametrize(
    ("case", "name", "expected"),
    [
        ("Ridge, calibrated", "lags_", "fewer than the"),
        ("Analog", "window_", "fewer"),
        ("AR", "months_per_step_", "to 7200"),
    ],
    indirect=["case"],
)
def test_whole_numbers_beyond_what_was_learned_from_are_refused(case, name, expected):
    write_config(case.folder, edited(case.config, ("learned", name), 10**12))
    with pytest.raises(ValueError, match=rf"{name} is 1000000000000: expected .*{expected}"):
        tl.load_model(case.folder)


@pytest.mark.parametrize(
    ("case", "name"),
    [("Drift, updated", f"pool_.{field}") for field in ("place", "unit", "batch")]
    + [pytest.param("Prototypes, calibrated", "members_.counts", marks=pytest.mark.learn)],
    indirect=["case"],
)
def test_positions_and_counts_that_cannot_be_are_refused(case, name):
    numbers = case.arrays[f"model.learned.{name}"].copy()
    numbers[0] = 2**62
    replace_arrays(case.folder, {f"model.learned.{name}": numbers})
    with pytest.raises(ValueError, match=rf"{name} holds"):
        tl.load_model(case.folder)
