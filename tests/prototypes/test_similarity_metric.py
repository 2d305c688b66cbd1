"""The learned similarity as a metric and as a kernel: what it is, what it is not, and what clipping does to it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.svm import OneClassSVM

import timelike as tl
from timelike.prototypes import LearnedSimilarity, SimilarityMetric, gram_matrix, metric_violations, similarity_metric

ONE_ORDER = LearnedSimilarity(hidden=64, symmetrize=False)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.sin(np.arange(30) / np.repeat([2, 4, 8], 8)[:, None] + rng.uniform(0, 6, (24, 1)))
    return X.astype(np.float32), np.repeat(["fast", "middle", "slow"], 8)


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return tl.Prototypes(similarity_fn=ONE_ORDER, max_steps=80, random_state=0).fit(X, y)


def symmetric(model, X):
    """S̄ of all pairs, by the method of the model."""
    S = model.similarity(tl.Sequences(X), tl.Sequences(X))
    return (S + S.T) / 2


@pytest.mark.learn
def test_the_distance_is_the_probability_of_two_classes_by_the_mean_of_both_orders(model, data):
    X, metric = data[0], model.metric()
    S = model.similarity(tl.Sequences(X), tl.Sequences(X))
    assert np.abs(S - S.T).max() > 1e-3  # otherwise nothing would be tested
    found = metric.pairwise(X)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(symmetric(model, X))), rtol=1e-5)
    np.testing.assert_array_equal(found, found.T)
    assert metric.distance(X[0], X[9]) == pytest.approx(found[0, 9], rel=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize("at_once", [1, 50, 240, 24 * 24])
def test_pairs_that_are_compared_a_few_at_a_time_have_the_same_distances(model, data, at_once, monkeypatch):
    X, metric = data[0], model.metric()
    expected = metric.pairwise(X)
    monkeypatch.setattr(similarity_metric, "_MAX_SIMILARITIES", at_once)
    np.testing.assert_allclose(metric.pairwise(X), expected, rtol=1e-6)


@pytest.mark.learn
def test_whatever_a_model_compares_by_its_metric_does_too(data):
    """By default a cosine, of vectors of several encoders."""
    X, y = data
    model = tl.Prototypes(max_steps=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.metric().pairwise(X), expit(-symmetric(model, X)), rtol=1e-5)


def test_large_similarities_are_told_apart():
    """1 − σ(S) would be 0 for both, and a product of signs would overflow."""
    scores = np.array([[50.0, 60.0, -800.0]])
    network = SimpleNamespace(similarity=SimpleNamespace(scores=lambda u, v: scores if len(u) == 1 else scores.T))
    metric = SimilarityMetric()
    metric.prototypes_ = SimpleNamespace(network_=network)
    out = np.empty((1, 3))
    metric._compare_precomputed(np.zeros((1, 2)), np.zeros((3, 2)), out, 1)
    np.testing.assert_allclose(out[0], [np.exp(-50), np.exp(-60), 1.0], rtol=1e-12)


@pytest.mark.learn
def test_a_model_that_changes_afterwards_changes_no_metric_that_was_taken_of_it(data):
    X, y = data
    model = tl.Prototypes(similarity_fn=LearnedSimilarity(hidden=8), max_steps=3, random_state=0).fit(X, y)
    metric = model.metric()
    before = metric.pairwise(X)
    model.fit(X[::-1].copy(), y)
    np.testing.assert_array_equal(metric.pairwise(X), before)


@pytest.mark.learn
def test_a_metric_that_is_fitted_is_that_of_prototypes_that_are(data):
    X, y = data
    options = {"similarity_fn": LearnedSimilarity(hidden=8), "max_steps": 3, "random_state": 0}
    fitted = SimilarityMetric(tl.Prototypes(**options)).fit(X, y)
    expected = tl.Prototypes(**options).fit(X, y).metric()
    np.testing.assert_array_equal(fitted.pairwise(X), expected.pairwise(X))
    assert fitted.prototypes.max_steps == 3
    assert expected.prototypes.max_steps == 3


@pytest.mark.learn
def test_a_metric_comes_back_from_its_folder(model, data, tmp_path):
    metric = model.metric()
    metric.save(tmp_path / "metric")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "metric").pairwise(data[0]), metric.pairwise(data[0]))


@pytest.mark.learn
def test_neighbours_by_it_are_of_their_class(model, data):
    X, y = data
    assert tl.Neighbors(model.metric(), k=3).fit(X, y).score(X, y) > 0.9


def test_anything_but_prototypes_is_refused():
    with pytest.raises(TypeError, match="prototypes=DTW.*expected timelike.Prototypes"):
        SimilarityMetric(tl.DTW()).fit(np.zeros((4, 5)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="is not fitted yet"):
        SimilarityMetric().pairwise(np.zeros((4, 5)))
    with pytest.raises(ValueError, match="is not fitted yet"):
        tl.Prototypes().metric()


# --- what it is not --------------------------------------------------------------------------------------------------


@pytest.mark.learn
def test_violations_are_those_of_the_formulas(model, data):
    X = data[0]
    found = model.metric().metric_violations(X, n_triples=4000, random_state=0)
    S = model.similarity(tl.Sequences(X), tl.Sequences(X))
    apart = [abs(S[i, j] - S[j, i]) for i in range(24) for j in range(i)]
    itself = [1 - 1 / (1 + np.exp(-S[i, i])) for i in range(24)]
    assert (found.mean_asymmetry, found.max_asymmetry) == pytest.approx((np.mean(apart), max(apart)))
    assert (found.mean_self_distance, found.max_self_distance) == pytest.approx((np.mean(itself), max(itself)))
    d = 1 / (1 + np.exp(symmetric(model, X)))
    every = [
        d[x, z] - d[x, y] - d[y, z] for x in range(24) for y in range(24) for z in range(24) if len({x, y, z}) == 3
    ]
    share = np.mean(np.array(every) > 0)
    assert abs(found.violation_rate - share) < 4 * np.sqrt(share * (1 - share) / 4000) + 1e-12
    assert found.max_excess <= max(0, *every) + 1e-9
    assert str(found).count("mean") == 3


def test_a_detour_that_is_shorter_is_found_and_measured():
    d = np.array([[0.01, 0.1, 0.9], [0.1, 0.01, 0.1], [0.9, 0.1, 0.01]])
    found = metric_violations.measure_violations(-np.log(d / (1 - d)), 300, np.random.default_rng(0))
    assert found.violation_rate == pytest.approx(1 / 3, abs=0.12)  # those with the middle in the middle
    assert (found.mean_excess, found.max_excess) == pytest.approx((0.7, 0.7))
    assert found.max_self_distance == pytest.approx(0.01)


def test_a_distance_departs_by_nothing():
    points = np.random.default_rng(0).uniform(0, 0.1, 20)
    d = np.abs(points[:, None] - points) + 0.001
    found = metric_violations.measure_violations(-np.log(d / (1 - d)), 500, np.random.default_rng(0))
    assert (found.max_asymmetry, found.violation_rate, found.max_excess) == (0, 0, 0)


def test_triples_are_of_three_different_items_in_all_orders():
    x, y, z = metric_violations._sample_triples(4, 5000, np.random.default_rng(0))
    assert ((x != y) & (y != z) & (x != z)).all()
    orders, counts = np.unique(np.stack([x, y, z]), axis=1, return_counts=True)
    assert orders.shape[1] == 24
    assert counts.min() > 0.7 * 5000 / 24


@pytest.mark.learn
def test_three_sequences_are_needed(model, data):
    with pytest.raises(ValueError, match="X holds 2 sequences: expected at least three"):
        model.metric().metric_violations(data[0][:2])


# --- as a kernel -----------------------------------------------------------------------------------------------------


def indefinite(n=12, seed=0):
    """Similarities between 0 and 1 that are no kernel."""
    found = np.random.default_rng(seed).uniform(0, 1, (n, n))
    return (found + found.T) / 2


@pytest.mark.learn
def test_the_kernel_is_the_probability_of_one_class(model, data):
    X = data[0]
    plain = model.metric().kernel(X, psd=None)
    np.testing.assert_allclose(plain.matrix, expit(symmetric(model, X)), rtol=1e-6)
    np.testing.assert_array_equal(plain.matrix, plain.matrix.T)
    np.testing.assert_array_equal(model.metric().kernel(X[:5], X, psd=None).matrix, plain.matrix[:5])


def test_clipping_leaves_no_negative_eigenvalue_and_says_what_it_took():
    K = indefinite()
    found, values = gram_matrix.clip_gram(K), np.linalg.eigvalsh(K)
    assert np.linalg.eigvalsh(found.matrix).min() > -1e-12
    assert found.n_negative == (values < 0).sum() > 0
    assert found.min_eigenvalue == pytest.approx(values.min())
    assert found.clipped_share == pytest.approx(-values[values < 0].sum() / np.trace(K))
    assert f"{found.clipped_share:.2%} of the trace" in str(found)


def test_no_other_positive_matrix_is_nearer():
    """Higham, 1988: clipping is the projection; steps towards others that are positive go away from K."""
    K, rng = indefinite(), np.random.default_rng(1)
    found = gram_matrix.clip_gram(K).matrix
    for _ in range(50):
        half = rng.standard_normal((12, 12))
        other = found + 0.1 * (half @ half.T / 12 - found)
        assert np.linalg.norm(other - K) >= np.linalg.norm(found - K) - 1e-12


def test_a_kernel_is_left_as_it_is():
    half = np.random.default_rng(0).standard_normal((9, 4))
    found = gram_matrix.clip_gram(half @ half.T)
    np.testing.assert_allclose(found.matrix, half @ half.T, atol=1e-12)
    assert (found.n_negative, found.clipped_share) == (0, 0)


def test_an_item_of_the_gallery_has_the_same_numbers_as_among_it():
    K = indefinite()
    np.testing.assert_allclose(
        gram_matrix.clip_gram(K, K[[3, 7]]).matrix, gram_matrix.clip_gram(K).matrix[[3, 7]], atol=1e-12
    )


@pytest.mark.learn
def test_clipped_rows_are_those_of_the_sequences(model, data):
    X, metric = data[0], model.metric()
    whole, few = metric.kernel(X), metric.kernel(X[4:7], X)
    np.testing.assert_allclose(few.matrix, whole.matrix[4:7], atol=1e-9)
    assert few.clipped_share == pytest.approx(whole.clipped_share)


@pytest.mark.learn
def test_a_one_class_machine_tells_the_class_from_others(model, data):
    X, metric = data[0], model.metric()
    machine = OneClassSVM(kernel="precomputed", nu=0.2).fit(metric.kernel(X[:6]).matrix)
    found = machine.decision_function(metric.kernel(X[6:], X[:6]).matrix)
    assert found[:2].min() > np.median(found[2:])


@pytest.mark.learn
def test_another_word_for_psd_is_refused(model, data):
    with pytest.raises(ValueError, match="psd='flip'"):
        model.metric().kernel(data[0], psd="flip")
