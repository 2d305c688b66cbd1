"""Models in folders: saved whole, checked when they are read, never run."""

import json
import shutil

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import timelike as tl
from tampering import read_config, write_config
from timelike.core import files
from timelike.core.extras import is_installed
from timelike.core.files import json_checksum
from timelike.core.parameters import store_parameters
from timelike.models import Model, options, read_model, registry, save_model, schema, serialization
from timelike.models.packer import Packer

LEARNED = {"weight_": np.arange(6.0).reshape(2, 3), "count_": np.array([1, 2]), "none_": np.zeros(0)}


class Tiny(Model):
    """An estimator that learns numbers, names and sequences, with a metric as a parameter."""

    size = options.integer(1)
    metric = options.any_value()
    slope = options.any_value()
    random_state = options.random_seed()

    sequences_ = schema.sequences("item")
    classes_ = schema.labels("class")
    mean_ = schema.array("*frame")
    far_ = schema.real(finite=False)
    parts_ = schema.list_of(
        schema.union(
            schema.estimator(tl.DTW),
            schema.typed_dict(a=schema.tuple_of(schema.integer(), schema.nullable(schema.integer()))),
            schema.sequences(),
        )
    )
    single_ = schema.not_required(schema.array())
    half_ = schema.not_required(schema.string())
    big_ = schema.not_required(schema.array("number", dtype="int32"))

    def __init__(self, *, size=3, metric=None, slope=(0.0, None), random_state=None):
        store_parameters(self, locals())

    def fit(self, X, y=None):
        with self._atomic_fit():
            self.sequences_ = self._validate_fit_input(X)
            self.classes_, self.mean_, self.far_ = np.unique(y), self.sequences_.values.mean(0), float("inf")
            self.parts_ = [tl.DTW(window=2), {"a": (1, None)}, self.sequences_]
        return self


@pytest.fixture
def known(monkeypatch):
    """As if a package had one more line."""
    monkeypatch.setitem(tl.neighbors.__exports__, "Tiny", __name__)
    yield
    vars(tl.neighbors).pop("Tiny", None)


def write(folder, method="DTW", parameters=None, learned=None):
    packer = Packer()
    words = {"method": method, "parameters": packer.to_json(parameters or {}, "parameters")}
    if learned is not None:
        words["learned"] = packer.to_json(learned, "learned")
    registry.find_class(method)
    serialization.write_model(serialization.parameters.check_folder(folder, "folder"), words, packer.arrays)


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    write(folder, "Neighbors", {"metric": "dtw"}, LEARNED | {"frame_": (1,), "names_": ["a", "b"]})
    return folder


def test_a_model_comes_back_as_it_was_saved(saved):
    model = read_model(saved)
    assert (model.method, model.config["parameters"]) == ("Neighbors", {"metric": "dtw"})
    assert model.library_version == tl.__version__
    for name, array in LEARNED.items():
        np.testing.assert_array_equal(model.arrays[f"learned.{name}"], array, strict=True)
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", "model.safetensors"]


def test_an_estimator_is_saved_and_loaded_without_writing_anything_for_it(known, tmp_path):
    rng = np.random.default_rng(0)
    model = Tiny(size=4, metric=tl.DTW(window=0.2, cost="manhattan"), slope=(0.5, float("inf")), random_state=rng)
    data = tl.Sequences([[1.0, 2.0], [3.0]], labels=["x", "y"], groups=[1, 2], ids=["p", "q"], times=[[0, 5], [7]])
    model.fit(data, ["no", "yes"]).save(tmp_path / "tiny")
    again = tl.load_model(tmp_path / "tiny")
    assert (again.size, again.metric, again.slope) == (4, model.metric, (0.5, float("inf")))
    assert (again.classes_.tolist(), again.random_state, again.far_) == (["no", "yes"], None, float("inf"))
    assert again.mean_.tolist() == [2.0]
    assert again.sequences_.equals(data)
    assert again.parts_[:2] == model.parts_[:2]
    assert again.parts_[2] is again.sequences_  # what was one object is one again
    config = json.loads((tmp_path / "tiny" / "config.json").read_text())
    assert config["parameters"]["metric"]["method"] == "DTW"


def test_a_class_that_no_package_offers_cannot_be_saved(tmp_path):
    model = Tiny().fit([[1.0]], ["a"])
    with pytest.raises(TypeError, match="a Tiny, which is not a public name of a package of timelike"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_methods_may_be_nested_in_methods_lists_and_tuples(known, tmp_path):
    slope = (tl.ERP(gap=1.0), [tl.DTW()], {"a": tl.TWE()})
    save_model(Tiny(metric=Tiny(metric=tl.MSM()), slope=slope).fit([[1.0]], ["a"]), tmp_path / "m")
    again = tl.load_model(tmp_path / "m")
    assert again.slope == slope
    assert again.metric.metric == tl.MSM()
    assert not hasattr(again.metric, "mean_")


def test_a_value_alone_can_be_saved_too(tmp_path):
    save_model(tl.GDTW(slope=(0.0, 2.5)), tmp_path / "m")
    assert tl.load_model(tmp_path / "m") == tl.GDTW(slope=(0.0, 2.5))


def test_every_method_of_the_library_is_found_by_its_name_and_no_name_means_two():
    found = registry.all_methods()
    assert {"DTW", "Rocket", "Prototypes", "KMeans"} <= found.keys()
    trained = {"Triplet", "CausalEncoder", "TAP"}
    assert found.keys() & trained == (trained if is_installed("torch") else set())
    for name, kind in found.items():
        assert registry.registered_name(kind) == name
        assert registry.find_class(name) is kind


def test_a_model_is_replaced_whole(saved):
    write(saved, "ERP", {"gap": 2.0})
    assert tl.load_model(saved) == tl.ERP(gap=2.0)
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model"]


def test_what_is_no_model_is_not_replaced(tmp_path, saved):
    notes = tmp_path / "notes"
    notes.mkdir()
    write(notes)  # an empty folder has nothing to lose
    (notes / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="notes holds thesis.tex, which is no part of a model: save elsewhere"):
        write(notes)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(saved / "model.safetensors", other)
    with pytest.raises(FileExistsError, match="other holds model.safetensors without config.json"):
        write(other)
    for theirs in ('{"format": "something else"}', '{"architectures": ["BertModel"]}'):  # others have such folders too
        (other / "config.json").write_text(theirs)
        with pytest.raises(ValueError, match="config.json is no model of timelike"):
            write(other)
    with pytest.raises(FileExistsError, match="is a file: expected the name of a folder"):
        write(notes / "thesis.tex")
    with pytest.raises(FileNotFoundError, match="the folder .*nowhere does not exist: make it first"):
        write(tmp_path / "nowhere" / "model")
    with pytest.raises(NotADirectoryError, match=r"thesis.tex is a file, so there can be no .*model: save elsewhere"):
        write(notes / "thesis.tex" / "model")
    assert (notes / "thesis.tex").read_text() == "years of work"
    link = tmp_path / "link"
    link.symlink_to(saved)
    with pytest.raises(FileExistsError, match=f"link is a link, .*: save to {saved.resolve()} itself"):
        write(link)


@pytest.mark.parametrize("folder", [None, 5, ""])
def test_what_is_no_path_is_named(folder):
    for ask in (lambda: write(folder), lambda: tl.load_model(folder)):
        with pytest.raises((TypeError, ValueError), match=f"folder={folder!r}: expected the path of a folder"):
            ask()


LONG_PATHS = ["x" * 5000, "a/" * 3000, "é" * 200, "nul\0byte"]


@pytest.mark.parametrize("folder", LONG_PATHS)
def test_a_path_that_no_system_takes_is_named(folder):
    for ask in (lambda: write(folder), lambda: tl.load_model(folder)):
        with pytest.raises(ValueError, match=f"folder=.*, {len(folder)} characters: expected the path of a fo"):
            ask()


@pytest.mark.learn
@pytest.mark.parametrize("folder", LONG_PATHS)
def test_a_checkpoint_that_no_system_takes_is_named(folder):
    with pytest.raises(ValueError, match=f"checkpoint=.*, {len(folder)} characters: expected the path of a fo"):
        tl.CausalEncoder(trainer=tl.Trainer(checkpoint=folder)).fit([[1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "Magic"}, "the method 'Magic' is unknown: this timelike knows ADTW"),
        ({"parameters": {"a": {1, 2}}}, "parameters.a is a set, which no file can hold"),
        ({"parameters": {"a": [np.array([1j])]}}, "parameters.a.0 is a ndarray, which no file can hold"),
        ({"learned": {"b_": np.array([object()])}}, "learned.b_ is a ndarray, which no file can hold"),
    ],
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(options, message, tmp_path):
    with pytest.raises((TypeError, ValueError)) as caught:
        write(tmp_path / "m", **options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_what_was_there(saved, monkeypatch):
    before = read_model(saved)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(serialization, "save_file", full)
    with pytest.raises(OSError, match="no space left"):
        write(saved, "ERP")
    assert read_model(saved).method == before.method
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_save_cut_off_between_two_renames_says_where_the_model_is(saved):
    saved.rename(files.backup_path(saved))
    with pytest.raises(
        FileNotFoundError, match=r"a save was cut off, and the model before it is in .*\.model\.previous"
    ):
        tl.load_model(saved)


def changed(folder, **entries):
    config = read_config(folder) | entries
    write_config(folder, {key: value for key, value in config.items() if value is not ...})


@pytest.mark.parametrize("other", [0, 3, 5, 99])
def test_another_format_is_refused_and_says_who_wrote_it(saved, other):
    assert serialization.FORMAT_VERSION == 4
    changed(saved, format_version=other, library_version="9.1")
    with pytest.raises(ValueError, match=f"has format {other}, written by timelike 9.1; .* reads format 4 alone"):
        tl.load_model(saved)


def test_both_files_have_a_checksum_that_must_be_there_and_fit(saved):
    whole = read_config(saved)
    for name in ("checksum", "tensors_checksum"):
        config = {key: value for key, value in whole.items() if key != name}
        if name != "checksum":
            config["checksum"] = json_checksum({key: value for key, value in config.items() if key != "checksum"})
        (saved / "config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match=f"config.json has no '{name}': it is incomplete"):
            tl.load_model(saved)
    for entry, value in (("parameters", {"metric": "erp"}), ("library_version", "7"), ("checksum", "0" * 64)):
        (saved / "config.json").write_text(json.dumps(whole | {entry: value}))
        with pytest.raises(ValueError, match=r"config.json is not what save\(\) wrote \(its checksum is another"):
            tl.load_model(saved)


def test_a_learned_attribute_that_is_not_declared_is_not_saved(known, tmp_path):
    model = Tiny().fit([[1.0]], ["a"])
    model.forgotten_ = 3
    with pytest.raises(ValueError, match="forgotten_ is not declared in Tiny: .* forgotten_ = schema.array"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_as_declared_is_not_saved_either(known, tmp_path):
    model = Tiny().fit([[1.0]], ["a"])
    model.mean_ = np.zeros(2)
    with pytest.raises(ValueError, match=r"mean_ has shape \(2,\): expected \(1\)"):
        model.save(tmp_path / "m")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"method": "Magic"}, "the method 'Magic' is unknown"),
        ({"method": "os:system"}, "the method 'os:system' is unknown"),
        ({"parameters": {"metric": {"method": "os:system", "parameters": {}}}}, "the method 'os:system' is unknown"),
        ({"parameters": {"nonsense": 1}}, "make no Neighbors: .*unexpected keyword argument 'nonsense'"),
        ({"parameters": ...}, "has no 'parameters': it is incomplete"),
        ({"parameters": None}, "config.json: parameters is None, which save"),
        ({"tensors": 3}, "config.json: tensors is 3"),
        ({"method": ["DTW"]}, "config.json: method is "),
        ({"format_version": "one"}, "has format_version 'one'"),
        ({"tensors": ["a"]}, "model.safetensors does not belong to config.json: only one of them has 'a'"),
        ({"method": "load_model"}, "the method 'load_model' is unknown"),
        ({"method": "Matches"}, "the method 'Matches' is unknown"),
        ({"learned": {"save": 1}}, "'save' is not a learned attribute of Neighbors"),
        ({"learned": {"_fitted_parameters": 1}}, "'_fitted_parameters' is not a learned attribute of Neighbors"),
        ({"learned": {"gallery_": 1}}, "'gallery_' is not a learned attribute of Neighbors"),
        ({"learned": {"frame_": {"__tuple__": [1]}}}, "metric_ is missing: every fitted Neighbors has it"),
        (
            {"learned": {"metric_": {"__kind__": "record", "record": "ChannelScaler", "fields": {}}}},
            "'ChannelScaler' is not among",
        ),
        ({"learned": {"metric_": {"__kind__": "magic"}}}, "'magic' is not among what save"),
        ({"learned": {"a_": {"__array__": [1], "dtype": "O"}}}, "dtype 'O' is not among what save"),
        ({"learned": {"a_": {"__tensor__": "nowhere"}}}, "make no Neighbors: learned.a_: 'nowhere' is missing"),
        ({"learned": {"a_": {"__array__": ["x"], "dtype": "<U99999999"}}}, "larger than what save"),
        ({"learned": [1, 2]}, "make no Neighbors"),
        ({"method": "DTW", "parameters": {}, "learned": {"a_": 1}}, "DTW learns nothing"),
        ({"__kind__": "pipeline"}, "has no 'steps': it is incomplete"),
    ],
)
def test_a_wrong_configuration_is_named(saved, entries, message):
    changed(saved, **entries)
    with pytest.raises(ValueError, match=message):
        tl.load_model(saved)


def test_damaged_and_missing_files_are_named(saved, tmp_path):
    tensors, config = saved / "model.safetensors", saved / "config.json"
    whole = tensors.read_bytes()
    for part in (b"", whole[:20], whole[:-5], whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]):
        tensors.write_bytes(part)
        with pytest.raises(ValueError, match="model.safetensors is not what save.. wrote .its checksum is another"):
            tl.load_model(saved)
    for part in (b"", whole[:20], whole[:-5]):
        tensors.write_bytes(part)
        write_config(saved, read_config(saved))
        with pytest.raises(ValueError, match="model.safetensors cannot be read"):
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


def test_what_is_no_model_is_told_what_to_save_instead(tmp_path):
    X, y = tl.Sequences([[0, 1], [0, 2], [5, 5], [5, 6]]), ["a", "a", "b", "b"]
    search = GridSearchCV(tl.Neighbors(), {"k": [1]}, cv=2).fit(X, y)
    for given, words in (
        (search, "GridSearchCV: save its best_estimator_"),
        (FrozenEstimator(tl.Neighbors().fit(X, y)), "FrozenEstimator: save the estimator inside it"),
        (X, "Sequences: give a fitted model of timelike"),
        (tl.Neighbors, "Meta: give a fitted model"),
        (None, "NoneType: give a fitted model"),
    ):
        with pytest.raises(TypeError, match=words):
            save_model(given, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_pipeline_of_others_names_the_step(tmp_path):
    model = make_pipeline(tl.neighbors.ElasticKernel(), SVC(kernel="precomputed")).fit([[0, 1], [5, 5]], ["a", "b"])
    with pytest.raises(TypeError, match="the step 'svc' of the pipeline is a SVC, which is not of this library"):
        save_model(model, tmp_path / "m")


def test_options_that_were_broken_since_are_not_saved_nor_loaded(saved, tmp_path):
    model = tl.Neighbors().fit([[0, 1], [5, 5]], ["a", "b"])
    model.weights = "nonsense"
    with pytest.raises(ValueError, match="weights='nonsense': expected one of"):
        model.save(tmp_path / "m")
    changed(saved, parameters={"metric": "dtw", "k": -5})
    with pytest.raises(ValueError, match="k=-5: expected at least 1"):
        tl.load_model(saved)


def test_numbers_without_axes_odd_letters_and_bytes_the_other_way_round_come_back(known, tmp_path):
    model = Tiny().fit([[1.0]], ["a"])
    model.single_, model.half_, model.big_ = np.array(2.5), "\udcff", np.arange(3, dtype=">i4")
    model.save(tmp_path / "m")
    again = tl.load_model(tmp_path / "m")
    assert (again.single_.shape, float(again.single_), again.half_) == ((), 2.5, "\udcff")
    assert again.big_.tolist() == [0, 1, 2]
