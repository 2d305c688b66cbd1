"""Streams of a verifier: bounds that hold over all looks, decisions that stand, and scores of what was seen so far."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl
from timelike.verify.stream import compute_boundaries
from timelike.verify.trials import Claims

# eight people can promise little, which is not what most tests are about
pytestmark = pytest.mark.filterwarnings("ignore::timelike.score.CalibrationWarning")


def strangers(impostor):
    """Claims of people of whom each is in one trial only."""
    everybody = np.arange(2 * len(impostor))
    return Claims(everybody[::2], everybody[1::2], impostor, ~impostor)


def drawn(slowest, names, seed):
    """People who differ in pace, six sequences of unequal lengths each."""
    rng = np.random.default_rng(seed)
    paces = np.repeat(slowest * 1.35 ** np.arange(len(names)), 6)
    waves = [np.sin(np.arange(rng.integers(40, 60)) / pace + rng.uniform(0, 1)) for pace in paces]
    return tl.Sequences([w + 0.2 * rng.standard_normal(len(w)) for w in waves], labels=np.repeat(list(names), 6))


@pytest.fixture(scope="module")
def people():
    return drawn(2.0, "abcdefgh", seed=0)


def encoders(people):
    small = {"max_steps": 2, "random_state": 0}
    return {
        "rocket": lambda: tl.Rocket(n_features=300, causal=True, random_state=0).fit(people),
        "causal": lambda: tl.CausalEncoder(n_features=8, channels=4, depth=2, reduced_size=5, **small).fit(people),
        "siamese": lambda: tl.SiameseGRU(hidden=4, **small).fit(people),
        "discriminant": lambda: tl.Discriminant(
            tl.Rocket(n_features=60, causal=True, random_state=0), random_state=0
        ).fit(people),
    }


@pytest.fixture(scope="module")
def gates(people):
    class Gates(dict):
        """Each is made when it is first asked for."""

        def __missing__(self, name):
            others = {"cohort": drawn(2.3, "stuvwx", seed=1)} if name in ("rocket", "siamese") else {}
            gate = tl.Verifier(encoders(people)[name](), normalize="as-norm" if others else None, n_top=5)
            gate.calibrate(people, false_accept=0.05, **others)
            self[name] = gate.calibrate_stream(people, false_accept=0.25, false_reject=0.2, n_looks=5)
            return self[name]

    return Gates()


@pytest.mark.parametrize(
    "name",
    [
        "rocket",
        pytest.param("causal", marks=pytest.mark.learn),
        pytest.param("siamese", marks=pytest.mark.learn),
        "discriminant",
    ],
)
def test_a_stream_scores_what_it_has_seen_so_far(people, gates, name):
    gate = gates[name].enroll(people[:2], "new", extend=True)
    stream = gate.stream("new")
    for n, sample in enumerate(people[9], 1):
        decision = stream.push(sample)
        if decision.is_certain:
            break
        assert stream.n_samples == n
        assert decision.score == pytest.approx(gate.accepts(people[9][:n], "new").score, rel=1e-4, abs=1e-4)
    gate.forget("new")


def test_looking_often_accepts_no_more_impostors_than_promised():
    rng = np.random.default_rng(0)
    paths = rng.standard_normal((6, 4000)).cumsum(axis=0) + np.arange(6)[:, None]  # later scores are higher
    paths[3:5, rng.random(4000) < 0.3] = np.nan  # some are over before
    impostor = np.arange(4000) < 2000
    paths[:, ~impostor] += 4.0
    bounds, _ = compute_boundaries(np.arange(5) * 10, paths, strangers(impostor), (0.05, 0.02))
    accepted = (paths >= bounds.upper[:, None]).any(axis=0)
    rejected = (paths[:-1] <= bounds.lower[:, None]).any(axis=0)
    assert accepted[impostor].sum() == 99  # ⌊0.05 · 2001⌋ − 1
    assert rejected[~impostor].sum() == 39  # ⌊0.02 · 2001⌋ − 1
    single = np.sort(paths[-1, impostor])[-100]
    assert bounds.upper[-1] > single  # that is what looking costs


def test_decisions_of_all_streams_keep_the_rates_they_were_calibrated_for(people, gates):
    """With an example each, on some of the very sequences of calibration."""
    gate = gates["rocket"]
    bounds, wrong, early, tried = gate.boundaries_[1], 0, 0, 0
    for i in range(0, len(people), 5):
        gate.enroll(people[i], "one")
        for j in range(0, len(people), 3):
            if people.labels[i] == people.labels[j]:
                continue
            stream = gate.stream("one")
            decisions = [stream.push(sample) for sample in people[j]]
            early += decisions[-1].is_certain
            wrong += stream.finish().accepted
            tried += 1
        gate.forget("one")
    assert len(bounds.looks) == 5
    assert early > 0.25 * tried  # many need not be heard to the end
    assert wrong <= 0.25 * tried


def test_a_decision_is_made_at_a_look_and_stands(people, gates):
    gate = gates["rocket"].enroll(people[:3], "new", extend=True)
    looks = gate.boundaries_[3].looks.tolist()
    for x in people[12:]:  # the first of the others who is told early
        stream = gate.stream("new")
        decisions = [stream.push(sample) for sample in x]
        if decisions[-1].is_certain:
            break
    first = next(i for i, decision in enumerate(decisions, 1) if decision.is_certain)
    assert first in looks
    assert all(decision is decisions[first - 1] for decision in decisions[first:])
    assert stream.finish() is decisions[first - 1]
    assert decisions[0].accepted is None
    assert not decisions[0]
    gate.forget("new")


@pytest.mark.parametrize("name", ["discriminant", pytest.param("causal", marks=pytest.mark.learn)])
def test_the_end_decides_what_looks_left_open(people, gates, name):
    gate = gates[name].enroll(people[:1], "new", extend=True)
    stream = gate.stream("new")
    with pytest.raises(ValueError, match="has no samples"):
        stream.finish()
    decision = stream.push(people[0][0])
    assert not decision.is_certain
    end = stream.finish()
    assert end.is_certain
    assert end.accepted == (decision.score >= gate.boundaries_[1].upper[-1])
    gate.forget("new")


def test_a_stream_says_what_it_needs(people):
    gate = tl.Verifier("dtw").calibrate(people).enroll(people[0], "x")
    with pytest.raises(TypeError, match="DTW reads no streams: use an encoder that does, such as Rocket"):
        gate.stream("x")
    gate = tl.Verifier(tl.Rocket(n_features=60, causal=True, random_state=0)).fit(people)
    with pytest.raises(NotFittedError, match="no threshold yet"):
        gate.calibrate_stream(people)
    gate.calibrate(people).enroll(people[0], "x")
    with pytest.raises(NotFittedError, match=r"no bounds for streams yet: call calibrate_stream\(X, y\)"):
        gate.stream("x")
    before = dict(vars(gate))
    with pytest.raises(ValueError, match="y holds one identity"):
        gate.calibrate_stream(people, np.zeros(len(people)))
    assert dict(vars(gate)) == before
    stream = gate.calibrate_stream(people).stream("x")
    with pytest.raises(ValueError, match="sample has shape"):
        stream.push([1.0, 2.0])
    assert not hasattr(gate.calibrate(people), "boundaries_")


def test_nobody_is_rejected_early_where_most_were_over_before_the_first_look():
    rng = np.random.default_rng(0)
    scores = np.full((3, 100), np.nan)
    scores[-1], scores[:-1, :2], scores[:-1, 50:] = rng.standard_normal(100), 1.0, rng.standard_normal((2, 50)) - 3
    impostor = np.arange(100) >= 50
    found, _ = compute_boundaries(np.array([2, 4]), scores, strangers(impostor), (0.1, 0.1))
    assert found.lower.tolist() == [-np.inf, -np.inf]
    assert np.isfinite(found.upper).all()


def test_a_stream_says_whom_it_accepted_and_who_cannot_be_promised(people):
    gate = (
        tl.Verifier(tl.Rocket(n_features=60, causal=True, random_state=0))
        .fit(people)
        .calibrate(people, false_accept=0.25)
    )
    with pytest.warns(tl.score.CalibrationWarning, match="false_accept=0.05 cannot be promised: 8 identities"):
        gate.calibrate_stream(people, false_accept=0.05, false_reject=0.05)
    # eight people show no false_reject of 0.05, which takes 19: nobody is rejected before the end
    assert all(np.isneginf(bounds.lower).all() for bounds in gate.boundaries_.values())
    gate.calibrate_stream(people, false_accept=0.5, false_reject=0.2).enroll(people[:5], "x")
    assert np.isfinite(gate.boundaries_[1].lower).any()
    for i in (1, 40):
        stream = gate.stream("x")
        for sample in people[i]:
            assert stream.push(sample).identity == ("x" if stream.decision.accepted else None)
        end = stream.finish()
        assert end.identity == ("x" if end.accepted else None)
