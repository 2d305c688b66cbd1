"""Drift: what a batch says, batches that are refused leave no trace, and how it begins."""

import copy
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import timelike as tl
from naive import two_sample as naive
from timelike.distributions import RBF, Drift
from timelike.distributions.drift.batch_test import n_parts
from timelike.distributions.drift.evidence import POWERS, log_winnings, start_weight, start_weights


def vectors(n, seed=0, shift=0.0, d=2):
    return np.random.default_rng(seed).standard_normal((n, d)) + shift


def monitor(reference=None, **options):
    options = {"kernel": RBF(width=1.0), "n_permutations": 99, "random_state": 0} | options
    return Drift(**options).fit(vectors(20) if reference is None else reference)


def trace(drift):
    """All that a monitor knows, to compare."""
    kept = vars(drift)
    arrays = {name: np.array(getattr(drift.pool_, name)) for name in ("batch", "place", "name", "unit", "compared")}
    plain = {name: copy.deepcopy(kept[name]) for name in ("batches_", "seen_groups_", "seed_", "unit_kind_", "frame_")}
    kept = plain | {"names": sorted(kept), "evidence": list(drift.evidence_.values)}
    return kept, arrays | {"similar": drift.similarities_.copy(), "items": np.array(drift.pool_.items.values)}


# --- one batch ----------------------------------------------------------------------------------------------------


def test_a_batch_that_differs_from_all_before_it_has_the_smallest_p_value_there_is():
    seen = monitor(vectors(5), n_permutations=999).update(vectors(3, 1, 50.0))
    assert seen.batch_p_value == pytest.approx(1 / 56)  # of 8 over 3 ways
    drift = monitor(vectors(30), n_permutations=199)
    assert drift.update(vectors(10, 1, 50.0)).batch_p_value == pytest.approx(1 / 200)


def test_the_p_value_of_a_batch_is_that_of_all_allocations():
    reference, batch = vectors(6), vectors(3, 5, 0.5)
    seen = monitor(reference, n_permutations=500).update(batch)
    table = RBF(width=1.0)(np.concatenate([batch, reference]))
    assert seen.batch_p_value == pytest.approx(float(naive.enumerated_p_value(table, [True] * 3 + [False] * 6)))
    expected = tl.distributions.mmd(batch, reference, RBF(width=1.0), estimator="unbiased")
    assert seen.statistic == pytest.approx(expected, abs=1e-12)


# --- what the kernel leaves open ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 5, 20, 101])
def test_a_third_of_the_reference_decides_the_width_and_is_never_compared_with(n):
    reference = vectors(n)
    drift = Drift(random_state=0).fit(reference)
    learned = np.setdiff1d(np.arange(n), drift.pool_.place)
    assert len(learned) == max(2, round(0.3 * n))
    distances = [np.linalg.norm(reference[i] - reference[j]) for i in learned for j in learned if i < j]
    assert drift.kernel_.width == pytest.approx(np.median(distances))
    np.testing.assert_array_equal(drift.pool_.items.values, reference[drift.pool_.place])


def test_whole_groups_decide_the_width():
    groups = np.repeat(np.arange(10), np.arange(1, 11))
    drift = Drift(random_state=1).fit(vectors(55), groups=groups)
    learned = np.setdiff1d(np.arange(55), drift.pool_.place)
    assert len(np.unique(groups[learned])) == 3
    assert not set(groups[learned]) & set(groups[drift.pool_.place])


def test_a_kernel_with_nothing_open_is_compared_with_all_of_the_reference():
    assert monitor(vectors(2)).pool_.place.tolist() == [0, 1]
    assert monitor(vectors(9)).pool_.place.tolist() == list(range(9))


@pytest.mark.parametrize(
    ("n", "groups", "kernel", "message"),
    [
        (1, None, RBF(width=1.0), "X holds 1 sample: expected at least two"),
        (2, None, None, "X holds 2 samples: expected at least four, as a third"),
        (3, None, None, "X holds 3 samples: expected at least four"),
        (9, [0, 0, 0, 1, 1, 1, 2, 2, 2], None, "X holds 3 groups: expected at least four.*such as blocks"),
        (3, [0, 0, 0], RBF(width=1.0), "X holds 1 group: expected at least two"),
    ],
)
def test_too_small_a_reference_is_refused(n, groups, kernel, message):
    with pytest.raises(ValueError, match=message):
        Drift(kernel=kernel, random_state=0).fit(vectors(n), groups=groups)


# --- batches ------------------------------------------------------------------------------------------------------


def test_the_record_of_a_batch_follows_from_the_p_values_of_all_of_them():
    drift = monitor(false_alarm=0.05, n_permutations=999)
    shifts = [0, 0, 3, 3, 3, 0, 0, 0, 0, 0]
    seen = [drift.update(vectors(4, 10 + i, shift)) for i, shift in enumerate(shifts)]
    u = [batch["smoothed"][0] for batch in drift.batches_]
    expected = naive.evidences(u, start_weights(len(u)).tolist(), POWERS)
    np.testing.assert_allclose([one.evidence for one in seen], expected, rtol=1e-9)
    overall = np.minimum(1, 1 / np.maximum.accumulate(expected))
    np.testing.assert_allclose([one.p_value for one in seen], overall, rtol=1e-9)
    assert [one.drifted for one in seen] == (overall <= 0.05).tolist()
    assert [one.batch for one in seen] == list(range(1, 11))
    assert seen[-1].drifted
    assert drift.drifted
    assert seen[-1].evidence < expected[4]  # it went back, and the alarm stays
    assert seen[0].since is None
    assert seen[-1].since == 3
    assert str(seen[-1]).startswith("batch 10: drift since batch 3")
    assert str(seen[0]).startswith("batch 1: no drift seen")


def bad_batches():
    missing = vectors(3)
    missing[1, 0] = np.nan
    return {
        "missing": (missing, "batch: .*missing"),
        "infinite": (np.full((2, 2), np.inf), "infinite"),
        "other channels": (vectors(3, d=3), "batch has vectors of 3 numbers and the reference 2"),
        "empty": (vectors(0), "batch is empty"),
        "one axis": (np.zeros(2), "expected .item, feature."),
        "longer": (np.zeros((3, 4, 2)), "the reference and batch have sequences of 1 to 4 steps"),
    }


@pytest.mark.parametrize("case", bad_batches())
def test_a_batch_that_is_refused_changes_nothing(case):
    batch, message = bad_batches()[case]
    drift, other = monitor(), monitor()
    for one in (drift, other):
        one.update(vectors(3, 1))
    before = trace(drift)
    with pytest.raises(ValueError, match=message):
        drift.update(batch)
    assert trace(drift)[0] == before[0]
    for name, array in trace(drift)[1].items():
        np.testing.assert_array_equal(array, before[1][name])
    assert drift.update(vectors(3, 2)) == other.update(vectors(3, 2))


def test_overlapping_windows_are_refused_in_batches_and_in_the_reference():
    signal = np.random.default_rng(0).standard_normal(400)
    apart, overlapping = (np.lib.stride_tricks.sliding_window_view(signal, 20)[::step][..., None] for step in (20, 10))
    drift = monitor(apart[:12])
    before = trace(drift)[0]
    for refused in (lambda: drift.update(overlapping[:6]), lambda: monitor(overlapping)):
        with pytest.raises(ValueError, match="share 10 time steps"):
            refused()
    assert trace(drift)[0] == before


def test_groups_are_met_once():
    drift = monitor(vectors(8), kernel=RBF(width=1.0))
    with pytest.raises(ValueError, match="batch has groups and the reference none"):
        drift.update(vectors(2), groups=["a", "b"])
    drift.fit(vectors(8), groups=list("aabbccdd"))
    with pytest.raises(ValueError, match="the reference has groups and batch none"):
        drift.update(vectors(2))
    drift.update(vectors(3, 1), groups=["e", "e", "f"])
    before = trace(drift)[0]
    with pytest.raises(
        ValueError, match="the group 'f' of batch was in an earlier batch.*TwoSample with groups in both"
    ):
        drift.update(vectors(2, 2), groups=["g", "f"])
    with pytest.raises(ValueError, match="'a' of batch was in an earlier batch"):
        drift.update(vectors(2, 2), groups=["a", "g"])
    assert trace(drift)[0] == before
    assert drift.update(vectors(2, 2), groups=["g", "g"]).batch == 2


def test_whole_groups_are_exchanged():
    reference, batch = vectors(6), vectors(3, 5, 1.0)
    groups = ["a", "a", "b", "c", "c", "d"], ["e", "e", "f"]
    drift = monitor(reference, n_permutations=500).fit(reference, groups=groups[0])
    table = RBF(width=1.0)(np.concatenate([batch, reference]))
    ways = naive.allocations([True] * 3 + [False] * 6, [*groups[1], *groups[0]])
    assert len(ways) == 15
    expected = naive.enumerated_p_value(table, [True] * 3 + [False] * 6, [*groups[1], *groups[0]])
    assert drift.update(batch, groups=groups[1]).batch_p_value == pytest.approx(float(expected))


@pytest.mark.parametrize("n", [1, 200])
def test_batches_may_be_of_one_item_and_larger_than_the_reference(n):
    drift = monitor()
    assert not drift.update(vectors(n, 1)).drifted
    assert drift.update(vectors(n, 2, 30.0)).batch_p_value <= 1 / 20
    assert [batch["size"] for batch in drift.batches_] == [n, n]


def test_a_batch_can_be_named():
    drift = monitor()
    drift.update(vectors(3, 1), when="monday")
    drift.update(vectors(3, 2))
    assert [batch["when"] for batch in drift.batches_] == ["monday", "2"]
    assert drift.pool_.name[-6:].tolist() == [f"monday[{i}]" for i in range(3)] + [f"2[{i}]" for i in range(3)]


def test_a_seed_repeats_everything_and_another_does_not():
    def run(seed):
        drift = Drift(random_state=seed, n_permutations=99, memory=15).fit(vectors(30))
        return [drift.update(vectors(5, 50 + i)) for i in range(4)]

    assert run(0) == run(0) != run(1)


# --- beginning, keeping ---------------------------------------------------------------------------------------------


def test_a_reference_given_to_the_constructor_is_fitted_by_the_first_batch_and_saved_once(tmp_path):
    given, fitted = Drift(vectors(30), random_state=0), Drift(random_state=0).fit(vectors(30))
    assert given.get_params()["reference"] is not None
    assert [given.update(vectors(4, i)) for i in (1, 2)] == [fitted.update(vectors(4, i)) for i in (1, 2)]
    for drift, name in ((given, "given"), (fitted, "fitted")):
        drift.save(tmp_path / name)
    assert (tmp_path / "given" / "config.json").read_text() == (tmp_path / "fitted" / "config.json").read_text()
    assert clone(given).update(vectors(4, 1)) == clone(given).update(vectors(4, 1))  # a clone begins anew with it
    assert set(given.get_params()) == {"reference", "kernel", "false_alarm", "n_permutations", "memory", "random_state"}


def test_a_reference_that_cannot_be_fitted_stays_where_it_was():
    drift = Drift(tl.Sequences(vectors(6), layout="nc", groups=list("aabbcc")))
    with pytest.raises(ValueError, match="at least four"):
        drift.update(vectors(2))
    assert drift.reference is not None


@pytest.mark.parametrize("verb", [lambda d: d.update(vectors(2)), lambda d: d.report(), lambda d: d.stream(5)])
def test_without_a_reference_it_is_said_what_to_call(verb):
    with pytest.raises(NotFittedError, match=re.escape("call fit(X) first")):
        verb(Drift())


@pytest.mark.parametrize(
    "options", [{"false_alarm": 0}, {"false_alarm": 1}, {"n_permutations": 5}, {"memory": 5}, {"kernel": "rbf"}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        Drift(**options).fit(vectors(10))


def test_a_clone_has_the_reference_that_was_given():
    np.testing.assert_array_equal(clone(Drift(vectors(5))).reference, vectors(5))


def test_groups_with_long_numbers_are_told_apart():
    drift = monitor().fit(vectors(40), groups=np.repeat(np.arange(20240101, 20240111), 4))
    drift.update(vectors(8, 1), groups=np.repeat([20240201, 20240202], 4))
    drift.update(vectors(8, 2), groups=np.repeat([20240203, 20240204], 4))
    with pytest.raises(ValueError, match="'20240203' of batch was in an earlier batch"):
        drift.update(vectors(8, 3), groups=np.repeat([20240203.0, 20240205.0], 4))


def test_a_batch_larger_than_the_memory_is_drawn_from_with_its_places_kept():
    drift = Drift(kernel=RBF(width=1.0), memory=10, random_state=0).fit(vectors(30))
    look = drift.update(vectors(100, 1))
    assert look.notes == ("10 of its 100 items were sampled, as memory=10",)
    places = [one.position for one in drift.report(n_permutations=19).sequences]
    assert max(places) > 10


def test_a_batch_that_was_met_before_is_told():
    reference = vectors(30)
    drift = Drift(kernel=RBF(width=1.0), random_state=0).fit(reference.copy())
    assert drift.update(reference[:5] + 0.0).notes == (
        "all its items are equal to earlier items: was it delivered twice?",
    )
    assert drift.update(vectors(5, 1)).notes == ()


def test_a_wrong_rate_is_refused_before_the_batch_is_taken():
    drift = Drift(kernel=RBF(width=1.0), random_state=0).fit(vectors(30)).set_params(false_alarm=5)
    with pytest.raises(ValueError, match="false_alarm"):
        drift.update(vectors(5))
    assert drift.batches_ == []


def test_a_batch_and_a_test_note_what_is_missing_alike():
    rng = np.random.default_rng(0)
    X, batch = rng.standard_normal((20, 9, 1)), rng.standard_normal((12, 9, 1))
    drift = tl.distributions.Drift(X, n_permutations=19, random_state=0)
    assert drift.update(batch + 0.1).notes == ()
    batch[0, 3], batch[1] = np.nan, np.nan
    words = r"2 of 12 of {} \(1 of them are entirely missing\)"
    (note,) = drift.update(batch).notes
    assert re.search(words.format("the batch"), note)
    notes = tl.distributions.TwoSample(n_permutations=19, random_state=0).test(X, batch).notes
    assert any(re.search(words.format("Y"), note) for note in notes)


def test_a_reference_of_few_items_is_refused_when_it_is_given():
    few = np.random.default_rng(0).standard_normal((3, 9, 1))
    with pytest.raises(ValueError, match="^reference holds 3 samples: expected at least four"):
        tl.distributions.Drift(few)
    with pytest.raises(ValueError, match="^reference holds 1 sample: expected at least two"):
        tl.distributions.Drift(few[:1], kernel=RBF(width=1.0))
    with pytest.raises(ValueError, match="^X holds 3 samples: expected at least four"):
        tl.distributions.Drift().fit(few)
    grouped = tl.Sequences(np.random.default_rng(0).standard_normal((6, 9, 1)), groups=list("aabbcc"))
    with pytest.raises(ValueError, match="^reference holds 3 groups: expected at least four"):
        tl.distributions.Drift(grouped).update(few)


@pytest.mark.parametrize(("number", "size"), [(1, 20), (132, 20), (133, 30), (738, 30), (739, 40)])
def test_batches_that_can_raise_an_alarm_alone_are_as_large_as_the_page_says(number, size):
    def reaches(n_units):
        parts = n_parts(n_units, number, 9999, 0.01)
        return start_weight(number) * np.exp(log_winnings([1e-4] * parts)) >= 100

    assert reaches(size)
    assert not reaches(size - 1)
