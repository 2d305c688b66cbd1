"""Every estimator of every package, found by itself, keeps the promises of the base of what is fitted."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import timelike as tl
from contract.discover import (
    FORECASTERS,
    MATRICES,
    MODELS,
    SINGLE,
    TRAINER_FIELDS,
    VERBS,
    answers,
    data,
    fitted,
    small,
    targets,
)
from optional_torch import torch
from timelike.encode import Encoder
from timelike.train import Trained

NONSENSE = object()


def same(found, expected, **close):
    assert found.keys() == expected.keys()
    for verb, answer in expected.items():
        assert found[verb].dtype == answer.dtype
        if close and answer.dtype.kind == "f":
            np.testing.assert_allclose(found[verb], answer, **close, err_msg=verb)
        else:
            np.testing.assert_array_equal(found[verb], answer, err_msg=verb)


def learn(model, X):
    return model.fit(X, targets(type(model), X))


def test_there_are_estimators_of_every_package_to_test():
    assert {
        tl.Neighbors,
        tl.KMeans,
        tl.neighbors.ElasticKernel,
        tl.EmbeddingClassifier,
        tl.Rocket,
        tl.Discriminant,
        tl.Fused,
    } < set(MODELS)
    assert {tl.forecast.Persistence, tl.forecast.Ridge} < set(FORECASTERS)
    assert {kind.__module__.split(".")[1] for kind in MODELS} >= {
        "cluster",
        "neighbors",
        "prototypes",
        "verify",
        "encode",
        "metric",
        "forecast",
        "prepare",
    }


@pytest.mark.learn
def test_there_are_networks_of_every_package_to_test():
    assert {tl.CausalEncoder, tl.TAP, tl.Prototypes} < set(MODELS)
    assert {tl.Separation, tl.SRVP} < set(FORECASTERS)


@pytest.mark.parametrize("kind", MODELS)
class TestEveryModel:
    def test_every_argument_of_the_constructor_is_a_declared_option(self, kind):
        declared = kind.options()
        assert list(declared) == list(inspect.signature(kind).parameters)
        assert all(option.role in ("model", "training", "free") for option in declared.values())
        small(kind)._refuse_options()

    def test_the_constructor_only_stores(self, kind):
        given = dict.fromkeys(inspect.signature(kind).parameters, NONSENSE)
        assert all(value is NONSENSE for value in vars(kind(**given)).values())

    def test_an_option_that_makes_no_sense_is_refused_by_its_name(self, kind):
        for name in kind.options():
            model = small(kind)
            setattr(model, name, NONSENSE)
            with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
                learn(model, data(kind))

    def test_before_fitting_it_says_what_to_call(self, kind, tmp_path):
        X = data(kind)
        for verb in VERBS:
            if hasattr(kind, verb):
                with pytest.raises(NotFittedError, match=r"is not fitted yet: call fit\(X.*\) first"):
                    getattr(small(kind), verb)(X)
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            small(kind).save(tmp_path / "model")
        assert list(tmp_path.iterdir()) == []

    def test_it_comes_back_from_a_folder_without_pickle_and_gives_the_same(self, kind, tmp_path):
        X, model = data(kind, seed=5), fitted(kind)
        model.save(tmp_path / "model")
        assert sorted(file.name for file in (tmp_path / "model").iterdir()) == ["config.json", "model.safetensors"]
        again = tl.load_model(tmp_path / "model")
        same(answers(again, X), answers(model, X))
        assert repr(again) == repr(model)
        again.save(tmp_path / "again")
        for name in ("config.json", "model.safetensors"):
            assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()

    def test_everything_it_learned_comes_back(self, kind, tmp_path):
        fitted(kind).save(tmp_path / "model")
        assert vars(tl.load_model(tmp_path / "model")).keys() == vars(fitted(kind)).keys()

    def test_a_loaded_model_can_be_fitted_again(self, kind, tmp_path):
        fitted(kind).save(tmp_path / "model")
        X = data(kind)
        same(answers(learn(tl.load_model(tmp_path / "model"), X), X), answers(fitted(kind), X))

    def test_what_may_change_between_fit_and_save_follows_from_its_role(self, kind, tmp_path):
        other = {
            int: lambda now: now + 1,
            float: lambda now: now + (0.25 if now < 0.75 else -0.25),
            bool: lambda now: not now,
        }
        words = {"cell": "gru", "sync": "last", "aligner": "opw", "metric": "msm", "weights": "distance", "head": "1nn"}
        for name, option in kind.options().items():
            model, now = copy.deepcopy(fitted(kind)), getattr(small(kind), name)
            if type(now) in other:
                model.set_params(**{name: other[type(now)](now)})
            elif isinstance(now, str) and name in words:
                model.set_params(**{name: words[name] if now != words[name] else "lstm"})
            else:
                continue
            if option.role == "model":
                with pytest.raises(ValueError, match=f"{name}=.* when this {kind.__name__} was fitted: set it back"):
                    model.save(tmp_path / name)
            else:
                model.save(tmp_path / name)

    def test_a_clone_has_learned_nothing_and_learns_the_same(self, kind):
        X, again = data(kind), clone(fitted(kind))
        assert not again.__sklearn_is_fitted__()
        same(answers(learn(again, X), X), answers(fitted(kind), X))

    def test_a_copy_through_pickle_answers_the_same(self, kind):
        X = data(kind, seed=5)
        same(answers(pickle.loads(pickle.dumps(fitted(kind))), X), answers(fitted(kind), X))

    def test_other_items_change_no_answer(self, kind):
        X = data(kind, (9, 4, 9, 7, 12, 1, 3, 40), seed=5)
        chosen = [4, 0, 7, 2]
        whole, some = answers(fitted(kind), X), answers(fitted(kind), X[chosen])
        for verb, found in some.items():
            if verb == "transform_frames" or issubclass(kind, tl.prepare.Preparation):
                continue  # sequences, not one row for each; tests/prepare looks at these
            expected = whole[verb][np.ix_(chosen, chosen)] if verb in MATRICES else whole[verb][chosen]
            np.testing.assert_array_equal(found, expected, err_msg=verb)

    def test_the_number_of_threads_changes_no_answer(self, kind, monkeypatch):
        X, expected = data(kind, seed=5), answers(fitted(kind), data(kind, seed=5))
        monkeypatch.setattr(tl.native, "cpu_count", lambda: 2)
        same(answers(fitted(kind), X), expected)

    def test_a_fit_that_fails_leaves_everything_as_it_was(self, kind):
        X, model = data(kind), learn(small(kind), data(kind))
        before, broken = dict(vars(model)), [np.array(x) for x in X]
        step = min(1, len(broken[2]) - 1)
        broken[2][step] = np.inf if model._takes_missing() else np.nan
        with pytest.raises(ValueError, match=rf"(sequence 2|X\[2\]).*time step {step}"):
            model.fit(broken, targets(kind, X))
        assert vars(model) == before
        empty = small(kind)
        with pytest.raises(ValueError, match="X holds no sequences"):
            empty.fit(X[:0], [])
        assert vars(empty).keys() == vars(small(kind)).keys()

    def test_what_is_asked_must_be_like_what_it_was_fitted_on(self, kind):
        frame = (7,) if kind._n_frame_axes in (None, 1) else (1, 2, 2)
        other = np.zeros((3, 1 if kind in SINGLE else 5, *frame))
        for verb in VERBS:
            if hasattr(kind, verb):
                with pytest.raises(ValueError, match=r"(X|past) has frames of shape .*was fitted on \("):
                    getattr(fitted(kind), verb)(other)

    def test_inputs_are_left_alone(self, kind):
        x = np.array(data(kind).pad().values)
        before = x.copy()
        model = small(kind).fit(x, targets(kind, data(kind)))
        answers(model, x)
        np.testing.assert_array_equal(x, before)
        assert x.flags.writeable


@pytest.mark.parametrize("kind", [kind for kind in MODELS if issubclass(kind, Trained)])
class TestEveryTrainedModel:
    def test_a_pause_changes_nothing(self, kind, tmp_path):
        X = data(kind)
        budget = next(n for n in ("max_steps", "max_epochs", "max_iterations") if n in kind.options())
        learn(small(kind, checkpoint=tmp_path / "kept", **{budget: 1}), X)
        continued = learn(small(kind, checkpoint=tmp_path / "kept", **{budget: 3}), X)
        whole = learn(small(kind, **{budget: 3}), X)
        same(answers(continued, X), answers(whole, X))
        np.testing.assert_array_equal(continued.history_["loss"], whole.history_["loss"])

    def test_an_option_that_counts_may_not_change_in_a_pause(self, kind, tmp_path):
        X = data(kind)
        learn(small(kind, checkpoint=tmp_path / "kept"), X)
        for name, changed in {"standardize": False, "precision": "64-true", "hidden": 3, "n_features": 5}.items():
            if name in kind.options() or name in TRAINER_FIELDS:
                with pytest.raises(ValueError, match=f"the checkpoint in .*kept has another {name}, "):
                    learn(small(kind, checkpoint=tmp_path / "kept", **{name: changed}), X)

    def test_another_collection_is_not_continued_with(self, kind, tmp_path):
        learn(small(kind, checkpoint=tmp_path / "kept"), data(kind))
        with pytest.raises(ValueError, match="has other sequences"):
            learn(small(kind, checkpoint=tmp_path / "kept"), data(kind, seed=1))

    def test_a_bar_has_its_name(self, kind, capsys):
        learn(small(kind, progress=True), data(kind))
        assert f"{kind.__name__}: " in capsys.readouterr().err

    @pytest.mark.parametrize("precision", ["64-true", "bf16-mixed", "bf16-true"])
    def test_it_trains_in_any_precision_and_answers_in_single(self, kind, precision):
        model = learn(small(kind, precision=precision), data(kind))
        assert {str(p.dtype) for p in model.network_.parameters()} == {"torch.float32"}
        assert not model.network_.training
        for answer in answers(model, data(kind, seed=5)).values():
            assert answer.dtype.kind != "f" or np.isfinite(answer).all()

    def test_an_accelerator_that_is_not_there_is_named(self, kind):
        with pytest.raises(ValueError, match="accelerator='tpu': expected one of"):
            learn(small(kind, accelerator="tpu"), data(kind))

    @pytest.mark.parametrize("filling", [1e3, np.nan])
    def test_padding_changes_no_value_and_no_gradient(self, kind, filling):
        network = learn(small(kind), data(kind)).network_
        if not issubclass(kind, Encoder) and not isinstance(network, tl.metric.DistanceNetwork):
            pytest.skip("its network sees frames, not sequences")
        x, lengths = fitted(kind)._standardize(data(kind, seed=5)).to_tensor()
        more = torch.full((len(x), 5, *x.shape[2:]), filling)
        padded = torch.cat([x, more], dim=1)
        for i, length in enumerate(lengths.tolist()):
            padded[i, length:] = filling
        found = []
        for sequences in (x, padded):
            network.zero_grad()
            sides = (
                (sequences, lengths)
                if issubclass(kind, Encoder)
                else (sequences, sequences.flip(0), lengths, lengths.flip(0))
            )
            values = network(*sides)
            values.square().sum().backward()
            gradients = [p.grad for p in network.parameters() if p.grad is not None]
            found.append([values.detach(), *gradients])
        for plain, other in zip(*found, strict=True):
            torch.testing.assert_close(other, plain, rtol=1e-4, atol=1e-5)

    def test_the_double_precision_copy_is_kept_until_a_weight_changes(self, kind):
        from timelike.train.double_precision import double_precision_copy

        network = learn(small(kind), data(kind)).network_
        copied = double_precision_copy(network)
        assert double_precision_copy(network) is copied
        next(network.parameters()).data.mul_(1.5)
        assert double_precision_copy(network) is not copied
