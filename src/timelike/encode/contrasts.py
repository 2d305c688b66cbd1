"""What crops are to learn: the T-Loss of the thesis, and a softmax over the other series of a batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..models import fingerprint
from ..sequences import Sequences
from ..train import Batch, Descent, Objective, shuffled
from .crops import Crops, Ints, cut, draw, encoded, two

_JUDGED = 64  # anchors of the fixed crops at least by which a training is judged, where there are as many series
_ROUNDS = 4  # over the series held out at most
_PIECE = 2  # crops at a time where memory is short


class Cropping(Objective):
    """A loss of crops; judged, where series are held out, by the loss of crops of these that stay the same."""

    higher_is_better = False

    def __init__(
        self,
        network: nn.Module,
        sequences: Sequences,
        *,
        batch_size: int,
        learning_rate: float,
        by_terms: bool,
        held_out: Sequences | None = None,
    ) -> None:
        self.module, self.sequences, self.by_terms = network, sequences, by_terms
        self.batch_size, self.learning_rate = batch_size, learning_rate
        self.steps, self.held_out = _steps(sequences), held_out
        self.judges: list[Batch] = []

    @abstractmethod
    def drawn(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """Crops of the series at `ids`, cut from packed steps."""

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the paper."""
        return torch.optim.Adam(self.module.parameters(), lr=self.learning_rate)

    def identity(self) -> dict[str, str | int]:
        """What is learned from, and what decides which crops are drawn."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        return {"sequences": data, "batch_size": self.batch_size}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every series once as the one that is looked at."""
        for ids in self._shares(len(self.sequences), rng):
            yield self.drawn(self.sequences, self.steps, ids, rng)

    def _shares(self, count: int, rng: np.random.Generator) -> Iterator[Ints]:
        return shuffled(count, self.batch_size, rng)

    @property
    def validates(self) -> bool:
        """Whether anything is held out."""
        return self.held_out is not None

    def validate(self) -> float:
        """The mean loss of crops that were drawn once."""
        self.judges = self.judges or self._fixed()
        losses = [(len(batch), _number(self.loss(batch.like(self.module)))) for batch in self.judges]
        return sum(size * loss for size, loss in losses) / sum(size for size, _ in losses)

    def _fixed(self) -> list[Batch]:
        assert self.held_out is not None
        held, rng = self.held_out, np.random.default_rng(0)
        rounds = min(_ROUNDS, -(-_JUDGED // len(held)))
        steps = _steps(held)
        return [self.drawn(held, steps, ids, rng) for _ in range(rounds) for ids in self._shares(len(held), rng)]


def _steps(sequences: Sequences) -> Tensor:
    base, _, _ = sequences.buffers()
    return torch.tensor(base.reshape(len(base), -1), dtype=torch.float32)


def _number(found: Tensor | Mapping[str, Any]) -> float:
    return float(found["loss"] if isinstance(found, Mapping) else found)


def _rows(steps: Tensor, **sides: Crops) -> dict[str, Any]:
    """Named crops and their lengths, as a batch holds them."""
    rows: dict[str, Any] = {}
    for name, crops in sides.items():
        rows[name], rows[f"{name}_lengths"] = cut(steps, crops), crops.lengths.copy()
    return rows


class Contrast(Cropping):
    """−log σ(fᵀf⁺) − 1/K Σ_k log σ(−fᵀf⁻_k), averaged over a batch (Franceschi et al., 2019, eq. 3.1).

    f, f⁺ and f⁻ are the representations of an anchor, of a part of it, and of crops of any series: K for every anchor,
    or where they are `shared` K for all anchors of a batch.
    """

    def __init__(
        self, network: nn.Module, sequences: Sequences, *, n_negatives: int, shared: bool = False, **rest: Any
    ) -> None:
        super().__init__(network, sequences, **rest)
        self.n_negatives, self.shared = n_negatives, shared

    def identity(self) -> dict[str, str | int]:
        """What is learned from, and what decides which crops are drawn."""
        known = super().identity() | {"n_negatives": self.n_negatives}
        return known | ({"shared": 1} if self.shared else {})

    def drawn(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """Anchors, parts of them, and crops of others."""
        found = draw(sequences, ids, self.n_negatives, rng, shared=self.shared)
        sides = zip(("anchor", "positive", "negative"), found, strict=True)
        return Batch(ids, **_rows(steps, **dict(sides)))

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
        """At once; or where memory is short term by term, so that it does not grow with the number of negatives."""
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


class Softmax(Cropping):
    """−log exp(cos(f, f⁺)/τ) / Σ_g exp(cos(f, g)/τ), averaged over a batch (Chen et al., "SimCLR", 2020, eq. 1).

    f and f⁺ are the representations of two crops of one series, each once in the place of f, and g those of all other
    crops of the batch. Noted beside the loss: `alignment`, the mean of ‖f − f⁺‖² of directions, and `uniformity`,
    log mean exp(−2‖f − g‖²) over pairs of series (Wang and Isola, 2020).
    """

    def __init__(
        self, network: nn.Module, sequences: Sequences, *, temperature: float, min_crop: float, **rest: Any
    ) -> None:
        super().__init__(network, sequences, **rest)
        self.temperature, self.min_crop = temperature, min_crop

    def _shares(self, count: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Batches of nearly one size: one of two series would compare each with a single other."""
        if count == 1:  # then crops of the one series are all there is to tell apart
            return iter([np.zeros(self.batch_size, np.int64)])
        return iter(np.array_split(rng.permutation(count), -(-count // max(2, self.batch_size))))

    def drawn(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """Two crops of every series."""
        first, second = two(sequences, ids, self.min_crop, rng)
        return Batch(ids, **_rows(steps, first=first, second=second))

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """The formula, and by what it is judged."""
        sides = [(batch[name], batch[f"{name}_lengths"]) for name in ("first", "second")]
        return self._contrast(torch.cat(encoded(self.module, sides)))

    def step(self, batch: Batch, descent: Descent) -> Mapping[str, Tensor | float]:
        """At once; or where memory is short a few crops at a time, each twice: for the loss, then for the gradients."""
        if not self.by_terms:
            return super().step(batch, descent)
        crops = [
            (batch[name][i : i + _PIECE], batch[f"{name}_lengths"][i : i + _PIECE])
            for name in ("first", "second")
            for i in range(0, len(batch), _PIECE)
        ]
        with torch.no_grad():
            held = torch.cat([encoded(self.module, [some])[0] for some in crops])
        with torch.enable_grad():
            found = self._contrast(held.requires_grad_())
            (slope,) = torch.autograd.grad(found["loss"], held)
        for some, own in zip(crops, torch.split(slope, [len(x) for x, _ in crops]), strict=True):
            descent.backward((encoded(self.module, [some])[0] * own).sum())
        descent.step()
        return {name: number.detach() for name, number in found.items()}

    def _contrast(self, features: Tensor) -> dict[str, Tensor]:
        """Of the first crops of all series, then the second of all."""
        count = len(features) // 2
        directions = F.normalize(features, dim=1)
        cosines = directions @ directions.T
        itself = torch.eye(2 * count, dtype=torch.bool, device=features.device)
        logits = (cosines / self.temperature).masked_fill(itself, -torch.inf)
        other = torch.arange(2 * count, device=features.device).roll(count)
        apart = 2 - 2 * cosines.detach()
        pairs = ~(itself | itself.roll(count, dims=0))
        spread = torch.exp(-2 * apart[pairs])
        return {
            "loss": F.cross_entropy(logits, other),
            "alignment": apart.diagonal(count).mean(),
            "uniformity": spread.mean().log() if len(spread) else spread.new_zeros(()),
        }
