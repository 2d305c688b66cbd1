"""`timelike compare`: which method fits the data."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .errors import INTERRUPTED, in_options
from .options.data import DataOptions, Source, Split, require_labels, with_data_options
from .options.job import Job
from .options.ranges import check_positive
from .output import AsJson, json_fields, to_json
from .targets import check_file_target, check_model_target, with_parent

if TYPE_CHECKING:
    from ..evaluate import Comparison, ComparisonRow


@json_fields(
    best="text or null: the best method, null if none has finished",
    rows="list of objects: a method with its state, scores (mean, low, high), seconds and reason, the best first",
    notes="list of texts: what to know about the comparison",
    design="text: how the data were divided",
    report="text or null: the report that was written",
    model="text or null: the folder of the best method, fitted on everything, or on an official training part alone",
)
@with_data_options
def compare(
    source: Source,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help='A method, such as "1-NN DTW"; may be given several times. By default all that train no network, and '
            "with --max-steps or --budget all."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="accuracy, map, eer, or mse for numbers.")] = "accuracy",
    folds: Annotated[int | None, typer.Option(help="Of the cross-validation; 5 by default.", min=2)] = None,
    max_steps: Annotated[int | None, typer.Option(help="Steps of every training of a network.", min=1)] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Minutes for all methods, by the clock; a second run may differ.", callback=check_positive),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the folds and of random methods.", min=0)] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A folder from which the same command resumes, also after Ctrl-C.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file, there.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Save the best method as a model, fitted on everything, or on an official training part alone."
        ),
    ] = None,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Compare methods on labelled data, on the official split or by cross-validation.

    Examples:
      timelike compare BasicMotions --method "1-NN DTW" --method "statistics + forest"
    """
    from ..evaluate import compare as compare_methods

    _check_methods(method or [])
    check_file_target(report, "--report")
    check_model_target(out)
    parts = {"all": data.load(source)} if data.split == Split.ALL else data.load_parts(source)
    X, *test = parts.values()
    part = next(iter(parts))
    labels = require_labels(X, source)
    official = (test[0], require_labels(test[0], source)) if test else None
    found = compare_methods(
        X,
        labels,
        method or None,
        test=official,
        metric=metric,
        cv=folds,
        max_steps=max_steps,
        budget=budget,
        random_state=seed,
        checkpoint=checkpoint,  # a long comparison announces its time, also in a pipe
    )
    ranked = found.ranked_rows()
    rows = [*ranked, *(row for row in found.rows if row not in ranked)]
    result: dict[str, Any] = {
        "best": ranked[0].method if ranked else None,
        "rows": [_to_fields(row) for row in rows],
        "notes": [in_options(note, "compare") for note in found.notes],
        "design": found.design,
        "report": None,
        "model": None,
    }
    if not as_json:  # before anything that may fail: the comparison may have taken hours
        typer.echo(in_options(str(found), "compare"))
    try:
        if report is not None:
            result["report"] = _write_report(found, report, source)
        if out is not None and ranked and not found.is_interrupted:
            # with the options for reading data, which the model remembers
            job = Job(data=source, part=part, seed=seed, load=data)
            result["model"] = _write_best(found, out, job, "train" if test else None)
    finally:
        if as_json:
            typer.echo(to_json("compare", result))
    if not as_json:
        _echo_written(result, out, "the training part" if test else "everything")
    if found.is_interrupted:
        _explain_interrupt(out, checkpoint)
        raise typer.Exit(INTERRUPTED)
    if not ranked:
        raise ValueError(f"no method has finished: {'; '.join(f'{row.method}: {row.reason}' for row in rows)}")


def _check_methods(names: list[str]) -> None:
    """Refuse a misspelled name as wrong usage, before the data are read."""
    from ..evaluate.methods import is_method_name, method_names

    for name in names:
        if not is_method_name(name):
            by_lower = {one.lower(): one for one in method_names()}
            near = [by_lower[one] for one in difflib.get_close_matches(name.lower(), by_lower, n=3)]
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"expected {', '.join(method_names())}"
            raise typer.BadParameter(f"there is no method {name!r}: {hint}", param_hint="'--method'")


def _write_report(found: Comparison, file: Path, source: str) -> str:
    from ..report import Page

    page = Page(source, lead="Which method fits.")
    page.add("Methods", found)
    return str(page.save(file))


def _write_best(found: Comparison, folder: Path, job: Job, split: Literal["train"] | None) -> str:
    """Save the best method, fitted on the training part, so that what it was scored on stays unseen, or on everything.

    Ctrl-C during that is announced, since the table is already printed.
    """
    from ..models import save_model

    try:
        save_model(found.best(split=split), with_parent(folder))
    except KeyboardInterrupt:
        typer.echo("timelike: stopped by Ctrl-C, and no model is written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    job.write(folder)
    return str(folder)


def _echo_written(result: dict[str, Any], out: Path | None, fitted_on: str) -> None:
    """Which files were written, and how to get a model if there is none."""
    written = [f"{name}: {result[name]}" for name in ("report", "model") if result[name] is not None]
    if written:
        typer.echo("\n" + "\n".join(written))
    if out is None and result["best"] is not None:
        typer.echo(f"--out FOLDER saves the best, {result['best']}, fitted on {fitted_on}, as a model.")


def _explain_interrupt(out: Path | None, checkpoint: Path | None) -> None:
    words = "timelike: stopped by Ctrl-C"
    words += "" if out is None else "; no model is written, since the best may be among the methods that are missing"
    words += (
        "; with --checkpoint FOLDER the same command would go on from what is finished"
        if checkpoint is None
        else f"; the same command goes on from {checkpoint}"
    )
    typer.echo(words, err=True)


def _to_fields(row: ComparisonRow) -> dict[str, Any]:
    scores = {name: [one.mean, one.low, one.high] for name, one in row.scores.items()}
    return {
        "method": row.method,
        "state": row.state,
        "scores": scores,
        "fit_seconds": row.fit_seconds,
        "reason": row.reason,
    }
