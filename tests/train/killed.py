"""A program that trains, is killed with SIGKILL again and again, continues, and compares with a run left in peace.

It forks, so that torch is imported once. Half of the kills come at a random time, half at a random one of the calls by
which a checkpoint is written: before the file is there, before it is on the disk, before it has its name, and while
older ones are removed.
"""

import os
import pathlib
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from safetensors.torch import load_file, save_file

from timelike.train import Cosine, Plateau, StepDecay, checkpoints, fit
from train.objectives import Contest, Judged, Line

RUNS = {
    "adam": (Judged, {"max_epochs": 8, "patience": 6, "schedule": Plateau(patience=1)}),
    "adamw": (lambda: Line(kind="adamw"), {"max_steps": 45, "schedule": Cosine(warmup=3), "gradient_clip": 0.5}),
    "sgd": (
        lambda: Judged(kind="sgd"),
        {"max_steps": 40, "validate_every": 5, "patience": 3, "gradient_clip": "adaptive"},
    ),
    "contest": (
        Contest,
        {"max_steps": 30, "schedule": {"generator": StepDecay(every=4), "critic": Plateau(patience=2)}},
    ),
}


def train(name, result, **options):
    make, limits = RUNS[name]
    objective = make()
    history = fit(objective, random_state=3, **limits, **options)
    tracks = {f"history {name}": tensor for name, tensor in history.tensors().items() if "seconds" not in name}
    save_file(objective.module.state_dict() | tracks, result)


def in_child(work):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def dies_at_call(number):
    """Count the calls by which checkpoints are written, and die at one of them."""
    left = [number]

    def deadly(function):
        def called(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return called

    checkpoints.save_file = deadly(checkpoints.save_file)
    os.fsync = deadly(os.fsync)
    pathlib.Path.rename = deadly(pathlib.Path.rename)
    shutil.rmtree = deadly(shutil.rmtree)


def main(name, folder):
    folder.mkdir()
    rng = np.random.default_rng(list(name.encode()))  # the same kills every time, as far as time lets them
    peace, result = folder / "peace.safetensors", folder / "result.safetensors"
    fit(RUNS[name][0](), max_steps=1)  # torch imports much at the first update: once here, not in every child
    start = time.monotonic()
    assert os.waitpid(in_child(lambda: train(name, peace)), 0)[1] == 0
    saved = {"checkpoint": folder / "checkpoints", "checkpoint_every": int(rng.integers(1, 4))}
    took = time.monotonic() - start + 0.3
    kills = 0
    for attempt in range(8):
        by_call = attempt % 2 == 1
        call = int(rng.integers(1, 25)) if by_call else 0  # never
        child = in_child(lambda call=call: dies_at_call(call) or train(name, result, **saved))
        if not by_call:
            time.sleep(rng.uniform(0.02, took / 6))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0
        kills += killed
    assert os.waitpid(in_child(lambda: train(name, result, **saved)), 0)[1] == 0
    expected, found = load_file(peace), load_file(result)
    assert expected.keys() == found.keys()
    different = [key for key in expected if not torch.equal(expected[key], found[key])]
    leftovers = [entry.name for entry in saved["checkpoint"].iterdir()]
    print(
        f"{name}: {kills} kills, different: {different}, left: {len(leftovers)}, odd: "
        f"{[n for n in leftovers if n[0] == '.']}"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for one in RUNS:
        main(one, Path(sys.argv[1]) / one)
