"""New classes without training, more examples of old ones, and classes that are forgotten."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from ...models import options
from ...sequences.arguments import flag, real, shown, whole
from .calibrating import Calibrating
from .members import Floats, Members, centres, in_order


class Enrolling(Calibrating):
    """Classes come and go; a change happens as a whole or not at all."""

    n_prototypes = options.whole(1)

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
        flag(extend, "extend")
        steps, rate = whole(adapt_steps, "adapt_steps", 0), real(adapt_rate, "adapt_rate", above=0, most=1e3)
        count = None if n_prototypes is None else whole(n_prototypes, "n_prototypes", 1)
        if isinstance(X, str):
            raise TypeError(f"enroll(X, y): the sequences come first, then their classes; {shown(X)} came first")
        sequences = self._asked(X)
        y = np.full(len(sequences), y) if isinstance(y, str) else y
        labels = self._classes(sequences, y, "there is nothing to enroll")
        labels = self._like_known(labels, "y")
        self._refuse_known(labels, extend)
        vectors = self._vectors(sequences)
        classes, members, touched = self._joined(labels, vectors, count)
        prototypes, owners = self._moved(classes, members, touched)
        if steps:
            codes = np.searchsorted(classes, labels)
            prototypes = self._adapted(prototypes, owners, vectors, codes, steps, rate)
        self._settle(classes, members, prototypes, owners)
        return self

    def forget(self, label: Any) -> Self:
        """Remove a class, its prototypes and its examples."""
        self._require_fitted()
        place = self._place(label)
        if len(self.classes_) == 1:
            raise ValueError(f"{shown(label)} is the only class: enroll another before it is forgotten")
        stay, kept = self.members_.owners != place, self.owners_ != place
        members = Members(
            self.members_.vectors[stay],
            _closed(self.members_.owners[stay], place),
            np.delete(self.members_.counts, place),
        )
        self._settle(
            np.delete(self.classes_, place), members, self.prototypes_[kept], _closed(self.owners_[kept], place)
        )
        return self

    def _place(self, label: Any) -> int:
        """Which of the classes has this label."""
        if isinstance(label, list | tuple | dict | set) or np.ndim(label) != 0:
            raise TypeError(f"label is a {type(label).__name__}: expected one class; forget them one after the other")
        self._refuse_mixture(np.asarray([label]), "label")
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            some = ", ".join(map(shown, self.classes_.tolist()[:5])) + (", …" if len(self.classes_) > 5 else "")
            raise ValueError(f"label={shown(label)} is no class of this {type(self).__name__}: expected one of {some}")
        return int(found[0])

    def _refuse_known(self, labels: NDArray[Any], extend: bool) -> None:
        known = np.intersect1d(labels, self.classes_)
        if len(known) and not extend:
            raise ValueError(
                f"y holds {shown(known.tolist()[0])}, which is a class already: extend=True adds the examples to it, "
                f"forget({shown(known.tolist()[0])}) makes room for others"
            )

    def _joined(
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
        order = in_order(more, theirs)
        every = np.concatenate([self.members_.vectors[~fresh], more[order]])
        owners = np.concatenate([old[~fresh], theirs[order]])
        by_class = np.argsort(owners, kind="stable")
        return classes, Members(every[by_class], owners[by_class], counts), touched

    def _moved(
        self, classes: NDArray[Any], members: Members, touched: NDArray[np.int64]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Prototypes of all classes: those without new examples as they were."""
        owners = np.searchsorted(classes, self.classes_)[self.owners_]
        stay = ~np.isin(owners, touched)
        new = [centres(members.of(owner), int(members.counts[owner])) for owner in touched.tolist()]
        theirs = np.repeat(touched, [len(some) for some in new])
        prototypes, owners = np.concatenate([self.prototypes_[stay], *new]), np.concatenate([owners[stay], theirs])
        by_class = np.argsort(owners, kind="stable")
        return prototypes[by_class], owners[by_class]

    def _adapted(
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

    def _settle(self, classes: NDArray[Any], members: Members, prototypes: Floats, owners: NDArray[np.int64]) -> None:
        """From now on these: everything was computed before."""
        self.classes_, self.members_, self.prototypes_, self.owners_ = classes, members, prototypes, owners
        self.enrolled_ = True
        self.network_.place(prototypes, owners)


def _closed(owners: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    """Numbers of classes after one is gone."""
    return owners - (owners > place)
