"""Files that could be taken for something else: read as they were meant, or refused with the way out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import timelike as tl


@pytest.fixture
def read(tmp_path):
    """Loads a text as a file of its own."""

    def load(text: str, name: str = "a.csv", **asked) -> tl.Sequences:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return tl.load(path, **asked)

    return load


@pytest.mark.parametrize("index", [True, False])
def test_numbers_of_columns_that_pandas_writes_are_no_sample(read, index):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3)))
    X = read(table.to_csv(index=index))
    np.testing.assert_allclose(X[0], table.to_numpy())
    assert X.channel_names == ("0", "1", "2")


def test_whole_numbers_without_names_keep_their_first_row(read):
    assert read("0,1,2\n1,2,3\n").lengths.tolist() == [2]


def test_a_clock_that_passes_midnight_goes_on(read):
    X = read("time,ax\n23:59:59,1\n00:00:00,2\n00:00:01.5,3\n")
    assert X.times.tolist() == [86399, 86400, 86401.5]
    assert X[0].ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("text", ["subject,time,ax\n1,0,1\n1,1,2\n2,0,1\n2,1,4\n",
                                  "time,ax\n2024-01-01,0\n2024-01-03,1\n2024-01-01,2\n2024-01-02,2\n"])  # fmt: skip
def test_recordings_below_each_other_are_not_sorted_into_each_other(read, text):
    with pytest.raises(
        tl.sequences.FormatError, match=r"line 4: time begins anew, .* tell several apart by a column 'id'"
    ):
        read(text)


@pytest.mark.parametrize(
    "text", ["time,ax\n3,3\n2,2\n1,1\n", "time,ax\n2,2\n1,1\n", "time,ax\n1,1\n3,3\n2,2\n5,5\n4,4\n6,6\n"]
)
def test_rows_of_one_recording_are_sorted_and_that_is_said(read, text):
    X = read(text)
    assert X.times.tolist() == X[0].ravel().tolist() == sorted(X.times.tolist())
    assert "rows are sorted by time" in X.source.notes


@pytest.mark.parametrize("name", ["ID", "Id", "id"])
@pytest.mark.parametrize("ids", ["ab", "12"])
def test_an_id_in_capitals_tells_recordings_apart(read, name, ids):
    X = read(f"{name},time,ax\n{ids[0]},0,1\n{ids[0]},1,2\n{ids[1]},0,3\n{ids[1]},1,4\n")
    assert X.lengths.tolist() == [2, 2]
    assert X[1].ravel().tolist() == [3, 4]


def test_what_is_called_as_a_time_and_is_none_is_said(read):
    X = read("t,x\n5,2\n5,3\n4,7\n")
    assert X.channel_names == ("t", "x")
    assert X.source.notes == ("'t' does not rise as a time does, and is a channel",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('time,ax\n0,"1,234"\n1,"2,500"\n', "line 2: column 'ax' holds '1,234': expected a number.* a comma in quotes"),
        ("time,ax\ns,m/s2\n0,1\n1,2\n", "line 2: column 'time' holds 's': .* if it is the unit, delete the line"),
        ("time;ax\n0,0;1.234,5\n0,1;2.500,5\n", "no column of numbers .* 'ax' holds '1.234,5'"),
        ("date,ax\n03/04/2024,1\n04/04/2024,2\n", "holds '03/04/2024': .* days before months are not guessed at"),
    ],
)
def test_numbers_in_another_hand_are_shown(read, text, message):
    with pytest.raises(tl.sequences.FormatError, match=message):
        read(text)


def test_a_pattern_without_a_group_is_no_label(read):
    with pytest.raises(
        ValueError, match=r"label='a\\\\d' is not a column, and as a regular expression it has no group"
    ):
        read("t,ax\n0,1\n1,2\n", label=r"a\d")


def test_the_nearest_folder_says_the_label(tmp_path):
    paths = [tmp_path / "runner" / move / f"{i}.csv" for move in ("walk", "sit") for i in range(2)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("t,ax\n0,1\n1,2\n")
    X = tl.load(paths, label="(walk|run|sit)")
    assert X.labels.tolist() == ["walk", "walk", "sit", "sit"]


@pytest.mark.parametrize("pattern", [r"(\w+)/", r"(\w+)/\d", r"/(\w+)/\d"])
def test_a_pattern_with_a_slash_begins_at_the_common_folder(tmp_path, pattern):
    """Otherwise the first folder of the machine would be the class of all files."""
    for move in ("walk", "sit"):
        (tmp_path / move).mkdir()
        (tmp_path / move / "1.csv").write_text("t,ax\n0,1\n1,2\n")
    X = tl.load(str(tmp_path / "**" / "*.csv"), label=pattern)
    assert sorted(X.labels.tolist()) == ["sit", "walk"]


@pytest.mark.parametrize("form", ["folder", "pattern", "list"])
@pytest.mark.parametrize("pattern", ["(w[a-z]*)", r"/(w\w*)/", "(newcomer)"])
def test_a_folder_above_what_was_asked_for_says_no_label(tmp_path, form, pattern):
    folder = tmp_path / "newcomer" / "wild" / "logs"
    folder.mkdir(parents=True)
    for name in ("anna", "bob"):
        (folder / f"{name}.csv").write_text("t,ax\n0,1\n1,2\n")
    source = {"folder": folder, "pattern": folder / "*.csv", "list": sorted(folder.glob("*.csv"))}[form]
    with pytest.raises(ValueError, match=r"finds nothing in anna\.csv, bob\.csv: .* in its folders below .*logs"):
        tl.load(source, label=pattern)


def test_a_pattern_of_files_that_all_lie_in_one_folder_below_still_says_their_label(tmp_path):
    (tmp_path / "walk").mkdir()
    for name in ("1", "2"):
        (tmp_path / "walk" / f"{name}.csv").write_text("t,ax\n0,1\n1,2\n")
    X = tl.load(tmp_path / "*" / "*.csv", label="(walk|run)")
    assert X.labels.tolist() == ["walk", "walk"]


def test_a_name_without_the_label_that_others_have_is_an_error(tmp_path):
    folder: Path = tmp_path / "runner"
    folder.mkdir()
    for name in ("walk_1", "sit_1", "other"):
        (folder / f"{name}.csv").write_text("t,ax\n0,1\n1,2\n")
    with pytest.raises(ValueError, match=r"finds nothing in other\.csv"):
        tl.load(folder, label="(walk|run|sit)")


def test_who_was_recorded_is_no_silent_channel(tmp_path):
    for i in range(4):
        rows = "".join(f"{k},{0.5 * k},{i % 2},{i // 2},7\n" for k in range(5))
        (tmp_path / f"f{i}.csv").write_text(f"time,ax,activity,subject,version\n{rows}")
    with pytest.warns(UserWarning, match="for a channel: 'activity', 'subject': name it with label= or group="):
        X = tl.load(tmp_path)
    assert X.source.notes[-1] == "one whole number throughout each file is taken for a channel: 'activity', 'subject'"
    X = tl.load(tmp_path, label="activity", group="subject")
    assert X.channel_names == ("ax", "version")
    assert X.labels.tolist() == [0, 1, 0, 1]
    assert tl.load(tmp_path, values=["ax", "subject"]).channel_names == ("ax", "subject")


@pytest.mark.parametrize(
    "one", [pd.DataFrame({"t": [0.0, 1.0], "ax": [1, 2]}), np.zeros((5, 2))], ids=["table", "array"]
)
def test_one_table_is_not_a_list_of_paths(one):
    with pytest.raises(TypeError, match=r"not a list of them: one recording is \[source\]"):
        tl.load(one)
    assert len(tl.load([one])) == 1


def test_a_data_set_in_one_file_is_not_one_recording(tmp_path):
    np.savez(tmp_path / "alone.npz", X=np.zeros((4, 5, 3)))
    with pytest.raises(tl.sequences.FormatError, match=r"its arrays are 'X' \(4, 5, 3\): expected .* one recording"):
        tl.load(tmp_path / "alone.npz")
    np.savez(tmp_path / "a.npz", X=np.zeros((4, 5, 3)), y=np.arange(4))
    with pytest.raises(
        tl.sequences.FormatError, match=r"its arrays are 'X' \(4, 5, 3\), 'y' \(4,\): expected .* one recording"
    ):
        tl.load(tmp_path / "a.npz")
