"""The causal network against a plain implementation that pads both sides and trims, and against padding."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from timelike.encode import CausalNetwork
from timelike.encode.causal.network import CausalConvolution
from timelike.encode.objectives.crops import encode_padded_batches, group_by_length
from timelike.native.causal import fallback


def plain_convolution(layer, x):
    """Weight-normalised conv1d with padding on both sides and what hangs over cut off, over (item, channel, time)."""
    direction = layer.direction.flip(0).permute(2, 1, 0)  # conv1d's last tap is now
    norm = direction.flatten(1).norm(dim=1)
    weight = direction * (layer.magnitude / norm)[:, None, None]
    padding = (weight.shape[2] - 1) * layer.dilation
    return F.conv1d(x, weight, layer.bias, padding=padding, dilation=layer.dilation)[:, :, : x.shape[2]]


def plain_network(network, x):
    x = x.transpose(1, 2)
    for block in network.blocks:
        inner = F.leaky_relu(plain_convolution(block.first, x), 0.01)
        inner = F.leaky_relu(plain_convolution(block.second, inner), 0.01)
        rest = x if block.shortcut is None else F.conv1d(x, block.shortcut.weight[:, :, None], block.shortcut.bias)
        x = inner + rest
    return network.linear(x.amax(dim=2))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return CausalNetwork(3, n_features=7, channels=5, depth=4, reduced_size=6)


@pytest.mark.parametrize("time", [1, 2, 5, 16, 33, 70])
def test_it_equals_plain_convolutions_that_pad_and_trim(network, time):
    x = torch.randn(4, time, 3)
    torch.testing.assert_close(network(x), plain_network(network, x), rtol=1e-5, atol=1e-5)


def test_its_gradients_are_those_of_the_plain_one(network):
    x = torch.randn(4, 20, 3)
    found = torch.autograd.grad(network(x).square().sum(), list(network.parameters()))
    plain = torch.autograd.grad(plain_network(network, x).square().sum(), list(network.parameters()))
    for ours, theirs in zip(found, plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("piece", [1, 7, 20, 45, 1000])
def test_pieces_of_any_size_give_the_same_values_and_gradients(network, monkeypatch, piece):
    x = torch.randn(5, 20, 3, requires_grad=True)
    inputs = [x, *network.parameters()]
    expected = plain_network(network, x)
    gradients = torch.autograd.grad(expected.square().sum(), inputs)
    monkeypatch.setattr(fallback, "_BLOCK_STEPS", piece)
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    found = network(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(torch.autograd.grad(found.square().sum(), inputs), gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("time", "dilation", "piece"), [(1, 1, 4096), (9, 2, 4), (9, 4, 4), (9, 16, 4096), (30, 8, 7)])
def test_the_gradient_of_a_convolution_is_that_of_finite_differences(monkeypatch, time, dilation, piece):
    monkeypatch.setattr(fallback, "_BLOCK_STEPS", piece)
    torch.manual_seed(0)
    layer = CausalConvolution(2, 3, kernel_size=3, dilation=dilation).double()
    x = torch.randn(2, time, 2, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def applied(x, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(applied, (x, *layer.parameters()))


def test_depth_blocks_and_a_last_one_with_dilations_that_double(network):
    assert [block.first.dilation for block in network.blocks] == [1, 2, 4, 8, 16]
    assert network.causal_outputs(torch.randn(1, 5, 3)).shape == (1, 5, 6)
    assert CausalNetwork(2).linear.weight.shape == (320, 160)


def test_a_new_convolution_has_the_weights_it_was_given():
    layer = CausalConvolution(3, 4, kernel_size=3, dilation=2)
    torch.testing.assert_close(layer.weight, layer.direction)


def test_the_future_changes_nothing(network):
    x = torch.randn(2, 30, 3)
    later = x.clone()
    later[:, 20:] += 1
    torch.testing.assert_close(network.causal_outputs(x)[:, :20], network.causal_outputs(later)[:, :20])


@pytest.mark.parametrize("filling", [0.0, 1e6, float("nan"), float("inf")])
def test_padding_changes_no_value_and_no_gradient(network, filling):
    lengths = torch.tensor([9, 1, 12, 5])
    x = torch.randn(4, 12, 3)
    wide = torch.full((4, 20, 3), filling)
    for i, length in enumerate(lengths):
        wide[i, :length] = x[i, :length]
    alone = torch.cat([network(x[i : i + 1, :length]) for i, length in enumerate(lengths)])
    together = network(wide, lengths)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    parameters = list(network.parameters())
    for ours, theirs in zip(
        torch.autograd.grad(together.square().sum(), parameters),
        torch.autograd.grad(alone.square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_several_ragged_batches_at_once_are_a_loop(network):
    sides = [(torch.randn(5, 20, 3), torch.tensor([20, 1, 7, 13, 2])), (torch.randn(2, 9, 3), torch.tensor([9, 4]))]
    for (x, lengths), found in zip(sides, encode_padded_batches(network, sides), strict=True):
        for i, length in enumerate(lengths):
            torch.testing.assert_close(found[i], network(x[i : i + 1, :length])[0], rtol=1e-5, atol=1e-5)


def test_groups_cover_everything_in_order_and_are_few():
    lengths = sorted(np.random.default_rng(0).integers(1, 200, 100).tolist())
    parts = group_by_length(lengths)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(100))
    assert 1 < len(parts) <= 6
    assert group_by_length([5, 5, 5]) == [slice(0, 3)]
