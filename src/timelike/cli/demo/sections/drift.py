"""Drift: whether today's recordings are like yesterday's, and which of them are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..section import Chapter, Score, Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....sequences import Sequences

_N_ITEMS, _N_STRANGE = 60, 20  # recordings of a day, and how many of a changed one are by somebody new
_N_LISTED = 10  # recordings that are named
_LEVEL = 0.05
_CODE = """\
import timelike as tl

result = tl.distributions.TwoSample().test(yesterday, today)
tl.distributions.differences(yesterday, today)
# every day: tl.distributions.Drift(yesterday).update(today).drifted
"""


class _Day(NamedTuple):
    """What was found on a day on which a new speaker came: p-values, and the recordings that were named."""

    speaker: Any
    result: Any
    rival_p_value: float
    found: NDArray[np.bool_]
    rival_found: NDArray[np.bool_]


def run(n_speakers: int | None = None) -> Section:
    """Compare days of speech: each speaker in turn is the one who was not there yesterday."""
    import numpy as np

    from .... import distributions, sequences
    from ....plotting.two_sample import plot_named_items
    from ....report import sections
    from ..data import load_or_generate

    data = load_or_generate("JapaneseVowels")
    assert data.test is not None
    everyone = sequences.concat([data.train, data.test])
    labels, rng = np.asarray(everyone.labels), np.random.default_rng(0)
    everyone = everyone.replace(labels=None)
    days, quiet, rival_quiet = [], [], []
    for speaker in np.unique(labels)[:n_speakers]:
        strangers = everyone[rng.permutation(np.flatnonzero(labels == speaker))[:_N_STRANGE]]
        known = everyone[rng.permutation(np.flatnonzero(labels != speaker))]
        yesterday, familiar = known[:_N_ITEMS], known[_N_ITEMS : 2 * _N_ITEMS]
        today = sequences.concat([familiar[_N_STRANGE:], strangers])
        test = distributions.TwoSample(random_state=0)
        quiet.append(test.test(yesterday, familiar).p_value)
        rival_quiet.append(compare_statistics(yesterday, familiar))
        differences = distributions.differences(yesterday, today, n_permutations=19, random_state=0)
        named = np.array([one.position for one in differences.sequences[:_N_LISTED]])
        rival_named = most_unusual(yesterday, today)
        border = _N_ITEMS - _N_STRANGE
        days.append(
            _Day(
                speaker,
                test.test(yesterday, today),
                compare_statistics(yesterday, today),
                named >= border,
                rival_named >= border,
            )
        )

    seen = float(np.mean([day.result.p_value <= _LEVEL for day in days]))
    rival_seen = float(np.mean([day.rival_p_value <= _LEVEL for day in days]))
    correct = float(np.mean([day.found for day in days]))
    rival_correct = float(np.mean([day.rival_found for day in days]))
    false_alarms, rival_alarms = (int((np.array(p) <= _LEVEL).sum()) for p in (quiet, rival_quiet))
    rival = "means and spreads"
    names = [f"speaker {day.speaker}" for day in days]
    return Section(
        title="Drift: which recordings are not like yesterday's",
        purpose="A two-sample test says whether new recordings, of any lengths, are still like the old ones, and names "
        "those that are not: a new operator, a moved sensor, a worn machine.",
        scores=(
            Score(
                method="differences",
                measure=f"new speaker's among {_N_LISTED} named",
                value=correct,
                rival=rival,
                rival_value=rival_correct,
                better="higher",
            ),
            Score(
                method="TwoSample",
                measure=f"changed days seen, p ≤ {_LEVEL}",
                value=seen,
                rival=f"{rival}, t-tests",
                rival_value=rival_seen,
                better="higher",
            ),
        ),
        parts=(
            sections.paragraph(
                f"{data.source}: {_N_ITEMS} recordings of eight speakers are yesterday's. Today there are {_N_ITEMS} "
                f"others, {_N_STRANGE} of them by a ninth. Each of {len(days)} speakers is the ninth once. The cheap "
                "rival knows mean and spread of every channel of a recording: it compares them by t-tests, with "
                "Bonferroni's correction, and names the recordings with the greatest deviation from yesterday's."
            ),
            sections.table(
                ["the ninth", "p", f"p, {rival}", f"of {_N_LISTED} named", f"of {_N_LISTED} named, {rival}"],
                [
                    [
                        name,
                        float(day.result.p_value),
                        day.rival_p_value,
                        int(day.found.sum()),
                        int(day.rival_found.sum()),
                    ]
                    for name, day in zip(names, days, strict=True)
                ],
            ),
            sections.paragraph(
                f"With nobody new, p was at most {_LEVEL} on {false_alarms} of {len(days)} days, and on {rival_alarms} "
                f"by {rival}. By chance alone that happens on one day of {1 / _LEVEL:.0f}; for a look every day, Drift "
                "bounds the probability of a false alarm, ever."
            ),
            sections.figure_html(
                plot_named_items(
                    {
                        "differences": np.stack([day.found for day in days]),
                        rival: np.stack([day.rival_found for day in days]),
                    },
                    names,
                    ("by the new speaker", "by another one"),
                ),
                f"The {_N_LISTED} recordings named on each day, the most unlike yesterday's first: filled if they are "
                "by the new speaker.",
            ),
            sections.figure_html(
                days[0].result.plot(),
                f"How large the difference is on the day of {names[0]}, among those of yesterday and today shuffled.",
            ),
        ),
        code=_CODE,
    )


def _statistics(recordings: Sequences) -> NDArray[np.float64]:
    """Mean and spread of every channel, (recording, 2 · channel)."""
    import numpy as np

    return np.stack([np.concatenate([one.mean(axis=0), one.std(axis=0)]) for one in recordings])


def compare_statistics(old: Sequences, new: Sequences) -> float:
    """The smallest p-value of t-tests, corrected for their number."""
    import numpy as np
    from scipy.stats import ttest_ind

    p_values = np.asarray(ttest_ind(_statistics(old), _statistics(new), equal_var=False).pvalue)
    return float(min(1.0, len(p_values) * p_values.min()))


def most_unusual(old: Sequences, new: Sequences) -> NDArray[np.int64]:
    """Positions of the new recordings whose statistics are furthest from the old ones, in their deviations."""
    import numpy as np

    known = _statistics(old)
    deviations = (_statistics(new) - known.mean(axis=0)) / known.std(axis=0)
    return np.argsort(-np.square(deviations).sum(axis=1))[:_N_LISTED]


CHAPTER = Chapter(name="drift", run=run, needs=("JapaneseVowels",))
