"""Every learned method, killed after a checkpoint was written and before the end, goes on to the same result."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract.killed_trainings import DEATH, EVERY, LEARNED


@pytest.fixture(scope="module")
def found(request, tmp_path_factory):
    """What became of the methods whose tests were chosen: one process trains them all."""
    program = Path(__file__).parent / "killed_trainings.py"
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    chosen = [item.callspec.params["kind"].__name__ for item in request.session.items if item.path == request.path]
    call = [sys.executable, program, tmp_path_factory.mktemp("killed"), *chosen]
    done = subprocess.run(call, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stderr
    return {line["method"]: line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program forks")
@pytest.mark.parametrize("kind", LEARNED)
def test_a_training_killed_after_a_checkpoint_ends_as_if_it_had_not_been(kind, found):
    told = found[kind.__name__]
    assert told["death"] == -9
    assert [name.split("-")[1] for name in told["left"]] == [f"{DEATH // EVERY * EVERY:09}"]
    assert told["began"] == DEATH // EVERY * EVERY  # continued, not begun anew
    assert told["steps"] > DEATH
    assert told["different"] == []
