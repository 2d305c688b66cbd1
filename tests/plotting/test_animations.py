"""Moving pictures: as many frames as steps, the colours of the numbers, and a file that is whole or not there."""

import itertools
import stat
import sys

import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image

import timelike as tl
from timelike.plotting import animations

RNG = np.random.default_rng(0)
PAST, FUTURE, TRUTH = (RNG.uniform(size=(n, 4, 6)) for n in (3, 5, 5))


def frames(path):
    with Image.open(path) as picture:
        for position in range(picture.n_frames):
            picture.seek(position)
            yield np.asarray(picture.convert("RGB"), np.float64) / 255


def test_every_frame_of_the_past_and_the_future_is_shown_in_turn(tmp_path):
    path = animations.animate_frames(PAST, FUTURE, tmp_path / "a.gif", rate=10)
    assert path == tmp_path / "a.gif"
    pictures = list(frames(path))
    assert len(pictures) == 8
    assert not any(np.array_equal(a, b) for a, b in itertools.pairwise(pictures))
    with Image.open(path) as picture:
        assert picture.info["duration"] == 100
        assert picture.info["loop"] == 0  # for ever
    assert list(tmp_path.iterdir()) == [path]


def test_colours_mean_the_same_numbers_in_all_frames(tmp_path):
    """A field of one number a frame: its colour is that of the number between the smallest and the largest of all."""
    levels = np.linspace(0, 1, 6)
    flat = np.ones((6, 8, 8)) * levels[:, None, None]
    pictures = list(frames(animations.animate_frames(flat[:2], flat[2:], str(tmp_path / "a.gif"))))
    expected = colormaps["viridis"](levels)[:, :3]
    found = [picture[picture.shape[0] // 2, picture.shape[1] // 3] for picture in pictures]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_truth_and_difference_stand_beside_the_forecast(tmp_path):
    alone = next(frames(animations.animate_frames(PAST, FUTURE, tmp_path / "a.gif")))
    path = animations.animate_frames(PAST, FUTURE, tmp_path / "b.gif", truth=TRUTH)
    beside = next(frames(path))
    assert beside.shape[1] > 2 * alone.shape[1]
    assert len(list(frames(path))) == 8


def test_land_and_constant_fields_are_shown(tmp_path):
    past, future = np.zeros((1, 3, 3)), np.zeros((2, 3, 3), np.uint8)
    future[1] = 1
    masked = np.where(np.eye(3) > 0, np.nan, past)
    assert len(list(frames(animations.animate_frames(masked, future, tmp_path / "a.gif", truth=future)))) == 3


def test_lines_grow_a_step_at_a_time_and_long_ones_by_several(tmp_path, monkeypatch):
    x = np.sin(np.arange(60) / 4)
    assert len(list(frames(animations.animate_line(x[:50], x[50:], tmp_path / "a.gif", truth=x[50:] + 0.1)))) == 11
    pictures = list(frames(animations.animate_line(x[:50], x[50:], tmp_path / "b.gif")))
    orange = [(np.abs(picture - np.array([0xD5, 0x5E, 0x00]) / 255).max(axis=2) < 0.1).sum() for picture in pictures]
    assert all(a < b for a, b in itertools.pairwise(orange))
    monkeypatch.setattr(animations, "_PICTURES", 5)
    path = animations.animate_line(x[:1], x[1:], tmp_path / "c.gif", rate=1000)
    assert len(list(frames(path))) == 6
    with Image.open(path) as picture:
        assert picture.info["duration"] == 20


@pytest.mark.parametrize("name", ["a.avi", "a", "gif", "a.gif.txt"])
def test_another_ending_is_refused_by_the_name_of_the_path(name, tmp_path):
    for write, past, future in (
        (animations.animate_frames, PAST, FUTURE),
        (animations.animate_line, PAST[:, 0, 0], FUTURE[:, 0, 0]),
    ):
        with pytest.raises(ValueError, match=r"path='.*' ends in '.*': expected \.gif or \.mp4"):
            write(past, future, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "a.gif"
    for rate in (0, -1, float("nan"), float("inf"), "8", None, True):
        with pytest.raises(ValueError, match="rate="):
            animations.animate_frames(PAST, FUTURE, path, rate=rate)
    with pytest.raises(ValueError, match=r"truth has shape \(4, 4, 6\): expected \(5, 4, 6\)"):
        animations.animate_frames(PAST, FUTURE, path, truth=TRUTH[1:])
    with pytest.raises(ValueError, match=r"past has shape \(3, 4\), future \(5, 4, 6\)"):
        animations.animate_frames(PAST[:, :, 0], FUTURE, path)
    with pytest.raises(ValueError, match=r"past has shape \(3, 4, 6\), future \(5, 4, 6\)"):
        animations.animate_line(PAST, FUTURE, path)
    with pytest.raises(FileNotFoundError, match="missing does not exist"):
        animations.animate_frames(PAST, FUTURE, tmp_path / "missing" / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_fails_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    path = animations.animate_frames(PAST, FUTURE, tmp_path / "a.gif")
    before = path.read_bytes()
    calls = []

    def failing(*_args, **_more):
        calls.append(1)
        if len(calls) > 3:
            raise OSError("the disk is full")
        return real(*_args, **_more)

    real = Image.fromarray
    monkeypatch.setattr(Image, "fromarray", failing)
    with pytest.raises(OSError, match="the disk is full"):
        animations.animate_frames(PAST, TRUTH, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_ffmpeg_an_mp4_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(RuntimeError, match=r"a\.mp4 needs the program ffmpeg.*timelike\[video\].*save a \.gif"):
        animations.animate_frames(PAST, FUTURE, tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_without_ffmpeg_an_mp4_is_written_by_pyav(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    film, gif = (
        animations.animate_frames(PAST, FUTURE, tmp_path / f"a{ending}", rate=12.5) for ending in (".mp4", ".gif")
    )
    X, same = tl.load(film), tl.load(gif)
    assert X.lengths.tolist() == [len(PAST) + len(FUTURE)]
    np.testing.assert_allclose(X.times, np.arange(len(PAST) + len(FUTURE)) / 12.5, rtol=1e-9)
    height, width = X.frame[1:]
    assert np.abs(X[0] - same[0][..., :height, :width]).mean() < 0.03


FFMPEG = """#!{python}
import pathlib, sys
size = len(sys.stdin.buffer.read())
pathlib.Path(sys.argv[-1]).write_text(" ".join([str(size), *sys.argv[1:-1]]))
sys.exit({code})
"""


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """A program of that name that counts the bytes it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def install(code):
        program = folder / "ffmpeg"
        program.write_text(FFMPEG.format(python=sys.executable, code=code))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", str(folder))
    return install


def test_an_mp4_is_all_frames_given_to_ffmpeg(tmp_path, ffmpeg):
    ffmpeg(0)
    path = animations.animate_frames(PAST, FUTURE, tmp_path / "a.mp4", rate=12.5)
    size, *words = path.read_text().split()
    width, height = map(int, words[words.index("-s") + 1].split("x"))
    assert width % 2 == height % 2 == 0  # which its encoder needs
    assert int(size) == 8 * width * height * 4
    assert words[words.index("-framerate") + 1] == "12.5"
    assert {one.name for one in tmp_path.iterdir()} == {"bin", "a.mp4"}


def test_an_mp4_that_ffmpeg_cannot_write_does_not_appear(tmp_path, ffmpeg):
    ffmpeg(1)
    with pytest.raises(RuntimeError, match=r"ffmpeg could not write .* save a \.gif"):
        animations.animate_line(PAST[:, 0, 0], FUTURE[:, 0, 0], tmp_path / "a.mp4")
    assert {one.name for one in tmp_path.iterdir()} == {"bin"}
