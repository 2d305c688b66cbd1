"""Sequences: what goes in comes out, nothing is padded, nothing is copied that need not be."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import timelike as tl
from optional_torch import torch
from timelike.align import elastic

ragged = st.lists(
    st.integers(1, 8).flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.floats(-1e6, 1e6) | st.just(np.nan))),
    min_size=1,
    max_size=6,
)


def full(n=6):
    """Sequences with everything known."""
    lengths = [3 + i % 4 for i in range(n)]
    return tl.Sequences(
        [np.arange(2.0 * k).reshape(k, 2) + 100 * i for i, k in enumerate(lengths)],
        labels=["ab"[i % 2] for i in range(n)],
        groups=[i // 2 for i in range(n)],
        times=[np.arange(k) * 0.5 + i for i, k in enumerate(lengths)],
        ids=[f"s{i}" for i in range(n)],
        channel_names=["left", "right"],
    )


@given(ragged)
def test_a_list_of_arrays_comes_back_unchanged(items):
    s = tl.Sequences(items)
    assert len(s) == len(items)
    assert s.lengths.tolist() == [len(item) for item in items]
    for given_, kept in zip(items, s, strict=True):
        np.testing.assert_array_equal(given_, kept)
    np.testing.assert_array_equal(s.values, np.concatenate(items))
    assert s.offsets.tolist() == [0, *np.cumsum([len(item) for item in items])]


@given(ragged, st.data())
def test_any_selection_equals_the_same_selection_of_a_list(items, data):
    s = tl.Sequences(items, labels=range(len(items)), times=[np.arange(len(item)) + 0.5 for item in items])
    n = len(items)
    key = data.draw(
        st.lists(st.integers(-n, n - 1), max_size=8) | st.lists(st.booleans(), min_size=n, max_size=n) | st.slices(n)
    )
    wanted = np.arange(n)[
        key if isinstance(key, slice) else np.array(key, dtype=bool if key and isinstance(key[0], bool) else int)
    ]
    chosen = s[key]
    assert chosen.labels.tolist() == wanted.tolist()
    for position, kept in zip(wanted, chosen, strict=True):
        np.testing.assert_array_equal(items[position], kept)
    expected = np.concatenate([np.empty((0, 2)), *[items[i] for i in wanted]])
    np.testing.assert_array_equal(chosen.values, expected)
    assert chosen.times.tolist() == [t + 0.5 for i in wanted for t in range(len(items[i]))]
    assert chosen.offsets[-1] == len(chosen.values)
    if len(wanted) > 1:
        again = chosen[1:]
        np.testing.assert_array_equal(again[0], items[wanted[1]])


def test_every_way_in_gives_the_same_sequences():
    block = np.arange(24.0).reshape(2, 4, 3)
    expected = tl.Sequences([block[0], block[1]])
    for same in (
        tl.Sequences(block),
        tl.Sequences(block.swapaxes(1, 2), layout="nct"),
        tl.Sequences(list(block.swapaxes(1, 2)), layout="nct"),
        tl.Sequences(block.tolist()),
        tl.Sequences(item for item in block),
        tl.Sequences(expected),
        tl.Sequences.from_packed(block.reshape(8, 3), [0, 4, 8]),
        tl.Sequences(np.array([*block, None], dtype=object)[:2]),
        tl.Sequences(block.astype(">f8")),
    ):
        assert same.equals(expected)
    assert tl.Sequences(np.ones((5, 7))).shape == (5, 7, 1)
    assert tl.Sequences(np.ones((5, 7, 1, 4, 4))).frame == (1, 4, 4)


@pytest.mark.learn
def test_tensors_give_the_same_sequences_as_arrays():
    block = np.arange(24.0).reshape(2, 4, 3)
    tensor = torch.from_numpy(block)
    for same in (tl.Sequences(tensor), tl.Sequences(list(tensor)), tl.Sequences(tensor.clone().requires_grad_())):
        assert same.equals(tl.Sequences(block))


def test_every_way_out_gives_back_what_went_in():
    s = full(4)
    padded, lengths = s.pad(fill=-1, length=9)
    assert padded.shape == (4, 9, 2)
    for row, length, item in zip(padded, lengths, s, strict=True):
        np.testing.assert_array_equal(row[:length], item)
        assert (row[length:] == -1).all()
    assert s[:1].to_nct().shape == (1, 2, 3)
    assert [item.shape for item in s.to_nct()] == [(2, 3), (2, 4), (2, 5), (2, 6)]
    assert np.asarray(s[[0, 0]]).shape == (2, 3, 2)
    with pytest.raises(TypeError, match=r"lengths 3 to 6 are not one array: use pad"):
        np.asarray(s)
    with pytest.raises(ValueError, match="length=2 is shorter than the longest sequence"):
        s.pad(length=2)


@pytest.mark.learn
def test_tensors_give_back_what_went_in():
    s = full(4)
    values, counts = s.to_tensor()
    assert values.dtype == torch.float64
    assert counts.tolist() == s.lengths.tolist()
    assert tl.Sequences([v[:c] for v, c in zip(values, counts, strict=True)]).values.tolist() == s.values.tolist()
    assert tl.Sequences(np.ones((1, 2), np.uint8)).to_tensor().values.dtype == torch.float32


@pytest.mark.skipif(torch is not None, reason="torch is installed")
def test_without_torch_a_tensor_is_refused_by_the_name_of_the_extra():
    with pytest.raises(ModuleNotFoundError, match=r'Sequences.to_tensor needs torch: pip install "timelike\[learn\]"'):
        full(4).to_tensor()


def test_what_is_handed_out_cannot_be_changed_and_the_caller_keeps_his_array():
    mine = np.zeros((2, 3, 1))
    s = tl.Sequences(mine, labels=[0, 1])
    for array in (s[0], s.values, s.lengths, s.offsets, s.labels, next(iter(s)), s[[1, 0]].values, s[1:].labels):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    mine[0] = 1
    assert mine.flags.writeable


def test_a_gigabyte_is_not_copied_by_indexing_iterating_or_cutting():
    big = np.zeros((1000, 131, 1024))  # 1 GB of zero pages, which reading does not make real
    s = tl.Sequences(big, labels=np.arange(1000))
    chosen = s[np.random.default_rng(0).permutation(1000)]
    for view in (
        s[3],
        s[2:900][5],
        chosen[7],
        next(iter(s)),
        s.windows(50, 10)[8],
        s.crop(5, 9)[1],
        s.values,
        s[1:].values,
    ):
        assert np.shares_memory(view, big)
    for collection in (s, s[::2], chosen, s.windows(3), chosen.crop(1)):
        assert np.shares_memory(collection.buffers()[0], big)


def test_building_from_an_array_does_not_copy_it():
    block = np.random.default_rng(0).standard_normal((50, 20, 3))
    assert np.shares_memory(tl.Sequences(block).values, block)
    if torch:
        assert np.shares_memory(tl.Sequences(torch.from_numpy(block)).values, block)
    assert np.shares_memory(elastic.pack_steps(tl.Sequences(block)[::-1], np.dtype(float))[0], block)


def test_labels_stay_in_the_words_of_the_caller():
    s = full()
    assert s.labels.tolist() == list("ababab")
    assert s.class_names == ("a", "b")
    assert s[s.labels == "b"].class_names == ("a", "b")
    assert s[s.labels == "b"].codes.tolist() == [1, 1, 1]
    named = tl.Sequences(np.zeros((3, 2)), labels=[2, 0, 2], class_names=["x", "a", "m"])
    assert named.labels.tolist() == ["m", "x", "m"]
    assert named.codes.tolist() == [2, 0, 2]
    assert tl.Sequences(np.zeros((3, 2)), labels=[5, -1, 5]).codes.tolist() == [1, 0, 1]
    assert named.replace(labels=[1, 2, 3]).class_names is None


def test_concat_puts_collections_one_after_the_other():
    s = full()
    whole = tl.concat([s[:2], s[2:5], s[[5]]])
    assert whole.equals(s)
    assert tl.concat([s[:1].replace(labels=["z"]), s[1:2]]).class_names == ("z", "a", "b")


def test_replace_changes_what_is_known_and_nothing_else():
    s = full()
    changed = s[[4, 1]].replace(labels=[7, 8], times=[np.arange(3), np.arange(4) + 1.0], groups=None)
    assert changed.labels.tolist() == [7, 8]
    assert changed.times.tolist() == [0, 1, 2, 1, 2, 3, 4]
    assert changed.groups is None
    assert changed.ids.tolist() == ["s4", "s1"]
    np.testing.assert_array_equal(changed.values, s[[4, 1]].values)
    assert s.replace(times=None).times is None
    assert s.replace().equals(s)
    assert tl.Sequences(s, labels=range(6)).times.tolist() == s.times.tolist()


def test_times_may_be_shared_numbers_or_datetimes():
    shared = tl.Sequences(np.zeros((2, 3)), times=[0.0, 0.1, 0.5])
    assert shared.times.tolist() == [0, 0.1, 0.5] * 2
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-04"], "datetime64[D]")
    dated = tl.Sequences(np.zeros((2, 3)), times=[days, days])
    assert dated.times.dtype == "datetime64[ns]"
    assert np.diff(dated[:1].elapsed_times).tolist() == [86400, 172800]


def test_pickling_for_worker_processes_takes_only_the_selection():
    s = full()
    assert pickle.loads(pickle.dumps(s)).equals(s)
    few = tl.Sequences(np.zeros((10_000, 10)))[[1, 5]]
    assert len(pickle.dumps(few)) < 5000
    back = pickle.loads(pickle.dumps(few))
    with pytest.raises(ValueError, match="read-only"):
        back.values[0] = 1


def test_pickling_overlapping_windows_takes_only_what_they_cover():
    clock = np.arange(10_000.0)
    s = tl.Sequences([clock, clock], times=[clock, clock], labels=["a", "b"], ids=["x", "y"])
    cut = s.windows(900)[5000:]
    assert len(pickle.dumps(cut.replace(ids=None))) < 1_000_000  # end to end they would take 100 MB
    back = pickle.loads(pickle.dumps(cut))
    assert back.equals(cut)
    assert len(back.buffers()[0]) < 20_000
    with pytest.raises(ValueError, match="read-only"):
        back.values[0] = 1
    assert pickle.loads(pickle.dumps(s[:0])).equals(s[:0])


def test_masked_values_are_missing():
    block = np.ma.array([[1, 2, 3], [4, 5, 6]], mask=[[0, 1, 0], [0, 0, 0]])
    expected = [1, np.nan, 3, 4, 5, 6]
    for given_ in (block, list(block), [block[0], np.array([4, 5, 6])]):
        s = tl.Sequences(given_)
        assert s.dtype == np.float64
        np.testing.assert_array_equal(s.values.ravel(), expected)
    frames = [np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([3.0, 4.0])]  # the rows of one sequence
    np.testing.assert_array_equal(tl.Sequences([frames])[0], [[1, np.nan], [3, 4]])
    np.testing.assert_array_equal(tl.Sequences.from_packed(block[0], [0, 3]).values.ravel(), expected[:3])
    half = np.ma.array([[1, 2]], mask=[[1, 0]], dtype=np.float32)
    assert tl.Sequences(half).dtype == np.float32
    assert tl.Sequences(np.ma.array([[1, 2]])).dtype == np.int64


@pytest.mark.learn
def test_bfloat16_is_read_as_float32():
    s = tl.Sequences(torch.tensor([[1.5, 2.0]], dtype=torch.bfloat16))
    assert s.dtype == np.float32
    assert s[0].ravel().tolist() == [1.5, 2]


def test_padding_keeps_the_dtype_where_it_holds_the_fill():
    for dtype in (bool, np.uint8, np.int64, np.float16):
        s = tl.Sequences([np.ones(2, dtype), np.ones(1, dtype)])
        assert s.pad().values.dtype == dtype
        assert s.pad().values[1, 1, 0] == 0
    few = tl.Sequences([np.array([200, 1], np.uint8), np.array([3], np.uint8)])
    assert few.pad(fill=-1).values.ravel().tolist() == [200, 1, 3, -1]
    assert few.pad(fill=300).values.ravel().tolist() == [200, 1, 3, 300]
    np.testing.assert_array_equal(few.pad(fill=np.nan).values.ravel(), [200, 1, 3, np.nan])


@pytest.mark.learn
def test_a_tensor_has_the_dtype_that_holds_the_values():
    assert tl.Sequences([[100_000_001, 0]]).to_tensor().values.flatten().tolist() == [100_000_001, 0]
    assert tl.Sequences(np.ones((1, 2), np.int16)).to_tensor().values.dtype == torch.float32
    s = tl.Sequences([[1.0, 2.0]])
    for dtype in ("float32", "torch.float32", np.float32, torch.float32):
        assert s.to_tensor(dtype=dtype).values.dtype == torch.float32
    assert s.to_tensor(dtype="bfloat16").values.dtype == torch.bfloat16


def test_an_array_without_axes_is_a_position():
    s = full()
    for key in (np.array(2), np.int8(2)):
        np.testing.assert_array_equal(s[key], s[2])


@pytest.mark.learn
def test_tensors_are_positions():
    s = full()
    np.testing.assert_array_equal(s[torch.tensor(2)], s[2])
    assert s[torch.tensor([2, 0])].ids.tolist() == ["s2", "s0"]


def test_what_we_made_ourselves_is_locked_to_the_last_array():
    s = full()
    for array in (
        s.values,
        s[[1, 0]].values,
        s.codes,
        s.labels,
        s.copy().values,
        tl.concat([s, s]).values,
        s.derivative().values,
    ):
        while isinstance(array, np.ndarray):
            assert not array.flags.writeable
            array = array.base


def test_an_empty_selection_pads_to_nothing():
    empty = full()[:0]
    assert empty.pad().values.shape == (0, 0, 2)
    assert empty.pad(length=4).values.shape == (0, 4, 2)
    if torch:
        assert empty.to_tensor().values.shape == (0, 0, 2)


def test_the_printed_form_says_what_is_inside():
    assert repr(full()) == "Sequences(6 sequences, lengths 3 to 6, 2 channels, float64, 2 classes, 3 groups, times)"
    assert (
        repr(tl.Sequences(np.zeros((1, 2, 1, 4, 4), np.uint8)))
        == "Sequences(1 sequence, length 2, frames (1, 4, 4), uint8)"
    )
    assert "targets" in repr(tl.Sequences(np.zeros((2, 2)), labels=[0.5, 1.5]))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.Sequences([]), ValueError, "data is empty: expected at least one sequence"),
        (lambda: tl.Sequences(np.zeros((0, 3))), ValueError, r"data is empty \(shape \(0, 3\)\)"),
        (lambda: tl.Sequences([[1.0], []]), ValueError, r"data\[1\] has length 0: expected at least one time step"),
        (lambda: tl.Sequences(np.zeros((2, 0, 3))), ValueError, "every sequence of data has length 0"),
        (lambda: tl.Sequences(np.zeros((2, 3, 0))), ValueError, "expected at least one channel"),
        (lambda: tl.Sequences([np.zeros((3, 2)), np.zeros((3, 4))]), ValueError,
         r"data\[1\] has frames of shape \(4,\) but data\[0\] has \(2,\).*layout=\"nct\""),
        (lambda: tl.Sequences(np.zeros(3)), ValueError, r"data has shape \(3,\).*pass a list: Sequences\(\[x\]\)"),
        (lambda: tl.Sequences([1.0, 2.0]), TypeError, r"data\[0\] is a single number"),
        (lambda: tl.Sequences([["a", "b"]]), TypeError, r"data\[0\] has dtype <U1: expected numbers"),
        (lambda: tl.Sequences([[1.0, "b"]]), TypeError, r"expected numbers"),
        (lambda: tl.Sequences([[object()]]), TypeError, r"data\[0\] holds <object"),
        (lambda: tl.Sequences([[1j]]), TypeError, "complex128: expected real numbers"),
        (lambda: tl.Sequences([[[1.0, 2.0], [3.0]]]), TypeError, r"data\[0\] cannot be read as an array of numbers"),
        (lambda: tl.Sequences("file.ts"), TypeError, r"use timelike\.load"),
        (lambda: tl.Sequences(3), TypeError, "data is a int: expected a list of arrays"),
        (lambda: tl.Sequences([[1.0], [2.0, INF]]), ValueError, r"data\[1\] is infinite at time step 1"),
        (lambda: tl.Sequences([[1.0]], layout="tcn"), ValueError, "layout='tcn': expected \"ntc\""),
        (lambda: tl.Sequences([[1.0]], labels=[1, 2]), ValueError, r"labels has shape \(2,\) for 1 sequences"),
        (lambda: tl.Sequences([[1.0], [2.0]], labels=[1, None]), TypeError, r"labels\[1\] is None \(NoneType\)"),
        (lambda: tl.Sequences([[1.0]], labels=[NAN]), ValueError, r"labels\[0\] is nan: expected finite"),
        (lambda: tl.Sequences([[1.0]], labels=["z"], class_names=["a"]), ValueError, "'z', which is not among class_names"),
        (lambda: tl.Sequences([[1.0]], labels=[4], class_names=["a"]), ValueError, "expected integers 0 to 0"),
        (lambda: tl.Sequences([[1.0]], class_names=["a"]), ValueError, "class_names is given without labels"),
        (lambda: tl.Sequences([[1.0]], channel_names=["a", "b"]), ValueError, "channel_names has 2 names for 1 channels"),
        (lambda: tl.Sequences([[[1.0, 2.0]]], channel_names=["a", "a"]), ValueError, "channel_names holds 'a' twice"),
        (lambda: tl.Sequences([[1.0]], channel_names="a"), TypeError, "channel_names is the string 'a'"),
        (lambda: tl.Sequences([[1.0, 2.0]], times=[[1.0, 1.0]]), ValueError, "times of sequence 0 repeats at time step 1"),
        (lambda: tl.Sequences([[1.0], [1.0, 2.0]], times=[[5.0], [3.0, 1.0]]), ValueError,
         r"times of sequence 1 decreases at time step 1 \(3.0 then 1.0\): expected strictly increasing"),
        (lambda: tl.Sequences([[1.0, 2.0]], times=[[1.0]]), ValueError, r"times\[0\] has shape \(1,\): sequence 0 has 2"),
        (lambda: tl.Sequences([[1.0, 2.0]], times=[[1.0, NAN]]), ValueError, r"times\[0\] is nan"),
        (lambda: tl.Sequences([[1.0], [2.0, 3.0]], times=[1.0, 2.0]), ValueError, "expected one array per sequence"),
        (lambda: tl.Sequences([[1.0, 2.0]], times=[np.array(["2024-01-01", "NaT"], "datetime64[D]")]), ValueError, "NaT"),
        (lambda: tl.Sequences.from_packed([1.0, 2.0], [0, 1]), ValueError, "offsets runs from 0 to 1: expected 0 to 2"),
        (lambda: tl.Sequences.from_packed([1.0, 2.0], [0, 0, 2]), ValueError, "offsets gives sequence 0 the length 0"),
        (lambda: tl.Sequences.from_packed([1.0, 2.0], [0, 2.0]), ValueError, "expected n \\+ 1 integers"),
        (lambda: tl.Sequences.from_packed([1.0, 2.0], [0, 2], colour="red"), TypeError, "unknown arguments: colour"),
        (lambda: full().replace(colour=1), TypeError, "unknown arguments: colour"),
        (lambda: full()[6], IndexError, "position 6 is out of range for 6 sequences"),
        (lambda: full()[[0, 6]], IndexError, "position 6 is out of range for 6 sequences"),
        (lambda: full()[[-7]], IndexError, "position -7 is out of range for 6 sequences"),
        (lambda: full()[[True]], IndexError, "the mask has 1 entries for 6 sequences"),
        (lambda: full()[0.5], IndexError, "indexed by a position"),
        (lambda: full()[["a"]], IndexError, r"say s.where\(label='a'\)"),
        (lambda: tl.Sequences([[1.0]]).codes, ValueError, "have no labels"),
        (lambda: full()[0, 1], IndexError, r"s\[0, 1\]: index the sequence first"),
        (lambda: full()[(0,)], IndexError, "index the sequence first"),
        (lambda: full()[True], IndexError, "indexed by a position.*not True"),
        (lambda: full()[np.True_], IndexError, "indexed by a position"),
        pytest.param(lambda: full()[torch.tensor(True)], IndexError, "indexed by a position", marks=pytest.mark.learn),
        (lambda: full()[np.array(1.5)], IndexError, "expected an integer"),
        (lambda: 0 in full(), TypeError, "'0' in sequences: membership is not defined.*look in labels"),
        (lambda: tl.Sequences([full(), full()]), TypeError, r"data\[0\] is a collection \(Sequences\): .*concat\(\[...\]\)"),
        (lambda: tl.Sequences([[[1.0, 2.0]], full()]), TypeError, r"data\[1\] is a collection"),
        (lambda: tl.Sequences([None]), TypeError, r"data\[0\] is None: expected an array"),
        (lambda: tl.sequences.as_single_sequence(None, "x"), TypeError, "x is None: expected an array"),
        pytest.param(lambda: tl.Sequences(torch.eye(2).to_sparse()), TypeError, r"data is a sparse tensor .* use to_dense\(\)", marks=pytest.mark.learn),
        (lambda: tl.Sequences(sparse.csr_matrix(np.eye(2))), TypeError, r"data is a sparse csr_matrix: .* toarray\(\)"),
        (lambda: tl.Sequences([sparse.csr_array(np.eye(2))]), TypeError, r"data\[0\] is a sparse csr_array"),
        (lambda: tl.Sequences([[1.0], [2.0]], labels=[1, "1"]), TypeError, r"labels\[1\] is '1' but labels\[0\] is 1: expected all"),
        (lambda: tl.Sequences([[1.0], [2.0]], labels=["1", 1]), TypeError, r"labels\[1\] is 1 but labels\[0\] is '1'"),
        (lambda: tl.Sequences([[1.0], [2.0]], labels=["a", None]), TypeError, r"labels\[1\] is None \(NoneType\)"),
        (lambda: tl.Sequences([[1.0]], labels=np.ma.array([1], mask=[True])), ValueError, "labels is masked"),
        (lambda: full().pad(fill="x"), TypeError, "fill='x': expected a number"),
        (lambda: full().pad(fill=None), TypeError, "fill=None: expected a number"),
        (lambda: full().pad(fill=10**30), ValueError, "within the range of 64 bits"),
        (lambda: full().pad(length=9.0), TypeError, "length=9.0: expected an integer"),
        pytest.param(lambda: full().to_tensor(dtype="float33"), ValueError, "dtype='float33': expected a torch dtype or its name", marks=pytest.mark.learn),
        pytest.param(lambda: full().to_tensor(dtype=3), ValueError, "dtype=3: expected a torch dtype", marks=pytest.mark.learn),
        (lambda: tl.concat([]), ValueError, "parts is empty"),
        (lambda: tl.concat([full(), full().replace(labels=None)]), ValueError, r"parts\[1\] has no labels but others have"),
        (lambda: tl.concat([full(), tl.Sequences([[1.0]])]), ValueError, r"parts\[1\] has frames \(1,\)"),
        (lambda: tl.concat([full(), [1.0]]), TypeError, r"parts\[1\] is a list"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_a_way_out(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_tables_are_refused_with_the_call_that_takes_them():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    with pytest.raises(TypeError, match="use Sequences.from_frame"):
        tl.Sequences(pandas.DataFrame({"a": [1.0]}))
    with pytest.raises(
        TypeError, match=r"data\[0\] is a table \(DataFrame\): .*Sequences.from_frames.*Sequences.from_frame"
    ):
        tl.Sequences([pandas.DataFrame({"a": [1.0]})])
    with pytest.raises(TypeError, match="use Sequences.from_xarray"):
        tl.Sequences(xarray.DataArray(np.zeros((2, 3))))


def test_a_memoryview_is_read_like_the_array_it_shows():
    block, clock = np.arange(12.0).reshape(2, 3, 2), np.arange(6.0).reshape(2, 3)
    found = tl.Sequences(memoryview(block), labels=memoryview(np.array([1, 0])), times=memoryview(clock))
    assert found.equals(tl.Sequences(block, labels=[1, 0], times=clock))
    assert tl.Sequences([memoryview(block[0]), block[1]]).equals(tl.Sequences(block))
    np.testing.assert_array_equal(tl.DTW().pairwise(memoryview(block)), tl.DTW().pairwise(block))
    for wrong, error, message in (
        (lambda: tl.Sequences(memoryview(b"abc")), ValueError, r"data has shape \(3,\)"),
        (lambda: tl.Sequences(block, channel_names=memoryview(b"ab")), TypeError, "channel_names is a memoryview"),
        (lambda: tl.concat(memoryview(block)), TypeError, r"parts\[0\] is a memoryview: expected Sequences"),
    ):
        with pytest.raises(error, match=message):
            wrong()
