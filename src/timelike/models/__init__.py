"""Parameters and arrays ↔ a folder: the base of everything that is fitted. Nothing here needs torch."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import learned as learned, options as options, parts as parts
    from .base import Model as Model
    from .identity import fingerprint as fingerprint
    from .saving import (
        SavedModel as SavedModel,
        load_model as load_model,
        read_model as read_model,
        save_model as save_model,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__, inner=("Model", "SavedModel", "fingerprint", "learned", "options", "parts", "read_model")
    )
