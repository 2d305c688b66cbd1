"""Spring with bounds of length: against looking at every stretch, when it reports, shapes, recordings, saving."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import timelike as tl
from naive import matching
from tampering import read_config, write_config
from timelike.align.matching import spring as springs
from timelike.align.matching.bounded_search import BoundedMatch, PendingMatches

few_values = st.integers(-2, 2).map(float)  # sums are exact, and ties are common


@st.composite
def problems(draw, longest_stream=13):
    channels = draw(st.integers(1, 2))
    query = draw(arrays(np.float64, (draw(st.integers(1, 4)), channels), elements=few_values))
    stream = draw(arrays(np.float64, (draw(st.integers(1, longest_stream)), channels), elements=few_values))
    shortest = draw(st.integers(1, 4))
    return query, stream, (shortest, draw(st.integers(shortest, 6)))


def watched(query, stream, threshold, **options):
    """Matches by pushing, each with the number of samples seen when it was reported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lengths=.* are samples")  # less than half of the query is meant here
        spring = tl.align.Spring(query, threshold=threshold, **options)
    found = [(*match, spring.n_seen) for sample in stream for match in spring.push(sample)]
    return found, [tuple(match) for match in spring.flush()]


@settings(max_examples=80)
@given(problems(), st.integers(0, 10).map(float), st.sampled_from(["sqeuclidean", "manhattan"]))
def test_matches_are_the_nearest_stretches_that_do_not_overlap(problem, threshold, cost):
    query, stream, lengths = problem
    found, rest = watched(query, stream, threshold, cost=cost, lengths=lengths)
    near = matching.near_stretches(query, stream, threshold, *lengths, cost=cost)
    assert sorted([match[:3] for match in found] + rest) == matching.without_overlaps(near)


@settings(max_examples=60)
@given(problems(11), st.integers(0, 6).map(float))
def test_a_match_is_reported_as_soon_as_nothing_can_change_it(problem, threshold):
    query, stream, lengths = problem
    found, _ = watched(query, stream, threshold, lengths=lengths)
    reported = {}
    for seen in range(1, len(stream) + 1):
        near = matching.without_containing(matching.near_stretches(query, stream[:seen], threshold, *lengths))
        for one in near:
            if matching.certain(one, near, seen, lengths[1]):
                reported.setdefault((-one[2], one[1], one[0]), seen)
    assert {match[:3]: match[3] for match in found} == reported


def test_any_stretches_are_decided_as_by_looking_at_all_of_them():
    rng = np.random.default_rng(0)
    for _ in range(150):
        n, shortest, density = int(rng.integers(4, 14)), int(rng.integers(1, 4)), rng.random()
        longest = int(rng.integers(shortest, 7))
        every = [  # distances of few values, so that many are equal
            [
                BoundedMatch(stop - length, stop, float(rng.integers(0, 6)))
                for length in range(shortest, min(longest, stop) + 1)
                if rng.random() < density
            ]
            for stop in range(n + 1)
        ]
        undecided, found, expected = PendingMatches(longest), {}, {}
        for seen in range(1, n + 1):
            undecided.add(every[seen])
            found |= dict.fromkeys(undecided.take_decided(seen), seen)
            near = sorted((one.distance, one.stop, -one.start) for some in every[: seen + 1] for one in some)
            apart = matching.without_containing(near)
            for one in (one for one in apart if matching.certain(one, apart, seen, longest)):
                expected.setdefault(BoundedMatch(-one[2], one[1], one[0]), seen)
        assert found == expected
        rest = undecided.take_decided(n, ended=True)
        assert sorted([*found, *rest]) == matching.without_overlaps(near)
        assert len(undecided) == 0
        together = PendingMatches(longest)
        together.add([one for some in every for one in some])
        assert together.take_decided(n) == sorted(found, key=lambda one: (found[one], one.stop))


def test_a_generous_threshold_leaves_little_to_wait_and_to_compare():
    """Every stretch of a random walk is within the threshold: 15 000 of them overlap any sample."""
    rng = np.random.default_rng(0)
    query, stream = rng.standard_normal(100).cumsum(), rng.standard_normal(600).cumsum()
    spring = tl.align.Spring(query, threshold=1e6)
    most_waiting = most_compared = 0
    for sample in stream:
        before = spring._pending.n_comparisons
        spring.push(sample)
        most_waiting = max(most_waiting, len(spring._pending))
        most_compared = max(most_compared, spring._pending.n_comparisons - before)
    assert most_waiting < 5 * 200
    assert most_compared < 20 * 200


@settings(max_examples=60)
@given(problems(), st.floats(0.01, 6))
def test_shapes_are_those_of_stretches_scaled_by_themselves(problem, threshold):
    query, stream, (shortest, longest) = problem
    assume((query != query[:1]).any())  # a constant has no shape, and is refused
    threshold = threshold * (1 + 1e-7)  # no distance lies upon it
    found, rest = watched(query, stream, threshold, lengths=(shortest, longest), normalize=True)
    near = matching.near_stretches(query, stream, threshold, shortest, longest, normalize=True)
    expected = matching.without_overlaps(near)
    ours = sorted([match[:3] for match in found] + rest)
    assert [match[:2] for match in ours] == [match[:2] for match in expected]
    np.testing.assert_allclose([match[2] for match in ours], [match[2] for match in expected], atol=1e-9)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("cost", ["sqeuclidean", "euclidean", "manhattan"])
def test_many_samples_at_once_give_the_same_matches_in_the_same_order(normalize, cost, monkeypatch):
    rng = np.random.default_rng(0)
    query, stream = rng.standard_normal((6, 2)), rng.standard_normal((150, 2)) + np.linspace(0, 1, 150)[:, None]
    options = {"normalize": normalize, "cost": cost, "threshold": 9.0 if normalize else 12.0}
    one = tl.align.Spring(query, **options)
    singly = [match for sample in stream for match in one.push(sample)]
    end = one.flush()
    assert len(singly) > 2
    for block in (1 << 12, 17):
        monkeypatch.setattr(springs, "_BLOCK_SAMPLES", block)
        together = tl.align.Spring(query, **options)
        assert together.extend(stream[:40]) + together.extend(stream[40:]) == singly
        assert together.flush() == end


def test_shapes_do_not_depend_on_level_and_size():
    rng = np.random.default_rng(1)
    query, stream = rng.standard_normal(8), rng.standard_normal(120).cumsum()
    spring = tl.align.Spring(query, threshold=4.0, normalize=True)
    plain = spring.search([stream])
    assert plain
    for scale in (2.0**-300, 2.0**10, 2.0**600):
        assert spring.search([scale * stream]) == plain
    moved = spring.search([stream + 64.0])
    assert [match[:3] for match in moved] == [match[:3] for match in plain]


def wandering(seed, places, query, n=3000):
    """A random walk, on which warped copies of a query of several sizes are planted."""
    rng = np.random.default_rng(seed)
    stream = rng.standard_normal(n).cumsum() * 0.3
    spans = []
    for place, length, size in zip(places, (40, 60, 80, 50), (8.0, 12.0, 10.0, 9.0), strict=True):
        warped = np.interp(np.linspace(0, 1, length) ** 1.1, np.linspace(0, 1, len(query)), query)
        stream[place : place + length] = stream[place] + size * (warped - warped[0])
        spans.append((place, place + length))
    return stream, spans


def test_planted_shapes_are_found_on_a_baseline_that_wanders():
    t = np.linspace(0, 1, 50)
    query = np.sin(9 * t) * (1 - t) + np.sin(23 * t) / 2
    examples, spans = wandering(0, (200, 900, 1700, 2400), query)
    cut = [examples[a - 5 : b + 5] for a, b in spans]
    spring = tl.align.Spring(query, normalize=True).calibrate(
        cut, [np.random.default_rng(5).standard_normal(600).cumsum()]
    )
    assert (spring.calibration_.n_missed, spring.calibration_.n_false_alarms) == (0, 0)
    stream, planted = wandering(1, (300, 1000, 1500, 2600), query)
    found = spring.search([stream])
    assert len(found) == 4
    for match, (start, stop) in zip(found, planted, strict=True):
        assert abs(match.start - start) < 10
        assert abs(match.stop - stop) < 10
    # as values are, and with any length, single samples of the walk match all over it
    plain = tl.align.Spring(query, lengths=None).calibrate(cut).search([stream])
    assert sum(match.stop - match.start == 1 for match in plain) > 100


def test_recordings_are_watched_one_by_one_and_the_stream_stays_as_it_is():
    rng = np.random.default_rng(2)
    query = rng.standard_normal((5, 2))
    X = tl.Sequences([rng.standard_normal((n, 2)) for n in (40, 3, 25)], ids=["a", "b", "c"])
    spring = tl.align.Spring(query, threshold=12.0)
    spring.extend(X[0][:10])
    found = spring.search(X)
    expected = []
    for name, one in zip(X.ids, X, strict=True):
        alone = tl.align.Spring(query, threshold=12.0)
        expected += [(name, *match) for match in sorted(alone.extend(one) + alone.flush())]
    assert [tuple(match) for match in found] == expected
    assert {match.recording for match in found} == {"a", "b", "c"}
    assert spring.n_seen == 10
    assert {match.recording for match in spring.search(list(X))} == {0, 1, 2}
    assert tl.align.Spring(query, threshold=12.0, lengths=None).search(X)


@pytest.mark.parametrize(
    "options", [{}, {"normalize": True, "lengths": (3, 9)}, {"lengths": None, "cost": "manhattan"}]
)
def test_a_saved_one_finds_the_same(options, tmp_path):
    rng = np.random.default_rng(3)
    query, stream = rng.standard_normal((6, 2)), rng.standard_normal((200, 2))
    near = query + rng.standard_normal((2, 6, 2)) / 5
    stream[40:46] = near[0]
    spring = tl.align.Spring(query, **options).calibrate(near, [stream[100:]])
    spring.extend(stream[:20])
    spring.save(tmp_path / "spring")
    again = tl.load_model(tmp_path / "spring")
    assert again.threshold == spring.threshold
    assert again.n_seen == 0
    for one, other in zip(again.calibration_, spring.calibration_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.search([stream]) == spring.search([stream]) != []
    tl.align.Spring(query, **options).save(tmp_path / "unknown")
    assert tl.load_model(tmp_path / "unknown").threshold is None


def test_a_threshold_that_was_adjusted_after_calibrating_is_saved(tmp_path):
    spring = tl.align.Spring([1.0, 2.0, 1.0]).calibrate([[0, 1, 2, 1.5], [1, 2.5, 1, 0]], [[0, 0, 1, 0, 3, 0, 0]])
    learned = spring.threshold
    spring.threshold = 2 * learned
    spring.save(tmp_path / "spring")
    again = tl.load_model(tmp_path / "spring")
    assert again.threshold == 2 * learned
    assert again.calibration_.threshold == learned


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("threshold", -1.0, "threshold=-1.0: expected"),
        ("cost", "odd", "cost='odd': expected one of"),
        ("lengths", ["x", 2.0], "lengths='x': expected"),
    ],
)
def test_an_edited_folder_is_refused(option, value, words, tmp_path):
    tl.align.Spring([1.0, 2.0], threshold=1.0).save(tmp_path / "spring")
    config = read_config(tmp_path / "spring")
    assert option in config["parameters"]
    write_config(tmp_path / "spring", config | {"parameters": config["parameters"] | {option: value}})
    with pytest.raises(ValueError, match=f"make no Spring: {words}"):
        tl.load_model(tmp_path / "spring")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"lengths": 0.5}, TypeError, r"lengths=0.5: expected \(shortest, longest\)"),
        ({"lengths": (2.0, 0.5)}, ValueError, "expected the shortest first"),
        ({"lengths": (0, 3)}, ValueError, "lengths=0: expected at least 1"),
        ({"lengths": (0.0, 2.0)}, ValueError, "lengths=0.0: expected a finite number greater than 0"),
        ({"lengths": (0.1, 0.2)}, ValueError, "at least one sample"),
        ({"lengths": None, "normalize": True}, ValueError, "normalize=True with lengths=None"),
        ({"normalize": 1}, TypeError, "normalize"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        tl.align.Spring([1.0, 2.0, 3.0], threshold=1.0, **options)


def test_lengths_of_two_kinds_are_refused_and_few_samples_are_noticed():
    for mixed in ((2, 0.5), (0.5, 2), [1, 1.5]):
        with pytest.raises(ValueError, match=r"holds a share of the query's length .* and a number of samples"):
            tl.align.Spring(np.arange(20.0), threshold=1, lengths=mixed)
    with pytest.warns(
        UserWarning, match=r"lengths=\(1, 2\) are samples, and the query has 20: .* such as \(1.0, 2.0\)"
    ):
        tl.align.Spring(np.arange(20.0), threshold=1, lengths=(1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.align.Spring(np.arange(20.0), threshold=1, lengths=(1, 10))


@pytest.mark.parametrize("query", [[3.0], [2.0, 2.0, 2.0], [[1.0, 5.0], [1.0, 5.0]]])
def test_a_query_without_a_shape_is_refused_where_shapes_are_compared(query):
    tl.align.Spring(query, threshold=1)
    with pytest.raises(ValueError, match=r"normalize=True with a query of \d samples? that is constant"):
        tl.align.Spring(query, threshold=1, normalize=True)
