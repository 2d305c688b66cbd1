"""How pictures lie in memory decides how fast convolutions are, and nothing else."""

import pytest
import torch

from timelike.forecast.codecs import convolutional
from timelike.forecast.codecs.convolutional import Draw, Look, Shape


def drawn_again(kind, channels, side, *, maps):
    """What a picture becomes by both halves of a codec, and the gradients of everything."""
    torch.manual_seed(0)
    shape = Shape(side, side, maps=maps)
    look = Look(kind, channels, shape, 4, filters=3, maps=maps)
    draw = Draw(kind, channels, shape, 4, filters=3, maps=maps, skips=True)
    x = torch.randn(3, channels, side, side, requires_grad=True)
    found = draw(*look(x))
    parts = [x, *look.parameters(), *draw.parameters()]
    return found, torch.autograd.grad(found.square().mean(), parts)


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize(("channels", "side"), [(1, 16), (5, 18), (4, 16)])
@pytest.mark.parametrize("kind", ["dcgan", "vgg", "resnet"])
def test_the_order_in_memory_never_changes_a_picture_or_a_gradient(kind, channels, side, maps, monkeypatch):
    found, grads = drawn_again(kind, channels, side, maps=maps)
    monkeypatch.setattr(convolutional, "laid_out", lambda x: x)
    plain, expected = drawn_again(kind, channels, side, maps=maps)
    torch.testing.assert_close(found, plain, rtol=1e-3, atol=1e-4)
    scale = max(float(one.abs().max()) for one in expected)  # a bias before a normalisation has only rounding
    for one, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-4 * scale)


def test_double_precision_stays_as_it_came():
    x = torch.zeros(2, 3, 4, 4, dtype=torch.float64)
    assert convolutional.laid_out(x) is x


@pytest.mark.parametrize("kind", ["dcgan", "vgg", "resnet"])
def test_five_frames_side_by_side_survive_their_gradients(kind):
    look = Look(kind, 5, Shape(64, 64, maps=False), 4, filters=16)  # torch 2.13 died of ResNet's with another layout
    look(torch.randn(16, 5, 64, 64, requires_grad=True))[0].sum().backward()
    assert all(one.grad is not None for one in look.parameters())
