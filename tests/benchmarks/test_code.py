"""A row is stale when code that it was made by does something else: small trees of modules, changed in many ways."""

import json
import sys

import pytest
from benchmarks.papers.code import Sources, loaded, state

PYTHON = '''
"""A module."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dtw import DTW as DTW

def cost(x, y):
    """Squared."""
    # why it is so
    return (x - y) ** 2
'''
CPP = 'double cost(double x) { /* squared */ log("a // b"); return x * x; }  // as it is\n'
PROGRAM = """
class Table(Program[Row]):
    def work(self, row):
        return {"error": 1}

    def body(self):
        return "Small."
"""
WHERE = {
    "timelike.align.dtw": "src/timelike/align/dtw.py",
    "timelike.native.warp": "src/timelike/native/warp/__init__.py",
    "benchmarks.papers.toy.table": "benchmarks/papers/toy/table.py",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Three modules and the kernels of one family; `edit` rewrites a file, and gives the modules that are others then."""
    texts = {**dict.fromkeys(WHERE.values(), PYTHON), "src/timelike/native/warp/host.cpp": CPP}
    texts[WHERE["benchmarks.papers.toy.table"]] = PROGRAM
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for module in WHERE:
        monkeypatch.setitem(sys.modules, module, sys.modules[__name__])
    sources = Sources(tmp_path)
    code = loaded(sources.texts("toy"), object)

    def edit(path, old, new):
        assert old in texts[path]
        (tmp_path / path).write_text(texts[path].replace(old, new))
        return sources.changed(code)

    edit.sources, edit.code, edit.root = sources, code, tmp_path
    return edit


def test_nothing_is_stale_while_nothing_changes(tree):
    assert set(tree.code) == set(WHERE)
    assert tree.sources.changed(tree.code) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# why it is so", "# another reason"),
        ('"""Squared."""', '"""The square of the difference."""'),
        ('    """Squared."""\n', ""),
        ('"""A module."""', ""),
        ("(x - y) ** 2", "(\n        x - y\n    )**2"),
        ("import DTW as DTW", "import DTW as DTW, ERP as ERP"),
    ],
)
def test_words_and_lists_of_names_leave_a_row_as_it_is(tree, old, new):
    assert tree("src/timelike/align/dtw.py", old, new) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("** 2", "** 3"),
        ("x - y", "y - x"),
        ("(x, y)", "(x, y=0)"),
        ("return (x", "x += 1\n    return (x"),
        ("2", '"2"'),
    ],
)
def test_other_code_makes_a_row_stale(tree, old, new):
    assert tree("src/timelike/align/dtw.py", old, new) == ["timelike.align.dtw"]


def test_kernels_count_without_their_comments(tree):
    host = "src/timelike/native/warp/host.cpp"
    assert tree(host, "/* squared */", "/* x times x */") == []
    assert tree(host, "  // as it is\n", "\n\n") == []
    assert tree(host, "a // b", "a // c") == ["timelike.native.warp"]
    assert tree(host, "x * x", "x * x * x") == ["timelike.native.warp"]


def test_a_program_may_speak_otherwise_of_its_rows(tree):
    table = WHERE["benchmarks.papers.toy.table"]
    assert tree(table, "Small.", "Not small.") == []
    assert tree(table, '"error": 1', '"error": 2') == ["benchmarks.papers.toy.table"]


def test_a_module_that_is_gone_makes_a_row_stale(tree):
    (tree.root / WHERE["timelike.align.dtw"]).unlink()
    assert tree.sources.changed(tree.code) == ["timelike.align.dtw"]


def test_modules_that_were_not_loaded_or_only_tell_do_not_count(tree):
    for path in ("src/timelike/align/lately.py", "src/timelike/draw/maps.py", "benchmarks/papers/toy/report.py"):
        (tree.root / path).parent.mkdir(exist_ok=True)
        (tree.root / path).write_text(PYTHON)
    assert loaded(tree.sources.texts("toy"), object) == tree.code


def test_a_state_of_the_code_has_one_name(tree):
    backwards = dict(reversed(tree.code.items()))
    assert state(backwards) == state(tree.code) == state(json.loads(json.dumps(tree.code)))
    assert state(tree.code | {"timelike.align.dtw": "0"}) != state(tree.code)
