"""Bars: at once where they are asked for, after two seconds where somebody looks, never where nobody does."""

import io
import multiprocessing
import os
import subprocess
import sys
import threading

import pytest

import timelike as tl
from timelike.core import progress
from timelike.core.progress import ProgressMeter


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch, capsys):
    """What somebody sees who looks, since the last time it was asked for."""
    monkeypatch.setattr(progress, "_is_notebook", lambda: True)
    return lambda: capsys.readouterr().err


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are told to."""
    hands = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: hands[0])
    return hands


def count(clock, *, progress=None, seconds=1.0, steps=4):
    with ProgressMeter(steps, progress, name="work", unit="step") as bar:
        for _ in range(steps):
            clock[0] += seconds
            bar.update()
    return bar


def test_a_bar_comes_after_two_seconds_and_goes_away(terminal, clock):
    count(clock, seconds=0.4)
    assert terminal() == ""
    count(clock, seconds=1.0)
    shown = terminal()
    assert "work:" in shown
    assert "step" in shown
    assert shown.rstrip(" ").endswith("\r")  # wiped out


def test_what_is_asked_for_comes_at_once_and_stays(terminal, clock):
    count(clock, progress=True, seconds=0.0)
    shown = terminal()
    assert "work: 100%" in shown
    assert shown.endswith("\n")


def test_a_bar_that_comes_late_knows_when_the_work_began(terminal):
    with ProgressMeter(4, True) as bar:
        bar._since -= 100
        bar._bar.close()
        bar._open_bar()
        assert 99 < bar._bar.format_dict["elapsed"] < 101


@pytest.mark.parametrize("progress", [None, False])
def test_nobody_who_looks_no_bar(capsys, clock, progress):
    assert count(clock, progress=progress, seconds=60).done == 4
    assert capsys.readouterr().err == ""


def test_false_is_silent_on_a_terminal(terminal, clock):
    count(clock, progress=False, seconds=60)
    assert terminal() == ""


def test_within_a_count_the_inner_ones_are_silent_but_for_those_asked_for(terminal, clock):
    with ProgressMeter(2, False):
        count(clock, seconds=60)
        assert terminal() == ""
        count(clock, progress=True)
        assert "work: 100%" in terminal()
    count(clock, seconds=60)
    assert "work:" in terminal()  # afterwards they are heard again


def test_a_count_that_ends_in_an_error_leaves_others_alone(terminal, clock):
    with pytest.raises(ZeroDivisionError), ProgressMeter(2, None):
        raise ZeroDivisionError
    count(clock, seconds=60)
    assert "work:" in terminal()


def test_a_terminal_is_looked_at(monkeypatch):
    assert not progress.is_interactive()
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress.is_interactive()


def test_other_threads_and_other_processes_draw_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    found = []
    worker = threading.Thread(target=lambda: found.append(progress.is_interactive()))
    worker.start()
    worker.join()
    assert (progress.is_interactive(), found) == (True, [False])
    monkeypatch.setattr(multiprocessing, "current_process", lambda: type("Worker", (), {"name": "LokyProcess-1"}))
    assert not progress.is_interactive()


def test_a_notebook_is_looked_at(monkeypatch):
    class Shell:
        kernel = object()

    class IPython:
        get_ipython = staticmethod(Shell)

    assert not progress.is_interactive()
    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert progress.is_interactive()
    monkeypatch.setattr(IPython, "get_ipython", staticmethod(lambda: None))
    assert not progress.is_interactive()


def test_a_program_without_a_standard_error_goes_on(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", None)
    assert count(clock, seconds=60).done == 4


@pytest.mark.parametrize("wrong", ["no", 1, 0.0])
def test_progress_is_true_false_or_none(wrong):
    with pytest.raises(TypeError, match="progress="):
        tl.DTW().pairwise([[0.0], [1.0]], progress=wrong)
    with pytest.raises(TypeError, match="progress="):
        tl.barycenter([[0.0], [1.0]], progress=wrong)


def test_distances_neighbours_and_averages_show_themselves_on_a_terminal(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    X = tl.Sequences([[float(i), 2.0, 1.0] for i in range(40)])
    for metric in (tl.DTW(), tl.SoftDTW(), tl.GDTW()):
        name = type(metric).__name__
        metric.pairwise(X)
        assert f"{name}:" in terminal()
        metric.neighbors(X, X[:5], k=2)
        assert f"{name}:" in terminal()
        metric.neighbors(X, X[:5], k=2, among=[[1, 2, 3]] * 5)
        assert f"{name}:" in terminal()
        metric.neighbors(X, X[:5], k=2, progress=False)
        assert terminal() == ""
    tl.barycenter(X)
    assert "barycenter:" in terminal()


def test_what_is_shown_is_what_is_found_unseen(terminal, monkeypatch):
    X = tl.Sequences([[float(i % 7), 2.0, i / 3] for i in range(330)])
    encoder = tl.Rocket(n_features=84, random_state=0).fit(X)
    expected = {
        "vectors": encoder.encode(X, progress=False),
        "windows": encoder.encode(X, windows=(2, 1), progress=False).values,
        "distances": encoder.pairwise(X[:150], X, progress=False),
        "nearest": encoder.neighbors(X, X, 3, progress=False).ids,
        "soft": tl.SoftDTW().neighbors(X, X, 3, progress=False).distances,
    }
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    seen = {
        "vectors": encoder.encode(X),
        "windows": encoder.encode(X, windows=(2, 1)).values,
        "distances": encoder.pairwise(X[:150], X),
        "nearest": encoder.neighbors(X, X, 3).ids,
        "soft": tl.SoftDTW().neighbors(X, X, 3).distances,
    }
    assert "Rocket:" in terminal()
    for name, values in expected.items():
        assert (seen[name] == values).all(), name


def test_nothing_is_imported_for_a_bar_that_nobody_sees():
    program = "import sys, timelike as tl; tl.DTW().pairwise([[1.0], [2.0]]); print('tqdm' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (answer.stdout.strip(), answer.stderr) == ("False", "")


def test_a_line_stands_above_a_bar(capsys):
    progress.print_line("a word")
    assert capsys.readouterr().err == "a word\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_without_a_size_is_shown_a_bar():
    import pty

    leader, follower = pty.openpty()  # 0 rows of 0 columns
    code = "from timelike.core.progress import ProgressMeter\nwith ProgressMeter(3, True, name='three') as bar: bar.update(3)"
    try:
        subprocess.run([sys.executable, "-c", code], stderr=follower, check=True)
        assert "three: 100%" in os.read(leader, 4096).decode()
    finally:
        os.close(leader), os.close(follower)
