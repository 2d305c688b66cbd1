"""Damaged files of every format: sequences or a ValueError that names the file, and the process lives."""

import io
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from benchmarks.faults.mutated_files import mutated, outcome
from benchmarks.faults.valid_files import valid_files
from scipy.io import loadmat, savemat

import timelike as tl
from timelike.sequences import FormatError
from timelike.sequences.io.formats import matlab

FATAL = {  # of these changes pyarrow 26 and SciPy ended the process
    "a.parquet": (45, 117, 334, 889, 971, 1311),
    "recording.parquet": (321, 662, 751),
    "a.mat": (1448, 1489, 1575, 1725, 1762),
}
SAMPLE = range(25)  # of every file; `python -m benchmarks.faults.mutated_files` tries thousands
_PROGRAM = """
import sys
from pathlib import Path
from benchmarks.faults.mutated_files import mutated, outcome
from benchmarks.faults.valid_files import valid_files
from tests.sequences.io.test_damaged_files import FATAL, SAMPLE
folder = Path(sys.argv[1])
for name, content in valid_files().items():
    path = folder / name
    for index in (*SAMPLE, *FATAL.get(name, ())):
        print(name, index, end=" ", flush=True)
        path.write_bytes(mutated(content, index))
        print(outcome(path), flush=True)
"""


def test_a_damaged_file_of_any_format_is_read_or_refused_by_name(tmp_path) -> None:
    """In one child process, as what is wrong here ends it: its last line then says the file."""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert [line for line in lines if line.split(" ", 2)[2] not in ("read", "ValueError")] == []
    assert len(lines) >= 30 * len(SAMPLE)


def test_every_valid_file_is_read(tmp_path) -> None:
    for name, content in valid_files().items():
        (tmp_path / name).write_bytes(content)
        assert outcome(tmp_path / name) == "read", name


def test_the_same_number_is_the_same_damage() -> None:
    content = bytes(range(100))
    assert [mutated(content, 7) for _ in range(2)] == [mutated(content, 7)] * 2
    changed = [mutated(content, index) for index in range(1, 10)]
    assert all(sum(a != b for a, b in zip(one, content, strict=True)) == 1 for one in changed)
    assert len(mutated(content, 10)) < 100


@pytest.mark.parametrize("method", [9, 97, 65535])
def test_a_zip_method_that_nobody_knows_is_said_of_the_file(method, tmp_path) -> None:
    """By tl.load, which looks into an .npz before it reads it."""
    buffer = io.BytesIO()
    np.savez(buffer, values=np.arange(4.0)[:, None], offsets=np.array([0, 4]))
    content = bytearray(buffer.getvalue())
    central = content.index(b"PK\x01\x02")
    for at in (content.index(b"PK\x03\x04") + 8, central + 10):
        content[at : at + 2] = method.to_bytes(2, "little")
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError, match=r"^a\.npz: is not a whole \.npz file"):
        tl.load(tmp_path / "a.npz")
    content[central + 6 : central + 8] = (255).to_bytes(2, "little")  # the version that is needed to unpack it
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError, match=r"^a\.npz: is not a whole \.npz file"):
        tl.load(tmp_path / "a.npz")


def test_an_encrypted_npz_is_refused(tmp_path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("values.npy", b"x"), archive.writestr("offsets.npy", b"x")
    content = bytearray(buffer.getvalue())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError, match=r"^a\.npz: is not a whole"):
        tl.load(tmp_path / "a.npz")


def test_a_mapped_array_is_as_long_as_its_header_says_when_it_is_opened(tmp_path, monkeypatch) -> None:
    """A page that is not there ends the process when it is touched, so it is not left to that."""
    monkeypatch.setattr("timelike.sequences.io.formats.npz.MAP_BYTES", 0)
    np.save(tmp_path / "a.npy", np.zeros((2, 4000, 3)))
    content = (tmp_path / "a.npy").read_bytes()
    assert isinstance(tl.load(tmp_path / "a.npy").values.base, np.ndarray)
    (tmp_path / "a.npy").write_bytes(content[:5000])
    with pytest.raises(FormatError, match="is the file cut short"):
        tl.load(tmp_path / "a.npy")


# --- .mat ---------------------------------------------------------------------------------------------------------


def variables(path: Path) -> dict[str, np.ndarray | None]:
    with path.open("rb") as file:
        return {one.name: one.array for one in matlab._read_variables(file, path)}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_numbers_are_those_that_scipy_reads(dtype, compressed, tmp_path) -> None:
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (1, 5), (5, 1), (3, 4), (2, 3, 4), (0, 0), (0, 3), (1, 1, 3), (7,)]
    arrays = {f"x{i}" * (1 + i % 3): (50 * rng.normal(size=shape)).astype(dtype) for i, shape in enumerate(shapes)}
    savemat(tmp_path / "a.mat", arrays, do_compression=compressed)
    found, expected = variables(tmp_path / "a.mat"), loadmat(tmp_path / "a.mat", mat_dtype=True)
    assert found.keys() == arrays.keys()
    for name, array in found.items():
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name], strict=True)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("words", ["anna", "a", "ä€x", ["ab", "cd"], ["a", "bcd"], "x" * 300])
def test_text_is_what_scipy_reads(words, compressed, tmp_path) -> None:
    savemat(tmp_path / "a.mat", {"words": words}, do_compression=compressed)
    expected = loadmat(tmp_path / "a.mat", chars_as_strings=True)["words"]
    np.testing.assert_array_equal(variables(tmp_path / "a.mat")["words"], expected, strict=True)


def test_version_4_is_what_scipy_reads(tmp_path) -> None:
    arrays = {"x": np.arange(12.0).reshape(3, 4), "z": np.ones((2, 2)) + 2j, "who": "anna"}
    savemat(tmp_path / "a.mat", arrays | {"s": scipy.sparse.eye(3).tocsc()}, format="4")
    found, expected = variables(tmp_path / "a.mat"), loadmat(tmp_path / "a.mat")
    assert found.pop("s") is None
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name])


def level_5(
    order: str, name: bytes, axes: tuple[int, ...], code: int, kind: int, content: bytes, flags: int = 0
) -> bytes:
    """A .mat file of one variable, written by hand from the description of the format."""

    def element(what: int, data: bytes) -> bytes:
        return struct.pack(f"{order}II", what, len(data)) + data + b"\0" * (-len(data) % 8)

    inside = element(6, struct.pack(f"{order}II", code | flags, 0))
    inside += element(5, struct.pack(f"{order}{len(axes)}i", *axes)) + element(1, name) + element(kind, content)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{order}HH", 0x0100, 0x4D49)
    return head + element(14, inside)


@pytest.mark.parametrize("order", ["<", ">"])
def test_either_order_of_bytes_and_a_smaller_storage_are_the_numbers_of_the_class(order, tmp_path) -> None:
    """A variable of doubles whose values are small whole numbers is stored as bytes, and is doubles again."""
    stored = struct.pack(f"{order}6h", 1, -2, 3, 4, 5, 600)
    (tmp_path / "a.mat").write_bytes(level_5(order, b"x", (3, 2), 6, 3, stored))
    expected = np.array([[1.0, 4.0], [-2.0, 5.0], [3.0, 600.0]])
    np.testing.assert_array_equal(variables(tmp_path / "a.mat")["x"], expected, strict=True)
    np.testing.assert_array_equal(loadmat(tmp_path / "a.mat", mat_dtype=True)["x"], expected)
    X = tl.load(tmp_path / "a.mat")
    np.testing.assert_array_equal(X[0], expected)


def test_version_4_of_the_other_order_of_bytes(tmp_path) -> None:
    content = struct.pack(">5i", 1000, 2, 2, 0, 2) + b"x\0" + struct.pack(">4d", 1, 2, 3, 4)
    (tmp_path / "a.mat").write_bytes(content)
    np.testing.assert_array_equal(variables(tmp_path / "a.mat")["x"], [[1.0, 3.0], [2.0, 4.0]])


def test_what_is_no_array_of_numbers_is_said_and_complex_numbers_are_refused(tmp_path) -> None:
    held = {"acc": np.arange(12.0).reshape(6, 2), "none": np.empty((0, 0)), "few": scipy.sparse.eye(6).tocsc(),
            "cell": np.array([[1, "a"]], dtype=object), "struct": {"a": 1}}  # fmt: skip
    savemat(tmp_path / "a.mat", held)
    X = tl.load(tmp_path / "a.mat")
    np.testing.assert_array_equal(X[0], held["acc"])
    note = "left out, as no array of numbers: 'none' (empty), 'few' (sparse), 'cell' (a cell), 'struct' (a structure)"
    assert X.source.notes == (note,)
    savemat(tmp_path / "b.mat", held | {"z": np.arange(6) * 1j})
    with pytest.raises(FormatError, match=r"^b\.mat: column 'z' is complex: expected real numbers; choose others"):
        tl.load(tmp_path / "b.mat")
    np.testing.assert_array_equal(tl.load(tmp_path / "b.mat", values="acc")[0], held["acc"])
    savemat(tmp_path / "c.mat", {"struct": {"a": 1}})
    with pytest.raises(FormatError, match=r"^c\.mat: has no numbers but 'struct' \(a structure\)"):
        tl.load(tmp_path / "c.mat")


def test_few_compressed_bytes_do_not_become_a_gigabyte(tmp_path) -> None:
    size = 1 << 30
    axes = struct.pack("<II2i", 5, 8, size // 8, 1)
    head = (
        struct.pack("<IIII", 6, 8, 6, 0)
        + axes
        + struct.pack("<II", 1 | 1 << 16, ord("x"))
        + struct.pack("<II", 9, size)
    )
    packer = zlib.compressobj(9)
    packed = packer.compress(struct.pack("<II", 14, len(head) + size) + head)
    packed += b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, len(packed)) + packed
    (tmp_path / "a.mat").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"^a\.mat: claims 1073\.\d MB of numbers in 0\.1 MB"):
            tl.load(tmp_path / "a.mat")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (level_5("<", b"x", (3, 2), 6, 9, bytes(40)), r"'x' has 40 bytes for shape \(3, 2\)"),
        (level_5("<", b"x", (-3, 2), 6, 9, bytes(48)), "a variable of shape"),
        (level_5("<", b"x", (3, 2), 6, 77, bytes(48)), "'x' has numbers of kind 77"),
        (level_5("<", b"x", (3, 2), 99, 9, bytes(48)), "a variable of class 99"),
        (level_5("<", b"x", (2**30, 2**30), 6, 9, bytes(8)), "'x' has 8 bytes for shape"),
        (level_5("<", b"x", (1, 3), 4, 17, b"\x00\xd8\x00\xd8\x00\xd8"), "'x' is no utf-16-le text"),
        (level_5("<", b"x", (2, 2), 4, 2, b"abc"), "'x' has 3 letters for shape"),
        (level_5("<", b"x", (3, 2), 6, 9, bytes(48))[:-1], "it ends within a variable, 1 bytes too early"),
        (level_5("<", b"x", (3, 2), 6, 9, bytes(48)) + b"\0\0\0", "it ends within a tag"),
        (b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, 4) + b"abcd", "is not a whole .mat file"),
        (struct.pack("<5i", 0, 2, -2, 0, 2) + b"x\0", "a matrix of 2 × -2"),
        (struct.pack("<5i", 47, 2, 2, 0, 2) + b"x\0" + bytes(64), "a variable of kind 47"),
    ],
)  # fmt: skip
def test_a_mat_file_that_contradicts_itself_is_refused(content, why, tmp_path) -> None:
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(FormatError, match=rf"^a\.mat: is not a whole \.mat file \(.*{why}|{why}"):
        tl.load(tmp_path / "a.mat")
