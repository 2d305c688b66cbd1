"""Kernels that learned something: over the vectors of an encoder, and the similarity of `Prototypes`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...align.matrix import threads_of
from ...encode import Encoder, Rocket, StatisticsEncoder
from ...models import parts
from ...sequences import Sequences
from ..samples import Over, single_frames
from .algebra import Sum
from .base import Kernel, Matrix, Settled, as_kernel
from .radial import RBF, learned, unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from ...recognize.prototypes.metric import SimilarityMetric


@dataclass(frozen=True, kw_only=True, repr=False)
class Embedded(Kernel):
    """A kernel of vectors over those of an encoder: k(E(x), E(y)). `of(encoder, RBF())` writes it.

    A torch module takes (item, time, channel) to vectors (item, feature), in its precision. Arrays and sequences are
    given to it in evaluation mode, and its own mode is put back; tensors with gradients in the mode it is in.

    Parameters
    ----------
    encoder : Encoder or torch module
        Any encoder, or other model with vectors (`Discriminant`). One that is fitted is used as it is, and must not
        have learned from the samples that it shall compare. Another learns from the pooled sample, without labels, in
        an order that is drawn, so that it cannot know which sequence is of which sample. Tensors need a torch module,
        or an encoder that has one.
    kernel : Kernel
        Of vectors.
    """

    encoder: Any
    kernel: Kernel

    over: ClassVar[Over] = "sequences"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if self.kernel.over != "vectors":
            raise ValueError(
                f"kernel={self.kernel!r}: expected one of vectors, such as RBF(); an encoder gives vectors"
            )
        given = parts.thawed(self.encoder)
        if not isinstance(given, Encoder) and not _is_module(given):
            raise TypeError(
                f"encoder={self.encoder!r:.80}: expected an encoder such as timelike.Rocket(), or a torch module"
            )

    def __repr__(self) -> str:
        return f"of({self.encoder!r}, {self.kernel!r})"

    @property
    def indefinite(self) -> str:
        """As the kernel of vectors is."""
        return self.kernel.indefinite

    @property
    def taught(self) -> bool:
        """Whether the encoder has learned."""
        return _is_module(self.encoder) or not unlearned(self.encoder)

    def centred(self, sample: Sequences) -> Self:
        """With a kernel of vectors that is, once the encoder has learned."""
        if not self.taught or self.kernel.open:
            return self
        return replace(self, kernel=self.kernel.centred(single_frames(self._known(sample, "x"))))

    @property
    def open(self) -> bool:
        """Whether the encoder has yet to learn, or its kernel is open."""
        return self.kernel.open or (not _is_module(self.encoder) and unlearned(self.encoder))

    def ready(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With an encoder that has learned, and a kernel that is ready for its vectors."""
        taught = self._taught(sample, rng)
        if not self.kernel.open:  # so that nothing need be encoded
            return taught
        return replace(taught, kernel=self.kernel.ready(single_frames(taught._known(sample, "x")), rng))

    def settled(self, sample: Sequences, rng: np.random.Generator | None = None) -> Settled:
        """The same, with every sequence encoded once."""
        taught = self._taught(sample, rng)
        found = self.kernel.settled(single_frames(taught._known(sample, "x")), rng)
        return Settled(replace(taught, kernel=found.kernel), found.matrix)

    def rescaled(
        self, sample: Sequences, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[Settled]:
        """The kernel of vectors with several widths, every sequence encoded once."""
        taught = self._taught(sample, rng)
        for found in self.kernel.rescaled(single_frames(taught._known(sample, "x")), factors, rng):
            yield Settled(replace(taught, kernel=found.kernel), found.matrix)

    def scaled_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The kernel of vectors with several widths."""
        return [replace(self, kernel=kernel) for kernel in self.kernel.scaled_widths(factors)]

    def _taught(self, sample: Sequences, rng: np.random.Generator | None) -> Self:
        return self if _is_module(self.encoder) else replace(self, encoder=learned(self.encoder, sample, rng))

    def _known(self, sample: Sequences, name: str) -> Matrix:
        if not self._takes_missing():
            sample.refuse_missing(repr(self), name)
        self._refuse_frame(sample, name)
        given = parts.thawed(self.encoder)
        if _is_module(given):
            return _vectors(given, sample)
        found: Matrix = given._known(sample, threads_of(None))
        return found

    def _refuse(self, *given: tuple[Sequences, str]) -> None:
        super()._refuse(*given)
        for sample, name in given:
            self._refuse_frame(sample, name)

    def _refuse_frame(self, sample: Sequences, name: str) -> None:
        encoder = parts.thawed(self.encoder)
        if parts.has_learned(encoder):
            encoder._refuse_frame(sample.frame, name)

    def _between(self, x: Any, y: Any | None) -> Matrix:
        return self.kernel._between(x, y)

    def _takes_missing(self) -> bool:
        given = parts.thawed(self.encoder)
        return isinstance(given, Encoder) and given._takes_missing()

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        return self.kernel._graded(self._tensor_vectors(x), self._tensor_vectors(y))

    def _tensor_vectors(self, x: Tensor) -> Tensor:
        import torch

        from ...train.trained import exact

        network = self.encoder if _is_module(self.encoder) else getattr(self.encoder, "network_", None)
        if network is None:
            raise TypeError(
                f"{type(self.encoder).__name__} has no torch module, so there are no gradients: give arrays, or use an "
                "encoder that has one, such as CausalEncoder"
            )
        x = x[..., None] if x.ndim == 2 else x
        if _is_module(self.encoder):
            found: Tensor = network(x.to(_dtype_of(network))).double()
            _refuse_no_vectors(found)
            return found
        mean, scale = map(_tensor, self.encoder.moments_)
        given = ((x - mean) / scale).flatten(2), torch.full((len(x),), x.shape[1])
        fixed = {name: weight.detach() for name, weight in exact(network).named_parameters()}  # gradients go to x only
        found = torch.func.functional_call(exact(network), fixed, given)
        spread = getattr(self.encoder, "spread_", None)
        if spread is not None:
            found = (found - _tensor(spread.center)) @ _tensor(spread.turn)
        if vars(self.encoder).get("geometry") == "cosine":
            found = torch.nn.functional.normalize(found, dim=1)
        return found


def of(encoder: Any, kernel: Kernel) -> Embedded:
    """A kernel of vectors over the vectors of an encoder: `of(tl.Rocket(), RBF())`.

    >>> import numpy as np
    >>> import timelike as tl
    >>> X = [np.sin(np.arange(30) / pace) for pace in (2, 2.1, 5, 5.2)]
    >>> k = tl.distributions.of(tl.Rocket(n_features=200, random_state=0), tl.distributions.RBF())
    >>> matrix = k(X)
    >>> bool(matrix[0, 1] > matrix[0, 2])
    True
    """
    return Embedded(encoder=encoder, kernel=kernel)


_WIDE = 256  # numbers of a frame: of each there are some thirty statistics, and of images that would be too many


def default_kernels(samples: Sequence[Sequences]) -> tuple[Kernel, ...]:
    """What is compared unless a kernel is given: `RBF` of vectors; of sequences, by `Rocket` and by statistics.

    Convolutions see shapes and take no notice of levels; statistics see levels, spreads and paces. A test takes the
    larger of the two (`two_sample.largest`, decision 0059).
    """
    if len(samples) > 0 and all(sample.shape[1] == 1 for sample in samples):
        return (RBF(),)
    shapes = of(Rocket(n_features=2000, random_state=0), RBF())
    wide = any(math.prod(sample.frame) > _WIDE for sample in samples)
    return (shapes,) if wide else (shapes, of(StatisticsEncoder(), RBF()))


def default_kernel(samples: Sequence[Sequences]) -> Kernel:
    """The mean of `default_kernels`, where one kernel is needed: for an effect, a witness, how typical an item is."""
    parts = default_kernels(samples)
    return parts[0] if len(parts) == 1 else Sum(parts=tuple(1 / len(parts) * part for part in parts))


@dataclass(frozen=True, repr=False)
class Learned(Kernel):
    """What fitted `Prototypes` have learned of likeness: k(x, y) = σ(S̄(x, y)), the probability of one class.

    It counts what told the classes apart that the model was fitted on, and no other difference: for drift that matters
    to a classifier. It need not be positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.sin(np.arange(40) / np.repeat([2, 4], 8)[:, None] + np.arange(16)[:, None])
    >>> model = tl.Prototypes(max_steps=60, random_state=0).fit(X, np.repeat(["fast", "slow"], 8))
    >>> matrix = tl.distributions.Learned(model)(X)
    >>> bool(matrix[0, 1] > matrix[0, 8])
    True
    """

    model: Any
    _metric: SimilarityMetric = field(init=False, repr=False, compare=False)

    over: ClassVar[Over] = "sequences"

    def __post_init__(self) -> None:
        from ...recognize.prototypes.answering import Answering
        from ...recognize.prototypes.metric import SimilarityMetric

        given = parts.thawed(self.model)
        if not isinstance(given, Answering) or not parts.has_learned(given):
            raise TypeError(f"model={self.model!r:.80}: expected timelike.Prototypes that are fitted")
        object.__setattr__(self, "_metric", SimilarityMetric.of(given))

    def __repr__(self) -> str:
        return f"Learned({self.model!r})"

    @property
    def taught(self) -> bool:
        """It is nothing else."""
        return True

    @property
    def indefinite(self) -> str:
        """A learned similarity promises nothing."""
        return "a learned similarity need not be positive definite: model.metric().kernel(X) says by how much"

    def _known(self, sample: Sequences, name: str) -> Any:
        if not self._takes_missing():
            sample.refuse_missing("Prototypes", name)
        self._metric._refuse_frame(sample.frame, name)
        return self._metric._known(sample, threads_of(None))

    def _between(self, x: Any, y: Any | None) -> Matrix:
        out = np.empty((len(x), len(x if y is None else y)))
        self._metric._against(x, x if y is None else y, out, threads_of(None))
        return 1 - out

    def _takes_missing(self) -> bool:
        return self._metric._takes_missing()

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        raise TypeError("Learned has no gradients: use of(module, RBF()) with the torch module of an encoder")


def _is_module(encoder: Any) -> bool:
    torch = sys.modules.get("torch")  # without which there is no module
    return torch is not None and isinstance(encoder, torch.nn.Module)


def _vectors(module: Any, sample: Sequences) -> Matrix:
    """Vectors of a torch module that takes (item, time, channel); sequences of unequal lengths one length at a time."""
    import torch

    found: Matrix | None = None
    for length in np.unique(sample.lengths):
        rows = np.flatnonzero(sample.lengths == length)
        with torch.no_grad(), _evaluating(module):
            values = module(sample[rows].tensor(dtype=_dtype_of(module)).values).double().numpy()
        _refuse_no_vectors(values)
        if found is None:
            found = np.empty((len(sample), values.shape[1]))
        found[rows] = values
    assert found is not None
    return found


def _refuse_no_vectors(found: Any) -> None:
    if found.ndim != 2:
        raise ValueError(f"encoder gave shape {tuple(found.shape)}: expected vectors (item, feature)")


def _tensor(values: Any) -> Tensor:
    import torch

    return torch.from_numpy(np.array(values, dtype=np.float64))


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """A module in evaluation mode, and afterwards in the mode it was in: its averages are the caller's."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


def _dtype_of(module: Any) -> Any:
    import torch

    return next((parameter.dtype for parameter in module.parameters()), torch.float64)
