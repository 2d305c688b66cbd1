"""A model that is saved is served by another process: sequences as JSON in, answers as JSON out."""

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from timelike.train.torch_threads import torch_threads

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"

SERVER = """
import json, sys
import timelike as tl

model = tl.load_model(sys.argv[1])
for line in sys.stdin:
    asked = tl.Sequences([json.loads(line)["sequence"]])
    answer = {"class": model.predict(asked)[0], "chances": model.predict_proba(asked)[0].tolist()}
    if hasattr(model, "kneighbors"):
        ids, distances = model.kneighbors(asked)
        answer |= {"neighbours": ids[0].tolist(), "distances": distances[0].tolist()}
    print(json.dumps(answer | {"classes": model.classes_.tolist()}), flush=True)
"""


class Service:
    """A process that holds a model and answers one line with one line."""

    def __init__(self, folder):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, str(folder)], env=environment, **pipes)

    def __enter__(self):
        return self

    def ask(self, sequence):
        self.process.stdin.write(json.dumps({"sequence": sequence.tolist()}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *error):
        self.process.stdin.close()
        try:
            assert self.process.wait(timeout=300) == 0
        finally:
            self.process.kill()
            self.process.stdout.close()


@pytest.fixture(scope="module")
def tutorial():
    """The names that the tutorial has after the first example of "Classify, and test by person"."""
    start, *chapters = TUTORIAL.read_text(encoding="utf-8").split("\n## ")
    told = {chapter.split(".")[0]: chapter for chapter in chapters}
    parse, names = doctest.DocTestParser().get_examples, {}
    for example in (*parse(start), *parse(told["1"]), parse(told["6"])[0]):
        exec(example.source, names)
    return names


def test_the_model_of_the_tutorial_answers_from_another_process(tutorial, tmp_path):
    model, test = tutorial["model"], tutorial["test"]
    assert repr(model) == "Neighbors(k=3, metric=DTW())"
    model.save(tmp_path / "gestures")
    expected = model.kneighbors(test)
    with Service(tmp_path / "gestures") as service:
        answers = [service.ask(sequence) for sequence in test]
    assert [answer["class"] for answer in answers] == model.predict(test).tolist() == test.labels.tolist()
    assert all(answer["classes"] == ["circle", "zigzag"] for answer in answers)
    np.testing.assert_array_equal([answer["neighbours"] for answer in answers], expected.ids)
    np.testing.assert_array_equal([answer["distances"] for answer in answers], expected.distances)
    np.testing.assert_array_equal([answer["chances"] for answer in answers], model.predict_proba(test))


@pytest.mark.learn
def test_vectors_and_their_classifier_answer_from_another_process(tutorial, tmp_path):
    train, test = tutorial["train"], tutorial["test"]
    encoder = tl.CausalEncoder(n_features=8, channels=4, depth=2, max_steps=2, random_state=0)
    with torch_threads(1):
        model = tl.EmbeddingClassifier(encoder, head="logistic", random_state=0).fit(train)
    model.save(tmp_path / "gestures")
    with Service(tmp_path / "gestures") as service:
        answers = [service.ask(sequence) for sequence in test]
    assert [answer["class"] for answer in answers] == model.predict(test).tolist()
    np.testing.assert_allclose([answer["chances"] for answer in answers], model.predict_proba(test), rtol=1e-6)
    assert {answer["class"] for answer in answers} <= {"circle", "zigzag"}
