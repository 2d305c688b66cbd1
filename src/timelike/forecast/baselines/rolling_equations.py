"""Normal equations that grow by a few windows from cut to cut, solved for the queries at each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from .base import Ids, Matrix
from .lagged_design import LaggedDesign, RegressionMoments, cholesky_factor

_CACHE_NUMBERS = 1 << 18  # numbers of the matrices of several cuts at a time: they stay in the cache
_MAX_SHARED_WINDOWS = 128  # windows that are added to one factorisation
_FEATURES_PER_QUERY = 16  # features for every question, below which a factorisation of its own is cheaper than updates
_CORRECTION_TOLERANCE = 1e-11  # spreads by which a forecast may still move when corrections end
_ROUNDING_TOLERANCE = 1e-9  # spreads of it that are rounding, where corrections no longer grow smaller
_MAX_CORRECTIONS = 12


class RollingCuts(NamedTuple):
    """Cuts in time, the questions asked at each and the windows known at each.

    Features begin with a 1, whose weight is the intercept and is not penalised: sums then need no centring.
    """

    design: LaggedDesign
    origin: Ids
    """Of all windows, in the order in which they become known."""
    counts: Ids
    """How many of them are known, (cut,)."""
    penalty: Matrix
    """Of every feature, (cut, feature)."""
    queries: Matrix
    """In the order of cuts, (question, feature)."""
    bounds: Ids
    """Questions of the cut c are those from bounds[c] up to bounds[c + 1]."""


def solve_rolling(cuts: RollingCuts, moments: RegressionMoments) -> Matrix:
    """ȳ + (x − x̄)ᵀ (XᵀX + P)⁻¹ XᵀY for every question, (question, answer), from the moments at the first cut.

    Many new windows or questions at each cut: a factorisation each. Few: the one of an earlier cut serves several.
    """
    sums = _GrowingGram(cuts, moments)
    n_cuts, n_features = cuts.penalty.shape
    found = np.empty((len(cuts.queries), cuts.design.n_targets))
    sizes = cuts.design.feature_counts()
    busy = max(len(cuts.queries), int(cuts.counts[-1] - cuts.counts[0])) / n_cuts
    apart = sizes[0] < sizes[-1] or busy * _FEATURES_PER_QUERY > n_features
    most = max(1, _CACHE_NUMBERS // n_features**2) if apart else max(1, int(_MAX_SHARED_WINDOWS / max(busy, 1)))
    begin, length = 0, most
    while begin < n_cuts:
        end = min(begin + length, n_cuts)
        rows = slice(cuts.bounds[begin], cuts.bounds[end])
        answers = sums.solve_each(begin, end) if apart else sums.solve_together(begin, end)
        if answers is None:  # scales have moved too far from those of the factorisation
            length = max(1, (end - begin) // 2)
            continue
        found[rows] = answers
        begin, length = end, min(2 * length, most)
    return found


class _GrowingGram:
    """XᵀX and XᵀY at a cut, which moves forward only."""

    def __init__(self, cuts: RollingCuts, moments: RegressionMoments) -> None:
        self.cuts, self.count = cuts, moments.count
        n_features = cuts.penalty.shape[1]
        self.both = np.empty((n_features, n_features + cuts.design.n_targets))  # one product adds to both
        self.xx, self.xy = self.both[:, :n_features], self.both[:, n_features:]
        self.xx[0, 0], self.xx[0, 1:], self.xx[1:, 0], self.xx[1:, 1:] = self.count, moments.x, moments.x, moments.xx
        self.xy[0], self.xy[1:] = moments.y, moments.xy

    def _new_windows(self, count: int) -> Matrix:
        """A 1, what is seen and what follows of the windows that come next."""
        origin, design = self.cuts.origin[self.count : count], self.cuts.design
        return prepend_ones(np.hstack([design.inputs(origin), design.targets(origin)]))

    def _add_windows(self, new: Matrix) -> None:
        if len(new):
            seen = new[:, : len(self.both)]
            dgemm(1.0, new.T, seen.T, 1.0, self.both.T, trans_b=1, overwrite_c=1)  # transposes, in the order of BLAS
            self.count += len(new)

    # --- a factorisation at every cut --------------------------------------------------------------------------------

    def solve_each(self, begin: int, end: int) -> Matrix:
        """Answers at some cuts, from a factorisation at each."""
        cuts, sizes = self.cuts, self.cuts.design.feature_counts() + 1
        new, known = self._new_windows(int(cuts.counts[end - 1])), self.count
        answers = _solve_by_step if sizes[0] < sizes[-1] else _solve_shared
        found = []
        for cut, penalty, count in zip(
            range(begin, end), cuts.penalty[begin:end], cuts.counts[begin:end].tolist(), strict=True
        ):
            self._add_windows(new[self.count - known : count - known])
            asked = cuts.queries[cuts.bounds[cut] : cuts.bounds[cut + 1]].T
            found.append(answers(_cholesky_lower(self.xx, penalty), asked, self.xy, sizes))
        return np.concatenate(found)

    # --- one factorisation for several cuts --------------------------------------------------------------------------

    def solve_together(self, begin: int, end: int) -> Matrix | None:
        """Answers at some cuts, from a factorisation at the first of them.

        With U = L⁻¹Xᵀ of the windows added since, (LLᵀ + XᵀX)⁻¹ = L⁻ᵀ(I − U(I + UᵀU)⁻¹Uᵀ)L⁻¹ (Woodbury, 1950). The
        factor of I + UᵀU for the first few windows is the corner of the factor for all, so one serves every cut. What
        the penalties have changed since is left to corrections, which multiply the error by that change or less, as
        XᵀX + P is nowhere below P; None where they do not end.
        """
        cuts = self.cuts
        self._add_windows(self._new_windows(int(cuts.counts[begin])))
        new = self._new_windows(int(cuts.counts[end - 1]))
        seen, followed = new[:, : len(self.both)], new[:, len(self.both) :]
        rows = np.repeat(np.arange(begin, end), np.diff(cuts.bounds[begin : end + 1]))
        system = _GrownSystem(self.xx, seen, cuts.counts[rows] - self.count, cuts.penalty[rows].T)
        middle = cuts.penalty[begin if end - begin < 3 else (begin + end) // 2]
        solution = system.solve(
            cuts.queries[cuts.bounds[begin] : cuts.bounds[end]].T, middle, self.count, end - begin == 1
        )
        if solution is None:
            return None
        return np.asarray(solution.T @ self.xy + (system.known_mask * (seen @ solution)).T @ followed)


class _GrownSystem(NamedTuple):
    """The matrices xx + seenᵀ known seen + penalty, one for each question: (feature, question) in, the same out."""

    xx: Matrix
    seen: Matrix
    known_count: Ids
    penalty: Matrix

    @property
    def known_mask(self) -> NDArray[np.bool_]:
        """Whether a window is known where a question is asked, (window, question)."""
        return np.asarray(np.arange(len(self.seen))[:, None] < self.known_count)

    def solve(self, asked: Matrix, usual: Matrix, count: int, anyhow: bool) -> Matrix | None:
        """The solutions for what is asked, first with the usual penalty and then corrected; None without an end."""
        known = self.known_mask
        lower = _cholesky_lower(self.xx, usual)
        half = solve_lower(lower, self.seen.T)
        inner = _cholesky_lower(half.T @ half, np.ones(len(self.seen)))

        def near(right: Matrix) -> Matrix:
            first = solve_lower(lower, right)
            along = solve_lower(inner, half.T @ first)
            along *= known
            return solve_upper(lower, first - half @ solve_upper(inner, along))

        found, past = near(asked), self.penalty - usual[:, None]
        left = asked - self.xx @ found - self.penalty * found - self.seen.T @ (known * (self.seen @ found))
        last = _max_norm(asked, found) * np.sqrt(count)
        for _ in range(_MAX_CORRECTIONS):
            more = near(left)
            found += more
            # in the norm of the matrix the error of a forecast is at most this many spreads of all that follows
            moved = _max_norm(left, more) * np.sqrt(count)
            if moved * min(moved / last, 1.0) <= _CORRECTION_TOLERANCE or (
                moved > last / 2 and moved <= _ROUNDING_TOLERANCE
            ):
                return found
            if moved > last / 2:
                break
            last, left = moved, -past * more
        return found if anyhow else None


def _max_norm(image: Matrix, vectors: Matrix) -> float:
    """The largest length √(vᵀAv) of vectors, given with their images Av."""
    return float(np.sqrt(np.maximum(np.einsum("fq,fq->q", image, vectors), 0.0).max()))


def prepend_ones(seen: Matrix) -> Matrix:
    """A column of 1 and what is seen."""
    found = np.empty((len(seen), seen.shape[1] + 1))
    found[:, 0], found[:, 1:] = 1.0, seen
    return found


def _cholesky_lower(xx: Matrix, penalty: Matrix) -> Matrix:
    """The lower triangle L with L Lᵀ = xx + penalty, in the order of LAPACK; what is above it is not looked at."""
    gram = np.array(xx.T, order="F")
    gram.reshape(-1, order="A")[:: len(gram) + 1] += penalty
    lower, failed = dpotrf(gram, lower=1, clean=0)
    return np.asfortranarray(cholesky_factor(gram, 0.0)) if failed else np.asarray(lower)


def _solve_shared(lower: Matrix, asked: Matrix, product: Matrix, sizes: Ids) -> Matrix:
    """The answers from one factor, where all steps ahead see the same."""
    return np.asarray(dpotrs(lower, asked, lower=1)[0].T @ product)


def _solve_by_step(lower: Matrix, asked: Matrix, product: Matrix, sizes: Ids) -> Matrix:
    """The same where step h sees the first sizes[h] features: with 0 after these, one factor solves for them alone."""
    n_features, n_asked = asked.shape
    half = solve_lower(lower, asked).T[:, None] * (np.arange(n_features) < sizes[:, None])  # (question, step, feature)
    found = solve_upper(lower, half.reshape(-1, n_features).T).T.reshape(half.shape)
    steps = product.reshape(n_features, len(sizes), -1).transpose(1, 0, 2)
    return np.asarray((found[:, :, None] @ steps).reshape(n_asked, -1))


def solve_lower(lower: Matrix, given: Matrix) -> Matrix:
    """L⁻¹ given."""
    return np.asarray(dtrtrs(lower, given, lower=1)[0])


def solve_upper(lower: Matrix, half: Matrix) -> Matrix:
    """Lᵀ⁻¹ half."""
    return np.asarray(dtrtrs(lower, half, lower=1, trans=1)[0])
