"""Separation and SRVP with options by the names of single fields, as tests vary them: put into the values they are of."""

from dataclasses import fields

import timelike as tl
from timelike import forecast
from timelike.forecast import codecs


def separation(*, preset=None, **options):
    """A `Separation`: `dynamics_hidden` is of its dynamics, `hidden` of its perceptrons; with `filters`, images of any
    size have convolutions.
    """
    given = _group(options, {"trainer": tl.Trainer, "loss": forecast.SeparationLoss})
    given |= _take(options, "dynamics", forecast.StateDynamics, {"dynamics_hidden": "hidden"})
    return _make(tl.Separation, preset, given | _codec(options, "auto") | options)


def srvp(*, preset=None, **options):
    """An `SRVP`: `motion_hidden` is of its dynamics, `hidden` and `shortcut` of its perceptrons and of its inference."""
    given = _group(options, {"trainer": tl.Trainer, "experimental": forecast.Experimental})
    given |= _take(options, "dynamics", forecast.RandomDynamics, {"motion_hidden": "hidden"})
    given |= _take(options, "inference", forecast.Inference, keep=("hidden", "shortcut"))
    return _make(tl.SRVP, preset, given | _codec(options, "auto") | options)


def separation_network(frame, **options):
    """A `SeparationNetwork`."""
    given = _take(options, "dynamics", forecast.StateDynamics, {"dynamics_hidden": "hidden"})
    return forecast.SeparationNetwork(frame, **given, **_codec(options, "perceptron", filters=64), **options)


def srvp_network(frame, **options):
    """An `SRVPNetwork`, of the thesis's sizes unless given."""
    thesis = {"motion_hidden": 512, "gain": 1.41, "n_code": 128, "hidden": 256}
    options = thesis | options
    given = _group(options, {"experimental": forecast.Experimental})
    given |= _take(options, "dynamics", forecast.RandomDynamics, {"motion_hidden": "hidden"})
    given |= _take(options, "inference", forecast.Inference, keep=("hidden", "shortcut"))
    return forecast.SRVPNetwork(frame, **given, **_codec(options, "perceptron", filters=64), **options)


def _make(kind, preset, options):
    return kind(**options) if preset is None else kind.preset(preset, **options)


def _group(options, kinds):
    return {name: value for argument, kind in kinds.items() for name, value in _take(options, argument, kind).items()}


def _take(options, argument, kind, renamed=None, keep=()):
    """The value of a class by its argument, of fields that are taken out of `options`; nothing where none is there."""
    renamed = renamed or {}
    names = {field.name: field.name for field in fields(kind) if field.name not in renamed.values()} | renamed
    given = {field: options[name] for name, field in names.items() if name in options}
    for name in [name for name in names if name in options and name not in keep]:
        del options[name]
    return {argument: kind(**given)} if given else {}


def _codec(options, default, **sizes):
    word, some = options.pop("codec", default), {}
    kinds = {kind.word: kind for kind in (codecs.MLP, codecs.DCGAN, codecs.VGG, codecs.ResNet, codecs.Sprites)}
    for kind in kinds.values():
        names = {field.name for field in fields(kind)}
        some[kind.word] = {name: value for name, value in (sizes | options).items() if name in names}
    for name in {name for given in some.values() for name in given} & options.keys():
        del options[name]
    if isinstance(word, str) and word in kinds and (some[word] or default != "auto"):
        return {"codec": kinds[word](**some[word])}
    if word == "auto" and (some["perceptron"] or some["dcgan"]):
        both = {"vectors": codecs.MLP(**some["perceptron"]), "images": codecs.DCGAN(**some["dcgan"])}
        return {"codec": codecs.Auto(**both, **({"max_pixels": 0} if "filters" in some["dcgan"] else {}))}
    return {"codec": word}
