"""Rows of the T-Loss comparison: which there are, how one is worked out, and what it will take."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.papers.resumable import machine
from benchmarks.papers.tloss_data import Known, Problem, known_sets, problem, shortest
from benchmarks.papers.tloss_heads import accuracies
from numpy.typing import NDArray

import timelike as tl

SEEDS = 3
SOURCE, SOURCE_K = "SwedishLeaf", 5  # of the transfer row: the thesis's FordA is not among the data sets
LSTM_SETS, LSTM_K = ("SyntheticControl", "Adiac", "CricketX"), 5
COMBINED, TRANSFER, LSTM = "combined", "transfer", "lstm"
Pair = tuple[NDArray[np.float32], NDArray[np.float32]]


class Row(NamedTuple):
    """One data set, one K (or `combined`, `transfer`, `lstm`), one seed."""

    dataset: str
    k: str
    seed: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


def planned(sets: list[Known]) -> Iterator[Row]:
    """Every row: one seed on all sets from the cheapest on, then two more on the shortest, then the comparisons."""
    few = {one.name for one in shortest(sets)}
    for seed in range(SEEDS):
        for one in sets:
            if seed == 0 or one.name in few:
                yield from (Row(one.name, str(k), seed) for k in one.ks)
                yield Row(one.name, COMBINED, seed)
    yield from (Row(one.name, TRANSFER, 0) for one in sets if one.archive == "UCR" and one.name != SOURCE)
    if hasattr(tl, "RecurrentEncoder"):
        yield from (Row(name, LSTM, 0) for name in LSTM_SETS)


def needs(row: Row, sets: dict[str, Known]) -> list[Row]:
    """The rows whose representations or encoder this one uses."""
    if row.k == COMBINED:
        return [row._replace(k=str(k)) for k in sets[row.dataset].ks]
    if row.k == TRANSFER:
        return [Row(SOURCE, str(SOURCE_K), row.seed)]
    return []


class Workshop:
    """Works rows out; representations and encoders stay in a scratch folder, for the rows that are made from them."""

    def __init__(self, data: Path, scratch: Path, max_steps: int | None = None) -> None:
        self.data, self.scratch, self.max_steps = data, scratch, max_steps
        self.sets = {one.name: one for one in known_sets(data)}

    def work(self, row: Row) -> dict[str, Any]:
        """Accuracies of both heads, and the time of each part."""
        began = time.perf_counter()
        given = problem(self.data, self.sets[row.dataset])
        train, test = self.representations(row, given)
        encoded = time.perf_counter()
        found: dict[str, Any] = row._asdict()
        found |= accuracies(train, given.train_labels, test, given.test_labels)
        now = time.perf_counter()
        return found | {"encoder seconds": encoded - began, "seconds": now - began, "machine": machine()}

    def has(self, row: Row) -> bool:
        """Whether its representations, or those that it is made of, are still in the scratch folder."""
        if row.k == TRANSFER:
            return self._model(needs(row, self.sets)[0]).exists()
        return all(self._cached(part).exists() for part in needs(row, self.sets) or [row])

    def seconds(self, row: Row) -> float:
        """A guess, by the time steps that there are to work through."""
        known = self.sets[row.dataset]
        if row.k.isdigit():
            return 1.0 if self.has(row) else known.seconds(int(row.k))
        if row.k == LSTM:
            return known.seconds(LSTM_K)
        rest = 0.03 * known.n_train if row.k == COMBINED else (known.n_train + known.n_test) * known.mean_length * 1e-5
        missing = [] if self.has(row) else needs(row, self.sets)
        return 2 + rest + sum(map(self.seconds, missing))

    def representations(self, row: Row, given: Problem) -> Pair:
        """Those of the training and of the test part, from the scratch folder if they are there."""
        if row.k == COMBINED:
            parts = [self.representations(part, given) for part in needs(row, self.sets)]
            train, test = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
            return train, test
        if row.k == TRANSFER:
            encoder = self.encoder(needs(row, self.sets)[0])
            return encoder.encode(given.train), encoder.encode(given.test)
        return self._own(row, given)

    def _own(self, row: Row, given: Problem) -> Pair:
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

    def _fitted(self, row: Row, given: Problem) -> Any:
        self.scratch.mkdir(parents=True, exist_ok=True)
        if row.k == LSTM:
            kind: Any = tl.RecurrentEncoder
            recurrent = kind(n_negatives=LSTM_K, standardize=given.standardize, max_steps=self.max_steps)
            return recurrent.set_params(random_state=row.seed).fit(given.train)
        encoder = tl.CausalEncoder(
            n_negatives=int(row.k), standardize=given.standardize, random_state=row.seed, max_steps=self.max_steps
        )
        encoder.fit(given.train)
        if not self._model(row).exists():
            encoder.save(self._model(row))
        return encoder

    def encoder(self, row: Row) -> Any:
        """The encoder of a row, fitted again if it is not in the scratch folder."""
        if self._model(row).exists():
            return tl.load_model(self._model(row))
        return self._fitted(row, problem(self.data, self.sets[row.dataset]))

    def _cached(self, row: Row) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}.npz"

    def _model(self, row: Row) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}-model"


def work(row: Row, data: Path, scratch: Path, max_steps: int | None) -> dict[str, Any]:
    """One row in a process of its own."""
    torch.set_num_threads(1)
    return Workshop(data, scratch, max_steps).work(row)
