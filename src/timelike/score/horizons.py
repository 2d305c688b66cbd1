"""Scores of several methods at every step of a horizon, with intervals: a table, and curves over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float, check_int
from . import ensembles, forecast_arrays
from .forecast_arrays import Numbers, as_forecast_array, validate_forecast, validate_samples, validate_truth
from .intervals import Interval, interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = str | Sequence[str] | Mapping[str, Callable[..., Any]]


class HorizonCurve(NamedTuple):
    """A score at every step with its bounds, each (step,)."""

    mean: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HorizonScores:
    """Scores of several methods over a horizon: see `horizon_scores`.

    `item_scores` is {score: {method: (item, step)}}, `n_samples` how many futures each method had, `trained_horizon` as
    far as sequences went in training, or None.
    """

    item_scores: dict[str, dict[str, Numbers]]
    n_samples: dict[str, int]
    trained_horizon: int | None
    confidence: float

    def per_step(self, score: str, method: str) -> HorizonCurve:
        """A score of a method at every step, with its interval over items."""
        found = [self._interval(column) for column in self._values(score, method).T]
        return HorizonCurve(*(np.array([getattr(one, part) for one in found]) for part in ("mean", "low", "high")))

    def mean_to_step(self, h: int | None = None) -> dict[str, dict[str, Interval]]:
        """The mean of every score over the steps 1 to h, all by default, by score and method: tables' "t+h".

        Steps whose truth is not known do not count, and neither does an item without any other.
        """
        return {
            score: {
                method: self._interval(
                    np.asarray(forecast_arrays.mean_to_step(values, values.shape[1] if h is None else h))
                )
                for method, values in methods.items()
            }
            for score, methods in self.item_scores.items()
        }

    def plot(self) -> Figure:
        """A panel for every score: a line with its interval for every method, a bar where training sequences ended."""
        from ..plotting.forecasts import plot_horizons

        curves = {
            score: {method: self.per_step(score, method) for method in methods}
            for score, methods in self.item_scores.items()
        }
        return plot_horizons(curves, trained=self.trained_horizon)

    def __repr__(self) -> str:
        n_items, n_steps = next(iter(next(iter(self.item_scores.values())).values())).shape
        of = f"{', '.join(self.item_scores)} of {', '.join(self.n_samples)}"
        return f"HorizonScores({of}, {n_items} items, {n_steps} steps)"

    def __str__(self) -> str:
        means = self.mean_to_step()
        rows = [["", *self.item_scores]]
        for method, count in self.n_samples.items():
            name = method if count == 1 else f"{method} (of {count})"
            rows.append([name, *(str(means[score][method]) for score in self.item_scores)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{self._describe_items()}, ± {100 * self.confidence:g} % interval", *lines])

    def _describe_items(self) -> str:
        """Of how many items the means are: those with a truth at one step or more."""
        each = [values for methods in self.item_scores.values() for values in methods.values()]
        n_items, n_steps = each[0].shape
        counts = sorted({int((~np.isnan(values)).any(axis=1).sum()) for values in each})
        some = "" if counts == [n_items] else f"{' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))} of "
        masked = ", without masked steps" if any(np.isnan(values).any() for values in each) else ""
        return f"mean over t+1…t+{n_steps} of {some}{n_items} items{masked}"

    def _values(self, score: str, method: str) -> Numbers:
        check_choice(score, "score", tuple(self.item_scores))
        check_choice(method, "method", tuple(self.n_samples))
        return self.item_scores[score][method]

    def _interval(self, values: NDArray[Any]) -> Interval:
        """nan where no item counts."""
        if np.isnan(values).all():
            return Interval(np.nan, np.nan, np.nan)
        return interval(values, confidence=self.confidence)


def horizon_scores(
    truth: Any,
    forecasts: Mapping[str, Any],
    scores: Scores = ("psnr", "ssim"),
    *,
    higher_is_better: Mapping[str, bool] | None = None,
    trained_horizon: int | None = None,
    confidence: float = 0.95,
) -> HorizonScores:
    """Scores of several methods at every step ahead, with intervals over items: a table, and curves over time.

    A method that gives several futures is judged by the best of them, chosen for every item by the mean of that score
    over all steps (see `best_of_n`), and the table says of how many; "crps" judges all of them together. Compare
    methods with equally many.

    Parameters
    ----------
    truth : array (item, step, *frame) or Sequences of one length
    forecasts : mapping
        Of each method, by name: a `Forecast`, an array (item, step, *frame), or samples (sample, item, step, *frame).
    scores : names or mapping
        Of "mse", "mae", "psnr", "ssim", "crps"; or functions by name, such as {"LPIPS": partial(lpips, weights=file)}.
    higher_is_better : mapping, optional
        Whether more is better, by the name of the score, such as {"blur": False}: known of the library's scores, and
        needed for your own where a method gives several futures.
    trained_horizon : int, optional
        How many steps ahead training sequences went, which is their length without the conditioning frames.
    confidence : float
        Of the intervals, from Student's t over items, which must not depend on each other.

    Examples
    --------
    >>> truth = np.zeros((3, 2))
    >>> answers = {"near": [[0.1, 0.2]] * 3, "far": [[1.0, 2.0], [1.0, 2.0], [1.0, 5.0]]}
    >>> found = horizon_scores(truth, answers, "mae")
    >>> found.per_step("mae", "far").mean
    array([1., 3.])
    >>> print(found)
    mean over t+1…t+2 of 3 items, ± 95 % interval
          mae
    near  0.15 ± 0
    far   2 ± 2.2
    """
    known = validate_truth(truth)
    share = check_float(confidence, "confidence", above=0.0)
    if share >= 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1, such as 0.95")
    if not isinstance(forecasts, Mapping) or not forecasts:
        what = "empty" if isinstance(forecasts, Mapping) else f"a {type(forecasts).__name__}"
        raise TypeError(f"forecasts is {what}: expected forecasts by name, such as {{'SRVP': forecast}}")
    drawn = {str(name): _as_samples(given, known, f"forecasts[{name!r}]") for name, given in forecasts.items()}
    judges = _resolve_scores(scores)
    ways = _resolve_higher_is_better(
        judges, higher_is_better, chosen=any(len(samples) > 1 for samples in drawn.values())
    )
    return HorizonScores(
        item_scores={
            name: {method: _score_each(known, samples, judge, ways[name]) for method, samples in drawn.items()}
            for name, judge in judges.items()
        },
        n_samples={name: len(samples) for name, samples in drawn.items()},
        trained_horizon=None if trained_horizon is None else check_int(trained_horizon, "trained_horizon", 1),
        confidence=share,
    )


def _as_samples(given: Any, truth: Numbers, name: str) -> NDArray[Any]:
    """With an axis of samples; of a forecast with one future its mean, which may be another than the sample."""
    samples = getattr(given, "samples", None)
    if samples is not None:
        return validate_samples(given, truth, name) if len(samples) > 1 else validate_forecast(given, truth, name)[None]
    array = as_forecast_array(given, name)
    return (
        validate_samples(array, truth, name) if array.ndim > truth.ndim else validate_forecast(array, truth, name)[None]
    )


def _resolve_scores(scores: Scores) -> dict[str, str | Callable[..., Any]]:
    if not isinstance(scores, str | Mapping | Iterable):
        raise TypeError(f"scores is a {type(scores).__name__}: expected names, such as ['psnr'], or functions by name")
    if isinstance(scores, Mapping) and scores:
        return dict(scores)
    names = (scores,) if isinstance(scores, str) else tuple(scores)
    if not names:
        raise ValueError("scores is empty: expected a name or more, such as ['psnr'], or functions by name")
    return {check_choice(name, "scores", ("mse", "mae", "psnr", "ssim", "crps")): name for name in names}


def _resolve_higher_is_better(
    judges: Mapping[str, str | Callable[..., Any]], given: Mapping[str, bool] | None, *, chosen: bool
) -> dict[str, bool]:
    """Whether more is better, by the name of a score; of one future nothing is `chosen`, and it need not be known."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            f"higher_is_better is a {type(given).__name__}: expected words by the name of a score, such as "
            "{'blur': False}"
        )
    given_ways = {check_choice(name, "higher_is_better", tuple(judges)): way for name, way in (given or {}).items()}
    found = {}
    for name, judge in judges.items():
        way = ensembles.resolve_higher_is_better(judge, given_ways.get(name), f"higher_is_better[{name!r}]")
        if way is None and chosen and not _is_ensemble_score(judge):
            raise ValueError(
                f"higher_is_better={given!r}: say whether more is better for the score {name!r}, by which the best of "
                f"several futures is chosen, such as higher_is_better={{{name!r}: False}}"
            )
        found[name] = way is not False
    return found


def _is_ensemble_score(judge: str | Callable[..., Any]) -> bool:
    """Whether a score judges all futures together."""
    return judge in ("crps", ensembles.crps)


def _score_each(truth: Numbers, samples: NDArray[Any], judge: str | Callable[..., Any], higher: bool) -> Numbers:
    """The scores of a method, (item, step)."""
    if _is_ensemble_score(judge):
        return np.asarray(ensembles.crps(truth, samples, per="each"))
    return np.asarray(ensembles.best_of_n(truth, samples, judge, higher_is_better=higher, per="each"))
