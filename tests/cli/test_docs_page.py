"""The examples on docs/cli.md and in the help: every command is run, and must print what the page shows."""

import doctest
import importlib.util
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import timelike as tl
from timelike.cli.main import COMMANDS, app
from timelike.cli.output import FIELDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shown_commands():
    """Every command in a console block, with the output below it."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        for part in re.split(r"^\$ timelike ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


needs_data = pytest.mark.skipif(importlib.util.find_spec("aeon") is None, reason="the data files come with aeon")


@needs_data
def test_commands_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # commands read what those before them have written
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)  # other copies of a data set may be in float32
    commands = list(shown_commands())
    assert len(commands) >= 6
    for command, expected in commands:
        printed = CliRunner().invoke(app, shlex.split(command)).output
        assert doctest.OutputChecker().check_output(expected, printed, OPTIONS), f"timelike {command}\n{printed}"


def test_the_reference_on_the_page_is_current():
    page = PAGE.read_text(encoding="utf-8")
    render_page = runpy.run_path(str(ROOT / "tools" / "cli_reference.py"))["render_page"]
    assert render_page(page) == page, "run python tools/cli_reference.py"


def test_every_command_has_an_example_and_documented_fields():
    for command in COMMANDS:
        assert "Examples:\n" in command.__doc__, command.__name__
        assert command.__name__ in FIELDS


@needs_data
def test_examples_in_the_help_run(recordings, tmp_path, monkeypatch):
    monkeypatch.chdir(
        tmp_path
    )  # where the fixture has written logs/; commands read what those before them have written
    shutil.copytree(recordings, "new")
    train, _ = tl.load("BasicMotions")
    train[[0]].save("query.npz")
    train[[1]].save("other.npz")
    Path("wave.csv").write_text("time,x\n0,1\n1,2\n2,1\n")
    examples = [
        line.strip()
        for command in COMMANDS
        for line in command.__doc__.partition("Examples:\n")[2].splitlines()
        if line.strip()
    ]
    assert len(examples) >= 20
    for example in examples:
        words = shlex.split(example.rpartition("| ")[2])
        assert words[0] == "timelike"
        result = CliRunner().invoke(app, words[1:], input="0\n1\n2\n1\n0\n")
        assert result.exit_code == 0, f"{example}\n{result.output}"
        assert "was learned from" not in result.stderr, f"{example} scores or calibrates on training data"
