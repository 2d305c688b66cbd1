"""Discriminant and WhitenedCosine against plain formulas, scikit-learn, and what must not change their answers."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator

import timelike as tl
from timelike.metric.discriminant import model_selection, principal_axes, scatter


@pytest.fixture(scope="module")
def waves():
    """Four classes of noisy waves of other frequencies, ragged."""
    return made(range(2, 6), 8, seed=0)


def made(periods, members, seed):
    rng = np.random.default_rng(seed)
    found, labels = [], []
    for period in periods:
        for _ in range(members):
            t = np.arange(rng.integers(40, 60))
            found.append(np.sin(t / period + rng.uniform(0, 6)) + 0.3 * rng.standard_normal(len(t)))
            labels.append(f"period {period}")
    return tl.Sequences(found, labels=labels)


def rocket(n_features=300, **how):
    return tl.Rocket(n_features=n_features, random_state=0, **how)


@pytest.fixture(scope="module")
def fitted(waves):
    """Not to be changed."""
    return tl.Discriminant(rocket(), random_state=0).fit(waves)


# --- the formulas


def test_axes_from_products_of_sequences_are_those_of_the_covariance():
    """The dual way, with n < p, against the plain p × p covariance."""
    vectors = np.random.default_rng(0).standard_normal((12, 40)) @ np.diag(np.linspace(1, 3, 40))
    found, along = principal_axes.fit_principal_axes(vectors, np.random.default_rng(0))
    ready = found.standardize(vectors)
    values, axes = np.linalg.eigh(ready.T @ ready / 12)
    np.testing.assert_allclose((along**2).mean(axis=0), values[::-1][:11], rtol=1e-9)
    np.testing.assert_allclose(np.abs(found.axes.T @ axes[:, ::-1][:, :11]), np.eye(11), atol=1e-7)
    np.testing.assert_allclose(found.coordinates(vectors), along, atol=1e-9)


def test_axes_of_many_sequences_with_few_features_keep_all_distances():
    vectors = np.random.default_rng(0).standard_normal((60, 7))
    found, along = principal_axes.fit_principal_axes(vectors, np.random.default_rng(0))
    ready = found.standardize(vectors)
    assert along.shape == (60, 7)
    np.testing.assert_allclose(np.linalg.norm(along[0] - along, axis=1), np.linalg.norm(ready[0] - ready, axis=1))


def test_axes_of_very_many_sequences_are_those_of_some(monkeypatch):
    """A low rank survives a draw of landmarks."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((80, 4)) @ rng.standard_normal((4, 50))
    monkeypatch.setattr(principal_axes, "MAX_LANDMARKS", 20)
    found, along = principal_axes.fit_principal_axes(vectors, rng)
    assert along.shape == (80, 4)
    ready = found.standardize(vectors)
    np.testing.assert_allclose(np.linalg.norm(along[0] - along, axis=1), np.linalg.norm(ready[0] - ready, axis=1))


def test_a_constant_feature_counts_nothing():
    vectors = np.random.default_rng(0).standard_normal((9, 5))
    vectors[:, 2] = 0.1
    assert principal_axes.fit_principal_axes(vectors, np.random.default_rng(0))[0].weight[2] == 0


def test_scatter_within_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    Z, codes = rng.standard_normal((30, 4)), np.arange(30) % 3
    Z -= Z.mean(axis=0)
    expected = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(Z, codes)
    found = scatter.class_scatter(Z, codes)
    np.testing.assert_allclose(found.within, expected.covariance_)
    np.testing.assert_allclose(np.sqrt(3) * found.means, expected.means_ - expected.means_.mean(axis=0), atol=1e-12)


def test_class_directions_give_the_discriminant_scores_of_scikit_learn(monkeypatch):
    """Without a floor, and with the same shrinkage, products with the means of the classes are LDA's decisions."""
    monkeypatch.setattr(scatter, "CLASS_FLOOR", 1e9)  # so that whitening only scales
    rng = np.random.default_rng(2)
    Z, codes = rng.standard_normal((40, 5)) + 2 * np.eye(5)[np.arange(40) % 4], np.arange(40) % 4
    Z -= Z.mean(axis=0)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=np.full(4, 0.25)).fit(Z, codes)
    expected = Z @ lda.coef_.T
    expected -= expected.mean(axis=1, keepdims=True)
    found = Z @ scatter.class_directions((Z**2).mean(axis=0), scatter.class_scatter(Z, codes))
    np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), atol=1e-6)


def test_the_center_weighs_classes_by_how_well_their_means_are_known():
    """n / (n + 3): half for three members, a quarter for one, nearly one for very many."""
    points = np.concatenate([np.full((3, 1), 6.0), np.full((1, 1), 12.0), np.zeros((9997, 1))])
    codes = np.repeat([0, 1, 2], [3, 1, 9997])
    expected = (0.5 * 6 + 0.25 * 12) / (0.5 + 0.25 + 0.9997)
    np.testing.assert_allclose(scatter.class_center(points, codes), [expected], rtol=1e-12)


def test_directions_begin_between_the_classes_and_not_in_the_largest(waves):
    """The centre is that of class means of the encoder's vectors, whatever the sizes of the classes."""
    uneven = tl.concat([waves[waves.labels == "period 2"][:2], waves[waves.labels != "period 2"]])
    found = tl.Discriminant(rocket(), random_state=0).fit(uneven)
    vectors = found.encoder_.encode(uneven).astype(np.float64)
    sizes = {label: float((uneven.labels == label).sum()) for label in np.unique(uneven.labels)}
    means = {label: vectors[uneven.labels == label].mean(axis=0) for label in sizes}
    weights = {label: size / (size + 3) for label, size in sizes.items()}
    expected = sum(weights[label] * means[label] for label in sizes) / sum(weights.values())
    varies = found.weight_ > 0
    np.testing.assert_allclose(found.mean_[varies], expected[varies], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_class_that_has_most_of_the_items_does_not_swallow_the_others(seed):
    """Half of the items are of one class, around which the others lie: from the mean of all, its directions are noise."""
    rng = np.random.default_rng(seed)
    centers = np.concatenate([np.zeros((1, 12)), np.eye(12)[:5]])
    labels = np.repeat(np.arange(6), [50, 10, 10, 10, 10, 10])
    known, asked = (centers[labels] + 0.12 * rng.standard_normal((100, 12)) for _ in range(2))
    found, along = principal_axes.fit_principal_axes(known, rng)
    directions = scatter.class_directions((along**2).mean(axis=0), scatter.class_scatter(along, labels))

    def errors(origin):
        near, far = (scatter.normalize_rows(origin.coordinates(some) @ directions) for some in (known, asked))
        return (labels[(far @ near.T).argmax(axis=1)] != labels).mean()

    assert errors(found.shift_origin(scatter.class_center(along, labels))) < 0.7 * errors(found)


def test_a_root_whitens_the_shrunk_scatter():
    S = np.cov(np.random.default_rng(3).standard_normal((4, 50)))
    root = scatter.inverse_square_root(S, 0.2)
    shrunk = 0.8 * S + 0.2 * np.trace(S) / 4 * np.eye(4)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(shrunk))


def test_all_pairs_say_the_same_as_classes():
    """Of classes as large as each other, half the mean square of differences within is S_w with n − 1."""
    rng = np.random.default_rng(4)
    Z, codes = rng.standard_normal((24, 3)) + 3 * np.eye(3)[np.arange(24) % 3], np.arange(24) % 3
    pairs = np.stack(np.triu_indices(24, 1), axis=1)
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    by_class, by_pairs = scatter.class_scatter(Z, codes), scatter.pair_scatter(Z, pairs, same)
    np.testing.assert_allclose(by_pairs.within, by_class.within * 8 / 7)
    between = by_class.means.T @ by_class.means
    values = [np.linalg.eigvalsh(m)[-2:] for m in (between, by_pairs.means.T @ by_pairs.means)]
    np.testing.assert_allclose(values[1], 1.5 * values[0], rtol=0.2)  # the third mean is not counted twice


def test_a_distance_is_the_formula(waves, fitted):
    """By hand, from the encoder's vectors and what was learned."""
    vectors = (fitted.encoder_.encode(waves).astype(float) - fitted.mean_) * fitted.weight_
    parts = [vectors @ projection for projection in fitted.projections_]
    parts = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    squares = sum(share * ((part[3] - part[20]) ** 2).sum() for share, part in zip(fitted.shares_, parts, strict=True))
    assert fitted.distance(waves[3], waves[20]) == pytest.approx(np.sqrt(squares), rel=1e-5)


def test_whitened_vectors_have_the_same_variance_along_all_axes_without_a_floor(waves):
    metric = tl.metric.WhitenedCosine(rocket(), floor=0.0).fit(waves)
    z = (metric.encoder_.encode(waves).astype(float) - metric.mean_) @ metric.weighted_projections_[0]
    np.testing.assert_allclose((z**2).mean(axis=0), (z**2).mean(), rtol=1e-3)


# --- what it learns


def test_it_knows_classes_better_than_its_encoder(fitted):
    train, test = made(range(2, 6), 8, seed=0), made(range(2, 6), 8, seed=9)
    ours, plain = (
        tl.score.mean_average_precision(metric.pairwise(test, train), test.labels, train.labels)
        for metric in (fitted, fitted.encoder_)
    )
    assert ours > plain + 0.1


def test_the_share_of_class_directions_follows_what_is_asked(waves):
    shares = {word: tl.Discriminant(rocket(), classes=word).fit(waves).share_ for word in ("known", "both", "open")}
    assert shares["known"] == 1
    assert shares["both"] == 0.5
    assert shares["open"] < 0.5


def test_the_choice_is_that_of_held_out_classes():
    """Class directions of known classes say nothing of others that differ elsewhere; the rest does."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(9), 10)
    Z = 0.3 * rng.standard_normal((90, 20)) + 3 * np.eye(20)[codes]
    Z -= Z.mean(axis=0)
    grid = model_selection.option_grid([0.0, 1.0], [0.1])
    assert model_selection.select_options(Z, codes, grid, 20, np.random.default_rng(0)).share == 0.0


def test_three_classes_are_too_few_to_hold_some_out():
    Z, codes = np.random.default_rng(0).standard_normal((12, 5)), np.arange(12) % 3
    assert (
        model_selection.select_options(
            Z, codes, model_selection.option_grid([0.0, 1.0], [0.1]), 5, np.random.default_rng(0)
        )
        is None
    )


def test_pairs_are_as_good_as_classes_where_they_are_all(waves):
    pairs = np.stack(np.triu_indices(len(waves), 1), axis=1)
    same = waves.labels[pairs[:, 0]] == waves.labels[pairs[:, 1]]
    test = made(range(2, 6), 6, seed=5)
    by_pairs = tl.Discriminant(rocket(), classes="known").fit_pairs(waves, pairs, same)
    by_class = tl.Discriminant(rocket(), classes="known").fit(waves)
    scores = [tl.score.mean_average_precision(m.pairwise(test), test.labels) for m in (by_pairs, by_class)]
    assert scores[0] > scores[1] - 0.05
    assert len(by_pairs.classes_) == 0


# --- what must not change an answer


def test_the_order_of_sequences_does_not_matter(waves, fitted):
    order = np.random.default_rng(1).permutation(len(waves))
    encoder = fitted.encoder_
    first, second = (tl.Discriminant(encoder, classes="known").fit(some) for some in (waves, waves[order]))
    np.testing.assert_allclose(second.pairwise(waves), first.pairwise(waves), atol=1e-4)


def test_a_stream_ends_at_the_vector_of_the_whole(waves, fitted):
    with pytest.raises(ValueError, match=r"use Rocket\(causal=True\)"):
        fitted.stream()
    metric = tl.Discriminant(rocket(causal=True), random_state=0).fit(waves)
    stream = metric.stream()
    found = [stream.push(sample) for sample in np.asarray(waves[0])][-1]
    np.testing.assert_allclose(found, metric.encode(waves[:1])[0], atol=1e-6)
    assert stream.n_samples == len(waves[0])


def test_vectors_of_one_are_those_of_many_to_the_bit(waves, fitted):
    many = fitted.encode(waves)
    for i in (0, 7, 31):
        np.testing.assert_array_equal(fitted.encode(waves[i : i + 1])[0], many[i])


@pytest.mark.learn
def test_any_encoder_will_do(waves):
    encoder = tl.CausalEncoder(n_features=8, channels=4, depth=2, max_steps=2, random_state=0)
    metric = tl.Discriminant(encoder, random_state=0).fit(waves)
    assert metric.encoder_ is not encoder
    assert np.isfinite(metric.pairwise(waves[:4])).all()


@pytest.mark.parametrize("frozen", [False, True])
def test_a_fitted_encoder_is_used_as_it_is(waves, frozen):
    encoder = rocket().fit(waves[:5])
    metric = tl.Discriminant(FrozenEstimator(encoder) if frozen else encoder).fit(waves)
    np.testing.assert_array_equal(metric.encoder_.encode(waves), encoder.encode(waves))


# --- small and odd input


def test_one_class_is_told_what_to_use(waves):
    with pytest.raises(ValueError, match=r"y holds one class, 'period 2'.*WhitenedCosine.*fit_pairs"):
        tl.Discriminant(rocket()).fit(waves[:8])


def test_classes_of_one_member_are_told_what_to_use(waves):
    with pytest.raises(ValueError, match="every class has one member only .*WhitenedCosine"):
        tl.Discriminant(rocket()).fit(waves[::8])


def test_sequences_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="all sequences of X the same vector"):
        tl.Discriminant(rocket()).fit(np.ones((4, 30)), [0, 0, 1, 1])


def test_three_sequences_are_enough(waves):
    metric = tl.Discriminant(rocket(), random_state=0).fit(waves[[0, 1, 8]])
    assert metric.distance(waves[0], waves[1]) < metric.distance(waves[0], waves[8])


def test_a_class_of_one_member_and_duplicates_are_no_trouble(waves):
    twice = waves[[0, 0, 1, 8, 8, 9, 16]]
    found = tl.Discriminant(rocket(), random_state=0).fit(twice).pairwise(twice)
    assert np.isfinite(found).all()
    assert found[0, 1] == found[3, 4] == 0


def test_members_that_are_all_alike_leave_nothing_to_whiten(waves):
    same = waves[[0, 0, 0, 8, 8, 8]]
    found = tl.Discriminant(rocket(), random_state=0).fit(same).pairwise(same)
    assert found[0, 1] == 0 < found[0, 3]


def test_no_more_dimensions_are_kept_than_asked_for(waves):
    assert tl.Discriminant(rocket(), n_features=5).fit(waves).encode(waves).shape == (32, 4 + 5)
    assert tl.metric.WhitenedCosine(rocket(), n_features=5).fit(waves).encode(waves).shape == (32, 5)
