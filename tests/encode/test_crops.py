"""How crops of many lengths become a few batches, and products whose rounding does not depend on the rest of the batch."""

import numpy as np
import pytest
import torch
from torch import nn

from timelike.encode import CausalNetwork, FrameNetwork
from timelike.encode.causal.network import is_batch_invariant
from timelike.encode.objectives.crops import Crops, extract_crops, group_by_length
from timelike.native.causal import batch_invariant


def padded_steps(lengths, parts):
    return sum((part.stop - part.start) * max(lengths[part]) for part in parts)


def best_cuts(lengths, most=6, worth=0.05):
    """The same greedy cuts, found by trying every one of them."""
    parts = [slice(0, len(lengths))]
    while len(parts) < most:
        tried = [
            [*parts[:n], slice(part.start, where), slice(where, part.stop), *parts[n + 1 :]]
            for n, part in enumerate(parts)
            for where in range(part.start + 1, part.stop)
        ]
        best = min(tried, key=lambda some: padded_steps(lengths, some), default=parts)
        if padded_steps(lengths, parts) - padded_steps(lengths, best) <= worth * sum(lengths):
            return parts
        parts = best
    return parts


@pytest.mark.parametrize("seed", range(8))
def test_every_cut_is_the_one_that_saves_most_padding(seed):
    rng = np.random.default_rng(seed)
    # so large that no two cuts save the same
    lengths = sorted((rng.pareto(1.0, rng.integers(2, 40)) * 1e6 + 1).astype(int).tolist())
    assert padded_steps(lengths, group_by_length(lengths)) == padded_steps(lengths, best_cuts(lengths))


def test_one_crop_is_one_group():
    assert group_by_length([7]) == [slice(0, 1)]


def test_a_crop_is_followed_by_zeros_whatever_comes_after_it_in_the_series():
    steps = torch.arange(1.0, 11.0)[:, None]
    found = extract_crops(steps, Crops(np.array([2, 7]), np.array([3, 1])))
    assert found[..., 0].tolist() == [[3.0, 4.0, 5.0], [8.0, 0.0, 0.0]]
    nested = extract_crops(steps, Crops(np.array([[0, 4]]), np.array([[2, 2]])))
    assert nested[..., 0].tolist() == [[[1.0, 2.0], [5.0, 6.0]]]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 8), (70, 5), (64, 16)])
def test_a_product_is_the_matrix_product_for_any_number_of_rows_and_columns(rows, columns):
    torch.manual_seed(0)
    x, weight, bias = torch.randn(rows, 4), torch.randn(4, columns), torch.randn(columns)
    found = batch_invariant.matmul_with_bias(x, weight, bias)
    assert found.shape == (rows, columns)
    torch.testing.assert_close(found, x @ weight + bias)
    layer = nn.Linear(4, columns)
    torch.testing.assert_close(batch_invariant.linear(x.view(1, rows, 4), layer.weight, layer.bias), layer(x)[None])


def test_whether_products_round_alike_is_found_by_looking(monkeypatch):
    def row_by_row(x, weight, bias):
        return torch.stack([(row[:, None] * weight).sum(0) + bias for row in x])

    def by_their_number(x, weight, bias):
        return x @ weight + bias + 1e-3 * len(x)

    for way, expected in ((row_by_row, True), (by_their_number, False)):
        monkeypatch.setattr(batch_invariant, "matmul_with_bias", way)
        is_batch_invariant.cache_clear()
        assert is_batch_invariant(3, 2, 1) is expected
    is_batch_invariant.cache_clear()


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_sizes_of_all_products_are_known_beforehand(monkeypatch, native):
    """Whether a network answers in single precision is decided by them."""
    monkeypatch.setenv("TIMELIKE_NATIVE", native)
    network = CausalNetwork(3, n_features=7, channels=4, depth=2, reduced_size=5)
    seen, real = set(), batch_invariant.matmul_with_bias
    monkeypatch.setattr(batch_invariant, "matmul_with_bias", lambda x, w, b: seen.add(tuple(w.shape)) or real(x, w, b))
    for time in range(1, 12):  # short series reach fewer taps
        network(torch.zeros(1, time, 3))
    assert seen == network.matmul_shapes()


def test_not_a_number_in_the_padding_of_images_reaches_no_gradient():
    network = FrameNetwork((1, 4, 4), filters=2, n_frame_features=3, n_features=2, channels=2, depth=1, reduced_size=2)
    x = torch.zeros(2, 5, 16)
    x[1, 3:] = torch.nan
    network(x, torch.tensor([5, 3])).sum().backward()
    assert all(bool(torch.isfinite(weight.grad).all()) for weight in network.parameters())
