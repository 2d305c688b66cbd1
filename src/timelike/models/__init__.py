"""The base class of estimators, their options and fitted attributes, and model folders. Does not need torch."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import components as components, options as options, schema as schema
    from .base import Model as Model
    from .fingerprints import fingerprint as fingerprint
    from .serialization import (
        SavedModel as SavedModel,
        load_model as load_model,
        read_model as read_model,
        save_model as save_model,
    )
    from .summary import ModelSummary as ModelSummary, summarize_model as summarize_model

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("load_model", "save_model"))
