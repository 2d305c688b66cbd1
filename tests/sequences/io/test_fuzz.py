"""Whatever the bytes are: a collection, or the library's own error. Never a crash, a hang or a silent loss."""

from __future__ import annotations

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import timelike as tl
from timelike.sequences import FormatError
from timelike.sequences.io.formats import FORMATS, SUFFIXES, read

# no label is the beginning of another, and the last row is not the only one of its sequence in a long table
DATA = tl.Sequences([[1.5, -2.25, 3.125], [4.0, 5.5, 6.75]], labels=["up", "down"])
UNSUPPORTED = {suffix: known.load_module().UNSUPPORTED[suffix] for suffix, known in FORMATS.items()}
WRITTEN = [suffix for suffix, known in FORMATS.items() if known.is_writable]
TEXT = [suffix for suffix in SUFFIXES if "dtypes" in UNSUPPORTED[suffix]]
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

# the characters that mean something to one of the parsers, and the words
TOKENS = st.one_of(
    st.sampled_from(["@data", "@timeStamps true", "@classLabel true a b", "@targetLabel true", "@univariate true",
                     "@equalLength true", "@seriesLength 2", "@dimensions 2", "@missing true", "@relation r",
                     "@attribute a "
                     "numeric", "@attribute r relational", "@end r", "@attribute t {a,'b c'}", "id,x", "id,time,x,label",
                     "(0,1)", "2007-01-01 00:00:00", "NaN", "?", "inf", "1e999", "-0.0", "\\n", "\r\n", "\n", "#", "%"]),
    st.sampled_from(list("0123456789.,:;()'\"{}\t \n+-eE_@aby")),
    st.characters(),
)  # fmt: skip


def source(suffix: str) -> tl.Sequences:
    if "labels" in UNSUPPORTED[suffix]:
        return DATA.replace(labels=None)
    return DATA.replace(labels=[1, 2]) if "class_names" in UNSUPPORTED[suffix] else DATA


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, bytes]:
    """A file of every format; .ts with times, and .arff relational, under names of their own."""
    folder = tmp_path_factory.mktemp("valid")
    files = {suffix: source(suffix).save(folder / f"a{suffix}").read_bytes() for suffix in WRITTEN}
    many = tl.Sequences(np.arange(12.0).reshape(2, 3, 2), labels=["up", "down"])
    files["many.arff"] = many.save(folder / "many.arff").read_bytes()
    files["many.ts"] = many.save(folder / "many.ts").read_bytes()
    files["timed.ts"] = many.replace(times=DATES).save(folder / "timed.ts").read_bytes()
    return files


DATES = np.array(["2020-01-01", "2020-01-02", "2020-01-05"], "datetime64[s]")
VARIANTS = (*WRITTEN, "many.arff", "many.ts", "timed.ts")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def attempt(folder: Path, variant: str, content: bytes) -> tl.Sequences | None:
    path = folder / f"a{Path('x' + variant).suffix}"
    path.write_bytes(content)
    try:
        return next(iter(read(path).values()))
    except FormatError:
        return None
    except ImportError as error:  # a file that really is netCDF 4, or happens to begin as one, may need a package
        if not (content.startswith(b"\x89HDF") and "h5netcdf" in str(error) and find_spec("h5netcdf") is None):
            raise
        return None


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(content=st.binary(max_size=200))
def test_random_bytes(suffix, content, folder) -> None:
    attempt(folder, suffix, content)


@pytest.mark.parametrize("suffix", TEXT)
@quick
@given(content=st.lists(TOKENS, max_size=40).map("".join))
def test_random_text_of_the_formats_own_words(suffix, content, folder) -> None:
    attempt(folder, suffix, content.encode("utf-8", "replace"))


@st.composite
def mutations(draw: st.DrawFn) -> list[tuple[str, float, bytes]]:
    kinds = st.sampled_from(["cut", "delete", "insert", "flip", "double"])
    return draw(st.lists(st.tuples(kinds, st.floats(0, 1), st.binary(min_size=1, max_size=6)), min_size=1, max_size=4))


def mutated(content: bytes, steps: list[tuple[str, float, bytes]]) -> bytes:
    for kind, share, extra in steps:
        at = int(share * len(content))
        if kind == "cut":
            content = content[:at]
        elif kind == "delete":
            content = content[:at] + content[at + len(extra) :]
        elif kind == "insert":
            content = content[:at] + extra + content[at:]
        elif kind == "flip" and at < len(content):
            content = content[:at] + bytes([content[at] ^ (1 << extra[0] % 8)]) + content[at + 1 :]
        elif kind == "double":
            content = content[:at] + content[at : at + 40] * 2 + content[at + 40 :]
    return content


@pytest.mark.parametrize("variant", VARIANTS)
@quick
@given(steps=mutations())
def test_damaged_files(variant, steps, folder, valid) -> None:
    attempt(folder, variant, mutated(valid[variant], steps))


@quick
@given(steps=mutations(), name=st.sampled_from(["values", "offsets", "labels", "class_names"]))
def test_an_npz_whose_checksums_fit_the_damage(steps, name, folder, valid) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(valid[".npz"])) as old, zipfile.ZipFile(buffer, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, mutated(content, steps) if member == f"{name}.npy" else content)
    attempt(folder, ".npz", buffer.getvalue())


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITTEN if suffix not in TEXT])
def test_a_binary_file_cut_anywhere_is_refused(suffix, folder, valid) -> None:
    content = valid[suffix]
    for end in range(0, len(content), max(1, len(content) // 300)):
        assert attempt(folder, suffix, content[:end]) is None, end


@pytest.mark.parametrize("variant", [".ts", "many.ts", "timed.ts", ".arff", "many.arff"])
def test_a_labelled_text_file_cut_inside_a_row_is_refused(variant, folder, valid) -> None:
    """At the end of a row a cut cannot be seen, since these formats do not say how many rows there are."""
    content = valid[variant]
    whole = attempt(folder, variant, content)
    row_ends = [at for at in range(len(content)) if content[at : at + 1] == b"\n"]
    for end in range(len(content)):
        part = attempt(folder, variant, content[:end])
        at_row_end = end in row_ends or end - 1 in row_ends
        assert (part is None) or at_row_end
        assert part is None or all(np.array_equal(a, b) for a, b in zip(part, whole, strict=False))


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITTEN if suffix in TEXT])
def test_a_text_file_cut_inside_a_row_never_loses_a_value_silently(suffix, folder, valid) -> None:
    """Only digits of the very last number can go unnoticed, where nothing in the format comes after it."""
    content = valid[suffix]
    whole = attempt(folder, suffix, content).values
    for end in range(len(content)):
        part = attempt(folder, suffix, content[:end])
        assert part is None or np.array_equal(part.values[:-1], whole[: len(part.values) - 1])
        if (
            part is not None and "no ids" not in UNSUPPORTED[suffix] and end > content.index(b"\n")
        ):  # no row for each step
            assert set(part.lengths.tolist()) == {3}


def test_every_single_flipped_bit_in_the_values_of_an_npz_is_noticed(folder, valid) -> None:
    content = valid[".npz"]
    begin = content.index(DATA.values.tobytes())
    for at in range(begin, begin + DATA.values.nbytes, 5):
        assert attempt(folder, ".npz", content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]) is None


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".ts", b"@data\n" + b"1" * 400_000 + b"x\n"),
        (".ts", b"@timeStamps true\n@data\n(" + b"1" * 400_000 + b"x,1)\n"),
        (".ts", b"@timeStamps true\n@data\n" + b"(0,1)" * 100_000 + b"\n"),
        (".ts", b"@seriesLength " + b"9" * 400_000 + b"\n@data\n1\n"),
        (".ts", b"@data\n" + b":" * 400_000),
        (".tsv", b"1" * 400_000 + b"\t1\n"),
        (".arff", b"@attribute a numeric\n@attribute t {" + b" " * 400_000 + b"'\n@data\n1,1\n"),
        (".arff", b"@attribute " + b"a" * 400_000 + b" " * 400_000 + b"\n@data\n"),
        (".arff", b"@attribute a numeric\n@attribute t {a}\n@data\n" + b"'" * 400_000),
        (".csv", b"id,x\n" + b"1," * 400_000),
        (".csv", b"id,x\n1," + b"1" * 400_000 + b"\n"),
    ],
)
def test_long_nonsense_is_refused_at_once(suffix, content, folder) -> None:
    """That it ends is what is tested: a quadratic search in half a million letters takes minutes."""
    assert attempt(folder, suffix, content) is None
