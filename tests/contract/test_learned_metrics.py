"""Every metric that is learned, found by itself and fitted on a tiny problem, keeps the promises of the base class."""

from functools import cache

import numpy as np
import pytest

import timelike as tl
from timelike import align, metric  # noqa: F401  the second makes the metrics known
from timelike.metric.estimator import MetricEstimator
from timelike.models import registry


def subclasses(kind):
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


LEARNED = sorted(
    (
        kind
        for kind in subclasses(MetricEstimator)
        if kind.__module__.startswith("timelike.metric.") and not kind.__abstractmethods__
    ),
    key=lambda kind: kind.__name__,
)
SMALL = {"hidden": 4, "kernels": 2, "max_epochs": 1, "max_steps": 2, "random_state": 0}
CLOSE = {"rtol": 1e-4, "atol": 1e-5}  # networks compute in float32, and products of other shapes round otherwise


@cache
def fitted(kind):
    known = kind().get_params()
    rng = np.random.default_rng(0)
    return kind(**{name: value for name, value in SMALL.items() if name in known}).fit(
        rng.standard_normal((8, 5, 2)), [0, 1] * 4
    )


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    return tl.Sequences([rng.standard_normal((n, 2)) for n in (9, 4, 9, 7, 12, 1)])


@pytest.fixture(autouse=True)
def excused(request):
    """A metric may be exempt from a promise, if its class says why (`departs`)."""
    kind = request.node.callspec.params.get("kind") if hasattr(request.node, "callspec") else None
    reason = kind.departs.get(request.node.originalname.removeprefix("test_")) if kind else None
    if reason:
        pytest.skip(reason)


def test_there_are_metrics_to_test():
    assert {tl.SiameseGRU, tl.CoupledGRU, tl.TAP} < set(LEARNED)


def test_an_exemption_names_a_promise_and_gives_a_reason():
    promises = {name.removeprefix("test_") for name in vars(TestEveryLearnedMetric)}
    for kind in LEARNED:
        assert set(kind.departs) <= promises
        assert all(len(reason) > 20 for reason in kind.departs.values())


@pytest.mark.parametrize("kind", LEARNED)
class TestEveryLearnedMetric:
    def test_it_can_be_saved_by_its_name(self, kind):
        assert registry.find(kind.__name__) is kind

    def test_it_comes_back_from_a_folder_without_pickle_and_gives_the_same(self, kind, data, tmp_path):
        fitted(kind).save(tmp_path / "model")
        assert sorted(file.name for file in (tmp_path / "model").iterdir()) == ["config.json", "model.safetensors"]
        found = tl.load_model(tmp_path / "model").pairwise(data)
        np.testing.assert_array_equal(found, fitted(kind).pairwise(data))

    def test_a_sequence_is_at_distance_zero_from_itself(self, kind, data):
        assert np.abs(np.diag(fitted(kind).pairwise(data))).max() < 1e-6

    def test_distances_are_symmetric(self, kind, data):
        found = fitted(kind).pairwise(data, data)
        np.testing.assert_allclose(found, found.T, **CLOSE)
        np.testing.assert_allclose(found, fitted(kind).pairwise(data), **CLOSE)

    def test_distances_are_finite_and_not_negative(self, kind, data):
        found = fitted(kind).pairwise(data)
        assert np.isfinite(found).all()
        assert found.min() >= 0

    def test_a_batch_is_a_loop(self, kind, data):
        found = fitted(kind).pairwise(data)
        loop = [[fitted(kind).distance(x, y) for y in data] for x in data]
        np.testing.assert_allclose(found, loop, **CLOSE)

    def test_the_number_of_threads_does_not_matter(self, kind, data):
        one, two = (fitted(kind).pairwise(data, n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)

    def test_a_selection_gives_the_same(self, kind, data):
        chosen = [4, 0, 2, 2]
        expected = fitted(kind).pairwise(data)[np.ix_(chosen, chosen)]
        np.testing.assert_allclose(fitted(kind).pairwise(data[chosen]), expected, **CLOSE)

    def test_neighbours_are_those_of_brute_force(self, kind, data):
        ids, distances = fitted(kind).neighbors(data, data, k=3)
        whole = fitted(kind).pairwise(data, data)
        np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :3])
        np.testing.assert_allclose(distances, np.take_along_axis(whole, ids, axis=1), **CLOSE)

    def test_inputs_are_left_alone(self, kind):
        x = np.random.default_rng(0).standard_normal((4, 6, 2))
        before = x.copy()
        fitted(kind).pairwise(x)
        np.testing.assert_array_equal(x, before)
        assert x.flags.writeable

    def test_an_alignment_costs_the_distance(self, kind, data):
        if not issubclass(kind, align.Aligner):
            pytest.skip("says nothing about alignment")
        found = fitted(kind).align(data[0], data[1]).cost
        assert found == pytest.approx(fitted(kind).distance(data[0], data[1]), rel=1e-5)
