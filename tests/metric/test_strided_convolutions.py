"""Strided convolutions and readouts: each sequence by itself, whatever is past its end."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from timelike.metric.siamese.network import POOLINGS, Readout
from timelike.metric.strided_convolutions import ConvolutionSpec, MaskedBatchNorm, StridedConvolutions


def padded(items, longest, filling):
    x = torch.full((len(items), longest, items[0].shape[1]), filling, dtype=items[0].dtype)
    for k, item in enumerate(items):
        x[k, : len(item)] = item
    return x, torch.tensor([len(item) for item in items])


def items(lengths=(1, 2, 9, 16, 17), channels=3):
    torch.manual_seed(0)
    return [torch.randn(n, channels, dtype=torch.float64) for n in lengths]


def alone(network, item):
    """By torch's own layers, in evaluation mode: pad, convolve, normalize, GELU."""
    steps = item.T[None]
    for layer, convolution, norm in zip(network.layers, network.convolutions, network.norms, strict=True):
        ahead = layer.taps - 1 if network.causal else layer.taps // 2
        wide = F.pad(steps, (ahead, layer.taps))
        found = convolution(wide)[..., : -(-steps.shape[2] // layer.stride)]
        found = F.batch_norm(found, norm.mean, norm.variance, norm.weight, norm.bias, eps=norm.eps)
        steps = F.gelu(found)
    return steps[0].T


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("filling", [0.0, 7.0, float("nan"), float("inf")])
def test_a_sequence_is_read_as_if_it_were_alone(causal, filling):
    network = StridedConvolutions(3, causal=causal).double().eval()
    for norm in network.norms:
        norm.mean.normal_()
        norm.variance.uniform_(0.5, 2)
    x, lengths = padded(items(), 23, filling)
    found, frames = network(x, lengths)
    assert frames.tolist() == [-(-n // 4) for n in lengths.tolist()] == network.output_lengths(lengths).tolist()
    for k, item in enumerate(items()):
        torch.testing.assert_close(found[k, : frames[k]], alone(network, item), rtol=1e-10, atol=1e-12)
        assert (found[k, frames[k] :] == 0).all()


@pytest.mark.parametrize("filling", [0.0, 1e6, float("nan")])
def test_padding_changes_no_moment_and_no_gradient_of_training(filling):
    def learn(longest, filling):
        torch.manual_seed(1)
        network = StridedConvolutions(3).double()
        x, lengths = padded(items(), longest, filling)
        found, _ = network(x, lengths)
        found.square().sum().backward()
        return [*(p.grad for p in network.parameters()), *network.buffers()]

    for one, other in zip(learn(17, 0.0), learn(30, filling), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_the_norm_of_full_sequences_is_torchs_batch_normalization():
    torch.manual_seed(0)
    ours, theirs = MaskedBatchNorm(4).double(), nn.BatchNorm1d(4).double()
    inside = torch.ones(5, 6, dtype=torch.bool)
    for _ in range(3):
        x = 3 + 2 * torch.randn(5, 4, 6, dtype=torch.float64)
        torch.testing.assert_close(ours(x, inside), theirs(x))
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    torch.testing.assert_close(ours.variance, theirs.running_var)
    torch.testing.assert_close(ours.eval()(x, inside), theirs.eval()(x))


def test_a_single_step_leaves_the_moments_finite():
    norm = MaskedBatchNorm(2)
    found = norm(torch.ones(1, 2, 1), torch.ones(1, 1, dtype=torch.bool))
    assert torch.isfinite(found).all()
    assert torch.isfinite(norm.variance).all()


def test_a_causal_step_knows_nothing_of_what_comes_later():
    network = StridedConvolutions(2, [ConvolutionSpec(4, 5, 2), ConvolutionSpec(4, 3, 2)], causal=True).double().eval()
    x = torch.randn(1, 20, 2, dtype=torch.float64)
    changed = x.clone()
    changed[:, 9:] += 1.0
    lengths = torch.tensor([20])
    one, other = network(x, lengths)[0], network(changed, lengths)[0]
    assert torch.equal(one[:, :3], other[:, :3])  # frame 2 is that of step 8
    assert not torch.equal(one[:, 3], other[:, 3])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_readout_sees_the_steps_of_a_sequence_and_no_others(pooling):
    torch.manual_seed(0)
    readout = Readout(pooling, 3).double()
    some = items((1, 4, 6))
    x, lengths = padded(some, 9, 0.0)
    x[torch.arange(9) >= lengths[:, None]] = 1e3
    found = readout(x, lengths)
    for k, item in enumerate(some):
        parts = {"last": item[-1], "mean": item.mean(0), "max": item.amax(0)}
        parts["mean+max"] = torch.cat([parts["mean"], parts["max"]])
        if pooling == "attention":
            weights = (item @ readout.weigh.weight[0] + readout.weigh.bias).softmax(0)
            parts["attention"] = weights @ item
        torch.testing.assert_close(found[k], parts[pooling])
    assert found.shape[1] == readout.n_outputs


def test_a_readout_has_gradients_of_what_it_sees_only():
    for pooling in POOLINGS:
        x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
        Readout(pooling, 3).double()(x, torch.tensor([5, 2])).sum().backward()
        assert np.isfinite(x.grad.numpy()).all()
        assert (x.grad[1, 2:] == 0).all()
