"""Parts by name: channels, ids, groups and labels, beside masks and columns taken by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import timelike as tl
from timelike.sequences import augment

NAN = float("nan")
NAMES = ["ax", "ay", "az"]


@pytest.fixture
def walks():
    rng = np.random.default_rng(0)
    return tl.Sequences(
        [rng.normal(size=(n, 3)) for n in (4, 6, 5, 7)],
        labels=["walk", "run", "walk", "rest"],
        groups=["anna", "anna", "ben", "ben"],
        ids=["a1", "a2", "b1", "b2"],
        times=[np.arange(float(n)) for n in (4, 6, 5, 7)],
        channel_names=NAMES,
    )


@given(st.lists(st.sampled_from(range(3)), min_size=1, max_size=3, unique=True))
def test_channels_are_the_columns_in_the_order_asked(order):
    s = tl.Sequences(np.arange(24.0).reshape(2, 4, 3), channel_names=NAMES, labels=["u", "v"])
    names = [NAMES[i] for i in order]
    for chosen in (s.channels(names), s.channels(order), s[names], s.channels([i - 3 for i in order])):
        assert chosen.channel_names == tuple(names)
        assert chosen.labels.tolist() == ["u", "v"]
        for before, after in zip(s, chosen, strict=True):
            np.testing.assert_array_equal(after, before[:, order])
            assert after.flags.c_contiguous


def test_one_name_is_one_channel(walks):
    for chosen in (walks["ay"], walks.channels("ay"), walks.channels(1), walks[np.array(["ay"])]):
        assert chosen.frame == (1,)
        assert chosen.channel_names == ("ay",)
        np.testing.assert_array_equal(chosen.values[:, 0], walks.values[:, 1])
        assert chosen.ids.tolist() == walks.ids.tolist()
        assert chosen.times.tolist() == walks.times.tolist()


def test_channels_of_a_scattered_selection_and_of_images():
    s = tl.Sequences(np.arange(48.0).reshape(3, 2, 2, 2, 2), channel_names=["red", "green"])
    chosen = s[[2, 0]].channels("green")
    assert chosen.frame == (1, 2, 2)
    np.testing.assert_array_equal(chosen[0], s[2][:, 1:])


def test_an_id_gives_its_sequence_and_a_list_gives_their_order(walks):
    np.testing.assert_array_equal(walks["b1"][0], walks[2])
    assert walks[["b2", "a1"]].ids.tolist() == ["b2", "a1"]
    twice = walks.replace(ids=["a", "b", "a", "c"])
    assert len(twice["a"]) == 2


def test_a_name_of_both_kinds_is_refused_with_both_ways_out(walks):
    both = walks.replace(ids=["ax", "a2", "b1", "b2"])
    with pytest.raises(IndexError, match=r"channel and an id: say s.channels\('ax'\) or s.where\(id='ax'\)"):
        both["ax"]
    with pytest.raises(IndexError, match=r"say s.channels\(\['ay', 'ax'\]\)"):
        both[["ay", "ax"]]
    assert both.channels("ax").frame == (1,)
    assert len(both.where(id="ax")) == 1


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("aX", r"s\['aX'\]: not among the channels ax, ay, az; did you mean 'ax'"),
        ("walk", r"'walk' is a label: say s.where\(label='walk'\)"),
        ("anna", r"'anna' is a group: say s.where\(group='anna'\)"),
        (["ax", "b1"], "some are names of channels and some are ids"),
        (["ax", "nothing"], "'nothing'.: not among the channels"),
    ],
)
def test_names_that_are_nothing_say_what_there_is(walks, key, words):
    with pytest.raises(IndexError, match=words):
        walks[key]


def test_without_names_a_name_is_refused():
    s = tl.Sequences(np.zeros((2, 3)), ids=[1, 2])
    with pytest.raises(IndexError, match="the channels have no names and the sequences no ids that are text"):
        s["x"]
    with pytest.raises(ValueError, match="names='x', but these channels have no names: give a position, 0 to 0"):
        s.channels("x")


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        ("aw", ValueError, "names='aw': not among the channels ax, ay, az"),
        (3, ValueError, "names=3: expected 0 to 2"),
        ([], ValueError, "names is empty"),
        (["ax", 0], ValueError, "names holds 'ax' twice"),
        ([1.5], TypeError, "names=1.5: expected an integer"),
    ],
)
def test_channels_that_are_not_there_are_named(walks, names, error, words):
    with pytest.raises(error, match=words):
        walks.channels(names)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_where_is_the_mask(groups, data):
    labels = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(groups), max_size=len(groups)))
    s = tl.Sequences(np.arange(float(len(groups)))[:, None], groups=groups, labels=labels)
    some = data.draw(st.lists(st.sampled_from(groups), min_size=1))
    label = data.draw(st.sampled_from(labels))
    expected = [i for i in range(len(groups)) if groups[i] in some and labels[i] == label]
    for asked in (some, tuple(some), set(some), np.array(some)):
        found = s.where(group=asked, label=label)
        assert found.values.ravel().tolist() == expected


def test_where_keeps_everything_and_copies_nothing(walks):
    found = walks.where(group="ben")
    assert found.equals(walks[2:])
    assert np.shares_memory(found[0], walks.values)
    assert len(walks.where(group="anna").where(label="rest")) == 0  # a class that exists, though not here
    assert walks.where(id=["b2", "a1"]).ids.tolist() == ["a1", "b2"]
    assert len(walks.where(label=[])) == 0


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({}, ValueError, "where.. without a condition"),
        ({"group": "ana"}, ValueError, "group='ana': not among the groups anna, ben; did you mean 'anna'"),
        ({"label": ["walk", "jump"]}, ValueError, "label='jump': not among the labels rest, run, walk"),
        ({"group": 1}, TypeError, "group=1 is a number, and the groups are text"),
        ({"id": len}, TypeError, "id is a builtin_function_or_method: expected a value or a list"),
    ],
)
def test_conditions_that_cannot_hold_are_named(walks, asked, error, words):
    with pytest.raises(error, match=words):
        walks.where(**asked)
    with pytest.raises(ValueError, match="these sequences have no groups"):
        walks.replace(groups=None).where(group="anna")


@pytest.mark.parametrize(
    "verb",
    [
        lambda s: s[1:],
        lambda s: s[[0, 2]],
        lambda s: s.where(label="walk"),
        lambda s: s.standardize(),
        lambda s: s.interpolate(),
        lambda s: s.resample(5),
        lambda s: s.windows(2),
        lambda s: s.crop(1),
        lambda s: s.derivative(),
        lambda s: s.copy(),
        lambda s: s.replace(labels=None),
        lambda s: s.split(0.5, random_state=0)[0],
        lambda s: tl.concat([s, s]),
        tl.Sequences,
        lambda s: tl.Sequences.from_frame(s.to_frame(), id="id", time="time", label="label", group="group"),
        lambda s: augment.Jitter()(s, random_state=0).sequences,
    ],
)
def test_every_verb_keeps_the_names_of_channels(walks, verb):
    assert verb(walks).channel_names == tuple(NAMES)


def test_messages_cut_long_names_in_the_middle():
    name = "q" * 10_000
    X = tl.Sequences([[1.0], [2.0]], labels=[name + "1", name + "2"], groups=["a", "b"], ids=[name + "1", name + "2"])
    calls = [
        lambda: X.where(label=name),
        lambda: X.where(group=[name, name]),
        lambda: X.replace(labels=None).where(label=[name, name]),
        lambda: X[name],
        lambda: X[[name, name]],
    ]
    for call in calls:
        with pytest.raises((ValueError, IndexError)) as told:
            call()
        assert len(str(told.value)) < 300
    with pytest.raises(ValueError, match=r"q1', '\S*q2'$"):  # what differs at the end can be told apart
        X.where(label="walk")
