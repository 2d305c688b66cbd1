"""Calibration: scores of all trials, normalized without the two identities that are compared, and their thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from .identity_rank import Bound, impostor_bound, warn_few
from .normalization import Level, Normalization, least_deviation, levels_apart, normalized
from .scoring import Against, Floats, Ids, Known, Scorer, of_several
from .thresholds import Claims
from .trials import SIZES, Kept, Trials, refuse_one_kind, trials


class Manner(NamedTuple):
    """How several examples are one score, and how scores are normalized."""

    against: Against
    normalize: Normalization | None
    n_top: int


class Cohort(NamedTuple):
    """Others to normalize by: what is known of them, who they are (−1: nobody of those at hand), a least deviation."""

    known: Known
    codes: Ids
    least: float


class Gathered(NamedTuple):
    """Sequences of known identities, ready to be tried against each other, or against what they were earlier on."""

    scorer: Scorer
    known: Known
    classes: NDArray[Any]
    codes: Ids
    cohort: Cohort | None
    manner: Manner
    kept: Kept

    @property
    def ordered(self) -> bool:
        """Whether x against y is another score than y against x."""
        return not self.scorer.metric.symmetric or self.manner.normalize == "z-norm"

    def pairs(self, *, ordered: bool = False) -> Trials:
        """All pairs that count, of which there must be both kinds."""
        found = trials(self.codes, 1, self.kept, ordered=ordered or self.ordered)
        refuse_one_kind(found, self.classes, self.kept)
        return found

    def sizes(self, *, ordered: bool = False) -> Iterator[tuple[int, Trials]]:
        """Numbers of examples with their trials, as long as there are impostors."""
        yield 1, self.pairs(ordered=ordered)
        for size in SIZES[1:]:
            found = trials(self.codes, size, self.kept, ordered=True)
            if not found.impostor.any():
                return
            yield size, found

    def claims(self, found: Trials) -> Claims:
        """The trials that count, in the order of `np.nonzero`, and whose they are."""
        template, item = np.nonzero(found.impostor | found.genuine)
        kinds = found.impostor[template, item], found.genuine[template, item]
        return Claims(found.codes[template], self.codes[item], *kinds)

    def compared(self, probes: Known) -> Floats:
        """Scores (item, item) of single sequences against probes, one of each sequence."""
        return self._normalized(self.known, self.codes, probes)

    def tried(self, found: Trials, probes: Known, pairs: Floats) -> Floats:
        """Scores (template, item) of templates against probes, whose scores as pairs are known."""
        if self.manner.against == "center" and found.members.shape[1] > 1:
            return self._normalized(self.scorer.centers(self.known, found.members), found.codes, probes)
        return of_several(pairs[found.members], self.manner.against)

    def _normalized(self, first: Known, codes: Ids, probes: Known) -> Floats:
        scores = self.scorer.scores(first, probes)
        if self.cohort is None:
            return scores
        left = Level(*(part[:, self.codes] for part in self._levels(first, codes)))
        if self.manner.normalize == "z-norm":
            return normalized(scores, left, None)
        return normalized(scores, left, Level(*(part[:, codes].T for part in self._levels(probes, self.codes))))

    def _levels(self, some: Known, own: Ids) -> Level:
        """Of each without its own identity and that of the other, (some, identity)."""
        assert self.cohort is not None
        scores = self.scorer.scores(some, self.cohort.known)
        return levels_apart(scores, own, self.cohort.codes, len(self.classes), self.manner.n_top, self.cohort.least)


def gathered(
    scorer: Scorer,
    sequences: Sequences,
    labels: NDArray[Any],
    manner: Manner,
    kept: Kept,
    cohort: Sequences | None,
    least: float | None = None,
) -> Gathered:
    """Ready to be tried; the least deviation of a level is that of these scores against the cohort unless given."""
    classes, codes = np.unique(labels, return_inverse=True)
    known = scorer.known(sequences)
    others = None if cohort is None else _cohort(scorer, known, cohort, classes, least)
    return Gathered(scorer, known, classes, codes.astype(np.int64), others, manner, kept)


def _cohort(scorer: Scorer, known: Known, cohort: Sequences, classes: NDArray[Any], least: float | None) -> Cohort:
    theirs = scorer.known(cohort)
    place = {one: i for i, one in enumerate(classes.tolist())}
    names = [None] * len(cohort) if cohort.labels is None else cohort.labels.tolist()
    codes = np.array([place.get(name, -1) for name in names], np.int64)
    return Cohort(theirs, codes, least_deviation(scorer.scores(known, theirs)) if least is None else least)


class Calibrated(NamedTuple):
    """Thresholds by the number of examples, what is promised, shares of pairs that are wrong, and numbers of pairs."""

    thresholds: dict[int, float]
    promised: float
    false_accept: float
    false_reject: float
    n_impostors: int
    n_genuine: int
    n_identities: int


def calibrated(one: Gathered, rate: float) -> Calibrated:
    """Thresholds at which an impostor of two new identities is accepted with a probability of at most `rate`."""
    pairs = one.pairs()  # which refuses what cannot be calibrated before anything is compared
    scores, bounds = one.compared(one.known), dict[int, Bound]()
    for size, some in one.sizes():
        each = one.tried(some, one.known, scores)
        template, item = np.nonzero(some.impostor)
        found = impostor_bound(each[template, item], some.codes[template], one.codes[item], rate)
        if bounds and found.knows_less(bounds[1], rate):  # too few have so many sequences
            break
        bounds[size] = found
    impostors, genuine, limit = scores[pairs.impostor], scores[pairs.genuine], bounds[1].threshold
    warn_few(bounds[1], rate, len(one.classes), "identities")
    return Calibrated(
        {size: found.threshold for size, found in bounds.items()},
        bounds[1].promised,
        float(np.mean(impostors >= limit)),
        float(np.mean(genuine < limit)),
        len(impostors),
        len(genuine),
        len(one.classes),
    )
