"""`length`: encoders that resample sequences to one length before they look at them."""

import numpy as np
import pytest

import timelike as tl

SMALL = {"n_features": 6, "max_steps": 1, "random_state": 0}
ENCODERS = {
    "rocket": lambda **how: tl.Rocket(n_features=120, random_state=0, **how),
    "statistics": tl.encode.StatisticsEncoder,
    "causal": lambda **how: tl.CausalEncoder(channels=4, depth=2, reduced_size=6, **SMALL, **how),
    "recurrent": lambda **how: tl.RecurrentEncoder(hidden=5, n_layers=1, **SMALL, **how),
}
NAMES = ["rocket", "statistics", *(pytest.param(name, marks=pytest.mark.learn) for name in ("causal", "recurrent"))]


def ragged(seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(8) % 2
    return tl.Sequences(
        [rng.standard_normal((n, 2)).cumsum(axis=0) for n in (7, 12, 1, 20, 13, 9, 30, 11)], labels=labels
    )


def by_hand(sequences, length):
    """Every channel by NumPy's own interpolation."""
    made = []
    for x in sequences:
        places = np.linspace(0, len(x) - 1, length)
        made.append(np.stack([np.interp(places, np.arange(len(x)), channel) for channel in np.asarray(x).T], axis=1))
    return tl.Sequences(made)


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_length_is_that_of_the_sequences_fitted_on(name):
    train, other = ragged(), ragged(1)
    mean = 13  # of 103 steps in 8 sequences
    encoder = ENCODERS[name](length="mean").fit(train)
    assert encoder.length_ == mean
    plain = ENCODERS[name]().fit(by_hand(train, mean))
    assert not hasattr(plain, "length_")
    for X in (train, other[:1], other):  # whatever the lengths of the others
        np.testing.assert_allclose(encoder.encode(X), plain.encode(by_hand(X, mean)), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(encoder.encode(other)[3], encoder.encode(other[3:4])[0])


def test_a_number_of_steps_is_taken_as_it_is_and_kept_in_a_folder(tmp_path):
    X = ragged()
    encoder = tl.Rocket(n_features=100, length=17, random_state=0).fit(X)
    np.testing.assert_array_equal(encoder.encode(X), encoder.encode(X.resample(17)))
    encoder.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    assert (again.length, again.length_) == (17, 17)
    np.testing.assert_array_equal(again.encode(X), encoder.encode(X))


def test_what_is_made_of_encoders_lets_each_resample():
    X = ragged()
    metric = tl.Discriminant(ENCODERS["rocket"](length=15), random_state=0).fit(X, X.labels)
    np.testing.assert_array_equal(metric.encode(X), metric.encode(X.resample(15)))
    parts = [ENCODERS["rocket"](length=15).fit(X), tl.encode.StatisticsEncoder().fit(X)]
    both = tl.encode.combine(parts)
    np.testing.assert_array_equal(both.encode(X), np.concatenate([part.encode(X) for part in parts], axis=1))
    for model in (metric, both):
        with pytest.raises(ValueError, match=r"length=15 resamples whole sequences.*length=None"):
            model.stream()


def test_windows_are_resampled_each_by_itself():
    X = ragged()[3:4]
    encoder = tl.Rocket(n_features=60, length=9, random_state=0).fit(X)
    found = encoder.encode(X, windows=(5, 4))[0]
    expected = encoder.encode(by_hand([X[0][a : a + 5] for a in range(0, 16, 4)], 9))
    np.testing.assert_allclose(found, expected, atol=0.12)  # a value that equals a threshold may be on either side


@pytest.mark.parametrize("name", NAMES)
def test_streams_are_refused(name):
    with pytest.raises(
        ValueError, match=r"length='mean' resamples whole sequences, but the length of a stream .*\(length=None\)"
    ):
        ENCODERS[name](length="mean").fit(ragged()).stream()


def test_lengths_that_make_no_sense_are_refused():
    for value, error in ((0, ValueError), ("median", ValueError), (2.5, TypeError)):
        with pytest.raises(error, match=rf"length={value!r}"):
            tl.Rocket(length=value).fit(ragged())
        with pytest.raises(error, match=rf"length={value!r}"):
            tl.prepare.Resample(value).fit(ragged())


def test_a_graph_resamples_as_the_encoder_does(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X = ragged()
    for encoder in (tl.encode.StatisticsEncoder(length=11).fit(X), tl.encode.StatisticsEncoder(length=1).fit(X)):
        encoder.export_onnx(tmp_path / "model.onnx")
        session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
        for x in X:  # of 1 to 30 steps
            (found,) = session.run(None, {"x": np.asarray(x, np.float32)[None]})
            np.testing.assert_allclose(found, encoder.encode(np.asarray(x, np.float32)[None]), rtol=1e-3, atol=1e-3)


def test_a_preparation_learns_the_mean_length_too():
    X = ragged()
    assert tl.prepare.Resample("mean").fit(X).transform(X[:3]).lengths.tolist() == [13, 13, 13]
