"""`robustness` and `suite`: accuracy under each attack, and under the worst attack for each item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.random import RandomState, check_random_state
from ..prototypes.options import Head
from ..score import Interval
from ..sequences.validation import validate_sequences
from .base import Attack
from .gradient import FGSM, PGD

CLEAN_NAME, WORST_NAME = "clean", "worst of all"
_NORMAL_QUANTILE = 1.959964  # of 95 %


@dataclass(frozen=True, repr=False)
class Robustness:
    """Which items are answered correctly, (item,), on clean data and under every attack; see `robustness`.

    `accuracy(name)` is an accuracy with its interval, and `worst_case` the fraction that no attack fools.
    """

    correct: dict[str, NDArray[np.bool_]]

    def accuracy(self, name: str = CLEAN_NAME) -> Interval:
        """The accuracy under an attack, or on clean data, with its 95 % interval."""
        if name not in self.correct:
            raise KeyError(f"{name!r}: expected one of {', '.join(map(repr, self.correct))}")
        return share_interval(self.correct[name])

    @property
    def clean(self) -> Interval:
        """The accuracy on clean data."""
        return self.accuracy(CLEAN_NAME)

    @property
    def worst_case(self) -> Interval:
        """The fraction of items that are answered correctly under every attack."""
        return share_interval(np.logical_and.reduce(list(self.correct.values())))

    def rows(self) -> list[tuple[str, Interval]]:
        """Name and accuracy: clean, every attack, the worst of all."""
        return [*((name, self.accuracy(name)) for name in self.correct), (WORST_NAME, self.worst_case)]

    def __repr__(self) -> str:
        wide = max(len(name) for name, _ in self.rows())
        lines = (f"{name:{wide}}  {100 * at.mean:6.2f} [{_format_bounds(at)}]" for name, at in self.rows())
        return "\n".join([f"{'accuracy (%)':{wide}}   share [95 % interval]", *lines])

    def _repr_html_(self) -> str:
        from ..plotting import html

        cells = ([name, f"{100 * at.mean:.2f}", _format_bounds(at)] for name, at in self.rows())
        return html.table(["attack", "accuracy (%)", "95 % interval"], cells)


def robustness(
    model: Any,
    X: Any,
    y: Any = None,
    attacks: Mapping[str, Attack] | Iterable[Attack] | Attack = (),
    *,
    head: Head | None = None,
    transfer_from: Any = None,
    random_state: RandomState = None,
) -> Robustness:
    """Accuracy under attacks, each by itself and the worst of all for every item.

    An item that is answered wrongly without an attack counts as wrong under every attack. If accuracy drops under a
    margin loss, after restarts or by the gradients of another model, but not under a single run of cross-entropy,
    gradients were masked and the model is not robust (Athalye, Carlini and Wagner, 2018): judge by the worst of all.

    Parameters
    ----------
    model, X, y, head
        As in `Attack.attack`.
    attacks : attacks, or attacks by name
        For example `suite(epsilon)`.
    transfer_from : model, name of a head, or several of these by name
        Every attack is repeated with the gradients of these.

    Examples
    --------
    >>> import torch
    >>> from timelike import attacks
    >>> model = lambda x, lengths: torch.stack([x.sum((1, 2)), -x.sum((1, 2))], dim=1)
    >>> attacks.robustness(model, [[0.1], [0.5], [-1.0]], [0, 0, 0], attacks.FGSM(0.25))
    accuracy (%)   share [95 % interval]
    clean          66.67 [20.8 to 93.9]
    FGSM(0.25)     33.33 [6.1 to 79.2]
    worst of all   33.33 [6.1 to 79.2]
    """
    sequences, seed = validate_sequences(X), int(check_random_state(random_state).integers(2**62))
    named_attacks = _attacks_by_name(attacks)
    if not named_attacks:
        raise ValueError("attacks is empty: expected one or several, such as attacks.suite(0.1)")
    sources: dict[str, Any] = {"": None} | _sources_by_name(transfer_from)
    correct = {CLEAN_NAME: ~FGSM(0.0)._fooled_mask(model, sequences, y, head, None, seed)}
    for name, attack in named_attacks.items():
        for source, other in sources.items():
            correct[f"{name}{source}"] = ~attack._fooled_mask(model, sequences, y, head, other, seed)
    return Robustness(correct)


def suite(epsilon: float, *, steps: int = 40, restarts: int = 5, **options: Any) -> dict[str, Attack]:
    """The attacks that a claim of robustness should withstand: FGSM, PGD, and PGD on the margin with restarts.

    Other options are those of `PGD` and `FGSM`, such as `bounds`.

    >>> list(suite(0.3, bounds=(0.0, 1.0)))
    ['FGSM', 'PGD-40', 'PGD-40 margin × 5']
    """
    return {
        "FGSM": FGSM(epsilon, **options),
        f"PGD-{steps}": PGD(epsilon, steps=steps, **options),
        f"PGD-{steps} margin × {restarts}": PGD(epsilon, steps=steps, restarts=restarts, loss="margin", **options),
    }


def share_interval(correct: NDArray[np.bool_]) -> Interval:
    """The fraction of True with Wilson's interval (1927), whose width is positive at 0 and 1 too.

    >>> round(share_interval(np.zeros(100, bool)).high, 4)
    0.037
    """
    n, mean = len(correct), float(correct.mean())
    middle = (mean + _NORMAL_QUANTILE**2 / (2 * n)) / (1 + _NORMAL_QUANTILE**2 / n)
    half = (
        _NORMAL_QUANTILE
        / (1 + _NORMAL_QUANTILE**2 / n)
        * np.sqrt(mean * (1 - mean) / n + _NORMAL_QUANTILE**2 / (4 * n * n))
    )
    return Interval(mean, max(float(middle - half), 0.0), min(float(middle + half), 1.0))


def _attacks_by_name(attacks: Any) -> dict[str, Attack]:
    if isinstance(attacks, Attack):
        attacks = [attacks]
    named_attacks = dict(attacks) if isinstance(attacks, Mapping) else {repr(attack): attack for attack in attacks}
    for name, attack in named_attacks.items():
        if not isinstance(attack, Attack):
            raise TypeError(f"attacks has {name}, a {type(attack).__name__}: expected attacks, such as PGD(0.1)")
        if name in (CLEAN_NAME, WORST_NAME):
            raise ValueError(f"attacks has the name {name!r}, which is reserved: use another name")
    return named_attacks


def _sources_by_name(transfer_from: Any) -> dict[str, Any]:
    if transfer_from is None:
        return {}
    if isinstance(transfer_from, Mapping):
        return {f" from {name}": source for name, source in transfer_from.items()}
    name = transfer_from if isinstance(transfer_from, str) else type(transfer_from).__name__
    return {f" from {name}": transfer_from}


def _format_bounds(at: Interval) -> str:
    return f"{100 * at.low:.1f} to {100 * at.high:.1f}"
