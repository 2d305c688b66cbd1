"""Whatever the caller has → checked arrays: single sequences, collections, positions, labels and targets.

Nothing behind a door checks again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .arguments import shown
from .foreign import from_objects, from_torch, is_sparse, opened
from .layouts import Layout, in_order, known_layout, single

if TYPE_CHECKING:
    from .container import Sequences

_CHUNK = 1 << 20  # values looked at in one go, so that checking 1 GB needs no second gigabyte


def computed_dtype(*dtypes: Any) -> np.dtype[Any]:
    """What numbers of these dtypes are computed in: float64 where float32 could not hold them, otherwise float32.

    >>> computed_dtype(np.int64), computed_dtype(np.uint8, np.float16)
    (dtype('float64'), dtype('float32'))
    """
    return np.result_type(*(np.result_type(dtype, np.float32) for dtype in dtypes))


def plain_array(value: Any, name: str) -> NDArray[Any]:
    """A numeric NumPy array in C order, over the caller's memory where that has it; what is masked is missing."""
    return row_ordered(numeric_view(value, name))


def count_axes(value: Any) -> int:
    """The axes of an array, or how deep lists are nested: NumPy's `ndim` refuses lists of unequal lengths.

    >>> count_axes(np.zeros((2, 3))), count_axes([[1.0, 2.0], [3.0]]), count_axes(4.0)
    (2, 2, 0)
    """
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return 1 + max(map(count_axes, value[:1]), default=0)
    return int(value.ndim if hasattr(value, "ndim") else np.ndim(value) if hasattr(value, "__array__") else 0)


def numeric_view(value: Any, name: str) -> NDArray[Any]:
    """The same in whatever order it lies in memory, for what is packed afterwards and copied then."""
    if type(value) is not np.ndarray:
        value = opened(value, name)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    if array.dtype == object:
        array = from_objects(array, name)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is {array.dtype}: expected real numbers; take {name}.real, or both parts as channels")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers, real ones; convert text with astype(float)")
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array


def packed(data: Any, layout: Layout, name: str = "data") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Values (total_time, *frame) and the length of every sequence."""
    known_layout(layout)
    if hasattr(data, "columns"):
        if single(layout):
            raise TypeError(f'{name} is a table: give its numbers, Sequences(table.to_numpy(), layout="{layout}")')
        raise TypeError(f"{name} is a table ({type(data).__name__}): use Sequences.from_frame(table, id=..., time=...)")
    if hasattr(data, "dims") and hasattr(data, "coords"):
        raise TypeError(f"{name} is an xarray {type(data).__name__}: use Sequences.from_xarray(data)")
    if isinstance(data, str | bytes):
        raise TypeError(f"{name} is text ({data!r:.60}): use timelike.load(path_or_name) to read a file")
    if hasattr(data, "toarray"):
        data = opened(data, name)
    if (
        hasattr(data, "detach")
        or isinstance(data, memoryview)
        or (isinstance(data, np.ndarray) and data.dtype != object)
    ):
        return _packed_block(numeric_view(data, name), layout, name)
    if not isinstance(data, Iterable):
        raise TypeError(
            f"{name} is a {type(data).__name__}: expected a list of arrays or an array (item, time, channel)"
        )
    return _packed_list(list(data), layout, name)


def _packed_block(block: NDArray[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if block.ndim < 2 and not single(layout):
        raise ValueError(
            f"{name} has shape {block.shape}: expected (item, time) or (item, time, channel); "
            "for one sequence pass a list: Sequences([x])"
        )
    if block.ndim and block.shape[0] == 0:
        raise ValueError(f"{name} is empty (shape {block.shape}): expected at least one sequence")
    block = in_order(block, layout, name, leading=1)
    n_items, length, *frame = block.shape
    if length == 0:
        raise ValueError(
            f"every sequence of {name} has length 0 (shape {block.shape}): expected at least one time step"
        )
    if 0 in frame:
        raise ValueError(f"{name} has an empty frame (shape {block.shape}): expected at least one channel")
    block = row_ordered(block)  # a reshape of another order would copy too, one axis at a time
    return block.reshape(n_items * length, *frame), np.full(n_items, length, np.int64)


def _packed_list(items: list[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not items:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    arrays = [one_sequence(item, f"{name}[{i}]", layout) for i, item in enumerate(items)]
    frame = arrays[0].shape[1:]
    for i, array in enumerate(arrays):
        if array.shape[1:] != frame:
            way = (
                "size; resize or crop them first"
                if single(layout)
                else f'channels; if your arrays are (channel, time), use Sequences({name}, layout="nct")'
            )
            raise ValueError(
                f"{name}[{i}] has frames of shape {array.shape[1:]} but {name}[0] has {frame}: all need the same {way}"
            )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return arrays[0] if len(arrays) == 1 else locked(np.concatenate(arrays)), lengths


def one_sequence(value: Any, name: str, layout: Layout = "ntc") -> NDArray[Any]:
    """One sequence as (time, *frame); a plain (time,) gets one channel."""
    array = numeric_view(value, name)
    if array.ndim == 0 and not single(layout):
        raise TypeError(
            f"{name} is a single number: expected a sequence (time,) or (time, channel); a collection of one is [x]"
        )
    array = in_order(array, layout, name, leading=0)
    if len(array) == 0:
        raise ValueError(f"{name} has length 0: expected at least one time step; drop it or give it values")
    if 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected at least one channel")
    return array


def lengths_between(offsets: Any, n_steps: int) -> NDArray[np.int64]:
    """The lengths of sequences that begin and end at the offsets, (n + 1,), of `n_steps` packed steps."""
    marks = plain_array(offsets, "offsets")
    if marks.ndim != 1 or len(marks) < 2 or marks.dtype.kind not in "iu":
        raise ValueError(f"offsets has shape {marks.shape}, dtype {marks.dtype}: expected n + 1 integers")
    if marks[0] != 0 or marks[-1] != n_steps:
        raise ValueError(
            f"offsets runs from {marks[0]} to {marks[-1]}: expected 0 to {n_steps}, the number of time steps"
        )
    marks = marks.astype(np.int64)
    lengths: NDArray[np.int64] = np.diff(marks)
    if (lengths <= 0).any():
        bad = int(np.flatnonzero(lengths <= 0)[0])
        raise ValueError(f"offsets gives sequence {bad} the length {lengths[bad]}: expected increasing offsets")
    return lengths


def first_step(values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int | None:
    """The first time step at which a value passes the test (np.isinf, np.isnan), looking at a chunk at a time."""
    if values.dtype.kind != "f":
        return None
    width = int(np.prod(values.shape[1:]))
    rows = max(1, _CHUNK // width)
    for begin in range(0, len(values), rows):
        hit = np.flatnonzero(test(values[begin : begin + rows]))
        if hit.size:
            return begin + int(hit[0]) // width
    return None


def refuse_inf(values: NDArray[Any], starts: NDArray[np.int64], name: str = "data") -> None:
    """Infinity is never data; NaN is, and means missing."""
    step = first_step(values, np.isinf)
    if step is not None:
        item, time = locate(step, starts)
        raise ValueError(f"{name}[{item}] is infinite at time step {time}: expected finite values; nan means missing")


def locate(step: int, starts: NDArray[np.int64]) -> tuple[int, int]:
    """The sequence that a packed time step belongs to, and the step inside it."""
    item = int(np.searchsorted(starts, step, side="right")) - 1
    return item, step - int(starts[item])


def one_position(key: Any) -> int:
    """An array or tensor without axes that holds an integer."""
    if "bool" in str(getattr(key, "dtype", "")) or not hasattr(key, "__index__"):
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    try:
        return int(operator.index(key))
    except TypeError:
        raise IndexError(f"position {key!r:.80}: expected an integer") from None


def positions(key: Any, n_items: int) -> NDArray[np.int64]:
    """What `s[key]` asks for: a mask or a list of positions."""
    index = from_torch(key, "positions") if hasattr(key, "detach") else np.asarray(key)
    if index.ndim != 1:
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    if index.dtype == bool:
        if len(index) != n_items:
            raise IndexError(f"the mask has {len(index)} entries for {n_items} sequences")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise IndexError(f"positions have dtype {index.dtype}: expected integers or a mask")
    outside = index[(index < -n_items) | (index >= n_items)]
    if outside.size:
        raise IndexError(f"position {outside[0]} is out of range for {n_items} sequences")
    return index.astype(np.int64)


def rows(X: Any) -> Any:
    """What an estimator is given, read as scikit-learn reads it: also tables with one sequence in each row."""
    if is_sparse(X):
        raise TypeError("X is a sparse matrix: expected Sequences or an array; a dense one is X.toarray()")
    if hasattr(X, "__array__") and not hasattr(X, "detach"):  # a tensor finds its own way, from any device
        if not isinstance(X, np.ma.MaskedArray):  # whose masked entries are missing, not what lies below the mask
            X = np.asarray(X)
        if X.ndim < 2 and X.dtype != object:
            raise ValueError(
                f"X has shape {X.shape}: expected 2D array (item, time) or more axes. Reshape your data using "
                "X.reshape(1, -1) if it is a single sequence"
            )
        if X.dtype.kind == "c":
            raise ValueError("X is complex. Complex data not supported: give real and imaginary part as channels")
    return X


def refuse_steps(value: Any, name: str) -> None:
    """An error for what is one sequence (time, 1), and would be read as many of one step."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if len(shape) == 2 and shape[1] == 1 and shape[0] > 1:
        raise ValueError(
            f"{name} has shape {tuple(shape)}, which are {shape[0]} sequences of one step, as the first axis counts "
            f"sequences and the second time: one sequence is s[:1], or [x] around its array; if they are sequences of "
            f"one step, give Sequences({name})"
        )


def refuse_order(left: Sequence[str] | None, right: Sequence[str] | None, names: tuple[str, str]) -> None:
    """An error for the same channels in another order; other names are the caller's business."""
    if left is not None and right is not None and tuple(left) != tuple(right) and sorted(left) == sorted(right):
        raise ValueError(
            f"{names[0]} has channels ({', '.join(left)}) and {names[1]} ({', '.join(right)}): expected one order; put "
            f"them into it with {names[0]}.channels({list(right)})"
        )


def keep_size(estimator: Any, sequences: Sequences) -> None:
    """Note how many numbers a sequence has, if all have as many, as scikit-learn does."""
    if sequences.equal_length:
        estimator.n_features_in_ = int(np.prod(sequences.shape[1:]))
    elif hasattr(estimator, "n_features_in_"):  # from an earlier fit
        del estimator.n_features_in_


def read_targets(estimator: Any, sequences: Sequences, y: Any, what: str) -> NDArray[Any]:
    """What is known about each sequence: y, or the labels that the sequences carry."""
    from sklearn.utils.validation import column_or_1d

    if y is None and sequences.labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and X carries no labels: "
            f"give the {what} of every sequence"
        )
    given = sequences.labels if y is None else column_or_1d(read_labels(y, "y", what), warn=True)
    targets: NDArray[Any] = np.asarray(given)
    if len(targets) != len(sequences):
        raise ValueError(
            f"y has shape {targets.shape} for {len(sequences)} sequences: expected one {what} each "
            "(inconsistent numbers of samples)"
        )
    return targets


def read_labels(values: Any, name: str, what: str) -> NDArray[Any]:
    """All numbers or all text, as they were given: NumPy alone would make the word 'nan' of a NaN among words.

    >>> read_labels(["up", "down"], "y", "class")
    array(['up', 'down'], dtype='<U4')
    """
    if hasattr(values, "detach"):
        values = from_torch(values, name)
    if isinstance(values, str | bytes) or not (hasattr(values, "__array__") or isinstance(values, Sequence)):
        kind = type(values).__name__
        raise TypeError(f"{name} is a {kind}: expected a list or an array with the {what} of every sequence")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is masked at some sequence: expected the {what} of every one; drop those without")
    try:
        labels = np.asarray(values)
    except ValueError:  # lists of different lengths, of which the first is named below
        labels = np.array(values, dtype=object)
    listed = isinstance(values, Sequence)  # of which NumPy makes words, or floats, of what is not
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind in "Uf" and listed):
        entries = np.array(values, dtype=object)
        labels = _known(entries.ravel().tolist(), name, what).reshape(entries.shape)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"{name}[{bad}] is {labels.flat[bad]} (NaN or infinity): expected finite numbers")
    return row_ordered(labels)


def _known(entries: list[Any], name: str, what: str) -> NDArray[Any]:
    missing = next((i for i, entry in enumerate(entries) if _is_missing(entry)), None)
    if missing is not None:
        raise ValueError(
            f"{name}[{missing}] is {entries[missing]} (NaN or missing): expected the {what} of every sequence"
        )
    return of_one_kind(entries, name)


def _is_missing(entry: Any) -> bool:
    """None, NaN, or what pandas has for it."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and isnan(entry))


def of_one_kind(entries: Sequence[Any], name: str) -> NDArray[Any]:
    """All numbers or all text: 1 and "1" would be one class to NumPy, and bytes and dates no model folder holds."""
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    for i, entry in enumerate(entries):
        if not isinstance(entry, str | int | float | np.integer | np.floating | np.bool_):
            raise TypeError(
                f"{name}[{i}] is {entry!r:.60} ({type(entry).__name__}): expected all numbers or all strings; write "
                "them as text"
            )
    odd = next((i for i, entry in enumerate(entries) if isinstance(entry, str) != isinstance(entries[0], str)), None)
    if odd is not None:
        raise TypeError(
            f"{name} mixes numbers and text, {name}[{odd}] is {shown(entries[odd])} but {name}[0] is "
            f"{shown(entries[0])}: expected all numbers or all strings; write the numbers as text"
        )
    return exact_numbers(entries, name)


def exact_numbers(entries: Sequence[Any], name: str) -> NDArray[Any]:
    """Numbers as an array that holds each of them: NumPy alone makes floats of 2**63 beside 5, objects of 2**70.

    >>> exact_numbers([2**63 + 1, 5], "labels").tolist() == [2**63 + 1, 5]
    True
    """
    array = np.array(entries)
    if array.dtype.kind not in "fO" or not all(isinstance(entry, int | np.integer) for entry in entries):
        return array
    large = next((i for i, entry in enumerate(entries) if not -(2**63) <= entry < 2**63), None)
    if large is None:
        return array
    if min(entries) < 0 or max(entries) >= 2**64:
        raise ValueError(
            f"{name}[{large}] is {shown(int(entries[large]))}, which 64 bits do not hold together with the others: "
            "expected whole numbers from -2**63 to 2**63 - 1; write them as text"
        )
    return np.array(entries, np.uint64)


def holding(dtype: np.dtype[Any], fill: Any) -> np.dtype[Any]:
    """The dtype itself if it holds the number exactly, otherwise one that holds both."""
    if not isinstance(fill, int | float | np.integer | np.floating | np.bool_):
        raise TypeError(f"fill={fill!r:.40}: expected a number")
    kind = np.min_scalar_type(fill)
    if kind.kind == "O":
        raise ValueError(f"fill={fill}: expected a number within the range of 64 bits")
    if dtype.kind in "biu" and fill == int(fill if np.isfinite(fill) else -1):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if low <= fill <= high:
            return dtype
    return np.result_type(dtype, kind)


def row_ordered(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself where compiled code can read it: rows end to end (C order), aligned, in native bytes.

    Otherwise a copy that is so: `np.concatenate` keeps the order of columns, and so does arithmetic.

    >>> x = np.zeros((3, 2))
    >>> row_ordered(x) is x, row_ordered(x.T).flags.c_contiguous
    (True, True)
    """
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C", subok=False)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """An array of our own making, closed for writing; for one that may be the caller's, use `frozen`."""
    array.flags.writeable = False
    return array
