"""What is particular to one file format: what it refuses in which words, how others write it, what is wrong in it."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from timelike.sequences import FormatError
from timelike.sequences.io.formats import read, write

FACTS = json.loads((Path(__file__).parent / "aeon_ts_facts.json").read_text(encoding="utf-8"))["files"]


def test_npz_follows_the_schema_of_the_design(tmp_path) -> None:
    train = tl.Sequences([[1.0, 2.0], [3.0]], labels=["b", "a"], groups=[1, 2])
    test = tl.Sequences([[4.0]], labels=["c"], groups=[3])
    path = train.save(tmp_path / "both.npz", test=test)
    with np.load(path) as arrays:
        assert set(arrays) == {"values", "offsets", "labels", "split", "groups", "class_names"}
        assert arrays["split"].tolist() == [0, 0, 1]
        assert arrays["labels"].tolist() == [1, 0, 2]
    first, second = tl.load(path)
    assert first.equals(train.replace(class_names=["a", "b", "c"]))
    assert second.labels.tolist() == ["c"]


# --- what a format cannot hold ------------------------------------------------------------------------------------

PLAIN = tl.Sequences([[1.0, 2.0], [3.0, 4.0]], labels=[1, 2])
MANY = tl.Sequences(np.ones((2, 3, 2)), labels=[1, 2])
IMAGES = tl.Sequences(np.ones((2, 3, 1, 4, 4)), labels=[1, 2])


@pytest.mark.parametrize(
    ("data", "suffix", "words"),
    [
        (PLAIN.replace(groups=[1, 1]), ".ts", "groups cannot be stored in .ts"),
        (PLAIN.replace(ids=[1, 2]), ".ts", "ids cannot be stored in .ts"),
        (PLAIN.replace(channel_names=["x"]), ".ts", "channel_names cannot be stored in .ts"),
        (IMAGES, ".ts", "frames of shape"),
        (PLAIN.replace(labels=["a b", "c"]), ".ts", "the name 'a b' holds ' '"),
        (PLAIN.replace(labels=["a:b", "c"]), ".ts", "holds ':'"),
        (PLAIN.replace(labels=["", "c"]), ".ts", "is empty"),
        (PLAIN.replace(labels=["1", "2"]), ".ts", "read back as integers"),
        (PLAIN.replace(labels=[True, False]), ".ts", "booleans"),
        (MANY, ".tsv", "2 channels cannot be stored in .tsv"),
        (PLAIN.replace(times=[0.0, 1.0]), ".tsv", "times cannot be stored"),
        (PLAIN.replace(labels=["a", "b"]), ".tsv", "string labels"),
        (PLAIN.replace(labels=[0.5, 1.5]), ".tsv", "float64 labels"),
        (PLAIN.replace(labels=None), ".txt", "no labels"),
        (tl.Sequences([[1.0, np.nan]], labels=[1]), ".tsv", "sequence 0 ends with a missing value"),
        (tl.Sequences([[1.0, np.nan]], labels=[1]), ".arff", "sequence 0 ends with a missing value"),
        (PLAIN.replace(labels=[0.5, 1.5]), ".arff", "regression targets"),
        (PLAIN.replace(labels=["it's", "b"]), ".arff", 'holds "\'"'),
        (PLAIN, ".npy", "labels cannot be stored in .npy"),
        (tl.Sequences([[1.0], [1.0, 2.0]]), ".npy", "unequal lengths"),
        (IMAGES, ".csv", "frames of shape"),
        (PLAIN.replace(ids=["a", "a"]), ".csv", "'a' occurs more than once"),
        (PLAIN.replace(ids=["1", "2"]), ".csv", "ids are strings that .csv would read back as numbers"),
        (PLAIN.replace(channel_names=["label"]), ".csv", "the channel 'label'"),
        (PLAIN.replace(labels=["a", "b"], class_names=["b", "a"]), ".csv", "replace(labels=s.labels)"),
        (PLAIN.replace(labels=["a", "b"], class_names=["a", "b", "c"]), ".csv", "use .parquet, .npz or .ts"),
        (PLAIN[:0], ".npz", "no sequences"),
        (PLAIN[:0], ".ts", "no sequences"),
        (PLAIN, ".mat", "expected one of .ts"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(data, suffix, words, tmp_path) -> None:
    with pytest.raises(ValueError) as caught:
        data.save(tmp_path / f"a{suffix}")
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_classes_that_csv_cannot_hold_can_be_forgotten(tmp_path) -> None:
    data = PLAIN.replace(labels=["a", "b"], class_names=["b", "c", "a"], ids=[0, 1])
    known = data.replace(labels=data.labels)
    assert tl.load(known.save(tmp_path / "a.csv")).equals(known)


def test_saving_through_a_link_keeps_the_link_and_the_mode(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.npz", tmp_path / "b.npz"
    PLAIN.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    MANY.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert tl.load(target).equals(MANY)
    assert [entry.name for entry in (tmp_path / "real").iterdir()] == ["a.npz"]


def test_saving_finds_the_home_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert PLAIN.save("~/a.npz") == tmp_path / "a.npz"
    assert tl.load("~/a.npz").equals(PLAIN)


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        (None, TypeError, "path=None: expected a string or a Path"),
        (b"a.npz", TypeError, "path=b'a.npz': expected"),
        ("folder.npz", IsADirectoryError, "is a folder: expected the name of a file"),
        ("a" * 300 + ".npz", ValueError, "has 304 bytes: expected at most 255"),
    ],
)
def test_places_that_cannot_be_written_are_named(target, error, words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(error, match=words):
        PLAIN.save(target)


def test_a_test_part_that_does_not_fit_is_called_test(tmp_path) -> None:
    with pytest.raises(TypeError, match="^test is a list: expected Sequences"):
        PLAIN.save(tmp_path / "a.npz", test=[1])
    with pytest.raises(ValueError, match="^test has frames"):
        PLAIN.save(tmp_path / "a.npz", test=tl.Sequences([[[1.0, 2.0]]], labels=[1]))
    with pytest.raises(ValueError, match="^test has no labels"):
        PLAIN.save(tmp_path / "a.npz", test=PLAIN.replace(labels=None))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,time,x\na,2024-01-01T01:00:00+01:00,1\na,2024-01-01T00:30:00.5Z,2\n"),
        (
            "a.ts",
            "@timeStamps true\n@classLabel false\n@data\n(2024-01-01 01:00:00+01:00,1),(2023-12-31 19:00:00.5-0530,2)\n",
        ),
    ],
)
def test_offsets_from_utc_in_text_are_read_as_utc(name, content, tmp_path) -> None:
    times = parse(tmp_path, name, content).times
    assert times.astype(str).tolist() == ["2024-01-01T00:00:00.000000000", "2024-01-01T00:30:00.500000000"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (("2024-01-01T00:00:00Z", "2024-01-02T00:00:00"), "column 'time' mixes"),
        (("2024-01-01T00:00:00Z", "2024-01-02T00:00:00+1"), "line 3: column 'time' holds '2024-01-02T00:00:00\\+1'"),
        (("1704067200000000000", "1704067200000000001"), "line 2: column 'time' holds '1704067200000000000'"),
    ],
)
def test_times_in_text_that_cannot_be_exact_are_refused(cells, words, tmp_path) -> None:
    with pytest.raises(FormatError, match=words):
        parse(tmp_path, "a.csv", "id,time,x\n" + "".join(f"a,{cell},1\n" for cell in cells))


def test_an_npz_of_other_arrays_says_what_is_in_it(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", X_train=np.ones(3), y_train=np.ones(3))
    with pytest.raises(FormatError, match="has no array 'values' but 'X_train', 'y_train': expected sequences"):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", values=np.ones(3), offsets=[0, 1, 3], split=[0, 2])
    with pytest.raises(FormatError, match=r"split\[1\] is 2: expected 0 \(train\) or 1 \(test\)"):
        read(tmp_path / "b.npz")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch) -> None:
    path = PLAIN.save(tmp_path / "a.npz")
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        MANY.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.skipif(os.name == "nt", reason="permission bits are those of POSIX")
def test_a_written_file_has_the_usual_permissions(tmp_path) -> None:
    (tmp_path / "ordinary").write_text("")
    assert PLAIN.save(tmp_path / "a.ts").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_the_folder_must_exist(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist: make it first"):
        PLAIN.save(tmp_path / "nowhere" / "a.ts")


# --- reading what others wrote ------------------------------------------------------------------------------------


def parse(tmp_path: Path, name: str, content: str) -> tl.Sequences:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return read(path)["all"]


def test_ts_headers_are_case_insensitive_and_comments_are_skipped(tmp_path) -> None:
    data = parse(
        tmp_path,
        "a.ts",
        "#one\n%two\n\n@PROBLEMNAME x y\n@TimeStamps FALSE\n@classlabel TRUE Up Down\n@Author me\n@DATA\n#c\n1,?,NaN:Down\n\n4:Up",
    )
    np.testing.assert_array_equal(data[0].ravel(), [1, np.nan, np.nan])
    assert data.labels.tolist() == ["Down", "Up"]
    assert data.class_names == ("Up", "Down")


def test_ts_with_times_of_two_channels(tmp_path) -> None:
    data = parse(
        tmp_path, "a.ts", "@timestamps true\n@data\n(0,1),(2.5,?):(0,3),(2.5,4)\n(7,1) , (8,2) : (7,3),(8,4)\n"
    )
    assert data.times.tolist() == [0, 2.5, 7, 8]
    np.testing.assert_array_equal(data[0], [[1, 3], [np.nan, 4]])


def test_ts_with_datetimes_and_labels(tmp_path) -> None:
    data = parse(
        tmp_path,
        "a.ts",
        "@timeStamps true\n@classLabel true 1 2\n@data\n(2007-01-01 00:00:00,1.5),(2007-01-01 00:01:00,2):2\n",
    )
    assert (
        data.times.astype("datetime64[s]").tolist()
        == np.array(["2007-01-01T00:00:00", "2007-01-01T00:01:00"], "datetime64[s]").tolist()
    )
    assert data.labels.tolist() == [2]


def test_labels_are_the_same_whichever_file_they_come_from(tmp_path) -> None:
    ts = parse(tmp_path, "a.ts", "@classLabel true 1 2\n@data\n5,6:1\n7,8:2\n")
    tsv = parse(tmp_path, "a.tsv", "1\t5\t6\n2\t7\t8\n")
    txt = parse(tmp_path, "a.txt", "  1.0000000e+00  5.0000000e+00  6.0\n  2.0000000e+00 7 8\n")
    comma = parse(tmp_path, "b.txt", "1,5,6\n2,7,8\n")
    arff = parse(
        tmp_path,
        "a.arff",
        "@relation r\n@attribute a numeric\n@attribute b REAL\n@ATTRIBUTE t {1, 2}\n@DATA\n5,6,1\n7,8,2\n",
    )
    for other in (tsv, txt, comma, arff):
        assert other.equals(ts)
    assert ts.labels.dtype == np.int64


def test_leading_zeros_are_names(tmp_path) -> None:
    assert parse(tmp_path, "a.ts", "@classLabel true 01 02\n@data\n5:01\n").labels.tolist() == ["01"]


def test_nan_at_the_end_of_a_ucr_line_is_padding_and_inside_it_is_missing(tmp_path) -> None:
    data = parse(tmp_path, "a.tsv", "1\t5\tNaN\t7\n2\t8\tNaN\tNaN\n")
    assert data.lengths.tolist() == [3, 1]
    assert np.isnan(data[0][1, 0])


def test_relational_arff_has_a_channel_per_line_inside_the_quotes(tmp_path) -> None:
    head = "@relation 'r'\n@attribute x relational\n@attribute a numeric\n@attribute b numeric\n@end x\n"
    data = parse(tmp_path, "a.arff", head + "@attribute t {'a b',c}\n@data\n'1,2\\n3,4','a b'\n\"5,?\\n6,?\",c\n")
    np.testing.assert_array_equal(data[0], [[1, 3], [2, 4]])
    assert data.lengths.tolist() == [2, 1]
    assert data.labels.tolist() == ["a b", "c"]


def test_csv_rows_may_come_in_any_order(tmp_path) -> None:
    data = parse(tmp_path, "a.csv", "id,time,x,label\nb,1,5,u\na,0,1,v\nb,0,4,u\na,1,,v\n")
    assert data.ids.tolist() == ["b", "a"]
    np.testing.assert_array_equal(data.values.ravel(), [4, 5, 1, np.nan])
    assert data.labels.tolist() == ["u", "v"]


def test_csv_needs_neither_pandas_nor_polars(tmp_path, monkeypatch) -> None:
    import sys

    for name in ("pandas", "polars", "pyarrow", "narwhals"):
        monkeypatch.setitem(sys.modules, name, None)
    data = PLAIN.replace(times=[0.0, 1.0], ids=[0, 1])
    assert tl.load(data.save(tmp_path / "a.csv")).equals(data)
    with pytest.raises(ImportError, match=r'pip install "timelike\[parquet\]"'):
        data.save(tmp_path / "a.parquet")


def test_a_parquet_that_pandas_wrote_is_read(tmp_path) -> None:
    data = tl.Sequences([[1.0, 2.0], [3.0]], labels=["u", "v"], ids=["a", "b"])
    table = data.to_frame().set_index(np.array([5, 6, 7]))
    table.to_parquet(tmp_path / "a.parquet")
    assert tl.load(tmp_path / "a.parquet").equals(data)


# --- malformed files ----------------------------------------------------------------------------------------------

TS = "@univariate true\n@equalLength true\n@seriesLength 2\n@classLabel true 1 2\n@data\n"
ARFF = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute t {1,2}\n@data\n"
RELATIONAL = "@relation r\n@attribute x relational\n@attribute a numeric\n@end x\n@attribute t {1,2}\n@data\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.ts", "", "no @data line"),
        ("a.ts", "@univariate true\n", "line 1: no @data line"),
        ("a.ts", TS, "line 5: no data after @data"),
        ("a.ts", "1,2:1\n", "line 1: '1,2:1' before @data"),
        ("a.ts", TS + "1,2:1\n1,2\n", "line 7: no label after the last colon"),
        ("a.ts", TS + "1,2:1\n1,2,3:1\n", "line 7: 3 time steps but @seriesLength is 2"),
        ("a.ts", "@equalLength true\n@data\n1,2\n1,2,3\n", "line 4: 3 time steps but @equalLength is true"),
        ("a.ts", TS + "1,2:3,4:1\n", "2 channels though @univariate"),
        ("a.ts", TS + "1,2:3\n", "line 6: the label '3' is not declared: @classLabel lists 1 2"),
        ("a.ts", TS + "1,x:1\n", "line 6: value 2 is 'x': expected a number"),
        ("a.ts", TS + "1,:1\n", "line 6: value 2 is empty"),
        ("a.ts", TS + "1,inf:1\n", "line 6: value 2 is 'inf': expected a finite number"),
        ("a.ts", TS + "1,1e999:1\n", "line 6: value 2 is '1e999'"),
        ("a.ts", TS + "1,1_0:1\n", "line 6: value 2 is '1_0'"),
        ("a.ts", "@dimensions 3\n@data\n1:2\n", "line 3: 2 channels but @dimensions has 3"),
        ("a.ts", "@data\n1:2\n1:2:3\n", "line 3: 3 channels but line 2 has 2"),
        ("a.ts", "@data\n1,2:3\n", "line 2: channel 1 has 1 values but channel 0 has 2"),
        ("a.ts", "@timeStamps maybe\n@data\n", "line 1: @timestamps is 'maybe': expected true or false"),
        ("a.ts", f"@seriesLength {'9' * 9999}\n@data\n", "line 1: @serieslength is"),
        ("a.ts", "@classLabel true\n@data\n1:1\n", "line 1: @classLabel true names no class"),
        ("a.ts", "@classLabel true 1\n@targetLabel true\n@data\n1:1\n", "line 3: both @classLabel and @targetLabel"),
        ("a.ts", "@targetLabel true\n@data\n1:high\n", "line 3: the target is 'high'"),
        ("a.ts", "@missing true\n@missing false\n@data\n1\n", "line 2: @missing is declared twice"),
        ("a.ts", "@timeStamps true\n@data\n(0,1),(0,2)\n", "line 3: time repeats at step 1"),
        ("a.ts", "@timeStamps true\n@data\n(1,1),(0,2)\n", "line 3: time goes back at step 1"),
        ("a.ts", "@timeStamps true\n@data\n(0,1):(1,1)\n", "line 3: channel 1 has other times than channel 0"),
        ("a.ts", "@timeStamps true\n@data\n(0,1),(1,1):(0,1)\n", "line 3: channel 1 has 1 values"),
        ("a.ts", "@timeStamps true\n@data\n(0,1),(1\n", "line 3: expected (time,value)"),
        ("a.ts", "@timeStamps true\n@data\n(0,1),(1)\n", "line 3: channel 0 is not made of (time,value) pairs"),
        ("a.ts", "@timeStamps true\n@data\n(today,1)\n", "line 3: the times 'today'"),
        ("a.ts", "@timeStamps true\n@data\n(1066-10-14,1)\n", "line 3: the times"),
        ("a.ts", "@timeStamps true\n@data\n(1,1)\n(2007-01-01,1)\n", "some times are numbers and some are datetimes"),
        ("a.tsv", "", "is empty"),
        ("a.tsv", "1\t2\t3\n1\t2\n", "line 2: 1 values but line 1 has 2"),
        ("a.tsv", "one\t2\t3\n", "line 1: the line begins with 'one': expected an integer class label"),
        ("a.tsv", "0.5\t2\t3\n", "line 1: the line begins with '0.5'"),
        ("a.tsv", "1\n", "line 1: no value after the label"),
        ("a.tsv", "1\tNaN\n", "line 1: no value after the label"),
        ("a.tsv", "1\t2\t\t3\n", "line 1: value 2 is empty"),
        ("a.arff", "", "no @data line"),
        ("a.arff", ARFF, "line 5: no data after @data"),
        ("a.arff", ARFF + "1,2\n", "line 6: channel 0 has 1 values for 2 numeric"),
        ("a.arff", ARFF + "1,2,3\n", "line 6: the class '3' is not among the declared {1,2}"),
        ("a.arff", ARFF + "1\n", "line 6: no class after the last comma"),
        ("a.arff", "@attribute a string\n@data\n", "line 1: the attribute type 'string'"),
        ("a.arff", "@attribute a numeric\n@data\n1\n", "line 2: no class is declared"),
        ("a.arff", RELATIONAL + "'1\\n2,1\n", "line 7: expected the channels in quotes"),
        ("a.arff", RELATIONAL + "'1\\n2',1\n'1',1\n", "line 8: 1 channels, but the first sequence has 2"),
        ("a.arff", RELATIONAL + "'1\\n2,3',1\n", "line 7: channel 1 has 2 values for 1 numeric attributes"),
        ("a.csv", "", "no rows"),
        ("a.csv", "x\nup\n", "has no column of numbers for a channel: it has 'x'"),
        ("a.csv", "id\n1\n", "line 1: no column besides"),
        ("a.csv", "id,x\n1,2\n1\n", "line 3: 1 values for 2 columns"),
        ("a.csv", 'id,x\n1,2\n1,"3\n', "line 3: unexpected end of data"),
        ("a.csv", 'id,x\n"a\nb",2\nc,d\n', "line 4: column 'x' holds 'd'"),
        ("a.csv", "id,x\n,2\n", "line 2: no id"),
        ("a.csv", "id,x,x\n1,2,3\n", "line 1: the column names"),
        ("a.csv", "id,time,x\n1,,2\n", "line 2: no time"),
        ("a.csv", "id,time,x\n1,soon,2\n", "line 2: column 'time' holds 'soon'"),
        ("a.csv", "id,time,x\n1,0,2\n1,0,3\n", "times of sequence 0 repeats"),
        ("a.csv", "id,x,label\n1,2,a\n1,3,b\n", "changes from"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(name, content, words, tmp_path) -> None:
    with pytest.raises(FormatError) as caught:
        parse(tmp_path, name, content)
    assert str(caught.value).startswith(name)
    assert words in str(caught.value)


def test_windows_line_ends_and_byte_order_marks_are_fine(tmp_path) -> None:
    (tmp_path / "a.ts").write_bytes(b"\xef\xbb\xbf@classLabel true 1\r\n@data\r\n1,2:1\r\n")
    assert read(tmp_path / "a.ts")["all"].lengths.tolist() == [2]


class Explosive:
    def __reduce__(self):
        return (os.system, ("exit 1",))


def test_nothing_is_ever_unpickled(tmp_path) -> None:
    trap = np.array([Explosive()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "a.npz", values=trap, offsets=[0, 1])
    (tmp_path / "b.npy").write_bytes(pickle.dumps([1]))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(FormatError, match="nothing is ever unpickled"):
            read(tmp_path / name)
    with pytest.raises(FormatError, match="not in NumPy's format"):
        read(tmp_path / "b.npy")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"values": np.ones(3)}, "has no array 'offsets'"),
        ({"values": np.ones(3), "offsets": [0, 2]}, "offsets runs from 0 to 2"),
        ({"values": np.ones(3), "offsets": [0, 3], "labels": [1, 2]}, "labels has shape (2,)"),
        ({"values": np.ones(3), "offsets": [0, 3], "split": [2]}, "expected 0 (train) or 1 (test)"),
        ({"values": np.array(["a"]), "offsets": [0, 1]}, "expected numbers"),
        ({"values": np.ones(3), "offsets": [0, 3], "times": [0.0]}, "times has shape (1,)"),
        ({"values": np.ones(3), "offsets": [0, 3], "class_names": [1]}, "class_names has dtype int64"),
    ],
)
def test_a_wrong_npz_says_what_is_wrong(arrays, words, tmp_path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "a.npz")
    assert words in str(caught.value)


def test_a_header_that_claims_more_than_there_is_allocates_nothing(tmp_path) -> None:
    np.save(tmp_path / "small.npy", np.ones((2, 2)))
    content = (tmp_path / "small.npy").read_bytes().replace(b"(2, 2), }", b"(2, 9999999999999), }")
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(FormatError, match="cut short"):
        read(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", content)
    with pytest.raises(FormatError, match="cut short"):
        read(tmp_path / "a.npz")


def test_write_is_the_function_behind_save(tmp_path) -> None:
    assert write(PLAIN, tmp_path / "A.TS") == tmp_path / "A.TS"
    assert read(tmp_path / "A.TS")["all"].equals(PLAIN)


# --- the files in the aeon package --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def aeon_data() -> Path:
    spec = find_spec("aeon")
    if spec is None or spec.origin is None:
        pytest.skip("aeon is not installed: its data files are read, its code is not")
    return Path(spec.origin).parent / "datasets" / "data"


def test_facts_cover_every_ts_file_of_the_package(aeon_data) -> None:
    assert {file.relative_to(aeon_data).as_posix() for file in aeon_data.glob("*/*.ts")} <= set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_aeon_files_read_as_aeon_reads_them(name, aeon_data) -> None:
    if not (aeon_data / name).exists():
        pytest.skip("not in the installed version of aeon")
    data, fact = read(aeon_data / name)["all"], FACTS[name]
    assert (len(data), data.frame[0], int(data.lengths.sum())) == (
        fact["cases"],
        fact["channels"],
        fact["total_length"],
    )
    assert int(np.isnan(data.values).sum()) == fact["missing"]
    assert (np.nanmin(data.values), np.nanmax(data.values)) == (fact["min"], fact["max"])
    np.testing.assert_allclose(np.nansum(data.values), fact["sum"], rtol=1e-12, atol=1e-8)
    if data.labels.dtype.kind == "f":
        np.testing.assert_allclose(data.labels.sum(), fact["labels"]["sum"], rtol=1e-12)
    elif data.labels.dtype.kind == "i":  # aeon keeps the text of numeric labels: "1", or "1.0" for Covid3Month_disc
        assert Counter(data.labels.tolist()) == {int(float(label)): count for label, count in fact["labels"].items()}
    else:  # aeon lowers the case of labels; we keep what the file says
        assert Counter(label.lower() for label in data.labels.tolist()) == fact["labels"]


def test_labels_keep_their_case_where_aeon_lowers_it(aeon_data) -> None:
    data = read(aeon_data / "BasicMotions" / "BasicMotions_TRAIN.ts")["all"]
    assert data.class_names == ("Standing", "Running", "Walking", "Badminton")


def test_datetimes_of_aeons_example_are_kept_where_aeon_drops_them(aeon_data) -> None:
    data = read(aeon_data / "UnitTest" / "UnitTestTimeStamps_TRAIN.ts")["all"]
    assert data.times[0] == np.datetime64("2007-01-01T00:00:00")
    assert data.times[-1] == np.datetime64("2008-09-09T18:53:00")


@pytest.mark.parametrize("name", ["GunPoint", "ArrowHead", "BasicMotions"])
def test_one_data_set_is_the_same_in_every_format_it_comes_in(name, aeon_data) -> None:
    files = sorted((aeon_data / name).glob(f"{name}_TRAIN.*"))
    assert len(files) > 1
    ts = read(aeon_data / name / f"{name}_TRAIN.ts")["all"]
    for file in files:
        other = read(file)["all"]
        assert other.labels.tolist() == ts.labels.tolist()
        assert other.class_names == ts.class_names
        np.testing.assert_allclose(other.values, ts.values, atol=1e-6)
