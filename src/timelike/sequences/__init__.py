"""`Sequences`, and everything that makes them: loading, tables, generators, augmentations."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import augment as augment, generate as generate
    from .clean.gaps import Gaps as Gaps
    from .concatenation import concat as concat
    from .container import PaddedArray as PaddedArray, PaddedTensor as PaddedTensor, Sequences as Sequences
    from .describe.description import Description as Description
    from .io.catalogue import list_datasets as list_datasets
    from .io.formats import FormatError as FormatError
    from .io.load import load as load
    from .sampling import Episode as Episode
    from .transforms import Statistics as Statistics
    from .validation import as_sequences as as_sequences, as_single_sequence as as_single_sequence

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("Sequences", "concat", "load"))
