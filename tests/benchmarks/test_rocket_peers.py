"""The program and the page about Rocket beside MiniRocket: its rows, its halves, its means."""

import numpy as np
from benchmarks.accuracy import rocket_peers

import timelike as tl


def rows(numbers):
    """Finished rows with these accuracies, {(data set, method, seed): number}, each encoded in two seconds."""
    return {
        f"{one}/{method}/{seed}": {
            "dataset": one,
            "method": method,
            "seed": seed,
            "accuracy": value,
            "encoding": 2.0,
            "seconds": 3.0,
        }
        for (one, method, seed), value in numbers.items()
    }


def test_halves_take_turns_and_share_nothing():
    _, first, second = rocket_peers.HALVES.values()
    assert len(first) == 14
    assert len(second) == 13
    assert sorted([*first, *second]) == rocket_peers.SETS


def test_means_are_over_seeds_and_then_over_sets_of_equal_lengths(monkeypatch):
    names = ("Adiac", "ArrowHead", "JapaneseVowels")  # to choose on, to confirm on, and of unequal lengths
    ours = {(one, "Rocket", seed): 0.5 + 0.1 * i + 0.2 * seed for i, one in enumerate(names) for seed in (0, 1)}
    others = {(one, method, 0): 0.7 for one in names for method in (rocket_peers.PEER, "Rocket, causal")}
    found = rows(ours | others)
    summary = rocket_peers.summary(found)
    lines = [line.strip("| ").split(" | ") for line in summary.splitlines()[2:]]
    assert lines == [
        ["all", "2", "0.6500", "0.7000", "0.7000", "0 / 1", "4.0", "4.0"],
        ["to choose on", "1", "0.6000", "0.7000", "0.7000", "0 / 1", "2.0", "2.0"],
        ["to confirm on", "1", "0.7000", "0.7000", "0.7000", "0 / 0", "2.0", "2.0"],
    ]


def test_a_peer_is_given_zeros_behind_the_end_and_nothing_beyond_the_length():
    X = tl.Sequences([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]])
    np.testing.assert_array_equal(rocket_peers.block(X, 2), [[[1, 0], [2, 0]], [[3, 5], [4, 6]]])
