"""Matrices as images: every pixel is a number that was given."""

import numpy as np
from matplotlib.figure import Figure

from timelike.draw import maps


def test_the_cost_image_holds_the_distances_of_all_steps():
    axes = Figure().subplots()
    x, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0]])
    maps.cost_image(axes, x, y)
    np.testing.assert_allclose(axes.images[0].get_array(), [[0, 4, 3], [5, 3, 4]])
    assert axes.images[0].get_extent() == [-0.5, 2.5, -0.5, 1.5]


def test_a_long_cost_image_is_thinned_out_over_the_same_extent():
    axes = Figure().subplots()
    x = np.arange(5000.0)[:, None]
    maps.cost_image(axes, x, x[:3])
    image = axes.images[0].get_array()
    assert image.shape == (600, 3)
    assert (image[0, 0], image[-1, 0]) == (0, 4999)
    assert axes.images[0].get_extent() == [-0.5, 2.5, -0.5, 4999.5]


def test_a_plan_is_as_opaque_as_its_weights():
    axes = Figure().subplots()
    maps.plan_image(axes, np.array([[0.0, 0.25], [0.5, 0.125]]))
    shade = axes.images[0].get_array()[..., 3]
    assert (shade[0, 0], shade[1, 0]) == (0, 1)
    assert shade[1, 1] < shade[0, 1] < 1
    maps.plan_image(axes, np.zeros((2, 2)))
    assert (axes.images[1].get_array()[..., 3] == 0).all()
