"""Keyed hashes: what tells one text from another without telling the text.

A plain hash of a short message can be guessed; one under a key that the database never sees can't. The key is
``ORBIT_HASH_KEY``, or a file in the home folder that the first build makes.
"""

import errno
import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import polars as pl

from orbit_pipelines.errors import OrbitError, OutOfSpace, UsageError
from orbit_pipelines.settings import Settings

KEY_BYTES = 32
KEY_FILE = "hash.key"
_KEY = re.compile(r"[0-9a-fA-F]{64}")
_SHA256_BLOCK_BYTES = 64
# No UTF-8 text begins with this byte, so that no message's hash is ever a derived key.
_PURPOSE = b"\xff"


def content_hashes(texts: pl.Series, key: bytes) -> pl.Series:
    """Return the HMAC-SHA-256 of each text's UTF-8, as binary.

    Args:
        texts: exactly the strings that the embedder gets; null stays null.
        key: at most 64 bytes.
    """
    # RFC 2104 with its two keyed states copied, not made again, for every text: a third off hmac's own time.
    block = key.ljust(_SHA256_BLOCK_BYTES, b"\0")
    inner_state = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
    outer_state = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
    hashes: list[bytes | None] = []
    for text in texts.to_list():
        if text is None:
            hashes.append(None)
            continue
        inner = inner_state.copy()
        inner.update(text.encode())
        outer = outer_state.copy()
        outer.update(inner.digest())
        hashes.append(outer.digest())
    return pl.Series(texts.name, hashes, dtype=pl.Binary)


def derive_key(key: bytes, purpose: str) -> bytes:
    """Return the key for one purpose, from which neither the first nor another purpose's can be told."""
    return hmac.digest(key, _PURPOSE + purpose.encode(), "sha256")


def key_fingerprint(key: bytes) -> str:
    """Return what the database keeps to recognise a key by: 16 hex digits."""
    return derive_key(key, "fingerprint").hex()[:16]


def load_hash_key(settings: Settings) -> bytes:
    """Return the installation's key, and make its file if there is none.

    Of several processes that make one at once, all return the same key. A file that others may read is closed to them.

    Raises:
        UsageError: ``ORBIT_HASH_KEY`` is no key.
        OrbitError: the file is no key, or can't be read, written or closed to others.
        OutOfSpace: the disk is full.
    """
    if settings.hash_key is not None:
        given = settings.hash_key.get_secret_value().strip()
        if not _KEY.fullmatch(given):
            raise UsageError(
                f"ORBIT_HASH_KEY must be {2 * KEY_BYTES} hex digits; what is set has {len(given)} characters. "
                "Unset it to use the key in the home folder."
            )
        return bytes.fromhex(given)
    path = settings.home / KEY_FILE
    with _explaining(path):
        if not path.exists():
            _create_key(path)
        return _read_key(path)


def _create_key(path: Path) -> None:
    """Make the file appear with its content, or leave the one that another process made meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # NamedTemporaryFile opens with mode 0600.
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{KEY_FILE}.") as draft:
        draft.write(f"{secrets.token_hex(KEY_BYTES)}\n")
        draft.flush()
        os.fsync(draft.fileno())
        try:
            os.link(draft.name, path)
        except FileExistsError:
            return
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_key(path: Path) -> bytes:
    with path.open(encoding="ascii", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            os.fchmod(file.fileno(), 0o600)
        content = file.read(1024).strip()
    if not _KEY.fullmatch(content):
        raise OrbitError(
            f"{path} holds no hash key: expected {2 * KEY_BYTES} hex digits, found {len(content)} characters. "
            "Restore it from a backup: a database that was built with another key is refused."
        )
    return bytes.fromhex(content)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Turn what the file system says into what a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutOfSpace(f"No space left to write {path}. Free some, and run this again.") from error
        raise OrbitError(
            f"The hash key in {path} can't be used: {error.strerror}. It must be a file of your own that only you can "
            "read; check its owner and its folder's, or set ORBIT_HASH_KEY or ORBIT_HOME."
        ) from error
