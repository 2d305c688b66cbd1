"""TAP and its rivals learned from classes, beside tables 1, 3, 8 and 11 of the paper (Su and Wen, ICLR 2022).

    python -m benchmarks.papers.tap.supervised --data DIR
    python -m benchmarks.papers.tap.supervised --data DIR --only FSDD --seeds 1

A row is one data set, one method and one seed. Batches are 4 sequences of each of 4 classes (16; the paper has 64), the
learning rate is the paper's 1e-4 and the perceptron has its 1024 units; epochs and lengths are those of `data.PLANS`.
The weights of the epoch with the best MAP of the held-out part of the training data are kept; the test part is looked
at once, when a row is finished.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from statistics import mean
from typing import Any

from benchmarks.papers import markdown, page
from benchmarks.papers.clock import duration
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.tap.data import HOLDS, PLANS, SYSTEMS, Plan, Task, labels_of, scores, spaced, task
from benchmarks.papers.tap.methods import LOSSES, consistency_of, from_classes, loss_for
from sklearn.linear_model import LogisticRegression

import timelike as tl
from timelike.metric.base import AlignmentMetric

SCORES = ("map", "1-nn", "5-nn", "30-nn")

WITHOUT = "-plain"  # no augmentation
FIXED = ("DTW", "OPW", "SoftDTW")
GROUND = ("RVSML+DTW", "RVSML+OPW", "DeepRVSML+DTW", "elements+DTW", "elements+OPW")


def learned(row: Trial, plan: Plan, *, quick: bool) -> Any:
    """The metric of a row before it has learned."""
    small: dict[str, Any] = {"hidden": 16, "random_state": row.seed} if quick else {"random_state": row.seed}
    first, _, rest = row.method.partition("+")
    if first == "RVSML":
        return tl.metric.RVSML(aligner=rest.lower(), standardize=False, random_state=row.seed)
    if first == "DeepRVSML":
        epochs = 1 if quick else 20
        return tl.metric.DeepRVSML(
            aligner=rest.lower(), trainer=tl.Trainer(max_epochs=epochs), standardize=False, **small
        )
    if first == "elements":
        steps = 3 if quick else 2000
        return tl.metric.ElementWise(aligner=rest.lower(), max_steps=steps, standardize=False, **small)
    aligner = rest.removesuffix(WITHOUT)
    loss, plain = loss_for(first, aligner), rest.endswith(WITHOUT)
    return from_classes(aligner, plan, row.seed, quick=quick, loss=loss, augment=not plain)


def probed(metric: AlignmentMetric, given: Task) -> dict[str, float]:
    """Table 11: a linear classifier on the mean of the frames that the network makes; and table 3, ‖g‖ / ‖D‖."""
    train, test = (metric.pool_frames(part, n_jobs=1) for part in (given.train, given.test))
    classifier = LogisticRegression(C=100.0, max_iter=3000).fit(train, labels_of(given.train))
    order = classifier.classes_[classifier.predict_proba(test).argsort(axis=1)[:, ::-1]]
    right = order == labels_of(given.test)[:, None]
    found = {"probe top-1": float(right[:, :1].any(1).mean()), "probe top-5": float(right[:, :5].any(1).mean())}
    if not isinstance(metric, tl.TAP):
        return found
    return found | {"norm ratio": float(metric.norm_ratio(spaced(given.test), spaced(given.train), n_jobs=1).mean())}


class Supervised(Experiment[Trial]):
    """Every method on every data set."""

    paper, table, holds = "tap", "supervised", HOLDS
    subject = ("tap",)
    title = "Learned alignment with labels: TAP, SoftDTW and the others, beside the paper"
    question = "TAP learned from labels"

    def planned(self) -> Iterator[Trial]:
        """What tells most first: nothing learned, then triplets, then the rest, then more seeds."""
        for seed in range(self.given.seeds):
            if seed == 0:
                yield from (Trial(name, method, 0) for method in FIXED for name in PLANS)
            for name in PLANS:
                yield from (Trial(name, f"triplet+{aligner}", seed) for aligner in ("TAP", "SoftDTW"))
            for name in PLANS:
                yield from (Trial(name, method, seed) for method in GROUND)
                yield from (Trial(name, f"{loss}+{a}", seed) for loss in LOSSES[1:] for a in ("TAP", "SoftDTW"))
            yield from (Trial(name, f"{loss}+TAP{WITHOUT}", seed) for name in PLANS for loss in LOSSES)

    def seconds(self, row: Trial) -> float:
        plan = PLANS[row.dataset]
        if "+TAP" in row.method:
            return plan.training() + plan.comparing()
        if row.method.endswith("+SoftDTW"):
            return plan.training() / 5 + plan.comparing() / 20
        return 60.0 if "+" in row.method or row.method == "OPW" else 5.0

    def systems(self, row: Trial) -> Iterable[str]:
        if row.method in FIXED:
            return SYSTEMS[row.method], "retrieval_scores"
        if row.method in GROUND:
            return "ground", "elastic", "transport", "retrieval_scores"
        return "tap" if "+TAP" in row.method else "aligned_frames", "retrieval_scores"

    def work(self, row: Trial) -> Found:
        plan = PLANS[row.dataset]
        given, began = task(self.data, plan, self.quick), time.perf_counter()
        found: Found = {}
        metric: Any = getattr(tl, row.method)() if row.method in FIXED else learned(row, plan, quick=self.quick)
        if row.method not in FIXED:
            metric.fit(given.train, labels_of(given.train))
            found["training seconds"] = time.perf_counter() - began
        found |= scores(metric.pairwise(given.test, given.train, n_jobs=1), given)
        if isinstance(metric, AlignmentMetric):
            found |= probed(metric, given)
            found |= {"epochs": plan.epochs, "steps": metric.history_.n_steps}
            if isinstance(metric, tl.TAP):
                found["consistency"] = consistency_of(metric)
            found["validation"] = [round(float(score), 4) for score in metric.history_.scores]
        return found | given.sizes() | {"seconds": time.perf_counter() - began}  # without reading the files

    def said(self, found: Found) -> str:
        return ", ".join(f"{name} {found[name]:.3f}" for name in SCORES)


# --- the page

# table 1 of Su and Wen (ICLR 2022): MAP and 1-NN (%) on MSR Action3D (other features than ours) and the Arabic digits
PAPER: dict[str, tuple[str, str]] = {
    "RVSML+DTW": (".593 82.78", ".602 96.23"),
    "RVSML+OPW": (".475 76.56", ".656 97.09"),
    "elements+DTW": (".432 57.51", ".656 92.68"),
    "elements+OPW": (".438 55.31", ".738 95.95"),
    "DeepRVSML+DTW": (".617 79.49", ".782 97.32"),
    "DTW": (".590 81.32", ""),  # table 6
    "OPW": (".587 84.25", ""),
    "SoftDTW": (".589 81.32", ""),
    "triplet+SoftDTW": (".818 87.91", ".959 99.55"),
    "lifted+SoftDTW": (".074 4.03", ".123 10.00"),
    "binomial+SoftDTW": (".806 89.74", ".123 10.00"),
    "triplet+TAP": (".798 87.18", ".961 98.82"),
    "lifted+TAP": (".772 82.05", ".936 98.14"),
    "binomial+TAP": (".826 87.91", ".952 98.64"),
    "triplet+TAP-plain": (".839 88.28", ""),  # table 8
    "lifted+TAP-plain": (".820 86.81", ""),
    "binomial+TAP-plain": (".802 86.45", ""),
}
PROBE = {  # table 11, MSR Action3D: top-1, top-5 (%)
    "triplet+SoftDTW": "56.41 86.81",
    "triplet+TAP": "67.03 90.84",
    "lifted+SoftDTW": "5.50 24.54",
    "lifted+TAP": "51.65 82.78",
    "binomial+SoftDTW": "53.48 85.35",
    "binomial+TAP": "69.23 90.11",
}
RATIOS = {"triplet+TAP": "3.554", "lifted+TAP": "21.277", "binomial+TAP": "2.112"}  # table 3, MSR Action3D
FACTOR, FSDD_MAP, FSDD_NEAREST = 1.3, 0.95, 0.98
MAIN = {"MSRAction3D": "MSR Action3D", "FSDD": "spoken digits"}  # in the order of the paper's columns
OURS, SOFT = "triplet+TAP", "triplet+SoftDTW"


def values(rows: Rows, dataset: str, method: str, score: str) -> list[float]:
    """Of every finished seed."""
    return [row[score] for row in having(rows, dataset=dataset, method=method) if row.get(score) is not None]


def cells(rows: Rows, dataset: str, method: str) -> list[str]:
    """MAP, and accuracies in percent."""
    first, *others = (values(rows, dataset, method, score) for score in SCORES)
    return [markdown.format_mean(first), *map(markdown.format_percent, others)]


def _leads(rows: Rows, sets: Iterable[str], rival: str) -> list[bool]:
    """Whether TAP has the higher MAP, on the sets that have both."""
    pairs = [[values(rows, name, method, "map") for method in (OURS, rival)] for name in sets]
    return [mean(ours) > mean(others) for ours, others in pairs if ours and others]


def headline(rows: Rows) -> str:
    """TAP beside soft-DTW learned alike and DTW, with the paper's numbers, and who is ahead."""
    each = []
    for column, (dataset, title) in enumerate(MAIN.items()):
        found = [values(rows, dataset, method, "map") for method in (OURS, SOFT, "DTW")]
        if found[0]:
            ours, soft, dtw = (f"{mean(some):.3f}" if some else "–" for some in found)
            theirs = PAPER[OURS][column].split()[0]
            each.append(
                f"{ours} on {title} (paper: 0{theirs}; soft-DTW learned alike {soft}; DTW, the cheap rival, {dtw})"
            )
    if not each:
        raise page.MissingRows(OURS)
    both, gains = _leads(rows, PLANS, SOFT), _leads(rows, MAIN, "DTW")
    ahead = (
        f" TAP is ahead of soft-DTW on {sum(both)} of {len(both)} data sets; in the paper, on one of two."
        if both
        else ""
    )
    agrees = "agrees with" if gains and all(gains) else "does not agree with"
    return (
        f"TAP learned from labels with triplets has a MAP of {markdown.join_words(each)}.{ahead} The paper's data or "
        f"features differ, so only the direction compares; the gain over DTW {agrees} it."
    )


def scores_table(rows: Rows, dataset: str) -> str:
    """All methods on one data set, the best MAP first."""
    found = {method: some for method in PAPER if (some := values(rows, dataset, method, "map"))}
    if not found:
        raise page.MissingRows(dataset)
    column = list(MAIN).index(dataset) if dataset in MAIN else None
    lines = []
    for method in sorted(found, key=lambda method: -mean(found[method])):
        took = duration(mean(values(rows, dataset, method, "seconds")))
        reported = [PAPER[method][column] or "–"] if column is not None else []
        lines.append([method, *cells(rows, dataset, method), took, *reported])
    theirs = [] if column is None else [("paper, Action3D", "paper, Arabic digits")[column]]
    return markdown.table(["method", "MAP", "1-NN %", "5-NN %", "30-NN %", "time", *theirs], lines)


def setup(rows: Rows, dataset: str) -> str:
    """Sizes, what was held out, and whether the target is met."""
    sizes, plan = page.need(rows, dataset=dataset)[0], PLANS[dataset]
    held = "subjects" if plan.groups else "sequences"
    return (
        f"{sizes['n_train']} training and {sizes['n_test']} test sequences of at most {sizes['frames']} frames; TAP "
        f"and SoftDTW learn for {plan.epochs} epochs, {plan.validation:.0%} of the training {held} held out. "
        f"{page.clause(target, rows, dataset)}"
    )


def target(rows: Rows, dataset: str) -> str:
    """Whether the target is met, by TAP with triplets: a loss chosen here would be chosen by the test part."""
    ours, base = (mean(values(rows, dataset, method, "map")) for method in (OURS, "DTW"))
    if dataset == "FSDD":
        nearest = mean(values(rows, dataset, OURS, "1-nn"))
        met = ours >= FSDD_MAP and nearest >= FSDD_NEAREST
        words = f"MAP ≥ {FSDD_MAP} and 1-NN ≥ {FSDD_NEAREST:.0%}: {OURS} has {ours:.3f} and {nearest:.2%}"
    else:
        bar = FACTOR * base
        met = ours >= bar
        words = f"MAP at least {FACTOR} × DTW's: {OURS} has {ours:.3f}, {ours / base:.2f} × {base:.3f}"
        words += f" ({bar:.2f} would be needed, and no MAP is above 1)" if bar > 1 else ""
    return f"Target, {words}: **{'met' if met else 'NOT met'}**."


def other_sets(rows: Rows) -> str:
    """The same for data sets that the paper does not have."""
    sections = (page.clause(_section, rows, name) for name in PLANS if name not in MAIN)
    return "\n\n".join(filter(None, sections))


def _section(rows: Rows, name: str) -> str:
    return f"## {name}\n\n{scores_table(rows, name)}\n\n{setup(rows, name)}"


def probes(rows: Rows) -> str:
    """Tables 3 and 11."""
    lines = []
    for dataset in PLANS:
        for method in PAPER:
            top, five, ratio = (
                values(rows, dataset, method, score) for score in ("probe top-1", "probe top-5", "norm ratio")
            )
            if top:
                own = [one.get(method, "–") if dataset == "MSRAction3D" else "–" for one in (PROBE, RATIOS)]
                scores = [
                    markdown.format_percent(top),
                    markdown.format_percent(five),
                    own[0],
                    markdown.format_mean(ratio),
                    own[1],
                ]
                lines.append([dataset, method, *scores])
    return markdown.table(["data set", "method", "top-1 %", "top-5 %", "paper", "‖g‖/‖D‖", "paper "], lines)


def weights(rows: Rows) -> str:
    """Which weight of eq. 10 the rows have: those from before it was an option have 1."""
    learned = [row for row in rows.values() if "+TAP" in row["method"]]
    found = sorted({str(row.get("consistency", 1.0)) for row in learned})
    return f"The {len(learned)} rows of TAP here have the weight {markdown.join_words(found) or '–'}."


if __name__ == "__main__":
    sys.exit(Supervised.main())
