"""What every forecaster promises about randomness: its verbs draw with generators of their own."""

import inspect
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import timelike as tl
from contract.discover import FORECASTERS, data, fitted, small
from optional_torch import torch
from timelike.models import Model

# how each public verb is called, given a fitted model and sequences; a new verb needs a line here
CALLS = {
    "fit": lambda model, X: small(type(model)).fit(X),
    "calibrate": lambda model, X: small(type(model)).fit(X).calibrate(X, horizon=2),
    "predict": lambda model, X: model.predict(X, 3, random_state=0).samples,
    "swap": lambda model, X: model.swap(X[:2], X[2:4], 2, random_state=0).samples,
    "elbo": lambda model, X: np.stack(list(vars(model.elbo(X, n_samples=2, random_state=0)).values())),
    "states": lambda model, X: model.states(X).values,
    "events": lambda model, X: np.concatenate(model.events(X)),
    "encode": lambda model, X: model.encode(X),
    "reconstruct": lambda model, X: model.reconstruct(X).values,
    "interpolate": lambda model, X: model.interpolate(X[0][:9], X[1][:9], steps=3).values,
    "solution": lambda model, X: model.solution(2).alpha,
}
GENERAL = {name for name, _ in inspect.getmembers(Model, callable)} | {"preset"}  # of every model, not of forecasters


def verbs(kind):
    """The public methods of a forecaster; those that scikit-learn and the base of models have are tested there."""
    methods = (name for name, value in inspect.getmembers(kind, callable) if not name.startswith("_"))
    return sorted(name for name in methods if name == "fit" or (name not in GENERAL and not name.startswith("set_")))


def states():
    of_torch = torch.get_rng_state().numpy().tobytes() if torch else b""
    return of_torch, str(np.random.get_state()), random.getstate()  # noqa: NPY002


def draw_a_few():
    """As a caller would: from torch's generator, where there is one."""
    if torch:
        torch.randn(50)
    else:
        np.random.standard_normal(50)  # noqa: NPY002


@pytest.mark.parametrize("kind", FORECASTERS)
def test_no_verb_moves_the_callers_generators(kind):
    X, model = data(kind, seed=3), fitted(kind)
    for verb in verbs(kind):
        assert verb in CALLS, f"{kind.__name__}.{verb} is new: say in CALLS how it is called"
        draw_a_few()
        before = states()
        CALLS[verb](model, X)
        assert states() == before, verb


@pytest.mark.parametrize("kind", FORECASTERS)
def test_threads_change_no_answer(kind):
    """Also while another thread draws from torch's generator, or NumPy's, which all threads share."""
    X, model, over = data(kind, seed=3), fitted(kind), threading.Event()
    called = [verb for verb in verbs(kind) if verb not in ("fit", "calibrate")]
    alone = {verb: CALLS[verb](model, X) for verb in called}

    def draw():
        while not over.is_set():
            draw_a_few()

    with ThreadPoolExecutor(4) as pool:
        drawing = pool.submit(draw)
        found = [(verb, pool.submit(CALLS[verb], model, X)) for verb in called for _ in range(3)]
        answers = [(verb, answer.result()) for verb, answer in found]
        over.set()
        drawing.result()
    for verb, answer in answers:
        np.testing.assert_array_equal(answer, alone[verb], err_msg=verb)


@pytest.mark.learn
def test_samples_of_a_training_do_not_depend_on_what_was_drawn_before():
    """Noise of a batch is that of its own seed, whatever torch's generator has come to in the meantime."""
    X = data(tl.SRVP, seed=3)

    class Drawing(tl.SRVP):
        def _make_chunk_objective(self, *given):
            objective = super()._make_chunk_objective(*given)
            loss = objective.loss
            objective.loss = lambda batch: (torch.randn(7), loss(batch))[1]
            return objective

    how = {name: getattr(small(tl.SRVP), name) for name in small(tl.SRVP).get_params(deep=False)}
    one, other = tl.SRVP(**how).fit(X), Drawing(**how).fit(X)
    np.testing.assert_array_equal(one.history_.losses, other.history_.losses)
