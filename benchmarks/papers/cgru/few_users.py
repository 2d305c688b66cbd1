"""Few users and few labels of UCI HAR: a fifth of the training users to learn from, as many to choose by."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.papers.cgru.data import Problem, positions
from benchmarks.papers.cgru.equals import METHODS, Parts, judged, plain, tuned

import timelike as tl

USERS = 4  # of the 21 training users
CHOOSING, ASKED = 20, 50  # of every class
UNITS, LABELS = (4, 20), (20, 5, 100)  # 20 first: it tells most
CASES = [f"{channels}-{units}-{labels}" for labels in LABELS for units in UNITS for channels in ("raw", "standardized")]


def drawn(whole: Problem, labels: int, seed: int, *, choosing: int = CHOOSING, asked: int = ASKED) -> Parts:
    """Some sequences of some users; the test users of the data's authors are asked for."""
    groups = np.asarray(whole.gallery.groups)
    users = np.random.default_rng(seed).permutation(np.unique(groups))
    used, held = (whole.gallery[np.flatnonzero(np.isin(groups, some))] for some in users[: 2 * USERS].reshape(2, -1))
    return Parts(_some(used, seed, labels), _some(held, seed, choosing), _some(whole.queries, seed, asked))


def _some(part: tl.Sequences, seed: int, per_class: int) -> tl.Sequences:
    return part[positions(part, seed, per_class)]


def work(whole: Problem, case: str, method: str, seed: int, *, quick: bool) -> dict[str, Any]:
    """A row: the network with the learning rate that the held-out users chose, scored on the test users."""
    channels, units, labels = case.split("-")
    parts = drawn(whole, int(labels), seed, **({"choosing": 3, "asked": 3} if quick else {}))
    given: dict[str, Any] = {"hidden": int(units), "standardize": channels == "standardized", "random_state": seed}
    metric, found = tuned(lambda rate: plain(method, rate=rate, quick=quick, **given), parts)
    gate = {"gate": float(metric.history_["coupling"][-1])} if METHODS[method][0] == "CoupledGRU" else {}
    return found | gate | judged(metric, parts.asked, parts.learned) | {"n_learned": len(parts.learned)}
