"""What happens when something goes wrong."""

import signal
import subprocess
import sys

import pytest
import typer

import timelike as tl
from blocked_torch import facts_without_torch
from timelike.core.progress import print_line

PROGRAM = [sys.executable, "-c", "from timelike.cli.main import app; app(prog_name='timelike')"]


def spoil(folder):
    (folder / "anna_run_0.csv").write_text("time,ax,ay\n0,1,x,y\n")
    (folder / "bob_run_1.csv").write_text("")


def test_all_bad_files_are_listed_and_can_be_skipped(run, answer, recordings):
    spoil(recordings)
    result = run("describe", recordings)
    assert result.exit_code == 1
    assert result.stdout == ""
    for words in ("2 of 12 files cannot be read, --on-error skip leaves them out", "anna_run_0.csv", "bob_run_1.csv"):
        assert words in result.stderr
    skipped = run("describe", recordings, "--on-error", "skip")
    assert skipped.exit_code == 0
    assert skipped.stderr.startswith("timelike: warning: ")
    assert "anna_run_0.csv" in skipped.stderr
    assert answer("describe", recordings, "--on-error", "skip")["all"]["sequences"] == 10


def test_a_defect_is_a_sentence_and_debug_shows_where(run, recordings, monkeypatch):
    def fail(*_):
        raise AssertionError("impossible")

    monkeypatch.setattr("timelike.cli.options.data.DataOptions.load_parts", fail)
    result = run("describe", recordings)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "timelike: AssertionError: impossible; this is a defect of timelike, and timelike --debug"
    )
    assert isinstance(run("--debug", "describe", recordings).exception, AssertionError)


def test_wrong_usage_has_exit_code_2(run, recordings):
    for words in (
        ("describe",),
        ("describe", recordings, "--nothing"),
        ("nothing",),
        ("embed", "m", "d", "--out", "z.txt"),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert "Traceback" not in result.output


def start(*words):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*PROGRAM, *map(str, words)], **pipes, text=True)


def test_a_reader_that_stops_reading_is_no_error(recordings):
    with start("match", recordings / "bob_run_0.csv", recordings, "-k", 5, "--json") as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141  # as of cat or grep, and no failure of its own


def test_ctrl_c_ends_a_command_at_once_with_130(recordings):
    pattern = recordings / "bob_run_0.csv"
    values = [line.partition(",")[2] for line in pattern.read_text().splitlines()[1:]]
    with start("match", pattern, "-", "--threshold", 1e-9) as process:
        process.stdin.write("\n".join([*values, *["9,9"] * 60, ""]))
        process.stdin.flush()
        assert process.stdout.readline().startswith("0–24")  # live, before the input ends
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().strip() == ""


def test_a_method_that_needs_torch_names_the_extra(recordings, tmp_path):
    program = """
from typer.testing import CliRunner
from timelike.cli.main import app
out = sys.argv[2]
result = CliRunner().invoke(app, ["learn", sys.argv[1], "--label", "_([a-z]+)", "--method", "siamese", "--out", out])
facts["code"], facts["said"] = result.exit_code, result.stderr
"""
    facts = facts_without_torch(program, recordings, tmp_path / "model")
    assert facts["code"] == 1
    assert 'needs torch: pip install "timelike[learn]"' in facts["said"]
    assert facts["said"].count("\n") == 1


def test_a_pipe_gets_no_lines_about_progress(run, recordings, monkeypatch):
    def load(*_):
        print_line("12 windows, about 40 s")
        return {"all": tl.load(recordings)}

    monkeypatch.setattr("timelike.cli.options.data.DataOptions.load_parts", load)
    assert run("describe", recordings).stderr == ""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["learn", "--help"]])
def test_help_imports_nothing_heavy(words):
    heavy = [
        "numpy",
        "scipy",
        "sklearn",
        "torch",
        "matplotlib",
        "rich.console",
        "pandas",
        "timelike.sequences",
        "timelike.align",
    ]
    if words[0] == "learn" and tuple(map(int, typer.__version__.split(".")[:2])) < (0, 21):
        heavy.remove("rich.console")  # typer imported it for the defaults of options
    program = (
        "import sys; from timelike.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        f"print('heavy:', [name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
    assert done.stdout.endswith("heavy: []\n"), done.stdout + done.stderr
