from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.model_selection import StratifiedKFold

import timelike as tl

seeds = st.integers(0, 2**32)


def numbered(n, **known):
    """Sequences whose ids are their positions."""
    return tl.Sequences([[float(i)] * (1 + i % 3) for i in range(n)], ids=np.arange(n), **known)


def share_of(part, label):
    return int((part.labels == label).sum())


@given(n=st.integers(2, 60), test=st.floats(0.01, 0.99), seed=seeds)
def test_a_split_puts_every_sequence_on_exactly_one_side(n, test, seed):
    train, held = numbered(n).split(test, random_state=seed)
    assert sorted([*train.ids, *held.ids]) == list(range(n))
    assert len(held) == min(max(round(test * n), 1), n - 1)


def test_a_split_by_count_keeps_order_and_everything_known():
    s = numbered(10, labels=list("ababababab"), groups=np.arange(10) * 2)
    train, test = s.split(3, random_state=0)
    assert len(test) == 3
    for part in (train, test):
        assert (np.diff(part.ids) > 0).all()
        assert part.equals(s[part.ids])


@settings(deadline=None)
@given(sizes=st.lists(st.integers(8, 30), min_size=1, max_size=5), test=st.floats(0.25, 0.75), seed=seeds)
def test_a_stratified_split_has_every_class_in_proportion(sizes, test, seed):
    s = numbered(sum(sizes), labels=np.repeat(np.arange(len(sizes)), sizes))
    train, held = s.split(test, stratify=True, random_state=seed)
    assert len(train) + len(held) == len(s)
    for label, size in enumerate(sizes):
        assert abs(share_of(held, label) - size * len(held) / len(s)) <= 1


def test_a_rare_class_is_still_on_both_sides():
    s = numbered(102, labels=["common"] * 100 + ["rare"] * 2)
    for seed in range(10):
        train, test = s.split(0.1, stratify=True, random_state=seed)
        assert (share_of(train, "rare"), share_of(test, "rare")) == (1, 1)
        assert len(test) == 10


@settings(deadline=None)
@given(groups=st.lists(st.integers(0, 6), min_size=2, max_size=40).filter(lambda g: len(set(g)) > 1), seed=seeds)
def test_groups_never_straddle_a_split(groups, seed):
    train, test = numbered(len(groups), groups=groups).split(0.3, groups=True, random_state=seed)
    assert not set(train.groups) & set(test.groups)
    assert min(len(train), len(test)) > 0
    assert len(train) + len(test) == len(groups)


def test_equal_groups_give_the_exact_size():
    s = numbered(40, groups=np.repeat(np.arange(10), 4))
    for seed in range(10):
        assert len(s.split(0.3, groups=True, random_state=seed)[1]) == 12


def test_groups_and_classes_together_keep_both():
    rng = np.random.default_rng(0)
    groups, labels = rng.integers(40, size=400), rng.choice(3, p=[0.6, 0.3, 0.1], size=400)
    s = numbered(400, labels=labels, groups=groups)
    train, test = s.split(0.25, groups=True, stratify=True, random_state=1)
    assert not set(train.groups) & set(test.groups)
    for label in range(3):
        assert share_of(test, label) / share_of(s, label) == pytest.approx(0.25, abs=0.05)


def test_one_giant_group_still_leaves_both_sides_something():
    s = numbered(100, groups=[0] * 99 + [1])
    for seed in range(5):
        train, test = s.split(0.9, groups=True, random_state=seed)
        assert (len(train), len(test)) == (1, 99)


@given(n=st.integers(2, 40), k=st.integers(2, 10), seed=seeds)
def test_folds_test_every_sequence_exactly_once_and_have_even_sizes(n, k, seed):
    k = min(n, k)
    pairs = list(numbered(n).folds(k, random_state=seed))
    assert sorted(i for _, test in pairs for i in test.ids) == list(range(n))
    assert all(len(train) + len(test) == n for train, test in pairs)
    assert np.ptp([len(test) for _, test in pairs]) <= 1


@settings(deadline=None)
@given(sizes=st.lists(st.integers(4, 20), min_size=2, max_size=5), k=st.integers(2, 4), seed=seeds)
def test_stratified_folds_are_as_even_as_those_of_scikit_learn(sizes, k, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    s = numbered(len(labels), labels=labels)
    ours = [np.bincount(test.labels, minlength=len(sizes)) for _, test in s.folds(k, stratify=True, random_state=seed)]
    theirs = [np.bincount(labels[rows], minlength=len(sizes)) for _, rows in StratifiedKFold(k).split(labels, labels)]
    np.testing.assert_array_equal(np.sort(ours, axis=0), np.sort(theirs, axis=0))


@pytest.mark.parametrize("stratify", [False, True])
def test_groups_never_straddle_a_fold_and_no_fold_is_empty(stratify):
    rng = np.random.default_rng(3)
    groups, labels = rng.integers(30, size=300), rng.integers(3, size=300)
    pairs = list(numbered(300, groups=groups, labels=labels).folds(5, groups=True, stratify=stratify, random_state=0))
    assert sorted(i for _, test in pairs for i in test.ids) == list(range(300))
    for train, test in pairs:
        assert not set(train.groups) & set(test.groups)
        assert 45 <= len(test) <= 75
        if stratify:
            assert np.bincount(test.labels).min() >= 10


def test_as_many_folds_as_groups_leaves_one_group_out():
    s = numbered(12, groups=[0] * 7 + [1] * 3 + [2] * 2, labels=[0, 1] * 6)
    for stratify in (False, True):
        held = [set(test.groups) for _, test in s.folds(3, groups=True, stratify=stratify, random_state=0)]
        assert sorted(map(sorted, held)) == [[0], [1], [2]]


def test_an_episode_has_k_shots_of_n_classes_and_never_asks_what_it_showed():
    s = numbered(40, labels=np.repeat(list("abcde"), 8))
    for episode in s.episodes(3, 2, 4, n_episodes=20, random_state=0):
        assert not set(episode.support.ids) & set(episode.query.ids)
        for part, size in ((episode.support, 2), (episode.query, 4)):
            names, counts = np.unique(part.labels, return_counts=True)
            assert len(names) == 3
            assert (counts == size).all()
            assert (np.asarray(s.labels)[part.ids] == part.labels).all()
        assert set(episode.support.labels) == set(episode.query.labels)
        assert isinstance(episode, tl.sequences.Episode)


def test_episodes_reach_every_class_and_every_sequence():
    s = numbered(20, labels=np.repeat(list("abcd"), 5))
    seen = {i for episode in s.episodes(2, 1, 2, n_episodes=100, random_state=0) for part in episode for i in part.ids}
    assert seen == set(range(20))


def test_episodes_may_go_on_for_ever():
    s = numbered(8, labels=list("aaaabbbb"))
    assert len(list(islice(s.episodes(2, 1, 1, n_episodes=None, random_state=0), 250))) == 250


def test_a_seed_gives_the_same_split_and_a_generator_moves_on():
    s = numbered(50)
    assert s.split(random_state=1)[1].equals(s.split(random_state=1)[1])
    assert not s.split(random_state=1)[1].equals(s.split(random_state=2)[1])
    rng = np.random.default_rng(1)
    first, second = s.split(random_state=rng)[1], s.split(random_state=rng)[1]
    assert first.equals(s.split(random_state=1)[1])
    assert not first.equals(second)


def test_groups_are_kept_whole_unless_told_otherwise():
    windows = tl.Sequences(np.arange(40.0).reshape(4, 10)).windows(3)
    for _ in range(5):
        train, test = windows.split(0.5)
        assert not set(train.groups) & set(test.groups)
        assert all(not set(a.groups) & set(b.groups) for a, b in windows.folds(2))
    train, test = windows.split(0.5, groups=False, random_state=0)
    assert set(train.groups) & set(test.groups)


labelled = numbered(6, labels=list("aaabbc"), groups=[0, 0, 0, 0, 0, 0])
free = labelled.replace(groups=None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: free.split(1.0), ValueError, r"test=1.0: expected a fraction strictly between 0 and 1"),
        (lambda: free.split(0), ValueError, r"test=0 of 6 sequences: expected 1 to 5"),
        (lambda: free.split(6), ValueError, r"expected 1 to 5"),
        (lambda: free.split(True), TypeError, r"test=True: expected a fraction"),
        (lambda: free.split("half"), TypeError, r"test='half'"),
        (lambda: free.split(float("nan")), ValueError, r"test=nan"),
        (lambda: numbered(1).split(), ValueError, r"expected at least 2"),
        (
            lambda: labelled.split(groups=True),
            ValueError,
            r"all sequences are in one group.*such as subjects or recordings, with replace\(groups=...\)",
        ),
        (labelled.split, ValueError, r"all sequences are in one group"),
        (
            lambda: numbered(6).split(groups=True),
            ValueError,
            r"have no groups: pass an array, or replace\(groups=...\)",
        ),
        (lambda: numbered(6).split(stratify=True), ValueError, r"have no labels"),
        (lambda: free.split(groups=[1, 2]), ValueError, r"groups has shape \(2,\) for 6 sequences"),
        (lambda: free.split(3, stratify=True), ValueError, r"class 'c' has 1 sequence, 2 needed"),
        (lambda: free.split(1, stratify=[0, 0, 0, 1, 1, 1]), ValueError, r"no room for 2 classes.*expected 2 to 4"),
        (lambda: free.split(stratify=np.linspace(0, 1, 6)), ValueError, r"stratify needs classes"),
        (
            lambda: free.split(groups=[0, 0, 1, 1, 2, 2], stratify=list("aaaabb")),
            ValueError,
            r"class 'b' has 1 group, so it cannot be on both sides",
        ),
        (lambda: free.split(random_state="x"), TypeError, r"random_state is a str"),
        (lambda: free.split(random_state=-1), ValueError, r"random_state=-1"),
        (lambda: free.folds(1), ValueError, r"k=1: expected at least 2"),
        (lambda: free.folds(2.0), TypeError, r"k=2.0: expected an integer"),
        (lambda: free.folds(7), ValueError, r"k=7 folds of 6 sequences"),
        (lambda: free.folds(2, stratify=True), ValueError, r"class 'c' has 1 sequence, k=2 needed"),
        (lambda: free.folds(3, groups=[0, 0, 0, 1, 1, 1]), ValueError, r"k=3 folds of 2 groups"),
        (lambda: labelled.episodes(2, 1, 1), ValueError, r"class 'c' has 1 sequence, k_shot \+ n_query = 2 needed"),
        (lambda: labelled.episodes(4, 1, 1), ValueError, r"n_way=4 but these sequences have 3 classes"),
        (lambda: labelled.episodes(0, 1, 1), ValueError, r"n_way=0: expected at least 1"),
        (lambda: numbered(3).episodes(1, 1, 1), ValueError, r"no labels"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("call", [lambda s: s.split(), lambda s: s.folds(2), lambda s: s.episodes(1, 1)])
def test_nothing_cannot_be_divided(call):
    with pytest.raises(ValueError, match="there are no sequences"):
        call(tl.Sequences([[1.0], [2.0]], labels=["a", "b"], groups=[0, 1])[:0])


def test_the_old_random_state_is_sent_to_the_new_one():
    with pytest.raises(TypeError, match=r"random_state is a RandomState.*default_rng\(random_state.randint"):
        tl.Sequences([[1.0], [2.0]]).split(random_state=np.random.RandomState(0))
