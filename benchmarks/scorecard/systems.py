"""The eight systems, their claims, and where the rows of each are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import mean

from benchmarks.papers.cgru import har_report as har, pairing
from benchmarks.papers.cgru.methods import TEST
from benchmarks.papers.decdtw import alignment_report as ranking, solver
from benchmarks.papers.decdtw.methods import METHODS as ALIGNERS
from benchmarks.papers.gantk import closed_forms, particles
from benchmarks.papers.markdown import count_of, format_range, format_signed
from benchmarks.papers.prototypes import enrolment, mnist, shift, verification
from benchmarks.papers.results import ROWS, Found, ResultFile, Rows, having
from benchmarks.papers.separation import methods as forms, sst, waves
from benchmarks.papers.srvp import ablations, digits, kalman, pendulum, swap
from benchmarks.papers.srvp.digits_figures import OURS
from benchmarks.papers.srvp.page_parts import SCORES
from benchmarks.papers.tap import selfsupervised as unlabelled, supervised as labelled
from benchmarks.papers.tap.fewshot import PAPER as FEWSHOT, UNSEEN, accuracies_of
from benchmarks.papers.tloss import labels as few_labels, ucr_report as ucr
from benchmarks.papers.tloss.labels import SETS as LABELLED_SETS, SHARES
from benchmarks.papers.tloss.thesis import thesis
from benchmarks.scorecard.rules import Claim, Measured, Outcome, Setting, System

ROOT = Path(__file__).parents[2]
Load = Callable[[str], Rows]
MAGNITUDE = 10.0  # a divergence within this factor is of the same order


@cache
def published_rows(name: str) -> Rows:
    """The rows of a program as they are in the tree."""
    return ResultFile(ROOT / ROWS / f"{name}.json").rows


def all_systems(load: Load = published_rows) -> list[System]:
    """The eight systems, in the order of the papers; `load` gives the rows of a program by its name."""
    return [build(load) for build in (_cgru, _decdtw, _tap, _prototypes, _tloss, _srvp, _separation, _gantk)]


def _measured(rows: Sequence[Found], values: Sequence[float], form: str = ".3f", unit: str = "") -> Measured | None:
    return Measured(values, form, unit, rows) if values else None


def _won(pairs: Sequence[bool]) -> tuple[bool, bool]:
    """Whether all comparisons, and whether more than half of them, come out as in the paper."""
    return bool(pairs) and all(pairs), 2 * sum(pairs) > len(pairs)


def _most(rows: Iterable[Found], name: str) -> str:
    """The largest value of a field, written shortly."""
    return f"{max(row.get(name, 0) for row in rows):g}"


# --- CGRU


def _cgru(load: Load) -> System:
    rows = load("cgru_har")
    raw = pairing.paired(rows, "coupled-raw", "siamese-raw", "accuracy") is not None
    name, rival = ("coupled-raw", "siamese-raw") if raw else ("coupled", "siamese")
    setting = Setting.SAME if raw else Setting.OTHER
    pair = pairing.paired(rows, name, rival, "accuracy")
    ours, theirs = ({row["seed"]: row for row in har.of(rows, method, TEST)} for method in (name, rival))
    seeds = pair.seeds if pair is not None else []
    gains = [ours[seed]["accuracy"] - theirs[seed]["accuracy"] for seed in seeds]
    used = [one[seed] for one in (ours, theirs) for seed in seeds]
    gain = _measured(used, gains, "+.3f")
    central = Claim(
        "Coupling raises the accuracy of a siamese GRU on UCI HAR",
        "cgru_har",
        f"{format_signed(har.PAPER_GAIN)} (0.885 against 0.782)",
        f"at least {format_signed(har.ABOVE)}; same direction: above {format_signed(har.TOLERANCE)}",
        setting,
        gain,
        bool(gains) and mean(gains) >= har.ABOVE,
        bool(gains) and mean(gains) > har.TOLERANCE,
        f"SiameseGRU {mean(row['accuracy'] for row in theirs.values()):.3f}" if theirs else "–",
    )
    claims = [
        central,
        *(_cgru_number(rows, score, title) for score, title in (("accuracy", "Accuracy"), ("map", "MAP"))),
    ]
    channels = (
        "raw channels" if raw else "standardised channels (CoupledGRU has no rows with raw ones, the paper's setting)"
    )
    words = f"changes accuracy by {format_signed(mean(gains))}" if gains else "has no rows"
    sentence = f"With {channels} coupling {words}, where the paper has {format_signed(har.PAPER_GAIN)}."
    return System("CGRU", claims, sentence)


def _cgru_number(rows: Rows, score: str, title: str) -> Claim:
    raw = har.of(rows, "coupled-raw", TEST)
    found, cheap = raw or har.of(rows, "coupled", TEST), har.of(rows, "rvsml-dtw", TEST)
    values, target = [row[score] for row in found], har.TARGETS[score]
    return Claim(
        f"{title} of CoupledGRU on the test part of UCI HAR, raw channels",
        "cgru_har",
        f"{target}",
        f"{har.TOLERANCE}",
        Setting.SAME if raw else Setting.OTHER,
        _measured(found, values),
        bool(values) and mean(values) >= target - har.TOLERANCE,
        bool(values and cheap) and mean(values) > cheap[0][score],
        f"RVSML (DTW) {cheap[0][score]:.3f}" if cheap else "–",
    )


# --- DecDTW


def _decdtw(load: Load) -> System:
    rows, solved = load("decdtw_alignment"), load("decdtw_solver")
    claims = [
        _smallest_error(rows, "TimeErr", "alignment error (TimeErr)"),
        _smallest_error(rows, "TimeDev", "alignment deviation (TimeDev)"),
        _continuous_time(rows),
        _places(rows),
        _under_gdtw(rows),
        _refinement(solved),
    ]
    central = claims[0]
    shown = f"DecDTW has {central.ours}" if central.ours else "DecDTW has no rows"
    sentence = f"{shown}; the data are ours, so only the ranking of the methods compares."
    return System("DecDTW", claims, sentence)


def _smallest_error(rows: Rows, metric: str, words: str) -> Claim:
    """DecDTW beside every other method, each under its own alignment, on both kinds of music."""
    shown, pairs, cheap, used = [], [], [], []
    for task in ("melspec", "chroma"):
        found = {name: _aligned(rows, task, name, metric) for name in ALIGNERS}
        if found["decdtw"]:
            own = mean(found["decdtw"])
            shown.append(f"{own:.3g} ms on {task} ({count_of(len(found['decdtw']), 'seed')})")
            others = [some for name, some in found.items() if some and not name.startswith("decdtw")]
            pairs += [own < mean(some) for some in others]
            cheap += [f"{mean(found['base-gdtw']):.3g}"] if found["base-gdtw"] else []
            used += having(rows, task=task, method="decdtw")
    reached, direction = _won(pairs)
    ours = Measured([], rows=used, text=", ".join(shown)) if shown else None
    return Claim(
        f"DecDTW has the smallest {words} of all methods, score to performance",
        "decdtw_alignment",
        "best by a large margin (the text we have lacks the figures)",
        "smaller than every other method",
        Setting.OTHER,
        ours,
        reached,
        direction,
        f"untrained features, GDTW: {', '.join(cheap)} ms" if cheap else "–",
    )


def _aligned(rows: Rows, task: str, method: str, metric: str) -> list[float]:
    part = f"test {ALIGNERS[method].aligner}"
    return [row[part][metric] for row in having(rows, task=task, method=method)]


def _continuous_time(rows: Rows) -> Claim:
    """Base (G) beside Base (D)."""
    found = {t: [ranking.errors(rows, t, m) for m in ("base-gdtw", "base-dtw")] for t in ranking.METRIC}
    means = {task: [mean(some) for some in both] for task, both in found.items() if all(both)}
    reached, direction = _won([ours < other for ours, other in means.values()])
    text = ", ".join(f"{ours:.3g} against {other:.3g} on {task}" for task, (ours, other) in means.items())
    used = [row for task in means for row in having(rows, task=task, method="base-gdtw")]
    return Claim(
        "Untrained features align better under GDTW than under DTW",
        "decdtw_alignment",
        "better for all features",
        "better on every task",
        Setting.OTHER,
        Measured([], rows=used, text=text) if means else None,
        reached,
        direction,
        "DTW, see ours",
    )


def _places(rows: Rows) -> Claim:
    """The maximum error of places."""
    found = {name: ranking.errors(rows, "places", name) for name in ALIGNERS}
    own = found["decdtw"]
    others = {name: mean(some) for name, some in found.items() if some and not name.startswith("decdtw")}
    reached, direction = _won([mean(own) < other for other in others.values()] if own else [])
    base = f"untrained features, GDTW: {others['base-gdtw']:.3g} m" if "base-gdtw" in others else "–"
    return Claim(
        "DecDTW has the smallest maximum error in visual place recognition",
        "decdtw_alignment",
        "ahead of all at 5 m and less",
        "smaller than every other method",
        Setting.OTHER,
        _measured(having(rows, task="places", method="decdtw"), own, ".2f", " m"),
        reached,
        direction,
        base,
    )


def _under_gdtw(rows: Rows) -> Claim:
    """DILATE's features under GDTW, which the paper finds worse than untrained ones."""
    found = {
        task: [ranking.errors(rows, task, "dilate", "GDTW"), ranking.errors(rows, task, "base-gdtw")]
        for task in ("melspec", "chroma")
    }
    means = {task: [mean(some) for some in both] for task, both in found.items() if all(both)}
    reached, direction = _won([dilate > base for dilate, base in means.values()])
    text = ", ".join(f"{dilate:.3g} against {base:.3g} ms on {task}" for task, (dilate, base) in means.items())
    used = [row for task in means for row in having(rows, task=task, method="dilate")]
    return Claim(
        "DILATE's features are worse than untrained ones under GDTW",
        "decdtw_alignment",
        "worse",
        "worse on both kinds of music",
        Setting.OTHER,
        Measured([], rows=used, text=text) if means else None,
        reached,
        direction,
        "untrained features, see ours",
    )


def _refinement(rows: Rows) -> Claim:
    lost = [100 * (none / three - 1) for none, three in solver.timing_errors(rows)]
    used = [row for row in rows.values() if str(row["part"]).startswith("refinement")]
    return Claim(
        "Leaving out refinement of the grid costs little TimeErr",
        "decdtw_solver",
        f"{solver.PAPER_LOSS} %",
        "twice the paper's",
        Setting.OTHER,
        Measured([], rows=used, text=f"{format_range(lost)} %") if lost else None,
        bool(lost) and max(lost) <= 2 * solver.PAPER_LOSS,
        False,
        "three refinements",
    )


# --- TAP


def _tap(load: Load) -> System:
    rows, alone, shots = load("tap_supervised"), load("tap_selfsupervised"), load("tap_fewshot")
    claims = [
        _tap_score(rows, "MSRAction3D", "map", 0.798, 0.02, "MAP on MSR Action3D"),
        _tap_score(rows, "FSDD", "map", 0.961, 0.02, "MAP on spoken digits (paper: Arabic, here: FSDD)"),
        _tap_score(rows, "MSRAction3D", "1-nn", 0.8718, 0.02, "1-NN accuracy on MSR Action3D"),
        _tap_alignments(alone),
        _tap_speed(alone),
        _tap_fewshot(shots),
        _tap_unlabelled(alone),
    ]
    slower = list(unlabelled.slowdowns(alone).values())
    speed = f"; a pair takes {format_range(slower)} times as long as with our soft-DTW" if slower else ""
    ours, ahead = claims[0].ours, "ahead of" if claims[0].same_direction else "behind"
    sentence = (
        f"TAP has a MAP of {ours.mean:.3f} on MSR Action3D after {_most(ours.rows, 'epochs')} epochs (paper: 100) and "
        f"is {ahead} DTW, with other features than the paper's{speed}."
        if ours
        else "TAP has no rows on MSR Action3D."
    )
    return System("TAP", claims, sentence)


def _tap_score(rows: Rows, dataset: str, score: str, paper: float, tolerance: float, text: str) -> Claim:
    ours, dtw = (labelled.values(rows, dataset, method, score) for method in ("triplet+TAP", "DTW"))
    return Claim(
        f"{text}, triplets",
        "tap_supervised",
        f"{paper:.3f}",
        f"{tolerance}",
        Setting.OTHER,
        _measured(having(rows, dataset=dataset, method="triplet+TAP"), ours),
        bool(ours) and mean(ours) >= paper - tolerance,
        bool(ours and dtw) and mean(ours) > mean(dtw),
        f"DTW {mean(dtw):.3f}" if dtw else "–",
    )


def _tap_alignments(rows: Rows) -> Claim:
    ours, soft = (labelled.values(rows, "MSRAction3D", name, "mse") for name in ("align TAP", "align SoftDTW"))
    theirs = unlabelled.ERRORS["align TAP"]
    return Claim(
        "Error of the alignment with augmented sequences, MSR Action3D",
        "tap_selfsupervised",
        f"{theirs} (SoftDTW {unlabelled.ERRORS['align SoftDTW']})",
        "the paper's or less",
        Setting.OTHER,
        _measured(having(rows, dataset="MSRAction3D", method="align TAP"), ours, ".4f"),
        bool(ours) and mean(ours) <= theirs,
        bool(ours and soft) and mean(ours) < mean(soft),
        f"SoftDTW {mean(soft):.4f}" if soft else "–",
    )


def _tap_speed(rows: Rows) -> Claim:
    slower = unlabelled.slowdowns(rows)
    used = [row for row in rows.values() if str(row["method"]).startswith("time")]
    text = f"{format_range(slower.values())} times as slow" if slower else ""
    return Claim(
        "Comparing a pair with TAP is faster than with soft-DTW",
        "tap_selfsupervised",
        f"about {unlabelled.PAPER_SPEED:g} times as fast (GPU)",
        "the paper's; same direction: faster at more than half of the sizes",
        Setting.OTHER,
        Measured([], rows=used, text=text) if slower else None,
        bool(slower) and max(slower.values()) <= 1 / unlabelled.PAPER_SPEED,
        _won([ratio < 1 for ratio in slower.values()])[1],
        "our compiled soft-DTW",
    )


def _tap_fewshot(rows: Rows) -> Claim:
    found = {n: [accuracies_of(rows, n, f"{m} 1-shot") for m in ("TAP", "OTAM")] for n in UNSEEN}
    means = {name: [100 * mean(some) for some in both] for name, both in found.items() if all(both)}
    text = ", ".join(f"{tap:.1f} % on {name}" for name, (tap, _) in means.items())
    reached, direction = _won([tap > otam for tap, otam in means.values()])
    used = [row for name in means for row in having(rows, dataset=name, method="TAP 1-shot")]
    return Claim(
        "TAP is ahead of OTAM in 5-way 1-shot tasks",
        "tap_fewshot",
        f"{FEWSHOT['TAP'][0]} against {FEWSHOT['OTAM'][0]} % (UCF101 videos)",
        "ahead on every data set",
        Setting.OTHER,
        Measured([], rows=used, text=text) if means else None,
        reached,
        direction,
        f"OTAM {', '.join(f'{otam:.1f}' for _, otam in means.values())} %" if means else "–",
    )


def _tap_unlabelled(rows: Rows) -> Claim:
    ours, dtw = (labelled.values(rows, "MSRAction3D", name, "map") for name in ("TAP", "DTW"))
    return Claim(
        "MAP on MSR Action3D without labels (below DTW in the paper too)",
        "tap_selfsupervised",
        "0.557 (DTW 0.590)",
        "0.02",
        Setting.OTHER,
        _measured(having(rows, dataset="MSRAction3D", method="TAP"), ours),
        bool(ours) and mean(ours) >= 0.557 - 0.02,
        False,
        f"DTW {mean(dtw):.3f}" if dtw else "–",
    )


# --- prototypes


def _prototypes(load: Load) -> System:
    rows = load("prototypes_mnist")
    clean, hard = (mnist.accuracies(rows, "prototypes", training) for training in ("clean", "adversarial"))
    claims = [
        _attacked(
            rows, clean, "clean", "SIM", "PGD-40", "PGD-40", "Similarity (SIM) under PGD-40, no adversarial training"
        ),
        _attacked(
            rows, clean, "clean", "SIM", "PGD-40", "worst of all", "The same under the worst of all attacks tried"
        ),
        _clean(rows, clean),
        _attacked(
            rows,
            hard,
            "adversarial",
            "SIM",
            "PGD-100",
            "PGD-100",
            "Similarity (SIM) under PGD-100, adversarial training",
        ),
        _shifted(load("prototypes_shift")),
        _verified(load("prototypes_verification")),
        _enrolled(load("prototypes_enrolment")),
    ]
    done = sum(claim.outcome is Outcome.REPRODUCED for claim in claims)
    sentence = (
        f"On MNIST the similarity keeps {clean['SIM', 'PGD-40']:.1f} % under PGD-40 (paper: "
        f"{mnist.paper_number('clean', 'SIM', 'PGD-40')}), but {clean['SIM', 'worst of all']:.1f} % under the worst "
        f"attack, of {_most(rows.values(), 'attacked')} images; {done} of {len(claims)} claims are reproduced."
        if clean
        else "Prototypes has no rows on MNIST."
    )
    return System("Prototypes", claims, sentence)


def _attacked(
    rows: Rows, found: dict[tuple[str, str], float], training: str, head: str, paper: str, attack: str, text: str
) -> Claim:
    """A head under an attack beside the paper's number and beside the dense head under the same attack."""
    theirs, tolerance = mnist.paper_number(training, head, paper), mnist.TOLERANCE
    own, dense = found.get((head, attack)), found.get(("DOL", attack))
    used = having(rows, part="table", model="prototypes", training=training)
    values = [100 * row["heads"][head][attack] for row in used]
    return Claim(
        f"{text}, MNIST",
        "prototypes_mnist",
        f"{theirs} %",
        f"{tolerance:g} points; same direction: ahead of DOL by as much",
        Setting.SAME,
        _measured(used, values, ".1f", " %"),
        own is not None and own >= theirs - tolerance,
        own is not None and dense is not None and own > dense + tolerance,
        f"dense head (DOL) {dense:.1f} %" if dense is not None else "–",
    )


def _clean(rows: Rows, found: dict[tuple[str, str], float]) -> Claim:
    theirs = mnist.paper_number("clean", "SIM", "clean")
    used = having(rows, part="table", model="prototypes", training="clean")
    plain = mnist.accuracies(rows, "plain", "clean")
    return Claim(
        "Clean accuracy of the similarity (SIM), MNIST",
        "prototypes_mnist",
        f"{theirs} %",
        "0.5 points",
        Setting.SAME,
        _measured(used, [100 * row["heads"]["SIM"]["clean"] for row in used], ".2f", " %"),
        bool(found) and found["SIM", "clean"] >= theirs - 0.5,
        False,
        f"plain classifier {plain['dense layer', 'clean']:.2f} %" if plain else "–",
    )


def _shifted(rows: Rows) -> Claim:
    gains = shift.shift_gains(rows, "perceptron")
    return Claim(
        "The learned similarity is ahead of a plain classifier under domain shift (PACS; here: people of UCI HAR)",
        "prototypes_shift",
        "87.93 against 85.75 %",
        "ahead on average; same direction: in more than half of the folds",
        Setting.OTHER,
        _measured(having(rows, method="perceptron"), gains, "+.1f", " points"),
        bool(gains) and mean(gains) > 0,
        _won([gain > 0 for gain in gains])[1],
        "plain classifier of the same encoder",
    )


def _verified(rows: Rows) -> Claim:
    """The similarity beside the cosine of the same vectors, on both problems."""
    means = {}
    for dataset in verification.ASKED:
        both = [verification.rates(rows, dataset, verification.OURS, how) for how in ("SIM", "cosine")]
        if all(both):
            means[dataset] = [mean(one["eer"] for one in some) for some in both]
    reached, direction = _won([sim < cosine for sim, cosine in means.values()])
    text = ", ".join(f"{100 * sim:.1f} % on {name}" for name, (sim, _) in means.items())
    used = [row for name in means for row in having(rows, dataset=name, method=verification.OURS)]
    return Claim(
        "The learned similarity verifies speakers better than the cosine of its vectors (equal error rate)",
        "prototypes_verification",
        f"{verification.PAPER['SIM']} against {verification.PAPER['cosine']} % (VoxCeleb1)",
        "better on every problem",
        Setting.OTHER,
        Measured([], rows=used, text=text) if means else None,
        reached,
        direction,
        f"cosine {', '.join(f'{100 * cosine:.1f}' for _, cosine in means.values())} %" if means else "–",
    )


def _enrolled(rows: Rows) -> Claim:
    sets = list(dict.fromkeys(row["dataset"] for row in rows.values()))
    pairs = {}
    for name in sets:
        ours, dtw = (enrolment.accuracy_on_new(rows, name, m) for m in ("Prototypes, perceptron", "1-NN DTW"))
        if ours is not None and dtw is not None:
            pairs[name] = (ours, dtw)
    reached, direction = _won([ours > dtw for ours, dtw in pairs.values()])
    text = ", ".join(f"{ours:.3f} on {name}" for name, (ours, _) in pairs.items())
    return Claim(
        "The learned similarity recognises classes enrolled after training (paper: pictures, appendix)",
        "prototypes_enrolment",
        "works on miniImageNet",
        "ahead of 1-NN DTW on every data set",
        Setting.OTHER,
        Measured([], rows=having(rows, method="Prototypes, perceptron"), text=text) if pairs else None,
        reached,
        direction,
        f"1-NN DTW {', '.join(f'{dtw:.3f}' for _, dtw in pairs.values())}" if pairs else "–",
    )


# --- T-Loss


def _tloss(load: Load) -> System:
    rows, long, few = load("tloss_ucr"), load("tloss_long"), load("tloss_labels")
    claims = [
        _archive_mean(rows, ucr.COMBINED, "all K combined"),
        _above_dtw(rows),
        *(_archive_mean(rows, column, column.title) for column in ucr.COLUMNS if column.k in ("5", "10")),
        _recurrent(rows),
        _long_series(long),
        _few_labels(few),
    ]
    ours = claims[0].ours
    finished = len(ucr.combined_means(rows))
    sentence = (
        f"On {finished} of {len(thesis())} data sets the mean accuracy is {ours.mean:.4f}, and the thesis has "
        f"{_same_sets(rows, ucr.COMBINED):.4f} on the same; the other sets have no rows."
        if ours and finished < len(thesis())
        else f"The mean accuracy over all data sets is {ours.mean:.4f}."
        if ours
        else "The archive has no finished data set."
    )
    return System("T-Loss", claims, sentence)


def _same_sets(rows: Rows, column: ucr.Column) -> float:
    theirs = thesis()
    return mean(theirs[name][column.theirs] for name in ucr.accuracies(rows, column) if column.theirs in theirs[name])


def _archive_mean(rows: Rows, column: ucr.Column, words: str) -> Claim:
    theirs = thesis()
    found = {name: mean(some) for name, some in ucr.accuracies(rows, column).items() if column.theirs in theirs[name]}
    every = [known[column.theirs] for known in theirs.values() if column.theirs in known]
    own, same = (mean(found.values()), _same_sets(rows, column)) if found else (0.0, 0.0)
    dtw = mean(theirs[name]["dtw_1nn"] for name in found) if found else 0.0
    made_of = (column.k,) if column is not ucr.COMBINED else (column.k, *(one.k for one in ucr.COLUMNS))  # of all K
    used = [row for row in rows.values() if row["k"] in made_of and row["dataset"] in found]
    seeds = max((len(some) for some in ucr.accuracies(rows, column).values()), default=0)
    part = len(found) < len(every)
    text = f"{own:.4f} on {len(found)} sets ({'' if seeds == 1 else 'up to '}{count_of(seeds, 'seed')})"
    return Claim(
        f"Mean accuracy on the archive, {words}",
        "tloss_ucr",
        f"{mean(every):.4f} on {len(every)} sets"
        + (f"; {same:.4f} on the same {len(found)}" if part and found else ""),
        f"{ucr.TOLERANCE}, on the same sets",
        Setting.PART if part else Setting.SAME,
        Measured([own], rows=used, text=text) if found else None,
        bool(found) and own >= same - ucr.TOLERANCE,
        bool(found) and own > dtw,
        f"1-NN DTW {dtw:.4f}" if found else "–",
    )


def _above_dtw(rows: Rows) -> Claim:
    theirs, ours = thesis(), ucr.combined_means(rows)
    above = sum(accuracy > theirs[name]["dtw_1nn"] for name, accuracy in ours.items())
    expected = sum(theirs[name]["combined"] > theirs[name]["dtw_1nn"] for name in ours)
    every = sum(known["combined"] > known["dtw_1nn"] for known in theirs.values())
    return Claim(
        "Data sets on which the combined encoder is above 1-NN DTW",
        "tloss_ucr",
        f"{every} of {len(theirs)}; {expected} of the same {len(ours)}",
        "as many, on the same sets",
        Setting.PART if len(ours) < len(theirs) else Setting.SAME,
        Measured([], rows=[r for r in rows.values() if r["k"] == "combined"], text=f"{above} of {len(ours)}")
        if ours
        else None,
        bool(ours) and above >= expected,
        2 * above > len(ours),
        "1-NN DTW",
    )


def _recurrent(rows: Rows) -> Claim:
    found = ucr.accuracies(rows, ucr.Column("", "lstm", "svm", ""))
    own = ucr.accuracies(rows, ucr.Column("", "5", "svm", ""))
    pairs = {n: (mean(own[n]), mean(found[n])) for n in ("Adiac", "CricketX") if n in own and n in found}
    reached, direction = _won([causal > lstm for causal, lstm in pairs.values()])
    text = ", ".join(f"{causal:.3f} against {lstm:.3f} on {name}" for name, (causal, lstm) in pairs.items())
    return Claim(
        "A causal network is far better than an LSTM (Adiac, CricketX)",
        "tloss_ucr",
        "0.703 against 0.269, 0.700 against 0.136",
        "better on both",
        Setting.SAME if len(pairs) == 2 else Setting.PART,
        Measured([], rows=[row for row in rows.values() if row["k"] == "lstm"], text=text) if pairs else None,
        reached,
        direction,
        "LSTM, see ours",
    )


def _long_series(rows: Rows) -> Claim:
    worse = [100 * (row["representations"]["error"] / row["raw"]["error"] - 1) for row in rows.values()]
    text = f"{format_range(worse, '.0f')} % larger" if worse else ""
    return Claim(
        "Regression on representations is only slightly worse than on raw values (household electricity)",
        "tloss_long",
        "equal for a day, 16 % larger error for a quarter",
        "at most 20 % larger",
        Setting.OTHER,
        Measured([], rows=list(rows.values()), text=text) if worse else None,
        bool(worse) and max(worse) <= 20,
        False,
        "regression on raw values",
    )


def _few_labels(rows: Rows) -> Claim:
    points = [point for name in LABELLED_SETS for point in few_labels.curve(rows, name, SHARES)]
    pairs = [mean(without) > mean(given) for _, _, without, given in points]
    reached, direction = _won(pairs)
    return Claim(
        "Representations learned without labels are ahead at every share of labels (figure 3.7)",
        "tloss_labels",
        "ahead at every share (TwoPatterns, ResNet)",
        "ahead at every share",
        Setting.OTHER,
        Measured([], rows=list(rows.values()), text=f"ahead at {sum(pairs)} of {len(pairs)} shares") if pairs else None,
        reached,
        direction,
        "the same network with labels",
    )


# --- SRVP


def _srvp(load: Load) -> System:
    rows = load("srvp_digits")
    claims = [
        _digits_score(rows, "two digits", "one sample", "psnr", "95", 18.25, "PSNR on two digits, t+1…t+95"),
        _digits_score(rows, "two digits", "one sample", "ssim", "95", 0.83, "SSIM on two digits, t+1…t+95"),
        _digits_score(
            rows, "two digits, stochastic", "best of N", "psnr", "20", 16.93, "PSNR on two digits, random bounces"
        ),
        _residual(load("srvp_ablations")),
        _frame_rates(load("srvp_rates")),
        _pendulum(load("srvp_pendulum")),
        _kalman(load("srvp_kalman")),
    ]
    central = claims[0]
    network = next((name for name in OURS if having(rows, dataset=digits.MAIN, method=name)), None)
    which = "SRVP" if network == OURS[0] else "SRVP has no rows with the thesis's decoder; with sprites it"
    sentence = (
        f"{which} has {central.ours.mean:.2f} dB on two digits, at half the frame size and after "
        f"{_most(central.ours.rows, 'minutes')} minutes of training; {central.rival} dB and learns nothing."
        if central.ours
        else "SRVP has no rows."
    )
    return System("SRVP", claims, sentence)


def _digits_score(rows: Rows, version: str, reading: str, score: str, horizon: str, paper: float, text: str) -> Claim:
    name = next((one for one in OURS if having(rows, dataset=version, method=one)), None)
    found = having(rows, dataset=version, method=name) if name else []
    values = [row["scores"][reading][score][horizon][0] for row in found]
    cheap = {
        row["method"]: row["scores"]["forecast"][score][horizon][0]
        for row in having(rows, dataset=version)
        if "minutes" not in row and horizon in row["scores"].get("forecast", {}).get(score, {})
    }
    best = max(cheap, key=cheap.__getitem__, default="")
    form = SCORES[score]
    return Claim(
        text,
        "srvp_digits",
        f"{paper:{form}}" + (" dB" if score == "psnr" else ""),
        "the thesis's",
        Setting.OTHER,  # frames of half the size, and a decoder that may not be the thesis's
        _measured(found, values, form, " dB" if score == "psnr" else ""),
        bool(values) and mean(values) >= paper,
        bool(values and best) and mean(values) > cheap[best],
        f"{best} has {cheap[best]:{form}}" if best else "–",
    )


def _residual(rows: Rows) -> Claim:
    kept = {row["method"]: row for row in having(rows, dataset="two digits", seed=0)}
    names = [f"{ablations.WHOLE}, {form}" for form in ("MLP", "GRU") if f"{ablations.WHOLE}, {form}" in kept]
    psnr = {n: kept[n]["scores"]["one sample"]["psnr"]["95"][0] for n in (ablations.WHOLE, *names) if n in kept}
    ours = psnr.pop(ablations.WHOLE, None)
    reached, direction = _won([ours > other for other in psnr.values()] if ours is not None else [])
    return Claim(
        "Residual steps are better than an MLP and a GRU (two digits)",
        "srvp_ablations",
        "18.25 against 16.70 and 13.17 dB",
        "better than both",
        Setting.OTHER,
        _measured([kept[ablations.WHOLE]], [ours], ".2f", " dB") if ours is not None and psnr else None,
        reached,
        direction,
        ", ".join(f"{name.removeprefix(ablations.WHOLE + ', ')} {value:.2f}" for name, value in psnr.items()) or "–",
    )


def _frame_rates(rows: Rows) -> Claim:
    found = having(rows, dataset="two digits", method="SRVP, sprites, two substeps")
    lost = [row["tested"]["2"]["psnr"]["20"][0] - row["tested"]["4"]["psnr"]["20"][0] for row in found]
    return Claim(
        "A network trained at Δt = 1/2 loses little at Δt = 1/4",
        "srvp_rates",
        "0.14 dB (BAIR), 0.26 dB (KTH)",
        "at most 0.5 dB",
        Setting.OTHER,
        _measured(found, lost, ".2f", " dB"),
        bool(lost) and mean(lost) <= 0.5,
        False,
        "–",
    )


def _pendulum(rows: Rows) -> Claim:
    found = having(rows, method="SRVP")
    values = [row["nats"][0] for row in found]
    cheap = {r["method"]: r["nats"][0] for r in rows.values() if r["method"].startswith(("independent", "regression"))}
    best = max(cheap, key=cheap.__getitem__, default="")
    return Claim(
        "Evidence of a pendulum, nats (the noise is not the thesis's, and its rivals are not run)",
        "srvp_pendulum",
        f"{pendulum.THESIS['SRVP']} (KVAE {pendulum.THESIS['KVAE']})",
        "numbers do not compare",
        Setting.OTHER,
        _measured(found, values, ".1f"),
        False,
        bool(values and best) and mean(values) > cheap[best],
        f"{best} {cheap[best]:.1f}" if best else "–",
        counted=False,
    )


def _kalman(rows: Rows) -> Claim:
    found = having(rows, method="SRVP")
    gaps = [row["gap"][0] for row in found]
    cheap = {row["method"]: row["gap"][0] for row in rows.values() if row["method"].startswith("regression")}
    best = min(cheap, key=cheap.__getitem__, default="")
    return Claim(
        "A check of ours: the bound is below the exact likelihood of a Kalman filter and near it, nats per frame",
        "srvp_kalman",
        "–",
        f"between 0 and {kalman.GAP}",
        Setting.OTHER,
        _measured(found, gaps),
        bool(gaps) and min(gaps) > 0 and max(gaps) <= kalman.GAP,
        False,
        f"{best} {cheap[best]:.3f}" if best else "–",
        counted=False,
    )


# --- Separation


def _separation(load: Load) -> System:
    rows = load("separation_waves100")
    claims = [
        _waves_error(rows, waves.WAVES_100, "separation_waves100", "WaveEq-100"),
        _content(rows),
        _waves_error(load("separation_waves64"), waves.WAVES_64, "separation_waves64", "WaveEq (64 × 64)"),
        _sst(load("separation_sst")),
        *(_swap(load("srvp_swap"), part) for part in ("prediction", "swap")),
        _default_network(rows),
    ]
    central, own = claims[0].ours, claims[-1].ours
    size = "" if claims[0].setting is Setting.SAME else ", reduced,"
    here = f"The thesis's network{size} has {central.mean:.1e}" if central else "The thesis's network has no rows"
    better = f"; the library's own has {own.mean:.1e} ({claims[-1].rival})" if own else ""
    content = f"; w makes the error {claims[1].ours}, in the thesis {claims[1].paper}" if claims[1].ours else ""
    return System("Separation", claims, f"{here}{better}{content}.")


def _waves_error(rows: Rows, about: waves.About, page: str, text: str) -> Claim:
    """The thesis's network at full size, or the smaller one."""
    whole = having(rows, dataset="thesis", method=forms.PRESET + waves.FULL)
    found = whole or having(rows, dataset="thesis", method=forms.PRESET)
    errors = [row["all"] for row in found]
    cheap = {name: mean(e) for name in forms.BASELINES if (e := waves.errors_of(rows, "thesis", name))}
    best = min(cheap, key=cheap.__getitem__, default="")
    return Claim(
        f"Squared error on {text} with the thesis's network",
        page,
        f"{about.thesis[0]:.2e}",
        "1.5 times the thesis's",
        Setting.SAME if whole else Setting.PART,
        _measured(found, errors, ".1e"),
        bool(errors) and mean(errors) <= 1.5 * about.thesis[0],
        bool(errors and best) and mean(errors) < cheap[best],
        f"{best} {cheap[best]:.1e}" if best else "–",
    )


def _content(rows: Rows) -> Claim:
    theirs = waves.WAVES_100.thesis[1] / waves.WAVES_100.thesis[0]
    gains = waves.content_gains(rows, "thesis", forms.DEFAULT)
    used = [
        row for n in (forms.DEFAULT, forms.DEFAULT + forms.WITHOUT) for row in having(rows, dataset="thesis", method=n)
    ]
    return Claim(
        "The content variable w lowers the error on WaveEq-100 (library's default network)",
        "separation_waves100",
        f"{theirs:.1f} times smaller",
        "2 times; same direction: more than 1.1 times",
        Setting.OTHER,
        _measured(used, gains, ".2f", " times smaller"),
        bool(gains) and mean(gains) >= 2,
        bool(gains) and mean(gains) > 1.1,
        "the same network without w",
    )


def _sst(rows: Rows) -> Claim:
    pair = [sst.mean_error(rows, name, "held out") for name in ("cells", "cells, without w")]
    known = [error for error in pair if error is not None]
    used = [row for name in ("cells", "cells, without w") for row in having(rows, part="held out", method=name)]
    return Claim(
        "The content variable w lowers the error on sea surface temperatures (held-out months, cell by cell)",
        "separation_sst",
        "0.86 against 0.95 (t+6), other data",
        "lower with w",
        Setting.OTHER,
        Measured(known[:1], ".4f", " K²", used) if len(known) == 2 else None,
        len(known) == 2 and known[0] < known[1],
        False,
        f"without w {known[1]:.4f} K²" if len(known) == 2 else "–",
    )


def _swap(rows: Rows, part: str) -> Claim:
    place = ("prediction", "swap").index(part)
    theirs = swap.THESIS["Separation"][place]
    assert theirs is not None
    found = [row for row in having(rows, method="Separation") if part in row]
    values = [row[part]["psnr"]["95"][0] for row in found]
    cheap = {
        r["method"]: r[part]["psnr"]["95"][0] for r in rows.values() if part in r and r["method"] not in swap.THESIS
    }
    best = max(cheap, key=cheap.__getitem__, default="")
    return Claim(
        f"PSNR of {part}s on two digits, t+1…t+95",
        "srvp_swap",
        f"{theirs[2]:.2f} dB",
        "the thesis's",
        Setting.OTHER,
        _measured(found, values, ".2f", " dB"),
        bool(values) and mean(values) >= theirs[2],
        bool(values and best) and mean(values) > cheap[best],
        f"{best} {cheap[best]:.2f} dB" if best else "–",
    )


def _default_network(rows: Rows) -> Claim:
    found = having(rows, dataset="thesis", method=forms.DEFAULT)
    errors = [row["all"] for row in found]
    cheap = waves.errors_of(rows, "thesis", "nearest past")
    return Claim(
        "Squared error on WaveEq-100 with the library's default network",
        "separation_waves100",
        f"{waves.WAVES_100.thesis[0]:.2e}",
        "the thesis's",
        Setting.OTHER,
        _measured(found, errors, ".1e"),
        bool(errors) and mean(errors) <= waves.WAVES_100.thesis[0],
        False,
        f"nearest past {mean(cheap):.1e}" if cheap else "–",
        counted=False,
    )


# --- GAN(TK)²


def _gantk(load: Load) -> System:
    rows, forms = load("gantk_particles"), load("gantk_closed_forms")
    claims = [
        _particles(rows),
        _orders(rows, ("8 Gaussians",), Setting.SAME, "8 Gaussians"),
        _closed_forms(forms),
        _other_cells(rows),
        _orders(rows, ("letters", "densities"), Setting.OTHER, "letters and densities of our own", counted=False),
    ]
    central = claims[0].ours
    counted = [claim for claim in claims if claim.counted]
    done = sum(claim.outcome is Outcome.REPRODUCED for claim in counted)
    first = f"Particles under a ReLU discriminator end at {central.mean:.1e} on 8 Gaussians" if central else "No rows"
    sentence = f"{first}; {done} of {len(counted)} claims hold, with fewer steps than the thesis makes."
    return System("GAN(TK)²", claims, sentence)


def _particles(rows: Rows) -> Claim:
    how = {"problem": "8 Gaussians", "loss": "IPM", "width": "∞", "schedule": "one step"}
    found, cheap = (having(rows, architecture=name, **how) for name in ("ReLU", "RBF"))
    theirs = particles.THESIS["8 Gaussians", "IPM", "∞"][1]
    assert theirs is not None
    values = [row["final"] for row in found]
    return Claim(
        "Sinkhorn divergence on 8 Gaussians, IPM, infinitely wide ReLU (table 6.1)",
        "gantk_particles",
        f"{theirs:.1e}",
        f"{particles.FACTOR:g} times the thesis's",
        Setting.SAME,
        _measured(found, values, ".1e"),
        bool(values) and mean(values) <= particles.FACTOR * theirs,
        bool(values and cheap) and mean(values) < mean(row["final"] for row in cheap),
        f"RBF {mean(row['final'] for row in cheap):.1e}" if cheap else "–",
    )


def _orders(rows: Rows, problems: tuple[str, ...], setting: Setting, words: str, counted: bool = True) -> Claim:
    found = particles.list_orders(rows, problems)
    reached, direction = _won([one.holds for one in found])
    used = [row for row in rows.values() if row["problem"] in problems and row["width"] == "∞"]
    complete = len(found) == 2 * len(particles.CLAIMS) * len(problems)
    return Claim(
        f"Order of the architectures of infinite width, {words}",
        "gantk_particles",
        f"{2 * len(particles.CLAIMS) * len(problems)} orders",
        "all of them",
        setting,
        Measured([], rows=used, text=f"{sum(one.holds for one in found)} of {len(found)} hold") if found else None,
        reached and complete,
        direction,
        "–",
        counted,
    )


def _closed_forms(rows: Rows) -> Claim:
    errors, slopes = closed_forms.worst_errors(rows), closed_forms.fit_widths(rows)
    low, high = closed_forms.SLOPES
    checks = [error <= closed_forms.MOST[part] for part, error in errors.items()]
    checks += [low <= slope <= high for slope in slopes.values()]
    complete = len(errors) == len(closed_forms.WORDS) and bool(slopes)
    reached, direction = _won(checks)
    return Claim(
        "Closed forms of infinitely wide discriminators, against integration, another library and finite networks",
        "gantk_closed_forms",
        "exact",
        "errors of 1e-12 (IPM), 1e-9 (LSGAN), 1e-8 (kernel); power of the width −0.65 to −0.35",
        Setting.SAME,
        Measured([], rows=list(rows.values()), text=f"{sum(checks)} of {len(checks)} checks met") if checks else None,
        reached and complete,
        direction,
        "–",
    )


def _other_cells(rows: Rows) -> Claim:
    """The other numbers of 8 Gaussians in table 6.1, which our rows reach with fewer steps."""
    near, expected = [], 0
    for (problem, loss, width), numbers in particles.THESIS.items():
        for name, theirs in zip(particles.COLUMNS, numbers, strict=True):
            if problem != "8 Gaussians" or math.isnan(theirs) or (loss, width, name) == ("IPM", "∞", "ReLU"):
                continue
            expected += 1
            how = {"problem": problem, "loss": loss, "width": width, "architecture": name, "schedule": "one step"}
            found = particles.finals(rows, **how)
            near += [mean(found) <= MAGNITUDE * theirs] if found else []
    reached, direction = _won(near)
    used = [row for row in rows.values() if row["problem"] == "8 Gaussians"]
    return Claim(
        "Order of magnitude of the other numbers of table 6.1 for 8 Gaussians",
        "gantk_particles",
        f"{expected} numbers",
        f"{MAGNITUDE:g} times the thesis's, with a seventh to a twentieth of its steps",
        Setting.SAME if len(near) == expected else Setting.PART,
        Measured([], rows=used, text=f"{sum(near)} of {len(near)} within it") if near else None,
        reached,
        direction,
        "–",
    )
