"""Identities that are enrolled: the verbs for them, and what is known of their examples."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from ...models import learned
from ...sequences import Sequences, concat
from ...sequences.arguments import flag, shown
from ...sequences.callers import outside
from ..decision import Decision
from .asking import Identity, checked_identity, decided, refuse_swapped
from .base import Calibrating
from .identity_rank import CalibrationWarning
from .scoring import Floats
from .templates import Template, asked_about, scores_against, some_of, template, usage


class Enrolling(Calibrating):
    """A verifier that knows identities by their examples."""

    templates_: dict[Identity, Template] = learned.derived()

    def enroll(self, X: Any, identity: Identity | None = None, *, extend: bool = False) -> Self:
        """Keep examples of an identity, a sequence or several; with `extend` they are added to those there are.

        In which order identities are enrolled, and whether examples come at once or in parts, changes nothing. Of more
        examples than calibration had of an identity only so many are compared, unless `against="mean"`, and a
        `CalibrationWarning` says so: with all of them more impostors than `false_accept` would be accepted.
        """
        refuse_swapped(X, "enroll(X, identity)")
        more = flag(extend, "extend")
        with self._changing() as made:
            given = made._opened(X, "X")[0]
            name = checked_identity(identity, made.enrolled_)
            before = made.enrolled_.get(name)
            if before is not None and not more:
                raise ValueError(
                    f"identity={shown(name)} is enrolled already, with {len(before)} examples: extend=True adds to "
                    f"them, and forget({shown(name)}) first replaces them"
                )
            plain = given.replace(labels=None, groups=None, ids=None, channel_names=None).copy()
            whole = plain if before is None else concat([before, plain])
            made.templates_ = {**made.templates_, name: made._template(name, whole)}
            made.enrolled_ = dict(sorted({**made.enrolled_, name: whole}.items()))
            made._warn_unused([name])
        return self

    def forget(self, identity: Identity) -> Self:
        """Forget an identity and its examples."""
        with self._changing() as made:
            name = made._enrolled(identity)
            made.enrolled_ = {one: held for one, held in made.enrolled_.items() if one != name}
            made.templates_ = {one: held for one, held in made.templates_.items() if one != name}
        return self

    def accepts(self, x: Any, identity: Identity) -> Decision:
        """Whether a sequence is of an identity that is enrolled; for several sequences, arrays (item,)."""
        refuse_swapped(x, "accepts(x, identity)")
        now = self._snapshot()
        asked, single = now._opened(x, "x")
        name = now._enrolled(identity)
        threshold = now._threshold(now.templates_[name].n_examples)
        scores = now._against([name], asked)[0]
        return decided(scores[0] if single else scores, threshold, name)

    def identify(self, x: Any) -> Decision:
        """Which of the identities a sequence is of, if any: the one that is farthest above its threshold.

        `false_accept` is meant for one claim. Among n identities a stranger has n chances: calibrate for a rate that is
        n times smaller, to keep it.
        """
        now = self._snapshot()
        asked, single = now._opened(x, "x")
        if not now.enrolled_:
            raise ValueError("nobody is enrolled: call enroll(X, identity) first")
        names = list(now.enrolled_)
        limits = np.array([now._threshold(now.templates_[name].n_examples) for name in names])
        scores = now._against(names, asked)
        best, every = (scores - limits[:, None]).argmax(axis=0), np.arange(len(asked))
        found = decided(scores[best, every], limits[best])
        who = np.array([names[i] if yes else None for i, yes in zip(best, found.accepted, strict=True)], dtype=object)
        if single:
            return Decision(bool(found.accepted[0]), float(found.score[0]), float(limits[best[0]]), who[0])
        return Decision(found.accepted, found.score, found.threshold, who)

    def _derive(self) -> None:
        super()._derive()
        self.templates_ = {name: self._template(name, examples) for name, examples in self.enrolled_.items()}

    def _template(self, name: Identity, examples: Sequences) -> Template:
        if hasattr(self, "thresholds_"):
            examples = some_of(examples, usage(self.thresholds_, len(examples), self._manner().against).n_compared)
        return template(self._scorer(), name, examples, self.others_, self._manner())

    def _warn_unused(self, names: Iterable[Identity]) -> None:
        """A warning where one of the identities has more examples than any of calibration, and some are not used."""
        against = self._manner().against
        if not hasattr(self, "thresholds_") or against == "mean":
            return
        most = max(self.thresholds_)
        more = [name for name in names if len(self.enrolled_[name]) > most]
        if not more:
            return
        warnings.warn(
            f"identity={shown(more[0])} has {len(self.enrolled_[more[0]])} examples, and there are thresholds for at "
            f"most {most}: {most} of them are compared, as with all of them more impostors than false_accept would be "
            "accepted. To use more, calibrate with more sequences of each identity, or with against='mean' in place of "
            f"{against!r}",
            CalibrationWarning,
            stacklevel=outside(),
        )

    def _against(self, names: list[Identity], sequences: Sequences) -> Floats:
        """Scores (identity, query)."""
        scorer, others, manner = self._scorer(), self.others_, self._manner()
        asked = asked_about(scorer, scorer.known(sequences), others, manner)
        return np.stack([scores_against(scorer, self.templates_[name], asked, others, manner) for name in names])

    def _enrolled(self, identity: Any) -> Identity:
        self._require_fitted()
        name = checked_identity(identity, self.enrolled_)
        if name not in self.enrolled_:
            known = ", ".join(map(shown, list(self.enrolled_)[:5])) or "nobody"
            raise ValueError(
                f"identity={shown(name)} is not enrolled ({known} is): call enroll(X, {shown(name)}) first"
            )
        return name
