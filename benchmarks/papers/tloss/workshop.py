"""How a row of the T-Loss comparison is worked out from representations, and what it will take."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.results import Found, Row
from benchmarks.papers.tloss.data import Known, Problem, known_sets, problem, thinned
from benchmarks.papers.tloss.heads import accuracies
from numpy.typing import NDArray

import timelike as tl

SOURCE, SOURCE_K = "SwedishLeaf", 5  # of the transfer row: the thesis's FordA is not among the data sets
LSTM_SETS, LSTM_K = ("SyntheticControl", "Adiac", "CricketX"), 5
COMBINED, TRANSFER, LSTM = "combined", "transfer", "lstm"
Pair = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class Learned(Row):
    """One data set, one K (or `combined`, `transfer`, `lstm`), one seed."""

    dataset: str
    k: str
    seed: int


def needs(row: Learned, sets: dict[str, Known]) -> list[Learned]:
    """The rows whose representations or encoder this one uses."""
    if row.k == COMBINED:
        return [replace(row, k=str(k)) for k in sets[row.dataset].ks]
    if row.k == TRANSFER:
        return [Learned(SOURCE, str(SOURCE_K), row.seed)]
    return []


class Workshop:
    """Works rows out; representations and encoders stay in a scratch folder, for the rows that are made from them."""

    def __init__(self, data: Path, scratch: Path, *, quick: bool = False) -> None:
        self.data, self.scratch, self.quick = data, scratch, quick
        self.max_steps = 3 if quick else None

    @cached_property
    def sets(self) -> dict[str, Known]:
        """By name, the cheapest first."""
        return {one.name: one for one in known_sets(self.data)}

    def work(self, row: Learned) -> Found:
        """Accuracies of both heads, and the time of each part."""
        began = time.perf_counter()
        given = self.problem(row.dataset)
        train, test = self.representations(row, given)
        encoded = time.perf_counter()
        found: Found = accuracies(train, given.train_labels, test, given.test_labels)
        return found | {"encoder seconds": encoded - began}

    def problem(self, name: str) -> Problem:
        given = problem(self.data, self.sets[name])
        return thinned(given) if self.quick else given

    def has(self, row: Learned) -> bool:
        """Whether its representations, or those that it is made of, are still in the scratch folder."""
        if row.k == TRANSFER:
            return self._model(needs(row, self.sets)[0]).exists()
        return all(self._cached(part).exists() for part in needs(row, self.sets) or [row])

    def seconds(self, row: Learned) -> float:
        """A guess, by the time steps that there are to work through."""
        known = self.sets[row.dataset]
        if row.k.isdigit():
            return 1.0 if self.has(row) else known.seconds(int(row.k))
        if row.k == LSTM:
            return known.seconds(LSTM_K)
        rest = 0.03 * known.n_train if row.k == COMBINED else (known.n_train + known.n_test) * known.mean_length * 1e-5
        missing = [] if self.has(row) else needs(row, self.sets)
        return 2 + rest + sum(map(self.seconds, missing))

    def representations(self, row: Learned, given: Problem) -> Pair:
        """Those of the training and of the test part, from the scratch folder if they are there."""
        if row.k == COMBINED:
            parts = [self.representations(part, given) for part in needs(row, self.sets)]
            train, test = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
            return train, test
        if row.k == TRANSFER:
            encoder = self.encoder(needs(row, self.sets)[0])
            return encoder.encode(given.train), encoder.encode(given.test)
        return self._own(row, given)

    def _own(self, row: Learned, given: Problem) -> Pair:
        path = self._cached(row)
        if path.exists():
            with np.load(path) as held:
                return held["train"], held["test"]
        encoder = self._fitted(row, given)
        train, test = encoder.encode(given.train), encoder.encode(given.test)
        part = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(part, train=train, test=test)
        part.replace(path)
        return train, test

    def _fitted(self, row: Learned, given: Problem) -> Any:
        self.scratch.mkdir(parents=True, exist_ok=True)
        how: dict[str, Any] = {"standardize": given.standardize, "max_steps": self.max_steps, "random_state": row.seed}
        if row.k == LSTM:
            return tl.RecurrentEncoder.preset("thesis", n_negatives=LSTM_K, **how).fit(given.train)
        encoder = tl.CausalEncoder.preset("thesis", n_negatives=int(row.k), **how)
        encoder.fit(given.train)
        if not self._model(row).exists():
            encoder.save(self._model(row))
        return encoder

    def encoder(self, row: Learned) -> Any:
        """The encoder of a row, fitted again if it is not in the scratch folder."""
        if self._model(row).exists():
            return tl.load_model(self._model(row))
        return self._fitted(row, self.problem(row.dataset))

    def _cached(self, row: Learned) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}.npz"

    def _model(self, row: Learned) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}-model"
