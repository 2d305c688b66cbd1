"""Models as folders: `config.json` says what they are, `model.safetensors` what they learned; no code is in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..sequences import arguments
from . import atomic, registry, trees
from .identity import checksum
from .parameters import from_json, to_json

FORMAT = "timelike model"
FORMAT_VERSION = 1
CONFIG, TENSORS = "config.json", "model.safetensors"


class SavedModel(NamedTuple):
    """What a folder holds."""

    method: str
    parameters: dict[str, Any]
    tensors: dict[str, Tensor]
    extra: Any
    library_version: str


def save_model(
    folder: str | Path,
    *,
    method: str,
    parameters: Mapping[str, Any],
    tensors: Mapping[str, Any] | None = None,
    extra: Any = None,
) -> None:
    """Write a model; a model that is there is replaced, anything else is not.

    Parameters
    ----------
    folder : path
        It appears whole or not at all.
    method : str
        The name by which `load_model` finds the class: see `registry.METHODS`.
    parameters : dict
        Of the constructor: numbers, strings, None, lists, tuples and dicts of these, and methods of the library.
    tensors : dict of tensors or arrays, optional
        What was learned.
    extra : optional
        What else was learned and is no tensor: class names, shapes, settings.
    """
    path = arguments.folder(folder, "folder")
    _refuse_to_replace(path)
    registry.find(method)
    learned = {name: torch.as_tensor(tensor) for name, tensor in (tensors or {}).items()}
    rest, in_extra = trees.flatten(extra, "extra")
    if in_extra:
        raise TypeError(f"{min(in_extra)} is an array: expected it among the tensors of the model")
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": version("timelike"),
        "method": method,
        "parameters": to_json(dict(parameters)),
        "tensors": sorted(learned),
        "extra": rest,
    }
    with atomic.appearing(path) as temporary:
        save_file(trees.separate(learned), temporary / TENSORS)
        config["checksum"] = checksum(temporary / TENSORS)
        text = json.dumps(config, indent=1, ensure_ascii=False, allow_nan=False)
        (temporary / CONFIG).write_text(text + "\n", encoding="utf-8")


def read_model(folder: str | Path) -> SavedModel:
    """What a folder holds, whatever version wrote it."""
    path = arguments.folder(folder, "folder")
    config = _migrated(_read_config(path), path / CONFIG)
    try:
        tensors = load_file(path / TENSORS)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path / TENSORS} cannot be read ({error}): the model is damaged, save it again") from error
    if config.get("checksum", (found := checksum(path / TENSORS))) != found:
        raise ValueError(f"{path / TENSORS} is not what save() wrote (its checksum is another): save the model again")
    odd = set(tensors) ^ set(map(str, config["tensors"]))
    if odd:
        raise ValueError(f"{path / TENSORS} does not belong to {CONFIG}: only one of them has {min(odd)!r}")
    try:
        options, extra = from_json(config["parameters"]), trees.unflatten(config["extra"], {})
        return SavedModel(config["method"], options, tensors, extra, config["library_version"])
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path / CONFIG}: {error}") from error


def load_model(folder: str | Path) -> Any:
    """A model as it was saved: `model.save(folder)`, then `tl.load_model(folder)`.

    The class is found by its name among those of the library; nothing in the folder is run.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> save_model(folder, method="DTW", parameters={"window": 0.1})
    >>> load_model(folder)
    DTW(window=0.1)
    """
    saved = read_model(folder)
    try:
        kind = registry.find(saved.method)
        if hasattr(kind, "from_saved"):
            return kind.from_saved(saved)
        return kind(**saved.parameters)
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        raise ValueError(f"{Path(folder) / CONFIG} and {TENSORS} make no {saved.method}: {error}") from error


def _refuse_to_replace(path: Path) -> None:
    """Only a model may be replaced, and only if nothing else is in its folder."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(f"{path.parent} is a file, so there can be no {path}: save elsewhere")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first, or save elsewhere")
    if path.is_symlink():
        raise FileExistsError(f"{path} is a link, which a save does not replace: save to {path.resolve()} itself")
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file: expected the name of a folder for the model")
    if not path.exists():
        return
    others = sorted(entry.name for entry in path.iterdir() if entry.name not in (CONFIG, TENSORS))
    if (path / TENSORS).exists() and not (path / CONFIG).exists():
        others.append(f"{TENSORS} without {CONFIG}")
    if others:
        raise FileExistsError(f"{path} holds {', '.join(others[:3])}, which is no part of a model: save elsewhere")
    if (path / CONFIG).exists():
        _read_config(path)


def _read_config(path: Path) -> dict[str, Any]:
    file = path / CONFIG
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist: expected a folder made by save(){_hint(path)}")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} cannot be read ({error}): expected the JSON that save() writes") from error
    if not isinstance(config, dict) or not (config.get("format") == FORMAT or config.keys() >= {"method", "params"}):
        raise ValueError(f"{file} is no model of timelike: expected one with the format {FORMAT!r}")
    return config


def _hint(path: Path) -> str:
    before = atomic.previous(path)
    return f"; a save was cut off, and the model before it is in {before}" if before.is_dir() else ""


def _migrated(config: dict[str, Any], file: Path) -> dict[str, Any]:
    """The configuration as this version writes it."""
    found = config.get("format_version", 0)
    if not isinstance(found, int) or found < 0:
        raise ValueError(f"{file} has format_version {found!r}: expected a whole number")
    if found > FORMAT_VERSION:
        by = config.get("library_version", "a newer version")
        raise ValueError(
            f"{file} has format {found}, written by timelike {by}; this is timelike {version('timelike')} and reads up "
            f"to format {FORMAT_VERSION}: install a newer timelike"
        )
    try:
        for step in range(found, FORMAT_VERSION):
            config = MIGRATIONS[step](config)
        missing = {"method", "parameters", "tensors", "extra", "library_version"} - config.keys()
    except KeyError as error:
        missing = {str(error.args[0])}
    if missing:
        raise ValueError(f"{file} has no {min(missing)!r}: it is incomplete, save the model again")
    for name, kind in {"method": str, "parameters": dict, "tensors": list}.items():
        if not isinstance(config[name], kind):
            raise ValueError(f"{file}: {name} is {config[name]!r:.60}, which save() never writes; save the model again")
    return config


def _from_0(config: dict[str, Any]) -> dict[str, Any]:
    """Before the first release: other names, and tensors in any order."""
    return {
        "format": FORMAT,
        "format_version": 1,
        "library_version": config.get("version", "0"),
        "method": config["method"],
        "parameters": config["params"],
        "tensors": config["tensors"],
        "extra": config.get("extra"),
    }


# how a configuration of each older format becomes one of the next
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {0: _from_0}
