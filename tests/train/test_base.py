"""What every model with a network has from its base: standardized input, a seed, checkpoints, threads, weights in a file."""

import math
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from torch import nn

import timelike as tl
from timelike import native
from timelike.core.parameters import store_parameters
from timelike.models import options, schema
from timelike.train import Batch, History, Objective, Trained, checkpoints, fit
from timelike.train.callbacks import ProgressBar
from timelike.train.double_precision import double_precision_copy
from timelike.train.processes import Processes
from timelike.train.torch_threads import torch_threads


class ToTheMean(Objective):
    """A linear map of the mean over time that is to give 1; keeps what it was given."""

    def __init__(self, module, ready, patient):
        self.module, self.ready, self.patient = module, ready, patient
        self.seen = []

    @property
    def has_validation(self):
        return self.patient

    def validate(self):
        return -float(self.module(self.ready.to_tensor()[0].mean(1)).square().mean())

    def optimizers(self):
        return torch.optim.SGD(self.module.parameters(), lr=0.01)

    def batches(self, epoch, rng):
        yield Batch.from_sequences(self.ready, np.arange(len(self.ready)))

    def loss(self, batch):
        return (self.module(batch["x"].mean(1)) - 1).square().mean()


class Linear(Trained):
    """The smallest model with a network."""

    width = options.integer(1)
    rate = options.real(above=0, role="free")
    given_ = schema.derived_value()

    def __init__(
        self,
        *,
        width=1,
        rate=0.01,
        patient=False,
        standardize=True,
        max_steps=4,
        max_time=None,
        progress=False,
        trainer=None,
        random_state=None,
    ):
        store_parameters(self, locals())

    def _build_network(self, frame):
        return nn.Linear(math.prod(frame), self.width)

    def _make_objective(self, ready, targets):
        self.given_ = ready
        return ToTheMean(self.network_, ready, self.patient)

    def _validate_targets(self, sequences, y):
        return None if y is None else np.asarray(y)


rng = np.random.default_rng(0)
X = tl.Sequences([5 + 3 * rng.normal(size=(length, 2)) for length in (4, 6, 5)])


def weights(model):
    return torch.cat([tensor.reshape(-1) for tensor in model.network_.state_dict().values()])


def test_a_network_is_given_standardized_sequences_unless_that_is_not_wanted():
    values = Linear().fit(X).given_.values
    np.testing.assert_allclose(values.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(values.std(0), 1, atol=1e-6)
    plain = Linear(standardize=False).fit(X).given_.values
    np.testing.assert_allclose(plain, X.values, rtol=1e-6)
    assert plain.dtype == np.float32


def test_frames_of_any_shape_become_vectors():
    images = tl.Sequences(np.random.default_rng(1).normal(size=(3, 4, 2, 3)))
    assert Linear().fit(images).given_.frame == (6,)


def test_a_seed_gives_the_same_first_weights_and_leaves_torchs_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, again, other = (weights(Linear(random_state=seed).fit(X)) for seed in (0, 0, 1))
    assert torch.equal(torch.rand(2), expected)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_trained_network_answers_in_float32_and_not_as_in_training():
    model = Linear(trainer=tl.Trainer(precision="64-true")).fit(X)
    assert model.network_.weight.dtype == torch.float32
    assert not model.network_.training
    assert model.history_.n_steps == 4


def test_patience_is_for_what_has_a_score():
    assert len(Linear(patient=True).fit(X).history_.scores) > 0
    assert Linear(patient=False).fit(X).history_.stop_reason == "max_steps"


def test_messages_name_the_estimator_and_not_its_objective(capsys):
    Linear(progress=True).fit(X)
    assert "Linear: 100%" in capsys.readouterr().err


def test_a_checkpoint_is_continued_with_the_same_data_targets_and_options_only(tmp_path):
    trainer = tl.Trainer(checkpoint=tmp_path / "kept")
    first = Linear(random_state=0, trainer=trainer).fit(X, [0, 1, 0])
    again = Linear(random_state=0, trainer=trainer, rate=0.5, progress=False).fit(X, [0, 1, 0])  # its rate may change
    assert torch.equal(weights(first), weights(again))
    for options_now, given, targets, named in [
        ({"width": 2}, X, [0, 1, 0], "another width, 1 there and 2 here"),
        ({"standardize": False}, X, [0, 1, 0], "another standardize, True there and False here"),
        ({}, X[:2], [0, 1], "other sequences"),
        ({}, X[[1, 0, 2]], [0, 1, 0], "other sequences"),
        ({}, X, [1, 1, 0], "other labels"),
    ]:
        with pytest.raises(ValueError, match=named):
            Linear(random_state=0, trainer=trainer, **options_now).fit(given, targets)


def test_what_is_drawn_before_training_is_the_same_where_it_may_be_continued():
    def draws(**given):
        return [Linear(**given)._rng().random() for _ in range(2)]

    continued = tl.Trainer(checkpoint="folder")
    assert len(set(draws(trainer=continued))) == 1
    assert len(set(draws(random_state=4))) == 1
    assert len(set(draws())) == 2
    assert draws(random_state=4, trainer=continued)[0] == np.random.default_rng(4).random()


def test_weights_come_back_from_a_file_and_the_state_that_was_read_stays_as_it_is():
    model = Linear(random_state=0, width=3).fit(X)
    state = model._get_state()
    copy = Linear(random_state=5, width=3)
    before = dict(state)
    copy._set_state(state)
    assert state.keys() == before.keys()
    assert torch.equal(weights(copy), weights(model))
    assert not copy.network_.training
    assert copy.frame_ == (2,)


# --- how a network answers


def test_a_double_precision_copy_is_made_anew_when_a_weight_or_a_running_mean_changes():
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    copied = double_precision_copy(network)
    assert copied[0].weight.dtype == torch.float64
    assert not copied.training
    assert double_precision_copy(network) is copied
    network[1].running_mean.fill_(2.0)
    assert double_precision_copy(network)[1].running_mean.tolist() == [2.0, 2.0]
    network[0].weight.data[0, 0] += 1
    assert double_precision_copy(network)[0].weight[0, 0] == network[0].weight[0, 0]
    network.append(nn.Linear(2, 2))
    assert len(double_precision_copy(network)) == 3


def test_torch_has_so_many_threads_inside_and_as_many_as_before_afterwards(monkeypatch):
    monkeypatch.setattr(native, "cpu_count", lambda: 3)
    before = torch.get_num_threads()
    with torch_threads(2):
        assert torch.get_num_threads() == 2
        with torch_threads(8):
            assert torch.get_num_threads() == 3  # no more than there are processors
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), torch_threads(2):
        raise KeyError
    assert torch.get_num_threads() == before


def test_calls_that_overlap_in_several_threads_leave_the_number_of_threads_as_it_was(monkeypatch):
    monkeypatch.setattr(native, "cpu_count", lambda: 4)
    before, together = torch.get_num_threads(), Barrier(2, timeout=300)

    def overlap(count):
        with torch_threads(count):
            together.wait()  # both are inside
        return torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(overlap, [2, 3])) == [before, before]
    assert torch.get_num_threads() == before


# --- what a training does beside


def test_a_training_is_silent_unless_it_is_asked_for_a_bar(capsys):
    fit(ToTheMean(nn.Linear(2, 1), X, False), max_steps=2)
    assert capsys.readouterr() == ("", "")


def test_no_process_looks_for_a_checkpoint_before_the_first_has_tidied_up(tmp_path, monkeypatch):
    said = []
    waiting, reading = Processes.barrier, checkpoints._read_latest
    monkeypatch.setattr(Processes, "barrier", lambda self: said.append("waited") or waiting(self))
    monkeypatch.setattr(checkpoints, "_remove_checkpoints", lambda folder: said.append("cleared"))
    monkeypatch.setattr(checkpoints, "_read_latest", lambda folder: said.append("read") or reading(folder))
    fit(ToTheMean(nn.Linear(2, 1), X, False), max_steps=1, checkpoint=tmp_path, resume=False)
    assert said[:4] == ["cleared", "waited", "read", "waited"]


def test_the_loss_beside_a_bar_is_a_running_mean():
    class Bar:
        shown = ()

        def set_postfix(self, words):
            self.shown = (*self.shown, words.removeprefix("loss="))

        def update(self, count):
            pass

    class Run:
        history = History()

    bar = ProgressBar(3, None)
    bar._bar = Bar()
    for step, loss in enumerate((1.0, 2.0, 3.0)):
        Run.history.record("loss", step, loss)
        bar.on_step_end(Run)
    assert bar._bar.shown == ("1", "1.05", "1.147")  # a twentieth of the new one each time, four digits
