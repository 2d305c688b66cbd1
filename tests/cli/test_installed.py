"""The installed command, as a person without Python uses it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = shutil.which("timelike", path=str(Path(sys.executable).parent)) or shutil.which("timelike")
pytestmark = pytest.mark.skipif(COMMAND is None, reason="the command is not installed")


def call(*words, code=0):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    if code == 0:
        assert done.stderr == ""  # progress is for terminals
    return done


def test_a_folder_of_files_is_described_learned_classified_embedded_and_searched(recordings, tmp_path):
    model, label = tmp_path / "model", ("--label", "_([a-z]+)")
    assert "12 sequences" in call("describe", recordings, *label).stdout
    call("learn", recordings, *label, "--method", "classifier", "--set", "encoder__n_features=200", "--out", model)
    labels = json.loads(call("classify", model, recordings, "--json").stdout)["result"]["labels"]
    assert labels == (["run"] * 3 + ["walk"] * 3) * 2
    call("embed", model, recordings, "--out", tmp_path / "z.npz")
    assert "anna_run_1" in call("search", model, recordings, recordings / "anna_run_1.csv", "-k", 2).stdout


def test_an_error_is_a_sentence_on_standard_error(tmp_path):
    done = call("classify", tmp_path / "nothing", tmp_path, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("timelike: ")
    assert done.stderr.count("\n") == 1
    assert call("--version").stdout.startswith("timelike ")
    assert "_TIMELIKE_COMPLETE" in call("--show-completion", "bash").stdout
