"""Large batches in parts, when a change was, what is forgotten, and threads."""

import itertools
import threading

import numpy as np
import pytest
from scipy.stats import binom, kstest

from naive import two_sample as naive
from timelike.distributions import RBF, Drift, mmd
from timelike.distributions.drift import batch_test
from timelike.distributions.drift.evidence import POWERS, Evidence, change_point, start_weights
from timelike.distributions.drift.pool import ReferencePool
from timelike.sequences import Sequences


def vectors(n, seed=0, shift=0.0, d=2):
    return np.random.default_rng(seed).standard_normal((n, d)) + shift


def pool_of(values, unit=None):
    items = Sequences(np.asarray(values, float), layout="nc")
    return ReferencePool.from_reference(
        items, np.arange(len(items)), np.arange(len(items)) if unit is None else np.asarray(unit)
    )


def grown(pool, values, unit=None, number=1):
    items, n = Sequences(np.asarray(values, float), layout="nc"), len(values)
    unit = np.arange(n) if unit is None else np.asarray(unit)
    return pool.append_batch(items, np.arange(n), np.array(["x"] * n), unit, number)


# --- how many parts, and which ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "n_permutations", "false_alarm"), [*itertools.product([1, 9, 300], [99, 9999], [0.2, 0.01, 1e-6])]
)
def test_there_are_as_few_parts_as_raise_the_alarm_by_themselves(number, n_permutations, false_alarm):
    weight, u = start_weights(number)[-1], 1 / (n_permutations + 1)
    alone = [weight * np.mean([(k * u ** (k - 1)) ** n for k in POWERS]) for n in range(1, 60)]
    needed = next((n for n, evidence in enumerate(alone, 1) if evidence >= 1 / false_alarm), 60)
    for n_units in (1, 9, 10, 19, 20, 39, 80, 500):
        expected = max(1, min(needed, n_units // 10))
        assert batch_test.n_parts(n_units, number, n_permutations, false_alarm) == expected


def test_parts_are_whole_units_and_as_large_as_each_other():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(31), rng.integers(1, 4, 31))
    dealt = batch_test.deal_parts(unit, 3, rng)
    assert np.sort(np.concatenate(dealt)).tolist() == list(range(len(unit)))
    units = [set(unit[part].tolist()) for part in dealt]
    assert sorted(map(len, units)) == [10, 10, 11]
    assert len(set.union(*units)) == sum(map(len, units))


def test_parts_are_drawn_whatever_the_order_of_a_batch():
    rng = np.random.default_rng(0)
    share = np.mean([(batch_test.deal_parts(np.arange(40), 2, rng)[0] < 20).mean() for _ in range(400)])
    assert abs(share - 0.5) < 0.02  # in order it would be 1, by turns exactly a half
    assert len({tuple(batch_test.deal_parts(np.arange(40), 2, rng)[0]) for _ in range(20)}) == 20


def test_for_one_part_nothing_is_drawn():
    rng, other = (np.random.default_rng(3) for _ in range(2))
    assert batch_test.deal_parts(np.array([0, 0, 1]), 1, rng)[0].tolist() == [0, 1, 2]
    assert rng.random() == other.random()


# --- what parts say -----------------------------------------------------------------------------------------------


def test_every_part_is_compared_with_all_before_it_and_the_whole_with_what_was_before():
    before, batch = vectors(4), vectors(5, 1, 0.7)
    batch[0] = before[0]  # a tie
    dealt = [np.array([0, 3]), np.array([1, 2, 4])]
    every = np.concatenate([before, batch])
    similar = RBF(width=1.0)(every)[None]
    looked = batch_test.compare_parts(similar, grown(pool_of(before), batch), dealt, 500, 100, np.random.default_rng(0))

    def p_value(ours, others):
        table = RBF(width=1.0)(np.concatenate([ours, others]))
        return float(naive.enumerated_p_value(table, [True] * len(ours) + [False] * len(others)))

    assert looked.parts[0].p_value == pytest.approx(p_value(batch[[0, 3]], before))
    seen = np.concatenate([before, batch[[0, 3]]])
    assert looked.parts[1].p_value == pytest.approx(p_value(batch[[1, 2, 4]], seen))
    assert looked.whole.p_value == pytest.approx(p_value(batch, before))
    expected = mmd(batch[[1, 2, 4]], seen, RBF(width=1.0), estimator="unbiased")
    assert looked.parts[1].statistic == pytest.approx(expected, abs=1e-12)
    assert looked.pool.compared.all()
    assert all(one.smoothed_p_value <= one.p_value for one in looked.parts)


def test_one_part_is_the_batch_itself():
    before, batch = vectors(4), vectors(3, 1)
    similar = RBF(width=1.0)(np.concatenate([before, batch]))[None]
    looked = batch_test.compare_parts(
        similar, grown(pool_of(before), batch), [np.arange(3)], 500, 100, np.random.default_rng(0)
    )
    assert looked.whole == looked.parts[0]
    assert len(looked.parts) == 1


def test_one_large_batch_that_has_wholly_changed_raises_the_alarm_after_eight_quiet_ones():
    alarms = []
    for seed in range(3):
        drift = Drift(vectors(60, seed), random_state=seed)
        for i in range(8):
            assert not drift.update(vectors(10, [seed, i])).drifted
        seen = drift.update(vectors(80, [seed, 99], 5.0), when="Friday")
        alarms.append((seen.drifted, seen.alarm_part, seen.since, len(seen.parts)))
        assert np.sort(np.concatenate([part.items for part in seen.parts])).tolist() == list(range(80))
        assert [len(part.items) for part in seen.parts] == drift.batches_[-1]["sizes"] == [40, 40]
        assert seen.parts[-1].evidence == seen.evidence
        assert "(alarm by part 2 of 2)" in str(seen)
        report = drift.report(n_permutations=19)
        assert (report.since, report.alarm_batch, report.alarm_part) == (9, 9, 2)
        assert str(report).startswith("Drift since batch 9, Friday (p = ")
        assert "over 9 batches, alarm at batch 9, part 2)" in str(report).splitlines()[0]
        after = drift.update(vectors(10, [seed, 100], 5.0))
        assert (after.alarm_part, after.since) == (None, 9)  # the alarm was before
    assert alarms == [(True, 2, 9, 2)] * 3


def test_a_small_batch_is_looked_at_whole():
    seen = Drift(vectors(60), random_state=0).update(vectors(19, 1))
    assert [part.items.tolist() for part in seen.parts] == [list(range(19))]
    assert seen.parts[0].p_value == seen.batch_p_value
    assert seen.parts[0].evidence == seen.evidence


def test_items_of_parts_are_places_in_the_batch_also_where_some_were_drawn():
    drift = Drift(kernel=RBF(width=1.0), memory=30, n_permutations=99, random_state=0).fit(vectors(30))
    seen = drift.update(vectors(100, 1))
    places = np.concatenate([part.items for part in seen.parts])
    assert len(seen.parts) == 3
    assert len(np.unique(places)) == 30
    assert places.max() > 50


def test_streams_of_large_batches_in_any_order_raise_false_alarms_as_rarely_as_was_promised():
    alarms, found = 0, []
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        drift = Drift(kernel=RBF(width=1.0), n_permutations=39, memory=40, false_alarm=0.2, random_state=seed)
        drift.fit(rng.integers(0, 4, (20, 1)).astype(float))
        for _ in range(6):
            # in order: the parts would differ if they were not drawn
            seen = drift.update(np.sort(rng.integers(0, 4, (int(rng.choice([20, 30])), 1)), axis=0).astype(float))
        assert {len(one) for one in (batch["smoothed"] for batch in drift.batches_)} <= {2, 3}
        alarms += seen.drifted
        found.append([u for batch in drift.batches_ for u in batch["smoothed"]][:12])
    assert alarms <= binom.ppf(0.999, 60, 0.2)
    u = np.array(found)
    assert kstest(u.ravel(), "uniform", alternative="greater").pvalue > 0.001  # never too small
    first, second = u[:, 0::2].ravel(), u[:, 1::2].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(len(first))


# --- when it was ----------------------------------------------------------------------------------------------------


def naive_change_point(similar, batch, last):
    best = (-np.inf, None)
    for s in sorted({b for b in batch if 0 < b <= last}):
        before = [i for i, b in enumerate(batch) if b < s]
        after = [i for i, b in enumerate(batch) if s <= b <= last]
        n, m = len(before), len(after)
        found = sum(similar[i][j] for i in before for j in before) / n**2
        found += sum(similar[i][j] for i in after for j in after) / m**2
        found -= 2 * sum(similar[i][j] for i in before for j in after) / (n * m)
        best = max(best, (found * n * m / (n + m), s), key=lambda one: one[0])
    return best[1]


@pytest.mark.parametrize("last", [1, 3, 6])
def test_a_change_is_where_both_sides_are_most_unlike(last):
    rng = np.random.default_rng(last)
    for _ in range(10):
        batch = np.sort(rng.choice([0, 0, 1, 2, 3, 5, 6], 30))
        batch[:2] = 0
        values = rng.standard_normal((30, 1)) + (batch >= rng.integers(1, 7))[:, None]
        similar = RBF(width=1.0)(values)
        expected = naive_change_point(similar.tolist(), batch.tolist(), last)
        order = rng.permutation(30)  # wherever items are
        assert change_point(similar[None][:, order][:, :, order], batch[order], last) == expected


def test_kernels_count_alike_in_a_date_whatever_their_units():
    batch = np.repeat(np.arange(5), 6)
    sees, blind = RBF(width=1.0)((batch >= 3)[:, None] * 4.0 + vectors(30, 1, d=1)), RBF(width=1.0)(vectors(30, 2))
    assert change_point(np.stack([sees, blind]), batch, 4) == 3
    assert change_point(np.stack([sees, 1e6 * blind]), batch, 4) == 3
    assert change_point(np.stack([np.ones((30, 30)), sees]), batch, 4) == 3  # one that says nothing


def test_where_no_batch_is_left_there_is_no_date():
    assert change_point(np.ones((1, 3, 3)), np.array([0, 0, 7]), 5) is None


@pytest.mark.parametrize("start", [1, 3, 5])
def test_a_change_is_dated_at_its_batch_although_the_one_before_was_unusual(start):
    dates = []
    for seed in range(4):
        drift = Drift(kernel=RBF(width=1.5), random_state=seed).fit(vectors(40, [seed, 0]))
        for i in range(1, 9):
            lifted = 0.6 if i == start - 1 else 3.0 if i >= start else 0.0
            seen = drift.update(vectors(10, [seed, i], lifted))
        dates.append(seen.since)
    assert dates == [start] * 4


def test_at_another_rate_the_change_is_dated_by_what_is_left():
    drift = Drift(kernel=RBF(width=1.5), random_state=0, false_alarm=1e-6).fit(vectors(40))
    for i, shift in enumerate([0, 0, 2, 2, 2, 2, 2]):
        seen = drift.update(vectors(10, i + 1, shift))
    assert seen.since == 3
    early = drift.set_params(false_alarm=0.1)
    assert early._alarm_position()[0] < seen.batch
    assert early.report(n_permutations=19).since == 3
    drift.pool_.batch[:] = 0  # as if all of them were forgotten
    assert early._change_batch() == early.evidence_.change_batch(early._alarm_position()[0])
    assert drift.set_params(false_alarm=1e-300)._change_batch() is None


# --- what is forgotten ------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_drawn_from_old_and_new_alike():
    kept = np.zeros(4)
    pool = pool_of(np.zeros((12, 1)))
    for number in (1, 2, 3):
        pool = grown(pool, np.zeros((4, 1)), number=number)
    rng = np.random.default_rng(0)
    for _ in range(500):
        thin = pool.subsample(10, rng)
        assert thin.compared.sum() == 10
        kept += np.bincount(pool.batch[thin.compared], minlength=4)
    expected = 500 * 10 * np.array([12, 4, 4, 4]) / 24
    assert (np.abs(kept - expected) < 4 * np.sqrt(expected)).all()


def test_a_monitor_forgets_old_and_new_units_alike():
    kept = np.zeros(2)
    for seed in range(40):
        drift = Drift(kernel=RBF(width=1.0), n_permutations=19, memory=10, random_state=seed).fit(vectors(10))
        drift.update(vectors(10, seed))
        kept += np.bincount(drift.pool_.batch[drift.pool_.compared], minlength=2)
    assert kept.sum() == 400
    assert abs(kept[0] - 200) < 40  # 4 deviations of a hypergeometric number: neither the oldest nor the newest


def test_what_is_remembered_is_compared_the_reference_and_the_last_items():
    pool = pool_of(np.zeros((3, 1)))
    for number in (1, 2, 3):
        pool = grown(pool, np.zeros((4, 1)), number=number)
    compared = np.zeros(15, bool)
    compared[[1, 4]] = True
    thin = ReferencePool(
        **{name: getattr(pool, name) for name in ("items", "batch", "place", "name", "unit")}, compared=compared
    )
    assert thin.kept_positions(6).tolist() == [0, 1, 2, 4, 9, 10, 11, 12, 13, 14]


# --- threads ----------------------------------------------------------------------------------------------------------


def test_batches_from_several_threads_are_taken_one_after_the_other():
    drift, failed = Drift(vectors(30), n_permutations=49, memory=40, random_state=0), []

    def send(thread):
        try:
            for i in range(6):
                drift.update(vectors(5, [thread, i]), when=f"{thread}-{i}")
                _ = drift.drifted, drift.typicality(vectors(2, i))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=send, args=(t,)) for t in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(batch["when"] for batch in drift.batches_) == sorted(f"{t}-{i}" for t in range(6) for i in range(6))
    assert drift.evidence_.values == Evidence(batch["smoothed"] for batch in drift.batches_).values
    assert drift.similarities_.shape[1] == drift.pool_.compared.sum() == 40
    assert len(drift.precomputed_) == len(drift.pool_)
    assert drift.report(n_permutations=19).n_batches == 36
