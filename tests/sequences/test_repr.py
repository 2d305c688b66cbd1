"""What sequences show of themselves in a notebook; how they are drawn is in tests/plotting."""

import numpy as np
import pytest

import timelike as tl

NAN = float("nan")


def rows(s):
    """The table as a dictionary, still escaped."""
    body = s._repr_html_().split("<tbody>")[1].split("</tbody>")[0]
    cells = [row.split("</th>") for row in body.split('<tr><th scope="row">')[1:]]
    return {name: cell.split(">", 1)[1].split("</td>")[0] for name, cell in cells}


def test_the_table_says_how_many_how_long_and_what_is_known():
    s = tl.Sequences(
        [[[1.0, 2.0]] * 3, [[1.0, NAN]] * 2],
        labels=["up", "up"],
        groups=[1, 2],
        times=[[0.0, 1.0, 2.5], [4.0, 5.0]],
        channel_names=["x", "y"],
    )
    assert "<caption>2 sequences</caption>" in s._repr_html_()
    assert rows(s) == {
        "lengths": "2 to 3, 2.5 on average",
        "channels": "2: x, y",
        "dtype": "float64",
        "labels": "1 class: up (2)",
        "groups": "2",
        "times": "0.0 to 5.0",
        "missing": "2 of 10 values (20.0%)",
    }


def test_targets_have_six_digits_in_the_table():
    page = tl.Sequences(np.zeros((2, 4, 1)), labels=[0.1234567891, 2.5])._repr_html_()
    assert ">0.123457<" in page
    assert "0.1234567" not in page


def test_equal_lengths_and_images_and_targets_are_said_shortly():
    shown = rows(tl.Sequences(np.zeros((3, 5, 1, 4, 6)), labels=[0.25, 1.5, 0.5]))
    assert shown == {
        "lengths": "5",
        "channels": "1 × 4 × 6",
        "dtype": "float64",
        "labels": "targets 0.25 to 1.5",
        "missing": "nothing",
    }


def test_text_from_data_cannot_become_markup():
    s = tl.Sequences([[[1.0]]], labels=["<script>"], channel_names=["<img src=x>"])
    assert "<script>" not in s._repr_html_()
    assert "<img" not in s._repr_html_()
    assert rows(s)["labels"] == "1 class: &lt;script&gt; (1)"


def test_many_names_are_cut_short():
    shown = rows(tl.Sequences(np.zeros((40, 2, 30)), labels=np.arange(40), channel_names=list(map(str, range(30)))))
    assert shown["labels"].startswith("40 classes: 0 (1), 1 (1), ")
    assert shown["labels"].endswith("11 (1), …")
    assert shown["channels"].endswith("11, …")


@pytest.mark.parametrize("labels", [None, ["a", "b"], [1, 2], [0.5, 0.25]])
def test_nothing_has_a_table_too(labels):
    empty = tl.Sequences([[1.0], [2.0]], labels=labels, times=[[0.0], [1.0]])[:0]
    assert rows(empty)["lengths"] == "0"
    assert rows(empty)["missing"] == "nothing"
