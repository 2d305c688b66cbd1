"""One recording where several are expected, and channels in another order: nothing is answered for something else."""

import numpy as np
import pytest

import timelike as tl

RNG = np.random.default_rng(0)
THREE = tl.Sequences([RNG.normal(size=(n, 3)) for n in (20, 25, 30)], labels=list("aba"), channel_names=["x", "y", "z"])
ONE = THREE["x"]

VERBS = {
    "neighbors": lambda data, given: tl.DTW().neighbors(data, given),
    "predict": lambda data, given: tl.Neighbors().fit(data, data.labels).predict(given),
    "encode": lambda data, given: tl.encode.StatisticsEncoder().fit(data).encode(given),
    "transform": lambda data, given: tl.prepare.Standardize().fit(data).transform(given),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("data", [THREE, ONE], ids=["three channels", "one channel"])
def test_one_recording_is_refused_with_the_way_to_give_it(verb, data):
    with pytest.raises(ValueError, match=r"one sequence.* is s\[:1\], or \[x\]"):
        VERBS[verb](data, data[0])
    VERBS[verb](data, data[:1])
    VERBS[verb](data, [data[0]])


def test_sequences_of_one_step_are_taken_where_they_are_meant():
    points = tl.Sequences([[1.0], [2.0], [5.0]])
    assert tl.DTW().neighbors(points, np.array([[5.0], [1.1]])).ids.ravel().tolist() == [2, 0]
    assert tl.DTW().neighbors(ONE, tl.Sequences(np.array([[5.0], [1.1]]))).ids.shape == (2, 1)
    model = tl.Neighbors().fit(points, list("abc"))
    assert model.predict(np.array([[5.0], [1.1]])).tolist() == ["c", "a"]


def test_channels_in_another_order_are_not_compared():
    turned = THREE.channels(["z", "y", "x"])
    wanted = r"channels \(z, y, x\) and X \(x, y, z\): expected one order; .*queries.channels\(\['x', 'y', 'z'\]\)"
    with pytest.raises(ValueError, match=wanted):
        tl.DTW().neighbors(THREE, turned)
    with pytest.raises(ValueError, match="expected one order"):
        tl.DTW().pairwise(THREE, turned)
    with pytest.raises(ValueError, match="expected one order"):
        tl.Neighbors().fit(THREE, THREE.labels).predict(turned)


def test_channels_of_other_names_are_compared():
    assert tl.DTW().pairwise(THREE["x"], THREE["y"]).shape == (3, 3)
    assert tl.DTW().pairwise(THREE, THREE.replace(channel_names=None)).diagonal().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "model", [tl.prepare.Standardize(), tl.encode.StatisticsEncoder(), tl.Rocket(random_state=0)], ids=repr
)
def test_models_know_the_order_of_their_channels_also_when_they_were_saved(model, tmp_path):
    model.fit(THREE)
    tl.save_model(model, tmp_path / "model")
    turned = THREE.channels(["z", "y", "x"])
    for one in (model, tl.load_model(tmp_path / "model")):
        with pytest.raises(ValueError, match=r"X has channels \(z, y, x\) and what it was fitted on \(x, y, z\)"):
            one.transform(turned)
        one.transform(turned.channels(["x", "y", "z"]))
        one.transform(turned.replace(channel_names=None))
    model.fit(THREE.replace(channel_names=None)).transform(turned)
