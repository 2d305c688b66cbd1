"""Videos side by side in a .gif: each in its place and its colours, in step, and a file that is whole or not there."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from timelike.plotting import animation_writer, animations, image_grids

LEVELS = np.linspace(0, 1, 6)


def frames(path):
    with Image.open(path) as picture:
        for position in range(picture.n_frames):
            picture.seek(position)
            yield np.asarray(picture.convert("RGB"), np.float64) / 255


def flat(levels, channels=1):
    """Pictures of one brightness each, or of one colour."""
    array = np.asarray(levels, float)
    return np.ones((len(array), channels, 8, 8)) * array.reshape(len(array), -1, 1, 1)


def middles(path, *places):
    """The colours of a film at places across its width, at the height of the pictures, frame after frame."""
    return np.array([[one[int(0.7 * len(one)), int(x * one.shape[1])] for x in places] for one in frames(path)])


def test_videos_move_in_step_after_the_same_past(tmp_path):
    past, truth, best = flat(LEVELS[:2]), flat(LEVELS[2:]), flat(LEVELS[2:][::-1])
    path = animations.animate_image_strips({"truth": truth, "best": best}, tmp_path / "a.gif", past=past, rate=10)
    found = middles(path, 0.25, 0.75)[..., 0]
    np.testing.assert_allclose(found[:, 0], LEVELS, atol=0.01)
    np.testing.assert_allclose(found[:, 1], [*LEVELS[:2], *LEVELS[2:][::-1]], atol=0.01)
    assert [one.name for one in tmp_path.iterdir()] == ["a.gif"]
    with Image.open(path) as picture:
        assert picture.info["duration"] == 100


def test_of_a_long_past_the_last_ten_frames_are_shown(tmp_path):
    path = animations.animate_image_strips({"a": flat([1.0])}, tmp_path / "a.gif", past=flat(np.arange(20) / 20))
    np.testing.assert_allclose(middles(path, 0.5)[:, 0, 0], [*(np.arange(10, 20) / 20), 1.0], atol=0.01)


def test_frames_in_between_come_where_others_wait(tmp_path):
    """Of the truth there are frames at whole steps only: it shows the last one that was there."""
    truth, fine = flat([0.4, 0.8]), flat([0.2, 0.4, 0.6, 0.8])
    path = animations.animate_image_strips(
        {"truth": truth, "fine": fine}, tmp_path / "a.gif", past=flat([0.0]), between=2, rate=8
    )
    found = middles(path, 0.25, 0.75)[..., 0]
    np.testing.assert_allclose(found[:, 0], [0, 0, 0.4, 0.4, 0.8], atol=0.01)
    np.testing.assert_allclose(found[:, 1], [0, 0.2, 0.4, 0.6, 0.8], atol=0.01)
    with Image.open(path) as picture:  # a step of the past takes as long as one of the future: equal frames are one
        assert picture.info["duration"] == 2 * 125
    alone = animations.animate_image_strips({"truth": truth, "fine": fine}, tmp_path / "b.gif", between=2)
    np.testing.assert_allclose(middles(alone, 0.25)[:, 0, 0], [0.4, 0.4, 0.4, 0.8], atol=0.01)


def share(picture, color):
    return (np.abs(picture - np.array(to_rgb(color))).max(axis=2) < 0.02).mean()


def test_the_frame_is_grey_in_the_past_and_coloured_in_the_future(tmp_path):
    path = animations.animate_image_strips({"a": flat([0.0, 0.0])}, tmp_path / "a.gif", past=flat([0.0]))
    first, second, third = frames(path)
    assert share(first, image_grids.FUTURE) == 0 < share(first, image_grids.PAST)
    assert share(second, image_grids.FUTURE) == share(third, image_grids.FUTURE) > 0.005


def test_colours_are_those_of_the_pictures_and_paper_is_white(tmp_path):
    colours = [[0.9, 0.1, 0.1], [0.1, 0.9, 0.2], [0.3, 0.2, 0.95]]
    path = animations.animate_sequences({"a": flat(colours, 3), "b": flat(colours[::-1], 3)}, tmp_path / "a.gif")
    found = middles(path, 0.25, 0.75)
    np.testing.assert_allclose(found[:, 0], colours, atol=0.02)
    np.testing.assert_allclose(found[:, 1], colours[::-1], atol=0.02)
    for one in frames(path):
        assert (one[0] == 1).all()
        assert (one[-1] == 1).all()


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        (3, TypeError, "path=3: expected the path of a .gif or .mp4"),
        (None, TypeError, "path=None: expected the path of a .gif or .mp4"),
        (b"a.gif", TypeError, "path=b'a.gif': expected the path of a .gif or .mp4 file, as text"),
        ("b\0.gif", ValueError, "has a NUL in it"),
        ("folder.gif", IsADirectoryError, "folder.gif' is a folder"),
        ("x" * 300 + ".gif", OSError, "x.gif': no file can be written there .*name"),
    ],
)
def test_where_no_file_can_be_is_said_before_anything_is_drawn(path, kind, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.gif").mkdir()
    monkeypatch.setattr(animations, "make_grid", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(kind, match=words):
        animations.animate_image_strips({"a": flat(LEVELS)}, path)
    assert [one.name for one in tmp_path.iterdir()] == ["folder.gif"]


@pytest.mark.parametrize("kind", [PermissionError, OSError])
def test_a_folder_that_cannot_be_written_to_is_named_by_the_path_that_was_given(kind, tmp_path, monkeypatch):
    def refuse(part, exist_ok):
        raise kind(13 if kind is PermissionError else 30, "not here", str(part))

    monkeypatch.setattr(animation_writer.Path, "touch", refuse)
    with pytest.raises(kind, match=r"path='.*a\.gif': no file can be written there \(not here\)") as caught:
        animations.animate_image_strips({"a": flat(LEVELS)}, tmp_path / "a.gif")
    assert type(caught.value) is kind
    assert ".part" not in str(caught.value)


@pytest.mark.parametrize("rate", [0.001, 1e9, np.inf])
def test_a_rate_that_nobody_can_see_is_refused(rate, tmp_path):
    with pytest.raises(ValueError, match="rate=.*: expected a number of frames a second, from 0.01 to 1000"):
        animations.animate_image_strips({"a": flat(LEVELS)}, tmp_path / "a.gif", rate=rate)
    with Image.open(animations.animate_image_strips({"a": flat(LEVELS)}, tmp_path / "a.gif", rate=0.01)) as picture:
        assert picture.info["duration"] == 100_000


def test_a_file_that_cannot_take_its_place_is_named_as_it_was_asked_for(tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device", str(source), None, str(target))

    monkeypatch.setattr(animation_writer.os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.gif'$") as caught:
        animations.animate_image_strips({"a": flat(LEVELS)}, tmp_path / "a.gif")
    assert caught.value.filename == str(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_in_a_grid_of_swaps_everything_moves_but_the_contents(tmp_path):
    contents, motions = flat([0.2, 0.7]), flat(LEVELS).reshape(2, 3, 1, 8, 8)
    swapped = np.concatenate([flat(LEVELS[::-1]), flat(LEVELS)]).reshape(2, 2, 3, 1, 8, 8)
    path = animations.animate_swaps(contents, motions, swapped, tmp_path / "a.gif")
    pictures_seen = list(frames(path))
    assert len(pictures_seen) == 3
    height, width = pictures_seen[0].shape[:2]
    for step, one in enumerate(pictures_seen):
        left, middle, right = (int(x * width) for x in (0.18, 0.52, 0.84))
        above, upper, lower = (int(y * height) for y in (0.25, 0.58, 0.86))
        assert one[upper, left, 0] == pytest.approx(0.2, abs=0.01)
        assert one[lower, left, 0] == pytest.approx(0.7, abs=0.01)
        for column, x in enumerate((middle, right)):
            assert one[above, x, 0] == pytest.approx(motions[column, step, 0, 0, 0], abs=0.01)
            assert one[upper, x, 0] == pytest.approx(swapped[0, column, step, 0, 0, 0], abs=0.01)
            assert one[lower, x, 0] == pytest.approx(swapped[1, column, step, 0, 0, 0], abs=0.01)


def test_a_film_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    for write in (
        lambda path: animations.animate_image_strips({"a": flat(LEVELS)}, path),
        lambda path: animations.animate_sequences({"a": flat(LEVELS)}, path),
        lambda path: animations.animate_swaps(flat([0.1]), flat(LEVELS)[None], flat(LEVELS)[None, None], path),
    ):
        with pytest.raises(ValueError, match=r"expected \.gif or \.mp4"):
            write(tmp_path / "a.avi")
        with pytest.raises(FileNotFoundError, match="does not exist"):
            write(tmp_path / "nowhere" / "a.gif")
        with monkeypatch.context() as patch:
            patch.setattr(animation_writer, "_make_quantizer", lambda colors: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                write(tmp_path / "a.gif")
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="expected one length and one size"):
        animations.animate_sequences({"a": flat(LEVELS), "b": flat(LEVELS[:3])}, tmp_path / "a.gif")
    with pytest.raises(ValueError, match="rows have the lengths"):
        animations.animate_image_strips({"a": flat(LEVELS), "b": flat(LEVELS[:4])}, tmp_path / "a.gif")
