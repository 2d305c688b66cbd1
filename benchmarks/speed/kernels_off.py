"""timelike without its kernels, for a while: what a row was before them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_kernels() -> Iterator[None]:
    before = os.environ.get("TIMELIKE_NATIVE")
    os.environ["TIMELIKE_NATIVE"] = "0"
    try:
        yield
    finally:
        del os.environ["TIMELIKE_NATIVE"]
        if before is not None:
            os.environ["TIMELIKE_NATIVE"] = before
