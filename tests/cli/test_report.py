"""`timelike report`: the page that the library writes, from files."""

import json

from tests.report.documents import Document

import timelike as tl

LABEL = ("--label", "_(run|walk)", "--group", "^(anna|bob)_")


def learn(run, recordings, folder):
    options = ("--method", "classifier", "--set", "encoder__n_features=200", "--out", folder)
    assert run("learn", recordings, *LABEL, *options).exit_code == 0


def test_a_report_from_files_has_the_sections_that_it_lists(answer, run, recordings, tmp_path):
    learn(run, recordings, tmp_path / "model")
    file = tmp_path / "report.html"
    said = answer("report", tmp_path / "model", recordings, *LABEL, "--out", file)
    assert said["file"] == str(file)
    assert (said["model"], said["sequences"]) == ("EmbeddingClassifier", 12)
    html = file.read_text()
    assert all(f"<h2>{heading}</h2>" in html for heading in said["sections"])
    document = Document(html)
    assert document.requests() == []
    assert f"timelike learn --job {tmp_path / 'model' / 'job.toml'}" in document.text
    assert "anna" in document.text
    expected = tl.report.write(tmp_path / "model", tl.load(recordings, label=LABEL[1], group=LABEL[3]))
    assert [heading for heading, _ in expected.sections] == said["sections"]


def test_a_report_without_labels_says_what_is_missing(run, recordings, tmp_path):
    learn(run, recordings, tmp_path / "model")
    (tmp_path / "nameless").mkdir()
    for number, file in enumerate(sorted(recordings.iterdir())):
        (tmp_path / "nameless" / f"{number}.csv").write_text(file.read_text())
    result = run("report", tmp_path / "model", tmp_path / "nameless", "--out", tmp_path / "new" / "report.html")
    assert result.exit_code == 0, result.output
    assert "Not on this page" in result.stdout
    assert "have no labels" in (tmp_path / "new" / "report.html").read_text()


def test_a_report_reads_data_as_the_model_remembers(answer, run, recordings, new_recordings, tmp_path):
    learn(run, recordings, tmp_path / "model")
    said = answer("report", tmp_path / "model", new_recordings, "--out", tmp_path / "r.html")
    assert "Scores" in said["sections"]  # with labels from the remembered --label
    for file in list(new_recordings.iterdir()):  # the persons are not in the names
        file.rename(file.with_name("1" + file.name))
    assert "Scores" in answer("report", tmp_path / "model", new_recordings, "--out", tmp_path / "r.html")["sections"]
    for file in new_recordings.iterdir():  # columns in another order
        rows = [line.split(",") for line in file.read_text().splitlines()]
        file.write_text("\n".join(",".join((time, y, x)) for time, x, y in rows) + "\n")
    swapped = answer("report", tmp_path / "model", new_recordings, "--out", tmp_path / "swapped.html")
    assert swapped["sections"] == said["sections"]


def test_a_report_of_nothing_is_an_error_without_a_file(run, recordings, tmp_path):
    result = run("report", tmp_path / "missing", recordings, "--out", tmp_path / "report.html")
    assert result.exit_code == 1
    assert "missing" in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "report.html").exists()
    learn(run, recordings, tmp_path / "model")
    printed = json.loads(run("report", tmp_path / "model", recordings, "--out", tmp_path / "r.html", "--json").stdout)
    assert printed["command"] == "report"
