"""Migrations: the configuration of each older format made into one of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Words = dict[str, Any]

_HEADS = {"svm": "SupportVectors", "1nn": "Nearest", "logistic": "Logistic", "ridge": "Linear"}


def _from_0(config: Words, arrays: dict[str, Any]) -> Words:
    """Before the first release: other names, and tensors in any order."""
    return {
        "format": "timelike model",
        "format_version": 1,
        "library_version": config.get("version", "0"),
        "method": config["method"],
        "parameters": config["params"],
        "tensors": config["tensors"],
        "extra": config.get("extra"),
    }


def _from_1(config: Words, arrays: dict[str, Any]) -> Words:
    """Every method had its own `extra`; now what was learned is one tree of attributes."""
    config = dict(config)
    extra, kept = config.pop("extra"), list(map(str, config["tensors"]))
    if kept:
        config |= _model(config, extra, kept, arrays, "")
    return config | {"format_version": 2}


def _from_2(config: Words, arrays: dict[str, Any]) -> Words:
    """Nothing moved: what options that came later were before, the classes know (`_before`)."""
    return config | {"format_version": 3}


def _model(words: Words, extra: Any, kept: Iterable[str], arrays: dict[str, Any], prefix: str) -> Words:
    """The method with what it learned, whose tensors begin with the prefix."""
    parameters = dict(words["parameters"])
    if isinstance(extra, list):
        learned = _combined(extra, kept, arrays, prefix)
    elif isinstance(extra, dict) and "encoder" in extra:
        learned = _embedded(parameters, extra, kept, arrays, prefix)
    elif f"{prefix}mean" in arrays:
        learned = _network(parameters, extra, kept, arrays, prefix)
    else:
        learned = None  # what learns nothing
    return {"method": words["method"], "parameters": parameters, **({} if learned is None else {"learned": learned})}


def _network(parameters: Words, extra: Any, kept: Iterable[str], arrays: dict[str, Any], prefix: str) -> Words:
    start = f"{prefix}network."
    weights = {name.removeprefix(start): {"__tensor__": name} for name in kept if name.startswith(start)}
    mean, scale = arrays[f"{prefix}mean"], arrays[f"{prefix}scale"]
    if not parameters.get("standardize", True):  # encoders noted what they did not use
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    moments = {"mean": _listed(mean), "scale": _listed(scale)}
    learned = {
        "frame_": {"__tuple__": list(mean.shape)},
        "moments_": {"__kind__": "record", "record": "Moments", "fields": moments},
        "network_": {"__items__": [[name, words] for name, words in weights.items()]},
    }
    if isinstance(extra, dict) and extra.get("classes") is not None:
        learned["classes_"] = _listed(np.array(extra["classes"]))
    return learned


def _combined(extra: list[Any], kept: Iterable[str], arrays: dict[str, Any], prefix: str) -> Words:
    parts = [_part(one, kept, arrays, f"{prefix}encoder{i}.") for i, one in enumerate(extra)]
    return {"frame_": parts[0]["learned"]["frame_"], "encoders_": parts}


def _embedded(parameters: Words, extra: Words, kept: Iterable[str], arrays: dict[str, Any], prefix: str) -> Words:
    encoder = _part(extra["encoder"], kept, arrays, f"{prefix}encoder.")
    start = f"{prefix}head."
    fields = {name.removeprefix(start): {"__tensor__": name} for name in kept if name.startswith(start)}
    learned = {
        "frame_": encoder["learned"]["frame_"],
        "encoder_": encoder,
        "head_": {"__kind__": "record", "record": _HEADS[parameters["head"]], "fields": fields},
    }
    if not parameters["fit_encoder"]:  # the parameter is what was fitted
        parameters["encoder"] = encoder | {"called": "encoder"}
        learned["encoder_"] = {"__kind__": "same", "as": "encoder"}
    if "classes" in extra:
        classes = np.array(extra["classes"], extra.get("dtype"))
        learned["classes_"] = _listed(classes)
    return learned


def _part(one: Words, kept: Iterable[str], arrays: dict[str, Any], prefix: str) -> Words:
    return _model(one["model"]["model"], one["extra"], kept, arrays, prefix)


def _listed(array: Any) -> Words:
    return {"__array__": array.tolist(), "dtype": array.dtype.str}


MIGRATIONS: dict[int, Callable[[Words, dict[str, Any]], Words]] = {0: _from_0, 1: _from_1, 2: _from_2}
