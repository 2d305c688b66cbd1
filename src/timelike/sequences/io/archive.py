"""Downloads from the UCR/UEA archive into the cache, with checksums, atomically."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import ssl
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from ...core.files import atomic_write, make_folder, temporary_folder
from ...core.memory import bytes_from_environment
from .paths import expand_user

BASE_URL = "https://timeseriesclassification.com/aeon-toolkit"
LIMIT_MB = 500  # of a download; TIMELIKE_DOWNLOAD_LIMIT_MB overrides it
UNPACK_FACTOR = 10  # times the limit is what the files of one data set may take on disk
TIMEOUT = 30.0  # seconds without an answer
_CHUNK = 1 << 16


class DownloadError(OSError):
    """A data set could not be downloaded; the message gives the reason and the manual steps."""


def cache_folder() -> Path:
    """The folder for downloads: `$TIMELIKE_CACHE`, or `timelike` in the cache folder of the operating system."""
    chosen = os.environ.get("TIMELIKE_CACHE")
    if chosen:
        return expand_user(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "timelike" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/timelike"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "timelike"


def dataset_url(name: str) -> str:
    """The address of a data set in the archive."""
    return f"{BASE_URL}/{name}.zip"


def fetch_dataset(name: str) -> Path:
    """Download a data set into the cache and return its folder. An interrupted download leaves nothing behind."""
    cache = cache_folder()
    try:
        make_folder(cache, parents=True)
    except OSError as error:
        raise DownloadError(f"the cache {cache} cannot be made ({error}): set TIMELIKE_CACHE to a folder") from None
    with temporary_folder(cache / name) as temporary:
        zipped = temporary / "data.zip"
        digest = _download(name, zipped)
        _check_checksum(name, digest, cache)
        unpacked = temporary / name
        _unpack(name, zipped, unpacked)
        folder = cache / name
        try:
            unpacked.replace(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster, which is as good
                raise
    _record_checksum(name, digest, cache)
    return folder


def _download_limit() -> int:
    return bytes_from_environment("TIMELIKE_DOWNLOAD_LIMIT_MB", LIMIT_MB)


def _download(name: str, target: Path) -> str:
    """Stream the file to `target` and return its SHA-256."""
    request = urllib.request.Request(dataset_url(name), headers={"User-Agent": "timelike"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, target.open("wb") as file:
            return _stream_to_file(name, answer, file)
    except urllib.error.HTTPError as error:
        reason = "the archive has no such data set" if error.code == 404 else f"the server answered {error.code}"
        raise DownloadError(f"{dataset_url(name)}: {reason}") from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        raise DownloadError(f"{dataset_url(name)} cannot be reached ({getattr(error, 'reason', error)})") from None


def _stream_to_file(name: str, answer: Any, file: Any) -> str:
    from tqdm import tqdm

    limit, digest, size = _download_limit(), hashlib.sha256(), 0
    declared = int(answer.headers.get("Content-Length") or 0)
    with tqdm(total=declared or None, desc=name, unit="B", unit_scale=True, disable=None) as bar:
        while size <= limit and declared <= limit:
            chunk = answer.read(_CHUNK)
            if not chunk:
                break
            size += len(chunk)
            digest.update(chunk)
            file.write(chunk)
            bar.update(len(chunk))
    if max(size, declared) > limit:
        raise DownloadError(
            f"{dataset_url(name)} has {'more than ' if not declared else ''}{max(size, declared) / 1e6:.1f} MB, the "
            f"limit is {limit / 1e6:.1f} MB: raise it with the environment variable TIMELIKE_DOWNLOAD_LIMIT_MB"
        )
    if declared and size != declared:
        raise DownloadError(f"{dataset_url(name)}: the connection ended after {size} of {declared} bytes: try again")
    return digest.hexdigest()


def _read_checksums(cache: Path) -> dict[str, str]:
    try:
        checksums = json.loads((cache / "checksums.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        checksums = None
    if not isinstance(checksums, dict):
        raise DownloadError(f"{cache / 'checksums.json'} is damaged: delete it, and checksums are recorded anew")
    return checksums


def _check_checksum(name: str, digest: str, cache: Path) -> None:
    recorded = _read_checksums(cache).get(name, digest)
    if recorded != digest:
        raise DownloadError(
            f"{dataset_url(name)} has SHA-256 {digest}, but {recorded} was recorded on first use: the archive has "
            f"changed or the download was tampered with; if you trust it, remove {name!r} from "
            f"{cache / 'checksums.json'}"
        )


def _record_checksum(name: str, digest: str, cache: Path) -> None:
    checksums = _read_checksums(cache) | {name: digest}
    with atomic_write(cache / "checksums.json") as temporary:
        temporary.write_text(json.dumps(checksums, indent=1, sort_keys=True), encoding="utf-8")


def _unpack(name: str, zipped: Path, folder: Path) -> None:
    """Only the two files that we know, by their bare names: a path inside the archive is never followed."""
    wanted = {f"{name}_TRAIN.ts", f"{name}_TEST.ts"}
    left = _download_limit() * UNPACK_FACTOR
    folder.mkdir()
    try:
        with zipfile.ZipFile(zipped) as archive:
            for info in archive.infolist():
                bare = info.filename.replace("\\", "/").rpartition("/")[2]
                if bare in wanted:
                    wanted.remove(bare)
                    left -= _unpack_member(archive, info, folder / bare, left)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise DownloadError(f"{dataset_url(name)} is not a whole zip file ({error}): try again") from None
    if f"{name}_TRAIN.ts" in wanted:
        raise DownloadError(f"{dataset_url(name)} holds no {name}_TRAIN.ts: the archive has it in another format only")


def _unpack_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Bytes written; counted as they come, since a zip file may lie about its sizes."""
    written = 0
    with archive.open(info) as source, target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise DownloadError(
                    f"{target.name} unpacks to more than {most / 1e6:.0f} MB: raise the limit with the environment "
                    "variable TIMELIKE_DOWNLOAD_LIMIT_MB"
                )
            file.write(chunk)
    return written
