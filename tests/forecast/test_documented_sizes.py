"""Sizes and weights of the networks that chapters 4 and 5 describe, typed once more, and small promises beside them."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import timelike as tl
from timelike.forecast import SRVPNetwork
from timelike.forecast.codecs.convolutions import ConvDecoder
from timelike.forecast.codecs.sprites import SpriteDecoder
from timelike.forecast.separation.network import SeparationNetwork
from timelike.forecast.separation.objective import SeparationWeights
from timelike.forecast.srvp.experimental import ExperimentalSRVPNetwork
from timelike.models import Model

# the modules have the thesis's sizes (appendix B.1 and C.2, w as in the authors' program), the estimators smaller ones
# that a laptop trains (decision 0045): a change of either is a decision, not an accident
SIZES = {
    SRVPNetwork: {"n_state": 20, "n_random": 20, "n_content": 256, "n_code": 128, "hidden": 256, "motion_hidden": 512,
                  "filters": 64, "layers": 2, "conditioning": 5, "substeps": 1, "gain": 1.41},
    SeparationNetwork: {"n_content": 32, "n_state": 32, "hidden": 128, "dynamics_hidden": 128, "filters": 64,
                        "layers": 2, "conditioning": 5, "blocks": 1, "gain": 0.71},
    SeparationWeights: {"prediction": 45.0, "autoencoding": 1.0, "invariance": 45.0, "state_penalty": 1e-3},
    tl.SRVP: {"n_state": 48, "n_random": 8, "n_content": 32, "n_code": 64, "n_content_frames": 5, "hidden": 128,
              "motion_hidden": 128, "filters": 16, "layers": 2, "conditioning": 5, "substeps": 1, "gain": 0.2,
              "beta": 1.0, "motion_penalty": 0.1, "drift": 0.0, "batch_size": 64, "learning_rate": 5e-3, "n_sprites": 2,
              "delay_penalty": (1.0, 1.0), "invariance_weight": 0.0, "autoencoding_weight": 0.0, "scale": 1.0, "weight_decay": 0.0,
              "betas": (0.9, 0.999), "validation": 0.0, "skips": False, "shortcut": True, "delays": False,
              "standardize": True, "devices": 1},
    tl.Separation: {"n_content": 32, "n_state": 32, "hidden": 128, "dynamics_hidden": 128, "filters": 16, "layers": 2,
                    "conditioning": 5, "blocks": 1, "gain": 0.71, "prediction_weight": 45.0, "autoencoding_weight": 1.0,
                    "invariance_weight": 45.0, "state_penalty": 1e-3, "n_invariance_intervals": 1, "batch_size": 64, "learning_rate": 3e-3,
                    "scale": 1.0, "weight_decay": 0.0, "betas": (0.9, 0.99), "validation": 0.0, "content": True,
                    "skips": False, "maps": False, "shortcut": True, "tied": False, "offset": False,
                    "standardize": True, "devices": 1},
}  # fmt: skip


@pytest.mark.parametrize("kind", SIZES, ids=lambda kind: kind.__name__)
def test_defaults_are_the_documented_ones(kind):
    known = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    assert {name: known[name] for name in SIZES[kind]} == SIZES[kind]
    if issubclass(kind, Model):  # of an estimator every one
        numbers = {name for name, value in known.items() if isinstance(value, int | float | tuple)}
        assert numbers == SIZES[kind].keys()


def test_networks_of_delays_are_as_wide_as_the_motion_they_go_with():
    plain = ExperimentalSRVPNetwork(2, delays=True)
    told = ExperimentalSRVPNetwork(2, delays=True, motion_hidden=512)
    assert {name: tuple(w.shape) for name, w in plain.named_parameters()} == {
        name: tuple(w.shape) for name, w in told.named_parameters()
    }


def test_every_codec_looks_at_pictures_in_its_own_way():
    """Sprites are looked at as DCGAN does; VGG has more layers."""
    shapes = {
        codec: [tuple(w.shape) for w in SRVPNetwork((1, 64, 64), codec=codec, filters=2).encoder.parameters()]
        for codec in ("dcgan", "vgg", "sprites")
    }
    assert shapes["sprites"] == shapes["dcgan"]
    assert len(shapes["vgg"]) > len(shapes["dcgan"])
    drawn = {codec: type(SRVPNetwork((1, 64, 64), codec=codec, filters=2).decoder) for codec in ("dcgan", "sprites")}
    assert drawn == {"dcgan": ConvDecoder, "sprites": SpriteDecoder}


def weights_of(module):
    """All weights of its layers, without those of normalizations."""
    kinds = torch.nn.Linear | torch.nn.Conv2d | torch.nn.ConvTranspose2d
    return torch.cat([layer.weight.detach().flatten() for layer in module.modules() if isinstance(layer, kinds)])


@pytest.mark.parametrize("codec", ["perceptron", "dcgan", "vgg", "sprites"])
def test_codecs_are_drawn_as_the_thesis_says_where_that_is_wished(codec):
    """Normal with deviation 0.02, in every part that looks at frames or draws them; it says nothing of sprites."""
    frame = 12 if codec == "perceptron" else (1, 16, 16)
    kinds = [SRVPNetwork] if codec == "sprites" else [SRVPNetwork, SeparationNetwork]
    for kind in kinds:
        for drawn in ("torch", "thesis"):
            torch.manual_seed(0)
            network = kind(frame, codec=codec, filters=8, initialization=drawn)
            for name in ("encoder", "content_encoder", "state_encoder", "decoder"):
                if hasattr(network, name):
                    as_told = drawn == "thesis" and (codec, name) != ("sprites", "decoder")
                    weights = weights_of(getattr(network, name))
                    assert (float(weights.std()) == pytest.approx(0.02, rel=0.05)) == as_told, name


def test_interpolating_needs_a_fit():
    with pytest.raises(NotFittedError):
        tl.SRVP().interpolate(np.zeros((8, 1)), np.ones((8, 1)))


def test_the_bound_is_its_parts_in_the_units_of_the_data():
    """ELBO = likelihood − KL of the first state − KL of random steps, also where data have another scale than 1."""
    rng = np.random.default_rng(0)
    X = 50 * np.sin(np.arange(14) / 2 + rng.uniform(0, 6, (6, 1)))[:, :, None]
    sizes = {"hidden": 6, "n_state": 4, "n_random": 3, "n_content": 3, "n_code": 5, "motion_hidden": 6}
    model = tl.SRVP(**sizes, max_steps=2, progress=False, random_state=0).fit(X)
    found = model.elbo(X, random_state=0)
    np.testing.assert_allclose(found.elbo, found.likelihood - found.first_kl - found.random_kl, rtol=1e-9)
    torch.testing.assert_close(torch.tensor(found.first_kl >= 0), torch.ones(6, dtype=torch.bool))


# the last value that is taken and the first that is refused, at the ends of every range that an option has
WHOLE, COUNT, WEIGHT, ABOVE_0 = ((1, 0),), ((0, -1),), ((0, -1),), ((1e-300, 0),)
RANGES = {
    tl.SRVP: {
        **dict.fromkeys(
            ["n_state", "n_code", "n_content_frames", "hidden", "filters", "n_sprites", "motion_hidden"], WHOLE
        ),
        **dict.fromkeys(["conditioning", "batch_size", "max_steps", "patience"], WHOLE),
        **dict.fromkeys(["n_random", "n_content", "layers"], COUNT),
        **dict.fromkeys(
            ["beta", "motion_penalty", "drift", "weight_decay", "invariance_weight", "autoencoding_weight"], WEIGHT
        ),
        **dict.fromkeys(["gain", "observation_std", "learning_rate", "max_time"], ABOVE_0),
        "chunk": ((2, 1),),
        "substeps": ((1, 0), (2**10, 2**10 + 1)),
        "scale": ((1e-300, 0), (1e6, 1.1e6)),
        "validation": ((0, -1), (0.9, 0.91)),
    },
    tl.Separation: {
        **dict.fromkeys(["n_content", "n_state", "hidden", "decoder_hidden", "filters", "dynamics_hidden"], WHOLE),
        **dict.fromkeys(["layers", "decoder_layers"], COUNT),
        **dict.fromkeys(["autoencoding_weight", "invariance_weight", "state_penalty", "jitter"], WEIGHT),
        **dict.fromkeys(["gain", "prediction_weight"], ABOVE_0),
        "blocks": ((1, 0),),
        "n_invariance_intervals": ((1, 0), (2**20, 2**20 + 1)),
        "scale": ((1e-300, 0), (1e6, 1.1e6)),
    },
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in RANGES.items() for name in names])
def test_the_last_value_of_a_range_is_taken_and_the_next_one_refused(kind, name):
    check = kind.options()[name].check
    for last, beyond in RANGES[kind][name]:
        assert check(last, name) == last
        with pytest.raises(ValueError, match=rf"{name}={beyond}\b.*: expected"):
            check(beyond, name)
