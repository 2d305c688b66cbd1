"""Small networks are trained in one thread: weights are the same for any number of processors."""

import subprocess
import sys

import numpy as np
import pytest

import timelike as tl

pytestmark = pytest.mark.learn

PROGRAM = """
import hashlib, sys
import numpy as np, torch, timelike as tl

torch.set_num_threads(int(sys.argv[1]))
X = np.sin(np.arange(30)[:, None] * np.linspace(0.2, 0.9, 20)[:, None, None] + np.array([0.0, 1.0]))
models = [
    tl.SiameseGRU(max_steps=3, random_state=0).fit(X, np.arange(20) % 2),
    tl.Separation(max_steps=3, random_state=0).fit(X),
]
for model in models:
    numbers = [tensor.numpy().tobytes() for tensor in model.network_.state_dict().values()]
    print(hashlib.sha256(b"".join(numbers)).hexdigest())
"""


def test_weights_do_not_depend_on_the_number_of_threads():
    answers = {
        subprocess.run([sys.executable, "-c", PROGRAM, n], capture_output=True, text=True, check=True).stdout
        for n in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert len(set(answers.pop().split())) == 2


def test_what_computes_long_uses_all_threads():
    model = tl.SiameseGRU(hidden=8, max_steps=1, random_state=0)
    short, long = np.zeros((4, 10, 1)), np.zeros((4, 3_000_000, 1), np.float32)
    model.fit(short + np.arange(4)[:, None, None], [0, 0, 1, 1])
    assert model._training_threads(tl.Sequences(short)) == 1
    assert model._training_threads(tl.Sequences(long)) is None
    images = tl.Separation(codec="dcgan", max_steps=1, random_state=0).fit(
        np.random.default_rng(0).random((4, 30, 1, 64, 64))
    )
    assert images._training_threads(tl.Sequences(short)) is None
