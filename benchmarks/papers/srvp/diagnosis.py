"""Where SRVP fails on pictures: reconstructions, samples, the parts of its loss, and posterior beside prior of z.

    python -m benchmarks.papers.srvp.diagnosis --figures docs/images/srvp

From one clip that is learned by heart to two digits: scenes of one spot (`scene_clips`) and scikit-learn's digits, at
16 × 16 and 32 × 32. SRVP is at its defaults, with other codecs, and with the thesis's sizes and settings at a quarter
of the widths; each trains in one thread for `--minutes` of the processor.

The scratch folder keeps what is trained and the pictures that the figures show.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.model_options import build_model, change_options
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp import diagnosis_figures as figures, training
from benchmarks.papers.srvp.scene_clips import clips
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast.srvp.gaussian import standard_normal_noise
from timelike.forecast.srvp.objective import sample_states
from timelike.sequences import generate
from timelike.train.clock import use_clock

PAST, AHEAD, LENGTH = 5, 20, 30
N_TRAIN, N_TEST, SAMPLES, SHOWN = 300, 50, 20, 3
POINTS = 100  # of a curve
USUAL_MINUTES = 3.0
SPEED = (1.0, 2.5)  # of digits in 32 × 32, pixels per frame
Frames = NDArray[np.float32]


def _one_clip(n: int, seed: int, part: str) -> Frames:
    return clips("dot", 1, LENGTH, seed=seed)  # the same clip for training and test


def _dot(n: int, seed: int, part: str) -> Frames:
    return clips("dot", n, LENGTH, seed=seed if part == "train" else 1000)


def _digits(n_digits: int, size: int) -> Callable[[int, int, str], Frames]:
    def draw(n: int, seed: int, part: str) -> Frames:
        speed = SPEED[0] * size / 32, SPEED[1] * size / 32
        made = generate.moving_digits(
            n, LENGTH, n_digits=n_digits, size=size, speed=speed, split=part, random_state=seed
        )
        return np.stack(list(made.sequences))

    return draw


SETS: dict[str, Callable[[int, int, str], Frames]] = {
    "one clip": _one_clip,
    "dot": _dot,
    "one digit, 16": _digits(1, 16),
    "two digits, 16": _digits(2, 16),
    "one digit, 32": _digits(1, 32),
    "two digits, 32": _digits(2, 32),
}
THESIS = {"scale": 0.25, "chunk": None, "max_steps": None}  # 16 filters, as frames are a quarter or a half as wide
FORMS: dict[str, Callable[[], Any]] = {
    "defaults": lambda: build_model("SRVP"),
    "perceptron": lambda: build_model("SRVP", codec="perceptron"),
    "DCGAN": lambda: build_model("SRVP", codec="dcgan"),
    "thesis's sizes": lambda: tl.SRVP.preset(
        "digits", **THESIS, trainer=None, observation_std=None, beta=1.0, motion_penalty=0.1, standardize=True
    ),
    "thesis's settings": lambda: tl.SRVP.preset("digits", **THESIS),
}
CURVES = ("likelihood", "first_kl", "random_kl", "path_length", "gradient_norm", "rate")


class Diagnosis(Experiment[Trial]):
    """What each part of SRVP has learned after a short training."""

    paper, table, holds, without_data = "srvp", "diagnosis", "nothing: clips are drawn", True
    subject = ("srvp",)
    title = "SRVP: where it fails on pictures"
    question = "where SRVP fails on pictures"
    seeds, draws = 1, True

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--minutes", type=float, default=USUAL_MINUTES, help="of the training of a network")

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(name, form, seed) for form in FORMS for name in SETS)

    def systems(self, row: Trial) -> Iterable[str]:
        return "srvp", *(["generators"] if "digit" in row.dataset else []), "forecast_scores"

    def work(self, row: Trial) -> Found:
        counts = (24, 3) if self.quick else (N_TRAIN, N_TEST)
        train, test = (SETS[row.dataset](n, row.seed, part) for n, part in zip(counts, ("train", "test"), strict=True))
        minutes, began = float(self.given.minutes), time.process_time()
        model = self._trained(row, train, minutes)
        found: Found = {"minutes": 0.0 if self.quick else minutes, "processor seconds": time.process_time() - began}
        found |= {"training steps": model.history_.n_steps, "curves": curves(model.history_)}
        shown, scores = score_pictures(model, train, test, row.seed)
        place = self._pictures(row.dataset, row.method, row.seed)
        place.parent.mkdir(parents=True, exist_ok=True)
        _save_pictures(place, shown)
        return found | scores | divergences(model, test[:, : PAST + AHEAD], row.seed)

    def _trained(self, row: Trial, train: Frames, minutes: float) -> Any:
        limits: dict[str, Any] = {"max_steps": training.QUICK} if self.quick else {"max_time": 60 * minutes}
        name = f"{figures.slug(row.dataset, row.method, row.seed)}-{minutes:g}-{training.numerics_word('SRVP')}"
        place = self.scratch / "diagnosis" / ("quick-" * self.quick + name)
        place.parent.mkdir(parents=True, exist_ok=True)
        how = limits | {"checkpoint": place, "progress": False, "random_state": row.seed}
        with use_clock(time.process_time):  # a busy machine makes no row worse
            return change_options(FORMS[row.method](), **how).fit(train)

    def _pictures(self, dataset: str, method: str, seed: int) -> Path:
        """What a strip shows."""
        return self.scratch / "diagnosis" / f"{figures.slug(dataset, method, seed)}.npz"

    def seconds(self, row: Trial) -> float:
        return 60.0 * float(self.given.minutes) + (90.0 if row.dataset.endswith("32") else 40.0)

    def kind(self, row: Trial) -> str:
        return row.dataset[-2:]

    def said(self, found: Found) -> str:
        return f"reconstruction {found['reconstruction']:.2f} and forecast {found['forecast']:.2f} of the mean frame's"

    def draw(self, folder: Path) -> None:
        for row in self.rows.values():
            name = row["dataset"], row["method"], row["seed"]
            figures.draw_curves(row, folder, CURVES)
            if (place := self._pictures(*name)).exists():
                figures.draw_strip(place, folder / f"{figures.slug(*name)}_strip.png", PAST)


def _save_pictures(path: Path, pictures: dict[str, Frames]) -> None:
    arrays: dict[str, Any] = dict(pictures)
    np.savez_compressed(path, **arrays)


# --- what is measured


def score_pictures(model: Any, train: Frames, test: Frames, seed: int) -> tuple[dict[str, Frames], Found]:
    """Pictures of the first test clip, and errors of reconstructions and forecasts divided by the mean frame's."""
    seen = test[:, : PAST + AHEAD]
    truth, mean_frame = seen[:, PAST:], train.mean(axis=(0, 1))
    rebuilt = np.stack(list(model.reconstruct(seen)))
    samples = np.asarray(model.predict(seen[:, :PAST], AHEAD, n_samples=SAMPLES, random_state=seed).samples)
    mean = samples.mean(axis=0)
    whole, future = (float(np.square(frames - mean_frame).mean()) for frames in (seen, truth))
    found: Found = {
        "reconstruction": float(np.square(rebuilt - seen).mean()) / whole,
        "forecast": float(np.square(mean - truth).mean()) / future,
        "one sample": float(np.square(samples[0] - truth).mean()) / future,
        "sharpness": float(samples[0].max(axis=(2, 3, 4)).mean() / truth.max(axis=(2, 3, 4)).mean()),
        "spread": float(samples.std(axis=0).mean()),
        "deviation": float(model.network_.observation_std.detach()),
    }
    shown = {"input": seen[0], "reconstruction": rebuilt[0], "mean": mean[0]}
    shown |= {f"sample {k + 1}": samples[k, 0] for k in range(SHOWN)}
    return shown, found


def divergences(model: Any, test: Frames, seed: int) -> Found:
    """Nats by which the posterior of z is away from the prior at every step, and that of the first state."""
    rollout, generator = model._make_rollout(), torch.Generator().manual_seed(seed)
    x, network = model._double_frames(tl.Sequences(test)), rollout.network
    with torch.no_grad():
        codes, _ = rollout.encode_frames(x)
        first, random = network.first_state_posterior(codes), network.random_posterior(codes)
        y = first.sample(standard_normal_noise(first.mean.shape, x, generator))
        states, _ = sample_states(network, y, random, x.shape[1], generator)
        apart = random.kl_divergence(network.random_prior(states[:, :-1])).mean(0)
    return {"first kl": float(first.kl_from_standard().mean()), "kl by step": [round(float(one), 5) for one in apart]}


def curves(history: Any) -> dict[str, dict[str, list[float]]]:
    """Steps and values of the parts of the loss, thinned to means of equally many steps."""
    found: dict[str, dict[str, list[float]]] = {}
    for name in CURVES:
        values = history[name]
        if len(values):
            parts = np.array_split(np.arange(len(values)), min(POINTS, len(values)))
            steps = history.steps(name)
            found[name] = {
                "steps": [int(steps[part[-1]]) for part in parts],
                "values": [float(f"{values[part].mean():.6g}") for part in parts],
            }
    return found


# --- the page

GOOD = 0.5  # of the mean frame's error


def headline(rows: Rows) -> str:
    """How far each form comes: the sets that it reconstructs, and those that it forecasts."""
    parts = []
    for form, found in page.group_by(page.need(rows)).items():
        rebuilt, ahead = (sum(row[name] <= GOOD for row in found) for name in ("reconstruction", "forecast"))
        parts.append(f"{form} reconstructs {rebuilt} and forecasts {ahead} of {len(found)}")
    minutes = markdown.format_range([row["minutes"] for row in rows.values()], "g")
    return (
        f"After {minutes} minutes of training in one thread, with at most half of the squared error of the mean frame: "
        f"{markdown.join_words(parts)} sets of clips. The thesis has no such experiment."
    )


def stages(rows: Rows) -> str:
    """Errors, divergences and deviations of every set and form."""
    columns = {
        "reconstruction": page.spread_cell("reconstruction", ".2f"),
        "mean of samples": page.spread_cell("forecast", ".2f"),
        "one sample": page.spread_cell("one sample", ".2f"),
        "sharpness": page.spread_cell("sharpness", ".2f"),
        "spread": page.spread_cell("spread"),
        "KL of y₁": page.spread_cell("first kl", ".1f"),
        "KL of z, first step": lambda found: _kl(found, slice(0, 1)),
        "steps seen": lambda found: _kl(found, slice(0, PAST - 1)),
        "later steps": lambda found: _kl(found, slice(PAST - 1, None)),
        "deviation": page.spread_cell("deviation"),
        "training steps": page.mean_cell("training steps", ".0f"),
    }
    groups = {f"{name}: {form}": having(rows, dataset=name, method=form) for name in SETS for form in FORMS}
    return page.tabulate("clips: form", groups, columns)


def _kl(found: Any, steps: slice) -> str:
    return markdown.format_mean([float(np.mean(row["kl by step"][steps])) for row in found], ".3g")


def pictures(rows: Rows) -> str:
    """The figures that have been drawn."""
    shown = []
    for row in rows.values():
        name = figures.slug(row["dataset"], row["method"], row["seed"])
        for kind in ("strip", "curves"):
            if (Path(figures.FOLDER) / f"{name}_{kind}.png").exists():
                title = f"{row['dataset']}: {row['method']}, {kind}"
                shown.append(f"![{title}](../../{figures.FOLDER}/{name}_{kind}.png)")
    if not shown:
        raise page.MissingRows("no figure is drawn")
    return "\n\n".join(shown)


if __name__ == "__main__":
    sys.exit(Diagnosis.main())
