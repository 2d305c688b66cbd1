"""Codecs: pictures of any size to codes and back, beside sums written out."""

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from timelike.forecast.codecs.base import init_normal
from timelike.forecast.codecs.convolutions import ConvDecoder, ConvEncoder, ConvResidualBlock, DownsamplingPlan
from timelike.forecast.codecs.mlp import MLPNetwork, init_orthogonal

KINDS = ["dcgan", "vgg", "resnet"]


def codec(kind, size=(12, 9), n_channels=2, n_code=3, *, maps=False, skips=False):
    torch.manual_seed(0)
    shape = DownsamplingPlan(*size, maps=maps)
    look = ConvEncoder(kind, n_channels, shape, n_code, filters=2, maps=maps)
    return look.eval(), ConvDecoder(kind, 1, shape, n_code, filters=2, maps=maps, skips=skips).eval()


@given(st.integers(1, 70), st.integers(1, 70), st.booleans())
def test_a_picture_is_padded_to_whole_halves_and_cropped_to_itself(height, width, maps):
    shape, x = DownsamplingPlan(height, width, maps=maps), torch.randn(2, 3, height, width)
    padded = shape.pad(x)
    assert padded.shape[-2:] == shape.padded_size == tuple(side * 2**shape.n_halvings for side in shape.code_size)
    assert torch.equal(shape.crop(padded), x)
    assert padded.sum() == pytest.approx(float(x.sum()), abs=1e-3)  # nothing but zeros
    assert all(
        0 <= after - before < 2**shape.n_halvings for before, after in zip(shape.size, shape.padded_size, strict=True)
    )


@pytest.mark.parametrize(("side", "code"), [(64, 4), (32, 4), (16, 4), (8, 4), (128, 8), (65, 5), (4, 2)])
def test_codes_of_pictures_end_at_four_pixels_as_in_the_thesis(side, code):
    assert DownsamplingPlan(side, side, maps=False).code_size == (code, code)


@pytest.mark.parametrize(("side", "code"), [(64, 16), (32, 16), (16, 8), (8, 4)])
def test_maps_are_halved_two_times_less(side, code):
    assert DownsamplingPlan(side, side, maps=True).code_size == (code, code)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("maps", "skips"), [(False, False), (False, True), (True, True)])
@settings(max_examples=8)
@given(height=st.integers(4, 19), width=st.integers(4, 19))
def test_pictures_of_any_size_come_back_in_their_size(kind, maps, skips, height, width):
    look, draw = codec(kind, (height, width), maps=maps, skips=skips)
    with torch.no_grad():
        code, seen = look(torch.randn(2, 2, height, width))
        assert code.shape == ((2, 3, *look.shape.code_size) if maps else (2, 3))
        assert draw(code, seen).shape == (2, 1, height, width)


@pytest.mark.parametrize("kind", KINDS)
def test_skips_reach_the_picture_from_every_stage(kind):
    look, draw = codec(kind, skips=True)
    with torch.no_grad():
        code, seen = look(torch.randn(2, 2, 12, 9))
        plain = draw(code, seen)
        for stage in range(len(seen)):
            assert not torch.equal(draw(code, [one + (i == stage) for i, one in enumerate(seen)]), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_without_skips_a_picture_depends_on_its_code_alone(kind):
    look, draw = codec(kind)
    with torch.no_grad():
        code, seen = look(torch.randn(2, 2, 12, 9))
        assert torch.equal(draw(code, seen), draw(code, []))


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_in_double_precision_have_the_same_code(kind):
    look, draw = codec(kind)
    x = torch.randn(2, 2, 12, 9)
    with torch.no_grad():
        single = draw(look(x)[0], [])
        double = draw.double()(look.double()(x.double())[0], [])
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [64, 65, 128])
def test_many_pictures_are_drawn_as_with_gradients(kind, n):
    look, draw = codec(kind, skips=True)
    look, draw = look.double(), draw.double()
    code, seen = look(torch.randn(n, 2, 12, 9, dtype=torch.float64))
    with torch.no_grad():
        some = draw(code, seen)
    torch.testing.assert_close(some, draw(code, seen), rtol=1e-12, atol=1e-12)


def test_a_residual_stage_whose_layers_give_nothing_is_the_picture_itself():
    stage = ConvResidualBlock(3, 3, halve=False).eval()
    nn.init.zeros_(stage.residual[0].weight)
    x = torch.randn(2, 3, 5, 5)
    assert torch.equal(stage(x), x.relu())


@pytest.mark.parametrize("shortcut", [False, True])
def test_a_perceptron_is_the_sum_of_its_parts(shortcut):
    torch.manual_seed(0)
    network = MLPNetwork([3, 4, 2], shortcut=shortcut).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    first, _, last = network.layers
    for row, found in zip(x.tolist(), network(x).tolist(), strict=True):
        inner = [max(0.0, sum(w * v for w, v in zip(ws, row, strict=True)) + b) for ws, b in rows(first)]
        expected = [sum(w * v for w, v in zip(ws, inner, strict=True)) + b for ws, b in rows(last)]
        if shortcut:
            beside = [sum(w * v for w, v in zip(ws, row, strict=True)) for ws in network.shortcut.weight.tolist()]
            expected = [a + b for a, b in zip(expected, beside, strict=True)]
        assert found == pytest.approx(expected)


def rows(layer):
    return list(zip(layer.weight.tolist(), layer.bias.tolist(), strict=True))


def test_a_perceptron_without_hidden_layers_is_linear():
    network = MLPNetwork([3, 2])
    x = torch.randn(4, 3)
    torch.testing.assert_close(network(2 * x) - network(x), network(x) - network(0 * x))


@pytest.mark.parametrize("module", [MLPNetwork([6, 6, 6, 6]), nn.Conv2d(4, 4, 3)])
def test_what_moves_states_is_drawn_orthogonal_with_its_gain(module):
    for layer in init_orthogonal(module, 0.71).modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            flat = layer.weight.flatten(1)
            torch.testing.assert_close(flat @ flat.T, 0.71**2 * torch.eye(len(flat)), rtol=1e-4, atol=1e-5)
            assert not layer.bias.any()


def test_codecs_of_the_thesis_are_drawn_around_zero_and_normalizations_around_one():
    torch.manual_seed(0)
    module = init_normal(nn.Sequential(nn.Linear(100, 100), nn.ConvTranspose2d(32, 32, 4), nn.BatchNorm2d(4000)))
    for layer, middle in zip(module, (0.0, 0.0, 1.0), strict=True):
        assert layer.weight.mean().item() == pytest.approx(middle, abs=1.5e-3)
        assert layer.weight.std().item() == pytest.approx(0.02, rel=0.05)
        assert not layer.bias.any()
