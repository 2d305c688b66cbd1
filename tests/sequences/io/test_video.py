"""Videos: pixels, sizes, clocks, and what is said of files that cannot be read."""

from __future__ import annotations

import io
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from PIL import Image

import timelike as tl
from naive import pictures as naive
from optional_torch import torch
from timelike.core import memory
from timelike.sequences.image_resize import resize_image
from timelike.sequences.io.formats import video
from videos import CODECS, LOSSLESS, sound, write

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (7, 6, 10, 3), dtype=np.uint8)
NOISE[0, 0, :2] = [[0, 0, 0], [255, 255, 255]]  # both ends of the range


def frames_of(pictures: np.ndarray) -> np.ndarray:
    """(time, height, width, channel) in bytes as the library has it."""
    return (pictures.astype(np.float64) / 255).transpose(0, 3, 1, 2).astype(np.float32)


def smooth(n: int = 5, height: int = 32, width: int = 48) -> np.ndarray:
    """Pictures that a lossy codec keeps: slow waves that differ in every channel and frame."""
    (y, x), t = np.mgrid[:height, :width], np.arange(n)[:, None, None]
    waves = [np.sin(t + (y + k * x) / 17) for k in (0, 1, 2)]
    return (127 + 90 * np.stack(waves, axis=-1)).astype(np.uint8)


# --- pixels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", LOSSLESS)
def test_pixels_of_lossless_videos_are_exact(suffix, tmp_path) -> None:
    X = tl.load(write(tmp_path / f"noise{suffix}", NOISE))
    assert X.shape == (1, 7, 3, 6, 10)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X[0], frames_of(NOISE))
    assert X[0].min() == 0
    assert X[0].max() == 1


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_pixels_of_lossy_videos_are_near(suffix, tmp_path) -> None:
    pictures = smooth()
    X = tl.load(write(tmp_path / f"waves{suffix}", pictures))
    assert X.shape == (1, 5, 3, 32, 48)
    assert np.abs(X[0] - frames_of(pictures)).mean() < 0.03


@pytest.mark.parametrize(("height", "width"), [(1, 1), (5, 7), (33, 31)])
def test_odd_sizes_lose_no_pixel(height, width, tmp_path) -> None:
    pictures = RNG.integers(0, 256, (3, height, width, 3), dtype=np.uint8)
    np.testing.assert_array_equal(tl.load(write(tmp_path / "a.mkv", pictures))[0], frames_of(pictures))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_grey_video_has_one_channel_with_all_its_bits(dtype, tmp_path) -> None:
    white = np.iinfo(dtype).max
    pictures = RNG.integers(0, white, (4, 6, 10), dtype=dtype, endpoint=True)
    X = tl.load(write(tmp_path / "grey.mkv", pictures))
    np.testing.assert_array_equal(X[0][:, 0], (pictures.astype(np.float64) / white).astype(np.float32))
    assert tl.load(tmp_path / "grey.mkv", grayscale=True).equals(X)


def test_colours_of_more_than_eight_bits_keep_them(tmp_path) -> None:
    pictures = RNG.integers(0, 65536, (2, 6, 8, 3), dtype=np.uint16)
    X = tl.load(write(tmp_path / "deep.mkv", pictures, stored="gbrp16le"))
    np.testing.assert_allclose(X[0], (pictures / 65535).transpose(0, 3, 1, 2), atol=2 / 65535)


def test_grey_weighs_colours_as_the_eye_does(tmp_path) -> None:
    X = tl.load(write(tmp_path / "noise.mkv", NOISE), grayscale=True)
    red, green, blue = np.moveaxis(NOISE.astype(np.float64), 3, 0)
    np.testing.assert_allclose(X[0][:, 0], (0.299 * red + 0.587 * green + 0.114 * blue) / 255, atol=1e-6)
    assert X[0].max() == 1  # white is white, not 1.0000001, or a network would not take it for a picture in [0, 1]


@pytest.mark.parametrize("every", [1, 2, 3, 6, 7, 100])
def test_every_nth_frame_is_taken_with_its_time(every, tmp_path) -> None:
    path = write(tmp_path / "noise.mkv", NOISE, rate=10)
    X = tl.load(path, every=every)
    np.testing.assert_array_equal(X[0], frames_of(NOISE)[::every])
    np.testing.assert_allclose(X.times, np.arange(0, 7, every) / 10, atol=1e-12)


@pytest.mark.parametrize("angle", [0, 90, 180, -90])
def test_a_turned_video_stands_upright(angle, tmp_path) -> None:
    X = tl.load(write(tmp_path / "phone.mov", NOISE, turned=angle))
    upright = [np.asarray(Image.fromarray(picture).rotate(angle, expand=True)) for picture in NOISE]
    np.testing.assert_array_equal(X[0], frames_of(np.stack(upright)))


def test_a_gif_of_pillow_has_its_colours_and_pauses(tmp_path) -> None:
    colours = RNG.choice(np.array([[255, 0, 0], [0, 0, 255], [255, 255, 0]], np.uint8), (4, 8, 8))
    pictures = [Image.fromarray(picture) for picture in colours]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=[40, 100, 30, 60])
    X = tl.load(tmp_path / "a.gif")
    np.testing.assert_array_equal(X[0], frames_of(colours))
    np.testing.assert_allclose(X.times, [0, 0.04, 0.14, 0.17], atol=1e-12)


def test_what_is_animated_can_be_loaded_again(tmp_path) -> None:
    past = tl.sequences.generate.moving_digits(1, 6, n_digits=1, size=16, random_state=0).sequences
    future = tl.forecast.Persistence().fit(past).predict(past, 4)
    X = tl.load(future.animate(tmp_path / "still.gif", rate=5))
    assert X.lengths.tolist() == [10]
    np.testing.assert_allclose(np.diff(X.times), 0.2, atol=1e-9)


# --- sizes --------------------------------------------------------------------------------------------------------

SIZES = [
    ((6, 10), (3, 5)),
    ((6, 10), (4, 3)),
    ((5, 7), (1, 1)),
    ((5, 7), (11, 15)),
    ((6, 10), (12, 4)),
    ((3, 3), (3, 3)),
]


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_resizing_is_that_of_a_loop_over_pixels(old, new) -> None:
    picture = RNG.random((*old, 3)).astype(np.float32)
    np.testing.assert_allclose(resize_image(picture, new), naive.resized(picture, new), atol=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize(("old", "new", "mode"), [((12, 20), (4, 5), "area"), ((5, 7), (11, 15), "bilinear")])
def test_resizing_is_that_of_torch(old, new, mode) -> None:
    picture = RNG.random((*old, 3)).astype(np.float32)
    batch = torch.from_numpy(picture.transpose(2, 0, 1)[None])
    options = {} if mode == "area" else {"align_corners": False}
    theirs = torch.nn.functional.interpolate(batch, new, mode=mode, **options)
    np.testing.assert_allclose(resize_image(picture, new), theirs[0].permute(1, 2, 0).numpy(), atol=1e-6)


def test_a_fine_pattern_becomes_grey_when_it_shrinks() -> None:
    board = np.indices((64, 64)).sum(axis=0)[..., None] % 2
    np.testing.assert_allclose(resize_image(board.astype(np.float32), (8, 8)), 0.5, atol=1e-6)
    np.testing.assert_allclose(resize_image(board.astype(np.float32), (9, 9)).mean(), 0.5, atol=1e-6)


@pytest.mark.parametrize("size", [3, (3, 3), [4, 7], (6, 10), (13, 3)])
def test_frames_are_loaded_in_the_size_that_is_asked_for(size, tmp_path) -> None:
    X = tl.load(write(tmp_path / "noise.mkv", NOISE), size=size)
    sides = (size, size) if isinstance(size, int) else tuple(size)
    expected = np.stack([naive.resized(picture / 255, sides) for picture in NOISE])
    np.testing.assert_allclose(X[0], expected.transpose(0, 3, 1, 2), atol=1e-6)


@pytest.mark.parametrize("size", [3, 7, 9, 11, 13, 40])
@pytest.mark.parametrize("grey", [False, True])
def test_white_is_never_more_than_1(size, grey, tmp_path) -> None:
    X = tl.load(write(tmp_path / "white.mkv", np.full((2, 23, 29, 3), 255, np.uint8)), size=size, grayscale=grey)
    np.testing.assert_allclose(X[0], 1, atol=1e-6)
    assert X[0].max() <= 1


def test_a_turned_video_is_resized_after_it_is_turned(tmp_path) -> None:
    path = write(tmp_path / "phone.mov", NOISE, turned=90)
    X = tl.load(path, size=(5, 3))
    expected = np.stack([naive.resized(np.rot90(picture) / 255, (5, 3)) for picture in NOISE])
    np.testing.assert_allclose(X[0], expected.transpose(0, 3, 1, 2), atol=1e-6)


# --- clocks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [10, 25, 30, Fraction(30000, 1001), 60])
@pytest.mark.parametrize("suffix", [".mkv", ".avi", ".mov", ".mp4"])
def test_an_even_rate_is_even_whatever_the_ticks_of_the_file(suffix, rate, tmp_path) -> None:
    X = tl.load(write(tmp_path / f"a{suffix}", smooth(60, 16, 16), rate=rate))
    np.testing.assert_allclose(X.times, np.arange(60) / float(rate), rtol=1e-12)


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_uneven_times_are_kept_and_begin_at_0(suffix, tmp_path) -> None:
    ticks = [500, 540, 580, 621, 700, 1700]
    path = write(tmp_path / f"a{suffix}", smooth(6, 16, 16), ticks=ticks, clock=Fraction(1, 1000))
    np.testing.assert_allclose(tl.load(path).times, (np.array(ticks) - 500) / 1000, atol=1e-9)


@pytest.mark.parametrize("ticks", [[None] * 4, [0, 1, None, 3], [0, 3, 3, 6], [0, 9, 5, 12]])
def test_a_clock_that_is_broken_is_replaced_by_the_rate(ticks) -> None:
    stream = SimpleNamespace(average_rate=Fraction(20), base_rate=None, time_base=Fraction(1, 60))
    np.testing.assert_allclose(video._frame_times(ticks, stream), np.arange(4) / 20)


@pytest.mark.parametrize(
    ("ticks", "said", "expected"),
    [
        ([0, 33, 67, 100, 133, 167], None, 1 / 30),  # nothing is said: the nearest whole rate
        ([0, 33, 67, 100, 133, 167], Fraction(50), 1 / 30),  # what is said is wrong
        ([0, 33, 67, 100, 133, 167], Fraction(30000, 1001), 1001 / 30000),  # what is said is possible
        ([0, 667, 1333, 2000], None, 2 / 3),  # no whole rate is possible
        ([7, 1007], Fraction(1), 1),
    ],
)
def test_ticks_within_one_of_an_even_rate_are_even(ticks, said, expected) -> None:
    stream = SimpleNamespace(average_rate=said, base_rate=None, time_base=Fraction(1, 1000))
    np.testing.assert_allclose(video._frame_times(ticks, stream), np.arange(len(ticks)) * expected, rtol=1e-3)


def test_ticks_further_off_than_one_are_as_they_are() -> None:
    stream = SimpleNamespace(average_rate=Fraction(25), base_rate=None, time_base=Fraction(1, 1000))
    np.testing.assert_allclose(video._frame_times([0, 40, 82, 120], stream), [0, 0.04, 0.082, 0.12])
    np.testing.assert_allclose(video._frame_times([5], stream), [0])


# --- files that cannot be read ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty: expected a video"),
        (RNG.bytes(5000), "cannot be decoded .*: it is damaged, cut short or no video"),
        (b"a;b\n1;2\n" * 200, "cannot be decoded"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nother.mkv\n#EXT-X-ENDLIST\n", "cannot be decoded"),
        (b"ffconcat version 1.0\nfile other.mkv\n", "cannot be decoded"),
    ],
)
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".avi", ".gif"])
def test_what_is_no_video_is_refused_by_name_and_in_silence(content, words, suffix, tmp_path, capfd) -> None:
    write(tmp_path / "other.mkv", NOISE)  # a playlist in disguise must not reach it
    (tmp_path / f"bad{suffix}").write_bytes(content)
    with pytest.raises(tl.sequences.FormatError, match=rf"^bad\{suffix}: {words}"):
        tl.load(tmp_path / f"bad{suffix}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("suffix", "codec", "stored"),
    [
        *((suffix, *how) for suffix, how in CODECS.items()),
        (".avi", "mpeg4", "yuv420p"),
        (".avi", "mjpeg", "yuvj420p"),
        (".flv", "flv", "yuv420p"),
        (".flv", "libx264", "yuv420p"),
        (".mkv", "libx264", "yuv420p"),
        (".wmv", "wmv2", "yuv420p"),
    ],
)
def test_a_video_that_is_cut_short_is_refused_unless_all_frames_are_there(suffix, codec, stored, tmp_path) -> None:
    path, cut = write(tmp_path / f"whole{suffix}", smooth(30), codec=codec, stored=stored), tmp_path / f"cut{suffix}"
    content, frames, said = path.read_bytes(), tl.load(path)[0], []
    shares = (0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)
    for share in shares:
        cut.write_bytes(content[: int(share * len(content))])
        try:
            np.testing.assert_array_equal(tl.load(cut)[0], frames)
        except tl.sequences.FormatError as error:
            said.append(str(error))
    assert len(said) >= 6 if (suffix, codec) != (".avi", "mpeg4") else len(said) >= 3  # half of it is its index
    assert all(words.startswith(f"cut{suffix}: ") for words in said)


def test_an_flv_that_is_cut_after_its_first_frame_is_refused(tmp_path) -> None:
    path = write(tmp_path / "a.flv", smooth(12, 16, 16))
    content = path.read_bytes()
    place, sizes = 13, []  # a header, then tags: what it is in 1 byte, its size in 3, 7 others, the content, 4 others
    while place < len(content):
        place += 15 + int.from_bytes(content[place + 1 : place + 4], "big")
        sizes.append(place)
    assert len(sizes) >= 13  # what the file says of itself, and the frames
    path.write_bytes(content[: sizes[1]])
    with pytest.raises(
        tl.sequences.FormatError, match=r"^a\.flv: says that it lasts 0\.48 s and ends by 0\.06 s: get it again"
    ):
        tl.load(path)
    single = write(tmp_path / "single.flv", smooth(1, 16, 16))
    assert tl.load(single).lengths.tolist() == [1]


def test_an_flv_that_is_cut_anywhere_is_refused_by_name(tmp_path) -> None:
    """Even where it promises pictures and does not get so far as to say of which codec."""
    path = write(tmp_path / "a.flv", smooth(4, 16, 16))
    content = path.read_bytes()
    for size in range(1, len(content) - 40, 3):
        path.write_bytes(content[:size])
        with pytest.raises(tl.sequences.FormatError, match=r"^a\.flv: "):
            tl.load(path)


def test_a_faststart_mp4_that_is_cut_short_is_refused(tmp_path) -> None:
    whole = write(tmp_path / "whole.mp4", smooth(30), options={"movflags": "faststart"}).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: int(0.7 * len(whole))])
    with pytest.raises(tl.sequences.FormatError, match=r"^cut\.mp4: "):
        tl.load(tmp_path / "cut.mp4")


def test_a_last_frame_that_is_shown_for_long_is_no_cut(tmp_path) -> None:
    path = write(tmp_path / "slow.mkv", NOISE, ticks=[0, 40, 80, 1080, 1120, 1160, 2160], clock=Fraction(1, 1000))
    assert tl.load(path).lengths.tolist() == [7]


def test_a_last_frame_that_says_how_long_it_is_shown_is_no_cut(tmp_path) -> None:
    path = write(tmp_path / "slides.mkv", NOISE[:3], ticks=[0, 1, 2], clock=Fraction(1), last=10)
    with av.open(str(path)) as container:
        assert container.duration == 12_000_000
    assert tl.load(path).times.tolist() == [0, 1, 2]


def test_places_without_a_frame_are_no_cut(tmp_path) -> None:
    """An .avi has a place for every tick, and counts those in which nothing is new."""
    path = write(
        tmp_path / "a.avi", smooth(4), codec="mpeg4", stored="yuv420p", ticks=[0, 1, 9, 10], clock=Fraction(1, 25)
    )
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 11
    np.testing.assert_allclose(tl.load(path).times, np.array([0, 1, 9, 10]) / 25, atol=1e-9)


def test_an_avi_whose_count_is_wrong_is_whole_if_its_chunks_are(tmp_path) -> None:
    path = write(tmp_path / "a.avi", smooth(9), codec="mpeg4", stored="yuv420p")
    content = bytearray(path.read_bytes())
    count = content.index(b"strh") + 8 + 32  # the length of the stream
    assert content[count : count + 4] == (9).to_bytes(4, "little")
    content[count : count + 4] = (12).to_bytes(4, "little")
    path.write_bytes(content)
    assert tl.load(path).lengths.tolist() == [9]
    path.write_bytes(content[:-1])
    with pytest.raises(
        tl.sequences.FormatError, match=r"^a\.avi: says that it has \d+ bytes and ends after \d+: get it again"
    ):
        tl.load(path)


@pytest.mark.parametrize("after", [b"", b"\r\n", b"\0" * 100, b"made by hand", b"," * 3, b";"])
@pytest.mark.parametrize("n", [1, 5])
def test_what_comes_after_the_end_of_a_gif_does_not_matter(after, n, tmp_path) -> None:
    path = write(tmp_path / "a.gif", smooth(n))
    whole = path.read_bytes()
    path.write_bytes(whole + after)
    assert tl.load(path).lengths.tolist() == [n]
    path.write_bytes(whole[:-1])
    with pytest.raises(tl.sequences.FormatError, match=rf"^a\.gif: ends within .*frame {n}"):
        tl.load(path)


@pytest.mark.parametrize("kind", ["P", "RGB", "L"])
def test_a_gif_with_tables_of_colours_of_any_size_is_followed_to_its_end(kind, tmp_path) -> None:
    for n_colours in (2, 3, 16, 255):
        pictures = [Image.fromarray(RNG.integers(0, n_colours, (9, 9), np.uint8)).convert(kind) for _ in range(3)]
        pictures[0].save(
            tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=40, comment=b";,!" * 200
        )
        assert tl.load(tmp_path / "a.gif").lengths.tolist() == [3]


def test_a_streamed_mkv_does_not_say_how_large_it_is(tmp_path) -> None:
    streamed = io.BytesIO()
    streamed.seekable = lambda: False
    with av.open(streamed, "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 6, 10, "bgr0"
        for picture in NOISE:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    (tmp_path / "live.mkv").write_bytes(streamed.getvalue())
    np.testing.assert_array_equal(tl.load(tmp_path / "live.mkv")[0], frames_of(NOISE))


def test_what_follows_a_mkv_or_an_avi_does_not_matter(tmp_path) -> None:
    for suffix in (".mkv", ".avi"):
        path = write(tmp_path / f"a{suffix}", NOISE)
        path.write_bytes(path.read_bytes() + b"\r\n" * 20)
        assert tl.load(path).lengths.tolist() == [7]


@pytest.mark.parametrize("suffix", [".flv", ".mkv"])
@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_sound_that_is_longer_than_the_pictures_is_no_cut(suffix, seconds, tmp_path) -> None:
    path = tmp_path / f"a{suffix}"
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("flv" if suffix == ".flv" else "mpeg4", rate=25)
        pictures.height, pictures.width, pictures.pix_fmt = 32, 48, "yuv420p"
        noise = container.add_stream("pcm_s16le", rate=44100, layout="mono")
        for picture in smooth(25):
            container.mux(pictures.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(pictures.encode())
        for start in range(0, int(seconds * 44100), 4410):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 4410), np.int16), format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = 44100, start, Fraction(1, 44100)
            container.mux(noise.encode(frame))
        container.mux(noise.encode())
    assert tl.load(path).lengths.tolist() == [25]


# --- memory -------------------------------------------------------------------------------------------------------


def test_a_frame_that_is_large_only_while_it_is_made_is_refused(tmp_path) -> None:
    path = tmp_path / "large.gif"
    Image.new("P", (8000, 7000), 3).save(path)
    assert path.stat().st_size < 100_000
    words = r"^large\.gif: claims 560\.0 MB for a frame of 7000 × 8000 pixels in 0\.. MB, and the limit is 500\.0 MB"
    with pytest.raises(tl.sequences.FormatError, match=words):
        tl.load(path, size=16, grayscale=True)


def test_a_later_frame_that_is_too_large_is_refused_too(tmp_path, monkeypatch) -> None:
    path = changing(tmp_path / "changing.mkv")
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0.005")  # 16 × 16 pixels take 2 kB, 32 × 32 pixels take 8 kB
    monkeypatch.setattr(memory, "SIZE_FACTOR", 0)
    with pytest.raises(tl.sequences.FormatError, match=r"^changing\.mkv: claims .* for a frame of 32 × 32 pixels"):
        tl.load(path, size=4)


@pytest.mark.parametrize("strip", [1, 29, 30, 7 * 29, 23 * 29])
@pytest.mark.parametrize("turned", [0, 90])
def test_how_many_rows_are_made_at_a_time_changes_nothing(strip, turned, tmp_path, monkeypatch) -> None:
    path = write(tmp_path / "a.mov", RNG.integers(0, 256, (2, 23, 29, 3), dtype=np.uint8), turned=turned)
    asked = [{}, {"size": 7, "grayscale": True}, {"size": (40, 5)}]
    expected = [tl.load(path, **options) for options in asked]
    monkeypatch.setattr(video, "_STRIP", strip)
    for options, before in zip(asked, expected, strict=True):
        np.testing.assert_allclose(tl.load(path, **options)[0], before[0], rtol=0, atol=2e-7)


def test_a_file_with_sound_only_says_so(tmp_path) -> None:
    with pytest.raises(tl.sequences.FormatError, match=r"^song\.mkv: has no pictures, but audio: expected a video"):
        tl.load(sound(tmp_path / "song.mkv"))


def changing(path: Path) -> Path:
    """Two frames of 16 × 16 pixels, then two of 32 × 32."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        stream.height, stream.width, stream.pix_fmt = 16, 16, "yuvj420p"
        container.start_encoding()
        for position, picture in enumerate([*smooth(2, 16, 16), *smooth(2, 32, 32)]):
            context = av.CodecContext.create("mjpeg", "w")
            context.height, context.width, context.pix_fmt = *picture.shape[:2], "yuvj420p"
            context.time_base = Fraction(1, 25)
            for packet in context.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")) + context.encode():
                packet.stream, packet.pts, packet.dts, packet.time_base = stream, position, position, Fraction(1, 25)
                container.mux(packet)
    return path


def test_frames_that_change_their_size_need_one_to_be_given(tmp_path) -> None:
    path = changing(tmp_path / "changing.mkv")
    with pytest.raises(tl.sequences.FormatError, match=r"its frames change from 16 × 16 to 32 × 32 pixels: give size="):
        tl.load(path)
    assert tl.load(path, size=16).shape == (1, 4, 3, 16, 16)


def test_without_pyav_the_extra_is_named(tmp_path, monkeypatch) -> None:
    path = write(tmp_path / "a.mp4", smooth())
    monkeypatch.setitem(sys.modules, "av", None)
    for on_error in ("raise", "skip"):
        with pytest.raises(ImportError, match=r'a \.mp4 file needs PyAV: pip install "timelike\[video\]"'):
            tl.load(path, on_error=on_error)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"size": 0}, ValueError, "size=0: expected at least 1"),
        ({"size": (4, -1)}, ValueError, "size=-1"),
        ({"size": (1, 2, 3)}, ValueError, r"size=\(1, 2, 3\): expected \(height, width\), or one number"),
        ({"size": 1.5}, TypeError, "size=1.5: expected an integer"),
        ({"size": "64"}, TypeError, "size='64': expected an integer"),
        ({"size": True}, TypeError, "size=True: expected an integer"),
        ({"grayscale": 1}, TypeError, "grayscale=1: expected True or False"),
        ({"every": 0}, ValueError, "every=0: expected at least 1"),
        ({"every": 2.0}, TypeError, "every=2.0: expected an integer"),
        ({"on_error": "ignore"}, ValueError, "on_error='ignore': expected one of 'raise', 'skip'"),
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(asked, error, words, tmp_path) -> None:
    with pytest.raises(error, match=words):
        tl.load(write(tmp_path / "a.mkv", NOISE), **asked)


def test_a_single_video_can_be_read_by_its_format(tmp_path) -> None:
    path = write(tmp_path / "noise.MKV", NOISE)
    assert tl.sequences.io.formats.read(path)["all"].equals(tl.load(path))
    with pytest.raises(ValueError, match="has the suffix '.mp4': expected one of"):
        tl.load(path).save(Path(tmp_path / "b.mp4"))
