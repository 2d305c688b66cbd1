"""Work on recordings as people have them, of unequal lengths and with gaps: ours beside ours without these."""

from __future__ import annotations

import numpy as np
from benchmarks.speed.elastic.peers import Settings
from benchmarks.speed.elastic.work import Work
from benchmarks.speed.random_walks import normalized_walks
from benchmarks.speed.timing import Job
from numpy.typing import NDArray


def recordings(s: Settings, seed: int = 8) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Three channels of one movement per class, each played at its own pace, with noise; and their classes."""
    rng = np.random.default_rng(seed)
    count, length = (24, 60) if s.quick else (120, 180)
    labels = np.arange(count) % 6
    movements = normalized_walks(18, length, seed).reshape(6, 3, length)
    made = []
    for label in labels:
        pace = np.interp(np.linspace(0, 1, length), np.linspace(0, 1, 6), np.sort(np.r_[0, rng.random(4), 1]))
        channels = [np.interp(pace, np.linspace(0, 1, length), channel) for channel in movements[label]]
        made.append(np.stack(channels, axis=1) + 0.3 * rng.standard_normal((length, 3)))
    return made, labels


def cut(made: list[NDArray[np.float64]], seed: int = 9) -> list[NDArray[np.float64]]:
    """The same, each ended early: at least two thirds are left."""
    rng = np.random.default_rng(seed)
    return [one[: int(rng.integers(2 * len(one) // 3, len(one) + 1))] for one in made]


def size(made: list[NDArray[np.float64]]) -> str:
    longest = max(map(len, made))
    ragged = "" if all(len(one) == longest for one in made) else "up to "
    return f"{len(made)} recordings of {ragged}{longest} × 3"


def beside(title: str, bar: str, least: float, plain: Job, ours: Job, name: str = "timelike pairwise") -> Work:
    return Work(title, bar, {name: plain}, ours, least=least)


def selection(s: Settings, *, ragged: bool) -> Work:
    """All 101 windows beside one full matrix."""
    import timelike as tl

    made, labels = recordings(s)
    made = cut(made) if ragged else made
    data = tl.Sequences(made, labels=labels)
    return beside(
        f"DTW.select_window, {size(made)}, beside one matrix",
        "≤ 5× the time",
        1 / 5,
        lambda: tl.DTW().pairwise(data, n_jobs=s.threads),
        lambda: tl.DTW().select_window(data, n_jobs=s.threads),
    )


def window(kind: str, s: Settings) -> Work:
    """A share of the length on ragged data beside no window."""
    import timelike as tl

    made = cut(recordings(s)[0])
    metric = getattr(tl, kind)
    return beside(
        f"{kind}(window=0.1), {size(made)}, beside no window",
        "≥ 1.5×",
        1.5,
        lambda: metric().pairwise(made, n_jobs=s.threads),
        lambda: metric(window=0.1).pairwise(made, n_jobs=s.threads),
        f"timelike {kind}()",
    )


def missing(s: Settings) -> Work:
    """One value in twenty missing, beside the complete recordings."""
    import timelike as tl

    made, _ = recordings(s)
    rng = np.random.default_rng(10)
    holes = [np.where(rng.random(one.shape) < 0.05, np.nan, one) for one in made]
    return beside(
        f'DTW(missing="ignore"), {size(made)}, 5 % missing, beside none',
        "≤ 6× the time",
        1 / 6,
        lambda: tl.DTW().pairwise(made, n_jobs=s.threads),
        lambda: tl.DTW(missing="ignore").pairwise(holes, n_jobs=s.threads),
        "timelike DTW()",
    )
