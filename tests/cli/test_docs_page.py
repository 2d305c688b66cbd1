"""The examples on docs/cli.md: every command is run, and must print what the page shows."""

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from timelike.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shown_commands():
    """Every command in a console block, with the output below it."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        for part in re.split(r"^\$ timelike ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.skipif(importlib.util.find_spec("aeon") is None, reason="the data files come with aeon")
def test_commands_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # commands read what those before them have written
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)  # other copies of a data set may be in float32
    commands = list(shown_commands())
    assert len(commands) >= 6
    for command, expected in commands:
        printed = CliRunner().invoke(app, shlex.split(command)).output
        assert doctest.OutputChecker().check_output(expected, printed, OPTIONS), f"timelike {command}\n{printed}"
