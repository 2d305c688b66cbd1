"""scikit-learn's own checks of learned metrics, with the reason for each that is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import validate_data

import timelike as tl
from timelike import metric as room

WORDING = "refused as it should be, with an error that names the argument, not in the words the check looks for: "
EXPECTED = {
    "check_dtype_object": WORDING + "a dict inside X",
    "check_estimators_empty_data_messages": WORDING + "X with sequences of length 0",
    "check_estimators_nan_inf": WORDING + "nan in X, which is called missing here",
}
ESTIMATORS = [
    tl.SiameseGRU(hidden=2, max_epochs=1, random_state=0),
    tl.CoupledGRU(hidden=2, max_epochs=1, random_state=0),
    tl.TAP(hidden=4, kernels=2, max_epochs=1, random_state=0),
    room.RVSML(virtual=2, max_iterations=2),
    room.DeepRVSML(virtual=2, hidden=4, max_epochs=1, random_state=0),
    room.ElementWise(hidden=4, max_steps=2, random_state=0),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def with_scikit_learns_door(estimator):
    """The same estimator behind scikit-learn's own validation: its words for what it refuses."""

    class Strict(type(estimator)):
        def _read(self, X):
            return super()._read(validate_data(self, X))

    Strict.__name__ = type(estimator).__name__
    return Strict(**estimator.get_params(deep=False))


RELIEVED = [
    (estimator, check)
    for plain in ESTIMATORS
    for estimator, check in estimator_checks_generator(with_scikit_learns_door(plain))
    if check.func.__name__ in EXPECTED
]


@pytest.mark.parametrize(("estimator", "check"), RELIEVED)
def test_nothing_but_the_reasons_given_makes_a_check_fail(estimator, check):
    check(estimator)


@pytest.mark.parametrize("supervision", ["labels", "augmentation"])
def test_classes_are_asked_for_where_they_are_needed(supervision):
    tags = tl.TAP(supervision=supervision).__sklearn_tags__()
    assert tags.target_tags.required == (supervision == "labels")
