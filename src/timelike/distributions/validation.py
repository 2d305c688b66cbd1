"""Functions that check samples and convert them to an array of vectors (item, feature) or to `Sequences`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import read_only_view, validate_array
from ..sequences import Sequences, as_sequences

Domain = Literal["vectors", "sequences"]
"""The samples of a kernel. An array of two axes is (item, feature) for "vectors", (item, time) for "sequences"."""

Sample = NDArray[Any] | Sequences
"""A validated sample: vectors (item, feature) without infinities, in their original dtype, or sequences."""


def validate_sample(value: Any, name: str, domain: Domain | None = None) -> Sample:
    """Validate a sample of at least one item; an array of two axes is vectors unless `domain` is "sequences".

    >>> validate_sample(np.zeros((3, 5)), "X").shape
    (3, 5)
    >>> validate_sample(np.zeros((3, 5)), "X", "sequences")
    Sequences(3 sequences, length 5, 1 channel, float64)
    """
    refuse_unreadable_tensor(value, name)
    if isinstance(value, Sequences):
        sample: Sample = value
    elif domain != "sequences" and _is_array_like(value):
        sample = _validate_array_sample(value, name)
    else:
        sample = as_sequences(value, name)
    if len(sample) == 0:
        raise ValueError(f"{name} holds no items: expected at least two")
    return sample


def validate_pair(
    X: Any, Y: Any, domain: Domain | None, names: tuple[str, str] = ("X", "Y"), min_items: int = 1
) -> tuple[Sample, Sample]:
    """Two samples of one type with the same channels, each with `min_items` items or more.

    An array of two axes beside sequences is read as sequences.
    """
    X, Y = (list(value) if hasattr(value, "__next__") else value for value in (X, Y))  # they may be read twice
    samples = [validate_sample(value, name, domain) for value, name in zip((X, Y), names, strict=True)]
    if sample_frame(samples[0]) != sample_frame(samples[1]) and (_is_matrix(X) != _is_matrix(Y)):
        samples = [validate_sample(value, name, "sequences") for value, name in zip((X, Y), names, strict=True)]
    refuse_other_frame(samples[1], sample_frame(samples[0]), names[1], f"{names[0]} of")
    if not (isinstance(samples[0], np.ndarray) and isinstance(samples[1], np.ndarray)):
        first, second = map(to_sequences, samples)
        refuse_other_channels(second, first.channel_names, names[1], names[0])
        samples = [first, second]
    for sample, name in zip(samples, names, strict=True):
        if len(sample) < min_items:
            raise ValueError(f"{name} holds {len(sample)} item: expected at least {min_items} of each sample")
    return samples[0], samples[1]


def sample_frame(sample: Sample) -> tuple[int, ...]:
    """The shape of a vector, or of a frame of sequences."""
    return sample.shape[1:] if isinstance(sample, np.ndarray) else sample.frame


def is_vector_sample(sample: Sample) -> bool:
    """Whether items are vectors: an array, or sequences of one step each."""
    return isinstance(sample, np.ndarray) or sample.shape[1] == 1


def to_sequences(sample: Sample) -> Sequences:
    """A sample as sequences; vectors become sequences of one frame."""
    return Sequences(sample, layout="nc") if isinstance(sample, np.ndarray) else sample


def refuse_other_frame(sample: Sample, frame: tuple[int, ...], name: str, other_name: str) -> None:
    """Raise an error if the number of channels differs from that of the other sample, or the reference."""
    own = sample_frame(sample)
    if own == frame:
        return
    if is_vector_sample(sample) and len(frame) == len(own) == 1:
        raise ValueError(f"{name} has vectors of {own[0]} numbers and {other_name} {frame[0]}: expected as many")
    raise ValueError(
        f"{name} has frames of shape {own} and {other_name} {frame}: expected the same channels; an array "
        '(item, channel, time) needs Sequences(data, layout="nct"), and one of two axes is read as vectors'
    )


def refuse_other_channels(sample: Sequences, expected_names: Sequence[str] | None, name: str, other_name: str) -> None:
    """Raise an error if both samples name their channels and names or order differ."""
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


def refuse_missing(sample: Sample, who: str, name: str) -> None:
    """Raise an error that names the first item with a missing value (nan), which `who` cannot take."""
    if isinstance(sample, Sequences):
        sample.refuse_missing(who, name)
    elif np.isnan(sample).any():
        to_sequences(sample).refuse_missing(who, name)


def as_vectors(sample: Sample, name: str) -> NDArray[np.float64]:
    """Every item as one vector (item, time · channel) in double precision: equal lengths, no missing values."""
    refuse_non_vectors((sample, name))
    values = sample if isinstance(sample, np.ndarray) else sample.values.reshape(len(sample), -1)
    return np.ascontiguousarray(values, np.float64)


def refuse_non_vectors(*named_samples: tuple[Sample, str]) -> None:
    """Raise an error unless items are vectors: of equal lengths and without missing values."""
    if any(isinstance(sample, Sequences) for sample, _ in named_samples):
        _refuse_other_lengths(*named_samples)
    for sample, name in named_samples:
        refuse_missing(sample, "a kernel of vectors", name)


def _refuse_other_lengths(*named_samples: tuple[Sample, str]) -> None:
    lengths = [length for sample, _ in named_samples for length in _length_range(sample)]
    if min(lengths) != max(lengths):
        names, have = (
            (named_samples[0][1], "has")
            if len(named_samples) == 1
            else (" and ".join(name for _, name in named_samples), "have")
        )
        raise ValueError(
            f"{names} {have} sequences of {min(lengths)} to {max(lengths)} steps, which a kernel of vectors cannot "
            "compare: use one of sequences, such as EncoderKernel(timelike.Rocket(), RBF()) or "
            "ExponentialKernel('dtw'), or resample(length=...) first"
        )


def _length_range(sample: Sample) -> tuple[int, int]:
    return (1, 1) if isinstance(sample, np.ndarray) else (sample.lengths.min(), sample.lengths.max())


def as_dense_array(sample: Sample, name: str, domain: Domain | None = None) -> NDArray[np.float64]:
    """A sample as one array in double precision: vectors (item, feature), or sequences (item, time, channel).

    Without a domain, sequences of one step each are vectors.
    """
    if isinstance(sample, np.ndarray) or domain == "vectors" or (domain is None and sample.shape[1] == 1):
        return as_vectors(sample, name)
    if not sample.has_equal_lengths:
        raise ValueError(
            f"{name} has sequences of {sample.lengths.min()} to {sample.lengths.max()} steps: expected one length, for "
            "gradients; use resample(length=...) first"
        )
    return np.ascontiguousarray(sample.values.reshape(sample.shape), np.float64)


def drop_metadata(sample: Sequences, *, keep_times: bool = False) -> Sequences:
    """The sample without labels, groups, ids and names, and without times unless `keep_times`."""
    no_metadata = dict.fromkeys(("labels", "groups", "ids", "class_names", "channel_names"))
    return sample.replace(**no_metadata, **({} if keep_times or sample.times is None else {"times": None}))


def pool_samples(samples: Sequence[Sample]) -> Sample:
    """All items of several samples in order; with times if all have them, of one kind."""
    if all(isinstance(sample, np.ndarray) for sample in samples):
        return np.concatenate(samples)
    from ..sequences.concatenation import concatenate

    parts = [to_sequences(sample) for sample in samples]
    clocks = {None if sample.times is None else sample.times.dtype.kind for sample in parts}
    return concatenate(
        [drop_metadata(sample, keep_times=len(clocks) == 1) for sample in parts],
        [f"sample {i}" for i in range(len(parts))],
    )


def is_tensor(value: Any) -> bool:
    """Whether it is a torch tensor, without importing torch."""
    return hasattr(value, "detach")


def refuse_unreadable_tensor(value: Any, name: str) -> None:
    """Raise an error for a tensor without numbers, or with complex ones, whose imaginary part would be lost."""
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


def _validate_array_sample(value: Any, name: str) -> Sample:
    array = validate_array(value.to_numpy() if hasattr(value, "iloc") else value, name)
    if hasattr(value, "columns") and array.ndim == 2 and len(array):
        return Sequences(array, layout="nc", channel_names=[str(column) for column in value.columns])
    if array.ndim == 1:
        raise ValueError(
            f"{name} has shape {array.shape}: expected (item, feature), or sequences; give numbers as {name}[:, None], "
            f"and one sequence as [{name}]"
        )
    if array.ndim != 2 or not array.size:
        return as_sequences(array[:, None] if array.ndim == 2 and len(array) else array, name)
    if np.isinf(array).any():
        as_sequences(array[:, None], name)  # raises an error with the position
    return read_only_view(array)
