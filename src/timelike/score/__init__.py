"""(truth, answer) → number, with intervals."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .intervals import Interval as Interval, interval as interval
    from .retrieval import (
        average_precision as average_precision,
        mean_average_precision as mean_average_precision,
        nearest_accuracy as nearest_accuracy,
        nearest_correct as nearest_correct,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
