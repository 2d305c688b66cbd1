"""A folder whose config.json somebody edited: it is refused by name when it is loaded, or the model works."""

import json
import random
from functools import cache

import pytest

import timelike as tl
from contract.discover import MODELS, answers, data, fitted
from timelike.models import registry

DROPPED = object()
NONSENSE = [
    *(DROPPED, DROPPED, None, True, -1, 0, 2, 0.5, 1e300, 10**30, "", "x", "dtw", [], [1], [[1, 2]], {}, {"a": 1}),
    *({"__tensor__": "nowhere"}, {"__tuple__": [0]}, {"__tuple__": 3}, {"__items__": [1]}, {"__float__": "much"}),
    *({"__array__": [1.5], "dtype": "<f8"}, {"__array__": [[1], 2], "dtype": "<f8"}, {"__array__": [1]}),
    *({"__kind__": "same", "as": "nothing"}, {"__kind__": "frozen"}, {"__kind__": "pipeline", "steps": 1}),
    *({"method": name, "parameters": {}} for name in ("DTW", "Neighbors", "Triplet", "Nothing")),
    *({"method": "DTW", "parameters": {"window": "x"}}, {"method": "CausalEncoder", "parameters": {"kernel": 0}}),
]
FREE = ("format", "library_version", "checksum", "learned_checksum")  # what is said of the folder, not of the model
TRIES = 25


def entries(tree, place=()):
    """The places of everything in the words, from the outside in."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree[:4]) if isinstance(tree, list) else ()
    for key, value in inner:
        if place or key not in FREE:
            yield (*place, key)
            yield from entries(value, (*place, key))


def edited(config, place, value):
    changed = json.loads(json.dumps(config))
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    if value is DROPPED:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return changed


@cache
def places(kind, folder):
    """Those of what was learned are many, and one check is for all: as often as not an option is edited."""
    found = list(entries(json.loads((folder / "config.json").read_text())))
    return [place for place in found if place[0] != "learned"], [place for place in found if place[0] == "learned"]


@pytest.mark.parametrize("kind", MODELS)
class TestEveryModel:
    def test_an_edited_folder_is_refused_by_name_or_works(self, kind, tmp_path):
        folder, chance = tmp_path / "model", random.Random(kind.__name__)
        fitted(kind).save(folder)
        config = json.loads((folder / "config.json").read_text())
        for _ in range(TRIES):
            place, value = chance.choice(chance.choice(places(kind, folder))), chance.choice(NONSENSE)
            (folder / "config.json").write_text(json.dumps(edited(config, place, value)))
            try:
                model = tl.load_model(folder)
            except ValueError as refusal:
                assert str(folder) in str(refusal), (place, value)  # noqa: PT017
                continue
            assert place[0] != "learned" or edited(config, place, value) == config, (place, value)
            try:
                answers(model, data(kind, seed=5))
            except ValueError as refusal:
                assert str(place[-1]) in str(refusal), (place, value)  # noqa: PT017

    def test_every_option_is_checked_by_its_declaration(self, kind, tmp_path):
        fitted(kind).save(tmp_path / "model")
        file = tmp_path / "model" / "config.json"
        config = json.loads(file.read_text())
        nonsense = {"__array__": ["not", "an", "option"], "dtype": "<U6"}
        for name in kind.options():
            file.write_text(json.dumps(edited(config, ("parameters", name), nonsense)))
            with pytest.raises(
                ValueError, match=rf"config\.json and model\.safetensors make no {registry.name_of(kind)}: .*{name}"
            ):
                tl.load_model(tmp_path / "model")

    def test_what_was_learned_is_not_to_be_edited(self, kind, tmp_path):
        fitted(kind).save(tmp_path / "model")
        file = tmp_path / "model" / "config.json"
        config = json.loads(file.read_text())
        for name in config["learned"]:
            file.write_text(json.dumps(edited(config, ("learned", name), DROPPED)))
            with pytest.raises(
                ValueError, match=rf"{file} .*make no {registry.name_of(kind)}: learned: it is not what save"
            ):
                tl.load_model(tmp_path / "model")
