"""`AttackTarget`: a fitted model, a torch module or a callable as a function from raw data to logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core.parameters import check_choice, format_value
from ..core.validation.labels import validate_labels
from ..core.validation.tensors import valid_mask
from ..prototypes.options import Head
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..sequences.time_pool import TimePool
from ..train.double_precision import double_precision_copy

_MAX_COLUMNS = 1 << 31  # columns that any logits may have
LogitsFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class AttackTarget:
    """Logits (item, class) of x (item, time, *frame), in the units of the data, and lengths (item,)."""

    logits: LogitsFunction
    name: str
    scaler: ChannelScaler | None = None
    classes: NDArray[Any] | None = None
    frame: tuple[int, ...] | None = None

    def __call__(self, x: Tensor, lengths: Tensor) -> Tensor:
        logits = self.logits(x, lengths)
        if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(x) or logits.shape[1] < 2:
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ValueError(f"{self.name} gave {shape}: expected logits ({len(x)}, class) of two classes or more")
        return logits

    def encode_labels(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The true class of every sequence as a column of the logits."""
        targets = sequences.labels if y is None else y
        if targets is None:
            raise ValueError("y is None and X has no labels: an attack needs the true classes; give y")
        labels = validate_labels(targets, "y", "class")
        if labels.shape != (len(sequences),):
            raise ValueError(f"y has shape {labels.shape}: expected a class for each of {len(sequences)} sequences")
        return _validate_columns(labels) if self.classes is None else _class_positions(labels, self.classes, self.name)


def make_target(model: Any, head: Head | None, name: str = "model") -> AttackTarget:
    """A model as the target of an attack; modules in double precision, so that answers are independent of the batch."""
    if head is not None:
        check_choice(head, "head", get_args(Head))
    network = getattr(model, "network_", None)
    if network is not None and hasattr(network, "logits"):
        return _fitted_target(model, network, head or model.inference)
    if isinstance(model, nn.Module) or (callable(model) and not hasattr(model, "get_params")):
        if head is not None:
            raise ValueError(f"head={head!r}: {name} is a {type(model).__name__}, which has one; use head=None")
        function = double_precision_copy(model) if isinstance(model, nn.Module) else model
        return AttackTarget(
            _double_precision_logits(function) if isinstance(model, nn.Module) else function, type(model).__name__
        )
    raise TypeError(
        f"{name} is a {type(model).__name__}: expected a fitted Prototypes, or a torch module or function of "
        "(x, lengths) that gives logits; an attack follows gradients"
    )


def make_source(model: Any, head: Head | None, transfer_from: Any) -> AttackTarget | None:
    """The model whose gradients are followed, if not the attacked one."""
    if transfer_from is None:
        return None
    if isinstance(transfer_from, str):
        return make_target(model, check_choice(transfer_from, "transfer_from", get_args(Head)), "transfer_from")  # type: ignore[arg-type]
    # another Prototypes uses the head that both have
    return make_target(transfer_from, head if hasattr(transfer_from, "network_") else None, "transfer_from")


def _fitted_target(model: Any, network: Any, head: Head) -> AttackTarget:
    """The target that answers as the model predicts: standardized, rounded to float32, then in double precision.

    Extra encoders take part, so that the answers are those of the model, but contribute no gradients.
    """
    if not hasattr(model.encoder_, "network_"):
        raise TypeError(
            f"{type(model.encoder_).__name__} has no torch module, so there are no gradients for an attack "
            "to follow: expected a model whose encoder is a network"
        )
    if head != "similarity" and model.classes_changed_:
        raise ValueError(
            f"head={head!r}: the dense head has the classes of fit only, and classes were enrolled or forgotten "
            "since; use head='similarity'"
        )
    exact_network, standardize = double_precision_copy(network), _make_standardizer(model)
    time_pool = getattr(model.encoder_, "time_pool_", None)
    has_extra_encoders = len(getattr(model, "extra_encoders_", ())) > 0

    def logits(x: Tensor, lengths: Tensor) -> Tensor:
        own = exact_network(*_pool_time(time_pool, standardize(x, lengths), lengths))
        head_logits = []
        if head != "dense":
            whole = torch.cat(_split_vectors(model, own, x, lengths), dim=1) if has_extra_encoders else own
            head_logits.append(exact_network.score_vectors(whole, "similarity"))
        if head != "similarity":
            head_logits.append(exact_network.score_vectors(own, "dense"))
        return torch.stack(head_logits).mean(dim=0)

    scaler = None if model.scaler_ is None or (model.scaler_.scale == 1).all() else model.scaler_
    return AttackTarget(logits, type(model).__name__, scaler, model.classes_, model.frame_)


def _make_standardizer(model: Any) -> LogitsFunction:
    """A function that standardizes x for the network, with gradients; padding is 0."""
    moments, flat = (
        ChannelScaler.identity(model.frame_) if model.scaler_ is None else model.scaler_,
        bool(model._flattens_frames),
    )
    mean, scale = (torch.from_numpy(np.array(moment, dtype=np.float64)) for moment in moments)

    def standardize(x: Tensor, lengths: Tensor) -> Tensor:
        ready = ((x.double() - mean) / scale).float().double()
        ready = torch.where(_step_mask(lengths, ready), ready, 0.0)
        return ready.flatten(2) if flat else ready

    return standardize


def _pool_time(time_pool: TimePool | None, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Means over intervals of time, if the encoder pools time, with gradients, and their lengths."""
    if time_pool is None or bool((torch.from_numpy(time_pool.lengths(lengths.numpy())) == lengths).all()):
        return x, lengths
    frames = torch.from_numpy(time_pool.lengths(lengths.numpy()))
    means = x.new_zeros(len(x), int(frames.max()), *x.shape[2:])
    for length in torch.unique(lengths).tolist():
        weights, own = torch.from_numpy(time_pool.pooling_matrix(length)).to(x), lengths == length
        means[own, : len(weights)] = torch.einsum("ft,nt...->nf...", weights, x[own, :length])
    return means, frames


def _split_vectors(model: Any, own: Tensor, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The network's part of a vector, with its gradient, and that of extra encoders, which has none."""
    values = x.detach().numpy()[(torch.arange(x.shape[1]) < lengths[:, None]).numpy()]
    offsets = np.concatenate([[0], lengths.cumsum(0).numpy()])
    vectors = torch.from_numpy(model.encode(Sequences.from_packed(values, offsets)).astype(np.float64))
    first, others = vectors[:, : own.shape[1]], vectors[:, own.shape[1] :]
    return own * torch.linalg.vector_norm(first, dim=1, keepdim=True), others


def _double_precision_logits(module: nn.Module) -> LogitsFunction:
    def logits(x: Tensor, lengths: Tensor) -> Tensor:
        outputs: Tensor = module(x.double(), lengths)
        return outputs

    return logits


def _step_mask(lengths: Tensor, x: Tensor) -> Tensor:
    steps = valid_mask(lengths, x.shape[1], x.device)
    return steps.reshape(*steps.shape, *[1] * (x.ndim - 2))


def _validate_columns(labels: NDArray[Any]) -> NDArray[np.int64]:
    numbers = labels.dtype.kind in "iuf"
    wrong = labels[(labels < 0) | (labels > _MAX_COLUMNS) | (labels != np.floor(labels))] if numbers else labels
    if len(wrong):
        raise ValueError(
            f"y holds {format_value(wrong.tolist()[0])}: expected the columns of the logits, integers from 0"
        )
    return labels.astype(np.int64)


def _class_positions(labels: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.int64]:
    codes_by_label = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in codes_by_label]
    if unknown:
        raise ValueError(
            f"y holds {format_value(unknown[0])}, which is no class of this {name}: expected one of "
            f"{classes.tolist()!r:.80}"
        )
    return np.array([codes_by_label[label] for label in labels.tolist()], dtype=np.int64)
