"""Few-shot tasks: a plain loop over the same tasks, formulas of the intervals, every kind of model, bad input."""

import numpy as np
import pytest
from scipy import stats

import timelike as tl
from naive import intervals
from timelike.evaluate import FewShotResult, few_shot


@pytest.fixture(scope="module")
def waves():
    """Six kinds of waves, eight of each, of unequal lengths."""
    rng = np.random.default_rng(0)
    labels = np.repeat(list("abcdef"), 8)
    items = [
        np.sin((1 + i // 8) * np.linspace(0, 4, int(rng.integers(15, 22)))) + rng.normal(0, 0.6, 1) for i in range(48)
    ]
    return tl.Sequences(items, labels=labels)


def plain(X, far, aggregation, **sizes):
    """One query at a time, over the tasks that `Sequences.episodes` draws."""
    numbered, found = X.replace(ids=np.arange(len(X))), []
    for task in numbered.episodes(sizes["n_way"], sizes["k_shot"], sizes["n_query"], n_episodes=20, random_state=3):
        right = 0
        for query, label in zip(task.query.ids, task.query.labels, strict=True):
            classes = list(dict.fromkeys(task.support.labels))
            each = [far(query, task.support.ids[task.support.labels == name], aggregation) for name in classes]
            right += classes[int(np.argmin(each))] == label
        found.append(right / len(task.query))
    return found


SIZES = {"n_way": 4, "k_shot": 3, "n_query": 2}


@pytest.mark.parametrize("aggregation", ["mean", "nearest"])
def test_a_metric_gives_queries_to_the_class_whose_shots_are_nearest(waves, aggregation):
    matrix = tl.DTW().pairwise(waves)

    def far(query, shots, aggregation):
        return matrix[query, shots].mean() if aggregation == "mean" else matrix[query, shots].min()

    expected = plain(waves, far, aggregation, **SIZES)
    for model in ("dtw", tl.DTW(), matrix, matrix.tolist()):
        found = few_shot(model, waves, **SIZES, n_tasks=20, aggregation=aggregation, random_state=3)
        np.testing.assert_allclose(found.accuracies, expected)


@pytest.mark.parametrize("aggregation", ["mean", "nearest"])
@pytest.mark.parametrize("geometry", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["rocket", pytest.param("causal", marks=pytest.mark.learn)])
def test_an_encoder_gives_queries_to_the_mean_of_the_vectors(waves, aggregation, geometry, kind):
    if kind == "rocket":
        encoder = tl.encode.CombinedEncoder([tl.Rocket(n_features=200, random_state=0)], geometry=geometry)
    else:
        small = {"n_features": 8, "channels": 4, "depth": 2, "reduced_size": 4, "max_steps": 3}
        encoder = tl.CausalEncoder(**small, geometry=geometry, random_state=0)
    encoder.fit(waves)
    vectors = encoder.encode(waves).astype(float)
    if geometry == "cosine":
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def far(query, shots, aggregation):
        known = vectors[shots].mean(axis=0, keepdims=True) if aggregation == "mean" else vectors[shots]
        return np.linalg.norm(vectors[query] - known, axis=1).min()

    found = few_shot(encoder, waves, **SIZES, n_tasks=20, aggregation=aggregation, random_state=3)
    np.testing.assert_allclose(found.accuracies, plain(waves, far, aggregation, **SIZES))


@pytest.mark.learn
@pytest.mark.parametrize("aggregation", ["mean", "nearest"])
@pytest.mark.parametrize("similarity", ["learned", "cosine", "fused"])
def test_prototypes_ask_their_similarity_about_the_mean_vector(waves, aggregation, similarity):
    model = tl.Prototypes(similarity_fn=similarity, max_steps=5, random_state=0)
    if similarity != "cosine":
        model.set_params(similarity_fn__hidden=8, similarity_fn__symmetrize=False)
    model.fit(waves[:24], waves.labels[:24])
    vectors = model.encode(waves)

    def far(query, shots, aggregation):
        known = vectors[shots].mean(axis=0, keepdims=True) if aggregation == "mean" else vectors[shots]
        return -model.network_.similarity.scores(known.astype(np.float32), vectors[[query]]).max()

    found = few_shot(model, waves, **SIZES, n_tasks=20, aggregation=aggregation, random_state=3)
    np.testing.assert_allclose(found.accuracies, plain(waves, far, aggregation, **SIZES))


def test_with_one_shot_both_ways_are_the_same_and_tasks_follow_the_seed(waves):
    runs = [
        few_shot("dtw", waves, n_way=3, n_query=4, n_tasks=30, aggregation=aggregation, random_state=seed).accuracies
        for aggregation, seed in (("mean", 0), ("nearest", 0), ("mean", 1))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_distances_without_any_sense_have_the_accuracy_of_chance(waves):
    noise = np.random.default_rng(0).random((48, 48))
    found = few_shot(noise, waves, n_way=4, n_query=5, n_tasks=400, random_state=0)
    assert found.interval.low - 0.02 < 0.25 < found.interval.high + 0.02
    perfect = (waves.labels[:, None] != waves.labels).astype(float)
    assert few_shot(perfect, waves, n_query=5, n_tasks=9).accuracy == 1


def test_the_record_has_both_intervals_and_draws_itself():
    values = np.random.default_rng(0).random(50)
    found = FewShotResult(values, 5, 1, 15, "mean")
    assert found.half_width == pytest.approx(1.96 * values.std(ddof=1) / np.sqrt(50))
    low, high = stats.t.interval(0.95, 49, values.mean(), stats.sem(values))
    least = intervals.wilson(values.mean(), 50, variance=values.var() / 50)
    expected = min(low, least[0]), max(high, least[1])
    assert (found.interval.low, found.interval.high) == pytest.approx(expected)
    assert FewShotResult(np.ones(50), 5, 1, 15, "mean").interval.low == pytest.approx(intervals.wilson(1.0, 50)[0])
    assert (
        str(found)
        == f"5-way 1-shot: {100 * values.mean():.2f} ± {100 * found.half_width:.2f} % (50 tasks of 75 queries)"
    )
    (axes,) = found.plot().axes
    assert sum(bar.get_height() for bar in axes.patches[:30]) == 50
    assert FewShotResult(values[:1], 5, 1, 15, "mean").half_width == np.inf


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("dtw", {"n_way": 7}, "n_way=7 but these sequences have 6 classes"),
        ("dtw", {"k_shot": 5, "n_query": 4}, r"class 'a' has 8 sequences, k_shot \+ n_query = 9 needed"),
        ("dtw", {"n_tasks": 0, "n_query": 2}, "n_tasks=0"),
        ("dtw", {"aggregation": "vote", "n_query": 2}, "aggregation='vote': expected one of 'mean', 'nearest'"),
        ("cosine", {"n_query": 2}, "metric='cosine': expected a Metric"),
        (np.zeros((3, 3)), {"n_query": 2}, r"shape \(3, 3\): expected all pairs of X, \(48, 48\)"),
        (np.full((48, 48), np.nan), {"n_query": 2}, r"nan at \(0, 0\)"),
        (tl.Rocket(), {"n_query": 2}, "is not fitted yet: fit it on other classes"),
        ("dtw", {"y": ["a"] * 3, "n_query": 2}, "for 48 sequences: expected one class each"),
    ],
)
def test_tasks_that_cannot_be_drawn_are_refused(waves, model, options, words):
    with pytest.raises(ValueError, match=words):
        few_shot(model, waves, **options)


def test_classes_are_needed():
    with pytest.raises(ValueError, match="give the class of every sequence"):
        few_shot("dtw", [[1.0, 2.0], [2.0, 3.0]])
