"""Many files at once: which are meant, what they are called, what is said of those that do not fit."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given, strategies as st

import timelike as tl
from timelike.sequences.io import recordings
from timelike.sequences.io.paths import unique_names
from timelike.sequences.io.recordings import RecordingInfo
from videos import write

RNG = np.random.default_rng(0)


def clip(path: Path, n: int = 4, height: int = 6, width: int = 8, *, grey: bool = False) -> np.ndarray:
    """A clip of noise; gives what should be read."""
    pictures = RNG.integers(0, 256, (n, height, width) if grey else (n, height, width, 3), dtype=np.uint8)
    write(path, pictures)
    channels = pictures[:, None] if grey else pictures.transpose(0, 3, 1, 2)
    return (channels / 255).astype(np.float32)


# --- which files --------------------------------------------------------------------------------------------------


def test_a_pattern_a_folder_and_a_list_give_the_same_clips(tmp_path) -> None:
    expected = {name: clip(tmp_path / f"{name}.mkv", n) for name, n in (("b", 3), ("a", 5), ("c", 1))}
    (tmp_path / ".hidden.mkv").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("none of them")
    (tmp_path / "folder.mkv").mkdir()
    for source in (tmp_path, str(tmp_path), tmp_path / "*.mkv", f"{tmp_path}/?.mkv", f"{tmp_path}/[abc].*"):
        X = tl.load(source)
        assert X.ids.tolist() == ["a", "b", "c"]
        for found, name in zip(X, X.ids, strict=True):
            np.testing.assert_array_equal(found, expected[name])
    X = tl.load([tmp_path / "c.mkv", str(tmp_path / "[ab].mkv")])  # in the order of the list
    assert X.ids.tolist() == ["c", "a", "b"]
    assert X.lengths.tolist() == [1, 5, 3]


def test_clips_in_folders_are_of_the_class_that_their_folder_is_called(tmp_path) -> None:
    for name in ("walk/1", "run/1", "run/2"):
        clip(tmp_path / f"{name}.mkv")
    (tmp_path / "run" / "3.mkv").write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="1 of 4 files are left out"):
        X = tl.load(tmp_path, on_error="skip")
    assert X.labels.tolist() == ["run", "run", "walk"]
    assert X.source.notes == ("label: the folder of each file",)


def test_a_pattern_without_a_folder_is_no_name(tmp_path, monkeypatch) -> None:
    clip(tmp_path / "a.mkv")
    monkeypatch.chdir(tmp_path)
    for source in ("*", "*.mkv", "?.mkv", "a.mkv", ["a.mkv"], Path("a.mkv"), Path("*")):
        assert tl.load(source).ids.tolist() == ["a"]


def test_two_stars_go_into_folders_and_equal_stems_get_their_parents(tmp_path) -> None:
    for name in ("anna/walk", "bob/walk", "bob/run", "walk"):
        clip(tmp_path / f"{name}.mkv")
    X = tl.load(tmp_path / "**" / "*.mkv")
    assert X.ids.tolist() == ["anna/walk", "run", "bob/walk", f"{tmp_path.name}/walk"]


@pytest.mark.parametrize("name", ["two words", "日本語 ñ", "a[1]", "what?", "100%d", "a:b", "-x", "a.b"])
def test_any_name_that_a_file_can_have_is_read(name, tmp_path) -> None:
    expected = clip(tmp_path / f"{name}.mkv")
    for source in (tmp_path / f"{name}.mkv", tmp_path, [tmp_path / f"{name}.mkv"], tmp_path / "*.mkv"):
        X = tl.load(source)
        np.testing.assert_array_equal(X[0], expected)
        assert X.ids.tolist() == [name]


def test_a_data_set_in_a_folder_comes_before_videos(tmp_path) -> None:
    data = tl.Sequences([[1.0, 2.0], [3.0]], labels=["a", "b"])
    for part in ("TRAIN", "TEST"):
        data.save(tmp_path / f"Demo_{part}.ts")
    clip(tmp_path / "a.mkv")
    assert tl.load(tmp_path)[0].equals(data)


def test_clips_that_are_called_train_and_test_are_clips(tmp_path) -> None:
    for name in ("one_TRAIN", "one_TEST"):
        clip(tmp_path / f"{name}.mkv")
    assert tl.load(tmp_path).ids.tolist() == ["one_TEST", "one_TRAIN"]
    with pytest.raises(ValueError, match="no official split"):
        tl.load(tmp_path, split="train")


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("ab"), max_size=3),
            st.sampled_from(["x", "y", "x.y"]),
            st.sampled_from(["mp4", "avi"]),
        ),
        min_size=1,
        unique_by=lambda one: (tuple(one[0]), *one[1:]),
    )
)
def test_no_two_files_have_one_name(entries) -> None:
    files = [Path(*folders, f"{stem}.{suffix}") for folders, stem, suffix in entries]
    names = unique_names(files)
    assert len(set(names)) == len(names)
    for name, file in zip(names, files, strict=True):
        end = PurePosixPath(name).parts
        assert file.parts[-len(end) :] == end or file.with_suffix("").parts[-len(end) :] == end
        if [other.stem for other in files].count(file.stem) == 1:
            assert name == file.stem


# --- what does not fit --------------------------------------------------------------------------------------------


def test_sources_that_lead_nowhere_say_so(tmp_path) -> None:
    clip(tmp_path / "clips" / "a.mkv")
    cases = [
        (tmp_path / "*.mp4", FileNotFoundError, r"no file matches '.*\*\.mp4': the current folder is"),
        (tmp_path / "*", FileNotFoundError, r"no file matches .*, but 1 folders: add /\* to mean what is in them"),
        ([tmp_path / "clips" / "b.mkv"], FileNotFoundError, r"source\[0\]: .*b\.mkv does not exist: expected the path"),
        ([tmp_path / "clips" / "a.mkv", tmp_path], FileNotFoundError, r"source\[1\]: .* is a folder: expected"),
        ([], ValueError, "source is an empty list: expected at least one path"),
        ([3], TypeError, r"source\[0\]=3: expected the path of a file"),
        ([b"a.mkv"], TypeError, r"source\[0\]=b'a.mkv': expected the path of a file"),
        ([tmp_path / "clips" / "a.mkv"] * 2, ValueError, r"source has .*a\.mkv twice: expected every file once"),
        (tmp_path / "clips" / "b.mkv", FileNotFoundError, r"did you mean 'a\.mkv'\?"),
    ]
    for source, error, words in cases:
        with pytest.raises(error, match=words):
            tl.load(source)


def test_videos_and_other_recordings_are_not_mixed(tmp_path) -> None:
    clip(tmp_path / "a.mkv")
    tl.Sequences([[1.0]]).save(tmp_path / "b.npz")
    for source in (tmp_path, tmp_path / "*", [tmp_path / "a.mkv", tmp_path / "b.npz"]):
        with pytest.raises(ValueError, match=r"a\.mkv is a video and .*b\.npz is none: load them apart"):
            tl.load(source)


def test_data_sets_do_not_come_in_numbers(tmp_path) -> None:
    for name in ("a", "b"):
        tl.Sequences([[1.0]], labels=[1]).save(tmp_path / f"{name}.ts")
    with pytest.raises(ValueError, match=r"a\.ts is one of 2 files, and patterns and lists of several are for record"):
        tl.load(tmp_path / "*")


@pytest.mark.parametrize("source", ["*.npz", "?oth.npz", ["both.npz"], ["*.npz"], ("both.npz",)])
def test_a_single_file_is_itself_however_it_is_found(source, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    train, test = tl.Sequences([[1.0, 2.0]]), tl.Sequences([[3.0]])
    train.save("both.npz", test=test)
    assert [one.equals(other) for one, other in zip(tl.load(source), (train, test), strict=True)] == [True, True]
    assert tl.load(source, split="test").equals(test)
    with pytest.raises(ValueError, match=r"^grayscale=True is for videos, and 'both\.npz' is none"):
        tl.load(source, grayscale=True)


@pytest.mark.parametrize("asked", [{"size": 4}, {"grayscale": True}, {"every": 2}, {"size": (4, 4)}])
def test_options_of_videos_are_refused_elsewhere(asked, tmp_path) -> None:
    path = tl.Sequences([[1.0]]).save(tmp_path / "b.npz")
    (name,) = asked
    for source in (path, "JapaneseVowels"):
        with pytest.raises(ValueError, match=rf"^{name}=.* is for videos, and .* is none: leave {name} out"):
            tl.load(source, **asked)


def test_mixed_sizes_name_the_files_and_the_way_out(tmp_path) -> None:
    for name in "abcde":
        clip(tmp_path / f"{name}.mkv")
    clip(tmp_path / "odd.mkv", height=4, width=5)
    with pytest.raises(ValueError) as caught:
        tl.load(tmp_path)
    assert str(caught.value) == (
        "the videos have frames of 2 sizes, height × width: 6 × 8 in a.mkv, b.mkv, c.mkv and 2 others; 4 × 5 in "
        "odd.mkv: give size=(height, width), such as size=(4, 5), and all become that, or load them apart"
    )
    assert tl.load(tmp_path, size=(4, 5)).frame == (3, 4, 5)


def test_mixed_channels_name_the_files_and_the_way_out(tmp_path) -> None:
    clip(tmp_path / "colour.mkv")
    clip(tmp_path / "grey.mkv", grey=True)
    with pytest.raises(
        ValueError, match=r"colour in colour\.mkv; grey in grey\.mkv: give grayscale=True, and all have one"
    ):
        tl.load(tmp_path)
    assert tl.load(tmp_path, grayscale=True).frame == (1, 6, 8)


def test_clips_that_cannot_be_decoded_are_skipped_with_their_reasons(tmp_path) -> None:
    first, last = clip(tmp_path / "a.mkv", 3), clip(tmp_path / "z.mkv", 2)
    (tmp_path / "b.mkv").write_bytes(b"")
    whole = tmp_path / "c.mkv"
    clip(whole, 30)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])  # seen only when it is read
    with pytest.raises(
        tl.sequences.FormatError, match=r"^2 of 4 files cannot be read.*\n  .*b\.mkv: is empty.*\n  .*c\.mkv: "
    ):
        tl.load(tmp_path)
    with pytest.warns(
        UserWarning, match=r"^2 of 4 files are left out:\n  .*b\.mkv: is empty.*\n  .*c\.mkv: says"
    ) as told:
        X = tl.load(tmp_path, on_error="skip")
    assert told[0].filename == __file__
    assert X.ids.tolist() == ["a", "z"]
    np.testing.assert_array_equal(X[0], first)
    np.testing.assert_array_equal(X[1], last)
    np.testing.assert_allclose(X.times, [0, 0.04, 0.08, 0, 0.04])


def test_where_all_are_skipped_nothing_is_given(tmp_path) -> None:
    for name in ("a.mkv", "b.mp4"):
        (tmp_path / name).write_bytes(b"\0" * 100)
    with pytest.raises(
        tl.sequences.FormatError, match=r"none of 2 files can be read:\n  .*a\.mkv: cannot be decoded.*\n  .*b\.mp4: "
    ):
        tl.load(tmp_path, on_error="skip")


def test_a_warning_of_many_skipped_files_ends(tmp_path) -> None:
    clip(tmp_path / "a.mkv")
    for number in range(30):
        (tmp_path / f"bad{number:02}.mkv").write_bytes(b"")
    with pytest.warns(
        UserWarning, match=r"^30 of 31 files are left out:(\n  .*bad..\.mkv: is empty.*){20}\n  and 10 others$"
    ):
        tl.load(tmp_path, on_error="skip")


def test_what_would_not_fit_into_memory_says_how_much_and_how_to_ask_for_less(tmp_path, monkeypatch) -> None:
    for name in "ab":
        clip(tmp_path / f"{name}.mkv", 10, 50, 50)
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0.5")
    with pytest.raises(ValueError) as caught:
        tl.load(tmp_path, on_error="skip")
    assert str(caught.value) == (
        "20 frames of 3 × 50 × 50 numbers would take 0.6 MB, and the limit is 0.5 MB: ask for less with size=(height, "
        "width), grayscale=True or every=2, load a part at a time, or raise it with the environment variable "
        "TIMELIKE_LOAD_LIMIT_MB"
    )
    assert (
        len(tl.load(tmp_path, grayscale=True))
        == len(tl.load(tmp_path, every=2))
        == len(tl.load(tmp_path, size=40))
        == 2
    )
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0.6")  # just enough
    assert len(tl.load(tmp_path)) == 2


# --- side by side -------------------------------------------------------------------------------------------------


def test_neither_threads_nor_other_files_change_a_clip(tmp_path, monkeypatch) -> None:
    for number in range(9):
        clip(tmp_path / f"{number}.mkv", 1 + number)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    X = tl.load(tmp_path, size=5)
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(recordings, "_max_threads", lambda: 4)
    assert tl.load(tmp_path, size=5).equals(X)
    assert tl.concat([tl.load(tmp_path / f"{number}.mkv", size=5) for number in range(9)]).equals(X)


class Counting:
    """Recordings of numbers: each is said to have more steps than it has."""

    step_name, reduction_hint = "numbers", "nothing"

    def __init__(self, lengths: dict[str, int], said: int = 6) -> None:
        self.lengths, self.said = lengths, said

    def inspect(self, path, tick) -> RecordingInfo:
        tick()
        return RecordingInfo(path, self.said, (1,))

    def fill(self, info, out, tick, threads) -> np.ndarray:
        n = self.lengths[info.path.stem]
        for step in range(n):
            tick()
            out[step] = 100 * int(info.path.stem) + step
        return np.arange(n, dtype=float)

    def refuse_mixed(self, infos) -> None:
        pass


def test_recordings_that_are_shorter_than_was_thought_leave_no_hole() -> None:
    lengths = {"0": 6, "1": 2, "2": 1, "3": 6, "4": 5}
    X = recordings.read_recordings([Path(f"{name}.x") for name in lengths], Counting(lengths))
    assert X.lengths.tolist() == list(lengths.values())
    expected = [100 * int(name) + step for name, n in lengths.items() for step in range(n)]
    assert X.values.ravel().tolist() == expected


class Endless(Counting):
    """Recordings that are never read."""

    def __init__(self) -> None:
        self.running = 0

    def inspect(self, path, tick) -> RecordingInfo:
        return RecordingInfo(path, 10, (1,))

    def fill(self, info, out, tick, threads) -> np.ndarray:
        self.running += 1
        try:
            while True:
                tick()
                time.sleep(0.01)
        finally:
            self.running -= 1


def test_one_ctrl_c_stops_all_threads(monkeypatch) -> None:
    reader = Endless()
    monkeypatch.setattr(recordings, "_max_threads", lambda: 3)
    pressed = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    pressed.start()
    with pytest.raises(KeyboardInterrupt):  # they would go on for ever
        recordings.read_recordings([Path(f"{number}.x") for number in range(8)], reader, "skip")
    assert reader.running == 0


def test_a_bar_counts_files_and_frames_and_waits_two_seconds(tmp_path, bars) -> None:
    for number in range(3):
        clip(tmp_path / f"{number}.mkv", 4)
    tl.load(tmp_path, every=2)
    assert [(bar.options["total"], bar.count) for bar in bars] == [(3, 3), (6, 6)]
    for bar in bars:
        assert bar.options["disable"] is None  # on a terminal only
        assert bar.options["delay"] == 2


@pytest.mark.parametrize(
    ("left", "working", "cores", "threads"),
    [
        (1000, 100, 4, 4),
        (399, 100, 4, 3),
        (400, 100, 4, 4),
        (99, 100, 4, 1),
        (-5, 100, 4, 1),
        (0, 0, 4, 1),
        (9, 0, 4, 4),
    ],
)
def test_no_more_threads_than_have_room_for_what_they_work_on(left, working, cores, threads, monkeypatch) -> None:
    monkeypatch.setattr(recordings, "_max_threads", lambda: cores)
    assert recordings._thread_count(left, working) == threads


def test_large_frames_are_made_one_after_another_where_memory_is_short(tmp_path, monkeypatch) -> None:
    """Frames of 100 × 100 in four bytes, and twice in three, are 0.1 MB: two at once are more than is left."""
    for name in "abcd":
        clip(tmp_path / f"{name}.mkv", 2, 100, 100)
    monkeypatch.setattr(recordings, "_max_threads", lambda: 4)
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0.2")
    asked, seen = recordings.ThreadPoolExecutor, []
    monkeypatch.setattr(recordings, "ThreadPoolExecutor", lambda n: seen.append(n) or asked(n))
    tl.load(tmp_path, size=4)
    assert seen == [4, 1]
