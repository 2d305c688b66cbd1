"""`EncoderKernel`: a kernel of the vectors of an encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...core.threads import check_n_jobs
from ...core.validation.conversion import is_torch_module
from ...encode import Encoder
from ...models import components
from ...sequences import Sequences
from ..validation import Domain, Sample, refuse_missing, sample_frame, to_sequences
from .base import Kernel, Matrix, ResolvedKernel, as_kernel, fit_if_needed, needs_fit

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, repr=False)
class EncoderKernel(Kernel):
    """A kernel of vectors, applied to those of an encoder: k(E(x), E(y)).

    A torch module maps (item, time, channel) to vectors (item, feature), in its precision. For arrays and sequences it
    runs in evaluation mode, and its mode is restored; for tensors with gradients it runs in its current mode.

    Parameters
    ----------
    encoder : Encoder or torch module
        Any encoder, or other model with vectors (`Discriminant`). A fitted one is used unchanged, and must not have
        been fitted to the compared samples. Any other is fitted to the pooled sample, without labels and in random
        order, so that it cannot distinguish the samples. Tensors need a torch module, or an encoder that has one.
    kernel : Kernel
        The kernel of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = [np.sin(np.arange(30) / pace) for pace in (2, 2.1, 5, 5.2)]
    >>> k = tl.distributions.EncoderKernel(tl.Rocket(n_features=200, random_state=0), tl.distributions.RBF())
    >>> matrix = k(X)
    >>> bool(matrix[0, 1] > matrix[0, 2])
    True
    """

    encoder: Any
    kernel: Kernel

    domain: ClassVar[Domain] = "sequences"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if self.kernel.domain != "vectors":
            raise ValueError(
                f"kernel={self.kernel!r}: expected one of vectors, such as RBF(); an encoder gives vectors"
            )
        encoder = components.unfreeze(self.encoder)
        if not isinstance(encoder, Encoder) and not is_torch_module(encoder):
            raise TypeError(
                f"encoder={self.encoder!r:.80}: expected an encoder such as timelike.Rocket(), or a torch module"
            )

    def __repr__(self) -> str:
        return f"EncoderKernel({self.encoder!r}, {self.kernel!r})"

    @property
    def indefinite_reason(self) -> str:
        """The reason of the kernel of vectors."""
        return self.kernel.indefinite_reason

    @property
    def has_fitted_part(self) -> bool:
        """Whether the encoder is fitted, or is a torch module."""
        return is_torch_module(self.encoder) or not needs_fit(self.encoder)

    def center_on(self, sample: Sample) -> Self:
        """With its kernel of vectors centred, once the encoder is fitted."""
        if not self.has_fitted_part or self.kernel.has_open_options:
            return self
        return replace(self, kernel=self.kernel.center_on(self._precompute_items(sample, "x")))

    @property
    def has_open_options(self) -> bool:
        """Whether the encoder is not fitted yet, or its kernel has open options."""
        return self.kernel.has_open_options or (not is_torch_module(self.encoder) and needs_fit(self.encoder))

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With a fitted encoder, and the kernel of vectors resolved by its vectors."""
        kernel = self._fit_encoder(sample, rng)
        if not self.kernel.has_open_options:  # nothing needs to be encoded
            return kernel
        return replace(kernel, kernel=self.kernel.resolve(kernel._precompute_items(sample, "x"), rng))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """The same as `resolve`, with the matrix; every sequence is encoded once."""
        kernel = self._fit_encoder(sample, rng)
        resolved = self.kernel.resolve_with_matrix(kernel._precompute_items(sample, "x"), rng)
        return ResolvedKernel(replace(kernel, kernel=resolved.kernel), resolved.matrix)

    def resolve_widths(
        self, sample: Sample, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """The kernel of vectors with several widths, every sequence encoded once."""
        kernel = self._fit_encoder(sample, rng)
        for resolved in self.kernel.resolve_widths(kernel._precompute_items(sample, "x"), factors, rng):
            yield ResolvedKernel(replace(kernel, kernel=resolved.kernel), resolved.matrix)

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The kernel of vectors with several widths."""
        return [replace(self, kernel=kernel) for kernel in self.kernel.scale_widths(factors)]

    def _fit_encoder(self, sample: Sample, rng: np.random.Generator | None) -> Self:
        return (
            self if is_torch_module(self.encoder) else replace(self, encoder=fit_if_needed(self.encoder, sample, rng))
        )

    def _precompute_items(self, sample: Sample, name: str) -> Matrix:
        if not self._takes_missing():
            refuse_missing(sample, repr(self), name)
        self._refuse_frame(sample, name)
        encoder = components.unfreeze(self.encoder)
        if is_torch_module(encoder):
            return _encode_with_module(encoder, to_sequences(sample))
        vectors: Matrix = encoder._precompute_items(sample, check_n_jobs(None))
        return vectors

    def _validate_sides(self, *named_samples: tuple[Sample, str]) -> None:
        super()._validate_sides(*named_samples)
        for sample, name in named_samples:
            self._refuse_frame(sample, name)

    def _refuse_frame(self, sample: Sample, name: str) -> None:
        encoder = components.unfreeze(self.encoder)
        if components.is_fitted(encoder):
            encoder._refuse_frame(sample_frame(sample), name)

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        return self.kernel._kernel_matrix(x, y)

    def _takes_missing(self) -> bool:
        encoder = components.unfreeze(self.encoder)
        return isinstance(encoder, Encoder) and encoder._takes_missing()

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        return self.kernel._kernel_tensor(self._encode_tensor(x), self._encode_tensor(y))

    def _encode_tensor(self, x: Tensor) -> Tensor:
        import torch

        from ...train.double_precision import double_precision_copy

        network = self.encoder if is_torch_module(self.encoder) else getattr(self.encoder, "network_", None)
        if network is None:
            raise TypeError(
                f"{type(self.encoder).__name__} has no torch module, so there are no gradients: give arrays, or use an "
                "encoder that has one, such as CausalEncoder"
            )
        x = x[..., None] if x.ndim == 2 else x
        if is_torch_module(self.encoder):
            vectors: Tensor = network(x.to(_module_dtype(network))).double()
            _refuse_non_vectors(vectors)
            return vectors
        mean, scale = map(_to_tensor, self.encoder.scaler_)
        inputs = ((x - mean) / scale).flatten(2), torch.full((len(x),), x.shape[1])
        parameters = {
            name: weight.detach() for name, weight in double_precision_copy(network).named_parameters()
        }  # gradients go to x only
        vectors = torch.func.functional_call(double_precision_copy(network), parameters, inputs)
        whitener = getattr(self.encoder, "whitener_", None)
        if whitener is not None:
            vectors = (vectors - _to_tensor(whitener.center)) @ _to_tensor(whitener.matrix)
        if vars(self.encoder).get("geometry") == "cosine":
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        return vectors


def _encode_with_module(module: Any, sample: Sequences) -> Matrix:
    """Vectors of a torch module that takes (item, time, channel); sequences of unequal lengths one length at a time."""
    import torch

    vectors: Matrix | None = None
    for length in np.unique(sample.lengths):
        rows = np.flatnonzero(sample.lengths == length)
        with torch.no_grad(), _evaluation_mode(module):
            values = module(sample[rows].to_tensor(dtype=_module_dtype(module)).values).double().numpy()
        _refuse_non_vectors(values)
        if vectors is None:
            vectors = np.empty((len(sample), values.shape[1]))
        vectors[rows] = values
    assert vectors is not None
    return vectors


def _refuse_non_vectors(outputs: Any) -> None:
    if outputs.ndim != 2:
        raise ValueError(f"encoder gave shape {tuple(outputs.shape)}: expected vectors (item, feature)")


def _to_tensor(values: Any) -> Tensor:
    import torch

    return torch.from_numpy(np.array(values, dtype=np.float64))


@contextmanager
def _evaluation_mode(module: Any) -> Iterator[None]:
    """Set a module to evaluation mode and restore its mode: the caller's running averages must not change."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


def _module_dtype(module: Any) -> Any:
    import torch

    return next((parameter.dtype for parameter in module.parameters()), torch.float64)
