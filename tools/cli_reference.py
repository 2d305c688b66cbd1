"""Write the reference part of docs/cli.md from the commands: their help, options, examples and fields of JSON.

python tools/cli_reference.py            # write it again
python tools/cli_reference.py --check    # exit with 1 if it is not current
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from timelike.cli.main import app
from timelike.cli.options.data import DataOptions
from timelike.cli.output import FIELDS, SCHEMA

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
MARK = "<!-- From here on the page is written by tools/cli_reference.py. -->\n"
_SHARED = {one.name for one in fields(DataOptions)}
_NAMELESS = ("help", "install_completion", "show_completion")


def render_page(page: str) -> str:
    """The page with its reference part replaced."""
    head, mark, _ = page.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE} has no line {MARK.strip()!r}: put it where the reference part begins")
    return head + MARK + "\n" + "\n".join(_render_reference()).rstrip() + "\n"


def _render_reference() -> Iterator[str]:
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    yield from ("## Commands", "", "| command | what it does |", "|---|---|")
    for name, command in commands.items():
        yield f"| [`timelike {name}`](#{name}) | {_cell(_paragraphs(command)[0])} |"
    loading = next(iter(one for one in commands.values() if _shared(one)))
    yield from ("", "## Options for reading data", "", "Every command that reads data takes these.", "")
    yield from _render_options(loading, _shared(loading))
    yield from (
        "",
        "## JSON",
        "",
        'With `--json` a command prints one line: `{"timelike": version, "schema": '
        f'{SCHEMA}, "command": name, "result": …}}`. The',
        "fields of `result` are listed with each command; `schema` grows when one is renamed or removed. What is not a",
        "finite number is `null`. Errors and progress go to standard error.",
    )
    for name, command in commands.items():
        yield from _render_command(name, command)


def _render_command(name: str, command: Any) -> Iterator[str]:
    own = [one for one in command.params if one.name not in _NAMELESS and one not in _shared(command)]
    names = " ".join(str(one.metavar) for one in own if one.param_type_name == "argument")
    data = ", and the [options for reading data](#options-for-reading-data)" if _shared(command) else ""
    text, _, examples = inspect.cleandoc(command.help).partition("\b\nExamples:\n")
    yield from ("", f"## {name}", "", text.strip(), "")
    yield from (f"`{' '.join(f'timelike {name} {names}'.split())} [OPTIONS]`{data}", "")
    yield from _render_options(command, own)
    if examples:
        yield from ("", "```sh", *(line.strip() for line in examples.splitlines()), "```")
    if name in FIELDS:
        yield from ("", "| field of `result` | type | meaning |", "|---|---|---|")
        for field, words in FIELDS[name].items():
            kind, _, meaning = words.partition(": ")
            yield f"| `{field}` | {kind} | {_cell(meaning)} |"


def _render_options(command: Any, options: list[Any]) -> Iterator[str]:
    yield from ("| argument or option | meaning |", "|---|---|")
    types = _types(command)
    for option in options:
        default: Any = option.default.value if isinstance(option.default, Enum) else option.default
        is_shown = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
        suffix = f" Default: `{default}`." if is_shown and default != "" else ""
        yield f"| `{_signature(option, types[option.name])}` | {_cell(option.help or '')}{suffix} |"


def _signature(option: Any, kind: Any) -> str:
    if option.param_type_name == "argument":
        return str(option.metavar)
    names = ", ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or _type_name(kind)}"


def _type_name(kind: Any) -> str:
    """A word for the values of an option, from the type `Annotated[X | None, …]`."""
    types = [one for one in get_args(kind) if isinstance(one, type)] if get_args(kind) else [kind]
    plain: Any = next((one for one in types if one is not type(None)), str)
    if issubclass(plain, Enum):
        return "\\|".join(one.value for one in plain)
    return {int: "INT", float: "NUMBER", Path: "PATH"}.get(plain, "TEXT")


def _types(command: Any) -> dict[str, Any]:
    """The type of every parameter of a command's function, without its annotation for typer."""
    hints = get_type_hints(inspect.unwrap(command.callback))
    return {name: hints.get(name) for name in (one.name for one in command.params)}


def _shared(command: Any) -> list[Any]:
    """The options for reading data, where a command has all of them."""
    found = [one for one in command.params if one.name in _SHARED]
    return found if len(found) == len(_SHARED) else []


def _paragraphs(command: Any) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(command.help).split("\n\n")]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    page = PAGE.read_text(encoding="utf-8")
    rendered = render_page(page)
    if parser.parse_args().check:
        sys.exit(rendered != page and f"{PAGE} is not current: run python tools/cli_reference.py")
    PAGE.write_text(rendered, encoding="utf-8")


if __name__ == "__main__":
    main()
