"""Checkpoints: folders of JSON and safetensors that are whole or absent, the last two of them kept."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..models import atomic, trees
from ..models.identity import checksum

FORMAT = "timelike checkpoint"
VERSION = 1
_KEPT = 2  # if the disk damaged the newest, there is one before it
_STATE, _TENSORS = "state.json", "tensors.safetensors"


class Checkpoint(NamedTuple):
    """A state and the tensors it refers to."""

    state: dict[str, Any]
    tensors: dict[str, Tensor]


def prepare(folder: Path) -> None:
    """Make the folder for checkpoints, and clear away what a killed run left half-written."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint={str(folder)!r} is a file: expected a folder, which need not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    atomic.clear_unfinished(folder)


def write(folder: Path, step: int, epoch: int, state: Any, tensors: dict[str, Tensor]) -> None:
    """Add the checkpoint of one moment, and remove those before the last two."""
    skeleton, more = trees.flatten(state, "state")
    content = {"format": FORMAT, "version": VERSION, "state": skeleton}
    with atomic.appearing(folder / f"step-{step:09d}-epoch-{epoch:06d}") as temporary:
        save_file(_separate(tensors | more), temporary / _TENSORS)
        content["checksum"] = checksum(temporary / _TENSORS)
        (temporary / _STATE).write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    for old in _written(folder)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _separate(tensors: dict[str, Any]) -> dict[str, Tensor]:
    """Copies on the CPU, none sharing memory with another, as safetensors wants them."""
    given = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
    return {name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in given.items()}


def latest(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that can be read, or None where there is none."""
    found = _written(folder)
    for position, path in enumerate(reversed(found)):
        try:
            return _read(path)
        except ValueError as error:
            if position == len(found) - 1:
                raise
            warnings.warn(f"{error}: continuing from the checkpoint before it", stacklevel=4)
    return None


def clear(folder: Path) -> None:
    """Remove all checkpoints, and nothing else."""
    for path in _written(folder):
        shutil.rmtree(path)


def _written(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted(path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{9,}-epoch-\d{6,}", path.name))


def _read(path: Path) -> Checkpoint:
    try:
        content = json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path / _STATE} cannot be read ({error}); remove {path.name} to do without it") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path / _STATE} is no checkpoint of timelike: choose another folder")
    if content["version"] > VERSION:
        raise ValueError(
            f"{path / _STATE} has version {content['version']} and this timelike knows {VERSION}: use a newer timelike"
        )
    try:
        tensors = load_file(path / _TENSORS)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path / _TENSORS} cannot be read ({error}); remove {path.name} to do without it") from error
    if content.get("checksum", (found := checksum(path / _TENSORS))) != found:
        raise ValueError(f"{path / _TENSORS} is not what was written there; remove {path.name} to do without it")
    return Checkpoint(trees.unflatten(content["state"], tensors), tensors)
