"""The compiled kernels of a clone: those of the installed library where their sources are the same, or a build."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

NATIVE = Path("src/timelike/native")
_ENDINGS = {".cpp", ".hpp", ".h"}


def native_sources(tree: Path) -> list[Path]:
    """What the kernels of a tree are built from."""
    files = (path for path in (tree / NATIVE).rglob("*") if path.suffix in _ENDINGS or path.name == "CMakeLists.txt")
    return sorted(files)


def digest_sources(tree: Path) -> str:
    """A digest of names and contents; empty where a tree has no kernels."""
    sources = native_sources(tree)
    total = hashlib.sha256()
    for path in sources:
        total.update(f"{path.relative_to(tree).as_posix()}\0{len(path.read_bytes())}\0".encode() + path.read_bytes())
    return total.hexdigest()[:16] if sources else ""


def install_kernels(tree: Path, cache: Path) -> None:
    """Put the kernels of a tree's own sources into it; they are built once for every state of the sources."""
    for old in (tree / NATIVE).glob(f"_kernels*{_suffix()}"):
        old.unlink()
    digest = digest_sources(tree)
    if not digest:
        return
    cached = cache / digest / f"_kernels{_suffix()}"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        found = installed_kernels(digest)
        if found is not None:
            _copy(found, cached)
        else:
            _build(tree, cached)
    shutil.copy2(cached, tree / NATIVE)


def installed_kernels(digest: str) -> Path | None:
    """The kernels of this environment if they were built from sources with this digest.

    An editable install names its tree. Sources that were written after the build may not be in it.
    """
    try:
        installed = distribution("timelike")
    except PackageNotFoundError:
        return None
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    tree = Path(unquote(urlparse(origin.get("url", "")).path))
    built = next(Path(str(installed.locate_file("timelike/native"))).glob(f"_kernels*{_suffix()}"), None)
    if not origin.get("dir_info", {}).get("editable") or built is None or digest_sources(tree) != digest:
        return None
    newest = max(path.stat().st_mtime for path in native_sources(tree))
    return built if newest <= built.stat().st_mtime else None


def _build(tree: Path, cached: Path) -> None:
    """Build a tree with pip into a folder of its own, and keep the kernels only."""
    tools_are_here = all(find_spec(name) is not None for name in ("scikit_build_core", "nanobind"))
    isolation = ["--no-build-isolation"] if tools_are_here else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    print(f"building the kernels of {tree}", flush=True)
    with tempfile.TemporaryDirectory(prefix="timelike-build-") as target:
        _run([*command, *isolation, "--target", target, str(tree)])
        built = next((Path(target) / "timelike/native").glob(f"_kernels*{_suffix()}"), None)
        if built is None:  # the build falls back to a library without kernels, whose times and digits are others
            raise RuntimeError(f"the kernels of {tree} could not be built: is there a C++ compiler?")
        _copy(built, cached)


def _run(command: list[str]) -> None:
    """Run a command; its compilers end with it where this process is interrupted."""
    process = subprocess.Popen(command, start_new_session=True)
    try:
        code = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}")


def _copy(built: Path, cached: Path) -> None:
    """A half-written file never counts as cached."""
    part = cached.with_suffix(".part")
    shutil.copy2(built, part)
    part.replace(cached)


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))
