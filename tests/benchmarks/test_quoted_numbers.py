"""Numbers on prose pages: what is marked is computed, what differs is found, and the published pages agree with rows."""

import doctest
import json
import re

import pytest
from benchmarks.quoted_numbers import __main__ as program, markers, queries, sources

MEAN = {"mean": lambda *values: f"{sum(map(float, values)) / len(values):g}"}


@pytest.mark.parametrize("module", [markers, queries])
def test_examples_are_right(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_numbers_of_the_published_pages_are_those_of_the_rows(capsys):
    code = program.main(["--check"])
    assert code == 0, capsys.readouterr().out


def test_a_number_that_differs_is_listed_with_its_line_and_written_anew():
    page = "first\nmean <!-- n: mean 1 2 -->1.5<!-- /n --> and <!-- n: mean 2 4 -->7<!-- /n -->.\n"
    rewritten, found = markers.update(page, MEAN)
    assert rewritten == page.replace("7", "3")
    assert [(one.line, one.call, one.written, one.computed) for one in found] == [(2, "mean 2 4", "7", "3")]
    assert markers.update(rewritten, MEAN) == (rewritten, [])


def test_a_table_stands_between_blank_lines_and_is_left_alone_when_it_is_right():
    tables = {"numbers": lambda: "| a |\n|---|\n| 1 |"}
    page = "before\n\n<!-- table: numbers -->\n<!-- /table -->\n\nafter"
    rewritten, found = markers.update(page, tables)
    assert "<!-- table: numbers -->\n\n| a |\n|---|\n| 1 |\n\n<!-- /table -->" in rewritten
    assert len(found) == 1
    assert markers.update(rewritten, tables) == (rewritten, [])


def test_arguments_are_split_as_by_a_shell():
    page = 'x <!-- n: said "two words" one -->?<!-- /n -->'
    assert "two words+one" in markers.update(page, {"said": lambda *words: "+".join(words)})[0]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- n: mean 1 -->1<!-- /n --> begins", "line 1: mean 1 begins its line"),
        ("text\n  <!-- n: mean 1 -->1<!-- /n -->", "line 2: mean 1 begins its line"),
        ("x <!-- n: mean 1 -->1\n<!-- /n -->", "goes over the end of its line"),
        ("x <!-- n: median 1 -->1<!-- /n -->", "no query is called 'median'; there are mean"),
        ("x <!-- n: mean one -->1<!-- /n -->", "mean one cannot be computed: ValueError"),
        ("x <!-- n: mean 1 -->1", "a marker without its other end"),
        ("x 1<!-- /n -->", "a marker without its other end"),
        ("x <!-- n mean 1 -->1<!-- /n -->", "a marker without its other end"),
    ],
)
def test_a_marker_that_cannot_be_read_is_refused(page, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        markers.update(page, MEAN)


def test_pages_are_written_and_checked(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("mean <!-- n: mean 1 2 -->0<!-- /n -->\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text("nothing\n", encoding="utf-8")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "QUERIES", MEAN)
    monkeypatch.setattr(program, "prose_pages", lambda: [tmp_path / "README.md", tmp_path / "docs" / "a.md"])
    assert program.main(["--check"]) == 1
    assert "README.md, line 1, mean 1 2: written '0', computed '1.5'" in capsys.readouterr().out
    assert "-->0<!--" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert program.main([]) == 0
    assert program.main(["--check"]) == 0
    assert "-->1.5<!--" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_cells_of_a_page_are_found_by_how_the_work_begins(tmp_path, monkeypatch):
    lines = ["# Speed", "", "| work | beside | ours |", "|---|---|---:|"]
    lines += ["| DTW, 10 | a | 1 s |", "| DTW, 10 | b | 1.2e+03 ms |", "", "| other |", "|---|", "| 5 |"]
    (tmp_path / "speed.md").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(sources, "RESULTS", tmp_path)
    assert sources.read_cell("speed", "DTW", "ours") == "1 s"
    assert sources.read_cell("speed", "DTW", "ours", "b") == "1.2e+03 ms"
    assert queries.speed("speed", "DTW", "ours", "b") == "1.2 s"
    with pytest.raises(ValueError, match="no row whose work begins with 'MSM'"):
        sources.read_cell("speed", "MSM", "ours")


def test_a_mean_over_a_group_needs_every_set_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "RESULTS", tmp_path)
    monkeypatch.setattr(queries, "GROUPS", {"two": ("A", "B")})
    rows = {"A/x/0": {"dataset": "A", "method": "x", "seed": 0, "accuracy": 0.5}}
    sources.read_rows.cache_clear()
    try:
        (tmp_path / "defaults.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
        with pytest.raises(KeyError):
            queries.mean_score("accuracy", "x", "two")
        rows |= {
            f"B/x/{seed}": {"dataset": "B", "method": "x", "seed": seed, "accuracy": 0.6 + seed} for seed in (0, 1)
        }
        (tmp_path / "defaults.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
        sources.read_rows.cache_clear()
        assert queries.mean_score("accuracy", "x", "two") == "0.800"  # seeds first: (0.5 + 1.1) / 2
    finally:
        sources.read_rows.cache_clear()


def test_losses_and_distances_are_counted_in_the_library():
    import timelike as tl

    named = [tl.DTW, tl.DDTW, tl.WDTW, tl.ADTW, tl.ERP, tl.EDR, tl.LCSS, tl.MSM, tl.TWE]
    assert queries.count("elastic_distances") == queries._WORDS[len(named)]
    words = ["triplet", "lifted", "binomial", "structural", "supervised-contrastive", "contrastive", "multi-similarity"]
    assert {type(tl.metric.losses.resolve_loss(word)).__name__ for word in words} | {"Loss"} == {
        name for name in tl.metric.losses.__all__ if name[0].isupper()
    }
    assert queries.count("losses") == queries._WORDS[len(words)]
