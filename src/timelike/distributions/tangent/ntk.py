"""`NTK` and `ConjugateKernel`: the kernels of networks of infinite width, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.extras import import_extra
from ...core.parameters import check_float, check_int
from ...native import tangent, thread_count
from ...native.tangent import SIGMOID, SINE, SLOPE
from ..kernels.base import Kernel, Matrix

if TYPE_CHECKING:
    from torch import Tensor

Activation = str | Callable[..., Any] | tuple[str | Callable[..., Any], ...]

_CLOSED_FORMS = {
    "relu": (SLOPE, 0.0),
    "leaky_relu": (SLOPE, 0.01),
    "abs": (SLOPE, -1.0),
    "sigmoid": (SIGMOID, 0.0),
    "sine": (SINE, 0.0),
}
ACTIVATION_NAMES = (*_CLOSED_FORMS, "gelu")


def activation_branches(activation: Activation) -> tuple[str | Callable[..., Any], ...]:
    """The activations of every layer, side by side.

    >>> activation_branches("relu"), activation_branches(("relu", "sine"))
    (('relu',), ('relu', 'sine'))
    """
    return activation if isinstance(activation, tuple) else (activation,)


def closed_form_families(activation: Activation) -> tuple[tuple[int, float], ...] | None:
    """The families of activations in `native.tangent`, or None if one of them needs quadrature."""
    families = tuple(
        _CLOSED_FORMS.get(branch) if isinstance(branch, str) else None for branch in activation_branches(activation)
    )
    return None if None in families else families  # type: ignore[return-value]


def refuse_unknown_activation(activation: Any) -> None:
    """Raise an error unless it is a name, a function, or a tuple of these."""
    names = ", ".join(f'"{name}"' for name in ACTIVATION_NAMES)
    if isinstance(activation, list) or (isinstance(activation, tuple) and not activation):
        raise TypeError(f"activation={activation!r}: expected a tuple of names for branches, such as ('relu', 'sine')")
    for branch in activation_branches(activation):
        if isinstance(branch, str) and branch not in ACTIVATION_NAMES:
            raise ValueError(f"activation={branch!r}: expected one of {names}, a function, or a tuple of them")
        if not isinstance(branch, str) and not callable(branch):
            raise TypeError(f"activation={branch!r}: expected one of {names}, a function, or a tuple of them")


@dataclass(frozen=True, kw_only=True, repr=False)
class WideNetworkKernel(Kernel):
    """A kernel of a multilayer perceptron of infinite width, in the NTK parameterisation."""

    activation: Activation = "relu"
    depth: int = 3
    bias: float = 1.0
    weight: float = 1.0

    _is_tangent: ClassVar[bool]

    def __post_init__(self) -> None:
        refuse_unknown_activation(self.activation)
        if any(map(callable, activation_branches(self.activation))):
            import_extra("torch", "an activation that is a function")
            from .autograd import refuse_non_activations

            refuse_non_activations(self.activation)
        self._set_options(
            activation=self.activation,
            depth=check_int(self.depth, "depth", 1),
            bias=check_float(self.bias, "bias", 0.0),
            weight=check_float(self.weight, "weight", above=0.0),
        )

    def __repr__(self) -> str:
        """With functions by their names, without memory addresses."""
        text = super().__repr__()
        for function in filter(callable, activation_branches(self.activation)):
            text = text.replace(repr(function), getattr(function, "__name__", repr(function)))
        return text

    @property
    def _native_network(self) -> tangent.WideNetwork | None:
        """The network for the kernels of `native`, or None if an activation has no closed form."""
        families = closed_form_families(self.activation)
        if families is None:
            return None
        return tangent.WideNetwork(families, self.depth, self.bias, self.weight, self._is_tangent)

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        network = self._native_network
        if network is None:
            return self._quadrature_matrix(x, y)
        return tangent.matrix(x, y, network, threads=thread_count())

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        network = self._native_network
        if network is None:
            from . import autograd

            return autograd.recursion_matrix(x.flatten(1), y.flatten(1), self)
        from . import autograd

        return autograd.kernel_matrix(x.flatten(1), y.flatten(1), network)

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        network = self._native_network
        if network is None:
            return super()._weighted_sums(x, y, weights)
        rows, others = (np.ascontiguousarray(side.reshape(len(side), -1), np.float64) for side in (x, y))
        item_weights = np.ascontiguousarray(weights, np.float64)
        values, gradients = tangent.weighted_sums(rows, others, item_weights, network, threads=thread_count())
        return values, gradients.reshape(x.shape)

    def _quadrature_matrix(self, x: Any, y: Any | None) -> Matrix:
        torch = import_extra("torch", f"activation={self.activation!r}")

        with torch.no_grad():
            sides = [torch.tensor(side) for side in (x, x if y is None else y)]  # copies: samples are read-only
            matrix = self._kernel_tensor(*sides).numpy()
        return np.asarray((matrix + matrix.T) / 2 if y is None else matrix)


class NTK(WideNetworkKernel):
    """The neural tangent kernel of a perceptron of infinite width: the similarity of points in its training.

    From layer to layer, with (u, v) Gaussian with the covariances Σ of the inputs of a layer,

        Σ ← w² E[φ(u) φ(v)] + b²        Θ ← Σ + w² E[φ′(u) φ′(v)] Θ        Σ = Θ = w² ⟨x, y⟩ / d + b² at first,

    and without b² after the last hidden layer (Jacot et al., "Neural Tangent Kernel", 2018; the activations' means: Cho
    and Saul, 2009, Williams, 1998). The kernel of infinitely wide discriminators: gradient descent on such a network is
    kernel regression with it. Points may nearly coincide: angles are computed from distances, and the gradient at x = y
    omits the cusp that kernels of ReLU have there.

    Parameters
    ----------
    activation : str, callable or tuple of these
        "relu", "leaky_relu" (slope 0.01 below 0), "abs", "sigmoid" (½ + ½ erf(z / 2.402), the closest to the logistic
        function: thesis of J.-Y. Franceschi, D.146), "sine" and "gelu". A function of torch with a derivative, such as
        `torch.tanh`, by Hermite series: 11 digits where it is smooth, and where its only kink is at 0 (a leaky ReLU of
        another slope); an ELU, whose second derivative jumps, has 4 where points nearly coincide, and one with kinks
        elsewhere (hardtanh) may lose percents there, with a warning. Several are branches in every layer, each
        with weights and a bias of its own that lead into the next: their moments, and their b², are added.
    depth : int
        Hidden layers.
    bias, weight : float
        b and w, the factors before standard normal biases and weights. Without bias the kernel of ReLU is homogeneous:
        it does not distinguish multiples of a point.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.distributions.NTK(depth=1, bias=0.0)([[3.0, 4.0]]).round(4)
    array([[12.5]])
    """

    _is_tangent = True


class ConjugateKernel(WideNetworkKernel):
    """The conjugate kernel of a perceptron of infinite width: the covariance of its outputs over random weights.

        Σ ← w² E[φ(u) φ(v)] + b²        Σ = w² ⟨x, y⟩ / d + b² at first,   without b² after the last hidden layer

    (Neal, 1996; Lee et al., "Deep Neural Networks as Gaussian Processes", 2018): the kernel of a network of which only
    the last layer is trained. Smoother than `NTK`: ReLU's has no cusp at x = y.

    `activation`, `depth`, `bias`, `weight` and the other options are those of `NTK`.

    >>> import timelike as tl
    >>> tl.distributions.ConjugateKernel(depth=1, bias=0.0)([[3.0, 4.0]]).round(4)
    array([[6.25]])
    """

    _is_tangent = False
