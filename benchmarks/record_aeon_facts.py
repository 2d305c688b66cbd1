"""Write down what aeon's own reader gives for the .ts files in its package: tests/sequences/io/aeon_ts_facts.json.

Run it with aeon installed (`pip install aeon`): `python benchmarks/record_aeon_facts.py`. The tests compare our reader
with the recorded numbers and never import aeon.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parents[1] / "tests" / "sequences" / "io" / "aeon_ts_facts.json"


def data_folder() -> Path:
    spec = find_spec("aeon")
    if spec is None or spec.origin is None:
        raise SystemExit("aeon is not installed: pip install aeon")
    return Path(spec.origin).parent / "datasets" / "data"


def facts(path: Path) -> dict[str, Any]:
    from aeon.datasets import load_from_ts_file

    values, labels = load_from_ts_file(str(path))
    sequences = [np.asarray(sequence, dtype=np.float64) for sequence in values]
    everything = np.concatenate([sequence.ravel() for sequence in sequences])
    regression = np.asarray(labels).dtype.kind == "f"
    return {
        "cases": len(sequences),
        "channels": int(sequences[0].shape[0]),
        "total_length": sum(sequence.shape[1] for sequence in sequences),
        "missing": int(np.isnan(everything).sum()),
        "min": float(np.nanmin(everything)),
        "max": float(np.nanmax(everything)),
        "sum": float(np.nansum(everything)),
        "labels": {"sum": float(np.sum(labels))} if regression else dict(sorted(Counter(map(str, labels)).items())),
    }


def main() -> None:
    folder = data_folder()
    recorded = {file.relative_to(folder).as_posix(): facts(file) for file in sorted(folder.glob("*/*.ts"))}
    TARGET.write_text(json.dumps({"aeon": version("aeon"), "files": recorded}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(recorded)} files of aeon {version('aeon')} recorded in {TARGET.name}")


if __name__ == "__main__":
    main()
