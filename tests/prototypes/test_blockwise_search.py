"""Answers of `Prototypes` from the best few of its similarities: those of the whole table, for every similarity."""

import numpy as np
import pytest

import timelike as tl
from timelike.prototypes import LearnedSimilarity, similarity

WORDS = ("cosine", "learned", "fused")


@pytest.fixture(scope="module", params=WORDS)
def model(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12)).cumsum(axis=1)
    learned = {name: LearnedSimilarity(hidden=16, symmetrize=False, with_cosine=name == "fused") for name in WORDS[1:]}
    similarity_fn = learned.get(request.param, "cosine")
    model = tl.Prototypes(similarity_fn=similarity_fn, n_prototypes=2, max_steps=2, random_state=0)
    return model.fit(X, np.repeat(list("abcdefgh"), 5))


@pytest.fixture
def asked():
    return np.random.default_rng(1).standard_normal((23, 12)).cumsum(axis=1)


def whole(model, asked):
    """Similarities of every prototype and every sequence."""
    return model.network_.similarity.scores(model.prototypes_, model.encode(asked))


def test_answers_are_those_of_the_whole_table(model, asked, monkeypatch):
    monkeypatch.setattr("timelike.prototypes.vector_search.MAX_SIMILARITIES", 23 * 3)  # blocks that cut classes
    monkeypatch.setattr(similarity, "_MAX_SIDE_UNITS", 16 * 3)
    table = whole(model, asked)
    assert len(table) > len(model.classes_)
    of_class = np.stack([table[model.owners_ == c].max(axis=0) for c in range(8)], axis=1)
    np.testing.assert_allclose(model.class_scores(asked), of_class, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(asked), model.classes_[of_class.argmax(axis=1)])
    np.testing.assert_allclose(model.novelty(asked), -of_class.max(axis=1), rtol=1e-5)


def test_what_is_retrieved_is_the_top_of_the_whole_table(model, asked, monkeypatch):
    table = model.similarity(tl.Sequences(asked[:9]), tl.Sequences(asked))
    monkeypatch.setattr("timelike.prototypes.retrieval._MAX_SIMILARITIES", 23 * 2)
    found = model.retrieve(tl.Sequences(asked[:9]), tl.Sequences(asked), k=5)
    np.testing.assert_array_equal(found.ids, np.argsort(-table, axis=1, kind="stable")[:, :5])
    np.testing.assert_array_equal(found.similarities, np.take_along_axis(table, found.ids, 1))
