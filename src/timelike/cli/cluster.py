"""`timelike cluster`: groups of similar sequences."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import progress
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .options.settings import Settings, apply_settings, split_settings
from .output import AsJson, emit, format_cell, format_table, json_fields
from .targets import check_model_target, with_parent


class Clustering(StrEnum):
    """Methods by name."""

    KMEANS = "kmeans"
    KMEDOIDS = "kmedoids"
    AGGLOMERATIVE = "agglomerative"
    SPECTRAL = "spectral"
    DBSCAN = "dbscan"
    HDBSCAN = "hdbscan"


@json_fields(
    ids="list of texts: the sequences",
    clusters="list of numbers: the cluster of each, -1 for none",
    sizes="object: the number of sequences by cluster",
    adjusted_rand="number or null: agreement with the labels, where there are labels",
    model="text or null: the folder of the model",
)
@with_data_options
def cluster(
    source: Source,
    method: Annotated[Clustering, typer.Option(help="How.")] = Clustering.KMEDOIDS,
    k: Annotated[int | None, typer.Option("-k", help="How many clusters, for methods that are told.", min=1)] = None,
    metric: Annotated[str, typer.Option(help="dtw, euclidean, or another metric by its name.")] = "dtw",
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="Save the model, where the method has one, in this folder.")] = None,
    seed: Annotated[int, typer.Option(help="Of random starts.", min=0)] = 0,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Cluster sequences.

    Examples:
      timelike cluster BasicMotions --split train -k 4
    """
    from .. import score

    options = split_settings(settings)
    check_model_target(out)
    model = _make_model(method, k, metric, seed)
    X = data.load(source)
    clusters = apply_settings(model, options).fit(X).labels_
    if out is not None:
        model.save(with_parent(out))
    names, answers = sequence_names(X), clusters.tolist()
    sizes = {number: answers.count(number) for number in sorted(set(answers))}
    agreement = None if X.labels is None else float(score.adjusted_rand(X.labels, clusters))
    fields = {
        "ids": names,
        "clusters": answers,
        "sizes": sizes,
        "adjusted_rand": agreement,
        "model": None if out is None else str(out),
    }
    heads = [_describe_sizes(sizes)]
    heads += [] if agreement is None else [f"agreement with the labels (adjusted Rand index) {format_cell(agreement)}"]
    heads += [] if out is None else [f"model: {out}"]
    table = format_table(("id", "cluster"), zip(names, answers, strict=True))
    emit("cluster", fields, "\n".join([*heads, "", table]), as_json)


def _describe_sizes(sizes: dict[int, int]) -> str:
    """The sizes of the clusters, and how many sequences are in none.

    >>> _describe_sizes({-1: 2, 0: 5, 1: 3})
    '2 clusters of 5, 3; 2 sequences in none'
    """
    found = [str(size) for number, size in sizes.items() if number >= 0]
    words = "no cluster" if not found else f"{len(found)} cluster{'s'[: len(found) > 1]} of {', '.join(found)}"
    return words if -1 not in sizes else f"{words}; {sizes[-1]} sequence{'s'[: sizes[-1] > 1]} in none"


def _make_model(method: Clustering, k: int | None, metric: str, seed: int) -> Any:
    from .. import cluster as methods

    names = {"kmeans": "KMeans", "kmedoids": "KMedoids", "dbscan": "DBSCAN", "hdbscan": "HDBSCAN"}
    model = getattr(methods, names.get(method.value, method.value.capitalize()))()
    known = model.get_params(deep=False)
    if k is not None and "k" not in known:
        raise typer.BadParameter(f"{method.value} finds the number of clusters itself", param_hint="'-k'")
    own = {"k": k, "metric": metric, "random_state": seed, "progress": progress()}
    return model.set_params(**{name: one for name, one in own.items() if name in known and (name != "k" or k)})
