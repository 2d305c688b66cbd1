"""A file that claims more numbers than it has bytes for is refused by its headers, before anything is unpacked."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

import timelike as tl
from timelike.core import memory
from timelike.sequences import FormatError


def header(shape, dtype="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def bomb(path, n_steps):
    """Zeros, of which a thousand bytes are packed into one; written some at a time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("values.npy", "w", force_zip64=True) as file:
            file.write(header((n_steps, 1)))
            for start in range(0, n_steps, 1 << 20):
                file.write(bytes(8 * min(1 << 20, n_steps - start)))
        for name, array in {"offsets": np.array([0, n_steps])}.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(f"{name}.npy", content.getvalue())


def most_memory(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_packed_gigabyte_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "LIMIT_MB", 20)
    path = tmp_path / "bomb.npz"
    bomb(path, 4 << 20)  # 33 MB in 33 kB
    message = r"bomb.npz.* claims 33.6 MB of numbers in 0.0 MB, and the limit is 20.0 MB: .*TIMELIKE_LOAD_LIMIT_MB"

    def refused():
        with pytest.raises(FormatError, match=message):
            tl.load(path)

    assert most_memory(refused) < 2e6


def test_the_limit_can_be_raised(tmp_path, monkeypatch):
    path = tmp_path / "zeros.npz"
    bomb(path, 1 << 18)
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "1")
    with pytest.raises(FormatError, match="claims 2.1 MB"):
        tl.load(path)
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "2.5")
    assert tl.load(path).lengths.tolist() == [1 << 18]
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "plenty")
    with pytest.raises(ValueError, match="TIMELIKE_LOAD_LIMIT_MB='plenty': expected a number of megabytes"):
        tl.load(path)


def test_what_is_really_there_is_read_whatever_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "0")
    data = tl.Sequences(np.random.default_rng(0).standard_normal((4, 100, 2)))
    for name in ("a.npz", "a.npy", "a.parquet"):
        found = tl.load(data.save(tmp_path / name))
        np.testing.assert_array_equal(found.values, data.values)


def test_the_head_of_an_array_is_a_claim_too(tmp_path):
    path = tmp_path / "head.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("values", "offsets"):
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x02\x00" + (30 << 20).to_bytes(4, "little") + bytes(30 << 20))

    def refused():
        with pytest.raises(FormatError, match="values is not in NumPy's format"):
            tl.load(path)

    assert most_memory(refused) < 2e6


@pytest.mark.parametrize("shape", [(10**12, 1), (2**62, 2**62), (1, 1, 10**9)])
def test_an_array_that_is_shorter_than_its_header_says_is_refused_at_once(tmp_path, shape):
    path = tmp_path / "short.npy"
    path.write_bytes(header(shape) + bytes(80))
    with pytest.raises(FormatError, match="has 80 bytes for shape"):
        tl.load(path)
    with zipfile.ZipFile(tmp_path / "short.npz", "w") as archive:
        archive.writestr("values.npy", header(shape) + bytes(80))
        archive.writestr("offsets.npy", header((2,), "<i8") + bytes(16))
    with pytest.raises(FormatError, match="has 80 bytes for shape"):
        tl.load(tmp_path / "short.npz")


def test_runs_in_a_parquet_file_are_counted_as_the_numbers_they_stand_for(tmp_path, monkeypatch):
    parquet, count = pytest.importorskip("pyarrow.parquet"), 1 << 20
    table = pytest.importorskip("pyarrow").table({"id": np.zeros(count, np.int64), "x": np.zeros(count)})
    parquet.write_table(table, tmp_path / "runs.parquet")
    assert (tmp_path / "runs.parquet").stat().st_size < 1e5
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "10")
    with pytest.raises(FormatError, match="claims 16.8 MB of numbers"):
        tl.load(tmp_path / "runs.parquet")
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "17")
    assert tl.load(tmp_path / "runs.parquet").lengths.tolist() == [count]


def test_packed_digits_have_the_limit_too(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "1")
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(4 << 20)))
    with pytest.raises(FormatError, match=r"train-images-idx3-ubyte.gz: claims 1.0 MB .* the limit is 1.0 MB"):
        tl.sequences.generate.moving_digits(1, 1, digits=tmp_path)
    np.savez_compressed(tmp_path / "digits.npz", X_train=np.zeros((100, 100, 100), np.uint8), y_train=np.zeros(100))
    np.savez_compressed(tmp_path / "more.npz", X_train=np.zeros((200, 100, 100), np.uint8), y_train=np.zeros(200))
    with pytest.raises(ValueError, match=r"digits.npz: claims 1.0 MB of numbers"):
        tl.sequences.generate.moving_digits(1, 1, digits=tmp_path / "digits.npz")
    monkeypatch.setenv("TIMELIKE_LOAD_LIMIT_MB", "1.5")
    assert len(tl.sequences.generate.moving_digits(1, 1, digits=tmp_path / "digits.npz").sequences) == 1
    with pytest.raises(ValueError, match=r"more.npz: claims 2.0 MB of numbers"):
        tl.sequences.generate.moving_digits(1, 1, digits=tmp_path / "more.npz")
