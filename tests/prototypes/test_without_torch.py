"""Prototypes over an encoder that is not trained: where torch cannot be imported, a saved model answers the same.

Every program runs in a process in which torch is blocked, so these are the same tests with and without torch. Without
torch nothing can be trained: there a model with drawn weights stands for one that was.
"""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import softmax

import timelike as tl
from tampering import replace_arrays
from timelike.models import Model
from timelike.prototypes.frozen_network import FrozenNetwork, dense_head_scores
from timelike.train import History

N_FEATURES, CLASSES = 84, ["fast", "middle", "slow"]
HEADS = [("similarity", "plain"), ("similarity", None), ("both", "plain"), ("dense", "margin")]
RATES = {"false_accept": 0.2, "false_reject": 0.2}  # which so few examples can promise
LEARNED = "model.learned.network_."  # where a folder keeps the weights


@pytest.fixture(scope="module")
def data():
    """Examples, their classes, and other sequences to ask about."""
    rng = np.random.default_rng(0)
    X = np.sin(np.arange(30) / np.repeat([2, 4, 8], 8)[:, None] + rng.uniform(0, 6, (24, 1)))
    return X + 0.3 * rng.standard_normal(X.shape), np.repeat(CLASSES, 8), rng.standard_normal((7, 30)).cumsum(axis=1)


def untrained(inference, auxiliary):
    encoder = tl.Rocket(n_features=N_FEATURES, random_state=0)
    return tl.Prototypes(encoder=encoder, inference=inference, auxiliary=auxiliary, max_steps=20, random_state=0)


def trained(data, inference, auxiliary):
    return untrained(inference, auxiliary).fit(data[0], data[1]).calibrate(data[0], data[1], **RATES)


def drawn_weights(auxiliary, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"averages": (3, N_FEATURES), "similarity.log_scale": (), "similarity.bias": ()}
    shapes |= {} if auxiliary is None else {"dense.weight": (3, N_FEATURES)}
    shapes |= {"dense.bias": (3,)} if auxiliary == "plain" else {}
    weights = {name: np.asarray(rng.standard_normal(shape), np.float32) for name, shape in shapes.items()}
    return weights | {"seen_classes": np.zeros(3, bool)}


def drawn(data, inference, auxiliary):
    """As if it had been fitted, with a similarity and a head that nobody has trained."""
    model = untrained(inference, auxiliary)
    with Model._atomic_fit(model):  # that of a training asks for torch
        sequences = model._validate_fit_input(tl.Sequences(data[0]))
        codes = model._validate_targets(sequences, data[1])
        model._set_encoders(sequences, codes)
        model.network_ = FrozenNetwork.from_weights(drawn_weights(auxiliary), N_FEATURES, 3, dense=auxiliary)
        model.history_ = History()
        model._set_members(model._encode_sequences(sequences), codes)
    return model


MAKERS = [pytest.param(trained, marks=pytest.mark.learn), drawn]
BLOCKED = """
import json, pathlib, sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())

import numpy as np
import timelike as tl

folder = pathlib.Path(sys.argv[1])
held = np.load(folder / "data.npz")
X, y, asked = held["X"], held["y"], held["asked"]
facts = {}

def refusal(call):
    try:
        call()
    except (ImportError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

def answers(model):
    found = model.retrieve(tl.Sequences(asked), tl.Sequences(X), k=4)
    return {
        "predict": model.predict(asked).tolist(),
        "predict_proba": model.predict_proba(asked).tolist(),
        "class_scores": model.class_scores(asked).tolist(),
        "novelty": model.novelty(asked).tolist(),
        "similarity": model.similarity(tl.Sequences(asked), tl.Sequences(X)).tolist(),
        "verify": model.verify(tl.Sequences(asked), tl.Sequences(X)).tolist(),
        "ids": found.ids.tolist(),
        "similarities": found.similarities.tolist(),
    }
"""


def told(program, folder, data):
    """What a program finds out in a process in which torch cannot be imported."""
    np.savez(folder / "data.npz", X=data[0], y=data[1], asked=data[2])
    ending = (
        "\nfacts['torch'] = sorted(name for name in sys.modules if name.partition('.')[0] == 'torch')"
        "\nprint(json.dumps(facts))"
    )
    command = [sys.executable, "-W", "error", "-c", BLOCKED + program + ending, str(folder)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    assert facts.pop("torch") == []
    return facts


def answers(model, data):
    """Those of this process; with torch, of torch modules."""
    space = {"X": data[0], "asked": data[2], "tl": tl}
    exec(BLOCKED[BLOCKED.index("def answers") :], space)
    return space["answers"](model)


def assert_alike(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize(("inference", "auxiliary"), HEADS)
@pytest.mark.parametrize("make", MAKERS)
def test_a_saved_model_answers_the_same(make, inference, auxiliary, data, tmp_path):
    make(data, inference, auxiliary).save(tmp_path / "model")
    expected = answers(tl.load_model(tmp_path / "model"), data)
    assert np.ptp(expected["predict_proba"], axis=0).max() > 0.01  # or nothing would be compared
    facts = told("facts['answers'] = answers(tl.load_model(folder / 'model'))", tmp_path, data)
    assert_alike(facts["answers"], expected)


@pytest.mark.parametrize(("inference", "auxiliary"), HEADS[2:])
def test_the_answers_are_those_of_the_formulas(inference, auxiliary, data):
    """s cos(μ, z) + b for the similarity; W z + b, or 30 cos(w, z), for the head; both: the mean of the two scores."""
    weights, model = drawn_weights(auxiliary), drawn(data, inference, auxiliary)
    z, vectors = (model.encode(X).astype(float) for X in (data[2], data[0]))
    means = np.stack([vectors[data[1] == name].mean(axis=0) for name in CLASSES])

    def cosine(u, v):
        return (u / np.linalg.norm(u, axis=1, keepdims=True)) @ (v / np.linalg.norm(v, axis=1, keepdims=True)).T

    close = np.exp(float(weights["similarity.log_scale"])) * cosine(z, means) + float(weights["similarity.bias"])
    np.testing.assert_allclose(model.novelty(data[2]), -close.max(axis=1), rtol=1e-5)
    if auxiliary == "margin":
        head = 30 * cosine(z, weights["dense.weight"].astype(float))
    else:
        head = z @ weights["dense.weight"].T.astype(float) + weights["dense.bias"]
    scores = head if inference == "dense" else (close + head) / 2
    np.testing.assert_allclose(model.class_scores(data[2]), scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(data[2]), softmax(scores, axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_features", [1, 3, 37, 500, 10_001])
@pytest.mark.parametrize("bias", [None, np.linspace(-1, 1, 7, dtype=np.float32)])
def test_the_dense_head_scores_an_item_by_itself_as_among_others(n_features, bias):
    rng = np.random.default_rng(0)
    vectors, weight = rng.standard_normal((40, n_features)), rng.standard_normal((7, n_features)).astype(np.float32)
    together = dense_head_scores(vectors, weight, bias)
    for rows in (slice(0, 1), slice(7, 8), slice(5, 40), slice(39, 40), slice(20, 23)):
        np.testing.assert_array_equal(dense_head_scores(vectors[rows], weight, bias), together[rows])


CHANGED = """
model = tl.load_model(folder / "model")
before = model.predict_proba(asked)
model.enroll(asked[:1], "new").forget("middle")
facts["classes"] = model.classes_.tolist()
facts["answers"] = answers(model)
model.save(folder / "changed")
facts["again"] = answers(tl.load_model(folder / "changed"))
facts["other"] = bool(np.array_equal(tl.load_model(folder / "model").predict_proba(asked), before))
facts["calibrated"] = answers(model.calibrate(X[y != "middle"], y[y != "middle"], false_accept=0.2, false_reject=0.2))
"""


@pytest.mark.parametrize("make", MAKERS)
def test_classes_come_and_go_and_are_saved(make, data, tmp_path):
    model = make(data, "similarity", "plain")
    model.save(tmp_path / "model")
    facts = told(CHANGED, tmp_path, data)
    assert facts["classes"] == ["fast", "new", "slow"]
    assert facts["other"] is True
    assert facts["again"] == facts["answers"]
    assert facts["answers"]["predict"][0] == "new"
    model.enroll(data[2][:1], "new").forget("middle")
    assert_alike(facts["answers"], answers(model, data))
    assert_alike(answers(tl.load_model(tmp_path / "changed"), data), facts["answers"])
    known = data[1] != "middle"
    assert_alike(facts["calibrated"], answers(model.calibrate(data[0][known], data[1][known], **RATES), data))


REFUSED = """
model = tl.load_model(folder / "model")
before = answers(model)
facts["fit"] = refusal(lambda: tl.Prototypes(encoder=tl.Rocket(n_features=84), max_steps=1).fit(X, y))
facts["again"] = refusal(lambda: model.fit(X, y))
facts["learned"] = refusal(lambda: tl.Prototypes(encoder=tl.Rocket(n_features=84), similarity_fn="learned").fit(X, y))
facts["adapt"] = refusal(lambda: model.enroll(asked[:3], "new", adapt_steps=2))
facts["unchanged"] = model.classes_.tolist() == ["fast", "middle", "slow"] and answers(model) == before
"""


@pytest.mark.parametrize("make", MAKERS)
def test_what_needs_a_network_names_the_extra_and_changes_nothing(make, data, tmp_path):
    make(data, "similarity", "plain").save(tmp_path / "model")
    facts = told(REFUSED, tmp_path, data)
    assert facts.pop("unchanged") is True
    for what, words in facts.items():
        assert words.startswith("MissingExtraError: "), (what, words)
        assert words.endswith('needs torch: pip install "timelike[learn]"'), (what, words)


@pytest.mark.learn
def test_a_learned_similarity_is_not_loaded_and_names_the_extra(data, tmp_path):
    encoder = tl.Rocket(n_features=N_FEATURES, random_state=0)
    model = tl.Prototypes(encoder=encoder, similarity_fn="learned", max_steps=2, random_state=0)
    model.set_params(similarity_fn__hidden=8).fit(data[0], data[1]).save(tmp_path / "model")
    facts = told("facts['load'] = refusal(lambda: tl.load_model(folder / 'model'))", tmp_path, data)
    assert facts["load"].startswith("MissingExtraError: ")
    assert 'needs torch: pip install "timelike[learn]"' in facts["load"]


DAMAGES = {
    "missing": ({"similarity.bias": None}, r"network_.similarity.bias is missing"),
    "unknown": ({"similarity.more": np.zeros(3)}, "network_.similarity.more is no weight of this network"),
    "shape": (
        {"dense.weight": np.zeros((3, 5), np.float32)},
        "network_.dense.weight has shape (3, 5) and dtype float32",
    ),
    "dtype": ({"dense.bias": np.zeros(3)}, "network_.dense.bias has shape (3,) and dtype float64"),
    "nan": ({"similarity.log_scale": np.array(np.nan, np.float32)}, "network_.similarity.log_scale holds nan"),
    "infinite": ({"dense.weight": np.full((3, N_FEATURES), np.inf, np.float32)}, "network_.dense.weight holds inf"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_weights_are_refused_in_words(name):
    changes, words = DAMAGES[name]
    weights = {key: value for key, value in (drawn_weights("plain") | changes).items() if value is not None}
    with pytest.raises(ValueError) as caught:
        FrozenNetwork.from_weights(weights, N_FEATURES, 3, dense="plain")
    assert words in str(caught.value)


@pytest.mark.parametrize("weights", [None, 3, [np.zeros(3)]])
def test_what_holds_no_weights_is_refused_in_words(weights):
    with pytest.raises(
        ValueError, match=rf"network_ is a {type(weights).__name__}: expected an array for every weight"
    ):
        FrozenNetwork.from_weights(weights, N_FEATURES, 3, dense="plain")


def test_a_folder_with_damaged_weights_is_refused_in_words(data, tmp_path):
    for name, (changes, _) in DAMAGES.items():
        if name != "unknown":  # another tensor is of no use to the folder, which is told before
            drawn(data, "both", "plain").save(tmp_path / name)
            replace_arrays(tmp_path / name, {LEARNED + key: value for key, value in changes.items()})
    program = "for one in folder.iterdir():\n    if one.is_dir(): facts[one.name] = refusal(lambda: tl.load_model(one))"
    facts = told(program, tmp_path, data)
    assert facts.keys() == DAMAGES.keys() - {"unknown"}
    for name, words in facts.items():
        key = next(iter(DAMAGES[name][0]))
        assert words is not None, name
        assert words.startswith("ValueError: "), words
        assert key in words, words
