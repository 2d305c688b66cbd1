"""What a light installation needs of trained models: their warnings and errors, and a clear word about a pickle."""

import pickle

import numpy as np
import pytest

import timelike as tl
from blocked_torch import facts_without_torch

WARNINGS = """
import warnings
from timelike.train import DivergenceError, NotLearnedWarning
import timelike as tl
warnings.simplefilter("ignore", NotLearnedWarning)
facts["kinds"] = [issubclass(NotLearnedWarning, UserWarning), issubclass(DivergenceError, ArithmeticError)]
facts["homes"] = [NotLearnedWarning.__module__, DivergenceError.__module__, tl.train.DivergenceError is DivergenceError]
facts["torch"] = "torch" in sys.modules
"""
UNPICKLING = """
import joblib, pickle
folder = pathlib.Path(sys.argv[1])
for file in folder.iterdir():
    facts[file.name] = refusal(lambda: (joblib.load if file.suffix == ".joblib" else pickle.loads)(
        file if file.suffix == ".joblib" else file.read_bytes()))
"""


def test_warnings_and_errors_of_training_can_be_filtered_without_torch():
    facts = facts_without_torch(WARNINGS)
    assert facts == {"kinds": [True, True], "homes": ["timelike.train.exceptions"] * 2 + [True], "torch": False}


@pytest.mark.learn
def test_a_pickled_model_that_was_trained_names_the_extra_where_torch_is_missing(tmp_path):
    import joblib

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 12)), np.repeat(["a", "b"], 4)
    encoder = tl.Rocket(n_features=84, random_state=0)
    prototypes = tl.Prototypes(encoder=encoder, max_steps=2, progress=False, random_state=0).fit(X, y)
    siamese = tl.SiameseGRU(hidden=4, max_steps=2, progress=False, random_state=0)
    joblib.dump(prototypes, tmp_path / "Prototypes.joblib")
    models = {"Prototypes": [prototypes], "SiameseGRU": siamese, "fitted": tl.Neighbors(siamese.fit(X, y)).fit(X, y)}
    for name, model in models.items():
        (tmp_path / name).write_bytes(pickle.dumps(model))
    again = pickle.loads(pickle.dumps(prototypes))
    np.testing.assert_array_equal(again.predict_proba(X), prototypes.predict_proba(X))
    facts = facts_without_torch(UNPICKLING, tmp_path)
    assert facts.keys() == {*models, "Prototypes.joblib"}
    for file, words in facts.items():
        name = "SiameseGRU" if file == "fitted" else file.removesuffix(".joblib")
        assert words == f'MissingExtraError: a pickled {name} needs torch: pip install "timelike[learn]"'


def test_a_model_that_was_not_trained_is_pickled_without_torch():
    program = (
        "import pickle, timelike as tl; facts['k'] = pickle.loads(pickle.dumps(tl.Prototypes(max_steps=3))).max_steps"
    )
    assert facts_without_torch(program) == {"k": 3}
