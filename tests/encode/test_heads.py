"""Heads against scikit-learn's own predictions, and the estimators around them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import timelike as tl
from timelike.encode.heads import model_selection, numpy_heads, ridge_loo
from timelike.encode.heads.numpy_heads import LinearHead, LogisticHead, NearestHead, SVMHead
from timelike.encode.heads.ridge_loo import fit_ridge_loo
from toys import CAUSAL as SMALL


def cloud(n_classes, n=45):
    rng = np.random.default_rng(n_classes)
    codes = np.arange(n) % n_classes
    centres = rng.standard_normal((n_classes, 4))
    return rng.standard_normal((n, 4)) + centres[codes], codes, rng.standard_normal((200, 4)) * 2


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_svm_decides_as_scikit_learn_does(n_classes, monkeypatch):
    vectors, codes, asked = cloud(n_classes)
    monkeypatch.setattr(numpy_heads, "_search_penalty", lambda *_: 3.0)
    head = SVMHead.fit(vectors, codes)
    machine = SVC(C=3.0, gamma="scale", decision_function_shape="ovo").fit(vectors, codes)
    sign = -1 if n_classes == 2 else 1
    expected = machine.decision_function(asked).reshape(len(asked), -1)
    np.testing.assert_allclose(sign * head.pairwise_decisions(asked), expected, atol=1e-10)
    np.testing.assert_array_equal(head.predict(asked), machine.predict(asked))
    if n_classes > 2:
        machine.decision_function_shape = "ovr"
        np.testing.assert_allclose(head.scores(asked), machine.decision_function(asked), atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_the_svm_are_those_of_platt(n_classes, monkeypatch):
    vectors, codes, asked = cloud(n_classes)
    monkeypatch.setattr(numpy_heads, "_search_penalty", lambda *_: 3.0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = CalibratedClassifierCV(SVC(C=3.0, max_iter=1_000_000), method="sigmoid", cv=folds, ensemble=False)
    expected = theirs.fit(vectors, codes).predict_proba(asked)
    np.testing.assert_allclose(SVMHead.fit(vectors, codes).predict_proba(asked), expected, atol=1e-8)


def test_c_is_searched_for_unless_there_is_too_little(monkeypatch):
    asked = []
    real = numpy_heads.GridSearchCV
    monkeypatch.setattr(
        numpy_heads, "GridSearchCV", lambda *args, **options: asked.append(args) or real(*args, **options)
    )
    for n, n_classes in ((49, 2), (60, 13)):
        vectors, codes, _ = cloud(n_classes, n)
        assert numpy_heads._search_penalty(vectors, codes) == 1e12
    lonely = np.zeros(60, int)
    lonely[0] = 1
    assert numpy_heads._search_penalty(cloud(2, 60)[0], lonely) == 1e12
    assert asked == []
    vectors, codes, _ = cloud(2, 60)
    choices = {"C": [*(10.0**k for k in range(-4, 5)), 1e12]}
    expected = GridSearchCV(SVC(), choices, cv=5).fit(vectors, codes).best_params_["C"]
    assert numpy_heads._search_penalty(vectors, codes) == expected
    assert asked[0][1] == choices


@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_and_nearest_decide_as_scikit_learn_does(n_classes):
    vectors, codes, asked = cloud(n_classes)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(vectors, codes)
    np.testing.assert_allclose(
        LogisticHead.fit(vectors, codes).predict_proba(asked), theirs.predict_proba(asked), atol=1e-8
    )
    np.testing.assert_array_equal(LogisticHead.fit(vectors, codes).predict(asked), theirs.predict(asked))
    nearest = KNeighborsClassifier(1).fit(vectors, codes)
    np.testing.assert_array_equal(NearestHead.fit(vectors, codes).predict(asked), nearest.predict(asked))
    np.testing.assert_array_equal(NearestHead.fit(vectors, codes).predict_proba(asked), nearest.predict_proba(asked))


def test_ridge_predicts_as_scikit_learn_does():
    vectors, _, asked = cloud(2)
    targets = vectors @ [1.0, -2.0, 0.5, 0.0] + 3
    theirs = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-4, 4, 17))).fit(vectors, targets)
    np.testing.assert_allclose(LinearHead.fit_ridge(vectors, targets).predict(asked), theirs.predict(asked), atol=1e-8)


@pytest.mark.parametrize(("n_classes", "n_features"), [(2, 4), (4, 4), (3, 70)])
def test_the_head_of_least_squares_decides_as_scikit_learn_does(n_classes, n_features):
    vectors, codes, asked = cloud(n_classes)
    rng = np.random.default_rng(0)
    turn = rng.standard_normal((4, n_features))
    vectors, asked = (part @ turn + 0.3 * rng.standard_normal((len(part), n_features)) for part in (vectors, asked))
    theirs = make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=np.logspace(-4, 4, 17))).fit(vectors, codes)
    found = LogisticHead.fit_least_squares(vectors, codes)
    np.testing.assert_array_equal(found.predict(asked), theirs.predict(asked))
    np.testing.assert_allclose(found.predict_proba(asked).sum(axis=1), 1)


@pytest.mark.parametrize("shape", [(12, 30), (30, 12)])
def test_what_is_left_out_is_predicted_as_if_it_had_not_been_there(shape):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    x -= x.mean(axis=0)
    y = x[:, :2] + rng.standard_normal((len(x), 2))
    found = fit_ridge_loo(x, y)
    penalty = RidgeCV(alphas=np.logspace(-4, 4, 17)).fit(x, y).alpha_
    rows = np.arange(len(x))
    alone = [Ridge(alpha=penalty).fit(x[rows != i], y[rows != i]).predict(x[i : i + 1])[0] for i in rows]
    np.testing.assert_allclose(found.loo_predictions, alone, atol=1e-8)
    np.testing.assert_allclose(found.weights.T, Ridge(alpha=penalty).fit(x, y).coef_, atol=1e-8)


def test_many_vectors_of_many_features_are_solved_with_the_penalty_of_some(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 40))
    x -= x.mean(axis=0)
    y = x[:, :1] + 0.1 * rng.standard_normal((60, 1))
    whole = fit_ridge_loo(x, y)
    monkeypatch.setattr(ridge_loo, "_MAX_DECOMPOSED", 30)
    some = fit_ridge_loo(x, y)
    assert (len(whole.items), len(some.items)) == (60, 30)
    assert np.abs(x @ some.weights - y).mean() < 0.5 * np.abs(y).mean()
    monkeypatch.setattr(ridge_loo, "_PENALTIES", np.array([2.0]))
    np.testing.assert_allclose(fit_ridge_loo(x, y).weights[:, 0], Ridge(alpha=4.0).fit(x, y).coef_, atol=1e-8)


def test_the_head_that_is_better_on_what_is_held_out_is_chosen():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2))
    ring = (np.square(x).sum(axis=1) > 1.4).astype(int)
    assert model_selection.select_head(x, ring) == "svm"
    assert model_selection.select_head(x, (x[:, 0] > 0).astype(int)) == "logistic"  # the usual one of few features
    wide = np.concatenate([x, rng.standard_normal((80, 2001))], axis=1)
    assert model_selection.select_head(wide, (x[:, 0] > 0).astype(int)) == "ridge"


@pytest.mark.filterwarnings("error")
def test_a_head_is_chosen_however_few_members_classes_have():
    rng = np.random.default_rng(0)
    x, codes = rng.standard_normal((40, 3)), np.arange(40) % 3
    x += 4 * np.eye(3)[codes]
    for few in (codes, np.where(np.arange(40) == 7, 3, codes), np.arange(40), np.arange(40) // 2):
        assert set(model_selection.fit_best_head(x, np.unique(few, return_inverse=True)[1]).predict(x)) <= set(few)
    assert model_selection.select_head(x[:19], codes[:19]) == "logistic"
    assert model_selection.select_head(np.tile(x, (30, 1)), np.tile(codes, 30)) in ("ridge", "logistic", "svm")


def test_vectors_are_turned_without_changing_lengths_and_angles():
    x = np.random.default_rng(0).standard_normal((5, 30))
    found = model_selection.gram_coordinates(x)
    assert found.shape == (5, 5)
    np.testing.assert_allclose(found @ found.T, x @ x.T, atol=1e-10)


@pytest.mark.parametrize("head", ["auto", "ridge", "svm", "1nn", "logistic"])
def test_a_classifier_answers_in_the_callers_words_and_comes_back_from_a_folder(head, waves, small_encoder, tmp_path):
    train, test = waves[:40], waves[40:]
    model = tl.EmbeddingClassifier(small_encoder, head=head).fit(train)
    assert set(model.predict(test)) <= {"slow", "fast"}
    assert model.score(test, test.labels) > 0.7
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    np.testing.assert_array_equal(again.predict_proba(test), model.predict_proba(test))
    np.testing.assert_allclose(model.predict_proba(test).sum(axis=1), 1)
    assert (again.classes_.tolist(), again.encoder_.n_features) == (["fast", "slow"], 6)


@pytest.mark.parametrize("head", ["ridge", "1nn"])
def test_a_regressor_comes_back_from_a_folder(head, waves, small_encoder, tmp_path):
    speed = np.where(waves.labels == "slow", 0.3, 1.5)
    model = tl.EmbeddingRegressor(small_encoder, head=head).fit(waves, speed)
    assert model.score(waves, speed) > 0.5
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").predict(waves), model.predict(waves))


def test_classes_come_back_in_the_dtype_they_had(waves, small_encoder, tmp_path):
    big = np.where(waves.labels == "slow", 1, 2**63 + 5).astype(np.uint64)
    for number, labels in enumerate((big, (big == 1).astype(np.int8), waves.labels, big == 1)):
        model = tl.EmbeddingClassifier(small_encoder, head="1nn").fit(waves, labels)
        model.save(tmp_path / f"{number}")
        found = tl.load_model(tmp_path / f"{number}").predict(waves)
        assert found.dtype == labels.dtype
        np.testing.assert_array_equal(found, model.predict(waves))


@pytest.mark.filterwarnings("error")
def test_features_that_only_differ_by_rounding_say_nothing(small_encoder):
    """Sequences that are all the same have vectors that differ in their last digit, by their place in a batch."""
    same = np.full((8, 30), 0.3)
    encoder = small_encoder.fit(same)
    shares = tl.EmbeddingClassifier(encoder, head="logistic", fit_encoder=False).fit(same, [0, 0, 0, 1] * 2)
    np.testing.assert_allclose(shares.predict_proba(same), [[0.75, 0.25]] * 8, atol=1e-3)
    mean = tl.EmbeddingRegressor(encoder, fit_encoder=False).fit(same, np.arange(8.0))
    np.testing.assert_allclose(mean.predict(same), 3.5, atol=1e-3)
    noisy = np.random.default_rng(0).standard_normal((40, 3)) * [1, 1, 1e-8] + 1
    codes = (noisy[:, 0] > 1).astype(int)
    assert abs(LogisticHead.fit(noisy, codes).coefficients[0, 2]) < 1e-3
    assert abs(LinearHead.fit_ridge(noisy, noisy[:, 0]).coefficients[0, 2]) < 1e-3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("head", ["ridge", "1nn"])
def test_one_series_is_its_own_prediction(waves, small_encoder, head):
    model = tl.EmbeddingRegressor(small_encoder, head=head).fit(waves[:1], [2.5])
    np.testing.assert_allclose(model.predict(waves[:3]), 2.5)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_label_is_no_class(waves, missing):
    labels = np.array([*waves.labels[:59], missing], object)
    for kind in (tl.EmbeddingClassifier, tl.EmbeddingRegressor, tl.Neighbors):
        with pytest.raises(ValueError, match=r"y\[59\] is .* \(NaN or missing\): expected the"):
            kind().fit(waves, labels)


def test_integers_stay_integers(waves, small_encoder, tmp_path):
    codes = (waves.labels == "slow").astype(int) * 7
    model = tl.EmbeddingClassifier(small_encoder, head="1nn").fit(waves, codes)
    model.save(tmp_path / "model")
    for one in (model, tl.load_model(tmp_path / "model")):
        assert set(one.predict(waves).tolist()) == {0, 7}


def test_a_fitted_encoder_is_used_as_it_is_also_in_a_search(waves, small_encoder, tmp_path):
    encoder = small_encoder.fit(waves)
    model = tl.EmbeddingClassifier(encoder, head="1nn", fit_encoder=False)
    assert cross_val_score(model, waves, waves.labels, cv=3).min() > 0.5
    np.testing.assert_array_equal(model.fit(waves[:10]).encoder_.encode(waves), encoder.encode(waves))
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model").fit(waves)
    np.testing.assert_array_equal(again.predict(waves), waves.labels)


def test_options_of_the_encoder_can_be_searched_in_a_pipeline(waves, small_encoder):
    same = FunctionTransformer(lambda X: X)
    pipeline = make_pipeline(same, tl.EmbeddingClassifier(small_encoder, head="logistic"))
    options = {"embeddingclassifier__encoder__n_features": [3, 5], "embeddingclassifier__head": ["1nn"]}
    search = GridSearchCV(pipeline, options, cv=2).fit(waves, waves.labels)
    assert search.best_estimator_[1].encoder_.encode(waves).shape in ((60, 3), (60, 5))


@pytest.mark.parametrize("kind", [tl.EmbeddingClassifier, tl.EmbeddingRegressor])
def test_the_default_encoder_is_rocket(kind, waves):
    model = kind(random_state=3).fit(waves, np.arange(60) % 2)
    assert (type(model.encoder_), model.encoder_.random_state) == (tl.Rocket, 3)


def test_at_its_defaults_it_takes_what_is_missing(waves):
    gaps = [np.array(x) for x in waves]
    for x in gaps[::3]:
        x[len(x) // 2] = np.nan
    assert tl.EmbeddingClassifier(random_state=0).fit(gaps, waves.labels).score(gaps, waves.labels) == 1


@pytest.mark.learn
def test_an_encoder_that_cannot_take_what_is_missing_says_so(waves):
    gaps = [np.array(x) for x in waves]
    gaps[3][5] = np.nan
    with pytest.raises(ValueError, match="cannot take missing"):
        tl.EmbeddingClassifier(tl.CausalEncoder(**SMALL)).fit(gaps, waves.labels)


def test_what_is_wrong_is_said_before_anything_is_trained(waves, small_encoder):
    small = small_encoder
    for kind in (tl.EmbeddingClassifier, tl.EmbeddingRegressor):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            kind(small).predict(waves)
        with pytest.raises(ValueError, match="head='magic': expected one of"):
            kind(small, head="magic").fit(waves, np.arange(60) % 2)
        with pytest.raises(TypeError, match="fit_encoder='no': expected True or False"):
            kind(small, fit_encoder="no").fit(waves, np.arange(60) % 2)
        with pytest.raises(ValueError, match="requires y to be passed"):
            kind(small).fit(waves.replace(labels=None))
        with pytest.raises(ValueError, match="y has shape .3,. for 60 sequences"):
            kind(small).fit(waves, [1, 2, 3])
        with pytest.raises(NotFittedError, match="fit_encoder=False needs a fitted encoder"):
            kind(small, fit_encoder=False).fit(waves, np.arange(60) % 2)
        with pytest.raises(TypeError, match="expected an encoder such as"):
            kind("causal").fit(waves, np.arange(60) % 2)
    with pytest.raises(ValueError, match=r"y holds one class, \['slow'\]: expected at least two classes"):
        tl.EmbeddingClassifier(small).fit(waves[waves.labels == "slow"])
    with pytest.raises(ValueError, match="Unknown label type: .* EmbeddingRegressor"):
        tl.EmbeddingClassifier(small).fit(waves, np.linspace(0, 1, 60))
    with pytest.raises(ValueError, match="expected numbers; for classes use EmbeddingClassifier"):
        tl.EmbeddingRegressor(small).fit(waves)


def test_an_svm_without_probabilities_names_the_head_that_has_them(waves, small_encoder):
    model = tl.EmbeddingClassifier(small_encoder, head="svm").fit(waves[:3])
    assert set(model.predict(waves)) <= {"slow", "fast"}
    with pytest.raises(ValueError, match='use head="logistic"'):
        model.predict_proba(waves)


def test_where_no_class_is_probable_all_are_alike():
    """Sigmoids so steep that each of them underflows."""
    head = SVMHead(
        *(np.zeros((3, 2)), np.zeros((2, 3)), np.ones(3, int), np.zeros(3), np.array(1.0)),
        *(np.zeros(3), np.full(3, 1e4)),
    )
    np.testing.assert_allclose(head.predict_proba(np.zeros((2, 2))), np.full((2, 3), 1 / 3))


def test_the_unit_of_a_feature_does_not_matter():
    vectors, codes, asked = cloud(2)
    units = np.array([1e-6, 1e6, 1.0, 1e-3])
    for fit in (LogisticHead.fit, LinearHead.fit_ridge):
        plain, scaled = fit(vectors, codes), fit(vectors * units, codes)
        np.testing.assert_allclose(scaled.values(asked * units), plain.values(asked), rtol=1e-3, atol=1e-4)


def test_two_of_every_class_are_enough_to_search_for_c(monkeypatch):
    searched = []

    class Search:
        best_params_ = {"C": 7.0}  # noqa: RUF012

        def __init__(self, *given, **options):
            searched.append(options["cv"])

        def fit(self, vectors, codes):
            return self

    monkeypatch.setattr(numpy_heads, "GridSearchCV", Search)
    codes = np.zeros(60, int)
    codes[:2] = 1
    assert numpy_heads._search_penalty(np.zeros((60, 2)), codes) == 7.0
    assert searched == [5]


def test_one_of_a_class_against_many_of_another_is_no_failure():
    X = np.random.default_rng(0).standard_normal((21, 30))
    model = tl.EmbeddingClassifier(tl.Rocket(n_features=100, random_state=0)).fit(X, [0] * 20 + [1])
    assert set(model.predict(X)) <= {0, 1}


def test_an_encoder_that_learns_from_classes_gets_them():
    X = np.sin(np.arange(40) * np.repeat([0.3, 0.9], 6)[:, None] + np.arange(12)[:, None])
    encoder = tl.Discriminant(tl.Rocket(n_features=200, random_state=0), random_state=0)
    model = tl.EmbeddingClassifier(encoder, head="1nn").fit(X, np.repeat([0, 1], 6))
    assert model.encoder_.classes_.tolist() == [0, 1]
