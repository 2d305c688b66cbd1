"""Two sequences, or one and a claimed identity → accepted or not: scores, thresholds, evaluation, and a stream."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .decision import Decision as Decision
    from .estimator import Verifier as Verifier
    from .evaluation import Verification as Verification

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("Verifier",))
