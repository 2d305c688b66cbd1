"""The thesis's own networks beside lists of torch's layers, and the codecs of these ends at any size."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import timelike as tl
from naive import frame_codecs
from timelike.forecast import Inference, RandomDynamics, SRVPNetwork, StateDynamics, codecs
from timelike.forecast.codecs import convolutions
from timelike.forecast.codecs.convolutions import CodeNorm

CODECS = {"dcgan": codecs.DCGAN, "vgg": codecs.VGG}
VARIANTS = ["srvp", "separation"]
CASES = [(kind, variant) for kind in CODECS for variant in VARIANTS]


def pair(kind, variant, channels=2, n_code=7, f=3):
    """Encoders and decoders for 64 × 64 pixels with the same weights, the naive ones first."""
    torch.manual_seed(0)
    naive = [
        getattr(frame_codecs, f"{kind}_{part}")(channels, n_code, f, program=variant) for part in ("encoder", "decoder")
    ]
    for module in naive:
        for layer in module:
            if isinstance(layer, nn.BatchNorm2d):  # not what an untrained one has
                nn.init.normal_(layer.weight, 1, 0.2)
                nn.init.normal_(layer.bias, 0, 0.2)
                layer.running_mean.normal_(0, 0.2)
                layer.running_var.uniform_(0.5, 2)
    codec = CODECS[kind](filters=f, variant=variant)
    frame = (channels, 64, 64)
    ours = [codec.encoder(frame, n_code), codec.decoder(frame, n_code, n_content=4, use_sigmoid=True)]
    for one, other in zip(naive, ours, strict=True):
        frame_codecs.copy_weights(one, other)
    return naive, ours


def n_weights(module):
    return sum(one.numel() for one in module.parameters())


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_codecs_of_the_thesis_are_lists_of_layers(kind, variant, training, channels):
    (look, draw), (ours, drawn) = pair(kind, variant, channels)
    for module in (look, draw, ours, drawn):
        module.double().train(training)
    x = torch.rand(5, channels, 64, 64, dtype=torch.float64)
    code, expected = ours(x)[0], look(x)
    torch.testing.assert_close(code, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(torch.sigmoid(drawn(expected, [])), draw(expected), rtol=1e-9, atol=1e-9)
    assert (n_weights(ours), n_weights(drawn)) == (n_weights(look), n_weights(draw))


@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_in_single_precision_and_another_memory_format_too(kind, variant):
    (look, draw), (ours, drawn) = pair(kind, variant)
    x = torch.rand(5, 2, 64, 64)
    code, expected = ours(x)[0], look(x)
    torch.testing.assert_close(code, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(torch.sigmoid(drawn(expected, [])), draw(expected), rtol=1e-3, atol=1e-4)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = drawn(ours(x)[0], [])
    assert mixed.isfinite().all()


def test_the_number_of_weights_at_the_size_of_the_thesis():
    """Added up by hand: 4 × 4 taps of 1, 64, 128, 256 and 512 channels, two numbers for each normalized channel."""
    codec = tl.SRVP.preset("digits").codec
    assert codec == codecs.DCGAN(filters=64, initialization="thesis", variant="srvp")
    taps = 16 * (1 * 64 + 64 * 128 + 128 * 256 + 256 * 512 + 512 * 128)
    assert n_weights(codec.encoder((1, 64, 64), 128)) == taps + 2 * (128 + 256 + 512 + 128)
    taps = 16 * (276 * 512 + 512 * 256 + 256 * 128 + 128 * 64 + 64 * 1)
    decoder = codec.decoder((1, 64, 64), 276, n_content=256, use_sigmoid=True)
    assert n_weights(decoder) == taps + 2 * (512 + 256 + 128 + 64)


@pytest.mark.parametrize(
    ("model", "names", "variant"),
    [
        (tl.SRVP, ["stochastic-digits", "digits", "kth", "human", "bair"], "srvp"),
        (tl.Separation, ["digits", "sst-linear", "taxi"], "separation"),
    ],
)
def test_presets_have_the_networks_of_their_chapter(model, names, variant):
    assert {model.preset(name).codec.variant for name in names} == {variant}
    assert {model.preset(name).codec.initialization for name in names} == {"thesis"}


def test_codes_with_a_tangent_lie_between_minus_one_and_one():
    for kind in CODECS.values():
        look = kind(filters=2, variant="srvp").encoder((1, 32, 32), 5)
        code = look(100 * torch.randn(40, 1, 32, 32))[0]
        assert 0.5 < code.abs().max() <= 1
        assert code.std() > 0.3  # normalized before: not at the ends of the tangent


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("size", [(16, 16), (32, 32), (17, 33), (33, 17), (4, 5), (70, 9), (1, 3)])
@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_images_of_any_size_come_back_in_their_size(kind, variant, size, skips, maps):
    codec = CODECS[kind](filters=2, variant=variant, skips=skips, maps=maps)
    look, draw = codec.encoder((3, *size), 5), codec.decoder((1, *size), 5, n_content=2, use_sigmoid=False)
    code, seen = look(torch.randn(3, 3, *size))
    assert code.shape[:2] == (3, 5)
    assert draw(code, seen).shape == (3, 1, *size)


def test_vgg_of_chapter_5_has_four_stages_at_32_pixels():
    """C.5.2: for TaxiBJ an upsampling and a downsampling are left out, not the convolutions beside them."""
    look = tl.Separation.preset("taxi").codec.encoder((2, 32, 32), 20)
    assert [stage[0][0].out_channels for stage in look.stages] == [64, 128, 256, 512]
    assert look.code_layer.in_features == 512 * 4 * 4
    assert [one.shape[-1] for one in look(torch.zeros(2, 2, 32, 32))[1]] == [32, 16, 8, 4]


@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_gradients_are_those_of_finite_differences(kind, variant):
    codec = CODECS[kind](filters=1, variant=variant)
    torch.manual_seed(0)
    look = codec.encoder((1, 8, 8), 2).double()
    draw = codec.decoder((1, 8, 8), 2, n_content=1, use_sigmoid=True).double()
    x = torch.randn(3, 1, 8, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: draw(look(x)[0], []), [x], atol=1e-4, eps=1e-7)


@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_the_order_in_memory_changes_no_gradient(kind, variant, monkeypatch):
    results = []
    for last in (True, False):
        if not last:
            monkeypatch.setattr(convolutions, "uses_channels_last", lambda dtype: False)
        _, modules = pair(kind, variant)
        x = torch.rand(5, 2, 64, 64, generator=torch.Generator().manual_seed(1))
        loss = modules[1](modules[0](x)[0], []).square().mean()
        results.append(torch.autograd.grad(loss, [one for module in modules for one in module.parameters()]))
    scale = max(float(one.abs().max()) for one in results[0])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3 * scale)


@pytest.mark.parametrize("shape", [(3,), (3, 1, 1)])
def test_a_single_code_is_normalized_by_the_running_moments(shape):
    layer, code = CodeNorm(3).train(), torch.randn(1, *shape)
    layer.running_mean.fill_(1.0)
    layer.running_var.fill_(4.0)
    torch.testing.assert_close(layer(code), (code - 1) / (4 + layer.eps) ** 0.5)


def clips(n=12, length=8, size=(17, 20)):
    return np.random.default_rng(0).uniform(0, 1, (n, length, 1, *size)).astype(np.float32)


def small(model, codec):
    options = {"conditioning": 3, "chunk": 6, "n_state": 4, "n_content": 3, "codec": codec, "max_steps": 3}
    options |= {"trainer": tl.Trainer(batch_size=4), "progress": False, "random_state": 0}
    if model is tl.Separation:
        return model(**options, dynamics=StateDynamics(hidden=4))
    return model(**options, n_random=2, inference=Inference(n_code=5, hidden=6), dynamics=RandomDynamics(hidden=4))


@pytest.mark.parametrize(("kind", "variant"), CASES)
@pytest.mark.parametrize("model", [tl.SRVP, tl.Separation])
def test_forecasts_are_independent_of_the_other_clips_and_survive_a_file(model, kind, variant, tmp_path):
    codec = CODECS[kind](filters=2, variant=variant)
    fitted, X = small(model, codec).fit(clips()), clips(n=40, length=3)
    drawn = {"n_samples": 2} if model is tl.SRVP else {}
    every = fitted.predict(X, 3, random_state=0, **drawn)
    assert np.isfinite(every.mean).all()
    for rows in (slice(7, 8), slice(0, 40, 3)):
        np.testing.assert_array_equal(every.mean[rows], fitted.predict(X[rows], 3, random_state=0, **drawn).mean)
    fitted.save(tmp_path / "model")
    loaded = tl.load_model(tmp_path / "model")
    assert loaded.codec == codec
    np.testing.assert_array_equal(loaded.predict(X, 3, random_state=0, **drawn).mean, every.mean)


@pytest.mark.parametrize(("kind", "variant"), CASES)
def test_decoding_is_independent_of_the_batch(kind, variant):
    _, (_, draw) = pair(kind, variant)
    draw.eval()
    code = torch.randn(70, 7)
    with torch.no_grad():
        every = draw(code, [])
        assert torch.equal(draw(code[41:42], []), every[41:42])
        assert torch.equal(draw(code[::2], []), every[::2])


def test_a_last_batch_of_one_chunk_is_trained_on():
    codec = codecs.VGG(filters=2, variant="separation")
    model = small(tl.Separation, codec).set_params(chunk=8, trainer=tl.Trainer(batch_size=5, validation=0.0))
    assert np.isfinite(model.fit(clips(n=11)).predict(clips(n=2, length=3), 2).mean).all()


def test_statistics_of_codes_are_those_of_the_last_weights():
    """Normalizations of codes are renewed after the training as others are: in evaluation codes have deviation 1."""
    model = small(tl.SRVP, codecs.DCGAN(filters=4, variant="srvp")).set_params(standardize=False)
    X = clips(n=12)
    network = model.fit(X).network_
    assert isinstance(network, SRVPNetwork)
    network.encoder.code_activation = nn.Identity()
    with torch.no_grad():
        codes = network.encode_frames(torch.from_numpy(X))[0].flatten(0, 1)
    weight = network.encoder.code_norm.weight.detach()
    torch.testing.assert_close(codes.std(0), weight, rtol=0.15, atol=0)


def test_variants_are_checked_and_scaled():
    codec = codecs.DCGAN(variant="srvp", filters=10)
    assert codec.scale_widths(0.5) == replace(codec, filters=5)
    with pytest.raises(ValueError, match="variant='thesis': expected one of 'default', 'srvp', 'separation'"):
        codecs.VGG(variant="thesis")
