"""`timelike compare`: which method fits the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import INTERRUPTED, in_options
from .options.data import DataOptions, Source, Split, require_labels, with_data_options
from .options.job import Job
from .output import AsJson, emit, json_fields

if TYPE_CHECKING:
    from ..evaluate import ComparisonRow


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
    folds: Annotated[int | None, typer.Option(help="Of the cross-validation; 5 by default.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Steps of every training of a network.", min=1)] = None,
    budget: Annotated[
        float | None, typer.Option(help="Minutes for all methods, by the clock; a second run may differ.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the folds and of random methods.")] = 0,
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
      timelike compare BasicMotions --method euclidean --method dtw
    """
    from ..evaluate import compare as compare_methods
    from ..models import save_model
    from ..models.serialization import refuse_to_replace
    from ..report import Page

    if out is not None:
        refuse_to_replace(out)
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
    text = in_options(str(found))
    if report is not None:
        page = Page(source, lead="Which method fits.")
        page.add("Methods", found)
        text += f"\n\nreport: {page.save(report)}"
    if out is not None:
        save_model(found.best(split="train" if test else None), out)  # what it was scored on stays unseen
        Job(data=source, part=part, seed=seed, load=data).write(
            out
        )  # so that the model remembers the options for reading data
        text += f"\n\nmodel: {out}"
    ranked = found.ranked_rows()
    if out is None and ranked:
        fitted_on = "the training part" if test else "everything"
        text += f"\n--out FOLDER saves the best, {ranked[0].method}, fitted on {fitted_on}, as a model."
    rows = [*ranked, *(row for row in found.rows if row not in ranked)]
    result = {
        "best": ranked[0].method if ranked else None,
        "rows": [_to_fields(row) for row in rows],
        "notes": [in_options(note) for note in found.notes],
        "design": found.design,
        "report": None if report is None else str(report),
        "model": None if out is None else str(out),
    }
    emit("compare", result, text, as_json)
    if any(row.reason == "stopped by Ctrl-C" for row in rows):
        raise typer.Exit(INTERRUPTED)


def _to_fields(row: ComparisonRow) -> dict[str, Any]:
    scores = {name: [one.mean, one.low, one.high] for name, one in row.scores.items()}
    return {
        "method": row.method,
        "state": row.state,
        "scores": scores,
        "fit_seconds": row.fit_seconds,
        "reason": row.reason,
    }
