"""Methods of the CGRU comparison seed by seed: only what was run with the same seeds is compared."""

from __future__ import annotations

from statistics import mean
from typing import NamedTuple

from benchmarks.papers.cgru.methods import METHODS, TEST
from benchmarks.papers.results import Rows, having


class Pairing(NamedTuple):
    """Two methods on the seeds that both have: their means of a score."""

    seeds: list[int]
    first: float
    second: float


def paired(rows: Rows, first: str, second: str, score: str) -> Pairing | None:
    """Two methods on the test part, compared on common seeds only; None where there is none.

    >>> rows = {i: {"part": "test", "method": m, "seed": s, "map": v}
    ...         for i, (m, s, v) in enumerate([("a", 0, 0.5), ("a", 1, 0.9), ("b", 0, 0.6)])}
    >>> paired(rows, "a", "b", "map")
    Pairing(seeds=[0], first=0.5, second=0.6)
    """
    found = [{row["seed"]: row[score] for row in having(rows, method=name, part=TEST)} for name in (first, second)]
    seeds = sorted(found[0].keys() & found[1].keys())
    if not seeds:
        return None
    return Pairing(seeds, *(mean(one[seed] for seed in seeds) for one in found))


def starts(rows: Rows, first: str = "coupled", second: str = "coupled-3") -> str:
    """Which start of the coupling is ahead, score by score, on the seeds that both have."""
    scores = {"validation": "validation (MAP)", "accuracy": "test accuracy", "f1": "test macro F1", "map": "test MAP"}
    pairs = {name: found for name in scores if (found := paired(rows, first, second, name)) is not None}
    if not pairs:
        return "No seed has been run with both starts of the coupling, so they cannot be compared."
    seeds = pairs["validation"].seeds
    said = [f"{scores[name]} {_ahead(pair, first, second)}" for name, pair in pairs.items()]
    return f"The two starts of the coupling on common seeds ({listed(seeds)}): {'; '.join(said)}."


def _ahead(pair: Pairing, first: str, second: str) -> str:
    """The better of two first.

    >>> _ahead(Pairing([0], 0.5, 0.6), "coupled", "coupled-3")
    'bias −3 ahead, 0.600 to 0.500'
    """
    (best, name), (other, _) = sorted([(pair.first, first), (pair.second, second)], reverse=True)
    if best == other:
        return f"even at {best:.3f}"
    return f"{METHODS[name].title.removeprefix('CoupledGRU, ')} ahead, {best:.3f} to {other:.3f}"


def listed(seeds: list[int]) -> str:
    """Seeds in words.

    >>> listed([0]), listed([0, 1])
    ('seed 0', 'seeds 0, 1')
    """
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
