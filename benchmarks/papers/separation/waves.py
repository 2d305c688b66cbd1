"""What the tables of waves have in common: rows of a version, a method and a draw, and how each is worked out."""

from __future__ import annotations

import argparse
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from statistics import mean
from typing import Any, ClassVar, NamedTuple

from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, ResultFile, Rows, Trial, having
from benchmarks.papers.separation import methods
from benchmarks.papers.separation.data import CONDITIONING, HORIZON, Problem, Size, errors, held_out, problem


class About(NamedTuple):
    """What the page of one size is about, and the thesis's errors with and without w."""

    waves: str
    thesis: tuple[float, float]


FULL = ", full size"
WAVES_100 = About("waves at 100 pixels", (4.33e-5, 1.33e-4))
WAVES_64 = About("waves of 64 × 64 pixels", (1.44e-4, 5.09e-4))

QUICK = 3  # steps of a training that only shows that a program runs


class Waves(Experiment[Trial]):
    """A seed draws the data and the weights: within a seed all methods stand on the same waves."""

    paper, holds, without_data = "separation", "nothing: waves are made", True
    subject = ("separation",)
    preset: ClassVar[str]
    about: ClassVar[About]
    size: ClassVar[Size]
    steps: ClassVar[int | None] = None  # of networks at their defaults; their own unless given
    preset_steps: ClassVar[int]

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--full", action="store_true", help="the thesis's network in its full size and all its steps, some hours"
        )

    @abstractmethod
    def planned(self) -> Iterator[Trial]:
        """Every version, method and seed."""

    def needs(self, row: Trial) -> Iterator[Trial]:
        """What is chosen needs candidates that were tried."""
        if row.method.startswith(methods.CHOSEN):
            yield from (one for one in self.planned() if one.dataset == row.dataset and _tries(one))

    def systems(self, row: Trial) -> Iterable[str]:
        return "forecast_baselines" if row.method in methods.BASELINES else "separation", "generators"

    def work(self, row: Trial) -> Found:
        given = _problem(row.dataset, row.seed, self._size())
        if _tries(row):
            given = held_out(given, row.dataset, self._size().every)
        model = self._model(row)
        began = time.perf_counter()
        model.fit(given.train)
        trained = time.perf_counter() - began
        forecast = model.predict(given.past, HORIZON).mean
        found: Found = errors(forecast, given.truth) | {"training seconds": trained, "n_chunks": len(given.truth)}
        if hasattr(model, "history_"):
            found["steps"] = len(model.history_["loss"])
        if row.method.startswith(methods.CHOSEN):
            found["setting"] = self._chosen(row.dataset)
        return found

    def _size(self) -> Size:
        return Size(12, 4, 60, 5, self.size.pixels and 10) if self.quick else self.size

    def _model(self, row: Trial) -> Any:
        if row.method in methods.BASELINES:
            return methods.baseline(row.method)
        full = row.method.endswith(FULL)
        name = row.method.removesuffix(FULL)
        steps = self.steps
        if name.startswith(methods.PRESET):
            steps = None if full else self.preset_steps
        scale = 1.0 if full else methods.SCALE
        steps = QUICK if self.quick else steps
        return methods.separation(name, row.seed, self.preset, steps, self._settings(row), scale)

    def _settings(self, row: Trial) -> dict[str, Any]:
        if not row.method.startswith(methods.CHOSEN):
            return {}
        chosen = self._chosen(row.dataset)
        if chosen is None:
            raise ValueError(f"no setting has been tried for {row.dataset}: run its rows '{methods.HELD_OUT}…' first")
        return methods.CANDIDATES[chosen]

    def _chosen(self, version: str) -> str | None:
        return methods.best(ResultFile(self.given.results).rows, version)  # another process may have tried some

    def kind(self, row: Trial) -> str:
        return "baseline" if row.method in methods.BASELINES else "network"

    def page_values(self) -> dict[str, Any]:
        return globals() | {
            "headline": partial(headline, about=self.about),
            "errors_table": partial(errors_table, about=self.about),
        }

    def said(self, found: Found) -> str:
        return f"within {found['within']:.3g}, after {found['after']:.3g}, all {found['all']:.3g}"


def _tries(row: Trial) -> bool:
    return row.method.startswith(methods.HELD_OUT)


@lru_cache(maxsize=1)
def _problem(version: str, seed: int, size: Size) -> Problem:
    assert size.length > CONDITIONING + HORIZON
    return problem(version, seed, size)


# --- the page

TITLES = {
    "thesis": "As in the thesis",
    "noisy": "With noise of 0.05 on training and past",
    "beyond": "Waves faster than those learned from",
}
SHORT = {"thesis": "the thesis's waves", "noisy": "noisy waves", "beyond": "waves faster than those learned from"}


def headline(rows: Rows, about: About) -> str:
    """Separation beside the thesis and the best cheap forecast, then what w does."""
    mine, theirs = page.average(rows, "all", dataset="thesis", method=methods.DEFAULT), about.thesis[0]
    return page.sentences(
        lambda: (
            f"On {about.waves} `Separation` at its defaults forecasts 40 frames with a squared error of {mine:.1e}, "
            f"{'below' if mine <= theirs else 'above'} the thesis's {theirs:.1e}{_cheapest(rows, mine)}."
        ),
        lambda: _preset(page.average(rows, "all", dataset="thesis", method=methods.PRESET), theirs),
        lambda: _content(rows, about),
    )


def _preset(error: float, theirs: float) -> str:
    verdict = "agrees with" if error <= theirs else "falls far short of" if error > 10 * theirs else "falls short of"
    return f"The thesis's own network, at a tenth of its units and fewer steps, has {error:.1e}, which {verdict} it."


def _cheapest(rows: Rows, ours: float) -> str:
    errors = {name: mean(found) for name in methods.BASELINES if (found := errors_of(rows, "thesis", name))}
    if not errors:
        return ""
    best = min(errors, key=errors.__getitem__)
    beside = "but above" if errors[best] < ours else "and below"
    return f", {beside} the {errors[best]:.1e} of the best cheap rival ({best})"


def _content(rows: Rows, about: About) -> str:
    """What the content variable w changes in every version, beside the thesis."""
    ratios = {version: mean(found) for version in TITLES if (found := content_gains(rows, version, methods.DEFAULT))}
    if "thesis" not in ratios:
        return ""
    here, there = ratios.pop("thesis"), about.thesis[1] / about.thesis[0]
    verdict = "agrees with" if here >= there else "falls short of" if here >= 1 else "contradicts"
    others = markdown.join_words([f"{_times(ratio)} on {SHORT[version]}" for version, ratio in ratios.items()])
    return (
        f"The content variable w makes the error {_times(here)}{f' ({others})' if others else ''}, which {verdict} the "
        f"thesis, where it is {there:.1f} times smaller."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times smaller" if ratio >= 1 else f"{1 / ratio:.2f} times larger"


def errors_of(rows: Rows, version: str, method: str) -> list[float]:
    """Over all 40 steps, of every seed."""
    return [float(row["all"]) for row in having(rows, dataset=version, method=method)]


def content_gains(rows: Rows, version: str, method: str) -> list[float]:
    """The error without w over that with it, for every seed that has both."""
    return [1 / one for one in _ratios(rows, version, method, (method + methods.WITHOUT,))]


def errors_table(rows: Rows, version: str, about: About) -> str:
    """Errors within the trained length, after it and over all steps; every seed by itself."""
    found = [row for row in having(rows, dataset=version) if not row["method"].startswith(methods.HELD_OUT)]
    groups = {_with_settings(name, group): group for name, group in page.group_by(sorted(found, key=_order)).items()}
    columns: dict[str, page.Cell] = {span: _seeds_cell(span) for span in ("within", "after", "all")}
    columns |= {"seeds": page.count, "seconds of training": page.mean_cell("training seconds", ".0f")}
    written = page.tabulate("method", groups, columns)
    if version == "thesis":
        for words, error in zip(("with w", "without w"), about.thesis, strict=True):
            written += f"\n| the thesis, {words} | – | – | {error:.2e} |  |  |"
    return written


def _seeds_cell(span: str) -> page.Cell:
    """Every seed: a mean over different waves would hide which is which."""
    return lambda found: " · ".join(f"{row[span]:.2e}" for row in found)


def _order(row: Found) -> tuple[int, str]:
    name, baselines = row["method"], methods.BASELINES
    return (baselines.index(name), "") if name in baselines else (len(baselines), name)


def _with_settings(name: str, found: list[Found]) -> str:
    settings = sorted({row["setting"] for row in found if "setting" in row})
    return f"{name} ({', '.join(settings)})" if settings else name


def candidates(rows: Rows) -> str:
    """Errors of the settings that were tried on held-out sequences."""
    tried = [row for row in rows.values() if row["method"].startswith(methods.HELD_OUT)]
    columns = {version: _error_in(version) for version in TITLES if any(row["dataset"] == version for row in tried)}
    return page.tabulate(
        "setting", {k.removeprefix(methods.HELD_OUT): some for k, some in page.group_by(tried).items()}, columns
    )


def _error_in(version: str) -> page.Cell:
    return lambda found: f"{mean(row['all'] for row in found if row['dataset'] == version):.3e}"


def targets(rows: Rows) -> str:
    """Which targets are met, in every seed."""
    lines = []
    for version in TITLES:
        for kind in (methods.DEFAULT, methods.CHOSEN):
            if having(rows, dataset=version, method=kind) and version != "thesis":
                ratios = _ratios(rows, version, kind, methods.BASELINES)
                lines.append(_verdict(version, f"{kind} / best baseline < 1", ratios, all(one < 1 for one in ratios)))
            if gains := content_gains(rows, version, kind):
                met = all(one >= 2 for one in gains)
                lines.append(_verdict(version, f"{kind}: without w / with w ≥ 2", gains, met))
    return markdown.table(["version", "target", "ratios", "met"], lines) if lines else ""


def _verdict(version: str, target: str, ratios: list[float], met: bool) -> list[str]:
    return [version, target, " · ".join(f"{one:.2f}" for one in ratios), "met" if met else "NOT MET"]


def _ratios(rows: Rows, version: str, method: str, rivals: Iterable[str]) -> list[float]:
    """The error of a method over the least of its rivals', for every seed that has both."""
    ratios = []
    for row in sorted(having(rows, dataset=version, method=method), key=lambda one: int(one["seed"])):
        others = having(rows, dataset=version, seed=row["seed"])
        errors = [other["all"] for other in others if other["method"] in rivals]
        if errors:
            ratios.append(row["all"] / min(errors))
    return ratios
