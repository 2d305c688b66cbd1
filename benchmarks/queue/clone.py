"""The queue's own clone of the repository at a fixed commit, and how programs run in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.queue.folders import Folders
from benchmarks.queue.kernels import install_kernels

_CODE = ("src", "benchmarks", "pyproject.toml", ":!benchmarks/results", ":!benchmarks/queue", ":!*.md")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")
HOOK = '''"""An editable install finds the working tree before the path does: here the clone is meant."""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
'''


class Clone:
    """A clone of the repository whose working tree is `source`."""

    def __init__(self, folders: Folders, source: Path) -> None:
        self.folders, self.source = folders, source

    @property
    def commit(self) -> str:
        """The full name of the commit that the clone is at; empty where there is none yet."""
        if not (self.folders.tree / ".git").exists():
            return ""
        return run_git(self.folders.tree, "rev-parse", "HEAD")

    def wished_commit(self, name: str = "HEAD") -> str:
        """The full name of a commit of the source repository."""
        return run_git(self.source, "rev-parse", "--verify", f"{name}^{{commit}}")

    def move_to(self, commit: str) -> None:
        """Be at this commit, with its kernels; nothing is done where the clone is there already."""
        tree, hook = self.folders.tree, self.folders.hook / "sitecustomize.py"
        if self.commit == commit and hook.exists():
            return
        hook.unlink(missing_ok=True)  # written last: without it the clone counts as unfinished, and is made again
        tree.mkdir(parents=True, exist_ok=True)
        if not (tree / ".git").exists():
            run_git(tree, "init", "--quiet")
        run_git(tree, "fetch", "--quiet", "--no-tags", str(self.source), commit)
        run_git(tree, "checkout", "--quiet", "--force", "--detach", commit)
        run_git(tree, "clean", "--quiet", "-d", "--force")
        install_kernels(tree, self.folders.kernels)
        self._drop_old_scratch()
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text(HOOK, encoding="utf-8")

    @property
    def scratch(self) -> Path:
        """For checkpoints and trained models; another one for every state of the code that can change a row."""
        files = run_git(self.folders.tree, "ls-files", "--stage", "--", *_CODE)
        return self.folders.base / "scratch" / hashlib.sha256(files.encode()).hexdigest()[:16]

    def environment(self) -> dict[str, str]:
        """Of processes that run in the clone: its library, one thread, no windows."""
        path = [self.folders.hook, self.folders.tree / "src", self.folders.tree]
        settings = {"PYTHONPATH": os.pathsep.join(map(str, path)), "MPLBACKEND": "agg", "PYTHONUNBUFFERED": "1"}
        return os.environ | dict.fromkeys(THREADS, "1") | settings

    def _drop_old_scratch(self) -> None:
        for folder in self.scratch.parent.glob("*"):
            if folder != self.scratch:
                shutil.rmtree(folder, ignore_errors=True)


def run_git(folder: Path, *words: str) -> str:
    """The output of git in a folder; what git says is part of the error."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)} in {folder}: {done.stderr.strip()}")
    return done.stdout.strip()


def lower_priority(nice: int = 19) -> None:
    """A low priority for the processor and, where the system can, for the disk; children inherit both."""
    os.nice(nice)
    if nice and shutil.which("ionice"):
        subprocess.run(["ionice", "-c", "3", "-p", str(os.getpid())], capture_output=True, check=False)
