"""A program that trains learned methods, kills each with SIGKILL after its first checkpoint, and continues it.

`killed_trainings.py FOLDER METHOD...` takes those that are named.
It forks, so that torch is imported once, and prints a line of JSON for every method: how the first training died, which
checkpoints it left, at which step the second one began, and what of the two results differs.
"""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(Path(__file__).parent.parent))

from contract.discover import MODELS, answers, data, small, targets
from timelike.train import Callback, Trained, fit, loop

LEARNED = [kind for kind in MODELS if issubclass(kind, Trained)]
EVERY, DEATH, LENGTH = 2, 3, 6  # steps between checkpoints, the step after which it dies, and the least it should have


class Dies(Callback):
    """Killed one step after a checkpoint was written: that step is lost."""

    def on_step_end(self, run):
        if run.step == DEATH:
            os.kill(os.getpid(), signal.SIGKILL)


class Begins(Callback):
    """Notes the step at which a training begins."""

    def __init__(self, file):
        self.file = file

    def on_train_start(self, run):
        self.file.write_text(str(run.step))


class Goes(Callback):
    """Goes on where the method would end of itself: RVSML settles before it could be killed."""

    def on_train_start(self, run):
        self.on_step_end(run)

    def on_step_end(self, run):
        if run.stop_reason == "nothing more to gain":
            run.stop_reason = None


def learned(kind, result, *callbacks, **options):
    """Train, and write down weights, history and answers."""
    length = {"max_steps": LENGTH, "max_epochs": None}  # by one of them alone

    def fit_with_more(objective, **given):
        return fit(objective, checkpoint_every=EVERY, callbacks=[*given.pop("callbacks", ()), *callbacks], **given)

    loop.fit = fit_with_more
    X = data(kind)
    model = small(kind, **length, **options).fit(X, targets(kind, X))
    tracks = {f"history {name}": t for name, t in model.history_.tensors().items() if "seconds" not in name}
    told = {f"answer {name}": torch.from_numpy(_numbers(array)) for name, array in answers(model, X).items()}
    save_file(model.network_.state_dict() | tracks | told, result)
    return model.history_.n_steps


def _numbers(array):
    """A copy; words as the places of their letters."""
    return array.copy() if array.dtype.kind != "U" else np.array(array[:, None]).view(np.uint32).astype(np.int64)


def in_child(work):
    """How a child process that does this ended: 0, or the signal or error by which it died."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def killed_and_continued(kind, folder):
    folder.mkdir()
    whole, result, began = folder / "whole.safetensors", folder / "result.safetensors", folder / "began"
    kept = folder / "checkpoints"
    steps = learned(kind, whole, Goes())
    death = in_child(partial(learned, kind, folder / "never.safetensors", Goes(), Dies(), checkpoint=kept))
    left = sorted(path.name for path in kept.iterdir())
    learned(kind, result, Goes(), Begins(began), checkpoint=kept)
    expected, found = load_file(whole), load_file(result)
    different = [name for name in expected.keys() | found.keys() if not _same(expected.get(name), found.get(name))]
    return {"method": kind.__name__, "death": death, "left": left, "began": int(began.read_text()), "steps": steps,
            "different": sorted(different)}  # fmt: skip


def _same(a, b):
    return a is not None and b is not None and torch.equal(a, b)


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, *chosen = sys.argv[1:]
    for one in LEARNED:
        if one.__name__ in chosen:
            print(json.dumps(killed_and_continued(one, Path(folder) / one.__name__)), flush=True)
