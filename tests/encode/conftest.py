"""Small encoders and the sequences they learn from."""

import numpy as np
import pytest

import timelike as tl
from toys import CAUSAL as SMALL


@pytest.fixture
def ragged():
    rng = np.random.default_rng(0)
    return tl.Sequences([rng.standard_normal((n, 2)) + 3 for n in (9, 30, 1, 17, 4, 30)])


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return tl.Sequences([rng.random((n, 2, 7, 6)) for n in (5, 1, 8, 3)])


@pytest.fixture
def waves():
    """Two classes that differ in frequency."""
    rng = np.random.default_rng(1)
    labels = np.array(["slow", "fast"])[np.arange(60) % 2]
    time = np.arange(24)
    speed = np.where(labels == "slow", 0.3, 1.5)[:, None]
    return tl.Sequences(np.sin(speed * time + rng.uniform(0, 6, (60, 1))), labels=labels)


@pytest.fixture(params=["rocket", pytest.param("causal", marks=pytest.mark.learn)])
def small_encoder(request):
    """An encoder that is not fitted, for facts about what is built on encoders: they hold for any."""
    if request.param == "rocket":
        return tl.Rocket(n_features=SMALL["n_features"], random_state=0)
    return tl.CausalEncoder(**SMALL)


@pytest.fixture(params=["causal", "lstm", "gru", "frames", "combined"])
def encoder_and_data(request, ragged, images):
    short = {name: SMALL[name] for name in ("n_features", "n_negatives", "max_steps", "random_state")}
    return {
        "causal": lambda: (tl.CausalEncoder(**SMALL), ragged),
        "lstm": lambda: (tl.RecurrentEncoder(hidden=5, **short), ragged),
        "gru": lambda: (tl.RecurrentEncoder(cell="gru", n_layers=1, hidden=5, **short), ragged),
        "frames": lambda: (tl.encode.FrameEncoder(filters=3, n_frame_features=4, **SMALL), images),
        "combined": lambda: (
            tl.encode.combine([tl.CausalEncoder(**SMALL | {"n_negatives": k}) for k in (1, 3)]),
            ragged,
        ),
    }[request.param]()
