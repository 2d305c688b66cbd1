"""Folders with a folder of recordings for every class."""

import os
import re

import pytest

import timelike as tl

ROWS = "t,ax\n0,1\n1,2\n2,3\n"


def make(folder, *files):
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROWS)
    return folder


def test_the_folder_of_each_file_is_its_class(tmp_path):
    folder = make(tmp_path / "logs", "walk/1.csv", "run/1.csv", "walk/2.csv", "run/3.csv")
    (folder / "README.txt").write_text("Four recordings.")
    (folder / ".cache").mkdir()
    X = tl.load(folder)
    assert X.labels.tolist() == ["run", "run", "walk", "walk"]
    assert X.ids.tolist() == ["run/1", "3", "walk/1", "2"]
    assert X.source.notes == ("time: the column 't', by its name", "label: the folder of each file")
    assert "read as    label: the folder of each file" in str(X.describe())
    assert X.equals(tl.load(folder / "**" / "*.csv", label=r"(run|walk)"))


def test_it_is_the_same_from_inside(tmp_path, monkeypatch):
    monkeypatch.chdir(make(tmp_path, "1/a.csv", "2/b.csv"))
    X = tl.load(".")
    assert X.labels.tolist() == [1, 2]
    assert X.labels.dtype.kind == "i"


def test_folders_of_decimal_numbers_are_classes(tmp_path):
    X = tl.load(make(tmp_path / "speeds", "1/a.csv", "2.5/a.csv", "1/b.csv"))
    assert X.labels.tolist() == ["1", "1", "2.5"]


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_recordings_that_lie_deeper_are_named_with_the_pattern_that_reads_them(depth, tmp_path):
    folders = "/".join("abcde"[:depth])
    make(tmp_path / "logs", f"{folders}/walk_1.csv", f"{folders}/run_1.csv")
    with pytest.raises(FileNotFoundError, match="no recordings, but .csv files in folders") as error:
        tl.load(tmp_path / "logs")
    (advice,) = re.findall(r"load\((.*?)\) reads them", str(error.value))
    assert len(eval(f"tl.load({advice})")) == 2


def test_a_label_that_is_given_or_in_the_files_wins(tmp_path):
    folder = make(tmp_path / "logs", "anna/walk_1.csv", "bob/run_1.csv")
    X = tl.load(folder, label=r"([a-z]+)_", group=r"(anna|bob)")
    assert (X.labels.tolist(), X.groups.tolist()) == (["walk", "run"], ["anna", "bob"])
    assert "label: the folder of each file" not in X.source.notes
    for name, label in (("a", "up"), ("b", "down")):
        (tmp_path / "saved" / name).mkdir(parents=True)
        tl.Sequences([[1.0, 2.0], [3.0]], labels=[label] * 2).save(tmp_path / "saved" / name / "some.npz")
    assert tl.load(tmp_path / "saved").labels.tolist() == ["up", "up", "down", "down"]


def test_files_of_several_recordings_and_unreadable_ones_keep_their_classes(tmp_path):
    folder = make(tmp_path / "logs", "walk/1.csv", "run/1.csv")
    (folder / "run" / "many.csv").write_text("id,t,ax\na,0,1\na,1,2\nb,0,3\nb,1,4\n")
    (folder / "walk" / "bad.csv").write_text("t,ax\n0,x,y\n")
    with pytest.warns(UserWarning, match="1 of 4 files are left out"):
        X = tl.load(folder, on_error="skip")
    assert X.labels.tolist() == ["run", "run", "run", "walk"]


def test_folders_without_recordings_are_noted(tmp_path):
    folder = make(tmp_path / "logs", "walk/1.csv", "run/1.csv")
    (folder / "plots").mkdir()
    assert tl.load(folder).source.notes[-1] == "folders without recordings: plots"


@pytest.mark.parametrize(
    ("files", "obstacle"),
    [
        (["walk/1.csv"], "only walk has recordings"),
        (["train/walk_1.csv", "test/walk_2.csv"], "a folder test is a part of a data set, and no class"),
        (["walk/1.csv", "run/old/2.csv", "run/3.csv"], "files lie deeper, in run/old"),
        (["walk/1.csv", "Demo/Demo_TRAIN.csv", "Demo/Demo_TEST.csv"], "the folder Demo holds a data set"),
    ],
)
def test_what_is_ambiguous_is_refused_with_the_reason_and_the_way_out(files, obstacle, tmp_path):
    folder = make(tmp_path / "logs", *files)
    words = (
        f"not read as a class each because {obstacle}: load\\('.*logs/\\*\\*/\\*.csv'\\) reads them, with label= for"
    )
    with pytest.raises(FileNotFoundError, match=words):
        tl.load(folder)


def test_files_beside_the_folders_are_refused_and_both_readings_named(tmp_path):
    folder = make(tmp_path / "logs", "metadata.csv", "walk/1.csv", "run/1.csv")
    with pytest.raises(ValueError, match="metadata.csv.* and the folders run, walk, which could be a class") as error:
        tl.load(folder)
    as_classes, label, as_files = re.search(
        r"load\((.*)\) with label=(.*) reads .* load\((.*)\)", f"{error.value}"
    ).groups()
    X = eval(f"tl.load({as_classes}, label={label})")
    assert (X.labels.tolist(), X.ids.tolist()) == (["run", "walk"], ["run/1", "walk/1"])
    Y = eval(f"tl.load({as_files})")
    assert (Y.ids.tolist(), Y.labels) == (["metadata"], None)


def test_files_beside_a_single_folder_are_what_is_meant(tmp_path):
    X = tl.load(make(tmp_path / "logs", "a.csv", "old/1.csv"))
    assert (X.ids.tolist(), X.labels) == (["a"], None)


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_to_a_folder_is_a_class(tmp_path):
    folder = make(tmp_path / "logs", "walk/1.csv")
    (folder / "run").symlink_to(make(tmp_path / "elsewhere", "9.csv"))
    assert tl.load(folder).labels.tolist() == ["run", "walk"]
