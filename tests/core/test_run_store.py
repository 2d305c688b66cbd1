"""The folder of a run: what is finished is kept, what was edited or is of another run is refused."""

import json

import numpy as np
import pytest

from tampering import mutated
from timelike.core.run_store import RunStore

IDENTITY = {"data": "5f1c", "model": "Ridge()"}
ROW = {"scores": [0.1, float("nan"), float("inf")], "name": "Größe", "limit": None, "step": 3}


def opened(folder, identity=IDENTITY, **given):
    return RunStore(folder, given.pop("kind", "backtest"), identity, **given)


def rows_in(folder):
    return sorted(file for file in folder.iterdir() if file.name != "run.json")


def test_a_row_is_read_back_as_it_was_saved(tmp_path):
    opened(tmp_path / "kept").save("a/0", ROW, {"steps": 3})
    found = opened(tmp_path / "kept").find("a/0", {"steps": 3})
    assert repr(found) == repr(ROW)  # nan is unlike itself
    assert opened(tmp_path / "kept").find("a/1", {"steps": 3}) is None


def test_without_a_folder_nothing_is_stored():
    store = opened(None, seed=5)
    store.save("a", ROW, arrays={"x": np.zeros(3)})
    assert (store.find("a"), store.folder, store.seed) == (None, None, 5)


def test_a_row_that_is_saved_again_replaces_the_first(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1, arrays={"x": np.zeros(3)})
    store.save("a", 2, arrays={"x": np.ones(3)})
    assert store.find("a") == 2
    np.testing.assert_array_equal(store.load_arrays("a")["x"], np.ones(3))


def test_keys_that_look_alike_in_a_file_name_have_files_of_their_own(tmp_path):
    store = opened(tmp_path)
    keys = ["a/b", "a-b", "a b", "A/B", "a" * 300, "a" * 301, "", "ü", "../x", "run"]
    for number, key in enumerate(keys):
        store.save(key, number)
    assert [store.find(key) for key in keys] == list(range(len(keys)))
    assert len(rows_in(tmp_path)) == len(keys)


# --- another run


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"identity": IDENTITY | {"data": "77aa"}}, "data"),
        ({"identity": IDENTITY | {"model": "AR()"}}, "model"),
        ({"identity": IDENTITY | {"baseline": "Mean()"}}, "baseline"),
        ({"identity": {"data": "5f1c"}}, "model"),
        ({"seed": 8}, "random_state"),
    ],
)
def test_a_folder_of_another_run_is_refused(tmp_path, change, word):
    opened(tmp_path, seed=7)
    expected = rf"checkpoint=.* is of another backtest \(different {word}\): repeat its call, or give another folder"
    with pytest.raises(ValueError, match=expected):
        opened(tmp_path, **{"seed": 7} | change)
    opened(tmp_path, seed=7)


def test_a_folder_of_another_kind_of_run_is_refused(tmp_path):
    opened(tmp_path)
    with pytest.raises(ValueError, match="out='.*' is of a backtest, not of a comparison: give another folder"):
        opened(tmp_path, kind="comparison", option="out")


def test_a_run_without_a_seed_of_its_own_goes_on_with_the_first(tmp_path):
    assert opened(tmp_path, seed=7, any_seed=True).seed == 7
    assert opened(tmp_path, seed=8, any_seed=True).seed == 7


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="checkpoint=.* holds other files: give a folder of its own"):
        opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_what_a_killed_run_left_before_its_first_row_is_no_other_file(tmp_path):
    (tmp_path / ".run.json.00000000-1.abc.part").write_text("{")
    opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(("folder", "error"), [("", ValueError), (3, TypeError), ("\0", ValueError)])
def test_what_is_no_folder_is_refused_by_the_name_of_the_option(folder, error):
    with pytest.raises(error, match="checkpoint="):
        opened(folder)


def test_the_folder_above_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="checkpoint=.* does not exist"):
        opened(tmp_path / "a" / "b")


# --- other settings, and checks of the caller


def test_a_row_of_other_settings_is_refused_and_both_are_named(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1, {"steps": 3, "model": "Ridge()"})
    for settings, words in (
        ({"steps": 4, "model": "Ridge()"}, "has 'a' with steps=3, not steps=4: repeat its call, give it another name"),
        ({"steps": 3}, r"has 'a' with model='Ridge\(\)', not model=None"),
        ({"steps": 3, "model": "Ridge()", "n": 2}, "has 'a' with n=None, not n=2"),
    ):
        with pytest.raises(ValueError, match=words):
            store.find("a", settings)


def test_a_check_of_the_caller_is_told_the_file(tmp_path):
    def parse(row, where):
        assert json.loads((tmp_path / where).read_text())["row"] == row
        return -row

    store = opened(tmp_path)
    store.save("a", 1)
    assert store.find("a", parse=parse) == -1


# --- edited and interrupted


def test_edited_files_are_refused_by_name(tmp_path):
    opened(tmp_path).save("a", ROW, {"steps": 3}, arrays={"x": np.arange(6.0)})
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(files) == 3
    for file, content in files.items():
        edits = [content[: len(content) * part // 10] for part in range(10)] + [content[:-9] + b"0" + content[-8:]]
        if file.suffix == ".json":
            edits += [json.dumps(tree).encode() for tree in mutated(json.loads(content))]
        for edit in edits:
            if edit.strip() == content.strip():
                continue
            file.write_bytes(edit)
            with pytest.raises(ValueError, match="not valid JSON|has changed since it was written") as refusal:
                opened(tmp_path).find("a", {"steps": 3})
            assert str(file) in str(refusal.value)
        file.write_bytes(content)
    assert opened(tmp_path).find("a", {"steps": 3})["name"] == "Größe"


@pytest.mark.parametrize("text", ["", "[]", "3", "null", '"text"', "[" * 100_000, "1" * 5000])
def test_a_file_that_is_something_else_is_refused_by_name(tmp_path, text):
    store = opened(tmp_path)
    store.save("a", 1)
    (file,) = rows_in(tmp_path)
    file.write_text(text)
    with pytest.raises(ValueError, match=rf"checkpoint: '{file}' .*; delete it to recompute the row"):
        store.find("a")
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ValueError, match=r"run.json' .*; delete the folder to start anew"):
        opened(tmp_path)


def test_bytes_that_are_no_text_are_refused_by_name(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1)
    rows_in(tmp_path)[0].write_bytes(b"\xff{")
    with pytest.raises(ValueError, match="is not valid JSON: 'utf-8' codec"):
        store.find("a")


def test_a_row_under_the_name_of_another_is_refused(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1)
    (first,) = rows_in(tmp_path)
    store.save("b", 2)
    (second,) = {*rows_in(tmp_path)} - {first}
    first.replace(second)
    with pytest.raises(ValueError, match="is the row of 'a': expected that of 'b'"):
        store.find("b")


def test_arrays_without_their_row_are_a_row_that_is_not_finished(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1, arrays={"x": np.zeros(3)})
    for file in tmp_path.glob("a-*.json"):  # killed between the arrays and the row
        file.unlink()
    assert store.find("a") is None


def test_a_row_whose_arrays_are_gone_is_refused(tmp_path):
    store = opened(tmp_path)
    store.save("a", 1, arrays={"x": np.zeros(3)})
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    with pytest.raises(ValueError, match="is missing or has changed"):
        store.find("a")


def test_an_interrupted_save_leaves_the_earlier_row(tmp_path, monkeypatch):
    store = opened(tmp_path)
    store.save("a", 1)

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.save("a", 2)
    monkeypatch.undo()
    assert store.find("a") == 1
    assert len(rows_in(tmp_path)) == 1
