"""Checkpoints: when one is due, the state it holds, and its folder of JSON and safetensors, written atomically."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..core import files
from ..core.parameters import make_folder_for_option
from ..models import schema, trees
from ..models.fingerprints import Fingerprint
from . import clock
from .history import TRACK_SCHEMA
from .optimizer_state import OPTIMIZER_SCHEMA, load_optimizer, optimizer_state

if TYPE_CHECKING:
    from .loop import TrainingRun

FORMAT = "timelike checkpoint"
VERSION = 1
_N_KEPT = 2  # a fallback if the newest is damaged
_STATE, _TENSORS = "state.json", "tensors.safetensors"
_OTHER_TRAINING_HINT = "it belongs to another training, so give another folder, or remove this one to start anew"


@dataclass
class Checkpoints:
    """The folder of a training's checkpoints, how often one is written, and whether to resume from one."""

    folder: Path
    steps: int | None
    seconds: float | None
    resume: Literal["auto"] | bool
    newest: tuple[int, int] | None = None
    """Step and epoch of the newest checkpoint."""
    time: float = 0.0

    def restore(self, run: TrainingRun, seed_given: bool) -> None:
        """Restore the run from its last checkpoint."""
        self.time = clock.now()
        if run.processes.is_first:
            _make_folder(self.folder)
            if self.resume is False:
                _remove_checkpoints(self.folder)
        run.processes.barrier()  # the others must not read checkpoints that the first is removing
        checkpoint = _read_latest(self.folder)
        if checkpoint is None and self.resume is True:
            raise FileNotFoundError(f"{self.folder} holds no checkpoint: resume='auto' starts anew if there is none")
        if checkpoint is not None:
            if seed_given and run.seed != checkpoint.state["seed"]:
                raise ValueError(
                    f"the checkpoint in {self.folder} was made with another random_state: give the same or None to "
                    "resume; to start anew, give another folder or remove this one"
                )
            run.seed = checkpoint.state["seed"]
            _restore_run(run, checkpoint)
            self.newest = run.step, run.epoch
        run.processes.barrier()

    def is_current(self, run: TrainingRun) -> bool:
        """Whether the newest checkpoint is of the current step."""
        return self.newest == (run.step, run.epoch)

    def is_due(self, step: int) -> bool:
        """Whether the next checkpoint is due."""
        if self.steps is not None:
            return step % self.steps == 0
        return self.seconds is not None and clock.now() - self.time >= self.seconds

    def save(self, run: TrainingRun) -> None:
        """Write a checkpoint in the first process."""
        if run.processes.is_first:
            tensors = trees.add_prefix("module", run.module.state_dict()) | trees.add_prefix(
                "history", run.history.tensors()
            )
            _write_checkpoint(
                self.folder, run.step, run.epoch, _run_state(run), tensors | trees.add_prefix("best", run.best or {})
            )
        run.processes.barrier()
        self.newest, self.time = (run.step, run.epoch), clock.now()


class Checkpoint(NamedTuple):
    """A state, the tensors it refers to, and the folder of both."""

    path: Path
    state: dict[str, Any]
    tensors: dict[str, Tensor]


STATE_SCHEMA = schema.typed_dict(
    step=schema.integer(),
    epoch=schema.integer(),
    position=schema.integer(),
    seed=schema.integer(),
    stop_reason=schema.nullable(schema.string()),
    identity=schema.dict_of(schema.string(), schema.union(schema.string(), schema.integer(-schema.MAX_INTEGER))),
    optimizers=schema.dict_of(schema.string(), OPTIMIZER_SCHEMA),
    objective=schema.dict_of(schema.string(), schema.any_value()),
)
"""The schema of a state, declared as the fitted attributes of saved models are."""
TRACKS_SCHEMA = schema.dict_of(schema.string(), TRACK_SCHEMA, holds=("loss",))


def _run_state(run: TrainingRun) -> dict[str, Any]:
    return {
        "step": run.step,
        "epoch": run.epoch,
        "position": run.position,
        "seed": run.seed,
        "stop_reason": run.history.stop_reason,
        "identity": run.identity(),
        "optimizers": {name: optimizer_state(one, run.options[name]) for name, one in run.optimizers.items()},
        "objective": run.objective.state(),
    }


def _restore_run(run: TrainingRun, checkpoint: Checkpoint) -> None:
    """Restore a run from a checkpoint; everything is checked before the run changes."""
    path, state, tensors = checkpoint
    _refuse_other_training(state["identity"], run.identity(), path.parent)
    weights, best = trees.strip_prefix("module", tensors), trees.strip_prefix("best", tensors)
    for some in (weights, best) if best else (weights,):
        _check_weights(run.module, some, path)
    for name in run.optimizers:
        if name not in state["optimizers"]:
            raise ValueError(f"{path / _STATE} has no optimizer {name!r}: {_OTHER_TRAINING_HINT}")
    run.step, run.epoch, run.position = state["step"], state["epoch"], state["position"]
    run.module.load_state_dict(weights)
    run.history.restore(trees.strip_prefix("history", tensors))
    run.best = {name: tensor.to(run.processes.device) for name, tensor in best.items()} or None
    for name, one in run.optimizers.items():
        with _wrap_errors(path / _STATE, f"optimizers.{name}"):
            load_optimizer(one, state["optimizers"][name])
    with _wrap_errors(path / _STATE, "objective"):
        run.objective.restore(state["objective"])


@contextmanager
def _wrap_errors(file: Path, entry: str) -> Iterator[None]:
    """Turn any error inside into a ValueError that names the entry and the file."""
    try:
        yield
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{entry} of {file} does not fit ({reason}); {_OTHER_TRAINING_HINT}") from error


def _refuse_other_training(theirs: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    """Raise an error if a setting that both trainings have differs; called before anything is loaded."""
    for name, here in own.items():
        if str(there := theirs.get(name, here)) != str(here):
            letters = isinstance(here, Fingerprint)  # hashes are not shown: they mean nothing to a reader
            differ = f"other {name}" if letters else f"another {name}, {there} there and {here} here"
            raise ValueError(f"the checkpoint in {folder} has {differ}: {_OTHER_TRAINING_HINT}")


def _check_weights(module: nn.Module, weights: dict[str, Tensor], path: Path) -> None:
    def differences(what: Callable[[Tensor], Any]) -> Iterator[tuple[str, Any, Any]]:
        own, theirs = ({name: what(one) for name, one in side.items()} for side in (module.state_dict(), weights))
        for name in sorted(own.keys() | theirs.keys()):
            if own.get(name) != theirs.get(name):
                yield name, theirs.get(name, "none"), own.get(name, "none")

    for word, what in (("shape", lambda one: tuple(one.shape)), ("dtype", lambda one: one.dtype)):
        for name, there, here in differences(what):
            raise ValueError(
                f"the checkpoint {path} does not fit the module: {name} has {word} {there} there and {here} here; "
                f"{_OTHER_TRAINING_HINT}"
            )
    for name, own in module.state_dict().items():  # a mask may be infinite, a trained weight may not
        if bool(own.isfinite().all()) and not bool(weights[name].isfinite().all()):
            raise ValueError(f"{name} of {path / _TENSORS} holds NaN or infinity: {_removal_hint(path)}")


def _make_folder(folder: Path) -> None:
    """Make the folder for checkpoints, and remove unfinished ones of a killed run."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint={str(folder)!r} is a file: expected a folder, which need not exist yet")
    make_folder_for_option(folder, "checkpoint")
    files.remove_unfinished(folder)


def _write_checkpoint(folder: Path, step: int, epoch: int, state: Any, tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint, and remove those before the last two."""
    skeleton, more = trees.flatten(state, "state")
    content = {"format": FORMAT, "version": VERSION, "state": skeleton}
    with files.atomic_folder(folder / _checkpoint_name(step, epoch)) as temporary:
        save_file(_to_separate_tensors(tensors | more), temporary / _TENSORS)
        content["tensors_checksum"] = files.file_checksum(temporary / _TENSORS)  # detects flipped bits in weights
        content["checksum"] = files.json_checksum(content)
        (temporary / _STATE).write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    # old ones are removed only after the new one is on the disk
    for old in _list_checkpoints(folder)[:-_N_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _checkpoint_name(step: int, epoch: int) -> str:
    return f"step-{step:09d}-epoch-{epoch:06d}"


def _to_separate_tensors(tensors: dict[str, Any]) -> dict[str, Tensor]:
    """Copies on the CPU that share no memory, as safetensors requires."""
    by_name = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in by_name.items()
    }


def _read_latest(folder: Path) -> Checkpoint | None:
    """The newest readable checkpoint, or None if there is none."""
    paths = _list_checkpoints(folder)
    for position, path in enumerate(reversed(paths)):
        try:
            return _read_checkpoint(path)
        except ValueError as error:
            if position == len(paths) - 1:
                raise
            warnings.warn(f"{error}: resuming from the checkpoint before it", stacklevel=4)
    return None


def _remove_checkpoints(folder: Path) -> None:
    """Remove all checkpoints; other files stay."""
    for path in _list_checkpoints(folder):
        shutil.rmtree(path)


def _list_checkpoints(folder: Path) -> list[Path]:
    """The folders of checkpoints, oldest first."""
    return sorted(path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{9,}-epoch-\d{6,}", path.name))


def _read_checkpoint(path: Path) -> Checkpoint:
    """A checkpoint, after both files, their checksums and the types of all entries are checked."""
    content, tensors = _read_state(path / _STATE), _read_tensors(path / _TENSORS)
    rest = {name: value for name, value in content.items() if name != "checksum"}
    checksums = {"tensors_checksum": files.file_checksum(path / _TENSORS), "checksum": files.json_checksum(rest)}
    for name, file in (("tensors_checksum", _TENSORS), ("checksum", _STATE)):
        if name not in content:
            raise ValueError(f"{path / _STATE} has no {name!r}: {_removal_hint(path)}")
        if content[name] != checksums[name]:
            raise ValueError(f"{path / file} has changed since it was written; {_removal_hint(path)}")
    try:
        state = trees.unflatten(content.get("state"), tensors)
        schema.check_value(state, "state", STATE_SCHEMA)
        schema.check_value(_history_tracks(tensors), "history", TRACKS_SCHEMA)
        _check_position(path.name, state, len(tensors["history.loss.steps"]))
    except Exception as error:  # an edited file can raise any error
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path / _STATE} and {_TENSORS} are no valid checkpoint: {reason}; {_removal_hint(path)}"
        ) from error
    return Checkpoint(path, state, tensors)


def _read_state(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} cannot be read ({error}); {_removal_hint(file.parent)}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{file} is not a checkpoint of timelike: choose another folder")
    version = content.get("version")
    if type(version) is not int or version > VERSION:
        raise ValueError(f"{file} has version {version!r:.60} and this timelike reads {VERSION}: use a newer timelike")
    return content


def _read_tensors(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{file} cannot be read ({error}); {_removal_hint(file.parent)}") from error


def _removal_hint(path: Path) -> str:
    return f"remove {path.name} to start without it"


def _history_tracks(tensors: dict[str, Tensor]) -> dict[str, dict[str, Any]]:
    """The tensors of `History.tensors`, by track and part."""
    tracks: dict[str, dict[str, Any]] = {}
    for name, tensor in trees.strip_prefix("history", tensors).items():
        track, _, part = name.rpartition(".")
        tracks.setdefault(track, {})[part] = tensor.numpy()
    return tracks


def _check_position(name: str, state: dict[str, Any], n_losses: int) -> None:
    """Raise an error if step, epoch and position disagree, since a resumed run first draws `position` batches."""
    if _checkpoint_name(state["step"], state["epoch"]) != name or n_losses != state["step"]:
        raise ValueError(
            f"state is of step {state['step']} in epoch {state['epoch']}, and history of {n_losses} steps: expected "
            f"those of {name}"
        )
    if max(state["position"], state["epoch"]) > state["step"]:
        raise ValueError(f"state.position={state['position']}: expected at most {state['step']}, the steps so far")
