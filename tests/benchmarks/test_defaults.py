"""The program and the page about methods at their defaults: its rows, its words about targets, its groups of sets."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.accuracy import defaults
from benchmarks.papers import command

ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(monkeypatch):
    """As it is run from the root of the repository."""
    monkeypatch.chdir(ROOT)
    return defaults.Defaults(command.parsed(defaults.Defaults, ["--data", "nowhere"]))


def rows(numbers, score="accuracy"):
    """Finished rows with these numbers, {(data set, method): number}."""
    return {
        f"{one}/{method}/0": {"dataset": one, "method": method, "seed": 0, score: value, "state": "finished", "why": ""}
        for (one, method), value in numbers.items()
    }


def test_the_most_telling_rows_come_first(program):
    planned = list(program.planned())
    sets = list(dict.fromkeys(row.dataset for row in planned))
    assert sets[:12] == [*defaults.GROUPS["choose"], *defaults.GROUPS["confirm"]]
    assert len(sets) == 27
    assert planned[0].method == "1-NN Euclidean"
    assert all(row.seed == 0 for row in planned[: 27 * len(defaults.methods())])
    assert not any(row.seed and row.method in defaults.SEEDLESS for row in planned)


def test_rows_are_asked_for_by_set_method_and_seed(monkeypatch):
    monkeypatch.chdir(ROOT)
    asked = ["--data", "nowhere", "--sets", "Ham", "GunPoint", "--methods", "TAP", "1-NN DTW", "--seed", "0"]
    program = defaults.Defaults(command.parsed(defaults.Defaults, asked))
    keys = [row.key for row in program.planned()]
    assert keys == ["GunPoint/1-NN DTW/0", "GunPoint/TAP/0", "Ham/1-NN DTW/0", "Ham/TAP/0"]


def test_a_comparison_that_was_stopped_makes_no_row(program, monkeypatch):
    stopped = SimpleNamespace(notes=("stopped by Ctrl-C",), rows=())
    monkeypatch.setattr(defaults, "loaded", lambda *_: ([], [], ([], [])))
    monkeypatch.setattr(defaults.tl, "compare", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        program.work(next(program.planned()))


def test_a_target_is_met_not_met_or_not_measured_in_words():
    names = defaults.GROUPS["confirm"]
    given = {(one, "TAP"): 0.8 for one in names} | {(one, defaults.FULL): 0.75 for one in names}
    assert "met, 0.800 beside 0.750, +0.050" in defaults.target(
        rows(given), "TAP", "accuracy", defaults.FULL, 0.05, "confirm"
    )
    said = defaults.target(rows(given), "TAP", "accuracy", defaults.FULL, 0.06, "sets to confirm on")
    assert "**not met**, 0.800 beside 0.750" in said
    some = {key: value for key, value in given.items() if key[0] != "Ham"}
    said = defaults.target(rows(some), "TAP", "accuracy", defaults.FULL, 0.05, "sets to confirm on")
    assert said.endswith("**not measured yet** (5 of 6 sets).")


def test_means_are_over_seeds_then_over_sets():
    two = {"A/x/0": {"dataset": "A", "method": "x", "map": 0.5}, "A/x/1": {"dataset": "A", "method": "x", "map": 0.7}}
    assert defaults.numbers(two, "map")["A"]["x"] == pytest.approx(0.6)


def test_ranks_are_over_the_methods_and_sets_with_most_numbers():
    several = {(f"set {i}", method): 0.5 + i / 100 for i in range(5) for method in ("x", "y")}
    few = {("set 0", "z"): 0.3, ("set 1", "z"): 0.2}
    found = defaults._ranking(rows(several | few), "accuracy", ["x", "y", "z"])
    assert (found.methods, len(found.data_sets)) == (("x", "y"), 5)  # ten numbers beside six
    more = {(f"set {i}", "z"): 0.3 for i in range(4)}
    found = defaults._ranking(rows(several | more), "accuracy", ["x", "y", "z"])
    assert (found.methods, len(found.data_sets)) == (("x", "y", "z"), 4)
    assert defaults._ranking(rows(few), "accuracy", ["x", "y", "z"]) is None


def test_a_row_is_worked_out_from_a_file(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "ucr").mkdir()
    labels, split = np.arange(24) % 2, np.arange(24) // 12
    values = rng.normal(3 * labels[:, None], 1, (24, 10)).reshape(-1, 1)
    np.savez(tmp_path / "ucr" / "Ham.npz", values=values, offsets=np.arange(25) * 10, labels=labels, split=split)
    results = tmp_path / "defaults.json"
    asked = ["--data", str(tmp_path), "--sets", "Ham", "--methods", "1-NN Euclidean", "1-NN DTW (full)"]
    assert defaults.Defaults.main([*asked, "--results", str(results)]) == 0
    page = results.with_suffix(".md").read_text(encoding="utf-8")
    assert "python -m benchmarks.accuracy.defaults --data DIR" in page
    assert "| 1-NN Euclidean | 1.000 |" in page
    assert "1 of 6" in page
