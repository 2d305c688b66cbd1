"""Conversion of models, values and fitted attributes to JSON and named arrays, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..sequences import Sequences
from . import registry, trees

if TYPE_CHECKING:
    from .base import Model

_KIND = "__kind__"  # objects other than methods: sequences, a record, a pipeline, a reference to an earlier object
_SEQUENCE_FIELDS = ("labels", "groups", "ids", "times", "channel_names", "class_names")


class Packer:
    """Converts objects to JSON and arrays. An object that occurs twice is stored once, so shared parts stay shared."""

    def __init__(self) -> None:
        self.arrays: trees.Arrays = {}
        self._seen_names: dict[int, str] = {}
        self._alive: list[Any] = []  # an id is only an id as long as its object lives

    def to_json(self, tree: Any, name: str, records: tuple[type[Any], ...] = ()) -> Any:
        """JSON for anything; its arrays are noted under names that begin with `name`."""

        def describe(value: Any, place: str) -> Any:
            return self._describe_object(value, place, records)

        return trees.flatten(tree, name, describe, self.arrays)[0]

    def method(self, model: Any, name: str) -> dict[str, Any]:
        """A model or a value: its name, its parameters and, if it is fitted, its fitted attributes."""
        called = registry.registered_name(type(model))
        if called is None:
            raise TypeError(
                f"{name} is a {type(model).__name__}, which is not a public name of a package of timelike: such a "
                "model could be written but never found again"
            )
        fitted = isinstance(model, _model_class()) and model.__sklearn_is_fitted__()
        if fitted:
            model._refuse_to_save()
        parameters = {option: _to_writable(value) for option, value in constructor_parameters(model).items()}
        description = {"method": called, "parameters": self._parameters_to_json(parameters, f"{name}.parameters")}
        if fitted:
            description["learned"] = {
                attribute: self.to_json(
                    value, f"{name}.learned.{attribute}", type(model)._attribute_schemas()[attribute].records
                )
                for attribute, value in model._get_state().items()
            }
        return description

    def _parameters_to_json(self, parameters: dict[str, Any], name: str) -> dict[str, Any]:
        return {option: self.to_json(value, f"{name}.{option}") for option, value in parameters.items()}

    def _describe_object(self, value: Any, name: str, records: tuple[type[Any], ...]) -> Any:
        """Words for what is more than a number, a text or an array; None for those."""
        if value is None or isinstance(value, bool | int | float | str | bytes | list | dict | np.ndarray | np.generic):
            return None
        if isinstance(value, records):
            return {_KIND: "record", "record": type(value).__name__, "fields": self.to_json(record_fields(value), name)}
        if isinstance(value, tuple):
            return None
        if id(value) in self._seen_names:
            return {_KIND: "same", "as": self._seen_names[id(value)]}
        words = self._object_to_json(value, name)
        if words is None or dataclasses.is_dataclass(value):  # a value cannot change, so it need not be shared
            return words
        self._seen_names[id(value)] = name
        self._alive.append(value)
        return words | {"called": name}

    def _object_to_json(self, value: Any, name: str) -> dict[str, Any] | None:
        if isinstance(value, Sequences):
            return {_KIND: "sequences", "fields": self.to_json(_sequences_to_fields(value), name)}
        if isinstance(value, FrozenEstimator):
            return {_KIND: "frozen", "estimator": self.to_json(value.estimator, f"{name}.estimator")}
        if isinstance(value, Pipeline):
            steps = [[step, self._step_to_json(part, step, f"{name}.{step}")] for step, part in value.steps]
            return {_KIND: "pipeline", "steps": steps, "verbose": value.verbose}
        is_method = isinstance(value, _model_class()) or registry.registered_name(type(value)) is not None
        return self.method(value, name) if is_method else None

    def _step_to_json(self, part: Any, step: str, name: str) -> Any:
        if part is None or part == "passthrough":
            return part
        inner = part.estimator if isinstance(part, FrozenEstimator) else part
        if registry.registered_name(type(inner)) is None and not isinstance(inner, Pipeline):
            raise TypeError(
                f"the step {step!r} of the pipeline is a {type(inner).__name__}, which is not of this library and "
                "cannot be saved: expected steps of timelike, such as an encoder and Neighbors, or "
                "EmbeddingClassifier with its own head"
            )
        return self.to_json(part, name)


class Unpacker:
    """Restores the objects that a `Packer` converted."""

    def __init__(self, arrays: trees.Arrays) -> None:
        self.arrays = arrays
        self._seen_objects: dict[str, Any] = {}

    def value(self, words: Any, records: tuple[type[Any], ...] = ()) -> Any:
        """The object the words are about."""

        def build(some: dict[str, Any]) -> Any:
            return self._build_object(some, records)

        return trees.unflatten(words, self.arrays, build)

    def method(self, words: Mapping[str, Any]) -> Any:
        """A model or a value, looked up by name, with its fitted attributes."""
        kind = registry.find_class(words["method"])
        parameters = {
            name: self._entry_from_json(f"parameters.{name}", value) for name, value in words["parameters"].items()
        }
        model = kind(**parameters)
        if isinstance(model, _model_class()):
            model._refuse_options()
        if words.get("learned") is not None:
            if registry.is_frozen_value(kind):
                raise ValueError(f"{words['method']} learns nothing, so there is nothing to put back into it")
            learner: Model = model
            learner._set_state(self._attributes_from_json(kind, words["learned"]))
        return model

    def _attributes_from_json(self, kind: type[Model], words: Any) -> dict[str, Any]:
        """The fitted attributes, restored from the declared types only."""
        if not isinstance(words, dict):
            raise ValueError(f"learned is {words!r:.60}: expected the attributes of {kind.__name__}")
        declared = kind._attribute_schemas()
        return {
            name: self._entry_from_json(f"learned.{name}", some, declared[name].records if name in declared else ())
            for name, some in words.items()
        }

    def _entry_from_json(self, name: str, words: Any, records: tuple[type[Any], ...] = ()) -> Any:
        """The object behind one entry, by whose name an error is known."""
        try:
            return self.value(words, records)
        except (ImportError, MemoryError):
            raise  # of which no entry is guilty
        except Exception as error:  # a constructor may raise any error for parameters that it did not write
            what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else error
            raise ValueError(f"{name}: {what}") from error

    def _build_object(self, words: dict[str, Any], records: tuple[type[Any], ...]) -> Any:
        if words.keys() >= {"method", "parameters"}:
            built = self.method(words)
        elif _KIND not in words:
            return None
        else:
            built = self._build_special(words, records)
        if "called" in words:
            self._seen_objects[words["called"]] = built
        return built

    def _build_special(self, words: dict[str, Any], records: tuple[type[Any], ...]) -> Any:
        kind = words[_KIND]
        if kind == "same":
            return self._seen_objects[words["as"]]
        if kind == "sequences":
            return _sequences_from_fields(self.value(words["fields"]))
        if kind == "frozen":
            return FrozenEstimator(self.value(words["estimator"]))
        if kind == "pipeline":
            steps = [(name, self.value(part)) for name, part in words["steps"]]
            pipeline = Pipeline(steps, verbose=bool(words.get("verbose", False)))
            pipeline._validate_steps()  # names, and that each but the last transforms
            return pipeline
        record_classes = {record.__name__: record for record in records}
        if kind == "record" and words["record"] in record_classes:
            return make_record(record_classes[words["record"]], self.value(words["fields"]))
        raise ValueError(f"{words.get('record', kind)!r} is not among what save() writes here")


def _model_class() -> type[Model]:
    from .base import Model  # which is saved by this module

    return Model


def record_fields(record: Any) -> dict[str, Any]:
    """The fields of a record by name."""
    if hasattr(record, "_asdict"):
        named: dict[str, Any] = record._asdict()
        return named
    if hasattr(record, "state"):
        state: dict[str, Any] = record.state()
        return state
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def make_record(kind: type[Any], fields: dict[str, Any]) -> Any:
    """The record that `record_fields` took apart."""
    return kind.from_state(fields) if hasattr(kind, "from_state") else kind(**fields)


def constructor_parameters(method: Any) -> dict[str, Any]:
    """The constructor arguments of a model or a value, by name."""
    if dataclasses.is_dataclass(method):
        return {field.name: getattr(method, field.name) for field in dataclasses.fields(method) if field.init}
    own: dict[str, Any] = method.get_params(deep=False)
    return own


def _to_writable(parameter: Any) -> Any:
    """A generator has no words, and a path is its name."""
    if isinstance(parameter, np.random.Generator | np.random.RandomState):
        return None
    return str(parameter) if isinstance(parameter, Path) else parameter


def _sequences_to_fields(sequences: Sequences) -> dict[str, Any]:
    about = {name: getattr(sequences, name) for name in _SEQUENCE_FIELDS}
    if about["times"] is not None and about["times"].dtype.kind == "M":  # safetensors has no dates
        about |= {"times": about["times"].view(np.int64), "clock": about["times"].dtype.str}
    return {"values": sequences.values, "offsets": sequences.offsets, **about}


def _sequences_from_fields(fields: dict[str, Any]) -> Sequences:
    clock = fields.pop("clock", None)
    if clock is not None:
        fields["times"] = fields["times"].view(clock)
    return Sequences.from_packed(fields.pop("values"), fields.pop("offsets"), **fields)
