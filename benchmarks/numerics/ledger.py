"""The ledger of numerics: which version of each system is the current one, why, and what its probe computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.results import commit, replace_file

FILE = Path(__file__).with_name("ledger.json")
TOLERANCE = 1e-5
"""Largest difference of an output from the recorded one, relative to its largest number.

Threads, instruction sets and the library's fallbacks without kernels change outputs by less than a tenth of this.
"""
Outputs = Mapping[str, list[float]]


class Difference(NamedTuple):
    """An output that is not the recorded one; relative to its size, and infinite where one of the two is missing."""

    output: str
    relative: float


@dataclass(frozen=True)
class Version:
    """A version of a system's numerics: when, by which commit, and why it is another one.

    `draws` says that the method is the same and a seed merely draws other random numbers: a row of the version before
    is as good as one of another seed.
    """

    version: int
    date: str
    commit: str
    why: str
    draws: bool = False


@dataclass(frozen=True)
class Entry:
    """A system: its versions, the current one last, and the outputs of its probe for the current one."""

    history: tuple[Version, ...]
    outputs: dict[str, list[float]]

    @property
    def version(self) -> int:
        return self.history[-1].version

    def differences(self, outputs: Outputs) -> list[Difference]:
        """Outputs that are not those recorded, the largest difference first."""
        found = [
            Difference(name, _relative(self.outputs.get(name), outputs.get(name))) for name in self._names(outputs)
        ]
        return sorted((one for one in found if not one.relative <= TOLERANCE), key=lambda one: -one.relative)

    def since(self, version: int) -> list[Version]:
        """All versions after this one."""
        return [one for one in self.history if one.version > version]

    def _names(self, outputs: Outputs) -> list[str]:
        return [*self.outputs, *(name for name in outputs if name not in self.outputs)]


class Ledger:
    """All systems, read from a file; changes are written at once."""

    def __init__(self, path: Path = FILE) -> None:
        self.path = path
        held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.entries = {
            name: Entry(tuple(Version(**one) for one in entry["history"]), entry["outputs"])
            for name, entry in held.items()
        }

    @property
    def versions(self) -> dict[str, int]:
        """The current version of every system."""
        return {name: entry.version for name, entry in self.entries.items()}

    def differences(self, system: str, outputs: Outputs) -> list[Difference]:
        """What a probe computes otherwise than recorded; everything where the system is not in the ledger yet."""
        entry = self.entries.get(system, Entry((), {}))
        return entry.differences(outputs)

    def raise_version(self, system: str, outputs: Outputs, why: str, *, draws: bool = False) -> Entry:
        """Begin a new version of a system: rows of earlier ones are stale, or of other `draws`, from now on."""
        if not why.strip():
            raise ValueError(f"why is empty: say in one sentence what changed the numbers of {system!r}")
        before = self.entries[system].history if system in self.entries else ()
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        version = Version(before[-1].version + 1 if before else 1, date, commit(), why.strip(), draws)
        return self._write(system, Entry((*before, version), dict(outputs)))

    def record(self, system: str, outputs: Outputs) -> Entry:
        """Record what a changed probe computes, where all that was recorded and is still computed is as it was."""
        entry = self.entries.get(system)
        if entry is None:
            return self.raise_version(system, outputs, "First recorded.")
        kept = {name: values for name, values in entry.outputs.items() if name in outputs}
        changed = Entry(entry.history, kept).differences({name: outputs[name] for name in kept})
        if changed:
            raise ValueError(
                f"{system!r} computes other numbers than recorded ({describe(changed)}): raise its version instead"
            )
        return self._write(system, Entry(entry.history, dict(outputs)))

    def _write(self, system: str, entry: Entry) -> Entry:
        self.entries[system] = entry
        held = {name: asdict(self.entries[name]) for name in sorted(self.entries)}
        replace_file(self.path, json.dumps(held, indent=1, ensure_ascii=False) + "\n")
        return entry


def describe(differences: list[Difference], shown: int = 3) -> str:
    """Differences in a few words.

    >>> describe([Difference("losses", 0.25), Difference("scores", float("inf"))])
    "'losses' by 0.25, 'scores' is in one of them only"
    """
    words = [
        f"{one.output!r} by {one.relative:.2g}"
        if one.relative < float("inf")
        else f"{one.output!r} is in one of them only"
        for one in differences[:shown]
    ]
    more = len(differences) - shown
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _relative(recorded: list[float] | None, computed: list[float] | None) -> float:
    if recorded is None or computed is None or len(recorded) != len(computed):
        return float("inf")
    size = max(map(abs, [*recorded, *computed]))
    return max(abs(a - b) for a, b in zip(recorded, computed, strict=True)) / size if size else 0.0
