"""Nested states as JSON and named tensors, and back. Nothing is ever pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

_TENSOR, _TUPLE, _ITEMS, _FLOAT = "__tensor__", "__tuple__", "__items__", "__float__"
Known = Callable[[Any, str], Any]
Made = Callable[[dict[str, Any]], Any]


def flatten(tree: Any, name: str, known: Known | None = None) -> tuple[Any, dict[str, Tensor]]:
    """What JSON can hold, and the tensors it refers to, each called by its path from `name`.

    `known` may say in its own words what certain objects are: it gives a dict for those, None for others.

    >>> flatten({"step": 3, "mean": torch.zeros(2)}, "adam")
    ({'step': 3, 'mean': {'__tensor__': 'adam.mean'}}, {'adam.mean': tensor([0., 0.])})
    """
    tensors: dict[str, Tensor] = {}
    return _flat(tree, name, tensors, known or _nothing), tensors


def unflatten(skeleton: Any, tensors: dict[str, Tensor], made: Made | None = None) -> Any:
    """The tree that `flatten` took apart; `made` gets every dict first, and gives an object for those it knows.

    >>> unflatten(*flatten({1: (2.0, None), "far": math.inf}, "x"))
    {1: (2.0, None), 'far': inf}
    """
    if isinstance(skeleton, list):
        return [unflatten(entry, tensors, made) for entry in skeleton]
    if not isinstance(skeleton, dict):
        return skeleton
    if made is not None and (found := made(skeleton)) is not None:
        return found
    if _TENSOR in skeleton:
        return tensors[skeleton[_TENSOR]]
    if _TUPLE in skeleton:
        return tuple(unflatten(entry, tensors, made) for entry in skeleton[_TUPLE])
    if _ITEMS in skeleton:
        return {key: unflatten(value, tensors, made) for key, value in skeleton[_ITEMS]}
    if _FLOAT in skeleton:
        return float(skeleton[_FLOAT])
    return {key: unflatten(value, tensors, made) for key, value in skeleton.items()}


def _nothing(tree: Any, name: str) -> None:
    """Nothing is known in a special way."""


def _flat(tree: Any, name: str, tensors: dict[str, Tensor], known: Known) -> Any:
    if (words := known(tree, name)) is not None:
        return words
    if isinstance(tree, np.ndarray):
        tree = torch.from_numpy(np.ascontiguousarray(tree))
    if isinstance(tree, Tensor):
        tensors[name] = tree
        return {_TENSOR: name}
    if isinstance(tree, np.generic):
        tree = tree.item()
    if isinstance(tree, float) and not math.isfinite(tree):
        return {_FLOAT: str(tree)}  # JSON has no word for it
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, list | tuple):
        entries = [_flat(entry, f"{name}.{i}", tensors, known) for i, entry in enumerate(tree)]
        return entries if isinstance(tree, list) else {_TUPLE: entries}
    if isinstance(tree, dict) and all(isinstance(key, str | int) for key in tree):
        items = {key: _flat(value, f"{name}.{key}", tensors, known) for key, value in tree.items()}
        plain = all(isinstance(key, str) and not key.startswith("__") for key in items)
        return items if plain else {_ITEMS: [[key, value] for key, value in items.items()]}
    raise TypeError(
        f"{name} is a {type(tree).__name__}, which no file can hold: expected numbers, strings, None, tensors, "
        "and lists, tuples or dicts of these"
    )


def separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU, none sharing memory with another, as safetensors wants them."""
    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }


def below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix.`, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with `prefix.` before their names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}
