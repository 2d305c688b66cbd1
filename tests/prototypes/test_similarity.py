"""The learned similarity: its formula, its matrix and arrays, both orders, gradients, and what it refuses."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import timelike as tl
from naive import similarity as naive
from timelike.prototypes import similarity as similarity_module
from timelike.prototypes.similarity import CosineSimilarity, FusedSimilarity, Similarity

FEATURES = 5


def similarity(**options):
    torch.manual_seed(0)
    return Similarity(FEATURES, **{"hidden": 24} | options).eval()


def vectors(n, m, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(2 * rng.standard_normal((count, FEATURES)).astype(dtype) for count in (n, m))


def by_hand(s, u, v):
    """S of one pair in the words of the formula."""
    with torch.no_grad():
        return naive.perceptron(
            u, v, s.first.weight.tolist(), s.first.bias.tolist(), s.last.weight[0].tolist(), s.slope, float(s.last.bias)
        )


def test_a_similarity_is_the_perceptron_of_the_two_vectors_beside_each_other():
    s, (u, v) = similarity(slope=0.3), vectors(3, 4)
    expected = [[by_hand(s, one, other) for other in v] for one in u]
    np.testing.assert_allclose(s.matrix(torch.tensor(u), torch.tensor(v)).detach(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(s.scores(u, v), expected, rtol=1e-5, atol=1e-5)


def test_the_vector_that_is_named_first_is_the_first_side():
    s, (u, v) = similarity(), vectors(1, 1)
    assert abs(by_hand(s, u[0], v[0]) - by_hand(s, v[0], u[0])) > 1e-2
    found = s(torch.tensor(u[0]), torch.tensor(v[0])).item()
    assert found == pytest.approx(by_hand(s, u[0], v[0]), rel=1e-5)


def test_leading_axes_are_broadcast():
    s, (u, v) = similarity(), vectors(6, 4)
    stacked = s(torch.tensor(u).reshape(3, 2, 1, FEATURES), torch.tensor(v))
    assert stacked.shape == (3, 2, 4)
    torch.testing.assert_close(stacked.reshape(6, 4), s.matrix(torch.tensor(u), torch.tensor(v)))
    assert s(torch.tensor(u[0]), torch.tensor(v[0])).shape == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetrized_is_the_mean_of_both_orders(dtype):
    plain, both, (u, v) = similarity(), similarity(symmetrize=True), vectors(7, 4, dtype)
    expected = (plain.scores(u, v) + plain.scores(v, u).T) / 2
    np.testing.assert_allclose(both.scores(u, v), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(both.scores(u, v), both.scores(v, u).T, rtol=1e-5, atol=1e-5)
    tensors = torch.tensor(u).float(), torch.tensor(v).float()
    np.testing.assert_allclose(both.matrix(*tensors).detach(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_arrays_are_answered_as_tensors_are_in_evaluation_mode(symmetrize):
    s, (u, v) = similarity(symmetrize=symmetrize, dropout=0.5).train(), vectors(9, 11, np.float64)
    found = s.scores(u, v)
    exact = s.double().eval().matrix(torch.tensor(u), torch.tensor(v)).detach()
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


def test_training_leaves_out_a_share_of_the_units():
    s, (u, v) = similarity(dropout=0.5).train(), vectors(3, 4)
    one, two = (s.matrix(torch.tensor(u), torch.tensor(v)) for _ in range(2))
    assert not torch.allclose(one, two)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_the_matrix_has_the_derivatives_of_finite_differences(symmetrize):
    s = similarity(symmetrize=symmetrize).double()
    u, v = (torch.tensor(side).double().requires_grad_() for side in vectors(3, 4))
    assert gradcheck(s.matrix, (u, v))
    assert gradcheck(lambda one, two: s(one[0], two), (u, v))


def test_a_matrix_in_blocks_has_the_same_numbers_and_gradients(monkeypatch):
    found = []
    for at_once in (1 << 25, 24 * 4 * 2):
        monkeypatch.setattr("timelike.prototypes.similarity._MAX_HIDDEN_UNITS", at_once)
        s = similarity()
        u, v = (torch.tensor(side).requires_grad_() for side in vectors(9, 4))
        still = s.matrix(u, v)
        with torch.no_grad():
            torch.testing.assert_close(s.matrix(u, v), still)
        still.square().sum().backward()
        found.append([still, u.grad, v.grad, *(weight.grad for weight in s.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_the_backward_pass_of_blocks_leaves_out_the_same_units(monkeypatch):
    monkeypatch.setattr("timelike.prototypes.similarity._MAX_HIDDEN_UNITS", 24 * 4 * 2)
    s, (u, v) = similarity(dropout=0.5).double().train(), (torch.tensor(side).double() for side in vectors(9, 4))

    def total(first):
        torch.manual_seed(5)
        return s.matrix(first, v).sum()

    total(u.requires_grad_()).backward()
    step = 1e-6 * torch.randn_like(u)
    with torch.no_grad():
        difference = (total(u + step) - total(u - step)) / 2
        torch.testing.assert_close(difference, (u.grad * step).sum(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_blocks_batches_threads_and_known_vectors_change_no_bit(monkeypatch, symmetrize):
    s, (u, v) = similarity(symmetrize=symmetrize), vectors(300, 200)
    whole, starts = s.scores(u, v), np.array([0, 2, 50, 51, 299])
    few = s.top_k(u, v, 7), s.group_maxima(u, v, starts)
    monkeypatch.setattr(similarity_module, "_MAX_SIDE_UNITS", 24 * 70)  # several blocks on either side
    for known in (u, s.precompute(u)):
        np.testing.assert_array_equal(s.scores(known, v), whole)
        np.testing.assert_array_equal(s.scores(known, v[13:14]), whole[:, 13:14])
        np.testing.assert_array_equal(s.scores(known, v, threads=2), whole)
        np.testing.assert_array_equal(s.top_k(known, v, 7)[0], few[0][0])
        np.testing.assert_array_equal(s.top_k(known, v, 7)[1], few[0][1])
        np.testing.assert_array_equal(s.group_maxima(known, v, starts), few[1])
    np.testing.assert_array_equal(few[0][1], np.argsort(-whole, axis=0, kind="stable")[:7].T)
    np.testing.assert_array_equal(few[1], np.maximum.reduceat(whole, starts, axis=0).T)


def test_more_are_asked_for_than_a_block_has(monkeypatch):
    s, (u, v) = similarity(), vectors(10, 3)
    monkeypatch.setattr(similarity_module, "_MAX_SIDE_UNITS", 24 * 3)
    np.testing.assert_array_equal(s.top_k(u, v, 10)[1], np.argsort(-s.scores(u, v), axis=0, kind="stable").T)


def test_answers_follow_the_weights():
    s, (u, v) = similarity(), vectors(3, 4)
    before = s.scores(u, v)
    with torch.no_grad():
        s.last.bias += 1
    np.testing.assert_allclose(s.scores(u, v), before + 1, rtol=1e-5)


def test_what_is_remembered_of_prototypes_follows_them_and_every_weight():
    s, (u, v) = similarity(), vectors(3, 4)
    before = s.scores(u, v)
    np.testing.assert_array_equal(s.scores(u, v), before)
    u[1] += 1  # in place: the same array with other numbers
    changed = s.scores(u, v)
    np.testing.assert_array_equal(changed[[0, 2]], before[[0, 2]])
    assert (changed[1] != before[1]).all()
    for weight in s.parameters():
        was = s.scores(u, v)
        weight.data += 0.1
        assert (s.scores(u, v) != was).all()
        np.testing.assert_array_equal(s.scores(u, v), s.scores(s.precompute(u), v))
    np.testing.assert_allclose(s.scores(u.astype(np.float64), v.astype(np.float64)), s.scores(u, v), rtol=1e-4)


@pytest.mark.parametrize(("first", "second"), [("f4", "f4"), ("f8", "f8"), ("f4", "f8"), ("f8", "f4"), ("i8", "f8")])
def test_prototypes_too_many_to_be_remembered_have_the_same_answers(first, second, monkeypatch):
    """In double precision where both sides are, otherwise in single."""
    s, (u, v) = similarity(), vectors(6, 4, np.float64)
    u, v = (10 * u).astype(first), v.astype(second)
    remembered = s.scores(u, v)
    assert remembered.dtype == (np.float64 if first == second == "f8" else np.float32)
    monkeypatch.setattr(similarity_module, "_MAX_CACHED_UNITS", 0)
    again = s.scores(u, v)
    assert again.dtype == remembered.dtype
    np.testing.assert_array_equal(again, remembered)


@pytest.mark.parametrize("kind", [CosineSimilarity, lambda: FusedSimilarity(similarity())])
def test_the_best_of_other_similarities_are_those_of_the_whole_table(monkeypatch, kind):
    s, (u, v), starts = kind(), vectors(60, 7), np.array([0, 1, 20, 59])
    whole = s.scores(u, v)
    monkeypatch.setattr("timelike.prototypes.vector_search.MAX_SIMILARITIES", 7 * 9)  # blocks that cut groups
    values, ids = s.top_k(u, v, 12)
    np.testing.assert_array_equal(ids, np.argsort(-whole, axis=0, kind="stable")[:12].T)
    np.testing.assert_allclose(values, np.take_along_axis(whole.T, ids, 1), rtol=1e-6)
    np.testing.assert_array_equal(s.top_k(u, v)[1][:, 0], whole.argmax(axis=0))
    np.testing.assert_allclose(s.group_maxima(u, v, starts), np.maximum.reduceat(whole, starts, axis=0).T, rtol=1e-6)


def test_it_is_listed_among_the_modules():
    assert tl.nn.Similarity is Similarity


def test_what_does_not_fit_is_refused_in_words():
    s, (u, v) = similarity(), vectors(3, 4)
    tensors = torch.tensor(u), torch.tensor(v)
    with pytest.raises(ValueError, match=r"v has shape \(4, 3\): expected \(…, 5\), the number of features"):
        s(tensors[0], tensors[1][:, :3])
    with pytest.raises(ValueError, match=r"^v is float64 and this Similarity float32: .*double\(\) .*v\.float\(\)"):
        s(tensors[0], tensors[1].double())
    with pytest.raises(ValueError, match="^u is on meta and this Similarity on cpu: bring them together"):
        s(tensors[0].to("meta"), tensors[1])
    with pytest.raises(TypeError, match="u is a ndarray: expected a tensor"):
        s(u, tensors[1])
    with pytest.raises(TypeError, match="u is int64: expected a tensor of floating point"):
        s(tensors[0].long(), tensors[1])
    with pytest.raises(ValueError, match=r"u has shape \(5,\): expected \(item, feature\)"):
        s.matrix(tensors[0][0], tensors[1])
    with pytest.raises(ValueError, match=r"u has shape \(5,\): expected \(item, 5\)"):
        s.scores(u[0], v)
    with pytest.raises(ValueError, match="k=4: expected at least 1 and at most 3, the rows of u"):
        s.top_k(u, v, 4)
    with pytest.raises(ValueError, match="expected numbers that rise from 0 and are below 3"):
        s.group_maxima(u, v, [1])


@pytest.mark.parametrize("edge", [{"slope": 0}, {"slope": 1}, {"dropout": 0}, {"hidden": 2}])
def test_the_smallest_sizes_and_the_ends_of_every_range_are_taken(edge):
    """w φ(W₁ u + W₂ v + b) + c of single numbers and, but for one case, a single unit."""
    torch.manual_seed(1)
    s = Similarity(**{"n_features": 1, "hidden": 1} | edge).eval()
    expected = [[by_hand(s, [u], [v]) for v in (0.5, 3.0)] for u in (-2.0, 0.0, 1.0)]
    np.testing.assert_allclose(
        s.scores(np.float32([[-2], [0], [1]]), np.float32([[0.5], [3]])), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "wrong", [{"n_features": 0}, {"hidden": 0}, {"dropout": 1}, {"dropout": -0.1}, {"slope": -1}, {"symmetrize": 1}]
)
def test_a_constructor_refuses_by_name(wrong):
    name = next(iter(wrong))
    with pytest.raises((TypeError, ValueError), match=name):
        Similarity(**{"n_features": 3} | wrong)
