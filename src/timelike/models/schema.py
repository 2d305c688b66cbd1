"""Declarations of fitted attributes: the checks of their values when a model is saved and loaded.

```python
class KMedoids(Model):
    metric_: Metric = schema.estimator(Metric)
    medoids_: Sequences = schema.sequences("cluster")
    labels_: NDArray[np.int64] = schema.indices("item", below="cluster")
    inertia_: float = schema.real(0)
```

A dimension is a number, the name of an option or of a learned number (`"n_features"`, `"rank_"`), a function of the
model that gives one size or several, or any other word: a word has one size in the whole model, that of the first array
that mentions it. Words that are new inside a record, a list or a dict have one size in each entry. `"*frame"`
stands for all axes of `frame_`, and `...` as the last for any further ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..sequences.time_pool import TimePool

if TYPE_CHECKING:
    from .base import Model

Dimension = int | str | EllipsisType | Callable[[Any], int | tuple[int, ...]]
Check = Callable[[Any, str, "CheckScope"], None]

MAX_INTEGER = 2**62


class CheckScope:
    """A model whose attributes are checked, if it is one, and the sizes that words for dimensions have in it."""

    def __init__(self, model: Model | None, outer: CheckScope | None = None) -> None:
        self.model: Any = model
        self.sizes: ChainMap[str, int] = ChainMap() if outer is None else outer.sizes.new_child()
        self.deferred: list[Callable[[], None]] = [] if outer is None else outer.deferred
        """Checks that need sizes which an attribute after this one may say."""

    def inner(self) -> CheckScope:
        """The same for one entry: words that are new in it mean nothing outside."""
        return CheckScope(self.model, self)

    def size(self, dimension: Dimension) -> int | None:
        """The required size of a dimension, None if it is not known yet."""
        if isinstance(dimension, int):
            return dimension
        if callable(dimension):
            return int(dimension(self.model))  # type: ignore[arg-type]
        assert isinstance(dimension, str)
        if dimension in self.sizes:
            return self.sizes[dimension]
        if self.model is None:
            return None
        if dimension.endswith("_") or dimension in type(self.model).options():
            return int(getattr(self.model, dimension))
        return None

    def match(self, size: int, dimension: Dimension) -> bool:
        """Whether a size is that of the dimension; a new word has this size from now on."""
        expected = self.size(dimension)
        if expected is None:
            assert isinstance(dimension, str)
            self.sizes[dimension] = size
            return True
        return size == expected


class AttributeSchema:
    """The declaration of one fitted attribute; on a fitted instance, the attribute is the value."""

    def __init__(
        self,
        check: Check,
        *kinds: type[Any],
        records: tuple[type[Any], ...] = (),
        is_composed: bool = False,
        optional: bool | Callable[[Any], bool] = False,
        is_saved: bool = True,
        with_: str | None = None,
        after: str | None = None,
    ) -> None:
        self.check = check
        self.kinds = kinds
        """The types of its values, where `union` chooses by them."""
        self.records = records
        """Records that a folder may hold here."""
        self.is_composed = is_composed
        """Whether it is made of others, and so is checked after plain arrays, which set the sizes of dimensions."""
        self.optional = optional
        """Whether it may be absent, as what `calibrate` adds; or a function of the model that says so."""
        self.is_saved = is_saved
        """Whether it is written as it is; else the model makes it again (`_derive_attributes`, or a network's
        weights).
        """
        self.with_ = with_
        """Another attribute that the same verb writes: both are there, or neither."""
        self.after = after
        """Another attribute that must be there where this one is."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise AttributeError(f"this {owner.__name__} has no {self.name!r}: it is learned first")


# --- numbers and words -----------------------------------------------------------------------------------------------


def integer(least: int = 0, most: int = MAX_INTEGER) -> Any:
    """An integer within bounds."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, int | np.integer) or isinstance(value, bool), name, value, "a whole number")
        _refuse_if(not least <= value <= most, name, value, f"a whole number from {least} to {most}")

    return AttributeSchema(check, int)


def real(least: float = -math.inf, most: float = math.inf, *, finite: bool = True) -> Any:
    """A number within bounds, never NaN, and finite by default."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        _refuse_if(not number, name, value, "a number")
        _refuse_if(finite and not math.isfinite(value), name, value, "a finite number")
        _refuse_if(not least <= value <= most, name, value, f"a number from {least} to {most}")

    return AttributeSchema(check, float, int)


def boolean() -> Any:
    """True or False."""
    return AttributeSchema(
        lambda value, name, _: _refuse_if(not isinstance(value, bool), name, value, "True or False"), bool
    )


def string(*choices: str) -> Any:
    """A string, or one of a few."""
    expected = f"one of {', '.join(map(repr, choices))}" if choices else "a string"

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, str) or bool(choices and value not in choices), name, value, expected)

    return AttributeSchema(check, str)


def label() -> Any:
    """One label as users write it: a string, a number, True or False."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, str | bool | int | float | np.generic), name, value, "a label")

    return AttributeSchema(check, str, bool, int, float)


# --- arrays ----------------------------------------------------------------------------------------------------------


def array(
    *shape: Dimension,
    dtype: str | tuple[str, ...] = "float64",
    finite: bool = True,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
) -> Any:
    """An array of a shape and a dtype; numbers are finite by default, and never NaN if they have bounds."""
    dtypes = (dtype,) if isinstance(dtype, str) else dtype

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _check_array(value, name, scope, shape, dtypes)
        if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{name} holds {value[~np.isfinite(value)][0]}: expected finite numbers")
        bounded = (least, above, most) != (-math.inf, -math.inf, math.inf)
        if bounded and not ((value >= least) & (value > above) & (value <= most)).all():
            beyond = f"above {above}" if above > -math.inf else f"from {least}"
            raise ValueError(f"{name} holds numbers out of bounds: expected {beyond} to {most}")

    return AttributeSchema(check, np.ndarray)


def indices(*shape: Dimension, below: Dimension, least: int = 0) -> Any:
    """An array of positions below `below`; `least` is −1 if that stands for none."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _check_array(value, name, scope, shape, ("int64",))
        scope.deferred.append(lambda: check_range(value, name, scope.size(below)))

    def check_range(value: NDArray[np.int64], name: str, limit: int | None) -> None:
        assert limit is not None, f"nothing says how many {below} there are, which {name} is below"
        if value.size and (value.min() < least or value.max() >= limit):
            range_text = f"{name} holds {value.min()} to {value.max()}"
            raise ValueError(f"{range_text}: expected positions from {least} to {limit - 1}")

    return AttributeSchema(check, np.ndarray)


def offsets(dimension: str, *, total: Dimension) -> Any:
    """The starts of several segments in an array of `total` rows, and the end of the last: (n + 1,)."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _check_array(value, name, scope, (...,), ("int64",))
        _refuse_if(value.ndim != 1 or len(value) < 2, name, value, "one axis, of two entries or more")
        if not scope.match(len(value) - 1, dimension):
            raise ValueError(f"{name} has {len(value)} entries: expected one more than {scope.size(dimension)}")
        scope.deferred.append(lambda: check_rising(value, name, scope.size(total)))

    def check_rising(value: NDArray[np.int64], name: str, rows: int | None) -> None:
        if value[0] != 0 or (np.diff(value) < 0).any() or value[-1] != rows:
            raise ValueError(f"{name} does not rise from 0 to {rows}: expected increasing offsets")

    return AttributeSchema(check, np.ndarray)


def labels(dimension: Dimension, *, distinct: bool = True) -> Any:
    """Labels as users wrote them, (n,); `distinct` ones are in ascending order, as `numpy.unique` gives them."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        ordinary = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufU"
        _refuse_if(not ordinary, name, value, "an array of labels")
        if value.dtype.kind == "f" and np.isnan(value).any():
            raise ValueError(f"{name} holds NaN: expected labels")
        if distinct and not (value[1:] > value[:-1]).all():
            raise ValueError(f"{name} are not in ascending order, or not different: expected every class once")
        _match_shape(value, name, scope, (dimension,))

    return AttributeSchema(check, np.ndarray)


def sequences(dimension: Dimension | None = None, *, least: int = 1, frame: bool = True) -> Any:
    """Sequences with the frame shape of the training data; a dimension gives their number."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, Sequences), name, value, "sequences")
        _refuse_if(len(value) < least, name, value, f"{least} sequences or more")
        if frame and value.frame != scope.model.frame_:
            raise ValueError(f"{name} has frames of shape {value.frame}: expected {scope.model.frame_}, as in frame_")
        if value.has_missing and not scope.model._takes_missing():
            raise ValueError(f"{name} has missing values (NaN): {type(scope.model).__name__} takes none")
        if dimension is not None and not scope.match(len(value), dimension):
            raise ValueError(f"{name} has {len(value)} sequences: expected {scope.size(dimension)}")

    return AttributeSchema(check, Sequences, is_composed=dimension is None)


def frame_shape() -> Any:
    """The shape of a frame: one to three axes."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        plain = isinstance(value, tuple) and 1 <= len(value) <= 3
        plain = plain and all(type(axis) is int and 1 <= axis <= MAX_INTEGER for axis in value)
        _refuse_if(not plain, name, value, "the shape of a frame, one to three whole numbers of at least 1")

    return AttributeSchema(check, tuple)


def channel_names(dimension: Dimension | None = None) -> Any:
    """Names of channels: a list or tuple of strings."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        plain = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        _refuse_if(not plain, name, value, "names")
        if dimension is not None and not scope.match(len(value), dimension):
            raise ValueError(f"{name} has {len(value)} names: expected {scope.size(dimension)}")

    return AttributeSchema(check, tuple, list)


# --- what is made of others ------------------------------------------------------------------------------------------


def estimator(*kinds: type[Any], frame: bool = True) -> Any:
    """A method inside this one: a value, or a model that is fitted, on the same frames unless `frame_shape` is False.

    Without `kinds` it is any method of the library, or a scikit-learn pipeline of them.
    """
    expected = " or ".join(kind.__name__ for kind in kinds) or "a method"

    def check(value: Any, name: str, scope: CheckScope) -> None:
        if isinstance(value, Pipeline) and not kinds:
            steps = [step for _, step in value.steps if step is not None and step != "passthrough"]
            for place, step in enumerate(steps):  # the frames of those after the first are what the first makes
                inner = step.estimator if isinstance(step, FrozenEstimator) else step
                one(inner, f"{name}[{place}]", scope, place == 0)
            return
        one(value, name, scope, frame)

    def one(value: Any, name: str, scope: CheckScope, frame: bool) -> None:
        from .base import Model
        from .registry import registered_name

        is_expected = (
            isinstance(value, kinds) if kinds else isinstance(value, Model) or registered_name(type(value)) is not None
        )
        _refuse_if(not is_expected, name, value, expected)
        if not isinstance(value, Model):
            return
        _refuse_if(not value.__sklearn_is_fitted__(), name, value, "one that is fitted")
        own = value._expected_frame()
        if frame and own is not None and own != scope.model.frame_:
            raise ValueError(f"{name} was fitted on frames of shape {own}: expected {scope.model.frame_}, as in frame_")

    return AttributeSchema(check, *kinds, is_composed=True)


def record(
    kind: type[Any], /, *, check: Callable[[Any, str, CheckScope], None] | None = None, **fields: AttributeSchema
) -> Any:
    """A record of a class with every field declared; `check(record, name, scope)` checks fields together."""
    own = _field_names(kind)
    if own is not None and own != set(fields):
        raise TypeError(f"{kind.__name__} has the fields {', '.join(sorted(own))}: declare each of them, and no other")

    def check_record(value: Any, name: str, scope: CheckScope) -> None:
        from .packer import record_fields

        _refuse_if(type(value) is not kind, name, value, kind.__name__)
        _check_fields(record_fields(value), fields, name, inside := scope.inner())
        if check is not None:
            inside.deferred.append(lambda: check(value, name, inside))

    inner = tuple(one for field in fields.values() for one in field.records)
    return AttributeSchema(check_record, kind, records=(kind, *inner), is_composed=True)


def typed_dict(**declared: AttributeSchema) -> Any:
    """A dict with these keys and no others."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, dict), name, value, "a dict")
        _check_fields(value, declared, name, scope.inner())

    return AttributeSchema(
        check, dict, records=tuple(one for field in declared.values() for one in field.records), is_composed=True
    )


def list_of(entry: AttributeSchema, dimension: Dimension | None = None, *, least: int = 0) -> Any:
    """A list of such values."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(value, list), name, value, "a list")
        _refuse_if(len(value) < least, name, value, f"a list of {least} or more")
        if dimension is not None and not scope.match(len(value), dimension):
            raise ValueError(f"{name} has {len(value)} entries: expected {scope.size(dimension)}")
        for place, one in enumerate(value):
            entry.check(one, f"{name}[{place}]", scope.inner())

    return AttributeSchema(check, list, records=entry.records, is_composed=True)


def tuple_of(*entries: AttributeSchema) -> Any:
    """A tuple of these values."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(
            not isinstance(value, tuple) or len(value) != len(entries), name, value, f"a tuple of {len(entries)}"
        )
        for place, (entry, one) in enumerate(zip(entries, value, strict=True)):
            entry.check(one, f"{name}[{place}]", scope)

    return AttributeSchema(
        check, tuple, records=tuple(one for entry in entries for one in entry.records), is_composed=True
    )


def dict_of(key: AttributeSchema, value: AttributeSchema, *, holds: tuple[Any, ...] = ()) -> Any:
    """A dict of such keys and values; some keys it always `holds`."""

    def check(mapping: Any, name: str, scope: CheckScope) -> None:
        _refuse_if(not isinstance(mapping, dict), name, mapping, "a dict")
        for needed in holds:
            if needed not in mapping:
                raise ValueError(f"{name} has no {needed!r}: it is always there")
        for one, entry in mapping.items():
            key.check(one, f"a key of {name}", scope)
            value.check(entry, f"{name}[{one!r:.40}]", scope.inner())

    return AttributeSchema(check, dict, records=value.records, is_composed=True)


def union(*declared: AttributeSchema) -> Any:
    """One of several, distinguished by the type of the value."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        for one in declared:
            if type(value) in one.kinds or (isinstance(value, one.kinds) and not isinstance(value, bool)):
                one.check(value, name, scope)
                return
        _refuse_if(True, name, value, " or ".join(kind.__name__ for one in declared for kind in one.kinds))

    kinds = (kind for one in declared for kind in one.kinds)
    return AttributeSchema(check, *kinds, records=tuple(r for one in declared for r in one.records), is_composed=True)


def nullable(declared: AttributeSchema) -> Any:
    """The same, or None."""

    def check(value: Any, name: str, scope: CheckScope) -> None:
        if value is not None:
            declared.check(value, name, scope)

    kinds = (*declared.kinds, type(None))
    return AttributeSchema(
        check, *kinds, records=declared.records, is_composed=declared.is_composed, optional=declared.optional
    )


def not_required(declared: AttributeSchema, *, with_: str | None = None, after: str | None = None) -> Any:
    """The same, or absent: an attribute that a method after `fit` adds, or that only some options need.

    `with_` names another attribute that the same method writes: both exist, or neither. `after` names an attribute of a
    method that must be called first: it exists if this one does.
    """
    return AttributeSchema(
        declared.check,
        *declared.kinds,
        records=declared.records,
        is_composed=declared.is_composed,
        optional=True,
        is_saved=declared.is_saved,
        with_=with_,
        after=after,
    )


def required_if(needed: Callable[[Any], bool], declared: AttributeSchema) -> Any:
    """The same, required if `needed(model)` is true, which depends on the options."""
    schema: AttributeSchema = not_required(declared)
    schema.optional = lambda model: not needed(model)
    return schema


def any_value() -> Any:
    """Any value that a folder can store; other code checks it."""
    return AttributeSchema(lambda value, name, scope: None, object)


def derived_value() -> Any:
    """A derived attribute: it is not saved, and the model recomputes it."""
    return AttributeSchema(lambda value, name, scope: None, optional=True, is_saved=False)


def network_weights() -> Any:
    """A network: a folder stores its weights, and the model rebuilds it with them."""
    return AttributeSchema(lambda value, name, scope: None, optional=True)


# --- records of packages that know no models -------------------------------------------------------------------------


def channel_scaler(*shape: Dimension) -> Any:
    """Mean and standard deviation, both of one shape, by default that of a frame."""
    axes = shape or ("*frame",)
    return record(ChannelScaler, mean=array(*axes), scale=array(*axes, above=0))


def time_pool() -> Any:
    """A `TimePool`, which reduces the number of frames."""
    return record(TimePool, factor=real(1), max_frames=integer(1))


# --- checks ----------------------------------------------------------------------------------------------------------


def check_attributes(model: Model, declared: Mapping[str, AttributeSchema], attributes: Mapping[str, Any]) -> None:
    """Raise an error that names the fitted attribute if it does not match its declaration."""
    for name in attributes:
        if name not in declared:
            raise ValueError(
                f"{name} is not declared in {type(model).__name__}: a learned attribute is declared beside its class, "
                f"such as {name} = schema.array(...), so that a folder can be checked"
            )
    for name, one in declared.items():
        may = one.optional(model) if callable(one.optional) else one.optional
        if name not in attributes and not may:
            raise ValueError(f"{name} is missing: every fitted {type(model).__name__} has it")
        _check_companions(name, one, attributes)
    scope = CheckScope(model)
    names = sorted(declared.keys() & attributes.keys(), key=lambda name: (declared[name].is_composed, name))
    checks = [(name, partial(declared[name].check, attributes[name], name, scope)) for name in names]
    # a check that fails because of another attribute waits, so that the error names that attribute
    waiting: list[tuple[str, Callable[[], None]]] = [(name, check) for name, check in checks if not _is_checked(check)]
    waiting += [("what was learned", check) for check in scope.deferred]
    for name, check in waiting:
        try:
            check()
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(f"{name} does not fit the rest ({type(error).__name__}: {error})") from error


def check_value(value: Any, name: str, declared: AttributeSchema) -> None:
    """Raise an error that names the entry if a value outside a model does not match a declaration."""
    scope = CheckScope(None)
    declared.check(value, name, scope)
    for check in scope.deferred:
        check()


def _check_companions(name: str, one: AttributeSchema, attributes: Mapping[str, Any]) -> None:
    """Raise an error if attributes that belong together are not all there."""
    if one.with_ is not None and (name in attributes) != (one.with_ in attributes):
        present, absent = (name, one.with_) if name in attributes else (one.with_, name)
        raise ValueError(f"{absent} is missing: it is learned together with {present}")
    if one.after is not None and name in attributes and one.after not in attributes:
        raise ValueError(f"{one.after} is missing: it is learned before {name}")


def _is_checked(check: Callable[[], None]) -> bool:
    """Whether a check ran to its end; its own errors, `ValueError` and `MemoryError`, are raised."""
    try:
        check()
    except (ValueError, MemoryError):
        raise
    except Exception:
        return False
    return True


def _check_fields(
    values: dict[str, Any], declared: Mapping[str, AttributeSchema], name: str, scope: CheckScope
) -> None:
    odd = values.keys() ^ declared.keys()
    if odd:
        raise ValueError(f"{name} has the entries {', '.join(map(repr, values))}: expected {', '.join(declared)}")
    for field in sorted(declared, key=lambda field: declared[field].is_composed):
        declared[field].check(values[field], f"{name}.{field}", scope)


def _check_array(
    value: Any, name: str, scope: CheckScope, shape: tuple[Dimension, ...], dtypes: tuple[str, ...]
) -> None:
    _refuse_if(not isinstance(value, np.ndarray), name, value, "an array")
    if value.dtype.name not in dtypes:
        raise ValueError(f"{name} has dtype {value.dtype}: expected {' or '.join(dtypes)}")
    _match_shape(value, name, scope, shape)


def _match_shape(value: NDArray[Any], name: str, scope: CheckScope, shape: tuple[Dimension, ...]) -> None:
    axes: list[Dimension] = []
    for dimension in shape:
        size = dimension(scope.model) if callable(dimension) else dimension
        axes += scope.model.frame_ if size == "*frame" else size if isinstance(size, tuple) else (size,)
    sizes = value.shape
    if axes and axes[-1] is ...:
        axes, sizes = axes[:-1], sizes[: len(axes) - 1]
    if len(sizes) != len(axes) or not all(map(scope.match, sizes, axes)):
        expected = ", ".join(_describe_dimension(axis, scope) for axis in axes)
        raise ValueError(f"{name} has shape {value.shape}: expected ({expected})")


def _describe_dimension(dimension: Dimension, scope: CheckScope) -> str:
    size = scope.size(dimension)
    word = f"{dimension} " if isinstance(dimension, str) else ""
    return f"{word}{'' if size is None else size}".strip()


def _refuse_if(wrong: bool, name: str, value: Any, expected: str) -> None:
    if wrong:
        raise ValueError(f"{name} is {_describe_value(value)}: expected {expected}")


def _describe_value(value: Any) -> str:
    plain = value is None or isinstance(value, bool | int | float | str)
    return f"{value!r:.60}" if plain else f"a {type(value).__name__}"


def _field_names(kind: type[Any]) -> set[str] | None:
    """None where a record says itself what it is made of."""
    if hasattr(kind, "from_state"):
        return None
    if hasattr(kind, "_fields"):
        return set(kind._fields)
    return {field.name for field in dataclasses.fields(kind)}
