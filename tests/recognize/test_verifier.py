"""Verifier: thresholds, identities and normalized scores, against the formulas tried one pair at a time."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl
from naive.error_rates import equal_error_rate
from naive.verifier import accepted_at, as_norm, level, normalized_pairs
from timelike.recognize import Decision
from timelike.recognize.verifier.thresholds import threshold_at
from timelike.recognize.verifier.trials import Kept, trials


@pytest.fixture(scope="module")
def people():
    """Six people, who differ in pace, eight sequences of unequal lengths each."""
    rng = np.random.default_rng(0)
    paces = np.repeat([2.0, 2.6, 3.4, 4.4, 5.7, 7.4], 8)
    waves = [np.sin(np.arange(rng.integers(20, 40)) / pace + rng.uniform(0, 1)) for pace in paces]
    noisy = [wave[:, None] + 0.3 * rng.standard_normal((len(wave), 2)) for wave in waves]
    return tl.Sequences(noisy, labels=np.repeat(list("abcdef"), 8))


@pytest.fixture(scope="module")
def encoder(people):
    return tl.Rocket(n_features=120, random_state=0).fit(people[::2])


def state(verifier):
    """Everything it is, to compare."""
    return dict(vars(verifier))


def pairs_of(distances, labels):
    first, second = np.triu_indices(len(labels), 1)
    return -distances[first, second], labels[first] == labels[second]


class TestThreshold:
    @pytest.mark.parametrize("rate", [0.01, 0.05, 0.29, 0.5, 0.9])
    def test_as_many_impostors_are_accepted_as_leave_a_further_one_the_rate(self, people, rate):
        metric = tl.DTW(normalize="length")
        gate = tl.Verifier(metric).calibrate(people, false_accept=rate)
        scores, same = pairs_of(metric.pairwise(people), people.labels)
        assert (scores[~same] >= gate.threshold_).sum() == accepted_at(scores[~same].tolist(), rate)
        assert gate.false_accept_ == np.mean(scores[~same] >= gate.threshold_) <= rate
        assert gate.false_reject_ == np.mean(scores[same] < gate.threshold_)
        assert (gate.n_impostors_, gate.n_genuine_) == ((~same).sum(), same.sum())

    def test_equal_scores_are_accepted_all_or_none(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            scores = rng.integers(0, 4, rng.integers(9, 40)).astype(float)
            rate = rng.choice([0.1, 0.2, 0.35])
            found = threshold_at(scores, rate)
            assert (scores >= found).sum() == accepted_at(scores.tolist(), rate)

    def test_identical_sequences_of_two_people_are_never_accepted_if_that_breaks_the_promise(self):
        gate = tl.Verifier("euclidean").calibrate(np.ones((12, 5)), np.repeat([0, 1, 2], 4), false_accept=0.1)
        assert not gate.verify(np.ones(5), np.ones(5)).accepted
        assert gate.false_reject_ == 1.0

    def test_the_rate_holds_for_new_impostors(self):
        """Over many calibrations with few pairs, which a share of the pairs at hand would not keep."""
        rng = np.random.default_rng(1)
        rates = [np.mean(rng.standard_normal(200) >= threshold_at(rng.standard_normal(20), 0.1)) for _ in range(2000)]
        assert abs(np.mean(rates) - 2 / 21) < 0.005  # with two of twenty accepted it would be 3 / 21

    def test_a_rate_that_pairs_are_too_few_to_show_is_refused_with_the_number_that_is_enough(self, people):
        few = people[[0, 1, 8, 9]]
        with pytest.raises(ValueError, match=r"false_accept=0.01: 4 pairs of two identities .* at least 99; .*0\.2"):
            tl.Verifier("dtw").calibrate(few)
        assert tl.Verifier("dtw").calibrate(few, false_accept=0.2).false_accept_ == 0

    def test_the_rate_that_an_error_offers_is_enough(self):
        for count in (1, 4, 12, 44, 98, 1234):
            with pytest.raises(ValueError, match="or more") as refused:
                threshold_at(np.arange(count), 1e-6)
            offered = float(str(refused.value).split("false_accept=")[-1].split()[0])
            assert threshold_at(np.arange(count), offered) > count - 1
            assert offered < 1.2 / (count + 1)

    def test_several_examples_have_a_threshold_of_their_own(self, people):
        """The nearest of many is nearer: with the threshold of one example, more impostors than promised come in."""
        half, rest = people[::2], people[1::2]
        gate = tl.Verifier(tl.DTW(normalize="length"), against="nearest").calibrate(half, false_accept=0.1)
        assert set(gate.thresholds_) == {1, 2, 3}  # there are four of each
        assert gate.thresholds_[3] > gate.thresholds_[1]
        for who in "abcdef":
            gate.enroll(who, rest[rest.labels == who][:3])
        wrong = [gate.accepts(who, half[half.labels != who]) for who in "abcdef"]
        assert {float(some.threshold[0]) for some in wrong} == {gate.thresholds_[3]}
        assert np.mean([some.score >= gate.thresholds_[1] for some in wrong]) > np.mean([s.accepted for s in wrong])

    def test_only_pairs_within_a_stratum_and_from_two_recordings_count(self, people):
        codes = np.unique(people.labels, return_inverse=True)[1]
        within, apart = np.arange(48) % 2, np.arange(48) % 8 // 3
        for size in (1, 2, 3):
            found = trials(codes, size, Kept(within, apart), ordered=True)
            for t, members in enumerate(found.members):
                assert len(set(codes[members])) == 1
                for item in range(48):
                    counts = (
                        item not in members
                        and (within[members] == within[item]).all()
                        and (apart[members] != apart[item]).all()
                    )
                    same = codes[members[0]] == codes[item]
                    assert (found.impostor[t, item], found.genuine[t, item]) == (counts and not same, counts and same)


class TestPairs:
    def test_a_score_is_the_distance_with_the_other_sign(self, people, encoder):
        for metric in (tl.DTW(), encoder):
            gate = tl.Verifier(metric).calibrate(people)
            decision = gate.verify(people[0], people[9])
            assert decision.score == -metric.distance(people[0], people[9])
            assert decision == Decision(decision.score >= gate.threshold_, decision.score, gate.threshold_)

    def test_collections_give_arrays_of_all_pairs(self, people):
        gate = tl.Verifier("dtw").calibrate(people)
        every = gate.verify(people[:3], people[5:9])
        assert every.accepted.shape == every.score.shape == every.threshold.shape == (3, 4)
        one = gate.verify(people[2], people[5])
        assert (every.accepted[2, 0], every.score[2, 0]) == (one.accepted, one.score)
        np.testing.assert_array_equal(gate.verify(people[1], people[5:9]).score, every.score[1])
        np.testing.assert_array_equal(gate.verify(list(people[:3]), list(people[5:9])).score, every.score)

    def test_a_decision_counts_in_an_if_as_what_was_accepted(self, people):
        gate = tl.Verifier("dtw").calibrate(people)
        assert gate.verify(people[0], people[0])
        assert not gate.verify(people[0], people[47])
        with pytest.raises(ValueError, match="12 decisions at once"):
            bool(gate.verify(people[:3], people[5:9]))

    def test_a_metric_that_is_not_symmetric_is_calibrated_both_ways(self, people):
        metric = tl.GDTW(regularization=1.0)
        short = people[::6]
        gate = tl.Verifier(metric).calibrate(short, false_accept=0.1)
        distances, same = metric.pairwise(short), short.labels[:, None] == short.labels
        impostors = -distances[~same]
        assert gate.n_impostors_ == len(impostors)
        assert (impostors >= gate.threshold_).sum() == accepted_at(impostors.tolist(), 0.1)


class TestNormalization:
    @pytest.mark.parametrize("n_top", [2, 5, 1000])
    def test_pairs_of_calibration_are_normalized_without_the_two_who_are_compared(self, people, n_top):
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=n_top).calibrate(people, false_accept=0.05)
        scores = -tl.DTW().pairwise(people)
        pairs = normalized_pairs(scores, people.labels, scores, people.labels, n_top, 0.01 * scores.std())
        impostors = [score for score, same in pairs if not same]
        assert gate.false_accept_ == accepted_at(impostors, 0.05) / len(impostors)
        near = sorted(impostors, reverse=True)[accepted_at(impostors, 0.05)]
        assert gate.threshold_ == pytest.approx(near, rel=1e-9)
        assert gate.false_reject_ == pytest.approx(np.mean([score < gate.threshold_ for score, same in pairs if same]))

    def test_answers_are_normalized_by_the_cohort_that_was_given(self, people):
        known, cohort = people[:32], people[32:]
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=4).calibrate(known, cohort=cohort.replace(labels=None))
        scores, theirs = -tl.DTW().pairwise(known), -tl.DTW().pairwise(known, cohort)
        least = 0.01 * theirs.std()
        found = gate.verify(known[:3], known[20:23]).score
        expected = [[as_norm(scores[i, j], theirs[i], theirs[j], 4, least) for j in (20, 21, 22)] for i in range(3)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        pairs = normalized_pairs(scores, known.labels, theirs, [None] * 16, 4, least)
        impostors = sorted((score for score, same in pairs if not same), reverse=True)
        assert gate.threshold_ == pytest.approx(impostors[accepted_at(impostors, 0.01)], rel=1e-9)

    def test_z_norm_is_by_the_first_alone(self, people):
        gate = tl.Verifier("dtw", normalize="z-norm", n_top=3).calibrate(people[:40], cohort=people[40:])
        score = -tl.DTW().distance(people[3], people[9])
        theirs = -tl.DTW().pairwise(people[3:4], people[40:])[0]
        mean, deviation = level(theirs, 3, gate.least_)
        assert gate.verify(people[3], people[9]).score == pytest.approx((score - mean) / deviation, rel=1e-9)

    def test_an_identity_in_the_cohort_is_not_its_own_rival(self, people):
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=3).calibrate(people)
        gate.enroll("a", people[0])
        others = people[people.labels != "a"]
        sides = (-tl.DTW().pairwise(people[i : i + 1], others)[0] for i in (0, 9))
        expected = as_norm(-tl.DTW().distance(people[0], people[9]), *sides, 3, gate.least_)
        assert gate.accepts("a", people[9]).score == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("against", ["mean", "nearest"])
    def test_every_example_is_normalized_by_itself(self, people, against):
        gate = tl.Verifier("dtw", against=against, normalize="as-norm", n_top=3)
        gate.calibrate(people[:40], cohort=people[40:]).enroll("new", people[2:5])
        probe, theirs = people[20], -tl.DTW().pairwise(people, people[40:])
        scores = [
            as_norm(-tl.DTW().distance(people[i], probe), theirs[i], theirs[20], 3, gate.least_) for i in (2, 3, 4)
        ]
        expected = max(scores) if against == "nearest" else np.mean(scores)
        assert gate.accepts("new", probe).score == pytest.approx(expected, rel=1e-9)

    def test_a_cohort_of_copies_has_no_deviation_and_scores_stay_finite(self, people):
        copies = tl.Sequences([people[47]] * 5)
        gate = tl.Verifier("dtw", normalize="as-norm").calibrate(people[:40], cohort=copies)
        assert gate.least_ > 0
        assert np.isfinite(gate.verify(people[:5], people[:5]).score).all()
        flat = tl.Verifier("euclidean", normalize="as-norm").calibrate(np.ones((20, 4)), np.arange(20) // 2)
        # all of the cohort are alike, so the unit is 1: ½ ((−2 − 0) / 1 + (−2 − (−2)) / 1)
        assert flat.verify(np.ones(4), np.zeros(4)).score == -1.0

    def test_two_identities_are_no_cohort_for_themselves(self, people):
        with pytest.raises(ValueError, match="less than two sequences are left of it: give a cohort of others"):
            tl.Verifier("dtw", normalize="as-norm").calibrate(people[:16], false_accept=0.1)


class TestIdentities:
    @pytest.mark.parametrize("against", ["mean", "nearest", "center"])
    def test_the_score_against_several_examples(self, people, encoder, against):
        gate = tl.Verifier(encoder, against=against).calibrate(people).enroll("a", people[:3])
        vectors = encoder.encode(people) / (encoder.spread_ * np.sqrt(120))
        far = np.linalg.norm(vectors[:3] - vectors[20], axis=1)
        center = np.linalg.norm(vectors[:3].mean(axis=0) - vectors[20])
        expected = {"mean": far.mean(), "nearest": far.min(), "center": center}[against]
        assert gate.accepts("a", people[20]).score == pytest.approx(-expected, rel=1e-5)

    def test_examples_are_one_mean_vector_where_there_are_vectors_and_the_nearest_otherwise(self, people, encoder):
        for metric, usual in ((encoder, "center"), (tl.DTW(), "nearest")):
            scores = [
                tl.Verifier(metric, against=one).calibrate(people).enroll("a", people[:3]).accepts("a", people).score
                for one in (None, usual)
            ]
            np.testing.assert_array_equal(*scores)

    def test_the_mean_of_directions_is_a_direction(self, people):
        metric = tl.CausalEncoder(n_features=8, channels=4, depth=2, reduced=5, max_steps=2, random_state=0).fit(people)
        assert metric.geometry == "cosine"
        gate = tl.Verifier(metric, against="center").calibrate(people).enroll("a", people[:3])
        units = metric.encode(people).astype(float)
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        center = units[:3].mean(axis=0)
        expected = np.linalg.norm(center / np.linalg.norm(center) - units[20])
        assert gate.accepts("a", people[20]).score == pytest.approx(-expected, rel=1e-5)

    @pytest.mark.parametrize("against", ["mean", "nearest", "center"])
    def test_parts_and_order_of_enrolments_change_nothing(self, people, encoder, against, tmp_path):
        gate = tl.Verifier(encoder, against=against, normalize="as-norm", n_top=6).calibrate(people)
        other = tl.Verifier(encoder, against=against, normalize="as-norm", n_top=6).calibrate(people)
        gate.enroll("x", people[:5]).enroll("w", people[8:10])
        other.enroll("w", people[8:10]).enroll("x", people[:2]).enroll("x", people[2:5], extend=True)
        for folder, one in (("one", gate), ("other", other)):
            one.save(tmp_path / folder)
        for name in ("config.json", "model.safetensors"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
        turned = other.forget("x").enroll("x", people[[4, 2, 0, 1, 3]])
        np.testing.assert_array_equal(turned.accepts("x", people).score, gate.accepts("x", people).score)

    def test_one_who_is_forgotten_is_gone_and_comes_back_the_same(self, people):
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", people[:3]).enroll("y", people[9:12])
        before = gate.accepts("x", people).score
        gate.forget("x")
        with pytest.raises(ValueError, match=r"identity='x' is not enrolled \('y' is\)"):
            gate.accepts("x", people[0])
        np.testing.assert_array_equal(gate.enroll("x", people[:3]).accepts("x", people).score, before)

    def test_a_verifier_comes_back_with_everything_and_the_same_bits(self, people, encoder, tmp_path):
        gate = tl.Verifier(encoder, normalize="as-norm", n_top=5).calibrate(people).enroll(7, people[:3])
        gate.calibrate_stream(people)
        gate.save(tmp_path / "gate")
        again = tl.load_model(tmp_path / "gate")
        assert again.threshold_ == gate.threshold_
        np.testing.assert_array_equal(again.accepts(7, people).score, gate.accepts(7, people).score)
        np.testing.assert_array_equal(again.verify(people, people).accepted, gate.verify(people, people).accepted)
        streams = [one.stream(7) for one in (gate, again)]
        for sample in people[5]:
            assert streams[0].push(sample) == streams[1].push(sample)

    def test_who_is_found_is_the_one_farthest_above_the_threshold(self, people):
        gate = tl.Verifier("dtw").calibrate(people, false_accept=0.05)
        for who in "abc":
            gate.enroll(who, people[people.labels == who][:3])
        found = gate.identify(people)
        claims = {who: gate.accepts(who, people) for who in "abc"}
        margins = np.stack([claim.score - claim.threshold for claim in claims.values()])
        for i, who in enumerate(found.identity):
            assert who == (("abc"[margins[:, i].argmax()]) if margins[:, i].max() >= 0 else None)
        assert gate.identify(people[0]).identity == found.identity[0]

    def test_the_examples_are_copies(self, people):
        mine = np.array(people[0])
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", mine)
        before = gate.accepts("x", people[1]).score
        mine[:] = 100
        assert gate.accepts("x", people[1]).score == before


class TestFitting:
    def test_a_metric_that_learns_is_fitted_as_a_copy(self, people):
        metric = tl.Discriminant(tl.Rocket(n_features=60, random_state=0), random_state=0)
        gate = tl.Verifier(metric).fit(people[::2])
        assert not metric.__sklearn_is_fitted__()
        np.testing.assert_array_equal(gate.scores(people), -metric.fit(people[::2]).pairwise(people))

    def test_one_that_has_yet_to_learn_says_so(self, people):
        with pytest.raises(NotFittedError, match=r"metric=Rocket\(\) has yet to learn: call fit\(X, y\) before"):
            tl.Verifier(tl.Rocket()).calibrate(people)
        with pytest.raises(NotFittedError, match=r"call fit\(X, y\) or, if there is nothing to fit, calibrate"):
            tl.Verifier("dtw").enroll("x", people[0])

    @pytest.mark.parametrize("metric", ["dtw", tl.Euclidean(), tl.SoftDTW(gamma=0.1), tl.MSM(), tl.OPW()])
    def test_values_need_no_fit(self, metric, people):
        same = people.resample(20)
        gate = tl.Verifier(metric).calibrate(same).enroll("x", same[:2])
        assert np.isfinite(gate.accepts("x", same).score).all()

    def test_another_fit_forgets_thresholds_and_identities(self, people):
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", people[:2]).fit(people)
        with pytest.raises(NotFittedError, match="no threshold yet"):
            gate.verify(people[0], people[1])
        assert gate.enrolled_ == {}


class TestBadInput:
    def test_no_threshold_before_calibration(self, people):
        gate = tl.Verifier("dtw").fit(people).enroll("x", people[:2])
        for ask in (lambda: gate.verify(people[0], people[1]), lambda: gate.accepts("x", people[0])):
            with pytest.raises(NotFittedError, match=r"no threshold yet: call calibrate\(X, y, false_accept=0.01\)"):
                ask()
        with pytest.raises(NotFittedError, match=r"normalize='as-norm' needs a cohort: call calibrate"):
            tl.Verifier("dtw", normalize="as-norm").fit(people).scores(people)

    @pytest.mark.parametrize(
        ("labels", "more", "words"),
        [
            (np.zeros(48), {}, r"y holds one identity, 0\.0: .* give sequences of others too"),
            (np.arange(48), {}, "y holds no pair of one identity: .* give some identity two sequences"),
            (np.arange(48) // 8, {"within": np.arange(48) // 8}, "no pair of two identities, within and apart"),
            (np.arange(48) // 8, {"apart": np.arange(48) // 8}, "no pair of one identity, within and apart"),
            (np.arange(48) // 8, {"within": [1, 2]}, r"within has shape \(2,\) for 48 sequences"),
            (["a"] * 47 + [1], {}, "y mixes numbers and text"),
            (np.arange(48) // 8, {"false_accept": 0.0}, "false_accept=0.0: expected"),
            (np.arange(48) // 8, {"false_accept": 1.0}, "false_accept=1.0: expected a share between 0 and 1"),
            (np.arange(48) // 8, {"cohort": np.zeros((3, 4, 2))}, "cohort is given and normalize=None"),
        ],
    )
    def test_a_calibration_that_cannot_be_changes_nothing(self, people, labels, more, words):
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", people[:2])
        before = state(gate)
        with pytest.raises((ValueError, TypeError), match=words):
            gate.calibrate(people, labels, **more)
        assert state(gate) == before

    @pytest.mark.parametrize(
        ("identity", "examples", "more", "words"),
        [
            (
                "x",
                np.zeros((3, 5, 2)),
                {},
                "identity='x' is enrolled already, with 2 examples: extend=True adds to them",
            ),
            ("y", np.zeros((0, 5, 2)), {}, "examples is empty"),
            ("y", np.zeros((3, 5, 7)), {}, r"examples has frames of shape \(7,\)"),
            ("y", np.full((1, 5, 2), np.nan), {}, "time step 0"),
            (5, np.zeros((3, 5, 2)), {}, "identity=5: others, such as 'x', are of another kind"),
            (0.5, np.zeros((3, 5, 2)), {}, "identity=0.5: expected a name or a whole number"),
            ("x", np.zeros((3, 5, 2)), {"extend": "yes"}, "extend='yes': expected True or False"),
        ],
    )
    def test_an_enrolment_that_cannot_be_changes_nothing(self, people, identity, examples, more, words):
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", people[:2])
        before = state(gate)
        with pytest.raises((ValueError, TypeError), match=words):
            gate.enroll(identity, examples, **more)
        assert state(gate) == before

    def test_zero_examples_of_a_collection_are_refused(self, people):
        gate = tl.Verifier("dtw").calibrate(people)
        with pytest.raises(ValueError, match="examples holds no sequences"):
            gate.enroll("x", people[:0])
        with pytest.raises(ValueError, match="nobody is enrolled"):
            gate.identify(people[0])

    def test_a_mean_vector_needs_vectors(self, people):
        with pytest.raises(ValueError, match="against='center': DTW makes no vectors"):
            tl.Verifier("dtw", against="center").calibrate(people)

    def test_a_threshold_is_no_threshold_of_other_options(self, people, tmp_path):
        gate = tl.Verifier("dtw").calibrate(people).enroll("x", people[:2])
        with pytest.raises(ValueError, match=r"one of against='nearest', normalize=None.* calibrate\(X, y\) again"):
            gate.set_params(against="mean").accepts("x", people[0])
        assert gate.calibrate(people).accepts("x", people[0]).threshold == gate.thresholds_[2]
        gate.save(tmp_path / "gate")
        assert tl.load_model(tmp_path / "gate").against == "mean"
        with pytest.raises(ValueError, match=r"metric=MSM\(\) was 'dtw' before: fit"):
            gate.set_params(metric=tl.MSM()).calibrate(people)


class TestEvaluation:
    def test_rates_are_those_of_all_pairs(self, people):
        gate = tl.Verifier("dtw").calibrate(people[::2], false_accept=0.05)
        found = gate.evaluate(people[1::2], n_resamples=50, random_state=0)
        scores, same = pairs_of(tl.DTW().pairwise(people[1::2]), people.labels[1::2])
        assert found.equal_error_rate.mean == pytest.approx(equal_error_rate((-scores).tolist(), same.tolist()))
        assert found.false_accept.mean == np.mean(scores[~same] >= gate.threshold_)
        assert found.false_reject.mean == np.mean(scores[same] < gate.threshold_)
        costs = [
            (0.01 * np.mean(scores[same] < t) + 0.99 * np.mean(scores[~same] >= t)) / 0.01 for t in [*scores, np.inf]
        ]
        assert found.minimum_cost.mean == pytest.approx(min(costs))
        assert found.equal_error_rate.low <= found.equal_error_rate.mean <= found.equal_error_rate.high
        assert (found.n_impostors, found.n_genuine, found.n_subjects) == ((~same).sum(), same.sum(), 6)
        assert str(found).startswith("equal error rate 0.")

    @pytest.mark.parametrize("normalize", [None, "z-norm", "as-norm"])
    def test_the_pairs_of_calibration_have_the_rates_of_calibration(self, people, normalize):
        gate = tl.Verifier("dtw", normalize=normalize, n_top=5).calibrate(people, false_accept=0.05)
        found = gate.evaluate(people, n_resamples=2)
        assert (found.false_accept.mean, found.false_reject.mean) == (gate.false_accept_, gate.false_reject_)

    def test_intervals_are_over_subjects(self, people):
        """Sequences drawn one by one would know more than six people tell."""
        gate = tl.Verifier("dtw").fit(people)
        own = gate.evaluate(people, n_resamples=200, random_state=0).equal_error_rate
        each = gate.evaluate(people, groups=np.arange(48), n_resamples=200, random_state=0).equal_error_rate
        assert own.mean == each.mean
        assert own.half > each.half

    def test_only_pairs_that_count_are_judged(self, people):
        gate = tl.Verifier("dtw").fit(people)
        parts = np.arange(48) % 2
        found = gate.evaluate(people, within=parts, n_resamples=5)
        assert found.n_impostors + found.n_genuine == 2 * 24 * 23 // 2
        assert found.false_accept is None
        with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
            gate.evaluate(people, groups=[1, 2, 3])
        with pytest.raises(ValueError, match="y holds one identity"):
            gate.evaluate(people, np.zeros(48))

    @pytest.mark.parametrize("kind", ["det", "roc"])
    def test_it_draws_itself(self, people, kind):
        figure = tl.Verifier("dtw").fit(people).evaluate(people, n_resamples=5).plot(kind)
        assert "accepts" in figure.axes[0].get_xlabel()


def test_what_becomes_of_the_callers_arrays_moves_no_score():
    rng = np.random.default_rng(0)
    X, y, asked = rng.standard_normal((40, 12)), np.arange(40) % 8, rng.standard_normal((2, 12))
    gate = tl.Verifier("dtw", normalize="as-norm").calibrate(X, y, false_accept=0.05)
    before = gate.verify(asked[0], asked[1]).score
    X[:] = 7.0
    assert gate.verify(asked[0], asked[1]).score == before


def test_a_normalized_score_is_the_same_alone_and_among_others():
    rng = np.random.default_rng(0)
    X, y, asked = rng.standard_normal((60, 12)), np.arange(60) % 10, rng.standard_normal((20, 12))
    gate = tl.Verifier("dtw", normalize="as-norm", n_top=20).calibrate(X, y, false_accept=0.05).enroll("a", asked[:3])
    alone = [gate.accepts("a", one).score for one in asked[3:]]
    assert alone == gate.accepts("a", asked[3:]).score.tolist()


def test_no_examples_are_said_to_be_none():
    X, y = np.random.default_rng(0).standard_normal((20, 9)), np.arange(20) % 5
    gate = tl.Verifier("dtw").calibrate(X, y, false_accept=0.1)
    with pytest.raises(ValueError, match="examples is empty"):
        gate.enroll("a", [])
