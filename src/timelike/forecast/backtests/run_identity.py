"""The identity of a backtest, compared by checkpoints: data, models and scores as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.files import json_checksum
from ...models import fingerprint
from ...models.packer import Packer
from ...sequences import Sequences
from ..base import Forecaster
from .window_scores import ScoreFunction


def data_identity(sequences: Sequences) -> str:
    """A checksum of values, lengths and times."""
    times = [] if sequences.times is None else [sequences.times.view(np.int64)]
    return str(fingerprint(sequences.values, sequences.lengths, *times))


def model_identity(model: Forecaster) -> str:
    """A checksum of the options and learned attributes of a model."""
    packer = Packer()
    try:
        words = packer.to_json(model, "model")
    except TypeError:  # a custom class that cannot be saved
        return re.sub(r" at 0x[0-9a-f]+", "", f"{type(model).__qualname__} {sorted(vars(model).items())!r}")
    arrays = [np.asarray(packer.arrays[name]) for name in sorted(packer.arrays)]
    return f"{json_checksum(words)} {fingerprint(*arrays)}"


def score_identities(scores: dict[str, ScoreFunction]) -> list[str]:
    """Texts that identify the scores and their arguments; raises an error for scores without an identity."""
    return [one if isinstance(one, str) else _function_identity(name, one) for name, one in scores.items()]


def _function_identity(name: str, one: Callable[..., Any]) -> str:
    whole = getattr(one, "func", one)
    where = f"{getattr(whole, '__module__', '')}.{getattr(whole, '__qualname__', '<')}"
    if "<" in where:  # a lambda or a nested function, whose name is not unique
        raise ValueError(
            f"checkpoint: the score {name!r} cannot be identified, which a checkpoint needs: use a function of a "
            "module, or a partial of one, or no checkpoint"
        )
    args = [*enumerate(getattr(one, "args", ())), *sorted(getattr(one, "keywords", {}).items())]
    return f"{where}({', '.join(f'{key}={_argument_identity(value, name)}' for key, value in args)})"


def _argument_identity(value: Any, name: str) -> str:
    if isinstance(value, np.ndarray):
        return str(fingerprint(value))
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float | bool):
        return repr(plain)
    if isinstance(plain, tuple | list):
        return f"[{', '.join(_argument_identity(one, name) for one in plain)}]"
    raise ValueError(
        f"checkpoint: the score {name!r} has the argument {value!r:.60}, which cannot be identified: expected "
        "numbers, strings or arrays, or no checkpoint"
    )
