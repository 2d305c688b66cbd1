"""`torch` where it is installed, else None: for test modules of which only some tests need it; these are marked `learn`.

A test that uses it without the mark fails where torch is missing.
"""

from importlib import import_module
from importlib.util import find_spec

torch = import_module("torch") if find_spec("torch") else None
