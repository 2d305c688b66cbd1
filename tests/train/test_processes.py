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


def test_a_card_that_is_not_there_is_named_with_what_is():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ValueError, match=r"accelerator='cuda': there is none, this machine has \d+ cores? .*use 'cpu'"):
        fit(Watched(**RUNS["uneven"]), **OPTIONS | {"accelerator": "cuda"})


def test_more_processes_than_cores_are_not_begun():
    with pytest.raises(ValueError, match=r"devices=10000 with accelerator='cpu': expected at most \d+"):
        fit(Watched(**RUNS["uneven"]), **OPTIONS | {"devices": 10000})
