"""What stands out among others: centres among members, queries over neighbours, averages, each over real times."""

import pickle

import numpy as np
import pytest
from tests.plotting.contrast import names, unseen

import timelike as tl
from timelike.plotting.style import COLORS

NAN = float("nan")


def recordings(**more):
    """Low and high ones of unequal lengths, a sample every 0.5 s, each on another day."""
    lengths = [4, 5, 6, 4, 5, 6]
    values = [
        np.stack([np.full(n, 10.0 * (i % 2)) + np.arange(n) / 10, -np.arange(n)], 1) for i, n in enumerate(lengths)
    ]
    start = np.datetime64("2024-01-01", "ns")
    clocks = [
        start + i * np.timedelta64(1, "D") + np.arange(n) * np.timedelta64(500, "ms") for i, n in enumerate(lengths)
    ]
    given = {
        "times": clocks,
        "ids": [f"r{i}" for i in range(6)],
        "labels": ["low", "high"] * 3,
        "channel_names": ["ax", "ay"],
    }
    return tl.Sequences(values, **given | more)


def thick(axes):
    (line,) = [line for line in axes.lines if line.get_linewidth() > 2]
    return line


def thin(axes):
    return [line for line in axes.lines if line.get_linewidth() < 2]


# --- clusters


@pytest.mark.parametrize("kind", [tl.KMeans, tl.KMedoids])
def test_every_cluster_has_a_panel_with_its_members_and_what_stands_for_them(kind):
    X = recordings()
    model = kind(2, random_state=0).fit(X)
    figure = model.plot(X, channel="ax")
    for cluster, axes in enumerate(figure.axes):
        items = np.flatnonzero(model.labels_ == cluster)
        assert axes.get_title() == f"cluster {cluster}: 3 sequences"
        assert [line.get_ydata().tolist() for line in thin(axes)] == [X[i][:, 0].tolist() for i in items]
        assert [line.get_xdata()[-1] for line in thin(axes)] == [(len(X[i]) - 1) / 2 for i in items]
        assert len({line.get_color() for line in thin(axes)} | {thick(axes).get_color()}) == 2
        assert axes.get_xlabel() == "seconds since the first sample"
    assert figure.axes[0].get_ylabel() == "ax"
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_a_medoid_is_itself_over_its_own_times_and_has_its_id():
    X = recordings()
    model = tl.KMedoids(2, random_state=0).fit(X)
    figure = model.plot(X)
    for axes, item in zip(figure.axes, model.medoid_indices_, strict=True):
        np.testing.assert_array_equal(thick(axes).get_ydata(), X[item][:, 0])
        np.testing.assert_array_equal(thick(axes).get_xdata(), np.arange(len(X[item])) / 2)
    assert names(figure) == [f"medoid r{item}" for item in model.medoid_indices_]
    unnamed = tl.KMedoids(2, random_state=0).fit(X.replace(ids=None))
    assert names(unnamed.plot()) == [f"medoid {item}" for item in model.medoid_indices_]


def test_a_mean_without_a_clock_lasts_as_long_as_its_members_do_on_average():
    X = recordings()
    model = tl.KMeans(2, random_state=0).fit(X)
    for cluster, axes in enumerate(model.plot(X).axes):
        lasting = [(len(X[i]) - 1) / 2 for i in np.flatnonzero(model.labels_ == cluster)]
        assert thick(axes).get_xdata()[[0, -1]].tolist() == pytest.approx([0, np.mean(lasting)])
        np.testing.assert_allclose(thick(axes).get_ydata(), model.cluster_centers_[cluster][:, 0])


def test_steps_are_counted_where_there_are_no_times():
    X = recordings(times=None)
    axes = tl.KMeans(2, random_state=0).fit(X).plot(X).axes[0]
    assert axes.get_xlabel() == "time step"
    assert thick(axes).get_xdata().tolist() == list(range(len(thick(axes).get_xdata())))


@pytest.mark.parametrize("kind", [tl.KMeans, tl.KMedoids])
def test_without_sequences_there_is_what_stands_for_them_alone(kind):
    model = kind(2, random_state=0).fit(recordings())
    for axes in model.plot().axes:
        assert thin(axes) == []
        assert axes.get_title().endswith(": 3 sequences")


def test_a_cluster_that_no_given_sequence_is_in_is_drawn_all_the_same():
    X = recordings()
    model = tl.KMeans(2, random_state=0).fit(X)
    alone = X[model.labels_ == 1][:1]
    empty, full = model.plot(alone).axes
    assert (empty.get_title(), full.get_title()) == ("cluster 0: 0 sequences", "cluster 1: 1 sequence")
    assert (len(thin(empty)), len(thin(full))) == (0, 1)
    thick(empty)


def test_many_clusters_and_many_members_are_thinned_out():
    X = tl.Sequences([[float(i), i + 1.0] for i in range(100)])
    assert len(tl.KMedoids(1, random_state=0).fit(X).plot(X).axes[0].lines) == 31
    many = tl.KMedoids(14, random_state=0).fit(X).plot(X)
    assert len(many.axes) == 12
    assert many.get_suptitle() == "12 of 14 clusters"


def test_clusters_are_plain_in_what_they_refuse():
    X = recordings()
    with pytest.raises(Exception, match="fit"):
        tl.KMeans(2).plot(X)
    model = tl.KMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="channel='az'"):
        model.plot(X, channel="az")
    with pytest.raises(ValueError, match="frames"):
        model.plot([[1.0, 2.0]])


# --- matches


def test_a_query_lies_over_each_of_its_neighbours():
    X = recordings()
    found = tl.DTW().neighbors(X, X[1:3], k=3)
    figure = found.plot(query=1, channel="ay")
    assert len(figure.axes) == 3
    for rank, axes in enumerate(figure.axes):
        item = found.ids[1, rank]
        (neighbour,) = thin(axes)
        np.testing.assert_array_equal(thick(axes).get_ydata(), X[2][:, 1])
        np.testing.assert_array_equal(neighbour.get_ydata(), X[item][:, 1])
        np.testing.assert_array_equal(neighbour.get_xdata(), np.arange(len(X[item])) / 2)
        assert neighbour.get_zorder() > thick(axes).get_zorder()  # seen also where both are the same
        distance = f"distance {found.distances[1, rank]:.4g}"
        assert axes.get_title() == f"{rank + 1}: r{item}, {X.labels[item]}\n{distance}"
    assert names(figure) == ["query r2", "neighbour"]
    assert figure.axes[0].get_xlabel() in ("", "seconds since the first sample")
    assert figure.axes[-1].get_xlabel() == "seconds since the first sample"


def test_matches_are_still_a_pair_and_forget_the_sequences_when_they_are_sent_elsewhere():
    X = recordings()
    found = tl.DTW().neighbors(X, X[:2], k=2)
    ids, distances = found
    assert ids is found.ids
    assert distances is found.distances
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found)
    np.testing.assert_array_equal(again.ids, found.ids)
    with pytest.raises(ValueError, match=r"give them, as plot\(X, queries\)"):
        again.plot()
    given, remembered = again.plot(X, X[:2]), found.plot()
    for one, other in zip(given.axes, remembered.axes, strict=True):
        assert one.get_title() == other.get_title()
        assert [line.get_ydata().tolist() for line in one.lines] == [line.get_ydata().tolist() for line in other.lines]


def test_matches_of_an_estimator_draw_themselves_too():
    X = recordings()
    figure = tl.Neighbors("dtw", k=2).fit(X).kneighbors(X[:1]).plot()
    assert figure.axes[0].get_title().splitlines()[0] == "1: r0, low"


def test_plain_arrays_have_positions_in_place_of_ids():
    figure = tl.Euclidean().neighbors([[0.0, 1.0], [5.0, 5.0]], [[4.0, 5.0]], k=2).plot()
    assert [axes.get_title() for axes in figure.axes] == ["1: item 1\ndistance 1", "2: item 0\ndistance 5.657"]
    assert names(figure) == ["query 0", "neighbour"]


def test_at_most_nine_neighbours_are_drawn():
    X = tl.Sequences([[float(i), 1.0] for i in range(20)])
    assert len(tl.DTW().neighbors(X, X[:1], k=20).plot().axes) == 9


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"query": 2}, "query=2: expected 0 to 1"),
        ({"channel": "az"}, "channel='az'"),
        ({"X": [[1.0, 2.0]]}, "X has 1 sequences and queries 2: expected those that were searched"),
        ({"queries": [[1.0, 2.0]]}, "X has 6 sequences and queries 1: expected those that were searched"),
    ],
)
def test_what_was_not_searched_is_refused(how, message):
    X = recordings()
    with pytest.raises(ValueError, match=message):
        tl.DTW().neighbors(X, X[:2], k=2).plot(**how)


# --- averages


def test_an_average_stands_out_among_its_members():
    X = recordings()[::2]
    mean = tl.barycenter(X)
    (axes,) = mean.plot(channel="ay").axes
    assert thick(axes).get_label() == "barycenter"
    np.testing.assert_allclose(thick(axes).get_ydata(), mean.sequence[:, 1])
    assert {line.get_color() for line in thin(axes)} == {COLORS[6]}
    assert len(thin(axes)) == 3
    assert axes.get_ylabel() == "ay"


def test_members_of_one_step_and_missing_values_are_dots_and_gaps():
    X = tl.Sequences([[1.0], [2.0]])
    (axes,) = tl.barycenter(X).plot().axes
    assert all(line.get_markevery() == [0] for line in axes.lines)
    X = tl.Sequences([[1.0, NAN, 3.0, 4.0], [1.0, 2.0, 3.0, 3.0]])
    (axes,) = tl.KMedoids(1, random_state=0).fit(X.interpolate()).plot(X.interpolate()).axes
    axes.figure.canvas.draw()


# --- seen


@pytest.mark.parametrize("dark", [False, True])
def test_members_and_matches_are_seen_on_light_and_dark(dark):
    X = recordings()
    figures = [
        tl.KMeans(2, random_state=0).fit(X).plot(X, dark=dark),
        tl.KMedoids(2, random_state=0).fit(X).plot(X, dark=dark),
        tl.DTW().neighbors(X, X[:1], k=3).plot(dark=dark),
        tl.barycenter(X[::2]).plot(dark=dark),
    ]
    assert [unseen(figure) for figure in figures] == [[]] * 4
