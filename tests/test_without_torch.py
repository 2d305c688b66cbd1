"""What learns nothing with torch is fitted, saved and loaded where torch cannot be imported."""

import json
import subprocess
import sys

WITHOUT = """
import json, pathlib, sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())

import numpy as np
import timelike as tl

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(0)
lengths = (5, 7, 4, 6, 8, 5, 9, 6)
day = np.datetime64("2024-02-28T12:00", "ms")
X = tl.Sequences(
    [rng.standard_normal((n, 2)) + 3 * (i % 2) for i, n in enumerate(lengths)],
    labels=["low", "high"] * 4,
    groups=["ann", "bob", "ann", "bob", "cem", "cem", "dan", "dan"],
    ids=[f"nº {i}" for i in range(8)],
    times=[day + np.arange(n) * np.timedelta64(90, "m") for n in lengths],
    channel_names=["x", "y"],
)
new = tl.Sequences([rng.standard_normal((n, 2)) + 1.5 for n in (6, 4, 9)])

def same(a, b):
    return all(np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype for x, y in zip(a, b, strict=True))

def loaded(name, model):
    tl.save_model(model, folder / name)
    return tl.load_model(folder / name)
"""

MODELS = """
from sklearn.pipeline import make_pipeline

facts = {}
for name, model, target, verbs in (
    ("neighbors", tl.Neighbors(tl.DTW(window=0.5, band="slanted"), k=3), None, ("kneighbors", "predict", "predict_proba")),
    ("chosen", tl.Neighbors("dtw", select_window=True), None, ("kneighbors", "predict")),
    ("regressor", tl.NeighborsRegressor("msm", k=2, weights="distance"), np.arange(8) / 4, ("kneighbors", "predict")),
    ("means", tl.KMeans(2, random_state=0), None, ("predict",)),
    ("medoids", tl.KMedoids(2, metric=tl.ERP(gap=0.5), random_state=0), None, ("predict",)),
    ("kernel", tl.neighbors.ElasticKernel("dtw"), None, ("transform",)),
    ("rocket", tl.Rocket(n_features=200, random_state=0), None, ("encode", "pairwise")),
    ("classifier", tl.EmbeddingClassifier(random_state=0), None, ("predict", "predict_proba")),
    ("numbers", tl.EmbeddingRegressor(random_state=0), np.arange(8) / 4, ("predict",)),
    ("statistics", tl.encode.StatisticsEncoder(), None, ("encode", "pairwise")),
    *((f"forecast {one}", getattr(tl.forecast, one)(), None, ("predict",)) for one in ("Persistence", "Mean", "DMD")),
    ("forecast SeasonalNaive", tl.forecast.SeasonalNaive(period=2), None, ("predict",)),
    ("forecast Ridge", tl.forecast.Ridge(lags=2), None, ("predict",)),
    ("forecast AR", tl.forecast.AR(order=2), None, ("predict",)),
    ("forecast Analog", tl.forecast.Analog(k=2, window=2), None, ("predict",)),
    ("pipeline", make_pipeline(tl.neighbors.ElasticKernel("dtw"), tl.Neighbors("euclidean")), X.labels, ("predict",)),
):
    model.fit(X, target)
    again = loaded(name, model)
    answers = [[getattr(one, verb)(new) for verb in verbs] for one in (model, again)]
    facts[name] = type(again) is type(model) and all(map(same, *answers))
    if hasattr(model, "labels_"):
        facts[name] &= same([model.labels_], [again.labels_])
    kept = again[0] if name == "pipeline" else again
    if hasattr(kept, "sequences_"):
        facts[f"{name} kept"] = kept.sequences_.equals(X) and kept.sequences_.times.dtype.kind == "M"
facts["words"] = loaded("neighbors", tl.Neighbors("dtw").fit(X)).predict(X).tolist() == X.labels.tolist()
facts["torch"] = sorted(name for name in sys.modules if name.partition(".")[0] in ("torch", "lightning_fabric"))
print(json.dumps(facts))
"""

OWN = """
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from timelike.models import Model, options, schema
from timelike.core.files import json_checksum
from timelike.core.parameters import store_parameters

class Middle(Model):
    power = options.real(above=0)
    sequences_ = schema.sequences()
    middle_ = schema.array("*frame")

    def __init__(self, *, power=1.0):
        store_parameters(self, locals())

    def fit(self, X, y=None):
        with self._atomic_fit():
            self.sequences_ = self._validate_fit_input(X)
            self.middle_ = (np.abs(self.sequences_.values) ** self.power).mean(axis=0)
        return self

    def predict(self, X):
        return np.array([np.abs(x - self.middle_).sum() for x in self._validate_predict_input(X)])

def refusal(call, *kinds):
    try:
        call()
    except kinds as error:
        return f"{type(error).__name__}: {error}"

model = Middle(power=2.0).fit(X)
facts = {"first": refusal(lambda: Middle().predict(new), NotFittedError)}
facts["bad"] = refusal(lambda: clone(model).set_params(power=-1).fit(X), ValueError)
facts["unknown"] = refusal(lambda: model.save(folder / "own"), TypeError)
tl.neighbors.__exports__["Middle"] = "__main__"  # as if the package had one more line
again = loaded("own", model)
facts["again"] = type(again) is Middle and again.power == 2.0 and again.sequences_.equals(X)
facts["answers"] = same([again.predict(new)], [model.predict(new)])
facts["middle"] = bool(np.allclose(again.middle_, (X.values**2).mean(axis=0)))

facts["encoder"] = refusal(lambda: tl.CausalEncoder, ImportError)
facts["metric"] = refusal(lambda: tl.SiameseGRU, ImportError)
config = folder / "own" / "config.json"
words = json.loads(config.read_text()) | {"method": "CausalEncoder"}
del words["checksum"]
config.write_text(json.dumps(words | {"checksum": json_checksum(words)}))
facts["loading"] = refusal(lambda: tl.load_model(folder / "own"), ImportError)
facts["torch"] = sorted(name for name in sys.modules if name.partition(".")[0] in ("torch", "lightning_fabric"))
print(json.dumps(facts))
"""


def told(program, folder):
    command = [sys.executable, "-W", "error", "-c", WITHOUT + program, str(folder)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    assert facts.pop("torch") == []
    return facts


def test_neighbours_clusters_kernels_and_forecasts_are_fitted_saved_and_loaded(tmp_path):
    facts = told(MODELS, tmp_path)
    wanted = {"neighbors", "chosen", "regressor", "means", "medoids", "kernel", "pipeline"}
    wanted |= {f"forecast {name}" for name in ("Persistence", "Mean", "DMD", "Ridge", "AR", "Analog", "SeasonalNaive")}
    kept = {f"{name} kept" for name in ("neighbors", "chosen", "regressor", "kernel", "pipeline")}
    assert facts.keys() >= wanted | kept | {"words"}
    assert [name for name, held in facts.items() if held is not True] == []


def test_a_model_of_ones_own_is_written_on_the_base_and_what_needs_torch_says_so(tmp_path):
    facts = told(OWN, tmp_path)
    assert facts["first"].startswith("NotFittedError: this Middle is not fitted yet: call fit(X) first")
    assert facts["bad"] == "ValueError: power=-1: expected a finite number greater than 0"
    assert "Middle, which is not a public name of a package of timelike" in facts["unknown"]
    assert (facts["again"], facts["answers"], facts["middle"]) == (True, True, True)
    names = {"encoder": "encode.CausalEncoder", "metric": "metric.SiameseGRU", "loading": "encode.CausalEncoder"}
    for what, name in names.items():
        assert facts[what] == f'MissingExtraError: timelike.{name} needs torch: pip install "timelike[learn]"'
