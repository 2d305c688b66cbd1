"""Training and encoding beside the authors' layout, and beside timelike without its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from benchmarks.speed.encode.padded_network import PaddedNetwork
from benchmarks.speed.encode.series import Effort, Kind, kinds
from benchmarks.speed.encode.steps import BATCH, K, contrast, endless, our_step, padded_step, whole_crops
from benchmarks.speed.kernels_off import without_kernels
from benchmarks.speed.table import Row, against
from benchmarks.speed.timing import timed

import timelike as tl

PEER, BEFORE = "padded on both sides and trimmed", "timelike without kernels"


def compared(name: str, effort: Effort, threads: int) -> Iterator[Row]:
    """Training and encoding beside the peers, after a look that all compute the same."""
    kind = kinds(effort.encoded)[name]
    torch.manual_seed(0)
    encoder = tl.CausalEncoder.preset("thesis", max_steps=1, standardize=False, random_state=0).fit(kind.series)
    ours, theirs = encoder.network_, PaddedNetwork(kind.series.frame[0] if kind.series.frame else 1)
    theirs.take(ours)
    agree(encoder, theirs, kind.series)
    yield from training_rows(kind, ours, theirs, effort)
    if not kind.whole:
        yield from encoding_rows(kind, encoder, theirs, effort, threads)


def agree(encoder: tl.CausalEncoder, theirs: PaddedNetwork, given: tl.Sequences) -> None:
    some = given[np.arange(4)]
    x, lengths = some.to_tensor()
    with torch.no_grad():
        expected = theirs.each(x.float(), lengths)
    torch.testing.assert_close(torch.from_numpy(encoder.encode(some)), expected, rtol=1e-3, atol=1e-4)


def training_rows(kind: Kind, ours: Any, theirs: PaddedNetwork, effort: Effort) -> Iterator[Row]:
    objective = contrast(kind.series, ours)
    batches = endless(objective)
    adam, their_adam = objective.optimizers(), torch.optim.Adam(theirs.parameters(), lr=1e-3)
    whole = whole_crops(int(kind.series.lengths[0]), 1) if kind.whole else None
    spent = np.zeros(3)
    for turn in range(effort.turns + 1):
        cutting, _, batch = timed(lambda: next(batches) if whole is None else whole)
        peer = timed(partial(padded_step, theirs, their_adam, batch)).wall
        with without_kernels():
            before = timed(partial(our_step, objective, adam, batch)).wall
        own = timed(partial(our_step, objective, adam, batch)).wall
        if turn:
            spent += peer, before + cutting, own + cutting
    work = f"training, K = {K}, batch {BATCH}: {kind.said}"

    def said(seconds: float) -> str:
        return f"{effort.turns / seconds:.3g} steps/s"

    yield against(work, PEER, spent[0], spent[2], kind.training, said=said)
    yield against(work, BEFORE, spent[1], spent[2], None, said=said)


def encoding_rows(
    kind: Kind, encoder: tl.CausalEncoder, theirs: PaddedNetwork, effort: Effort, threads: int
) -> Iterator[Row]:
    given = kind.series

    @torch.no_grad()
    def padded() -> None:
        for begin in range(0, len(given), BATCH):
            x, lengths = given[np.arange(begin, min(begin + BATCH, len(given)))].to_tensor()
            theirs.each(x.float(), lengths)

    def encode(native: bool) -> None:
        with nullcontext() if native else without_kernels():
            encoder.encode(given, n_jobs=threads)

    spent = np.zeros(3)
    turns = max(1, effort.turns // 2)
    for turn in range(turns + 1):
        now = [timed(job).wall for job in (padded, partial(encode, False), partial(encode, True))]
        if turn:
            spent += now
    many = turns * len(given)

    def said(seconds: float) -> str:
        return f"{many / seconds:.3g} series/s"

    yield against(f"encoding: {kind.said}", PEER, spent[0], spent[2], None, said=said)
    yield against(f"encoding: {kind.said}", BEFORE, spent[1], spent[2], kind.encoding, said=said)
