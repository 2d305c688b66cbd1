"""Every public verb and function, given what it should never be given, answers or says why not: nothing else.

A call may give a result, or raise ValueError or TypeError with a message of ours. It never raises anything else, changes
what it was given, or leaves a model half fitted. The suite makes one call for every verb and function; `make explore`
makes TIMELIKE_EXPLORE of them, drawn with TIMELIKE_SEED.
"""

import copy
import os
import time
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import timelike as tl
from contract.calls import CHANGING, FUNCTIONS, VALUES, arguments, leaves, owner, verbs
from contract.discover import MODELS, PLAIN_METRICS, fitted, required_extra, small
from contract.test_kernels import KERNELS, data as kernel_data, example
from missing_extras import missing_extras
from optional_torch import torch
from timelike.distributions import dirac_moves
from timelike.sequences.generate import rasterize_digits

LONG = "x" * 10_000  # a label that no message may repeat
MOST = 3000  # characters of a message
PARTS = 8


class Target(NamedTuple):
    """Something to call: `make` gives the callable anew, `given` what it is called with when nothing is wrong."""

    name: str
    make: Any
    given: Any
    changes: bool = False
    extra: str | None = None


def _verb(kind, verb):
    return lambda: getattr(owner(kind, verb), verb)


def _fresh(kind, verb):
    return lambda: getattr(small(kind), verb)


def targets():
    """Everything there is to call, in a fixed order."""
    for kind in [*MODELS, *PLAIN_METRICS]:
        for verb, parameters in verbs(kind):
            changes = verb in CHANGING and kind in MODELS
            given = lambda k=kind, v=verb, p=parameters: arguments(k, v, p)  # noqa: E731
            yield Target(f"{kind.__name__}.{verb}", _verb(kind, verb), given, changes, required_extra(kind))
            if verb == "fit":
                yield Target(f"new {kind.__name__}.fit", _fresh(kind, verb), given, changes, required_extra(kind))
    for name, call in (FUNCTIONS | VALUES).items():
        yield Target(
            name, lambda c=call: c.run, lambda c=call: dict(c.given), extra="learn" if call.needs_learn else None
        )
    for kind in KERNELS:
        plain = lambda k=kind: {"x": kernel_data(example(k), 5), "y": kernel_data(example(k), 4, 1)}  # noqa: E731
        yield Target(f"{kind.__name__}()", lambda k=kind: example(k), plain, extra=required_extra(kind))
    rows = {"data": [np.arange(8.0).reshape(4, 2), np.ones((3, 2))], "labels": np.array(["a", "b"])}
    times = [np.arange(4.0), np.arange(3.0)]
    yield Target("Sequences", lambda: tl.Sequences, lambda: {**rows, "groups": np.array([1, 2]), "times": times})
    yield Target("concat", lambda: tl.concat, lambda: {"parts": [tl.Sequences(rows["data"])] * 2})
    packed = {"values": np.ones((5, 2)), "offsets": np.array([0, 2, 5]), "labels": np.array([1, 2])}
    yield Target("Sequences.from_packed", lambda: tl.Sequences.from_packed, lambda: dict(packed))
    table = pd.DataFrame({"id": [1, 1, 2], "t": [0.0, 1.0, 0.0], "x": [1.0, 2.0, 3.0]})
    yield Target("Sequences.from_frame", lambda: tl.Sequences.from_frame, lambda: {"table": table, "id": "id"})
    yield Target(
        "Sequences.from_frames", lambda: tl.Sequences.from_frames, lambda: {"frames": [table.drop(columns="id")]}
    )
    for verb, given in {
        "resample": {"rate": 2.0}, "interpolate": {"max_gap": 1.0}, "windows": {"size": 2, "step": 1},
        "crop": {"start": 1, "stop": 3}, "channels": {"names": ["a"]}, "where": {"label": "up"}, "folds": {"k": 2},
        "split": {"test": 0.5}, "replace": {"labels": np.array(["a", "b", "c", "d"])}, "pad": {"fill": 0.0, "length": 9},
        "standardize": {"per": "sequence"}, "derivative": {"rule": "keogh"}, "split_at_gaps": {"max_gap": 1.0},
        "episodes": {"n_way": 2, "k_shot": 1, "n_query": 1}, "to_frame": {"kind": "pandas"},
        "gaps": {"max_gap": 1.0}, "merge_duplicates": {"how": "mean"}, "equals": {"other": [[0.0]]},
        "to_tensor": {"device": "cpu", "dtype": "float32"},
    }.items():  # fmt: skip
        make = lambda v=verb: getattr(_named(), v)  # noqa: E731
        yield Target(f"Sequences.{verb}", make, lambda g=given: dict(g), extra="learn" if verb == "to_tensor" else None)


def _named():
    rng = np.random.default_rng(2)
    return tl.Sequences(
        [rng.standard_normal((n, 2)) for n in (6, 8, 7, 6)],
        labels=["up", "up", "down", "down"],
        channel_names=["a", "b"],
    )


TARGETS = [target for target in targets() if target.extra not in missing_extras()]


# --- what is wrong with it ---------------------------------------------------------------------------------------


def _cell(value, entry):
    found = [np.array(x, dtype=np.result_type(np.asarray(x).dtype, np.float64)) for x in value]
    found[-1].flat[-1] = entry
    return found


COLLECTIONS = {
    "nan": lambda x, rng: _cell(x, np.nan),
    "all nan": lambda x, rng: [np.full(np.shape(one), np.nan) for one in x],
    "inf": lambda x, rng: _cell(x, np.inf),
    "huge": lambda x, rng: [np.asarray(one) * 1e200 for one in x],
    "huge cell": lambda x, rng: _cell(x, 1e300),
    "tiny": lambda x, rng: [np.asarray(one) * 1e-310 for one in x],
    "constant": lambda x, rng: [np.ones(np.shape(one)) for one in x],
    "one step": lambda x, rng: [np.asarray(one)[:1] for one in x],
    "one of one step": lambda x, rng: [*x[:-1], np.asarray(x[-1])[:1]],
    "one item": lambda x, rng: x[:1],
    "two items": lambda x, rng: x[:2],
    "empty item": lambda x, rng: [*x[:-1], np.asarray(x[-1])[:0]],
    "no channel": lambda x, rng: [np.asarray(one)[..., :0] for one in x],
    "other frames": lambda x, rng: [*x[:-1], np.ones((5, 7))],
    "more axes": lambda x, rng: [np.asarray(one)[..., None] for one in x],
    "fewer axes": lambda x, rng: [np.asarray(one)[..., 0] for one in x],
    "other channels": lambda x, rng: [np.ones((len(one), 5)) for one in x],
    "complex": lambda x, rng: [np.asarray(one) * 1j for one in x],
    "text": lambda x, rng: [np.asarray(one).astype(str) for one in x],
    "objects": lambda x, rng: [np.array(np.asarray(one).tolist(), dtype=object) for one in x],
    "None inside": lambda x, rng: [*x[:-1], None],
    "mixed": lambda x, rng: [x[0], np.asarray(x[-1]).astype(np.int8), *x[1:]],
    "integers": lambda x, rng: [np.asarray(one).astype(np.int64) for one in x],
    "largest integers": lambda x, rng: [np.full(np.shape(one), 2**64 - 1, np.uint64) for one in x],
    "bytes": lambda x, rng: [np.asarray(one).astype(np.uint8) for one in x],
    "flags": lambda x, rng: [np.asarray(one) > 0 for one in x],
    "half": lambda x, rng: [np.asarray(one).astype(np.float16) for one in x],
    "dates": lambda x, rng: [np.zeros(np.shape(one), "datetime64[s]") for one in x],
    "masked": lambda x, rng: [np.ma.masked_array(one, np.asarray(one) > 0.5) for one in x],
    "reversed": lambda x, rng: [np.asarray(one)[::-1] for one in x],
    "tensors": lambda x, rng: [torch.tensor(np.asarray(one), requires_grad=True) for one in x],
    "bfloat16": lambda x, rng: [torch.tensor(np.asarray(one)).bfloat16() for one in x],
    "meta": lambda x, rng: [torch.empty(np.shape(one), device="meta") for one in x],
    "complex tensors": lambda x, rng: [torch.ones(np.shape(one), dtype=torch.complex64) for one in x],
    "sequences": lambda x, rng: tl.Sequences(x, labels=[LONG] * len(x), ids=[LONG + str(i) for i in range(len(x))]),
    "numbered": lambda x, rng: tl.Sequences(x, labels=[2**62] * len(x), times=[1e6 * np.arange(len(one)) for one in x]),
    "many": lambda x, rng: x * 3,
}  # fmt: skip
ARRAYS = {
    "nan": lambda x, rng: _cell([x], np.nan)[0] if x.size else x,
    "inf": lambda x, rng: _cell([x], -np.inf)[0] if x.size else x,
    "huge": lambda x, rng: x * 1e200,
    "constant": lambda x, rng: np.ones(x.shape),
    "negative": lambda x, rng: -np.abs(x) - 1,
    "first": lambda x, rng: x[:1],
    "shorter": lambda x, rng: x[:-1],
    "none left": lambda x, rng: x[:0],
    "more axes": lambda x, rng: x[..., None],
    "flat": lambda x, rng: x.ravel(),
    "number": lambda x, rng: x.flat[0] if x.size else 0.0,
    "transposed": lambda x, rng: x.T,
    "complex": lambda x, rng: x + 1j,
    "text": lambda x, rng: x.astype(str),
    "objects": lambda x, rng: np.array([{}] * len(x), dtype=object),
    "integers": lambda x, rng: x.astype(np.int64),
    "half": lambda x, rng: x.astype(np.float16),
    "dates": lambda x, rng: np.zeros(x.shape, "datetime64[s]"),
    "sparse": lambda x, rng: sparse.csr_matrix(np.atleast_2d(x)) if x.ndim < 3 else x,
    "tensor": lambda x, rng: torch.tensor(np.ascontiguousarray(x), requires_grad=x.dtype.kind == "f"),
    "meta": lambda x, rng: torch.empty(x.shape, device="meta"),
    "list": lambda x, rng: x.tolist(),
    "table": lambda x, rng: pd.DataFrame(x.reshape(len(x), -1)),
}  # fmt: skip
LABELS = {
    "missing": lambda y, rng: [*y.tolist()[:-1], None],
    "nan": lambda y, rng: [*y.tolist()[:-1], float("nan")],
    "long": lambda y, rng: [f"{LONG}{entry}" for entry in y.tolist()],
    "one class": lambda y, rng: [y.tolist()[0]] * len(y),
    "all different": lambda y, rng: [f"c{i}" for i in range(len(y))],
    "fractions": lambda y, rng: np.arange(len(y)) / 3,
    "large": lambda y, rng: [2**63 + (i % 2) for i in range(len(y))],
    "unsigned": lambda y, rng: np.array([2**64 - 1 - (i % 2) for i in range(len(y))], np.uint64),
    "larger": lambda y, rng: [2**70] * len(y),
    "mixed": lambda y, rng: [1, "1"] * (len(y) // 2),
    "shorter": lambda y, rng: y[:-1],
    "none": lambda y, rng: y[:0],
    "table": lambda y, rng: np.stack([y, y], axis=1),
    "column": lambda y, rng: y[:, None],
    "complex": lambda y, rng: np.arange(len(y)) * 1j,
    "dates": lambda y, rng: np.arange(len(y)).astype("datetime64[D]"),
    "flags": lambda y, rng: np.arange(len(y)) % 2 == 0,
    "bytes": lambda y, rng: np.array([b"a", b"b"] * (len(y) // 2)),
    "meta": lambda y, rng: torch.empty(len(y), device="meta"),
    "unknown": lambda y, rng: ["nobody"] * len(y),
}  # fmt: skip
ANYTHING = [None, "text", LONG, b"x", {}, [], set(), 0, -1, 1.5, True, float("nan"), float("inf"), 2**70, 1j, object(), int,
            np.array([]), np.array(3.0), np.zeros((2, 0)), np.zeros((0, 3, 2)), np.array("word"), [[]], [[], []], [[[]]],
            [None], ["a"], [1.0, [2.0]], (), *([torch.empty(3, 2, device="meta"), torch.tensor(1.0)] if torch else []),
            lambda x: x, range(3),
            iter([1.0]), np.array([{}]), pd.DataFrame(), pd.Series([1.0, None]), -(2**63), 1e-320]  # fmt: skip
TENSORS = {"tensors", "bfloat16", "meta", "complex tensors", "tensor"}


def spoil(value, rng):
    """A hostile value in the place of a good one, and how it came about."""
    if rng.random() < 0.15:
        place = int(rng.integers(len(ANYTHING)))
        return ANYTHING[place], f"anything {place}"
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        table = COLLECTIONS
    elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "Uib":
        table = LABELS
    elif isinstance(value, np.ndarray) and value.size:
        table = ARRAYS
    else:
        place = int(rng.integers(len(ANYTHING)))
        return ANYTHING[place], f"anything {place}"
    ways = [way for way in table if torch or way not in TENSORS]
    how = ways[int(rng.integers(len(ways)))]
    return table[how](value, rng), how


# --- one call ----------------------------------------------------------------------------------------------------


def _copied(value):
    """What a caller could see changing: arrays and tensors, also inside lists."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if torch and isinstance(value, torch.Tensor):
        return None if value.is_meta else value.detach().clone()
    if isinstance(value, list | tuple):
        return [_copied(one) for one in value]
    return value.values.copy() if isinstance(value, tl.Sequences) else None


def _unchanged(value, before):
    if torch and isinstance(value, torch.Tensor):
        return before is None or torch.equal(value.detach().nan_to_num(), before.nan_to_num())
    if isinstance(value, list | tuple):
        return len(value) == len(before) and all(map(_unchanged, value, before))
    if isinstance(value, tl.Sequences):
        value = value.values
    if not isinstance(value, np.ndarray) or before is None:
        return True
    if value.dtype.kind in "OM" or before.dtype != value.dtype:
        return value.dtype == before.dtype
    return np.array_equal(value, before, equal_nan=value.dtype.kind in "fc")


def _state(call):
    model = getattr(call, "__self__", None)
    if not hasattr(model, "get_params"):
        return {}
    return {name: [leaf.copy() for leaf in leaves(value)] for name, value in vars(model).items() if name.endswith("_")}


def _same_state(one, other):
    if one.keys() != other.keys():
        return False
    for name, before in one.items():
        after = other[name]
        if len(before) != len(after):
            return False
        for a, b in zip(before, after, strict=True):
            if a.dtype != b.dtype or a.tobytes() != b.tobytes():
                return False
    return True


def _in_scikit(error):
    return any("sklearn" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


def attempt(target, rng):
    """One hostile call; what was wrong about its outcome in words, or None."""
    given = target.given()
    names = list(given)
    chosen = [name for name in names if rng.random() < 0.15] or (
        [names[int(rng.integers(len(names)))]] if names else []
    )
    told = []
    for name in chosen:
        try:
            given[name], how = spoil(given[name], rng)
        except (ValueError, TypeError, OverflowError, IndexError, RuntimeError):
            how = "left as it is"  # what cannot even be made
        told.append(f"{name}: {how}")
    call = target.make()
    before, state = _copied(list(given.values())), _state(call) if target.changes else {}
    begin, problem = time.process_time(), None  # not the hour: other processes may be at work
    try:
        call(**given)
    except (ValueError, TypeError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        frame = frames[-1]
        ours = _in_scikit(error) or "timelike" in frame.filename
        if not ours:
            problem = f"{type(error).__name__} that is not ours, from {frame.filename}:{frame.lineno}: {error!s:.200}"
        elif len(str(error)) > MOST and not (target.name.endswith(".score") and _in_scikit(error)):
            problem = f"a message of {len(str(error))} characters: {error!s:.200}"
        elif target.changes and not _same_state(state, _state(call)):
            problem = f"half fitted after {error!s:.200}"
    except MemoryError as error:  # ours say how much there is, and how to ask for less
        frame = traceback.extract_tb(error.__traceback__)[-1]
        problem = None if "timelike" in frame.filename else f"MemoryError at {frame.filename}:{frame.lineno}"
    except Exception as error:
        if target.name.endswith(".score") and _in_scikit(error):  # a method of theirs, as with their own estimators
            return None
        frame = [one for one in traceback.extract_tb(error.__traceback__) if "src/timelike" in one.filename][-1:]
        at = f" at {frame[0].filename.rpartition('src/')[2]}:{frame[0].lineno}" if frame else ""
        problem = f"{type(error).__name__}: {error!s:.200}{at}"
    if not problem and not _unchanged(list(given.values()), before):
        problem = "what was given has changed"
    if not problem and time.process_time() - begin > 60:
        problem = f"took {time.process_time() - begin:.0f} s"
    return None if problem is None else f"{target.name} with {', '.join(told)}: {problem}"


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_input_is_answered_or_refused_and_leaves_no_trace(part):
    calls = int(os.environ.get("TIMELIKE_EXPLORE", str(len(TARGETS))))
    seed = int(os.environ.get("TIMELIKE_SEED", "0"))
    found, done = [], 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(part, calls, PARTS):
            target = TARGETS[number % len(TARGETS)]
            problem = attempt(target, np.random.default_rng([seed, number]))
            done += 1
            if problem is not None:
                found.append(f"call {number}, {problem}")
    assert not found, f"{len(found)} of {done} calls:\n" + "\n".join(found[:200])


def test_a_good_call_of_every_target_is_answered():
    """So that what is spoiled is one argument, and not the call: a sample, since others run all of them."""
    for target in TARGETS[:: max(1, len(TARGETS) // 12)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.make()(**copy.deepcopy(target.given()))


# --- what was found, held by name --------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((8, 10, 2))
LEARN = pytest.mark.learn


@pytest.mark.parametrize(
    "call",
    [
        tl.Sequences,
        lambda z: tl.Sequences(list(z)),
        pytest.param(lambda z: tl.Sequences(torch.tensor(z)), marks=LEARN),
        lambda z: tl.Sequences(X, times=z[0, :, 0]),
        lambda z: tl.Sequences.from_packed(z[0], [0, 10]),
        lambda z: tl.align.Spring([1.0, 2.0], threshold=1.0).push(z[0, 0, 0]),
        lambda z: tl.align.Spring([1.0, 2.0], threshold=1.0).extend(z[0, :, 0]),
        lambda z: tl.distributions.RBF()(z[:, 0], X[:, 0]),
        pytest.param(lambda z: tl.distributions.RBF()(torch.tensor(z[:, 0]), torch.tensor(z[:, 0])), marks=LEARN),
        lambda z: tl.distributions.mmd(X[:, 0], z[:, 0], tl.distributions.Linear()),
        lambda z: tl.score.mse(z, X),
        lambda z: tl.DTW().pairwise(z),
        pytest.param(lambda z: tl.nn.SoftDTW()(torch.tensor(z), torch.tensor(z)), marks=LEARN),
        pytest.param(
            lambda z: (
                tl.CausalEncoder(max_steps=1, random_state=0, depth=2, n_features=4).fit(X).stream().push(z[0, 0])
            ),
            marks=LEARN,
        ),
    ],
)
def test_an_imaginary_part_is_never_dropped(call):
    with pytest.raises((TypeError, ValueError), match=r"complex|real numbers"):
        call(X + 1j)


@LEARN
def test_a_sample_with_a_gradient_is_pushed_as_its_number():
    spring, plain = (tl.align.Spring([1.0, 2.0], threshold=1.0) for _ in range(2))
    for value in (0.0, 1.0, 2.0, 5.0, 9.0, 9.0):
        assert spring.push(torch.tensor(value, requires_grad=True)) == plain.push(value)


@pytest.mark.parametrize("entries", [[2**63, 2**63 + 1], [2**63 + 1, 5], [2**64 - 1, 0]])
def test_large_labels_are_kept_exactly_or_refused(entries, tmp_path):
    """As floats 2**63 and 2**63 + 1 would be one class."""
    labels = entries * 4
    assert tl.Sequences(X, labels=labels).labels.tolist() == labels
    model = tl.Neighbors().fit(X, labels)
    assert model.predict(X).tolist() == labels
    model.save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").predict(X).tolist() == labels
    for beyond in ([2**63, -1], [2**70, 1], [-(2**63) - 1, 0]):
        for call in (lambda y: tl.Sequences(X, labels=y), lambda y: tl.Neighbors().fit(X, y)):
            with pytest.raises(ValueError, match="64 bits do not hold"):
                call(beyond * 4)


@LEARN
def test_an_attack_is_told_of_labels_that_the_model_has_no_column_for():
    class Net(torch.nn.Module):
        def forward(self, x, lengths):
            return x.mean(1)

    with pytest.raises(ValueError, match="y holds 2, and the model gives logits of 2 classes"):
        tl.attacks.FGSM(0.1).attack(Net(), X, [0, 1] * 3 + [0, 2])


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="n_sets=0"):
        tl.score.critical_difference(3, 0)
    with pytest.raises(ValueError, match="item=99"):
        tl.forecast.Persistence().fit(X).predict(X, 2).plot(item=99)


@LEARN
def test_a_tensor_without_numbers_is_refused():
    with pytest.raises(TypeError, match="meta device"):
        tl.Sequences(torch.empty(2, 3, device="meta"))


@pytest.mark.parametrize("word", [pd.DataFrame(), pd.Series([1.0, None]), np.zeros((2, 0)), [[]], LONG])
def test_a_word_that_is_none_of_those_there_are_is_refused_by_its_name(word):
    for call, name in (
        (lambda: _named().derivative(rule=word), "rule"),
        (lambda: _named().to_frame(kind=word), "kind"),
        (lambda: _named().gaps().to_frame(kind=word), "kind"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"(?s)^{name}=.*expected one of"):
            call()


def meta():
    return torch.empty(4, 2, device="meta")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: tl.GDTW().select_regularization(X, X, values=(0.1,), truth=3),
            "truth is a int: expected a list of warps",
        ),
        (
            lambda: fitted(tl.distributions.Drift).stream(3).push([1.0, [2.0]]),
            "sample cannot be read as an array of num",
        ),
    ],
)
def test_what_has_no_numbers_is_refused_by_its_name(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert len(str(caught.value)) < 400


@LEARN
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: list(tl.train.class_batches(["a", None, "b"], 1, np.random.default_rng(0))), "labels"),
        (
            lambda: list(tl.train.class_batches(meta()[:, 0], 1, np.random.default_rng(0))),
            "labels is a tensor on the meta",
        ),
        (lambda: rasterize_digits(meta(), np.zeros((1, 1, 1, 2))), "patches is a tensor on the meta device"),
        (lambda: rasterize_digits(np.ones((1, 1, 2, 2)), meta()), "positions is a tensor on the meta device"),
        (lambda: dirac_moves(tl.distributions.RBF(width=1.0), meta()), "points is a tensor on the meta device"),
        (lambda: tl.distributions.empirical_ntk(torch.nn.Linear(2, 1), np.ones((2, 2)) * 1j), "x is complex"),
        (lambda: train_generator(sparse.csr_matrix(np.eye(3))), "real is a sparse csr_matrix"),
        (
            lambda: tl.GDTW().select_regularization(X, X, values=(0.1,), truth=torch.tensor(1.0)),
            "truth is a Tensor: expected",
        ),
        (lambda: _named().to_tensor(LONG), "device='x.*expected a torch device"),
        (lambda: _named().to_tensor(-1), "device=-1: expected a torch device"),
        (lambda: fitted(tl.SRVP).interpolate(np.ones((14, 2)), [1.0, [2.0]]), "cannot be read as an array of numbers"),
        (lambda: tl.nn.Similarity(2).scores(np.ones((3, 2)) * 1j, np.ones((3, 2))), "u is complex"),
    ],
)
def test_a_tensor_without_numbers_is_refused_by_its_name(call, words):
    test_what_has_no_numbers_is_refused_by_its_name(call, words)


def train_generator(real):
    return tl.distributions.train_generator(torch.nn.Linear(2, 3), real, tl.distributions.RBF(), n_latent=2, steps=1)


@LEARN
def test_tensors_with_gradients_are_read_as_their_numbers():
    sloped = torch.ones(4, 2, requires_grad=True)
    numbers = sloped.detach().numpy()
    kernel = tl.distributions.RBF(width=1.0)
    np.testing.assert_array_equal(dirac_moves(kernel, sloped), dirac_moves(kernel, numbers))
    patches = torch.ones(1, 1, 2, 2, requires_grad=True)
    np.testing.assert_array_equal(rasterize_digits(patches, np.zeros((1, 1, 1, 2)), size=4).sum(), 4)
    found = tl.distributions.empirical_ntk(torch.nn.Linear(2, 1), sloped)
    assert found.requires_grad
    np.testing.assert_allclose(found.detach(), np.full((4, 4), 3.0))  # x·y and the bias


def test_no_message_repeats_a_label_of_ten_thousand_characters():
    named = _named().replace(labels=[LONG + str(i % 2) for i in range(4)], ids=[LONG + str(i) for i in range(4)])
    for call in (
        lambda: named.where(label="a"), lambda: named.where(id=LONG), lambda: named[LONG + "x"],
        lambda: named.channels(LONG), lambda: named.replace(groups=[LONG] * 4).folds(2), lambda: named.episodes(3, 1),
        lambda: tl.Neighbors(LONG).fit(X, [0, 1] * 4),
        lambda: tl.Sequences(X, labels=[LONG, 1] * 4), lambda: tl.Sequences(X, labels=["a"] * 8, class_names=[LONG]),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError, IndexError)) as caught:
            call()
        assert len(str(caught.value)) < 1500


@LEARN
def test_no_message_of_a_training_repeats_a_label_of_ten_thousand_characters():
    with pytest.raises(ValueError, match="class") as caught:
        tl.Prototypes().fit(X, [LONG] * 8)
    assert len(str(caught.value)) < 1500
