"""Names are those of the field: what can be checked of STYLE 15 and 16 by reading the source."""

import ast
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import timelike
from timelike._exports import public_names, public_packages

SOURCE = Path(timelike.__file__).parent


@cache
def trees():
    """The programs of the library, by their paths; parsed when a test asks, because every worker collects every test."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in SOURCE.rglob("*.py")
    }


# torch modules have the name of the metric whose gradients they give: `tl.DTW` and `tl.nn.SoftDTW`, `tl.SoftDTW`
LAYERS = "align/layers/"
# modules named after a technique that ends in -ing, and other libraries' names
NOUNS = {
    "averaging",
    "clustering",
    "embedding",
    "forecasting",
    "matching",
    "padding",
    "pytorch_metric_learning",
    "ranking",
    "reencoding",
    "resampling",
    "sampling",
    "smoothing",
    "spring",
    "streaming",
    "subsampling",
    "training",
    "whitening",
}
PARTICIPLES = {
    "added",
    "admitted",
    "aligned",
    "applied",
    "asked",
    "assigned",
    "begun",
    "bounded",
    "brought",
    "built",
    "called",
    "changed",
    "checked",
    "chosen",
    "cleaned",
    "compared",
    "compiled",
    "computed",
    "counted",
    "crossed",
    "cut",
    "dated",
    "declared",
    "derived",
    "described",
    "divided",
    "drawn",
    "ended",
    "expected",
    "filled",
    "fitted",
    "followed",
    "found",
    "given",
    "graded",
    "grouped",
    "grown",
    "guessed",
    "heard",
    "held",
    "inferred",
    "joined",
    "judged",
    "kept",
    "known",
    "laid",
    "learned",
    "led",
    "left",
    "limited",
    "listed",
    "looked",
    "made",
    "mapped",
    "marked",
    "matched",
    "meant",
    "measured",
    "met",
    "moved",
    "named",
    "needed",
    "noted",
    "noticed",
    "numbered",
    "offered",
    "opened",
    "ordered",
    "paired",
    "parsed",
    "picked",
    "placed",
    "planned",
    "pooled",
    "prepared",
    "put",
    "ranked",
    "reached",
    "read",
    "ready",
    "renamed",
    "rounded",
    "said",
    "saved",
    "scaled",
    "scored",
    "seeded",
    "seen",
    "sent",
    "settled",
    "shared",
    "shown",
    "shuffled",
    "sifted",
    "sized",
    "sorted",
    "split",
    "spread",
    "stacked",
    "started",
    "stated",
    "stepped",
    "stored",
    "taken",
    "taught",
    "told",
    "tried",
    "turned",
    "used",
    "weighed",
    "weighted",
    "widened",
    "wrapped",
    "written",
}
SAME_WORD = {"cut", "put", "read", "split", "spread"}  # a verb in the imperative, too
PREPOSITIONS = {
    "above",
    "across",
    "against",
    "along",
    "among",
    "around",
    "at",
    "below",
    "beside",
    "between",
    "beyond",
    "of",
    "over",
}


def functions():
    """Functions of modules and classes; one inside another function has the name of what it stands for there."""
    for file, tree in trees().items():
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for node in [*tree.body, *(inner for one in classes for inner in one.body)]:
            if isinstance(node, ast.FunctionDef):
                yield file, node


def test_a_class_name_is_used_once():
    homes = defaultdict(list)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file)
    twice = {
        name: files
        for name, files in homes.items()
        if len(files) > 1 and not (len(files) == 2 and sum(file.startswith(LAYERS) for file in files) == 1)
    }
    assert twice == {}


def test_a_module_is_a_thing_and_not_an_activity():
    named_by_activity = [file for file in trees() if Path(file).stem.endswith("ing") and Path(file).stem not in NOUNS]
    assert named_by_activity == []


def test_no_function_is_a_bare_participle_or_preposition():
    words = (PARTICIPLES - SAME_WORD) | PREPOSITIONS
    wrong = [f"{file}: {node.name}" for file, node in functions() if node.name.strip("_") in words]
    assert wrong == []


def test_no_module_hides_a_public_name_of_its_package():
    """Once such a module is imported, `package.name` would be the module."""
    hidden = [
        f"{package}.{name}"
        for package in public_packages()
        for name, home in public_names(package).items()
        if home != f"{package}.{name}" and find_spec(f"{package}.{name}") is not None
    ]
    assert hidden == []


def test_every_module_says_what_is_in_it():
    assert [file for file, tree in trees().items() if not ast.get_docstring(tree)] == []
