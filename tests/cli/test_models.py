"""Commands that learn a model and use it."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import timelike as tl
from timelike.cli.learn import METHODS, WITHOUT_LABELS

LABEL = ("--label", "_([a-z]+)")
FEW = ("--set", "encoder__n_features=200")
TRAINED = ("tloss", "siamese", "coupled", "tap", "prototypes", "separation", "srvp")


@pytest.fixture
def model(run, recordings, tmp_path):
    folder = tmp_path / "model"
    result = run("learn", recordings, *LABEL, "--method", "classifier", *FEW, "--out", folder)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def metric(tmp_path, recordings):
    X = tl.load(recordings, label="_([a-z]+)")
    tl.Rocket(n_features=200, random_state=0).fit(X).save(tmp_path / "rocket")
    return tmp_path / "rocket"


def test_a_learned_classifier_tells_the_files_apart_and_says_how_certain_it_is(answer, model, recordings):
    said = answer("classify", model, recordings)
    assert said["labels"] == [name.split("_")[1] for name in said["ids"]]
    assert len(said["ids"]) == 12
    assert all(0.5 <= one <= 1 for one in said["confidence"])


def test_channels_of_another_sensor_are_refused_unless_they_are_named(run, model, recordings, tmp_path):
    other = tmp_path / "gyroscope"
    other.mkdir()
    for file in recordings.glob("*.csv"):
        header, _, rest = file.read_text(encoding="utf-8").partition("\n")
        names = header.split(",")
        renamed = [name.replace("a", "g") for name in names]
        assert renamed != names
        (other / file.name).write_text(",".join(renamed) + "\n" + rest, encoding="utf-8")
    refused = run("classify", model, other)
    assert refused.exit_code == 1
    assert "has no channel ax, ay" in refused.stderr
    assert refused.stderr.rstrip().endswith("--values gx,gy")
    named = run("classify", model, other, "--values", "gx,gy")
    assert named.exit_code == 0, named.output
    assert named.stdout == run("classify", model, recordings).stdout


def test_classify_prints_a_line_for_every_sequence(run, model, recordings):
    lines = run("classify", model, recordings / "bob_walk_*.csv").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["id", "class"], *([f"bob_walk_{i}", "walk"] for i in range(3))]


def test_a_metric_classifies_by_a_reference(answer, run, metric, recordings):
    refused = run("classify", metric, recordings)
    assert refused.exit_code == 1
    assert "Rocket does not classify by itself" in refused.stderr
    said = answer("classify", metric, recordings, "--reference", recordings, *LABEL)
    assert said["labels"] == [name.split("_")[1] for name in said["ids"]]


def test_evaluate_scores_a_classifier_with_intervals_over_groups(answer, model, recordings):
    ask = ("evaluate", model, recordings, *LABEL, "--group", "^([a-z]+)_")
    grouped, single = answer(*ask), answer(*ask, "--no-groups")
    assert grouped["kind"] == "classification"
    assert grouped["scores"]["accuracy"] == single["scores"]["accuracy"] == 1
    assert grouped["scores"]["accuracy_low"] < single["scores"]["accuracy_low"]  # two persons say less than 12 items


def test_evaluate_scores_a_metric_as_the_library_does(answer, metric, recordings):
    said = answer("evaluate", metric, recordings, *LABEL)
    X = tl.load(recordings, label="_([a-z]+)")
    distances = tl.load_model(metric).pairwise(X)
    assert said["kind"] == "retrieval"
    assert said["scores"]["mean_average_precision"] == pytest.approx(
        tl.score.mean_average_precision(distances, X.labels)
    )


def test_embed_writes_the_vectors_of_the_library(answer, metric, recordings, tmp_path):
    X = tl.load(recordings)
    vectors = tl.load_model(metric).encode(X)
    said = answer("embed", metric, recordings, *LABEL, "--out", tmp_path / "z.npz")
    assert (said["sequences"], said["features"]) == vectors.shape
    with np.load(tmp_path / "z.npz") as file:
        np.testing.assert_array_equal(file["vectors"], vectors)
        assert file["ids"].tolist() == X.ids.tolist()
        assert set(file["labels"]) == {"run", "walk"}
    parquet = pytest.importorskip("pyarrow.parquet")
    answer("embed", metric, recordings, "--out", tmp_path / "z.parquet")
    table = parquet.read_table(tmp_path / "z.parquet").to_pandas()
    assert table["id"].tolist() == X.ids.tolist()
    np.testing.assert_array_equal(table.drop(columns="id").to_numpy(), vectors)


def test_search_gives_the_nearest_first_by_name(answer, model, recordings):
    said = answer("search", model, recordings, recordings / "anna_run_0.csv", "-k", 3, *LABEL)
    assert said["queries"] == ["anna_run_0"]
    assert said["ids"][0][0] == "anna_run_0"
    assert said["labels"] == [["run"] * 3]
    assert said["distances"][0] == sorted(said["distances"][0])


def test_the_best_of_a_comparison_with_preparation_steps_can_be_searched_and_embedded(answer, recordings, tmp_path):
    X = tl.load(recordings, label=LABEL[1])
    for name, last in (
        ("nearest", tl.Neighbors("euclidean")),
        ("rocket", tl.EmbeddingClassifier(tl.Rocket(n_features=84, random_state=0), head="ridge")),
    ):
        tl.save_model(make_pipeline(tl.prepare.Resample(10), last).fit(X, X.labels), tmp_path / name)
    said = answer("search", tmp_path / "nearest", recordings, recordings, "-k", 2)
    found = tl.Euclidean().neighbors(X.resample(10), X.resample(10), 2)
    assert said["ids"] == [[str(X.ids[i]) for i in row] for row in found.ids]
    answer("embed", tmp_path / "rocket", recordings, "--out", tmp_path / "z.npz")
    model = tl.load_model(tmp_path / "rocket")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npz")["vectors"], model[-1].encoder_.encode(X.resample(10)))


def test_verify_calibrates_a_threshold_on_labelled_data(answer, run, metric, recordings):
    one, same, other = (recordings / f"{name}_0.csv" for name in ("anna_walk", "bob_walk", "anna_run"))
    refused = run("verify", metric, one, same)
    assert refused.exit_code == 1
    assert "--calibrate" in refused.stderr
    calibrated = ("--calibrate", recordings, *LABEL, "--false-accept", 0.2)
    assert answer("verify", metric, one, same, *calibrated)["accepted"] is True
    assert answer("verify", metric, one, other, *calibrated)["accepted"] is False


def test_a_job_repeats_what_was_learned_and_can_be_changed(answer, run, model, recordings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "logs")  # another folder: paths in a job are absolute
    before = (model / "model.safetensors").read_bytes()
    said = answer("learn", "--job", model / "job.toml", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == before
    assert said["sequences"] == 12
    answer("learn", "--job", model / "job.toml", "--set", "encoder__n_features=100")
    assert tl.load_model(model).encoder.n_features == 100
    assert 'encoder__n_features = "100"' in (model / "job.toml").read_text()
    (model / "job.toml").write_text('metod = "rocket"\n')
    result = run("learn", "--job", model / "job.toml")
    assert result.exit_code == 1
    assert "job.toml is no job of timelike learn: 'metod' is unknown" in result.stderr


def test_a_seed_gives_the_same_model(answer, recordings, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        answer(
            "learn",
            recordings,
            "--method",
            "rocket",
            "--set",
            "n_features=100",
            "--seed",
            seed,
            "--out",
            tmp_path / name,
        )
    a, b, c = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert a == b != c


def test_learn_says_what_is_missing_or_wrong(run, recordings, tmp_path):
    out = ("--out", tmp_path / "model")
    for words, code, message in (
        (("--method", "rocket"), 2, "--out are needed"),
        (("--method", "rockt", *out), 2, "'rockt': expected one of rocket"),
        (("--method", "rocket", "--set", "n_features", *out), 2, "expected NAME=VALUE"),
        (("--method", "rocket", "--set", "features=3", *out), 1, "Invalid parameter 'features'"),
        (("--method", "rocket", "--set", "n_features=-3", *out), 1, "n_features=-3"),
        (("--method", "classifier", *out), 1, "has no labels: name the column with --label"),
    ):
        result = run("learn", recordings, *words)
        assert result.exit_code == code, result.output
        assert message in result.stderr
        assert "Traceback" not in result.stderr
        assert not (tmp_path / "model").exists()


def test_a_place_that_holds_no_model_is_refused_before_the_training(run, recordings, monkeypatch):
    monkeypatch.setattr("timelike.encode.Rocket.fit", None)
    for folder, message in (
        (recordings, "which is no part of a model"),
        (recordings / "no" / "no" / "m", "does not exist"),
    ):
        result = run("learn", recordings, "--method", "rocket", "--out", folder)
        assert result.exit_code == 1
        assert message in result.stderr
    assert run("learn", "--job", "no.toml").stderr == "timelike: no.toml: No such file or directory\n"


def test_compare_ranks_methods_and_saves_the_best(answer, recordings, tmp_path):
    paths = ("--report", tmp_path / "page.html", "--out", tmp_path / "best")
    said = answer("compare", recordings, *LABEL, "--method", "euclidean", "--method", "dtw", "--folds", 2, *paths)
    assert {row["method"] for row in said["rows"]} == {"euclidean", "dtw"}
    assert said["rows"][0]["method"] == said["best"]
    means = [row["scores"]["accuracy"][0] for row in said["rows"]]
    assert means == sorted(means, reverse=True)
    assert "dtw" in (tmp_path / "page.html").read_text()
    assert len(answer("classify", tmp_path / "best", recordings)["labels"]) == 12
    assert answer("evaluate", tmp_path / "best", recordings)["scores"]["accuracy"] == 1  # it remembers the labels


def test_compare_never_fits_the_winner_on_the_official_test_part(answer, run, tmp_path):
    rng = np.random.default_rng(0)
    train, test = (  # noise, of which nothing can be learned
        tl.Sequences(rng.standard_normal((30, 12, 1)), labels=rng.permutation(["a", "b"] * 15)) for _ in range(2)
    )
    source = tmp_path / "noise.npz"
    train.save(source, test=test)
    ask = ("compare", source, "--method", "1-NN Euclidean")
    (row,) = answer(*ask, "--out", tmp_path / "best")["rows"]
    assert len(tl.load_model(tmp_path / "best").sequences_) == 30
    scores = answer("evaluate", tmp_path / "best", source)["scores"]
    assert scores["accuracy"] == pytest.approx(row["scores"]["accuracy"][0])
    assert scores["accuracy"] < 0.9
    assert "fitted on the training part, as a model" in run(*ask).stdout
    answer(*ask, "--split", "all", "--folds", 2, "--out", tmp_path / "all")
    assert len(tl.load_model(tmp_path / "all").sequences_) == 60


def test_a_saved_winner_shows_no_command_that_fails(answer, run, recordings, tmp_path):
    answer("compare", recordings, *LABEL, "--method", "1-NN Euclidean", "--folds", 2, "--out", tmp_path / "best")
    job = (tmp_path / "best" / "job.toml").read_text()
    assert "timelike learn" not in job
    assert 'label = "_([a-z]+)"' in job
    summary = tl.models.summarize_model(tl.load_model(tmp_path / "best"), tmp_path / "best")
    assert "timelike learn" not in summary.commands
    assert "Neighbors(" in summary.commands


@pytest.mark.learn
def test_compare_at_its_defaults_says_how_long_it_takes_and_what_is_left_out(run, recordings, monkeypatch):
    monkeypatch.setattr("timelike.evaluate.run._MIN_ANNOUNCED_SECONDS", 0.0)
    said = run("compare", recordings, *LABEL, "--folds", 2)
    assert said.exit_code == 0, said.output
    (line,) = said.stderr.splitlines()  # also where nobody watches
    assert line.startswith("compare: 7 methods, 2 folds; about ")
    assert "which train a network: --max-steps 500 includes them, about " in said.stdout
    assert "TAP" not in said.stdout.partition("left out:")[0]
    assert "--out FOLDER saves the best, " in said.stdout


@pytest.mark.learn
def test_compare_counts_steps(answer, recordings):
    ask = ("compare", recordings, *LABEL, "--folds", 2, "--method", "SiameseGRU", "--max-steps", 2)
    first, again = answer(*ask)["rows"], answer(*ask)["rows"]
    assert first[0]["state"] == "finished"
    assert [row["scores"] for row in first] == [row["scores"] for row in again]


def test_forecasts_are_those_of_the_library_with_calibrated_intervals(answer, recordings, tmp_path):
    answer("learn", recordings / "anna*.csv", "--method", "ridge", "--out", tmp_path / "ridge")
    new, others = recordings / "bob_run*.csv", recordings / "bob_walk*.csv"
    ask = ("forecast", tmp_path / "ridge", new, "--horizon", 3)
    said = answer(*ask, "--out", tmp_path / "next.npz", "--plot", tmp_path / "next.png")
    expected = tl.load_model(tmp_path / "ridge").predict(tl.load(new), 3).mean
    np.testing.assert_allclose(said["mean"], expected)
    assert said["low"] is None
    np.testing.assert_allclose(tl.load(tmp_path / "next.npz").values, expected.reshape(-1, 2))
    assert (tmp_path / "next.png").read_bytes().startswith(b"\x89PNG")
    said = answer(*ask, "--calibrate", others)
    assert (np.asarray(said["low"]) < np.asarray(said["high"])).all()
    scores = answer("evaluate", tmp_path / "ridge", new, "--horizon", 3)["scores"]
    assert 0 < scores["mse"] < 1


@pytest.fixture
def drawing(recordings, tmp_path):
    """A model that draws futures."""
    tl.forecast.Analog().fit(tl.load(recordings)).save(tmp_path / "analog")
    return tmp_path / "analog"


def test_few_futures_have_no_bounds_and_json_lists_those_that_were_drawn(answer, run, drawing, recordings):
    ask = ("forecast", drawing, recordings, "--horizon", 2)
    few = run(*ask, "--samples", 5)
    assert few.exit_code == 0, few.output
    assert few.stderr == "timelike: no bounds of level 0.8 from 5 futures: draw more with --samples\n"
    assert few.stdout.splitlines()[0].split() == ["id", "step", "channel", "mean"]
    said = answer(*ask, "--samples", 20)
    assert np.shape(said["samples"]) == (20, 12, 2, 2)
    expected = tl.load_model(drawing).predict(tl.load(recordings), 2, n_samples=20, random_state=0)
    np.testing.assert_allclose(said["samples"], expected.samples)
    np.testing.assert_allclose(said["low"], expected.interval(0.8)[0])
    assert answer(*ask)["samples"] is None


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_table_of_a_forecast_has_its_bounds(answer, drawing, recordings, tmp_path, suffix):
    file = tmp_path / "new" / f"next{suffix}"
    said = answer("forecast", drawing, recordings, "--horizon", 2, "--samples", 20, "--out", file)
    X = tl.load(file)
    channels = ("ax", "ay") + (("ax low", "ay low", "ax high", "ay high") if suffix == ".csv" else ())
    assert X.channel_names == channels
    np.testing.assert_allclose(np.reshape(said["mean"], (-1, 2)), X.values[:, :2])
    if suffix == ".csv":
        np.testing.assert_allclose(np.reshape(said["low"], (-1, 2)), X.values[:, 2:4])
        np.testing.assert_allclose(np.reshape(said["high"], (-1, 2)), X.values[:, 4:])


def test_intervals_are_not_calibrated_on_what_was_learned_from_or_is_forecast(answer, run, recordings, tmp_path):
    answer("learn", recordings / "anna*.csv", "--method", "ridge", "--out", tmp_path / "ridge")
    new, others = recordings / "bob_run*.csv", recordings / "bob_walk*.csv"
    ask = ("forecast", tmp_path / "ridge", new, "--horizon", 3, "--calibrate")
    for source, message in (
        (recordings / "anna*.csv", "was learned from"),
        (recordings / "*_walk_*.csv", "was learned from 3 of the 6 files"),
        (new, "holds what is forecast"),
        (recordings / "bob_run_0.csv", "holds what is forecast"),
    ):
        refused = run(*ask, source)
        assert refused.exit_code == 2
        assert message in refused.stderr
        assert "name other data" in refused.stderr
    assert run(*ask, others).stderr == ""
    X = tl.load(recordings)
    X[::2].save(tmp_path / "parts.npz", test=X[1::2])
    answer("learn", tmp_path / "parts.npz", "--method", "ridge", "--out", tmp_path / "ridge")
    refused = run("forecast", tmp_path / "ridge", tmp_path / "parts.npz", *ask[3:], tmp_path / "parts.npz")
    assert "holds what is forecast" in refused.stderr
    assert answer(*ask, tmp_path / "parts.npz")["low"] is not None  # the test part, which is new to the model


def test_a_model_that_does_not_forecast_or_compare_says_so(run, model, answer, recordings, tmp_path):
    assert "EmbeddingClassifier does not forecast" in run("forecast", model, recordings, "--horizon", 2).stderr
    answer("learn", recordings, "--method", "persistence", "--out", tmp_path / "last")
    assert "Persistence does not compare" in run("search", tmp_path / "last", recordings, recordings).stderr
    assert (
        "Persistence makes no vectors"
        in run("embed", tmp_path / "last", recordings, "--out", tmp_path / "z.npz").stderr
    )


@pytest.mark.learn
@pytest.mark.parametrize("method", TRAINED)
def test_methods_that_train_a_network_learn_and_load(answer, one_thread, recordings, tmp_path, method):
    label = () if method in WITHOUT_LABELS else LABEL
    said = answer("learn", recordings, *label, "--method", method, "--set", "max_steps=2", "--out", tmp_path / method)
    assert type(tl.load_model(tmp_path / method)).__name__ == said["learned"]


@pytest.mark.learn
def test_a_training_that_was_interrupted_resumes(run, answer, no_ctrl_c_before, one_thread, recordings, tmp_path):
    ask = (
        "learn",
        recordings,
        *LABEL,
        "--method",
        "siamese",
        "--checkpoint",
        tmp_path / "steps",
        "--out",
        tmp_path / "m",
    )
    # imports and compiles what the training needs, which may take longer than the timer
    answer("learn", recordings, *LABEL, "--method", "siamese", "--set", "max_steps=1", "--out", tmp_path / "warm")
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    stopped = run(*ask, "--set", "max_steps=1000000")
    timer.join()
    assert stopped.exit_code == 130, stopped.output
    assert "the same command resumes" in stopped.stderr
    assert not (tmp_path / "m").exists()
    answer(*ask, "--set", "max_steps=1")
    assert tl.load_model(tmp_path / "m").history_.n_steps > 1  # those before Ctrl-C
    assert (
        run("learn", recordings, "--method", "rocket", "--checkpoint", tmp_path, "--out", tmp_path / "r").exit_code == 2
    )


@pytest.mark.parametrize("method", ["rocket", "discriminant", "neighbors", "fused"])
def test_methods_that_need_no_torch_learn_and_load(answer, recordings, tmp_path, method):
    label = () if method in WITHOUT_LABELS else LABEL
    said = answer("learn", recordings, *label, "--method", method, "--out", tmp_path / method)
    assert type(tl.load_model(tmp_path / method)).__name__ == said["learned"]


COMPARES = {"evaluate", "classify --reference", "search", "verify --calibrate", "report"}
PREDICTS = frozenset({"evaluate", "forecast", "report"})
APPLIES = {  # the commands with a model that answer; the others refuse
    "rocket": COMPARES | {"embed"},
    "discriminant": COMPARES | {"embed"},
    "classifier": COMPARES | {"classify", "embed"},
    "regressor": COMPARES | {"classify", "embed"},
    "neighbors": COMPARES | {"classify"},
    "tloss": COMPARES | {"embed"},
    "siamese": COMPARES | {"embed"},
    "coupled": COMPARES,
    "tap": COMPARES,
    "prototypes": COMPARES | {"classify", "embed", "verify"},
    "fused": COMPARES,
    **dict.fromkeys(("separation", "srvp"), PREDICTS | {"embed"}),
    **dict.fromkeys(("ridge", "persistence"), PREDICTS),
}


@pytest.mark.learn
@pytest.mark.parametrize("method", METHODS)
def test_every_command_with_a_model_answers_or_refuses_in_a_sentence(
    run, one_thread, recordings, tmp_path, monkeypatch, method
):
    monkeypatch.chdir(tmp_path)
    label = ("--label", "_([0-9])") if method == "regressor" else LABEL
    steps = ("--set", "max_steps=2") if method in TRAINED else ()
    learned = run("learn", recordings, *label, "--method", method, *steps, "--out", "m")
    assert learned.exit_code == 0, learned.output
    one, other = (recordings / f"{name}_0.csv" for name in ("anna_walk", "bob_run"))
    commands = {
        "evaluate": (recordings,),
        "classify": (recordings,),
        "classify --reference": (recordings, "--reference", recordings, *label),
        "embed": (recordings, "--out", "z.npz"),
        "search": (recordings, one),
        "verify": (one, other),
        "verify --calibrate": (one, other, "--calibrate", recordings, *label, "--false-accept", 0.2),
        "forecast": (recordings, "--horizon", 2),
        "report": (recordings,),
    }
    said = {name: run(name.split()[0], "m", *words) for name, words in commands.items()}
    answered = {name for name, result in said.items() if result.exit_code == 0}
    assert answered == APPLIES[method], {name: result.stderr for name, result in said.items()}
    for result in said.values():
        assert "defect of timelike" not in result.stderr


@pytest.mark.learn
def test_prototypes_verify_by_their_own_threshold(answer, run, one_thread, recordings, tmp_path):
    answer("learn", recordings, *LABEL, "--method", "prototypes", "--set", "max_steps=2", "--out", tmp_path / "m")
    one, other = (recordings / f"{name}_0.csv" for name in ("anna_walk", "bob_run"))
    said = answer("verify", tmp_path / "m", one, other)
    model = tl.load_model(tmp_path / "m")
    assert said["score"] == pytest.approx(model.similarity(tl.load(one)[0], tl.load(other)[0]))
    assert said["threshold"] == 0
    X = tl.load(recordings, label=LABEL[1])
    model.calibrate(X, X.labels, false_accept=0.2, false_reject=0.2).save(tmp_path / "calibrated")
    said = answer("verify", tmp_path / "calibrated", one, other)
    assert said["threshold"] == model.thresholds_.pair
    assert said["accepted"] == (said["score"] >= said["threshold"])


def test_every_method_is_tried():
    assert METHODS.keys() == APPLIES.keys()


def press_ctrl_c(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_in_a_method_without_steps_says_that_no_model_is_written(run, recordings, tmp_path, monkeypatch):
    monkeypatch.setattr("timelike.encode.Rocket.fit", press_ctrl_c)
    result = run("learn", recordings, "--method", "rocket", "--out", tmp_path / "m")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "timelike: stopped by Ctrl-C, and no model is written\n"
    assert not (tmp_path / "m").exists()


@pytest.mark.learn
def test_ctrl_c_in_a_training_names_the_option_that_keeps_it(run, recordings, tmp_path, monkeypatch):
    monkeypatch.setattr("timelike.SiameseGRU.fit", press_ctrl_c)
    ask = ("learn", recordings, *LABEL, "--method", "siamese", "--out", tmp_path / "m")
    result = run(*ask)
    assert result.exit_code == 130
    assert "no model is written; with --checkpoint FOLDER the training would be kept" in result.stderr
    assert "the same command resumes from" in run(*ask, "--checkpoint", tmp_path / "steps").stderr


def test_one_sequence_is_singular(run, recordings, tmp_path):
    one = recordings / "bob_run_0.csv"
    assert (
        "learned Rocket from 1 sequence in"
        in run("learn", one, "--method", "rocket", "--set", "n_features=200", "--out", tmp_path / "m").stdout
    )
    assert ": 1 vector of " in run("embed", tmp_path / "m", one, "--out", tmp_path / "z.npz").stdout
    assert "has 1 sequence, counted from 0" in run("align", one, one, "--item", 1).stderr
    run("learn", one, "--method", "ridge", "--out", tmp_path / "next")
    assert run("evaluate", tmp_path / "next", one).stdout.splitlines()
    assert "1 window of 1 sequence" in run("evaluate", tmp_path / "next", one).stdout


def test_a_report_has_the_right_article(run, model, recordings, tmp_path):
    run("report", model, recordings, "--out", tmp_path / "page.html")
    assert "What an EmbeddingClassifier does with 12 sequences." in (tmp_path / "page.html").read_text()
