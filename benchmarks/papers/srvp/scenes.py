"""Pictures of one moving spot: SRVP at its defaults beside simple forecasts, a linear rival, a ConvLSTM and SVG.

    python -m benchmarks.papers.srvp.scenes

A dot that bounces off walls, a ball under gravity and a dot that bounces off in random directions, at 16 × 16: 300
clips of 30 frames to learn from, drawn anew for every seed, and always the same 100 others for the test, of which 5
frames are seen. SRVP and Separation are at the library's defaults with nothing but a limit in time; every network
trains in one thread for `--minutes` of the processor.

The scratch folder keeps checkpoints and what is trained: a row that was broken off goes on there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp import methods, page_parts, training
from benchmarks.papers.srvp.pca_ridge import PCARidge
from benchmarks.papers.srvp.scene_clips import SCENES, clips
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast import Analog, Mean, Persistence, Ridge

PAST, CHUNK, LENGTH, SIZE = 5, 25, 30, 16  # Separation learns from chunks of 25 frames, SRVP of 15
HORIZONS = (20, 25)  # steps over which errors are averaged
SAMPLES, SSIM_SAMPLES, LEVEL = 20, 10, 0.8
BRIGHT = 0.1  # of the spot's peak: where a forecast expects a part of it
ROLLOUT = 10 * CHUNK  # frames of the long forecast, whose last tenth is looked at
N_TRAIN, N_TEST, N_CALIBRATION = 300, 100, 100
TRAIN_SEED, TEST_SEED, CALIBRATION_SEED = 10, 1000, 2000  # the seed of a row is added to the first and the last
USUAL_MINUTES = 5.0

SIMPLE: dict[str, Callable[[], Any]] = {
    "mean frame": Mean,
    "persistence": Persistence,
    "ridge": partial(Ridge, lags=PAST),
    "analog": partial(Analog, window=PAST),
    "PCA + ridge": PCARidge,
}
SHORT = ("ridge", "analog")  # forecast no further than the training clips reach
NETWORKS: dict[str, dict[str, Any]] = {
    "ConvLSTM": {"conditioning": PAST, "batch_size": 32, "hidden": 32},
    "SVG": {},
    "Separation": {},
    "SRVP": {},
}
Frames = NDArray[np.float32]


class Split(NamedTuple):
    """Clips to learn from, to calibrate with, and for the test (long enough for the roll-out)."""

    train: Frames
    calibration: Frames
    test: Frames


class Scenes(Experiment[Trial]):
    """Errors, similarity, sharpness, coverage and a long roll-out."""

    paper, table, holds, without_data = "srvp", "scenes", "nothing: clips are drawn", True
    subject = ("srvp",)
    title = "SRVP: scenes of one moving spot"
    question = "SRVP on scenes of one moving spot"

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--minutes", type=float, default=USUAL_MINUTES, help="of the training of a network")

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(scene, name, seed) for scene in SCENES for name in SIMPLE)
            yield from (Trial(scene, name, seed) for name in reversed(NETWORKS) for scene in SCENES)

    def systems(self, row: Trial) -> Iterable[str]:
        own = {"SRVP": "srvp", "Separation": "separation"}
        own |= dict.fromkeys(("mean frame", "persistence", "ridge", "analog"), "forecast_baselines")
        return *([own[row.method]] if row.method in own else []), "forecast_scores"

    def work(self, row: Trial) -> Found:
        split, rollout = self._split(row), 30 if self.quick else ROLLOUT
        model, took = self._fitted(row, split)
        n_samples = SAMPLES if row.method in ("SRVP", "SVG") else 1
        past, truth = split.test[:, :PAST], split.test[:, PAST:]
        samples = methods.futures(model, past, HORIZONS[-1], n_samples, row.seed)
        found = picture_scores(truth[:, : HORIZONS[-1]], samples)
        found |= self._coverage(model, split, samples, row.seed)
        if row.method not in SHORT:
            found |= rollout_scores(truth[:, :rollout], methods.futures(model, past, rollout, 1, row.seed)[0])
        return found | took

    def _split(self, row: Trial) -> Split:
        seeds = TRAIN_SEED + row.seed, CALIBRATION_SEED + row.seed, TEST_SEED
        counts = (24, 12, 6) if self.quick else (N_TRAIN, N_CALIBRATION, N_TEST)
        lengths = LENGTH, LENGTH, PAST + ROLLOUT
        return Split(
            *(
                clips(row.dataset, n, length, size=SIZE, seed=seed)
                for n, length, seed in zip(counts, lengths, seeds, strict=True)
            )
        )

    def _fitted(self, row: Trial, split: Split) -> tuple[Any, Found]:
        if row.method in SIMPLE:
            return SIMPLE[row.method]().fit(split.train), {}
        material: Any = split.train if row.method in training.SYSTEMS else partial(chunks, split.train)
        options, minutes = NETWORKS[row.method], float(self.given.minutes)
        folder = self.scratch / "scenes" / row.dataset
        model, took = training.trained(
            row.method, options, material, minutes, row.seed, folder, self.quick, only_time=True
        )
        return model, {"minutes": 0.0 if self.quick else minutes, "options": options, **took}

    def _coverage(self, model: Any, split: Split, samples: Frames, seed: int) -> Found:
        """How often intervals hold the truth: of samples, and calibrated, for methods that have them."""
        truth, found = split.test[:, PAST : PAST + HORIZONS[-1]], dict[str, Any]()
        if len(samples) > 1:
            tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
            found["coverage raw"] = float(tl.score.coverage(truth, *np.quantile(samples, tails, axis=0)))
        # a model for every step is calibrated for every step: minutes for what nobody asks of ridge and analogs
        if isinstance(model, tl.forecast.Forecaster) and not isinstance(model, Ridge | Analog):
            many: dict[str, Any] = {"n_samples": len(samples)}
            model.calibrate(split.calibration, horizon=HORIZONS[-1], progress=False, **many)
            forecast = model.predict(split.test[:, :PAST], HORIZONS[-1], random_state=seed, **many)
            low, high = forecast.interval(LEVEL)
            found["coverage"] = float(tl.score.coverage(truth, low, high))
            bright = forecast.mean >= BRIGHT
            if bright.any():
                found["coverage bright"] = float(((low <= truth) & (truth <= high))[bright].mean())
            found["width"] = float(tl.score.interval_width(low, high))
        return found

    def seconds(self, row: Trial) -> float:
        after = {"SRVP": 120.0, "SVG": 30.0}.get(row.method, 15.0)
        return after + (60.0 * float(self.given.minutes) if row.method in NETWORKS else 0.0)

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return f"squared error {found['mse 20']:.5f} over t+1…t+20"

    def page_values(self) -> dict[str, Any]:
        return vars(page_parts) | super().page_values()


def chunks(train: Frames, rng: np.random.Generator) -> Frames:
    """A window of every training clip, as long as a chunk of SRVP."""
    starts = rng.integers(0, train.shape[1] - CHUNK + 1, len(train))
    return np.stack([clip[start : start + CHUNK] for clip, start in zip(train, starts, strict=True)])


# --- scores


def picture_scores(truth: Frames, samples: Frames) -> Found:
    """Errors of the mean of all samples by horizon, similarities and sharpness over the first horizon.

    `truth` (clip, step, *frame) and `samples` (sample, clip, step, *frame).
    """
    mean, first = samples.mean(axis=0, dtype=np.float64), HORIZONS[0]
    found: Found = {f"mse {h}": float(np.square(mean[:, :h] - truth[:, :h]).mean()) for h in HORIZONS}
    truth, some = truth[:, :first], samples[:SSIM_SAMPLES, :, :first]
    each = np.stack([np.asarray(tl.score.ssim(truth, one, per="each")).mean(axis=1) for one in some])  # (sample, clip)
    found["ssim one"] = float(each[0].mean())
    if len(some) > 1:
        found["ssim mean"] = float(tl.score.ssim(truth, some.mean(axis=0, dtype=np.float64)))
        found["ssim best"] = float(each.max(axis=0).mean())
    return found | {"sharpness": float(_peaks(some[0]) / _peaks(truth)), "n_samples": len(samples)}


def _peaks(frames: Frames) -> float:
    """The brightest pixel of a frame, on average."""
    return float(frames.max(axis=(2, 3, 4)).mean())


def rollout_scores(truth: Frames, forecast: Frames) -> Found:
    """What a long forecast is like in its last tenth, beside the truth: movement and mass."""
    if not np.isfinite(forecast).all():
        return {"finite": 0}
    last = slice(-(truth.shape[1] // 10), None)
    moves, moves_there = (np.square(np.diff(frames[:, last], axis=1)).mean() for frames in (forecast, truth))
    mass, mass_there = (frames[:, last].mean(dtype=np.float64) for frames in (forecast, truth))
    return {"finite": 1, "movement": float(moves / moves_there), "mass": float(mass / mass_there)}


# --- the page

OURS = "SRVP"
COVERED, MOVED = (0.76, 0.84), (0.5, 2.0)
Judge = Callable[[Rows, Found], tuple[bool, str]]


def _judge_error(rival: str) -> Judge:
    def judge(rows: Rows, ours: Found) -> tuple[bool, str]:
        theirs = page.need(rows, dataset=ours["dataset"], method=rival, seed=ours["seed"])[0]
        return ours["mse 20"] < theirs["mse 20"], f"{ours['mse 20']:.5f} beside {theirs['mse 20']:.5f}"

    return judge


def _judge_best_sample(rows: Rows, ours: Found) -> tuple[bool, str]:
    return ours["ssim best"] > ours["ssim mean"], f"{ours['ssim best']:.3f} beside {ours['ssim mean']:.3f}"


def _judge_coverage(rows: Rows, ours: Found) -> tuple[bool, str]:
    return COVERED[0] <= ours["coverage"] <= COVERED[1], f"{100 * ours['coverage']:.1f} %"


def _judge_movement(rows: Rows, ours: Found) -> tuple[bool, str]:
    if "movement" not in ours:
        return False, "not finite"
    return MOVED[0] <= ours["movement"] <= MOVED[1], f"{ours['movement']:.2f}"


TARGETS: dict[str, Judge] = {
    "error below PCA + ridge": _judge_error("PCA + ridge"),
    "error below ConvLSTM": _judge_error("ConvLSTM"),
    "SSIM: best of 10 above mean of 10": _judge_best_sample,
    f"calibrated coverage {100 * COVERED[0]:g} to {100 * COVERED[1]:g} %": _judge_coverage,
    f"movement {MOVED[0]:g} to {MOVED[1]:g} of the truth's": _judge_movement,
}


def headline(rows: Rows) -> str:
    """How many targets SRVP meets, and its error beside the strongest rival's in every scene."""
    found = page.need(rows, method=OURS)
    verdicts = [met for judge in TARGETS.values() for row in found for met, _ in _verdicts(rows, [row], judge)]
    parts = []
    for scene in SCENES:
        ours = having(rows, dataset=scene, method=OURS)
        others = {
            name: page.average(rows, "mse 20", dataset=scene, method=name)
            for name in (*SIMPLE, *NETWORKS)
            if name != OURS and having(rows, dataset=scene, method=name)
        }
        if ours and others:
            best, mine = min(others, key=others.__getitem__), page.average(rows, "mse 20", dataset=scene, method=OURS)
            parts.append(f"{mine / others[best]:.2f} of that of {best}, the best other method, on “{scene}”")
    beside = f"; its squared error over t+1…t+20 is {markdown.join_words(parts)}" if parts else ""
    minutes = markdown.format_range([row["minutes"] for row in found], "g")
    seeds = markdown.count_of(len(page.names(found, "seed")), "seed")
    return (
        f"After {minutes} minutes of training in one thread ({seeds}), SRVP at its defaults meets {sum(verdicts)} of "
        f"{len(verdicts)} targets on scenes of one moving spot{beside}. The thesis has no such experiment."
    )


def _verdicts(rows: Rows, found: Sequence[Found], judge: Judge) -> list[tuple[bool, str]]:
    """Of every row that has what it is compared with."""
    verdicts = []
    for row in found:
        try:
            verdicts.append(judge(rows, row))
        except page.MissingRows:
            continue
    return verdicts


def targets(rows: Rows) -> str:
    """Every target in every scene, seed by seed."""
    lines = []
    for scene in SCENES:
        found = sorted(having(rows, dataset=scene, method=OURS), key=lambda row: int(row["seed"]))
        for name, judge in TARGETS.items():
            if verdicts := _verdicts(rows, found, judge):
                shown = " · ".join(f"{'met' if met else 'NOT met'} ({numbers})" for met, numbers in verdicts)
                lines.append([scene, name, f"{sum(met for met, _ in verdicts)} of {len(verdicts)}", shown])
    if not lines:
        raise page.MissingRows(OURS)
    return markdown.table(["scene", "target", "met", "by seed"], lines, text=True)


def _of(rows: Rows, scene: str) -> dict[str, list[Found]]:
    groups = page.group_by(having(rows, dataset=scene))
    return {name: groups[name] for name in (*SIMPLE, *NETWORKS) if name in groups}


def scenes(rows: Rows, scene: str) -> str:
    """Scores of one scene."""
    columns = {
        "error t+20": page.spread_cell("mse 20", ".5f"),
        "error t+25": page.spread_cell("mse 25", ".5f"),
        "SSIM, one": page.spread_cell("ssim one"),
        "mean of 10": page.spread_cell("ssim mean"),
        "best of 10": page.spread_cell("ssim best"),
        "sharpness": page.spread_cell("sharpness", ".2f"),
        "steps": page.mean_cell("training steps", ".0f"),
        "processor minutes": lambda found: (
            f"{np.mean([row['processor seconds'] for row in found]) / 60:.1f}"
            if "processor seconds" in found[0]
            else ""
        ),
    }
    return page.tabulate("method", _of(rows, scene), columns)


def coverage(rows: Rows) -> str:
    """Coverage and mean width of calibrated intervals in percent, in every scene."""
    fields = {"of samples": "coverage raw", "calibrated": "coverage", "bright": "coverage bright", "width": "width"}
    return _by_scene(rows, fields, ".1f", 100)


def rollout(rows: Rows) -> str:
    """The last tenth of the long forecast, in every scene."""
    return _by_scene(rows, {"finite": "finite", "movement": "movement", "mass": "mass"}, ".2f", 1)


def _by_scene(rows: Rows, fields: dict[str, str], form: str, factor: float) -> str:
    """A line for every method, and columns for every scene."""

    def cell(scene: str, field: str) -> page.Cell:
        shape = "g" if field == "finite" else form

        def fill(found: Sequence[Found]) -> str:
            values = [factor * row[field] for row in found if row["dataset"] == scene and field in row]
            if field == "finite" and values:
                return f"{sum(values):g} of {len(values)}"
            return markdown.format_mean(values, shape)

        return fill

    columns = {f"{scene}: {name}": cell(scene, field) for scene in SCENES for name, field in fields.items()}
    every = page.group_by(row for row in rows.values() if any(field in row for field in fields.values()))
    return page.tabulate("method", {name: every.get(name, []) for name in (*SIMPLE, *NETWORKS)}, columns)


if __name__ == "__main__":
    sys.exit(Scenes.main())
