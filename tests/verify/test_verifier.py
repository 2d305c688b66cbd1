"""Verifier: thresholds, identities and normalized scores, against the formulas tried one pair at a time."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl
from naive.error_rates import equal_error_rate
from naive.verifier import accepted_at, as_norm, level, normalized_pairs, share_that_keeps
from timelike.score import CalibrationWarning
from timelike.verify import Decision
from timelike.verify.trials import PairFilter, make_trials

# six people can promise little, which is not what most tests are about
pytestmark = pytest.mark.filterwarnings("ignore::timelike.score.CalibrationWarning")


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
    return tl.Rocket(n_features=120, causal=True, random_state=0).fit(people[::2])


def state(verifier):
    """Everything it is, to compare."""
    return dict(vars(verifier))


def pairs_of(distances, labels):
    first, second = np.triu_indices(len(labels), 1)
    return -distances[first, second], labels[first] == labels[second]


def trials_of(gate, people, metric):
    """Scores of all pairs of two identities, and whose they are."""
    scores, (first, second) = -metric.pairwise(people), np.triu_indices(len(people), 1)
    both = zip(scores[first, second].tolist(), people.labels[first], people.labels[second], strict=True)
    return [(score, str(a), str(b)) for score, a, b in both if a != b]


class TestThreshold:
    @pytest.mark.parametrize("rate", [0.25, 0.3, 0.5, 0.9])
    def test_three_in_five_ways_to_pair_people_up_accept_no_more_than_they_may(self, people, rate):
        """All 15 pairings of six people, enumerated; the drawn ones are close to them."""
        metric = tl.DTW(normalize="length")
        gate = tl.Verifier(metric).calibrate(people, false_accept=rate)
        tried = trials_of(gate, people, metric)
        lower = max(score for score, _, _ in tried if score < gate.threshold_)
        assert share_that_keeps(tried, gate.threshold_, rate) > 0.56
        assert share_that_keeps(tried, lower, rate) < 0.64
        scores, same = pairs_of(metric.pairwise(people), people.labels)
        assert gate.false_accept_ == np.mean(scores[~same] >= gate.threshold_) <= rate
        assert gate.false_reject_ == np.mean(scores[same] < gate.threshold_)
        assert (gate.n_impostors_, gate.n_genuine_, gate.n_identities_) == ((~same).sum(), same.sum(), 6)
        assert gate.promised_rate_ == rate

    def test_identical_sequences_of_two_people_are_never_accepted_if_that_breaks_the_promise(self):
        gate = tl.Verifier("euclidean").calibrate(np.ones((12, 5)), np.repeat([0, 1, 2], 4), false_accept=0.1)
        assert not gate.verify(np.ones(5), np.ones(5)).accepted
        assert gate.false_reject_ == 1.0

    def test_too_few_people_are_told_what_they_promise(self, people):
        few = people[[0, 1, 8, 9]]
        words = (
            r"false_accept=0.01 cannot be promised: 2 identities make 1 impostor pair that share no identity, and 99 are "
            r"needed. The threshold .* only 0.5 is promised; give more identities, 198 or more, or false_accept=0.5"
        )
        with pytest.warns(CalibrationWarning, match=words):
            gate = tl.Verifier("dtw").calibrate(few)
        assert (gate.promised_rate_, gate.false_accept_) == (0.5, 0)
        assert gate.threshold_ > -tl.DTW().pairwise(few[:2], few[2:]).min()  # above every impostor
        assert tl.Verifier("dtw").calibrate(few, false_accept=0.5).promised_rate_ == 0.5

    def test_with_too_few_people_every_pair_of_them_keeps_the_rate_by_itself(self, people):
        metric = tl.DTW(normalize="length")
        gate = tl.Verifier(metric).calibrate(people, false_accept=0.1)
        by_pair = {}
        for score, a, b in trials_of(gate, people, metric):
            by_pair.setdefault((a, b), []).append(score)
        counts = {pair: sum(score >= gate.threshold_ for score in some) for pair, some in by_pair.items()}
        most = max(by_pair, key=lambda pair: sorted(by_pair[pair])[-1 - accepted_at(by_pair[pair], 0.1)])
        assert counts[most] == max(counts.values()) == accepted_at(by_pair[most], 0.1) > 0
        assert gate.promised_rate_ == pytest.approx(1 / 4 + 3 / 4 * max(counts.values()) / 64)

    def test_a_metric_that_was_fitted_on_the_very_people_is_told(self, people):
        metric = tl.Discriminant(tl.Rocket(n_features=60, random_state=0), random_state=0)
        for given in (metric, tl.Fused(["dtw", metric])):
            words = (
                r"y holds 'c': 1 of the 3 identities have the names of classes .* If these are the same identities, it .* "
                r"If they are others with the same names"
            )
            with pytest.warns(CalibrationWarning, match=words):
                tl.Verifier(given).fit(people[:24]).calibrate(people[16:40], false_accept=0.4)

    def test_many_people_of_whom_few_pairs_count_are_told_of_the_pairs(self):
        """300 people with passwords: two people of each, but one with everybody else, whose pairs all share somebody."""
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((600, 4)), np.repeat(np.arange(300), 2)
        within = np.where(y < 20, y // 2, 9 + y)
        words = (
            r"false_accept=0.05 cannot be promised: 300 identities make 10 impostor pairs that share no identity, and "
            r"19 are needed \(`within` and `across` leave most pairs out\).* give pairs of more different identities, or"
        )
        with pytest.warns(CalibrationWarning, match=words):
            tl.Verifier("euclidean").calibrate(X, y, within=within, false_accept=0.05)

    def test_thresholds_do_not_depend_on_the_order_or_the_names_of_people(self, people):
        order = np.random.default_rng(0).permutation(len(people))
        rates = [tl.Verifier("dtw").calibrate(some, false_accept=0.3).false_accept_ for some in (people, people[order])]
        assert rates[0] == pytest.approx(rates[1], abs=0.02)

    def test_several_examples_have_a_threshold_of_their_own(self, people):
        """The nearest of many is nearer: with the threshold of one example, more impostors than promised come in."""
        half, rest = people[::2], people[1::2]
        gate = tl.Verifier(tl.DTW(normalize="length"), aggregation="nearest").calibrate(half, false_accept=0.3)
        assert set(gate.thresholds_) == {1, 2, 3}  # there are four of each
        assert gate.thresholds_[3] > gate.thresholds_[1]
        for who in "abcdef":
            gate.enroll(rest[rest.labels == who][:3], who)
        wrong = [gate.accepts(half[half.labels != who], who) for who in "abcdef"]
        assert {float(some.threshold[0]) for some in wrong} == {gate.thresholds_[3]}
        assert np.mean([some.score >= gate.thresholds_[1] for some in wrong]) > np.mean([s.accepted for s in wrong])

    @pytest.mark.parametrize(("n_each", "n_enrolled"), [(2, (4, 12)), (5, (4, 7))])
    def test_more_examples_than_calibration_had_let_no_more_impostors_in(self, n_each, n_enrolled):
        """200 people each; impostors over all draws, whose rate has a standard error of about .006."""
        accepted = {n: [] for n in n_enrolled}
        for seed in range(8):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((200, 1, 8)) + rng.standard_normal((200, n_each, 8))
            gate = tl.Verifier("euclidean").calibrate(
                X.reshape(-1, 8), np.repeat(np.arange(200), n_each), false_accept=0.05
            )
            for n, found in accepted.items():
                for who in range(12):
                    gate.enroll(rng.standard_normal((1, 8)) + rng.standard_normal((n, 8)), who)
                    found.append(gate.accepts(np.sqrt(2) * rng.standard_normal((100, 8)), who).accepted.mean())
                    gate.forget(who)
        assert all(0.02 < np.mean(found) < 0.055 for found in accepted.values())

    @pytest.mark.parametrize("against", ["nearest", "center", "mean"])
    def test_so_many_examples_are_compared_as_a_threshold_is_known_for(self, people, encoder, against):
        given, rest = people[::2], people[1::2]
        gate = tl.Verifier(encoder, aggregation=against).calibrate(given, false_accept=0.4)
        assert max(gate.thresholds_) == 3
        own, query = rest[rest.labels == "a"], given[9]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gate.enroll(own[:3], "a").enroll(own[3:], "a", extend=True)
        assert [f"{one.message}"[:41] for one in caught] == (
            [] if against == "mean" else ["identity='a' has 4 examples, and there ar"]
        )
        found = gate.accepts(query, "a")
        assert found.threshold == gate.thresholds_[3]
        rows = [[0, 1, 2, 3]] if against == "mean" else [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
        alone = [gate.enroll(own[some], f"{some}").accepts(query, f"{some}").score for some in rows]
        assert found.score in alone
        again = (
            tl.Verifier(encoder, aggregation=against).calibrate(given, false_accept=0.4).enroll(own[[3, 1, 0, 2]], "a")
        )
        assert again.accepts(query, "a").score == found.score  # whatever their order
        if against == "nearest":
            two = tl.Verifier("euclidean").calibrate(np.eye(12), np.repeat(range(4), 3), false_accept=0.5)
            two.thresholds_ = {1: 0.0, 3: 3.0, 5: 5.0}
            assert two.enroll(np.eye(12)[:4], "x").accepts(np.zeros(12), "x").threshold == 5.0  # of the next larger

    def test_only_pairs_within_a_stratum_and_from_two_recordings_count(self, people):
        codes = np.unique(people.labels, return_inverse=True)[1]
        within, across = np.arange(48) % 2, np.arange(48) % 8 // 3
        for size in (1, 2, 3):
            found = make_trials(codes, size, PairFilter(within, across), ordered=True)
            for t, members in enumerate(found.members):
                assert len(set(codes[members])) == 1
                for item in range(48):
                    counts = (
                        item not in members
                        and (within[members] == within[item]).all()
                        and (across[members] != across[item]).all()
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
        with pytest.raises(ValueError, match="12 decisions have no single truth value"):
            bool(gate.verify(people[:3], people[5:9]))

    def test_a_metric_that_is_not_symmetric_is_calibrated_both_ways(self, people):
        metric = tl.GDTW(regularization=1.0)
        short = people[::6]
        gate = tl.Verifier(metric).calibrate(short, false_accept=0.5)
        scores, who = -metric.pairwise(short), short.labels
        tried = [(scores[i, j], who[i], who[j]) for i, j in np.ndindex(8, 8) if who[i] != who[j]]
        assert gate.n_impostors_ == len(tried)
        lower = max(score for score, _, _ in tried if score < gate.threshold_)
        assert share_that_keeps(tried, gate.threshold_, 0.5) > 0.56
        assert share_that_keeps(tried, lower, 0.5) < 0.64


class TestNormalization:
    @pytest.mark.parametrize("n_top", [2, 5, 1000])
    def test_pairs_of_calibration_are_normalized_without_the_two_who_are_compared(self, people, n_top):
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=n_top).calibrate(people, false_accept=0.01)
        scores = -tl.DTW().pairwise(people)
        pairs = normalized_pairs(scores, people.labels, scores, people.labels, n_top, 0.01 * scores.std())
        impostors = [score for score, same in pairs if not same]
        assert gate.false_accept_ == 0  # 64 trials of two people show no 0.01: the threshold is above all impostors
        assert gate.threshold_ == pytest.approx(max(impostors), rel=1e-9)
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
        assert gate.threshold_ == pytest.approx(max(score for score, same in pairs if not same), rel=1e-9)

    def test_z_norm_is_by_the_first_alone(self, people):
        gate = tl.Verifier("dtw", normalize="z-norm", n_top=3).calibrate(people[:40], cohort=people[40:])
        score = -tl.DTW().distance(people[3], people[9])
        theirs = -tl.DTW().pairwise(people[3:4], people[40:])[0]
        mean, deviation = level(theirs, 3, gate.min_deviation_)
        assert gate.verify(people[3], people[9]).score == pytest.approx((score - mean) / deviation, rel=1e-9)

    def test_an_identity_in_the_cohort_is_not_its_own_rival(self, people):
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=3).calibrate(people)
        gate.enroll(people[0], "a")
        others = people[people.labels != "a"]
        sides = (-tl.DTW().pairwise(people[i : i + 1], others)[0] for i in (0, 9))
        expected = as_norm(-tl.DTW().distance(people[0], people[9]), *sides, 3, gate.min_deviation_)
        assert gate.accepts(people[9], "a").score == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("against", ["mean", "nearest"])
    def test_every_example_is_normalized_by_itself(self, people, against):
        gate = tl.Verifier("dtw", aggregation=against, normalize="as-norm", n_top=3)
        gate.calibrate(people[:40], cohort=people[40:]).enroll(people[2:5], "new")
        probe, theirs = people[20], -tl.DTW().pairwise(people, people[40:])
        scores = [
            as_norm(-tl.DTW().distance(people[i], probe), theirs[i], theirs[20], 3, gate.min_deviation_)
            for i in (2, 3, 4)
        ]
        expected = max(scores) if against == "nearest" else np.mean(scores)
        assert gate.accepts(probe, "new").score == pytest.approx(expected, rel=1e-9)

    def test_a_cohort_of_copies_has_no_deviation_and_scores_stay_finite(self, people):
        copies = tl.Sequences([people[47]] * 5)
        gate = tl.Verifier("dtw", normalize="as-norm").calibrate(people[:40], cohort=copies)
        assert gate.min_deviation_ > 0
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
        gate = tl.Verifier(encoder, aggregation=against).calibrate(people).enroll(people[:3], "a")
        vectors = encoder.encode(people) / (encoder.feature_deviations_ * np.sqrt(120))
        far = np.linalg.norm(vectors[:3] - vectors[20], axis=1)
        center = np.linalg.norm(vectors[:3].mean(axis=0) - vectors[20])
        expected = {"mean": far.mean(), "nearest": far.min(), "center": center}[against]
        assert gate.accepts(people[20], "a").score == pytest.approx(-expected, rel=1e-5)

    def test_examples_are_one_mean_vector_where_there_are_vectors_and_the_nearest_otherwise(self, people, encoder):
        for metric, usual in ((encoder, "center"), (tl.DTW(), "nearest")):
            scores = [
                tl.Verifier(metric, aggregation=one)
                .calibrate(people)
                .enroll(people[:3], "a")
                .accepts(people, "a")
                .score
                for one in (None, usual)
            ]
            np.testing.assert_array_equal(*scores)

    @pytest.mark.learn
    def test_the_mean_of_directions_is_a_direction(self, people):
        metric = tl.CausalEncoder(n_features=8, channels=4, depth=2, reduced_size=5, max_steps=2, random_state=0).fit(
            people
        )
        assert metric.geometry == "cosine"
        gate = tl.Verifier(metric, aggregation="center").calibrate(people).enroll(people[:3], "a")
        units = metric.encode(people).astype(float)
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        center = units[:3].mean(axis=0)
        expected = np.linalg.norm(center / np.linalg.norm(center) - units[20])
        assert gate.accepts(people[20], "a").score == pytest.approx(-expected, rel=1e-5)

    @pytest.mark.parametrize("against", ["mean", "nearest", "center"])
    def test_parts_and_order_of_enrolments_change_nothing(self, people, encoder, against, tmp_path):
        gate = tl.Verifier(encoder, aggregation=against, normalize="as-norm", n_top=6).calibrate(people)
        other = tl.Verifier(encoder, aggregation=against, normalize="as-norm", n_top=6).calibrate(people)
        gate.enroll(people[:5], "x").enroll(people[8:10], "w")
        other.enroll(people[8:10], "w").enroll(people[:2], "x").enroll(people[2:5], "x", extend=True)
        for folder, one in (("one", gate), ("other", other)):
            one.save(tmp_path / folder)
        for name in ("config.json", "model.safetensors"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
        turned = other.forget("x").enroll(people[[4, 2, 0, 1, 3]], "x")
        np.testing.assert_array_equal(turned.accepts(people, "x").score, gate.accepts(people, "x").score)

    def test_one_who_is_forgotten_is_gone_and_comes_back_the_same(self, people):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:3], "x").enroll(people[9:12], "y")
        before = gate.accepts(people, "x").score
        gate.forget("x")
        with pytest.raises(ValueError, match=r"identity='x' is not enrolled \('y' is\)"):
            gate.accepts(people[0], "x")
        np.testing.assert_array_equal(gate.enroll(people[:3], "x").accepts(people, "x").score, before)

    def test_a_verifier_comes_back_with_everything_and_the_same_bits(self, people, encoder, tmp_path):
        gate = tl.Verifier(encoder, normalize="as-norm", n_top=5).calibrate(people).enroll(people[:3], 7)
        gate.calibrate_stream(people)
        gate.save(tmp_path / "gate")
        again = tl.load_model(tmp_path / "gate")
        assert again.threshold_ == gate.threshold_
        np.testing.assert_array_equal(again.accepts(people, 7).score, gate.accepts(people, 7).score)
        np.testing.assert_array_equal(again.verify(people, people).accepted, gate.verify(people, people).accepted)
        streams = [one.stream(7) for one in (gate, again)]
        for sample in people[5]:
            assert streams[0].push(sample) == streams[1].push(sample)

    def test_who_is_found_is_the_one_farthest_above_the_threshold(self, people):
        gate = tl.Verifier("dtw").calibrate(people, false_accept=0.05)
        for who in "abc":
            gate.enroll(people[people.labels == who][:3], who)
        found = gate.identify(people)
        claims = {who: gate.accepts(people, who) for who in "abc"}
        margins = np.stack([claim.score - claim.threshold for claim in claims.values()])
        for i, who in enumerate(found.identity):
            assert who == (("abc"[margins[:, i].argmax()]) if margins[:, i].max() >= 0 else None)
        assert gate.identify(people[0]).identity == found.identity[0]

    def test_a_claim_that_is_accepted_says_whose_it_is(self, people):
        gate = tl.Verifier(tl.DTW(normalize="length")).calibrate(people, false_accept=0.4)
        gate.enroll(people[:3], "a").enroll(people[8:10], "bb")
        claim = gate.accepts(people[0], "a")
        assert (claim.accepted, claim.identity) == (True, "a")
        assert gate.accepts(people[47], "a").identity is None
        every = gate.accepts(people, "bb")
        assert every.identity.tolist() == ["bb" if yes else None for yes in every.accepted]
        assert gate.verify(people[0], people[0]).identity is None

    def test_the_sequences_come_first_and_a_swap_says_so(self, people):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:3], "a")
        with pytest.raises(TypeError, match=r"enroll\(X, identity\): the sequences come first, .* 'Lee' came first"):
            gate.enroll("Lee", people[:2])
        with pytest.raises(TypeError, match=r"accepts\(x, identity\): the sequences come first"):
            gate.accepts("a", people[0])
        with pytest.raises(TypeError, match="'3' came first"):
            gate.accepts(np.int64(3), people[0])

    def test_threads_lose_no_enrolment_and_see_whole_states(self, people):
        """While others enroll, forget and calibrate, every answer is one of a state that there was."""
        gate = tl.Verifier("dtw", normalize="as-norm", n_top=4).calibrate(people).enroll(people[:3], "a")
        expected = gate.accepts(people[:4], "a").score

        def work(i):
            gate.enroll(people[i : i + 2], f"new{i}").enroll(people[i : i + 1], f"gone{i}")
            seen = gate.accepts(people[:4], "a").score
            gate.identify(people[0])
            gate.forget(f"gone{i}")
            if i % 8 == 0:
                with pytest.raises(ValueError, match="one identity"):
                    gate.calibrate(people, np.zeros(48))
                gate.calibrate(people)
            return np.array_equal(seen, expected)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(32)))
        assert set(gate.enrolled_) == {"a", *(f"new{i}" for i in range(32))} == set(gate.templates_)

    def test_the_examples_are_copies(self, people):
        mine = np.array(people[0])
        gate = tl.Verifier("dtw").calibrate(people).enroll(mine, "x")
        before = gate.accepts(people[1], "x").score
        mine[:] = 100
        assert gate.accepts(people[1], "x").score == before


class TestFitting:
    def test_a_metric_that_learns_is_fitted_as_a_copy(self, people):
        metric = tl.Discriminant(tl.Rocket(n_features=60, random_state=0), random_state=0)
        gate = tl.Verifier(metric).fit(people[::2])
        assert not metric.__sklearn_is_fitted__()
        np.testing.assert_array_equal(gate.scores(people), -metric.fit(people[::2]).pairwise(people))

    def test_one_that_has_yet_to_learn_says_so(self, people):
        with pytest.raises(NotFittedError, match=r"metric=Rocket\(\) is not fitted yet: call fit\(X, y\) before"):
            tl.Verifier(tl.Rocket()).calibrate(people)
        with pytest.raises(NotFittedError, match=r"call fit\(X, y\) or, if there is nothing to fit, calibrate"):
            tl.Verifier("dtw").enroll(people[0], "x")

    @pytest.mark.parametrize("metric", ["dtw", tl.Euclidean(), tl.SoftDTW(gamma=0.1), tl.MSM(), tl.OPW()])
    def test_values_need_no_fit(self, metric, people):
        same = people.resample(20)
        gate = tl.Verifier(metric).calibrate(same).enroll(same[:2], "x")
        assert np.isfinite(gate.accepts(same, "x").score).all()

    def test_another_fit_forgets_thresholds_and_identities(self, people):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:2], "x").fit(people)
        with pytest.raises(NotFittedError, match="no threshold yet"):
            gate.verify(people[0], people[1])
        assert gate.enrolled_ == {}


class TestBadInput:
    def test_no_threshold_before_calibration(self, people):
        gate = tl.Verifier("dtw").fit(people).enroll(people[:2], "x")
        for ask in (lambda: gate.verify(people[0], people[1]), lambda: gate.accepts(people[0], "x")):
            with pytest.raises(NotFittedError, match=r"no threshold yet: call calibrate\(X, y, false_accept=0.01\)"):
                ask()
        with pytest.raises(NotFittedError, match=r"normalize='as-norm' needs a cohort: call calibrate"):
            tl.Verifier("dtw", normalize="as-norm").fit(people).scores(people)

    @pytest.mark.parametrize(
        ("labels", "more", "words"),
        [
            (np.zeros(48), {}, r"y holds one identity, 0\.0: .* give sequences of others too"),
            (np.arange(48), {}, "y holds no pair of one identity: .* give some identity two sequences"),
            (np.arange(48) // 8, {"within": np.arange(48) // 8}, "no pair of two identities, within and across"),
            (np.arange(48) // 8, {"across": np.arange(48) // 8}, "no pair of one identity, within and across"),
            (np.arange(48) // 8, {"within": [1, 2]}, r"within has shape \(2,\) for 48 sequences"),
            (["a"] * 47 + [1], {}, "y mixes numbers and text"),
            (np.arange(48) // 8, {"false_accept": 0.0}, "false_accept=0.0: expected"),
            (np.arange(48) // 8, {"false_accept": 1.0}, "false_accept=1.0: expected a fraction between 0 and 1"),
            (np.arange(48) // 8, {"cohort": np.zeros((3, 4, 2))}, "cohort has no effect with normalize=None"),
        ],
    )
    def test_a_calibration_that_cannot_be_changes_nothing(self, people, labels, more, words):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:2], "x")
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
            ("y", np.zeros((0, 5, 2)), {}, "X is empty"),
            ("y", np.zeros((3, 5, 7)), {}, r"X has frames of shape \(7,\)"),
            ("y", np.full((1, 5, 2), np.nan), {}, "time step 0"),
            (5, np.zeros((3, 5, 2)), {}, "identity=5: others, such as 'x', are of another kind"),
            (0.5, np.zeros((3, 5, 2)), {}, "identity=0.5: expected a name or a whole number"),
            ("x", np.zeros((3, 5, 2)), {"extend": "yes"}, "extend='yes': expected True or False"),
        ],
    )
    def test_an_enrolment_that_cannot_be_changes_nothing(self, people, identity, examples, more, words):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:2], "x")
        before = state(gate)
        with pytest.raises((ValueError, TypeError), match=words):
            gate.enroll(examples, identity, **more)
        assert state(gate) == before

    def test_zero_examples_of_a_collection_are_refused(self, people):
        gate = tl.Verifier("dtw").calibrate(people)
        with pytest.raises(ValueError, match="X holds no sequences"):
            gate.enroll(people[:0], "x")
        with pytest.raises(ValueError, match="nobody is enrolled"):
            gate.identify(people[0])

    def test_a_mean_vector_needs_vectors(self, people):
        with pytest.raises(ValueError, match="aggregation='center': DTW has no vectors"):
            tl.Verifier("dtw", aggregation="center").calibrate(people)

    def test_a_threshold_is_no_threshold_of_other_options(self, people, tmp_path):
        gate = tl.Verifier("dtw").calibrate(people).enroll(people[:2], "x")
        with pytest.raises(ValueError, match=r"with aggregation='nearest', normalize=None.* calibrate\(X, y\) again"):
            gate.set_params(aggregation="mean").accepts(people[0], "x")
        assert gate.calibrate(people).accepts(people[0], "x").threshold == gate.thresholds_[2]
        gate.save(tmp_path / "gate")
        assert tl.load_model(tmp_path / "gate").aggregation == "mean"
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
        assert own.half_width > each.half_width

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
    gate = tl.Verifier("dtw", normalize="as-norm", n_top=20).calibrate(X, y, false_accept=0.05).enroll(asked[:3], "a")
    alone = [gate.accepts(one, "a").score for one in asked[3:]]
    assert alone == gate.accepts(asked[3:], "a").score.tolist()


def test_no_examples_are_said_to_be_none():
    X, y = np.random.default_rng(0).standard_normal((20, 9)), np.arange(20) % 5
    gate = tl.Verifier("dtw").calibrate(X, y, false_accept=0.1)
    with pytest.raises(ValueError, match="X is empty"):
        gate.enroll([], "a")


def test_enrolling_needs_one_identity_a_call():
    X = tl.Sequences([[0.0, 1.0, i] for i in range(6)], labels=["anna", "ben"] * 3)
    gate = tl.Verifier("dtw").fit(X)
    with pytest.raises(
        TypeError, match=r"^Verifier.enroll\(X, identity\): identity is missing; expected a name such as"
    ):
        gate.enroll(X[:3])
    with pytest.raises(TypeError, match=r"identity holds 6 entries: expected one .* a call; enroll several in a loop"):
        gate.enroll(X, X.labels)


def test_a_call_without_its_arguments_names_the_verifier_and_what_to_pass():
    X = np.random.default_rng(0).standard_normal((20, 9))
    gate = tl.Verifier("dtw").calibrate(X, np.arange(20) % 5, false_accept=0.4).enroll(X[:2], "anna")
    with pytest.raises(
        TypeError, match=r"^Verifier\.accepts\(x, identity\): identity is missing; expected a name such as"
    ):
        gate.accepts(X[0])
    for verb, argument in {"accepts": "x", "enroll": "X", "identify": "x", "verify": "x", "forget": "identity",
                           "stream": "identity", "scores": "X", "calibrate": "X", "calibrate_stream": "X"}.items():  # fmt: skip
        with pytest.raises(TypeError, match=rf"^Verifier\.{verb}\(\) missing .*'{argument}'"):
            getattr(gate, verb)()


def test_the_rate_is_promised_over_all_people_and_for_one_kind_of_them_by_that_kind_alone():
    """As `calibrate` says. Three in four people lie far apart and one in four near each other; 400 new ones of each."""
    rng = np.random.default_rng(0)

    def sequences(n, spread):
        return rng.normal(scale=spread, size=(n, 1, 1)).repeat(2, 1) + 0.1 * rng.standard_normal((n, 2, 1))

    def accepted(gate, people):
        found = gate.verify(people, people).accepted
        return found[~np.eye(len(people), dtype=bool)].mean()

    wide, close, alone = sequences(75, 20.0), sequences(25, 1.0), sequences(75, 1.0)
    together = np.concatenate([wide, close]).repeat(2, 0)  # nothing is genuine without two of each
    everybody = tl.Verifier(tl.Euclidean()).calibrate(together, np.arange(100).repeat(2), false_accept=0.1)
    own = tl.Verifier(tl.Euclidean()).calibrate(alone.repeat(2, 0), np.arange(75).repeat(2), false_accept=0.1)
    new_close = sequences(400, 1.0)
    mixture = np.concatenate([sequences(300, 20.0), new_close[:100]])
    assert accepted(everybody, mixture) <= 0.1
    assert accepted(everybody, new_close) > 0.5
    assert accepted(own, new_close) <= 0.1


def test_labels_in_the_place_of_sequences_look_swapped():
    X = tl.Sequences([[0.0, 1.0, i] for i in range(6)], labels=["anna", "ben"] * 3)
    gate = tl.Verifier("dtw").fit(X)
    for call in (tl.Neighbors().fit, tl.Rocket().fit, gate.calibrate):
        for labels in (X.labels, X.labels.tolist(), ["q" * 10_000] * 6):
            with pytest.raises(TypeError, match=r"X holds text, .* are they swapped\?") as told:
                call(labels, X)
            assert len(str(told.value)) < 300
