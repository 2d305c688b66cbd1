"""`Origin`: the files that sequences were read from, and notes about how they were read."""

from __future__ import annotations

from dataclasses import dataclass, field

from .paths import readable_name

_MAX_LISTED = 3  # files in the first line


@dataclass(frozen=True)
class Origin:
    """The files that sequences were read from, how they were interpreted, and which were skipped and why.

    `load` infers as little as possible. `notes` lists what it inferred: which column is the time, that an array with
    two axes is one recording, that commas are decimal marks. `print(X.source)` shows everything.

    >>> Origin(("a.csv",), ("time: the column 't'",), {"b.csv": "is empty"})
    1 file: a.csv
      time: the column 't'
    left out: 1
      b.csv: is empty
    """

    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        more = ", …" if len(self.files) > _MAX_LISTED else ""
        count = "1 file" if len(self.files) == 1 else f"{len(self.files)} files"
        lines = [f"{count}: {', '.join(self.files[:_MAX_LISTED])}{more}", *(f"  {note}" for note in self.notes)]
        lines += [f"left out: {len(self.skipped)}"] if self.skipped else []
        lines += [f"  {path}: {reason}" for path, reason in self.skipped.items()]
        return readable_name("\n".join(lines))

    def short_name(self) -> str:
        """Of one file its name, of several how many."""
        return readable_name(self.files[0]) if len(self.files) == 1 else f"{len(self.files)} files"
