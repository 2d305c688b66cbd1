"""`timelike demo`: the sections in order, a table, a page, and what happens when one fails or Ctrl-C is pressed."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blocked_torch import facts_without_torch
from timelike.cli.demo import chapters, page
from timelike.cli.demo.section import Chapter, Score, Section

PROGRAM = [sys.executable, "-c", "from timelike.cli.main import app; app(prog_name='timelike')"]


def good_section():
    score = Score(method="Ours", measure="accuracy", value=0.75, rival="Theirs", rival_value=0.5, better="higher")
    return Section(title="A good one", purpose="It is <good>.", scores=(score,), parts=("<p>parts</p>",), code="a < b")


def fail():
    raise OSError("the disk is full")


@pytest.fixture
def sections(monkeypatch):
    """Replace the chapters by functions, by name."""

    def replace(**functions):
        def load(name):
            return Chapter(name=name, run=functions[name])

        for module in ("chapters", "command"):
            monkeypatch.setattr(f"timelike.cli.demo.{module}.CHAPTERS", tuple(functions))
        monkeypatch.setattr("timelike.cli.demo.chapters.load_chapter", load)

    return replace


def test_the_table_and_the_page_have_every_score(run, sections, tmp_path):
    sections(good=good_section)
    result = run("demo", "--out", tmp_path / "new" / "page.html")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # progress is for terminals
    heading, row = (next(line for line in result.stdout.splitlines() if words in line) for words in ("good, ", "Ours"))
    assert re.fullmatch(r"good, [\d.]+ s", heading.strip())
    assert row.split() == ["accuracy", "↑", "0.75", "Ours", "0.5", "Theirs"]
    assert "s in all" in result.stdout
    html = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    for words in ("1. A good one", "It is &lt;good&gt;.", "<p>parts</p>", "<pre><code>a &lt; b</code></pre>", ">0.75<"):
        assert words in html


def test_a_section_that_fails_is_named_and_the_others_are_shown(run, sections, tmp_path):
    sections(bad=fail, good=good_section)
    result = run("demo", "--out", tmp_path / "page.html")
    assert result.exit_code == 1
    assert result.stderr == "timelike: the section bad failed: OSError: the disk is full\n"
    assert "0.75" in result.stdout
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "This section failed: OSError: the disk is full" in html
    assert "2. A good one" in html


def test_debug_shows_where_a_section_failed(run, sections, tmp_path):
    sections(bad=fail)
    assert "in fail" in run("--debug", "demo", "--out", tmp_path / "page.html").stderr
    assert "in fail" not in run("demo", "--out", tmp_path / "page.html").stderr


def test_json_has_the_documented_fields(answer, sections, tmp_path):
    sections(good=good_section)
    result = answer("demo", "--out", tmp_path / "page.html")
    (one,) = result["sections"]
    assert (one["name"], one["title"], one["state"], one["reason"]) == ("good", "A good one", "finished", None)
    expected = {"method": "Ours", "measure": "accuracy", "value": 0.75, "rival": "Theirs", "rival_value": 0.5}
    assert one["scores"] == [{**expected, "better": "higher"}]
    assert one["processor_seconds"] >= 0
    assert 0 <= one["seconds"] <= result["seconds"]
    assert Path(result["report"]).is_file()


def test_json_is_also_printed_if_a_section_fails(run, sections, tmp_path):
    sections(bad=fail)
    result = run("demo", "--json", "--out", tmp_path / "page.html")
    assert result.exit_code == 1
    (one,) = json.loads(result.stdout)["result"]["sections"]
    assert (one["state"], one["reason"], one["scores"]) == ("failed", "OSError: the disk is full", [])


def test_sections_run_in_their_order_whatever_the_order_of_the_options(answer, sections, tmp_path):
    sections(first=good_section, second=good_section, third=fail)
    result = answer("demo", "--section", "second", "--section", "first", "--out", tmp_path / "page.html")
    assert [one["name"] for one in result["sections"]] == ["first", "second"]


def test_an_unknown_section_is_refused_with_the_known_ones(run):
    result = run("demo", "--section", "nothing")
    assert result.exit_code == 2
    for name in chapters.CHAPTERS:
        assert name in result.stderr


def test_a_page_that_cannot_be_written_is_an_error_before_the_first_section(run, sections, tmp_path):
    began = []
    sections(good=lambda: began.append(True) or good_section())
    result = run("demo", "--out", tmp_path / "no" / "such" / "page.html")
    assert result.exit_code == 1
    assert began == []


@pytest.mark.skipif(os.name == "nt", reason="SIGINT")
def test_ctrl_c_ends_the_demo_also_where_a_method_returns_what_it_has(run, sections, tmp_path):
    began = []

    def caught():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return good_section()  # as `compare` does

    sections(first=caught, second=lambda: began.append(True) or good_section())
    result = run("demo", "--out", tmp_path / "page.html")
    assert result.exit_code == 130
    assert began == []
    assert not (tmp_path / "page.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT")
def test_ctrl_c_ends_the_installed_demo_without_a_traceback(tmp_path):
    waits = """
import signal, time
from timelike.cli.demo import chapters
from timelike.cli.demo.section import Chapter
def wait():
    print("begun", flush=True)
    time.sleep(60)
chapters.load_chapter = lambda name: Chapter(name=name, run=wait)
from timelike.cli.main import app
app(["demo", "--out", "page.html"], prog_name="timelike")
"""
    program = [sys.executable, "-c", waits]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
def test_a_terminal_shows_which_section_runs_and_how_long_it_took(tmp_path):
    terminal, end = os.openpty()
    command = [*PROGRAM, "demo", "--section", "data-overview", "--out", str(tmp_path / "page.html")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=end)
    shown = os.read(terminal, 10_000).decode()
    os.close(end)
    os.close(terminal)
    assert done.returncode == 0, shown
    assert shown.startswith("1/1 data-overview …")
    assert re.search(r"\r1/1 data-overview +\d+\.\d s\r\n$", shown)


def test_data_that_are_generated_are_named(run, sections, tmp_path, monkeypatch):
    sections(good=good_section)
    chapter = Chapter(name="good", run=good_section, needs=("Airline", "BasicMotions"))
    monkeypatch.setattr("timelike.cli.demo.chapters.load_chapter", lambda name: chapter)
    monkeypatch.setattr("timelike.sequences.list_datasets", lambda: ["BasicMotions"])
    monkeypatch.setattr("timelike.cli.demo.data._find_aeon_file", lambda path: None)
    words = "Generated data stand for Airline; pip install --no-deps aeon"
    assert words in " ".join(run("demo", "--out", tmp_path / "page.html").stdout.split())
    assert words in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_every_chapter_can_be_loaded_and_has_a_name_of_its_own():
    loaded = [chapters.load_chapter(name) for name in chapters.CHAPTERS]
    assert len({chapter.name for chapter in loaded}) == len(loaded)


def test_loading_chapters_imports_nothing_heavy():
    program = (
        "import sys; from timelike.cli.demo import chapters; [chapters.load_chapter(n) for n in chapters.CHAPTERS]; "
        "print([m for m in ('torch', 'matplotlib', 'sklearn', 'timelike.align') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_without_torch_a_section_that_needs_it_names_the_extra(tmp_path):
    program = """
from typer.testing import CliRunner
from timelike.cli.demo import chapters
from timelike.cli.demo.section import Chapter, Section
ran = []
chapters.load_chapter = lambda name: Chapter(name=name, run=lambda: ran.append(name), needs_torch=True)
from timelike.cli.main import app
result = CliRunner().invoke(app, ["demo", "--json", "--out", sys.argv[1]])
facts["code"], facts["ran"], facts["sections"] = result.exit_code, ran, json.loads(result.stdout)["result"]["sections"]
facts["page"] = pathlib.Path(sys.argv[1]).read_text()
"""
    facts = facts_without_torch(program, tmp_path / "page.html")
    assert (facts["code"], facts["ran"]) == (0, [])
    for section in facts["sections"]:
        assert section["state"] == "left out"
        assert 'pip install "timelike[learn]"' in section["reason"]
    assert facts["page"].count("This section is left out") == len(chapters.CHAPTERS)


def test_the_commands_for_own_files_run(run, recordings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the fixture has written logs/
    for folder in ("new", "labelled"):
        shutil.copytree(recordings, folder)
    commands = [line for line in page.OWN_FILES.splitlines() if line and not line.startswith("#")]
    assert len(commands) >= 10
    for command in commands:
        words = [*shlex.split(command), *(["--method", "euclidean"] if " compare " in command else [])]  # the quickest
        assert words[0] == "timelike"
        result = run(*words[1:])
        assert result.exit_code == 0, f"{command}\n{result.output}"
        assert "was learned from" not in result.stderr, command
    for written in ("logs.html", "methods.html", "logs-model", "vectors.npz", "warp.png", "future.png", "drift.html"):
        assert Path(written).exists()


def test_the_installed_command_shows_a_section(tmp_path):
    command = [*PROGRAM, "demo", "--section", "data-overview", "--json", "--out", str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    (one,) = json.loads(done.stdout)["result"]["sections"]
    assert one["state"] == "finished"
