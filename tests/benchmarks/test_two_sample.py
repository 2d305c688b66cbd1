"""The program about two-sample tests and drift: its plan, its draws, what repetitions share, and its page."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy import (
    two_sample,
    two_sample_changes as changes,
    two_sample_drift as drift,
    two_sample_methods as methods,
    two_sample_null as null,
    two_sample_report as report,
)
from benchmarks.papers import command

import timelike as tl
from timelike import distributions as ds

ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(monkeypatch, tmp_path):
    """As it is run from the root of the repository, with encoders that are yet to be trained."""
    monkeypatch.chdir(ROOT)
    asked = ["--data", "nowhere", "--scratch", str(tmp_path)]
    return two_sample.TwoSample(command.parsed(two_sample.TwoSample, asked))


@pytest.fixture
def pool():
    rng = np.random.default_rng(0)
    return tl.Sequences(rng.standard_normal((30, 12, 2)).astype(np.float32))


def finished(rows):
    """Rows that were made up, {key: what was found}, with what a program adds."""
    known = {"seconds": 1.0, "machine": "a machine", "date": "2026-01-01", "version": "0", "commit": "0"}
    found = {}
    for row, said in rows.items():
        words = {"part": row.part, "subject": row.subject, "design": row.design, "method": row.method}
        found[row.key] = words | known | said
    return found


def test_what_tells_most_comes_first_and_no_row_twice(program):
    planned = list(program.planned())
    assert len({row.key for row in planned}) == len(planned)
    blocks = list(dict.fromkeys((row.part, row.subject if row.part == "drift" else row.design) for row in planned))
    told = [block for block in blocks if block[0] != "level"]
    assert told == [
        ("drift", "level"), ("power", "50"), ("peers", ""), ("power_helper", ""), ("drift", "delay"),
        ("power", "20"), ("power", "100"),
    ]  # fmt: skip
    assert planned[0].part == "level"


def test_every_row_has_a_guess_and_training_is_counted_once_for_a_data_set(program):
    planned = list(program.planned())
    assert all(program.seconds(row) > 0 for row in planned)
    trained = [
        row for row in planned if row.method == "T-Loss" and program.seconds(row) > two_sample.TRAINING["T-Loss"]
    ]
    assert [changes.CHANGES[row.subject].dataset for row in trained] == list(changes.FILES)
    others = [row for row in planned if row.method == "T-Loss" and row not in trained]
    assert all(set(program.needs(row)) <= set(trained) and list(program.needs(row)) for row in others)
    assert not any(list(program.needs(row)) for row in trained)


def test_peers_have_no_groups_and_raw_vectors_one_length(program):
    power = [row for row in program.planned() if row.part == "power"]
    assert not any("raw" in row.method for row in power if row.subject.startswith("MSR"))
    assert not any(row.method not in methods.OWN for row in power if row.subject == "UCI HAR, other subjects")


def test_all_methods_have_the_same_draws_and_only_the_second_half_is_changed(pool):
    change = changes.Change("NATOPS", "swapped")
    first, again = (changes.drawn(change, pool, 10, 3) for _ in range(2))
    np.testing.assert_array_equal(first.y[0], again.y[0])
    known = {one.tobytes() for one in pool}
    assert all(one.tobytes() in known for one in first.x)
    assert all(one[:, ::-1].tobytes() in known for one in first.y)


def test_vectors_that_repetitions_share_are_those_that_the_kernel_over_the_encoder_compares(pool):
    encoder = tl.CausalEncoder(**methods.QUICK, random_state=0).fit(pool)
    samples = [changes.drawn(changes.Change("NATOPS", "noise", 0.5), pool, 10, seed) for seed in range(2)]
    for pair, one in zip(methods.flat(samples, encoder), samples, strict=True):
        shared = ds.TwoSample(ds.RBF(), n_permutations=19, random_state=0).test(*pair)
        anew = ds.TwoSample(ds.EncoderKernel(encoder, ds.RBF()), n_permutations=19, random_state=0).test(one.x, one.y)
        assert shared.statistic == pytest.approx(anew.statistic, rel=1e-4, abs=1e-6)


def test_a_stream_ends_with_its_alarm():
    rng = np.random.default_rng(0)
    said = drift.watched(rng.standard_normal((40, 3)), (rng.standard_normal((10, 3)) + 5 for _ in range(30)), 0)
    assert said.drifted.tolist() == [False] * (len(said.drifted) - 1) + [True]
    assert said.first(0.05) <= said.first(0.01) == len(said.drifted) - 1


def test_the_page_of_made_up_rows(program):
    asked = two_sample.Asked
    level = {"repetitions": 1000, "n_permutations": 199, "smallest": 0.005, "largest": 1.0, "mean": 0.5}
    power = {"repetitions": 100, "p_values": [], "below": {"0.05": 87, "0.01": 60}}
    guesses = {"predicted": {"10": [0.2, 0.4]}, "rejected": {"10": 120}, "repetitions": 400, "pilots": 2}
    rows = {
        asked("level", "RBF", "items"): level | {"below": {"0.05": 50, "0.01": 10}},
        asked("level", "Linear", "items"): level | {"below": {"0.05": 100, "0.01": 10}},
        asked("level", "RBF", "smallest p"): level | {"below": {"0.05": 50, "0.01": 50}, "largest": 0.005},
        asked("drift", "level", "a stream"): {"alarms": {"0.05": 8, "0.01": 1}, "streams": 200, "batches": 50},
        asked("drift", "delay", "a shift"): {"delays": {"0.05": [2, None, 4]}, "streams": 4, "batches": 50},
        asked("power", "NATOPS, slower by 10 %", "50", "Rocket"): power,
        asked("power_helper", "a shift"): guesses | {"needed": [70, None], "target": 0.8},
    }
    body = two_sample.TwoSample.of_rows(finished(rows)).body()
    assert "| RBF | items | 5.0 (3.7–6.5) | 1.0 (0.5–1.8) | yes |" in body
    assert "10.0 (8.2–12.0) | 1.0 (0.5–1.8) | TOO MANY |" in body
    assert f"1 of 1 kernels have exactly 1 / (P + 1) = {1 / (null.PERMUTATIONS + 1):g}" in body
    assert "| a shift | 4 | 50% |" in body
    assert "| NATOPS, slower by 10 % | 87 |" in body
    assert "0.30 (0.20–0.40) / 0.30 | none (70–none) |" in body
    assert all(report.said(one) for one in rows.values())
