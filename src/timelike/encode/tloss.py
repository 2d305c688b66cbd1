"""The T-Loss: crops of series, a contrast of each with its parts and with others, and the base of its encoders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models import fingerprint, options
from ..sequences import Sequences
from ..sequences.moments import RESCALE
from ..train import Batch, Descent, Objective, Trained, shuffled
from ..train.batches import alike
from ..train.trained import exact, torch_threads
from .base import Encoder

Ints = NDArray[np.int64]

LONG = 10_000  # steps from which a backward pass per term pays
_GROUPS = 6  # calls of the network at most: each has its overhead
_WORTH = 0.05  # share of the steps that one more call must save


class TLossEncoder(Trained, Encoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    n_negatives = options.whole(1, "training")
    n_features = options.whole(1)
    batch_size = options.whole(1, "training")
    learning_rate = options.real(above=0, role="free")
    max_steps = options.maybe(options.whole(1, "free"))
    by_terms = options.maybe(options.flag("free"))
    shared_negatives = options.flag("training")

    _steps_at_once: ClassVar[int] = 1 << 17  # of a batch to encode, so that memory stays bounded

    def _objective(self, ready: Sequences, targets: None) -> Contrast:
        return Contrast(
            self.network_,
            ready,
            n_negatives=self.n_negatives,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            shared=self.shared_negatives,
            by_terms=self._needs_terms(ready) if self.by_terms is None else self.by_terms,
        )

    def _needs_terms(self, ready: Sequences) -> bool:
        """Whether activations of all crops at once would be too many: kernels bound them by themselves."""
        return bool(ready.lengths.max() > LONG) and pads(self.network_)

    def _limits(self, objective: Objective) -> dict[str, Any]:
        usual = 2000 if self.n_negatives >= 10 else 1500
        return {"max_steps": usual if self.max_steps is None else self.max_steps}

    def _rounds_alike(self, threads: int) -> bool:
        """Whether the network in single precision gives a sequence the same bits in any company."""
        return False

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        ready = self._ready(sequences, "X")
        vectors = np.empty((0, 0), np.float32)
        network = self.network_ if self._rounds_alike(threads) else exact(self.network_)
        dtype = next(network.parameters()).dtype
        with torch_threads(threads), torch.no_grad():
            for chosen in alike(ready.lengths, self._steps_at_once):
                x, lengths = ready[chosen].tensor()
                same = bool((lengths == x.shape[1]).all())
                found = network(x.to(dtype), None if same else lengths).numpy()
                if not vectors.size:
                    vectors = np.empty((len(ready), found.shape[1]), np.float32)
                vectors[chosen] = found
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(f"X: sequence {bad[0]} has values so large that its vector overflows: {RESCALE}")
        return vectors


class Contrast(Objective):
    """−log σ(fᵀf⁺) − 1/K Σ_k log σ(−fᵀf⁻_k), averaged over a batch (Franceschi et al., 2019, eq. 3.1).

    f, f⁺ and f⁻ are the representations of an anchor, of a part of it, and of crops of any series: K for every anchor,
    or where they are `shared` K for all anchors of a batch.
    """

    def __init__(
        self,
        network: nn.Module,
        sequences: Sequences,
        *,
        n_negatives: int,
        batch_size: int,
        learning_rate: float,
        by_terms: bool,
        shared: bool = False,
    ) -> None:
        self.module, self.sequences, self.shared = network, sequences, shared
        self.n_negatives, self.batch_size, self.learning_rate = n_negatives, batch_size, learning_rate
        self.by_terms = by_terms
        base, _, _ = sequences.buffers()
        self.steps = torch.tensor(base.reshape(len(base), -1), dtype=torch.float32)

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the paper."""
        return torch.optim.Adam(self.module.parameters(), lr=self.learning_rate)

    def identity(self) -> dict[str, str | int]:
        """What is learned from, and what decides which crops are drawn."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        known: dict[str, str | int] = {
            "sequences": data,
            "n_negatives": self.n_negatives,
            "batch_size": self.batch_size,
        }
        return known | ({"shared": 1} if self.shared else {})

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every series once as the one that is looked at."""
        for ids in shuffled(len(self.sequences), self.batch_size, rng):
            drawn = draw(self.sequences, ids, self.n_negatives, rng, shared=self.shared)
            rows: dict[str, object] = {}
            for name, crops in zip(("anchor", "positive", "negative"), drawn, strict=True):
                rows[name], rows[f"{name}_lengths"] = cut(self.steps, crops), crops.lengths.copy()
            yield Batch(ids, **rows)

    def part(self, batch: Batch, rank: int, world: int) -> Batch:
        """Every `world`-th series; negatives that are shared go to all."""
        if not self.shared:
            return super().part(batch, rank, world)
        own = {name: tensor for name, tensor in batch.tensors.items() if not name.startswith("negative")}
        some = Batch(batch.ids, **own).take(np.arange(rank, len(batch), world))
        return Batch(some.ids, **(batch.tensors | some.tensors))

    def loss(self, batch: Batch) -> Tensor:
        """Equation 3.1."""
        sides = [(batch[name], batch[f"{name}_lengths"]) for name in ("anchor", "positive", "negative")]
        negatives, lengths = sides[2]
        sides[2] = negatives.flatten(0, 1), lengths.flatten()
        anchor, positive, negative = encoded(self.module, sides)
        return _terms(anchor, positive[:, None], 1.0) + _terms(anchor, negative.reshape(*lengths.shape, -1), -1.0)

    def step(self, batch: Batch, descent: Descent) -> Mapping[str, Tensor | float]:
        """At once; or for long series term by term, so that memory does not grow with the number of negatives."""
        if not self.by_terms:
            return super().step(batch, descent)
        (anchor,) = encoded(self.module, [(batch["anchor"], batch["anchor_lengths"])])
        held = anchor.detach().requires_grad_()  # gradients gather here and go through the anchor's network once
        (positive,) = encoded(self.module, [(batch["positive"], batch["positive_lengths"])])
        term = _terms(held, positive[:, None], 1.0)
        total = float(term.detach())
        descent.backward(term)
        del term, positive
        for k in range(self.n_negatives):
            crops, lengths = batch["negative"][:, k], batch["negative_lengths"][:, k]
            (negative,) = encoded(self.module, [(crops, lengths)])
            term = _terms(held, negative[:, None], -1.0) / self.n_negatives
            total += float(term.detach())
            descent.backward(term)
            del term, negative
        assert held.grad is not None
        share = descent.weight or 1.0  # of several processes: already in what has gathered, and not to count twice
        descent.backward((anchor * (held.grad / share)).sum())
        descent.step()
        return {"loss": total}


def _terms(anchor: Tensor, others: Tensor, sign: float) -> Tensor:
    """−log σ(±fᵀg), averaged over anchors (item, feature) and the others (item or 1, other, feature) of each."""
    products = torch.einsum("if,iof->io", anchor, others.expand(len(anchor), -1, -1))
    return -F.logsigmoid(sign * products).mean()


class Crops(NamedTuple):
    """Where crops begin in the packed steps, and how long they are; arrays of one shape."""

    starts: Ints
    lengths: Ints


class Triplets(NamedTuple):
    """Of each series in a batch: an anchor (item,), a part of it (item,), and crops of others (item, negative)."""

    anchors: Crops
    positives: Crops
    negatives: Crops


def draw(
    sequences: Sequences, ids: Ints, n_negatives: int, rng: np.random.Generator, *, shared: bool = False
) -> Triplets:
    """Anchors anywhere in the series at `ids`, positives inside them, negatives anywhere in any series.

    Negatives are (item, negative), or (1, negative) where all items share them.

    Series of equal lengths share one length of anchors, and one of positives and negatives, so that a batch is two
    arrays; otherwise every crop has a length of its own. Lengths cover the full range, from one step to all of them.
    """
    _, starts, lengths = sequences.buffers()
    own, shape = lengths[ids], (1 if shared else len(ids), n_negatives)
    others = rng.integers(len(lengths), size=shape)
    equal = bool((lengths == lengths[0]).all())
    many = 1 if equal else len(ids)
    positive = np.broadcast_to(rng.integers(1, own[:many] + 1), len(ids))
    anchor = np.broadcast_to(rng.integers(positive[:many], own[:many] + 1), len(ids))
    negative = np.broadcast_to(positive[: shape[0], None], shape) if equal else rng.integers(1, lengths[others] + 1)
    begin = rng.integers(0, own - anchor + 1)
    inside = rng.integers(0, anchor - positive + 1)
    elsewhere = rng.integers(0, lengths[others] - negative + 1)
    return Triplets(
        Crops(starts[ids] + begin, anchor),
        Crops(starts[ids] + begin + inside, positive),
        Crops(starts[others] + elsewhere, negative),
    )


def cut(steps: Tensor, crops: Crops) -> Tensor:
    """(crop, time, channel) of packed steps (time, channel), zeros past the end of each."""
    longest = int(crops.lengths.max())
    ahead = np.arange(longest)
    places = crops.starts[..., None] + np.minimum(ahead, crops.lengths[..., None] - 1)
    found = steps[torch.from_numpy(places)]
    if (crops.lengths == longest).all():
        return found
    beyond = torch.from_numpy(ahead >= crops.lengths[..., None])
    return found.masked_fill(beyond[..., None], 0.0)


def encoded(network: nn.Module, sides: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Representations of several padded batches (item, time, channel) with lengths (item,), in one go.

    Where padding costs time, all are sorted by length and cut into a few groups, each as long as its longest.
    """
    longest = max(x.shape[1] for x, _ in sides)
    steps = torch.cat([F.pad(x, (0, 0, 0, longest - x.shape[1])) for x, _ in sides])
    lengths = torch.cat([side for _, side in sides])
    if pads(network):
        order = torch.argsort(lengths, stable=True)
        found = [_group(network, steps, lengths, order[group]) for group in groups(lengths[order].tolist())]
        features = torch.cat(found)[torch.argsort(order)]
    else:
        features = network(steps, lengths)
    return list(torch.split(features, [len(side) for _, side in sides]))


def pads(network: nn.Module) -> bool:
    """Whether steps past a length cost a network time and memory; to those with kernels they do not."""
    known = getattr(network, "pads", None)
    return known is None or bool(known())


def _group(network: nn.Module, steps: Tensor, lengths: Tensor, chosen: Tensor) -> Tensor:
    own = lengths[chosen]
    longest = int(own[-1])
    features: Tensor = network(steps[chosen, :longest], None if int(own[0]) == longest else own)
    return features


def groups(lengths: list[int]) -> list[slice]:
    """Sorted lengths cut where padding to a group's longest would waste most.

    >>> groups([3, 3, 4, 90, 100])
    [slice(0, 3, None), slice(3, 5, None)]
    """
    parts = [slice(0, len(lengths))]
    while len(parts) < _GROUPS:
        saved, where, number = max((*_cut(lengths, part), number) for number, part in enumerate(parts))
        if saved <= _WORTH * sum(lengths):
            break
        part = parts[number]
        parts[number : number + 1] = [slice(part.start, where), slice(where, part.stop)]
    return parts


def _cut(lengths: list[int], part: slice) -> tuple[int, int]:
    """The steps of padding that the best cut of a group saves, and where it is."""
    last = lengths[part.stop - 1]
    savings = ((i - part.start) * (last - lengths[i - 1]) for i in range(part.start + 1, part.stop))
    return max(((saved, part.start + 1 + k) for k, saved in enumerate(savings)), default=(0, part.start))
