"""Prototypes: answers compared with naive references, classes that come and go exactly, and what is refused."""

import copy
import inspect

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import norm
from torch import nn

import timelike as tl
from naive.verifier import accepted_at
from timelike.prototypes import LearnedSimilarity
from timelike.prototypes.classes import canonical_order, cluster_centers
from timelike.prototypes.cosine import fit_logistic
from timelike.prototypes.network import PrototypeNetwork
from timelike.prototypes.objective import PrototypeObjective, TrainingRecipe
from timelike.prototypes.similarity import CosineSimilarity, FusedSimilarity, Similarity
from timelike.prototypes.stream import min_probability
from timelike.prototypes.thresholds import novelty_threshold
from timelike.score import CalibrationWarning
from timelike.train import Batch

SMALL = {
    "encoder": tl.SiameseGRU(hidden=6, n_outputs=5, random_state=0),
    "similarity_fn": LearnedSimilarity(hidden=7),
    "max_steps": 8,
}
ROCKET = tl.Rocket(n_features=200, causal=True, random_state=0)
OWN_TRAINER = tl.Prototypes().trainer_
EXTRA = {"similarity_fn": None, "extra_encoders": [tl.Discriminant(ROCKET, random_state=0)]}


def waves(n_each=8, classes=(2, 4, 8, 12), seed=0, length=30):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    X = [np.sin(t[: length - i % 5] / pace + rng.uniform(0, 6)) for pace in classes for i in range(n_each)]
    return tl.Sequences(X, labels=np.repeat([f"every {pace}" for pace in classes], n_each))


@pytest.fixture(scope="module", params=[{}, EXTRA], ids=["learned", "extra_encoders"])
def model(request):
    return tl.Prototypes(random_state=0, **SMALL | request.param).fit(waves())


def copied(model, folder):
    model.save(folder)
    return tl.load_model(folder)


class TestAnswers:
    def test_the_class_is_that_of_the_most_similar_prototype(self, model):
        X = waves(seed=5)
        vectors = torch.from_numpy(model.encode(X))
        network = model.network_.double()
        with torch.no_grad():
            naive = np.array(
                [
                    [float(network.similarity(c, v)) for c in torch.from_numpy(model.prototypes_).double()]
                    for v in vectors.double()
                ]
            )
        model.network_.float()
        np.testing.assert_allclose(model.class_scores(X), naive, atol=1e-5)
        assert model.predict(X).tolist() == model.classes_[model.class_scores(X).argmax(axis=1)].tolist()

    def test_probabilities_are_a_softmax_of_scores(self, model):
        X = waves(seed=5)
        scores = model.class_scores(X)
        np.testing.assert_allclose(
            model.predict_proba(X), np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), rtol=1e-9
        )

    def test_two_sequences_have_a_number_and_collections_a_matrix(self, model):
        X = waves(seed=5)
        matrix = model.similarity(X[:4], X[2:7])
        assert matrix.shape == (4, 5)
        assert model.similarity(X[1], X[4]) == matrix[1, 2]  # independent of the batch
        assert model.verify(X[1], X[4]) is bool(matrix[1, 2] >= 0)
        assert (model.verify(X[:4], X[2:7]) == (matrix >= 0)).all()

    def test_a_list_of_numbers_is_one_sequence(self, model):
        assert isinstance(model.similarity([0.0, 1.0, 0.5], np.array([[0.0], [1.0]])), float)

    def test_similarity_is_symmetric_unless_told_otherwise(self, model):
        X = waves(seed=5)[:6]
        np.testing.assert_allclose(model.similarity(X, X), model.similarity(X, X).T, atol=1e-6)
        similarity = LearnedSimilarity(hidden=7, symmetrize=False)
        other = tl.Prototypes(random_state=0, **SMALL | {"similarity_fn": similarity}).fit(waves())
        assert np.abs(other.similarity(X, X) - other.similarity(X, X).T).max() > 1e-4

    def test_retrieval_is_a_sorted_row_of_similarities(self, model):
        X, gallery = waves(seed=5)[:3], waves(seed=6)
        ids, found = model.retrieve(X, gallery, 4)
        rows = model.similarity(X, gallery)
        for i, row in enumerate(rows):
            assert ids[i].tolist() == sorted(range(len(row)), key=lambda j: (-row[j], j))[:4]
            assert found[i].tolist() == row[ids[i]].tolist()
        assert model.retrieve(X[1], gallery, 4).ids.tolist() == ids[1].tolist()

    def test_equal_similarities_are_retrieved_in_their_order(self, model):
        one = waves(seed=5)[:1]
        copies = tl.Sequences([one[0]] * 5)
        assert model.retrieve(one[0], copies, 5).ids.tolist() == [0, 1, 2, 3, 4]

    def test_novelty_is_minus_the_largest_similarity(self, model):
        X = waves(seed=5)
        np.testing.assert_allclose(model.novelty(X), -model.class_scores(X).max(axis=1))

    def test_prototypes_are_exact_means_in_evaluation_mode(self, model):
        X = waves()
        vectors = model.encode(X).astype(np.float64)
        means = [vectors[X.labels == kind].mean(axis=0) for kind in model.classes_]
        np.testing.assert_allclose(model.prototypes_, means, rtol=0, atol=1e-7)

    @pytest.mark.parametrize("kind", ["cosine", "fused"])
    def test_other_similarities_say_the_same_in_torch_and_in_arrays(self, kind):
        torch.manual_seed(0)
        module = (CosineSimilarity() if kind == "cosine" else FusedSimilarity(Similarity(4, hidden=6))).eval()
        u, v = torch.randn(5, 4), torch.cat([torch.randn(3, 4), torch.zeros(1, 4)])
        with torch.no_grad():
            matrix = module.matrix(u, v).numpy()
            rows = np.array([[float(module(a, b)) for b in v] for a in u])
        np.testing.assert_allclose(module.scores(u.numpy(), v.numpy()), matrix, atol=1e-5)
        np.testing.assert_allclose(rows, matrix, atol=1e-5)

    @pytest.mark.parametrize(("low", "high"), [(-0.5, 0.75), (0.25, 1.0), (0.99, 1.0)])
    def test_scale_and_offset_of_a_cosine_meet_platts_targets_where_each_kind_of_pair_has_one_cosine(self, low, high):
        """σ(s x + b) is (n + 1) / (n + 2) of n pairs of one class, and 1 / (m + 2) of m of two."""
        scale, bias = fit_logistic(np.array([high] * 3 + [low] * 8), np.arange(11) < 3)
        assert scale * high + bias == pytest.approx(np.log(4), abs=1e-3)
        assert scale * low + bias == pytest.approx(-np.log(9), abs=1e-3)

    @pytest.mark.parametrize(
        ("low", "high", "expected"), [(0.9999, 1.0, 1000.0), (0.998, 1.0, 1000.0), (1.0, 0.0, 0.1)]
    )
    def test_the_scale_of_a_cosine_stays_between_a_tenth_and_a_thousand(self, low, high, expected):
        """The targets would need 36 000 or 1 800 where cosines nearly coincide, and less than 0 where they are swapped."""
        scale, bias = fit_logistic(np.array([high] * 3 + [low] * 8), np.arange(11) < 3)
        assert scale == pytest.approx(expected)
        assert np.isfinite(bias)

    def test_fused_is_the_log_odds_of_the_mean(self):
        torch.manual_seed(0)
        learned = Similarity(4, hidden=6).eval()
        u, v = torch.randn(5, 4).numpy(), torch.randn(3, 4).numpy()
        cos = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ (v / np.linalg.norm(v, axis=1, keepdims=True)).T
        mean = (1 / (1 + np.exp(-learned.scores(u, v))) + (1 + cos) / 2) / 2
        np.testing.assert_allclose(FusedSimilarity(learned).eval().scores(u, v), np.log(mean / (1 - mean)), atol=1e-5)

    def test_vectors_are_drawn_around_the_prototypes(self, model):
        X = waves(seed=5)
        first, dark = model.plot(X), model.plot(X.replace(labels=None, class_names=None), dark=True)
        points = [one for one in first.axes[0].collections if len(one.get_offsets()) == 8]
        stars = [one for one in first.axes[0].collections if len(one.get_offsets()) == 1]
        assert len(points) == len(stars) == 4
        for one, star in zip(points, stars, strict=True):
            np.testing.assert_array_equal(one.get_facecolor()[0, :3], star.get_facecolor()[0, :3])
        by_class = X[np.argsort(X.labels, kind="stable")]
        directions = np.concatenate([model.encode(by_class), model.prototypes_]).astype(np.float64)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        centred = directions - directions.mean(axis=0)
        places = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        drawn = np.concatenate([one.get_offsets() for one in (*points, *stars)])
        np.testing.assert_allclose(np.abs(drawn), np.abs(places), atol=1e-6)
        predicted = [words.get_text() for words in dark.axes[0].get_legend().get_texts()]
        assert predicted == model.classes_.tolist()
        with pytest.raises(ValueError, match="at least one"):
            model.plot(X[:0])
        numbered = model.plot(X, np.repeat([3.0, 4.0], 16))  # of other classes
        assert {"3.0", "4.0"} < {words.get_text() for words in numbered.axes[0].get_legend().get_texts()}


class TestClassesThatComeAndGo:
    def test_forgetting_and_enrolling_again_changes_nothing(self, model, tmp_path):
        X, asked = waves(), waves(seed=7)
        before = model.class_scores(asked)
        again = copied(model, tmp_path / "m")
        for kind in ("every 4", "every 12", "every 2"):
            own = X[X.labels == kind]
            assert kind not in again.forget(kind).classes_
            again.enroll(own, own.labels)
        assert again.class_scores(asked).tolist() == before.tolist()  # to the last bit
        assert again.prototypes_.tobytes() == model.prototypes_.tobytes()

    @pytest.mark.parametrize("count", [1, 3])
    def test_enrolling_in_parts_and_in_any_order_is_as_at_once(self, model, tmp_path, count):
        new = waves(classes=(3, 6), seed=1)
        asked = waves(seed=7)
        whole = copied(model, tmp_path / "a").enroll(new, n_prototypes=count)
        parts = copied(model, tmp_path / "b").enroll(new[::-3], n_prototypes=count)
        rest = np.setdiff1d(np.arange(len(new)), np.arange(len(new))[::-3])
        parts.enroll(new[rest[::-1]], extend=True)
        assert parts.classes_.tolist() == whole.classes_.tolist()
        assert parts.prototypes_.tobytes() == whole.prototypes_.tobytes()
        assert parts.members_.vectors.tobytes() == whole.members_.vectors.tobytes()
        assert parts.class_scores(asked).tolist() == whole.class_scores(asked).tolist()

    def test_the_order_of_classes_does_not_matter(self, model, tmp_path):
        new = waves(classes=(3, 6), seed=1)
        kinds = np.unique(new.labels)
        one, other = (copied(model, tmp_path / name) for name in "ab")
        for kind in kinds:
            one.enroll(new[new.labels == kind])
        for kind in kinds[::-1]:
            other.enroll(new[new.labels == kind])
        assert one.prototypes_.tobytes() == other.prototypes_.tobytes()
        assert one.classes_.tolist() == other.classes_.tolist() == sorted([*model.classes_, *kinds])

    def test_a_folder_has_the_same_bits_after_enrolling(self, model, tmp_path):
        changed = copied(model, tmp_path / "a").enroll(waves(classes=(3,), seed=1), n_prototypes=2)
        again, asked = copied(changed, tmp_path / "b"), waves(seed=7)
        assert again.class_scores(asked).tobytes() == changed.class_scores(asked).tobytes()
        assert again.similarity(asked, asked).tobytes() == changed.similarity(asked, asked).tobytes()
        assert again.forget("every 3").class_scores(asked).tolist() == model.class_scores(asked).tolist()

    def test_an_enrolment_that_fails_changes_nothing(self, model, tmp_path):
        changed = copied(model, tmp_path / "a")
        before = dict(vars(changed))
        bad = [
            {"X": waves(classes=(2,)), "y": None},  # known already
            {"X": waves(classes=(3,)), "y": [1] * 8},  # numbers among words
            {"X": np.zeros((4, 9, 2)), "y": ["a"] * 4},  # other channels
            {"X": waves(classes=(3,)), "y": ["a"] * 3},
            {"X": waves(classes=(3,)), "y": None, "n_prototypes": 0},
            {"X": waves(classes=(3,)), "y": None, "adapt_steps": 5, "adapt_rate": 1e300},
        ]
        for arguments in bad:
            with pytest.raises((ValueError, TypeError)):
                changed.enroll(arguments.pop("X"), arguments.pop("y"), **arguments)
            assert all(vars(changed)[name] is value for name, value in before.items())

    def test_a_class_that_comes_back_has_as_many_prototypes_as_before(self):
        X = waves()
        model = tl.Prototypes(**SMALL, n_prototypes=3, random_state=0).fit(X)
        before, own = model.class_scores(X), X[X.labels == "every 4"]
        assert model.forget("every 4").enroll(own).class_scores(X).tolist() == before.tolist()

    def test_classes_keep_their_kind_of_number(self):
        X = waves()
        model = tl.Prototypes(**SMALL, random_state=0).fit(X, np.unique(X.labels, return_inverse=True)[1])
        assert model.enroll(X[:3], np.array([7.0, 7.0, 8.0])).classes_.tolist() == [0, 1, 2, 3, 7, 8]
        assert model.classes_.dtype.kind == "i"
        for label in (2.5, np.uint64(2**63 + 1)):
            with pytest.raises((TypeError, ValueError)):
                model.enroll(X[:1], np.array([label]))

    def test_several_prototypes_are_the_centres_of_clusters(self):
        rng = np.random.default_rng(0)
        given = (rng.standard_normal((30, 3)) + 20 * np.repeat(np.eye(3), 10, axis=0)).astype(np.float32)
        found = cluster_centers(given[canonical_order(given, np.zeros(30, np.int64))], 3)
        means = given.reshape(3, 10, 3).mean(axis=1)
        assert sorted(np.round(found, 3).tolist()) == sorted(np.round(means, 3).tolist())

    def test_vectors_are_in_the_order_of_their_classes_and_then_of_all_their_numbers(self):
        """Few different numbers, so that every feature decides some pairs."""
        rng = np.random.default_rng(0)
        vectors, owners = rng.integers(0, 2, (60, 4)).astype(np.float32), rng.integers(0, 2, 60)
        found = canonical_order(vectors, owners)
        rows = [(owners[i], *vectors[i]) for i in found]
        assert rows == sorted(rows)
        assert sorted(found) == list(range(60))

    def test_fewer_different_examples_make_fewer_prototypes(self):
        same = np.ones((5, 2), np.float32)
        assert cluster_centers(same, 3).tolist() == [[1.0, 1.0]]

    def test_the_best_prototype_of_a_class_counts(self, model, tmp_path):
        changed = copied(model, tmp_path / "a").enroll(waves(classes=(3,), seed=1), n_prototypes=4)
        asked = waves(seed=7)
        place = changed.classes_.tolist().index("every 3")
        own = changed.prototypes_[changed.owners_ == place]
        assert len(own) > 1
        best = changed.network_.similarity.scores(own, changed.encode(asked)).max(axis=0)
        np.testing.assert_allclose(changed.class_scores(asked)[:, place], best)

    def test_the_network_answers_as_the_model_does_after_classes_came_and_went(self, model, tmp_path):
        """With several prototypes for one class, and with the numbers of the classes moved up."""
        changed = copied(model, tmp_path / "a").enroll(waves(classes=(3,), seed=1), n_prototypes=4)
        changed.forget("every 12")
        asked = waves(seed=7)
        vectors = torch.from_numpy(changed.encode(asked))
        for answering in (changed, copied(changed, tmp_path / "b")):
            with torch.no_grad():
                scores = answering.network_.score_vectors(vectors).numpy()
            np.testing.assert_allclose(scores, changed.class_scores(asked), atol=1e-4)

    def test_adapting_lowers_the_loss_of_what_is_enrolled(self, model, tmp_path):
        new = waves(classes=(3, 6), seed=1)

        def loss(some):
            codes = np.searchsorted(some.classes_, new.labels)
            return F.cross_entropy(torch.from_numpy(some.class_scores(new)), torch.from_numpy(codes))

        plain = copied(model, tmp_path / "a").enroll(new)
        moved = copied(model, tmp_path / "b").enroll(new, adapt_steps=50, adapt_rate=0.05)
        assert loss(moved) < loss(plain)
        assert all(weight.grad is None for weight in moved.network_.parameters())
        kept = ~np.isin(plain.classes_[plain.owners_], new.labels)
        assert (moved.prototypes_[kept] == plain.prototypes_[kept]).all()

    def test_adapting_is_gradient_descent_with_momentum_one_half(self, model, tmp_path):
        """v ← ½ v + ∇L, C ← C − rate · v of the prototypes of the new classes, the others fixed."""
        new, rate = waves(classes=(3,), seed=1), 0.02
        plain = copied(model, tmp_path / "a").enroll(new)
        moved = copied(model, tmp_path / "b").enroll(new, adapt_steps=4, adapt_rate=rate)
        vectors = torch.from_numpy(plain.encode(new))
        target = int(np.flatnonzero(plain.classes_ == new.labels[0])[0])
        prototypes, velocity = torch.from_numpy(plain.prototypes_.copy()), 0.0
        for _ in range(4):
            own = prototypes[target].clone().requires_grad_()
            every = torch.stack([own if k == target else one for k, one in enumerate(prototypes)])
            logits = plain.network_.similarity.matrix(every, vectors).T
            loss = -torch.log_softmax(logits, 1)[:, target].mean()
            velocity = 0.5 * velocity + torch.autograd.grad(loss, own)[0]
            prototypes[target] = (own - rate * velocity).detach()
        np.testing.assert_allclose(moved.prototypes_, prototypes, rtol=1e-4, atol=1e-6)
        assert np.abs(moved.prototypes_ - plain.prototypes_)[target].max() > 1e-4

    def test_the_dense_head_refuses_in_words_what_it_does_not_know(self, model, tmp_path):
        changed = copied(model, tmp_path / "a").set_params(inference="dense")
        assert changed.predict(waves(seed=7)).shape == (32,)
        for change in (lambda: changed.enroll(waves(classes=(3,))), lambda: changed.forget("every 3")):
            change()
            with pytest.raises(ValueError, match="dense head has the 4 classes of fit"):
                changed.predict(waves())
            assert len(changed.set_params(inference="similarity").predict(waves())) == 32
            changed.set_params(inference="both")


class TestLearning:
    @torch.no_grad()
    def reference_losses(self, network, vectors, labels):
        """The three losses, one pair after the other."""
        S = network.similarity
        n, found = len(labels), []
        found.append(
            np.mean(
                [
                    -float(torch.log_softmax(torch.stack([S(c, vectors[i]) for c in network.averages]), 0)[labels[i]])
                    for i in range(n)
                ]
            )
        )
        same, other = [], []
        for i in range(n):
            for j in range(i + 1, n):
                p = torch.sigmoid(S(vectors[i], vectors[j]))
                (same if labels[i] == labels[j] else other).append(
                    -float(torch.log(p if labels[i] == labels[j] else 1 - p))
                )
        found.append((np.mean(same) if same else 0.0) + (np.mean(other) if other else 0.0))
        dense = network.dense(vectors)
        found.append(np.mean([-float(torch.log_softmax(dense[i], 0)[labels[i]]) for i in range(n)]))
        return found

    def objective(self, labels, trainer=OWN_TRAINER, **recipe):
        torch.manual_seed(1)
        network = PrototypeNetwork(nn.Identity(), Similarity(3, hidden=5, symmetrize=True), 3, 3).double().eval()
        vectors = torch.randn(len(labels), 3, dtype=torch.float64)
        X = tl.Sequences(np.zeros((len(labels), 1, 3)))
        learning = PrototypeObjective(
            network, X, np.asarray(labels), trainer, TrainingRecipe(**recipe), vectors=vectors.numpy()
        )
        batch = Batch(np.arange(len(labels)), vectors=vectors, labels=np.asarray(labels), order=np.zeros(len(labels)))
        return learning, batch, vectors

    @pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2, 2], [0, 1, 2], [1, 1, 1], [0, 0, 0, 2, 1], [0, 0, 1], [0, 1]])
    def test_the_loss_is_that_of_the_formulas_and_finite_without_pairs_of_a_kind(self, labels):
        learning, batch, vectors = self.objective(labels)
        learning.module.update_averages(
            vectors, torch.tensor([0, 1, 2] * 2)[: len(labels)], 0.9
        )  # so that all are known
        learning.module.seen_classes[:] = True
        found = learning.loss(batch)
        expected = self.reference_losses(learning.module, vectors, labels)
        assert [float(found[name].detach()) for name in ("class", "pair", "auxiliary")] == pytest.approx(
            expected, rel=1e-9
        )
        assert float(found["loss"].detach()) == pytest.approx(sum(expected))

    @pytest.mark.parametrize("smoothing", [0.2, 0.5])
    def test_labels_are_smoothed_in_both_cross_entropies_and_nowhere_else(self, smoothing):
        """−Σ_k q_k log p_k with q = (1 − ε) of the label and ε / K of every class."""
        labels = [0, 0, 1, 2, 2]
        learning, batch, vectors = self.objective(labels, label_smoothing=smoothing)
        plain, _, _ = self.objective(labels)
        for one in (learning, plain):
            one.module.update_averages(vectors, torch.tensor([0, 1, 2, 0, 1]), 0.9)
        found, other = learning.loss(batch), plain.loss(batch)
        with torch.no_grad():
            similar = torch.stack([learning.module.similarity(c, vectors) for c in learning.module.averages], 1)
            for name, logits in (("class", similar), ("auxiliary", learning.module.dense(vectors))):
                log = torch.log_softmax(logits, 1)
                each = [(1 - smoothing) * log[i, y] + smoothing / 3 * log[i].sum() for i, y in enumerate(labels)]
                assert float(found[name]) == pytest.approx(-float(torch.stack(each).mean()), rel=1e-9)
        assert float(found["pair"]) == pytest.approx(float(other["pair"]), rel=1e-12)

    @pytest.mark.parametrize(("n_each", "expected"), [([2] * 15, (15, 256)), ([30, 30], (870, 870)), ([2, 2], (2, 4))])
    def test_of_two_classes_256_pairs_are_compared_and_at_least_as_many_as_of_one(self, n_each, expected, monkeypatch):
        labels = np.repeat(np.arange(len(n_each)), n_each)
        learning, _, vectors = self.objective(labels)
        compared = []
        monkeypatch.setattr(learning, "_binary_losses", lambda scores, same: compared.append(same) or scores)
        learning._pair_loss(vectors, torch.from_numpy(labels), torch.zeros(len(labels)))
        assert (int(compared[0].sum()), int((~compared[0]).sum())) == expected

    def test_soft_targets_of_pairs_are_uniform_in_a_tenth_at_either_end(self):
        """The targets follow from the losses: −t log σ(s) − (1 − t) log(1 − σ(s))."""
        learning, _, _ = self.objective([0, 0, 1], soft_pairs=True)
        torch.manual_seed(0)
        scores, same = torch.randn(4000, dtype=torch.float64) + 0.1, torch.arange(4000) < 2000
        losses, yes, no = learning._binary_losses(scores, same), F.logsigmoid(scores), F.logsigmoid(-scores)
        targets = ((losses + no) / (no - yes)).numpy()
        for some, low, high in ((targets[:2000], 0.9, 1.0), (targets[2000:], 0.0, 0.1)):
            assert low - 1e-9 <= some.min() < low + 0.001
            assert high - 0.001 < some.max() <= high + 1e-9
            assert some.mean() == pytest.approx((low + high) / 2, abs=0.002)
        hard, _, _ = self.objective([0, 0, 1])
        np.testing.assert_allclose(hard._binary_losses(scores, same), torch.where(same, -yes, -no), rtol=1e-9)

    def test_the_papers_rate_drops_once_in_500_epochs(self):
        learning, _, _ = self.objective([0, 0, 1, 1, 2, 2] * 30, tl.Trainer(batch_size=10), n_per_class=5)
        model, epoch = tl.Prototypes.preset("paper"), learning.n_batches()
        assert epoch > 1
        schedule, history = model._fit_options(learning)["schedule"], tl.train.History()
        rates = [model.trainer_.learning_rate * schedule.factor(step, None, history) for step in range(500 * epoch)]
        assert rates[: 200 * epoch] == [1e-4] * (200 * epoch)
        assert rates[200 * epoch :] == pytest.approx([1e-5] * (300 * epoch))

    @pytest.mark.parametrize("kind", ["adam", "adamw"])
    def test_the_optimiser_has_the_rate_and_the_decay_it_was_given(self, kind):
        trainer = tl.Trainer(optimizer=kind, learning_rate=0.25, weight_decay=0.125)
        learning, _, _ = self.objective([0, 0, 1], OWN_TRAINER.replace(trainer))
        found = learning.optimizers()
        assert type(found) is {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]
        assert {(group["lr"], group["weight_decay"]) for group in found.param_groups} == {(0.25, 0.125)}

    def test_averages_move_as_the_paper_says_and_begin_with_the_first_mean(self):
        learning, _, vectors = self.objective([0, 0, 1, 1])
        network = learning.module
        network.update_averages(vectors, torch.tensor([0, 0, 1, 1]), 0.9)
        first = network.averages.clone()
        assert torch.allclose(first[0], vectors[:2].mean(0))
        assert not network.seen_classes[2]
        network.update_averages(2 * vectors, torch.tensor([0, 2, 2, 2]), 0.9)
        assert torch.allclose(network.averages[0], 0.9 * first[0] + 0.1 * 2 * vectors[0])
        assert torch.equal(network.averages[1], first[1])  # absent, so as it was
        assert torch.allclose(network.averages[2], 2 * vectors[1:].mean(0))

    def test_no_gradient_goes_through_the_averages(self):
        learning, batch, vectors = self.objective([0, 0, 1, 1])
        moving = vectors.clone().requires_grad_()
        tensors = batch.tensors | {"vectors": moving}
        learning.loss(Batch(batch.ids, **tensors))["class"]
        assert not learning.module.averages.requires_grad

    def test_a_class_without_an_average_takes_no_part(self):
        learning, batch, _ = self.objective([0, 0, 1, 1])
        assert torch.isfinite(learning.loss(batch)["loss"])
        assert not learning.module.seen_classes[2]

    @pytest.mark.parametrize(
        "options",
        [
            {"averaging": "moving"},
            {"averaging": "gradient"},
            {"auxiliary": None},
            {"auxiliary": "margin"},
            {"similarity_fn": "cosine"},
            EXTRA,
            EXTRA | {"inference": "both"},
            {"similarity_fn": "fused"},
            {"similarity_fn": LearnedSimilarity(symmetrize=False), "soft_pairs": True, "label_smoothing": 0.2},
            {"n_prototypes": 3},
            {"trainer": tl.Trainer(schedule="milestones", max_epochs=2), "max_steps": None},
            tl.Prototypes.preset("paper", trainer__max_epochs=2, encoder=SMALL["encoder"]).get_params(deep=False),
            {"perturb": False, "trainer": tl.Trainer(optimizer="adam", schedule="constant")},
        ],
        ids=lambda options: " ".join(options)[:60],
    )
    def test_every_variant_learns_saves_and_answers_the_same(self, options, tmp_path):
        X = waves()
        model = tl.Prototypes(**{"random_state": 0, **SMALL, **options}).fit(X)
        again = copied(model, tmp_path / "m")
        assert again.class_scores(X).tobytes() == model.class_scores(X).tobytes()
        assert np.isfinite(model.history_.losses).all()

    def test_it_tells_waves_apart_after_a_hundred_steps(self):
        model = tl.Prototypes(max_steps=100, random_state=0).fit(waves(n_each=20))
        asked = waves(seed=3)
        assert (model.predict(asked) == asked.labels).mean() > 0.9

    @pytest.mark.parametrize("standardize", [True, False])
    def test_noise_is_added_to_standardized_channels_only(self, standardize):
        """It is in their units. What else is done to a constant sequence leaves it constant."""
        encoder = tl.SiameseGRU(hidden=6, n_outputs=5, standardize=standardize, random_state=0)
        model = tl.Prototypes(**SMALL | {"encoder": encoder, "max_steps": 1}, random_state=0).fit(waves())
        lengths = torch.tensor([30, 20])
        found, _ = model._make_recipe(waves()).perturbation(torch.ones(2, 30, 1), lengths, np.random.default_rng(0))
        spread = [float(row[:length].std()) for row, length in zip(found, lengths, strict=True)]
        assert spread == pytest.approx([0.05, 0.05] if standardize else [0.0, 0.0], rel=0.4, abs=1e-6)
        frames = tl.Sequences(np.zeros((4, 1, 1)))
        noise = model._make_recipe(frames).perturbation
        if not standardize:
            assert noise is None
            return
        moved, _ = noise(torch.zeros(2000, 1, 1), torch.ones(2000, dtype=torch.long), np.random.default_rng(0))
        assert float(moved.std()) == pytest.approx(0.1, rel=0.1)
        assert abs(float(moved.mean())) < 0.01

    def test_a_training_that_learned_nothing_says_so(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((60, 12)), np.arange(60) % 3
        words = "its network, by the class averages that training keeps, recognizes .* `predict` uses exact means"
        model = tl.Prototypes(**SMALL | {"max_steps": 60}, trainer=tl.Trainer(learning_rate=1e-12), random_state=0)
        with pytest.warns(tl.train.NotLearnedWarning, match=words):
            model.fit(X, y)

    def test_labels_that_only_memory_can_learn_are_complained_of(self):
        X = waves(n_each=15)
        shuffled = np.random.default_rng(1).permutation(X.labels)
        options = SMALL | {"max_steps": 120, "trainer": tl.Trainer(learning_rate=1e-2), "random_state": 0}
        with pytest.warns(tl.train.NotLearnedWarning, match="recognizes|shuffled labels"):
            tl.Prototypes(**options).fit(X, shuffled)
        tl.Prototypes(**options).fit(X)  # the true ones give no warning


class NeedsLengths(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 6)

    def forward(self, x, lengths):
        return self.linear(x).sum(1) / lengths[:, None]


class OwnNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 6)

    def forward(self, x, lengths=None):
        known = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
        inside = torch.arange(x.shape[1]) < known[:, None]
        return (self.linear(x).tanh() * inside[..., None]).sum(1) / known[:, None]


class TestEncoders:
    CAUSAL = tl.CausalEncoder(n_features=8, channels=4, depth=2, reduced_size=5, max_steps=2, random_state=0)

    def test_one_that_is_not_fitted_is_trained_with_labels(self):
        model = tl.Prototypes(encoder=self.CAUSAL, max_steps=3, random_state=0).fit(waves())
        assert isinstance(model.encoder_, tl.CausalEncoder)
        assert model.encode(waves()).shape == (32, 8)
        drawn = tl.CausalEncoder(
            n_features=8, channels=4, depth=2, reduced_size=5, max_steps=0, random_state=0, vectors="raw"
        )
        assert not np.allclose(drawn.fit(waves()).encode(waves()), model.encode(waves()), atol=1e-4)
        assert not hasattr(self.CAUSAL, "network_")  # the caller's stays as it is

    def test_a_fitted_one_goes_on_or_stays(self):
        fitted = self.CAUSAL.__sklearn_clone__().fit(waves())
        before = fitted.encode(waves())
        moved = tl.Prototypes(encoder=fitted, max_steps=3, random_state=0).fit(waves())
        kept = tl.Prototypes(encoder=fitted, freeze=True, max_steps=3, random_state=0).fit(waves())
        assert not np.allclose(moved.encode(waves()), before)
        assert kept.encode(waves()).tobytes() == before.tobytes() == fitted.encode(waves()).tobytes()

    def test_one_without_a_torch_module_is_used_as_it_is_and_whitened_if_wide(self, tmp_path):
        model = tl.Prototypes(encoder=tl.Rocket(n_features=1000, random_state=0), max_steps=3, random_state=0)
        model.fit(waves())
        assert model.encode(waves()).shape[1] <= 128
        assert copied(model, tmp_path / "m").predict(waves()).tolist() == model.predict(waves()).tolist()

    def test_values_may_be_missing_where_the_encoder_takes_them(self):
        X = waves()
        gaps = tl.Sequences([np.where(np.arange(len(x)) == 7, np.nan, x[:, 0]) for x in X], labels=X.labels)
        encoder = tl.encode.StatisticsEncoder()
        model = tl.Prototypes(encoder=encoder, extra_encoders=[], max_steps=1, random_state=0).fit(gaps)
        np.testing.assert_allclose(model.encode(gaps), encoder.fit(gaps).encode(gaps), atol=1e-6)
        with pytest.raises(ValueError, match="cannot take missing values"):
            tl.Prototypes(encoder=self.CAUSAL, max_steps=1, random_state=0).fit(gaps)

    def test_vectors_of_a_single_number_are_learned_saved_and_compared(self, tmp_path):
        encoder = tl.SiameseGRU(hidden=4, n_outputs=1, random_state=0)
        model = tl.Prototypes(
            encoder=encoder, similarity_fn=LearnedSimilarity(hidden=1), max_steps=2, random_state=0
        ).fit(waves())
        again = copied(model, tmp_path / "m")
        assert again.n_trained_features_ == again.encode(waves()).shape[1] == 1
        np.testing.assert_array_equal(again.class_scores(waves()), model.class_scores(waves()))

    def test_encoders_beside_it_have_twice_its_share(self):
        X = waves()
        model = tl.Prototypes(**SMALL | EXTRA, random_state=0).fit(X)
        own, other = model.encoder_.encode(X), model.extra_encoders_[0].encode(X)
        unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (own, other)]
        expected = np.concatenate([unit[0] / np.sqrt(3), unit[1] * np.sqrt(2 / 3)], axis=1)
        np.testing.assert_allclose(model.encode(X), expected, atol=1e-6)
        cosines = expected @ expected.T
        scale, bias = np.polyfit(cosines.ravel(), model.similarity(X, X).ravel(), 1)
        np.testing.assert_allclose(model.similarity(X, X), scale * cosines + bias, atol=1e-4)
        assert scale > 0

    def test_by_default_two_discriminants_are_beside_a_network_of_sequences(self):
        model = tl.Prototypes(max_steps=2, random_state=0).fit(waves())
        assert [type(one.encoder_) for one in model.extra_encoders_] == [tl.Rocket, tl.encode.StatisticsEncoder]
        assert tl.Prototypes(extra_encoders=[], max_steps=2, random_state=0).fit(waves()).extra_encoders_ == []
        with pytest.raises(ValueError, match="takes no vectors but those of the encoder"):
            tl.Prototypes(**SMALL | {"extra_encoders": [tl.Rocket()]}).fit(waves())

    def test_a_torch_module_will_do_but_no_folder_holds_it(self, tmp_path):
        own = OwnNetwork()
        model = tl.Prototypes(encoder=own, max_steps=5, random_state=0).fit(waves())
        assert model.encode(waves()).shape == (32, 6)
        alone, together = model.encode(waves()[3:4])[0], model.encode(waves())[3]
        assert alone.tobytes() == together.tobytes()
        with pytest.raises(TypeError, match="custom torch module"):
            model.save(tmp_path / "m")
        assert next(own.parameters()).grad is None  # a copy learned

    def test_vectors_and_images_are_sequences_of_one_frame(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 20)
        vectors = tl.Sequences(rng.standard_normal((40, 7)) + 3 * y[:, None], layout="nc")
        model = tl.Prototypes(encoder=tl.encode.VectorEncoder(), max_steps=60, random_state=0).fit(vectors, y)
        assert (model.predict(vectors) == y).mean() > 0.9
        images = rng.random((40, 1, 12, 12)) + y[:, None, None, None] * (np.arange(12) > 5)
        pictures = tl.Sequences(images, layout="nchw")
        model = tl.Prototypes(encoder=tl.encode.ImageEncoder(), max_steps=30, random_state=0).fit(pictures, y)
        assert (model.predict(pictures) == y).mean() > 0.9
        assert isinstance(model.similarity(pictures[0], pictures[1]), float)

    def test_a_module_is_told_lengths_also_where_all_are_equal(self):
        X = np.random.default_rng(0).standard_normal((8, 9))
        model = tl.Prototypes(encoder=NeedsLengths(), max_steps=2, random_state=0).fit(X, np.arange(8) % 2)
        assert model.predict(X).shape == (8,)

    def test_a_seed_repeats_what_is_fitted_beside(self):
        options = SMALL | {"similarity_fn": None, "extra_encoders": [tl.Rocket(n_features=200)], "max_steps": 2}
        one, other = (tl.Prototypes(**options, random_state=3).fit(waves()).encode(waves()) for _ in range(2))
        assert one.tobytes() == other.tobytes()

    @pytest.mark.parametrize("averaging", ["moving", "gradient"])
    def test_without_exact_means_nothing_is_beside(self, averaging):
        model = tl.Prototypes(averaging=averaging, max_steps=2, random_state=0).fit(waves())
        assert model.predict(waves()).shape == (32,)

    def test_a_class_that_no_batch_showed_has_its_mean(self):
        X = tl.Sequences(np.random.default_rng(0).standard_normal((80, 6)), labels=np.arange(80) % 40)
        model = tl.Prototypes(**SMALL | {"max_steps": 1}, averaging="moving", random_state=0).fit(X)
        assert not model.network_.seen_classes.all()
        assert np.abs(model.prototypes_).max(axis=1).min() > 0

    def test_images_without_an_encoder_for_them_are_told_the_way(self):
        with pytest.raises(ValueError, match=r'encoder=ImageEncoder\(\) and Sequences\(X, layout="nchw"\)'):
            tl.Prototypes().fit(np.zeros((6, 1, 8, 8)), [0, 1] * 3)

    def test_anything_else_is_refused_by_its_name(self):
        with pytest.raises(TypeError, match="encoder='rocket'.*expected an encoder"):
            tl.Prototypes(encoder="rocket").fit(waves())


class TestCheckpoints:
    def test_a_training_goes_on_with_the_encoder_that_it_began_with(self, tmp_path):
        causal = {"n_features": 8, "channels": 4, "depth": 2, "reduced_size": 5, "max_steps": 2}
        one, other = (tl.CausalEncoder(**causal, random_state=seed).fit(waves()) for seed in (0, 1))
        how = {"trainer": tl.Trainer(checkpoint=tmp_path / "c"), "random_state": 0}
        tl.Prototypes(encoder=one, max_steps=3, **how).fit(waves())
        assert tl.Prototypes(encoder=one, max_steps=5, **how).fit(waves()).history_.n_steps == 5
        with pytest.raises(ValueError, match="encoder"):
            tl.Prototypes(encoder=other, max_steps=6, **how).fit(waves())


class TestThresholds:
    def test_rejecting_by_known_ones_alone_is_the_conformal_rank(self):
        """Ties included: a high novelty is a high score, and as many may be above as leave another one the rate."""
        rng = np.random.default_rng(0)
        for known in (rng.standard_normal(50), np.ones(12), rng.integers(0, 3, 50).astype(float)):
            for rate in (0.1, 0.3, 0.29):
                assert (known > novelty_threshold(known, None, rate)).sum() == accepted_at(known.tolist(), rate)

    @pytest.mark.parametrize(("count", "rate"), [(19, 0.05), (30, 0.05), (10, 0.1), (25, 0.2)])
    def test_another_known_one_is_rejected_as_often_as_its_rank_says(self, count, rate):
        """⌊(n + 1) α⌋ / (n + 1) of continuous scores, over many calibrations; 10 examples at 0.05 gave 0.095 once."""
        rng = np.random.default_rng(1)
        limits = np.array([novelty_threshold(rng.standard_normal(count), None, rate) for _ in range(3000)])
        rejected = 1 - norm.cdf(limits)  # of all that could come
        expected = np.floor((count + 1) * rate + 1e-9) / (count + 1)
        assert rejected.mean() == pytest.approx(expected, abs=4 * rejected.std() / np.sqrt(len(limits)))
        assert expected <= rate

    def test_too_few_known_ones_are_refused_with_the_number_that_is_enough(self, model, tmp_path):
        words = r"false_reject=0.05: 18 examples cannot show .* expected at least 19; give more, or false_reject=0.053"
        with pytest.raises(ValueError, match=words):
            novelty_threshold(np.arange(18.0), None, 0.05)
        ready = copied(model, tmp_path / "a")
        with pytest.raises(ValueError, match="false_reject=0.01: 32 examples .* at least 99"):
            ready.calibrate(waves(seed=11), false_accept=0.1, false_reject=0.01)
        assert not hasattr(ready, "thresholds_")

    def test_rejecting_with_unknown_ones_is_the_best_of_all_cuts(self):
        rng = np.random.default_rng(0)
        known, unknown = rng.integers(0, 9, 30).astype(float), rng.integers(4, 14, 20).astype(float)

        def gain(cut):
            return (known <= cut).mean() + (unknown > cut).mean()

        best = max(gain(cut) for cut in np.arange(-1, 15, 0.25))
        assert gain(novelty_threshold(known, unknown, 0.1)) == pytest.approx(best)

    def test_calibrating_gives_temperature_threshold_and_rejection(self, model, tmp_path):
        held, strange = waves(seed=11), waves(classes=(30,), seed=12)
        ready = copied(model, tmp_path / "a").calibrate(held, unknown=strange, false_accept=0.1)
        pairs = ready.similarity(held, held)[np.triu_indices(32, 1)]
        same = (held.labels[:, None] == held.labels)[np.triu_indices(32, 1)]
        assert ((pairs >= ready.thresholds_.pair) & ~same).sum() <= 0.1 * (~same).sum()
        words = (
            r"false_accept=0.05 cannot be promised: 32 examples make 16 impostor pairs that share no example, and 19 are "
            r"needed. The threshold is above all impostor pairs of these examples, .* give more examples, 38 or more"
        )
        with pytest.warns(CalibrationWarning, match=words):
            strict = copied(ready, tmp_path / "c").calibrate(held, false_accept=0.05)
        assert strict.thresholds_.pair > pairs[~same].max()
        named = ready.predict(strange, reject=True)
        assert [one is None for one in named] == (ready.novelty(strange) > ready.thresholds_.novelty).tolist()
        assert ready.predict_proba(held).sum(axis=1) == pytest.approx(1)
        again = copied(ready, tmp_path / "b")
        assert again.thresholds_ == ready.thresholds_

    @pytest.mark.parametrize("inference", ["similarity", "dense", "both"])
    def test_those_beyond_the_threshold_of_novelty_are_refused_and_the_others_named(self, model, tmp_path, inference):
        ready = (
            copied(model, tmp_path / "a").set_params(inference=inference).calibrate(waves(seed=11), false_accept=0.1)
        )
        asked = waves(seed=12)
        novelty = ready.novelty(asked)
        ready.thresholds_ = ready.thresholds_._replace(novelty=float(np.median(novelty)))
        named, plain = ready.predict(asked, reject=True), ready.predict(asked)
        assert [one is None for one in named] == (novelty > np.median(novelty)).tolist()
        assert all(one is None or one == other for one, other in zip(named, plain, strict=True))

    def test_what_asks_for_a_threshold_before_there_is_one_is_told_how_to_get_it(self, model):
        with pytest.raises(ValueError, match=r"reject=True needs a threshold: call calibrate"):
            model.predict(waves(), reject=True)
        with pytest.raises(ValueError, match=r"call calibrate_stream"):
            model.stream()

    def test_a_temperature_is_for_the_head_that_was_calibrated(self, model, tmp_path):
        ready = copied(model, tmp_path / "a").calibrate(waves(seed=11), false_accept=0.1)
        ready.set_params(inference="dense")
        with pytest.raises(ValueError, match=r"it was 'similarity' when .* call calibrate\(X, y\) again"):
            ready.predict_proba(waves())
        assert ready.calibrate(waves(seed=11), false_accept=0.1).predict_proba(waves()).shape == (32, 4)

    def test_a_calibration_that_fails_changes_nothing(self, model, tmp_path):
        ready = copied(model, tmp_path / "a").calibrate(waves(seed=11), false_accept=0.1)
        before = ready.thresholds_
        one_kind = waves(classes=(2,), seed=1)
        for X, y, match in [
            (one_kind, None, "no pair of two classes"),
            (waves(n_each=1, seed=1), None, "no pair of one class"),
            (waves(classes=(3, 2)), None, "'every 3', which is no class"),
            (waves(), np.arange(32), "the same type"),
        ]:
            with pytest.raises((ValueError, TypeError), match=match):
                ready.calibrate(X, y)
        assert ready.thresholds_ is before


class TestStreams:
    def test_a_stream_ends_where_the_whole_sequence_does(self, model, tmp_path):
        ready = copied(model, tmp_path / "a").calibrate_stream(waves(n_each=20, seed=2), error_rate=0.3)
        again = copied(ready, tmp_path / "b")
        for x in waves(seed=4)[::5]:
            stream = again.stream()
            seen = [stream.push(sample) for sample in x]
            if not seen[-1].is_certain:
                last = stream.finish()
                strange = float(ready.novelty([x])[0]) > ready.stream_bounds_.novelty
                assert last.label == (None if strange else ready.predict([x])[0])
                assert last.is_certain
            first = next((i for i, one in enumerate(seen) if one.is_certain), None)
            if first is not None:
                assert first + 1 in ready.stream_bounds_.looks
                assert seen[first].label == ready.predict([x[: first + 1]])[0]
                assert all(one == seen[first] for one in seen[first:])  # a decision stands

    def test_the_least_probability_is_the_least_that_keeps_its_promise(self):
        rng = np.random.default_rng(0)
        sure, right = rng.integers(0, 10, (4, 50)) / 10, rng.random((4, 50)) < 0.9

        def wrong(least):
            count = 0
            for item in range(50):
                looks = [look for look in range(4) if sure[look, item] >= least]
                count += bool(looks) and not right[looks[0], item]
            return (count + 1) / 51

        found = min_probability(sure, right, 0.1)
        assert all(wrong(least) <= 0.1 for least in np.unique(sure) if least >= found)
        below = [least for least in np.unique(sure) if least < found]
        assert not below or wrong(max(below)) > 0.1

    def test_strangers_are_not_named_before_the_end_that_would_be_refused_at_it(self):
        rng = np.random.default_rng(0)
        strange = tl.Sequences(
            [np.sign(np.sin(np.arange(30) / 3 + i)) * 3 + rng.standard_normal(30) for i in range(20)]
        )
        rocket = tl.Rocket(n_features=500, causal=True, random_state=0)
        model = tl.Prototypes(encoder=rocket, max_steps=60, random_state=0)
        model.fit(waves(n_each=12)).calibrate_stream(waves(n_each=30, seed=2), unknown=strange[::2])
        named = 0
        for x in strange[1::2]:
            stream = model.stream()
            for sample in x:
                stream.push(sample)
            named += stream.finish().label is not None
        assert named <= 2

    def test_a_stream_stays_with_the_model_as_it_was(self, model, tmp_path):
        ready = copied(model, tmp_path / "a").calibrate_stream(waves(n_each=20, seed=2), error_rate=0.3)
        stream, other = ready.stream(), ready.stream()
        ready.forget("every 2")
        for sample in waves(seed=4)[0]:
            assert stream.push(sample) == other.push(sample)
        assert stream.finish().label in {None, *model.classes_}

    def test_a_stream_of_short_sequences_may_be_long(self):
        model = (
            tl.Prototypes(extra_encoders=[], max_steps=2, random_state=0).fit(waves()).calibrate_stream(waves(seed=2))
        )
        stream = model.stream()
        for sample in np.sin(np.arange(600) / 50):
            stream.push(sample)
        assert stream.finish().is_certain

    def test_too_few_examples_leave_it_to_the_end(self):
        assert min_probability(np.ones((3, 5)), np.ones((3, 5), bool), 0.05) == np.inf

    def test_an_encoder_without_streams_says_so(self):
        model = tl.Prototypes(encoder=OwnNetwork(), max_steps=2, random_state=0).fit(waves())
        with pytest.raises(TypeError, match="reads no streams"):
            model.stream()
        centred = tl.Prototypes(encoder=tl.Rocket(n_features=60, random_state=0), max_steps=2, random_state=0)
        with pytest.raises(ValueError, match=r"causal=False.*use Rocket\(causal=True\)"):
            centred.fit(waves()).calibrate_stream(waves(seed=2))


class TestBadInput:
    def test_classes_that_teach_nothing_are_refused(self):
        X = np.zeros((4, 5))
        with pytest.raises(ValueError, match="one class"):
            tl.Prototypes().fit(X, [1, 1, 1, 1])
        with pytest.raises(ValueError, match="one member only"):
            tl.Prototypes().fit(X, [1, 2, 3, 4])
        with pytest.raises(TypeError, match="mixes numbers and text"):
            tl.Prototypes().fit(X, [1, "1", 2, 2])

    @pytest.mark.parametrize(
        ("call", "match"),
        [
            (lambda m: m.enroll(waves(classes=(2,))), "extend=True adds the examples.*forget"),
            (lambda m: m.enroll([], []), "empty"),
            (lambda m: m.enroll(np.zeros((3, 5, 2)), ["a"] * 3), "fitted on"),
            (lambda m: m.forget("nobody"), "label='nobody' is no class of this Prototypes: expected one of 'every 12'"),
            (lambda m: m.forget(3), "label: 3 is of another type.*same type"),
            (lambda m: m.forget(["every 2"]), "label is a list: expected one class"),
            (lambda m: m.similarity(waves()[0], None), "y is a NoneType: expected a sequence"),
            (lambda m: m.calibrate(waves(seed=1), unknown=np.zeros((2, 5, 3))), "unknown has frames of shape"),
            (lambda m: m.calibrate(waves(seed=1), false_accept=0.1, false_reject=1e-4), "cannot show so small a rate"),
            (lambda m: m.calibrate(waves(seed=1), false_reject=1), "expected a fraction between 0 and 1"),
            (lambda m: m.retrieve(waves()[0], waves()[:3], 4), "k=4: expected 1 to 3"),
            (lambda m: m.similarity(np.zeros((4, 5, 2)), waves()[0]), "fitted on"),
            (lambda m: m.verify([np.nan, 1.0], waves()[0]), "missing"),
        ],
    )
    def test_what_makes_no_sense_is_named(self, model, call, match):
        with pytest.raises((ValueError, TypeError), match=match):
            call(model)

    def test_the_last_class_stays(self, model, tmp_path):
        changed = copied(model, tmp_path / "a")
        for kind in model.classes_[:-1]:
            changed.forget(kind)
        with pytest.raises(ValueError, match="only class"):
            changed.forget(model.classes_[-1])
        assert set(changed.predict(waves())) == {model.classes_[-1]}

    def test_an_adversary_needs_what_it_can_attack(self):
        with pytest.raises(TypeError, match="adversary=.*expected an attack"):
            tl.Prototypes(adversary="pgd").fit(waves())
        with pytest.raises(TypeError, match=r"adversary=.*attacks\.PGD\(0\.3\) or attacks\.FGSM\(0\.3\)"):
            tl.Prototypes(adversary=tl.attacks.PGD).fit(waves())  # the class in place of a value
        with pytest.raises(TypeError, match="adversary=.*expected an attack"):
            tl.Prototypes(adversary=tl.Prototypes()).fit(waves())  # whose option `perturb` is no method
        with pytest.raises(ValueError, match="freeze=False"):
            tl.Prototypes(adversary=tl.attacks.FGSM(0.1), freeze=True).fit(waves())
        rocket = tl.Rocket(n_features=200, random_state=0)
        with pytest.raises(ValueError, match="nothing to train against"):
            tl.Prototypes(encoder=rocket, adversary=tl.attacks.FGSM(0.1)).fit(waves())

    def test_anything_with_a_method_perturb_is_an_adversary(self):
        """Standardized batches come with their lengths, targets, the logits of both heads and the scaler."""
        seen = []

        class Recorder:
            def perturb(self, x, lengths, targets, logits_of, rng=None, *, scaler=None):
                seen.append([logits.shape for logits in logits_of(x, lengths)])
                assert len(x) == len(lengths) == len(targets)
                assert scaler.scale.shape == (1,)
                return x

        tl.Prototypes(**SMALL | {"max_steps": 3}, adversary=Recorder(), random_state=0).fit(waves())
        assert len(seen) == 3
        assert all(len(heads) == 2 and {shape[1] for shape in heads} == {4} for heads in seen)

    def test_training_against_an_adversary_runs_on_all_heads(self):
        X = waves()
        for auxiliary in (None, "plain"):
            model = tl.Prototypes(
                **SMALL, adversary=tl.attacks.PGD(0.1, steps=2), auxiliary=auxiliary, random_state=0
            ).fit(X)
            plain = tl.Prototypes(**SMALL, auxiliary=auxiliary, random_state=0).fit(X)
            assert not np.allclose(model.class_scores(X), plain.class_scores(X), atol=1e-4)


def test_a_folder_without_a_table_of_weights_is_refused_by_the_kind_that_came(model):
    state = model._get_state() | {"network_": [1.0, 2.0]}
    with pytest.raises(ValueError, match="network_ is a list: expected an array for every weight"):
        tl.Prototypes(**model.get_params(deep=False))._set_state(state)


@pytest.mark.parametrize("broken", ["owners_", "prototypes_", "members_"])
def test_a_folder_whose_arrays_do_not_belong_together_is_refused(model, broken):
    state = model._get_state()
    if broken == "owners_":
        state["owners_"] = state["owners_"][::-1].copy()
    elif broken == "prototypes_":
        state["prototypes_"] = state["prototypes_"][:, :-1]
    else:
        state["members_"] = state["members_"]._replace(owners=np.zeros(32, np.int64))
    with pytest.raises(ValueError, match="(prototypes_|members_.vectors) has shape|in their order"):
        tl.Prototypes(**model.get_params(deep=False))._set_state(state)


def test_one_name_enrolls_all_and_comes_second():
    rng = np.random.default_rng(0)
    X = tl.Sequences([rng.standard_normal((8, 1)) + 3 * (i % 2) for i in range(8)], labels=["a", "b"] * 4)
    model = tl.Prototypes(max_steps=1, random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"enroll\(X, y\): the sequences come first, then their classes; 'Lee' came"):
        model.enroll("Lee", X[:3])
    one_by_one = copy.deepcopy(model).enroll(X[:3], ["Lee"] * 3)
    np.testing.assert_array_equal(model.enroll(X[:3], "Lee").prototypes_, one_by_one.prototypes_)
    assert model.classes_.tolist() == ["Lee", "a", "b"]


def test_enrolling_without_arguments_names_prototypes_and_what_to_pass():
    X = np.random.default_rng(0).standard_normal((8, 9)) + 3 * (np.arange(8) % 2)[:, None]
    model = tl.Prototypes(max_steps=1, random_state=0).fit(X, ["a", "b"] * 4)
    with pytest.raises(TypeError, match=r"^Prototypes\.enroll\(\) missing 1 required positional argument: 'X'"):
        model.enroll()
    with pytest.raises(TypeError, match=r"^Prototypes\.forget\(\) missing 1 required positional argument: 'label'"):
        model.forget()
    with pytest.raises(ValueError, match="^Prototypes requires y to be passed, .* give the class of every sequence"):
        model.enroll(X[:2])


def test_an_encoder_of_thousands_of_features_is_used_by_128_whitened_components():
    """As the docstring says; with up to 512 features as it is."""
    X = waves(n_each=50)
    for n_features, expected in ((600, 128), (84, None)):
        model = tl.Prototypes(encoder=tl.Rocket(n_features=n_features, random_state=0), max_steps=1, random_state=0)
        size = model.fit(X).n_trained_features_
        assert size == expected if expected else size <= 512


RANGES = {  # the last value that is taken and the first that is refused
    **dict.fromkeys(["n_prototypes", "max_steps"], ((1, 0),)),
    "n_per_class": ((2, 1),),
    "label_smoothing": ((0, -1), (0.99, 1)),
    "max_time": ((1e-300, 0),),
    "momentum": ((0, -1), (1, 2)),
}


@pytest.mark.parametrize(("name", "ends"), RANGES.items())
def test_the_last_value_of_a_range_is_taken_and_the_next_one_refused(name, ends):
    check = tl.Prototypes.options()[name].check
    for last, beyond in ends:
        assert check(last, name) == last
        with pytest.raises(ValueError, match=rf"{name}={beyond}\b.*: expected"):
            check(beyond, name)


@pytest.mark.parametrize(
    ("kind", "name", "taken", "refused"),
    [
        (LearnedSimilarity, "hidden", 1, 0),
        (LearnedSimilarity, "dropout", 0, -1),
        (LearnedSimilarity, "dropout", 0.99, 1),
        (tl.Trainer, "max_epochs", 1, 0),
        (tl.Trainer, "learning_rate", 1e-300, 0),
        (tl.Trainer, "weight_decay", 0, -1),
    ],
)
def test_values_take_the_last_value_of_a_range_and_refuse_the_next(kind, name, taken, refused):
    assert getattr(kind(**{name: taken}), name) == taken
    with pytest.raises(ValueError, match=rf"{name}={refused}\b.*: expected"):
        kind(**{name: refused})


def test_a_batch_is_of_two_sequences_or_more_and_nothing_is_held_out():
    tl.Prototypes(trainer=tl.Trainer(batch_size=2))._refuse_options()
    with pytest.raises(ValueError, match=r"trainer\.batch_size=1: expected at least 2"):
        tl.Prototypes(trainer=tl.Trainer(batch_size=1)).fit(waves())
    with pytest.raises(ValueError, match=r"trainer\.validation=0.2: Prototypes has no validation"):
        tl.Prototypes(trainer=tl.Trainer(validation=0.2)).fit(waves())


def test_the_perceptron_is_reached_through_its_word(tmp_path):
    model = tl.Prototypes(**SMALL | {"similarity_fn": "fused"}, random_state=0)
    assert model.get_params()["similarity_fn__with_cosine"] is True
    model.set_params(similarity_fn__hidden=5).fit(waves())
    assert copied(model, tmp_path / "m").similarity_fn == LearnedSimilarity(hidden=5, with_cosine=True)
    assert model.network_.similarity.learned.first.out_features == 5
    with pytest.raises(ValueError, match="similarity_fn='linear': expected one of 'cosine', 'learned', 'fused'"):
        tl.Prototypes(similarity_fn="linear").fit(waves())


DEFAULTS = {"n_prototypes": 1, "momentum": 0.9, "label_smoothing": 0.0, "n_per_class": 6, "freeze": False,
            "soft_pairs": False, "perturb": True, "standardize": True}  # fmt: skip


def test_defaults_are_those_of_the_decisions():
    """Typed once more, as every comparison of the pages is made with them: a change is a decision, not an accident."""
    known = {name: one.default for name, one in inspect.signature(tl.Prototypes).parameters.items()}
    assert {name: value for name, value in known.items() if isinstance(value, int | float)} == DEFAULTS
    assert LearnedSimilarity() == LearnedSimilarity(hidden=512, dropout=0.25, symmetrize=True, with_cosine=False)
    own = tl.Trainer(
        batch_size=64,
        learning_rate=3e-3,
        optimizer="adamw",
        betas=(0.9, 0.999),
        weight_decay=1e-3,
        gradient_clip=6.0,
        schedule="one_cycle",
        accelerator="cpu",
        devices=1,
        precision="32-true",
    )
    assert tl.Prototypes().trainer_ == own
