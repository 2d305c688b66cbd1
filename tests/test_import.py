"""`import timelike` is quick because it imports nearly nothing."""

import json
import re
import subprocess
import sys
from functools import cache

import pytest

import timelike as tl


def printed(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


HEAVY = ("torch", "sklearn", "matplotlib", "scipy", "pandas", "polars", "numpy")


def test_importing_timelike_imports_nothing_heavy():
    program = f"import sys, timelike; print([name for name in {HEAVY} if name in sys.modules])"
    assert printed(program) == "[]"


def test_loading_and_comparing_needs_neither_torch_nor_sklearn_nor_matplotlib():
    program = (
        "import sys, timelike as tl; tl.load, tl.DTW().distance([0, 1], [1, 2]);"
        "print([name for name in ('torch', 'sklearn', 'matplotlib', 'pandas', 'polars') if name in sys.modules])"
    )
    assert printed(program) == "[]"


# what is listed at the top and needs a network; every other name resolves without torch
NEED_LEARN = {"CausalEncoder", "CoupledGRU", "RecurrentEncoder", "SRVP", "Separation", "SiameseGRU", "TAP", "nn"}
AT_THE_TOP = {"DTW", "GDTW", "SoftDTW", "Sequences", "load", "Rocket", "Discriminant", "Fused", "Neighbors", "KMeans"}
AT_THE_TOP |= {
    "KMedoids",
    "Prototypes",
    "Verifier",
    "Trainer",
    "compare",
    "load_model",
    "save_model",
    "EmbeddingClassifier",
}
AT_THE_TOP |= {"align", "metric", "plotting", "neighbors", "nn", "__version__"}

WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""
RESOLVE = """
import json, sys
import timelike as tl
from timelike._exports import public_names, public_packages

listed = dir(tl)
fresh = [name for name in vars(tl) if not name.startswith("_")]
names = {name for package in public_packages() for name in public_names(package)} | set(json.loads(sys.argv[1]))
needing = {}

def resolves(name):
    try:
        return getattr(tl, name) is not None
    except AttributeError as error:
        assert str(error) == f"module 'timelike' has no attribute {name!r}", error
        return False
    except ImportError as error:
        needing[name] = str(error)
        return True

print(json.dumps({
    "listed": listed,
    "public": tl.__all__,
    "fresh": fresh,
    "tried": sorted(names - set(listed)),
    "found": sorted(name for name in names - set(listed) if resolves(name)),
    "missing": [name for name in listed if not resolves(name)],
    "needing": needing,
    "again": dir(tl),
    "left": sorted(name for name in vars(tl) if not name.startswith("_") and name not in listed),
}))
"""


@cache
def resolved(before=""):
    """What becomes of every name in a new process, with the packages that are installed here or without torch."""
    return json.loads(printed(before + RESOLVE, json.dumps(NOT_AT_THE_TOP)))


@pytest.mark.learn
def test_with_torch_every_name_that_dir_lists_resolves():
    assert resolved()["missing"] == []
    assert resolved()["needing"] == {}


def test_without_torch_every_name_that_dir_lists_resolves_or_names_the_extra_that_it_needs():
    facts = resolved(WITHOUT)
    assert facts["missing"] == []
    assert facts["needing"].keys() == NEED_LEARN
    for name, words in facts["needing"].items():
        assert re.fullmatch(rf'timelike\.(\w+\.)?{name} needs torch: pip install "timelike\[learn\]"', words)


def test_dir_lists_the_same_names_with_and_without_torch():
    for facts in (resolved(), resolved(WITHOUT)):
        assert facts["listed"] == dir(tl)
        assert {*facts["listed"]} >= AT_THE_TOP | NEED_LEARN
        assert {*facts["public"]} == {*facts["listed"]} - {"__version__"}


# names of the packages below the top, names that were at the top once, modules, and what a module imports for itself
NOT_AT_THE_TOP = [
    "Spring",
    "Elastic",
    "recognize",
    "draw",
    "Windows",
    "attack",
    "Any",
    "import_module",
    "TYPE_CHECKING",
]
NOT_AT_THE_TOP += ["annotations", "package_names", "top_level_names", "container", "dtw", "cli", "Nonsense"]


@pytest.mark.parametrize("before", ["", WITHOUT], ids=["as installed", "without torch"])
def test_nothing_resolves_at_the_top_that_dir_does_not_list(before):
    facts = resolved(before)
    assert {*NOT_AT_THE_TOP, "Persistence", "ElasticKernel", "FormatError"} <= {*facts["tried"]}
    assert facts["found"] == facts["missing"] == []
    assert facts["again"] == facts["listed"]
    # Python itself binds `core` to the library as soon as a package imports it
    assert {*facts["fresh"], *facts["left"]} <= {"core", *facts["listed"]}


def test_the_version_is_the_one_that_was_installed():
    from importlib.metadata import version

    assert version("timelike") == tl.__version__
