"""Data for a model, read with the options that it remembers: those of `timelike learn`, from its `job.toml`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .data import DataOptions, Part, join_some, require_labels, select_channels
from .job import JOB_FILE, Job
from .training_data import TrainingData, source_locations

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
    folder: str
    """That of the model."""
    training: TrainingData | None
    """What it was learned from, as far as that is known."""

    @classmethod
    def from_model(cls, folder: str, model: Any, given: DataOptions) -> ModelDataOptions:
        """The options of a model and its folder; one that was saved in Python remembers only its channels."""
        file = Path(folder) / JOB_FILE
        job = Job.read(file) if file.is_file() else None
        known = {} if job is None else job.load.to_dict()
        return cls(
            given=given,
            remembered={name: known[name] for name in _REMEMBERED if name in known and getattr(given, name) is None},
            channels=getattr(model, "channel_names_", None),
            folder=folder,
            training=None if job is None else TrainingData.from_job(job, file),
        )

    def load(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source: without labels where a remembered option finds none; one that is given must."""
        try:
            X = self._merge(self.remembered).load(source, part)
        except ValueError as error:
            if not self.remembered:
                raise
            if "group" in self.remembered and f"{error}".startswith("group="):  # the labels were found
                return self._forget("group").load(source, part)
            X = self._load_without_labels(source, part)
        return self._select_channels(X, source)

    def load_unlabelled(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source whose labels are not used: --label and --group may be meant for other files."""
        try:
            return self.load(source, part)
        except ValueError:
            if not (self.given.label or self.given.group):
                raise
            return replace(self, given=replace(self.given, label=None, group=None)).load(source, part)

    def load_labelled(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source with labels; says on standard error if the option for them was remembered."""
        try:
            X = self._merge(self.remembered).load(source, part)
        except ValueError as error:
            raise self._explain(error) from None
        require_labels(X, source)
        if "label" in self.remembered:
            typer.echo(f"timelike: {self._describe('label')}, as in learning", err=True)
        return self._select_channels(X, source)

    def describe_overlap(self, source: str, part: Part) -> str | None:
        """How much of a part of a source the model was learned from, in words; None if nothing, or if not known."""
        if self.training is None:
            return None
        return self.training.describe_overlap(source, part, self._merge(self.remembered))

    def warn_about_overlap(self, source: str, part: Part) -> None:
        """Say on standard error if the model was learned from these data."""
        overlap = self.describe_overlap(source, part)
        if overlap is not None:
            text = f"timelike: warning: {self.folder} was learned from {overlap}: expect worse results on new data"
            typer.secho(text, fg="yellow", err=True)

    def refuse_calibration(self, calibration: str, source: str) -> None:
        """Refuse data for --calibrate that the model was learned from, or that are forecast."""
        overlap, options = self.describe_overlap(calibration, "test"), self._merge(self.remembered)
        if overlap is not None:
            reason = f"{self.folder} was learned from {overlap}, which would make the intervals too narrow"
        elif source_locations(calibration, options) & source_locations(source, options):
            reason = f"{calibration} holds what is forecast too"
        else:
            return
        raise typer.BadParameter(
            f"{reason}: name other data, such as files that were kept apart", param_hint="'--calibrate'"
        )

    def _select_channels(self, X: Sequences, source: str) -> Sequences:
        if self.given.values:  # which chooses channels and their order, whatever the model calls them
            return X
        missing = [name for name in self.channels or () if X.channel_names and name not in X.channel_names]
        if missing:
            own = X.channel_names or ()
            raise ValueError(
                f"{source} has no channel {join_some(missing)}, which {self.folder} learned; it has {join_some(own)}: "
                f"if they mean the same, in this order, add --values {shlex.quote(','.join(own))}"
            )
        return select_channels(X, self.channels, source)

    def _forget(self, name: str) -> ModelDataOptions:
        return replace(self, remembered={one: value for one, value in self.remembered.items() if one != name})

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
