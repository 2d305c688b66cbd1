"""What `pip install timelike` and the groups of pyproject.toml bring, followed through what is installed."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from missing_extras import EXTRAS
from timelike.core import extras
from timelike.models import registry
from timelike.train import Trained

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OPTIONAL = PYPROJECT["project"]["optional-dependencies"]
NEVER = {"torch", "lightning-fabric", "pot"}


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def group(name):
    """The requirements of a dependency group, with those of the groups that it includes."""
    for line in PYPROJECT["dependency-groups"][name]:
        if isinstance(line, dict):
            yield from group(line["include-group"])
        else:
            yield line


def brought(lines):
    """The names of all packages that come with these requirements, as far as they are installed here."""
    todo, seen = [Requirement(line) for line in lines], set()
    while todo:
        one = todo.pop()
        name = normalized(one.name)
        if (name, frozenset(one.extras)) in seen:
            continue
        seen.add((name, frozenset(one.extras)))
        try:
            further = requires(name) or []
        except PackageNotFoundError:
            continue
        for line in map(Requirement, further):
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in one.extras or {""}):
                todo.append(line)
    return {name for name, _ in seen}


def test_the_core_brings_neither_torch_nor_pot():
    names = brought(PYPROJECT["project"]["dependencies"])
    assert {"numpy", "scipy", "scikit-learn", "joblib", "matplotlib"} <= names
    assert names & NEVER == set()


def test_the_tests_of_the_core_bring_neither_torch_nor_pot():
    names = brought(group("test-core"))
    assert {"pytest", "numba", "pandas"} <= names  # numba comes with tslearn
    assert names & NEVER == set()


@pytest.mark.learn
def test_the_other_tests_do_bring_torch():
    assert "torch" in brought(group("test"))


def test_every_extra_whose_libraries_need_torch_brings_learn():
    extras = PYPROJECT["project"]["optional-dependencies"]
    assert {"learn", "transport"} <= extras.keys()
    for name, lines in extras.items():
        if name != "learn" and "torch" in brought(lines):
            assert "timelike[learn]" in lines, name


def test_every_mark_of_an_extra_is_an_extra():
    markers = {line.partition(":")[0] for line in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    assert {*EXTRAS} <= markers
    assert {*EXTRAS} <= PYPROJECT["project"]["optional-dependencies"].keys()


def test_every_extra_that_a_message_or_a_page_names_exists():
    root = Path(__file__).parents[1]
    pages = [
        *root.glob("*.md"),
        *root.glob("docs/*.md"),
        *(root / "src").rglob("*.py"),
        *root.glob("benchmarks/**/*.py"),
    ]
    extras = PYPROJECT["project"]["optional-dependencies"].keys()
    for page in pages:
        for named in re.findall(r"timelike\[([a-z, -]+)\]", page.read_text(encoding="utf-8")):
            assert {one.strip() for one in named.split(",")} <= {*extras}, page


def table_of_extras():
    """What the page on installation says that each extra brings, and what needs it."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    section = page.partition("\n## Extras\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name.strip("`"): (brings, needs) for name, brings, needs in rows}


def test_the_page_lists_every_extra_with_what_it_brings():
    table = table_of_extras()
    assert table.keys() == OPTIONAL.keys()
    for extra, (brings, _) in table.items():
        told = [re.sub(r" \(.*\)|`", "", word) for word in brings.split(", ")]
        names = [re.sub(r"^timelike\[(.*)\]$", r"\1", re.split("[><=]", line)[0]) for line in OPTIONAL[extra]]
        assert told == names


def test_every_package_that_an_error_names_is_brought_by_its_extra():
    for module, extra in extras._EXTRAS.items():
        package = {"ot": "POT"}.get(module, module)
        assert normalized(package) in {normalized(Requirement(line).name) for line in OPTIONAL[extra]}
    assert set(extras._EXTRAS.values()) == OPTIONAL.keys()


@pytest.mark.learn
def test_the_page_names_every_method_that_trains_a_network():
    needs = re.findall(r"`(\w+)`", table_of_extras()["learn"][1])
    assert {kind.__name__ for kind in registry.all_methods().values() if issubclass(kind, Trained)} <= set(needs)
    known = registry.all_methods().keys() | {"train_generator", "empirical_ntk"}
    assert not set(needs) - {name.rpartition(".")[2] for name in known}
