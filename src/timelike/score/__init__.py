"""(truth, answer) → number, with intervals."""

from .intervals import Interval, interval
from .retrieval import average_precision, mean_average_precision, nearest_accuracy, nearest_correct

__all__ = [
    "Interval",
    "average_precision",
    "interval",
    "mean_average_precision",
    "nearest_accuracy",
    "nearest_correct",
]
