"""The thesis's discriminators by name: four architectures, two losses, any width, and the steps they were given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from timelike.core.parameters import check_choice, check_int
from timelike.distributions import IPM, LSGAN, NTK, RBF, FiniteDiscriminator, Kernel, as_discriminator

INFINITE_WIDTH = "∞"
NETWORKS: dict[str, dict[str, Any]] = {
    "ReLU": {"activation": "relu", "bias": 1.0},
    "ReLU without bias": {"activation": "relu", "bias": 0.0},
    "sigmoid": {"activation": "sigmoid", "bias": 0.2},
}
ARCHITECTURES = ("RBF", *NETWORKS)
LOSSES = ("IPM", "LSGAN")
DEPTH = 3
_FINITE_STEPS = {"IPM": 0.2, "LSGAN": 0.002}  # of finite networks that are not reset; η = 100 and 1 at N = 500
_FINITE_RATES = {"IPM": 0.01, "LSGAN": 0.1}  # of their own training, one step at a time


def thesis_kernel(architecture: str, dimension: int = 2) -> Kernel:
    """The kernel of an infinitely wide network of three hidden layers, or the Gaussian one of width √dimension (D.3.2).

    >>> thesis_kernel("sigmoid"), thesis_kernel("RBF", 4)
    (NTK(activation='sigmoid', bias=0.2), RBF(width=2.0))
    """
    check_choice(architecture, "architecture", ARCHITECTURES)
    if architecture == "RBF":
        return RBF(width=check_int(dimension, "dimension", 1) ** 0.5)
    return NTK(**NETWORKS[architecture], depth=DEPTH)


def thesis_discriminator(
    loss: str, architecture: str, *, width: int | None = None, dimension: int = 2, random_state: int = 0
) -> Any:
    """A row of the thesis's table 6.1: a loss, an architecture, and a width, None for infinity.

    Infinite ones are trained for the time 1 from 0. Finite ones go on from where they were, one step of gradient
    descent at a time, as the thesis's do: of rate 0.01 with the IPM and an antisymmetric start, 0.1 with LSGAN.

    >>> thesis_discriminator("IPM", "ReLU")
    IPM(NTK())
    """
    check_choice(loss, "loss", LOSSES)
    check_choice(architecture, "architecture", ARCHITECTURES)
    if width is None:
        of = thesis_kernel(architecture, dimension)
        return IPM(of) if loss == "IPM" else LSGAN(of)
    if architecture == "RBF":
        raise ValueError(f"width={width}: RBF is a kernel and no network, so that it has no width; use width=None")
    return FiniteDiscriminator(
        loss="ipm" if loss == "IPM" else "lsgan",
        width=check_int(width, "width", 2),
        depth=DEPTH,
        **NETWORKS[architecture],
        time=_FINITE_RATES[loss],
        steps=1,
        reset=False,
        random_state=random_state,
    )


def thesis_step(loss: str, architecture: str, *, width: int | None = None) -> float:
    """The step of one particle, the thesis's η over its 500 particles (D.3.2): 2, and a thousandfold for sigmoid.

    >>> thesis_step("IPM", "ReLU"), thesis_step("LSGAN", "sigmoid", width=128)
    (2.0, 2.0)
    """
    check_choice(loss, "loss", LOSSES)
    check_choice(architecture, "architecture", ARCHITECTURES)
    return (2.0 if width is None else _FINITE_STEPS[loss]) * (1000.0 if architecture == "sigmoid" else 1.0)


def make_discriminator(loss: Any, architecture: Any, width: int | None, dimension: int, seed: int) -> Any:
    """A discriminator of names, or of one's own: a kernel for an architecture, a function of a kernel for a loss."""
    if isinstance(loss, str) and isinstance(architecture, str):
        return thesis_discriminator(loss, architecture, width=width, dimension=dimension, random_state=seed)
    if width is not None:
        raise ValueError(f"widths has {width}: only losses and architectures that are given by name have finite widths")
    of = thesis_kernel(architecture, dimension) if isinstance(architecture, str) else architecture
    losses: Mapping[str, Callable[[Any], Any]] = {"IPM": IPM, "LSGAN": LSGAN}
    return as_discriminator((losses[loss] if isinstance(loss, str) else loss)(of))
