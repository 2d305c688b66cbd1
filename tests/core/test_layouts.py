"""Single images and vectors as sequences of one frame: shapes, memory and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import timelike as tl

RNG = np.random.default_rng(0)
IMAGES = RNG.random((5, 3, 8, 6))
VECTORS = RNG.random((5, 7))


def test_an_image_is_a_sequence_of_one_frame() -> None:
    for images in (IMAGES, list(IMAGES), IMAGES.tolist()):
        found = tl.Sequences(images, layout="nchw")
        assert found.frame == (3, 8, 6)
        np.testing.assert_array_equal(found.lengths, np.ones(5))
        np.testing.assert_array_equal(found[2][0], IMAGES[2])


def test_an_image_without_channels_has_one() -> None:
    for images in (IMAGES[:, 0], list(IMAGES[:, 0])):
        found = tl.Sequences(images, layout="nchw")
        assert found.frame == (1, 8, 6)
        np.testing.assert_array_equal(found[4][0, 0], IMAGES[4, 0])


def test_a_vector_is_a_sequence_of_one_frame() -> None:
    for vectors in (VECTORS, list(VECTORS)):
        found = tl.Sequences(vectors, layout="nc", labels=list("abcde"))
        assert found.shape == (5, 1, 7)
        np.testing.assert_array_equal(found.values, VECTORS)
    assert tl.Sequences(VECTORS).shape == (5, 7, 1)  # as ever: a series of seven steps


def test_no_number_is_copied() -> None:
    for block, layout in ((IMAGES, "nchw"), (IMAGES[1:, 0].copy(), "nchw"), (VECTORS, "nc")):
        assert np.shares_memory(tl.Sequences(block, layout=layout).values, block)


@pytest.mark.learn
def test_torch_tensors_of_images_are_taken() -> None:
    import torch

    found = tl.Sequences(torch.tensor(IMAGES, dtype=torch.float32), layout="nchw")
    assert found.frame == (3, 8, 6)
    assert found.dtype == np.float32


def test_one_frame_survives_saving_and_selecting(tmp_path) -> None:
    images = tl.Sequences(IMAGES, layout="nchw", labels=[0, 1, 0, 1, 0])
    images.save(tmp_path / "images.npz")
    assert tl.load(tmp_path / "images.npz").equals(images)
    np.testing.assert_array_equal(images[[3, 1]].values, IMAGES[[3, 1]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.Sequences(IMAGES, layout="nc"), ValueError,
         r'data has shape \(5, 3, 8, 6\): layout="nc" expected \(item, channel\); series .* are layout="ntc"'),
        (lambda: tl.Sequences(VECTORS, layout="nchw"), ValueError,
         r'layout="nchw" expected \(item, channel, height, width\) or \(item, height, width\)'),
        (lambda: tl.Sequences(IMAGES[:, :, None], layout="nchw"), ValueError, r"\(5, 3, 1, 8, 6\): layout=\"nchw\""),
        (lambda: tl.Sequences(np.zeros(3), layout="nc"), ValueError, r"data has shape \(3,\): layout=\"nc\" expected"),
        (lambda: tl.Sequences(np.array(3.0), layout="nc"), ValueError, r"data has shape \(\)"),
        (lambda: tl.Sequences([1.0, 2.0], layout="nc"), ValueError, r"data\[0\] has shape \(\).*expected \(channel\)"),
        (lambda: tl.Sequences(np.zeros((0, 3)), layout="nc"), ValueError, "data is empty"),
        (lambda: tl.Sequences(np.zeros((3, 0)), layout="nc"), ValueError, "at least one channel"),
        (lambda: tl.Sequences(np.zeros((3, 1, 0, 2)), layout="nchw"), ValueError, "empty frame"),
        (lambda: tl.Sequences([np.zeros((4, 4)), np.zeros((5, 4))], layout="nchw"), ValueError,
         r"data\[1\] has frames of shape \(1, 5, 4\) but data\[0\] has \(1, 4, 4\).*size; resize or crop"),
        (lambda: tl.Sequences(tl.Sequences(VECTORS), layout="nc"), ValueError,
         'layout="nc" is for arrays, and data are Sequences.*give the array'),
        (lambda: tl.Sequences(VECTORS, layout="nhwc"), ValueError,
         r'layout=\'nhwc\': expected "ntc" .*"nc" vectors .* or "nchw" images \(item, channel, height, width\)'),
        (lambda: tl.Sequences(VECTORS, layout=["nc"]), ValueError, "layout="),
        (lambda: tl.Sequences(VECTORS, layout="nc").to_list(layout="nc"), ValueError, "layout='nc'"),
        pytest.param(lambda: tl.encode.FrameEncoder().fit(IMAGES), ValueError,
                     r"frames of shape \(8, 6\).*layout=\"nchw\"", marks=pytest.mark.learn),
    ],
)  # fmt: skip
def test_what_is_no_image_or_vector_is_refused_in_words(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_table_of_vectors_says_how_to_give_it() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r'to_numpy\(\), layout="nc"'):
        tl.Sequences(pandas.DataFrame(VECTORS), layout="nc")
