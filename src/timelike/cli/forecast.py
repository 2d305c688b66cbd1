"""`timelike forecast`: what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loaded_model import ModelFolder, open_model, require_forecaster
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .output import AsJson, emit, format_table, json_fields

if TYPE_CHECKING:
    from ..forecast import Forecast


@json_fields(
    ids="list of texts: the sequences",
    mean="list: the expected future of each, (sequence, step, *frame)",
    low="list or null: the lower bound of the interval, where the forecast has one",
    high="list or null: the upper bound",
    level="number: the probability that the truth lies between them, per step and channel",
    file="text or null: the file with the expected futures",
    plot="text or null: the picture of the first sequence",
)
@with_data_options
def forecast(
    model: ModelFolder,
    source: Source,
    horizon: Annotated[int, typer.Option(help="How many steps.", min=1)],
    samples: Annotated[int, typer.Option(help="Futures to draw, from a method that draws them.", min=1)] = 1,
    level: Annotated[float, typer.Option(help="Of the intervals.", min=0, max=1)] = 0.8,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Data that are neither learned from nor forecast, for calibrated intervals; of an official split the "
            "test part.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the expected futures; the suffix says the format.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the first sequence and its future.")] = None,
    seed: Annotated[int, typer.Option(help="Of the futures that are drawn.")] = 0,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Forecast sequences; where the data have a test part, those.

    Examples:
      timelike learn BasicMotions --method ridge --out next
      timelike forecast next BasicMotions --horizon 3
    """
    loaded, options = open_model(model, data)
    forecaster = require_forecaster(loaded)
    if calibrate is not None:
        options.refuse_calibration(calibrate, source)
        forecaster.calibrate(options.load_unlabelled(calibrate, "test"))
    options.warn_about_overlap(source, "test")
    X = options.load_unlabelled(source, "test")
    found = forecaster.predict(X, horizon, n_samples=samples, random_state=seed)
    low, high = found.interval(level) if _has_interval(found) else (None, None)
    if out is not None:
        found.to_sequences().save(out)
    if plot is not None:
        found.plot(level=level if low is not None else None).savefig(plot)
    fields = {
        "ids": sequence_names(X),
        "mean": found.mean,
        "low": low,
        "high": high,
        "level": level,
        "file": None if out is None else str(out),
        "plot": None if plot is None else str(plot),
    }
    text = [_format_forecast(fields["ids"], found, low, high), *(f"wrote {one}" for one in (out, plot) if one)]
    emit("forecast", fields, "\n".join(text), as_json)


def _has_interval(found: Forecast) -> bool:
    return found.calibration is not None or len(found.samples) > 1


def _format_forecast(names: Any, found: Forecast, low: Any, high: Any) -> str:
    """A line for every sequence, step and channel; of frames that are images only how many there are."""
    mean = found.mean
    if mean.ndim > 3:
        return f"{mean.shape[0]} futures of {mean.shape[1]} frames {mean.shape[2:]}: write them with --out"
    channels = found.channel_names or [str(number) for number in range(mean.shape[2])]
    columns = ("id", "step", "channel", "mean", *(() if low is None else ("low", "high")))
    rows = [
        (name, step + 1, channel, *(float(part[item, step, c]) for part in (mean, low, high) if part is not None))
        for item, name in enumerate(names)
        for step in range(mean.shape[1])
        for c, channel in enumerate(channels)
    ]
    return format_table(columns, rows)
