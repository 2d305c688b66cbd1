"""Sizes and weights of the networks that chapters 4 and 5 describe, typed once more, and small promises beside them."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import timelike as tl
from latent_options import separation_network, srvp, srvp_network
from timelike.forecast import (
    Experimental,
    Inference,
    RandomDynamics,
    SeparationLoss,
    SeparationNetwork,
    SRVPNetwork,
    StateDynamics,
    codecs,
)
from timelike.forecast.codecs.convolutions import ConvDecoder
from timelike.forecast.codecs.sprites import SpriteDecoder
from timelike.models import Model

# the modules have the thesis's sizes (appendix B.1 and C.2, w as in the authors' program), the estimators smaller ones
# that a laptop trains (decision 0045): a change of either is a decision, not an accident
SIZES = {
    SRVPNetwork: {"n_state": 20, "n_random": 20, "n_content": 256, "conditioning": 5, "observation_std": 1.0},
    SeparationNetwork: {"n_content": 32, "n_state": 32, "conditioning": 5},
    codecs.MLP: {"hidden": 128, "layers": 2, "shortcut": True},
    codecs.DCGAN: {"filters": 16, "skips": False, "maps": False},
    codecs.VGG: {"filters": 16, "skips": False, "maps": False},
    codecs.ResNet: {"filters": 16, "skips": False, "maps": False},
    codecs.Sprites: {"n_sprites": 2, "filters": 16, "hidden": 128},
    StateDynamics: {"blocks": 1, "tied": False, "hidden": 128, "gain": 0.71},
    RandomDynamics: {"hidden": 128, "gain": 0.2, "substeps": 1},
    Inference: {"n_code": 64, "hidden": 128, "shortcut": True, "n_content_frames": 5},
    Experimental: {"delays": False, "delay_penalty": (1.0, 1.0), "drift": 0.0, "invariance_weight": 0.0,
                   "autoencoding_weight": 0.0},
    SeparationLoss: {"prediction_weight": 45.0, "autoencoding_weight": 1.0, "invariance_weight": 45.0,
                     "state_penalty": 1e-3, "n_invariance_intervals": 1},
    tl.SRVP: {"n_state": 48, "n_random": 8, "n_content": 32, "conditioning": 5, "motion_penalty": 0.1,
              "scale": 1.0, "standardize": True},
    tl.Separation: {"n_content": 32, "n_state": 32, "conditioning": 5, "scale": 1.0, "content": True, "offset": False,
                    "standardize": True},
}  # fmt: skip
TRAINERS = {
    tl.SRVP: {"batch_size": 64, "learning_rate": 5e-3, "weight_decay": 0.0, "betas": (0.9, 0.999), "validation": 0.0,
              "devices": 1, "optimizer": "adamw", "schedule": "one_cycle", "precision": "auto"},
    tl.Separation: {"batch_size": 64, "learning_rate": 3e-3, "weight_decay": 0.0, "betas": (0.9, 0.99),
                    "validation": 0.0, "devices": 1, "optimizer": "adamw", "schedule": "one_cycle",
                    "precision": "32-true"},
}  # fmt: skip


@pytest.mark.parametrize("kind", SIZES, ids=lambda kind: kind.__name__)
def test_defaults_are_the_documented_ones(kind):
    known = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    assert {name: known[name] for name in SIZES[kind]} == SIZES[kind]
    if not issubclass(kind, torch.nn.Module):  # of estimators and values every one
        numbers = {name for name, value in known.items() if isinstance(value, int | float | tuple)}
        assert numbers == SIZES[kind].keys()


@pytest.mark.parametrize("kind", TRAINERS, ids=lambda kind: kind.__name__)
def test_trainers_are_the_documented_ones(kind):
    assert {name: getattr(kind().trainer_, name) for name in TRAINERS[kind]} == TRAINERS[kind]


def test_the_values_of_the_modules_have_the_thesis_sizes():
    srvp, separated = SRVPNetwork(3), SeparationNetwork(3)
    assert srvp.encoder.layers[0].weight.shape == (256, 3)
    assert srvp.encoder.layers[-1].weight.shape == (128, 256)
    assert srvp.lstm.weight_hh_l0.shape == (4 * 256, 256)
    assert srvp.prior.layers[0].weight.shape == (512, 20)
    assert len(srvp.encoder.layers) == len(separated.state_encoder.layers) == 5  # two hidden ones
    assert separated.state_encoder.layers[0].weight.shape == (128, 15)
    assert separated.dynamics.blocks[0].layers[0].weight.shape == (128, 32)
    assert srvp.substeps == separated.dynamics.n_substeps == 1
    for module, gain in ((srvp.dynamics, 1.41), (separated.dynamics.blocks[0], 0.71)):
        assert float(torch.linalg.svdvals(module.layers[0].weight.detach()).max()) == pytest.approx(gain, rel=1e-4)


def test_networks_of_delays_are_as_wide_as_the_motion_they_go_with():
    plain = SRVPNetwork(2, experimental=Experimental(delays=True))
    told = srvp_network(2, delays=True, motion_hidden=512)
    assert {name: tuple(w.shape) for name, w in plain.named_parameters()} == {
        name: tuple(w.shape) for name, w in told.named_parameters()
    }


def test_every_codec_looks_at_pictures_in_its_own_way():
    """Sprites are looked at as DCGAN does; VGG has more layers."""
    shapes = {
        codec: [tuple(w.shape) for w in srvp_network((1, 64, 64), codec=codec, filters=2).encoder.parameters()]
        for codec in ("dcgan", "vgg", "sprites")
    }
    assert shapes["sprites"] == shapes["dcgan"]
    assert len(shapes["vgg"]) > len(shapes["dcgan"])
    drawn = {codec: type(srvp_network((1, 64, 64), codec=codec, filters=2).decoder) for codec in ("dcgan", "sprites")}
    assert drawn == {"dcgan": ConvDecoder, "sprites": SpriteDecoder}


def weights_of(module):
    """All weights of its layers, without those of normalizations."""
    kinds = torch.nn.Linear | torch.nn.Conv2d | torch.nn.ConvTranspose2d
    return torch.cat([layer.weight.detach().flatten() for layer in module.modules() if isinstance(layer, kinds)])


@pytest.mark.parametrize("codec", ["perceptron", "dcgan", "vgg", "sprites"])
def test_codecs_are_drawn_as_the_thesis_says_where_that_is_wished(codec):
    """Normal with deviation 0.02, in every part that looks at frames or draws them; it says nothing of sprites."""
    frame = 12 if codec == "perceptron" else (1, 16, 16)
    kinds = [srvp_network] if codec == "sprites" else [srvp_network, separation_network]
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
    model = srvp(**sizes, max_steps=2, progress=False, random_state=0).fit(X)
    found = model.elbo(X, random_state=0)
    np.testing.assert_allclose(found.elbo, found.likelihood - found.first_kl - found.random_kl, rtol=1e-9)
    torch.testing.assert_close(torch.tensor(found.first_kl >= 0), torch.ones(6, dtype=torch.bool))


# the last value that is taken and the first that is refused, at the ends of every range that an option has
WHOLE, COUNT, WEIGHT, ABOVE_0 = ((1, 0),), ((0, -1),), ((0, -1),), ((1e-300, 0),)
RANGES = {
    tl.SRVP: {
        **dict.fromkeys(["n_state", "conditioning", "max_steps"], WHOLE),
        **dict.fromkeys(["n_random", "n_content"], COUNT),
        **dict.fromkeys(["beta", "motion_penalty"], WEIGHT),
        **dict.fromkeys(["observation_std", "max_time"], ABOVE_0),
        "chunk": ((2, 1),),
        "scale": ((1e-300, 0), (1e6, 1.1e6)),
    },
    tl.Separation: {**dict.fromkeys(["n_content", "n_state"], WHOLE), "scale": ((1e-300, 0), (1e6, 1.1e6))},
    tl.Trainer: {
        **dict.fromkeys(["batch_size", "patience"], WHOLE),
        "weight_decay": WEIGHT,
        "learning_rate": ABOVE_0,
        "validation": ((0, -1), (0.9, 0.91)),
    },
    codecs.MLP: {
        **dict.fromkeys(["hidden", "decoder_hidden"], WHOLE),
        **dict.fromkeys(["layers", "decoder_layers"], COUNT),
    },
    codecs.DCGAN: {"filters": WHOLE},
    codecs.VGG: {"filters": WHOLE},
    codecs.ResNet: {"filters": WHOLE},
    codecs.Sprites: dict.fromkeys(["n_sprites", "filters", "hidden"], WHOLE),
    Inference: dict.fromkeys(["n_code", "n_content_frames", "hidden"], WHOLE),
    RandomDynamics: {"hidden": WHOLE, "gain": ABOVE_0, "substeps": ((1, 0), (2**10, 2**10 + 1))},
    StateDynamics: {"hidden": WHOLE, "gain": ABOVE_0, "blocks": ((1, 0),)},
    Experimental: dict.fromkeys(["drift", "invariance_weight", "autoencoding_weight"], WEIGHT),
    SeparationLoss: {
        **dict.fromkeys(["autoencoding_weight", "invariance_weight", "state_penalty", "jitter"], WEIGHT),
        "prediction_weight": ABOVE_0,
        "n_invariance_intervals": ((1, 0), (2**20, 2**20 + 1)),
    },
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in RANGES.items() for name in names])
def test_the_last_value_of_a_range_is_taken_and_the_next_one_refused(kind, name):
    def take(value):
        return (
            kind.options()[name].check(value, name) if issubclass(kind, Model) else getattr(kind(**{name: value}), name)
        )

    for last, beyond in RANGES[kind][name]:
        assert take(last) == last
        with pytest.raises(ValueError, match=rf"{name}={beyond}\b.*: expected"):
            take(beyond)


GRIDS = {
    tl.Separation: {"codec": "dcgan", "codec__filters": 3, "dynamics__blocks": 2, "loss__jitter": 0.1},
    tl.SRVP: {"codec": "sprites", "codec__n_sprites": 3, "dynamics__substeps": 2, "inference__n_code": 7}
    | {"experimental__drift": 0.1},
}


@pytest.mark.parametrize("kind", GRIDS, ids=lambda kind: kind.__name__)
def test_a_grid_search_reaches_the_fields_of_a_value_that_a_word_or_none_stands_for(kind):
    model = kind().set_params(**GRIDS[kind])
    known = model.get_params()
    assert {name: known[name] for name in GRIDS[kind] if name != "codec"} == {
        name: value for name, value in GRIDS[kind].items() if name != "codec"
    }
    assert model.codec.word == GRIDS[kind]["codec"]
    automatic = kind().set_params(codec__images__filters=5).codec
    assert automatic == codecs.Auto(images=codecs.DCGAN(filters=5))
    with pytest.raises(ValueError, match="codec='cnn': expected one of 'auto', 'perceptron', 'dcgan'"):
        kind(codec="cnn").set_params(codec__filters=2)


def test_constructors_take_at_most_twenty_arguments():
    for kind in (*SIZES, codecs.Auto):
        assert len(inspect.signature(kind).parameters) <= 20, kind
