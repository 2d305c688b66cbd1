"""Forecasts with calibrated intervals, and a future with the content of one past and the motion of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....sequences import Sequences

_N_TRAIN, _N_OTHER = 500, 100  # pendulums to learn from; to calibrate with, to forecast, and to swap with
_STEPS = 600
_PAST, _HORIZON = 40, 20
_LEVEL = 0.8
_CODE = """\
import timelike as tl

loss = tl.forecast.SeparationLoss(state_penalty=1.0)  # what does not move is left to the content
model = tl.Separation(conditioning=20, loss=loss).fit(train).calibrate(other)
future = model.predict(past, horizon=20)
low, high = future.interval(0.8)
swapped = model.swap(content_of, dynamics_of, horizon=20)
"""


class Pendulums(NamedTuple):
    """Pendulums `sequences`, their motions around (0, 0), and where each of them hangs."""

    sequences: Sequences
    motions: NDArray[np.float64]
    places: NDArray[np.float64]


def run(n_train: int = _N_TRAIN, n_other: int = _N_OTHER, steps: int = _STEPS) -> Section:
    """Forecast pendulums beside persistence and ridge regression, and swap their places."""
    import numpy as np

    from .... import forecast, score
    from ....report import sections

    train, other = make_pendulums(n_train, 0).sequences, make_pendulums(n_other, 1).sequences
    test, partner = make_pendulums(n_other, 2), make_pendulums(n_other, 3)
    past, truth = test.sequences.crop(0, _PAST), np.stack([*test.sequences.crop(_PAST, _PAST + _HORIZON)])

    models: dict[str, forecast.Forecaster] = {
        # a greater penalty of the first state than usual: what does not move is left to the content
        "Separation": forecast.Separation(
            conditioning=20,
            loss=forecast.SeparationLoss(state_penalty=1.0),
            max_steps=steps,
            progress=False,
            random_state=0,
        ),
        "Ridge": forecast.Ridge(),
        "Persistence": forecast.Persistence(),
    }
    futures = {
        name: model.fit(train).calibrate(other, horizon=_HORIZON, progress=False).predict(past, _HORIZON)
        for name, model in models.items()
    }
    bounds = {name: future.interval(_LEVEL) for name, future in futures.items()}
    errors = {name: float(score.mse(truth, future.mean)) for name, future in futures.items()}
    errors["Analog"] = float(score.mse(truth, forecast.Analog(k=3).fit(train).predict(past, _HORIZON).mean))
    coverages = {name: float(score.coverage(truth, *ends)) for name, ends in bounds.items()}
    widths = {name: float(score.interval_width(*ends)) for name, ends in bounds.items()}

    # the motion of the partner, seen where the first one hangs: known, as these are our pendulums
    separation, motion_past = models["Separation"], partner.sequences.crop(0, _PAST)
    assert isinstance(separation, forecast.Separation)
    swap_truth = (partner.motions + test.places)[:, _PAST:]
    swap_error = float(score.mse(swap_truth, separation.swap(past, motion_past, _HORIZON).mean))
    own_error = float(score.mse(swap_truth, separation.predict(motion_past, _HORIZON).mean))
    grid = forecast.swap_grid(
        separation, past[:2], motion_past[:2], _HORIZON, truth=partner.sequences[:2].crop(_PAST, _PAST + _HORIZON)
    )
    combined = (partner.motions[None, :2] + test.places[:2, None])[:, :, _PAST:]

    steps_ahead = f"t+1…t+{_HORIZON}"
    rows = [[name, errors[name], f"{coverages[name]:.0%}", widths[name]] for name in models]
    rows.append(["Analog", errors["Analog"], "–", "–"])
    return Section(
        title="A forecast with an interval, and its content and motion swapped",
        purpose="Separation forecasts many sequences of one law, with intervals that keep their promise, where what "
        "moves does not move linearly: machines, bodies, fields.",
        scores=(
            *(
                Score(
                    method="Separation",
                    measure=f"squared error, {steps_ahead}",
                    value=errors["Separation"],
                    rival=name,
                    rival_value=errors[name],
                    better="lower",
                )
                for name in ("Analog", "Ridge", "Persistence")
            ),
            Score(
                method="Separation",
                measure=f"width of {_LEVEL:.0%} intervals",
                value=widths["Separation"],
                rival="Ridge",
                rival_value=widths["Ridge"],
                better="lower",
            ),
            Score(
                method="Separation, swapped",
                measure="squared error from the true swap",
                value=swap_error,
                rival="not swapped",
                rival_value=own_error,
                better="lower",
            ),
        ),
        parts=(
            sections.paragraph(
                f"Generated data: the positions of {n_train} noisy pendulums with rods of several lengths, which hang "
                f"in several places. Of {n_other} others, {_PAST} steps are known and {_HORIZON} are forecast; "
                f"{n_other} more calibrate the intervals of every method. If pendulums of the same kind come, "
                f"intervals of {_LEVEL:.0%} hold the truth about {_LEVEL:.0%} of the time, whatever the method: a "
                "better one has narrower intervals. Analog averages what followed the three most similar pasts. Two "
                "options of Separation were set by hand for such pendulums: it reads 20 steps, and a greater penalty "
                "of the first state leaves what does not move to the content."
            ),
            sections.table(["method", f"squared error, {steps_ahead}", f"in intervals of {_LEVEL:.0%}", "width"], rows),
            sections.figure_html(
                futures["Separation"].plot(0, level=_LEVEL, truth=truth[0]),
                f"The sideways position of a pendulum: the past, the forecast with its interval of {_LEVEL:.0%}, and "
                "what came.",
            ),
            sections.paragraph(
                "Separation describes a past by a content, which stays, and a state, which moves by a learned "
                "equation; nobody says what is which. Swapping them asks how one pendulum would go on in the place of "
                "another. The data are generated, so the true answer is known."
            ),
            sections.figure_html(
                grid.plot(truth=combined),
                "Contents: two pendulums in their places (left). Motions: two others (above). Where they meet: the "
                "forecast of that motion in that place, dashed what it would be in truth.",
            ),
        ),
        code=_CODE,
    )


def make_pendulums(n: int, seed: int) -> Pendulums:
    """Noisy pendulums of several rods in several places."""
    import numpy as np

    from ....sequences import Sequences
    from ....sequences.generate import pendulum

    length = _PAST + _HORIZON
    swings = pendulum(n, length, rod=(0.5, 1.5), observe="position", noise=0.02, random_state=seed).sequences
    places = np.random.default_rng(100 + seed).uniform(-1.5, 1.5, size=(n, 1, 2))
    motions = np.stack([*swings])
    return Pendulums(Sequences(motions + places, channel_names=("sideways", "upwards")), motions, places)


CHAPTER = Chapter(name="forecast", run=run, needs_torch=True)
