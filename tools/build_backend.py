"""The build backend: scikit-build-core, told whether timelike would run without its compiled kernels.

Without kernels some methods need torch. Where they cannot be compiled, a pure Python wheel is made only if torch is
installed where timelike will be, or if TIMELIKE_FALLBACK=1 says that it will be; otherwise the build fails and says
what to do (`overrides` in pyproject.toml). pip builds in an environment of its own, from which nothing of the target
can be imported; but it is the target's interpreter, which knows its folders.
"""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from scikit_build_core.build import *  # noqa: F403  (all hooks of a backend)


def _target_folders() -> Iterator[str]:
    """The folders from which the target's interpreter imports what is installed."""
    yield from sys.path  # without build isolation it is the target itself
    yield from (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    settings = Path(sys.prefix, "pyvenv.cfg")
    sees_system = "include-system-site-packages = true"
    if not settings.exists() or sees_system in settings.read_text(encoding="utf-8").lower():
        yield from site.getsitepackages([sys.base_prefix, sys.base_exec_prefix])
        yield site.getusersitepackages()


def _has_torch() -> bool:
    spec = PathFinder.find_spec("torch", list(_target_folders()))
    return spec is not None and spec.origin is not None  # a folder of that name is no package


if _has_torch():
    os.environ.setdefault("TIMELIKE_FALLBACK", "1")
