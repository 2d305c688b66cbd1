"""Every public method answers the same, bit for bit, however the numbers lie in memory, and leaves them alone."""

import inspect
import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import timelike as tl
from contract.calls import DECLINED, FUNCTIONS, VALUES, arguments, leaves, owner, verbs
from contract.discover import LOSSES, MODELS, MODULES, PLAIN_METRICS, VECTORS, data, module, small, targets
from contract.test_kernels import KERNELS, data as kernel_data, example
from optional_torch import torch
from timelike import _exports
from timelike.align import Aligner, ElasticDistance, EntropicTransport, FittedMetric, Metric
from timelike.distributions import Kernel
from timelike.distributions.discriminators.base import Discriminator
from timelike.encode import Encoder
from timelike.forecast import Forecaster
from timelike.models import Model
from timelike.prepare import Preparation
from timelike.sequences.augment import Augmentation
from timelike.train import Trained

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
        for one in (tl.sequences.as_single_sequence(rows[0], "x"), tl.Sequences(rows[:1])):
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


@pytest.mark.learn
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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.learn if call.needs_learn else ())
        for name, call in (FUNCTIONS | VALUES).items()
    ],
)
def test_a_function_answers_the_same_for_every_layout(name, changed):
    call = (FUNCTIONS | VALUES)[name]
    expected = quiet(call.run, **call.given)
    assert not call.given or leaves(expected), "nothing is compared"
    for layout in LAYOUTS:
        same(quiet(call.run, **{name: changed(value, layout) for name, value in call.given.items()}), expected)


def public_names():
    """Everything that a package offers, by its full name."""
    for package in _exports.public_packages():
        for name in _exports.public_names(package):
            yield f"{package.removeprefix('timelike.')}.{name}", getattr(import_module(package), name)


@pytest.mark.learn  # which imports every name
def test_no_public_function_is_left_out():
    """Those that take no arrays are listed here: they make values, draw figures of others' answers, or hash bytes."""
    others = {
        "attacks.suite", "distributions.as_discriminator", "distributions.plot_dirac_fields",
        "distributions.plot_landscapes", "distributions.plot_particle_images",
        "distributions.plot_particles", "distributions.plot_profiles", "forecast.latent_interpolation",
        "forecast.swap_grid", "metric.losses.adapt_loss", "models.fingerprint", "models.save_model",
        "models.summarize_model",
    }  # fmt: skip
    public = {name for name, found in public_names() if inspect.isfunction(found) and _takes_arrays(found)}
    assert public - set(FUNCTIONS) == others
    assert set(FUNCTIONS) <= {name for name, found in public_names() if inspect.isfunction(found)}


@pytest.mark.learn
def test_no_public_class_that_reads_data_is_left_out():
    """Estimators, aligners, encoders, forecasters, preparations, kernels, discriminators, losses, modules, streams."""
    roles = (Model, Metric, Kernel, Discriminator, Augmentation, torch.nn.Module, BaseEstimator)
    roles += (tl.attacks.Attack, tl.metric.losses.Loss)
    called = {name.partition(".")[0] for name in VALUES} | {name.removeprefix("augment.") for name in VALUES}
    covered = {*MODELS, *PLAIN_METRICS, *KERNELS, *LOSSES, *NETWORKS}
    public = {found for _, found in public_names() if isinstance(found, type) and not inspect.isabstract(found)}
    left_out = {kind for kind in public if issubclass(kind, roles)} - covered
    # bases that are no methods themselves: what they say of input is said of their subclasses
    bases = {ElasticDistance, EntropicTransport, FittedMetric, Trained, Preparation}
    bases |= {tl.metric.DistanceNetwork, tl.metric.AlignmentNetwork}
    # networks that only their estimators call, whose input they have standardized and packed
    inner = {tl.forecast.SRVPNetwork, tl.prototypes.PrototypeNetwork}
    assert {kind.__name__ for kind in left_out - bases - inner} <= called
    streams = {kind.__name__ for kind in public if hasattr(kind, "push") or hasattr(kind, "test")}
    assert streams <= called
    assert {Forecaster, Encoder, Aligner} <= {base for kind in covered for base in kind.__mro__}


def _takes_arrays(function):
    """Whether an argument that must be given is annotated as an array, or as anything."""
    needed = (p for p in inspect.signature(function).parameters.values() if p.default is p.empty)
    return any("Any" in str(p.annotation) or "Array" in str(p.annotation) for p in needed)


NETWORKS = [*MODULES, *(getattr(tl.nn, name) for name in sorted(VECTORS) if torch)]
PATH_LOSSES = ("MaxError", "TimeDev", "TimeErr", "WarpMSE")  # of warps (batch, knot)


def transposed(x):
    """The same numbers with the first two axes exchanged in memory."""
    return x.transpose(0, 1).contiguous().transpose(0, 1)


@pytest.mark.learn
@pytest.mark.parametrize("kind", NETWORKS)
def test_a_torch_module_answers_the_same_for_tensors_in_any_order(kind):
    more = {"n_features": 2} if kind is tl.nn.Similarity else {}
    more |= {"frame": 2, "conditioning": 6} if kind is tl.nn.Separation else {}
    network = module(kind, **more).eval()
    network = partial(network, horizon=2) if kind is tl.nn.Separation else network
    names = [n for n, p in inspect.signature(kind.forward).parameters.items() if p.default is p.empty]
    names = [name for name in names if name not in ("self", "horizon")]
    torch.manual_seed(1)
    frame = () if kind.__name__ in PATH_LOSSES else (1, 1, 2) if kind is tl.nn.ImageNetwork else (2,)
    plain = {name: torch.randn(3, 6, *frame, dtype=torch.float32) for name in names if "length" not in name}
    odd = {
        name: transposed(x) if i % 2 == 0 else x.repeat_interleave(2, 1)[:, ::2]
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


@pytest.mark.learn
@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_answers_the_same_for_tensors_in_any_order(kind):
    torch.manual_seed(1)
    distances, labels = torch.rand(6, 6), torch.tensor([0, 0, 1, 1, 2, 2])
    found = [kind()(x, labels.repeat_interleave(2)[::2]) for x in (distances, transposed(distances))]
    assert torch.equal(found[1], found[0])
    if kind.pair_loss is not tl.metric.losses.Loss.pair_loss:
        same = torch.tensor([True, False, True, False, False, True])
        single = distances.repeat_interleave(2, 1)[0, ::2]
        assert not single.is_contiguous()
        assert torch.equal(kind().pair_loss(single, same), kind().pair_loss(distances[0], same))


@pytest.mark.learn
def test_functions_of_tensors_answer_the_same_in_any_order():
    torch.manual_seed(1)
    x, lengths = torch.randn(4, 6, 2), torch.tensor([6, 4, 5, 6])
    network, labels = module(tl.nn.TAP).eval(), torch.tensor([0, 1, 0, 1])
    found = []
    for given in (x, transposed(x)):
        new = tl.metric.augment_batch(given, lengths, random_state=0)
        sides = network.features(transposed(new.x), new.lengths), network.features(given, lengths)
        found.append(
            [
                *new,
                tl.metric.consistency_loss(network, *sides, transposed(new.alignment)),
                tl.metric.class_scores(network, *sides, labels, 2),
                tl.metric.episode_loss(network, sides[0], labels, sides[1], labels, 2),
                tl.metric.alignment_error(*(transposed(new.alignment) for _ in range(2)), new.lengths, lengths),
            ]
        )
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)
