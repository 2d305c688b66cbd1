"""A small repository with two programs, which the queue's tests clone, run, stop and kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.queue.clone import HOOK

ROOT = Path(__file__).parents[1]
PATIENCE = 300  # seconds: only a failure waits that long

PROGRAM = '''"""A program of three rows that takes part in the tests' plots."""

import os
import signal
import sys
import time
from pathlib import Path

from benchmarks.papers.results import Trial
from benchmarks.papers.resumable import Program

import timelike

PLACE = Path(os.environ["TOY_PLACE"])


class Toy(Program[Trial]):
    """Rows that note their beginning, and wait, fail or crash where the test wants it."""

    paper, table, holds, title = "toy", "{table}", "nothing", "A toy"
    without_data, seeds = True, 1

    def planned(self):
        return [Trial("walks", method, seed) for seed in range(self.given.seeds) for method in ("DTW", "TAP", "OPW")]

    def work(self, row):
        name = f"{{self.table}} {{row.key}}"
        with (PLACE / "begun").open("a") as stream:
            stream.write(name + "\\n")
        while name == os.environ.get("TOY_WAITS") and not (PLACE / "go").exists():
            time.sleep(0.01)
        if name == os.environ.get("TOY_FAILS"):
            raise ValueError("this row cannot be")
        if name == os.environ.get("TOY_CRASHES"):
            os.kill(os.getpid(), signal.SIGKILL)
        return {{"accuracy": timelike.VALUE + len(row.method), "threads": os.environ["OMP_NUM_THREADS"],
                "nice": os.nice(0) - int(os.environ["TOY_NICE"])}}

    def seconds(self, row):
        return 60.0

    def systems(self, row):
        return ()

    def said(self, found):
        return str(found["accuracy"])

    def headline(self):
        return "A toy."

    def body(self):
        return "\\n".join(self.rows)


if __name__ == "__main__":
    sys.exit(Toy.main())
'''

ORDER = """
[[entry]]
program = "papers.toy.second"
only = ["TAP"]
minutes = 1
why = "The most telling row."

[[entry]]
program = "papers.toy.first"
minutes = 3
why = "A table."

[[entry]]
program = "papers.toy.second"
only = ["OPW"]
minutes = 1
why = "Waits for something."
after = "issue 7"

[[entry]]
program = "*"
minutes = 1
why = "The rest."
"""

IN_ORDER = ["second walks/TAP/0", "first walks/DTW/0", "first walks/TAP/0", "first walks/OPW/0", "second walks/DTW/0"]


class ToyRepository:
    """A repository at `root`, a queue that keeps its clone at `base`, and a place where programs leave notes."""

    def __init__(self, folder):
        self.root, self.base, self.place = folder / "tree", folder / "queue", folder / "place"
        self.place.mkdir()
        (self.place / "sitecustomize.py").write_text(HOOK)  # an editable install comes before the path
        ignored = shutil.ignore_patterns("__pycache__", "results", "order.toml", "ledger.json")
        for name in ("queue", "numerics", "evidence"):
            if (ROOT / "benchmarks" / name).exists():
                shutil.copytree(ROOT / "benchmarks" / name, self.root / "benchmarks" / name, ignore=ignored)
        (self.root / "benchmarks/papers/toy").mkdir(parents=True)
        for path in [ROOT / "benchmarks/__init__.py", *(ROOT / "benchmarks/papers").glob("*.py")]:
            shutil.copy2(path, self.root / path.relative_to(ROOT))
        for table in ("first", "second"):
            self.write(f"benchmarks/papers/toy/{table}.py", PROGRAM.format(table=table))
        self.write("benchmarks/queue/order.toml", ORDER)
        self.write("src/timelike/__init__.py", '__version__ = "0"\nVALUE = 0\n')
        self.write(".gitignore", "__pycache__/\n")
        self.git("init", "--quiet")
        self.commit("The toy")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *words):
        who = ["-c", "user.name=toy", "-c", "user.email=toy@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, why):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--no-verify", "--message", why)
        return self.head

    @property
    def head(self):
        return self.git("rev-parse", "--short=10", "HEAD")

    def start(self, *words, **toy):
        """A process of the queue, or of one of its commands."""
        how = ["--clone", str(self.base), "--nice", "1"]  # on a busy machine the lowest priority would never end
        return self.start_module("benchmarks.queue", *how, *words, **toy)

    def start_module(self, module, *words, **toy):
        """A process that runs a module of the toy, with the toy's library."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOY_", "TIMELIKE_"))}
        path = [self.place, self.root, self.root / "src"]
        environment |= {"PYTHONPATH": os.pathsep.join(map(str, path)), "TOY_PLACE": str(self.place)}
        environment |= {"TOY_NICE": str(os.nice(0)), "OMP_NUM_THREADS": "1"}
        # bytecode is matched by size and whole seconds: a file rewritten within one second would run as it was
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment |= {f"TOY_{name.upper()}": value for name, value in toy.items()}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen([sys.executable, "-m", module, *words], cwd=self.root, env=environment, **pipes)

    def run_module(self, module, *words, **toy):
        """A module to its end: exit code and output."""
        process = self.start_module(module, *words, **toy)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def run(self, *words, **toy):
        """The queue or one of its commands to its end: exit code and output."""
        process = self.start(*words, **toy)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def begun(self):
        """Rows that programs have begun, in order."""
        path = self.place / "begun"
        return path.read_text().splitlines() if path.exists() else []

    def rows(self, table):
        """Those that the working tree has."""
        path = self.root / f"benchmarks/results/toy_{table}.json"
        return json.loads(path.read_text())["rows"] if path.exists() else {}

    def release(self):
        """Let the row that waits go on."""
        (self.place / "go").touch()


def wait_until(condition, process=None):
    """Wait for something; where a process does it, its output is shown if it ended before."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.stdout.read()
        if time.monotonic() > end:
            raise TimeoutError(f"nothing happened within {PATIENCE} seconds")
        time.sleep(0.01)


def kill(process):
    """As the system would for want of memory."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
