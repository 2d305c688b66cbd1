"""Rocket: what is drawn, what it makes of any input, and its stream."""

import numpy as np
import pytest
from scipy.signal import chirp

import timelike as tl
from naive import rocket as naive
from timelike.encode.rocket import kernels
from timelike.encode.rocket.estimator import forward_fill
from timelike.native.machine import PackedSequences
from timelike.native.rocket import TRIPLES, KernelBank, features


def noise(lengths, n_channels=1, seed=0):
    rng = np.random.default_rng(seed)
    return tl.Sequences([rng.standard_normal((n, n_channels)).cumsum(axis=0) for n in lengths])


@pytest.mark.parametrize("causal", [False, True])
def test_features_are_those_of_the_formula_on_standardized_values(causal):
    X = noise((12, 20, 9, 30), 3)
    encoder = tl.Rocket(n_features=301, causal=causal, random_state=0).fit(X)
    values = ((X.values - X.values.mean(axis=0)) / X.values.std(axis=0)).astype(np.float32)
    ready = np.split(values, X.offsets[1:-1])
    found = encoder.encode(X)
    assert found.shape == (4, 301)
    assert found.dtype == np.float32

    def shifted(by):
        bank = encoder.bank_._replace(thresholds=encoder.bank_.thresholds + by)
        return np.stack([naive.features(x, bank) for x in ready])[:, :301]

    # in double precision, where what equals a threshold in single precision may be on either side of it
    assert (found <= shifted(-1e-5) + 1e-6).all()
    assert (found >= shifted(1e-5) - 1e-6).all()
    assert (shifted(-1e-5) - shifted(1e-5)).mean() < 0.03


def test_kernels_have_as_many_thresholds_as_are_asked_for():
    for n in (1, 2, 83, 84, 85, 1000, 2500):
        dilations, weights = kernels.dilations_and_weights(100, n)
        counts = kernels.thresholds_per_kernel(n, weights)
        assert counts.sum() == n
        assert counts.shape == (len(dilations), 84)
        assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1
        assert 8 * dilations[-1] < 100


def test_thresholds_are_about_quantiles_of_what_a_kernel_makes_of_a_sequence():
    X = noise((200,))
    bank = tl.Rocket(n_features=1000, random_state=0).fit(X).bank_
    values = ((X[0] - X[0].mean()) / X[0].std()).astype(np.float32)
    shares = naive.features(values, bank)[: len(bank.thresholds)]
    odd = np.add.outer(np.arange(len(bank.dilations)), np.arange(84)) % 2 == 1
    # over all steps, as for even kernels, a quantile at level q is exceeded at a share of 1 − q
    even = ~np.repeat(odd.reshape(-1), bank.counts.reshape(-1))
    levels = np.arange(1, len(shares) + 1) * (np.sqrt(5) + 1) / 2 % 1
    np.testing.assert_allclose(shares[even], 1 - levels[even], atol=0.05)


@pytest.mark.parametrize("n_channels", [1, 2, 12])
def test_a_stream_gives_the_bits_of_everything_so_far(n_channels):
    X = noise((40, 60), n_channels)
    encoder = tl.Rocket(n_features=401, causal=True, random_state=0).fit(X)
    stream, x = encoder.stream(), np.array(noise((70,), n_channels, seed=1)[0])
    x[[0, 5, 6, 33], 0] = np.nan
    for now, sample in enumerate(x):
        vector = stream.push(sample)
        if now in (0, 1, 7, 8, 9, 15, 30, 31, 32, 33, 48, 69):
            np.testing.assert_array_equal(vector, encoder.encode([x[: now + 1]])[0])


def test_a_stream_is_for_kernels_that_look_back_only():
    for model in (
        tl.Rocket(n_features=20),
        tl.encode.combine([tl.Rocket(n_features=20)]),
        tl.metric.WhitenedCosine(tl.Rocket(n_features=20)),
    ):
        with pytest.raises(ValueError, match=r"causal=False: kernels use future steps.*use Rocket\(causal=True\)"):
            model.fit(noise((20, 30))).stream()


def test_a_series_backwards_is_described_by_the_mirrored_kernels():
    """Centred kernels know no direction of time: kernel (i, j, k) of x is (8 − k, 8 − j, 8 − i) of x backwards."""
    x, rng = np.array(noise((50,))[0], np.float32), np.random.default_rng(0)
    counts = np.ones((1, 84), np.int64)
    channels = np.zeros((1, 21, 1), np.int64)
    thresholds = rng.standard_normal(84).astype(np.float32)
    mirrored = [TRIPLES.index((8 - k, 8 - j, 8 - i)) for i, j, k in TRIPLES]
    # an even number of dilations before it keeps the parity of kernels apart from that of their mirror images
    same = np.flatnonzero((np.arange(84) + mirrored) % 2 == 0)
    found, other = (
        features(
            PackedSequences(np.ascontiguousarray(series), np.array([0]), np.array([50])),
            KernelBank(np.array([2]), channels, counts, some, centred=True),
            threads=1,
        )[0]
        for series, some in ((x, thresholds), (x[::-1], thresholds[mirrored]))
    )
    np.testing.assert_allclose(found[same], other[np.array(mirrored)[same]], atol=0.03)


def test_what_is_missing_is_the_last_that_is_known_and_before_it_the_mean():
    X = noise((20, 30), 2)
    encoder = tl.Rocket(n_features=200, random_state=0).fit(X)
    x = np.array(X[0])
    x[3:6, 0] = x[2, 0]
    x[:2, 1] = encoder.scaler_.mean[1]
    gaps = x.copy()
    gaps[3:6, 0], gaps[:2, 1] = np.nan, np.nan
    np.testing.assert_array_equal(encoder.encode([gaps]), encoder.encode([x]))
    np.testing.assert_array_equal(
        encoder.encode(np.full((1, 9, 2), np.nan)), encoder.encode([np.tile(X.values.mean(0), (9, 1))])
    )


def test_gaps_are_filled_within_a_sequence_and_a_channel():
    X = tl.Sequences([[[np.nan, 1.0], [2.0, np.nan]], [[np.nan, np.nan], [3.0, 4.0], [np.nan, np.nan]]])
    found = forward_fill(X, np.array([7.0, 8.0])).values
    np.testing.assert_array_equal(found, [[7, 1], [2, 1], [7, 8], [3, 4], [3, 4]])


@pytest.mark.parametrize("n_features", [1, 7, 500])
def test_short_constant_and_long_sequences_have_finite_features(n_features):
    X = [[1.0], [2.0, 3.0], [5.0] * 8, [5.0] * 9, np.arange(3000.0), [1e30] * 4]
    found = tl.Rocket(n_features=n_features, random_state=0).fit(X).encode(X)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found <= 1).all()


def test_the_same_seed_draws_the_same_and_the_twin_fits_the_same(monkeypatch):
    X = noise((30, 40), 3)
    found = tl.Rocket(n_features=300, random_state=4).fit(X).encode(X)
    assert not np.array_equal(tl.Rocket(n_features=300, random_state=5).fit(X).encode(X), found)
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    np.testing.assert_array_equal(tl.Rocket(n_features=300, random_state=4).fit(X).encode(X), found)


def test_offset_and_unit_of_a_channel_do_not_matter():
    X = noise((30, 40, 50), 2)
    other = tl.Sequences([x * [4.0, 0.5] + [8.0, -2.0] for x in X])
    found, expected = (tl.Rocket(n_features=300, random_state=0).fit(some).encode(some) for some in (X, other))
    np.testing.assert_allclose(found, expected, atol=0.05)
    plain = tl.Rocket(n_features=300, standardize=False, random_state=0).fit(X)
    np.testing.assert_array_equal(plain.scaler_.mean, 0)


def test_distances_are_of_features_by_their_deviation():
    X = noise((30, 40, 50, 60))
    encoder = tl.Rocket(n_features=300, random_state=0).fit(X)
    features = encoder.encode(X).astype(np.float64)
    spread = np.maximum(features.std(axis=0), 0.01)
    expected = np.sqrt(np.square((features[:, None] - features[None]) / spread).mean(axis=2))
    np.testing.assert_allclose(encoder.pairwise(X), expected, rtol=1e-5)


def test_windows_are_encoded_as_sequences_of_their_own():
    x = np.array(noise((50,))[0])
    encoder = tl.Rocket(n_features=100, random_state=0).fit([x])
    found = encoder.encode([x], windows=(20, 10))
    np.testing.assert_array_equal(found[0], encoder.encode([x[a : a + 20] for a in (0, 10, 20, 30)]))


def test_shapes_are_told_apart_wherever_they_are():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 40)

    def one(up):
        x = 0.3 * rng.standard_normal(120)
        at = rng.integers(80)
        x[at : at + 40] += 2 * chirp(t if up else 1 - t, 2, 1, 12)
        return x

    codes = np.arange(120) % 2
    X = np.stack([one(code) for code in codes])
    model = tl.EmbeddingClassifier(random_state=0).fit(X[:60], codes[:60])
    assert model.score(X[60:], codes[60:]) > 0.9


def test_a_stream_takes_memory_as_samples_come_and_keeps_its_bits():
    x = np.random.default_rng(0).standard_normal(700)
    encoder = tl.Rocket(n_features=1700, causal=True, random_state=0).fit([x])
    stream = encoder.stream()
    before = stream._counts.ring.nbytes
    vectors = [stream.push(sample) for sample in x]
    assert 8 * encoder.bank_.dilations.max() > 400
    assert before < stream._counts.ring.nbytes / 4
    for n in (1, 64, 65, 128, 129, 500, 700):
        np.testing.assert_array_equal(vectors[n - 1], encoder.encode([x[:n]])[0])
