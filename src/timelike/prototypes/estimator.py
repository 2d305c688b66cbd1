"""`Prototypes`: an encoder, a learned similarity and a prototype for every class, trained together."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from ..core.extras import import_extra, is_installed
from ..core.parameters import check_bool, check_float, check_int, format_value, store_parameters
from ..core.validation.conversion import is_torch_module
from ..models import Model, components, options, schema
from ..sequences import Sequences
from ..sequences.sampling import RandomState
from ..sequences.validation import as_one_or_many
from ..train import Objective, Trained, Trainer
from ..train.objective import FORWARD_SHARE
from . import encoder_adapter, stream
from .classes import (
    MEMBERS_SCHEMA,
    ClassScorer,
    ClassTable,
    Floats,
    Members,
    adapt_prototypes,
    add_examples,
    encode_labels,
    find_class,
    first_prototypes,
    make_members,
    match_label_dtype,
    refuse_known_classes,
    remove_class,
)
from .frozen_network import FrozenNetwork
from .options import (
    HEADS,
    Adversary,
    Averaging,
    DenseHead,
    Head,
    LearnedSimilarity,
    SimilarityKind,
    check_adversary,
    similarity_option,
)
from .retrieval import RetrievalResult, novelty_scores, pair_similarities, retrieve_similar
from .stream import BOUNDS_SCHEMA, PrototypeStream, RecognitionBounds, RecognizedVectors
from .thresholds import (
    THRESHOLDS_SCHEMA,
    PrototypeThresholds,
    calibrate_thresholds,
    check_share,
    novelty_threshold,
    require_both_kinds_of_pairs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import nn

    from .objective import PrototypeObjective, TrainingRecipe
    from .similarity_metric import SimilarityMetric


class Prototypes(ClassifierMixin, Trained):  # type: ignore[misc]
    """Prototype network for classification, verification, retrieval, enrolment and rejection of unknown classes.

    An encoder E maps sequences to vectors, a similarity S compares two vectors, and a class is the mean C of the
    vectors of its examples. All are trained together, so that examples are similar to the prototype of their class and
    to each other within it (Monteiro et al., "Learning semantic similarities for prototypical classifiers", 2021):

        L = L_class + L_pair + L_aux,   p(y = k | x) = softmax_k S(C_k, E(x)),   p(same | x, y) = σ(S(E(x), E(y)))

    Then `predict` gives the class of the most similar prototype, `verify` whether two sequences are of one class, known
    or not, and `retrieve` the most similar sequences of a gallery; `enroll` adds a class from a few examples without
    training, `forget` removes one, and `novelty` measures how unlike all classes a sequence is.

    Use it if classes come and go, if strangers must be rejected, or if one model is to serve several of these tasks. To
    tell apart a fixed set of classes, try `EmbeddingClassifier` first, which is faster; to compare sequences of classes
    that were not seen in training, an elastic distance or `Discriminant(classes="open")` needs less: a network that is
    trained on few classes generalizes poorly to others.

    Parameters
    ----------
    encoder : encoder, torch module or None
        None for the causal network of `SiameseGRU`, with `extra_encoders` that need no training. An encoder of the
        library that is not fitted is trained from its initial weights with the labels; a fitted one is trained further;
        one without a torch module, such as `Rocket`, is fitted and used unchanged, by 128 whitened components if it has
        more than 512 features. A torch module takes (x, lengths), x (item, time, *frame), and returns vectors
        (item, feature). For images and vectors see `ImageEncoder` and `VectorEncoder`.
    similarity_fn : {"cosine", "learned", "fused"}, LearnedSimilarity or None
        S: "cosine", the default, is s cos + b with s and b learned; "learned" is the paper's perceptron of both
        vectors; "fused" answers by the mean of σ of that and (1 + cos) / 2. `LearnedSimilarity(hidden=64)` is a
        perceptron of another size. With few classes the perceptron overfits to them: it is as good for these, and poor
        for classes that are enrolled later (decision 0039).
    extra_encoders : list of encoders or None
        Encoders that are used unchanged next to the trained one, each with twice its weight in a vector; fitted first
        if they are not. None for `Discriminant(classes="open")` of `Rocket(causal=True)` and of `StatisticsEncoder` if
        `encoder` is None, and for none otherwise. [] for none. For the cosine only.
    freeze : bool
        Whether the encoder stays unchanged and only S is trained; if it is not fitted, it is fitted by itself first.
    n_prototypes : int
        Prototypes of every class, by k-means; the most similar one counts.
    inference : {"similarity", "dense", "both"}
        How classes are predicted: by S and the prototypes; by the dense head of L_aux, which has the classes of `fit`
        only; or by the mean of both.
    auxiliary : {"plain", "margin"} or None
        The dense head: a softmax, one with an additive margin, or none.
    averaging : {"exact", "moving", "gradient"}
        The prototypes after `fit`: exact means in evaluation mode; the paper's moving averages, which remember earlier
        weights; or weights that are learned themselves. Only with "exact" is a class the same after it was forgotten
        and enrolled again.
    momentum : float
        λ of the moving averages in training.
    label_smoothing : float
        Label smoothing in L_class and L_aux.
    soft_pairs : bool
        Whether targets of L_pair are drawn from [0.9, 1] and [0, 0.1].
    n_per_class : int
        Members of each class in a batch.
    perturb : bool
        Whether sequences are perturbed a little before every step.
    adversary : attack of `timelike.attacks`, optional
        Train on batches that this attack has changed.
    max_steps : int or None
        Maximum number of steps. If neither this nor `trainer.max_epochs` is given, 20 passes through the data, but at
        least 500 and at most 2000 steps.
    max_time : float or None
        Maximum training time in seconds; two minutes if no budget is given.
    standardize : bool
        Whether channels are standardized to mean 0 and deviation 1; an encoder that is given has its own option.
    progress : bool or None
        Whether to show a progress bar; None for only in a terminal and if training takes a while.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64`, `learning_rate=3e-3`, `optimizer="adamw"`, `weight_decay=1e-3`,
        `gradient_clip=6.0`, `schedule="one_cycle"`. A batch has about `batch_size` sequences, and nothing is held out.
    random_state : int, Generator or None
        Seed of initial weights and training.

    Attributes
    ----------
    encoder_
        The trained encoder, which can stream and be used by itself.
    extra_encoders_ : list
        The fitted extra encoders.
    classes_ : array
        The current classes.
    trained_classes_ : array
        The classes of `fit`, those of the dense head.
    prototypes_, owners_ : array
        A vector for every prototype, and the position of its class in `classes_`.
    members_ : Members
        The vectors of all examples, from which prototypes follow; sequences are not stored.
    network_ : PrototypeNetwork
        The torch module; without torch, a `FrozenNetwork` of the saved weights that answers alike.
    thresholds_ : PrototypeThresholds
        Temperature and thresholds, after `calibrate`.
    stream_bounds_ : RecognitionBounds
        When a stream may decide, after `calibrate_stream`.
    history_ : History
        Losses of training and their parts.

    Examples
    --------
    >>> import numpy as np  # needs: timelike[learn]
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

    encoder = options.Option(encoder_adapter.check_encoder)
    similarity_fn = options.nullable(similarity_option())
    extra_encoders = options.nullable(options.Option(encoder_adapter.check_extra_encoders))
    freeze = options.boolean("training")
    n_prototypes = options.integer(1)
    inference = options.choice(*HEADS, role="free")
    auxiliary = options.nullable(options.choice(*get_args(DenseHead)))
    averaging = options.choice(*get_args(Averaging))
    momentum = options.real(0, 1, role="training")
    label_smoothing = options.real(0, 0.99, role="training")
    soft_pairs = options.boolean("training")
    n_per_class = options.integer(2, "training")
    perturb = options.boolean("training")
    adversary = options.nullable(options.Option(check_adversary, "training"))

    classes_: NDArray[Any] = schema.labels("class")
    trained_classes_: NDArray[Any] = schema.labels("trained class")
    encoder_: Any = schema.estimator()
    extra_encoders_: list[Any] = schema.list_of(schema.estimator())
    members_: Members = MEMBERS_SCHEMA
    prototypes_: Floats = schema.array("prototype", "feature", dtype="float32")
    owners_: NDArray[np.int64] = schema.indices("prototype", below="class")
    thresholds_: PrototypeThresholds = schema.not_required(THRESHOLDS_SCHEMA)
    classes_changed_: bool = schema.boolean()
    n_trained_features_: int = schema.integer(1)
    stream_bounds_: RecognitionBounds = schema.not_required(BOUNDS_SCHEMA)
    network_: Any

    _fit_call = "fit(X, y)"
    _validation_scores = ()
    _own_trainer = Trainer(
        batch_size=64, learning_rate=3e-3, optimizer="adamw", weight_decay=1e-3, gradient_clip=6.0, schedule="one_cycle"
    )
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": MappingProxyType(
                {
                    "similarity_fn": LearnedSimilarity(symmetrize=False),
                    "extra_encoders": [],
                    "averaging": "moving",
                    "label_smoothing": 0.2,
                    "soft_pairs": True,
                    "n_per_class": 5,
                    "perturb": False,
                    "trainer": Trainer(
                        optimizer="adam", learning_rate=1e-4, weight_decay=5e-4, schedule="milestones", max_epochs=500
                    ),
                }
            )
        }
    )

    def __init__(
        self,
        *,
        encoder: Any = None,
        similarity_fn: SimilarityKind | LearnedSimilarity | None = None,
        extra_encoders: list[Any] | None = None,
        freeze: bool = False,
        n_prototypes: int = 1,
        inference: Head = "similarity",
        auxiliary: DenseHead | None = "plain",
        averaging: Averaging = "exact",
        momentum: float = 0.9,
        label_smoothing: float = 0.0,
        soft_pairs: bool = False,
        n_per_class: int = 6,
        perturb: bool = True,
        adversary: Adversary | None = None,
        max_steps: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        progress: bool | None = None,
        trainer: Trainer | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    # --- training ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on sequences and their classes, by default the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            codes = self._validate_targets(sequences, y)
            self._set_encoders(sequences, codes)
            # vectors that training does not change are computed before it, so that max_time includes their time
            extra = [encoder_adapter.encode_sequences(one, sequences) for one in self.extra_encoders_]
            self._init_network()
            objective = self._make_objective(sequences, codes)
            if self.extra_encoders_:
                objective.preparation_name = (
                    "fitting the encoders beside the network, of which extra_encoders=[] has none,"
                )
            self._train(objective, sequences, codes)
            own = objective.vectors
            own = encoder_adapter.encode_sequences(self.encoder_, sequences) if own is None else own
            self._set_members(encoder_adapter.concatenate_vectors([own, *extra]), codes)
        return self

    def _validate_targets(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of every sequence as its position in `classes_`, which this sets."""
        labels = self._validate_classes(sequences, y, "use EmbeddingRegressor")
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            raise ValueError(
                f"y holds one class, {format_value(self.classes_.tolist()[0])}: a similarity is learned from two or "
                "more; others can be enrolled afterwards"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes), so there are no positive pairs: give some "
                "class two members or more"
            )
        return codes.astype(np.int64)

    def _set_encoders(self, sequences: Sequences, codes: NDArray[np.int64]) -> None:
        if self.encoder is None and len(self.frame_) > 1:
            raise ValueError(
                f"X has frames of shape {self.frame_}: the default encoder is for channels; for single images use "
                'encoder=ImageEncoder() and Sequences(X, layout="nchw"), for sequences of images FrameEncoder()'
            )
        self.encoder_ = encoder_adapter.prepare_encoder(
            self.encoder,
            sequences,
            codes,
            freeze=self.freeze,
            standardize=self.standardize,
            random_state=self.random_state,
        )
        first = encoder_adapter.encode_sequences(self.encoder_, sequences[:1])
        self.n_trained_features_ = int(first.shape[1])
        self.trained_classes_, self.classes_changed_ = self.classes_, False
        has_defaults = self.encoder is None and self._learned_similarity is None and self.averaging == "exact"
        extra_encoders = [] if self.extra_encoders is None and not has_defaults else self.extra_encoders
        self.extra_encoders_ = encoder_adapter.fit_extra_encoders(
            extra_encoders, sequences, self.classes_[codes], self.random_state
        )

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        from .network import build_network, encoder_module

        return build_network(
            encoder_module(self.encoder_, unit=len(self.extra_encoders_) > 0),
            self._learned_similarity,
            self.n_trained_features_,
            len(self.trained_classes_),
            dense=self.auxiliary,
            averaging=self.averaging,
            is_new="members_" not in vars(self),
        )

    def _make_objective(self, sequences: Sequences, targets: NDArray[np.int64]) -> PrototypeObjective:
        from .objective import PrototypeObjective

        is_fixed = self.freeze or not encoder_adapter.is_trainable(self.encoder_)
        if is_fixed and self.adversary is not None:
            raise ValueError(
                f"adversary={self.adversary!r:.60}: {type(self.encoder_).__name__} is used unchanged, so there is "
                "nothing to train against it; give an encoder with a torch module"
            )
        for weight in self.network_.encoder.parameters():
            weight.requires_grad_(not is_fixed)
        return PrototypeObjective(
            self.network_,
            sequences if is_fixed else self.encoder_._standardize(sequences, "X"),
            targets,
            self.trainer_,
            self._make_recipe(sequences),
            vectors=encoder_adapter.encode_sequences(self.encoder_, sequences) if is_fixed else None,
            symmetric=self._learned_similarity is None or self._learned_similarity.symmetrize,
            scaler=self.scaler_ if self.adversary is not None else None,
        )

    def _make_recipe(self, sequences: Sequences) -> TrainingRecipe:
        from .objective import TrainingRecipe, make_perturbation

        is_standardized = bool(getattr(self.encoder_, "standardize", self.standardize))
        return TrainingRecipe(
            n_per_class=self.n_per_class,
            momentum=self.momentum,
            label_smoothing=self.label_smoothing,
            soft_pairs=self.soft_pairs,
            perturbation=make_perturbation(sequences, standardized=is_standardized) if self.perturb else None,
            adversary=self.adversary,
        )

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        from .objective import PrototypeObjective

        assert isinstance(objective, PrototypeObjective)
        # batches of few classes are smaller than batch_size
        n_encoded = 0 if objective.vectors is not None else len(sequences)
        return FORWARD_SHARE * n_encoded / (objective.n_batch_classes * self.n_per_class)

    def _checkpoint_settings(self, sequences: Sequences, targets: Any) -> dict[str, str | int]:
        """Also the initial weights of the encoder, unless they are random, and its scaler: options omit them."""
        from .network import encoder_fingerprint

        encoder = components.unfreeze(self.encoder)
        is_drawn = not (is_torch_module(encoder) or components.is_fitted(encoder))
        network = None if is_drawn else self.network_.encoder
        settings = super()._checkpoint_settings(sequences, targets)
        return settings | {"encoder": encoder_fingerprint(network, self.scaler_)}

    def _set_members(self, vectors: Floats, codes: NDArray[np.int64]) -> None:
        """Store the vectors of the examples by the trained encoder, and the prototypes that follow."""
        if self.extra_encoders_:
            # refit scale and offset of the cosine: training fitted them to the network alone
            self.network_.similarity.fit_scale(vectors, codes, self._rng())
        self.members_ = make_members(vectors, codes, len(self.classes_), self.n_prototypes)
        self.prototypes_, self.owners_ = first_prototypes(self.members_, self.network_, self.averaging)
        self._copy_prototypes()

    def _copy_prototypes(self) -> None:
        """Give the torch module the current prototypes, of which it keeps a copy for `logits`."""
        if not isinstance(self.network_, FrozenNetwork):
            self.network_.set_prototypes(self.prototypes_, self.owners_)

    # --- classes of sequences ----------------------------------------------------------------------------------------

    def encode(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """The vectors of sequences, (item, feature), by all encoders together."""
        sequences = self._validate_predict_input(X)
        return self._encode_sequences(sequences, n_jobs)

    def class_scores(self, X: Any) -> NDArray[np.float64]:
        """S of every sequence and the most similar prototype of every class, (item, class); see `inference`."""
        return self._score_classes(self.encode(X))

    def predict(self, X: Any, *, reject: bool = False) -> NDArray[Any]:
        """The class of every sequence: that of the most similar prototype (eq. 4).

        With `reject=True`, after `calibrate`, None for those that are like no class (see `novelty`).
        """
        rejects, vectors = check_bool(reject, "reject"), self.encode(X)
        max_novelty = self._require_thresholds("reject=True").novelty if rejects else np.inf
        best, scores = self._class_scorer().best(vectors)
        labels: NDArray[Any] = self.classes_[best]
        if not rejects:
            return labels
        labels = labels.astype(object)
        labels[(-scores if self.inference == "similarity" else self._novelty_scores(vectors)) > max_novelty] = None
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, (item, class): softmax of the scores, over the temperature of `calibrate`."""
        probabilities: NDArray[np.float64] = softmax(self.class_scores(X) / self._temperature(), axis=1)
        return probabilities

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """How unlike all classes each sequence is, (item,): −max S over all prototypes."""
        return self._novelty_scores(self.encode(X))

    def plot(self, X: Any, y: Any = None, *, reducer: Any = None, dark: bool = False) -> Figure:
        """A scatter plot of the vectors of X in two dimensions, coloured by class, with the prototypes as stars.

        Parameters
        ----------
        y : array (item,), optional
            Classes, known or not; default: the labels of X, or the predicted classes if it has none.
        reducer : object with fit_transform(vectors), optional
            Reduces vectors (item, feature) to (item, 2), such as `sklearn.manifold.TSNE()`. None is PCA.
        dark : bool
            Whether to use colours for a dark background.
        """
        from .plots import plot_prototypes

        return plot_prototypes(self, self._validate_predict_input(X), y, reducer, dark)

    # --- pairs of sequences ------------------------------------------------------------------------------------------

    def similarity(self, x: Any, y: Any) -> Any:
        """S of two sequences, or a matrix (len x, len y) for collections. Higher is more similar, 0 undecided."""
        first, is_one = self._validate_one_or_many(x, "x")
        second, is_other_one = self._validate_one_or_many(y, "y")
        scores = pair_similarities(
            self.network_.similarity, self._encode_sequences(first), self._encode_sequences(second)
        )
        return float(scores[0, 0]) if is_one and is_other_one else scores

    def verify(self, x: Any, y: Any) -> Any:
        """Whether two sequences are of one class, known or not; for collections, a matrix.

        The threshold is that of `calibrate`; before, σ(S) ≥ ½ (eq. 5).
        """
        threshold = self.thresholds_.pair if hasattr(self, "thresholds_") else 0.0
        scores = self.similarity(x, y)
        return bool(scores >= threshold) if isinstance(scores, float) else scores >= threshold

    def retrieve(self, x: Any, gallery: Any, k: int = 1) -> RetrievalResult:
        """The k sequences of a gallery that are most similar to x, or to each of several (eq. 6).

        Ties are in the order of the gallery.
        """
        queries, is_one = self._validate_one_or_many(x, "x")
        candidates, _ = self._validate_one_or_many(gallery, "gallery")
        if check_int(k, "k", 1) > len(candidates):
            raise ValueError(f"k={k}: expected 1 to {len(candidates)}, the number of sequences in gallery")
        matches = retrieve_similar(
            self.network_.similarity, self._encode_sequences(queries), self._encode_sequences(candidates), k
        )
        return RetrievalResult(matches.ids[0], matches.similarities[0]) if is_one else matches

    def metric(self) -> SimilarityMetric:
        """The similarity as a metric, σ(−S), for everything that takes one, and as a kernel; see `SimilarityMetric`."""
        from .similarity_metric import SimilarityMetric

        self._require_fitted()
        return SimilarityMetric.from_fitted(self)

    # --- classes that come and go, each change as a whole or not at all ----------------------------------------------

    def enroll(
        self,
        X: Any,
        y: Any = None,
        *,
        extend: bool = False,
        n_prototypes: int | None = None,
        adapt_steps: int = 0,
        adapt_rate: float = 0.05,
    ) -> Self:
        """Add classes by examples: their prototypes are means of vectors, and nothing is trained.

        Enrolling in parts (with `extend`) is the same as at once, in any order. Thresholds of `calibrate` stay the
        same: call it again when many classes are new.

        Parameters
        ----------
        X, y
            Examples and their classes, by default the labels of X. One name is the class of all examples.
        extend : bool
            Whether examples may also be of known classes, whose prototypes they then move.
        n_prototypes : int, optional
            Number of prototypes of each class, by k-means; by default that of `fit`, or, for a class that is extended,
            the number it has.
        adapt_steps : int
            Steps of gradient descent, with momentum ½, by which the prototypes of these classes, and nothing else, are
            moved to tell these examples apart.
        adapt_rate : float
            The learning rate of these steps. The authors take 1e-4, by which prototypes hardly move.
        """
        self._require_fitted()
        check_bool(extend, "extend")
        steps, rate = check_int(adapt_steps, "adapt_steps", 0), check_float(adapt_rate, "adapt_rate", above=0, most=1e3)
        count = None if n_prototypes is None else check_int(n_prototypes, "n_prototypes", 1)
        if isinstance(X, str):
            raise TypeError(
                f"Prototypes.enroll(X, y): the sequences come first, then their classes; {format_value(X)} came first"
            )
        sequences = self._validate_predict_input(X)
        y = np.full(len(sequences), y) if isinstance(y, str) else y
        labels = self._validate_classes(sequences, y, "there is nothing to enroll")
        labels = match_label_dtype(labels, self.classes_, "y")
        if not extend:
            refuse_known_classes(labels, self.classes_)
        vectors = self._encode_sequences(sequences)
        table = add_examples(self._class_table(), labels, vectors, count=count, default_count=self.n_prototypes)
        if steps:
            table = adapt_prototypes(self.network_.similarity, table, labels, vectors, steps=steps, rate=rate)
        self._set_classes(*table)
        return self

    def forget(self, label: Any) -> Self:
        """Remove a class, its prototypes and its examples."""
        self._require_fitted()
        position = find_class(label, self.classes_, type(self).__name__)
        if len(self.classes_) == 1:
            raise ValueError(f"{format_value(label)} is the only class: enroll another before it is forgotten")
        self._set_classes(*remove_class(self._class_table(), position))
        return self

    def _class_table(self) -> ClassTable:
        return ClassTable(self.classes_, self.members_, self.prototypes_, self.owners_)

    def _set_classes(
        self, classes: NDArray[Any], members: Members, prototypes: Floats, owners: NDArray[np.int64]
    ) -> None:
        """Replace the classes and everything that belongs to them."""
        self.classes_, self.members_, self.prototypes_, self.owners_ = classes, members, prototypes, owners
        self.classes_changed_ = True
        self._copy_prototypes()

    # --- calibration -------------------------------------------------------------------------------------------------

    def calibrate(
        self, X: Any, y: Any = None, *, unknown: Any = None, false_accept: float = 0.01, false_reject: float = 0.05
    ) -> Self:
        """Learn temperature and thresholds from examples that `fit` and `enroll` have not seen.

        Parameters
        ----------
        X, y
            Examples of known classes with their labels: two classes or more, and two examples or more of some class.
        unknown : sequences, optional
            Examples of no known class; then `predict(reject=True)` weighs both errors alike.
        false_accept : float
            `verify` accepts two new examples of two of these classes with at most this probability. Pairs that share
            an example are not independent, so 2 / `false_accept` − 2 examples are needed: with fewer the threshold is
            above all pairs of two classes, and a `CalibrationWarning` states the guaranteed rate; with enough,
            `Verifier.calibrate` explains what is exact and what is proven. Nothing is promised for unknown classes: use
            `Verifier(model.metric())`, calibrated with other classes than these.
        false_reject : float
            Without `unknown`, `predict(reject=True)` rejects another example of these classes with at most this
            probability; an error with fewer than 1 / `false_reject` − 1 examples.
        """
        sequences = self._validate_predict_input(X)
        labels = self._validate_classes(sequences, y, "there is no calibration")
        rates = {
            "false_accept": check_share(false_accept, "false_accept"),
            "false_reject": check_share(false_reject, "false_reject"),
        }
        codes = encode_labels(labels, self.classes_, type(self).__name__)
        require_both_kinds_of_pairs(codes)
        unknown_novelty = None
        if unknown is not None:
            unknown_novelty = self._sequence_novelty(self._validate_one_or_many(unknown, "unknown")[0])
        vectors = self._encode_sequences(sequences)
        self.thresholds_ = calibrate_thresholds(
            codes,
            pair_similarities(self.network_.similarity, vectors, vectors),
            self._score_classes(vectors),
            self._novelty_scores(vectors),
            unknown_novelty,
            inference=self.inference,
            **rates,
        )
        return self

    def calibrate_stream(
        self,
        X: Any,
        y: Any = None,
        *,
        unknown: Any = None,
        error_rate: float = 0.05,
        false_reject: float = 0.05,
        n_looks: int = 8,
    ) -> Self:
        """Learn when a stream may decide, from prefixes of examples that `fit` has not seen.

        A stream looks `n_looks` times. It decides before the end if a class is so probable that at most a fraction
        `error_rate` of these examples would have been decided wrongly, counting one more, and if the novelty of the
        prefix is within the limit for whole examples; with too few examples to show that, it waits for the end. There
        it rejects as `predict(reject=True)` does: another known example with a probability of at most `false_reject`,
        or, with `unknown` ones, so that both errors are weighed alike. Unknown examples that would have been assigned a
        class count as wrong.

        Parameters
        ----------
        X, y
            Examples of known classes with their labels.
        unknown : sequences, optional
            Examples of no known class.
        error_rate : float
            The fraction of sequences that may be decided wrongly before their end.
        false_reject : float
            The probability with which a known sequence may be rejected at its end.
        n_looks : int
            Number of looks of a stream.
        """
        self._require_stream()
        max_error_rate, false_reject = check_share(error_rate, "error_rate"), check_share(false_reject, "false_reject")
        sequences = self._validate_predict_input(X)
        labels = self._validate_classes(sequences, y, "there is no calibration")
        codes = encode_labels(labels, self.classes_, type(self).__name__)
        unknown_sequences = None if unknown is None else self._validate_one_or_many(unknown, "unknown")[0]
        looks = stream.choose_looks(sequences.lengths, check_int(n_looks, "n_looks", 1))
        known_novelty = self._sequence_novelty(sequences)
        unknown_novelty = None if unknown_sequences is None else self._sequence_novelty(unknown_sequences)
        max_novelty = novelty_threshold(known_novelty, unknown_novelty, false_reject)
        everyone = sequences if unknown_sequences is None else Sequences([*sequences, *unknown_sequences])
        prefixes = (self._encode_sequences(stream.first_steps(everyone, look)) for look in looks.tolist())
        self.stream_bounds_ = stream.calibrate_bounds(
            looks,
            [self._recognize_vectors(vectors) for vectors in prefixes],
            codes,
            self.classes_,
            max_novelty=max_novelty,
            error_rate=max_error_rate,
            inference=self.inference,
        )
        return self

    def stream(self) -> PrototypeStream:
        """A stream that recognizes one sequence, sample by sample; use a new stream for the next sequence.

        >>> import numpy as np
        >>> import timelike as tl  # needs: timelike[learn]
        >>> t, rng = np.arange(40), np.random.default_rng(0)
        >>> X = np.sin(t / np.repeat([2, 6], 40)[:, None] + rng.uniform(0, 6, (80, 1)))
        >>> y = np.repeat(["fast", "slow"], 40)
        >>> model = tl.Prototypes(max_steps=60, random_state=0).fit(X[::2], y[::2]).calibrate_stream(X[1::2], y[1::2])
        >>> stream = model.stream()
        >>> for sample in X[3]:
        ...     if stream.push(sample).is_certain:
        ...         break
        >>> stream.finish().label, stream.n_samples <= 40
        ('fast', True)
        """
        self._require_stream()
        if not hasattr(self, "stream_bounds_"):
            raise ValueError(
                "a stream has no decision bounds yet: call calibrate_stream(X, y) with examples that fit has not seen"
            )
        self._refuse_other_inference(self.stream_bounds_.inference, "calibrate_stream(X, y)")
        inner = stream.combine_streams(self._encoders())
        # a copy, so that the stream does not change with classes that are enrolled or forgotten meanwhile
        return PrototypeStream(copy.copy(self)._recognize_vectors, inner, self.stream_bounds_)

    def export_onnx(self, path: str | Path) -> None:
        """Write an ONNX file: `x` (item, time, channel) in; `features`, `scores`, `probabilities` out, in float32.

        They are those of `encode`, `class_scores` and `predict_proba`; the classes, in their order, are in the metadata
        `classes`, as JSON. Classes that are enrolled later are not included. The encoders must have a graph (see
        `Encoder.export_onnx`). Needs the extra `onnx`.
        """
        self._require_fitted()
        import_extra("torch", "Prototypes.export_onnx")
        from .onnx_graph import write_onnx

        write_onnx(self, path)

    # --- vectors and their scores ------------------------------------------------------------------------------------

    @property
    def _learned_similarity(self) -> LearnedSimilarity | None:
        """The perceptron of `similarity_fn`; None for the cosine."""
        similarity: LearnedSimilarity | None = self._resolve_parameter("similarity_fn", self.similarity_fn)
        return similarity

    def _encoders(self) -> list[Any]:
        return [self.encoder_, *self.extra_encoders_]

    def _encode_sequences(self, sequences: Sequences, n_jobs: int | None = None) -> Floats:
        """Vectors of validated sequences, by all encoders together."""
        return encoder_adapter.concatenate_vectors(
            [encoder_adapter.encode_sequences(one, sequences, n_jobs) for one in self._encoders()]
        )

    def _class_scorer(self) -> ClassScorer:
        """The scorer of the current classes; an error if `inference` is a head without them."""
        self._refuse_dense_head()
        return ClassScorer(
            self.network_,
            self.prototypes_,
            self.owners_,
            len(self.classes_),
            self.inference,
            self.n_trained_features_,
            len(self._encoders()),
        )

    def _score_classes(self, vectors: Floats) -> NDArray[np.float64]:
        return self._class_scorer().scores(vectors)

    def _novelty_scores(self, vectors: Floats) -> NDArray[np.float64]:
        return novelty_scores(self.network_.similarity, self.prototypes_, vectors)

    def _sequence_novelty(self, sequences: Sequences) -> NDArray[np.float64]:
        return self._novelty_scores(self._encode_sequences(sequences))

    def _recognize_vectors(self, vectors: Floats) -> RecognizedVectors:
        scores = self._score_classes(vectors)
        probabilities = softmax(scores / self._temperature(), axis=1)
        labels = self.classes_[scores.argmax(axis=1)]
        return RecognizedVectors(labels, probabilities.max(axis=1), self._novelty_scores(vectors))

    def _temperature(self) -> float:
        if not hasattr(self, "thresholds_"):
            return 1.0
        self._refuse_other_inference(self.thresholds_.inference, "calibrate(X, y)")
        return self.thresholds_.temperature

    # --- checks ------------------------------------------------------------------------------------------------------

    def _refuse_dense_head(self) -> None:
        if self.inference == "similarity":
            return
        if self.network_.dense is None:
            raise ValueError(f"inference={self.inference!r}: auxiliary=None has no dense head; use 'similarity'")
        if self.classes_changed_:
            raise ValueError(
                f"inference={self.inference!r}: the dense head has the {len(self.trained_classes_)} classes of fit "
                "only, and classes were enrolled or forgotten since; use set_params(inference='similarity')"
            )

    def _refuse_other_inference(self, calibrated_inference: str, call: str) -> None:
        if calibrated_inference != self.inference:
            raise ValueError(
                f"inference={self.inference!r}: it was {calibrated_inference!r} when this {type(self).__name__} was "
                f"calibrated; set it back, or call {call} again"
            )

    def _require_thresholds(self, request: str) -> PrototypeThresholds:
        self._require_fitted()
        if not hasattr(self, "thresholds_"):
            raise ValueError(f"{request} needs a threshold: call calibrate(X, y) with examples that fit has not seen")
        return self.thresholds_

    def _require_stream(self) -> None:
        self._require_fitted()
        stream.require_streams(self._encoders())

    def _validate_one_or_many(self, value: Any, name: str) -> tuple[Sequences, bool]:
        """Validated sequences, and whether a single one was given: (time,) or (time, *frame)."""
        self._require_fitted()
        if not hasattr(value, "__len__"):
            raise TypeError(
                f"{name} is a {type(value).__name__}: expected a sequence (time,) or (time, channel), or several"
            )
        sequences, is_one = as_one_or_many(value, self.frame_, name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        if not self._takes_missing():
            sequences.refuse_missing(type(self).__name__, name)
        self._refuse_frame(sequences.frame, name)
        return sequences, is_one

    def _takes_missing(self) -> bool:
        """Whether the encoder takes missing values."""
        encoder = getattr(self, "encoder_", None) or self.encoder
        return hasattr(encoder, "_takes_missing") and bool(encoder._takes_missing())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.auxiliary is None and self.inference != "similarity":
            raise ValueError(f"inference={self.inference!r}: auxiliary=None has no dense head; use 'similarity'")
        if self.averaging != "exact" and self.n_prototypes > 1:
            raise ValueError(
                f"n_prototypes={self.n_prototypes}: averaging={self.averaging!r} has one for every class; use 'exact'"
            )
        if self.extra_encoders and self._learned_similarity is not None:
            raise ValueError(
                f"extra_encoders={self.extra_encoders!r:.60}: similarity_fn={self.similarity_fn!r} takes no "
                "vectors but those of the encoder; use 'cosine'"
            )
        if self.averaging != "exact" and self.extra_encoders:
            raise ValueError(
                f"averaging={self.averaging!r}: vectors of `extra_encoders` have no moving averages; use 'exact'"
            )
        if self.trainer_.batch_size == 1:
            raise ValueError("trainer.batch_size=1: expected at least 2, since sequences of a batch are compared")
        if self.adversary is not None and self.freeze:
            raise ValueError("adversary needs an encoder that is trained: use freeze=False")

    # --- parts of the encoder, and saving ----------------------------------------------------------------------------

    @property
    def scaler_(self) -> Any:  # type: ignore[override]
        """The scaler of the encoder, or None."""
        return getattr(self.encoder_, "scaler_", None)

    @property
    def _flattens_frames(self) -> bool:  # type: ignore[override]
        """Whether the encoder takes frames of any shape as plain vectors."""
        return bool(getattr(self.encoder_, "_flattens_frames", False))

    def _refuse_to_save(self) -> None:
        if isinstance(self.encoder_, encoder_adapter.ModuleEncoder):
            raise TypeError(
                "encoder is a custom torch module, which cannot be saved: keep network_.state_dict(), or use "
                "an encoder of the library"
            )
        super()._refuse_to_save()

    def _get_state(self) -> dict[str, Any]:
        if isinstance(self.network_, FrozenNetwork):
            return Model._get_state(self) | {"network_": self.network_.weights}
        state = super()._get_state()
        own = {name: array for name, array in state["network_"].items() if not name.startswith("encoder.")}
        return state | {"network_": own}  # the encoder saves its weights itself

    def _set_state(self, state: dict[str, Any]) -> None:
        if self._learned_similarity is None and not is_installed("torch"):
            state = dict(state)
            weights = state.pop("network_", None)
            Model._set_state(self, state)
            self.network_ = FrozenNetwork.from_weights(
                weights, self.n_trained_features_, len(self.trained_classes_), dense=self.auxiliary
            )
        else:
            super()._set_state(state)
        self._copy_prototypes()

    def _all_weights(self, weights: Any) -> Any:
        if not isinstance(weights, dict):
            return weights
        from .network import encoder_module

        encoder = encoder_module(self.encoder_).state_dict()  # `unit` is not part of it
        return weights | {f"encoder.{name}": tensor.numpy() for name, tensor in encoder.items()}

    def _check_attributes(self, attributes: Mapping[str, Any]) -> None:
        super()._check_attributes(attributes)
        n_classes = len(self.classes_)
        for name, owners in (("owners_", self.owners_), ("members_.owners", self.members_.owners)):
            if not np.array_equal(np.unique(owners), np.arange(n_classes)) or (np.diff(owners) < 0).any():
                raise ValueError(f"{name}: expected the {n_classes} classes in their order")

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        from ..metric import SiameseGRU

        return {"encoder": SiameseGRU(hidden=4, random_state=0)}
