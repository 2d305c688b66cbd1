"""Training in two processes."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from timelike.train import fit
from train.two_processes import OPTIONS, RUNS, Watched


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    program = Path(__file__).parent / "two_processes.py"
    done = subprocess.run([sys.executable, "-W", "error", program, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_end_where_one_does(trained, name):
    """Also with a pause, with parts of different sizes, and with nothing for one of them to do."""
    folder, _ = trained
    first, second = (load_file(folder / f"{name}-{rank}.safetensors") for rank in (0, 1))
    alone = Watched(**RUNS[name])
    history = fit(alone, **OPTIONS)
    for key, tensor in (alone.module.state_dict() | history.tensors()).items():
        if "seconds" not in key:
            torch.testing.assert_close(first[key], tensor, rtol=1e-6, atol=1e-6)
            assert torch.equal(first[key], second[key])


def test_each_process_sees_its_part_of_a_batch(trained):
    _, printed = trained
    assert "uneven 0 saw [47, 21, 46, 40]" in printed
    assert "uneven 1 saw [13, 36, 7]" in printed


def test_a_loss_that_one_process_finds_not_finite_stops_both(trained):
    _, printed = trained
    for rank in (0, 1):
        assert f"rank {rank} True the loss is nan at step 5" in printed
