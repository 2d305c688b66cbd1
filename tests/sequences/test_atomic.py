"""What is written appears whole or not at all, and what a killed writer left goes with the next save."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import timelike as tl
from timelike.core import files

WRITER = """
import pathlib, sys, time
from timelike.sequences import atomic

folder = pathlib.Path(sys.argv[1])
with atomic.replacing(folder / "a.npz") as file, atomic.appearing(folder / "model") as model:
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
