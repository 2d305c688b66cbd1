"""`job.toml`: what `timelike learn` was asked for, so that it can be repeated, and how data were read for a model."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ... import __version__
from .data import DataOptions, absolute_source

JOB_FILE = "job.toml"
_READING = "of timelike compare: the data, and the options for reading them, which commands with this model repeat"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A call of `timelike learn`; what is None was not given. That of `timelike compare --out` has no method."""

    data: str | None = None
    part: str | None = None
    """The part of the data that was learned from: "all" where there is no official split."""
    method: str | None = None
    out: Path | None = None
    seed: int | None = None
    load: DataOptions = field(default_factory=DataOptions)
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Job:
        """The job in a file, or an error that names what is wrong in it."""
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            load = DataOptions.from_dict(content.pop("load", {}))
            settings = {
                str(name): value if isinstance(value, str) else json.dumps(value)  # as on the command line
                for name, value in content.pop("set", {}).items()
            }
            content.pop("timelike", None)
            _refuse_unknown(content)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{file} is no job of timelike learn: {error}") from error
        out = None if "out" not in content else Path(content["out"])
        return cls(**{"seed": 0, **content, "out": out}, load=load, settings=settings)

    def override(self, given: Job) -> Job:
        """The job with what is given on the command line instead."""
        changes: dict[str, Any] = {
            name: value for name in ("data", "method", "out", "seed") if (value := getattr(given, name)) is not None
        }
        load = DataOptions.from_dict(self.load.to_dict() | given.load.to_dict())
        return replace(self, **changes, load=load, settings=self.settings | given.settings)

    def to_toml(self) -> str:
        """The text of the file; paths are absolute, so that it can be repeated from any folder."""
        head = {
            "timelike": __version__,
            "data": None if self.data is None else absolute_source(self.data),
            "part": self.part,
            "method": self.method,
            "out": None if self.out is None else str(self.out.absolute()),
            "seed": self.seed,
        }
        heading = _READING if self.method is None else "repeat it: timelike learn --job job.toml"
        lines = [f"# {heading}", *_to_lines(head)]
        for table, values in (("load", self.load.to_dict()), ("set", self.settings)):
            lines += ["", f"[{table}]", *_to_lines(values)] if values else []
        return "\n".join(lines) + "\n"

    def write(self, model: Path) -> Path:
        """Write the file into the folder of the model."""
        from ...core.files import atomic_write

        with atomic_write(model / JOB_FILE) as temporary:
            temporary.write_text(self.to_toml(), encoding="utf-8")
        return model / JOB_FILE


def _to_lines(values: dict[str, Any]) -> list[str]:
    """Lines of TOML, whose strings and numbers are those of JSON."""
    return [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]


def _refuse_unknown(content: dict[str, Any]) -> None:
    kinds = {"data": str, "part": str, "method": str, "out": str, "seed": int}
    for name, value in content.items():
        if name not in kinds:
            raise ValueError(f"{name!r} is unknown: expected {', '.join(kinds)}, [load] and [set]")
        if not isinstance(value, kinds[name]):
            raise ValueError(f"{name} = {value!r}: expected {'a text' if kinds[name] is str else 'a whole number'}")
