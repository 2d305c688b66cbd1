"""A small valid call of every public verb and function that takes arrays: what contracts about input run, and spoil.

The arguments of a verb are made by the names of its parameters, so that a new method is called by itself. Functions
stand in a table, since nothing about them says what they take; `test_layouts.py` asserts that none is left out.
"""

import copy
import dataclasses
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

import timelike as tl
from contract.discover import ATTACKS, AUGMENTATIONS, DISCRIMINATORS, data, fitted, small, targets
from optional_torch import torch
from timelike import score
from timelike.core.validation.arrays import count_axes
from timelike.distributions import IPM, RBF
from timelike.sequences.augment import Blur, Jitter
from timelike.sequences.generate import rasterize_digits

# verbs that are not about what comes in: options, files, figures, streams (which have calls of their own below)
ASIDE = {
    "get_params",
    "set_params",
    "get_metadata_routing",
    "save",
    "export_onnx",
    "plot",
    "stream",
    "network",
    "metric",
    "lyapunov_exponent",
    "solution",
    "report",
    "get_feature_names_out",
}
CHANGING = {
    "fit",
    "fit_pairs",
    "fit_predict",
    "fit_transform",
    "enroll",
    "forget",
    "calibrate",
    "calibrate_stream",
    "update",
}
COLLECTIONS = {"X", "Y", "past", "batch", "queries", "gallery", "examples", "content_of", "dynamics_of"}
ONES = {"x": 0, "y": 2, "a": 0, "b": 2}  # single sequences, by their place
FIXED = {"horizon": 2, "random_state": 0, "levels": (0.1,), "n_triples": 4, "identity": "up", "label": "up"}
MORE = {
    ("GDTW", "select_regularization"): {"values": (0.1, 1.0)},
    ("Prototypes", "enroll"): {"extend": True},
    ("Prototypes", "calibrate"): {"false_accept": 0.4, "false_reject": 0.3},
    ("Prototypes", "calibrate_stream"): {"false_reject": 0.3},
    ("Verifier", "enroll"): {"extend": True},
    ("Verifier", "calibrate"): {"false_accept": 0.4},
}
DECLINED = {("Verifier", "calibrate_stream")}  # of a metric that reads no streams; tests/verify has those that do


def verbs(kind):
    """The public verbs of a class that take sequences, with the parameters of each."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        if not name.startswith("_") and inspect.isfunction(found) and name not in ASIDE:
            yield name, dict(list(inspect.signature(found).parameters.items())[1:])


def arguments(kind, verb, parameters, seed=5):
    """What a verb is called with, by name; collections are lists of plain arrays."""
    X = data(kind, seed=seed) if hasattr(kind, "_n_frame_axes") else tl.Sequences(data(tl.Rocket, (9, 9, 9, 9), seed))
    several = [np.array(x) for x in X]
    given: dict[str, Any] = {}
    for name, parameter in parameters.items():
        open_ = parameter.default is inspect.Parameter.empty
        if name == "y" and "X" in parameters:
            given[name] = np.array(targets(kind, X)) if hasattr(kind, "_n_frame_axes") else X.labels.copy()
        elif name in COLLECTIONS and (open_ or name == "Y"):
            given[name] = several[::-1] if name in ("Y", "dynamics_of") else several
        elif name in ONES and open_:
            given[name] = several[ONES[name]]
        elif name == "pairs":
            given[name] = np.array([[0, 2], [0, 1], [2, 3], [1, 3], [4, 6], [5, 6]])
        elif name == "same":
            given[name] = np.array([True, False, False, True, True, False])
        elif name == "truth":
            given[name] = [np.linspace(0, len(x) - 1, len(x)) for x in several]
        elif name in FIXED and (open_ or name in ("random_state", "levels", "n_triples", "identity")):
            given[name] = FIXED[name]
    return given | MORE.get((kind.__name__, verb), {})


def owner(kind, verb):
    """Whose verb it is: the small example that is fitted once, or a copy of it where the verb changes it."""
    if not hasattr(kind, "_n_frame_axes"):
        return kind()
    if verb == "fit_pairs" and "loss" in kind.options():
        return small(kind, loss="binomial")
    model = _verifier() if kind is tl.Verifier else fitted(kind)
    return copy.deepcopy(model) if verb in CHANGING else model


@cache
def _verifier():
    """One that knows somebody."""
    model, X = copy.deepcopy(fitted(tl.Verifier)), data(tl.Verifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two identities are few, and who is enrolled has more examples than either
        model.calibrate(X, X.labels, false_accept=0.4)
        parameters = dict(list(inspect.signature(model.enroll).parameters.items()))
        return model.enroll(**arguments(tl.Verifier, "enroll", parameters) | {"extend": False})


# --- functions and values ----------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call and the arrays it is given, by name; a list is a collection of sequences."""

    run: Callable[..., Any]
    given: Mapping[str, Any]
    needs_learn: bool = False


def _rng():
    return np.random.default_rng(3)


def _ragged(n=6, shift=0.0):
    rng = _rng()
    return [rng.standard_normal((length, 2)) + shift for length in rng.integers(7, 11, n)]


def _equal(n=8, length=8):
    return list(_rng().standard_normal((n, length, 2)))


def _vectors(n=8, shift=0.0):
    return _rng().standard_normal((n, 3)) + shift


def _series(length=40):
    return _rng().standard_normal((length, 2))


def _distances(n=8):
    x = _vectors(n)
    return np.sqrt(((x[:, None] - x) ** 2).sum(axis=-1))


def _probabilities(n=8):
    found = np.exp(_rng().standard_normal((n, 2)))
    return found / found.sum(axis=1, keepdims=True)


def _spring(query, examples, stream, sample):
    spring = tl.align.Spring(query).calibrate(examples)
    return [spring.threshold, spring.extend(stream), spring.push(sample), spring.flush()]


def _encoder_stream(samples):
    stream = fitted(tl.CausalEncoder).stream()
    return [stream.push(sample) for sample in samples] if count_axes(samples) else stream.push(samples)


def _forecast_methods(past):
    found = tl.forecast.Persistence().fit(past).calibrate(past, horizon=2).predict(past, 2)
    return [found.mean, *found.interval(0.5), found.quantile(0.5), found.to_sequences()]


def _critic(kind, fake, real, z):
    """What a discriminator says that was trained on two samples, and how it slopes."""
    if kind.__name__ == "FiniteDiscriminator":
        made = kind(width=8, steps=3, random_state=0)
    elif kind.__name__ == "FunctionDiscriminator":
        made = kind(lambda items: items.square().sum(1))
    else:
        made = kind(RBF(width=1.0))
    critic = made.train_critic(fake, real)
    return [critic(z), critic.gradient(z), critic.cost(z)]


def _augmented(kind, x, X):
    made = kind((Jitter(), Blur())) if kind.__name__ in ("Compose", "RandomChoice") else kind()
    found = made(tl.Sequences(X), random_state=0)
    return [*made(x, random_state=0), found.sequences, found.alignments]


def _generated(real):
    torch.manual_seed(0)
    network = torch.nn.Linear(2, 3)
    made = tl.distributions.train_generator(network, real, IPM(RBF(width=1.0)), n_latent=2, steps=2, random_state=0)
    return made.sample(4, random_state=0)


def _tangent(x, y):
    torch.manual_seed(0)
    return tl.distributions.empirical_ntk(torch.nn.Linear(3, 2), x, y)


def _attacked(kind, X, y):
    return kind(0.1).attack(fitted(tl.Prototypes), X, y, random_state=0)


def _similarity(u, v, starts):
    torch.manual_seed(0)
    made = tl.nn.Similarity(3, hidden=4)
    return [
        made.scores(u, v),
        *made.top_k(u, v, 2),
        made.group_maxima(u, v, starts),
        made.scores(made.precompute(u), v),
    ]


@cache
def _gate():
    """A verifier that reads streams."""
    rng = _rng()
    X = [np.sin(np.arange(20) / pace + rng.uniform(0, 1)) for pace in range(2, 8) for _ in range(4)]
    y = np.repeat(np.arange(6), 4)
    gate = tl.Verifier(tl.Rocket(n_features=84, causal=True, random_state=0)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gate.calibrate(X, y, false_accept=0.4).calibrate_stream(X, y, false_accept=0.4)
        return gate.enroll(X[:3], "anna")


def _verified(samples):
    stream = _gate().stream("anna")
    decisions = [stream.push(sample) for sample in samples] if count_axes(samples) else [stream.push(samples)]
    return [decision.score for decision in decisions]


@cache
def _streaming():
    """Prototypes that know when they may decide."""
    X = np.sin(np.arange(12) / np.repeat([1, 3], 8)[:, None] + _rng().uniform(0, 1, (16, 1)))[..., None].repeat(2, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = small(tl.Prototypes).fit(X, np.repeat([0, 1], 8))
        return model.calibrate_stream(X, np.repeat([0, 1], 8), false_reject=0.3)


def _recognized(samples):
    stream = _streaming().stream()
    return [stream.push(sample) for sample in samples] if count_axes(samples) else stream.push(samples)


def _drifting(samples):
    stream = copy.deepcopy(fitted(tl.distributions.Drift)).stream(window=3, batch_size=2)
    return [stream.push(sample) for sample in samples] if count_axes(samples) else stream.push(samples)


def _digits():
    return _rng().uniform(size=(8, 6, 6))


def _positions():
    """Of two digits in each of three frames of two clips: (clip, time, digit, 2)."""
    return _rng().uniform(0, 8, size=(2, 3, 2, 2))


def _frames(n=3, steps=2):
    return _rng().uniform(size=(n, steps, 1, 12, 12))


LABELS = np.array(["up", "down"] * 4)
SAME = np.array([True, False] * 4)
ANSWER = np.array(["up", "down", "down", "up"] * 2)
CODES = np.array([0, 1, 0, 1, 1, 1, 0, 0])
MEMBERS = {"truth": LABELS, "answer": ANSWER}
RANKED = {"distances": _distances(), "query_labels": LABELS}
NUMBERS = {"truth": _vectors(), "forecast": _vectors(shift=0.5)}
PREDICTED = {"truth": _vectors()[:, 0], "answer": _vectors()[:, 1]}
DRAWN = {"truth": _vectors(), "samples": _rng().standard_normal((5, 8, 3))}
JUDGED = {"truth": CODES % 2, "probabilities": _probabilities()}
PAIRED = {"distances": _vectors()[:, 0], "same": SAME}
MANY = {"distances": _distances(), "labels": np.array([0, 0, 1, 1, 2, 2, 3, 3])}
BETWEEN = {"x": _vectors(), "y": _vectors(shift=0.3)}
SCORES = _rng().uniform(size=(8, 3))


def _resampled(distances, same, subjects):
    return score.resampled_errors(distances, same, subjects, n_resamples=20, random_state=0)


def _seeded(function, **more):
    return partial(function, random_state=0, **more)


SCORE_CALLS = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "confusion_matrix", "is_correct", "macro_f1"), MEMBERS),
    "classification_scores": (_seeded(score.classification_scores, n_resamples=20), MEMBERS),
    **{name: {"truth": LABELS, "clusters": CODES} for name in ("adjusted_rand", "normalized_mutual_info", "purity")},
    **dict.fromkeys(
        (
            "average_precision",
            "mean_average_precision",
            "nearest_accuracy",
            "is_nearest_correct",
            "precision_at_k",
            "r_precision",
            "recall_at_k",
        ),
        RANKED,
    ),
    **dict.fromkeys(("mae", "mse"), NUMBERS),
    **dict.fromkeys(("crps", "energy_score"), DRAWN),
    **{name: (partial(getattr(score, name), score="mse"), DRAWN) for name in ("rank_samples", "best_of_n")},
    **dict.fromkeys(("brier_score", "expected_calibration_error", "negative_log_likelihood", "reliability"), JUDGED),
    **dict.fromkeys(("equal_error_rate", "minimum_cost", "verification_errors"), PAIRED),
    **{
        name: (_seeded(getattr(score, name), n_resamples=20), MANY)
        for name in (
            "equal_error_interval",
            "error_band",
            "errors_interval",
            "minimum_cost_interval",
            "resampled_error_rates",
        )
    },
    **{name: {"distances": _distances(), "clusters": CODES} for name in ("silhouette", "silhouette_samples")},
    **{
        name: {"known": _vectors()[:, 0], "unknown": _vectors(shift=1.0)[:, 1]}
        for name in ("novelty_auroc", "novelty_errors", "unknown_accept_rate")
    },
    **{name: (partial(getattr(score, name), h=2), {"scores": SCORES}) for name in ("at_step", "mean_to_step")},
    **{name: {"truth": _frames(), "forecast": _frames() ** 2} for name in ("psnr", "ssim")},
    "bootstrap": (_seeded(score.bootstrap, n_resamples=20), {"values": _vectors()[:, 0]}),
    "cliques": {
        "mean_ranks": np.array([1.0, 2.0, 2.5]),
        "significant": np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], bool),
    },
    "corrected_t_test": (partial(score.corrected_t_test, overlap=0.2), {"differences": _vectors()[:, 0]}),
    "coverage": {"truth": _vectors(), "low": _vectors() - 1, "high": _vectors() + 1},
    "critical_difference": (lambda: score.critical_difference(3, 8), {}),
    "crps_quantiles": {
        "truth": _vectors(),
        "quantiles": np.sort(_rng().standard_normal((2, 8, 3)), axis=0),
        "levels": np.array([0.2, 0.8]),
    },
    "frechet_distance": BETWEEN,
    "friedman_test": {"scores": SCORES},
    "fvd": (
        partial(score.fvd, features=lambda clips: np.asarray(clips).reshape(len(clips), -1)[:, ::40]),
        {"truth": _frames(6), "forecasts": _frames(6)[None] ** 2},
    ),
    "holm_correction": {"p_values": np.array([0.01, 0.2, 0.03])},
    "horizon_scores": (
        lambda truth, forecast: score.horizon_scores(truth, {"ours": forecast}),
        {"truth": _frames(), "forecast": _frames() ** 2},
    ),
    "interval": {"values": _vectors()[:, 0]},
    "item_pairs": MANY,
    "lpips": (
        partial(score.lpips, weights=lambda a, b: ((np.asarray(a) - np.asarray(b)) ** 2).mean(axis=(1, 2, 3))),
        {"truth": _frames(), "forecast": _frames() ** 2},
        True,
    ),
    "accuracy_by_group": {"truth": LABELS, "answer": ANSWER, "groups": CODES},
    "r2": PREDICTED,
    "regression_scores": (_seeded(score.regression_scores, n_resamples=20), PREDICTED),
    "retrieval_scores": (
        _seeded(score.retrieval_scores, n_resamples=20),
        {"distances": _distances(), "labels": LABELS},
    ),
    "mase": {**NUMBERS, "training": _vectors()[:, ::-1].copy()},
    "mcnemar_test": {"first": SAME, "second": SAME[::-1].copy()},
    "open_set_curve": {"known": _vectors()[:, 0], "correct": SAME, "unknown": _vectors()[:, 1]},
    "bootstrap_p_value": {"differences": _vectors()[:, 0]},
    "paired_bootstrap": (
        _seeded(partial(score.paired_bootstrap, score.accuracy), n_resamples=20),
        {"truth": LABELS, "first": ANSWER, "second": ANSWER[::-1].copy()},
    ),
    "significant_pairs": {"scores": SCORES},
    "permutation_test": (
        _seeded(score.permutation_test, n_permutations=50),
        {"first": SCORES[:, 0], "second": SCORES[:, 1]},
    ),
    "pinball_loss": (partial(score.pinball_loss, q=0.3), {"truth": _vectors(), "quantile": _vectors(shift=0.5)}),
    "method_ranks": {"scores": SCORES},
    "resampled_errors": (
        _resampled,
        {"distances": _vectors()[:, 0], "same": SAME, "subjects": np.stack([CODES, CODES[::-1] + 1], axis=1)},
    ),
    "skill": {"score": SCORES, "reference": SCORES + 1},
    "temperature": {"logits": _vectors()[:, :2], "truth": CODES % 2},
    "interval_width": {"low": _vectors() - 1, "high": _vectors() + 1},
}

RECOGNIZED = {"X": [np.array(x) for x in data(tl.Prototypes)], "y": np.array(data(tl.Prototypes).labels)}

FUNCTIONS = {
    "align.barycenter": Call(_seeded(tl.barycenter, max_iter=3), {"X": _ragged()}),
    "align.matrix_profile": Call(partial(tl.matrix_profile, size=5), {"series": _series()}),
    "align.subsequence": Call(tl.subsequence, {"query": _series(6), "stream": _series()}),
    "distributions.descend": Call(
        lambda start, real: tl.distributions.descend(start, real, IPM(RBF(width=1.0)), steps=3, step=0.1).particles,
        {"start": _vectors(), "real": _vectors(shift=1.0)},
    ),
    "distributions.differences": Call(
        _seeded(tl.distributions.differences, n_permutations=19), {"X": _equal(), "Y": _equal()[::-1]}
    ),
    "distributions.energy": Call(tl.distributions.energy, BETWEEN),
    "distributions.mmd": Call(partial(tl.distributions.mmd, kernel=RBF()), BETWEEN),
    "distributions.power": Call(_seeded(tl.distributions.power, n_permutations=200), {"X": _equal(), "Y": _equal(9)}),
    "distributions.sinkhorn_divergence": Call(tl.distributions.sinkhorn_divergence, BETWEEN),
    "distributions.train_generator": Call(_generated, {"real": _vectors()}, needs_learn=True),
    "distributions.empirical_ntk": Call(_tangent, {"x": _vectors(5), "y": _vectors(4)}, needs_learn=True),
    "distributions.dirac_moves": Call(
        lambda points: tl.distributions.dirac_moves(IPM(RBF(width=1.0)), points), {"points": _vectors(3)[:, :2].copy()}
    ),
    "attacks.robustness": Call(
        lambda X, y: tl.attacks.robustness(fitted(tl.Prototypes), X, y, tl.attacks.FGSM(0.1), random_state=0),
        RECOGNIZED,
        needs_learn=True,
    ),
    "sequences.as_single_sequence": Call(
        lambda value: tl.sequences.as_single_sequence(value, "x"), {"value": _series(5)}
    ),
    "sequences.as_sequences": Call(lambda value: tl.sequences.as_sequences(value, "X"), {"value": _ragged()}),
    "sequences.generate.rasterize_digits": Call(
        partial(rasterize_digits, size=12),
        {"patches": _digits()[:4, :4, :4].reshape(2, 2, 4, 4), "positions": _positions()},
    ),
    "train.class_batches": Call(
        lambda labels: list(tl.train.class_batches(labels, 2, np.random.default_rng(0))),
        {"labels": LABELS},
        needs_learn=True,
    ),
    "distributions.witness": Call(lambda x, y: tl.distributions.witness(x, y, RBF())(x), BETWEEN),
    "forecast.backtest": Call(
        lambda X: tl.forecast.backtest(tl.forecast.Persistence(), X, 2, n_windows=2).scores, {"X": _ragged()}
    ),
    "evaluate.compare": Call(
        lambda X, y: tl.compare(X, y, methods={"1-NN": tl.Neighbors()}, cv=2, random_state=0).rows[0].scores,
        {"X": _equal(), "y": LABELS},
    ),
    "encode.embedding_map": Call(lambda X: tl.encode.embedding_map(tl.DTW(), X).views, {"X": _equal()}),
    "forecast.forecast_examples": Call(
        lambda X: tl.forecast.forecast_examples(tl.forecast.Persistence().fit(_equal()), X, 2).truth, {"X": _equal()}
    ),
    "neighbors.neighbor_examples": Call(
        lambda X: [example.distance for example in tl.neighbors.neighbor_examples(tl.DTW(), X).unlabelled],
        {"X": _ragged()},
    ),
    "report.write": Call(
        lambda data: tl.report.write(tl.Neighbors("euclidean").fit(_equal(), LABELS), data).to_html(),
        {"data": _equal()},
    ),
    "cluster.elbow": Call(lambda X: tl.cluster.elbow(tl.KMeans(random_state=0), X, (1, 2)), {"X": _ragged()}),
    "evaluate.few_shot": Call(
        lambda X, y: tl.evaluate.few_shot(tl.DTW(), X, y, n_way=2, n_query=1, n_tasks=4, random_state=0).accuracy,
        {"X": _equal(), "y": LABELS},
    ),
    **{
        f"score.{name}": Call(*call) if isinstance(call, tuple) else Call(getattr(score, name), call)
        for name, call in SCORE_CALLS.items()
    },
}

# what is public and no function, and is not found as a model or a metric
VALUES = {
    "Spring": Call(
        _spring,
        {"query": _series(6), "examples": [_series(20), _series(30)], "stream": _series(), "sample": _series()[0]},
    ),
    "Stream.push": Call(_encoder_stream, {"samples": _series(3)}, needs_learn=True),
    "Forecast": Call(_forecast_methods, {"past": _ragged()}),
    "TwoSample.test": Call(
        _seeded(tl.distributions.TwoSample, n_permutations=50)().test, {"X": _equal(), "Y": _equal()[::-1]}
    ),
    "ClassifierTest.test": Call(
        _seeded(tl.distributions.ClassifierTest, n_permutations=9)().test, {"X": _equal(12), "Y": _equal(10)}
    ),
    **{
        f"{kind.__name__}.train_critic": Call(
            partial(_critic, kind),
            {"fake": _vectors(), "real": _vectors(shift=1.0), "z": _vectors(4)},
            needs_learn=kind.__name__ in ("FiniteDiscriminator", "FunctionDiscriminator"),
        )
        for kind in DISCRIMINATORS
    },
    **{f"{kind.__name__}.attack": Call(partial(_attacked, kind), RECOGNIZED) for kind in ATTACKS},
    **{
        f"augment.{kind.__name__}": Call(partial(_augmented, kind), {"x": _series(9), "X": _ragged()})
        for kind in AUGMENTATIONS
    },
    "Similarity.scores": Call(
        _similarity, {"u": _vectors(5), "v": _vectors(4), "starts": np.array([0, 2])}, needs_learn=True
    ),
    "Spring.search": Call(
        lambda query, X: tl.align.Spring(query, threshold=8.0).search(X),
        {"query": _series(6), "X": [_series(20), _series(30)]},
    ),
    "Gallery.neighbors": Call(
        lambda gallery, queries: tl.DTW().prepare_gallery(gallery).neighbors(queries, 2),
        {"gallery": _ragged(), "queries": _ragged(3)},
    ),
    "VerifierStream.push": Call(_verified, {"samples": _series(12)[:, 0].copy()}),
    "PrototypeStream.push": Call(_recognized, {"samples": _series(4)}, needs_learn=True),
    "DriftStream.push": Call(_drifting, {"samples": _series(13)}),
}


# --- what a call gives -------------------------------------------------------------------------------------------


def leaves(answer):
    """The arrays that an answer is made of, in order: of records, lists, tensors and sequences."""
    if isinstance(answer, tl.Sequences):
        return [np.asarray(answer.values), np.asarray(answer.lengths)]
    if torch and isinstance(answer, torch.Tensor):
        return [answer.detach().numpy()]
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return [leaf for field in dataclasses.fields(answer) for leaf in leaves(getattr(answer, field.name))]
    if isinstance(answer, Mapping):
        return [leaf for value in answer.values() for leaf in leaves(value)]
    if isinstance(answer, list | tuple):
        return [leaf for value in answer for leaf in leaves(value)]
    if isinstance(answer, np.ndarray | np.generic | float | int | str | bool):
        return [np.asarray(answer)]
    if hasattr(answer, "frame_"):  # a model that gives itself
        clocked = ("history_", "seconds_")  # how long a fit took
        state = {n: v for n, v in vars(answer).items() if n.endswith("_") and n not in clocked}
        return leaves(state)
    return []
