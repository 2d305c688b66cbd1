"""The program that changes the library: what it changes, what it leaves alone, and that it notices."""

import ast

import pytest
from benchmarks.mutation import mutants, report
from benchmarks.mutation.excluded import BLOCKS
from benchmarks.mutation.operators import changes


def becomes(code):
    node = ast.parse(code).body[0]
    parts = [node.value] if isinstance(node, ast.Expr) else [node]
    return [text for part in parts for _, _, text in changes(part)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b", ["(a <= b)", "(a >= b)"]),
        ("a is None", ["(a is not None)"]),
        ("a + b", ["(a - b)", "(a)", "(b)"]),
        ("'a' + b", []),
        ("3", ["4", "2"]),
        ("0.5", ["1.0"]),
        ("True", ["False"]),
        ("a and b", ["(a or b)"]),
        ("not a", ["(a)"]),
        ("x.max(0)", ["(x.min)"]),
        ("return x", ["return None"]),
        ("x += 1", ["pass", "x -= 1"]),
    ],
)
def test_an_expression_is_changed_in_every_way_that_is_listed(code, expected):
    assert becomes(code) == expected


@pytest.mark.parametrize("package", [*mutants.PACKAGES, *mutants.LATER_PACKAGES])
def test_every_mutant_is_a_program_that_differs_from_the_library_and_from_the_others(package):
    sites = mutants.sites(package)
    for site in sites[::100]:
        original = (mutants.SOURCES / site.mutant.file).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(site.source)) != ast.dump(ast.parse(original)), site.mutant
    assert len({site.mutant.name for site in sites}) == len(sites)


def test_a_sample_has_as_many_of_each_package_and_none_of_an_earlier_one():
    first, second = mutants.sampled(0, 64), mutants.sampled(1, 24)
    for sample, size in ((first, 64), (second, 24)):
        assert [sum(m.package == package for m in sample) for package in mutants.PACKAGES] == [size] * 6
    assert not {mutant.name for mutant in first} & {mutant.name for mutant in second}


def test_the_fourth_sample_is_of_other_packages():
    fourth = mutants.sampled(3, mutants.sample_size(3))
    assert len(fourth) >= 150
    assert {mutant.package for mutant in fourth} == {"prototypes", "attacks", "forecast", "distributions"}
    assert {mutant.file.split("/")[1] for mutant in fourth if mutant.package == "forecast"} == {"srvp", "separation"}


def test_what_is_never_changed_is_there():
    """A constant that was renamed would silently be changed again."""
    for file, names in BLOCKS.items():
        tree = ast.parse((mutants.SOURCES / file).read_text(encoding="utf-8"))
        assigned = {
            name.id for name in ast.walk(tree) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        assert names.keys() <= assigned, file


def test_the_share_leaves_out_what_nothing_can_tell_from_the_library(monkeypatch):
    row = {"file": "align/dtw.py", "function": "f", "operator": "constant", "was": "1", "becomes": "2", "line": 3}
    row |= {"sample": 0, "room": "align", "seconds": 1.0, "at_first": "survived", "by": ""}
    outcomes = ["caught", "caught", "hung", "survived", "survived"]
    rows = {str(n): row | {"nth": n, "outcome": outcome} for n, outcome in enumerate(outcomes)}
    monkeypatch.setattr(report, "reasons", lambda: {"align/dtw.py/f/constant/1/2/4": "both are one"})
    page = report.body(rows)
    assert "| align | 5 | 3 | 1 | 1 | 1 | 0.0 % | 0.0 % | 60.0 % | 75.0 % |" in page
    assert "both are one" in page
