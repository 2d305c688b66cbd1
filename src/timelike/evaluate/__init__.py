"""Comparison of methods: folds, budgets, scores with intervals, paired tests, ranks, and few-shot tasks."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .comparison import Comparison as Comparison, MethodDifference as MethodDifference, compare as compare
    from .few_shot_tasks import FewShotResult as FewShotResult, few_shot as few_shot
    from .ranking import Ranking as Ranking, rank_table as rank_table
    from .rows import ComparisonRow as ComparisonRow

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("compare",))
