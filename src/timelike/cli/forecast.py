"""`timelike forecast`: what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loaded_model import ModelFolder, open_model, require_forecaster
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .options.ranges import check_open_unit
from .output import AsJson, emit, format_table, json_fields
from .targets import check_picture_target, check_sequences_target, save_figure, with_parent

if TYPE_CHECKING:
    from ..forecast import Forecast
    from ..sequences import Sequences

_TABLES = (".csv", ".parquet")  # formats whose columns have names, so that bounds can stand beside the mean


@json_fields(
    ids="list of texts: the sequences",
    mean="list: the expected future of each, (sequence, step, *frame)",
    low="list or null: the lower bound of the interval, where the forecast has one",
    high="list or null: the upper bound",
    level="number: the probability that the truth lies between them, per step and channel",
    samples="list or null: with --samples the futures that were drawn, (sample, sequence, step, *frame)",
    file="text or null: the file with the expected futures",
    plot="text or null: the picture of the first sequence",
)
@with_data_options
def forecast(
    model: ModelFolder,
    source: Source,
    horizon: Annotated[int, typer.Option(help="How many steps.", min=1)],
    samples: Annotated[
        int, typer.Option(help="Futures to draw, from a method that draws them; --json lists them.", min=1)
    ] = 1,
    level: Annotated[float, typer.Option(help="Of the intervals, between 0 and 1.", callback=check_open_unit)] = 0.8,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Data that are neither learned from nor forecast, for calibrated intervals; of an official split the "
            "test part.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the expected futures, in .csv and .parquet with their bounds.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the first sequence and its future.")] = None,
    seed: Annotated[int, typer.Option(help="Of the futures that are drawn.", min=0)] = 0,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Forecast sequences; where the data have a test part, those.

    Examples:
      timelike learn BasicMotions --method ridge --out next
      timelike forecast next BasicMotions --horizon 3
    """
    check_sequences_target(out, "--out")
    check_picture_target(plot, "--plot")
    loaded, options = open_model(model, data)
    forecaster = require_forecaster(loaded)
    if calibrate is not None:
        options.refuse_calibration(calibrate, source)
        forecaster.calibrate(options.load_unlabelled(calibrate, "test"))
    options.warn_about_overlap(source, "test")
    X = options.load_unlabelled(source, "test")
    found = forecaster.predict(X, horizon, n_samples=samples, random_state=seed)
    low, high = found.interval(level) if found.has_interval(level) else (None, None)
    if out is not None:
        _to_written_sequences(found, low, high, out).save(with_parent(out))
    if plot is not None:
        save_figure(found.plot(level=level if low is not None else None), plot)
    note = _explain_missing_bounds(found, level) if low is None else ""
    fields = {
        "ids": sequence_names(X),
        "mean": found.mean,
        "low": low,
        "high": high,
        "level": level,
        "samples": found.samples if samples > 1 else None,
        "file": None if out is None else str(out),
        "plot": None if plot is None else str(plot),
    }
    if note:
        typer.echo(f"timelike: {note}", err=True)
    text = [_format_forecast(fields["ids"], found, low, high), *(f"wrote {one}" for one in (out, plot) if one)]
    emit("forecast", fields, "\n".join(text), as_json)


def _explain_missing_bounds(found: Forecast, level: float) -> str:
    """Why there are no bounds, where somebody may expect them; nothing for a single future."""
    if found.calibration is not None:
        return f"no bounds of level {level:g}: too few windows of the calibration data reach so far; name more of them"
    if len(found.samples) > 1:
        return f"no bounds of level {level:g} from {len(found.samples)} futures: draw more with --samples"
    return ""


def _to_written_sequences(found: Forecast, low: Any, high: Any, out: Path) -> Sequences:
    """The expected futures, and in a table also the bounds, as columns behind them."""
    from ..sequences import Sequences

    mean = found.to_sequences()
    if low is None or low.ndim > 3 or out.suffix.lower() not in _TABLES:
        return mean
    import numpy as np

    names = [str(name) for name in found.channel_names or range(low.shape[2])]
    columns = [*names, *(f"{name} {bound}" for bound in ("low", "high") for name in names)]
    values = np.concatenate([found.mean, low, high], axis=2)
    return Sequences(values, times=found.times, ids=mean.ids, channel_names=columns)


def _format_forecast(names: Any, found: Forecast, low: Any, high: Any) -> str:
    """A line for every sequence, step and channel; of frames that are images only how many there are."""
    from ..core.parameters import format_count

    mean = found.mean
    if mean.ndim > 3:
        counts = f"{format_count(mean.shape[0], 'future')} of {format_count(mean.shape[1], 'frame')}"
        return f"{counts} {mean.shape[2:]}: write them with --out"
    channels = found.channel_names or [str(number) for number in range(mean.shape[2])]
    columns = ("id", "step", "channel", "mean", *(() if low is None else ("low", "high")))
    rows = [
        (name, step + 1, channel, *(float(part[item, step, c]) for part in (mean, low, high) if part is not None))
        for item, name in enumerate(names)
        for step in range(mean.shape[1])
        for c, channel in enumerate(channels)
    ]
    return format_table(columns, rows)
