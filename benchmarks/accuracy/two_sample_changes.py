"""Real sequences, and what is changed in a half of them.

All of this was fixed before any score was seen:

- A data set is put in a random order (seed 0). Its first third is held out: encoders that are trained learn from it,
  and no test sees it. The rest is the pool of the tests. Of UCI HAR held out are the subjects of the official test
  part; the pool has those of the training part. Of the overlapping windows of a subject and an activity both have every
  second one.
- Sequences of more than 64 steps are taken at every second step (ArticularyWordRecognition, UCI HAR).
- Channels are brought to mean 0 and deviation 1, by those that are held out.
- A repetition draws n and n sequences of the pool without replacement, and changes the second n.
- *Slower* by s %: every sequence is interpolated linearly to 1 + s/100 times its steps. Where all lengths are the same
  (NATOPS, ArticularyWordRecognition) the middle of it is kept, as long as it was before; where they differ by
  themselves (MSR Action) the new length stays.
- *Noise* of s %: normal and white, in every channel, of s % of the channel's deviation over what is held out.
- *Swapped*: channels 0 and 1 change places.
- *Other subjects* (UCI HAR, walking): ten subjects are drawn, five go to each side, with n / 5 windows each. With
  groups this is a null: subjects are dealt out at random; without, it asks whether these very people walk alike.
- *Noise of 10 %, same subjects*: ten subjects are on both sides, with n / 10 windows each (other ones on each side),
  and the second half is noisy; the parts of a subject change places as wholes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import timelike as tl

FILES = {
    "NATOPS": "uea/NATOPS.npz",
    "Articulary": "uea/ArticularyWordRecognition.npz",
    "MSR Action": "msr_action3d.npz",
    "UCI HAR": "uci_har.npz",
}
EQUAL = ("NATOPS", "Articulary", "UCI HAR")  # of which raw vectors can be made
SIZES = (50, 20, 100)  # of a side: the first one tells most
LONGEST, WALKING, SUBJECTS = 64, 0, 10


@dataclass(frozen=True)
class Change:
    """What is done to the second sample, on which data set, by how much, and how groups are treated."""

    dataset: str
    kind: str
    amount: float = 0.0
    groups: str = ""


CHANGES: dict[str, Change] = {
    **{
        f"{name}, slower by {s} %": Change(name, "slower", s / 100)
        for name in FILES
        if name != "UCI HAR"
        for s in (10, 5, 20)
    },
    **{
        f"{name}, noise of {s} %": Change(name, "noise", s / 100) for name in ("NATOPS", "UCI HAR") for s in (10, 5, 20)
    },
    "NATOPS, channels swapped": Change("NATOPS", "swapped"),
    "UCI HAR, channels swapped": Change("UCI HAR", "swapped"),
    "UCI HAR, other subjects, groups ignored": Change("UCI HAR", "none", groups="ignored"),
    "UCI HAR, other subjects": Change("UCI HAR", "none", groups="apart"),
    "UCI HAR, noise of 10 %, same subjects": Change("UCI HAR", "noise", 0.10, "paired"),
    "NATOPS, nothing changed": Change("NATOPS", "none"),
}


class Parts(NamedTuple):
    """What encoders may learn from, and what tests draw from."""

    held_out: tl.Sequences
    pool: tl.Sequences


@cache
def parts(data: Path, name: str) -> Parts:
    """Both parts of a data set."""
    with np.load(data / FILES[name]) as held:
        values, offsets, labels = held["values"].astype(np.float32), held["offsets"], held["labels"]
        split, groups = held["split"], held["groups"] if "groups" in held.files else None
    known = {} if groups is None else {"groups": groups}
    everything = tl.Sequences.from_packed(values.reshape(len(values), -1), offsets, labels=labels, **known)
    if name == "UCI HAR":
        held_out, pool = _without_overlap(everything[split == 1]), _without_overlap(everything[split == 0])
    else:
        order = np.random.default_rng(0).permutation(len(everything))
        third = len(order) // 3
        held_out, pool = everything[order[:third]], everything[order[third:]]
    every = 2 if name in EQUAL and held_out.lengths[0] > LONGEST else 1
    held_out, pool = (_thinned(some, every) for some in (held_out, pool))
    return Parts(held_out.standardize(like=held_out), pool.standardize(like=held_out))


def _without_overlap(some: tl.Sequences) -> tl.Sequences:
    """Every second window of a subject and an activity: neighbours share half of their steps."""
    keys = list(zip(np.asarray(some.groups).tolist(), np.asarray(some.labels).tolist(), strict=True))
    seen: dict[tuple[Any, Any], int] = {}
    kept = []
    for place, key in enumerate(keys):
        seen[key] = seen.get(key, -1) + 1
        if seen[key] % 2 == 0:
            kept.append(place)
    return some[np.array(kept)]


def _thinned(some: tl.Sequences, every: int) -> tl.Sequences:
    if every == 1:
        return some
    known: dict[str, Any] = {"labels": some.labels, "groups": some.groups}
    return tl.Sequences([one[::every] for one in some], **known)


# --- one repetition


class Drawn(NamedTuple):
    """Two samples, the second one changed, and the `groups` of the test."""

    x: tl.Sequences
    y: tl.Sequences
    groups: Any


def drawn(change: Change, pool: tl.Sequences, n: int, seed: int) -> Drawn:
    """What one repetition tests; all methods have the same."""
    rng = np.random.default_rng([seed, n, 181])
    first, second = _places(change, pool, n, rng)
    assert len(first) == len(second) == n, f"{len(pool)} sequences are too few for {n} and {n}"
    x, y = pool[first], pool[second]
    groups: Any = False
    if change.groups in ("apart", "paired"):
        groups = (np.asarray(x.groups), np.asarray(y.groups))
    return Drawn(_bare(list(x)), _bare(changed(change, y, rng)), groups)


def _bare(some: list[NDArray[Any]]) -> tl.Sequences:
    """Without labels and groups: what a test sees is said by its arguments."""
    return tl.Sequences(some)


def _places(
    change: Change, pool: tl.Sequences, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not change.groups:
        both = rng.permutation(len(pool))[: 2 * n]
        return both[:n], both[n:]
    subjects, labels = np.asarray(pool.groups), np.asarray(pool.labels)
    chosen = rng.permutation(np.unique(subjects))[:SUBJECTS]
    walks = [rng.permutation(np.flatnonzero((subjects == one) & (labels == WALKING))) for one in chosen]
    if change.groups == "paired":
        each = n // SUBJECTS
        return np.concatenate([one[:each] for one in walks]), np.concatenate([one[each : 2 * each] for one in walks])
    each, half = n // (SUBJECTS // 2), SUBJECTS // 2
    sides = [np.concatenate([one[:each] for one in some]) for some in (walks[:half], walks[half:])]
    return sides[0], sides[1]


def changed(change: Change, some: tl.Sequences, rng: np.random.Generator) -> list[NDArray[Any]]:
    """The sequences with the change; channels have deviation 1, so that noise is a share of it."""
    if change.kind == "slower":
        return [slowed(one, change.amount, keep=change.dataset not in EQUAL) for one in some]
    if change.kind == "noise":
        return [(one + change.amount * rng.standard_normal(one.shape)).astype(one.dtype) for one in some]
    if change.kind == "swapped":
        return [one[:, [1, 0, *range(2, one.shape[1])]] for one in some]
    return list(some)


def slowed(one: NDArray[Any], share: float, *, keep: bool) -> NDArray[Any]:
    """The same in (1 + share) times the steps; the middle of it, as long as before, unless the length is to be kept.

    >>> slowed(np.arange(5.0)[:, None], 1.0, keep=True).ravel().round(2).tolist()
    [0.0, 0.44, 0.89, 1.33, 1.78, 2.22, 2.67, 3.11, 3.56, 4.0]
    >>> slowed(np.arange(5.0)[:, None], 1.0, keep=False).ravel().round(2).tolist()
    [0.89, 1.33, 1.78, 2.22, 2.67]
    """
    steps = len(one)
    longer = round((1 + share) * steps)
    at, before = np.linspace(0, steps - 1, longer), np.arange(steps)
    found = np.stack([np.interp(at, before, channel) for channel in one.T], axis=1).astype(one.dtype)
    start = 0 if keep else (longer - steps) // 2
    return found if keep else found[start : start + steps]
