"""Particles on their way: panels and films of points, numbers and series, in the colours of both samples."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from timelike.plotting import particles as drawing
from timelike.plotting.style import COLORS

MOVING = to_rgb(COLORS[1])


def places(path):
    """The middle of what has the particles' colour, in pixels (right, down), frame after frame."""
    with Image.open(path) as picture:
        for position in range(picture.n_frames):
            picture.seek(position)
            pixels = np.asarray(picture.convert("RGB"), np.float64) / 255
            rows, columns = np.nonzero(np.abs(pixels - MOVING).max(axis=2) < 0.25)
            yield columns.mean(), rows.mean()


def test_a_film_shows_particles_where_they_are(tmp_path):
    """From the left to the right of their target, and upwards."""
    real = np.array([[0.0, 0.0], [0.0, 1.0]])
    frames = np.stack([real + x for x in (-2.0, 0.0, 2.0)])
    path = drawing.animate_particles(frames, ["a", "b", "c"], real, tmp_path / "flow.gif", rate=5)
    right, down = np.transpose(list(places(path)))
    assert (np.diff(right) > 50).all()
    assert (np.diff(down) < -50).all()
    assert np.diff(right) == pytest.approx(-np.diff(down), rel=0.1)  # as long to the right as upwards
    assert [one.name for one in tmp_path.iterdir()] == ["flow.gif"]


def test_flows_move_side_by_side_in_one_scale(tmp_path):
    """One stays at the left of its target, the other jumps from there onto it."""
    real = np.array([[0.0, 0.0], [0.0, 1.0]])
    still = np.stack([real - [2.0, 0.0]] * 2)
    flows = {"still": still, "jumps": np.stack([still[0], real])}
    path = drawing.animate_flows(flows, ["a", "b"], real, tmp_path / "flows.gif", rate=5)
    (before, _), (after, _) = places(path)
    with Image.open(path) as picture:
        assert (picture.n_frames, picture.width) == (2, 520)
    assert 20 < after - before < 130  # the middle of both: half of what one of them has moved in its panel


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (5, 7), (5, 6, 1), (5, 6, 2)])
def test_items_of_any_kind_are_drawn_at_several_moments(shape, tmp_path):
    rng = np.random.default_rng(0)
    real, shown = rng.standard_normal((4, *shape[1:])), rng.standard_normal((3, *shape))
    curves = {"mmd": (np.arange(3), np.array([1.0, 0.1, 0.0])), "sinkhorn": (np.arange(3), np.array([1.0, 0.1, 0.01]))}
    figure = drawing.plot_particles({f"moment {i}": one for i, one in enumerate(shown)}, real, curves)
    first, *others = [axes for part in figure.subfigs for axes in part.axes]
    assert [axes.get_title() for axes in (first, *others[:2])] == ["moment 0", "moment 1", "moment 2"]
    assert [axes.get_yscale() for axes in others[-2:]] == ["linear", "log"]  # a logarithm of 0 there is none
    assert first.get_xlim() == others[0].get_xlim()
    figure.savefig(tmp_path / "moments.png")
    assert drawing.animate_particles(shown, ["1", "2", "3"], real, tmp_path / "film.gif").exists()


def test_vectors_of_many_numbers_are_shown_where_the_target_varies_most():
    real = np.zeros((6, 5))
    real[:, 3], real[:, 1] = [-5, 5, -5, 5, -5, 5], [-1, -1, 0, 0, 1, 1]
    figure = drawing.plot_particles({"start": real + 10 * np.eye(5)[0]}, real, {})
    target, moving = (np.asarray(one.get_offsets()) for one in figure.axes[0].collections)
    np.testing.assert_allclose(np.abs(target), np.abs(real[:, [3, 1]]), atol=1e-12)
    np.testing.assert_allclose(moving, target, atol=1e-12)  # what the target does not vary in is not seen


def test_particles_that_all_coincide_have_a_place():
    figure = drawing.plot_particles({"start": np.zeros((3, 2))}, np.zeros((3, 2)), {})
    low, high = figure.axes[0].get_xlim()
    assert low < 0 < high


def test_numbers_along_the_way_have_a_panel_each():
    figure = drawing.plot_measures({"a": (np.arange(3), np.arange(3.0)), "b": (np.arange(100), np.arange(1.0, 101))})
    assert [axes.get_ylabel() for axes in figure.axes] == ["a", "b"]
    assert len(drawing.plot_measures({}).axes) == 0
