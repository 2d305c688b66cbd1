"""Prototypes: an encoder, a learned similarity and a prototype for every class, trained together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...metric.objectives.perturbation import Perturbation
from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train import Objective, OneCycle, Schedule, Steps
from ...train.processes import Accelerator, Precision
from ..attacks.base import Attack
from . import reading
from .cosine import Cosine, Fused
from .members import Members, centres, in_order
from .network import AnySimilarity, Averaging, Dense, Head, PrototypeNetwork
from .objective import Change, Learning, Noise, Recipe
from .similarity import Similarity
from .streaming import Streaming
from .verb import Kind

Schedules = Literal["cycle", "steps", "constant"]

_PASSES, _USUAL = 20, (500, 2000)  # through the data, and steps at least and at most, where nothing says how many
_SECONDS = 120.0  # where nothing says how long
_DROPS = 200  # epochs after which the paper lowers the learning rate


def _attack(value: Any, name: str) -> Attack:
    if not isinstance(value, Attack):
        raise TypeError(f"{name}={value!r:.80}: expected an attack such as attacks.PGD(0.3), or None")
    return value


class Prototypes(Streaming):
    """One network for every question about classes: which one, the same one, the most similar, a new one, none.

    An encoder E makes vectors of sequences, a perceptron S says how alike two vectors are, and a class is the mean C of
    the vectors of its examples. All are trained together, so that examples are like the prototype of their class and
    like each other within it (Monteiro et al., "Learning semantic similarities for prototypical classifiers", 2021):

        L = L_class + L_pair + L_aux,   p(y = k | x) = softmax_k S(C_k, E(x)),   p(same | x, y) = σ(S(E(x), E(y)))

    Then `predict` asks for the most similar prototype, `verify` for two sequences of one class, known or not,
    `retrieve` for the most similar of a gallery; `enroll` adds a class by a few examples without training, `forget`
    removes one, and `novelty` says what is like no class.

    Use it where classes come and go, where strangers must be refused, or where one model is to serve several of these
    tasks. To tell apart a fixed set of classes, `EmbeddingClassifier` is faster and often better; to compare sequences
    of classes that nobody has seen, an elastic distance or `Discriminant(classes="open")` asks for less: a network
    that is trained on few classes knows little but these.

    Parameters
    ----------
    encoder : encoder, torch module or None
        None for the causal network of `SiameseGRU`, with vectors that need no training `beside` it. An encoder of the
        library that is not fitted is trained from its first weights with the labels; a fitted one goes on from what it
        learned; one without a torch module, such as `Rocket`, is fitted and used as it is. A torch module takes
        (x, lengths), x (item, time, *frame), and gives vectors (item, feature). For images and vectors see
        `ImageEncoder` and `VectorEncoder`.
    similarity : {"cosine", "learned", "fused"} or None
        S: s cos + b, with s and b learned, which None stands for; the paper's perceptron of both vectors; or the mean
        of σ of that and (1 + cos) / 2 in answers. With few classes the perceptron learns their names: it is as good for
        these, and hardly knows any other that is enrolled (decision 0039).
    beside : list of encoders or None
        Encoders that are used as they are beside the one that is trained, each with twice its share of a vector;
        fitted first if they are not. None for `Discriminant(classes="open")` of `Rocket` and of `StatisticsEncoder`
        where `encoder` is None, and for nothing otherwise. [] for nothing. For the cosine only.
    freeze : bool
        Whether the encoder stays as it is, and only S is trained; one that is not fitted is fitted by itself first.
    n_prototypes : int
        Prototypes of every class, by k-means; the most similar one counts.
    inference : {"similarity", "dense", "both"}
        What classes are predicted by: S and the prototypes, the dense layer of L_aux, which knows the classes of `fit`
        only, or the mean of both.
    hidden, dropout, symmetrize
        Of the perceptron: units, the share of them that training leaves out, and whether S(x, y) is S(y, x).
    auxiliary : {"plain", "margin"} or None
        The dense layer: a softmax, one with an additive margin, or none.
    averaging : {"exact", "moving", "gradient"}
        What prototypes are after `fit`: exact means in evaluation mode, or the paper's moving averages, which remember
        earlier weights; or weights that are learned themselves.
    momentum : float
        λ of the moving averages by which training is done.
    smoothing : float
        Of the labels in L_class and L_aux.
    soft_pairs : bool
        Whether targets of L_pair are drawn from [0.9, 1] and [0, 0.1].
    per_class, batch_size : int
        Members of each class in a batch, and about how many sequences there are in one.
    perturb : bool
        Whether sequences are changed a little before every step.
    adversary : attack of `timelike.recognize.attacks`, optional
        Train on what it makes of every batch.
    learning_rate, weight_decay, optimizer, schedule
        As in `SiameseGRU`; "steps" is a tenth after 200 epochs.
    max_steps, max_epochs, max_time : optional
        When to stop, whatever comes first. Without steps and epochs, 20 passes through the data, but 500 steps at
        least and 2000 at most; if none is given, two minutes at most.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1; an encoder that is given has its own option.
    checkpoint, progress, accelerator, devices, precision
        As in `SiameseGRU`.
    random_state : int, Generator or None
        Repeats initial weights and training.

    Attributes
    ----------
    encoder_
        The trained encoder: it can stream and be used by itself.
    classes_ : array
        The classes that are known now.
    prototypes_, owners_ : array
        A vector for every prototype, and the position in `classes_` of its class.
    members_ : Members
        The vectors of all examples, from which prototypes follow; sequences are not kept.
    network_ : PrototypeNetwork
        The torch module.
    history_ : History
        Losses of training and their parts.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> X = np.sin(t / np.repeat([1, 2, 4, 8], 10)[:, None] + rng.uniform(0, 6, (40, 1)))
    >>> y = np.repeat(["fastest", "fast", "slow", "slowest"], 10)
    >>> model = tl.Prototypes(max_steps=60, random_state=0).fit(X[10:], y[10:])  # the fastest are not known yet
    >>> model.enroll(X[:5], y[:5]).predict(X[[5, 15, 25, 35]])
    array(['fastest', 'fast', 'slow', 'slowest'], dtype='<U7')
    >>> bool(model.similarity(X[0], X[1]) > model.similarity(X[0], X[20]))
    True
    """

    encoder = options.Option(reading.checked)
    beside = options.maybe(options.Option(reading.checked_companions))
    freeze = options.flag("training")
    hidden = options.whole(1)
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

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": MappingProxyType(
                {
                    "similarity": "learned",
                    "beside": [],
                    "symmetrize": False,
                    "averaging": "moving",
                    "smoothing": 0.2,
                    "soft_pairs": True,
                    "per_class": 5,
                    "perturb": False,
                    "optimizer": "adam",
                    "learning_rate": 1e-4,
                    "weight_decay": 5e-4,
                    "schedule": "steps",
                    "max_epochs": 500,
                }
            )
        }
    )

    def __init__(
        self,
        *,
        encoder: Any = None,
        similarity: Kind | None = None,
        beside: list[Any] | None = None,
        freeze: bool = False,
        n_prototypes: int = 1,
        inference: Head = "similarity",
        hidden: int = 512,
        dropout: float = 0.25,
        symmetrize: bool = True,
        auxiliary: Dense | None = "plain",
        averaging: Averaging = "exact",
        momentum: float = 0.9,
        smoothing: float = 0.0,
        soft_pairs: bool = False,
        per_class: int = 6,
        batch_size: int = 64,
        perturb: bool = True,
        adversary: Attack | None = None,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-3,
        optimizer: Literal["adamw", "adam"] = "adamw",
        schedule: Schedules = "cycle",
        max_steps: int | None = None,
        max_epochs: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given."""
        with self._fitting():
            sequences = self._learn_from(X)
            codes = self._targets(sequences, y)
            self._take_encoder(sequences, codes)
            self._make_network()
            self._train(self._objective(sequences, codes), sequences, codes)
            self._remember(sequences, codes)
        return self

    def _targets(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of every sequence, as a number."""
        labels = self._classes(sequences, y, "use EmbeddingRegressor")
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            raise ValueError(
                f"y holds one class, {self.classes_.tolist()[0]!r}: a similarity is learned from two or more; others "
                "can be enrolled afterwards"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return codes.astype(np.int64)

    def _take_encoder(self, sequences: Sequences, codes: NDArray[np.int64]) -> None:
        how: dict[str, Any] = {"freeze": self.freeze, "standardize": self.standardize}
        self.encoder_ = reading.begun(self.encoder, sequences, codes, random_state=self.random_state, **how)
        first = reading.vectors(self.encoder_, sequences[:1])
        if first.ndim != 2:
            raise ValueError(f"encoder gives shape {first.shape} for one sequence: expected (item, feature)")
        self.n_vector_, self.trained_classes_, self.enrolled_ = int(first.shape[1]), self.classes_, False
        given = ([] if self._alone() else None) if self.beside is None else self.beside
        self.beside_ = reading.companions(given, sequences, self.classes_[codes], self.random_state)

    def _alone(self) -> bool:
        """Whether nothing is put beside the encoder where nothing is said about it."""
        return self.encoder is not None or self.similarity.kind != "cosine" or len(self.frame_) > 1

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        learned = Similarity(self.n_vector_, hidden=self.hidden, dropout=self.dropout, symmetrize=self.symmetrize)
        kinds: dict[Kind, AnySimilarity] = {"learned": learned, "cosine": Cosine(), "fused": Fused(learned)}
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
        return Steps(every=_DROPS * objective.n_batches()) if self.schedule == "steps" else None

    def _remember(self, sequences: Sequences, codes: NDArray[np.int64]) -> None:
        """The vectors of the examples as the trained encoder makes them, and the prototypes that follow."""
        vectors = self._vectors(sequences)
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
            self.prototypes_ = self.network_.averages.detach().numpy().copy()
            self.owners_ = np.arange(len(counts))
        self.network_.place(self.prototypes_, self.owners_)

    def _rescale(self, vectors: NDArray[np.float32], codes: NDArray[np.int64]) -> None:
        """Scale and offset of the cosine anew: training knew them for the network alone."""
        similarity = self.network_.similarity
        assert isinstance(similarity, Cosine)
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

    @classmethod
    def _small(cls) -> dict[str, Any]:
        from ...metric import SiameseGRU

        return {"encoder": SiameseGRU(hidden=4, random_state=0), "hidden": 4}

    def _refuse_options(self) -> None:
        super()._refuse_options()
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
        super()._refuse_to_save()
        if isinstance(self.encoder_, reading.OwnModule):
            raise TypeError(
                "encoder is a torch module of your own, which no folder can hold: keep network_.state_dict(), or use "
                "an encoder of the library"
            )

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        own = {name: array for name, array in state["network_"].items() if not name.startswith("encoder.")}
        return state | {"network_": own}  # the encoder keeps its weights itself

    def _take_up(self, state: dict[str, Any]) -> None:
        encoder = reading.module_of(state["encoder_"]).state_dict()  # of which `unit` is no part
        theirs = {f"encoder.{name}": tensor.numpy() for name, tensor in encoder.items()}
        super()._take_up(state | {"network_": state["network_"] | theirs})
        self.network_.place(self.prototypes_, self.owners_)
