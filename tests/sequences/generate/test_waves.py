"""The waves of the thesis: a border that stays 0, a disc of 69 pixels, the steps of Runge and Kutta."""

import numpy as np
import pytest

from naive import waves as naive
from timelike.sequences import generate
from timelike.sequences.generate import fields


def fixed(n=1, length=20, **options):
    return generate.waves(n, length, **{"border": "fixed", "normalize": False, "random_state": 0} | options)


def doubles(c, *, size, length, radius=5.0, substeps=2, decay=0.05, interval=0.002):
    """The frames in float64, before they are kept in float32."""
    basis, laplacian = fields._fixed_modes(size)
    omega = c * np.sqrt(-np.add.outer(laplacian, laplacian))
    swings = fields._stepped_amplitudes(omega, interval / substeps, decay, length, substeps)
    return basis.T @ ((basis @ fields._source_disc(size, radius, "fixed") @ basis.T) * swings) @ basis


@pytest.mark.parametrize(("size", "radius", "substeps"), [(5, 5.0, 1), (6, 1.0, 2), (9, 2.0, 3), (14, 5.0, 2)])
def test_all_steps_at_once_are_the_steps_one_by_one(size, radius, substeps):
    how = {"size": size, "length": 16, "radius": radius, "substeps": substeps}
    reference = np.array(naive.wave(400.0, 1.0, interval=0.002, decay=0.05, **how))
    assert np.abs(reference).max() > 0
    np.testing.assert_allclose(doubles(400.0, **how), reference, rtol=0, atol=1e-10 * np.abs(reference).max())
    made = fixed(16, 16, size=size, radius=radius, substeps=substeps, celerity=400.0, amplitude=(1.0, 30.0))
    for video, f in zip(made.sequences, made.amplitude, strict=True):
        np.testing.assert_allclose(video[:, 0], f * reference, rtol=0, atol=1e-6 * f * np.abs(reference).max())


def test_two_rows_and_columns_at_each_border_are_exactly_0_and_the_third_is_not():
    video = fixed(1, 150, size=24).sequences[0][:, 0]
    inside = np.zeros((24, 24), bool)
    inside[2:-2, 2:-2] = True
    assert (video[:, ~inside] == 0).all()
    assert (np.abs(video[:, inside]).max(axis=0) > 0).all()


def test_the_source_is_a_disc_of_69_pixels_where_the_mirrored_fields_have_81():
    assert fields._source_disc(64, 5.0, "fixed").sum() == len(naive.disc(64, 5.0)) == 69
    assert fields._source_disc(64, 5.0, "free").sum() == fields._source_disc(64, 5.0, "odd").sum() == 81
    pushed = fixed(1, 2, size=64, interval=1e-6).sequences[0][1, 0]  # before anything has moved on
    assert {tuple(cell) for cell in np.argwhere(pushed > 0.5 * pushed.max())} == naive.disc(64, 5.0)


def test_a_field_is_proportional_to_its_source():
    quiet, loud = (fixed(2, 30, size=20, celerity=350.0, amplitude=f).sequences.values for f in (1.0, 16.0))
    np.testing.assert_array_equal(loud, 16 * quiet)  # by a power of two, so without any rounding


def test_shorter_steps_come_nearer_to_the_exact_solution_by_the_fourth_power():
    basis, laplacian = fields._fixed_modes(16)
    omega = 350.0 * np.sqrt(-np.add.outer(laplacian, laplacian))
    swings = fields._exact_amplitudes(omega, 0.002 * np.arange(40), 0.05)
    exact = basis.T @ ((basis @ fields._source_disc(16, 5.0, "fixed") @ basis.T) * swings) @ basis
    errors = [np.abs(doubles(350.0, size=16, length=40, substeps=k) - exact).max() for k in (8, 16, 32)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 16, rtol=0.05)


def test_steps_that_are_too_long_are_refused_and_those_that_are_just_short_enough_stay_bounded():
    with pytest.raises(ValueError, match=r"substeps=2 of 0\.001 are too long .* use substeps >= 3") as caught:
        fixed(size=64, celerity=1200.0)
    assert 'border="odd"' in str(caught.value)
    fast = fixed(1, 3000, size=12, celerity=1200.0, substeps=3).sequences.values
    assert np.abs(fast).max() < 1
    assert fixed(size=64, celerity=1200.0, border="odd").sequences.shape == (1, 20, 1, 64, 64)


def test_borders_make_different_data_of_the_same_draw():
    made = {b: generate.waves(2, 150, size=64, border=b, random_state=3) for b in ("free", "fixed", "odd")}
    assert len({tuple(one.celerity) for one in made.values()}) == 1
    fixed, free, odd = (made[b].sequences[0].ravel() for b in ("fixed", "free", "odd"))
    assert np.corrcoef(fixed, free)[0, 1] < -0.1  # an echo that is not turned upside down
    assert 0.9 < np.corrcoef(fixed, odd)[0, 1] < 0.99  # one that comes back a little later


def test_every_chunk_of_every_sequence_is_reachable():
    sequences = fixed(3, 150, size=8, pixels=4).sequences
    chunks = sequences.windows(45)
    assert len(chunks) == 3 * 106
    np.testing.assert_array_equal(chunks[0], sequences[0][:45])
    np.testing.assert_array_equal(chunks[105], sequences[0][105:])
    np.testing.assert_array_equal(chunks[3 * 106 - 1], sequences[2][105:])
