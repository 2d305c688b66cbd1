"""The folder of a study: a file for every finished flow, and one with its particles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import atomic
from .cells import Cell


class Kept:
    """Finished flows by their cells; what was made with other settings is refused, not mixed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "flows"
        self.folder.mkdir(exist_ok=True)

    def find(self, cell: Cell, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The finished row of a cell."""
        file = self._file(cell, "json")
        if not file.exists():
            return None
        row: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for name, value in settings.items():
            if row.get(name) != value:
                raise ValueError(
                    f"{name}={value!r}: the folder {str(self.folder.parent)!r} has {cell.key} with "
                    f"{name}={row.get(name)!r}; repeat its call, or give another folder"
                )
        return row

    def keep(self, cell: Cell, row: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """At once; the row last, so that one that is there is complete."""
        with atomic.replacing(self._file(cell, "npz")) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **dict[str, Any](arrays))
        found = asdict(cell) | dict(row) | {"particles": self._file(cell, "npz").name}
        atomic.write_text(self._file(cell, "json"), iter([json.dumps(found, ensure_ascii=False)]))
        return found

    def _file(self, cell: Cell, ending: str) -> Path:
        """A name that any system takes, and that no other cell has."""
        letters = "".join(letter if letter.isalnum() else "-" for letter in cell.key)[:60]
        mark = hashlib.blake2b(cell.key.encode(), digest_size=4).hexdigest()
        return self.folder / f"{letters}-{mark}.{ending}"
