"""`CoupledNetwork`: two GRUs with shared weights that exchange part of their new states at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.parameters import check_choice, check_float, check_int
from ...core.validation.tensors import disable_autocast, valid_mask
from ...native.coupled import CoupledRollout, CoupledWeights, autograd
from ...native.coupled.fallback import RolloutSide, state_distances, states
from ...sequences.sampling import RandomState, check_random_state
from ..distance_network import DistanceNetwork, DistanceOutput, Features
from ..strided_convolutions import make_front

SyncName = Literal["last", "mean"]
PenaltyTerm = Literal["gate", "norm"]
# a state and a tangent vector at it, both (start, feature), to those one step later
TangentMap = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class CoupledNetwork(DistanceNetwork):
    """Two GRUs with shared weights and a coupling gate that mixes their new states.

        r_t = σ(W_ir x_t + b_ir + W_hr h_{t−1} + b_hr)          z_t = σ(W_iz x_t + b_iz + W_hz h_{t−1} + b_hz)
        n_t = tanh(W_in x_t + b_in + r_t (W_hn h_{t−1} + b_hn))  c_t = σ(W_hc (h_{t−1} + h'_{t−1}) + b_hc)
        h_t = (1 − z_t) ((1 − c_t) n_t + c_t n'_t) + z_t h_{t−1}

    and likewise for h' with the roles exchanged; both share the gate c_t. The distance is ‖h_T − h'_T‖₂, or with
    `sync="mean"` the mean of ‖h_t − h'_t‖₂ over time. So d(x, x) = 0, d(x, y) = d(y, x), and with c ≡ 0 both are
    torch's GRU. When one sequence ends (the paper assumes equal lengths), its GRU keeps its state and the other
    continues uncoupled. Equations 8 to 13 of "Sequence metric learning as synchronization of recurrent neural networks"
    (under review as a conference paper at ICLR 2021).

    Parameters
    ----------
    n_channels : int
        Channels of both sequences.
    hidden : int
        Size of a state.
    coupling_bias : float
        Initial b_hc. W_hc starts small (normal, deviation 0.1), so 0 gives c ≈ ½, the strongest possible coupling;
        negative values start near the uncoupled GRU.
    sync : {"last", "mean"}
        Whether the distance is that of the last states or the mean over time.
    coupling_penalty : float
        Weight of the penalty in the loss.
    penalty_term : {"gate", "norm"}
        The mean gate: c_t averaged over units, the common steps of both sequences, and the pairs compared. Or ‖W_hc‖,
        as in the paper, which is a poor measure of coupling: W_hc = 0 means c = σ(b_hc), and c = ½ with b_hc = 0.
    front : "strided" or None
        Convolutions before the GRUs, which then read a quarter of the steps (see `StridedConvolutions`).
    strides : (int, int)
        Strides of these convolutions.

    >>> import torch
    >>> network = CoupledNetwork(3, hidden=8)
    >>> x, y = torch.randn(2, 5, 10, 3).cumsum(2)
    >>> network(x, y).shape, network(x, x).max().item()
    (torch.Size([5]), 0.0)
    """

    def __init__(
        self,
        n_channels: int,
        *,
        hidden: int = 20,
        coupling_bias: float = 0.0,
        sync: SyncName = "last",
        coupling_penalty: float = 0.01,
        penalty_term: PenaltyTerm = "gate",
        front: Literal["strided"] | None = None,
        strides: tuple[int, int] = (2, 2),
    ) -> None:
        super().__init__()
        self.front = make_front(front, n_channels, strides)
        self.n_channels = n_channels = check_int(n_channels, "n_channels", 1)
        self.hidden = hidden = check_int(hidden, "hidden", 1)
        self.sync: str = check_choice(sync, "sync", ("last", "mean"))
        self.coupling_penalty = check_float(coupling_penalty, "coupling_penalty", 0)
        self.penalty_term: str = check_choice(penalty_term, "penalty_term", ("gate", "norm"))
        within = self.hidden**-0.5  # as torch's GRU starts

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-within, within))

        n_inputs = n_channels if self.front is None else self.front.n_outputs
        self.weight_ih, self.weight_hh = uniform(3 * hidden, n_inputs), uniform(3 * hidden, hidden)
        self.bias_ih, self.bias_hh = uniform(3 * hidden), uniform(3 * hidden)
        self.weight_hc = nn.Parameter(0.1 * torch.randn(hidden, hidden))
        self.bias_hc = nn.Parameter(torch.full((hidden,), check_float(coupling_bias, "coupling_bias")))

    @classmethod
    def from_gru(cls, gru: nn.GRU, **options: Any) -> CoupledNetwork:
        """A network with the weights of a one-layer GRU, equal to that GRU while the gate is closed.

        >>> gru = torch.nn.GRU(3, 8)
        >>> CoupledNetwork.from_gru(gru, coupling_bias=-100.0).hidden
        8
        """
        if gru.num_layers != 1 or gru.bidirectional or not gru.bias:
            raise ValueError(f"gru={gru}: expected one layer with biases in one direction")
        network = cls(gru.input_size, hidden=gru.hidden_size, **options)
        network.to(gru.all_weights[0][0])
        with torch.no_grad():
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(network, name).copy_(getattr(gru, f"{name}_l0"))
        return network

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """W_i x + b_i of each step, (item, time, 3 hidden), plus the state biases of the reset and update gates."""
        if self.front is not None:
            x, lengths = self.front(x, lengths)
        inside = valid_mask(lengths, x.shape[1], x.device)
        clean = torch.where(inside[..., None], x, 0)  # padding may hold anything, and NaN times 0 is NaN
        with self._disable_autocast():
            return Features(F.linear(clean, self.weight_ih, self._input_bias()), lengths.to(x.device))

    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        return self._roll_out(x, y, rows=True).distances

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y); if y is x, each pair is rolled out once."""
        with self._disable_autocast():
            return autograd.matrix(
                self._coupled_weights(),
                _gate_inputs(x),
                None if y is x else _gate_inputs(y),
                mean=self._averages_over_time,
            )

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """One number for a pair, plus some states if gradients are needed, or its gates in torch."""
        return autograd.numbers_per_pair(self.hidden, max(x_time, y_time), cpu=self.weight_hh.device.type == "cpu")

    def training_distances(self, x: Features, y: Features, *, pairs_only: bool = False) -> DistanceOutput:
        """The distances, with the penalty `coupling_penalty` · mean gate, which allows coupling only where it helps."""
        rollout = self._roll_out(x, y, rows=pairs_only)
        gate = (
            rollout.gates.mean() if len(rollout.gates) else rollout.gates.sum()
        )  # a sequence alone is coupled to nothing
        penalty = self.coupling_penalty * gate if self.penalty_term == "gate" else self.penalty()
        return DistanceOutput(rollout.distances, penalty, {"coupling": gate.detach(), **self.logged_values()})

    def penalty(self) -> Tensor | float:
        """`coupling_penalty` · ‖W_hc‖ for `penalty_term="norm"`; the mean gate needs pairs (`training_distances`)."""
        if self.penalty_term == "gate":
            return 0.0
        norm: Tensor = torch.linalg.vector_norm(self.weight_hc)
        return self.coupling_penalty * norm

    def logged_values(self) -> dict[str, Tensor | float]:
        """The norm of W_hc."""
        return {"coupling_norm": self.coupling_norm}

    def mean_gates(self, x: Tensor, y: Tensor, x_lengths: Any = None, y_lengths: Any = None) -> Tensor:
        """The mean gate of each x and its y, (item,): c_t averaged over units and the common steps of both.

        0 is no coupling, ½ the strongest, at which both get the same new state; 1 exchanges the new states.

        >>> network = CoupledNetwork(1, hidden=4, coupling_bias=-100.0)
        >>> network.mean_gates(torch.zeros(1, 6, 1), torch.ones(1, 8, 1)).item() < 1e-6
        True
        """
        return self._roll_out(*self.pair_features(x, y, x_lengths, y_lengths), rows=True).gates

    @property
    def coupling_norm(self) -> float:
        """‖W_hc‖, the Frobenius norm."""
        return float(torch.linalg.vector_norm(self.weight_hc.detach()))

    def synchronization(self, x: Tensor, y: Tensor, x_lengths: Any = None, y_lengths: Any = None) -> Tensor:
        """‖h_t − h'_t‖ of each x and its y, (item, time); constant after both have ended.

        >>> network = CoupledNetwork(1, hidden=4)
        >>> x, y = torch.zeros(1, 6, 1), torch.ones(1, 8, 1)
        >>> error = network.synchronization(x, y)
        >>> error.shape, bool(torch.isclose(error[0, -1], network(x, y)[0]))
        (torch.Size([1, 8]), True)
        """
        return torch.stack(
            [state_distances(*pair) for pair in self._rollout_states(*self.pair_features(x, y, x_lengths, y_lengths))],
            -1,
        )

    def lyapunov_exponent(
        self, *, steps: int = 1000, discard: int = 100, starts: int = 16, random_state: RandomState = None
    ) -> float:
        """The largest Lyapunov exponent, per step, of one uncoupled GRU with zero input.

        Below 0, states from different starts converge; above 0, they diverge (chaos) unless coupled.
        The growth of a tangent vector is averaged over `steps` after `discard` others, and over random `starts`.
        """
        frozen = CoupledWeights(*(weight.detach() for weight in self._coupled_weights()))
        return largest_lyapunov_exponent(
            gru_map(frozen, self._input_bias().detach()),
            frozen.recurrent,
            steps=check_int(steps, "steps", 1),
            n_discarded=check_int(discard, "discard", 0),
            n_starts=check_int(starts, "starts", 1),
            random_state=random_state,
        )

    def _disable_autocast(self) -> AbstractContextManager[Any]:
        """Disable mixed precision, which would give states and gates different dtypes."""
        return disable_autocast(self.weight_hh.device)

    def _input_bias(self) -> Tensor:
        """The biases added to the input: `bias_ih`, and `bias_hh` except its part inside the reset gate's product."""
        return self.bias_ih + F.pad(self.bias_hh[: 2 * self.hidden], (0, self.hidden))

    @property
    def _averages_over_time(self) -> bool:
        return self.sync == "mean"

    def _coupled_weights(self) -> CoupledWeights[Tensor]:
        return CoupledWeights(self.weight_hh, self.weight_hc, self.bias_hh[2 * self.hidden :], self.bias_hc)

    def _roll_out(self, x: Features, y: Features, *, rows: bool) -> CoupledRollout[Tensor]:
        with self._disable_autocast():
            if rows:
                return autograd.pair_rollouts(
                    self._coupled_weights(), _gate_inputs(x), _gate_inputs(y), mean=self._averages_over_time
                )
            return autograd.matrix_rollouts(
                self._coupled_weights(),
                _gate_inputs(x),
                None if y is x else _gate_inputs(y),
                mean=self._averages_over_time,
            )

    def _rollout_states(self, x: Features, y: Features) -> Iterator[tuple[Tensor, Tensor]]:
        return states(self._coupled_weights(), RolloutSide(x.values, x.lengths), RolloutSide(y.values, y.lengths))


def _gate_inputs(side: Features) -> autograd.GateInputs:
    return autograd.GateInputs(side.values, side.lengths)


def gru_map(cell: CoupledWeights[Tensor], inputs: Tensor) -> TangentMap:
    """One step of an uncoupled GRU with constant inputs (3 hidden,), and its differential."""
    hidden = cell.recurrent.shape[1]

    def step(state: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
        from_state, turned = F.linear(state, cell.recurrent), F.linear(tangent, cell.recurrent)
        gates = torch.sigmoid(inputs[: 2 * hidden] + from_state[:, : 2 * hidden])
        reset, update = gates.chunk(2, -1)
        d_reset, d_update = (gates * (1 - gates) * turned[:, : 2 * hidden]).chunk(2, -1)
        inner = from_state[:, 2 * hidden :] + cell.candidate
        new = torch.tanh(inputs[2 * hidden :] + reset * inner)
        d_new = (1 - new * new) * (d_reset * inner + reset * turned[:, 2 * hidden :])
        return torch.lerp(new, state, update), torch.lerp(d_new, tangent, update) + d_update * (state - new)

    return step


def largest_lyapunov_exponent(
    step: TangentMap, like: Tensor, *, steps: int, n_discarded: int, n_starts: int, random_state: RandomState = None
) -> float:
    """The largest Lyapunov exponent of a map whose state has the columns, dtype and device of `like`.

        λ = lim 1/T Σ_t log ‖J(h_t) v_t‖,   v_{t+1} = J(h_t) v_t / ‖J(h_t) v_t‖

    Benettin et al., "Lyapunov characteristic exponents for smooth dynamical systems", Meccanica 15, 1980: any initial
    tangent vector turns towards the direction of fastest growth.

    >>> def halve(state, tangent):
    ...     return state / 2, tangent / 2
    >>> rate = largest_lyapunov_exponent(halve, torch.ones(1, 3), steps=10, n_discarded=0, n_starts=2, random_state=0)
    >>> bool(np.isclose(rate, np.log(0.5)))
    True
    """
    rng = check_random_state(random_state)
    shape = n_starts, like.shape[1]
    state = torch.as_tensor(rng.uniform(-1, 1, shape)).to(like)
    tangent = torch.as_tensor(rng.standard_normal(shape)).to(like)
    total = 0.0
    for t in range(n_discarded + steps):
        tangent = tangent / torch.linalg.vector_norm(tangent, dim=1, keepdim=True)
        state, tangent = step(state, tangent)
        growth = torch.linalg.vector_norm(tangent, dim=1)
        if not bool(growth.all()):  # all states have collapsed onto one point
            return -np.inf
        total += float(growth.log().mean()) if t >= n_discarded else 0.0
    return total / steps
