"""Bytes or a seed → Sequences."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import augment as augment, generate as generate
    from .cleaning.finding import Gaps as Gaps
    from .container import (
        Padded as Padded,
        PaddedTensor as PaddedTensor,
        Sequences as Sequences,
        as_one as as_one,
        as_sequences as as_sequences,
    )
    from .files.catalogue import available as available
    from .files.loading import load as load
    from .formats import FormatError as FormatError
    from .joining import concat as concat
    from .looking.describing import Description as Description
    from .sampling import Episode as Episode
    from .transforms import Statistics as Statistics

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "Description",
            "Episode",
            "Gaps",
            "Padded",
            "PaddedTensor",
            "Statistics",
            "as_one",
            "as_sequences",
            "augment",
            "available",
            "generate",
        ),
    )
