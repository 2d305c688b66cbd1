"""Prototypes: an encoder, a learned similarity and a prototype for every class, trained together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train.processes import Accelerator, Precision
from ..attacks.base import Attack
from .network import Averaging, Dense, Head
from .training import Schedules, Training
from .verb import Kind


class Prototypes(Training):
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
        None for the causal network of `SiameseGRU`, with vectors that need no training `beside` it. An encoder of the
        library that is not fitted is trained from its first weights with the labels; a fitted one goes on from what it
        learned; one without a torch module, such as `Rocket`, is fitted and used as it is, by
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
    adversary : attack of `timelike.recognize.attacks`, optional
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

    @classmethod
    def _small(cls) -> dict[str, Any]:
        from ...metric import SiameseGRU

        return {"encoder": SiameseGRU(hidden=4, random_state=0), "hidden": 4}
