"""The folder in which a backtest keeps the windows that are finished, and goes on from."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...models import fingerprint
from ...models.identity import digest
from ...models.json_fields import a_text, anything, array_of, by_name, read_fields, read_file, several, whole
from ...models.packing import Packer
from ...sequences import Sequences, arguments, atomic
from ...sequences.arguments import RandomState, generator
from ..base import Forecaster
from .judging import Scores

_HEAD = "backtest.json"
_WORDS = {"data": "other data", "model": "another model", "baseline": "another baseline", "call": "other arguments"}


class Kept:
    """Finished parts in files of their own; without a folder nothing is kept."""

    def __init__(self, folder: Any, identity: dict[str, str], random_state: RandomState) -> None:
        self.folder = None if folder is None else arguments.folder(folder, "checkpoint")
        drawn = int(generator(random_state).integers(2**31))
        self.seed = drawn if self.folder is None else self._open(self.folder, identity, drawn, random_state is None)

    def _open(self, folder: Path, identity: dict[str, str], seed: int, any_seed: bool) -> int:
        """The seed to draw with: that of the backtest which is gone on with, if there is one."""
        arguments.make_folder(folder, "checkpoint")
        head = folder / _HEAD
        if not head.exists():
            atomic.clear_unfinished(folder)
            if any(folder.iterdir()):
                raise FileExistsError(f"checkpoint={str(folder)!r} holds other files: give a folder of its own")
            atomic.write_text(head, iter([json.dumps({**identity, "seed": seed})]))
            return seed
        known = read_fields(read_file(head, "checkpoint"), str(head), **dict.fromkeys(_WORDS, a_text), seed=whole)
        other = next((words for name, words in _WORDS.items() if known[name] != identity[name]), None)
        if other is None and not any_seed and known["seed"] != seed:
            other = "another random_state"
        if other is not None:
            raise ValueError(
                f"checkpoint={str(folder)!r} is of a backtest with {other}: repeat its call, or give another folder"
            )
        return int(known["seed"])

    def find(self, part: int, names: Sequence[Sequence[str]], shape: tuple[int, int]) -> list[Scores] | None:
        """The scores of the model, and of its rivals, in a part that was finished before.

        `names` are those of the scores of each, and `shape` is (window, step).
        """
        if self.folder is None or not (file := self._file(self.folder, part)).exists():
            return None
        held = several(anything)(read_file(file, "checkpoint"), str(file))
        if len(held) != len(names):
            raise ValueError(f"{file} has the scores of {len(held)}: expected {len(names)}, the model's and baselines'")
        scores = array_of(*shape)
        return [by_name(scores, own)(one, f"{file}[{i}]") for i, (one, own) in enumerate(zip(held, names, strict=True))]

    def keep(self, part: int, found: list[Scores]) -> None:
        """At once, so that whatever comes next costs nothing that is finished."""
        if self.folder is not None:
            words = json.dumps([{name: rows.tolist() for name, rows in one.items()} for one in found])
            atomic.write_text(self._file(self.folder, part), iter([words]))

    def _file(self, folder: Path, part: int) -> Path:
        return folder / f"part-{part:05d}.json"


def of_data(sequences: Sequences) -> str:
    """Letters that are others for other values, lengths or times."""
    times = [] if sequences.times is None else [sequences.times.view(np.int64)]
    return str(fingerprint(sequences.values, sequences.lengths, *times))


def of_model(model: Forecaster) -> str:
    """Letters that are others for other options, or for anything else that was learned."""
    packer = Packer()
    try:
        words = packer.words(model, "model")
    except TypeError:  # of somebody's own class, of which a folder could hold nothing
        return re.sub(r" at 0x[0-9a-f]+", "", f"{type(model).__qualname__} {sorted(vars(model).items())!r}")
    arrays = [np.asarray(packer.arrays[name]) for name in sorted(packer.arrays)]
    return f"{digest(words)} {fingerprint(*arrays)}"
