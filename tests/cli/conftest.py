"""Running commands in this process, and files for them."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import timelike as tl
from timelike.cli.main import app
from timelike.cli.output import FIELDS, SCHEMA

KINDS = {"text": str, "number": (int, float), "list": list, "object": dict, "true or false": bool}


@pytest.fixture
def run(monkeypatch):
    """Run a command; what it reads from standard input is `stdin`."""
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words, stdin=None: CliRunner().invoke(app, list(map(str, words)), input=stdin)


@pytest.fixture
def answer(run):
    """The result of a command that succeeds, from JSON that has the documented form."""

    def ask(*words, stdin=None):
        result = run(*words, "--json", stdin=stdin)
        assert result.exit_code == 0, result.output
        content = json.loads(result.stdout)
        check_schema(content, words[0])
        return content["result"]

    return ask


def check_schema(content, command):
    assert content.keys() == {"timelike", "schema", "command", "result"}
    assert (content["timelike"], content["schema"], content["command"]) == (tl.__version__, SCHEMA, command)
    fields = FIELDS[command]
    if command == "describe":
        assert content["result"].keys() <= fields.keys()
    else:
        assert content["result"].keys() == fields.keys()
    for name, value in content["result"].items():
        words = fields[name].partition(":")[0]
        if value is None:
            assert words.endswith("or null"), name
        else:
            assert isinstance(value, KINDS[words.removesuffix(" or null").partition(" of ")[0]]), name


@pytest.fixture
def new_recordings(recordings, tmp_path):
    """The same recordings in another folder, which no model was learned from."""
    shutil.copytree(recordings, tmp_path / "new")
    return tmp_path / "new"


@pytest.fixture
def recordings(tmp_path):
    """A folder with a recording of two channels per file, of two persons and two movements that are easy to tell apart."""
    folder = tmp_path / "logs"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for person in ("anna", "bob"):
        for movement, frequency in (("run", 1.2), ("walk", 0.4)):
            for number in range(3):
                t = np.arange(24)
                x = np.sin(frequency * t + number) + 0.05 * rng.standard_normal(24)
                rows = [f"{i / 10},{a:.4f},{a * 2:.4f}" for i, a in zip(t, x, strict=True)]
                (folder / f"{person}_{movement}_{number}.csv").write_text("\n".join(["time,ax,ay", *rows]) + "\n")
    return folder
