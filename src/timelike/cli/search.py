"""`timelike search`: the nearest sequences."""

from __future__ import annotations

from typing import Annotated

import typer

from .errors import progress
from .loaded_model import ModelFolder, as_metric, open_model
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .output import AsJson, emit, format_table, json_fields


@json_fields(
    queries="list of texts: the ids of the queries",
    ids="list of lists of texts: for each query its nearest sequences, the nearest first",
    distances="list of lists of numbers: their distances",
    labels="list of lists or null: their classes, where the data have labels",
)
@with_data_options
def search(
    model: ModelFolder,
    source: Source,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The sequences to search for, read as DATA is.")],
    k: Annotated[int, typer.Option("-k", help="How many of each.", min=1)] = 5,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Search data for the sequences most similar to each query.

    Examples:
      timelike search motions BasicMotions query.npz -k 3
    """
    loaded, options = open_model(model, data)
    metric, X, queries = as_metric(loaded), options.load(source), options.load_unlabelled(query)
    found = metric.neighbors(X, queries, min(k, len(X)), exclude_self=False, progress=progress())
    names, query_names = sequence_names(X), sequence_names(queries)
    labels = None if X.labels is None else X.labels[found.ids].tolist()
    result = {
        "queries": query_names,
        "ids": [[names[i] for i in row] for row in found.ids.tolist()],
        "distances": found.distances,
        "labels": labels,
    }
    rows = [
        (name, rank + 1, names[i], *(() if labels is None else (labels[row][rank],)), float(found.distances[row, rank]))
        for row, name in enumerate(query_names)
        for rank, i in enumerate(found.ids[row].tolist())
    ]
    columns = ("query", "rank", "id", *(() if labels is None else ("class",)), "distance")
    emit("search", result, format_table(columns, rows), as_json)
