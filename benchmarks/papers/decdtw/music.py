"""Score and performance of piano music as pairs to align: slices cut at annotated beats, features, the true warp.

Nothing here is sound. The ASAP file holds notes, so what a listener would have is drawn from them: a `chroma` (12
pitch classes) and a `melspec` (bands of a mel filter bank, each note with its partials). The score is drawn like a
plain synthesiser, the performance like a recording (`RECORDING`) with the velocities that were played. `clean=True`
draws both like the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from benchmarks.papers.decdtw.tasks import Array, Pairs, Task, smooth, tensors, unit

FILE = "asap_scores.npz"
STEPS = 128  # of a slice, in the score and in the performance
SECONDS = 12.0  # of the performance, or a little more, up to the next beat
BANDS = 64
FINER = 4  # drawn this much finer than the grid, then averaged
SHARES = (0.6, 0.2, 0.2)  # of the pieces: train, validation, test


class Notes(NamedTuple):
    onset: Array
    duration: Array
    pitch: Array
    loudness: Array

    def between(self, start: float, stop: float, tail: float) -> Notes:
        kept = (self.onset < stop) & (self.onset + self.duration + tail > start)
        return Notes(*(v[kept] for v in self))


@dataclass(frozen=True)
class Sound:
    """How notes become bands: one instrument in one room."""

    tilt: float = 1.0  # a partial h times as high is h^−tilt as loud
    decay: float = 1.5  # seconds until a held note has fallen to 1/e
    release: float = 0.06  # the same after the key is let go
    lost: float = 0.0  # share of the notes that are not heard
    hiss: float = 0.0  # energy of steady noise, in every band
    murmur: float = 0.0  # energy of noise that comes and goes, in the bands of `places`
    places: tuple[float, ...] = ()  # of the whole range, from low to high
    ripple: float = 0.0  # nepers by which the room favours some bands


# one piano in one hall with its own noises, as MAESTRO's recordings are; with milder ones the base features are as good
# as the annotation already
RECORDING = Sound(
    tilt=0.6, decay=1.0, release=0.8, lost=0.1, hiss=0.05, murmur=0.5, places=(0.08, 0.35, 0.7), ripple=1.0
)


def score_task(
    data: Path, feature: str, counts: tuple[int, int, int] = (1000, 240, 400), *, clean: bool = False
) -> Task:
    """The slices of every piece, split by piece: two files of the same piece are one piece."""
    with np.load(data / FILE) as archive:
        held = {name: archive[name] for name in archive.files}
    rng = np.random.default_rng(20230319)
    pieces = np.array([f"{a}/{b}" for a, b in zip(held["score_composer"], held["score_title"], strict=True)])
    names = np.unique(pieces)
    rng.shuffle(names)
    first, second = (np.cumsum(SHARES[:2]) * len(names)).astype(int)
    splits = (names[:first], names[first:second], names[second:])
    found = [[cut for name in part for cut in _cuts(held, np.flatnonzero(pieces == name), rng)] for part in splits]
    chosen = [[cuts[i] for i in rng.permutation(len(cuts))[:n]] for cuts, n in zip(found, counts, strict=True)]
    # what is heard is drawn after all is cut, so that every feature is of the same slices
    parts = [_pairs(held, np.unique(pieces, return_inverse=True)[1], cuts, feature, clean, rng) for cuts in chosen]
    train, val, test = parts
    return Task(f"scores, {feature}{' (clean)' if clean else ''}", "ms", train, val, test)


class Cut(NamedTuple):
    score: int
    performance: int
    first: int  # beat
    last: int


def _cuts(held: dict[str, Array], scores: Array, rng: np.random.Generator, performances: int = 4) -> list[Cut]:
    """Up to four slices of each of a few performances of a piece, no two of one performance overlapping.

    Nine of ten written notes must be played when the annotated beats say. That asks for a truth to be found, and for
    nothing that an alignment method does.
    """
    usable = np.isin(held["perf_score"], scores) & held["beat_count_equal"] & ~held["perf_has_bR"]
    found = []
    for performance in rng.permutation(np.flatnonzero(usable))[:performances]:
        score = int(held["perf_score"][performance])
        played, written = _beats(held, score, int(performance))
        onsets, agrees = _as_written(held, score, int(performance))
        slices, start = [], 0
        while start < len(played) - 1:
            stop = int(np.searchsorted(played, played[start] + SECONDS))
            if stop >= len(played):
                break
            notes = agrees[(onsets >= written[start]) & (onsets < written[stop])]
            usual = _plausible(played[start : stop + 1], written[start : stop + 1])
            if usual and len(notes) >= 12 and notes.mean() >= 0.9:  # else the beats are no truth for these notes
                slices.append(Cut(score, int(performance), start, stop))
            start = stop
        found += [slices[i] for i in rng.permutation(len(slices))[:4]]
    return found


def _beats(held: dict[str, Array], score: int, performance: int) -> tuple[Array, Array]:
    off, soff = held["perf_beats_off"], held["score_beats_off"]
    played = held["perf_beats"][off[performance] : off[performance + 1]].astype(np.float64)
    return played, held["score_beats"][soff[score] : soff[score + 1]].astype(np.float64)


def _plausible(played: Array, written: Array) -> bool:
    """Four beats or more, in less than half as much time again, and no beat four times as long as the mean."""
    pace = np.diff(played) / np.diff(written)
    mean = (played[-1] - played[0]) / (written[-1] - written[0])
    usual = len(played) >= 5 and played[-1] - played[0] < 1.5 * SECONDS
    return bool(usual and (pace < 4 * mean).all() and (pace > mean / 4).all())


def _notes(held: dict[str, Array], kind: str, which: int) -> Notes:
    piece = slice(held[f"{kind}_off"][which], held[f"{kind}_off"][which + 1])
    onset = held[f"{kind}_onset"][piece].astype(np.float64)
    loud = held["perf_vel"][piece] / 64.0 if kind == "perf" else np.ones(len(onset))
    return Notes(onset, held[f"{kind}_dur"][piece].astype(np.float64), held[f"{kind}_pitch"][piece].astype(int), loud)


def _as_written(held: dict[str, Array], score: int, performance: int) -> tuple[Array, Array]:
    """Of every note of the score: its time, and whether that note is played when the beats say, within 150 ms."""
    played, written = _beats(held, score, performance)
    asked, there = _notes(held, "score", score), _notes(held, "perf", performance)
    apart = 1e5  # seconds: longer than any performance, so that one sorted line holds every pitch
    heard = np.sort(there.pitch * apart + there.onset)
    expected = asked.pitch * apart + np.interp(asked.onset, written, played)
    after = np.clip(np.searchsorted(heard, expected), 1, len(heard) - 1)
    nearest = np.minimum(np.abs(heard[after] - expected), np.abs(expected - heard[after - 1]))
    return asked.onset, nearest < 0.15


def _pairs(
    held: dict[str, Array], piece: Array, cuts: list[Cut], feature: str, clean: bool, rng: np.random.Generator
) -> Pairs:
    xs, ys, truths, scales = [], [], [], []
    for cut in cuts:
        played, written = _beats(held, cut.score, cut.performance)
        t = np.linspace(written[cut.first], written[cut.last], STEPS)
        s = np.linspace(played[cut.first], played[cut.last], STEPS)
        step = s[1] - s[0]
        xs.append(features(_notes(held, "score", cut.score), t, Sound(), feature, rng))
        ys.append(features(_notes(held, "perf", cut.performance), s, Sound() if clean else RECORDING, feature, rng))
        truths.append((np.interp(t, written, played) - s[0]) / step)
        scales.append(1000 * step)
    x, y, truth, scale = tensors(*(np.stack(v) for v in (xs, ys, truths, scales)))
    return Pairs(x, y, truth, scale, torch.tensor([int(piece[cut.score]) for cut in cuts]))


def features(notes: Notes, times: Array, sound: Sound, feature: str, rng: np.random.Generator) -> Array:
    """The notes on a grid of times, (time, channel): frames of unit length."""
    step = times[1] - times[0]
    fine = (times[:, None] + step * (np.arange(FINER) - (FINER - 1) / 2) / FINER).ravel()
    heard = notes.between(fine[0], fine[-1], 6 * sound.release)
    kept = rng.random(len(heard.onset)) >= sound.lost
    heard = Notes(*(v[kept] for v in heard))
    power = _envelopes(heard, fine, sound) ** 2 * heard.loudness[:, None] ** 2
    weights = _chroma(heard.pitch, sound) if feature == "chroma" else _partials(heard.pitch, sound)
    bands = (power.T @ weights).reshape(len(times), FINER, -1).mean(axis=1)
    bands = bands + _noise(bands.shape, sound, rng)
    return unit(np.log1p(100 * bands))


def _noise(shape: tuple[int, int], sound: Sound, rng: np.random.Generator) -> Array:
    time, count = shape
    noise = sound.hiss * rng.gamma(2.0, 0.5, shape)
    for place in sound.places:
        where = np.exp(-0.5 * ((np.arange(count) / (count - 1) - place) / 0.08) ** 2)
        level = np.exp(1.5 * smooth(rng, (), np.arange(float(time)), 4.0))
        noise += sound.murmur * level[:, None] * where * rng.gamma(4.0, 0.25, shape)
    return noise


def _envelopes(notes: Notes, t: Array, sound: Sound) -> Array:
    since = t - notes.onset[:, None]
    after = np.maximum(since - notes.duration[:, None], 0)
    held = np.exp(-np.maximum(since, 0) / sound.decay - after / sound.release)
    return np.where(since >= 0, held, 0)


def _chroma(pitch: Array, sound: Sound) -> Array:
    """Every note in its pitch class, and its third partial a fifth above."""
    eye = np.eye(12)
    return np.asarray(eye[pitch % 12] * (1 + 2 ** (-2 * sound.tilt)) + eye[(pitch + 7) % 12] * 3 ** (-2 * sound.tilt))


def _partials(pitch: Array, sound: Sound) -> Array:
    """Where the first eight partials of each note fall in the mel filter bank, (note, band)."""
    order = np.arange(1, 9)
    mel = 2595 * np.log10(1 + 440 * 2 ** ((pitch[:, None] - 69) / 12) * order / 700)
    low, high = 2595 * np.log10(1 + np.array([40, 5000]) / 700)
    place = (mel - low) / (high - low) * (BANDS - 1)
    triangles = np.maximum(1 - np.abs(place[..., None] - np.arange(BANDS)) / 1.5, 0)
    weights = np.einsum("h,nhb->nb", order ** (-2 * sound.tilt), triangles)
    return np.asarray(weights * np.exp(sound.ripple * np.sin(np.arange(BANDS) * 0.7)))
