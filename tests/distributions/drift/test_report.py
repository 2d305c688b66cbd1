"""Reports and streams of Drift: how much changed, which sequences and channels, since when, by independent sums."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

import timelike as tl
from timelike.distributions import RBF, Drift, TwoSample, mmd
from timelike.sequences import Sequences

KERNEL = RBF(width=1.0)


def vectors(n, seed=0, shift=0.0, d=2):
    return np.random.default_rng(seed).standard_normal((n, d)) + np.asarray(shift)


def monitor(reference=None, **options):
    options = {"kernel": KERNEL, "n_permutations": 999, "random_state": 0} | options
    return Drift(**options).fit(vectors(30) if reference is None else reference)


def changed(shift=3.0, **options):
    """Batches of which the last three differ, and what they are."""
    drift = monitor(**options)
    batches = [vectors(6, 10 + i, 0.0 if i < 3 else shift) for i in range(6)]
    for batch in batches:
        drift.update(batch)
    return drift, np.concatenate(batches[3:])


def test_a_strong_change_is_dated_by_its_first_batch():
    drift, _ = changed()
    report = drift.report(n_permutations=99)
    assert report.drifted
    assert (report.since, report.since_when) == (4, "4")
    assert report.n_batches == 6
    assert report.differences.sizes == (30, 18)
    assert str(report).startswith("Drift since batch 4 (p = ")
    assert [batch["when"] for batch in report.batches] == list("123456")


def test_the_effect_is_mmd_of_the_reference_and_what_came_since():
    drift, recent = changed()
    expected = mmd(vectors(30), recent, KERNEL, estimator="unbiased")
    found = drift.report(n_permutations=99).effect
    assert found.mean == pytest.approx(expected, abs=1e-12)
    assert found.low < expected < found.high


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_the_interval_of_an_effect_holds_the_true_one_as_often_as_it_says(shift):
    # of N(0, 1) and N(s, 1), with a Gaussian kernel of width 1: 2/√3 (1 − exp(−s²/6))
    true, n = 2 / np.sqrt(3) * (1 - np.exp(-(shift**2) / 6)), 100
    inside = 0
    for i in range(n):
        drift = monitor(vectors(60, [i, 0], d=1), n_permutations=19)
        drift.update(vectors(40, [i, 1], shift, d=1))
        effect = drift.report().effect
        inside += effect.low <= true <= effect.high
    assert inside >= binom.ppf(0.001, n, 0.93)


def leave_one_out(reference, recent):
    """Mean similarity to the reference less that to the recent ones, of all, each without itself."""
    both = np.concatenate([reference, recent])
    found = []
    for i, one in enumerate(both):
        sides = [
            np.mean([np.exp(-0.5 * ((one - both[j]) ** 2).sum()) for j in side if j != i])
            for side in (range(len(reference)), range(len(reference), len(both)))
        ]
        found.append(sides[0] - sides[1])
    return np.array(found)


@pytest.mark.parametrize("shift", [3.0, 1.5])
def test_sequences_are_listed_by_their_witness_and_told_apart_by_it(shift):
    drift, recent = changed(shift, false_alarm=0.1)
    report = drift.report(n_permutations=99)
    assert report.since == 4
    expected = leave_one_out(vectors(30), recent)
    order = np.argsort(expected[30:])[:10]
    np.testing.assert_allclose([one.witness for one in report.sequences], expected[30:][order])
    assert [(one.batch, one.position) for one in report.sequences] == [(4 + i // 6, i % 6) for i in order]
    assert [one.name for one in report.sequences] == [f"{4 + i // 6}[{i % 6}]" for i in order]
    assert report.separation == pytest.approx(roc_auc_score(np.arange(48) < 30, expected))


def test_the_share_of_the_reference_that_is_as_unlike_counts_itself():
    drift, recent = changed()
    similar = KERNEL(vectors(30))
    typical = (similar.sum(axis=1) - 1) / 29
    for one in drift.report(n_permutations=99).sequences:
        found = KERNEL(recent[[6 * (one.batch - 4) + one.position]], vectors(30)).mean()
        assert one.share == pytest.approx((1 + (typical <= found).sum()) / 31)


def test_separation_is_about_a_half_where_nothing_differs_and_one_where_all_do():
    found = []
    for i in range(30):
        drift = monitor(vectors(40, [i, 0]), n_permutations=19)
        drift.update(vectors(40, [i, 1]))
        found.append(drift.report(n_permutations=19).separation)
    assert 0.35 < np.mean(found) < 0.55  # without itself every item is a little nearer to the other side
    assert changed(50.0)[0].report(n_permutations=19).separation == 1.0


def test_names_come_from_ids_where_there_are_any():
    drift = monitor()
    drift.update(Sequences(vectors(3, 1)[:, None], ids=["anna", "<b>bob</b> & co", "carl"]))
    report = drift.report(n_permutations=19)
    assert {one.name for one in report.sequences} == {"anna", "<b>bob</b> & co", "carl"}
    shown = report._repr_html_()
    assert "&lt;b&gt;bob&lt;/b&gt; &amp; co" in shown
    assert "<b>bob" not in shown


def test_one_sequence_is_reported_by_the_reference_alone():
    drift = monitor()
    drift.update(np.zeros((1, 2)))
    report = drift.report()
    near = KERNEL(np.zeros((1, 2)), vectors(30)).mean()
    typical = (KERNEL(vectors(30)).sum(axis=1) - 1) / 29
    assert report.separation == pytest.approx(max(0.5, (typical > near).mean()))
    within = (KERNEL(vectors(30)).sum() - 30) / (30 * 29)
    assert report.effect.mean == pytest.approx(within + 1 - 2 * near)
    assert any("one of the items, and how much these vary is unknown" in note for note in report.notes)
    assert np.isinf(report.effect.high)
    assert json.loads(report.to_json())["differences"]["effect"]["high"] is None
    assert str(report).startswith("No drift seen in 1 batch (p = 1)")


# --- channels -------------------------------------------------------------------------------------------------------


def test_the_channel_that_changed_comes_first_with_p_values_corrected_by_holm():
    reference, batch = vectors(40, d=4), vectors(30, 1, (0, 0, 2.0, 0), d=4)
    drift = Drift(kernel=RBF(width=2.0), random_state=0).fit(reference)
    drift.update(batch)
    channels = drift.report(n_permutations=199).channels
    assert channels[0].name == "channel 2"
    test = TwoSample(RBF(width=2.0), n_permutations=199, random_state=0)
    alone = [test.test(reference[:, [i]], batch[:, [i]]) for i in range(4)]
    expected = tl.score.holm_correction([one.p_value for one in alone])
    found = {one.name: one for one in channels}
    for i in range(4):
        # groups that are single items are drawn as items are
        assert found[f"channel {i}"].effect == pytest.approx(alone[i].statistic)
        assert found[f"channel {i}"].p_value == pytest.approx(expected[i], abs=0.15)
    assert found["channel 2"].p_value == pytest.approx(4 / 200)
    assert [one.p_value for one in channels] == sorted(one.p_value for one in channels)


def test_channels_that_did_not_change_are_rarely_said_to_have():
    wrong = 0
    for i in range(25):
        drift = monitor(vectors(20, [i, 0], d=3), n_permutations=19)
        drift.update(vectors(15, [i, 1], d=3))
        wrong += drift.report(n_permutations=39).channels[0].p_value <= 0.1
    assert wrong <= binom.ppf(0.999, 25, 0.1)


def test_channels_have_the_names_of_the_reference():
    rng = np.random.default_rng(0)
    reference = Sequences(rng.standard_normal((12, 20, 2)), channel_names=["x", "y"])
    drift = Drift(random_state=0).fit(reference)
    drift.update(rng.standard_normal((4, 20, 2)) * [1, 5])
    channels = drift.report(n_permutations=99).channels
    assert [one.name for one in channels] == ["y", "x"]
    assert channels[0].p_value < 0.05


def test_one_channel_is_not_tested_again_and_too_many_are_noted():
    drift = monitor(vectors(20, d=1))
    drift.update(vectors(5, 1, d=1))
    assert (drift.report().channels, drift.report().notes) == ((), ())
    drift = monitor(vectors(20, d=65))
    drift.update(vectors(5, 1, d=65))
    report = drift.report()
    assert report.channels == ()
    assert report.notes == ("there are 65 channels: single channels are tested only up to 64",)


def test_groups_of_other_sizes_than_those_of_the_reference_are_noted():
    drift = monitor().fit(vectors(30), groups=np.repeat(np.arange(10), 3))
    drift.update(vectors(6, 1), groups=list("aaabbb"))
    assert not drift.report(n_permutations=99).notes
    drift.update(vectors(9, 2), groups=list("cdefghijk"))
    (note,) = drift.report(n_permutations=99).notes
    assert note.startswith("groups have 3 items in one sample and 1.36 in the other")


# --- as text, JSON, HTML and pictures -------------------------------------------------------------------------------


def test_there_is_nothing_to_report_before_a_batch():
    with pytest.raises(
        ValueError, match=r"nothing to report, because there is no batch yet: call update\(batch\) first"
    ):
        monitor().report()


def test_json_has_everything_and_can_be_written(tmp_path):
    drift, _ = changed()
    report = drift.report(n_permutations=19)
    text = report.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == text + "\n"
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert read["since"] == 4
    assert read["differences"]["effect"]["mean"] == report.effect.mean
    assert [one["witness"] for one in read["differences"]["sequences"]] == [one.witness for one in report.sequences]
    assert [one["p_value"] for one in read["differences"]["channels"]] == [one.p_value for one in report.channels]
    assert [one["evidence"] for one in read["batches"]][-1] == pytest.approx(drift.evidence_.value)


def test_the_picture_has_the_evidence_of_every_batch_and_the_alarm():
    drift, _ = changed(false_alarm=0.02)
    (axes,) = drift.report(n_permutations=19).plot().axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.exp(drift.evidence_.values))
    assert axes.lines[1].get_ydata()[0] == pytest.approx(50.0)


# --- streams --------------------------------------------------------------------------------------------------------


def windows(n, seed=0, channels=1):
    return np.random.default_rng(seed).standard_normal((n, 10, channels))


@pytest.mark.parametrize("channels", [1, 2])
def test_a_stream_is_updates_of_windows_that_do_not_overlap(channels):
    signal = windows(12, 1, channels).reshape(120, channels)
    pushed, given = monitor(windows(20, channels=channels)), monitor(windows(20, channels=channels))
    stream = pushed.stream(10, batch_size=4)
    answers = [stream.push(sample[0] if channels == 1 else sample) for sample in signal]
    expected = [given.update(signal[i : i + 40].reshape(4, 10, channels)) for i in (0, 40, 80)]
    assert [i for i, one in enumerate(answers) if one is not None] == [39, 79, 119]
    assert [replace(one, when="") for one in answers if one is not None] == [replace(one, when="") for one in expected]
    assert stream.n_samples == 120
    assert pushed.batches_[1]["when"] == "samples 40 to 80"


def test_a_sample_of_another_shape_or_infinite_is_refused_and_not_counted():
    stream = monitor(windows(20, channels=2)).stream(10, batch_size=2)
    for bad, message in (
        (1.0, r"sample has shape \(1,\): the reference has frames \(2,\)"),
        ([1.0, 2.0, 3.0], "shape"),
        ([[1.0, 2.0]], "shape"),
        ([np.inf, 0.0], "infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            stream.push(bad)
    assert stream.n_samples == 0


def test_missing_samples_go_where_the_kernel_can_take_them():
    signal = windows(4, 3).reshape(40)
    signal[7] = np.nan
    encoded = Drift(random_state=0, n_permutations=99).fit(windows(20))
    stream = encoded.stream(10, batch_size=4)
    answers = [stream.push(sample) for sample in signal]
    assert 0 < answers[-1].batch_p_value <= 1
    plain = monitor(windows(20))
    stream = plain.stream(10, batch_size=4)
    with pytest.raises(ValueError, match="missing"):
        [stream.push(sample) for sample in signal]
    assert plain.batches_ == []
    answers = [stream.push(sample) for sample in windows(4, 4).reshape(40)]  # the next batch begins anew
    assert answers[-1].batch == 1
    assert stream.n_samples == 80


def test_a_stream_of_a_reference_with_groups_is_refused_at_once():
    drift = monitor().fit(windows(20), groups=np.arange(20) // 2)
    with pytest.raises(ValueError, match="the reference has groups"):
        drift.stream(10)


@pytest.mark.parametrize("options", [{"window": 0}, {"window": 2.5}, {"window": 5, "batch_size": 0}])
def test_windows_and_batches_are_whole_numbers(options):
    with pytest.raises((ValueError, TypeError), match="window|batch"):
        monitor(windows(20)).stream(**options)
