"""What happens when something goes wrong."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import timelike as tl
from blocked_torch import facts_without_torch
from timelike.cli.errors import in_options
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


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "logs", "--folds", 1),
        ("compare", "logs", "--seed", -1),
        ("compare", "logs", "--budget", 0),
        ("compare", "logs", "--method", "dttw"),
        ("learn", "logs", "--seed", -1),
        ("cluster", "logs", "--seed", -1),
        ("drift", "logs", "logs", "--permutations", 0),
        ("drift", "logs", "logs", "--permutations", 10, "--exit-code"),
        ("forecast", "m", "logs", "--horizon", 2, "--level", 0),
        ("forecast", "m", "logs", "--horizon", 2, "--level", 1),
        ("verify", "m", "a", "b", "--false-accept", 0),
        ("verify", "m", "a", "b", "--false-accept", 1),
    ],
)
def test_a_value_that_is_never_good_is_wrong_usage_before_any_data_are_read(run, words):
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "Invalid value for" in result.stderr


def test_a_misspelled_method_gets_the_nearest_names(run, recordings):
    assert "there is no method 'dttw': did you mean 'dtw'" in run("compare", recordings, "--method", "dttw").stderr
    assert "'1-NN Euclidean'" in run("compare", recordings, "--method", "1-nn euclidian").stderr


TARGETS = {  # a place of the wrong kind, by command
    "compare": ("--method", "euclidean", "--report"),
    "drift": ("{data}", "--out"),
    "align": ("{data}", "--plot"),
    "describe": ("--out",),
    "report": ("--out",),
    "embed": ("--out",),
    "forecast": ("--horizon", 2, "--out"),
}


@pytest.mark.parametrize("command", TARGETS)
@pytest.mark.parametrize("place", ["folder", "no/such/place"])
def test_a_target_is_refused_before_the_data_are_read(run, recordings, tmp_path, monkeypatch, command, place):
    suffix = {"align": ".png", "embed": ".npz", "forecast": ".csv"}.get(command, ".html")
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"folder{suffix}").mkdir()
    monkeypatch.setattr("timelike.cli.options.data.DataOptions.load_parts", None)
    first = ("model",) if command in ("report", "embed", "forecast") else ()
    words = [str(recordings) if word == "{data}" else word for word in TARGETS[command]]
    result = run(command, *first, recordings, *words, f"{place}{suffix}")
    assert result.exit_code == (2 if place == "folder" else 1)
    words = "is a folder: expected the name of a file" if place == "folder" else "does not exist: make it first"
    assert words in result.stderr


def test_the_demo_refuses_a_folder_before_it_begins(run, tmp_path):
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 2
    assert "is a folder: expected the name of a file" in result.stderr


def test_the_help_lists_every_exit_code(run):
    said = " ".join(run("--help").stdout.split())
    for words in ("1 failure", "2 wrong usage", "3 with drift --exit-code", "130 interrupted", "141 when the reader"):
        assert words in said
    assert "with --exit-code it is 3 if they differ" in " ".join(run("drift", "--help").stdout.split())


@pytest.mark.parametrize(
    ("words", "suffixes"),
    [
        (("align", "d", "d", "--plot", "a.gif"), ".png, .svg or .pdf"),
        (("forecast", "m", "d", "--horizon", 2, "--plot", "a.txt"), ".png, .svg or .pdf"),
        (("forecast", "m", "d", "--horizon", 2, "--out", "a.wav"), ".csv or .parquet"),
        (("embed", "m", "d", "--out", "a.csv"), ".npz or .parquet"),
        (("convert", "d", "a.mat"), ".csv or .parquet"),
    ],
)
def test_a_suffix_that_cannot_be_written_is_wrong_usage(run, words, suffixes):
    result = run(*words)
    assert result.exit_code == 2
    assert f"{suffixes}\n" in result.stderr


@pytest.mark.parametrize("command", ["cluster", "learn", "compare"])
def test_a_model_has_its_missing_parent_made_and_replaces_no_other_folder(run, recordings, tmp_path, command):
    first = {"cluster": ("-k", 2), "learn": ("--method", "neighbors"), "compare": ("--method", "euclidean")}[command]
    words = (command, recordings, *first, "--label", "_([a-z]+)_", "--out")
    refused = run(*words, recordings)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "which is no part of a model" in refused.stderr
    result = run(*words, tmp_path / "models" / "first")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "models" / "first" / "config.json").is_file()


def test_pictures_are_written_whole_or_not_at_all(run, recordings, tmp_path, monkeypatch):
    one = recordings / "bob_run_0.csv"
    for suffix, head in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        assert run("align", one, one, "--plot", tmp_path / "new" / f"a{suffix}").exit_code == 0
        assert (tmp_path / "new" / f"a{suffix}").read_bytes().startswith(head)

    def fail(self, file, **options):
        Path(file).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    assert run("align", one, one, "--plot", tmp_path / "half.png").exit_code == 1
    assert [path.name for path in tmp_path.iterdir() if "half" in path.name] == []


def test_compare_prints_its_table_before_it_writes(run, recordings, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("timelike.report.Page.save", fail)
    words = ("compare", recordings, "--label", "_([a-z]+)_", "--method", "euclidean", "--report", tmp_path / "a.html")
    result = run(*words)
    assert result.exit_code == 1
    assert result.stdout.startswith("| method")
    assert result.stderr == "timelike: disk full\n"
    assert json.loads(run(*words, "--json").stdout)["result"]["best"] == "euclidean"


def test_a_comparison_in_which_nothing_finishes_is_a_failure(run, tmp_path):
    for name, lengths in (("a", (5, 6, 7, 8)), ("b", (6, 7, 8, 9))):
        (tmp_path / "byclass" / name).mkdir(parents=True)
        for number, length in enumerate(lengths):
            rows = "\n".join(f"{i},{i * number}" for i in range(length))
            (tmp_path / "byclass" / name / f"{number}.csv").write_text(f"time,x\n{rows}\n")
    result = run("compare", tmp_path / "byclass", "--method", "1-NN Euclidean", "--folds", 2)
    assert result.exit_code == 1
    assert "failed" in result.stdout or "length" in result.stdout
    assert "timelike: no method has finished: 1-NN Euclidean: " in result.stderr
    methods = ("--method", "1-NN DTW", "--method", "statistics + forest")  # the example in the help
    assert run("compare", tmp_path / "byclass", *methods, "--folds", 2).exit_code == 0


def interrupt_after_first(monkeypatch):
    from timelike.evaluate.run import ComparisonRun

    run_method = ComparisonRun._run_method

    def run_first(self, method, bar):
        if self.rows:
            raise KeyboardInterrupt
        return run_method(self, method, bar)

    monkeypatch.setattr(ComparisonRun, "_run_method", run_first)


def test_a_comparison_that_ctrl_c_ends_prints_what_is_finished_and_writes_no_model(
    run, recordings, tmp_path, monkeypatch
):
    interrupt_after_first(monkeypatch)
    words = ("compare", recordings, "--label", "_([a-z]+)_", "--method", "euclidean", "--method", "dtw")
    result = run(*words, "--out", tmp_path / "best", "--checkpoint", tmp_path / "kept")
    assert result.exit_code == 130
    assert result.stdout.startswith("| method")
    assert "no model is written" in result.stderr
    assert f"the same command goes on from {tmp_path / 'kept'}" in result.stderr
    assert not (tmp_path / "best").exists()
    assert "with --checkpoint FOLDER the same command" in run(*words).stderr


def test_an_interrupted_row_may_have_other_remarks(run, recordings, monkeypatch):
    from timelike.evaluate.run import ComparisonRun

    run_fold = ComparisonRun._run_fold

    def run_first(self, method, fold):
        if fold:
            raise KeyboardInterrupt
        return run_fold(self, method, fold)

    monkeypatch.setattr(ComparisonRun, "_run_fold", run_first)
    for file in recordings.iterdir():
        lines = file.read_text().splitlines()
        lines[5] = lines[5].split(",")[0] + ",,"
        file.write_text("\n".join(lines) + "\n")
    result = run("compare", recordings, "--label", "_([a-z]+)_", "--method", "euclidean")
    assert "stopped by Ctrl-C; missing values interpolated" in result.stdout
    assert result.exit_code == 130


@pytest.mark.parametrize(
    "text",
    [
        "d/group=3/y.csv, line 4: 4 values for 2 columns",
        "group=3.csv, line 4: 4 values",
        "'group=3 of the day.csv' is a video",
        '"k=3.csv" is odd',
        '/data/split="a"/cv=3/random_state=1.csv: no rows',
        "Ridge(random_state=0, k=3) does not forecast",
        "the words cv=",
    ],
)
def test_what_the_user_has_written_is_never_translated(text):
    for command in ("compare", "search", "describe"):
        assert in_options(text, command) == text


@pytest.mark.parametrize(
    ("command", "text", "translated"),
    [
        ("compare", "cv=1: expected at least 2", "--folds 1: expected at least 2"),
        ("compare", "random_state=-1: expected", "--seed -1: expected"),
        ("drift", "level=0.05: use n_permutations=99", "level=0.05: use --permutations 99"),
        ("match", "max_distance=-1.0: expected", "--threshold -1.0: expected"),
        (
            "forecast",
            "n_samples=5: Ridge has one future for a past; call calibrate(X) on sequences that were not used in fit, "
            "to sample",
            "--samples 5: Ridge has one future for a past; name with --calibrate data that were not used in "
            "fit, to sample",
        ),
        ("search", "k=9: expected at most 3", "-k 9: expected at most 3"),
        ("learn", "k=0: expected at least 1", "k=0: expected at least 1"),  # as --set k=0
        (
            "describe",
            "name it with label=\"kind\" or values=['a', 'b c']",
            "name it with --label 'kind' or --values 'a,b c'",
        ),
    ],
)
def test_arguments_are_the_options_of_the_command_that_ran(command, text, translated):
    assert in_options(text, command) == translated


def test_a_path_with_an_equals_sign_is_printed_as_it_is(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "group=3").mkdir(parents=True)
    result = run("describe", "d/group=3/y.csv")
    assert result.stderr == "timelike: there is no file or folder d/group=3/y.csv\n"


def test_too_many_futures_are_refused_in_options(run, recordings, tmp_path):
    model = tmp_path / "ridge"
    assert run("learn", recordings, "--method", "ridge", "--out", model).exit_code == 0
    result = run("forecast", model, recordings, "--horizon", 2, "--samples", 5)
    assert "timelike: --samples 5: Ridge has one future for a past; " in result.stderr
    assert "--calibrate" in result.stderr
    assert "calibrate(X)" not in result.stderr


def test_ctrl_c_while_the_best_is_fitted_keeps_the_table(run, recordings, tmp_path, monkeypatch):
    def press_ctrl_c(_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("timelike.evaluate.Comparison.best", press_ctrl_c)
    words = ("compare", recordings, "--label", "_([a-z]+)_", "--method", "euclidean", "--out", tmp_path / "best")
    result = run(*words)
    assert result.exit_code == 130
    assert result.stdout.startswith("| method")
    assert result.stderr == "timelike: stopped by Ctrl-C, and no model is written\n"
    assert json.loads(run(*words, "--json").stdout)["result"]["best"] == "euclidean"
