"""Pipes and devices, odd names, odd encodings and columns of objects: what lies in folders beside the recordings."""

import os
import stat
import threading
import warnings
from pathlib import Path

import av
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import timelike as tl
from timelike.cli.main import app
from timelike.core import files
from timelike.plotting.animation_writer import check_target
from timelike.report.page import Page
from timelike.sequences import FormatError
from timelike.sequences.io.column_spec import ColumnSpec
from timelike.sequences.io.columns import parse_columns
from timelike.sequences.io.formats import FORMATS, read
from timelike.sequences.io.formats.raw_columns import RawColumns

unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
ROWS = "t,ax\n0.0,1\n0.1,3\n"


@pytest.fixture
def pipe(tmp_path):
    """Makes pipes; whoever reads one gets an end after half a minute, so that a mistake here does not hang."""
    opened = []

    def make(name: str) -> Path:
        os.mkfifo(tmp_path / name)
        handle = os.open(tmp_path / name, os.O_RDWR)
        os.write(handle, ROWS.encode())
        opened.append(handle)
        return tmp_path / name

    guard = threading.Timer(30, lambda: [os.close(opened.pop()) for _ in list(opened)])
    guard.start()
    yield make
    guard.cancel()
    for handle in opened:
        os.close(handle)


# --- reading ------------------------------------------------------------------------------------------------------


@unix
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("source", ["", "*.csv"])
def test_pipes_and_devices_in_a_folder_are_left_out_and_that_is_said(source, on_error, tmp_path, pipe) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    pipe("p.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")  # which never ends
    with pytest.warns(UserWarning, match=r"2 of 3 files are left out:\n.*p\.csv: is a pipe, not a file.*\n.*a device"):
        X = tl.load(tmp_path / source if source == "" else str(tmp_path / source), on_error=on_error)
    assert X.ids.tolist() == ["a"]
    assert {Path(path).name for path in X.source.skipped} == {"p.csv", "zero.csv"}


@unix
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_pipe_or_a_device_by_its_name_is_refused_with_a_way_out(suffix, tmp_path, pipe) -> None:
    path = pipe(f"p{suffix}")
    for load in (tl.load, lambda path: tl.load([path]), lambda path: tl.load(f"{path.parent}/*{suffix}"), read):
        with pytest.raises(FormatError, match=r"is a pipe, not a file: write what it gives into a file first"):
            load(path)
    (tmp_path / f"z{suffix}").symlink_to("/dev/zero")
    with pytest.raises(FormatError, match="is a device, not a file"):
        tl.load(tmp_path / f"z{suffix}")


@unix
def test_a_pipe_in_the_folder_of_data_sets_is_passed_over(tmp_path, pipe, monkeypatch) -> None:
    pipe("Other.npz"), pipe("Some_TEST.ts")
    with pytest.raises(FormatError, match=r"Other\.npz: is a pipe"):
        tl.load(tmp_path)
    tl.Sequences([[1.0, 2.0]], labels=["a"]).save(tmp_path / "Some_TRAIN.ts")
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path))
    assert len(tl.load("Some")) == 1
    assert "Other" not in tl.sequences.list_datasets()
    assert len(tl.load(tmp_path)) == 1


def test_a_standard_input_that_is_a_terminal_or_a_pipe_is_no_file() -> None:
    with pytest.raises(FormatError, match="^null: is a device, not a file"):
        tl.load("/dev/null")


# --- writing ------------------------------------------------------------------------------------------------------


def report(path: Path) -> None:
    folder = path.parent / "data"
    folder.mkdir(exist_ok=True)
    tl.Sequences(np.arange(12.0).reshape(2, 6), labels=["a", "b"]).save(folder / "a.npz")
    done = CliRunner().invoke(app, ["describe", str(folder / "a.npz"), "--out", str(path)])
    if done.exit_code:
        raise FileExistsError(done.output.replace("\n", " "))


WRITERS = {
    "a.npz": lambda path: tl.Sequences([[1.0, 2.0]]).save(path),
    "a.csv": lambda path: tl.Sequences([[1.0, 2.0]]).save(path),
    "a.parquet": lambda path: tl.Sequences([[1.0, 2.0]]).save(path),
    "page.html": lambda path: Page("A page").save(path),
    "out.html": report,
    "a.gif": lambda path: check_target(path, 10),
    "model": lambda path: tl.Neighbors().fit([[0, 1], [5, 5]], [0, 1]).save(path),
}


@unix
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_takes_the_place_of_a_pipe(name, linked, tmp_path, pipe) -> None:
    path = pipe(name)
    if linked:
        path = tmp_path / f"link-{name}"
        path.symlink_to(name)
    with pytest.raises(FileExistsError):
        WRITERS[name](path)
    assert stat.S_ISFIFO((tmp_path / name).stat().st_mode)
    assert not [one for one in tmp_path.iterdir() if one.name.endswith(".part")]


def test_only_the_last_folder_is_made_and_none_at_the_root(tmp_path) -> None:
    Page("A page").save(tmp_path / "demo" / "page.html")
    assert (tmp_path / "demo" / "page.html").is_file()
    with pytest.raises(FileNotFoundError, match=r"the folder .*a does not exist: make it first"):
        Page("A page").save(tmp_path / "a" / "b" / "page.html")
    assert not (tmp_path / "a").exists()
    root = Path(tmp_path.anchor)
    for folder, parents in ((root / "nosuchfolder", False), (root / "nosuchfolder" / "runs", True)):
        with pytest.raises(FileNotFoundError, match="nosuchfolder does not exist: make it first"):
            files.make_folder(folder, parents=parents)
    assert not (root / "nosuchfolder").exists()
    files.make_folder(tmp_path / "x" / "y", parents=True)
    assert (tmp_path / "x" / "y").is_dir()


def test_a_checkpoint_makes_its_own_folder_and_no_other(tmp_path) -> None:
    X, y = np.random.default_rng(0).normal(size=(12, 8)), np.repeat([0, 1], 6)
    methods, folds = {"one": tl.Neighbors("euclidean")}, [(np.arange(0, 12, 2), np.arange(1, 12, 2))]
    tl.compare(X, y, methods=methods, cv=folds, checkpoint=tmp_path / "kept")
    with pytest.raises(FileNotFoundError, match=r"checkpoint='.*b': the folder .*a does not exist"):
        tl.compare(X, y, methods=methods, cv=folds, checkpoint=tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_that_are_no_utf8_become_ids_that_can_be_printed(tmp_path, capsys) -> None:
    try:
        for name in (b"caf\xe9.csv", b"caf\xe8.csv"):
            Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text(ROWS)
    except OSError:
        pytest.skip("this file system takes no such names")
    (tmp_path / "käse.csv").write_text(ROWS)
    X = tl.load(tmp_path)
    assert sorted(X.ids.tolist()) == ["caf\\xe8", "caf\\xe9", "käse"]
    print(X, X.source)
    assert "\\xe9.csv" in capsys.readouterr().out.encode("utf-8").decode()
    again = tl.load(X.save(tmp_path.parent / "again.npz"))
    assert sorted(again.ids.tolist()) == sorted(X.ids.tolist())
    assert len(tl.load(X.source.files[0])) == 1  # which are paths still


@pytest.mark.parametrize(
    "source", ["~nosuchuser/a.csv", "~nosuchuser/logs", "~nosuchuser/*.csv", ["~nosuchuser/a.csv"]]
)
def test_a_home_of_nobody_is_not_found(source) -> None:
    with pytest.raises(FileNotFoundError, match="nosuchuser"):
        tl.load(source)
    with pytest.raises(FileNotFoundError, match="the folder .*nosuchuser does not exist"):
        tl.Sequences([[1.0]]).save("~nosuchuser/a.npz")


# --- encodings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("t,größe\n0,1\n".encode("utf-16"), r"line 1: is UTF-16 text.*iconv -f UTF-16 -t UTF-8"),
        ("t,ax\n0,1\n1,2\n".encode("utf-16-le"), r"line 1: is UTF-16 text without a mark.*iconv -f UTF-16LE"),
        ("t,ax\n0,1\n1,2\n".encode("utf-16-be"), r"line 1: is UTF-16 text without a mark.*iconv -f UTF-16BE"),
        ("t,ax\n0,1\n".encode("utf-32"), r"is UTF-32 text"),
        (b"t,ax\n0,1\n" + "1,größe\n".encode("latin-1"), r"line 3: is not UTF-8 text but perhaps Windows-1252, with 'ö'"),
        ("t,ax\n0,€\n".encode("cp1252"), r"line 2: is not UTF-8 text but perhaps Windows-1252, with '€'"),
        (b"\x1f\x8b\x08\0" + bytes(range(128, 200)), r"is compressed: unpack it first"),
        (b"t,ax\n0,\x01\x02\xff\n", r"line 2: is not UTF-8 text: expected text"),
        (b"t,ax\n0,1\n\0\0\n", r"line 3: holds binary data: expected text"),
    ],
)  # fmt: skip
def test_text_of_another_encoding_is_told_apart(content, words, tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(FormatError, match=rf"^a\.csv, .*{words}|{words}"):
        tl.load(tmp_path / "a.csv")


def test_a_mark_of_utf8_is_no_part_of_the_first_name(tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + ROWS.encode())
    X = tl.load(tmp_path / "a.csv")
    assert X.channel_names == ("ax",)
    assert X.times.tolist() == [0.0, 0.1]


def test_a_video_with_a_title_in_latin_1_is_loaded(tmp_path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        container.metadata["title"] = "Ein sch?ner Film"
        stream = container.add_stream("mpeg4", rate=25)
        stream.height = stream.width = 16
        for shade in (0, 100, 200):
            picture = np.full((16, 16, 3), shade, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    content = path.read_bytes()
    assert b"sch?ner" in content
    path.write_bytes(content.replace(b"sch?ner", b"sch\xf6ner"))
    assert tl.load(path).shape == (1, 3, 3, 16, 16)


# --- columns of objects -------------------------------------------------------------------------------------------

N = 4
BASE = {"t": np.arange(N) / 10, "a": np.arange(N) * 1.5}
COLUMNS = {
    "list": pa.array([[1, 2]] * N),
    "struct": pa.array([{"k": 1}] * N),
    "map": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\xff\xfe"] * N),
    "fixed": pa.array([[1.0, 2.0]] * N, pa.list_(pa.float64(), 2)),
}


def assert_only_a(X: tl.Sequences) -> None:
    assert X.channel_names == ("a",)
    np.testing.assert_array_equal(X[0][:, 0], BASE["a"])
    np.testing.assert_array_equal(X.times, BASE["t"])


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_objects_does_not_keep_others_from_being_loaded(kind, tmp_path) -> None:
    table = pa.table(BASE | {"x": COLUMNS[kind]})
    pq.write_table(table, tmp_path / "a.parquet")
    for values in (["a"], None):
        assert_only_a(tl.load(tmp_path / "a.parquet", values=values))
        assert_only_a(tl.Sequences.from_frames([table], values=values))
    assert "left out, as no channel: 'x'" in tl.load(tmp_path / "a.parquet").source.notes
    with pytest.raises(FormatError, match="values: the column 'x' is text, a single value or an object"):
        tl.load(tmp_path / "a.parquet", values=["x"])
    with pytest.raises(FormatError, match="label in column 'x' is a list, bytes or another object"):
        tl.load(tmp_path / "a.parquet", label="x")


@pytest.mark.parametrize(
    "column", [[[1, 2]] * N, [{"k": 1}] * N, [b"\xff"] * N, pl.Series([object()] * N, dtype=pl.Object)]
)
def test_a_polars_table_with_a_column_of_objects(column) -> None:
    for values in (["a"], None):
        assert_only_a(tl.Sequences.from_frames([pl.DataFrame(BASE | {"x": column})], values=values))


def test_a_long_table_with_a_list_is_loaded_by_its_channels(tmp_path) -> None:
    pq.write_table(pa.table(BASE | {"id": ["u", "u", "v", "v"], "x": COLUMNS["list"]}), tmp_path / "a.parquet")
    X = tl.load(tmp_path / "a.parquet", values=["a"])
    assert X.ids.tolist() == ["u", "v"]
    assert X.channel_names == ("a",)


# --- many columns -------------------------------------------------------------------------------------------------


class Counted(dict):
    """Counts how often all columns are gone through."""

    rounds = 0

    def __iter__(self):
        self.rounds += 1
        return super().__iter__()


@pytest.mark.parametrize("by", ["none", "names", "positions"])
def test_how_often_columns_are_gone_through_does_not_depend_on_their_number(by) -> None:
    """A look at all of them for each of them made 30 000 columns a matter of minutes."""
    rounds = []
    for n in (20, 200):
        names = [f"c{i}" for i in range(n)]
        block = np.ones((3, n + 1)) * np.arange(3)[:, None]
        columns = Counted(zip(["t", *names], block.T, strict=True))
        values = {"none": None, "names": names, "positions": list(range(1, n + 1))}[by]
        found = parse_columns(RawColumns(Path("a.csv"), columns, block=block), ColumnSpec.from_options(values=values))
        assert found.names == tuple(names)
        rounds.append(columns.rounds)
    assert rounds[0] == rounds[1]


def test_many_named_columns_in_a_frame_and_one_twice(tmp_path) -> None:
    header = ",".join(f"c{i}" for i in range(300))
    (tmp_path / "a.csv").write_text(f"{header},c7\n" + ",".join(["1.5"] * 301) + "\n")
    with pytest.raises(FormatError, match="are not all different"), warnings.catch_warnings():
        tl.load(tmp_path / "a.csv")


def test_labels_that_are_text_in_one_file_and_numbers_in_another_are_refused_by_file(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", values=np.ones((2, 1)), offsets=[0, 2], labels=[3])
    tl.Sequences([[1.0, 2.0]], labels=["up"]).save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match=r"labels are text in b\.npz and numbers in a\.npz: expected one kind"):
        tl.load([tmp_path / "a.npz", tmp_path / "b.npz"])


@unix
def test_a_model_is_not_saved_over_a_pipe_which_is_named_so(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    model = tl.Rocket(n_features=84).fit([[1.0, 2.0]])
    with pytest.raises(FileExistsError, match="pipe is a pipe: expected the name of a folder"):
        model.save(tmp_path / "pipe")
    with pytest.raises(NotADirectoryError, match="pipe is a pipe, so there can be no"):
        model.save(tmp_path / "pipe" / "model")
