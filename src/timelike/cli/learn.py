"""`timelike learn`: fit a method on data and save it as a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import INTERRUPTED, library_interrupts, progress
from .options.data import DataOptions, require_labels, with_data_options
from .options.job import Job
from .options.settings import Settings, apply_settings, split_settings
from .output import AsJson, emit, json_fields
from .targets import check_model_target, with_parent


def _make(name: str, *args: Any, **options: Any) -> Any:
    from ..models.registry import find_class

    return find_class(name)(*args, **options)


METHODS: dict[str, Callable[[], Any]] = {
    "rocket": lambda: _make("Rocket"),
    "discriminant": lambda: _make("Discriminant"),
    "classifier": lambda: _make("EmbeddingClassifier"),
    "regressor": lambda: _make("EmbeddingRegressor"),
    "neighbors": lambda: _make("Neighbors"),
    "tloss": lambda: _make("CausalEncoder", loss="t_loss"),
    "siamese": lambda: _make("SiameseGRU"),
    "coupled": lambda: _make("CoupledGRU"),
    "tap": lambda: _make("TAP"),
    "prototypes": lambda: _make("Prototypes"),
    "fused": lambda: _make("Fused", [_make("DTW", normalize="length"), _make("Discriminant", classes="open")]),
    "separation": lambda: _make("Separation"),
    "srvp": lambda: _make("SRVP"),
    "ridge": lambda: _make("Ridge"),
    "persistence": lambda: _make("Persistence"),
}
WITHOUT_LABELS = ("rocket", "tloss", "separation", "srvp", "ridge", "persistence")


def _complete(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


@json_fields(
    model="text: the folder of the model",
    method="text: the method's name on the command line",
    learned="text: the model's class in the library",
    sequences="number: of the training data",
    seconds="number: that fitting took",
    job="text: the file that repeats it",
)
@with_data_options
def learn(
    source: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A file, a folder, a pattern in quotes, or a data set.")
    ] = None,
    method: Annotated[str | None, typer.Option(help=f"One of {', '.join(METHODS)}.", autocompletion=_complete)] = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write the model to.")] = None,
    job: Annotated[Path | None, typer.Option(help="Repeat the job in this file; other options change it.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A folder from which the training resumes, also after Ctrl-C, by the same command."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of random methods; 0 by default.", min=0)] = None,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Learn a model from data; where these have a training part, from that.

    A job.toml in the model's folder repeats it: timelike learn --job MODEL/job.toml

    Examples:
      timelike learn BasicMotions --method classifier --set encoder__n_features=500 --out motions
      timelike learn 'logs/*.csv' --label '_([a-z]+)' --method classifier --out logs-model
    """
    from ..core.parameters import format_count

    given = Job(data=source, method=method, out=out, seed=seed, load=data, settings=split_settings(settings))
    todo = Job(seed=0).override(given) if job is None else Job.read(job).override(given)
    if todo.data is None or todo.method is None or todo.out is None:
        raise typer.BadParameter("DATA, --method and --out are needed, or --job FILE", param_hint="'learn'")
    if todo.method not in METHODS:
        raise typer.BadParameter(f"{todo.method!r}: expected one of {', '.join(METHODS)}", param_hint="'--method'")
    model = _make_model(todo, checkpoint)
    check_model_target(todo.out)  # before hours of training, and not after them
    part, X = todo.load.load_part(todo.data, "train")
    labels = None if todo.method in WITHOUT_LABELS else require_labels(X, todo.data)
    began = time.perf_counter()
    try:
        with nullcontext() if checkpoint is None else library_interrupts():
            model.fit(X) if labels is None else model.fit(X, labels)
    except KeyboardInterrupt:
        _explain_interrupt(model, checkpoint)
        raise typer.Exit(INTERRUPTED) from None
    seconds = time.perf_counter() - began
    if getattr(getattr(model, "history_", None), "stop_reason", None) == "Ctrl-C":
        _explain_interrupt(model, checkpoint)
        raise typer.Exit(INTERRUPTED)
    model.save(with_parent(todo.out))
    file = replace(todo, part=part).write(todo.out)
    result = {
        "model": str(todo.out),
        "method": todo.method,
        "learned": type(model).__name__,
        "sequences": len(X),
        "seconds": seconds,
        "job": str(file),
    }
    text = f"learned {type(model).__name__} from {format_count(len(X), 'sequence')} in {seconds:.1f} s: {todo.out}"
    emit("learn", result, text, as_json)


def _explain_interrupt(model: Any, checkpoint: Path | None) -> None:
    words = "timelike: stopped by Ctrl-C, and no model is written"
    if checkpoint is not None:
        words += f"; the same command resumes from {checkpoint}"
    elif "trainer" in model.get_params(deep=False):  # others have no steps that could be kept
        words += "; with --checkpoint FOLDER the training would be kept, and the same command would resume it"
    typer.echo(words, err=True)


def _make_model(job: Job, checkpoint: Path | None) -> Any:
    """The method with its options; where these leave it open, the seed and whether there is a bar are the command's."""
    assert job.method is not None
    model = apply_settings(METHODS[job.method](), job.settings)
    if checkpoint is not None:
        if "trainer" not in model.get_params(deep=False):
            raise typer.BadParameter(f"{job.method} trains no network", param_hint="'--checkpoint'")
        model.set_params(trainer__checkpoint=str(checkpoint))
    own = {"random_state": job.seed, "progress": progress()}
    unset = {  # also of its parts: encoder__random_state
        name: own[option]
        for name, value in model.get_params(deep=True).items()
        if value is None and (option := name.rpartition("__")[2]) in own
    }
    return model.set_params(**unset)
