"""What differs between two samples: the effect, the sequences, the channels."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import timelike as tl
from timelike.distributions import RBF, TwoSample, differences, mmd

RNG = np.random.default_rng(0)
KERNEL = RBF(width=1.5)


def pair(n=25, m=20, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)), rng.standard_normal((m, 2)) + shift


def test_the_effect_is_unbiased_mmd():
    x, y = pair(shift=1.0)
    found = differences(x, y, KERNEL, random_state=0)
    assert found.effect.mean == pytest.approx(mmd(x, y, KERNEL, estimator="unbiased"))
    assert found.effect.low < found.effect.mean < found.effect.high
    assert found.sizes == (25, 20)


def test_the_interval_holds_what_it_should():
    truth = mmd(*pair(3000, 3000, 1.0, seed=99), KERNEL, estimator="unbiased")
    inside = [
        found.effect.low <= truth <= found.effect.high
        for found in (
            differences(*pair(shift=1.0, seed=s), KERNEL, n_permutations=19, random_state=s) for s in range(80)
        )
    ]
    assert np.mean(inside) > 0.85


def test_sequences_are_those_whose_witness_without_themselves_is_least():
    x, y = pair(shift=0.5)
    y[7] = [6.0, 6.0]
    found = differences(x, y, KERNEL, random_state=0)
    witness = []
    for i in range(20):
        rest = np.delete(y, i, axis=0)
        witness.append(KERNEL(y[[i]], x).mean() - KERNEL(y[[i]], rest).mean())
    order = np.argsort(witness)[:10]
    assert [one.position for one in found.sequences] == order.tolist()
    np.testing.assert_allclose([one.witness for one in found.sequences], np.array(witness)[order])


def test_the_separation_is_the_area_of_witnesses():
    x, y = pair(shift=1.0)
    found = differences(x, y, KERNEL, random_state=0)
    both = np.concatenate([x, y])
    witness = []
    for i, z in enumerate(both):
        rest_x, rest_y = np.delete(x, i, axis=0) if i < 25 else x, np.delete(y, i - 25, axis=0) if i >= 25 else y
        witness.append(KERNEL(z[None], rest_x).mean() - KERNEL(z[None], rest_y).mean())
    assert found.separation == pytest.approx(roc_auc_score(np.arange(45) < 25, witness))


def test_names_come_from_ids():
    x = tl.Sequences(RNG.standard_normal((10, 12)))
    y = tl.Sequences(RNG.standard_normal((8, 12)) * 4, ids=[f"file-{i}.csv" for i in range(8)])
    found = differences(x, y, random_state=0)
    assert {one.name for one in found.sequences} == set(y.ids.tolist())


def test_a_changed_channel_comes_first_by_its_name():
    x, y = RNG.standard_normal((2, 20, 15, 3))
    y[:, :, 2] += 3
    names = ["ax", "ay", "az"]
    found = differences(tl.Sequences(x, channel_names=names), tl.Sequences(y, channel_names=names), random_state=0)
    assert found.channels[0].name == "az"
    assert found.channels[0].p_value == pytest.approx(3 / 1000)
    said = [line for line in str(found).splitlines() if line.startswith("channels")]
    assert said[0].startswith("channels, the most changed first: az (p = 0.003)")


def test_groups_change_sides_in_channels_too():
    groups = (np.repeat(np.arange(4), 5), np.repeat(np.arange(4, 8), 5))
    offsets = np.random.default_rng(1).standard_normal((8, 1, 2)) * 3
    data = RNG.standard_normal((40, 10, 2)) + offsets[np.concatenate(groups)]
    alone = differences(data[:20], data[20:], random_state=0)
    whole = differences(data[:20], data[20:], groups=groups, random_state=0)
    assert min(one.p_value for one in whole.channels) >= 2 / 70
    assert alone.effect.half_width < whole.effect.half_width


def test_large_samples_are_thinned(monkeypatch):
    monkeypatch.setattr("timelike.distributions.kernels.base.MAX_MATRIX_ENTRIES", 400)
    x, y = pair(100, 60, shift=1.0)
    found = differences(x, y, KERNEL, random_state=0)
    assert sum(found.sizes) <= 21
    assert all(one.name == f"Y[{np.flatnonzero((y == y[int(one.name[2:-1])]).all(1))[0]}]" for one in found.sequences)


def test_html_escapes_names():
    x = tl.Sequences(RNG.standard_normal((6, 9)))
    y = tl.Sequences(RNG.standard_normal((6, 9)), ids=["<b>&", *"bcdef"])
    shown = differences(x, y, random_state=0)._repr_html_()
    assert "<b>&" not in shown
    assert "&lt;b&gt;&amp;" in shown


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_permutations": 3}, "n_permutations=3"),
        ({"kernel": "rbf"}, "kernel='rbf'"),
        ({"groups": (["a"] * 25, ["b"] * 20)}, "cannot be exchanged"),
    ],
)
def test_nonsense_is_refused_by_name(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        differences(*pair(), **given)


def test_a_test_says_when_items_are_in_both():
    x, y = pair()
    y[:3] = x[:3]
    assert any("3 of 20 items of Y are equal to items of X" in note for note in TwoSample(RBF()).test(x, y).notes)


def test_a_broken_recording_is_told_from_drift():
    x, y = pair(60, 50)
    y[7] = [30.0, 30.0]
    found = differences(x, y, KERNEL, random_state=0)
    assert [one.name for one in found.outliers] == ["Y[7]"]
    assert "unlike anything before: Y[7]" in str(found)
    given = {"n_permutations": 19, "random_state": 0}
    quiet = [len(differences(*pair(40, 40, seed=s), KERNEL, **given).outliers) for s in range(20)]
    assert np.mean(quiet) < 0.3


def test_a_group_alone_has_no_outliers_and_no_interval():
    x, y = RNG.standard_normal((6, 2)), RNG.standard_normal((9, 2))
    found = differences(x, y, KERNEL, groups=(["a"] * 6, np.repeat(["b", "c", "d"], 3)), random_state=0)
    assert not found.outliers
    assert np.isinf(found.effect.high)
    assert any("how much these vary is unknown" in note for note in found.notes)


@pytest.mark.parametrize("kernel", [tl.distributions.Linear(), RBF(width=0.7)])
def test_channels_are_tested_with_the_kernel_that_was_given(kernel):
    x, y = pair(20, 20, shift=0.4)
    found = {one.name: one for one in differences(x, y, kernel, random_state=0).channels}
    for i in range(2):
        alone = TwoSample(kernel, n_permutations=9).test(x[:, [i]], y[:, [i]])
        assert found[f"channel {i}"].effect == pytest.approx(alone.statistic)


def test_an_encoder_that_has_learned_is_not_asked_about_single_channels():
    x, y = RNG.standard_normal((2, 12, 20, 2))
    kernel = tl.distributions.EncoderKernel(tl.Rocket(n_features=50, random_state=0).fit(x), RBF())
    assert len(differences(x, y, kernel, random_state=0, n_permutations=39).channels) == 2


def test_positions_and_names_stay_right_when_samples_are_thinned(monkeypatch):
    monkeypatch.setattr("timelike.distributions.kernels.base.MAX_MATRIX_ENTRIES", 60**2)
    x, y = pair(100, 80, shift=1.0)
    found = differences(x, y, KERNEL, random_state=0)
    assert sum(found.sizes) <= 60
    assert all(one.name == f"Y[{one.position}]" for one in found.sequences)
    scarce = differences(x[:20], y, KERNEL, random_state=0)
    assert scarce.sizes[0] == 20


def test_far_from_the_origin_a_linear_effect_is_the_same():
    x, y = np.round(pair(20, 20, shift=2.0))
    near, far = (differences(x + a, y + a, tl.distributions.Linear(), random_state=0) for a in (0.0, 1e9))
    assert far.effect.mean == pytest.approx(near.effect.mean)
    assert "origin" not in far.kernel


@pytest.mark.parametrize("shared", [False, True])
def test_the_effect_is_the_statistic_of_the_test_with_groups_of_any_sizes(shared):
    x, y = pair(20, 24, shift=0.5)
    first = np.repeat([0, 1, 2, 3], [1, 9, 4, 6])
    groups = (first, np.repeat([0, 1, 2, 3], 6) if shared else np.repeat([4, 5, 6, 7, 8], [2, 8, 1, 1, 12]))
    test = TwoSample(KERNEL, n_permutations=19).test(x, y, groups=groups)
    assert differences(x, y, KERNEL, groups=groups).effect.mean == pytest.approx(test.statistic)
