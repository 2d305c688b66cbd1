"""The torch modules that encoders give: they are those that `fit` trains, and padding does not change their output."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

import timelike as tl

RNG = np.random.default_rng(0)
RAGGED = tl.Sequences([RNG.standard_normal((length, 2)) for length in (9, 4, 12, 1)])
PLAIN = {"vectors": "raw", "standardize": False, "max_steps": 0, "random_state": 3}
NETWORKS = [
    (tl.CausalEncoder(n_features=6, depth=2, **PLAIN), RAGGED),
    (tl.RecurrentEncoder(n_features=6, hidden=5, **PLAIN), RAGGED),
    (tl.encode.FrameEncoder(n_features=6, depth=1, **PLAIN), tl.Sequences(RNG.random((3, 4, 1, 8, 8)))),
]
FROZEN = [
    tl.Rocket(),
    tl.encode.StatisticsEncoder(),
    tl.encode.combine([tl.CausalEncoder()]),
    tl.Discriminant(),
    tl.metric.WhitenedCosine(),
]


def named(value):
    return type(value).__name__ if isinstance(value, tl.encode.Encoder) else ""


@pytest.mark.parametrize(("encoder", "X"), NETWORKS, ids=named)
def test_the_module_is_the_one_that_fit_begins_with(encoder, X) -> None:
    module = encoder.network(X.frame)
    x, lengths = X.to_tensor(dtype=torch.float32)
    vectors = module(x.flatten(2), lengths).detach().numpy()
    np.testing.assert_allclose(vectors, encoder.fit(X).encode(X), atol=1e-5)


@pytest.mark.parametrize(("encoder", "X"), NETWORKS, ids=named)
def test_every_call_gives_another_module_with_the_same_weights(encoder, X) -> None:
    before = torch.get_rng_state()
    first, second = encoder.network(X.frame), encoder.network(list(X.frame))
    assert torch.equal(torch.get_rng_state(), before)  # what the caller draws is not moved
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert one is not other
        assert torch.equal(one, other)


@pytest.mark.parametrize(("encoder", "X"), NETWORKS, ids=named)
def test_padding_changes_neither_vectors_nor_gradients(encoder, X) -> None:
    x, lengths = X.to_tensor(dtype=torch.float32)
    longer = torch.cat([x, torch.full_like(x, 7.0)], 1)
    found = []
    for given in (x, longer):
        module = encoder.network(X.frame)
        vectors = module(given.flatten(2), lengths)
        vectors.square().sum().backward()
        found.append([vectors.detach(), *(weight.grad for weight in module.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_a_fitted_encoder_keeps_its_own_network() -> None:
    encoder = tl.CausalEncoder(n_features=6, depth=1, max_steps=2, random_state=0).fit(RAGGED)
    before = encoder.encode(RAGGED)
    with torch.no_grad():
        for weight in encoder.network(RAGGED.frame).parameters():
            weight.zero_()
    np.testing.assert_array_equal(encoder.encode(RAGGED), before)


@pytest.mark.parametrize("encoder", FROZEN, ids=named)
def test_an_encoder_without_a_module_says_that_it_is_used_frozen(encoder) -> None:
    with pytest.raises(TypeError, match=f"{named(encoder)} has no torch module.*frozen"):
        encoder.network(2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.CausalEncoder().network(0), ValueError, r"frame\[0\]=0: expected at least 1"),
        (lambda: tl.CausalEncoder().network(2.5), TypeError, r"frame\[0\]=2.5: expected an integer"),
        (lambda: tl.CausalEncoder().network(()), ValueError, r"frame=\(\): expected the shape of a frame"),
        (lambda: tl.CausalEncoder(depth=-1).network(2), ValueError, "depth=-1"),
        (lambda: tl.encode.FrameEncoder().network(3), ValueError, r"frame=3: .*\(channel, height, width\)"),
        (lambda: tl.SiameseGRU().network(2, lengths=[]), ValueError, "lengths"),
        (lambda: tl.SiameseGRU().network(2, lengths=[3, 0]), ValueError, r"lengths\[1\] is 0"),
        (lambda: tl.SiameseGRU(hidden=0).network(2), ValueError, "hidden=0"),
    ],
)  # fmt: skip
def test_bad_frames_and_lengths_are_refused(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("n_steps", [20, 40, 80])
def test_the_module_of_a_siamese_network_gives_the_vectors_that_it_compares(n_steps) -> None:
    X = RNG.standard_normal((8, n_steps, 2))
    metric = tl.SiameseGRU(hidden=4, max_steps=1, standardize=False, random_state=0).fit(X, [0, 1] * 4)
    for lengths in ([n_steps], None):  # fitted, it knows the lengths
        module = metric.network(2, lengths=lengths)
        module.siamese.load_state_dict(metric.network_.state_dict())
        vectors = module.eval()(torch.tensor(X, dtype=torch.float32)).detach().numpy()
        np.testing.assert_allclose(cdist(vectors, vectors), metric.pairwise(X), atol=1e-4)


def test_a_siamese_module_leaves_out_steps_where_sequences_are_long() -> None:
    strides = [tl.SiameseGRU().network(2, lengths=lengths).siamese.front.stride for lengths in (None, [30], [40], [90])]
    assert strides == [1, 1, 2, 4]
