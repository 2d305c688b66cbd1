"""Models that earlier versions wrote: `format_1` was written by the commit before format 2."""

from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from timelike.models import read_model

FOLDER = Path(__file__).parent / "format_1"
ANSWERS = np.load(FOLDER / "answers.npz")
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def asked(name):
    if name == "FrameEncoder":
        return tl.Sequences(ANSWERS["images"].reshape(4, 3, 1, 5, 4))
    return tl.Sequences.from_packed(ANSWERS["values"], np.r_[0, np.cumsum(ANSWERS["lengths"])])


def _verb(model):
    return next(verb for verb in ("predict", "encode", "pairwise") if hasattr(model, verb))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_format_1_answers_as_it_did_when_it_was_written(name):
    model = tl.load_model(FOLDER / name)
    assert type(model).__name__ == name.partition("-")[0]
    verb = "pairwise" if isinstance(model, tl.SiameseGRU) else _verb(model)
    found = getattr(model, verb)(asked(name))
    assert found.dtype == ANSWERS[name].dtype
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, ANSWERS[name], rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, ANSWERS[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_format_1_is_saved_in_the_new_format(name, tmp_path):
    model = tl.load_model(FOLDER / name)
    model.save(tmp_path / "new")
    again = tl.load_model(tmp_path / "new")
    assert {key: repr(value) for key, value in again.get_params(deep=False).items()} == {
        key: repr(value) for key, value in model.get_params(deep=False).items()
    }
    assert hasattr(again, "classes_") == hasattr(model, "classes_")
    assert read_model(tmp_path / "new").words["learned"].keys() >= read_model(FOLDER / name).words["learned"].keys()


def test_what_was_shared_is_shared_again():
    model = tl.load_model(FOLDER / "EmbeddingClassifier-fitted")
    assert model.encoder is model.encoder_
    assert tl.load_model(FOLDER / "EmbeddingClassifier").encoder is not None
