"""The T-Loss: what a series has in common with its parts and not with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..models import fingerprint
from ..sequences import Sequences
from ..train import Batch, Descent, Objective, shuffled
from .crops import cut, draw
from .ragged import encoded

LONG = 10_000  # steps from which a backward pass per term pays


class Contrast(Objective):
    """−log σ(fᵀf⁺) − 1/K Σ_k log σ(−fᵀf⁻_k), averaged over a batch (Franceschi et al., 2019, eq. 3.1).

    f, f⁺ and f⁻ are the representations of an anchor, of a part of it, and of crops of any series.
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
    ) -> None:
        self.module, self.sequences = network, sequences
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
        return {"sequences": data, "n_negatives": self.n_negatives, "batch_size": self.batch_size}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every series once as the one that is looked at."""
        for ids in shuffled(len(self.sequences), self.batch_size, rng):
            drawn = draw(self.sequences, ids, self.n_negatives, rng)
            rows: dict[str, object] = {}
            for name, crops in zip(("anchor", "positive", "negative"), drawn, strict=True):
                rows[name], rows[f"{name}_lengths"] = cut(self.steps, crops), crops.lengths.copy()
            yield Batch(ids, **rows)

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
    """−log σ(±fᵀg), averaged over anchors (item, feature) and the others (item, other, feature) of each."""
    products = torch.einsum("if,iof->io", anchor, others)
    return -F.logsigmoid(sign * products).mean()
