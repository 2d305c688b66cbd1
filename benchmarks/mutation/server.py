"""Runs tests in forks of a process that has everything but the library imported; started in a copy of the tree.

A line of JSON comes in for each run: the tests, and how much time they may take. A line goes out: what became of it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn

from benchmarks.mutation import plugins

_IMPORTED = [
    *["numpy", "scipy.stats", "scipy.optimize", "sklearn.utils.estimator_checks", "sklearn.svm", "sklearn.pipeline"],
    *["torch", "torch.nn.functional", "torch.func", "torch._dynamo", "lightning_fabric", "safetensors.torch", "joblib"],
    *["pytest", "_pytest.doctest", "hypothesis.strategies", "hypothesis.extra.numpy", "ot", "narwhals", "tqdm"],
    *["matplotlib.pyplot", "pandas", "polars", "xarray", "pyarrow.parquet", "pytorch_metric_learning.losses"],
    *["tslearn.metrics", "dtaidistance", "geomloss", "onnx", "onnxruntime", "rich", "typer"],
]
_PATIENCE = 10  # seconds of the clock for a second of work: the machine may be busy, and tests may wait


def main() -> None:
    """Answer until nobody asks any more."""
    for name in _IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a child need not look through what is there already
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inside)
        _run(asked, outside)
    os.close(outside)
    found = _heard(inside, began + _PATIENCE * asked["seconds"])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with whatever the tests have started
    used = os.wait4(child, 0)[2]
    work = used.ru_utime + used.ru_stime
    return found | {"seconds": round(time.perf_counter() - began, 2), "work": round(work, 2)}


def _heard(pipe: int, end: float) -> dict[str, Any]:
    with os.fdopen(pipe, "rb") as stream:
        text = b""
        while select.select([stream], [], [], max(0.0, end - time.perf_counter()))[0]:
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                return dict(json.loads(text)) if text else {"outcome": "hung", "by": "no answer"}
            text += piece
    return {"outcome": "hung", "by": "the clock"}


def _run(asked: dict[str, Any], pipe: int) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (int(asked["seconds"]), int(asked["seconds"]) + 1))

    def tell(found: dict[str, Any]) -> NoReturn:
        with os.fdopen(pipe, "wb") as stream:
            stream.write(json.dumps(found).encode())
        os._exit(0)  # without the leave that pytest and torch take

    try:
        tell(plugins.run(asked, tell))
    except plugins.SetupError as error:
        tell({"outcome": "impossible", "by": "setup", "how": str(error)})
    except BaseException as error:
        tell({"outcome": "caught", "by": "collection", "how": f"{type(error).__name__}: {error}"[:200]})


if __name__ == "__main__":
    main()
