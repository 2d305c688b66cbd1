"""Series moved onto other series, under elastic kernels and kernels of an encoder."""

import numpy as np
import pytest
import torch

import timelike as tl
from timelike import distributions as ds
from timelike.train import use_seed

STEPS = np.arange(12)


@pytest.fixture
def waves(rng):
    """Slow waves, and faster ones that are twice as high."""
    slow = np.sin(STEPS / 3 + rng.random((8, 1)))[..., None]
    fast = 2 * np.sin(STEPS / 2 + rng.random((6, 1)))[..., None]
    return slow, fast


def moved(start, real, kernel, **options):
    given = {"steps": 15, "step": 20.0, "record_every": 1, "progress": False} | options
    return ds.descend(start, real, kernel, **given)


def encoder():
    with use_seed(0):
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 6), torch.nn.Tanh())


@pytest.mark.parametrize("name", ["elastic", "encoder"])
def test_mmd_falls_as_series_become_those_of_the_target(waves, name):
    kernel, step = (ds.GlobalAlignment(), 20.0) if name == "elastic" else (ds.EncoderKernel(encoder(), ds.RBF()), 2.0)
    found = moved(*waves, kernel, step=step)
    assert found.score_names == ("mmd",)
    assert (np.diff(found.history["mmd"]) < 0).all()
    assert found.history["mmd"][-1] < 0.2 * found.history["mmd"][0]


def test_a_step_follows_the_gradient_of_the_witness_of_mmd(waves):
    """Against a finite difference: MMD² falls by 2/n times the square of the gradient."""
    start, real = waves
    kernel, n, step = ds.GlobalAlignment(gamma=30.0), len(waves[0]), 1e-4
    found = moved(start, real, kernel, steps=1, step=step).particles
    way = (found - start) / step
    for i, t in ((0, 0), (3, 5), (7, 11)):
        sides = []
        for sign in (1, -1):
            nudged = start.copy()
            nudged[i, t, 0] += sign * 1e-4
            sides.append(ds.mmd(nudged, real, kernel))
        assert way[i, t, 0] == pytest.approx(-(sides[0] - sides[1]) / 2e-4 * n / 2, rel=1e-5, abs=1e-9)


def test_a_kernel_that_does_not_see_a_channel_leaves_it_as_it_was(waves):
    start, real = (np.concatenate([side, side**2], axis=2) for side in waves)

    class First(torch.nn.Module):
        def forward(self, x):
            return x[:, :, 0]

    found = moved(start, real, ds.EncoderKernel(First(), ds.RBF(width=3.0)), step=5.0).particles
    np.testing.assert_array_equal(found[:, :, 1], start[:, :, 1])
    assert np.abs(found[:, :, 0] - start[:, :, 0]).max() > 0.5


def test_sequences_come_back_with_all_they_had(waves):
    start, real = waves
    times, labels = np.tile(np.arange(12.0) / 4, (8, 1)), [*"aabbccdd"]
    given = tl.Sequences(start, labels=labels, times=list(times), channel_names=["height"])
    found = moved(given, tl.Sequences(real), ds.GlobalAlignment(gamma=30.0))
    assert isinstance(found.particles, tl.Sequences)
    assert found.particles.labels.tolist() == labels
    assert found.particles.channel_names == ("height",)
    np.testing.assert_array_equal(found.particles.times, times.ravel())
    plain = moved(start, real, ds.GlobalAlignment(gamma=30.0)).particles
    np.testing.assert_array_equal(found.particles.values.reshape(8, 12, 1), plain)
    flat = moved(start[..., 0], real[..., 0], ds.GlobalAlignment(gamma=30.0)).particles
    np.testing.assert_array_equal(flat, plain[..., 0])


def test_an_elastic_kernel_moves_series_onto_longer_ones(waves):
    longer = np.concatenate([waves[1], waves[1][:, -1:]], axis=1)  # each waits at its end
    found = moved(waves[0], longer, ds.GlobalAlignment(), step=50.0)
    assert found.particles.shape == waves[0].shape
    assert found.history["mmd"][-1] < 0.5 * found.history["mmd"][0]
    with pytest.raises(ValueError, match="start has 12 time steps and real 13"):
        moved(waves[0], longer, ds.GlobalAlignment(), scores=("sinkhorn",))


def test_a_kernel_of_vectors_takes_every_series_as_one(waves):
    start, real = waves
    found = moved(start, real, ds.RBF(width=3.0), step=4.0, scores=("mmd",))
    flat = moved(start.reshape(8, 12), real.reshape(6, 12), ds.RBF(width=3.0), step=4.0, scores=("mmd",))
    np.testing.assert_array_equal(found.particles.reshape(8, 12), flat.particles)
    assert found.frames.shape[1:] == (8, 12, 1)  # and drawn as lines all the same
    assert flat.frames.shape[1:] == (8, 12)


def test_series_are_drawn_and_filmed_as_lines(waves, tmp_path):
    found = moved(*waves, ds.GlobalAlignment(), steps=3)
    lines = found.plot().subfigs[0].axes[0].get_lines()
    assert len(lines) == 14
    np.testing.assert_allclose(lines[6].get_ydata(), waves[0][0, :, 0], rtol=1e-6)
    assert found.animate(tmp_path / "series.gif").stat().st_size > 1000
    assert "svg" in found._repr_html_() or "png" in found._repr_html_()


def test_series_of_several_lengths_and_kernels_without_gradients_are_refused(waves):
    ragged = [[0.0, 1.0, 2.0], [1.0, 2.0], [3.0, 1.0, 2.0]]
    with pytest.raises(ValueError, match=r"start has sequences of 2 to 3 steps: .*resample\(length=...\)"):
        moved(ragged, waves[1], ds.GlobalAlignment())
    with pytest.raises(TypeError, match="no gradients"):
        moved(*waves, ds.ExponentialKernel("dtw"))
    missing = waves[0].copy()
    missing[2, 3] = np.nan
    with pytest.raises(ValueError, match="start"):
        moved(missing, waves[1], ds.GlobalAlignment())
