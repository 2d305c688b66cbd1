"""The pieces of the study of coupling: a rollout with other gates, changed queries, systems and chaotic starts."""

import numpy as np
import pytest
import torch
from benchmarks.papers.cgru import coupling, coupling_report as report, equals, few_users, gates, oscillators
from benchmarks.papers.cgru.data import Problem

import timelike as tl
from timelike.metric import CoupledNetwork


@pytest.fixture(scope="module")
def waves():
    """Two classes of unequal lengths."""
    rng = np.random.default_rng(0)
    ones = [np.sin(np.arange(n)[:, None] * [speed, 1.0]) for speed in (0.4, 1.1) for n in (9, 14, 17, 20)]
    return tl.Sequences([one + 0.1 * rng.standard_normal(one.shape) for one in ones], labels=np.repeat([0, 1], 4))


@pytest.fixture(scope="module", params=[None, "strided"])
def metric(request, waves):
    return tl.CoupledGRU(hidden=5, front=request.param, sync="last", max_steps=3, random_state=0).fit(waves)


def test_the_rollout_with_the_gates_as_they_are_is_the_metric(metric, waves):
    with torch.no_grad():
        sides = gates.features(metric, waves[:3]), gates.features(metric, waves)
        found = gates.rolled(metric.network_, *sides)
        again = gates.rolled(metric.network_, *sides, found.gates)
    np.testing.assert_allclose(found.distances.reshape(3, -1), metric.pairwise(waves[:3], waves), atol=1e-5)
    assert torch.equal(again.distances, found.distances)


def test_a_constant_gate_is_that_constant_at_every_step(metric, waves):
    gate = torch.linspace(0.1, 0.8, 5)
    with torch.no_grad():
        sides = gates.features(metric, waves[:3]), gates.features(metric, waves)
        own = gates.rolled(metric.network_, *sides).gates
        by_hand = gates.rolled(metric.network_, *sides, gate.expand_as(own)).distances.reshape(3, -1)
    np.testing.assert_allclose(gates.constant(metric, gate).pairwise(waves[:3], waves), by_hand, atol=1e-5)


def test_without_a_gate_the_twins_are_one_gru(waves):
    torch.manual_seed(0)
    gru = torch.nn.GRU(2, 5, batch_first=True)
    coupled = tl.CoupledGRU(hidden=5, front=None, standardize=False, max_steps=1, random_state=0).fit(waves)
    coupled.network_ = CoupledNetwork.from_gru(gru)
    states = torch.stack([gru(torch.tensor(one, dtype=torch.float32)[None])[1].flatten() for one in waves]).detach()
    found = gates.constant(coupled, torch.zeros(5)).pairwise(waves)
    np.testing.assert_allclose(found, torch.cdist(states, states), atol=1e-4)


def test_shuffled_gates_are_those_of_another_pair(metric, waves):
    """So a constant gate can be shuffled at will, and another cannot."""
    still = gates.constant(metric, torch.full((5,), 0.3))
    np.testing.assert_allclose(gates.shuffled(still, waves, waves, 0), still.pairwise(waves), atol=1e-5)
    assert np.abs(gates.shuffled(metric, waves, waves, 0) - metric.pairwise(waves)).max() > 1e-5


def test_queries_are_changed_as_the_condition_says(waves):
    scale = np.array([1.0, 0.0])
    noisy = gates.changed(waves, "noise 1", scale, 0)
    assert 0.7 < (noisy.values - waves.values)[:, 0].std() < 1.3
    assert (noisy.values == waves.values)[:, 1].all()
    for one, cropped, shifted in zip(
        waves, gates.changed(waves, "crop", scale, 0), gates.changed(waves, "shift", scale, 0), strict=True
    ):
        assert len(cropped) == round(0.7 * len(one))
        assert any((one[i : i + len(cropped)] == cropped).all() for i in range(len(one)))
        assert sorted(shifted[:, 0]) == sorted(one[:, 0])


def test_users_to_learn_from_to_choose_by_and_to_ask_are_others():
    n = 40 * 6
    gallery = tl.Sequences(np.zeros((n, 3)), labels=np.tile(range(6), 40), groups=np.repeat(range(20), 12))
    queries = tl.Sequences(np.zeros((60, 3)), labels=np.tile(range(6), 10), groups=np.repeat([90, 91], 30))
    parts = few_users.drawn(Problem(gallery, queries), 5, 1)
    users = [set(np.unique(side.groups)) for side in parts]
    assert len(users[0]) <= 4
    assert len(users[1]) == 4
    assert not users[0] & users[1]
    assert users[2] == {90, 91}
    assert np.bincount(parts.learned.labels).tolist() == [5] * 6


def test_the_rate_is_chosen_by_what_is_held_out(waves):
    class Fixed:
        """Right with one rate only; fitted on what is learned."""

        def __init__(self, rate):
            self.rate = rate

        def fit(self, X):
            assert X is waves
            return self

        def pairwise(self, x, y, **_):
            apart = (np.asarray(x.labels)[:, None] != np.asarray(y.labels)).astype(float)
            return apart if self.rate == 0.03 else 1 - apart

    best, found = equals.tuned(Fixed, equals.Parts(waves, waves[::2], waves[1::2]))
    assert best.rate == found["rate"] == 0.03
    assert max(found["validation"], key=found["validation"].get) == "0.03"


@pytest.mark.parametrize("system", oscillators.SYSTEMS)
def test_sequences_of_a_class_share_a_parameter_and_no_start(system):
    parts = oscillators.drawn(system, 0, (3, 2, 2))
    assert [len(side) for side in parts] == [12, 8, 8]
    assert np.isfinite(parts.learned.values).all()
    starts = np.stack([one[0] for one in parts.learned])
    assert len(np.unique(starts, axis=0)) == 12
    again = oscillators.drawn(system, 0, (3, 2, 2))
    assert (again.learned.values == parts.learned.values).all()


def test_the_logistic_map_is_its_formula():
    x = oscillators.chaotic_maps(3.7, 4, np.random.default_rng(0))[..., 0]
    np.testing.assert_allclose(x[:, 1:], 3.7 * x[:, :-1] * (1 - x[:, :-1]))


def test_both_networks_begin_with_the_same_chaotic_gru():
    gru = oscillators.begun(1, 4, 0, chaotic=True)
    assert oscillators.exponent(gru) > 0 > oscillators.exponent(oscillators.begun(1, 4, 0, chaotic=False))
    X = tl.Sequences(np.random.default_rng(0).standard_normal((4, 6, 1)), labels=[0, 0, 1, 1])
    shared = {"hidden": 4, "front": None, "max_steps": 1, "trainer": tl.Trainer(learning_rate=1e-12, weight_decay=0.0)}
    one = oscillators.SiameseFrom(readout="last", n_outputs=None, normalize=False, random_state=0, **shared)
    two = oscillators.CoupledFrom(coupling_bias=-100.0, sync="last", random_state=0, **shared)
    one.start = two.start = gru
    np.testing.assert_allclose(one.fit(X).pairwise(X), two.fit(X).pairwise(X), atol=1e-4)


# --- the page


def rows(siamese, coupled, part="labels", case="raw-4-5"):
    """`rows([0.5, 0.6], [0.7])` are the scores of seeds 0 and 1, and of seed 0."""
    return {
        f"{part}/{case}/{method}/{seed}": {"part": part, "case": case, "method": method, "seed": seed}
        | {"accuracy": score, "map": score, "seconds": 1.0, "exponent before": 0.1, "exponent": -0.1}
        for method, scores in (("siamese", siamese), ("coupled", coupled))
        for seed, score in enumerate(scores)
    }


def test_the_verdict_is_that_of_the_interval_of_pairs():
    assert "gains (3 pairs of rows, MAP ahead in 3)" in report.verdict(rows([0.5, 0.6, 0.7], [0.6, 0.7, 0.81]))
    assert "loses (3 pairs of rows, MAP ahead in 0)" in report.verdict(rows([0.6, 0.7, 0.81], [0.5, 0.6, 0.7]))
    assert "no difference is shown (2 pairs" in report.verdict(rows([0.5, 0.6], [0.6, 0.5]))
    assert "+0.100, too few rows (1 pairs" in report.verdict(rows([0.5, 0.9], [0.6]))  # seed 1 has no partner
    assert report.verdict(rows([0.5], [])) == ""


def test_what_a_gate_changes_is_told_row_by_row():
    def ablated(case, own, zero):
        by = {
            gate: {c: dict.fromkeys(("accuracy", "map", "auc"), own) for c in gates.CONDITIONS} for gate in gates.GATES
        }
        by["zero"] = {c: dict.fromkeys(("accuracy", "map", "auc"), zero) for c in gates.CONDITIONS}
        named = {"part": "gates", "case": case, "method": "plain", "seed": 0, "seconds": 1.0}
        return named | {"scores": by | {"siamese": by["own"]}, "gate": 0.4, "gate deviation": 0.01}

    found = {"a": ablated("HAR", 0.9, 0.5), "b": ablated("NATOPS", 0.8, 0.4)}
    assert report.from_own([*found.values()], "zero", "crop", "map") == pytest.approx([-0.4, -0.4])
    assert "changes by −0.400 [−0.400, −0.400] without any gate, +0.000" in report.verdict(found)
    assert "| zero, AUC | −0.400" in coupling.Coupling.of_rows(found).body()
    assert "No pair of rows yet" in coupling.Coupling.of_rows(found).body()
