"""Digits that move in 32 × 32: SRVP, also with sprites, beside a black frame, analogs, a ConvLSTM, SVG and Separation.

    python -m benchmarks.papers.srvp.digits --data DIR --only black --only persistence
    python -m benchmarks.papers.srvp.digits --data DIR --only "SRVP, defaults" --only SVG
    python -m benchmarks.papers.srvp.digits --data DIR --only "one digit/SRVP/0" --minutes 100

One and two digits of MNIST, whose bounces are mirror-like or go where nobody knows; 5 frames are seen. Training draws
clips anew from the training pictures; what is asked about shows test pictures. Networks are trained in one thread, for
as many processor minutes as the version of the digits has (15 for one digit and 90 for two; `--minutes-of "two
digits=45"` changes one, `--minutes` gives all versions the same). The ConvLSTM's loss and size are those of the rows
`held out: …`, which learn for `--trying` minutes from four fifths of the training pictures and are judged by clips of
the others.

The scratch folder keeps checkpoints and what is trained: a row that was broken off goes on there, and the tables about
frame rates, swaps and ablations take what they need from it when they are asked for the same minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.papers import markdown, page
from benchmarks.papers.results import Found, ResultFile, Rows, Trial, having
from benchmarks.papers.srvp import digits_figures as figures, methods
from benchmarks.papers.srvp.clips import VERSIONS, horizons, stochastic
from benchmarks.papers.srvp.digits_figures import FIGURE, JUDGED, TITLES
from benchmarks.papers.srvp.page_parts import (
    HELD_OUT,
    SCORES,
    are_apart,
    no_network_rows,
    number,
    seeded,
    took,
    with_time,
)
from benchmarks.papers.srvp.workshop import DigitsProgram, Horizons

SAMPLES = {False: 10, True: 100}  # futures, of deterministic and stochastic clips
TRIED_ON = "two digits"
NETWORKS = (methods.DEFAULTS, methods.THESIS_NETWORKS, "SVG", "ConvLSTM", "SRVP, sprites", "SRVP", "Separation")
SEEDED = (methods.DEFAULTS, methods.THESIS_NETWORKS, "SVG", "ConvLSTM")  # with several seeds, unless bounces are random
MINUTES = {"one digit": 15.0, "two digits": 90.0, "one digit, stochastic": 15.0, "two digits, stochastic": 90.0}


class Digits(DigitsProgram):
    """Table 4.1, at half the size and with cheap rivals."""

    table, title, draws = "digits", "SRVP: moving digits", True
    seeds, after = 3, 300.0

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--minutes", type=float, help="processor minutes of the training of a network, in every version"
        )
        parser.add_argument(
            "--minutes-of",
            action="append",
            default=[],
            type=_minutes_of_version,
            metavar="VERSION=MINUTES",
            help="the same in one version",
        )
        parser.add_argument("--trying", type=float, default=3.0, help="minutes of every form of the ConvLSTM")

    def planned(self) -> Iterator[Trial]:
        """What is cheap, which ConvLSTM, then networks."""
        yield from (Trial(version, name, 0) for version in VERSIONS for name in methods.BASELINES)
        yield from _tries()
        for seed in range(self.given.seeds):
            for version in VERSIONS:
                names = NETWORKS if seed == 0 else () if stochastic(version) else SEEDED
                yield from (Trial(version, name, seed) for name in names)

    def minutes_of(self, version: str) -> float:
        one = dict(self.given.minutes_of).get(version, self.given.minutes)
        return MINUTES[version] if one is None else float(one)

    def needs(self, row: Trial) -> Iterator[Trial]:
        """The ConvLSTM is one that was chosen."""
        if row.method == "ConvLSTM":
            yield from _tries()

    def work(self, row: Trial) -> Found:
        some = self._horizons(row.dataset)
        if row.method in methods.BASELINES:
            return self.simple(row, some)
        setting, n_samples = self._setting(row), 2 if self.quick else SAMPLES[stochastic(row.dataset)]
        if row.method.startswith(HELD_OUT):
            model, took = self.trained(row, setting, self.given.trying, "fitting")
            test = self.asked(row.dataset, some[-1], "held out")
        else:
            model, took = self.trained(row, setting)
            test = self.asked(row.dataset, some[-1])
        found = self.of_network(row, model, test, some, n_samples) | took
        return found if setting is None else found | {"setting": setting}

    def _horizons(self, version: str) -> Horizons:
        return horizons(version)[:2] if self.quick else horizons(version)

    def _setting(self, row: Trial) -> str | None:
        """Which ConvLSTM: the one that is tried, or that was best on what was held out; None for other networks."""
        if row.method.startswith(HELD_OUT):
            return row.method.removeprefix(HELD_OUT)
        if row.method != "ConvLSTM":
            return None
        chosen = best(ResultFile(self.given.results).rows)  # another process may have tried some
        if chosen is None:
            raise ValueError(f"no ConvLSTM has been tried: run the rows '{HELD_OUT}…' first")
        return chosen

    def seconds(self, row: Trial) -> float:
        if row.method.startswith(HELD_OUT):
            return 60.0 * float(self.given.trying) + 20.0
        return super().seconds(row)

    def said(self, found: Found) -> str:
        reading, scores = next(iter(found["scores"].items()))
        return f"{reading}: PSNR {scores['psnr']['10'][0]:.2f}, SSIM {scores['ssim']['10'][0]:.4f} over t+1…t+10"

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, folder)


def _minutes_of_version(text: str) -> tuple[str, float]:
    """A version of the digits and its minutes.

    >>> _minutes_of_version("two digits=45")
    ('two digits', 45.0)
    """
    version, _, minutes = text.partition("=")
    if version not in MINUTES:
        raise argparse.ArgumentTypeError(f"{text!r}: expected one of {', '.join(MINUTES)}, = and minutes")
    return version, float(minutes)


def _tries() -> list[Trial]:
    return [Trial(TRIED_ON, HELD_OUT + name, 0) for name in methods.CANDIDATES]


# --- the page

THESIS = {  # table 4.1: over t+1…t+95 and t+1…t+20
    "two digits": [("SVG", 12.85, 0.6185), ("SRVP", 18.25, 0.8300)],
    "two digits, stochastic": [("SVG", 14.50, 0.7090), ("SRVP", 16.93, 0.7799)],
}
MAIN = "two digits"  # the version of the thesis's main number
FORMS = {  # of SRVP, the first with rows in the headline
    methods.DEFAULTS: "SRVP at the library's defaults",
    methods.THESIS_NETWORKS: "SRVP with the thesis's networks",
    "SRVP": "SRVP",
    "SRVP, sprites": "SRVP with a decoder of our own (sprites)",
}


def headline(rows: Rows) -> str:
    """One sample of SRVP on two digits at the longest horizon, beside the thesis, a black frame and a ConvLSTM."""
    name = next((one for one in FORMS if having(rows, dataset=MAIN, method=one, seed=0)), None)
    if name is None:
        return no_network_rows(rows, "SRVP has no rows of two digits", "how well it forecasts them")
    scores = having(rows, dataset=MAIN, method=name, seed=0)[0]["scores"][JUDGED[False][0]]
    last = max(scores["psnr"], key=int)
    psnr, ssim = (scores[score][last][0] for score in SCORES)
    _, psnr_there, ssim_there = THESIS[MAIN][1]
    words = {"black": "a black frame, the cheapest rival,", "ConvLSTM": "a ConvLSTM"}
    rivals = {
        rival: row["scores"]["forecast"]["psnr"][last][0]
        for rival in words
        for row in having(rows, dataset=MAIN, method=rival, seed=0)
    }
    beside = markdown.join_words([f"{words[rival]} {score:.2f} dB" for rival, score in rivals.items()])
    beaten = all(psnr > score for score in rivals.values())
    verdict = "agrees with" if psnr >= psnr_there and beaten else "falls short of" if beaten else "falls far short of"
    start = "SRVP with the thesis's decoder has no rows on two digits. " if name == "SRVP, sprites" else ""
    return (
        f"{start}{FORMS[name]} reaches a PSNR of {psnr:.2f} dB and an SSIM of {ssim:.3f} on two moving digits over "
        f"t+1…t+{last} (thesis, at twice the size: {psnr_there} and {ssim_there}); {beside}. This {verdict} the thesis."
    )


def _judged(rows: Rows, version: str) -> list[Found]:
    return [row for row in having(rows, dataset=version) if not row["method"].startswith(HELD_OUT)]


def scores(rows: Rows, version: str) -> str:
    """PSNR and SSIM of every reading, and the thesis's."""
    found = _judged(rows, version)
    steps = {h for row in found for one in row["scores"].values() for h in one["psnr"]}
    columns = [(score, h) for h in sorted(steps, key=int) for score in SCORES]
    lines = [_line(row, reading, columns) for row in found for reading in row["scores"]]
    lines += [_of_thesis(*known, columns) for known in THESIS.get(version, ()) if found]
    return with_time([f"{score.upper()} t+{h}" for score, h in columns], lines) if lines else ""


def _line(row: Found, reading: str, columns: Iterable[tuple[str, str]]) -> list[str]:
    numbers = [number(row["scores"][reading][score].get(h), SCORES[score]) for score, h in columns]
    name = row["method"] + ("" if reading == "forecast" else f", {reading.replace('N', str(row['n_samples']))}")
    return [seeded(name + (f" ({row['setting']})" if "setting" in row else ""), row), *numbers, *took(row)]


def _of_thesis(name: str, psnr: float, ssim: float, columns: list[tuple[str, str]]) -> list[str]:
    last = columns[-1][1]
    numbers = {("psnr", last): f"{psnr:.2f}", ("ssim", last): f"{ssim:.4f}"}
    return [f"the thesis at 64 × 64, {name}", *(numbers.get(column, "–") for column in columns), "–", "–", "–"]


def targets(rows: Rows) -> str:
    """Every reading of a form of SRVP beside the best of the others, each of which has one forecast."""
    lines = [line for version in (MAIN, *(one for one in TITLES if one != MAIN)) for line in _met(rows, version)]
    head = ["version", "method", "reading", "score", "its mean", "best of the others", "", "met"]
    return markdown.table(head, lines) if lines else ""


def _met(rows: Rows, version: str) -> list[list[str]]:
    others = [row for row in _judged(rows, version) if row["seed"] == 0 and not row["method"].startswith("SRVP")]
    return [
        _held_against(others, row, reading, score)
        for method in FORMS
        for row in having(rows, dataset=version, method=method, seed=0)
        for reading in JUDGED["stochastic" in version]
        for score in SCORES
        if others
    ]


def _held_against(others: list[Found], row: Found, reading: str, score: str) -> list[str]:
    mine, form = row["scores"][reading][score]["10"], SCORES[score]
    rival = max(others, key=lambda one: float(_reading(one, reading)[score]["10"][0]))
    theirs = _reading(rival, reading)[score]["10"]
    shown = [f"{mine[0]:{form}}", f"{rival['method']}, {theirs[0]:{form}}"]
    apart = "apart" if are_apart(mine, theirs) else "not apart"
    met = "met" if mine[0] > theirs[0] else "NOT MET"
    return [TITLES[row["dataset"]], row["method"], reading, score.upper(), *shown, apart, met]


def _reading(row: Found, reading: str) -> Found:
    """The one forecast of a method; of those with samples, what SRVP is judged by."""
    scores: Found = row["scores"].get("forecast") or row["scores"][reading]
    return scores


def by_seed(rows: Rows) -> str:
    """SRVP beside SVG and the ConvLSTM over t+1…t+10, means and deviations over seeds."""
    columns: dict[str, page.Cell] = {}
    for reading in JUDGED[True][:1] + JUDGED[False]:
        columns |= {f"{score.upper()}, {reading}": _seeds_cell(reading, score) for score in SCORES}
    columns |= {
        "minutes": lambda found: markdown.format_range([row["minutes"] for row in found], "g"),
        "seeds": page.count,
    }
    groups = {
        f"{TITLES[version]}: {name}": having(rows, dataset=version, method=name)
        for version in VERSIONS
        if having(rows, dataset=version, method=methods.DEFAULTS)
        for name in SEEDED
    }
    return page.tabulate("digits: method", groups, columns)


def _seeds_cell(reading: str, score: str) -> page.Cell:
    form = SCORES[score]
    return lambda found: markdown.format_mean([_reading(row, reading)[score]["10"][0] for row in found], form)


def _tried(rows: Rows) -> list[Found]:
    return [row for row in rows.values() if row["method"].startswith(HELD_OUT)]


def best(rows: Rows) -> str | None:
    """The ConvLSTM with the best PSNR on clips that were held out; None where none has been tried."""
    chosen = max(_tried(rows), key=lambda row: float(row["scores"]["forecast"]["psnr"]["10"][0]), default=None)
    return None if chosen is None else str(chosen["method"]).removeprefix(HELD_OUT)


def held_out(rows: Rows) -> str:
    """Scores of the forms of the ConvLSTM that were tried."""
    lines = []
    for row in _tried(rows):
        numbers = [number(row["scores"]["forecast"][score]["10"], form) for score, form in SCORES.items()]
        lines.append([row["method"].removeprefix(HELD_OUT), *numbers, *took(row)])
    return with_time(["PSNR t+10", "SSIM t+10"], lines, first="form") if lines else ""


def figure(rows: Rows) -> str:
    """The figure, where it has been drawn."""
    shown = f"![PSNR over time](../../docs/images/{FIGURE})"
    return shown if (Path("docs/images") / FIGURE).exists() else ""


if __name__ == "__main__":
    sys.exit(Digits.main())
