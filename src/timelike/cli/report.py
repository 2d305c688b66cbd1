"""`timelike report`: one HTML file about a model and data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .loaded_model import ModelFolder, open_model
from .options.data import DataOptions, Source, with_data_options
from .output import AsJson, emit, json_fields
from .targets import check_file_target


@json_fields(
    file="text: the file that was written",
    model="text: the model's class in the library",
    sequences="number: of the data",
    sections="list of texts: the headings of the report",
)
@with_data_options
def report(
    model: ModelFolder,
    source: Source,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Write a report about a model and data as one HTML file; where the data have a test part, about that.

    The file needs nothing else and can be sent to others: data, options and how to repeat them, scores with intervals,
    a map to point at, nearest neighbours, forecasts, whatever the model can do. Without labels, scores are left out.

    Examples:
      timelike report motions BasicMotions --out motions.html
      timelike report logs-model 'new/*.csv' --group '^([a-z]+)_' --out new.html
    """
    from ..report import write

    check_file_target(out, "--out")
    _, options = open_model(model, data)
    options.warn_about_overlap(source, "test")
    X = options.load(source, "test")
    page = write(model, X)
    page.title = f"{page.title.partition(' on ')[0]} on {source}"
    headings = [heading for heading, _ in page.sections]
    page.save(out)
    fields = {"file": str(out), "model": page.title.partition(" on ")[0], "sequences": len(X), "sections": headings}
    emit("report", fields, f"{out} is written: {', '.join(headings)}", as_json)
