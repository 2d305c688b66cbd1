"""The folder of a study: a file for every finished flow, and one with its particles."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import files
from ...models.json_fields import (
    array_parser,
    dict_parser,
    list_parser,
    parse_any,
    parse_integer,
    parse_number,
    read_fields,
    read_json_file,
)
from .cells import StudyCell


class StudyStore:
    """Finished flows by their cells; what was made with other settings is refused, not mixed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "flows"
        self.folder.mkdir(exist_ok=True)

    def find(self, cell: StudyCell, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The finished row of a cell."""
        file = self._file(cell, "json")
        if not file.exists():
            return None
        row = self._read(file, cell, settings)
        for name, value in settings.items():
            if row[name] != value:
                raise ValueError(
                    f"{name}={value!r}: the folder {str(self.folder.parent)!r} has {cell.key} with "
                    f"{name}={row[name]!r:.60}; repeat its call, or give another folder"
                )
        self._check_particles(self.folder / row["particles"], len(row["history"]["steps"]), bool(row["diverged"]))
        return row

    def _read(self, file: Path, cell: StudyCell, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A row with every entry of its kind."""
        held = read_json_file(file, "folder")
        history = held.get("history") if isinstance(held, dict) else None
        scored = [name for name in history if name != "steps"] if isinstance(history, dict) else []
        own = asdict(cell) | {"particles": self._file(cell, "npz").name}
        numbers = dict.fromkeys({*scored, "sinkhorn", "seconds"}, parse_number) | {"diverged": parse_integer}
        checks = dict.fromkeys([*own, *settings], parse_any) | numbers | {"history": _read_history}
        row = read_fields(held, str(file), **checks)
        for name, value in own.items():
            if row[name] != value:
                raise ValueError(f"{file} has {name}={row[name]!r:.60}: expected {value!r}; was the file edited?")
        return row

    def _check_particles(self, file: Path, n_frames: int, diverged: bool) -> None:
        """An error where the particles of a flow are not what `keep` writes."""
        try:
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as held:
                frames, real = held["frames"], held["real"]
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(
                f"{file} does not hold the particles of a flow ({type(error).__name__}: {error}); delete it and the "
                ".json beside it to have the flow computed again"
            ) from None
        plain = frames.dtype.kind == real.dtype.kind == "f" and frames.ndim == 3 and real.ndim == 2
        if not plain or len(frames) != n_frames or frames.shape[2:] != real.shape[1:]:
            raise ValueError(
                f"{file} has frames of shape {frames.shape} and real of shape {real.shape}: expected ({n_frames}, "
                "particle, coordinate) and (point, coordinate), both of floating-point numbers"
            )
        if not (np.isfinite(real).all() and (diverged or np.isfinite(frames).all())):
            raise ValueError(f"{file} holds NaN or infinity: expected finite numbers, as the flow did not diverge")

    def keep(self, cell: StudyCell, row: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """At once; the row last, so that one that is there is complete."""
        with files.atomic_write(self._file(cell, "npz")) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **dict[str, Any](arrays))
        found = asdict(cell) | dict(row) | {"particles": self._file(cell, "npz").name}
        files.write_lines(self._file(cell, "json"), iter([json.dumps(found, ensure_ascii=False)]))
        return found

    def _file(self, cell: StudyCell, ending: str) -> Path:
        """A name that any system takes, and that no other cell has."""
        letters = "".join(letter if letter.isalnum() else "-" for letter in cell.key)[:60]
        mark = hashlib.blake2b(cell.key.encode(), digest_size=4).hexdigest()
        return self.folder / f"{letters}-{mark}.{ending}"


def _read_history(held: Any, where: str) -> dict[str, Any]:
    """The steps that were looked at, and every score at each of them."""
    steps = list_parser(parse_integer)(held.get("steps") if isinstance(held, dict) else held, f"{where}.steps")
    dict_parser(array_parser(len(steps)))(held, where)
    if not steps or "sinkhorn" not in held:
        raise ValueError(
            f"{where} has no {'sinkhorn' if steps else 'steps'}: every flow has some; was the file edited?"
        )
    found: dict[str, Any] = held
    return found
