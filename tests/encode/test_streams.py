"""A stream: the vector of the prefix, at a cost and in a memory that do not grow with the past."""

import pickle
import sys

import numpy as np
import pytest

import timelike as tl

pytestmark = pytest.mark.learn

TINY = {
    "n_features": 4,
    "channels": 2,
    "depth": 1,
    "reduced_size": 3,
    "n_negatives": 1,
    "max_steps": 2,
    "random_state": 0,
}
SHORT = {name: TINY[name] for name in ("n_features", "n_negatives", "max_steps", "random_state")}


def kept(stream):
    """Bytes of everything a stream holds, wherever it holds it."""
    return len(pickle.dumps(stream))


def calls(stream, samples):
    """How many functions, of Python and of C, are called for some samples."""
    counted = [0]

    def count(frame, event, argument):
        counted[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for sample in samples:
            stream.push(sample)
    finally:
        sys.setprofile(before)
    return counted[0]


def test_a_sample_costs_at_position_20_000_what_it_costs_at_1_000():
    """As many calls, on as many bytes."""
    x = np.sin(np.arange(20_100.0) / 7)
    stream = tl.CausalEncoder(**TINY | {"depth": 0}).fit([x[:50]]).stream()
    for sample in x[:1000]:
        stream.push(sample)
    size, early = kept(stream), calls(stream, x[1000:1100])
    for sample in x[1100:20_000]:
        stream.push(sample)
    late = calls(stream, x[20_000:])
    assert stream.n_samples == 20_100
    assert kept(stream) <= size + 16  # the counters have more digits
    assert late == early > 100


def test_after_a_long_past_it_is_still_the_vector_of_the_prefix():
    """Longer than any convolution looks back (2 · 2 · (1 + 2 + … + 64) steps), so that every ring has gone round."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.standard_normal((3000, 2)), axis=0)
    encoder = tl.CausalEncoder(**TINY | {"depth": 6, "channels": 8, "n_features": 16}).fit([x[:300], x[300:700]])
    stream = encoder.stream()
    for t in range(len(x)):
        vector = stream.push(x[t])
        if t + 1 in (1, 2, 3, 127, 128, 129, 508, 1000, 2999, 3000):
            np.testing.assert_allclose(vector, encoder.encode([x[: t + 1]])[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("encoder", "frame"),
    [
        (tl.CausalEncoder(**TINY), (2,)),
        (tl.RecurrentEncoder(hidden=3, **SHORT), (2,)),
        (tl.RecurrentEncoder(cell="gru", hidden=3, **SHORT), (2,)),
        (tl.encode.FrameEncoder(filters=2, n_frame_features=3, **TINY), (1, 4, 4)),
        (tl.encode.combine([tl.CausalEncoder(**TINY), tl.RecurrentEncoder(hidden=3, **SHORT)]), (2,)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_stream_holds_does_not_grow(encoder, frame):
    x = np.random.default_rng(0).standard_normal((600, *frame))
    stream = encoder.fit([x[:20]]).stream()
    for sample in x[:50]:
        stream.push(sample)
    size = kept(stream)
    for sample in x[50:]:
        stream.push(sample)
    assert kept(stream) <= size + 16


def test_two_streams_of_one_encoder_do_not_meet():
    x = np.random.default_rng(0).standard_normal((12, 2))
    encoder = tl.CausalEncoder(**TINY).fit([x])
    first, second = encoder.stream(), encoder.stream()
    for t in range(len(x)):
        vector = first.push(x[t])
        second.push(x[-1 - t])
    np.testing.assert_allclose(vector, encoder.encode([x])[0], atol=1e-6)
