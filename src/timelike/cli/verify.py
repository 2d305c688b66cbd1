"""`timelike verify`: whether two sequences are of the same identity."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .loaded_model import ModelFolder, as_metric, open_model
from .options.data import DataOptions, with_data_options
from .options.ranges import check_open_unit
from .output import AsJson, emit, format_cell, json_fields


@json_fields(
    accepted="true or false: whether they are taken for the same",
    score="number: the higher, the more similar",
    threshold="number: the lowest score that is accepted",
)
@with_data_options
def verify(
    model: ModelFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A file with one sequence; of several the first is taken.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Labelled data that the model has not seen, for the threshold; of an official split the test part.",
        ),
    ] = None,
    false_accept: Annotated[
        float,
        typer.Option(help="The rate of false accepts to calibrate for, between 0 and 1.", callback=check_open_unit),
    ] = 0.01,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Verify a claim that two sequences are of the same class or person; the exit code is 0 either way.

    Examples:
      timelike verify motions query.npz other.npz --calibrate BasicMotions --false-accept 0.1
    """
    from ..verify import Verifier

    loaded, options = open_model(model, data)
    if calibrate is not None:
        options.warn_about_overlap(calibrate, "test")
        known = options.load_labelled(calibrate, "test")
        loaded = Verifier(as_metric(loaded)).calibrate(known, known.labels, false_accept=false_accept)
    elif not hasattr(loaded, "verify"):
        raise ValueError(f"{type(loaded).__name__} has no threshold: name labelled data that set one with --calibrate")
    accepted, score, threshold = _decide(loaded, options.load_unlabelled(a)[0], options.load_unlabelled(b)[0])
    text = f"{'accepted' if accepted else 'rejected'}: score {format_cell(score)}, threshold {format_cell(threshold)}"
    emit("verify", {"accepted": accepted, "score": score, "threshold": threshold}, text, as_json)


def _decide(model: Any, x: Any, y: Any) -> tuple[bool, float, float]:
    """The answer of a Verifier or of Prototypes for two sequences, with the score and the threshold behind it."""
    from ..verify import Verifier

    if isinstance(model, Verifier):
        decision = model.verify(x, y)
        return bool(decision.accepted), float(decision.score), float(decision.threshold)
    threshold = float(model.thresholds_.pair) if hasattr(model, "thresholds_") else 0.0  # σ(0) = ½, before calibrate
    return model.verify(x, y), model.similarity(x, y), threshold
