"""`TrainingData`: the files that a model was learned from, and how many of them a command is given again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .data import DataOptions, Part
from .job import Job


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The files, or the name of the data set, that a model was learned from, and which part of an official split."""

    locations: frozenset[str]
    part: str

    @classmethod
    def from_job(cls, job: Job, file: Path) -> TrainingData | None:
        """The training data of the job in a file; None if it names none."""
        if job.data is None:
            return None
        try:
            locations = source_locations(job.data, job.load)
        except (ValueError, OSError):  # moved or deleted since
            return None
        written = file.stat().st_mtime  # a pattern may match files that were recorded later
        known = (one for one in locations if not os.path.isfile(one) or os.stat(one).st_mtime <= written)
        return cls(locations=frozenset(known), part=job.part or job.load.split or "train")

    def describe_overlap(self, source: str, part: Part, options: DataOptions) -> str | None:
        """How much of a part of a source was learned from, in words; None if nothing was."""
        used = options.split or part
        if "all" not in (self.part, used) and self.part != used:
            return None
        try:
            locations = source_locations(source, options)
        except (ValueError, OSError):  # the error of reading it says more
            return None
        n_shared = len(locations & self.locations)
        if n_shared == 0:
            return None
        return source if n_shared == len(locations) else f"{n_shared} of the {len(locations)} files of {source}"


def source_locations(source: str, options: DataOptions) -> frozenset[str]:
    """The files or the folder that a source means, by their real paths, or the name of a data set."""
    from ...sequences.io.load import list_source_files

    has_options = any((options.time, options.values, options.label, options.group))
    files = list_source_files(source, has_options=has_options)
    return frozenset(map(os.path.realpath, files)) if files else frozenset([source])
