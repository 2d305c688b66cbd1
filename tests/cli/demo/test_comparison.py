"""The demo's comparison: its scores are those of the methods by themselves."""

import re

import numpy as np
import pytest

import timelike as tl
from blocked_torch import facts_without_torch
from timelike.cli.demo.data import load_or_generate
from timelike.cli.demo.sections import comparison


@pytest.mark.learn
def test_scores_are_the_accuracies_of_the_methods_alone(monkeypatch):
    monkeypatch.setattr(comparison, "STEPS", 5)
    section = comparison.run()
    by_rival = {score.rival: score for score in section.scores}
    assert by_rival.keys() == set(comparison.RIVALS)
    data = load_or_generate("JapaneseVowels")
    metric = tl.DTW(band="slanted")
    model = tl.Neighbors(metric, select_window=True).fit(data.train, data.train.labels)
    assert by_rival["1-NN DTW"].rival_value == np.mean(model.predict(data.test) == data.test.labels)
    shown = {
        name: float(value) for name, value in re.findall(r"<td>([^<]+)</td><td[^>]*>([01]\.\d+) \[", section.parts[1])
    }
    assert shown.keys() >= {*comparison.RIVALS, "SiameseGRU", "Prototypes"}
    for score in section.scores:
        assert score.method == "Prototypes"  # named in advance, whatever is best on the test part
        assert score.value == pytest.approx(shown["Prototypes"], abs=6e-4)
    assert comparison.run().scores == section.scores


def test_without_torch_the_methods_of_the_core_are_compared():
    program = """
from timelike.cli.demo.sections import comparison
section = comparison.run()
facts["methods"], facts["html"] = [score.method for score in section.scores], section.parts[1]
"""
    facts = facts_without_torch(program)
    assert "SiameseGRU" not in facts["html"]
    assert len(facts["methods"]) == 2
