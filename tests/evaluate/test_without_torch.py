"""Comparisons where torch cannot be imported, and what becomes of a fitted estimator that is compared."""

import numpy as np
import pytest

import timelike as tl
from blocked_torch import facts_without_torch
from rivals import waves

PREPARED = """
import warnings
import numpy as np
import timelike as tl
X = np.sin(np.arange(24) * np.repeat([0.5, 0.6], 10)[:, None] + np.arange(20)[:, None])
y = np.repeat(["slow", "fast"], 10)

def compared(methods):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = tl.compare(X, y, methods, random_state=0, progress=False)
    return found, [str(one.message) for one in heard if "leaves out" in str(one.message)]
"""
NAMED = (
    PREPARED
    + """
methods = {"mine": tl.Prototypes(), "euclidean": "euclidean", "TAP": "TAP", "head": "T-Loss + head"}
found, facts["warnings"] = compared(methods)
facts["rows"] = [(row.method, row.state) for row in found.rows]
facts["notes"] = list(found.notes)
facts["shown"] = [found.notes[0] in str(found), "mine, TAP, head, which need torch" in found._repr_html_()]
facts["file"] = tl.evaluate.Comparison.from_json(found.to_json()).notes == found.notes
only, facts["alone"] = compared(["euclidean", "SiameseGRU"])
facts["one"] = only.notes[0]
facts["all"] = refusal(lambda: compared(["SiameseGRU", "CoupledGRU"]))
facts["prototypes"] = refusal(lambda: compared(tl.Prototypes()))
facts["default"] = compared(None)[1]
"""
)
LOADED = (
    PREPARED
    + """
model = tl.load_model(sys.argv[1])
before = model.predict_proba(X)
facts["loaded"] = refusal(lambda: compared(model))
facts["unchanged"] = bool(np.array_equal(model.predict_proba(X), before))
"""
)
REMEDY = 'torch: pip install "timelike[learn]"'


def test_methods_that_need_torch_are_left_out_with_a_warning_and_a_note():
    facts = facts_without_torch(NAMED)
    assert facts["rows"] == [["euclidean", "finished"]]
    assert facts["warnings"] == [f"compare() leaves out mine, TAP, head, which need {REMEDY}"]
    assert facts["notes"] == [f"left out: mine, TAP, head, which need {REMEDY}"]
    assert facts["shown"] == [True, True]
    assert facts["file"] is True
    assert facts["one"] == f"left out: SiameseGRU, which needs {REMEDY}"
    assert facts["all"] == f"MissingExtraError: timelike.metric.SiameseGRU needs {REMEDY}"
    assert facts["prototypes"] == f"MissingExtraError: Prototypes.fit needs {REMEDY}"
    names = "T-Loss + head, SiameseGRU, Prototypes, CoupledGRU, TAP"
    assert facts["default"] == [f"compare() leaves out {names}, which need {REMEDY}"]


@pytest.mark.learn
def test_a_fitted_estimator_is_cloned_and_fitted_anew_and_the_given_one_is_not_changed():
    X = waves()
    y = X.labels
    encoder = tl.Rocket(n_features=84, random_state=0)
    model = tl.Prototypes(encoder=encoder, max_steps=2, progress=False, random_state=0).fit(X, y)
    before, network = model.predict_proba(X), model.network_
    found = tl.compare(X, y, {"prototypes": model}, cv=2, progress=False, random_state=0)
    (row,) = found.rows
    assert row.state == "finished"
    assert "used unchanged" not in row.reason
    assert model.network_ is network
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert found.best() is not model


@pytest.mark.learn
def test_loaded_prototypes_are_not_compared_without_torch_and_say_so(tmp_path):
    t = np.sin(np.arange(24) * np.repeat([0.5, 0.6], 10)[:, None] + np.arange(20)[:, None])
    encoder = tl.Rocket(n_features=84, random_state=0)
    model = tl.Prototypes(encoder=encoder, max_steps=2, progress=False, random_state=0)
    model.fit(t, np.repeat(["slow", "fast"], 10)).save(tmp_path / "model")
    facts = facts_without_torch(LOADED, tmp_path / "model")
    assert facts == {"loaded": f"MissingExtraError: Prototypes.fit needs {REMEDY}", "unchanged": True}
