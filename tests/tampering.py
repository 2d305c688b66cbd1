"""Edits of JSON files, and of the folders of models so that the checksums fit again."""

import json

from safetensors.numpy import load_file, save_file

from timelike.core.files import file_checksum, json_checksum


def read_config(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def write_config(folder, config):
    """Put a configuration in place, with the checksums that it must have."""
    config = {name: value for name, value in config.items() if name != "checksum"}
    if "tensors_checksum" in config:
        config["tensors_checksum"] = file_checksum(folder / "model.safetensors")
    config["checksum"] = json_checksum(config)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def replace_arrays(folder, arrays):
    """Put other arrays in place of some, by their names; None removes one."""
    found = load_file(folder / "model.safetensors") | arrays
    found = {name: array for name, array in found.items() if array is not None}
    save_file(found, folder / "model.safetensors")
    write_config(folder, read_config(folder) | {"tensors": sorted(found)})


def mutated(tree):
    """Every tree in which one entry is left out or replaced by something else."""
    entries = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, value in entries[:4] if isinstance(tree, list) else entries:
        for new in (None, [], {}, "odd", -1, True):
            yield type(tree)(tree) | {key: new} if isinstance(tree, dict) else [*tree[:key], new, *tree[key + 1 :]]
        if isinstance(tree, dict):
            yield {name: one for name, one in tree.items() if name != key}
        else:
            yield [*tree[:key], *tree[key + 1 :]]
        if isinstance(value, dict | list) and value:
            for inner in mutated(value):
                copy = tree.copy()
                copy[key] = inner
                yield copy
