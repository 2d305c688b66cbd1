"""Alignment: DTW beside GDTW on a gesture, and DecDTW, which learns by what two disturbed recordings are aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ....core.extras import is_installed
from ..data import load_or_generate
from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from ....sequences import Sequences

LENGTH = 100  # steps to which gestures are resampled, where the true warp is known
COPIES = 12  # random warps of every training gesture
STEPS, BATCH_SIZE = 80, 32  # of the training
REGULARIZATIONS = (0.01, 0.1, 1.0, 3.0, 10.0)  # to choose from for GDTW

_CODE = """\
import timelike as tl

tl.DTW().align(x, y).plot()
tl.GDTW(regularization=0.1).align(x, y).warp  # a function: x's time to y's time

layer = tl.nn.DecDTW(regularization=0.1)
phi = layer(network(x), network(y)).phi  # differentiable
(phi - true_phi).abs().mean().backward()
"""


class Pairs(NamedTuple):
    """Two recordings of each gesture, and the true step of y at each step of x, (pair, time)."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    truth: NDArray[np.float64]


def make_pairs(gestures: Sequences, copies: int, *, disturbed: bool, random_state: int) -> Pairs:
    """Gestures and their copies under random warps, both recorded by a noisy sensor.

    A disturbed sensor has an unknown gain, its zero drifts, and a motor shakes it.
    """
    import numpy as np

    from ....sequences.augment import TimeWarp

    rng = np.random.default_rng(random_state)
    resampled = gestures.resample(LENGTH).standardize(per="sequence")
    u, steps = np.linspace(0, 1, LENGTH), np.arange(LENGTH)

    def record(gesture: NDArray[Any]) -> NDArray[Any]:
        noisy = gesture[:, 0] + 0.1 * rng.normal(size=LENGTH)
        if not disturbed:
            return np.asarray(noisy)
        drift = 0.6 * rng.normal(size=3) @ np.cos(np.pi * np.arange(3)[:, None] * u)
        motor = 0.7 * np.sin(2 * np.pi * (steps / rng.uniform(4, 7) + rng.random()))
        return np.asarray(np.exp(0.4 * rng.normal()) * noisy + drift + motor)

    x, y, truth = [], [], []
    for _ in range(copies):
        warped = TimeWarp(strength=0.6)(resampled, random_state=rng)
        for i, weights in enumerate(warped.alignments):
            x.append(record(warped.sequences[i]))
            y.append(record(resampled[i]))
            truth.append(weights @ steps)
    return Pairs(np.array(x), np.array(y), np.array(truth))


def warps_by_dtw(pairs: Pairs) -> NDArray[Any]:
    """The mean of the steps of y that DTW matches with each step of x, (pair, time)."""
    import numpy as np

    from ....align import DTW

    alignments = [DTW().align(x, y) for x, y in zip(pairs.x, pairs.y, strict=True)]
    return np.array([alignment.apply(np.arange(float(LENGTH))) for alignment in alignments])


def warps_by_gdtw(train: Pairs, test: Pairs) -> NDArray[Any]:
    """The warps of GDTW, with the regularization that is best for some of the training pairs."""
    import numpy as np

    from ....align import GDTW

    some = slice(None, None, max(1, len(train.x) // 25))
    chosen = GDTW().select_regularization(train.x[some], train.y[some], list(train.truth[some]), values=REGULARIZATIONS)
    return np.array([alignment.warp.values for alignment in chosen.align_each(test.x, test.y) if alignment.warp])


class FeatureWarp:
    """DecDTW behind a small network, which learns from true warps what two recordings have in common."""

    def __init__(self) -> None:
        import torch
        from torch import nn

        from .... import nn as layers

        how: dict[str, Any] = {"padding": "same", "padding_mode": "replicate"}
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.network = nn.Sequential(nn.Conv1d(1, 16, 15, **how), nn.Tanh(), nn.Conv1d(16, 4, 15, **how))
        self.layer = layers.DecDTW(regularization=nn.Parameter(torch.ones(())), grid=LENGTH)

    def features(self, signals: NDArray[Any]) -> torch.Tensor:
        """Of signals (pair, time): (pair, time, feature)."""
        import torch

        features: torch.Tensor = self.network(torch.as_tensor(signals, dtype=torch.float32)[:, None])
        return features.transpose(1, 2)

    def find_warps(self, x: NDArray[Any], y: NDArray[Any]) -> torch.Tensor:
        """The warps of y onto x, (pair, time)."""
        warps: torch.Tensor = self.layer(self.features(x), self.features(y)).phi
        return warps

    def train(self, pairs: Pairs) -> None:
        """Bring the warps near the true ones, by gradients through the alignment."""
        import numpy as np
        import torch

        rng = np.random.default_rng(0)
        optimizer = torch.optim.Adam([*self.network.parameters(), *self.layer.parameters()], lr=0.03)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
        for _ in range(STEPS):
            batch = rng.integers(len(pairs.x), size=BATCH_SIZE)
            truth = torch.as_tensor(pairs.truth[batch], dtype=torch.float32)
            loss: Any = (self.find_warps(pairs.x[batch], pairs.y[batch]) - truth).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def mean_error(warps: NDArray[Any], pairs: Pairs) -> float:
    """The mean distance of warps from the true ones, in steps."""
    return float(abs(warps - pairs.truth).mean())


def run() -> Section:
    """Align two gestures, then gestures whose true warps are known."""
    from ....report import sections

    data = load_or_generate("PickupGestureWiimoteZ")
    assert data.test is not None
    train = make_pairs(data.train, 1, disturbed=False, random_state=0)
    test = make_pairs(data.test, 2, disturbed=False, random_state=1)
    clean = {"DTW": mean_error(warps_by_dtw(test), test), "GDTW": mean_error(warps_by_gdtw(train, test), test)}
    learned = _learn_feature(data.train, data.test) if is_installed("torch") else _WITHOUT_TORCH
    names = dict.fromkeys([*clean, *learned.errors])
    rows = [(name, clean.get(name, ""), learned.errors.get(name, "")) for name in names]
    words = (
        f"How far are warps from the truth? {len(test.x)} gestures of the test part are warped in a way that is known, "
        "and recorded twice: by a good sensor, and by one with an unknown gain and a drifting zero, beside a motor. "
        f"The errors are means in steps; a gesture has {LENGTH}. GDTW has the regularization that is best for training "
        "pairs."
    )
    return Section(
        title="How two recordings line up",
        purpose="GDTW aligns two recordings of one movement by a smooth warp of time, where DTW maps whole stretches "
        "of one onto a single step of the other; DecDTW is GDTW as a layer of a network, for recordings in which only "
        "a learned feature tells what belongs together.",
        scores=(_make_score("GDTW", "good sensor", clean["GDTW"], "DTW", clean["DTW"]), *learned.scores),
        parts=(
            sections.paragraph(f"Two recordings of one gesture: {data.source}."),
            _draw_gestures(data.test),
            sections.paragraph(words),
            sections.table(("method", "good sensor", "disturbed sensor"), rows),
            *learned.parts,
        ),
        code=_CODE,
    )


def _make_score(method: str, sensor: str, value: float, rival: str, rival_value: float) -> Score:
    measure = f"error of the warp, {sensor}"
    return Score(method=method, measure=measure, value=value, rival=rival, rival_value=rival_value, better="lower")


class _Learned(NamedTuple):
    """What DecDTW adds to the section."""

    errors: dict[str, float]  # of the disturbed recordings, by method
    scores: tuple[Score, ...]
    parts: tuple[str, ...]


_WITHOUT_TORCH = _Learned({}, (), ("<p>DecDTW learns a feature if timelike[learn] is installed.</p>",))


def _learn_feature(train: Sequences, test: Sequences) -> _Learned:
    import torch

    pairs = make_pairs(train, COPIES, disturbed=True, random_state=0)
    unseen = make_pairs(test, 2, disturbed=True, random_state=1)
    feature = FeatureWarp()
    with torch.no_grad():
        untrained = feature.find_warps(unseen.x, unseen.y).numpy()
    feature.train(pairs)
    with torch.no_grad():
        trained = feature.find_warps(unseen.x, unseen.y).numpy()
    warps = {"DTW": warps_by_dtw(unseen), "GDTW": warps_by_gdtw(pairs, unseen)}
    warps |= {"DecDTW, untrained": untrained, "DecDTW, trained": trained}
    errors = {name: mean_error(one, unseen) for name, one in warps.items()}
    trained_error = errors["DecDTW, trained"]
    scores = tuple(
        _make_score("DecDTW", "disturbed sensor", trained_error, rival, errors[rival]) for rival in ("DTW", "GDTW")
    )
    return _Learned(errors, scores, _draw_warps(feature, unseen, warps))


def _draw_warps(feature: FeatureWarp, pairs: Pairs, warps: dict[str, NDArray[Any]]) -> tuple[str, ...]:
    """The pair whose error after training is the median one."""
    import numpy as np
    import torch

    from ....plotting.warps import SignalPair, plot_warp_estimates
    from ....report import sections

    trained, steps = warps["DecDTW, trained"], np.arange(LENGTH)
    errors = abs(trained - pairs.truth).mean(axis=1)
    i = int(np.argsort(errors)[len(errors) // 2])
    with torch.no_grad():
        x, y = (feature.features(side[[i]])[0].numpy() for side in (pairs.x, pairs.y))
    aligned = np.stack([np.interp(trained[i], steps, channel) for channel in y.T], axis=1)
    best = int(np.argmax([np.corrcoef(a, b)[0, 1] for a, b in zip(x.T, aligned.T, strict=True)]))
    figure = plot_warp_estimates(
        {name: one[i] for name, one in warps.items()},
        pairs.truth[i],
        [
            SignalPair("as recorded", pairs.x[i], pairs.y[i]),
            SignalPair("learned, y aligned", x[:, best], aligned[:, best]),
        ],
    )
    caption = (
        f"Of the pairs that DecDTW has not seen, the one with the median error ({errors[i]:.2g} steps) after {STEPS} "
        "steps of training. Top: the two recordings, and one of the learned features of both. Bottom: the warps."
    )
    return (sections.figure_html(figure, caption),)


def _draw_gestures(gestures: Sequences) -> str:
    from ....align import DTW, GDTW
    from ....plotting.warps import plot_matches
    from ....report import sections

    assert gestures.labels is not None
    pair = gestures.standardize(per="sequence")[gestures.labels == gestures.labels[0]]
    alignments = {"DTW": DTW().align(pair[0], pair[1]), "GDTW": GDTW().align(pair[0], pair[1])}
    return sections.figure_html(
        plot_matches(alignments),
        "Grey lines join what is matched: by DTW, and by GDTW with its default regularization.",
    )


CHAPTER = Chapter(name="alignment", run=run, needs=("PickupGestureWiimoteZ",))
