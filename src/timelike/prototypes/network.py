"""`PrototypeNetwork`: an encoder, a similarity of vectors, prototypes, and a dense head."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core.parameters import check_choice
from ..metric.distance_network import DistanceNetwork
from ..models import fingerprint
from .encoder_adapter import is_trainable
from .frozen_network import MARGIN_SCALE, dense_head_scores
from .options import HEADS, Averaging, DenseHead, Head, LearnedSimilarity
from .similarity import CosineSimilarity, FusedSimilarity, Similarity

AnySimilarity = Similarity | CosineSimilarity | FusedSimilarity


class PrototypeNetwork(nn.Module):
    """An encoder E, a similarity S, a vector for every class, and a dense layer for the trained classes only.

    `averages` are the prototypes of Algorithm 1, which training updates; `prototypes`, of the classes `owners`, are
    those of predictions: some classes may have several, and enrolling and forgetting classes changes them.

    >>> network = PrototypeNetwork(nn.Identity(), Similarity(2, hidden=4), 2, 3)
    >>> network.logits(torch.zeros(5, 2)).shape
    torch.Size([5, 3])
    """

    averages: Tensor
    seen_classes: Tensor
    prototypes: Tensor
    owners: Tensor
    similarity: AnySimilarity

    def __init__(
        self,
        encoder: nn.Module,
        similarity: AnySimilarity,
        n_features: int,
        n_classes: int,
        *,
        dense: DenseHead | None = "plain",
        learns_averages: bool = False,
    ) -> None:
        super().__init__()
        self.encoder, self.similarity = encoder, similarity
        kinds: dict[DenseHead, type[nn.Linear | AdditiveMarginHead]] = {
            "plain": nn.Linear,
            "margin": AdditiveMarginHead,
        }
        self.dense = None if dense is None else kinds[dense](n_features, n_classes)
        first = torch.zeros(n_classes, n_features)
        if learns_averages:
            self.averages = nn.Parameter(torch.randn_like(first))
        else:
            self.register_buffer("averages", first)
        self.register_buffer("seen_classes", torch.zeros(n_classes, dtype=torch.bool))
        self.register_buffer("prototypes", first.clone(), persistent=False)
        self.register_buffer("owners", torch.arange(n_classes), persistent=False)

    def set_prototypes(self, prototypes: Any, owners: Any) -> None:
        """Predict with these prototypes (prototype, feature), each of the class at position `owners` (prototype,)."""
        like = next((weight for weight in self.similarity.parameters()), self.prototypes)
        self.prototypes = torch.as_tensor(prototypes).to(like)
        self.owners = torch.as_tensor(owners).to(like.device)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Vectors (item, feature) of sequences (item, time, channel)."""
        vectors: Tensor = self.encoder(x, lengths) if lengths is not None else self.encoder(x)
        return vectors

    def logits(self, x: Tensor, lengths: Tensor | None = None, head: Head = "similarity") -> Tensor:
        """(item, class), by S to the most similar prototype of each class, by the dense layer, or the mean of both."""
        vectors = self(x, lengths)
        if head != "dense" and vectors.shape[1] != self.prototypes.shape[1]:
            raise ValueError(
                f"prototypes have {self.prototypes.shape[1]} numbers and the network's vectors {vectors.shape[1]}: "
                "there are extra encoders; give whole vectors to score_vectors(), or fit with extra_encoders=[]"
            )
        return self.score_vectors(vectors, head)

    def score_vectors(self, vectors: Tensor, head: Head = "similarity") -> Tensor:
        """The same for vectors (item, feature)."""
        check_choice(head, "head", HEADS)
        if head != "similarity" and self.dense is None:
            raise ValueError(f"head={head!r}: there is no dense head, as auxiliary is None; use 'similarity'")
        logits = []
        if head != "dense":
            similarities = self.similarity.matrix(self.prototypes, vectors).T
            n_classes = int(self.owners.max()) + 1
            empty = similarities.new_full((len(vectors), n_classes), -torch.inf)
            logits.append(empty.scatter_reduce(1, self.owners.expand(len(vectors), -1), similarities, "amax"))
        if head != "similarity":
            assert self.dense is not None
            logits.append(self.dense(vectors))
        return logits[0] if len(logits) == 1 else (logits[0] + logits[1]) / 2

    @torch.no_grad()
    def dense_scores(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the dense head, (item, class), in NumPy: with the same bits as without torch."""
        assert self.dense is not None
        weight, bias = self.dense.weight.numpy(force=True), getattr(self.dense, "bias", None)
        return dense_head_scores(vectors, weight, None if bias is None else bias.numpy(force=True))

    @torch.no_grad()
    def update_averages(self, vectors: Tensor, labels: Tensor, momentum: float) -> None:
        """Update the averages of the classes in a batch: C ← λ C + (1 − λ) mean, the first time the mean itself."""
        present, place = torch.unique(labels, return_inverse=True)
        sums = torch.zeros(len(present), vectors.shape[1], device=vectors.device, dtype=vectors.dtype)
        means = sums.index_add(0, place, vectors.detach()) / place.bincount()[:, None]
        decay = torch.where(self.seen_classes[present], momentum, 0.0)[:, None].to(means.dtype)
        self.averages[present] = decay * self.averages[present] + (1 - decay) * means
        self.seen_classes[present] = True


def build_network(
    encoder: nn.Module,
    similarity_fn: LearnedSimilarity | None,
    n_features: int,
    n_classes: int,
    *,
    dense: DenseHead | None,
    averaging: Averaging,
    is_new: bool = True,
) -> PrototypeNetwork:
    """The network of an encoder, with a similarity, the cosine if None, a dense head and averages.

    `is_new` is False if saved weights will be loaded.
    """
    similarity: AnySimilarity = CosineSimilarity()
    if similarity_fn is not None:
        similarity = similarity_fn.build_module(n_features)
    elif is_new:  # created only to consume random numbers, so that all later ones are the same with every similarity
        LearnedSimilarity().build_module(n_features)
    return PrototypeNetwork(
        encoder, similarity, n_features, n_classes, dense=dense, learns_averages=averaging == "gradient"
    )


class AdditiveMarginHead(nn.Module):
    """A dense layer of cosines, for the additive-margin softmax (Wang et al., 2018): s cos(w_k, z).

    >>> AdditiveMarginHead(2, 3)(torch.randn(5, 2)).abs().max() <= 30
    tensor(True)
    """

    def __init__(self, n_features: int, n_classes: int, *, scale: float = MARGIN_SCALE, margin: float = 0.4) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_classes, n_features))
        nn.init.xavier_uniform_(self.weight)
        self.scale, self.margin = scale, margin

    def forward(self, vectors: Tensor) -> Tensor:
        """(item, class)."""
        return self.scale * F.linear(F.normalize(vectors, dim=-1), F.normalize(self.weight, dim=-1))

    def loss(self, logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
        """Cross-entropy with s (cos − m) for the true class."""
        margins = F.one_hot(labels, logits.shape[1]) * (self.scale * self.margin)
        return F.cross_entropy(logits - margins, labels, label_smoothing=smoothing)


def encoder_module(encoder: Any, *, unit: bool = False) -> nn.Module:
    """(x, lengths) → vectors, with gradients to the weights of the encoder; an error if it has no torch module.

    With `unit` vectors have length 1.
    """
    if not is_trainable(encoder):
        return MissingModule(type(encoder).__name__)
    return EncoderModule(encoder.network_, getattr(encoder, "whitener_", None), unit=unit)


def encoder_fingerprint(network: nn.Module | None, scaler: Any) -> str | int:
    """A fingerprint of the weights of an encoder, unless they are reinitialized (None), and of its standardization."""
    arrays = [] if network is None else [weight.detach().numpy() for weight in network.state_dict().values()]
    arrays += [] if scaler is None else list(scaler)
    return fingerprint(*(np.ascontiguousarray(one) for one in arrays))


class EncoderModule(nn.Module):
    """The network of an encoder as (x, lengths) → vectors, including the whitening of the encoder."""

    center: Tensor | None
    whitening_matrix: Tensor

    def __init__(self, network: nn.Module, whitener: Any = None, *, unit: bool = False) -> None:
        super().__init__()
        self.network, self.unit = network, unit
        whitening = None if whitener is None else [torch.as_tensor(part, dtype=torch.float32) for part in whitener]
        self.register_buffer("center", None if whitening is None else whitening[0])
        self.register_buffer("whitening_matrix", None if whitening is None else whitening[1])

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(item, time, channel) → (item, feature)."""
        if isinstance(self.network, DistanceNetwork):
            valid_lengths = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
            vectors: Tensor = self.network.features(x, valid_lengths).values[:, 0]
        else:
            vectors = self.network(x, lengths)
        vectors = vectors if self.center is None else (vectors - self.center) @ self.whitening_matrix
        return F.normalize(vectors, dim=-1) if self.unit else vectors


class MissingModule(nn.Module):
    """A placeholder for an encoder without a torch module, which is used unchanged."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Raise an error: there is nothing to differentiate."""
        raise TypeError(f"{self.name} has no torch module: give its vectors to score_vectors(), or another encoder")
