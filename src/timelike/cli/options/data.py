"""The argument DATA and the options of `tl.load`, declared once for all commands."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from ...sequences import Sequences

Part = Literal["train", "test", "all"]
_MAX_LISTED = 5  # classes that a line names

Source = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, a folder, a pattern in quotes, or the name of a data set.")
]


class OnError(StrEnum):
    """What happens to files that cannot be read."""

    RAISE = "raise"
    SKIP = "skip"


class Split(StrEnum):
    """Which part is used of data with an official split."""

    TRAIN = "train"
    TEST = "test"
    ALL = "all"


_Label = Annotated[
    str | None,
    typer.Option(
        help="The class: a column, or a regular expression with a group ( ) for the file names, such as '_(\\w+)'."
    ),
]
_Group = Annotated[str | None, typer.Option(help="The group, such as the person: like --label.")]
_Time = Annotated[str | None, typer.Option(help="The time column, by name or position.")]
_Values = Annotated[str | None, typer.Option(help="The columns that are channels, separated by commas.")]
_Interpolate = Annotated[
    bool | None,
    typer.Option("--interpolate/--no-interpolate", help="Fill missing values, linearly in time.", show_default=False),
]
_OnError = Annotated[
    OnError | None, typer.Option(help="Whether files that cannot be read are left out; raise by default.")
]
_Split = Annotated[Split | None, typer.Option(help="The part to use of data with an official split.")]


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Options of `tl.load` as they stand on the command line; what is None was not given."""

    label: _Label = None
    group: _Group = None
    time: _Time = None
    values: _Values = None
    interpolate: _Interpolate = None
    on_error: _OnError = None
    split: _Split = None

    def load(self, source: str, part: Part = "all") -> Sequences:
        """The sequences of a source; `part` is used where it has a training and a test part and no --split is given."""
        return self.load_part(source, part)[1]

    def load_part(self, source: str, part: Part) -> tuple[str, Sequences]:
        """The same with the name of the part that is used: "all" where there is no official split."""
        from ...sequences import concat

        parts = self.load_parts(source)
        chosen = str(self.split or part)
        if len(parts) == 1:
            return next(iter(parts.items()))
        return chosen, concat(list(parts.values())) if chosen == "all" else parts[chosen]

    def load_parts(self, source: str) -> dict[str, Sequences]:
        """The parts of a source by name: "train" and "test", or "all"."""
        from ...sequences import Sequences, load

        only = self.split if self.split in (Split.TRAIN, Split.TEST) else None
        options: dict[str, Any] = {
            "split": None if only is None else only.value,
            "time": _as_position(self.time or None),
            "values": [_as_position(one.strip()) for one in self.values.split(",")] if self.values else None,
            "label": self.label or None,
            "group": self.group or None,
            "on_error": (self.on_error or OnError.RAISE).value,
        }
        loaded = load(source, **options)
        parts = (loaded,) if isinstance(loaded, Sequences) else loaded
        names = ("train", "test") if len(parts) == 2 else ("all" if only is None else only.value,)
        filled = [part.interpolate() if self.interpolate and part.has_missing else part for part in parts]
        return dict(zip(names, filled, strict=True))

    def to_dict(self) -> dict[str, str]:
        """The options that were given."""
        return {name: str(value).lower() if isinstance(value, bool) else str(value)
                for name, value in asdict(self).items() if value is not None}  # fmt: skip

    @classmethod
    def from_dict(cls, options: dict[str, Any]) -> DataOptions:
        """The inverse of `to_dict`, also of numbers and booleans of TOML; unknown names and values are an error."""
        unknown = options.keys() - {one.name for one in fields(cls)}
        if unknown:
            raise ValueError(
                f"{min(unknown)!r} is no option of loading: expected {', '.join(one.name for one in fields(cls))}"
            )
        return cls(**{name: _parse_option(name, value) for name, value in options.items()})


def with_data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `DataOptions`, which it takes as its keyword argument `data`."""
    types = get_type_hints(DataOptions, include_extras=True)
    shared = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=types[one.name])
        for one in fields(DataOptions)
    ]

    def run(**arguments: Any) -> None:
        command(**{name: value for name, value in arguments.items() if name not in names}, data=_collect(arguments))

    names = {parameter.name for parameter in shared}
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "data"]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared)]
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _collect(arguments: dict[str, Any]) -> DataOptions:
    return DataOptions(**{one.name: arguments[one.name] for one in fields(DataOptions)})


def require_labels(X: Sequences, source: str) -> Any:
    """The labels of the sequences, or an error which names the option that says where they are.

    That the folders of the files are the labels is said on standard error, since nobody asked for it.
    """
    if X.labels is None:
        raise ValueError(
            f"{source} has no labels: name the column with --label, or give a regular expression for the file names, "
            "such as --label '_(\\w+)'"
        )
    _announce_folder_labels(X)
    return X.labels


def _announce_folder_labels(X: Sequences) -> None:
    from ...sequences.io.file_labels import FOLDER_NOTE

    if X.source is not None and FOLDER_NOTE in X.source.notes:
        classes = sorted(map(str, set(X.labels.tolist())))  # type: ignore[union-attr]
        more = ", …" if len(classes) > _MAX_LISTED else ""
        typer.echo(f"timelike: {FOLDER_NOTE}: {', '.join(classes[:_MAX_LISTED])}{more}", err=True)


def select_channels(X: Sequences, names: Sequence[str] | None, source: str) -> Sequences:
    """The channels with these names, in their order, if X has them all; columns of files may stand in any order."""
    if names is None or X.channel_names is None or not set(names) <= set(X.channel_names):
        return X
    others = [name for name in X.channel_names if name not in names]
    if others:
        typer.echo(f"timelike: {source}: these columns are not used: {join_some(others)}", err=True)
    return X if tuple(names) == X.channel_names else X.channels(names)


def join_some(names: Sequence[str]) -> str:
    """The first names of a list.

    >>> join_some(["x", "y"])
    'x, y'
    """
    return ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")


def sequence_names(X: Sequences) -> list[str]:
    """The ids of the sequences, or their positions."""
    return [str(one) for one in (range(len(X)) if X.ids is None else X.ids.tolist())]


def absolute_source(source: str) -> str:
    """A source that means the same in another folder; the name of a data set stays as it is."""
    is_path = os.path.exists(source) or "*" in source or os.sep in source
    return os.path.abspath(os.path.expanduser(source)) if is_path else source


def _parse_option(name: str, value: Any) -> Any:
    """The value of an option from the text of a job, or from a number or boolean that somebody wrote there."""
    allowed: dict[str, dict[str, Any]] = {
        "interpolate": {"true": True, "false": False},
        "on_error": {one.value: one for one in OnError},
        "split": {one.value: one for one in Split},
    }
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name} = {value!r}: expected a text")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if name in allowed and text not in allowed[name]:
        raise ValueError(f"{name} = {value!r}: expected {' or '.join(allowed[name])}")
    return allowed[name][text] if name in allowed else text


def _as_position(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdigit() else text
