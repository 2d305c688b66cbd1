"""A forest of extremely randomized trees over vectors, stored as plain arrays so that it can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...core.random import check_random_state
from ...models import schema
from ...sequences.sampling import RandomState
from .numpy_heads import vector_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_N_TREES = 300  # accuracy hardly changes beyond
_LEAF = -1  # marks a missing child


@dataclass(frozen=True)
class ForestHead:
    """Many trees, whose predictions are averaged (Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006).

    The nodes of all trees are in one list: vectors with `feature ≤ threshold` go left, the others right.
    """

    roots: Ints
    """The position of the root of each tree, (tree,)."""
    left: Ints
    """The position of the left child of each node, −1 at a leaf, (node,)."""
    right: Ints
    feature: Ints
    threshold: Floats
    value: Floats
    """Fractions of classes, or a number, (node, output)."""

    @classmethod
    def fit_classifier(cls, vectors: Floats, codes: Ints, *, random_state: RandomState = 0) -> Self:
        """Fit trees that predict classes; √features are tried at every node."""
        from sklearn.ensemble import ExtraTreesClassifier

        return cls._from_sklearn(
            ExtraTreesClassifier(_N_TREES, random_state=_sklearn_seed(random_state), n_jobs=1).fit(vectors, codes)
        )

    @classmethod
    def fit_regressor(cls, vectors: Floats, targets: Floats, *, random_state: RandomState = 0) -> Self:
        """Fit trees that predict a number; a third of the features is tried at every node."""
        from sklearn.ensemble import ExtraTreesRegressor

        forest = ExtraTreesRegressor(_N_TREES, random_state=_sklearn_seed(random_state), n_jobs=1, max_features=1 / 3)
        return cls._from_sklearn(forest.fit(vectors, targets))

    @classmethod
    def _from_sklearn(cls, forest: Any) -> Self:
        trees = [one.tree_ for one in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1].astype(np.int64)
        sides = (
            [np.where(side < 0, _LEAF, side + root) for side, root in zip(of, roots, strict=True)]
            for of in ([tree.children_left for tree in trees], [tree.children_right for tree in trees])
        )
        left, right = (np.concatenate(side).astype(np.int64) for side in sides)
        feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
        threshold = np.concatenate([tree.threshold for tree in trees])
        value = np.concatenate([tree.value[:, 0] for tree in trees])
        return cls(roots, left, right, feature, threshold, value)

    def predict_proba(self, vectors: Floats) -> Floats:
        """The mean prediction of all trees, (item, output): fractions of classes, or one number."""
        rounded = vectors.astype(np.float32)  # as the trees were grown
        at = np.repeat(self.roots[None], len(vectors), axis=0)
        rows, trees = np.nonzero(self.left[at] != _LEAF)
        while len(rows):
            node = at[rows, trees]
            below = rounded[rows, self.feature[node]] <= self.threshold[node]
            at[rows, trees] = node = np.where(below, self.left[node], self.right[node])
            inner = self.left[node] != _LEAF
            rows, trees = rows[inner], trees[inner]
        total = np.zeros((len(vectors), self.value.shape[1]))
        for tree in range(len(self.roots)):  # one by one, as in scikit-learn, so that sums round alike
            total += self.value[at[:, tree]]
        return total / len(self.roots)

    def predict(self, vectors: Floats) -> NDArray[Any]:
        """The most probable class, or the number, (item,)."""
        outputs = self.predict_proba(vectors)
        return np.asarray(outputs[:, 0] if outputs.shape[1] == 1 else outputs.argmax(axis=1))


def _sklearn_seed(random_state: RandomState) -> int | None:
    """A seed for scikit-learn: an integer, one drawn from a generator, or None for different trees each time."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state) % (1 << 32)
    return int(check_random_state(random_state).integers(1 << 32))


def _check_forest(forest: ForestHead, name: str, scope: schema.CheckScope) -> None:
    """Raise an error unless children come after their parents, so that every path ends, and leaves have no child."""
    inner = forest.left != _LEAF
    if not np.array_equal(inner, forest.right != _LEAF):
        raise ValueError(f"{name}: a node has one child: expected two, or none")
    place = np.flatnonzero(inner)
    if (forest.left[place] <= place).any() or (forest.right[place] <= place).any():
        raise ValueError(f"{name}: a node comes before its parent: expected children after their parents")
    if (forest.feature[place] < 0).any():
        raise ValueError(f"{name}.feature is negative at a node that has children")
    size = vector_size(scope.model)
    if forest.feature.max(initial=-1) >= size:
        raise ValueError(f"{name}.feature holds {forest.feature.max()}: expected features of vectors of {size}")


def _forest_schema(outputs: schema.Dimension) -> Any:
    return schema.record(
        ForestHead,
        check=_check_forest,
        roots=schema.indices("tree", below="node"),
        left=schema.indices("node", below="node", least=_LEAF),
        right=schema.indices("node", below="node", least=_LEAF),
        feature=schema.array("node", dtype="int64"),
        threshold=schema.array("node"),
        value=schema.array("node", outputs),
    )


FOREST_CLASS_SCHEMA, FOREST_NUMBER_SCHEMA = _forest_schema("class"), _forest_schema(1)
"""Schemas of the heads for fitted attributes."""
