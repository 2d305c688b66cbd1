"""`import timelike` is quick because it imports nearly nothing."""

import json
import subprocess
import sys

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


def test_every_name_that_dir_lists_resolves():
    for name in dir(tl):
        assert getattr(tl, name) is not None
    assert {"DTW", "Sequences", "load", "KMeans", "align", "plotting", "neighbors", "nn", "__version__"} <= {*dir(tl)}
    assert {*tl.__all__} == {*dir(tl)} - {"__version__"}


RESOLVE = """
import json, sys
import timelike as tl
from timelike._exports import public_names, public_packages

listed = dir(tl)
fresh = [name for name in vars(tl) if not name.startswith("_")]
names = {name for package in public_packages() for name in public_names(package)} | set(json.loads(sys.argv[1]))

def resolves(name):
    try:
        getattr(tl, name)
    except AttributeError as error:
        assert str(error) == f"module 'timelike' has no attribute {name!r}", error
        return False
    return True

print(json.dumps({
    "listed": listed,
    "fresh": fresh,
    "tried": sorted(names - set(listed)),
    "found": sorted(name for name in names - set(listed) if resolves(name)),
    "again": dir(tl),
    "missing": [name for name in listed if not resolves(name)],
    "left": sorted(name for name in vars(tl) if not name.startswith("_") and name not in listed),
}))
"""
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


def test_nothing_resolves_at_the_top_that_dir_does_not_list():
    facts = json.loads(printed(RESOLVE, json.dumps(NOT_AT_THE_TOP)))
    assert {*NOT_AT_THE_TOP, "Persistence", "ElasticKernel", "FormatError"} <= {*facts["tried"]}
    assert facts["found"] == facts["missing"] == []
    assert facts["again"] == facts["listed"]
    # Python itself binds `core` to the library as soon as a package imports it
    assert {*facts["fresh"], *facts["left"]} <= {"core", *facts["listed"]}


def test_the_version_is_the_one_that_was_installed():
    from importlib.metadata import version

    assert version("timelike") == tl.__version__
