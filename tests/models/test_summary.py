"""Summaries of models: every option, what was fitted, and code or commands that make the model again."""

import numpy as np
import pytest

import timelike as tl
from timelike.models import summarize_model

X = tl.Sequences(np.random.default_rng(0).normal(size=(12, 8)).cumsum(axis=1), labels=["a", "b"] * 6)


def test_options_include_those_of_components_and_the_changed_ones_are_apart():
    model = tl.Neighbors(tl.DTW(window=0.2), k=3).fit(X)
    found = summarize_model(model)
    assert found.parameters == model.get_params()
    assert found.changed == {"k": 3, "metric": tl.DTW(window=0.2)}
    assert found.fitted["classes"] == "2: a, b"
    assert found.fitted["sequences kept"] == "12"


@pytest.mark.parametrize(
    "model",
    [
        tl.Neighbors(tl.DTW(window=0.2), k=3),
        tl.EmbeddingClassifier(tl.Rocket(n_features=84, random_state=1), head="1nn"),
        tl.EmbeddingClassifier(random_state=2, head="ridge"),
    ],
)
def test_its_code_makes_an_equal_model(model):
    model.fit(X)
    names = {"X": X, "y": X.labels}
    exec(summarize_model(model).commands, names)
    assert repr(names["model"]) == repr(model)
    np.testing.assert_array_equal(names["model"].predict_proba(X), model.predict_proba(X))


def test_code_that_loads_the_folder_loads_this_model(tmp_path):
    model = tl.EmbeddingClassifier(tl.Rocket(n_features=84), head="1nn").fit(X)
    model.save(tmp_path / "model's")
    found = summarize_model(tl.load_model(tmp_path / "model's"), tmp_path / "model's")
    assert found.saved_by == tl.__version__
    names = {"X": X, "y": X.labels}
    exec(found.commands, names)
    np.testing.assert_array_equal(names["model"].predict_proba(X), model.predict_proba(X))


def test_a_job_is_the_way_to_repeat_it(tmp_path):
    tl.Rocket(n_features=84, random_state=0).fit(X).save(tmp_path / "my model")
    (tmp_path / "my model" / "job.toml").write_text('data = "<b>"\nmethod = "rocket"\n')
    found = summarize_model(tl.load_model(tmp_path / "my model"), tmp_path / "my model")
    assert found.commands == f"timelike learn --job '{tmp_path}/my model/job.toml'"
    html = found._repr_html_()
    assert "data = &quot;&lt;b&gt;&quot;" in html


def test_seeds_are_those_that_were_used():
    seeded = tl.EmbeddingClassifier(random_state=7).fit(X)
    assert summarize_model(seeded).seeds == {"": 7, "of encoder": 7}
    unseeded = tl.EmbeddingClassifier(tl.Rocket(n_features=84)).fit(X)
    assert summarize_model(unseeded).seeds == {"": None, "of encoder": None}
    assert "another run gives another model" in summarize_model(unseeded)._repr_html_()


def test_methods_that_learn_nothing_have_a_summary_too():
    found = summarize_model(tl.DTW(window=0.1))
    assert found.call == "DTW(window=0.1)"
    assert found.parameters["band"] == "sakoe"
    assert found.fitted == {}


@pytest.mark.learn
def test_a_trained_model_says_how_long_it_was_trained():
    model = tl.SiameseGRU(hidden=3, max_steps=4, random_state=0).fit(X, X.labels)
    found = summarize_model(model)
    assert found.fitted["trained for"].startswith("4 steps, ")
    n_weights = sum(weights.numel() for weights in model.network_.parameters())
    assert found.fitted["weights"].replace(" ", "") == str(n_weights)
