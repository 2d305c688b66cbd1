"""Runs that are paused, killed, damaged, and continued."""

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from timelike.models import fingerprint, trees
from timelike.train import Callback, Plateau, fit
from train.clock import set_clock
from train.objectives import Contest, Judged, Line, weights


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program forks")
def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(tmp_path):
    program = Path(__file__).parent / "killed.py"
    done = subprocess.run([sys.executable, "-W", "error", program, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = re.findall(r"(\w+): (\d+) kills, different: \[\], left: \d, odd: \[\]\n", done.stdout)
    assert [name for name, _ in results] == ["adam", "adamw", "sgd", "contest"], done.stdout
    assert sum(int(kills) for _, kills in results) >= 8


def same_history(a, b):
    a, b = a.tensors(), b.tensors()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a if "seconds" not in name)


@pytest.mark.parametrize("make", [Judged, Contest, lambda: Line(kind="sgd"), lambda: Line(kind="adamw")])
@pytest.mark.parametrize("pause", [1, 6, 10, 14])
def test_a_pause_changes_nothing(make, pause, tmp_path):
    options = {"schedule": Plateau(patience=1), "random_state": 0}
    whole, first, second = make(), make(), make()
    expected = fit(whole, max_steps=20, **options)

    class Pause(Callback):
        def on_step_end(self, run):
            if run.step == pause:
                run.stop("a pause")

    fit(first, max_steps=20, checkpoint=tmp_path, callbacks=[Pause()], **options)
    nn.init.zeros_(next(second.module.parameters()))
    found = fit(second, max_steps=20, checkpoint=tmp_path, **options)
    assert torch.equal(weights(whole.module), weights(second.module))
    assert same_history(expected, found)
    assert found.stop_reason == "max_steps"


def test_a_finished_run_is_not_trained_again_and_a_raised_limit_continues_it(tmp_path):
    first, again, longer, whole = Judged(), Judged(), Judged(), Judged()
    fit(first, max_epochs=2, checkpoint=tmp_path, random_state=0)
    history = fit(again, max_epochs=2, checkpoint=tmp_path, random_state=0)
    assert torch.equal(weights(first.module), weights(again.module))
    assert (history.n_steps, history.stop_reason) == (12, "max_epochs")
    assert history.scores.tolist() == fit(Judged(), max_epochs=2, random_state=0).scores.tolist()
    assert fit(longer, max_epochs=3, checkpoint=tmp_path, random_state=None).n_steps == 18
    fit(whole, max_epochs=3, random_state=0)
    assert torch.equal(weights(whole.module), weights(longer.module))


def test_a_limit_inside_an_epoch_leaves_no_trace_in_a_longer_run(tmp_path):
    short = fit(Judged(), max_steps=8, checkpoint=tmp_path, random_state=0)
    assert short.steps("score").tolist() == [6, 8]
    assert same_history(short, fit(Judged(), max_steps=8, checkpoint=tmp_path, random_state=0))
    longer = fit(Judged(), max_steps=15, checkpoint=tmp_path, random_state=0)
    assert same_history(longer, fit(Judged(), max_steps=15, random_state=0))


def test_early_stopping_remembers_its_best_across_a_pause(tmp_path):
    scores = [3.0, 1.0, 2.0, 2.0, 2.0, 2.0]

    class Scripted(Judged):
        def validate(self):
            super().validate()
            return scores[self.module[1].num_batches_tracked // 6 - 1]

    whole, first, second = Scripted(), Scripted(), Scripted()
    fit(whole, max_epochs=9, patience=3, random_state=0)
    fit(first, max_epochs=3, patience=3, random_state=0, checkpoint=tmp_path)
    history = fit(second, max_epochs=9, patience=3, random_state=0, checkpoint=tmp_path)
    assert (history.stop_reason, history.best_step) == ("patience", 12)
    assert torch.equal(weights(whole.module), weights(second.module))
    assert torch.equal(weights(first.module), weights(second.module))  # all have the weights after epoch 2


def test_the_last_two_checkpoints_are_kept_as_json_and_safetensors(tmp_path):
    fit(Judged(), max_steps=10, checkpoint=tmp_path, checkpoint_every=3, random_state=0)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    folders = ["step-000000009-epoch-000001", "step-000000010-epoch-000001"]
    assert names == [f"{folder}/{file}" for folder in folders for file in ("state.json", "tensors.safetensors")]
    assert json.loads((tmp_path / names[0]).read_text())["state"]["step"] == 9


def test_checkpoints_may_come_by_the_clock(tmp_path, monkeypatch):
    """A step takes 0.03 s: a tenth is over after every fourth."""
    saved, clock = [], set_clock(monkeypatch)

    class Slow(Line):
        def loss(self, batch):
            clock.seconds += 0.03
            return super().loss(batch)

    class Noting(Callback):
        def on_checkpoint(self, run):
            saved.append(run.step)

    every = timedelta(seconds=0.1)
    fit(Slow(), max_steps=22, checkpoint=tmp_path, checkpoint_every=every, callbacks=[Noting()])
    assert saved == [4, 8, 12, 16, 20, 22]


@pytest.mark.parametrize("one_bit", [True, False])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, one_bit):
    whole, second = Line(), Line()
    fit(whole, max_steps=20, random_state=0)
    fit(Line(), max_steps=10, checkpoint=tmp_path, checkpoint_every=4, random_state=0)
    damaged = tmp_path / "step-000000010-epoch-000001" / "tensors.safetensors"
    held = damaged.read_bytes()
    damaged.write_bytes(held[:-10] + bytes([held[-10] ^ 1]) + held[-9:] if one_bit else held[:-10])
    said = "has changed since it was written" if one_bit else "cannot be read"
    with pytest.warns(UserWarning, match=f"step-000000010-epoch-000001/tensors.safetensors {said}"):
        fit(second, max_steps=20, checkpoint=tmp_path, random_state=0)
    assert torch.equal(weights(whole.module), weights(second.module))


def test_without_a_readable_checkpoint_the_file_is_named(tmp_path):
    fit(Line(), max_steps=2, checkpoint=tmp_path)
    state = tmp_path / "step-000000002-epoch-000000" / "state.json"
    text = state.read_text()
    state.write_text(text[:50])
    with pytest.raises(ValueError, match="state.json cannot be read"):
        fit(Line(), max_steps=4, checkpoint=tmp_path)
    state.write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(ValueError, match="has version 2 and this timelike reads 1: use a newer timelike"):
        fit(Line(), max_steps=4, checkpoint=tmp_path)


def test_resume_is_an_argument(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no checkpoint: resume='auto' starts anew"):
        fit(Line(), max_steps=2, checkpoint=tmp_path / "none", resume=True)
    (tmp_path / "notes.txt").write_text("mine")
    fit(Line(), max_steps=8, checkpoint=tmp_path, random_state=0)
    assert fit(Line(), max_steps=9, checkpoint=tmp_path, resume=True).n_steps == 9
    history = fit(Line(), max_steps=3, checkpoint=tmp_path, resume=False, random_state=5)
    assert history.n_steps == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none", "notes.txt", "step-000000003-epoch-000000"]


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    fit(Line(), max_steps=2, checkpoint=tmp_path, random_state=0)
    with pytest.raises(ValueError, match="was made with another random_state: give the same or None to resume"):
        fit(Line(), max_steps=4, checkpoint=tmp_path, random_state=1)
    with pytest.raises(ValueError, match=r"does not fit the module: 1.bias has shape \(8,\) there and none here"):
        fit(Line(norm=False), max_steps=4, checkpoint=tmp_path, random_state=0)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="is a file: expected a folder"):
        fit(Line(), max_steps=4, checkpoint=file)


def test_a_checkpoint_says_what_it_belongs_to(tmp_path):
    asked = []

    class Known(Line):
        about: ClassVar[dict] = {}

        def identity(self):
            asked.append(self.about)
            return self.about

    one, other = ({"data": fingerprint(np.arange(3), x), "size": 8} for x in (np.zeros(2), np.ones(2)))
    fit(Known(), max_steps=2, random_state=0)
    assert asked == []  # it may take time, and is needed for checkpoints only
    fit(Line(), max_steps=2, checkpoint=tmp_path / "unknown", random_state=0)
    Known.about = one
    fit(Known(), max_steps=4, checkpoint=tmp_path / "unknown", random_state=0)  # an objective that used to say nothing
    fit(Known(), max_steps=9, checkpoint=tmp_path / "run", checkpoint_every=1, random_state=0)
    assert asked == [one, one]
    objective = Known()
    before = {name: tensor.clone() for name, tensor in objective.module.state_dict().items()}
    for Known.about, word in ((other, "other data"), (one | {"size": 9}, "another size, 8 there and 9 here")):
        with pytest.raises(ValueError, match=f"run has {word}: .*give another folder, or remove this one") as caught:
            fit(objective, max_steps=12, checkpoint=tmp_path / "run", random_state=0)
        assert str(one["data"]) not in str(caught.value)
    assert all(torch.equal(before[name], tensor) for name, tensor in objective.module.state_dict().items())
    assert fit(objective, max_steps=3, checkpoint=tmp_path / "run", resume=False, random_state=0).n_steps == 3


def test_a_fingerprint_sees_values_shapes_places_and_dtypes():
    x = np.arange(6.0)
    arrays = [(x,), (x[::-1],), (x.reshape(2, 3),), (x.reshape(3, 2),), (x.astype(np.float32),), (x[:3], x[3:])]
    assert len({fingerprint(*some) for some in arrays}) == len(arrays)
    assert fingerprint(x[::-1]) == fingerprint(x[::-1].copy())


def test_an_optimiser_that_keeps_estimates_among_its_options_continues(tmp_path):
    class Slowing(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for group in self.param_groups:
                group["momentum"] *= 0.9

    class Slow(Line):
        def optimizers(self):
            return Slowing(self.module.parameters(), lr=0.1, momentum=0.9)

    whole, second = Slow(), Slow()
    fit(whole, max_steps=12, random_state=0)
    fit(Slow(), max_steps=7, checkpoint=tmp_path, random_state=0)
    fit(second, max_steps=12, checkpoint=tmp_path, random_state=0)
    assert torch.equal(weights(whole.module), weights(second.module))


def test_tied_weights_are_saved_and_stay_tied(tmp_path):
    class Tied(Line):
        def __init__(self):
            super().__init__()
            self.module.append(nn.Linear(1, 1))
            self.module.append(self.module[-1])

    whole, second = Tied(), Tied()
    second.module.load_state_dict(whole.module.state_dict())
    fit(whole, max_steps=3, checkpoint=tmp_path, random_state=0)
    fit(second, max_steps=3, checkpoint=tmp_path, random_state=0)
    assert torch.equal(weights(whole.module), weights(second.module))
    assert second.module[-1] is second.module[-2]


def test_a_learning_rate_can_be_lowered_before_continuing(tmp_path):
    fit(Line(rate=0.05), max_steps=3, checkpoint=tmp_path)
    history = fit(Line(rate=0.01), max_steps=6, checkpoint=tmp_path)
    assert history["rate"].tolist() == [0.05] * 3 + [0.01] * 3


def test_states_that_no_file_can_hold_are_named():
    with pytest.raises(TypeError, match=r"state.a.1 is a set, which no file can hold"):
        trees.flatten({"a": [1, {2}]}, "state")
    tree = {"a": (1, [2.5, None]), 3: {"b": True}, "__odd__": "x", "n": float("-inf")}
    skeleton, tensors = trees.flatten(tree, "state")
    assert trees.unflatten(json.loads(json.dumps(skeleton)), tensors) == tree


def test_a_checkpoint_that_is_further_than_the_limit_is_returned_with_a_warning(tmp_path):
    first, again = Line(), Line()
    fit(first, max_steps=9, checkpoint=tmp_path)
    with pytest.warns(UserWarning, match="max_steps=3, but the checkpoint has been trained for 9 steps"):
        assert fit(again, max_steps=3, checkpoint=tmp_path).n_steps == 9
    assert torch.equal(weights(first.module), weights(again.module))
