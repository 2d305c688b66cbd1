"""What holds for every file format in the table, and for one that is added to it: each is found, none is listed here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from timelike.sequences import FormatError, list_datasets
from timelike.sequences.io import formats
from timelike.sequences.io.formats import FORMATS, Format, read, text

WRITTEN = [suffix for suffix, known in FORMATS.items() if known.is_writable]


def lacks(suffix: str) -> set[str]:
    """What a format says it has no place for, with what follows from it."""
    words = set(FORMATS[suffix].load_module().UNSUPPORTED[suffix])
    if "labels" in words:
        words |= {"targets", "class_names"}
    return words | {"other classes"} if "class_names" in words else words


def expected(data: tl.Sequences, suffix: str) -> tl.Sequences:
    """What is read back: the same, but a format without a place for "no ids" numbers the sequences."""
    return data.replace(ids=np.arange(len(data))) if "no ids" in lacks(suffix) and data.ids is None else data


def fitting(data: tl.Sequences, suffix: str) -> tl.Sequences:
    """Without the labels where there is no place for any."""
    return data.replace(labels=None) if "labels" in lacks(suffix) else data


# --- what is written is what is read ------------------------------------------------------------------------------

VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def collections(draw: st.DrawFn, lacking: set[str]) -> tl.Sequences:
    n_items = draw(st.integers(1, 4))
    one_length = st.just(draw(st.integers(1, 4)))
    each_length = one_length if "unequal lengths" in lacking else st.integers(1, 4)
    lengths = draw(st.lists(each_length, min_size=n_items, max_size=n_items))
    n_channels = 1 if "channels" in lacking else draw(st.integers(1, 3))
    frame = (n_channels, 2, 3) if "frames" not in lacking and draw(st.booleans()) else (n_channels,)
    total = sum(lengths)
    values = np.array(draw(st.lists(VALUES, min_size=total * n_channels, max_size=total * n_channels)))
    values = np.broadcast_to(values.reshape(total, n_channels, *[1] * (len(frame) - 1)), (total, *frame)).copy()
    values[draw(st.lists(st.integers(0, total - 1), max_size=3))] = np.nan
    offsets = np.cumsum([0, *lengths])
    if "missing ends" in lacking:
        values[offsets[1:] - 1] = 0.5
    known = {}
    if "times" not in lacking and draw(st.booleans()):
        steps = draw(st.lists(st.integers(1, 10**6), min_size=total, max_size=total))
        known["times"] = np.cumsum(steps) / 7
        if draw(st.booleans()):
            known["times"] = np.datetime64("2007-01-01", "ns") + np.cumsum(steps).astype("timedelta64[us]")
    known["labels"] = draw(labels(lacking, n_items))
    if (
        "other classes" not in lacking
        and known["labels"] is not None
        and known["labels"].dtype.kind == "U"
        and draw(st.booleans())
    ):
        known["class_names"] = ["zebra", *np.unique(known["labels"]), "absent"]
    if "groups" not in lacking and draw(st.booleans()):
        known["groups"] = draw(st.sampled_from([np.arange(n_items) % 2, np.array(["s", "t", "s,", "u v"])[:n_items]]))
    if "ids" not in lacking and draw(st.booleans()):
        known["ids"] = draw(
            st.sampled_from([np.arange(n_items)[::-1] * 3, np.array(['a"', "b,", "c", "d e"])[:n_items]])
        )
    if "channel_names" not in lacking and draw(st.booleans()):
        known["channel_names"] = ["x", "y, z", "é"][:n_channels]
    return tl.Sequences.from_packed(values, offsets, **known)


def labels(lacking: set[str], n_items: int) -> st.SearchStrategy[np.ndarray | None]:
    if "labels" in lacking:
        return st.none()
    kinds = [st.lists(st.integers(-(10**12), 10**12), min_size=n_items, max_size=n_items).map(np.array)]
    if "unlabelled" not in lacking:
        kinds.append(st.none())
    if "targets" not in lacking:
        floats = st.floats(-1e300, 1e300).map(lambda x: x + 0.0)
        kinds.append(st.lists(floats, min_size=n_items, max_size=n_items).map(lambda x: np.array(x, dtype=np.float64)))
    if "class_names" not in lacking:
        names = st.sampled_from(["Up", "up", "ü", "a.b", "01", "x-1", "50%", "#7"])
        kinds.append(
            st.lists(names, min_size=n_items, max_size=n_items).map(lambda x: np.array(["Up", *x[1:]]))
        )  # not all like numbers
    return st.one_of(kinds)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_is_written_is_what_is_read(suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / f"data{suffix}"

    @settings(max_examples=40, deadline=None)
    @given(collections(lacks(suffix)))
    def round_trip(data: tl.Sequences) -> None:
        assert data.save(path) == path
        back = read(path)["all"]
        assert back.equals(expected(data, suffix)), (back, expected(data, suffix))
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    round_trip()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint64, bool])
@pytest.mark.parametrize("suffix", WRITTEN)
def test_text_formats_read_back_as_float64_and_binary_ones_keep_the_dtype(suffix, dtype, tmp_path) -> None:
    data = fitting(tl.Sequences(np.array([[0, 1, 1], [1, 1, 1]], dtype=dtype), labels=[1, 2]), suffix)
    back = tl.load(data.save(tmp_path / f"a{suffix}"))
    assert back.dtype == (np.float64 if "dtypes" in lacks(suffix) else dtype)
    np.testing.assert_array_equal(back.values.astype(float), data.values.astype(float))


@pytest.mark.parametrize("number", [2**60 + 1, 2**53 + 1, -(2**53) - 1])
@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_large_integer_is_read_back_exactly_or_refused(suffix, number, tmp_path) -> None:
    data, path = fitting(tl.Sequences([[number]], labels=[1]), suffix), tmp_path / f"a{suffix}"
    if "dtypes" in lacks(suffix):
        with pytest.raises(ValueError) as caught:
            data.save(path)
        assert "beyond 2**53 are not exact" in str(caught.value)
        assert list(tmp_path.iterdir()) == []
    else:
        assert tl.load(data.save(path))[0].item() == number


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITTEN if "labels" not in lacks(suffix)])
def test_the_largest_integer_labels_survive_every_format(suffix, tmp_path) -> None:
    data = PLAIN.replace(labels=[2**63 - 1, 2**60 + 1], ids=[7, 2**60 + 1] if "no ids" in lacks(suffix) else None)
    back = tl.load(data.save(tmp_path / f"a{suffix}"))
    assert back.labels.tolist() == [2**63 - 1, 2**60 + 1]
    assert back.equals(data)


# --- what a format has no place for -------------------------------------------------------------------------------

PLAIN = tl.Sequences([[1.0, 2.0], [3.0, 4.0]], labels=[1, 2])
HAVING = {
    "unequal lengths": tl.Sequences([[1.0, 2.0], [3.0]], labels=[1, 2]),
    "channels": tl.Sequences(np.ones((2, 3, 2)), labels=[1, 2]),
    "frames": tl.Sequences(np.ones((2, 3, 1, 4, 4)), labels=[1, 2]),
    "missing ends": tl.Sequences([[1.0, np.nan], [3.0, 4.0]], labels=[1, 2]),
    "times": PLAIN.replace(times=[0.0, 1.0]),
    "labels": PLAIN,
    "unlabelled": PLAIN.replace(labels=None),
    "targets": PLAIN.replace(labels=[0.5, 1.5]),
    "class_names": PLAIN.replace(labels=["a", "b"]),
    "other classes": PLAIN.replace(labels=["a", "b"], class_names=["b", "c", "a"]),
    "groups": PLAIN.replace(groups=[1, 1]),
    "ids": PLAIN.replace(ids=[7, 3]),
    "channel_names": PLAIN.replace(channel_names=["x"]),
}
LABELS = ("labels", "targets", "class_names", "other classes")


def having(word: str, suffix: str) -> tl.Sequences:
    return HAVING[word] if word in LABELS else fitting(HAVING[word], suffix)


@pytest.mark.parametrize("word", HAVING)
@pytest.mark.parametrize("suffix", WRITTEN)
def test_all_that_is_known_is_kept_or_refused_as_the_format_says(suffix, word, tmp_path) -> None:
    data, path = having(word, suffix), tmp_path / f"a{suffix}"
    if word in lacks(suffix):
        with pytest.raises(ValueError, match=rf"\{suffix}"):
            data.save(path)
        assert list(tmp_path.iterdir()) == []
    else:
        assert tl.load(data.save(path)).equals(expected(data, suffix))


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_table_and_the_module_say_the_same(suffix) -> None:
    module = FORMATS[suffix].load_module()
    assert list(module.UNSUPPORTED) == [other for other, known in FORMATS.items() if known.load_module() is module]
    assert lacks(suffix) <= set(get_args(text.UnsupportedFeature)) == {*HAVING, "dtypes", "no ids"}
    assert hasattr(module, "write") or not FORMATS[suffix].is_writable
    assert hasattr(module, "has_sequences") or not FORMATS[suffix].is_shared


@pytest.mark.parametrize("suffix", WRITTEN)
def test_nothing_is_not_written(suffix, tmp_path) -> None:
    with pytest.raises(ValueError, match="there are no sequences to write"):
        PLAIN[:0].save(tmp_path / f"a{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_test_part_is_kept_or_refused_as_the_format_says(suffix, tmp_path) -> None:
    train, test, path = fitting(PLAIN, suffix), fitting(PLAIN[:1], suffix), tmp_path / f"a{suffix}"
    if FORMATS[suffix].has_split:
        first, second = tl.load(train.save(path, test=test))
        assert first.equals(train)
        assert second.equals(test)
    else:
        with pytest.raises(ValueError, match=rf"test goes with \.npz.* save \{suffix} files one by one"):
            train.save(path, test=test)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [suffix for suffix in FORMATS if "dtypes" in lacks(suffix)])
@pytest.mark.parametrize(
    "content", ["1\t2\n".encode("utf-16"), b"@data\n1\xff\n", b"\x1f\x8b\x08\x00\x00", b"1\t2\n\x00\x00"]
)
def test_text_in_another_encoding_is_refused(suffix, content, tmp_path) -> None:
    (tmp_path / f"a{suffix}").write_bytes(content)
    with pytest.raises(FormatError, match=r"line \d"):
        read(tmp_path / f"a{suffix}")


# --- how files are found ------------------------------------------------------------------------------------------


@pytest.fixture
def data_folder(tmp_path, monkeypatch) -> Path:
    """The only place where names are looked for."""
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path))
    monkeypatch.setenv("TIMELIKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_name_finds_one_file_where_that_is_a_data_set(suffix, data_folder) -> None:
    data, known = fitting(PLAIN, suffix), FORMATS[suffix]
    path = data.save(data_folder / f"Demo{suffix}")
    assert list_datasets() == (["Demo"] if known.is_found_by_name and known.is_standalone else [])
    found = tl.load("Demo") if list_datasets() else tl.load(path)
    assert found.equals(expected(data, suffix))


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_name_finds_two_parts_and_a_folder_gives_both(suffix, data_folder) -> None:
    (data_folder / "Demo").mkdir()
    parts = {"TRAIN": fitting(PLAIN, suffix), "TEST": fitting(PLAIN[:1], suffix)}
    for part, data in parts.items():
        data.save(data_folder / "Demo" / f"Demo_{part}{suffix}")
    assert list_datasets() == (["Demo"] if FORMATS[suffix].is_found_by_name else [])
    found = tl.load("Demo") if list_datasets() else tl.load(data_folder / "Demo")
    for back, data in zip(found, parts.values(), strict=True):
        assert back.equals(expected(data, suffix))


def test_importing_the_package_imports_no_format() -> None:
    program = (
        "import sys, timelike.sequences.io.load; from timelike.sequences.io.formats import FORMATS, __name__ as folder;"
        "print([known.module for known in FORMATS.values() if f'{folder}.{known.module}' in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


# --- a new format: a module in the folder and a line in the table --------------------------------------------------

TOY = '''
"""Sequences of single numbers as a list in JSON."""

import json

from timelike.core.files import write_lines
from timelike.sequences.container import Sequences
from timelike.sequences.io.formats import text

UNSUPPORTED = {".toy": ("channels", "frames", "times", "labels", "groups", "ids", "channel_names", "dtypes")}


def read(path):
    return {"all": Sequences(json.loads("".join(text.read_lines(path))))}


def write(data, path):
    text.refuse_unsupported(data, ".toy", UNSUPPORTED[".toy"], ".npz")
    if data.frame != (1,):
        raise ValueError(f"{data.frame[0]} channels cannot be stored in .toy: use .npz")
    write_lines(path, iter([json.dumps([sequence.ravel().astype(float).tolist() for sequence in data])]))
'''


@pytest.fixture
def toy(tmp_path_factory, monkeypatch) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("formats")
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])  # as if the file were in the folder
    monkeypatch.setitem(FORMATS, ".toy", Format("toy"))
    yield ".toy"
    sys.modules.pop(f"{formats.__name__}.toy", None)
    formats.__dict__.pop("toy", None)


def test_a_line_in_the_table_is_enough_to_save_and_load(toy, data_folder) -> None:
    data = tl.Sequences([[1.0, np.nan], [3.5]])
    path = data.save(data_folder / "Demo.TOY")
    assert tl.load(path).equals(data)
    assert tl.load("Demo").equals(data)
    assert list_datasets() == ["Demo"]
    with pytest.raises(ValueError, match=r"expected one of .*, \.toy"):
        data.save(data_folder / "a.mat")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'Demo.TOY'\?"):
        tl.load(data_folder / "Dmeo.TOY")
    (data_folder / "bad.toy").write_text("[[1, ")
    with pytest.raises(FormatError, match=r"bad\.toy: cannot be read"):
        tl.load(data_folder / "bad.toy")


def test_a_new_format_passes_the_tests_of_the_others(toy, tmp_path, tmp_path_factory, data_folder) -> None:
    test_what_is_written_is_what_is_read(toy, tmp_path_factory)
    for word in HAVING:
        test_all_that_is_known_is_kept_or_refused_as_the_format_says(toy, word, tmp_path_factory.mktemp("word"))
    test_the_table_and_the_module_say_the_same(toy)
    test_a_test_part_is_kept_or_refused_as_the_format_says(toy, tmp_path_factory.mktemp("part"))
    test_a_name_finds_one_file_where_that_is_a_data_set(toy, data_folder)


def test_a_format_that_forgets_what_it_drops_is_caught(toy, monkeypatch, tmp_path) -> None:
    module = FORMATS[toy].load_module()
    monkeypatch.setattr(
        module, "UNSUPPORTED", {toy: tuple(word for word in module.UNSUPPORTED[toy] if word != "groups")}
    )
    with pytest.raises(AssertionError):
        test_all_that_is_known_is_kept_or_refused_as_the_format_says(toy, "groups", tmp_path)


@pytest.mark.parametrize(
    ("facts", "found"),
    [({"is_found_by_name": False}, []), ({"is_standalone": False}, ["Both"]), ({}, ["Both", "Demo"])],
)
def test_the_line_says_which_files_a_name_finds(facts, found, toy, data_folder, monkeypatch) -> None:
    monkeypatch.setitem(FORMATS, toy, Format("toy", **facts))
    for name in ("Demo", "Both_TRAIN", "Both_TEST"):
        tl.Sequences([[1.0]]).save(data_folder / f"{name}.toy")
    assert list_datasets() == found


def test_files_that_others_use_too_are_looked_into(toy, data_folder, monkeypatch) -> None:
    monkeypatch.setitem(FORMATS, toy, Format("toy", is_shared=True))
    monkeypatch.setattr(
        FORMATS[toy].load_module(), "has_sequences", lambda path: "3" in path.read_text(), raising=False
    )
    tl.Sequences([[3.0]]).save(data_folder / "Ours.toy")
    (data_folder / "Theirs.toy").write_text('{"theirs": 1}')
    assert list_datasets() == ["Ours"]
    with pytest.raises(FormatError, match=r"\$TIMELIKE_DATA has .*Theirs.toy, but it does not hold sequences"):
        tl.load("Theirs")


def test_a_format_that_is_only_read_says_what_can_be_written(toy, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(FORMATS, toy, Format("toy", is_writable=False))
    (tmp_path / "a.toy").write_text("[[1.0, 2.0]]")
    assert tl.load(tmp_path / "a.toy").lengths.tolist() == [2]
    with pytest.raises(ValueError, match=r"has the suffix '\.toy': expected one of \.ts, .*\.parquet$"):
        PLAIN.save(tmp_path / "b.toy")
