"""A stream through the siamese network gives what all samples at once give."""

import numpy as np
import pytest

import timelike as tl
from timelike.metric.siamese.network import POOLINGS

pytestmark = pytest.mark.learn

SMALL = {"hidden": 5, "n_outputs": 3, "max_steps": 2, "random_state": 0}


def walks(length=30):
    rng = np.random.default_rng(0)
    return rng.standard_normal((8, length, 2)).cumsum(axis=1), np.arange(8) % 2


@pytest.mark.parametrize(
    "options",
    [
        *({"readout": pooling} for pooling in POOLINGS),
        {"front": None},
        {"cell": "lstm", "readout": "last"},
        {"n_outputs": None, "normalize": False},
        {"max_frames": 20},
        {"max_frames": 12},
        {"max_frames": 15, "front": None},
    ],
    ids=str,
)
def test_every_prefix_has_the_vector_that_it_has_alone(options):
    X, y = walks()
    metric = tl.SiameseGRU(**SMALL | options).fit(X, y)
    stream = metric.stream()
    found = np.array([stream.push(sample) for sample in X[3]])
    alone = np.concatenate([metric.encode(X[3:4, : n + 1]) for n in range(len(X[3]))])
    np.testing.assert_allclose(found, alone, rtol=1e-5, atol=1e-6)


def test_vectors_are_as_far_apart_as_the_metric_says():
    X, y = walks()
    metric = tl.SiameseGRU(**SMALL).fit(X, y)
    vectors = metric.encode(X).astype(np.float64)
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
    np.testing.assert_allclose(metric.pairwise(X), apart, atol=1e-6)


def test_a_stream_that_is_longer_than_its_frames_says_how_to_go_on():
    X, y = walks()
    stream = tl.SiameseGRU(**SMALL, max_frames=10).fit(X, y).stream()
    for _ in range(60):
        stream.push([0.0, 0.0])
    with pytest.raises(ValueError, match="max_frames=None"):
        stream.push([0.0, 0.0])
