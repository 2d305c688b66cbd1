"""Folders of models edited by somebody who knows the format: the checksums fit again."""

import json

from safetensors.numpy import load_file, save_file

from timelike.models.checksums import checksum, json_checksum


def read_config(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def write_config(folder, config):
    """Put a configuration in place, with the checksums that it must have."""
    config = {name: value for name, value in config.items() if name != "checksum"}
    if "tensors_checksum" in config:
        config["tensors_checksum"] = checksum(folder / "model.safetensors")
    config["checksum"] = json_checksum(config)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def replace_arrays(folder, arrays):
    """Put other arrays in place of some, by their names; None removes one."""
    found = load_file(folder / "model.safetensors") | arrays
    found = {name: array for name, array in found.items() if array is not None}
    save_file(found, folder / "model.safetensors")
    write_config(folder, read_config(folder) | {"tensors": sorted(found)})
