"""The program behind the papers' tables: three rows of a made-up paper."""

import json
import signal
import tempfile
from datetime import date

import pytest
from benchmarks.papers.results import ResultFile, Trial
from benchmarks.papers.resumable import Program

import timelike as tl


class Toy(Program[Trial]):
    """Three rows; `begun` lists the work that was done."""

    paper, table, holds, title = "toy", "rows", "nothing", "A toy"
    without_data = True
    begun: list[str] = []  # noqa: RUF012
    interrupts = fails = ""

    def planned(self):
        return [Trial("walks", method, 0) for method in ("DTW", "TAP", "OPW")]

    def systems(self, row):
        return ("tap", "elastic") if row.method == "TAP" else ("elastic",)

    def work(self, row):
        if row.method == self.interrupts:
            signal.raise_signal(signal.SIGINT)
        if row.method == self.fails:
            raise ValueError("this row cannot be")
        self.begun.append(row.method)
        return {"accuracy": len(row.method)}

    def seconds(self, row):
        return 60.0

    def said(self, found):
        return f"accuracy {found['accuracy']}"

    def headline(self):
        return f"{len(self.rows)} rows are finished."

    def body(self):
        return "\n".join(self.rows) + "\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the toy with some arguments; gives the exit code and the rows that are then on disk."""
    monkeypatch.setattr(Toy, "begun", [])
    results = tmp_path / "toy.json"

    def run(*words, **how):
        for name, value in ({"interrupts": "", "fails": ""} | how).items():
            monkeypatch.setattr(Toy, name, value)
        code = Toy.main(["--results", str(results), "--scratch", str(tmp_path), *words])
        return code, json.loads(results.read_text())["rows"]

    run.results = results
    return run


def test_a_row_says_what_it_is_about_and_what_made_it(run):
    code, rows = run()
    assert code == 0
    assert list(rows) == ["walks/DTW/0", "walks/TAP/0", "walks/OPW/0"]
    made = {"machine", "commit", "version", "date", "numerics"}
    assert {"dataset", "method", "seed", "accuracy", "seconds"} | made == set(rows["walks/DTW/0"])
    assert rows["walks/DTW/0"]["version"] == tl.__version__
    assert abs(date.fromisoformat(rows["walks/DTW/0"]["date"]) - date.today()).days <= 1
    page = run.results.with_suffix(".md").read_text()
    assert page.startswith("# A toy\n\n3 rows are finished.\n\n")
    assert "\npython -m benchmarks.papers.toy.rows\n" in page
    assert "\nwalks/DTW/0\nwalks/TAP/0\nwalks/OPW/0\n" in page


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(run, capsys):
    before = signal.getsignal(signal.SIGINT)
    code, rows = run(interrupts="TAP")
    assert code == 130
    assert list(rows) == ["walks/DTW/0"]
    assert "stopped; the next run goes on after the 1 finished rows" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before
    code, rows = run()
    assert (code, len(rows)) == (0, 3)
    assert Toy.begun == ["DTW", "TAP", "OPW"]


def test_one_press_is_not_taken_for_the_end_of_a_training(run, monkeypatch):
    """A training that has Python's own handler before it ends early and is returned, as if the row were finished."""
    seen = []
    monkeypatch.setattr(Toy, "said", lambda self, found: seen.append(signal.getsignal(signal.SIGINT)) or "")
    run()
    assert seen
    assert signal.default_int_handler not in seen


def test_a_row_of_another_commit_is_kept_as_it_is(run):
    old = {"dataset": "walks", "method": "DTW", "seed": 0, "accuracy": 99, "seconds": 1, "commit": "0123456789"}
    without = {name: value for name, value in old.items() if name != "commit"} | {"method": "TAP"}
    run.results.write_text(json.dumps({"rows": {"walks/DTW/0": old, "walks/TAP/0": without}}))
    _, rows = run()
    assert (rows["walks/DTW/0"], rows["walks/TAP/0"]) == (old, without)
    assert Toy.begun == ["OPW"]


def test_without_a_budget_nothing_new_is_computed(run, capsys):
    code, rows = run("--budget", "0")
    assert (code, rows, Toy.begun) == (0, {}, [])
    assert "not begun for lack of time: 3 of 3 rows, the first walks/DTW/0" in capsys.readouterr().out


def test_a_row_is_not_begun_when_the_budget_would_not_suffice(run):
    assert run("--budget", "0.99")[1] == {}
    assert len(run("--budget", "1.5")[1]) == 3  # rows of no time at all: the guess of a minute is soon corrected


def test_every_row_says_how_long_it_and_all_will_take(run, capsys):
    run("--only", "OPW")
    assert "walks/OPW/0: about 60 s, until " in capsys.readouterr().out
    run()
    told = capsys.readouterr().out
    assert "all: 2 min" in told
    assert "    walks/TAP/0: accuracy 3, 0 s" in told


@pytest.mark.parametrize(
    ("word", "found"), [("TAP", 1), ("walks", 3), ("walks/TAP", 1), ("walks/TAP/0", 1), ("*/?TW/*", 1)]
)
def test_only_the_rows_asked_for(run, word, found):
    assert len(run("--only", word)[1]) == found


def test_a_word_that_no_row_has_is_refused(run):
    with pytest.raises(SystemExit, match="--only ERP: no row has this. Known: DTW, OPW, TAP, walks"):
        run("--only", "ERP")


def test_a_row_that_fails_leaves_the_others_alone(run, capsys):
    code, rows = run(fails="TAP")
    assert (code, list(rows)) == (1, ["walks/DTW/0", "walks/OPW/0"])
    assert "walks/TAP/0: FAILED, ValueError" in capsys.readouterr().err


def test_rows_of_two_runs_at_once_are_all_kept(run, monkeypatch):
    def work(self, row):  # the other run finishes a row meanwhile
        run.results.write_text(json.dumps({"rows": {"walks/OPW/0": {"accuracy": 7}}}))
        return {"accuracy": 1}

    monkeypatch.setattr(Toy, "work", work)
    _, rows = run("--only", "DTW")
    assert set(rows) == {"walks/OPW/0", "walks/DTW/0"}


def test_a_quick_run_never_writes_among_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SystemExit, match="--quick would write meaningless numbers among the results"):
        Toy.main(["--quick", "--results", "benchmarks/results/toy_rows.json"])
    assert Toy.main(["--quick"]) == 0
    assert not (tmp_path / "docs").exists()
    assert not (tmp_path / "benchmarks").exists()


def test_the_page_of_the_trees_own_rows_is_written_into_the_documentation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Toy.main(["--scratch", str(tmp_path)]) == 0
    assert list(json.loads((tmp_path / "benchmarks/results/toy_rows.json").read_text())["rows"]) == [
        "walks/DTW/0",
        "walks/TAP/0",
        "walks/OPW/0",
    ]
    assert (tmp_path / "benchmarks/results/toy_rows.md").read_text().startswith("# A toy\n")
    absolute = ResultFile(tmp_path / "benchmarks/results/toy_rows.json")
    assert absolute.page == tmp_path / "benchmarks/results/toy_rows.md"
    assert ResultFile(tmp_path / "results/toy_rows.json").page == tmp_path / "results/toy_rows.md"


def test_a_program_that_needs_data_says_so(monkeypatch):
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)
    monkeypatch.setattr(Toy, "without_data", False)
    with pytest.raises(SystemExit, match="no data: --data DIR or TIMELIKE_DATA names the folder that holds nothing"):
        Toy.main([])
