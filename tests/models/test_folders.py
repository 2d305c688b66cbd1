"""Models in folders: saved whole, read by any later version, never run."""

import json
import shutil

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator
from torch import nn

import timelike as tl
from timelike.train import Savable, atomic, folders, read_model, registry, save_model

TENSORS = {"weight": torch.arange(6.0).reshape(2, 3), "count": np.array([1, 2]), "none": torch.zeros(0)}


class Tiny(BaseEstimator, Savable):
    """An estimator with a network, class names, and a metric as a parameter."""

    def __init__(self, *, size=3, metric=None, slope=(0.0, None), random_state=None):
        self.size, self.metric, self.slope, self.random_state = size, metric, slope, random_state

    def fit(self, X, y):
        self.module_, self.classes_ = nn.Linear(self.size, 2), sorted(set(y))
        return self

    def _learned(self):
        return self.module_.state_dict(), {"classes": self.classes_}

    def _restore(self, tensors, extra):
        self.fit(None, extra["classes"])
        self.module_.load_state_dict(tensors)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(registry.METHODS, "Tiny", f"{__name__}:Tiny")


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    save_model(folder, method="DTW", parameters={"window": 0.1}, tensors=TENSORS, extra={"classes": ["a", "b"]})
    return folder


def test_a_model_comes_back_as_it_was_saved(saved):
    model = read_model(saved)
    assert (model.method, model.parameters, model.extra) == ("DTW", {"window": 0.1}, {"classes": ["a", "b"]})
    assert model.library_version == tl.__version__
    for name, tensor in TENSORS.items():
        torch.testing.assert_close(model.tensors[name], torch.as_tensor(tensor), rtol=0, atol=0)
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", "model.safetensors"]


def test_an_estimator_needs_two_methods_to_be_saved_and_loaded(known, tmp_path):
    rng = np.random.default_rng(0)
    model = Tiny(size=4, metric=tl.DTW(window=0.2, cost="manhattan"), slope=(0.5, float("inf")), random_state=rng)
    model.fit(None, ["no", "yes"]).save(tmp_path / "tiny")
    again = tl.load_model(tmp_path / "tiny")
    assert (again.size, again.metric, again.slope) == (4, model.metric, (0.5, float("inf")))
    assert (again.classes_, again.random_state) == (["no", "yes"], None)
    assert torch.equal(again.module_.weight, model.module_.weight)
    config = json.loads((tmp_path / "tiny" / "config.json").read_text())
    assert config["parameters"]["metric"]["method"] == "DTW"


def test_methods_may_be_nested_in_methods_lists_and_tuples(known, tmp_path):
    parameters = {"metric": Tiny(metric=tl.MSM()), "slope": (tl.ERP(gap=1.0), [tl.DTW()], {"a": tl.TWE()})}
    save_model(tmp_path / "m", method="Tiny", parameters=parameters)
    again = read_model(tmp_path / "m").parameters
    assert again["slope"] == parameters["slope"]
    assert again["metric"].metric == tl.MSM()


def test_every_value_of_the_library_can_be_a_parameter():
    for name in registry.METHODS:
        assert registry.name_of(registry.find(name)) == name


def test_a_model_is_replaced_whole(saved):
    save_model(saved, method="ERP", parameters={"gap": 2.0})
    assert tl.load_model(saved) == tl.ERP(gap=2.0)
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model"]


def test_what_is_no_model_is_not_replaced(tmp_path, saved):
    notes = tmp_path / "notes"
    notes.mkdir()
    save_model(notes, method="DTW", parameters={})  # an empty folder has nothing to lose
    (notes / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="notes holds thesis.tex, which is no part of a model: save elsewhere"):
        save_model(notes, method="DTW", parameters={})
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(saved / "model.safetensors", other)
    with pytest.raises(FileExistsError, match="other holds model.safetensors without config.json"):
        save_model(other, method="DTW", parameters={})
    for theirs in ('{"format": "something else"}', '{"architectures": ["BertModel"]}'):  # others have such folders too
        (other / "config.json").write_text(theirs)
        with pytest.raises(ValueError, match="config.json is no model of timelike"):
            save_model(other, method="DTW", parameters={})
    with pytest.raises(FileExistsError, match="is a file: expected the name of a folder"):
        save_model(notes / "thesis.tex", method="DTW", parameters={})
    with pytest.raises(FileNotFoundError, match="the folder .*nowhere does not exist: make it first"):
        save_model(tmp_path / "nowhere" / "model", method="DTW", parameters={})
    with pytest.raises(NotADirectoryError, match=r"thesis.tex is a file, so there can be no .*model: save elsewhere"):
        save_model(notes / "thesis.tex" / "model", method="DTW", parameters={})
    assert (notes / "thesis.tex").read_text() == "years of work"
    link = tmp_path / "link"
    link.symlink_to(saved)
    with pytest.raises(FileExistsError, match=f"link is a link, .*: save to {saved.resolve()} itself"):
        save_model(link, method="DTW", parameters={})


@pytest.mark.parametrize("folder", [None, 5, ""])
def test_what_is_no_path_is_named(folder):
    for ask in (lambda: save_model(folder, method="DTW", parameters={}), lambda: tl.load_model(folder)):
        with pytest.raises((TypeError, ValueError), match=f"folder={folder!r}: expected the path of a folder"):
            ask()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "Magic"}, "the method 'Magic' is unknown: this timelike knows ADTW"),
        ({"parameters": {"a": {1, 2}}}, "parameters.a is a set, which no file can hold"),
        ({"parameters": {"a": [np.zeros(2)]}}, "parameters.a.0 is an array: expected it among the tensors"),
        ({"extra": {"b": torch.zeros(1)}}, "extra.b is an array: expected it among the tensors"),
    ],
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(options, message, tmp_path):
    with pytest.raises((TypeError, ValueError)) as caught:
        save_model(tmp_path / "m", **({"method": "DTW", "parameters": {}} | options))
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_what_was_there(saved, monkeypatch):
    before = read_model(saved)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(folders, "save_file", full)
    with pytest.raises(OSError, match="no space left"):
        save_model(saved, method="ERP", parameters={})
    assert read_model(saved).method == before.method
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_save_cut_off_between_two_renames_says_where_the_model_is(saved):
    saved.rename(atomic.previous(saved))
    with pytest.raises(
        FileNotFoundError, match=r"a save was cut off, and the model before it is in .*\.model\.previous"
    ):
        tl.load_model(saved)


def test_a_folder_of_the_first_format_is_migrated(tmp_path, saved):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(saved / "model.safetensors", old)
    config = {"version": "0.0.3", "method": "DTW", "params": {"window": 5}, "tensors": ["weight", "count", "none"]}
    (old / "config.json").write_text(json.dumps(config))
    assert tl.load_model(old) == tl.DTW(window=5)
    assert read_model(old).library_version == "0.0.3"
    assert set(folders.MIGRATIONS) == set(range(folders.FORMAT_VERSION))


def changed(folder, **entries):
    config = json.loads((folder / "config.json").read_text()) | entries
    config = {key: value for key, value in config.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(config))


def test_a_newer_format_is_refused(saved):
    changed(saved, format_version=2, library_version="9.1")
    with pytest.raises(ValueError, match="has format 2, written by timelike 9.1; .* install a newer timelike"):
        tl.load_model(saved)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"method": "Magic"}, "the method 'Magic' is unknown"),
        ({"method": "os:system"}, "the method 'os:system' is unknown"),
        ({"parameters": {"metric": {"method": "os:system", "parameters": {}}}}, "the method 'os:system' is unknown"),
        ({"parameters": {"nonsense": 1}}, "make no DTW: .*unexpected keyword argument 'nonsense'"),
        ({"parameters": ...}, "has no 'parameters': it is incomplete"),
        ({"parameters": None}, "config.json: parameters is None, which save"),
        ({"tensors": 3}, "config.json: tensors is 3"),
        ({"method": ["DTW"]}, "config.json: method is "),
        ({"format_version": "one"}, "has format_version 'one'"),
        ({"tensors": ["weight"]}, "model.safetensors does not belong to config.json: only one of them has 'count'"),
    ],
)
def test_a_wrong_configuration_is_named(saved, entries, message):
    changed(saved, **entries)
    with pytest.raises(ValueError, match=message):
        tl.load_model(saved)


def test_damaged_and_missing_files_are_named(saved, tmp_path):
    tensors, config = saved / "model.safetensors", saved / "config.json"
    whole = tensors.read_bytes()
    for part in (b"", whole[:20], whole[:-5]):
        tensors.write_bytes(part)
        with pytest.raises(ValueError, match="model.safetensors cannot be read"):
            tl.load_model(saved)
    tensors.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with pytest.raises(ValueError, match="model.safetensors is not what save.. wrote .its checksum is another"):
        tl.load_model(saved)
    tensors.unlink()
    with pytest.raises(ValueError, match="model.safetensors cannot be read .*: the model is damaged"):
        tl.load_model(saved)
    for text in ("", "[1, 2]", "[" * 100_000, '{"format": "timel', "\0"):
        config.write_text(text)
        with pytest.raises(ValueError, match="config.json"):
            tl.load_model(saved)
    with pytest.raises(FileNotFoundError, match="config.json does not exist: expected a folder made by save()"):
        tl.load_model(tmp_path / "none")
