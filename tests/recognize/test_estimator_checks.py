"""scikit-learn's own checks of every estimator here, with the reason for each that is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

import timelike as tl

OTHER_LENGTHS = (
    "wants sequences of another length to be refused after fit; comparing unequal lengths is what these metrics are for"
)
WORDING = "refused as it should be, with an error that names the argument, not in the words the check looks for: "
EVERY = {
    "check_n_features_in_after_fitting": OTHER_LENGTHS,
    "check_dtype_object": WORDING + "a dict inside X",
    "check_estimators_empty_data_messages": WORDING + "X with sequences of length 0",
    "check_estimators_nan_inf": WORDING + "nan in X, which is called missing here",
}
ONLY = {
    "Neighbors": {"check_classifiers_train": OTHER_LENGTHS},
    "ElasticKernel": {"check_transformer_general": OTHER_LENGTHS},
}


def expected(estimator):
    return EVERY | ONLY.get(type(estimator).__name__, {})


ESTIMATORS = [
    tl.Neighbors(),
    tl.NeighborsRegressor(),
    tl.KMedoids(2, random_state=0),
    tl.KMeans(2, random_state=0, max_iter=5),
    tl.ElasticKernel(),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def with_scikit_learns_door(estimator):
    """The same estimator behind scikit-learn's own validation: one length for all, its words for what it refuses."""

    class Strict(type(estimator)):
        def _learn_from(self, X):
            return super()._learn_from(validate_data(self, X))

        def _asked(self, X):
            check_is_fitted(self)
            return super()._asked(validate_data(self, X, reset=False))

    Strict.__name__ = type(estimator).__name__
    return Strict(**estimator.get_params(deep=False))


RELIEVED = [
    (estimator, check)
    for plain in ESTIMATORS
    for estimator, check in estimator_checks_generator(with_scikit_learns_door(plain))
    if check.func.__name__ in expected(plain)
]


@pytest.mark.parametrize(("estimator", "check"), RELIEVED)
def test_nothing_but_the_reasons_given_makes_a_check_fail(estimator, check):
    check(estimator)


def test_every_estimator_of_the_room_is_checked():
    assert sorted(tl.recognize.__all__) == sorted(type(estimator).__name__ for estimator in ESTIMATORS)
