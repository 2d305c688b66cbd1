"""Names and paths, found, downloaded or explained."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from timelike.sequences import FormatError, list_datasets
from timelike.sequences.io import archive, catalogue, formats

TRAIN = tl.Sequences([[1.0, 2.0], [3.0]], labels=["a", "b"])
TEST = tl.Sequences([[5.0, 6.0, 7.0]], labels=["b"], class_names=["a", "b"])
ABLE = [  # to hold these
    suffix
    for suffix, known in formats.FORMATS.items()
    if known.is_writable
    and not {"unequal lengths", "labels", "class_names", "other classes"} & {*known.load_module().UNSUPPORTED[suffix]}
]


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    """No data folder, an empty cache, no installed packages, no network."""
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)
    monkeypatch.delenv("TIMELIKE_DOWNLOAD_LIMIT_MB", raising=False)
    monkeypatch.setenv("TIMELIKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(catalogue.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(archive, "BASE_URL", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)


def pair(folder: Path, name: str = "Demo", suffix: str = ".ts") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    TRAIN.save(folder / f"{name}_TRAIN{suffix}")
    TEST.save(folder / f"{name}_TEST{suffix}")
    return folder


# --- paths --------------------------------------------------------------------------------------------------------


def test_a_file_is_loaded_alone(tmp_path) -> None:
    folder = pair(tmp_path / "Demo")
    assert tl.load(folder / "Demo_TRAIN.ts").equals(TRAIN)
    assert tl.load(str(folder / "Demo_TRAIN.ts"), split="train").equals(TRAIN)
    with pytest.raises(ValueError, match="has only a train part"):
        tl.load(folder / "Demo_TRAIN.ts", split="test")


@pytest.mark.parametrize("suffix", ABLE)
def test_a_folder_with_a_pair_gives_both(suffix, tmp_path) -> None:
    train, test = tl.load(pair(tmp_path / "Demo", suffix=suffix))
    assert train.labels.tolist() == ["a", "b"]
    assert test.equals(TEST)
    assert tl.load(tmp_path / "Demo", split="test").equals(TEST)


def test_classes_that_only_one_part_has_are_known_to_both(tmp_path) -> None:
    (tmp_path / "Demo").mkdir()
    for part, data in (("TRAIN", TRAIN), ("TEST", TEST.replace(labels=TEST.labels))):
        data.save(tmp_path / "Demo" / f"Demo_{part}.csv")
    train, test = tl.load(tmp_path / "Demo")
    assert train.class_names == test.class_names == ("a", "b")


def test_of_several_data_sets_in_a_folder_its_own_is_taken(tmp_path) -> None:
    pair(pair(tmp_path / "Demo"), "Demo_eq")
    assert tl.load(tmp_path / "Demo")[0].equals(TRAIN)
    (tmp_path / "Demo").rename(tmp_path / "Other")
    with pytest.raises(FileNotFoundError, match=r"several data sets \(Demo, Demo_eq\)"):
        tl.load(tmp_path / "Other")


def test_of_several_formats_the_one_with_both_parts_is_taken(tmp_path) -> None:
    folder = pair(tmp_path / "Demo", suffix=".npz")
    (folder / "Demo_TRAIN.ts").write_text("@data\n9\n")
    assert tl.load(folder)[0].equals(TRAIN)


def test_an_npz_knows_its_parts(tmp_path) -> None:
    TRAIN.save(tmp_path / "both.npz", test=TEST)
    assert tl.load(tmp_path / "both.npz")[1].equals(TEST)
    assert tl.load(tmp_path / "both.npz", split="train").equals(TRAIN)
    TRAIN.save(tmp_path / "one.npz")
    assert tl.load("one.npz").equals(TRAIN)
    with pytest.raises(ValueError, match="has no official split"):
        tl.load("one.npz", split="train")


def test_paths_that_lead_nowhere_say_so(tmp_path) -> None:
    pair(tmp_path / "Demo")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'Demo_TRAIN.ts'\?"):
        tl.load(tmp_path / "Demo" / "Demo_TRIAN.ts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no <Name>_TRAIN and <Name>_TEST files"):
        tl.load(tmp_path / "empty")
    with pytest.raises(ValueError, match='expected "train", "test" or None'):
        tl.load(tmp_path, split="validation")
    with pytest.raises(ValueError, match="expected the name of a data set"):
        tl.load("")
    with pytest.raises(ValueError, match="neither a path that exists nor a name"):
        tl.load("what is this?")


def har(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for part, n in (("train", 4), ("test", 2)):
        (folder / part / "Inertial Signals").mkdir(parents=True)
        for signal in ("body_acc_x", "body_acc_y"):
            rows = "\n".join("  ".join(f"{v: .7e}" for v in row) for row in rng.normal(size=(n, 8)))
            (folder / part / "Inertial Signals" / f"{signal}_{part}.txt").write_text(rows + "\n")
        (folder / part / f"y_{part}.txt").write_text("\n".join(str(i % 2 + 1) for i in range(n)) + "\n")
        (folder / part / f"subject_{part}.txt").write_text("\n".join(str(i + 7) for i in range(n)) + "\n")
    (folder / "activity_labels.txt").write_text("1 WALKING\n2 LAYING\n")
    return folder


def test_the_official_folder_of_uci_har_is_read(tmp_path) -> None:
    har(tmp_path / "UCI HAR Dataset")
    for path in (tmp_path, tmp_path / "UCI HAR Dataset"):
        train, test = tl.load(path)
        assert train.shape == (4, 8, 2)
        assert train.labels.tolist() == ["WALKING", "LAYING", "WALKING", "LAYING"]
        assert train.class_names == ("WALKING", "LAYING")
        assert train.channel_names == ("body_acc_x", "body_acc_y")
        assert test.groups.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("train/y_train.txt", "1\n2\n9\n1\n", "y_train.txt, line 3: '9' is not a number in activity_labels.txt"),
        ("train/subject_train.txt", "1\n2\n", "subject_train.txt: expected 4 subject numbers"),
        (
            "test/Inertial Signals/body_acc_x_test.txt",
            "1 2 3 4 5 6 7 8\n",
            "body_acc_x_test.txt, line 1: 1 windows for 2 labels",
        ),
        ("test/Inertial Signals/body_acc_x_test.txt", "1 2\n1 b\n", "line 2: value 2 is 'b'"),
        ("test/Inertial Signals/body_acc_x_test.txt", "1 2\n1\n", "line 2: 1 values but line 1 has 2"),
        ("test/Inertial Signals/body_acc_x_test.txt", "1 2\n1 2\n", "body_acc_y_test.txt: windows of 8 steps"),
        ("activity_labels.txt", "1\n", "activity_labels.txt, line 1"),
    ],
)
def test_a_damaged_har_folder_names_the_file(file, content, words, tmp_path) -> None:
    (har(tmp_path / "har") / file).write_text(content)
    with pytest.raises(FormatError) as caught:
        tl.load(tmp_path / "har")
    assert words in str(caught.value)


@pytest.mark.parametrize("file", ["activity_labels.txt", "train/y_train.txt", "test/subject_test.txt"])
def test_a_uci_har_folder_without_one_of_its_files_says_which(file, tmp_path) -> None:
    (har(tmp_path / "har") / file).unlink()
    with pytest.raises(FileNotFoundError, match=f"the UCI HAR folder .* has no {file}: unpack"):
        tl.load(tmp_path / "har")


@pytest.mark.parametrize("given", [None, 3, b"Demo"])
def test_what_is_neither_a_name_nor_a_path_is_refused(given) -> None:
    with pytest.raises(TypeError, match=f"source={given!r}: expected the name of a data set"):
        tl.load(given)


@pytest.mark.parametrize("given", ["a" * 300, "a" * 300 + ".npz", "x/" * 3000])
def test_a_name_that_no_file_can_have_is_refused(given) -> None:
    with pytest.raises(ValueError, match=f"{len(given)} characters: expected the name of a data set"):
        tl.load(given)


def test_only_files_that_can_be_loaded_are_suggested(tmp_path) -> None:
    (tmp_path / "GunPoint.pyz").write_text("")
    with pytest.raises(FileNotFoundError, match="GunPoint.npz$"):
        tl.load(tmp_path / "GunPoint.npz")
    (tmp_path / "GunPoint.npy").write_text("")
    with pytest.raises(FileNotFoundError, match="did you mean 'GunPoint.npy'"):
        tl.load(tmp_path / "GunPoint.npz")


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["Demo", "deep/Demo", "."])
def test_a_name_is_found_in_the_data_folder(place, tmp_path, monkeypatch) -> None:
    pair(tmp_path / "data" / place)
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "data"))
    assert tl.load("Demo")[0].equals(TRAIN)
    assert list_datasets() == ["Demo"]


@pytest.mark.parametrize("place", ["Demo.npz", "ucr/Demo.npz"])
def test_a_name_is_found_as_an_npz(place, tmp_path, monkeypatch) -> None:
    path = tmp_path / "data" / place
    path.parent.mkdir(parents=True)
    TRAIN.save(path, test=TEST)
    np.savez(path.with_name("images.npz"), images=np.ones(3))
    (path.with_name("README.txt")).write_text("hello")
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "data"))
    assert list_datasets() == ["Demo"]
    assert tl.load("Demo", split="test").equals(TEST)


def test_the_data_folder_comes_before_the_cache_and_that_before_packages(tmp_path, monkeypatch) -> None:
    class Spec:
        submodule_search_locations = (str(tmp_path / "aeon"),)

    monkeypatch.setattr(catalogue.importlib.util, "find_spec", lambda name: Spec if name == "aeon" else None)
    for number, folder in enumerate([tmp_path / "data", tmp_path / "cache", tmp_path / "aeon" / "datasets" / "data"]):
        (folder / "Demo").mkdir(parents=True)
        tl.Sequences([[float(number)]]).save(folder / "Demo" / "Demo_TRAIN.ts")
    assert tl.load("Demo")[0].item() == 1
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "data"))
    assert tl.load("Demo")[0].item() == 0
    monkeypatch.delenv("TIMELIKE_DATA")
    monkeypatch.setenv("TIMELIKE_CACHE", str(tmp_path / "missing too"))
    assert tl.load("Demo")[0].item() == 2


def test_a_file_of_other_arrays_is_described_and_nothing_is_downloaded(tmp_path, monkeypatch) -> None:
    (tmp_path / "data" / "digits").mkdir(parents=True)
    np.savez(tmp_path / "data" / "digits" / "mnist.npz", X_train=np.ones(3), y_train=np.ones(3))
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(archive, "fetch_dataset", lambda name: pytest.fail("went to the network"))
    with pytest.raises(
        FormatError, match=r"\$TIMELIKE_DATA has .*mnist.npz, but it does not hold .* 'X_train', 'y_train'"
    ):
        tl.load("mnist")


def test_a_data_folder_that_is_not_there_is_an_error(tmp_path, monkeypatch) -> None:
    pair(tmp_path / "cache" / "Demo")
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "missing"))
    for call in (lambda: tl.load("Demo"), list_datasets):
        with pytest.raises(FileNotFoundError, match="TIMELIKE_DATA='.*missing' is not a folder: make it, or unset"):
            call()


def test_packages_are_looked_into_but_not_imported() -> None:
    program = "import sys, timelike as tl; tl.sequences.list_datasets(); print('aeon' in sys.modules, 'sktime' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]


def test_offline_it_says_what_was_searched_and_what_to_do(tmp_path, monkeypatch) -> None:
    pair(tmp_path / "data" / "BasicMotions", "BasicMotions")
    monkeypatch.setenv("TIMELIKE_DATA", str(tmp_path / "data"))
    with pytest.raises(FileNotFoundError) as caught:
        tl.load("basicmotion")
    message = str(caught.value)
    assert "did you mean 'BasicMotions'?" in message
    assert f"$TIMELIKE_DATA ({tmp_path / 'data'})" in message
    assert f"the cache ({tmp_path / 'cache'}, which does not exist)" in message
    assert "http://127.0.0.1:9/basicmotion.zip cannot be reached" in message
    assert f"unpack it into {tmp_path / 'cache' / 'basicmotion'}" in message


def test_a_mistyped_folder_is_the_first_thing_that_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recordings").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        tl.load("recording")
    first, hint = str(caught.value).split("\n")
    assert first == "there is no file or folder recording, and no data set of that name; did you mean 'recordings'?"
    assert hint.startswith("Data sets are in the cache (")
    with pytest.raises(FileNotFoundError, match=r"^there is no file or folder qqqq, and no data set of that name\n"):
        tl.load("qqqq")


def test_the_advice_works(tmp_path) -> None:
    pair(tmp_path / "cache" / "Demo")
    assert tl.load("Demo")[0].equals(TRAIN)


# --- downloading --------------------------------------------------------------------------------------------------


def zipped(**members: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def good(tmp_path: Path, **more: str | bytes) -> bytes:
    folder = pair(tmp_path / "source")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    return zipped(**files, **more)


class Server:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.declared: int | None = None
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                content = outer.files.get(self.path.removeprefix("/").removesuffix(".zip"))
                self.send_response(404 if content is None else 200)
                if outer.declared != -1:
                    self.send_header("Content-Length", str(outer.declared or len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    served = Server()
    thread = threading.Thread(target=served.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(archive, "BASE_URL", served.url)
    yield served
    served.http.shutdown()
    served.http.server_close()
    thread.join()


def left_in(folder: Path) -> list[str]:
    return sorted(entry.relative_to(folder).as_posix() for entry in folder.rglob("*"))


def test_a_name_is_downloaded_once_and_its_checksum_recorded(server, tmp_path) -> None:
    content = server.files["Demo"] = good(tmp_path, **{"Demo.txt": "about"})
    assert tl.load("Demo")[0].equals(TRAIN)
    assert tl.load("Demo", split="test").equals(TEST)
    assert server.requests == 1
    assert left_in(tmp_path / "cache") == ["Demo", "Demo/Demo_TEST.ts", "Demo/Demo_TRAIN.ts", "checksums.json"]
    recorded = json.loads((tmp_path / "cache" / "checksums.json").read_text())
    assert recorded == {"Demo": hashlib.sha256(content).hexdigest()}


def test_a_later_download_must_have_the_recorded_checksum(server, tmp_path) -> None:
    server.files["Demo"] = good(tmp_path)
    tl.load("Demo")
    for file in (tmp_path / "cache" / "Demo").iterdir():
        file.unlink()
    (tmp_path / "cache" / "Demo").rmdir()
    server.files["Demo"] = good(tmp_path, **{"extra.txt": "changed"})
    with pytest.raises(FileNotFoundError, match=r"recorded on first use.*remove 'Demo' from"):
        tl.load("Demo")
    assert left_in(tmp_path / "cache") == ["checksums.json"]


def evil(tmp_path: Path) -> dict[str, tuple[bytes, int | None, str]]:
    whole = good(tmp_path)
    return {
        "not a zip file": (b"<html>", None, "is not a whole zip file"),
        "cut short": (whole[:-30], None, "is not a whole zip file"),
        "connection lost": (whole, len(whole) + 100, "the connection ended after"),
        "declared too large": (whole, 10**12, "the limit is 0.1 MB"),
        "too large without saying so": (bytes(200_000), -1, "the limit is 0.1 MB"),
        "a bomb": (zipped(**{"Demo_TRAIN.ts": bytes(3_000_000)}), None, "unpacks to more than 1 MB"),
        "other files": (zipped(readme="hello"), None, "holds no Demo_TRAIN.ts"),
    }


EVILS = (
    "not a zip file",
    "cut short",
    "connection lost",
    "declared too large",
    "too large without saying so",
    "a bomb",
)


@pytest.mark.parametrize("kind", [*EVILS, "other files"])
def test_a_bad_download_leaves_nothing_behind(kind, server, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TIMELIKE_DOWNLOAD_LIMIT_MB", "0.1")
    server.files["Demo"], server.declared, words = evil(tmp_path)[kind]
    with pytest.raises(FileNotFoundError) as caught:
        tl.load("Demo")
    assert words in str(caught.value)
    assert left_in(tmp_path / "cache") == []


def test_a_path_inside_the_archive_is_never_followed(server, tmp_path) -> None:
    train = (pair(tmp_path / "source") / "Demo_TRAIN.ts").read_bytes()
    server.files["Demo"] = zipped(**{"../../../Demo_TRAIN.ts": train, "..\\evil.ts": b"x", "/tmp/Demo_TEST.ts": train})
    tl.load("Demo")
    assert left_in(tmp_path / "cache") == ["Demo", "Demo/Demo_TEST.ts", "Demo/Demo_TRAIN.ts", "checksums.json"]
    assert not (tmp_path / "Demo_TRAIN.ts").exists()


def test_a_name_that_the_archive_does_not_have(server) -> None:
    with pytest.raises(FileNotFoundError, match="the archive has no such data set"):
        tl.load("Nothing")


def test_an_interrupted_download_leaves_nothing_behind(server, tmp_path, monkeypatch) -> None:
    server.files["Demo"] = good(tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "_unpack", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tl.load("Demo")
    assert left_in(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_made_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIMELIKE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FileNotFoundError, match="set TIMELIKE_CACHE to a folder"):
        tl.load("Demo")


def test_a_wrong_limit_is_named(server, tmp_path, monkeypatch) -> None:
    server.files["Demo"] = good(tmp_path)
    monkeypatch.setenv("TIMELIKE_DOWNLOAD_LIMIT_MB", "plenty")
    with pytest.raises(ValueError, match="TIMELIKE_DOWNLOAD_LIMIT_MB='plenty'"):
        tl.load("Demo")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/timelike")),
        ("linux", {}, Path.home() / ".cache/timelike"),
        ("darwin", {}, Path.home() / "Library/Caches/timelike"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/timelike/cache")),
    ],
)
def test_the_cache_is_where_the_system_keeps_such_things(platform, variables, expected, monkeypatch) -> None:
    for name in ("TIMELIKE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(archive.sys, "platform", platform)
    assert archive.cache_folder() == expected
