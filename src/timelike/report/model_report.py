"""`write`: the report of a model on data, one HTML file, whatever kind of model it is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align import Metric
from ..align.model_metric import find_metric, split_steps
from ..core.parameters import format_count
from ..distributions import Drift
from ..encode import Encoder, embedding_map
from ..forecast import Forecast, Forecaster, backtest, forecast_examples
from ..models import load_model, summarize_model
from ..models.predictors import is_classifier, is_regressor
from ..neighbors import Neighbors, NeighborsRegressor, neighbor_examples
from ..plotting.regression import plot_predictions
from ..score import accuracy_by_group, classification_scores, regression_scores, reliability, retrieval_scores
from ..sequences import Sequences, as_sequences, load
from ..sequences.describe.plots import examples_html
from ..verify import Verifier
from . import sections
from .page import Page
from .sample import stratified_sample

_MAX_PREDICTED = 10_000  # sequences that are classified
_MAX_POINTS = 2000  # on the map of an encoder
_MAX_COMPARED = 400  # of which a metric, which may be slow, computes all distances
_MAX_TSNE = 1000  # points on a second map
_MAX_VERIFIED = 300  # whose pairs are resampled
_N_RESAMPLES = 200  # of them
_MAX_FORECAST = 50  # sequences
_MAX_WINDOWS, _MAX_WINDOWS_OF_ONE = 4, 40  # of each sequence, and of a single one
_MAX_HORIZON = 20


def write(model: Any, data: Any, *, out: str | Path | None = None) -> Page:
    """Write a report about a model and data: one HTML file that needs nothing else and can be sent to a colleague.

    It shows the data and their quality, what was learned and how to repeat it, and what the model does with the data:
    for a classifier, scores with intervals per class and group, the confusion matrix and the reliability of its
    probabilities; for a regressor, its errors with intervals and predictions over the truth; for a metric or an
    encoder, retrieval and verification; for all that compare, a map of the collection, which can be pointed at and
    clicked, and nearest neighbours with their alignments; for a forecaster, its scores over the horizon beside
    persistence, and forecasts with intervals; for a drift monitor, what has changed; and the curves of the training, if
    there was one. Sections that need labels are left out if there are none. Of large collections a sample is used in
    which every class has its share; the page says so.

    Parameters
    ----------
    model : Model, str or Path
        A fitted model, or a folder written by `model.save` or `timelike learn`; a folder also tells how it was made.
    data : Sequences, str or Path
        Sequences that were not used in `fit`, or what `tl.load` takes; of data with a test part, that part.
    out : path, optional
        Where to write the file. Its folder is made.

    Returns
    -------
    Page
        Its `to_html()` is the text of the file, and `save(path)` writes it somewhere else.

    Examples
    --------
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = tl.Sequences(rng.normal(size=(20, 15, 1)).cumsum(axis=1) + np.repeat([0, 9], 10)[:, None, None])
    >>> y = np.repeat(["low", "high"], 10)
    >>> page = tl.report.write(tl.Neighbors("dtw").fit(X[::2], y[::2]), X[1::2].replace(labels=y[1::2]))
    >>> [heading for heading, _ in page.sections]
    ['Data', 'Model', 'Scores', 'Reliability', 'Map', 'Nearest neighbours']
    """
    folder = model if isinstance(model, str | Path) else None
    fitted = model if folder is None else load_model(folder)
    X = _read_data(data)
    if is_regressor(fitted) and X.labels is not None and X.labels.dtype.kind in "biu":
        X = X.replace(labels=X.labels.astype(np.float64), class_names=None)  # whole numbers to predict, not classes
    subject = _Subject(fitted, X, folder)
    page = Page(_title(fitted, X, data), lead=_lead(fitted, X))
    for heading, make in _choose_sections(subject):
        parts = list(make(subject))
        if parts:
            page.add(heading, *parts)
    if subject.omitted:
        page.add("Not on this page", *(sections.paragraph(reason) for reason in dict.fromkeys(subject.omitted)))
    if out is not None:
        page.save(out)
    return page


@dataclass
class _Subject:
    """What the report is about, and what it has to leave out."""

    model: Any
    X: Sequences
    folder: str | Path | None
    omitted: list[str] = field(default_factory=list)

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, if they are classes."""
        labels = self.X.labels
        return None if labels is None or labels.dtype.kind == "f" or is_regressor(self.model) else labels

    @cached_property
    def metric(self) -> Metric:
        """What compares sequences; only asked for where there is one."""
        metric = find_metric(self.model)
        assert metric is not None
        return metric

    @property
    def has_pairs(self) -> bool:
        """Whether there are several sequences of one class."""
        labels = self.sample.labels
        return (
            self.classes is not None and labels is not None and bool(np.unique(labels, return_counts=True)[1].max() > 1)
        )

    @cached_property
    def sample(self) -> Sequences:
        """As many sequences as can be compared, each with each; every class has its share."""
        is_fast = isinstance(find_metric(split_steps(self.model)[1]), Encoder)
        return stratified_sample(self.X, _MAX_POINTS if is_fast else _MAX_COMPARED)

    @cached_property
    def distances(self) -> NDArray[Any]:
        """Those of the sample."""
        return self.metric.pairwise(self.sample)

    @cached_property
    def answers(self) -> NDArray[Any] | None:
        """The classes that a classifier gives to the sample."""
        return self.model.predict(self.sample) if is_classifier(self.model) else None

    def omit(self, what: str, why: str) -> None:
        """Say that something is not on the page."""
        self.omitted.append(f"{what}: {why}")


_Section = tuple[str, Callable[[_Subject], Iterator[Any]]]


def _read_data(data: Any) -> Sequences:
    if not isinstance(data, str | Path):
        return as_sequences(data, "data")
    loaded = load(data)
    return loaded if isinstance(loaded, Sequences) else loaded[1]


def _title(model: Any, X: Sequences, data: Any) -> str:
    if X.source is not None:
        return f"{type(model).__name__} on {X.source.short_name()}"
    return type(model).__name__ + (f" on {Path(data).name}" if isinstance(data, str | Path) else "")


def _lead(model: Any, X: Sequences) -> str:
    name = _with_article(type(model).__name__)
    return (
        f"What {name} does with {format_count(len(X), 'sequence')}. The scores are those of new data only if the model "
        "was not fitted on these sequences."
    )


def _with_article(name: str) -> str:
    """A class name with its article, by sound: abbreviations are read letter by letter.

    >>> [_with_article(name) for name in ("EmbeddingClassifier", "SiameseGRU", "SRVP", "Ridge")]
    ['an EmbeddingClassifier', 'a SiameseGRU', 'an SRVP', 'a Ridge']
    """
    is_vowel = name[:1] in "AEIO" or (name[:2].isupper() and name[0] in "FHLMNRSX")
    return f"{'an' if is_vowel else 'a'} {name}"


def _choose_sections(subject: _Subject) -> list[_Section]:
    """The sections that a model of this kind may have, in order."""
    model, compares = subject.model, find_metric(subject.model) is not None
    chosen: list[_Section] = [("Data", _describe_data), ("Model", _describe_model), ("Training", _show_training)]
    predicts_numbers = is_regressor(model)
    if is_classifier(model):
        chosen += [("Scores", _score_classes), ("Reliability", _show_reliability)]
    elif predicts_numbers:
        chosen += [("Scores", _score_numbers)]
    elif compares:
        chosen += [("Retrieval", _score_retrieval)]
    if compares:
        chosen += [("Map", _show_map), ("Nearest neighbours", _show_neighbors)]
    elif is_classifier(model) or predicts_numbers:
        name = type(split_steps(model)[1]).__name__
        subject.omit("Map and nearest neighbours", f"{name} has no metric or encoder that compares sequences.")
    if compares and not predicts_numbers and (not is_classifier(model) or hasattr(model, "verify")):
        chosen += [("Verification", _show_verification)]
    if isinstance(model, Forecaster):
        chosen += [("Scores over the horizon", _score_forecasts), ("Forecasts", _show_forecasts)]
    if isinstance(model, Drift):
        chosen += [("Drift", _show_drift)]
    return chosen


# --- data and model --------------------------------------------------------------------------------------------------


def _describe_data(subject: _Subject) -> Iterator[Any]:
    yield subject.X.describe()
    yield examples_html(subject.X)


def _describe_model(subject: _Subject) -> Iterator[Any]:
    yield summarize_model(subject.model, subject.folder)


def _show_training(subject: _Subject) -> Iterator[Any]:
    for part in (subject.model, *(getattr(subject.model, name, None) for name in ("encoder_", "metric_"))):
        history = getattr(part, "history_", None)
        if history is not None and history.n_steps:
            yield history
            return


# --- classification --------------------------------------------------------------------------------------------------


def _predicted_part(subject: _Subject) -> Sequences:
    return stratified_sample(subject.X, _MAX_PREDICTED)


def _score_classes(subject: _Subject) -> Iterator[Any]:
    X = _predicted_part(subject)
    answers = subject.model.predict(X)
    yield from _describe_sample(X, subject.X, "Predicted are")
    if subject.classes is None:
        subject.omit("Scores, confusion and reliability", "the data have no labels that are classes.")
        kinds, counts = np.unique(answers, return_counts=True)
        shares = [f"{count / len(answers):.1%}" for count in counts]
        yield sections.table(["answer", "sequences", "share"], list(zip(kinds.tolist(), counts, shares, strict=True)))
        return
    yield classification_scores(X.labels, answers, groups=X.groups, random_state=0)
    yield sections.paragraph(_describe_resampling(X))
    if X.groups is not None:
        yield sections.subheading("Accuracy in every group")
        yield accuracy_by_group(X.labels, answers, X.groups)


def _show_reliability(subject: _Subject) -> Iterator[Any]:
    if subject.classes is None:
        return
    if not hasattr(subject.model, "predict_proba"):
        subject.omit("Reliability", f"{type(subject.model).__name__} gives no probabilities.")
        return
    unknown = np.setdiff1d(subject.classes, subject.model.classes_)
    if len(unknown):
        subject.omit("Reliability", f"the model does not know {format_count(len(unknown), 'class')} of the data.")
        return
    X = _predicted_part(subject)
    yield reliability(X.labels, subject.model.predict_proba(X), classes=subject.model.classes_)


def _score_numbers(subject: _Subject) -> Iterator[Any]:
    X = _predicted_part(subject)
    if X.labels is None or X.labels.dtype.kind != "f":
        subject.omit("Scores", "the data have no labels that are numbers.")
        return
    yield from _describe_sample(X, subject.X, "Predicted are")
    answers = subject.model.predict(X)
    yield regression_scores(X.labels, answers, groups=X.groups, random_state=0)
    yield sections.paragraph(_describe_resampling(X))
    yield sections.figure_html(
        plot_predictions(X.labels, answers),
        "The prediction over the true number of each sequence; without errors all points lie on the line.",
    )


# --- metrics and encoders --------------------------------------------------------------------------------------------


def _score_retrieval(subject: _Subject) -> Iterator[Any]:
    if not subject.has_pairs:
        subject.omit("Retrieval and verification", "they need labels that are classes of several sequences.")
        return
    X = subject.sample
    yield from _describe_sample(X, subject.X, "Compared with each other are")
    yield sections.paragraph(
        "Every sequence searches for others of its class: how often the nearest one is, and how early all of them come."
    )
    yield retrieval_scores(subject.distances, X.labels, groups=X.groups, random_state=0)
    yield sections.paragraph(_describe_resampling(X))


def _show_verification(subject: _Subject) -> Iterator[Any]:
    X = stratified_sample(subject.sample, _MAX_VERIFIED)
    if not subject.has_pairs or X.labels is None or len(np.unique(X.labels)) < 2:
        return
    yield sections.paragraph(
        "Two sequences are taken for the same class if their distance is below a threshold. A threshold that accepts "
        "fewer pairs of two classes rejects more of one."
    )
    yield from _describe_sample(X, subject.X, "The pairs are those of")
    verifier = subject.model if isinstance(subject.model, Verifier) else Verifier(subject.metric).fit(X)
    yield verifier.evaluate(X, groups=X.groups, n_resamples=_N_RESAMPLES, random_state=0)


def _show_map(subject: _Subject) -> Iterator[Any]:
    X = subject.sample
    yield from _describe_sample(X, subject.X, "On the map are")
    yield embedding_map(
        subject.metric, X, answers=subject.answers, distances=subject.distances, tsne=len(X) <= _MAX_TSNE
    )


def _show_neighbors(subject: _Subject) -> Iterator[Any]:
    X, model, gallery = subject.sample, subject.model, None
    if isinstance(model, Neighbors):
        gallery = model.sequences_.replace(labels=model.classes_[model.codes_])
    elif isinstance(model, NeighborsRegressor):
        gallery = model.sequences_.replace(labels=model.targets_)
    elif len(X) < 2:
        subject.omit("Nearest neighbours", "there is one sequence.")
        return
    where = "the sequences that the model was fitted on" if gallery is not None else "the other sequences here"
    yield sections.paragraph(f"The neighbour comes from {where}.")
    known = subject.distances if gallery is None else None
    yield neighbor_examples(subject.metric, X, gallery=gallery, answers=subject.answers, distances=known, n=4)


# --- forecasts and drift ---------------------------------------------------------------------------------------------


def _score_forecasts(subject: _Subject) -> Iterator[Any]:
    model, X = subject.model, stratified_sample(subject.X, _MAX_FORECAST)
    horizon = _choose_horizon(model, X)
    if horizon is None:
        subject.omit(
            "Forecasts", f"no sequence is longer than the {model._min_past_steps()} steps that the model needs."
        )
        return
    free = int(X.lengths.max()) - model._min_past_steps() - horizon
    n_windows = min(free + 1, _MAX_WINDOWS if len(X) > 1 else _MAX_WINDOWS_OF_ONE)
    step = max(1, min(horizon, free // n_windows))
    yield from _describe_sample(X, subject.X, "Forecast are")
    yield backtest(
        model, X, horizon, n_windows=n_windows, step=step, baseline="persistence", progress=False, random_state=0
    )


def _show_forecasts(subject: _Subject) -> Iterator[Any]:
    horizon = _choose_horizon(subject.model, subject.X)
    if horizon is None:
        return
    found = forecast_examples(subject.model, subject.X, horizon)
    yield sections.paragraph(_describe_shade(found.forecast, found.level))
    yield found


def _describe_shade(forecast: Forecast, level: float) -> str:
    """What the shade in the figures of a forecast means, or why there is none."""
    share = f"{100 * level:g} %"
    if len(forecast.samples.shape) > 4:
        return "The figures show frames, which have no shade for an interval."
    if not forecast.has_interval(level):
        if forecast.calibration is None:
            return "There are no intervals, because the model is not calibrated: call calibrate(X) and save it again."
        return (
            f"There is no shade, because the calibration has too few errors for an interval of {share} up to the last "
            f"step here: call calibrate(X) with more sequences and horizon={forecast.shape[1]} or more, and save it "
            "again."
        )
    if forecast.calibration is None:
        return (
            f"{share} of the sampled futures lie in the shade, for each step by itself. It is not calibrated: how "
            "often it covers the truth is unknown. For a known coverage call calibrate(X) and save it again."
        )
    return f"The shade is the interval that covers the truth with a probability of {share}, for each step by itself."


def _choose_horizon(model: Forecaster, X: Sequences) -> int | None:
    """As many steps as half of what a typical sequence has beyond the past that the model needs."""
    free = X.lengths - model._min_past_steps()
    if free.max() < 1:
        return None
    return int(np.clip(np.median(free[free > 0]) // 2, 1, _MAX_HORIZON))


def _show_drift(subject: _Subject) -> Iterator[Any]:
    monitor = copy.deepcopy(subject.model)  # the batch belongs to the report, not to the model
    update = monitor.update(subject.X)
    yield sections.paragraph(f"The data are tested as one more batch. The answer for {update}.")
    yield monitor.report()


# --- samples ---------------------------------------------------------------------------------------------------------


def _describe_resampling(X: Sequences) -> str:
    return f"Intervals are at the 95 % level and resample {'sequences' if X.groups is None else 'whole groups'}."


def _describe_sample(sample: Sequences, X: Sequences, beginning: str) -> Iterator[str]:
    if len(sample) < len(X):
        yield sections.paragraph(
            f"{beginning} {len(sample)} of the {len(X)} sequences, a sample in which every class has its share."
        )
