"""`Labels`, `Episodes`, `SelfSupervision`: the kinds of supervision of metrics that align frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from ..core.parameters import check_bool, check_float, check_int
from ..sequences.augment import Augmentation, Blur, Merge, RandomChoice, choose

SupervisionName = Literal["labels", "episodes", "augmentation", "alignment"]
ConsistencyWeight = float | Literal["paper"]

BLUR_OR_MERGE: RandomChoice = choose([Blur(), Merge()])
"""TAP's augmentation: one of the two, drawn anew for every sequence (Su & Wen, ICLR 2022, appendix A.1)."""


def check_consistency_weight(value: Any, name: str) -> ConsistencyWeight:
    """Check a weight of eq. 10: a number of at least 0, or "paper".

    >>> check_consistency_weight("papre", "consistency")
    Traceback (most recent call last):
        ...
    ValueError: consistency='papre': expected a number of at least 0, or 'paper'
    """
    if not isinstance(value, str):
        return check_float(value, name, 0)
    if value != "paper":
        raise ValueError(f"{name}={value!r}: expected a number of at least 0, or 'paper'")
    return "paper"


def check_augment(value: Any, name: str, example: str = "Merge(even=True)") -> bool | Augmentation:
    """Check an option that is True, False or an augmentation.

    >>> check_augment("yes", "perturb", "Jitter()")
    Traceback (most recent call last):
        ...
    TypeError: perturb='yes': expected True, False, or an augmentation of timelike.sequences.augment, such as Jitter()
    """
    if isinstance(value, Augmentation):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    words = f"an augmentation of timelike.sequences.augment, such as {example}"
    raise TypeError(f"{name}={value!r}: expected True, False, or {words}")


def _resolve_augmentation(augment: bool | Augmentation) -> Augmentation | None:
    if isinstance(augment, Augmentation):
        return augment
    return BLUR_OR_MERGE if augment else None


@dataclass(frozen=True, kw_only=True)
class Supervision:
    """Base class of the kinds of supervision, with their common fields."""

    dual: bool = True
    joint: bool = True

    needs_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bool(self.dual, "dual")
        check_bool(self.joint, "joint")


@dataclass(frozen=True, kw_only=True)
class Labels(Supervision):
    """Learn from the classes of sequences; the word is "labels".

    Parameters
    ----------
    augment : bool or augmentation
        Whether to augment queries by blurring or merging (Su and Wen, ICLR 2022, appendix A.1), or an augmentation of
        `timelike.sequences.augment`. The paper augments; `perturb` works better.
    consistency : float, "paper" or None
        With augmented queries, the weight of eq. 10 relative to the loss. Eq. 10 trains a sequence to be close to its
        augmentation and to align with it as it was generated; both terms are means over the batch. In the paper the
        loss is a sum, so the weight of eq. 10 is 1 / batch size: "paper". None is "paper" for `TAP`, which did best on
        held-out parts of training data (decision 0019), and 0 for `AlignedFrames`: soft-DTW collapses if trained to be
        close to its own augmentation.
    dual : bool
        Whether eq. 10 includes the terms from the sequence to its augmentation.
    joint : bool
        Whether to train the network for frames together with the alignment; otherwise raw frames are compared.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[learn]
    >>> tl.TAP().set_params(supervision__augment=True).supervision
    Labels(dual=True, joint=True, augment=True, consistency=None)
    """

    augment: bool | Augmentation = False
    consistency: ConsistencyWeight | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_augment(self.augment, "augment")
        if self.consistency is not None:
            check_consistency_weight(self.consistency, "consistency")

    @property
    def augmentation(self) -> Augmentation | None:
        """The augmentation of queries, or None."""
        return _resolve_augmentation(self.augment)


@dataclass(frozen=True, kw_only=True)
class Episodes(Supervision):
    """Learn from few-shot tasks sampled from the classes; the word is "episodes".

    Parameters
    ----------
    n_way : int
        Classes per task.
    k_shot : int
        Members of each class in the support.
    n_query : int
        Queries per class.
    n_episodes : int
        Tasks per epoch.
    dual : bool
        Whether eq. 8 of the paper (Su and Wen, ICLR 2022) includes the distance from the support to the query.
    joint : bool
        Whether to train the network for frames together with the alignment; otherwise raw frames are compared.
    """

    n_way: int = 5
    k_shot: int = 1
    n_query: int = 5
    n_episodes: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int(self.n_way, "n_way", 2)
        for name in ("k_shot", "n_query", "n_episodes"):
            check_int(getattr(self, name), name, 1)


@dataclass(frozen=True, kw_only=True)
class SelfSupervision(Supervision):
    """Learn without classes from augmentations of the sequences; the word is "augmentation".

    Parameters
    ----------
    augment : True or augmentation
        True blurs or merges (Su and Wen, ICLR 2022, appendix A.1); or an augmentation of `timelike.sequences.augment`,
        such as `Merge(even=True)` or `choose([Blur(), TimeWarp()])`.
    distance_weight : float
        Weight of the distance between a sequence and its augmentation. 0 learns only the alignment of the two (appendix
        A.8); the word is "alignment".
    dual : bool
        Whether eq. 10 includes the terms from the sequence to its augmentation.
    joint : bool
        Whether to train the network for frames together with the alignment. Without negatives this makes all frames
        equal.
    """

    augment: bool | Augmentation = True
    distance_weight: float = 1.0
    joint: bool = False

    needs_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not check_augment(self.augment, "augment"):
            raise ValueError(
                "augment=False leaves nothing to learn from: use augment=True, or an augmentation such as Merge()"
            )
        check_float(self.distance_weight, "distance_weight", 0)

    @property
    def augmentation(self) -> Augmentation:
        """The augmentation that sequences are compared with."""
        augmentation = _resolve_augmentation(self.augment)
        assert augmentation is not None
        return augmentation


SUPERVISIONS: dict[str, Callable[[], Supervision]] = {
    "labels": Labels,
    "episodes": Episodes,
    "augmentation": SelfSupervision,
    "alignment": partial(SelfSupervision, distance_weight=0.0),
}
"""The kind of supervision for each word."""
