"""Every number of every preset, beside the value that the paper or its authors' program has, typed from these alone.

A preset is listed by source: where a value stands in the paper ("B.3.2"), what only the authors' program says
("authors"), and what is ours to say ("ours"): a switch that turns off what the paper does not have, or a value that it
leaves open. Values that a preset takes over from the defaults are listed too. A number that is not here fails.
"""

import dataclasses
import math

import pytest

import timelike as tl
from timelike.models import Model
from timelike.train import History, LinearDecay, Milestones, Trained
from timelike.train.schedules import Schedule

pytestmark = pytest.mark.learn  # every preset is of a network

_OFF = {"initialization": "thesis", "standardize": False}
_SRVP = {
    "B.3.1": {"n_content": 256, "n_code": 128, "hidden": 256, "dynamics_hidden": 512, "output": "sigmoid"},
    "B.3.2": {"learning_rate": 3e-4, "betas": (0.9, 0.999), "motion_penalty": 1},
    "4.2": {"motion": "residual"},
    "authors": {"filters": 64, "variant": "srvp"},
    "ours": {**_OFF, "shortcut": False, "weight_decay": 0.0, "delays": False, "reencode": False},
    "ours too": {"autoencoding_weight": 0.0, "invariance_weight": 0.0, "gradient_clip": math.inf},
}
_SRVP_DIGITS = {
    "B.2": {"conditioning": 5, "chunk": 15},
    "B.3.1 digits": {
        "codec": "dcgan",
        "n_content_frames": 5,
        "n_state": 20,
        "n_random": 20,
        "gain": 1.41,
        "substeps": 1,
    },
    "B.3.2 digits": {"batch_size": 128, "beta": 2, "observation_std": 1},
}
_VIDEO = {"codec": "vgg", "skips": True, "n_state": 50, "n_random": 50, "substeps": 2}
_SEPARATION = {
    "C.5.2": {"solver": "residual", "tied": False, "filters": 64},
    "C.5.3": {"prediction_weight": 45},
    "ours": {**_OFF, "reencode": False, "validation": 0, "jitter": 0, "weight_decay": 0, "n_invariance_intervals": 1},
}
_WAVES = {
    "C.5.2": {"solver": "residual", "tied": False, "combine": "multiply", "codec": "perceptron", "output": "sigmoid"},
    "C.5.2 sizes": {"n_content": 32, "n_state": 32, "blocks": 3, "dynamics_hidden": 512, "gain": 0.71, "layers": 2},
    "C.5.3": {
        "learning_rate": 4e-4,
        "betas": (0.9, 0.99),
        "prediction_weight": 45,
        "autoencoding_weight": 1,
        "invariance_weight": 45,
    },
    "C.5.3 too": {"state_penalty": 1e-3, "batch_size": 128, "schedule": "constant"},
    "C.4.1": {"conditioning": 5, "chunk": 25},
    "authors": {"max_steps": 18_750},  # of 250 epochs
}
_SST = {
    "C.4": {"conditioning": 4, "chunk": 10},
    "C.5.2 of both": {"codec": "vgg", "skips": True, "output": "linear"},
    "C.5.3 of both": {"learning_rate": 4e-4, "betas": (0.9, 0.99), "batch_size": 100, "schedule": "constant"},
    "C.5.4": {"offset": True},
}
_FRAMES = {
    "4.1": {"hidden": 1024, "learning_rate": 1e-4, "weight_decay": 1e-4, "batch_size": 64, "max_epochs": 100},
    "4.1 too": {"optimizer": "adam", "schedule": "constant"},
    "3.2": {"loss": "triplet", "augment": True},
    "ours": {
        "front": None,
        "perturb": False,
        "max_frames": None,
        "n_outputs": None,  # as many as the frames have
        "n_per_class": None,  # batches as they come
        "gradient_clip": math.inf,
        "validation": 0.2,
    },
}
_RECURRENT = {
    "4.1": {"hidden": 20, "learning_rate": 1e-3, "weight_decay": 1e-4, "n_per_class": 6, "loss": "structural"},
    "4.1 too": {"schedule": "plateau"},  # halved after 10 epochs without progress
    "ours": {
        "front": None,
        "perturb": False,
        "max_frames": None,
        "optimizer": "adam",
        "max_epochs": 60,
        "patience": 20,
        "validation": 0.2,
    },
}
_TLOSS = {
    "A.1.3": {"learning_rate": 1e-3, "batch_size": 10},
    "3.3": {"loss": "t_loss"},
    "ours": {"schedule": "constant", "validation": 0, "geometry": "euclidean", "vectors": "raw"},
}

PAPERS = {
    # Monteiro et al., 2021; what the paper leaves open is that of the authors' program
    ("Prototypes", "paper"): {
        "3": {"similarity_fn": "learned", "averaging": "moving", "momentum": 0.9, "auxiliary": "plain"},
        "authors": {
            "learning_rate": 1e-4,
            "weight_decay": 5e-4,
            "batch_size": 64,
            "max_epochs": 500,
            "schedule": "milestones",  # × 0.1 at epoch 200
            "optimizer": "adam",
            "label_smoothing": 0.2,
            "soft_pairs": True,
            "n_per_class": 5,
            "hidden": 512,
            "dropout": 0.25,
            "symmetrize": False,
        },
        "ours": {"extra_encoders": [], "perturb": False, "n_prototypes": 1},
    },
    # "Sequence metric learning as synchronization of recurrent neural networks", 2021
    ("SiameseGRU", "paper"): {
        **_RECURRENT,
        "eq. 5": {"readout": "last", "n_outputs": None, "normalize": False, "cell": "gru"},
    },
    ("CoupledGRU", "paper"): {
        **_RECURRENT,
        "4.1 coupling": {"coupling_penalty": 0.01, "penalty_term": "norm", "coupling_bias": 0},
        "eq. 5": {"sync": "last"},
    },
    # Su and Wen, 2022
    ("AlignedFrames", "paper"): _FRAMES,
    ("TAP", "paper"): {**_FRAMES, "3.1": {"n_kernels": 30, "variant": "cnn", "symmetrize": False}},
    # Franceschi, 2022, chapter 3: the appendix swaps 160 and 320
    ("CausalEncoder", "thesis"): {
        **_TLOSS,
        "A.1.3 network": {
            "channels": 40,
            "depth": 10,
            "kernel_size": 3,
            "reduced_size": 160,
            "n_features": 320,
            "n_negatives": 10,
        },
    },
    ("RecurrentEncoder", "thesis"): {**_TLOSS, "A.1.3 K": {"n_negatives": 10}},
    ("FrameEncoder", "thesis"): {**_TLOSS, "A.1.3 K": {"n_negatives": 5}},
    # chapter 4
    ("SRVP", "stochastic-digits"): {
        **_SRVP,
        **_SRVP_DIGITS,
        "B.3.2 steps": {"max_steps": 1_000_000 + 100_000, "schedule": LinearDecay(share=1 / 11)},
    },
    ("SRVP", "digits"): {
        **_SRVP,
        **_SRVP_DIGITS,
        "B.3.2 steps": {"max_steps": 800_000 + 100_000, "schedule": LinearDecay(share=1 / 9)},
    },
    ("SRVP", "kth"): {
        **_SRVP,
        "B.2.3": {"conditioning": 10, "chunk": 20},
        "B.3.1 KTH": {**_VIDEO, "n_content_frames": 3, "gain": 1.2},
        "B.3.2 KTH": {"batch_size": 100, "observation_std": (4e-2) ** 0.5, "beta": 1, "max_steps": 150_000 + 50_000},
        "B.3.2 fall": {"schedule": LinearDecay(share=1 / 4)},
    },
    ("SRVP", "human"): {
        **_SRVP,
        "B.2.4": {"conditioning": 8, "chunk": 16},
        "B.3.1 Human3.6M": {**_VIDEO, "n_content_frames": 3, "gain": 1.2},
        "B.3.2 Human3.6M": {
            "batch_size": 100,
            "observation_std": (4e-2) ** 0.5,
            "beta": 1,
            "max_steps": 325_000 + 25_000,
        },
        "B.3.2 fall": {"schedule": LinearDecay(share=1 / 14)},
    },
    ("SRVP", "bair"): {
        **_SRVP,
        "B.2.5": {"conditioning": 2, "chunk": 12},
        "B.3.1 BAIR": {**_VIDEO, "n_content_frames": 2, "gain": 1.41},
        "B.3.2 BAIR": {
            "batch_size": 192,
            "observation_std": (1 / 2) ** 0.5,
            "beta": 1,
            "max_steps": 1_000_000 + 500_000,
        },
        "B.3.2 fall": {"schedule": LinearDecay(share=1 / 3)},
    },
    # chapter 5
    ("Separation", "waves-100"): {
        **_WAVES,
        "C.5.2 of 100": {"hidden": 2400, "decoder_hidden": 150},
        "ours": {**_SEPARATION["ours"], "shortcut": False},
    },
    ("Separation", "waves"): {
        **_WAVES,
        "C.5.2 of images": {"hidden": 1200, "decoder_layers": 3},
        "ours": {**_SEPARATION["ours"], "shortcut": False},
    },
    ("Separation", "sst"): {
        **_SEPARATION,
        **_SST,
        "C.5.2 maps": {"maps": True, "n_content": 196, "n_state": 64, "blocks": 2, "dynamics_hidden": 128, "gain": 0.2},
        "C.5.3 maps": {"autoencoding_weight": 0.1, "invariance_weight": 100, "state_penalty": 5e-6},
    },
    ("Separation", "sst-linear"): {
        **_SEPARATION,
        **_SST,
        "authors": {"variant": "separation"},
        "C.5.2 linear": {"n_content": 256, "n_state": 256, "blocks": 3, "dynamics_hidden": 1024, "gain": 0.71},
        "C.5.3 linear": {"autoencoding_weight": 10, "invariance_weight": 45, "state_penalty": 1e-2},
    },
    ("Separation", "digits"): {
        **_SEPARATION,
        "C.4": {"conditioning": 5, "chunk": 15},
        "authors": {"variant": "separation"},
        "C.5.2 digits": {"codec": "dcgan", "n_content": 128, "n_state": 20, "blocks": 1, "output": "sigmoid"},
        "C.5.2 dynamics": {"dynamics_hidden": 512, "gain": 1.41},
        "C.5.3 digits": {"learning_rate": 4e-4, "betas": (0.5, 0.99), "batch_size": 128, "max_steps": 1_250_000},
        "C.5.3 losses": {"autoencoding_weight": 10, "invariance_weight": 45, "state_penalty": 1e-3},
        # divided by 2 at epochs 300, 400, 500, 600 and 700 of 800
        "C.5.3 falls": {"schedule": Milestones(milestones=(0.375, 0.5, 0.625, 0.75, 0.875), gamma=0.5)},
    },
    ("Separation", "chairs"): {
        **_SEPARATION,
        "C.4": {"conditioning": 5, "chunk": 15},
        "C.5.2 chairs": {"codec": "resnet", "n_content": 128, "n_state": 10, "blocks": 1, "output": "sigmoid"},
        "C.5.2 dynamics": {"dynamics_hidden": 512, "gain": 0.71},
        "C.5.3 chairs": {"learning_rate": 4e-4, "betas": (0.9, 0.99), "batch_size": 128, "schedule": "constant"},
        "C.5.3 losses": {"autoencoding_weight": 1, "invariance_weight": 1, "state_penalty": 1e-3},
        "ours, steps": {"max_steps": None},  # 120 epochs of data that are not here
    },
    ("Separation", "taxi"): {
        **_SEPARATION,
        "C.4": {"conditioning": 4, "chunk": 8},
        "authors": {"variant": "separation"},
        "C.5.2 taxi": {"codec": "vgg", "n_content": 128, "n_state": 20, "blocks": 1, "skips": False},
        "C.5.2 dynamics": {"dynamics_hidden": 512, "gain": 0.71},
        "C.5.3 taxi": {"learning_rate": 4e-5, "betas": (0.9, 0.99), "batch_size": 100},
        "C.5.3 losses": {"autoencoding_weight": 45, "invariance_weight": 1e-4, "state_penalty": 1e-3},
        # divided by 5 at epochs 250, 300, 350, 400 and 450 of 550
        "C.5.3 falls": {"schedule": Milestones(milestones=(5 / 11, 6 / 11, 7 / 11, 8 / 11, 9 / 11), gamma=0.2)},
        "ours, steps": {"max_steps": None, "output": "sigmoid"},  # 550 epochs; flows are scaled to [0, 1]
    },
}


def presets():
    """Those of every public model, by the names of the model and of the preset."""
    packages = (tl.encode, tl.metric, tl.prototypes, tl.verify, tl.forecast, tl.distributions)
    public = {name: getattr(package, name) for package in packages for name in dir(package)}
    kinds = [kind for kind in public.values() if isinstance(kind, type) and issubclass(kind, Model)]
    return {(kind.__name__, name): (kind, options) for kind in kinds for name, options in kind._presets.items()}


def listed(key):
    """The values by argument; none may stand under two sources."""
    values = {}
    for source, some in PAPERS[key].items():
        assert not values.keys() & some.keys(), (source, values.keys() & some.keys())
        values |= some
    return values


def flat_options(options, all_fields=False):
    """Options, and the fields of values among them: those that differ from the defaults, or all.

    A codec also goes by its word, and the units of dynamics by a name of their own: others have a field `hidden` too.
    """
    flat = {}
    for name, value in options.items():
        if not dataclasses.is_dataclass(value) or isinstance(value, Schedule):
            flat[name] = value
            continue
        usual = type(value)()
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if hasattr(value, "word"):
            flat[name] = value.word
        named = {one: f"{name}_{one}" if (name, one) == ("dynamics", "hidden") else one for one in fields}
        flat |= {named[one]: field for one, field in fields.items() if all_fields or field != getattr(usual, one)}
    return flat


def test_every_preset_is_listed():
    assert set(PAPERS) == set(presets())


@pytest.mark.parametrize("key", PAPERS, ids="-".join)
def test_a_preset_has_the_papers_numbers_and_no_others(key):
    kind, options = presets()[key]
    expected, model = listed(key), kind.preset(key[1])
    assert not flat_options(options).keys() - expected.keys(), "numbers of a preset that no paper is named for"
    meant = {name: model._resolve_parameter(name, value) for name, value in model.get_params(deep=False).items()}
    found = flat_options(meant, all_fields=True)
    if isinstance(model, Trained):
        found |= {field.name: getattr(model.trainer_, field.name) for field in dataclasses.fields(tl.Trainer)}
    for name, value in expected.items():
        same = found[name] is value if value is None or isinstance(value, bool) else found[name] == pytest.approx(value)
        assert same, f"{name}: {found[name]!r} is not {value!r}"


def test_a_changed_or_unlisted_number_would_fail(monkeypatch):
    kind, options = presets()["SRVP", "kth"]
    codec, dynamics = options["codec"], options["dynamics"]
    for other in (
        {"observation_std": 0.04},
        {"dynamics": dataclasses.replace(dynamics, substeps=1)},
        {"codec": dataclasses.replace(codec, maps=True)},
    ):
        monkeypatch.setattr(kind, "_presets", {"kth": {**options, **other}})
        with pytest.raises(AssertionError):
            test_a_preset_has_the_papers_numbers_and_no_others(("SRVP", "kth"))


@pytest.mark.parametrize(
    ("name", "level", "falling"),
    [
        ("stochastic-digits", 1_000_000, 100_000),
        ("digits", 800_000, 100_000),
        ("kth", 150_000, 50_000),
        ("human", 325_000, 25_000),
        ("bair", 1_000_000, 500_000),
    ],
)
def test_srvp_has_the_full_rate_for_the_thesis_steps_and_then_falls_to_zero(name, level, falling):
    model = tl.SRVP.preset(name)
    for step in (0, level, level + falling // 5, level + falling // 2, level + falling):
        expected = 1 - max(0, step - level) / falling
        assert model.trainer.schedule.factor(step, model.max_steps, History()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "epochs", "steps", "falls", "by"),
    [("digits", 800, 200_000 / 128, (300, 400, 500, 600, 700), 2), ("taxi", 550, 7, (250, 300, 350, 400, 450), 5)],
)
def test_the_rate_of_separation_is_divided_at_the_thesis_epochs(name, epochs, steps, falls, by):
    """TaxiBJ is not here, so how many steps its epochs have does not matter."""
    schedule = tl.Separation.preset(name).trainer.schedule
    for epoch in (0, *falls, epochs - 1):
        begin, last = round(epoch * steps), round((epoch + 1) * steps) - 1
        expected = by ** -sum(epoch >= fall for fall in falls)
        for step in (begin, last):
            assert schedule.factor(step, round(epochs * steps), History()) == pytest.approx(expected)
        if epoch in falls:
            assert schedule.factor(begin - 1, round(epochs * steps), History()) == pytest.approx(expected * by)
