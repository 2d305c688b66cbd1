"""`Trials`: which templates of one or more examples are compared with which sequences, and which are genuine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..score.calibration import Ids
from .validation import validate_entries

TEMPLATE_SIZES = (1, 2, 3, 5, 8, 13, 21)  # numbers of examples that have a threshold of their own


class Trials(NamedTuple):
    """Templates of k sequences, `members` (template, k), and masks of the trials (template, item)."""

    members: Ids
    codes: Ids
    impostor: NDArray[np.bool_]
    genuine: NDArray[np.bool_]


class Claims(NamedTuple):
    """Trials (trial,): the claimed identity, that of the claimant, and the kind of the trial."""

    first: Ids
    second: Ids
    impostor: NDArray[np.bool_]
    genuine: NDArray[np.bool_]


class PairFilter(NamedTuple):
    """Which pairs count: those that agree in `within` and differ in `across`, where these are given."""

    within: Ids | None
    across: Ids | None


def make_pair_filter(within: Any, across: Any, n_items: int) -> PairFilter:
    """The filter for the arguments `within` and `across`, one entry for each sequence."""
    return PairFilter(
        *(_encode_entries(entries, name, n_items) for entries, name in ((within, "within"), (across, "across")))
    )


def _encode_entries(entries: Any, name: str, n_items: int) -> Ids | None:
    if entries is None:
        return None
    return np.asarray(np.unique(validate_entries(entries, name, n_items), return_inverse=True)[1], np.int64)


def make_trials(codes: Ids, size: int, pair_filter: PairFilter, *, ordered: bool) -> Trials:
    """All trials with templates of `size` sequences; for single ones each pair once, or both ways if `ordered`."""
    members = np.arange(len(codes))[:, None] if size == 1 else _template_members(codes, size, pair_filter.within)
    owners = codes[members[:, 0]] if len(members) else np.zeros(0, np.int64)
    is_counted = np.ones((len(members), len(codes)), bool)
    if size == 1 and not ordered:
        is_counted = np.triu(is_counted, 1)
    is_counted[np.arange(len(members))[:, None], members] = False
    if pair_filter.within is not None:
        is_counted &= pair_filter.within[members[:, :1]] == pair_filter.within
    if pair_filter.across is not None:
        is_counted &= (pair_filter.across[members][:, :, None] != pair_filter.across).all(axis=1)
    same = owners[:, None] == codes
    return Trials(members, owners, is_counted & ~same, is_counted & same)


def _template_members(codes: Ids, size: int, within: Ids | None) -> Ids:
    """Groups of `size` sequences of one identity (and stratum), in their order."""
    strata = codes if within is None else codes * (int(within.max()) + 1) + within
    groups = []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        groups.append(members[: len(members) // size * size].reshape(-1, size))
    return np.concatenate(groups)


def refuse_one_kind(trials: Trials, classes: NDArray[Any], pair_filter: PairFilter) -> None:
    """Raise an error unless there are impostors and genuine pairs."""
    filter_note = "" if pair_filter.within is None and pair_filter.across is None else ", within and across considered"
    if not trials.impostor.any():
        content = (
            f"one identity, {format_value(classes.tolist()[0])}"
            if len(classes) < 2
            else f"no pair of two identities{filter_note}"
        )
        raise ValueError(
            f"y holds {content}: a threshold is set by pairs that are to be rejected; give sequences of others too"
        )
    if not trials.genuine.any():
        raise ValueError(
            f"y holds no pair of one identity{filter_note}: their rejection rate is unknown; give "
            "some identity two sequences or more"
        )
