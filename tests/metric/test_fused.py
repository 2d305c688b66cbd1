"""Fused: sums of metrics, weighed on pairs that nothing was learned from."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import timelike as tl
from timelike.metric.fused import bounded_search, calibration, cross_fit_rounds


def made(periods, members, seed):
    """Noisy waves of several frequencies, ragged."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 30, len(periods) * members)
    kinds = np.repeat(periods, members)
    found = [np.sin(np.arange(n) / p + rng.uniform(0, 6)) for n, p in zip(lengths, kinds, strict=True)]
    return tl.Sequences([x + 0.3 * rng.standard_normal(len(x)) for x in found], labels=kinds)


@pytest.fixture(scope="module")
def waves():
    return made([2, 3, 4, 5], 6, seed=0)


def discriminant(word="open"):
    return tl.Discriminant(tl.Rocket(n_features=200, random_state=0), classes=word, random_state=0)


@pytest.fixture(scope="module")
def fitted(waves):
    """Not to be changed."""
    return tl.Fused([tl.DTW(normalize="length"), discriminant()], random_state=0).fit(waves)


def held_out(seed=0, informative=2.0):
    """A round in which the first metric knows something and the second nothing."""
    rng = np.random.default_rng(seed)
    same = np.arange(300) % 3 == 0
    useful = np.exp(rng.standard_normal(300) - informative * same)
    return calibration.HeldOutPairs(np.stack([useful, np.exp(rng.standard_normal(300))], axis=1), same, 50)


# --- the sum


def test_a_distance_is_the_formula(waves, fitted):
    parts = [metric.distance(waves[1], waves[9]) for metric in fitted.metrics_]
    expected = sum(w * np.log1p(d / s) for w, d, s in zip(fitted.weights_, parts, fitted.scales_, strict=True))
    assert fitted.distance(waves[1], waves[9]) == pytest.approx(expected, rel=1e-12)


def test_weights_are_never_negative(fitted):
    assert (fitted.weights_ >= 0).all()
    assert fitted.weights_.sum() > 0


def test_one_metric_keeps_its_order(waves):
    alone = tl.Fused(["dtw"], random_state=0).fit(waves)
    np.testing.assert_array_equal(alone.neighbors(waves, waves, k=5).ids, tl.DTW().neighbors(waves, waves, k=5).ids)


def test_the_cheap_part_first_finds_what_all_distances_find(waves, fitted, monkeypatch):
    """To the bit, also where candidates are given up after a few."""
    monkeypatch.setattr(bounded_search, "_INITIAL_CANDIDATES", 2)
    asked = made([2, 3, 4, 5, 6], 3, seed=3)
    found, whole = fitted.neighbors(waves, asked, k=3), fitted.pairwise(asked, waves)
    np.testing.assert_array_equal(found.ids, np.argsort(whole, axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(found.distances, np.take_along_axis(whole, found.ids, axis=1))


def test_the_cheap_part_spares_alignments(waves, monkeypatch):
    """Those that the vectors rule out are never aligned."""
    monkeypatch.setattr(bounded_search, "_INITIAL_CANDIDATES", 2)
    metric = tl.Fused([tl.DTW(), discriminant("known")], random_state=0).fit(waves)
    metric.weights_ = np.array([0.1, 5.0])
    compared, against = [], tl.DTW._compare_precomputed
    monkeypatch.setattr(
        tl.DTW,
        "_compare_precomputed",
        lambda self, a, b, out, threads: (compared.append(out.size), against(self, a, b, out, threads)),
    )
    metric.neighbors(waves, waves, k=1)
    assert 0 < sum(compared) < len(waves) ** 2 / 2


# --- what is learned


def test_weights_are_those_of_a_logistic_regression(monkeypatch):
    """Without any pull and doubt, and with as many pairs of either kind, scikit-learn finds the same."""
    monkeypatch.setattr(calibration, "EQUAL_WEIGHT_PENALTY", 0.0)
    some = held_out()
    some = some._replace(n_sequences=10**12)
    found = calibration.fit_fusion_weights([some], 5)
    terms = np.log1p(some.distances / found.scales)
    peer = LogisticRegression(C=1e8, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(terms, some.same)
    np.testing.assert_allclose(found.weights, np.maximum(-peer.coef_[0], 0), rtol=0.05, atol=0.05)
    assert found.offset == pytest.approx(peer.intercept_[0], rel=0.05, abs=0.05)


def test_a_metric_that_knows_nothing_counts_little():
    weights = calibration.fit_fusion_weights([held_out()], 10).weights
    assert weights[1] < 0.15 * weights[0]


def test_weights_of_few_classes_are_nearer_to_each_other():
    """In shares of what each would weigh alone."""
    some = held_out()._replace(distances=held_out().distances[:, :1] ** np.array([1.0, 0.2]) + [0.0, 0.3])
    alone = [
        calibration.fit_fusion_weights([some._replace(distances=some.distances[:, [m]])], 5).weights[0] for m in (0, 1)
    ]
    few, many = (calibration.fit_fusion_weights([some], n).weights / alone for n in (2, 1000))
    assert abs(few[0] - few[1]) < abs(many[0] - many[1])


def test_metrics_that_never_err_have_weights_that_end():
    same = np.arange(40) % 2 == 0
    found = calibration.fit_fusion_weights([calibration.HeldOutPairs(np.where(same, 0.1, 3.0)[:, None], same, 20)], 5)
    assert 0 < found.weights[0] < 50
    odds = found.offset - found.weights[0] * np.log1p(np.array([0.1, 3.0]) / found.scales[0])
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), [1 - 1 / 22, 1 / 22], atol=0.01)  # as sure as 20 can make it


def test_metrics_that_know_nothing_are_added_up():
    rng = np.random.default_rng(0)
    backwards = calibration.HeldOutPairs(
        np.where(np.arange(40) % 2 == 0, 3.0, 0.1)[:, None] + rng.random((40, 2)) / 9, np.arange(40) % 2 == 0, 20
    )
    assert (calibration.fit_fusion_weights([backwards], 5).weights > 0).all()


def test_what_is_held_out_is_not_learned_from():
    codes = np.repeat(np.arange(5), 6)
    found = cross_fit_rounds.label_rounds(codes, np.random.default_rng(0))
    assert all(not set(one.train_positions) & set(one.held_out_positions) for one in found)
    by_class = [one for one in found if not set(codes[one.train_positions]) & set(codes[one.held_out_positions])]
    assert len(by_class) == cross_fit_rounds.N_CLASS_ROUNDS
    assert sum(one.repeats for one in found) == 2 * len(by_class)  # both kinds have the same say
    assert {kind for one in by_class for kind in codes[one.held_out_positions]} == set(range(5))


def test_of_few_classes_members_are_held_out():
    codes = np.repeat(np.arange(2), 6)
    found = cross_fit_rounds.label_rounds(codes, np.random.default_rng(0))
    assert found
    assert all(set(codes[one.train_positions]) == {0, 1} for one in found)


def test_groups_that_are_alike_are_held_out_together():
    pairs = np.array([[a, b] for a in range(12) for b in range(a)])
    same = pairs[:, 0] // 2 == pairs[:, 1] // 2
    for known, held in cross_fit_rounds.pair_rounds(pairs, same, np.random.default_rng(0)):
        assert not set(pairs[known].ravel()) & set(pairs[held].ravel())


def test_it_learns_from_pairs(waves):
    pairs = np.random.default_rng(0).integers(0, len(waves), (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = waves.labels[pairs[:, 0]] == waves.labels[pairs[:, 1]]
    metric = tl.Fused([tl.DTW(), discriminant("known")], random_state=0).fit_pairs(waves, pairs, same)
    far = metric.pairwise(waves)
    alike = waves.labels[:, None] == waves.labels
    assert far[alike].mean() < far[~alike].mean()


def test_a_fitted_metric_is_used_as_it_is(waves):
    known = discriminant().fit(waves)
    metric = tl.Fused([tl.DTW(), known], random_state=0).fit(waves[::2], waves.labels[::2])
    np.testing.assert_array_equal(metric.metrics_[1].encode(waves), known.encode(waves))


# --- bad input


@pytest.mark.parametrize("metrics", [[], "dtw", None])
def test_metrics_are_a_list(waves, metrics):
    with pytest.raises(ValueError, match="metrics=.*expected a list of at least one metric"):
        tl.Fused(metrics).fit(waves)


def test_an_unknown_word_is_told_which_there_are(waves):
    with pytest.raises(ValueError, match="'dtv': expected a Metric such as"):
        tl.Fused(["dtv"]).fit(waves)


def test_one_class_is_told_what_to_use(waves):
    with pytest.raises(ValueError, match=r"y holds one class, 2.*fit_pairs"):
        tl.Fused(["dtw"]).fit(waves[:6])


def test_too_few_members_to_hold_out_is_told(waves):
    with pytest.raises(ValueError, match="2 classes of at most 2 members: too few to hold pairs out"):
        tl.Fused(["dtw"]).fit(waves[[0, 1, 6]])


def test_negative_distances_are_refused(waves):
    with pytest.raises(ValueError, match=r"SoftDTW.*negative.*divergence=True"):
        tl.Fused([tl.SoftDTW()]).fit(waves)


def test_of_many_classes_those_judged_by_have_pairs_that_are_alike():
    codes = np.tile(np.arange(250), 6)
    for one in cross_fit_rounds.label_rounds(codes, np.random.default_rng(0)):
        assert np.bincount(codes[one.held_out_positions]).max() > 1


@pytest.mark.parametrize(
    ("kind", "symmetric"), [("SoftDTW", True), ("GDTW", False), pytest.param("TAP", False, marks=pytest.mark.learn)]
)
def test_a_sum_is_symmetric_where_all_its_parts_are(kind, symmetric):
    assert tl.Fused(["dtw", getattr(tl, kind)()]).symmetric == symmetric
