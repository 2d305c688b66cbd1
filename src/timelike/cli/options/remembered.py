"""Options for reading data that a model remembers: those of `timelike learn`, from its `job.toml`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .data import DataOptions, Part, require_labels, select_channels
from .job import JOB_FILE, Job

if TYPE_CHECKING:
    from ...sequences import Sequences

_REMEMBERED = ("label", "group", "time", "values", "interpolate")


@dataclass(frozen=True, kw_only=True)
class ModelDataOptions:
    """Options for data that a model is applied to: those given, and for the rest those that it was learned with."""

    given: DataOptions
    remembered: dict[str, str]
    """Options that were not given."""
    channels: tuple[str, ...] | None
    """The names of the channels that the model knows."""

    @classmethod
    def from_model(cls, folder: str, model: Any, given: DataOptions) -> ModelDataOptions:
        """The options of a model and its folder; one that was saved in Python remembers only its channels."""
        job = Path(folder) / JOB_FILE
        known = Job.read(job).load.to_dict() if job.is_file() else {}
        options = {name: known[name] for name in _REMEMBERED if name in known and getattr(given, name) is None}
        return cls(given=given, remembered=options, channels=getattr(model, "channel_names_", None))

    def load(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source, which need no labels: where these are not found, without them."""
        try:
            X = self._merge(self.remembered).load(source, part)
        except ValueError:
            if not self.remembered:
                raise
            X = self._load_without_labels(source, part)
        return select_channels(X, self.channels, source)

    def load_labelled(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source with labels; says on standard error if the option for them was remembered."""
        try:
            X = self._merge(self.remembered).load(source, part)
        except ValueError as error:
            raise self._explain(error) from None
        require_labels(X, source)
        if "label" in self.remembered:
            typer.echo(f"timelike: {self._describe('label')}, as in learning", err=True)
        return select_channels(X, self.channels, source)

    def _merge(self, remembered: dict[str, str]) -> DataOptions:
        return DataOptions.from_dict(remembered | self.given.to_dict())

    def _load_without_labels(self, source: str, part: Part) -> Sequences:
        columns = {name: value for name, value in self.remembered.items() if name not in ("label", "group")}
        try:
            return self._merge(columns).load(source, part)
        except ValueError as error:
            X = self._load_data_set(source, part) if columns else None
            if X is None:
                raise self._explain(error) from None
            return X

    def _load_data_set(self, source: str, part: Part) -> Sequences | None:
        """What has no columns to choose from, such as an .npz file of sequences; None for anything else."""
        try:
            X = self.given.load(source, part)
        except ValueError:
            return None
        return X if X.source is None else None

    def _explain(self, error: ValueError) -> ValueError:
        """The error, with the remembered options that it is about."""
        guilty = [name for name in self.remembered if f"{name}=" in f"{error}"]
        if not guilty:
            return error
        options = " and ".join(map(self._describe, guilty))
        return ValueError(f"{error}; {options} is remembered from learning: give another one, or '' for none")

    def _describe(self, name: str) -> str:
        return f"--{name} {shlex.quote(self.remembered[name])}"
