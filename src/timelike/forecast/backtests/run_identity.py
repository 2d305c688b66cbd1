"""Identity of a backtest run, and the folder from which an interrupted one resumes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core import files, parameters
from ...core.random import RandomState, check_random_state
from ...models import fingerprint
from ...models.checksums import json_checksum
from ...models.json_fields import (
    array_parser,
    dict_parser,
    list_parser,
    parse_any,
    parse_integer,
    parse_text,
    read_fields,
    read_json_file,
)
from ...models.packer import Packer
from ...sequences import Sequences
from ..base import Forecaster
from .window_scores import ScoreArrays

_HEAD_FILE = "backtest.json"
_MISMATCH_WORDS = {
    "data": "other data",
    "model": "another model",
    "baseline": "another baseline",
    "call": "other arguments",
}


class BacktestStore:
    """Finished parts in files of their own; without a folder nothing is kept."""

    def __init__(self, folder: Any, identity: dict[str, str], random_state: RandomState) -> None:
        self.folder = None if folder is None else parameters.check_folder(folder, "checkpoint")
        drawn = int(check_random_state(random_state).integers(2**31))
        self.seed = drawn if self.folder is None else self._open(self.folder, identity, drawn, random_state is None)

    def _open(self, folder: Path, identity: dict[str, str], seed: int, any_seed: bool) -> int:
        """The seed to draw with: that of the backtest which is gone on with, if there is one."""
        parameters.make_folder_for_option(folder, "checkpoint")
        head = folder / _HEAD_FILE
        if not head.exists():
            files.remove_unfinished(folder)
            if any(folder.iterdir()):
                raise FileExistsError(f"checkpoint={str(folder)!r} holds other files: give a folder of its own")
            files.write_lines(head, iter([json.dumps({**identity, "seed": seed})]))
            return seed
        known = read_fields(
            read_json_file(head, "checkpoint"),
            str(head),
            **dict.fromkeys(_MISMATCH_WORDS, parse_text),
            seed=parse_integer,
        )
        other = next((words for name, words in _MISMATCH_WORDS.items() if known[name] != identity[name]), None)
        if other is None and not any_seed and known["seed"] != seed:
            other = "another random_state"
        if other is not None:
            raise ValueError(
                f"checkpoint={str(folder)!r} is of a backtest with {other}: repeat its call, or give another folder"
            )
        return int(known["seed"])

    def find(self, part: int, names: Sequence[Sequence[str]], shape: tuple[int, int]) -> list[ScoreArrays] | None:
        """The scores of the model, and of its baselines, in a part that was finished before.

        `names` are those of the scores of each, and `shape` is (window, step).
        """
        if self.folder is None or not (file := self._file(self.folder, part)).exists():
            return None
        held = list_parser(parse_any)(read_json_file(file, "checkpoint"), str(file))
        if len(held) != len(names):
            raise ValueError(f"{file} has the scores of {len(held)}: expected {len(names)}, the model's and baselines'")
        scores = array_parser(*shape)
        return [
            dict_parser(scores, own)(one, f"{file}[{i}]") for i, (one, own) in enumerate(zip(held, names, strict=True))
        ]

    def save(self, part: int, found: list[ScoreArrays]) -> None:
        """At once, so that whatever comes next costs nothing that is finished."""
        if self.folder is not None:
            words = json.dumps([{name: rows.tolist() for name, rows in one.items()} for one in found])
            files.write_lines(self._file(self.folder, part), iter([words]))

    def _file(self, folder: Path, part: int) -> Path:
        return folder / f"part-{part:05d}.json"


def data_identity(sequences: Sequences) -> str:
    """Letters that are others for other values, lengths or times."""
    times = [] if sequences.times is None else [sequences.times.view(np.int64)]
    return str(fingerprint(sequences.values, sequences.lengths, *times))


def model_identity(model: Forecaster) -> str:
    """Letters that are others for other options, or for anything else that was learned."""
    packer = Packer()
    try:
        words = packer.to_json(model, "model")
    except TypeError:  # of somebody's own class, of which a folder could hold nothing
        return re.sub(r" at 0x[0-9a-f]+", "", f"{type(model).__qualname__} {sorted(vars(model).items())!r}")
    arrays = [np.asarray(packer.arrays[name]) for name in sorted(packer.arrays)]
    return f"{json_checksum(words)} {fingerprint(*arrays)}"
