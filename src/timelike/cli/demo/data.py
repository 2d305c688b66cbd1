"""The data of the demo: real files of the installed aeon package, or generated sequences where they are missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...sequences import Sequences

_SEED = 0  # of everything that is generated
_SERIES = {"Airline": "Airline/Airline.csv", "solar": "solar/solar.csv"}  # in aeon's folder of data


@dataclass(frozen=True, kw_only=True)
class DemoData:
    """Sequences to show something with; `source` says in words what they are."""

    train: Sequences
    test: Sequences | None = None
    source: str


@dataclass(frozen=True, kw_only=True)
class _ClassesLike:
    """The sizes of a labelled data set, for the sequences that are generated in its place."""

    train: int
    test: int
    length: int | tuple[int, int]
    classes: int
    channels: int


_CLASSES = {
    "BasicMotions": _ClassesLike(train=40, test=40, length=100, classes=4, channels=6),
    "JapaneseVowels": _ClassesLike(train=270, test=370, length=(7, 29), classes=9, channels=12),
    "PickupGestureWiimoteZ": _ClassesLike(train=50, test=50, length=(29, 361), classes=10, channels=1),
    "ItalyPowerDemand": _ClassesLike(train=67, test=1029, length=24, classes=2, channels=1),
}


def load_or_generate(name: str) -> DemoData:
    """The data set of this name, or generated sequences of the same sizes; nothing is downloaded.

    Labelled data sets have a training and a test part. "Airline" (passengers by month) and "solar" (power by half hour)
    are one long series each, in `train`.

    >>> load_or_generate("Airline").train.lengths
    array([144])
    """
    if name in _CLASSES:
        return _load_classes(name)
    if name in _SERIES:
        return _load_series(name)
    raise ValueError(f"name={name!r}: expected one of {', '.join([*_CLASSES, *_SERIES])}")


def list_missing(names: Iterable[str]) -> list[str]:
    """Those of the data sets whose files are not installed, so that `load_or_generate` generates them."""
    from ...sequences import list_datasets

    installed = list_datasets()
    return [
        name
        for name in names
        if (name not in installed if name in _CLASSES else _find_aeon_file(_SERIES[name]) is None)
    ]


def _load_classes(name: str) -> DemoData:
    from ...sequences import list_datasets, load

    if name in list_datasets():  # load would look for it in the network
        train, test = load(name)
        return DemoData(train=train, test=test, source=name)
    return _generate_classes(name)


def _generate_classes(name: str) -> DemoData:
    from ...sequences.generate import warped_sequences

    like = _CLASSES[name]
    made = warped_sequences(
        like.train + like.test, like.length, classes=like.classes, channels=like.channels, noise=0.3, random_state=_SEED
    ).sequences
    assert made.labels is not None
    made = made.replace(labels=made.labels + 1)
    words = f"generated sequences of the sizes of {name}, whose files are not installed"
    return DemoData(train=made[: like.train], test=made[like.train :], source=words)


def _load_series(name: str) -> DemoData:
    import numpy as np

    from ...sequences import Sequences

    file = _find_aeon_file(_SERIES[name])
    if file is None:
        values = _GENERATORS[name](np.random.default_rng(_SEED))
        source = f"a generated series in place of {name}, whose file is not installed"
    else:  # months without days are no dates to `load`, and the demo needs the values only
        values, source = np.loadtxt(file, delimiter=",", skiprows=1, usecols=1), name
    return DemoData(train=Sequences([values], ids=[name]), source=source)


def _find_aeon_file(path: str) -> Path | None:
    try:
        package = importlib.util.find_spec("aeon")  # found without being imported
    except (ImportError, ValueError):
        return None
    places = (package and package.submodule_search_locations) or ()
    return next((file for place in places if (file := Path(place, "datasets", "data", path)).is_file()), None)


def _generate_passengers(rng: np.random.Generator) -> NDArray[Any]:
    """Twelve years by month: growth times a summer peak."""
    import numpy as np

    month = np.arange(144)
    season = 1 + 0.2 * np.sin(2 * np.pi * (month - 3) / 12)
    return np.asarray(110 * np.exp(0.01 * month) * season * np.exp(0.03 * rng.normal(size=144)))


def _generate_solar_power(rng: np.random.Generator) -> NDArray[Any]:
    """Six days and one value by half hour: the sun's height under clouds of that day."""
    import numpy as np

    step = np.arange(289)
    height = np.maximum(np.sin(2 * np.pi * (step % 48 - 11) / 48), 0)
    clear = rng.uniform(0.4, 1, size=7)[step // 48]
    return np.asarray(0.6 * height * clear * np.exp(0.05 * rng.normal(size=289)))


_GENERATORS: dict[str, Callable[[np.random.Generator], NDArray[Any]]] = {
    "Airline": _generate_passengers,
    "solar": _generate_solar_power,
}
