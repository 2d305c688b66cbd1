"""Model folders: `config.json` describes the model, `model.safetensors` has the fitted arrays. They contain no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..core import files, parameters
from ..sequences.io.formats.special_files import special_file_kind
from . import registry, trees
from .base import Model
from .packer import Packer, Unpacker

FORMAT = "timelike model"
FORMAT_VERSION = 4
CONFIG, TENSORS = "config.json", "model.safetensors"
JOB = "job.toml"  # how `timelike learn` made the model: a save that replaces the model removes it
_CONFIG_KEYS = ("method", "parameters", "learned", "called", "__kind__", "steps", "verbose")


class SavedModel(NamedTuple):
    """The content of a model folder, before it is restored: the name of the method, and JSON for the rest."""

    method: str
    config: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]
    library_version: str


def save_model(model: Any, folder: str | Path) -> None:
    """Write a fitted model, or a scikit-learn pipeline of models of this library, to a folder.

    An existing model is replaced; other files are not. Writing is atomic.

    >>> import tempfile
    >>> import timelike as tl
    >>> from sklearn.pipeline import make_pipeline
    >>> X = [[0, 0, 1], [0, 1, 1, 1], [5, 5, 4]]
    >>> pipeline = make_pipeline(tl.neighbors.ElasticKernel("dtw"), tl.Neighbors("euclidean"))
    >>> pipeline = pipeline.fit(X, ["low", "low", "high"])
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> tl.save_model(pipeline, folder)
    >>> tl.load_model(folder).predict([[5, 4]])
    array(['high'], dtype='<U4')
    """
    path = parameters.check_folder(folder, "folder")
    if not isinstance(model, Model | Pipeline) and not registry.is_saveable(type(model)):
        raise _no_model_error(model)
    _require_fitted(model)
    packer = Packer()
    words = packer.to_json(model, "model")
    write_model(path, words, packer.arrays)


def _require_fitted(model: Any) -> None:
    """An error for a model, or a step of a pipeline, that is not fitted; its parameters need not be fitted."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            _require_fitted(step.estimator if isinstance(step, FrozenEstimator) else step)
    elif isinstance(model, Model):
        model._require_fitted()


def _no_model_error(value: Any) -> TypeError:
    inside = {"best_estimator_": "its best_estimator_", "estimator": "the estimator inside it"}
    instead = next((f"save {words}, or " for name, words in inside.items() if hasattr(value, name)), "")
    return TypeError(
        f"model is a {type(value).__name__}: {instead}give a fitted model of timelike, a value such as DTW(), or a "
        "scikit-learn pipeline of these"
    )


def write_model(path: Path, words: Mapping[str, Any], arrays: trees.Arrays) -> None:
    """Write the output of a `Packer`; an existing model is replaced, other files are not."""
    refuse_to_replace(path)
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "library_version": version("timelike")}
    config = head | dict(words) | {"tensors": sorted(arrays)}
    with files.atomic_folder(path) as temporary:
        save_file({name: _to_little_endian(array) for name, array in arrays.items()}, temporary / TENSORS)
        config["tensors_checksum"] = files.file_checksum(temporary / TENSORS)
        config["checksum"] = files.json_checksum(config)  # of all the rest, that of the tensors included
        text = json.dumps(config, indent=1, ensure_ascii=False, allow_nan=False)
        if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):  # half of a letter
            text = json.dumps(config, indent=1, allow_nan=False)
        (temporary / CONFIG).write_text(text + "\n", encoding="utf-8")


def _to_little_endian(array: Any) -> np.ndarray[Any, Any]:
    """In the order of bytes that safetensors takes every array to have."""
    contiguous = np.asarray(array, order="C")  # ascontiguousarray would make a row of a single number
    return contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)


def read_model(folder: str | Path) -> SavedModel:
    """The content of a folder, if `save` wrote it."""
    path = parameters.check_folder(folder, "folder")
    config = _read_config(path)
    _refuse_other_format(config, path / CONFIG)
    _refuse_damaged(config, path)
    try:
        arrays = load_file(path / TENSORS)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path / TENSORS} cannot be read ({error}): the model is damaged, save it again") from error
    _refuse_incomplete(config, path / CONFIG)
    odd = set(arrays) ^ set(map(str, config["tensors"]))
    if odd:
        raise ValueError(f"{path / TENSORS} does not belong to {CONFIG}: only one of them has {min(odd)!r}")
    words = {name: config[name] for name in _CONFIG_KEYS if name in config}
    return SavedModel(config.get("method", "Pipeline"), words, arrays, config["library_version"])


def _refuse_damaged(config: dict[str, Any], path: Path) -> None:
    """Raise an error if a checksum does not match: this finds damage, but does not protect against tampering."""
    rest = {name: value for name, value in config.items() if name != "checksum"}
    for name in ("checksum", "tensors_checksum"):
        if name not in config:
            raise ValueError(f"{path / CONFIG} has no {name!r}: it is incomplete, save the model again")
    try:
        checksums = {CONFIG: files.json_checksum(rest), TENSORS: files.file_checksum(path / TENSORS)}
    except OSError as error:
        raise ValueError(f"{path / TENSORS} cannot be read ({error}): the model is damaged, save it again") from error
    for file, written in ((CONFIG, config["checksum"]), (TENSORS, config["tensors_checksum"])):
        if checksums[file] != written:
            raise ValueError(f"{path / file} is not what save() wrote (its checksum is another): save the model again")


def load_model(folder: str | Path) -> Any:
    """Load a model that `model.save(folder)` wrote.

    The class is looked up by name among the public names of the library; no code in the folder is run.

    >>> import tempfile
    >>> import timelike as tl
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> tl.Neighbors(tl.DTW(window=0.1)).fit([[0, 1], [5, 5]], ["low", "high"]).save(folder)
    >>> tl.load_model(folder).predict([[0, 0]])
    array(['low'], dtype='<U4')
    """
    saved = read_model(folder)
    try:
        model = Unpacker(saved.arrays).value(saved.config)
        if isinstance(model, Model) and not model.__sklearn_is_fitted__():
            raise ValueError("nothing that it learned is there")
        return model
    except (ImportError, MemoryError):
        raise  # of which no folder is guilty
    except Exception as error:  # constructors are given words that anybody may have edited
        raise ValueError(f"{Path(folder) / CONFIG} and {TENSORS} make no {saved.method}: {error}") from error


def refuse_to_replace(path: Path) -> None:
    """Raise an error if no model can be saved there: only a model is replaced, and only if nothing else is inside."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(
            f"{path.parent} is {special_file_kind(path.parent) or 'a file'}, so there can be no {path}: save elsewhere"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first, or save elsewhere")
    if path.is_symlink():
        raise FileExistsError(f"{path} is a link, which a save does not replace: save to {path.resolve()} itself")
    if path.exists() and not path.is_dir():
        raise FileExistsError(
            f"{path} is {special_file_kind(path) or 'a file'}: expected the name of a folder for the model"
        )
    if not path.exists():
        return
    others = sorted(entry.name for entry in path.iterdir() if entry.name not in (CONFIG, TENSORS, JOB))
    if (path / TENSORS).exists() and not (path / CONFIG).exists():
        others.append(f"{TENSORS} without {CONFIG}")
    if others:
        raise FileExistsError(f"{path} holds {', '.join(others[:3])}, which is no part of a model: save elsewhere")
    if (path / CONFIG).exists():
        _read_config(path)


def _read_config(path: Path) -> dict[str, Any]:
    file = path / CONFIG
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist: expected a folder made by save(){_backup_hint(path)}")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} cannot be read ({error}): expected the JSON that save() writes") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ValueError(f"{file} is no model of timelike: expected one with the format {FORMAT!r}")
    return config


def _backup_hint(path: Path) -> str:
    before = files.backup_path(path)
    return f"; a save was cut off, and the model before it is in {before}" if before.is_dir() else ""


def _refuse_other_format(config: dict[str, Any], file: Path) -> None:
    """Raise an error for another format version, which names the version that wrote the folder."""
    format_version = config.get("format_version")
    if type(format_version) is not int:
        raise ValueError(f"{file} has format_version {format_version!r}: expected the whole number {FORMAT_VERSION}")
    if format_version != FORMAT_VERSION:
        by = config.get("library_version", "another version")
        raise ValueError(
            f"{file} has format {format_version}, written by timelike {by}; this is timelike {version('timelike')} and "
            f"reads format {FORMAT_VERSION} alone: load it with the version that wrote it, or fit and save the model "
            "again"
        )


def _refuse_incomplete(config: dict[str, Any], file: Path) -> None:
    """Raise an error if an entry that every model has is absent, or of another kind."""
    needed: dict[str, type] = {"library_version": str, "tensors": list}
    needed |= {"steps": list} if config.get("__kind__") == "pipeline" else {"method": str, "parameters": dict}
    for name, kind in needed.items():
        if name not in config:
            raise ValueError(f"{file} has no {name!r}: it is incomplete, save the model again")
        if not isinstance(config[name], kind):
            raise ValueError(f"{file}: {name} is {config[name]!r:.60}, which save() never writes; save the model again")
