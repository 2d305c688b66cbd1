"""Files and folders that appear whole or not at all, with the rights that any new one has."""

import os
import stat

import pytest

from timelike.core import files


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
