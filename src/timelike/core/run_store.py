"""`RunStore`: the finished rows of a run in a folder, so that the same call resumes where an earlier one stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import files, parameters

_HEAD_FILE = "run.json"
_N_NAME_LETTERS = 60  # letters of a key in the name of its file


class RunStore:
    """Finished rows of one run, each in a file of its own; without a folder nothing is stored.

    Files are written atomically, so a row is complete or absent, and carry a checksum, so that a file that was edited
    or damaged raises an error. A folder belongs to one run: another kind, identity or seed raises an error.

    Parameters
    ----------
    folder : path or None
        Made if the folder above exists; one that holds other files raises an error.
    kind : str
        What the run is called in messages, such as "backtest".
    identity : mapping of str to str
        What the rows depend on. A name is a noun that error messages use: "(different data)".
    seed : int
        What the run draws its random numbers with.
    any_seed : bool
        Whether the caller accepts the seed that the folder has; the attribute `seed` says which one to use.
    option : str
        The argument of the public function that gave the folder.

    Examples
    --------
    >>> import tempfile
    >>> store = RunStore(tempfile.mkdtemp(), "backtest", {"data": "5f1c"})
    >>> store.find("window 1") is None
    True
    >>> store.save("window 1", {"mse": 0.5})
    >>> RunStore(store.folder, "backtest", {"data": "5f1c"}).find("window 1")
    {'mse': 0.5}
    """

    def __init__(
        self,
        folder: Any,
        kind: str,
        identity: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        any_seed: bool = False,
        option: str = "checkpoint",
    ) -> None:
        self.folder = None if folder is None else parameters.check_folder(folder, option)
        self.kind, self.option, self.seed = kind, option, seed
        if self.folder is not None:
            self._open(self.folder, dict(identity or {}), any_seed)

    def _open(self, folder: Path, identity: dict[str, str], any_seed: bool) -> None:
        parameters.make_folder_for_option(folder, self.option)
        file = folder / _HEAD_FILE
        if not file.exists():
            files.remove_unfinished(folder)
            if any(folder.iterdir()):
                raise FileExistsError(f"{self.option}={str(folder)!r} holds other files: give a folder of its own")
            _write_json(file, {"kind": self.kind, "identity": identity, "seed": self.seed})
            return
        stored = self._read_json(file, "delete the folder to start anew")
        if stored["kind"] != self.kind:
            self._refuse(f"is of a {stored['kind']}, not of a {self.kind}: give another folder")
        names = [
            name for name in {**identity, **stored["identity"]} if stored["identity"].get(name) != identity.get(name)
        ]
        if not any_seed and stored["seed"] != self.seed:
            names.append("random_state")
        if names:
            self._refuse(f"is of another {self.kind} (different {names[0]}): repeat its call, or give another folder")
        self.seed = stored["seed"]

    def find(
        self, key: str, settings: Mapping[str, Any] | None = None, *, parse: Callable[[Any, str], Any] | None = None
    ) -> Any:
        """The row stored under a key, or None if there is none; one made with other settings raises an error.

        `parse(row, where)` checks and converts it; `where` names the file in its errors.
        """
        if self.folder is None or not (file := self._file(key, "json")).exists():
            return None
        stored = self._read_json(file, "delete it to recompute the row")
        if stored["key"] != key:
            raise ValueError(f"{self.option}: {str(file)!r} is the row of {stored['key']!r}: expected that of {key!r}")
        self._refuse_other_settings(key, stored["settings"], dict(settings or {}))
        if stored["arrays"] is not None:
            self._check_arrays(key, stored["arrays"])
        return stored["row"] if parse is None else parse(stored["row"], str(file))

    def save(
        self,
        key: str,
        row: Any,
        settings: Mapping[str, Any] | None = None,
        *,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Write a row at once, so that an interruption loses nothing that is finished.

        Parameters
        ----------
        key : str
        row : JSON value
        settings : mapping of str to JSON values, optional
            What the row was made with.
        arrays : mapping of str to arrays, optional
            Arrays that belong to the row, for `load_arrays`.
        """
        if self.folder is None:
            return
        file, checksum = self._file(key, "json"), None
        if arrays is not None:
            file.unlink(missing_ok=True)  # the row goes first and comes last: one that exists has its arrays
            with files.atomic_write(self._file(key, "npz")) as temporary, temporary.open("wb") as opened:
                np.savez_compressed(opened, **dict[str, Any](arrays))
            checksum = files.file_checksum(self._file(key, "npz"))
        _write_json(file, {"key": key, "settings": dict(settings or {}), "row": row, "arrays": checksum})

    def load_arrays(self, key: str) -> dict[str, NDArray[Any]]:
        """The arrays that were saved with a row."""
        with np.load(self._file(key, "npz"), allow_pickle=False) as stored:
            return dict(stored)

    def _file(self, key: str, suffix: str) -> Path:
        """A name that every file system accepts and that no other key has."""
        assert self.folder is not None
        letters = "".join(letter if letter.isalnum() else "-" for letter in key)[:_N_NAME_LETTERS]
        mark = hashlib.blake2b(key.encode(), digest_size=4).hexdigest()
        return self.folder / f"{letters}-{mark}.{suffix}"

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.option}={str(self.folder)!r} {reason}")

    def _refuse_other_settings(self, key: str, stored: dict[str, Any], settings: dict[str, Any]) -> None:
        for name in {**settings, **stored}:
            if stored.get(name) != settings.get(name):
                self._refuse(
                    f"has {key!r} with {name}={stored.get(name)!r:.200}, not {name}={settings.get(name)!r:.200}: "
                    "repeat its call, give it another name, or give another folder"
                )

    def _check_arrays(self, key: str, checksum: str) -> None:
        file = self._file(key, "npz")
        if not file.exists() or files.file_checksum(file) != checksum:
            raise ValueError(
                f"{self.option}: {str(file)!r} is missing or has changed since it was written; delete the .json file "
                "beside it to recompute the row"
            )

    def _read_json(self, file: Path, remedy: str) -> dict[str, Any]:
        """What `_write_json` wrote; anything else raises an error."""
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.option}: {str(file)!r} is not valid JSON: {error}; {remedy}") from None
        if not isinstance(stored, dict) or stored.pop("checksum", None) != files.json_checksum(stored):
            raise ValueError(f"{self.option}: {str(file)!r} has changed since it was written; {remedy}")
        return stored


def _write_json(file: Path, content: dict[str, Any]) -> None:
    files.write_lines(file, iter([json.dumps(content | {"checksum": files.json_checksum(content)})]))
