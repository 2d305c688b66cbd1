"""`ModelSummary`: what a fitted model is, with which options and versions it was made, and how to make it again."""

from __future__ import annotations

import platform
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ..core.parameters import format_count, format_value
from ..plotting import html
from ..sequences import Sequences
from .base import Model
from .components import nested_parameters, unfreeze
from .serialization import JOB, read_model

_PACKAGES = ("timelike", "numpy", "scipy", "scikit-learn", "torch")
_PARTS = ("encoder_", "metric_", "head_")  # attributes that may be fitted by themselves
_MAX_LISTED = 12  # classes
_MAX_LENGTH = 100  # characters of a value


@dataclass(frozen=True, repr=False)
class ModelSummary:
    """The result of `summarize_model`: options, what was fitted, seeds and versions, and how to repeat it."""

    method: str
    parameters: dict[str, Any]
    """All options, also those of components: `encoder__n_features`."""
    needs_labels: bool
    is_calibrated: bool
    imports: tuple[str, ...]
    """The import statements that `call` needs."""
    changed: dict[str, Any]
    """Those that differ from the defaults of the method."""
    fitted: dict[str, str]
    """What was fitted, in words."""
    seeds: dict[str, Any]
    """The seeds of the model and its parts; None if there was none, so that another run gives another model."""
    versions: dict[str, str]
    saved_by: str | None
    """The version of this library that wrote the model's folder."""
    folder: str | None
    job: str | None
    """The `job.toml` in the model's folder, written by `timelike learn` or `timelike compare --out`."""

    def __repr__(self) -> str:
        return f"ModelSummary({self.call})"

    @property
    def call(self) -> str:
        """The constructor's call that gives these options."""
        return f"{self.method}({', '.join(f'{name}={_to_code(name, value)}' for name, value in self.changed.items())})"

    @property
    def commands(self) -> str:
        """The commands or the code that repeat the fit."""
        if self.folder is not None and _is_repeatable(self.job):
            return f"timelike learn --job {shlex.quote(str(Path(self.folder) / JOB))}"
        lines = [*self.imports, "", f"model = {self.call}.fit({'X, y' if self.needs_labels else 'X'})"]
        if self.is_calibrated:
            lines.append("model.calibrate(…)  # on other sequences")
        if self.folder is not None:
            load = ["# or this very model", "import timelike as tl", f"model = tl.load_model({str(self.folder)!r})"]
            lines += ["", *load]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = [*self.fitted.items()]
        facts += [(f"seed {name}".strip(), _describe_seed(value)) for name, value in self.seeds.items()]
        facts.append(("versions here", ", ".join(f"{name} {number}" for name, number in self.versions.items())))
        if self.saved_by is not None:
            facts.append(("saved by", f"timelike {self.saved_by}"))
        options = html.table(["option", "value"], [(name, _format(value)) for name, value in self.parameters.items()])
        parts = [
            html.fact_table(self.method, facts),
            html.details(f"All {format_count(len(self.parameters), 'option')}", options) if self.parameters else "",
            html.subheading("How to repeat it"),
            html.code_block(self.commands),
        ]
        if self.job is not None:
            parts += [html.paragraph(f"{JOB}, in the folder of the model:"), html.code_block(self.job)]
        return html.join_html(*parts)


def summarize_model(model: Any, folder: str | Path | None = None) -> ModelSummary:
    """Options, fitted attributes, seeds and versions of a model, and the commands that make it again.

    Parameters
    ----------
    model : Model
        A fitted model, or a method that learns nothing, such as `DTW()`.
    folder : path, optional
        The folder it was loaded from: its version, and the `job.toml` of `timelike learn`, are read there.

    Examples
    --------
    >>> import timelike as tl
    >>> found = summarize_model(tl.Neighbors("dtw", k=2).fit([[0.0, 1.0], [5.0, 6.0]], ["low", "high"]))
    >>> found.call, found.fitted["classes"], found.parameters["metric__window"]
    ('Neighbors(k=2)', '2: high, low', None)
    """
    model = unfreeze(model)
    own = _get_parameters(model, deep=False)
    defaults = _get_defaults(model)
    everything = _get_parameters(model, deep=True)
    job = None if folder is None else Path(folder) / JOB
    return ModelSummary(
        method=type(model).__name__,
        parameters=everything,
        needs_labels=_needs_labels(model),
        is_calibrated=any(hasattr(model, name) for name in ("calibration_", "thresholds_")),
        imports=_import_lines([model, *everything.values()]),
        changed={name: value for name, value in own.items() if repr(value) != repr(defaults.get(name))},
        fitted=_describe_fitted(model),
        seeds=_find_seeds(model),
        versions=_package_versions(),
        saved_by=None if folder is None else read_model(folder).library_version,
        folder=None if folder is None else str(folder),
        job=job.read_text(encoding="utf-8") if job is not None and job.is_file() else None,
    )


def _is_repeatable(job: str | None) -> bool:
    """Whether `timelike learn --job` can repeat it: a job of `timelike compare --out` names no method."""
    try:
        return job is not None and "method" in tomllib.loads(job)
    except tomllib.TOMLDecodeError:  # somebody has edited it
        return False


def _get_parameters(model: Any, *, deep: bool) -> dict[str, Any]:
    if hasattr(model, "get_params"):
        return dict(sorted(model.get_params(deep=deep).items()))
    every = {name.removeprefix("method__"): value for name, value in nested_parameters(model, "method").items()}
    return every if deep else {name: value for name, value in every.items() if "__" not in name}


def _find_seeds(model: Any) -> dict[str, Any]:
    """The seed of the model, or of its fitted parts: those are often seeded by the model."""
    parts = {"": model, **{f"of {name.removesuffix('_')}": getattr(model, name, None) for name in _PARTS}}
    return {name: part.random_state for name, part in parts.items() if hasattr(part, "random_state")}


def _needs_labels(model: Any) -> bool:
    """Whether `fit` needs classes or numbers."""
    return hasattr(model, "__sklearn_tags__") and bool(model.__sklearn_tags__().target_tags.required)


def _to_code(name: str, value: Any) -> str:
    """The value as code; data stand by the name of their option."""
    return name if isinstance(value, Sequences | np.ndarray) else repr(value)


def _import_lines(values: list[Any]) -> tuple[str, ...]:
    """Imports of the classes of estimators and values: those of this library from the package that exports them."""
    kinds = {type(value) for value in values if hasattr(value, "get_params") or is_dataclass(value)}
    places = {(".".join(kind.__module__.split(".")[:2]), kind.__name__) for kind in kinds}
    return tuple(f"from {module} import {name}" for module, name in sorted(places))


def _get_defaults(model: Any) -> Mapping[str, Any]:
    try:
        return _get_parameters(type(model)(), deep=False)
    except TypeError:  # it has arguments without a default
        return {}


def _describe_fitted(model: Any) -> dict[str, str]:
    """What was fitted, as far as it can be said in a line."""
    facts: dict[str, str] = {}
    frame = getattr(model, "frame_", None)
    if frame is not None:
        facts["frames"] = (
            format_count(frame[0], "channel") if len(frame) == 1 else " × ".join(str(size) for size in frame)
        )
    if getattr(model, "channel_names_", None):
        facts["channels"] = _list_some(model.channel_names_)
    if hasattr(model, "classes_"):
        facts["classes"] = f"{len(model.classes_)}: {_list_some(model.classes_)}"
    if hasattr(model, "sequences_"):
        facts["sequences kept"] = str(len(model.sequences_))
    for name in _PARTS:
        if hasattr(model, name):
            part = getattr(model, name)
            facts[name.removesuffix("_")] = _format(part) if hasattr(part, "get_params") else type(part).__name__
    n_weights = _count_weights(model)
    if n_weights:
        facts["weights"] = f"{n_weights:,}".replace(",", " ")
    history = getattr(model, "history_", None)
    if history is not None:
        facts["trained for"] = f"{format_count(history.n_steps, 'step')}, {history.seconds:.3g} s"
        if history.stop_reason:
            facts["stopped by"] = str(history.stop_reason)
    return facts


def _count_weights(model: Any) -> int:
    """How many numbers its network has, where it has one."""
    network = getattr(model, "network_", None)
    if network is None or not hasattr(network, "parameters"):
        return 0
    return sum(int(np.prod(weights.shape)) for weights in network.parameters())


def _package_versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def _describe_seed(value: Any) -> str:
    return "none was given: another run gives another model" if value is None else format_value(value)


def _list_some(names: Any) -> str:
    return ", ".join(str(name) for name in list(names)[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")


def _format(value: Any) -> str:
    return format_value(value, _MAX_LENGTH) if not isinstance(value, Model) else repr(value)[:_MAX_LENGTH]
