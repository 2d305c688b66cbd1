"""`Trainer`: its fields are checked, resolved, searched, saved and merged, and mean what torch means by them."""

import ast
import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import timelike as tl
from timelike.models import registry
from timelike.train import LinearDecay, Trained
from timelike.train.base import TRAINING_FIELDS
from timelike.train.optimizers import make_optimizer

SMALL = {"n_features": 4, "channels": 3, "depth": 1, "reduced_size": 3, "max_steps": 4, "random_state": 0}
X = tl.Sequences(np.random.default_rng(0).standard_normal((24, 9, 2)), labels=np.arange(24) % 2)


def encoder(**fields):
    return tl.CausalEncoder(**SMALL, trainer=tl.Trainer(**fields))


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("batch_size", 0, ValueError),
        ("batch_size", 2.5, TypeError),
        ("learning_rate", 0, ValueError),
        ("learning_rate", math.inf, ValueError),
        ("optimizer", "rmsprop", ValueError),
        ("betas", (0.9,), ValueError),
        ("betas", (0.9, 1.0), ValueError),
        ("betas", 0.9, ValueError),
        ("weight_decay", -1e-9, ValueError),
        ("gradient_clip", 0, ValueError),
        ("schedule", "cycle", ValueError),
        ("schedule", 3, TypeError),
        ("max_epochs", 0, ValueError),
        ("validation", 0.95, ValueError),
        ("validation_score", "accuracy", ValueError),
        ("patience", 0, ValueError),
        ("checkpoint", "", ValueError),
        ("checkpoint", 3, TypeError),
        ("accelerator", "tpu", ValueError),
        ("devices", 0, ValueError),
        ("precision", "16-mixed", ValueError),
    ],
)
def test_a_field_that_makes_no_sense_is_refused_by_its_name(field, value, error):
    with pytest.raises(error, match=f"^{field}="):
        tl.Trainer(**{field: value})


def test_a_trainer_is_a_value_that_shows_what_was_given():
    trainer = tl.Trainer(learning_rate=1e-3, schedule="cosine")
    assert repr(trainer) == "Trainer(learning_rate=0.001, schedule='cosine')"
    assert trainer == tl.Trainer(schedule="cosine", learning_rate=1e-3)
    assert hash(trainer) == hash(tl.Trainer(schedule="cosine", learning_rate=1e-3))
    with pytest.raises(AttributeError):
        trainer.learning_rate = 1.0


def test_a_model_takes_nothing_else_for_a_trainer():
    with pytest.raises(TypeError, match=r"trainer=.*: expected a timelike.Trainer, such as Trainer\("):
        tl.CausalEncoder(**SMALL, trainer={"learning_rate": 1e-3}).fit(X)


def test_fields_left_open_are_the_methods_own_choice():
    assert tl.CausalEncoder().trainer_.learning_rate == 3e-3
    resolved = encoder(learning_rate=1.0).trainer_
    assert (resolved.learning_rate, resolved.batch_size, resolved.schedule) == (1.0, 16, "cosine")
    assert tl.Prototypes(trainer=tl.Trainer(batch_size=8)).trainer_.optimizer == "adamw"
    default = tl.CausalEncoder(**SMALL).fit(X)
    same = encoder(batch_size=16, learning_rate=3e-3, schedule="cosine", validation=0.0).fit(X)
    np.testing.assert_array_equal(default.encode(X), same.encode(X))


def test_infinity_switches_off_what_the_method_would_do():
    X_long = tl.Sequences(np.random.default_rng(0).standard_normal((12, 9)), labels=np.arange(12) % 2)
    networks = [
        tl.Prototypes(extra_encoders=[], max_steps=3, random_state=0, trainer=tl.Trainer(gradient_clip=clip))
        .fit(X_long)
        .network_.dense.weight
        for clip in (None, 6.0, 1e9, math.inf)
    ]
    assert torch.equal(networks[0], networks[1])  # its own choice
    assert torch.equal(networks[2], networks[3])
    never = encoder(validation=0.3, patience=math.inf, learning_rate=1e-9).set_params(max_steps=30).fit(X)
    assert never.history_.stop_reason == "max_steps"


def test_options_of_the_trainer_are_parameters_also_where_none_is_given():
    model = tl.CausalEncoder(**SMALL)
    assert model.get_params()["trainer__learning_rate"] is None
    model.set_params(trainer__learning_rate=0.5, trainer__schedule=LinearDecay())
    assert model.trainer == tl.Trainer(learning_rate=0.5, schedule=LinearDecay())
    model.set_params(trainer__schedule__share=0.25)
    assert model.trainer == tl.Trainer(learning_rate=0.5, schedule=LinearDecay(share=0.25))
    assert clone(model).trainer == model.trainer
    with pytest.raises(ValueError, match="trainer has no option 'rate': Trainer has batch_size, "):
        model.set_params(trainer__rate=0.5)


def test_a_grid_search_reaches_the_trainer_and_its_schedule():
    model = tl.EmbeddingClassifier(encoder(schedule=LinearDecay()), head="1nn")
    grid = {"encoder__trainer__learning_rate": [1e-3, 1e-2], "encoder__trainer__schedule__share": [0.5]}
    search = GridSearchCV(model, grid, cv=2).fit(X, X.labels)
    best = search.best_estimator_.encoder.trainer
    assert best.learning_rate in (1e-3, 1e-2)
    assert best.schedule == LinearDecay(share=0.5)
    assert model.encoder.trainer.schedule == LinearDecay()  # the one that was given stays as it was


def test_a_folder_keeps_the_trainer(tmp_path):
    trainer = tl.Trainer(
        learning_rate=1e-2,
        betas=(0.8, 0.99),
        gradient_clip=math.inf,
        schedule=LinearDecay(share=0.5),
        validation=0.2,
        patience=math.inf,
        checkpoint=tmp_path / "pause",
    )
    tl.CausalEncoder(**SMALL, trainer=trainer).fit(X).save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    assert again.trainer == trainer
    assert again.trainer.checkpoint == Path(tmp_path / "pause")


def test_a_preset_and_a_trainer_are_merged_field_by_field():
    own = tl.CausalEncoder.preset("thesis").trainer
    assert own == tl.Trainer(batch_size=10, learning_rate=1e-3, schedule="constant", validation=0.0)
    changed = tl.CausalEncoder.preset("thesis", trainer=tl.Trainer(learning_rate=0.5))
    assert changed.trainer == own.replace(tl.Trainer(learning_rate=0.5))
    assert tl.CausalEncoder.preset("thesis", trainer__batch_size=3).trainer == own.replace(tl.Trainer(batch_size=3))


def test_a_score_that_a_method_does_not_know_is_refused():
    with pytest.raises(
        ValueError, match=r"trainer.validation_score='average_precision': CausalEncoder supports 'loss'"
    ):
        encoder(validation=0.2, validation_score="average_precision").fit(X)
    with pytest.raises(ValueError, match=r"trainer.validation=0.2: Prototypes has no validation"):
        tl.Prototypes(trainer=tl.Trainer(validation=0.2)).fit(X)


@pytest.mark.parametrize("field", ["batch_size", "optimizer", "validation", "precision"])
def test_a_checkpoint_is_of_a_training_with_the_same_fields(field, tmp_path):
    assert field in TRAINING_FIELDS
    other = {"batch_size": 7, "optimizer": "sgd", "validation": 0.4, "precision": "64-true"}
    first = encoder(checkpoint=tmp_path, validation=0.2).fit(X)
    with pytest.raises(ValueError, match=f"has another {field}, |other sequences"):
        encoder(checkpoint=tmp_path, **{"validation": 0.2} | {field: other[field]}).fit(X)
    again = encoder(checkpoint=tmp_path, validation=0.2, learning_rate=1e-5, patience=3).fit(X)
    np.testing.assert_array_equal(again.encode(X), first.encode(X))  # it was at its end


@pytest.mark.parametrize(
    ("trainer", "theirs"),
    [
        (tl.Trainer(optimizer="sgd", learning_rate=0.1, weight_decay=0.2), torch.optim.SGD),
        (tl.Trainer(optimizer="adam", learning_rate=0.1, weight_decay=0.2, betas=(0.7, 0.8)), torch.optim.Adam),
        (tl.Trainer(optimizer="adamw", learning_rate=0.1, weight_decay=0.2, betas=(0.7, 0.8)), torch.optim.AdamW),
        (tl.Trainer(learning_rate=0.1), torch.optim.Adam),
    ],
)
def test_an_optimizer_is_torchs_own(trainer, theirs):
    def weights_after(make):
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 7))
        optimizer = make([weight])
        for step in range(5):
            optimizer.zero_grad()
            (weight - step).square().sum().backward()
            optimizer.step()
        return weight.detach()

    given = {"lr": 0.1, "weight_decay": trainer.weight_decay or 0.0}
    given |= {} if trainer.betas is None else {"betas": trainer.betas}
    found = weights_after(lambda weights: make_optimizer(weights, trainer))
    assert torch.equal(found, weights_after(lambda weights: theirs(weights, **given)))


def test_epochs_end_a_training_and_a_schedule_ends_with_them():
    model = encoder(max_epochs=3, batch_size=8, schedule="cosine").set_params(max_steps=None).fit(X)
    assert (model.history_.n_steps, model.history_.stop_reason) == (9, "max_epochs")
    assert model.history_["rate"][-1] < 0.1 * model.history_["rate"].max()


OWN_CHOICES = re.compile(r"How to train\. Its own choices: (.*?)(?:\.\s|\.$)", re.DOTALL)
KINDS = [kind for kind in registry.all_methods().values() if issubclass(kind, Trained) and "trainer" in kind.options()]


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_states_the_methods_own_choices(kind):
    stated = OWN_CHOICES.search(inspect.getdoc(kind)).group(1)
    found = {name: ast.literal_eval(value) for name, value in re.findall(r"`(\w+)=([^`]+)`", stated)}
    assert found == kind._own_trainer.given_fields()


def test_a_field_given_to_the_constructor_says_where_it_belongs():
    with pytest.raises(TypeError, match=r"no argument 'learning_rate': pass trainer=timelike\.Trainer\(learning_rate="):
        tl.CausalEncoder(n_features=4, learning_rate=1e-3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'rate'"):
        tl.CausalEncoder(rate=1e-3)


def test_the_signature_is_that_of_the_constructor():
    assert "n_features" in inspect.signature(tl.CausalEncoder).parameters


def test_options_are_found_in_a_field_that_changes_with_them():
    encoder = tl.CausalEncoder().set_params(trainer__schedule=LinearDecay(), trainer__schedule__share=0.4)
    assert encoder.trainer == tl.Trainer(schedule=LinearDecay(share=0.4))
    nested = tl.Neighbors(tl.SiameseGRU()).set_params(metric__trainer__learning_rate=0.1)
    assert nested.metric.trainer == tl.Trainer(learning_rate=0.1)


def test_betas_are_for_adam():
    with pytest.raises(ValueError, match="optimizer='sgd' has no betas"):
        tl.Trainer(optimizer="sgd", betas=(0.9, 0.99))
    assert tl.Separation(trainer=tl.Trainer(optimizer="sgd")).trainer_.betas is None


def test_endless_patience_is_as_good_as_none():
    X, y = np.sin(np.arange(12) * np.repeat([0.5, 1.5], 6)[:, None]), np.repeat([0, 1], 6)
    options = {"hidden": 4, "max_steps": 3, "random_state": 0}
    plain, endless = (
        tl.SiameseGRU(**options, trainer=trainer).fit(X, y) for trainer in (None, tl.Trainer(patience=math.inf))
    )
    np.testing.assert_array_equal(plain.pairwise(X), endless.pairwise(X))


def test_patience_without_validation_is_told():
    X = np.sin(np.arange(60.0)).reshape(4, 15)
    encoder = tl.CausalEncoder(channels=4, depth=1, n_features=4, max_steps=2, trainer=tl.Trainer(patience=2))
    with pytest.warns(UserWarning, match="patience=2 has nothing to wait for with validation=0"):
        encoder.fit(X)
    with pytest.raises(ValueError, match="trainer.patience=2: Prototypes has no validation"):
        tl.Prototypes(max_steps=2, trainer=tl.Trainer(patience=2)).fit(X, [0, 0, 1, 1])


def test_single_precision_numbers_are_numbers():
    assert tl.Trainer(learning_rate=np.float32(0.5)).learning_rate == 0.5
