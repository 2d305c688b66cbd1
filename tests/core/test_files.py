"""What is written appears whole or not at all, and what a killed writer left goes with the next save."""

import os
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import timelike as tl
from timelike.core import files

WRITER = """
import pathlib, sys, time
from timelike.core import files

folder = pathlib.Path(sys.argv[1])
with files.atomic_write(folder / "a.npz") as file, files.atomic_folder(folder / "model") as model:
    file.write_text("half")
    (model / "config.json").write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


def left(folder):
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".part"))


@pytest.fixture
def writer(tmp_path):
    """Another process in the middle of a save."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.communicate()


def save_something(folder):
    tl.Sequences([[1.0, 2.0]]).save(folder / "b.npz")


@pytest.mark.skipif(os.name == "nt", reason="nobody can be asked there whether a process lives")
def test_a_killed_save_is_swept_by_the_next_one_and_a_live_one_is_not(tmp_path, writer):
    assert len(left(tmp_path)) == 2
    save_something(tmp_path)
    assert len(left(tmp_path)) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    save_something(tmp_path)
    assert left(tmp_path) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.npz"]


@pytest.mark.skipif(os.name == "nt", reason="nobody can be asked there whether a process lives")
def test_a_model_sweeps_too(tmp_path, writer):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    tl.Neighbors().fit([[0, 1], [5, 5]], ["a", "b"]).save(tmp_path / "model")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model"]


def test_what_names_no_writer_or_one_elsewhere_stays(tmp_path):
    others = [".a.npz.deadbeef-12.0123.part", ".mine.part", "notes.part", ".a.b-1.x.part"]
    for name in others:
        (tmp_path / name).write_text("somebody's")
    save_something(tmp_path)
    assert left(tmp_path) == sorted(others)


def test_a_link_that_is_called_like_a_leftover_goes_and_its_target_stays(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("years of work")
    name = f".a.{files._machine_id()}-{os.getpid()}.0123.part"  # of this process, which is not writing it
    (tmp_path / name).symlink_to(tmp_path / "kept")
    save_something(tmp_path)
    assert left(tmp_path) == []
    assert (tmp_path / "kept" / "file").read_text() == "years of work"


def test_threads_that_save_side_by_side_do_not_sweep_each_other(tmp_path):
    failures = []

    def work(number):
        try:
            for turn in range(10):
                tl.Sequences([[float(number), float(turn)]]).save(tmp_path / f"{number}.npz")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert left(tmp_path) == []
    for number in range(4):
        np.testing.assert_array_equal(tl.load(tmp_path / f"{number}.npz")[0][:, 0], [number, 9])


def test_a_save_cut_off_between_two_renames_is_tidied_by_the_next(tmp_path):
    model = tl.Neighbors().fit([[0, 1], [5, 5]], ["a", "b"])
    model.save(tmp_path / "model")
    (tmp_path / "model").rename(files.backup_path(tmp_path / "model"))
    model.save(tmp_path / "model")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_names_of_long_letters_have_room(tmp_path):
    name = "🎵" * 60 + ".npz"  # 244 bytes
    save = tl.Sequences([[1.0, 2.0]]).save(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == [save.name]


@pytest.fixture
def mask():
    """The rights that are taken from new files in these tests."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_or_file_has_the_rights_that_any_has(tmp_path, mask):
    with files.atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "a.txt").write_text("whole")
    with files.atomic_write(tmp_path / "b.txt") as temporary:
        temporary.write_text("whole")
    assert rights(tmp_path / "folder") == 0o777 & ~mask
    assert rights(tmp_path / "b.txt") == 0o666 & ~mask
    assert os.umask(mask) == mask  # which looking at it did not change


def test_a_file_that_is_replaced_keeps_its_rights_and_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "a.txt", tmp_path / "link.txt"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    files.write_lines(link, iter(["new", "lines"]))
    assert link.is_symlink()
    assert file.read_bytes() == b"new\nlines\n"
    assert rights(file) == 0o640


def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path):
    def begun(way, name):
        with way(tmp_path / name) as temporary:
            (temporary / "x" if temporary.is_dir() else temporary).write_text("half")
            raise KeyError

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("old")
    (tmp_path / "file").write_text("old")
    for way, name in ((files.atomic_folder, "folder"), (files.atomic_write, "file"), (files.atomic_folder, "new")):
        with pytest.raises(KeyError):
            begun(way, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "folder" / "kept").read_text() == (tmp_path / "file").read_text() == "old"


def test_a_folder_that_is_there_is_replaced_whole(tmp_path):
    for word in ("first", "second"):
        with files.atomic_folder(tmp_path / "folder") as temporary:
            (temporary / word).write_text(word)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "second"]


def test_where_the_new_folder_cannot_take_its_place_the_old_one_is_put_back(tmp_path, monkeypatch):
    folder, real = tmp_path / "folder", type(tmp_path).rename
    with files.atomic_folder(folder) as temporary:
        (temporary / "old").write_text("old")

    def rename(self, target):
        if self.name.endswith(files.PART_SUFFIX):
            raise OSError("the disk is full")
        return real(self, target)

    monkeypatch.setattr(type(tmp_path), "rename", rename)
    with pytest.raises(OSError, match="full"), files.atomic_folder(folder) as temporary:
        (temporary / "new").write_text("new")
    assert [path.name for path in folder.iterdir()] == ["old"]


def test_what_a_killed_writer_left_is_cleared_away_and_nothing_else(tmp_path):
    for name in (".a.123.part", ".a.previous", "kept.part", "kept"):
        (tmp_path / name).mkdir()
    files.remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "kept.part"]
