"""Checkpoints: when one is due, what of a run it holds, and its folder of JSON and safetensors, whole or absent."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from ..models import trees
from ..models.identity import Fingerprint, checksum
from ..sequences import atomic
from ..sequences.arguments import make_folder
from . import clock
from .descent import own_options

if TYPE_CHECKING:
    from .loop import Run

FORMAT = "timelike checkpoint"
VERSION = 1
_KEPT = 2  # if the disk damaged the newest, there is one before it
_STATE, _TENSORS = "state.json", "tensors.safetensors"
_OTHER = "it is from another training, so give another folder, or remove this one to start anew"


@dataclass
class Checkpoints:
    """Where the checkpoints of a training go, how often one is written, and from which it continues."""

    folder: Path
    steps: int | None
    seconds: float | None
    resume: Literal["auto"] | bool
    newest: tuple[int, int] | None = None
    """Step and epoch of the newest checkpoint."""
    time: float = 0.0

    def restore(self, run: Run, seed_given: bool) -> None:
        """Bring the run to where its last checkpoint is."""
        self.time = clock.now()
        if run.processes.first:
            _make_folder(self.folder)
            if self.resume is False:
                _clear(self.folder)
        run.processes.wait()  # until the first has tidied up: the others would read what is about to go
        found = _latest(self.folder)
        if found is None and self.resume is True:
            raise FileNotFoundError(f"{self.folder} holds no checkpoint: resume='auto' starts anew where there is none")
        if found is not None:
            if seed_given and run.seed != found.state["seed"]:
                raise ValueError(
                    f"the checkpoint in {self.folder} was made with another random_state: give the same or None to "
                    "continue; to start anew, give another folder or remove this one"
                )
            run.seed = found.state["seed"]
            _take_up(run, found, self.folder)
            self.newest = run.step, run.epoch
        run.processes.wait()

    def current(self, run: Run) -> bool:
        """Whether the newest checkpoint is of this moment."""
        return self.newest == (run.step, run.epoch)

    def due(self, step: int) -> bool:
        """Whether it is time for another."""
        if self.steps is not None:
            return step % self.steps == 0
        return self.seconds is not None and clock.now() - self.time >= self.seconds

    def save(self, run: Run) -> None:
        """Write one, from the first process."""
        if run.processes.first:
            tensors = trees.under("module", run.module.state_dict()) | trees.under("history", run.history.tensors())
            _write(self.folder, run.step, run.epoch, _state(run), tensors | trees.under("best", run.best or {}))
        run.processes.wait()
        self.newest, self.time = (run.step, run.epoch), clock.now()


class Checkpoint(NamedTuple):
    """A state and the tensors it refers to."""

    state: dict[str, Any]
    tensors: dict[str, Tensor]


def _state(run: Run) -> dict[str, Any]:
    return {
        "step": run.step,
        "epoch": run.epoch,
        "position": run.position,
        "seed": run.seed,
        "stopped": run.history.stopped,
        "identity": run.identity(),
        "optimizers": {name: _optimizer_state(one, run.options[name]) for name, one in run.optimizers.items()},
        "objective": run.objective.state(),
    }


def _optimizer_state(optimizer: Optimizer, started: list[dict[str, Any]]) -> dict[str, Any]:
    """The optimiser's memory, and those of its options that it changed itself (some keep estimates there)."""
    changed = [
        {key: value for key, value in now.items() if key not in before or before[key] != value}
        for before, now in zip(started, own_options(optimizer), strict=True)
    ]
    return {"state": optimizer.state_dict()["state"], "changed": changed}


def _take_up(run: Run, checkpoint: Checkpoint, folder: Path) -> None:
    """Bring a run to where a checkpoint was."""
    state, tensors = checkpoint
    _refuse_other(state.get("identity", {}), run.identity(), folder)
    run.step, run.epoch, run.position = state["step"], state["epoch"], state["position"]
    _load_weights(run.module, trees.below("module", tensors), folder)
    for name, one in run.optimizers.items():
        if name not in state["optimizers"]:
            raise ValueError(f"the checkpoint in {folder} has no optimizer {name!r}: {_OTHER}")
        _load_optimizer(one, state["optimizers"][name], folder)
    run.history.restore(trees.below("history", tensors))
    best = {name: tensor.to(run.processes.device) for name, tensor in trees.below("best", tensors).items()}
    run.best = best or None
    run.objective.restore(state["objective"])


def _refuse_other(theirs: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    """Before anything is loaded; what only one of the two knows of itself says nothing."""
    for name, here in own.items():
        if str(there := theirs.get(name, here)) != str(here):
            letters = isinstance(here, Fingerprint)  # which tell nobody anything
            differ = f"other {name}" if letters else f"another {name}, {there} there and {here} here"
            raise ValueError(f"the checkpoint in {folder} has {differ}: {_OTHER}")


def _load_weights(module: nn.Module, weights: dict[str, Tensor], folder: Path) -> None:
    own = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if own != theirs:
        name = min(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
        raise ValueError(
            f"the checkpoint in {folder} does not fit the module: {name} has shape {theirs.get(name, 'none')} there "
            f"and {own.get(name, 'none')} here; {_OTHER}"
        )
    module.load_state_dict(weights)


def _load_optimizer(optimizer: Optimizer, saved: dict[str, Any], folder: Path) -> None:
    fresh = optimizer.state_dict()
    if len(fresh["param_groups"]) != len(saved["changed"]):
        raise ValueError(f"the checkpoint in {folder} has {len(saved['changed'])} parameter groups: {_OTHER}")
    groups = [group | changed for group, changed in zip(fresh["param_groups"], saved["changed"], strict=True)]
    optimizer.load_state_dict({"state": saved["state"], "param_groups": groups})


def _make_folder(folder: Path) -> None:
    """Make the folder for checkpoints, and clear away what a killed run left half-written."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint={str(folder)!r} is a file: expected a folder, which need not exist yet")
    make_folder(folder, "checkpoint")
    atomic.clear_unfinished(folder)


def _write(folder: Path, step: int, epoch: int, state: Any, tensors: dict[str, Tensor]) -> None:
    """Add the checkpoint of one moment, and remove those before the last two."""
    skeleton, more = trees.flatten(state, "state")
    content = {"format": FORMAT, "version": VERSION, "state": skeleton}
    with atomic.appearing(folder / f"step-{step:09d}-epoch-{epoch:06d}") as temporary:
        save_file(_separate(tensors | more), temporary / _TENSORS)
        content["checksum"] = checksum(temporary / _TENSORS)  # safetensors has none, and a flipped bit is a weight
        (temporary / _STATE).write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    # only when the new one is on the disk
    for old in _written(folder)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _separate(tensors: dict[str, Any]) -> dict[str, Tensor]:
    """Copies on the CPU, none sharing memory with another, as safetensors wants them."""
    given = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
    return {name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in given.items()}


def _latest(folder: Path) -> Checkpoint | None:
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


def _clear(folder: Path) -> None:
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
