"""Prototypes: an encoder, a learned similarity and a prototype for every class, trained together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int, format_value, store_parameters
from ..sequences.sampling import RandomState
from ..train.processes import Accelerator, Precision
from .members import Floats, Members, canonical_order, cluster_centers
from .network import Averaging, DenseHead, Head
from .objective import Adversary
from .retrieval import SimilarityKind
from .training import ScheduleName, TrainedPrototypes


class Prototypes(TrainedPrototypes):
    """One network for every question about classes: which one, the same one, the most similar, a new one, none.

    An encoder E makes vectors of sequences, a perceptron S says how alike two vectors are, and a class is the mean C of
    the vectors of its examples. All are trained together, so that examples are like the prototype of their class and
    like each other within it (Monteiro et al., "Learning semantic similarities for prototypical classifiers", 2021):

        L = L_class + L_pair + L_aux,   p(y = k | x) = softmax_k S(C_k, E(x)),   p(same | x, y) = σ(S(E(x), E(y)))

    Then `predict` asks for the most similar prototype, `verify` for two sequences of one class, known or not,
    `retrieve` for the most similar of a gallery; `enroll` adds a class by a few examples without training, `forget`
    removes one, and `novelty` says what is like no class.

    Use it where classes come and go, where strangers must be refused, or where one model is to serve several of these
    tasks. To tell apart a fixed set of classes, try `EmbeddingClassifier` first, which is faster; to compare sequences
    of classes that nobody has seen, an elastic distance or `Discriminant(classes="open")` asks for less: a network
    that is trained on few classes knows little but these.

    Parameters
    ----------
    encoder : encoder, torch module or None
        None for the causal network of `SiameseGRU`, with vectors that need no training `extra_encoders` it. An encoder
        of the library that is not fitted is trained from its first weights with the labels; a fitted one goes on from
        what it learned; one without a torch module, such as `Rocket`, is fitted and used as it is, by
        128 whitened components where it has more than 512 features. A torch module takes
        (x, lengths), x (item, time, *frame), and gives vectors (item, feature). For images and vectors see
        `ImageEncoder` and `VectorEncoder`.
    similarity : {"cosine", "learned", "fused"} or None
        S: s cos + b, with s and b learned, which None stands for; the paper's perceptron of both vectors; or the mean
        of σ of that and (1 + cos) / 2 in answers. With few classes the perceptron learns their names: it is as good for
        these, and hardly knows any other that is enrolled (decision 0039).
    beside : list of encoders or None
        Encoders that are used as they are beside the one that is trained, each with twice its share of a vector;
        fitted first if they are not. None for `Discriminant(classes="open")` of `Rocket(causal=True)` and of
        `StatisticsEncoder` where `encoder` is None, and for nothing otherwise. [] for nothing. For the cosine only.
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
        earlier weights; or weights that are learned themselves. A class that is forgotten and enrolled again is the
        same with "exact" only.
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
    adversary : attack of `timelike.attacks`, optional
        Train on what it makes of every batch.
    learning_rate, weight_decay, optimizer, schedule
        As in `SiameseGRU`; "steps" is a tenth from 200 epochs on, as in the paper.
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

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": MappingProxyType(
                {
                    "similarity_fn": "learned",
                    "extra_encoders": [],
                    "symmetrize": False,
                    "averaging": "moving",
                    "label_smoothing": 0.2,
                    "soft_pairs": True,
                    "n_per_class": 5,
                    "perturb": False,
                    "optimizer": "adam",
                    "learning_rate": 1e-4,
                    "weight_decay": 5e-4,
                    "schedule": "milestones",
                    "max_epochs": 500,
                }
            )
        }
    )

    def __init__(
        self,
        *,
        encoder: Any = None,
        similarity_fn: SimilarityKind | None = None,
        extra_encoders: list[Any] | None = None,
        freeze: bool = False,
        n_prototypes: int = 1,
        inference: Head = "similarity",
        hidden: int = 512,
        dropout: float = 0.25,
        symmetrize: bool = True,
        auxiliary: DenseHead | None = "plain",
        averaging: Averaging = "exact",
        momentum: float = 0.9,
        label_smoothing: float = 0.0,
        soft_pairs: bool = False,
        n_per_class: int = 6,
        batch_size: int = 64,
        perturb: bool = True,
        adversary: Adversary | None = None,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-3,
        optimizer: Literal["adamw", "adam"] = "adamw",
        schedule: ScheduleName = "one_cycle",
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
        store_parameters(self, locals())

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

        Enrolling in parts (with `extend`) is the same as at once, in any order. Thresholds of `calibrate` stay: call
        it again when many classes are new.

        Parameters
        ----------
        X, y
            Examples and their classes: `y`, or the labels that X carries. One name stands for the class of all.
        extend : bool
            Whether examples may also be of classes that are known, whose prototypes they then move.
        n_prototypes : int, optional
            How many prototypes a class gets, by k-means; as many as those of `fit`, or for a class that is extended as
            many as it has.
        adapt_steps : int
            Steps of gradient descent, with momentum ½ and the rate `adapt_rate`, by which the prototypes of these
            classes, and nothing else, are moved to tell these examples apart. The authors take a rate of 1e-4, by which
            they hardly move.
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
        labels = self._match_label_dtype(labels, "y")
        self._refuse_enrolled(labels, extend)
        vectors = self._encode_sequences(sequences)
        classes, members, touched = self._add_members(labels, vectors, count)
        prototypes, owners = self._update_prototypes(classes, members, touched)
        if steps:
            codes = np.searchsorted(classes, labels)
            prototypes = self._adapt_prototypes(prototypes, owners, vectors, codes, steps, rate)
        self._set_classes(classes, members, prototypes, owners)
        return self

    def forget(self, label: Any) -> Self:
        """Remove a class, its prototypes and its examples."""
        self._require_fitted()
        place = self._class_position(label)
        if len(self.classes_) == 1:
            raise ValueError(f"{format_value(label)} is the only class: enroll another before it is forgotten")
        stay, kept = self.members_.owners != place, self.owners_ != place
        members = Members(
            self.members_.vectors[stay],
            _renumber_after_removal(self.members_.owners[stay], place),
            np.delete(self.members_.counts, place),
        )
        self._set_classes(
            np.delete(self.classes_, place),
            members,
            self.prototypes_[kept],
            _renumber_after_removal(self.owners_[kept], place),
        )
        return self

    def _class_position(self, label: Any) -> int:
        """Which of the classes has this label."""
        if isinstance(label, list | tuple | dict | set) or np.ndim(label) != 0:
            raise TypeError(f"label is a {type(label).__name__}: expected one class; forget them one after the other")
        self._refuse_mixed_labels(np.asarray([label]), "label")
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            some = ", ".join(map(format_value, self.classes_.tolist()[:5])) + (", …" if len(self.classes_) > 5 else "")
            raise ValueError(
                f"label={format_value(label)} is no class of this {type(self).__name__}: expected one of {some}"
            )
        return int(found[0])

    def _refuse_enrolled(self, labels: NDArray[Any], extend: bool) -> None:
        known = np.intersect1d(labels, self.classes_)
        if len(known) and not extend:
            raise ValueError(
                f"y holds {format_value(known.tolist()[0])}, which is a class already: extend=True adds the examples "
                "to it, "
                f"forget({format_value(known.tolist()[0])}) makes room for others"
            )

    def _add_members(
        self, labels: NDArray[Any], vectors: Floats, count: int | None
    ) -> tuple[NDArray[Any], Members, NDArray[np.int64]]:
        """All classes, all examples, and which classes have new ones."""
        classes = np.unique(np.concatenate([self.classes_, labels]))
        moved = np.searchsorted(classes, self.classes_)
        codes = np.searchsorted(classes, labels).astype(np.int64)
        counts = np.full(len(classes), self.n_prototypes, np.int64)
        counts[moved] = self.members_.counts
        touched = np.unique(codes)
        if count is not None:
            counts[touched] = count
        old = moved[self.members_.owners]
        fresh = np.isin(old, touched)
        more, theirs = np.concatenate([self.members_.vectors[fresh], vectors]), np.concatenate([old[fresh], codes])
        order = canonical_order(more, theirs)
        every = np.concatenate([self.members_.vectors[~fresh], more[order]])
        owners = np.concatenate([old[~fresh], theirs[order]])
        by_class = np.argsort(owners, kind="stable")
        return classes, Members(every[by_class], owners[by_class], counts), touched

    def _update_prototypes(
        self, classes: NDArray[Any], members: Members, touched: NDArray[np.int64]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Prototypes of all classes: those without new examples as they were."""
        owners = np.searchsorted(classes, self.classes_)[self.owners_]
        stay = ~np.isin(owners, touched)
        new = [cluster_centers(members.class_vectors(owner), int(members.counts[owner])) for owner in touched.tolist()]
        theirs = np.repeat(touched, [len(some) for some in new])
        prototypes, owners = np.concatenate([self.prototypes_[stay], *new]), np.concatenate([owners[stay], theirs])
        by_class = np.argsort(owners, kind="stable")
        return prototypes[by_class], owners[by_class]

    def _adapt_prototypes(
        self,
        prototypes: Floats,
        owners: NDArray[np.int64],
        vectors: Floats,
        codes: NDArray[np.int64],
        steps: int,
        rate: float,
    ) -> Floats:
        """Prototypes of these classes after some steps down the loss of eq. 2 on these examples."""
        moving = torch.from_numpy(np.isin(owners, codes))
        given, all_of, targets = (torch.from_numpy(array) for array in (vectors, prototypes.copy(), codes))
        own = all_of[moving].clone().requires_grad_()
        descent = torch.optim.SGD([own], lr=rate, momentum=0.5)
        classes = torch.from_numpy(owners).expand(len(given), -1)
        for _ in range(steps):
            now = all_of.masked_scatter(moving[:, None], own)
            each = self.network_.similarity.matrix(now, given).T
            empty = each.new_full((len(given), int(owners.max()) + 1), -torch.inf)
            loss = F.cross_entropy(empty.scatter_reduce(1, classes, each, "amax"), targets)
            own.grad = torch.autograd.grad(loss, own)[0]  # which leaves none in the network
            descent.step()
        found: Floats = all_of.masked_scatter(moving[:, None], own).detach().numpy()
        if not np.isfinite(found).all():
            raise ValueError(f"adapt_rate={rate:g}: prototypes are not finite after {steps} steps; use a smaller one")
        return found

    def _set_classes(
        self, classes: NDArray[Any], members: Members, prototypes: Floats, owners: NDArray[np.int64]
    ) -> None:
        """From now on these: everything was computed before."""
        self.classes_, self.members_, self.prototypes_, self.owners_ = classes, members, prototypes, owners
        self.classes_changed_ = True
        self.network_.set_prototypes(prototypes, owners)

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        from ..metric import SiameseGRU

        return {"encoder": SiameseGRU(hidden=4, random_state=0), "hidden": 4}


def _renumber_after_removal(owners: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    """Numbers of classes after one is gone."""
    return owners - (owners > place)
