"""`ComparisonStore`: the checkpoint folder of a comparison."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ..core import files, parameters
from ..models.json_fields import (
    dict_parser,
    nullable_parser,
    parse_any,
    parse_number,
    parse_text,
    read_fields,
    read_json_file,
)
from .comparison_json import parse_fold_result
from .fold_scores import FoldResult
from .methods import ComparedMethod
from .problem import ComparisonProblem

_HEAD_FILE = "comparison.json"


class ComparisonStore:
    """One file for each finished (method, fold); without a folder nothing is stored."""

    def __init__(self, folder: Any, problem: ComparisonProblem, seed: int) -> None:
        self.folder = None if folder is None else parameters.check_folder(folder, "checkpoint")
        if self.folder is not None:
            self._open_folder(self.folder, {"problem": problem.identity(), "random_state": seed})

    def _open_folder(self, folder: Path, identity: dict[str, Any]) -> None:
        parameters.make_folder_for_option(folder, "checkpoint")
        head = folder / _HEAD_FILE
        if not head.exists():
            if any(folder.iterdir()):
                raise FileExistsError(f"checkpoint={str(folder)!r} holds other files: give a folder of its own")
            files.write_lines(head, iter([json.dumps(identity)]))
            return
        known = dict_parser(parse_any, identity)(read_json_file(head, "checkpoint"), str(head))
        if known != identity:
            other = next(name for name in identity if known[name] != identity[name])
            what = "other data, folds or scores" if other == "problem" else f"random_state={known.get(other)}"
            raise ValueError(
                f"checkpoint={str(folder)!r} is of a comparison with {what}: repeat its call, or give another folder"
            )

    def find(self, method: ComparedMethod, fold: int, limit: float | None) -> tuple[FoldResult, float | None] | None:
        """A stored result and its time limit, unless that limit was shorter than `limit`."""
        if self.folder is None or not (file := self._result_file(method, fold)).exists():
            return None
        checks = {"method": parse_text, "model": parse_text, "result": parse_fold_result, "fold": parse_number}
        held = read_fields(read_json_file(file, "checkpoint"), str(file), **checks, limit=nullable_parser(parse_number))
        if held["model"] != _describe_method(method):
            raise ValueError(
                f"checkpoint: {method.name!r} was {held['model']:.200}, and is {_describe_method(method):.200} now: "
                "give it "
                "another name, or the comparison another folder"
            )
        had = held["limit"]
        if had is not None and (limit is None or limit > had):
            return None
        return held["result"], had

    def save(self, method: ComparedMethod, fold: int, result: FoldResult, limit: float | None) -> None:
        """Write a result at once, so that an interruption loses nothing that is finished."""
        if self.folder is not None:
            held = {
                "method": method.name,
                "model": _describe_method(method),
                "fold": fold,
                "result": result.to_dict(),
                "limit": limit,
            }
            files.write_lines(self._result_file(method, fold), iter([json.dumps(held)]))

    def _result_file(self, method: ComparedMethod, fold: int) -> Path:
        assert self.folder is not None
        letters = "".join(letter if letter.isalnum() else "-" for letter in method.name)[:40]
        mark = hashlib.blake2b(method.name.encode(), digest_size=4).hexdigest()
        return self.folder / f"{letters}-{mark}-{fold}.json"


def _describe_method(method: ComparedMethod) -> str:
    """The options of a method and of the steps before it as text, without memory addresses."""
    words = " after ".join(map(_describe_options, (method.model, *reversed((*method.prepare, *method.steps)))))
    return " ".join(re.sub(r" at 0x[0-9a-f]+", "", words).split())


def _describe_options(model: Any) -> str:
    given = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    options = ", ".join(f"{name}={value}" for name, value in sorted(given.items()))
    return f"{type(model).__name__}({options})" if given else repr(model)
