"""`timelike classify`: the class of every sequence."""

from __future__ import annotations

from typing import Annotated

import typer

from .loaded_model import ModelFolder, as_classifier
from .options.data import DataOptions, Source, require_labels, sequence_names, with_data_options
from .output import AsJson, emit, format_table, json_fields


@json_fields(
    ids="list of texts: the sequences",
    labels="list: the predicted class of each",
    confidence="list of numbers or null: the probability of that class, where the model gives one",
)
@with_data_options
def classify(
    model: ModelFolder,
    source: Source,
    reference: Annotated[
        str | None, typer.Option(help="Labelled data, for a model that only compares: the nearest gives the class.")
    ] = None,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Classify sequences; where the data have a test part, those.

    Examples:
      timelike classify motions BasicMotions
      timelike classify logs-model 'new/*.csv' --json
    """
    from ..models import load_model

    known = None if reference is None else data.load(reference, "train")
    labels = None if known is None or reference is None else require_labels(known, reference)
    classifier = as_classifier(load_model(model), known, labels)
    X = data.load(source, "test")
    predicted, names = classifier.predict(X).tolist(), sequence_names(X)
    confidence = classifier.predict_proba(X).max(axis=1).tolist() if hasattr(classifier, "predict_proba") else None
    columns = (names, predicted) if confidence is None else (names, predicted, confidence)
    table = format_table(("id", "class", "confidence")[: len(columns)], zip(*columns, strict=True))
    emit("classify", {"ids": names, "labels": predicted, "confidence": confidence}, table, as_json)
