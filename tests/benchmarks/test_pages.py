"""Every benchmark page: the result first, then how to repeat it, then caveats, and never a page that fails on few rows."""

import re
from pathlib import Path

import pytest
from benchmarks.accuracy import decdtw_report
from benchmarks.papers import command, stale
from benchmarks.papers.page import describe_missing, describe_seeds
from benchmarks.papers.programs import load_program, program_modules
from benchmarks.speed import importing
from benchmarks.speed.table import against, at_most, headline, read_rows, table

from benchmarks import summaries

ROOT = Path(__file__).parents[2]


PROGRAMS = {name.removeprefix("benchmarks."): load_program(name) for name in program_modules()}


@pytest.fixture(params=PROGRAMS)
def kind(request, monkeypatch):
    """A program, as it is run from the root of the repository."""
    monkeypatch.chdir(ROOT)
    return PROGRAMS[request.param]


def published(kind):
    return kind(command.parsed(kind, ["--budget", "0"]))


def test_all_programs_are_found():
    assert len(PROGRAMS) > 40
    assert {"papers.tap.times", "papers.separation.waves64", "accuracy.defaults"} <= set(PROGRAMS)


def test_a_page_starts_with_its_headline(kind):
    program = published(kind)
    assert program.page().startswith(f"# {kind.title}\n\n{program.headline()}\n\n")


def test_a_headline_is_one_short_paragraph_of_sentences(kind):
    headline = published(kind).headline()
    assert "\n" not in headline
    assert headline[0].isupper() or headline[0] in "`6"
    assert headline.endswith(".")
    assert len(headline) < 1000
    assert len(re.findall(r"\. (?=[A-Z`])", headline)) <= 2  # three sentences
    assert "nan" not in headline.split()


def test_a_page_has_the_result_then_how_to_repeat_it_then_caveats_then_the_origin_of_rows(kind):
    page = published(kind).page()
    places = [page.index(title) for title in ("## How to repeat it", f"## {stale.TITLE}")]
    if "## Caveats" in page:
        places.insert(1, page.index("## Caveats"))
    if "\n| " in page[: places[0]]:
        places.insert(0, page.index("\n| "))
    assert places == sorted(places)
    assert "stale" not in page[: page.index("## How to repeat it")]
    assert f"python -m {kind.place}.{kind.paper}.{kind.table}" in page[page.index("## How to repeat it") :]


def test_a_program_without_rows_says_so_first(kind):
    program = kind.of_rows({})
    assert re.match(r"No row is finished yet|.*no row", program.headline())
    assert program.page().startswith(f"# {kind.title}\n\n{program.headline()}\n\n")


def test_a_page_can_be_written_after_every_first_row(kind):
    """Pages are written while rows are made: after one row, two, some, and with any one row alone."""
    rows = published(kind).rows
    parts = [dict(list(rows.items())[:n]) for n in (1, 2, 3, 5, 8, 13)]
    firsts = {row.get("method", row.get("part", "")): {key: row} for key, row in reversed(rows.items())}
    program = kind.of_rows({})
    for part in [*parts, *firsts.values()]:
        program.results.rows = part
        assert program.headline().endswith(".")
        assert isinstance(program.body(), str)
        assert all(isinstance(one, str) for one in program.caveats())


def test_a_published_row_is_one_of_those_planned(kind):
    program = published(kind)
    planned = [row.key for row in program.default_plan()]
    assert len(set(planned)) == len(planned)
    assert set(program.rows) <= set(planned)


def test_a_published_page_is_made_of_the_published_rows(kind):
    """A change of a report is followed by `make pages`."""
    page = ROOT / "benchmarks/results" / f"{kind.file()}.md"
    made, _ = published(kind).page().split(f"## {stale.TITLE}")
    assert page.read_text(encoding="utf-8").startswith(made), f"write {page.name} again: `make pages`, or --budget 0"


def test_every_full_page_has_a_summary_and_every_summary_is_in_the_navigation():
    pages = {path.stem for path in summaries.PAGES.glob("*.md")}
    assert sorted(page for topic in summaries.TOPICS.values() for page in topic.pages) == sorted(pages)
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"benchmarks/{name}.md" in nav for name in summaries.TOPICS)


@pytest.mark.parametrize("name", summaries.TOPICS)
def test_summaries_are_made_of_the_full_pages(name):
    """A change of a page is followed by `python -m benchmarks.summaries`."""
    written = (summaries.SUMMARIES / f"{name}.md").read_text(encoding="utf-8")
    assert written == summaries.render_summary(summaries.TOPICS[name])


def test_srvp_and_separation_without_networks_say_so_in_the_first_sentence():
    """Rows of methods that learn nothing are not rows of the network that a page is about."""
    for name in ("rates", "ablations", "swap"):
        kind = PROGRAMS[f"papers.srvp.{name}"]
        cheap = {k: row for k, row in published(kind).rows.items() if "minutes" not in row}
        assert cheap
        assert re.match(r"(SRVP|Separation)[a-zA-Z ]* ha(s|ve) no rows on this page", kind.of_rows(cheap).headline())


def test_missing_rows_are_counted_and_the_first_named():
    assert describe_missing(["a/0", "b/0", "c/0"], {"b/0": {}}) == "2 of 3 planned rows are missing: `a/0`, `c/0`."
    assert describe_missing(["a/0", "b/0"], {"a/0": {}}) == "1 of 2 planned rows is missing: `b/0`."
    assert describe_missing(["a/0"], {"a/0": {}}) == describe_missing(["a/0"], {}) == ""
    many = describe_missing([f"{n}/0" for n in range(10)], {"0/0": {}})
    assert many == "9 of 10 planned rows are missing: `1/0`, `2/0`, `3/0`, `4/0` and 5 more."


def test_single_seeds_are_said():
    assert describe_seeds({"a/0": {"seed": 0}, "a/1": {"seed": 1}}) == ""
    assert describe_seeds({"a": {}}) == ""


# --- pages of programs that keep no rows

SPEED = ["differentiable", "distributions", "encode", "metrics", "recognize", "recurrent", "rocket", "subsequence"]
OTHERS = [
    "decdtw_accuracy",
    "elastic",
    "forecast_speed",
    "importing",
    "interrupts",
    "mutated_files",
    "peers",
    "tloss_projection",
]


@pytest.mark.parametrize("name", [*SPEED, *OTHERS])
def test_pages_without_stored_rows_have_the_result_before_the_command(name):
    page = (ROOT / f"benchmarks/results/{name}.md").read_text(encoding="utf-8")
    title, result, _ = page.split("\n\n", 2)
    assert title.startswith("# ")
    assert re.search(r"\d", result)
    assert not result.startswith(("```", "|"))
    places = [page.index(text) for text in (result, "\n|", "\n## How to repeat it", "\n```console")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", SPEED)
def test_the_headline_of_a_speed_page_is_that_of_its_table(name):
    page = (ROOT / f"benchmarks/results/{name}.md").read_text(encoding="utf-8")
    assert page.split("\n\n")[1] == headline(read_rows(page))


def test_the_headlines_of_forecasting_are_those_of_its_tables():
    page = (ROOT / "benchmarks/results/forecast_speed.md").read_text(encoding="utf-8")
    parts = dict(part.split("\n\n", 1) for part in page.split("\n## ")[1:])
    told = [f"- {name}: {headline(read_rows(text))}" for name, text in parts.items() if read_rows(text)]
    assert page.split("\n\n")[1] == "\n".join(told)


def test_the_sentences_about_warps_and_import_are_those_of_their_pages():
    _, result, rest = (ROOT / "benchmarks/results/decdtw_accuracy.md").read_text(encoding="utf-8").split("\n\n", 2)
    assert result == decdtw_report.summarize(rest)
    page = (ROOT / "benchmarks/results/importing.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert page.split("\n\n")[1] == importing.headline(
        [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    )


def test_rows_are_read_back_as_they_were_written():
    rows = [against("DTW", "a loop", 3.0, 2.0, 2.0), at_most("memory", "ours", 1.0, 3.0, 4.0)]
    assert read_rows(f"# A page\n\n{table(rows)}\n\n{table(rows[:1])}") == rows


def test_a_headline_counts_what_is_slower_and_leaves_out_comparisons_with_ourselves():
    rows = [
        against("DTW", "a loop", 3.0, 1.0, 4.0),
        against("MSM", "a loop", 1.0, 2.0, None),
        against("ERP", "ours, one thread", 9.0, 1.0, 2.0),
        at_most("a long window", "a short one", 1.0, 5.0, 9.0),
    ]
    assert headline(rows) == (
        "Faster than what it stands beside in 1 of 2 comparisons: 0.5 to 3 times as fast, the median 1.75. "
        "1 of 3 bars is missed: DTW, beside a loop (3×, bar ≥ 4×)."
    )
    assert headline([]) == "There is nothing to compare with: the rows have our numbers alone."
