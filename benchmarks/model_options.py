"""Models from flat options: stored rows name settings such as `batch_size` and `filters` without the value they are in.

The settings are part of what a row is known by, so they stay as they are, and are put into the values of the library
here alone.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import timelike as tl

_CODEC_FIELDS = (
    "hidden",
    "layers",
    "decoder_hidden",
    "decoder_layers",
    "filters",
    "n_sprites",
    "skips",
    "maps",
    "shortcut",
    "initialization",
    "variant",
)
_CODECS = ("codec", "codec__vectors", "codec__images")  # "auto" has one for vectors and one for images
_SIMILARITY = {name: [f"similarity_fn__{name}"] for name in ("hidden", "dropout", "symmetrize")}
_SUPERVISION = {
    name: [f"supervision__{name}"]
    for name in ("augment", "consistency", "dual", "joint", "n_way", "k_shot", "n_query", "n_episodes")
}
_FORECASTER = {name: [f"{codec}__{name}" for codec in _CODECS] for name in _CODEC_FIELDS}
_CROP_LOSS = {name: [f"loss__{name}"] for name in ("temperature", "min_crop", "augment", "shared_negatives")}
_PLACES: dict[str, dict[str, list[str]]] = {
    "CausalEncoder": _CROP_LOSS,
    "RecurrentEncoder": _CROP_LOSS,
    "FrameEncoder": _CROP_LOSS,
    "Prototypes": _SIMILARITY,
    "AlignedFrames": _SUPERVISION,
    "TAP": _SUPERVISION | {name: [f"alignment__{name}"] for name in ("n_kernels", "last_relu", "symmetrize")},
    "RVSML": {"max_iterations": ["max_steps"]},
    "Separation": _FORECASTER
    | {name: [f"dynamics__{name}"] for name in ("solver", "blocks", "tied", "gain")}
    | {"dynamics_hidden": ["dynamics__hidden"]}
    | {
        name: [f"loss__{name}"]
        for name in (
            "prediction_weight",
            "autoencoding_weight",
            "invariance_weight",
            "state_penalty",
            "n_invariance_intervals",
            "jitter",
        )
    },
    "SRVP": _FORECASTER
    | {name: [*_FORECASTER[name], f"inference__{name}"] for name in ("hidden", "shortcut")}
    | {name: [f"inference__{name}"] for name in ("n_code", "n_content_frames")}
    | {name: [f"dynamics__{name}"] for name in ("motion", "gain", "substeps")}
    | {"motion_hidden": ["dynamics__hidden"]}
    | {
        name: [f"experimental__{name}"]
        for name in ("delays", "delay_penalty", "drift", "invariance_weight", "autoencoding_weight")
    },
}
"""Where each flat option of a class stands now; a class that is not here has only those of its trainer."""

_TRAINER = {field.name: [f"trainer__{field.name}"] for field in fields(tl.Trainer)}


def build_model(kind: str, /, **options: Any) -> Any:
    """A model of the class of this name, with flat options.

    An option that the values of a model have no field for, such as the `hidden` of a codec of convolutions, is left
    out.

    >>> build_model("SRVP", codec="dcgan", filters=8, hidden=32, batch_size=4)
    SRVP(codec=DCGAN(filters=8, skips=False, maps=False, initialization='torch', variant='default'),
         inference=Inference(n_code=64, hidden=32, shortcut=True, n_content_frames=5),
         trainer=Trainer(batch_size=4))
    """
    return change_options(find_class(kind)(), **options)


def build_preset(kind: str, preset: str, /, **options: Any) -> Any:
    """The same with the options that go by a name, of which flat options replace some.

    >>> build_preset("TAP", "paper", n_kernels=4, gradient_clip=None, max_epochs=2).trainer.max_epochs
    2
    """
    return change_options(find_class(kind).preset(preset), **options)


def change_options(model: Any, /, **options: Any) -> Any:
    """The model itself, with other flat options."""
    if "gradient_clip" in options and options["gradient_clip"] is None:
        options["gradient_clip"] = math.inf  # None, which never shortened, is the method's own choice now
    places = _TRAINER | _PLACES.get(type(model).__name__, {})
    model.set_params(**{name: value for name, value in options.items() if name not in places})
    known = model.get_params()  # after the words, which say what fields there are
    paths = {path: value for name, value in options.items() if name in places for path in places[name]}
    return model.set_params(**{path: value for path, value in paths.items() if path in known})


def find_class(kind: str) -> Any:
    """The class of a model, wherever it stands."""
    return next(getattr(part, kind) for part in (tl, tl.metric, tl.encode) if hasattr(part, kind))
