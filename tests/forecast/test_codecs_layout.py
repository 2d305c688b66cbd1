"""How pictures lie in memory decides how fast convolutions are, and nothing else."""

import pytest
import torch
from torch import nn

from timelike.forecast.codecs import convolutions
from timelike.forecast.codecs.convolutions import ConvDecoder, ConvEncoder, DoublingConvTranspose2d, DownsamplingPlan


def drawn_again(kind, channels, side, *, maps):
    """What a picture becomes by both halves of a codec, and the gradients of everything."""
    torch.manual_seed(0)
    shape = DownsamplingPlan(side, side, maps=maps)
    look = ConvEncoder(kind, channels, shape, 4, filters=3, maps=maps)
    draw = ConvDecoder(kind, channels, shape, 4, filters=3, maps=maps, skips=True)
    x = torch.randn(3, channels, side, side, requires_grad=True)
    found = draw(*look(x))
    parts = [x, *look.parameters(), *draw.parameters()]
    return found, torch.autograd.grad(found.square().mean(), parts)


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize(("channels", "side"), [(1, 16), (5, 18), (4, 16)])
@pytest.mark.parametrize("kind", ["dcgan", "vgg", "resnet"])
def test_the_order_in_memory_never_changes_a_picture_or_a_gradient(kind, channels, side, maps, monkeypatch):
    found, grads = drawn_again(kind, channels, side, maps=maps)
    monkeypatch.setattr(convolutions, "uses_channels_last", lambda dtype: False)
    plain, expected = drawn_again(kind, channels, side, maps=maps)
    torch.testing.assert_close(found, plain, rtol=1e-3, atol=1e-4)
    scale = max(float(one.abs().max()) for one in expected)  # a bias before a normalisation has only rounding
    for one, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-4 * scale)


def test_double_precision_stays_as_it_came():
    x = torch.zeros(2, 3, 4, 4, dtype=torch.float64)
    assert convolutions.to_channels_last(x) is x


@pytest.mark.parametrize("kind", ["dcgan", "vgg", "resnet"])
def test_five_frames_side_by_side_survive_their_gradients(kind):
    look = ConvEncoder(
        kind, 5, DownsamplingPlan(64, 64, maps=False), 4, filters=16
    )  # torch 2.13 died of ResNet's with another layout
    look(torch.randn(16, 5, 64, 64, requires_grad=True))[0].sum().backward()
    assert all(one.grad is not None for one in look.parameters())


def like_torch(ours, torchs, x):
    """What both give, and the gradients of what went in, of weights and of biases."""
    torchs.load_state_dict(ours.state_dict())
    weights, found = None, []
    for module in (ours, torchs):
        y = module(x)
        weights = torch.linspace(-1, 2, y.numel()).reshape(y.shape) if weights is None else weights
        found.append((y, *torch.autograd.grad((y * weights).sum(), [x, *module.parameters()])))
    return found


def side_by_side(*shape):
    torch.manual_seed(0)
    return torch.randn(shape).contiguous(memory_format=torch.channels_last).requires_grad_()


@pytest.mark.parametrize("after", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (1, 4), (5, 3), (4, 4)])
@pytest.mark.parametrize("n", [1, 6])
def test_doubling_is_the_transposed_convolution_of_torch_with_its_gradients(n, size, after):
    x = side_by_side(n, 5, *size)
    found, expected = like_torch(DoublingConvTranspose2d(5, after), nn.ConvTranspose2d(5, after, 4, 2, 1), x)
    assert found[0].shape == (n, after, 2 * size[0], 2 * size[1])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.detach().abs().max()))


def test_few_channels_are_drawn_without_a_transposed_convolution_and_many_with_one(monkeypatch):
    asked = []
    monkeypatch.setattr(nn.functional, "conv_transpose2d", lambda *given: asked.append(given[1].shape[1]))
    for after in (1, 3, 4):
        DoublingConvTranspose2d(5, after)(side_by_side(2, 5, 4, 4))
    assert asked == [4]


@pytest.mark.parametrize("after", [1, 5])
@pytest.mark.parametrize("size", [(1, 1), (5, 3)])
@pytest.mark.parametrize("n", [1, 4])
def test_doubling_in_double_precision_is_that_of_torch(n, size, after):
    ours, x = DoublingConvTranspose2d(3, after).double(), side_by_side(n, 3, *size).detach().double()
    expected = nn.functional.conv_transpose2d(x, ours.weight, ours.bias, 2, 1)
    for given in (x, x.contiguous()):
        with torch.no_grad():
            torch.testing.assert_close(ours(given), expected, rtol=1e-13, atol=1e-13)
        torch.testing.assert_close(ours(given), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("size", "stride"), [(4, 2), (3, 1)])
@pytest.mark.parametrize("before", [1, 2])
def test_a_convolution_of_one_channel_lies_side_by_side_and_changes_no_number(before, size, stride):
    x = side_by_side(3, before, 8, 6)
    ours = convolutions.ChannelsLastConv2d(before, 4, size, stride, 1)
    found, expected = like_torch(ours, nn.Conv2d(before, 4, size, stride, 1), x)
    assert found[0].is_contiguous(memory_format=torch.channels_last)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.detach().abs().max()))


@pytest.mark.parametrize("kind", ["dcgan", "vgg"])
def test_grey_pictures_stay_side_by_side_through_all_stages(kind):
    look = ConvEncoder(kind, 1, DownsamplingPlan(32, 32, maps=False), 4, filters=3)
    assert all(one.is_contiguous(memory_format=torch.channels_last) for one in look(torch.randn(2, 1, 32, 32))[1])
