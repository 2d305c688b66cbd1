"""`timelike classify`: the class, or the number, that a model predicts for every sequence."""

from __future__ import annotations

from typing import Annotated

import typer

from .loaded_model import ModelFolder, as_predictor, is_regressor, open_model
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .output import AsJson, emit, format_table, json_fields


@json_fields(
    ids="list of texts: the sequences",
    labels="list: the predicted class of each, or number from a model that learned numbers",
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
    r"""Classify sequences; where the data have a test part, those. A model that learned numbers predicts numbers.

    Examples:
      timelike classify motions BasicMotions
      timelike classify logs-model 'new/*.csv' --json
    """
    loaded, options = open_model(model, data)
    known = None if reference is None else options.load_labelled(reference, "train")
    predictor = as_predictor(loaded, known, None if known is None else known.labels)
    X = options.load_unlabelled(source, "test")
    predicted, names = predictor.predict(X).tolist(), sequence_names(X)
    confidence = predictor.predict_proba(X).max(axis=1).tolist() if hasattr(predictor, "predict_proba") else None
    columns = (names, predicted) if confidence is None else (names, predicted, confidence)
    heads = ("id", "number" if is_regressor(predictor) else "class", "confidence")
    table = format_table(heads[: len(columns)], zip(*columns, strict=True))
    emit("classify", {"ids": names, "labels": predicted, "confidence": confidence}, table, as_json)
