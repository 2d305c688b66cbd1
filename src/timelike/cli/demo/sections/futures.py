"""Several futures of a small scene: SRVP beside ridge regression and the last frame."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    from ....sequences import Sequences

_N_TRAIN, _N_TEST = 300, 60  # clips
_STEPS = 1000
_PAST, _HORIZON = 5, 20
_SCORED = 10  # steps ahead
_FILMED = 14  # steps of the animation, which is to be small
_N_SAMPLES, _N_SHOWN = 20, 3  # futures
_CODE = """\
import timelike as tl

model = tl.SRVP().fit(clips)
futures = model.predict(past, horizon=20, n_samples=20)
futures.plot_images(0)
futures.animate_images("futures.gif", 0)
"""


def run(n_train: int = _N_TRAIN, n_test: int = _N_TEST, steps: int = _STEPS) -> Section:
    """Train SRVP on a spot that bounces off walls at random, and show several futures of one past."""
    import numpy as np

    from .... import forecast, score
    from ....plotting import animations, image_grids
    from ....report import sections

    train, other, test = (make_clips(n, seed) for seed, n in enumerate((n_train, n_test, n_test)))
    other = other.crop(0, _PAST + _SCORED)
    past, truth = test.crop(0, _PAST), np.stack([*test.crop(_PAST, _PAST + _HORIZON)])
    model = forecast.SRVP(conditioning=_PAST, max_steps=steps, progress=False, random_state=0).fit(train)
    futures = model.predict(past, _HORIZON, n_samples=_N_SAMPLES, random_state=0)
    rivals = {"Ridge": forecast.Ridge(lags=_PAST).fit(train), "Persistence": forecast.Persistence().fit(train)}
    means = {"SRVP": futures.mean} | {name: rival.predict(past, _HORIZON).mean for name, rival in rivals.items()}
    # a rival's own futures: its forecast with errors that it made on other clips, as far as is scored
    samples = {"SRVP": futures.samples} | {
        name: rival.calibrate(other, horizon=_SCORED, progress=False)
        .predict(past, _SCORED, n_samples=_N_SAMPLES, random_state=0)
        .samples
        for name, rival in rivals.items()
    }
    near = slice(_SCORED)
    errors = {name: float(score.mse(truth[:, near], mean[:, near])) for name, mean in means.items()}
    energies = {name: float(score.energy_score(truth[:, near], some[:, :, near])) for name, some in samples.items()}

    item = int(np.argmax(futures.samples[:_N_SHOWN].var(axis=0).mean(axis=(1, 2, 3, 4))))
    shown = {"what came": truth[item]} | {f"future {i + 1}": futures.samples[i, item] for i in range(_N_SHOWN)}
    shown["Ridge"] = means["Ridge"][item]
    with tempfile.TemporaryDirectory() as folder:
        start = {name: frames[:_FILMED] for name, frames in shown.items()}
        film = animations.animate_image_strips(start, Path(folder, "futures.gif"), past=past[item], rate=6)
        animation = sections.animation_html(
            film, "The first steps of the same clip, moving: the past in a grey frame, futures in orange."
        )

    steps_ahead = f"t+1…t+{_SCORED}"
    return Section(
        title="Several futures of one scene",
        purpose="SRVP draws whole futures, each of them sharp, where what comes next is not certain: a mean of all "
        "that may happen would be a blur.",
        scores=(
            *(
                Score(
                    method="SRVP, mean of 20",
                    measure=f"squared error, {steps_ahead}",
                    value=errors["SRVP"],
                    rival=name,
                    rival_value=errors[name],
                    better="lower",
                )
                for name in rivals
            ),
            Score(
                method="SRVP, 20 futures",
                measure=f"energy score, {steps_ahead}",
                value=energies["SRVP"],
                rival="Ridge, calibrated",
                rival_value=energies["Ridge"],
                better="lower",
            ),
        ),
        parts=(
            sections.paragraph(
                f"Generated data: {n_train} clips of 16 × 16 pixels, in which a spot flies straight and leaves every "
                f"wall in a random direction and at a random speed. The model was trained just now, from nothing, for "
                f"{steps} steps. It sees {_PAST} frames of a clip; before the first wall there is one future, behind "
                "it there are many. Ridge regression knows only their mean. The energy score judges all futures "
                "together; Ridge gets its own from the errors that calibrate measured."
            ),
            sections.table(
                ["method", f"squared error of the mean, {steps_ahead}", f"energy score of {_N_SAMPLES}"],
                [[name, errors[name], energies[name]] for name in samples],
            ),
            sections.figure_html(
                image_grids.plot_image_strips(shown, past=past[item]),
                f"The past in grey frames, what came, and the first {_N_SHOWN} futures that were drawn, of the one of "
                f"{n_test} new clips in which these differ most; below, what ridge regression expects.",
            ),
            animation,
        ),
        code=_CODE,
    )


def make_clips(n: int, seed: int) -> Sequences:
    """A spot of a few pixels that bounces at random."""
    import numpy as np

    from ....sequences.generate import moving_digits

    offsets = np.arange(-3, 4)
    spot = np.exp(-0.5 * (offsets[:, None] ** 2 + offsets**2))
    return moving_digits(
        n,
        _PAST + _HORIZON,
        n_digits=1,
        size=16,
        digit_size=len(spot),
        speed=(0.6, 1.6),
        stochastic=True,
        digits=(np.stack([spot] * 5), np.arange(5)),  # five alike, as some are set aside for testing
        random_state=seed,
    ).sequences


CHAPTER = Chapter(name="futures", run=run, needs_torch=True)
