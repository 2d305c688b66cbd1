"""The command line: what a person who writes no code meets."""

import json

import numpy as np
import pytest

import timelike as tl


@pytest.fixture
def file(tmp_path):
    s = tl.Sequences([[1.0, 2.0], [3.0, float("nan"), 5.0]], labels=["up", "down"])
    return s.save(tmp_path / "few.npz")


def test_describe_says_what_a_file_holds(run, file):
    result = run("describe", file)
    assert result.exit_code == 0
    for words in ("2 sequences, lengths 2 to 3, 1 channel", "20 % of values", "down (1)", "up (1)", "quality issues"):
        assert words in result.output


def test_describe_answers_in_json_and_writes_a_page(run, file, tmp_path):
    result = run("describe", file, "--json", "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)["result"]["all"]
    assert said["sequences"] == 2
    assert said["classes"] == [{"label": "down", "sequences": 1}, {"label": "up", "sequences": 1}]
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_convert_goes_from_one_format_to_another(run, file, tmp_path):
    result = run("convert", file, tmp_path / "few.ts")
    assert result.exit_code == 0, result.output
    again = tl.load(tmp_path / "few.ts")
    assert again.labels.tolist() == ["up", "down"]
    np.testing.assert_array_equal(again.values, tl.load(file).values)


def test_convert_keeps_the_two_parts_of_a_data_set(run, tmp_path):
    train, test = tl.Sequences([[1.0, 2.0]], labels=[1]), tl.Sequences([[3.0, 4.0]], labels=[2])
    train.save(tmp_path / "both.npz", test=test)
    assert run("convert", tmp_path / "both.npz", tmp_path / "again.npz").exit_code == 0
    assert [part.labels.tolist() for part in tl.load(tmp_path / "again.npz")] == [[1], [2]]
    result = run("convert", tmp_path / "both.npz", tmp_path / "two.tsv")
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.glob("*.tsv")} == {"two_TRAIN.tsv", "two_TEST.tsv"}


def test_a_refusal_is_one_line_and_an_exit_code(run, tmp_path):
    (tmp_path / "bad.ts").write_text("@data\n1,2,x:1\n")
    for words in (("describe", tmp_path / "bad.ts"), ("describe", tmp_path / "absent.ts")):
        result = run(*words)
        assert result.exit_code == 1
        assert result.output.startswith("timelike: ")
        assert "Traceback" not in result.output


def test_help_and_version(run):
    assert "demo" in run("--help").output
    assert run("--version").output.strip() == f"timelike {tl.__version__}"


@pytest.fixture
def weeks(tmp_path):
    rng = np.random.default_rng(0)
    old, same, new = rng.standard_normal((3, 20, 30, 2))
    new[:, :, 1] *= 3
    names = ["ax", "ay"]
    return [
        tl.Sequences(values, channel_names=names).save(tmp_path / f"{name}.npz")
        for name, values in (("old", old), ("same", same), ("new", new))
    ]


def test_drift_says_whether_and_where_two_files_differ(run, weeks):
    old, same, new = weeks
    quiet = run("drift", old, same)
    assert quiet.exit_code == 0, quiet.output
    assert "no difference is seen" in quiet.output
    loud = run("drift", old, new, "--permutations", 199)
    assert loud.exit_code == 0
    assert loud.output.startswith("p = 0.005: the samples differ")
    assert "channels, the most changed first: ay (p = " in loud.output


def test_drift_writes_json_and_a_page(run, weeks, tmp_path):
    old, _, new = weeks
    result = run("drift", old, new, "--json", "--out", tmp_path / "report.html", "--permutations", 99)
    said = json.loads(result.stdout)["result"]
    assert said["differs"] is True
    assert said["p_value"] == 0.01
    assert said["differences"]["channels"][0]["name"] == "ay"
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "The samples differ" in page


def test_drift_refuses_other_channels_in_one_line(run, weeks, tmp_path):
    other = tl.Sequences(np.zeros((4, 9, 3))).save(tmp_path / "other.npz")
    result = run("drift", weeks[0], other)
    assert result.exit_code == 1
    assert "expected the same channels" in result.output
