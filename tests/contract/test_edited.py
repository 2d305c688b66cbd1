"""A folder that an adversary edited, checksums included: it is refused by name when it is loaded, or the model works."""

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from contract.discover import MODELS, fitted
from contract.tampered import DROPPED, NAMES, TRAINED, Case, edit, edited, outcome
from tampering import read_config, replace_arrays, write_config
from timelike.models import registry

TRIES = 8  # of each; TIMELIKE_EXPLORE makes as many as one likes
EXPLORE = int(os.environ.get("TIMELIKE_EXPLORE") or 0)  # edits of every model, each in a process of its own
MARKED = [pytest.param(name, marks=pytest.mark.learn) if name in TRAINED else name for name in NAMES]


@pytest.mark.parametrize("name", MARKED)
def test_an_edited_folder_is_refused_by_name_or_works(name, tmp_path):
    case, chance = Case(name, tmp_path / "model"), random.Random(name)
    for _ in range(TRIES):
        done = edit(case, chance)
        assert outcome(case) in ("refused", "asked", "answers"), done
    case.restore()
    for place in [place for place in case.learned if place[-2:-1] == ("learned",)]:
        write_config(case.folder, edited(case.config, place, DROPPED))
        assert outcome(case) in ("refused", "asked", "answers"), place


@pytest.mark.skipif(not EXPLORE, reason="TIMELIKE_EXPLORE=200 makes so many edits of every model")
@pytest.mark.parametrize("name", MARKED)
def test_no_edit_of_many_ends_the_process(name):
    command = [sys.executable, "-m", "contract.tampered", name, str(EXPLORE), str(random.randrange(10**6))]
    found = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=3600)
    assert found.returncode == 0, (command, found.returncode, found.stderr[-2000:])
    assert json.loads(found.stdout.splitlines()[-1])["wrong"] == [], command


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a fitted model and its configuration, saved once for all tests that put another in its place."""

    @cache
    def save(kind):
        folder = tmp_path_factory.mktemp(kind.__name__) / "model"
        fitted(kind).save(folder)
        return folder, read_config(folder)

    return save


@pytest.mark.parametrize("kind", MODELS)
class TestEveryModel:
    def test_every_option_is_checked_by_its_declaration(self, kind, saved):
        folder, config = saved(kind)
        nonsense = {"__array__": ["not", "an", "option"], "dtype": "<U6"}
        for name in kind.options():
            write_config(folder, edited(config, ("parameters", name), nonsense))
            with pytest.raises(
                ValueError,
                match=rf"config\.json and model\.safetensors make no {registry.registered_name(kind)}: .*{name}",
            ):
                tl.load_model(folder)

    def test_every_learned_attribute_is_declared_and_checked(self, kind, saved):
        folder, config = saved(kind)
        assert config["learned"].keys() <= kind._attribute_schemas().keys()
        nonsense = {"__array__": [["neither", "an"], ["attribute", "!"]], "dtype": "<U9"}
        for name in config["learned"]:
            write_config(folder, edited(config, ("learned", name), nonsense))
            with pytest.raises(ValueError, match=rf"make no {registry.registered_name(kind)}: .*{name}"):
                tl.load_model(folder)


@pytest.fixture
def case(request, tmp_path):
    return Case(request.param, tmp_path / "model")


@pytest.mark.parametrize("case", ["Verifier, enrolled"], indirect=True)
def test_enrolled_values_cut_to_one_channel_are_refused(case):
    name = "model.learned.enrolled_.anna.values"
    replace_arrays(case.folder, {name: np.ascontiguousarray(case.arrays[name][:, :1])})
    with pytest.raises(ValueError, match=r"enrolled_\['anna'\] has frames of shape \(1,\): expected \(2,\)"):
        tl.load_model(case.folder)


@pytest.mark.parametrize("case", ["EmbeddingClassifier, forest"], indirect=True)
def test_a_tree_with_a_cycle_is_refused(case):
    left = case.arrays["model.learned.head_.left"].copy()
    inner = np.flatnonzero(left >= 0)
    left[inner[1]] = inner[0]
    replace_arrays(case.folder, {"model.learned.head_.left": left})
    with pytest.raises(ValueError, match="head_: a node comes before its parent"):
        tl.load_model(case.folder)
    far = case.arrays["model.learned.head_.feature"] + 10**6
    replace_arrays(case.folder, case.arrays | {"model.learned.head_.feature": far})
    with pytest.raises(ValueError, match="feature"):
        case.ask(tl.load_model(case.folder))


@pytest.mark.parametrize(
    ("case", "name", "words"),
    [
        (
            "Verifier, enrolled",
            "scoring_options_",
            "scoring_options_ is missing: it is learned together with thresholds_",
        ),
        ("Verifier, enrolled", "thresholds_", "thresholds_ is missing: it is learned together with"),
        ("Verifier, normalized", "cohort_", "cohort_ is missing, but the normalization in scoring_options_"),
        (
            "Ridge, calibrated",
            "shorter_calibrations_",
            "shorter_calibrations_ is missing: it is learned together with calibration_",
        ),
        (
            "AR, calibrated",
            "calibration_",
            "calibration_ is missing: it is learned together with shorter_calibrations_",
        ),
    ],
    indirect=["case"],
)
def test_what_one_verb_writes_is_there_as_a_whole(case, name, words):
    write_config(case.folder, edited(case.config, ("learned", name), DROPPED))
    with pytest.raises(ValueError, match=words):
        tl.load_model(case.folder)


@pytest.mark.parametrize("case", ["AR, calibrated"], indirect=True)
def test_errors_of_single_draws_are_always_there(case):
    place = next(place for place in case.learned if place[-1] == "n_samples" and "calibration_" in place)
    write_config(case.folder, edited(case.config, place, 5))
    with pytest.raises(ValueError, match="no errors with n_samples=1 of 2 steps"):
        tl.load_model(case.folder)
