"""Where labels come from: folders, options, and what a model remembers of both."""

import json
import os

import numpy as np
import pytest
from sklearn import metrics

import timelike as tl
from timelike.cli.options.job import Job

LABEL = ("--label", "_(run|walk)")
FEW = ("--set", "encoder__n_features=200")


@pytest.fixture
def by_class(recordings, tmp_path):
    """The recordings in a folder for every movement."""
    for file in recordings.iterdir():
        person, movement, number = file.stem.split("_")
        place = tmp_path / "sorted" / movement / f"{person}_{number}.csv"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.read_text())
    return tmp_path / "sorted"


def test_folders_are_classes_and_that_is_said(run, by_class, tmp_path):
    said = run("describe", by_class)
    assert "read as    label: the folder of each file" in said.stdout
    assert "run (6), walk (6)" in said.stdout
    assert said.stderr == ""
    for words in (("learn", "--method", "discriminant", "--out", tmp_path / "m"), ("compare", "--method", "dtw")):
        result = run(words[0], by_class, *words[1:])
        assert result.exit_code == 0, result.output
        assert result.stderr == "timelike: label: the folder of each file: run, walk\n"
    result = run("learn", by_class, "--label", "([a-z]+)_", "--method", "discriminant", "--out", tmp_path / "persons")
    assert result.stderr == ""
    assert tl.load_model(tmp_path / "persons").classes_.tolist() == ["anna", "bob"]


def test_a_folder_that_may_be_several_things_is_refused_in_options_of_the_command_line(run, by_class):
    (by_class / "test").mkdir()
    (by_class / "test" / "1.csv").write_text("time,ax,ay\n0,1,2\n")
    result = run("compare", by_class)
    assert result.exit_code == 1
    assert "not read as a class each because a folder test is a part of a data set, and no class" in result.stderr
    assert f"'{by_class}/**/*.csv' reads them, with --label for their classes" in result.stderr


@pytest.fixture
def model(run, recordings, tmp_path):
    """A model of one channel, of columns and labels that had to be named."""
    named = ("--values", "ax", "--time", "time", "--group", "^([a-z]+)_")
    result = run("learn", recordings, *LABEL, *named, "--method", "classifier", *FEW, "--out", tmp_path / "model")
    assert result.exit_code == 0, result.output
    return tmp_path / "model"


def test_a_model_remembers_columns_and_labels(answer, run, model, recordings, new_recordings, tmp_path):
    assert answer("classify", model, recordings)["labels"] == answer("classify", model, recordings, *LABEL)["labels"]
    assert answer("search", model, recordings, recordings / "bob_run_0.csv", "-k", 1)["labels"] == [["run"]]
    assert answer("embed", model, recordings, "--out", tmp_path / "z.npz")["sequences"] == 12
    result = run("evaluate", model, new_recordings, "--json")
    assert result.stderr == "timelike: --label '_(run|walk)', as in learning\n"
    scores = json.loads(result.stdout)["result"]["scores"]
    assert scores == answer("evaluate", model, recordings, *LABEL, "--group", "^([a-z]+)_")["scores"]


def test_what_is_given_wins(answer, run, model, recordings, new_recordings, tmp_path):
    said = run("evaluate", model, new_recordings, "--label", "^([a-z]+)_", "--json")
    assert said.stderr == ""  # nothing was remembered for the labels
    assert json.loads(said.stdout)["result"]["scores"]["accuracy"] == 0  # persons are no movements
    grouped, single = (answer("evaluate", model, recordings, *g)["scores"] for g in ((), ("--group", "")))
    assert grouped["accuracy_low"] < single["accuracy_low"]
    assert run("classify", model, recordings, "--values", "ay").exit_code == 0  # as asked for, under another name
    (tmp_path / "nameless.csv").write_text("1,2\n3,4\n")
    result = run("classify", model, tmp_path / "nameless.csv", "--values", "", "--time", "")
    assert result.exit_code == 1
    assert "DATA has 2 channels: this EmbeddingClassifier was fitted on 1;" in result.stderr
    assert result.stderr.endswith("; choose the channels with --values\n")


def test_new_files_need_no_labels(answer, run, model, recordings, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    (new / "1.csv").write_text((recordings / "anna_walk_1.csv").read_text())
    assert answer("classify", model, new)["labels"] == ["walk"]
    refused = run("evaluate", model, new)
    assert refused.exit_code == 1
    assert "--label '_(run|walk)' finds nothing in 1.csv" in refused.stderr
    assert "--label '_(run|walk)' is remembered from learning: give another one, or '' for none" in refused.stderr


def test_sequences_without_columns_need_none(answer, run, model, recordings, tmp_path):
    tl.load(recordings, values="ax").save(tmp_path / "all.npz")
    assert len(answer("classify", model, tmp_path / "all.npz")["labels"]) == 12
    (tmp_path / "other.csv").write_text("time,speed\n0,1\n1,2\n")
    refused = run("classify", model, tmp_path / "other.csv")
    assert refused.exit_code == 1
    assert "--values ax is remembered from learning" in refused.stderr
    (tmp_path / "bad.csv").write_text("time,ax\n0,1,x,y\n")
    assert "remembered" not in run("classify", model, tmp_path / "bad.csv").stderr


def test_a_model_that_was_saved_in_python_remembers_nothing(answer, recordings, tmp_path):
    X = tl.load(recordings, label="_([a-z]+)")
    tl.Neighbors("dtw").fit(X, X.labels).save(tmp_path / "saved")
    assert len(answer("classify", tmp_path / "saved", recordings)["labels"]) == 12


@pytest.fixture
def speeds(tmp_path):
    """Recordings called by their frequencies."""
    folder, rng = tmp_path / "speeds", np.random.default_rng(0)
    folder.mkdir()
    for number, frequency in enumerate(np.linspace(0.2, 1.2, 20)):
        x = np.sin(frequency * np.arange(40) + rng.uniform(0, 6))
        (folder / f"p{number % 5}_{frequency:.3f}_{number}.csv").write_text("\n".join(["x", *map(str, x)]) + "\n")
    return folder


def test_numbers_are_learned_predicted_and_scored(answer, run, speeds, tmp_path):
    label = ("--label", "_([0-9.]+)_")
    answer("learn", speeds, *label, "--method", "regressor", *FEW, "--out", tmp_path / "m")
    predicted = np.array(answer("classify", tmp_path / "m", speeds)["labels"])
    truth = tl.load(speeds, label=label[1]).labels
    said = answer("evaluate", tmp_path / "m", speeds, *label)
    assert said["kind"] == "regression"
    assert said["scores"]["mse"] == pytest.approx(metrics.mean_squared_error(truth, predicted))
    assert said["scores"]["mae"] == pytest.approx(metrics.mean_absolute_error(truth, predicted))
    assert said["scores"]["r2"] == pytest.approx(metrics.r2_score(truth, predicted))
    assert said["scores"]["mae_low"] < said["scores"]["mae"] < said["scores"]["mae_high"]
    groups = ("--group", "^(p[0-9])")
    assert answer("evaluate", tmp_path / "m", speeds, *groups)["scores"]["mse"] == said["scores"]["mse"]
    assert "R²" in run("evaluate", tmp_path / "m", speeds).stdout
    assert run("classify", tmp_path / "m", speeds).stdout.split()[:2] == ["id", "number"]


def test_compare_of_numbers_saves_a_model_that_is_evaluated(answer, speeds, tmp_path):
    label = ("--label", "_([0-9.]+)_")
    methods = ("--method", "1-NN Euclidean", "--method", "Rocket + ridge")
    said = answer("compare", speeds, *label, "--metric", "mse", "--folds", 2, *methods, "--out", tmp_path / "best")
    assert said["rows"][0]["scores"]["mse"][0] <= said["rows"][1]["scores"]["mse"][0]
    assert answer("evaluate", tmp_path / "best", speeds, *label)["kind"] == "regression"


def test_a_label_that_is_given_is_not_needed_in_files_whose_labels_are_not_used(
    answer, run, model, recordings, tmp_path
):
    new = tmp_path / "rec_01.csv"
    new.write_text((recordings / "anna_walk_1.csv").read_text())
    label = ("--label", "_(run|walk)_")
    assert answer("classify", model, new, "--reference", recordings, *label)["labels"] == ["walk"]
    assert answer("classify", model, new, *label)["labels"] == ["walk"]
    assert answer("search", model, recordings, new, "-k", 1, *label)["labels"] == [["walk"]]
    calibrate = ("--calibrate", recordings, *label, "--false-accept", 0.2)
    assert answer("verify", model, new, recordings / "bob_walk_0.csv", *calibrate)["accepted"] is True
    for words in (("search", model, new, recordings), ("embed", model, new, "--out", tmp_path / "z.npz")):
        refused = run(*words, *label)  # these show or write the labels
        assert refused.exit_code == 1
        assert "--label '_(run|walk)_' finds nothing in rec_01.csv" in refused.stderr


def test_a_job_takes_the_booleans_of_toml_and_gives_way_to_what_is_given(answer, run, recordings, tmp_path):
    (tmp_path / "gap.csv").write_text("time,ax,ay\n0,1,2\n1,,3\n2,4,5\n3,2,2\n")
    (tmp_path / "bad.csv").write_text("time,ax,ay\n0,1,2\n1,x,y,z\n")
    job = tmp_path / "job.toml"
    for value in ("true", '"true"'):
        job.write_text(f'data = "{tmp_path / "gap.csv"}"\nmethod = "persistence"\n[load]\ninterpolate = {value}\n')
        assert Job.read(job).load.interpolate is True
    job.write_text("[load]\ninterpolate = 3\n")
    with pytest.raises(ValueError, match="interpolate = 3: expected true or false"):
        Job.read(job)
    text = f'data = "{tmp_path}/*.csv"\nmethod = "persistence"\nout = "{tmp_path / "m"}"\n[load]\n'
    job.write_text(text + 'interpolate = true\non_error = "skip"\n')
    assert answer("learn", "--job", job)["sequences"] == 1
    refused = run("learn", "--job", job, "--on-error", "raise")  # the default, but given
    assert refused.exit_code == 1
    assert "bad.csv" in refused.stderr


def test_a_warning_says_if_scores_are_of_training_data(run, model, recordings, new_recordings, tmp_path):
    for words in (("evaluate",), ("report", "--out", tmp_path / "page.html")):
        result = run(words[0], model, recordings, *words[1:])
        assert f"timelike: warning: {model} was learned from {recordings}: expect worse results" in result.stderr
        assert "warning" not in run(words[0], model, new_recordings, *words[1:]).stderr
    one, other = (recordings / f"{name}_0.csv" for name in ("anna_walk", "bob_run"))
    calibrate = ("verify", model, one, other, "--false-accept", 0.2, "--calibrate")
    assert "was learned from" in run(*calibrate, recordings).stderr
    assert "was learned from" not in run(*calibrate, new_recordings).stderr


def test_a_warning_counts_the_files_and_knows_those_that_came_later(run, recordings, tmp_path):
    run("learn", recordings / "anna*.csv", *LABEL, "--method", "discriminant", "--out", tmp_path / "m")
    assert f"was learned from 6 of the 12 files of {recordings}: " in run("evaluate", tmp_path / "m", recordings).stderr
    assert "warning" not in run("evaluate", tmp_path / "m", recordings / "bob*.csv").stderr
    later = recordings / "anna_walk_9.csv"  # which the pattern of learning matches too
    later.write_text((recordings / "bob_walk_0.csv").read_text())
    written = (tmp_path / "m" / "job.toml").stat().st_mtime
    os.utime(later, (written + 5, written + 5))
    assert "warning" not in run("evaluate", tmp_path / "m", later).stderr


def test_only_the_part_that_was_learned_from_is_warned_about(run, recordings, tmp_path):
    X = tl.load(recordings, label=LABEL[1])
    X[::2].save(tmp_path / "parts.npz", test=X[1::2])
    for split, warned in (((), False), (("--split", "train"), True), (("--split", "all"), True)):
        run("learn", tmp_path / "parts.npz", "--method", "discriminant", "--out", tmp_path / "m")
        assert ("warning" in run("evaluate", tmp_path / "m", tmp_path / "parts.npz", *split).stderr) is warned
    run("learn", tmp_path / "parts.npz", "--split", "all", "--method", "discriminant", "--out", tmp_path / "all")
    assert "warning" in run("evaluate", tmp_path / "all", tmp_path / "parts.npz").stderr
    X.save(tmp_path / "whole.npz")
    run("learn", tmp_path / "whole.npz", "--method", "discriminant", "--out", tmp_path / "whole")
    assert "warning" in run("evaluate", tmp_path / "whole", tmp_path / "whole.npz").stderr


def test_a_misspelt_label_is_refused_and_never_remembered(run, tmp_path):
    rows = [f"{name},{step},{step * sign},{name[0]}" for name, sign in (("a1", 1), ("b1", -1)) for step in range(5)]
    (tmp_path / "data.csv").write_text("\n".join(["id,time,x,label", *rows]) + "\n")
    for words in (("describe",), ("learn", "--method", "discriminant", "--out", tmp_path / "m")):
        refused = run(words[0], tmp_path / "data.csv", *words[1:], "--label", "labl")
        assert refused.exit_code == 1
        assert "--label 'labl' is not a column of any file; did you mean 'label'?" in refused.stderr
    assert not (tmp_path / "m").exists()
