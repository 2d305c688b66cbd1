"""The folder in which a comparison keeps what is finished, and goes on from."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ...models.json_fields import a_number, a_text, anything, by_name, or_none, read_fields, read_file
from ...sequences import arguments, atomic
from .judging import Judged
from .methods import Method
from .problem import Problem
from .reading import read_judged

_HEAD = "comparison.json"


class Kept:
    """Finished (method, fold) in files of their own; without a folder nothing is kept."""

    def __init__(self, folder: Any, problem: Problem, seed: int) -> None:
        self.folder = None if folder is None else arguments.folder(folder, "checkpoint")
        if self.folder is not None:
            self._open(self.folder, {"problem": problem.identity(), "random_state": seed})

    def _open(self, folder: Path, identity: dict[str, Any]) -> None:
        arguments.make_folder(folder, "checkpoint")
        head = folder / _HEAD
        if not head.exists():
            if any(folder.iterdir()):
                raise FileExistsError(f"checkpoint={str(folder)!r} holds other files: give a folder of its own")
            atomic.write_text(head, iter([json.dumps(identity)]))
            return
        known = by_name(anything, identity)(read_file(head, "checkpoint"), str(head))
        if known != identity:
            other = next(name for name in identity if known[name] != identity[name])
            what = "other data, folds or scores" if other == "problem" else f"random_state={known.get(other)}"
            raise ValueError(
                f"checkpoint={str(folder)!r} is of a comparison with {what}: repeat its call, or give another folder"
            )

    def find(self, method: Method, fold: int, limit: float | None) -> tuple[Judged, float | None] | None:
        """What was finished before, and the seconds it had; not what had fewer than there are now."""
        if self.folder is None or not (file := self._file(method, fold)).exists():
            return None
        checks = {"method": a_text, "model": a_text, "judged": read_judged, "fold": a_number}
        held = read_fields(read_file(file, "checkpoint"), str(file), **checks, limit=or_none(a_number))
        if held["model"] != _said(method):
            raise ValueError(
                f"checkpoint: {method.name!r} was {held['model']:.200}, and is {_said(method):.200} now: give it "
                "another name, or the comparison another folder"
            )
        had = held["limit"]
        if had is not None and (limit is None or limit > had):
            return None
        return held["judged"], had

    def keep(self, method: Method, fold: int, judged: Judged, limit: float | None) -> None:
        """At once, so that whatever comes next costs nothing that is finished."""
        if self.folder is not None:
            held = {
                "method": method.name,
                "model": _said(method),
                "fold": fold,
                "judged": judged.words(),
                "limit": limit,
            }
            atomic.write_text(self._file(method, fold), iter([json.dumps(held)]))

    def _file(self, method: Method, fold: int) -> Path:
        assert self.folder is not None
        letters = "".join(letter if letter.isalnum() else "-" for letter in method.name)[:40]
        mark = hashlib.blake2b(method.name.encode(), digest_size=4).hexdigest()
        return self.folder / f"{letters}-{mark}-{fold}.json"


def _said(method: Method) -> str:
    """All options in words, and of what is in front of it; addresses in memory are no part of them."""
    words = " after ".join(map(_options, (method.model, *reversed((*method.prepare, *method.steps)))))
    return " ".join(re.sub(r" at 0x[0-9a-f]+", "", words).split())


def _options(model: Any) -> str:
    given = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    options = ", ".join(f"{name}={value}" for name, value in sorted(given.items()))
    return f"{type(model).__name__}({options})" if given else repr(model)
