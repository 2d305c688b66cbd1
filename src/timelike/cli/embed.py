"""`timelike embed`: a vector for every sequence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loaded_model import ModelFolder, as_encoder, open_model
from .options.data import DataOptions, Source, sequence_names, with_data_options
from .output import AsJson, emit, json_fields
from .targets import check_file_target, with_parent

if TYPE_CHECKING:
    from ..sequences import Sequences

SUFFIXES = (".npz", ".parquet")


@json_fields(
    file="text: the file that was written",
    sequences="number: of the data, the rows of the vectors",
    features="number: of a vector",
)
@with_data_options
def embed(
    model: ModelFolder,
    source: Source,
    out: Annotated[Path, typer.Option(help="Where to write: .npz (vectors, ids, labels) or .parquet.")],
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Write the vectors of sequences, which other programs can use.

    Examples:
      timelike embed motions BasicMotions --out vectors.npz
    """
    from ..core.parameters import format_count

    check_file_target(out, "--out", SUFFIXES)
    loaded, options = open_model(model, data)
    encoder, X = as_encoder(loaded), options.load(source)
    vectors = encoder.encode(X)
    _write_vectors(out, vectors, X)
    result = {"file": str(out), "sequences": len(X), "features": vectors.shape[1]}
    emit(
        "embed",
        result,
        f"wrote {out}: {format_count(len(X), 'vector')} of {format_count(vectors.shape[1], 'feature')}",
        as_json,
    )


def _write_vectors(out: Path, vectors: Any, X: Sequences) -> None:
    import numpy as np

    from ..core.extras import import_extra
    from ..core.files import atomic_write

    labels = {} if X.labels is None else {"labels": X.labels}
    with atomic_write(with_parent(out)) as temporary:
        if out.suffix.lower() == ".npz":
            with temporary.open("wb") as file:
                np.savez(file, vectors=vectors, ids=np.asarray(sequence_names(X)), allow_pickle=False, **labels)
            return
        pyarrow = import_extra("pyarrow", "timelike embed to .parquet")
        columns = {"id": sequence_names(X)} | {name.removesuffix("s"): values for name, values in labels.items()}
        columns |= {f"v{number}": vectors[:, number] for number in range(vectors.shape[1])}
        import_extra("pyarrow.parquet", "timelike embed to .parquet").write_table(pyarrow.table(columns), temporary)
