"""What an estimator needs in order to be saved and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from .folders import SavedModel, save_model


class Savable(ABC):
    """An estimator that can be written to a folder: it says what it learned, and takes it up again."""

    @abstractmethod
    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        """The tensors it learned, and what else it learned that is no tensor (class names, sizes)."""

    @abstractmethod
    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        """Take up what `_learned` gave, in an estimator made with the same parameters."""

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder, for `timelike.load_model`; a model that is there is replaced.

        A generator given as a parameter is not saved: it comes back as None. A path comes back as a string.
        """
        tensors, extra = self._learned()
        own: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        save_model(folder, method=type(self).__name__, parameters=own, tensors=tensors, extra=extra)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """The model that was saved."""
        model = cls(**saved.parameters)
        model._restore(saved.tensors, saved.extra)
        return model
