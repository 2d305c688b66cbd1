"""Adversarial attacks: small changes of the input that make a model answer wrongly, and the accuracy under them.

An attack is a frozen value: `PGD(0.3, bounds=(0, 1)).attack(model, X, y)` gives X with its values moved by at most 0.3.
`robustness` is the accuracy under each attack and under the worst of them. `Prototypes(adversary=…)` trains on
attacked batches. Gradients are those of logits, never of probabilities, and pass through the standardization of
the model: the budget is in the units of the data.
"""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import Attack as Attack
    from .gradient import FGSM as FGSM, PGD as PGD
    from .robust_accuracy import Robustness as Robustness, robustness as robustness, suite as suite

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
