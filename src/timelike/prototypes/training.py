"""Training: how the trio of `Prototypes` is learned, what is kept of the examples, and what a folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..core.parameters import format_value
from ..metric.objectives.perturbation import Perturbation
from ..models import components, fingerprint, options
from ..sequences import Sequences
from ..train import Milestones, Objective, OneCycle, Schedule
from ..train.objective import FORWARD_SHARE
from . import encoder_adapter
from .cosine import CosineSimilarity, FusedSimilarity
from .members import Members, canonical_order, cluster_centers
from .network import AnySimilarity, Averaging, DenseHead, PrototypeNetwork
from .objective import Adversary, BatchPerturbation, FrameNoise, PrototypeObjective, TrainingRecipe
from .retrieval import SimilarityKind
from .similarity import Similarity
from .stream import StreamingPrototypes

ScheduleName = Literal["one_cycle", "milestones", "constant"]

_N_PASSES, _STEP_RANGE = (
    20,
    (500, 2000),
)  # through the data, and steps at least and at most, where nothing says how many
_DEFAULT_SECONDS = 120.0  # where nothing says how long
_MILESTONE_EPOCHS = 200  # epochs after which the paper lowers the learning rate, once


def _check_adversary(value: Any, name: str) -> Adversary:
    if isinstance(value, type) or not callable(getattr(value, "perturb", None)):
        raise TypeError(
            f"{name}={value!r:.80}: expected an attack of timelike.attacks, such as attacks.PGD(0.3) or "
            "attacks.FGSM(0.3), or None"
        )
    adversary: Adversary = value
    return adversary


class TrainedPrototypes(StreamingPrototypes):
    """The options of a training, and `fit`; `Prototypes` says what they mean."""

    encoder = options.Option(encoder_adapter.check_encoder)
    extra_encoders = options.nullable(options.Option(encoder_adapter.check_extra_encoders))
    freeze = options.boolean("training")
    n_prototypes = options.integer(1)
    hidden = options.width(1)
    dropout = options.real(0, 0.99, role="training")
    symmetrize = options.boolean()
    auxiliary = options.nullable(options.choice(*get_args(DenseHead)))
    averaging = options.choice(*get_args(Averaging))
    momentum = options.real(0, 1, role="training")
    label_smoothing = options.real(0, 0.99, role="training")
    soft_pairs = options.boolean("training")
    n_per_class = options.integer(2, "training")
    batch_size = options.integer(2, "training")
    perturb = options.boolean("training")
    adversary = options.nullable(options.Option(_check_adversary, "training"))
    learning_rate = options.real(above=0, role="free")
    weight_decay = options.real(0, role="free")
    optimizer = options.choice("adamw", "adam", role="training")
    schedule = options.choice(*get_args(ScheduleName), role="free")
    max_steps = options.nullable(options.integer(1, "free"))
    max_epochs = options.nullable(options.integer(1, "free"))
    max_time = options.nullable(options.real(above=0, role="free"))

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            codes = self._validate_targets(sequences, y)
            self._set_encoders(sequences, codes)
            # what training does not change is computed before it, where the clock of max_time sees how long it takes
            beside = [encoder_adapter.encode_sequences(one, sequences) for one in self.extra_encoders_]
            self._init_network()
            objective = self._make_objective(sequences, codes)
            if self.extra_encoders_:
                objective.preparation_name = (
                    "fitting the encoders beside the network, of which extra_encoders=[] has none,"
                )
            self._train(objective, sequences, codes)
            own = (
                encoder_adapter.encode_sequences(self.encoder_, sequences)
                if objective.vectors is None
                else objective.vectors
            )
            self._set_members(encoder_adapter.concatenate_vectors([own, *beside]), codes)
        return self

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        assert isinstance(objective, PrototypeObjective)
        # batches of few classes are smaller than batch_size
        encoded = 0 if objective.vectors is not None else len(sequences)
        return FORWARD_SHARE * encoded / (objective.n_batch_classes * self.n_per_class)

    def _validate_targets(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of every sequence, as a number."""
        labels = self._validate_classes(sequences, y, "use EmbeddingRegressor")
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            raise ValueError(
                f"y holds one class, {format_value(self.classes_.tolist()[0])}: a similarity is learned from two or "
                "more; "
                "others can be enrolled afterwards"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return codes.astype(np.int64)

    def _set_encoders(self, sequences: Sequences, codes: NDArray[np.int64]) -> None:
        if self.encoder is None and len(self.frame_) > 1:
            raise ValueError(
                f"X has frames of shape {self.frame_}: the default encoder is for channels; for single images use "
                'encoder=ImageEncoder() and Sequences(X, layout="nchw"), for sequences of images FrameEncoder()'
            )
        how: dict[str, Any] = {"freeze": self.freeze, "standardize": self.standardize}
        self.encoder_ = encoder_adapter.prepare_encoder(
            self.encoder, sequences, codes, random_state=self.random_state, **how
        )
        first = encoder_adapter.encode_sequences(self.encoder_, sequences[:1])
        self.n_trained_features_, self.trained_classes_, self.classes_changed_ = (
            int(first.shape[1]),
            self.classes_,
            False,
        )
        given = ([] if self._is_encoder_alone() else None) if self.extra_encoders is None else self.extra_encoders
        self.extra_encoders_ = encoder_adapter.fit_extra_encoders(
            given, sequences, self.classes_[codes], self.random_state
        )

    def _is_encoder_alone(self) -> bool:
        """Whether nothing is put beside the encoder where nothing is said about it."""
        other = (self.similarity_fn or "cosine") != "cosine" or self.averaging != "exact"
        return self.encoder is not None or other

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        learned = Similarity(
            self.n_trained_features_, hidden=self.hidden, dropout=self.dropout, symmetrize=self.symmetrize
        )
        kinds: dict[SimilarityKind, AnySimilarity] = {
            "learned": learned,
            "cosine": CosineSimilarity(),
            "fused": FusedSimilarity(learned),
        }
        return PrototypeNetwork(
            encoder_adapter.encoder_module(self.encoder_, unit=len(self.extra_encoders_) > 0),
            kinds[(self.similarity_fn or "cosine")],
            self.n_trained_features_,
            len(self.trained_classes_),
            dense=self.auxiliary,
            learns_averages=self.averaging == "gradient",
        )

    def _make_objective(self, sequences: Sequences, targets: NDArray[np.int64]) -> PrototypeObjective:
        kept = self.freeze or not encoder_adapter.is_trainable(self.encoder_)
        if kept and self.adversary is not None:
            raise ValueError(
                f"adversary={self.adversary!r:.60}: {type(self.encoder_).__name__} is used as it is, and there is "
                "nothing to train against it; give an encoder with a torch module"
            )
        for weight in self.network_.encoder.parameters():
            weight.requires_grad_(not kept)
        ready = sequences if kept else self.encoder_._standardize(sequences, "X")
        vectors = encoder_adapter.encode_sequences(self.encoder_, sequences) if kept else None
        return PrototypeObjective(
            self.network_,
            ready,
            targets,
            self._make_recipe(sequences),
            vectors=vectors,
            symmetric=self.symmetrize,
            scaler=self.scaler_ if self.adversary is not None else None,
        )

    def _checkpoint_settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """Also what the encoder knew before, if it did, and the vectors that stay: options do not say."""
        found = super()._checkpoint_settings(sequences, targets)
        known = (
            []
            if self._starts_from_scratch()
            else [w.detach().numpy() for w in self.network_.encoder.state_dict().values()]
        )
        known += [] if self.scaler_ is None else list(self.scaler_)
        return found | {"encoder": fingerprint(*(np.ascontiguousarray(one) for one in known))}

    def _starts_from_scratch(self) -> bool:
        """Whether the encoder begins with weights that are drawn."""
        given = components.unfreeze(self.encoder)
        return not (isinstance(given, nn.Module) or components.is_fitted(given))

    def _make_recipe(self, sequences: Sequences) -> TrainingRecipe:
        return TrainingRecipe(
            batch_size=self.batch_size,
            n_per_class=self.n_per_class,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            optimizer=self.optimizer,
            momentum=self.momentum,
            label_smoothing=self.label_smoothing,
            soft_pairs=self.soft_pairs,
            perturbation=self._make_perturbation(sequences),
            adversary=self.adversary,
        )

    def _make_perturbation(self, sequences: Sequences) -> BatchPerturbation | None:
        if not self.perturb:
            return None
        standardized = bool(getattr(self.encoder_, "standardize", self.standardize))  # noise needs a unit
        if int(sequences.lengths.max()) == 1:
            return FrameNoise() if standardized else None
        return Perturbation() if standardized else Perturbation(jitter=0.0)

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, PrototypeObjective)
        free = self.max_steps is None and self.max_epochs is None
        usual = int(np.clip(_N_PASSES * objective.n_batches(), *_STEP_RANGE))
        return {
            "max_steps": usual if free else self.max_steps,
            "max_epochs": self.max_epochs,
            "max_time": _DEFAULT_SECONDS if free and self.max_time is None else self.max_time,
            "schedule": self._make_schedule(objective),
            "gradient_clip": 6.0,
        }

    def _make_schedule(self, objective: PrototypeObjective) -> Schedule | None:
        if self.schedule == "one_cycle":
            epochs = None if self.max_epochs is None else self.max_epochs * objective.n_batches()
            return OneCycle(steps=epochs if self.max_steps is None else self.max_steps)
        return (
            Milestones(milestones=(_MILESTONE_EPOCHS * objective.n_batches(),))
            if self.schedule == "milestones"
            else None
        )

    def _set_members(self, vectors: NDArray[np.float32], codes: NDArray[np.int64]) -> None:
        """The vectors of the examples as the trained encoder makes them, and the prototypes that follow."""
        if self.extra_encoders_:
            self._refit_similarity(vectors, codes)
        order = canonical_order(vectors, codes)
        counts = np.full(len(self.classes_), self.n_prototypes, np.int64)
        self.members_ = Members(vectors[order], codes[order], counts)
        if self.averaging == "exact":
            each = [cluster_centers(self.members_.class_vectors(k), self.n_prototypes) for k in range(len(counts))]
            self.prototypes_ = np.concatenate(each)
            self.owners_ = np.repeat(np.arange(len(each)), [len(some) for some in each])
        else:
            each = [cluster_centers(self.members_.class_vectors(k), 1)[0] for k in range(len(counts))]
            seen = self.network_.seen_classes.numpy() | (
                self.averaging == "gradient"
            )  # a short training may not show all
            self.prototypes_ = np.where(seen[:, None], self.network_.averages.detach().numpy(), np.stack(each))
            self.owners_ = np.arange(len(counts))
        self.network_.set_prototypes(self.prototypes_, self.owners_)

    def _refit_similarity(self, vectors: NDArray[np.float32], codes: NDArray[np.int64]) -> None:
        """Scale and offset of the cosine anew: training knew them for the network alone."""
        similarity = self.network_.similarity
        assert isinstance(similarity, CosineSimilarity)
        similarity.fit_scale(vectors, codes, self._rng())

    # --- options and saving ------------------------------------------------------------------------------------------

    @property
    def scaler_(self) -> Any:  # type: ignore[override]
        """How the encoder standardizes; None where it does not say."""
        return getattr(self.encoder_, "scaler_", None)

    @property
    def _flattens_frames(self) -> bool:  # type: ignore[override]
        """Whether the encoder takes frames of any shape as plain vectors."""
        return bool(getattr(self.encoder_, "_flattens_frames", False))

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.auxiliary is None and self.inference != "similarity":
            raise ValueError(f"inference={self.inference!r}: auxiliary=None has no dense head; use 'similarity'")
        if self.averaging != "exact" and self.n_prototypes > 1:
            raise ValueError(
                f"n_prototypes={self.n_prototypes}: averaging={self.averaging!r} has one for every class; use 'exact'"
            )
        if self.extra_encoders and (self.similarity_fn or "cosine") != "cosine":
            raise ValueError(
                f"extra_encoders={self.extra_encoders!r:.60}: similarity_fn={self.similarity_fn!r} takes no "
                "vectors but those of the encoder; use 'cosine'"
            )
        if self.averaging != "exact" and self.extra_encoders:
            raise ValueError(
                f"averaging={self.averaging!r}: vectors of `extra_encoders` have no moving averages; use 'exact'"
            )
        if self.adversary is not None and self.freeze:
            raise ValueError("adversary needs an encoder that is trained: use freeze=False")

    def _takes_missing(self) -> bool:
        """If the encoder does."""
        found = getattr(self, "encoder_", None) or self.encoder
        return hasattr(found, "_takes_missing") and bool(found._takes_missing())

    def _refuse_to_save(self) -> None:
        if isinstance(self.encoder_, encoder_adapter.ModuleEncoder):
            raise TypeError(
                "encoder is a torch module of your own, which no folder can hold: keep network_.state_dict(), or use "
                "an encoder of the library"
            )
        super()._refuse_to_save()

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        own = {name: array for name, array in state["network_"].items() if not name.startswith("encoder.")}
        return state | {"network_": own}  # the encoder keeps its weights itself

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        self.network_.set_prototypes(self.prototypes_, self.owners_)

    def _all_weights(self, weights: Any) -> Any:
        if not isinstance(weights, dict):
            return weights
        encoder = encoder_adapter.encoder_module(self.encoder_).state_dict()  # of which `unit` is no part
        return weights | {f"encoder.{name}": tensor.numpy() for name, tensor in encoder.items()}

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        super()._check_attributes(found)
        n_classes = len(self.classes_)
        for name, owners in (("owners_", self.owners_), ("members_.owners", self.members_.owners)):
            if not np.array_equal(np.unique(owners), np.arange(n_classes)) or (np.diff(owners) < 0).any():
                raise ValueError(f"{name}: expected the {n_classes} classes in their order")
