"""The queue on a toy repository: what it makes, from which commit, and what is left after it was stopped or killed."""

import signal
from collections import Counter

import pytest
from benchmarks.queue.folders import Folders
from benchmarks.queue.lock import running_process

from toy_repository import IN_ORDER, ToyRepository, kill, wait_until


@pytest.fixture
def toy(tmp_path):
    return ToyRepository(tmp_path)


def test_rows_are_made_in_the_order_of_the_file_and_merged(toy):
    code, output = toy.run("--budget", "60")
    assert code == 0, output
    assert toy.begun() == IN_ORDER
    assert list(toy.rows("first")) == ["walks/DTW/0", "walks/TAP/0", "walks/OPW/0"]
    assert list(toy.rows("second")) == ["walks/TAP/0", "walks/DTW/0"]  # the third waits for another issue
    assert {row["commit"] for row in toy.rows("first").values()} == {toy.head}
    assert {(row["threads"], row["nice"]) for row in toy.rows("first").values()} == {("1", 1)}


def test_nothing_is_made_twice(toy):
    toy.run("--budget", "60")
    before = toy.rows("first")
    assert toy.run("--budget", "60")[0] == 0
    assert toy.begun() == IN_ORDER
    assert toy.rows("first") == before


def test_a_killed_queue_is_resumed_and_finishes_every_row_once(toy):
    process = toy.start("--budget", "60", waits="first walks/TAP/0")
    wait_until(lambda: "first walks/TAP/0" in toy.begun(), process)
    assert toy.rows("second") == {}  # rows are merged at the end, which a killed queue has not reached
    kill(process)
    toy.release()
    code, output = toy.run("--budget", "60")
    assert code == 0, output
    assert Counter(toy.begun()) == Counter(dict.fromkeys(IN_ORDER, 1) | {"first walks/TAP/0": 2})
    assert len(toy.rows("first")) == 3
    assert len(toy.rows("second")) == 2


def test_the_worker_of_a_killed_queue_ends_too(toy):
    """It inherits the lock, which is free when both have ended: nobody releases the row that it waits in."""
    process = toy.start("--budget", "60", waits="first walks/TAP/0")
    wait_until(lambda: "first walks/TAP/0" in toy.begun(), process)
    assert running_process(Folders(toy.base).lock) == process.pid
    kill(process)
    wait_until(lambda: running_process(Folders(toy.base).lock) is None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_queue_merges_what_is_finished(toy, number):
    process = toy.start("--budget", "60", waits="first walks/TAP/0")
    wait_until(lambda: "first walks/TAP/0" in toy.begun(), process)
    process.send_signal(number)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert (list(toy.rows("second")), list(toy.rows("first"))) == (["walks/TAP/0"], ["walks/DTW/0"])


def test_stop_ends_a_running_queue(toy):
    process = toy.start("--budget", "60", waits="first walks/TAP/0")
    wait_until(lambda: "first walks/TAP/0" in toy.begun(), process)
    assert "makes papers.toy.first walks/TAP/0" in toy.run("status")[1]
    assert toy.run("stop") == (0, "stopped; finished rows are merged\n")
    process.communicate()
    assert toy.run("stop") == (0, "no queue runs\n")
    assert list(toy.rows("first")) == ["walks/DTW/0"]


def test_two_queues_do_not_run_at_once(toy):
    process = toy.start("--budget", "60", waits="first walks/TAP/0")
    wait_until(lambda: "first walks/TAP/0" in toy.begun(), process)
    for words in ([], ["--background"]):
        code, output = toy.run("--budget", "60", *words)
        assert code == 1
        assert "a queue runs already" in output
    toy.release()
    process.communicate()
    assert Counter(toy.begun()) == Counter(IN_ORDER)


def test_rows_are_those_of_the_clone_while_the_tree_moves_on(toy):
    then = toy.head
    process = toy.start("--budget", "60", waits="second walks/TAP/0")
    wait_until(lambda: "second walks/TAP/0" in toy.begun(), process)
    toy.write("src/timelike/__init__.py", '__version__ = "1"\nVALUE = 100\n')
    toy.commit("Another library")
    toy.write("src/timelike/__init__.py", "a tree in the middle of an edit")
    toy.release()
    output, _ = process.communicate()
    assert process.returncode == 0, output
    rows = [*toy.rows("first").values(), *toy.rows("second").values()]
    assert {(row["commit"], row["version"], row["accuracy"]) for row in rows} == {(then, "0", 3)}


def test_a_renewed_queue_follows_the_repository_between_rows(toy):
    then = toy.head
    process = toy.start("--budget", "60", "--renew", waits="second walks/TAP/0")
    wait_until(lambda: "second walks/TAP/0" in toy.begun(), process)
    toy.write("src/timelike/__init__.py", '__version__ = "1"\nVALUE = 100\n')
    now = toy.commit("Another library")
    toy.release()
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert toy.begun() == IN_ORDER
    assert (toy.rows("second")["walks/TAP/0"]["commit"], toy.rows("second")["walks/TAP/0"]["accuracy"]) == (then, 3)
    assert {(row["commit"], row["accuracy"]) for row in toy.rows("first").values()} == {(now, 103)}


def test_a_queue_can_run_at_another_commit_or_stay_where_it_was(toy):
    then = toy.head
    toy.write("src/timelike/__init__.py", '__version__ = "1"\nVALUE = 100\n')
    toy.commit("Another library")
    process = toy.start("--budget", "60", "--commit", then, waits="first walks/DTW/0")
    wait_until(lambda: "first walks/DTW/0" in toy.begun(), process)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert toy.run("--budget", "60", "--stay")[0] == 0
    rows = [*toy.rows("first").values(), *toy.rows("second").values()]
    assert {(row["commit"], row["accuracy"]) for row in rows} == {(then, 3)}


@pytest.mark.parametrize("how", ["fails", "crashes"])
def test_a_row_that_fails_is_tried_once_more_in_a_later_run(toy, how):
    trouble = {how: "first walks/TAP/0"}
    others = {"walks/DTW/0", "walks/OPW/0"}
    for attempts in (1, 2, 2):
        code, output = toy.run("--budget", "60", **trouble)
        assert code == 0, output
        assert Counter(toy.begun())["first walks/TAP/0"] == attempts
        assert set(toy.rows("first")) == others
    assert "given up after 2 failures: papers.toy.first walks/TAP/0" in toy.run("status")[1]
    assert toy.run("--budget", "60", "--retry-failed")[0] == 0
    assert set(toy.rows("first")) == others | {"walks/TAP/0"}
    assert Counter(toy.begun())["first walks/DTW/0"] == 1


def test_a_queue_in_the_background_writes_its_log(toy):
    code, output = toy.run("--budget", "60", "--background", waits="first walks/TAP/0")
    assert code == 0
    assert "the queue runs in the background" in output
    wait_until(lambda: "first walks/TAP/0" in toy.begun())
    assert "the queue runs at commit" in Folders(toy.base).log.read_text()
    assert toy.run("stop")[0] == 0


def test_without_time_nothing_is_begun(toy):
    assert toy.run("--budget", "0.5")[0] == 0
    assert toy.begun() == []
    assert "missing: 6 rows, of which 5 can be made here in about 5 min" in toy.run("status")[1]
    assert "waiting: 1 rows, issue 7" in toy.run("status")[1]


def test_a_budget_is_needed(toy):
    code, output = toy.run()
    assert (code, output) == (1, "--budget MINUTES is needed: how long may the queue run?\n")
