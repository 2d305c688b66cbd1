"""scikit-learn's own checks of every estimator of every package, with the reason for each that is expected to fail."""

import re

import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

import timelike as tl
from contract.discover import FORECASTERS, LEARNED_METRICS, MODELS, SINGLE, needs_learn, small
from optional_torch import torch
from timelike.encode import Encoder
from timelike.forecast import Forecaster

LENGTHS = "wants sequences of another length to be refused after fit; comparing unequal lengths is what they are for"
WORDING = "refused as it should be, with an error that names the argument, not in the words the check looks for: "
EVERY = {
    "check_dtype_object": WORDING + "a dict inside X",
    "check_estimators_empty_data_messages": WORDING + "X with sequences of length 0",
    "check_estimators_nan_inf": WORDING + "nan in X, which is called missing here",
}
PREDICTING = {"check_n_features_in_after_fitting": LENGTHS}
MORE = {"classifier": {"check_classifiers_train": LENGTHS}, "transformer": {"check_transformer_general": LENGTHS}}
# what a check's own data need: its X is a table, and a maximum over time forgets the column, so "ridge" fits too badly
ONLY = {"EmbeddingRegressor": {"head": "1nn"}, "EmbeddingClassifier": {"head": "logistic"}, "KMeans": {"max_iter": 5}}
ACCURATE = {"Prototypes": {"max_steps": 40}}  # where a check wants classes told apart
IMAGES = [kind for kind in MODELS if kind._n_frame_axes not in (None, 1)]  # which no check of scikit-learn makes
VECTORS = [kind for kind in SINGLE if kind not in IMAGES]  # which refuse a plain array, where others read series


def example(kind):
    # the series of some checks have 2 steps
    looked_at = {"conditioning": 1} if "conditioning" in kind.options() else {}
    return small(kind, **{"k": 1} if "Neighbors" in kind.__name__ else looked_at | ONLY.get(kind.__name__, {}))


def checks_of(estimator):
    """scikit-learn's checks, each with the estimator trained as long as that check needs."""
    for one, check in estimator_checks_generator(estimator):
        longer = ACCURATE.get(type(one).__name__) if check.func.__name__ == "check_classifiers_train" else None
        yield clone(one).set_params(**longer) if longer else one, check


def expected(estimator):
    kind = type(estimator)
    tags = estimator.__sklearn_tags__()
    every = {name: reason for name, reason in EVERY.items() if kind not in FORECASTERS or "nan_inf" not in name}
    found = every | MORE.get(tags.estimator_type or "", {})
    asked = any(hasattr(kind, verb) for verb in ("predict", "transform"))  # by the check: a Verifier has none of them
    if kind.__mro__[1] not in LEARNED_METRICS and (kind not in LEARNED_METRICS or isinstance(estimator, Encoder)):
        found = found | PREDICTING if asked else found  # nor have distances
    return found | (MORE["transformer"] if hasattr(kind, "transform") else {})


# without torch there is no example of what has a network
ESTIMATORS = [example(kind) for kind in MODELS if kind not in (*IMAGES, *VECTORS) and (torch or not needs_learn(kind))]


def checks():
    """Every check of every estimator, with the reason why it is expected to fail, or None.

    scikit-learn's `parametrize_with_checks` gives the same, but formats every estimator once per check, and marks
    the expected failures as xfail: for each of them pytest then parses all of scikit-learn's file of checks to show
    a traceback that nobody reads.
    """
    for estimator in ESTIMATORS:
        reasons = expected(estimator)
        with config_context(print_changed_only=True):
            name = re.sub(r"\s", "", repr(estimator))
        for one, check in checks_of(estimator):
            options = ",".join(f"{key}={value}" for key, value in check.keywords.items())
            label = check.func.__name__ + (f"({options})" if options else "")
            marks = [pytest.mark.learn] if needs_learn(type(estimator)) else []
            yield pytest.param(one, check, reasons.get(check.func.__name__), id=f"{name}-{label}", marks=marks)


@pytest.mark.parametrize(("estimator", "check", "reason"), list(checks()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_is_content(estimator, check, reason):
    if reason is None:
        check(estimator)
    else:
        with pytest.raises((AssertionError, TypeError, ValueError)):
            check(estimator)
        pytest.xfail(reason)


def with_scikit_learns_validation(estimator):
    """The same estimator behind scikit-learn's own validation: one length for all, its words for what it refuses."""

    class Strict(type(estimator)):
        def _validate_fit_input(self, X):
            least = 2 if isinstance(self, Forecaster) else 1  # which refuse series of one step
            return super()._validate_fit_input(validate_data(self, X, ensure_min_features=least))

        def _validate_past(self, past):
            return super()._validate_past(validate_data(self, past, reset=False))

        def _validate_predict_input(self, X):
            check_is_fitted(self)
            return super()._validate_predict_input(validate_data(self, X, reset=False))

    Strict.__name__ = type(estimator).__name__
    return Strict(**estimator.get_params(deep=False))


RELIEVED = [
    (estimator, check)
    for plain in ESTIMATORS
    for reasons in [expected(plain)]
    for estimator, check in checks_of(with_scikit_learns_validation(plain))
    if check.func.__name__ in reasons
]


@pytest.mark.parametrize(
    ("estimator", "check"), RELIEVED, ids=[f"{type(one).__name__}-{check.func.__name__}" for one, check in RELIEVED]
)
def test_nothing_but_the_reasons_given_makes_a_check_fail(estimator, check):
    check(estimator)


def test_estimators_of_every_package_are_checked():
    expected = {tl.Neighbors, tl.KMedoids, tl.EmbeddingRegressor, tl.Rocket, tl.Discriminant, tl.Fused, tl.Verifier}
    assert expected < set(map(type, ESTIMATORS))


@pytest.mark.learn
def test_estimators_with_networks_are_checked():
    assert {tl.CausalEncoder, tl.Prototypes, tl.TAP} < set(map(type, ESTIMATORS))
    assert [tl.encode.FrameEncoder, tl.encode.ImageEncoder] == IMAGES
    assert [tl.encode.VectorEncoder] == VECTORS
