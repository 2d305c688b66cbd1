"""Runs a program in a process in which torch cannot be imported, as where only the core is installed."""

import json
import os
import subprocess
import sys

BLOCK = """
import json, pathlib, sys

class WithoutTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, WithoutTorch())
facts = {}

def refusal(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def facts_without_torch(program, *arguments, **environment):
    """The `facts` that a program finds out; its arguments are in sys.argv."""
    run = subprocess.run(
        [sys.executable, "-c", f"{BLOCK}\n{program}\nprint(json.dumps(facts))", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
