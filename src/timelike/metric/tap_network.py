"""TAP: the alignment of two sequences is predicted by a small network, and the distance follows."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor

from .aligning import Aligning
from .alignment_prediction import SIZES, Attention, Convolutions, Scores, Variant
from .comparer import Prepared
from .frame_distances import Between, Table, crosswise, finest, rowwise
from .transformation import Transformation

AT_ONCE = 1 << 26  # numbers of a stripe of a long pair, without gradients


class TAPNetwork(Aligning):
    """Temporal alignment prediction (Su & Wen, ICLR 2022): d(x, y) = ⟨T, D⟩ with T predicted from x and y.

    D_ij = ‖h(x_i) − h(y_j)‖, D_t,ij = |i/n − j/m|, S = −(D + g(D, D_t)), A = softmax of S over the steps of y, and
    T = A / n: every step of x, the query, has the same mass. So d(x, y) is not d(y, x) and d(x, x) not 0.

    Parameters
    ----------
    n_channels : int
        Of the sequences.
    variant : {"cnn", "l", "d", "attention"}
        g: convolutions of sizes 5-5-3, larger ones (7-7-5), one layer more (5-5-5-3), or TAP-trans in its place.
    hidden, n_outputs, normalize, transform, self_attention
        The transformation h, see `Transformation`; with `transform=False` the frames are compared as they are, and
        `self_attention=True` makes it SA-TAP.
    kernels : int
        Outputs of the inner convolutions; the paper has 64 for few-shot learning.
    last_relu : bool
        ReLU after the last convolution: in the paper, not in the authors' code.
    symmetrize : bool
        The mean of both directions.

    Examples
    --------
    >>> import torch
    >>> from timelike.metric import TAPNetwork
    >>> network = TAPNetwork(3, hidden=16)
    >>> x, y = torch.randn(4, 9, 3), torch.randn(4, 7, 3)
    >>> network(x, y, torch.tensor([9, 8, 7, 1])).shape
    torch.Size([4])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        variant: Variant = "cnn",
        hidden: int = 1024,
        n_outputs: int | None = None,
        kernels: int = 30,
        normalize: bool = True,
        last_relu: bool = False,
        symmetrize: bool = False,
        transform: bool = True,
        self_attention: bool = False,
    ) -> None:
        super().__init__()
        if variant not in get_args(Variant):
            raise ValueError(f"variant={variant!r}: expected one of {', '.join(map(repr, get_args(Variant)))}")
        self.transformation = Transformation(
            n_channels,
            hidden=hidden,
            n_outputs=n_outputs,
            normalize=normalize,
            transform=transform,
            self_attention=self_attention,
        )
        self.scores: Scores = (
            Attention(self.transformation.n_outputs)
            if variant == "attention"
            else Convolutions(SIZES[variant], kernels=kernels, last_relu=last_relu)
        )
        self.symmetric = symmetrize

    def prepare(self, x: Tensor, lengths: Tensor) -> Prepared:
        """h of every frame, and what else the prediction needs of each."""
        frames = self.transformation(x, lengths)
        return Prepared(torch.cat([frames, self.scores.extra(frames)], -1), lengths.to(x.device))

    def rows(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,); of long ones a stripe at a time."""
        at_once = AT_ONCE // self.room(x.values.shape[1], y.values.shape[1])
        if torch.is_grad_enabled() or len(x) <= at_once:
            return self._distances(x, y, rowwise)
        if len(x) > 1:
            some = [slice(first, first + max(1, at_once)) for first in range(0, len(x), max(1, at_once))]
            return torch.cat([self.rows(x.take(part), y.take(part)) for part in some])
        forth = self._striped(x, y)
        return (forth + self._striped(y, x)) / 2 if self.symmetric else forth

    def room(self, x_time: int, y_time: int) -> int:
        """A pair of steps has the outputs of layers, and there are some steps around them."""
        return (x_time + 4) * (y_time + 4) * self.scores.room() * (2 if self.symmetric else 1)

    def attend(self, x: Prepared, y: Prepared) -> tuple[Tensor, Tensor]:
        """Distances (item,) from x to y and the attention A (item, n, m): each row sums to 1, padding is 0."""
        table = self._table(x, y, rowwise)
        attention = self._attention(table, self._apart(x, y, rowwise))
        if table.inside is not None:
            attention = attention * table.inside
        return _cost(attention, table), attention.to(table.distances.dtype)

    def plan(self, x: Prepared, y: Prepared) -> Tensor:
        """The alignment T (item, n, m) that is predicted: its entries sum to 1, and ⟨T, D⟩ is the distance."""
        plan = self.attend(x, y)[1] / x.lengths[:, None, None]
        if not self.symmetric:
            return plan
        return (plan + self.attend(y, x)[1].mT / y.lengths[:, None, None]) / 2

    def norm_ratio(self, x: Prepared, y: Prepared) -> Tensor:
        """‖g‖ / ‖D‖ of each pair, (item,): how much the prediction departs from the distances (table 3).

        g is what −S has beside D, so that it can be told of TAP-trans too.
        """
        table = self._table(x, y, rowwise)
        change: Tensor = -self.scores(table, self._apart(x, y, rowwise)) - table.distances
        if table.inside is not None:
            change = change * table.inside
        size, base = (torch.linalg.matrix_norm(part) for part in (change, table.distances))
        ratio: Tensor = size / base.clamp(min=torch.finfo(base.dtype).tiny)
        return ratio

    def _parts(self, x: Prepared) -> tuple[Tensor, Tensor]:
        n_frame = self.transformation.n_outputs
        return x.values[..., :n_frame], x.values[..., n_frame:]

    def _table(self, x: Prepared, y: Prepared, between: Between) -> Table:
        n, m = x.lengths, y.lengths
        if between is crosswise:
            n, m = n.repeat_interleave(len(y)), m.repeat(len(x))
        return Table.of(between(self._parts(x)[0], self._parts(y)[0]), n, m)

    def _apart(self, x: Prepared, y: Prepared, between: Between, *, back: bool = False) -> Tensor | None:
        return self.scores.apart(self._parts(x)[1], self._parts(y)[1], between, back=back)

    def _attention(self, table: Table, apart: Tensor | None) -> Tensor:
        scores = self.scores(table, apart)
        if table.inside is not None:
            past = torch.arange(scores.shape[2], device=scores.device) >= table.y_lengths[:, None]
            scores = scores.masked_fill(past[:, None], -torch.inf)
        return torch.softmax(scores, -1, dtype=None if torch.is_grad_enabled() else finest(scores))

    def _distances(self, x: Prepared, y: Prepared, between: Between) -> Tensor:
        table = self._table(x, y, between)
        found = _cost(self._attention(table, self._apart(x, y, between)), table)
        if not self.symmetric:
            return found
        table = table.reversed()
        return (found + _cost(self._attention(table, self._apart(x, y, between, back=True)), table)) / 2

    def _striped(self, x: Prepared, y: Prepared) -> Tensor:
        """A row of the attention depends on few others, so that memory need not hold all of a long pair."""
        (frames, extra), (n, m) = self._parts(x), (x.values.shape[1], y.values.shape[1])
        steps = max(1, AT_ONCE // (len(x) * m * self.scores.room()))
        total = x.values.new_zeros(len(x), dtype=finest(x.values))
        for start in range(0, n, steps):
            first = max(0, start - self.scores.reach)
            some, own = slice(first, start + steps + self.scores.reach), slice(start - first, start - first + steps)
            table = Table.of(rowwise(frames[:, some], self._parts(y)[0]), x.lengths, y.lengths, first)
            attention = self._attention(table, self.scores.apart(extra[:, some], self._parts(y)[1], rowwise))
            total += (attention[:, own] * table.distances[:, own]).sum((1, 2), dtype=total.dtype)
        return (total / x.lengths).to(x.values.dtype)

    def tile(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of all pairs, (item of x, item of y), at once."""
        if len(x) == len(y) == 1:
            return self.rows(x, y)[:, None]
        return self._distances(x, y, crosswise).reshape(len(x), len(y))


def _cost(attention: Tensor, table: Table) -> Tensor:
    """⟨A, D⟩ / n; rows of padding have an attention, but no distance."""
    total = (attention * table.distances).sum((1, 2), dtype=finest(attention))
    return (total / table.x_lengths).to(table.distances.dtype)
