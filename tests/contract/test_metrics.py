"""Every metric of every package, learned or not, found by itself, keeps the promises of the base class."""

import dataclasses

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl
from contract.discover import ALIGNERS, LEARNED_METRICS, PLAIN_METRICS, data, fitted, small
from timelike.align import Metric, metric_names
from timelike.models import registry

EVERY = [*PLAIN_METRICS, *LEARNED_METRICS]


def metric_of(kind):
    return fitted(kind) if kind in LEARNED_METRICS else kind()


def close(kind):
    """What learns nothing is exact; networks compute in float32, and products of other shapes round otherwise."""
    return {"rtol": 1e-4, "atol": 1e-5} if kind in LEARNED_METRICS else {"rtol": 0, "atol": 0}


@pytest.fixture
def some(kind):
    """Of every length, unless a metric compares step by step."""
    if kind in LEARNED_METRICS:
        return data(kind, (9, 4, 9, 7, 12, 1), seed=3)
    rng = np.random.default_rng(3)
    lengths = (9,) * 6 if kind is tl.Euclidean else (9, 4, 9, 7, 12, 1)
    return tl.Sequences([rng.standard_normal((n, 2)) for n in lengths])


def test_there_are_metrics_to_test():
    assert {tl.DTW, tl.GDTW} < set(PLAIN_METRICS)
    assert {tl.Rocket, tl.Discriminant, tl.Fused} < set(LEARNED_METRICS)


@pytest.mark.learn
def test_there_are_networks_to_test():
    assert {tl.SiameseGRU, tl.CoupledGRU, tl.TAP, tl.CausalEncoder, tl.encode.FrameEncoder} < set(LEARNED_METRICS)


def test_no_metric_is_left_out():
    """A class that is written and not made public would not be found above."""

    def below(kind):
        for child in kind.__subclasses__():
            yield child
            yield from below(child)

    written = {
        kind for kind in below(Metric) if kind.__module__.startswith("timelike.") and not kind.__abstractmethods__
    }
    assert {kind for kind in written if not kind.__name__.startswith("_")} <= set(EVERY)


def test_an_exemption_names_a_promise_and_gives_a_reason():
    promises = {name.removeprefix("test_") for kind in (TestEveryMetric, TestEveryPlainMetric) for name in vars(kind)}
    for kind in EVERY:
        assert set(kind.contract_exemptions) <= promises
        assert all(len(reason) > 20 for reason in kind.contract_exemptions.values())


@pytest.mark.parametrize("kind", PLAIN_METRICS)
class TestEveryPlainMetric:
    def test_it_is_a_frozen_printable_hashable_value(self, kind):
        metric = kind()
        assert dataclasses.is_dataclass(metric)
        assert hash(metric) == hash(kind())
        assert repr(metric).startswith(f"{kind.__name__}(")
        with pytest.raises(dataclasses.FrozenInstanceError):
            metric.anything = 1

    def test_it_can_be_a_part_of_a_saved_model(self, kind, tmp_path):
        assert registry.find_class(kind.__name__) is kind
        tl.save_model(kind(), tmp_path / "m")
        assert tl.load_model(tmp_path / "m") == kind()

    def test_it_is_known_by_its_word(self, kind):
        assert metric_names.resolve_metric(kind.__name__.lower()) == kind()

    def test_ties_are_kept_in_the_order_of_the_collection(self, kind):
        same = tl.Sequences(np.ones((5, 4)))
        assert kind().neighbors(same, same[:1], k=5).ids.tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("kind", LEARNED_METRICS)
def test_before_fitting_there_is_nothing_to_compare_with(kind):
    X = data(kind)
    for ask in (lambda m: m.distance(X[0], X[1]), lambda m: m.pairwise(X), lambda m: m.neighbors(X, X)):
        with pytest.raises(NotFittedError, match=r"is not fitted yet: call fit\(X.*\) first"):
            ask(small(kind))


@pytest.mark.parametrize("kind", EVERY)
class TestEveryMetric:
    def test_a_sequence_is_at_distance_zero_from_itself(self, kind, some):
        furthest = np.abs(np.diag(metric_of(kind).pairwise(some))).max()
        assert furthest == 0 if kind in PLAIN_METRICS else furthest < 1e-6

    def test_distances_are_symmetric(self, kind, some):
        found = metric_of(kind).pairwise(some, some)
        np.testing.assert_allclose(found, found.T, **close(kind))
        np.testing.assert_allclose(found, metric_of(kind).pairwise(some), **close(kind))

    def test_distances_are_finite_and_not_negative(self, kind, some):
        found = metric_of(kind).pairwise(some)
        assert np.isfinite(found).all()
        assert found.min() >= 0

    def test_a_batch_is_a_loop(self, kind, some):
        found = metric_of(kind).pairwise(some)
        loop = [[metric_of(kind).distance(x, y) for y in some] for x in some]
        np.testing.assert_allclose(found, loop, **close(kind))

    def test_the_number_of_threads_does_not_matter(self, kind, some, monkeypatch):
        monkeypatch.setattr(tl.native, "cpu_count", lambda: 2)
        one, two = (metric_of(kind).pairwise(some, n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one, two)

    def test_a_selection_gives_the_same_in_any_batch(self, kind, some):
        chosen = [4, 0, 2, 2]
        expected = metric_of(kind).pairwise(some)[np.ix_(chosen, chosen)]
        np.testing.assert_array_equal(metric_of(kind).pairwise(some[chosen]), expected)

    def test_neighbours_are_those_of_brute_force(self, kind, some):
        ids, distances = metric_of(kind).neighbors(some, some, k=3)
        whole = metric_of(kind).pairwise(some, some)
        np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :3])
        np.testing.assert_allclose(distances, np.take_along_axis(whole, ids, axis=1), **close(kind))

    def test_a_prepared_collection_gives_the_same_neighbours(self, kind, some):
        found, expected = (
            metric_of(kind).prepare_gallery(some).neighbors(some, k=2),
            metric_of(kind).neighbors(some, some, k=2),
        )
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_allclose(found.distances, expected.distances, **close(kind))

    def test_candidates_are_put_in_order(self, kind, some):
        candidates = np.array([[5, 1, 3, 0]] * len(some))
        found = metric_of(kind).neighbors(some, some, k=2, among=candidates)
        whole = metric_of(kind).pairwise(some, some)
        for query, row in enumerate(candidates):
            nearest = sorted(row.tolist(), key=lambda item, q=query: (whole[q, item], item))[:2]
            np.testing.assert_allclose(found.distances[query], whole[query, nearest], rtol=1e-4, atol=1e-5)
            assert set(found.ids[query]) <= set(row.tolist())
        np.testing.assert_allclose(found.distances, np.take_along_axis(whole, found.ids, axis=1), rtol=1e-4, atol=1e-5)

    def test_inputs_are_left_alone(self, kind, some):
        x = np.array(some.pad().values)
        before = x.copy()
        metric_of(kind).pairwise(x)
        np.testing.assert_array_equal(x, before)
        assert x.flags.writeable

    def test_an_alignment_costs_the_distance(self, kind, some):
        if kind not in ALIGNERS:
            pytest.skip("says nothing about alignment")
        found = metric_of(kind).align(some[0], some[1]).cost
        expected = metric_of(kind).distance(some[0], some[1])
        assert found == (expected if kind in PLAIN_METRICS else pytest.approx(expected, rel=1e-5))

    def test_what_is_missing_infinite_or_empty_is_refused(self, kind, some):
        broken = [np.array(x) for x in some]
        step = min(3, len(broken[2]) - 1)
        broken[2][step] = np.nan
        if metric_of(kind)._takes_missing():
            assert np.isfinite(metric_of(kind).pairwise(broken)).all()
        else:
            with pytest.raises(ValueError, match=rf"X.*sequence 2.*time step {step}.*interpolate"):
                metric_of(kind).pairwise(broken)
        broken[2][step] = np.inf
        with pytest.raises(ValueError, match=r"X.*infinite"):
            metric_of(kind).pairwise(broken)
        with pytest.raises(ValueError, match="X holds no sequences"):
            metric_of(kind).pairwise(some[:0])
