"""`Sequences`, the container of all sequences, with labels, groups, times and ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ..core.extras import import_extra
from ..core.parameters import check_int
from ..core.validation import arrays, layouts
from ..core.validation.conversion import torch_device, torch_dtype
from . import conversions, metadata, sampling, selection, timestamps, transforms
from .clean import duplicates, gaps, interpolation, resampling
from .describe import description, plots
from .io import long_tables, xarray_grids
from .repr import html_table, summary_line

if TYPE_CHECKING:
    import torch

    from ..core.validation.layouts import Layout
    from .io.origin import Origin

_MAX_PADDED_LENGTH = 1 << 40  # maximum number of steps of a padded array
PER_ITEM_FIELDS = ("labels", "groups", "ids")


class PaddedArray(NamedTuple):
    """A rectangular batch: `values` (item, longest, *frame) and the true `lengths` (item,)."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]


class PaddedTensor(NamedTuple):
    """A rectangular batch of torch tensors: `values` (item, longest, *frame) and the true `lengths` (item,)."""

    values: torch.Tensor
    lengths: torch.Tensor


class Sequences:
    """Sequences of unequal lengths, packed end to end, with labels, groups, times and ids.

    Nothing is padded, and data are copied only if necessary: indexing, slicing, windows and crops are views of the
    same memory, and so are the read-only arrays from `s[i]` and iteration. Non-contiguous arrays (columns, `x.T`, every
    second row) and arrays in another byte order are copied once, here. NaN always means *missing*; infinite values
    raise an error.

    Labels keep the caller's values, and `predict` returns those values. Integer codes passed together with
    `class_names` become those names; `codes` converts names back to integers.

    Parameters
    ----------
    data : list of arrays, array or torch tensor
        Each sequence is (time,), (time, channel) or (time, *frame); an array is (item, time) or (item, time, *frame).
    labels, groups, ids : array of n entries, optional
        Numbers or strings: the class or target, the group that a split must not divide (a subject), and a name.
    times : list of arrays, optional
        Strictly increasing timestamps: numbers, datetimes (with a time zone: in UTC), ISO text, or durations (in
        seconds); one array serves all sequences if the lengths are equal.
    on_disorder : {"raise", "keep"}
        Raise an error for timestamps that repeat or run backwards, or keep them for `merge_duplicates`. Until then,
        every method that reads times raises an error that names the sequence.
    channel_names, class_names : list of str, optional
    layout : {"ntc", "nct", "nc", "nchw"}
        `"nct"` for arrays in the (item, channel, time) order of aeon and sktime. `"nchw"` for single images (item,
        channel, height, width), or (item, height, width) of one channel, and `"nc"` for vectors (item, channel): every
        item becomes a sequence of one frame.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> s = tl.Sequences([[1.0, 2.0, 3.0], [4.0, 5.0]], labels=["up", "up"])
    >>> s
    Sequences(2 sequences, lengths 2 to 3, 1 channel, float64, 1 class)
    >>> s[1].ravel()
    array([4., 5.])
    >>> s.pad().values[:, :, 0]
    array([[1., 2., 3.],
           [4., 5., 0.]])
    >>> tl.Sequences(np.zeros((3, 1, 28, 28)), layout="nchw")
    Sequences(3 sequences, length 1, frames (1, 28, 28), float64)
    """

    # `_base` holds every step of every sequence and maybe more: a subset shares it and differs in `_starts`/`_lengths`
    __slots__ = ("_base", "_base_missing", "_class_names", "_clock", "_groups", "_ids", "_in_order", "_labels",
                 "_lengths", "_packed", "_source", "_starts", "channel_names")  # fmt: skip

    channel_names: tuple[str, ...] | None

    def __init__(
        self,
        data: Any,
        *,
        labels: Any = None,
        groups: Any = None,
        times: Any = None,
        ids: Any = None,
        channel_names: Iterable[str] | None = None,
        class_names: Iterable[str] | None = None,
        layout: Layout = "ntc",
        on_disorder: Literal["raise", "keep"] = "raise",
    ) -> None:
        if isinstance(data, Sequences):
            _refuse_single_frame_layout(layout)
            fields = {"labels": labels, "groups": groups, "times": times, "ids": ids}
            fields |= {"channel_names": channel_names, "class_names": class_names}
            fields = {name: value for name, value in fields.items() if value is not None}
            self._copy_from(data.replace(**fields, on_disorder=on_disorder))
            return
        values, lengths = arrays.pack_sequences(data, layout)
        self._set_values(values, lengths)
        arrays.refuse_inf(values, self._starts)
        self._set_metadata(labels, groups, times, ids, channel_names, class_names, on_disorder)

    def _set_values(
        self, values: NDArray[Any], lengths: NDArray[np.int64], starts: NDArray[np.int64] | None = None
    ) -> None:
        self._base = arrays.read_only_view(arrays.as_c_contiguous(values))  # every way in passes here
        self._base_missing: list[bool] = []  # a cell shared by all subsets: filled when it is first needed
        self._lengths = arrays.read_only_view(lengths)
        self._starts = arrays.read_only_view(lengths.cumsum() - lengths) if starts is None else starts
        self._packed: tuple[NDArray[Any], NDArray[Any] | None] | None = None
        self._source: Origin | None = None

    def _set_metadata(
        self,
        labels: Any,
        groups: Any,
        times: Any,
        ids: Any,
        channel_names: Any = None,
        class_names: Any = None,
        on_disorder: Any = "raise",
    ) -> None:
        n_items = len(self)
        self._labels, self._class_names = metadata.resolve_classes(
            metadata.validate_per_item(labels, "labels", n_items), metadata.validate_names(class_names, "class_names")
        )
        self._groups = metadata.validate_per_item(groups, "groups", n_items)
        self._ids = metadata.validate_per_item(ids, "ids", n_items)
        self._clock, self._in_order = timestamps.pack_times(times, self._lengths, on_disorder)
        self.channel_names = metadata.validate_names(channel_names, "channel_names", self.frame[0])

    def _copy_from(self, other: Sequences) -> None:
        for slot in self.__slots__:
            setattr(self, slot, getattr(other, slot))

    @classmethod
    def from_packed(cls, values: Any, offsets: Any, **fields: Any) -> Sequences:
        """From `values` (total_time, *frame) and `offsets` (n + 1,); keywords and checks as in the constructor.

        >>> import timelike as tl
        >>> tl.Sequences.from_packed([1.0, 2.0, 3.0], [0, 1, 3]).lengths
        array([1, 2])
        """
        packed = arrays.validate_sequence(values, "values")
        lengths = arrays.lengths_from_offsets(offsets, len(packed))
        self = cls.__new__(cls)
        self._set_values(packed, lengths)
        arrays.refuse_inf(packed, self._starts)
        names = ("labels", "groups", "times", "ids", "channel_names", "class_names")
        unknown = sorted(set(fields) - {*names, "on_disorder"})
        if unknown:
            raise TypeError(f"from_packed got unknown arguments: {', '.join(unknown)}")
        self._set_metadata(**({name: fields.get(name) for name in names} | fields))
        return self

    # --- what it holds -------------------------------------------------------------------------------------------

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Time steps of every sequence, (item,)."""
        return self._lengths

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The start of each sequence in `values`, and the end of the last one: (item + 1,)."""
        return arrays.read_only_view(np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64))

    @property
    def values(self) -> NDArray[Any]:
        """All time steps end to end, (total_time, *frame): a view unless this is a scattered selection."""
        return self._gather()[0]

    @property
    def times(self) -> NDArray[Any] | None:
        """Timestamps of `values`, (total_time,), float64 or datetime64, or None."""
        return None if self._clock is None else self._gather()[1]  # who has none gathers no values to learn it

    def _gather(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        if self._packed is None:
            rows = self._base_rows()
            clock = None if self._clock is None else arrays.make_read_only(self._clock[rows])
            self._packed = arrays.make_read_only(self._base[rows]), clock
        return self._packed

    def _base_rows(self) -> slice | NDArray[np.int64]:
        """Which rows of the base are ours: a slice when they lie end to end."""
        ends = self._starts + self._lengths
        if len(self) == 0:
            return slice(0, 0)
        if np.array_equal(ends[:-1], self._starts[1:]):
            return slice(int(self._starts[0]), int(ends[-1]))
        ours = np.cumsum(self._lengths)
        return np.asarray(np.arange(ours[-1]) + np.repeat(self._starts - (ours - self._lengths), self._lengths))

    @property
    def labels(self) -> NDArray[Any] | None:
        """The class or target of every sequence, (item,), or None."""
        return self._labels

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The classes that string labels may take, those absent from this subset included; None for numbers."""
        return self._class_names

    @property
    def codes(self) -> NDArray[np.int64]:
        """Labels as integers 0, 1, …: positions in `class_names`, or ranks of numeric labels.

        >>> import timelike as tl
        >>> tl.Sequences([[1.0], [2.0]], labels=["walk", "run"]).codes
        array([1, 0])
        """
        if self._labels is None:
            raise ValueError("these sequences have no labels: give them with replace(labels=...)")
        return metadata.encode_labels(self._labels, self._class_names)

    @property
    def groups(self) -> NDArray[Any] | None:
        """The groups that a split must not divide (a subject, a recording), (item,), or None."""
        return self._groups

    @property
    def ids(self) -> NDArray[Any] | None:
        """A name for every sequence, (item,), or None."""
        return self._ids

    @property
    def source(self) -> Origin | None:
        """The files that `load` read, how it interpreted their columns, and what it skipped; None for other data."""
        return self._source

    @property
    def frame(self) -> tuple[int, ...]:
        """The shape of one time step: (channel,) or (channel, height, width)."""
        return self._base.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self._base.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """(item, longest, *frame): the shape of `pad()`."""
        return (len(self), int(self._lengths.max(initial=0)), *self.frame)

    @property
    def ndim(self) -> int:
        """Number of axes of `shape`."""
        return len(self.shape)

    @property
    def has_equal_lengths(self) -> bool:
        """Whether all sequences have the same number of time steps."""
        return bool((self._lengths == self._lengths[:1]).all())

    @property
    def has_missing(self) -> bool:
        """Whether any value is missing (NaN)."""
        return self._first_missing() is not None

    def _first_missing(self) -> tuple[int, int] | None:
        """Sequence and time step of the first missing value, found without gathering a scattered selection."""
        if not self._base_missing:
            self._base_missing.append(arrays.find_first_step(self._base, np.isnan) is not None)
        if not self._base_missing[0]:
            return None
        for item, sequence in enumerate(self):
            step = arrays.find_first_step(sequence, np.isnan)
            if step is not None:
                return item, step
        return None

    def refuse_missing(self, who: str, name: str = "X") -> None:
        """Raise, naming the sequence and the time, if `who` is about to meet a missing value in argument `name`."""
        position = self._first_missing()
        if position is not None:
            raise ValueError(
                f"{name}: sequence {self._item_name(position[0])} is missing (nan) at time step {position[1]} and "
                f"{who} cannot take missing values: fill them with Sequences.interpolate()"
            )

    def _item_name(self, item: int) -> str:
        """The name of a sequence in errors: its position, and its id, which stays the same after a selection."""
        return f"{item}" if self._ids is None else f"{item} (id {self._ids.tolist()[item]!r:.80})"

    def refuse_disorder(self, who: str, name: str = "X") -> None:
        """Raise, naming the sequence and the time, if `who` is about to read times that repeat or run backwards."""
        if not self._in_order and self.times is not None:
            disorder = timestamps.first_disorder(self.times, self._lengths)
            if disorder is not None:
                raise ValueError(
                    f"{name}: times of {disorder}, and {who} needs strictly increasing times: call "
                    "Sequences.merge_duplicates() first"
                )

    def buffers(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """Base buffer (steps, *frame), starts and lengths for compiled code, never a copy."""
        return self._base, self._starts, self._lengths

    # --- taking parts --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for start, length in zip(self._starts.tolist(), self._lengths.tolist(), strict=True):
            yield self._base[start : start + length]

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: Any) -> Sequences: ...
    def __getitem__(self, key: Any) -> NDArray[Any] | Sequences:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError(
                    f"s[{', '.join(map(repr, key))[:80]}]: index the sequence first, then its steps: s[i][t]"
                )
            key = key[0]  # scikit-learn indexes arrays as X[rows, ...]
        if selection.is_name_key(key):
            return selection.select_by_name(self, key)
        if not isinstance(key, int | np.integer) and getattr(key, "ndim", 1) == 0:
            key = arrays.as_position(key)
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"position {key} is out of range for {len(self)} sequences")
            start = int(self._starts[key])
            return self._base[start : start + int(self._lengths[key])]
        return self._take(key if isinstance(key, slice) else arrays.as_positions(key, len(self)))

    def __contains__(self, key: object) -> bool:
        raise TypeError(
            f"{str(key)[:40]!r} in sequences: membership is not defined for arrays; look in labels, groups or ids, or "
            "use any(np.array_equal(x, y) for y in sequences)"
        )

    def _take(self, key: slice | NDArray[np.int64]) -> Sequences:
        # kernels read both end to end, and a slice with a step would not be
        taken = self._with_spans(*(np.ascontiguousarray(one[key]) for one in (self._starts, self._lengths)))
        for slot in ("_labels", "_groups", "_ids"):
            entries = getattr(self, slot)
            setattr(taken, slot, None if entries is None else arrays.read_only_view(entries[key]))
        return taken

    def _with_spans(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        """Other segments of the same memory; labels, groups and ids are left for the caller to say."""
        other = Sequences.__new__(Sequences)
        other._copy_from(self)
        other._starts, other._lengths = arrays.read_only_view(starts), arrays.read_only_view(lengths)
        other._labels = other._groups = other._ids = other._packed = None
        return other

    def _with_values(
        self, values: NDArray[Any], lengths: NDArray[np.int64] | None = None, clock: NDArray[Any] | None = None
    ) -> Sequences:
        """The same items with other values, end to end, and with other times where they have other `lengths`.

        Nothing is checked, and the arrays are our own: they are locked.
        """
        if lengths is None:
            lengths, clock = self._lengths, self.times
        other = Sequences.__new__(Sequences)
        other._copy_from(self)
        other._set_values(arrays.make_read_only(values), lengths)
        other._source = self._source
        other._clock = None if clock is None else arrays.make_read_only(clock)
        if other.frame[0] != self.frame[0]:
            other.channel_names = None
        return other

    def replace(self, **fields: Any) -> Sequences:
        """The same values with other `labels`, `groups`, `times`, `ids`, `channel_names` or `class_names` (or None).

        >>> import timelike as tl
        >>> tl.Sequences([[1.0], [2.0]]).replace(labels=[3, 4]).labels
        array([3, 4])
        """
        on_disorder = fields.pop("on_disorder", "raise")
        current: dict[str, Any] = {"labels": self._labels, "groups": self._groups, "ids": self._ids}
        current |= {"channel_names": self.channel_names, "class_names": self._class_names}
        unknown = sorted(set(fields) - set(current) - {"times"})
        if unknown:
            raise TypeError(f"replace got unknown arguments: {', '.join(unknown)}")
        if "labels" in fields and "class_names" not in fields:
            current["class_names"] = None
        retimed = "times" in fields
        other = self._with_values(self.values, self._lengths) if retimed else self[:]
        clock, in_order = other._clock, other._in_order
        other._set_metadata(**({"times": None} | current | fields), on_disorder=on_disorder)
        if not retimed:
            other._clock, other._in_order = clock, in_order
        return other

    # --- turning into something else -----------------------------------------------------------------------------

    @property
    def elapsed_times(self) -> NDArray[np.float64] | None:
        """Timestamps as numbers, (total_time,): `times`, or for datetimes the seconds since the first sample."""
        self.refuse_disorder("elapsed time")
        if self.times is None or self.times.dtype.kind == "f":
            return self.times
        return timestamps.elapsed_since_first(self.times, self._lengths)

    def pad(self, *, fill: float = 0.0, length: int | None = None) -> PaddedArray:
        """A rectangular array (item, length, *frame) and the true lengths; unpack it: `x, lengths = s.pad()`.

        The dtype is that of the values if it can represent `fill`.
        """
        dtype, longest = arrays.dtype_with_fill(self.dtype, fill), self.shape[1]
        length = longest if length is None else check_int(length, "length", 0)
        if length < longest:
            raise ValueError(
                f"length={length} is shorter than the longest sequence ({longest}): crop or resample first"
            )
        if length > _MAX_PADDED_LENGTH:
            raise ValueError(f"length={length}: expected at most {_MAX_PADDED_LENGTH}")
        lengths = self._lengths.copy()
        if self.has_equal_lengths and length == longest:
            return PaddedArray(self.values.reshape(self.shape).copy(), lengths)
        block = np.full((len(self), length, *self.frame), fill, dtype)
        block[np.arange(length) < lengths[:, None]] = self.values
        return PaddedArray(block, lengths)

    def to_tensor(self, device: Any = None, *, dtype: torch.dtype | str | None = None) -> PaddedTensor:
        """The padded batch as torch tensors with its lengths; float64 if the values need it, otherwise float32."""
        torch = import_extra("torch", "Sequences.to_tensor")

        block, lengths = self.pad()
        if dtype is None:
            block = block.astype(arrays.computed_dtype(self.dtype), copy=False)
        values = torch.from_numpy(block)
        kind = values.dtype if dtype is None else torch_dtype(dtype)
        place = torch_device(device)
        return PaddedTensor(values.to(place, kind), torch.from_numpy(lengths).to(place))

    __array__ = conversions.as_array
    __getstate__ = conversions.get_state
    __setstate__ = conversions.set_state
    __repr__ = summary_line
    _repr_html_ = html_table
    plot = plots.plot
    copy = conversions.copy_sequences
    equals = conversions.equals
    save = conversions.save
    to_list = conversions.to_list
    to_nct = conversions.to_nct
    channels = selection.channels
    where = selection.where
    statistics = transforms.statistics
    standardize = transforms.standardize
    split_at_gaps = gaps.split_at_gaps
    gaps = gaps.gaps  # last: from here on the name is the method
    merge_duplicates = duplicates.merge_duplicates
    interpolate = interpolation.interpolate
    resample = resampling.resample
    windows = transforms.windows
    crop = transforms.crop
    describe = description.describe
    derivative = transforms.derivative
    split = sampling.split
    folds = sampling.folds
    episodes = sampling.episodes
    to_frame = long_tables.to_frame
    from_frame = classmethod(long_tables.from_frame)
    from_frames = classmethod(long_tables.from_frames)
    from_xarray = classmethod(xarray_grids.from_xarray)


def _refuse_single_frame_layout(layout: Layout) -> None:
    """Raise an error if `Sequences` are given as images or vectors, which they would have to be made of."""
    if layouts.is_single_frame(layouts.check_layout(layout)):
        raise ValueError(
            f'layout="{layout}" is for arrays, and data are Sequences, whose time is known: give the array that they '
            "were made of"
        )
