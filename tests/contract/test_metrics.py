"""Every metric that learns nothing, found by itself, keeps the promises of the base class."""

import dataclasses

import numpy as np
import pytest

import timelike as tl
from timelike import align
from timelike.models import registry


def subclasses(kind):
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


METRICS = sorted(
    (
        kind
        for kind in subclasses(align.Metric)
        if kind.__module__.startswith("timelike.align.") and not kind.__abstractmethods__
    ),
    key=lambda kind: kind.__name__,
)


@pytest.fixture
def data(kind):
    rng = np.random.default_rng(3)
    lengths = (9,) * 6 if kind is tl.Euclidean else (9, 4, 9, 7, 12, 1)  # Euclidean compares step by step
    return tl.Sequences([rng.standard_normal((n, 2)) for n in lengths])


def test_there_are_metrics_to_test():
    assert tl.DTW in METRICS


@pytest.fixture(autouse=True)
def excused(request):
    """A metric may be exempt from a promise, if its class says why (`departs`)."""
    kind = request.node.callspec.params.get("kind") if hasattr(request.node, "callspec") else None
    reason = kind.departs.get(request.node.originalname.removeprefix("test_")) if kind else None
    if reason:
        pytest.skip(reason)


def test_an_exemption_names_a_promise_and_gives_a_reason():
    promises = {name.removeprefix("test_") for name in vars(TestEveryMetric)}
    for kind in METRICS:
        assert set(kind.departs) <= promises
        assert all(len(reason) > 20 for reason in kind.departs.values())


@pytest.mark.parametrize("kind", METRICS)
class TestEveryMetric:
    def test_it_is_a_frozen_printable_hashable_value(self, kind):
        metric = kind()
        assert dataclasses.is_dataclass(metric)
        assert hash(metric) == hash(kind())
        assert repr(metric).startswith(f"{kind.__name__}(")
        with pytest.raises(dataclasses.FrozenInstanceError):
            metric.anything = 1

    def test_it_can_be_a_part_of_a_saved_model(self, kind):
        assert registry.find(kind.__name__) is kind

    def test_a_sequence_is_at_distance_zero_from_itself(self, kind, data):
        assert np.abs(np.diag(kind().pairwise(data))).max() == 0

    def test_distances_are_symmetric(self, kind, data):
        found = kind().pairwise(data, data)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_array_equal(found, kind().pairwise(data))

    def test_a_batch_is_a_loop(self, kind, data):
        found = kind().pairwise(data)
        for i, x in enumerate(data):
            for j, y in enumerate(data):
                assert kind().distance(x, y) == found[i, j]

    def test_the_number_of_threads_does_not_matter(self, kind, data):
        np.testing.assert_array_equal(kind().pairwise(data, n_jobs=1), kind().pairwise(data, n_jobs=2))

    def test_a_selection_is_compared_without_being_copied_and_gives_the_same(self, kind, data):
        chosen = [4, 0, 2, 2]
        np.testing.assert_array_equal(kind().pairwise(data[chosen]), kind().pairwise(data)[np.ix_(chosen, chosen)])

    def test_neighbours_are_those_of_brute_force(self, kind, data):
        ids, distances = kind().neighbors(data, data, k=3)
        whole = kind().pairwise(data)
        np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :3])
        np.testing.assert_array_equal(distances, np.take_along_axis(whole, ids, axis=1))

    def test_ties_are_kept_in_the_order_of_the_collection(self, kind):
        same = tl.Sequences(np.ones((5, 4)))
        assert kind().neighbors(same, same[:1], k=5).ids.tolist() == [[0, 1, 2, 3, 4]]

    def test_inputs_are_left_alone(self, kind):
        x = np.random.default_rng(0).standard_normal((4, 6, 2))
        before = x.copy()
        kind().pairwise(x)
        np.testing.assert_array_equal(x, before)
        assert x.flags.writeable

    def test_an_alignment_costs_the_distance(self, kind, data):
        if not issubclass(kind, align.Aligner):
            pytest.skip("says nothing about alignment")
        assert kind().align(data[0], data[1]).cost == kind().distance(data[0], data[1])
