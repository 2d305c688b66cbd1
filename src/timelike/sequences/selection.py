"""Selection by name: channels, and sequences by id, group or label. Each is a method of `Sequences`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_value
from ..core.validation.conversion import from_torch

if TYPE_CHECKING:
    from .container import Sequences

_MAX_LISTED = 8  # names that an error lists
_MAX_NAME_LENGTH = 60  # characters of each


def channels(self: Sequences, names: str | int | Iterable[str | int]) -> Sequences:
    """The same sequences with only these channels, in this order: names or positions.

    `X["ax"]` and `X[["ax", "ay"]]` are short forms if no id has that name.

    >>> import timelike as tl
    >>> s = tl.Sequences([[[1.0, 2.0, 3.0]]], channel_names=["ax", "ay", "az"])
    >>> s.channels(["az", "ax"])[0], s.channels(["az", "ax"]).channel_names
    (array([[3., 1.]]), ('az', 'ax'))
    """
    one = isinstance(names, str | int | np.integer) or getattr(names, "ndim", 1) == 0
    requested: list[Any] = [names] if one else list(names)  # type: ignore[arg-type]
    if not requested:
        raise ValueError("names is empty: expected at least one channel")
    places = [channel_position(self, name, "names") for name in requested]
    if len(set(places)) < len(places):
        twice = next(name for name, place in zip(requested, places, strict=True) if places.count(place) > 1)
        raise ValueError(f"names holds {format_value(twice)} twice: expected distinct channels")
    chosen = self._with_values(np.ascontiguousarray(self.values[:, places]))
    channel_names = self.channel_names
    chosen.channel_names = None if channel_names is None else tuple(channel_names[place] for place in places)
    return chosen


def channel_position(self: Sequences, name: Any, argument: str) -> int:
    """The position of a channel, by name or number; errors call it `argument`."""
    if not isinstance(name, str):
        place = check_int(name, argument)
        if not -self.frame[0] <= place < self.frame[0]:
            raise ValueError(f"{argument}={place}: expected 0 to {self.frame[0] - 1}")
        return place % self.frame[0]
    if self.channel_names is None:
        raise ValueError(
            f"{argument}={format_value(name)}, but these channels have no names: give a position, 0 to "
            f"{self.frame[0] - 1}, or name them with replace(channel_names=...)"
        )
    if name not in self.channel_names:
        raise ValueError(f"{argument}={format_value(name)}: {_describe_unknown(name, 'channels', self.channel_names)}")
    return self.channel_names.index(name)


def where(self: Sequences, *, label: Any = None, group: Any = None, id: Any = None) -> Sequences:
    """The sequences with a given label, group and id, each one value or a list; a view in the original order.

    Several conditions must all hold. A value that no sequence has raises an error, because it is usually misspelt; a
    class of `class_names` without sequences selects none.

    >>> import timelike as tl
    >>> s = tl.Sequences([[1.0], [2.0], [3.0]], labels=["walk", "run", "walk"], groups=["anna", "anna", "ben"])
    >>> s.where(label="walk", group="anna")[0]
    array([[1.]])
    >>> len(s.where(label=["walk", "run"]))
    3
    """
    conditions = {"label": label, "group": group, "id": id}
    conditions = {name: wanted for name, wanted in conditions.items() if wanted is not None}
    if not conditions:
        raise ValueError("where() without a condition: give label=, group= or id=")
    mask = np.ones(len(self), bool)
    for name, wanted in conditions.items():
        mask &= _match_entries(self, name, wanted)
    return self[mask]


def _match_entries(self: Sequences, name: str, wanted: Any) -> NDArray[np.bool_]:
    entries = getattr(self, f"{name}s")
    if entries is None:
        raise ValueError(
            f"{name}={format_value(wanted)}, but these sequences have no {name}s: give them with replace()"
        )
    values = _as_value_list(wanted, name)
    present = np.unique(entries).tolist()
    known_values = {*present, *(self.class_names or ())} if name == "label" else set(present)
    for value in values:
        if isinstance(value, str) != (entries.dtype.kind == "U"):
            kinds = ("text", "numbers") if isinstance(value, str) else ("a number", "text")
            raise TypeError(
                f"{name}={format_value(value)} is {kinds[0]}, and the {name}s are {kinds[1]}: ask in their own kind"
            )
        if value not in known_values:
            raise ValueError(f"{name}={format_value(value)}: {_describe_unknown(value, f'{name}s', present)}")
    return np.isin(entries, np.array(values)) if values else np.zeros(len(self), bool)


def _as_value_list(wanted: Any, name: str) -> list[Any]:
    """One value, or several of any collection, as plain Python values."""
    if callable(wanted) or isinstance(wanted, dict | bytes):
        raise TypeError(f"{name} is a {type(wanted).__name__}: expected a value or a list; a mask is s[mask]")
    if hasattr(wanted, "detach"):
        wanted = from_torch(wanted, name)
    if isinstance(wanted, str) or not hasattr(wanted, "__iter__") or getattr(wanted, "ndim", 1) == 0:
        wanted = [wanted]
    return [value.item() if hasattr(value, "item") else value for value in wanted]


def _describe_unknown(name: Any, what: str, candidates: Iterable[Any], near: list[str] | None = None) -> str:
    """A message that the name does not exist, with those that do and close matches."""
    names = [
        str(one) if len(str(one)) <= _MAX_NAME_LENGTH else format_value(one, _MAX_NAME_LENGTH) for one in candidates
    ]
    lower = {one.lower(): one for one in (names if near is None else near)}
    close = [lower[one] for one in get_close_matches(str(name).lower(), lower, n=1)]
    hint = f"; did you mean {format_value(close[0])}?" if close else ""
    listed = ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")
    return f"not among the {what} {listed}{hint}"


def is_name_key(key: Any) -> bool:
    """Whether the key of `s[key]` is a name or a list of names."""
    if isinstance(key, np.ndarray):
        return key.dtype.kind == "U" and key.size > 0
    return isinstance(key, str) or (isinstance(key, list) and len(key) > 0 and all(isinstance(k, str) for k in key))


def select_by_name(self: Sequences, key: Any) -> Sequences:
    """The result of `s[name]` or `s[[name, …]]`: channels, or sequences by their ids, in the order of the names."""
    names = [key] if isinstance(key, str) else [str(name) for name in np.asarray(key).ravel()]
    key_text = format_value(names[0] if isinstance(key, str) else names)
    of_channels = self.channel_names or ()
    of_items = _id_positions(self)
    both = next((name for name in names if name in of_channels and name in of_items), None)
    if both is not None:
        raise IndexError(
            f"{format_value(both)} is the name of a channel and an id: say s.channels({key_text}) or "
            f"s.where(id={key_text})"
        )
    if all(name in of_channels for name in names):
        return channels(self, names)
    if all(name in of_items for name in names):
        return self[np.array([place for name in names for place in of_items[name]], np.int64)]
    stranger = next((name for name in names if name not in of_channels and name not in of_items), None)
    if stranger is None:
        raise IndexError(
            f"s[{key_text}]: some are names of channels and some are ids; ask for the one, then for the other"
        )
    raise IndexError(_explain_unknown_name(self, stranger))


def _id_positions(self: Sequences) -> dict[str, list[int]]:
    """The positions of every id: several if it occurs more than once."""
    positions: dict[str, list[int]] = {}
    if self.ids is not None and self.ids.dtype.kind == "U":
        for place, name in enumerate(self.ids.tolist()):
            positions.setdefault(name, []).append(place)
    return positions


def _explain_unknown_name(self: Sequences, name: str) -> str:
    """The message of a failed `s[name]`, with close matches."""
    for what in ("label", "group"):
        entries = getattr(self, f"{what}s")
        if entries is not None and entries.dtype.kind == "U" and name in entries:
            return f"{format_value(name)} is a {what}: say s.where({what}={format_value(name)})"
    ids = sorted(_id_positions(self))
    if self.channel_names is None and not ids:
        why = "the channels have no names and the sequences no ids that are text; give them with replace()"
        return f"s[{format_value(name)}]: {why}"
    what, known_names = ("ids", ids) if self.channel_names is None else ("channels", list(self.channel_names))
    return f"s[{format_value(name)}]: {_describe_unknown(name, what, known_names, [*known_names, *ids])}"
