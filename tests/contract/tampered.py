"""Saved models edited by an adversary who makes the checksums fit: which edits, and what became of each.

`python -m contract.tampered NAME TRIES SEED` (from tests/) edits one model in a process of its own and prints what
happened as JSON: a native crash ends that process and not the tests.
"""

import copy
import json
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import timelike as tl
from contract.discover import MODELS, answers, data, fitted, needs_learn
from optional_torch import torch
from tampering import read_config, replace_arrays, write_config
from timelike.encode import StatisticsEncoder

DROPPED = object()
NONSENSE = [
    *(DROPPED, DROPPED, None, True, -1, 0, 2, 0.5, 1e300, 10**30, "", "x", "dtw", [], [1], [[1, 2]], {}, {"a": 1}),
    *({"__tensor__": "nowhere"}, {"__tuple__": [0]}, {"__tuple__": 3}, {"__items__": [1]}, {"__float__": "much"}),
    *({"__float__": "nan"}, {"__float__": "inf"}, {"__tuple__": [3]}, {"__tuple__": [2, 2, 2]}, 100_000),
    *({"__array__": [1.5], "dtype": "<f8"}, {"__array__": ["a"], "dtype": "<U9999999"}, {"__array__": [1]}),
    *({"__kind__": "same", "as": "nothing"}, {"__kind__": "frozen"}, {"__kind__": "pipeline", "steps": 1}),
    *({"method": name, "parameters": {}} for name in ("DTW", "Neighbors", "Triplet", "Nothing")),
    *({"method": "DTW", "parameters": {"window": "x"}}, {"method": "CausalEncoder", "parameters": {"kernel": 0}}),
]
FREE = ("format", "format_version", "library_version", "checksum", "tensors_checksum", "tensors", "called")
SECONDS = 30  # an edit that takes longer is a hang


# --- what is edited --------------------------------------------------------------------------------------------------


def _people():
    rng = np.random.default_rng(0)
    pace, phase = np.repeat(np.arange(2, 10), 6), rng.uniform(0, 0.5, 48)
    values = [
        np.stack([np.sin(np.arange(20) / p + f), np.cos(np.arange(20) / p)], 1)
        for p, f in zip(pace, phase, strict=True)
    ]
    return tl.Sequences(values, labels=np.repeat(list("abcdefgh"), 6))


def _verifier(metric="dtw", **options):
    people = _people()
    return tl.Verifier(metric, **options).fit(people).calibrate(people, false_accept=0.3).enroll(people[:3], "anna")


def _accepted(model, X):
    asked = _people()[:4]
    return [model.identify(asked).score, model.verify(asked[0], asked[1]).score]


def _calibrated(kind):
    model = copy.deepcopy(fitted(kind))
    return model.calibrate(data(kind, seed=3), horizon=2)


def _interval(model, X):
    return model.predict(X, horizon=2, n_samples=3).samples, model.predict(X, horizon=2).interval(0.5)


def _head(head, encoder=None):
    X = _people()
    model = tl.EmbeddingClassifier(encoder or tl.Rocket(n_features=40, random_state=0), head=head)
    return model.fit(X[:12], np.repeat(["a", "b", "c"], 4))


def _drifting():
    drift = copy.deepcopy(fitted(tl.distributions.Drift))
    for seed in (1, 2):
        drift.update(data(tl.distributions.Drift, seed=seed))
    return drift


def _updated(model, X):
    return [model.update(X).p_value, model.report().p_value, model.typicality(X)]


def _timed():
    X = [np.sin(np.arange(n) / 3) for n in (9, 12, 10, 8)]
    times = [np.arange(len(x)) ** 1.1 for x in X]
    return tl.KMeans(2, metric=tl.TWE(), random_state=0).fit(tl.Sequences(X, times=times))


def _recognizing():
    people = _people()
    model = tl.Prototypes(
        encoder=tl.Rocket(n_features=40, causal=True, random_state=0), max_steps=2, random_state=0
    ).fit(people)
    return model.calibrate(people, false_accept=0.05, false_reject=0.2).calibrate_stream(people)


def _recognized(model, X):
    people, stream = _people(), model.stream()
    for sample in people[0]:
        stream.push(sample)
    return [model.predict(people), model.predict(people, reject=True), model.novelty(people), stream.finish()]


def _use_people(model, X):
    return [
        getattr(model, verb)(_people()) for verb in ("predict", "predict_proba", "pairwise") if hasattr(model, verb)
    ]


MORE = {  # what only later verbs, or other options, add to a folder: how it is made, and how it is asked
    "Verifier, enrolled": (_verifier, _accepted),
    "Verifier, normalized": (lambda: _verifier(normalize="as-norm", n_top=5), _accepted),
    "Verifier, of vectors": (lambda: _verifier(tl.Rocket(n_features=40, random_state=0)), _accepted),
    "Ridge, calibrated": (lambda: _calibrated(tl.forecast.Ridge), _interval),
    "AR, calibrated": (lambda: _calibrated(tl.forecast.AR), _interval),
    "EmbeddingClassifier, forest": (lambda: _head("forest", StatisticsEncoder()), _use_people),
    "EmbeddingClassifier, svm": (lambda: _head("svm"), _use_people),
    "EmbeddingClassifier, 1nn": (lambda: _head("1nn"), _use_people),
    "Drift, updated": (_drifting, _updated),
    "KMeans, timed": (_timed, lambda model, X: model.predict(tl.Sequences([[0.0, 1.0]], times=[[0.0, 1.0]]))),
    "Prototypes, calibrated": (_recognizing, _recognized),
}
NAMES = [*(kind.__name__ for kind in MODELS), *MORE]
TRAINED = {"Prototypes, calibrated", *(kind.__name__ for kind in MODELS if needs_learn(kind))}


class Case:
    """A saved model, its words and arrays, and how to ask it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        kinds = {kind.__name__: kind for kind in MODELS}
        kind = kinds.get(name)
        if kind is not None:
            model, X = fitted(kind), data(kind, seed=5)
            verbs = [*answers(model, X)]
            future = {"horizon": 2} if isinstance(model, tl.forecast.Forecaster) else {}

            def ask(model):
                return [getattr(model, verb)(X, **future if verb == "predict" else {}) for verb in verbs]
        else:
            make, use = MORE[name]
            model = make()

            def ask(model):
                return use(model, data(kinds[name.partition(",")[0]], seed=5))

        self.ask = ask
        ask(model)
        model.save(folder)
        self.config, self.arrays = read_config(folder), load_file(folder / "model.safetensors")
        self.files = {file: file.read_bytes() for file in folder.iterdir()}
        places = list(places_in(self.config))
        self.options = [place for place in places if "learned" not in place]
        self.learned = [place for place in places if "learned" in place]

    def restore(self):
        for file, held in self.files.items():
            file.write_bytes(held)


def places_in(tree, place=()):
    """The places of everything in the words, from the outside in."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree[:4]) if isinstance(tree, list) else ()
    for key, value in inner:
        if key not in FREE:
            yield (*place, key)
            yield from places_in(value, (*place, key))


# --- edits -----------------------------------------------------------------------------------------------------------


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


def _with(array, chance, value):
    changed = array.copy()
    if changed.size:
        with np.errstate(all="ignore"):
            changed.reshape(-1)[chance.randrange(changed.size)] = np.asarray(value).astype(array.dtype)
    return changed


def _cut(array, chance):
    axis = chance.randrange(array.ndim) if array.ndim else 0
    return np.ascontiguousarray(np.take(array, np.arange(array.shape[axis] - 1), axis)) if array.ndim else array[None]


ARRAYS = {
    "cut": _cut,
    "grown": lambda a, chance: np.concatenate([a, a[-1:]]) if a.ndim and len(a) else a[None],
    "transposed": lambda a, chance: np.ascontiguousarray(a.T) if a.ndim > 1 else a[:, None] if a.ndim else a[None],
    "wider": lambda a, chance: a[None],
    "empty": lambda a, chance: a.reshape(-1)[:0],
    "flat": lambda a, chance: a.reshape(-1).copy(),
    "single": lambda a, chance: a.astype(np.float32 if a.dtype != np.float32 else np.float64),
    "whole": lambda a, chance: np.nan_to_num(a).astype(np.int64 if a.dtype != np.int64 else np.int32),
    "flags": lambda a, chance: a.astype(bool),
    "nan": lambda a, chance: _with(a, chance, np.nan) if a.dtype.kind == "f" else _with(a, chance, 2**31),
    "infinite": lambda a, chance: _with(a, chance, -np.inf) if a.dtype.kind == "f" else _with(a, chance, -7),
    "large": lambda a, chance: _with(
        a, chance, 1e300 if a.dtype == np.float64 else 1e30 if a.dtype.kind == "f" else 2**62
    ),
    "negative": lambda a, chance: -np.abs(a) if a.dtype.kind in "fi" else ~a,
    "zeros": lambda a, chance: np.zeros_like(a),
    "reversed": lambda a, chance: a[::-1].copy() if a.ndim else a,
    "huge": lambda a, chance: np.zeros((1 << 20,), a.dtype),
}


def edit(case, chance):
    """Change the folder in one way; what was done, and which learned attribute it concerns, if one."""
    case.restore()
    how = chance.choice(["option", "learned", "learned", "array", "array", "array", "swap"])
    if how in ("option", "learned"):
        places = case.options if how == "option" or not case.learned else case.learned
        place, value = chance.choice(places), chance.choice(NONSENSE)
        write_config(case.folder, edited(case.config, place, value))
        shown = "dropped" if value is DROPPED else value
        return f"{'.'.join(map(str, place))} = {shown!r}"
    if not case.arrays:
        return "nothing"
    name = chance.choice(sorted(case.arrays))
    if how == "swap":
        other = chance.choice(sorted(case.arrays))
        replace_arrays(case.folder, {name: case.arrays[other], other: case.arrays[name]})
        return f"{name} and {other} exchanged"
    kind = chance.choice(sorted(ARRAYS))
    replace_arrays(case.folder, {name: np.ascontiguousarray(ARRAYS[kind](case.arrays[name], chance))})
    return f"{name} {kind}"


def outcome(case):
    """ "refused" by name when loaded, "asked" where a verb says so, "answers"; anything else is an error to report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = tl.load_model(case.folder)
        except ValueError as refusal:
            named = str(case.folder) in str(refusal)
            return "refused" if named else f"refused without a name: {refusal}"
        except ModuleNotFoundError as missing:  # of a method that was put in the place of another
            if torch is not None or not str(missing).endswith('needs torch: pip install "timelike[learn]"'):
                raise
            return "refused"
        try:
            case.ask(model)
        except ValueError:
            return "asked"
        return "answers"


def explore(name, tries, seed):
    """Edit the model again and again; how often each outcome, and what was done before each that must not be."""

    def late(*_):
        raise TimeoutError(f"no answer in {SECONDS} seconds")

    counts, wrong, chance = Counter(), [], random.Random(f"{name} {seed}")
    signal.signal(signal.SIGALRM, late)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(name, Path(folder) / "model")
        for _ in range(tries):
            done = edit(case, chance)
            print(done, file=sys.stderr, flush=True)  # the last line before a death says why
            signal.alarm(SECONDS)
            try:
                found = outcome(case)
            except Exception as error:
                found = type(error).__name__
                where = traceback.extract_tb(error.__traceback__)[-1]
                wrong.append(f"{done}: {found}: {error} ({where.filename.rpartition('timelike/')[2]}:{where.lineno})")
            signal.alarm(0)
            counts[found] += 1
    return {"counts": counts, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(explore(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
