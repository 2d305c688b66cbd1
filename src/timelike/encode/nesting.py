"""A fitted model within another: how it is kept in the folder of the one around it."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..train import Savable, trees
from ..train.parameters import from_json, to_json


def packed(model: Savable, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of a model, each called `name.…`, and words for everything else about it."""
    tensors, extra = model._learned()
    return trees.under(name, tensors), {"model": to_json({"model": model}), "extra": extra}


def unpacked(tensors: dict[str, Tensor], words: dict[str, Any], name: str) -> Any:
    """The model that `packed` took apart."""
    model = from_json(words["model"])["model"]
    model._restore(trees.below(name, tensors), words["extra"])
    return model
