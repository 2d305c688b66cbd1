"""Promises that every encoder keeps, whatever its network."""

import math

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import timelike as tl
from timelike import encode


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_ragged_batch_is_a_loop(encoder_and_data):
    encoder, data = encoder_and_data
    vectors = encoder.fit(data).encode(data)
    assert vectors.shape[0] == len(data)
    assert vectors.dtype == np.float32
    for i in range(len(data)):
        close(encoder.encode(data[i : i + 1])[0], vectors[i])


def test_a_stream_equals_the_batch_on_every_prefix(encoder_and_data):
    encoder, data = encoder_and_data
    x = np.asarray(data[int(np.argmax(data.lengths))])
    stream = encoder.fit(data).stream()
    for t in range(len(x)):
        close(stream.push(x[t]), encoder.encode(tl.Sequences([x[: t + 1]]))[0])
    assert stream.n_samples == len(x)


def test_windows_are_encoded_one_by_one(encoder_and_data):
    encoder, data = encoder_and_data
    found = encoder.fit(data).encode(data, windows=(4, 2))
    assert len(found) == len(data)
    for x, vectors in zip(data, found, strict=True):
        starts = range(0, max(len(x) - 4, 0) + 1, 2)
        assert len(vectors) == len(starts)
        for start, vector in zip(starts, vectors, strict=True):
            close(vector, encoder.encode(tl.Sequences([x[start : start + 4]]))[0])


def test_it_is_a_metric(encoder_and_data):
    encoder, data = encoder_and_data
    distances = encoder.fit(data).pairwise(data)
    vectors = encoder.encode(data).astype(float)
    if encoder.geometry == "cosine":
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(distances, np.linalg.norm(vectors[:, None] - vectors, axis=2), atol=1e-5)
    assert encoder.distance(data[0], data[2]) == pytest.approx(distances[0, 2], abs=1e-5)
    assert encoder.neighbors(data, data, k=1).ids[:, 0].tolist() == list(range(len(data)))


def test_it_says_what_is_wrong(encoder_and_data):
    encoder, data = encoder_and_data
    with pytest.raises(NotFittedError, match="is not fitted yet: call fit"):
        encoder.stream()
    encoder.fit(data)
    with pytest.raises(ValueError, match="X holds no sequences: expected at least one"):
        encoder.encode(data[:0])
    with pytest.raises(ValueError, match=r"sample has shape \(7,\): the encoder was fitted on frames"):
        encoder.stream().push(np.zeros(7))
    with pytest.raises(ValueError, match="is not finite"):
        encoder.stream().push(np.full(data.frame, np.nan))
    for windows, kind in (((0, 1), ValueError), ((2, 0), ValueError), (3, TypeError)):
        with pytest.raises(kind, match="windows"):
            encoder.encode(data, windows=windows)


@pytest.mark.parametrize("which", ["one", "one step", "constant"])
def test_poor_data_is_enough(encoder_and_data, which):
    encoder, data = encoder_and_data
    x = np.asarray(data[0])
    poor = {"one": [x], "one step": [x[:1], x[1:2]], "constant": [np.full_like(x, 0.1)] * 3}[which]
    assert np.isfinite(encoder.fit(tl.Sequences(poor)).encode(poor)).all()


def test_a_sequence_shorter_than_a_window_is_one_window_whatever_the_step(ragged):
    encoder = tl.CausalEncoder(n_features=6, channels=4, depth=3, reduced_size=5, max_steps=2, random_state=0).fit(
        ragged
    )
    for step in (1, 2, 5):
        assert encoder.encode(ragged[[2, 4]], windows=(4, step)).lengths.tolist() == [1, 1]  # of 1 and of 4 steps
    assert encoder.encode(ragged[[0]], windows=(4, 1)).lengths.tolist() == [6]


@pytest.mark.parametrize("none", [[], (), "causal", {tl.CausalEncoder()}, None])
def test_a_combination_is_of_a_list_with_something_in_it(none, ragged):
    with pytest.raises(ValueError, match="expected a list of at least one encoder"):
        tl.encode.CombinedEncoder(none).fit(ragged)


@pytest.mark.parametrize("frame", [(1, 4, 12), (1, 12, 4), (2, 5, 9)])
def test_frames_need_not_be_square(frame):
    network = encode.FrameNetwork(frame, n_frame_features=3, n_features=4, channels=2, depth=1, reduced_size=2)
    assert network(torch.zeros(2, 3, math.prod(frame))).shape == (2, 4)


@pytest.mark.parametrize("kind", [tl.CausalEncoder, tl.encode.FrameEncoder, tl.RecurrentEncoder])
def test_numbers_of_things_begin_at_one_and_depth_and_steps_at_none(kind, images, ragged):
    data = images if kind is tl.encode.FrameEncoder else ragged
    counts = {"n_features", "channels", "reduced_size", "kernel_size", "n_negatives"}
    counts |= {"filters", "n_frame_features", "hidden", "n_layers"}
    least = dict.fromkeys(counts, 1) | {"depth": 0, "max_steps": 0}
    for name in set(least) & set(kind().get_params()):
        with pytest.raises(ValueError, match=f"{name}=.*: expected at least {least[name]}"):
            kind(**{name: least[name] - 1}).fit(data)
