"""Training: how the trio of `Prototypes` is learned, what is kept of the examples, and what a folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...metric.objectives.perturbation import Perturbation
from ...models import fingerprint, options, parts
from ...sequences import Sequences
from ...sequences.arguments import shown
from ...train import Milestones, Objective, OneCycle, Schedule
from ...train.objective import FORWARD
from ..attacks.base import Attack
from . import reading
from .cosine import CosineSimilarity, FusedSimilarity
from .members import Members, centres, in_order
from .network import AnySimilarity, Averaging, Dense, PrototypeNetwork
from .objective import Change, Learning, Noise, Recipe
from .similarity import Similarity
from .streaming import Streaming
from .verb import Kind

Schedules = Literal["cycle", "steps", "constant"]

_PASSES, _USUAL = 20, (500, 2000)  # through the data, and steps at least and at most, where nothing says how many
_SECONDS = 120.0  # where nothing says how long
_DROP = 200  # epochs after which the paper lowers the learning rate, once


def _attack(value: Any, name: str) -> Attack:
    if not isinstance(value, Attack):
        raise TypeError(f"{name}={value!r:.80}: expected an attack such as attacks.PGD(0.3), or None")
    return value


class Training(Streaming):
    """The options of a training, and `fit`; `Prototypes` says what they mean."""

    encoder = options.Option(reading.checked)
    beside = options.maybe(options.Option(reading.checked_companions))
    freeze = options.flag("training")
    n_prototypes = options.whole(1)
    hidden = options.width(1)
    dropout = options.real(0, 0.99, role="training")
    symmetrize = options.flag()
    auxiliary = options.maybe(options.one_of(*get_args(Dense)))
    averaging = options.one_of(*get_args(Averaging))
    momentum = options.real(0, 1, role="training")
    smoothing = options.real(0, 0.99, role="training")
    soft_pairs = options.flag("training")
    per_class = options.whole(2, "training")
    batch_size = options.whole(2, "training")
    perturb = options.flag("training")
    adversary = options.maybe(options.Option(_attack, "training"))
    learning_rate = options.real(above=0, role="free")
    weight_decay = options.real(0, role="free")
    optimizer = options.one_of("adamw", "adam", role="training")
    schedule = options.one_of(*get_args(Schedules), role="free")
    max_steps = options.maybe(options.whole(1, "free"))
    max_epochs = options.maybe(options.whole(1, "free"))
    max_time = options.maybe(options.real(above=0, role="free"))

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given."""
        with self._fitting():
            sequences = self._learn_from(X)
            codes = self._targets(sequences, y)
            self._take_encoder(sequences, codes)
            # what training does not change is computed before it, where the clock of max_time sees how long it takes
            beside = [reading.vectors(one, sequences) for one in self.beside_]
            self._make_network()
            objective = self._objective(sequences, codes)
            if self.beside_:
                objective.preparation = "fitting the encoders beside the network, of which beside=[] has none,"
            self._train(objective, sequences, codes)
            own = reading.vectors(self.encoder_, sequences) if objective.vectors is None else objective.vectors
            self._remember(reading.together([own, *beside]), codes)
        return self

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        assert isinstance(objective, Learning)
        # batches of few classes are smaller than batch_size
        encoded = 0 if objective.vectors is not None else len(sequences)
        return FORWARD * encoded / (objective.width * self.per_class)

    def _targets(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of every sequence, as a number."""
        labels = self._classes(sequences, y, "use EmbeddingRegressor")
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            raise ValueError(
                f"y holds one class, {shown(self.classes_.tolist()[0])}: a similarity is learned from two or more; "
                "others can be enrolled afterwards"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return codes.astype(np.int64)

    def _take_encoder(self, sequences: Sequences, codes: NDArray[np.int64]) -> None:
        if self.encoder is None and len(self.frame_) > 1:
            raise ValueError(
                f"X has frames of shape {self.frame_}: the default encoder is for channels; for single images use "
                'encoder=ImageEncoder() and Sequences(X, layout="nchw"), for sequences of images FrameEncoder()'
            )
        how: dict[str, Any] = {"freeze": self.freeze, "standardize": self.standardize}
        self.encoder_ = reading.begun(self.encoder, sequences, codes, random_state=self.random_state, **how)
        first = reading.vectors(self.encoder_, sequences[:1])
        self.n_vector_, self.trained_classes_, self.enrolled_ = int(first.shape[1]), self.classes_, False
        given = ([] if self._alone() else None) if self.beside is None else self.beside
        self.beside_ = reading.companions(given, sequences, self.classes_[codes], self.random_state)

    def _alone(self) -> bool:
        """Whether nothing is put beside the encoder where nothing is said about it."""
        other = self.similarity.kind != "cosine" or self.averaging != "exact"
        return self.encoder is not None or other

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        learned = Similarity(self.n_vector_, hidden=self.hidden, dropout=self.dropout, symmetrize=self.symmetrize)
        kinds: dict[Kind, AnySimilarity] = {
            "learned": learned,
            "cosine": CosineSimilarity(),
            "fused": FusedSimilarity(learned),
        }
        return PrototypeNetwork(
            reading.module_of(self.encoder_, unit=len(self.beside_) > 0),
            kinds[self.similarity.kind],
            self.n_vector_,
            len(self.trained_classes_),
            dense=self.auxiliary,
            learned=self.averaging == "gradient",
        )

    def _objective(self, sequences: Sequences, targets: NDArray[np.int64]) -> Learning:
        kept = self.freeze or not reading.trainable(self.encoder_)
        if kept and self.adversary is not None:
            raise ValueError(
                f"adversary={self.adversary!r:.60}: {type(self.encoder_).__name__} is used as it is, and there is "
                "nothing to train against it; give an encoder with a torch module"
            )
        for weight in self.network_.encoder.parameters():
            weight.requires_grad_(not kept)
        ready = sequences if kept else self.encoder_._ready(sequences, "X")
        vectors = reading.vectors(self.encoder_, sequences) if kept else None
        return Learning(
            self.network_,
            ready,
            targets,
            self._recipe(sequences),
            vectors=vectors,
            symmetric=self.symmetrize,
            moments=self.moments_ if self.adversary is not None else None,
        )

    def _settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """Also what the encoder knew before, if it did, and the vectors that stay: options do not say."""
        found = super()._settings(sequences, targets)
        known = [] if self._blank() else [w.detach().numpy() for w in self.network_.encoder.state_dict().values()]
        known += [] if self.moments_ is None else list(self.moments_)
        return found | {"encoder": fingerprint(*(np.ascontiguousarray(one) for one in known))}

    def _blank(self) -> bool:
        """Whether the encoder begins with weights that are drawn."""
        given = parts.thawed(self.encoder)
        return not (isinstance(given, nn.Module) or parts.has_learned(given))

    def _recipe(self, sequences: Sequences) -> Recipe:
        return Recipe(
            batch_size=self.batch_size,
            n_per_class=self.per_class,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            optimizer=self.optimizer,
            keep=self.momentum,
            smoothing=self.smoothing,
            soft_pairs=self.soft_pairs,
            change=self._change(sequences),
            adversary=self.adversary,
        )

    def _change(self, sequences: Sequences) -> Change | None:
        if not self.perturb:
            return None
        standardized = bool(getattr(self.encoder_, "standardize", self.standardize))  # noise needs a unit
        if int(sequences.lengths.max()) == 1:
            return Noise() if standardized else None
        return Perturbation() if standardized else Perturbation(jitter=0.0)

    def _limits(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, Learning)
        free = self.max_steps is None and self.max_epochs is None
        usual = int(np.clip(_PASSES * objective.n_batches(), *_USUAL))
        return {
            "max_steps": usual if free else self.max_steps,
            "max_epochs": self.max_epochs,
            "max_time": _SECONDS if free and self.max_time is None else self.max_time,
            "schedule": self._schedule(objective),
            "gradient_clip": 6.0,
        }

    def _schedule(self, objective: Learning) -> Schedule | None:
        if self.schedule == "cycle":
            epochs = None if self.max_epochs is None else self.max_epochs * objective.n_batches()
            return OneCycle(steps=epochs if self.max_steps is None else self.max_steps)
        return Milestones(at=(_DROP * objective.n_batches(),)) if self.schedule == "steps" else None

    def _remember(self, vectors: NDArray[np.float32], codes: NDArray[np.int64]) -> None:
        """The vectors of the examples as the trained encoder makes them, and the prototypes that follow."""
        if self.beside_:
            self._rescale(vectors, codes)
        order = in_order(vectors, codes)
        counts = np.full(len(self.classes_), self.n_prototypes, np.int64)
        self.members_ = Members(vectors[order], codes[order], counts)
        if self.averaging == "exact":
            each = [centres(self.members_.of(k), self.n_prototypes) for k in range(len(counts))]
            self.prototypes_ = np.concatenate(each)
            self.owners_ = np.repeat(np.arange(len(each)), [len(some) for some in each])
        else:
            each = [centres(self.members_.of(k), 1)[0] for k in range(len(counts))]
            seen = self.network_.seen.numpy() | (self.averaging == "gradient")  # a short training may not show all
            self.prototypes_ = np.where(seen[:, None], self.network_.averages.detach().numpy(), np.stack(each))
            self.owners_ = np.arange(len(counts))
        self.network_.place(self.prototypes_, self.owners_)

    def _rescale(self, vectors: NDArray[np.float32], codes: NDArray[np.int64]) -> None:
        """Scale and offset of the cosine anew: training knew them for the network alone."""
        similarity = self.network_.similarity
        assert isinstance(similarity, CosineSimilarity)
        similarity.learn(vectors, codes, self._rng())

    # --- options and saving ------------------------------------------------------------------------------------------

    @property
    def moments_(self) -> Any:  # type: ignore[override]
        """How the encoder standardizes; None where it does not say."""
        return getattr(self.encoder_, "moments_", None)

    @property
    def _flat(self) -> bool:  # type: ignore[override]
        """Whether the encoder takes frames of any shape as plain vectors."""
        return bool(getattr(self.encoder_, "_flat", False))

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.auxiliary is None and self.inference != "similarity":
            raise ValueError(f"inference={self.inference!r}: auxiliary=None has no dense head; use 'similarity'")
        if self.averaging != "exact" and self.n_prototypes > 1:
            raise ValueError(
                f"n_prototypes={self.n_prototypes}: averaging={self.averaging!r} has one for every class; use 'exact'"
            )
        if self.beside and self.similarity.kind != "cosine":
            raise ValueError(
                f"beside={self.beside!r:.60}: similarity={self.similarity!r} takes no vectors but those of the "
                "encoder; use 'cosine'"
            )
        if self.averaging != "exact" and self.beside:
            raise ValueError(f"averaging={self.averaging!r}: vectors of `beside` have no moving averages; use 'exact'")
        if self.adversary is not None and self.freeze:
            raise ValueError("adversary needs an encoder that is trained: use freeze=False")

    def _takes_missing(self) -> bool:
        """If the encoder does."""
        found = getattr(self, "encoder_", None) or self.encoder
        return hasattr(found, "_takes_missing") and bool(found._takes_missing())

    def _refuse_to_save(self) -> None:
        if isinstance(self.encoder_, reading.OwnModule):
            raise TypeError(
                "encoder is a torch module of your own, which no folder can hold: keep network_.state_dict(), or use "
                "an encoder of the library"
            )
        super()._refuse_to_save()

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        own = {name: array for name, array in state["network_"].items() if not name.startswith("encoder.")}
        return state | {"network_": own}  # the encoder keeps its weights itself

    def _take_up(self, state: dict[str, Any]) -> None:
        super()._take_up(state)
        self.network_.place(self.prototypes_, self.owners_)

    def _all_weights(self, weights: Any) -> Any:
        if not isinstance(weights, dict):
            return weights
        encoder = reading.module_of(self.encoder_).state_dict()  # of which `unit` is no part
        return weights | {f"encoder.{name}": tensor.numpy() for name, tensor in encoder.items()}

    def _check_learned(self, found: Mapping[str, Any]) -> None:
        super()._check_learned(found)
        n_classes = len(self.classes_)
        for name, owners in (("owners_", self.owners_), ("members_.owners", self.members_.owners)):
            if not np.array_equal(np.unique(owners), np.arange(n_classes)) or (np.diff(owners) < 0).any():
                raise ValueError(f"{name}: expected the {n_classes} classes in their order")
