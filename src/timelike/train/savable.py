"""What an estimator needs in order to be saved and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from .folders import SavedModel, save_model

# parameters of a training, on which a model no longer depends when it is over
_OVER = {
    *("learning_rate", "weight_decay", "max_epochs", "max_steps", "max_iterations", "patience", "validation"),
    *("loss", "per_class", "batch_size", "n_way", "k_shot", "n_query", "augment"),
    *("checkpoint", "progress", "random_state"),
}


class Savable(ABC):
    """An estimator that can be written to a folder: it says what it learned, and takes it up again."""

    _parameters: dict[str, Any]

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """A fit that breaks off leaves neither half a model nor parts of two: everything is as before it."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        self._note_parameters()

    def _note_parameters(self) -> None:
        """Note the parameters of now, with which the model was made."""
        self._parameters = self.get_params(deep=False)  # type: ignore[attr-defined]

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
        self._refuse_changed(own)
        save_model(folder, method=type(self).__name__, parameters=own, tensors=tensors, extra=extra)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """The model that was saved."""
        model = cls(**saved.parameters)
        model._restore(saved.tensors, saved.extra)
        model._note_parameters()
        return model

    def _refuse_changed(self, own: dict[str, Any]) -> None:
        """A parameter that was set after the fit would make another model of what is read from the folder."""
        for name, value in getattr(self, "_parameters", {}).items():
            if name not in _OVER and own[name] is not value and repr(own[name]) != repr(value):
                raise ValueError(
                    f"{name}={own[name]!r} was {value!r} when this {type(self).__name__} was fitted: set it back with "
                    f"set_params({name}={value!r}), or fit again, before saving"
                )
