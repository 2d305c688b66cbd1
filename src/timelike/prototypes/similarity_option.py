"""`similarity`, which is an option of the constructor and a verb of what it makes: one name for both."""

from __future__ import annotations

from typing import Any, Literal, get_args

from ..core.parameters import check_choice
from ..models import options

SimilarityKind = Literal["learned", "cosine", "fused"]


class SimilarityOption(options.Option[Any]):
    """The option: the class knows how it is checked, an instance has the verb, and `get_params` the value."""

    def __init__(self) -> None:
        super().__init__(_check_kind, optional=True)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)["_similarity"] = value.given if isinstance(value, SimilarityVerb) else value

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else SimilarityVerb(instance)


class SimilarityVerb:
    """S of two sequences, a float; of collections, a matrix (len x, len y). More is more alike, 0 undecided.

    `given` is what the constructor was given.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def given(self) -> SimilarityKind | None:
        """What the constructor was given."""
        found: SimilarityKind | None = vars(self._model)["_similarity"]
        return found

    @property
    def kind(self) -> SimilarityKind:
        """What that means."""
        return self.given or "cosine"

    def __call__(self, x: Any, y: Any) -> Any:
        """S of two sequences, a float; of collections, a matrix (len x, len y)."""
        return self._model._similarity_of(x, y)

    def __repr__(self) -> str:
        return repr(self.given)


def _check_kind(value: Any, name: str) -> str | None:
    given = value.given if isinstance(value, SimilarityVerb) else value
    return None if given is None else check_choice(given, name, get_args(SimilarityKind))
