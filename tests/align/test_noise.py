"""Distances against noise: the means of plain loops, what is told apart, and the figure."""

import numpy as np
import pytest

import timelike as tl
from naive import noise as naive

LEVELS = [0.0, 0.5, 3.0]


def steps(seed=0):
    """Two classes, of different lengths."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, 2)) + 2 * (i % 2) for i, n in enumerate((5, 7, 6, 5, 8))], np.arange(5) % 2


class Later(tl.align.Metric):
    """Not symmetric: how much higher the mean of y is than that of x, and further below 0 the other way round."""

    symmetric = False

    def _fill_matrix(self, x, y, out, threads, report):
        first, second = ([s.mean() for s in side.to_list()] for side in (x, x if y is None else y))
        apart = np.subtract.outer(second, first).T
        out[:] = np.where(apart < 0, 3 * apart, apart)


@pytest.mark.parametrize("metric", [tl.DTW(window=4), tl.TWE(), Later()], ids=["dtw", "twe", "asymmetric"])
def test_the_curves_are_the_means_of_a_plain_loop(metric):
    sequences, labels = steps()
    expected = naive.curves(metric, sequences, labels, LEVELS, 2, np.random.default_rng(3))
    found = metric.noise_curve(sequences, labels, levels=LEVELS, n_repeats=2, random_state=3)
    np.testing.assert_array_equal(found.levels, LEVELS)
    for name, curve in expected.items():
        np.testing.assert_allclose(getattr(found, name), curve, rtol=1e-12)
    np.testing.assert_allclose(found.margin, (expected["negative"] - expected["positive"]).mean(0), rtol=1e-9)


@pytest.mark.learn
def test_a_learned_metric_has_it_too():
    sequences, labels = steps()
    metric = tl.CoupledGRU(hidden=3, trainer=tl.Trainer(max_epochs=1), random_state=0).fit(
        sequences * 3, np.tile(labels, 3)
    )
    found = metric.noise_curve(sequences, labels, levels=LEVELS, random_state=3)
    expected = naive.curves(metric, sequences, labels, LEVELS, 1, np.random.default_rng(3))
    np.testing.assert_allclose(found.positive, expected["positive"], rtol=1e-5)


def test_noise_of_a_plain_distance_grows_as_its_formula_says():
    # Σ (σ ε − σ ε')² has the mean 2 T σ², and so has its mean over many pairs of equal sequences
    X = np.zeros((60, 30))
    found = tl.Euclidean().noise_curve(X, levels=[1.0, 2.0], n_repeats=3, random_state=0)
    np.testing.assert_allclose(found.all_pairs.mean(0), np.sqrt(2 * 30) * np.array([1, 2]), rtol=0.03)


def test_labels_are_those_of_the_sequences_unless_others_are_given():
    sequences, labels = steps()
    X = tl.Sequences(sequences, labels=labels)
    how = {"levels": LEVELS, "random_state": 0}
    np.testing.assert_array_equal(
        tl.DTW().noise_curve(X, **how).positive, tl.DTW().noise_curve(sequences, labels, **how).positive
    )
    alone = tl.DTW().noise_curve(sequences, **how)
    assert alone.positive is alone.negative is alone.margin is None
    assert list(alone.curves) == ["all pairs"]
    assert tl.DTW().noise_curve(sequences, [0] * 5, **how).negative is None
    assert tl.DTW().noise_curve(sequences, list("abcde"), **how).positive is None


def test_times_stay_and_the_dtype_is_that_of_the_distances():
    seen = []

    class Watching(Later):
        def _fill_matrix(self, x, y, out, threads, report):
            seen.append((x.values.dtype, x.times, out.dtype))
            super()._fill_matrix(x, y, out, threads, report)

    clock = [np.array([0.0, 1.0, 5.0]), np.array([0.0, 2.0])]
    for dtype, expected in ((np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)):
        X = tl.Sequences([np.zeros(3, dtype), np.ones(2, dtype)], times=clock)
        Watching().noise_curve(X, levels=[1.0], random_state=0)
        assert seen[-1][0] == seen[-1][2] == expected
        np.testing.assert_array_equal(seen[-1][1], np.concatenate(clock))


def test_the_curve_draws_itself_and_says_the_margin():
    sequences, labels = steps()
    found = tl.DTW().noise_curve(sequences, labels, levels=LEVELS, n_repeats=2, random_state=0)
    (axes,) = found.plot().axes
    assert [line.get_label() for line in axes.lines] == ["positive", "negative"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), found.positive.mean(0))
    assert "<svg" in found._repr_html_()
    assert f"margin {found.margin[0]:.4g} to {found.margin[-1]:.4g}" in repr(found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"levels": [0.1, -1.0]}, r"levels\[1\]=-1.0: expected a finite number at least 0"),
        ({"levels": []}, r"levels has shape \(0,\)"),
        ({"levels": [1e308]}, "makes values infinite"),
        ({"n_repeats": 0}, "n_repeats=0: expected at least 1"),
        ({"X": [[1.0, 2.0]]}, "X holds 1 sequences: expected two or more"),
        ({"y": [0, 1]}, "y has shape"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, "missing"),
    ],
)
def test_wrong_arguments_are_named(changed, said):
    given = {"X": steps()[0], "random_state": 0} | changed
    with pytest.raises(ValueError, match=said):
        tl.DTW().noise_curve(**given)
