"""What is experimental in SRVP beside SRVP: learned delays, a content that drifts, and the terms of Separation.

    python -m benchmarks.papers.srvp.experimental

Three small worlds, each made for one of the options (thesis, 8.1.1, 8.2.2.3 and 8.2.2.1), series of 40 frames, 400 to
learn from and 60 others asked about: 5 frames are seen and 35 forecast, with chunks of 17 frames in training.

- bounces: a point in a box, straight from wall to wall, where a speed is drawn anew, for `delays`;
- fading: a spot that goes round a ring of 12 cells, while its brightness wanders, for `drift`;
- strings: 8 channels of one wave, each with an amplitude of its own, which is the content, for the merged model.

Forms of SRVP have the same sizes, seeds and number of training steps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from benchmarks.model_options import build_model
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

import timelike as tl
from timelike.forecast import Persistence, Ridge

PARTICULAR = {  # scores of one kind of series alone
    "bounces": ("elbo", "events", "bounce", "any"),
    "fading": ("content",),
    "strings": ("elbo", "swap"),
}

N_TRAIN, N_TEST, LENGTH, PAST, CHUNK, STEPS, SAMPLES = 400, 60, 40, 5, 17, 800, 50
SIZES: dict[str, Any] = {
    "hidden": 64,
    "motion_hidden": 64,
    "n_state": 16,
    "n_code": 32,
    "n_content": 16,
    "batch_size": 32,
}
FORMS: dict[str, dict[str, Any]] = {
    "SRVP": {},
    "SRVP, delays": {"delays": True},
    "SRVP, delays, haste 5": {"delays": True, "delay_penalty": (5.0, 1.0)},
    "SRVP, drift 0.1": {"drift": 0.1},
    "SRVP, drift 0.03": {"drift": 0.03},
    "SRVP, merged": {"invariance_weight": 1.0, "autoencoding_weight": 1.0},
}
PLAN = {
    "bounces": ("Persistence", "Ridge", "SRVP", "SRVP, delays", "SRVP, delays, haste 5"),
    "fading": ("Persistence", "Ridge", "SRVP", "SRVP, drift 0.03", "SRVP, drift 0.1"),
    "strings": ("Persistence", "Ridge", "SRVP", "SRVP, merged", "Separation"),
}
Floats = NDArray[np.float64]


class World(NamedTuple):
    """Series (item, time, channel), and what is known about them, such as the times of bounces."""

    series: Floats
    known: dict[str, NDArray[Any]]


def bounces(n: int, rng: np.random.Generator) -> World:
    """On each axis a speed of its own, drawn anew at every wall; walls are met between frames too."""
    place, times = rng.random((n, 2)), np.full((n, LENGTH, 2), np.nan)
    speed = rng.uniform(0.05, 0.15, (n, 2)) * rng.choice([-1, 1], (n, 2))
    found = [place]
    for t in range(LENGTH - 1):
        wall = (speed > 0).astype(float)
        until = (wall - place) / speed  # frames to the wall ahead
        fresh = -np.sign(speed) * rng.uniform(0.05, 0.15, (n, 2))
        hit = until < 1
        times[:, t] = np.where(hit, t + until, np.nan)
        place = np.where(hit, wall + (1 - until) * fresh, place + speed)
        speed = np.where(hit, fresh, speed)
        found.append(place)
    return World(np.stack(found, axis=1) + 0.01 * rng.standard_normal((n, LENGTH, 2)), {"times": times})


def fading(n: int, rng: np.random.Generator) -> World:
    """The logarithm of the brightness is a random walk of deviation 0.08; speeds are constant."""
    walk = np.cumsum(0.08 * rng.standard_normal((n, LENGTH)), axis=1)
    bright = np.exp(walk + 0.3 * rng.standard_normal((n, 1)))
    place = rng.uniform(0, 2 * np.pi, (n, 1)) + rng.uniform(0.2, 0.5, (n, 1)) * np.arange(LENGTH)
    cells = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    return World(bright[..., None] * np.exp(3 * (np.cos(place[..., None] - cells) - 1)), {"bright": bright})


def strings(n: int, rng: np.random.Generator) -> World:
    """Amplitudes times a wave: the truth of a swap is the product of another's amplitudes and this wave."""
    high = rng.uniform(0.2, 1.8, (n, 1, 8))
    speed, phase = rng.uniform(0.2, 0.6, (n, 1, 1)), rng.uniform(0, 2 * np.pi, (n, 1, 1))
    wave = np.sin(speed * np.arange(LENGTH)[:, None] + phase + np.arange(8) / 2)
    return World(high * wave, {"high": high, "wave": wave})


WORLDS: dict[str, Callable[[int, np.random.Generator], World]] = {
    "bounces": bounces,
    "fading": fading,
    "strings": strings,
}


class Experimental(Experiment[Trial]):
    """Forecasts of every form, and what its option is for."""

    paper, table, holds, without_data = "srvp", "experimental", "nothing: series are drawn", True
    subject = ("srvp",)
    title = "SRVP: what is experimental"
    question = "SRVP's experimental options beside SRVP without them"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(world, name, seed) for world, names in PLAN.items() for name in names)

    def systems(self, row: Trial) -> Iterable[str]:
        own = "srvp" if row.method in FORMS else "separation" if row.method == "Separation" else "forecast_baselines"
        return own, "forecast_scores"

    def work(self, row: Trial) -> Found:
        learned, asked = (WORLDS[row.dataset](n, np.random.default_rng([7, row.seed, n])) for n in (N_TRAIN, N_TEST))
        began, model = time.process_time(), self._model(row)
        model.fit(learned.series)
        took = {"processor seconds": time.process_time() - began}
        past, truth = asked.series[:, :PAST], asked.series[:, PAST:]
        forms: dict[str, Any] = {"n_samples": SAMPLES, "random_state": 0} if row.method in FORMS else {}
        forecast = model.predict(past, LENGTH - PAST, **forms)
        samples = np.asarray(forecast.samples)
        found: Found = {}
        for name, span in (("within", slice(0, CHUNK - PAST)), ("after", slice(CHUNK - PAST, None))):
            found[f"mse {name}"] = float(tl.score.mse(truth[:, span], np.asarray(forecast.mean)[:, span]))
            found[f"crps {name}"] = float(tl.score.crps(truth[:, span], samples[:, :, span]))
        if row.method in FORMS and "elbo" in PARTICULAR[row.dataset]:
            found["elbo"] = float(model.elbo(asked.series[:, :CHUNK], n_samples=2, random_state=0).elbo.mean())
        return found | self._particular(row, model, learned, asked) | took

    def _model(self, row: Trial) -> Any:
        given: dict[str, Any] = {
            "max_steps": 3 if self.quick else STEPS,
            "progress": False,
            "random_state": row.seed,
            "chunk": CHUNK,
        }
        if row.method in FORMS:
            return build_model("SRVP", **SIZES, **FORMS[row.method], **given)
        if row.method == "Separation":
            return tl.Separation(**given)
        return Persistence() if row.method == "Persistence" else Ridge(lags=PAST)

    def _particular(self, row: Trial, model: Any, learned: World, asked: World) -> Found:
        """What the option of a world is for."""
        if row.dataset == "bounces" and row.method in FORMS:
            return event_scores(model.events(asked.series[:, :CHUNK]), asked.known["times"])
        if row.dataset == "fading" and row.method in FORMS:
            return {"content": brightness_known(model, learned, asked)}
        if row.dataset == "strings" and row.method in (*FORMS, "Separation"):
            return {"swap": swap_error(model, asked)}
        return {}

    def seconds(self, row: Trial) -> float:
        return 90.0 if "delays" in row.method else 30.0 if row.method in FORMS else 10.0

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return f"CRPS {found['crps within']:.4f} within the trained length, {found['crps after']:.4f} after it"


def event_scores(events: list[Floats], times: Floats) -> Found:
    """How many draws of z a chunk has, and how far the nearest is from a bounce, and from any time."""
    grid = np.linspace(0, CHUNK - 1, 321)
    at_bounces, anywhere = [], []
    for starts, hits in zip(events, times, strict=True):
        some = hits[hits < CHUNK - 1]  # NaN, where there is none, is not less
        at_bounces += np.abs(some[:, None] - starts).min(axis=1).tolist()
        anywhere += np.abs(grid[:, None] - starts).min(axis=1).tolist()
    counts = [len(starts) for starts in events]
    found = {"events": np.mean(counts), "bounce": np.mean(at_bounces), "any": np.mean(anywhere)}
    return {name: float(value) for name, value in found.items()}


def brightness_known(model: Any, learned: World, asked: World) -> float:
    """The share of variance of the last brightness that a linear map of the content explains on series asked about."""
    some = [World(world.series[:150], {"bright": world.known["bright"][:150]}) for world in (learned, asked)]
    code = [model.encode(world.series)[:, : model.n_content] for world in some]
    late = [world.known["bright"][:, -1] for world in some]
    return float(LinearRegression().fit(code[0], late[0]).score(code[1], late[1]))


def swap_error(model: Any, asked: World) -> float:
    """The squared error, over what was trained for, of the amplitudes of one series with the wave of another."""
    past, ahead = asked.series[:, :PAST], CHUNK - PAST
    truth = asked.known["high"][::-1] * asked.known["wave"][:, PAST:CHUNK]
    more: dict[str, Any] = {"n_samples": SAMPLES, "random_state": 0} if isinstance(model, tl.SRVP) else {}
    swapped = model.swap(past[::-1], past, ahead, **more).mean
    return float(tl.score.mse(truth, np.asarray(swapped)))


# --- the page

SCORE_FORMS = {  # where they are measured, how they are written
    "mse within": ("MSE t+1…t+12", ".4f"),
    "crps within": ("CRPS t+1…t+12", ".4f"),
    "crps after": ("CRPS t+13…t+35", ".4f"),
    "elbo": ("ELBO", ".1f"),
    "events": ("draws of z", ".1f"),
    "bounce": ("from a bounce", ".2f"),
    "any": ("from any time", ".2f"),
    "content": ("w knows the brightness", ".2f"),
    "swap": ("MSE of swaps", ".4f"),
}
SIMPLE = {"Persistence": 0, "Ridge": 1, "Separation": 3}  # where they stand; forms of SRVP in between


def headline(rows: Rows) -> str:
    """For every option, how its CRPS compares with SRVP's within the trained length."""
    ratios = {f"`{n.removeprefix('SRVP, ')}`": _ratios(pairs, "crps within") for n, pairs in _pairs(rows).items()}
    if not ratios:
        raise page.MissingRows("forms of SRVP")
    better = [name for name, some in ratios.items() if max(some) < 1]
    helps = (
        f"{markdown.join_words(better)} {'helps' if len(better) == 1 else 'help'} in every seed"
        if better
        else "none helps"
    )
    seeds = markdown.count_of(max(row["seed"] for row in rows.values()) + 1, "seed")
    agrees = "contradicts" if any("delays" in name for name in better) else "agrees with"
    words = markdown.join_words([f"{name} {mean(some):.2f}" for name, some in ratios.items()])
    return (
        f"Each experimental option of SRVP multiplies its error (CRPS, {seeds}) by this factor: {words}; {helps}. The "
        f"thesis tried learned delays without success, which this {agrees}, and only proposes the other options."
    )


def _pairs(rows: Rows, *worlds: str) -> dict[str, list[tuple[Found, Found]]]:
    """Rows of every form beside those of SRVP with the same seed."""
    pairs: dict[str, list[tuple[Found, Found]]] = {}
    for world in worlds or PARTICULAR:
        plain = {row["seed"]: row for row in having(rows, dataset=world, method="SRVP")}
        for row in having(rows, dataset=world):
            if row["method"].startswith("SRVP,") and row["seed"] in plain:
                pairs.setdefault(row["method"], []).append((row, plain[row["seed"]]))
    return pairs


def _ratios(pairs: list[tuple[Found, Found]], key: str) -> list[float]:
    return [one[key] / other[key] for one, other in pairs]


def scores(rows: Rows, world: str) -> str:
    """What every method has, and what an option is for."""
    found = sorted(page.need(rows, dataset=world), key=lambda row: (SIMPLE.get(row["method"], 2), row["method"]))
    names = (*list(SCORE_FORMS)[:3], *PARTICULAR[world])
    columns = {SCORE_FORMS[name][0]: page.spread_cell(name, SCORE_FORMS[name][1]) for name in names}
    return page.tabulate(
        "method", page.group_by(found), columns | {"processor seconds": page.spread_cell("processor seconds", ".0f")}
    )


def beside_srvp(rows: Rows, world: str) -> str:
    """How each form compares with SRVP, seed by seed."""
    words = {"crps within": "CRPS within the trained length", "crps after": "CRPS after it"}
    words |= {"swap": "swaps"} if world == "strings" else {}
    return page.bullets(
        f"{name}: " + ", ".join(_compared(title, _ratios(pairs, key)) for key, title in words.items()) + "."
        for name, pairs in _pairs(rows, world).items()
    )


def _compared(title: str, ratios: list[float]) -> str:
    better = sum(ratio < 1 for ratio in ratios)
    return f"{title} {markdown.format_mean(ratios, '.2f')} of SRVP's (less in {better} of {len(ratios)} seeds)"


if __name__ == "__main__":
    sys.exit(Experimental.main())
