"""FGSM and PGD: one full step, or many, along the gradient of the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import get_args

from ..core.parameters import check_bool, check_choice, check_float, check_int
from .ball import Norm
from .base import Attack

# a quarter of the budget at first: ten steps cross the ball; a ninth after 25, a 24th after 100
FIRST_STEP_DIVISOR, DIVISOR_STEPS = 4, 5


@dataclass(frozen=True, repr=False)
class FGSM(Attack):
    """The fast gradient sign method: x + ε sign(∇_x loss) (Goodfellow, Shlens and Szegedy, 2015).

    One step from the data to the edge of the box; optimal against a linear model.

    Parameters
    ----------
    epsilon : float
        How far every value may be moved, in the units of the data.
    loss : {"cross-entropy", "margin"}
        The loss that is increased: the cross-entropy of the logits, or the margin of the best wrong class, whose
        gradient does not vanish where the model is certain.
    bounds : (low, high), optional
        The range of valid values, such as (0, 1) for pixels.
    band : float, optional
        The fraction of frequencies over time, from the lowest, that may be changed, for each sequence's own length.
        Budget and bounds hold too; data that lies on its bounds leaves such an attack little room.
    per_channel : tuple of numbers or "deviation", optional
        The budget of each channel is `epsilon` times its number; "deviation" takes those of the training data of a
        fitted model that standardizes.

    Examples
    --------
    >>> import torch
    >>> from timelike import attacks
    >>> model = lambda x, lengths: torch.stack([x.sum((1, 2)), -x.sum((1, 2))], dim=1)
    >>> attacks.FGSM(0.25).attack(model, [[0.5, 0.25]], [0])
    [array([0.25, 0.  ])]
    """

    @property
    def _norm_and_steps(self) -> tuple[Norm, Sequence[float]]:
        return "linf", (self.epsilon,)

    @property
    def _random_starts(self) -> Sequence[bool]:
        return (False,)


@dataclass(frozen=True, repr=False)
class PGD(Attack):
    """Projected gradient ascent on the loss (PGD, Madry et al., 2018); the result is the strongest point of all steps.

    x_{t+1} = Π(x_t + α_t sign ∇), or α_t ∇/‖∇‖ in the l2 ball; Π is the projection onto budget, bounds and band.
    Neither more steps nor more restarts make it weaker, because the best point so far is kept and α_t does not depend
    on their number.

    Parameters
    ----------
    epsilon, loss, bounds, band, per_channel
        As in `FGSM`. With `norm="l2"` the budget is the norm of the change of a whole sequence.
    steps : int
        Number of steps.
    step : float, optional
        α, in the units of `epsilon`. By default ε / (4 + t / 5) in step t, which crosses the ball in ten steps and is
        fine enough in a hundred.
    restarts : int
        Number of starts, from each of which all steps are made.
    norm : {"linf", "l2"}
        The norm of the budget.
    random_start : bool
        Whether the first start is a random point of the ball; the others always are.

    Examples
    --------
    >>> import torch
    >>> from timelike import attacks
    >>> model = lambda x, lengths: torch.stack([x.sum((1, 2)), -x.sum((1, 2))], dim=1)
    >>> attacks.PGD(0.5, norm="l2", random_start=False).attack(model, [[0.5, 0.25]], [0])[0].round(2)
    array([ 0.15, -0.1 ])
    """

    _: KW_ONLY
    steps: int = 40
    step: float | None = None
    restarts: int = 1
    norm: Norm = "linf"
    random_start: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int(self.steps, "steps", 1)
        check_int(self.restarts, "restarts", 1)
        check_choice(self.norm, "norm", get_args(Norm))
        check_bool(self.random_start, "random_start")
        if self.step is not None:
            check_float(self.step, "step", above=0.0)

    @property
    def _norm_and_steps(self) -> tuple[Norm, Sequence[float]]:
        if self.step is not None:
            return self.norm, [self.step] * self.steps
        return self.norm, [self.epsilon / (FIRST_STEP_DIVISOR + done / DIVISOR_STEPS) for done in range(self.steps)]

    @property
    def _random_starts(self) -> Sequence[bool]:
        return (self.random_start, *[True] * (self.restarts - 1))
