"""Commands without a model: alignment, clusters, matches."""

import json

import numpy as np
import pytest

import timelike as tl


def test_align_is_the_library_and_draws(answer, recordings, tmp_path):
    a, b = recordings / "anna_run_0.csv", recordings / "anna_walk_1.csv"
    said = answer("align", a, b, "--set", "window=0.2", "--plot", tmp_path / "warp.png")
    expected = tl.DTW(window=0.2).align(tl.load(a)[0], tl.load(b)[0])
    assert said["cost"] == pytest.approx(expected.cost)
    assert said["path"] == expected.path.tolist()
    assert (tmp_path / "warp.png").read_bytes().startswith(b"\x89PNG")


def test_align_takes_other_methods_and_items(answer, run, recordings):
    said = answer("align", recordings, recordings, "--item", "1,4", "--method", "softdtw", "--set", "gamma=0.5")
    X = tl.load(recordings)
    assert said["cost"] == pytest.approx(tl.SoftDTW(gamma=0.5).align(X[1], X[4]).cost)
    for words, code, message in (
        (("--item", "12"), 1, "has 12 sequences, counted from 0"),
        (("--item", "x"), 2, "expected a position from 0"),
        (("--method", "dwt"), 1, "one of adtw"),
        (("--set", "windw=1"), 1, "DTW has no option 'windw': expected one of window, band"),
    ):
        result = run("align", recordings, recordings, *words)
        assert result.exit_code == code, result.output
        assert message in result.stderr


def test_cluster_finds_the_two_movements(answer, run, recordings, tmp_path):
    ask = ("cluster", recordings, "-k", 2, "--label", "_([a-z]+)")
    said = answer(*ask, "--out", tmp_path / "medoids")
    assert said["adjusted_rand"] == 1
    assert sorted(said["sizes"].values()) == [6, 6]
    assert tl.load_model(tmp_path / "medoids").predict(tl.load(recordings)).tolist() == said["clusters"]
    assert run("cluster", recordings, "--method", "dbscan", "-k", 2).exit_code == 2
    for method in ("kmeans", "agglomerative", "spectral"):
        assert len(answer(*ask, "--method", method)["sizes"]) == 2


@pytest.fixture
def pattern(tmp_path):
    file = tmp_path / "wave.csv"
    file.write_text("time,x\n0,1\n1,2\n2,1\n")
    return file


def test_match_finds_a_pattern_in_a_file(answer, run, pattern, tmp_path):
    stream = tmp_path / "stream.csv"
    values = [0, 0, 1, 2, 1, 0, 0, 5, 1, 2, 2, 1]
    stream.write_text("\n".join(["time,x", *(f"{t},{x}" for t, x in enumerate(values))]) + "\n")
    found = answer("match", pattern, stream, "-k", 2)["matches"]
    assert [(one["stream"], one["start"], one["stop"], one["distance"]) for one in found] == [
        ("stream", 2, 5, 0),
        ("stream", 8, 12, 0),
    ]
    stream.write_text("time,x\n0,7\n1,8\n")
    assert run("match", pattern, stream, "--threshold", 0.5).stdout == "no match\n"


def test_match_reads_standard_input_whole_or_live(answer, run, pattern):
    samples = "0\n1\n2\n1\n\n0,\n0\n0\n0\n0\n0\n1\n2\n1\n"
    assert answer("match", pattern, "-", stdin=samples)["matches"][0]["start"] == 1
    live = run("match", pattern, "-", "--threshold", 0.5, "--json", stdin=samples)
    found = [json.loads(line)["result"]["matches"] for line in live.stdout.splitlines()]
    assert [(one["start"], one["stop"]) for (one,) in found] == [(1, 4), (10, 13)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1,2\n", "line 2 of standard input is '1,2': expected 1 number, the channels of the pattern"),
        (
            "a,b\n1,2\n",
            "line 1 of standard input is a header without x: expected the pattern's channels (x) among a, b, or no header",
        ),
        ("x,y\n1\n", "line 2 of standard input is '1': expected 1 number, the channels of the pattern"),
        ("x\n1\ntwo\n", "line 3 of standard input is 'two': expected 1 number, the channels of the pattern"),
        ("\n", "standard input is empty: expected a line of numbers for every step"),
    ],
)
def test_match_names_the_line_of_standard_input_that_it_cannot_read(run, pattern, text, message):
    wrong = run("match", pattern, "-", stdin=text)
    assert wrong.exit_code == 1
    assert wrong.stderr == f"timelike: {message}\n"


@pytest.mark.parametrize(
    "text",
    [
        "time,x\n0,0\n1,1\n2,2\n3,1\n4,0\n",
        "x;time\n0;0\n1,0;1\n2,0;2\n1;3\n0;4\n",
        "x\n0\n1\n2\n1\n0\n",
        "time,x\n2024-01-01 10:00:00,0\n2024-01-01 10:00:01,1\n2024-01-01 10:00:02,2\n2024-01-01 10:00:03,1\n",
        '\ufeff"a, b","x",\n,0,\n,1,\n,2,\n,1,\n',
        "time\tx\n0\t0\n1\t1,0\n2\t2\n3\t1\n",
    ],
)
def test_match_reads_a_table_on_standard_input(answer, pattern, text):
    (found,) = answer("match", pattern, "-", stdin=text)["matches"]
    assert (found["start"], found["stop"], found["distance"]) == (1, 4, 0)


@pytest.mark.parametrize("header", ['"acc y","acc x"', "acc y,acc x", "acc y;acc x", "acc y\tacc x"])
def test_a_header_on_standard_input_is_read_as_csv(answer, tmp_path, header):
    wave = tmp_path / "wave.csv"
    wave.write_text("acc x,acc y\n1,10\n2,20\n1,10\n")
    separator = next(one for one in ";\t," if one in header)
    rows = [f"{y}{separator}{x}" for x, y in ((0, 0), (1, 10), (2, 20), (1, 10), (0, 0))]
    (found,) = answer("match", wave, "-", "--values", "acc x,acc y", stdin="\n".join([header, *rows]))["matches"]
    assert (found["start"], found["stop"], found["distance"]) == (1, 4, 0)


@pytest.mark.parametrize("line", ["nan", ",", "NaN"])
@pytest.mark.parametrize("options", [(), ("--interpolate",), ("--threshold", 3)])
def test_a_missing_value_on_standard_input_is_an_error_with_its_line(run, pattern, line, options):
    wrong = run("match", pattern, "-", *options, stdin=f"time,x\n0,1\n1,{line.strip(',')}\n2,1\n")
    assert wrong.exit_code == 1
    assert "line 3 of standard input is " in wrong.stderr
    assert "with a missing value" in wrong.stderr
    assert wrong.stderr.count("\n") == 1


def test_live_input_needs_lines_and_takes_no_number_of_matches(run, pattern):
    empty = run("match", pattern, "-", "--threshold", 3, stdin="")
    assert (empty.exit_code, empty.stderr) == (
        1,
        "timelike: standard input is empty: expected a line of numbers for every step\n",
    )
    refused = run("match", pattern, "-", "--threshold", 3, "-k", 1, stdin="0\n1\n")
    assert refused.exit_code == 2
    assert "a live search prints every match" in refused.stderr


@pytest.fixture
def swapped(recordings, tmp_path):
    """The recordings with their columns in another order, and one more."""
    folder = tmp_path / "swapped"
    folder.mkdir()
    for file in recordings.iterdir():
        rows = [line.split(",") for line in file.read_text().splitlines()]
        lines = [",".join((row[2], "note" if row[0] == "time" else "7", row[0], row[1])) for row in rows]
        (folder / file.name).write_text("\n".join(lines) + "\n")
    return folder


def test_columns_may_stand_in_any_order(answer, run, recordings, swapped, tmp_path):
    one, other = recordings / "bob_run_1.csv", swapped / "bob_run_1.csv"
    assert answer("align", one, other)["cost"] == 0
    assert answer("match", one, other)["matches"][0]["distance"] == 0
    assert run("match", one, other).stderr == f"timelike: {other}: these columns are not used: note\n"
    assert answer("drift", recordings, swapped, "--permutations", 19)["p_value"] == 1
    for method in ("neighbors", "ridge"):
        answer("learn", recordings, "--label", "_([a-z]+)_", "--method", method, "--out", tmp_path / method)
    ask = ("search", tmp_path / "neighbors", recordings, other, "-k", 1)
    assert (answer(*ask)["ids"], answer(*ask)["distances"]) == ([["bob_run_1"]], [[0]])
    futures = [answer("forecast", tmp_path / "ridge", data, "--horizon", 2)["mean"] for data in (recordings, swapped)]
    assert futures[0] == futures[1]


def test_channels_that_are_missing_are_named(run, recordings, pattern):
    result = run("match", pattern, recordings / "bob_run_1.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("timelike: PATTERN has x and ")
    assert result.stderr.endswith("bob_run_1.csv ax, ay: choose the same with --values\n")


def test_missing_values_are_filled_where_that_is_wanted(answer, run, recordings, tmp_path):
    gaps = tmp_path / "gaps"
    gaps.mkdir()
    for file in recordings.iterdir():
        lines = file.read_text().splitlines()
        lines[5] = lines[5].split(",")[0] + ",,"
        (gaps / file.name).write_text("\n".join(lines) + "\n")
    refused = run("cluster", gaps, "-k", 2)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("timelike: DATA: sequence 0 (id 'anna_run_0') is missing (nan) at time step 4")
    assert refused.stderr.endswith("fill them with --interpolate\n")
    X = tl.load(gaps).interpolate()
    said = answer("cluster", gaps, "-k", 2, "--interpolate")
    assert said["clusters"] == tl.KMedoids(k=2, random_state=0).fit(X).labels_.tolist()
    learn = ("learn", gaps, "--label", "_([a-z]+)_", "--method", "neighbors", "--interpolate")
    answer(*learn, "--out", tmp_path / "m")
    assert answer("evaluate", tmp_path / "m", gaps)["sequences"] == 12  # remembered
    assert run("evaluate", tmp_path / "m", gaps, "--no-interpolate").exit_code == 1
    again = answer("learn", "--job", tmp_path / "m" / "job.toml", "--out", tmp_path / "again")
    assert again["sequences"] == 12


def test_clusters_of_nothing_are_counted_apart(run, recordings):
    said = run("cluster", recordings, "--method", "dbscan", "--set", "eps=0.0001").stdout.splitlines()[0]
    assert said == "no cluster; 12 sequences in none"


def test_drift_can_say_it_by_its_exit_code(run, tmp_path):
    rng = np.random.default_rng(0)
    files = [
        tl.Sequences(scale * rng.standard_normal((20, 30))).save(tmp_path / f"{name}.npz")
        for name, scale in (("old", 1), ("same", 1), ("new", 4))
    ]
    assert run("drift", files[0], files[2], "--permutations", 99).exit_code == 0
    assert run("drift", files[0], files[2], "--permutations", 99, "--exit-code").exit_code == 3
    assert run("drift", files[0], files[1], "--permutations", 99, "--exit-code").exit_code == 0


def test_convert_takes_the_options_of_loading(answer, recordings, tmp_path):
    options = ("--label", "_([a-z]+)", "--group", "^([a-z]+)_", "--values", "ay", "--time", "time")
    said = answer("convert", recordings, tmp_path / "all.npz", *options)
    X = tl.load(said["files"][0])
    assert (set(X.labels), set(X.groups), X.channel_names) == ({"run", "walk"}, {"anna", "bob"}, ("ay",))
