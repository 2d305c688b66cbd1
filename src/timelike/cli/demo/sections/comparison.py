"""Which method fits: methods of several families compared on one data set, 1-NN DTW and Rocket among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.extras import is_installed
from ..data import load_or_generate
from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    from ....evaluate import Comparison

STEPS = 300  # of each training
RIVALS = ("1-NN DTW", "Rocket + ridge")
CHOSEN = ("Prototypes", "Discriminant")  # for the summary: the first of them that is installed
_OTHERS = ("1-NN MSM", "statistics + forest", "Discriminant")

_CODE = """\
import timelike as tl

comparison = tl.compare(X, y)  # every method, by cross-validation
print(comparison)
comparison.best().predict(new)  # the best one, fitted on everything
"""


def run() -> Section:
    """Compare methods on the official split of spoken vowels."""
    from ....evaluate import compare
    from ....report import sections

    data = load_or_generate("JapaneseVowels")
    assert data.test is not None
    comparison = compare(
        data.train,
        methods={name: name for name in (*RIVALS, *_OTHERS)} | _trained_methods(),
        test=(data.test, data.test.labels),
        random_state=0,
        progress=False,
    )
    words = f"Who is speaking, one of nine persons: {data.source}. Networks are trained for {STEPS} steps."
    return Section(
        title="Which method fits",
        purpose="One call compares methods of every kind on the same split, with intervals and paired tests, and "
        "returns the best one, fitted: the first thing to run on data that you do not know yet.",
        scores=_score_chosen(comparison),
        parts=(sections.paragraph(words), comparison._repr_html_()),
        code=_CODE,
    )


def _trained_methods() -> dict[str, Any]:
    """Methods that need torch, with a budget in steps."""
    if not is_installed("torch"):
        return {}
    from ....metric import SiameseGRU
    from ....prototypes import Prototypes

    return {"SiameseGRU": SiameseGRU(max_steps=STEPS), "Prototypes": Prototypes(max_steps=STEPS)}


def _score_chosen(comparison: Comparison) -> tuple[Score, ...]:
    """The method named in advance beside each rival; the best on the test part has had luck there."""
    accuracies = {row.method: row.scores["accuracy"].mean for row in comparison.ranked_rows()}
    chosen = next((name for name in CHOSEN if name in accuracies), None)
    if chosen is None:
        return ()
    return tuple(
        Score(
            method=chosen,
            measure="accuracy",
            value=accuracies[chosen],
            rival=rival,
            rival_value=accuracies[rival],
            better="higher",
        )
        for rival in RIVALS
        if rival in accuracies
    )


CHAPTER = Chapter(name="which method fits", run=run, needs=("JapaneseVowels",))
