"""Parts of the queue: the budget by a fake clock, the lock, merging by key, the order's file, kernels of a clone."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from benchmarks.papers import command
from benchmarks.papers.programs import load_program, program_modules
from benchmarks.queue import kernels
from benchmarks.queue.clone import lower_priority
from benchmarks.queue.folders import Folders
from benchmarks.queue.journal import Journal, failures, slowness
from benchmarks.queue.lock import Lock, QueueRunningError, is_alive, running_process
from benchmarks.queue.merge import merge_rows, merge_tables
from benchmarks.queue.order import EVERY, read_order
from benchmarks.queue.outbox import put_row, waiting_rows
from benchmarks.queue.plan import open_program, plan_rows
from benchmarks.queue.planned_row import PlannedRow, current_versions, finished_rows
from benchmarks.queue.schedule import TOGETHER, Schedule

from toy_repository import wait_until

# --- which rows come next


def planned(*seconds, **same):
    """Rows `a`, `b`, … of one program that take so long."""
    names = "abcdefgh"[: len(seconds)]
    rows = zip(names, seconds, strict=True)
    about = {"entry": 0, "program": "toy", "file": "toy"} | same
    return [PlannedRow(key=name, seconds=float(each), **about) for name, each in rows]


class Machine:
    """A clock that stands still but for the rows that are made."""

    def __init__(self, rows, budget, factor=1.0, **known):
        self.now, self.factor, self.finished, self.made = 1000.0, factor, {}, []
        self.schedule = Schedule(rows, lambda file: self.finished, budget, lambda: self.now, **known)

    def run(self):
        """Make everything for which there is time, a group after the other."""
        groups = []
        while group := self.schedule.next_group():
            groups.append("".join(row.key for row in group))
            for row in group:
                self.now += self.factor * row.seconds
                self.finished[row.key] = {}
        return groups


def test_a_row_is_begun_only_where_its_time_is_left():
    assert Machine(planned(60, 60, 60), 60).run() == ["a"]
    assert Machine(planned(60, 60, 60), 59.9).run() == []
    assert Machine(planned(60, 60, 60), 180).run() == ["abc"]


def test_a_row_that_is_too_long_leaves_the_time_to_those_after_it():
    assert Machine(planned(50, 200, 30, 30), 100).run() == ["a", "c"]


def test_a_slow_machine_makes_fewer_rows():
    rows = [*planned(60), PlannedRow(entry=1, program="other", file="other", key="b", seconds=60)]
    assert Machine(rows, 150, factor=1.0).run() == ["a", "b"]
    assert Machine(rows, 150, factor=2.0).run() == ["a"]


def test_one_process_makes_rows_of_one_entry_for_a_quarter_of_an_hour():
    assert TOGETHER == 900
    assert Machine(planned(400, 400, 400, 2000, 10), 10_000).run() == ["ab", "c", "d", "e"]


def test_one_process_makes_a_hundred_rows_at_most():
    rows = [PlannedRow(entry=0, program="toy", file="toy", key=f"{n} ", seconds=0.01) for n in range(250)]
    assert [len(group.split()) for group in Machine(rows, 1000).run()] == [100, 100, 50]


def test_rows_that_wait_or_lack_something_are_left_out():
    rows = [*planned(1), PlannedRow(entry=1, program="toy", file="toy", key="x", seconds=1, after="issue 36")]
    rows += [PlannedRow(entry=1, program="toy", file="toy", key="y", seconds=1, lacks="no data")]
    assert Machine(rows, 10).run() == ["a"]


def test_a_row_that_failed_twice_is_left_out():
    failed = Counter({("toy", "a"): 2, ("toy", "b"): 1})
    assert Machine(planned(1, 1, 1), 10, failed=failed).run() == ["bc"]


def test_rows_of_outdated_numerics_are_made_again_where_an_entry_wants_it():
    finished = {"a": {"numerics": {"rocket": 1}}, "b": {"numerics": {"rocket": 2, "tap": 1}}}
    versions = {"rocket": 2, "tap": 1}
    for stale, keys in ((False, "c"), (True, "ac")):
        rows = planned(1, 1, 1, stale=stale)
        schedule = Schedule(rows, lambda file: finished, 10, lambda: 0.0, versions)
        assert "".join(row.key for row in schedule.todo()) == keys


def test_rows_of_a_program_that_measures_something_else_now_are_made_again():
    finished = {"a": {"numerics": {"protocol": 1}}, "b": {"numerics": {"protocol": 2}}}
    schedule = Schedule(planned(1, 1, stale=True, protocol=2), lambda file: finished, 10, lambda: 0.0)
    assert [row.key for row in schedule.todo()] == ["a"]


def test_the_versions_of_numerics_are_read_from_the_ledger(tmp_path):
    assert current_versions(tmp_path) == {}
    (tmp_path / "benchmarks/numerics").mkdir(parents=True)
    history = [{"version": 1}, {"version": 2}, {"version": 3, "draws": True}]  # the last draws other random numbers
    ledger = {"rocket": {"history": history, "outputs": {}}}
    (tmp_path / "benchmarks/numerics/ledger.json").write_text(json.dumps(ledger))
    assert current_versions(tmp_path) == {"rocket": 2}


# --- what is remembered


def test_failures_are_counted_until_they_are_forgotten(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    about = {"program": "toy", "key": "a"}
    for event in ("begun", "failed", "begun", "failed"):
        journal.write(event, **about)
    assert failures(journal.read()) == {("toy", "a"): 2}
    journal.write("failures forgotten")
    assert failures(journal.read()) == {}


def test_a_line_cut_off_by_a_crash_is_left_out(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.write("begun", program="toy", key="a")
    place = journal.position()
    with journal.path.open("a") as stream:
        stream.write('{"at": "2026-11-18T0\n')
    journal.write("finished", program="toy", key="a", seconds=30.0, guess=10.0)
    assert [event["event"] for event in journal.read()] == ["begun", "finished"]
    assert [event["event"] for event in journal.read(place)] == ["finished"]
    assert slowness(journal.read()) == 3.0


# --- the lock


def test_a_lock_is_held_by_one_and_names_it(tmp_path):
    path = tmp_path / "queue/lock"
    assert running_process(path) is None
    lock = Lock.acquire(path)
    assert running_process(path) == os.getpid()
    with pytest.raises(QueueRunningError, match=f"process {os.getpid()}"):
        Lock.acquire(path)
    lock.release()
    assert running_process(path) is None


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    path = tmp_path / "lock"
    code = f"from benchmarks.queue.lock import Lock; from pathlib import Path; Lock.acquire(Path({str(path)!r}))"
    dead = subprocess.run([sys.executable, "-c", f"{code}; import os; os._exit(1)"], check=False)
    assert dead.returncode == 1
    assert path.read_text().strip().isdecimal()
    assert running_process(path) is None
    Lock.acquire(path).release()


def test_a_low_priority_is_inherited():
    code = "from benchmarks.queue.clone import lower_priority; lower_priority(); import os; print(os.nice(0))"
    assert lower_priority.__defaults__ == (19,)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == min(os.nice(0) + 19, 19)  # it is added to that of the tests


# --- merging


@pytest.fixture
def folders(tmp_path):
    return Folders(tmp_path / "queue")


def put(folders, **rows):
    """Rows into the outbox, for the file `toy`."""
    for key, row in rows.items():
        put_row(folders.rows, "toy", key, {"rows": {key: row}})


def written(tree, rows):
    path = tree / "benchmarks/results/toy.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": rows}, indent=1))
    return path


def test_rows_are_merged_by_key_and_the_trees_own_stay(folders, tmp_path):
    path = written(tmp_path, {"a": {"value": 1, "commit": "tree"}})
    put(folders, a={"value": 2, "commit": "queue"}, b={"value": 3, "commit": "queue"})
    assert merge_rows(folders, tmp_path) == {"toy": ["b"]}
    rows = json.loads(path.read_text())["rows"]
    assert rows == {"a": {"value": 1, "commit": "tree"}, "b": {"value": 3, "commit": "queue"}}
    assert merge_rows(folders, tmp_path) == {}


def test_a_file_that_the_tree_does_not_have_is_made(folders, tmp_path):
    put(folders, a={"value": 2})
    assert merge_rows(folders, tmp_path) == {"toy": ["a"]}
    assert json.loads((tmp_path / "benchmarks/results/toy.json").read_text())["rows"] == {"a": {"value": 2}}


@pytest.mark.parametrize(
    ("tree", "queue", "wins"),
    [
        ({"rocket": 1}, {"rocket": 2}, "queue"),
        ({"rocket": 2}, {"rocket": 1}, "tree"),
        ({"rocket": 2}, {"rocket": 2}, "tree"),
        ({}, {"rocket": 1}, "queue"),
        ({"rocket": 1, "tap": 2}, {"rocket": 2, "tap": 1}, "tree"),
        ({"rocket": 1, "tap": 2}, {"rocket": 2, "tap": 2}, "queue"),
        (None, None, "tree"),
    ],
)
def test_of_two_rows_with_one_key_the_newer_numerics_win(tree, queue, wins):
    named = {"tree": tree, "queue": queue}
    rows = {name: {"rows": {"a": {"by": name, "numerics": numerics}}} for name, numerics in named.items()}
    merged, taken = merge_tables(rows["tree"], rows["queue"])
    assert merged["rows"]["a"]["by"] == wins
    assert taken == (["a"] if wins == "queue" else [])


def test_rows_wait_while_the_file_of_the_tree_is_broken(folders, tmp_path, capsys):
    path = written(tmp_path, {})
    broken = "<<<<<<< HEAD\n" + path.read_text()
    path.write_text(broken)
    put(folders, a={"value": 2})
    assert merge_rows(folders, tmp_path) == {}
    assert "toy: its rows wait" in capsys.readouterr().out
    assert path.read_text() == broken
    assert finished_rows(folders, tmp_path / "benchmarks/results", "toy")["rows"] == {"a": {"value": 2}}
    written(tmp_path, {"b": {"value": 1}})
    assert merge_rows(folders, tmp_path) == {"toy": ["a"]}


def test_a_row_taken_out_of_the_tree_is_missing_again(folders, tmp_path):
    """It is merged once, unless it is asked for again."""
    put(folders, a={"value": 2})
    merge_rows(folders, tmp_path)
    written(tmp_path, {})
    assert merge_rows(folders, tmp_path) == {}
    assert finished_rows(folders, tmp_path / "benchmarks/results", "toy")["rows"] == {}
    assert merge_rows(folders, tmp_path, again=True) == {"toy": ["a"]}


def test_a_row_that_is_put_there_during_a_merge_is_not_lost(folders, tmp_path, monkeypatch):
    put(folders, a={"value": 2})
    merging = sys.modules["benchmarks.queue.merge"]
    write = merging.write_json

    def meanwhile(path, value):
        put(folders, b={"value": 3})
        write(path, value)

    monkeypatch.setattr(merging, "write_json", meanwhile)
    assert merge_rows(folders, tmp_path) == {"toy": ["a"]}
    monkeypatch.setattr(merging, "write_json", write)
    assert waiting_rows(folders.rows, "toy")[0]["rows"] == {"b": {"value": 3}}
    assert merge_rows(folders, tmp_path) == {"toy": ["b"]}


def test_the_tree_is_not_imported_to_merge():
    code = "import sys; import benchmarks.queue.__main__, benchmarks.queue.status; print('timelike' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# --- the order


ENTRIES = read_order()


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{n} {entry.program}" for n, entry in enumerate(ENTRIES, 1)])
def test_every_pattern_of_the_order_matches_a_planned_row(entry):
    assert entry.minutes > 0
    assert entry.why.endswith(".")
    if entry.program == EVERY:
        assert not entry.only
        return
    kind = load_program(entry.module)
    try:
        rows = list(open_program(kind, entry.arguments).planned())
    except FileNotFoundError as error:
        pytest.skip(f"{entry.program} plans by the files that there are: {error}")
    for pattern in entry.only or [None]:
        assert command.chosen(rows, pattern and [pattern])


def test_the_last_entry_is_everything():
    assert [entry.program for entry in ENTRIES].index(EVERY) == len(ENTRIES) - 1
    assert len(program_modules()) > 40


def test_an_entry_with_an_unknown_word_is_refused(tmp_path):
    path = tmp_path / "order.toml"
    path.write_text('[[entry]]\nprogram = "papers.tap.times"\nminutes = 1\nreason = "no"\n')
    with pytest.raises(ValueError, match=r"entry 1 of the order: unknown \['reason'\], missing \['why'\]"):
        read_order(path)


def test_a_row_stands_where_it_comes_first(tmp_path):
    path = tmp_path / "order.toml"
    path.write_text("""
[[entry]]
program = "papers.srvp.kalman"
only = ["turning/SRVP/2"]
minutes = 1
why = "One row."
after = "issue 7"

[[entry]]
program = "papers.srvp.kalman"
only = ["SRVP"]
minutes = 3
why = "Three."

[[entry]]
program = "papers.no.such"
minutes = 1
why = "A mistake."
""")
    rows, problems = plan_rows(read_order(path), None)
    assert [(row.key, row.after) for row in rows] == [
        ("turning/SRVP/2", "issue 7"),
        ("turning/SRVP/0", ""),
        ("turning/SRVP/1", ""),
    ]
    assert [row.file for row in rows] == ["srvp_kalman"] * 3
    assert len(problems) == 1
    assert "benchmarks.papers.no.such" in problems[0]


# --- kernels of a clone


def tree_with_kernels(folder, text):
    native = folder / "src/timelike/native"
    native.mkdir(parents=True)
    (native / "CMakeLists.txt").write_text("project(kernels)\n")
    (native / "module.cpp").write_text(text)
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An editable install of a tree, and its kernels."""
    tree = tree_with_kernels(tmp_path / "installed tree", "int f();\n")
    place = tmp_path / "site"
    built = place / f"timelike/native/_kernels{kernels._suffix()}"
    built.parent.mkdir(parents=True)
    built.write_bytes(b"machine code")
    origin = {"url": tree.as_uri(), "dir_info": {"editable": True}}
    package = SimpleNamespace(read_text=lambda name: json.dumps(origin), locate_file=lambda name: place / name)
    monkeypatch.setattr(kernels, "distribution", lambda name: package)
    monkeypatch.setattr(kernels, "_build", lambda tree, cached: pytest.fail("nothing is to be built"))
    return SimpleNamespace(tree=tree, built=built)


def test_installed_kernels_are_copied_where_sources_are_the_same(installed, tmp_path):
    clone = tree_with_kernels(tmp_path / "clone", "int f();\n")
    kernels.install_kernels(clone, tmp_path / "cache")
    copied = clone / f"src/timelike/native/_kernels{kernels._suffix()}"
    assert copied.read_bytes() == b"machine code"
    installed.built.unlink()  # another move of the clone takes those that are kept
    copied.write_bytes(b"of another commit")
    kernels.install_kernels(clone, tmp_path / "cache")
    assert copied.read_bytes() == b"machine code"


@pytest.mark.parametrize("what", ["other sources", "edited after the build", "not editable"])
def test_kernels_are_built_where_the_installed_ones_may_be_others(installed, tmp_path, monkeypatch, what):
    clone = tree_with_kernels(tmp_path / "clone", "int g();\n" if what == "other sources" else "int f();\n")
    if what == "edited after the build":
        later = installed.built.stat().st_mtime + 10
        os.utime(installed.tree / "src/timelike/native/module.cpp", (later, later))
    if what == "not editable":
        monkeypatch.setattr(kernels.distribution("timelike"), "read_text", lambda name: None)
    monkeypatch.setattr(kernels, "_build", lambda tree, cached: cached.write_bytes(b"new machine code"))
    kernels.install_kernels(clone, tmp_path / "cache")
    copied = clone / f"src/timelike/native/_kernels{kernels._suffix()}"
    assert copied.read_bytes() == b"new machine code"


def test_a_tree_without_kernels_needs_none(tmp_path):
    (tmp_path / "src/timelike").mkdir(parents=True)
    kernels.install_kernels(tmp_path, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_an_interrupted_build_takes_its_compilers_along(tmp_path):
    """They are children of pip, which a signal to pip alone would leave behind."""
    note = tmp_path / "compiler"
    compiler = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    pip = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {compiler!r}])"
    queue = f"""
import signal, sys
from benchmarks.queue import kernels
from benchmarks.queue.runner import interrupt
signal.signal(signal.SIGTERM, interrupt)
kernels._run([sys.executable, "-c", {pip!r}])
"""
    process = subprocess.Popen([sys.executable, "-c", queue], stderr=subprocess.PIPE)
    wait_until(lambda: note.exists() and note.read_text())
    process.send_signal(signal.SIGTERM)
    process.communicate()
    wait_until(lambda: not is_alive(int(note.read_text())))
