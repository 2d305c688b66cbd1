"""Reading two samples as `Sequences`, whatever they came as; vectors are sequences of one frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import validate_array
from ..sequences import Sequences, as_sequences

Domain = Literal["vectors", "sequences"]
"""What a kernel compares. An array of two axes (item, feature) is vectors to the one and (item, time) to the other."""


def validate_sample(value: Any, name: str, domain: Domain | None = None) -> Sequences:
    """Validate a sample of at least one item; an array of two axes is vectors unless `domain` is "sequences".

    >>> validate_sample(np.zeros((3, 5)), "X")
    Sequences(3 sequences, length 1, 5 channels, float64)
    >>> validate_sample(np.zeros((3, 5)), "X", "sequences")
    Sequences(3 sequences, length 5, 1 channel, float64)
    """
    refuse_unreadable_tensor(value, name)
    if isinstance(value, Sequences):
        sample = value
    elif domain != "sequences" and _is_array_like(value):
        sample = _array_to_sequences(value, name)
    else:
        sample = as_sequences(value, name)
    if len(sample) == 0:
        raise ValueError(f"{name} holds no items: expected at least two")
    return sample


def validate_pair(
    X: Any, Y: Any, domain: Domain | None, names: tuple[str, str] = ("X", "Y"), min_items: int = 1
) -> tuple[Sequences, Sequences]:
    """Two samples of the same channels, each with `min_items` items or more; an array beside sequences is sequences."""
    X, Y = (list(value) if hasattr(value, "__next__") else value for value in (X, Y))  # they may be read twice
    samples = [validate_sample(value, name, domain) for value, name in zip((X, Y), names, strict=True)]
    if samples[0].frame != samples[1].frame and (_is_matrix(X) != _is_matrix(Y)):
        samples = [validate_sample(value, name, "sequences") for value, name in zip((X, Y), names, strict=True)]
    refuse_other_frame(samples[1], samples[0].frame, names[1], f"{names[0]} of")
    refuse_other_channels(samples[1], samples[0].channel_names, names[1], names[0])
    for sample, name in zip(samples, names, strict=True):
        if len(sample) < min_items:
            raise ValueError(f"{name} holds {len(sample)} item: expected at least {min_items} of each sample")
    return samples[0], samples[1]


def refuse_other_frame(sample: Sequences, frame: tuple[int, ...], name: str, other_name: str) -> None:
    """An error for another number of channels than the other sample, or the reference, has."""
    if sample.frame != frame and sample.shape[1] == 1 and len(frame) == len(sample.frame) == 1:
        raise ValueError(
            f"{name} has vectors of {sample.frame[0]} numbers and {other_name} {frame[0]}: expected as many"
        )
    if sample.frame != frame:
        raise ValueError(
            f"{name} has frames of shape {sample.frame} and {other_name} {frame}: expected the same channels; an array "
            '(item, channel, time) needs Sequences(data, layout="nct"), and one of two axes is read as vectors'
        )


def refuse_other_channels(sample: Sequences, expected_names: Sequence[str] | None, name: str, other_name: str) -> None:
    """An error for channels of other names, or in another order, where both samples name them."""
    if (
        expected_names is not None
        and sample.channel_names is not None
        and tuple(expected_names) != sample.channel_names
    ):
        raise ValueError(
            f"{name} has the channels {', '.join(sample.channel_names)[:80]} and {other_name} "
            f"{', '.join(expected_names)[:80]}: "
            "expected the same in one order; take them by name, or drop the names with replace(channel_names=None)"
        )


def as_vectors(sample: Sequences, name: str) -> NDArray[np.float64]:
    """Every item as one vector (item, time · channel) in double precision: all must be as long and complete."""
    refuse_non_vectors((sample, name))
    return np.ascontiguousarray(sample.values.reshape(len(sample), -1), np.float64)


def refuse_non_vectors(*given: tuple[Sequences, str]) -> None:
    """An error where items of samples are not all as long, or not complete, so that they are no vectors."""
    lengths = [length for sample, _ in given for length in (sample.lengths.min(), sample.lengths.max())]
    if min(lengths) != max(lengths):
        names, have = (given[0][1], "has") if len(given) == 1 else (" and ".join(name for _, name in given), "have")
        raise ValueError(
            f"{names} {have} sequences of {min(lengths)} to {max(lengths)} steps, which a kernel of vectors cannot "
            "compare: use one of sequences, such as EncoderKernel(timelike.Rocket(), RBF()) or "
            "ExponentialKernel('dtw'), or resample(length=...) first"
        )
    for sample, name in given:
        sample.refuse_missing("a kernel of vectors", name)


def as_single_frames(vectors: NDArray[np.float64]) -> Sequences:
    """Vectors (item, feature) as sequences of one frame, as native distances take them."""
    return Sequences(vectors, layout="nc")


def drop_metadata(sample: Sequences, *, keep_times: bool = False) -> Sequences:
    """The same without labels, groups and ids, and without times unless these are kept."""
    known = dict.fromkeys(("labels", "groups", "ids", "class_names", "channel_names"))
    return sample.replace(**known, **({} if keep_times or sample.times is None else {"times": None}))


def pool_samples(samples: Sequence[Sequences]) -> Sequences:
    """All items of several samples, one after the other; with times where all have them, in one kind of clock."""
    from ..sequences.concatenation import concatenate

    clocks = {None if sample.times is None else sample.times.dtype.kind for sample in samples}
    kept = len(clocks) == 1
    return concatenate(
        [drop_metadata(sample, keep_times=kept) for sample in samples], [f"sample {i}" for i in range(len(samples))]
    )


def is_tensor(value: Any) -> bool:
    """Whether it is one of torch, which is not imported for that."""
    return hasattr(value, "detach")


def refuse_unreadable_tensor(value: Any, name: str) -> None:
    """An error for a tensor that has no numbers, or complex ones, whose imaginary part would be lost."""
    if not is_tensor(value):
        return
    if value.is_meta:
        raise ValueError(f"{name} is a tensor on the meta device, which holds no numbers: give one on the CPU or a GPU")
    if value.is_complex():
        raise TypeError(
            f"{name} has dtype {value.dtype}: expected real numbers; use torch.view_as_real({name}), or abs"
        )


def _is_array_like(value: Any) -> bool:
    return is_tensor(value) or (hasattr(value, "__array__") and not hasattr(value, "columns")) or hasattr(value, "iloc")


def _is_matrix(value: Any) -> bool:
    return _is_array_like(value) and getattr(value, "ndim", 0) == 2


def _array_to_sequences(value: Any, name: str) -> Sequences:
    array = validate_array(value.to_numpy() if hasattr(value, "iloc") else value, name)
    if hasattr(value, "columns") and array.ndim == 2 and len(array):
        return Sequences(array, layout="nc", channel_names=[str(column) for column in value.columns])
    if array.ndim == 1:
        raise ValueError(
            f"{name} has shape {array.shape}: expected (item, feature), or sequences; give numbers as {name}[:, None], "
            f"and one sequence as [{name}]"
        )
    return as_sequences(array[:, None] if array.ndim == 2 and len(array) else array, name)
