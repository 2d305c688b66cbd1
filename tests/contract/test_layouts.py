"""Every public method answers the same, bit for bit, however the numbers lie in memory, and leaves them alone."""

import inspect
import warnings

import numpy as np
import pytest
import torch

import timelike as tl
from contract.calls import DECLINED, FUNCTIONS, VALUES, arguments, leaves, owner, verbs
from contract.discover import MODELS, MODULES, PLAIN_METRICS, data, module, small, targets
from contract.test_kernels import KERNELS, data as kernel_data, example

TEXT = "U"


def fortran(x, folder):
    return np.asfortranarray(x)


def strided(x, folder):
    """Every second row and column of something larger."""
    large = np.zeros([2 * size for size in x.shape], x.dtype)
    large[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return large[tuple(slice(None, None, 2) for _ in x.shape)]


def reversed_(x, folder):
    return np.ascontiguousarray(np.flip(x))[tuple(slice(None, None, -1) for _ in x.shape)]


def read_only(x, folder):
    found = x.copy()
    found.flags.writeable = False
    return found


def big_endian(x, folder):
    return x.astype(x.dtype.newbyteorder(">"))


def unaligned(x, folder):
    """As a field of a record lies that begins with a single byte."""
    raw = np.zeros(x.nbytes + 1, np.uint8)
    found = raw[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def mapped(x, folder):
    if x.dtype.kind == TEXT:
        return x.copy()
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, x)
    return np.load(path, mmap_mode="r")


LAYOUTS = [fortran, strided, reversed_, read_only, big_endian, unaligned, mapped]


@pytest.fixture
def changed(tmp_path):
    """Changes arrays, and those in a list, to a layout, and checks at the end that their numbers are as before."""
    before = []

    def change(value, layout):
        if isinstance(value, list):
            return [change(one, layout) for one in value]
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return value
        found = layout(value, tmp_path)
        before.append((found, value.copy(), found.flags.writeable))
        return found

    yield change
    for found, expected, writeable in before:
        np.testing.assert_array_equal(found, expected)
        assert found.flags.writeable == writeable


def mixed(value, change, first=0):
    """Each sequence of a collection in another layout."""
    layouts = [LAYOUTS[(first + i) % len(LAYOUTS)] for i in range(len(value))]
    return [change(one, layout) for one, layout in zip(value, layouts, strict=True)]


def same(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.dtype.isnative
        np.testing.assert_array_equal(one, other)


def quiet(call, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


# --- the container -----------------------------------------------------------------------------------------------

PLAIN = np.arange(24.0).reshape(4, 3, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
class TestEveryWayIntoTheContainer:
    def ready(self, X):
        base, starts, lengths = X.buffers()
        for array in (base, starts, lengths, X.values, X.times):
            assert array is None or (array.flags.c_contiguous and array.flags.aligned)
        for array in (base, X.values, X.times, X.labels, X.groups, X.ids):
            assert array is None or (array.dtype.isnative and not array.flags.writeable)
        return X

    def test_gives_rows_end_to_end_in_native_bytes(self, layout, changed):
        block, rows = changed(PLAIN, layout), [changed(x, layout) for x in PLAIN]
        expected = tl.Sequences(PLAIN)
        offsets = changed(np.array([0, 3, 6, 9, 12]), layout)
        times = changed(np.arange(3.0), layout)
        for X in (
            tl.Sequences(block),
            tl.Sequences(rows),
            tl.Sequences(tuple(rows)),
            tl.Sequences(changed(PLAIN.swapaxes(1, 2).copy(), layout), layout="nct"),
            tl.Sequences([row.T for row in rows], layout="nct"),
            tl.Sequences.from_packed(changed(PLAIN.reshape(12, 2), layout), offsets),
            tl.concat([tl.Sequences(rows[:1]), tl.Sequences(block)[1:]]),
            tl.sequences.as_sequences(block, "X"),
        ):
            assert self.ready(X).equals(expected)
        for one in (tl.sequences.as_one(rows[0], "x"), tl.Sequences(rows[:1])):
            assert self.ready(one).equals(expected[:1])
        tables = tl.Sequences.from_frames([("a", rows[0]), ("b", rows[1])])
        np.testing.assert_array_equal(self.ready(tables).values, expected[:2].values)
        known = tl.Sequences(
            block,
            times=times,
            labels=changed(np.array(["a", "b", "a", "b"]), layout),
            groups=changed(np.array([1, 2, 3, 4]), layout),
            ids=changed(np.array(["p", "q", "r", "s"]), layout),
            channel_names=["ax", "ay"],
        )
        self.ready(known.replace(times=changed(PLAIN[..., 0] + 1, layout)))
        dated = changed(np.arange(3).astype("datetime64[s]"), layout)
        self.ready(known.replace(times=dated))
        for part in (known, known["ay"], known[::2], known[[3, 0]], known.windows(2), known.crop(1), known.standardize(),
                     known.derivative(), known.copy(), known.resample(5)):  # fmt: skip
            self.ready(part)

    def test_copies_nothing_that_compiled_code_can_read(self, layout, changed):
        block = changed(PLAIN, layout)
        assert np.shares_memory(tl.Sequences(block).values, block) == (layout in (read_only, mapped))


def test_tensors_in_any_order_are_read_as_their_contiguous_copy():
    x = torch.from_numpy(PLAIN.copy())
    for odd in (x.transpose(1, 2).contiguous().transpose(1, 2), x.repeat(1, 2, 1)[:, ::1][:, :3], x.flip(0).flip(0),
                x.clone().requires_grad_()):  # fmt: skip
        assert tl.Sequences(odd).equals(tl.Sequences(PLAIN))
        assert tl.Sequences(list(odd)).equals(tl.Sequences(PLAIN))


# --- metrics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLAIN_METRICS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_elastic_metric_answers_the_same_for_every_layout(kind, layout, changed):
    rng = np.random.default_rng(1)
    plain = [rng.standard_normal((7 if kind is tl.Euclidean else 6 + i, 2)) for i in range(4)]
    odd, metric = [changed(x, layout) for x in plain], kind()
    same(metric.pairwise(odd), metric.pairwise(plain))
    same(metric.pairwise(tl.Sequences(odd), odd[:2]), metric.pairwise(plain, plain[:2]))
    same(metric.neighbors(odd, odd[1:], k=2), metric.neighbors(plain, plain[1:], k=2))
    assert metric.distance(odd[0], odd[1]) == metric.distance(plain[0], plain[1])


@pytest.mark.parametrize("kind", PLAIN_METRICS)
def test_every_verb_of_a_metric_takes_any_mixture_of_layouts(kind, changed):
    for verb, parameters in verbs(kind):
        plain = arguments(kind, verb, parameters)
        odd = {n: mixed(v, changed, 1) if isinstance(v, list) else changed(v, fortran) for n, v in plain.items()}
        same(quiet(getattr(kind(), verb), **odd), quiet(getattr(kind(), verb), **plain))


# --- models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_learns_the_same_from_any_mixture_of_layouts(kind, changed):
    X = data(kind)
    model = quiet(
        small(kind).fit, mixed([np.array(x) for x in X], changed), changed(np.array(targets(kind, X)), strided)
    )
    same(model, quiet(small(kind).fit, [np.array(x) for x in X], targets(kind, X)))


@pytest.mark.parametrize("kind", MODELS)
def test_every_verb_of_a_model_takes_any_mixture_of_layouts(kind, changed):
    for verb, parameters in verbs(kind):
        if verb in ("fit", "fit_predict", "fit_transform") or (kind.__name__, verb) in DECLINED:
            continue
        plain = arguments(kind, verb, parameters)
        expected = quiet(getattr(owner(kind, verb), verb), **plain)
        layout = LAYOUTS[len(verb) % len(LAYOUTS)]
        odd = {n: mixed(v, changed, len(verb)) if isinstance(v, list) else changed(v, layout) for n, v in plain.items()}
        same(quiet(getattr(owner(kind, verb), verb), **odd), expected)


# --- kernels, functions, torch modules ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KERNELS)
def test_a_kernel_answers_the_same_for_every_layout(kind, changed):
    kernel, x = example(kind), kernel_data(example(kind), 6)
    expected = kernel(x, x[:3])
    for layout in LAYOUTS:
        odd = changed(x, layout)
        same(kernel(odd, odd[:3]), expected)


@pytest.mark.parametrize("name", [*FUNCTIONS, *VALUES])
def test_a_function_answers_the_same_for_every_layout(name, changed):
    call = (FUNCTIONS | VALUES)[name]
    expected = quiet(call.run, **call.given)
    assert not call.given or leaves(expected), "nothing is compared"
    for layout in LAYOUTS:
        same(quiet(call.run, **{name: changed(value, layout) for name, value in call.given.items()}), expected)


def test_no_public_function_is_left_out():
    """Those that take no arrays are listed here: they make values, draw data, or are given tensors and networks."""
    others = {
        "distributions.as_discriminator", "distributions.of", "distributions.empirical_ntk",
        "distributions.train_generator", "encode.combine", "forecast.passage", "forecast.swaps",
        "metric.alignment_error", "metric.augmented", "metric.class_scores", "metric.consistency",
        "metric.episode_loss", "recognize.rank_table",
    }  # fmt: skip
    rooms = ("align", "distributions", "encode", "forecast", "metric", "prepare", "recognize", "score")
    public = {
        f"{room}.{name}"
        for room in rooms
        for name in getattr(tl, room).__all__
        if inspect.isfunction(found := getattr(getattr(tl, room), name)) and _takes_arrays(found)
    }
    assert public - set(FUNCTIONS) <= others


def _takes_arrays(function):
    """Whether an argument that must be given is annotated as an array, or as anything."""
    needed = (p for p in inspect.signature(function).parameters.values() if p.default is p.empty)
    return any("Any" in str(p.annotation) or "Array" in str(p.annotation) for p in needed)


PATH_LOSSES = (tl.nn.MaxError, tl.nn.TimeDev, tl.nn.TimeErr, tl.nn.WarpMSE)  # of warps (batch, knot)


@pytest.mark.parametrize("kind", MODULES)
def test_a_torch_module_answers_the_same_for_tensors_in_any_order(kind):
    network = module(kind).eval()
    names = [n for n, p in inspect.signature(network.forward).parameters.items() if p.default is p.empty]
    torch.manual_seed(1)
    frame = () if issubclass(kind, PATH_LOSSES) else (1, 1, 2) if kind is tl.nn.ImageNetwork else (2,)
    plain = {name: torch.randn(3, 6, *frame, dtype=torch.float32) for name in names if "length" not in name}
    odd = {
        name: x.transpose(0, 1).contiguous().transpose(0, 1) if i % 2 == 0 else x.repeat_interleave(2, 1)[:, ::2]
        for i, (name, x) in enumerate(plain.items())
    }
    assert not all(x.is_contiguous() for x in odd.values())
    lengths = {name: torch.tensor([6, 4, 1]) for name in names if "length" in name}
    gradients = []
    for given in (plain, odd):
        leaf = {name: x.detach().requires_grad_() for name, x in given.items()}
        answer = network(**leaf, **lengths)
        parts = [part for part in (answer if isinstance(answer, tuple) else (answer,)) if part is not None]
        found = [part for part in parts if part.requires_grad]
        sum(part.sum() for part in found).backward() if found else None
        gradients.append([*(part.detach() for part in parts), *(x.grad for x in leaf.values() if x.grad is not None)])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)
